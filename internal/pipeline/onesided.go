package pipeline

import (
	"io"
	"net/netip"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/reassembly"
)

// sides determines whether a capture holds both directions of its traffic. It does if any
// address is the source of one UDP datagram and the destination of another. If there is no
// such address and enough pairs of hosts send, only one direction was captured: a server
// that is down has fewer clients, or answers some of them.
type sides struct {
	both  bool
	known bool // later frames do not change it
	// hosts is a hash table of addresses without chaining: newer entries replace older
	// ones.
	hosts []side
	pairs [][2]netip.Addr // the first pairs with datagrams of a possible known protocol
	since time.Time       // no request that waits for a reply is older
}

// A side is what is known about an address.
type side struct {
	host           netip.Addr
	sends, isAsked bool
}

const (
	sideBits = 10
	maxSides = 1 << sideBits
	// enoughPairs is the number of pairs of hosts without a reply that makes a capture
	// one-sided.
	enoughPairs = 10
)

func newSides() *sides {
	return &sides{hosts: make([]side, maxSides), pairs: make([][2]netip.Addr, 0, enoughPairs)}
}

// reset starts a new capture.
func (s *sides) reset() {
	clear(s.hosts)
	*s = sides{hosts: s.hosts, pairs: s.pairs[:0]}
}

// see records the addresses of a datagram. talks says that it may be of a known protocol.
func (s *sides) see(src, dst netip.Addr, talks bool, now time.Time) {
	from := s.at(src)
	from.sends = true
	s.both = s.both || from.isAsked
	to := s.at(dst)
	to.isAsked = true
	s.both = s.both || to.sends
	if s.both {
		s.known = true
		return
	}
	if !talks || len(s.pairs) == enoughPairs {
		return
	}
	if len(s.pairs) == 0 {
		s.since = now
	}
	for _, p := range s.pairs {
		if p[0] == src && p[1] == dst {
			return
		}
	}
	s.pairs = append(s.pairs, [2]netip.Addr{src, dst})
}

func (s *sides) at(host netip.Addr) *side {
	at := &s.hosts[keyOf(netip.AddrPortFrom(host, 0))*spread>>(64-sideBits)]
	if at.host != host {
		*at = side{host: host}
	}
	return at
}

// one reports whether only one direction was captured, judged by the frames so far.
func (s *sides) one() bool { return !s.both && len(s.pairs) == enoughPairs }

// lookAhead reads the rest of a file before the first request is reported as unanswered,
// if no datagram has come back by then. Pipes and live captures are judged by the frames
// so far.
func (e *engine) lookAhead() error {
	s := e.sides
	if s.known || e.ahead == "" || len(s.pairs) == 0 {
		return nil
	}
	window := e.o.Analysis.Limits.Window
	if window <= 0 {
		window = dissect.DefaultLimits.Window
	}
	if past := e.now.Sub(s.since); past >= 0 && past < window {
		return nil
	}
	if err := e.settle(); err != nil { // the workers are idle then
		return err
	}
	if !e.awaits() {
		s.since = e.now // other traffic, for which no file is read twice
		return nil
	}
	name := e.ahead
	e.ahead = ""
	src, err := capture.Open(name)
	if err != nil {
		return nil // the run meets the error again
	}
	defer src.Close()
	const budget = 1 << 20
	d := packet.NewDecoder(reassembly.NewBudget(budget), e.o.Fragments, func(*packet.Loss) {})
	all := newSides()
	var f capture.Frame
	var in packet.Datagram
	for err = src.Next(&f); err == nil && !all.known; err = src.Next(&f) {
		if f.Number%sweepFrames == 0 && e.ended() {
			return nil
		}
		if e.wanted(&f) {
			raw := packet.Frame{Number: f.Number, Time: f.Time, LinkType: f.LinkType, Data: f.Data, Length: f.Length}
			o := d.Decode(&raw, &in)
			e.seeFrame(all, d, o, &in, o.OK() && e.candidate(&in))
		}
	}
	all.known = all.known || err == io.EOF
	e.sides = all
	return nil
}

// awaits reports whether a request may be reported as unanswered within a window from now.
// The workers must be idle.
func (e *engine) awaits() bool {
	for s := range e.allShards {
		if s.analyzer.Awaits() {
			return true
		}
	}
	return false
}

// seeFrame records the result of decoding a frame. An ICMP error counts like a reply to
// the datagram that it is about.
func (e *engine) seeFrame(s *sides, d *packet.Decoder, o packet.Outcome, in *packet.Datagram, talks bool) {
	switch {
	case s.known:
	case o.OK():
		s.see(in.Src.Addr(), in.Dst.Addr(), talks, in.Time)
	case o == packet.ICMPError:
		if q, ok := d.Quoted(); ok {
			s.see(q.Dst.Addr(), q.Src.Addr(), false, q.Time)
		}
	}
}

// concludeSides counts the input if only one direction was captured. The workers must be
// idle.
func (e *engine) concludeSides() {
	requests, replies := uint64(0), uint64(0)
	for s := range e.allShards {
		c := s.analyzer.Stats()
		requests += c.Requests
		replies += c.Replies
	}
	// Replies without any request are enough, because replies have requests.
	only := !e.sides.both && requests == e.requests && replies-e.replies >= enoughPairs
	if (e.sides.one() && requests+replies > e.requests+e.replies) || only {
		e.sum.OneSided++
	}
	e.requests, e.replies = requests, replies
}
