package stats

import (
	"cmp"
	"encoding/binary"
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

func (k *key) hash() uint64 { return mix(k.lo*0x9e3779b97f4a7c15 ^ mix(k.hi) ^ uint64(k.port)<<48) }

func (k *key) compare(o *key) int {
	return cmp.Or(cmp.Compare(k.hi, o.hi), cmp.Compare(k.lo, o.lo), cmp.Compare(k.port, o.port))
}

// A top keeps the keys that are counted most often in bounded memory: Space-Saving (Metwally and others, 2005). A key
// that is not among them replaces the one with the lowest count and inherits that count as its error. So a key that is
// counted more often than all by the number of entries is in the table, whatever else comes.
type top[V any] struct {
	most    int
	entries []entry[V]
	index   []uint16 // hash table of positions plus one, with linear probing
	heap    []uint16 // positions, the lowest count first, once the table is full
	evict   func(*V) // takes and clears what was counted for an evicted key
}

type entry[V any] struct {
	key
	sum    uint64 // hash
	count  uint64 // of messages
	err    uint64 // inherited
	heaped uint16 // place in the heap
	v      V
}

// find returns the entry of a key, nil if there is none.
func (t *top[V]) find(k *key, sum uint64) *entry[V] {
	if len(t.index) == 0 {
		return nil
	}
	mask := uint64(len(t.index) - 1)
	for i := sum & mask; t.index[i] != 0; i = (i + 1) & mask {
		if e := &t.entries[t.index[i]-1]; e.sum == sum && e.key == *k {
			return e
		}
	}
	return nil
}

// get counts a key by n and returns its entry. Entries stay valid until the next call.
func (t *top[V]) get(k *key, sum, n uint64) *entry[V] {
	e := t.find(k, sum)
	if e == nil {
		e = t.place(k, sum)
	}
	if e.count += n; t.heap != nil {
		t.sink(int(e.heaped))
	}
	return e
}

// place returns a place for a new key.
func (t *top[V]) place(k *key, sum uint64) *entry[V] {
	if len(t.entries) < t.most {
		if len(t.entries) == cap(t.entries) {
			t.entries = append(make([]entry[V], 0, min(t.most, 4*len(t.entries)+16)), t.entries...)
			t.reindex()
		}
		t.entries = append(t.entries, entry[V]{key: *k, sum: sum})
		t.link(len(t.entries) - 1)
		return &t.entries[len(t.entries)-1]
	}
	if t.heap == nil {
		t.heapify()
	}
	i := int(t.heap[0])
	e := &t.entries[i]
	t.unlink(e)
	t.evict(&e.v)
	e.key, e.sum, e.err = *k, sum, e.count
	t.link(i)
	return e
}

// merge adds the counts of an entry of another table and returns the entry of its key, or nil if the table is full of
// keys that are counted as often.
func (t *top[V]) merge(o *entry[V]) *entry[V] {
	e := t.find(&o.key, o.sum)
	if e == nil {
		if len(t.entries) == t.most {
			if t.heap == nil {
				t.heapify()
			}
			if t.entries[t.heap[0]].count >= o.count {
				return nil
			}
		}
		e = t.place(&o.key, o.sum)
		e.count, e.err = 0, 0
	}
	e.count += o.count
	e.err += o.err
	if t.heap != nil {
		t.sink(int(e.heaped))
	}
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
	t.index = make([]uint16, n)
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
	t.index[at] = uint16(i + 1)
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

func (t *top[V]) heapify() {
	t.heap = make([]uint16, len(t.entries))
	for i := range t.heap {
		t.heap[i], t.entries[i].heaped = uint16(i), uint16(i)
	}
	for i := len(t.heap)/2 - 1; i >= 0; i-- {
		t.sink(i)
	}
}

// sink moves the entry at place i of the heap down to where its count belongs.
func (t *top[V]) sink(i int) {
	moved := t.heap[i]
	count := t.entries[moved].count
	for {
		child := 2*i + 1
		if child >= len(t.heap) {
			break
		}
		least := t.entries[t.heap[child]].count
		if child+1 < len(t.heap) {
			if n := t.entries[t.heap[child+1]].count; n < least {
				child, least = child+1, n
			}
		}
		if least >= count {
			break
		}
		t.heap[i] = t.heap[child]
		t.entries[t.heap[i]].heaped = uint16(i)
		i = child
	}
	t.heap[i] = moved
	t.entries[moved].heaped = uint16(i)
}
