package all

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/internal/thorough"
)

// rates are kinds of payloads that no game server and no client of one sends, and how many of
// a million may get a label. The ports are those of protocols for every second payload, and
// any otherwise, unless the kind has its own.
var rates = []struct {
	name  string
	most  int // of a million
	ports string
	next  func(*rand.Rand) []byte
}{
	{"random bytes on game ports", 3, "game", randomBytes},
	{"random bytes on any port", 2, "any", randomBytes},
	{"few different bytes on any port", 4, "any", fewBytes},
	{"few different bytes on game ports", 4, "game", fewBytes},
	{"text with backslashes", 1000, "", backslashes},
	{"English", 1, "", func(r *rand.Rand) []byte { return []byte(words(r, 1+r.IntN(60), " ")) }},
	{"JSON", 0, "", jsonText},
	{"HTTP", 0, "", httpText},
}

func randomBytes(r *rand.Rand) []byte {
	b := make([]byte, 4+r.IntN(508)) // shorter ones are requests of one letter
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// fewBytes returns up to 64 bytes out of a few small numbers, or most of them one byte.
func fewBytes(r *rand.Rand) []byte {
	b := make([]byte, 6+r.IntN(58))
	values := [...]byte{0, 1, 2, 3, 0xff, byte(r.Uint32()), byte(r.Uint32())}
	n, common := 1+r.IntN(len(values)), r.IntN(8)
	for i := range b {
		if r.IntN(8) >= common {
			b[i] = values[r.IntN(n)]
		}
	}
	return b
}

// vocabulary has words of no protocol and some that protocols have as well.
var vocabulary = strings.Fields(`the of and to in is you that it he was for on are as with his they at be this have from or one had by word but not what
	all were we when your can said there use an each which she do how their if will up other about out many then them these so some her would make like him
	into time has look two more write go see number no way could people my than first water been call who oil its now find long down day did get come made
	may part Users Windows System32 Program Files AppData Local Temp config data server client name error value begin section frac alpha beta left right`)

func words(r *rand.Rand, n int, between string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = vocabulary[r.IntN(len(vocabulary))]
	}
	return strings.Join(list, between)
}

// backslashes returns paths, commands of TeX, or keys and values of some program.
func backslashes(r *rand.Rand) []byte {
	n := 1 + r.IntN(12)
	switch r.IntN(4) {
	case 0:
		return fmt.Appendf(nil, `\%s.%s`, words(r, n, `\`), words(r, 1, ""))
	case 1:
		return fmt.Appendf(nil, `\%s{%s}`, words(r, n, ` \`), words(r, 3, " "))
	case 2:
		return fmt.Appendf(nil, `\%s\%d`, words(r, n|1, `\`), r.IntN(1000))
	}
	b := []byte{'\\'}
	for range 1 + r.IntN(80) {
		b = append(b, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ .-\\\\\\\\\\\\"[r.IntN(72)])
	}
	return b
}

func jsonText(r *rand.Rand) []byte {
	m := map[string]any{}
	for range 1 + r.IntN(8) {
		m[words(r, 1, "")] = []any{words(r, 1+r.IntN(3), " "), r.IntN(1000), map[string]string{words(r, 1, ""): words(r, 1, "")}}[r.IntN(3)]
	}
	b, _ := json.Marshal(m)
	return b
}

func httpText(r *rand.Rand) []byte {
	first := [...]string{"GET /%s HTTP/1.1", "POST /%s HTTP/1.1", "HTTP/1.1 200 %s", "NOTIFY * HTTP/1.1\r\nNT: %s", "M-SEARCH * HTTP/1.1\r\nST: %s"}
	b := fmt.Appendf(nil, first[r.IntN(len(first))]+"\r\n", words(r, 1+r.IntN(3), "/"))
	for range r.IntN(6) {
		b = fmt.Appendf(b, "%s: %s\r\n", words(r, 1, ""), words(r, 1+r.IntN(4), "; "))
	}
	return append(b, "\r\n"...)
}

// TestRates sends payloads of each kind, each alone between two addresses of its own. A label
// is one of any protocol. docs/limits.md has the rates of a million payloads of each kind.
func TestRates(t *testing.T) {
	million := thorough.Of(20_000, 1_000_000)
	// The ports are on a ring, so that payloads keep theirs when a protocol is added.
	var game []uint16
	for _, p := range Protocols() {
		if !p.OverTCP() {
			game = append(game, p.Ports...)
		}
	}
	place := func(port uint16) uint32 { return uint32(port) * 0x9e3779b1 }
	slices.SortFunc(game, func(a, b uint16) int { return cmp.Compare(place(a), place(b)) })
	onRing := func(at uint32) uint16 {
		i, _ := slices.BinarySearchFunc(game, at, func(port uint16, at uint32) int { return cmp.Compare(place(port), at) })
		return game[i%len(game)]
	}
	for i, kind := range rates {
		t.Run(kind.name, func(t *testing.T) {
			k, r := newTaker(t), rand.New(rand.NewPCG(40, uint64(i)))
			labels := map[string]int{}
			n := 0
			for j := range million {
				port := uint16(1 + r.IntN(65535))
				if kind.ports == "game" || kind.ports == "" && j%2 == 0 {
					port = onRing(r.Uint32())
				}
				b := kind.next(r)
				got := k.once(b, uint32(j), port)
				if len(got) == 0 {
					continue
				}
				n++
				if labels[got]++; labels[got] <= 2 {
					t.Logf("%s, port %d: %s", got, port, text(b))
				}
			}
			t.Logf("%d of %d: %v", n, million, labels)
			if most := (kind.most*million + 999_999) / 1_000_000; n > most {
				t.Errorf("%d of %d have a label, want at most %d: %v", n, million, most, labels)
			}
		})
	}
}

// once returns the label of a payload that is sent to a port, or from it, between two
// addresses that nothing else has.
func (k *taker) once(payload []byte, i uint32, serverPort uint16) string {
	a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), port)
	b := netip.AddrPortFrom(netip.AddrFrom4([4]byte{11, byte(i >> 16), byte(i >> 8), byte(i)}), serverPort)
	if i%4 < 2 {
		a, b = b, a
	}
	k.send(a, b, payload)
	got := k.end()
	if len(got) == 0 {
		return ""
	}
	return got[0].Name
}
