// Package rfactor dissects the queries of rFactor and of ARCA Sim Racing '08, which is
// built on it.
//
// A request is rF_S. The reply has a fixed layout: numbers are little-endian, texts end
// with a zero byte and are filled up with whatever was there before.
//
// Source: node-gamedig (rfactor.js). No recorded traffic.
package rfactor

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var catalog = dissect.NewCatalog("rfactor")

var (
	fQuery      = catalog.Add("query", dissect.String, "rF_S: asks for the state of the server.", dissect.Framing)
	fProduct    = catalog.Add("product", dissect.String, "Program: rFactor.", dissect.Public, core.InLatin1)
	fUpdate     = catalog.Add("full_update", dissect.Uint, "Whether it is a full update.")
	fRegion     = catalog.Add("region", dissect.Uint, "Region of the server.")
	fIP         = catalog.Add("ip", dissect.Bytes, "Address of the server.")
	fSize       = catalog.Add("size", dissect.Uint, "Size of the data.")
	fVersion    = catalog.Add("version", dissect.Uint, "Version of the program.")
	fRaceCast   = catalog.Add("racecast_version", dissect.Uint, "Version of RaceCast, which publishes results.")
	fPort       = catalog.Add("game_port", dissect.Uint, "Port of the game.")
	fQueryPort  = catalog.Add("query_port", dissect.Uint, "Port of the queries.")
	fGame       = catalog.Add("game", dissect.String, "Modification that is played.", dissect.Public, core.InLatin1)
	fName       = catalog.Add("name", dissect.String, "Name of the server.", dissect.ServerText, core.InLatin1)
	fMap        = catalog.Add("map", dissect.String, "Track.", dissect.Public, core.InLatin1)
	fMessage    = catalog.Add("motd", dissect.String, "Message of the server.", dissect.ServerText, core.InLatin1)
	fAids       = catalog.Add("aids", dissect.Uint, "Driving aids that are allowed.", core.BitsFrom(1, "traction control", "anti-lock braking", "stability control", "auto shifting", "auto clutch", "invulnerability", "opposite lock", "steering help", "braking help", "spin recovery", "auto pitstop"))
	fPing       = catalog.Add("ping", dissect.Uint, "Ping that the server states.")
	fFlags      = catalog.Add("flags", dissect.Uint, "Flags of unknown meaning.")
	fRate       = catalog.Add("rate", dissect.Uint, "Rate of packets.")
	fNumPlayers = catalog.Add("num_players", dissect.Uint, "Players on the server.")
	fMaxPlayers = catalog.Add("max_players", dissect.Uint, "Maximum number of players.")
	fNumBots    = catalog.Add("num_bots", dissect.Uint, "Drivers of the computer.")
	fSpecial    = catalog.Add("special", dissect.Uint, "Properties of the server.", dissect.Bits(
		dissect.Name{Value: locked, Name: "password"}, dissect.Name{Value: 4, Name: "RaceCast"}, dissect.Name{Value: 16, Name: "fixed setups"}))
	fDamage   = catalog.Add("damage", dissect.Uint, "Damage in percent.")
	fRules    = catalog.Add("rules", dissect.Uint, "Set of rules.")
	fCredits  = catalog.Add("credits", dissect.Uint, "Credits.")
	fCredits2 = catalog.Add("credits_2", dissect.Uint, "Credits.")
	fMinutes  = catalog.Add("minutes", dissect.Uint, "Length of the race in minutes.")
	fLaps     = catalog.Add("sixteenth_laps", dissect.Uint, "Length of the race in laps, times 16.")
	fMore     = catalog.Add("more", dissect.Bytes, "Bytes of unknown meaning.", dissect.Public)
	fVehicles = catalog.Add("vehicles", dissect.String, "Vehicles that are allowed, with bars in between.", dissect.Public, core.InLatin1)

	mInfo      = catalog.Message(dissect.MessageType{Name: "info_request", Title: "info request", Role: dissect.Request, Doc: "Asks for the state of the server."})
	mInfoReply = catalog.Message(dissect.MessageType{Name: "info_reply", Title: "info", Role: dissect.Reply, Doc: "Name, track, players and settings."})
	mUnknown   = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown message", Doc: "Not a message of this protocol."})
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "rfactor",
	Title:   "rFactor queries",
	Doc:     "Queries of rFactor and ARCA Sim Racing '08: from the source of a client, not compared with recorded traffic. rFactor 2 is queried with a2s.",
	Source:  "node-gamedig (rfactor.js)",
	Ports:   []uint16{34297},
	Starts:  []string{"rF", arca},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Simple(catalog, "The capture has no reply within the time that clients wait. The server is down, the port is another, or a packet was lost, dropped by a firewall or not captured.",
		"The request has 4 bytes and no challenge, so its source address can be forged to flood somebody else. Limit the rate of queries in a firewall."),
}

const (
	query   = "rF_S"
	rFactor = "rFactor\x00"
	arca    = "ARCA"
	locked  = 2

	lenProduct = 8

	topicInfo dissect.Topic = 1
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	switch {
	case string(b) == query:
		return dissect.Likely
	case len(b) < lenProduct:
	case string(b[:lenProduct]) == rFactor:
		return dissect.Likely
	case string(b[:len(arca)]) == arca:
		return dissect.Doubtful
	}
	return dissect.No
}

// A Message is one of *Request and *InfoReply, or nil if its kind is not known.
type Message any

// Request is the request.
type Request struct{}

// InfoReply is the state of a server. Text holds the bytes of the wire, in Latin-1; Time
// is in minutes.
type InfoReply struct {
	Product, Game, Name, Map, Message string
	GamePort, QueryPort               uint16
	Players, MaxPlayers, Bots         uint8
	Password                          bool
	Time                              uint16
	Laps                              float64
	Vehicles                          string
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
	m.Type = mUnknown
	switch {
	case r.HasPrefix(query):
		m.Type, m.Body, m.Pair = mInfo, &d.request, dissect.Pair{Asks: topicInfo, Challenge: dissect.ChallengeAbsent}
		r.Text(fQuery, len(query))
	case r.HasPrefix(rFactor) || r.HasPrefix(arca):
		d.decodeInfo(r, m)
	default:
		r.Fail(fQuery, "no such message")
	}
}

// fixed reads a text in a place of a fixed size.
func fixed(r *dissect.Reader, f *dissect.Field, size int) string {
	n := min(size, r.Until("\x00"))
	return core.Latin(r, f, 0, n, size-n)
}

func (d *decoder) decodeInfo(r *dissect.Reader, m *dissect.Message) {
	p := wire.Message(m, mInfoReply, &d.info, InfoReply{})
	m.Pair.Answers = topicInfo
	p.Product = fixed(r, fProduct, lenProduct)
	r.U8(fUpdate)
	r.U16(fRegion)
	r.Bytes(fIP, 4)
	r.U16(fSize)
	r.U16(fVersion)
	r.U16(fRaceCast)
	p.GamePort = r.U16(fPort)
	p.QueryPort = r.U16(fQueryPort)
	p.Game = fixed(r, fGame, 20)
	p.Name = fixed(r, fName, 28)
	p.Map = fixed(r, fMap, 32)
	p.Message = fixed(r, fMessage, 96)
	r.U16(fAids)
	r.U16(fPing)
	r.U8(fFlags)
	r.U8(fRate)
	p.Players = r.U8(fNumPlayers)
	p.MaxPlayers = r.U8(fMaxPlayers)
	p.Bots = r.U8(fNumBots)
	p.Password = r.U8(fSpecial)&locked != 0
	r.U8(fDamage)
	r.U16(fRules)
	r.U8(fCredits)
	r.U16(fCredits2)
	p.Time = r.U16(fMinutes)
	p.Laps = float64(r.U16(fLaps)) / 16
	r.Bytes(fMore, 3)
	p.Vehicles = r.CString(fVehicles)
	wire.State(r, m, dissect.Server{
		Name: dissect.Some(p.Name), Map: dissect.Some(p.Map), Game: dissect.Some(p.Game), Players: dissect.Some(int(p.Players)),
		MaxPlayers: dissect.Some(int(p.MaxPlayers)), Bots: dissect.Some(int(p.Bots)), Password: dissect.Some(p.Password), Charset: dissect.Latin1,
	})
}
