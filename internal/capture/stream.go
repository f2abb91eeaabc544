package capture

import "io"

// bufferSize is the size of a stream's buffer where a record is longer than usual: more than the longest one (MaxFrame
// and its headers).
const bufferSize = 512 << 10

// usualBuffer is the size of the buffer otherwise, so that it stays in the processor's cache.
const usualBuffer = 32 << 10

// A stream is a buffered reader with a peek of any length up to its buffer. It counts the
// bytes that are consumed.
type stream struct {
	frames uint64 // that were read, and blocks without a frame that count as frames
	src    io.Reader
	buf    []byte // of usualBuffer bytes, or of bufferSize
	r, w   int    // buf[r:w] has been read and not consumed
	base   int64  // file offset of buf[0]
	err    error  // the error of src; io.EOF at its end
	record int64  // see mark
}

func newStream(src io.Reader) *stream { return &stream{src: src, buf: make([]byte, usualBuffer)} }

// offset returns the number of bytes consumed.
func (s *stream) offset() int64 { return s.base + int64(s.r) }

// mark records that a record begins here.
func (s *stream) mark() { s.record = s.offset() }

// peek returns the next n bytes, at most bufferSize, or fewer if the file ends before;
// then err has the reason. The result is borrowed until the next call of any method.
func (s *stream) peek(n int) []byte {
	b := s.ahead(n)
	return b[:min(n, len(b))]
}

// ahead buffers n bytes, or fewer if the file ends before, and returns all buffered bytes,
// borrowed like those of peek.
func (s *stream) ahead(n int) []byte {
	if s.w-s.r < n {
		s.fill(n)
	}
	return s.buf[s.r:s.w]
}

// fill reads until the buffer has n bytes or the file ends. It reads no further than
// needed, so that a frame in a pipe is available as soon as it has arrived.
func (s *stream) fill(n int) {
	buf := s.buf
	if n > len(buf) {
		buf = make([]byte, bufferSize)
	}
	s.w = copy(buf, s.buf[s.r:s.w])
	s.buf = buf
	s.base += int64(s.r)
	s.r = 0
	for idle := 0; s.w < n && s.err == nil; {
		m, err := s.src.Read(s.buf[s.w:])
		s.w += m
		s.err = err
		if idle++; m > 0 {
			idle = 0
		}
		if idle == 100 && err == nil {
			s.err = io.ErrNoProgress
		}
	}
}

// advance consumes n buffered bytes.
func (s *stream) advance(n int) { s.r += n }

// skip consumes n bytes. It returns the number consumed, which is smaller if the file ends
// before.
func (s *stream) skip(n int64) int64 {
	left := n
	for {
		m := min(left, int64(s.w-s.r))
		s.r += int(m)
		left -= m
		if left == 0 || s.err != nil {
			return n - left
		}
		s.fill(1)
	}
}

// Read implements io.Reader for decompressors and gopacket.
func (s *stream) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(s.peek(1)) == 0 {
		return 0, s.err
	}
	n := copy(p, s.buf[s.r:s.w])
	s.advance(n)
	return n, nil
}
