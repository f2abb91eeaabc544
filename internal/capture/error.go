package capture

import (
	"fmt"
	"io"
)

// An Error says where a capture is damaged, or why a file is not a capture. All frames
// before the damage were delivered.
type Error struct {
	// File is the name that was opened.
	File string
	// Frame is the number of the frame that could not be read, or of the next frame if a
	// block between frames could not be read; 0 if the file is not a capture.
	Frame uint64
	// Offset is the offset of its record, in the file or, if the file is compressed, in
	// its decompressed contents.
	Offset int64
	// Coding is the compression of the file: "gzip", "zstd" or "".
	Coding string
	// Err is the cause. It wraps [io.ErrUnexpectedEOF] if the file ends too early.
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

// A cutError is the error that the file ends within a record.
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

// cut returns the error for a record of want bytes of which the file has only have.
func (s *stream) cut(what string, have, want int64) error {
	return &cutError{what, have, want, early(s.err)}
}

// early turns io.EOF within a record into io.ErrUnexpectedEOF.
func early(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
