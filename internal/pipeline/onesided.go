package pipeline

import "github.com/qdissect/qdissect/internal/packet"

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
func (s *sides) see(src, dst packet.Key, talks bool) {
	src, dst = src.Host(), dst.Host()
	if s.at(src, sends) == did || s.at(dst, isAsked) == did {
		s.both, s.known = true, true
		return
	}
	if !talks || len(s.pairs) == enoughPairs {
		return
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

// seeError records an ICMP error like a reply to the datagram that it is about.
func (s *sides) seeError(d *packet.Decoder) {
	if q, ok := d.Quoted(); ok {
		s.see(packet.KeyOf(q.Dst), packet.KeyOf(q.Src), false)
	}
}

// concludeSides counts the input if only one direction was captured. The workers must be
// idle.
func (e *engine) concludeSides() {
	c := e.census
	requests, replies := uint64(0), uint64(0)
	for a := range e.pool.analyzers {
		n := a.Stats()
		requests += n.Requests
		replies += n.Replies
	}
	// Replies without any request are enough, because replies have requests.
	only := !c.sides.both && requests == c.requests && replies-c.replies >= enoughPairs
	if (c.sides.one() && requests+replies > c.requests+c.replies) || only {
		c.sum.OneSided++
	}
	c.requests, c.replies = requests, replies
}
