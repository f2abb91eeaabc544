package capture

import (
	"fmt"

	"github.com/gopacket/gopacket/pcapgo"
)

// snoop reads the captures of Solaris and its descendants (RFC 1761) with gopacket, which
// accepts frames of up to 4096 bytes.
type snoop struct {
	in   *stream
	src  *pcapgo.SnoopReader
	link uint16
}

func newSnoop(in *stream) (*snoop, error) {
	src, err := pcapgo.NewSnoopReader(in)
	if err != nil {
		return nil, fmt.Errorf("snoop file header: %w", early(err))
	}
	link, err := src.LinkType()
	if err != nil {
		return nil, fmt.Errorf("snoop file header: %w", err)
	}
	return &snoop{in: in, src: src, link: uint16(*link)}, nil
}

func (p *snoop) linkType() (uint16, bool) { return p.link, true }

func (p *snoop) next(f *Frame) error {
	p.in.mark()
	data, info, err := p.src.ZeroCopyReadPacketData()
	if err != nil {
		// gopacket also returns io.EOF for a record without its data.
		if n := p.in.offset() - p.in.record; n > 0 {
			return fmt.Errorf("snoop record, after %d bytes: %w", n, early(err))
		}
		return err
	}
	f.Time = info.Timestamp
	f.LinkType = p.link
	f.Data = data[:len(data):len(data)]
	f.Length = wireLength(uint32(info.Length), uint32(len(data)))
	f.Interface, f.Name = 0, ""
	f.Comments = nil
	return nil
}
