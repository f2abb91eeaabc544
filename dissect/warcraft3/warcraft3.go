// Package warcraft3 dissects what games of Warcraft III in a local network say by UDP:
// the search for games, what their hosts reply, and what these announce.
//
// Each message begins with F7, a type and its length. Numbers are little-endian. The
// settings of a game are encoded so that no byte of them is 0: a byte before each 7 says
// which of these are as they were, the others are one more. Since version 1.30 the games
// use multicast DNS instead. Connections of players use TCP.
//
// Sources: gowarcraft3 (w3gs, lan); GHost++ (gameprotocol.cpp); opengsq-python
// (warcraft3.py); BNETDocs. No recorded traffic.
package warcraft3

import (
	"encoding/binary"
	"math"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var catalog = dissect.NewCatalog("warcraft3")

var (
	fSignature = catalog.Add("signature", dissect.Uint, "F7: a message of this protocol.", dissect.Framing)
	fType      = catalog.Add("type", dissect.Uint, "Type of the message.", dissect.Framing, core.Counted(typeSearch, "search", "game", "created", "refreshed", "closed"))
	fLength    = catalog.Add("length", dissect.Uint, "Length of the message with its head.", dissect.Framing)
	fProduct   = catalog.Add("product", dissect.String, "The game, backwards: 3RAW for Reign of Chaos, PX3W for The Frozen Throne.", dissect.Public)
	fVersion   = catalog.Add("version", dissect.Uint, "Second number of the version: 26 of 1.26.")
	fCounter   = catalog.Add("host_counter", dissect.Uint, "Number of the game on its host, 0 in a search for all.")
	fKey       = catalog.Add("entry_key", dissect.Uint, "Number that players need to join.")
	fName      = catalog.Add("name", dissect.String, "Name of the game.", dissect.ServerText)
	fPassword  = catalog.Add("password", dissect.String, "Password, empty in local networks.", dissect.Secret)
	fEncoded   = catalog.Add("encoded", dissect.Bytes, "The settings, encoded.", core.Becomes("unmasked"), dissect.Framing)
	fSlots     = catalog.Add("slots", dissect.Uint, "Slots in all, 12 or 24.")
	fFlags     = catalog.Add("game_flags", dissect.Uint, "Kind of the game: 1 a custom one, 9 one on a map of Blizzard.")
	fUsed      = catalog.Add("slots_used", dissect.Uint, "Slots with players. Bots that host games say 1.")
	fAvailable = catalog.Add("slots_available", dissect.Uint, "Slots for players.")
	fUptime    = catalog.Add("uptime", dissect.Uint, "Seconds since the game was created.")
	fPort      = catalog.Add("game_port", dissect.Uint, "TCP port of the host.")

	fSettings = catalog.Add("setting_flags", dissect.Uint, "Speed, visibility, observers and other settings.")
	fSize     = catalog.Add("map_size", dissect.Bytes, "A zero byte, the width and the height of the map, 2 bytes each, and its checksum of 4.", dissect.Public)
	fMap      = catalog.Add("map", dissect.String, "File of the map.", dissect.Public)
	fHost     = catalog.Add("host", dissect.String, "Name of the player who hosts the game.", dissect.PersonName)
	fMore     = catalog.Add("more", dissect.Bytes, "A zero byte, and the SHA-1 of the map since version 1.23.", dissect.Public)

	mSearch  = catalog.Message(dissect.MessageType{Name: "search", Title: "search", Role: dissect.Request, Doc: "A player looks for games, usually by broadcast."})
	mGame    = catalog.Message(dissect.MessageType{Name: "game", Title: "game", Role: dissect.Reply, Doc: "Name, map and slots of a game: the reply to a search. Some hosts also send it again and again."})
	mCreated = catalog.Message(dissect.MessageType{Name: "created", Title: "game created", Role: dissect.OneWay, Doc: "A host has created a game. Players then search."})
	mRefresh = catalog.Message(dissect.MessageType{Name: "refreshed", Title: "game refreshed", Role: dissect.OneWay, Doc: "The slots of a game, every few seconds."})
	mClosed  = catalog.Message(dissect.MessageType{Name: "closed", Title: "game closed", Role: dissect.OneWay, Doc: "A game has begun, or its host has left."})

	unanswered = finding.NoReply(catalog, "warcraft3.noreply", "The capture has no reply within the time that clients wait. No game of this version is open on this host, or a packet was lost, dropped by a firewall or not captured.")
	lengthOff  = finding.Length(catalog, "warcraft3.length", "length of %d instead of %d", "The message is longer or shorter than it states: it was cut, or more than one message is in a datagram. Games ignore such a message.", "Look at what sends it: games send one message in each datagram.")
	several    = finding.Several(catalog, "warcraft3.several", "A host replies once for each of its games. One game twice means that the network duplicated the reply.")
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "warcraft3",
	Title:   "Warcraft III in local networks",
	Doc:     "How players of Warcraft III before version 1.30, and bots such as GHost++, find and announce games in a local network: from the source of hosts and clients, not compared with recorded traffic.",
	Source:  "gowarcraft3 (w3gs, lan); GHost++ (gameprotocol.cpp); opengsq-python (warcraft3.py); BNETDocs",
	Ports:   []uint16{6112},
	Starts:  wire.Starts("\x2f\x30\x31\x32\x33", "\xf7"),
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: dissect.Pairing{Unanswered: unanswered, OnReply: []dissect.Rule{several}},
}

const (
	signature  = 0xf7
	typeSearch = 0x2f
	typeGame   = 0x30
	typeCreate = 0x31
	typeFresh  = 0x32
	typeClosed = 0x33

	lenNumbers = 16 // of messages with three numbers
	lenClosed  = 8
	minGame    = 44
	detected   = 64 // bytes that Detect gets

	topicGames dissect.Topic = 1
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) < lenClosed || b[0] != signature {
		return dissect.No
	}
	size, game := int(binary.LittleEndian.Uint16(b[2:])), string(b[4:8])
	known := game == "3RAW" || game == "PX3W" || game == "MD3W" // the last one is the demo
	switch fits := size == len(b) || len(b) == detected && size > detected; {
	case !fits:
	case known && (size == lenNumbers && (b[1] == typeSearch || b[1] == typeCreate) || size >= minGame && b[1] == typeGame):
		return dissect.Certain
	case size == lenNumbers && b[1] == typeFresh, size == lenClosed && b[1] == typeClosed:
		return dissect.Likely
	}
	return dissect.No
}

// A Message is a *Game.
type Message any

// Game is what a message says of a game, or of the games that it looks for. Type is that of
// the catalog, Product is backwards, Time is in seconds. What a message does not have is 0.
type Game struct {
	Type                          uint8
	Product, Name, Map, Host      string
	Version, Counter, Key         uint32
	Slots, Used, Available        uint32
	GameFlags, SettingFlags, Time uint32
	Port                          uint16
}

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct{ game Game }

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	p := &d.game
	*p = Game{}
	m.Type, m.Body = mSearch, p
	if !r.Next(signature) || r.PeekByte(1) < typeSearch || r.PeekByte(1) > typeClosed {
		r.Fail(fSignature, "no such message")
		return
	}
	r.U8(fSignature)
	p.Type = r.U8(fType)
	m.Type = [...]*dissect.MessageType{mSearch, mGame, mCreated, mRefresh, mClosed}[p.Type-typeSearch]
	if n, says := core.Length(r), int(r.U16(fLength)); n != says && !r.Failed() && !r.Cut() {
		r.Find(lengthOff, fLength, 2, 2, dissect.Num(says), dissect.Num(n))
	}
	if p.Type < typeFresh {
		p.Product = r.Text(fProduct, 4)
		p.Version = r.U32(fVersion)
	}
	p.Counter = r.U32(fCounter)
	switch p.Type {
	case typeSearch:
		m.Pair = dissect.Pair{Asks: topicGames, Challenge: dissect.ChallengeAbsent}
	case typeGame:
		m.Pair.Answers = topicGames
		decodeGame(r, m, p)
	case typeFresh:
		p.readSlots(r, m)
	}
}

func (p *Game) readSlots(r *dissect.Reader, m *dissect.Message) {
	p.Used = r.U32(fUsed)
	p.Available = r.U32(fAvailable)
	wire.State(r, m, dissect.Server{Players: dissect.Some(int(min(p.Used, math.MaxInt32))), MaxPlayers: dissect.Some(int(min(p.Available, math.MaxInt32)))})
}

func decodeGame(r *dissect.Reader, m *dissect.Message, p *Game) {
	p.Key = r.U32(fKey)
	p.Name = r.CString(fName)
	r.CString(fPassword)
	encoded := core.PeekTo(r, r.Until("\x00"))
	r.Span(fEncoded, 0, 0, len(encoded), 1)
	p.Slots = r.U32(fSlots)
	p.GameFlags = r.U32(fFlags)
	p.readSlots(r, m)
	p.Time = r.U32(fUptime)
	p.Port = r.U16(fPort)
	if r.Failed() {
		return
	}
	m.Server.Name = dissect.Some(p.Name)
	core.Remaining(r, catalog.Data()) // the length says so
	plain, mask := core.Buffer(r), byte(0)
	for i, c := range encoded {
		if i%8 == 0 {
			mask = c
		} else {
			plain = append(plain, c-(^mask>>(i%8)&1))
		}
	}
	core.Keep(r, plain)
	r.Open("unmasked", plain)
	p.SettingFlags = r.U32(fSettings)
	r.Bytes(fSize, 9)
	p.Map = wire.Fact(r, &m.Server.Map, r.CString(fMap))
	p.Host = r.CString(fHost)
	core.Remaining(r, fMore)
}
