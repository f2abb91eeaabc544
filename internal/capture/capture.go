// Package capture hands out the frames of a packet capture, one at a time, in
// the order in which the file has them.
//
// It reads pcap (draft-ietf-opsawg-pcap, and the older and the modified
// variants of it), pcapng (draft-ietf-opsawg-pcapng) and snoop (RFC 1761),
// each of them plain or compressed with gzip or zstd, from a file, from
// standard input or from any [io.Reader]. What a file is, its first bytes
// say, never its name.
//
// A capture is hostile input. No length in a file sizes an allocation, but for
// the window of zstd, which has a limit: a [Reader] works in a buffer of fixed
// size, however long the file is. A damaged or cut file gives every frame
// before the damage and then one [Error] that says where it lies.
//
// Once warm, reading allocates nothing per frame, except for the comments that
// a frame of a pcapng file may have.
//
// This is the only package that imports gopacket. pcap and pcapng are read by
// code of our own: gopacket's reader of pcap takes a record without its data
// for the end of the file, its reader of pcapng gets times in powers of two
// wrong, keeps what a section says of itself without a limit and loses its way
// in a block that is too short for what it holds, and both take about twice the
// time. They are the oracle of the tests. gopacket reads snoop.
package capture

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// MaxFrame is the longest frame that is read, in bytes: the largest snap
// length that tcpdump, libpcap and Wireshark take for networks. A record that
// claims more is damage.
const MaxFrame = 256 << 10

// A Frame is one captured frame, as the file has it.
type Frame struct {
	// Number counts the frames of the source, from 1. Of pcapng, the blocks
	// count that Wireshark shows among the packets, so that the numbers are
	// its own.
	Number uint64
	// Time is when the frame was captured, in UTC. It is zero if the file
	// does not say (simple packet blocks) or names a time that does not fit
	// into [time.Time.UnixNano], which reaches from 1678 to 2262.
	Time time.Time
	// LinkType is the kind of the frame's first header, as in the file: a
	// number of https://www.tcpdump.org/linktypes.html.
	LinkType uint16
	// Data is what was captured of the frame, at most MaxFrame bytes. It is
	// borrowed: it dies at the next call of Next or Close.
	Data []byte
	// Length is how many bytes the frame had on the wire. It is larger than
	// len(Data) if the snap length cut the frame, and never smaller.
	Length int
	// Interface tells apart the interfaces of a pcapng file. It counts them
	// over all sections, from 0. Other formats know one interface only.
	Interface int
	// Name is that of the interface, where there are several or the capture is
	// live: its number if the file gives it none. It is "" otherwise.
	Name string
	// Comments are the comments of the frame in a pcapng file (opt_comment),
	// in the order of the file; nil if there are none. They are text from
	// the file: nothing is checked or taken out. They are not borrowed.
	Comments []string
}

// A Source gives frames, from a file or from the network.
type Source interface {
	// Next fills f with the next frame. It returns [io.EOF] when there are no
	// more, and then, as after any other error, the same again. After an
	// error f means nothing.
	Next(f *Frame) error
	// LinkType returns the link type of the first interface. It is false as
	// long as no interface is known. Frames of other interfaces may have
	// another one: see [Frame].LinkType.
	LinkType() (uint16, bool)
	// Close gives back what the source holds.
	Close() error
}

// A Reader is the [Source] of a capture file. It must not be used by several
// goroutines at once.
type Reader struct {
	name   string
	coding string
	in     *stream
	format format
	frames uint64
	err    error
	closes []func() error
}

// A format knows the records of a kind of file. It reads from a stream in
// which the first byte of the file has not been consumed.
type format interface {
	// next fills all fields of f but the number. It marks the record that it
	// reads in the stream, for the error message. io.EOF is the clean end.
	next(f *Frame) error
	linkType() (uint16, bool)
}

// Open opens the capture file of that name; "-" is standard input. The first
// bytes are read at once: the error says if this is no capture. Damage further
// on is told by [Reader.Next].
func Open(name string) (*Reader, error) {
	if name == "-" {
		return NewReader(os.Stdin, "standard input")
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	r, err := NewReader(file, name)
	if err != nil {
		file.Close()
		return nil, err
	}
	r.closes = append(r.closes, file.Close)
	return r, nil
}

// NewReader reads a capture from src. The name is for error messages. It reads
// ahead as far as one call of src.Read gives, and waits for more only if a
// frame needs it; of a pcapng file it reads as far as the first interface.
// [Reader.Close] does not close src.
func NewReader(src io.Reader, name string) (*Reader, error) {
	r := &Reader{name: name, in: newStream(src)}
	if err := r.decompress(); err != nil {
		return nil, r.locate(0, err)
	}
	var err error
	if r.format, err = newFormat(r.in); err != nil {
		if r.coding != "" && (r.in.err == nil || r.in.err == io.EOF) {
			err = fmt.Errorf("unpacked: %w", err)
		}
		r.Close()
		return nil, r.locate(0, err)
	}
	return r, nil
}

// Next fills f with the next frame of the file. At the clean end of the file
// it returns [io.EOF]; when the file is damaged or cut, or cannot be read, an
// [*Error].
func (r *Reader) Next(f *Frame) error {
	if r.err != nil {
		return r.err
	}
	if err := r.format.next(f); err != nil {
		if err != io.EOF {
			err = r.locate(r.frames+r.in.passed+1, err)
		}
		r.err = err
		return err
	}
	r.frames++
	f.Number = r.frames + r.in.passed
	return nil
}

// LinkType returns the link type of the first interface. It is known from the
// beginning; only a pcapng file may have no interface, and then it has no
// frames either.
func (r *Reader) LinkType() (uint16, bool) { return r.format.linkType() }

// Close closes the file, if [Open] opened it.
func (r *Reader) Close() error {
	r.err = fs.ErrClosed
	var errs []error
	for _, c := range r.closes {
		errs = append(errs, c())
	}
	r.closes = nil
	return errors.Join(errs...)
}

// locate says of an error where it happened. Frame 0 is the head of the file,
// of which the offset tells nothing.
func (r *Reader) locate(frame uint64, err error) error {
	// The name is in the message already, and the operation is no news.
	if path, ok := err.(*fs.PathError); ok {
		err = path.Err
	}
	return &Error{File: r.name, Frame: frame, Offset: r.in.record, Coding: r.coding, Err: err}
}
