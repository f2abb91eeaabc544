package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestContradictions checks that the words of the table are defined and used, and that a row
// needs all of its words.
func TestContradictions(t *testing.T) {
	said := (&plan{o: new(readOptions)}).said(new(pflag.FlagSet), nil)
	used := map[string]bool{}
	for _, row := range contradictions {
		for word := range strings.FieldsSeq(row.when) {
			for w := range strings.SplitSeq(strings.TrimPrefix(word, "!"), "|") {
				if _, ok := said[w]; !ok {
					t.Errorf("%q: the word %s means nothing", row.when, w)
				}
				used[w] = true
			}
		}
	}
	for w := range said {
		if !used[w] {
			t.Errorf("no row has the word %s", w)
		}
	}
	for when, want := range map[string]bool{"a": true, "a !b": true, "!b !c": true, "c|a": true, "b": false, "a b": false, "!a": false, "!b|a": false, "b|c": false} {
		if applies(when, map[string]bool{"a": true}) != want {
			t.Errorf("%q", when)
		}
	}
}
