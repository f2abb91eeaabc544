package anonymize

import (
	"encoding/binary"
	"slices"

	"github.com/qdissect/qdissect/internal/packet"
)

// A layout is the position of the headers of a frame, down to the datagram or to a
// fragment of it.
type layout struct {
	headers  []packet.Header
	ips      int // number of IP headers
	segment  int // offset of what follows the last IP header and its extensions
	fragment bool
	offset   int // of the fragment, in bytes
	more     bool
	end      int // of the captured part of the last IP packet
	options  int // where the payload of a TCP segment begins, 0 for UDP
}

const (
	protoUDP   = 17
	udpHeader  = 8
	maxHeaders = 24
)

func be16(b []byte) int { return int(binary.BigEndian.Uint16(b)) }

// lay returns the layout of a frame. It reports false if a header is unknown or may
// contain unknown data, because such a frame cannot be anonymized. Nor can a fragment
// within a UDP tunnel. The layout borrows the headers.
func lay(headers []packet.Header, b []byte, fragment, tcp bool) (l layout, ok bool) {
	if len(headers) == 0 || len(headers) > maxHeaders {
		return l, false
	}
	l.headers, l.fragment = headers, fragment
	for _, h := range headers {
		if h.At != l.segment {
			return l, false
		}
		switch h.Kind {
		case packet.HeaderEthernet, packet.HeaderSLL, packet.HeaderSLL2, packet.HeaderFamily, packet.HeaderPPP, packet.HeaderNFLOG, packet.HeaderVLAN, packet.HeaderMPLS,
			packet.HeaderPPPoE, packet.HeaderExtension, packet.HeaderFragment, packet.HeaderGRE, packet.HeaderVXLAN, packet.HeaderGeneve:
		case packet.HeaderIPv4, packet.HeaderIPv6:
			l.ips, l.end = l.ips+1, h.End
		case packet.HeaderUDP:
			if fragment {
				return l, false
			}
		default:
			return l, false
		}
		l.segment += h.Len
	}
	last := headers[len(headers)-1]
	switch b = b[last.At:]; {
	case tcp && l.end-l.segment < packet.LenTCP:
		return l, false
	case tcp:
		l.options = l.segment + tcpLength(b[l.segment-last.At:])
		return l, l.options <= l.end
	case !fragment:
		l.segment = last.At
		return l, last.Kind == packet.HeaderUDP
	case last.Kind == packet.HeaderIPv4:
		l.offset, l.more = be16(b[6:])&0x1fff*8, b[6]&0x20 != 0
		return l, b[9] == protoUDP
	}
	l.offset, l.more = be16(b[2:])&^7, b[3]&1 != 0
	return l, last.Kind == packet.HeaderFragment && b[0] == protoUDP
}

// ip returns the frame from the last IP header before an offset.
func (l *layout) ip(b []byte, before int) []byte {
	for _, h := range slices.Backward(l.headers) {
		if h.At < before && (h.Kind == packet.HeaderIPv4 || h.Kind == packet.HeaderIPv6) {
			return b[h.At:]
		}
	}
	return nil
}

// headers replaces the addresses in the headers of a frame, and the numbers of networks.
func (w *rewriter) headers(l *layout, b []byte) {
	for _, h := range l.headers {
		b := b[h.At : h.At+h.Len]
		switch h.Kind {
		case packet.HeaderEthernet:
			w.mac(b[:6])
			w.mac(b[6:12])
		case packet.HeaderSLL:
			w.hardware(b[6:14], be16(b[4:]))
		case packet.HeaderSLL2:
			w.hardware(b[12:20], int(b[11]))
		case packet.HeaderNFLOG:
			clearNFLOG(b)
		case packet.HeaderIPv4:
			w.ends(b[12:16], b[16:20])
			clear(b[20:]) // options may hold addresses
		case packet.HeaderIPv6:
			w.ends(b[8:24], b[24:40])
		case packet.HeaderExtension:
			clear(b[2:]) // padding, or an empty route
		case packet.HeaderGeneve:
			clear(b[8:])
		}
		w.m.tags(h.Kind, b)
	}
}

// clearNFLOG clears the attributes before the packet: hardware addresses, users, and the words of a rule.
func clearNFLOG(b []byte) {
	const header, attribute = 4, 4
	for at := header; at+attribute < len(b); {
		next := at + (int(nflogOrder(b[at:]).Uint16(b[at:]))+3)&^3
		clear(b[at+attribute : next])
		at = next
	}
}

// nflogOrder returns the byte order of an attribute: the one in which its type is a small number.
func nflogOrder(b []byte) binary.ByteOrder {
	if b[3] != 0 {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// tags replaces the numbers of VLANs, labels, sessions and tunnels in a header.
func (m *mapping) tags(kind packet.HeaderKind, b []byte) {
	switch kind {
	case packet.HeaderVLAN:
		m.tag16(b, 0xfff)
	case packet.HeaderPPPoE:
		m.tag16(b[2:], 0xffff)
	case packet.HeaderMPLS:
		const reserved, most, rest = 16, 1<<20 - 1, 12
		for ; len(b) >= 4; b = b[4:] {
			v := binary.BigEndian.Uint32(b)
			binary.BigEndian.PutUint32(b, m.tag(v>>rest, reserved, most)<<rest|v&(1<<rest-1))
		}
	case packet.HeaderGRE:
		m.greTags(b)
	case packet.HeaderVXLAN, packet.HeaderGeneve:
		if kind == packet.HeaderVXLAN && b[0]&0x80 != 0 {
			m.tag16(b[2:], 0xffff) // a group (draft-smith-vxlan-group-policy)
		}
		v := binary.BigEndian.Uint32(b[4:])
		binary.BigEndian.PutUint32(b[4:], m.tag(v>>8, 1, 1<<24-1)<<8|v&0xff)
	}
}

// tag16 replaces a number in the low bits of two bytes.
func (m *mapping) tag16(b []byte, most uint32) {
	v := uint32(be16(b))
	binary.BigEndian.PutUint16(b, uint16(v&^most|m.tag(v&most, 1, most)))
}

// greTags replaces the key, and the VLAN and session in the header of ERSPAN II.
func (m *mapping) greTags(b []byte) {
	const checksum, key, sequence = 0x80, 0x20, 0x10
	flags, mirrored, at := b[0], be16(b[2:]) == 0x88be, 4
	if flags&checksum != 0 {
		at += 4
	}
	if flags&key != 0 {
		binary.BigEndian.PutUint32(b[at:], m.tag(binary.BigEndian.Uint32(b[at:]), 1, 1<<32-1))
		at += 4
	}
	if flags&sequence != 0 && mirrored {
		at += 4
		m.tag16(b[at:], 0xfff)
		m.tag16(b[at+2:], 0x3ff)
	}
}

// hardware replaces the address of n bytes in the 8-byte field of a Linux cooked header.
// An address that is not an Ethernet address is cleared.
func (w *rewriter) hardware(b []byte, n int) {
	if n == 6 {
		w.mac(b[:6])
		b = b[6:]
	}
	clear(b)
}

func (w *rewriter) mac(b []byte) {
	if w.m.mac(b) {
		w.counts.MACs++
	}
}

// lengths are the offsets of the length fields in headers.
var lengths = map[packet.HeaderKind]int{packet.HeaderIPv4: 2, packet.HeaderIPv6: 4, packet.HeaderUDP: 4, packet.HeaderPPPoE: 4}

// resize returns the frame with everything from offset from replaced by data, and corrects
// all lengths. It drops what followed the packet.
func (l *layout) resize(b, data []byte, from int) []byte {
	grown := from + len(data) - l.end
	if grown == 0 {
		copy(b[from:], data)
		clear(b[l.end:])
		return b
	}
	b = append(b[:from:from], data...)
	for _, h := range l.headers {
		if at, ok := lengths[h.Kind]; ok {
			at += h.At
			binary.BigEndian.PutUint16(b[at:], uint16(be16(b[at:])+grown))
		} else if h.Kind == packet.HeaderNFLOG {
			at := b[h.At+h.Len-4:]
			order := nflogOrder(at)
			order.PutUint16(at, order.Uint16(at)+uint16(grown))
		}
	}
	return b
}

// sums corrects the checksums of all headers, from the inner to the outer, which cover the
// inner ones. whole says that the snap length did not cut the frame; the checksum of a cut
// datagram cannot be computed.
func (l *layout) sums(b []byte, whole bool) {
	if l.options > 0 {
		clear(b[l.segment+16 : l.segment+18])
		if whole {
			binary.BigEndian.PutUint16(b[l.segment+16:], packet.TCPChecksum(l.ip(b, l.segment), b[l.segment:l.end]))
		}
	}
	for _, h := range slices.Backward(l.headers) {
		head := b[h.At:]
		switch {
		case h.Kind == packet.HeaderUDP:
			udpSum(head, l.ip(b, h.At), whole)
		case h.Kind == packet.HeaderGRE && head[0]&0x80 != 0:
			clear(head[4:6])
			binary.BigEndian.PutUint16(head[4:], packet.Checksum(head))
		case h.Kind == packet.HeaderIPv4:
			clear(head[10:12])
			binary.BigEndian.PutUint16(head[10:], packet.Checksum(head[:h.Len]))
		}
	}
}

// udpSum sets the checksum of a UDP header that follows an IP header.
func udpSum(segment, ip []byte, whole bool) {
	v6 := ip[0]>>4 == 6
	if be16(segment[6:]) == 0 && !v6 {
		return // none
	}
	n := be16(segment[4:])
	if n > len(segment) || n < udpHeader {
		whole, n = false, len(segment)
	}
	if !whole && !v6 {
		clear(segment[6:8])
		return
	}
	binary.BigEndian.PutUint16(segment[6:], packet.UDPChecksum(ip, segment[:n]))
}
