package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBegin begins a protocol in a copy of the files that it changes.
func TestBegin(t *testing.T) {
	root := t.TempDir()
	for _, in := range insertions {
		text, err := os.ReadFile(filepath.Join("../../..", in.file))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, in.file)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	p := &protocol{Name: "some-game", Package: "somegame", Title: "Some game", Port: 4321}
	if err := begin(root, p); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]string{
		"dissect/somegame/somegame.go":          {"package somegame\n", `dissect.NewCatalog("some-game")`, "[]uint16{4321}"},
		"dissect/somegame/somegame_test.go":     {"dissecttest.Run(t, Protocol(), samples())"},
		"dissect/all/all.go":                    {"dissect/somegame\"\n", ".Protocol(),\n\t\tsomegame.Protocol(),\n\t}\n"},
		"internal/tools/mktestdata/somegame.go": {"func somegamePings(s *stage)", ":4321"},
		"internal/tools/mktestdata/main.go":     {`"some-game/pings.pcap":`},
		"testdata/pcaps/some-game/README.md":    {"# Some game\n"},
		"README.md":                             {" |\n| `some-game` | Some game, TODO: games and servers | ping |\n\n"},
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
