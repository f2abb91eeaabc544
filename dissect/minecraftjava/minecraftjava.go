// Package minecraftjava dissects the server list ping of Minecraft: Java Edition, which clients ask over TCP on the port that players use.
//
// Since version 1.7 a packet is its length and its number, as VarInts, and a content. A client sends a handshake, which says what follows:
// the status or a login. Then it asks for the status, which is JSON, and may send a number that the server returns. What follows the
// handshake of a login is not read: it is compressed and encrypted.
//
// Older clients send FE (before 1.4), FE 01, or FE 01 and a message MC|PingHost (1.6). The server answers with the packet that it also
// sends to those whom it disconnects: FF, a length, and text in UTF-16, big-endian. Servers of all versions answer them.
//
// Sources: wiki.vg, Server List Ping and Protocol; Minecraft Wiki, Java Edition protocol.
package minecraftjava

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

var catalog = dissect.NewCatalog("minecraft-java")

// style is the encoding of text, which has codes after a section sign.
var style = wire.Style{Charset: dissect.Latin1, Codes: core.Minecraft}

var asText = dissect.InText(style.Charset, style.Codes)

var (
	fLength = catalog.Add("length", dissect.Uint, "Bytes of the packet behind the length.", dissect.Framing)
	fID     = catalog.Add("packet_id", dissect.Uint, "Number of the packet: 0 or 1.", dissect.Framing)

	fProtocol  = catalog.Add("protocol", dissect.Int, "Version of the protocol that the client speaks, or the server; -1 if the client asks for it.", core.Ignored)
	fHostLen   = catalog.Add("handshake.host_length", dissect.Uint, "Bytes of the host name.", dissect.Framing)
	fHost      = catalog.Add("handshake.host", dissect.String, "Name or address by which the client knows the server.", dissect.Address)
	fMark      = catalog.Add("handshake.mark", dissect.String, "What mods and proxies append to the host name behind a zero byte: a mark, or the address and the UUID of the player and a token. Long ones are masked.", dissect.FreeText)
	fHideMark  = fMark.Hidden()
	fPort      = catalog.Add("handshake.port", dissect.Uint, "Port by which the client knows the server.", core.Ignored)
	fNext      = catalog.Add("handshake.next_state", dissect.Uint, "What the client wants.", core.Counted(1, "status", "login", "transfer"))
	fValue     = catalog.Add("value", dissect.ID, "Number that the client chose, often the time; the server returns it.", dissect.Chosen)
	fJSONLen   = catalog.Add("status.length", dissect.Uint, "Bytes of the JSON.", dissect.Framing)
	fJSON      = catalog.Add("status.json", dissect.Bytes, "The status in JSON.", core.Becomes("status"), dissect.Framing)
	fKind      = catalog.Add("legacy.packet", dissect.Uint, "FE: a ping. FF: its reply.", dissect.Framing)
	fFormat    = catalog.Add("legacy.format", dissect.Uint, "1: the client has version 1.4 or newer.")
	fMessage   = catalog.Add("legacy.message", dissect.Bytes, "FA, and the name MC|PingHost in UTF-16 behind its length.", dissect.Framing, dissect.Public)
	fRest      = catalog.Add("legacy.rest", dissect.Uint, "Bytes behind it.", dissect.Framing)
	fHostUnits = catalog.Add("legacy.host_length", dissect.Uint, "Units of UTF-16 of the host name.", dissect.Framing)
	fHostWide  = catalog.Add("legacy.host_utf16", dissect.Bytes, "Host name in UTF-16, big-endian.", core.Becomes("host"), dissect.Framing)
	fPortInt   = catalog.Add("legacy.port", dissect.Uint, "Port by which the client knows the server.", core.Ignored)
	fUnits     = catalog.Add("legacy.length", dissect.Uint, "Units of UTF-16 of the text.", dissect.Framing)
	fWide      = catalog.Add("legacy.text", dissect.Bytes, "The status in UTF-16, big-endian.", core.Becomes("status"), dissect.Framing)

	// What the status says, JSON or not. It is unpacked: the texts without escapes, one after the other.
	fMOTD    = catalog.Add("motd", dissect.String, "Message of the day, the name of the server in lists. Of JSON in parts, the texts of all parts.", dissect.ServerText, asText)
	fVersion = catalog.Add("version", dissect.String, "Version of the server. Proxies put texts of their own here.", dissect.Public, asText)
	fNumber  = catalog.Add("version_protocol", dissect.Decimal, "Version of the protocol that the server speaks.")
	fOnline  = catalog.Add("online", dissect.Decimal, "Number of players.")
	fMax     = catalog.Add("max", dissect.Decimal, "Maximum number of players.")
	fPlayers = catalog.Add("players", dissect.List, "Some of the players. Servers put lines of text here as well.")
	fPlayer  = catalog.Add("players.player", dissect.Group, "A player.")
	fName    = catalog.Add("players.name", dissect.String, "Name of the player.", dissect.PersonName, asText)
	fUUID    = catalog.Add("players.id", dissect.String, "UUID of the player.", dissect.PersonID)
	fIcon    = catalog.Add("icon_bytes", dissect.Decimal, "Bytes of the icon, a PNG in base64.")
	fRules   = catalog.Add("rules", dissect.List, "Everything else that the JSON says.")
	fRule    = catalog.Add("rules.rule", dissect.Group, "A key with its value.")
	fKey     = catalog.Add("rules.key", dissect.String, "Key, behind those that it is in and dots.", dissect.SettingName)
	fSetting = catalog.Add("rules.value", dissect.String, "Value in JSON.", dissect.Setting)
	fOld     = catalog.Add("legacy.marks", dissect.String, "Marks between the texts, and §1 before them (since 1.4).", dissect.Framing, dissect.Public)

	mHandshake = catalog.Message(dissect.MessageType{Name: "handshake", Title: "handshake", Role: dissect.OneWay, Doc: "The first packet of a connection. It says what the client wants: the status, or to join."})
	mStatus    = catalog.Message(dissect.MessageType{Name: "status_request", Title: "status request", Role: dissect.Request, Doc: "Asks for the status."})
	mReply     = catalog.Message(dissect.MessageType{Name: "status_reply", Title: "status", Role: dissect.Reply, Doc: "The status: message of the day, version, players."})
	mPing      = catalog.Message(dissect.MessageType{Name: "ping_request", Title: "ping", Role: dissect.Request, Doc: "A number that the server returns, by which the client measures the time."})
	mPong      = catalog.Message(dissect.MessageType{Name: "ping_reply", Title: "pong", Role: dissect.Reply, Doc: "The number of the ping."})
	mLegacy    = catalog.Message(dissect.MessageType{Name: "legacy_request", Title: "legacy ping", Role: dissect.Request, Doc: "Asks for the status as clients before version 1.7 do."})
	mOld       = catalog.Message(dissect.MessageType{Name: "legacy_reply", Title: "legacy status", Role: dissect.Reply, Doc: "The status for clients before version 1.7."})
	mUnknown   = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown packet", Role: dissect.OneWay, Doc: "A packet that belongs to none of these."})

	unanswered = finding.New(catalog, dissect.Warning, "mcj.noreply", "%p unanswered%p",
		"The connection was made, and no reply came within the time that clients wait. The server is still starting, is overloaded, hides its status (enable-status=false), or something in front of it, such as a proxy, took the connection and has no server behind it, or sends a PROXY header that the server does not expect.",
		"Look at the log of the server and of the proxy in front of it. Set enable-status=true in server.properties.")
	unrequested = finding.Unrequested(catalog, "mcj.unrequested", "The capture has requests of this connection, but no pending one that this reply answers: the server returns another number than the client sent.")
	several     = finding.Several(catalog, "mcj.several", "The server answered once more. Clients read the first reply.")
	wrongLength = finding.Length(catalog, "mcj.length", "the packet says %d bytes, %d are there", "The length of the packet, or that of its JSON, is not that of its content. Clients show that they cannot connect.", finding.WrongLength)
	badJSON     = catalog.Finding(dissect.FindingType{ID: "mcj.json", Severity: dissect.Failed, Text: "the status is no valid JSON from byte %d on", Doc: "Clients show the server as one that cannot be read. What stands before the error is shown.",
		Advice: "Look at the plugin or proxy that makes the status: quotation marks and control characters in names must be escaped."})
	tooLong = finding.New(catalog, dissect.Warning, "mcj.status.long", "the status has %d characters, clients take 32767",
		"Clients disconnect if the JSON is longer, and show that they cannot connect to the server.", "Make the icon smaller: 64 by 64 pixels, as PNG with few colours. Mods with long lists have settings that leave them out.")
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "minecraft-java",
	Title:   "Minecraft: Java Edition",
	Doc:     "The server list ping of Minecraft: Java Edition over TCP: that of version 1.7 and later, and those before.",
	Source:  "wiki.vg, Server List Ping and Protocol; Minecraft Wiki, Java Edition protocol",
	Ports:   []uint16{25565},
	Stream:  Stream,
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Usual(unanswered, unrequested, several),
}

// The topics of requests.
const (
	topicStatus dissect.Topic = 1 << iota
	topicPing
	topicLegacy
)

// Handshake is the first packet of a connection.
type Handshake struct {
	// Protocol is the version of the protocol of the client.
	Protocol int32
	// Host and Port are those by which the client knows the server. Mark is what mods and proxies append to the host.
	Host, Mark string
	Port       uint16
	// Next is what the client wants: 1 the status, 2 to log in, 3 to log in after a transfer.
	Next uint8
}

// StatusRequest asks for the status.
type StatusRequest struct{}

// Ping is a number that the server returns, in both directions.
type Ping struct{ Value uint64 }

// LegacyRequest asks for the status as clients before version 1.7 do.
type LegacyRequest struct {
	// Format is 1 since version 1.4 of the game, and 0 before.
	Format uint8
	// Protocol, Host and Port are stated since version 1.6.
	Protocol uint8
	Host     string
	Port     uint32
}

// Status is the status of a server, in JSON or before version 1.7.
type Status struct {
	// MOTD is the message of the day, with codes after section signs. Numbers are as the server writes them.
	MOTD, Version, Protocol, Online, Max string
	// Players are some of the players.
	Players []Player
	// IconBytes is the size of the icon in base64.
	IconBytes string
	// Rules is everything else that the JSON says.
	Rules []core.KeyValue

	server dissect.Server
}

// A Player is a player, or a line of text in place of one.
type Player struct{ Name, UUID string }

// Unknown is a packet that belongs to none of these.
type Unknown struct{ ID uint32 }

// A Message is a pointer to one of the structs of this package.
type Message any

// Parse reads one packet. The result is the caller's own. The error is a *dissect.Error that says where reading ended; what had been
// read until there is returned with it.
func Parse(packet []byte) (Message, error) { return wire.Parse[Message](protocol, packet) }

type decoder struct {
	handshake Handshake
	request   StatusRequest
	ping      Ping
	legacy    LegacyRequest
	status    Status
	unknown   Unknown
	facts     facts
}

// Decode reads one packet.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	b := core.PeekTo(r, r.Left())
	wire.Message(m, mUnknown, &d.unknown, Unknown{})
	switch {
	case isLegacy(b):
		d.decodeLegacy(r, m)
		return
	case isKick(b):
		d.decodeKick(r, m)
		return
	}
	n := int(number(r, fLength))
	end := r.Offset() + n
	finding.Differs(r, wrongLength, fLength, 0, r.Offset(), n, r.Left())
	what := kindOf(b)
	d.unknown.ID = uint32(number(r, fID))
	switch what {
	case handshake:
		h := &d.handshake
		m.Type, m.Body = mHandshake, h
		*h = Handshake{Protocol: number(r, fProtocol)}
		d.readHost(r, int(number(r, fHostLen)))
		h.Port = r.U16BE(fPort)
		h.Next = r.U8(fNext)
	case statusRequest:
		m.Type, m.Body, m.Pair.Asks = mStatus, &d.request, topicStatus
	case statusReply:
		m.Type, m.Pair.Answers = mReply, topicStatus
		d.decodeStatus(r, m, end)
	case ping:
		d.decodePing(r, m)
	default:
		r.Fail(fID, "no packet of the list ping")
	}
}

// readHost reads the host name of n bytes, with the mark behind it.
func (d *decoder) readHost(r *dissect.Reader, n int) {
	h := &d.handshake
	at := bytes.IndexByte(core.PeekTo(r, min(n, r.Left())), 0)
	if at < 0 {
		h.Host = r.Text(fHost, n)
		return
	}
	h.Host = r.Text(fHost, at)
	if h.Mark = r.Text(fMark, n-at); len(h.Mark) > maxMark {
		core.Hide(r, fHideMark)
	}
}

// number reads a VarInt.
func number(r *dissect.Reader, f *dissect.Field) int32 {
	v, n := varint(core.PeekTo(r, maxVarInt))
	if n <= 0 {
		r.Fail(f, "no VarInt")
		return 0
	}
	r.Span(f, uint64(int64(v)), 0, 0, n)
	return v
}

func (d *decoder) decodePing(r *dissect.Reader, m *dissect.Message) {
	d.ping.Value = core.U64BE(r, fValue)
	m.Type, m.Body, m.Pair = mPing, &d.ping, dissect.Pair{Asks: topicPing, ID: d.ping.Value | 1}
	if core.FromServer(r) {
		m.Type, m.Pair.Asks, m.Pair.Answers = mPong, 0, topicPing
	}
}

// decodeLegacy reads a request of a client before version 1.7.
func (d *decoder) decodeLegacy(r *dissect.Reader, m *dissect.Message) {
	q := wire.Message(m, mLegacy, &d.legacy, LegacyRequest{})
	m.Pair.Asks = topicLegacy
	if r.U8(fKind); !r.More() {
		return // before version 1.4
	}
	if q.Format = r.U8(fFormat); !r.More() {
		return // 1.4 and 1.5
	}
	r.Bytes(fMessage, len(pingHost))
	n := int(r.U16BE(fRest))
	finding.Differs(r, wrongLength, fRest, r.Offset()-2, 2, n, r.Left())
	q.Protocol = r.U8(fProtocol)
	host := r.Bytes(fHostWide, 2*int(r.U16BE(fHostUnits)))
	q.Port = r.U32BE(fPortInt)
	core.Remaining(r, catalog.Data())
	text := core.AppendUTF16(core.Buffer(r), host, binary.BigEndian)
	core.Keep(r, text)
	r.Open("host", text)
	q.Host = r.Text(fHost, len(text))
}

// decodeKick reads the reply to such a request.
func (d *decoder) decodeKick(r *dissect.Reader, m *dissect.Message) {
	m.Type, m.Pair.Answers = mOld, topicLegacy
	r.U8(fKind)
	wide := r.Bytes(fWide, 2*int(r.U16BE(fUnits)))
	core.Remaining(r, catalog.Data())
	text := core.AppendUTF16(core.Buffer(r), wide, binary.BigEndian)
	core.Keep(r, text)
	f := &d.facts
	f.reset(nil)
	f.old(nettext.View(text))
	d.open(r, m, text)
}

// decodeStatus reads a status in JSON, in a packet that ends at end.
func (d *decoder) decodeStatus(r *dissect.Reader, m *dissect.Message, end int) {
	from := r.Offset()
	n := int(number(r, fJSONLen))
	at := r.Offset()
	finding.Differs(r, wrongLength, fJSONLen, from, at-from, n, end-at)
	if r.Cut() {
		n = min(n, r.Left())
	}
	text := r.Bytes(fJSON, n)
	core.Remaining(r, catalog.Data())
	f := &d.facts
	f.reset(core.Buffer(r))
	read := f.json(nettext.View(text))
	if core.Keep(r, f.text); f.bad && !r.Failed() {
		r.Find(badJSON, fJSON, at+read, len(text)-read, dissect.Num(read))
	}
	if chars := characters(text); chars > maxCharacters {
		r.Find(tooLong, fJSON, at, len(text), dissect.Num(chars))
	}
	d.open(r, m, f.text)
}

// open reads the facts of a status, which are texts one after the other.
func (d *decoder) open(r *dissect.Reader, m *dissect.Message, text []byte) {
	s := &d.status
	*s = Status{Players: s.Players[:0], Rules: s.Rules[:0], server: dissect.Server{Charset: style.Charset, Style: style.Codes}}
	m.Body = s
	r.Open("status", text)
	list := d.facts.list
	next := func(fields ...*dissect.Field) bool { return len(list) > 0 && slices.Contains(fields, list[0].field) }
	read := func() string {
		x := list[0]
		list = list[1:]
		return r.Text(x.field, x.n)
	}
	for len(list) > 0 && !r.Failed() {
		switch f := list[0].field; f {
		case fPlayers:
			list = list[1:]
			s.Players = wire.Records(r, f, fPlayer, s.Players, func() bool { return next(fPlayer) }, func() (p Player) {
				for list = list[1:]; next(fName, fUUID); {
					if next(fName) {
						p.Name = read()
					} else {
						p.UUID = read()
					}
				}
				return p
			})
		case fRules:
			list = list[1:]
			s.Rules = wire.Records(r, f, fRule, s.Rules, func() bool { return next(fKey) }, func() core.KeyValue {
				return core.KeyValue{Key: read(), Value: read()}
			})
		default:
			s.set(f, read())
		}
	}
	wire.State(r, m, s.server)
}

// set sets a fact.
func (s *Status) set(f *dissect.Field, v string) {
	switch f {
	case fMOTD:
		s.MOTD, s.server.Name = v, dissect.Some(strings.TrimSpace(v))
	case fVersion:
		s.Version, s.server.Version = v, dissect.Some(v)
	case fNumber:
		s.Protocol = v
	case fOnline:
		s.Online, s.server.Players = v, wire.Decimal(v)
	case fMax:
		s.Max, s.server.MaxPlayers = v, wire.Decimal(v)
	case fIcon:
		s.IconBytes = v
	}
}

// AppendSummary says what the client wants.
func (h *Handshake) AppendSummary(dst []byte) []byte {
	dst = style.Quoted(dst, "for ", h.Host)
	dst = wire.Number(dst, " port ", h.Port)
	dst = wire.Number(dst, "  protocol ", h.Protocol)
	return append(append(dst, "  "...), fNext.NameOf(uint64(h.Next))...)
}

// AppendSummary gives the host that the client names.
func (q *LegacyRequest) AppendSummary(dst []byte) []byte {
	if q.Host == "" {
		return dst
	}
	return wire.Number(style.Quoted(dst, "for ", q.Host), "  protocol ", q.Protocol)
}

// AppendSummary gives the number of the packet.
func (u *Unknown) AppendSummary(dst []byte) []byte { return wire.Number(dst, "packet ", u.ID) }

// AppendSummary gives the facts about the server.
func (s *Status) AppendSummary(dst []byte) []byte { return s.server.AppendSummary(dst) }
