package report

import (
	"net/netip"
	"testing"

	"github.com/qdissect/qdissect/internal/nettext"
)

// TestCommunityID: the baseline of the specification. It has no UDP over IPv6; TCP
// differs in one byte.
func TestCommunityID(t *testing.T) {
	for _, c := range []struct {
		protocol   uint8
		a, b, want string
	}{
		{nettext.UDP, "192.168.1.52:54585", "8.8.8.8:53", "1:d/FP5EW3wiY1vCndhwleRRKHowQ="},
		{6, "128.232.110.120:34855", "66.35.250.204:80", "1:LQU9qZlK+B5F3KDmev6m5PMibrg="},
		{6, "[2001:470:e5bf:dead:4957:2174:e82c:4887]:63943", "[2607:f8b0:400c:c03::1a]:25", "1:/qFaeAR+gFe1KYjMzVDsMv+wgU4="},
		{6, "[fe80::200:86ff:fe05:80da]:1022", "[fe80::260:97ff:fe07:69ea]:22", "1:gS2aYcRwGJWe7UratL8/84dclq4="},
	} {
		a, b := netip.MustParseAddrPort(c.a), netip.MustParseAddrPort(c.b)
		for range 2 {
			if got := string(nettext.AppendFlowID(nil, c.protocol, a, b)); got != c.want {
				t.Errorf("%s > %s: %s, want %s", a, b, got, c.want)
			}
			a, b = b, a
		}
	}
}

// TestFlowText: conversations that share a place do not share their texts.
func TestFlowText(t *testing.T) {
	j := NewJSON(JSONOptions{})
	for i := range 6 * flowPairs {
		a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), uint16(i))
		b := netip.MustParseAddrPort("198.51.100.7:27015")
		for range 2 {
			want := `,"src_ip":"` + a.Addr().String() + `","src_port":` + port(a) + `,"dst_ip":"` + b.Addr().String() + `","dst_port":` + port(b) +
				`,"flow_id":"` + string(nettext.AppendFlowID(nil, nettext.UDP, a, b)) + `"`
			if got := string(j.appendEnds(nil, a, b, false, false)); got != want {
				t.Fatalf("%s, want %s", got, want)
			}
			a, b = b, a
		}
	}
}

func port(a netip.AddrPort) string { return a.String()[len(a.Addr().String())+1:] }
