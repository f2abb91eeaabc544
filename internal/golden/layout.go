package golden

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
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
	rest   string // what is behind them
	packet bool   // that is a frame
	hidden bool   // that is a secret
}{
	sectionHeader: {name: "section", fields: layout{{"byte_order", 4}, {"version_major", 2}, {"version_minor", 2}, {"length", 8}}, rest: "options"},
	1:             {name: "interface", fields: layout{{"link_type", 2}, {"reserved", 2}, {"snap_length", 4}}, rest: "options"},
	2:             {name: "obsolete_packet", fields: layout{{"interface", 2}, {"drops", 2}, {"time", 8}, {"captured_length", 4}, {"length", 4}}, rest: "options", packet: true},
	3:             {name: "simple_packet", fields: layout{{"length", 4}}, rest: "padding", packet: true},
	4:             {name: "names", rest: "data"},
	5:             {name: "statistics", fields: layout{{"interface", 4}, {"time", 8}}, rest: "options"},
	6:             {name: "packet", fields: layout{{"interface", 4}, {"time", 8}, {"captured_length", 4}, {"length", 4}}, rest: "options", packet: true},
	10:            {name: "secrets", fields: layout{{"type", 4}, {"length", 4}}, rest: "data", hidden: true},
}

const sectionHeader = 0x0a0d0d0a

// A container knows what is around the frames of a file.
type container struct {
	format string // pcap, pcapng, snoop; "" for what is no capture
	file   layout // its head
	record layout // before each frame
}

// containerOf looks at the first bytes of a file.
func containerOf(head []byte) container {
	switch {
	case bytes.HasPrefix(head, []byte("\n\r\r\n")):
		return container{format: "pcapng"}
	case bytes.HasPrefix(head, []byte("snoop")):
		return container{"snoop", snoopFile, snoopRecord}
	}
	return container{"pcap", pcapFile, pcapRecord}
}

// A block of pcapng.
type block struct {
	from, to int64 // in the file
	typ      uint32
}

// A walker finds the blocks of a pcapng file in its bytes, one after the other:
// they may be longer than anything that is kept of them.
type walker struct {
	block block // which the last byte was of
	order binary.ByteOrder
	head  [12]byte
	n     int // how much of it is known
}

// step takes the byte at an offset, and reports whether a block begins with it.
func (w *walker) step(at int64, c byte) (begins bool) {
	if begins = at == w.block.to; begins {
		w.block, w.n = block{from: at, to: at + int64(len(w.head))}, 0
	}
	if w.n == len(w.head) {
		return false
	}
	w.head[w.n] = c
	if w.n++; w.n < len(w.head) {
		return begins
	}
	if binary.BigEndian.Uint32(w.head[:]) == sectionHeader { // the same in either order
		w.order = binary.BigEndian
		if w.head[8] == 0x4d {
			w.order = binary.LittleEndian
		}
	}
	if w.order == nil {
		w.order = binary.LittleEndian // no pcapng begins so
	}
	w.block.typ = w.order.Uint32(w.head[:])
	size := (int64(w.order.Uint32(w.head[4:])) + 3) &^ 3
	w.block.to = w.block.from + max(int64(len(w.head)), size)
	return begins
}

// locate finds the data of a frame in its record.
func (r *record) locate(data []byte) {
	r.from = len(r.raw) - len(data)
	switch r.names.format {
	case "pcapng":
		if n := len(r.blocks); n > 0 {
			b := r.blocks[n-1]
			r.from = int(b.from-r.rawAt()) + anyBlock.size() + blocks[b.typ].fields.size()
		}
	case "snoop":
		r.from = snoopRecord.size()
	}
	if r.from < 0 || r.from+len(data) > len(r.raw) || !bytes.Equal(r.raw[r.from:r.from+len(data)], data) {
		if r.from = bytes.LastIndex(r.raw, data); r.from < 0 {
			r.from, r.to = len(r.raw), len(r.raw)
			return
		}
	}
	r.to = r.from + len(data)
}

// around names a byte of a record that is not one of its frame. own tells whether
// it is of what carries the frame nevertheless, and hidden whether it is a secret.
func (r *record) around(at int64) (field string, own, hidden bool) {
	c, name := &r.names, ""
	switch i := int(at - r.at); {
	case c.format == "":
		return "file", false, false
	case c.format == "pcapng":
		n := slices.IndexFunc(r.blocks, func(b block) bool { return at >= b.from && at < b.to })
		if n < 0 {
			break // behind the last block
		}
		b := r.blocks[n]
		k := blocks[b.typ]
		own = r.frame > 0 && n == len(r.blocks)-1
		switch i := int(at - b.from); {
		case i < anyBlock.size():
			name = anyBlock.field(i, "")
		case at >= b.to-4:
			name = "block_length"
		default:
			name = k.fields.field(i-anyBlock.size(), cmp.Or(k.rest, "data"))
			hidden = k.hidden && i >= anyBlock.size()+k.fields.size()
		}
		name = cmp.Or(k.name, "block") + "." + name
	case r.at == 0:
		name = c.file.field(i, "")
	case at < r.rawAt()+int64(r.from):
		name, own = c.record.field(i, ""), true
	default:
		name, own = "padding", true
	}
	return c.format + "." + cmp.Or(name, "rest"), own && r.frame > 0, hidden
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
type payload struct {
	from, to, at int
	fragment     bool // it is not all of it
}

// headers names the byte at an offset of a frame, and returns where its payload
// is. It knows the headers that most captures have; what is in others is called
// data of the one before.
func headers(link uint16, data []byte, at int) (field string, p payload) {
	const (
		typeIPv4, typeARP, typeIPv6 = 0x0800, 0x0806, 0x86dd

		hopByHop, udp, routing, fragment, authentication, destination = 0, 17, 43, 44, 51, 60
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
			p.fragment = binary.BigEndian.Uint16(h[6:])&0x3fff != 0
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
			for more := true; more && piece == 0; {
				// All but one say in their second byte how long they are.
				name, size := "", 8
				if off+2 <= end {
					size += 8 * int(data[off+1])
				}
				switch protocol {
				case hopByHop, destination:
					name = "ipv6_options"
				case routing:
					name = "ipv6_routing"
				case authentication:
					name, size = "ipv6_authentication", size/2+4
				case fragment:
					if h = enter("ipv6_fragment", fragmentHeader); h != nil {
						protocol, piece = h[0], int(binary.BigEndian.Uint16(h[2:])&0xfff8)
						p.fragment = binary.BigEndian.Uint16(h[2:])&0xfff9 != 0
						continue
					}
				}
				if more = name != ""; more {
					if h = enter(name, layout{{"next_header", 1}, {"length", 1}, {"data", size - 2}}); h == nil {
						break
					}
					protocol = h[0]
				}
			}
		}
	case typeARP:
		last = "arp"
	}
	if protocol == udp && (piece > 0 || enter("udp", udpHeader) != nil) {
		p.from, p.to, p.at = off, end, max(0, piece-udpHeader.size())
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
