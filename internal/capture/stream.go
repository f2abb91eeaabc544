package capture

import "io"

// bufferSize is how much of a file a stream holds: more than the longest
// record (MaxFrame and what surrounds it), yet little enough to stay in the
// cache of the processor, from where the records are read after they have been
// copied there.
const bufferSize = 512 << 10

// A stream lets the bytes of a file be looked at before they are consumed, and
// counts them.
type stream struct {
	passed uint64 // blocks without a frame that have a frame number
	src    io.Reader
	buf    []byte // of fixed size
	r, w   int    // buf[r:w] has been read and not been consumed
	base   int64  // offset in the file of buf[0]
	err    error  // why src gives no more; io.EOF at its end
	record int64  // see mark
}

func newStream(src io.Reader) *stream {
	return &stream{src: src, buf: make([]byte, bufferSize)}
}

// offset returns how many bytes have been consumed.
func (s *stream) offset() int64 { return s.base + int64(s.r) }

// mark notes that a record begins here.
func (s *stream) mark() { s.record = s.offset() }

// peek returns the next n bytes, or fewer if the file ends before; err then
// says why. They are borrowed until the next call of any method. n is at most
// bufferSize.
func (s *stream) peek(n int) []byte {
	b := s.ahead(n)
	return b[:min(n, len(b))]
}

// ahead is like peek, and returns all that has been read.
func (s *stream) ahead(n int) []byte {
	if s.w-s.r < n {
		s.fill(n)
	}
	return s.buf[s.r:s.w]
}

// fill reads until the buffer has n bytes, or the file no more. It asks src for
// as much as there is room for and is content with what it needs, so that a
// frame in a pipe is seen when it has arrived.
func (s *stream) fill(n int) {
	s.w = copy(s.buf, s.buf[s.r:s.w])
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

// advance consumes n bytes that have been peeked at.
func (s *stream) advance(n int) { s.r += n }

// skip consumes n bytes that nobody wants to see, and returns how many of them
// there were.
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

// Read is for decompressors and gopacket.
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
