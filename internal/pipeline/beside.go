package pipeline

import (
	"slices"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/report"
)

// endpoints counts datagrams by endpoint. An endpoint has a place and its neighbour:
// of three that want the two, those with more datagrams stay. full says that one had no
// place.
type endpoints struct {
	list [places]place
	full bool
}

// A place is an endpoint and the number of its datagrams.
type place struct {
	key packet.Key
	n   uint64
}

const (
	places    = 2048
	placeBits = 11 // 1 << placeBits is places
)

// spread has no pattern, so that products with it spread.
const spread = 0x9e3779b97f4a7c15

// made returns the counts at a place, which it makes if there are none.
func made(t **endpoints) *endpoints {
	if *t == nil {
		*t = new(endpoints)
	}
	return *t
}

// place returns the place of an endpoint.
func (t *endpoints) place(key packet.Key) *place { return &t.list[key*spread>>(64-placeBits)] }

// both counts a datagram of two endpoints.
func (t *endpoints) both(a, b packet.Key) {
	if p, q := t.place(a), t.place(b); p.key == a && q.key == b {
		p.n++
		q.n++
		return
	}
	t.count(a)
	t.count(b)
}

// count counts a datagram of the endpoint with a key.
func (t *endpoints) count(key packet.Key) {
	i := key * spread >> (64 - placeBits)
	p := &t.list[i]
	if p.key != key {
		if neighbour := &t.list[i^1]; neighbour.key == key || p.n > neighbour.n {
			p = neighbour
		}
		if p.key != key {
			t.full = t.full || p.n > 0
			*p = place{key, 1}
			return
		}
	}
	p.n++
}

// of returns the number of datagrams of an endpoint.
func (t *endpoints) of(key packet.Key) uint64 {
	if t == nil {
		return 0
	}
	i := key * spread >> (64 - placeBits)
	if p := &t.list[i]; p.key == key {
		return p.n
	} else if p = &t.list[i^1]; p.key == key {
		return p.n
	}
	return 0
}

// headed reports whether a payload begins with FF FF FF FF, which sets queries apart
// from the traffic of a game.
func headed(b []byte) bool { return strings.HasPrefix(nettext.View(b), "\xff\xff\xff\xff") }

// traffic counts the datagrams that no protocol recognises, and finds those of servers. It also has the round trips.
type traffic struct {
	unseen *endpoints // of datagrams that no worker gets
	parts  []*sightings
	trips  []*roundTrips
	before uint64 // of earlier inputs
	filled bool   // the tables of one of them had no room for all
}

// sightings are the endpoints of a shard: of unknown datagrams, and of replies. nil are
// none.
type sightings struct {
	deaf
	beside, proven *endpoints
	trips          *roundTrips
}

// roundTrips are those of a worker.
type roundTrips struct {
	protocols []*dissect.Protocol
	list      []report.RoundTrips
	last      int // of the newest one
}

// Record notes a server that answered, and its round trip.
func (s *sightings) Record(r *dissect.Record) {
	if r.RequestFrame == 0 {
		return
	}
	made(&s.proven).count(packet.KeyOf(r.Src))
	if !r.TimeKnown {
		return
	}
	t := s.trips
	if t.protocols[t.last] != r.Protocol {
		t.last = slices.Index(t.protocols, r.Protocol)
	}
	t.list[t.last].Add(r.RTT)
}

// Unknown notes the endpoints of an unknown datagram.
func (s *sightings) Unknown(u *dissect.Unknown) {
	if !headed(u.Payload) {
		made(&s.beside).both(packet.KeyOf(u.Src), packet.KeyOf(u.Dst))
	}
}

func (t *traffic) sink(protocols []*dissect.Protocol) sink {
	return sink{
		hears: counted,
		part: func(_ *worker, first part) part {
			s := new(sightings)
			if first != nil {
				s.trips = first.(*sightings).trips
			} else {
				s.trips = &roundTrips{protocols: protocols, list: make([]report.RoundTrips, len(protocols))}
				t.trips = append(t.trips, s.trips)
			}
			t.parts = append(t.parts, s)
			return s
		},
		summarize: func(s *report.Summary) {
			s.RoundTrips = make([]report.RoundTrips, len(protocols))
			for _, w := range t.trips {
				for i := range w.list {
					s.RoundTrips[i].Merge(&w.list[i])
				}
			}
			s.GameTraffic, s.GameTrafficLeast = min(t.before+t.ofGames(), s.Unknown), t.full()
		},
	}
}

// ofGames returns the number of unknown datagrams from and to the servers that answered a
// request. Those between two such servers count twice. The workers must be idle.
func (t *traffic) ofGames() (n uint64) {
	count := func(unknown *endpoints) {
		for i := 0; unknown != nil && i < places; i++ {
			if p := &unknown.list[i]; p.n > 0 && slices.ContainsFunc(t.parts, func(s *sightings) bool { return s.proven.of(p.key) > 0 }) {
				n += p.n
			}
		}
	}
	count(t.unseen)
	for _, s := range t.parts {
		count(s.beside)
	}
	return n
}

// full reports whether an endpoint had no place, so that there may be more than was counted.
func (t *traffic) full() bool {
	return t.filled || t.unseen.full || slices.ContainsFunc(t.parts, func(s *sightings) bool {
		return s.beside != nil && s.beside.full || s.proven != nil && s.proven.full
	})
}

// endInput keeps the number of ofGames, and forgets the endpoints.
func (t *traffic) endInput() {
	t.before += t.ofGames()
	t.filled = t.full()
	*t.unseen = endpoints{}
	for _, s := range t.parts {
		s.beside, s.proven = nil, nil
	}
}

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
	was := nettext.Either((*at^side(h))&^did != 0, side(h)&^did, *at)
	was |= does
	*at = was
	return was & did
}

// one reports whether only one direction was captured, judged by the frames so far.
func (s *sides) one() bool { return !s.both && len(s.pairs) == enoughPairs }

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
