// Package packet finds the UDP datagrams in captured frames.
//
// A [Decoder] decodes one frame after the other down to UDP: through Ethernet, VLAN tags,
// PPPoE and MPLS, through the other link types that carry IP, through IPv4 options and
// IPv6 extension headers, and through tunnels (GRE, ERSPAN, IP in IP, VXLAN, Geneve)
// to the innermost datagram. It joins IPv4 and IPv6 fragments, in tunnels too, with
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
	"fmt"
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
		d.lies(linkKind(f.LinkType), b, off)
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
func (d *Decoder) Flush() {
	d.ranges.Flush()
}

// An Outcome is the result of decoding a frame.
type Outcome uint8

const (
	// Whole: the frame contains a datagram.
	Whole Outcome = iota
	// Joined: the frame contains the last missing fragment of a datagram.
	Joined

	// FragmentHeld: an IP fragment of a packet of which others are missing.
	FragmentHeld
	// FragmentDuplicate: a duplicate of a fragment that is held.
	FragmentDuplicate
	// FragmentConflict: a fragment whose bytes differ from those that are held; it is
	// dropped.
	FragmentConflict
	// FragmentLate: a duplicate of a fragment of a complete packet.
	FragmentLate
	// FragmentRefused: a fragment dropped because of a limit, or because it reaches beyond
	// the largest packet.
	FragmentRefused
	// FragmentBad: a fragment without data, or one that is not the last and whose length
	// is not a multiple of 8.
	FragmentBad
	// FragmentOther: a fragment of a protocol that does not carry UDP.
	FragmentOther
	// JoinedBad: the last missing fragment of a packet that contains no datagram.
	JoinedBad

	// TCP segments.
	TCP
	// ICMP: messages of ICMP and ICMPv6 other than errors.
	ICMP
	// ICMPError: messages that quote a packet in error. If that is a datagram,
	// [Decoder.Quoted] returns it.
	ICMPError
	// OtherProtocol: IP with another protocol, or encrypted.
	OtherProtocol
	// NotIP: ARP and others that are not IP.
	NotIP

	// LinkUnknown: the link type is not known.
	LinkUnknown
	// LinkCut: the frame ends in a header before that of IP.
	LinkCut
	// IPCut: the frame ends in the IP header or in an extension header.
	IPCut
	// IPBad: the IP header is inconsistent.
	IPBad
	// UDPCut: the frame or the packet ends in the UDP header.
	UDPCut
	// TunnelBad: a tunnel header is cut, or of an unknown version.
	TunnelBad
	// TooDeep: too many nested tunnels, VLANs, extension headers, or fragments in
	// fragments.
	TooDeep

	outcomes
)

// Counts are numbers of frames by outcome.
type Counts [outcomes]uint64

var outcomeNames = [outcomes]string{
	Whole:             "datagram",
	Joined:            "datagram of fragments",
	FragmentHeld:      "fragment",
	FragmentDuplicate: "duplicate fragment",
	FragmentConflict:  "conflicting fragment",
	FragmentLate:      "late fragment",
	FragmentRefused:   "refused fragment",
	FragmentBad:       "malformed fragment",
	FragmentOther:     "fragment of another protocol",
	JoinedBad:         "fragments without a datagram",
	TCP:               "tcp",
	ICMP:              "icmp",
	ICMPError:         "icmp error",
	OtherProtocol:     "other ip protocol",
	NotIP:             "not ip",
	LinkUnknown:       "unknown link type",
	LinkCut:           "cut link header",
	IPCut:             "cut ip header",
	IPBad:             "malformed ip header",
	UDPCut:            "cut udp header",
	TunnelBad:         "malformed tunnel header",
	TooDeep:           "nested too deeply",
}

func (o Outcome) String() string { return nameOf(outcomeNames[:], int(o)) }

// OK reports whether the frame gave a datagram.
func (o Outcome) OK() bool { return o <= Joined }

// sane reports whether the bytes that gave o were a valid packet, so that what looked like
// a tunnel was one.
func (o Outcome) sane() bool {
	switch o {
	case Whole, Joined, FragmentHeld, FragmentDuplicate, FragmentConflict, FragmentLate, FragmentRefused, JoinedBad, TCP, ICMP, ICMPError, TooDeep:
		return true
	}
	return false
}

// maxAnomalies is the number of anomalies kept per datagram. Further ones are only
// counted.
const maxAnomalies = 8

// An Anomaly is an error in the headers of a datagram, or in its fragments, that did not
// prevent delivery.
type Anomaly struct {
	Kind AnomalyKind
	// Said is the number in the header, 0 if the kind has none.
	Said int
	// Have is the number that Said is compared with, or the number of occurrences.
	Have int
}

// An AnomalyKind is a kind of anomaly.
type AnomalyKind uint8

const (
	// IPLengthZero: the length in an IP header is 0, as in captures made on a machine with
	// segmentation offload, and in IPv6 jumbograms. All Have bytes of the frame are used.
	IPLengthZero AnomalyKind = iota + 1
	// IPLengthBeyond: an IP header states Said bytes, but the frame had only Have.
	IPLengthBeyond
	// UDPLengthZero: the UDP length is 0. All Have bytes of the IP payload, header
	// included, are used.
	UDPLengthZero
	// UDPLengthShort: the UDP length, Said, is smaller than the UDP header. All Have bytes
	// of the IP payload are used.
	UDPLengthShort
	// UDPLengthBeyond: the UDP length, Said, is larger than the IP payload of Have bytes.
	// The IP payload is used.
	UDPLengthBeyond
	// UDPLengthFour: the UDP length, Said, is 4 less than the IP payload of Have bytes.
	// The IP payload is used: the capture writer of rust-gamedig counts 4 bytes for the
	// header of 8.
	UDPLengthFour
	// UDPSurplus: the UDP length, Said, is less than the IP payload of Have bytes, but not
	// by 4. The UDP length is used (RFC 9868 puts options into the rest).
	UDPSurplus
	// FragmentsDuplicated: Have fragments are duplicates.
	FragmentsDuplicated
	// FragmentsOverlap: Have fragments cover bytes that earlier ones covered.
	FragmentsOverlap
	// FragmentsConflict: Have fragments contradict earlier ones. The earlier ones are
	// used.
	FragmentsConflict
	// FragmentsReordered: a fragment came before one with a lower offset.
	FragmentsReordered
	// FragmentsChecksum: the UDP checksum of the joined datagram, Said, is wrong; Have is
	// the correct one. The fragments may belong to different datagrams.
	FragmentsChecksum
)

var anomalyNames = [...]string{
	IPLengthZero:        "ip length zero",
	IPLengthBeyond:      "ip length beyond frame",
	UDPLengthZero:       "udp length zero",
	UDPLengthShort:      "udp length below header",
	UDPLengthBeyond:     "udp length beyond ip",
	UDPLengthFour:       "udp length short by 4",
	UDPSurplus:          "bytes after udp",
	FragmentsDuplicated: "duplicate fragments",
	FragmentsOverlap:    "overlapping fragments",
	FragmentsConflict:   "conflicting fragments",
	FragmentsReordered:  "reordered fragments",
	FragmentsChecksum:   "checksum of fragments",
}

func (k AnomalyKind) String() string { return nameOf(anomalyNames[:], int(k)) }

// nameOf returns the name of a constant, "unknown" if it has none.
func nameOf(names []string, i int) string {
	if i < len(names) && names[i] != "" {
		return names[i]
	}
	return "unknown"
}

func (a Anomaly) String() string {
	switch a.Kind {
	case IPLengthZero, UDPLengthZero:
		return fmt.Sprintf("%v: took %d bytes", a.Kind, a.Have)
	case IPLengthBeyond, UDPLengthShort, UDPLengthBeyond, UDPLengthFour, UDPSurplus:
		return fmt.Sprintf("%v: said %d, have %d bytes", a.Kind, a.Said, a.Have)
	case FragmentsReordered:
		return a.Kind.String()
	case FragmentsChecksum:
		return fmt.Sprintf("%v: said %#04x, should be %#04x", a.Kind, a.Said, a.Have)
	}
	return fmt.Sprintf("%v: %d", a.Kind, a.Have)
}

func (d *Datagram) note(k AnomalyKind, said, have int) {
	if d.count.anomalies < maxAnomalies {
		d.anomalies[d.count.anomalies] = Anomaly{k, said, have}
		d.count.anomalies++
	} else if d.count.more < 255 {
		d.count.more++
	}
}

// MoreAnomalies returns the number of anomalies that were not kept.
func (d *Datagram) MoreAnomalies() int { return int(d.count.more) }
