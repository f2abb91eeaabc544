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
	if a.Is4() {
		b := a.As4()
		return key{0, 0xffff<<32 | uint64(binary.BigEndian.Uint32(b[:])), port, true}
	}
	b := a.As16()
	return key{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:]), port, false}
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

func (k *key) is(o *key) bool {
	return k.lo == o.lo && k.hi == o.hi && k.port == o.port && k.v4 == o.v4
}

func (k *key) compare(o *key) int {
	return cmp.Or(cmp.Compare(k.hi, o.hi), cmp.Compare(k.lo, o.lo), cmp.Compare(k.port, o.port))
}

// A top keeps the keys that are counted most often in bounded memory: Space-Saving (Metwally and others, 2005). A key
// that is not among them replaces the one with the lowest count and inherits that count as its error. So a key that is
// counted more often than all by the number of entries is in the table, whatever else comes.
//
// Entries with the same count are in a list, the oldest first, and the lists are in the order of counts; so nothing is
// searched. The lists exist once the table is full.
type top[V any] struct {
	most    int
	entries []entry[V]
	index   []uint32 // hash table of positions plus one, with linear probing
	ranks   []rank   // nil until the table is full; the first is before all others
	spare   []int32  // free places in ranks
	evict   func(*V) // takes and clears what was counted for an evicted key
}

type entry[V any] struct {
	key
	sum          uint64 // hash
	count        uint64 // of messages
	err          uint64 // inherited
	rank         int32
	older, newer int32 // of the same count, -1 for none
	v            V
}

// A rank is the list of the entries with a count.
type rank struct {
	count          uint64
	oldest, newest int32
	lower, higher  int32 // ranks, -1 for none
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

// get counts a key by n and returns its entry. Entries stay valid until the next key comes.
func (t *top[V]) get(k *key, sum, n uint64) *entry[V] {
	e := t.find(k, sum)
	if e == nil {
		e = t.place(k, sum)
	}
	if n > 0 {
		t.count(e, n)
	}
	return e
}

// count counts an entry.
func (t *top[V]) count(e *entry[V], n uint64) {
	if e.count += n; t.ranks != nil {
		t.rise(e)
	}
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
	t.sort()
	i := int(t.ranks[t.ranks[0].higher].oldest)
	e := &t.entries[i]
	t.unlink(e)
	t.evict(&e.v)
	e.key, e.sum, e.err = *k, sum, e.count
	t.link(i)
	return e
}

// room makes room for n more keys.
func (t *top[V]) room(n int) {
	t.most = max(t.most, len(t.entries)+n)
	if t.most > cap(t.entries) {
		t.entries = append(make([]entry[V], 0, max(t.most, 2*cap(t.entries))), t.entries...)
		t.reindex()
	}
}

// merge adds the counts of an entry of another table, for which there is room, and returns the entry of its key.
func (t *top[V]) merge(o *entry[V]) *entry[V] {
	e := t.get(&o.key, o.sum, o.count)
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

// full reports whether keys may have been evicted.
func (t *top[V]) full() bool { return t.ranks != nil }

// sort makes the lists, once the table is full.
func (t *top[V]) sort() {
	if t.ranks != nil {
		return
	}
	t.ranks = append(make([]rank, 0, len(t.entries)+1), rank{lower: -1, higher: -1, oldest: -1, newest: -1})
	order := make([]int32, len(t.entries))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(t.entries[a].count, t.entries[b].count) })
	last := int32(0)
	for _, i := range order {
		if e := &t.entries[i]; last == 0 || t.ranks[last].count != e.count {
			last = t.insert(last, e.count)
		}
		t.join(last, i)
	}
}

// insert makes a rank above another one.
func (t *top[V]) insert(lower int32, count uint64) int32 {
	r := rank{count: count, oldest: -1, newest: -1, lower: lower, higher: t.ranks[lower].higher}
	i := int32(len(t.ranks))
	if k := len(t.spare); k > 0 {
		i, t.spare = t.spare[k-1], t.spare[:k-1]
		t.ranks[i] = r
	} else {
		t.ranks = append(t.ranks, r)
	}
	t.ranks[lower].higher = i
	if r.higher >= 0 {
		t.ranks[r.higher].lower = i
	}
	return i
}

// join adds an entry to a rank as its newest.
func (t *top[V]) join(rank, i int32) {
	r, e := &t.ranks[rank], &t.entries[i]
	e.rank, e.older, e.newer = rank, r.newest, -1
	if r.newest >= 0 {
		t.entries[r.newest].newer = i
	} else {
		r.oldest = i
	}
	r.newest = i
}

// rise moves an entry up to the rank of its count.
func (t *top[V]) rise(e *entry[V]) {
	from := e.rank
	r := &t.ranks[from]
	higher := r.higher
	if r.oldest == r.newest && (higher < 0 || t.ranks[higher].count > e.count) {
		r.count = e.count // it is alone
		return
	}
	i := r.oldest
	if e.older >= 0 {
		i = t.entries[e.older].newer
		t.entries[e.older].newer = e.newer
	} else {
		r.oldest = e.newer
	}
	if e.newer >= 0 {
		t.entries[e.newer].older = e.older
	} else {
		r.newest = e.older
	}
	at := from
	for h := higher; h >= 0 && t.ranks[h].count <= e.count; h = t.ranks[h].higher {
		at = h
	}
	if at == from || t.ranks[at].count != e.count {
		at = t.insert(at, e.count)
	}
	t.join(at, i)
	if r = &t.ranks[from]; r.oldest < 0 {
		t.ranks[r.lower].higher = r.higher
		if r.higher >= 0 {
			t.ranks[r.higher].lower = r.lower
		}
		t.spare = append(t.spare, from)
	}
}
