package dissect

import "time"

// A Rule judges a request or a reply by its exchange: it notes on it what is to be
// said. Package dissect/internal/judge has those that several protocols share.
type Rule func(*Turn)

// A Turn is a request or a reply with what its conversation says of it, for rules.
// It and all that it points to are borrowed.
type Turn struct {
	*Record
	// Opens says that a request is the first of its conversation.
	Opens bool
	// Ignores is the frame of the challenge that the client was given for this
	// question and does not send along, 0 if there is none.
	Ignores uint64
	// Wrong says that a request carries a challenge that its server did not give to
	// this client, though it gave others: Given, the newest first.
	Wrong bool
	Given []uint64
	// Repeats is the frame of the first request with these bytes, if no reply came to
	// it, and RepeatsAfter how long ago it was sent; 0 if this is the first.
	Repeats      uint64
	RepeatsAfter time.Duration
	// Request is the one that a reply answers, nil if there is none in the capture.
	// Other is one that asks for something else: that one, or if there is none one that
	// waits. Unrequested says that there is neither, though the conversation has
	// requests.
	Request, Other *Asked
	Unrequested    bool
	// Changed says that a reply gives another challenge than the server gave before,
	// and ChangedAfter how long ago that was. InARow is how many challenges came
	// without data in between, and Refused how many of them answered one.
	Changed         bool
	ChangedAfter    time.Duration
	InARow, Refused int
	// Stated is how many players the server stated before a reply that lists them, -1
	// if it did not.
	Stated int
	// SaidIn is the frame in which the server said the same to this client, and SaidAgo
	// how long ago: at most five seconds. 0 if it did not. See [Pair.Sum].
	SaidIn  uint64
	SaidAgo time.Duration
	// Page is how the message stands to the other pieces of its list, nil if it is of
	// none.
	Page *Page

	reader *Reader
}

// Asked is the request that a reply answers.
type Asked struct {
	Frame     uint64
	Type      *MessageType
	Challenge Challenge
	// ID is that of the request, and OtherID says that the reply bears another one.
	ID      uint64
	OtherID bool
	// Bytes is its size; ReplyBytes is that of all replies so far, and Replies their
	// number. Surplus says that these are more than were asked for.
	Bytes, ReplyBytes uint32
	Replies           int
	Surplus           bool
}

// A Page is a part of a list that is asked for in pieces: page by page, or all of it
// by one request.
type Page struct {
	// Of a request: Before is the frame of the page that it goes on from, and Port the
	// one which that was sent to, Age how old it is. Stray says that the request goes
	// on from an entry that did not end that page; the others, which of its features
	// differ. Sockets counts the ports of the list so far if this is a new one.
	Before         uint64
	Port           uint16
	Age            time.Duration
	Stray          bool
	Filter, Region bool
	Sockets        int
	// Of a reply: Restart says that it begins as the list did, Repeat that it ends
	// where its request wanted to go on from. At the end of a list of several pieces
	// Pieces is their number, Entries that of all entries, First the frame of the first
	// request.
	Restart, Repeat bool
	Pieces, Entries int
	First           uint64
}

// Note notes a finding on the message.
func (x *Turn) Note(what *FindingType, args ...Arg) { x.reader.Note(what, args...) }

// judge lets the protocol say of the message on the bench what it has to say.
func (a *Analyzer) judge(x *arrival) {
	p, turn := &a.protocols[x.protocol].Pairing, &a.tracker.turn
	rules := p.OnRequest
	switch {
	case turn.Request != nil:
		rules = p.OnReply
	case a.record.Type.Role == Reply:
		rules = p.OnStray
	}
	for _, rule := range rules {
		rule(turn)
	}
	if turn.Repeats != 0 {
		turn.Note(Retransmitted, Num(turn.Repeats), Dur(turn.RepeatsAfter))
	}
}
