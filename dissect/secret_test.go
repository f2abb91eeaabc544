package dissect

import (
	"bytes"
	"strings"
	"testing"
)

func TestSecretIn(t *testing.T) {
	for text, want := range map[string]string{
		`Bad Rcon: "rcon 2045268312 "hunter2" status" from "1.2.3.4:5"`: `Bad Rcon: "rcon 2045268312 `,
		`rcon 17 hunter2 status`:         `rcon 17 `,
		`rcon from "1.2.3.4:5": command`: `rcon from "1.2.3.4:5": command`,
		`Bad rconpassword.`:              `Bad rconpassword.`,
		`"rcon_password" = "hunter2"`:    `"rcon_password" = "`,
		`"rconPassword" is:"hunter2^7"`:  `"rconPassword" is:"`,
		`"sv_password" is "" `:           `"sv_password" is "`,
		`password protected server`:      `password protected server`,
		`rcon`:                           `rcon`, ``: ``, `rcon 17`: `rcon 17`, `PASSWORD"x`: `PASSWORD"x`,
	} {
		if got := text[:SecretIn(text)]; got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

func TestShownBytes(t *testing.T) {
	for text, want := range map[string]string{
		"\xff\xff\xff\xffrcon hunter2 quit": "\xff\xff\xff\xffrcon*************", "RCON hunter2": "RCON********",
		"x password\\hunter2\\y": "x passw*************", "connect 47 x": "connect ****", "connectResponse": "connectResponse", "rcon": "rcon", "": "",
	} {
		if got := string(ShownBytes([]byte(text), false)); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
		if got := string(ShownBytes([]byte(text), true)); got != text {
			t.Errorf("%q is shown as %q though secrets are asked for", text, got)
		}
	}
}

// FuzzSecret: hiding changes no length and nothing before the secret, and what
// is borrowed stays as it is.
func FuzzSecret(f *testing.F) {
	for _, s := range []string{"\xff\xff\xff\xffrcon a b", `"rcon_password" = "x"`, `rcon 12 "x" y`, "cdkey", "RcOn 1 1 1", "passw\x00", "ticketticket"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		got := ShownBytes(b, false)
		if !bytes.Equal(b, before) || len(got) != len(b) {
			t.Fatalf("%q became %q", before, got)
		}
		at := secretAt(b)
		if !bytes.Equal(got[:at], b[:at]) || strings.Trim(string(got[at:]), "*") != "" {
			t.Fatalf("%q is shown as %q", b, got)
		}
		if n := SecretIn(b); n < 0 || n > len(b) || n != SecretIn(string(b)) {
			t.Fatalf("%d of %q", n, b)
		}
	})
}

// TestManyRecords: what a message can hold is bounded, and that it was is said.
func TestManyRecords(t *testing.T) {
	var r Reader
	list := &Field{Path: "x.list", Kind: List}
	r.Reset([]byte("data"), 1, true)
	n := 0
	for r.More() {
		r.End(r.Begin(list))
		if n++; n > 2*MaxRecords {
			t.Fatal("there is no end")
		}
	}
	if n != MaxRecords+1 || r.Err() == nil || r.records <= MaxRecords {
		t.Errorf("%d records, %v", n, r.Err())
	}
}

// TestManyFindings: the findings of a message are bounded, and those left out
// are counted.
func TestManyFindings(t *testing.T) {
	var r Reader
	r.Reset(nil, 1, false)
	for range maxFindings + 7 {
		r.Note(Trailing, Num(1))
	}
	if len(r.findings) != maxFindings || r.leftOut != 7 {
		t.Errorf("%d findings, %d left out", len(r.findings), r.leftOut)
	}
}
