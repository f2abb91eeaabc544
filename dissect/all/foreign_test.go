package all

import (
	"encoding/hex"
	"testing"

	"github.com/qdissect/qdissect/dissect/internal/foreign"
	"github.com/qdissect/qdissect/internal/must"
)

// TestName names foreign traffic by the first bytes of real datagrams from documents
// and captures.
func TestForeignName(t *testing.T) {
	for _, c := range []struct{ bytes, want string }{
		{"ffffffff214c5fa00d000000", "Steam in-home streaming discovery"},
		{"8fff1f2e82ff00010000000004b0", "ENet"},
		{"c30000000108" + "8394c8f03e515708000044", "QUIC"},
		{"737401000001000000000000037701770765", ""},
		{"73740100000100000000000003777777076578616d706c6503636f6d0000010001", "DNS"},
		{"0001000021" + "12a442b7e7a701bc34d686fa87dfae", "STUN"},
		{"16fefd0000000000000000006a", "DTLS"},
		{"80605a1700000fa01f2e3d4c" + "0102030405060708090a0b0c0d0e0f1011121314", "RTP"},
		{"80605a1700000fa01f2e3d4c01", ""},
		{"0102030405", ""},
		{"54536f7572636520456e67696e6520517565727900", "an A2S query without its FF FF FF FF"},
		{"ffffff54536f7572636520456e67696e6520517565727900", "an A2S query without its FF FF FF FF"},
		{"6765747374617475730a", "a Quake 3 query without its FF FF FF FF"},
		{"c3bfc3bfc3bfc3bf54", "a query with its FF FF FF FF as UTF-8"},
		{hex.EncodeToString([]byte(`\xFF\xFF\xFF\xFFT`)), "a query with its FF FF FF FF as text"},
		{"ffffffff55010203", "a malformed A2S query"},
		{"fefd000102", "a malformed GameSpy query"},
		{hex.EncodeToString([]byte("SAMP\xc6\x33\x64\x0ai")), "a malformed SA-MP query"},
		{"01000000000000000100ffff00fefefefefdfdfdfd12345679", "a malformed RakNet query"},
		{hex.EncodeToString([]byte("TS3INIT1\x65")), "a malformed TeamSpeak 3 query"},
		{hex.EncodeToString([]byte("\xff\xff\xff\xff\xff\xffgie3")), "a malformed Teeworlds query"},
		{hex.EncodeToString([]byte("\xff\xffgetInfo\x01")), "a malformed Doom 3 query"},
		{hex.EncodeToString([]byte("\x80\x00\x00\x0e\x02QUAKE\x00\x03")), "a malformed NetQuake query"},
		{hex.EncodeToString([]byte("1\xff0.0.0.0:0")), "a malformed query of a Valve master server"},
		{"", ""},
	} {
		b := must.Get(hex.DecodeString(c.bytes))(t)
		if got := foreign.Name(b); got != c.want {
			t.Errorf("%s looks like %q, want %q", c.bytes, got, c.want)
		}
	}
}

// TestForeignLogin finds passwords in foreign traffic.
func TestForeignLogin(t *testing.T) {
	for shown, rest := range map[string]string{
		"BE\x01\x02\x03\x04\xff\x00": "hunter2", "BE\x01\x02\x03\x04\xff\x00\x01": "", "BE\x01\x02\x03\x04\xff\x01\x00x": "",
		"SAMP\x7f\x00\x00\x01\x61\x1ex\x02\x00": "ab\x01\x00c", "SAMP\x7f\x00\x00\x01\x61\x1ex\x02\x00ab": "", "SAMP\x7f\x00\x00\x01\x61\x1ei\x02\x00abc": "",
		"\x80\x00\x00\x0a\x05": "ab\x00c\x00", "\x80\x00\x00\x0a\x05a\xffcde": "", "\x80\x00\x00\x06\x83a": "", "": "",
		"\xff\xff\xff\xffk\x18\x00\x00\x00\x03\x00\x00\x00\x01\x02\x03\x04": "name\x00hunter2\x00",
	} {
		if got := foreign.Login([]byte(shown + rest)); got != len(shown) {
			t.Errorf("%q: %d, want %d", shown+rest, got, len(shown))
		}
	}
}
