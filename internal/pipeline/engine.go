package pipeline

import (
	"net/netip"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/convert"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/internal/streams"
	"github.com/qdissect/qdissect/reassembly"
	"github.com/qdissect/qdissect/report"
)

// engine is the state of a run. It decodes frames, and gives their datagrams to the pool.
type engine struct {
	o       *Options
	main    report.Reporter // for captures and the summary
	decoder *decoder
	pool    *pool
	census  *census
	counts  *aggregates // nil without Counts.Stats
	traffic *traffic
	foreign func(*packet.Outline) // counts a datagram that no worker gets for a tally, nil if there is none
	// foldTalks hands over the conversations so far. The workers must be idle.
	foldTalks func()
	safe      *safe
	keeper    keeper // nil if no frames are saved
	reading   *reading
	ticks     *ticks
	at        moment // of the newest frame
	swept     int64  // time of the last sweep, in ns since 1970
	given     bool   // a worker got something of the frame
	enough    bool   // Options.Count ended the run
	failed    error  // an error of the output that could not be returned
}

// decoder turns frames into items for the workers.
type decoder struct {
	*packet.Decoder
	budget   *reassembly.Budget // of IP fragments
	in       packet.Datagram
	outline  packet.Outline // of the datagram of the newest frame
	lost     loss
	findings []dissect.Finding // scratch
	convert  convert.Converter
	streams  *streams.Streams  // nil if no protocol is over TCP
	comments []string          // scratch
	tree     bool              // headers are looked for, as a tree needs them
	first    *dissect.Analyzer // of the first shard: all know the same protocols
}

// census counts what no worker does.
type census struct {
	sum               report.Summary
	told              report.Summary // what completed outputs have reported
	last              capture.Stamp  // of the frames of this output that have a time
	tcp               tcp
	sides             *sides
	losses            uint64
	requests, replies uint64 // of earlier inputs
}

func newEngine(options *Options) (*engine, error) {
	o := options.filled()
	e := &engine{
		o: o, main: o.Reporter(), counts: newAggregates(o), traffic: &traffic{unseen: new(endpoints)}, foldTalks: func() {},
		census:  &census{sides: &sides{hosts: new([maxSides]side), pairs: make([][2]packet.Key, 0, enoughPairs)}},
		reading: &reading{stop: o.Stop, matches: make(map[uint16]func([]byte, int) bool)}, ticks: new(ticks),
	}
	e.census.sum.Protocols = o.Analysis.Protocols
	budget := reassembly.NewBudget(o.Limits.Budget)
	e.decoder = &decoder{Decoder: packet.NewDecoder(budget, o.Limits.Fragments, e.incomplete), budget: budget}
	e.safe = &safe{saver: o.Save.Saver, trouble: o.Trouble}
	e.keeper = newKeeper(o, e.safe)
	if o.Save.Tree != nil {
		e.decoder.tree = true
		e.decoder.MapHeaders()
	}
	var err error
	if e.pool, err = newPool(o, e.sinks(), o.workers()); err != nil {
		return nil, err
	}
	e.decoder.first = e.pool.workers[0].shards[0].analyzer
	e.decoder.streams = streams.New(o.Analysis.Protocols, o.Analysis.DecodeAs, e.message)
	for _, port := range gamePorts {
		e.decoder.streams.Watch(port)
	}
	return e, nil
}

// itemKind says what an item is.
type itemKind uint8

const (
	aDatagram itemKind = iota
	aLoss
	aTunnelLoss // of a tunnel that may have carried datagrams
	anICMPError
	aFragment
	aMark  // start of a sweep
	aShare // the analyzers hear each other
	aSweep
)

// item is a unit of work: for a shard a datagram, the loss of one, or an ICMP error about one; for all shards what lets
// them report. Pointers that its kind does not need are those of an earlier item.
type item struct {
	shard uint8
	kind  itemKind
	order uint64
	icmp  *dissect.ICMPError
	lost  *loss
	sweep *sweep
	d     dissect.Datagram
	ends  core.Packed // of a datagram, if they are made
}

// A loss is a datagram that lacks fragments.
type loss struct {
	dissect.FlowFinding
	wire int // bytes of its IP packets
}

// A sweep reports what has waited too long. It precedes every 256th frame, and every frame
// that is at least a second later than the last sweep, so its position in the output does
// not depend on the workers.
const (
	sweepFrames = 256
	sweepTime   = time.Second
)

// due reports whether an interval is over, or the clock went back since it began.
func due(past, interval time.Duration) bool { return past >= interval || past < 0 }

// A frame that goes back in time by so much says that the clock did. Frames of several interfaces may be out of order by less than
// clockStepOfSeveral.
const (
	clockStep          = 100 * time.Millisecond
	clockStepOfSeveral = time.Second
)

// frame dissects the next frame of an input.
func (e *engine) frame(f *capture.Frame) error {
	sum := &e.census.sum
	sum.Packets++
	sum.Bytes += uint64(len(f.Data))
	e.at.frame = f.Number
	e.ticks.dirty = true
	before := e.at.now
	now := before
	if !f.Time.IsZero() { // a frame without a time has that of the previous frame
		now = f.Time.UnixNano()
		e.at.now, e.census.last = now, f.Time
		if sum.First.IsZero() {
			sum.First = f.Time.UTC()
		}
	}
	if back := time.Duration(before - now); back >= clockStep && (f.Name == "" || back >= clockStepOfSeveral) && e.counts != nil {
		e.counts.rest.SteppedBack(before, now)
	}
	if f.Number%sweepFrames == 0 || due(time.Duration(now-e.swept), sweepTime) { // Sub costs a hundred instructions
		e.swept = now
		if err := e.sweep(false); err != nil {
			return err
		}
	}
	d := e.decoder
	o, ok := d.outline.Read(f.LinkType, f.Data)
	switch {
	case !ok || d.tree:
		return e.walk(f, now)
	case o == packet.TCP:
		foreign := d.streams.Foreign(d.outline.Payload)
		if sum.Unread.Segments++; foreign && !looks(sum.Unread.Segments) {
			return nil
		}
		return e.segment(f, foreign)
	}
	return e.datagram(f, now, nil)
}

// walk decodes and dissects a frame without an outline, which came at time now in
// nanoseconds.
func (e *engine) walk(f *capture.Frame, now int64) error {
	raw := packet.Frame{Number: f.Number, Time: e.at.time(), LinkType: f.LinkType, Data: f.Data, Length: f.Length}
	d := e.decoder
	switch o := d.Walk(&raw, &d.in); o {
	case packet.Whole, packet.Joined:
		d.in.Outline(&d.outline)
		return e.datagram(f, now, &d.in)
	case packet.ICMPError:
		if q, ok := d.Quoted(); ok { // it is like a reply to the datagram that it is about
			e.census.sides.see(packet.KeyOf(q.Dst), packet.KeyOf(q.Src), false)
		}
		return e.icmp()
	case packet.FragmentHeld:
		return e.arriving()
	case packet.TCP:
		d.OutlineSegment(&d.outline, &d.in)
		e.census.sum.Unread.Segments++
		return e.segment(f, d.streams.Foreign(d.outline.Payload))
	case packet.LinkUnknown:
		report.Count(&e.census.sum.Unread.Links, capture.LinkTypeName(f.LinkType), 0)
	}
	return nil
}

// datagram dissects the datagram of a frame, which came at time now in nanoseconds. Its
// outline is known; in is nil if that says all.
func (e *engine) datagram(f *capture.Frame, now int64, in *packet.Datagram) error {
	d, c := e.decoder, e.census
	o := &d.outline
	talks := d.first.Inner(core.Only{}).Candidate(o.Src.Port, o.Dst.Port, o.Payload)
	if !c.sides.known {
		c.sides.see(o.From, o.To, talks)
	}
	if only := e.o.Frames.Only; only != nil {
		var src, dst netip.AddrPort
		if in != nil {
			src, dst = in.Src, in.Dst
		} else {
			src, dst = o.Ends()
		}
		if !only(src, dst) {
			return nil
		}
	}
	if s, ok := e.keeper.(*selection); ok && in != nil {
		s.decoded(d.Decoder, in)
	}
	c.sum.Datagrams++
	if looks(c.sum.Datagrams) {
		e.lookAt(o.Payload)
	}
	if talks || e.o.All {
		return e.recognised(f, in)
	}
	c.sum.Unknown++
	e.traffic.unseen.both(o.From, o.To)
	if !e.has(0) {
		return nil
	}
	if e.counts != nil {
		e.counts.foreign(now, o, in)
	}
	if e.foreign != nil {
		e.foreign(o)
	}
	return nil
}

// recognised gives a datagram that may be of a known protocol to its shard.
func (e *engine) recognised(f *capture.Frame, in *packet.Datagram) error {
	d := e.decoder
	it := e.pool.next()
	it.shard, it.kind, it.ends.Made = uint8(d.outline.Spread()%shards), aDatagram, in == nil
	it.d.Findings = d.findings[:0]
	comments := f.Comments
	if len(comments) > 0 {
		d.comments = report.WithoutNotes(d.comments[:0], comments, e.o.Analysis.Protocols)
		comments = d.comments
	}
	if in != nil {
		d.convert.Datagram(&it.d, in, comments)
	} else {
		it.d.Frame = f.Number
		it.d.Time = e.at.time()
		it.d.First = it.d.Time
		it.ends.At, it.ends.Src, it.ends.Dst = e.at.now, d.outline.Src, d.outline.Dst
		convert.Outline(&it.d, &d.outline)
		if it.d.VLAN != 0 || len(comments) > 0 {
			d.convert.Findings(&it.d, comments)
		}
	}
	it.d.Interface = f.Name
	d.findings = it.d.Findings
	return e.give(it)
}

// has reports whether a shard is among those that are dissected.
func (e *engine) has(shard uint8) bool {
	part := e.o.Counts.Part
	return part == 0 || part>>shard&1 != 0
}

// arriving gives the addresses of an incomplete datagram to its shard.
func (e *engine) arriving() error {
	in := &e.decoder.in
	if !in.Src.IsValid() {
		e.given = true
		return nil // of a tunnel
	}
	it := e.pool.next()
	it.shard, it.kind = uint8(in.Spread()%shards), aFragment
	it.d = dissect.Datagram{Frame: e.at.frame, Src: in.Src, Dst: in.Dst}
	return e.give(it)
}

// incomplete gives an incomplete IP packet to its shard, which knows the protocol of the
// conversation.
func (e *engine) incomplete(l *packet.Loss) {
	if only := e.o.Frames.Only; only != nil && !only(l.Src, l.Dst) {
		return
	}
	d := e.decoder
	it := e.pool.next()
	it.d = dissect.Datagram{Frames: l.Frames, Src: l.Src, Dst: l.Dst}
	if !d.convert.Loss(&d.lost.FlowFinding, l) {
		return
	}
	e.census.losses++
	if it.kind, it.lost = aLoss, &d.lost; l.Protocol != convert.UDP {
		it.kind = aTunnelLoss
	}
	it.lost.wire = l.Have + len(l.Frames)*packet.HeaderLength(l.Src.Addr())
	ends := packet.Datagram{Src: l.Src, Dst: l.Dst}
	it.shard = uint8(ends.Spread() % shards)
	if l.Headed {
		it.d.Payload = l.Payload
	}
	// Losses come out of a sweep; its error is that of the output and is
	// returned by the next call.
	_ = e.give(it)
}

// icmp gives an ICMP error to the shard of the conversation that it is about.
func (e *engine) icmp() error {
	q, ok := e.decoder.Quoted()
	if !ok {
		return nil
	}
	sum := &e.census.sum
	sum.ICMP++
	// The errors are shown only if a capture has no messages. Formatting allocates, so
	// only the first ones are formatted.
	if u := &sum.Unread; len(u.Errors) < 8 && sum.ICMP <= 1000 {
		says := "did not arrive"
		if v6 := q.From.Is6(); !v6 && q.Type == 3 && q.Code == 3 || v6 && q.Type == 1 && q.Code == 4 {
			says = "is unreachable"
		}
		report.Count(&u.Errors, q.Dst.Addr().String()+" "+says, q.Dst.Port())
	}
	return e.decoder.convert.Errors(q, e.giveICMP)
}

// giveICMP gives an ICMP error to a shard. The error is borrowed.
func (e *engine) giveICMP(x *dissect.ICMPError) error {
	ends := packet.Datagram{Src: x.Src, Dst: x.Dst}
	it := e.pool.next()
	it.shard, it.kind, it.icmp = uint8(ends.Spread()%shards), anICMPError, x
	it.d = dissect.Datagram{}
	return e.give(it)
}

// give hands the next item to the worker of its shard.
func (e *engine) give(it *item) error {
	e.given = true
	if !e.has(it.shard) {
		return nil
	}
	return e.pool.give(&e.at)
}

// begin begins a new capture in all reporters.
func (e *engine) begin(c report.Capture) error {
	if err := e.origins(c); err != nil {
		return err
	}
	for _, s := range e.pool.sinks {
		if s.input != nil {
			s.input(c.Number)
		}
	}
	if err := e.main.Begin(c); err != nil {
		return err
	}
	return e.pool.write(e.main)
}

// sweep reports everything that has waited too long; at the end of an input, everything
// that waits.
func (e *engine) sweep(end bool) error {
	p := e.pool
	now := e.at.time()
	if e.counts != nil {
		e.counts.countDropped(now.Unix())
	}
	if due(now.Sub(p.shared), sweepTime) {
		p.shared = now
		if err := p.share(e.at); err != nil {
			return err
		}
	}
	if p.crowd.passes(now) {
		if err := p.expireInSteps(e.at); err != nil {
			return err
		}
	}
	return e.sweepOnce(sweep{now: now, end: end}, end)
}

// sweepOnce reports what has waited too long, all fragments or those too old, and lets the shards report.
func (e *engine) sweepOnce(s sweep, fragments bool) error {
	p := e.pool
	e.at.sweep = true
	order := e.at.order()
	p.beginSweep(order)
	if fragments {
		e.decoder.Flush()
		e.decoder.streams.Flush()
	} else {
		e.decoder.Expire(s.now)
		e.decoder.streams.Advance(s.now)
	}
	e.at.sweep = false
	return p.endSweep(order, s)
}

// flush ends an input.
func (e *engine) flush() error {
	e.at.frame++
	p := e.pool
	if err := p.settle(); err != nil {
		return err
	}
	e.concludeSides()
	if p.mostlyDuplicates() {
		for a := range p.analyzers {
			a.Inner(core.Only{}).QuietCopies()
		}
	}
	if err := p.share(e.at); err != nil {
		return err
	}
	if many, _, err := p.waiting(); err != nil {
		return err
	} else if many != 0 { // some of it was answered by datagrams that lack fragments
		if err := e.sweepOnce(sweep{now: e.at.time()}, true); err != nil {
			return err
		}
	}
	if err := p.flushInSteps(e.at); err != nil {
		return err
	}
	if err := e.sweep(true); err != nil {
		return err
	}
	if err := p.share(e.at); err != nil {
		return err
	}
	if err := p.settle(); err != nil {
		return err
	}
	e.traffic.endInput()
	return nil
}

// summary adds up all counts. The workers must be idle.
func (e *engine) summary() *report.Summary {
	s := e.census.sum
	s.Last = e.census.last.UTC()
	s.Streams = append(s.Streams, e.census.tcp.list...)
	if live := e.o.live(); live != nil {
		s.Received, s.Lost = live.Counts()
		s.Live = true
	}
	counts := e.decoder.Counts()
	s.Complete += counts[packet.Joined]
	s.EvictedFragments = counts[packet.FragmentRefused] + counts[packet.TooDeep]
	s.Incomplete += e.census.losses
	e.pool.summarize(&s, e.enough)
	s.EvictedState.Flows += e.decoder.streams.Evicted()
	s.Evicted = s.EvictedState.Sum() + s.EvictedFragments
	s.Drops = s.Lost + s.Evicted
	for _, k := range e.pool.sinks {
		if k.summarize != nil {
			k.summarize(&s)
		}
	}
	return &s
}
