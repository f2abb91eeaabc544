package pipeline

import (
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/report"
)

// notes saves frames with comments about their messages. It holds a frame until the next
// one comes, so that findings from the end of the capture get into its comments. The
// methods do nothing on a nil receiver.
type notes struct {
	e        *engine
	comments []string // of the frame being dissected
	more     int      // number of comments left out
	held     capture.Frame
	holds    bool
	data     []byte
}

// record adds comments about a message.
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

// finding adds a comment about a finding without a message. It is often about an earlier
// frame.
func (n *notes) finding(f *dissect.FlowFinding) {
	if n == nil {
		return
	}
	n.add(report.AppendFlowNote(nil, f))
}

// Limits of the comments of a frame: a flood leaves more unanswered requests than anybody
// reads.
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

// take returns the comments and starts a new list.
func (n *notes) take() []string {
	if n.more > 0 {
		n.comments = append(n.comments, string(report.AppendMoreNotes(nil, n.more)))
	}
	n.more = 0
	list := n.comments
	n.comments = n.comments[:0]
	return list
}

// hold adds the comments to their frame and holds it.
func (n *notes) hold(f *capture.Frame) {
	if n == nil {
		return
	}
	n.release()
	comments := report.WithoutNotes(n.held.Comments[:0], f.Comments, n.e.o.Analysis.Protocols) // of an earlier run
	n.held = *f
	n.data = append(n.data[:0], f.Data...)
	n.held.Data = n.data
	n.held.Comments = append(comments, n.take()...)
	n.holds = true
}

// holdTime is how long a frame is held if none follows: longer than requests wait for
// replies.
const holdTime = 10 * time.Second

// quiet saves the held frame if no further comments are expected.
func (n *notes) quiet(now time.Time) {
	if n == nil || !n.holds {
		return
	}
	if past := now.Sub(n.held.Time); past >= holdTime || n.e.o.Hold > 0 && past >= n.e.o.Hold {
		n.e.dirty = true
		n.release()
	}
}

// release saves the held frame.
func (n *notes) release() {
	if n == nil || !n.holds {
		return
	}
	n.holds = false
	n.e.save(&n.held)
}

// end saves the last frame with the remaining comments.
func (n *notes) end() {
	if n == nil {
		return
	}
	if n.holds {
		n.held.Comments = append(n.held.Comments, n.take()...)
	}
	n.release()
}
