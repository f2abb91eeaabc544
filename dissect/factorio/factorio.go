// Package factorio dissects the queries of Factorio: what a server announces in its
// network, and the state that it sends to whoever asks.
//
// Each datagram begins with a type of 5 bits, a bit of random value, and two that mark the
// parts of a message and the last of them. Parts have the number of the message and their
// own. Numbers are little-endian; those that are small as a rule take a byte, or FF and
// more bytes. Connections of players have the same head and are not read.
//
// Sources: LGSL (Query42); factorio_dissector of Hornwitser, the head and the announcement.
// No recorded traffic.
package factorio

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/reassembly"
)

var catalog = dissect.NewCatalog("factorio")

var (
	fType     = catalog.Add("type", dissect.Uint, "Type of the message in the lowest 5 bits: 15 an announcement, 16 a request for the state, 17 the state. 64: a part. 128: the last one.", dissect.Framing)
	fHead     = catalog.Add("head", dissect.Group, "Head of a part.", dissect.Framing)
	fPartType = catalog.Add("head.type", dissect.Uint, "Type of the message, and that this is a part.", dissect.Framing)
	fID       = catalog.Add("head.message_id", dissect.Uint, "Number of the message.", dissect.Framing)
	fIndex    = catalog.Add("head.index", dissect.Uint, "Number of the part, from 0.", dissect.Framing)
	fPart     = catalog.Add("part", dissect.Bytes, "Part of a message.", core.Becomes("joined"), dissect.Framing)

	fPort        = catalog.Add("game_port", dissect.Uint, "Port of the game.")
	fUnknown     = catalog.Add("unknown", dissect.Bytes, "12 bytes of unknown meaning.")
	fName        = catalog.Add("name", dissect.String, "Name of the server, with colours in brackets.", dissect.ServerText)
	fVersion     = catalog.Add("version", dissect.Group, "Version of the game.")
	fMajor       = catalog.Add("version.major", dissect.Uint, "First number of the version: 2 of 2.0.28.")
	fMinor       = catalog.Add("version.minor", dissect.Uint, "Second number.")
	fPatch       = catalog.Add("version.patch", dissect.Uint, "Third number.")
	fBuild       = catalog.Add("version.build", dissect.Uint, "Build, its lowest 16 bits.")
	fDescription = catalog.Add("description", dissect.String, "Description of the server.", dissect.ServerText)
	fMaxPlayers  = catalog.Add("max_players", dissect.Uint, "Maximum number of players, 0 for no limit.")
	fMinutes     = catalog.Add("minutes", dissect.Uint, "How long the game has run, in minutes.")
	fPassword    = catalog.Add("password", dissect.Bool, "Whether the server has a password.")
	fFlag        = catalog.Add("flag", dissect.Uint, "A byte of unknown meaning.")
	fHost        = catalog.Add("host", dissect.String, "A text, which is the name of the host.", dissect.PersonName)
	fPublic      = catalog.Add("public", dissect.Bool, "Whether the server is in the public list.")
	fSteam       = catalog.Add("flag_2", dissect.Uint, "A byte of unknown meaning.")
	fLAN         = catalog.Add("lan", dissect.Bool, "Whether the server announces itself in its network.")
	fModCount    = catalog.Add("mod_count", dissect.Uint, "Number of mods that follow.", dissect.Framing)
	fMods        = catalog.Add("mods", dissect.List, "Mods, of which base is the game.")
	fMod         = catalog.Add("mods.mod", dissect.Group, "A mod.")
	fModName     = catalog.Add("mods.name", dissect.String, "Name of the mod.", dissect.Public)
	fModMajor    = catalog.Add("mods.major", dissect.Uint, "First number of its version.")
	fModMinor    = catalog.Add("mods.minor", dissect.Uint, "Second number.")
	fModPatch    = catalog.Add("mods.patch", dissect.Uint, "Third number.")
	fModSum      = catalog.Add("mods.checksum", dissect.Uint, "CRC-32 of the mod.")
	fTagCount    = catalog.Add("tag_count", dissect.Uint, "Number of tags that follow.", dissect.Framing)
	fTags        = catalog.Add("tags", dissect.List, "Tags of the server.")
	fTag         = catalog.Add("tags.tag", dissect.String, "A tag.", dissect.ServerText)
	fCount       = catalog.Add("player_count", dissect.Uint, "Number of players that follow.", dissect.Framing)
	fPlayers     = catalog.Add("players", dissect.List, "The players.")
	fPlayer      = catalog.Add("players.player", dissect.Group, "A player.")
	fPlayerName  = catalog.Add("players.name", dissect.String, "Name of the player.", dissect.PersonName)

	mAnnounce  = catalog.Message(dissect.MessageType{Name: "announcement", Title: "announcement", Role: dissect.OneWay, Doc: "A server announces its port in its network."})
	mInfo      = catalog.Message(dissect.MessageType{Name: "info_request", Title: "info request", Role: dissect.Request, Doc: "Asks for the state of the server."})
	mInfoReply = catalog.Message(dissect.MessageType{Name: "info_reply", Title: "info", Role: dissect.Reply, Doc: "Name, version, settings, mods and players."})

	pairing = finding.Simple(catalog, "The capture has no reply within the time that clients wait. The server is down, the port is another, or a packet was lost, dropped by a firewall or not captured.",
		"The request has 1 byte and no challenge, so its source address can be forged to flood somebody else with mods and players. Limit the rate of queries in a firewall.")
	partMissing = finding.New(catalog, dissect.Warning, "factorio.part.missing", "%d of %d {part|parts} of this reply arrived; missing: %p (%p)", "Parts of the reply are not in the capture. Clients that append what comes misread it.", finding.MissingParts)
	partEndless = finding.New(catalog, dissect.Warning, "factorio.part.endless", "%d {part|parts} of a reply arrived, the last one did not; missing: %p (%p)", "The last part of the reply is not in the capture, and only it says how many there are.", finding.MissingParts)
	partAgain   = finding.Duplicate(catalog, "factorio.part.duplicate", "The network or the server sent parts of a reply twice. They are used once.")
	partOrder   = finding.Reordered(catalog, "factorio.part.reorder", "Clients that append parts as they come misread this reply.")
	partOther   = finding.Conflict(catalog, "factorio.part.conflict", "Parts of a reply arrived again with other bytes.")
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "factorio",
	Title:   "Factorio queries",
	Doc:     "State and announcements of Factorio: from the source of a client, not compared with recorded traffic. The list of public servers is HTTP.",
	Source:  "LGSL (Query42); factorio_dissector of Hornwitser (head, announcement)",
	Ports:   []uint16{34197},
	Starts:  wire.Starts("\x0f\x2f\x10\x30\x11\x31\x51\x71\xd1\xf1", ""),
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Split:   &dissect.Splitting{Read: readPart, Incomplete: partMissing, Endless: partEndless, Duplicate: partAgain, Reordered: partOrder, Conflict: partOther},
	Pairing: pairing,
}

const (
	typeAnnounce = 15
	typeInfo     = 16
	typeState    = 17
	random       = 0x20 // flags of the type
	part         = 0x40
	last         = 0x80

	lenAnnounce = 3
	lenHead     = 4 // of a part
	lenUnknown  = 12
	minName     = 4 // of a name that proves something
	maxName     = 254
	long        = 0xff // more bytes follow

	topicInfo dissect.Topic = 1
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	head := 1
	if p, ok := readPart(b, 0); ok {
		if head = lenHead; p.Index > 0 {
			return dissect.Doubtful
		}
	} else if len(b) == 0 {
		return dissect.No
	}
	switch kind := b[0] &^ random; {
	case kind == typeInfo && len(b) == 1, kind == typeAnnounce && len(b) == lenAnnounce:
		return dissect.Possible
	case kind != typeState && head == 1 || len(b) <= head+lenUnknown:
		return dissect.No
	}
	// The first number of the version is small.
	rest, ok := wire.Text(b[head+lenUnknown:], maxName)
	switch {
	case !ok || len(rest) > 0 && rest[0] > 2:
		return dissect.No
	case len(rest) < 3 || b[head+lenUnknown] < minName || !utf8.Valid(b[head+lenUnknown+1:len(b)-len(rest)]):
		return dissect.Doubtful
	}
	return dissect.Likely
}

// readPart reads the head of a part. See [reassembly.ReadPart].
func readPart(b []byte, _ uint8) (reassembly.Part, bool) {
	if len(b) <= lenHead || b[0]&^(random|last) != typeState|part || b[2] >= 0x80 {
		return reassembly.Part{}, false // or it confirms others
	}
	p := reassembly.Part{ID: uint64(binary.LittleEndian.Uint16(b[1:])), Index: int(b[3]), Header: lenHead, Variant: 1}
	if b[0]&last != 0 {
		p.Total = p.Index + 1
	}
	return p, true
}

// A Message is one of *Announcement, *Request and *InfoReply.
type Message any

// Announcement is what a server sends to its network.
type Announcement struct{ Port uint16 }

// Request asks a server for its state.
type Request struct{}

// InfoReply is the state of a server.
type InfoReply struct {
	Name, Description, Host string
	Version                 [3]uint8
	Build, MaxPlayers       uint16
	Minutes                 uint32
	Password, Public, LAN   bool
	Mods                    []Mod
	Tags                    []string
	Players                 []Player
}

// A Mod is a mod, base for the game itself.
type Mod struct {
	Name     string
	Version  [3]uint16
	Checksum uint32
}

// A Player is a player.
type Player struct{ Name string }

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	announcement Announcement
	request      Request
	info         InfoReply
}

// Join joins the parts that are there up to the first that is missing.
func (d *decoder) Join(r *dissect.Reader, _ uint8, m *dissect.Message) bool {
	d.begin(m)
	m.Variant = "parts"
	joined := core.Buffer(r)
	for i := range r.Parts() {
		r.Part(i)
		head := r.Begin(fHead)
		r.U8(fPartType)
		r.U16(fID)
		r.U8(fIndex)
		r.End(head)
		data := r.Rest(fPart)
		if gap := r.Gap(); gap < 0 || i < gap {
			joined = append(joined, data...)
		}
	}
	core.Keep(r, joined)
	if r.Gap() > 0 {
		core.Break(r)
	}
	if r.Gap() != 0 {
		r.Open("joined", joined)
	}
	return r.Gap() != 0
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	if r.Parts() > 0 {
		d.decodeInfo(r, m)
		return
	}
	m.Type, m.Body = mInfo, &d.request
	switch kind, n := r.U8(fType)&^random, r.Left(); {
	case kind == typeInfo && n == 0:
		m.Pair = dissect.Pair{Asks: topicInfo, Challenge: dissect.ChallengeAbsent}
	case kind == typeAnnounce:
		m.Type, m.Body = mAnnounce, &d.announcement
		d.announcement = Announcement{Port: r.U16(fPort)}
	case kind == typeState:
		d.decodeInfo(r, m)
	default:
		r.Fail(fType, "not a query")
	}
}

// wide returns the size of the number at the reader, which is one byte, or FF and n bytes, and its value.
func wide(r *dissect.Reader, n int) (size, v int) {
	if v = max(r.PeekByte(0), 0); v != long {
		return 1, v
	}
	v = 0
	for i, c := range core.PeekFrom(r, 1) {
		if i == n {
			break
		}
		v |= int(c) << (8 * i)
	}
	return 1 + n, v
}

func number(r *dissect.Reader, f *dissect.Field, n int) int {
	size, v := wide(r, n)
	r.Span(f, uint64(v), size, 0, 0)
	return v
}

func text(r *dissect.Reader, f *dissect.Field) string {
	size, n := wide(r, 4)
	return r.Span(f, 0, size, n, 0)
}

func (d *decoder) begin(m *dissect.Message) {
	d.info = InfoReply{Mods: d.info.Mods[:0], Tags: d.info.Tags[:0], Players: d.info.Players[:0]}
	m.Type, m.Body, m.Pair.Answers = mInfoReply, &d.info, topicInfo
}

func (d *decoder) decodeInfo(r *dissect.Reader, m *dissect.Message) {
	p := &d.info
	d.begin(m)
	r.Bytes(fUnknown, lenUnknown)
	p.Name = text(r, fName)
	version := r.Begin(fVersion)
	p.Version = [3]uint8{r.U8(fMajor), r.U8(fMinor), r.U8(fPatch)}
	p.Build = r.U16(fBuild)
	r.End(version)
	p.Description = text(r, fDescription)
	p.MaxPlayers = r.U16(fMaxPlayers)
	p.Minutes = r.U32(fMinutes)
	p.Password = r.Bool(fPassword)
	r.U8(fFlag)
	p.Host = text(r, fHost)
	p.Public = r.Bool(fPublic)
	r.U8(fSteam)
	p.LAN = r.Bool(fLAN)
	m.Server = dissect.Server{
		Name: wire.Known(r, p.Name), Password: wire.Known(r, p.Password), MaxPlayers: dissect.Opt[int]{Value: int(p.MaxPlayers), OK: p.MaxPlayers > 0},
	}
	p.Mods = wire.Counted(r, fMods, fMod, p.Mods, number(r, fModCount, 4), func() Mod {
		return Mod{text(r, fModName), [3]uint16{uint16(number(r, fModMajor, 2)), uint16(number(r, fModMinor, 2)), uint16(number(r, fModPatch, 2))}, r.U32(fModSum)}
	})
	p.Tags = wire.List(r, fTags, p.Tags, number(r, fTagCount, 4), func() string { return text(r, fTag) })
	players := number(r, fCount, 4)
	m.Server.Players = wire.Known(r, players)
	p.Players = wire.Counted(r, fPlayers, fPlayer, p.Players, players, func() Player { return Player{text(r, fPlayerName)} })
}
