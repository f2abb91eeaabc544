package stats

import (
	"net/netip"
	"testing"
)

// TestListed: servers that verdicts name stand in the list, in their order, and displace those at its end.
func TestListed(t *testing.T) {
	for name, c := range map[string]struct {
		rows    int
		verdict string
		want    []uint16
	}{
		"all":           {9, "192.0.2.1:5", []uint16{1, 2, 3, 4, 5}},
		"none in need":  {3, "", []uint16{1, 2, 3}},
		"one of these":  {3, "192.0.2.1:2", []uint16{1, 2, 3}},
		"the last":      {3, "192.0.2.1:5", []uint16{1, 2, 5}},
		"the last of 1": {1, "192.0.2.1:5", []uint16{5}},
	} {
		r := &reporting{Report: &Report{Verdicts: []Verdict{{Server: c.verdict}}}, o: &Options{Rows: c.rows}}
		for port := range uint16(5) {
			r.servers = append(r.servers, &entry[server]{key: keyOf(netip.MustParseAddr("192.0.2.1"), port+1)})
		}
		var got []uint16
		for _, e := range r.listed() {
			got = append(got, e.port)
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		}
	}
}

// TestEnds: addresses that differ in their last group do so when they are cut.
func TestEnds(t *testing.T) {
	for in, want := range map[string]string{
		"198.51.100.10:27015":              "198.51.100.10:27015",
		"[2001:db8:aaaa:bbbb::c101]:27015": "[2001:d…b::c101]:27015",
		"[2001:db8:aaaa:bbbb::c102]:27015": "[2001:d…b::c102]:27015",
	} {
		if got := ends(in, 22); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
