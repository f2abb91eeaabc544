package pipeline

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/hostile"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/report"
)

// A sequence is datagrams after one another, each with four bytes before it: who
// talks to whom, the time that passes, and the length.
func appendDatagram(b []byte, who, after byte, payload []byte) []byte {
	b = append(b, who, after)
	b = binary.BigEndian.AppendUint16(b, uint16(len(payload)))
	return append(b, payload...)
}

// fuzzPorts are those that tell protocols; the bits of who choose one, a client,
// and the direction.
var fuzzPorts = [...]uint16{27015, 27011, 27960, 27666, 7778, 23000, 29900, 25565, 22126, 27950, 40000, 3389, 27910, 28960, 2302, 53}

func datagramsOf(b []byte, f func(at time.Duration, src, dst netip.AddrPort, payload []byte)) {
	var at time.Duration
	for n := 0; len(b) >= 4 && n < 200; n++ {
		who, after, size := b[0], b[1], int(binary.BigEndian.Uint16(b[2:]))
		b = b[4:]
		size = min(size, len(b))
		at += time.Duration(int8(after)) * 50 * time.Millisecond
		server := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, 1}), fuzzPorts[who&15])
		client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1 + who>>4&7}), 40001)
		if who&0x80 != 0 {
			server, client = client, server
		}
		f(at, client, server, b[:size])
		b = b[size:]
	}
}

// seedSequences adds the datagrams of every capture of the project, a few at a
// time.
func seedSequences(f *testing.F) {
	eachCapture(f, func(file []byte) {
		var seq []byte
		seeds := 0
		flush := func() {
			if seeds++; len(seq) > 0 && seeds <= must.Try(1, 3) { // of each capture: go test plays them all
				f.Add(bytes.Clone(seq))
			}
			seq = seq[:0]
		}
		replay(f, file, func(src, dst netip.AddrPort, payload []byte) {
			who := byte(10)
			for i, p := range fuzzPorts {
				if src.Port() == p {
					who = byte(i) | 0x80
				} else if dst.Port() == p {
					who = byte(i)
				}
			}
			if len(seq)+len(payload) > 6000 {
				flush()
			}
			seq = appendDatagram(seq, who, 1, payload)
		})
		flush()
	})
}

// eachCapture hands out captures of the project, those of attacks as well.
func eachCapture(t testing.TB, f func(file []byte)) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "testdata", "pcaps", "*", "*.pcap*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no captures (%v)", err)
	}
	for _, path := range must.TryCaptures(paths) {
		b := must.Get(os.ReadFile(path))(t)
		f(b)
	}
}

// replay hands out the datagrams of a capture.
func replay(t testing.TB, file []byte, f func(src, dst netip.AddrPort, payload []byte)) {
	t.Helper()
	src, err := capture.NewReader(bytes.NewReader(file), "seed")
	if err != nil {
		return
	}
	defer src.Close()
	e := must.Get(newEngine(&Options{Reporter: func() report.Reporter { return report.NewCounts() }, Out: io.Discard, Analysis: dissect.Config{Protocols: all.Protocols()}}))(t)
	var fr capture.Frame
	for src.Next(&fr) == nil {
		raw := packet.Frame{Number: fr.Number, Time: fr.Time.UTC(), LinkType: fr.LinkType, Data: fr.Data, Length: fr.Length}
		if e.decoder.Decode(&raw, &e.decoder.in).OK() {
			f(e.decoder.in.Src, e.decoder.in.Dst, e.decoder.in.Payload)
		}
	}
}

// output dissects a capture and returns what is written of it.
func output(t testing.TB, file []byte, workers int, reporter func() report.Reporter) string {
	t.Helper()
	var out bytes.Buffer
	_, err := Run(Options{
		Inputs: []string{"-"}, Stdin: bytes.NewReader(file), Out: &out, Reporter: reporter, All: true, Workers: workers, Trouble: func(error) {},
		Analysis: dissect.Config{Protocols: all.Protocols(), Tree: true},
	})
	must.Do(t, err)
	return out.String()
}

// captureFrom makes a capture of a sequence.
func captureFrom(seq []byte) []byte {
	var b bytes.Buffer
	w := mkpcap.NewWriter(&b, mkpcap.Options{Ng: true, MTU: 1500})
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	datagramsOf(seq, func(at time.Duration, src, dst netip.AddrPort, payload []byte) {
		w.UDP(start.Add(at), src, dst, payload[:min(len(payload), 65507)])
	})
	return b.Bytes()
}

func jsonLines() report.Reporter { return report.NewJSON(report.JSONOptions{}) }

// FuzzSequence dissects sequences of datagrams with one worker and with three:
// the same comes out, and nothing is remembered at the end.
func FuzzSequence(f *testing.F) {
	seedSequences(f)
	f.Fuzz(func(t *testing.T, seq []byte) {
		file := captureFrom(seq)
		one := suffer(t, bytes.NewReader(file), 1)
		if one.trouble != nil {
			t.Fatal(one.trouble)
		}
		if a, b := output(t, file, 1, jsonLines), output(t, file, 3, jsonLines); a != b {
			t.Fatalf("three workers write something else than one:\n%s\n%s", a, b)
		}
	})
}

// FuzzText: text output contains no terminal control sequences.
func FuzzText(f *testing.F) {
	seedSequences(f)
	f.Fuzz(func(t *testing.T, seq []byte) {
		file := captureFrom(seq)
		for _, d := range []report.Detail{report.Line, report.Tree, report.Hex} {
			for _, secrets := range []bool{false, true} {
				out := output(t, file, 1, func() report.Reporter { return report.NewText(report.TextOptions{Detail: d, Secrets: secrets}) })
				if !utf8.ValidString(out) {
					t.Fatalf("not UTF-8: %q", out)
				}
				for _, r := range out {
					if r != '\n' && nettext.Unsafe(r) {
						t.Fatalf("%U comes through: %q", r, out)
					}
				}
			}
		}
	})
}

// FuzzJSON: every line is an object that encoding/json takes, with the keys that
// all lines have, and the array is the same objects.
func FuzzJSON(f *testing.F) {
	seedSequences(f)
	f.Fuzz(func(t *testing.T, seq []byte) {
		file := captureFrom(seq)
		lines, n := output(t, file, 1, jsonLines), 0
		for line := range strings.Lines(lines) {
			n++
			var o struct{ Type string }
			if err := json.Unmarshal([]byte(line), &o); err != nil || o.Type == "" {
				t.Fatalf("%v: %s", err, line)
			}
			for _, r := range line {
				if r != '\n' && nettext.Unsafe(r) {
					t.Fatalf("%U comes through: %q", r, line)
				}
			}
		}
		var list []json.RawMessage
		if err := json.Unmarshal([]byte(output(t, file, 1, func() report.Reporter { return report.NewJSON(report.JSONOptions{Array: true}) })), &list); err != nil || len(list) != n {
			t.Fatalf("%d objects in the array, %d lines, %v", len(list), n, err)
		}
	})
}

// FuzzFile reads any bytes as a capture file, to the end or to the damage, and
// through everything behind it.
func FuzzFile(f *testing.F) {
	eachCapture(f, func(file []byte) {
		if len(file) < 30000 {
			f.Add(file)
		}
	})
	for _, name := range attacks(f) {
		file := must.Get(os.ReadFile(name))(f)
		if slices.Contains(damagedFiles, filepath.Base(name)) {
			f.Add(file)
		}
	}
	f.Add([]byte(hostile.Window))
	f.Fuzz(func(t *testing.T, file []byte) {
		a := suffer(t, bytes.NewReader(file), 1)
		if a.trouble != nil && (a.trouble.Error() == "" || !utf8.ValidString(a.trouble.Error())) {
			t.Fatalf("trouble %q", a.trouble)
		}
		for line := range strings.Lines(output(t, file, 1, jsonLines)) {
			if !json.Valid([]byte(line)) {
				t.Fatalf("not JSON: %s", line)
			}
		}
	})
}
