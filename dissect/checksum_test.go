package dissect

import (
	"encoding/binary"
	"slices"
	"testing"
)

// TestChecksumOfNumbers: a client may number its requests, anywhere in the payload. Requests with
// different numbers are no copies of each other.
func TestChecksumOfNumbers(t *testing.T) {
	var sums [256]uint32
	for size := 8; size <= detectBytes; size++ {
		for at := 0; at+4 <= size; at++ {
			for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
				payload := make([]byte, size)
				for n := range sums {
					order.PutUint32(payload[at:], uint32(n))
					sums[n] = checksum(payload)
				}
				slices.Sort(sums[:])
				if n := len(slices.Compact(sums[:])); n < len(sums) {
					t.Errorf("%d numbers at %d of %d bytes, %v: %d checksums", len(sums), at, size, order, n)
				}
			}
		}
	}
}
