package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// byteOrder is the order of the bytes in the numbers of a file.
type byteOrder bool

const (
	littleEndian byteOrder = false
	bigEndian    byteOrder = true
)

// A direct call can be inlined. It is twice as fast as one through binary.ByteOrder.
func (o byteOrder) uint16(b []byte) uint16 {
	if o == bigEndian {
		return binary.BigEndian.Uint16(b)
	}
	return binary.LittleEndian.Uint16(b)
}

func (o byteOrder) uint32(b []byte) uint32 {
	if o == bigEndian {
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

func (o byteOrder) uint64(b []byte) uint64 {
	if o == bigEndian {
		return binary.BigEndian.Uint64(b)
	}
	return binary.LittleEndian.Uint64(b)
}

// wireLength returns the Length of a frame from the two lengths in the file. Some writers
// state a length smaller than what they captured; like Wireshark, we then use the captured
// length. The limit of 2 GiB makes forged numbers the same on all machines.
func wireLength(length, captured uint32) int { return int(max(min(length, math.MaxInt32), captured)) }

// newFormat selects the format of a file by its first bytes.
func newFormat(in *stream) (format, error) {
	head := in.peek(longestMagic)
	if len(head) == 0 && in.err == io.EOF {
		return nil, errors.New("empty file")
	}
	if order, kind, ok := pcapMagic(head); ok {
		return newPcap(in, order, kind)
	}
	if hasMagic(head, pcapngMagic) {
		return newPcapng(in)
	}
	for _, other := range others {
		if hasMagic(head, other.magic) {
			return nil, errors.New(other.is)
		}
	}
	if len(head) < longestMagic && in.err != io.EOF {
		return nil, in.err
	}
	if len(head) == longestMagic { // the sizes of a buffer and of what it holds, with a header of 72 bytes
		if size, used := littleEndian.uint32(head), littleEndian.uint32(head[4:]); size >= 1<<12 && size <= 1<<24 && size%1024 == 0 && used >= 72 && used <= size {
			return nil, errors.New("a trace of Windows (.etl, of pktmon or netsh); convert it first, with etl2pcapng or pktmon etl2pcap")
		}
	}
	return nil, fmt.Errorf("neither pcap nor pcapng: begins with %s", show(head))
}

const (
	pcapngMagic = "\x0a\x0d\x0d\x0a"
	gzipMagic   = "\x1f\x8b"
	zstdMagic   = "\x28\xb5\x2f\xfd"

	longestMagic = 8
)

// others are files that people mistake for readable captures, with advice.
var others = []struct{ magic, is string }{
	// Reached only after the outer compression was removed.
	{gzipMagic, "compressed twice; decompress it once first"},
	{zstdMagic, "compressed twice; decompress it once first"},
	{"\xfd7zXZ\x00", "compressed with xz; decompress it first, only gzip and zstd are read"},
	{"snoop\x00\x00\x00", "a capture of snoop (RFC 1761); convert it first, with editcap -F pcap"},
	{"BZh", "compressed with bzip2; decompress it first, only gzip and zstd are read"},
	{"\x04\x22\x4d\x18", "compressed with lz4; decompress it first, only gzip and zstd are read"},
	{"PK\x03\x04", "a zip archive; unpack it first, only gzip and zstd are read"},
}

func hasMagic(b []byte, magic string) bool {
	return len(b) >= len(magic) && string(b[:len(magic)]) == magic
}

// show formats the first bytes of a file, as text if they are printable.
func show(b []byte) string {
	text := strings.IndexFunc(string(b), func(r rune) bool {
		return r != '\t' && r != '\n' && r != '\r' && (r < ' ' || r > '~')
	}) < 0
	if text {
		return fmt.Sprintf("%q", b)
	}
	return fmt.Sprintf("% x", b)
}
