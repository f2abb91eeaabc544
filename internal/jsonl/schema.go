package jsonl

import (
	"fmt"
	"net"
	"strings"
)

// Schema is the version of the JSON that this package reads.
const Schema = "qdissect/2"

// Findings is the name of the list of findings, in messages and in objects of type
// "finding".
const Findings = "findings"

// A Head identifies an object of the output.
type Head struct {
	// Type is "message", "finding", "capture" or "summary".
	Type string
	// Frame is 0 for captures and summaries.
	Frame uint64
	// Src and Dst are addresses with ports, or without if the ports are unknown.
	Src, Dst string
	Protocol string
	// Name is the name of the message, or the ID of the finding.
	Name string
	// Summary is the summary of a message, or the text of a finding.
	Summary string
}

// Head returns the identity of the object.
func (d *Document) Head() Head {
	h := Head{
		Type: d.Type(), Frame: d.Uint(0, "frame"), Src: d.End("src"), Dst: d.End("dst"),
		Protocol: d.Str(0, "protocol"), Name: d.Str(0, "message"), Summary: d.Str(0, "summary"),
	}
	if h.Type == "finding" {
		h.Name, h.Summary = d.FindingID(), ""
		for i := range d.findings() {
			h.Summary = d.Str(i, "text")
			break
		}
	}
	return h
}

// Type returns the type of the object.
func (d *Document) Type() string { return d.Str(0, "type") }

// End returns one end of the datagram, "src" or "dst": address and port, or what is
// present of them.
func (d *Document) End(which string) string {
	ip := d.Str(0, which+"_ip")
	if port := d.Raw(0, which+"_port"); ip != "" && port != nil {
		return net.JoinHostPort(ip, string(port))
	}
	return ip
}

// FindingID returns the ID of the finding in an object of type "finding", "" for other
// objects.
func (d *Document) FindingID() string {
	if d.Type() == "finding" {
		for i := range d.findings() {
			return d.Str(i, "id")
		}
	}
	return ""
}

func (d *Document) findings() func(yield func(int) bool) {
	return func(yield func(int) bool) {
		if n := d.Member(0, Findings); n >= 0 && d.Nodes[n].Kind == Array {
			d.In(n)(yield)
		}
	}
}

// Fields returns the node with the fields of a message, -1 if there is none.
func (d *Document) Fields() int { return d.Member(0, FieldsKey(d.Str(0, "protocol"))) }

// FieldsKey returns the name of the member with the fields of a protocol.
func FieldsKey(protocol string) string { return strings.ReplaceAll(protocol, "-", "_") }

// CheckSchema returns an error if the object is the start of an output of another version.
func (d *Document) CheckSchema() error {
	if d.Type() != "capture" {
		return nil
	}
	if s := d.Str(0, "schema"); s != Schema && strings.HasPrefix(s, "qdissect/") {
		return fmt.Errorf("the JSON is of version %s, and this program reads version %s: write the file again, a golden with check --update", s, Schema)
	}
	return nil
}
