package capture

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"strconv"
)

// The blocks of a pcapng file that are read (draft-ietf-opsawg-pcapng section
// 4). All others are skipped.
const (
	blockInterface = 1
	blockPacket    = 2 // obsolete (appendix A)
	blockSimple    = 3
	blockEnhanced  = 6
	blockSection   = 0x0a0d0d0a // the same in either byte order
)

// Blocks that are skipped but counted, because Wireshark lists them as packets and the
// frame numbers agree with Wireshark's.
const (
	blockJournal      = 9 // of systemd
	blockSysdig       = 0x204
	blockSysdig2      = 0x216
	blockSysdig2Large = 0x221
	blockCustom       = 0x00000bad // section 4.7
	blockCustomKept   = 0x40000bad // must not be copied
)

// The options that are read (sections 3.5, 4.2).
const (
	optionEnd        = 0
	optionComment    = 1
	optionResolution = 9  // if_tsresol
	optionOffset     = 14 // if_tsoffset
)

// pcapngOrder is the byte-order magic of a section.
const pcapngOrder = 0x1a2b3c4d

// maxInterfaces limits the interfaces of a section.
const maxInterfaces = 1 << 16

// pcapng reads the blocks of a pcapng file:
//
//	type u32; length of the block u32; contents; padding to a multiple of 4;
//	length of the block u32
//
// A file is a sequence of sections, each with its own byte order and interfaces. Section
// lengths are not used: a section ends where the next one begins.
type pcapng struct {
	in         *stream
	order      byteOrder
	interfaces []networkInterface // of this section
	before     int                // number of interfaces in earlier sections
	first      uint16             // link type of the first interface of all
	described  bool               // a first interface exists
	err        error              // deferred error from before it
}

// A networkInterface is the content of an interface description block.
type networkInterface struct {
	link       uint16
	snap       uint32 // 0: no limit
	resolution resolution
	offset     int64  // seconds to add to each time
	name       string // its number if the file gives it none
}

// newPcapng reads up to the first interface. An error after the first section header is
// deferred to next, because the file is known to be pcapng.
func newPcapng(in *stream) (*pcapng, error) {
	p := &pcapng{in: in}
	if _, err := p.block(nil); err != nil {
		return nil, err
	}
	for !p.described && p.err == nil {
		// A packet before the first interface is an error, so no frame is filled here.
		_, p.err = p.block(nil)
	}
	return p, nil
}

func (p *pcapng) linkType() (uint16, bool) { return p.first, p.described }

func (p *pcapng) next(f *Frame) error {
	for p.err == nil {
		found, err := p.block(f)
		if found || err != nil {
			return err
		}
	}
	return p.err
}

// block reads a block. It reports whether the block held a frame, which is then in f.
func (p *pcapng) block(f *Frame) (found bool, err error) {
	p.in.mark()
	head := p.in.peek(12)
	switch {
	case len(head) == 0:
		return false, p.in.err
	case len(head) < 12:
		return false, p.in.cut("block", int64(len(head)), 12)
	}
	if hasMagic(head, pcapngMagic) {
		switch {
		case littleEndian.uint32(head[8:]) == pcapngOrder:
			p.order = littleEndian
		case bigEndian.uint32(head[8:]) == pcapngOrder:
			p.order = bigEndian
		default:
			return false, fmt.Errorf("section header with % x in place of the byte-order magic", head[8:])
		}
	}
	typ := p.order.uint32(head)
	total := p.order.uint32(head[4:])
	if total < 12 {
		return false, fmt.Errorf("block of type %#x claims %d bytes, a block has 12 at least", typ, total)
	}
	// Some writers do not count the padding that they write. Wireshark has the same rule.
	size := (int64(total) + 3) &^ 3
	switch typ {
	case blockSection, blockInterface, blockPacket, blockSimple, blockEnhanced:
	default:
		return false, p.skip(typ, total, size)
	}
	if size > bufferSize {
		return false, fmt.Errorf("block of type %#x claims %d bytes, %d at most are read", typ, total, bufferSize)
	}
	block := p.in.peek(int(size))
	if int64(len(block)) < size {
		return false, p.in.cut("block", int64(len(block)), size)
	}
	if err := p.checkEnd(typ, total, size, block[size-4:]); err != nil {
		return false, err
	}
	p.in.advance(len(block))

	b := block[8 : size-4]
	if least := blockLeast(typ); len(b) < least {
		return false, fmt.Errorf("block of type %#x has %d bytes, %d at least are needed", typ, total, least+12)
	}
	switch typ {
	case blockSection:
		return false, p.section(b)
	case blockInterface:
		return false, p.describe(b)
	case blockSimple:
		return true, p.simple(f, b)
	case blockPacket:
		return true, p.packet(f, uint32(p.order.uint16(b)), b)
	}
	return true, p.packet(f, p.order.uint32(b), b)
}

// blockLeast returns the size of the fixed contents of a block.
func blockLeast(typ uint32) int {
	switch typ {
	case blockSection:
		return 16
	case blockInterface:
		return 8
	case blockSimple:
		return 4
	}
	return 20
}

// skip skips a block that is not read: name resolution, interface statistics, decryption
// secrets, custom blocks and unknown ones.
func (p *pcapng) skip(typ, total uint32, size int64) error {
	if n := p.in.skip(size - 4); n < size-4 {
		return p.in.cut("block", n, size)
	}
	end := p.in.peek(4)
	if len(end) < 4 {
		return p.in.cut("block", size-4+int64(len(end)), size)
	}
	p.in.advance(4)
	switch typ {
	case blockJournal, blockSysdig, blockSysdig2, blockSysdig2Large, blockCustom, blockCustomKept:
		p.in.frames++
	}
	return p.checkEnd(typ, total, size, end)
}

// checkEnd compares the two lengths of a block. If they differ, the file is damaged.
func (p *pcapng) checkEnd(typ, total uint32, size int64, end []byte) error {
	if n := p.order.uint32(end); n != total && int64(n) != size {
		return fmt.Errorf("block of type %#x has %d bytes by its head and %d by its end", typ, total, n)
	}
	return nil
}

// section reads the contents of a section header block (section 4.1):
//
//	byte-order magic u32; version: major u16, minor u16; section length i64;
//	options
func (p *pcapng) section(b []byte) error {
	major, minor := p.order.uint16(b[4:]), p.order.uint16(b[6:])
	// Some writers write 1.2 for 1.0, as the document states.
	if major != 1 || minor != 0 && minor != 2 {
		return fmt.Errorf("pcapng version %d.%d is not known, only 1.0", major, minor)
	}
	p.before += len(p.interfaces)
	p.interfaces = p.interfaces[:0]
	return nil
}

// describe reads the contents of an interface description block (section
// 4.2):
//
//	link type u16; reserved u16; snap length u32; options
func (p *pcapng) describe(b []byte) error {
	if len(p.interfaces) == maxInterfaces {
		return fmt.Errorf("more than %d interfaces in a section", maxInterfaces)
	}
	n := networkInterface{link: p.order.uint16(b), snap: p.order.uint32(b[4:]), resolution: microseconds}
	rest := b[8:]
	for code, value := range p.options(&rest) {
		switch {
		case code == optionResolution && len(value) >= 1:
			n.resolution = resolution(value[0])
		case code == optionName && len(value) > 0:
			n.name = string(value[:min(len(value), maxName)])
		case code == optionOffset && len(value) >= 8:
			n.offset = int64(p.order.uint64(value))
		}
	}
	if len(rest) > 0 {
		// The rest might contain the unit of all times.
		return fmt.Errorf("interface description with an option that does not fit into its last %d bytes", len(rest))
	}
	n.name = cmp.Or(n.name, strconv.Itoa(p.before+len(p.interfaces)))
	p.interfaces = append(p.interfaces, n)
	if !p.described {
		p.first, p.described = n.link, true
	}
	return nil
}

// packet reads the contents of an enhanced packet block (section 4.3) or of
// its obsolete ancestor:
//
//	interface u32, or u16 and drops u16; time u32 (high), u32 (low);
//	captured length u32; length u32; data; padding; options
func (p *pcapng) packet(f *Frame, id uint32, b []byte) error {
	if int64(id) >= int64(len(p.interfaces)) {
		return fmt.Errorf("packet of interface %d, but the section describes %d interfaces", id, len(p.interfaces))
	}
	n := &p.interfaces[id]
	stamp := uint64(p.order.uint32(b[4:]))<<32 | uint64(p.order.uint32(b[8:]))
	captured := p.order.uint32(b[12:])
	length := p.order.uint32(b[16:])
	b = b[20:]
	if err := p.fill(f, int(id), b, captured, length); err != nil {
		return err
	}
	f.Time = n.resolution.time(stamp, n.offset)
	if rest := b[(captured+3)&^3:]; len(rest) > 0 {
		// Damaged options do not affect the frame: those that do not fit into the block
		// are ignored.
		for code, value := range p.options(&rest) {
			if code == optionComment {
				f.Comments = append(f.Comments, string(value))
			}
		}
	}
	return nil
}

// fill fills f with a frame of interface id of this section: the first captured
// bytes of b. The frame has no time yet.
func (p *pcapng) fill(f *Frame, id int, b []byte, captured, length uint32) error {
	switch {
	case captured > MaxFrame:
		return fmt.Errorf("packet claims %d bytes, a frame has %d at most", captured, MaxFrame)
	case int(captured) > len(b):
		return fmt.Errorf("packet claims %d bytes in a block with room for %d", captured, len(b))
	}
	n := &p.interfaces[id]
	f.Time = 0
	f.LinkType = n.link
	f.Data = b[:captured:captured]
	f.Length = wireLength(length, captured)
	f.Interface, f.Name = p.before+id, p.nameOf(n)
	f.Comments = nil
	return nil
}

// nameOf returns the name of an interface, "" as long as the file has described
// only one.
func (p *pcapng) nameOf(n *networkInterface) string {
	if p.before+len(p.interfaces) == 1 {
		return ""
	}
	return n.name
}

// simple reads the contents of a simple packet block (section 4.4):
//
//	length u32; data; padding
//
// The packet belongs to the first interface of the section, whose snap length limits its
// captured length.
func (p *pcapng) simple(f *Frame, b []byte) error {
	if len(p.interfaces) == 0 {
		return errors.New("packet of interface 0, but the section describes 0 interfaces")
	}
	n := &p.interfaces[0]
	length := p.order.uint32(b)
	b = b[4:]
	captured := min(length, uint32(len(b)))
	if n.snap != 0 {
		captured = min(captured, n.snap)
	}
	return p.fill(f, 0, b, captured, length)
}

// options removes the options from a list (section 3.5), one after the other:
//
//	code u16; length u16; value; padding to a multiple of 4
//
// At the end, rest is empty, unless the remaining bytes are not an option.
func (p *pcapng) options(rest *[]byte) iter.Seq2[uint16, []byte] {
	return func(yield func(code uint16, value []byte) bool) {
		for b := *rest; len(b) >= 4; b = *rest {
			code, size := p.order.uint16(b), int(p.order.uint16(b[2:]))
			if code == optionEnd {
				*rest = nil
				return
			}
			if size > len(b)-4 {
				return
			}
			if *rest = b[min(4+(size+3)&^3, len(b)):]; !yield(code, b[4:4+size]) {
				return
			}
		}
	}
}
