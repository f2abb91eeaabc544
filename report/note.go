package report

import (
	"strconv"
	"strings"

	"github.com/qdissect/qdissect/dissect"
)

// AppendNote appends a message as a packet comment: the one-line output without the
// columns that every packet list has.
func AppendNote(dst []byte, r *dissect.Record) []byte {
	dst = append(dst, r.Protocol.Name...)
	dst = append(dst, ": "...)
	dst = r.AppendSummary(dst)
	if r.Split.Parts > 0 {
		dst = append(dst, "  ["...)
		dst = appendParts(dst, &r.Split)
		if len(r.Frames) > 1 {
			dst = append(dst, ": frames"...)
			dst = appendFrames(dst, r.Frames)
		}
		dst = append(dst, ']')
	}
	if r.RequestFrame > 0 {
		dst = append(dst, "  ← frame "...)
		dst = strconv.AppendUint(dst, r.RequestFrame, 10)
		dst = appendRoundTrip(dst, r)
	}
	return dst
}

// AppendFindingNote appends a finding as a packet comment.
func AppendFindingNote(dst []byte, f *dissect.Finding) []byte {
	dst = append(dst, f.Type.Severity.String()...)
	dst = append(dst, ": "...)
	dst = append(dst, f.Type.ID...)
	dst = append(dst, ": "...)
	return f.AppendText(dst)
}

// AppendFlowNote appends a finding that belongs to no message as a comment of a
// later packet.
func AppendFlowNote(dst []byte, f *dissect.FlowFinding) []byte {
	dst = append(dst, "frame "...)
	dst = strconv.AppendUint(dst, f.Frame, 10)
	dst = append(dst, ", "...)
	return AppendFindingNote(dst, &f.Finding)
}

// AppendMoreNotes appends the comment that stands for those left out.
func AppendMoreNotes(dst []byte, n int) []byte {
	return append(strconv.AppendInt(append(dst, "and "...), int64(n), 10), " more"...)
}

// WithoutNotes appends to dst the comments of a packet that no note is: those that somebody else than this program wrote.
func WithoutNotes(dst, comments []string, protocols []*dissect.Protocol) []string {
	note := false
	for _, c := range comments {
		if note = isNote(c, protocols) || note && isMore(c); !note {
			dst = append(dst, c)
		}
	}
	return dst
}

// isNote reports whether a comment is one of [AppendNote], [AppendFindingNote] or [AppendFlowNote].
func isNote(comment string, protocols []*dissect.Protocol) bool {
	first, rest, _ := strings.Cut(comment, ": ")
	if frame, severity, ok := strings.Cut(first, ", "); ok {
		if n, ok := strings.CutPrefix(frame, "frame "); !ok || !isCount(n) {
			return false
		}
		first = severity
	}
	for s := range dissect.Failed + 1 {
		if first == s.String() {
			id, _, ok := strings.Cut(rest, ": ")
			return ok && isFindingID(id)
		}
	}
	for _, p := range protocols {
		if p.Name != first {
			continue
		}
		for _, m := range p.Catalog.Messages() {
			if after, ok := strings.CutPrefix(rest, m.Title); ok && (after == "" || strings.HasPrefix(after, "  ")) {
				return true
			}
		}
	}
	return false
}

func isMore(comment string) bool {
	n, ok := strings.CutPrefix(comment, "and ")
	n, more := strings.CutSuffix(n, " more")
	return ok && more && isCount(n)
}

func isCount(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func isFindingID(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789._") == ""
}
