package valvemaster

import (
	"slices"

	"github.com/qdissect/qdissect/dissect"
)

// codes are those of conditions that stand alone: of the document ("Filter"),
// then those that engines send without the document naming them (type, lan),
// that Valve's old master knows (proxytarget), and those of Xash3D.
var codes = []string{
	"dedicated", "secure", "gamedir", "map", "linux", "password", "empty", "full", "proxy", "appid", "napp", "noplayers", "white",
	"gametype", "gamedata", "gamedataor", "name_match", "version_match", "collapse_addr_hash", "gameaddr",
	"type", "lan", "proxytarget",
	"protocol", "clver", "nat", "bots", "key", "os", "arch", "branch", "commit", "buildnum",
}

// groups are the codes whose value is a number of conditions. The document has
// nor and nand; Steam's interface for programs has or and and as well.
var groups = []string{"nor", "nand", "or", "and"}

// maxDepth bounds groups in groups. Steam uses two.
const maxDepth = 8

// readFilter reads the filter as it stands, and then what it says, as a source
// of its own: every byte of the request belongs to the filter, and every byte
// of the filter to a code or a value.
func (d *decoder) readFilter(r *dissect.Reader, _ *dissect.Message) {
	q := &d.serversRequest
	at := r.Offset()
	filter := r.PeekTo(r.Until("\x00"))
	var terminated bool
	q.Filter, terminated = r.CStringOrRest(fFilter)
	if !terminated {
		r.Find(noTerm, fFilter, at, len(q.Filter))
	}
	if n := r.Left(); n > 0 {
		// Said here, because another source follows.
		r.Find(dissect.Trailing, fTrailing, r.Offset(), n, dissect.Num(n))
		r.Rest(fTrailing)
	}
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

// readConditions reads n conditions, or all that are left if n is negative. It
// returns how many there were.
func (d *decoder) readConditions(r *dissect.Reader, n, depth int) (read int) {
	for ; r.More() && read != n; read++ {
		d.readCondition(r, depth)
	}
	return read
}

func (d *decoder) readCondition(r *dissect.Reader, depth int) {
	q := &d.serversRequest
	open := r.Begin(fCond)
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
	q.Conditions = append(q.Conditions, Condition{key, value, depth})
	switch {
	case slices.Contains(groups, key):
		want, ok := dissect.ParseInt(value)
		if depth+1 >= maxDepth {
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
	case !slices.Contains(codes, key):
		r.Find(filterUnknown, fKey, at, valueAt-at, dissect.Str(key))
	}
}

// element reads a backslash and what follows it up to the next one.
func element(r *dissect.Reader, f *dissect.Field) string {
	return r.Element(f, '\\', r.Offset()+r.Left())
}
