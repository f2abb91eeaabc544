package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"
)

// The test files are built number by number, so that they can be compared with the
// specifications.

type order interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

var orders = []struct {
	name string
	order
}{
	{"little-endian", binary.LittleEndian},
	{"big-endian", binary.BigEndian},
}

// A pcapFile builds a pcap file.
type pcapFile struct {
	order
	b []byte
}

func newPcapFile(o order, magic uint32, major, minor uint16, link uint32) *pcapFile {
	f := &pcapFile{order: o}
	f.b = o.AppendUint32(f.b, magic)
	f.b = o.AppendUint16(f.b, major)
	f.b = o.AppendUint16(f.b, minor)
	f.b = append(f.b, make([]byte, 8)...)
	f.b = o.AppendUint32(f.b, 65535)
	f.b = o.AppendUint32(f.b, link)
	return f
}

// record adds the four numbers of a record and its data.
func (f *pcapFile) record(seconds, fraction, captured, length uint32, data string) *pcapFile {
	for _, n := range []uint32{seconds, fraction, captured, length} {
		f.b = f.AppendUint32(f.b, n)
	}
	f.b = append(f.b, data...)
	return f
}

// A pcapngFile builds a pcapng file.
type pcapngFile struct {
	order
	b []byte
}

func (f *pcapngFile) block(typ uint32, contents ...[]byte) *pcapngFile {
	body := bytes.Join(contents, nil)
	body = append(body, make([]byte, -len(body)&3)...)
	f.b = f.AppendUint32(f.b, typ)
	f.b = f.AppendUint32(f.b, uint32(len(body)+12))
	f.b = append(f.b, body...)
	f.b = f.AppendUint32(f.b, uint32(len(body)+12))
	return f
}

func (f *pcapngFile) numbers(n ...uint32) []byte {
	var b []byte
	for _, n := range n {
		b = f.AppendUint32(b, n)
	}
	return b
}

func (f *pcapngFile) option(code uint16, value string) []byte {
	b := f.AppendUint16(nil, code)
	b = f.AppendUint16(b, uint16(len(value)))
	b = append(b, value...)
	return append(b, make([]byte, -len(b)&3)...)
}

func (f *pcapngFile) section(options ...[]byte) *pcapngFile {
	b := f.numbers(pcapngOrder)
	b = f.AppendUint16(b, 1)
	b = f.AppendUint16(b, 0)
	b = f.AppendUint64(b, 1<<64-1)
	return f.block(blockSection, append([][]byte{b}, options...)...)
}

func (f *pcapngFile) iface(link uint16, snap uint32, options ...[]byte) *pcapngFile {
	b := f.AppendUint16(nil, link)
	b = f.AppendUint16(b, 0)
	b = f.AppendUint32(b, snap)
	return f.block(blockInterface, append([][]byte{b}, options...)...)
}

func (f *pcapngFile) enhanced(id uint32, stamp uint64, length uint32, data string, options ...[]byte) *pcapngFile {
	b := f.numbers(id, uint32(stamp>>32), uint32(stamp), uint32(len(data)), length)
	b = append(b, data...)
	b = append(b, make([]byte, -len(b)&3)...)
	return f.block(blockEnhanced, append([][]byte{b}, options...)...)
}

func (f *pcapngFile) obsolete(id uint16, stamp uint64, length uint32, data string, options ...[]byte) *pcapngFile {
	b := f.AppendUint16(nil, id)
	b = f.AppendUint16(b, 7) // drops
	b = append(b, f.numbers(uint32(stamp>>32), uint32(stamp), uint32(len(data)), length)...)
	b = append(b, data...)
	b = append(b, make([]byte, -len(b)&3)...)
	return f.block(blockPacket, append([][]byte{b}, options...)...)
}

func (f *pcapngFile) simple(length uint32, data string) *pcapngFile {
	return f.block(blockSimple, f.numbers(length), []byte(data))
}

// readAll reads all frames. The frames own their data; err is never io.EOF.
func readAll(file []byte) (frames []Frame, err error) {
	r, err := NewReader(bytes.NewReader(file), "x")
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return drain(r)
}

func drain(r Source) (frames []Frame, err error) {
	for {
		f := Frame{Time: StampOf(time.Unix(1, 1)), LinkType: 9999, Data: []byte("before"), Length: -1, Interface: -1, Comments: []string{"before"}}
		if err := r.Next(&f); err != nil {
			if again := r.Next(&f); again != err {
				return frames, fmt.Errorf("Next returned %v, and then %v", err, again)
			}
			if err == io.EOF {
				err = nil
			}
			return frames, err
		}
		f.Data = slices.Clone(f.Data)
		frames = append(frames, f)
	}
}

// line formats all fields of a frame.
func line(f Frame) string {
	at := "-"
	if !f.Time.IsZero() {
		at = f.Time.UTC().Format("2006-01-02T15:04:05.999999999Z07:00")
	}
	s := fmt.Sprintf("%d %s %s/%d %d:%q", f.Number, at, LinkTypeName(f.LinkType), f.Interface, f.Length, f.Data)
	for _, c := range f.Comments {
		s += fmt.Sprintf(" #%q", c)
	}
	return s
}

func lines(frames []Frame) []string {
	var s []string
	for _, f := range frames {
		s = append(s, line(f))
	}
	return s
}

// check compares the frames and the error of a file with the expected ones: a line per
// frame, and the error, "" for none.
func check(t *testing.T, file []byte, want []string, wantErr string) {
	t.Helper()
	frames, err := readAll(file)
	if got := lines(frames); !slices.Equal(got, want) {
		t.Errorf("frames:\n%q\nwant:\n%q", got, want)
	}
	switch {
	case err == nil && wantErr != "":
		t.Errorf("no error, want %q", wantErr)
	case err != nil && err.Error() != wantErr:
		t.Errorf("error %q, want %q", err, wantErr)
	case err != nil:
		if _, ok := errors.AsType[*Error](err); !ok {
			t.Errorf("error %v is a %T", err, err)
		}
	}
}
