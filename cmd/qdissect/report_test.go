package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/thorough"
)

// TestWhyAll asks about every server of every capture, and of one with nasty names: the answer is safe and has its name.
func TestWhyAll(t *testing.T) {
	captures := map[string][]byte{"nasty names": nastyCapture(t)}
	paths, err := filepath.Glob(filepath.Join("..", "..", "testdata", "pcaps", "*", "*.pcap*"))
	if err != nil || len(paths) < 50 {
		t.Fatalf("%d captures: %v", len(paths), err)
	}
	for i, path := range paths {
		if i%thorough.Of(15, 1) == 0 {
			if captures[path], err = os.ReadFile(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, capture := range captures {
		out, _ := streams(capture, "report", "--format", "json")
		var r struct{ Servers []struct{ Address string } }
		must.Do(t, json.Unmarshal([]byte(out), &r))
		for _, s := range r.Servers[:min(len(r.Servers), thorough.Of(3, 20))] {
			text, errs := streams(capture, "why", s.Address)
			if checkSafe(t, name, text); !strings.Contains(text, s.Address) {
				t.Errorf("%s: %s: %q %s", name, s.Address, text, errs)
			}
			line, _ := streams(capture, "why", "--format", "json", s.Address)
			if checkSafe(t, name, line); !json.Valid([]byte(line)) {
				t.Errorf("%s: %s: %q", name, s.Address, line)
			}
		}
	}
}

// TestReportAll makes a report of every capture: as text that is
// safe, as valid JSON, and as a page of limited size.
func TestReportAll(t *testing.T) {
	captures := map[string][]byte{"nasty names": nastyCapture(t)}
	err := filepath.WalkDir(filepath.Join("..", "..", "testdata", "pcaps"), func(path string, e os.DirEntry, err error) error {
		switch filepath.Ext(path) {
		case ".pcap", ".pcapng":
			captures[path], err = os.ReadFile(path)
		}
		return err
	})
	must.Do(t, err)
	if len(captures) < 50 {
		t.Fatalf("only %d captures", len(captures))
	}
	formats := []string{"text", "json", "html"}
	for i, name := range slices.Sorted(maps.Keys(captures)) {
		for _, format := range formats[i%thorough.Of(3, 1):][:thorough.Of(1, 3)] {
			out, _ := streams(captures[name], "report", "--format", format)
			switch checkSafe(t, name+" as "+format, strings.ReplaceAll(out, "\t", " ")); {
			case out == "":
				t.Errorf("%s as %s: nothing", name, format)
			case format == "json" && !json.Valid([]byte(out)):
				t.Errorf("%s: invalid JSON", name)
			case format == "html" && len(out) > 500<<10:
				t.Errorf("%s: a page of %d bytes", name, len(out))
			}
		}
	}
}
