package report

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strconv"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/nettext"
)

// Columns is a writer for the output of a [Text] with [TextOptions.Marked]: it aligns the columns, cuts lines
// and folds findings that repeat. It stands after the place where the output of several reporters is merged,
// because all three depend on the lines before.
type Columns struct {
	w      io.Writer
	o      ColumnOptions
	widths [cells]int
	now    uint32 // widths as a mark has them
	out    []byte
	line   int              // start of the current line in out
	tail   int              // start of its end, which is not cut; its own start if it has none
	head   []byte           // the current line as it came
	folds  map[uint64]*fold // by the key of the finding
	kept   []byte           // scratch
	order  uint64
	err    error
}

// ColumnOptions configure a Columns.
type ColumnOptions struct {
	// Width is the number of columns of a line; 0 leaves lines whole.
	Width int
	// Wrap breaks longer lines instead of cutting them.
	Wrap bool
	// Fold leaves out the findings of a conversation that repeat, and requests of a server that get no reply, whoever asks, and
	// counts them in a line at the end.
	Fold bool
}

// NewColumns returns a writer that writes to w.
func NewColumns(w io.Writer, o ColumnOptions) *Columns {
	c := &Columns{w: w, o: o, folds: make(map[uint64]*fold)}
	if o.Width == 0 || o.Width >= roomy {
		c.widths = leastWidths
	}
	return c
}

// leastWidths are the first widths of the columns: enough for all IPv4 addresses.
var leastWidths = [cells]int{leftCell: len("  255.255.255.255:65535"), rightCell: len(" > 255.255.255.255:65535")}

const (
	// roomy is the width of a terminal that has room for leastWidths.
	roomy = 140
	// widestProtocol is the width up to which the column of protocols grows. The few longer names would push the contents of
	// all later lines to the right.
	widestProtocol = len("  QUAKEWORLD")
	// leastContents is the least room for the contents of a message that has an uncut end.
	leastContents = 16
)

// The columns of a line. Each includes the space before it.
const (
	timeCell  = iota // frame and time, aligned to the right
	leftCell         // the client
	rightCell        // the direction and the server
	protocolCell
	cells
)

// The marks in the output of a marked Text are ctl and one of these. Text from the network has no ctl.
const (
	ctl = 0x1f
	// markLine begins a line. For each cell a byte follows with its bytes, then with its columns, then with the columns to
	// which it is padded; then the cells. A reporter pads as far as it knows; it may know of fewer lines or of later ones.
	markLine = 'L'
	// markTail begins the end of a line, which is not cut.
	markTail = 'T'
	// markFinding comes before a finding of a message, markAlone before one that is a line of its own. A key of eight bytes, four of
	// the client if the key is of all clients, the number of bytes that name the finding, one byte, and the number of all its bytes,
	// two, follow.
	markFinding, markAlone = 'F', 'A'
	// markInput begins an input.
	markInput = 'I'

	bytesAt     = 2
	columnsAt   = bytesAt + cells
	paddedAt    = columnsAt + cells
	lineHead    = paddedAt + cells
	clientAt    = 2 + 8
	nameAt      = clientAt + 4
	findingHead = nameAt + 1 + 2
)

// A lineMark holds the numbers of a markLine, a byte for each cell.
type lineMark struct{ bytes, columns, padded uint32 }

func (m *lineMark) set(cell, bytes, columns, padded int) {
	m.bytes |= uint32(uint8(bytes)) << (8 * cell)
	m.columns |= uint32(uint8(columns)) << (8 * cell)
	m.padded |= uint32(uint8(padded)) << (8 * cell)
}

func (m *lineMark) put(b []byte) {
	binary.LittleEndian.PutUint32(b[bytesAt:], m.bytes)
	binary.LittleEndian.PutUint32(b[columnsAt:], m.columns)
	binary.LittleEndian.PutUint32(b[paddedAt:], m.padded)
}

// grow returns the width of a column with a cell that is wider than those before.
func (t *Text) grow(cell, columns int) int {
	if t.o.Marked {
		t.widths[cell] = columns
	}
	return columns
}

// pad appends n spaces.
func pad(b []byte, n int) []byte {
	for ; n > 0; n -= 16 {
		b = append(b, "                "...)
	}
	return b[:len(b)+n]
}

// Write takes whole lines.
func (c *Columns) Write(p []byte) (int, error) {
	n := len(p)
	c.line, c.tail = 0, 0
	for {
		i := bytes.IndexByte(p, ctl)
		if i < 0 {
			i = len(p)
		}
		c.text(p[:i])
		if p = p[i:]; len(p) < 2 {
			break
		}
		switch p[1] {
		case markLine:
			if len(c.folds) >= maxFolds {
				c.forget()
			}
			if c.head, c.line = p, len(c.out); binary.LittleEndian.Uint32(p[paddedAt:]) == c.now {
				p = p[lineHead:] // all cells are padded to the widths of the columns
			} else {
				p = c.begin(p)
			}
		case markFinding, markAlone:
			p = c.finding(p)
		case markTail:
			c.tail = len(c.out)
			p = p[2:]
		default:
			c.unfold()
			p = p[2:]
		}
	}
	return n, c.flush()
}

func (c *Columns) flush() error {
	if len(c.out) > 0 && c.err == nil {
		_, c.err = c.w.Write(c.out)
	}
	c.out = c.out[:0]
	return c.err
}

// Close writes what is still to be said of folded findings. It does not close the writer.
func (c *Columns) Close() error {
	c.unfold()
	return c.flush()
}

// text appends text that has no marks.
func (c *Columns) text(p []byte) {
	if c.o.Width == 0 {
		c.out = append(c.out, p...)
		return
	}
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			c.out = append(c.out, p...)
			return
		}
		c.out = append(c.out, p[:i]...)
		c.cut()
		c.out = append(c.out, '\n')
		c.line, c.tail = len(c.out), len(c.out)
		p = p[i+1:]
	}
}

// begin writes the cells of a line and returns what follows. A column grows when a cell is wider, and never shrinks.
func (c *Columns) begin(p []byte) []byte {
	head, rest := p[:lineHead], p[lineHead:]
	for i := range cells {
		n, columns, padded := int(head[bytesAt+i]), int(head[columnsAt+i]), int(head[paddedAt+i])
		cell := rest[:n]
		rest = rest[n+padded-columns:]
		if n == 0 {
			continue
		}
		room := c.widths[i] - columns
		if room < 0 {
			room = c.grow(i, columns)
		}
		switch {
		case room < 0:
			c.out = append(c.out, shorten(cell, -room)...)
		case i == timeCell: // which is aligned to the right
			c.out = append(pad(c.out, room), cell...)
		default:
			c.out = pad(append(c.out, cell...), room)
		}
	}
	return rest
}

// grow grows a column for a cell. If the cell is too wide for the terminal, it returns by how much, negative.
func (c *Columns) grow(cell, columns int) (pad int) {
	if columns&overflows != 0 {
		return max(0, c.widths[cell]-columns&^overflows)
	}
	c.widths[cell] = min(columns, c.most(cell))
	c.now = 0
	for i, w := range c.widths {
		c.now |= uint32(w) << (8 * i)
	}
	return c.widths[cell] - columns
}

// columns returns the mark and the cells of the current line.
func (c *Columns) columns() []byte {
	n := lineHead
	for i := range cells {
		n += int(c.head[bytesAt+i]) + int(c.head[paddedAt+i]) - int(c.head[columnsAt+i])
	}
	return c.head[:n]
}

// overflows marks the width of a cell for which the column does not grow.
const overflows = 0x80

// most returns the greatest width of a column. On narrow terminals, long addresses are shortened.
func (c *Columns) most(cell int) int {
	return nettext.Either(c.o.Width == 0 || cell != leftCell && cell != rightCell, overflows-1, min(max(leastWidths[cell], leastWidths[cell]+(c.o.Width-roomy)/2), overflows-1))
}

// shorten replaces the middle of an address, to make it less columns shorter.
func shorten(cell []byte, less int) []byte {
	runes := []rune(string(cell))
	end := len(runes) - len("1:1]:65535")
	return []byte(string(runes[:end-less-1]) + "…" + string(runes[end:]))
}

// cut cuts or breaks the current line. It cuts before its tail if there is room for more than that.
func (c *Columns) cut() {
	line := c.out[c.line:]
	if len(line) <= c.o.Width || columnsOf(line) <= c.o.Width {
		return
	}
	if c.o.Wrap {
		c.kept = append(c.kept[:0], line...)
		c.out = nettext.AppendWrapped(c.out[:c.line], c.kept, c.o.Width, len(below))
		return
	}
	room := c.o.Width - 1
	c.kept = c.kept[:0]
	tail := c.out[c.tail:]
	if n := room - columnsOf(tail); n >= c.widths[timeCell]+c.widths[leftCell]+c.widths[rightCell]+c.widths[protocolCell]+leastContents {
		room = n
		c.kept = append(c.kept, tail...)
	}
	at, colours := within(line, room)
	c.out = append(c.out[:c.line+at], "…"...)
	if colours {
		c.out = append(c.out, colors.reset...)
	}
	c.out = append(c.out, c.kept...)
}

// within returns the number of bytes that fit into room columns, and whether they change colours.
func within(line []byte, room int) (at int, colours bool) {
	for at < len(line) {
		n, columns := nettext.Next(line[at:])
		if columns > room {
			break
		}
		colours = colours || line[at] == 0x1b
		room -= columns
		at += n
	}
	return at, colours
}

// columnsOf returns the number of columns of a line on a terminal.
func columnsOf(line []byte) (columns int) {
	for len(line) > 0 {
		n, w := nettext.Next(line)
		columns += w
		line = line[n:]
	}
	return columns
}

// A fold counts a finding that repeats in a conversation.
type fold struct {
	shown  int
	folded uint64
	order  uint64 // of the last folded one
	line   []byte // its columns
	name   []byte
	by     []uint32 // clients of the folded ones, if the key is of all
}

const (
	// maxFolds is the number of findings, but for those of a line, whose repetitions are counted at a time.
	maxFolds = 4096
	// foldAfter is how often a finding of a conversation is shown.
	foldAfter = 3
	// maxFoldedClients is how many clients of a fold are told apart.
	maxFoldedClients = 16
)

// finding appends a finding, or counts it if it has been shown often enough.
func (c *Columns) finding(p []byte) []byte {
	alone := p[1] == markAlone
	key := binary.LittleEndian.Uint64(p[2:])
	client := binary.LittleEndian.Uint32(p[clientAt:])
	name, n, text := int(p[nameAt]), int(binary.LittleEndian.Uint16(p[nameAt+1:])), p[findingHead:]
	text, p = text[:n], text[n:]
	if !c.o.Fold {
		c.show(text)
		return p
	}
	f := c.folds[key]
	if f == nil {
		f = new(fold)
		c.folds[key] = f
	}
	if f.shown < foldAfter {
		f.shown++
		c.show(text)
		return p
	}
	c.order++
	f.folded++
	f.order = c.order
	if len(f.by) <= maxFoldedClients && !slices.Contains(f.by, client) {
		f.by = append(f.by, client)
	}
	f.line = append(f.line[:0], c.columns()...)
	f.name = append(f.name[:0], bytes.TrimLeft(text[:name], " \n")...)
	if alone {
		c.out = c.out[:c.line]
	}
	return p
}

// forget makes room for other findings: those that did not repeat go, or all.
func (c *Columns) forget() {
	maps.DeleteFunc(c.folds, func(_ uint64, f *fold) bool { return f.folded == 0 })
	if len(c.folds) > maxFolds/2 {
		c.unfold()
	}
}

// show appends the text of a finding.
func (c *Columns) show(text []byte) {
	if text[0] == '\n' {
		c.out = bytes.TrimRight(c.out, " ")
	}
	c.text(text)
}

// unfold writes the lines about folded findings in the order of the last ones, and forgets them.
func (c *Columns) unfold() {
	for _, f := range slices.SortedFunc(maps.Values(c.folds), func(a, b *fold) int { return cmp.Compare(a.order, b.order) }) {
		if f.folded > 0 {
			c.write(f)
		}
	}
	clear(c.folds)
}

// write writes a line about folded findings.
func (c *Columns) write(f *fold) {
	c.line, c.tail = len(c.out), len(c.out)
	c.begin(f.line)
	b := c.kept[:0]
	if c.o.Width > 0 {
		c.out = bytes.TrimRight(c.out, " ")
		b = append(append(b, '\n'), below...)
	} else {
		b = append(b, "  "...)
	}
	b = append(b, f.name...)
	b = append(b, ": … "...)
	b = appendGrouped(b, f.folded)
	b = append(b, " more like this"...)
	switch n := len(f.by); {
	case n > maxFoldedClients:
		b = append(b, ", of many clients"...)
	case n > 1:
		b = append(strconv.AppendInt(append(b, ", of "...), int64(n), 10), " clients"...)
	}
	if bytes.IndexByte(f.name, 0x1b) >= 0 {
		b = append(b, colors.reset...)
	}
	c.kept = b
	c.text(append(bytes.Clone(b), '\n'))
}

// appendGrouped appends a number with commas between thousands.
func appendGrouped(b []byte, n uint64) []byte {
	if n >= 1000 {
		b = append(appendGrouped(b, n/1000), ',')
		return append(b, byte('0'+n/100%10), byte('0'+n/10%10), byte('0'+n%10))
	}
	return strconv.AppendUint(b, n, 10)
}

// foldKey returns the key of a finding of a conversation.
func foldKey(f *dissect.Finding, src, dst netip.AddrPort) uint64 {
	h := hashEnd(src) + hashEnd(dst)
	h = hashText(h, f.Type.ID)
	if f.Field != nil {
		h = hashText(h, f.Field.Path)
	}
	return h
}

func hashText(h uint64, s string) uint64 {
	b := nettext.Bytes(s)
	for ; len(b) > 8; b = b[8:] {
		h = (h ^ binary.LittleEndian.Uint64(b)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	for _, c := range b {
		h = h<<5 - h + uint64(c)
	}
	return h * 0x9e3779b97f4a7c15
}
