package capture

import (
	"fmt"
	"io"
)

// An Error says where a capture ended that should not have ended there, or why
// it is none. All frames before were delivered.
type Error struct {
	// File is the name that was opened.
	File string
	// Frame is the number of the frame that could not be read, or before
	// which something else could not be read; 0 if the file is no capture.
	Frame uint64
	// Offset is where its record begins: the number of bytes before it, in
	// the file or, if the file is compressed, in what the file unpacks to.
	Offset int64
	// Coding is "gzip" or "zstd" if the file is compressed so.
	Coding string
	// Err is what is wrong. It wraps [io.ErrUnexpectedEOF] if the file ends
	// too early.
	Err error
}

func (e *Error) Error() string {
	switch {
	case e.Frame == 0:
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	case e.Coding != "":
		return fmt.Sprintf("%s: frame %d at offset %d of the uncompressed data: %v", e.File, e.Frame, e.Offset, e.Err)
	}
	return fmt.Sprintf("%s: frame %d at offset %d: %v", e.File, e.Frame, e.Offset, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// A cutError says that the file ends inside of something.
type cutError struct {
	what       string
	have, want int64
	cause      error
}

func (e *cutError) Error() string {
	s := fmt.Sprintf("%s cut short: %d of %d bytes", e.what, e.have, e.want)
	if e.cause != io.ErrUnexpectedEOF {
		s += ": " + e.cause.Error()
	}
	return s
}

func (e *cutError) Unwrap() error { return e.cause }

// cut returns the error for something of want bytes, of which only have are
// there.
func (s *stream) cut(what string, have, want int64) error {
	return &cutError{what, have, want, early(s.err)}
}

// early returns the error for an end of the file that is none of its records.
func early(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
