package pipeline

import (
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/report"
)

// notes saves frames with comments about their messages. It holds a frame until the next
// one comes, so that findings from the end of the capture get into its comments.
type notes struct {
	deaf
	o        *Options
	safe     *safe
	comments []string // of the frame being dissected
	more     int      // number of comments left out
	held     capture.Frame
	holds    bool
	data     []byte
}

// Record adds comments about a message.
func (n *notes) Record(r *dissect.Record) {
	n.add(report.AppendNote(nil, r))
	for i := range r.Findings {
		if r.Findings[i].Type.Severity > dissect.Chat {
			n.add(report.AppendFindingNote(nil, &r.Findings[i]))
		}
	}
}

// Finding adds a comment about a finding without a message. It is often about an earlier
// frame.
func (n *notes) Finding(f *dissect.FlowFinding) { n.add(report.AppendFlowNote(nil, f)) }

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

func (n *notes) before(*capture.Frame, time.Time) {}

// after adds the comments to their frame and holds it.
func (n *notes) after(f *capture.Frame, _ bool, _ time.Time) {
	n.release()
	comments := report.WithoutNotes(n.held.Comments[:0], f.Comments, n.o.Analysis.Protocols) // of an earlier run
	n.held = *f
	n.data = append(n.data[:0], f.Data...)
	n.held.Data = n.data
	n.held.Comments = append(comments, n.take()...)
	n.holds = true
}

// holdTime is how long a frame is held if none follows: longer than requests wait for
// replies.
const holdTime = 10 * time.Second

// advance saves the held frame if no further comments are expected.
func (n *notes) advance(now time.Time) {
	if !n.holds {
		return
	}
	if past := now.Sub(n.held.Time); past >= holdTime || n.o.Save.Hold > 0 && past >= n.o.Save.Hold {
		n.safe.dirty = true
		n.release()
	}
}

// release saves the held frame.
func (n *notes) release() {
	if !n.holds {
		return
	}
	n.holds = false
	n.safe.save(&n.held)
}

// end saves the last frame with the remaining comments.
func (n *notes) end() {
	if n.holds {
		n.held.Comments = append(n.held.Comments, n.take()...)
	}
	n.release()
}

func (n *notes) lost() error { return nil }
