// Package ase dissects the queries of The All-Seeing Eye: the letter s, to which Multi
// Theft Auto, Far Cry, Painkiller, Soldat, Age of Empires II and others reply with all
// data of a server, and the shorter queries of Multi Theft Auto's own browser. The
// query port is the game's port plus 123.
//
// A reply is EYE1 and a sequence of texts, each after a byte with its length. The
// length counts itself: an empty text is the byte 01. There is no other structure. The
// length of a text of 255 bytes or more does not fit; servers send its lower eight
// bits, and clients lose their position. This package finds the position again where
// the following data allows it.
//
// Multi Theft Auto sends replies of more than 1364 bytes whole, in IP fragments. Older
// servers send them in datagrams of 1364 bytes with a number in the fourth byte, so
// that the second one begins with EYE2 like a short reply of Multi Theft Auto.
//
// Text is UTF-8 or, from older servers, Latin-1 (Windows-1252). Numbers are
// little-endian.
//
// Sources: "A gameserver Query Library", The All Seeing Eye; the query code of Multi
// Theft Auto's server; qstat for replies in several datagrams; recorded traffic.
package ase

import (
	"bytes"
	"encoding/binary"
	"slices"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/reassembly"
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "ase",
	Title:   "The All-Seeing Eye",
	Doc:     "Queries of The All-Seeing Eye (letter s): Multi Theft Auto, Far Cry, Painkiller, Soldat, Age of Empires II and others; and Multi Theft Auto's own short queries.",
	Source:  "A gameserver Query Library (CodeProject), The All Seeing Eye; ASE.cpp of Multi Theft Auto; qstat",
	Ports:   queryPorts(),
	Starts:  append(wire.Starts("\x00", "s", "b", "r", "x", "v", "p"), magic, "0.", "1.", "2."),
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Split: &dissect.Splitting{
		Read: readPart, Alone: true, Incomplete: partMissing, Endless: partEndless, Duplicate: partDuplicate, Reordered: partReorder, Conflict: partConflict,
	},
	Pairing: dissect.Pairing{
		Unanswered: unanswered,
		TooOften:   tooOften, Most: 5, Within: 6 * time.Second,
		OnReply: []dissect.Rule{several, finding.Amplified(amplification, 10)},
		OnStray: []dissect.Rule{finding.OtherKind(core.OtherKind), unrequested},
	},
}

// queryPorts returns the query ports of the games: The All-Seeing Eye adds 123 to the
// port of the game.
func queryPorts() (list []uint16) {
	const offset = 123
	for _, game := range [...]uint16{
		2003, 22003, 22013, 22023, // Multi Theft Auto: Vice City and San Andreas, several on a host
		3455, 23073, 49001, // Painkiller, Soldat, Far Cry
		27015, 28015, 3000, // Chrome, Xpand Rally, Chaser
		27101, 14567, 2302, // Age of Empires II, Battlefield 1942, Operation Flashpoint
		7777, 12203, 25600, // Unreal Tournament, Medal of Honor, Serious Sam
	} {
		list = append(list, game+offset)
	}
	return list
}

const (
	magic = "EYE"
	// mta follows the mark of short replies. The second and third datagram of a split
	// reply have the same marks.
	mta = "\x04mta"
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	switch {
	case len(b) == 0:
		return dissect.No
	case len(b) == 1:
		return nettext.Either(requests[b[0]].message != nil, dissect.Possible, dissect.No)
	case isVersion(b):
		return dissect.Possible
	case len(b) < 5 || string(b[:3]) != magic || b[3] < '1' || b[3] > '9':
		return dissect.No
	case b[3] == '1':
		// The name of the game follows, a short word.
		n := int(b[4])
		return nettext.Either(n < 2 || n > 32 || slices.ContainsFunc(b[5:min(len(b), 4+n)], wire.Unprintable), dissect.Possible, dissect.Certain)
	case b[3] <= '3' && isShort(b):
		return dissect.Certain
	}
	return dissect.Likely
}

// isShort reports whether b is a short reply of Multi Theft Auto.
func isShort(b []byte) bool {
	return len(b) >= 8 && (b[3] == '2' || b[3] == '3') && string(b[4:8]) == mta
}

// isVersion reports whether b is a version number, such as 1.6.
func isVersion(b []byte) bool {
	return len(b) >= 3 && len(b) <= 8 && b[0] >= '0' && b[0] <= '2' && b[1] == '.' &&
		!slices.ContainsFunc(b[2:], func(c byte) bool { return (c < '0' || c > '9') && c != '.' })
}

// requests are the types of requests by their letters.
var requests = [256]struct {
	message *dissect.MessageType
	topic   dissect.Topic
}{
	's': {mStatus, topicStatus}, 'b': {mLight, topicLight}, 'r': {mLight, topicLight},
	'x': {mXfire, topicXfire}, 'v': {mVersion, topicVersion}, 'p': {mPing, topicPing},
}

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	request Request
	status  StatusReply
	light   LightReply
	version VersionReply
	part    Part
	texts   layout
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	if r.Parts() > 0 {
		d.decodeStatus(r, m)
		return
	}
	switch b := r.Peek(); {
	case r.HasPrefix("EYE1"):
		r.Text(fMagic, 4)
		d.decodeStatus(r, m)
	case r.HasPrefix(magic) && isShort(b):
		d.decodeLight(r, m, r.PeekByte(3) == '2')
	case r.HasPrefix(magic) && len(b) >= minPart:
		d.part = Part{}
		m.Type, m.Body, m.Pair.Answers = mPart, &d.part, topicStatus
		d.readPart(r)
		r.Note(partFirst)
	case isVersion(b):
		d.version = VersionReply{}
		m.Type, m.Body, m.Pair.Answers = mVersionReply, &d.version, topicVersion
		d.version.Version = r.Text(fVersion, r.Left())
		m.Server.Version = dissect.Some(d.version.Version)
	default:
		d.decodeRequest(r, m)
	}
}

func (d *decoder) decodeRequest(r *dissect.Reader, m *dissect.Message) {
	wire.Message(m, mPing, &d.request, Request{})
	m.Pair.Challenge = dissect.ChallengeAbsent
	q := &requests[byte(r.PeekByte(0))]
	if q.message == nil {
		r.Fail(fQuery, "no such query")
		return
	}
	m.Type, m.Pair.Asks = q.message, q.topic
	d.request.Query = r.U8(fQuery)
}

// decodeLight reads EYE2 and EYE3 (ASE.cpp, QueryLight and QueryXfireLight).
func (d *decoder) decodeLight(r *dissect.Reader, m *dissect.Message, names bool) {
	p := wire.Body(m, &d.light, LightReply{Players: d.light.Players[:0]})
	m.Type, m.Pair.Answers = mXfireReply, topicXfire
	if names {
		m.Type, m.Pair.Answers = mLightReply, topicLight
	}
	r.Text(fMagic, 4)
	p.Game = text(r, fGame)
	if names {
		p.Port = text(r, fPort)
	}
	p.HostName = text(r, fHostName)
	p.GameType = text(r, fGameType)
	p.readMap(r)
	p.Version = text(r, fVersion)
	p.Password = r.Bool(fLocked)
	if names {
		serials := r.Bool(fSerials)
		p.Serials = dissect.Opt[bool]{Value: serials, OK: !r.Failed()}
	}
	at := r.Offset()
	p.NumPlayers = r.U8(fPlayersByte)
	p.MaxPlayers = r.U8(fMaxByte)
	if p.counted = !r.Failed(); p.counted {
		m.Server = p.server()
	}
	if !names || !p.counted {
		return
	}
	hidden := 0
	list := r.Begin(fPlayers)
	for r.More() {
		open := r.BeginRecord(fPlayer)
		name := text(r, fName)
		if !r.EndRecord(open) {
			core.Recover(r)
			break
		}
		if name == "" {
			hidden++
		}
		p.Players = append(p.Players, name)
	}
	r.End(list)
	if r.More() {
		r.Find(playersCut, nil, r.Offset(), r.Left())
		r.Rest(catalog.Data())
	}
	if hidden > 0 {
		r.Note(playersHidden, dissect.Num(hidden))
	}
	if n := m.Server.Players.Value; n != len(p.Players) {
		r.Find(playersCount, fPlayersByte, at, 1, dissect.Num(len(p.Players)), dissect.Num(n))
	}
}

// readMap reads the name of the map and the texts after its zero byte.
func (p *LightReply) readMap(r *dissect.Reader) {
	n := r.PeekByte(0)
	if n <= 0 || r.Left() < n {
		text(r, fMap) // fails
		return
	}
	end := r.Offset() + n
	p.Map = upToZero(r, fMap, 1, end)
	p.Count = upToZero(r, fCount, 0, end)
	p.BuildType = upToZero(r, fBuildType, 0, end)
	p.Build = upToZero(r, fBuild, 0, end)
	p.PingStatus = upToZero(r, fPingStatus, 0, end)
	p.Route = upToZero(r, fNetRoute, 0, end)
	p.Uptime = upToZero(r, fUptime, 0, end)
	p.HTTPPort = upToZero(r, fHTTPPort, 0, end)
	if r.Offset() < end {
		r.Text(fMore, end-r.Offset())
	}
}

// upToZero reads pre bytes and a text up to a zero byte, which it includes, or up to
// end. At end it reads nothing.
func upToZero(r *dissect.Reader, f *dissect.Field, pre, end int) string {
	if r.Offset() >= end {
		return ""
	}
	most := end - r.Offset() - pre
	if n := bytes.IndexByte(core.PeekFrom(r, pre), 0); n >= 0 && n < most {
		return r.Span(f, 0, pre, n, 1)
	}
	return r.Span(f, 0, pre, most, 0)
}

// server returns the server data. It prefers the player numbers in text, which may
// exceed 255.
func (p *LightReply) server() dissect.Server {
	s := dissect.Server{
		Name: dissect.Some(p.HostName), Map: dissect.Some(p.Map), Game: dissect.Some(p.Game), Version: dissect.Some(p.Version),
		Charset: dissect.Latin1,
	}
	if !p.counted {
		return s
	}
	s.Players, s.MaxPlayers, s.Password = dissect.Some(int(p.NumPlayers)), dissect.Some(int(p.MaxPlayers)), dissect.Some(p.Password)
	for i := range len(p.Count) {
		if p.Count[i] != '/' {
			continue
		}
		online, ok := nettext.ParseInt(p.Count[:i])
		most, ok2 := nettext.ParseInt(p.Count[i+1:])
		if ok && ok2 {
			s.Players, s.MaxPlayers = dissect.Some(int(online)), dissect.Some(int(most))
		}
	}
	return s
}

// text reads a text after its length, which counts itself.
func text(r *dissect.Reader, f *dissect.Field) string {
	n := r.PeekByte(0)
	switch {
	case n < 0:
		r.U8(f) // fails
		return ""
	case n == 0:
		r.Fail(f, "length 0")
		return ""
	}
	return r.Span(f, 0, 1, n-1, 0)
}

// A reply of more than 1364 bytes is sent in several datagrams, as qstat reads it. The
// fourth byte is the number of the datagram, the last four bytes are an id that all
// share, and a datagram of less than 1364 bytes is the last one. The data between is
// the reply, cut at any byte; only the first datagram has the mark EYE1.
const (
	fullPart   = 1364
	partHeader = 4
	partID     = 4
	minPart    = partHeader + partID
)

// readPart reads the number of a datagram. See [reassembly.ReadPart].
func readPart(b []byte, _ uint8) (reassembly.Part, bool) {
	if len(b) < minPart || string(b[:3]) != magic || b[3] < '1' || b[3] > '9' || isShort(b) {
		return reassembly.Part{}, false
	}
	p := reassembly.Part{ID: uint64(binary.LittleEndian.Uint32(b[len(b)-partID:])), Index: int(b[3] - '1'), Header: partHeader, Variant: 1}
	if p.Index == 0 {
		// A complete reply may have 1364 bytes by chance.
		if len(b) != fullPart {
			return reassembly.Part{}, false
		}
		var l layout
		if _, whole := l.walk(b[partHeader:], false); whole {
			return reassembly.Part{}, false
		}
	}
	if len(b) < fullPart {
		p.Total = p.Index + 1
	}
	return p, true
}

// Join joins consecutive datagrams from the first on.
func (d *decoder) Join(r *dissect.Reader, _ uint8, m *dissect.Message) bool {
	m.Variant = "ase"
	joined := core.Buffer(r)
	next := 1
	for i := range r.Parts() {
		r.Part(i)
		data := d.readPart(r)
		if d.part.Number == next {
			joined = append(joined, data...)
			next++
		}
	}
	core.Keep(r, joined)
	if next == 1 {
		m.Type, m.Body, m.Pair.Answers = mPart, &d.part, topicStatus
		r.Note(partFirst)
		return false
	}
	r.Open("joined", joined)
	return true
}

// readPart reads one datagram and returns its data.
func (d *decoder) readPart(r *dissect.Reader) []byte {
	r.Text(fPartMagic, len(magic))
	d.part = Part{Number: int(r.U8(fPartNumber)) - '0'}
	data := r.Bytes(fPart, r.Left()-partID)
	d.part.ID = r.U32(fPartID)
	return data
}
