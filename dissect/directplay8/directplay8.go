// Package directplay8 dissects the enumeration of DirectPlay 8, by which players of games such as Freelancer find hosts.
//
// A query is 00 02, a number that the reply returns, and 1 with the GUID of a game or 2 for any; the game may add data. The reply is 00 03,
// the number, and the description of the session: numbers, and where the name and other parts lie, counted from after the number.
// All numbers are little-endian. A first byte other than 0 belongs to the session, which is not read.
//
// Source: Microsoft, [MC-DPLHP] DirectPlay 8 Protocol: Host and Port Enumeration, sections 2.2.1 and 2.2.2. No recorded traffic.
package directplay8

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/judge"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var catalog = dissect.NewCatalog("directplay8")

var (
	fCommand = catalog.Add("command", dissect.Uint, "2: a query. 3: its reply.", dissect.Framing)
	fPayload = catalog.Add("enum_payload", dissect.Uint, "Number that the client chose; the reply returns it.", dissect.Chosen)
	fType    = catalog.Add("query_type", dissect.Uint, "Whether only hosts of one game reply.", core.Counted(1, "game", "any"))
	fGUID    = catalog.Add("application_guid", dissect.Bytes, "GUID of the game.")
	fData    = catalog.Add("application_data", dissect.Bytes, "Data of the game.")
	fSize    = catalog.Add("size", dissect.Uint, "Bytes of the description, 80.", dissect.Framing)
	fFlags   = catalog.Add("flags", dissect.Uint, "Flags of the session.", core.Bits(
		dissect.Name{Value: 0x1, Name: "client/server"}, dissect.Name{Value: 0x4, Name: "host may migrate"}, dissect.Name{Value: 0x40, Name: "no port 6073"},
		dissect.Name{Value: 0x80, Name: "password"}, dissect.Name{Value: 0x100, Name: "no enumeration"}, dissect.Name{Value: 0x200, Name: "fast signed"}, dissect.Name{Value: 0x400, Name: "full signed"}))
	fMax      = catalog.Add("max_players", dissect.Uint, "Maximum number of players, 0 for no limit.")
	fPlayers  = catalog.Add("current_players", dissect.Uint, "Number of players.")
	fInstance = catalog.Add("instance_guid", dissect.Bytes, "GUID of the session.")
	fName     = catalog.Add("session_name", dissect.String, "Name of the session.", dissect.ServerText)
	fPassword = catalog.Add("password", dissect.Bytes, "Password of the session, which hosts should not send.", dissect.Secret)
	fReserved = catalog.Add("reserved", dissect.Bytes, "Data that is reserved, or lies between the parts.", dissect.Framing)
	fOffset   = catalog.Add("offset", dissect.Uint, "Where a part lies.", dissect.Framing)
	fLength   = catalog.Add("length", dissect.Uint, "Bytes of a part.", dissect.Framing)

	mQuery = catalog.Message(dissect.MessageType{Name: "enum_query", Title: "enumeration", Role: dissect.Request, Doc: "Asks hosts for their sessions."})
	mReply = catalog.Message(dissect.MessageType{Name: "enum_response", Title: "session", Role: dissect.Reply, Doc: "A session: its name, players, game and flags."})

	outside = finding.Length(catalog, "directplay8.part", "a part of %d bytes from byte %d on is not there, or within another one", "Clients ignore such a reply, or show the session without a name.", finding.WrongLength)
	pairing = judge.Simple(catalog, "The capture has no reply within the time that clients wait. No host of this game has a session, or a packet was lost, dropped by a firewall or not captured.",
		"The query has no challenge, so its source address can be forged to flood somebody else. Limit the rate of queries in a firewall.")
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "directplay8",
	Title:   "DirectPlay 8 enumeration",
	Doc:     "How players of games with DirectPlay 8 find hosts: from Microsoft's document, not compared with recorded traffic. Sessions are not read.",
	Source:  "Microsoft, [MC-DPLHP] DirectPlay 8 Protocol: Host and Port Enumeration",
	Ports:   []uint16{6073, 2302, 2303, 2304, 23456},
	Starts:  []string{query, reply},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: pairing,
}

const (
	query     = "\x00\x02"
	reply     = "\x00\x03"
	lenNumber = 4 // from here on offsets count
	lenQuery  = 5
	lenGUID   = 16
	lenDesc   = 0x50

	topicEnum dissect.Topic = 1
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	switch {
	case len(b) >= 64 && string(b[:2]) == reply && binary.LittleEndian.Uint32(b[12:]) == lenDesc && binary.LittleEndian.Uint32(b[16:]) < 1<<12:
		return dissect.Certain
	case len(b) < lenQuery || string(b[:2]) != query:
	case b[4] == 1 && len(b) >= lenQuery+lenGUID && b[lenQuery+7]>>4 >= 1 && b[lenQuery+7]>>4 <= 5 && b[lenQuery+8]>>6 == 2 && wire.Varied(b[lenQuery:lenQuery+lenGUID]): // of a version and variant
		return dissect.Likely
	case b[4] == 2 && len(b) == lenQuery:
		return dissect.Possible
	case b[4] == 2:
		return dissect.Doubtful // with data of a game, which may be anything
	}
	return dissect.No
}

// A Message is one of *Query and *Session.
type Message any

// Query asks hosts for their sessions.
type Query struct {
	// Payload is returned by the reply. GUID is that of the game, nil for any. Data is of the game.
	Payload    uint16
	GUID, Data []byte
}

// Session is a session of a host.
type Session struct {
	Payload             uint16
	Flags, Max, Players uint32
	// Game and Instance are GUIDs of the game and the session, Data is of the game.
	Game, Instance, Data []byte
	Name                 string
}

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	query   Query
	session Session
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	if !r.HasPrefix(reply) {
		q := &d.query
		*q = Query{}
		m.Type, m.Body = mQuery, q
		r.U16BE(fCommand)
		q.Payload = r.U16(fPayload)
		m.Pair = dissect.Pair{Asks: topicEnum, ID: uint64(q.Payload) + 1, Challenge: dissect.ChallengeAbsent}
		if r.U8(fType) == 1 {
			q.GUID = r.Bytes(fGUID, lenGUID)
		}
		if r.More() {
			q.Data = r.Rest(fData)
		}
		return
	}
	s := &d.session
	*s = Session{}
	m.Type, m.Body = mReply, s
	r.U16BE(fCommand)
	s.Payload = r.U16(fPayload)
	m.Pair = dissect.Pair{Answers: topicEnum, ID: uint64(s.Payload) + 1}
	var list [5]part // behind the description; the last two are reserved
	list[0] = place(r, fData)
	r.U32(fSize)
	s.Flags, s.Max, s.Players = r.U32(fFlags), r.U32(fMax), r.U32(fPlayers)
	for i, f := range [...]*dissect.Field{fName, fPassword, fReserved, fReserved} {
		list[i+1] = place(r, f)
	}
	s.Instance, s.Game = r.Bytes(fInstance, lenGUID), r.Bytes(fGUID, lenGUID)
	slices.SortStableFunc(list[:], func(a, b part) int { return a.at - b.at })
	for _, p := range list {
		switch gap := p.at - r.Offset(); {
		case r.Failed() || p.n == 0:
			continue
		case (gap < 0 || p.n < 0 || gap+p.n > r.Left()) && !r.Cut():
			r.Note(outside, dissect.Num(p.n), dissect.Num(p.at))
			continue
		case gap > 0:
			r.Bytes(fReserved, gap)
		}
		switch p.field {
		case fName:
			end := p.n % 2
			if bytes.HasSuffix(core.PeekTo(r, p.n), []byte{0, 0}) {
				end = 2
			}
			s.Name = core.Wide(r, fName, 0, (p.n-end)/2, end+(p.n-end)%2)
		case fData:
			s.Data = r.Bytes(fData, p.n)
		default:
			r.Bytes(p.field, p.n)
		}
	}
	wire.State(r, m, dissect.Server{Name: dissect.Opt[string]{Value: s.Name, OK: s.Name != ""}, Players: dissect.Some(int(s.Players & 0xffff)), MaxPlayers: dissect.Opt[int]{Value: int(s.Max & 0xffff), OK: s.Max > 0}})
}

// A part is n bytes somewhere.
type part struct {
	field *dissect.Field
	at, n int
}

func place(r *dissect.Reader, f *dissect.Field) part {
	return part{f, int(int32(r.U32(fOffset))) + lenNumber, int(int32(r.U32(fLength)))}
}
