package capture

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Rotation says when a series of files goes on with the next one: with the
// first frame behind any of its limits. A limit of 0 is none.
type Rotation struct {
	// Size is that of a file in bytes, and Frames how many it takes.
	Size   int64
	Frames uint64
	// Time is how long a file goes on after its first frame. With Every, files
	// end where the time of the day, in UTC, is a multiple of it.
	Time, Every time.Duration
	// Keep is how many files are kept. The oldest one is removed when there
	// is one more.
	Keep int
	// Files is how many files there are to be: a frame behind the last one
	// gets ErrSeriesEnd.
	Files int
}

// ErrSeriesEnd says that a series has all the files it was to have.
var ErrSeriesEnd = errors.New("all files have been written")

func (r *Rotation) on() bool { return r.Size > 0 || r.Frames > 0 || r.Time > 0 || r.Every > 0 }

// A Series writes frames into a file, or, if it rotates, into one after the
// other. Each is readable to its last whole frame at any moment after Flush, and
// complete when the next one is begun.
//
// The files of a series that rotates are named as dumpcap names them: trace.pcapng
// becomes trace_00001_20261121143000.pcapng, with the local time of its first
// frame.
type Series struct {
	name   string
	r      Rotation
	making Making
	out    *Writer // of the current file, nil if there is none
	snap   int
	names  []string // of interfaces
	files  int
	frames uint64 // in the current file
	began  time.Time
	kept   []string
}

// CreateSeries begins a series. Without a rotation, the file is created at once.
func CreateSeries(name string, r Rotation, m Making) (*Series, error) {
	s := &Series{name: name, r: r, making: m}
	if r.on() {
		// Whether files can be created there is better known now.
		st, err := os.Stat(filepath.Dir(name))
		if err == nil && !st.IsDir() {
			err = fmt.Errorf("%s is no folder", filepath.Dir(name))
		}
		return s, err
	}
	return s, s.open(name)
}

// Size returns how large the current file is by now.
func (s *Series) Size() int64 {
	if s.out == nil {
		return 0
	}
	return s.out.Size()
}

// SetSnapLength is [Writer.SetSnapLength] for all files.
func (s *Series) SetSnapLength(n int) {
	s.snap = n
	if s.out != nil {
		s.out.SetSnapLength(n)
	}
}

// SetInterfaces gives names to the interfaces of all files.
func (s *Series) SetInterfaces(names []string) {
	s.names = names
	if s.out != nil {
		s.out.SetInterfaces(names)
	}
}

func (s *Series) open(name string) error {
	out, err := create(name, &s.making)
	if err != nil {
		return err
	}
	out.SetSnapLength(s.snap)
	out.SetInterfaces(s.names)
	s.out = out
	s.files++
	s.frames = 0
	return nil
}

// Save writes a frame, into the next file if it is time for that.
func (s *Series) Save(f *Frame) error {
	if s.r.on() && (s.out == nil || s.due(f.Time)) {
		if err := s.next(f.Time); err != nil {
			return err
		}
	}
	if s.out == nil {
		return fs.ErrClosed
	}
	s.frames++
	return s.out.Write(f)
}

// due tells whether a frame of that time belongs into the next file.
func (s *Series) due(at time.Time) bool {
	r := &s.r
	switch {
	case r.Size > 0 && s.out.Size() >= r.Size, r.Frames > 0 && s.frames >= r.Frames:
		return true
	case r.Time > 0 && at.Sub(s.began) >= r.Time:
		return true
	}
	return r.Every > 0 && !at.Truncate(r.Every).Equal(s.began.Truncate(r.Every))
}

// next ends the current file and begins another one.
func (s *Series) next(at time.Time) error {
	if s.r.Files > 0 && s.files >= s.r.Files {
		return ErrSeriesEnd
	}
	if s.out != nil {
		if err := s.out.Close(); err != nil {
			return err
		}
		s.out = nil
	}
	stem, ext := s.name, ""
	for _, e := range []string{".gz", ".zst", ".pcapng", ".pcap", ".cap", ".dmp"} {
		if strings.HasSuffix(strings.ToLower(stem), e) {
			stem, ext = stem[:len(stem)-len(e)], stem[len(stem)-len(e):]+ext
		}
	}
	name := fmt.Sprintf("%s_%05d_%s%s", stem, s.files+1, at.Local().Format("20060102150405"), ext)
	if err := s.open(name); err != nil {
		return err
	}
	s.began = at
	s.kept = append(s.kept, name)
	if s.r.Keep > 0 && len(s.kept) > s.r.Keep {
		oldest := s.kept[0]
		s.kept = append(s.kept[:0], s.kept[1:]...)
		if err := os.Remove(oldest); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if s.r.Keep <= 0 {
		s.kept = s.kept[:0]
	}
	return nil
}

// Flush makes the current file readable to its last frame.
func (s *Series) Flush() error {
	if s.out == nil {
		return nil
	}
	return s.out.Flush()
}

// Close ends the current file.
func (s *Series) Close() error {
	if s.out == nil {
		return nil
	}
	err := s.out.Close()
	s.out = nil
	return err
}
