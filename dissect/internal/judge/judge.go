// Package judge has what several protocols say of requests and replies. Each rule
// takes the finding that it notes.
//
// SamePort, Missing and Mismatch are for [dissect.Pairing.OnRequest],
// OtherKind and Unrequested for OnStray, the others for OnReply.
package judge

import (
	"math/bits"

	"github.com/qdissect/qdissect/dissect"
)

// SamePort notes that the first request of a conversation goes to the number of the
// port that it comes from.
func SamePort(what *dissect.FindingType) dissect.Rule {
	return func(x *dissect.Turn) {
		if x.Opens && x.Src.Port() == x.Dst.Port() {
			x.Note(what)
		}
	}
}

// Missing notes that the client asks again without the challenge that it was given. The finding
// takes the frame in which it was given.
func Missing(what *dissect.FindingType) dissect.Rule {
	return func(x *dissect.Turn) {
		if x.Ignores != 0 {
			x.Note(what, dissect.Num(x.Ignores))
		}
	}
}

// Mismatch notes that a request carries a challenge that was not given to this client. The
// finding takes it and the one given; if one is the other with its bytes reversed,
// that is said instead.
func Mismatch(what *dissect.FindingType) dissect.Rule {
	return func(x *dissect.Turn) {
		if !x.Wrong {
			return
		}
		sent, what, given := x.Pair.Value, what, x.Given[0]
		for _, v := range x.Given {
			if (sent|v)>>32 == 0 && bits.ReverseBytes32(uint32(v)) == uint32(sent) {
				what, given = dissect.ChallengeSwapped, v
				break
			}
		}
		x.Note(what, dissect.Num(int32(sent)), dissect.Num(int32(given)))
	}
}

// OtherKind notes a reply that answers no request, while one waits for another kind. The
// finding takes the title and the frame of that request.
func OtherKind(what *dissect.FindingType) dissect.Rule {
	return func(x *dissect.Turn) {
		if q := x.Other; q != nil {
			x.Note(what, dissect.Str(q.Type.Title), dissect.Num(q.Frame))
		}
	}
}

// Instead notes a reply that is not what its request asks for, but comes instead of it. The
// finding takes the title and the frame of the request.
func Instead(what *dissect.FindingType) dissect.Rule {
	return func(x *dissect.Turn) {
		if q := x.Other; q != nil && !q.Surplus {
			x.Note(what, dissect.Str(q.Type.Title), dissect.Num(q.Frame))
		}
	}
}

// Unrequested notes a reply without a request, though requests of its conversation were
// seen.
func Unrequested(what *dissect.FindingType) dissect.Rule {
	return func(x *dissect.Turn) {
		if x.Unrequested {
			x.Note(what)
		}
	}
}

// OtherID notes a reply whose id is that of no request, but which answers one.
// The finding takes the frame of that request, the id of the reply and that of the
// request. It needs [dissect.Pairing.OtherIDs].
func OtherID(what *dissect.FindingType) dissect.Rule {
	return func(x *dissect.Turn) {
		if q := x.Request; q.OtherID {
			x.Note(what, dissect.Num(q.Frame), dissect.Num(uint32(x.Pair.ID)), dissect.Num(uint32(q.ID)))
		}
	}
}

// Several notes more replies than requests. The finding takes the frame of the request and
// the number of this reply.
func Several(what *dissect.FindingType) dissect.Rule {
	return func(x *dissect.Turn) {
		if q := x.Request; q.Surplus {
			x.Note(what, dissect.Num(q.Frame), dissect.Num(q.Replies))
		}
	}
}

// Required notes that the server answers a request without a challenge by giving one.
func Required(what *dissect.FindingType) dissect.Rule { return gives(what, dissect.ChallengeAbsent) }

// Refused notes that the server answers a request with a challenge by giving another one.
func Refused(what *dissect.FindingType) dissect.Rule { return gives(what, dissect.ChallengeUsed) }

func gives(what *dissect.FindingType, asked dissect.Challenge) dissect.Rule {
	return func(x *dissect.Turn) {
		if x.Pair.Challenge == dissect.ChallengeIssued && x.Request.Challenge == asked {
			x.Note(what)
		}
	}
}

// Amplification notes data, from so many times the size of the request on, that go to
// an address that was not proved. The finding takes the ratio, the bytes of the replies
// and those of the request.
func Amplification(what *dissect.FindingType, from uint32) dissect.Rule {
	return func(x *dissect.Turn) {
		q := x.Request
		if q.Challenge != dissect.ChallengeAbsent && q.Challenge != dissect.ChallengeSeed || x.Pair.Challenge == dissect.ChallengeIssued {
			return
		}
		if uint64(q.ReplyBytes) >= uint64(from)*uint64(q.Bytes) {
			x.Note(what, dissect.Ratio(int(q.ReplyBytes), int(q.Bytes)), dissect.Num(q.ReplyBytes), dissect.Num(q.Bytes))
		}
	}
}

// List notes the end of a list that came in several pieces. The finding takes the number
// of entries, that of pieces, and the frame of the first request.
func List(what *dissect.FindingType) dissect.Rule {
	return func(x *dissect.Turn) {
		if p := x.Page; p != nil && p.Pieces > 1 {
			x.Note(what, dissect.Num(p.Entries), dissect.Num(p.Pieces), dissect.Num(p.First))
		}
	}
}
