// Package finding declares the findings that many protocols have, so that they say the
// same everywhere. A protocol gives the id and what the finding means for it.
package finding

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/advice"
	"github.com/qdissect/qdissect/internal/core"
)

const (
	// NonePending is the usual meaning of [Unrequested].
	NonePending = "The capture has requests of this conversation, but no pending one that this reply answers. The request is missing from the capture, or the reply is late, a duplicate or forged."
	// Twice is the usual meaning of [Several].
	Twice = "The request was answered more than once: the network duplicated the reply or the request, or two servers share the address."
)

// New declares a finding whose advice others have as well.
func New(severity dissect.Severity, id, text, doc, advice string) *dissect.FindingType {
	return &dissect.FindingType{ID: id, Severity: severity, Text: text, Doc: doc, Advice: advice}
}

// Length declares a warning that the message is shorter or longer than its own structure says; see New.
func Length(id, text, doc, advice string) *dissect.FindingType {
	return &dissect.FindingType{ID: id, Length: true, Severity: dissect.Warning, Text: text, Doc: doc, Advice: advice}
}

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

// Unanswered declares the finding of [dissect.MessageType.Unanswered]: for requests that
// have other reasons than those of NoReply.
func Unanswered(id, doc string) *dissect.FindingType {
	return &dissect.FindingType{ID: id, Severity: dissect.Note, Text: "%p unanswered%p", Doc: doc}
}

// OddKey declares the finding of a list of keys and values that ends with a key.
func OddKey(id, doc string) *dissect.FindingType {
	return &dissect.FindingType{ID: id, Severity: dissect.Warning, Text: "the last key, %s, has no value", Doc: doc, Advice: advice.OddPairs}
}

// Conflict declares [dissect.Splitting.Conflict].
func Conflict(id, doc string) *dissect.FindingType {
	return &dissect.FindingType{
		ID: id, Severity: dissect.Warning, Text: "parts that arrived again with different bytes: %d; the first ones are used", Doc: doc,
		Advice: advice.MixedParts,
	}
}

// Duplicate declares [dissect.Splitting.Duplicate].
func Duplicate(id, doc string) *dissect.FindingType {
	return &dissect.FindingType{ID: id, Severity: dissect.Note, Class: core.OfCapture, Text: "duplicate parts: %d", Doc: doc}
}

// Reordered declares [dissect.Splitting.Reordered].
func Reordered(id, doc string) *dissect.FindingType {
	return &dissect.FindingType{ID: id, Severity: dissect.Note, Class: core.OfCapture, Text: "the parts arrived out of order", Doc: doc}
}
