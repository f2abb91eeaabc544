package nettext

import (
	"strconv"
	"unsafe"
)

// Plural returns the form of a word that a number needs.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Count returns a number and a noun: "1 server", "2 servers".
func Count(n int, noun string) string { return strconv.Itoa(n) + " " + Plural(n, noun, noun+"s") }

// View returns b as a string without a copy, for as long as b does not change.
func View(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
