// Package mindustry dissects the queries of Mindustry, by which players find servers in
// their network and see the state of those in their lists.
//
// A request is FE 01, the discovery of Arc's network library. The reply is the state of
// the server: texts follow their length in a byte, numbers are big-endian. Servers of old
// versions end earlier.
//
// Sources: Mindustry (NetworkIO.java, ArcNetProvider.java); node-gamedig (mindustry.js).
// No recorded traffic.
package mindustry

import (
	"encoding/binary"
	"math"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var catalog = dissect.NewCatalog("mindustry")

var (
	fQuery       = catalog.Add("query", dissect.Bytes, "FE 01: asks for the state of the server.", dissect.Framing)
	fName        = catalog.Add("name", dissect.String, "Name of the server, with colours in brackets; that of the player who hosts the game.", dissect.ServerText)
	fMap         = catalog.Add("map", dissect.String, "Map being played.", dissect.Public)
	fNumPlayers  = catalog.Add("num_players", dissect.Uint, "Players on the server.")
	fWave        = catalog.Add("wave", dissect.Uint, "Wave of enemies.")
	fBuild       = catalog.Add("build", dissect.Int, "Build of the game, -1 for one that is not official.")
	fVersionType = catalog.Add("version_type", dissect.String, "Kind of build: official, or the name of a modification.", dissect.Public)
	fMode        = catalog.Add("mode", dissect.Uint, "Mode of the game.", core.Counted(0, "survival", "sandbox", "attack", "pvp", "editor"))
	fMaxPlayers  = catalog.Add("max_players", dissect.Int, "Maximum number of players, 0 or less for no limit.")
	fDescription = catalog.Add("description", dissect.String, "Description of the server.", dissect.ServerText)
	fCustomMode  = catalog.Add("custom_mode", dissect.String, "Name of a mode that the server made, empty for those of the game.", dissect.ServerText)
	fPort        = catalog.Add("port", dissect.Uint, "Port of the game.")

	mInfo      = catalog.Message(dissect.MessageType{Name: "info_request", Title: "info request", Role: dissect.Request, Doc: "Asks for the state of the server."})
	mInfoReply = catalog.Message(dissect.MessageType{Name: "info_reply", Title: "info", Role: dissect.Reply, Doc: "Name, map, players and wave."})
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "mindustry",
	Title:   "Mindustry queries",
	Doc:     "Queries of Mindustry: from the source of the game, not compared with recorded traffic.",
	Source:  "Mindustry (NetworkIO.java, ArcNetProvider.java); node-gamedig (mindustry.js)",
	Ports:   []uint16{6567, 20151},
	Starts:  append(append(lengths(1, colored-1, ""), lengths(colored, maxName, "[")...), query),
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Simple(catalog, "The capture has no reply within the time that clients wait. The server is down, the port is another, or a packet was lost, dropped by a firewall or not captured.",
		"The request has 2 bytes and no challenge, so its source address can be forged to flood somebody else. Limit the rate of queries in a firewall."),
}

const (
	query   = "\xfe\x01"
	maxName = 100
	colored = 64 // most packets of QUIC begin with this and more; names of that length have colours
	maxMap  = 64
	numbers = 12 // players, wave and build

	minReply = 2 + 2 + numbers + 6 // with texts of one byte, and a type of none

	topicInfo dissect.Topic = 1
)

// lengths returns the beginnings of replies whose name has from first to last bytes.
func lengths(first, last byte, next string) (starts []string) {
	for n := first; n <= last; n++ {
		starts = append(starts, string([]byte{n})+next)
	}
	return starts
}

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if string(b) == query {
		return dissect.Possible
	}
	rest, ok := wire.Text(b, maxName)
	if ok && len(rest) > 0 {
		rest, ok = wire.Text(rest, maxMap)
	}
	switch {
	case !ok || len(b) < minReply || b[0] >= colored && b[1] != '[':
		return dissect.No
	case len(rest) < numbers:
		return dissect.Doubtful // long texts
	case binary.BigEndian.Uint32(rest) >= 1<<16, binary.BigEndian.Uint32(rest[4:]) >= 1<<24, int32(binary.BigEndian.Uint32(rest[8:])) < -1, int32(binary.BigEndian.Uint32(rest[8:])) >= 1<<20:
		return dissect.No
	}
	if kind := rest[numbers:]; len(kind) > 0 { // of the build
		if _, ok := wire.Text(kind, maxMap); !ok && kind[0] != 0 {
			return dissect.No
		} else if !ok {
			return dissect.Possible
		}
	}
	return dissect.Likely
}

// A Message is one of *Request and *InfoReply.
type Message any

// Request asks a server for its state.
type Request struct{}

// InfoReply is the state of a server.
type InfoReply struct {
	Name, Map, VersionType, Description, CustomMode string
	Players, Wave                                   uint32
	Build, MaxPlayers                               int32
	Mode                                            uint8
	// Port is that of the game, 0 from servers that do not state it.
	Port uint16
}

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	request Request
	info    InfoReply
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	if r.HasPrefix(query) {
		m.Type, m.Body, m.Pair = mInfo, &d.request, dissect.Pair{Asks: topicInfo, Challenge: dissect.ChallengeAbsent}
		r.Bytes(fQuery, len(query))
		return
	}
	p := wire.Message(m, mInfoReply, &d.info, InfoReply{})
	m.Pair.Answers = topicInfo
	p.Name = r.PString(fName)
	p.Map = r.PString(fMap)
	p.Players = r.U32BE(fNumPlayers)
	p.Wave = r.U32BE(fWave)
	p.Build = core.I32BE(r, fBuild)
	p.VersionType = r.PString(fVersionType)
	p.Mode = r.U8(fMode)
	p.MaxPlayers = core.I32BE(r, fMaxPlayers)
	wire.State(r, m, dissect.Server{
		Name: dissect.Some(p.Name), Map: dissect.Some(p.Map), Players: dissect.Some(int(min(p.Players, math.MaxInt32))),
		MaxPlayers: dissect.Opt[int]{Value: int(p.MaxPlayers), OK: p.MaxPlayers > 0},
	})
	if !r.More() {
		return // servers of the first versions
	}
	p.Description = r.PString(fDescription)
	if !r.More() {
		return // servers that wrote the name of a mode only if it is their own
	}
	p.CustomMode = r.PString(fCustomMode)
	if r.More() {
		p.Port = r.U16BE(fPort) // since version 8
	}
}
