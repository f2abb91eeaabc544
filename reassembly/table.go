package reassembly

import (
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"
	"unsafe"
)

// A Key identifies a set: all pieces with the same key belong together. Addresses have 16
// bytes (IPv4 mapped into IPv6), so that the table contains no pointers.
type Key struct {
	Src, Dst         [16]byte
	SrcPort, DstPort uint16
	// Space separates sets of different origin. It is the caller's number for protocol,
	// VLAN and tunnel, below 1<<24 for [Parts].
	Space uint32
	// ID is the identification in the pieces.
	ID uint64
}

// A Reason says why a set was reported.
type Reason uint8

const (
	// Expired: the rest did not come within [Limits].Age, or the time of the input jumped
	// by more.
	Expired Reason = iota
	// Evicted: a limit was reached, and this was the oldest set.
	Evicted
	// Superseded: the sender used the same key for another set.
	Superseded
	// Settled: no part is missing. Some parts could have been late copies of the previous
	// set, until the time for contradicting parts was over.
	Settled
	// Copied: only copies of parts of a complete set, which answer no request. No message
	// is lost.
	Copied
	// Damaged: a single part whose index is not below any stated total.
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

// A Verdict is the result of adding a piece.
type Verdict uint8

const (
	// Held: the piece is held; the set is incomplete.
	Held Verdict = iota
	// Complete: the piece completes its set.
	Complete
	// Duplicate: the set has a piece with the same bytes.
	Duplicate
	// Conflict: the set has other bytes in this place; the piece is dropped.
	Conflict
	// Late: the piece is a copy of a piece of a complete set.
	Late
	// Refused: a limit was reached; the piece is dropped.
	Refused
)

var verdictNames = [...]string{Held: "held", Complete: "complete", Duplicate: "duplicate", Conflict: "conflict", Late: "late", Refused: "refused"}

func (v Verdict) String() string { return nameOf(verdictNames[:], int(v)) }

const none = int32(-1)

// piece is a part or a fragment. Its bytes are in the buffer of its set.
type piece struct {
	pos    int32 // index of the part, or byte offset of the fragment
	span   int32 // bytes of the whole that a fragment covers: size, or more if the capture cut it; [Part.Size]
	off    int32 // offset of its bytes in the buffer
	size   int32
	header int32 // length of the split header of a part
	frames int32 // index of its frame numbers in the set's list
	count  int32 // number of frames
	last   bool  // fragment without the More flag
	cut    bool  // [Part.Cut]

	// The rest is for parts.
	copied  bool   // a copy of a part of an earlier set
	doubt   bool   // so soon after it that the network or the capture may have copied it
	total   int32  // total that this part states, 0 if none
	sum     uint32 // [Part.Sum]
	at      int64  // time of arrival
	again   int64  // time of its newest copy, noTime if there is none
	againIn uint64 // frame of that copy
}

// unknown is the total of a set while no piece says it.
const unknown = -1

// store is the memory of a set that grows with its pieces. It is reused by later sets.
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

// set is the state of one key. Sets are in a slab and are reused. Each is in one of two
// lists, ordered by age.
type set struct {
	key          Key
	older, newer int32
	first, last  int64 // time of the first and of the newest piece
	store
	*past
	charged int
	total   int32 // number of parts or bytes, or unknown
	reach   int32 // highest index plus one, or end of the furthest fragment
	next    int32 // in the chain of its key
	variant uint8
	guess   uint8 // variant in which an undecided set is read, 0 if there is none
	is      setState
	counts  [Refused - Duplicate + 1]int32 // of pieces by verdict

	overlaps int32 // of fragments
	stated   int32 // largest stated total
	began    int64 // time of the first part that is not a copy
	delay    int64 // of a set of copies: time from the end of the original to the first copy
}

// setState is a set of what is known of a set.
type setState uint8

const (
	isDone       setState = 1 << iota // complete: it is in the list finished
	isOfCopies                        // contains copies of the parts of an earlier set
	isShared                          // the set being collected has some of its parts too
	isSettling                        // deferred: see Parts.settle
	isUnfit                           // no variant fits all parts
	isBeyond                          // an index is not below its own total
	isDisagreed                       // the parts state different totals
	isOutOfOrder                      // a piece came before one with a lower index
)

func (s *set) has(what setState) bool { return s.is&what != 0 }

// setIf sets or clears what is known of a set.
func (s *set) setIf(what setState, is bool) {
	if s.is &^= what; is {
		s.is |= what
	}
}

// tally counts a piece that has a verdict, and tallied returns how many had it.
func (s *set) tally(v Verdict)       { s.counts[v-Duplicate]++ }
func (s *set) tallied(v Verdict) int { return int(s.counts[v-Duplicate]) }

// past is what a key had before its set: it stays when the set begins anew.
type past struct {
	sums       []uint32           // checksums of pieces of complete sets, to recognise late copies
	ends       [generations]int32 // ends of the sums of each remembered set
	serial     uint8              // counts remembered sets, modulo serials
	known      uint8              // number of remembered sets: see remember
	rounds     uint8              // bits of remembered sets of which an odd number of copies came
	tag        uint32             // see Parts.Tag
	before     int32              // total of the previous complete set, if no request came since
	finished   int64              // time of the last completion
	finishedIn uint64             // frame that completed it
}

// setOverhead is the memory of a set without its store, and a third of it for the lists and chains of sets.
const setOverhead = int(unsafe.Sizeof(set{})+unsafe.Sizeof(past{})) * 4 / 3

const (
	// keepBuffer is the largest buffer that is kept for later sets, so that a large set
	// does not keep its memory forever.
	keepBuffer = 16 << 10
	// A set gets a spare buffer of at most farTooLarge times the size that it needs. A
	// buffer of keepSmall is never too large.
	farTooLarge, keepSmall = 8, 1 << 10
	// keepSums is the largest list of sums that a free slot keeps.
	keepSums = 16
)

// list is a list of sets by age.
type list struct{ oldest, newest int32 }

// table is the common part of Parts and Ranges: sets by key and by age, within limits.
type table struct {
	budget   *Budget
	limits   Limits
	lost     func(int32, Reason)
	seed     [2]uint64
	chains   []int32 // the first set of each, whose keys have the same hash
	len      int     // sets in chains
	sets     []*set
	free     []int32
	spare    []store // for later sets; not counted as used
	idle     int     // bytes of spare, at most what a sweep frees
	waiting  list    // incomplete sets, by time of the first piece
	finished list    // complete sets, by time of completion
	remember int     // maximum length of finished
	done     int     // length of finished
	borrowed int32
	clock    int64 // the last time passed in
}

func newTable(b *Budget, l Limits) table {
	l = l.withDefaults()
	return table{
		budget: b, limits: l, seed: [2]uint64{rand.Uint64(), rand.Uint64()}, remember: l.Sets / 4,
		waiting: list{none, none}, finished: list{none, none}, borrowed: none, clock: noTime,
	}
}

// noTime represents the zero time of frames without a timestamp.
const noTime = math.MinInt64

func fromNanos(n int64) time.Time {
	if n == noTime {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// now returns the time of a piece in nanoseconds. A piece without a time has that of the
// previous piece.
func (t *table) now(at time.Time) int64 {
	if !at.IsZero() {
		t.clock = at.UnixNano()
	}
	return t.clock
}

// stale reports whether set i is further from now than the maximum age, in either
// direction. If time jumps back, because captures were concatenated or a timestamp was
// wrong, a set from the future would otherwise wait forever and join unrelated pieces.
func (t *table) stale(i int32, now int64) bool {
	early, late := t.sets[i].first, now
	if early > late {
		early, late = late, early
	}
	// The difference may overflow an int64, but not a uint64.
	return early != noTime && uint64(late)-uint64(early) > uint64(t.limits.Age)
}

func (t *table) listOf(s *set) *list {
	if s.has(isDone) {
		return &t.finished
	}
	return &t.waiting
}

// link appends set i to its list as the newest.
func (t *table) link(i int32) {
	s := t.sets[i]
	l := t.listOf(s)
	s.older, s.newer = l.newest, none
	if l.newest != none {
		t.sets[l.newest].newer = i
	} else {
		l.oldest = i
	}
	l.newest = i
	if s.has(isDone) {
		t.done++
	}
}

func (t *table) unlink(i int32) {
	s := t.sets[i]
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
	if s.has(isDone) {
		t.done--
	}
}

// chain returns the place of the first set of the chain of a key.
func (t *table) chain(k *Key) *int32 { return &t.chains[t.hash(k)%uint64(len(t.chains))] }

// hash returns the hash of a key. The seed is random, so that nobody can send what
// collides. [hash/maphash.Comparable] takes four times as long.
func (t *table) hash(k *Key) uint64 {
	x := fold(t.seed[0]^word(k.Src[:8]), t.seed[1]^word(k.Src[8:]))
	x = fold(t.seed[0]^word(k.Dst[:8]), x^word(k.Dst[8:]))
	return fold(t.seed[0]^k.ID, x^(uint64(k.Space)<<32|uint64(k.SrcPort)<<16|uint64(k.DstPort)))
}

func fold(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	return hi ^ lo
}

func word(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// find returns the set of a key.
func (t *table) find(k Key) (i int32, known bool) {
	if t.len == 0 {
		return none, false
	}
	for i = *t.chain(&k); i != none && t.sets[i].key != k; {
		i = t.sets[i].next
	}
	return i, i != none
}

// enter puts set i into the chain of its key.
func (t *table) enter(i int32) {
	if t.len == len(t.chains) {
		t.lengthen()
	}
	first := t.chain(&t.sets[i].key)
	t.sets[i].next, *first = *first, i
	t.len++
}

// lengthen doubles the number of chains.
func (t *table) lengthen() {
	old := t.chains
	t.chains, t.len = slices.Repeat([]int32{none}, max(2*len(old), 16)), 0
	for _, i := range old {
		for i != none {
			next := t.sets[i].next
			t.enter(i)
			i = next
		}
	}
}

// leave takes set i out of its chain.
func (t *table) leave(i int32) {
	at := t.chain(&t.sets[i].key)
	for *at != i {
		at = &t.sets[*at].next
	}
	*at = t.sets[i].next
	t.len--
}

// open creates an empty set for k. It evicts others if there are too many.
func (t *table) open(k Key, at int64) (int32, bool) {
	for t.len >= t.limits.Sets {
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
		t.sets = append(t.sets, &set{past: new(past)})
	}
	s := t.sets[i]
	*s.past = past{sums: s.sums[:0], finished: noTime}
	*s = set{key: k, first: at, last: at, total: unknown, charged: setOverhead, past: s.past}
	t.link(i)
	t.enter(i)
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
	s := t.sets[i]
	*s = set{
		key: s.key, next: s.next, first: at, last: at, total: unknown, charged: s.charged, is: s.is & isOfCopies, delay: s.delay,
		past: s.past, store: s.emptied(),
	}
	s.before = before
	t.link(i)
}

// equip gives set i, which needs a buffer of n bytes, a spare store: the smallest one with
// a sufficient buffer. If the set has a store, it exchanges only the buffers. A buffer
// that is far too large stays for a larger set, because many sets wait with a single small
// piece.
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
			s, o := t.sets[i], &t.spare[best]
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

// recycle keeps the store of set i for later sets.
func (t *table) recycle(i int32) {
	s := t.sets[i]
	size := s.store.size()
	if size > 0 && cap(s.buf) <= keepBuffer && t.idle+size <= t.budget.high-t.budget.low {
		t.idle += size
		t.spare = append(t.spare, s.emptied())
	}
	s.store = store{}
}

// hold copies a piece into set i and charges it to the budget. It charges capacity, not
// length.
func (t *table) hold(i int32, p piece, data []byte, frames []uint64, at int64) bool {
	s := t.sets[i]
	if len(s.pieces) >= t.limits.Pieces || len(data) > min(t.limits.SetBytes, math.MaxInt32)-len(s.buf) {
		s.tally(Refused)
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
	if !t.budget.reserve(t, i, cost) {
		s.tally(Refused)
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
	s.last = max(s.last, at)
	return true
}

// fewPieces is the number of pieces that a new store has room for.
const fewPieces = 4

// room returns the capacity that a slice needs for n more elements.
func room(have, capacity, n, least int) int {
	if have+n <= capacity {
		return capacity
	}
	return max(have+n, 2*capacity, least)
}

// widen returns s with exactly that capacity. append would round it up, and the difference
// would not be charged.
func widen[T any](s []T, capacity int) []T {
	if capacity == cap(s) {
		return s
	}
	wide := make([]T, len(s), capacity)
	copy(wide, s)
	return wide
}

// finish moves set i, which is complete, to the list finished. The caller has stored the
// checksums of its pieces.
func (t *table) finish(i int32) {
	t.unlink(i)
	t.recycle(i)
	s := t.sets[i]
	s.setIf(isDone, true)
	s.first = s.finished
	s.reach = 0
	t.budget.release(s.charged)
	s.charged = setOverhead + 4*cap(s.sums)
	t.budget.used += s.charged // less than before: the pieces were larger than their sums
	t.link(i)
	for t.done > t.remember {
		t.close(t.finished.oldest)
	}
}

// drop reports set i if it is incomplete, and closes it.
func (t *table) drop(i int32, why Reason) {
	if !t.sets[i].has(isDone) && len(t.sets[i].pieces) > 0 {
		t.lost(i, why)
	}
	t.close(i)
}

// close removes set i from the table and keeps its memory for later sets.
func (t *table) close(i int32) {
	t.unlink(i)
	t.recycle(i)
	s := t.sets[i]
	t.leave(i)
	t.budget.release(s.charged)
	s.charged = 0
	s.setIf(isSettling, false)
	if cap(s.sums) > keepSums {
		s.sums = nil
	}
	t.free = append(t.free, i)
}

// expire drops the sets that have waited longer than the limit at a time.
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

// keepBack defers a set that is complete with parts that may be late copies of the
// previous set: the real parts may still come.
func (p *Parts) keepBack(i int32) {
	if p.settling != i {
		p.release()
	}
	p.settling = i
	p.t.sets[i].setIf(isSettling, true)
}

// settle reports the deferred set once the time for copies is over.
func (p *Parts) settle(now int64) {
	if p.settling != none && now-p.t.sets[p.settling].last > copyWindow {
		p.release()
	}
}

// release reports the deferred set, if there is one.
func (p *Parts) release() {
	i := p.settling
	if p.settling = none; i == none || !p.t.sets[i].has(isSettling) {
		return
	}
	p.giveUp(i, Settled)
	s := p.t.sets[i]
	s.finished, s.finishedIn = s.last, lastOf(s.frames)
	s.setIf(isSettling, false)
	s.remember()
	p.t.finish(i)
}
