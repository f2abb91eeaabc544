package report

import (
	"strconv"

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
