package display

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/envelope"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/report"
)

// A Column is a name whose values are written.
type Column struct {
	name  string
	reads []read
}

// CompileColumn compiles a name of the expressions. The error is an [*Error].
func CompileColumn(text string) (*Column, error) {
	p := &parser{text: text, names: dictionary{}}
	if err := p.lex(); err != nil {
		return nil, err
	}
	t := p.next()
	if t.kind != word || p.peek().kind != end {
		return nil, p.fail(t, "one name expected, such as server.name")
	}
	n, why := p.names.resolve(t.text)
	if why != "" {
		return nil, p.fail(t, "%s", why)
	}
	return &Column{t.text, columnReads(n.reads)}, nil
}

// columnReads leaves out that a list exists where its elements are read, and elements that
// are read several times because their type is not known.
func columnReads(reads []read) (list []read) {
	elements := false
	for _, r := range reads {
		n, ok := r.source.(*nodes)
		if r.class == whole || ok && n.elements && elements {
			continue
		}
		elements = elements || ok && n.elements
		list = append(list, r)
	}
	return nettext.Either(len(list) == 0, reads[:1], list)
}

// NeedsTree reports whether the column reads fields of messages.
func (c *Column) NeedsTree() bool {
	return slices.ContainsFunc(c.reads, func(r read) bool { return r.nodes })
}

// ofFindings reports whether findings that belong to no message are wanted.
func (c *Column) ofFindings() bool {
	name, _, _ := strings.Cut(c.name, ".")
	switch name {
	case "finding", "findings", "severity", "type":
		return true
	}
	k := envelope.Lookup(name)
	return k != nil && k.In == envelope.Finding
}

// RowOptions configure [NewRows].
type RowOptions struct {
	// CSV separates by commas and quotes, as RFC 4180. Otherwise, tabs separate.
	CSV bool
	// Raw leaves texts in CSV as they are. Otherwise, one that a spreadsheet would take for a formula begins with an apostrophe.
	Raw bool
	// Header writes the names first.
	Header bool
	// Secrets shows passwords instead of ***.
	Secrets bool
}

// NewRows returns a reporter that writes a row for each message: the values of columns,
// several of one joined by commas. Findings that belong to no message have rows if a
// column is about findings. Control characters and backslashes are escaped.
func NewRows(columns []*Column, o RowOptions) report.Reporter {
	r := &rows{columns: columns, o: o, m: Matcher{secrets: o.Secrets}}
	for _, c := range columns {
		r.findings = r.findings || c.ofFindings()
	}
	return r
}

type rows struct {
	columns  []*Column
	o        RowOptions
	findings bool
	m        Matcher
	buf      []byte
	cell     gather
}

// gather collects the values of one cell.
type gather struct {
	b     []byte
	n     int
	texts bool // the first value is a text
	raw   []byte
}

func (r *rows) Begin(c report.Capture) error {
	if !r.o.Header || c.Number > 0 {
		return nil
	}
	for i, c := range r.columns {
		r.separate(i)
		r.write([]byte(c.name))
	}
	r.buf = append(r.buf, '\n')
	return nil
}

func (r *rows) Record(rec *dissect.Record) error {
	r.m.record, r.m.unknown, r.m.finding = rec, nil, nil
	return r.row()
}

func (r *rows) Unknown(u *dissect.Unknown) error {
	r.m.record, r.m.unknown, r.m.finding = nil, u, nil
	return r.row()
}

func (r *rows) Finding(f *dissect.FlowFinding) error {
	if !r.findings {
		return nil
	}
	r.m.record, r.m.unknown, r.m.finding = nil, nil, f
	return r.row()
}

func (r *rows) End(*report.Summary) error { return nil }

func (r *rows) Bytes() []byte { return r.buf }

func (r *rows) Reset() { r.buf = r.buf[:0] }

func (r *rows) separate(i int) {
	switch {
	case i == 0:
	case r.o.CSV:
		r.buf = append(r.buf, ',')
	default:
		r.buf = append(r.buf, '\t')
	}
}

func (r *rows) row() error {
	for i, c := range r.columns {
		r.separate(i)
		r.cell.b, r.cell.n, r.cell.texts = r.cell.b[:0], 0, false
		for k := range c.reads {
			q := &c.reads[k]
			r.m.there, r.m.fits = false, false
			q.read(&r.m, &cond{into: &r.cell})
		}
		if r.o.CSV && !r.o.Raw && r.cell.texts && formula(r.cell.b) {
			r.cell.b = slices.Insert(r.cell.b, 0, '\'')
		}
		r.write(r.cell.b)
	}
	r.buf = append(r.buf, '\n')
	return nil
}

// formula reports whether a spreadsheet would take a text for a formula. A tab, which some skip, is escaped. Numbers are none.
func formula(cell []byte) bool {
	if c, _ := utf8.DecodeRune(cell); !strings.ContainsRune("=+-@＝＋－＠", c) && !bytes.HasPrefix(cell, []byte(`\t`)) {
		return false
	}
	_, err := strconv.ParseFloat(string(cell), 64)
	return err != nil
}

// write writes a cell.
func (r *rows) write(cell []byte) {
	if r.o.CSV && bytes.ContainsAny(cell, "\",") {
		cell = fmt.Appendf(nil, `"%s"`, bytes.ReplaceAll(cell, []byte(`"`), []byte(`""`)))
	}
	r.buf = append(r.buf, cell...)
}

// take adds a value.
func (g *gather) take(v *value) {
	if g.n++; g.n > 1 {
		g.b = append(g.b, ',')
	}
	g.texts = g.texts || g.n == 1 && v.kind != aNumber && v.kind != aFlag
	g.raw = v.append(g.raw[:0])
	g.b = nettext.AppendSafe(g.b, g.raw)
}
