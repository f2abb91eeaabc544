package golden

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/report"
)

// wholes gathers the messages that came in one datagram.
type wholes struct {
	*report.Counts
	messages []whole
}

type whole struct {
	frame   uint64
	payload []byte
	silent  []bool // the bytes that no value of the output shows
}

// Record takes a message.
func (w *wholes) Record(r *dissect.Record) {
	if len(r.Sources) != 1 || len(r.Frames) > 0 {
		return
	}
	m := whole{r.Frame, slices.Clone(r.Sources[0].Data), make([]bool, len(r.Sources[0].Data))}
	framing := -1 // depth of framing, which is not shown, nor what is in it
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if framing >= 0 && int(n.Depth) <= framing {
			framing = -1
		}
		if framing < 0 && n.Field.Framing {
			framing = int(n.Depth)
		}
		if framing >= 0 || n.Field.Secret {
			for at := range m.silent[n.Off : n.Off+n.Len] {
				m.silent[int(n.Off)+at] = true
			}
		}
	}
	w.messages = append(w.messages, m)
}

// beginning returns the frames of a capture that hold its first messages, and
// those messages: of so many bytes that there are most of them at least.
func beginning(t *testing.T, path string, most int) (frames []capture.Frame, messages []whole) {
	t.Helper()
	w := &wholes{Counts: report.NewCounts()}
	_, err := pipeline.Run(pipeline.Options{
		Inputs: []string{path}, Out: io.Discard, Reporter: func() report.Reporter { return w }, Trouble: func(error) {},
		Analysis: dissect.Config{Protocols: all.Protocols(), Tree: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(w.messages, func(a, b whole) int { return int(a.frame) - int(b.frame) })
	n, last := 0, uint64(0)
	for _, m := range w.messages {
		if n >= most {
			break
		}
		n += len(m.payload)
		last = m.frame
		messages = append(messages, m)
	}
	r, err := capture.Open(path)
	if err != nil {
		return nil, nil // a test of what cannot be opened
	}
	defer r.Close()
	var f capture.Frame
	for uint64(len(frames)) < last && r.Next(&f) == nil {
		f.Data = slices.Clone(f.Data)
		frames = append(frames, f)
	}
	return frames, messages
}

// difference is what a message that differs looks like.
var difference = regexp.MustCompile(`(?m)^((missing|new): .*frame \d+ .*|frame \d+ .*\n  [a-z].*: .* → .*)$`)

// TestFlip: one bit of a byte of the first messages of any capture turned over is
// found, and what is said names the message, and the field or what it is taken for
// now. It is not found in bytes that the output does not show and that the message
// is read in the same way with: what only says where something ends or pads it,
// and passwords. White space that stands for other white space is one of them.
// Below the datagram it cannot be found: nothing shows hardware addresses,
// identifications or checksums.
//
// Bytes at regular distances are tried, others in each capture.
func TestFlip(t *testing.T) {
	root := filepath.Join("..", "..", "testdata", "pcaps")
	tries := 25
	if testing.Short() {
		tries = 5
	}
	seen, unseen, captures := 0, 0, 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		hostile := strings.Contains(path, "hostile")
		if err != nil || !IsCapture(path) || hostile {
			return err // hostile captures are full of what is not shown
		}
		captures++
		frames, messages := beginning(t, path, 300)
		if len(messages) == 0 {
			t.Errorf("%s: no messages", path)
			return nil
		}
		copied := filepath.Join(t.TempDir(), "x.pcapng")
		write := func() {
			w, err := capture.Create(copied)
			for i := range frames {
				if err == nil {
					err = w.Write(&frames[i])
				}
			}
			if err == nil {
				err = w.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		write()
		if _, _, err := Update(copied, false); err != nil {
			t.Fatal(err)
		}
		type place struct {
			*whole
			at int
		}
		var places []place
		for i := range messages {
			for at := range messages[i].payload {
				places = append(places, place{&messages[i], at})
			}
		}
		step := 1 + len(places)/tries
		for i := captures % step; i < len(places); i += step {
			m, at := places[i].whole, places[i].at
			data := frames[m.frame-1].Data
			from := bytes.LastIndex(data, m.payload)
			data[from+at] ^= 1
			write()
			data[from+at] ^= 1
			r, _, err := Check(copied, Rules{}, 1000)
			if err != nil || r == nil {
				t.Fatal(path, err)
			}
			where := fmt.Sprintf("%s: byte %d of the message in frame %d", path, at, m.frame)
			text := string(r.AppendText(nil, ""))
			blank := func(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
			switch {
			case !r.Equal():
				seen++
				if !difference.MatchString(text) || !strings.Contains(text, fmt.Sprintf("frame %d ", m.frame)) {
					t.Errorf("%s is another:\n%s", where, text)
				}
			case m.silent[at], blank(m.payload[at]) && blank(m.payload[at]^1):
				unseen++
			default:
				t.Errorf("%s is another, and nothing is found: %q", where, m.payload)
			}
		}
		return nil
	})
	if err != nil || captures < 30 || seen < 20*unseen {
		t.Errorf("%d bytes were found in %d captures, %d not; %v", seen, captures, unseen, err)
	}
	t.Logf("%d bytes were found, %d not", seen, unseen)
}
