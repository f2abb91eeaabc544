package capture

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

// pcapRecords encodes frames in the format that [pcap] reads.
type pcapRecords struct {
	begun  bool // space for the header is reserved and the link type is known
	unit   uint32
	fine   bool // a frame needs nanoseconds
	frames int  // counted while unit is 0
	link   uint16
	limit  uint32
}

// evidence is the number of frames without nanoseconds that show that the clock counts
// microseconds. With a finer clock, one frame in a thousand looks like that.
const evidence = 8

func (p *pcapRecords) interfaces([]string) {}

func (p *pcapRecords) snap(n uint32) { p.limit = n }

func (p *pcapRecords) append(b []byte, f *Frame) ([]byte, error) {
	seconds, nanoseconds := f.Time.Unix(), uint32(f.Time.Nanosecond())
	switch {
	case seconds < 0 || seconds > math.MaxUint32:
		return b, fmt.Errorf("a pcap file has no time %s, only 1970 to 2106; write pcapng", f.Time.UTC().Format(time.DateOnly))
	case p.begun && f.LinkType != p.link:
		return b, fmt.Errorf("a pcap file has one link type, this one %s, not also %s; write pcapng", LinkTypeName(p.link), LinkTypeName(f.LinkType))
	case p.unit > 1 && nanoseconds%p.unit != 0:
		return b, errors.New("it has a time in nanoseconds, and the pcap file was begun with microseconds; write pcapng")
	}
	if !p.begun {
		p.begun, p.link = true, f.LinkType
		b = append(b, make([]byte, pcapHeader)...) // see ready
	}
	p.fine = p.fine || nanoseconds%1000 != 0
	p.frames++
	e := binary.LittleEndian
	b = e.AppendUint32(b, uint32(seconds))
	b = e.AppendUint32(b, nanoseconds/max(p.unit, 1))
	b = e.AppendUint32(b, uint32(len(f.Data)))
	b = e.AppendUint32(b, uint32(f.Length))
	return append(b, f.Data...), nil
}

// ready chooses the unit of time at the first write and converts the records, which have
// nanoseconds until then. It fills in the file header.
func (p *pcapRecords) ready(b []byte, last bool) []byte {
	if p.unit != 0 || !p.begun && !last {
		return b
	}
	if !p.begun {
		p.begun, p.link = true, 1
		b = append(b, make([]byte, pcapHeader)...)
	}
	e := binary.LittleEndian
	magic := uint32(magicNano)
	p.unit = 1
	if !p.fine && (last || p.frames >= evidence) {
		magic, p.unit = magicMicro, 1000
		for r := b[pcapHeader:]; len(r) > 0; r = r[pcapRecord+e.Uint32(r[8:]):] {
			e.PutUint32(r[4:], e.Uint32(r[4:])/1000)
		}
	}
	e.PutUint32(b, magic)
	e.PutUint16(b[4:], 2)
	e.PutUint16(b[6:], 4)
	e.PutUint32(b[16:], cmp.Or(p.limit, MaxFrame))
	e.PutUint32(b[20:], uint32(p.link))
	return b
}

func (p *pcapRecords) whole(b []byte, n int, first bool) int {
	end := 0
	if first {
		if end = pcapHeader; n < end {
			return 0
		}
	}
	for end < len(b) {
		next := end + pcapRecord + int(binary.LittleEndian.Uint32(b[end+8:]))
		if next > n {
			break
		}
		end = next
	}
	return end
}
