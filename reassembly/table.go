package reassembly

import (
	"math"
	"time"
	"unsafe"
)

// A Key names a set: all pieces with the same key belong together. Addresses
// are kept as 16 bytes (IPv4 mapped into IPv6) so that the table holds no
// pointers.
type Key struct {
	Src, Dst         [16]byte
	SrcPort, DstPort uint16
	// Space keeps sets of unlike origin apart: the caller's number for the
	// protocol, the VLAN, the tunnel, below 1<<24 for [Parts].
	Space uint32
	// ID is the identification that the pieces carry.
	ID uint64
}

// A Reason says why an unfinished set was put out.
type Reason uint8

const (
	// Expired: the rest did not come within [Limits].Age, or the clock of
	// the input jumped further than that.
	Expired Reason = iota
	// Evicted: the budget or the number of sets was reached, and this was
	// the oldest.
	Evicted
	// Superseded: the sender began anew with the same key.
	Superseded
	// Settled: no part is missing. Some have the bytes of the set before and
	// could have been late copies of it, until none came that contradict them.
	Settled
	// Copied: nothing but copies of parts of a set that was complete, which
	// answer nothing. No message is lost.
	Copied
	// Damaged: not a set but one part that has no place in any, because its
	// index is not below any total that is stated.
	Damaged
	// Ended: the input ended first.
	Ended
)

var reasonNames = [...]string{
	Expired: "expired", Evicted: "evicted", Superseded: "superseded", Settled: "settled", Copied: "copied", Damaged: "damaged", Ended: "input ended",
}

func (r Reason) String() string { return nameOf(reasonNames[:], int(r)) }

// nameOf returns the name of a constant, "unknown" if it has none.
func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "unknown"
}

// A Verdict says what became of a piece.
type Verdict uint8

const (
	// Held: kept, the set is not complete yet.
	Held Verdict = iota
	// Complete: this piece was the last one missing.
	Complete
	// Duplicate: the same bytes were there already.
	Duplicate
	// Conflict: other bytes were there already; they stay, this piece is
	// not kept.
	Conflict
	// Late: the set was complete before this copy of a piece of it came.
	Late
	// Refused: a limit of the set was reached, the piece is not kept.
	Refused
)

var verdictNames = [...]string{
	Held: "held", Complete: "complete", Duplicate: "duplicate", Conflict: "conflict", Late: "late", Refused: "refused",
}

func (v Verdict) String() string { return nameOf(verdictNames[:], int(v)) }

const none = int32(-1)

// piece is one part or fragment as it arrived. Its bytes stand in the buffer
// of its set.
type piece struct {
	pos    int32 // index of the part, or byte offset of the fragment
	span   int32 // bytes of the whole that a fragment covers: size, or more if the capture cut it; [Part.Size]
	off    int32 // where its bytes begin in the buffer
	size   int32
	header int32 // bytes of a part that are not the message's
	frames int32 // where its frame numbers begin in the set's list
	count  int32 // how many they are
	last   bool  // fragment without the More flag
	cut    bool  // [Part.Cut]

	// The rest is for parts.
	copied  bool   // the bytes of a part of a set before
	doubt   bool   // and so soon after it that it can be a copy of that one
	total   int32  // parts of the whole as this one states it, 0 if it does not
	at      int64  // when it came
	again   int64  // when its newest copy came, noTime if none did
	againIn uint64 // frame of that copy
}

// store is the memory of a set that grows with its pieces. A set has it
// while it needs it, and then it goes to the next one.
type store struct {
	pieces []piece
	order  []int32 // the pieces by position
	buf    []byte
	frames []uint64
}

func (s *store) size() int { return storeSize(cap(s.pieces), cap(s.buf), cap(s.frames)) }

// emptied returns the memory of s without its contents.
func (s *store) emptied() store { return store{s.pieces[:0], s.order[:0], s.buf[:0], s.frames[:0]} }

func storeSize(pieces, bytes, frames int) int {
	return pieces*(int(unsafe.Sizeof(piece{}))+4) + bytes + 8*frames
}

// set is the state of one key. Sets live in a slab and are recycled; they
// stand in one of two lists, by age.
type set struct {
	key          Key
	older, newer int32
	first, last  int64 // time of the first and of the newest piece
	store
	sums       []uint32           // of the pieces of a finished set, to know late copies
	ends       [generations]int32 // of the sums of each set
	charged    int
	total      int32 // parts of the whole, or its bytes; -1 while unknown
	covered    int32 // bytes that fragments cover, overlaps counted twice
	reach      int32 // where the furthest fragment ends
	variant    uint8
	guess      uint8 // the format in which an undecided set is read, 0 if there is none
	unfit      bool  // no format fits all parts
	serial     uint8 // counts the sets that were remembered
	known      uint8 // how many sets the sums are of: see Parts.remember
	ofCopies   bool  // copies of the parts of a set before
	rounds     uint8 // of the sets that are remembered, those of which an odd number of copies came
	shared     bool  // some stand in the set that is under way as well
	done       bool  // finished: it stands in the other list
	settling   bool  // complete with parts that may be late copies: see Parts.settle
	disagree   bool  // the parts state different totals
	beyond     bool  // a part has an index that is not below its own total
	outOfOrder bool
	duplicates int32
	conflicts  int32
	overlaps   int32
	refused    int32
	finished   int64 // time of the newest completion

	own        int32  // parts that are not copied
	stated     int32  // largest total that a part states
	began      int64  // time of the first of them
	delay      int64  // of copies: from the end of the set before to the first of them
	tag        uint32 // see Parts.Tag
	before     int32  // total of the set that was complete before, if nobody asked for another since
	finishedIn uint64 // frame that completed that one
}

// setOverhead is what a set costs without its store: its slot in the slab, and
// its key and slot in the index with the room that a map leaves free.
const setOverhead = int(unsafe.Sizeof(set{})) + 2*(int(unsafe.Sizeof(Key{}))+4)

const (
	// keepBuffer is the largest buffer that waits for the next set: a set
	// that grew large once must not hold its memory for ever.
	keepBuffer = 16 << 10
	// farTooLarge is how many times as large as what it holds the buffer that a
	// set gets may be; one of keepSmall is never too large.
	farTooLarge, keepSmall = 8, 1 << 10
	// keepSums is the longest list of sums that a free slot keeps.
	keepSums = 16
)

// list is sets by age.
type list struct{ oldest, newest int32 }

// table is what Parts and Ranges have in common: sets by key, by age, within
// limits.
type table struct {
	budget   *Budget
	limits   Limits
	lost     func(int32, Reason)
	index    map[Key]int32
	sets     []set
	free     []int32
	spare    []store // for the next sets; not counted as used
	idle     int     // their bytes, at most what a sweep frees
	waiting  list    // sets with pieces missing, by their first piece
	finished list    // complete ones that know late copies, by their completion
	remember int     // how many of them there may be
	done     int     // how many there are
	borrowed int32
	clock    int64 // the latest time that was handed in
}

func newTable(b *Budget, l Limits) table {
	l = l.withDefaults()
	return table{
		budget: b, limits: l, index: make(map[Key]int32), remember: l.Sets / 4,
		waiting: list{none, none}, finished: list{none, none}, borrowed: none, clock: noTime,
	}
}

// noTime stands for the zero time, which frames without a timestamp have.
const noTime = math.MinInt64

func fromNanos(n int64) time.Time {
	if n == noTime {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// now turns the time of a piece into nanoseconds. A piece without a time comes
// at the time of the one before.
func (t *table) now(at time.Time) int64 {
	if !at.IsZero() {
		t.clock = at.UnixNano()
	}
	return t.clock
}

// stale reports whether set i is further from now than its age allows. That
// holds in both directions: when the clock jumps back, because one capture was
// appended to another or a timestamp was wrong, a set from the future would
// wait for ever, and join what does not belong together.
func (t *table) stale(i int32, now int64) bool {
	early, late := t.sets[i].first, now
	if early > late {
		early, late = late, early
	}
	// Far apart, the difference does not fit into an int64, but into this.
	return early != noTime && uint64(late)-uint64(early) > uint64(t.limits.Age)
}

func (t *table) listOf(s *set) *list {
	if s.done {
		return &t.finished
	}
	return &t.waiting
}

// link puts set i at the young end of its list.
func (t *table) link(i int32) {
	s := &t.sets[i]
	l := t.listOf(s)
	s.older, s.newer = l.newest, none
	if l.newest != none {
		t.sets[l.newest].newer = i
	} else {
		l.oldest = i
	}
	l.newest = i
	if s.done {
		t.done++
	}
}

func (t *table) unlink(i int32) {
	s := &t.sets[i]
	l := t.listOf(s)
	if s.older != none {
		t.sets[s.older].newer = s.newer
	} else {
		l.oldest = s.newer
	}
	if s.newer != none {
		t.sets[s.newer].older = s.older
	} else {
		l.newest = s.older
	}
	if s.done {
		t.done--
	}
}

// open makes an empty set for k, putting out others if there are too many.
func (t *table) open(k Key, at int64) (int32, bool) {
	for len(t.index) >= t.limits.Sets {
		if t.finished.oldest != none {
			t.close(t.finished.oldest)
		} else {
			t.drop(t.waiting.oldest, Evicted)
		}
	}
	if !t.budget.reserve(t, none, setOverhead) {
		return none, false
	}
	var i int32
	if n := len(t.free); n > 0 {
		i = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		i = int32(len(t.sets))
		t.sets = append(t.sets, set{})
	}
	s := &t.sets[i]
	*s = set{key: k, first: at, last: at, total: -1, charged: setOverhead, sums: s.sums[:0], finished: noTime}
	t.link(i)
	t.index[k] = i
	if cost := 4 * cap(s.sums); t.budget.reserve(t, i, cost) {
		s.charged += cost
	} else {
		s.sums = nil
	}
	return i, true
}

// restart makes set i wait for parts again. It drops the pieces and keeps what
// identifies copies of earlier sets. before is the total of the set that was
// complete before.
func (t *table) restart(i int32, at int64, before int32) {
	t.unlink(i)
	s := &t.sets[i]
	*s = set{
		key: s.key, first: at, last: at, total: -1, charged: s.charged,
		sums: s.sums, ends: s.ends, known: s.known, serial: s.serial, rounds: s.rounds, tag: s.tag, ofCopies: s.ofCopies, delay: s.delay,
		finished: s.finished, finishedIn: s.finishedIn, before: before,
		store: s.emptied(),
	}
	t.link(i)
}

// equip gives set i, which needs room for n bytes, what an earlier set has left: the
// smallest store with such a buffer, or its buffer in exchange if the set has a store.
// One that is far too large stays for a set that fills it, for many sets wait with a
// single small piece.
func (t *table) equip(i int32, n int) {
	best := -1
	for j := range t.spare {
		if have := cap(t.spare[j].buf); have >= n && have <= max(farTooLarge*n, keepSmall) && (best < 0 || have < cap(t.spare[best].buf)) {
			best = j
		}
	}
	if best < 0 {
		return
	}
	if cap(t.sets[i].pieces) > 0 {
		if cost := cap(t.spare[best].buf) - cap(t.sets[i].buf); t.budget.reserve(t, i, cost) {
			s, o := &t.sets[i], &t.spare[best]
			s.charged += cost
			t.idle -= cost
			s.buf, o.buf = append(o.buf, s.buf...), s.buf[:0]
		}
		return
	}
	last := len(t.spare) - 1
	st := t.spare[best]
	t.spare[best], t.spare = t.spare[last], t.spare[:last]
	cost := st.size()
	t.idle -= cost
	if t.budget.reserve(t, i, cost) {
		t.sets[i].store = st
		t.sets[i].charged += cost
	}
}

// recycle takes the store of set i for the next one.
func (t *table) recycle(i int32) {
	s := &t.sets[i]
	size := s.store.size()
	if size > 0 && cap(s.buf) <= keepBuffer && t.idle+size <= t.budget.high-t.budget.low {
		t.idle += size
		t.spare = append(t.spare, s.emptied())
	}
	s.store = store{}
}

// hold copies a piece into set i and counts it. What is counted is the room
// that is taken, not how much of it is filled.
func (t *table) hold(i int32, p piece, data []byte, frames []uint64, at int64) bool {
	s := &t.sets[i]
	if len(s.pieces) >= t.limits.Pieces || len(data) > min(t.limits.SetBytes, math.MaxInt32)-len(s.buf) {
		s.refused++
		return false
	}
	if need := len(s.buf) + len(data); need > cap(s.buf) || cap(s.pieces) == 0 {
		t.equip(i, need)
	}
	before := s.store.size()
	pieces := room(len(s.pieces), cap(s.pieces), 1, fewPieces)
	bytes := room(len(s.buf), cap(s.buf), len(data), 0)
	numbers := room(len(s.frames), cap(s.frames), len(frames), fewPieces)
	cost := storeSize(pieces, bytes, numbers) - before
	if cost > 0 && !t.budget.reserve(t, i, cost) {
		s.refused++
		return false
	}
	s.charged += cost
	s.pieces, s.order = widen(s.pieces, pieces), widen(s.order, pieces)
	s.buf, s.frames = widen(s.buf, bytes), widen(s.frames, numbers)

	p.off, p.size = int32(len(s.buf)), int32(len(data))
	p.frames, p.count = int32(len(s.frames)), int32(len(frames))
	s.buf = append(s.buf, data...)
	s.frames = append(s.frames, frames...)
	s.pieces = append(s.pieces, p)
	if at > s.last {
		s.last = at
	}
	return true
}

// fewPieces is for how many pieces a new store has room.
const fewPieces = 4

// room returns the capacity that a slice needs to take n more.
func room(have, capacity, n, least int) int {
	if have+n <= capacity {
		return capacity
	}
	return max(have+n, 2*capacity, least)
}

// widen returns s with that capacity, to the byte: append would round it up,
// and nobody would count the difference.
func widen[T any](s []T, capacity int) []T {
	if capacity == cap(s) {
		return s
	}
	wide := make([]T, len(s), capacity)
	copy(wide, s)
	return wide
}

// finish turns set i, which is complete, into a memory of what it was made of.
// The caller has put the sums of its pieces into it.
func (t *table) finish(i int32) {
	t.unlink(i)
	t.recycle(i)
	s := &t.sets[i]
	s.done = true
	s.first = s.finished
	s.covered, s.reach = 0, 0
	t.budget.release(s.charged)
	s.charged = setOverhead + 4*cap(s.sums)
	t.budget.used += s.charged // at most what was charged: the pieces were larger than their sums
	t.link(i)
	for t.done > t.remember {
		t.close(t.finished.oldest)
	}
}

// drop reports an unfinished set and closes it.
func (t *table) drop(i int32, why Reason) {
	if !t.sets[i].done && len(t.sets[i].pieces) > 0 {
		t.lost(i, why)
	}
	t.close(i)
}

// close takes a set out of the table and keeps its memory for the next one.
func (t *table) close(i int32) {
	t.unlink(i)
	t.recycle(i)
	s := &t.sets[i]
	delete(t.index, s.key)
	t.budget.release(s.charged)
	s.charged, s.settling = 0, false
	if cap(s.sums) > keepSums {
		s.sums = nil
	}
	t.free = append(t.free, i)
}

// expire puts out what waited longer than the limit at time now.
func (t *table) expire(at time.Time) {
	now := t.now(at)
	for t.finished.oldest != none && t.stale(t.finished.oldest, now) {
		t.close(t.finished.oldest)
	}
	for t.waiting.oldest != none && t.stale(t.waiting.oldest, now) {
		t.drop(t.waiting.oldest, Expired)
	}
}

func (t *table) flush() {
	for t.waiting.oldest != none {
		t.drop(t.waiting.oldest, Ended)
	}
	for t.finished.oldest != none {
		t.close(t.finished.oldest)
	}
}

func (s *set) framesOf(p *piece) []uint64 { return s.frames[p.frames : p.frames+p.count] }

func (s *set) bytesOf(p *piece) []byte { return s.buf[p.off : p.off+p.size] }
