// Package bunzip decompresses bzip2 streams from packets: small streams, completely in
// memory, whose size is announced and whose content has its own checksum.
//
// It uses github.com/dsnet/compress, which is fast and does not allocate once warm, but
// trusts its input: one flipped bit in the code lengths can cost a tenth of a second,
// and a stream of 44 bytes nine megabytes. So Decode validates the header of the first
// block, limits the memory to the announced size, and discards a reader that may not have
// reached the end of its block. It reads only the first block, which is enough: a block
// holds at least 80,000 bytes, more than any reply of a game server.
//
// The format has no standard; this follows Joe Tsai's "bzip2 format specification".
package bunzip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
	"strings"

	"github.com/dsnet/compress/bzip2"
)

var (
	// ErrDamaged means that the stream is damaged, or that only lenient decompressors
	// accept it.
	ErrDamaged = errors.New("bzip2: damaged stream")
	// ErrTooLong means that the stream decompresses to more than the announced size.
	ErrTooLong = errors.New("bzip2: more data than announced")
)

const (
	blockMagic  = 0x314159265359 // pi in BCD
	blockUnit   = 100_000        // block size for each level
	footer      = 10             // size of the stream after the last block
	minTrees    = 2
	maxTrees    = 6
	maxCodeLen  = 20
	run         = 4  // equal bytes, which a count of further ones follows
	symbolsEach = 50 // of a selector; a symbol makes a byte or more
	// Some compressors write a few unused selectors.
	spareSelectors = 16
	streamStart    = 4                          // "BZh" and the level
	endMagic       = "\x17\x72\x45\x38\x50\x90" // square root of pi in BCD
	empty          = streamStart + footer       // a stream without a block
)

// A Decoder decompresses streams and reuses its memory. The zero value is ready to use.
type Decoder struct {
	bzip2  *bzip2.Reader // nil if the next stream needs another one
	source bytes.Reader
	stream []byte
}

// Decode decompresses the first block of src, at most size bytes, and appends it to
// dst. It also returns the number of bytes of src that the stream takes. With an error
// it returns the output before the error. It does not verify the stream's checksums,
// because the caller has its own.
func (d *Decoder) Decode(dst, src []byte, size int) (out []byte, consumed int, err error) {
	if len(src) >= empty && string(src[:3]) == "BZh" && string(src[streamStart:streamStart+6]) == endMagic {
		return dst, empty, nil
	}
	// Run-length coding makes at most 5 bytes of 4.
	most := max(size, 0)/4*5 + 5
	if err := check(src, most); err != nil {
		return dst, 0, err
	}
	level := min(int(src[3]-'0'), most/blockUnit+1)
	d.stream = append(d.stream[:0], src...)
	d.stream[3] = '0' + byte(level)
	d.source.Reset(d.stream)
	if d.bzip2 == nil {
		d.bzip2, err = bzip2.NewReader(&d.source, nil)
	} else {
		err = d.bzip2.Reset(&d.source)
	}
	n := 0
	out = slices.Grow(dst, size+1)
	if err == nil {
		// Read returns at most one block.
		n, err = d.bzip2.Read(out[len(dst) : len(dst)+size+1])
	}
	out = out[:len(dst)+min(n, size)]
	if err != nil {
		if text := err.Error(); strings.Contains(text, "decoding exceeded") || strings.Contains(text, "symbols exceeds") {
			return out, 0, ErrTooLong // the block exceeds the lowered level
		}
		return out, 0, ErrDamaged
	}
	if n > size {
		d.bzip2 = nil // Reset would keep the unread rest
		return out, 0, ErrTooLong
	}
	consumed = int(d.bzip2.InputOffset) + footer
	if n >= run && bytes.Count(out[len(out)-run:], out[len(out)-1:]) == run {
		d.bzip2 = nil // the next stream would begin with the count that this run may lack
	}
	if consumed > len(src) {
		return out, len(src), ErrDamaged
	}
	return out, consumed, nil
}

// check validates the header of the first block. Its codes must be complete, because
// dsnet/compress searches for valid ones otherwise. The block must fit in most bytes
// before run-length decoding.
func check(src []byte, most int) error {
	if len(src) < streamStart || string(src[:3]) != "BZh" || src[3] < '1' || src[3] > '9' {
		return ErrDamaged
	}
	r := bitReader{src: src[streamStart:]}
	if r.bits(24)<<24|r.bits(24) != blockMagic {
		return ErrDamaged
	}
	r.bits(16)
	r.bits(16) // checksum
	if r.bits(1) != 0 {
		return ErrDamaged // randomised; no compressor since 1997 does this
	}
	r.bits(24) // origin
	symbols := 2
	for groups := r.bits(16); groups != 0; groups &= groups - 1 {
		for members := r.bits(16); members != 0; members &= members - 1 {
			symbols++
		}
	}
	trees, selectors := int(r.bits(3)), int(r.bits(15))
	if symbols == 2 || trees < minTrees || trees > maxTrees || selectors == 0 {
		return ErrDamaged
	}
	if selectors > most/symbolsEach+spareSelectors {
		return ErrTooLong
	}
	for range selectors {
		if r.have <= maxTrees {
			r.fill(maxTrees + 1)
		}
		n := uint(bits.LeadingZeros64(^r.word))
		if int(n) >= trees {
			return ErrDamaged
		}
		r.skip(n + 1)
	}
	for range trees {
		left := 1 << maxCodeLen // unused code space, in units of the longest code
		length := int(r.bits(5))
		for range symbols {
			for {
				if length < 1 || length > maxCodeLen {
					return ErrDamaged
				}
				if r.have < 2 {
					r.fill(2)
				}
				if r.word>>63 == 0 {
					r.skip(1)
					break
				}
				length += 1 - 2*int(r.word>>62&1)
				r.skip(2)
			}
			left -= 1 << (maxCodeLen - length)
		}
		if left != 0 {
			return ErrDamaged
		}
	}
	if r.short {
		return ErrDamaged
	}
	return nil
}

// A bitReader reads bits, the highest first. After the end it returns zeros.
type bitReader struct {
	src   []byte
	word  uint64 // the next bits, the first one highest
	have  uint
	short bool
}

func (r *bitReader) bits(n uint) uint64 {
	if r.have < n {
		r.fill(n)
	}
	v := r.word >> (64 - n)
	r.skip(n)
	return v
}

func (r *bitReader) skip(n uint) {
	r.word <<= n
	r.have -= n
}

func (r *bitReader) fill(n uint) {
	if len(r.src) >= 8 && r.have < 32 {
		r.word |= uint64(binary.BigEndian.Uint32(r.src)) << (32 - r.have)
		r.src, r.have = r.src[4:], r.have+32
		return
	}
	for r.have < n {
		b := byte(0)
		if len(r.src) > 0 {
			b, r.src = r.src[0], r.src[1:]
		} else {
			r.short = true
		}
		r.word |= uint64(b) << (56 - r.have)
		r.have += 8
	}
}
