// Package jsonl reads the JSON that qdissect writes, and files that should be
// like it: a stream of objects ([Reader]), each of them as a flat list of values
// ([Document]), and what the objects of the schema are about ([Head]).
//
// Files are read that anybody may have made: nothing in them sizes an allocation.
package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
)

// A Kind is that of a JSON value.
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

// A Node is one value of a document. Nodes stand in preorder: what a value holds
// follows it, up to the node with the number End.
type Node struct {
	Kind Kind
	End  int32
	// Key is the name of a member of an object, decoded; nil for others.
	Key []byte
	// Raw is the value as it stands in the document; Value is the same, but
	// decoded if it is text.
	Raw, Value []byte
}

// A Document is a JSON value, parsed. It points into what it was parsed from, and
// can be used again.
type Document struct {
	Nodes []Node
	in    []byte
	at    int
}

// Limits of a document.
const (
	maxDepth  = 256
	maxObject = 32 << 20 // bytes; the longest message has a tenth
)

// fail returns an error with the place where the reading is.
func (d *Document) fail(format string, args ...any) error {
	return fmt.Errorf(format+" at byte %d", append(args, d.at+1)...)
}

// Parse reads one value, which must be all that there is in b. An object with two
// members of the same name is an error.
func (d *Document) Parse(b []byte) error {
	d.Nodes, d.in, d.at = d.Nodes[:0], b, 0
	if !json.Valid(b) {
		var syntax *json.SyntaxError
		if errors.As(json.Unmarshal(b, new(json.RawMessage)), &syntax) {
			d.at = max(0, int(syntax.Offset)-1)
			return d.fail("%s", syntax)
		}
		return d.fail("invalid JSON")
	}
	d.space()
	return d.value(nil, 0)
}

// space passes over what stands between values.
func (d *Document) space() {
	for d.at < len(d.in) && bytes.IndexByte([]byte(" \t\r\n,:"), d.in[d.at]) >= 0 {
		d.at++
	}
}

// value reads a value of a document that is valid.
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

// word passes over a number or a name.
func (d *Document) word() {
	for d.at < len(d.in) && bytes.IndexByte([]byte(" \t\r\n,]}"), d.in[d.at]) < 0 {
		d.at++
	}
}

// few is the number of members up to which names are compared one by one.
const few = 16

// list reads an object or an array.
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

// text reads text and returns it decoded. Bytes that are not UTF-8 are left as they
// are in text without escapes: files that differ in them differ.
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

// siblings yields the nodes from first to end that are not inside of others.
func (d *Document) siblings(first, end int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := first; i < end && yield(i); i = int(d.Nodes[i].End) {
		}
	}
}

// In yields the nodes of the members of the object n, or of the elements of the
// array n.
func (d *Document) In(n int) iter.Seq[int] { return d.siblings(n+1, int(d.Nodes[n].End)) }

func (d *Document) find(first, end int, key []byte) int {
	for i := range d.siblings(first, end) {
		if bytes.Equal(d.Nodes[i].Key, key) {
			return i
		}
	}
	return -1
}

// Member returns the node with a name in the object n, -1 if there is none.
func (d *Document) Member(n int, key string) int {
	if n < 0 || n >= len(d.Nodes) || d.Nodes[n].Kind != Object {
		return -1
	}
	return d.find(n+1, int(d.Nodes[n].End), []byte(key))
}

// Raw returns a member of the object n as it stands in the document, nil if there
// is none.
func (d *Document) Raw(n int, key string) []byte {
	if i := d.Member(n, key); i >= 0 {
		return d.Nodes[i].Raw
	}
	return nil
}

// Str returns the text of a member of the object n, "" if it has none.
func (d *Document) Str(n int, key string) string {
	if i := d.Member(n, key); i >= 0 && d.Nodes[i].Kind == Text {
		return string(d.Nodes[i].Value)
	}
	return ""
}

// Uint returns the number that a member of the object n is, 0 if it is none.
func (d *Document) Uint(n int, key string) uint64 {
	u, _ := strconv.ParseUint(string(d.Raw(n, key)), 10, 63)
	return u
}
