package dissect

import "github.com/qdissect/qdissect/internal/core"

import "bytes"

// Parse decodes a copy of one payload without an analyzer: a whole message, or one part of a
// split one if parts can be read alone. It returns the findings about the message as well.
// The caller owns the results.
//
// The error is an *[Error]. It says where reading failed, or else where the message is
// shorter or longer than its own structure says, such as a list that ends before its
// announced count. The message then holds what was read.
func Parse(p *Protocol, payload []byte) (Message, []Finding, error) {
	var r Reader
	var m Message
	core.Reset(&r, bytes.Clone(payload), 0, false)
	p.New().Decode(&r, &m)
	if err := core.Err(&r); err != nil {
		core.Conclude(&r, p.Catalog.Catalog)
		return m, core.Findings(&r), err
	}
	core.Conclude(&r, p.Catalog.Catalog)
	findings := core.Findings(&r)
	for i := range findings {
		f := &findings[i]
		if !f.Type.Length {
			continue
		}
		e := &Error{Field: f.Field, Source: f.Source, Offset: f.Offset, Have: -1, Text: string(f.AppendText(nil))}
		if f.Field == nil {
			e.Text = p.Name + ": " + e.Text
			if f.Length == 0 {
				e.Offset = r.Offset() + r.Left() // it is about the end
			}
		}
		return m, findings, e
	}
	return m, findings, nil
}
