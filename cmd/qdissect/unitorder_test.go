package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzOrders gives --unit - any list of units: each gets one line that says what became of it, or the list is refused.
func FuzzOrders(f *testing.F) {
	f.Add(`{"unit":"sensor=a/unit=x","inputs":[{"path":"../../testdata/pcaps/a2s/trouble.pcap","name":"trouble.pcap"}]}` + "\n" + `{"done":0}`)
	f.Add(`{"unit":"../x","inputs":[{"path":"none","name":"\u0000"}]}`)
	f.Fuzz(func(t *testing.T, list string) {
		units := 0
		for in := json.NewDecoder(strings.NewReader(list)); ; {
			var line order
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
