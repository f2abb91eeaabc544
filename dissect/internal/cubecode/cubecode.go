// Package cubecode reads the numbers and texts of the Cube engines.
//
// A number is one byte, signed; or 0x80 and 16 bits; or 0x81 and 32 bits, little-endian. A
// text is a number for each character, and 0. Most characters are one byte; those of the
// bytes 0x80 and 0x81 are three.
package cubecode

import (
	"encoding/binary"
	"math"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

// Int reads a number.
func Int(r *dissect.Reader, f *dissect.Field) int32 {
	v, n := number(core.PeekTo(r, 5))
	if n > r.Left() || n == 0 {
		r.Bytes(f, max(n, 1)) // fails
		return 0
	}
	r.Span(f, uint64(int64(v)), 0, n, 0)
	return v
}

// String reads a text as it is on the wire; see [dissect.CubeChars].
func String(r *dissect.Reader, f *dissect.Field) string {
	s := Scan(r.Peek())
	end, ok := s.text()
	if !ok {
		r.Fail(f, "no terminator")
		return ""
	}
	size := r.Left() - len(s)
	return core.Latin(r, f, 0, end, min(size-end, math.MaxUint16))
}

// number returns the number that b begins with, and of how many bytes it is, which may be
// more than are there.
func number(b []byte) (v int32, n int) {
	switch {
	case len(b) == 0:
		return 0, 0
	case b[0] == 0x80:
		if len(b) >= 3 {
			v = int32(int16(binary.LittleEndian.Uint16(b[1:])))
		}
		return v, 3
	case b[0] == 0x81:
		if len(b) >= 5 {
			v = int32(binary.LittleEndian.Uint32(b[1:]))
		}
		return v, 5
	}
	return int32(int8(b[0])), 1
}

// A Scan is what is left of bytes that are looked at before they are read.
type Scan []byte

// Int returns the next number. It reports false at the end.
func (s *Scan) Int() (int32, bool) {
	v, n := number(*s)
	if n == 0 || n > len(*s) {
		*s = nil
		return 0, false
	}
	*s = (*s)[n:]
	return v, true
}

// Between skips a number and reports whether it is one from lo to hi.
func (s *Scan) Between(lo, hi int32) bool {
	v, ok := s.Int()
	return ok && v >= lo && v <= hi
}

// Skip skips n numbers. It reports false at the end.
func (s *Scan) Skip(n int) bool {
	for ; n > 0; n-- {
		if _, ok := s.Int(); !ok {
			return false
		}
	}
	return true
}

// Texts skips n texts. It reports false at the end.
func (s *Scan) Texts(n int) bool {
	for ; n > 0; n-- {
		if _, ok := s.text(); !ok {
			return false
		}
	}
	return true
}

// text skips a text and returns its length without its end.
func (s *Scan) text() (n int, ok bool) {
	for all := len(*s); ; {
		n = all - len(*s)
		v, ok := s.Int()
		if !ok || uint8(v) == 0 {
			return n, ok
		}
	}
}
