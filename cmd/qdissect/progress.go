package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/qdissect/qdissect/internal/nettext"
)

// progress prints the progress of a long run on a terminal. It is silent if the output
// goes to the same terminal.
type progress struct {
	env  environment
	on   bool
	next time.Time
	wide int
}

// progressAfter is the time before the first progress line.
const progressAfter = 2 * time.Second

func newProgress(env environment, o *readOptions) *progress {
	return &progress{env: env, on: isTerminal(env.err) && (!isTerminal(env.out) || o.quiet), next: time.Now().Add(progressAfter)}
}

// step is called regularly with the totals so far.
func (p *progress) step(packets, bytes uint64) {
	if !p.on {
		return
	}
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(time.Second / 4)
	p.show(fmt.Sprintf("%d packets, %.1f MB", packets, float64(bytes)/1e6))
}

// show replaces the line on the terminal.
func (p *progress) show(line string) {
	const echo = len("^C") // which clear removes as well
	if n := widthOf(p.env.err); n > echo+1 && len(line)+echo >= n {
		line = line[:n-echo-1]
	}
	p.wide = max(p.wide, len(line))
	fmt.Fprintf(p.env.err, "\r%-*s", p.wide, line)
}

func (p *progress) clear() {
	if p.wide > 0 {
		fmt.Fprintf(p.env.err, "\r%-*s\r", p.wide+len("^C"), "")
		p.wide = 0
	}
}

// isClosedPipe reports whether the reader of the output has gone, as head does. That
// is not an error.
func isClosedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

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
