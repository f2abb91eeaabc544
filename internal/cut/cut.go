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
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/internal/pipeline"
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
	// Comments adds a comment with the old number of each frame and its message.
	Comments bool
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

// A sum is a truncated SHA-256.
type sum [16]byte

// silent is the sum for frames without a message.
var silent sum

func sumOf(b []byte) sum {
	h := sha256.Sum256(b)
	return sum(h[:])
}

// challengeOf identifies a challenge that a server gave to a client.
func challengeOf(p *dissect.Protocol, client, server netip.Addr, value uint64) sum {
	a, b := client.As16(), server.As16()
	return sumOf(binary.LittleEndian.AppendUint64(slices.Concat([]byte(p.Name), a[:], b[:]), value))
}

// A cutter holds the state of a cut. Its memory grows with the chosen frames and
// messages; see docs/limits.md.
type cutter struct {
	o      *Options
	result Result
	// frames are the frames to write.
	frames frameSet
	// chosen maps the last frame of each chosen message to the sum of its content.
	chosen map[uint64]sum
	// requests are the frames of requests that replies need. repliesOf are the frames
	// of requests whose replies are needed.
	requests, repliesOf frameSet
	// given maps each needed challenge to the last frame that gave it.
	given map[sum]uint64
	need  frameSet // frames that gave a needed challenge
	notes *notes   // nil without comments
	// findings are the frames of chosen findings.
	findings frameSet
	said     report.JSON // scratch of says
	// The window, and whether it alone chooses.
	since, until time.Time
	all          bool
}

// Run extracts the chosen messages.
func Run(o Options) (Result, error) {
	c := &cutter{o: &o, chosen: make(map[uint64]sum), given: make(map[sum]uint64)}
	err := c.run()
	err = errors.Join(err, c.notes.close())
	c.result.Chosen, c.result.Frames = len(c.chosen), uint64(c.frames.n)
	return c.result, err
}

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
	// Temporary files are created beside the output, because they are renamed.
	dir := filepath.Dir(c.o.Out)
	if c.o.Comments {
		var err error
		if c.notes, err = newNotes(dir); err != nil {
			return err
		}
	}
	if err := c.complete(); err != nil {
		return err
	}
	// The output is renamed into place when it is complete.
	f, err := capture.CreateBeside(c.o.Out, false)
	if err != nil {
		return err
	}
	f.Close()
	defer os.Remove(f.Name())
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
	return os.Rename(f.Name(), c.o.Out)
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

// nothing is a reporter without output.
type nothing struct{}

func (nothing) Record(*dissect.Record) error       { return nil }
func (nothing) Unknown(*dissect.Unknown) error     { return nil }
func (nothing) Finding(*dissect.FlowFinding) error { return nil }
func (nothing) Begin(report.Capture) error         { return nil }
func (nothing) End(*report.Summary) error          { return nil }
func (nothing) Bytes() []byte                      { return nil }
func (nothing) Reset()                             {}

// A chooser finds the chosen messages.
type chooser struct {
	nothing
	*cutter
	matcher *display.Matcher // nil chooses nothing
}

func (c *cutter) chooser() chooser {
	t := chooser{cutter: c}
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
	ok := c.all || c.inFrames(r.Frame) || c.inFrames(r.Frames...) || c.inFlows(r.Src, r.Dst)
	if c.in(r.Time) && (ok || c.matcher != nil && c.matcher.Record(r)) {
		c.choose(r)
	}
	return nil
}

// choose adds a chosen message.
func (c *cutter) choose(r *dissect.Record) {
	c.chosen[r.Frame] = c.says(r, func(f uint64) uint64 { return f })
	if r.Type.Role == dissect.Request {
		c.repliesOf.add(r.Frame)
	}
	c.take(r)
}

func (c *chooser) Unknown(u *dissect.Unknown) error {
	ok := c.all || c.inFrames(u.Frame) || c.inFrames(u.Frames...) || c.inFlows(u.Src, u.Dst)
	if c.in(u.Time) && (ok || c.matcher != nil && c.matcher.Unknown(u)) {
		c.chosen[u.Frame] = silent
		c.keep(u.Frame, u.Frames)
	}
	return nil
}

func (c *chooser) Finding(f *dissect.FlowFinding) error {
	if c.in(f.Time) && c.matcher != nil && c.matcher.Finding(f) {
		c.findings.add(f.Frame)
	}
	return nil
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
func (c *cutter) take(r *dissect.Record) (news bool) {
	c.keep(r.Frame, r.Frames)
	if r.RequestFrame > 0 {
		news = c.requests.add(r.RequestFrame)
	}
	if r.Pair.Challenge == dissect.ChallengeUsed {
		k := challengeOf(r.Protocol, r.Src.Addr(), r.Dst.Addr(), r.Pair.Value)
		at, known := c.given[k]
		if !known {
			c.given[k] = 0
			news = true
		} else if at > 0 && c.need.add(at) {
			news = true
		}
	}
	return news
}

// A completer adds the messages that chosen ones depend on.
type completer struct {
	nothing
	*cutter
	news    bool
	replies map[Flow]struct{} // the flows of kept replies
}

func (c *completer) Record(r *dissect.Record) error {
	_, chosen := c.chosen[r.Frame]
	if chosen || c.requests.has(r.Frame) || c.need.has(r.Frame) || r.RequestFrame > 0 && c.repliesOf.has(r.RequestFrame) {
		if c.take(r) {
			c.news = true
		}
	}
	if c.frames.has(r.Frame) {
		c.notes.add(r)
		if r.Type.Role == dissect.Reply {
			c.replies[Flow{r.Src, r.Dst}] = struct{}{}
		}
	}
	if r.Pair.Challenge == dissect.ChallengeIssued && len(c.given) > 0 {
		k := challengeOf(r.Protocol, r.Dst.Addr(), r.Src.Addr(), r.Pair.Value)
		if _, wanted := c.given[k]; wanted {
			c.given[k] = r.Frame
		}
	}
	return nil
}

// Finding adds the ICMP error about a kept message.
func (c *completer) Finding(f *dissect.FlowFinding) error {
	if f.ICMPFrame == 0 {
		return nil
	}
	if _, about := c.replies[Flow{f.Src, f.Dst}]; about || c.frames.has(f.Frame) {
		c.frames.add(f.ICMPFrame)
	}
	return nil
}

// complete adds dependencies until there are no new ones.
func (c *cutter) complete() error {
	for {
		for k := range c.given {
			c.given[k] = 0
		}
		pass := completer{cutter: c, replies: make(map[Flow]struct{})}
		frames := c.frames.n
		c.notes.reset()
		if err := c.dissect(c.o.In, &pass); err != nil {
			return err
		}
		if !pass.news && c.frames.n == frames {
			return nil
		}
	}
}

// takeFlows adds frames that are not messages: those chosen by number or flow, and
// those of findings about incomplete data.
func (c *cutter) takeFlows() error {
	u := rules{flows: c.o.Flows, in: c.in, all: c.all}
	// A finding about a message, such as an unanswered request, adds that message.
	if c.findings.n > 0 {
		if err := c.dissect(c.o.In, &findingTaker{cutter: c}); err != nil {
			return err
		}
	}
	if c.findings.n > 0 {
		if err := c.dissect(c.o.In, &lossTaker{chooser: c.chooser(), rules: &u}); err != nil {
			return err
		}
	}
	if u.empty() && len(c.o.Frames) == 0 {
		return nil
	}
	return c.scan(&u, &c.findings)
}

// A findingTaker chooses the messages that findings are about.
type findingTaker struct {
	nothing
	*cutter
}

func (t *findingTaker) Record(r *dissect.Record) error {
	if t.findings.has(r.Frame) {
		t.findings.remove(r.Frame)
		t.choose(r)
	}
	return nil
}

// A lossTaker chooses the datagrams that the other findings are about.
type lossTaker struct {
	chooser
	rules *rules
}

func (t *lossTaker) Record(*dissect.Record) error   { return nil }
func (t *lossTaker) Unknown(*dissect.Unknown) error { return nil }

func (t *lossTaker) Finding(f *dissect.FlowFinding) error {
	if !t.findings.has(f.Frame) {
		return nil
	}
	if !t.matcher.Finding(f) {
		return nil
	}
	// The frame is the first of an incomplete set. Reassembly waits this long for the
	// others.
	if f.ICMPFrame > 0 { // it is about earlier datagrams
		t.rules.until(Flow{f.Src, f.Dst}, f.Time.Add(-dissect.DefaultLimits.Window), f.Frame)
	} else {
		t.rules.between(Flow{f.Src, f.Dst}, f.Time, f.Time.Add(dissect.DefaultLimits.Parts.Age))
	}
	t.chosen[f.Frame] = silent
	t.frames.add(f.Frame)
	return nil
}

// scan adds the frames that match the rules, and those chosen by number.
func (c *cutter) scan(u *rules, lost *frameSet) error {
	in, err := capture.Open(c.o.In)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	decoder := packet.NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, func(l *packet.Loss) {
		if u.take(l.Src, l.Dst, l.First, l.Frames[0]) || slices.ContainsFunc(l.Frames, lost.has) {
			c.keep(l.Frames[0], l.Frames)
		}
	})
	var f capture.Frame
	var d packet.Datagram
	now := time.Unix(0, 0)
	for in.Next(&f) == nil {
		if !f.Time.IsZero() {
			now = f.Time
		}
		if f.Number%256 == 0 {
			decoder.Expire(now)
		}
		if c.inFrames(f.Number) && c.in(now) {
			c.frames.add(f.Number)
			if _, chosen := c.chosen[f.Number]; !chosen {
				c.chosen[f.Number] = silent
			}
		}
		frame := packet.Frame{Number: f.Number, Time: now, LinkType: f.LinkType, Data: f.Data, Length: f.Length}
		switch o := decoder.Decode(&frame, &d); {
		case o == packet.ICMPError:
			if q, ok := decoder.Quoted(); ok && u.take(q.Src, q.Dst, now, f.Number) {
				c.frames.add(f.Number)
			}
		case o.OK() && u.take(d.Src, d.Dst, now, f.Number):
			c.keep(d.Frame, d.Frames)
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
	if err := c.notes.begin(); err != nil {
		return err
	}
	var f capture.Frame
	for left := c.frames.n; left > 0 && in.Next(&f) == nil; {
		if !c.frames.has(f.Number) {
			continue
		}
		left--
		if c.notes != nil && !slices.ContainsFunc(f.Comments, func(s string) bool { return strings.HasPrefix(s, mark) }) {
			comment := mark + strconv.FormatUint(f.Number, 10)
			said, err := c.notes.of(f.Number)
			if err != nil {
				return err
			}
			if said != "" {
				comment += ": " + said
			}
			f.Comments = append(f.Comments, comment)
		}
		if err := out.Write(&f); err != nil {
			return err
		}
	}
	return nil
}

// says returns the sum of the content of a message. It maps frame numbers to those of
// the input.
func (c *cutter) says(r *dissect.Record, original func(uint64) uint64) sum {
	m := *r
	m.Frame, m.Frames, m.Findings = original(r.Frame), nil, nil
	for _, f := range r.Frames {
		m.Frames = append(m.Frames, original(f))
	}
	if r.RequestFrame > 0 {
		m.RequestFrame = original(r.RequestFrame)
	}
	c.said.Reset()
	c.said.Record(&m)
	b := c.said.Bytes()
	for i := range r.Findings {
		if t := r.Findings[i].Type; t != dissect.PacketComment {
			b = append(append(b, ' '), t.ID...)
		}
	}
	return sumOf(b)
}

// A comparer checks the chosen messages in the output.
type comparer struct {
	nothing
	*cutter
	list []uint64
	same frameSet
}

func (p *comparer) Record(r *dissect.Record) error {
	original := func(f uint64) uint64 {
		if f < 1 || f > uint64(len(p.list)) {
			return 0
		}
		return p.list[f-1]
	}
	at := original(r.Frame)
	if said := p.chosen[at]; said != silent && said == p.says(r, original) {
		p.same.add(at)
	}
	return nil
}

// compare returns the frames of the chosen messages that differ in the output.
func (c *cutter) compare(name string) (changed []uint64, err error) {
	p := comparer{cutter: c, list: c.frames.list()}
	trouble := c.result.Trouble
	if err := c.dissect(name, &p); err != nil {
		return nil, err
	}
	c.result.Trouble = trouble
	for f, said := range c.chosen {
		if said != silent && !p.same.has(f) {
			changed = append(changed, f)
		}
	}
	slices.Sort(changed)
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
	t := talkTaker{cutter: c, level: l, rules: rules{anyPort: l.anyPort}}
	for _, f := range changed {
		t.changed.add(f)
	}
	if err := c.dissect(c.o.In, &t); err != nil {
		return err
	}
	if err := c.scan(&t.rules, new(frameSet)); err != nil {
		return err
	}
	return c.complete()
}

// A talkTaker builds the rules for the conversations of changed messages.
type talkTaker struct {
	nothing
	*cutter
	level
	changed frameSet
	rules   rules
}

func (t *talkTaker) Record(r *dissect.Record) error {
	if !t.changed.has(r.Frame) {
		return nil
	}
	flow, from := Flow{r.Src, r.Dst}, time.Time{}
	if !t.allBefore {
		from = r.Time.Add(-dissect.DefaultLimits.Window)
	}
	if t.after {
		t.rules.between(flow, from, r.Time.Add(dissect.DefaultLimits.Window))
	} else {
		t.rules.until(flow, from, r.Frame)
	}
	return nil
}
