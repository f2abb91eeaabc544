package quake3

// The engine packs what follows "connect " with an adaptive Huffman code (Sayood,
// "Introduction to Data Compression", adaptive Huffman coding): two bytes of length,
// big-endian, then bits, the lowest bit of a byte first. Both sides begin with a tree
// that contains only the code for a new byte.

// maxUnpacked is the size of the engine's longest message. It truncates longer ones.
const maxUnpacked = 16384

const (
	newByte  = 256           // precedes a byte that occurs for the first time
	inner    = 257           // a node that is not a leaf
	maxNodes = 2*newByte + 1 // leaves and inner nodes
	none     = int16(-1)     // no node
	lengthOf = 2             // size of the length
)

// A tree is the state of the code after a number of bytes. The order of the nodes is by
// falling weight, and updates preserve it.
type tree struct {
	weight              [maxNodes]int32
	parent, left, right [maxNodes]int16
	symbol              [maxNodes]int16
	rank                [maxNodes]int16 // index of a node in order
	order               [maxNodes]int16
	leaf                [newByte + 1]int16
	root                int16
	nodes               int16
}

func (t *tree) reset() {
	for i := range t.leaf {
		t.leaf[i] = none
	}
	t.leaf[newByte] = 0
	t.weight[0], t.symbol[0] = 0, newByte
	t.parent[0], t.left[0], t.right[0] = none, none, none
	t.rank[0], t.order[0] = 0, 0
	t.root, t.nodes = 0, 1
}

// add updates the code with one byte.
func (t *tree) add(b byte) {
	if n := t.leaf[b]; n != none {
		t.increment(n)
		return
	}
	// The node for new bytes is replaced by a node that joins it and the new leaf.
	last := t.leaf[newByte]
	join, n := t.nodes, t.nodes+1
	t.nodes += 2
	up := t.parent[last]
	t.weight[join], t.symbol[join], t.parent[join], t.left[join], t.right[join] = 1, inner, up, last, n
	t.weight[n], t.symbol[n], t.parent[n], t.left[n], t.right[n] = 1, int16(b), join, none, none
	t.parent[last] = join
	t.replace(up, last, join)
	place := t.rank[last]
	t.put(join, place)
	t.put(n, place+1)
	t.put(last, place+2)
	t.leaf[b] = n
	t.increment(up)
}

func (t *tree) put(n, place int16) { t.order[place], t.rank[n] = n, place }

// increment adds 1 to the weight of a node and of all its ancestors. Before that, the
// node moves to the first place among those of its weight.
func (t *tree) increment(n int16) {
	if n == none {
		return
	}
	first, weight := t.rank[n], t.weight[n]
	for first > 0 && t.weight[t.order[first-1]] == weight {
		first--
	}
	if o := t.order[first]; o != n {
		if o != t.parent[n] {
			t.swap(o, n)
		}
		t.exchange(o, n)
	}
	t.weight[n]++
	up := t.parent[n]
	t.increment(up)
	// A node that overtook its parent goes back after it.
	if up != none && t.rank[up] == t.rank[n]+1 {
		t.exchange(n, up)
	}
}

// exchange swaps two nodes in the order.
func (t *tree) exchange(a, b int16) {
	pa, pb := t.rank[a], t.rank[b]
	t.put(a, pb)
	t.put(b, pa)
}

// swap swaps two nodes in the tree. Children of one parent keep their places if a is
// the left one: the engine does so, and it is part of the format.
func (t *tree) swap(a, b int16) {
	pa, pb := t.parent[a], t.parent[b]
	t.replace(pa, a, b)
	t.replace(pb, b, a)
	t.parent[a], t.parent[b] = pb, pa
}

// replace makes a node a child in place of another.
func (t *tree) replace(parent, child, by int16) {
	switch {
	case parent == none:
		t.root = by
	case t.left[parent] == child:
		t.left[parent] = by
	default:
		t.right[parent] = by
	}
}

// bits reads bits, the lowest of each byte first.
type bits struct {
	data []byte
	at   uint
}

func (b *bits) next() int {
	i := b.at
	b.at++
	if i/8 >= uint(len(b.data)) {
		return 0
	}
	return int(b.data[i/8]>>(i%8)) & 1
}

func (b *bits) over() bool { return b.at > 8*uint(len(b.data)) }

// unpack appends the unpacked data to dst. It returns false if data ends too early.
func (t *tree) unpack(dst, data []byte) ([]byte, bool) {
	if len(data) < lengthOf {
		return dst, false
	}
	length := int(data[0])<<8 | int(data[1])
	in := bits{data: data[lengthOf:]}
	t.reset()
	for n := range length {
		if n == maxUnpacked {
			return dst, false
		}
		node := t.root
		for t.symbol[node] == inner {
			if in.next() != 0 {
				node = t.right[node]
			} else {
				node = t.left[node]
			}
		}
		b := byte(t.symbol[node])
		if t.symbol[node] == newByte {
			b = 0
			for range 8 {
				b = b<<1 | byte(in.next())
			}
		}
		if in.over() {
			return dst, false
		}
		dst = append(dst, b)
		t.add(b)
	}
	return dst, true
}
