package golden

import (
	"math/bits"
	"slices"

	"github.com/qdissect/qdissect/internal/jsonl"
)

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
