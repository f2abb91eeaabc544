package main

import (
	"bytes"
	"io"

	"github.com/qdissect/qdissect/internal/nettext"
)

// onScreen returns where a command prints lines for people: on a terminal, longer lines are broken and
// what follows is indented. Pipes and files get whole lines.
func onScreen(env environment) io.Writer {
	if isTerminal(env.out) {
		return &screenWriter{env: env}
	}
	return env.out
}

// A screenWriter breaks lines at the width of the terminal, which can change.
type screenWriter struct {
	env environment
	out []byte
}

// Write takes whole lines.
func (w *screenWriter) Write(b []byte) (int, error) {
	width := terminalWidth(w.env)
	if width == 0 {
		return w.env.out.Write(b)
	}
	w.out = wrapLines(w.out[:0], b, width)
	_, err := w.env.out.Write(w.out)
	return len(b), err
}

// wrapLines appends lines, broken at width.
func wrapLines(out, b []byte, width int) []byte {
	for line := range bytes.Lines(b) {
		text := bytes.TrimSuffix(line, []byte("\n"))
		indent := len(text) - len(bytes.TrimLeft(text, " "))
		out = nettext.AppendWrapped(out, text, width, indent+4)
		out = append(out, line[len(text):]...)
	}
	return out
}
