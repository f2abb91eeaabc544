package report

import (
	"math/bits"
	"slices"
	"time"

	"github.com/qdissect/qdissect/dissect"
)

// A Tally has more detailed counts than a [Summary], for long captures and for the
// summary in JSON.
type Tally struct {
	// Messages counts types of messages.
	Messages map[TypeOf]uint64
	// Findings counts types of findings.
	Findings map[*dissect.FindingType]uint64
	// RoundTrips are the times to the first part of replies.
	RoundTrips map[*dissect.Protocol]*Times
	// Guesses counts what unknown datagrams look like.
	Guesses map[string]*uint64
}

// TypeOf is a type of message of a protocol.
type TypeOf struct {
	Protocol *dissect.Protocol
	Type     *dissect.MessageType
}

// Record counts a message, its findings and its round trip.
func (d *Tally) Record(r *dissect.Record) {
	add(&d.Messages, TypeOf{r.Protocol, r.Type}, 1)
	for i := range r.Findings {
		d.Finding(&r.Findings[i])
	}
	if r.TimeKnown {
		d.RoundTrip(r.Protocol, r.RTT)
	}
}

// RoundTrip counts a round trip.
func (d *Tally) RoundTrip(p *dissect.Protocol, t time.Duration) { d.timesOf(p).Add(t) }

// Finding counts a finding.
func (d *Tally) Finding(f *dissect.Finding) { add(&d.Findings, f.Type, 1) }

// maxGuesses bounds the different guesses.
const maxGuesses = 256

// Unknown counts an unrecognised datagram by what it looks like.
func (d *Tally) Unknown(guess []byte) {
	if len(guess) > 0 {
		d.guess(guess, 1)
	}
}

func (d *Tally) guess(guess []byte, n uint64) {
	if known := d.Guesses[string(guess)]; known != nil {
		*known += n
	} else if len(d.Guesses) < maxGuesses {
		if d.Guesses == nil {
			d.Guesses = make(map[string]*uint64)
		}
		first := n // in memory of its own only here
		d.Guesses[string(guess)] = &first
	}
}

// Merge adds the counts of o.
func (d *Tally) Merge(o *Tally) {
	merge(&d.Messages, o.Messages)
	merge(&d.Findings, o.Findings)
	for guess, n := range o.Guesses {
		d.guess([]byte(guess), *n)
	}
	for p, t := range o.RoundTrips {
		d.timesOf(p).Merge(t)
	}
}

func (d *Tally) timesOf(p *dissect.Protocol) *Times {
	t := d.RoundTrips[p]
	if t == nil {
		if d.RoundTrips == nil {
			d.RoundTrips = make(map[*dissect.Protocol]*Times)
		}
		t = new(Times)
		d.RoundTrips[p] = t
	}
	return t
}

func merge[K comparable](into *map[K]uint64, from map[K]uint64) {
	for k, n := range from {
		add(into, k, n)
	}
}

func add[K comparable](into *map[K]uint64, k K, n uint64) {
	if *into == nil {
		*into = make(map[K]uint64)
	}
	(*into)[k] += n
}

// Times holds durations for percentiles. They are exact up to 4096 durations and
// within 1.6 % beyond that, independent of their order.
type Times struct {
	RoundTrips
	exact []time.Duration
	fine  []uint64 // buckets
}

// maxExact is how many durations are kept as they are. Each octave of longer lists has
// 1<<octaveBits buckets.
const (
	maxExact   = 4096
	octaveBits = 6
)

// Add adds a duration.
func (t *Times) Add(d time.Duration) {
	t.RoundTrips.Add(d)
	if t.fine != nil {
		t.fine[bucketOf(d)]++
		return
	}
	if t.exact = append(t.exact, d); len(t.exact) > maxExact {
		t.coarsen()
	}
}

func (t *Times) coarsen() {
	if t.fine == nil {
		t.fine = make([]uint64, (64-octaveBits)<<octaveBits) // the highest bit is that of the sign
	}
	for _, d := range t.exact {
		t.fine[bucketOf(d)]++
	}
	t.exact = nil
}

// bucketOf returns the bucket of a duration, given by its highest bits.
func bucketOf(d time.Duration) int {
	v := uint64(max(d, 0))
	shift := max(bits.Len64(v)-octaveBits-1, 0)
	return shift<<octaveBits + int(v>>shift)
}

// highest returns the longest duration of a bucket.
func highest(bucket int) time.Duration {
	shift := max(bucket>>octaveBits-1, 0)
	v := uint64(bucket - shift<<octaveBits)
	return time.Duration((v+1)<<shift - 1)
}

// Merge adds the durations of o.
func (t *Times) Merge(o *Times) {
	t.RoundTrips.Merge(&o.RoundTrips)
	t.exact = append(t.exact, o.exact...)
	if t.fine != nil || o.fine != nil || len(t.exact) > maxExact {
		t.coarsen()
		for i, n := range o.fine {
			t.fine[i] += n
		}
	}
}

// Percentiles returns, for each p in ascending order, the shortest duration that p
// percent of all do not exceed. There must be at least one duration.
func (t *Times) Percentiles(of ...uint64) (list []time.Duration) {
	slices.Sort(t.exact)
	seen, bucket := uint64(0), -1
	for _, p := range of {
		rank := max((t.Count*p+99)/100, 1)
		if t.fine == nil {
			list = append(list, t.exact[rank-1])
			continue
		}
		for seen < rank {
			bucket++
			seen += t.fine[bucket]
		}
		list = append(list, min(max(highest(bucket), t.Min), t.Max))
	}
	return list
}
