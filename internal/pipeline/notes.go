package pipeline

import (
	"strconv"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/report"
)

// notes gives frames comments that say what they hold, and saves them. A frame
// is held back until the next one comes, so that what is found at the end of the
// capture has a place. The methods do nothing on a nil receiver.
type notes struct {
	e        *engine
	comments []string // of what is being dissected
	more     int      // that are too many
	held     capture.Frame
	holds    bool
	data     []byte
}

// record notes a message.
func (n *notes) record(r *dissect.Record) {
	if n == nil {
		return
	}
	n.add(report.AppendNote(nil, r))
	for i := range r.Findings {
		if r.Findings[i].Type.Severity > dissect.Chat {
			n.add(report.AppendFindingNote(nil, &r.Findings[i]))
		}
	}
}

// finding notes what belongs to no message. It is often about an earlier frame.
func (n *notes) finding(f *dissect.FlowFinding) {
	if n == nil {
		return
	}
	n.add(report.AppendFlowNote(nil, f))
}

// The limits of what a frame is given: a flood leaves behind more requests
// without an answer than anybody reads.
const (
	maxNotes = 50
	maxNote  = 4 << 10
)

func (n *notes) add(text []byte) {
	if len(n.comments) == maxNotes {
		n.more++
		return
	}
	n.comments = append(n.comments, strings.ToValidUTF8(string(text[:min(len(text), maxNote)]), ""))
}

// take returns the comments, and begins anew.
func (n *notes) take() []string {
	if n.more > 0 {
		n.comments = append(n.comments, "and "+strconv.Itoa(n.more)+" more")
	}
	n.more = 0
	list := n.comments
	n.comments = n.comments[:0]
	return list
}

// hold takes the frame that the comments belong to.
func (n *notes) hold(f *capture.Frame) {
	if n == nil {
		return
	}
	n.release()
	comments := append(n.held.Comments[:0], f.Comments...)
	n.held = *f
	n.data = append(n.data[:0], f.Data...)
	n.held.Data = n.data
	n.held.Comments = append(comments, n.take()...)
	n.holds = true
}

// holdTime is how long a frame is held back while none follows: longer than any
// request waits for its reply.
const holdTime = 10 * time.Second

// quiet saves the frame if nothing is to be expected for it.
func (n *notes) quiet(now time.Time) {
	if n != nil && n.holds && now.Sub(n.held.Time) >= holdTime {
		n.release()
	}
}

// release saves the frame that is held.
func (n *notes) release() {
	if n == nil || !n.holds {
		return
	}
	n.holds = false
	n.e.save(&n.held)
}

// end saves the last frame, with what was found behind it.
func (n *notes) end() {
	if n == nil {
		return
	}
	if n.holds {
		n.held.Comments = append(n.held.Comments, n.take()...)
	}
	n.release()
}
