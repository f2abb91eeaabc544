package packet

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/qdissect/qdissect/reassembly"
)

func TestSpread(t *testing.T) {
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
		for i := range uint32(addresses) {
			var b4 [4]byte
			binary.BigEndian.PutUint32(b4[:], 0x0a000000+i)
			b6 := client6.As16()
			binary.BigEndian.PutUint32(b6[12:], i)
			d4 := Datagram{Src: netip.AddrPortFrom(netip.AddrFrom4(b4), 1), Dst: netip.AddrPortFrom(server4, 2)}
			d6 := Datagram{Src: netip.AddrPortFrom(netip.AddrFrom16(b6), 1), Dst: netip.AddrPortFrom(server6, 2)}
			four[d4.Spread()%workers]++
			six[d6.Spread()%workers]++
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
