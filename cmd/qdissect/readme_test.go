package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect/all"
)

// TestReadme checks that the output in the README is current and that its table has
// every protocol.
func TestReadme(t *testing.T) {
	root := filepath.Join("..", "..")
	b, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	readme := string(b)
	const prompt = "    $ qdissect testdata/pcaps/a2s/source.pcap\n"
	_, picture, ok := strings.Cut(readme, prompt)
	if !ok {
		t.Fatal("the README shows no output")
	}
	picture, _, _ = strings.Cut(picture, "\n\n")
	out, _, _ := runIn(t, root, "testdata/pcaps/a2s/source.pcap")
	lines := strings.Split(out, "\n")
	for i, line := range strings.Split(picture, "\n") {
		if i >= len(lines) || strings.TrimPrefix(line, "    ") != lines[i] {
			t.Errorf("the README shows\n%s\nthe program prints\n%s", line, lines[i])
		}
	}
	for _, p := range all.Protocols() {
		if !strings.Contains(readme, "\n| `"+p.Name+"` |") {
			t.Errorf("the README's table lacks %s", p.Name)
		}
	}
}

// TestGenerated checks that the generated lists in docs are current.
func TestGenerated(t *testing.T) {
	for name, flag := range map[string]string{"fields.md": "--fields", "findings.md": "--findings", "games.md": "--games"} {
		want, _, _ := runIn(t, ".", "protocols", flag, "--markdown")
		got, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err != nil || string(got) != want {
			t.Errorf("docs/%s is old, run make generate (%v)", name, err)
		}
	}
}
