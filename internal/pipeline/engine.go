package pipeline

import (
	"io"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/convert"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/reassembly"
	"github.com/qdissect/qdissect/report"
)

// shards is the number of analyzers. It does not depend on the number of workers, because
// the limits of each analyzer, and so the output, depend on it.
const shards = 16

// engine is the state of a run: the reader of frames and the workers.
type engine struct {
	late    bool // Options.Stop is delayed, for pipes
	o       *Options
	main    report.Reporter // for captures and the summary
	decoder *packet.Decoder
	budget  *reassembly.Budget // of IP fragments
	workers []*worker
	board   board
	shared  time.Time         // when the analyzers last heard each other
	first   *dissect.Analyzer // of the first shard: all know the same protocols
	out     io.Writer
	sum     report.Summary
	told    report.Summary // what completed outputs have reported
	tally   report.Tally   // of datagrams that no worker gets
	tcp     tcp
	unseen  *endpoints // of the same
	in      packet.Datagram
	outline packet.Outline // of the datagram of the newest frame
	item    item
	convert convert.Converter
	now     time.Time // of the newest frame
	swept   int64     // time of the last sweep, in ns since 1970
	frameNo uint64
	losses  uint64
	text    []byte
	stats   *stats.Aggregate // of datagrams that no worker gets; nil without Options.Stats
	dropped uint64           // by the kernel, as far as stats knows

	sides             *sides
	crowd             crowd
	requests, replies uint64 // of earlier inputs

	match     func([]byte, int) bool // the filter for frames of matchLink
	matchLink uint16
	matches   map[uint16]func([]byte, int) bool
	windowed  bool // since and until are known
	since     time.Time
	until     time.Time
	notes     *notes     // nil without Options.Annotate
	selection *selection // nil without Options.SaveChosen and Options.Tree
	over      bool       // the saver takes no more frames
	enough    bool       // Options.Count ended the run
	failed    error      // an error of the output that could not be returned
	dirty     bool       // frames came since the last tick
	origin    time.Time  // of the first frame of the series
	lastFrame uint64
	ticked    time.Time
	watched   time.Time
	snapped   time.Time // when the next snapshot may be made
	comments  []string  // scratch
	given     bool      // a worker got something of the frame

	// With more than one worker:
	batch    *batch // being filled
	sweeping bool
	spare    chan *batch
	done     chan *batch
	merged   chan error
	running  sync.WaitGroup
}

func newEngine(o *Options) (*engine, error) {
	e := &engine{o: o, sides: newSides(), main: o.Reporter(), out: o.Out, unseen: new(endpoints)}
	n := max(1, min(o.Workers, shards))
	if o.Count > 0 || o.Lines || o.Annotate || o.SaveChosen {
		n = 1
	}
	e.sum.Protocols = o.Analysis.Protocols
	if o.Stats != nil {
		e.stats = o.Stats.Sibling()
	}
	e.budget = reassembly.NewBudget(o.Budget)
	e.decoder = packet.NewDecoder(e.budget, o.Fragments, e.incomplete)
	for i := range n {
		w, err := newWorker(o, &e.board, i, n)
		if err != nil {
			return nil, err
		}
		e.workers = append(e.workers, w)
	}
	e.first = e.workers[0].shards[0].analyzer
	switch {
	case (o.SaveChosen || o.Tree != nil) && o.Saver != nil:
		e.selection = &selection{e: e, every: !o.SaveChosen}
		e.workers[0].selection = e.selection
	case o.Annotate && o.Saver != nil:
		e.notes = &notes{e: e}
		e.workers[0].notes = e.notes
	}
	if o.Tree != nil {
		e.decoder.MapHeaders()
	}
	if n > 1 {
		e.start()
	}
	return e, nil
}

// item is a unit of work for a shard: a datagram, the loss of one, or an ICMP error about
// one.
type item struct {
	shard uint8
	kind  itemKind
	icmp  *dissect.ICMPError
	d     dissect.Datagram
	lost  dissect.FlowFinding
	wire  int // bytes of the IP packets of a loss
}

// frame dissects the next frame of an input.
func (e *engine) frame(f *capture.Frame) error {
	e.sum.Packets++
	e.sum.Bytes += uint64(len(f.Data))
	e.frameNo = f.Number
	e.dirty = true
	before := e.now.UnixNano()
	if !f.Time.IsZero() { // a frame without a time has that of the previous frame
		e.now, e.sum.Last = f.Time, f.Time
		if e.sum.First.IsZero() {
			e.sum.First = f.Time
		}
	}
	now := e.now.UnixNano()
	if back := time.Duration(before - now); back >= clockStep && (f.Name == "" || back >= clockStepOfSeveral) && e.stats != nil {
		e.stats.SteppedBack(before, now)
	}
	if past := now - e.swept; f.Number%sweepFrames == 0 || past >= int64(sweepTime) || past < 0 { // Sub costs a hundred instructions
		e.swept = now
		if err := e.sweep(false); err != nil {
			return err
		}
	}
	o, ok := e.outline.Read(f.LinkType, f.Data)
	switch {
	case !ok || e.o.Tree != nil: // for a tree, the decoder says where headers are
		return e.walk(f, now)
	case o == packet.TCP:
		e.segment(e.outline.Packet, e.outline.Payload)
		return nil
	}
	return e.datagram(f, now, nil)
}

// walk decodes and dissects a frame without an outline, which came at time now in
// nanoseconds.
func (e *engine) walk(f *capture.Frame, now int64) error {
	raw := packet.Frame{Number: f.Number, Time: e.now, LinkType: f.LinkType, Data: f.Data, Length: f.Length}
	switch o := e.decoder.Walk(&raw, &e.in); o {
	case packet.Whole, packet.Joined:
		e.in.Outline(&e.outline)
		return e.datagram(f, now, &e.in)
	case packet.ICMPError:
		if !e.sides.known {
			e.sides.seeError(e.decoder)
		}
		return e.icmp()
	case packet.FragmentHeld:
		return e.arriving()
	case packet.TCP:
		e.segment(e.decoder.Packet(), e.decoder.Segment())
	case packet.LinkUnknown:
		report.Count(&e.sum.Unread.Links, capture.LinkTypeName(f.LinkType), 0)
	}
	return nil
}

// datagram dissects the datagram of a frame, which came at time now in nanoseconds. Its
// outline is known; in is nil if that says all.
func (e *engine) datagram(f *capture.Frame, now int64, in *packet.Datagram) error {
	o := &e.outline
	talks := e.first.Candidate(o.Src.Port, o.Dst.Port, o.Payload)
	if !e.sides.known {
		e.sides.see(o.From, o.To, talks)
	}
	if e.o.Only != nil && !e.only(f, in) {
		return nil
	}
	if e.selection != nil && in != nil {
		e.selection.decoded(e.decoder, in)
	}
	e.sum.Datagrams++
	if looks(e.sum.Datagrams) {
		e.lookAt(o.Payload)
	}
	if talks || e.o.All {
		return e.recognised(f, in)
	}
	e.sum.Unknown++
	e.unseen.both(o.From, o.To)
	if !e.has(0) {
		return nil
	}
	if e.stats != nil {
		n, frames := len(o.Payload), 0
		if in != nil {
			n, frames = n+in.Missing, len(in.Frames)
		}
		e.stats.Foreign(now, &o.Src, &o.Dst, n, frames)
	}
	if e.o.Detailed {
		e.text = e.o.Analysis.Foreign.AppendGuess(e.text[:0], o.Payload)
		e.tally.Unknown(e.text)
	}
	return nil
}

// only reports whether the addresses of a datagram are wanted.
func (e *engine) only(f *capture.Frame, in *packet.Datagram) bool {
	if in != nil {
		return e.o.Only(in.Src, in.Dst)
	}
	return e.o.Only(e.outline.Ends(f.Data))
}

// recognised gives a datagram that may be of a known protocol to its shard.
func (e *engine) recognised(f *capture.Frame, in *packet.Datagram) error {
	it := &e.item
	it.shard, it.kind = uint8(e.outline.Spread()%shards), aDatagram
	comments := f.Comments
	if len(comments) > 0 {
		e.comments = report.WithoutNotes(e.comments[:0], comments, e.o.Analysis.Protocols)
		comments = e.comments
	}
	if in != nil {
		e.convert.Datagram(&it.d, in, comments)
	} else {
		it.d.Frame = f.Number
		it.d.Time, it.d.First = e.now, e.now
		convert.Outline(&it.d, &e.outline, f.Data)
		if it.d.Findings = it.d.Findings[:0]; it.d.VLAN != 0 || len(comments) > 0 {
			e.convert.Findings(&it.d, comments)
		}
	}
	it.d.Interface = f.Name
	return e.give(it)
}

// has reports whether a shard is among those that are dissected.
func (e *engine) has(shard uint8) bool { return e.o.Part == 0 || e.o.Part>>shard&1 != 0 }

// arriving gives the addresses of an incomplete datagram to its shard.
func (e *engine) arriving() error {
	in := &e.in
	if !in.Src.IsValid() {
		e.given = true
		return nil // of a tunnel
	}
	it := &e.item
	it.shard, it.kind = uint8(in.Spread()%shards), aFragment
	it.d = dissect.Datagram{Frame: e.frameNo, Src: in.Src, Dst: in.Dst, Findings: it.d.Findings[:0]}
	return e.give(it)
}

// incomplete gives an incomplete IP packet to its shard, which knows the protocol of the
// conversation.
func (e *engine) incomplete(l *packet.Loss) {
	if e.o.Only != nil && !e.o.Only(l.Src, l.Dst) {
		return
	}
	it := &e.item
	it.d = dissect.Datagram{Frames: l.Frames, Src: l.Src, Dst: l.Dst, Findings: it.d.Findings[:0]}
	if !e.convert.Loss(&it.lost, l) {
		return
	}
	e.losses++
	if it.kind = aLoss; l.Protocol != convert.UDP {
		it.kind = aTunnelLoss
	}
	it.wire = l.Have + len(l.Frames)*packet.HeaderLength(l.Src.Addr())
	ends := packet.Datagram{Src: l.Src, Dst: l.Dst}
	it.shard = uint8(ends.Spread() % shards)
	if l.Headed {
		it.d.Payload = l.Payload
	}
	// Losses come out of a sweep; its error is that of the output and is
	// returned by the next call.
	_ = e.give(it)
}

func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// begin begins a new capture in all reporters.
func (e *engine) begin(c report.Capture) error {
	if err := e.origins(c); err != nil {
		return err
	}
	if e.stats != nil {
		for a := range e.aggregates {
			a.Input(c.Number)
		}
	}
	for t := range e.talks {
		t.Input(c.Number)
	}
	if err := e.main.Begin(c); err != nil {
		return err
	}
	return e.write(e.main)
}

// write writes the output that a reporter has buffered.
func (e *engine) write(r report.Reporter) error {
	b := r.Bytes()
	if len(b) == 0 {
		return nil
	}
	_, err := e.out.Write(b)
	r.Reset()
	return err
}

// block is the number of bytes of output that are buffered before they are written.
const block = 128 << 10

// give hands an item to the worker of its shard.
func (e *engine) give(it *item) error {
	e.given = true
	if !e.has(it.shard) {
		return nil
	}
	if e.batch != nil {
		return e.enqueue(it)
	}
	w := e.workers[0]
	w.order = orderOf(e.frameNo, e.sweeping)
	w.do(it)
	if w.err != nil {
		return w.err
	}
	if e.o.Count > 0 && w.messages >= e.o.Count {
		if err := e.write(w.reporter); err != nil {
			return err
		}
		return errEnough
	}
	if len(w.reporter.Bytes()) >= block && !e.sweeping {
		return e.write(w.reporter)
	}
	return nil
}

// sweep reports everything that has waited too long; at the end of an input, everything
// that waits.
func (e *engine) sweep(end bool) error {
	e.countDropped()
	if past := e.now.Sub(e.shared); past >= sweepTime || past < 0 {
		e.shared = e.now
		if err := e.share(); err != nil {
			return err
		}
	}
	if e.crowd.passes(e.now) {
		if err := e.expireInSteps(); err != nil {
			return err
		}
	}
	if e.batch != nil {
		return e.enqueueSweep(end)
	}
	w := e.workers[0]
	w.beginSweep()
	e.sweepFragments(end)
	w.order = orderOf(e.frameNo, true)
	w.sweep(&work{now: e.now, end: end})
	w.endSweep()
	if w.err != nil {
		return w.err
	}
	if len(w.reporter.Bytes()) >= block {
		return e.write(w.reporter)
	}
	return nil
}

// sweepFragments gives up the packets whose fragments have waited too long, or all of
// them.
func (e *engine) sweepFragments(end bool) {
	e.sweeping = true
	if end {
		e.decoder.Flush()
	} else {
		e.decoder.Expire(e.now)
	}
	e.sweeping = false
}

// orderOf returns the position of findings in the output: before a frame in a sweep, or
// with the frame. What the analyzers hear comes before a sweep.
func orderOf(frame uint64, sweep bool) uint64 {
	if sweep {
		return 4*frame + 1
	}
	return 4*frame + 2
}

// flush ends an input.
func (e *engine) flush() error {
	e.frameNo++
	if err := e.settle(); err != nil {
		return err
	}
	e.concludeSides()
	if e.mostlyDuplicates() {
		for s := range e.allShards {
			s.analyzer.QuietCopies()
		}
	}
	if err := e.share(); err != nil {
		return err
	}
	if err := e.flushInSteps(); err != nil {
		return err
	}
	if err := e.sweep(true); err != nil {
		return err
	}
	if err := e.share(); err != nil {
		return err
	}
	if err := e.settle(); err != nil {
		return err
	}
	e.endGameTraffic()
	return nil
}

// allShards yields the shards of all workers, which must be idle.
func (e *engine) allShards(yield func(*shard) bool) {
	for _, w := range e.workers {
		for i := range w.shards {
			if !yield(&w.shards[i]) {
				return
			}
		}
	}
}

// mostlyDuplicates reports whether most datagrams were captured more than once.
// The workers must be idle.
func (e *engine) mostlyDuplicates() bool {
	sum := e.copies()
	return sum.Duplicated()
}

// copies returns the numbers of duplicates, messages and parts. The workers must be idle.
func (e *engine) copies() (sum dissect.Stats) {
	for s := range e.allShards {
		c := s.analyzer.Stats()
		sum.Duplicates += c.Duplicates
		sum.Messages += c.Messages
		sum.Parts += c.Parts
	}
	return sum
}

// settle writes all output so far. Then the workers are idle.
func (e *engine) settle() error {
	if e.batch != nil {
		if err := e.drain(); err != nil {
			return err
		}
	} else if err := e.workers[0].err; err != nil {
		return err
	} else if err := e.write(e.workers[0].reporter); err != nil {
		return err
	}
	if e.o.Keep != nil {
		for _, w := range e.workers {
			for _, frame := range w.unknown {
				e.o.Keep.Drop(frame)
			}
			w.unknown = w.unknown[:0]
		}
		e.o.Keep.Settle()
	}
	return nil
}

// summary adds up all counts. The workers must be idle.
func (e *engine) summary() *report.Summary {
	sum := e.sum
	s := &sum
	n := len(s.Protocols)
	s.Streams = slices.Clone(e.tcp.list)
	if e.o.Live != nil {
		s.Received, s.Lost = e.o.Live.Counts()
		s.Live = true
	}
	s.Messages = make([]uint64, n)
	s.RoundTrips = make([]report.RoundTrips, n)
	s.Ambiguous = make(map[dissect.Ambiguous]uint64)
	counts := e.decoder.Counts()
	s.Complete += counts[packet.Joined]
	s.EvictedFragments = counts[packet.FragmentRefused] + counts[packet.TooDeep]
	s.Incomplete += e.losses
	for _, w := range e.workers {
		for i := range w.shards {
			c := w.shards[i].analyzer.Stats()
			s.Unknown += c.Unknown
			s.Malformed += c.Malformed
			s.Panics += c.Panics
			s.Complete += c.Complete
			s.Incomplete += c.Incomplete
			s.EvictedState.Add(&dissect.Evictions{Flows: c.FlowsEvicted, Requests: c.RequestsEvicted, Clients: c.PeersEvicted})
			s.Requests += c.Requests
			s.Replies += c.Replies
			s.Unanswered += c.Unanswered
			s.ICMPMatched += c.ICMPMatched
			s.Outcomes.Add(&c.Outcomes)
			s.AmbiguousReplies += c.AmbiguousReplies
			if e.enough {
				w.shards[i].analyzer.Pending(func(x *dissect.Exchange) { x.AddTo(&s.Outcomes) })
			}
			s.Duplicates += c.Duplicates
			for k, v := range c.ByProtocol {
				s.Messages[k] += v
			}
			for k, n := range c.Ambiguous {
				s.Ambiguous[k] += n
			}
			for k, v := range c.Findings {
				s.Findings[k] += v
			}
		}
		for k := range w.roundTrips {
			s.RoundTrips[k].Merge(&w.roundTrips[k])
		}
		for k, n := range w.losses {
			s.Findings[k] += n
		}
		s.Tally.Merge(w.tally.settled())
	}
	s.Tally.Merge(&e.tally)
	s.GameTraffic = min(s.GameTraffic+e.gameTraffic(), s.Unknown)
	s.MostlyDuplicates = e.mostlyDuplicates()
	s.Evicted = s.EvictedState.Sum() + s.EvictedFragments
	s.EvictedSeconds = e.evictions()
	s.Drops = s.Lost + s.Evicted
	if e.o.Restrict {
		e.restrict(s)
	}
	return s
}
