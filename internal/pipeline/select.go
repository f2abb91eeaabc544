package pipeline

import (
	"bytes"
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/report"
)

// A selection saves the frames of what was chosen, or all frames with their comments. A message may be complete, or chosen,
// long after its frames: each frame that may matter is held, and saved or dropped when
// nothing more is expected about it.
type selection struct {
	o       *Options
	safe    *safe
	held    []heldFrame // in the order of the capture, a part of all
	all     []heldFrame
	data    []byte          // the bytes of the held frames, in a circle
	saved   []uint64        // a bit for each of the last frames that was saved
	missing uint64          // frames of chosen messages that were held no longer
	every   bool            // everything is chosen: frames are held for their comments
	newest  uint64          // frame
	trees   int             // bytes of trees of held frames
	lossOf  func() []uint64 // the frames of the loss that is reported, none for other findings
}

// A heldFrame is a frame with its bytes in selection.data.
type heldFrame struct {
	capture.Frame
	seen   time.Time
	at     int // of its bytes
	wanted bool
	notes  []string
	more   int // notes left out
	tree   heldTree
}

// The limits of a selection. selectTime is how long frames are held: longer than IP
// fragments wait, or in a live capture, which somebody may be watching, longer than
// requests and parts of messages wait.
const (
	selectTime   = 35 * time.Second
	selectLive   = 12 * time.Second
	selectBytes  = 8 << 20
	selectFrames = 32 << 10
)

// Limits of the comments of a frame: a flood leaves more unanswered requests than anybody
// reads.
const (
	maxNotes = 50
	maxNote  = 4 << 10
)

// savedFrames is how many frames are remembered to have been saved. Later findings are
// often about them.
const savedFrames = 1 << 20

func savedBit(frame uint64) (i int, bit uint64) {
	frame %= savedFrames
	return int(frame / 64), 1 << (frame % 64)
}

// before holds a copy of a frame.
func (s *selection) before(f *capture.Frame, now time.Time) {
	n := len(f.Data)
	at, ok := s.room(n)
	for !ok || len(s.held) >= selectFrames {
		s.release(1)
		at, ok = s.room(n)
	}
	if s.data == nil || at+n > len(s.data) {
		s.growData(n)
	}
	s.forget(f.Number)
	seen := now // of the frame before
	if at := f.Time.UTC(); at.After(seen) {
		seen = at
	}
	h := heldFrame{Frame: *f, seen: seen, at: at, wanted: s.every, tree: heldTree{payload: -1}}
	h.Data = s.data[at : at+n : at+n]
	copy(h.Data, f.Data)
	h.Comments = slices.Clip(f.Comments)
	if len(s.held) == cap(s.held) { // begin at the front again
		size := selectFrames + selectFrames/2
		if s.all == nil {
			s.all = make([]heldFrame, 1<<10) // enough for small files
		} else if len(s.all) < size && len(s.held) >= len(s.all)*2/3 {
			s.all = make([]heldFrame, size)
		}
		n := copy(s.all, s.held)
		clear(s.all[n:])
		s.held = s.all[:n]
	}
	s.held = append(s.held, h)
}

// growData makes room for the bytes of a frame, and of others: little first, which is
// enough for small files. The frames that are held keep the bytes that they have.
func (s *selection) growData(n int) {
	const first = 256 << 10
	size := selectBytes
	if s.data == nil {
		s.saved = make([]uint64, savedFrames/64)
		if n <= first {
			size = first
		}
	}
	s.data = make([]byte, size)
}

// room returns where n bytes have room after those of the newest frame.
func (s *selection) room(n int) (at int, ok bool) {
	if len(s.held) == 0 {
		return 0, true
	}
	first, last := &s.held[0], &s.held[len(s.held)-1]
	end := last.at + len(last.Data)
	switch {
	case last.at >= first.at && end+n <= selectBytes:
		return end, true
	case last.at >= first.at: // go on at the start
		return 0, n <= first.at
	}
	return end, end+n <= first.at
}

// after drops the newest frame if it carries nothing that could be chosen, and releases
// those about which nothing more is expected.
func (s *selection) after(_ *capture.Frame, given bool, now time.Time) {
	if k := len(s.held) - 1; !given && k >= 0 && !s.held[k].wanted {
		s.held[k] = heldFrame{}
		s.held = s.held[:k]
	}
	s.advance(now)
}

// advance releases frames that have been held for long, and those at the front that are
// wanted anyway, unless more comments may come.
func (s *selection) advance(now time.Time) {
	most := selectTime
	switch {
	case s.o.Save.Hold > 0:
		most = s.o.Save.Hold
	case s.o.live() != nil:
		most = selectLive
	}
	for s.trees > maxTrees {
		s.release(1)
	}
	n := 0
	for n < len(s.held) && (s.held[n].wanted && !s.o.Save.Annotate || now.Sub(s.held[n].seen) > most) {
		n++
	}
	s.release(n)
}

// release saves the wanted frames among the first n and drops the others.
func (s *selection) release(n int) {
	for i := range s.held[:n] {
		h := &s.held[i]
		if h.wanted {
			h.Comments = s.comments(i)
			i, bit := savedBit(h.Number)
			s.saved[i] |= bit
			s.safe.dirty = true
			s.safe.save(&h.Frame)
		}
		*h = heldFrame{}
	}
	s.held = s.held[n:]
}

// end releases all frames: the capture ends, or the next one begins.
func (s *selection) end() { s.release(len(s.held)) }

// find returns the index of a frame that is held.
func (s *selection) find(number uint64) (i int, ok bool) {
	return slices.BinarySearchFunc(s.held, number, func(h heldFrame, n uint64) int { return cmp.Compare(h.Number, n) })
}

// frame marks a frame as wanted, and returns it.
func (s *selection) frame(number uint64) *heldFrame {
	i, ok := s.find(number)
	if !ok {
		if i, bit := savedBit(number); s.saved == nil || s.saved[i]&bit == 0 {
			s.missing++
		}
		return nil
	}
	s.held[i].wanted = true
	return &s.held[i]
}

// note adds a comment to a frame.
func (h *heldFrame) note(text []byte) {
	if len(h.notes) == maxNotes {
		h.more++
		return
	}
	h.notes = append(h.notes, strings.ToValidUTF8(string(text[:min(len(text), maxNote)]), ""))
}

// Record selects the frames of a message.
func (s *selection) Record(r *dissect.Record) {
	h := s.frame(r.Frame)
	s.frames(r.Frame, r.Frames)
	if h == nil || !s.o.Save.Annotate {
		return
	}
	h.note(report.AppendNote(nil, r))
	for i := range r.Findings {
		if r.Findings[i].Type.Severity > dissect.Chat {
			h.note(report.AppendFindingNote(nil, &r.Findings[i]))
		}
	}
	s.tree(h, r)
}

// frames selects the frames of a list, except one.
func (s *selection) frames(but uint64, list []uint64) {
	for _, f := range list {
		if f != but {
			s.frame(f)
		}
	}
}

// Unknown selects the frames of an unknown datagram.
func (s *selection) Unknown(u *dissect.Unknown) {
	s.frame(u.Frame)
	s.frames(u.Frame, u.Frames)
}

// Finding selects the frame that a finding is about, and that of the ICMP error that says
// it.
func (s *selection) Finding(f *dissect.FlowFinding) {
	h := s.frame(f.Frame)
	if s.lossOf != nil {
		s.frames(f.Frame, s.lossOf())
	}
	if f.ICMPFrame > 0 {
		s.frame(f.ICMPFrame)
	}
	switch {
	case !s.o.Save.Annotate:
		return
	case h == nil:
		if n := len(s.held); n > 0 && s.every { // its own frame is written already
			s.held[n-1].note(report.AppendFlowNote(nil, f))
		}
		return
	}
	h.note(report.AppendFindingNote(nil, &f.Finding))
	if s.o.Save.Tree != nil {
		s.add(h, s.o.Save.Tree.Finding(f))
		s.relate(h, "icmp_frame", f.ICMPFrame, "refused_frame")
	}
}

// lost returns an error if frames were held no longer when they were chosen.
func (s *selection) lost() error {
	if s.missing == 0 || s.every {
		return nil
	}
	return fmt.Errorf("%d frames of messages that match are not in the file: too much came before the message was complete or its finding was known; qdissect cut finds them in a file", s.missing)
}

// A keeper passes frames to the saver, at once or when it is known what belongs to them.
type keeper interface {
	// before gets a frame before it is dissected; after, when it was. given says that it
	// carries something that could be reported. now is the time of the newest frame.
	before(f *capture.Frame, now time.Time)
	after(f *capture.Frame, given bool, now time.Time)
	// advance saves frames about which nothing more is expected, although none follows.
	advance(now time.Time)
	// end saves all frames.
	end()
	// lost returns an error if frames could not be saved.
	lost() error
}

func newKeeper(o *Options, s *safe) keeper {
	switch {
	case o.Save.Saver == nil:
		return nil
	case o.Save.Chosen || o.Save.Annotate:
		return &selection{o: o, safe: s, every: !o.Save.Chosen}
	}
	return s
}

// A safe saves frames at once.
type safe struct {
	saver   Saver
	trouble func(error)
	over    bool // the saver takes no more frames
	dirty   bool // frames were saved late since the last flush
}

func (s *safe) before(f *capture.Frame, _ time.Time)  { s.save(f) }
func (s *safe) after(*capture.Frame, bool, time.Time) {}
func (s *safe) advance(time.Time)                     {}
func (s *safe) end()                                  {}
func (s *safe) lost() error                           { return nil }

// save gives a frame to the saver. If the saver returns an error, the run ends.
func (s *safe) save(f *capture.Frame) {
	if !s.over {
		s.saved(s.saver.Save(f))
	}
}

// flush makes all saved frames readable.
func (s *safe) flush() {
	if s.saver != nil && !s.over {
		s.saved(s.saver.Flush())
	}
}

func (s *safe) saved(err error) {
	if err != nil {
		s.over = true
		if err != ErrEnough {
			s.trouble(err)
		}
	}
}

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
	s.relate(h, "request_frame", r.RequestFrame, "reply_frame")
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
// is not held or its number is 0.
func (s *selection) relate(h *heldFrame, path string, frame uint64, back string) *heldFrame {
	if frame == 0 {
		return nil
	}
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

// comments appends the comments of the i-th frame that is held to its own ones.
func (s *selection) comments(i int) []string {
	h := &s.held[i]
	list := h.Comments
	if s.o.Save.Tree != nil {
		list = slices.DeleteFunc(slices.Clone(list), func(s string) bool { return strings.HasPrefix(s, nettext.TreeMark) }) // those from before
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
