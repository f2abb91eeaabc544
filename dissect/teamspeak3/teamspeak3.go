// Package teamspeak3 dissects the handshake of TeamSpeak 3 and its successors.
//
// A packet begins with TS3INIT1 where later packets have the code of their encryption,
// the packet id 101, from clients a client id of 0, and a type. Five steps follow each
// other; the server keeps nothing of them until the last one:
//
//	0  client: version, time and 4 random bytes
//	1  server: a cookie of 16 bytes, and the random bytes reversed
//	2  client: version, and the two again
//	3  server: a puzzle: two numbers x and n, a level, and 100 bytes of its own
//	4  client: version, all of that again, x to the power of 2^level modulo n, and the
//	   first command
//
// In step 127 the server asks for a new beginning. Numbers are big-endian. Everything
// after the handshake, voice too, is encrypted and not read.
//
// Sources: ReSpeak, ts3protocol.md; recorded traffic for step 0.
package teamspeak3

import (
	"encoding/binary"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var catalog = dissect.NewCatalog("teamspeak3")

var (
	fTag      = catalog.Add("tag", dissect.String, "TS3INIT1: a packet of the handshake.", dissect.Framing)
	fPacketID = catalog.Add("packet_id", dissect.Uint, "Number of the packet: 101.", dissect.Framing)
	fClientID = catalog.Add("client_id", dissect.Uint, "Number of the client: 0, since the server has not given one. Only packets of clients have it.", dissect.Framing)
	fType     = catalog.Add("type", dissect.Uint, "Type of the packet and flags.", dissect.Framing, dissect.Names(dissect.Name{Value: typeInit, Name: "init, not encrypted"}))

	fVersion = catalog.Add("client_version", dissect.Uint, "Build of the client: seconds from the beginning of 2013 to the time of the build.", core.Ignored)
	fStep    = catalog.Add("step", dissect.Uint, "Step of the handshake.", dissect.Names(
		dissect.Name{Value: stepInit, Name: "init"}, dissect.Name{Value: stepCookie, Name: "cookie"}, dissect.Name{Value: stepReturn, Name: "cookie returned"},
		dissect.Name{Value: stepPuzzle, Name: "puzzle"}, dissect.Name{Value: stepSolution, Name: "solution"}, dissect.Name{Value: stepRestart, Name: "restart"}))
	fTime     = catalog.Add("time", dissect.Uint, "Time of the client, in seconds since 1970.", dissect.Chosen)
	fRandom   = catalog.Add("client_challenge", dissect.Uint, "Random number of the client. Later packets of the handshake have it with its bytes reversed.", dissect.Token, dissect.Chosen)
	fReserved = catalog.Add("reserved", dissect.Bytes, "8 bytes, all of them 0.", dissect.Framing)
	fCookie   = catalog.Add("cookie", dissect.Bytes, "Bytes by which the server recognises what it sent to an address.", dissect.Chosen)

	fX        = catalog.Add("puzzle.x", dissect.Bytes, "Number that is squared.", dissect.Chosen)
	fN        = catalog.Add("puzzle.n", dissect.Bytes, "Modulus.", dissect.Chosen)
	fLevel    = catalog.Add("puzzle.level", dissect.Uint, "How many times the client has to square.")
	fOwn      = catalog.Add("puzzle.server_data", dissect.Bytes, "Bytes by which the server recognises the puzzle.", dissect.Chosen)
	fSolution = catalog.Add("puzzle.solution", dissect.Bytes, "x to the power of 2^level, modulo n.", dissect.Chosen)
	fCommand  = catalog.Add("command", dissect.String, "Command that begins the exchange of keys: clientinitiv.", dissect.Public)
	fArgs     = catalog.Add("arguments", dissect.String, "Its arguments: a random number (alpha), the public key of the client's identity (omega), the name of the server.", dissect.PersonID)
	fRest     = catalog.Add("more", dissect.Bytes, "Further bytes.")

	mInit     = catalog.Message(dissect.MessageType{Name: "init_request", Title: "init", Role: dissect.Request, Purpose: dissect.ChallengeRequest, Doc: "Step 0: a client begins the handshake."})
	mCookie   = catalog.Message(dissect.MessageType{Name: "init_reply", Title: "cookie", Role: dissect.Reply, Doc: "Step 1: the server sends a cookie, which only the owner of the address can return."})
	mReturn   = catalog.Message(dissect.MessageType{Name: "puzzle_request", Title: "puzzle request", Role: dissect.Request, Unanswered: wrongCookie, Doc: "Step 2: the client returns the cookie."})
	mPuzzle   = catalog.Message(dissect.MessageType{Name: "puzzle_reply", Title: "puzzle", Role: dissect.Reply, Doc: "Step 3: the server sends a puzzle, which takes the client some time."})
	mSolution = catalog.Message(dissect.MessageType{Name: "solution", Title: "solution", Role: dissect.OneWay, Doc: "Step 4: the client solves the puzzle and begins the exchange of keys. What follows is encrypted."})
	mRestart  = catalog.Message(dissect.MessageType{Name: "restart", Title: "restart", Role: dissect.Reply, Doc: "Step 127: the client has to begin again."})
	mUnknown  = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown message", Role: dissect.OneWay, Doc: "A packet of the handshake with a step that is not known."})

	unanswered  = finding.NoReply(catalog, "ts3.noreply", "No reply came within the time that clients wait. The server is down, the port is another one (9987 as a rule), the server has banned the address, a protection against floods drops the packets, or one was lost.")
	wrongCookie = finding.New(catalog, dissect.Warning, "ts3.puzzle.noreply", "%p unanswered%p",
		"No reply came to the cookie that the client returned. Servers are silent if it is not the one that they gave to this address, or too old; packets with a forged source address are such. Or a packet was lost, or a firewall passes the short replies of a server and not the long ones.", finding.AskWhy)
	unrequested = finding.Unrequested(catalog, "ts3.unrequested", finding.NonePending)
	otherRandom = finding.New(catalog, dissect.Warning, "ts3.random", "reply to the request in frame %d has the random number %x instead of %x",
		"The server has to return the random bytes of the client, reversed. This reply has others: it is one to an earlier packet, or forged, or something between the two alters it. Clients ignore it.", "Ignore it if it is a late packet. If a client cannot connect, look for a DDoS protection that answers for the server.")
	hard = finding.New(catalog, dissect.Warning, "ts3.level", "a puzzle of level %d",
		"The client has to square a number as often as the level says. Servers ask for about 10,000, which takes milliseconds; above 1,000,000 it takes seconds or minutes of the client's processor. Such a server wants to keep clients busy, or the packet is forged.", "A client should refuse levels above a limit of its own. On the server, lower the level of the security settings after a flood.")
	restart = catalog.Finding(dissect.FindingType{ID: "ts3.restart", Severity: dissect.Note, Text: "the client has to begin the handshake again", Doc: "The server does not accept what the client sent so far: it restarted in between, or the cookie or the puzzle is too old. Clients begin with step 0 again. If this repeats, something alters or delays the packets."})
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "teamspeak3",
	Title:   "TeamSpeak 3",
	Group:   "Voice",
	Doc:     "The handshake of TeamSpeak 3 and 5 before encryption: cookie and puzzle. Queries of TeamSpeak use TCP. From a description; only the first step was recorded.",
	Source:  "ReSpeak, ts3protocol.md; recorded traffic for the first step",
	Ports:   []uint16{9987},
	Starts:  []string{tag},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.WithIDs(unanswered, unrequested, otherRandom),
}

const (
	tag      = "TS3INIT1"
	packetID = "\x00\x65" // 101
	typeInit = 0x88
	noClient = "\x00\x00"

	lenHead = len(tag + packetID) // of servers without the type

	stepInit     = 0
	stepCookie   = 1
	stepReturn   = 2
	stepPuzzle   = 3
	stepSolution = 4
	stepRestart  = 127

	lenCookie = 16
	lenNumber = 64
	lenOwn    = 100

	tooHard = 1000000
	epoch   = 1356998400 // 2013-01-01, where client versions begin
)

const (
	topicCookie dissect.Topic = 1 << iota
	topicPuzzle
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) <= lenHead || string(b[:lenHead]) != tag+packetID {
		return dissect.No
	}
	if b = b[lenHead:]; b[0] == typeInit || len(b) > 2 && string(b[:2]) == noClient && b[2] == typeInit {
		return dissect.Certain
	}
	return dissect.No
}

// A Message is a pointer to one of the structs of this package.
type Message any

// Init begins the handshake.
type Init struct {
	// Version is the build of the client in seconds since the beginning of 2013.
	Version uint32
	// Time is that of the client in seconds since 1970.
	Time   uint32
	Random uint32
}

// Cookie is a cookie on its way to the client (Version is 0) or back.
type Cookie struct {
	Version uint32
	Cookie  []byte
	// Random is that of the client.
	Random uint32
}

// Puzzle is a puzzle on its way to the client, without a version and a solution, or back.
type Puzzle struct {
	Version  uint32
	X, N     []byte
	Level    uint32
	Data     []byte
	Solution []byte
	// Command and Arguments are those of the first command of the client.
	Command, Arguments string
}

// Restart tells the client to begin again.
type Restart struct{}

// Unknown has a step that is not known.
type Unknown struct{ Step uint8 }

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	init    Init
	cookie  Cookie
	puzzle  Puzzle
	restart Restart
	unknown Unknown
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	wire.Message(m, mUnknown, &d.unknown, Unknown{})
	if !r.HasPrefix(tag) {
		r.Fail(fTag, "not TS3INIT1")
		return
	}
	r.Text(fTag, len(tag))
	r.U16BE(fPacketID)
	version := uint32(0)
	fromClient := !r.Next(typeInit)
	if fromClient {
		r.U16BE(fClientID)
	}
	if r.U8(fType) != typeInit {
		r.Fail(fType, "not of the handshake")
		return
	}
	if fromClient {
		version = r.U32BE(fVersion)
	}
	step := r.U8(fStep)
	switch {
	case r.Failed():
	case fromClient && step == stepInit:
		p := &d.init
		*p = Init{Version: version, Time: r.U32BE(fTime), Random: r.U32BE(fRandom)}
		r.Bytes(fReserved, 8)
		m.Type, m.Body = mInit, p
		m.Pair.Asks, m.Pair.ID, m.Pair.Challenge = topicCookie, uint64(p.Random), dissect.ChallengeSeed
	case fromClient && step == stepReturn:
		m.Type = mReturn
		m.Pair.Asks, m.Pair.Challenge = topicPuzzle, dissect.ChallengeUsed
		d.decodeCookie(r, m, version)
	case !fromClient && step == stepCookie:
		m.Type = mCookie
		m.Pair.Answers, m.Pair.Challenge = topicCookie, dissect.ChallengeIssued
		d.decodeCookie(r, m, 0)
	case !fromClient && step == stepPuzzle:
		d.decodePuzzle(r, 0)
		m.Type, m.Body = mPuzzle, &d.puzzle
		m.Pair.Answers, m.Pair.ID = topicPuzzle, dissect.AnyID
	case fromClient && step == stepSolution:
		d.decodePuzzle(r, version)
		p := &d.puzzle
		m.Type, m.Body = mSolution, p
		p.Solution = r.Bytes(fSolution, lenNumber)
		if r.More() {
			p.Command = r.Delimited(fCommand, 0, " ", 1)
		}
		if r.More() {
			p.Arguments = r.Text(fArgs, r.Left())
		}
	case !fromClient && step == stepRestart:
		m.Type, m.Body = mRestart, &d.restart
		m.Pair.Answers, m.Pair.ID = topicCookie|topicPuzzle, dissect.AnyID
		r.Note(restart)
		core.Remaining(r, fRest)
	default:
		d.unknown.Step = step
		r.Fail(fStep, "unknown step")
	}
}

func (d *decoder) decodeCookie(r *dissect.Reader, m *dissect.Message, version uint32) {
	d.cookie = Cookie{Version: version, Cookie: r.Bytes(fCookie, lenCookie), Random: r.U32(fRandom)}
	m.Body, m.Pair.ID = &d.cookie, uint64(d.cookie.Random)
	if c := d.cookie.Cookie; len(c) == lenCookie {
		m.Pair.Value = binary.BigEndian.Uint64(c)
	}
}

func (d *decoder) decodePuzzle(r *dissect.Reader, version uint32) {
	p := &d.puzzle
	*p = Puzzle{Version: version, X: r.Bytes(fX, lenNumber), N: r.Bytes(fN, lenNumber)}
	at := r.Offset()
	if p.Level = r.U32BE(fLevel); p.Level > tooHard {
		r.Find(hard, fLevel, at, 4, dissect.Num(p.Level))
	}
	p.Data = r.Bytes(fOwn, lenOwn)
}

// appendBuild appends the day on which a client was built.
func appendBuild(dst []byte, version uint32) []byte {
	return time.Unix(epoch+int64(version), 0).UTC().AppendFormat(append(dst, "client of "...), time.DateOnly)
}

// AppendSummary appends the build of the client.
func (p *Init) AppendSummary(dst []byte) []byte { return appendBuild(dst, p.Version) }

// AppendSummary appends the level and the command.
func (p *Puzzle) AppendSummary(dst []byte) []byte {
	if p.Data != nil {
		dst = wire.Number(dst, "level ", p.Level)
	}
	if p.Command != "" {
		dst = wire.Style{}.Text(dst, "  ", p.Command)
	}
	return dst
}

// AppendSummary appends the step.
func (u *Unknown) AppendSummary(dst []byte) []byte { return wire.Number(dst, "step ", u.Step) }
