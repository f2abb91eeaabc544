package golden

import (
	"bytes"
	"cmp"
	"encoding/binary"
)

// A layout names the fields of a header, one after the other.
type layout []struct {
	name string
	size int
}

// field returns the name of the field at an offset, rest behind the last one.
func (l layout) field(at int, rest string) string {
	for _, f := range l {
		if at < f.size {
			return f.name
		}
		at -= f.size
	}
	return rest
}

// size of all fields.
func (l layout) size() (n int) {
	for _, f := range l {
		n += f.size
	}
	return n
}

// The headers of files: draft-ietf-opsawg-pcap section 4, draft-ietf-opsawg-pcapng
// section 4, and RFC 1761.
var (
	pcapFile    = layout{{"magic", 4}, {"version_major", 2}, {"version_minor", 2}, {"reserved", 8}, {"snap_length", 4}, {"link_type", 4}}
	pcapRecord  = layout{{"seconds", 4}, {"fraction", 4}, {"captured_length", 4}, {"length", 4}, {"extension", 8}}
	snoopFile   = layout{{"magic", 8}, {"version", 4}, {"link_type", 4}}
	snoopRecord = layout{{"length", 4}, {"captured_length", 4}, {"record_length", 4}, {"drops", 4}, {"seconds", 4}, {"microseconds", 4}}
	anyBlock    = layout{{"type", 4}, {"block_length", 4}}
)

// blocks are those of pcapng.
var blocks = map[uint32]struct {
	name   string
	fields layout
	packet bool // it holds a frame behind them
}{
	sectionHeader: {"section", layout{{"byte_order", 4}, {"version_major", 2}, {"version_minor", 2}, {"length", 8}}, false},
	1:             {"interface", layout{{"link_type", 2}, {"reserved", 2}, {"snap_length", 4}}, false},
	2:             {"obsolete_packet", layout{{"interface", 2}, {"drops", 2}, {"time", 8}, {"captured_length", 4}, {"length", 4}}, true},
	3:             {"simple_packet", layout{{"length", 4}}, true},
	4:             {"names", nil, false},
	5:             {"statistics", layout{{"interface", 4}, {"time", 8}}, false},
	6:             {"packet", layout{{"interface", 4}, {"time", 8}, {"captured_length", 4}, {"length", 4}}, true},
}

const sectionHeader = 0x0a0d0d0a

// A container knows what is around the frames of a file.
type container struct {
	format string           // pcap, pcapng, snoop
	file   layout           // its head
	record layout           // before each frame
	order  binary.ByteOrder // of pcapng
}

// begin looks at the first bytes of a file.
func (c container) begin(head []byte) container {
	c.order = binary.LittleEndian
	switch {
	case bytes.HasPrefix(head, []byte("\n\r\r\n")):
		c.format = "pcapng"
	case bytes.HasPrefix(head, []byte("snoop")):
		c.format, c.file, c.record = "snoop", snoopFile, snoopRecord
	default:
		c.format, c.file, c.record = "pcap", pcapFile, pcapRecord
	}
	return c.next(head)
}

// next takes note of what is said in a record about those that follow.
func (c container) next(raw []byte) container {
	c.each(raw, func(b block) { c.order = b.order })
	return c
}

// A block of pcapng.
type block struct {
	from, to int
	typ      uint32
	order    binary.ByteOrder
}

// each goes through the blocks of a record.
func (c container) each(raw []byte, f func(block)) {
	if c.format != "pcapng" {
		return
	}
	order := c.order
	for at := 0; at+12 <= len(raw); {
		b := block{from: at, typ: binary.BigEndian.Uint32(raw[at:])}
		if b.typ == sectionHeader {
			order = binary.BigEndian
			if raw[at+8] == 0x4d {
				order = binary.LittleEndian
			}
		}
		b.typ, b.order = order.Uint32(raw[at:]), order
		size := int(min(order.Uint32(raw[at+4:]), 1<<30))
		b.to = min(at+max(12, (size+3)&^3), len(raw))
		f(b)
		at = b.to
	}
}

// data returns where the data of a frame is in its record.
func (c container) data(raw, data []byte) (from, to int) {
	from = len(raw) - len(data)
	switch c.format {
	case "pcapng":
		c.each(raw, func(b block) {
			if k := blocks[b.typ]; k.packet {
				from = b.from + anyBlock.size() + k.fields.size()
			}
		})
	case "snoop":
		from = c.record.size()
	}
	if from < 0 || from+len(data) > len(raw) || !bytes.Equal(raw[from:from+len(data)], data) {
		if from = bytes.LastIndex(raw, data); from < 0 {
			return len(raw), len(raw)
		}
	}
	return from, from + len(data)
}

// around names a byte of a record that is not one of its frame.
func (r *record) around(i int) string {
	c, name := &r.names, ""
	switch {
	case c.format == "" || i < 0: // no capture, or what is skipped
		return "file"
	case c.format == "pcapng":
		c.each(r.raw, func(b block) {
			if i < b.from || i >= b.to {
				return
			}
			k := blocks[b.typ]
			switch {
			case i < b.from+anyBlock.size():
				name = anyBlock.field(i-b.from, "")
			case i >= b.to-4:
				name = "block_length"
			default:
				name = k.fields.field(i-b.from-anyBlock.size(), "options")
			}
			name = cmp.Or(k.name, "block") + "." + name
		})
	case r.at == 0:
		name = c.file.field(i, "")
	case i < r.from:
		name = c.record.field(i, "")
	default:
		name = "padding"
	}
	return c.format + "." + cmp.Or(name, "rest")
}

// The headers that carry datagrams.
var (
	ethernetHeader = layout{{"destination", 6}, {"source", 6}, {"type", 2}}
	vlanHeader     = layout{{"tag", 2}, {"type", 2}}
	sllHeader      = layout{{"packet_type", 2}, {"device_type", 2}, {"address_length", 2}, {"address", 8}, {"type", 2}}
	sll2Header     = layout{{"type", 2}, {"reserved", 2}, {"interface", 4}, {"device_type", 2}, {"packet_type", 1}, {"address_length", 1}, {"address", 8}}
	loopHeader     = layout{{"family", 4}}
	ipv4Header     = layout{{"version_and_header_length", 1}, {"service", 1}, {"length", 2}, {"identification", 2}, {"fragment", 2}, {"ttl", 1},
		{"protocol", 1}, {"checksum", 2}, {"source", 4}, {"destination", 4}}
	ipv6Header     = layout{{"version_class_and_flow", 4}, {"length", 2}, {"next_header", 1}, {"hop_limit", 1}, {"source", 16}, {"destination", 16}}
	fragmentHeader = layout{{"next_header", 1}, {"reserved", 1}, {"offset", 2}, {"identification", 4}}
	udpHeader      = layout{{"source_port", 2}, {"destination_port", 2}, {"length", 2}, {"checksum", 2}}
)

// A payload says where a frame has a piece of a UDP payload, and where in the
// payload it belongs; at is negative if there is none.
type payload struct{ from, to, at int }

// headers names the byte at an offset of a frame, and returns where its payload
// is. It knows the headers that most captures have; what is in others is called
// data of the one before.
func headers(link uint16, data []byte, at int) (field string, p payload) {
	const (
		typeIPv4, typeIPv6 = 0x0800, 0x86dd
		udp, fragment      = 17, 44
	)
	p.at = -1
	off, end := 0, len(data)
	last := "frame"
	// enter takes a header, and returns it if all of it is there.
	enter := func(name string, l layout) []byte {
		if l.size() > end-off {
			return nil
		}
		if at >= off && at < off+l.size() {
			field = name + "." + l.field(at-off, "")
		}
		off += l.size()
		last = name
		return data[off-l.size() : off]
	}
	next := 0
	switch link {
	case 0, 108:
		enter("loopback", loopHeader)
	case 1:
		if h := enter("ethernet", ethernetHeader); h != nil {
			next = int(binary.BigEndian.Uint16(h[12:]))
		}
	case 113:
		enter("sll", sllHeader)
	case 276:
		enter("sll2", sll2Header)
	case 12, 14, 101, 228, 229:
	default:
		return "frame.data", p
	}
	for next == 0x8100 || next == 0x88a8 {
		h := enter("vlan", vlanHeader)
		if h == nil {
			break
		}
		next = int(binary.BigEndian.Uint16(h[2:]))
	}
	if next == 0 && off < end { // of other links, the packet tells
		next = map[byte]int{4: typeIPv4, 6: typeIPv6}[data[off]>>4]
	}
	start, protocol, piece := off, byte(0), 0
	switch next {
	case typeIPv4:
		if h := enter("ipv4", ipv4Header); h != nil {
			length, options := int(binary.BigEndian.Uint16(h[2:])), int(h[0]&15)*4-len(h)
			if length >= len(h) {
				end = min(end, start+length)
			}
			protocol, piece = h[9], int(binary.BigEndian.Uint16(h[6:])&0x1fff)*8
			if options > 0 && off+options <= end {
				enter("ipv4", layout{{"options", options}})
			}
		}
	case typeIPv6:
		if h := enter("ipv6", ipv6Header); h != nil {
			if length := int(binary.BigEndian.Uint16(h[4:])); length > 0 {
				end = min(end, off+length)
			}
			protocol = h[6]
			if protocol == fragment {
				if h = enter("ipv6_fragment", fragmentHeader); h != nil {
					protocol, piece = h[0], int(binary.BigEndian.Uint16(h[2:])&0xfff8)
				}
			}
		}
	}
	if protocol == udp && (piece > 0 || enter("udp", udpHeader) != nil) {
		p = payload{off, end, max(0, piece-udpHeader.size())}
	}
	switch {
	case field != "":
	case at >= end:
		field = "frame.padding"
	default:
		field = last + ".data"
	}
	return field, p
}
