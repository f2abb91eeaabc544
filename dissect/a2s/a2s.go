package a2s

import (
	"bytes"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/bunzip"
	"github.com/qdissect/qdissect/dissect/internal/console"
	"github.com/qdissect/qdissect/dissect/internal/judge"
	"github.com/qdissect/qdissect/dissect/internal/wire"
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:   "a2s",
	Title:  "Valve server queries (A2S)",
	Doc:    "Queries of Source, GoldSrc, The Ship, SiN 1 and Rag Doll Kung Fu servers, and of the many games that answer them through Steam: info, players, rules, challenge and ping.",
	Source: "Valve Developer Community, Server queries; steam-condenser, The Ship",
	Family: "valve",
	// The default of Source is 27015 and admins count up from there; the
	// others are query ports of games that keep them apart from the game's.
	Ports:  append(valvePorts(), 2303, 2457, 7777, 8211, 9877, 15637, 16261, 17777, 26900, 27165, 28015, 30001, 57561, 64092),
	Starts: []byte{0xff, 0xfe},
	Fields: fields, Messages: messages, Findings: findings,
	Detect: Detect,
	New:    func() dissect.Decoder { return new(decoder) },
	Split: &dissect.Splitting{
		Read: readSplit, Incomplete: splitMissing, Duplicate: splitDuplicate, Reordered: splitReorder, Conflict: splitConflict,
		Totals: splitTotals, Sizes: splitSizes,
	},
	Pairing: dissect.Pairing{
		Unanswered: unanswered, UnansweredChallenge: unansweredChallenge,
		OnRequest: []dissect.Rule{judge.Missing(challengeMissing), judge.Mismatch(challengeMismatch)},
		OnReply: []dissect.Rule{
			changed, judge.Refused(challengeRefused), judge.Required(challengeRequired), loop,
			judge.Instead(otherKind), judge.Several(several), listed, judge.Amplification(amplification, 10),
		},
		OnStray: []dissect.Rule{changed, loop, judge.OtherKind(otherKind), judge.Unrequested(unrequested)},
	},
}

func valvePorts() (ports []uint16) {
	for p := uint16(27000); p <= 27050; p++ {
		ports = append(ports, p)
	}
	return ports
}

const header = "\xff\xff\xff\xff"

const query = "Source Engine Query"

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) < 4 {
		return dissect.No
	}
	switch string(b[:4]) {
	case "\xff\xff\xff\xff":
		if extraByte(b) {
			if n := len(b) - len(header) - 2; b[5] != typeChallengeReply || n == 4 || n == 8 {
				return dissect.Likely
			}
			return dissect.Possible
		}
		return detectSingle(b[4:])
	case "\xfe\xff\xff\xff":
		return detectSplit(b)
	}
	return dissect.No
}

// extraByte reports whether a whole message has one FF too many before the
// letter, as a server in the tests of qstat sends it with challenges. HexenWorld
// begins so as well: but for a challenge, what follows must be likely by itself.
func extraByte(b []byte) bool {
	return len(b) >= len(header)+2+4 && b[len(header)] == 0xff &&
		(b[len(header)+1] == typeChallengeReply || detectSingle(b[len(header)+1:]) >= dissect.Likely)
}

// detectSingle judges what follows the header of a whole message. Many
// protocols begin with FF FF FF FF: the letter must fit what follows it.
func detectSingle(b []byte) dissect.Verdict {
	if len(b) == 0 {
		return dissect.Possible
	}
	forms := singles[b[0]]
	if forms == nil || b[0] == typePingRequest && len(b) > 1 { // the words of others begin with it
		return detectUnknown(b)
	}
	return forms.Judge(b[1:])
}

var anything = wire.Possible("", nil)

// singles are the forms of whole messages by their letters.
var singles = [256]wire.Forms{
	typeInfoRequest: {
		wire.Certain(query, nil),
		wire.Likely("", func(rest []byte) bool {
			return len(rest) > 0 && strings.HasPrefix(query, string(rest[:min(len(rest), 6)]))
		}),
		anything,
	},
	// With 4 bytes of challenge; without in very old clients; some clients
	// append 4 more bytes.
	typePlayersRequest:   {wire.Likely("", wire.Length(4, 8)), anything},
	typeRulesRequest:     {wire.Likely("", wire.Length(4, 8)), anything},
	typeChallengeRequest: {wire.Likely("", wire.Empty), anything},
	typePingRequest:      {wire.Likely("", wire.Empty)},
	typePingReply: {
		wire.Possible("", wire.Empty), // QuakeWorld's "connected" as well
		wire.Likely("", func(rest []byte) bool { return len(rest) < 32 && len(bytes.Trim(rest, "0\x00")) == 0 }),
		wire.No("", isLine),
		anything,
	},
	typeChallengeReply: {
		wire.Likely("", wire.Length(4)),
		wire.Likely("00000000 ", nil),
		wire.Likely(connectMagic, wire.AtLeast(12)),
		anything,
	},
	// The protocol, then a name: no name begins with many control characters,
	// and the shortest reply has five strings and nine bytes.
	typeInfoReply: {wire.Likely("", func(rest []byte) bool { return len(rest) >= 12 && textual(rest[1:]) }), anything},
	typeGoldSrcInfoReply: {
		wire.No("", isSentence), // an address has no blank
		wire.Likely("", func(rest []byte) bool { return len(rest) >= 12 && textual(rest) }),
		anything,
	},
	typePlayersReply: {
		wire.Likely("\x00", wire.Empty),
		wire.Possible("\x00", nil),
		wire.Likely("", wire.AtLeast(11)),
		anything,
	},
	typeRulesReply: {
		wire.Likely("\x00\x00", wire.Empty),
		wire.Possible("\x00\x00", nil),
		wire.Likely("", wire.AtLeast(4)),
		anything,
	},
	typeConnectRequest: {wire.Certain("connect", nil), anything},
	typeRconChallenge:  {wire.Certain("hallenge rcon ", nil)}, // QuakeWorld's challenge begins alike
	// A log line begins with its date: "L 10/05/2000 - 12:00:00: ".
	typeLog:           {wire.Certain("L ", isDate)},
	typeSecretLog:     {wire.Certain("", func(rest []byte) bool { _, line, _ := bytes.Cut(rest, []byte("L ")); return isDate(line) })},
	typePrint:         printed,
	typeConnectReject: printed,
	typeConnection:    printed,
}

// printed is text of a server; QuakeWorld's ack is the letter l and a zero byte.
var printed = wire.Forms{
	wire.No("", wire.Empty),
	wire.No("\x00", nil),
	wire.Possible("", textual),
}

// isSentence reports whether a word of at least four letters, the first of which
// came before, and a blank follow.
func isSentence(rest []byte) bool {
	n := wire.Letters(rest)
	return n >= 3 && n < len(rest) && rest[n] == ' '
}

// isDate reports whether the date of a line of a log follows.
func isDate(rest []byte) bool { return len(rest) > 12 && rest[2] == '/' && rest[5] == '/' }

// detectUnknown judges a letter that no query has. Text commands belong to
// other protocols, and what is known to be something else is not ours: Steam's
// in-home streaming and the multitransport of RDP begin with the same header.
func detectUnknown(b []byte) dissect.Verdict {
	switch {
	case len(b) >= 4 && string(b[:4]) == "\x21\x4c\x5f\xa0":
		return dissect.No
	case b[0] == 0x00 || b[0] == 0x02 || b[0] == 0x01 || b[0] == 0xff:
		return dissect.No
	case b[0] == 'n', string(b) == "k": // QuakeWorld: text of the server, a ping
		return dissect.No
	case isWord(b):
		return dissect.No
	}
	return dissect.Possible
}

// isWord reports whether b begins with a word of another engine: four letters, or
// fewer and then the end of a word that is longer than a letter, or of a line.
func isWord(b []byte) bool {
	n := wire.Letters(b)
	switch {
	case n >= 4:
		return true
	case n >= 2 && (n == len(b) || b[n] == ' ' || b[n] == 0):
		return true
	}
	return n >= 1 && isLine(b[n:])
}

// isLine reports whether what follows a letter begins with the end of a line, as
// it does in what Valve's masters say.
func isLine(b []byte) bool { return len(b) > 0 && (b[0] == '\n' || b[0] == '\r') }

// textual reports whether b could be text that ends with a zero byte: it has no
// control characters but those that names are decorated with.
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

// Parse reads one payload: a whole message, or a part of a split one. The
// result is the caller's own. The error is a *dissect.Error that says where
// reading ended; what had been read until there is returned with it.
func Parse(payload []byte) (Message, error) {
	if len(payload) >= 4 && string(payload[:4]) == "\xfe\xff\xff\xff" {
		return parsePart(bytes.Clone(payload))
	}
	return wire.Parse[Message](new(decoder), payload)
}

// decoder owns one of each message, used again and again.
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
	bunzip           bunzip.Decoder
}

// Decode reads one whole message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	if r.Parts() == 0 && r.HasPrefix("\xfe\xff\xff\xff") {
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
		d.other = Other{}
		m.Type, m.Body = mUnknown, &d.other
		if !r.Failed() {
			r.Find(noType, fHeader, 0, 4)
		}
		return
	}
	switch letter := r.U8(fType); letter {
	case typeInfoRequest:
		d.decodeInfoRequest(r, m)
	case typePlayersRequest:
		m.Type, m.Body = mPlayersRequest, &d.playersRequest
		d.playersRequest = PlayersRequest{Challenge: readChallenge(r, m, topicPlayers)}
	case typeRulesRequest:
		m.Type, m.Body = mRulesRequest, &d.rulesRequest
		d.rulesRequest = RulesRequest{Challenge: readChallenge(r, m, topicRules)}
	case typeChallengeRequest:
		m.Type, m.Body = mChallengeRequest, &d.challengeRequest
		m.Pair = dissect.Pair{Asks: topicChallenge, Challenge: dissect.ChallengeWanted}
	case typePingRequest:
		m.Type, m.Body = mPingRequest, &d.pingRequest
		m.Pair.Asks = topicPing
	case typePingReply:
		m.Type, m.Body = mPingReply, &d.ping
		m.Pair.Answers = topicPing
		d.ping = PingReply{}
		if r.More() { // some servers send the letter alone
			d.ping.Content, _ = r.CStringOrRest(fContent)
		}
	case typeChallengeReply:
		d.decodeChallengeReply(r, m)
	case typeInfoReply:
		d.decodeInfoReply(r, m)
	case typeGoldSrcInfoReply:
		d.decodeGoldSrcInfoReply(r, m)
	case typePlayersReply:
		d.decodePlayersReply(r, m)
	case typeRulesReply:
		d.decodeRulesReply(r, m)
	default:
		d.decodeOther(r, m, letter)
	}
}

// readChallenge reads the challenge of a request. -1 and 0 ask for one: the
// document names -1, several clients send 0.
func readChallenge(r *dissect.Reader, m *dissect.Message, asks dissect.Topic) (c dissect.Opt[int32]) {
	m.Pair = dissect.Pair{Asks: asks, Challenge: dissect.ChallengeAbsent}
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

// decodeInfoRequest reads A2S_INFO in the forms of 25 and 29 bytes and with
// padding: Valve first meant to ask for longer requests instead of a challenge,
// and clients of that time send zeros up to 1200 bytes.
func (d *decoder) decodeInfoRequest(r *dissect.Reader, m *dissect.Message) {
	q := &d.infoRequest
	*q = InfoRequest{}
	m.Type, m.Body = mInfoRequest, q
	m.Pair = dissect.Pair{Asks: topicInfo, Challenge: dissect.ChallengeAbsent}
	at := r.Offset()
	var terminated bool
	q.Query, terminated = r.CStringOrRest(fQuery)
	switch {
	case q.Query != query:
		r.Find(requestOther, fQuery, at, len(q.Query), dissect.Str(q.Query))
	case !terminated:
		r.Find(requestNul, fQuery, at, len(q.Query))
	}
	if r.Left() >= 4 && (r.Left() == 4 || len(bytes.TrimRight(r.Peek(), "\x00")) > 0) {
		at = r.Offset()
		q.Challenge = dissect.Some(r.I32(fChallenge))
		m.Pair.Challenge, m.Pair.Value = dissect.ChallengeUsed, uint64(uint32(q.Challenge.Value))
		if v := q.Challenge.Value; v == -1 || v == 0 {
			m.Pair.Challenge = dissect.ChallengeSeed
			r.Find(requestBogus, fChallenge, at, 4, dissect.Num(v))
		}
	}
	if r.More() {
		q.Padding = len(r.Rest(fPadding))
	}
}

// connectMagic marks the challenge for a connection (Source, S2C_MAGICVERSION).
const connectMagic = "\x33\x49\x4f\x5a"

// decodeChallengeReply reads the number for queries, and the longer forms that
// answer a game client.
func (d *decoder) decodeChallengeReply(r *dissect.Reader, m *dissect.Message) {
	c := &d.challenge
	*c = ChallengeReply{}
	m.Type, m.Body = mChallengeReply, c
	m.Pair = dissect.Pair{Answers: anyChallenged, Challenge: dissect.ChallengeIssued}
	switch {
	case r.HasPrefix("00000000 "):
		// GoldSrc: "A00000000 <challenge> <authentication> …" in text.
		c.Connect = true
		c.Text, _ = r.CStringOrRest(fChallengeText)
	case r.Left() >= 16 && r.HasPrefix(connectMagic):
		c.Connect = true
		c.Magic = r.U32(fMagic)
		c.Challenge = r.I32(fChallenge)
		c.ClientChallenge = r.U32(fClientChallenge)
		c.AuthProtocol = r.U32(fAuthProtocol)
		if r.More() {
			r.Rest(fAuthData)
		}
	default:
		c.Challenge = r.I32(fChallenge)
	}
	if c.Connect {
		m.Pair = dissect.Pair{Answers: topicConnect}
		r.Note(challengeLong)
	}
	m.Pair.Value = uint64(uint32(c.Challenge))
}

// decodeOther reads what is not a query.
func (d *decoder) decodeOther(r *dissect.Reader, m *dissect.Message, letter byte) {
	o := &d.other
	*o = Other{Type: letter}
	m.Body = o
	switch letter {
	case typeConnectRequest:
		m.Type = mConnectRequest
		m.Pair = dissect.Pair{Asks: topicConnect}
		if r.HasPrefix("connect") {
			o.Text, _ = r.CStringOrRest(fConnect)
		} else {
			r.U32(fClientChallenge)
		}
	case typeJoin:
		m.Type = mJoin
		m.Pair = dissect.Pair{Asks: topicConnect}
		r.U32(fNetProtocol)
		r.U32(fAuthProtocol)
		o.Data = r.Rest(fJoin)
	case typeConnection:
		m.Type = mConnection
		m.Pair.Answers = topicConnect
		o.Text = readText(r)
	case typeConnectReject:
		m.Type = mConnectReject
		m.Pair.Answers = topicConnect
		o.Text = readText(r)
	case typeRconChallenge:
		m.Type = mRconChallenge
		m.Pair.Answers = topicRcon
		o.Text = readText(r)
	case typePrint:
		m.Type = mPrint
		m.Pair.Answers = topicRcon
		o.Text = readText(r)
	case typeLog:
		m.Type = mLog
		o.Text = readText(r)
	case typeSecretLog:
		m.Type = mLog
		if i := bytes.Index(r.Peek(), []byte("L ")); i > 0 {
			r.Text(fSecret, i)
		}
		o.Text = readText(r)
	default:
		m.Type = mUnknown
		r.Find(unknownType, fType, 4, 1, dissect.Num(letter))
		if r.More() {
			o.Data = r.Rest(fPayload)
		}
	}
}

// readText reads text that a server prints or logs: servers log the passwords of
// their consoles.
func readText(r *dissect.Reader) string {
	text, _ := r.CStringOrRest(fChallengeText)
	if r.Tree() && console.Secret(text) < len(text) {
		r.Hide(fHiddenText)
	}
	return text
}
