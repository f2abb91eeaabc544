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
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/judge"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/dissect/internal/summary"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var fields = dissect.NewCatalog("quakeworld")

var text = core.InCharset(core.QuakeChars)

// Every message.
var (
	words  = quake.Declare(fields, dissect.FreeText)
	fFifth = fields.Add("fifth", dissect.Uint, "The fifth FF of HexenWorld.", dissect.Framing)
	fType  = fields.Add("type", dissect.Char, "The letter that says which reply it is.", dissect.Names(
		dissect.Name{Value: 'n', Name: "print"}, dissect.Name{Value: 'c', Name: "challenge"}, dissect.Name{Value: 'j', Name: "connection"},
		dissect.Name{Value: 'l', Name: "acknowledgement"}, dissect.Name{Value: 'm', Name: "negative acknowledgement"}))
	fText   = fields.Add("text", dissect.String, "Text for people.", dissect.FreeText, text)
	fHidden = fText.Hidden() // with a password in it

	// Requests.
	fBits = fields.Add("status.bits", dissect.Decimal, "What the reply is to hold, as a sum: 1 settings, 2 players, 4 spectators, 8 spectators in the form of players, 16 teams, 32 QTV streams, 64 accounts, 128 types of clients.", dissect.Public)
	fGame = fields.Add("stats.match", dissect.Decimal, "Number of the match, counted from the newest, or how many of them.", dissect.Public)

	rcon = quake.DeclareRcon(fields)

	// Connecting.
	fProtocol   = fields.Add("connect.protocol", dissect.Decimal, "Version of the network protocol: 28 since 2.40.", dissect.Public)
	fQPort      = fields.Add("connect.qport", dissect.Decimal, "Number by which the server knows the client should a NAT change its port.", dissect.Public, dissect.Chosen)
	fChallenge  = fields.Add("connect.challenge", dissect.Decimal, "Number by which the server knows that the client receives what it sends there.", dissect.Token, dissect.Chosen)
	userinfo    = quake.DeclareUserinfo(fields)
	fExtensions = fields.Add("extensions", dissect.List, "Extensions of the protocol that the server offers.")
	fExtension  = fields.Add("extensions.extension", dissect.Group, "One extension.")
	fName4      = fields.Add("extensions.name", dissect.String, "Name: FTEX and FTE2 of FTE, MVD1 of mvdsv, VOIP.", dissect.Public)
	fMask       = fields.Add("extensions.bits", dissect.Uint, "Which parts of it, one bit each.")

	// A status.
	rules      = keyvalue.Declare(fields, text)
	fPlayers   = fields.Add("players", dissect.List, "The players and the spectators.")
	fPlayer    = fields.Add("players.player", dissect.Group, "One of them.")
	fID        = fields.Add("players.id", dissect.Decimal, "Number that the server gave, which grows with every client.")
	fFrags     = fields.Add("players.score", dissect.Decimal, "Frags; −9999, or the letter S, for spectators.", dissect.Public)
	fMinutes   = fields.Add("players.minutes", dissect.Decimal, "Minutes on the server.")
	fPing      = fields.Add("players.ping", dissect.Decimal, "Round-trip time in milliseconds; 666 for bots, 999 while connecting. Negated for spectators.")
	fSpectator = fields.Add("players.spectator", dissect.Bool, `The mark \s\ before the name of a spectator.`)
	fName      = fields.Add("players.name", dissect.String, "Name.", dissect.PersonName, text)
	fSkin      = fields.Add("players.skin", dissect.String, "Skin.", dissect.Public, text)
	fTop       = fields.Add("players.top_color", dissect.Decimal, "Colour of the shirt, 0 to 16.")
	fBottom    = fields.Add("players.bottom_color", dissect.Decimal, "Colour of the trousers, 0 to 16.")
	fTeam      = fields.Add("players.team", dissect.String, "Team.", dissect.PersonName, text)
	fLogin     = fields.Add("players.login", dissect.String, "Account, or the country of it.", dissect.PersonName, text)
	fClient    = fields.Add("players.client", dissect.String, "Type of the client: b for a bot, h for a human.", dissect.Public)
	fLine      = fields.Add("players.line", dissect.String, "A line that is not one of a player.", dissect.FreeText, dissect.Framing, text)
	fStreams   = fields.Add("streams", dissect.List, "QTV streams of the match.")
	fStream    = fields.Add("streams.stream", dissect.Group, "One stream.")
	fStreamTag = fields.Add("streams.tag", dissect.String, "The word qtv.", dissect.Framing)
	fStreamID  = fields.Add("streams.id", dissect.Decimal, "Number of the stream.")
	fStreamOf  = fields.Add("streams.name", dissect.String, "Name of the QTV server.", dissect.ServerText, text)
	fStreamURL = fields.Add("streams.address", dissect.String, "Address to watch it at.", dissect.ServerText)
	fViewers   = fields.Add("streams.num_viewers", dissect.Decimal, "Viewers.")

	// Other replies.
	fUsersTag = fields.Add("qtvusers.id", dissect.Decimal, "Number of the QTV stream.")
	fUsers    = fields.Add("viewers", dissect.List, "Viewers of the stream.")
	fUser     = fields.Add("viewers.name", dissect.String, "Name of a viewer.", dissect.PersonName, text)
	fStats    = fields.Add("stats.json", dissect.String, "The statistics, as JSON.", dissect.FreeText, text)
	fLogStart = fields.Add("log.number", dissect.Decimal, "Number of the log.")
	fLogRows  = fields.Add("log.kills", dissect.List, "Who killed whom.")
	fLogRow   = fields.Add("log.kills.kill", dissect.Group, "One kill.")
	fKiller   = fields.Add("log.kills.killer", dissect.String, "Name of the player who killed.", dissect.PersonName, text)
	fVictim   = fields.Add("log.kills.victim", dissect.String, "Name of the player who was killed.", dissect.PersonName, text)
)

var (
	unanswered    = finding.NoReply("qw.noreply", "No reply came within the time that clients wait. The server is down, the port is another, or a firewall drops the request or the reply. To log, laststats, lastscores and qtvusers only servers answer that know them (mvdsv with KTX); others stay silent.")
	unrequested   = finding.Unrequested("qw.unrequested", "The conversation has requests in the capture, but none that this reply answers. It is a duplicate, a late reply or a forged packet, or the capture lost the request.")
	amplification = &dissect.FindingType{ID: "qw.amplification", Severity: dissect.Note, Text: "a forged address would get at least %r times the request (%d bytes for %d)", Doc: "Queries need no challenge: whoever forges the address of a request makes the server flood that address. A full server answers the 10 bytes of status with 60 times as many, laststats with more than 200 times. mvdsv does not limit queries; operators limit them in the firewall."}
	oddKey        = finding.OddKey("qw.oddkv", "Keys and values do not pair up: the reply was cut, or a value holds a backslash and everything after it is shifted.")
	cutPlayer     = finding.Length("qw.cut", "cut in the middle of a line",
		"The reply ends within a line. Whole lines are shown; the rest is the field data.", finding.CutList)
	notPlayer = finding.New(dissect.Warning, "qw.line", "not a line of a player: %s",
		"A line after the settings has none of the formats of a player. It is shown and not counted. The server prints something into its status, or the reply is damaged.", "A client should skip the line. On the server, look for a mod that prints into the status.")
	rconRefused  = &dissect.FindingType{ID: "qw.rcon.refused", Severity: dissect.Note, Text: "the server refuses the password of the remote console", Doc: "The password is wrong, or the server has none set. Many in a row are somebody who tries passwords."}
	extensionCut = finding.New(dissect.Warning, "qw.extensions", "%d {byte|bytes} after the challenge {is|are} not an extension",
		"After the challenge stand extensions of eight bytes each: a name of four letters and a number. What is left over is shorter. The reply was cut, or the server writes something else there.", "A client should ignore what is left over, or ask for another challenge.")
)

var findings = []*dissect.FindingType{unanswered, unrequested, amplification, oddKey, cutPlayer, notPlayer, rconRefused, extensionCut}

// The topics of requests.
const (
	topicStatus dissect.Topic = 1 << iota
	topicPing
	topicChallenge
	topicConnect
	topicRcon
	topicLog
	topicStats
	topicUsers
	topicDemos
)

var (
	mStatusRequest    = &dissect.MessageType{Name: "status_request", Title: "status request", Role: dissect.Request, Doc: "status: asks for the settings and the players, or for the parts that a sum of bits names."}
	mStatusReply      = &dissect.MessageType{Name: "status_reply", Title: "status reply", Role: dissect.Reply, Doc: "The settings in one line, a line for each player, and a line for each QTV stream. A long reply continues in further datagrams, which begin with a player."}
	mPingRequest      = &dissect.MessageType{Name: "ping_request", Title: "ping request", Role: dissect.Request, Doc: "ping or k: asks for a sign of life."}
	mPingReply        = &dissect.MessageType{Name: "ping_reply", Title: "ping reply", Role: dissect.Reply, Doc: "The single byte l, without a header."}
	mNack             = &dissect.MessageType{Name: "nack", Title: "refusal", Role: dissect.Reply, Doc: "The single byte m, without a header: the server has no log, or nothing new in it."}
	mChallengeRequest = &dissect.MessageType{Name: "challenge_request", Title: "challenge request", Role: dissect.Request, Purpose: dissect.ChallengeRequest, Doc: "getchallenge: the first step of a client that wants to play."}
	mChallengeReply   = &dissect.MessageType{Name: "challenge_reply", Title: "challenge", Role: dissect.Reply, Doc: "The number that the client has to send with connect, and the extensions of the protocol that the server offers."}
	mConnectRequest   = &dissect.MessageType{Name: "connect_request", Title: "connect request", Role: dissect.Request, Doc: "connect: the second step, with the challenge and with what the client states about itself, its password included."}
	mConnectReply     = &dissect.MessageType{Name: "connect_reply", Title: "connect reply", Role: dissect.Reply, Doc: "The letter j: the client may play. A refusal is a print."}
	mRcon             = &dissect.MessageType{Name: "rcon_request", Title: "rcon command", Role: dissect.Request, Doc: "rcon: a command for the console of the server, with its password in the clear."}
	mPrint            = &dissect.MessageType{Name: "print", Title: "print", Role: dissect.Reply, Doc: "Text: the output of a remote command, a list of demos, why a client may not connect. An empty one says that there is nothing."}
	mLogRequest       = &dissect.MessageType{Name: "log_request", Title: "log request", Role: dissect.Request, Doc: "log: asks for the kills since the log with a number."}
	mLogReply         = &dissect.MessageType{Name: "log_reply", Title: "log", Role: dissect.Reply, Doc: "stdlog: who killed whom, without a header."}
	mStatsRequest     = &dissect.MessageType{Name: "stats_request", Title: "statistics request", Role: dissect.Request, Doc: "laststats or lastscores: asks for the statistics of the last matches (KTX)."}
	mStatsReply       = &dissect.MessageType{Name: "stats_reply", Title: "statistics", Role: dissect.Reply, Doc: "laststats: the statistics of matches as JSON."}
	mUsersRequest     = &dissect.MessageType{Name: "viewers_request", Title: "viewers request", Role: dissect.Request, Doc: "qtvusers: asks who watches the match through QTV."}
	mUsersReply       = &dissect.MessageType{Name: "viewers_reply", Title: "viewers", Role: dissect.Reply, Doc: "qtvusers: the viewers of a QTV stream."}
	mDemosRequest     = &dissect.MessageType{Name: "demos_request", Title: "demos request", Role: dissect.Request, Doc: "dlist, demolist and their relatives: asks for the list of recorded matches."}
	mProxy            = &dissect.MessageType{Name: "proxy", Title: "proxy notice", Role: dissect.OneWay, Doc: "ip or broadcast: what proxies and QTV servers tell a server. Nothing answers it."}
	mUnknown          = &dissect.MessageType{Name: "unknown", Title: "unknown", Role: dissect.OneWay, Doc: "The header of a message and no word or letter that is known."}
)

var messages = []*dissect.MessageType{
	mStatusRequest, mStatusReply, mPingRequest, mPingReply, mNack, mChallengeRequest, mChallengeReply, mConnectRequest, mConnectReply,
	mRcon, mPrint, mLogRequest, mLogReply, mStatsRequest, mStatsReply, mUsersRequest, mUsersReply, mDemosRequest, mProxy, mUnknown,
}

// A Message is a pointer to one of the structs of this package.
type Message any

// A Query is a request or a notice of a word and arguments.
type Query struct{ Command, Arguments string }

// StatusReply is the reply to status, or one datagram of it.
type StatusReply struct {
	// Rules are the settings in the order of the message.
	Rules   []dissect.KeyValue
	Players []Player
	Streams []Stream

	server dissect.Server
}

// A Player is one line of a status.
type Player struct {
	ID int
	// Score is not set if the server shows a spectator as the letter S.
	Score dissect.Opt[int]
	// Minutes is the time on the server, Ping is in milliseconds, never negative.
	Minutes, Ping int
	// Name, Skin and Team are in the character set of Quake.
	Name, Skin, Team string
	// Top and Bottom are the colours of shirt and trousers.
	Top, Bottom int
	Spectator   bool
	// Login and Client are "" unless the request asks for them.
	Login, Client string
}

// A Stream is a QTV stream of the match.
type Stream struct {
	ID            string
	Name, Address string
	Viewers       int
}

// Challenge is the reply to getchallenge.
type Challenge struct {
	Challenge  string
	Extensions []Extension
}

// An Extension of the protocol, with a bit for each of its parts.
type Extension struct {
	Name string
	Bits uint32
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

// A Sign is a message of one letter: j, l or m.
type Sign struct{ Letter byte }

// Stats is the reply to laststats.
type Stats struct {
	// Matches is the number of matches, JSON their statistics.
	Matches, JSON string
}

// Viewers is the reply to qtvusers.
type Viewers struct {
	Stream string
	Names  []string
}

// Log is the reply to log.
type Log struct {
	Number string
	Kills  []Kill
}

// A Kill is a row of a log.
type Kill struct{ Killer, Victim string }

var style = summary.Style{Charset: core.QuakeChars}

// AppendSummary gives the word, where there are several, and the arguments.
func (m *Query) AppendSummary(dst []byte) []byte {
	switch m.Command {
	case "status":
		if m.Arguments != "" {
			dst = style.Text(dst, "bits ", m.Arguments)
		}
		return dst
	case "getchallenge", "qtvusers", "ping", "":
		return dst
	}
	dst = style.Text(dst, "", m.Command)
	if m.Arguments != "" {
		dst = style.Text(dst, " ", m.Arguments)
	}
	return dst
}

// AppendSummary gives the name, the map and the players; of a further part what it
// has.
func (m *StatusReply) AppendSummary(dst []byte) []byte {
	if len(m.Rules) > 0 {
		return m.server.AppendSummary(dst)
	}
	start := len(dst)
	if n := len(m.Players); n > 0 {
		dst = summary.Count(dst, "", n, "player", "players")
	}
	if n := len(m.Streams); n > 0 {
		dst = summary.Count(summary.Gap(dst, start), "", n, "stream", "streams")
	}
	return dst
}

// AppendSummary gives the number and the names of the extensions.
func (m *Challenge) AppendSummary(dst []byte) []byte {
	dst = style.Text(dst, "", m.Challenge)
	for i := range m.Extensions {
		before := " "
		if i == 0 {
			before = "  "
		}
		dst = style.Text(dst, before, m.Extensions[i].Name)
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
func (m *Text) AppendSummary(dst []byte) []byte {
	if m.Text == "" {
		return append(dst, "nothing"...)
	}
	return quake.AppendText(dst, m.Text)
}

// AppendSummary gives the size.
func (m *Stats) AppendSummary(dst []byte) []byte {
	return summary.Count(dst, "", len(m.JSON), "byte of JSON", "bytes of JSON")
}

// AppendSummary gives the number of viewers.
func (m *Viewers) AppendSummary(dst []byte) []byte {
	return summary.Count(dst, "", len(m.Names), "viewer", "viewers")
}

// AppendSummary gives the number of kills.
func (m *Log) AppendSummary(dst []byte) []byte {
	return summary.Count(dst, "", len(m.Kills), "kill", "kills")
}

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:     "quakeworld",
	Title:    "QuakeWorld queries",
	Group:    "Quake and Doom",
	Doc:      "Status, ping, remote console and statistics of QuakeWorld and HexenWorld servers (mvdsv, KTX, FTE), of the proxy qwfwd and of QTV.",
	Source:   "mvdsv (sv_main.c, sv_send.c), qstat, gamedig (quake1.js); recorded traffic",
	Ports:    ports(),
	Starts:   slices.Concat(wire.Starts("ncjlpki\xff", quake.Header), wire.Words(quake.Header, "status", "getchallenge", "rcon ", "qtvusers", "dlist", "demolist", "broadcast"), []string{"l\x00", "m\x00", stdlog}),
	Wire:     "quake",
	Fields:   fields,
	Messages: messages,
	Findings: findings,
	Detect:   Detect,
	New:      func() dissect.Decoder { return new(decoder) },
	Pairing:  judge.Usual(unanswered, unrequested, judge.Amplification(amplification, 10)),
}

// ports returns those of servers, of QTV and qwfwd, and of HexenWorld.
func ports() (list []uint16) {
	for p := uint16(27500); p <= 27510; p++ {
		list = append(list, p)
	}
	for p := uint16(28501); p <= 28510; p++ {
		list = append(list, p)
	}
	return append(list, 28000, 30000, 26950)
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
	for _, c := range b[:min(len(b), 16)] {
		if c < ' ' && !quake.Ender(c) && c != '\t' && (c < 0x10 || c > 0x1d) {
			return false
		}
	}
	return len(b) > 0
}

// isChallenge reports whether b is a number that a zero byte or nothing follows.
func isChallenge(b []byte) bool {
	n := bytes.IndexByte(b, 0)
	if n < 0 {
		n = len(b)
	}
	return n <= len("-2147483648") && quake.Numbered(b[:n])
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
	d.query = Query{}
	m.Type, m.Body = mUnknown, &d.query
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

// refusal is how servers say that a password is wrong or that there is none.
const refusal = "Bad rcon_password"

func (d *decoder) decodeText(r *dissect.Reader, m *dissect.Message) {
	t := &d.text
	*t = Text{}
	m.Type, m.Body, m.Pair.Answers = mPrint, t, topicRcon|topicConnect|topicDemos
	at := r.Offset()
	if n := quake.TextLen(r.Peek()); n > 0 {
		m.Pair.Also = topicStatus | topicChallenge | topicStats | topicUsers | topicLog // a refusal
		t.Text = r.Text(fText, n)
		console.Hide(r, fHidden, t.Text)
		if strings.HasPrefix(t.Text, refusal) {
			r.Find(rconRefused, fText, at, r.Offset()-at)
		}
	} else {
		m.Pair.Answers |= topicStatus | topicStats | topicUsers
	}
	words.Ending(r)
}

func (d *decoder) decodeChallenge(r *dissect.Reader, m *dissect.Message) {
	c := &d.challenge
	*c = Challenge{Extensions: c.Extensions[:0]}
	m.Type, m.Body, m.Pair.Answers = mChallengeReply, c, topicChallenge
	r.U8(fType)
	c.Challenge, _ = core.CStringOrRest(r, fChallenge)
	if !r.More() {
		return
	}
	list := r.Begin(fExtensions)
	for r.Left() >= 8 {
		e := r.Begin(fExtension)
		c.Extensions = append(c.Extensions, Extension{Name: r.Text(fName4, 4), Bits: r.U32(fMask)})
		r.End(e)
	}
	r.End(list)
	if n := r.Left(); n > 0 {
		r.Find(extensionCut, fExtensions, r.Offset(), n, dissect.Num(n))
		r.Rest(fields.Data())
	}
}

func (d *decoder) decodeConnect(r *dissect.Reader) {
	c := &d.connect
	*c = Connect{
		Protocol: words.Argument(r, fProtocol), QPort: words.Argument(r, fQPort), Challenge: words.Argument(r, fChallenge),
		Userinfo: c.Userinfo[:0],
	}
	c.Userinfo = words.Userinfo(r, userinfo, oddKey, c.Userinfo)
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
	l := &d.log
	*l = Log{Kills: l.Kills[:0]}
	m.Type, m.Body, m.Pair.Answers = mLogReply, l, topicLog
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
		at, n := r.Offset(), quake.LineLen(r)
		var odd bool
		if s.Rules, odd = keyvalue.Read(r, rules, n, s.Rules); odd {
			r.Find(oddKey, rules.List, at, n, dissect.Str(s.Rules[len(s.Rules)-1].Key))
		}
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

// readPlayers reads the lines of players, and counts those who play.
func (d *decoder) readPlayers(r *dissect.Reader, m *dissect.Message) {
	s := &d.status
	if !r.More() || r.Next(0) || r.HasPrefix(qtv) {
		return
	}
	list := r.Begin(fPlayers)
	playing := 0
	for r.More() && !r.Next(0) && !r.HasPrefix(qtv) {
		if !isPlayer(r.Peek()) {
			at, n := r.Offset(), quake.LineLen(r)
			if n == r.Left() {
				r.Find(cutPlayer, fLine, at, n)
				r.Text(fLine, n)
				break
			}
			r.Find(notPlayer, fLine, at, n, dissect.Str(r.Text(fLine, n)))
			words.LineEnd(r)
			continue
		}
		player := r.BeginRecord(fPlayer)
		p := readPlayer(r)
		if !r.EndRecord(player) {
			break
		}
		s.Players = append(s.Players, p)
		if !p.Spectator {
			playing++
		}
	}
	r.End(list)
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
	words.Line(r, fLine)
	words.LineEnd(r)
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
