package capture

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// The magic numbers of pcap, in the byte order of the writer (draft-ietf-opsawg-pcap
// section 4).
const (
	magicMicro = 0xa1b2c3d4
	magicNano  = 0xa1b23c4d
)

// Sizes in a pcap file.
const (
	pcapHeader = 24
	pcapRecord = 16
)

// pcap reads the records of a pcap file:
//
//	time: seconds u32, and µs or ns u32; captured length u32; length u32; data
type pcap struct {
	in    *stream
	order byteOrder
	unit  uint32 // of the fraction of a second, in ns
	minor uint16 // of the version, which is 2.x
	link  uint16
}

// pcapMagic recognises a pcap file by its first bytes.
func pcapMagic(b []byte) (order byteOrder, magic uint32, ok bool) {
	for _, order = range [...]byteOrder{littleEndian, bigEndian} {
		if len(b) >= 4 {
			magic = order.uint32(b)
		}
		if magic == magicMicro || magic == magicNano {
			return order, magic, true
		}
	}
	return order, magic, false
}

// newPcap reads the header of the file:
//
//	magic u32; version: major u16, minor u16; reserved u64; snap length u32;
//	link type u16 and bits about the checksum of the frames u16, as one u32
//
// The snap length is ignored, because some writers exceed it.
func newPcap(in *stream, order byteOrder, magic uint32) (*pcap, error) {
	b := in.peek(pcapHeader)
	if len(b) < pcapHeader {
		return nil, in.cut("pcap file header", int64(len(b)), pcapHeader)
	}
	p := &pcap{in: in, order: order, unit: 1000}
	if magic == magicNano {
		p.unit = 1
	}
	major := order.uint16(b[4:])
	p.minor = order.uint16(b[6:])
	if major != 2 {
		return nil, fmt.Errorf("pcap version %d.%d is not known, only 2.x", major, p.minor)
	}
	p.link = uint16(order.uint32(b[20:]))
	in.advance(pcapHeader)
	return p, nil
}

func (p *pcap) linkType() (uint16, bool) { return p.link, true }

func (p *pcap) next(f *Frame) error {
	in := p.in
	b := in.buf[in.r:in.w]
	if len(b) < pcapRecord {
		return p.more(f, pcapRecord)
	}
	head := (*[pcapRecord]byte)(b)
	seconds, fraction := binary.LittleEndian.Uint32(head[0:]), binary.LittleEndian.Uint32(head[4:])
	captured, length := binary.LittleEndian.Uint32(head[8:]), binary.LittleEndian.Uint32(head[12:])
	if p.order == bigEndian {
		seconds, fraction = bits.ReverseBytes32(seconds), bits.ReverseBytes32(fraction)
		captured, length = bits.ReverseBytes32(captured), bits.ReverseBytes32(length)
	}
	// Before version 2.3, and in 2.3 with some writers, the two lengths are swapped.
	// libpcap has the same rule.
	if p.minor <= 3 && (p.minor < 3 || captured > length) {
		captured, length = length, captured
	}
	size := pcapRecord + int(captured)
	if captured > MaxFrame || len(b) < size {
		return p.more(f, size)
	}
	in.advance(size)
	f.Time = stampOf(int64(seconds)*1e9 + int64(fraction)*int64(p.unit))
	f.LinkType, f.Length, f.Interface = p.link, wireLength(length, captured), 0
	// Pointers are written in a row: the runtime is asked once whether it marks.
	f.Data, f.Name, f.Comments = b[pcapRecord:size:size], "", nil
	return nil
}

// more is next once size bytes, the record or its header, are buffered.
func (p *pcap) more(f *Frame, size int) error {
	in := p.in
	in.mark()
	if uint32(size-pcapRecord) > MaxFrame {
		return fmt.Errorf("record claims %d bytes, a frame has %d at most", uint32(size-pcapRecord), MaxFrame)
	}
	switch b := in.ahead(size); {
	case len(b) >= size:
		return p.next(f)
	case len(b) == 0:
		return in.err
	case len(b) < pcapRecord:
		return in.cut("record header", int64(len(b)), pcapRecord)
	default:
		return in.cut("record", int64(len(b)-pcapRecord), int64(size-pcapRecord))
	}
}
