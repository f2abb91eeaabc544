package nettext

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// ASCIILen returns the number of bytes of b before the first that is not ASCII.
func ASCIILen(b []byte) int {
	blocks := 0
	for blocks <= len(b)-32 && allASCII((*[32]byte)(b[blocks:blocks+32])) {
		blocks += 32
	}
	n := 0
	b = b[blocks:]
	for n <= len(b)-8 {
		if x := binary.LittleEndian.Uint64(b[n:n+8]) & HighBits; x != 0 {
			return blocks + n + bits.TrailingZeros64(x)/8
		}
		n += 8
	}
	for n < len(b) && b[n] < utf8.RuneSelf {
		n++
	}
	return blocks + n
}

func allASCII(b *[32]byte) bool {
	return (binary.LittleEndian.Uint64(b[:])|binary.LittleEndian.Uint64(b[8:])|binary.LittleEndian.Uint64(b[16:])|binary.LittleEndian.Uint64(b[24:]))&HighBits == 0
}

// ValidUTF8 is [utf8.Valid], quicker for words with letters of two bytes among ASCII.
func ValidUTF8(b []byte) bool {
	for {
		b = b[ASCIILen(b):]
		for len(b) >= 8 && fourLetters(binary.LittleEndian.Uint64(b)) {
			b = b[8:]
		}
		for len(b) >= 2 && b[0] >= 0xc2 && b[0] <= 0xdf && b[1]&0xc0 == 0x80 {
			b = b[2:]
		}
		if len(b) == 0 {
			return true
		}
		if b[0] >= utf8.RuneSelf {
			_, n := utf8.DecodeRune(b)
			if n == 1 {
				return false
			}
			b = b[n:]
		}
	}
}

// fourLetters reports whether eight bytes are four letters of two bytes each: 110xxxxx and 10xxxxxx,
// of which the first is not C0 or C1.
func fourLetters(b uint64) bool {
	const each = 0x0001000100010001
	return b&(0xc0e0*each) == 0x80c0*each && (b&(0x1e*each)+0x1e*each)&(0x20*each) == 0x20*each
}

// UntilNUL returns the number of bytes of b before the first NUL, -1 if there is none, and
// whether any of them is not ASCII. Most text is short: it is read once, by words.
func UntilNUL(b []byte) (n int, high bool) {
	all := uint64(0)
	for n <= len(b)-8 {
		x := binary.LittleEndian.Uint64(b[n : n+8])
		if zero := (x - ones) &^ x & HighBits; zero != 0 { // the lowest bit is that of the first NUL
			all |= x & (zero ^ (zero - 1))
			return n + bits.TrailingZeros64(zero)/8, all&HighBits != 0
		}
		all |= x
		n += 8
	}
	for ; n < len(b); n++ {
		if b[n] == 0 {
			return n, all&HighBits != 0
		}
		all |= uint64(b[n])
	}
	return -1, false
}
