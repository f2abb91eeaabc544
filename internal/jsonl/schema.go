package jsonl

// Names of members that more than one reader looks into.
const (
	Fields   = "fields"   // of a message: what its protocol says
	Findings = "findings" // of a message
)

// A Head says which object of the output one is.
type Head struct {
	// Type is "message", "finding", "capture" or "summary".
	Type string
	// Frame is 0 for captures and summaries.
	Frame              uint64
	Src, Dst, Protocol string
	// Name is that of the message, or the id of the finding.
	Name string
	// Summary is what the object says in words.
	Summary string
}

// Head returns what the object is about.
func (d *Document) Head() Head {
	h := Head{
		Type: d.Type(), Frame: d.Uint(0, "frame"), Src: d.Str(0, "src"), Dst: d.Str(0, "dst"),
		Protocol: d.Str(0, "protocol"), Name: d.Str(0, "message"), Summary: d.Str(0, "summary"),
	}
	if h.Type == "finding" {
		h.Name, h.Summary = d.Str(0, "id"), d.Str(0, "text")
	}
	return h
}

// Type returns that of the object.
func (d *Document) Type() string { return d.Str(0, "type") }
