package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// snoop reads the captures of Solaris and its descendants (RFC 1761), with frames of up to
// 4096 bytes. It does as gopacket's reader does; that comes with tables of megabytes that
// the start of the program and every collection of garbage would pay for.
type snoop struct {
	in   *stream
	link uint16
}

const (
	snoopHeader, snoopRecord = 16, 24
	snoopVersion             = 2
	maxSnoop                 = 4096 // bytes of a frame, and of its padding
)

// snoopLinks are the link types: Ethernet, Token Ring, HDLC and FDDI.
var snoopLinks = map[uint32]uint16{0: 1, 2: 6, 4: 1, 5: 104, 8: 10}

func newSnoop(in *stream) (*snoop, error) {
	h := in.peek(snoopHeader)
	if len(h) < snoopHeader {
		return nil, fmt.Errorf("snoop file header: %w", early(in.err))
	}
	in.advance(snoopHeader)
	if v := binary.BigEndian.Uint32(h[8:]); v != snoopVersion {
		return nil, fmt.Errorf("snoop file header: unknown version %d", v)
	}
	kind := binary.BigEndian.Uint32(h[12:])
	link, ok := snoopLinks[kind]
	if !ok {
		return nil, fmt.Errorf("snoop file header: unknown link type %d", kind)
	}
	return &snoop{in: in, link: link}, nil
}

func (p *snoop) linkType() (uint16, bool) { return p.link, true }

func (p *snoop) next(f *Frame) error {
	p.in.mark()
	h := p.in.peek(snoopRecord)
	if len(h) == 0 {
		return p.in.err
	}
	if len(h) < snoopRecord {
		return fmt.Errorf("snoop record, after %d bytes: %w", len(h), early(p.in.err))
	}
	word := func(at int) uint32 { return binary.BigEndian.Uint32(h[at:]) }
	length, captured, record, seconds, micros := word(0), word(4), word(8), word(16), word(20)
	switch {
	case captured > length:
		return errors.New("snoop record: more bytes than the frame has")
	case captured > maxSnoop:
		return fmt.Errorf("snoop record claims %d bytes, a frame has %d at most", captured, maxSnoop)
	case record < snoopRecord+captured || record > snoopRecord+captured+maxSnoop:
		return errors.New("snoop record: its length does not fit its frame")
	}
	b := p.in.peek(int(record))
	if len(b) < int(record) {
		return fmt.Errorf("snoop record, after %d bytes: %w", len(b), early(p.in.err))
	}
	p.in.advance(int(record))
	f.Time = time.Unix(int64(seconds), int64(micros)*1000).UTC()
	f.LinkType = p.link
	f.Data = b[snoopRecord : snoopRecord+captured : snoopRecord+captured]
	f.Length = wireLength(length, captured)
	f.Interface, f.Name = 0, ""
	f.Comments = nil
	return nil
}
