package cut

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/report"
)

// maxNote bounds what is said of a frame.
const maxNote = 1000

// notes are what frames are said to hold, in a file: there may be as many as
// there are frames.
type notes struct {
	file *os.File
	w    *bufio.Writer
	end  int64
	list []note
	next int // of those that are read
	err  error
}

// A note begins at an offset of the file: 2 bytes for its length, and its text.
type note struct {
	frame uint64
	at    int64
}

// newNotes returns notes in a file of a folder, which is gone after close.
func newNotes(dir string) (*notes, error) {
	f, err := os.CreateTemp(dir, ".cut-*.notes")
	if err != nil {
		return nil, err
	}
	return &notes{file: f, w: bufio.NewWriter(f)}, nil
}

func (n *notes) close() error {
	if n == nil {
		return nil
	}
	return errors.Join(n.file.Close(), os.Remove(n.file.Name()))
}

// reset forgets all notes.
func (n *notes) reset() {
	if n == nil {
		return
	}
	_, err := n.file.Seek(0, 0)
	n.w.Reset(n.file)
	n.list, n.end, n.err = n.list[:0], 0, err
}

// add notes a message.
func (n *notes) add(r *dissect.Record) {
	if n == nil || n.err != nil {
		return
	}
	text := report.AppendNote(nil, r)
	said := strings.ToValidUTF8(string(text[:min(len(text), maxNote)]), "")
	n.list = append(n.list, note{r.Frame, n.end})
	_, err := n.w.Write(append(binary.LittleEndian.AppendUint16(nil, uint16(len(said))), said...))
	n.end, n.err = n.end+2+int64(len(said)), err
}

// begin makes the notes readable, from the first frame on.
func (n *notes) begin() error {
	if n == nil {
		return nil
	}
	slices.SortStableFunc(n.list, func(a, b note) int { return cmp.Compare(a.frame, b.frame) })
	n.next = 0
	return errors.Join(n.err, n.w.Flush())
}

// of returns the last note about a frame, "" if there is none. Frames must be
// asked for in order.
func (n *notes) of(frame uint64) (string, error) {
	at := int64(-1)
	for ; n.next < len(n.list) && n.list[n.next].frame <= frame; n.next++ {
		if n.list[n.next].frame == frame {
			at = n.list[n.next].at
		}
	}
	if at < 0 {
		return "", nil
	}
	var b [2 + maxNote]byte
	got, err := n.file.ReadAt(b[:min(int64(len(b)), n.end-at)], at)
	if err != nil {
		return "", err
	}
	return string(b[2:min(got, 2+int(binary.LittleEndian.Uint16(b[:])))]), nil
}
