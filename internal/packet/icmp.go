package packet

import (
	"encoding/binary"
	"net/netip"
	"time"
)

// A Refusal is an ICMP or ICMPv6 error about a datagram, with the part of the datagram
// that it quotes.
type Refusal struct {
	// Frame and Time are those of the error.
	Frame uint64
	Time  time.Time
	// From sent the error and To received it: usually the sender of the datagram. Both are
	// IPv4 or both are IPv6, and Type and Code are those of that protocol.
	From, To   netip.Addr
	Type, Code uint8
	// Info is the rest of the header. If the packet was too large, its lower half is the
	// MTU in IPv4, all of it in IPv6.
	Info uint32
	// Src and Dst are the addresses of the quoted datagram.
	Src, Dst netip.AddrPort
	// Length is the length of the payload in the quoted UDP header, -1 if that is not
	// plausible.
	Length int
	// Payload is the quoted part of the payload. It is borrowed.
	Payload []byte
}

// Types of ICMP errors about packets that did not arrive (RFC 792; RFC 4443, 3). Redirects
// and source quenches are about packets that arrived.
const (
	icmpUnreachable      = 3
	icmpTimeExceeded     = 11
	icmpParameterProblem = 12
	icmp6Unreachable     = 1
	icmp6TooBig          = 2
	icmp6TimeExceeded    = 3
	icmp6Parameter       = 4
)

const icmpHeader = 8

// ipv4Offset masks the fragment offset in the field that it shares with the flags.
const ipv4Offset = 0x1fff

// Quoted returns the error in the last frame with the outcome [ICMPError], if it is about
// a datagram that did not arrive. It is borrowed like a datagram.
func (d *Decoder) Quoted() (*Refusal, bool) { return &d.quoted, d.quotes }

// icmpMessage decodes an ICMP or ICMPv6 message.
func (d *Decoder) icmpMessage(f *Frame, ip []byte, proto byte, data []byte) Outcome {
	o := icmp(proto, data)
	if o == ICMPError {
		d.quotes = d.readQuote(f, ip, proto, data)
	}
	return o
}

// readQuote reads an error: type 1 byte, code 1 byte, checksum 2 bytes, a word that
// depends on the type, and the beginning of the packet in error, at least 8 bytes after
// its IP header.
func (d *Decoder) readQuote(f *Frame, ip []byte, proto byte, data []byte) bool {
	quote := quoteIn(proto, data)
	if len(quote) == 0 || isIPv6(ip) != isIPv6(quote) {
		return false
	}
	seg := quotedUDP(quote)
	if seg == nil {
		return false
	}
	q := &d.quoted
	*q = Refusal{Frame: f.Number, Time: f.Time, Type: data[0], Code: data[1], Info: binary.BigEndian.Uint32(data[4:])}
	q.From, q.To = Addresses(ip)
	src, dst := Addresses(quote)
	q.Src, q.Dst = netip.AddrPortFrom(src, uint16(be16(seg))), netip.AddrPortFrom(dst, uint16(be16(seg[2:])))
	q.Length = max(be16(seg[4:])-udpHeader, -1)
	q.Payload = seg[udpHeader:]
	if q.Length >= 0 && q.Length < len(q.Payload) {
		q.Payload = q.Payload[:q.Length] // the rest is padding and extensions
	}
	return true
}

// quoteIn returns the packet that an error quotes, nil if the message is not an error
// about a packet that did not arrive. If extensions follow the quote, a byte of the header
// has its length, in words of 4 bytes, 8 in IPv6 (RFC 4884, 3 to 5).
func quoteIn(proto byte, data []byte) []byte {
	if len(data) <= icmpHeader {
		return nil
	}
	length := 0
	if proto == protoICMPv6 {
		switch data[0] {
		case icmp6Unreachable, icmp6TimeExceeded:
			length = int(data[4]) * 8
		case icmp6TooBig, icmp6Parameter:
		default:
			return nil
		}
	} else {
		switch data[0] {
		case icmpUnreachable, icmpTimeExceeded, icmpParameterProblem:
			length = int(data[5]) * 4
		default:
			return nil
		}
	}
	quote := data[icmpHeader:]
	if length > 0 && length < len(quote) {
		quote = quote[:length]
	}
	return quote
}

// quotedUDP returns the UDP datagram in a quoted IP packet, beginning with its header; nil
// if the packet carries no UDP or is a later fragment. It ignores the lengths in the IP
// header, which routers may have changed.
func quotedUDP(ip []byte) []byte {
	var seg []byte
	var proto byte
	if ip[0]>>4 == 4 {
		header := int(ip[0]&15) * 4
		if header < ipv4Header || len(ip) < header || be16(ip[6:])&ipv4Offset != 0 {
			return nil
		}
		proto, seg = ip[9], ip[header:]
	} else {
		if ip[0]>>4 != 6 || len(ip) < ipv6Header {
			return nil
		}
		proto, seg = behindExtensions(ip[6], ip[ipv6Header:])
	}
	if proto != protoUDP || len(seg) < udpHeader {
		return nil
	}
	return seg
}

// behindExtensions skips the extension headers of IPv6, also that of a first fragment. It
// returns nil data if a header is incomplete or the fragment is a later one.
func behindExtensions(proto byte, data []byte) (byte, []byte) {
	const offsetMask = 0xfff8
	for range maxExtensions {
		length := 0
		switch proto {
		case protoHopByHop, protoRouting, protoDestinations, protoMobility, protoHIP, protoShim6:
			length = extension(data, extensionUnit)
		case protoAH:
			length = extension(data, ahUnit)
		case protoFragment:
			if len(data) >= fragmentHeader && be16(data[2:])&offsetMask == 0 {
				length = fragmentHeader
			}
		default:
			return proto, data
		}
		if length == 0 {
			return proto, nil
		}
		proto, data = data[0], data[length:]
	}
	return proto, nil
}

// AppendQuoted appends the frame that an ICMP error is about, as far as the error quotes
// it: the headers before IP are those of the error, the packet is the quoted one. wire is
// the length of that frame. If the outermost packet of the frame is not an error about a
// datagram, AppendQuoted appends nothing and ok is false. Filters use it.
func AppendQuoted(dst []byte, linkType uint16, frame []byte) (quoted []byte, wire int, ok bool) {
	at, proto, data := outerICMP(linkType, frame)
	if data == nil {
		return dst, 0, false
	}
	quote := quoteIn(proto, data)
	if len(quote) == 0 || isIPv6(frame[at:]) != isIPv6(quote) || quotedUDP(quote) == nil {
		return dst, 0, false
	}
	total := be16(quote[2:])
	if isIPv6(quote) {
		total = ipv6Header + be16(quote[4:])
	}
	dst = append(append(dst, frame[:at]...), quote...)
	return dst, at + max(total, len(quote)), true
}

// IsICMP reports whether the outermost packet of a frame is ICMP or ICMPv6.
func IsICMP(linkType uint16, frame []byte) bool {
	_, _, data := outerICMP(linkType, frame)
	return data != nil
}

// outerICMP returns the offset of the outermost IP header of a frame and the ICMP or
// ICMPv6 message in that packet. data is nil if the packet carries something else or its
// header is incomplete.
func outerICMP(linkType uint16, frame []byte) (at int, proto byte, data []byte) {
	at, ok := outerIP(linkType, frame)
	if !ok {
		return 0, 0, nil
	}
	ip := frame[at:]
	if isIPv6(ip) {
		if proto, data = ip[6], ip[ipv6Header:]; proto == protoUDP || proto == protoTCP {
			return 0, 0, nil
		}
		if proto, data = behindExtensions(proto, data); proto != protoICMPv6 {
			return 0, 0, nil
		}
		return at, proto, data
	}
	header := int(ip[0]&15) * 4
	if ip[9] != protoICMP || header < ipv4Header || len(ip) < header || be16(ip[6:])&ipv4Offset != 0 {
		return 0, 0, nil
	}
	return at, protoICMP, ip[header:]
}

// outerIP returns the offset of the outermost IP header of a frame. ok is false if the
// header, without options, is incomplete.
func outerIP(linkType uint16, b []byte) (at int, ok bool) {
	t, at, why := linkHeader(linkType, b)
	if why != Whole {
		return 0, false
	}
	for {
		rest := b[at:]
		switch t {
		case typeIPv4:
			return at, len(rest) >= ipv4Header && rest[0]>>4 == 4
		case typeIPv6:
			return at, len(rest) >= ipv6Header && rest[0]>>4 == 6
		case typeVLAN, typeQinQ, typeQinQOld:
			if len(rest) < vlanHeader {
				return 0, false
			}
			t, at = be16(rest[2:]), at+vlanHeader
		case typePPPoE:
			_, next, off, why := pppoe(rest)
			if why != Whole {
				return 0, false
			}
			t, at = next, at+off
		case typeMPLS, typeMPLSUp:
			_, off, why := mpls(rest)
			if why != Whole {
				return 0, false
			}
			at += off
			if t = ipType(b[at:]); t == 0 {
				return 0, false
			}
		default:
			return 0, false
		}
	}
}
