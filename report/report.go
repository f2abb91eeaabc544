// Package report writes what an analyzer finds, a file per output format.
//
// A reporter takes one neutral stream of events: the beginning of each
// capture, messages, findings and unknown datagrams in order, and a summary at
// the end. It writes in large blocks; the first error of the writer beneath is
// kept and returned by Flush and End.
package report

import (
	"io"
	"time"

	"github.com/qdissect/qdissect/dissect"
)

// A Reporter writes one output format.
type Reporter interface {
	dissect.Handler
	// Begin tells that a capture begins.
	Begin(Capture)
	// End writes the summary and all that is still buffered.
	End(*Summary) error
	// Flush writes what is buffered.
	Flush() error
}

// A Capture is one input.
type Capture struct {
	// File is its name as the user gave it.
	File string
	// LinkType is the name of its first link type, "" if it has none.
	LinkType string
}

// A Summary counts a whole run.
type Summary struct {
	// Packets and Bytes count the frames read and what they hold.
	Packets, Bytes uint64
	// Datagrams counts UDP payloads after fragments were joined.
	Datagrams uint64
	// Protocols and Messages are parallel.
	Protocols []*dissect.Protocol
	Messages  []uint64
	Unknown   uint64
	Malformed uint64
	// Complete and Incomplete count sets of parts and of IP fragments.
	Complete, Incomplete uint64
	// Drops counts packets that the kernel lost (live capture) and state
	// given up under pressure.
	Drops uint64
	// First and Last are the times of the first and the last packet, zero if
	// there was none.
	First, Last time.Time

	Requests, Replies, Unanswered uint64
	// Findings counts by severity.
	Findings [4]uint64
	// RoundTrips are the times to the first part of replies, by protocol in
	// the order of Protocols.
	RoundTrips []RoundTrips
}

// RoundTrips are the shortest, the mean and the longest time from a request to
// the first part of its reply.
type RoundTrips struct {
	Count         uint64
	Min, Max, Sum time.Duration
}

// Add counts one.
func (r *RoundTrips) Add(d time.Duration) {
	if r.Count == 0 || d < r.Min {
		r.Min = d
	}
	if d > r.Max {
		r.Max = d
	}
	r.Count++
	r.Sum += d
}

// block is how much is gathered before it is written.
const block = 128 << 10

// out gathers output and keeps the first error.
type out struct {
	w   io.Writer
	buf []byte
	err error
}

func (o *out) room() {
	if len(o.buf) >= block {
		_ = o.Flush()
	}
}

// Flush writes what is buffered. It returns the first error of all writes.
func (o *out) Flush() error {
	if o.err == nil && len(o.buf) > 0 {
		_, o.err = o.w.Write(o.buf)
	}
	o.buf = o.buf[:0]
	return o.err
}
