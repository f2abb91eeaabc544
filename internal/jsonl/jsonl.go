// Package jsonl reads the JSON that qdissect writes: a stream of objects ([Reader]), each
// parsed into a flat list of values ([Document]), with the identity of each object
// ([Head]).
//
// Files are untrusted: nothing in them sizes an allocation.
package jsonl

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"strconv"
	"strings"
)

// A Kind is the kind of a JSON value.
type Kind uint8

// The kinds of values.
const (
	Null Kind = iota
	Boolean
	Number
	Text
	Object
	Array
)

// A Node is one value of a document. Nodes are in preorder: the contents of a value follow
// it, up to node End.
type Node struct {
	Kind Kind
	End  int32
	// Key is the decoded name of a member of an object; nil for other values.
	Key []byte
	// Raw is the value as written in the document. Value is the decoded text for text,
	// otherwise the same as Raw.
	Raw, Value []byte
}

// A Document is a parsed JSON value. It refers to the bytes that it was parsed from, and
// can be reused.
type Document struct {
	Nodes []Node
	in    []byte
	at    int
}

// Limits of a document.
const (
	maxDepth  = 256
	maxObject = 32 << 20 // bytes; the longest message needs a tenth of it
)

// fail returns an error with the current position.
func (d *Document) fail(format string, args ...any) error {
	return fmt.Errorf(format+" at byte %d", append(args, d.at+1)...)
}

// Parse parses b, which must contain exactly one value. Two members of an object with the
// same name are an error.
func (d *Document) Parse(b []byte) error {
	d.Nodes, d.in, d.at = d.Nodes[:0], b, 0
	if !json.Valid(b) {
		if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(b, new(json.RawMessage))); ok {
			d.at = max(0, int(syntax.Offset)-1)
			return d.fail("%s", syntax)
		}
		return d.fail("invalid JSON")
	}
	d.space()
	return d.value(nil, 0)
}

// space skips what separates values.
func (d *Document) space() {
	for d.at < len(d.in) && bytes.IndexByte([]byte(" \t\r\n,:"), d.in[d.at]) >= 0 {
		d.at++
	}
}

// value parses a value of a valid document.
func (d *Document) value(key []byte, depth int) (err error) {
	i, from := len(d.Nodes), d.at
	d.Nodes = append(d.Nodes, Node{Key: key})
	n := Node{Key: key}
	switch d.in[d.at] {
	case '{':
		n.Kind, err = Object, d.list(true, depth+1)
	case '[':
		n.Kind, err = Array, d.list(false, depth+1)
	case '"':
		n.Kind, n.Value = Text, d.text()
	case 't', 'f':
		n.Kind = Boolean
		d.word()
	case 'n':
		d.word()
	default:
		n.Kind = Number
		d.word()
	}
	n.End, n.Raw = int32(len(d.Nodes)), d.in[from:d.at]
	if n.Kind != Text {
		n.Value = n.Raw
	}
	d.Nodes[i] = n
	return err
}

// word skips a number or a literal.
func (d *Document) word() {
	for d.at < len(d.in) && bytes.IndexByte([]byte(" \t\r\n,]}"), d.in[d.at]) < 0 {
		d.at++
	}
}

// few is the number of members below which names are compared one by one.
const few = 16

// list parses an object or an array.
func (d *Document) list(object bool, depth int) error {
	if depth > maxDepth {
		return d.fail("nested too deep")
	}
	d.at++
	first, n := len(d.Nodes), 0
	var seen map[string]bool
	for d.space(); d.in[d.at] != ']' && d.in[d.at] != '}'; d.space() {
		var key []byte
		if object {
			from := d.at
			key = d.text()
			d.space()
			if n++; n == few {
				seen = make(map[string]bool)
				for i := range d.siblings(first, len(d.Nodes)) {
					seen[string(d.Nodes[i].Key)] = true
				}
			}
			if n < few && d.find(first, len(d.Nodes), key) >= 0 || seen[string(key)] {
				d.at = from
				return d.fail("%q twice", key)
			}
			if seen != nil {
				seen[string(key)] = true
			}
		}
		if err := d.value(key, depth); err != nil {
			return err
		}
	}
	d.at++
	return nil
}

// text parses a string and returns it decoded. In strings without escapes, bytes that are
// not UTF-8 stay unchanged, so that comparisons see them.
func (d *Document) text() []byte {
	from, escaped := d.at, false
	for d.at++; d.in[d.at] != '"'; d.at++ {
		if d.in[d.at] == '\\' {
			escaped = true
			d.at++
		}
	}
	d.at++
	if !escaped {
		return d.in[from+1 : d.at-1]
	}
	var s string
	_ = json.Unmarshal(d.in[from:d.at], &s) // it is valid
	return []byte(s)
}

// siblings yields the nodes from first to end that are not within other nodes of that
// range.
func (d *Document) siblings(first, end int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := first; i < end && yield(i); i = int(d.Nodes[i].End) {
		}
	}
}

// In yields the members of object n or the elements of array n.
func (d *Document) In(n int) iter.Seq[int] { return d.siblings(n+1, int(d.Nodes[n].End)) }

func (d *Document) find(first, end int, key []byte) int {
	for i := range d.siblings(first, end) {
		if bytes.Equal(d.Nodes[i].Key, key) {
			return i
		}
	}
	return -1
}

// Member returns the member of object n with a name, -1 if there is none.
func (d *Document) Member(n int, key string) int {
	if n < 0 || n >= len(d.Nodes) || d.Nodes[n].Kind != Object {
		return -1
	}
	return d.find(n+1, int(d.Nodes[n].End), []byte(key))
}

// Raw returns a member of object n as written in the document, nil if there is none.
func (d *Document) Raw(n int, key string) []byte {
	if i := d.Member(n, key); i >= 0 {
		return d.Nodes[i].Raw
	}
	return nil
}

// Str returns a text member of object n, "" if there is none.
func (d *Document) Str(n int, key string) string {
	if i := d.Member(n, key); i >= 0 && d.Nodes[i].Kind == Text {
		return string(d.Nodes[i].Value)
	}
	return ""
}

// Uint returns a number member of object n, 0 if there is none.
func (d *Document) Uint(n int, key string) uint64 {
	u, _ := strconv.ParseUint(string(d.Raw(n, key)), 10, 63)
	return u
}

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

// A Reader reads the objects of a stream: JSON lines, an array of objects, or objects over
// several lines. It skips white space, commas and brackets between objects.
type Reader struct {
	objects    *bufio.Scanner
	line, next int // of the object, and of what follows it, from 1
}

// NewReader returns a reader of the objects in src.
func NewReader(src io.Reader) *Reader { return newReader(src, 1, 64<<10) }

// NewBytes returns a reader of the objects in b. line is the number of its first line.
func NewBytes(b []byte, line int) *Reader {
	return newReader(bytes.NewReader(b), line, min(len(b)+1, 64<<10))
}

func newReader(src io.Reader, line, size int) *Reader {
	r := &Reader{objects: bufio.NewScanner(src), next: line}
	r.objects.Buffer(make([]byte, size), maxObject)
	r.objects.Split(r.split)
	return r
}

// Next returns the next object and the line that it begins on. The object is borrowed
// until the next call.
func (r *Reader) Next() (b []byte, line int, err error) {
	if r.objects.Scan() {
		return r.objects.Bytes(), r.line, nil
	}
	switch err = r.objects.Err(); err {
	case nil:
		err = io.EOF
	case bufio.ErrTooLong:
		err = fmt.Errorf("line %d: an object of more than %d MiB", r.next, maxObject>>20)
	}
	return nil, r.next, err
}

// split returns an object, from an opening brace to the matching closing one, or skips what
// is before it.
func (r *Reader) split(b []byte, end bool) (n int, object []byte, err error) {
	for ; n < len(b) && b[n] != '{'; n++ {
		switch b[n] {
		case '\n':
			r.next++
		case ' ', '\t', '\r', ',', '[', ']':
		default:
			return 0, nil, fmt.Errorf("line %d: no JSON object", r.next)
		}
	}
	depth, quoted, escaped := 0, false, false
	for i, c := range b[n:] {
		switch {
		case escaped:
			escaped = false
		case c == '"':
			quoted = !quoted
		case quoted:
			escaped = c == '\\'
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				r.line, object = r.next, b[n:n+i+1]
				r.next += bytes.Count(object, []byte("\n"))
				return n + i + 1, object, nil
			}
		}
	}
	if end && n < len(b) {
		err = fmt.Errorf("line %d: the object breaks off: %w", r.next, io.ErrUnexpectedEOF)
	}
	return n, nil, err
}
