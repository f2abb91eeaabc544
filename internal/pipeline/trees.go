package pipeline

import (
	"bytes"
	"math/bits"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/report"
)

// A heldTree is what a frame gets as a tree: a comment beside those for people.
type heldTree struct {
	payload int    // offset of the datagram in the frame, -1 if it is not in one piece
	text    []byte // lines
	lines   int    // that were left out
	others  []otherFrame
}

// An otherFrame is a frame that belongs to another one. Its distance is known when the
// frame is saved.
type otherFrame struct {
	path  string
	frame uint64
}

// The limits of trees. maxTrees is the number of bytes of all frames that are held,
// maxOthers the number of other frames for each.
const (
	maxTrees  = 16 << 20
	maxOthers = 100
)

// decoded records where the datagram of the newest frame is.
func (s *selection) decoded(d *packet.Decoder, in *packet.Datagram) {
	if s.o.Save.Tree == nil || in.Frames != nil {
		return
	}
	headers := d.Headers()
	if n := len(headers); n > 0 && headers[n-1].Kind == packet.HeaderUDP {
		s.held[len(s.held)-1].tree.payload = headers[n-1].At + headers[n-1].Len
	}
}

// tree adds a message to the tree of its frame, and says which frames belong together.
func (s *selection) tree(h *heldFrame, r *dissect.Record) {
	if s.o.Save.Tree == nil {
		return
	}
	s.add(h, s.o.Save.Tree.Record(r, h.tree.payload))
	if r.RequestFrame > 0 {
		s.relate(h, "request_frame", r.RequestFrame, "reply_frame")
	}
	for _, f := range r.Frames {
		if f == r.Frame {
			continue
		}
		if part := s.relate(h, "part_frame", f, "whole_frame"); part != nil && len(part.tree.text) == 0 {
			s.add(part, s.o.Save.Tree.Part(r))
		}
	}
}

// relate says in two frames that they belong together. It returns the other one, nil if it
// is not held.
func (s *selection) relate(h *heldFrame, path string, frame uint64, back string) *heldFrame {
	h.relate(path, frame)
	i, ok := s.find(frame)
	if !ok {
		return nil
	}
	s.held[i].relate(back, h.Number)
	return &s.held[i]
}

func (h *heldFrame) relate(path string, frame uint64) {
	if o := (otherFrame{path, frame}); len(h.tree.others) < maxOthers && !slices.Contains(h.tree.others, o) {
		h.tree.others = append(h.tree.others, o)
	}
}

// add adds lines to the tree of a frame, as far as they fit.
func (s *selection) add(h *heldFrame, lines []byte) {
	fit := lines
	if room := report.MaxTree - len(h.tree.text); len(lines) > room {
		fit = lines[:1+bytes.LastIndexByte(lines[:max(0, room)], '\n')]
	}
	h.tree.text = append(h.tree.text, fit...)
	h.tree.lines += bytes.Count(lines[len(fit):], []byte("\n"))
	s.trees += len(fit)
}

// comment returns the tree of the i-th frame that is held, or "" if it has none.
func (s *selection) comment(i int) string {
	h := &s.held[i]
	t := s.o.Save.Tree
	if t == nil || len(h.tree.text) == 0 && len(h.tree.others) == 0 {
		return ""
	}
	s.trees -= len(h.tree.text)
	var b strings.Builder
	b.WriteString(nettext.TreeMark)
	b.Write(h.tree.text)
	for _, o := range h.tree.others {
		if distance := s.distance(i, o.frame); distance != 0 {
			b.Write(t.Frame(o.path, distance))
		}
	}
	if h.tree.lines > 0 {
		b.Write(t.Cut(h.tree.lines))
	}
	return strings.ToValidUTF8(b.String(), "")
}

// distance returns how many frames of the file another frame is after the i-th one that is
// held, which is saved next, or 0 if that is unknown: if the frame is not in the file, or
// if it is not known yet which of the later frames will be.
func (s *selection) distance(i int, frame uint64) int {
	h := &s.held[i]
	if frame > h.Number {
		if k, ok := s.find(frame); ok && s.every {
			return k - i
		}
		return 0
	}
	first, bit := savedBit(frame)
	if h.Number-frame >= savedFrames || s.saved[first]&bit == 0 {
		return 0
	}
	n := 0
	for f := frame; f < h.Number; {
		k, bit := savedBit(f)
		word := s.saved[k] &^ (bit - 1)
		step := 64 - f%64
		if rest := h.Number - f; rest < step {
			word &= bit<<rest - 1
			step = rest
		}
		n += bits.OnesCount64(word)
		f += step
	}
	return -n
}

// forget notes that a new frame is not saved yet, and that none between it and the one
// before it is.
func (s *selection) forget(frame uint64) {
	if frame <= s.newest || frame-s.newest > savedFrames {
		s.newest = frame - 1
	}
	for s.newest < frame {
		s.newest++
		i, bit := savedBit(s.newest)
		s.saved[i] &^= bit
	}
}

// ownComment reports whether a comment is a tree from before.
func ownComment(s string) bool { return strings.HasPrefix(s, nettext.TreeMark) }

// comments appends the comments of the i-th frame that is held to its own ones.
func (s *selection) comments(i int) []string {
	h := &s.held[i]
	list := h.Comments
	if s.o.Save.Tree != nil {
		list = slices.DeleteFunc(slices.Clone(list), ownComment)
	}
	if s.o.Save.Annotate {
		list = report.WithoutNotes(nil, list, s.o.Analysis.Protocols) // of an earlier run
	}
	if h.more > 0 {
		h.notes = append(h.notes, string(report.AppendMoreNotes(nil, h.more)))
	}
	list = append(list, h.notes...)
	if tree := s.comment(i); tree != "" {
		list = append(list, tree)
	}
	return list
}
