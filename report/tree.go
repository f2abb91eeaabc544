package report

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/envelope"
	"github.com/qdissect/qdissect/internal/nettext"
)

// MaxTree is the size of a tree in a packet comment, to which at most a few lines are
// added. pcapng allows 64 KiB for a comment.
const MaxTree = 60000

// maxTreeValue is the number of bytes of a value, in a tree.
const maxTreeValue = 4096

// A TreeNote writes messages and findings as the lines of a packet comment, after
// [nettext.TreeMark], for the script that qdissect lua prints. A line is depth, path, offset, length and value, separated by
// |. Offset and length are the bytes in the frame, and empty if they are not there: those
// of other frames, joined or unpacked. The value is safe for a terminal; that of bytes
// in the frame is empty. The depth + is for a value that belongs to the field before it,
// whose path is then the suffix that it adds. A field in a table whose columns the message
// names has the path of the declared field, a colon and the name of the column.
type TreeNote struct {
	hides hiding
	keys  []*envelope.Key
	facts []envelope.Key // about servers
	b     []byte
	at    []int // of the sources, in the frame; -1 for elsewhere
	raw   []byte
	text  []byte
}

// NewTreeNote returns a TreeNote. It shows passwords if secrets is true.
func NewTreeNote(secrets bool) *TreeNote {
	return &TreeNote{hides: hiding{off: secrets}, keys: envelope.Read(envelope.Message | envelope.Answer), facts: envelope.Lookup("server").Fields}
}

// Record returns the lines of a message. payload is the offset of the datagram in the
// frame, -1 if it is not in one piece. The result is valid until the next call.
func (t *TreeNote) Record(r *dissect.Record, payload int) []byte {
	t.hides.begin(r)
	t.b, t.at = t.b[:0], t.at[:0]
	for i := range r.Sources {
		t.at = append(t.at, nettext.Either(r.Sources[i].Frame == r.Frame, payload, -1))
	}
	t.line(0, "protocol", 0, 0, len(r.Sources[0].Data))
	t.end(r.Protocol.Name)
	t.fact(1, "message", r.Type.Name)
	t.fact(1, "role", r.Type.Role.String())
	t.fact(1, "length", strconv.Itoa(r.Length))
	for _, p := range r.Alternatives {
		t.fact(1, "alternative", p.Name)
	}
	if r.Split.Parts > 0 {
		t.fact(1, "parts", strconv.Itoa(r.Split.Parts))
	}
	for _, n := range r.Missing {
		t.fact(1, "missing_part", strconv.Itoa(n))
	}
	for _, k := range t.keys {
		if v, ok := k.OfMessage(r); ok && k.TreeName() != "" {
			t.fact(1, k.TreeName(), treeValue(k.Kind, v))
		}
	}
	t.raw = r.AppendSummary(t.raw[:0])
	t.fact(1, "summary", nettext.View(t.raw))
	t.line(1, r.Protocol.Name, 0, 0, len(r.Sources[0].Data))
	t.end("")
	for i := range r.Nodes {
		t.node(&r.Nodes[i], r.Sources[r.Nodes[i].Source].Data)
	}
	t.server(&r.Server)
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Type != core.PacketComment {
			t.finding(f)
		}
	}
	return t.b
}

// treeValue returns the value of a key of the envelope.
func treeValue(kind envelope.Kind, v uint64) string {
	switch kind {
	case envelope.Nanoseconds:
		return strconv.FormatFloat(time.Duration(v).Seconds(), 'f', 9, 64)
	case envelope.Mark:
		return "true"
	}
	return strconv.FormatUint(v, 10)
}

// Part returns the lines for another frame with a part of a message. The result is valid
// until the next call.
func (t *TreeNote) Part(r *dissect.Record) []byte {
	t.b, t.at = t.b[:0], t.at[:0]
	t.fact(0, "protocol", r.Protocol.Name)
	return t.b
}

// Finding returns the lines of a finding that belongs to no message. The result is valid
// until the next call.
func (t *TreeNote) Finding(f *dissect.FlowFinding) []byte {
	t.b, t.at = t.b[:0], t.at[:0]
	t.finding(&f.Finding)
	return t.b
}

// Frame returns the line of another frame that belongs to this one. It is given by its
// distance, because the frames of a file may be numbered anew.
func (t *TreeNote) Frame(path string, distance int) []byte {
	t.b = t.b[:0]
	t.fact(1, path, strconv.Itoa(distance))
	return t.b
}

// Cut returns the line that says how many lines were left out.
func (t *TreeNote) Cut(lines int) []byte {
	t.b = t.b[:0]
	t.fact(1, "cut", strconv.Itoa(lines)+nettext.Plural(lines, " line", " lines")+" of the tree did not fit into the comment")
	return t.b
}

// line begins a line, about n bytes of a source.
func (t *TreeNote) line(depth int, path string, source, off, n int) {
	t.b = strconv.AppendInt(t.b, int64(depth), 10)
	t.b = append(t.b, '|')
	t.path(path)
	t.bytes(source, off, n)
}

func (t *TreeNote) path(path string) {
	start := len(t.b)
	t.b = append(t.b, path...)
	for i := start; i < len(t.b); i++ {
		if t.b[i] == '-' { // of a protocol
			t.b[i] = '_'
		}
	}
}

func (t *TreeNote) bytes(source, off, n int) {
	t.b = append(t.b, '|')
	if source < len(t.at) && t.at[source] >= 0 {
		t.b = strconv.AppendInt(t.b, int64(t.at[source]+off), 10)
		t.b = append(t.b, '|')
		t.b = strconv.AppendInt(t.b, int64(n), 10)
	} else {
		t.b = append(t.b, '|')
	}
	t.b = append(t.b, '|')
}

func (t *TreeNote) end(value string) { t.b = append(append(t.b, value...), '\n') }

// fact writes a line without bytes.
func (t *TreeNote) fact(depth int, path, value string) {
	t.line(depth, path, len(t.at), 0, 0)
	t.end(value)
}

// more writes a value that belongs to the field before it.
func (t *TreeNote) more(suffix string, value []byte) {
	t.b = append(t.b, "+|"...)
	t.b = append(t.b, suffix...)
	t.b = append(t.b, "|||"...)
	t.safe(value)
}

// safe appends a value, and ends the line.
func (t *TreeNote) safe(v []byte) {
	start := len(t.b)
	t.b = nettext.AppendSafe(t.b, v[:min(len(v), maxTreeValue+utf8.UTFMax)])
	t.b = append(nettext.Shorten(t.b, start, maxTreeValue), '\n')
}

func (t *TreeNote) finding(f *dissect.Finding) {
	if f.Length > 0 {
		t.line(1, "finding", f.Source, f.Offset, f.Length)
		t.end(f.Type.ID)
	} else {
		t.fact(1, "finding", f.Type.ID)
	}
	t.fact(2, "finding.severity", f.Type.Severity.String())
	t.raw = f.AppendText(t.raw[:0])
	t.raw = nettext.Shorten(t.raw, 0, nettext.MaxSummary)
	t.fact(2, "finding.text", nettext.View(t.raw))
}

// server writes the facts about a server.
func (t *TreeNote) server(s *dissect.Server) {
	if !s.Stated() {
		return
	}
	t.fact(1, "server", "")
	for _, k := range t.facts {
		switch f := k.OfServer(s); {
		case !f.Stated:
		case k.Kind == envelope.Signed:
			t.fact(2, "server."+k.Name, strconv.Itoa(f.Number))
		case k.Kind == envelope.Flag:
			t.fact(2, "server."+k.Name, strconv.FormatBool(f.Number != 0))
		default:
			t.text = f.AppendText(t.text[:0], s)
			t.line(2, "server."+k.Name, len(t.at), 0, 0)
			t.safe(t.text)
		}
	}
}

// node writes a field, and what belongs to it as in JSON.
func (t *TreeNote) node(n *dissect.Node, data []byte) {
	f := n.Field
	declared := nettext.Either(f.Column != nil, f.Column, f)
	column := declared.Path != f.Path // and not hidden
	t.b = strconv.AppendInt(t.b, 2+int64(n.Depth), 10)
	t.b = append(t.b, '|')
	t.path(declared.Path)
	if number := f.Kind == dissect.Float && (math.IsNaN(n.Float()) || math.IsInf(n.Float(), 0)) || f.Kind == dissect.Decimal && (f.Secret && !t.hides.off || !nettext.JSONNumber(n.Value(data))); number {
		t.b = append(t.b, core.TextSuffix...)
	}
	if column {
		t.b = append(t.b, ':')
		t.b = append(t.b, f.Key()...)
	}
	t.bytes(int(n.Source), int(n.Off), int(n.Len))
	t.value(n, data)
}

// value writes a value, the end of its line, and further lines.
func (t *TreeNote) value(n *dissect.Node, data []byte) {
	f := n.Field
	switch f.Kind {
	case dissect.Group, dissect.List:
		t.b = append(t.b, '\n')
		return
	case dissect.Bytes:
		t.opaque(n, data)
		return
	}
	if f.Secret && !t.hides.off {
		t.end("***")
		return
	}
	switch f.Kind {
	case dissect.Uint, dissect.ID:
		t.end(strconv.FormatUint(n.Num, 10))
		if len(f.Bits) > 0 {
			t.raw = appendBits(t.raw[:0], f, n.Num)
			t.more("", bytes.Trim(t.raw, " ()"))
		}
	case dissect.Int:
		t.end(strconv.FormatInt(n.Int(), 10))
	case dissect.Bool:
		t.end(strconv.FormatBool(n.Num != 0))
	case dissect.Float:
		t.b = appendFloat(t.b, n.Float(), n.Len)
		t.b = append(t.b, '\n')
	case dissect.Char:
		t.raw = utf8.AppendRune(t.raw[:0], rune(n.Num))
		t.safe(t.raw)
	case dissect.Endpoint:
		at := n.Endpoint(data)
		t.end(at.String())
		ip := nettext.Either(at.Addr().Is6(), ".ip6", ".ip")
		t.more(ip, []byte(at.Addr().String()))
		t.more(".port", strconv.AppendUint(nil, uint64(at.Port()), 10))
	default:
		t.words(n, data)
	}
	if name := f.NameOf(n.Num); name != "" {
		t.more("_name", []byte(name))
	}
}

// words writes a text.
func (t *TreeNote) words(n *dissect.Node, data []byte) {
	f, v, style := n.Field, n.Text(t.raw[:0], data), n.Style()
	if n.Wide {
		t.raw = v
	}
	utf8 := func(v []byte) []byte {
		if !f.Charset.IsUTF8(v) {
			t.text = f.Charset.AppendUTF8(t.text[:0], v)
			return t.text
		}
		return v
	}
	t.safe(utf8(v))
	if style.HasCodes(v) {
		t.more("_plain", utf8(style.AppendPlain(nil, v)))
	}
}

// opaque writes bytes in hex, unless they are elsewhere.
func (t *TreeNote) opaque(n *dissect.Node, data []byte) {
	raw := n.Bytes(data)
	v := n.Value(data)
	switch {
	case t.at[n.Source] >= 0 && len(v) == len(raw): // the frame has them
	case carries(n): // so does what follows
	case t.hides.all(n):
		t.b = append(t.b, strings.Repeat("2a", min(len(v), maxTreeValue/2))...)
	default:
		v = t.hides.shown(n, v)
		t.b = hex.AppendEncode(t.b, v[:min(len(v), maxTreeValue/2)])
	}
	t.b = append(t.b, '\n')
}

// A Leaf is a field that holds no others, as [Text] shows it: Name is the path within the message, and Value is safe for
// a terminal.
type Leaf struct {
	Name, Value    string
	Offset, Length int
}

// Leaves returns the bytes of a source of r and the fields in them. Secrets are masked in both. It needs the tree; see
// [dissect.Config].
func Leaves(r *dissect.Record, source int) (data []byte, leaves []Leaf) {
	t := NewText(TextOptions{})
	t.hides.begin(r)
	data = bytes.Clone(r.Sources[source].Data)
	type container struct {
		name     string
		list     bool
		elements int
	}
	open := []container{{}}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		open = open[:min(len(open), int(n.Depth)+1)]
		parent := &open[len(open)-1]
		name := n.Field.Key()
		if parent.list {
			name = parent.name + "[" + strconv.Itoa(parent.elements) + "]"
			parent.elements++
		} else if parent.name != "" {
			name = parent.name + "." + name
		}
		if n.Field.Kind.Container() {
			open = append(open, container{name: name, list: n.Field.Kind == dissect.List})
			continue
		}
		if int(n.Source) != source || n.Len == 0 {
			continue
		}
		raw := n.Bytes(r.Sources[source].Data)
		shown := data[n.Off : n.Off+n.Len]
		copy(shown, t.hides.shown(n, raw))
		if t.hides.all(n) {
			for k := range shown {
				shown[k] = '*'
			}
		}
		t.text = t.appendValue(t.text[:0], n, r.Sources[source].Data)
		leaves = append(leaves, Leaf{Name: name, Value: string(t.text), Offset: int(n.Off), Length: int(n.Len)})
	}
	return data, leaves
}

// AppendNote appends a message as a packet comment: the one-line output without the
// columns that every packet list has.
func AppendNote(dst []byte, r *dissect.Record) []byte {
	dst = r.AppendSummary(append(append(dst, r.Protocol.Name...), ": "...))
	if r.Split.Parts > 0 {
		dst = appendParts(append(dst, "  ["...), r)
	}
	if r.RequestFrame > 0 {
		dst = appendRoundTrip(fmt.Appendf(dst, "  ← frame %d", r.RequestFrame), r)
	}
	return dst
}

// AppendFindingNote appends a finding as a packet comment.
func AppendFindingNote(dst []byte, f *dissect.Finding) []byte {
	return f.AppendText(fmt.Appendf(dst, "%v: %s: ", f.Type.Severity, f.Type.ID))
}

// AppendFlowNote appends a finding that belongs to no message as a comment of a
// later packet.
func AppendFlowNote(dst []byte, f *dissect.FlowFinding) []byte {
	return AppendFindingNote(fmt.Appendf(dst, "frame %d, ", f.Frame), &f.Finding)
}

// AppendMoreNotes appends the comment that stands for those left out.
func AppendMoreNotes(dst []byte, n int) []byte { return fmt.Appendf(dst, "and %d more", n) }

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
