package quake2

import (
	"bytes"

	"github.com/qdissect/qdissect/dissect"
)

// maxBefore is the most that may be printed before a status.
const maxBefore = 256

// beforeSettings returns how many bytes stand before the settings of a status, -1
// if b has none: a line that begins with a backslash and has another one.
func beforeSettings(b []byte) int {
	n := 0
	if len(b) > 0 && b[0] != '\\' {
		if n = bytes.Index(b[:min(len(b), maxBefore)], []byte("\n\\")) + 1; n == 0 {
			return -1
		}
	}
	line, _, _ := bytes.Cut(b[n:], []byte("\n"))
	if bytes.Count(line, []byte(`\`)) < 2 {
		return -1
	}
	return n
}

// decodeStatus reads a status after n bytes of something else.
func (d *decoder) decodeStatus(r *dissect.Reader, m *dissect.Message, n int) {
	s := &d.status
	m.Type, m.Body = mStatusReply, s
	m.Pair.Answers = topicStatus
	if n > 0 {
		r.Find(before, fBefore, r.Offset(), n)
		r.Text(fBefore, n)
	}
	s.Rules, s.Players, m.Server = status.Read(r, s.Rules[:0], s.Players[:0])
	s.server = m.Server
}
