package dissect

import (
	"bytes"
	"slices"

	"github.com/qdissect/qdissect/reassembly"

	"github.com/qdissect/qdissect/internal/core"
)

// gluedLeast is the number of bytes of a split header that repeat in all parts of a message.
const gluedLeast = 8

// glued returns the size of the parts that receive offload (GRO, LRO) joined to one payload: all are as long as the first but the
// last, so the split header repeats at each multiple of it. It returns 0 for a single part.
func (s *Splitting) glued(b []byte, first reassembly.Part) int {
	n := len(b)
	if first.Header < gluedLeast || first.Size > 0 && (n <= first.Size || n == first.Size+first.Header) {
		return 0
	}
	size := bytes.Index(b[gluedLeast:], b[:gluedLeast]) + gluedLeast
	if size <= first.Header {
		return 0
	}
	for at := size; at < n; at += size {
		part, ok := s.Read(b[at:min(at+size, n)], 0)
		if !ok || part.ID != first.ID || part.Index == first.Index {
			return 0
		}
	}
	return size
}

// unglue adds the parts that one datagram holds, of a size. It reports whether the set is complete and in the reader.
func (a *Analyzer) unglue(x *arrival, size int) bool {
	whole := x.Payload
	defer func() { x.Payload = whole }()
	glued := NewFinding(core.CaptureGlued, Num((len(whole)+size-1)/size))
	for at := 0; at < len(whole); at += size {
		x.Payload, x.summed = whole[at:min(at+size, len(whole))], false
		if part, ok := a.protocols[x.protocol].Split.Read(x.Payload, 0); ok && a.onePart(x, part) {
			a.record.Frames = slices.Compact(a.record.Frames)
			a.reader.Note(core.CaptureGlued, core.Args(&glued)[0])
			return true
		}
	}
	a.report(glued, x)
	return false
}
