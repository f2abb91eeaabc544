package pipeline

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/report"
)

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
	if len(found) > 1 && !slices.IsSortedFunc(found, compare) {
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
