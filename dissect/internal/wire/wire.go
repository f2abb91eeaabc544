// Package wire has functions for detecting and parsing messages that several protocols
// share.
package wire

import "github.com/qdissect/qdissect/dissect"

// Known returns a value that was just read, or none if reading failed.
func Known[T any](r *dissect.Reader, v T) dissect.Opt[T] {
	return dissect.Opt[T]{Value: v, OK: !r.Failed()}
}

// State sets what a message says of its server, unless reading failed.
func State(r *dissect.Reader, m *dissect.Message, s dissect.Server) {
	if !r.Failed() {
		m.Server = s
	}
}

// Parse is [dissect.Parse] for the messages of one protocol, of which M is the interface.
func Parse[M any](p *dissect.Protocol, payload []byte) (M, error) {
	m, _, err := dissect.Parse(p, payload)
	return m.Body.(M), err
}
