package main

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/internal/must"
)

// TestBegin begins protocols in copies of the files that they change.
func TestBegin(t *testing.T) {
	t.Run("UDP", func(t *testing.T) {
		begins(t, &protocol{Name: "some-game", Package: "somegame", Title: "Some game", Port: 4321}, "Starts: ")
	})
	t.Run("TCP", func(t *testing.T) {
		begins(t, &protocol{Name: "some-game", Package: "somegame", Title: "Some game", Port: 4321, TCP: true}, "Stream: ")
	})
}

func begins(t *testing.T, p *protocol, kind string) {
	root := t.TempDir()
	for _, in := range insertions {
		text := must.Get(os.ReadFile(filepath.Join("../../..", in.file)))(t)
		path := filepath.Join(root, in.file)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must.Do(t, os.WriteFile(path, text, 0o666))
	}
	must.Do(t, begin(root, p))
	for file, want := range map[string][]string{
		"dissect/somegame/somegame.go":          {"package somegame\n", `dissect.NewCatalog("some-game")`, "[]uint16{4321}", kind},
		"dissect/somegame/testdata/samples.txt": {"\n## a request\ncertain ping_request \""},
		"dissect/all/all.go":                    {"dissect/somegame\"\n", ".Protocol(),\n\t\tsomegame.Protocol(),\n\t}\n"},
		"testdata/pcaps/some-game/pings.pcap":   {"somegame?\x01\x02\x03\x04", "somegame!\x01\x02\x03\x04A server", "\x10\xe1"},
		"testdata/pcaps/some-game/README.md":    {"# Some game\n"},
		"docs/protocols.md":                     {" |\n| `some-game` | Some game, TODO: games and servers | ping |\n\n"},
		"CHANGELOG.md":                          {"### Added\n\n* `some-game`: Some game. TODO: what can be read.\n"},
	} {
		path := filepath.Join(root, file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, w := range want {
			if !strings.Contains(string(text), w) {
				t.Errorf("%s lacks %q", file, w)
			}
		}
		if filepath.Ext(file) == ".go" {
			if _, err := parser.ParseFile(token.NewFileSet(), path, text, 0); err != nil {
				t.Error(err)
			}
		}
	}
	if p.TCP || must.TryAll() { // it takes seconds
		passes(t, root, "dissect/somegame/somegame.go", "dissect/all/all.go")
	}
	if err := begin(root, p); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("a second time: %v", err)
	}
	for _, name := range []string{"", "Some", "some game", "-some", "some-", "1some", "../some"} {
		if begin(root, &protocol{Name: name, Package: strings.ReplaceAll(name, "-", "")}) == nil {
			t.Errorf("%q is no name", name)
		}
	}
	if begin(t.TempDir(), p) == nil {
		t.Error("begins outside of the module")
	}
}

// passes checks that the samples of a new protocol pass as if its files were in the module.
func passes(t *testing.T, root string, files ...string) {
	t.Helper()
	module := must.Get(filepath.Abs("../../.."))(t)
	replace := map[string]string{}
	for _, f := range files {
		replace[filepath.Join(module, f)] = filepath.Join(root, f)
	}
	for _, f := range must.Get(filepath.Glob(filepath.Join(module, "dissect/all/*_test.go")))(t) {
		if !must.TryAll() && !slices.Contains([]string{"samples_test.go", "confusion_test.go"}, filepath.Base(f)) {
			replace[f] = "" // what it needs takes long to compile, and only the samples are run
		}
	}
	overlay := must.Get(json.Marshal(map[string]any{"Replace": replace}))(t)
	name := filepath.Join(root, "overlay.json")
	must.Do(t, os.WriteFile(name, overlay, 0o666))
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", name, "-o", filepath.Join(root, "all.test"), "./dissect/all")
	cmd.Dir = module
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd = exec.Command(filepath.Join(root, "all.test"), "-test.v", "-test.run", "^TestSamples$/^some-game$")
	cmd.Dir = filepath.Join(root, "dissect", "all")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestSamples/some-game/truncated") {
		t.Errorf("%v\n%s", err, out)
	}
}
