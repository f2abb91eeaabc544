package serve

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
)

// A handshake describes the challenges of a protocol, in addition to [dissect.Pair]
// and [dissect.Field].Chosen.
type handshake struct {
	// give appends the reply that gives a challenge. It is nil if clients must ask for
	// one.
	give func(dst []byte, token uint32) []byte
	// bits is the size of a challenge; 0 means 31.
	bits int
	// setting is the setting of a reply that echoes a value of the request, or "".
	setting string
	// filter removes what the client chose from the value of a field. It may be nil.
	filter func(f *dissect.Field, value string) string
	// packed says that datagrams are packed, after a byte which is FF in those that are not.
	packed bool
	// follows are the words before a value that the client chose.
	follows map[string]bool
}

// handshakes are the protocols that need a description.
var handshakes = map[string]*handshake{
	// "A2S_SERVERQUERY_GETCHALLENGE" in Server queries: FF FF FF FF 'A' and four
	// bytes. It may answer any query that takes a challenge.
	"a2s": {give: func(dst []byte, token uint32) []byte {
		return binary.LittleEndian.AppendUint32(append(dst, "\xff\xff\xff\xffA"...), token)
	}},
	// The vanilla server uses 24 bits.
	"minecraft": {bits: 24},
	// \echo\text asks for the text in the reply.
	"gamespy1": {follows: map[string]bool{"echo": true}},
	"quake3":   {setting: "challenge"},
	// Clients of all versions get the same answer.
	"teamspeak3": {filter: func(f *dissect.Field, value string) string {
		if f.Key() == "client_version" {
			return ""
		}
		return value
	}},
	"zandronum": {packed: true},
	// Xash3D: the value of \key\hex in the filter is echoed in the reply.
	"valve-master": {filter: func(f *dissect.Field, value string) string {
		if f.Key() == "filter" {
			value, _ = cutFilterKey(value)
		}
		return value
	}},
}

var noHandshake handshake

func handshakeOf(p *dissect.Protocol) *handshake {
	if d := handshakes[p.Name]; d != nil {
		return d
	}
	return &noHandshake
}

// cutFilterKey removes \key\value from a filter and returns the value.
func cutFilterKey(filter string) (rest, value string) {
	const name = `\key\`
	i := strings.Index(filter, name)
	if i < 0 {
		return filter, ""
	}
	value, after, more := strings.Cut(filter[i+len(name):], `\`)
	if more {
		after = `\` + after
	}
	return filter[:i] + after, value
}

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
	bits := cmp.Or(handshakeOf(p).bits, 31)
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
