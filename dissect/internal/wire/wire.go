// Package wire has what protocols with different messages read alike.
package wire

import (
	"bytes"

	"github.com/qdissect/qdissect/dissect"
)

// Parse decodes a copy of a payload without an analyzer. The result is the
// caller's own if the decoder is new. M is the interface of the protocol's messages. The error is a
// *dissect.Error that says where reading ended.
func Parse[M any](d dissect.Decoder, payload []byte) (M, error) {
	var r dissect.Reader
	var m dissect.Message
	r.Reset(bytes.Clone(payload), 0, false)
	d.Decode(&r, &m)
	if e := r.Err(); e != nil {
		err := *e
		return m.Body.(M), &err
	}
	return m.Body.(M), nil
}
