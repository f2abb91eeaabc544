// Package packet finds the UDP datagrams in captured frames.
//
// A [Decoder] decodes one frame after the other down to UDP: through Ethernet, VLAN tags,
// PPPoE and MPLS, through the other link types that carry IP, through IPv4 options and
// IPv6 extension headers, and through tunnels (GRE, ERSPAN, IP in IP, VXLAN, Geneve,
// GTP-U) to the innermost datagram. It joins IPv4 and IPv6 fragments, in tunnels too, with
// the bounded memory of package reassembly.
//
// All multi-byte numbers in these headers are big-endian unless stated otherwise.
//
// Frames are hostile input. Every frame gives a datagram or an [Outcome] that states the
// reason, never an error or a panic. If a header states a wrong length, the payload that
// is present is delivered with an [Anomaly].
//
// Once warm, a decoder allocates nothing.
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
	// Data is the captured part of the frame. It is borrowed.
	Data []byte
	// Length is the length of the frame on the wire, larger than that of Data if the snap
	// length cut the frame. A smaller value means the length of Data.
	Length int
}

// The maximum of VLAN tags and tunnels that are recorded. A frame with more is [TooDeep].
const (
	maxVLANs   = 8
	maxTunnels = 6
)

// A Datagram is a UDP payload with its addresses. In a tunnel, these are the inner
// addresses.
//
// Payload, Frames and the results of the methods are borrowed: they are valid until the
// next call of the decoder, the payload only as long as the data of the frame.
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
	// Missing is the number of bytes that the headers announce and the capture lacks at
	// the end of the payload, usually because the snap length cut the frame.
	Missing int
	// ID is the identification in the IPv4 header. It is 0 for IPv6 and for joined
	// fragments.
	ID uint16
	// HopLimit is the time to live of the IPv4 header, or the hop limit of IPv6.
	HopLimit uint8

	// count says how many elements of these arrays are valid. They are not cleared.
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

// Plain reports whether the headers have no VLAN, no tunnel and no anomaly.
func (d *Datagram) Plain() bool { return d.count == counts{} }

// VLANs returns the VLAN identifiers of the frame, 12 bits each, from outer to inner.
// Priority tags, which have the identifier 0, are left out.
func (d *Datagram) VLANs() []uint16 { return d.vlans[:d.count.vlans] }

// Tunnels returns the tunnels around the datagram, from outer to inner.
func (d *Datagram) Tunnels() []Tunnel { return d.tunnels[:d.count.tunnels] }

// Outer returns the addresses of the outermost IP header, if the datagram is in a tunnel
// over IP.
func (d *Datagram) Outer() (src, dst netip.Addr, ok bool) {
	if !d.count.outer {
		return netip.Addr{}, netip.Addr{}, false
	}
	return d.outerSrc, d.outerDst, true
}

// Anomalies returns the anomalies of the headers and the fragments, from outer to inner.
func (d *Datagram) Anomalies() []Anomaly { return d.anomalies[:d.count.anomalies] }

// A Decoder finds datagrams in frames. It must not be used by several goroutines at once.
// It reads no clock: time is that of the frames.
type Decoder struct {
	counts Counts
	ranges *reassembly.Ranges
	lost   func(*Loss)
	loss   Loss
	gaps   []reassembly.Gap

	// Of the frame that is being decoded:
	scope   uint64    // hash of the VLANs and tunnels around a fragment
	strict  bool      // a possible tunnel is decoded: wrong lengths show that it is none
	joins   int       // number of joins; if it is not 0, frames and first are valid
	sum     bool      // the next UDP checksum is that of a joined datagram
	frames  []uint64  // of the joined packet
	first   time.Time // time of the first of them
	segment []byte    // of TCP
	ip      []byte    // the packet of that
	single  [1]uint64 // frame number, if nothing was joined
	headers []Header  // nil unless MapHeaders was called
	room    int       // capacity of the frame data, for headers
	header  [ipv6Header]byte
	outline Outline

	// Of the last ICMP error:
	quoted Refusal
	quotes bool
}

// NewDecoder returns a decoder that takes the memory for fragments from b, within the
// limits l. If lost is not nil, it is called for every IP packet that stays incomplete;
// the loss is borrowed.
func NewDecoder(b *reassembly.Budget, l reassembly.Limits, lost func(*Loss)) *Decoder {
	d := &Decoder{lost: lost}
	d.ranges = reassembly.NewRanges(b, l, d.incomplete)
	return d
}

// Decode decodes f. If the outcome is [Whole] or [Joined], it stores the datagram in out.
// If the outcome is [FragmentHeld], it stores only the addresses, with ports if this is
// the first fragment. Otherwise the contents of out are undefined. out may be reused for
// all frames.
func (d *Decoder) Decode(f *Frame, out *Datagram) Outcome {
	if d.headers != nil {
		return d.Walk(f, out)
	}
	o, ok := d.outline.Read(f.LinkType, f.Data)
	switch {
	case !ok:
		return d.Walk(f, out)
	case o == TCP:
		d.segment, d.ip = d.outline.Payload, d.outline.Packet
	default:
		d.outline.store(f, out)
	}
	d.counts[o]++
	return o
}

// Walk decodes f header by header. It is as Decode, which calls it for frames that have no
// [Outline].
func (d *Decoder) Walk(f *Frame, out *Datagram) Outcome {
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
		d.liesLink(f.LinkType, b, off)
		o = d.etherType(f, out, t, b[off:], wire-off)
	} else {
		o = why
	}
	d.counts[o]++
	return o
}

// Segment returns the TCP segment, header included, of the frame that was decoded last, if
// the outcome was [TCP]. It is borrowed like a payload.
func (d *Decoder) Segment() []byte { return d.segment }

// Packet returns the IP packet of that segment.
func (d *Decoder) Packet() []byte { return d.ip }

// Counts returns the number of frames per outcome.
func (d *Decoder) Counts() Counts { return d.counts }

// Expire reports and drops the packets whose fragments have waited too long at time now.
// It is cheap enough to call for every frame.
func (d *Decoder) Expire(now time.Time) { d.ranges.Expire(now) }

// Flush reports and drops all incomplete packets, the oldest first. It is for the end of
// the input.
func (d *Decoder) Flush() { d.ranges.Flush() }
