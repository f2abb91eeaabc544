package pipeline

import (
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
	held     capture.Frame
	holds    bool
	data     []byte
}

// record notes a message.
func (n *notes) record(r *dissect.Record) {
	if n == nil {
		return
	}
	n.comments = append(n.comments, string(report.AppendNote(nil, r)))
	for i := range r.Findings {
		if r.Findings[i].Type.Severity > dissect.Chat {
			n.comments = append(n.comments, string(report.AppendFindingNote(nil, &r.Findings[i])))
		}
	}
}

// finding notes what belongs to no message. It is often about an earlier frame.
func (n *notes) finding(f *dissect.FlowFinding) {
	if n == nil {
		return
	}
	n.comments = append(n.comments, string(report.AppendFlowNote(nil, f)))
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
	n.held.Comments = append(comments, n.comments...)
	n.comments = n.comments[:0]
	n.holds = true
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
		n.held.Comments = append(n.held.Comments, n.comments...)
	}
	n.release()
}
