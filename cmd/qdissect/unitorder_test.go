package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/unitfile"
)

// FuzzOrders gives --unit - any list of units: each gets one line that says what became of it, or the list is refused.
func FuzzOrders(f *testing.F) {
	f.Add(`{"unit":"sensor=a/unit=x","inputs":[{"path":"../../testdata/pcaps/a2s/trouble.pcap","name":"trouble.pcap"}]}` + "\n" + `{"done":0}`)
	f.Add(`{"unit":"../x","inputs":[{"path":"none","name":"\u0000"}]}`)
	f.Fuzz(func(t *testing.T, list string) {
		units := 0
		for in := json.NewDecoder(strings.NewReader(list)); ; {
			var line unitfile.Order
			if in.Decode(&line) != nil {
				break
			}
			for _, in := range line.Inputs {
				if filepath.IsAbs(in.Path) || in.Path == "-" {
					t.Skip("it may be a device that never ends")
				}
			}
			units++
		}
		var out, stderr bytes.Buffer
		got := run([]string{"read", "--series", "--unit", "-", "--out", t.TempDir(), "-o", "jsonl"},
			environment{in: strings.NewReader(list), out: &out, err: &stderr, getenv: func(string) string { return "" }})
		if n := bytes.Count(out.Bytes(), []byte("\n")); n > units || n == 0 && units > 0 && stderr.Len() == 0 {
			t.Errorf("status %d, %d of %d units: %s%s", got, n, units, &out, &stderr)
		}
	})
}

// FuzzFrom: whatever a unit has, report --from reports or refuses it, and says so.
func FuzzFrom(f *testing.F) {
	dir := filepath.Join(f.TempDir(), "out")
	quiet := func(args ...string) (status int, out, text string) {
		var b, stderr bytes.Buffer
		status = run(args, environment{in: strings.NewReader(""), out: &b, err: &stderr, getenv: func(string) string { return "" }})
		return status, b.String(), stderr.String()
	}
	if status, _, text := quiet("read", "-q", "--series", "--unit", "1/1", "--out", dir, "../../testdata/pcaps/a2s/trouble.pcap"); status != 0 {
		f.Fatal(text)
	}
	var files [2][]byte
	for i, name := range []string{summaryFile, aggregateFile} {
		list, err := filepath.Glob(filepath.Join(dir, "*", "*", "*", "*", name))
		if err == nil && len(list) == 1 {
			files[i], err = os.ReadFile(list[0])
		}
		if err != nil || len(files[i]) == 0 {
			f.Fatal(list, err)
		}
	}
	f.Add(files[0], files[1])
	f.Add([]byte("{}"), []byte{})
	f.Fuzz(func(t *testing.T, summary, counts []byte) {
		unit := t.TempDir()
		for name, b := range map[string][]byte{summaryFile: summary, aggregateFile: counts} {
			must.Do(t, os.WriteFile(filepath.Join(unit, name), b, 0o666))
		}
		status, out, text := quiet("report", "--from", unit, "--format", "text")
		if status != 0 && text == "" || status == 0 && out == "" || strings.ContainsAny(out+text, "\x1b\x00\x7f\u202e") {
			t.Errorf("status %d: %q%q", status, out, text)
		}
	})
}
