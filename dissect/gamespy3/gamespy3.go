// Package gamespy3 dissects the third query protocol of GameSpy, used by Battlefield 2
// and 2142, Unreal Tournament 3, Crysis, S.T.A.L.K.E.R., ArmA 2, Just Cause 2
// Multiplayer and other games since 2005, and the messages between servers and the
// master server of GameSpy.
//
// A client sends a handshake, FE FD 09 and a session id of four bytes, and receives 09,
// the same id and a challenge in text. The query is FE FD 00, the id, the challenge as
// a number, and FF FF FF 01: all settings, players and teams, in parts. A part is 00,
// the id, the word splitnum, a number, and sections; lists of players and teams are
// column by column. Without the last byte of the query, the reply has the format of
// package gamespy2. Numbers are big-endian.
//
// Minecraft uses the same format for its query; see package minecraft.
//
// Sources: the Query and Reporting 2 SDK of GameSpy (qr2.c), and recorded traffic for
// the differences between games.
package gamespy3

import (
	"bytes"
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/reassembly"
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:   "gamespy3",
	Title:  "GameSpy 3",
	Group:  "GameSpy",
	Doc:    "Queries of Battlefield 2 and 2142, Unreal Tournament 3, Crysis, S.T.A.L.K.E.R., ArmA 2, Just Cause 2 Multiplayer and others since 2005, and the messages between servers and GameSpy's master server.",
	Source: "GameSpy Query and Reporting 2 SDK, qr2.c",
	Wire:   "gamespy",
	Ports:  []uint16{2302, 2303, 5445, 6500, 7777, 16567, 17567, 27900, 29900, 29901, 29902, 55123, 64000, 64087, 64100},
	Starts: append(wire.Starts(string([]byte{
		gamespy.TypeQuery, gamespy.TypeHandshake, gamespy.TypeHeartbeat, gamespy.TypeChallenge,
		gamespy.TypeEchoReply, gamespy.TypeMessageAck, gamespy.TypeKeepAlive,
	}), ""), "\xfe\xfd"),
	Catalog: catalog,
	Detect:  Detect, Confirm: confirm,
	New: func() dissect.Decoder {
		return &decoder{sections: gamespy.NewSections(&sections, &sectionFindings), body: gamespy.NewBody(&body, &bodyFindings)}
	},
	Split: &dissect.Splitting{
		Read: readSplit, Alone: true,
		Incomplete: splitMissing, Endless: splitEndless, Duplicate: splitDuplicate, Reordered: splitReorder, Conflict: splitConflict, Totals: splitTotals,
	},
	Pairing: dissect.Pairing{
		Unanswered: unanswered, UnansweredChallenge: unansweredChallenge,
		OnRequest: []dissect.Rule{finding.Mismatch(challengeMismatch)},
		OnReply:   []dissect.Rule{amplification},
		OnStray:   []dissect.Rule{finding.OtherKind(core.OtherKind), unrequested},
	},
}

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	switch {
	case gamespy.IsRequest(b):
		return detectRequest(b)
	case len(b) < gamespy.ReplyHead:
		return dissect.No
	}
	rest := b[gamespy.ReplyHead:]
	switch b[0] {
	case gamespy.TypeQuery:
		return detectStatus(b, rest)
	case gamespy.TypeHandshake:
		if gamespy.IsHandshakeReply(b) || isAvailable(b) {
			return dissect.Likely
		}
	}
	return replies[b[0]].forms.Judge(rest)
}

// A kind is a type of packet: the forms in which it is recognised after its
// session id, and, for the messages between servers and the master server, its
// name, what it asks for or answers, and its decoder.
type kind struct {
	forms         wire.Forms
	message       *dissect.MessageType
	asks, answers dissect.Topic
	decode        func(*decoder, *dissect.Reader, *dissect.Message)
}

// requests are the types of packets to a server.
var requests = [256]kind{
	// A handshake of the master server is the reply to an availability check.
	gamespy.TypeHandshake: {wire.Forms{
		wire.Likely("", wire.Length(0, 4)),
		wire.Possible("", func(rest []byte) bool { return len(rest) < 4 }),
	}, mAvailableReply, 0, topicAvailable, code(fStatus)},
	gamespy.TypeChallenge:  {wire.Forms{wire.Likely("", isText)}, mChallengeRequest, topicMaster, 0, (*decoder).decodeChallengeRequest},
	gamespy.TypeAddError:   {wire.Forms{wire.Likely("", isText)}, mError, 0, 0, (*decoder).decodeError},
	gamespy.TypeEcho:       {wire.Forms{wire.Likely("", func(rest []byte) bool { return len(rest) <= maxEcho })}, mEchoRequest, topicEcho, 0, (*decoder).decodeEcho},
	gamespy.TypeMessage:    {wire.Forms{wire.Likely("", wire.AtLeast(4))}, mMessage, topicMessage, 0, (*decoder).decodeMessage},
	gamespy.TypeKeepAlive:  {wire.Forms{wire.Likely("", wire.Empty)}, mKeepAlive, 0, 0, (*decoder).decodeNothing},
	gamespy.TypeRegistered: {wire.Forms{wire.Likely("", wire.Empty)}, mRegistered, 0, 0, (*decoder).decodeNothing},
}

// replies are the types of packets from a server.
var replies = [256]kind{
	gamespy.TypeHandshake: {
		wire.Forms{wire.Possible("", func(rest []byte) bool { w, ok := gamespy.Word(rest); return ok && len(w) > 0 })},
		mAvailable, topicAvailable, 0, text(fGameName),
	},
	// The first key is localip0, or localport if the server knows no address.
	gamespy.TypeHeartbeat: {wire.Forms{wire.Likely("local", nil)}, mHeartbeat, 0, 0, (*decoder).decodeHeartbeat},
	gamespy.TypeChallenge: {wire.Forms{wire.Possible("", isBase64)}, mChallengeReply, 0, topicMaster, text(fResponse)},
	// Any bytes may be echoed, but much other traffic begins with a number and
	// arbitrary bytes.
	gamespy.TypeEchoReply: {wire.Forms{wire.Possible("", func(rest []byte) bool {
		return len(rest) > 0 && len(rest) <= maxEcho && gamespy.Printable(bytes.TrimRight(rest, "\x00")) && gamespy.ASCII(rest)
	})}, mEchoReply, 0, topicEcho, (*decoder).decodeEcho},
	gamespy.TypeMessageAck: {wire.Forms{wire.Possible("", wire.Length(4))}, mMessageAck, 0, topicMessage, code(fMessageID)},
	gamespy.TypeKeepAlive:  {wire.Forms{wire.Possible("", wire.Empty)}, mKeepAlive, 0, 0, (*decoder).decodeNothing},
}

// detectRequest judges a packet to a server.
func detectRequest(b []byte) dissect.Verdict {
	if len(b) < gamespy.RequestHead {
		return dissect.No
	}
	if b[2] == gamespy.TypeQuery {
		return detectQuery(b[gamespy.RequestHead:])
	}
	return requests[b[2]].forms.Judge(b[gamespy.RequestHead:])
}

// isText reports whether rest is a text with its zero byte. The first byte may be the
// number of an error.
func isText(rest []byte) bool {
	return len(rest) >= 2 && rest[len(rest)-1] == 0 && gamespy.Printable(rest[1:len(rest)-1])
}

// detectQuery judges a query after its session id. Queries of Minecraft are a
// challenge, or a challenge and four bytes of any value; those of gamespy2 have no
// options.
func detectQuery(b []byte) dissect.Verdict {
	q, ok := gamespy.ParseQuery(b)
	s := &q.Selection
	switch {
	case !ok, !s.Asks(), s.Plain() && !q.Challenged && !s.Options.OK, s.Options.OK && s.Options.Value > 3:
		return dissect.Possible
	}
	return dissect.Likely
}

// detectStatus judges replies to queries. Without splitnum, they may just as well
// belong to gamespy2.
func detectStatus(b, rest []byte) dissect.Verdict {
	if gamespy.HasSplitNum(b) {
		if is, _ := gamespy.LooksMinecraft(rest); is {
			return dissect.No
		}
		return dissect.Likely
	}
	switch {
	case len(rest) == 0, rest[0] == 0 && (gamespy.IsTable(rest) || len(rest) <= 6 && len(bytes.Trim(rest, "\x00")) == 0):
		return gamespy.OfSession(b)
	case rest[0] == 0, gamespy.OnlyMinecraft(rest):
		return dissect.No
	}
	// Text, and only text in the bytes that Detect sees: much other traffic begins
	// with a zero byte and a number.
	for _, c := range rest {
		if c > 2 && c < 0x20 && c != 0x1b && c != 0x1c {
			return dissect.No
		}
	}
	if _, ok := gamespy.Word(rest); ok {
		return gamespy.OfSession(b)
	}
	return dissect.No
}

// confirm reports whether a whole reply that may also be one of minecraft belongs to
// this protocol.
func confirm(b []byte) bool {
	_, ok := gamespy.Number(b)
	if !ok {
		return false
	}
	is, _ := gamespy.LooksMinecraft(b)
	return !is
}

// isAvailable reports whether a payload is an availability check: no session id, and
// the name of a game.
func isAvailable(b []byte) bool {
	if string(b[1:gamespy.ReplyHead]) != "\x00\x00\x00\x00" {
		return false
	}
	name := b[gamespy.ReplyHead:]
	if len(name) < 3 || name[len(name)-1] != 0 || gamespy.IsHandshakeReply(b) {
		return false
	}
	return !slices.ContainsFunc(name[:len(name)-1], func(c byte) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' })
}

// isBase64 reports whether b is Base64 text without padding, as the SDK writes it, and
// a zero byte.
func isBase64(b []byte) bool {
	return len(b) >= 5 && b[len(b)-1] == 0 && !slices.ContainsFunc(b[:len(b)-1], func(c byte) bool {
		return (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '+' && c != '/'
	})
}

// maxEcho is the largest number of bytes that a server returns.
const maxEcho = 32

// splitVariant is the only format of parts.
const splitVariant = 1

// readSplit reads the header of a part. See [reassembly.ReadPart]. A reply in one part
// is not split, and neither is the reply of Just Cause 2, which is one packet without
// the mark of the last part.
func readSplit(b []byte, _ uint8) (reassembly.Part, bool) {
	n, ok := gamespy.Number(b)
	if !ok || n == gamespy.Last || n == 0 && isJustCause(b) {
		return reassembly.Part{}, false
	}
	p := reassembly.Part{ID: uint64(gamespy.Session(b)), Index: int(n &^ gamespy.Last), Header: gamespy.SplitHead, Variant: splitVariant}
	if n&gamespy.Last != 0 {
		p.Total = p.Index + 1
	}
	return p, true
}

// Parse decodes one payload: a whole message, or one part of a reply. The caller owns
// the result. The error is a *dissect.Error that says where reading ended; the message
// then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	handshake      HandshakeRequest
	handshakeReply HandshakeReply
	status         StatusRequest
	statusReply    StatusReply
	heartbeat      Heartbeat
	master         Master
	sections       gamespy.Sections
	body           gamespy.Body
	justCause      []JustCausePlayer
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	if gamespy.IsRequest(r.Peek()) {
		d.decodeRequest(r, m)
		return
	}
	switch r.PeekByte(0) {
	case gamespy.TypeQuery, -1:
	case gamespy.TypeHandshake:
		if r.Left() < gamespy.ReplyHead || !isAvailable(r.Peek()) {
			break
		}
		fallthrough
	default:
		d.decodeMaster(r, m)
		return
	}
	if gamespy.HasSplitNum(r.Peek()) {
		d.decodeParts(r, m)
		return
	}
	_, kind, session := head.Read(r)
	if kind == gamespy.TypeHandshake {
		d.decodeHandshakeReply(r, m, session)
		return
	}
	p := wire.Message(m, mStatusReply, &d.statusReply, StatusReply{Session: session})
	m.Pair = dissect.Pair{Answers: topicStatus, ID: gamespy.ID(session)}
	d.body.Read(r)
	p.Rules, p.Players, p.Teams, p.Values = d.body.Rules, d.body.Players, d.body.Teams, d.body.Values
	m.Server = gamespy.Server(p.Rules, style)
}

// decodeRequest reads a packet to a server.
func (d *decoder) decodeRequest(r *dissect.Reader, m *dissect.Message) {
	if kind := r.PeekByte(2); kind > 0 && kind != gamespy.TypeHandshake || isAvailableReply(r.Peek()) {
		d.decodeMaster(r, m)
		return
	}
	_, kind, session := head.Read(r)
	if kind == gamespy.TypeHandshake {
		d.handshake = HandshakeRequest{Session: session}
		m.Type, m.Body, m.Pair = mHandshake, &d.handshake, dissect.Pair{Asks: topicHandshake, ID: gamespy.ID(session), Challenge: dissect.ChallengeSeed}
		core.Remaining(r, fPadding)
		return
	}
	q := wire.Message(m, mStatus, &d.status, StatusRequest{Session: session})
	m.Pair = dissect.Pair{Asks: topicStatus, ID: gamespy.ID(session), Challenge: dissect.ChallengeAbsent}
	at := r.Offset()
	parsed, challenge := query.Read(r)
	s := &parsed.Selection
	q.Server, q.Players, q.Teams, q.Options = s.Server, s.Players, s.Teams, s.Options
	if parsed.Challenged {
		q.Challenge = dissect.Some(challenge)
		m.Pair.Challenge, m.Pair.Value = dissect.ChallengeUsed, uint64(uint32(challenge))
		if challenge == 0 {
			m.Pair.Challenge = dissect.ChallengeAbsent
			r.Find(zeroChallenge, fChallenge, at, 4)
		}
	}
}

// decodeHandshakeReply reads a challenge.
func (d *decoder) decodeHandshakeReply(r *dissect.Reader, m *dissect.Message, session uint32) {
	p := wire.Message(m, mHandshakeReply, &d.handshakeReply, HandshakeReply{Session: session})
	m.Pair = dissect.Pair{Answers: topicHandshake, ID: gamespy.ID(session), Challenge: dissect.ChallengeIssued}
	mark, at := core.Here(r), r.Offset()
	text := r.CString(fGiven)
	n, ok := nettext.ParseInt(text)
	switch {
	case r.Failed():
		return
	case !ok:
		core.Return(r, mark)
		r.Fail(fGiven, "not a number")
		return
	case n == 0:
		r.Find(challenge0, fGiven, at, len(text))
	}
	p.Challenge = int32(n)
	m.Pair.Value = uint64(uint32(p.Challenge))
}

// decodeParts reads a reply in one or more parts.
func (d *decoder) decodeParts(r *dissect.Reader, m *dissect.Message) {
	p := wire.Message(m, mStatusReply, &d.statusReply, StatusReply{Parts: max(r.Parts(), 1)})
	if r.Parts() > 0 {
		m.Variant = "splitnum"
	}
	justCause := r.Parts() == 0 && isJustCause(r.Peek())
	s := &d.sections
	s.Begin()
	whole := true
	for i := range p.Parts {
		part := -1
		if i > 0 {
			r.Seek(1 << 30)
			r.Part(i)
			part = r.Begin(fPart)
		}
		_, _, p.Session = head.Read(r)
		r.CString(fSplitNum)
		n := r.U8(fNumber)
		r.End(part)
		if justCause {
			d.decodeJustCause(r, p)
			break
		}
		next, follows := d.next(r, i, n)
		whole = whole && (follows || n&gamespy.Last != 0) && (i > 0 || n&^gamespy.Last == 0)
		s.Part(r, next, n&gamespy.Last != 0)
		if r.Failed() {
			break
		}
	}
	m.Pair = dissect.Pair{Answers: topicStatus, ID: gamespy.ID(p.Session)}
	if !justCause {
		s.End(r)
		p.Players, p.Teams = s.Players, s.Teams
	}
	p.Rules = s.Rules
	m.Server = gamespy.Server(p.Rules, style)
	if n := m.Server.Players; whole && n.OK && s.HasPlayers && n.Value != len(p.Players) && !r.Failed() {
		r.Note(playersCount, dissect.Num(n.Value), dissect.Num(len(p.Players)))
	}
}

// next returns the sections of the part after part i, whose number is n, if it is
// present.
func (d *decoder) next(r *dissect.Reader, i int, n uint8) (b []byte, ok bool) {
	if i+1 >= r.Parts() {
		return nil, false
	}
	b = core.Sources(r)[i+1].Data
	if m, ok := gamespy.Number(b); !ok || m&^gamespy.Last != n&^gamespy.Last+1 {
		return nil, false
	}
	return b[gamespy.SplitHead:], true
}

// Join leaves the parts to Decode, which reads them in place, because each begins with
// a section of its own.
func (d *decoder) Join(*dissect.Reader, uint8, *dissect.Message) bool { return true }

// Just Cause 2 Multiplayer has its own format of replies: the settings, the number of
// players in two bytes, and for each player the name, the SteamID and the ping in two
// bytes. A reply is one packet of any length with the number 0, without the mark of the
// last part.

// justCauseList returns the data after the settings of a reply.
func justCauseList(b []byte) ([]byte, bool) {
	if len(b) <= gamespy.SplitHead || b[gamespy.SplitHead] != 0 {
		return nil, false
	}
	b = b[gamespy.SplitHead+1:]
	for {
		key := bytes.IndexByte(b, 0)
		if key < 0 {
			return nil, false
		}
		if b = b[key+1:]; key == 0 {
			return b, true
		}
		value := bytes.IndexByte(b, 0)
		if value < 0 {
			return nil, false
		}
		b = b[value+1:]
	}
}

// isJustCause reports whether a reply has this format: the data after the settings is
// not a section.
func isJustCause(b []byte) bool {
	b, ok := justCauseList(b)
	if !ok || len(b) < 2 {
		return false
	}
	if len(b) == 2 {
		return b[0] == 0 && b[1] == 0 // no players
	}
	name := bytes.IndexByte(b[2:], 0)
	return name >= 0 && bytes.HasPrefix(b[2+name+1:], []byte("STEAM_"))
}

// decodeJustCause reads such a reply after its number.
func (d *decoder) decodeJustCause(r *dissect.Reader, p *StatusReply) {
	d.sections.Server(r)
	at := r.Offset()
	count := int(r.U16BE(fNumPlayers))
	p.JustCause = d.justCause[:0]
	list := r.Begin(playerFields.List)
	cut := false
	for r.More() {
		open := r.BeginRecord(playerFields.Row)
		one := JustCausePlayer{Name: r.CString(playerFields.Name()), SteamID: r.CString(fSteamID), Ping: r.U16BE(fShortPing)}
		if !r.EndRecord(open) {
			core.Recover(r)
			cut = true
			break
		}
		p.JustCause = append(p.JustCause, one)
	}
	d.justCause = p.JustCause
	r.End(list)
	if len(p.JustCause) != count && !r.Failed() {
		r.Find(tableCount, fNumPlayers, at, 2, dissect.Num(count), dissect.Num(len(p.JustCause)))
	}
	if cut {
		r.Find(tableCut, nil, r.Offset(), r.Left())
		r.Rest(catalog.Data())
	}
}

// isAvailableReply reports whether a request is the reply to an availability check: a
// handshake without a session id, and four bytes of status. A handshake of a client may
// have four bytes too, but also has a session id.
func isAvailableReply(b []byte) bool {
	return len(b) == gamespy.RequestHead+4 && string(b[:gamespy.RequestHead]) == "\xfe\xfd\x09\x00\x00\x00\x00"
}

// natNegMagic begins the messages of NAT negotiation.
const natNegMagic = "\xfd\xfc\x1e\x66\x6a\xb2"

// decodeMaster reads the messages between servers and the servers of GameSpy. The
// server chooses the key between type and data, and the master server returns it.
func (d *decoder) decodeMaster(r *dissect.Reader, m *dissect.Message) {
	mark := core.Here(r)
	request, kind, key := head.Read(r)
	d.master = Master{Type: kind, Key: key}
	m.Body, m.Pair.ID = &d.master, gamespy.ID(key)
	k := &nettext.Either(request, &requests, &replies)[kind]
	if k.decode == nil {
		m.Type = mKeepAlive
		core.Return(r, mark)
		r.Fail(head.Type, "no such type")
		return
	}
	m.Type, m.Pair.Asks, m.Pair.Answers = k.message, k.asks, k.answers
	k.decode(d, r, m)
}

func (d *decoder) decodeNothing(*dissect.Reader, *dissect.Message) {}

// text reads a message that is one text, and code one that is one number.
func text(f *dissect.Field) func(*decoder, *dissect.Reader, *dissect.Message) {
	return func(d *decoder, r *dissect.Reader, _ *dissect.Message) { d.master.Text = r.CString(f) }
}

func code(f *dissect.Field) func(*decoder, *dissect.Reader, *dissect.Message) {
	return func(d *decoder, r *dissect.Reader, _ *dissect.Message) { d.master.Code = r.U32BE(f) }
}

func (d *decoder) decodeEcho(r *dissect.Reader, _ *dissect.Message) { d.master.Data = r.Rest(fEcho) }

func (d *decoder) decodeError(r *dissect.Reader, _ *dissect.Message) {
	d.master.Code = uint32(r.U8(fErrorCode))
	d.master.Text = r.CString(fErrorText)
}

// decodeHeartbeat reads the settings of a server and its tables, in the format
// of a reply in one packet.
func (d *decoder) decodeHeartbeat(r *dissect.Reader, m *dissect.Message) {
	p := wire.Body(m, &d.heartbeat, Heartbeat{Key: d.master.Key})
	d.body.ReadPairs(r)
	p.Rules, p.Players, p.Teams = d.body.Rules, d.body.Players, d.body.Teams
	m.Server = gamespy.Server(p.Rules, style)
}

// addressLen is the length in hexadecimal digits of the data at the end of a challenge:
// one byte of options, four bytes of IP address, two bytes of port.
const addressLen = 2 + 8 + 4

// decodeChallengeRequest reads the challenge of the master server. The server must
// encrypt the whole text.
func (d *decoder) decodeChallengeRequest(r *dissect.Reader, _ *dissect.Message) {
	n := r.Until("\x00") - addressLen
	if n <= 0 || !isHex(core.PeekTo(r, n+addressLen), n) {
		d.master.Text = r.CString(fMasterChallenge)
		return
	}
	d.master.Text = r.Text(fMasterChallenge, n)
	r.Text(fBackendOptions, 2)
	r.CString(fPublicAddress)
}

// isHex reports whether b consists of hexadecimal digits from byte i on.
func isHex(b []byte, i int) bool {
	return !slices.ContainsFunc(b[min(i, len(b)):], func(c byte) bool { return (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') })
}

// decodeMessage reads the message of a client: the cookie of a NAT negotiation, or data
// of the game.
func (d *decoder) decodeMessage(r *dissect.Reader, _ *dissect.Message) {
	d.master.Code = r.U32BE(fMessageID)
	if r.HasPrefix(natNegMagic) && r.Left() >= len(natNegMagic)+4 {
		r.Bytes(fNatNegMagic, len(natNegMagic))
		d.master.Cookie = dissect.Some(r.U32BE(fCookie))
	}
	d.master.Data = core.Remaining(r, fMessage)
}
