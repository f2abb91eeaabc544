package packet

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/qdissect/qdissect/reassembly"
)

// turned is the frame of a wrapping in the other direction, as far as Spread is
// concerned: with the outermost addresses exchanged.
func turned(t *testing.T, b []byte) []byte {
	b = bytes.Clone(b)
	for _, pair := range [][2]netip.Addr{{near4, far4}, {near6, far6}, {client4, server4}, {client6, server6}} {
		x, y := pair[0].AsSlice(), pair[1].AsSlice()
		if i := bytes.Index(b, append(x, y...)); i >= 0 {
			copy(b[i:], y)
			copy(b[i+len(y):], x)
			return b
		}
	}
	t.Fatal("no addresses")
	return nil
}

func TestSpread(t *testing.T) {
	plain4, plain6 := Spread(linkRawIP, ask4()), Spread(linkRawIP, ask6())
	if plain4 == 0 || plain6 == 0 || plain4 == plain6 {
		t.Fatalf("%d and %d", plain4, plain6)
	}
	for _, w := range wrappings() {
		t.Run(w.name, func(t *testing.T) {
			got := Spread(w.linkType, w.data)
			if back := Spread(w.linkType, turned(t, w.data)); got == 0 || back != got {
				t.Errorf("%d, and %d in the other direction", got, back)
			}
			want := plain4
			if w.v6 {
				want = plain6
			}
			if w.outer != "" {
				want = Spread(linkRawIP, ip4(near4, far4, protoTCP, nil))
				if w.outer[0] != '2' || w.outer[3] == '1' {
					want = Spread(linkRawIP, ip6(near6, far6, protoTCP, nil))
				}
			}
			if got != want {
				t.Errorf("%d, want %d", got, want)
			}
			for n := range len(w.data) {
				if h := Spread(w.linkType, w.data[:n]); h != 0 && h != got {
					t.Errorf("%d when cut at %d, want %d or nothing", h, n, got)
				}
			}
		})
	}
}

// All fragments of a packet go the same way, and so do the replies.
func TestSpreadOfFragments(t *testing.T) {
	for _, parts := range [][][]byte{split4(server4, client4, protoUDP, 7, 576, reply()), split6(server6, client6, protoUDP, 7, 576, reply6())} {
		for i, p := range parts {
			want := Spread(linkRawIP, ask4())
			if p[0]>>4 == 6 {
				want = Spread(linkRawIP, ask6())
			}
			if got := Spread(linkRawIP, p); got != want {
				t.Errorf("fragment %d goes to %d, the query to %d", i, got, want)
			}
		}
	}
}

func TestDatagramSpread(t *testing.T) {
	var want [2]uint32
	for _, w := range wrappings() {
		d := NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, nil)
		var out Datagram
		d.Decode(&Frame{LinkType: w.linkType, Data: w.data}, &out)
		v := 0
		if w.v6 {
			v = 1
		}
		got := out.Spread()
		if want[v] == 0 {
			want[v] = got
		}
		out.Src, out.Dst = out.Dst, out.Src
		if got != want[v] || out.Spread() != got || got == 0 {
			t.Errorf("%s: %d, and %d in the other direction; want %d", w.name, got, out.Spread(), want[v])
		}
	}
}

// Addresses that count up must not all go to one worker of two, four or eight.
func TestSpreadIsEven(t *testing.T) {
	const addresses = 8000
	for _, workers := range []uint32{2, 3, 4, 8} {
		var four, six [8]int
		b4, b6 := ask4(), ask6()
		for i := range uint32(addresses) {
			binary.BigEndian.PutUint32(b4[12:], 0x0a000000+i)
			binary.BigEndian.PutUint32(b6[20:], i)
			four[Spread(linkRawIP, b4)%workers]++
			six[Spread(linkRawIP, b6)%workers]++
		}
		for i := range workers {
			fair := addresses / int(workers)
			if four[i] < fair*8/10 || four[i] > fair*12/10 || six[i] < fair*8/10 || six[i] > fair*12/10 {
				t.Errorf("%d workers: %v and %v", workers, four[:workers], six[:workers])
				break
			}
		}
	}
}
