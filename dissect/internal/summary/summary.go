// Package summary has the phrases that summaries are made of. Each function
// appends the words before a value, and the value.
package summary

import (
	"strconv"

	"github.com/qdissect/qdissect/dissect"
)

// Style is how the servers of a protocol write text.
type Style struct {
	Charset dissect.Charset
	Codes   dissect.Style
}

// Text appends text; see [dissect.AppendText].
func (s Style) Text(dst []byte, before, text string) []byte {
	return dissect.AppendText(append(dst, before...), text, s.Charset, s.Codes)
}

// Quoted appends text in quotation marks; see [dissect.AppendQuoted].
func (s Style) Quoted(dst []byte, before, text string) []byte {
	return dissect.AppendQuoted(append(dst, before...), text, s.Charset, s.Codes)
}

// Concealed is Quoted of text in which a secret begins at n, if that is not its
// length: three asterisks stand for the secret and all that follows it.
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

// Count appends how many there are of something.
func Count(dst []byte, before string, n int, one, many string) []byte {
	dst = append(Number(dst, before, n), ' ')
	if n == 1 {
		return append(dst, one...)
	}
	return append(dst, many...)
}

// Gap appends what separates the groups of a summary that began at start, unless
// nothing stands there yet.
func Gap(dst []byte, start int) []byte {
	if len(dst) > start {
		dst = append(dst, "  "...)
	}
	return dst
}
