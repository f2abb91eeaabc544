// Package wire has functions for detecting and parsing messages that several protocols
// share.
package wire

import (
	"bytes"

	"github.com/qdissect/qdissect/dissect"
)

// Known returns a value that was just read, or none if reading failed.
func Known[T any](r *dissect.Reader, v T) dissect.Opt[T] {
	return dissect.Opt[T]{Value: v, OK: !r.Failed()}
}

// Parse decodes a copy of a payload without an analyzer. M is the interface of the
// protocol's messages. The caller owns the result if the decoder is new. The error is a
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
