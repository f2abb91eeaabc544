package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/internal/golden"
	"github.com/qdissect/qdissect/internal/must"
)

// TestCheckTrouble checks that an input that cannot be compared is reported once on
// stderr, and in the reports of tests, too.
func TestCheckTrouble(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "saved.jsonl"), []byte(`{"type":"capture"}`), 0o666))
	for _, args := range [][]string{{"check", "nowhere"}, {"diff", "saved.jsonl", "nowhere"}} {
		for _, format := range golden.Formats {
			out, stderr, status := runIn(t, dir, append(args, "--format", format)...)
			told := strings.Count(out, "no such file or directory")
			if status != exitTrouble || strings.Count(stderr, "qdissect: ") != 1 || (format == "text") != (told == 0) || told > 1 {
				t.Errorf("%v as %s: status %d\n%s%s", args, format, status, out, stderr)
			}
		}
	}
}

// TestCheckDamaged checks that a damaged file is an error unless its golden records
// the damage.
func TestCheckDamaged(t *testing.T) {
	if *update {
		t.Skip("the goldens are being written")
	}
	data := must.Get(os.ReadFile(testPcap("a2s/source.pcap")))(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "x.pcap.gz")
	write := func(data []byte) {
		t.Helper()
		must.Do(t, os.WriteFile(path, data, 0o666))
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(data)
	w.Close()
	write(b.Bytes())
	check := func(status int, out, stderr string, args ...string) {
		t.Helper()
		o, e, s := runIn(t, dir, append([]string{"check", "."}, args...)...)
		if s != status || o != out || e != stderr {
			t.Errorf("%v: status %d, want %d\n%s%swant\n%s%s", args, s, status, o, e, out, stderr)
		}
	}
	const trouble = "qdissect: x.pcap.gz: frame 17 at offset 4312 of the uncompressed data: gzip: invalid header\n"
	check(exitDone, "wrote x.golden.jsonl\n1 capture: 1 written\n", "", "--update")
	write(append(b.Bytes(), "more than ten bytes of something"...))
	for _, args := range [][]string{nil, {"--ignore", "rtt_ns"}, {"--relative-time"}, {"--strict"}} {
		check(exitTrouble, "x.pcap.gz: 1 difference\n  capture\n    damaged: absent → \"gzip: invalid header\"\n1 capture: 1 different, 1 damaged\n", trouble, args...)
	}
	check(exitDone, "1 capture: 1 equal, 1 damaged\n", "", "--ignore", "damaged")
	check(exitDone, "wrote x.golden.jsonl\n1 capture: 1 written, 1 damaged\n", trouble, "--update")
	check(exitDone, "1 capture: 1 equal, 1 damaged\n", "")
	write(b.Bytes())
	check(exitJudged, "x.pcap.gz: 1 difference\n  capture\n    damaged: \"gzip: invalid header\" → absent\n1 capture: 1 different\n", "")

	lines, _, _ := runIn(t, dir, "--all", "-o", "jsonl", "x.pcap.gz")
	must.Do(t, os.WriteFile(golden.Path(path), []byte(lines), 0o666))
	check(exitDone, "1 capture: 1 equal\n", "")
	write(append(b.Bytes(), "more than ten bytes of something"...))
	check(exitDone, "1 capture: 1 equal, 1 damaged\n", trouble)
}
