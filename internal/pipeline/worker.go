package pipeline

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/reassembly"
)

// worker dissects the items of its shards and hands the messages to the parts of the sinks.
type worker struct {
	number, of int
	shards     []shard // those it serves
	served     *shard  // the current one
	out        *writer
	chooser    Chooser   // nil if everything is chosen
	only       bool      // nothing else counts
	all        bool      // unknown datagrams are chosen, too
	messages   uint64    // that were chosen
	most       uint64    // of them, 0 for no limit
	lost       []uint64  // the frames of the loss that is reported
	losses     [4]uint64 // by severity

	board *board
	in    chan *batch
	full  chan *chunk // to the merger
	free  chan *chunk // back from it
}

// shard is an analyzer for a share of the conversations.
type shard struct {
	analyzer *dissect.Analyzer
	budget   *reassembly.Budget
	parts    [scopes][]part
	// Of the parts, those that need the outcome of every request.
	exchangers []exchanger
}

// newWorker returns the number-th of several workers, which has no shards yet.
func newWorker(o *Options, board *board, number, of int) *worker {
	w := &worker{number: number, of: of, board: board, only: o.Choice.Only, all: o.All, most: o.Count}
	w.out = &writer{reporter: o.Reporter(), keep: of > 1}
	if o.Choice.New != nil {
		w.chooser = o.Choice.New()
	}
	return w
}

// addShard adds the next shard.
func (w *worker) addShard(o *Options, sinks []sink) error {
	c := o.Analysis
	var first *shard
	if len(w.shards) > 0 {
		first = &w.shards[0]
		c.Share = first.analyzer
	}
	c.Budget = reassembly.NewBudget(o.budget() / shards)
	c.Limits = share(c.Limits)
	c.Skim, c.Hears, c.Facts = true, true, o.Choice.Exchanges
	s := shard{budget: c.Budget}
	var at [scopes]int
	for _, k := range sinks {
		var before part
		if first != nil {
			before = first.parts[k.hears][at[k.hears]]
		}
		at[k.hears]++
		p := k.part(w, before)
		s.parts[k.hears] = append(s.parts[k.hears], p)
		if x, ok := p.(exchanger); ok {
			s.exchangers = append(s.exchangers, x)
		}
	}
	c.Copied = s.copied()
	switch len(s.exchangers) {
	case 0:
	case 1:
		c.Ended = s.exchangers[0].Exchange
	default:
		c.Ended = w.Exchange
	}
	var err error
	if s.analyzer, err = dissect.New(c, w); err != nil {
		return err
	}
	if len(s.exchangers) == 1 {
		if x, ok := s.exchangers[0].(interface{ OnlyCounts() bool }); ok && x.OnlyCounts() {
			s.analyzer.Inner(core.Only{}).OnlyCount()
		}
	}
	w.shards = append(w.shards, s)
	return nil
}

// share returns the limits of one shard.
func share(l dissect.Limits) dissect.Limits {
	d := dissect.DefaultLimits
	part := func(n, byDefault int) int {
		if n <= 0 {
			n = byDefault
		}
		return max(1, n/shards)
	}
	l.Flows = part(l.Flows, d.Flows)
	l.Requests = part(l.Requests, d.Requests)
	l.Peers = part(l.Peers, d.Peers)
	return l
}

// do processes an item of one of the worker's shards.
func (w *worker) do(it *item) {
	w.serve(it.shard)
	s := w.served
	switch it.kind {
	case aDatagram:
		s.analyzer.Inner(core.Only{}).Datagram(&it.d, &it.ends)
		return
	case anICMPError:
		s.analyzer.ICMP(it.icmp)
		return
	case aFragment:
		s.analyzer.Inner(core.Only{}).Arriving(it.d.Frame, it.d.Src, it.d.Dst)
		return
	case aLoss:
		s.analyzer.Inner(core.Only{}).LostFragments(&it.lost.FlowFinding, it.d.Payload)
		for _, p := range s.parts[everything] {
			if p, ok := p.(interface {
				Incomplete(*dissect.FlowFinding, int)
			}); ok {
				p.Incomplete(&it.lost.FlowFinding, it.lost.wire)
			}
		}
	}
	w.losses[it.lost.Type.Severity]++ // of a tunnel as well
	w.lost = it.d.Frames
	w.Finding(&it.lost.FlowFinding)
	w.lost = nil
}

// serve makes a shard the current one.
func (w *worker) serve(number uint8) {
	i := int(number)
	if w.of > 1 {
		i /= w.of
	}
	w.out.shard, w.served = number, &w.shards[i]
}

// serveAll makes each shard the current one, in turn.
func (w *worker) serveAll(do func(*dissect.Analyzer)) {
	for i := range w.shards {
		w.serve(uint8(i*w.of + w.number))
		do(w.served.analyzer)
	}
}

// sweep lets all shards report what has waited too long, what began up to a frame, or
// everything at the end.
func (w *worker) sweep(s *sweep) {
	w.serveAll(func(a *dissect.Analyzer) {
		if s.upTo == 0 {
			a.Advance(s.now)
		}
		switch {
		case s.upTo > 0:
			a.Inner(core.Only{}).FlushSome(s.upTo, atOnce)
		case s.end:
			a.Flush()
		}
	})
}

// Record hands on a message.
func (w *worker) Record(r *dissect.Record) {
	r.Mark = w.chooser == nil || w.chooser.Record(r)
	parts := &w.served.parts
	for _, p := range parts[everything] {
		p.Record(r)
	}
	if w.only && !r.Mark {
		return
	}
	for _, p := range parts[counted] {
		p.Record(r)
	}
	if !r.Mark {
		return
	}
	if w.messages++; w.most > 0 && w.messages > w.most {
		return
	}
	for _, p := range parts[chosen] {
		p.Record(r)
	}
}

// Unknown hands on a datagram that no protocol recognises.
func (w *worker) Unknown(u *dissect.Unknown) {
	is := (w.all || u.Panicked) && (w.chooser == nil || w.chooser.Unknown(u))
	for _, list := range w.served.heardBy(is, w.only) {
		for _, p := range list {
			p.Unknown(u)
		}
	}
}

// Finding hands on a finding.
func (w *worker) Finding(f *dissect.FlowFinding) {
	is := w.chooser == nil || w.chooser.Finding(f)
	for _, list := range w.served.heardBy(is, w.only) {
		for _, p := range list {
			p.Finding(f)
		}
	}
}

// heardBy returns the parts that hear of what is chosen or not. only says that nothing
// else counts.
func (s *shard) heardBy(is, only bool) [][]part {
	switch {
	case is:
		return s.parts[:]
	case only:
		return s.parts[:counted]
	}
	return s.parts[:chosen]
}

// An exchanger is a part that needs the outcome of every request.
type exchanger interface{ Exchange(*dissect.Exchange) }

// Exchange hands on what became of a request.
func (w *worker) Exchange(x *dissect.Exchange) {
	for _, p := range w.served.exchangers {
		p.Exchange(x)
	}
}

// copied returns what hands duplicates to the part that counts them, nil if there is none.
func (s *shard) copied() func(*dissect.Datagram, bool) {
	for _, p := range s.exchangers {
		if p, ok := p.(interface{ Copy(*dissect.Datagram, bool) }); ok {
			return p.Copy
		}
	}
	return nil
}
