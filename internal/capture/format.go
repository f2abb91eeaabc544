package capture

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
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

// maxWindow is the largest window of a zstd file that is accepted. The decoder allocates
// the window that the file states, so this bounds the memory for a forged file. Without
// --ultra and --long, all levels of the zstd program need at most 8 MiB.
const maxWindow = 32 << 20

// decompress replaces the stream by its decompressed contents if the file is compressed.
func (r *Reader) decompress() error {
	z, coding, err := unpacker(r.in.peek(4), r.in)
	if err != nil || coding == "" {
		return err
	}
	r.coding, r.in = coding, newStream(z)
	r.closes = append(r.closes, z.Close)
	return nil
}

// Unpack returns a reader of the decompressed contents of src, or of src itself if its
// first bytes are not those of a compressed file. It gives the same bytes and errors as a
// [Reader] reads. coding is "gzip", "zstd", or "" for no compression. The error says that
// the header of the compressed data is damaged. Closing z does not close src.
func Unpack(src io.Reader) (z io.ReadCloser, coding string, err error) {
	in := bufio.NewReaderSize(src, 64<<10)
	head, _ := in.Peek(4) // the next read returns the error again
	z, coding, err = unpacker(head, in)
	if err == nil && coding == "" {
		z = io.NopCloser(in)
	}
	return z, coding, err
}

// unpacker returns a decompressor for in, which begins with head. coding is "" if in is
// not compressed. Concatenated members (gzip, RFC 1952 section 2.2) and frames (zstd, RFC
// 8878 section 3) are read as one.
func unpacker(head []byte, in io.Reader) (z io.ReadCloser, coding string, err error) {
	switch {
	case hasMagic(head, gzipMagic):
		z, err := gzip.NewReader(bufio.NewReaderSize(in, 64<<10))
		if err != nil {
			return nil, "", fmt.Errorf("begins like gzip, but: %w", codingError("gzip", err))
		}
		return &decoder{z, "gzip"}, "gzip", nil
	case hasMagic(head, zstdMagic), skippable(head):
		z, err := zstd.NewReader(in,
			zstd.WithDecoderConcurrency(1), // no goroutines
			zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(maxWindow),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, "", codingError("zstd", err)
		}
		return &decoder{z.IOReadCloser(), "zstd"}, "zstd", nil
	}
	return nil, "", nil
}

// skippable reports whether b begins with a skippable frame of zstd (RFC 8878 section
// 3.1.2), as the output of parallel compressors does.
func skippable(b []byte) bool {
	return len(b) >= 4 && b[0]&0xf0 == 0x50 && string(b[1:4]) == "\x2a\x4d\x18"
}

// A decoder adds the name of the compression to the errors of a decompressor.
type decoder struct {
	io.ReadCloser
	coding string
}

func (d *decoder) Read(p []byte) (int, error) {
	n, err := d.ReadCloser.Read(p)
	if err != nil && err != io.EOF && n == 0 {
		// zstd reports a wrong or missing checksum before it returns the last block. A
		// second call returns the block.
		n, err = d.ReadCloser.Read(p)
	}
	if err != nil && err != io.EOF {
		err = codingError(d.coding, err)
	}
	return n, err
}

// Close releases the decompressor. Read has reported errors in the data.
func (d *decoder) Close() error {
	_ = d.ReadCloser.Close()
	return nil
}

func codingError(coding string, err error) error {
	switch {
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum):
		return err // its text begins with "gzip:"
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return fmt.Errorf("zstd: needs a window of more than %d MiB; decompress it with zstd --long=31 first", maxWindow>>20)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return cutCoding(coding)
	}
	return fmt.Errorf("%s: %w", coding, err)
}

// A cutCoding is the error that the data of this compression ends too early.
type cutCoding string

func (c cutCoding) Error() string        { return "the " + string(c) + " data is cut short" }
func (c cutCoding) Is(target error) bool { return target == io.ErrUnexpectedEOF }

// linkTypes are the names of link types that carry IP and of other common ones: those of
// https://www.tcpdump.org/linktypes.html in lower case, without LINKTYPE_.
var linkTypes = map[uint16]string{
	0:   "null",
	1:   "ethernet",
	6:   "ieee802_5",
	8:   "slip",
	9:   "ppp",
	10:  "fddi",
	12:  "raw", // DLT_RAW of most systems, which some writers put into files
	14:  "raw", // DLT_RAW of OpenBSD
	50:  "ppp_hdlc",
	51:  "ppp_ether",
	100: "atm_rfc1483",
	101: "raw",
	104: "c_hdlc",
	105: "ieee802_11",
	107: "frelay",
	108: "loop",
	113: "linux_sll",
	117: "pflog",
	119: "ieee802_11_prism",
	122: "ip_over_fc",
	127: "ieee802_11_radiotap",
	138: "apple_ip_over_ieee1394",
	143: "docsis",
	163: "ieee802_11_avs",
	166: "ppp_pppd",
	187: "bluetooth_hci_h4",
	189: "usb_linux",
	192: "ppi",
	201: "bluetooth_hci_h4_with_phdr",
	204: "ppp_with_dir",
	220: "usb_linux_mmapped",
	226: "ipnet",
	227: "can_socketcan",
	228: "ipv4",
	229: "ipv6",
	231: "dbus",
	239: "nflog",
	242: "ipoib",
	249: "usbpcap",
	252: "wireshark_upper_pdu",
	253: "netlink",
	258: "pktap",
	276: "linux_sll2",
}

// LinkTypeName returns the name of a link type in the output, such as "ethernet" or
// "linux_sll2", or "linktype_147" if it has none. Names may be added but not changed: they
// are part of the output format.
func LinkTypeName(linkType uint16) string {
	if name, ok := linkTypes[linkType]; ok {
		return name
	}
	return "linktype_" + strconv.Itoa(int(linkType))
}
