package ventrilo

import "encoding/binary"

const (
	lenKey    = 2
	lenHeader = 20 // with the key
	lenPlain  = lenHeader - lenKey
	maxBody   = 492 // of a datagram
)

// A header is the decrypted header of a datagram.
type header [lenPlain]byte

func (h *header) word(i int) int   { return int(binary.BigEndian.Uint16(h[2*i:])) }
func (h *header) zero() int        { return h.word(0) }
func (h *header) command() int     { return h.word(1) }
func (h *header) id() int          { return h.word(2) }
func (h *header) total() int       { return h.word(3) }
func (h *header) length() int      { return h.word(4) }
func (h *header) parts() int       { return h.word(5) }
func (h *header) part() int        { return h.word(6) }
func (h *header) crc() int         { return h.word(8) }
func (h *header) key() (a, b byte) { return h[14], h[15] }

// open decrypts the header of a datagram of at least lenHeader bytes.
func (h *header) open(b []byte) {
	copy(h[:], b[lenKey:])
	decrypt(h[:], b[0], b[1], &headTable, 5)
}

// appendBody appends the decrypted body of a datagram.
func (h *header) appendBody(dst, b []byte) []byte {
	at, step := h.key()
	n := len(dst)
	dst = append(dst, b...)
	decrypt(dst[n:], at, step, &bodyTable, 72)
	return dst
}

// decrypt subtracts from each byte one of a table, and a number that counts from 0 to
// period-1.
func decrypt(b []byte, at, step byte, table *[256]byte, period byte) {
	count := byte(0)
	for i := range b {
		b[i] -= table[at] + count
		at += step
		if count++; count == period {
			count = 0
		}
	}
}

// checksum is the CRC of the decrypted body of all parts: that of XMODEM without its
// zeros at the end.
func checksum(b []byte) int {
	c := uint16(0)
	for _, x := range b {
		c = crcTable[c>>8] ^ uint16(x) ^ c<<8
	}
	return int(c)
}

var crcTable = func() (t [256]uint16) {
	for i := range t {
		c := uint16(i) << 8
		for range 8 {
			if c&0x8000 != 0 {
				c = c<<1 ^ 0x1021
			} else {
				c <<= 1
			}
		}
		t[i] = c
	}
	return t
}()
