package capture

import (
	"encoding/binary"
	"io"
	"math"
	"slices"
	"time"
)

// Recent keeps the newest frames in memory, up to a number of bytes. Frames wait until it is known which of them nobody
// wants. Its chunks have no pointers, and what was written does not change: [Recent.Frames] costs nothing, and the garbage
// collector looks at nothing.
type Recent struct {
	// Limit is the number of bytes to keep.
	Limit    int
	chunks   [][]byte
	size     int
	forgot   bool
	waiting  []byte
	first    uint64 // number of the first that waits
	unwanted []uint64
}

const (
	recentChunk  = 1 << 20
	recentHeader = 8 + 8 + 2 + 4 + 4 + 1 // number, time, link type, lengths, length of the name
)

// Save adds a frame, without its comments. It returns the number of bytes that wait.
func (r *Recent) Save(f *Frame) int {
	name := f.Name[:min(len(f.Name), math.MaxUint8)]
	if len(r.waiting) == 0 {
		r.first = f.Number
	}
	b := r.waiting
	b = binary.LittleEndian.AppendUint64(b, f.Number)
	b = binary.LittleEndian.AppendUint64(b, uint64(f.Time))
	b = binary.LittleEndian.AppendUint16(b, f.LinkType)
	b = binary.LittleEndian.AppendUint32(b, uint32(f.Length))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(f.Data)))
	b = append(b, uint8(len(name)))
	b = append(b, name...)
	r.waiting = append(b, f.Data...)
	return len(r.waiting)
}

// Drop says that nobody wants the frame of that number, if it waits.
func (r *Recent) Drop(number uint64) {
	i := number - r.first
	if number < r.first || i > uint64(len(r.waiting)) { // a frame has more than a byte
		return
	}
	for uint64(len(r.unwanted)) <= i/64 {
		r.unwanted = append(r.unwanted, 0)
	}
	r.unwanted[i/64] |= 1 << (i % 64)
}

// Settle keeps the frames that wait, except those that nobody wants.
func (r *Recent) Settle() {
	for b := r.waiting; len(b) > 0; {
		n := recentHeader + int(b[26]) + int(binary.LittleEndian.Uint32(b[22:]))
		if i := binary.LittleEndian.Uint64(b) - r.first; i/64 >= uint64(len(r.unwanted)) || r.unwanted[i/64]>>(i%64)&1 == 0 {
			r.keep(b[:n])
		}
		b = b[n:]
	}
	r.waiting, r.unwanted = r.waiting[:0], r.unwanted[:0]
}

func (r *Recent) keep(record []byte) {
	last := len(r.chunks) - 1
	if last < 0 || cap(r.chunks[last])-len(r.chunks[last]) < len(record) {
		c := make([]byte, 0, max(recentChunk, len(record)))
		r.chunks = append(r.chunks, c)
		for r.size += cap(c); r.size > r.Limit && len(r.chunks) > 1; r.chunks = r.chunks[1:] {
			r.size -= cap(r.chunks[0])
			r.forgot = true
		}
		last = len(r.chunks) - 1
	}
	r.chunks[last] = append(r.chunks[last], record...)
}

// Frames returns a source of the frames that are kept. It stays valid, also while frames are saved.
func (r *Recent) Frames() *Frames { return &Frames{Cut: r.forgot, chunks: slices.Clone(r.chunks)} }

// Frames is a [Source] of frames in memory.
type Frames struct {
	// Cut says that there were older ones.
	Cut    bool
	chunks [][]byte
	rest   []byte // of the chunk that is being read
}

// Again returns the same frames from the first on.
func (s *Frames) Again() *Frames { return &Frames{Cut: s.Cut, chunks: s.chunks} }

// Next returns the next frame.
func (s *Frames) Next(f *Frame) error {
	for len(s.rest) == 0 {
		if len(s.chunks) == 0 {
			return io.EOF
		}
		s.rest, s.chunks = s.chunks[0], s.chunks[1:]
	}
	b := s.rest
	*f = Frame{Number: binary.LittleEndian.Uint64(b), LinkType: binary.LittleEndian.Uint16(b[16:]), Length: int(binary.LittleEndian.Uint32(b[18:]))}
	f.Time = Stamp(binary.LittleEndian.Uint64(b[8:]))
	n, name := int(binary.LittleEndian.Uint32(b[22:])), int(b[26])
	b = b[recentHeader:]
	f.Name, f.Data, s.rest = string(b[:name]), b[name:name+n], b[name+n:]
	return nil
}

// LinkType returns the link type of the next frame.
func (s *Frames) LinkType() (uint16, bool) {
	var f Frame
	ahead := *s
	if ahead.Next(&f) != nil {
		return 0, false
	}
	return f.LinkType, true
}

// Close does nothing.
func (s *Frames) Close() error { return nil }

// First returns the time of the first frame, and false if there is none.
func (s *Frames) First() (time.Time, bool) {
	var f Frame
	err := s.Again().Next(&f)
	return f.Time.UTC(), err == nil
}
