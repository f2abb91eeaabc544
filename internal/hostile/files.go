package hostile

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/qdissect/qdissect/internal/mkpcap"
)

// A File is a damaged or forged capture file.
type File struct {
	Name string
	Doc  string
	Make func() []byte
}

// Files returns the small files.
func Files() []File {
	return []File{
		{"options.pcapng", "options that are longer than their block, repeated, and without end; 2000 comments on one packet", optionsFile},
		{"interfaces.pcapng", "three hundred interfaces with resolutions and offsets that nobody has, packets of those that there are not", interfacesFile},
		{"section.pcapng", "section lengths that lie, a byte order that changes, a block that claims 4 GiB", sectionFile},
		{"lengths.pcap", "a frame that claims 4 GiB", lengthsFile},
	}
}

// Talk returns a capture of honest traffic only.
func Talk(o mkpcap.Options) []byte {
	var b bytes.Buffer
	s := NewStage(&b, o)
	s.Speak(Datagrams())
	return b.Bytes()
}

// le encodes the blocks of pcapng files.
var le = binary.LittleEndian

func block(kind uint32, body []byte) []byte {
	for len(body)%4 != 0 {
		body = append(body, 0)
	}
	b := le.AppendUint32(nil, kind)
	b = le.AppendUint32(b, uint32(12+len(body)))
	b = append(b, body...)
	return le.AppendUint32(b, uint32(12+len(body)))
}

func section(length uint64) []byte {
	b := le.AppendUint32(nil, 0x1a2b3c4d)
	b = append(b, 1, 0, 0, 0)
	return block(0x0a0d0d0a, le.AppendUint64(b, length))
}

func option(code, claimed uint16, value string) []byte {
	b := le.AppendUint16(nil, code)
	b = append(le.AppendUint16(b, claimed), value...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func iface(options ...[]byte) []byte {
	b := []byte{1, 0, 0, 0, 0, 0, 4, 0}
	return block(1, append(b, bytes.Join(options, nil)...))
}

func enhanced(id uint32, frame []byte, options ...[]byte) []byte {
	b := le.AppendUint32(nil, id)
	b = append(b, 0x2c, 0x47, 0x06, 0, 0x40, 0x42, 0x0f, 0)
	b = le.AppendUint32(b, uint32(len(frame)))
	b = le.AppendUint32(b, uint32(len(frame)))
	b = append(b, frame...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return block(6, append(b, bytes.Join(options, nil)...))
}

// frame returns a valid frame with an info request.
func frame() []byte {
	p := mkpcap.IP(attacker.Addr(), victim.Addr(), 1, 17, 0, false, false, mkpcap.UDPSegment(attacker, victim, []byte(ask)))
	return append([]byte{2, 0, 0, 0, 0, 20, 2, 0, 0, 0, 0, 10, 8, 0}, p...)
}

func optionsFile() []byte {
	b := append(section(1<<64-1), iface(option(9, 1, "\x06"), option(9, 1, "\xff"), option(14, 8, "\xff\xff\xff\xff\xff\xff\xff\x7f"), option(9, 1, "\x06"), option(14, 8, "\x00\x00\x00\x00\x00\x00\x00\x00"))...)
	var comments [][]byte
	for range 2000 {
		comments = append(comments, option(1, 4, "\x1b[2J"))
	}
	b = append(b, enhanced(0, frame(), comments...)...)
	b = append(b, enhanced(0, frame(), option(1, 65535, "short"))...)
	b = append(b, enhanced(0, frame(), option(1, 0, ""), option(0xffff, 0, ""), option(0, 0, ""), option(1, 3, "no!"))...)
	b = append(b, block(0x80000001, bytes.Repeat([]byte{0xff}, 5000))...)
	b = append(b, enhanced(0, frame())...)
	return append(b, iface(option(9, 65535, "short"))...) // the option is cut off
}

func interfacesFile() []byte {
	b := section(1<<64 - 1)
	for i := range 300 {
		offset := le.AppendUint64(nil, uint64(i)<<55)
		b = append(b, iface(option(9, 1, string([]byte{byte(i)})), option(14, 8, string(offset)))...)
	}
	for _, id := range []uint32{0, 6, 9, 18, 127, 128, 137, 200, 255, 299} {
		b = append(b, enhanced(id, frame())...)
	}
	return append(b, enhanced(300, frame())...)
}

func sectionFile() []byte {
	b := append(section(1), iface()...)
	b = append(b, enhanced(0, frame())...)
	b = append(b, section(0)...)
	b = append(b, section(1<<63)...)
	b = append(b, iface()...)
	b = append(b, enhanced(0, frame())...)
	// A section in the other byte order.
	b = append(b, "\x0a\x0d\x0d\x0a\x00\x00\x00\x1c\x1a\x2b\x3c\x4d\x00\x01\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x1c"...)
	b = append(b, "\x00\x00\x00\x01\x00\x00\x00\x14\x00\x01\x00\x00\x00\x04\x00\x00\x00\x00\x00\x14"...)
	return append(b, "\x00\x00\x00\x06\xff\xff\xff\xfc\x00\x00\x00\x00"...)
}

func lengthsFile() []byte {
	b := Talk(mkpcap.Options{})
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
	return append(b, "\xff\xff\xff\xff\xff\xff\xff\xff"...)
}

// zeroes is an endless reader of zero bytes.
type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Gzip writes a compressed honest capture followed by n zero bytes, which are empty
// frames.
func Gzip(w io.Writer, n int64) error {
	z := gzip.NewWriter(w)
	_, err := z.Write(Talk(mkpcap.Options{}))
	if err == nil {
		_, err = io.CopyN(z, zeroes{}, n)
	}
	if err == nil {
		err = z.Close()
	}
	return err
}

// Zstd is like Gzip with zstd.
func Zstd(w io.Writer, n int64) error {
	z, err := zstd.NewWriter(w)
	if err == nil {
		_, err = z.Write(Talk(mkpcap.Options{}))
	}
	if err == nil {
		_, err = io.CopyN(z, zeroes{}, n)
	}
	if err == nil {
		err = z.Close()
	}
	return err
}

// Window is a zstd file with a window of a terabyte.
const Window = "\x28\xb5\x2f\xfd\x00\xf0\x01\x00\x00"
