package hostile

import (
	"bytes"

	"github.com/qdissect/qdissect/internal/mkpcap"
)

// Talk returns a capture of honest traffic only.
func Talk(o mkpcap.Options) []byte {
	var b bytes.Buffer
	s := NewStage(&b, o)
	s.Speak(Datagrams())
	return b.Bytes()
}

// Window is a zstd file with a window of a terabyte.
const Window = "\x28\xb5\x2f\xfd\x00\xf0\x01\x00\x00"
