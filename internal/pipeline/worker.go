package pipeline

import (
	"cmp"
	"net/netip"
	"slices"
	"sync"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/reassembly"
	"github.com/qdissect/qdissect/report"
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
	part := func(n, byDefault int) int { return max(1, cmp.Or(max(n, 0), byDefault)/shards) }
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
	w.out.shard, w.served = number, &w.shards[int(number)/w.of]
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

// A board holds what the analyzers of all shards tell each other, once a second and at the
// end of an input: conversations of one server lie in several shards.
type board struct {
	// Notices are written for one meeting while others still read those of the one before.
	notices [2][shards][]dissect.Notice
	meeting [shards]uint // of each worker

	mutex   sync.Mutex
	arrived int
	over    uint // meetings
	open    *sync.Cond
}

// wait waits until all workers have published their notices. They do so at the beginning of
// a batch, so that none of them waits for another one's output.
func (b *board) wait(workers int) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.open == nil {
		b.open = sync.NewCond(&b.mutex)
	}
	b.arrived++
	if b.arrived == workers {
		b.arrived = 0
		b.over++
		b.open.Broadcast()
		return
	}
	for over := b.over; over == b.over; {
		b.open.Wait()
	}
}

// share writes the notices of the worker's shards to the board, and gives them those of
// all shards.
func (w *worker) share() {
	at := &w.board.notices[w.board.meeting[w.number]%2]
	for i := range w.shards {
		list := &at[i*w.of+w.number]
		*list = w.shards[i].analyzer.Inner(core.Only{}).Notices((*list)[:0])
	}
	w.board.wait(w.of)
	w.board.meeting[w.number]++
	w.serveAll(func(a *dissect.Analyzer) {
		for k := range at {
			a.Inner(core.Only{}).Hear(at[k])
		}
		a.Inner(core.Only{}).Heard()
	})
}

// share lets the analyzers of all shards hear each other.
func (p *pool) share(m moment) error {
	if err := p.handOver(); err != nil {
		return err
	}
	m.sweep = true
	order := m.order() - 1
	p.beginSweep(order)
	p.batch.items = append(p.batch.items, item{order: order, kind: aShare})
	return p.full()
}

// A writer is the part of a worker that writes the output with its own reporter, and
// records where in the whole output it belongs.
type writer struct {
	reporter report.Reporter
	err      error  // the first of the reporter; nothing more is written then
	order    uint64 // of the current item
	shard    uint8  // the current one
	sweeping bool
	keep     bool // record segments, because there are other workers
	segments []segment
	first    int // index of the first segment of this sweep
	scratch  []byte
}

// segment is a piece of output with its position: by order; within a sweep, by the frame
// that it is about and then by shard.
type segment struct {
	order, frame uint64
	start, end   int
	shard        uint8
}

// compare keeps the order of writing within a shard.
func (a *segment) compare(b *segment) int {
	return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.frame, b.frame), cmp.Compare(a.shard, b.shard), cmp.Compare(a.start, b.start))
}

func (w *writer) beginSweep() {
	w.sweeping = true
	w.first = len(w.segments)
}

// endSweep sorts the output of the sweep by frame.
func (w *writer) endSweep() {
	w.sweeping = false
	found := w.segments[w.first:]
	compare := func(a, b segment) int { return a.compare(&b) }
	if len(found) > 1 {
		start := found[0].start
		slices.SortFunc(found, compare)
		if !w.keep {
			// Without other workers nobody merges segments: sort the buffer itself.
			b := w.reporter.Bytes()
			w.scratch = slices.Grow(w.scratch[:0], len(b)-start)
			for i := range found {
				w.scratch = append(w.scratch, b[found[i].start:found[i].end]...)
			}
			copy(b[start:], w.scratch)
		}
	}
	if !w.keep {
		w.segments = w.segments[:w.first]
	}
}

// wrote records the output for an event, which begins at start and is about a
// frame, or the error of its reporter.
func (w *writer) wrote(err error, start int, frame uint64) {
	if w.err = err; !w.keep && !w.sweeping {
		return
	}
	if end := len(w.reporter.Bytes()); end > start {
		s := segment{order: w.order, start: start, end: end, shard: w.shard}
		if w.sweeping {
			s.frame = frame
		}
		w.segments = append(w.segments, s)
	}
}

// Record reports a message.
func (w *writer) Record(r *dissect.Record) {
	switch {
	case w.err != nil:
	case w.keep || w.sweeping:
		start := len(w.reporter.Bytes())
		w.wrote(w.reporter.Record(r), start, r.Frame)
	default: // nobody asks where the output for it begins
		w.err = w.reporter.Record(r)
	}
}

// Unknown reports a datagram that no protocol recognises.
func (w *writer) Unknown(u *dissect.Unknown) {
	if w.err == nil {
		start := len(w.reporter.Bytes())
		w.wrote(w.reporter.Unknown(u), start, u.Frame)
	}
}

// Finding reports a finding.
func (w *writer) Finding(f *dissect.FlowFinding) {
	if w.err == nil {
		start := len(w.reporter.Bytes())
		w.wrote(w.reporter.Finding(f), start, f.Frame)
	}
}

// An ExchangeReporter also writes what became of requests.
type ExchangeReporter interface {
	report.Reporter
	Exchange(*dissect.Exchange) error
}

// An exchangeWriter is a writer whose reporter is an [ExchangeReporter].
type exchangeWriter struct{ *writer }

// Exchange reports what became of the requests of an exchange that were chosen: of those that were repeated, and of the others.
// Nobody needs the exchange afterwards.
func (w exchangeWriter) Exchange(x *dissect.Exchange) {
	w.exchange(x, x.Marked-x.MarkedRepeated)
	if x.MarkedRepeated > 0 {
		x.Outcome, x.Replies, x.ReplyBytes, x.ReplyFrame, x.Reply = dissect.OutcomeRepeated, 0, 0, 0, nil
		x.Timed, x.Server, x.From = false, nil, netip.AddrPort{}
		w.exchange(x, x.MarkedRepeated)
	}
}

func (w exchangeWriter) exchange(x *dissect.Exchange, requests int) {
	if w.err == nil && requests > 0 {
		x.Requests = requests
		start := len(w.reporter.Bytes())
		w.wrote(w.reporter.(ExchangeReporter).Exchange(x), start, x.Frame)
	}
}
