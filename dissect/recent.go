package dissect

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
		old := t.slots
		t.slots = make([]flowSlot, 2*len(old))
		for _, e := range old {
			if e.flow != 0 {
				placeSlot(t.slots, e)
			}
		}
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
