package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/must"
)

// TestSharingCaptures checks that the output in docs/sharing-captures.md is current.
func TestSharingCaptures(t *testing.T) {
	root := filepath.Join("..", "..")
	page := must.Get(os.ReadFile(filepath.Join(root, "docs", "sharing-captures.md")))(t)
	dir := t.TempDir()
	pcap := must.Get(os.ReadFile(filepath.Join(root, "testdata", "pcaps", "a2s", "source.pcap")))(t)
	for name, b := range map[string][]byte{"server.pcap": pcap, "team.key": []byte("000102030405060708090a0b0c0d0e0f\n")} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), b, 0o666))
	}
	const prompt = "    $ qdissect "
	commands := 0
	lines := strings.Split(string(page), "\n")
	for i, line := range lines {
		command, ok := strings.CutPrefix(line, prompt)
		if !ok {
			continue
		}
		commands++
		var want []string
		for _, l := range lines[i+1:] {
			if !strings.HasPrefix(l, "    ") || strings.HasPrefix(l, prompt) {
				break
			}
			want = append(want, strings.TrimPrefix(l, "    "))
		}
		var args []string
		for k, part := range strings.Split(command, "'") {
			if k%2 == 1 {
				args = append(args, part)
			} else {
				args = append(args, strings.Fields(part)...)
			}
		}
		out, errs, status := runIn(t, dir, args...)
		if got := strings.TrimSuffix(errs+out, "\n"); got != strings.Join(want, "\n") || status != exitDone {
			t.Errorf("%s: status %d\n%s\nthe page shows\n%s", line, status, got, strings.Join(want, "\n"))
		}
	}
	_, expressions, _ := strings.Cut(string(page), "Examples of expressions, which [filter.md](filter.md) describes:\n\n")
	expressions, _, _ = strings.Cut(expressions, "\n\n")
	if n := strings.Count(expressions, "\n"); n < 5 {
		t.Errorf("%d expressions", n)
	}
	for expr := range strings.Lines(expressions) {
		if _, err := display.Compile(strings.TrimSpace(expr)); err != nil {
			t.Error(err)
		}
	}
	if commands < 4 {
		t.Errorf("the page shows %d commands", commands)
	}
}

// TestCutHelp checks that the examples in the help of cut are valid expressions.
func TestCutHelp(t *testing.T) {
	examples := 0
	for line := range strings.Lines(newCut(environment{}).Long) {
		if example, ok := strings.CutPrefix(line, "  "); ok {
			example, _, _ = strings.Cut(example, "   ")
			examples++
			if _, err := display.Compile(example); err != nil {
				t.Errorf("%s: %v", example, err)
			}
		}
	}
	if examples < 5 {
		t.Errorf("%d examples", examples)
	}
}
