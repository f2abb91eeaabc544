package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/qdissect/qdissect/fleet/internal/work"
	"github.com/qdissect/qdissect/internal/nettext"
)

// A bar shows progress: in one line on a terminal, else as a line from time to time.
type bar struct {
	mu    sync.Mutex
	w     io.Writer
	tty   bool
	shown bool
	last  time.Time
	every time.Duration
}

func newBar(w io.Writer) *bar {
	b := &bar{w: w, last: time.Now(), every: 30 * time.Second}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		b.tty, b.every = true, 200*time.Millisecond
	}
	return b
}

// show shows progress, unless it has just done so.
func (b *bar) show(p work.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.last) < b.every {
		return
	}
	b.last = time.Now()
	text := fmt.Sprintf("%d of %s done", p.Done, nettext.Count(p.Units, "unit"))
	if p.Listing {
		text = nettext.Count(p.Units, "unit") + " found"
	}
	if b.tty {
		fmt.Fprintf(b.w, "\r\x1b[K%s", text)
		b.shown = true
	} else {
		fmt.Fprintln(b.w, text)
	}
}

// clear removes the line from a terminal.
func (b *bar) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shown {
		io.WriteString(b.w, "\r\x1b[K")
		b.shown = false
	}
}

// above returns a writer of lines that does not mix with the bar.
func (b *bar) above() io.Writer {
	return writer(func(p []byte) (int, error) { b.clear(); return b.w.Write(p) })
}

type writer func([]byte) (int, error)

// Write implements [io.Writer].
func (w writer) Write(p []byte) (int, error) { return w(p) }
