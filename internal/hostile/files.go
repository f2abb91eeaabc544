package hostile

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/qdissect/qdissect/internal/mkpcap"
)

// Talk returns a capture of honest traffic only.
func Talk(o mkpcap.Options) []byte {
	var b bytes.Buffer
	s := NewStage(&b, o)
	s.Speak(Datagrams())
	return b.Bytes()
}

// zeroes is an endless reader of zero bytes.
type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Gzip writes a compressed honest capture followed by n zero bytes, which are empty
// frames.
func Gzip(w io.Writer, n int64) error {
	z := gzip.NewWriter(w)
	_, err := z.Write(Talk(mkpcap.Options{}))
	if err == nil {
		_, err = io.CopyN(z, zeroes{}, n)
	}
	if err == nil {
		err = z.Close()
	}
	return err
}

// Zstd is like Gzip with zstd.
func Zstd(w io.Writer, n int64) error {
	z, err := zstd.NewWriter(w)
	if err == nil {
		_, err = z.Write(Talk(mkpcap.Options{}))
	}
	if err == nil {
		_, err = io.CopyN(z, zeroes{}, n)
	}
	if err == nil {
		err = z.Close()
	}
	return err
}

// Window is a zstd file with a window of a terabyte.
const Window = "\x28\xb5\x2f\xfd\x00\xf0\x01\x00\x00"
