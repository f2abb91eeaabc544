package golden

import (
	"bytes"
	"math/bits"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/qdissect/qdissect/internal/jsonl"
	"github.com/qdissect/qdissect/internal/nettext"
)

// A comparer finds the differences between two objects of the output.
type comparer struct {
	rules *Rules
	// talk is set if conversations are compared. It knows what may differ between two of
	// them.
	talk *talk
	a, b side
	path []step
	of   *jsonl.Node // the name of the list element that the path leads through
	out  []Field
	// passed says that a field differs that may differ. Differences of the message's
	// lengths may follow from it and are collected in lengths.
	passed  bool
	lengths []Field
}

// side is one of the two objects.
type side struct {
	jsonl.Document
	start int64 // of the capture, in ns since 1970, for relative times
	kind  string
	ends  [4]string // source and destination, and both without ports
	ports [2]string
}

// parse parses an object into s.
func (c *comparer) parse(s *side, b []byte) error {
	if err := s.Document.Parse(b); err != nil {
		return err
	}
	if err := s.CheckSchema(); err != nil {
		return err
	}
	s.kind = s.Type()
	if c.talk == nil {
		return nil
	}
	s.ends, s.ports = [4]string{}, [2]string{}
	for i, key := range [...]string{"src", "dst"} {
		s.ends[i] = s.End(key)
		if end, err := netip.ParseAddrPort(s.ends[i]); err == nil {
			s.ends[2+i] = end.Addr().String()
			s.ports[i] = strconv.Itoa(int(end.Port()))
		}
	}
	return nil
}

// end returns a bit for each end of the conversation that a value names: a message may
// contain its own addresses and ports.
func (s *side) end(path []step, n *jsonl.Node) (ends int) {
	v := string(n.Value)
	for i := range s.ends {
		if v != "" && n.Kind == jsonl.Text && v == s.ends[i] {
			ends |= 1 << i
		}
	}
	// Ports are recognised by the name of the field.
	for i := range s.ports {
		if v != "" && v == s.ports[i] && bytes.Contains(path[len(path)-1].name, []byte("port")) {
			ends |= 16 << i
		}
	}
	return ends
}

// A role says how a value is compared.
type role uint8

const (
	plain     role = iota
	passed         // may differ
	follows        // from the fields: may differ if a field may
	clock          // a time
	reference      // the frame of another message
	identity       // a number that one side chose: may differ, but consistently
	fileName       // of a capture: compression may differ
)

// role returns the role of the value at the current path, in an object of a kind.
func (c *comparer) role(kind string) role {
	if c.rules.ignored(c.path) {
		return passed
	}
	p := c.path
	if len(p) == 0 || p[0].index != noIndex {
		return plain
	}
	switch string(p[0].name) {
	case "summary":
		if len(p) == 1 && kind == "message" && !c.rules.Wording {
			return passed
		}
	case "round_trips": // the summary follows from the messages
		if kind == "summary" && c.rules.ignored(memberPath("rtt_ns")) {
			return passed
		}
	case "findings_by_id", "findings_by_severity":
		if kind == "summary" && c.rules.ignored(memberPath(jsonl.Findings)) {
			return passed
		}
	case jsonl.Findings:
		if len(p) == 3 && string(p[2].name) == "text" && !c.rules.Wording {
			return passed
		}
	case "file":
		if len(p) == 1 && kind == "capture" {
			return fileName
		}
	case sumKey, damagedKey:
		if len(p) == 1 && kind == "summary" {
			return passed // not in the output: see compareFile
		}
	case "time", "first_time", "last_time":
		if len(p) == 1 && c.talk == nil && c.rules.Relative {
			return clock
		}
	}
	if c.talk != nil {
		return talkRole(p)
	}
	return plain
}

// compare returns the differences between a and b. They are borrowed until the next call.
func (c *comparer) compare() []Field {
	c.path, c.of, c.out = c.path[:0], nil, c.out[:0]
	c.passed, c.lengths = false, c.lengths[:0]
	// Messages of different types have different fields: do not compare those.
	for _, key := range [...]string{"type", "protocol", "message"} {
		i, j := c.a.Member(0, key), c.b.Member(0, key)
		if i < 0 && j < 0 {
			continue
		}
		c.path = append(c.path, step{[]byte(key), noIndex})
		c.value(i, j)
		c.path = c.path[:0]
		if len(c.out) > 0 {
			return c.out
		}
	}
	c.value(0, 0)
	if !c.passed {
		c.out = append(c.out, c.lengths...)
	}
	return c.out
}

// at returns node i, nil if i is negative.
func at(d *jsonl.Document, i int) *jsonl.Node {
	if i < 0 {
		return nil
	}
	return &d.Nodes[i]
}

// value compares node i of a with node j of b; -1 means absent.
func (c *comparer) value(i, j int) {
	a, b := at(&c.a.Document, i), at(&c.b.Document, j)
	what := c.role(c.a.kind)
	if what != passed && c.messageFindings() && (a == nil || a.Kind == jsonl.Array) && (b == nil || b.Kind == jsonl.Array) &&
		(c.talk != nil || len(c.list(&c.a.Document, i))+len(c.list(&c.b.Document, j)) > 0) {
		c.elements(i, j) // in a conversation, a missing list equals an empty one
		return
	}
	if a != nil && b != nil && a.Kind == b.Kind && what != passed {
		switch a.Kind {
		case jsonl.Object:
			c.members(i, j)
			return
		case jsonl.Array:
			c.elements(i, j)
			return
		}
	}
	if c.same(a, b, what) {
		return
	}
	switch what {
	case passed:
		c.pass()
		return
	case identity:
		if a != nil && b != nil && c.talk.renamed(a.Value, b.Value) {
			c.pass()
			return
		}
	case reference:
		if a != nil && b != nil && c.talk.refers(a.Raw, b.Raw) {
			return
		}
	}
	if c.talk != nil && a != nil && b != nil && a.Kind == b.Kind && len(c.path) > 0 && c.a.end(c.path, a)&c.b.end(c.path, b) != 0 {
		c.pass()
		return
	}
	// A value on one side only may consist of values that may differ.
	if a == nil && c.holdsOnlyPassed(&c.b, j) || b == nil && c.holdsOnlyPassed(&c.a, i) {
		c.pass()
		return
	}
	f := Field{Path: pathText(c.path), From: show(a, b), To: show(b, a)}
	if c.of != nil && string(c.path[len(c.path)-1].name) != string(c.of.Key) {
		f.Of = show(c.of, nil)
	}
	if what == clock {
		f.From, f.To = c.showTime(a, c.a.start), c.showTime(b, c.b.start)
	}
	f.To += nettext.Either(what == identity && f.From == f.To, " (before, it stood for another)", "")
	if what == follows {
		c.lengths = append(c.lengths, f)
		return
	}
	c.out = append(c.out, f)
}

// pass records that a value differs that may differ.
func (c *comparer) pass() { c.passed = c.passed || len(c.path) > 0 && isFields(c.path[0].name) }

// same reports whether two values are equal for their role.
func (c *comparer) same(a, b *jsonl.Node, what role) bool {
	if a == nil || b == nil {
		return a == b
	}
	if what == fileName {
		return unpackedName(string(a.Value)) == unpackedName(string(b.Value))
	}
	if what == clock {
		s, ok := relative(a, c.a.start)
		t, ok2 := relative(b, c.b.start)
		if ok && ok2 {
			return s == t
		}
	}
	if a.Kind != b.Kind || !bytes.Equal(a.Value, b.Value) {
		return false
	}
	return what != identity || c.talk.renamed(a.Value, b.Value)
}

// relative returns a time in ns since the start of the capture.
func relative(n *jsonl.Node, start int64) (int64, bool) {
	if n.Kind != jsonl.Text {
		return 0, false
	}
	t, err := time.Parse(time.RFC3339Nano, string(n.Value))
	if err != nil {
		return 0, false
	}
	return t.UnixNano() - start, true
}

func (c *comparer) showTime(n *jsonl.Node, start int64) string {
	if n == nil {
		return ""
	}
	ns, ok := relative(n, start)
	if !ok {
		return show(n, nil)
	}
	return strconv.FormatFloat(float64(ns)/1e9, 'f', 9, 64) + " s"
}

// holdsOnlyPassed reports whether all values within a value that only one side has may differ.
// An empty list or object counts as a value.
func (c *comparer) holdsOnlyPassed(s *side, i int) bool {
	if c.role(s.kind) == passed {
		return true
	}
	n := &s.Nodes[i]
	only, element := int(n.End) > i+1 && (n.Kind == jsonl.Object || n.Kind == jsonl.Array), 0
	for k := range s.In(i) {
		next := nettext.Either(n.Kind == jsonl.Object, step{s.Nodes[k].Key, noIndex}, step{nil, element})
		c.path = append(c.path, next)
		only = only && c.holdsOnlyPassed(s, k)
		c.path = c.path[:len(c.path)-1]
		element++
	}
	return only
}

// members compares two objects: first the members of a, then those that only b has.
func (c *comparer) members(i, j int) {
	visit := func(k, l int, name []byte) {
		c.path = append(c.path, step{name, noIndex})
		c.value(k, l)
		c.path = c.path[:len(c.path)-1]
	}
	find := finder(&c.b.Document, j)
	for k := range c.a.In(i) {
		name := c.a.Nodes[k].Key
		visit(k, find(name), name)
	}
	find = finder(&c.a.Document, i)
	for k := range c.b.In(j) {
		if name := c.b.Nodes[k].Key; find(name) < 0 {
			visit(-1, k, name)
		}
	}
}

// finder returns a function that finds members of an object by name.
func finder(d *jsonl.Document, n int) func(key []byte) int {
	if int(d.Nodes[n].End)-n <= 64 { // few values, so few members
		return func(key []byte) int { return d.Member(n, string(key)) }
	}
	known := make(map[string]int)
	for i := range d.In(n) {
		known[string(d.Nodes[i].Key)] = i
	}
	return func(key []byte) int {
		if i, ok := known[string(key)]; ok {
			return i
		}
		return -1
	}
}

// maxAligned limits the number of pairs for an alignment. Longer lists are compared
// element by element.
const maxAligned = 1 << 18

// elements compares two lists. They are aligned, so that an additional element does not
// make all later ones differ.
func (c *comparer) elements(i, j int) {
	as, bs := c.list(&c.a.Document, i), c.list(&c.b.Document, j)
	var pairs []pair
	if len(as)*len(bs) <= maxAligned {
		pairs = align(len(as), len(bs), func(x, y int) int {
			return likeness(&c.a.Document, as[x], &c.b.Document, bs[y])
		})
	} else {
		for k := range max(len(as), len(bs)) {
			p := pair{k, k}
			if k >= len(as) {
				p.a = -1
			} else if k >= len(bs) {
				p.b = -1
			}
			pairs = append(pairs, p)
		}
	}
	outer := c.of
	for _, p := range pairs {
		x, y, index := -1, -1, p.a
		if p.a >= 0 {
			x = as[p.a]
		} else {
			index = p.b
		}
		if p.b >= 0 {
			y = bs[p.b]
		}
		c.path = append(c.path, step{nil, index})
		if x >= 0 && y >= 0 {
			c.of = called(&c.a.Document, x)
		}
		c.value(x, y)
		c.path, c.of = c.path[:len(c.path)-1], outer
	}
}

// called returns the first member of an object that names it, nil if there is none.
func called(d *jsonl.Document, n int) *jsonl.Node {
	for _, key := range [...]string{"name", "key", "id"} {
		if i := d.Member(n, key); i >= 0 && d.Nodes[i].Kind == jsonl.Text {
			return &d.Nodes[i]
		}
	}
	return nil
}

// messageFindings reports whether the path leads to the findings of a message.
func (c *comparer) messageFindings() bool {
	return len(c.path) == 1 && string(c.path[0].name) == jsonl.Findings
}

// list returns the elements of a list that are compared; none if i is -1. In a
// conversation, findings about packets are not.
func (c *comparer) list(d *jsonl.Document, i int) (list []int) {
	if i < 0 {
		return nil
	}
	findings := c.talk != nil && c.messageFindings()
	for k := range d.In(i) {
		if findings && packetFinding(d.Str(k, "id")) {
			continue
		}
		list = append(list, k)
	}
	return list
}

// likeness returns the similarity of two elements of a list.
func likeness(a *jsonl.Document, i int, b *jsonl.Document, j int) int {
	x, y := &a.Nodes[i], &b.Nodes[j]
	switch {
	case bytes.Equal(x.Raw, y.Raw):
		return same
	case x.Kind != y.Kind:
		return 0
	case x.Kind != jsonl.Object:
		return 1
	}
	// The name of an object is the best evidence of its identity.
	score, n := 1, 0
	for k := range a.In(i) {
		if n++; n > 16 {
			break // enough for a score
		}
		key := string(a.Nodes[k].Key)
		if !bytes.Equal(a.Nodes[k].Raw, b.Raw(j, key)) {
			continue
		}
		score += 2
		switch key {
		case "name", "key", "id":
			score += 64
		}
	}
	return score
}

// A pair is one position of an alignment of two lists: the indexes of two matching
// elements, or of one element with -1 for the other.
type pair struct{ a, b int }

// same is the score of two equal elements. Other scores are lower; elements with a
// negative score never match.
const same = 1 << 12

// align returns the alignment of lists of n and m elements with the highest sum of scores,
// in the order of both (Needleman and Wunsch). Equal elements at both ends are matched
// first; the rest takes n·m steps.
func align(n, m int, score func(a, b int) int) (pairs []pair) {
	head := 0
	for head < n && head < m && score(head, head) == same {
		pairs = append(pairs, pair{head, head})
		head++
	}
	tail := 0
	for tail < n-head && tail < m-head && score(n-1-tail, m-1-tail) == same {
		tail++
	}
	pairs = appendMiddle(pairs, head, n-tail, head, m-tail, score)
	for ; tail > 0; tail-- {
		pairs = append(pairs, pair{n - tail, m - tail})
	}
	return pairs
}

// The moves of an alignment.
const (
	both byte = iota
	onlyA
	onlyB
)

func appendMiddle(pairs []pair, a0, a1, b0, b1 int, score func(a, b int) int) []pair {
	n, m := a1-a0, b1-b0
	// Fill the table from the end, so that the path is read from the beginning. Of several
	// best paths this finds the one that matches early.
	width := m + 1
	table, row, below := make([]byte, n*width), make([]int32, width), make([]int32, width)
	for i := n - 1; i >= 0; i-- {
		row[m] = 0
		moves := table[i*width : (i+1)*width]
		moves[m] = onlyA
		for j := m - 1; j >= 0; j-- {
			best, move := below[j], onlyA
			if row[j+1] > best {
				best, move = row[j+1], onlyB
			}
			if s := score(a0+i, b0+j); s >= 0 && below[j+1]+int32(s) >= best {
				best, move = below[j+1]+int32(s), both
			}
			row[j], moves[j] = best, move
		}
		row, below = below, row
	}
	i, j := 0, 0
	for i < n || j < m {
		move := onlyB
		if i < n {
			move = table[i*width+j]
		}
		switch move {
		case both:
			pairs = append(pairs, pair{a0 + i, b0 + j})
			i, j = i+1, j+1
		case onlyA:
			pairs = append(pairs, pair{a0 + i, -1})
			i++
		default:
			pairs = append(pairs, pair{-1, b0 + j})
			j++
		}
	}
	return pairs
}

// An item is an object that waits for its counterpart.
type item struct {
	raw         []byte // owned
	line, place int    // place orders its differences
	// what is a hash of type, protocol and message.
	what uint64
	// hash is a hash of everything that must not differ.
	hash uint64
	// traits are hashes of its values, sorted. Similar objects have many in common.
	traits []uint64
	frame  uint64
}

// size returns the memory of an item, for limits.
func (it *item) size() int { return len(it.raw) + 256 }

// FNV-1a, 64 bits. Hashes never prove that objects are equal, because a file may contain
// forged collisions.
const (
	fnvBasis = 14695981039346656037
	fnvPrime = 1099511628211
)

func hashBytes(h uint64, b []byte) uint64 {
	for _, c := range b {
		h = (h ^ uint64(c)) * fnvPrime
	}
	return (h ^ 0xff) * fnvPrime // marks the end
}

// mix mixes the bits of a hash, so that hashes can be added.
func mix(h uint64) uint64 {
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}

// digest returns the item of an object that s has parsed.
func (c *comparer) digest(s *side, raw []byte, line int) item {
	it := item{raw: raw, line: line, frame: s.Uint(0, "frame"), what: fnvBasis}
	for _, key := range [...]string{"type", "protocol", "message"} {
		it.what = hashBytes(it.what, []byte(s.Str(0, key)))
	}
	it.what = hashBytes(it.what, []byte(s.FindingID()))
	c.path = c.path[:0]
	c.traits(s, 0, fnvBasis, func(h uint64) {
		it.hash += h
		it.traits = append(it.traits, h)
	})
	slices.Sort(it.traits)
	return it
}

// traits yields the hashes of the values in object n, and in the objects within it, except
// values that may differ.
func (c *comparer) traits(s *side, n int, h uint64, yield func(uint64)) {
	for i := range s.In(n) {
		key := s.Nodes[i].Key
		c.path = append(c.path, step{key, noIndex})
		h := hashBytes(h, key)
		switch {
		case c.role(s.kind) == passed:
		case c.messageFindings() && s.Nodes[i].Kind == jsonl.Array && len(c.list(&s.Document, i)) == 0:
			// A missing list equals an empty one.
		case s.Nodes[i].Kind == jsonl.Object && len(c.path) == 1:
			c.traits(s, i, h, yield)
		default:
			if h = mix(c.hash(s, h, i)); h != 0 {
				yield(h)
			}
		}
		c.path = c.path[:len(c.path)-1]
	}
}

// hash returns the hash of the value at the current path, 0 if it may differ.
func (c *comparer) hash(s *side, h uint64, i int) uint64 {
	n := &s.Nodes[i]
	switch c.role(s.kind) {
	case passed, reference, identity, follows:
		return 0 // only the comparison can decide
	case clock:
		if ns, ok := relative(n, s.start); ok {
			return mix(h + uint64(ns))
		}
	}
	switch n.Kind {
	case jsonl.Object:
		sum := h
		for k := range s.In(i) {
			key := s.Nodes[k].Key
			c.path = append(c.path, step{key, noIndex})
			sum += mix(c.hash(s, hashBytes(fnvBasis, key), k))
			c.path = c.path[:len(c.path)-1]
		}
		return sum
	case jsonl.Array:
		for element, k := range c.list(&s.Document, i) {
			c.path = append(c.path, step{nil, element})
			h = h*fnvPrime + mix(c.hash(s, h, k))
			c.path = c.path[:len(c.path)-1]
		}
		return h
	}
	if c.talk != nil {
		if ends := s.end(c.path, n); ends != 0 {
			return mix(h + 1 + uint64(bits.TrailingZeros(uint(ends))))
		}
	}
	return hashBytes(h^uint64(n.Kind), n.Value)
}

// like returns the similarity of two items, for an alignment.
func like(a, b *item) int {
	switch {
	case a.what != b.what:
		return -1
	case a.hash == b.hash:
		return same
	}
	return 16 + similarity(a.traits, b.traits)
}

// similarity returns the share of common elements of two sorted lists, from 0 to 1024.
func similarity(a, b []uint64) int {
	if len(a)+len(b) == 0 {
		return 1024
	}
	both := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			both++
			i, j = i+1, j+1
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return both * 2048 / (len(a) + len(b))
}
