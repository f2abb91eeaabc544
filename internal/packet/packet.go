// Package packet finds the UDP datagrams in captured frames.
//
// A [Decoder] takes one frame after the other, whatever its link type, and
// goes down to UDP: through Ethernet, VLAN tags, PPPoE and MPLS, through the
// other link types that carry IP, through IPv4 options and IPv6 extension
// headers, and through tunnels (GRE, ERSPAN, IP in IP, VXLAN, Geneve, GTP-U)
// to the innermost datagram. It joins IPv4 and IPv6 fragments, in tunnels too,
// with the bounded memory of package reassembly.
//
// All multi-byte numbers of these headers are big-endian, unless said
// otherwise.
//
// A frame is hostile input. Every frame gives a datagram or an [Outcome] that
// says why not, never an error or a panic. Where a header lies about a length,
// the payload that is there is delivered with an [Anomaly].
//
// Nothing is allocated for a frame once the decoder is warm.
package packet

import (
	"net/netip"
	"time"

	"github.com/qdissect/qdissect/reassembly"
)

// A Frame is one frame of a capture.
type Frame struct {
	// Number counts the frames of the capture, from 1.
	Number uint64
	// Time is when it was captured.
	Time time.Time
	// LinkType is the kind of its first header: a number of
	// https://www.tcpdump.org/linktypes.html.
	LinkType uint16
	// Data is what was captured of it. It is borrowed.
	Data []byte
	// Length is how many bytes it had on the wire, more than Data has if the
	// snap length cut it. Less than that means just Data.
	Length int
}

// The most that is remembered of what a frame was wrapped in. What has more is
// [TooDeep].
const (
	maxVLANs   = 8
	maxTunnels = 6
)

// A Datagram is a UDP payload with its addresses. Of a datagram in a tunnel
// these are the inner ones.
//
// Payload, Frames and what the methods return are borrowed: they die at the
// next call of the decoder, the payload with the data of the frame as well.
type Datagram struct {
	// Frame is the number of the frame that completed it.
	Frame uint64
	// Frames are the numbers of all frames that carried it, in the order of
	// their arrival, if IP fragmented it; nil otherwise.
	Frames []uint64
	// Time is when that frame was captured.
	Time time.Time
	// First is when its first fragment was captured, Time if it came whole.
	First    time.Time
	Src, Dst netip.AddrPort
	Payload  []byte
	// Missing is the number of bytes at the end of the payload that the
	// headers announce and the capture does not have, as a rule because the
	// snap length cut the frame.
	Missing int
	// ID is the identification of the IPv4 header, 0 if that has none, if it was
	// fragmented, or if it is IPv6.
	ID uint16

	// What of these arrays is valid, count says: they are not cleared.
	count              counts
	vlans              [maxVLANs]uint16
	tunnels            [maxTunnels]Tunnel
	anomalies          [maxAnomalies]Anomaly
	outerSrc, outerDst netip.Addr
}

type counts struct {
	vlans, tunnels, anomalies, more uint8
	outer                           bool
}

// Plain reports whether there is nothing to say of the headers: no VLAN, no tunnel
// and no anomaly.
func (d *Datagram) Plain() bool { return d.count == counts{} }

// VLANs returns the identifiers of the VLANs that the frame was tagged with,
// from outer to inner (12 bits each). Priority tags, which have the identifier
// 0, are not among them.
func (d *Datagram) VLANs() []uint16 { return d.vlans[:d.count.vlans] }

// Tunnels returns what the datagram was carried in, from outer to inner.
func (d *Datagram) Tunnels() []Tunnel { return d.tunnels[:d.count.tunnels] }

// Outer returns the addresses of the outermost IP header, if the datagram was
// carried in a tunnel that has one.
func (d *Datagram) Outer() (src, dst netip.Addr, ok bool) {
	if !d.count.outer {
		return netip.Addr{}, netip.Addr{}, false
	}
	return d.outerSrc, d.outerDst, true
}

// Anomalies returns what is wrong with the headers or with the fragments, from
// outer to inner.
func (d *Datagram) Anomalies() []Anomaly { return d.anomalies[:d.count.anomalies] }

// A Decoder finds datagrams in frames. It is for one goroutine, and reads no
// clock: time is that of the frames.
type Decoder struct {
	counts Counts
	ranges *reassembly.Ranges
	lost   func(*Loss)
	loss   Loss
	gaps   []reassembly.Gap

	// Of the frame that is being decoded:
	scope   uint64    // of fragments: a hash of the VLANs and tunnels around them
	strict  bool      // it may be a datagram that only looks like a tunnel: no lies
	joins   int       // how many times fragments were joined: if any, frames and first are valid
	sum     bool      // the next UDP checksum is that of a joined datagram
	frames  []uint64  // that carried what was joined
	first   time.Time // when the first of them was captured
	segment []byte    // of TCP
	single  [1]uint64 // the number of the frame where nothing was joined
	headers []Header  // nil if nobody asked for them
	room    int       // the capacity of the frame, if they did
	header  [ipv6Header]byte

	// Of the last ICMP error:
	quoted Refusal
	quotes bool
}

// NewDecoder returns a decoder that takes the memory for fragments from b,
// within the limits l. lost, if it is not nil, is called for every IP packet
// that stays incomplete; the loss is borrowed.
func NewDecoder(b *reassembly.Budget, l reassembly.Limits, lost func(*Loss)) *Decoder {
	d := &Decoder{lost: lost}
	d.ranges = reassembly.NewRanges(b, l, d.incomplete)
	return d
}

// Decode looks for the datagram in f. If the outcome is [Whole] or [Joined],
// out has it. If it is [FragmentHeld], out has the addresses of a datagram of which
// this is a fragment, with ports if it is the first one. Otherwise out means nothing.
// out may be the same for all frames.
func (d *Decoder) Decode(f *Frame, out *Datagram) Outcome {
	d.scope, d.strict, d.joins, d.sum = 0, false, 0, false
	out.count = counts{}
	if d.headers != nil {
		d.headers, d.room = d.headers[:0], cap(f.Data)
	}
	b, wire := f.Data, max(f.Length, len(f.Data))
	var o Outcome
	if f.LinkType == linkEthernet {
		o = d.ethernet(f, out, b, wire)
	} else if t, off, why := linkHeader(f.LinkType, b); why == Whole {
		d.lies(linkKind(f.LinkType), b, off)
		o = d.etherType(f, out, t, b[off:], wire-off)
	} else {
		o = why
	}
	d.counts[o]++
	return o
}

// Segment returns the TCP header of the frame that was decoded last, and what
// follows it, if the outcome was [TCP]. It is borrowed like a payload.
func (d *Decoder) Segment() []byte { return d.segment }

// Counts returns how many frames had which outcome.
func (d *Decoder) Counts() Counts { return d.counts }

// Expire reports and forgets the fragments that have waited too long at time
// now. It is cheap enough to be called for every frame.
func (d *Decoder) Expire(now time.Time) { d.ranges.Expire(now) }

// Flush reports and forgets all fragments that wait for others, the oldest
// first. It is for the end of the input.
func (d *Decoder) Flush() { d.ranges.Flush() }
