package golden

import (
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"io/fs"
	"os"
	"strconv"

	"github.com/qdissect/qdissect/internal/capture"
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

// A fileSum is what is known of a capture without dissecting it.
type fileSum struct {
	sum    uint64
	n      int64 // bytes that it is of
	damage error // why the file could not be unpacked, or not to its end
}

// sumOf returns the sum of a capture, nil if the file cannot be read twice: it is
// a pipe. A file that is damaged has that of its sound beginning, which is what
// the reader of captures gets to see.
func sumOf(name string) (*fileSum, error) {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	r, err := openUnpacked(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	h := crc64.New(sumTable)
	s := new(fileSum)
	s.n, s.damage = io.Copy(h, r)
	if path := (*fs.PathError)(nil); errors.As(s.damage, &path) {
		return nil, path // nothing that the file says
	}
	s.sum = h.Sum64()
	return s, nil
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

// openUnpacked opens a file, for what it unpacks to if it is packed. If it is not
// even that, reading says so.
func openUnpacked(name string) (io.ReadCloser, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	z, _, err := capture.Unpack(f)
	if err != nil {
		return &unpacked{failing{err}, f.Close}, nil
	}
	return &unpacked{z, func() error { return errors.Join(z.Close(), f.Close()) }}, nil
}

type unpacked struct {
	io.Reader
	close func() error
}

func (u *unpacked) Close() error { return u.close() }

// A failing reader has nothing but an error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
