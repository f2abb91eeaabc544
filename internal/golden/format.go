package golden

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/qdissect/qdissect/internal/nettext"
)

// A Case is one comparison with its result.
type Case struct {
	// Name is the path of the capture, or of both.
	Name string
	// File is the golden, at which annotations are shown.
	File string
	// Result is nil if nothing could be compared; then Problem is the reason.
	Result  *Result
	Problem error
	// Failed says that the problem is a failure of the test, such as a missing golden, not
	// an error of the environment.
	Failed bool
}

// equal reports whether the comparison found no difference.
func (c *Case) equal() bool { return c.Problem == nil && c.Result != nil && c.Result.Equal() }

// title returns the result of a case in one line.
func (c *Case) title() string {
	switch {
	case c.Problem != nil:
		// Errors of files begin with the file name, which the case has already.
		return safe(strings.TrimPrefix(problemText(c.Problem), c.Name+": "))
	case c.Result == nil || c.Result.Equal():
		return "equal"
	}
	return nettext.Count(c.Result.Count, "difference")
}

// problemText returns the text of an error, without operation and path.
func problemText(err error) string {
	if path, ok := err.(*fs.PathError); ok {
		err = path.Err
	}
	return err.Error()
}

// A Format writes cases.
type Format interface {
	// Case writes one case.
	Case(c *Case) error
	// End writes the end of the output. footer is a line about all cases.
	End(footer string) error
}

// Formats are the names of all formats.
var Formats = []string{"text", "json", "junit", "github"}

// FormatOptions configure formats.
type FormatOptions struct {
	// Command is the name of the comparison: "qdissect check".
	Command string
	// Root is the absolute folder to which the format github makes paths relative; ""
	// leaves paths unchanged.
	Root string
}

// NewFormat returns the format of that name.
func NewFormat(name string, w io.Writer, o FormatOptions) (Format, error) {
	switch name {
	case "text":
		return &textFormat{w}, nil
	case "json":
		return &jsonFormat{w: w, doc: jsonDocument{Schema: JSONSchema, Command: o.Command, Cases: []jsonCase{}}}, nil
	case "junit":
		return &junitFormat{w: w, suite: junitSuite{Name: o.Command}}, nil
	case "github":
		return &githubFormat{textFormat{w}, o}, nil
	}
	return nil, fmt.Errorf("unknown format %q; use %s or %s", name, strings.Join(Formats[:len(Formats)-1], ", "), Formats[len(Formats)-1])
}

// AppendText appends the differences as text, each message followed by its fields. Every
// line begins with indent.
func (r *Result) AppendText(b []byte, indent string) []byte {
	for _, d := range r.Differences {
		m := d.Message()
		b = append(b, indent...)
		if d.Kind != Changed {
			b = fmt.Appendf(b, "%v: ", d.Kind)
		}
		b = append(b, d.name()...)
		if m.Src != "" {
			b = fmt.Appendf(b, "  %s > %s", short(m.Src), short(m.Dst))
		}
		if d.Kind != Changed && m.Summary != "" {
			b = fmt.Appendf(b, "  %s", clipped(m.Summary))
		}
		if d.More > 0 {
			b = fmt.Appendf(b, ", and %d %s", d.More, nettext.Plural(d.More, "more message of its conversation", "more of its conversation"))
		}
		b = append(b, '\n')
		for _, f := range d.Fields {
			b = fmt.Appendf(b, "%s  %s: %s → %s\n", indent, f.place(), cmp.Or(f.From, "absent"), cmp.Or(f.To, "absent"))
		}
	}
	if more := r.Count - r.shown; more > 0 {
		b = fmt.Appendf(b, "%s… %s\n", indent, nettext.Count(more, "more difference"))
	}
	return b
}

// place returns the path of the field with its explanation.
func (f *Field) place() string {
	return nettext.Either(f.Of == "", f.Path, f.Path+" ("+f.Of+")")
}

// textFormat is for people.
type textFormat struct{ w io.Writer }

func (f *textFormat) Case(c *Case) error {
	if c.equal() || c.Problem != nil && !c.Failed {
		return nil // trouble goes to standard error
	}
	b := fmt.Appendf(nil, "%s: %s\n", safe(c.Name), c.title())
	if c.Result != nil {
		b = c.Result.AppendText(b, "  ")
	}
	_, err := f.w.Write(b)
	return err
}

func (f *textFormat) End(footer string) error {
	_, err := fmt.Fprintln(f.w, footer)
	return err
}

// junitFormat is the XML of JUnit that most test reports read.
type junitFormat struct {
	w     io.Writer
	suite junitSuite
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitProblem `xml:"failure"`
	Error   *junitProblem `xml:"error"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",cdata"`
}

func (f *junitFormat) Case(c *Case) error {
	dir, base := filepath.Split(c.Name)
	j := junitCase{Class: cmp.Or(safe(strings.TrimSuffix(filepath.ToSlash(dir), "/")), f.suite.Name), Name: safe(base)}
	f.suite.Tests++
	if !c.equal() {
		p := &junitProblem{Message: c.title()}
		if c.Result != nil {
			p.Text = "\n" + string(c.Result.AppendText(nil, ""))
		}
		if c.Problem == nil || c.Failed {
			j.Failure = p
			f.suite.Failures++
		} else {
			j.Error = p
			f.suite.Errors++
		}
	}
	f.suite.Cases = append(f.suite.Cases, j)
	return nil
}

func (f *junitFormat) End(string) error {
	b, err := xml.MarshalIndent(struct {
		XMLName xml.Name `xml:"testsuites"`
		junitSuite
		Suite junitSuite `xml:"testsuite"`
	}{junitSuite: junitSuite{f.suite.Name, f.suite.Tests, f.suite.Failures, f.suite.Errors, nil}, Suite: f.suite}, "", "  ")
	if err != nil {
		return err
	}
	_, err = f.w.Write(append([]byte(xml.Header), append(b, '\n')...))
	return err
}

// githubFormat is for GitHub Actions: an annotation for each failed case.
type githubFormat struct {
	textFormat
	o FormatOptions
}

func (f *githubFormat) Case(c *Case) error {
	if c.equal() {
		return nil
	}
	text := c.title()
	line := ""
	if c.Result != nil {
		text += "\n" + string(c.Result.AppendText(nil, ""))
		if n := c.Result.line(); n > 0 {
			line = ",line=" + strconv.Itoa(n)
		}
	}
	_, err := fmt.Fprintf(f.w, "::error file=%s%s,title=%s::%s\n", githubProperty(safe(filepath.ToSlash(inRoot(f.o.Root, c.File)))), line,
		githubProperty(safe(f.o.Command+" "+filepath.ToSlash(c.Name))), githubText(strings.TrimRight(text, "\n")))
	return err
}

// line returns the line of the golden for an annotation: that of the first message that
// differs, otherwise that of the summary; 0 if there is none.
func (r *Result) line() (line int) {
	for i := range r.Differences {
		switch m := &r.Differences[i].Want; {
		case m.Line == 0:
		case m.Type == "message", m.Type == "finding":
			return m.Line
		case line == 0:
			line = m.Line
		}
	}
	return line
}

// inRoot returns a path relative to a folder that contains it.
func inRoot(root, name string) string {
	if root == "" {
		return name
	}
	if abs, err := filepath.Abs(name); err == nil {
		if rel, err := filepath.Rel(root, abs); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return name
}

var (
	githubText     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace
)

// clipped returns a summary cut to a maximum length. It is safe on a terminal; the
// escapes that the summary has already stay as they are.
func clipped(s string) string {
	from, to := piece([]byte(s), nil)
	b := appendJSON(nil, []byte(s[from:to]))
	if to < len(s) {
		b = append(b, "…"...)
	}
	return string(b)
}

// short cuts a name that comes from a file, safe on a terminal.
func short(s string) string { return safe(s[:min(len(s), 80)]) }

func safe(s string) string { return string(nettext.AppendSafe(nil, []byte(s))) }

// JSONSchema is the version of the format json.
const JSONSchema = "qdissect-check/1"

// jsonFormat is one document for programs. docs/testing-with-captures.md describes it.
type jsonFormat struct {
	w   io.Writer
	doc jsonDocument
}

type jsonDocument struct {
	Schema  string     `json:"schema"`
	Command string     `json:"command"`
	Cases   []jsonCase `json:"cases"`
	Summary string     `json:"summary"`
}

type jsonCase struct {
	Name        string           `json:"name"`
	File        string           `json:"file"`
	Result      string           `json:"result"`
	Problem     string           `json:"problem,omitempty"`
	Count       int              `json:"count"`
	Differences []jsonDifference `json:"differences,omitempty"`
}

type jsonDifference struct {
	Kind     string      `json:"kind"`
	Type     string      `json:"type"`
	Line     int         `json:"line,omitempty"`
	Frame    uint64      `json:"frame,omitempty"`
	Src      string      `json:"src,omitempty"`
	Dst      string      `json:"dst,omitempty"`
	Protocol string      `json:"protocol,omitempty"`
	Name     string      `json:"name,omitempty"`
	Summary  string      `json:"summary,omitempty"`
	More     int         `json:"more,omitempty"`
	Fields   []jsonField `json:"fields,omitempty"`
}

type jsonField struct {
	Path     string  `json:"path"`
	Of       string  `json:"of,omitempty"`
	Expected *string `json:"expected"`
	Actual   *string `json:"actual"`
}

func (f *jsonFormat) Case(c *Case) error {
	j := jsonCase{Name: filepath.ToSlash(safe(c.Name)), File: filepath.ToSlash(safe(c.File)), Result: c.outcome()}
	if c.Problem != nil {
		j.Problem = c.title()
	}
	if c.Result != nil {
		j.Count = c.Result.Count
		for _, d := range c.Result.Differences {
			m := d.Message()
			out := jsonDifference{
				Kind: d.Kind.String(), Type: short(m.Type), Line: d.Want.Line, Frame: m.Frame, Src: short(m.Src), Dst: short(m.Dst),
				Protocol: short(m.Protocol), Name: short(m.Name), More: d.More,
			}
			if d.Kind != Changed {
				out.Summary = clipped(m.Summary)
			}
			out.Fields = nettext.Each(d.Fields, func(f Field) jsonField { return jsonField{f.Path, f.Of, present(f.From), present(f.To)} })
			j.Differences = append(j.Differences, out)
		}
	}
	f.doc.Cases = append(f.doc.Cases, j)
	return nil
}

func (f *jsonFormat) End(footer string) error {
	f.doc.Summary = footer
	e := json.NewEncoder(f.w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(&f.doc)
}

// outcome returns the result of a case in one word.
func (c *Case) outcome() string {
	switch {
	case c.Problem != nil && c.Failed:
		return "failed"
	case c.Problem != nil:
		return "error"
	case c.equal():
		return "equal"
	}
	return "different"
}

// present returns nil for an absent value.
func present(s string) *string {
	return nettext.Either(s == "", nil, &s)
}
