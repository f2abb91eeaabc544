package dissect

import (
	"math/bits"
	"math/rand/v2"

	"github.com/qdissect/qdissect/internal/core"
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

func (h *hasher) flow(k *flowKey) uint32 {
	x := h.add(h.b, k.low.hi, k.low.lo)
	x = h.add(x, k.high.hi, k.high.lo)
	return end(h.add(x, uint64(k.lowPort)<<16|uint64(k.highPort), h.b^core.Bit[uint64](k.tcp)))
}

func (h *hasher) address(k address) uint32 {
	return end(h.add(h.add(h.b, k.hi, k.lo), h.b, 0))
}

func (h *hasher) server(k serverKey) uint32 {
	return end(h.add(h.add(h.b, k.hi, k.lo), uint64(k.port), h.b))
}

func (h *hasher) peer(k peerKey) uint32 {
	x := h.add(h.b, k.client.hi, k.client.lo)
	x = h.add(x, k.server.hi, k.server.lo)
	return end(h.add(x, uint64(k.port)<<8|uint64(uint8(k.protocol)), h.b))
}
