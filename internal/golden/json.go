package golden

import (
	"encoding/json"
	"io"
	"path/filepath"
)

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
		for i := range c.Result.Differences {
			d := &c.Result.Differences[i]
			m := d.Message()
			out := jsonDifference{
				Kind: d.Kind.String(), Type: short(m.Type), Line: d.Want.Line, Frame: m.Frame, Src: short(m.Src), Dst: short(m.Dst),
				Protocol: short(m.Protocol), Name: short(m.Name), More: d.More,
			}
			if d.Kind != Changed {
				out.Summary = clipped(m.Summary)
			}
			for i := range d.Fields {
				f := &d.Fields[i]
				out.Fields = append(out.Fields, jsonField{f.Path, f.Of, present(f.From), present(f.To)})
			}
			j.Differences = append(j.Differences, out)
		}
	}
	f.doc.Cases = append(f.doc.Cases, j)
	return nil
}

func (f *jsonFormat) End(footer string) error {
	f.doc.Summary = footer
	if f.doc.Cases == nil {
		f.doc.Cases = []jsonCase{}
	}
	return writeJSON(f.w, &f.doc)
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
	if s == "" {
		return nil
	}
	return &s
}

// writeJSON writes an indented document.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
