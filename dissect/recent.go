package dissect

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/qdissect/qdissect/internal/core"
)

// A hasher hashes the keys of a table, which have a few words. Its numbers are random,
// so that nobody can send what collides.
type hasher struct{ a, b uint64 }

func newHasher() hasher { return hasher{rand.Uint64(), rand.Uint64()} }

// add adds two words to a hash; the first one is h.b.
func (h *hasher) add(hash, x, y uint64) uint64 {
	hi, lo := bits.Mul64(x^h.a, y^hash)
	return hi ^ lo
}

// end returns the upper bits of a hash, mixed once more: those of keys that count up are
// else not spread.
func end(hash uint64) uint32 {
	const odd = 0x9e3779b97f4a7c15 // spreads every bit to the upper ones
	return uint32((hash ^ hash>>32) * odd >> 32)
}

func (h *hasher) flow(k *flowKey) uint32 {
	x := h.add(h.b, k.low.hi, k.low.lo)
	x = h.add(x, k.high.hi, k.high.lo)
	return end(h.add(x, uint64(k.lowPort)<<16|uint64(k.highPort), h.b^core.Bit[uint64](k.tcp)))
}

func (h *hasher) address(k address) uint32 { return end(h.add(h.add(h.b, k.hi, k.lo), h.b, 0)) }

func (h *hasher) server(k serverKey) uint32 {
	return end(h.add(h.add(h.b, k.hi, k.lo), uint64(k.port), h.b))
}

func (h *hasher) peer(k peerKey) uint32 {
	x := h.add(h.b, k.client.hi, k.client.lo)
	x = h.add(x, k.server.hi, k.server.lo)
	return end(h.add(x, uint64(k.port)<<8|uint64(uint8(k.protocol)), h.b))
}

// A side holds values for a few entries of another table, which store a position in
// it. Position 0 holds the zero value.
type side[T any, P linked[T]] struct {
	entries []T
	free    uint32 // the first free position, 0 if there is none
}

// linked is a pointer to a value. next is a number in it that, where the value is free,
// is the next free position.
type linked[T any] interface {
	*T
	next() *uint32
}

func newSide[T any, P linked[T]]() side[T, P] { return side[T, P]{entries: make([]T, 1)} }

// at returns the value at a position for reading.
func (s *side[T, P]) at(place int32) *T { return &s.entries[place] }

// own returns the value at a position for writing, allocating one if it is 0. It is
// valid until the next allocation.
func (s *side[T, P]) own(place *int32) *T {
	switch {
	case *place > 0:
		return &s.entries[*place]
	case s.free > 0:
		*place = int32(s.free)
		s.free = *P(&s.entries[s.free]).next()
	default:
		*place = int32(len(s.entries))
		s.entries = append(withRoom(s.entries, math.MaxInt32), *new(T))
		return &s.entries[*place]
	}
	o := &s.entries[*place]
	*o = *new(T)
	return o
}

// release frees a position.
func (s *side[T, P]) release(place int32) {
	if place > 0 {
		*P(&s.entries[place]).next() = s.free
		s.free = uint32(place)
	}
}

// withRoom returns a slab with room for another entry, even beyond the limit. It grows by
// a factor of two up to the limit.
func withRoom[T any](s []T, limit int) []T {
	if len(s) < cap(s) {
		return s
	}
	return append(make([]T, 0, max(min(limit, 2*len(s)+8), len(s)+1)), s...)
}

// recent maps the newest keys, at most limit, to values; the oldest key is evicted.
// Like the table of flows it uses open addressing over a slab. When full, the slab is a
// ring.
type recent[K comparable, V any] struct {
	hasher  hasher
	hashOf  func(*hasher, K) uint32 // a pointer would put each key on the heap
	slots   []flowSlot
	entries []recentEntry[K, V]
	next    int // of the ring: the oldest
	limit   int
	// evicted counts those that made room.
	evicted uint64
}

type recentEntry[K comparable, V any] struct {
	key   K
	hash  uint32
	value V
}

// newRecent returns a table of at most limit keys, which hash, a method of hasher, hashes.
func newRecent[K comparable, V any](limit int, hash func(*hasher, K) uint32) *recent[K, V] {
	return &recent[K, V]{hasher: newHasher(), hashOf: hash, slots: make([]flowSlot, 64), limit: limit}
}

// find returns the value of a key, nil if there is none. It is valid until a key is
// added.
func (t *recent[K, V]) find(k *K) *V {
	i := t.index(k, t.hash(k))
	if i < 0 {
		return nil
	}
	return &t.entries[i].value
}

// at returns the value at a position if the key is still there, else nil.
func (t *recent[K, V]) at(i int32, k *K) *V {
	if i < 0 || int(i) >= len(t.entries) || t.entries[i].key != *k {
		return nil
	}
	return &t.entries[i].value
}

// index returns the position of a key, none if there is none.
func (t *recent[K, V]) index(k *K, hash uint32) int32 {
	mask := uint32(len(t.slots) - 1)
	for s := hash & mask; ; s = (s + 1) & mask {
		e := t.slots[s]
		if e.flow == 0 {
			return none
		}
		if e.hash == hash && t.entries[e.flow-1].key == *k {
			return e.flow - 1
		}
	}
}

func (t *recent[K, V]) hash(k *K) uint32 { return t.hashOf(&t.hasher, *k) }

// get returns the value of a key, adding a zero value if the key is new.
func (t *recent[K, V]) get(k *K) *V { return &t.entries[t.place(k)].value }

// place returns the position of a key, adding it if it is new.
func (t *recent[K, V]) place(k *K) int32 {
	hash := t.hash(k)
	if i := t.index(k, hash); i != none {
		return i
	}
	if (len(t.entries)+1)*2 > len(t.slots) && len(t.entries) < t.limit {
		t.slots = grown(t.slots)
	}
	i := len(t.entries)
	if i < t.limit {
		t.entries = withRoom(t.entries, t.limit)[:i+1]
	} else {
		i = t.next
		t.evicted++
		t.next = (i + 1) % t.limit
		removeSlot(t.slots, t.entries[i].hash, int32(i))
	}
	e := &t.entries[i]
	e.key, e.hash, e.value = *k, hash, *new(V)
	placeSlot(t.slots, flowSlot{int32(i) + 1, hash})
	return int32(i)
}

func (t *recent[K, V]) clear() {
	clear(t.slots)
	t.entries, t.next = t.entries[:0], 0
}

func (t *recent[K, V]) len() int { return len(t.entries) }
