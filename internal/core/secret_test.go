package core

import (
	"testing"

	"github.com/qdissect/qdissect/internal/nettext"
)

func TestSecretSetting(t *testing.T) {
	for _, key := range []string{"password", "passwd", "sv_password", "rconPassword", "ADMINPASSWORD", "x.PassWord.y", "passw", "w_passw", "wwwpasswwww", "net_serverRemoteConsolePassword"} {
		for _, value := range []string{"hunter2", "12", "-12", "x", "^", "not", "0 0", "true dat", "\xff"} {
			if !nettext.SecretSetting(key, value) {
				t.Errorf("%s %q is shown", key, value)
			}
		}
		for _, value := range []string{"", " ", "0", "1", "-1", " 1 ", "true", "FALSE", "Yes", "no", "on", "Off", "none", "N", "y", "^7", "^1^7", "^10^7", "0\x00"} {
			if nettext.SecretSetting(key, value) {
				t.Errorf("%s %q is hidden", key, value)
			}
		}
	}
	for _, key := range []string{"", "pass", "passe", "needpass", "sv_passtime", "w", "wwwwwwwwwwww", "hostname", "pas_sword", "throw", "sv_wateraccelerate", "passive", "pass word"} {
		if nettext.SecretSetting(key, "hunter2") {
			t.Errorf("%s is hidden", key)
		}
	}
}

// TestManyRecords: what a message can hold is bounded, and that it was is said.
func TestManyRecords(t *testing.T) {
	var r Reader
	list := &Field{Path: "x.list", Kind: List}
	Reset(&r, []byte("data"), 1, true)
	n := 0
	for r.More() {
		r.End(r.Begin(list))
		if n++; n > 2*MaxRecords {
			t.Fatal("there is no end")
		}
	}
	if n != MaxRecords+1 || Err(&r) == nil || r.records <= MaxRecords {
		t.Errorf("%d records, %v", n, Err(&r))
	}
}

// TestManyFindings: the findings of a message are bounded, and those left out
// are counted.
func TestManyFindings(t *testing.T) {
	var r Reader
	Reset(&r, nil, 1, false)
	for range maxFindings + 7 {
		r.Note(Trailing, Num(1))
	}
	if len(r.findings) != maxFindings || r.leftOut != 7 {
		t.Errorf("%d findings, %d left out", len(r.findings), r.leftOut)
	}
}

// TestManySources: what a message can be unpacked to, again and again, has an
// end.
func TestManySources(t *testing.T) {
	var r Reader
	Reset(&r, []byte("x"), 1, true)
	n := 0
	for Err(&r) == nil {
		r.Open("inside", []byte("x"))
		if n++; n > 2*maxSources {
			t.Fatal("there is no end")
		}
	}
	if got := len(Sources(&r)); got != maxSources {
		t.Errorf("%d sources, %v", got, Err(&r))
	}
}
