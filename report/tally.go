package report

import "github.com/qdissect/qdissect/dissect"

// A Tally counts more than a [Summary] does: for those who watch a long
// capture.
type Tally struct {
	// Messages counts types of messages.
	Messages map[TypeOf]uint64
	// Findings counts types of findings.
	Findings map[*dissect.FindingType]uint64
}

// TypeOf is a type of message of a protocol.
type TypeOf struct {
	Protocol *dissect.Protocol
	Type     *dissect.MessageType
}

// Record counts a message and its findings.
func (d *Tally) Record(r *dissect.Record) {
	if d.Messages == nil {
		d.Messages = make(map[TypeOf]uint64)
	}
	d.Messages[TypeOf{r.Protocol, r.Type}]++
	for i := range r.Findings {
		d.Finding(&r.Findings[i])
	}
}

// Finding counts a finding.
func (d *Tally) Finding(f *dissect.Finding) {
	if d.Findings == nil {
		d.Findings = make(map[*dissect.FindingType]uint64)
	}
	d.Findings[f.Type]++
}

// Merge adds the counts of another.
func (d *Tally) Merge(o *Tally) {
	for k, n := range o.Messages {
		if d.Messages == nil {
			d.Messages = make(map[TypeOf]uint64)
		}
		d.Messages[k] += n
	}
	for k, n := range o.Findings {
		if d.Findings == nil {
			d.Findings = make(map[*dissect.FindingType]uint64)
		}
		d.Findings[k] += n
	}
}
