package golden

import (
	"bytes"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/qdissect/qdissect/internal/jsonl"
)

// A comparer finds the differences between two objects of the output.
type comparer struct {
	rules *Rules
	// talk is set where conversations are compared: what is allowed to differ
	// between two of them.
	talk *talk
	a, b side
	path []step
	of   *jsonl.Node // the name of the element of a list that the path is in
	out  []Field
	// passed says that a field differs that may; length is the difference of
	// the length of the message, which may follow from it.
	passed bool
	length *Field
	al     aligner
}

// side is one of the two objects.
type side struct {
	jsonl.Document
	start int64 // of the capture, in ns since 1970, if times are relative
	kind  string
	ends  [4]string // of the datagram: src, dst, and both without the ports
	ports [2]string
}

// parse takes the bytes of an object.
func (s *side) parse(b []byte, talk bool) error {
	if err := s.Document.Parse(b); err != nil {
		return err
	}
	s.kind = s.Type()
	if !talk {
		return nil
	}
	s.ends, s.ports = [4]string{}, [2]string{}
	for i, key := range [...]string{"src", "dst"} {
		s.ends[i] = s.Str(0, key)
		if end, err := netip.ParseAddrPort(s.ends[i]); err == nil {
			s.ends[2+i] = end.Addr().String()
			s.ports[i] = strconv.Itoa(int(end.Port()))
		}
	}
	return nil
}

// A role is what the place of a value makes of it.
type role uint8

const (
	plain     role = iota
	passed         // may differ
	follows        // from the fields: may differ if one of them may
	clock          // a time
	reference      // the frame of another message
	identity       // a number that one side chose: may differ, if always alike
	fileName       // of a capture: may be packed
)

// role returns that of the value at the current path, in an object of a kind.
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
	case "text":
		if len(p) == 1 && kind == "finding" && !c.rules.Wording {
			return passed
		}
	case "findings":
		if len(p) == 3 && string(p[2].name) == "text" && !c.rules.Wording {
			return passed
		}
	case "file":
		if len(p) == 1 && kind == "capture" {
			return fileName
		}
	case sumKey, formerKey, damagedKey:
		if len(p) == 1 && kind == "summary" {
			return passed // the output has none: see compareFile
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

// compare returns the differences between two objects. They are borrowed until
// the next call.
func (c *comparer) compare() []Field {
	c.path, c.of, c.out = c.path[:0], nil, c.out[:0]
	c.passed, c.length = false, nil
	// A message of another type has other fields: there is no sense in
	// comparing them.
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
	if c.length != nil && !c.passed {
		c.out = append(c.out, *c.length)
	}
	return c.out
}

func (c *comparer) nodeA(i int) *jsonl.Node { return at(&c.a.Document, i) }
func (c *comparer) nodeB(i int) *jsonl.Node { return at(&c.b.Document, i) }

// at returns a node, nil if it is not there.
func at(d *jsonl.Document, i int) *jsonl.Node {
	if i < 0 {
		return nil
	}
	return &d.Nodes[i]
}

// value compares the value i of a with the value j of b; -1 is none.
func (c *comparer) value(i, j int) {
	a, b := c.nodeA(i), c.nodeB(j)
	what := c.role(c.a.kind)
	if what != passed && c.messageFindings() && (a == nil || a.Kind == jsonl.Array) && (b == nil || b.Kind == jsonl.Array) {
		c.elements(i, j) // none are none, whether it says so or not
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
	if c.talk != nil && c.own(a, b) {
		c.pass()
		return
	}
	// What is on one side only may hold nothing but what may differ.
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
		c.length = &f
		return
	}
	c.out = append(c.out, f)
}

// pass notes that a value was allowed to differ.
func (c *comparer) pass() {
	c.passed = c.passed || len(c.path) > 0 && string(c.path[0].name) == "fields"
}

// same reports whether two values are the same.
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

// allPassed reports whether everything inside of a value that the other side
// does not have may differ. A list or an object with nothing inside is
// something.
func (c *comparer) allPassed(i, j int) bool {
	d, kind := &c.a.Document, c.a.kind
	if i < 0 {
		d, i, kind = &c.b.Document, j, c.b.kind
	}
	return c.holdsOnlyPassed(d, i, kind)
}

func (c *comparer) holdsOnlyPassed(d *jsonl.Document, i int, kind string) bool {
	if c.role(kind) == passed {
		return true
	}
	n := &d.Nodes[i]
	if n.Kind != jsonl.Object && n.Kind != jsonl.Array || int(n.End) == i+1 {
		return false
	}
	element := 0
	for k := i + 1; k < int(n.End); k = int(d.Nodes[k].End) {
		c.path = append(c.path, stepTo(d, n.Kind, k, element))
		only := c.holdsOnlyPassed(d, k, kind)
		c.path = c.path[:len(c.path)-1]
		if !only {
			return false
		}
		element++
	}
	return true
}

// stepTo returns the step to the node k of an object, or to an element of a
// list.
func stepTo(d *jsonl.Document, in jsonl.Kind, k, element int) step {
	if in == jsonl.Object {
		return step{d.Nodes[k].Key, noIndex}
	}
	return step{nil, element}
}

// members compares two objects: what is in a in its order, then what only b has.
func (c *comparer) members(i, j int) {
	a, b := &c.a.Document, &c.b.Document
	find := finder(b, j)
	for k := i + 1; k < int(a.Nodes[i].End); k = int(a.Nodes[k].End) {
		c.path = append(c.path, step{a.Nodes[k].Key, noIndex})
		c.value(k, find(a.Nodes[k].Key))
		c.path = c.path[:len(c.path)-1]
	}
	find = finder(a, i)
	for k := j + 1; k < int(b.Nodes[j].End); k = int(b.Nodes[k].End) {
		if find(b.Nodes[k].Key) < 0 {
			c.path = append(c.path, step{b.Nodes[k].Key, noIndex})
			c.value(-1, k)
			c.path = c.path[:len(c.path)-1]
		}
	}
}

// finder finds the members of an object.
func finder(d *jsonl.Document, n int) func(key []byte) int {
	end := int(d.Nodes[n].End)
	if end-n <= 64 { // values, so fewer members
		return func(key []byte) int {
			for i := n + 1; i < end; i = int(d.Nodes[i].End) {
				if bytes.Equal(d.Nodes[i].Key, key) {
					return i
				}
			}
			return -1
		}
	}
	known := make(map[string]int)
	for i := n + 1; i < end; i = int(d.Nodes[i].End) {
		known[string(d.Nodes[i].Key)] = i
	}
	return func(key []byte) int {
		if i, ok := known[string(key)]; ok {
			return i
		}
		return -1
	}
}

// maxAligned bounds the lists that are aligned, by the number of pairs; longer
// ones are compared element by element.
const maxAligned = 1 << 18

// elements compares two lists. One element more or less does not make all
// others differ.
func (c *comparer) elements(i, j int) {
	as, bs := c.list(&c.a.Document, i), c.list(&c.b.Document, j)
	outer := c.of
	visit := func(x, y, index int) {
		c.path = append(c.path, step{nil, index})
		if x >= 0 && y >= 0 {
			c.of = called(&c.a.Document, x)
		}
		c.value(x, y)
		c.path, c.of = c.path[:len(c.path)-1], outer
	}
	if len(as) == len(bs) || len(as)*len(bs) > maxAligned {
		differ := 0
		for k := range min(len(as), len(bs)) {
			if !bytes.Equal(c.a.Nodes[as[k]].Raw, c.b.Nodes[bs[k]].Raw) {
				differ++
			}
		}
		if differ <= 1 || len(as)*len(bs) > maxAligned {
			for k := range max(len(as), len(bs)) {
				x, y := -1, -1
				if k < len(as) {
					x = as[k]
				}
				if k < len(bs) {
					y = bs[k]
				}
				visit(x, y, k)
			}
			return
		}
	}
	pairs := slices.Clone(c.al.align(len(as), len(bs), func(x, y int) int {
		return likeness(&c.a.Document, as[x], &c.b.Document, bs[y])
	}))
	for _, p := range pairs {
		switch {
		case p.b < 0:
			visit(as[p.a], -1, p.a)
		case p.a < 0:
			visit(-1, bs[p.b], p.b)
		default:
			visit(as[p.a], bs[p.b], p.a)
		}
	}
}

// called returns what an object is called by: the first of its members that are
// names. nil is none.
func called(d *jsonl.Document, n int) *jsonl.Node {
	for _, key := range [...]string{"name", "key", "id"} {
		if i := d.Member(n, key); i >= 0 && d.Nodes[i].Kind == jsonl.Text {
			return &d.Nodes[i]
		}
	}
	return nil
}

// messageFindings reports whether the path leads to the findings of a message in a
// conversation, of which those about packets do not count.
func (c *comparer) messageFindings() bool {
	return c.talk != nil && len(c.path) == 1 && string(c.path[0].name) == "findings"
}

// list returns the elements of a list that count; there are none in none.
func (c *comparer) list(d *jsonl.Document, i int) (list []int) {
	if i < 0 {
		return nil
	}
	findings := c.messageFindings()
	for k := i + 1; k < int(d.Nodes[i].End); k = int(d.Nodes[k].End) {
		if findings && packetFinding(d.Str(k, "id")) {
			continue
		}
		list = append(list, k)
	}
	return list
}

// likeness scores how much two elements of a list are alike.
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
	// What an object is called says most of which it is.
	score, n := 1, 0
	for k := i + 1; k < int(x.End); k = int(a.Nodes[k].End) {
		key := a.Nodes[k].Key
		l := b.Member(j, string(key))
		n++
		if l < 0 || !bytes.Equal(a.Nodes[k].Raw, b.Nodes[l].Raw) {
			continue
		}
		score += 2
		switch string(key) {
		case "name", "key", "id":
			score += 64
		}
		if n == 16 {
			break // it is only a score
		}
	}
	return score
}

// own reports whether two values are the same end of two conversations: an
// address or a port that a message repeats.
func (c *comparer) own(a, b *jsonl.Node) bool {
	if a == nil || b == nil || a.Kind != b.Kind || len(c.path) == 0 {
		return false
	}
	x, y := string(a.Value), string(b.Value)
	if x == "" || y == "" {
		return false
	}
	if a.Kind == jsonl.Text {
		for i := range c.a.ends {
			if x == c.a.ends[i] && y == c.b.ends[i] {
				return true
			}
		}
	}
	if !isPort(c.path) {
		return false
	}
	for i := range c.a.ports {
		if x == c.a.ports[i] && y == c.b.ports[i] {
			return true
		}
	}
	return false
}

// isPort reports whether the value at a path is a port by its name.
func isPort(path []step) bool {
	return len(path) > 0 && bytes.Contains(path[len(path)-1].name, []byte("port"))
}
