// Package coder writes values in binary form or reads them, so that one walk over a structure does both. What it reads may
// come from anybody: numbers, lengths and texts are checked, and after an error all that is read is zero.
package coder

import (
	"cmp"
	"encoding/binary"
	"errors"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/nettext"
)

// A Coder appends to B, or with Reading takes from it. Integers are varints (signed ones in zigzag), texts have their length
// before them.
type Coder struct {
	B       []byte
	Reading bool
	Err     error // the first one
}

// Integer is any integer.
type Integer interface {
	~int | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

var (
	errShort = errors.New("the end is missing")
	errRange = errors.New("a number is out of range")

	errUnsafe = errors.New("a text with characters that must not reach a terminal")
)

// Fail ends reading with an error.
func (c *Coder) Fail(err error) { c.Err, c.B = cmp.Or(c.Err, err), nil }

// Num writes or reads an integer.
func Num[T Integer](c *Coder, v *T) {
	var zero T
	signed := zero-1 < zero
	if !c.Reading {
		if signed {
			c.B = binary.AppendVarint(c.B, int64(*v))
		} else {
			c.B = binary.AppendUvarint(c.B, uint64(*v))
		}
		return
	}
	*v = 0
	var n int
	if signed {
		var x int64
		if x, n = binary.Varint(c.B); n > 0 && int64(T(x)) != x {
			c.Fail(errRange)
			return
		}
		*v = T(x)
	} else {
		var x uint64
		if x, n = binary.Uvarint(c.B); n > 0 && uint64(T(x)) != x {
			c.Fail(errRange)
			return
		}
		*v = T(x)
	}
	if n <= 0 {
		*v = 0
		c.Fail(errShort)
		return
	}
	c.B = c.B[n:]
}

// Len writes the length of a list or reads it: at most limit, and no more than bytes are left.
func (c *Coder) Len(n, limit int) int {
	if Num(c, &n); n < 0 || n > limit || c.Reading && n > len(c.B) {
		c.Fail(errRange)
		return 0
	}
	return n
}

// List yields the elements of a list of at most limit, each before it is written or read.
func List[T any](c *Coder, list *[]T, limit int) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range c.Len(len(*list), limit) {
			if c.Reading {
				*list = append(*list, *new(T))
			}
			if !yield(&(*list)[i]) {
				return
			}
		}
	}
}

// Bool writes or reads a truth value.
func (c *Coder) Bool(v *bool) {
	n := nettext.Either[uint8](*v, 1, 0)
	if Num(c, &n); n > 1 {
		c.Fail(errRange)
	}
	*v = n == 1
}

// Fixed writes or reads 8 bytes, big-endian.
func (c *Coder) Fixed(v *uint64) {
	if !c.Reading {
		c.B = binary.BigEndian.AppendUint64(c.B, *v)
		return
	}
	var b [8]byte
	c.Raw(b[:])
	*v = binary.BigEndian.Uint64(b[:])
}

// Raw writes or reads bytes whose number is known.
func (c *Coder) Raw(b []byte) {
	switch {
	case !c.Reading:
		c.B = append(c.B, b...)
	case len(c.B) < len(b):
		clear(b)
		c.Fail(errShort)
	default:
		c.B = c.B[copy(b, c.B):]
	}
}

// String writes or reads a text of at most limit bytes.
func (c *Coder) String(s *string, limit int) {
	n := c.Len(len(*s), limit)
	if !c.Reading {
		c.B = append(c.B, *s...)
		return
	}
	*s = string(c.B[:n])
	c.B = c.B[n:]
}

// Text is as String, for text that is shown as it is: what a terminal must not get is an error.
func (c *Coder) Text(s *string, limit int) {
	if c.String(s, limit); c.Reading && (!utf8.ValidString(*s) || strings.ContainsFunc(*s, nettext.Unsafe)) {
		*s = ""
		c.Fail(errUnsafe)
	}
}

// Bytes writes or reads at most limit bytes.
func (c *Coder) Bytes(b *[]byte, limit int) {
	s := string(*b)
	if c.String(&s, limit); c.Reading {
		*b = []byte(s)
	}
}
