package serve

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/qdissect/qdissect/dissect"
)

// epoch is the lifetime of a challenge. It remains valid for one more epoch.
const epoch = 30 * time.Second

// tokens computes challenges. A challenge is a keyed hash, so none is stored. It does
// not depend on the port of the client, because some clients change it with every
// request.
type tokens struct {
	key    [32]byte
	server string
}

func newTokens(key [32]byte, server netip.AddrPort) tokens {
	return tokens{key: key, server: server.String()}
}

func (t *tokens) at(client netip.Addr, n int64, p *dissect.Protocol) uint32 {
	h := hmac.New(sha256.New, t.key[:])
	ip := client.Unmap().As16()
	h.Write(ip[:])
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
	h.Write([]byte(p.Name + " " + t.server))
	bits := cmp.Or(p.Handshake.Bits, 31)
	v := binary.BigEndian.Uint32(h.Sum(nil)) & (1<<bits - 1)
	return max(v, 1) // 0 means no challenge
}

// give returns the challenge for a client.
func (t *tokens) give(client netip.Addr, now time.Time, p *dissect.Protocol) uint32 {
	return t.at(client, epochOf(now), p)
}

// valid reports whether the client has got this challenge recently.
func (t *tokens) valid(client netip.Addr, now time.Time, p *dissect.Protocol, v uint32) bool {
	n := epochOf(now)
	return v == t.at(client, n, p) || v == t.at(client, n-1, p)
}

func epochOf(now time.Time) int64 { return now.UnixNano() / int64(epoch) }
