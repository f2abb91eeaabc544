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

// maxNote limits the length of a comment.
const maxNote = 1000

// notes holds the comments of frames in a temporary file, because there may be one for
// every frame.
type notes struct {
	file *os.File
	w    *bufio.Writer
	end  int64
	list []note
	next int // the next one to read
	err  error
}

// A note is the position of a comment in the file. Its length in 2 bytes comes first.
type note struct {
	frame uint64
	at    int64
}

// newNotes creates a temporary file in dir. close removes it.
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

// reset discards all notes.
func (n *notes) reset() {
	if n == nil {
		return
	}
	_, err := n.file.Seek(0, 0)
	n.w.Reset(n.file)
	n.list, n.end, n.err = n.list[:0], 0, err
}

// add adds the comment for a message.
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

// begin prepares reading in the order of frames.
func (n *notes) begin() error {
	if n == nil {
		return nil
	}
	slices.SortStableFunc(n.list, func(a, b note) int { return cmp.Compare(a.frame, b.frame) })
	n.next = 0
	return errors.Join(n.err, n.w.Flush())
}

// of returns the last comment of a frame, or "". Calls must have ascending frames.
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
