package report

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// A Clock is a format of times in text output.
type Clock uint8

const (
	// Relative is the time since the first packet, in seconds.
	Relative Clock = iota
	// Delta is the time since the line before.
	Delta
	// Absolute is the time of the day.
	Absolute
	// Date is date and time of the day.
	Date
	// Epoch is seconds since 1970.
	Epoch
)

// Stateless reports whether times do not depend on the line before.
func (c Clock) Stateless() bool { return c != Delta }

// Detail is the amount of text for each message.
type Detail uint8

const (
	// Line is one line for each message.
	Line Detail = iota
	// Tree adds the fields with their places and bytes.
	Tree
	// Hex adds the bytes with the fields beside them.
	Hex
)

// Text writes text for people: a line for each message, similar to tcpdump and
// tshark, and details on request.
type Text struct {
	out
	o     TextOptions
	paint palette
	hides hiding
	start time.Time
	last  time.Time
	text  []byte
	wide  []byte
	// colourBytes are the bytes of the colours of a time.
	colourBytes int
	widths      [cells]int // so far, if marked
	flows       flowTexts
}

// TextOptions configure a Text.
type TextOptions struct {
	// Detail beyond Line needs [dissect.Config.Tree].
	Detail Detail
	Clock  Clock
	// Zone is the time zone of Absolute and Date, which name it; nil is UTC without its name.
	Zone    *time.Location
	Color   bool
	Secrets bool
	// ManyFiles puts the name of each input before its lines.
	ManyFiles bool
	// Marked writes for a [Columns], which aligns the columns.
	Marked bool
	// Below puts findings on lines of their own, the worst first.
	Below bool
	// Width is the number of columns of lines below a message in Tree and Hex, which are
	// broken where they are longer; 0 leaves them whole.
	Width int
}

// NewText returns a reporter that writes text.
func NewText(o TextOptions) *Text {
	t := &Text{o: o, hides: hiding{off: o.Secrets}, flows: flowTexts{ports: true}}
	if !o.Below || !o.Marked {
		t.widths = leastWidths
	}
	if o.Color {
		t.paint = colors
		t.colourBytes = len(colors.dim) + len(colors.reset)
	}
	return t
}

// A palette holds the escape sequences for colours; all are empty without colour.
type palette struct {
	dim, reset string
	roles      [dissect.OneWay + 1]string
	severities [dissect.Failed + 1]string
}

var colors = palette{
	dim: "\x1b[2m", reset: "\x1b[0m", roles: [...]string{"\x1b[36m", "\x1b[32m", "\x1b[35m"},
	severities: [...]string{"\x1b[2m", "\x1b[33m", "\x1b[1;33m", "\x1b[1;31m"},
}

// severityMarks stand before findings.
var severityMarks = [...]string{". ", "~ ", "! ", "!! "}

// Begin writes the name of the input if there are several.
func (t *Text) Begin(c Capture) error {
	t.start, t.last = c.Start, time.Time{}
	if t.o.Marked && c.FirstFrame <= 1 {
		t.buf = append(t.buf, ctl, markInput)
	}
	if !t.o.ManyFiles {
		return nil
	}
	if c.Number > 0 {
		t.buf = append(t.buf, '\n')
	}
	t.buf = fmt.Appendf(t.buf, "%s== %s%s\n", t.paint.dim, nettext.AppendSafe(nil, []byte(c.File)), t.paint.reset)
	return nil
}

// Record writes a message.
func (t *Text) Record(r *dissect.Record) error {
	hue := t.paint.roles[r.Type.Role]
	t.prefix(r.Frame, r.Time, r.Src, r.Dst, r.Type.Role == dissect.Reply, false, hue, r.Protocol, r.Alternatives)
	b := append(t.buf, "  "...)
	b = append(b, hue...)
	b = append(b, r.Type.Title...)
	b = append(b, t.paint.reset...)
	b = t.appendJoined(r.AppendContents(b), r)
	if r.RequestFrame > 0 {
		if t.o.Below && t.o.Marked {
			b = append(b, ctl, markTail)
		}
		b = append(b, "  "...)
		b = append(b, t.paint.dim...)
		b = append(b, "← "...)
		b = nettext.AppendUint(b, r.RequestFrame)
		if r.Split.Partial {
			b = append(b, " in part"...)
		}
		b = appendRoundTrip(b, r)
		b = append(b, t.paint.reset...)
	}
	if t.o.Below {
		b = append(b, '\n')
	}
	t.buf = b
	if len(r.Findings) > 0 {
		t.findings(r)
	}
	if !t.o.Below {
		t.buf = append(t.buf, '\n')
	}
	switch t.o.Detail {
	case Tree:
		t.nodes(r, t.treeNode)
	case Hex:
		t.nodes(r, t.hexNode)
	}
	return nil
}

// findings writes the findings of a message.
func (t *Text) findings(r *dissect.Record) {
	if !t.o.Below {
		for i := range r.Findings {
			t.findingOf(r, i)
		}
		return
	}
	for better := range dissect.Failed + 1 {
		for i := range r.Findings {
			if r.Findings[i].Type.Severity == dissect.Failed-better {
				t.findingOf(r, i)
			}
		}
	}
}

// findingOf writes finding i of a message, unless an earlier one has its text.
func (t *Text) findingOf(r *dissect.Record, i int) {
	f := &r.Findings[i]
	if f.Type.Severity <= dissect.Chat && t.o.Detail == Line || sameText(r.Findings[:i], f) > 0 {
		return
	}
	head := t.beginFinding(markFinding, foldKey(f, r.Src, r.Dst), 0)
	t.appendFinding(f, head, 1+sameText(r.Findings[i+1:], f))
	if t.o.Below {
		t.buf = append(t.buf, '\n')
	}
	t.endFinding(head)
}

// below is the space before a finding on a line of its own.
const below = "        "

// fit breaks the line from start on if it is too long.
func (t *Text) fit(start, indent int) {
	if t.o.Detail != Line && t.o.Width > 0 && len(t.buf)-start > t.o.Width {
		t.wide = append(t.wide[:0], t.buf[start:]...)
		t.buf = nettext.AppendWrapped(t.buf[:start], t.wide, t.o.Width, indent)
	}
}

// beginFinding begins a finding that may be folded. It returns the place of its mark, -1 if it has none.
func (t *Text) beginFinding(mark byte, key uint64, client uint32) int {
	if !t.o.Marked || t.o.Detail != Line {
		return -1
	}
	head := len(t.buf)
	t.buf = append(t.buf, ctl, mark)
	t.buf = binary.LittleEndian.AppendUint64(t.buf, key)
	t.buf = binary.LittleEndian.AppendUint32(t.buf, client)
	t.buf = append(t.buf, 0, 0, 0)
	return head
}

func (t *Text) endFinding(head int) {
	if head >= 0 {
		binary.LittleEndian.PutUint16(t.buf[head+findingHead-2:], uint16(len(t.buf)-head-findingHead))
	}
}

// sameText counts the findings with the same text as f.
func sameText(findings []dissect.Finding, f *dissect.Finding) (n int) {
	for i := range findings {
		if findings[i].SameText(f) {
			n++
		}
	}
	return n
}

// appendRoundTrip appends the round-trip time of a reply if it is known.
func appendRoundTrip(b []byte, r *dissect.Record) []byte {
	switch {
	case r.TimeKnown && r.RTT < time.Microsecond:
		return append(b, ", less than 1 µs"...)
	case r.TimeKnown:
		return nettext.AppendDuration(append(b, ", "...), r.RTT)
	case r.Ambiguous:
		return append(b, ", ambiguous"...)
	}
	return b
}

// appendJoined describes how the message was joined and decompressed.
func (t *Text) appendJoined(b []byte, r *dissect.Record) []byte {
	if r.Split.Parts > 0 {
		b = append(b, "  ["...)
		if r.Split.Variant != "" {
			b = append(b, r.Split.Variant...)
			b = append(b, ' ')
		}
		b = appendParts(append(b, "split, "...), r)
	} else if len(r.Frames) > 1 {
		what := nettext.Either(r.Protocol.OverTCP(), "  [TCP segments: frames", "  [IP fragments: frames")
		b = append(b, what...)
		b = appendFrames(b, r.Frames)
		b = append(b, ']')
	}
	if r.Compressed {
		b = append(b, "  [bzip2 "...)
		b = nettext.AppendInt(b, int64(r.Packed))
		if r.Verified {
			b = append(b, " → "...)
			b = nettext.AppendInt(b, int64(r.Unpacked))
			b = append(b, " B, CRC ok]"...)
		} else {
			b = append(b, " B]"...)
		}
	}
	return b
}

// appendParts appends the number of parts, the total if some are missing, the frames, and a bracket.
func appendParts(b []byte, r *dissect.Record) []byte {
	n := r.Split.Parts
	b = nettext.AppendInt(b, int64(n))
	if r.Split.Partial && r.Split.Total != 0 {
		n = r.Split.Total
		b = nettext.AppendInt(append(b, " of "...), int64(n))
	}
	b = append(b, nettext.Plural(n, " part", " parts")...)
	if len(r.Frames) > 1 {
		b = appendFrames(append(b, ": frames"...), r.Frames)
	}
	return append(b, ']')
}

// appendFrames appends frame numbers, the first and last ones if there are many.
func appendFrames(b []byte, frames []uint64) []byte {
	for i, f := range frames {
		if len(frames) > 6 && i == 3 {
			b = append(b, " …"...)
		}
		if len(frames) > 6 && i >= 3 && i < len(frames)-1 {
			continue
		}
		b = append(b, ' ')
		b = nettext.AppendUint(b, f)
	}
	return b
}

// Unknown writes a datagram that nothing recognised.
func (t *Text) Unknown(u *dissect.Unknown) error {
	t.prefix(u.Frame, u.Time, u.Src, u.Dst, false, false, "", nil, nil)
	b := nettext.AppendInt(append(t.buf, "  "...), int64(len(u.Payload)))
	b = append(b, nettext.Plural(len(u.Payload), " byte", " bytes")...)
	n := len(b)
	b = append(b, "  "...)
	if b = u.AppendGuess(b); len(b) == n+2 {
		b = b[:n]
	}
	shown := u.Shown(t.o.Secrets)
	if t.o.Detail != Line {
		t.buf = append(b, '\n')
		t.dump(shown)
		return nil
	}
	b = append(b, "  "...)
	head := shown[:min(len(shown), 24)]
	for i, c := range head {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, hexDigits[c>>4], hexDigits[c&15])
	}
	if len(shown) > len(head) {
		b = append(b, " …"...)
	}
	if len(head) > 0 {
		b = append(b, "  |"...)
		b = appendASCII(b, head)
		b = append(b, '|')
	}
	t.buf = append(b, '\n')
	return nil
}

// Finding writes a finding that belongs to no message.
func (t *Text) Finding(f *dissect.FlowFinding) error {
	if f.Type.Severity == dissect.Chat && t.o.Detail == Line {
		return nil
	}
	t.prefix(f.Frame, f.Time, f.Src, f.Dst, f.Reply, f.NoPorts, "", f.Protocol, f.Alternatives)
	key, client := foldKey(&f.Finding, f.Src, f.Dst), uint32(0)
	if f.Protocol != nil && f.Protocol.Unanswered(f.Type) { // whoever asks the server
		key, client = foldKey(&f.Finding, netip.AddrPort{}, f.Dst), uint32(hashEnd(netip.AddrPortFrom(f.Src.Addr(), 0))>>32)
	}
	head := t.beginFinding(markAlone, key, client)
	if t.o.Below {
		t.buf = append(t.buf, '\n')
	}
	t.appendFinding(&f.Finding, head, 1)
	t.buf = append(t.buf, '\n')
	t.endFinding(head)
	return nil
}

// End writes nothing.
func (t *Text) End(*Summary) error { return nil }

// appendFinding writes a finding that is there so many times, and how many bytes name it into its mark.
func (t *Text) appendFinding(f *dissect.Finding, head, times int) {
	start, space := len(t.buf), "  "
	if t.o.Below {
		space = below
	}
	b := append(append(t.buf, space...), t.paint.severities[f.Type.Severity]...)
	b = append(b, severityMarks[f.Type.Severity]...)
	b = append(b, f.Type.ID...)
	if head >= 0 {
		b[head+findingHead-3] = byte(len(b) - head - findingHead)
	}
	b = append(b, ": "...)
	b = nettext.Shorten(f.AppendText(b), len(b), nettext.MaxFinding)
	b = append(b, t.paint.reset...)
	if times > 1 {
		b = nettext.AppendInt(append(b, " ("...), int64(times))
		b = append(b, " times)"...)
	}
	if t.buf = b; t.o.Below {
		t.fit(start, len(below)+2)
	}
}

// prefix writes the start of every line: frame, time, addresses, protocol and
// alternatives. The client comes first, whoever sends: an arrow shows the direction.
func (t *Text) prefix(frame uint64, at time.Time, src, dst netip.AddrPort, reply, noPorts bool, hue string, p *dissect.Protocol, others []*dissect.Protocol) {
	head := len(t.buf)
	if t.o.Marked {
		t.buf = append(t.buf, ctl, markLine, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	}
	from := len(t.buf)
	t.text = nettext.AppendUint(t.text[:0], frame)
	b := appendRight(t.buf, t.text, 6)
	colours := 0
	if !at.IsZero() {
		colours = t.colourBytes
		b = append(b, "  "...)
		b = append(b, t.paint.dim...)
		b = t.appendClock(b, at)
		b = append(b, t.paint.reset...)
	}
	n := len(b) - from
	var m lineMark
	m.set(timeCell, n, n-colours, n-colours)
	if src.IsValid() && dst.IsValid() {
		b = t.appendEnds(b, &m, src, dst, reply, noPorts, hue)
	}
	b = t.appendProtocol(b, &m, p, others)
	if t.o.Marked {
		m.put(b[head:])
	}
	t.buf = b
}

// appendEnds appends the addresses of the client and the server, with the arrow between
// them.
func (t *Text) appendEnds(b []byte, m *lineMark, src, dst netip.AddrPort, reply, noPorts bool, hue string) []byte {
	arrow := "→ "
	if reply {
		src, dst, arrow = dst, src, "← "
	}
	left, right, _ := t.flows.ends(src, dst, false)
	if noPorts {
		left = nettext.AppendAddr(t.text[:0], src.Addr())
		t.text = nettext.AppendAddr(left, dst.Addr())
		right = t.text[len(left):]
	}
	from := len(b)
	b = append(b, "  "...)
	b = append(b, left...)
	b = t.endCell(b, m, leftCell, from, 0)
	from = len(b)
	b = append(b, ' ')
	if hue == "" {
		b = append(b, arrow...)
	} else {
		b = append(append(append(b, hue...), arrow...), t.paint.reset...)
	}
	colours := len(b) - from - len(" > ")
	return t.endCell(append(b, right...), m, rightCell, from, colours)
}

// endCell ends a cell that begins at from and has so many bytes of colours, and fills its column.
func (t *Text) endCell(b []byte, m *lineMark, cell, from, colours int) []byte {
	n, w := len(b)-from-colours, t.widths[cell]
	if n > w {
		w = t.grow(cell, n)
	}
	m.set(cell, n+colours, n, w)
	return pad(b, w-n)
}

// appendProtocol appends the protocol and its alternatives.
func (t *Text) appendProtocol(b []byte, m *lineMark, p *dissect.Protocol, others []*dissect.Protocol) []byte {
	from := len(b)
	b = append(b, "  "...)
	if p == nil {
		b = append(b, '?')
	} else {
		b = append(b, p.Catalog.Upper()...)
	}
	n := len(b) - from
	if len(others) > 0 || n > widestProtocol {
		for _, o := range others {
			b = append(b, " or "...)
			b = append(b, o.Catalog.Upper()...)
		}
		if n = len(b) - from; n < overflows {
			m.set(protocolCell, n, n|overflows, n|overflows) // the column does not grow for this
		}
		return b
	}
	return t.endCell(b, m, protocolCell, from, 0)
}

func appendRight(b, s []byte, width int) []byte {
	return append(pad(b, max(width-len(s), 0)), s...)
}

func (t *Text) appendClock(b []byte, at time.Time) []byte {
	switch t.o.Clock {
	case Absolute:
		return t.appendTime(b, at, "15:04:05.000000")
	case Date:
		return t.appendTime(b, at, "2006-01-02 15:04:05.000000")
	case Epoch:
		b = nettext.AppendInt(b, at.Unix())
		return at.UTC().AppendFormat(b, ".000000")
	}
	if t.start.IsZero() {
		t.start = at
	}
	from := t.start
	if t.o.Clock == Delta {
		if from = t.last; from.IsZero() {
			from = at
		}
		t.last = at
	}
	us := int64(since(from, at).Round(time.Microsecond) / time.Microsecond)
	text := t.text[:0]
	if us < 0 {
		text = append(text, '-')
		us = -us
	}
	text = nettext.AppendUint(text, uint64(us/1e6))
	n := uint32(us % 1e6)
	t.text = nettext.AppendDigits(append(text, '.', byte('0'+n/1e5), byte('0'+n/1e4%10)), n%1e4)
	return appendRight(b, t.text, 9)
}

func (t *Text) appendTime(b []byte, at time.Time, layout string) []byte {
	if t.o.Zone == nil {
		return at.UTC().AppendFormat(b, layout)
	}
	at = at.In(t.o.Zone)
	return at.AppendFormat(append(at.AppendFormat(b, layout), ' '), "MST")
}

// since returns the time from one time to another. Sub costs a hundred instructions.
func since(from, at time.Time) time.Duration {
	if s := at.Unix() - from.Unix(); s > -1e9 && s < 1e9 {
		return time.Duration(s*1e9 + int64(at.Nanosecond()-from.Nanosecond()))
	}
	return at.Sub(from)
}

// A hiding decides which bytes of a message are masked.
type hiding struct {
	off bool
	// made is the last source that was made of others, by joining or unfolding;
	// those before it carry it. carriers are those that carry a secret so.
	made, carriers int
	foreign        *dissect.Foreign
}

// begin finds the sources that carry a secret of a later source in pieces or
// compressed, where its position is unknown.
func (h *hiding) begin(r *dissect.Record) {
	h.made, h.carriers, h.foreign = 0, 0, r.Foreign
	for i := 1; i < len(r.Sources); i++ {
		if r.Sources[i].Frame == 0 {
			h.made = i
		}
	}
	if h.off || h.made == 0 {
		return
	}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		s := int(n.Source)
		if s <= h.carriers || r.Sources[s].Frame != 0 || n.Field.Kind.Container() || n.Len == 0 {
			continue
		}
		raw := n.Bytes(r.Sources[s].Data)
		if n.Field.Secret || n.Field.Kind == dissect.Bytes && &r.Foreign.Shown(raw)[0] != &raw[0] {
			h.carriers = s
		}
	}
}

// all reports whether all bytes of a node are masked.
func (h *hiding) all(n *dissect.Node) bool {
	return !h.off && (n.Field.Secret || carries(n) && int(n.Source) < h.carriers)
}

// shown returns the bytes of a node with possible passwords masked in undecoded
// bytes. Bytes that carry a message of another source are masked there.
func (h *hiding) shown(n *dissect.Node, raw []byte) []byte {
	if n.Field.Kind != dissect.Bytes || carries(n) && int(n.Source) < h.made || h.off {
		return raw
	}
	return h.foreign.Shown(raw)
}

// carries reports whether a node may hold a piece of a message.
func carries(n *dissect.Node) bool { return n.Field.Kind == dissect.Bytes && n.Field.Framing }

// nodes writes the fields of a message, under the names of their sources.
func (t *Text) nodes(r *dissect.Record, write func(n *dissect.Node, data []byte)) {
	t.hides.begin(r)
	source := -1
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if int(n.Source) != source {
			source = int(n.Source)
			t.sourceLine(&r.Sources[source])
		}
		write(n, r.Sources[source].Data)
	}
	t.buf = append(t.buf, '\n')
}

// treeNode writes a field with offset, length and bytes.
func (t *Text) treeNode(n *dissect.Node, data []byte) {
	const (
		shown   = 8
		columns = 10 + 6 + 2 + 3*shown + 2 // of offset, length and bytes
	)
	t.text = nettext.AppendUint(t.text[:0], uint64(n.Off))
	start := len(t.buf)
	b := appendRight(t.buf, t.text, 10)
	t.text = nettext.AppendUint(t.text[:0], uint64(n.Len))
	b = appendRight(b, t.text, 6)
	b = append(b, "  "...)
	b = append(b, t.paint.dim...)
	var raw []byte
	if !n.Field.Kind.Container() {
		raw = t.hides.shown(n, n.Bytes(data))
	}
	for k := range shown {
		switch {
		case k < len(raw) && t.hides.all(n):
			b = append(b, "** "...)
		case k < len(raw):
			b = append(b, hexDigits[raw[k]>>4], hexDigits[raw[k]&15], ' ')
		default:
			b = append(b, "   "...)
		}
	}
	b = append(b, nettext.Either(len(raw) > shown, "… ", "  ")...)
	b = append(b, t.paint.reset...)
	t.buf = t.appendNode(b, n, data, 0)
	t.fit(start, columns+2*int(n.Depth)+2)
	t.buf = append(t.buf, '\n')
}

func (t *Text) sourceLine(s *dissect.Source) {
	b := append(t.buf, "     "...)
	b = append(b, t.paint.roles[dissect.OneWay]...)
	b = append(b, s.Name...)
	if s.Frame > 0 {
		b = append(b, " of frame "...)
		b = nettext.AppendUint(b, s.Frame)
	}
	b = append(b, ", "...)
	b = nettext.AppendInt(b, int64(len(s.Data)))
	b = append(b, nettext.Plural(len(s.Data), " byte", " bytes")...)
	b = append(b, t.paint.reset...)
	t.buf = append(b, '\n')
}

// appendNode writes the name and the value of a field, indented by its depth.
func (t *Text) appendNode(b []byte, n *dissect.Node, data []byte, indent int) []byte {
	b = append(pad(b, int(n.Depth)*2+indent), n.Field.Key()...)
	if n.Field.Kind.Container() {
		return b
	}
	b = append(b, ": "...)
	return t.appendValue(b, n, data)
}

// maxShown is the number of bytes of a value on a line.
const maxShown = 160

func (t *Text) appendValue(b []byte, n *dissect.Node, data []byte) []byte {
	f := n.Field
	v := n.Value(data)
	if f.Secret && !t.o.Secrets {
		return append(b, "***"...)
	}
	switch f.Kind {
	case dissect.Uint, dissect.ID:
		b = nettext.AppendUint(b, n.Num)
		if len(f.Bits) > 0 {
			return appendBits(b, f, n.Num)
		}
	case dissect.Int:
		b = nettext.AppendInt(b, n.Int())
	case dissect.Bool:
		b = strconv.AppendBool(b, n.Num != 0)
		if n.Num > 1 {
			b = append(b, " ("...)
			b = nettext.AppendUint(b, n.Num)
			b = append(b, ')')
		}
	case dissect.Float:
		b = appendFloat(b, n.Float(), n.Len)
	case dissect.Char:
		if n.Num >= 0x20 && n.Num < 0x7f {
			b = append(b, '\'', byte(n.Num), '\'')
		} else {
			b = append(b, '0', 'x', hexDigits[n.Num>>4&15], hexDigits[n.Num&15])
		}
	case dissect.Endpoint:
		b = nettext.AppendAddrPort(b, n.Endpoint(data))
	case dissect.String, dissect.Decimal:
		v, style := n.Text(t.wide[:0], data), n.Style()
		if n.Wide {
			t.wide = v
		}
		cut := nettext.Cut(v, maxShown)
		b = dissect.AppendQuoted(b, nettext.View(cut), f.Charset, dissect.NoStyle)
		if len(cut) < len(v) {
			b = append(b, " …"...)
		}
		if style.HasCodes(cut) {
			b = append(b, "  "...)
			b = core.AppendText(b, nettext.View(cut), f.Charset, style)
		}
	default:
		b = nettext.AppendInt(b, int64(len(v)))
		b = append(b, nettext.Plural(len(v), " byte", " bytes")...)
	}
	if name := f.NameOf(n.Num); len(f.Names) > 0 && name != "" {
		b = append(b, " ("...)
		b = append(b, name...)
		b = append(b, ')')
	}
	return b
}

func appendBits(b []byte, f *dissect.Field, v uint64) []byte {
	b = append(b, " (0x"...)
	b = strconv.AppendUint(b, v, 16)
	for _, bit := range f.Bits {
		if v&bit.Value != 0 {
			b = append(b, ", "...)
			b = append(b, bit.Name...)
		}
	}
	return append(b, ')')
}

// row is the number of bytes in a row of a hex dump, hexColumns that of its columns.
const (
	row        = 16
	hexColumns = len("  000000  ") + 3*row + row + len("||")
)

// leastBeside is the least room for fields beside their bytes.
const leastBeside = 24

// hexNode writes the bytes of a leaf in their columns, and the field beside
// them, or above them if there is no room.
func (t *Text) hexNode(n *dissect.Node, data []byte) {
	above, empty := t.o.Width > 0 && t.o.Width < hexColumns+leastBeside, n.Field.Kind.Container() || n.Len == 0
	if above || empty {
		start, margin := len(t.buf), hexColumns+2
		if above {
			margin = 2
		}
		t.buf = t.appendNode(t.buf, n, data, margin)
		t.fit(start, margin+2*int(n.Depth)+2)
		t.buf = append(t.buf, '\n')
	}
	if empty {
		return
	}
	hide := t.hides.all(n)
	end := int(n.Off + n.Len)
	if raw := n.Bytes(data); !hide {
		if masked := t.hides.shown(n, raw); &masked[0] != &raw[0] {
			data = append([]byte(nil), data...)
			copy(data[n.Off:], masked)
		}
	}
	for at := int(n.Off) / row * row; at < end; at += row {
		start := len(t.buf)
		t.buf = t.appendRow(t.buf, data, at, max(at, int(n.Off)), min(at+row, end), hide)
		if at <= int(n.Off) && !above {
			t.buf = t.appendNode(t.buf, n, data, 2)
			t.fit(start, hexColumns+2*int(n.Depth)+4)
		}
		t.buf = append(t.buf, '\n')
	}
}

// appendRow writes the bytes from lo to hi in the columns of the row at at.
func (t *Text) appendRow(b, data []byte, at, lo, hi int, hide bool) []byte {
	b = append(b, "  "...)
	b = append(b, t.paint.dim...)
	for shift := 20; shift >= 0; shift -= 4 {
		b = append(b, hexDigits[at>>shift&15])
	}
	b = append(b, t.paint.reset...)
	b = append(b, "  "...)
	for k := at; k < at+row; k++ {
		switch {
		case k < lo || k >= hi:
			b = append(b, "   "...)
		case hide:
			b = append(b, "** "...)
		default:
			b = append(b, hexDigits[data[k]>>4], hexDigits[data[k]&15], ' ')
		}
	}
	b = append(b, '|')
	for k := at; k < at+row; k++ {
		switch {
		case k < lo || k >= hi:
			b = append(b, ' ')
		case hide:
			b = append(b, '*')
		default:
			b = appendASCII(b, data[k:k+1])
		}
	}
	return append(b, '|')
}

func (t *Text) dump(data []byte) {
	for at := 0; at < len(data); at += row {
		t.buf = t.appendRow(t.buf, data, at, at, min(at+row, len(data)), false)
		t.buf = append(t.buf, '\n')
	}
	t.buf = append(t.buf, '\n')
}

func appendASCII(b, s []byte) []byte {
	for _, c := range s {
		if c < 0x20 || c >= 0x7f {
			c = '.'
		}
		b = append(b, c)
	}
	return b
}
