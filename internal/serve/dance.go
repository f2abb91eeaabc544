package serve

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
)

// A dance is what a protocol does with challenges beyond what its declaration
// tells: [dissect.Pair] says which messages give, carry or lack one, and
// [dissect.Field].Chosen which values one side chose.
type dance struct {
	// give makes the reply that gives a challenge, for protocols that answer
	// any query with one. It is nil where only a handshake gives one.
	give func(dst []byte, token uint32) []byte
	// bits is how long challenges are, 0 for 31.
	bits int
	// setting is the setting of a reply in which servers bring back what the
	// client put into its request, "" for none.
	setting string
	// filter changes the value of a field so that what the client chose is no
	// longer in it; nil leaves it.
	filter func(f *dissect.Field, value string) string
	// follows are words behind which stands a value that the client chose.
	follows map[string]bool
}

// dances has the protocols with something to add.
var dances = map[string]*dance{
	// Server queries, "A2S_SERVERQUERY_GETCHALLENGE": FF FF FF FF 'A' and four
	// bytes. Any of the challenged queries may be answered so.
	"a2s": {give: func(dst []byte, token uint32) []byte {
		return binary.LittleEndian.AppendUint32(append(dst, "\xff\xff\xff\xffA"...), token)
	}},
	// The vanilla server's tokens have 24 bits.
	"minecraft": {bits: 24},
	// \echo\text wants the text back.
	"gamespy1": {follows: map[string]bool{"echo": true}},
	"quake3":   {setting: "challenge"},
	// Xash3D: \key\hex in the filter comes back in the reply.
	"valve-master": {filter: func(f *dissect.Field, value string) string {
		if f.Key() == "filter" {
			value, _ = cutFilterKey(value)
		}
		return value
	}},
}

var noDance dance

func danceOf(p *dissect.Protocol) *dance {
	if d := dances[p.Name]; d != nil {
		return d
	}
	return &noDance
}

// cutFilterKey takes the condition \key\value out of a filter and returns the
// value.
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

// epoch is how long a challenge is given. It stays valid for one more.
const epoch = 30 * time.Second

// tokens makes and knows challenges. Nothing is kept of those that were given:
// a challenge is a keyed hash of what it is valid for. Ports of clients do not
// count, as some use a new one for every request.
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
	bits := danceOf(p).bits
	if bits == 0 {
		bits = 31
	}
	v := binary.BigEndian.Uint32(h.Sum(nil)) & (1<<bits - 1)
	if v == 0 { // asks for a challenge, or says that there is none
		v = 1
	}
	return v
}

// give returns the challenge of a client.
func (t *tokens) give(client netip.Addr, now time.Time, p *dissect.Protocol) uint32 {
	return t.at(client, epochOf(now), p)
}

// valid reports whether a challenge was given to a client a short time ago.
func (t *tokens) valid(client netip.Addr, now time.Time, p *dissect.Protocol, v uint32) bool {
	n := epochOf(now)
	return v == t.at(client, n, p) || v == t.at(client, n-1, p)
}

func epochOf(now time.Time) int64 { return now.UnixNano() / int64(epoch) }
