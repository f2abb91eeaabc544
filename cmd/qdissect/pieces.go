package main

import (
	"fmt"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/nettext"
)

// pieces detects inputs that look like parts of one capture but are read as separate
// ones. Exchanges that continue in the next file are then incomplete.
type pieces struct {
	before edges
	first  string // the remark about the first pair
	advice string
	more   int // further pairs
}

// edges are the first and last times of an input.
type edges struct {
	name        string
	link        uint16
	first, last time.Time
}

// ended records an input that was read to its end.
func (p *pieces) ended(name string, link uint16, first, last time.Time) {
	before, now := p.before, edges{name, link, first, last}
	p.before = now
	if before.name == "" || before.link != link {
		return
	}
	if first.Before(before.last) { // newest first, as ls -t prints
		before, now = now, before
	}
	// After this gap, no reply in one file belongs to a request in the other.
	gap := now.first.Sub(before.last)
	if gap < 0 || gap > dissect.DefaultLimits.Window {
		return
	}
	if p.first != "" {
		p.more++
		return
	}
	p.advice = "use read --series"
	if seriesOf(before.name) != seriesOf(now.name) {
		p.advice = "join them with mergecap -a"
	}
	p.first = fmt.Sprintf("%s begins %s after %s ends", now.name, nettext.AppendDuration(nil, gap), before.name)
}

// String returns the remark, or "" if there is none.
func (p *pieces) String() string {
	if p.first == "" {
		return ""
	}
	more := ""
	if p.more > 0 {
		more = fmt.Sprintf(", and %d more such %s", p.more, nettext.Plural(p.more, "file", "files"))
	}
	return p.first + more + ": if they are parts of one capture, " + p.advice +
		"; otherwise exchanges that continue in the next file are unanswered or incomplete"
}
