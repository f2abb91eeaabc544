package finding

import (
	"math/bits"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

// Usual returns the pairing of a protocol whose requests and replies follow no rules of
// their own. onReply judges the replies.
func Usual(unanswered *dissect.FindingType, unrequested dissect.Rule, onReply ...dissect.Rule) dissect.Pairing {
	return dissect.Pairing{
		Unanswered: unanswered,
		OnReply:    onReply,
		OnStray:    []dissect.Rule{OtherKind(core.OtherKind), unrequested},
	}
}

// WithIDs is [Usual] for a protocol whose replies bring a number of the client back; other is about those with another one.
func WithIDs(unanswered *dissect.FindingType, unrequested dissect.Rule, other *dissect.FindingType, onReply ...dissect.Rule) dissect.Pairing {
	p := Usual(unanswered, unrequested, append([]dissect.Rule{OtherID(other)}, onReply...)...)
	p.OtherIDs = true
	return p
}

// Simple declares the findings and the pairing of a protocol that has only the usual ones: a request without a reply, whose
// causes noReply gives, replies without a request, several of them, and those that are much larger than their request.
func Simple(c *dissect.Catalog, noReply, amplification string) dissect.Pairing {
	return Usual(NoReply(c, c.Name()+".noreply", noReply), Unrequested(c, c.Name()+".unrequested", NonePending),
		Several(c, c.Name()+".several", Twice), Amplification(c, c.Name()+".amplification", amplification, 10))
}

// SamePort reports a conversation whose first request has the same source and
// destination port.
func SamePort(what *dissect.FindingType) dissect.Rule {
	return func(x *dissect.Turn) {
		if x.Opens && x.Src.Port() == x.Dst.Port() {
			x.Note(what)
		}
	}
}

// Missing reports a request that a client repeats without the challenge from the
// server. The finding takes the frame of the challenge.
func Missing(what *dissect.FindingType) dissect.Rule {
	return func(x *dissect.Turn) {
		if x.Ignored != 0 {
			x.Note(what, dissect.Num(x.Ignored))
		}
	}
}

// Mismatch reports a request with a challenge that the server did not give to this
// client. The finding takes this challenge and the newest one that was given. If it is
// one of the given ones with its bytes reversed, the finding is
// [dissect.ChallengeSwapped] instead.
func Mismatch(what *dissect.FindingType) dissect.Rule {
	return func(x *dissect.Turn) {
		if !x.Wrong {
			return
		}
		sent, what, given := x.Pair.Value, what, x.Issued[0]
		for _, v := range x.Issued {
			if (sent|v)>>32 == 0 && bits.ReverseBytes32(uint32(v)) == uint32(sent) {
				what, given = core.ChallengeSwapped, v
				break
			}
		}
		x.Note(what, dissect.Num(int32(sent)), dissect.Num(int32(given)))
	}
}

// OtherKind reports a reply that answers no request, while a request for another kind
// is pending. The finding takes the title and the frame of that request.
func OtherKind(what *dissect.FindingType) dissect.Rule {
	return func(x *dissect.Turn) {
		if q := x.Other; q != nil {
			x.Note(what, dissect.Str(q.Type.Title), dissect.Num(q.Frame))
		}
	}
}

// Instead reports a reply that answers a request but is of another kind. The finding
// takes the title and the frame of the request.
func Instead(what *dissect.FindingType) dissect.Rule {
	return func(x *dissect.Turn) {
		if q := x.Other; q != nil && !q.Surplus {
			x.Note(what, dissect.Str(q.Type.Title), dissect.Num(q.Frame))
		}
	}
}

// OtherID reports a reply that answers a request with another id. The finding takes the
// frame of the request, the id of the reply and the id of the request. It needs
// [dissect.Pairing.OtherIDs].
func OtherID(what *dissect.FindingType) dissect.Rule {
	return func(x *dissect.Turn) {
		if q := x.Request; q.OtherID {
			x.Note(what, dissect.Num(q.Frame), dissect.Num(uint32(x.Pair.ID)), dissect.Num(uint32(q.ID)))
		}
	}
}

// Required reports a challenge in reply to a request without one.
func Required(what *dissect.FindingType) dissect.Rule { return gives(what, dissect.ChallengeAbsent) }

// Refused reports a challenge in reply to a request with one.
func Refused(what *dissect.FindingType) dissect.Rule {
	note := gives(what, dissect.ChallengeUsed)
	return func(x *dissect.Turn) {
		if x.Refused > 0 { // else it was copied late
			note(x)
		}
	}
}

func gives(what *dissect.FindingType, asked dissect.Challenge) dissect.Rule {
	return func(x *dissect.Turn) {
		if x.Pair.Challenge == dissect.ChallengeIssued && x.Request.Challenge == asked {
			x.Note(what)
		}
	}
}

// List reports the end of a list in several replies. The finding takes the number of
// entries, the number of replies and the frame of the first request.
func List(what *dissect.FindingType) dissect.Rule {
	return func(x *dissect.Turn) {
		if p := x.Page; p != nil && p.Pieces > 1 {
			x.Note(what, dissect.Num(p.Entries), dissect.Num(p.Pieces), dissect.Num(p.First))
		}
	}
}

// Unrequested declares the finding of [Stray].
func Unrequested(c *dissect.Catalog, id, doc string) dissect.Rule {
	return Stray(c.Finding(dissect.FindingType{ID: id, Severity: dissect.Note, Text: "no request seen for this reply", Doc: doc}))
}

// Stray reports a reply without a request in a conversation with requests.
func Stray(what *dissect.FindingType) dissect.Rule {
	return func(x *dissect.Turn) {
		if x.Unrequested {
			x.Note(what)
		}
	}
}

// Several declares the finding of [Surplus].
func Several(c *dissect.Catalog, id, doc string) dissect.Rule {
	return Surplus(c.Finding(dissect.FindingType{ID: id, Severity: dissect.Note, Text: "extra reply to the request in frame %d: number %d", Doc: doc}))
}

// Surplus reports more replies than requests. The finding takes the frame of the request
// and the number of the reply.
func Surplus(what *dissect.FindingType) dissect.Rule {
	return func(x *dissect.Turn) {
		if q := x.Request; q.Surplus {
			x.Note(what, dissect.Num(q.Frame), dissect.Num(q.Replies))
		}
	}
}

// Amplification declares the finding of [Amplified] for requests without a challenge.
func Amplification(c *dissect.Catalog, id, doc string, from uint32) dissect.Rule {
	return Amplified(New(c, dissect.Warning, id, "data sent without a challenge: %r times the request (%d bytes for %d)", doc, LimitReplies), from)
}

// Amplified reports data sent to an unverified address, if it has at least from times the
// size of the request: once for an exchange, on the reply that reaches this. The finding
// takes the ratio, the size of the replies so far and the size of the request.
func Amplified(what *dissect.FindingType, from uint32) dissect.Rule {
	return func(x *dissect.Turn) {
		q := x.Request
		if q.Challenge != dissect.ChallengeAbsent && q.Challenge != dissect.ChallengeSeed || x.Pair.Challenge == dissect.ChallengeIssued {
			return
		}
		enough := uint64(from) * uint64(q.Bytes)
		if n := uint64(q.ReplyBytes); n >= enough && n-uint64(x.WireLength) < enough {
			x.Note(what, core.Ratio(int(q.ReplyBytes), int(q.Bytes)), dissect.Num(q.ReplyBytes), dissect.Num(q.Bytes))
		}
	}
}
