// Package raknet dissects the messages of RakNet before a connection: the ping by
// which servers of Minecraft: Bedrock Edition and of other games are found and asked
// for their state, the opening of a connection in two steps, and its refusals.
//
// Each message has a byte that says which one it is, and the same 16 bytes somewhere
// behind it. Numbers are big-endian. What follows once a connection is open has none
// of that and is not read.
//
// The state of a server is a text of the game's own choosing. That of Bedrock Edition
// has fields behind semicolons, of which older servers and proxies leave off the last.
//
// Sources: RakNet (MessageIdentifiers.h, RakPeer.cpp); wiki.vg, RakNet and Bedrock
// Protocol; recorded traffic.
package raknet

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var style = wire.Style{Charset: dissect.Latin1, Codes: core.Minecraft}

var catalog = dissect.NewCatalog("raknet")

var asText = dissect.InText(style.Charset, style.Codes)

var (
	fID      = catalog.Add("id", dissect.Uint, "Which message it is.", dissect.Framing)
	fMagic   = catalog.Add("magic", dissect.Bytes, "16 bytes that all messages outside of a connection have.", dissect.Framing)
	fTime    = catalog.Add("time", dissect.ID, "Time of the client in milliseconds; the pong carries the same.", dissect.Public, dissect.Chosen)
	fClient  = catalog.Add("client_guid", dissect.ID, "Number by which the client is known, made up anew each time it starts.", core.Opaque, dissect.Chosen)
	fServer  = catalog.Add("server_guid", dissect.ID, "Number by which the server is known.", core.Opaque)
	fLength  = catalog.Add("pong.length", dissect.Uint, "Bytes of the text.", dissect.Framing)
	fText    = catalog.Add("pong.text", dissect.String, "What the game says of its state, in a form of its own.", dissect.ServerText, asText)
	fEdition = catalog.Add("pong.edition", dissect.String, "Edition: MCPE, or MCEE for Education Edition.", dissect.Public)
	fName    = catalog.Add("pong.name", dissect.String, "Name of the server: the first line of the message of the day.", dissect.ServerText, asText)
	fGame    = catalog.Add("pong.protocol", dissect.Decimal, "Version of the game's protocol.")
	fVersion = catalog.Add("pong.version", dissect.String, "Version of the game.", dissect.Public)
	fPlayers = catalog.Add("pong.num_players", dissect.Decimal, "Players on the server.")
	fMax     = catalog.Add("pong.max_players", dissect.Decimal, "Most players that the server takes. Networks state fewer than they have.")
	fUnique  = catalog.Add("pong.server_id", dissect.String, "Identifier of the server, often its number.", dissect.PersonID)
	fLevel   = catalog.Add("pong.level", dissect.String, "Second line: the name of the level on Mojang's servers.", dissect.ServerText, asText)
	fMode    = catalog.Add("pong.game_mode", dissect.String, "Mode of the game.", dissect.Public, asText)
	fModeNum = catalog.Add("pong.game_mode_number", dissect.Decimal, "Mode of the game as a number.")
	fPort4   = catalog.Add("pong.port4", dissect.Decimal, "Port for IPv4.")
	fPort6   = catalog.Add("pong.port6", dissect.Decimal, "Port for IPv6.")
	fMore    = catalog.Add("pong.more", dissect.String, "Further fields: in newer versions whether an editor runs.", dissect.ServerText, asText)

	fProtocol      = catalog.Add("protocol_version", dissect.Uint, "Version of RakNet's protocol: 11 in Bedrock Edition since 1.19, 10 before.")
	fPadding       = catalog.Add("padding", dissect.Bytes, "Zeros that make the datagram as large as the path may carry.", dissect.Public, core.Ignored)
	fSecurity      = catalog.Add("security", dissect.Bool, "Whether the connection is secured, or a cookie is to be brought back.")
	fCookie        = catalog.Add("cookie", dissect.Uint, "Cookie of the server, which the second request brings back.", dissect.Chosen)
	fSupports      = catalog.Add("supports_security", dissect.Bool, "Whether the client can secure the connection.")
	fMTU           = catalog.Add("mtu", dissect.Uint, "Largest packet on the path in bytes, with the headers of IP and UDP.")
	fEncryption    = catalog.Add("encryption", dissect.Bool, "Whether the connection is encrypted by RakNet.")
	fKind          = catalog.Add("address_version", dissect.Uint, "IP version of the address.", dissect.Framing)
	fServerAddress = catalog.Add("server_address", dissect.Endpoint, "Address of the server, as the client has it.", core.Inverted)
	fClientAddress = catalog.Add("client_address", dissect.Endpoint, "Address of the client, as the server sees it.", core.Inverted)
)

const (
	topicPing dissect.Topic = 1 << iota
	topicOpen
	topicJoin
)

var (
	mPing         = catalog.Message(dissect.MessageType{Name: "ping", Title: "unconnected ping", Role: dissect.Request, Doc: "Asks whether a server is there, and for its state."})
	mOpenPing     = catalog.Message(dissect.MessageType{Name: "ping_open", Title: "unconnected ping for open servers", Role: dissect.Request, Unanswered: full, Doc: "The same, to be answered only by servers with room for one more player."})
	mPong         = catalog.Message(dissect.MessageType{Name: "pong", Title: "unconnected pong", Role: dissect.Reply, Doc: "A server is there; what else it says is the game's own."})
	mOpen         = catalog.Message(dissect.MessageType{Name: "open_request_1", Title: "open connection request 1", Role: dissect.Request, Unanswered: tooLarge, Doc: "Begins a connection, in a datagram as large as the path may carry. Clients send it again and smaller until a reply comes."})
	mOpenReply    = catalog.Message(dissect.MessageType{Name: "open_reply_1", Title: "open connection reply 1", Role: dissect.Reply, Doc: "The server takes the connection as far as it is known."})
	mJoin         = catalog.Message(dissect.MessageType{Name: "open_request_2", Title: "open connection request 2", Role: dissect.Request, Doc: "Goes on with a connection."})
	mJoinReply    = catalog.Message(dissect.MessageType{Name: "open_reply_2", Title: "open connection reply 2", Role: dissect.Reply, Doc: "The connection is open: what follows is not read."})
	mIncompatible = catalog.Message(dissect.MessageType{Name: "incompatible_protocol", Title: "incompatible protocol", Role: dissect.Reply, Doc: "The server speaks another version of RakNet's protocol, which it states."})
	mConnected    = catalog.Message(dissect.MessageType{Name: "already_connected", Title: "already connected", Role: dissect.Reply, Doc: "The server has a connection with this client or its address."})
	mFull         = catalog.Message(dissect.MessageType{Name: "no_free_connections", Title: "no free connections", Role: dissect.Reply, Doc: "The server is full."})
	mBanned       = catalog.Message(dissect.MessageType{Name: "banned", Title: "banned", Role: dissect.Reply, Doc: "The server does not take connections from this address."})
	mRecently     = catalog.Message(dissect.MessageType{Name: "recently_connected", Title: "recently connected", Role: dissect.Reply, Doc: "The address opened a connection a moment ago, and has to wait."})

	unanswered  = finding.NoReply(catalog, "raknet.noreply", "No reply came within the time that clients wait. The server is down, the port is another one (Bedrock Edition: 19132 for IPv4, 19133 for IPv6), the game does not answer pings, or a request to open a connection has a cookie that the server did not give.")
	full        = finding.Unanswered(catalog, "raknet.open.noreply", "No reply came. A server answers this ping only while it has room for one more player: a full one is silent. The other ping (id 1) tells the two apart.")
	tooLarge    = finding.Unanswered(catalog, "raknet.mtu.noreply", "No reply came. The request is as large as the client hopes that the path can carry, and is sent again and smaller if nothing comes: unanswered ones before a reply say that the path carries less. If none is answered, the server is down, or drops clients that ask too often.")
	unrequested = finding.Unrequested(catalog, "raknet.unrequested", "A reply in a conversation whose requests are in the capture, but none that it answers. A late reply, a request lost by the capture, or a forged packet.")
	otherTime   = finding.New(catalog, dissect.Warning, "raknet.time", "the time is not that of the ping in frame %d",
		"A pong has to bring the time of its ping back; clients make the round-trip time of it. This server sends another one, or the pong answers a ping that is not in the capture.", finding.ReturnedValue)
	amplification = finding.Amplification(catalog, "raknet.amplification", "Pings are answered without a challenge: a server with a long text can be abused to flood others. A shorter message of the day helps.")
	refused       = catalog.Finding(dissect.FindingType{ID: "raknet.refused", Severity: dissect.Note, Class: core.OfRefusal, Text: "the server refuses the connection: %p", Doc: "The server is there and does not take this client, for the reason given."})
	otherVersion  = catalog.Finding(dissect.FindingType{ID: "raknet.version", Severity: dissect.Note, Class: core.OfRefusal, Text: "the server speaks version %d of RakNet's protocol", Doc: "The client asked with another version and is refused. Clients and servers of the same version of the game have the same one: update the older of the two, or set up a proxy that translates."})
	length        = finding.Length(catalog, "raknet.pong.length", "the length says %d {byte|bytes}, %d {is|are} there",
		"The length before the text is not that of what follows. What is there is read. Clients that trust the length cut the text, or refuse the pong.", finding.WrongLength)
	semicolon = finding.New(catalog, dissect.Warning, "raknet.motd.semicolon", "a semicolon within the name",
		"The name holds a semicolon without a backslash before it, which separates fields. The numbers behind it tell where the name ends; clients that only count fields take each for the one before it. Take the semicolon out of the message of the day.", "Take the semicolon out of the message of the day. A client can count the fields from the end.")
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "raknet",
	Title:   "RakNet",
	Group:   "Minecraft",
	Doc:     "Pings and the opening of connections of RakNet: Minecraft: Bedrock Edition with its servers and proxies, and other games.",
	Source:  "RakNet (MessageIdentifiers.h, RakPeer.cpp); wiki.vg, RakNet Protocol; recorded traffic",
	Ports:   []uint16{19132, 19133},
	Starts:  wire.Starts(string([]byte{idPing, idOpenPing, idOpen, idOpenReply, idJoin, idJoinReply, idConnected, idFull, idBanned, idIncompatible, idRecently, idPong}), ""),
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.WithIDs(unanswered, unrequested, otherTime, amplification),
}

// The first bytes of messages.
const (
	idPing         = 0x01
	idOpenPing     = 0x02
	idOpen         = 0x05
	idOpenReply    = 0x06
	idJoin         = 0x07
	idJoinReply    = 0x08
	idConnected    = 0x12
	idFull         = 0x14
	idBanned       = 0x17
	idIncompatible = 0x19
	idRecently     = 0x1a
	idPong         = 0x1c
)

const magic = "\x00\xff\xff\x00\xfe\xfe\xfe\xfe\xfd\xfd\xfd\xfd\x12\x34\x56\x78"

// magicAt returns where the magic stands in a message, 0 for what is none.
func magicAt(id int) int {
	switch id {
	case idPing, idOpenPing:
		return 9
	case idOpen, idOpenReply, idJoin, idJoinReply, idConnected, idFull, idBanned, idRecently:
		return 1
	case idIncompatible:
		return 2
	case idPong:
		return 17
	}
	return 0
}

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) == 0 {
		return dissect.No
	}
	at := magicAt(int(b[0]))
	if at == 0 || len(b) < at+4 {
		return dissect.No
	}
	switch n := min(len(b)-at, len(magic)); {
	case string(b[at:at+n]) != magic[:n]:
		return dissect.No
	case n < len(magic):
		return dissect.Possible // cut
	}
	return dissect.Certain
}

// A Message is one of *Ping, *Pong, *Open, *OpenReply, *Join, *JoinReply and
// *Refusal.
type Message any

// Ping asks for the state of a server.
type Ping struct {
	// OnlyOpen says that servers with no room are to be silent.
	OnlyOpen bool
	// Time is that of the client in milliseconds.
	Time uint64
	// Client is left off by old clients.
	Client dissect.Opt[uint64]
}

// Pong is the state of a server.
type Pong struct {
	// Time is that of the ping.
	Time   uint64
	Server uint64
	// Text is what the game says, as on the wire; "" if it says nothing.
	Text string
	// Bedrock is what the text says in Bedrock Edition, and IsBedrock whether it does.
	Bedrock   Bedrock
	IsBedrock bool

	server dissect.Server
}

// Bedrock is the state of a server of Minecraft: Bedrock Edition. All is text as on
// the wire, and "" if the server leaves it off.
type Bedrock struct {
	Edition, Name, Protocol, Version, Players, MaxPlayers, ServerID string
	Level, GameMode, GameModeNumber, Port4, Port6, More             string
}

// Open is the first request to open a connection.
type Open struct {
	Protocol uint8
	// Padding is the number of zeros.
	Padding int
}

// OpenReply answers Open.
type OpenReply struct {
	Server   uint64
	Security bool
	// Cookie has to be brought back.
	Cookie dissect.Opt[uint32]
	MTU    uint16
}

// Join is the second request.
type Join struct {
	Cookie           dissect.Opt[uint32]
	SupportsSecurity bool
	MTU              uint16
	Client           uint64
}

// JoinReply answers Join.
type JoinReply struct {
	Server     uint64
	MTU        uint16
	Encryption bool
}

// Refusal says that a connection is not to be.
type Refusal struct {
	// ID says why.
	ID uint8
	// Protocol is the version of the server, if that is why.
	Protocol uint8
	Server   uint64
}

// Parse reads one payload. The result is the caller's own. The error is a
// *dissect.Error that says where reading ended; what had been read until there
// is returned with it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	ping      Ping
	pong      Pong
	open      Open
	openReply OpenReply
	join      Join
	joinReply JoinReply
	refusal   Refusal
	ends      [maxFields]int
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	switch r.PeekByte(0) {
	case idPing:
		m.Type = mPing
		d.decodePing(r, m, false)
	case idOpenPing:
		m.Type = mOpenPing
		d.decodePing(r, m, true)
	case idPong:
		d.decodePong(r, m)
	case idOpen:
		p := wire.Message(m, mOpen, &d.open, Open{})
		m.Pair = dissect.Pair{Asks: topicOpen, Challenge: dissect.ChallengeAbsent}
		r.U8(fID)
		readMagic(r)
		p.Protocol = r.U8(fProtocol)
		if p.Padding = core.While(r, 0, isZero); p.Padding > 0 {
			r.Bytes(fPadding, p.Padding)
		}
	case idOpenReply:
		p := wire.Message(m, mOpenReply, &d.openReply, OpenReply{})
		m.Pair = dissect.Pair{Answers: topicOpen, Tries: true}
		r.U8(fID)
		readMagic(r)
		p.Server = core.U64BE(r, fServer)
		if p.Security = r.Bool(fSecurity); p.Security {
			p.Cookie = dissect.Some(r.U32BE(fCookie))
		}
		p.MTU = r.U16BE(fMTU)
	case idJoin:
		d.decodeJoin(r, m)
	case idJoinReply:
		p := wire.Message(m, mJoinReply, &d.joinReply, JoinReply{})
		m.Pair.Answers = topicJoin
		r.U8(fID)
		readMagic(r)
		p.Server = core.U64BE(r, fServer)
		address(r, fClientAddress)
		p.MTU = r.U16BE(fMTU)
		p.Encryption = r.Bool(fEncryption)
	case idIncompatible:
		d.decodeRefusal(r, m, mIncompatible, "")
	case idConnected:
		d.decodeRefusal(r, m, mConnected, "this client or its address is connected already")
	case idFull:
		d.decodeRefusal(r, m, mFull, "it is full")
	case idBanned:
		d.decodeRefusal(r, m, mBanned, "the address is banned")
	case idRecently:
		d.decodeRefusal(r, m, mRecently, "the address connected a moment ago")
	default:
		wire.Message(m, mPing, &d.ping, Ping{})
		r.Fail(fID, "no such message")
	}
}

// decodeJoin reads the second request of a connection.
func (d *decoder) decodeJoin(r *dissect.Reader, m *dissect.Message) {
	p := wire.Message(m, mJoin, &d.join, Join{})
	m.Pair = dissect.Pair{Asks: topicJoin, Challenge: dissect.ChallengeAbsent}
	r.U8(fID)
	readMagic(r)
	if hasCookie(r) {
		p.Cookie = dissect.Some(r.U32BE(fCookie))
		p.SupportsSecurity = r.Bool(fSupports)
	}
	address(r, fServerAddress)
	p.MTU = r.U16BE(fMTU)
	p.Client = core.U64BE(r, fClient)
}

func isZero(c byte) bool { return c == 0 }

// readMagic reads the magic. If it is cut, what is there of it is still the magic.
func readMagic(r *dissect.Reader) {
	n := min(r.Left(), len(magic))
	if !r.HasPrefix(magic[:n]) {
		r.Fail(fMagic, "other bytes")
	}
	if n > 0 {
		r.Bytes(fMagic, n)
	}
	if n < len(magic) {
		r.Bytes(fMagic, len(magic)-n) // fails
	}
}

func (d *decoder) decodePing(r *dissect.Reader, m *dissect.Message, onlyOpen bool) {
	p := wire.Body(m, &d.ping, Ping{OnlyOpen: onlyOpen})
	r.U8(fID)
	p.Time = core.U64BE(r, fTime)
	m.Pair = dissect.Pair{Asks: topicPing, ID: p.Time, Challenge: dissect.ChallengeAbsent}
	readMagic(r)
	if r.More() { // old clients end here
		p.Client = dissect.Some(core.U64BE(r, fClient))
	}
}

func (d *decoder) decodePong(r *dissect.Reader, m *dissect.Message) {
	p := wire.Message(m, mPong, &d.pong, Pong{})
	r.U8(fID)
	p.Time = core.U64BE(r, fTime)
	m.Pair = dissect.Pair{Answers: topicPing, ID: p.Time}
	p.Server = core.U64BE(r, fServer)
	readMagic(r)
	if !r.More() {
		return // a game that says no more
	}
	left := r.Left() - 2
	stated := max(r.PeekByte(0), 0)<<8 | max(r.PeekByte(1), 0)
	if stated != left && !isBedrock(core.PeekFrom(r, 2)) {
		p.Text = r.Text(fText, r.Left()) // no length, as RakNet itself has it
		return
	}
	if r.U16BE(fLength); stated != left {
		r.Find(length, fLength, r.Offset()-2, 2, dissect.Num(stated), dissect.Num(left))
	}
	if !isBedrock(r.Peek()) {
		p.Text = r.Text(fText, r.Left())
		return
	}
	p.Text, p.IsBedrock = core.PeekText(r), true
	d.decodeBedrock(r)
	b := &p.Bedrock
	p.server = dissect.Server{
		Name: some(b.Name), Game: some(b.Edition), Map: some(b.Level), Version: some(b.Version),
		Players: keyvalue.Int(b.Players), MaxPlayers: keyvalue.Int(b.MaxPlayers), Charset: style.Charset, Style: style.Codes,
	}
	m.Server = p.server
}

func isBedrock(text []byte) bool {
	return len(text) >= 5 && text[0] == 'M' && text[1] == 'C' && (text[2] == 'P' || text[2] == 'E') && text[3] == 'E' && text[4] == ';'
}

func some(s string) dissect.Opt[string] { return dissect.Opt[string]{Value: s, OK: s != ""} }

// maxFields is how many fields are told apart: twelve, and semicolons in a name.
const maxFields = 32

// decodeBedrock reads the fields, each with the semicolon that ends it.
func (d *decoder) decodeBedrock(r *dissect.Reader) {
	b := &d.pong.Bedrock
	n := d.split(r)
	name := d.nameEnd(r, n)
	if name > 1 {
		r.Find(semicolon, fName, r.Offset()+d.ends[0]+1, d.ends[name]-d.ends[0]-1)
	}
	start := r.Offset()
	take := func(f *dissect.Field, i int) string {
		if i >= n || r.Failed() {
			return ""
		}
		text := start + d.ends[i] - r.Offset()
		return r.Span(f, 0, 0, text, min(1, r.Left()-text))
	}
	b.Edition = take(fEdition, 0)
	b.Name = take(fName, name)
	b.Protocol = take(fGame, name+1)
	b.Version = take(fVersion, name+2)
	b.Players = take(fPlayers, name+3)
	b.MaxPlayers = take(fMax, name+4)
	b.ServerID = take(fUnique, name+5)
	b.Level = take(fLevel, name+6)
	b.GameMode = take(fMode, name+7)
	b.GameModeNumber = take(fModeNum, name+8)
	b.Port4 = take(fPort4, name+9)
	b.Port6 = take(fPort6, name+10)
	if r.More() {
		b.More = r.Text(fMore, r.Left())
	}
}

// split finds the ends of the fields and returns how many there are. A backslash
// before a semicolon makes it a part of the text.
func (d *decoder) split(r *dissect.Reader) (n int) {
	for i := 0; n < maxFields; i++ {
		i = core.While(r, i, func(c byte) bool { return c != ';' })
		if i < r.Left() && r.PeekByte(i-1) == '\\' {
			continue
		}
		if i == r.Left() && n > 0 && d.ends[n-1] == i-1 {
			return n // nothing behind the last semicolon
		}
		d.ends[n] = i
		if n++; i == r.Left() {
			return n
		}
	}
	return n
}

// nameEnd returns the number of the field with which the name ends: the first behind
// which stand a number, a version, and two numbers. That is 1 if the name has no
// semicolon, or if nothing behind it is as it should be.
func (d *decoder) nameEnd(r *dissect.Reader, n int) int {
	isNumber := func(i int) bool {
		from := d.ends[i-1] + 1
		to := core.While(r, from, func(c byte) bool { return c >= '0' && c <= '9' })
		return to == d.ends[i] && to > from
	}
	for i := 1; i+4 < n; i++ {
		if isNumber(i+1) && isNumber(i+3) && isNumber(i+4) {
			return i
		}
	}
	return 1
}

// decodeRefusal reads what says that there will be no connection, and why.
func (d *decoder) decodeRefusal(r *dissect.Reader, m *dissect.Message, what *dissect.MessageType, why string) {
	p := &d.refusal
	m.Type, m.Body, m.Pair = what, p, dissect.Pair{Answers: topicOpen | topicJoin, Tries: true}
	*p = Refusal{ID: r.U8(fID)}
	if what == mIncompatible {
		p.Protocol = r.U8(fProtocol)
		r.Find(otherVersion, fProtocol, r.Offset()-1, 1, dissect.Num(p.Protocol))
	} else {
		r.Note(refused, dissect.Str(why))
	}
	readMagic(r)
	p.Server = core.U64BE(r, fServer)
}

// The lengths of addresses with the byte before them.
const (
	address4 = 1 + 4 + 2
	address6 = 1 + 2 + 2 + 4 + 16 + 4
)

// hasCookie reports whether a second request has a cookie: servers that gave none do not
// look for one, and nothing in the request says it but its length.
func hasCookie(r *dissect.Reader) bool {
	const rest, cookie = 2 + 8, 4 + 1
	n := r.Left() - rest
	return n == cookie+address4 || n == cookie+address6
}

// address reads an address: four bytes, each with all bits inverted, and a port; or a
// sockaddr_in6, of which the byte order of the family is the machine's.
func address(r *dissect.Reader, f *dissect.Field) {
	version := r.U8(fKind)
	switch version {
	case 4:
		port := max(r.PeekByte(4), 0)<<8 | max(r.PeekByte(5), 0)
		r.Span(f, uint64(port), 0, 6, 0)
	case 6:
		port := max(r.PeekByte(2), 0)<<8 | max(r.PeekByte(3), 0)
		r.Span(f, uint64(port), 8, 16, 4)
	default:
		r.Fail(fKind, "no such version")
	}
}

// AppendSummary gives the name, the version and the players, or the text.
func (m *Pong) AppendSummary(dst []byte) []byte {
	if m.IsBedrock || m.Text == "" {
		return m.server.AppendSummary(dst)
	}
	return style.Quoted(dst, "", m.Text)
}

// AppendSummary gives the version and the size.
func (m *Open) AppendSummary(dst []byte) []byte {
	return wire.Plural(wire.Number(dst, "version ", m.Protocol), ", padded with ", m.Padding, "byte", "bytes")
}

// AppendSummary gives the size of packets.
func (m *OpenReply) AppendSummary(dst []byte) []byte {
	dst = wire.Number(dst, "packets of ", m.MTU)
	if m.Security {
		dst = append(dst, ", secured"...)
	}
	return dst
}

// AppendSummary gives the size of packets.
func (m *Join) AppendSummary(dst []byte) []byte { return wire.Number(dst, "packets of ", m.MTU) }

// AppendSummary gives the size of packets.
func (m *JoinReply) AppendSummary(dst []byte) []byte {
	return wire.Number(dst, "packets of ", m.MTU)
}
