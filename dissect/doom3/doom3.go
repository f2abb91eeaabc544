// Package doom3 dissects the connectionless messages of the Doom 3 engine and its
// games: Doom 3, Quake 4, Prey, Enemy Territory: Quake Wars and Wolfenstein (2009).
// They are queries of servers and of master servers, the remote console, and the
// messages by which a client connects.
//
// A message is FF FF, a word with a zero byte, and the word's arguments. Numbers are
// little-endian; unlike in any other engine, ports are too. Words are compared without
// case.
//
// The reply to getInfo differs from game to game, and no field says how; see layout.go.
//
// Sources: the sources of Doom 3 and of dhewm3 (neo/framework/async), the game code of
// Quake Wars, qstat (doom3.c), and recorded replies.
package doom3

import (
	"bytes"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/console"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/quake"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:   "doom3",
	Title:  "Doom 3 engine queries",
	Group:  "Quake and Doom",
	Doc:    "Queries of Doom 3, Quake 4, Prey, Enemy Territory: Quake Wars and Wolfenstein (2009) servers and of their master servers, the remote console, and the messages by which clients connect.",
	Source: "id Software, Doom 3 (neo/framework/async); dhewm3; Quake Wars SDK; qstat",
	// Servers use the first free one of four ports.
	Ports:   []uint16{27650, 27655, 27666, 27667, 27668, 27669, 27719, 27720, 27721, 27722, 27733, 27734, 27735, 27736, 27758, 28004, 28005, 28006, 28007},
	Starts:  wire.Starts("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "\xff\xff"),
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.WithIDs(unanswered, unrequested, challengeEcho),
}

// commands are the types of messages: the word that names it as the engine's
// source writes it, what it asks for or answers, and its decoder.
var commands = []struct {
	word          string
	message       *dissect.MessageType
	asks, answers dissect.Topic
	decode        func(*decoder, *dissect.Reader, *dissect.Message)
}{
	{"getInfo", mInfoRequest, topicInfo, 0, (*decoder).decodeInfoRequest},
	{"getInfoEx", mInfoExRequest, topicInfoEx, 0, (*decoder).decodeInfoRequest},
	{"infoResponse", mInfoReply, 0, topicInfo, (*decoder).decodeInfoReply},
	{"infoExResponse", mInfoExReply, 0, topicInfoEx, (*decoder).decodeInfoReply},
	{"getServers", mServersRequest, topicServers, 0, (*decoder).decodeServersRequest},
	{"servers", mServersReply, 0, topicServers, (*decoder).decodeServersReply},
	{"heartbeat", mHeartbeat, 0, 0, (*decoder).decodeWord},
	{"rcon", mRcon, topicRcon, 0, (*decoder).decodeRcon},
	{"print", mPrint, 0, topicRcon | topicChallenge | topicConnect, (*decoder).decodePrint},
	{"challenge", mChallengeRequest, topicChallenge, 0, (*decoder).decodeChallenge},
	{"challengeResponse", mChallengeReply, 0, topicChallenge, (*decoder).decodeChallengeResponse},
	{"connect", mConnectRequest, topicConnect, 0, (*decoder).decodeConnect},
	{"connectResponse", mConnectReply, 0, topicConnect, (*decoder).decodeConnectResponse},
	{"disconnect", mDisconnect, 0, 0, (*decoder).decodeWord},
	{"clAuth", mOther, 0, 0, (*decoder).decodeKeys},
	{"gameAuth", mOther, 0, 0, (*decoder).decodeKeys},
	{"srvAuth", mOther, 0, 0, (*decoder).decodeKeys},
	{"auth", mOther, 0, 0, (*decoder).decodeKeys},
	{"authKey", mOther, 0, 0, (*decoder).decodeKeys},
	{"versionCheck", mOther, 0, 0, (*decoder).decodeOther},
	{"newVersion", mOther, 0, 0, (*decoder).decodeOther},
	{"versionDL", mOther, 0, 0, (*decoder).decodeOther},
	{"authrequired", mOther, 0, 0, (*decoder).decodeOther},
	{"pureServer", mOther, 0, 0, (*decoder).decodeOther},
	{"pureClient", mOther, 0, 0, (*decoder).decodeOther},
	{"downloadRequest", mOther, 0, 0, (*decoder).decodeOther},
	{"downloadInfo", mOther, 0, 0, (*decoder).decodeOther},
}

// longest is the length of the longest unknown word; known words have at most 17
// letters.
const longest = 32

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) < 4 || b[0] != 0xff || b[1] != 0xff {
		return dissect.No
	}
	b = b[2:]
	n := wire.Letters(b)
	// A whole word: its zero byte follows, or the end of the message.
	if n < 4 || n > longest || n < len(b) && b[n] != 0 {
		return dissect.No
	}
	if i := command(b[:n]); i >= 0 {
		return nettext.Either(n == len(b), dissect.Likely, dissect.Certain)
	}
	return nettext.Either(n == len(b), dissect.No, dissect.Possible)
}

// command returns the index of the command with a word, or -1 if there is none. The
// engine compares without case.
func command[T string | []byte](word T) int {
	for i := range commands {
		if w := commands[i].word; len(w) == len(word) && wire.Same(word, w) {
			return i
		}
	}
	return -1
}

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

// A decoder owns one message of each type and reuses it.
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
	other       Other
	unshifted   []byte
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	r.U16(fHeader)
	at := r.Offset()
	word, terminated := core.CStringOrRest(r, fCommand)
	d.other = Other{Command: word}
	i := command(word)
	if i < 0 {
		m.Type = mOther
		d.decodeOther(r, m)
		if !r.Failed() {
			r.Find(unknownWord, fCommand, at, len(word), dissect.Str(word))
		}
		return
	}
	if !terminated {
		r.Find(noTerm, fCommand, at, len(word))
	}
	c := &commands[i]
	m.Type, m.Pair.Asks, m.Pair.Answers = c.message, c.asks, c.answers
	c.decode(d, r, m)
}

// pairID returns the number by which a challenge pairs a request and its reply.
func pairID(challenge int32) uint64 { return uint64(uint32(challenge)) }

// decodeInfoRequest reads getInfo and getInfoEx (idAsyncServer,
// ProcessGetInfoMessage).
func (d *decoder) decodeInfoRequest(r *dissect.Reader, m *dissect.Message) {
	q := wire.Body(m, &d.infoRequest, InfoRequest{Extended: m.Type == mInfoExRequest})
	at := r.Offset()
	switch n := r.Left(); {
	case n < 4:
		r.Find(challengeShort, fChallenge, at, n, dissect.Num(n))
		if n > 0 {
			m.Pair.ID = core.UintN(r, fChallenge, n)
		}
		return
	case n > 4:
		r.Find(challengeLong, fPadding, at, n, dissect.Num(n))
	}
	q.Challenge = dissect.Some(r.I32(fChallenge))
	m.Pair.ID = pairID(q.Challenge.Value)
	q.Padding = len(core.Remaining(r, fPadding))
}

// readVersion reads a protocol version.
func readVersion(r *dissect.Reader) (v Version) {
	v.Minor = r.U16(fMinor)
	v.Major = r.U16(fMajor)
	return v
}

// decodeServersRequest reads getServers (idAsyncClient, GetNETServers). Quake 4 has two
// more texts before the filter.
func (d *decoder) decodeServersRequest(r *dissect.Reader, m *dissect.Message) {
	q := wire.Body(m, &d.servers, ServersRequest{})
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
	p := wire.Body(m, &d.list, ServersReply{Servers: d.list.Servers[:0]})
	p.Servers = quake.Servers(r, true, fServers, fServer, catalog.Data(), listLength, p.Servers)
}

// decodeWord reads heartbeat (idAsyncServer, MasterHeartbeat) and disconnect
// (idAsyncServer, ProcessMessage): the word has no arguments.
func (d *decoder) decodeWord(_ *dissect.Reader, m *dissect.Message) { m.Body = &d.other }

func (d *decoder) decodeOther(r *dissect.Reader, m *dissect.Message) {
	m.Body = &d.other
	d.other.Data = core.Remaining(r, fPayload)
}

// decodeKeys reads a message about the serial numbers of a client, which it hides.
func (d *decoder) decodeKeys(r *dissect.Reader, m *dissect.Message) {
	m.Body = &d.other
	d.other.Data = core.Remaining(r, fKeys)
}

// decodeRcon reads rcon (idAsyncClient, RemoteConsole).
func (d *decoder) decodeRcon(r *dissect.Reader, m *dissect.Message) {
	c := &d.rcon
	m.Body = c
	*c = Rcon{Password: r.CString(fPassword), Command: r.CString(fCommandLine)}
	if core.Tree(r) && !r.Failed() && c.secretAt() < len(c.Command) {
		core.Hide(r, fHiddenLine)
	}
	if c.Password == "" && r.More() {
		r.Fail(fPassword, "missing")
	}
}

// secretAt returns the offset of a password in the command, or its length if there is
// none. Without a password before the command, the command may contain it.
func (m *Rcon) secretAt() int {
	return nettext.Either(m.Password == "", 0, console.CommandSecret(m.Command))
}

// decodePrint reads print (idAsyncServer, PrintOOB): the output of a remote console
// command, or the reason why a client is refused.
func (d *decoder) decodePrint(r *dissect.Reader, m *dissect.Message) {
	p := wire.Body(m, &d.print, Print{Opcode: r.U32(fOpcode)})
	if p.Opcode == printGameDeny {
		p.GameOpcode = dissect.Some(r.U32(fGameOpcode))
	}
	p.Text = r.CString(fText)
	console.Hide(r, fHiddenText, p.Text)
}

// decodeChallenge reads challenge (idAsyncClient, SetupConnection).
func (d *decoder) decodeChallenge(r *dissect.Reader, m *dissect.Message) {
	m.Body = &d.challenge
	m.Pair.Challenge = dissect.ChallengeSeed
	d.challenge = Challenge{ClientID: r.I32(fClientID)}
}

// decodeChallengeResponse reads challengeResponse (idAsyncServer,
// ProcessChallengeMessage).
func (d *decoder) decodeChallengeResponse(r *dissect.Reader, m *dissect.Message) {
	c := wire.Body(m, &d.challenge, Challenge{Reply: true, Challenge: r.I32(fChallenge), ServerID: r.U16(fServerID)})
	m.Pair.Challenge, m.Pair.Value = dissect.ChallengeIssued, pairID(c.Challenge)
	if r.More() { // Doom 3 before 1.2 ends here
		c.GameBase = r.CString(fGameBase)
		c.Game = r.CString(fGame)
	}
}

// decodeConnect reads connect (idAsyncClient, SetupConnection). dhewm3 omits the
// operating system.
func (d *decoder) decodeConnect(r *dissect.Reader, m *dissect.Message) {
	c := wire.Body(m, &d.connect, Connect{Protocol: readVersion(r)})
	if !connectWithoutOS(r.Peek()) {
		c.OS = dissect.Some(r.U16(fOS))
	}
	c.Checksum = r.U32(fChecksum)
	c.Challenge = r.I32(fChallenge)
	c.ClientID = r.U16(fClientID16)
	c.MaxRate = r.U32(fMaxRate)
	c.GUID = r.CString(fGUID)
	c.Password = r.CString(fPassword)
	r.U16(fPunkBuster)
	m.Pair.Challenge, m.Pair.Value = dissect.ChallengeUsed, pairID(c.Challenge)
}

// connectWithoutOS reports whether connect ends where the message ends if it has no
// operating system. b follows the version.
func connectWithoutOS(b []byte) bool {
	s := scanner{b: b}
	s.skip(4 + 4 + 2 + 4)
	s.text()
	s.text()
	return !s.failed && string(s.b) == "\x00\x00"
}

// decodeConnectResponse reads connectResponse (idAsyncServer,
// ProcessConnectMessage).
func (d *decoder) decodeConnectResponse(r *dissect.Reader, m *dissect.Message) {
	c := wire.Body(m, &d.connected, Connected{Rules: d.connected.Rules[:0]})
	c.ClientNumber = r.U32(fClientNumber)
	c.GameInitID = r.U32(fGameInit)
	c.GameFrame = r.U32(fGameFrame)
	c.GameTime = time.Duration(r.U32(fGameTime)) * time.Millisecond
	c.Rules = readRules(r, c.Rules)
	m.Server = serverOf(c.Rules)
}
