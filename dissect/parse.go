package dissect

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
	r.Reset(bytes.Clone(payload), 0, false)
	p.New().Decode(&r, &m)
	if err := r.Err(); err != nil {
		r.conclude(p.Fields)
		return m, r.findings, err
	}
	r.conclude(p.Fields)
	for i := range r.findings {
		f := &r.findings[i]
		if !f.Type.Length {
			continue
		}
		e := &Error{Field: f.Field, Source: f.Source, Offset: f.Offset, Have: -1, Text: string(f.AppendText(nil))}
		if f.Field == nil {
			e.Text = p.Name + ": " + e.Text
			if f.Length == 0 {
				e.Offset = len(r.data) // it is about the end
			}
		}
		return m, r.findings, e
	}
	return m, r.findings, nil
}

// conclude ends the message of a decoder, and reports a failure and trailing bytes.
func (r *Reader) conclude(c *Catalog) {
	if e := r.Err(); e != nil && !r.cut && e.Text != tooManyRecords {
		r.findings = append(r.findings, Finding{Type: Malformed, Field: e.Field, Source: e.Source, Offset: e.Offset, Length: len(r.sources[e.Source].Data) - e.Offset, Err: e})
	}
	at := r.off
	if n := r.Finish(c); n > 0 && !r.cut {
		r.Find(Trailing, c.trailing, at, n, Num(n))
	}
}
