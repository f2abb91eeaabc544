package doom3

import (
	"bytes"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/judge"
	"github.com/qdissect/qdissect/dissect/internal/wire"
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:   "doom3",
	Title:  "Doom 3 engine queries",
	Doc:    "Queries of Doom 3, Quake 4, Prey, Enemy Territory: Quake Wars and Wolfenstein (2009) servers and of their master servers, the remote console, and what clients say before they are connected.",
	Source: "id Software, Doom 3 (neo/framework/async); dhewm3; Quake Wars SDK; qstat",
	// Servers take the first free one of four ports.
	Ports:  []uint16{27650, 27655, 27666, 27667, 27668, 27669, 27719, 27720, 27721, 27722, 27733, 27734, 27735, 27736, 27758, 28004, 28005, 28006, 28007},
	Starts: []byte{0xff},
	Fields: fields, Messages: messages, Findings: findings,
	Detect: Detect,
	New:    func() dissect.Decoder { return new(decoder) },
	Pairing: dissect.Pairing{
		Unanswered: unanswered, OtherIDs: true,
		OnReply: []dissect.Rule{judge.OtherID(challengeEcho)},
		OnStray: []dissect.Rule{judge.OtherKind(dissect.OtherKind), judge.Unrequested(unrequested)},
	},
}

// commands are the words of messages, as the engine's source writes them.
var commands = []struct {
	word   string
	decode func(*decoder, *dissect.Reader, *dissect.Message)
}{
	{"getInfo", func(d *decoder, r *dissect.Reader, m *dissect.Message) { d.decodeInfoRequest(r, m, false) }},
	{"getInfoEx", func(d *decoder, r *dissect.Reader, m *dissect.Message) { d.decodeInfoRequest(r, m, true) }},
	{"infoResponse", func(d *decoder, r *dissect.Reader, m *dissect.Message) { d.decodeInfoReply(r, m, false) }},
	{"infoExResponse", func(d *decoder, r *dissect.Reader, m *dissect.Message) { d.decodeInfoReply(r, m, true) }},
	{"getServers", (*decoder).decodeServersRequest},
	{"servers", (*decoder).decodeServersReply},
	{"heartbeat", (*decoder).decodeHeartbeat},
	{"rcon", (*decoder).decodeRcon},
	{"print", (*decoder).decodePrint},
	{"challenge", (*decoder).decodeChallenge},
	{"challengeResponse", (*decoder).decodeChallengeResponse},
	{"connect", (*decoder).decodeConnect},
	{"connectResponse", (*decoder).decodeConnectResponse},
	{"disconnect", (*decoder).decodeDisconnect},
	{"clAuth", (*decoder).decodeClientAuth},
	{"gameAuth", (*decoder).decodeGameAuth},
	{"srvAuth", (*decoder).decodeServerAuth},
	{"auth", (*decoder).decodeAuth},
	{"authKey", (*decoder).decodeAuthKey},
	{"versionCheck", (*decoder).decodeVersionCheck},
	{"newVersion", (*decoder).decodeNewVersion},
	{"versionDL", (*decoder).decodeOther},
	{"authrequired", (*decoder).decodeOther},
	{"pureServer", (*decoder).decodeOther},
	{"pureClient", (*decoder).decodeOther},
	{"downloadRequest", (*decoder).decodeOther},
	{"downloadInfo", (*decoder).decodeOther},
}

// longest is that of a word that is not known; those that are have 17 letters
// at most.
const longest = 32

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) < 4 || b[0] != 0xff || b[1] != 0xff {
		return dissect.No
	}
	b = b[2:]
	n := wire.Letters(b)
	// A whole word: with its zero byte, or at the end of the message.
	if n < 4 || n > longest || n < len(b) && b[n] != 0 {
		return dissect.No
	}
	if i := command(b[:n]); i >= 0 {
		if n == len(b) {
			return dissect.Likely
		}
		return dissect.Certain
	}
	if n == len(b) {
		return dissect.No
	}
	return dissect.Possible
}

// command returns the number of a word among the commands, -1 if it is none.
// The engine compares without case.
func command[T string | []byte](word T) int {
	for i := range commands {
		if w := commands[i].word; len(w) == len(word) && wire.Same(word, w) {
			return i
		}
	}
	return -1
}

// Parse reads one payload. The result is the caller's own. The error is a
// *dissect.Error that says where reading ended; what had been read until there
// is returned with it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](new(decoder), payload) }

// decoder owns one of each message, used again and again.
type decoder struct {
	infoRequest InfoRequest
	info        InfoReply
	servers     ServersRequest
	list        ServersReply
	rcon        Rcon
	print       Print
	challenge   Challenge
	connect     Connect
	connected   Connected
	auth        Auth
	version     NewVersion
	other       Other
	unshifted   []byte
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	r.U16(fHeader)
	at := r.Offset()
	word, terminated := r.CStringOrRest(fCommand)
	i := command(word)
	if i < 0 {
		d.decodeOther(r, m)
		d.other.Command = word
		if !r.Failed() {
			r.Find(unknownWord, fCommand, at, len(word), dissect.Str(word))
		}
		return
	}
	if !terminated {
		r.Find(noTerm, fCommand, at, len(word))
	}
	commands[i].decode(d, r, m)
	if d.other.Command = word; m.Body == any(&d.auth) {
		d.auth.Command = word
	}
}

// pairID is what request and reply have in common.
func pairID(challenge int32) uint64 { return uint64(uint32(challenge)) }

// decodeInfoRequest reads getInfo and getInfoEx (idAsyncServer,
// ProcessGetInfoMessage).
func (d *decoder) decodeInfoRequest(r *dissect.Reader, m *dissect.Message, extended bool) {
	q := &d.infoRequest
	*q = InfoRequest{Extended: extended}
	m.Type, m.Body = mInfoRequest, q
	m.Pair.Asks = topicInfo
	if extended {
		m.Type, m.Pair.Asks = mInfoExRequest, topicInfoEx
	}
	at := r.Offset()
	switch n := r.Left(); {
	case n < 4:
		r.Find(challengeShort, fChallenge, at, n, dissect.Num(n))
		if n > 0 {
			m.Pair.ID = r.UintN(fChallenge, n)
		}
		return
	case n > 4:
		r.Find(challengeLong, fPadding, at, n, dissect.Num(n))
	}
	q.Challenge = dissect.Some(r.I32(fChallenge))
	m.Pair.ID = pairID(q.Challenge.Value)
	if r.More() {
		q.Padding = len(r.Rest(fPadding))
	}
}

// readVersion reads a protocol version.
func readVersion(r *dissect.Reader) (v Version) {
	v.Minor = r.U16(fMinor)
	v.Major = r.U16(fMajor)
	return v
}

// decodeServersRequest reads getServers (idAsyncClient, GetNETServers). Quake 4
// has two texts more before the filter.
func (d *decoder) decodeServersRequest(r *dissect.Reader, m *dissect.Message) {
	q := &d.servers
	*q = ServersRequest{}
	m.Type, m.Body = mServersRequest, q
	m.Pair.Asks = topicServers
	at := r.Offset()
	q.Protocol = readVersion(r)
	if q.ThirdParty = q.Protocol.Major&thirdParty != 0; q.ThirdParty {
		q.Protocol.Major &^= thirdParty
		r.Find(thirdPartyAsks, fMajor, at+2, 2)
	}
	q.Mod = r.CString(fMod)
	if bytes.Count(r.Peek(), []byte{0}) >= 2 {
		q.Player = dissect.Some(r.CString(fPlayerLike))
		q.Clan = dissect.Some(r.CString(fClanLike))
	}
	q.Filter = r.U8(fFilter)
}

// decodeServersReply reads servers (idAsyncClient, ProcessServersListMessage).
func (d *decoder) decodeServersReply(r *dissect.Reader, m *dissect.Message) {
	p := &d.list
	*p = ServersReply{Servers: p.Servers[:0]}
	m.Type, m.Body = mServersReply, p
	m.Pair.Answers = topicServers
	list := r.Begin(fServers)
	for r.Left() >= 6 {
		addr, port := r.Endpoint4(fServer, true)
		p.Servers = append(p.Servers, addrPort(addr, port))
	}
	r.End(list)
	if n := r.Left(); n > 0 {
		r.Find(listLength, fServers, r.Offset(), n, dissect.Num(n))
		r.Rest(fields.Data())
	}
}

// decodeHeartbeat reads heartbeat (idAsyncServer, MasterHeartbeat): the word is
// all.
func (d *decoder) decodeHeartbeat(_ *dissect.Reader, m *dissect.Message) {
	d.other = Other{}
	m.Type, m.Body = mHeartbeat, &d.other
}

// decodeDisconnect reads disconnect (idAsyncServer, ProcessMessage).
func (d *decoder) decodeDisconnect(_ *dissect.Reader, m *dissect.Message) {
	d.other = Other{}
	m.Type, m.Body = mDisconnect, &d.other
}

func (d *decoder) decodeOther(r *dissect.Reader, m *dissect.Message) {
	d.other = Other{}
	m.Type, m.Body = mOther, &d.other
	if r.More() {
		d.other.Data = r.Rest(fPayload)
	}
}
