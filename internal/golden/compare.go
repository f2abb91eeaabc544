package golden

import (
	"bytes"
	"net/netip"
	"strconv"
	"time"

	"github.com/qdissect/qdissect/internal/jsonl"
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
	if (a == nil || b == nil) && c.allPassed(i, j) {
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
	if what == identity && f.From == f.To {
		f.To += " (before, it stood for another)"
	}
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
	if what == identity {
		return c.talk.renamed(a.Value, b.Value)
	}
	return true
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

// allPassed reports whether all values within a value that only one side has may differ.
// An empty list or object counts as a value.
func (c *comparer) allPassed(i, j int) bool {
	if i < 0 {
		return c.holdsOnlyPassed(&c.b, j)
	}
	return c.holdsOnlyPassed(&c.a, i)
}

func (c *comparer) holdsOnlyPassed(s *side, i int) bool {
	if c.role(s.kind) == passed {
		return true
	}
	n := &s.Nodes[i]
	only, element := int(n.End) > i+1 && (n.Kind == jsonl.Object || n.Kind == jsonl.Array), 0
	for k := range s.In(i) {
		next := step{nil, element}
		if n.Kind == jsonl.Object {
			next = step{s.Nodes[k].Key, noIndex}
		}
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
