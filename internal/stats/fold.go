package stats

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/dissect"
)

// Shards are the aggregates of the shards of a run, and of what no shard gets. Those of several captures are folded shard by
// shard: a pair of hosts is in the same shard in each of them, so that what comes again is not counted as something else.
type Shards struct {
	*sums
	list   [shards + 1]*Aggregate
	copies dissect.Stats // duplicates, messages and parts
}

// NewShards returns shards without counts.
func NewShards() *Shards {
	a := New()
	s := &Shards{sums: a.sums}
	for i := range s.list {
		s.list[i] = a.Shard()
	}
	return s
}

// Collect returns the counts of a run, whose aggregates are given in the order of shards, with its numbers of duplicates,
// messages and parts.
func Collect(list iter.Seq[*Aggregate], copies dissect.Stats) *Shards {
	s := NewShards()
	s.copies = copies
	// Workers meet kinds in an order of their own, and runs have different numbers of workers.
	var kinds []*kind
	var protocols []string
	for a := range list {
		a.endRuns()
		kinds = slices.AppendSeq(kinds, each(a.kinds))
		protocols = append(protocols, a.protocols...)
	}
	slices.SortFunc(kinds, func(a, b *kind) int {
		return cmp.Or(strings.Compare(a.protocol, b.protocol), strings.Compare(a.message(), b.message()))
	})
	for _, k := range kinds {
		s.addKind(k.protocol, k.of)
	}
	slices.Sort(protocols)
	for _, name := range protocols {
		s.protocol(name)
	}
	i := 0
	for a := range list {
		if !a.shared {
			s.sums.merge(a.sums)
		}
		s.list[i].merge(a, true)
		i++
	}
	return s
}

// Lost counts packets that the kernel lost, or requests that were evicted, in a second.
func (s *Shards) Lost(second int64, kernel, evicted uint64) { s.list[0].Lost(second, kernel, evicted) }

// Input sets the number of the capture that is counted.
func (s *Shards) Input(n int) {
	for _, a := range s.list {
		for _, f := range a.findings {
			for i := range f.examples {
				f.examples[i].input = uint32(n)
			}
		}
	}
}

// Fold adds the counts of another capture, which is complete: its duplicates are counted if most datagrams came once.
func (s *Shards) Fold(o *Shards) {
	o.settle()
	s.Join(o)
	s.copies = dissect.Stats{}
}

// settle counts duplicates that were sent, see [Aggregate.Settle].
func (s *Shards) settle() {
	if !s.copies.Duplicated() {
		for _, a := range s.list {
			a.endCopies(true)
		}
	}
}

// Join adds the counts of other shards of the same capture.
func (s *Shards) Join(o *Shards) {
	s.sums.merge(o.sums)
	for i, a := range o.list {
		s.list[i].merge(a, true)
	}
	s.copies.Duplicates += o.copies.Duplicates
	s.copies.Messages += o.copies.Messages
	s.copies.Parts += o.copies.Parts
}

// Sum returns the counts of all shards in one.
func (s *Shards) Sum() *Aggregate {
	s.settle()
	a := New()
	a.sums.merge(s.sums)
	for _, o := range s.list {
		a.Merge(o)
	}
	a.Settle(slices.Values(s.list[:]), false)
	return a
}

// Next returns an empty aggregate for what comes after what a counts. It knows the servers of a, also those of no known protocol,
// and what clients did: one that goes on asking is no new one. It shares the sums of first, unless that is nil.
func (a *Aggregate) Next(first *Aggregate) *Aggregate {
	a.endRuns()
	n := either(first == nil, a.Sibling, first.Shard)()
	n.continues = true
	n.input, n.set, n.second, n.inSecond = a.input, a.set, a.second, a.inSecond
	for i := range a.servers.entries {
		if e := &a.servers.entries[i]; !e.v.idle() {
			n.servers.place(&e.key, e.sum)
		}
	}
	for i := range a.strays.entries {
		if e := &a.strays.entries[i]; e.v.began { // a reply that comes first does not make its client a server
			n.strays.place(&e.key, e.sum)
		}
	}
	for e := range each(a.clients.entries) {
		if e.v.requests == 0 {
			continue
		}
		e.v.own(&a.pasts)
		p, _ := n.clients.place(&e.key, e.sum)
		c, v := &p.v, &e.v
		c.known = true
		c.own(&n.pasts)
		c.second, c.inSecond = v.second, v.inSecond
		c.tracked, c.burst, c.tokens, c.passed = v.tracked, v.burst, v.tokens, v.passed
	}
	return n
}

// idle reports whether nothing is counted for a client.
func (c *client) idle() bool { return c.requests+c.replies == 0 && c.refused == 0 }

// idle reports whether nothing is counted for a server.
func (s *server) idle() bool {
	return !s.began && s.bytesIn+s.bytesOut+s.incomplete == 0 && s.heard == nil && s.fates == fates{}
}

// Compact returns the counts of a capture that is complete, or of a part of it, in a small form: with at most n clients, half as
// many servers and findings, those from warning up. What is not in the tables is in the sums. n is a multiple of 16.
func (s *Shards) Compact(n int) *Shards {
	for _, a := range s.list {
		a.endCopies(!s.copies.Duplicated())
	}
	o := NewShards()
	o.sums.merge(s.sums)
	a := o.list[0]
	a.clients.most, a.servers.most, a.strays.most = min(n, maxClients), min(n/2, maxServers), min(n/2, maxStrays)
	for _, shard := range s.list {
		a.merge(shard, true)
	}
	var list []*finding
	for id, f := range a.findings {
		if f.severity != "warning" && f.severity != "error" {
			delete(a.findings, id)
			continue
		}
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b *finding) int { return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.id, b.id)) })
	for _, f := range list[min(n/2, len(list)):] {
		delete(a.findings, f.id)
	}
	if n < leastStrays {
		a.strays = top[stray]{}
	}
	return o
}

// leastStrays is the size below which counts do without those of datagrams to what may be servers.
const leastStrays = 64

// Spread moves the counts of a compact form to one of the shards: forms in different shards share no tables.
func (s *Shards) Spread(n uint64) {
	i := n % shards
	s.list[0], s.list[i] = s.list[i], s.list[0]
}

// Messages returns the numbers of requests, of replies, and of requests without a reply.
func (s *Shards) Messages() (requests, replies, unanswered uint64) {
	for m := range each(s.moments.buckets) {
		requests, replies, unanswered = requests+m.requests, replies+m.replies, unanswered+m.unanswered
	}
	return requests, replies, unanswered
}
