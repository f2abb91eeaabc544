package core

// What an analyzer does with a Reader, besides reading.

// Only is an argument of methods that only this module can call.
type Only struct{}

// Renewed returns a Reader for a new start. Injected failures stay.
func Renewed(r *Reader) Reader { return Reader{inject: r.inject} }

// SetInject makes reads fail; nil ends it.
func SetInject(r *Reader, i *Inject) { r.inject = i }

// Clear starts a message of parts, which [AddPart] adds.
func Clear(r *Reader, want bool) { r.clear(nil, want) }

// AddPart adds the payload of one part of a split message.
func AddPart(r *Reader, payload []byte, frame uint64, header int) {
	r.sources = append(r.sources, Source{Name: "part", Frame: frame, Data: payload, Header: header})
	r.parts++
	if r.parts == 1 {
		r.data = payload
	}
}

// SetMissing states the first missing part, from 1.
func SetMissing(r *Reader, part int) { r.missing = part }

// SetAwaited states what [Awaited] calls.
func SetAwaited(r *Reader, f func(topics Topic, id uint64) bool) { r.awaited = f }

// SetFromServer states what [FromServer] says.
func SetFromServer(r *Reader, is bool) { r.fromServer = is }

// FromServer reports whether the server of a TCP connection sent the message. Outside of an analyzer it says false.
func FromServer(r *Reader) bool { return r.fromServer }

// Length returns the size of the message: of the open source, or of all parts
// without their headers.
func Length(r *Reader) int {
	if r.parts == 0 || len(r.sources) > r.parts {
		return len(r.data)
	}
	n := 0
	for i := range r.sources {
		n += len(r.sources[i].Data) - r.sources[i].Header
	}
	return n
}

// Lower begins the findings of a message with those of the layers below, which take no room from its own. cut is the finding about
// a payload whose end the capture lacks, if it does.
func Lower(r *Reader, skim bool, list []Finding, cut *Finding) {
	r.skim = skim
	for i := range list {
		if i == maxFindings {
			r.leftOut += len(list) - i
			break
		}
		r.findings = append(r.findings, list[i]) // one by one: mostly it is one, and more are copied by a call
	}
	if r.cut = cut != nil; r.cut {
		r.findings = append(r.findings, *cut)
	}
	SoFarBelow(r)
}

// SoFarBelow says that the findings so far are those of the layers below.
func SoFarBelow(r *Reader) { r.below = len(r.findings) }

// Findings returns the findings so far. They are borrowed.
func Findings(r *Reader) []Finding { return r.findings }

// OnlyBelow drops the findings about the message itself.
func OnlyBelow(r *Reader) { r.findings = r.findings[:min(r.below, len(r.findings))] }

// Conclude ends the message of a decoder, and reports a failure and trailing bytes.
func Conclude(r *Reader, c *Catalog) {
	if e := Err(r); e != nil && !r.cut && e.Text != tooManyRecords {
		r.findings = append(r.findings, Finding{Type: Malformed, Field: e.Field, Source: e.Source, Offset: e.Offset, Length: len(r.sources[e.Source].Data) - e.Offset, Err: e})
	}
	at := r.off
	if n := Finish(r, c); n > 0 && !r.cut {
		r.Find(Trailing, c.trailing, at, n, Num(n))
	}
}

// Result returns what was read, and the set of the fields of the nodes. It reports what was too much.
func Result(r *Reader) (sources []Source, nodes []Node, fields uint64, findings []Finding) {
	if r.records > r.most {
		r.findings = append(r.findings, NewFinding(TooManyRecords, Num(r.most)))
	}
	if r.leftOut > 0 {
		r.findings = append(r.findings, NewFinding(TooManyFindings, Num(r.leftOut)))
	}
	return r.sources, r.nodes, r.fields, r.findings
}

// MayHold reports whether nodes with a set of fields may have one of a declared field. It is quicker than a
// search; only false is certain.
func MayHold(fields uint64, f *Field) bool { return fields == 0 || fields&f.bit != 0 }

// Args returns the arguments of a finding.
func Args(f *Finding) []Arg { return f.args[:] }

// Bit returns 1 for true and 0 for false.
func Bit[T int | byte | uint64](b bool) T {
	if b {
		return 1
	}
	return 0
}
