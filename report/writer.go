package report

import (
	"io"

	"github.com/qdissect/qdissect/dissect"
)

// A Writer is a [dissect.Handler] that formats events with a [Reporter] and writes
// the output. After an error it ignores further events.
type Writer struct {
	w   io.Writer
	r   Reporter
	err error
}

// NewWriter returns a handler that writes the output of r to w.
func NewWriter(w io.Writer, r Reporter) *Writer { return &Writer{w: w, r: r} }

// Begin starts a capture.
func (w *Writer) Begin(c Capture) { w.do(func() error { return w.r.Begin(c) }) }

// Record writes a message.
func (w *Writer) Record(r *dissect.Record) { w.do(func() error { return w.r.Record(r) }) }

// Exchange does nothing: what became of a request is said of its messages and in findings.
func (w *Writer) Exchange(*dissect.Exchange) {}

// Unknown writes a datagram that no protocol recognised.
func (w *Writer) Unknown(u *dissect.Unknown) { w.do(func() error { return w.r.Unknown(u) }) }

// Finding writes a finding that belongs to no single message.
func (w *Writer) Finding(f *dissect.FlowFinding) { w.do(func() error { return w.r.Finding(f) }) }

// End writes the end of the output and returns the first error.
func (w *Writer) End(s *Summary) error {
	w.do(func() error { return w.r.End(s) })
	return w.err
}

// Err returns the first error of the Reporter or of the io.Writer.
func (w *Writer) Err() error { return w.err }

func (w *Writer) do(event func() error) {
	if w.err != nil {
		return
	}
	if w.err = event(); w.err == nil {
		_, w.err = w.w.Write(w.r.Bytes())
	}
	w.r.Reset()
}
