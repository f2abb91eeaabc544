package cut

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"time"
)

// rules take datagrams that are no messages: of a flow, in a time. There may be
// as many as there are messages, so that they are looked up.
type rules struct {
	// flows are those that are taken as a whole.
	flows []Flow
	// anyPort says that the ports of the others make no difference.
	anyPort bool
	times   map[Flow]*times
}

// times are when the datagrams of a flow are taken.
type times struct {
	between []between
	until   []until
	sealed  bool
}

// between is from one time to another one, both included.
type between struct{ from, to int64 }

// until is from a time on, as far as a frame.
type until struct {
	last uint64
	from int64
}

// of returns the times of a flow, whatever its direction.
func (u *rules) of(f Flow, add bool) *times {
	if u.anyPort {
		f.A, f.B = netip.AddrPortFrom(f.A.Addr(), 0), netip.AddrPortFrom(f.B.Addr(), 0)
	}
	if f.A.Compare(f.B) > 0 {
		f.A, f.B = f.B, f.A
	}
	t := u.times[f]
	if t == nil && add {
		if u.times == nil {
			u.times = make(map[Flow]*times)
		}
		t = new(times)
		u.times[f] = t
	}
	return t
}

// between takes the datagrams of a flow between two times; no time is from the
// beginning on.
func (u *rules) between(f Flow, from, to time.Time) {
	t := u.of(f, true)
	t.between = append(t.between, between{nanos(from), nanos(to)})
	t.sealed = false
}

// until takes those up to a frame.
func (u *rules) until(f Flow, from time.Time, last uint64) {
	t := u.of(f, true)
	t.until = append(t.until, until{last, nanos(from)})
	t.sealed = false
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return math.MinInt64
	}
	return t.UnixNano()
}

func (u *rules) empty() bool { return len(u.flows)+len(u.times) == 0 }

// take reports whether a datagram is taken.
func (u *rules) take(src, dst netip.AddrPort, at time.Time, frame uint64) bool {
	if slices.ContainsFunc(u.flows, func(f Flow) bool { return f.holds(src, dst) }) {
		return true
	}
	t := u.of(Flow{src, dst}, false)
	if t == nil {
		return false
	}
	t.seal()
	now := nanos(at)
	i, _ := slices.BinarySearchFunc(t.between, now, func(b between, now int64) int { return cmp.Compare(b.to, now) })
	if i < len(t.between) && t.between[i].from <= now {
		return true
	}
	i, _ = slices.BinarySearchFunc(t.until, frame, func(u until, frame uint64) int { return cmp.Compare(u.last, frame) })
	return i < len(t.until) && t.until[i].from <= now
}

// seal puts the times in order: no two of them overlap, and of those as far as
// a frame each has the earliest beginning of all that reach as far.
func (t *times) seal() {
	if t.sealed {
		return
	}
	t.sealed = true
	slices.SortFunc(t.between, func(a, b between) int { return cmp.Compare(a.from, b.from) })
	n := 0
	for _, b := range t.between {
		if n > 0 && b.from <= t.between[n-1].to {
			t.between[n-1].to = max(t.between[n-1].to, b.to)
			continue
		}
		t.between[n] = b
		n++
	}
	t.between = t.between[:n]
	slices.SortFunc(t.until, func(a, b until) int { return cmp.Compare(a.last, b.last) })
	for i := len(t.until) - 2; i >= 0; i-- {
		t.until[i].from = min(t.until[i].from, t.until[i+1].from)
	}
}
