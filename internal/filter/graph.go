package filter

import "slices"

// A graph is a decision tree with shared nodes: each test leads to one node if it
// holds and to another if it does not, and finally to accept or reject. It has no
// cycles and no equal nodes.
type graph struct {
	root           *node
	accept, reject *node
	nodes          map[node]*node
}

// A node is a test with its successors.
type node struct {
	test    test
	yes, no *node
}

func newGraph(c *condition) *graph {
	g := &graph{accept: new(node), reject: new(node), nodes: map[node]*node{}}
	g.root = g.lower(c, g.accept, g.reject)
	for {
		root := g.shorten()
		if root == g.root {
			return g
		}
		g.root = root
	}
}

// node returns the single node with this test and these successors. If the successors
// are equal, no test is needed.
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

// lower returns the first node for a condition that leads to yes or no.
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
	return g.node(c.test, yes, no)
}

// order returns all nodes except accept and reject in topological order.
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

// A fact is the result of an earlier test: some bits of a value equal a number, or do
// not.
type fact struct {
	x       value
	mask, n uint32
	equal   bool
}

// maxFacts limits the facts per path.
const maxFacts = 64

// shorten removes the tests whose result follows from earlier tests on all paths. It
// returns the new root.
func (g *graph) shorten() *node {
	type successors struct{ yes, no *node }
	order := g.order()
	facts := map[*node][]fact{g.root: nil} // that hold on all paths to a node
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
			known = slices.DeleteFunc(slices.Clone(before), func(f fact) bool { return !slices.Contains(known, f) })
		}
		facts[n] = known
		return n
	}
	for _, n := range order {
		if known, reached := facts[n]; reached {
			leads[n] = successors{yes: arrive(n.yes, learn(known, &n.test, true)), no: arrive(n.no, learn(known, &n.test, false))}
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

// learn adds the fact that the result of a test implies.
func learn(facts []fact, t *test, yes bool) []fact {
	if t.cmp != equal || len(facts) >= maxFacts {
		return facts
	}
	return append(slices.Clip(facts), fact{t.x, t.mask, t.n, yes})
}

// decided returns the result of a test if the facts imply it.
func decided(t *test, facts []fact) (yes, ok bool) {
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
