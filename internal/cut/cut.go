// Package cut extracts chosen messages from a capture, with the frames that they need
// to be dissected in the same way.
//
// A message needs all frames that carried it, parts and IP fragments. A reply needs
// its request, and a request its replies. A request with a challenge needs the message
// that gave the challenge. The result is dissected again. If a message then differs,
// because its meaning depends on earlier traffic, more of its conversation is added,
// step by step.
package cut

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/whole"
	"github.com/qdissect/qdissect/reassembly"
	"github.com/qdissect/qdissect/report"
)

// Options configure a cut.
type Options struct {
	// In is the input file. It is read several times.
	In string
	// Out is the output file. It is created only if Run succeeds and something is
	// chosen.
	Out string
	// Filter, Frames and Flows choose messages. One of them has to match. A nil Filter
	// matches nothing.
	Filter *display.Filter // nil chooses nothing
	Frames []Range
	Flows  []Flow
	// Window, if not nil, is called with the time of the first frame and returns the times from which on, and until which,
	// messages are chosen; a zero time is no limit. Alone it chooses all datagrams.
	Window func(first time.Time) (since, until time.Time)
	// Analysis configures the dissection.
	Analysis dissect.Config
}

// A Range is a range of frame numbers, inclusive.
type Range struct{ From, To uint64 }

// ParseFrames parses a list of frames, such as 3,5-9.
func ParseFrames(s string) (list []Range, err error) {
	for part := range strings.SplitSeq(s, ",") {
		from, to, two := strings.Cut(strings.TrimSpace(part), "-")
		if !two {
			to = from
		}
		a, err := strconv.ParseUint(from, 10, 63)
		b, err2 := strconv.ParseUint(to, 10, 63)
		if err != nil || err2 != nil || a == 0 || a > b {
			return nil, fmt.Errorf("%q is not a list of frames such as 3,5-9", s)
		}
		list = append(list, Range{a, b})
	}
	return list, nil
}

// A Flow is all datagrams of an address and port, or between two of them.
type Flow struct{ A, B netip.AddrPort }

// ParseFlow parses ADDR:PORT or ADDR:PORT-ADDR:PORT.
func ParseFlow(s string) (f Flow, err error) {
	a, b, two := strings.Cut(s, "-")
	if f.A, err = netip.ParseAddrPort(strings.TrimSpace(a)); err == nil && two {
		f.B, err = netip.ParseAddrPort(strings.TrimSpace(b))
	}
	if err != nil {
		return f, fmt.Errorf("%q is not a flow such as 192.0.2.1:27015 or 192.0.2.1:27015-198.51.100.7:50000", s)
	}
	return f, nil
}

func (f *Flow) holds(src, dst netip.AddrPort) bool {
	if !f.B.IsValid() {
		return src == f.A || dst == f.A
	}
	return src == f.A && dst == f.B || src == f.B && dst == f.A
}

// Result describes what was done.
type Result struct {
	// Chosen is the number of chosen messages and other datagrams.
	Chosen int
	// Frames is the number of frames written, All that of frames read.
	Frames, All uint64
	// Added is the number of frames added to keep messages unchanged.
	Added int
	// Changed are the frames of messages that differ nevertheless.
	Changed []uint64
	// Trouble is the reason why the input could not be read to its end.
	Trouble error
}

// A sum is a hash. It is never silent.
type sum uint64

// silent stands for the sum of a frame without a message.
const silent sum = 0

func (c *cutter) sum(b []byte) sum { return sum(maphash.Bytes(c.seed, b) | 1) }

// A cutter holds the state of a cut. What it knows of messages is in temporary files; see
// docs/limits.md for what is not.
type cutter struct {
	o      *Options
	result Result
	// frames are the frames to write.
	frames frameSet
	// chosen are the last frames of the chosen messages.
	chosen frameSet
	// known has the sum of the chosen message of each frame.
	known *array
	// requests are the frames of requests that replies need. repliesOf are the frames
	// of requests whose replies are needed.
	requests, repliesOf frameSet
	// given maps each needed challenge to the last frame that gave it.
	given map[sum]uint64
	need  frameSet // frames that gave a needed challenge
	// quoted are the flows of findings about ICMP errors. A flow is true if a reply of it is
	// kept.
	quoted  map[sum]bool
	journal *journal
	// findings are the frames of chosen findings.
	findings frameSet
	// Scratch of event.
	event event
	buf   []byte
	seed  maphash.Seed
	// The window, and whether it alone chooses.
	since, until time.Time
	all          bool
}

// Run extracts the chosen messages.
func Run(o Options) (Result, error) {
	c, err := newCutter(&o)
	if err != nil {
		return c.result, err
	}
	err = errors.Join(c.run(), c.close())
	c.result.Chosen, c.result.Frames = c.chosen.n, uint64(c.frames.n)
	return c.result, err
}

// newCutter creates temporary files beside the output, which close removes.
func newCutter(o *Options) (c *cutter, err error) {
	c = &cutter{o: o, given: make(map[sum]uint64), quoted: make(map[sum]bool), seed: maphash.MakeSeed()}
	if c.journal, err = newJournal(filepath.Dir(o.Out)); err != nil {
		return c, err
	}
	if c.known, err = newArray(filepath.Dir(o.Out)); err != nil {
		err = errors.Join(err, c.journal.close())
	}
	return c, err
}

func (c *cutter) close() error { return errors.Join(c.journal.close(), c.known.close()) }

func (c *cutter) run() error {
	first := c.chooser()
	if err := c.dissect(c.o.In, &first); err != nil {
		return err
	}
	if err := c.takeFlows(); err != nil {
		return err
	}
	if c.frames.n == 0 {
		return nil
	}
	if err := c.complete(); err != nil {
		return err
	}
	// The output is renamed into place when it is complete.
	f, err := whole.Create(c.o.Out, false)
	if err != nil {
		return err
	}
	defer f.Discard()
	before := c.frames.n
	for level := 0; ; level++ {
		if err := c.write(f.Name()); err != nil {
			return err
		}
		changed, err := c.compare(f.Name())
		if err != nil {
			return err
		}
		if len(changed) == 0 || level == len(levels) {
			c.result.Changed = changed
			break
		}
		if err := c.more(changed, levels[level]); err != nil {
			return err
		}
	}
	c.result.Added = c.frames.n - before
	if c.known.err != nil {
		return c.known.err
	}
	return f.Place()
}

// dissect passes the contents of a capture to r.
func (c *cutter) dissect(name string, r report.Reporter) error {
	a := c.o.Analysis
	a.Tree, a.KeepCopies = true, true
	sum, err := pipeline.Run(pipeline.Options{
		Inputs: []string{name}, Out: io.Discard, Reporter: func() report.Reporter { return r }, Analysis: a, All: true,
		Trouble: func(err error) { c.result.Trouble = err },
	})
	if err != nil {
		return err
	}
	if sum.Inputs == 0 {
		return c.result.Trouble
	}
	if name == c.o.In {
		c.result.All = sum.Packets
	}
	return nil
}

// nothing returns a reporter of which no output is read.
func nothing() report.Reporter { return report.SummaryOnly(report.NewCounts()) }

// A chooser finds the chosen messages.
type chooser struct {
	report.Reporter
	*cutter
	matcher *display.Matcher // nil chooses nothing
}

func (c *cutter) chooser() chooser {
	t := chooser{Reporter: nothing(), cutter: c}
	if c.o.Filter != nil {
		t.matcher = c.o.Filter.Matcher()
	}
	return t
}

func (c *chooser) Begin(r report.Capture) error {
	if o := c.o; o.Window != nil {
		c.since, c.until = o.Window(r.Start)
		c.all = o.Filter == nil && len(o.Frames)+len(o.Flows) == 0
	}
	return nil
}

// in reports whether a time is in the window.
func (c *cutter) in(t time.Time) bool {
	return !t.Before(c.since) && (c.until.IsZero() || t.Before(c.until))
}

func (c *cutter) inFrames(frames ...uint64) bool {
	return slices.ContainsFunc(c.o.Frames, func(r Range) bool {
		return slices.ContainsFunc(frames, func(f uint64) bool { return f >= r.From && f <= r.To })
	})
}

func (c *cutter) inFlows(src, dst netip.AddrPort) bool {
	return slices.ContainsFunc(c.o.Flows, func(f Flow) bool { return f.holds(src, dst) })
}

func (c *chooser) Record(r *dissect.Record) error {
	e := c.eventOf(r)
	ok := c.all || c.inFrames(r.Frame) || c.inFrames(r.Frames...) || c.inFlows(r.Src, r.Dst)
	if c.in(r.Time) && (ok || c.matcher != nil && c.matcher.Record(r)) {
		c.choose(e)
	}
	return c.journal.add(e)
}

// mark marks a frame as that of a chosen message, or of something else if says is silent.
func (c *cutter) mark(frame uint64, says sum) {
	c.chosen.add(frame)
	c.known.set(frame, uint64(says))
}

// said returns the sum of the chosen message of a frame.
func (c *cutter) said(frame uint64) sum { return sum(c.known.get(frame)) }

// choose adds a chosen message.
func (c *cutter) choose(e *event) {
	c.mark(e.frame, e.says)
	if e.role == dissect.Request {
		c.repliesOf.add(e.frame)
	}
	c.take(e)
}

func (c *chooser) Unknown(u *dissect.Unknown) error {
	ok := c.all || c.inFrames(u.Frame) || c.inFrames(u.Frames...) || c.inFlows(u.Src, u.Dst)
	if c.in(u.Time) && (ok || c.matcher != nil && c.matcher.Unknown(u)) {
		c.mark(u.Frame, silent)
		c.keep(u.Frame, u.Frames)
	}
	return nil
}

func (c *chooser) Finding(f *dissect.FlowFinding) error {
	e := event{finding: true, matches: c.matcher != nil && c.matcher.Finding(f), frame: f.Frame, icmp: f.ICMPFrame, time: nanos(f.Time), ends: appendEnds(nil, f.Src, f.Dst)}
	if c.in(f.Time) && e.matches {
		c.findings.add(f.Frame)
	}
	if e.icmp > 0 {
		c.quoted[c.sum(e.ends)] = false
	}
	return c.journal.add(&e)
}

// keep adds frames.
func (c *cutter) keep(frame uint64, frames []uint64) {
	c.frames.add(frame)
	for _, f := range frames {
		c.frames.add(f)
	}
}

// take adds a message and records what it depends on. It reports whether there is a
// new dependency.
func (c *cutter) take(e *event) (news bool) {
	c.keep(e.frame, e.frames)
	if e.request > 0 {
		news = c.requests.add(e.request)
	}
	if e.used == dissect.ChallengeUsed {
		at, known := c.given[e.given]
		if !known {
			c.given[e.given] = 0
			news = true
		} else if at > 0 && c.need.add(at) {
			news = true
		}
	}
	return news
}

// complete adds dependencies until there are no new ones.
func (c *cutter) complete() error {
	for {
		for k := range c.given {
			c.given[k] = 0
		}
		for k := range c.quoted {
			c.quoted[k] = false
		}
		news, frames := false, c.frames.n
		err := c.journal.replay(func(e *event) {
			if e.finding {
				if e.icmp > 0 && (c.quoted[c.sum(e.ends)] || c.frames.has(e.frame)) {
					c.frames.add(e.icmp)
				}
				return
			}
			if c.chosen.has(e.frame) || c.requests.has(e.frame) || c.need.has(e.frame) || e.request > 0 && c.repliesOf.has(e.request) {
				news = c.take(e) || news
			}
			if len(c.quoted) > 0 && e.role == dissect.Reply && c.frames.has(e.frame) {
				if _, quoted := c.quoted[c.sum(e.ends)]; quoted {
					c.quoted[c.sum(e.ends)] = true
				}
			}
			if e.used == dissect.ChallengeIssued {
				if _, wanted := c.given[e.given]; wanted {
					c.given[e.given] = e.frame
				}
			}
		})
		if err != nil || !news && c.frames.n == frames {
			return err
		}
	}
}

// takeFlows adds frames that are not messages: those chosen by number or flow, and
// those of findings about incomplete data.
func (c *cutter) takeFlows() error {
	u := rules{flows: c.o.Flows, in: c.in, all: c.all}
	// A finding about a message, such as an unanswered request, adds that message.
	if c.findings.n > 0 {
		err := c.journal.replay(func(e *event) {
			if !e.finding && c.findings.has(e.frame) {
				c.findings.remove(e.frame)
				c.choose(e)
			}
		})
		if err != nil {
			return err
		}
	}
	// The others add the datagrams that they are about. Their frame is the first of an
	// incomplete set. Reassembly waits this long for the others.
	if c.findings.n > 0 {
		err := c.journal.replay(func(e *event) {
			if !e.finding || !e.matches || !c.findings.has(e.frame) {
				return
			}
			at := time.Unix(0, e.time)
			from, to := at, at.Add(dissect.DefaultLimits.Parts.Age)
			if e.icmp > 0 { // it is about earlier datagrams
				from, to = at.Add(-dissect.DefaultLimits.Window), at
			}
			u.between(e.flow(), from, to)
			c.mark(e.frame, silent)
			c.frames.add(e.frame)
		})
		if err != nil {
			return err
		}
	}
	if u.empty() && len(c.o.Frames) == 0 {
		return nil
	}
	return c.scan(&u, &c.findings)
}

// scan adds the frames that match the rules, and those chosen by number.
func (c *cutter) scan(u *rules, lost *frameSet) error {
	in, err := capture.Open(c.o.In)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	decoder := packet.NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, func(l *packet.Loss) {
		if u.take(l.Src, l.Dst, l.First) || slices.ContainsFunc(l.Frames, lost.has) {
			c.keep(l.Frames[0], l.Frames)
		}
	})
	var f capture.Frame
	var d packet.Datagram
	now := time.Unix(0, 0)
	for in.Next(&f) == nil {
		if !f.Time.IsZero() {
			now = f.Time.UTC()
		}
		if f.Number%256 == 0 {
			decoder.Expire(now)
		}
		if c.inFrames(f.Number) && c.in(now) {
			c.frames.add(f.Number)
			c.chosen.add(f.Number)
		}
		frame := packet.Frame{Number: f.Number, Time: now, LinkType: f.LinkType, Data: f.Data, Length: f.Length}
		switch o := decoder.Decode(&frame, &d); {
		case o == packet.ICMPError:
			if q, ok := decoder.Quoted(); ok && u.take(q.Src, q.Dst, now) {
				c.frames.add(f.Number)
			}
		case o.OK() && u.take(d.Src, d.Dst, now):
			c.keep(d.Frame, d.Frames)
		case o == packet.TCP && len(decoder.Segment()) >= 4:
			src, dst := packet.Addresses(decoder.Packet())
			if t := decoder.Segment(); u.take(netip.AddrPortFrom(src, binary.BigEndian.Uint16(t)), netip.AddrPortFrom(dst, binary.BigEndian.Uint16(t[2:])), now) {
				c.frames.add(f.Number)
			}
		}
	}
	decoder.Flush()
	return nil
}

// mark begins the comments that cut adds. It prevents adding them twice.
const mark = "cut: frame "

// write writes the kept frames.
func (c *cutter) write(name string) (err error) {
	in, err := capture.Open(c.o.In)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	out, err := capture.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	var f capture.Frame
	for left := c.frames.n; left > 0 && in.Next(&f) == nil; {
		if !c.frames.has(f.Number) {
			continue
		}
		left--
		if !slices.ContainsFunc(f.Comments, func(s string) bool { return strings.HasPrefix(s, mark) }) {
			f.Comments = append(f.Comments, mark+strconv.FormatUint(f.Number, 10))
		}
		if err := out.Write(&f); err != nil {
			return err
		}
	}
	return nil
}

// eventOf returns the event of a message, which is valid until the next call.
func (c *cutter) eventOf(r *dissect.Record) *event {
	e := &c.event
	e.role, e.used, e.frame, e.request = r.Type.Role, r.Pair.Challenge, r.Frame, r.RequestFrame
	e.time, e.given, e.ends, e.frames = nanos(r.Time), 0, appendEnds(e.ends[:0], r.Src, r.Dst), r.Frames
	client, server := r.Src.Addr(), r.Dst.Addr()
	switch e.used {
	case dissect.ChallengeIssued:
		client, server = server, client
		fallthrough
	case dissect.ChallengeUsed:
		from, to := client.As16(), server.As16()
		c.buf = append(append(append(c.buf[:0], r.Protocol.Name...), from[:]...), to[:]...)
		e.given = c.sum(binary.LittleEndian.AppendUint64(c.buf, r.Pair.Value))
	}
	e.says = c.says(r, e.ends)
	return e
}

// says returns the sum of all that the output shows of a message.
func (c *cutter) says(r *dissect.Record, ends []byte) sum {
	b := report.AppendNote(c.buf[:0], r)
	number := func(n uint64) { b = binary.LittleEndian.AppendUint64(b, n) }
	text := func(s string) { b = append(append(b, s...), 0) }
	number(r.Frame)
	if len(r.Frames) > 1 {
		for _, f := range r.Frames {
			number(f)
		}
	}
	number(uint64(nanos(r.Time)))
	b = append(b, ends...)
	number(uint64(r.VLAN))
	text(r.Interface)
	text(r.Type.Name)
	number(uint64(r.Length))
	number(uint64(r.WireLength))
	number(uint64(r.Reason))
	if s := &r.Split; s.Parts > 0 {
		text(s.Variant)
		number(s.ID)
		number(uint64(s.Parts))
		b = append(b, core.Bit[byte](s.Compressed), core.Bit[byte](s.Partial))
		for _, n := range r.Missing {
			number(uint64(n))
		}
	}
	if r.RequestFrame > 0 {
		b = append(b, core.Bit[byte](r.TimeKnown), core.Bit[byte](r.Ambiguous))
		if r.TimeKnown {
			number(uint64(r.RTT))
		}
	}
	for _, p := range r.Alternatives {
		text(p.Name)
	}
	for i := range r.Nodes {
		n, f := &r.Nodes[i], r.Nodes[i].Field
		if f.Framing {
			continue
		}
		if f.Column != nil { // made anew for the name that a message gives it
			text(f.Path)
			f = f.Column
		}
		// Each field is declared once: its place says as much as its path.
		b = binary.LittleEndian.AppendUint64(append(b, n.Depth), uint64(uintptr(unsafe.Pointer(f))))
		b = binary.LittleEndian.AppendUint64(b, n.Num)
		if !f.Kind.Container() {
			b = append(b, n.Value(r.Sources[n.Source].Data)...)
		}
	}
	for i := range r.Findings {
		if t := r.Findings[i].Type; t != core.PacketComment {
			text(t.ID)
		}
	}
	c.buf = b
	return c.sum(b)
}

// A comparer checks the chosen messages in the output.
type comparer struct {
	report.Reporter
	*cutter
	order  order    // of the frames of the output in the input
	frames []uint64 // scratch
	same   frameSet
}

func (p *comparer) Record(r *dissect.Record) error {
	m := *r
	m.Frame, m.Frames, m.RequestFrame = p.order.frame(r.Frame), p.frames[:0], p.order.frame(r.RequestFrame)
	for _, f := range r.Frames {
		m.Frames = append(m.Frames, p.order.frame(f))
	}
	p.frames = m.Frames
	if p.chosen.has(m.Frame) && p.said(m.Frame) == p.eventOf(&m).says {
		p.same.add(m.Frame)
	}
	return nil
}

// compare returns the frames of the chosen messages that differ in the output.
func (c *cutter) compare(name string) (changed []uint64, err error) {
	p := comparer{Reporter: nothing(), cutter: c, order: c.frames.order()}
	trouble := c.result.Trouble
	if err := c.dissect(name, &p); err != nil {
		return nil, err
	}
	c.result.Trouble = trouble
	for f := range c.chosen.all {
		if !p.same.has(f) && c.said(f) != silent {
			changed = append(changed, f)
		}
	}
	return changed, nil
}

// A level selects more of a conversation: all traffic before the message, traffic
// after it, other ports.
type level struct{ allBefore, after, anyPort bool }

// levels are tried in order. Later traffic matters, too: it may have decided the
// protocol of a message.
var levels = []level{{}, {after: true}, {allBefore: true, after: true}, {allBefore: true, after: true, anyPort: true}}

// more adds more of the conversations of changed messages.
func (c *cutter) more(changed []uint64, l level) error {
	var set frameSet
	for _, f := range changed {
		set.add(f)
	}
	u := rules{anyPort: l.anyPort}
	err := c.journal.replay(func(e *event) {
		if e.finding || !set.has(e.frame) {
			return
		}
		from, to := time.Time{}, time.Unix(0, e.time)
		if !l.allBefore {
			from = to.Add(-dissect.DefaultLimits.Window)
		}
		if l.after {
			to = to.Add(dissect.DefaultLimits.Window)
		}
		u.between(e.flow(), from, to)
	})
	if err != nil {
		return err
	}
	if err := c.scan(&u, new(frameSet)); err != nil {
		return err
	}
	return c.complete()
}
