package golden

import (
	"bufio"
	"bytes"
	"fmt"
	"hash/crc64"
	"io"
	"os"
	"strconv"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// The sum of a capture is the CRC-64 of its file (ECMA-182), of what it unpacks
// to if it is packed. A golden has it in its last object, and so notices bytes
// that no value shows. Of one byte that is another the sum also tells which one
// it is.
const sumKey = "crc64"

var (
	sumTable = crc64.MakeTable(crc64.ECMA)
	// sumBack undoes a step of the sum: what the zero byte did that left a sum
	// with this first byte.
	sumBack = func() (back [256]uint64) {
		for i, v := range sumTable {
			back[v>>56] = v<<8 | uint64(i)
		}
		return back
	}()
)

// sumOf returns the sum of a capture, and how many bytes it is of. It is not ok
// if the file cannot be read twice: it is a pipe. A file that is damaged has
// that of its sound beginning.
func sumOf(name string) (sum uint64, n int64, ok bool, err error) {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return 0, 0, false, err
	}
	r, err := openUnpacked(name)
	if err != nil {
		return 0, 0, false, err
	}
	defer r.Close()
	h := crc64.New(sumTable)
	n, _ = io.Copy(h, r)
	return h.Sum64(), n, true, nil
}

// formatSum writes a sum as goldens have it.
func formatSum(sum uint64) string { return fmt.Sprintf("%016x", sum) }

// parseSum reads a sum as goldens have it.
func parseSum(s string) (sum uint64, ok bool) {
	sum, err := strconv.ParseUint(s, 16, 64)
	return sum, err == nil && len(s) == 16
}

// flippedByte returns where the one byte is by which n bytes differ from those
// that had another sum, and what it is to be XORed with. It is not ok if more
// differs than one byte, or the length.
//
// Two sums of as many bytes differ by the sum of what the bytes differ by: here of
// one byte and of zero bytes behind it. These are taken off one after the other,
// until nothing is left but the one. By chance that happens with a probability
// of n/2⁵⁶.
func flippedByte(want, got uint64, n int64) (at int64, mask byte, ok bool) {
	rest := want ^ got
	for at = n - 1; at >= 0; at-- {
		if rest = rest<<8 ^ sumBack[rest>>56]; rest < 256 {
			return at, byte(rest), true
		}
	}
	return 0, 0, false
}

// openUnpacked opens a file, for what it unpacks to if it is packed.
func openUnpacked(name string) (io.ReadCloser, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	head := bufio.NewReaderSize(f, 64<<10)
	begin, _ := head.Peek(4)
	r, closeIt, err := unpacker(head, begin)
	if err != nil {
		r, closeIt = bytes.NewReader(nil), func() {} // the reader of captures says what is wrong
	}
	return &unpacked{r, func() error { closeIt(); return f.Close() }}, nil
}

type unpacked struct {
	io.Reader
	close func() error
}

func (u *unpacked) Close() error { return u.close() }

// unpacker returns a reader of what r unpacks to, which begins with begin; r
// itself if it is not packed.
func unpacker(r io.Reader, begin []byte) (io.Reader, func(), error) {
	switch {
	case bytes.HasPrefix(begin, []byte("\x1f\x8b")):
		z, err := gzip.NewReader(r)
		return z, func() {}, err
	case bytes.HasPrefix(begin, []byte("\x28\xb5\x2f\xfd")), len(begin) == 4 && begin[0]&0xf0 == 0x50 && string(begin[1:]) == "\x2a\x4d\x18":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(32<<20))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return r, func() {}, nil
}
