package pipeline

import (
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/talks"
	"github.com/qdissect/qdissect/reassembly"
	"github.com/qdissect/qdissect/report"
)

// worker dissects the items of its shards and writes the output with its own reporter.
type worker struct {
	o          *Options
	number, of int
	shards     []shard // those it serves
	reporter   report.Reporter
	err        error // the first of the reporter; nothing more is written then
	roundTrips []report.RoundTrips
	messages   uint64
	losses     [4]uint64  // by severity
	notes      *notes     // nil without Options.Annotate
	chooser    Chooser    // nil if everything is chosen
	figures    *figures   // nil without Options.Restrict
	selection  *selection // nil without Options.SaveChosen
	tally      tally
	unknown    []uint64 // frames since the last settle that nothing recognises; empty without Options.Keep

	board    *board
	in       chan *batch
	full     chan *chunk // to the merger
	free     chan *chunk // back from it
	order    uint64      // of the current item
	current  uint8       // number of the shard
	served   *shard      // the same
	sweeping bool
	keep     bool // record segments, because there are other workers
	segments []segment
	first    int // index of the first segment of this sweep
	scratch  []byte
}

// shard is an analyzer for a share of the conversations.
type shard struct {
	analyzer *dissect.Analyzer
	budget   *reassembly.Budget
	stats    *stats.Aggregate // nil without Options.Stats
	talks    *talks.Talks     // nil without Options.Talks
	// beside counts unknown datagrams, proven the replies of servers; nil are none.
	beside, proven *endpoints
}

// segment is a piece of output with its position: by order; within a sweep, by the frame
// that it is about and then by shard.
type segment struct {
	order, frame uint64
	start, end   int
	shard        uint8
}

func (a *segment) compare(b *segment) int {
	switch {
	case a.order != b.order:
		return less(a.order < b.order)
	case a.frame != b.frame:
		return less(a.frame < b.frame)
	case a.shard != b.shard:
		return less(a.shard < b.shard)
	}
	return less(a.start < b.start) // within a shard: in order of writing
}

func less(b bool) int {
	if b {
		return -1
	}
	return 1
}

// newWorker returns a worker for every of-th shard.
func newWorker(o *Options, board *board, number, of int) (*worker, error) {
	w := &worker{o: o, board: board, number: number, of: of, keep: of > 1, reporter: o.Reporter()}
	if o.Choose != nil {
		w.chooser = o.Choose()
	}
	if o.Restrict {
		w.figures = newFigures(o.Analysis.Protocols)
	}
	w.roundTrips = make([]report.RoundTrips, len(o.Analysis.Protocols))
	for range (shards - number + of - 1) / of {
		c := o.Analysis
		if len(w.shards) > 0 {
			c.Share = w.shards[0].analyzer
		}
		c.Budget = reassembly.NewBudget(o.budget() / shards)
		c.Limits = share(c.Limits)
		c.Skim, c.Hears = true, true
		s := shard{budget: c.Budget}
		var h dissect.Handler = w
		if o.Stats != nil {
			if s.stats = o.Stats.Sibling(); len(w.shards) > 0 {
				s.stats = w.shards[0].stats.Shard()
			}
			h = &counted{w}
		} else if o.Restrict {
			h = restricted{w}
		}
		if o.Talks != nil {
			s.talks = talks.New()
		}
		var err error
		if s.analyzer, err = dissect.New(c, h); err != nil {
			return nil, err
		}
		w.shards = append(w.shards, s)
	}
	return w, nil
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
		s.analyzer.Datagram(&it.d)
		return
	case anICMPError:
		s.analyzer.ICMP(it.icmp)
		return
	case aFragment:
		s.analyzer.Arriving(it.d.Frame, it.d.Src, it.d.Dst)
		return
	case aLoss:
		s.analyzer.LostFragments(&it.lost, it.d.Payload)
		if s.stats != nil {
			s.stats.Incomplete(&it.lost, it.wire)
		}
	}
	w.losses[it.lost.Type.Severity]++ // of a tunnel as well
	w.found(&it.lost, it.d.Frames)
}

// serve makes a shard the current one.
func (w *worker) serve(number uint8) {
	i := int(number)
	if w.of > 1 {
		i /= w.of
	}
	w.current, w.served = number, &w.shards[i]
}

func (w *worker) beginSweep() {
	w.sweeping = true
	w.first = len(w.segments)
}

// sweep lets all shards report what has waited too long, what began up to a frame, or
// everything at the end.
func (w *worker) sweep(s *work) {
	for i := range w.shards {
		a := w.shards[i].analyzer
		w.serve(uint8(i*w.of + w.number))
		if s.upTo == 0 {
			a.Advance(s.now)
		}
		switch {
		case s.upTo > 0:
			a.FlushSome(s.upTo, atOnce)
		case s.end:
			a.Flush()
		}
	}
}

// endSweep sorts the output of the sweep by frame.
func (w *worker) endSweep() {
	w.sweeping = false
	found := w.segments[w.first:]
	if len(found) > 1 && !slices.IsSortedFunc(found, func(a, b segment) int { return a.compare(&b) }) {
		start := found[0].start
		slices.SortFunc(found, func(a, b segment) int { return a.compare(&b) })
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
func (w *worker) wrote(err error, start int, frame uint64) {
	if err != nil && w.err == nil {
		w.err = err
	}
	if !w.keep && !w.sweeping {
		return
	}
	if end := len(w.reporter.Bytes()); end > start {
		s := segment{order: w.order, start: start, end: end, shard: w.current}
		if w.sweeping {
			s.frame = frame
		}
		w.segments = append(w.segments, s)
	}
}

// Record reports a message.
func (w *worker) Record(r *dissect.Record) {
	chosen := w.chooser == nil || w.chooser.Record(r)
	if s := w.stats(); s != nil {
		s.Record(r)
	}
	if t := w.served.talks; t != nil {
		t.Record(r)
	}
	if !chosen && w.figures != nil {
		return
	}
	if r.RequestFrame != 0 {
		made(&w.served.proven).count(packet.KeyOf(r.Src))
	}
	if w.o.Detailed {
		w.tally.Record(r)
	}
	w.figures.record(r)
	if r.Mark = chosen; chosen {
		w.messages++
	}
	if w.o.Count > 0 && w.messages > w.o.Count {
		return
	}
	if r.TimeKnown {
		for i, p := range w.o.Analysis.Protocols {
			if p == r.Protocol {
				w.roundTrips[i].Add(r.RTT)
				break
			}
		}
	}
	if !chosen {
		return
	}
	if w.notes != nil || w.selection != nil {
		w.notes.record(r)
		w.selection.record(r)
	}
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
func (w *worker) Unknown(u *dissect.Unknown) {
	shown := w.o.All || u.Panicked
	chosen := shown && (w.chooser == nil || w.chooser.Unknown(u))
	if s := w.stats(); s != nil {
		s.Unknown(u)
	}
	if w.o.Keep != nil {
		w.unknown = append(append(w.unknown, u.Frame), u.Frames...)
	}
	if !chosen && w.figures != nil {
		return
	}
	if !headed(u.Payload) {
		made(&w.served.beside).both(packet.KeyOf(u.Src), packet.KeyOf(u.Dst))
	}
	if w.o.Detailed {
		w.scratch = u.AppendGuess(w.scratch[:0])
		w.tally.Unknown(w.scratch)
	}
	if w.figures != nil {
		w.figures.unknown++
	}
	if !chosen {
		return
	}
	w.selection.unknown(u)
	if w.err == nil {
		start := len(w.reporter.Bytes())
		w.wrote(w.reporter.Unknown(u), start, u.Frame)
	}
}

// Finding reports a finding.
func (w *worker) Finding(f *dissect.FlowFinding) { w.found(f, nil) }

// found reports a finding. frames are those it is about, if there are several.
func (w *worker) found(f *dissect.FlowFinding, frames []uint64) {
	chosen := w.chooser == nil || w.chooser.Finding(f)
	if s := w.stats(); s != nil {
		s.Finding(f)
	}
	if t := w.served.talks; t != nil {
		t.Finding(f)
	}
	if !chosen && w.figures != nil {
		return
	}
	if w.o.Detailed {
		w.tally.Finding(&f.Finding)
	}
	w.figures.finding(f)
	if !chosen {
		return
	}
	w.notes.finding(f)
	w.selection.finding(f)
	w.selection.frames(f.Frame, frames)
	if w.err != nil {
		return
	}
	start := len(w.reporter.Bytes())
	w.wrote(w.reporter.Finding(f), start, f.Frame)
}
