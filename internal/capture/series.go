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

// A Rotation says when a series starts a new file: with the first frame beyond any limit.
// A limit of 0 means no limit.
type Rotation struct {
	// Size is the size of a file in bytes, Frames the number of its frames.
	Size   int64
	Frames uint64
	// Time is the duration of a file, from its first frame. With Every, files end when the
	// time of day, in UTC, is a multiple of Every.
	Time, Every time.Duration
	// Keep is the number of files to keep. Older ones are removed.
	Keep int
	// Files is the number of files to write. A frame beyond the last file gets
	// ErrSeriesEnd.
	Files int
}

// ErrSeriesEnd is returned when all files of a series have been written.
var ErrSeriesEnd = errors.New("all files have been written")

func (r *Rotation) on() bool { return r.Size > 0 || r.Frames > 0 || r.Time > 0 || r.Every > 0 }

// A Series writes frames into a file or, with a rotation, into one file after the other.
// After Flush a file is readable up to its last frame. It is complete when the next one
// starts.
//
// With a rotation, files are named as dumpcap names them: trace.pcapng becomes
// trace_00001_20261121143000.pcapng, with the local time of the first frame.
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

// CreateSeries returns a new series. Without a rotation, it creates the file.
func CreateSeries(name string, r Rotation, m Making) (*Series, error) {
	s := &Series{name: name, r: r, making: m}
	if r.on() {
		// Report a missing folder now, not at the first frame.
		st, err := os.Stat(filepath.Dir(name))
		if err == nil && !st.IsDir() {
			err = fmt.Errorf("%s is no folder", filepath.Dir(name))
		}
		return s, err
	}
	return s, s.open(name)
}

// Size returns the size of the current file.
func (s *Series) Size() int64 {
	if s.out == nil {
		return 0
	}
	return s.out.Size()
}

// SetSnapLength calls [Writer.SetSnapLength] for all files.
func (s *Series) SetSnapLength(n int) {
	s.snap = n
	if s.out != nil {
		s.out.SetSnapLength(n)
	}
}

// SetInterfaces sets the names of the interfaces in all files.
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

// Save writes a frame, into a new file if a limit is reached.
func (s *Series) Save(f *Frame) error {
	if s.r.on() && (s.out == nil || s.due(f.Time.UTC())) {
		if err := s.next(f.Time.UTC()); err != nil {
			return err
		}
	}
	if s.out == nil {
		return fs.ErrClosed
	}
	s.frames++
	return s.out.Write(f)
}

// due reports whether a frame with that time belongs into a new file.
func (s *Series) due(at time.Time) bool {
	r := &s.r
	switch {
	case r.Size > 0 && s.out.Size() >= r.Size, r.Frames > 0 && s.frames >= r.Frames, r.Time > 0 && at.Sub(s.began) >= r.Time:
		return true
	}
	return r.Every > 0 && !at.Truncate(r.Every).Equal(s.began.Truncate(r.Every))
}

// next closes the current file and creates another.
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

// Flush makes the current file readable up to its last frame.
func (s *Series) Flush() error {
	if s.out == nil {
		return nil
	}
	return s.out.Flush()
}

// Close closes the current file.
func (s *Series) Close() error {
	if s.out == nil {
		return nil
	}
	err := s.out.Close()
	s.out = nil
	return err
}
