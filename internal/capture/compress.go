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
// It allows for several members (gzip, RFC 1952 section 2.2) or frames (zstd,
// RFC 8878 section 3) one after the other.
func (r *Reader) decompress() error {
	head := r.in.peek(4)
	switch {
	case hasMagic(head, gzipMagic):
		z, err := gzip.NewReader(bufio.NewReaderSize(r.in, 64<<10))
		if err != nil {
			return fmt.Errorf("begins like gzip, but: %w", codingError("gzip", err))
		}
		r.unpack("gzip", z)
	case hasMagic(head, zstdMagic), skippable(head):
		z, err := zstd.NewReader(r.in,
			zstd.WithDecoderConcurrency(1), // no goroutines
			zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(maxWindow),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return codingError("zstd", err)
		}
		r.closes = append(r.closes, z.IOReadCloser().Close)
		r.unpack("zstd", z)
	}
	return nil
}

func (r *Reader) unpack(coding string, z io.Reader) {
	r.coding = coding
	r.in = newStream(&decoder{z, coding})
}

// skippable tells a skippable frame of zstd (RFC 8878 section 3.1.2), with
// which the files of parallel compressors begin.
func skippable(b []byte) bool {
	return len(b) >= 4 && b[0]&0xf0 == 0x50 && string(b[1:4]) == "\x2a\x4d\x18"
}

// A decoder names the compression in the errors of a decompressor.
type decoder struct {
	io.Reader
	coding string
}

func (d *decoder) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	if err != nil && err != io.EOF && n == 0 {
		// zstd tells of a wrong or missing checksum before it hands out the
		// last block, which it does if it is asked once more.
		n, err = d.Reader.Read(p)
	}
	if err != nil && err != io.EOF {
		err = codingError(d.coding, err)
	}
	return n, err
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
