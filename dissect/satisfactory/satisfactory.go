// Package satisfactory dissects the Lightweight Query API of Satisfactory's dedicated
// servers. The game polls a server with it for its state and name; everything else,
// also the number of players, goes over HTTPS on the same port number.
//
// A message is the bytes D5 F6, its type, a version, its content, and the byte 1. The
// client chooses a cookie, which the reply returns. Numbers are little-endian. Servers
// before version 1.0 of the game have messages without D5 F6 and the byte 1, on port
// 15777.
//
// Sources: Satisfactory's documentation of dedicated servers (DedicatedServerAPIDocs.md);
// node-gamedig. No reply of a real server has been recorded.
package satisfactory

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var catalog = dissect.NewCatalog("satisfactory")

var (
	fMagic   = catalog.Add("magic", dissect.Bytes, "D5 F6: a message of this protocol.", dissect.Framing)
	fType    = catalog.Add("type", dissect.Uint, "Type of the message.", dissect.Framing, dissect.Names(dissect.Name{Value: poll, Name: "poll server state"}, dissect.Name{Value: state, Name: "server state"}))
	fVersion = catalog.Add("protocol_version", dissect.Uint, "Version of the protocol: 1, or 0 before version 1.0 of the game.", dissect.Framing)
	fCookie  = catalog.Add("cookie", dissect.ID, "Number that the client chose, often the time; the reply returns it.", dissect.Chosen)

	fState = catalog.Add("state", dissect.Uint, "What the server does.", dissect.Names(dissect.Name{Value: 0, Name: "offline"},
		dissect.Name{Value: 1, Name: "idle"}, dissect.Name{Value: 2, Name: "loading"}, dissect.Name{Value: playing, Name: "playing"}))
	fChangelist = catalog.Add("changelist", dissect.Uint, "Build of the game. Clients of another build cannot join.")
	fFlags      = catalog.Add("flags", dissect.Uint, "Flags: 1 the server has mods; the others are free for mods.")
	fCount      = catalog.Add("sub_states.count", dissect.Uint, "Number of parts of the state.", dissect.Framing)
	fParts      = catalog.Add("sub_states", dissect.List, "Parts of the state that clients can request over HTTPS.")
	fPart       = catalog.Add("sub_states.sub_state", dissect.Group, "A part of the state.")
	fID         = catalog.Add("sub_states.id", dissect.Uint, "Which part it is.", core.Counted(0, "game state", "options", "advanced game settings", "saves", "custom 1", "custom 2", "custom 3", "custom 4"))
	fChanges    = catalog.Add("sub_states.version", dissect.Uint, "Counts up when the part changes.")
	fName       = catalog.Add("name", dissect.String, "Name of the server.", dissect.ServerText)
	fBeacon     = catalog.Add("beacon_port", dissect.Uint, "Port of the beacon (before version 1.0).")
	fEnd        = catalog.Add("end", dissect.Uint, "1: the end of the message.", dissect.Framing)

	mPoll    = catalog.Message(dissect.MessageType{Name: "poll", Title: "state poll", Role: dissect.Request, Doc: "Asks for the state of the server."})
	mState   = catalog.Message(dissect.MessageType{Name: "state", Title: "state", Role: dissect.Reply, Doc: "State, build and name of the server."})
	mUnknown = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown message", Doc: "A type of message, or a version of the protocol, that is not known."})

	unanswered  = finding.NoReply(catalog, "satisfactory.noreply", "The capture has no reply within the time that clients wait. The server is down or still starting, the port is another one (7777; 15777 before version 1.0 of the game), or a packet was lost, dropped by a firewall or not captured. The game itself polls several times a second and expects losses.")
	unrequested = finding.Unrequested(catalog, "satisfactory.unrequested", "The capture has requests of this conversation, but no pending one with this cookie. The request is missing from the capture, or the reply is late, a duplicate or forged. Clients drop a reply with a cookie that they did not send.")
	several     = finding.Several(catalog, "satisfactory.several", "The cookie was returned more than once: the network duplicated the reply, or two servers share the address.")
	version     = finding.New(catalog, dissect.Warning, "satisfactory.version", "version %d of the protocol is unknown",
		"Only version 1 is documented. Servers and clients ignore messages of a version that they do not know; the content is not read.", "Update the client or server; if a new version is documented, report it to qdissect.")
	unended = finding.New(catalog, dissect.Warning, "satisfactory.end", "the message ends with the byte %d instead of 1",
		"Each message ends with the byte 1, and receivers drop it if it does not. The sender has an error, or the message was damaged.", "An own client should end each message with the byte 1.")
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "satisfactory",
	Title:   "Satisfactory",
	Doc:     "The Lightweight Query API of Satisfactory's dedicated servers: state, build and name. From the documentation; no real reply was at hand.",
	Source:  "Satisfactory, DedicatedServerAPIDocs.md; node-gamedig (satisfactory.js)",
	Ports:   []uint16{7777, 15777},
	Starts:  []string{magic, "\x00\x00", "\x01\x00"},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Usual(unanswered, unrequested, several),
}

const (
	magic = "\xd5\xf6"

	poll  = 0 // types of messages
	state = 1

	playing = 3 // a state
	modded  = 1 // a flag

	lenPoll     = 13
	minState    = 29
	lenOldPoll  = 10
	lenOldState = 17

	topicState dissect.Topic = 1
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) > 0 && b[0] != magic[0] {
		switch { // before version 1.0
		case len(b) == lenOldPoll && string(b[:2]) == "\x00\x00" && wire.Varied(b[2:]):
			return dissect.Possible
		case len(b) == lenOldState && string(b[:2]) == "\x01\x00" && b[10] <= playing && b[14] == 0:
			return dissect.Doubtful // packets of games also begin with 1 and 0
		}
		return dissect.No
	}
	switch {
	case len(b) < 4 || string(b[:2]) != magic:
		return dissect.No
	case b[3] != 1:
		return dissect.Possible
	case b[2] == poll && len(b) == lenPoll && b[lenPoll-1] == 1,
		b[2] == state && len(b) >= minState && b[12] <= playing:
		return dissect.Certain
	case b[2] <= state:
		return dissect.Likely
	}
	return dissect.Possible
}

// A Message is one of *Poll and *State, or nil if its kind is not known.
type Message any

// Poll asks a server for its state.
type Poll struct {
	// Version is the version of the protocol: 1, or 0 before version 1.0 of the game.
	Version uint8
	// Cookie is chosen by the client.
	Cookie uint64
}

// State is the state of a server.
type State struct {
	Version uint8
	// Cookie is that of the request.
	Cookie uint64
	// State is 0 for offline, 1 for idle (no game is loaded), 2 for loading, 3 for playing.
	State uint8
	// Changelist is the build of the game.
	Changelist uint32
	// Flags: bit 0 is set if the server has mods.
	Flags uint64
	// SubStates are the parts of the state.
	SubStates []SubState
	// Name is the name of the server in UTF-8.
	Name string
	// BeaconPort is stated by servers before version 1.0 only.
	BeaconPort uint16

	server dissect.Server
}

// A SubState is a part of the state, with a version that counts up when it changes.
type SubState struct {
	ID      uint8
	Version uint16
}

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	poll  Poll
	state State
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	m.Type = mUnknown
	old := !r.HasPrefix(magic)
	if !old {
		r.Bytes(fMagic, len(magic))
	}
	kind := r.U8(fType)
	number := r.U8(fVersion)
	if !old && number != 1 && !r.Failed() {
		r.Note(version, dissect.Num(number))
		r.Rest(catalog.Data())
		return
	}
	switch {
	case kind == poll:
		q := wire.Message(m, mPoll, &d.poll, Poll{Version: number, Cookie: r.U64(fCookie)})
		m.Pair = dissect.Pair{Asks: topicState, ID: pairID(q.Cookie)}
	case kind == state:
		d.decodeState(r, m, number, old)
	default:
		r.Fail(fType, "no such type")
	}
	if old {
		return
	}
	if end := r.U8(fEnd); end != 1 && !r.Failed() {
		r.Note(unended, dissect.Num(end))
	}
}

func (d *decoder) decodeState(r *dissect.Reader, m *dissect.Message, number uint8, old bool) {
	p := wire.Message(m, mState, &d.state, State{Version: number, SubStates: d.state.SubStates[:0], Cookie: r.U64(fCookie)})
	m.Pair = dissect.Pair{Answers: topicState, ID: pairID(p.Cookie)}
	p.State = core.Enum(r, fState)
	p.Changelist = r.U32(fChangelist)
	if old {
		p.BeaconPort = r.U16(fBeacon)
		return
	}
	p.Flags = r.U64(fFlags)
	n := int(r.U8(fCount))
	p.SubStates = wire.Items(r, fParts, fPart, p.SubStates, wire.Times(r, n), func() SubState {
		return SubState{ID: r.U8(fID), Version: r.U16(fChanges)}
	})
	length := max(r.PeekByte(0), 0) | max(r.PeekByte(1), 0)<<8
	p.Name = wire.Fact(r, &m.Server.Name, r.Span(fName, 0, 2, length, 0))
	p.server = m.Server
}

// pairID is the cookie as a number for the pairing other than [dissect.AnyID], which
// would match every cookie.
func pairID(cookie uint64) uint64 { return min(cookie, dissect.AnyID-1) }

// AppendSummary appends the name, the state and the build.
func (p *State) AppendSummary(dst []byte) []byte {
	start := len(dst)
	if dst = p.server.AppendSummary(dst); p.Changelist == 0 {
		return dst // cut, and no state can be told from none
	}
	dst = append(wire.Gap(dst, start), fState.NameOf(uint64(p.State))...)
	dst = wire.Number(dst, "  build ", p.Changelist)
	if p.Flags&modded != 0 {
		dst = append(dst, "  modded"...)
	}
	return dst
}
