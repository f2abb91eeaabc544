package capture

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow is how far back a zstd file may refer, which is the memory that
// unpacking it takes. It is allocated as the file claims it, so this bounds
// what a forged file can make us take. The levels of the zstd program that it
// offers without --ultra and --long need 8 MiB.
const maxWindow = 32 << 20

// decompress puts a decompressor before the stream if the file is compressed.
func (r *Reader) decompress() error {
	z, coding, err := unpacker(r.in.peek(4), r.in)
	if err != nil || coding == "" {
		return err
	}
	r.coding, r.in = coding, newStream(z)
	r.closes = append(r.closes, z.Close)
	return nil
}

// Unpack returns what src unpacks to if its first bytes say that it is
// compressed, and else all of src. It is what a [Reader] reads, to the same
// byte and with the same error where the compressed data is damaged. coding is
// "gzip", "zstd", or "" if it is not compressed; err says that it is only at
// first sight. To close z does not close src.
func Unpack(src io.Reader) (z io.ReadCloser, coding string, err error) {
	in := bufio.NewReaderSize(src, 64<<10)
	head, _ := in.Peek(4) // an error comes again
	z, coding, err = unpacker(head, in)
	if err == nil && coding == "" {
		z = io.NopCloser(in)
	}
	return z, coding, err
}

// unpacker returns what in unpacks to, which begins with head, or no coding if
// it is not compressed. It allows for several members (gzip, RFC 1952 section
// 2.2) or frames (zstd, RFC 8878 section 3) one after the other.
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

// skippable tells a skippable frame of zstd (RFC 8878 section 3.1.2), with
// which the files of parallel compressors begin.
func skippable(b []byte) bool {
	return len(b) >= 4 && b[0]&0xf0 == 0x50 && string(b[1:4]) == "\x2a\x4d\x18"
}

// A decoder names the compression in the errors of a decompressor.
type decoder struct {
	io.ReadCloser
	coding string
}

func (d *decoder) Read(p []byte) (int, error) {
	n, err := d.ReadCloser.Read(p)
	if err != nil && err != io.EOF && n == 0 {
		// zstd tells of a wrong or missing checksum before it hands out the
		// last block, which it does if it is asked once more.
		n, err = d.ReadCloser.Read(p)
	}
	if err != nil && err != io.EOF {
		err = codingError(d.coding, err)
	}
	return n, err
}

// Close gives back what the decompressor holds. What was wrong with the data,
// Read has told.
func (d *decoder) Close() error {
	_ = d.ReadCloser.Close()
	return nil
}

func codingError(coding string, err error) error {
	switch {
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum):
		return err // says "gzip:" itself
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return fmt.Errorf("zstd: needs a window of more than %d MiB; decompress it with zstd --long=31 first", maxWindow>>20)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return cutCoding(coding)
	}
	return fmt.Errorf("%s: %w", coding, err)
}

// A cutCoding says that the data of this compression ends too early.
type cutCoding string

func (c cutCoding) Error() string        { return "the " + string(c) + " data is cut short" }
func (c cutCoding) Is(target error) bool { return target == io.ErrUnexpectedEOF }
