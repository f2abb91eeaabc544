package golden

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"
)

// A kind is that of a JSON value.
type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	object
	array
)

// A node is one value of a document. Nodes stand in preorder: what a value holds
// follows it, up to the node with the number end.
type node struct {
	kind kind
	end  int32
	// key is the name of a member of an object, decoded; nil for others.
	key []byte
	// raw is the value as it stands in the document; value is the same, but
	// decoded if it is text.
	raw, value []byte
}

// A document is a JSON value, parsed. It points into what it was parsed from,
// and is used again.
type document struct {
	nodes   []node
	in      []byte
	at      int
	decoded []byte // of text with escapes; not moved as long as nodes point here
}

// Limits of a document, which may be anybody's file.
const (
	maxDepth  = 256
	maxObject = 32 << 20 // bytes; the longest message has a tenth
)

// syntaxError says what is wrong with a document, and where.
type syntaxError struct {
	what string
	at   int
}

func (e *syntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.what, e.at+1) }

func (d *document) fail(what string) error { return &syntaxError{what, d.at} }

// parse reads one value, which must be all that there is in b.
func (d *document) parse(b []byte) error {
	d.nodes, d.in, d.at = d.nodes[:0], b, 0
	// Decoded, text is never longer.
	if cap(d.decoded) < len(b) {
		d.decoded = make([]byte, 0, len(b))
	}
	d.decoded = d.decoded[:0]
	d.space()
	if err := d.value(nil, 0); err != nil {
		return err
	}
	if d.space(); d.at < len(b) {
		return d.fail("something behind the value")
	}
	return nil
}

func (d *document) space() {
	for d.at < len(d.in) {
		switch d.in[d.at] {
		case ' ', '\t', '\r', '\n':
			d.at++
		default:
			return
		}
	}
}

// peek returns the next byte, 0 at the end.
func (d *document) peek() byte {
	if d.at < len(d.in) {
		return d.in[d.at]
	}
	return 0
}

func (d *document) value(key []byte, depth int) error {
	i, from := len(d.nodes), d.at
	d.nodes = append(d.nodes, node{key: key})
	var k kind
	var v []byte
	var err error
	switch c := d.peek(); {
	case c == '{':
		k, err = object, d.members(depth+1)
	case c == '[':
		k, err = array, d.elements(depth+1)
	case c == '"':
		k = text
		v, err = d.string()
	case c == '-' || c >= '0' && c <= '9':
		k, err = number, d.number()
	case d.word("true"), d.word("false"):
		k = boolean
	case d.word("null"):
		k = null
	case d.at >= len(d.in):
		err = d.fail("it breaks off")
	default:
		err = d.fail("no JSON value")
	}
	n := &d.nodes[i]
	n.kind, n.end, n.raw, n.value = k, int32(len(d.nodes)), d.in[from:d.at], v
	if k != text {
		n.value = n.raw
	}
	return err
}

func (d *document) word(w string) bool {
	if !bytes.HasPrefix(d.in[d.at:], []byte(w)) {
		return false
	}
	d.at += len(w)
	return true
}

// few is the number of members up to which names are compared one by one.
const few = 16

func (d *document) members(depth int) error {
	if depth > maxDepth {
		return d.fail("nested too deep")
	}
	d.at++
	if d.space(); d.peek() == '}' {
		d.at++
		return nil
	}
	first, n := len(d.nodes), 0
	var seen map[string]bool
	for {
		if d.peek() != '"' {
			return d.fail("no name of a member")
		}
		from := d.at
		key, err := d.string()
		if err != nil {
			return err
		}
		twice := false
		if n < few {
			for i := first; i < len(d.nodes); i = int(d.nodes[i].end) {
				twice = twice || bytes.Equal(d.nodes[i].key, key)
			}
		} else {
			if seen == nil {
				seen = make(map[string]bool)
				for i := first; i < len(d.nodes); i = int(d.nodes[i].end) {
					seen[string(d.nodes[i].key)] = true
				}
			}
			twice = seen[string(key)]
			seen[string(key)] = true
		}
		if n++; twice {
			d.at = from
			return d.fail(fmt.Sprintf("%q twice", key))
		}
		if d.space(); d.peek() != ':' {
			return d.fail("no colon")
		}
		d.at++
		d.space()
		if err := d.value(key, depth); err != nil {
			return err
		}
		d.space()
		switch d.peek() {
		case '}':
			d.at++
			return nil
		case ',':
			d.at++
			d.space()
		default:
			return d.fail("neither a comma nor the end of the object")
		}
	}
}

func (d *document) elements(depth int) error {
	if depth > maxDepth {
		return d.fail("nested too deep")
	}
	d.at++
	if d.space(); d.peek() == ']' {
		d.at++
		return nil
	}
	for {
		if err := d.value(nil, depth); err != nil {
			return err
		}
		d.space()
		switch d.peek() {
		case ']':
			d.at++
			return nil
		case ',':
			d.at++
			d.space()
		default:
			return d.fail("neither a comma nor the end of the array")
		}
	}
}

func (d *document) number() error {
	digits := func() bool {
		from := d.at
		for c := d.peek(); c >= '0' && c <= '9'; c = d.peek() {
			d.at++
		}
		return d.at > from
	}
	if d.peek() == '-' {
		d.at++
	}
	if d.peek() == '0' {
		d.at++
	} else if !digits() {
		return d.fail("no digit")
	}
	if d.peek() == '.' {
		if d.at++; !digits() {
			return d.fail("no digit")
		}
	}
	if c := d.peek(); c == 'e' || c == 'E' {
		d.at++
		if c := d.peek(); c == '+' || c == '-' {
			d.at++
		}
		if !digits() {
			return d.fail("no digit")
		}
	}
	return nil
}

// string reads text and returns it decoded. Bytes that are not UTF-8 are left as
// they are: files that differ in them differ.
func (d *document) string() ([]byte, error) {
	d.at++
	from, escaped := d.at, false
	for ; ; d.at++ {
		if d.at >= len(d.in) {
			return nil, d.fail("text without an end")
		}
		c := d.in[d.at]
		if c == '"' {
			break
		}
		if c < 0x20 {
			return nil, d.fail("a control character in text")
		}
		if c == '\\' {
			escaped = true
			if d.at++; d.at >= len(d.in) {
				return nil, d.fail("text without an end")
			}
		}
	}
	s := d.in[from:d.at]
	d.at++
	if !escaped {
		return s, nil
	}
	start := len(d.decoded)
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			d.decoded = append(d.decoded, s[i])
			i++
			continue
		}
		r, n := unescape(s[i:])
		if n == 0 {
			d.at = from + i
			return nil, d.fail("an unknown escape")
		}
		d.decoded = appendRune(d.decoded, r)
		i += n
	}
	return d.decoded[start:len(d.decoded):len(d.decoded)], nil
}

// unescape returns the character that an escape stands for, and its length; 0 if
// it is none.
func unescape(s []byte) (rune, int) {
	if i := bytes.IndexByte([]byte(`"\/bfnrt`), s[1]); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), 2
	}
	r, ok := hex4(s)
	if !ok {
		return 0, 0
	}
	if r >= 0xd800 && r < 0xdc00 {
		if low, ok := hex4(s[6:]); ok && low >= 0xdc00 && low < 0xe000 {
			return 0x10000 + (r-0xd800)<<10 + (low - 0xdc00), 12
		}
	}
	return r, 6
}

// hex4 reads \uXXXX.
func hex4(s []byte) (r rune, ok bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	for _, c := range s[2:6] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 + rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 + rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// appendRune appends a character. Half of a pair, which UTF-8 does not have, is
// written as three bytes all the same: it is not equal to anything else.
func appendRune(b []byte, r rune) []byte {
	if r >= 0xd800 && r < 0xe000 {
		return append(b, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0xbf, 0x80|byte(r)&0xbf)
	}
	return utf8.AppendRune(b, r)
}

// member returns the node with a name in the object n, -1 if there is none.
func (d *document) member(n int, key string) int {
	if n >= len(d.nodes) || d.nodes[n].kind != object {
		return -1
	}
	for i := n + 1; i < int(d.nodes[n].end); i = int(d.nodes[i].end) {
		if string(d.nodes[i].key) == key {
			return i
		}
	}
	return -1
}

// str returns the text of a member of the object n, "" if it has none.
func (d *document) str(n int, key string) string {
	if i := d.member(n, key); i >= 0 && d.nodes[i].kind == text {
		return string(d.nodes[i].value)
	}
	return ""
}

// uint returns the number that a member of the object n is, 0 if it is none.
func (d *document) uint(n int, key string) uint64 {
	i := d.member(n, key)
	if i < 0 || d.nodes[i].kind != number {
		return 0
	}
	u, _ := parseUint(d.nodes[i].raw)
	return u
}

func parseUint(b []byte) (n uint64, ok bool) {
	if len(b) == 0 || len(b) > 19 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}

// An objects reads the objects of a stream, one after the other: JSON lines, an
// array of objects, or objects printed over several lines. What stands between
// them, blanks, commas and the brackets of an array, is passed over.
type objects struct {
	src  io.Reader
	buf  []byte
	r, w int
	line int // of buf[r], from 1
	err  error
}

func newObjects(src io.Reader) *objects {
	return &objects{src: src, line: 1, buf: make([]byte, 64<<10)}
}

// next returns the next object and the number of the line it begins on. It is
// borrowed until the next call.
func (o *objects) next() (b []byte, line int, err error) {
	for {
		for o.r < o.w {
			switch o.buf[o.r] {
			case '\n':
				o.line++
			case ' ', '\t', '\r', ',', '[', ']':
			case '{':
				return o.object()
			default:
				return nil, o.line, fmt.Errorf("line %d: no JSON object", o.line)
			}
			o.r++
		}
		if err := o.fill(); err != nil {
			return nil, o.line, err
		}
	}
}

// object reads from a bracket to the one that closes it.
func (o *objects) object() (b []byte, line int, err error) {
	depth, lines := 0, 0
	quoted, escaped := false, false
	for i := o.r; ; i++ {
		if i >= o.w {
			i -= o.r // what has been read of it moves to the front of the buffer
			if i > maxObject {
				return nil, o.line, fmt.Errorf("line %d: an object of more than %d MiB", o.line, maxObject>>20)
			}
			if err := o.fill(); err == io.EOF {
				return nil, o.line, fmt.Errorf("line %d: the object breaks off: %w", o.line, io.ErrUnexpectedEOF)
			} else if err != nil {
				return nil, o.line, err
			}
		}
		c := o.buf[i]
		if c == '\n' {
			lines++
		}
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
				b, line = o.buf[o.r:i+1], o.line
				o.r = i + 1
				o.line += lines
				return b, line, nil
			}
		}
	}
}

// fill moves what has not been consumed to the front of the buffer and reads
// more behind it.
func (o *objects) fill() error {
	if o.err != nil {
		return o.err
	}
	o.w = copy(o.buf, o.buf[o.r:o.w])
	o.r = 0
	if o.w == len(o.buf) {
		o.buf = append(o.buf, make([]byte, len(o.buf))...)
	}
	for idle := 0; ; idle++ {
		n, err := o.src.Read(o.buf[o.w:])
		o.w += n
		o.err = err
		switch {
		case n > 0:
			return nil
		case err != nil:
			return err
		case idle == 100:
			o.err = io.ErrNoProgress
			return o.err
		}
	}
}

// newObjectsOf reads the objects in b.
func newObjectsOf(b []byte) *objects { return &objects{buf: b, w: len(b), line: 1, err: io.EOF} }
