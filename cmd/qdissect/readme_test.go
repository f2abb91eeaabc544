package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/must"
)

// TestReadme compares the output that README.md shows below its commands with what they
// print. "…" as the last line stands for the rest. It also checks that docs/protocols.md has every protocol
// and docs/README.md every page.
func TestReadme(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	must.Do(t, err)
	page := filepath.Join(root, "README.md")
	b, err := os.ReadFile(page)
	must.Do(t, err)
	var is strings.Builder
	lines, shown := strings.SplitAfter(string(b), "\n"), 0
	for n := 0; n < len(lines); n++ {
		is.WriteString(lines[n])
		command, ok := strings.CutPrefix(strings.TrimSpace(lines[n]), "$ qdissect ")
		if !ok {
			continue
		}
		first := n + 1
		for end := n + 1; end < len(lines) && (strings.HasPrefix(lines[end], "    ") || lines[end] == "\n"); end++ {
			if lines[end] != "\n" {
				n = end // blank lines belong to the output only if more follows
			}
		}
		const most = 12
		rest := n >= first && strings.TrimSpace(lines[n]) == "…"
		out, errs, _ := runIn(t, root, arguments(command)...)
		printed := strings.SplitAfter(out, "\n")
		if rest && len(printed) > most {
			printed = append(printed[:most], "…\n")
		}
		if errs != "" {
			t.Errorf("qdissect %s: %s", command, errs)
		}
		shown++
		for _, line := range printed {
			if line != "" {
				is.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
			}
		}
	}
	switch want := is.String(); {
	case *update:
		must.Do(t, os.WriteFile(page, []byte(want), 0o666))
	case want != string(b):
		t.Errorf("README.md shows other output than the program prints; go test ./cmd/qdissect -run '^TestReadme$' -update writes\n%s", want)
	}
	if len(b) > 12<<10 || len(lines) > 171 || shown < 6 {
		t.Errorf("README.md has %d bytes, %d lines and %d commands with output", len(b), len(lines)-1, shown)
	}

	protocols, err := os.ReadFile(filepath.Join(root, "docs", "protocols.md"))
	must.Do(t, err)
	for _, p := range all.Protocols() {
		if !strings.Contains(string(protocols), "\n| `"+p.Name+"` |") {
			t.Errorf("docs/protocols.md lacks %s", p.Name)
		}
	}
	index, err := os.ReadFile(filepath.Join(root, "docs", "README.md"))
	must.Do(t, err)
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	must.Do(t, err)
	for _, p := range pages {
		if name := filepath.Base(p); name != "README.md" && !strings.Contains(string(index), "]("+name+")") {
			t.Errorf("docs/README.md lacks %s", name)
		}
	}
}

// arguments splits a command without variables into its words.
func arguments(command string) (words []string) {
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

// TestGenerated checks that the generated lists in docs are current.
func TestGenerated(t *testing.T) {
	for name, flag := range map[string]string{"fields.md": "--fields", "findings.md": "--findings", "causes.md": "--causes", "games.md": "--games"} {
		want, _, _ := runIn(t, ".", "protocols", flag, "--markdown")
		got, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err != nil || string(got) != want {
			t.Errorf("docs/%s is old, run make generate (%v)", name, err)
		}
	}
}
