package reassembly

import (
	"cmp"
	"time"
)

// Limits bound one table. A zero field means the value of [DefaultLimits]: no limit can be
// turned off.
type Limits struct {
	// Sets is the number of sets held at once. Up to a quarter of them are complete sets,
	// remembered to recognise late copies.
	Sets int
	// Pieces is the number of pieces held for one set.
	Pieces int
	// SetBytes is the number of payload bytes held for one set.
	SetBytes int
	// Age is how long a set may wait for the rest after its first piece.
	Age time.Duration
}

// DefaultLimits suit both tables: a Valve split header can count 255 pieces, and a
// megabyte holds 255 of any usual size.
var DefaultLimits = Limits{
	Sets:     16384,
	Pieces:   255,
	SetBytes: 1 << 20,
	Age:      30 * time.Second,
}

func (l Limits) withDefaults() Limits {
	l.Sets = cmp.Or(max(l.Sets, 0), DefaultLimits.Sets)
	l.Pieces = cmp.Or(max(l.Pieces, 0), DefaultLimits.Pieces)
	l.SetBytes = cmp.Or(max(l.SetBytes, 0), DefaultLimits.SetBytes)
	l.Age = cmp.Or(max(l.Age, 0), DefaultLimits.Age)
	return l
}

// DefaultBudget is the number of bytes that the tables of one analysis may hold together,
// bookkeeping included.
const DefaultBudget = 16 << 20

// A Budget bounds the memory of all tables made with it. When a piece would bring the sum
// above the high watermark, sets of all tables are evicted until the sum is below the low
// watermark, so that a flood costs one sweep for many packets. Complete sets are evicted
// first, then the oldest.
type Budget struct {
	high, low int
	used      int
	tables    []*table
}

// NewBudget returns a budget of at most bytes; [DefaultBudget] if bytes is not
// positive.
func NewBudget(bytes int) *Budget {
	bytes = cmp.Or(max(bytes, 0), DefaultBudget)
	return &Budget{high: bytes, low: bytes - bytes/sweep}
}

// A sweep frees a sweepth part of the budget. Every table keeps as much memory for later
// sets, so that a flood allocates nothing.
const sweep = 16

// Used returns the number of bytes held, bookkeeping included.
func (b *Budget) Used() int { return b.used }

// reserve makes room for n more bytes and counts them. It never evicts the set in slot
// keep of table t, which is growing.
func (b *Budget) reserve(t *table, keep int32, n int) bool {
	if b.used+n > b.high {
		if n > b.high {
			return false // do not evict everything for it
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

// evict evicts the oldest complete set or, if there is none, the oldest incomplete one.
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

// oldestBut returns the oldest set of l, a list of t, that may be evicted: not the one
// that the caller has borrowed, and not slot keep of table in.
func (t *table) oldestBut(l *list, in *table, keep int32) int32 {
	s := l.oldest
	for s != none && (s == t.borrowed || t == in && s == keep) {
		s = t.sets[s].newer
	}
	return s
}
