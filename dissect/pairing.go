package dissect

import (
	"time"
)

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
