package capture

import (
	"encoding/binary"
	"fmt"
)

// Further options that are written.
const (
	optionApplication = 4 // shb_userappl
	application       = "qdissect"
	nanosecondsCode   = 9 // value of if_tsresol
	optionName        = 2 // if_name
	maxName           = 255
)

// pcapngRecords encodes frames in the format that [pcapng] reads: one section, with
// nanoseconds.
type pcapngRecords struct {
	begun bool
	limit uint32
	known map[written]uint32
	last  written // the interface of the previous frame, usually the same
	id    uint32
	names []string
}

// written identifies an interface of the file.
type written struct {
	source int
	link   uint16
	limit  uint32
}

func (p *pcapngRecords) snap(n uint32) { p.limit = n }

func (p *pcapngRecords) interfaces(names []string) { p.names = names }

func (p *pcapngRecords) ready(b []byte, _ bool) []byte {
	if !p.begun {
		p.begun = true
		head := appendSection(nil)
		b = append(head, b...) // append has not done it: there was no frame
	}
	return b
}

func (p *pcapngRecords) whole(b []byte, n int, _ bool) int {
	end := 0
	for end < len(b) {
		next := end + int(binary.LittleEndian.Uint32(b[end+4:]))
		if next > n {
			break
		}
		end = next
	}
	return end
}

func (p *pcapngRecords) append(b []byte, f *Frame) ([]byte, error) {
	start := len(b)
	options := 0
	for _, c := range f.Comments {
		if len(c) > 1<<16-1 {
			return b, fmt.Errorf("a comment of %d bytes, %d at most are possible", len(c), 1<<16-1)
		}
		options += 4 + (len(c)+3)&^3
	}
	if options > 0 {
		options += 4
	}
	padded := (len(f.Data) + 3) &^ 3
	if 32+padded+options > bufferSize {
		return b, fmt.Errorf("a frame with comments of %d bytes in all, %d at most are read back", padded+options, bufferSize-32)
	}
	if !p.begun {
		p.begun = true
		b = appendSection(b)
	}
	in := written{f.Interface, f.LinkType, p.limit}
	if p.known == nil || in != p.last {
		id, ok := p.known[in]
		if !ok {
			if len(p.known) == maxInterfaces {
				return b[:start], fmt.Errorf("more than %d interfaces", maxInterfaces)
			}
			if p.known == nil {
				p.known = make(map[written]uint32)
			}
			id = uint32(len(p.known))
			p.known[in] = id
			name := ""
			if in.source >= 0 && in.source < len(p.names) {
				name = p.names[in.source]
			}
			b = appendInterface(b, &in, name)
		}
		p.last, p.id = in, id
	}
	stamp := uint64(f.Time.UnixNano())
	e := binary.LittleEndian
	total := uint32(32 + padded + options)
	b = e.AppendUint32(b, blockEnhanced)
	b = e.AppendUint32(b, total)
	b = e.AppendUint32(b, p.id)
	b = e.AppendUint32(b, uint32(stamp>>32))
	b = e.AppendUint32(b, uint32(stamp))
	b = e.AppendUint32(b, uint32(len(f.Data)))
	b = e.AppendUint32(b, uint32(f.Length))
	b = append(b, f.Data...)
	b = appendPadding(b, len(f.Data))
	for _, c := range f.Comments {
		b = appendOption(b, optionComment, c)
	}
	if options > 0 {
		b = e.AppendUint32(b, optionEnd)
	}
	return e.AppendUint32(b, total), nil
}

func appendSection(b []byte) []byte {
	e := binary.LittleEndian
	const total = 28 + 4 + (len(application)+3)&^3 + 4
	b = e.AppendUint32(b, blockSection)
	b = e.AppendUint32(b, uint32(total))
	b = e.AppendUint32(b, pcapngOrder)
	b = e.AppendUint16(b, 1)
	b = e.AppendUint16(b, 0)
	b = e.AppendUint64(b, 1<<64-1) // section length: unknown
	b = appendOption(b, optionApplication, application)
	b = e.AppendUint32(b, optionEnd)
	return e.AppendUint32(b, uint32(total))
}

func appendInterface(b []byte, in *written, name string) []byte {
	e := binary.LittleEndian
	total := uint32(20 + 8 + 4)
	name = name[:min(len(name), maxName)]
	if name != "" {
		total += uint32(4 + (len(name)+3)&^3)
	}
	b = e.AppendUint32(b, blockInterface)
	b = e.AppendUint32(b, total)
	b = e.AppendUint16(b, in.link)
	b = e.AppendUint16(b, 0)
	b = e.AppendUint32(b, in.limit)
	if name != "" {
		b = appendOption(b, optionName, name)
	}
	b = appendOption(b, optionResolution, string(rune(nanosecondsCode)))
	b = e.AppendUint32(b, optionEnd)
	return e.AppendUint32(b, total)
}

func appendOption(b []byte, code uint16, value string) []byte {
	b = binary.LittleEndian.AppendUint16(b, code)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(value)))
	b = append(b, value...)
	return appendPadding(b, len(value))
}

// appendPadding pads a value of n bytes to a multiple of 4.
func appendPadding(b []byte, n int) []byte {
	var zero [3]byte
	return append(b, zero[:-n&3]...)
}
