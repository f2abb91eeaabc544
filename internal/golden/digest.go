package golden

import (
	"slices"

	"github.com/qdissect/qdissect/internal/jsonl"
)

// An item is an object in a list that is aligned.
type item struct {
	raw  []byte // owned
	line int
	// what it is: type, protocol and message.
	what uint64
	// hash is that of everything that must not differ.
	hash uint64
	// traits are hashes of its values, sorted: the more two objects have in
	// common, the more they are alike.
	traits []uint64
	frame  uint64
	kind   string
}

// FNV-1a, 64 bits. That two objects are equal is never concluded from a hash:
// files may be made so that hashes collide.
const (
	fnvBasis = 14695981039346656037
	fnvPrime = 1099511628211
)

func hashBytes(h uint64, b []byte) uint64 {
	for _, c := range b {
		h = (h ^ uint64(c)) * fnvPrime
	}
	return (h ^ 0xff) * fnvPrime // where it ends counts too
}

// mix spreads the bits of a hash, so that sums of hashes are hashes.
func mix(h uint64) uint64 {
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}

// digest makes an item of an object, which s has parsed.
func (c *comparer) digest(s *side, raw []byte, line int) item {
	it := item{raw: raw, line: line, frame: s.Uint(0, "frame"), kind: s.kind}
	it.what = hashBytes(fnvBasis, []byte(s.kind))
	for _, key := range [...]string{"protocol", "message"} {
		it.what = hashBytes(it.what, []byte(s.Str(0, key)))
	}
	if s.kind == "finding" {
		it.what = hashBytes(it.what, []byte(s.Str(0, "id")))
	}
	if s.Nodes[0].Kind != jsonl.Object {
		return it
	}
	c.path = c.path[:0]
	trait := func(h uint64) {
		if h = mix(h); h != 0 {
			it.hash += h
			it.traits = append(it.traits, h)
		}
	}
	for i := 1; i < len(s.Nodes); i = int(s.Nodes[i].End) {
		n := &s.Nodes[i]
		c.path = append(c.path, step{n.Key, noIndex})
		h := hashBytes(fnvBasis, n.Key)
		switch {
		case c.role(s.kind) == passed:
		case c.messageFindings() && n.Kind == jsonl.Array && len(c.list(&s.Document, i)) == 0:
			// None are none, whether it says so or not.
		case string(n.Key) == "server":
			// It repeats fields: no trait of its own.
			it.hash += mix(c.hash(s, h, i))
		case n.Kind == jsonl.Object:
			for k := i + 1; k < int(n.End); k = int(s.Nodes[k].End) {
				c.path = append(c.path, step{s.Nodes[k].Key, noIndex})
				trait(c.hash(s, hashBytes(h, s.Nodes[k].Key), k))
				c.path = c.path[:1]
			}
		default:
			trait(c.hash(s, h, i))
		}
		c.path = c.path[:0]
	}
	slices.Sort(it.traits)
	return it
}

// hash returns the hash of a value at the current path; 0 if it may differ.
func (c *comparer) hash(s *side, h uint64, i int) uint64 {
	n := &s.Nodes[i]
	switch c.role(s.kind) {
	case passed, reference, identity, follows:
		return 0 // whether it counts is not known before it is compared
	case clock:
		if ns, ok := relative(n, s.start); ok {
			return mix(h + uint64(ns))
		}
	}
	switch n.Kind {
	case jsonl.Object:
		sum := h
		for k := i + 1; k < int(n.End); k = int(s.Nodes[k].End) {
			c.path = append(c.path, step{s.Nodes[k].Key, noIndex})
			sum += mix(c.hash(s, hashBytes(fnvBasis, s.Nodes[k].Key), k))
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
		if r := s.end(c.path, n); r > 0 {
			return mix(h + r)
		}
	}
	return hashBytes(h^uint64(n.Kind), n.Value)
}

// end returns the number of the end of the conversation that a value names, 0 if
// it names none.
func (s *side) end(path []step, n *jsonl.Node) uint64 {
	v := string(n.Value)
	if v == "" {
		return 0
	}
	if n.Kind == jsonl.Text {
		for i, e := range s.ends {
			if v == e {
				return uint64(1 + i)
			}
		}
	}
	if isPort(path) {
		for i, p := range s.ports {
			if v == p {
				return uint64(10 + i)
			}
		}
	}
	return 0
}

// like scores how much two items are alike, for their alignment. Least is the
// similarity below which two messages of one type are rather one that is missing
// and another that is new.
func like(a, b *item, least int) int {
	switch {
	case a.what != b.what:
		return -1
	case a.hash == b.hash:
		return same
	}
	s := similarity(a.traits, b.traits)
	if s < least && a.kind == "message" {
		return -1
	}
	return 16 + s
}

// likeByFrame is like for two outputs of one capture: what is about the same
// frame belongs together, whatever it was taken for, and nothing else does.
func likeByFrame(a, b *item) int {
	switch {
	case a.kind != b.kind || a.frame != b.frame:
		return -1
	case a.what != b.what && a.kind != "message":
		return -1
	case a.what != b.what:
		return 1
	}
	return like(a, b, 0)
}

// similarity returns how much of two sorted lists is in both, from 0 to 1024.
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
