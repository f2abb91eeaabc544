package jsonl

import (
	"fmt"
	"io"
)

// A Reader reads the objects of a stream: JSON lines, an array of objects, or objects over
// several lines. It skips white space, commas and brackets between objects.
type Reader struct {
	src   io.Reader
	buf   []byte
	at, w int
	line  int // of buf[at], from 1
	err   error
}

// NewReader returns a reader of the objects in src.
func NewReader(src io.Reader) *Reader { return &Reader{src: src, line: 1, buf: make([]byte, 64<<10)} }

// Next returns the next object and the line that it begins on. The object is borrowed
// until the next call.
func (r *Reader) Next() (b []byte, line int, err error) {
	for {
		for r.at < r.w {
			switch r.buf[r.at] {
			case '\n':
				r.line++
			case ' ', '\t', '\r', ',', '[', ']':
			case '{':
				return r.object()
			default:
				return nil, r.line, fmt.Errorf("line %d: no JSON object", r.line)
			}
			r.at++
		}
		if err := r.fill(); err != nil {
			return nil, r.line, err
		}
	}
}

// object reads from an opening brace to the matching closing one.
func (r *Reader) object() (b []byte, line int, err error) {
	depth, lines := 0, 0
	quoted, escaped := false, false
	for i := r.at; ; i++ {
		if i >= r.w {
			i -= r.at // fill moves the object to the front of the buffer
			if i > maxObject {
				return nil, r.line, fmt.Errorf("line %d: an object of more than %d MiB", r.line, maxObject>>20)
			}
			if err := r.fill(); err == io.EOF {
				return nil, r.line, fmt.Errorf("line %d: the object breaks off: %w", r.line, io.ErrUnexpectedEOF)
			} else if err != nil {
				return nil, r.line, err
			}
		}
		c := r.buf[i]
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
				b, line = r.buf[r.at:i+1], r.line
				r.at = i + 1
				r.line += lines
				return b, line, nil
			}
		}
	}
}

// fill moves the unconsumed bytes to the front of the buffer and reads more after them.
func (r *Reader) fill() error {
	if r.err != nil {
		return r.err
	}
	r.w = copy(r.buf, r.buf[r.at:r.w])
	r.at = 0
	if r.w == len(r.buf) {
		r.buf = append(r.buf, make([]byte, len(r.buf))...)
	}
	for idle := 0; ; idle++ {
		n, err := r.src.Read(r.buf[r.w:])
		r.w += n
		r.err = err
		switch {
		case n > 0:
			return nil
		case err != nil:
			return err
		case idle == 100:
			r.err = io.ErrNoProgress
			return r.err
		}
	}
}

// NewBytes returns a reader of the objects in b. line is the number of its first line.
func NewBytes(b []byte, line int) *Reader { return &Reader{buf: b, w: len(b), line: line, err: io.EOF} }
