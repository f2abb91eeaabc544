// Package gamespy2 dissects the second query protocol of GameSpy, as spoken by
// America's Army, Battlefield Vietnam, Halo, SWAT 4, Hidden & Dangerous 2, ArmA
// and others of the years 2002 to 2007.
//
// A request is FE FD 00, a session id of four bytes, and three flags, 00 or FF:
// settings, players, teams. The reply is 00, the session id, and what was asked
// for, in one packet: keys and values, then tables of players and of teams, row
// by row. Text ends with a zero byte and is Latin-1 if it is not UTF-8.
//
// Sources: "A gameserver Query Library" (Gamespy v2) for the request; the
// Query and Reporting 2 SDK of GameSpy for the format of tables; recorded
// traffic for what games do differently.
package gamespy2

import (
	"bytes"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
	"github.com/qdissect/qdissect/dissect/internal/judge"
	"github.com/qdissect/qdissect/dissect/internal/wire"
)

const topicStatus dissect.Topic = 1

var (
	mRequest = &dissect.MessageType{Name: "status_request", Title: "status request", Role: dissect.Request, Doc: "Asks for any of the settings, the players and the teams of a server."}
	mReply   = &dissect.MessageType{Name: "status_reply", Title: "status", Role: dissect.Reply, Doc: "The settings, the players and the teams of a server, as far as they were asked for."}
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:     "gamespy2",
	Title:    "GameSpy 2",
	Doc:      "Queries of America's Army, Battlefield Vietnam, Halo, SWAT 4, Hidden & Dangerous 2, Neverwinter Nights, ArmA and other games of 2002 to 2007.",
	Source:   "A gameserver Query Library (CodeProject), Gamespy v2; GameSpy Query and Reporting 2 SDK",
	Ports:    []uint16{1717, 2302, 2303, 3658, 5121, 6500, 10481, 11004, 15250, 16250, 23000, 27888},
	Starts:   []byte{0xfe, gamespy.TypeQuery},
	Fields:   fields,
	Messages: []*dissect.MessageType{mRequest, mReply},
	Findings: findings,
	Detect:   Detect,
	New:      func() dissect.Decoder { return newDecoder() },
	Split: &dissect.Splitting{
		Read: readPart, Incomplete: partMissing, Endless: endMissing, Duplicate: partDuplicate, Reordered: partReorder, Conflict: partConflict,
	},
	Pairing: dissect.Pairing{
		Unanswered: unanswered,
		OnReply:    []dissect.Rule{judge.Several(several), judge.Amplification(amplification, 10)},
		OnStray:    []dissect.Rule{judge.OtherKind(dissect.OtherKind), judge.Unrequested(unrequested)},
	},
}

// Detect judges a payload by its first bytes. See [dissect.Protocol].
//
// A request with the three flags alone is nobody else's. Replies begin like
// those of gamespy3 and minecraft: only what stands behind the session id tells
// them apart.
func Detect(b []byte) dissect.Verdict {
	if gamespy.IsRequest(b) {
		if len(b) < gamespy.RequestHead || b[2] != gamespy.TypeQuery {
			return dissect.No
		}
		return detectQuery(b[gamespy.RequestHead:])
	}
	if len(b) < gamespy.ReplyHead || b[0] != gamespy.TypeQuery {
		return dissect.No
	}
	switch rest := b[gamespy.ReplyHead:]; {
	case len(rest) == 0:
		return dissect.Possible
	case bytes.HasPrefix(rest, []byte("splitnum\x00")), gamespy.OnlyMinecraft(rest):
		return dissect.No
	case gamespy.IsPairs(rest), gamespy.IsTable(rest):
		return dissect.Likely
	case rest[0] == 0:
		// Tables without columns, or what goes on with a reply.
		if len(rest) <= 6 && len(bytes.Trim(rest, "\x00")) == 0 || gamespy.GoesOn(rest) {
			return dissect.Possible
		}
	default:
		// A key that the SDK does not know, or what goes on with a reply. Much
		// else begins with a zero byte and a number.
		if w, ok := gamespy.Word(rest); ok && isAlphanumeric(rest[0]) && isASCII(w) {
			return dissect.Possible
		}
	}
	return dissect.No
}

func isAlphanumeric(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= 0x7f {
			return false
		}
	}
	return true
}

// detectQuery judges what follows the session id of a request.
func detectQuery(b []byte) dissect.Verdict {
	q, ok := gamespy.ParseQuery(b)
	switch {
	case !ok || q.Challenged || q.Selection.Options.OK:
		return dissect.No
	case q.Selection.Plain() && q.Selection.Asks():
		return dissect.Likely
	}
	return dissect.Possible
}

// A Message is one of *StatusRequest and *StatusReply.
type Message interface{ gamespy2() }

// Keys are the keys of one kind that a request asks for: all, none, or single
// ones by their numbers in the SDK.
type Keys = gamespy.Keys

// A Row is a player or a team: the values in the order of the wire, each by
// the name of its column without the underscore or _t at its end.
type Row = gamespy.Row

// StatusRequest asks for the settings, the players, the teams.
type StatusRequest struct {
	// Session is chosen by the client.
	Session                uint32
	Server, Players, Teams Keys
}

// StatusReply holds what was asked for. Text is as on the wire.
type StatusReply struct {
	// Session is that of the request.
	Session uint32
	Rules   []dissect.KeyValue
	// NumPlayers and NumTeams are the numbers that the server gives, where
	// the reply has these tables; Players and Teams the rows that are there.
	NumPlayers, NumTeams dissect.Opt[int]
	Players, Teams       []Row
}

func (*StatusRequest) gamespy2() {}
func (*StatusReply) gamespy2()   {}

// Parse reads one payload. The result is the caller's own. The error is a
// *dissect.Error that says where reading ended; what had been read until there
// is returned with it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](newDecoder(), payload) }

type decoder struct {
	request StatusRequest
	reply   StatusReply
	body    gamespy.Body
	session uint32 // of a joined reply
	middle  bool   // it begins in the middle
}

func newDecoder() *decoder { return &decoder{body: gamespy.NewBody(&body, &bodyFindings)} }

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	joined := r.Parts() > 0
	if !joined && gamespy.IsRequest(r.Peek()) {
		q := &d.request
		*q = StatusRequest{}
		m.Type, m.Body = mRequest, q
		_, _, q.Session = head.Read(r)
		m.Pair = dissect.Pair{Asks: topicStatus, ID: gamespy.ID(q.Session), Challenge: dissect.ChallengeAbsent}
		s, _ := query.Read(r)
		q.Server, q.Players, q.Teams = s.Selection.Server, s.Selection.Players, s.Selection.Teams
		return
	}
	p := &d.reply
	*p = StatusReply{}
	m.Type, m.Body = mReply, p
	if p.Session = d.session; !joined {
		_, _, p.Session = head.Read(r)
	}
	m.Pair = dissect.Pair{Answers: topicStatus, ID: gamespy.ID(p.Session)}
	b := &d.body
	if joined && d.middle || !joined && isMiddle(r.Peek()) {
		b.Begin()
		r.Find(beginMissing, nil, 0, r.Left())
		r.Rest(fields.Data())
	} else {
		b.Read(r)
	}
	p.Rules, p.Players, p.Teams, p.NumPlayers, p.NumTeams = b.Rules, b.Players, b.Teams, b.NumPlayers, b.NumTeams
	m.Server = gamespy.Server(p.Rules, style)
}
