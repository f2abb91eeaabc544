// Package ue3lan dissects the LAN beacon of Unreal Engine 3: Unreal Tournament 3, games made
// with UDK, and others find their servers in a local network with it.
//
// Each message begins with a version, a platform, the number of the game, SQ for a query or
// SR for a reply, and 8 bytes that the client chose. Numbers are big-endian, texts follow
// their length in four bytes.
//
// Sources: node-gamedig (unrealengine3lan.js, unrealengine3.js); opengsq-python (udk.py). No
// recorded traffic.
package ue3lan

import (
	"encoding/binary"
	"math"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/judge"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var catalog = dissect.NewCatalog("ue3lan")

var (
	fVersion  = catalog.Add("packet_version", dissect.Uint, "Version of the packets.")
	fPlatform = catalog.Add("platform", dissect.Uint, "Platform of the sender.", dissect.Names(dissect.Name{Value: 1, Name: "Windows"},
		dissect.Name{Value: 4, Name: "Xbox 360"}, dissect.Name{Value: 8, Name: "PlayStation 3"}, dissect.Name{Value: 16, Name: "Linux"}, dissect.Name{Value: 32, Name: "macOS"}))
	fGame  = catalog.Add("game_id", dissect.Uint, "Number of the game, often 0.")
	fType  = catalog.Add("type", dissect.String, "SQ: a query. SR: a reply.", dissect.Framing)
	fNonce = catalog.Add("nonce", dissect.Bytes, "Bytes that the client chose; the reply returns them.", dissect.Chosen)

	fAddress     = catalog.Add("host_ip", dissect.Bytes, "Address of the server, which may be 0.", dissect.Address)
	fPort        = catalog.Add("host_port", dissect.Uint, "Port of the game.")
	fOpenPublic  = catalog.Add("open_public", dissect.Uint, "Free places.")
	fOpenPrivate = catalog.Add("open_private", dissect.Uint, "Free places for invited players.")
	fPublic      = catalog.Add("public", dissect.Uint, "Places.")
	fPrivate     = catalog.Add("private", dissect.Uint, "Places for invited players.")
	fFlags       = catalog.Add("flags", dissect.Bytes, "8 bytes, since version 5 9, of which each is 0 or 1: the game is advertised, is one of the local network, has statistics, may be joined when it has begun, by invitation, shows the presence of players, may be joined by it, is arbitrated, prevents cheats.", dissect.Public)
	fOwnerID     = catalog.Add("owner_id", dissect.Bytes, "Number of the owner.")
	fOwner       = catalog.Add("owner", dissect.String, "Name of the owner: of the server or of the player who hosts.", dissect.PersonName)
	fCount       = catalog.Add("setting_count", dissect.Uint, "Number of settings that follow.", dissect.Framing)
	fSettings    = catalog.Add("settings", dissect.Bytes, "The settings, 9 bytes each: its number, the number of its value, whose name the game knows, and where it is advertised.", dissect.Public)
	fPropCount   = catalog.Add("property_count", dissect.Uint, "Number of properties that follow.", dissect.Framing)
	fProperties  = catalog.Add("properties", dissect.List, "Settings with values of their own.")
	fProperty    = catalog.Add("properties.property", dissect.Group, "A property.")
	fPropID      = catalog.Add("properties.id", dissect.Uint, "Number of the property. 1073741825 is the map in games of UDK.")
	fPropType    = catalog.Add("properties.type", dissect.Uint, "Type of the value.", core.Counted(0, "empty", "int", "long", "double", "text", "float", "blob", "time"))
	fPropInt     = catalog.Add("properties.int", dissect.Int, "The value.")
	fPropText    = catalog.Add("properties.text", dissect.String, "The value.", dissect.ServerText)
	fPropFloat   = catalog.Add("properties.float", dissect.Float, "The value.")
	fPropBytes   = catalog.Add("properties.bytes", dissect.Bytes, "The value: 8 bytes, or as many as the first 4 of them say.")
	fPropShown   = catalog.Add("properties.advertised", dissect.Uint, "Where it is advertised.")
	mQuery       = catalog.Message(dissect.MessageType{Name: "query", Title: "query", Role: dissect.Request, Doc: "Looks for servers of a game, usually by broadcast."})
	mReply       = catalog.Message(dissect.MessageType{Name: "reply", Title: "server", Role: dissect.Reply, Doc: "Address, places and settings of a server."})
	pairing      = judge.Simple(catalog, "The capture has no reply within the time that clients wait. No server of this game, platform and version is in the network, or a packet was lost, dropped by a firewall or not captured.",
		"The query has 16 bytes and no challenge, so its source address can be forged to flood somebody else. Answer only queries of the local network.")
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "ue3lan",
	Title:   "LAN beacon of Unreal Engine 3",
	Doc:     "How Unreal Tournament 3, games made with UDK and others find servers in a local network: from the source of clients, not compared with recorded traffic.",
	Source:  "node-gamedig (unrealengine3lan.js, unrealengine3.js); opengsq-python (udk.py)",
	Ports:   []uint16{14001},
	Starts:  wire.Starts("\x01\x04\x08\x10\x20", "\x01", "\x02", "\x03", "\x04", "\x05", "\x06", "\x07", "\x08"),
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: pairing,
}

const (
	query = "SQ"
	reply = "SR"

	lenHead    = 16
	minReply   = lenHead + 6*4 + 8 + 8 + 3*4
	detected   = 64 // bytes that Detect gets
	maxVersion = 8
	lenSetting = 9
	protected  = 5 // versions from here have one flag more
	propMap    = 0x40000001

	topicServer dissect.Topic = 1
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	switch {
	case len(b) < lenHead || b[0] == 0 || b[0] > maxVersion || b[1] == 0 || b[1]&(b[1]-1) != 0 || b[1] == 2 || b[1] > 32:
	case string(b[6:8]) == query && len(b) == lenHead, string(b[6:8]) == reply && len(b) >= min(minReply, detected):
		return dissect.Certain
	}
	return dissect.No
}

// A Message is a *Beacon.
type Message any

// Beacon is a query for servers of a game on a platform, or a server: then IP is in network
// order, and Flags has a byte for each flag, in the order of the catalog,
// Settings has 9 bytes for each setting.
type Beacon struct {
	Version, Platform                              uint8
	Game                                           uint32
	Nonce, OwnerID                                 [8]byte
	IP                                             [4]byte
	Port, OpenPublic, OpenPrivate, Public, Private uint32
	Flags, Settings                                []byte
	Owner                                          string
	Properties                                     []Property
}

// A Property is a setting of one of several types.
type Property struct {
	ID    uint32
	Type  uint8
	Int   int32
	Float float32
	Text  string
}

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct{ beacon Beacon }

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	p := &d.beacon
	*p = Beacon{Flags: p.Flags[:0], Settings: p.Settings[:0], Properties: p.Properties[:0]}
	m.Type, m.Body = mQuery, p
	p.Version, p.Platform, p.Game = r.U8(fVersion), r.U8(fPlatform), r.U32BE(fGame)
	kind := r.Text(fType, len(query))
	copy(p.Nonce[:], r.Bytes(fNonce, len(p.Nonce)))
	m.Pair.ID = min(binary.BigEndian.Uint64(p.Nonce[:]), dissect.AnyID-1)
	switch kind {
	case query:
		m.Pair.Asks, m.Pair.Challenge = topicServer, dissect.ChallengeAbsent
	case reply:
		m.Type, m.Pair.Answers = mReply, topicServer
		p.decode(r, m)
	default:
		r.Fail(fType, "neither a query nor a reply")
	}
}

func (p *Beacon) decode(r *dissect.Reader, m *dissect.Message) {
	copy(p.IP[:], r.Bytes(fAddress, len(p.IP)))
	p.Port = r.U32BE(fPort)
	p.OpenPublic = r.U32BE(fOpenPublic)
	p.OpenPrivate = r.U32BE(fOpenPrivate)
	p.Public = r.U32BE(fPublic)
	p.Private = r.U32BE(fPrivate)
	p.Flags = append(p.Flags, r.Bytes(fFlags, 8+int(min(p.Version/protected, 1)))...)
	copy(p.OwnerID[:], r.Bytes(fOwnerID, len(p.OwnerID)))
	p.Owner = text(r, fOwner)
	places, free := uint64(p.Public)+uint64(p.Private), uint64(p.OpenPublic)+uint64(p.OpenPrivate)
	wire.State(r, m, dissect.Server{
		Name: dissect.Some(p.Owner), MaxPlayers: dissect.Some(int(min(places, math.MaxInt32))), Players: dissect.Some(int(min(places-min(free, places), math.MaxInt32))),
	})
	p.Settings = append(p.Settings, r.Bytes(fSettings, int(min(r.U32BE(fCount), 1<<16))*lenSetting)...)
	p.Properties = wire.Counted(r, fProperties, fProperty, p.Properties, int(r.U32BE(fPropCount)), func() (v Property) {
		switch v.ID, v.Type = r.U32BE(fPropID), core.Enum(r, fPropType); v.Type {
		case 1:
			v.Int = core.I32BE(r, fPropInt)
		case 2, 3, 7:
			r.Bytes(fPropBytes, 8)
		case 4:
			v.Text = text(r, fPropText)
		case 5:
			v.Float = core.F32BE(r, fPropFloat)
		case 6:
			text(r, fPropBytes)
		}
		if r.U8(fPropShown); v.ID == propMap && v.Type == 4 {
			wire.Fact(r, &m.Server.Map, v.Text)
		}
		return v
	})
}

// text reads a text after its length in four bytes.
func text(r *dissect.Reader, f *dissect.Field) string {
	n := 0
	if b := core.PeekTo(r, 4); len(b) == 4 {
		n = int(binary.BigEndian.Uint32(b))
	}
	return r.Span(f, 0, 4, n, 0)
}
