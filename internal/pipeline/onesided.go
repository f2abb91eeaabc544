package pipeline

import (
	"io"
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
	hosts *[maxSides]side
	pairs [][2]packet.Key // the first pairs of hosts with datagrams of a possible known protocol
	since time.Time       // no request that waits for a reply is older
}

// A side is what is known about an address: the upper bits of its hash, and two that say
// what it did.
type side uint64

const (
	sends side = 1 << iota
	isAsked
	did = sends | isAsked

	sideBits = 10
	maxSides = 1 << sideBits
	// enoughPairs is the number of pairs of hosts without a reply that makes a capture
	// one-sided.
	enoughPairs = 10
)

func newSides() *sides {
	return &sides{hosts: new([maxSides]side), pairs: make([][2]packet.Key, 0, enoughPairs)}
}

// reset starts a new capture.
func (s *sides) reset() {
	clear(s.hosts[:])
	*s = sides{hosts: s.hosts, pairs: s.pairs[:0]}
}

// see records the hosts of a datagram, whose endpoints have these keys. talks says that it
// may be of a known protocol.
func (s *sides) see(src, dst packet.Key, talks bool, now *time.Time) {
	src, dst = src.Host(), dst.Host()
	if s.at(src, sends) == did || s.at(dst, isAsked) == did {
		s.both, s.known = true, true
		return
	}
	if !talks || len(s.pairs) == enoughPairs {
		return
	}
	if len(s.pairs) == 0 {
		s.since = *now
	}
	for _, p := range s.pairs {
		if p[0] == src && p[1] == dst {
			return
		}
	}
	s.pairs = append(s.pairs, [2]packet.Key{src, dst})
}

// at records what a host does, and returns all that it did.
func (s *sides) at(host packet.Key, does side) side {
	h := host * spread
	at := &s.hosts[h>>(64-sideBits)]
	was := *at
	if (was^side(h))&^did != 0 {
		was = side(h) &^ did
	}
	was |= does
	*at = was
	return was & did
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
			switch o := d.Decode(&raw, &in); {
			case o.OK():
				var outline packet.Outline
				in.Outline(&outline)
				all.see(outline.From, outline.To, e.first.Candidate(outline.Src.Port, outline.Dst.Port, in.Payload), &f.Time)
			case o == packet.ICMPError:
				all.seeError(d)
			}
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

// seeError records an ICMP error like a reply to the datagram that it is about.
func (s *sides) seeError(d *packet.Decoder) {
	if q, ok := d.Quoted(); ok {
		s.see(packet.KeyOf(q.Dst), packet.KeyOf(q.Src), false, &q.Time)
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
