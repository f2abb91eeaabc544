package golden

import (
	"math/bits"
	"slices"

	"github.com/qdissect/qdissect/internal/jsonl"
)

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
	kind        string // type
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
	it := item{raw: raw, line: line, kind: s.kind, frame: s.Uint(0, "frame"), what: fnvBasis}
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
