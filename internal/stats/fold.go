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
		for i := range a.kinds {
			kinds = append(kinds, &a.kinds[i])
		}
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
