package valvemaster

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// A code is a condition of filters. meaning says which servers it selects. value is the
// only value that the document gives it, "" for any.
type code struct{ name, value, meaning string }

// codes are those of the document ("Filter"), then the undocumented ones of engines
// (type, lan), of Valve's old master (proxytarget) and of Xash3D.
var codes = [...]code{
	{"nor", "", "not those that match any of the next conditions"},
	{"nand", "", "not those that match all of the next conditions"},
	{"or", "", "those that match any of the next conditions"},
	{"and", "", "those that match all of the next conditions"},
	{"dedicated", "1", "dedicated servers"},
	{"secure", "1", "servers with anti-cheat (VAC)"},
	{"gamedir", "", "servers of this game directory"},
	{"map", "", "servers on this map"},
	{"linux", "1", "servers on Linux"},
	{"password", "0", "servers without a password"},
	{"empty", "1", "servers that are not empty"},
	{"full", "1", "servers that are not full"},
	{"proxy", "1", "spectator proxies"},
	{"appid", "", "servers of this application"},
	{"napp", "", "servers of any application but this"},
	{"noplayers", "1", "servers that are empty"},
	{"white", "1", "servers on the whitelist"},
	{"gametype", "", "servers with all of these tags (sv_tags)"},
	{"gamedata", "", "servers with all of these hidden tags"},
	{"gamedataor", "", "servers with any of these hidden tags"},
	{"name_match", "", "servers whose name matches, * for any text"},
	{"version_match", "", "servers whose version matches, * for any text"},
	{"collapse_addr_hash", "1", "one server for each IP address"},
	{"gameaddr", "", "servers at this address"},
	{"type", "", "servers of this kind"},
	{"lan", "", "servers for a LAN only: 1, others: 0"},
	{"proxytarget", "", "not documented, known to Valve's old master"},
	{"protocol", "", "Xash3D: servers of this protocol"},
	{"clver", "", "Xash3D: version of the client"},
	{"nat", "", "Xash3D: servers behind a NAT: 1, others: 0"},
	{"bots", "", "Xash3D: servers with bots: 1, others: 0"},
	{"key", "", "Xash3D: number that the reply repeats"},
	{"os", "", "Xash3D: system of the client"},
	{"arch", "", "Xash3D: processor of the client"},
	{"branch", "", "Xash3D: source branch of the client"},
	{"commit", "", "Xash3D: source commit of the client"},
	{"buildnum", "", "Xash3D: build of the client"},
}

// groups is the number of codes at the start whose value counts conditions. The
// document has nor and nand; Steam's API has or and and as well.
const groups = 4

// meanings returns the codes as names of values, counted from 1.
func meanings() dissect.Option {
	var names []dissect.Name
	for i, c := range codes {
		names = append(names, dissect.Name{Value: uint64(i + 1), Name: c.meaning, Text: c.name})
	}
	return dissect.Names(names...)
}

// maxDepth is the largest depth of nested groups. Steam uses two.
const maxDepth = 8

// readFilter reads the filter as one field, and then its conditions as a source of
// their own: every byte of the request belongs to the filter, and every byte of the
// filter to a code or a value.
func (d *decoder) readFilter(r *dissect.Reader, _ *dissect.Message) {
	q := &d.serversRequest
	at := r.Offset()
	filter := core.PeekTo(r, r.Until("\x00"))
	var terminated bool
	q.Filter, terminated = core.CStringOrRest(r, fFilter)
	if !terminated {
		r.Find(noTerm, fFilter, at, len(q.Filter))
	}
	core.Trail(r, fTrailing)
	if q.Filter == "" {
		return
	}
	r.Open("filter", filter)
	if !r.Next('\\') {
		r.Find(filterStart, fKey, 0, 1)
	}
	list := r.Begin(fFilters)
	d.readConditions(r, -1, 0)
	r.End(list)
}

// readConditions reads n conditions, or all of them if n is negative, and returns how
// many there were.
func (d *decoder) readConditions(r *dissect.Reader, n, depth int) (read int) {
	for ; r.More() && read != n; read++ {
		d.readCondition(r, depth)
	}
	return read
}

func (d *decoder) readCondition(r *dissect.Reader, depth int) {
	q := &d.serversRequest
	mark := core.Here(r)
	open := r.Begin(fCond)
	if r.Failed() {
		core.Return(r, mark)
		return
	}
	defer r.End(open)
	at := r.Offset()
	key := element(r, fKey)
	if !r.More() {
		q.Conditions = append(q.Conditions, Condition{Key: key, Depth: depth})
		r.Find(filterOdd, fKey, at, r.Offset()-at, dissect.Str(key))
		return
	}
	valueAt := r.Offset()
	value := element(r, fValue)
	known := slices.IndexFunc(codes[:], func(c code) bool { return c.name == key })
	documented := known >= 0 && (codes[known].value == "" || codes[known].value == value)
	if documented {
		core.Explain(r, 1, uint64(known+1))
	}
	if key == "type" {
		core.Explain(r, 0, meaning(key, value))
	}
	q.Conditions = append(q.Conditions, Condition{key, value, depth})
	switch {
	case known >= 0 && known < groups:
		want, ok := nettext.ParseInt(value)
		if depth >= maxDepth {
			r.Find(filterDepth, fKey, at, r.Offset()-at, dissect.Num(maxDepth))
			return
		}
		got := 0
		if ok && want > 0 {
			list := r.Begin(fNested)
			got = d.readConditions(r, int(min(want, 1<<30)), depth+1)
			r.End(list)
		}
		if !ok || want <= 0 || int64(got) != want {
			r.Find(filterCount, fValue, valueAt, len(value), dissect.Str(key), dissect.Str(value), dissect.Num(got))
		}
	case known < 0:
		r.Find(filterUnknown, fKey, at, valueAt-at, dissect.Str(key))
	case !documented:
		r.Find(filterValue, fValue, valueAt, len(value), dissect.Str(key), dissect.Str(value), dissect.Str(codes[known].value))
	}
}

// element reads a backslash and the text up to the next one.
func element(r *dissect.Reader, f *dissect.Field) string {
	return core.Element(r, f, '\\', r.Offset()+r.Left())
}

// cutKey removes \key\hex from a filter: servers of Xash3D repeat the number in their replies. See [dissect.Handshake].
func cutKey(f *dissect.Field, value string) (rest string, in *dissect.Field, echo string) {
	const name = `\key\`
	before, after, ok := strings.Cut(value, name)
	if f != fFilter || !ok {
		return value, nil, ""
	}
	hex, after, more := strings.Cut(after, `\`)
	if more {
		after = `\` + after
	}
	rest = before + after
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		return rest, nil, ""
	}
	return rest, fReplyKey, string(binary.LittleEndian.AppendUint32(nil, uint32(n)))
}
