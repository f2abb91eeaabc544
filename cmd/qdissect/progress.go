package main

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// progress tells on a terminal how far a long run has come. It is silent when
// the output goes to the same terminal, where it would be in the way.
type progress struct {
	env  environment
	on   bool
	next time.Time
	wide int
}

// progressAfter is how long a run may take before it speaks of progress.
const progressAfter = 2 * time.Second

func newProgress(env environment, o *readOptions) *progress {
	return &progress{env: env, on: isTerminal(env.err) && (!isTerminal(env.out) || o.quiet), next: time.Now().Add(progressAfter)}
}

// step is called now and then with what has been read.
func (p *progress) step(packets, bytes uint64) {
	if !p.on {
		return
	}
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(time.Second / 4)
	line := fmt.Sprintf("%d packets, %.1f MB", packets, float64(bytes)/1e6)
	p.wide = max(p.wide, len(line))
	fmt.Fprintf(p.env.err, "\r%-*s", p.wide, line)
}

func (p *progress) clear() {
	if p.wide > 0 {
		fmt.Fprintf(p.env.err, "\r%-*s\r", p.wide, "")
		p.wide = 0
	}
}

// isClosedPipe reports whether nobody reads the output any more: head has seen
// enough, and that is no trouble.
func isClosedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
