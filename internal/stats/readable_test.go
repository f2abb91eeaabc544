package stats

import (
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

// TestReadable: names are shown as UTF-8 without colour codes, and cut between characters.
func TestReadable(t *testing.T) {
	var room, text []byte
	var x said
	s := new(server)
	for _, c := range []struct {
		name    string
		charset dissect.Charset
		style   dissect.Style
		want    string
	}{
		{"Plain", dissect.Guessed, dissect.NoStyle, "Plain"},
		{"\xd0\xf3\xf1\xf1\xea\xe8\xe9 \xf1\xe5\xf0\xe2\xe5\xf0", dissect.Guessed, dissect.NoStyle, "Русский сервер"},
		{"Caf\xe9", dissect.Latin1, dissect.NoStyle, "Café"},
		{"^1Duels ^7only", dissect.Guessed, dissect.Quake3, "Duels only"},
		{"^1 as it is", dissect.Guessed, dissect.NoStyle, "^1 as it is"},
		{"0xff0000Red", dissect.Guessed, core.Armagetron, "Red"},
		{strings.Repeat("é", 63) + "x€y", dissect.Guessed, dissect.NoStyle, strings.Repeat("é", 63) + "x"},
		{strings.Repeat("\xd0", 200), dissect.Latin1, dissect.NoStyle, strings.Repeat("Ð", 64)},
		{strings.Repeat("x", 200), dissect.Guessed, dissect.NoStyle, strings.Repeat("x", maxName)},
		{"", dissect.Guessed, dissect.NoStyle, ""},
	} {
		f := dissect.Server{Name: dissect.Some(c.name), Map: dissect.Some(c.name), Charset: c.charset, Style: c.style}
		text = text[:0]
		x.set(&f, &text)
		s.states(&x, text, &room)
		if name, in := s.appendPlain(nil, s.name), s.appendPlain(nil, s.mapName); string(name) != c.want || string(in) != c.want {
			t.Errorf("%q: name %q, map %q", c.name, name, in)
		}
		if n := testing.AllocsPerRun(10, func() { s.states(&x, text, &room) }); n > 0 {
			t.Errorf("%q: %v allocations", c.name, n)
		}
	}
}
