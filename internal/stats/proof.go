package stats

import (
	"github.com/qdissect/qdissect/dissect"
)

// The proofs of requests: what the engine says of them.
const (
	unproven   = dissect.Unproven
	unreturned = dissect.Unreturned
	vouched    = dissect.Vouched
	proven     = dissect.Proven
	proofs     = proven + 1
)

// A tick counts requests of one kind at a server in a bucket by proof. fresh are those of addresses that were not known, in and
// out the bytes of requests without a proof, and of the replies to these.
type tick struct {
	by      [proofs]uint32
	fresh   uint32
	in, out uint64
}

func (k *tick) add(o *tick) {
	for i, n := range o.by {
		k.by[i] = addSaturated(k.by[i], n)
	}
	k.fresh = addSaturated(k.fresh, o.fresh)
	k.in += o.in
	k.out += o.out
}

func (k *tick) join(next *tick) { k.add(next) }

// A pulse counts the requests and replies of a server in a bucket, and the requests without a reply, with the times of the first and the
// last reply.
type pulse struct {
	asked, replied, lost uint32
	first, last          int64
}

func (p *pulse) add(o *pulse) {
	p.asked, p.lost = addSaturated(p.asked, o.asked), addSaturated(p.lost, o.lost)
	if o.replied == 0 {
		return
	}
	if p.replied == 0 {
		p.first, p.last = o.first, o.last
	}
	p.replied = addSaturated(p.replied, o.replied)
	p.first, p.last = min(p.first, o.first), max(p.last, o.last)
}

func (p *pulse) join(next *pulse) { p.add(next) }

type (
	ticks  = line[tick, *tick]
	pulses = line[pulse, *pulse]
)

// second is the index of the narrowest width of ticks and pulses.
const second = 4

// Ticks and pulses of a shard share room for sharedTicks, of which a line may have most; leastTicks are its own.
const (
	sharedTicks = 12 << 10
	mostTicks   = 4096
	leastTicks  = 64
)

// maxSeries is how many kinds of requests of a server have ticks.
const maxSeries = 4

// A kindSeries counts one kind of request at a server. challenged are those that got a challenge, given those that got something else
// without a proof.
type kindSeries struct {
	kind              uint16 // index plus one
	ticks             ticks
	challenged, given uint64
}

// asks reports whether the server asks for a challenge before it replies to this kind.
func (s *kindSeries) asks() bool { return s.challenged > 4*s.given }

// of returns the counts of a kind, nil if there is no room.
func (m *more) of(kind uint16) *kindSeries {
	for i := range m.series {
		s := &m.series[i]
		if s.kind == kind+1 {
			return s
		}
		if s.kind == 0 {
			s.kind = kind + 1
			return s
		}
	}
	return nil
}

// weigh counts a request of a client to a server, whose proof is not known yet.
func (m *more) weigh(c *client, r *dissect.Record, kind uint16, t int64) {
	m.pulses.at(t).asked++
	if c.requests == 1 && !c.known {
		if q := m.of(kind); q != nil {
			q.ticks.peek(t).fresh++
		}
	}
	if c.proven == 0 {
		m.look(r, t)
	}
}

// proved counts a request with its proof. e is its server, nil if that is not among the busiest.
func (a *Aggregate) proved(x *dissect.Exchange, e *entry[server], kind uint16) {
	a.proofs[x.Proof] += uint64(x.Requests)
	if e == nil || e.v.more == nil {
		return
	}
	q := e.v.more.of(kind)
	if q == nil {
		return
	}
	at := q.ticks.at(x.Time.UnixNano())
	at.by[x.Proof] += uint32(x.Requests)
	switch challenged := x.Outcome == dissect.OutcomeChallenged; {
	case x.Proof == proven:
		return
	case x.Proof == unreturned, challenged:
		q.challenged++
	case x.Replies > 0:
		q.given++
	}
	if x.Proof != vouched {
		v4 := x.Dst.Addr().Is4()
		at.in += wire(x.RequestBytes, x.Requests, x.Requests, v4)
		if x.Replies > 0 {
			at.out += wire(x.ReplyBytes, x.Replies, x.Replies, v4)
		}
	}
}
