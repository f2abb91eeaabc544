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
