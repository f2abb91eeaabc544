package filter

import "slices"

// A graph is a condition as tests that lead from one to the next: to one if
// the test holds, to another if it does not, and in the end to accept or
// reject. No way through it comes back to where it was, and no two nodes are
// the same.
type graph struct {
	root           *node
	accept, reject *node
	values         map[value]*value
	nodes          map[node]*node
}

// A node is a test and what follows it.
type node struct {
	test    test
	yes, no *node
}

func newGraph(c *condition) *graph {
	g := &graph{accept: new(node), reject: new(node), values: map[value]*value{}, nodes: map[node]*node{}}
	g.root = g.lower(c, g.accept, g.reject)
	for {
		root := g.shorten()
		if root == g.root {
			return g
		}
		g.root = root
	}
}

// intern returns the one copy of a value, so that values can be compared by
// their addresses.
func (g *graph) intern(v *value) *value {
	if v == nil {
		return nil
	}
	key := *v
	key.x, key.y = g.intern(v.x), g.intern(v.y)
	if known, ok := g.values[key]; ok {
		return known
	}
	own := key
	g.values[key] = &own
	return &own
}

// node returns the one node of a test with these successors. A test that
// changes nothing is none.
func (g *graph) node(t test, yes, no *node) *node {
	if yes == no {
		return yes
	}
	key := node{t, yes, no}
	if known, ok := g.nodes[key]; ok {
		return known
	}
	own := key
	g.nodes[key] = &own
	return &own
}

// lower returns the node where the evaluation of a condition begins that leads
// to yes or to no.
func (g *graph) lower(c *condition, yes, no *node) *node {
	switch c.kind {
	case conditionAlways:
		return yes
	case conditionNever:
		return no
	case conditionNot:
		return g.lower(c.parts[0], no, yes)
	case conditionAll:
		for _, p := range slices.Backward(c.parts) {
			yes = g.lower(p, yes, no)
		}
		return yes
	case conditionAny:
		for _, p := range slices.Backward(c.parts) {
			no = g.lower(p, yes, no)
		}
		return no
	}
	t := c.test
	t.x, t.y = g.intern(t.x), g.intern(t.y)
	return g.node(t, yes, no)
}

// order returns all nodes but accept and reject, each before those that it
// leads to.
func (g *graph) order() []*node {
	var list []*node
	seen := map[*node]bool{g.accept: true, g.reject: true}
	var visit func(n *node)
	visit = func(n *node) {
		if seen[n] {
			return
		}
		seen[n] = true
		visit(n.no)
		visit(n.yes)
		list = append(list, n)
	}
	visit(g.root)
	slices.Reverse(list)
	return list
}

// A fact is what earlier tests tell about a value: that some bits of it equal
// a number, or that they do not.
type fact struct {
	x       *value
	mask, n uint32
	equal   bool
}

// maxFacts bounds how many of them are remembered on a way through the graph.
const maxFacts = 64

// shorten returns the root of the same graph without the tests whose result is
// known from earlier ones, whichever way led to them.
func (g *graph) shorten() *node {
	type successors struct{ yes, no *node }
	order := g.order()
	facts := map[*node][]fact{g.root: nil} // on all ways to a node
	leads := map[*node]successors{}
	arrive := func(n *node, known []fact) *node {
		for n != g.accept && n != g.reject {
			yes, ok := decided(&n.test, known)
			if !ok {
				break
			}
			if yes {
				n = n.yes
			} else {
				n = n.no
			}
		}
		if before, ok := facts[n]; ok {
			known = common(before, known)
		}
		facts[n] = known
		return n
	}
	for _, n := range order {
		if known, reached := facts[n]; reached {
			leads[n] = successors{
				yes: arrive(n.yes, learn(known, &n.test, true)),
				no:  arrive(n.no, learn(known, &n.test, false)),
			}
		}
	}
	now := map[*node]*node{g.accept: g.accept, g.reject: g.reject}
	for _, n := range slices.Backward(order) {
		if s, ok := leads[n]; ok {
			now[n] = g.node(n.test, now[s.yes], now[s.no])
		}
	}
	return now[g.root]
}

// learn adds what the result of a test tells.
func learn(facts []fact, t *test, yes bool) []fact {
	if t.y != nil || t.cmp != equal || len(facts) >= maxFacts {
		return facts
	}
	return append(slices.Clip(facts), fact{t.x, t.mask, t.n, yes})
}

// decided returns the result of a test if facts tell it.
func decided(t *test, facts []fact) (yes, ok bool) {
	if t.y != nil {
		return false, false
	}
	for _, f := range facts {
		switch {
		case f.x != t.x:
		case f.equal && t.mask&^f.mask == 0:
			return t.cmp.holds(f.n&t.mask, t.n), true
		case !f.equal && t.cmp == equal && f.mask == t.mask && f.n == t.n:
			return false, true
		}
	}
	return false, false
}

// common returns the facts that are in both lists.
func common(a, b []fact) []fact {
	var both []fact
	for _, f := range a {
		if slices.Contains(b, f) {
			both = append(both, f)
		}
	}
	return both
}
