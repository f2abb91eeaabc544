// Package quake2 dissects the connectionless messages of Quake 2 and of the games
// on its engine: Yamagi Quake II, Q2Pro, R1Q2, Kingpin, Heretic II, Soldier of
// Fortune, Daikatana, Alien Arena; and the short info of Warsow and Warfork.
//
// A message is FF FF FF FF and a word. A request has arguments after it on the
// same line, and a line end, a zero byte or nothing at the end:
//
//	status  info PROTOCOL  ping  getchallenge  connect ...  rcon ...
//
// The word of a reply ends its line; what it announces follows:
//
//	print\n\key\value...\n and a line for each player: the reply to status
//	print\n and any text: output of a remote command, or a refusal
//	info\n and a line of fixed width: name, map, players/places
//	ack    challenge NUMBER p=34,35,36    client_connect ...
//
// Sources: Yamagi Quake II (sv_conless.c, sv_main.c), Warfork (sv_oob.c), qstat,
// gamedig (quake2.js), and recorded traffic.
package quake2

import (
	"bytes"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

var catalog = dissect.NewCatalog("quake2")

// Engines after Quake 2 use colour codes; those that do not have no carets.
var text = core.InCharset(core.QuakeChars)

// Every message.
var (
	words    = quake.Declare(catalog, dissect.Public)
	fText    = catalog.Add("text", dissect.String, "Text for people.", dissect.FreeText, text)
	fHidden  = fText.Hidden() // with a password in it
	fBits    = catalog.Add("status.bits", dissect.Decimal, "What QuakeWorld's reply would hold; Quake 2 ignores it.", dissect.Public)
	fVersion = catalog.Add("info.protocol", dissect.Decimal, "Version of the network protocol that the client speaks.", dissect.Public)
	fAsked   = catalog.Add("info.options", dissect.String, "Warsow: full and empty ask servers that are full or empty to answer, too.", dissect.Public)

	rcon = quake.DeclareRcon(catalog)

	// Connecting.
	fProtocol  = catalog.Add("connect.protocol", dissect.Decimal, "Version of the network protocol: 34, or 35 and 36 of R1Q2 and Q2Pro.", dissect.Public)
	fQPort     = catalog.Add("connect.qport", dissect.Decimal, "Number by which the server knows the client should a NAT change its port.", dissect.Public, dissect.Chosen)
	fChallenge = catalog.Add("connect.challenge", dissect.Decimal, "Number by which the server knows that the client receives what it sends there.", dissect.Token, dissect.Chosen)
	fProtocols = catalog.Add("challenge.protocols", dissect.List, "Versions of the network protocol that the server speaks.")
	fSpoken    = catalog.Add("challenge.protocols.protocol", dissect.Decimal, "One of them.", dissect.Public)
	fOptions   = catalog.Add("connect.options", dissect.String, "What the server tells the client: where to download from, the map.", dissect.FreeText)
	userinfo   = quake.DeclareUserinfo(catalog)

	// A status.
	fBefore = catalog.Add("status.before", dissect.String, "Lines before the settings, which some servers print by mistake.", dissect.FreeText, dissect.Framing, text)
	status  = quake.DeclareStatus(catalog, &words, oddKey, cutPlayer, notPlayer)

	// A short info.
	fHost     = catalog.Add("info.name", dissect.String, "Name of the server, cut to 16 characters.", dissect.ServerText, text)
	fMap      = catalog.Add("info.map", dissect.String, "Map, cut to 8 characters.", dissect.Public)
	fCount    = catalog.Add("info.num_players", dissect.Decimal, "Players on the server.")
	fMax      = catalog.Add("info.max_players", dissect.Decimal, "Places on the server.")
	fRefusal  = catalog.Add("info.refusal", dissect.String, "That the server speaks another version of the network protocol.", dissect.Public)
	fFacts    = catalog.Add("info.facts", dissect.List, "Warsow: what the server states about itself.")
	fFact     = catalog.Add("info.facts.fact", dissect.Group, "One of them.")
	fFactKey  = catalog.Add("info.facts.key", dissect.String, "n the name, m the map, u players/places, g the type of game, s the skill level, p a password, mo the modification, r ranked.", dissect.Public)
	fFactText = catalog.Add("info.facts.value", dissect.String, "Its value.", dissect.Public, core.InStyle(dissect.Quake3))
	fFactName = catalog.Add("info.facts.name.value", dissect.String, "Name of the server.", dissect.ServerText, core.InStyle(dissect.Quake3))
	fFactsEnd = catalog.Add("info.facts_end", dissect.Bytes, "The end of the list: EOT.", dissect.Framing)
)

var (
	unanswered     = finding.NoReply(catalog, "q2.noreply", "No reply came within the time that clients wait. The server is down, the port is another, a firewall drops the request or the reply, or the server limits how often it answers (Q2Pro, R1Q2).")
	infoUnanswered = finding.Unanswered(catalog, "q2.info.noreply", "No reply came within the time that clients wait. Servers of Quake 2 answer info only if they are not for a single player. Warsow's answer only if they are neither full nor empty, unless the request has the words full and empty. Else the server is down, the port is another, or a firewall drops the request or the reply.")
	unrequested    = finding.Unrequested(catalog, "q2.unrequested", "The conversation has requests in the capture, but none that this reply answers. It is a duplicate, a late reply or a forged packet, or the capture lost the request.")
	amplification  = catalog.Finding(dissect.FindingType{ID: "q2.amplification", Severity: dissect.Note, Text: "a forged address would get at least %r times the request (%d bytes for %d)", Doc: "Queries need no challenge: whoever forges the address of a request makes the server flood that address. A full server answers the 11 bytes of status with up to 1,400. Q2Pro and R1Q2 limit how often they answer; operators of other servers limit it in the firewall."})
	oddKey         = finding.OddKey(catalog, "q2.oddkv", "Keys and values do not pair up: the reply was cut, or a value holds a backslash and everything after it is shifted.")
	before         = finding.New(catalog, dissect.Warning, "q2.before", "text before the settings",
		"Something was printed before the status, in the same datagram. Clients that expect the settings in the second line read none, or reject the reply.", "A client should look for the line that begins with print or statusResponse. On the server, look for a mod or plugin that prints when it is asked.")
	cutPlayer = finding.Length(catalog, "q2.cut", "cut in the middle of a line",
		"The reply ends within a line. Whole lines are shown; the rest is the field data. Servers themselves leave out players that do not fit, never half a line.", finding.CutList)
	notPlayer = finding.New(catalog, dissect.Warning, "q2.line", "not a line of a player: %s",
		"A line after the settings has none of the formats of a player. It is shown and not counted. The server prints something into its status, or the reply is damaged.", "A client should skip the line. On the server, look for a mod that prints into the status.")
	wrongVersion = catalog.Finding(dissect.FindingType{ID: "q2.version", Severity: dissect.Note, Text: "the server speaks another version of the network protocol than the request names", Doc: "The number after info is the version that the client speaks: 34 in Quake 2, others in its descendants. A server with another one says so and states nothing else. A query client should ask for the status, which has no version."})
	declined     = finding.Declined(catalog, "q2.refused", mPrint, mConnectRequest, mChallengeRequest)
	rconRefused  = catalog.Finding(dissect.FindingType{ID: "q2.rcon.refused", Severity: dissect.Note, Class: core.OfRefusal, Text: "the server refuses the password of the remote console", Doc: "The password is wrong, or the server has none set. Many in a row are somebody who tries passwords."})
)

// The topics of requests.
const (
	topicStatus dissect.Topic = 1 << iota
	topicInfo
	topicPing
	topicChallenge
	topicConnect
	topicRcon
)

var (
	mStatusRequest    = catalog.Message(dissect.MessageType{Name: "status_request", Title: "status request", Role: dissect.Request, Doc: "status: asks for the settings and the players."})
	mStatusReply      = catalog.Message(dissect.MessageType{Name: "status_reply", Title: "status reply", Role: dissect.Reply, Doc: "print: the settings in one line, and a line for each player. At most about 1,390 bytes: players that do not fit are missing."})
	mInfoRequest      = catalog.Message(dissect.MessageType{Name: "info_request", Title: "info request", Role: dissect.Request, Unanswered: infoUnanswered, Doc: "info: asks for name, map and number of players, with the version of the protocol that the client speaks."})
	mInfoReply        = catalog.Message(dissect.MessageType{Name: "info_reply", Title: "info reply", Role: dissect.Reply, Doc: "info: name, map and number of players in one line; or that the server speaks another version."})
	mPingRequest      = catalog.Message(dissect.MessageType{Name: "ping_request", Title: "ping request", Role: dissect.Request, Doc: "ping: asks for a sign of life."})
	mPingReply        = catalog.Message(dissect.MessageType{Name: "ping_reply", Title: "ping reply", Role: dissect.Reply, Doc: "ack: a sign of life."})
	mChallengeRequest = catalog.Message(dissect.MessageType{Name: "challenge_request", Title: "challenge request", Role: dissect.Request, Purpose: dissect.ChallengeRequest, Doc: "getchallenge: the first step of a client that wants to play."})
	mChallengeReply   = catalog.Message(dissect.MessageType{Name: "challenge_reply", Title: "challenge", Role: dissect.Reply, Doc: "challenge: the number that the client has to send with connect, and the versions that the server speaks."})
	mConnectRequest   = catalog.Message(dissect.MessageType{Name: "connect_request", Title: "connect request", Role: dissect.Request, Doc: "connect: the second step, with the challenge and with what the client states about itself, its password included."})
	mConnectReply     = catalog.Message(dissect.MessageType{Name: "connect_reply", Title: "connect reply", Role: dissect.Reply, Doc: "client_connect: the client may play. A refusal is a print."})
	mRcon             = catalog.Message(dissect.MessageType{Name: "rcon_request", Title: "rcon command", Role: dissect.Request, Doc: "rcon: a command for the console of the server, with its password in the clear."})
	mPrint            = catalog.Message(dissect.MessageType{Name: "print", Title: "print", Role: dissect.Reply, Doc: "print: text, such as the output of a remote command, or why a client may not connect."})
	mUnknown          = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown", Role: dissect.OneWay, Doc: "The header of a message and no word that is known."})
)

// A Message is a pointer to one of the structs of this package.
type Message any

// A Query is a message of a word and arguments.
type Query struct{ Command, Arguments string }

// StatusReply is the reply to status.
type StatusReply struct {
	// Rules are the settings in the order of the message.
	Rules   []dissect.KeyValue
	Players []Player

	server dissect.Server
}

// A Player is one line of a status.
type Player = quake.Player

// InfoReply is the reply to info.
type InfoReply struct {
	// Name and Map are cut to 16 and 8 characters, unless Facts are there.
	Name, Map           string
	Players, MaxPlayers int
	// Refused says that the server speaks another version of the protocol. Only
	// Name is set then.
	Refused bool
	// Facts are what Warsow's servers state.
	Facts []dissect.KeyValue

	server dissect.Server
}

// Challenge is the reply to getchallenge.
type Challenge struct {
	Challenge string
	// Protocols are the versions that the server speaks.
	Protocols []int
}

// Connect is connect.
type Connect struct {
	Protocol, QPort, Challenge string
	// Userinfo is what the client states about itself, its password included.
	Userinfo []dissect.KeyValue
}

// Rcon is a command for the remote console.
type Rcon struct{ Password, Command string }

// Text is what a server prints.
type Text struct{ Text string }

var style = wire.Style{Charset: core.QuakeChars}

// AppendSummary gives the arguments.
func (m *Query) AppendSummary(dst []byte) []byte {
	if m.Arguments == "" {
		return dst
	}
	if m.Command == "info" {
		dst = append(dst, "protocol "...)
	}
	return style.Text(dst, "", m.Arguments)
}

// AppendSummary gives the name, the map and the players.
func (m *StatusReply) AppendSummary(dst []byte) []byte {
	short := m.server
	short.Version = dissect.Opt[string]{} // long, and the same everywhere
	return short.AppendSummary(dst)
}

// AppendSummary gives the name, the map and the players.
func (m *InfoReply) AppendSummary(dst []byte) []byte {
	if m.Refused {
		return append(style.Quoted(dst, "", m.Name), "  wrong version"...)
	}
	return m.server.AppendSummary(dst)
}

// AppendSummary gives the number and the versions.
func (m *Challenge) AppendSummary(dst []byte) []byte {
	dst = style.Text(dst, "", m.Challenge)
	before := nettext.Either(len(m.Protocols) > 1, "  protocols ", "  protocol ")
	for _, p := range m.Protocols {
		dst = wire.Number(dst, before, p)
		before = ", "
	}
	return dst
}

// AppendSummary gives the name of the player.
func (m *Connect) AppendSummary(dst []byte) []byte {
	return style.Quoted(dst, "", keyvalue.Text(m.Userinfo, "name").Value)
}

// AppendSummary gives the command, never a password.
func (m *Rcon) AppendSummary(dst []byte) []byte { return quake.AppendRcon(dst, m.Password, m.Command) }

// AppendSummary gives the first line, never a password.
func (m *Text) AppendSummary(dst []byte) []byte { return quake.AppendText(dst, m.Text) }

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
	Starts:  append(wire.Starts("pa", quake.Header), wire.Words(quake.Header, "status", "info\n", "info ", "getchallenge", "connect", "challenge", "client_connect", "rcon ")...),
	Wire:    "quake",
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Usual(unanswered, unrequested, finding.Amplified(amplification, 10), declined),
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
	wire.Message(m, mUnknown, &d.query, Query{})
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
	wire.Body(m, &d.challenge, Challenge{Challenge: words.Argument(r, fChallenge), Protocols: d.challenge.Protocols[:0]})
	if r.HasPrefix("p=") {
		list := r.Begin(fProtocols)
		for pre := len("p="); (pre == len("p=") || r.Next(',')) && quake.Digit(byte(r.PeekByte(pre))); pre = 1 {
			d.challenge.Protocols = append(d.challenge.Protocols, keyvalue.Int(r.Delimited(fSpoken, pre, ", \n\x00", 0)).Value)
		}
		r.End(list)
	}
	words.Finish(r)
}

func (d *decoder) decodeConnect(r *dissect.Reader, m *dissect.Message) {
	wire.Body(m, &d.connect, Connect{
		Protocol: words.Argument(r, fProtocol), QPort: words.Argument(r, fQPort), Challenge: words.Argument(r, fChallenge),
		Userinfo: words.Userinfo(r, userinfo, oddKey, d.connect.Userinfo[:0]),
	})
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

// decodePrint reads a status, or any text.
func (d *decoder) decodePrint(r *dissect.Reader, m *dissect.Message) {
	if n := beforeSettings(r.Peek()); n >= 0 {
		d.decodeStatus(r, m, n)
		return
	}
	wire.Body(m, &d.text, Text{Text: quake.Print(r, quake.TextLen(r.Peek()), fText, fHidden, rconRefused)})
	m.Pair.Also = topicStatus | topicInfo | topicChallenge
	words.Ending(r)
}

// decodeInfo reads a request or a reply: both have the same word.
func (d *decoder) decodeInfo(r *dissect.Reader, m *dissect.Message) {
	if quake.Numbered(r.Peek()) {
		m.Type = mInfoRequest
		m.Pair = dissect.Pair{Asks: topicInfo, Challenge: dissect.ChallengeAbsent}
		d.query.Arguments = words.Argument(r, fVersion)
		words.Line(r, fAsked)
		words.Ending(r)
		return
	}
	i := wire.Body(m, &d.info, InfoReply{Facts: d.info.Facts[:0]})
	if r.HasPrefix(`\\`) {
		d.readFacts(r)
	} else {
		d.readLine(r)
	}
	words.Ending(r)
	if r.Failed() || i.Refused {
		return
	}
	m.Server = dissect.Server{
		Charset: core.QuakeChars,
		Name:    dissect.Some(i.Name), Map: dissect.Some(i.Map), Players: dissect.Some(i.Players), MaxPlayers: dissect.Some(i.MaxPlayers),
	}
	if len(i.Facts) > 0 {
		m.Server.Charset, m.Server.Style = dissect.Guessed, dissect.Quake3
		m.Server.Game = keyvalue.Text(i.Facts, "mo", "g")
		m.Server.Password = keyvalue.Flag(i.Facts, "p")
		m.Server.Players, m.Server.MaxPlayers = i.stated()
	}
	i.server = m.Server
}

// infoLine is where the columns of a short info stand: "%16s %8s %2d/%2d". The
// name may hold blanks, the map does not.
type infoLine struct{ name, nameEnd, players, slash int }

// scan finds the columns, from the end of the line on. It reports false if the line
// has none.
func scan(b []byte) (l infoLine, ok bool) {
	l.name = len(b) - len(bytes.TrimLeft(b, " "))
	if l.slash = bytes.LastIndexByte(b, '/'); l.slash < 0 || !quake.Numbered(bytes.TrimLeft(b[l.slash+1:], " ")) {
		return l, false
	}
	l.players = len(bytes.TrimRight(b[:l.slash], "0123456789"))
	head := bytes.TrimRight(b[:l.players], " ")
	l.nameEnd = len(bytes.TrimRight(b[:bytes.LastIndexByte(head, ' ')+1], " "))
	return l, l.players < l.slash && len(head) < l.players && l.name < l.nameEnd
}

// refused ends the line of a server that speaks another version.
const refused = ": wrong version"

// readLine reads the line of fixed width.
func (d *decoder) readLine(r *dissect.Reader) {
	i := &d.info
	n := quake.LineLen(r)
	l, ok := scan(core.PeekTo(r, n))
	if !ok {
		if !bytes.HasSuffix(core.PeekTo(r, n), []byte(refused)) {
			r.Fail(fRefusal, "neither facts nor a refusal")
			return
		}
		i.Name, i.Refused = r.Text(fHost, n-len(refused)), true
		at := r.Offset()
		r.Span(fRefusal, 0, len(": "), len(refused)-len(": "), 0)
		r.Find(wrongVersion, fRefusal, at, len(refused))
		return
	}
	i.Name = r.Span(fHost, 0, l.name, l.nameEnd-l.name, 0)
	pre := core.While(r, 0, quake.Blank)
	i.Map = r.Span(fMap, 0, pre, core.While(r, pre, func(c byte) bool { return c != ' ' })-pre, 0)
	pre = core.While(r, 0, quake.Blank)
	i.Players = keyvalue.Int(r.Span(fCount, 0, pre, l.slash-l.players, 1)).Value
	pre = core.While(r, 0, quake.Blank)
	i.MaxPlayers = keyvalue.Int(r.Span(fMax, 0, pre, core.While(r, pre, quake.Digit)-pre, 0)).Value
}

// readFacts reads what Warsow's servers state: \\n\\NAME\\m\\MAP\\u\\ 3/16...EOT.
func (d *decoder) readFacts(r *dissect.Reader) {
	i := &d.info
	more := func() bool { return r.HasPrefix(`\\`) && !r.HasPrefix(`\\EOT`) }
	i.Facts = wire.Records(r, fFacts, fFact, i.Facts, more, func() dissect.KeyValue {
		kv := dissect.KeyValue{Key: r.Delimited(fFactKey, 2, "\\\n\x00", 0)}
		if r.HasPrefix(`\\`) {
			kv.Value = r.Delimited(nettext.Either(kv.Key == "n", fFactName, fFactText), 2, "\\\n\x00", 0)
		}
		return kv
	})
	if r.HasPrefix(`\\EOT`) {
		r.Bytes(fFactsEnd, len(`\\EOT`))
	}
	i.Name, i.Map = keyvalue.Text(i.Facts, "n").Value, keyvalue.Text(i.Facts, "m").Value
	players, places := i.stated()
	i.Players, i.MaxPlayers = players.Value, places.Value
}

// stated returns the players and the places that the facts state.
func (m *InfoReply) stated() (players, places dissect.Opt[int]) {
	used, all, _ := strings.Cut(keyvalue.Text(m.Facts, "u").Value, "/")
	return keyvalue.Int(strings.TrimSpace(used)), keyvalue.Int(strings.TrimSpace(all))
}

// maxBefore is the most that may be printed before a status.
const maxBefore = 256

// beforeSettings returns how many bytes stand before the settings of a status, -1
// if b has none: a line that begins with a backslash and has another one.
func beforeSettings(b []byte) int {
	n := 0
	if len(b) > 0 && b[0] != '\\' {
		if n = bytes.Index(b[:min(len(b), maxBefore)], []byte("\n\\")) + 1; n == 0 {
			return -1
		}
	}
	line, _, _ := bytes.Cut(b[n:], []byte("\n"))
	return nettext.Either(bytes.Count(line, []byte(`\`)) < 2, -1, n)
}

// decodeStatus reads a status after n bytes of something else.
func (d *decoder) decodeStatus(r *dissect.Reader, m *dissect.Message, n int) {
	s := &d.status
	m.Type, m.Body, m.Pair.Answers = mStatusReply, s, topicStatus
	if n > 0 {
		r.Find(before, fBefore, r.Offset(), n)
		r.Text(fBefore, n)
	}
	s.Rules, s.Players, m.Server = status.Read(r, s.Rules[:0], s.Players[:0])
	s.server = m.Server
}
