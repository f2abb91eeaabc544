package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/a2s"
)

// panicking makes the decoder of a2s panic over requests of players, after it
// has broken its own state.
func panicking(t *testing.T) {
	p := a2s.Protocol()
	before := p.New
	t.Cleanup(func() { p.New = before })
	p.New = func() dissect.Decoder { return &panicDecoder{Decoder: before(), Joiner: before().(dissect.Joiner)} }
}

type panicDecoder struct {
	dissect.Decoder
	dissect.Joiner
	broken bool
}

func (d *panicDecoder) Decode(r *dissect.Reader, m *dissect.Message) {
	if d.broken {
		panic("used after it panicked")
	}
	if d.broken = r.HasPrefix("\xff\xff\xff\xff\x55"); d.broken {
		panic("on purpose")
	}
	d.Decoder.Decode(r, m)
}

// TestContainment: a decoder that panics costs a message, in every command, and
// the exit status is 2.
func TestContainment(t *testing.T) {
	panicking(t)
	dir := t.TempDir()
	capture := filepath.Join(dir, "players.pcap")
	b, err := os.ReadFile("../../testdata/pcaps/a2s/source.pcap")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(capture, b, 0o644); err != nil {
		t.Fatal(err)
	}
	const report = "because of a mistake in qdissect"
	try := func(in []byte, args ...string) (stdout, stderr string) {
		t.Helper()
		var out, errs bytes.Buffer
		if code := run(args, environment{in: bytes.NewReader(in), out: &out, err: &errs, getenv: func(string) string { return "" }}); code != exitTrouble {
			t.Errorf("%q: exit status %d", args, code)
		}
		if n := strings.Count(errs.String(), report); n != 1 {
			t.Errorf("%q: said %d times how to report it:\n%s", args, n, errs.String())
		}
		return out.String(), errs.String()
	}
	one, _ := try(nil, "read", "-j", "1", capture)
	two, _ := try(nil, "read", "-j", "2", capture)
	if one != two {
		t.Errorf("-j 1 and -j 2 differ:\n%s\n%s", one, two)
	}
	for _, want := range []string{"internal.panic", "ff ff ff ff 55", "info reply"} {
		if !strings.Contains(one, want) {
			t.Errorf("the output lacks %q:\n%s", want, one)
		}
	}
	if out, _ := try(nil, "-o", "jsonl", capture); !strings.Contains(out, `"panics":`) || !strings.Contains(out, `"id":"internal.panic","severity":"error"`) {
		t.Errorf("JSON: %s", out)
	}
	try(nil, "check", "--update", dir)
	try(nil, "check", dir)
	try(nil, "serve", "--list", capture)
	try(nil, "decode", "ffffffff5500000000")
	hidden := filepath.Join(t.TempDir(), "hidden.pcap")
	for _, more := range []string{"--show-secrets=false", "--keep-unknown"} {
		args := []string{"anonymize", capture, hidden}
		if more == "--keep-unknown" {
			args = append(args, more)
		}
		os.Remove(hidden)
		try(nil, args...)
		if b, err := os.ReadFile(hidden); err != nil || bytes.Contains(b, []byte("\xff\xff\xff\xff\x55")) || !bytes.Contains(b, []byte("\xff\xff\xff\xff\x54")) {
			t.Errorf("%q: the datagram that nobody could read is copied, or the others are not (%v)", args, err)
		}
	}
}
