package stats

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
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
	first, last                int64 // of those to it
	began                      bool
	more                       *followed
}

// A followed is what is kept of the busiest strays: requests of its cells are datagrams to it, replies are those from it.
type followed struct {
	cells   cells
	sources distinct
	senders [maxSenders]sender
}

// A sender is a source with a number of datagrams that it sent at least.
type sender struct {
	addr netip.Addr
	n    uint64
}

// Unknown counts a datagram that no protocol recognises.
func (a *Aggregate) Unknown(u *dissect.Unknown) {
	src, dst := endpoint.Of(u.Src), endpoint.Of(u.Dst)
	a.Foreign(u.Time.UnixNano(), &src, &dst, len(u.Payload)+u.Missing, len(u.Frames))
}

// Foreign counts a datagram that no protocol recognises: n is the length of its payload, t its time in nanoseconds. Who is a
// server is seen in the sum of all shards.
func (a *Aggregate) Foreign(t int64, src, dst *endpoint.Endpoint, n, frames int) {
	a.at(t).unknown++
	a.totals.Datagrams++
	if a.focus != nil {
		if k := strayKey(src); k.addr() == a.focus.addr {
			a.focus.sent++
			a.focus.unknown[src.Port]++
		}
	}
	size := wire(n, frames, 1, src.V4)
	if sum := strayKey(src).short(); a.strays.may(sum) && a.back(src, sum, t, size) {
		return
	}
	sum := strayKey(dst).short()
	e := a.strays.find(strayKey(dst), sum)
	if e == nil {
		e, _ = a.strays.place(strayKey(dst), sum) // newStray, which is not inlined
		if e.v.more != nil {
			a.release(e.v.more)
		}
		e.v = stray{}
	}
	if e.count++; a.focus != nil {
		e.count += a.focus.weight(e.addr()) - 1
	}
	v := &e.v
	v.at(t)
	if v.more == nil && (a.made.followed < maxFollowed || v.in >= leastMore && v.in&(v.in-1) == 0) {
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
	e := a.strays.find(strayKey(src), sum)
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
	at.suspect++
	at.bytesIn += size
	from := key{src.Hi, src.Lo, 0, src.V4}
	m.sources.add(from.hash(), &a.strayRoom)
	m.sent(from.addr(), 1)
}

func strayKey(e *endpoint.Endpoint) key { return key{e.Hi, e.Lo, e.Port, e.V4} }

func (s *stray) at(t int64) {
	if !s.began {
		s.began, s.first, s.last = true, t, t
		return
	}
	s.first, s.last = min(s.first, t), max(s.last, t)
}

// whole returns all datagrams as if they had come at one time.
func (s *stray) whole() cell {
	return cell{requests: s.in, suspect: s.in, replies: s.out, bytesIn: s.bytesIn, bytesOut: s.bytesOut}
}

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
func (a *Aggregate) takeFollowed(in uint64) (m *followed) {
	if k := len(a.followed); k > 0 {
		m, a.followed = a.followed[k-1], a.followed[:k-1]
		return m
	}
	if a.made.followed < maxFollowed {
		a.made.followed++
		return newFollowed()
	}
	var least *stray
	for i := range a.strays.entries {
		if v := &a.strays.entries[i].v; v.more != nil && (least == nil || v.in < least.in) {
			least = v
		}
	}
	if least == nil || least.in >= in/2 {
		return nil
	}
	m, least.more = least.more, nil
	a.clearFollowed(m)
	return m
}

func newFollowed() *followed {
	m := new(followed)
	m.cells.most = maxCells
	return m
}

func (a *Aggregate) clearFollowed(m *followed) {
	m.cells.clear()
	m.sources.clear(&a.strayRoom)
	m.senders = [maxSenders]sender{}
}

// newStray returns the place of a new key. What was counted for a key that is evicted is forgotten.
func (a *Aggregate) newStray(k key, sum uint64) *entry[stray] {
	e, _ := a.strays.place(k, sum)
	if e.v.more != nil {
		a.release(e.v.more)
	}
	e.v = stray{}
	return e
}

// release keeps m for another stray.
func (a *Aggregate) release(m *followed) {
	a.clearFollowed(m)
	a.followed = append(a.followed, m)
}

// addStray adds what another aggregate counts. Those of the same shard in another capture leave the table its size.
func (a *Aggregate) addStray(o *entry[stray], same bool) {
	var e *entry[stray]
	if same {
		if e = a.strays.find(o.key, o.sum); e == nil {
			e = a.newStray(o.key, o.sum)
		}
		e.count += o.count
		e.err += o.err
	} else {
		e = a.strays.merge(o)
		a.strayRoom.left = maxFollowed // the sum has room for all
	}
	s, v := &e.v, &o.v
	if v.more != nil && s.more == nil {
		if same {
			s.more = a.takeFollowed(s.in + v.in)
		} else {
			s.more = newFollowed()
		}
		if s.more != nil && s.in+s.out > 0 {
			*s.more.cells.at(s.first) = s.whole()
		}
	}
	if m := s.more; m != nil && v.more != nil {
		m.cells.merge(&v.more.cells)
		m.sources.merge(&v.more.sources, &a.strayRoom)
		for _, x := range v.more.senders {
			if x.n > 0 {
				m.sent(x.addr, x.n)
			}
		}
	} else if m != nil {
		whole := v.whole()
		m.cells.peek(v.first).add(&whole)
	}
	s.in += v.in
	s.out += v.out
	s.bytesIn += v.bytesIn
	s.bytesOut += v.bytesOut
	if v.began {
		s.at(v.first)
		s.at(v.last)
	}
}

// placeStrays gives servers what was counted at their addresses and ports. It is for the sum of all shards.
func (a *Aggregate) placeStrays() {
	for i := range a.strays.entries {
		x := &a.strays.entries[i]
		s, v := a.servers.find(x.key, x.key.hash()), &x.v
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

// What makes a flood of junk: at least floodLeast datagrams a second for as long as a flood, of which the server answers fewer
// than one in junkReplies, and junkFactor times as many as at other times. They come from at least floodSources sources that
// send fewer than leastOften each; or they are at least junkPace a second while the server replies to requests, because players
// go on sending for a while to a server that is gone. From one direction alone, only sources that send hardly twice tell a flood
// from players.
const (
	junkReplies = 6
	junkFactor  = 3
	junkPace    = 200 // datagrams a second of a source: more than players send
	junkTwice   = 3
	junkOneSide = 100 // datagrams a second
)

// junk says that servers get floods of datagrams that are of no protocol.
func (r *reporting) junk() {
	var list []Verdict
	for _, e := range r.servers {
		if s := e.v.stray; s != nil && s.more != nil && r.home(e) {
			if v, ok := r.junkAt(e, s); ok {
				list = append(list, v)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Verdict) int { return cmp.Compare(b.Evidence[0].Value, a.Evidence[0].Value) })
	r.Verdicts = append(r.Verdicts, list...)
}

func (r *reporting) junkAt(e *entry[server], s *stray) (v Verdict, ok bool) {
	l := &s.more.cells
	width := widths[l.width]
	f := flood{server: e, from: r.a.last + 1, to: r.a.first}
	hot := 0.0
	l.in(func(from, to int64, c *cell) {
		if float64(c.requests) >= floodLeast*float64(width)/1e9 && c.replies*junkReplies < c.requests {
			f.from, f.to = min(f.from, max(from, r.a.first)), max(f.to, min(to, r.a.last+1))
			hot += float64(width) / 1e9
		}
	})
	if hot == 0 || hot < min(floodTime.Seconds(), r.duration()/5) {
		return v, false
	}
	in, usual := r.grown(l, &f)
	f.from, f.to = r.sharpen(f.from, f.to, width, in[cellRequests]-usual[cellRequests], func(m *moment) uint64 { return m.unknown })
	in, usual = r.grown(l, &f)
	n, bytes := in[cellRequests]-usual[cellRequests], in[cellBytesIn]-usual[cellBytesIn]
	if in[cellRequests] < junkFactor*usual[cellRequests] || n < floodSources {
		return v, false
	}
	back, alive := uint64(0), e.v.more == nil
	l.in(func(from, to int64, c *cell) {
		if from < f.to && to > f.from {
			back += c.replies
		}
	})
	if e.v.more != nil {
		e.v.more.cells.in(func(from, to int64, c *cell) { alive = alive || from < f.to && to > f.from && c.replies > 0 })
	}
	span := time.Duration(f.to - f.from)
	rate := n / span.Seconds()
	from := s.more.sources.count()
	sources := min(float64(from.Count), n)
	each := n / max(sources, 1)
	spread := sources >= floodSources && each < leastOften
	switch {
	case r.o.OneSided && (!spread || each >= junkTwice || rate < junkOneSide || span < floodTime):
		return v, false
	case rate < floodLeast, !spread && rate < junkPace, !spread && !alive && rate < junkPace*sources:
		return v, false
	}
	who, advice := fmt.Sprintf("%s addresses", number(uint64(sources+0.5))), "The server can do nothing with them; what hurts is their number. If they fill the line, only the provider can filter them: the addresses are probably forged, so that a limit or a block by address does not help."
	if from.Percent == 100 {
		who = "more than " + who
	}
	var few []string
	if most := s.more.busiest(floodShare * n); !spread && len(most) > 0 {
		few = most
		who = list(most)
		advice = "Drop what these addresses send to that port at the firewall, or at the provider if it fills the line; an address may be forged, so do not report it before its operator has looked."
		if len(most) == 1 {
			advice = strings.Replace(advice, "these addresses send", "this address sends", 1)
		}
	}
	reply := "the server sent nothing back"
	switch {
	case r.o.OneSided:
		reply = "whether it replies cannot be told"
	case back > 0:
		reply = fmt.Sprintf("the server sent %s back", count(back, "datagram", "datagrams"))
	}
	return Verdict{
		Kind: JunkFlood, Server: address(e), Sources: few, From: instant(f.from), To: instant(f.to),
		Text: fmt.Sprintf("Junk flood at %s%s: %s datagrams of no known protocol in %s (%s per second, %s) from %s; %s.",
			address(e), named(&e.v), number(uint64(n+0.5)), duration(span), rounded(rate), size(uint64(bytes+0.5)), who, reply),
		Advice: advice,
		Evidence: Evidence{
			{"datagrams", float64(uint64(n + 0.5))}, {"datagrams_per_second", round(rate, 1)}, {"seconds", round(span.Seconds(), 1)}, {"bytes_in", float64(uint64(bytes + 0.5))},
			{"sources", float64(uint64(sources + 0.5))}, {"datagrams_back", float64(back)},
		},
	}, true
}

// busiest returns the sources that sent nearly all, nil if there are none.
func (m *followed) busiest(least float64) (list []string) {
	all := slices.Clone(m.senders[:])
	slices.SortFunc(all, func(a, b sender) int { return cmp.Or(cmp.Compare(b.n, a.n), a.addr.Compare(b.addr)) })
	sum := uint64(0)
	for _, s := range all {
		if s.n == 0 || float64(sum) >= least {
			break
		}
		sum += s.n
		list = append(list, s.addr.String())
	}
	if float64(sum) < least {
		return nil
	}
	return list
}

// strays returns the number of datagrams to a server that no protocol recognises.
func (s *server) strays() uint64 {
	if s.stray == nil {
		return 0
	}
	return s.stray.in
}
