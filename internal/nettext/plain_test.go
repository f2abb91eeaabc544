package nettext

import (
	"math/bits"
	"net/netip"
	"testing"
)

func isSpecial(c byte) bool { return c < 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '^' }

func TestSpecial(t *testing.T) {
	for c := range 256 {
		for at := range 8 {
			v := uint64(0x6162636465666768)&^(0xff<<(8*at)) | uint64(c)<<(8*at)
			want := 64
			if isSpecial(byte(c)) {
				want = 8*at + 7
			}
			if got := bits.TrailingZeros64(Special(v) & HighBits); got != want {
				t.Fatalf("byte %#x at %d: bit %d, want %d", c, at, got, want)
			}
			if c == '^' {
				want = 64
			}
			if got := bits.TrailingZeros64(Escaped(v) & HighBits); got != want {
				t.Fatalf("byte %#x at %d, escaped: bit %d, want %d", c, at, got, want)
			}
		}
	}
}

func TestPlain(t *testing.T) {
	for n := range 20 {
		s := []byte("abcdefghijklmnopqrst"[:n])
		if !Plain(s) {
			t.Errorf("%q is not plain", s)
		}
		for at := range s {
			was := s[at]
			for c := range 256 {
				s[at] = byte(c)
				if Plain(s) == isSpecial(byte(c)) {
					t.Errorf("%q: %v", s, Plain(s))
				}
			}
			s[at] = was
		}
	}
}

func TestAppendAddr(t *testing.T) {
	for c := range 256 {
		for _, a := range []netip.Addr{
			netip.AddrFrom4([4]byte{byte(c), 0, 9, 10}), netip.AddrFrom4([4]byte{99, 100, 255, byte(c)}), netip.AddrFrom16([16]byte{15: byte(c)}), {},
		} {
			for room := range 24 {
				b := append(make([]byte, 0, room+1), '-')
				if got, want := string(AppendAddr(b, a)), "-"+a.String(); got != want && a.IsValid() || !a.IsValid() && got != "-" {
					t.Fatalf("%s with room for %d, want %s", got, room, want)
				}
			}
		}
	}
}

func TestAppendAddr6(t *testing.T) {
	for zeros := range 256 { // a bit for each group
		for _, group := range []uint16{1, 0xa0, 0xbcd, 0xffff} {
			var b [16]byte
			for i := range 8 {
				if zeros>>i&1 == 0 {
					b[2*i], b[2*i+1] = byte(group>>8), byte(group)
				}
			}
			for _, a := range []netip.Addr{netip.AddrFrom16(b), netip.AddrFrom16(b).WithZone("eth0")} {
				if got := string(AppendAddr(nil, a)); got != a.String() {
					t.Fatalf("%s, want %s", got, a)
				}
				end := netip.AddrPortFrom(a, 27015)
				if got := string(AppendAddrPort(nil, end)); got != end.String() {
					t.Fatalf("%s, want %s", got, end)
				}
			}
		}
	}
	for _, s := range []string{"::ffff:1.2.3.4", "1.2.3.4", "255.255.255.255"} {
		end := netip.AddrPortFrom(netip.MustParseAddr(s), 65535)
		if got := string(AppendAddrPort(nil, end)); got != end.String() {
			t.Fatalf("%s, want %s", got, end)
		}
	}
	if got, want := string(AppendAddrPort(nil, netip.AddrPort{})), string(netip.AddrPort{}.AppendTo(nil)); got != want {
		t.Fatalf("%s, want %s", got, want)
	}
}
