package dissect

import (
	"time"

	"github.com/qdissect/qdissect/internal/core"
)

// A Rule judges a request or a reply by its exchange and adds findings. Package
// dissect/internal/finding has rules that several protocols share.
type Rule func(*Turn)

// A Turn is a request or a reply with the facts of its conversation, for rules. It
// is borrowed with everything that it refers to.
type Turn struct {
	*Record
	// Opens says that a request is the first of its conversation.
	Opens bool
	// Ignored is the frame of the challenge that the client received for this
	// request and did not use, 0 if there is none.
	Ignored uint64
	// Wrong says that a request carries a challenge that its server did not issue to
	// this client. Issued are those that it did, the newest first.
	Wrong  bool
	Issued []uint64
	// Repeats is the frame of the first transmission of an unanswered request with
	// the same bytes, and RepeatsAfter its age; 0 if there is none.
	Repeats      uint64
	RepeatsAfter time.Duration
	// Request is the request that a reply answers, nil if there is none. Other is a
	// request for something else: Request itself, or a pending one if Request is
	// nil. Unrequested says that there is neither, although the conversation has
	// requests.
	Request, Other *Asked
	Unrequested    bool
	// Changed says that a reply issues another challenge than before, ChangedAfter
	// how long after it. InARow is the number of challenges without data in between,
	// Refused the number of them that answered a request with a challenge, and 0 as
	// long as there is one which may be a late copy: see [Pairing.Refused].
	Changed         bool
	ChangedAfter    time.Duration
	InARow, Refused int
	// Stated is the number of players that the server stated before a reply that
	// lists them, -1 if it is unknown.
	Stated int
	// SameIn is the frame of an equal reply of the server to this client at most
	// five seconds earlier, and SameAgo its age; 0 if there is none. See [Pair.Sum].
	SameIn  uint64
	SameAgo time.Duration
	// Page relates the message to the other pages of its list, nil if it has none.
	Page *Page

	reader *Reader
}

// Asked describes the request that a reply answers.
type Asked struct {
	Frame     uint64
	Type      *MessageType
	Challenge Challenge
	// ID is the id of the request. OtherID says that the reply has another one.
	ID      uint64
	OtherID bool
	// Bytes is the size of the request, ReplyBytes that of all replies so far, and
	// Replies their number. Surplus says that there are more replies than requests.
	Bytes, ReplyBytes uint32
	Replies           int
	Surplus           bool
}

// A Page is a part of a list that is requested page by page, or that one request
// returns in several replies.
type Page struct {
	// Before is the frame of the page after which a request continues, Port the port
	// of the client that received it, and Age its age. Stray says that the request
	// continues after an entry that did not end that page. Filter and Region say
	// which restrictions differ. Sockets is the number of client ports of the list
	// so far if this request adds one.
	Before         uint64
	Port           uint16
	Age            time.Duration
	Stray          bool
	Filter, Region bool
	Sockets        int
	// Restart says that a reply begins as the list did, Repeat that it ends where
	// its request continued. At the end of a list of several pages, Pieces is their
	// number, Entries the number of all entries, and First the frame of the first
	// request.
	Restart, Repeat bool
	Pieces, Entries int
	First           uint64
}

// Note adds a finding to the message.
func (x *Turn) Note(what *FindingType, args ...Arg) { x.reader.Note(what, args...) }

// judge applies the rules of the protocol to the message.
func (a *Analyzer) judge(x *arrival) {
	p, turn := &a.protocols[x.protocol].Pairing, &a.tracker.turn
	rules := p.OnRequest
	switch {
	case turn.Request != nil:
		rules = p.OnReply
	case a.record.Type.Role == Reply:
		rules = p.OnStray
	case x.Missing > 0: // what its challenge would be, the capture cut off
		rules = nil
	}
	for _, rule := range rules {
		rule(turn)
	}
	if turn.Repeats != 0 {
		turn.Note(core.Retransmitted, Num(turn.Repeats), Dur(turn.RepeatsAfter))
	}
}

// A Challenge says how a message uses challenge numbers, by which servers verify the
// address of a client.
type Challenge uint8

const (
	// NoChallenge: it does not use them.
	NoChallenge Challenge = iota
	// ChallengeAbsent: a request that may carry one and does not.
	ChallengeAbsent
	// ChallengeSeed: a request with the value that asks for one.
	ChallengeSeed
	// ChallengeUsed: a request that carries one.
	ChallengeUsed
	// ChallengeIssued: a reply that issues one.
	ChallengeIssued
	// ChallengeWanted: a request that only asks for one.
	ChallengeWanted
)

// AnyID equals every [Pair.ID].
const AnyID = 1<<64 - 1

func sameID(a, b uint64) bool { return a == b || a == AnyID || b == AnyID }

// Pair describes how a message is matched.
type Pair struct {
	// Damaged marks a part of a reply that cannot be placed. It answers in part
	// until a complete reply comes.
	Damaged bool
	// Asks is the kind of a request.
	Asks Topic
	// Answers is the set of kinds that a reply may answer.
	Answers Topic
	// Also is the set of kinds whose main reply a reply may accompany.
	Also Topic
	// ID must be equal in request and reply. It is 0 if the protocol has none,
	// [AnyID] if only this message has none.
	ID uint64
	// Tries says that the requests that a reply answers ask one question in several
	// formats, one after the other until a reply comes. If more than one is pending,
	// the round trip is ambiguous, and none of them is unanswered.
	Tries bool
	// May is the set of kinds that may answer a one-way message, as a server may
	// that rejects it.
	May Topic
	// Challenge and Value are the message's challenge number.
	Challenge Challenge
	Value     uint64
	// Port is the port that a reply states for its server, 0 for none.
	Port uint16
	// Page serves lists that are requested page by page: the entry after which a
	// request continues, and the last entry of a reply; 0 is the start and the end
	// of the list. Entries is the number of entries of a reply. See [Pairing.Paged].
	Page    uint64
	Entries int
	// Scope is the restriction of a list, which is the same for all its pages: the
	// region in the lowest 8 bits, the filter in the others. 0 is not compared.
	// Begins is the first entry of a reply, 0 for none.
	Scope, Begins uint64
	// Lists says that Entries counts the players of the server.
	Lists bool
	// Sum is a checksum of the content of a reply without what depends on the
	// client, 0 for none. See [Turn.SameIn].
	Sum uint32
	// Last marks the end of a list that one request returns in several replies. See
	// [Pairing.Endless].
	Last bool
}

// Pairing describes how requests and replies of a protocol are matched, and the
// rules that judge them. Findings may be nil, which disables them. All findings,
// also those of rules, are listed in Protocol.Findings.
type Pairing struct {
	// Unanswered reports a request without a reply. Its arguments are the title of
	// the message and a hint: the time waited, the retransmissions, and what else
	// the server answers.
	Unanswered *FindingType
	// UnansweredChallenge replaces Unanswered if the request carried a valid
	// challenge.
	UnansweredChallenge *FindingType
	// Endless reports a list whose last reply is missing. Its arguments are the
	// numbers of replies and of entries.
	Endless *FindingType
	// Refused reports a challenge in answer to a challenge, which could have been a copy of the one before, once nothing else has come.
	// See [Turn.Refused].
	Refused *FindingType
	// ChallengeLoop reports clients that get one challenge after the other and no data. It may be nil.
	ChallengeLoop *FindingType
	// TooOften reports an unanswered request that exceeds a rate limit of servers:
	// Most requests Within a time, as far as the conversation shows. Its argument is
	// the number of the request.
	TooOften *FindingType
	Most     int
	Within   time.Duration
	// OtherIDs says that a reply whose id matches no request may still answer one.
	OtherIDs bool
	// Paged says that lists are requested page by page, see [Pair.Page].
	Paged bool
	// Named returns the type of a reply to a request, for protocols whose replies do
	// not state what they answer. It may be nil, and may return nil to keep the
	// type.
	Named func(request, reply *MessageType) *MessageType
	// OnRequest judges each request, OnReply each reply to a request, and OnStray
	// each reply without one.
	OnRequest, OnReply, OnStray []Rule
}
