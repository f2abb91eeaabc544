// Package report formats the events of an analyzer, one file per output format.
//
// A reporter takes one stream of events: the start of each capture, messages,
// findings and unknown datagrams in order, and a summary at the end. It appends text
// to a buffer, which the caller writes: several reporters can format parts of one
// output at the same time.
package report

import (
	"io"
	"maps"
	"slices"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

// A Reporter writes one output format. Its output for an event depends only on the
// event and on the current capture, so that the output is the same however the
// work is distributed. After an error the caller stops. [Writer] connects a
// Reporter to an analyzer.
type Reporter interface {
	// Begin starts a capture.
	Begin(Capture) error
	// Record, Unknown and Finding take the events of a [dissect.Handler].
	Record(*dissect.Record) error
	Unknown(*dissect.Unknown) error
	Finding(*dissect.FlowFinding) error
	// End ends the output with the summary of the run.
	End(*Summary) error
	// Bytes returns the output since the last Reset. It is borrowed.
	Bytes() []byte
	// Reset empties the buffer.
	Reset()
}

// A Capture is one input.
type Capture struct {
	// File is its name as the user wrote it.
	File string
	// LinkType is the name of its first link type, "" if it has none.
	LinkType string
	// Start is the time of its first frame, from which relative times count.
	Start time.Time
	// Number counts the inputs of a run, from 0.
	Number int
	// FirstFrame is the number of its first frame if frames are numbered across
	// several inputs, 0 if it is 1.
	FirstFrame uint64
}

// A Summary counts a whole run.
type Summary struct {
	// Inputs counts the captures.
	Inputs int
	// Packets and Bytes count the frames read and what they hold.
	Packets, Bytes uint64
	// Datagrams counts UDP payloads after fragments were joined.
	Datagrams uint64
	// Protocols and Messages are parallel.
	Protocols []*dissect.Protocol
	Messages  []uint64
	// Ambiguous counts those of Messages that may belong to other protocols.
	Ambiguous map[dissect.Ambiguous]uint64
	Unknown   uint64
	// GameTraffic counts those of Unknown that were sent from or to an endpoint that
	// answered a request: all, or with GameTrafficLeast so many at least, because there
	// were too many endpoints.
	GameTraffic      uint64
	GameTrafficLeast bool
	Malformed        uint64
	// Panics counts datagrams whose decoder panicked.
	Panics uint64
	// Complete and Incomplete count sets of parts and of IP fragments.
	Complete, Incomplete uint64
	// Drops is Lost and Evicted together.
	Drops uint64
	// Live says that the packets came from an interface. Received are the packets
	// that the kernel counted, Lost those that it dropped.
	Live           bool
	Received, Lost uint64
	// Evicted counts evicted state and discarded IP fragments.
	Evicted uint64
	// EvictedState and EvictedFragments are the parts of Evicted. EvictedSeconds are
	// the newest seconds with evicted state, in the order of time.
	EvictedState     core.Evictions
	EvictedFragments uint64
	EvictedSeconds   []core.Evictions
	// First and Last are the times of the first and the last packet, zero if
	// there was none.
	First, Last time.Time

	Requests, Replies, Unanswered uint64
	// ICMP counts the ICMP errors about datagrams, ICMPMatched those about known
	// conversations.
	ICMP, ICMPMatched uint64
	// Outcomes counts the requests by outcome.
	Outcomes dissect.Outcomes
	// AmbiguousReplies counts the replies whose round trip is not known, because the
	// request was repeated.
	AmbiguousReplies uint64
	// OneSided counts the captures that hold only one direction.
	OneSided int
	// Duplicates counts duplicate datagrams. MostlyDuplicates says that most
	// datagrams were duplicated.
	Duplicates       uint64
	MostlyDuplicates bool
	// Findings counts by severity.
	Findings [4]uint64
	// RoundTrips are the times to the first part of replies, by protocol in
	// the order of Protocols.
	RoundTrips []RoundTrips
	// Chosen says that messages, requests, replies, findings and round trips are only
	// those that a filter chose.
	Chosen bool
	// Unread describes the packets that are not dissected.
	Unread Unread
	// Streams are the TCP connections to servers.
	Streams []Stream
	// Tally has detailed counts if they were requested.
	Tally Tally
}

// Since returns the difference to an earlier summary of the same run. The shortest
// and the longest round trip remain those of the whole run.
func (s *Summary) Since(o *Summary) Summary {
	d := *s
	d.Inputs -= o.Inputs
	d.OneSided -= o.OneSided
	for _, n := range []struct {
		of *uint64
		by uint64
	}{
		{&d.Packets, o.Packets}, {&d.Bytes, o.Bytes}, {&d.Datagrams, o.Datagrams}, {&d.Unknown, o.Unknown}, {&d.Malformed, o.Malformed}, {&d.Panics, o.Panics},
		{&d.Complete, o.Complete}, {&d.Incomplete, o.Incomplete}, {&d.Drops, o.Drops}, {&d.Received, o.Received}, {&d.Lost, o.Lost},
		{&d.Evicted, o.Evicted}, {&d.Requests, o.Requests}, {&d.Replies, o.Replies}, {&d.Unanswered, o.Unanswered},
		{&d.AmbiguousReplies, o.AmbiguousReplies}, {&d.ICMP, o.ICMP}, {&d.ICMPMatched, o.ICMPMatched},
		{&d.Duplicates, o.Duplicates},
	} {
		*n.of -= n.by
	}
	d.GameTraffic -= min(d.GameTraffic, o.GameTraffic) // what is counted late can grow less than it shrinks
	d.EvictedFragments -= o.EvictedFragments
	d.EvictedState = s.EvictedState.Since(&o.EvictedState)
	d.EvictedSeconds = nil
	for _, e := range s.EvictedSeconds {
		for i := range o.EvictedSeconds {
			if p := &o.EvictedSeconds[i]; p.Second == e.Second {
				e = e.Since(p)
			}
		}
		if e.Sum() > 0 {
			d.EvictedSeconds = append(d.EvictedSeconds, e)
		}
	}
	for i, n := range o.Outcomes {
		d.Outcomes[i] -= n
	}
	d.Messages = slices.Clone(s.Messages)
	for i, n := range o.Messages {
		d.Messages[i] -= n
	}
	d.Ambiguous = maps.Clone(s.Ambiguous)
	for k, n := range o.Ambiguous {
		d.Ambiguous[k] -= n
	}
	for i, n := range o.Findings {
		d.Findings[i] -= n
	}
	d.RoundTrips = slices.Clone(s.RoundTrips)
	for i := range o.RoundTrips {
		r, by := &d.RoundTrips[i], &o.RoundTrips[i]
		r.Count -= by.Count
		r.Sum -= by.Sum
		for k, n := range by.Buckets {
			r.Buckets[k] -= n
		}
	}
	return d
}

// RoundTrips are the shortest, the mean and the longest time from a request to
// the first part of its reply.
type RoundTrips struct {
	Count         uint64
	Min, Max, Sum time.Duration
	// Buckets counts those up to each of RoundTripBounds and above the one
	// before.
	Buckets [len(RoundTripBounds)]uint64
}

// RoundTripBounds are the bounds of the histogram of round trips: from a
// server in the next room to a query that is about to time out.
var RoundTripBounds = [...]time.Duration{
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second,
}

// Merge adds the round trips of o.
func (r *RoundTrips) Merge(o *RoundTrips) {
	if o.Count == 0 {
		return
	}
	if r.Count == 0 || o.Min < r.Min {
		r.Min = o.Min
	}
	r.Max = max(r.Max, o.Max)
	r.Count += o.Count
	r.Sum += o.Sum
	for i, n := range o.Buckets {
		r.Buckets[i] += n
	}
}

// Add adds a round trip.
func (r *RoundTrips) Add(d time.Duration) {
	if r.Count == 0 || d < r.Min {
		r.Min = d
	}
	r.Max = max(r.Max, d)
	r.Count++
	r.Sum += d
	for i := range RoundTripBounds {
		if d <= RoundTripBounds[i] {
			r.Buckets[i]++
			break
		}
	}
}

// out is an output buffer.
type out struct{ buf []byte }

// Bytes returns the output since the last Reset.
func (o *out) Bytes() []byte { return o.buf }

// Reset empties the buffer.
func (o *out) Reset() { o.buf = o.buf[:0] }

// grow doubles the buffer if it is nearly full. append leaves several smaller ones for
// the garbage collector.
func (o *out) grow() {
	const mostly = 4 << 10 // bytes of a message
	if cap(o.buf)-len(o.buf) < mostly {
		o.buf = slices.Grow(o.buf, max(len(o.buf), mostly))
	}
}

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
