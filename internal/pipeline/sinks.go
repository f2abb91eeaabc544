package pipeline

import (
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/talks"
	"github.com/qdissect/qdissect/report"
)

// A Chooser chooses messages, unknown datagrams and findings.
type Chooser interface {
	Record(*dissect.Record) bool
	Unknown(*dissect.Unknown) bool
	Finding(*dissect.FlowFinding) bool
}

// A part is what the messages of a shard are handed to. It may also have the methods
// Exchange and Copy of the handlers of [dissect], and Incomplete.
type part interface {
	Record(*dissect.Record)
	Unknown(*dissect.Unknown)
	Finding(*dissect.FlowFinding)
}

// A sink gets everything that the analyzers report, or some of it. Functions that are nil
// are not called. All but part are called while the workers are idle.
type sink struct {
	hears scope
	// part returns the part for the next shard, in the order of shards. first is that of
	// the first shard of the same worker, nil for that shard itself.
	part func(w *worker, first part) part
	// input begins an input.
	input func(number int)
	// summarize adds counts to a summary. It may be called several times.
	summarize func(*report.Summary)
	// settled is called when all output so far has been written.
	settled func()
	// restart forgets the counts, because an output is complete.
	restart func()
}

// A scope is what a sink gets.
type scope uint8

const (
	everything scope = iota
	counted          // without what is not chosen, if only what is chosen counts
	chosen
	scopes
)

// sinks returns the sinks of a run, in the order in which they are called.
func (e *engine) sinks() []sink {
	o := e.o
	var list []sink
	if e.counts != nil {
		list = append(list, e.counts.sink())
	}
	if o.Counts.Talks != nil {
		list = append(list, e.talkSink(o.Counts.Talks))
	}
	if o.Save.Recent != nil {
		list = append(list, recentSink(o.Save.Recent))
	}
	list = append(list, e.traffic.sink(o.Analysis.Protocols))
	if o.Counts.Detailed {
		list = append(list, e.tallySink())
	}
	if o.Choice.Only {
		list = append(list, e.figureSink())
	}
	if p, ok := e.keeper.(part); ok {
		list = append(list, sink{hears: chosen, part: func(w *worker, _ part) part {
			if s, ok := p.(*selection); ok {
				s.lossOf = func() []uint64 { return w.lost }
			}
			return p
		}})
	}
	if _, silent := e.main.(*report.Counts); silent {
		return list
	}
	return append(list, sink{hears: chosen, part: func(w *worker, _ part) part {
		if o.Choice.Exchanges {
			return exchangeWriter{w.out}
		}
		return w.out
	}})
}

// deaf has the methods of a part that ignores everything.
type deaf struct{}

func (deaf) Record(*dissect.Record)       {}
func (deaf) Unknown(*dissect.Unknown)     {}
func (deaf) Finding(*dissect.FlowFinding) {}

// perWorker returns a function for [sink] that makes one part for each worker, and keeps a
// list of them.
func perWorker[P part](list *[]P, make func() P) func(*worker, part) part {
	return func(_ *worker, first part) part {
		if first != nil {
			return first
		}
		p := make()
		*list = append(*list, p)
		return p
	}
}

// talkPart passes conversations on.
type talkPart struct{ *talks.Talks }

func (talkPart) Unknown(*dissect.Unknown) {}

// talkSink makes into the conversations of all shards.
func (e *engine) talkSink(into *talks.Talks) sink {
	var list []*talks.Talks
	e.foldTalks = func() {
		*into = *talks.New()
		for _, t := range list {
			into.Merge(t)
		}
	}
	return sink{
		part: func(*worker, part) part {
			list = append(list, talks.New())
			return talkPart{list[len(list)-1]}
		},
		input: func(n int) {
			for _, t := range list {
				t.Input(n)
			}
		},
	}
}

// unrecognised collects the frames that nothing recognises.
type unrecognised struct {
	deaf
	frames []uint64
}

func (k *unrecognised) Unknown(u *dissect.Unknown) {
	k.frames = append(append(k.frames, u.Frame), u.Frames...)
}

// recentSink drops the frames that nothing recognises.
func recentSink(recent *capture.Recent) sink {
	var list []*unrecognised
	return sink{
		part: perWorker(&list, func() *unrecognised { return new(unrecognised) }),
		settled: func() {
			for _, k := range list {
				for _, frame := range k.frames {
					recent.Drop(frame)
				}
				k.frames = k.frames[:0]
			}
			recent.Settle()
		},
	}
}

// tallySink fills the tally of summaries.
func (e *engine) tallySink() sink {
	var list []*tally
	rest := new(tally) // of datagrams that no worker gets
	e.foreign = func(o *packet.Outline) {
		rest.scratch = e.o.Analysis.Foreign.AppendGuess(rest.scratch[:0], o.Payload)
		rest.Tally.Unknown(rest.scratch)
	}
	return sink{
		hears: counted,
		part:  perWorker(&list, func() *tally { return new(tally) }),
		summarize: func(s *report.Summary) {
			for _, t := range append(slices.Clone(list), rest) {
				s.Tally.Merge(t.settled())
			}
		},
		restart: func() {
			for _, t := range append(slices.Clone(list), rest) {
				*t = tally{}
			}
		},
	}
}

// A selected counts what was chosen.
type selected struct {
	dissect.Stats
	protocols []*dissect.Protocol
}

func (c *selected) Record(r *dissect.Record)       { c.Count(r, c.protocols) }
func (c *selected) Unknown(*dissect.Unknown)       { c.Stats.Unknown++ }
func (c *selected) Finding(f *dissect.FlowFinding) { c.Findings[f.Type.Severity]++ }
func (c *selected) Exchange(x *dissect.Exchange) {
	addOutcome(&c.Outcomes, x.Outcome, x.Marked, x.MarkedRepeated)
}

// addOutcome counts requests, some of which were repeated.
func addOutcome(to *dissect.Outcomes, is dissect.Outcome, requests, repeated int) {
	to[is] += uint64(requests - repeated)
	to[dissect.OutcomeRepeated] += uint64(repeated)
}

// figureSink makes summaries count only what was chosen.
func (e *engine) figureSink() sink {
	var list []*selected
	return sink{
		hears: counted,
		part: perWorker(&list, func() *selected {
			protocols := e.o.Analysis.Protocols
			return &selected{dissect.Stats{ByProtocol: make([]uint64, len(protocols)), Ambiguous: make(map[dissect.Ambiguous]uint64)}, protocols}
		}),
		summarize: func(s *report.Summary) { restrict(s, list, e.pool) },
	}
}

// aggregates are the counts of [Counts.Stats].
type aggregates struct {
	o       *Options
	parts   []*aggregate     // of the shards
	rest    *stats.Aggregate // of datagrams that no worker gets
	dropped uint64           // by the kernel, as far as rest knows
}

// An aggregate is the part of a shard. Slots replace what it counts.
type aggregate struct{ *stats.Aggregate }

func newAggregates(o *Options) *aggregates {
	if o.Counts.Stats == nil {
		return nil
	}
	return &aggregates{o: o, rest: o.Counts.Stats.Sibling()}
}

func (a *aggregates) sink() sink {
	return sink{
		part: func(_ *worker, first part) part {
			p := &aggregate{}
			if first != nil {
				p.Aggregate = first.(*aggregate).Shard()
			} else {
				p.Aggregate = a.o.Counts.Stats.Sibling()
			}
			a.parts = append(a.parts, p)
			return p
		},
		input: func(n int) {
			for s := range a.all {
				s.Input(n)
			}
		},
	}
}

// foreign counts a datagram that no worker gets. in is nil if the outline says all.
func (a *aggregates) foreign(now int64, o *packet.Outline, in *packet.Datagram) {
	missing, frames := 0, 0
	if in != nil {
		missing, frames = in.Missing, len(in.Frames)
	}
	a.rest.Foreign(now, &o.Src, &o.Dst, len(o.Payload)+missing, frames, missing > 0)
}

// all yields the aggregates in the order of shards, and then that of the datagrams that no shard gets.
func (a *aggregates) all(yield func(*stats.Aggregate) bool) {
	for _, p := range a.parts {
		if !yield(p.Aggregate) {
			return
		}
	}
	yield(a.rest)
}

// next begins with new counts. of is the number of workers.
func (a *aggregates) next(of int) {
	for i, p := range a.parts {
		var first *stats.Aggregate
		if i >= of {
			first = a.parts[i%of].Aggregate
		}
		p.Aggregate = p.Next(first)
	}
	a.rest = a.rest.Next(nil)
}

// fold adds all aggregates to one.
func (a *aggregates) fold(into *stats.Aggregate, p *pool) {
	for s := range a.all {
		into.Merge(s)
	}
	into.Settle(a.all, !p.mostlyDuplicates())
	for _, s := range p.evictions() {
		into.Lost(s.Second, 0, s.Requests) // what else was evicted had been counted
	}
}

// collect returns the counts of each shard, with what was evicted since a second.
func (a *aggregates) collect(p *pool, since int64) *stats.Shards {
	s := stats.Collect(a.all, p.copies())
	for _, n := range p.evictions() {
		if n.Second >= since {
			s.Lost(n.Second, 0, n.Requests)
		}
	}
	return s
}

// countDropped records what the kernel dropped since the last call, in a second.
func (a *aggregates) countDropped(second int64) {
	live := a.o.live()
	if live == nil {
		return
	}
	if _, n := live.Counts(); n > a.dropped {
		a.rest.Lost(second, n-a.dropped, 0)
		a.dropped = n
	}
}

// A tally is a [report.Tally] that looks few messages up in its maps: the counts of the types of messages and of findings
// that came last are beside them.
type tally struct {
	report.Tally
	types    [lately]latest[report.TypeOf]
	findings [lately]latest[*dissect.FindingType]
	scratch  []byte
}

// lately is how many types have a place beside the maps.
const lately = 256

// besideMap is the place of a type with a documentation: few types of a protocol have documentation of the same length.
func besideMap(doc, of string) int { return (len(doc) + 37*len(of)) % lately }

// latest is the count of what took a place last.
type latest[K comparable] struct {
	of K
	n  uint64
}

// add counts k, and moves what had the place before to the map.
func (l *latest[K]) add(k K, counts *map[K]uint64) {
	if l.of != k {
		l.move(counts)
		l.of = k
	}
	l.n++
}

func (l *latest[K]) move(counts *map[K]uint64) {
	if l.n == 0 {
		return
	}
	if *counts == nil {
		*counts = make(map[K]uint64)
	}
	(*counts)[l.of] += l.n
	l.n = 0
}

// Record counts a message, its findings and its round trip.
func (t *tally) Record(r *dissect.Record) {
	t.types[besideMap(r.Type.Doc, r.Protocol.Doc)].add(report.TypeOf{Protocol: r.Protocol, Type: r.Type}, &t.Messages)
	for i := range r.Findings {
		t.finding(&r.Findings[i])
	}
	if r.TimeKnown {
		t.RoundTrip(r.Protocol, r.RTT)
	}
}

// Unknown counts a datagram that no protocol recognises.
func (t *tally) Unknown(u *dissect.Unknown) {
	t.scratch = u.AppendGuess(t.scratch[:0])
	t.Tally.Unknown(t.scratch)
}

// Finding counts a finding without a message.
func (t *tally) Finding(f *dissect.FlowFinding) { t.finding(&f.Finding) }

func (t *tally) finding(f *dissect.Finding) {
	t.findings[besideMap(f.Type.Doc, f.Type.ID)].add(f.Type, &t.Findings)
}

// settled returns the tally with all counts in the maps.
func (t *tally) settled() *report.Tally {
	for i := range t.types {
		t.types[i].move(&t.Messages)
	}
	for i := range t.findings {
		t.findings[i].move(&t.Findings)
	}
	return &t.Tally
}
