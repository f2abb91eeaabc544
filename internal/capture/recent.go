package capture

import (
	"encoding/binary"
	"io"
	"math"
	"time"
)

// Recent keeps the newest frames in memory, up to a number of bytes. Its chunks have no pointers, and what was written
// does not change: [Recent.Frames] costs nothing, and the garbage collector looks at nothing.
type Recent struct {
	// Limit is the number of bytes to keep.
	Limit  int
	chunks [][]byte
	size   int
}

const (
	recentChunk  = 1 << 20
	recentHeader = 8 + 8 + 2 + 4 + 4 + 1 // time, number, link type, lengths, length of the name
	noTime       = math.MinInt64
)

// Save adds a frame, without its comments.
func (r *Recent) Save(f *Frame) {
	name := f.Name[:min(len(f.Name), math.MaxUint8)]
	need := recentHeader + len(name) + len(f.Data)
	last := len(r.chunks) - 1
	if last < 0 || cap(r.chunks[last])-len(r.chunks[last]) < need {
		c := make([]byte, 0, max(recentChunk, need))
		r.chunks = append(r.chunks, c)
		for r.size += cap(c); r.size > r.Limit && len(r.chunks) > 1; r.chunks = r.chunks[1:] {
			r.size -= cap(r.chunks[0])
		}
		last = len(r.chunks) - 1
	}
	t := int64(noTime)
	if !f.Time.IsZero() {
		t = f.Time.UnixNano()
	}
	b := r.chunks[last]
	b = binary.LittleEndian.AppendUint64(b, uint64(t))
	b = binary.LittleEndian.AppendUint64(b, f.Number)
	b = binary.LittleEndian.AppendUint16(b, f.LinkType)
	b = binary.LittleEndian.AppendUint32(b, uint32(f.Length))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(f.Data)))
	b = append(b, uint8(len(name)))
	b = append(b, name...)
	r.chunks[last] = append(b, f.Data...)
}

// Frames returns a source of the frames so far. It stays valid, also while frames are saved.
func (r *Recent) Frames() *Frames { return &Frames{chunks: append([][]byte(nil), r.chunks...)} }

// Frames is a [Source] of frames in memory.
type Frames struct {
	chunks [][]byte
	rest   []byte // of the chunk that is being read
}

// Again returns the same frames from the first on.
func (s *Frames) Again() *Frames { return &Frames{chunks: s.chunks} }

// Next returns the next frame.
func (s *Frames) Next(f *Frame) error {
	for len(s.rest) == 0 {
		if len(s.chunks) == 0 {
			return io.EOF
		}
		s.rest, s.chunks = s.chunks[0], s.chunks[1:]
	}
	b := s.rest
	*f = Frame{Number: binary.LittleEndian.Uint64(b[8:]), LinkType: binary.LittleEndian.Uint16(b[16:]), Length: int(binary.LittleEndian.Uint32(b[18:]))}
	if t := int64(binary.LittleEndian.Uint64(b)); t != noTime {
		f.Time = time.Unix(0, t).UTC()
	}
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
	return f.Time, err == nil
}
