package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/golden"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/report"
)

// TestCheckOwn: the captures of the project are as they should be, by the
// program's own word.
func TestCheckOwn(t *testing.T) {
	if *update {
		t.Skip("the goldens are being written")
	}
	out, stderr, status := runIn(t, filepath.Join("..", ".."), "check", filepath.Join("testdata", "pcaps"))
	if status != exitDone || !regexp.MustCompile(`^\d+ captures: \d+ equal(, \d+ damaged)?\n$`).MatchString(out) {
		t.Errorf("status %d\n%s%s", status, out, stderr)
	}
}

// shown gathers the bytes that JSON shows: of each message that came whole, where
// the values of its fields lie in the payload.
type shown struct {
	*report.Counts
	messages []message
}

type message struct {
	frame   uint64
	payload []byte
	at      []int
}

// Record takes a message.
func (s *shown) Record(r *dissect.Record) {
	if len(r.Sources) != 1 || len(r.Frames) > 0 {
		return
	}
	m := message{frame: r.Frame, payload: slices.Clone(r.Sources[0].Data)}
	framing := -1 // depth of framing, which is not shown, nor what is in it
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if framing >= 0 && int(n.Depth) > framing {
			continue
		}
		framing = -1
		switch data := r.Sources[0].Data; {
		case n.Field.Framing:
			framing = int(n.Depth)
		case n.Field.Kind.Container(), n.Field.Secret, n.Field.Kind == dissect.Bool:
		case len(n.Value(data)) > 0:
			m.at = append(m.at, cap(data)-cap(n.Value(data)), cap(data)-cap(n.Value(data))+len(n.Value(data))-1)
		}
	}
	if len(m.at) > 0 {
		s.messages = append(s.messages, m)
	}
}

// read returns the frames of a capture, and where in them a byte is shown that is
// then another: some bytes of some messages.
func read(t *testing.T, path string) (frames []capture.Frame, places []place) {
	t.Helper()
	s := &shown{Counts: report.NewCounts()}
	_, err := pipeline.Run(pipeline.Options{
		Inputs: []string{path}, Out: io.Discard, Reporter: func() report.Reporter { return s }, Trouble: func(error) {},
		Analysis: dissect.Config{Protocols: all.Protocols(), Tree: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := capture.Open(path)
	if err != nil {
		return nil, nil // a test of what cannot be opened
	}
	defer r.Close()
	var f capture.Frame
	for r.Next(&f) == nil {
		f.Data = slices.Clone(f.Data)
		frames = append(frames, f)
	}
	for i := 0; i < len(s.messages); i += 1 + len(s.messages)/6 {
		m := &s.messages[i]
		if at := bytes.LastIndex(frames[m.frame-1].Data, m.payload); at >= 0 {
			places = append(places, place{m.frame, at + m.at[len(m.at)/2]}, place{m.frame, at + m.at[len(m.at)-1]})
		}
	}
	return frames, places
}

type place struct {
	frame uint64
	at    int // in the frame
}

// flipped writes a capture with one bit of one byte turned over.
func flipped(t *testing.T, path string, frames []capture.Frame, p place) {
	t.Helper()
	w, err := capture.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range frames {
		f := frames[i]
		if f.Number == p.frame {
			f.Data = slices.Clone(f.Data)
			f.Data[p.at] ^= 1
		}
		if err := w.Write(&f); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCheckFlipped: one byte of a message turned over in any capture is found,
// and what is said of it names the message and the field.
func TestCheckFlipped(t *testing.T) {
	dir := t.TempDir()
	for _, path := range captures(t) {
		t.Run(filepath.ToSlash(path), func(t *testing.T) {
			want, err := os.ReadFile(golden.Path(path))
			if errors.Is(err, fs.ErrNotExist) && *update {
				t.Skip("the goldens are being written")
			}
			if err != nil {
				t.Fatal(err)
			}
			frames, places := read(t, path)
			copied := filepath.Join(dir, filepath.Base(path))
			if err := os.WriteFile(golden.Path(copied), want, 0o666); err != nil {
				t.Fatal(err)
			}
			for _, p := range places {
				flipped(t, copied, frames, p)
				out, stderr, status := runIn(t, dir, "check", "--max", "1000", filepath.Base(copied))
				if status == exitDone {
					t.Errorf("byte %d of frame %d is another, and nothing is found", p.at, p.frame)
				}
				if !difference.MatchString(out) || !strings.Contains(out, fmt.Sprintf("frame %d ", p.frame)) {
					t.Errorf("byte %d of frame %d:\n%s%s", p.at, p.frame, out, stderr)
				}
			}
			if len(places) == 0 && !strings.Contains(filepath.ToSlash(path), "/hostile/") {
				t.Error("nothing to be turned over")
			}
		})
	}
}

// difference is what a message that differs looks like.
var difference = regexp.MustCompile(`(?m)^  ((missing|new): .*frame \d+ |(frame \d+ .*|summary)\n    [a-z].*: .* → .*$)`)
