package serve

import (
	"encoding/binary"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/nettext"
)

// An edit is a place in a captured datagram where something else goes now.
type edit struct {
	off, n int
	kind   editKind
	field  *dissect.Field
	from   *dissect.Field // of the request, for echo
	whole  slot           // for setting: the place of the key and the value
}

type editKind uint8

const (
	// editEcho puts in what the client chose.
	editEcho editKind = iota
	// editToken puts in a challenge.
	editToken
	// editSetting puts in what the client chose, or takes the setting out if it
	// chose nothing.
	editSetting
	// editNumber counts the replies: the queryid of GameSpy 1.
	editNumber
	// editSplit makes the id of a split another one every time.
	editSplit
)

// A slot is a place in a datagram of a reply where a value stands that one side
// chose.
type slot struct {
	part, off, n int
	field        *dissect.Field
	setting      bool // it is the value of a setting of that name
	pairOff      int  // of the setting
	pairN        int
}

// slots finds them in the tree of a reply. parts is the number of datagrams:
// the first sources are theirs. rules is where settings could be added: a
// datagram and an offset, -1 if there is none.
func slots(p *dissect.Protocol, sources []dissect.Source, nodes []dissect.Node, parts int) (list []slot, rules int) {
	rules = -1
	d := danceOf(p)
	var pair *dissect.Node
	key := ""
	for i := range nodes {
		n := &nodes[i]
		f := n.Field
		if int(n.Source) >= parts {
			continue
		}
		if f.Kind.Container() {
			if f.Kind == dissect.List && f.Key() == "rules" && rules < 0 && parts == 1 {
				rules = int(n.Off)
			}
			pair = n
			continue
		}
		data := sources[n.Source].Data
		value := n.Value(data)
		s := slot{part: int(n.Source), off: cap(data) - cap(value), n: len(value), field: f}
		switch {
		case f.Path == "gamespy2.part.head" && s.n > 1:
			s.off, s.n = s.off+1, s.n-1 // the session id
			list = append(list, s)
		case f.Chosen, strings.HasSuffix(f.Path, ".split.id"):
			list = append(list, s)
		case d.setting != "" && f.Key() == "value" && key == d.setting && pair != nil:
			s.setting, s.pairOff, s.pairN = true, int(pair.Off), int(pair.Len)
			list = append(list, s)
		}
		key = ""
		if f.Key() == "key" {
			key = string(value)
		}
	}
	return list, rules
}

// edits says what to do with the slots of a reply to q. value is the challenge
// that the reply gives, if it gives one.
func edits(q *query, r *reply) (list [][]edit, given bool) {
	list = make([][]edit, len(r.datagrams))
	for _, s := range r.slots {
		old := string(r.datagrams[s.part].Payload[s.off : s.off+s.n])
		e := edit{off: s.off, n: s.n, field: s.field, whole: s}
		switch {
		case s.setting && q.hasSetting() && q.setting.bytes == old:
			e.kind, e.from = editSetting, q.setting.field
		case s.setting:
			continue
		case strings.HasSuffix(s.field.Path, ".split.id"):
			e.kind = editSplit
		case s.field.Key() == "queryid":
			e.kind = editNumber
		case r.issued && r.value != 0 && isNumber(s.field.Kind, old, uint32(r.value)):
			e.kind, given = editToken, true
		default:
			from := q.chose(s.field, old)
			if from == nil {
				continue
			}
			e.kind, e.from = editEcho, from
		}
		list[s.part] = append(list[s.part], e)
	}
	return list, given
}

// chose returns the field of the request that a value of the reply is the echo
// of, nil if there is none.
func (q *query) chose(f *dissect.Field, value string) *dissect.Field {
	if q == nil {
		return nil
	}
	if f.Key() == "reply_key" && q.replyKey != "" {
		return f
	}
	for i := range q.chosen {
		c := &q.chosen[i]
		if c.bytes == value && value != "" || f.Key() == "mangled_"+c.field.Key() && mangle(c.bytes) == value {
			return c.field
		}
	}
	return nil
}

// isNumber reports whether a value on the wire is a number.
func isNumber(k dissect.Kind, value string, want uint32) bool {
	if k == dissect.Decimal || k == dissect.String {
		n, ok := nettext.ParseInt(value)
		return ok && uint32(n) == want
	}
	return len(value) == 4 && (binary.LittleEndian.Uint32([]byte(value)) == want || binary.BigEndian.Uint32([]byte(value)) == want)
}

// mangle does to a session id what a server does that takes bytes for text: what
// is not valid UTF-8 comes back as the replacement character.
func mangle(id string) string {
	var b []byte
	for _, r := range id {
		b = utf8.AppendRune(b, r)
	}
	return string(b)
}

// A fill has the values that go into a reply.
type fill struct {
	query  *query
	token  uint32
	number uint64 // of this reply among all
	turn   uint64 // of this reply among those that are the same, from 0
}

// rewrite returns a copy of a payload with the edits made, which are in the
// order of their places.
func (f *fill) rewrite(payload []byte, edits []edit) []byte {
	out := make([]byte, 0, len(payload)+16)
	at := 0
	for i := range edits {
		e := &edits[i]
		if e.off < at {
			continue
		}
		old := payload[e.off : e.off+e.n]
		if e.kind == editSetting && !f.query.hasSetting() {
			out = append(out, payload[at:e.whole.pairOff]...)
			at = e.whole.pairOff + e.whole.pairN
			continue
		}
		out = append(out, payload[at:e.off]...)
		out = f.value(out, e, old)
		at = e.off + e.n
	}
	return append(out, payload[at:]...)
}

func (f *fill) value(out []byte, e *edit, old []byte) []byte {
	text := e.field.Kind == dissect.Decimal || e.field.Kind == dissect.String
	switch e.kind {
	case editToken:
		if text {
			return strconv.AppendInt(out, int64(int32(f.token)), 10)
		}
		return binary.LittleEndian.AppendUint32(out, f.token)
	case editNumber:
		_, part, ok := strings.Cut(string(old), ".")
		out = strconv.AppendUint(out, f.number, 10)
		if ok {
			out = append(append(out, '.'), part...)
		}
		return out
	case editSplit:
		if len(old) != 4 {
			return append(out, old...)
		}
		// The upper bits have meanings, to servers or to clients in error.
		id := binary.LittleEndian.Uint32(old) ^ uint32(f.turn&0x7f)<<8
		return binary.LittleEndian.AppendUint32(out, id)
	case editSetting:
		return append(out, f.query.setting.bytes...)
	}
	value, ok := f.query.echo(e)
	switch {
	case !ok:
		return append(out, old...)
	case text || e.field.Kind == dissect.Bytes:
		return append(out, value...)
	}
	// A binary number keeps its width.
	n := min(len(value), len(old))
	return append(append(out, value[:n]...), old[n:]...)
}

// echo returns what this client chose where the captured one chose what stands
// in the reply.
func (q *query) echo(e *edit) (string, bool) {
	if e.from.Key() == "reply_key" {
		n, err := strconv.ParseUint(q.replyKey, 16, 32)
		return string(binary.LittleEndian.AppendUint32(nil, uint32(n))), err == nil
	}
	for i := range q.chosen {
		if c := &q.chosen[i]; c.field == e.from {
			if strings.HasPrefix(e.field.Key(), "mangled_") {
				return mangle(c.bytes), true
			}
			return c.bytes, true
		}
	}
	return "", false
}

// insert adds a setting to a reply that was captured without.
func (f *fill) insert(t *take, out []Datagram, name string) {
	if t.rules < 0 || len(out) != 1 {
		return
	}
	p := out[0].Payload
	more := `\` + name + `\` + f.query.setting.bytes
	out[0].Payload = append(append(append(make([]byte, 0, len(p)+len(more)), p[:t.rules]...), more...), p[t.rules:]...)
}
