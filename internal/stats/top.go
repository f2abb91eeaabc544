package stats

import (
	"cmp"
	"net/netip"

	"github.com/qdissect/qdissect/internal/endpoint"
)

// A key is an address and a port, which is 0 for clients.
type key endpoint.Endpoint

func keyOf(a netip.Addr, port uint16) key { return key(endpoint.Of(netip.AddrPortFrom(a, port))) }

// host returns the key without the port.
func (k *key) host() key { return key{k.Hi, k.Lo, 0, k.V4} }

func (k *key) addr() netip.Addr { return (*endpoint.Endpoint)(k).Addr() }

func (k *key) hash() uint64 {
	return mix(k.Lo*0x9e3779b97f4a7c15 ^ k.Hi*0xc2b2ae3d27d4eb4f ^ uint64(k.Port)<<48)
}

// short returns a hash for a small table.
func (k *key) short() uint64 { return short(k.Lo ^ k.Hi ^ uint64(k.Port)<<48) }

func short(h uint64) uint64 {
	h *= 0x9e3779b97f4a7c15
	return h ^ h>>32
}

func (k *key) compare(o *key) int {
	return cmp.Or(cmp.Compare(k.Hi, o.Hi), cmp.Compare(k.Lo, o.Lo), cmp.Compare(k.Port, o.Port))
}

// A top keeps the keys that are counted most often in bounded memory, nearly as Space-Saving does (Metwally and others,
// 2005). A key that is not among them replaces the one with the lowest count of a few, and the highest count that was ever
// evicted is its error: old keys leave, and a key that is counted far more often than most stays, whatever else comes.
type top[V any] struct {
	most    int
	entries []entry[V]
	heads   []uint32 // hash table of lists of entries: the position of the first plus one
	hand    int      // of the entries of which the next is evicted
	gone    uint64   // the highest count of a key that was evicted
}

// staying is how much a message counts of an entry that stays.
const staying = 64

// few is how many entries are compared to evict one.
const few = 8

type entry[V any] struct {
	key
	next  uint32 // of the list: its position plus one
	stays bool   // its messages weigh more
	sum   uint64 // hash
	count uint64 // of messages
	err   uint64 // inherited
	v     V
}

// find returns the entry of a key, nil if there is none.
func (t *top[V]) find(k *key, sum uint64) *entry[V] {
	heads := t.heads
	if len(heads) == 0 {
		return nil
	}
	for i := heads[sum&uint64(len(heads)-1)]; i != 0; {
		e := &t.entries[i-1]
		if e.sum == sum && e.key == *k {
			return e
		}
		i = e.next
	}
	return nil
}

// may reports whether the key of a hash may be in the table.
func (t *top[V]) may(sum uint64) bool { return len(t.heads) > 0 && *t.head(sum) != 0 }

// head returns the head of the list of a hash.
func (t *top[V]) head(sum uint64) *uint32 { return &t.heads[sum&uint64(len(t.heads)-1)] }

// place returns a place for a new key, and whether another key is evicted for it, of which the value is still there. Entries
// stay valid until the next key comes.
func (t *top[V]) place(k *key, sum uint64) (e *entry[V], evicts bool) {
	if len(t.entries) < t.most {
		return t.extend(k, sum), false
	}
	// In a flood the next has no more than others had that were evicted.
	i := t.hand
	if t.hand++; t.hand == t.most {
		t.hand = 0
	}
	e = &t.entries[i]
	if e.rank() > t.gone {
		i = t.least(i)
		e = &t.entries[i]
		t.gone = max(t.gone, e.count)
	}
	at := t.head(e.sum)
	for *at != uint32(i+1) {
		at = &t.entries[*at-1].next
	}
	*at = e.next
	e.count, e.err, e.stays = t.gone, t.gone, false
	e.key, e.sum = *k, sum
	at = t.head(sum)
	e.next, *at = *at, uint32(i+1)
	return e, true
}

// least returns the position of the lowest count of an entry and a few others. They are far from each other: what comes at the same time
// lies side by side, such as the clients of a botnet.
func (t *top[V]) least(i int) int {
	step, least, lowest := max(t.most/few, 1), i, t.entries[i].rank()
	for range few - 1 {
		if i += step; i >= t.most {
			i -= t.most
		}
		if e := &t.entries[i]; e.count < lowest && e.rank() < lowest { // one access decides, as nearly always
			least, lowest = i, e.rank()
		}
	}
	return least
}

// rank orders entries: the lowest is evicted. One that stays has as much as staying times its own messages, so that what is counted far
// more often displaces it.
func (e *entry[V]) rank() uint64 { return e.count + either(e.stays, staying*(e.count-e.err), 0) }

// extend adds an entry. It is not inlined, which would make place save registers.
//
//go:noinline
func (t *top[V]) extend(k *key, sum uint64) *entry[V] {
	i := len(t.entries)
	if i == cap(t.entries) {
		t.entries = append(make([]entry[V], 0, min(t.most, 4*i+16)), t.entries...)
		t.reindex()
	}
	t.entries = t.entries[:i+1]
	e := &t.entries[i]
	e.key, e.sum = *k, sum
	t.link(i)
	return e
}

// room reports whether a new key evicts none.
func (t *top[V]) room() bool { return len(t.entries) < t.most }

// gain adds the counts of an entry of another table.
func (e *entry[V]) gain(o *entry[V]) {
	e.count += o.count
	e.err += o.err
	e.stays = e.stays || o.stays
}

// fewest returns the first entry with the lowest number of those that have one below a bound, nil if none has.
func fewest[V any](t *top[V], below uint64, number func(*entry[V]) (uint64, bool)) (least *entry[V]) {
	for i := range t.entries {
		if n, has := number(&t.entries[i]); has && n < below {
			least, below = &t.entries[i], n
		}
	}
	return least
}

// A stock has what only some entries of tables get, or get for a while: what is free, and how many more may be made.
type stock[T any] struct {
	free []T
	left int
	make func() T
}

// take returns one that is free or new, nil if there is none.
func (s *stock[T]) take() (x T) {
	if k := len(s.free); k > 0 {
		x, s.free = s.free[k-1], s.free[:k-1]
	} else if s.left > 0 {
		s.left--
		x = s.make()
	}
	return x
}

// give gives back one that is empty.
func (s *stock[T]) give(x T) { s.free = append(s.free, x) }

// reindex rebuilds the hash table for the capacity. That of a small table has so much room that a new key finds an empty list.
func (t *top[V]) reindex() {
	n := 32
	for n < 2*cap(t.entries) || n < min(8*cap(t.entries), 512) {
		n *= 2
	}
	t.heads = make([]uint32, n)
	for i := range t.entries {
		t.link(i)
	}
}

// link puts an entry into its list.
func (t *top[V]) link(i int) {
	e := &t.entries[i]
	at := t.head(e.sum)
	e.next, *at = *at, uint32(i+1)
}
