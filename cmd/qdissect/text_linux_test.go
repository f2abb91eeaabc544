package main

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/must"
)

// TestTextTerminal: lines are cut to the width of a terminal, findings stand below, and a live capture with -q shows a line that changes.
func TestTextTerminal(t *testing.T) {
	namespace(t)
	path := must.Get(program())(t)
	pcap := must.Get(filepath.Abs(filepath.Join("..", "..", "testdata", "pcaps", "a2s", "source.pcap")))(t)
	p := newTmux(t)
	p.keys("clear", "Enter", path+" "+pcap+"; echo END", "Enter")
	screen := p.shows("\nEND", "\n        ~ a2s.split.reorder: the parts arrived out of order\n", "…")
	for line := range strings.Lines(screen) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if n := strings.Count(screen, " A2S  "); n != 14 {
		t.Errorf("%d lines of messages, want 14:\n%s", n, screen)
	}

	// Commands that show much about a message break lines instead.
	p.keys("clear", "Enter", path+" -V -Y frame==4 "+pcap, "Enter")
	p.shows("… name: \"Café \\u202e2fort\\u202c 24/7\n                                              \\x1b[31m\"\n")
	p.keys("clear", "Enter", path+" -q -i lo", "Enter")
	n := heard(t, "lo")
	p.shows(" UTC  0 packets (0/s)")
	exchange(t)
	n(2)
	p.shows(" UTC  2 packets ")
	p.keys("C-c")
	if screen := p.shows("\nkernel "); strings.Contains(screen, "packets (") {
		t.Errorf("the line stays:\n%s", screen)
	}
}
