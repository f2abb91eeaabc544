package bunzip

import (
	"bytes"
	"hash/crc32"
	"slices"
)

// What a Cache keeps: results, and the bytes of a result with its stream. Lists of rules take 2,000 to 10,000.
const (
	mostKept = 256
	longest  = 16 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A Cache is a Decoder that keeps its newest results, because a server sends the same bytes to all who ask. The zero value is ready to use.
type Cache struct {
	decoder Decoder
	sums    []uint32 // of the streams
	kept    []result
	oldest  int
}

type result struct {
	bytes            []byte // the stream, then its contents
	packed, consumed int    // lengths
	size             int
}

// Decode is [Decoder.Decode].
func (c *Cache) Decode(dst, src []byte, size int) (out []byte, consumed int, err error) {
	sum := crc32.Checksum(src, castagnoli)
	for i, s := range c.sums {
		if k := &c.kept[i]; s == sum && size == k.size && bytes.Equal(src, k.bytes[:k.packed]) {
			return append(dst, k.bytes[k.packed:]...), k.consumed, nil
		}
	}
	out, consumed, err = c.decoder.Decode(dst, src, size)
	plain := out[len(dst):]
	n := len(src) + len(plain)
	if err != nil || n > longest {
		return out, consumed, err
	}
	if len(c.kept) < mostKept {
		c.sums, c.kept, c.oldest = append(c.sums, 0), append(c.kept, result{}), len(c.kept)
	}
	k := &c.kept[c.oldest]
	c.sums[c.oldest] = sum
	*k = result{append(append(slices.Grow(k.bytes[:0], n), src...), plain...), len(src), consumed, size}
	c.oldest = (c.oldest + 1) % mostKept
	return out, consumed, nil
}
