// Package a2s dissects the server queries of Valve's engines: Source, GoldSrc, The
// Ship, SiN 1 Multiplayer and Rag Doll Kung Fu, and of the many other engines that
// answer them.
//
// A query is one datagram that begins with FF FF FF FF and a letter. The engine splits
// a reply that is longer than a datagram into parts that begin with FE FF FF FF; before
// that it may compress the reply with bzip2. [Parse] decodes a single message, the
// analyzer of package dissect a whole conversation.
//
// Numbers are little-endian. Text ends with a zero byte. It is UTF-8 on modern servers
// and in the code page of the machine on old ones.
//
// Sources: "Server queries" of the Valve Developer Community, "The Ship" of the
// steam-condenser wiki, and recorded traffic of real servers. Comments say where
// traffic and documents differ.
package a2s

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/bunzip"
	"github.com/qdissect/qdissect/dissect/internal/console"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:   "a2s",
	Title:  "Valve server queries (A2S)",
	Group:  "Valve",
	Doc:    "Queries of Source, GoldSrc, The Ship, SiN 1 and Rag Doll Kung Fu servers, and of the many games that answer them through Steam: info, players, rules, challenge and ping.",
	Source: "Valve Developer Community, Server queries; steam-condenser, The Ship",
	Family: "valve",
	// Source servers use 27015 by default, and admins count up from there. The
	// other ports are those of games whose query port differs from the game port.
	Ports:   append(wire.Ports(27000, 27050), 2303, 2457, 7777, 8211, 9877, 15637, 16261, 17777, 26900, 27165, 28015, 30001, 57561, 64092),
	Starts:  []string{header, splitHeader},
	Catalog: catalog,
	Detect:  Detect,
	// Xash3D's ping has a line end. Master servers have the same on their ports.
	Confirm: func(payload []byte) bool { return string(payload) == header+"i\n" },
	New:     func() dissect.Decoder { return new(decoder) },
	Split: &dissect.Splitting{
		Read: readSplit, Incomplete: splitMissing, Duplicate: splitDuplicate, Reordered: splitReorder, Conflict: splitConflict,
		Totals: splitTotals, Sizes: splitSizes,
	},
	// "A2S_SERVERQUERY_GETCHALLENGE" in Server queries: FF FF FF FF 'A' and four
	// bytes. It may answer any query that takes a challenge.
	Handshake: dissect.Handshake{Give: func(dst []byte, challenge uint32) []byte {
		return binary.LittleEndian.AppendUint32(append(dst, "\xff\xff\xff\xffA"...), challenge)
	}},
	Pairing: dissect.Pairing{
		ChallengeLoop: challengeLoop, Refused: challengeRefused,
		Unanswered: unanswered, UnansweredChallenge: unansweredChallenge,
		OnRequest: []dissect.Rule{finding.Missing(challengeMissing), finding.Mismatch(challengeMismatch)},
		OnReply: []dissect.Rule{
			changed, finding.Refused(challengeRefused), finding.Required(challengeRequired), loop,
			finding.Instead(otherKind), several, listed, amplification,
		},
		OnStray: []dissect.Rule{changed, loop, finding.OtherKind(otherKind), unrequested},
	},
}

const (
	header      = "\xff\xff\xff\xff" // of a whole message
	splitHeader = "\xfe\xff\xff\xff" // of a part
	query       = "Source Engine Query"
	fuelQuery   = "LSQ" // after another letter: Frontlines: Fuel of War
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) < len(header) {
		return dissect.No
	}
	switch string(b[:len(header)]) {
	case header:
		if extraByte(b) {
			if n := len(b) - len(header) - 2; b[5] != typeChallengeReply || n == 4 || n == 8 {
				return dissect.Likely
			}
			return dissect.Possible
		}
		return detectSingle(b[len(header):])
	case splitHeader:
		return detectSplit(b)
	}
	return dissect.No
}

// extraByte reports whether a whole message has a fifth FF before the letter, as
// a server in qstat's tests sends it with challenges. HexenWorld's messages begin
// the same way, so any letter but that of a challenge needs likely content.
func extraByte(b []byte) bool {
	return len(b) >= len(header)+2+4 && b[len(header)] == 0xff &&
		(b[len(header)+1] == typeChallengeReply || detectSingle(b[len(header)+1:]) >= dissect.Likely)
}

// detectSingle judges what follows the header of a whole message. Many
// protocols begin with FF FF FF FF, so the letter must fit what follows it.
func detectSingle(b []byte) dissect.Verdict {
	if len(b) == 0 {
		return dissect.Possible
	}
	forms := kinds[b[0]].forms
	if forms == nil || b[0] == typePingRequest && !wire.Ends(b[1:]) { // other protocols have words that begin with i
		return detectUnknown(b)
	}
	return forms.Judge(b[1:])
}

// A kind is a type of message: its name, what it asks for or answers, the forms
// in which it is recognised, and its decoder.
type kind struct {
	message       *dissect.MessageType
	asks, answers dissect.Topic
	forms         wire.Forms
	decode        func(*decoder, *dissect.Reader, *dissect.Message)
}

// kinds are the types of whole messages by their letters.
var kinds = [256]kind{
	typeInfoRequest: {mInfoRequest, topicInfo, 0, wire.Forms{
		wire.Certain(query, nil),
		wire.Likely("", func(rest []byte) bool {
			return len(rest) > 0 && strings.HasPrefix(query, string(rest[:min(len(rest), 6)]))
		}),
		anything,
	}, (*decoder).decodeInfoRequest},
	typeFuelRequest:      {mInfoRequest, topicInfo, 0, wire.Forms{wire.Certain(fuelQuery, wire.Empty)}, (*decoder).decodeInfoRequest},
	typePlayersRequest:   {mPlayersRequest, topicPlayers, 0, challenged, (*decoder).decodePlayersRequest},
	typeRulesRequest:     {mRulesRequest, topicRules, 0, challenged, (*decoder).decodeRulesRequest},
	typeChallengeRequest: {mChallengeRequest, topicChallenge, 0, wire.Forms{wire.Likely("", wire.Empty), anything}, (*decoder).decodeChallengeRequest},
	typePingRequest:      {mPingRequest, topicPing, 0, wire.Forms{wire.Likely("", wire.Empty), wire.Possible("", wire.Ends)}, (*decoder).decodePingRequest},
	typePingReply: {mPingReply, 0, topicPing, wire.Forms{
		wire.Possible("", wire.Empty), // QuakeWorld's "connected" is the same
		wire.Likely("", func(rest []byte) bool { return len(rest) < 32 && len(bytes.Trim(rest, "0\x00")) == 0 }),
		wire.No("", isLine),
		anything,
	}, (*decoder).decodePingReply},
	typeChallengeReply: {mChallengeReply, 0, anyChallenged, wire.Forms{
		wire.Likely("", wire.Length(4)),
		wire.Likely("00000000 ", nil),
		wire.Likely(connectMagic, wire.AtLeast(12)),
		anything,
	}, (*decoder).decodeChallengeReply},
	// The protocol version, then a name. The shortest reply has five strings and
	// nine bytes.
	typeInfoReply: {mInfoReply, 0, topicInfo, wire.Forms{
		wire.Likely("", func(rest []byte) bool { return len(rest) >= 12 && textual(rest[1:]) }), anything,
	}, (*decoder).decodeInfoReply},
	typeGoldSrcInfoReply: {mInfoReply, 0, topicInfo, wire.Forms{
		wire.No("", isSentence), // an address has no blank
		wire.Likely("", func(rest []byte) bool { return len(rest) >= 12 && textual(rest) }),
		anything,
	}, (*decoder).decodeGoldSrcInfoReply},
	typePlayersReply: {mPlayersReply, 0, topicPlayers, wire.Forms{
		wire.Likely("\x00", wire.Empty),
		wire.Possible("\x00", nil),
		wire.Likely("", wire.AtLeast(11)),
		anything,
	}, (*decoder).decodePlayersReply},
	typeRulesReply: {mRulesReply, 0, topicRules, wire.Forms{
		wire.Likely("\x00\x00", wire.Empty),
		wire.Possible("\x00\x00", nil),
		wire.Likely("", wire.AtLeast(4)),
		anything,
	}, (*decoder).decodeRulesReply},
	typeConnectRequest: {mConnectRequest, topicConnect, 0, wire.Forms{wire.Certain("connect", nil), anything}, (*decoder).decodeConnect},
	typeJoin:           {mJoin, topicConnect, 0, nil, (*decoder).decodeJoin},
	typeConnection:     {mConnection, 0, topicConnect, printed, (*decoder).decodeText},
	typeConnectReject:  {mConnectReject, 0, topicConnect | topicRcon, printed, (*decoder).decodeText},
	typePrint:          {mPrint, 0, topicRcon, printed, (*decoder).decodeText},
	// QuakeWorld's challenge begins with the same letter.
	typeRconChallenge: {mRconChallenge, 0, topicRcon, wire.Forms{wire.Certain(rconChallenge, nil)}, (*decoder).decodeText},
	// A log line begins with its date: "L 10/05/2000 - 12:00:00: ".
	typeLog: {mLog, 0, 0, wire.Forms{wire.Certain("L ", isDate)}, (*decoder).decodeText},
	typeSecretLog: {mLog, 0, 0, wire.Forms{
		wire.Certain("", func(rest []byte) bool { _, line, _ := bytes.Cut(rest, []byte("L ")); return isDate(line) }),
	}, (*decoder).decodeSecretLog},
}

var (
	anything = wire.Possible("", nil)
	// challenged are requests with 4 bytes of challenge. Very old clients send
	// none, some append 4 more bytes.
	challenged = wire.Forms{wire.Likely("", wire.Length(4, 8)), anything}
	// printed is text of a server. QuakeWorld's ack is the letter l and a zero byte.
	printed = wire.Forms{wire.No("", wire.Empty), wire.No("\x00", nil), wire.Possible("", textual)}
)

// isSentence reports whether the letter of the message begins a word of four or
// more letters that a blank follows.
func isSentence(rest []byte) bool {
	n := wire.Letters(rest)
	return n >= 3 && n < len(rest) && rest[n] == ' '
}

// isDate reports whether rest begins with the date of a log line.
func isDate(rest []byte) bool { return len(rest) > 12 && rest[2] == '/' && rest[5] == '/' }

// detectUnknown judges a letter that no query has. Text commands belong to
// other protocols. Steam's in-home streaming and the multitransport of RDP begin
// with the same header.
func detectUnknown(b []byte) dissect.Verdict {
	switch {
	case len(b) >= 4 && string(b[:4]) == "\x21\x4c\x5f\xa0":
		return dissect.No
	case b[0] < ' ' || b[0] == 0xff:
		return dissect.No
	case len(b) > 1 && (b[0] == 'M' || b[0] == 'N') && b[1] > 0 && b[1] <= 9: // Titanfall, and a version
		return dissect.No
	case b[0] == 'n', string(b) == "k": // QuakeWorld: text of the server, a ping
		return dissect.No
	case isWord(b):
		return dissect.No
	case len(b) > 16 && !wire.Varied(b):
		return dissect.Doubtful // counters and flags of a running game
	}
	return dissect.Possible
}

// isWord reports whether b begins with a word of another engine: four letters;
// two or three letters that end there; or letters that end a line.
func isWord(b []byte) bool {
	n := wire.Letters(b)
	switch {
	case n >= 4, n >= 2 && (n == len(b) || b[n] == ' ' || b[n] == 0):
		return true
	}
	return n >= 1 && isLine(b[n:])
}

// isLine reports whether b begins with a line end, as texts of Valve's master
// servers do after their letter.
func isLine(b []byte) bool { return len(b) > 0 && (b[0] == '\n' || b[0] == '\r') }

// textual reports whether b may be text up to a zero byte: at most half of it is
// control characters, which some server names are decorated with.
func textual(b []byte) bool {
	controls := 0
	for i, c := range b {
		switch {
		case c == 0:
			return controls*2 <= i
		case c < 0x20 && c != '\n' && c != '\r' && c != '\t':
			controls++
		}
	}
	return controls*2 <= len(b)
}

// Parse decodes one payload: a whole message, or one part of a split message. The
// caller owns the result. The error is a *dissect.Error that says where reading
// ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) {
	if bytes.HasPrefix(payload, []byte(splitHeader)) {
		return parsePart(bytes.Clone(payload))
	}
	return wire.Parse[Message](protocol, payload)
}

// A decoder owns one message of each type and reuses it.
type decoder struct {
	infoRequest      InfoRequest
	info             InfoReply
	goldSrc          GoldSrcInfoReply
	playersRequest   PlayersRequest
	players          PlayersReply
	rulesRequest     RulesRequest
	rules            RulesReply
	challengeRequest ChallengeRequest
	challenge        ChallengeReply
	pingRequest      PingRequest
	ping             PingReply
	other            Other
	part             Part
	arma             armaBuffers
	bunzip           bunzip.Cache
}

// Decode reads one whole message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	if r.Parts() == 0 && r.HasPrefix(splitHeader) {
		d.decodeDamaged(r, m)
		return
	}
	extra := extraByte(r.Peek())
	r.I32(fHeader)
	if extra {
		r.Find(headerExtra, fExtra, r.Offset(), 1)
		r.U8(fExtra)
	}
	if !r.More() {
		wire.Message(m, mUnknown, &d.other, Other{})
		if !r.Failed() {
			r.Find(noType, fHeader, 0, 4)
		}
		return
	}
	letter := r.U8(fType)
	d.other = Other{Type: letter}
	if k := &kinds[letter]; k.decode != nil && (letter != typeFuelRequest || core.PeekText(r) == fuelQuery) {
		m.Type, m.Pair.Asks, m.Pair.Answers = k.message, k.asks, k.answers
		k.decode(d, r, m)
		return
	}
	m.Type, m.Body = mUnknown, &d.other
	r.Find(unknownType, fType, 4, 1, dissect.Num(letter))
	d.other.Data = core.Remaining(r, fPayload)
}

// readChallenge reads the challenge of a request. The values -1 and 0 ask for a
// challenge: the document names -1, several clients send 0.
func readChallenge(r *dissect.Reader, m *dissect.Message) (c dissect.Opt[int32]) {
	m.Pair.Challenge = dissect.ChallengeAbsent
	if !r.More() {
		return c
	}
	c.Value = r.I32(fChallenge)
	c.OK = !r.Failed()
	m.Pair.Challenge, m.Pair.Value = dissect.ChallengeUsed, uint64(uint32(c.Value))
	if c.Value == -1 || c.Value == 0 {
		m.Pair.Challenge = dissect.ChallengeSeed
	}
	return c
}

func (d *decoder) decodePlayersRequest(r *dissect.Reader, m *dissect.Message) {
	wire.Body(m, &d.playersRequest, PlayersRequest{Challenge: readChallenge(r, m)})
}

func (d *decoder) decodeRulesRequest(r *dissect.Reader, m *dissect.Message) {
	wire.Body(m, &d.rulesRequest, RulesRequest{Challenge: readChallenge(r, m)})
}

func (d *decoder) decodeChallengeRequest(_ *dissect.Reader, m *dissect.Message) {
	m.Body, m.Pair.Challenge = &d.challengeRequest, dissect.ChallengeWanted
}

func (d *decoder) decodePingRequest(_ *dissect.Reader, m *dissect.Message) { m.Body = &d.pingRequest }

func (d *decoder) decodePingReply(r *dissect.Reader, m *dissect.Message) {
	wire.Body(m, &d.ping, PingReply{})
	if r.More() { // some servers send the letter alone
		d.ping.Content, _ = core.CStringOrRest(r, fContent)
	}
}

// decodeInfoRequest reads A2S_INFO: 25 bytes, 29 with a challenge, or more with
// padding. Before challenges, Valve meant to require longer requests; clients of
// that time append zeros up to 1200 bytes.
func (d *decoder) decodeInfoRequest(r *dissect.Reader, m *dissect.Message) {
	q := wire.Body(m, &d.infoRequest, InfoRequest{})
	m.Pair.Challenge = dissect.ChallengeAbsent
	at := r.Offset()
	var terminated bool
	q.Query, terminated = core.CStringOrRest(r, fQuery)
	switch {
	case q.Query == fuelQuery && d.other.Type == typeFuelRequest:
	case q.Query != query:
		r.Find(requestOther, fQuery, at, len(q.Query), dissect.Str(q.Query))
	case !terminated:
		r.Find(requestNul, fQuery, at, len(q.Query))
	}
	if r.Left() >= 4 && (r.Left() == 4 || len(bytes.TrimRight(r.Peek(), "\x00")) > 0) {
		at = r.Offset()
		if q.Challenge = readChallenge(r, m); m.Pair.Challenge == dissect.ChallengeSeed {
			r.Find(requestBogus, fChallenge, at, 4, dissect.Num(q.Challenge.Value))
		}
	}
	q.Padding = len(core.Remaining(r, fPadding))
}

// connectMagic marks a connection challenge (Source, S2C_MAGICVERSION).
const connectMagic = "\x33\x49\x4f\x5a"

// decodeChallengeReply reads S2C_CHALLENGE: the challenge for queries, or one of
// the longer forms that answer a game client.
func (d *decoder) decodeChallengeReply(r *dissect.Reader, m *dissect.Message) {
	c := wire.Body(m, &d.challenge, ChallengeReply{})
	m.Pair.Challenge = dissect.ChallengeIssued
	switch {
	case r.HasPrefix("00000000 "):
		// GoldSrc: "A00000000 <challenge> <authentication> …" in text.
		c.Connect = true
		c.Text, _ = core.CStringOrRest(r, fChallengeText)
	case r.Left() >= 16 && r.HasPrefix(connectMagic):
		c.Connect = true
		c.Magic = r.U32(fMagic)
		c.Challenge = r.I32(fChallenge)
		c.ClientChallenge = r.U32(fClientChallenge)
		c.AuthProtocol = r.U32(fAuthProtocol)
		core.Remaining(r, fAuthData)
	default:
		c.Challenge = r.I32(fChallenge)
	}
	if c.Connect {
		m.Pair = dissect.Pair{Answers: topicConnect}
		r.Note(challengeLong)
	}
	m.Pair.Value = uint64(uint32(c.Challenge))
}

func (d *decoder) decodeConnect(r *dissect.Reader, m *dissect.Message) {
	m.Body = &d.other
	if r.HasPrefix("connect") {
		d.other.Text, _ = core.CStringOrRest(r, fConnect)
	} else {
		r.U32(fClientChallenge)
	}
}

func (d *decoder) decodeJoin(r *dissect.Reader, m *dissect.Message) {
	m.Body = &d.other
	r.U32(fNetProtocol)
	r.U32(fAuthProtocol)
	d.other.Data = r.Rest(fJoin)
}

func (d *decoder) decodeSecretLog(r *dissect.Reader, m *dissect.Message) {
	if i := bytes.Index(r.Peek(), []byte("L ")); i > 0 {
		r.Text(fSecret, i)
	}
	d.decodeText(r, m)
}

// decodeText reads text that a server prints or logs. Servers log the password
// of their remote console, so the text is hidden if it contains one.
// refusals are the beginnings of texts with which GoldSrc refuses a command, or whatever comes from an address.
var refusals = []string{"Bad rcon", "Bad challenge", "No challenge", "You have been banned"}

func (d *decoder) decodeText(r *dissect.Reader, m *dissect.Message) {
	at := r.Offset()
	m.Body = &d.other
	d.other.Text, _ = core.CStringOrRest(r, fChallengeText)
	console.Hide(r, fHiddenText, d.other.Text)
	if m.Type == mConnectReject || m.Type == mPrint && slices.ContainsFunc(refusals, func(s string) bool { return strings.HasPrefix(d.other.Text, s) }) {
		r.Find(refused, fChallengeText, at, r.Offset()-at)
	}
}
