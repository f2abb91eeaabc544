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

// TestKeys: keys differ if endpoints do, and lose nothing but the port with it.
func TestKeys(t *testing.T) {
	seen := make(map[Key]netip.AddrPort)
	for _, a := range []string{"0.0.0.1", "10.0.0.1", "10.0.0.2", "255.255.255.255", "::ffff:10.0.0.1", "::1", "2001:db8::1", "2001:db8::2", "2001:db8:1::1"} {
		host := netip.MustParseAddr(a)
		for _, port := range []uint16{0, 1, 256, 27960, 65535} {
			end := netip.AddrPortFrom(host, port)
			k := KeyOf(end)
			if other, ok := seen[k]; ok {
				t.Errorf("%v and %v have the key %x", end, other, k)
			}
			seen[k] = end
			if alone := KeyOf(netip.AddrPortFrom(host, 0)); k.Host() != alone {
				t.Errorf("host of %v: %x, want %x", end, k.Host(), alone)
			}
			d := Datagram{Src: end, Dst: netip.AddrPortFrom(host, ^port)}
			var o Outline
			d.Outline(&o)
			if o.From != k || o.To != KeyOf(d.Dst) {
				t.Errorf("keys of %v and %v: %x and %x, want %x and %x", d.Src, d.Dst, o.From, o.To, k, KeyOf(d.Dst))
			}
		}
	}
}
