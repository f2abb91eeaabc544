// Package cut makes the smallest capture that still shows something: the frames
// of chosen messages, and those without which they would not be dissected as
// they were.
//
// A message brings all frames that carried it, parts and IP fragments; a reply
// its request, a request its replies; a request with a challenge what gave the
// challenge. What is cut out is dissected again. Where a message then is another
// one, because it was known by what its conversation had said before, more of
// the conversation is taken, until all are the same.
package cut

import (
	"crypto/sha256"
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

// Options say what to cut out of what.
type Options struct {
	// In is the name of a file: it is read several times.
	In string
	// Out is the name of the file to be written. It is there only if Run
	// returns no error and something was chosen.
	Out string
	// What is chosen is what one of these chooses.
	Filter *display.Filter // nil chooses nothing
	Frames []Range
	Flows  []Flow
	// Comments says in comments which frame each was and what it holds.
	Comments bool
	// Analysis configures the dissection.
	Analysis dissect.Config
}

// A Range is frames by their numbers, first and last.
type Range struct{ From, To uint64 }

// ParseFrames reads a list of frames: 3,5-9.
func ParseFrames(s string) (list []Range, err error) {
	for part := range strings.SplitSeq(s, ",") {
		from, to, two := strings.Cut(strings.TrimSpace(part), "-")
		if !two {
			to = from
		}
		a, err := strconv.ParseUint(from, 10, 63)
		b, err2 := strconv.ParseUint(to, 10, 63)
		if err != nil || err2 != nil || a == 0 || a > b {
			return nil, fmt.Errorf("%q is no list of frames such as 3,5-9", s)
		}
		list = append(list, Range{a, b})
	}
	return list, nil
}

// A Flow is all datagrams of an address and port, or between two of them.
type Flow struct{ A, B netip.AddrPort }

// ParseFlow reads ADDR:PORT or ADDR:PORT-ADDR:PORT.
func ParseFlow(s string) (f Flow, err error) {
	a, b, two := strings.Cut(s, "-")
	if f.A, err = netip.ParseAddrPort(strings.TrimSpace(a)); err == nil && two {
		f.B, err = netip.ParseAddrPort(strings.TrimSpace(b))
	}
	if err != nil {
		return f, fmt.Errorf("%q is no flow such as 192.0.2.1:27015 or 192.0.2.1:27015-198.51.100.7:50000", s)
	}
	return f, nil
}

func (f *Flow) holds(src, dst netip.AddrPort) bool {
	if !f.B.IsValid() {
		return src == f.A || dst == f.A
	}
	return src == f.A && dst == f.B || src == f.B && dst == f.A
}

// Result says what was done.
type Result struct {
	// Chosen is how many messages and other datagrams were chosen.
	Chosen int
	// Frames is how many frames were written, of All that were read.
	Frames, All uint64
	// Added is how many frames were added so that the messages stay what
	// they are.
	Added int
	// Changed are the frames of the messages that are others all the same.
	Changed []uint64
	// Trouble is why the input could not be read to its end.
	Trouble error
}

// chosen is a message that was chosen, and what it must say after the cut.
type chosen struct {
	src, dst netip.AddrPort
	time     time.Time
	says     string
}

// challenge is one that a server gave to a client.
type challenge struct {
	protocol       *dissect.Protocol
	client, server netip.Addr
	value          uint64
}

type cutter struct {
	o      *Options
	result Result
	// frames are those to be written.
	frames map[uint64]bool
	// chosen are the messages, by the frame that completed them.
	chosen map[uint64]*chosen
	// requests are frames of requests that replies need, repliesOf those whose
	// replies are wanted.
	requests, repliesOf map[uint64]bool
	// given are the challenges that are needed, with the frame that gave each
	// last.
	given map[challenge]uint64
	need  map[uint64]bool // frames that gave a challenge that is needed
	notes map[uint64]string
	// findings are chosen findings that may belong to no message.
	findings []dissect.FlowFinding
}

// Run cuts.
func Run(o Options) (Result, error) {
	c := &cutter{
		o: &o, frames: make(map[uint64]bool), chosen: make(map[uint64]*chosen), requests: make(map[uint64]bool),
		repliesOf: make(map[uint64]bool), given: make(map[challenge]uint64), need: make(map[uint64]bool),
		notes: make(map[uint64]string),
	}
	err := c.run()
	c.result.Chosen, c.result.Frames = len(c.chosen), uint64(len(c.frames))
	return c.result, err
}

func (c *cutter) run() error {
	if err := c.dissect(c.o.In, &chooser{cutter: c}); err != nil {
		return err
	}
	if err := c.takeFlows(); err != nil {
		return err
	}
	if len(c.frames) == 0 {
		return nil
	}
	if err := c.complete(); err != nil {
		return err
	}
	// The file gets its name when it is whole.
	dir, base := filepath.Split(c.o.Out)
	f, err := os.CreateTemp(dir, ".cut-*-"+base)
	if err != nil {
		return err
	}
	f.Close()
	defer os.Remove(f.Name())
	before := len(c.frames)
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
	c.result.Added = len(c.frames) - before
	if err := os.Chmod(f.Name(), 0o644); err != nil {
		return err
	}
	return os.Rename(f.Name(), c.o.Out)
}

// dissect hands all that a capture says to r.
func (c *cutter) dissect(name string, r report.Reporter) error {
	a := c.o.Analysis
	a.Tree = true
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

// nothing is a reporter that writes nothing.
type nothing struct{}

func (nothing) Record(*dissect.Record)       {}
func (nothing) Unknown(*dissect.Unknown)     {}
func (nothing) Finding(*dissect.FlowFinding) {}
func (nothing) Begin(report.Capture)         {}
func (nothing) End(*report.Summary)          {}
func (nothing) Bytes() []byte                { return nil }
func (nothing) Reset()                       {}

// chooser chooses messages.
type chooser struct {
	nothing
	*cutter
	json report.JSON
}

func (c *chooser) match() bool {
	ok := c.o.Filter.Match(c.json.Bytes())
	c.json.Reset()
	return ok
}

func (c *cutter) inFrames(frames ...uint64) bool {
	return slices.ContainsFunc(c.o.Frames, func(r Range) bool {
		return slices.ContainsFunc(frames, func(f uint64) bool { return f >= r.From && f <= r.To })
	})
}

func (c *cutter) inFlows(src, dst netip.AddrPort) bool {
	return slices.ContainsFunc(c.o.Flows, func(f Flow) bool { return f.holds(src, dst) })
}

func (c *chooser) Record(r *dissect.Record) {
	ok := c.inFrames(r.Frame) || c.inFrames(r.Frames...) || c.inFlows(r.Src, r.Dst)
	if !ok && c.o.Filter != nil {
		c.json.Record(r)
		ok = c.match()
	}
	if !ok {
		return
	}
	c.choose(r)
}

// choose takes a message that is to be shown.
func (c *cutter) choose(r *dissect.Record) {
	c.chosen[r.Frame] = &chosen{r.Src, r.Dst, r.Time, says(r, func(f uint64) uint64 { return f })}
	if r.Type.Role == dissect.Request {
		c.repliesOf[r.Frame] = true
	}
	c.take(r)
}

func (c *chooser) Unknown(u *dissect.Unknown) {
	ok := c.inFrames(u.Frame) || c.inFrames(u.Frames...) || c.inFlows(u.Src, u.Dst)
	if !ok && c.o.Filter != nil {
		c.json.Unknown(u)
		ok = c.match()
	}
	if ok {
		c.chosen[u.Frame] = &chosen{u.Src, u.Dst, u.Time, ""}
		c.keep(u.Frame, u.Frames)
	}
}

func (c *chooser) Finding(f *dissect.FlowFinding) {
	if c.o.Filter == nil {
		return
	}
	if c.json.Finding(f); c.match() {
		c.findings = append(c.findings, dissect.FlowFinding{Frame: f.Frame, Time: f.Time, Src: f.Src, Dst: f.Dst})
	}
}

// keep takes frames.
func (c *cutter) keep(frame uint64, frames []uint64) {
	c.frames[frame] = true
	for _, f := range frames {
		c.frames[f] = true
	}
}

// take takes a message, and notes what it needs. It reports whether that is
// news.
func (c *cutter) take(r *dissect.Record) (news bool) {
	c.keep(r.Frame, r.Frames)
	if r.RequestFrame > 0 && !c.requests[r.RequestFrame] {
		c.requests[r.RequestFrame] = true
		news = true
	}
	if r.Pair.Challenge == dissect.ChallengeUsed {
		k := challenge{r.Protocol, r.Src.Addr(), r.Dst.Addr(), r.Pair.Value}
		at, known := c.given[k]
		if !known {
			c.given[k] = 0
			news = true
		} else if at > 0 && !c.need[at] {
			c.need[at] = true
			news = true
		}
	}
	return news
}

// completer takes what chosen messages need.
type completer struct {
	nothing
	*cutter
	news bool
}

func (c *completer) Record(r *dissect.Record) {
	switch {
	case c.chosen[r.Frame] != nil, c.requests[r.Frame], c.need[r.Frame], r.RequestFrame > 0 && c.repliesOf[r.RequestFrame]:
		if c.take(r) {
			c.news = true
		}
	}
	if c.o.Comments && c.frames[r.Frame] {
		const most = 1000
		text := report.AppendNote(nil, r)
		c.notes[r.Frame] = strings.ToValidUTF8(string(text[:min(len(text), most)]), "")
	}
	if r.Pair.Challenge == dissect.ChallengeIssued {
		k := challenge{r.Protocol, r.Dst.Addr(), r.Src.Addr(), r.Pair.Value}
		if _, wanted := c.given[k]; wanted {
			c.given[k] = r.Frame
		}
	}
}

// complete takes what chosen messages need, and what that needs, and so on.
func (c *cutter) complete() error {
	for {
		for k := range c.given {
			c.given[k] = 0
		}
		pass := completer{cutter: c}
		frames := len(c.frames)
		if err := c.dissect(c.o.In, &pass); err != nil {
			return err
		}
		if !pass.news && len(c.frames) == frames {
			return nil
		}
	}
}

// A rule takes datagrams that are no messages: of a flow, in a time.
type rule struct {
	flow     Flow
	anyPort  bool
	from, to time.Time
	last     uint64 // frame
}

func (u *rule) holds(src, dst netip.AddrPort, at time.Time, frame uint64) bool {
	if at.Before(u.from) || u.last > 0 && frame > u.last || !u.to.IsZero() && at.After(u.to) {
		return false
	}
	if u.anyPort {
		a, b := u.flow.A.Addr(), u.flow.B.Addr()
		return src.Addr() == a && dst.Addr() == b || src.Addr() == b && dst.Addr() == a
	}
	return u.flow.holds(src, dst)
}

// takeFlows takes the frames that are no messages: those that were named by
// number or flow, and those of findings about what stayed incomplete.
func (c *cutter) takeFlows() error {
	var rules []rule
	for _, f := range c.o.Flows {
		rules = append(rules, rule{flow: f})
	}
	for _, f := range c.findings {
		// Where the frame has no message it is the first of several that make
		// none; reassembly waits for the others this long.
		rules = append(rules, rule{flow: Flow{f.Src, f.Dst}, from: f.Time, to: f.Time.Add(dissect.DefaultLimits.Parts.Age)})
	}
	want := make(map[uint64]bool)
	for _, f := range c.findings {
		want[f.Frame] = true
	}
	if len(want) > 0 {
		// A finding about a message, an unanswered request for example, is
		// shown by that message.
		if err := c.dissect(c.o.In, &findingTaker{cutter: c, want: want}); err != nil {
			return err
		}
		kept := rules[:len(c.o.Flows)]
		for i, f := range c.findings {
			if want[f.Frame] {
				kept = append(kept, rules[len(c.o.Flows)+i])
				c.chosen[f.Frame] = &chosen{f.Src, f.Dst, f.Time, ""}
				c.frames[f.Frame] = true
			}
		}
		rules = kept
	}
	if len(rules) == 0 && len(c.o.Frames) == 0 {
		return nil
	}
	return c.scan(rules, want)
}

// findingTaker chooses the messages that findings are about.
type findingTaker struct {
	nothing
	*cutter
	want map[uint64]bool
}

func (t *findingTaker) Record(r *dissect.Record) {
	if t.want[r.Frame] {
		delete(t.want, r.Frame)
		t.choose(r)
	}
}

// scan takes the frames that rules name, and those that the user named.
func (c *cutter) scan(rules []rule, lost map[uint64]bool) error {
	in, err := capture.Open(c.o.In)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	taken := func(src, dst netip.AddrPort, at time.Time, frame uint64) bool {
		return slices.ContainsFunc(rules, func(u rule) bool { return u.holds(src, dst, at, frame) })
	}
	decoder := packet.NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, func(l *packet.Loss) {
		if taken(l.Src, l.Dst, l.First, l.Frames[0]) || slices.ContainsFunc(l.Frames, func(f uint64) bool { return lost[f] }) {
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
		if c.inFrames(f.Number) {
			c.frames[f.Number] = true
			if c.chosen[f.Number] == nil {
				c.chosen[f.Number] = &chosen{time: now}
			}
		}
		frame := packet.Frame{Number: f.Number, Time: now, LinkType: f.LinkType, Data: f.Data, Length: f.Length}
		if decoder.Decode(&frame, &d).OK() && taken(d.Src, d.Dst, now, f.Number) {
			c.keep(d.Frame, d.Frames)
		}
	}
	decoder.Flush()
	return nil
}

// list returns the frames in order.
func (c *cutter) list() []uint64 {
	list := make([]uint64, 0, len(c.frames))
	for f := range c.frames {
		list = append(list, f)
	}
	slices.Sort(list)
	return list
}

// mark begins the comments that are added, so that they are not added twice.
const mark = "cut: frame "

// write writes the frames that are kept.
func (c *cutter) write(name string) (err error) {
	in, err := capture.Open(c.o.In)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	out, err := capture.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	var f capture.Frame
	for left := len(c.frames); left > 0 && in.Next(&f) == nil; {
		if !c.frames[f.Number] {
			continue
		}
		left--
		if c.o.Comments && !slices.ContainsFunc(f.Comments, func(s string) bool { return strings.HasPrefix(s, mark) }) {
			comment := mark + strconv.FormatUint(f.Number, 10)
			if s := c.notes[f.Number]; s != "" {
				comment += ": " + s
			}
			f.Comments = append(f.Comments, comment)
		}
		if err := out.Write(&f); err != nil {
			return err
		}
	}
	return nil
}

// says returns a hash of all that is said of a message but for the numbers of frames,
// which original makes those of the input.
func says(r *dissect.Record, original func(uint64) uint64) string {
	c := *r
	c.Frame, c.Frames, c.Findings = original(r.Frame), nil, nil
	for _, f := range r.Frames {
		c.Frames = append(c.Frames, original(f))
	}
	if r.RequestFrame > 0 {
		c.RequestFrame = original(r.RequestFrame)
	}
	var j report.JSON
	j.Record(&c)
	b := j.Bytes()
	for i := range r.Findings {
		if t := r.Findings[i].Type; t != dissect.PacketComment {
			b = append(append(b, ' '), t.ID...)
		}
	}
	sum := sha256.Sum256(b)
	return string(sum[:])
}

// comparer finds the chosen messages in what was written.
type comparer struct {
	nothing
	*cutter
	list []uint64
	same map[uint64]bool
}

func (p *comparer) Record(r *dissect.Record) {
	original := func(f uint64) uint64 {
		if f < 1 || f > uint64(len(p.list)) {
			return 0
		}
		return p.list[f-1]
	}
	at := original(r.Frame)
	if m := p.chosen[at]; m != nil && m.says == says(r, original) {
		p.same[at] = true
	}
}

// compare returns the frames of the chosen messages that are others now.
func (c *cutter) compare(name string) (changed []uint64, err error) {
	p := comparer{cutter: c, list: c.list(), same: make(map[uint64]bool)}
	trouble := c.result.Trouble
	if err := c.dissect(name, &p); err != nil {
		return nil, err
	}
	c.result.Trouble = trouble
	for f, m := range c.chosen {
		if m.says != "" && !p.same[f] {
			changed = append(changed, f)
		}
	}
	slices.Sort(changed)
	return changed, nil
}

// A level is how much more of a conversation is taken: from when on, until when,
// and of which ports.
type level struct{ allBefore, after, anyPort bool }

// levels are taken step by step. What came later can matter as well: it may have
// shown what protocol a message was of.
var levels = []level{{}, {after: true}, {allBefore: true, after: true}, {allBefore: true, after: true, anyPort: true}}

// more takes more of the conversations of messages that have changed.
func (c *cutter) more(changed []uint64, l level) error {
	var rules []rule
	for _, f := range changed {
		m := c.chosen[f]
		u := rule{flow: Flow{m.src, m.dst}, anyPort: l.anyPort, last: f}
		if !l.allBefore {
			u.from = m.time.Add(-dissect.DefaultLimits.Window)
		}
		if l.after {
			u.last, u.to = 0, m.time.Add(dissect.DefaultLimits.Window)
		}
		rules = append(rules, u)
	}
	if err := c.scan(rules, nil); err != nil {
		return err
	}
	return c.complete()
}
