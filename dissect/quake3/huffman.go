package quake3

// The engine packs what follows "connect " with an adaptive Huffman code (Sayood,
// "Introduction to Data Compression", adaptive Huffman coding): two bytes of length,
// big-endian, then bits, the lowest bit of a byte first. Both sides begin with a tree
// that contains only the code for a new byte.

// maxUnpacked is the size of the engine's longest message. It truncates longer ones.
const maxUnpacked = 16384

const (
	newByte  = 256             // the leaf that precedes a byte that occurs for the first time
	inner    = newByte + 1     // the first node that is not a leaf
	maxNodes = inner + newByte // leaves and inner nodes
	none     = int16(-1)       // no node
	lengthOf = 2               // size of the length
)

// A tree is the state of the code after a number of bytes. The leaf of a byte is the node with its
// number. The order of the nodes is by falling weight, and updates preserve it.
type tree struct {
	nodes  [maxNodes]node
	order  [maxNodes]int16 // the node at each place
	weight [maxNodes]int16 // of the node at each place
	root   int16
	next   int16 // the first unused inner node
}

// A node has a parent, none if it is the root or a byte that has not occurred.
type node struct {
	parent   int16
	place    int16 // in the order
	children [2]int16
}

func (t *tree) reset() {
	for i := range t.nodes[:inner] {
		t.nodes[i].parent = none
	}
	t.put(newByte, 0)
	t.weight[0] = 0
	t.root, t.next = newByte, inner
}

// add updates the code with one byte.
func (t *tree) add(b byte) {
	n := int16(b)
	if t.nodes[n].parent != none {
		t.increment(n)
		return
	}
	// The node for new bytes is replaced by a node that joins it and the new leaf.
	join, last := t.next, &t.nodes[newByte]
	t.next++
	up, place := last.parent, last.place
	t.nodes[join] = node{parent: up, children: [...]int16{newByte, n}}
	t.nodes[n].parent, last.parent = join, join
	t.replace(up, newByte, join)
	t.put(join, place)
	t.put(n, place+1)
	t.put(newByte, place+2)
	t.weight[place], t.weight[place+1], t.weight[place+2] = 1, 1, 0
	t.increment(up)
}

func (t *tree) put(n, place int16) { t.order[place], t.nodes[n].place = n, place }

// increment adds 1 to the weight of a node and of all its ancestors. Before that, the
// node moves to the first place among those of its weight.
func (t *tree) increment(n int16) {
	for n != none {
		node := &t.nodes[n]
		first := int(node.place)
		weight := t.weight[first]
		for first > 0 && t.weight[first-1] == weight {
			first--
		}
		if first != int(node.place) {
			o := t.order[first]
			if o != node.parent {
				t.swap(o, n)
			}
			t.exchange(o, n)
		}
		t.weight[first]++
		n = node.parent
	}
	// Only the sibling of the leaf for new bytes, which has no weight, can have overtaken its
	// parent. It goes back after it.
	if up := t.nodes[newByte].parent; up != none {
		heavy := t.nodes[up].children[0] + t.nodes[up].children[1] - newByte
		if t.nodes[heavy].place < t.nodes[up].place {
			t.exchange(heavy, up)
		}
	}
}

// exchange swaps two nodes of the same weight in the order.
func (t *tree) exchange(a, b int16) {
	pa, pb := t.nodes[a].place, t.nodes[b].place
	t.put(a, pb)
	t.put(b, pa)
}

// swap swaps two nodes in the tree. Children of one parent keep their places if a is
// the left one: the engine does so, and it is part of the format.
func (t *tree) swap(a, b int16) {
	pa, pb := t.nodes[a].parent, t.nodes[b].parent
	t.replace(pa, a, b)
	t.replace(pb, b, a)
	t.nodes[a].parent, t.nodes[b].parent = pb, pa
}

// replace makes a node a child in place of another.
func (t *tree) replace(parent, child, by int16) {
	if parent == none {
		t.root = by
		return
	}
	children := &t.nodes[parent].children
	if children[0] == child {
		children[0] = by
	} else {
		children[1] = by
	}
}

// unpack appends the unpacked data to dst. It returns false if data ends too early.
func (t *tree) unpack(dst, data []byte) ([]byte, bool) {
	if len(data) < lengthOf {
		return dst, false
	}
	length, at := int(data[0])<<8|int(data[1]), uint(0)
	data = data[lengthOf:]
	t.reset()
	for i := range length {
		if i == maxUnpacked {
			return dst, false
		}
		n := t.root
		for ; n >= inner; at++ {
			if at/8 >= uint(len(data)) {
				return dst, false
			}
			n = t.nodes[n].children[data[at/8]>>(at%8)&1]
		}
		b := byte(n)
		if n == newByte {
			if at+8 > 8*uint(len(data)) {
				return dst, false
			}
			for end := at + 8; at < end; at++ {
				b = b<<1 | data[at/8]>>(at%8)&1
			}
		}
		dst = append(dst, b)
		t.add(b)
	}
	return dst, true
}
