// Package mkpcap writes captures for tests, for the generators of test data and for
// benchmarks. Headers and checksums are correct unless an option says otherwise.
package mkpcap

import (
	"cmp"
	"encoding/binary"
	"io"
	"net/netip"
	"slices"
	"time"
)

// A Link is a link type.
type Link uint8

// The link types that can be made.
const (
	Ethernet Link = iota
	Raw
	SLL
	SLL2
	Null
)

// number returns the number of the link type in https://www.tcpdump.org/linktypes.html.
func (l Link) number() uint16 { return [...]uint16{1, 101, 113, 276, 0}[l] }

// Options choose the format of a capture. The zero value is pcap with microseconds,
// little-endian, Ethernet, without tags and fragments.
type Options struct {
	Link      Link
	Nano      bool // nanoseconds
	BigEndian bool
	Ng        bool // pcapng, always with nanoseconds
	VLAN      uint16
	MTU       int // largest IP packet; 0 for no limit
	Snap      int // bytes kept of each frame; 0 for all
	// Reverse writes the fragments of a packet in reverse order.
	Reverse bool
}

// A Writer writes one capture.
type Writer struct {
	w   io.Writer
	o   Options
	err error
	id  uint16
	buf []byte
	// Frames counts what has been written.
	Frames uint64
}

// NewWriter starts a capture in w. Err returns errors of w.
func NewWriter(w io.Writer, o Options) *Writer {
	m := &Writer{w: w, o: o}
	if o.Ng {
		// A section header, and an interface description with the option if_tsresol.
		m.write(m.append(nil, []uint32{0x0a0d0d0a, 28, 0x1a2b3c4d}, []uint16{1, 0}, uint64(1<<64-1), uint32(28)))
		m.write(m.append(nil, []uint32{1, 32}, []uint16{o.Link.number(), 0}, uint32(0), []uint16{9, 1}, []byte{9, 0, 0, 0}, []uint32{0, 32}))
		return m
	}
	magic := uint32(0xa1b2c3d4)
	if o.Nano {
		magic = 0xa1b23c4d
	}
	m.write(m.append(nil, magic, []uint16{2, 4}, []uint32{0, 0, 262144, uint32(o.Link.number())}))
	return m
}

// append appends numbers in the order of the capture.
func (m *Writer) append(b []byte, numbers ...any) []byte {
	var order binary.ByteOrder = binary.LittleEndian
	if m.o.BigEndian {
		order = binary.BigEndian
	}
	for _, n := range numbers {
		b, _ = binary.Append(b, order, n) // never an error
	}
	return b
}

func (m *Writer) write(b []byte) {
	if m.err == nil {
		_, m.err = m.w.Write(b)
	}
}

// Tag sets the VLAN of the following frames, 0 for none.
func (m *Writer) Tag(vlan uint16) { m.o.VLAN = vlan }

// Err returns the first error of the underlying writer.
func (m *Writer) Err() error { return m.err }

// Frame writes a frame as it is.
func (m *Writer) Frame(at time.Time, frame []byte) {
	m.Frames++
	kept := frame
	if m.o.Snap > 0 && len(kept) > m.o.Snap {
		kept = kept[:m.o.Snap]
	}
	b := m.buf[:0]
	if m.o.Ng {
		padding := make([]byte, -len(kept)&3)
		size, ns := uint32(32+len(kept)+len(padding)), uint64(at.UnixNano())
		b = m.append(b, []uint32{6, size, 0, uint32(ns >> 32), uint32(ns), uint32(len(kept)), uint32(len(frame))}, kept, padding, size)
	} else {
		sub := at.Nanosecond()
		if !m.o.Nano {
			sub /= 1000
		}
		b = m.append(b, []uint32{uint32(at.Unix()), uint32(sub), uint32(len(kept)), uint32(len(frame))}, kept)
	}
	m.buf = b
	m.write(b)
}

// UDP writes a datagram, in fragments if it is longer than the MTU.
func (m *Writer) UDP(at time.Time, src, dst netip.AddrPort, payload []byte) {
	segment := UDPSegment(src, dst, payload)
	m.id++
	for _, p := range m.packets(src.Addr(), dst.Addr(), segment) {
		m.Frame(at, m.frame(src.Addr(), dst.Addr(), p))
	}
}

// Segment writes an IP packet of any protocol.
func (m *Writer) Segment(at time.Time, src, dst netip.Addr, protocol byte, data []byte) {
	m.id++
	m.Frame(at, m.frame(src, dst, IP(src, dst, m.id, protocol, 0, false, false, data)))
}

// UDPSegment returns a UDP header followed by the payload.
func UDPSegment(src, dst netip.AddrPort, payload []byte) []byte {
	be := binary.BigEndian
	b := be.AppendUint16(be.AppendUint16(make([]byte, 0, 8+len(payload)), src.Port()), dst.Port())
	b = append(append(be.AppendUint16(b, uint16(8+len(payload))), 0, 0), payload...)
	binary.BigEndian.PutUint16(b[6:], cmp.Or(checksum(pseudo(src, dst, 17, len(b)), b), 0xffff))
	return b
}

// pseudo returns the header of which the checksum of a segment is also made.
func pseudo(src, dst netip.AddrPort, protocol byte, length int) []byte {
	from, to := src.Addr().As16(), dst.Addr().As16() // what stands before an IPv4 address adds nothing to a sum
	b := append(append(make([]byte, 0, 36), from[:]...), to[:]...)
	return binary.BigEndian.AppendUint16(append(b, 0, protocol), uint16(length))
}

// A Connection writes the segments of a TCP connection.
type Connection struct {
	m    *Writer
	ends [2]netip.AddrPort // of the client and of the server
	next [2]uint32         // sequence numbers
}

const fin, syn, psh, ack = 0x01, 0x02, 0x08, 0x10 // flags of a segment

// Connect writes how a client connects.
func (m *Writer) Connect(at time.Time, client, server netip.AddrPort) *Connection {
	c := &Connection{m, [2]netip.AddrPort{client, server}, [2]uint32{0x5c1f3a00, 0xffffff80}} // one wraps around
	c.segment(at, 0, syn, nil)
	c.segment(at, 1, syn|ack, nil)
	c.segment(at, 0, ack, nil)
	return c
}

// Send writes what one side sends, in segments of at most size bytes, 1460 if it is 0.
func (c *Connection) Send(at time.Time, fromServer bool, data []byte, size int) {
	for part := range slices.Chunk(data, cmp.Or(size, 1460)) {
		c.segment(at, int(bit(fromServer)), psh|ack, part)
	}
}

// Close writes how the client closes the connection.
func (c *Connection) Close(at time.Time) {
	c.segment(at, 0, fin|ack, nil)
	c.segment(at, 1, fin|ack, nil)
	c.segment(at, 0, ack, nil)
}

func (c *Connection) segment(at time.Time, from int, flags byte, data []byte) {
	src, dst := c.ends[from], c.ends[1-from]
	b := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, src.Port()), dst.Port())
	b = binary.BigEndian.AppendUint32(b, c.next[from])
	b = binary.BigEndian.AppendUint32(b, c.next[1-from]*uint32(bit(flags&ack != 0)))
	b = append(b, 5<<4, flags, 0xff, 0xff, 0, 0, 0, 0)
	b = append(b, data...)
	binary.BigEndian.PutUint16(b[16:], checksum(pseudo(src, dst, 6, len(b)), b))
	if c.next[from] += uint32(len(data)); flags&(syn|fin) != 0 {
		c.next[from]++
	}
	c.m.Segment(at, src.Addr(), dst.Addr(), 6, b)
}

// ICMP returns an ICMP message, or an ICMPv6 message if the addresses are IPv6. info
// follows the checksum, data follows info.
func ICMP(src, dst netip.Addr, typ, code byte, info uint32, data []byte) []byte {
	b := binary.BigEndian.AppendUint32([]byte{typ, code, 0, 0}, info)
	b = append(b, data...)
	var pseudo []byte
	if src.Is6() {
		pseudo = append(append(pseudo, src.AsSlice()...), dst.AsSlice()...)
		pseudo = append(binary.BigEndian.AppendUint32(pseudo, uint32(len(b))), 0, 0, 0, 58)
	}
	binary.BigEndian.PutUint16(b[2:], checksum(pseudo, b))
	return b
}

// checksum returns the checksum of parts, all of an even length but for the last.
func checksum(parts ...[]byte) uint16 {
	var sum uint64
	for _, p := range parts {
		for ; len(p) > 4; p = p[4:] {
			sum += uint64(binary.BigEndian.Uint32(p))
		}
		var last [4]byte
		copy(last[:], p)
		sum += uint64(binary.BigEndian.Uint32(last[:]))
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

// packets returns the IP packets that carry a segment.
func (m *Writer) packets(src, dst netip.Addr, segment []byte) (list [][]byte) {
	head := 20
	if src.Is6() {
		head = 40
	}
	if m.o.MTU == 0 || head+len(segment) <= m.o.MTU {
		return [][]byte{IP(src, dst, m.id, 17, 0, false, false, segment)}
	}
	if src.Is6() {
		head += 8
	}
	step := (m.o.MTU - head) &^ 7
	for off := 0; off < len(segment); off += step {
		end := min(off+step, len(segment))
		list = append(list, IP(src, dst, m.id, 17, off, end < len(segment), true, segment[off:end]))
	}
	if m.o.Reverse {
		slices.Reverse(list)
	}
	return list
}

// IP returns an IPv4 or IPv6 packet, or a fragment of one. Offset is in bytes.
func IP(src, dst netip.Addr, id uint16, protocol byte, offset int, more, fragment bool, data []byte) []byte {
	be := binary.BigEndian
	if src.Is6() {
		b := be.AppendUint32(nil, 6<<28)
		n, next := len(data), protocol
		if fragment {
			n, next = n+8, 44
		}
		b = append(be.AppendUint16(b, uint16(n)), next, 64)
		b = append(append(b, src.AsSlice()...), dst.AsSlice()...)
		if fragment {
			b = append(b, protocol, 0)
			b = be.AppendUint16(b, uint16(offset)|bit(more))
			b = be.AppendUint32(b, uint32(id))
		}
		return append(b, data...)
	}
	b := be.AppendUint16(append(make([]byte, 0, 20+len(data)), 0x45, 0), uint16(20+len(data)))
	b = be.AppendUint16(b, id)
	b = be.AppendUint16(b, uint16(offset/8)|bit(more)<<13)
	b = append(b, 64, protocol, 0, 0)
	b = append(append(b, src.AsSlice()...), dst.AsSlice()...)
	be.PutUint16(b[10:], checksum(b))
	return append(b, data...)
}

func bit(b bool) uint16 {
	if b {
		return 1
	}
	return 0
}

// frame adds the link-layer header to a packet.
func (m *Writer) frame(src, dst netip.Addr, packet []byte) []byte {
	be := binary.BigEndian
	etherType := uint16(0x0800)
	if src.Is6() {
		etherType = 0x86dd
	}
	switch m.o.Link {
	case Null:
		family := uint32(2)
		if src.Is6() {
			family = 30
		}
		return m.append(nil, family, packet)
	case Raw:
		return packet
	case SLL:
		b := []byte{0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0}
		return append(be.AppendUint16(b, etherType), packet...)
	case SLL2:
		b := append(be.AppendUint16(nil, etherType), 0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0)
		return append(b, packet...)
	}
	last := func(a netip.Addr) byte { s := a.AsSlice(); return s[len(s)-1] }
	b := append(make([]byte, 0, 60+len(packet)), 2, 0, 0, 0, 0, last(dst), 2, 0, 0, 0, 0, last(src))
	if m.o.VLAN > 0 {
		b = be.AppendUint16(be.AppendUint16(b, 0x8100), m.o.VLAN)
	}
	b = append(be.AppendUint16(b, etherType), packet...)
	return append(b, make([]byte, max(0, 60-len(b)))...) // network cards pad: the trailer is not the packet's
}
