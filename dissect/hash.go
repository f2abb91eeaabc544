package dissect

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"net/netip"
)

// A hasher hashes the keys of a table, which have a few words. Its numbers are random,
// so that nobody can send what collides.
type hasher struct{ a, b uint64 }

func newHasher() hasher { return hasher{rand.Uint64(), rand.Uint64()} }

// add adds two words to a hash; the first one is h.b.
func (h *hasher) add(hash, x, y uint64) uint64 {
	hi, lo := bits.Mul64(x^h.a, y^hash)
	return hi ^ lo
}

// end returns the upper bits of a hash, mixed once more: those of keys that count up are
// else not spread.
func end(hash uint64) uint32 {
	const odd = 0x9e3779b97f4a7c15 // spreads every bit to the upper ones
	return uint32((hash ^ hash>>32) * odd >> 32)
}

// word returns the first word of b.
func word(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

func (h *hasher) flow(k *flowKey) uint32 {
	x := h.add(h.b, word(k[:]), word(k[8:]))
	x = h.add(x, word(k[16:]), word(k[24:]))
	return end(h.add(x, word(k[28:]), h.b^uint64(k[overTCP])))
}

func (h *hasher) address(k [16]byte) uint32 {
	x := h.add(h.b, word(k[:]), word(k[8:]))
	return end(h.add(x, h.b, 0))
}

func (h *hasher) server(k serverKey) uint32 {
	x := h.add(h.b, word(k.addr[:]), word(k.addr[8:]))
	return end(h.add(x, uint64(binary.LittleEndian.Uint16(k.port[:])), h.b))
}

func (h *hasher) peer(k peerKey) uint32 {
	x := h.add(h.b, word(k.client[:]), word(k.client[8:]))
	x = h.add(x, word(k.server[:]), word(k.server[8:]))
	return end(h.add(x, uint64(k.port)<<8|uint64(uint8(k.protocol)), h.b))
}

func (h *hasher) endpoint(k netip.AddrPort) uint32 {
	b := k.Addr().As16()
	x := h.add(h.b, word(b[:]), word(b[8:]))
	return end(h.add(x, uint64(k.Port()), h.b))
}
