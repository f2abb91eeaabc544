package dissect

import "github.com/qdissect/qdissect/internal/core"

import "time"

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
