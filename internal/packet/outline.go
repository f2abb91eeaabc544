package packet

import (
	"encoding/binary"
	"net/netip"

	"github.com/qdissect/qdissect/internal/endpoint"
)

// An Outline is what tells whether a datagram may be of a known protocol: its endpoints,
// also as keys, and its payload, which is borrowed.
type Outline struct {
	Src, Dst endpoint.Endpoint
	From, To Key
	Payload  []byte
	Packet   []byte // the IP packet of a TCP segment
	id, vlan uint16 // see Datagram; 0 is no VLAN
	hops     uint8
}

// Read reads a frame that is like most frames: Ethernet, with a VLAN tag or without, an IP
// header without options, and a whole UDP datagram or TCP segment, with lengths that agree.
// The outcome is that of [Decoder.Decode], which takes three times the time: [Whole], or
// [TCP], for which o has only a payload, the segment with its header. Read reports false for
// any other frame.
func (o *Outline) Read(linkType uint16, b []byte) (Outcome, bool) {
	const (
		noOption = 0x45   // version and length of an IPv4 header
		fragment = 0x3fff // more fragments, or an offset
	)
	if linkType != linkEthernet || len(b) < etherHeader+vlanHeader+ipv4Header+udpHeader {
		return 0, false
	}
	t, tag, at := be16(b[12:]), 0, etherHeader
	if t == typeVLAN {
		t, tag, at = be16(b[16:]), be16(b[14:])&vlanIDMask, etherHeader+vlanHeader
	}
	b = b[at:]
	var udp uint64   // the UDP header
	var from, to Key // of the hosts
	header, end := ipv4Header, 0
	switch t {
	case typeIPv4:
		// Several fields are loaded at once, because most of the work is loading.
		h := (*[ipv4Header + udpHeader]byte)(b)
		first := binary.BigEndian.Uint64(h[:])
		if first>>56 != noOption || first&fragment != 0 {
			return 0, false
		}
		if end = int(first >> 32 & 0xffff); h[9] != protoUDP {
			return o.segment(b, h[9], header, end, tag)
		}
		o.id, o.hops = uint16(first>>16), h[ipv4Hops]
		src, dst := binary.BigEndian.Uint32(h[ipv4Src:]), binary.BigEndian.Uint32(h[ipv4Dst:])
		o.Src.Hi, o.Src.Lo, o.Src.V4 = 0, endpoint.Mapped|uint64(src), true
		o.Dst.Hi, o.Dst.Lo, o.Dst.V4 = 0, endpoint.Mapped|uint64(dst), true
		udp = binary.BigEndian.Uint64(h[ipv4Header:])
		from, to = Key(src), Key(dst)
	case typeIPv6:
		if len(b) < ipv6Header+udpHeader || b[0]>>4 != 6 {
			return 0, false
		}
		h := (*[ipv6Header + udpHeader]byte)(b)
		if header, end = ipv6Header, be16(h[4:])+ipv6Header; h[6] != protoUDP {
			return o.segment(b, h[6], header, end, tag)
		}
		o.id, o.hops = 0, h[ipv6Hops]
		o.Src.Hi, o.Src.Lo, o.Src.V4 = binary.BigEndian.Uint64(h[ipv6Src:]), binary.BigEndian.Uint64(h[ipv6Src+8:]), false
		o.Dst.Hi, o.Dst.Lo, o.Dst.V4 = binary.BigEndian.Uint64(h[ipv6Dst:]), binary.BigEndian.Uint64(h[ipv6Dst+8:]), false
		udp = binary.BigEndian.Uint64(h[ipv6Header:])
		from, to = host(o.Src.Hi, o.Src.Lo), host(o.Dst.Hi, o.Dst.Lo)
	default:
		return 0, false
	}
	o.Src.Port, o.Dst.Port = uint16(udp>>48), uint16(udp>>32)
	o.From, o.To = Key(udp>>48<<hostBits)|from, Key(udp>>32<<hostBits)|to
	said := int(udp >> 16 & 0xffff)
	if said != end-header || said < udpHeader || end > len(b) || isTunnelPort(int(o.Dst.Port)) {
		return 0, false
	}
	o.vlan = uint16(tag)
	o.Payload = b[header+udpHeader : end]
	return Whole, true
}

// segment stores what an IP packet carries, if that is TCP.
func (o *Outline) segment(ip []byte, proto byte, header, end, tag int) (Outcome, bool) {
	if proto != protoTCP || end <= header || end > len(ip) {
		return 0, false
	}
	o.Payload, o.Packet, o.vlan = ip[header:end], ip, uint16(tag)
	return TCP, true
}

// HopLimit returns that of an IP packet whose header is whole.
func HopLimit(ip []byte) uint8 {
	if isIPv6(ip) {
		return ip[ipv6Hops]
	}
	return ip[ipv4Hops]
}

// LenTCP is the length of a TCP header without options, whose byte 13 has the flags.
const (
	LenTCP = 20

	FIN = 0x01
	SYN = 0x02
	RST = 0x04
	ACK = 0x10
)

// OutlineSegment sets o to the outline of the TCP segment of the frame that was decoded last, into in.
func (d *Decoder) OutlineSegment(o *Outline, in *Datagram) {
	o.Packet, o.Payload, o.vlan = d.ip, d.segment, 0
	if tags := in.VLANs(); len(tags) > 0 {
		o.vlan = tags[0]
	}
}

// Outline sets o to the outline of a datagram.
func (d *Datagram) Outline(o *Outline) {
	o.Src, o.Dst, o.Payload = endpoint.Of(d.Src), endpoint.Of(d.Dst), d.Payload
	o.From, o.To = KeyOf(d.Src), KeyOf(d.Dst)
}

// Ends returns the endpoints.
func (o *Outline) Ends() (src, dst netip.AddrPort) { return o.Src.AddrPort(), o.Dst.AddrPort() }

// VLAN returns the VLAN identifier of the frame, 0 if it has none.
func (o *Outline) VLAN() uint16 { return o.vlan }

// ID returns the identification in the IPv4 header, 0 for IPv6.
func (o *Outline) ID() uint16 { return o.id }

// HopLimit is that of [Datagram].
func (o *Outline) HopLimit() uint8 { return o.hops }

// Spread is as [Datagram.Spread].
func (o *Outline) Spread() uint32 {
	if o.Src.V4 {
		return spread(uint64(uint32(o.Src.Lo)), uint64(uint32(o.Dst.Lo)))
	}
	return spread(fold(o.Src.Hi, o.Src.Lo), fold(o.Dst.Hi, o.Dst.Lo))
}

// store stores the datagram of an outline, which is that of the frame.
func (o *Outline) store(f *Frame, out *Datagram) {
	out.count = counts{}
	if o.vlan != 0 {
		out.vlans[0], out.count.vlans = o.vlan, 1
	}
	out.Src, out.Dst = o.Ends()
	out.ID, out.HopLimit, out.Missing = o.id, o.hops, 0
	out.Frame = f.Number
	out.Time = f.Time
	out.First = f.Time
	out.Payload = o.Payload
	out.Frames = nil
}
