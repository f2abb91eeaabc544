// Package summary appends the phrases of summaries. Each function appends a text and
// then a value.
package summary

import (
	"strconv"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

// A Style is the encoding of text in a protocol.
type Style struct {
	Charset dissect.Charset
	Codes   dissect.Style
}

// Text appends text; see [dissect.AppendText].
func (s Style) Text(dst []byte, before, text string) []byte {
	return core.AppendText(append(dst, before...), text, s.Charset, s.Codes)
}

// Quoted appends text in quotation marks; see [dissect.AppendQuoted].
func (s Style) Quoted(dst []byte, before, text string) []byte {
	return dissect.AppendQuoted(append(dst, before...), text, s.Charset, s.Codes)
}

// Concealed is like Quoted for text with a secret at n, or without one if n is its
// length. Three asterisks replace the secret and everything after it.
func (s Style) Concealed(dst []byte, text string, n int) []byte {
	dst = s.Quoted(dst, "", text[:n])
	if n < len(text) {
		dst = append(dst, " ***"...)
	}
	return dst
}

// Number appends a number.
func Number[N int | int32 | uint8 | uint16 | uint32](dst []byte, before string, n N) []byte {
	return strconv.AppendInt(append(dst, before...), int64(n), 10)
}

// Hex appends a number in hexadecimal digits.
func Hex[N uint8 | uint32](dst []byte, before string, n N) []byte {
	return strconv.AppendUint(append(append(dst, before...), "0x"...), uint64(n), 16)
}

// Count appends a number and the noun that fits it.
func Count(dst []byte, before string, n int, one, many string) []byte {
	dst = append(Number(dst, before, n), ' ')
	if n == 1 {
		return append(dst, one...)
	}
	return append(dst, many...)
}

// Gap appends the separator of two groups, unless the summary that began at start is
// still empty.
func Gap(dst []byte, start int) []byte {
	if len(dst) > start {
		dst = append(dst, "  "...)
	}
	return dst
}
