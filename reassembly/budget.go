package reassembly

import "time"

// Limits bound one table. A zero field takes the value of [DefaultLimits]:
// there is no way to ask for no limit.
type Limits struct {
	// Sets is the number of sets held at once. A quarter of them may be
	// finished ones that are remembered to know late copies.
	Sets int
	// Pieces is the number of pieces held for one set.
	Pieces int
	// SetBytes is the number of payload bytes held for one set.
	SetBytes int
	// Age is how long after its first piece a set may wait for the rest.
	Age time.Duration
}

// DefaultLimits suit both tables: 255 pieces are what a Valve split header
// can count, and a megabyte holds 255 of them at any usual size.
var DefaultLimits = Limits{
	Sets:     16384,
	Pieces:   255,
	SetBytes: 1 << 20,
	Age:      30 * time.Second,
}

func (l Limits) withDefaults() Limits {
	if l.Sets <= 0 {
		l.Sets = DefaultLimits.Sets
	}
	if l.Pieces <= 0 {
		l.Pieces = DefaultLimits.Pieces
	}
	if l.SetBytes <= 0 {
		l.SetBytes = DefaultLimits.SetBytes
	}
	if l.Age <= 0 {
		l.Age = DefaultLimits.Age
	}
	return l
}

// DefaultBudget is the number of bytes that the tables of one analysis may
// hold together, bookkeeping counted.
const DefaultBudget = 16 << 20

// A Budget bounds the memory of all tables made with it. When a piece would
// bring the sum above the high watermark, sets of all tables go out until the
// sum is below the low watermark, so that a flood costs one sweep for many
// packets and not one for each. Finished sets go first, then the oldest.
type Budget struct {
	high, low int
	used      int
	tables    []*table
}

// NewBudget returns a budget of at most bytes; [DefaultBudget] if bytes is not
// positive.
func NewBudget(bytes int) *Budget {
	if bytes <= 0 {
		bytes = DefaultBudget
	}
	return &Budget{high: bytes, low: bytes - bytes/sweep}
}

// sweep is the part of a budget that is freed at once. As much memory is kept
// for the next sets by every table, so that a flood allocates nothing.
const sweep = 16

// Used returns the bytes held now, bookkeeping counted.
func (b *Budget) Used() int { return b.used }

// reserve makes room for n more bytes and counts them. The set at slot keep of
// table t stays, whatever its age: it is the one that grows.
func (b *Budget) reserve(t *table, keep int32, n int) bool {
	if b.used+n > b.high {
		if n > b.high {
			return false // all sets together are not worth it
		}
		for b.used+n > b.low && b.evict(t, keep) {
		}
		if b.used+n > b.high {
			return false
		}
	}
	b.used += n
	return true
}

func (b *Budget) release(n int) { b.used -= n }

// evict puts out the set that is the least loss.
func (b *Budget) evict(in *table, keep int32) bool {
	for _, t := range b.tables {
		if s := t.oldestBut(&t.finished, in, keep); s != none {
			t.drop(s, Evicted)
			return true
		}
	}
	var oldest *table
	var slot int32
	for _, t := range b.tables {
		s := t.oldestBut(&t.waiting, in, keep)
		if s == none {
			continue
		}
		if oldest == nil || t.sets[s].first < oldest.sets[slot].first {
			oldest, slot = t, s
		}
	}
	if oldest == nil {
		return false
	}
	oldest.drop(slot, Evicted)
	return true
}

// oldestBut returns the oldest set of l, a list of t, that may go: neither the
// one that the caller has borrowed nor slot keep of table in.
func (t *table) oldestBut(l *list, in *table, keep int32) int32 {
	s := l.oldest
	for s != none && (s == t.borrowed || t == in && s == keep) {
		s = t.sets[s].newer
	}
	return s
}
