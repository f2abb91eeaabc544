package main

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// TestHelp: the help of every command fits a screen of 80 columns, and every command stands in a section.
func TestHelp(t *testing.T) {
	pages := [][]string{{"--help"}, {"help"}, {"help", "help"}, {"help", "filter"}}
	root := newRoot(environment{}, nil)
	root.InitDefaultCompletionCmd()
	var visit func(cmd *cobra.Command, path []string)
	visit = func(cmd *cobra.Command, path []string) {
		for _, c := range cmd.Commands() {
			below := append(slices.Clone(path), c.Name())
			pages = append(pages, append(slices.Clone(below), "--help"), append([]string{"help"}, below...))
			visit(c, below)
		}
	}
	visit(root, nil)
	for _, args := range append(pages, []string{"-h"}) {
		if n := len(args) - 1; args[n] == "--help" && args[0] != "filter" { // a topic
			short, _, _ := runIn(t, t.TempDir(), append(slices.Clone(args[:n]), "-h")...)
			if strings.Count(short, "\n") > shortLines || !strings.Contains(short, " --help has all.\n") {
				t.Errorf("%q -h:\n%s", args[:n], short)
			}
			for line := range strings.Lines(short) {
				if w := utf8.RuneCountInString(strings.TrimRight(line, "\n")); w > screen && !strings.HasPrefix(line, "Usage") {
					t.Errorf("%q -h: %d columns: %s", args[:n], w, line)
				}
			}
		}
		out, complaint, status := runIn(t, t.TempDir(), args...)
		if status != exitDone || complaint != "" || len(out) < 50 {
			t.Errorf("%q: status %d, %s%s", args, status, complaint, out)
		}
		for line := range strings.Lines(out) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > screen {
				t.Errorf("%q: %d columns: %s", args, n, line)
			}
		}
		if len(args) == 1 && args[0] == "--help" && strings.Contains(out, "\nMore:") {
			t.Errorf("commands stand in no section:\n%s", out)
		}
	}
}
