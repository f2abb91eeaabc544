package all

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect/ase"
	"github.com/qdissect/qdissect/dissect/dissecttest"
	"github.com/qdissect/qdissect/reassembly"
)

// aseTexts returns the texts, each after its length, which counts itself and has eight
// bits.
func aseTexts(list ...string) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteByte(byte(len(s) + 1))
		b.WriteString(s)
	}
	return b.String()
}

// TestASEWrap has texts of every length around the limit, in every place.
func TestASEWrap(t *testing.T) {
	place := []string{"hostname", "gametype", "map", "version", "key", "value", "last value", "player", "last player"}
	for _, n := range []int{253, 254, 255, 256, 257, 258, 270, 300, 383, 384, 400, 509, 510} {
		for i, name := range place {
			part := []string{"A server", "Race", "SF", "1.6", "Mode", "Race", "clear", "Anna", "Borje"}
			part[i] = strings.Repeat("Words and words. ", 40)[:n]
			b := "EYE1" + aseTexts("mta", "22003", part[0], part[1], part[2], part[3], "0", "2", "32", part[4], part[5], "Weather", part[6]) + "\x01" +
				"\x3f" + aseTexts(part[7], "", "", "7", "154", "") + "\x3f" + aseTexts(part[8], "", "", "", "31", "")
			m, err := ase.Parse([]byte(b))
			p := m.(*ase.StatusReply)
			// The length byte has no room for 255 bytes and more, so the reply contradicts itself.
			wrapped := err != nil && strings.Contains(err.Error(), fmt.Sprintf(": length byte %d before a text of %d bytes at offset ", byte(n+1), n))
			if wrapped != (n >= 255) || !wrapped && err != nil || len(p.Players) != 2 || p.Players[0].Name != part[7] || p.Players[1].Name != part[8] || len(p.Rules) != 2 ||
				p.Rules[0].Key != part[4] || p.Rules[1].Value != part[6] || p.Map != part[2] {
				t.Errorf("%s of %d bytes: %v, %d rules, %d players", name, n, err, len(p.Rules), len(p.Players))
			}
		}
	}
}

// TestASENoWrap has replies with other errors, in which no text may absorb its neighbours.
func TestASENoWrap(t *testing.T) {
	whole := sampleOf(t, "ase", "status of Multi Theft Auto")
	list := [][]byte{[]byte("EYE1" + aseTexts("farcry", "49001", strings.Repeat("n", 200), strings.Repeat("t", 200), strings.Repeat("m", 200), "1.4", "yes", "1", "16") + "\x01\x09" + aseTexts("Anna", "3"))}
	for n := len("EYE1"); n < len(whole); n++ {
		list = append(list, whole[:n])
	}
	for _, payload := range list {
		for _, f := range dissecttest.Decode(t, byName("ase"), payload).Findings {
			if f.Type.ID == "ase.lenwrap" {
				t.Errorf("%d bytes: a wrapped text at %d", len(payload), f.Offset)
			}
		}
	}
}

// TestASEParts reads the numbers of datagrams.
func TestASEParts(t *testing.T) {
	const size = 1364 // of all parts but the last
	read, list := byName("ase").Split.Read, samplesOf(t, byName("ase"))
	parts := list[slices.IndexFunc(list, func(s dissecttest.Sample) bool { return s.Name == "in two datagrams" })].Parts
	if len(parts) != 2 || len(parts[0]) != size {
		t.Fatalf("%d parts, the first of %d bytes", len(parts), len(parts[0]))
	}
	p, ok := read(parts[0], 0)
	if want := (reassembly.Part{ID: 1234, Header: 4, Variant: 1}); !ok || p != want {
		t.Errorf("%+v, %v", p, ok)
	}
	p, ok = read(parts[1], 0)
	if want := (reassembly.Part{ID: 1234, Index: 1, Total: 2, Header: 4, Variant: 1}); !ok || p != want {
		t.Errorf("%+v, %v", p, ok)
	}
	// A reply of Multi Theft Auto of exactly this size.
	name := strings.Repeat("n", 100)
	same := "EYE1" + aseTexts("mta", "22003", "A server", "Race", "SF", "1.6", "0", "12", "32") + "\x01"
	for range 11 {
		same += "\x3f" + aseTexts(name, "", "", "", "31", "")
	}
	same += "\x3f" + aseTexts(strings.Repeat("n", size-len(same)-9), "", "", "", "31", "")
	if _, ok := read([]byte(same), 0); len(same) != size || ok {
		t.Errorf("%d bytes: %v", len(same), ok)
	}
	for _, in := range []string{"status of Multi Theft Auto", "light", "xfire", "s"} {
		if p, ok := read(sampleOf(t, "ase", in), 0); ok {
			t.Errorf("%s is part %+v", in, p)
		}
	}
	if p, ok := read([]byte("EYE2abc"), 0); ok {
		t.Errorf("what is too short is part %+v", p)
	}
}
