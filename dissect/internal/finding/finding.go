// Package finding declares the findings that many protocols have, so that they say the
// same everywhere: a protocol gives the id and what the finding means for it. It also has
// the rules that report those about requests and replies.
//
// SamePort, Missing and Mismatch are for [dissect.Pairing.OnRequest], OtherKind,
// Unrequested and Stray for OnStray, the other rules for OnReply.
package finding

import (
	"math/bits"
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

const (
	// NonePending is the usual meaning of [Unrequested].
	NonePending = "The capture has requests of this conversation, but no pending one that this reply answers. The request is missing from the capture, or the reply is late, a duplicate or forged."
	// Twice is the usual meaning of [Several].
	Twice = "The request was answered more than once: the network duplicated the reply or the request, or two servers share the address."
)

// New declares a finding whose advice others have as well.
func New(c *dissect.Catalog, severity dissect.Severity, id, text, doc, advice string) *dissect.FindingType {
	return c.Finding(dissect.FindingType{ID: id, Severity: severity, Text: text, Doc: doc, Advice: advice})
}

// Length declares a warning that the message is shorter or longer than its own structure says; see New.
func Length(c *dissect.Catalog, id, text, doc, advice string) *dissect.FindingType {
	return c.Finding(dissect.FindingType{ID: id, Length: true, Severity: dissect.Warning, Text: text, Doc: doc, Advice: advice})
}

// Differs reports a length or a count, of n bytes at off, that is not that of what is there. It reports nothing if reading failed, or if the
// capture lacks the end.
func Differs(r *dissect.Reader, what *dissect.FindingType, f *dissect.Field, off, n, says, there int) {
	if says != there && !r.Failed() && !r.Cut() {
		r.Find(what, f, off, n, dissect.Num(says), dissect.Num(there))
	}
}

// NoReply declares the finding of [dissect.Pairing.Unanswered]. doc gives the reasons
// that a server of the protocol may have.
func NoReply(c *dissect.Catalog, id, doc string) *dissect.FindingType {
	return c.Finding(dissect.FindingType{ID: id, Severity: dissect.Note, Text: "%p unanswered%p", Doc: doc, Advice: AskWhy})
}

// Unanswered declares the finding of [dissect.MessageType.Unanswered]: for requests that
// have other reasons than those of NoReply.
func Unanswered(c *dissect.Catalog, id, doc string) *dissect.FindingType {
	return c.Finding(dissect.FindingType{ID: id, Severity: dissect.Note, Text: "%p unanswered%p", Doc: doc})
}

// OddKey declares the finding of a list of keys and values that ends with a key.
func OddKey(c *dissect.Catalog, id, doc string) *dissect.FindingType {
	return c.Finding(dissect.FindingType{ID: id, Severity: dissect.Warning, Class: core.OfServer, Text: "the last key, %s, has no value", Doc: doc, Advice: OddPairs})
}

// Conflict declares [dissect.Splitting.Conflict].
func Conflict(c *dissect.Catalog, id, doc string) *dissect.FindingType {
	return c.Finding(dissect.FindingType{
		ID: id, Severity: dissect.Warning, Text: "parts that arrived again with different bytes: %d; the first ones are used", Doc: doc,
		Advice: MixedParts,
	})
}

// Duplicate declares [dissect.Splitting.Duplicate].
func Duplicate(c *dissect.Catalog, id, doc string) *dissect.FindingType {
	return c.Finding(dissect.FindingType{ID: id, Severity: dissect.Note, Class: core.OfCapture, Text: "duplicate parts: %d", Doc: doc})
}

// Reordered declares [dissect.Splitting.Reordered].
func Reordered(c *dissect.Catalog, id, doc string) *dissect.FindingType {
	return c.Finding(dissect.FindingType{ID: id, Severity: dissect.Note, Class: core.OfCapture, Text: "the parts arrived out of order", Doc: doc})
}

// The advice of findings that many protocols have.
const (
	// LimitReplies is for servers that send much data to addresses that nothing verifies.
	LimitReplies = "Limit the replies to each address, in the settings of the server if it has such a limit, else in a firewall: qdissect report suggests a rule that fits the traffic. A server that only known programs query can be opened to their addresses alone."
	// MissingParts is for replies whose parts did not all come.
	MissingParts = "Capture on the host of the server too. If all parts leave it, something on the way drops them: look for firewalls and NATs that drop IP fragments or later packets, and for full links. If they do not, look for limits on the server's host. If the capture itself lost frames, capture again with a larger buffer (-B). A client should show what it has after a timeout, and ask again."
	// MixedParts is for parts that contradict each other.
	MixedParts = "A client should discard such a set and ask again instead of mixing the parts, with a new id if it may choose one. If one server does so again and again, report it to its author with the capture (qdissect cut makes a small one). If the parts differ in TTL or come another way, somebody forges them."
	// FirstPart is for replies that cannot be read without their first part.
	FirstPart = "A client has to keep parts that arrive early until the first one is there, and ask again if it does not come. If it is always the first part that is missing, look for what drops it: a firewall, or a capture filter that the part does not match."
	// OddPairs is for keys and values that do not pair up.
	OddPairs = "Look at the bytes (qdissect -x). If a name or setting contains a backslash, remove it in the configuration of the server. A client should keep the pairs before it and must not rely on an even number of texts. If the reply ends in the middle, treat it as truncated."
	// CutList is for lists that end within an entry.
	CutList = "A client should keep the complete entries and ignore the rest. If the server truncates the list, make names, settings or the list shorter so that they fit into a packet. If the frames are incomplete, capture again with the whole length (tcpdump -s 0)."
	// WrongCount is for numbers that are not those of the entries.
	WrongCount = "A client should read entries until the data ends and take the number for a hint. On the server, look for plugins that change the list without changing the number."
	// WrongLength is for lengths that are not those of the data.
	WrongLength = "Check how the sender computes the length: which bytes of the header it includes, and its byte order. A receiver should check the length before it reads and drop the packet if it is longer than the data. If packets of all senders are like this, something on the way cuts or pads them."
	// KeepChallenge is for challenges that the server did not give.
	KeepChallenge = "A client should keep one challenge for each address and port of a server and of its own, return the bytes as they came, and begin again when the server answers with another one. If the challenge may be older than the capture, nothing has to be done."
	// LongReply is for requests with a challenge that have no reply.
	LongReply = "Compare captures of the client and of the server's host. If the long reply leaves the server, the way back drops it: let IP fragments and large UDP packets pass, or make the list shorter. If it does not leave, look at rate limits on the server and its host. A client should begin again with a new challenge."
	// ReturnedValue is for replies that do not return a value of their request.
	ReturnedValue = "A client should compare the value with that of its request and ignore replies that differ. If all replies of a server differ, it does not return the value as it came: report it to its author."
	// AskWhy is for requests that have no reply.
	AskWhy = "Ask qdissect why ADDRESS about the server: it compares all requests to it. Check that it runs, that the port is its query port, and that firewalls on its host and on the way pass UDP in both directions; a capture on the host shows which side is silent."
)

// Usual returns the pairing of a protocol whose requests and replies follow no rules of
// their own. onReply judges the replies.
func Usual(unanswered *dissect.FindingType, unrequested dissect.Rule, onReply ...dissect.Rule) dissect.Pairing {
	return dissect.Pairing{Unanswered: unanswered, OnReply: onReply, OnStray: []dissect.Rule{OtherKind(core.OtherKind), unrequested}}
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
		Several(c, c.Name()+".several", Twice), Amplification(c, c.Name()+".amplification", amplification))
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

// Declined declares the finding of a text with which a server answers those that ask to join: whom it takes gets another reply.
func Declined(c *dissect.Catalog, id string, text *dissect.MessageType, asks ...*dissect.MessageType) dissect.Rule {
	what := c.Finding(dissect.FindingType{ID: id, Severity: dissect.Note, Class: core.OfRefusal, Text: "the server refuses the client", Doc: "The text says why: the server is full, does not take this version or password, wants another challenge, or has banned the address."})
	return func(x *dissect.Turn) {
		if x.Type == text && slices.Contains(asks, x.Request.Type) {
			x.Note(what)
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

// Amplification declares the finding of [Amplified] for requests without a challenge, from ten times their size on.
func Amplification(c *dissect.Catalog, id, doc string) dissect.Rule {
	return Amplified(New(c, dissect.Warning, id, "data sent without a challenge: %r times the request (%d bytes for %d)", doc, LimitReplies), 10)
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
