package stats

import (
	"cmp"
	"net/netip"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/endpoint"
)

// The bounds of what is kept of datagrams that no protocol recognises.
const (
	maxStrays = 64
	// maxFollowed is how many have a timeline and a count of sources.
	maxFollowed = 8
	// maxSenders is how many of the busiest sources of one are known.
	maxSenders = 8
)

// A stray counts datagrams that no protocol recognises, to an address and port that may be a server, and back from there.
type stray struct {
	in, out, bytesIn, bytesOut uint64
	lived                      // of those to it
	more                       *followed
}

// A followed is what is kept of the busiest strays: requests of its cells are datagrams to it, replies are those from it.
type followed struct {
	cells   cells
	sources distinct
	senders [maxSenders]sender
	port    uint16 // from which more than half of them come, if one has so many
	votes   uint64 // of them, less those from other ports (Boyer and Moore, 1981)
}

// A sender is a source with a number of datagrams that it sent at least.
type sender struct {
	addr netip.Addr
	n    uint64
}

// mostHead is how many bytes of a message its protocol may be recognised by: a pong of RakNet needs 33. With more of them, what is not
// recognised is no message, but most often the traffic of a game.
const mostHead = 40

// Unknown counts a datagram that no protocol recognises.
func (a *Aggregate) Unknown(u *dissect.Unknown) {
	src, dst := endpoint.Of(u.Src), endpoint.Of(u.Dst)
	a.Foreign(u.Time.UnixNano(), &src, &dst, len(u.Payload)+u.Missing, len(u.Frames), u.Missing > 0)
	a.queue.next(a, odd, u.Time.UnixNano()).key = key(src)
	a.queued()
	if u.Missing > 0 {
		a.cut(u.Src, u.Dst, core.Bit[uint64](len(u.Payload) < mostHead))
	}
	if a.focus != nil {
		a.focus.foreign(u)
	}
}

// Foreign counts a datagram that no protocol recognises: n is the length of its payload, t its time in nanoseconds. Who is a
// server is seen in the sum of all shards.
func (a *Aggregate) Foreign(t int64, src, dst *endpoint.Endpoint, n, frames int, cut bool) {
	a.at(t).unknown++
	if cut {
		a.cuts++
	}
	a.totals.Datagrams++
	if a.focus != nil {
		from := (*key)(src).addr()
		if from == a.focus.only {
			a.focus.sent++
		}
		a.focus.strange(netip.AddrPortFrom(from, src.Port), 1)
	}
	size := wire(n, frames, 1, src.V4)
	if sum := (*key)(src).short(); a.strays.may(sum) && a.back(src, sum, t, size) {
		return
	}
	to := (*key)(dst)
	sum := to.short()
	e := a.strays.find(to, sum)
	if e == nil {
		e = a.newStray(to, sum)
	}
	if e.count++; a.focus != nil {
		e.count += a.focus.weight(e.addr()) - 1
	}
	v := &e.v
	v.at(t)
	if v.more == nil && (a.followed.left > 0 || v.in >= leastMore && v.in&(v.in-1) == 0) {
		if v.more = a.takeFollowed(v.in); v.more != nil && v.in+v.out > 0 {
			*v.more.cells.at(v.first) = v.whole()
		}
	}
	v.in++
	v.bytesIn += size
	if v.more != nil {
		a.countFollowed(v.more, t, src, size)
	}
}

// back counts a datagram that came from a possible server, if src is known as one.
func (a *Aggregate) back(src *endpoint.Endpoint, sum uint64, t int64, size uint64) bool {
	e := a.strays.find((*key)(src), sum)
	if e == nil {
		return false
	}
	v := &e.v
	if v.out++; !v.began { // what was sent to it came in the part before
		v.at(t)
	}
	v.bytesOut += size
	if v.more != nil {
		at := v.more.cells.at(t)
		at.replies++
		at.bytesOut += size
	}
	return true
}

// countFollowed counts a datagram from src.
func (a *Aggregate) countFollowed(m *followed, t int64, src *endpoint.Endpoint, size uint64) {
	at := m.cells.at(t)
	at.requests++
	at.bytesIn += size
	from := (*key)(src).host()
	m.sources.add(from.hash(), &a.strayRoom)
	m.sent(from.addr(), 1)
	m.voted(src.Port, 1)
}

// voted counts datagrams from a port.
func (m *followed) voted(port uint16, n uint64) {
	if m.port == port || m.votes < n {
		m.port, m.votes = port, n+either(m.port == port, m.votes, -m.votes)
		return
	}
	m.votes -= n
}

// whole returns all datagrams as if they had come at one time.
func (s *stray) whole() cell {
	return cell{requests: s.in, replies: s.out, bytesIn: s.bytesIn, bytesOut: s.bytesOut}
}

func (s *stray) counts() []*uint64 { return []*uint64{&s.in, &s.out, &s.bytesIn, &s.bytesOut} }

// sent counts datagrams of a source, as Misra and Gries do (1982): if there is no room, all lose as many.
func (m *followed) sent(by netip.Addr, n uint64) {
	for {
		free, least := -1, n
		for i := range m.senders {
			s := &m.senders[i]
			switch {
			case s.n == 0:
				free = i
			case s.addr == by:
				s.n += n
				return
			}
			least = min(least, s.n)
		}
		if free >= 0 {
			m.senders[free] = sender{by, n}
			return
		}
		for i := range m.senders {
			m.senders[i].n -= least
		}
		if n -= least; n == 0 {
			return
		}
	}
}

// takeFollowed is as takeMore, for a stray with a number of datagrams.
func (a *Aggregate) takeFollowed(in uint64) *followed {
	if m := a.followed.take(); m != nil {
		return m
	}
	least := fewest(&a.strays, in/2, func(e *entry[stray]) (uint64, bool) { return e.v.in, e.v.more != nil })
	if least == nil {
		return nil
	}
	m := least.v.more
	least.v.more = nil
	m.clear(&a.strayRoom)
	return m
}

func (m *followed) clear(room *stock[registers]) {
	m.cells.clear()
	m.sources.clear(room)
	m.senders, m.port, m.votes = [maxSenders]sender{}, 0, 0
}

// newStray returns the place of a new key. What was counted for a key that is evicted is forgotten.
func (a *Aggregate) newStray(k *key, sum uint64) *entry[stray] {
	e, _ := a.strays.place(k, sum)
	if e.v.more != nil {
		e.v.more.clear(&a.strayRoom)
		a.followed.give(e.v.more)
	}
	e.v = stray{}
	return e
}

// addStray adds what another aggregate counts.
func (a *Aggregate) addStray(o *entry[stray]) {
	e := a.strays.find(&o.key, o.sum)
	if e == nil {
		e = a.newStray(&o.key, o.sum)
	}
	e.gain(o)
	s, v := &e.v, &o.v
	if v.more != nil && s.more == nil {
		if s.more = a.takeFollowed(s.in + v.in); s.more != nil && s.in+s.out > 0 {
			*s.more.cells.at(s.first) = s.whole()
		}
	}
	if m := s.more; m != nil && v.more != nil {
		m.cells.merge(&v.more.cells)
		m.sources.merge(&v.more.sources, &a.strayRoom)
		m.voted(v.more.port, v.more.votes)
		for _, x := range v.more.senders {
			if x.n > 0 {
				m.sent(x.addr, x.n)
			}
		}
	} else if m != nil {
		whole := v.whole()
		m.cells.peek(v.first).add(&whole)
	}
	addTo(s.counts(), v.counts())
	s.reach(&v.lived)
}

// placeStrays gives servers what was counted at their addresses and ports. It is for the sum of all shards.
func (a *Aggregate) placeStrays() {
	for x := range each(a.strays.entries) {
		s, v := a.servers.find(&x.key, x.key.hash()), &x.v
		if s == nil {
			continue
		}
		s.v.stray = v
		s.v.bytesIn += v.bytesIn
		s.v.bytesOut += v.bytesOut
		add := func(t int64, in, out uint64) {
			m := a.moments.peek(t)
			m.bytesIn += in
			m.bytesOut += out
		}
		if v.more == nil {
			add(v.first, v.bytesIn, v.bytesOut)
			continue
		}
		v.more.cells.in(func(from, to int64, c *cell) {
			from, to = max(from, a.first), min(to, a.last+1)
			spread(from, to, c.bytesIn, widths[a.moments.width], func(t int64, n uint64) { add(t, n, 0) })
			spread(from, to, c.bytesOut, widths[a.moments.width], func(t int64, n uint64) { add(t, 0, n) })
		})
	}
}

// strays returns the number of datagrams to a server that no protocol recognises.
func (s *server) strays() uint64 { return cmp.Or(s.stray, new(stray)).in }
