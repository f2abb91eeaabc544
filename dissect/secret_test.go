package dissect

import (
	"bytes"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/internal/nettext"
)

func TestShown(t *testing.T) {
	login := &Foreign{Login: func(b []byte) int { return min(4, len(b)) }}
	for _, c := range []struct {
		f          *Foreign
		text, want string
	}{
		{nil, "\xff\xff\xff\xffrcon hunter2 quit", "\xff\xff\xff\xffrcon*************"}, {nil, "RCON hunter2", "RCON********"},
		{nil, "x password\\hunter2\\y", "x passw*************"}, {nil, "connect 47 x", "connect ****"}, {nil, "connectResponse", "connectResponse"}, {nil, "rcon", "rcon"}, {nil, "", ""},
		{nil, "login pass=x pwd=y", "login pass=*******"}, {nil, "a&pwd=y", "a&pwd=*"}, {nil, "pass on", "pass on"}, {nil, "r\x00c\x00o\x00n\x00 \x00x\x00", "r\x00c\x00o\x00n\x00****"},
		{nil, "\x00R\x00C\x00O\x00N\x00x", "\x00R\x00C\x00O\x00N\x00*"}, {nil, "r\x00c\x00o\x00n", "r\x00c\x00o\x00n"}, {nil, "r\x00", "r\x00"},
		{login, "12345", "1234*"}, {login, "1234", "1234"}, {login, "", ""}, {login, "1rcon2", "1rco**"}, {login, "pwd=xy", "pwd=**"}, {login, "12345 rcon x", "1234********"},
	} {
		if got := string(c.f.Shown([]byte(c.text))); got != c.want {
			t.Errorf("%q is shown as %q, want %q", c.text, got, c.want)
		}
		u := Unknown{Datagram: &Datagram{Payload: []byte(c.text)}, Foreign: c.f}
		if got := string(u.Shown(false)); got != c.want {
			t.Errorf("the payload %q is shown as %q, want %q", c.text, got, c.want)
		}
		if got := string(u.Shown(true)); got != c.text {
			t.Errorf("the payload %q is shown as %q though secrets are asked for", c.text, got)
		}
	}
}

// FuzzSecret: hiding changes no length and nothing before the secret, and what
// is borrowed stays as it is.
func FuzzSecret(f *testing.F) {
	for _, s := range []string{"\xff\xff\xff\xffrcon a b", "cdkey", "RcOn 1 1 1", "passw\x00", "ticketticket", "x_password y"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		got := (*Foreign)(nil).Shown(b)
		if !bytes.Equal(b, before) || len(got) != len(b) {
			t.Fatalf("%q became %q", before, got)
		}
		at := nettext.SecretAt(b)
		if !bytes.Equal(got[:at], b[:at]) || strings.Trim(string(got[at:]), "*") != "" {
			t.Fatalf("%q is shown as %q", b, got)
		}
		if key, value, _ := strings.Cut(string(b), " "); nettext.SecretSetting(key, value) && !strings.Contains(strings.ToLower(key), "passw") {
			t.Fatalf("%q %q", key, value)
		}
	})
}
