// Package halflife dissects the text queries of Half-Life before Steam: details,
// players, rules, info, infostring and ping, and the remote console. GoldSrc servers
// with the old code still answer them.
//
// A request is FF FF FF FF and a word, with or without a zero byte after it. The
// replies to details, players, rules and ping are those of package a2s (types m, D, E
// and j); this package reads only the two replies that the other requests have..
//
// Sources: "A gameserver Query Library", which has details, players and rules, and
// recorded traffic.
package halflife

import (
	"bytes"
	"cmp"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var style = wire.Style{Charset: dissect.Guessed}

var catalog = dissect.NewCatalog("halflife")

var (
	fHeader  = catalog.Add("header", dissect.Int, "-1: the message is in one piece.", dissect.Framing)
	fCommand = catalog.Add("command", dissect.String, "Word that names the message.", dissect.Public)
	fType    = catalog.Add("type", dissect.Char, "Letter that names the reply.")
	pairs    = keyvalue.Declare(catalog)

	fAddress    = catalog.Add("info.address", dissect.String, "The server's own address as it knows it.", dissect.Address)
	fName       = catalog.Add("info.name", dissect.String, "Name of the server.", dissect.ServerText)
	fMap        = catalog.Add("info.map", dissect.String, "Map being played.", dissect.Public)
	fFolder     = catalog.Add("info.folder", dissect.String, "Directory of the game.", dissect.Public)
	fGame       = catalog.Add("info.game", dissect.String, "Name of the game.", core.GameName)
	fPlayers    = catalog.Add("info.num_players", dissect.Uint, "Players on the server.")
	fMaxPlayers = catalog.Add("info.max_players", dissect.Uint, "Maximum number of players.")
	fProtocol   = catalog.Add("info.protocol", dissect.Uint, "Version of the network protocol.")

	fChallenge   = catalog.Add("rcon.challenge", dissect.Decimal, "Challenge that the server gave for this command.", dissect.Token, dissect.Chosen)
	fPassword    = catalog.Add("rcon.password", dissect.String, "Password of the remote console.", dissect.Secret, core.InJSON("rcon_password"))
	fRconCommand = catalog.Add("rcon.command_line", dissect.String, "Command for the console of the server.", dissect.FreeText)
	fHidden      = fRconCommand.Hidden() // contains a password
)

// The topics of requests. Package a2s, whose replies answer them, uses the same
// numbers.
const (
	topicPing dissect.Topic = 1 << iota
	_
	topicInfo
	topicPlayers
	topicRules
	_
	topicInfoString
	topicRcon
)

var (
	mDetails       = catalog.Message(dissect.MessageType{Name: "details_request", Title: "details request", Role: dissect.Request, Doc: "Asks for basic information about a server; the reply is type m."})
	mPlayers       = catalog.Message(dissect.MessageType{Name: "players_request", Title: "players request", Role: dissect.Request, Doc: "Asks for the players; the reply is type D."})
	mRules         = catalog.Message(dissect.MessageType{Name: "rules_request", Title: "rules request", Role: dissect.Request, Doc: "Asks for the settings; the reply is type E."})
	mInfo          = catalog.Message(dissect.MessageType{Name: "info_request", Title: "info request", Role: dissect.Request, Doc: "Asks for basic information about a server; the reply is type C or m."})
	mInfoReply     = catalog.Message(dissect.MessageType{Name: "info_reply", Title: "info reply", Role: dissect.Reply, Doc: "Type C: basic information about a server before Steam."})
	mInfoString    = catalog.Message(dissect.MessageType{Name: "infostring_request", Title: "infostring request", Role: dissect.Request, Doc: "Asks for information about a server as keys and values."})
	mInfoStringRep = catalog.Message(dissect.MessageType{Name: "infostring_reply", Title: "infostring reply", Role: dissect.Reply, Doc: "Information about a server as keys and values."})
	mPing          = catalog.Message(dissect.MessageType{Name: "ping_request", Title: "ping request", Role: dissect.Request, Doc: "Asks whether the server responds; the reply is type j."})
	mRcon          = catalog.Message(dissect.MessageType{Name: "rcon_request", Title: "rcon command", Role: dissect.Request, Doc: "A command for the server's console. The password is not encrypted."})
	mRconChallenge = catalog.Message(dissect.MessageType{Name: "rcon_challenge_request", Title: "rcon challenge request", Role: dissect.Request, Doc: "Asks for the challenge that a command must carry."})

	unanswered    = finding.NoReply(catalog, "halflife.noreply", "The capture has no reply. Servers since Steam do not answer the old text queries without a plugin. The server may also be down, or a packet was lost, dropped or not captured.")
	amplification = finding.Amplification(catalog, "halflife.amplification", "The old queries have no challenge, so attackers can use a server that answers them to flood others.")
	oddKey        = finding.New(catalog, dissect.Warning, "halflife.oddkv", "the last key has no value",
		"Keys and values do not pair up: the reply was truncated, or a value contains a backslash.", finding.OddPairs)
	noTerm = catalog.Finding(dissect.FindingType{ID: "halflife.noterm", Severity: dissect.Chat, Text: "no zero byte after the word", Doc: "Some clients omit it; a truncated request looks the same. Servers answer without it."})
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "halflife",
	Title:   "Half-Life text queries",
	Group:   "Valve",
	Doc:     "The text queries of Half-Life before Steam: details, players, rules, info, infostring, ping, rcon. Most replies have the format of a2s and are shown under this name.",
	Source:  "A gameserver Query Library (CodeProject), Half-Life",
	Family:  "valve",
	Wire:    "quake",
	Ports:   []uint16{27015, 27016, 27017, 27018, 27019, 27020},
	Starts:  append(wire.Starts("piC", "\xff\xff\xff\xff"), wire.Words("\xff\xff\xff\xff", "details", "players", "rules", "rcon ", "challenge")...),
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: dissect.Pairing{Unanswered: unanswered, OnReply: []dissect.Rule{amplification}, OnStray: []dissect.Rule{finding.OtherKind(core.OtherKind)}},
}

const infoStringResponse = "infostringresponse"

// words are the requests that consist of one word.
var words = []struct {
	word    string
	message *dissect.MessageType
	topic   dissect.Topic
	verdict dissect.Verdict
}{
	{"details", mDetails, topicInfo, dissect.Certain},
	{"players", mPlayers, topicPlayers, dissect.Certain},
	{"rules", mRules, topicRules, dissect.Certain},
	{"infostring", mInfoString, topicInfoString, dissect.Certain},
	{"info", mInfo, topicInfo, dissect.Likely},
	// QuakeWorld and Quake 2 have the word as well.
	{"ping", mPing, topicPing, dissect.Possible},
	{"challenge rcon", mRconChallenge, topicRcon, dissect.Certain},
}

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) < 5 || string(b[:4]) != "\xff\xff\xff\xff" {
		return dissect.No
	}
	b = b[4:]
	for _, w := range words {
		if len(b) >= len(w.word) && b[0] == w.word[0] && string(b[:len(w.word)]) == w.word {
			// With more text it is a reply of another engine: a Quake 2 server
			// answers "info" and a line of settings.
			if end := b[len(w.word):]; wire.Ends(end) || len(end) > 1 && len(bytes.Trim(end, "\x00")) == 0 {
				if w.verdict == dissect.Possible && len(end) > 0 && end[0] != 0 {
					return dissect.Doubtful // Quake 2 ends the word with a new line
				}
				return w.verdict
			}
		}
	}
	switch {
	case bytes.HasPrefix(b, []byte(infoStringResponse)):
		return dissect.Certain
	case rconPassword(b) > 0:
		return detectRcon(b[rconPassword(b):])
	case b[0] == 'C' && len(b) >= 8:
		return dissect.Possible
	}
	return dissect.No
}

// detectRcon judges the rest of an rcon command after its number. In Half-Life the
// number is a challenge, and the password and the command follow. In Quake the number
// may be the password and the rest the command. Most clients put the password in
// quotation marks; some do not (SteamCondenser).
func detectRcon(rest []byte) dissect.Verdict {
	if rest[0] != '"' {
		return dissect.Possible
	}
	quoted := rest
	n := bytes.IndexByte(quoted[1:], '"')
	switch {
	case n < 0:
		return dissect.Likely // a long password: Detect does not see its end
	case n+2 < len(quoted) && quoted[n+2] == ' ':
		return dissect.Certain
	}
	return dissect.Possible
}

// rconPassword returns the offset of the password in an rcon command: rcon <challenge>
// "<password>" <command>. It returns 0 if b is not such a command. Quake's form has no
// challenge. A blank follows a password without quotation marks.
func rconPassword(b []byte) int {
	if !bytes.HasPrefix(b, []byte("rcon ")) {
		return 0
	}
	i := len(b) - len(bytes.TrimLeft(b[len("rcon "):], "-0123456789"))
	switch {
	case i == len("rcon ") || len(b)-i < 2 || b[i] != ' ', b[i+1] != '"' && bytes.IndexByte(b[i+1:], ' ') <= 0:
		return 0
	}
	return i + 1
}

// A Message is one of *Request, *InfoReply, *InfoStringReply and *Rcon.
type Message any

// Request is a request that consists of one word.
type Request struct{ Command string }

// InfoReply is the reply of type C to info.
type InfoReply struct {
	Address, Name, Map, Folder, Game string
	Players, MaxPlayers              uint8
	Protocol                         dissect.Opt[uint8]
}

// InfoStringReply is the reply to infostring.
type InfoStringReply struct{ Rules []dissect.KeyValue }

// Rcon is a command for the remote console.
type Rcon struct{ Challenge, Password, Command string }

// Parse decodes one payload. Package a2s decodes the replies of types m, D, E and j.
// The caller owns the result. The error is a *dissect.Error that says where reading
// ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	request    Request
	info       InfoReply
	infoString InfoStringReply
	rcon       Rcon
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	r.I32(fHeader)
	switch {
	case r.HasPrefix(infoStringResponse):
		d.decodeInfoString(r, m)
		return
	case r.Next('C'):
		d.decodeInfo(r, m)
		return
	case rconPassword(r.Peek()) > 0:
		d.decodeRcon(r, m)
		return
	}
	wire.Message(m, mInfo, &d.request, Request{})
	var terminated bool
	if end := r.Until("\n\x00"); r.PeekByte(end) == '\n' {
		if end > 0 && r.PeekByte(end-1) == '\r' {
			d.request.Command, terminated = r.Delimited(fCommand, 0, "\r", 2), true
		} else {
			d.request.Command, terminated = r.Delimited(fCommand, 0, "\n", 1), true
		}
		if r.Left() == 1 && r.Next(0) {
			r.Bytes(fEnd, 1)
		}
	} else {
		d.request.Command, terminated = core.CStringOrRest(r, fCommand)
	}
	for i := range words {
		if d.request.Command == words[i].word {
			m.Type = words[i].message
			m.Pair = dissect.Pair{Asks: words[i].topic, Challenge: dissect.ChallengeAbsent}
			if words[i].topic == topicPing || words[i].topic == topicRcon {
				m.Pair.Challenge = dissect.NoChallenge
			}
			if !terminated {
				r.Note(noTerm)
			}
			return
		}
	}
	r.Fail(fCommand, "no such query")
}

var fEnd = catalog.Add("end", dissect.Bytes, "Zero byte at the end.", dissect.Framing)

func (d *decoder) decodeInfoString(r *dissect.Reader, m *dissect.Message) {
	p := wire.Message(m, mInfoStringRep, &d.infoString, InfoStringReply{Rules: d.infoString.Rules[:0]})
	m.Pair.Answers = topicInfoString
	if r.CString(fCommand); r.Failed() {
		return
	}
	var odd bool
	if p.Rules, odd = keyvalue.Read(r, pairs, r.Until("\x00"), p.Rules); odd {
		r.Note(oddKey)
	}
	if r.More() {
		r.Bytes(fEnd, 1)
	}
	m.Server = dissect.Server{
		Name: keyvalue.Text(p.Rules, "hostname"), Map: keyvalue.Text(p.Rules, "map"),
		Game: keyvalue.Text(p.Rules, "gamedir", "description"), Version: keyvalue.Text(p.Rules, "version"),
		Players: keyvalue.Number(p.Rules, "players"), MaxPlayers: keyvalue.Number(p.Rules, "max"),
		Bots: keyvalue.Number(p.Rules, "bots"), Password: keyvalue.Flag(p.Rules, "password"),
	}
}

func (d *decoder) decodeInfo(r *dissect.Reader, m *dissect.Message) {
	i := wire.Message(m, mInfoReply, &d.info, InfoReply{})
	m.Pair.Answers = topicInfo
	r.U8(fType)
	i.Address = r.CString(fAddress)
	i.Name = r.CString(fName)
	i.Map = r.CString(fMap)
	i.Folder = r.CString(fFolder)
	i.Game = r.CString(fGame)
	i.Players = r.U8(fPlayers)
	i.MaxPlayers = r.U8(fMaxPlayers)
	if r.More() { // the oldest servers end here
		i.Protocol = dissect.Some(r.U8(fProtocol))
	}
	wire.State(r, m, dissect.Server{
		Name: dissect.Some(i.Name), Map: dissect.Some(i.Map), Game: dissect.Some(cmp.Or(i.Folder, i.Game)),
		Players: dissect.Some(int(i.Players)), MaxPlayers: dissect.Some(int(i.MaxPlayers)),
	})
}

func (d *decoder) decodeRcon(r *dissect.Reader, m *dissect.Message) {
	c := wire.Message(m, mRcon, &d.rcon, Rcon{})
	m.Pair.Asks = topicRcon
	r.Delimited(fCommand, 0, " ", 1)
	c.Challenge = r.Delimited(fChallenge, 0, " ", 1)
	if r.Next('"') {
		c.Password = r.Delimited(fPassword, 1, `"`, 2)
	} else {
		c.Password = r.Delimited(fPassword, 0, " ", 1)
	}
	c.Command, _ = core.CStringOrRest(r, fRconCommand)
	console.HideCommand(r, fHidden, c.Command)
}

// AppendSummary appends the command, never a password.
func (m *Rcon) AppendSummary(dst []byte) []byte {
	return style.Concealed(dst, m.Command, console.CommandSecret(m.Command))
}
