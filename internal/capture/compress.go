package capture

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

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
