// Package finding declares the findings about requests and replies that most protocols
// have, so that they say the same everywhere. A protocol gives the id and what the
// finding means for it.
package finding

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/advice"
)

const (
	// NonePending is the usual meaning of [Unrequested].
	NonePending = "The capture has requests of this conversation, but no pending one that this reply answers. The request is missing from the capture, or the reply is late, a duplicate or forged."
	// Twice is the usual meaning of [Several].
	Twice = "The request was answered more than once: the network duplicated the reply or the request, or two servers share the address."
)

// NoReply declares the finding of [dissect.Pairing.Unanswered]. doc gives the reasons
// that a server of the protocol may have.
func NoReply(id, doc string) *dissect.FindingType {
	return &dissect.FindingType{ID: id, Severity: dissect.Note, Text: "%p unanswered%p", Doc: doc, Advice: advice.NoReply}
}

// Unrequested declares the finding of judge.Unrequested.
func Unrequested(id, doc string) *dissect.FindingType {
	return &dissect.FindingType{ID: id, Severity: dissect.Note, Text: "no request seen for this reply", Doc: doc}
}

// Several declares the finding of judge.Several.
func Several(id, doc string) *dissect.FindingType {
	return &dissect.FindingType{ID: id, Severity: dissect.Note, Text: "extra reply to the request in frame %d: number %d", Doc: doc}
}

// Amplification declares the finding of judge.Amplification for requests without a
// challenge.
func Amplification(id, doc string) *dissect.FindingType {
	return &dissect.FindingType{
		ID: id, Severity: dissect.Warning, Text: "data sent without a challenge: %r times the request (%d bytes for %d)", Doc: doc,
		Advice: advice.Amplification,
	}
}
