package pipeline

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/report"
)

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
	// Few types of a protocol have documentation of the same length.
	place := (len(r.Type.Doc) + 37*len(r.Protocol.Doc)) % lately
	t.types[place].add(report.TypeOf{Protocol: r.Protocol, Type: r.Type}, &t.Messages)
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
	t.findings[(len(f.Type.Doc)+37*len(f.Type.ID))%lately].add(f.Type, &t.Findings)
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
