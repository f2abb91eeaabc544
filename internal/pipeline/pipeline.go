// Package pipeline carries frames from captures through the decoders to a
// reporter: the one way of a packet through the program.
package pipeline

import (
	"io"
	"strconv"
	"time"
	"unsafe"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/reassembly"
	"github.com/qdissect/qdissect/report"
)

// Options are what a run needs to know.
type Options struct {
	// Inputs are the names of the captures, "-" for Stdin.
	Inputs []string
	Stdin  io.Reader
	// Reporter takes what is found. Run does not call its End.
	Reporter report.Reporter
	// Analysis configures the analyzer. Its Budget is set by Run.
	Analysis dissect.Config
	// All hands datagrams that nothing recognised to the reporter.
	All bool
	// Count is the number of messages after which to stop, 0 for no end.
	Count uint64
	// Trouble is told of inputs that cannot be read, or not to their end. The
	// run goes on with the next one.
	Trouble func(error)
	// Progress is called now and then; nil if nobody wants to know.
	Progress func(packets, bytes, messages uint64)
}

// A sweep looks at what waits too long. It comes before a frame: before every
// 256th, and before one that is a second later than the last sweep, so that
// what it finds stands where it became true, wherever the work is done.
const (
	sweepFrames = 256
	sweepTime   = time.Second
)

// Run dissects all inputs, one after the other. Each begins with empty state.
func Run(o Options) (*report.Summary, error) {
	sum := &report.Summary{
		Protocols:  o.Analysis.Protocols,
		Messages:   make([]uint64, len(o.Analysis.Protocols)),
		RoundTrips: make([]report.RoundTrips, len(o.Analysis.Protocols)),
	}
	for _, name := range o.Inputs {
		done, err := runInput(name, &o, sum)
		if err != nil {
			return nil, err
		}
		if done {
			break
		}
	}
	return sum, nil
}

// runInput dissects one input. It reports whether enough has been seen. The
// error is that of the program or of the output; trouble with the input is told.
func runInput(name string, o *Options, sum *report.Summary) (done bool, err error) {
	var src *capture.Reader
	if name == "-" {
		src, err = capture.NewReader(o.Stdin, "standard input")
	} else {
		src, err = capture.Open(name)
	}
	if err != nil {
		o.Trouble(err)
		return false, nil
	}
	defer src.Close()
	c := report.Capture{File: name}
	if link, ok := src.LinkType(); ok {
		c.LinkType = capture.LinkTypeName(link)
	}
	o.Reporter.Begin(c)
	w, err := newWorker(o, sum)
	if err != nil {
		return false, err
	}
	var f capture.Frame
	for {
		if err = src.Next(&f); err != nil {
			break
		}
		w.frame(&f)
		if o.Progress != nil && f.Number%(sweepFrames*64) == 0 {
			o.Progress(sum.Packets, sum.Bytes, w.messages)
		}
		if o.Count > 0 && w.messages >= o.Count {
			w.account()
			return true, nil
		}
	}
	w.flush()
	w.account()
	if err != io.EOF {
		o.Trouble(err)
	}
	return false, nil
}

// worker is the state of the analysis of one input.
type worker struct {
	o        *Options
	sum      *report.Summary
	decoder  *packet.Decoder
	analyzer *dissect.Analyzer
	raw      packet.Frame
	in       packet.Datagram
	out      dissect.Datagram
	now      time.Time
	swept    time.Time // time of the last sweep
	earlier  uint64    // messages of inputs before
	messages uint64
	losses   uint64
	text     []byte
	told     dissect.FlowFinding
}

func newWorker(o *Options, sum *report.Summary) (*worker, error) {
	w := &worker{o: o, sum: sum, now: time.Unix(0, 0).UTC()}
	for _, n := range sum.Messages {
		w.messages += n
	}
	config := o.Analysis
	config.Budget = reassembly.NewBudget(0)
	var err error
	if w.analyzer, err = dissect.New(config, w); err != nil {
		return nil, err
	}
	w.decoder = packet.NewDecoder(config.Budget, reassembly.Limits{}, w.lost)
	return w, nil
}

func (w *worker) frame(f *capture.Frame) {
	w.sum.Packets++
	w.sum.Bytes += uint64(len(f.Data))
	if !f.Time.IsZero() { // simple packet blocks have no time: as late as the one before
		w.now = f.Time
		if w.sum.First.IsZero() {
			w.sum.First = f.Time
		}
		w.sum.Last = f.Time
		if t, ok := w.o.Reporter.(interface{ SetStart(time.Time) }); ok && f.Number == 1 {
			t.SetStart(f.Time)
		}
	}
	if past := w.now.Sub(w.swept); f.Number%sweepFrames == 0 || past >= sweepTime || past < 0 {
		w.swept = w.now
		w.advance()
	}
	w.raw = packet.Frame{Number: f.Number, Time: w.now, LinkType: f.LinkType, Data: f.Data, Length: f.Length}
	if !w.decoder.Decode(&w.raw, &w.in).OK() {
		return
	}
	in := &w.in
	w.out = dissect.Datagram{
		Frame: in.Frame, Frames: in.Frames, Time: in.Time, First: in.First, Src: in.Src, Dst: in.Dst,
		Payload: in.Payload, Missing: in.Missing, Findings: w.out.Findings[:0],
	}
	w.findings(f.Comments)
	w.analyzer.Datagram(&w.out)
}

// findings turns what the layers below noticed into findings.
func (w *worker) findings(comments []string) {
	in := &w.in
	add := func(f dissect.Finding) { w.out.Findings = append(w.out.Findings, f) }
	for _, c := range comments {
		add(dissect.NewFinding(dissect.PacketComment, dissect.Str(c)))
	}
	w.text = w.text[:0]
	if vlans := in.VLANs(); len(vlans) > 0 {
		for i, v := range vlans {
			if i > 0 {
				w.text = append(w.text, '.')
			}
			w.text = strconv.AppendUint(w.text, uint64(v), 10)
		}
		add(dissect.NewFinding(dissect.Tagged, dissect.Str(view(w.text))))
	}
	if tunnels := in.Tunnels(); len(tunnels) > 0 {
		start := len(w.text)
		for i, t := range tunnels {
			if i > 0 {
				w.text = append(w.text, ", "...)
			}
			w.text = append(w.text, t.String()...)
		}
		if src, dst, ok := in.Outer(); ok {
			w.text = append(w.text, " from "...)
			w.text = src.AppendTo(w.text)
			w.text = append(w.text, " to "...)
			w.text = dst.AppendTo(w.text)
		}
		add(dissect.NewFinding(dissect.Tunnelled, dissect.Str(view(w.text[start:]))))
	}
	for _, a := range in.Anomalies() {
		said, have := dissect.Num(a.Said), dissect.Num(a.Have)
		switch a.Kind {
		case packet.IPLengthZero, packet.IPLengthBeyond:
			add(dissect.NewFinding(dissect.IPLength, said, have))
		case packet.UDPLengthZero, packet.UDPLengthShort, packet.UDPLengthBeyond, packet.UDPLengthFour:
			add(dissect.NewFinding(dissect.UDPLength, said, have))
		case packet.UDPSurplus:
			add(dissect.NewFinding(dissect.UDPSurplus, said, have))
		case packet.FragmentsDuplicated:
			add(dissect.NewFinding(dissect.FragmentsDuplicate, have))
		case packet.FragmentsOverlap:
			add(dissect.NewFinding(dissect.FragmentsOverlap, have))
		case packet.FragmentsConflict:
			add(dissect.NewFinding(dissect.FragmentsConflict, have))
		case packet.FragmentsReordered:
			add(dissect.NewFinding(dissect.FragmentsReordered))
		case packet.FragmentsChecksum:
			add(dissect.NewFinding(dissect.FragmentsChecksum, said, have))
		}
	}
}

func (w *worker) advance() {
	w.decoder.Expire(w.now)
	w.analyzer.Advance(w.now)
}

func (w *worker) flush() {
	w.advance()
	w.decoder.Flush()
	w.analyzer.Flush()
}

// account adds the counts of this input to the summary.
func (w *worker) account() {
	s := w.analyzer.Stats()
	c := w.decoder.Counts()
	w.sum.Datagrams += s.Datagrams
	w.sum.Unknown += s.Unknown
	w.sum.Malformed += s.Malformed
	w.sum.Complete += s.Complete + c[packet.Joined]
	w.sum.Incomplete += s.Incomplete + w.losses
	w.sum.Drops += s.FlowsEvicted + s.RequestsEvicted
	w.sum.Requests += s.Requests
	w.sum.Replies += s.Replies
	w.sum.Unanswered += s.Unanswered
	for i, n := range s.ByProtocol {
		w.sum.Messages[i] += n
	}
	for i, n := range s.Findings {
		w.sum.Findings[i] += n
	}
}

// Record hands a message on.
func (w *worker) Record(r *dissect.Record) {
	w.messages++
	if r.RequestFrame > 0 {
		for i, p := range w.sum.Protocols {
			if p == r.Protocol {
				w.sum.RoundTrips[i].Add(r.RTT)
			}
		}
	}
	w.o.Reporter.Record(r)
}

// Unknown hands a datagram on that nothing recognised.
func (w *worker) Unknown(u *dissect.Unknown) {
	if w.o.All {
		w.o.Reporter.Unknown(u)
	}
}

// Finding hands a finding on.
func (w *worker) Finding(f *dissect.FlowFinding) { w.o.Reporter.Finding(f) }

// Exchange hands an exchange on.
func (w *worker) Exchange(e *dissect.Exchange) { w.o.Reporter.Exchange(e) }

func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// lost reports an IP packet that stayed incomplete. A first fragment whose
// payload a protocol would take for its own is reported under its name.
func (w *worker) lost(l *packet.Loss) {
	const udp = 17
	if l.Protocol != udp {
		return
	}
	w.losses++
	b := w.text[:0]
	for i, g := range l.Missing {
		if i == 4 {
			b = append(b, ", …"...)
			break
		}
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, "bytes "...)
		b = strconv.AppendInt(b, int64(g.From), 10)
		if g.To <= g.From { // nobody knows how far
			b = append(b, " and on"...)
		} else {
			b = append(b, '-')
			b = strconv.AppendInt(b, int64(g.To-1), 10)
		}
	}
	w.text = b
	w.told = dissect.FlowFinding{
		Finding: dissect.NewFinding(dissect.FragmentsMissing, dissect.Str(view(b)), dissect.Str(l.Reason.String())),
		Frame:   l.Frames[0], Time: l.First, Src: l.Src, Dst: l.Dst,
	}
	if l.Headed {
		w.told.Protocol = w.analyzer.Recognise(l.Src, l.Dst, l.Payload)
	}
	w.sum.Findings[dissect.Failed]++
	w.o.Reporter.Finding(&w.told)
}
