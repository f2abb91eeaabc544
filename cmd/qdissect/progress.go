package main

import (
	"errors"
	"fmt"
	"syscall"
	"time"
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
