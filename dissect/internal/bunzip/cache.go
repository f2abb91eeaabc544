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
	Decoder
	sums   [mostKept]uint32 // of the streams
	kept   [mostKept]result
	oldest uint8
}

type result struct {
	bytes                  []byte // the stream, then its contents
	packed, consumed, size int
}

// Decode is [Decoder.Decode].
func (c *Cache) Decode(dst, src []byte, size int) (out []byte, consumed int, err error) {
	sum := crc32.Checksum(src, castagnoli)
	for i, s := range c.sums {
		if k := &c.kept[i]; s == sum && size == k.size && len(src) > 0 && bytes.Equal(src, k.bytes[:k.packed]) {
			return append(dst, k.bytes[k.packed:]...), k.consumed, nil
		}
	}
	out, consumed, err = c.Decoder.Decode(dst, src, size)
	plain := out[len(dst):]
	if n := len(src) + len(plain); err == nil && n <= longest {
		k := &c.kept[c.oldest]
		*k = result{append(append(slices.Grow(k.bytes[:0], n), src...), plain...), len(src), consumed, size}
		c.sums[c.oldest] = sum
		c.oldest++ // after the last comes the first
	}
	return out, consumed, err
}
