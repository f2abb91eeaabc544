package stats

import (
	"math"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/nettext"
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

// all returns the requests.
func (k *tick) all() uint64 { return nettext.Sum(k.by[:], func(n uint32) uint64 { return uint64(n) }) }

func (k *tick) add(o *tick) {
	for i, n := range o.by {
		k.by[i] = addSaturated(k.by[i], n)
	}
	k.fresh = addSaturated(k.fresh, o.fresh)
	k.in += o.in
	k.out += o.out
}

func (k *tick) join(next *tick) { k.add(next) }

// A pulse counts the requests and replies of a server in a bucket, and the requests without a reply or with a late one, with the times of the
// first and the last reply.
type pulse struct {
	asked, replied, lost, late uint32
	first, last                int64
}

func (p *pulse) add(o *pulse) {
	p.asked, p.lost, p.late = addSaturated(p.asked, o.asked), addSaturated(p.lost, o.lost), addSaturated(p.late, o.late)
	if o.replied == 0 {
		return
	}
	if p.replied == 0 {
		p.first, p.last = o.first, o.last
	}
	p.replied = addSaturated(p.replied, o.replied)
	p.first, p.last = min(p.first, o.first), max(p.last, o.last)
}

// reply counts a reply.
func (p *pulse) reply(t int64) {
	if p.replied++; p.replied == 1 {
		p.first, p.last = t, t
	}
	p.first, p.last = min(p.first, t), max(p.last, t)
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
const maxSeries = 8

// A kindSeries counts one kind of request at a server. challenged are those that got a challenge, given those that got something else
// without a proof.
type kindSeries struct {
	kind              uint16 // index plus one
	ticks             ticks
	challenged, given uint64
}

// asks reports whether the server asks for a challenge before it replies to this kind.
func (s *kindSeries) asks() bool { return s.challenged > 4*s.given }

// proves reports whether clients return challenges with this kind.
func (s *kindSeries) proves() bool {
	return s.ticks.within(math.MinInt64, math.MaxInt64, func(t *tick) uint64 { return uint64(t.by[proven]) }) >= leastJudged
}

// of returns the counts of a kind, nil if there is no room.
func (m *more) of(kind uint16) *kindSeries {
	for s := range each(m.series[:]) {
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

// known returns the series that have a kind.
func (m *more) known() (list []*kindSeries) {
	for i := 0; m != nil && i < len(m.series); i++ {
		if q := &m.series[i]; q.kind > 0 {
			list = append(list, q)
		}
	}
	return list
}

// total returns the sum of what ticks of all kinds have of something.
func (m *more) total(of func(*tick) uint64) (n uint64) {
	for _, q := range m.known() {
		q.ticks.in(func(_, _ int64, t *tick) { n += of(t) })
	}
	return n
}

// proved counts requests with their proof.
func (a *Aggregate) proved(u *ending) {
	a.proofs[u.sum.how.proof] += uint64(u.sum.requests)
	if u.server == nil || u.server.v.more == nil {
		return
	}
	q := u.server.v.more.of(u.kind.index)
	if q == nil {
		return
	}
	x := &u.sum
	switch challenged := u.sum.how.outcome == dissect.OutcomeChallenged; {
	case u.sum.how.proof >= vouched: // of one that was vouched for, the reply may have been a challenge
	case u.sum.how.proof == unreturned, challenged:
		q.challenged += uint64(u.exchanges)
	case x.replies > 0:
		q.given += uint64(u.exchanges)
	}
	// The sendings of one question come about evenly.
	for i, n := 0, 1+int(min(max(x.newest-u.last, 0)/int64(time.Second), mostSeconds)); i < n; i++ {
		part := func(all int) int { return all*(i+1)/n - all*i/n }
		at, requests, replies := q.ticks.at(u.last+int64(i)*int64(time.Second)), part(x.requests), part(x.replies)
		if at.by[u.sum.how.proof] += uint32(requests); u.sum.how.proof > unreturned {
			continue
		}
		at.in += wire(part(x.in), requests, requests, u.v4)
		if replies > 0 {
			at.out += wire(part(x.out), replies, replies, u.v4)
		}
	}
}

// mostSeconds is for how long a question is sent again at most, before it counts as another one.
const mostSeconds = 60
