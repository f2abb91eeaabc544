// Package quakeworld dissects the connectionless messages of QuakeWorld and
// HexenWorld servers, of the proxies qwfwd and QTV, and of the clients that ask
// them.
//
// A message is FF FF FF FF (HexenWorld: five times FF) and text. A request is a
// word with arguments, with a line end, a zero byte or nothing after it:
//
//	status [bits]  ping  k  getchallenge  connect  rcon  log  laststats  lastscores  qtvusers  dlist ...
//
// A reply is a letter and what the letter announces. 'n' is text: a status, or
// whatever else a server prints. 'c' is a challenge, 'j' accepts a client. The
// replies to ping and to log are a single byte without the header ('l', 'm').
// Text longer than about 1,340 bytes comes in several datagrams, each of them
// with the header and 'n' again; nothing numbers them. Numbers are text, those
// after a challenge little-endian.
//
// Sources: mvdsv (sv_main.c, sv_send.c), qstat, gamedig (quake1.js), and
// recorded traffic.
package quakeworld

import (
	"bytes"
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:   "quakeworld",
	Title:  "QuakeWorld queries",
	Group:  "Quake and Doom",
	Doc:    "Status, ping, remote console and statistics of QuakeWorld and HexenWorld servers (mvdsv, KTX, FTE), of the proxy qwfwd and of QTV.",
	Source: "mvdsv (sv_main.c, sv_send.c), qstat, gamedig (quake1.js); recorded traffic",
	// Those of servers, of QTV and qwfwd, and of HexenWorld.
	Ports:   slices.Concat(wire.Ports(27500, 27510), wire.Ports(28501, 28510), []uint16{28000, 30000, 26950}),
	Starts:  slices.Concat(wire.Starts("ncjlpki\xff", quake.Header), wire.Words(quake.Header, "status", "getchallenge", "rcon ", "qtvusers", "dlist", "demolist", "broadcast"), []string{"l\x00", "m\x00", stdlog}),
	Wire:    "quake",
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Usual(unanswered, unrequested, finding.Amplified(amplification, 10), declined),
}

// The letters of replies.
const (
	print     = 'n' // A2C_PRINT
	challenge = 'c' // S2C_CHALLENGE
	accept    = 'j' // S2C_CONNECTION
	ack       = 'l' // A2A_ACK, without a header
	nack      = 'm' // A2A_NACK, without a header
	stdlog    = "stdlog "
)

// A command is a request.
type command struct {
	word    string
	message *dissect.MessageType
	asks    dissect.Topic
	forms   wire.Forms // of what follows the word
	decode  func(*decoder, *dissect.Reader)
}

var commands = []command{
	{"status", mStatusRequest, topicStatus, numbered, nil},
	{"ping", mPingRequest, topicPing, shared, nil},
	{"k", mPingRequest, topicPing, shared, nil},
	{"getchallenge", mChallengeRequest, topicChallenge, shared, nil},
	{"connect", mConnectRequest, topicConnect, connects, (*decoder).decodeConnect},
	{"rcon", mRcon, topicRcon, argued, (*decoder).decodeRcon},
	{"log", mLogRequest, topicLog, wire.Forms{wire.Possible("", quake.NumberOrEnd)}, nil},
	{"laststats", mStatsRequest, topicStats, numbered, nil},
	{"lastscores", mStatsRequest, topicStats, numbered, nil},
	{"qtvusers", mUsersRequest, topicUsers, numbered, nil},
	{"dlist", mDemosRequest, topicDemos, own, nil},
	{"dlistr", mDemosRequest, topicDemos, own, nil},
	{"dlistgame", mDemosRequest, topicDemos, own, nil},
	{"demolist", mDemosRequest, topicDemos, own, nil},
	{"demolistr", mDemosRequest, topicDemos, own, nil},
	{"ip", mProxy, 0, argued, nil},
	{"broadcast", mProxy, 0, argued, nil},
}

var (
	numbered = wire.Forms{wire.Likely("", quake.NumberOrEnd)}
	shared   = wire.Forms{wire.Possible("", quake.Ends)} // Quake 2 and Half-Life have the word as well
	argued   = wire.Forms{wire.Possible(" ", wire.AtLeast(1))}
	own      = wire.Forms{wire.Likely("", quake.WordEnds)}
	// Quake 2 connects with protocol 31 and above.
	connects = wire.Forms{wire.Likely(" 2", func(rest []byte) bool { return len(rest) > 1 && quake.Digit(rest[0]) && rest[1] == ' ' })}

	replies = wire.Forms{
		wire.Certain("n\\", nil),
		wire.Likely("nqtvusers ", nil),
		wire.Likely("nlaststats ", nil),
		wire.No("netinfo", nil), // Xash3D
		wire.Possible("n", printed),
		wire.Likely("c", isChallenge),
		wire.Possible("j", wire.Empty), // the reply to an A2S ping is the same
		wire.Possible("l\x00", wire.Empty),
	}
	// bare are the replies without a header.
	bare = wire.Forms{
		wire.Possible("l", wire.Empty),
		wire.Possible("m", wire.Empty),
		wire.Likely(stdlog, func(rest []byte) bool { return len(rest) > 0 && quake.Digit(rest[0]) }),
	}
)

// printed reports whether b can be what a server prints: text, or nothing.
func printed(b []byte) bool {
	return len(b) > 0 && !slices.ContainsFunc(b[:min(len(b), 16)], func(c byte) bool {
		return c < ' ' && !quake.Ender(c) && c != '\t' && (c < 0x10 || c > 0x1d)
	})
}

// isChallenge reports whether b is a number that a zero byte or nothing follows.
func isChallenge(b []byte) bool {
	b, _, _ = bytes.Cut(b, []byte{0})
	return len(b) <= len("-2147483648") && quake.Numbered(b)
}

var lexicon = wire.NewLexicon(commands, func(c *command) string { return c.word })

// wordOf returns the word that b begins with.
func wordOf(b []byte) []byte { return b[:wire.Letters(b)] }

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) > 0 && b[0] != 0xff {
		return bare.Judge(b)
	}
	if len(b) < 5 || string(b[:4]) != quake.Header {
		return dissect.No
	}
	if b = b[4:]; b[0] == 0xff { // HexenWorld
		b = b[1:]
	}
	word := wordOf(b)
	if c := lexicon.Find(word, wire.Exactly); c != nil {
		if v := c.forms.Judge(b[len(word):]); v != dissect.No {
			return v
		}
	}
	return replies.Judge(b)
}

// Parse reads one payload. The result is the caller's own. The error is a
// *dissect.Error that says where reading ended; what had been read until there
// is returned with it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

// decoder owns one of each message and uses it again.
type decoder struct {
	query     Query
	status    StatusReply
	challenge Challenge
	connect   Connect
	rcon      Rcon
	text      Text
	sign      Sign
	stats     Stats
	viewers   Viewers
	log       Log
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	wire.Message(m, mUnknown, &d.query, Query{})
	if !r.Next(0xff) {
		d.decodeBare(r, m)
		return
	}
	r.I32(words.Header)
	if r.Next(0xff) {
		r.U8(fFifth)
	}
	word := wordOf(r.Peek())
	if c := lexicon.Find(word, wire.Exactly); c != nil && c.forms.Judge(core.PeekFrom(r, len(word))) != dissect.No {
		m.Type = c.message
		m.Pair = dissect.Pair{Asks: c.asks, Challenge: dissect.ChallengeAbsent}
		d.decodeCommand(r, m, c)
		return
	}
	d.decodeReply(r, m)
}

func (d *decoder) decodeCommand(r *dissect.Reader, m *dissect.Message, c *command) {
	q := &d.query
	q.Command = words.Word(r)
	switch c.message {
	case mConnectRequest:
		d.decodeConnect(r)
		m.Body = &d.connect
		return
	case mRcon:
		d.decodeRcon(r)
		m.Body = &d.rcon
		return
	case mStatusRequest:
		q.Arguments = words.Argument(r, fBits)
	case mStatsRequest:
		q.Arguments = words.Argument(r, fGame)
	default:
		q.Arguments = words.Line(r, words.Arguments)
	}
	words.Ending(r)
}

// decodeBare reads a reply without a header.
func (d *decoder) decodeBare(r *dissect.Reader, m *dissect.Message) {
	switch {
	case r.HasPrefix(stdlog):
		d.decodeLog(r, m)
	case r.Left() == 1 && r.Next(ack):
		d.decodeSign(r, m, mPingReply, topicPing)
	case r.Left() == 1 && r.Next(nack):
		d.decodeSign(r, m, mNack, topicLog)
	default:
		r.Fail(words.Command, "no such message")
	}
}

func (d *decoder) decodeSign(r *dissect.Reader, m *dissect.Message, what *dissect.MessageType, answers dissect.Topic) {
	m.Type, m.Body, m.Pair.Answers = what, &d.sign, answers
	d.sign = Sign{Letter: r.U8(fType)}
}

func (d *decoder) decodeReply(r *dissect.Reader, m *dissect.Message) {
	switch {
	case r.Next(print):
		d.decodePrint(r, m)
	case r.Next(challenge) && isChallenge(core.PeekFrom(r, 1)):
		d.decodeChallenge(r, m)
	case r.Left() == 1 && r.Next(accept):
		d.decodeSign(r, m, mConnectReply, topicConnect)
	case r.Left() == 2 && r.HasPrefix("l\x00"): // old servers
		d.decodeSign(r, m, mPingReply, topicPing)
		words.Ending(r)
	default:
		r.Fail(words.Command, "no such message")
	}
}

// decodePrint reads the many replies that are text.
func (d *decoder) decodePrint(r *dissect.Reader, m *dissect.Message) {
	r.U8(fType)
	switch {
	case r.Next('\\') || isPlayer(r.Peek()) || r.HasPrefix(qtv):
		d.decodeStatus(r, m)
	case r.HasPrefix("laststats "):
		d.decodeStats(r, m)
	case r.HasPrefix("qtvusers "):
		d.decodeViewers(r, m)
	default:
		d.decodeText(r, m)
	}
}

func (d *decoder) decodeText(r *dissect.Reader, m *dissect.Message) {
	t := wire.Message(m, mPrint, &d.text, Text{})
	m.Pair.Answers = topicRcon | topicConnect | topicDemos
	if t.Text = quake.Print(r, quake.TextLen(r.Peek()), fText, fHidden, rconRefused); t.Text != "" {
		m.Pair.Also = topicStatus | topicChallenge | topicStats | topicUsers | topicLog // a refusal
	} else {
		m.Pair.Answers |= topicStatus | topicStats | topicUsers
	}
	words.Ending(r)
}

func (d *decoder) decodeChallenge(r *dissect.Reader, m *dissect.Message) {
	c := wire.Message(m, mChallengeReply, &d.challenge, Challenge{Extensions: d.challenge.Extensions[:0]})
	m.Pair.Answers = topicChallenge
	r.U8(fType)
	c.Challenge, _ = core.CStringOrRest(r, fChallenge)
	if !r.More() {
		return
	}
	c.Extensions = wire.Items(r, fExtensions, fExtension, c.Extensions, func() bool { return r.Left() >= 8 }, func() Extension {
		return Extension{Name: r.Text(fName4, 4), Bits: r.U32(fMask)}
	})
	if n := r.Left(); n > 0 {
		r.Find(extensionCut, fExtensions, r.Offset(), n, dissect.Num(n))
		r.Rest(catalog.Data())
	}
}

func (d *decoder) decodeConnect(r *dissect.Reader) {
	d.connect = Connect{
		Protocol: words.Argument(r, fProtocol), QPort: words.Argument(r, fQPort), Challenge: words.Argument(r, fChallenge),
		Userinfo: words.Userinfo(r, userinfo, oddKey, d.connect.Userinfo[:0]),
	}
	if n := quake.TextLen(r.Peek()); n > 0 { // lines with extensions, from FTE
		r.Text(words.Arguments, n)
	}
	words.Ending(r)
}

func (d *decoder) decodeRcon(r *dissect.Reader) {
	d.rcon.Password, d.rcon.Command = words.Rcon(r, &rcon)
}

func (d *decoder) decodeStats(r *dissect.Reader, m *dissect.Message) {
	m.Type, m.Body, m.Pair.Answers = mStatsReply, &d.stats, topicStats
	words.Word(r)
	d.stats = Stats{Matches: words.Argument(r, fGame)}
	words.Ending(r)
	if n := quake.TextLen(r.Peek()); n > 0 {
		d.stats.JSON = r.Text(fStats, n)
	}
	words.Ending(r)
}

func (d *decoder) decodeViewers(r *dissect.Reader, m *dissect.Message) {
	v := &d.viewers
	m.Type, m.Body, m.Pair.Answers = mUsersReply, v, topicUsers
	words.Word(r)
	*v = Viewers{Stream: words.Argument(r, fUsersTag), Names: v.Names[:0]}
	list := r.Begin(fUsers)
	for r.More() {
		mark := r.Offset()
		if name := words.Argument(r, fUser); r.Offset() > mark {
			v.Names = append(v.Names, name)
			continue
		}
		break
	}
	r.End(list)
	words.Finish(r)
}

// decodeLog reads rows of \killer\victim\.
func (d *decoder) decodeLog(r *dissect.Reader, m *dissect.Message) {
	l := wire.Message(m, mLogReply, &d.log, Log{Kills: d.log.Kills[:0]})
	m.Pair.Answers = topicLog
	words.Word(r)
	l.Number = words.Argument(r, fLogStart)
	words.Ending(r)
	l.Kills = wire.Records(r, fLogRows, fLogRow, l.Kills, func() bool { return r.Next('\\') }, func() Kill {
		k := Kill{Killer: r.Delimited(fKiller, 1, "\\\n\x00", 0)}
		if r.Next('\\') {
			k.Victim = r.Delimited(fVictim, 1, "\\\n\x00", 1)
		}
		words.Ending(r)
		return k
	})
	words.Finish(r)
}

// qtv begins the line of a stream: qtv 1 "name" "1@192.0.2.1:28000" 3
const qtv = "qtv "

// decodeStatus reads a status, or the next part of one, which has no settings.
func (d *decoder) decodeStatus(r *dissect.Reader, m *dissect.Message) {
	s := &d.status
	*s = StatusReply{Rules: s.Rules[:0], Players: s.Players[:0], Streams: s.Streams[:0]}
	m.Type, m.Body, m.Pair.Answers = mStatusReply, s, topicStatus
	if r.Next('\\') {
		s.Rules = keyvalue.ReadPairs(r, rules, quake.LineLen(r), oddKey, s.Rules)
		m.Server = dissect.Server{
			Charset: core.QuakeChars,
			Name:    keyvalue.Text(s.Rules, "hostname"), Map: keyvalue.Text(s.Rules, "map"),
			Game: keyvalue.Text(s.Rules, "*gamedir"), Version: keyvalue.Text(s.Rules, "*version"),
			MaxPlayers: keyvalue.Number(s.Rules, "maxclients"), Password: keyvalue.Flag(s.Rules, "needpass"),
		}
		words.LineEnd(r)
	}
	d.readPlayers(r, m)
	d.readStreams(r)
	words.Ending(r)
	s.server = m.Server
}

// maxWhole is the size from which on a status may continue in another datagram:
// mvdsv sends one before it would have more than 1,340 bytes.
const maxWhole = 1200

var lines = quake.Lines{Words: &words, List: fPlayers, Player: fPlayer, Line: fLine, Cut: cutPlayer, NotPlayer: notPlayer}

// readPlayers reads the lines of players, and counts those who play.
func (d *decoder) readPlayers(r *dissect.Reader, m *dissect.Message) {
	s := &d.status
	more := func() bool { return r.More() && !r.Next(0) && !r.HasPrefix(qtv) }
	if !more() {
		return
	}
	playing := 0
	s.Players = quake.ReadLines(r, &lines, s.Players, more, isPlayer, func() Player {
		p := readPlayer(r)
		if !p.Spectator {
			playing++
		}
		return p
	})
	if !r.Failed() && !r.Cut() && len(s.Rules) > 0 && r.Offset() < maxWhole {
		m.Server.Players = dissect.Some(playing)
	}
}

// isPlayer reports whether b begins with the line of a player: four words, of
// which the first is a number and the second one or the letter S, and the name.
func isPlayer(b []byte) bool {
	if n := bytes.IndexByte(b, '\n'); n >= 0 {
		b = b[:n]
	}
	for i := range 4 {
		if !quake.Numbered(b) && (i != 1 || !bytes.HasPrefix(b, []byte("S "))) {
			return false
		}
		n := bytes.IndexByte(b, ' ')
		if n < 0 {
			return false
		}
		b = b[n+1:]
	}
	return len(b) > 1 && b[0] == '"' && bytes.IndexByte(b[1:], '"') >= 0
}

// mark stands before the name of a spectator.
const mark = `\s\`

// readPlayer reads a line for which isPlayer holds:
// id frags minutes ping "name" "skin" top bottom ["team" ["login" ["client"]]].
func readPlayer(r *dissect.Reader) (p Player) {
	p.ID = keyvalue.Int(words.Argument(r, fID)).Value
	frags := words.Argument(r, fFrags)
	p.Score = keyvalue.Int(frags)
	p.Minutes = keyvalue.Int(words.Argument(r, fMinutes)).Value
	p.Ping = keyvalue.Int(words.Argument(r, fPing)).Value
	if p.Ping < 0 {
		p.Ping = -p.Ping
	}
	p.Spectator = frags == "S"
	if r.HasPrefix(`"` + mark) {
		p.Spectator = true
		r.Span(fSpectator, 1, 1, len(mark), 0)
		p.Name = r.Delimited(fName, 0, "\"\n", 2)
	} else {
		p.Name = words.Argument(r, fName)
	}
	p.Skin = words.Argument(r, fSkin)
	p.Top = keyvalue.Int(words.Argument(r, fTop)).Value
	p.Bottom = keyvalue.Int(words.Argument(r, fBottom)).Value
	p.Team = words.Argument(r, fTeam)
	p.Login = words.Argument(r, fLogin)
	p.Client = words.Argument(r, fClient)
	return p
}

// readStreams reads the lines of QTV streams.
func (d *decoder) readStreams(r *dissect.Reader) {
	s := &d.status
	if !r.HasPrefix(qtv) {
		return
	}
	s.Streams = wire.Records(r, fStreams, fStream, s.Streams, func() bool { return r.HasPrefix(qtv) }, func() Stream {
		words.Argument(r, fStreamTag)
		q := Stream{
			ID: words.Argument(r, fStreamID), Name: words.Argument(r, fStreamOf), Address: words.Argument(r, fStreamURL),
			Viewers: keyvalue.Int(words.Argument(r, fViewers)).Value,
		}
		words.Line(r, fLine)
		words.LineEnd(r)
		return q
	})
}
