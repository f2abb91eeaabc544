package stats

import (
	"cmp"
	"encoding/binary"
	"math"
	"net/netip"
	"slices"
)

// A key is an address and a port, which is 0 for clients.
type key struct {
	hi, lo uint64
	port   uint16
	v4     bool
}

func keyOf(a netip.Addr, port uint16) key {
	b := a.As16()
	return key{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:]), port, a.Is4()}
}

func (k *key) addr() netip.Addr {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], k.hi)
	binary.BigEndian.PutUint64(b[8:], k.lo)
	a := netip.AddrFrom16(b)
	if k.v4 {
		return a.Unmap()
	}
	return a
}

func (k *key) hash() uint64 {
	return mix(k.lo*0x9e3779b97f4a7c15 ^ k.hi*0xc2b2ae3d27d4eb4f ^ uint64(k.port)<<48)
}

func (k *key) is(o *key) bool {
	return k.lo == o.lo && k.hi == o.hi && k.port == o.port && k.v4 == o.v4
}

func (k *key) compare(o *key) int {
	return cmp.Or(cmp.Compare(k.hi, o.hi), cmp.Compare(k.lo, o.lo), cmp.Compare(k.port, o.port))
}

// A top keeps the keys that are counted most often in bounded memory, nearly as Space-Saving does (Metwally and others,
// 2005). A key that is not among them replaces the one with the lowest count of a few, and the highest count that was ever
// evicted is its error: old keys leave, and a key that is counted far more often than most stays, whatever else comes.
type top[V any] struct {
	most    int
	entries []entry[V]
	index   []uint32 // hash table of positions plus one, with linear probing
	hand    int      // of the entries of which the next is evicted
	gone    uint64   // the highest count of a key that was evicted
	evict   func(*V) // takes and clears what was counted for an evicted key
}

// few is how many entries are compared to evict one. Tables have a multiple of it.
const few = 8

type entry[V any] struct {
	key
	sum   uint64 // hash
	count uint64 // of messages
	err   uint64 // inherited
	v     V
}

// find returns the entry of a key, nil if there is none.
func (t *top[V]) find(k *key, sum uint64) *entry[V] {
	if len(t.index) == 0 {
		return nil
	}
	mask := uint64(len(t.index) - 1)
	for i := sum & mask; t.index[i] != 0; i = (i + 1) & mask {
		if e := &t.entries[t.index[i]-1]; e.sum == sum && e.is(k) {
			return e
		}
	}
	return nil
}

// get returns the entry of a key, which may be new. Entries stay valid until the next key comes.
func (t *top[V]) get(k *key, sum uint64) *entry[V] {
	if e := t.find(k, sum); e != nil {
		return e
	}
	return t.place(k, sum)
}

// place returns a place for a new key.
func (t *top[V]) place(k *key, sum uint64) *entry[V] {
	i := len(t.entries)
	switch {
	case i == t.most:
		i = t.oust()
	case i == cap(t.entries):
		t.entries = append(make([]entry[V], 0, min(t.most, 4*i+16)), t.entries...)
		t.reindex()
		fallthrough
	default:
		t.entries = t.entries[:i+1]
	}
	e := &t.entries[i]
	e.key, e.sum = *k, sum
	t.link(i)
	return e
}

// room reports whether a new key evicts none.
func (t *top[V]) room() bool { return len(t.entries) < t.most }

// oust evicts an entry and returns its position.
func (t *top[V]) oust() int {
	least, n := 0, uint64(math.MaxUint64)
	group := t.entries[t.hand : t.hand+few]
	for i := range group {
		if c := group[i].count; c < n {
			least, n = i, c
		}
	}
	least += t.hand
	if t.hand += few; t.hand == t.most {
		t.hand = 0
	}
	e := &t.entries[least]
	t.unlink(e)
	t.evict(&e.v)
	t.gone = max(t.gone, e.count)
	e.count, e.err = t.gone, t.gone
	return least
}

// merge adds the counts of an entry of another table, evicting none, and returns the entry of its key.
func (t *top[V]) merge(o *entry[V]) *entry[V] {
	if len(t.entries) == t.most {
		t.most *= 2
	}
	e := t.get(&o.key, o.sum)
	e.count += o.count
	e.err += o.err
	return e
}

// byCount returns the entries, the highest count first.
func (t *top[V]) byCount() []*entry[V] {
	list := make([]*entry[V], len(t.entries))
	for i := range t.entries {
		list[i] = &t.entries[i]
	}
	slices.SortFunc(list, func(a, b *entry[V]) int {
		if c := cmp.Compare(b.count, a.count); c != 0 {
			return c
		}
		return a.compare(&b.key)
	})
	return list
}

// reindex rebuilds the hash table for the capacity.
func (t *top[V]) reindex() {
	n := 32
	for n < 2*cap(t.entries) {
		n *= 2
	}
	t.index = make([]uint32, n)
	for i := range t.entries {
		t.link(i)
	}
}

func (t *top[V]) link(i int) {
	mask := uint64(len(t.index) - 1)
	at := t.entries[i].sum & mask
	for t.index[at] != 0 {
		at = (at + 1) & mask
	}
	t.index[at] = uint32(i + 1)
}

// unlink removes an entry from the hash table and closes the gap.
func (t *top[V]) unlink(e *entry[V]) {
	mask := uint64(len(t.index) - 1)
	at := e.sum & mask
	for &t.entries[t.index[at]-1] != e {
		at = (at + 1) & mask
	}
	for next := (at + 1) & mask; t.index[next] != 0; next = (next + 1) & mask {
		home := t.entries[t.index[next]-1].sum & mask
		if (next-home)&mask >= (next-at)&mask {
			t.index[at], at = t.index[next], next
		}
	}
	t.index[at] = 0
}
