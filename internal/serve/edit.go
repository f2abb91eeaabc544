package serve

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// An edit replaces a value in a captured datagram.
type edit struct {
	off, n int
	kind   editKind
	field  *dissect.Field
	from   *dissect.Field // the field of the request, for editEcho
	whole  slot           // for editSetting
	big    bool           // for editToken: the number is big-endian
	turned bool           // for editEcho: the bytes are reversed
}

type editKind uint8

const (
	// editEcho inserts a value that the client chose.
	editEcho editKind = iota
	// editToken inserts a challenge.
	editToken
	// editSetting inserts a value that the client chose, or removes the setting if it
	// chose none.
	editSetting
	// editNumber inserts the number of the reply: the queryid of GameSpy 1.
	editNumber
	// editSplit inserts a new split id.
	editSplit
	// editSum inserts the CRC-32 of the bytes behind it.
	editSum
)

// A slot is the place of a value that one side chose.
type slot struct {
	part, off, n int
	field        *dissect.Field
	setting      bool // the value of a key-value pair
	pairOff      int  // the key-value pair
	pairN        int
}

// slots returns the slots in a reply. parts is the number of datagrams, which are the
// first sources. rules is the offset at which a setting can be inserted, or -1.
func slots(p *dissect.Protocol, sources []dissect.Source, nodes []dissect.Node, parts int) (list []slot, rules int) {
	rules = -1
	setting := p.Handshake.Setting
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
		case f.EchoFrom > 0 && s.n > f.EchoFrom:
			s.off, s.n = s.off+f.EchoFrom, s.n-f.EchoFrom
			list = append(list, s)
		case f.Chosen, strings.HasSuffix(f.Path, ".split.id"), sums(n, data):
			list = append(list, s)
		case setting != "" && f.Key() == "value" && key == setting && pair != nil:
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

// edits returns the edits of a reply to q, by datagram. It reports whether the reply
// contains a challenge.
func edits(q *query, r *reply) (list [][]edit, challenge bool) {
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
		case s.field.Privacy == core.Checksum:
			e.kind = editSum
		case s.field.Key() == "queryid":
			e.kind = editNumber
		case r.issued && r.value != 0 && isNumber(s.field.Kind, old, uint32(r.value)):
			e.kind, challenge = editToken, true
			e.big = s.n == 4 && binary.BigEndian.Uint32([]byte(old)) == uint32(r.value)
		default:
			if e.from, e.turned = q.chose(s.field, old); e.from == nil {
				continue
			}
			e.kind = editEcho
		}
		list[s.part] = append(list[s.part], e)
	}
	return list, challenge
}

// chose returns the field of the request that a value of the reply echoes, or nil, and
// whether it does so with its bytes reversed.
func (q *query) chose(f *dissect.Field, value string) (from *dissect.Field, turned bool) {
	if q == nil {
		return nil, false
	}
	for _, c := range q.chosen {
		if c.bytes == value && value != "" || c.inText(f) == value || f.Key() == "mangled_"+c.field.Key() && mangle(c.bytes) == value {
			return c.field, false
		}
		if f == c.field && f.Kind == dissect.Uint && reversed(c.bytes) == value {
			return f, true
		}
	}
	return nil, false
}

// reversed returns the bytes of a number in the other order.
func reversed(number string) string {
	b := []byte(number)
	slices.Reverse(b)
	return string(b)
}

// inText returns a number that the client chose as a reply has it in a field: in
// digits, if only there it is text. It returns no value otherwise.
func (c *leaf) inText(f *dissect.Field) string {
	return nettext.Either(f.Kind != dissect.Decimal || c.field.Kind != dissect.Uint, "none", strconv.FormatUint(c.num, 10))
}

// isNumber reports whether the bytes of a value encode the number.
func isNumber(k dissect.Kind, value string, want uint32) bool {
	if k == dissect.Decimal || k == dissect.String {
		n, ok := nettext.ParseInt(value)
		return ok && uint32(n) == want
	}
	return len(value) == 4 && (binary.LittleEndian.Uint32([]byte(value)) == want || binary.BigEndian.Uint32([]byte(value)) == want)
}

// mangle returns a session id as servers return it that treat it as UTF-8. Invalid
// bytes become the replacement character.
func mangle(id string) string { return string([]rune(id)) }

// A fill holds the values to insert into a reply.
type fill struct {
	query  *query
	token  uint32
	number uint64 // of the reply among all replies
	turn   uint64 // of the reply among the equal ones, from 0
}

// rewrite returns a copy of a payload with the edits applied. Edits are ordered by
// offset.
func (f *fill) rewrite(payload []byte, edits []edit) []byte {
	out := make([]byte, 0, len(payload)+16)
	at := 0
	for _, e := range edits {
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
		out = f.value(out, &e, old)
		at = e.off + e.n
	}
	out = append(out, payload[at:]...)
	for i := range edits {
		if e := &edits[i]; e.kind == editSum { // nothing before it changes its length
			binary.LittleEndian.PutUint32(out[e.off:], crc32.ChecksumIEEE(out[e.off+e.n:]))
		}
	}
	return out
}

// sums reports whether a leaf is the CRC-32 of the bytes after it.
func sums(n *dissect.Node, data []byte) bool {
	return n.Field.Privacy == core.Checksum && n.Len == 4 && binary.LittleEndian.Uint32(n.Bytes(data)) == crc32.ChecksumIEEE(data[n.Off+n.Len:])
}

func (f *fill) value(out []byte, e *edit, old []byte) []byte {
	text := e.field.Kind == dissect.Decimal || e.field.Kind == dissect.String
	switch e.kind {
	case editToken:
		if text {
			return strconv.AppendInt(out, int64(int32(f.token)), 10)
		}
		if e.big {
			return binary.BigEndian.AppendUint32(out, f.token)
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
		// The other bits have a meaning for servers or for faulty clients.
		id := binary.LittleEndian.Uint32(old) ^ uint32(f.turn&0x7f)<<8
		return binary.LittleEndian.AppendUint32(out, id)
	case editSum:
		return append(out, old...)
	case editSetting:
		return append(out, f.query.setting.bytes...)
	}
	value, ok := f.query.echo(e)
	if e.turned {
		value = reversed(value)
	}
	switch {
	case !ok:
		return append(out, old...)
	case text || e.field.Kind == dissect.Bytes || e.field == e.from:
		return append(out, value...)
	}
	// Binary numbers keep their size, unless they have any size in both directions.
	n := min(len(value), len(old))
	return append(append(out, value[:n]...), old[n:]...)
}

// echo returns the value that the new client chose in place of the captured one.
func (q *query) echo(e *edit) (string, bool) {
	for i := range q.chosen {
		if c := &q.chosen[i]; c.field == e.from {
			if strings.HasPrefix(e.field.Key(), "mangled_") {
				return mangle(c.bytes), true
			}
			if digits := c.inText(e.field); digits != "none" {
				return digits, true
			}
			return c.bytes, true
		}
	}
	return "", false
}

// insert adds a setting to a reply that lacks it.
func (f *fill) insert(t *exchange, out []Datagram, name string) {
	if t.rules < 0 || len(out) != 1 {
		return
	}
	p := out[0].Payload
	more := `\` + name + `\` + f.query.setting.bytes
	out[0].Payload = append(append(append(make([]byte, 0, len(p)+len(more)), p[:t.rules]...), more...), p[t.rules:]...)
}

// A query is a decoded request.
type query struct {
	protocol  *dissect.Protocol
	title     string // the summary, safe to print on a terminal
	key       string // the meaning
	oneWay    bool
	challenge dissect.Challenge
	value     uint64
	chosen    []leaf // the values that the client chose
	setting   *leaf  // the one of them that a setting echoes
}

// A leaf is the value of a field.
type leaf struct {
	field *dissect.Field
	bytes string
	num   uint64
}

func (q *query) hasSetting() bool { return q != nil && q.setting != nil }

// packs reports whether datagrams of a protocol are packed, after a byte which is FF in those that are not.
func packs(p *dissect.Protocol) bool {
	return slices.ContainsFunc(p.Catalog.Fields(), func(f *dissect.Field) bool { return f.PackMark })
}

// queryOf builds a query from a tree. The key contains the type and all values that
// the client did not choose, without framing and padding.
func queryOf(p *dissect.Protocol, m *dissect.Message, sources []dissect.Source, nodes []dissect.Node) *query {
	q := &query{protocol: p, oneWay: m.Type.Role == dissect.OneWay && m.Type.Name != "unknown", challenge: m.Pair.Challenge, value: m.Pair.Value}
	if q.value > mostToken {
		q.challenge = dissect.NoChallenge // those of the capture are given again
	}
	h, packed := &p.Handshake, packs(p)
	var key strings.Builder
	key.WriteString(p.Name + " " + m.Type.Name)
	word := ""
	for _, n := range nodes {
		f := n.Field
		if n.Source != 0 && !packed || f.Kind.Container() || f.Framing {
			continue // they repeat the first source
		}
		value := string(n.Value(sources[n.Source].Data))
		switch {
		case f.Chosen || word != "" && slices.Contains(h.Words, word):
			q.chosen = append(q.chosen, leaf{f, value, n.Num})
			if h.Setting == f.Key() && value != "" {
				q.setting = &leaf{f, value, n.Num}
			}
		case f.Ignored:
		default:
			if h.Cut != nil {
				var in *dissect.Field
				var echo string
				if value, in, echo = h.Cut(f, value); in != nil {
					q.chosen = append(q.chosen, leaf{field: in, bytes: echo})
				}
			}
			key.WriteString("\x00" + f.Path + "\x00" + value)
		}
		word = value
	}
	q.key = key.String()
	q.title = string((&dissect.Record{Message: *m}).AppendSummary(nil))
	return q
}

// A requestReader decodes requests of one protocol.
type requestReader struct {
	protocol *dissect.Protocol
	decoder  dissect.Decoder
	reader   dissect.Reader
	message  dissect.Message
	panics   uint64
}

// read decodes a datagram. It reports false if that is not a request.
func (r *requestReader) read(payload []byte) (q *query, ok bool) {
	defer func() {
		if e := recover(); e != nil { // contain a panic of the decoder
			q, ok = nil, false
			r.panics++
			r.decoder, r.reader = r.protocol.New(), dissect.Reader{}
		}
	}()
	if s := r.protocol.Split; s != nil {
		if _, ok := s.Read(payload, 0); ok {
			return nil, false // requests are never split
		}
	}
	r.message = dissect.Message{}
	core.Reset(&r.reader, payload, 0, true)
	r.decoder.Decode(&r.reader, &r.message)
	if r.reader.Failed() || r.message.Type.Role == dissect.Reply {
		return nil, false
	}
	core.Finish(&r.reader, r.protocol.Catalog.Catalog)
	return queryOf(r.protocol, &r.message, core.Sources(&r.reader), core.Nodes(&r.reader)), true
}
