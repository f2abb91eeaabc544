package main

import (
	"fmt"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/nettext"
)

// pieces finds out whether inputs are pieces of one capture that are read one by
// one, so that what goes on in the next piece is lost.
type pieces struct {
	before edges
	first  string // what is said of the first two
	advice string
	more   int // pairs of others
}

// edges are the ends of an input.
type edges struct {
	name        string
	link        uint16
	first, last time.Time
}

// ended takes an input that was read to its end.
func (p *pieces) ended(name string, link uint16, first, last time.Time) {
	before, now := p.before, edges{name, link, first, last}
	p.before = now
	if before.name == "" || before.link != link {
		return
	}
	if first.Before(before.last) { // newest first, as ls -t lists them
		before, now = now, before
	}
	// After that long, nothing of one piece would be answered in the next.
	gap := now.first.Sub(before.last)
	if gap < 0 || gap > dissect.DefaultLimits.Window {
		return
	}
	if p.first != "" {
		p.more++
		return
	}
	p.advice = "read --series reads them as one"
	if seriesOf(before.name) != seriesOf(now.name) {
		p.advice = "mergecap -a joins them"
	}
	p.first = fmt.Sprintf("%s begins %s after %s ends", now.name, nettext.AppendDuration(nil, gap), before.name)
}

// String returns what is to be said, "" for nothing.
func (p *pieces) String() string {
	if p.first == "" {
		return ""
	}
	more := ""
	if p.more > 0 {
		more = fmt.Sprintf(", and %d more such %s", p.more, plural(p.more, "file", "files"))
	}
	return p.first + more + ": if they are one capture in pieces, " + p.advice +
		"; one by one, what goes on in the next piece is unanswered or incomplete"
}
