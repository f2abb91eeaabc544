package quake2

import (
	"bytes"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
	"github.com/qdissect/qdissect/dissect/internal/judge"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:   "quake2",
	Title:  "Quake 2 queries",
	Group:  "Quake and Doom",
	Doc:    "Status, info, ping and remote console of Quake 2 servers and of the games on its engine: Yamagi Quake II, Q2Pro, R1Q2, Kingpin, Heretic II, Soldier of Fortune, Daikatana, Alien Arena; the short info of Warsow and Warfork.",
	Source: "Yamagi Quake II (sv_conless.c), Warfork (sv_oob.c), qstat, gamedig (quake2.js); recorded traffic",
	Ports: []uint16{
		27910, 27911, 27912, 27913, 27914, 27915, 27916, 27917, 27918, 27919, 27920,
		31510, // Kingpin
		28910, // Heretic II, Soldier of Fortune
		27982, // Daikatana
		27992,
		44400, // Warsow
	},
	Starts:   append(wire.Starts("pa", quake.Header), wire.Words(quake.Header, "status", "info\n", "info ", "getchallenge", "connect", "challenge", "client_connect", "rcon ")...),
	Wire:     "quake",
	Fields:   fields,
	Messages: messages,
	Findings: findings,
	Detect:   Detect,
	New:      func() dissect.Decoder { return new(decoder) },
	Pairing:  judge.Usual(unanswered, unrequested, judge.Amplification(amplification, 10)),
}

// A command is a message that begins with a word.
type command struct {
	word          string
	message       *dissect.MessageType
	asks, answers dissect.Topic
	forms         wire.Forms                                        // of what follows the word
	decode        func(*decoder, *dissect.Reader, *dissect.Message) // nil reads arguments
}

var commands = []command{
	{"status", mStatusRequest, topicStatus, 0, wire.Forms{wire.Likely("", quake.NumberOrEnd)}, (*decoder).decodeStatusRequest},
	{"info", mInfoReply, 0, topicInfo, infos, (*decoder).decodeInfo},
	{"ping", mPingRequest, topicPing, 0, wire.Forms{wire.Possible("", quake.Ends)}, nil},
	{"getchallenge", mChallengeRequest, topicChallenge, 0, wire.Forms{wire.Possible("", quake.Ends)}, nil},
	{"connect", mConnectRequest, topicConnect, 0, connects, (*decoder).decodeConnect},
	{"rcon", mRcon, topicRcon, 0, wire.Forms{wire.Possible(" ", wire.AtLeast(1))}, (*decoder).decodeRcon},
	{"print", mPrint, 0, topicRcon | topicConnect, wire.Forms{wire.Likely("\n\\", nil), wire.Possible("\n", nil)}, (*decoder).decodePrint},
	{"ack", mPingReply, 0, topicPing, wire.Forms{wire.Possible("", quake.Ends), wire.Possible(" ", nil)}, nil},
	{"challenge", mChallengeReply, 0, topicChallenge, challenges, (*decoder).decodeChallenge},
	{"client_connect", mConnectReply, 0, topicConnect, wire.Forms{wire.Likely("", quake.Ends), wire.Likely(" ", nil)}, (*decoder).decodeAccept},
}

var (
	// A reply has text on its second line: Xash3D's has one backslash there, Warsow's
	// two. A request has a number; without one it is Half-Life's, and from 40 on
	// Xash3D's.
	infos = wire.Forms{
		wire.No("\n\\", func(rest []byte) bool { return len(rest) == 0 || rest[0] != '\\' }),
		wire.Likely("\n", func(rest []byte) bool { return !quake.Ends(rest) }),
		wire.No(" 4", nil),
		wire.Likely(" ", quake.Numbered),
	}
	// QuakeWorld connects with protocols below 30, Half-Life with 48; Quake 3 has
	// a quotation mark there.
	connects = wire.Forms{wire.Likely(" 3", func(rest []byte) bool { return len(rest) > 1 && quake.Digit(rest[0]) && rest[1] == ' ' })}
	// Without versions it could be Quake 3's as well.
	challenges = wire.Forms{wire.Likely(" ", versions), wire.Possible(" ", quake.Numbered)}
)

// versions reports whether b is a number and the versions that a server speaks.
func versions(b []byte) bool {
	n := bytes.IndexByte(b, ' ')
	return n > 0 && quake.Numbered(b) && bytes.HasPrefix(b[n+1:], []byte("p="))
}

var lexicon = wire.NewLexicon(commands, func(c *command) string { return c.word })

// wordOf returns the word that b begins with.
func wordOf(b []byte) []byte {
	n := wire.Letters(b)
	if n < len(b) && b[n] == '_' { // client_connect
		n++
		n += wire.Letters(b[n:])
	}
	return b[:n]
}

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) < 5 || string(b[:4]) != quake.Header {
		return dissect.No
	}
	b = b[4:]
	word := wordOf(b)
	if c := lexicon.Find(word, wire.Exactly); c != nil {
		return c.forms.Judge(b[len(word):])
	}
	return dissect.No
}

// Parse reads one payload. The result is the caller's own. The error is a
// *dissect.Error that says where reading ended; what had been read until there
// is returned with it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

// decoder owns one of each message and uses it again.
type decoder struct {
	query     Query
	status    StatusReply
	info      InfoReply
	challenge Challenge
	connect   Connect
	rcon      Rcon
	text      Text
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	d.query = Query{}
	m.Type, m.Body = mUnknown, &d.query
	r.I32(words.Header)
	word := wordOf(r.Peek())
	if c := lexicon.Find(word, wire.Exactly); c != nil && c.forms.Judge(core.PeekFrom(r, len(word))) != dissect.No {
		m.Type, m.Pair.Asks, m.Pair.Answers = c.message, c.asks, c.answers
		d.query.Command = words.Word(r)
		if c.decode != nil {
			c.decode(d, r, m)
			return
		}
		d.query.Arguments = words.Line(r, words.Arguments)
		words.Ending(r)
		return
	}
	r.Fail(words.Command, "no such message")
}

func (d *decoder) decodeStatusRequest(r *dissect.Reader, m *dissect.Message) {
	m.Pair.Challenge = dissect.ChallengeAbsent
	words.Argument(r, fBits)
	words.Ending(r)
}

func (d *decoder) decodeChallenge(r *dissect.Reader, m *dissect.Message) {
	d.challenge = Challenge{Challenge: words.Argument(r, fChallenge), Protocols: d.challenge.Protocols[:0]}
	m.Body = &d.challenge
	if r.HasPrefix("p=") {
		list := r.Begin(fProtocols)
		for pre := len("p="); pre == len("p=") || r.Next(','); pre = 1 {
			d.challenge.Protocols = append(d.challenge.Protocols, keyvalue.Int(r.Delimited(fSpoken, pre, ", \n\x00", 0)).Value)
		}
		r.End(list)
	}
	words.Finish(r)
}

func (d *decoder) decodeConnect(r *dissect.Reader, m *dissect.Message) {
	c := &d.connect
	*c = Connect{
		Protocol: words.Argument(r, fProtocol), QPort: words.Argument(r, fQPort), Challenge: words.Argument(r, fChallenge),
		Userinfo: c.Userinfo[:0],
	}
	m.Body = c
	c.Userinfo = words.Userinfo(r, userinfo, oddKey, c.Userinfo)
	words.Finish(r)
}

func (d *decoder) decodeAccept(r *dissect.Reader, m *dissect.Message) {
	d.query.Arguments = words.Line(r, fOptions)
	words.Ending(r)
}

func (d *decoder) decodeRcon(r *dissect.Reader, m *dissect.Message) {
	m.Body = &d.rcon
	d.rcon.Password, d.rcon.Command = words.Rcon(r, &rcon)
}

// refusal is how servers say that a password is wrong or that there is none.
const refusal = "Bad rcon_password"

// decodePrint reads a status, or any text.
func (d *decoder) decodePrint(r *dissect.Reader, m *dissect.Message) {
	if n := beforeSettings(r.Peek()); n >= 0 {
		d.decodeStatus(r, m, n)
		return
	}
	t := &d.text
	*t = Text{}
	m.Body, m.Pair.Also = t, topicStatus|topicInfo|topicChallenge
	at := r.Offset()
	if n := quake.TextLen(r.Peek()); n > 0 {
		t.Text = r.Text(fText, n)
		console.Hide(r, fHidden, t.Text)
		if strings.HasPrefix(t.Text, refusal) {
			r.Find(rconRefused, fText, at, r.Offset()-at)
		}
	}
	words.Ending(r)
}
