package quake3

import (
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect/dissecttest"
	"github.com/qdissect/qdissect/internal/must"
)

const (
	header = "\xff\xff\xff\xff"
	status = header + "statusResponse\n"
)

// pack packs text as the engine does.
func pack(text string) string {
	var t tree
	t.reset()
	out := []byte{byte(len(text) >> 8), byte(len(text))}
	n := 0
	put := func(bit byte) {
		if n%8 == 0 {
			out = append(out, 0)
		}
		out[len(out)-1] |= bit << (n % 8)
		n++
	}
	var send func(node int16)
	send = func(node int16) {
		if up := t.nodes[node].parent; up != none {
			send(up)
			if t.nodes[up].children[1] == node {
				put(1)
			} else {
				put(0)
			}
		}
	}
	for i := range len(text) {
		if leaf := int16(text[i]); t.nodes[leaf].parent != none {
			send(leaf)
		} else {
			send(newByte)
			for shift := 7; shift >= 0; shift-- {
				put(text[i] >> shift & 1)
			}
		}
		t.add(text[i])
	}
	return string(out)
}

const userinfo = `"\challenge\-1446903372\qport\1359\protocol\71\name\^1Vis^7itor\password\hunter2\rate\25000\cl_guid\5F0177C2A76E"`

func parse[T Message](t *testing.T, payload string) T {
	t.Helper()
	m, err := Parse([]byte(payload))
	if err != nil {
		t.Fatalf("%q: %v", payload, err)
	}
	got, ok := m.(T)
	if !ok {
		t.Fatalf("%q is a %T", payload, m)
	}
	return got
}

// TestManyLines: however many lines there are, none is looked at again for each other.
func TestManyLines(t *testing.T) {
	for _, tail := range []string{strings.Repeat("\n", 60000), strings.Repeat("\nx", 30000)} {
		m, _ := Parse([]byte(status + `\a\b` + tail))
		if want := "b" + strings.TrimRight(tail, "\n"); m.(*StatusReply).Rules[0].Value != want {
			t.Errorf("%d bytes, want %d", len(m.(*StatusReply).Rules[0].Value), len(want))
		}
	}
}

// recorded is a message of an OpenArena 0.8.8 client (testdata/pcaps/quake3,
// openarena-connect.pcap).
const recorded = "" +
	"ffffffff636f6e6e65637420013d4474308e050cc726c314ec8ef967301a1629d800e7c37030af0b7bc394c2d17108ec1527" +
	"c3456b185623cf2dbe6e6e2c4562c4f656a3e701358ea5c1d91efad9a721100a3c78791273867b3e82493488abf91585d8fa" +
	"2f174b6c2ac31e3d6b569f71973f487690244a55adc0c34804edddd63f449f19bf550cab9c473d9fcbfffc4937f2e7a25025" +
	"0f3c158f15f4c7891fa784e5983bee0dc479574bd3f5836b60887543f1474a7bbfeca6f60e9cc45322899bab5505decf943d" +
	"7e24cf0997d7a2fb8b5b38448502c48bd098a13649c4c87ac4a1af67c43c79c10a84737b040b3101a22844ac11e296827afe" +
	"c672b24eb0dce89a0307b3e000"

// TestRecordedConnect unpacks the userinfo of a real client.
func TestRecordedConnect(t *testing.T) {
	payload := must.Get(hex.DecodeString(recorded))(t)
	m := parse[*Connect](t, string(payload))
	var got strings.Builder
	for _, kv := range m.Userinfo {
		got.WriteString(`\` + kv.Key + `\` + kv.Value)
	}
	const want = `\challenge\1446903372\qport\1359\protocol\71\name\^1Vis^7itor  x \password\hunter2\rate\25000\snaps\20\model\sarge\headmodel\sarge\team_model\james\team_headmodel\*james\color1\4\color2\5\handicap\100\teamtask\0\sex\male\cl_anonymous\0\cg_predictItems\1\cl_voipProtocol\opus\cl_guid\5F0177C2A76EDBE1C9630DC22D02983C`
	if got.String() != want || m.Packed != len(payload)-len("....connect ") {
		t.Errorf("%s, %d bytes", got.String(), m.Packed)
	}
	// Packing it again gives the client's bytes.
	if again := header + "connect " + pack(`"`+want+`"`); again != string(payload) {
		t.Errorf("packed to %x", again)
	}
	if got := dissecttest.Decode(t, Protocol(), payload); len(got.Findings) > 0 {
		t.Errorf("%d findings", len(got.Findings))
	}
}

// TestPack packs and unpacks text of all kinds with one tree.
func TestPack(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var tr tree
	for i := range 300 {
		text := make([]byte, rng.IntN(1+i*i/30))
		symbols := 1 + rng.IntN(256)
		for k := range text {
			text[k] = byte(rng.IntN(symbols) * rng.IntN(2))
		}
		packed := pack(string(text))
		got, whole := tr.unpack(nil, []byte(packed))
		if string(got) != string(text) || !whole {
			t.Fatalf("%q unpacks to %q", text, got)
		}
		if len(text) < 8 {
			continue
		}
		if got, whole = tr.unpack(nil, []byte(packed[:len(packed)-2])); whole || !strings.HasPrefix(string(text), string(got)) {
			t.Fatalf("%q, cut, unpacks to %q", text, got)
		}
	}
	// The longest message, with all bytes equally often; and a longer one.
	all := make([]byte, maxUnpacked)
	for i := range all {
		all[i] = byte(i)
	}
	if got, whole := tr.unpack(nil, []byte(pack(string(all)))); string(got) != string(all) || !whole {
		t.Error("the longest message does not unpack")
	}
	if got, whole := tr.unpack(nil, []byte(pack(string(all)+"x"))); len(got) != maxUnpacked || whole {
		t.Errorf("%d bytes", len(got))
	}
	for _, packed := range []string{"", "\x01", "\x00\x01", "\xff\xff\xff"} {
		if _, whole := tr.unpack(nil, []byte(packed)); whole {
			t.Errorf("%q passes for whole", packed)
		}
	}
}

// TestConnectTooLong checks that a userinfo that unpacks to too much is read as far as
// it was unpacked, and that this is reported.
func TestConnectTooLong(t *testing.T) {
	r := dissecttest.Decode(t, Protocol(), []byte(header+"connect "+pack(userinfo[:len(userinfo)-1]+strings.Repeat("x", maxUnpacked))))
	c, n := r.Body.(*Connect), len(r.Sources)-1
	if got := len(r.Sources[n].Data); got != maxUnpacked || len(c.Userinfo) == 0 || len(r.Findings) != 1 || r.Findings[0].Type != connectCut {
		t.Errorf("%d bytes, %d settings, findings %v", got, len(c.Userinfo), r.Findings)
	}
}
