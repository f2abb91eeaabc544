package main

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"github.com/qdissect/qdissect/internal/mkpcap"
)

// packet returns the IP packet of a datagram, as a quote has it.
func packet(src, dst netip.AddrPort, payload string) []byte {
	return mkpcap.IP(src.Addr(), dst.Addr(), 4711, 17, 0, false, false, mkpcap.UDPSegment(src, dst, []byte(payload)))
}

// complain sends an ICMP error with a quote from one host to another.
func (s *stage) complain(from, to netip.Addr, typ, code byte, info uint32, quote []byte) {
	protocol := byte(1)
	if from.Is6() {
		protocol = 58
	}
	s.w.Segment(s.now, from, to, protocol, mkpcap.ICMP(from, to, typ, code, info, quote))
	s.wait(234 * time.Microsecond)
}

// reject sends an ICMP error about a datagram of the client.
func (s *stage) reject(from string, typ, code byte, info uint32, quote []byte) {
	s.complain(netip.MustParseAddr(from), s.client.Addr(), typ, code, info, quote)
}

// next starts an exchange with a new client.
func (s *stage) next(port uint16) uint16 {
	s.wait(time.Second)
	s.client = netip.AddrPortFrom(s.client.Addr(), port)
	return port + 1
}

// icmpErrors plays every ICMP error of IPv4 that says that a datagram did not
// arrive.
func icmpErrors(s *stage) {
	s.between("192.0.2.20:50000", "198.51.100.10:27015")
	port := uint16(50000)
	for _, e := range []struct {
		from      string
		typ, code byte
		info      uint32
	}{
		{"198.51.100.10", 3, 3, 0},
		{"198.51.100.1", 3, 3, 0}, // a firewall in its own name
		{"198.51.100.1", 3, 0, 0},
		{"198.51.100.1", 3, 1, 0},
		{"198.51.100.10", 3, 2, 0},
		{"203.0.113.1", 3, 4, 1400},
		{"203.0.113.1", 3, 4, 0}, // routers before RFC 1191
		{"198.51.100.1", 3, 9, 0},
		{"198.51.100.10", 3, 10, 0},
		{"198.51.100.1", 3, 13, 0},
		{"203.0.113.1", 11, 0, 0},
		{"198.51.100.10", 11, 1, 0},
		{"203.0.113.1", 12, 0, 20 << 24},
	} {
		port = s.next(port)
		s.ask(infoAsk)
		s.reject(e.from, e.typ, e.code, e.info, packet(s.client, s.server, infoAsk))
	}
	// These say nothing of the kind: a source quench and a redirect.
	for _, typ := range []byte{4, 5} {
		port = s.next(port)
		s.ask(infoAsk)
		s.reject("203.0.113.1", typ, 0, 0, packet(s.client, s.server, infoAsk))
	}
}

// icmp6Errors does the same for IPv6.
func icmp6Errors(s *stage) {
	s.between("[2001:db8::20]:50000", "[2001:db8:1::10]:27015")
	port := uint16(50000)
	for _, e := range []struct {
		from      string
		typ, code byte
		info      uint32
	}{
		{"2001:db8:1::10", 1, 4, 0},
		{"2001:db8:1::1", 1, 0, 0},
		{"2001:db8:1::1", 1, 1, 0},
		{"2001:db8:1::1", 1, 3, 0},
		{"2001:db8:1::1", 1, 5, 0},
		{"2001:db8:2::1", 2, 0, 1280},
		{"2001:db8:2::1", 3, 0, 0},
		{"2001:db8:1::10", 3, 1, 0},
		{"2001:db8:2::1", 4, 0, 40},
	} {
		port = s.next(port)
		s.ask(infoAsk)
		s.reject(e.from, e.typ, e.code, e.info, packet(s.client, s.server, infoAsk))
	}
	// The quote has a hop-by-hop header and that of a first fragment.
	s.next(port)
	s.ask(infoAsk)
	quote := packet(s.client, s.server, infoAsk)
	extensions := []byte{44, 0, 1, 4, 0, 0, 0, 0, 17, 0, 0, 1, 0, 0, 0, 9}
	quote = append(quote[:40:40], append(extensions, quote[40:]...)...)
	quote[6] = 0
	s.reject("2001:db8:1::10", 1, 4, 0, quote)
}

// icmpTrouble plays quotes that are not as simple, and errors about something
// else than a request.
func icmpTrouble(s *stage) {
	s.between("192.0.2.20:50000", "198.51.100.10:27015")
	server := "198.51.100.10"
	const ipAndUDP = 28
	port := uint16(50000)
	// No more of the datagram than RFC 792 asks for.
	port = s.next(port)
	s.ask(infoAsk)
	s.reject(server, 3, 3, 0, packet(s.client, s.server, infoAsk)[:ipAndUDP])
	// Another length: it is about something else that this client sent. Said
	// once.
	port = s.next(port)
	s.ask(infoAsk)
	s.reject(server, 3, 3, 0, packet(s.client, s.server, "another datagram")[:ipAndUDP])
	s.reject(server, 3, 3, 0, packet(s.client, s.server, "and another"))
	// Extensions behind a quote that is padded to 128 bytes (RFC 4884).
	port = s.next(port)
	s.ask(infoAsk)
	quote := make([]byte, 128)
	copy(quote, packet(s.client, s.server, infoAsk))
	s.reject("203.0.113.1", 11, 0, 128/4<<16, append(quote, 0x20, 0, 0xdf, 0xff, 0, 8, 1, 1, 0, 0, 0x11, 1))
	// Two requests of one length: all of the second is quoted.
	port = s.next(port)
	s.ask(playerNo)
	s.ask(rulesNo)
	s.reject(server, 3, 3, 0, packet(s.client, s.server, rulesNo))
	s.reject(server, 3, 3, 0, packet(s.client, s.server, playerNo))
	// Sent again before the errors come, and the errors come twice.
	port = s.next(port)
	s.ask(infoAsk)
	s.ask(infoAsk)
	s.reject(server, 3, 3, 0, packet(s.client, s.server, infoAsk))
	s.reject(server, 3, 3, 0, packet(s.client, s.server, infoAsk))
	// The server starts, and the client asks again: refused, and then answered.
	port = s.next(port)
	s.ask(infoAsk)
	s.reject(server, 3, 3, 0, packet(s.client, s.server, infoAsk))
	s.wait(time.Second)
	s.ask(infoAsk)
	s.answer(single + "I\x11name\x00map\x00dir\x00game\x00\x0a\x00\x05\x10\x00dl\x00\x001.0\x00")
	// The client does not wait for the reply.
	port = s.next(port)
	s.ask(infoAsk)
	info := single + "I\x11name\x00map\x00dir\x00game\x00\x0a\x00\x05\x10\x00dl\x00\x001.0\x00"
	s.answer(info)
	s.complain(s.client.Addr(), s.server.Addr(), 3, 3, 0, packet(s.server, s.client, info))
	// A NAT that does not translate what is quoted: on the side of the client,
	// and on that of the server.
	port = s.next(port)
	s.ask(infoAsk)
	s.reject(server, 3, 3, 0, packet(netip.MustParseAddrPort(fmt.Sprintf("203.0.113.77:%d", port-1)), s.server, infoAsk))
	port = s.next(port)
	s.ask(infoAsk)
	s.reject(server, 3, 3, 0, packet(s.client, netip.MustParseAddrPort("10.0.0.5:27015"), infoAsk))
	// The first fragment of a datagram, and a later one, which says nothing.
	port = s.next(port)
	s.ask(infoAsk)
	quote = packet(s.client, s.server, infoAsk)
	binary.BigEndian.PutUint16(quote[6:], 185)
	s.reject(server, 11, 1, 0, quote)
	binary.BigEndian.PutUint16(quote[6:], 0x2000)
	s.reject(server, 11, 1, 0, quote)
	// In a tunnel, the error too.
	port = s.next(port)
	const ipInIP = 4
	near, far := netip.MustParseAddr("203.0.113.4"), netip.MustParseAddr("203.0.113.5")
	quote = packet(s.client, s.server, infoAsk)
	s.w.Segment(s.now, near, far, ipInIP, quote)
	s.wait(time.Millisecond)
	refusal := mkpcap.ICMP(s.server.Addr(), s.client.Addr(), 3, 3, 0, quote)
	s.w.Segment(s.now, far, near, ipInIP, mkpcap.IP(s.server.Addr(), s.client.Addr(), 4712, 1, 0, false, false, refusal))
	// What could be Minecraft or GameSpy 3 waits for a reply that will not come.
	s.server = netip.MustParseAddrPort("198.51.100.10:4040")
	port = s.next(port)
	handshake := "\xfe\xfd\x09\x00\x00\x00\x01"
	s.ask(handshake)
	s.reject(server, 3, 3, 0, packet(s.client, s.server, handshake))
	// About nobody who was seen, about TCP, and quotes that are cut too short.
	s.next(port)
	s.reject(server, 3, 3, 0, packet(s.client, s.server, infoAsk))
	s.reject(server, 3, 3, 0, mkpcap.IP(s.client.Addr(), s.server.Addr(), 1, 6, 0, false, false, make([]byte, 20)))
	s.reject(server, 3, 3, 0, packet(s.client, s.server, infoAsk)[:ipAndUDP-1])
	s.reject(server, 3, 3, 0, nil)
	s.reject(server, 3, 3, 0, []byte{0x4f})
}
