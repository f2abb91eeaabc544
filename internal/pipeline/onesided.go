package pipeline

import (
	"hash/crc32"
	"io"
	"net/netip"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/reassembly"
)

// sides finds out whether a capture holds both directions of its traffic. It
// does if any address is the source of one UDP datagram and the destination of
// another. If none is, and enough pairs of hosts talk, only one direction was
// captured: a server that is down has fewer clients, or answers somebody.
type sides struct {
	both  bool
	known bool // nothing that follows changes it
	// hosts are addresses at the place of their checksum; newer ones displace
	// older ones.
	hosts []side
	pairs [][2]netip.Addr // the first that talk what may be a known protocol
	first time.Time       // when the first of them did
}

// A side is what an address was seen to do.
type side struct {
	host           netip.Addr
	sends, isAsked bool
}

const (
	maxSides = 1024
	// enoughPairs is how many pairs of hosts must talk without a reply until
	// a capture is called one-sided.
	enoughPairs = 10
)

func newSides() *sides {
	return &sides{hosts: make([]side, maxSides), pairs: make([][2]netip.Addr, 0, enoughPairs)}
}

// reset begins a new capture.
func (s *sides) reset() {
	clear(s.hosts)
	*s = sides{hosts: s.hosts, pairs: s.pairs[:0]}
}

// see takes the addresses of a datagram.
func (s *sides) see(src, dst netip.Addr, talks bool, now time.Time) {
	if s.at(src).sends = true; s.at(src).isAsked || src == dst {
		s.both = true
	}
	if s.at(dst).isAsked = true; s.at(dst).sends {
		s.both = true
	}
	if s.both {
		s.known = true
		return
	}
	if !talks || len(s.pairs) == enoughPairs {
		return
	}
	if len(s.pairs) == 0 {
		s.first = now
	}
	for _, p := range s.pairs {
		if p[0] == src && p[1] == dst {
			return
		}
	}
	s.pairs = append(s.pairs, [2]netip.Addr{src, dst})
}

func (s *sides) at(host netip.Addr) *side {
	b := host.As16()
	at := &s.hosts[crc32.ChecksumIEEE(b[:])%maxSides]
	if at.host != host {
		*at = side{host: host}
	}
	return at
}

// one reports whether only one direction was captured, as far as is known.
func (s *sides) one() bool { return !s.both && len(s.pairs) == enoughPairs }

// lookAhead reads the rest of a file before the first request in it is called
// unanswered, if no datagram has come back until then. What comes through a pipe
// or live is judged by what has come.
func (e *engine) lookAhead() {
	s := e.sides
	if s.known || e.ahead == "" || len(s.pairs) == 0 {
		return
	}
	window := e.o.Analysis.Limits.Window
	if window <= 0 {
		window = dissect.DefaultLimits.Window
	}
	if past := e.now.Sub(s.first); past >= 0 && past < window {
		return
	}
	name := e.ahead
	e.ahead = ""
	src, err := capture.Open(name)
	if err != nil {
		return // it is met again
	}
	defer src.Close()
	const budget = 1 << 20
	d := packet.NewDecoder(reassembly.NewBudget(budget), e.o.Fragments, func(*packet.Loss) {})
	all := newSides()
	var f capture.Frame
	var in packet.Datagram
	for err = src.Next(&f); err == nil && !all.known; err = src.Next(&f) {
		if f.Number%sweepFrames == 0 && e.ended() {
			return
		}
		if e.wanted(&f) {
			raw := packet.Frame{Number: f.Number, Time: f.Time, LinkType: f.LinkType, Data: f.Data, Length: f.Length}
			e.seeFrame(all, d, d.Decode(&raw, &in), &in)
		}
	}
	all.known = all.known || err == io.EOF
	e.sides = all
}

// seeFrame takes what a frame was decoded to. An ICMP error came the way that
// replies to the datagram come that it is about.
func (e *engine) seeFrame(s *sides, d *packet.Decoder, o packet.Outcome, in *packet.Datagram) {
	switch {
	case s.known:
	case o.OK():
		talks := e.workers[0].shards[0].analyzer.Candidate(in.Src.Port(), in.Dst.Port(), in.Payload)
		s.see(in.Src.Addr(), in.Dst.Addr(), talks, in.Time)
	case o == packet.ICMPError:
		if q, ok := d.Quoted(); ok {
			s.see(q.Dst.Addr(), q.Src.Addr(), false, q.Time)
		}
	}
}

// concludeSides counts an input of which only one direction was captured. The
// workers must be idle.
func (e *engine) concludeSides() {
	requests, replies := uint64(0), uint64(0)
	for a := range e.analyzers {
		c := a.Stats()
		requests += c.Requests
		replies += c.Replies
	}
	// Replies alone need no more: they had requests.
	only := !e.sides.both && requests == e.requests && replies-e.replies >= enoughPairs
	if (e.sides.one() && requests+replies > e.requests+e.replies) || only {
		e.sum.OneSided++
	}
	e.requests, e.replies = requests, replies
}
