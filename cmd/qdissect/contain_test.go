package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/a2s"
	"github.com/qdissect/qdissect/internal/must"
)

// panicking makes the decoder of a2s panic on players requests, after it has corrupted
// its own state.
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

// panicSummary is a body whose summary panics after the first words.
type panicSummary struct{}

func (panicSummary) AppendSummary(dst []byte) []byte {
	dst = append(dst, "half a sentence"...)
	panic(string(dst[:4]))
}

type summaryDecoder struct {
	dissect.Decoder
	dissect.Joiner
}

func (d *summaryDecoder) Decode(r *dissect.Reader, m *dissect.Message) {
	players := r.HasPrefix("\xff\xff\xff\xff\x55")
	d.Decoder.Decode(r, m)
	if players {
		m.Body = panicSummary{}
	}
}

// TestContainedSummary checks that a message whose summary panics is printed without
// it in every format, with no partial output.
func TestContainedSummary(t *testing.T) {
	p := a2s.Protocol()
	before := p.New
	t.Cleanup(func() { p.New = before })
	p.New = func() dissect.Decoder { return &summaryDecoder{Decoder: before(), Joiner: before().(dissect.Joiner)} }
	const capture = "../../testdata/pcaps/a2s/source.pcap"
	stacks := make(map[string]bool)
	for _, args := range [][]string{
		{"-o", "text"}, {"-V"}, {"-o", "jsonl"}, {"-o", "json"}, {"-o", "json", "-Y", "protocol"}, {"-Y", "frame >= 1"}, {"-o", "text", "--all"},
	} {
		var outs [2]string
		for i, j := range []string{"1", "2"} {
			var out, errs bytes.Buffer
			all := append([]string{"read", "-j", j, capture}, args...)
			if code := run(all, environment{in: strings.NewReader(""), out: &out, err: &errs, getenv: func(string) string { return "" }}); code != exitTrouble {
				t.Errorf("%q: exit status %d: %s", all, code, errs.String())
			}
			outs[i] = out.String()
		}
		if outs[0] != outs[1] {
			t.Errorf("%q: -j 1 and -j 2 differ:\n%s\n%s", args, outs[0], outs[1])
		}
		one := outs[0]
		if !strings.Contains(one, "internal.panic") || strings.Contains(one, "half") || !strings.Contains(one, "players request") {
			t.Errorf("%q: the message is not shown without its summary:\n%s", args, one)
		}
		for _, m := range regexp.MustCompile(`\(stack ([0-9a-f]+)\)`).FindAllStringSubmatch(one, -1) {
			stacks[m[1]] = true
		}
		switch {
		case slices.Contains(args, "jsonl"):
			for line := range strings.Lines(one) {
				if !json.Valid([]byte(line)) {
					t.Errorf("%q: not JSON: %s", args, line)
				}
			}
		case slices.Contains(args, "json"):
			if !json.Valid([]byte(one)) {
				t.Errorf("%q: not JSON:\n%s", args, one)
			}
		}
	}
	var out, errs bytes.Buffer
	if code := run([]string{"decode", "ffffffff5500000000"}, environment{in: strings.NewReader(""), out: &out, err: &errs, getenv: func(string) string { return "" }}); code != exitTrouble || !strings.Contains(out.String(), "internal.panic") {
		t.Errorf("decode: exit status %d, %s%s", code, out.String(), errs.String())
	}
	if len(stacks) != 1 {
		t.Errorf("one mistake has several stacks: %v", stacks)
	}
}

// TestContainment checks that a panic of a decoder costs one message in every command,
// and that the exit status is 2.
func TestContainment(t *testing.T) {
	panicking(t)
	dir := t.TempDir()
	capture := filepath.Join(dir, "players.pcap")
	b, err := os.ReadFile("../../testdata/pcaps/a2s/source.pcap")
	must.Do(t, err)
	must.Do(t, os.WriteFile(capture, b, 0o644))
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
