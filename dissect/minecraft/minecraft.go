// Package minecraft dissects the query protocol of Minecraft servers: vanilla, Bukkit
// and its descendants, PocketMine, Nukkit, Geyser, and proxies. It is derived from
// GameSpy's protocol (see package gamespy3) and also known as GameSpy 4 or UT3.
//
// A client sends a handshake, FE FD 09 and a session id of four bytes, and receives 09,
// the same id and a token in text. A stat request is FE FD 00, the id and the token as
// a big-endian number. It asks for the basic stat; four more bytes of any value ask for
// the full stat. The replies begin with 00 and the id.
//
// Source: "Query" of the Minecraft wiki. Contrary to the document, all numbers are
// big-endian except the port in the basic stat.
package minecraft

import (
	"bytes"
	"hash/crc32"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "minecraft",
	Title:   "Minecraft query",
	Group:   "Minecraft",
	Doc:     "Queries of Minecraft servers over UDP (enable-query), also known as GameSpy 4: vanilla, Bukkit, Spigot, Paper, PocketMine, Nukkit, Geyser and proxies.",
	Source:  "Minecraft wiki, Query",
	Wire:    "gamespy",
	Ports:   []uint16{25565, 25566, 25567, 25568, 25569, 19132, 19133},
	Starts:  []string{"\xfe\xfd", "\x00", "\x09"},
	Catalog: catalog,
	Detect:  Detect, Confirm: confirm,
	New:       func() dissect.Decoder { return newDecoder() },
	Handshake: dissect.Handshake{Bits: 24}, // of the vanilla server
	Pairing: dissect.Pairing{
		Unanswered: unanswered, UnansweredChallenge: unansweredChallenge, OtherIDs: true,
		OnRequest: []dissect.Rule{finding.Mismatch(tokenMismatch)},
		OnReply:   []dissect.Rule{again, finding.OtherID(otherSession), finding.OtherKind(otherKind), finding.Amplified(amplification, 10)},
		OnStray:   []dissect.Rule{again, finding.OtherKind(otherKind), unrequested},
	},
}

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	handshake      HandshakeRequest
	handshakeReply HandshakeReply
	stat           StatRequest
	basic          BasicStat
	full           FullStat
	sections       gamespy.Sections
	nul            bool // the name contains a zero byte
}

func newDecoder() *decoder {
	d := &decoder{sections: gamespy.NewSections(&full, &sectionFindings)}
	d.sections.NameLen, d.sections.OneEnd = d.nameLen, true
	return d
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	if gamespy.IsRequest(r.Peek()) {
		d.decodeRequest(r, m)
		return
	}
	if r.Next(gamespy.TypeHandshake) {
		d.decodeHandshakeReply(r, m)
		return
	}
	sum := crc32.ChecksumIEEE(core.PeekFrom(r, gamespy.ReplyHead))
	isFull := isFull(r.Peek()) || gamespy.HasSplitNum(r.Peek())
	_, _, session := head.Read(r)
	m.Pair = dissect.Pair{Answers: topicBasic, Also: topicFull, ID: gamespy.ID(session)}
	if isFull {
		m.Pair.Answers, m.Pair.Also, m.Pair.Sum = topicFull, topicBasic, sum
		d.decodeFull(r, m, session)
		return
	}
	d.decodeBasic(r, m, session)
}

// handshakeID returns the session id of a handshake for [dissect.Pair]. Bytes from 0x80
// up all count as 0x80, because servers mangle them.
func handshakeID(session uint32) uint64 {
	n := uint64(1)
	for shift := 24; shift >= 0; shift -= 8 {
		n = n<<8 | uint64(min(byte(session>>shift), 0x80))
	}
	return n
}

// mangledToID returns the number for a mangled session id. Each replacement character
// stands for one byte.
func mangledToID(b []byte) (session uint32) {
	for len(b) > 0 {
		session = session<<8 | uint32(b[0])
		if rest, ok := bytes.CutPrefix(b, []byte(replacement)); ok {
			b = rest
		} else {
			b = b[1:]
		}
	}
	return session
}

// decodeRequest reads a handshake or a stat request.
func (d *decoder) decodeRequest(r *dissect.Reader, m *dissect.Message) {
	length := r.Left()
	_, kind, session := head.Read(r)
	if kind == gamespy.TypeHandshake {
		d.handshake = HandshakeRequest{Session: session}
		m.Type, m.Body, m.Pair = mHandshake, &d.handshake, dissect.Pair{Asks: topicHandshake, Challenge: dissect.ChallengeSeed}
		if !r.Failed() {
			m.Pair.ID = handshakeID(session)
		}
		core.Remaining(r, fPadding)
		return
	}
	q := wire.Message(m, mBasic, &d.stat, StatRequest{Session: session})
	m.Pair = dissect.Pair{Asks: topicBasic, ID: gamespy.ID(session), Challenge: dissect.ChallengeAbsent}
	if r.Failed() {
		return
	}
	at, n := r.Offset(), r.Left()
	if n < 4 {
		r.Find(tokenMissing, fChallenge, at, n)
		if n > 0 {
			q.Padding = len(r.Rest(fPadding))
		}
		return
	}
	rest := r.Peek()
	q.Challenge = dissect.Some(core.I32BE(r, fChallenge))
	m.Pair.Challenge, m.Pair.Value = dissect.ChallengeUsed, uint64(uint32(q.Challenge.Value))
	q.Padding = len(core.Remaining(r, fPadding))
	switch {
	case n > 4 && isToken(bytes.TrimRight(rest, "\x00")) && len(bytes.TrimRight(rest, "\x00")) > 4:
		r.Find(tokenText, fChallenge, at, n)
	case n != 4 && n != 8:
		// Some servers reply with the full stat.
		m.Pair.Asks |= topicFull
		r.Find(tokenLength, fPadding, at+4, n-4, dissect.Num(length))
	}
	if n == 8 {
		q.Full = true
		m.Type, m.Pair.Asks = mFull, topicFull
	}
}

// decodeHandshakeReply reads a token.
func (d *decoder) decodeHandshakeReply(r *dissect.Reader, m *dissect.Message) {
	p := wire.Message(m, mHandshakeReply, &d.handshakeReply, HandshakeReply{})
	m.Pair = dissect.Pair{Answers: topicHandshake, Challenge: dissect.ChallengeIssued}
	r.U8(head.Type)
	if n := mangledID(r.Peek()); n > 0 {
		at := r.Offset()
		p.Mangled = r.Bytes(fMangled, n)
		r.Find(mangled, fMangled, at, n, dissect.Num(n))
		m.Pair.ID = handshakeID(mangledToID(p.Mangled))
	} else if p.Session = r.U32BE(head.Session); !r.Failed() {
		m.Pair.ID = handshakeID(p.Session)
	}
	mark, at := core.Here(r), r.Offset()
	text, terminated := core.CStringOrRest(r, fGiven)
	n, ok := nettext.ParseInt(text)
	switch {
	case r.Failed():
		return
	case !ok:
		core.Return(r, mark)
		r.Fail(fGiven, "not a number")
		return
	case !terminated:
		r.Find(tokenNul, fGiven, at, len(text))
	}
	p.Challenge = int32(n)
	m.Pair.Value = uint64(uint32(p.Challenge))
}

// decodeBasic reads the short reply (Query, "Basic stat").
func (d *decoder) decodeBasic(r *dissect.Reader, m *dissect.Message, session uint32) {
	p := wire.Message(m, mBasicReply, &d.basic, BasicStat{Session: session})
	at := r.Offset()
	if n := basicNameLen(r.Peek()); n >= 0 {
		p.MOTD = r.Span(fMOTD, 0, 0, n, 1)
		r.Find(motdNul, fMOTD, at, n)
	} else {
		p.MOTD = r.CString(fMOTD)
	}
	p.GameType = r.CString(fGameType)
	p.Map = r.CString(fMap)
	p.NumPlayers = r.CString(fNumPlayers)
	p.MaxPlayers = r.CString(fMaxPlayers)
	p.HostPort = r.U16(fHostPort)
	m.Pair.Port = p.HostPort
	p.HostIP = r.CString(fHostIP)
	if p.whole = !r.Failed(); p.whole {
		m.Server = p.server()
	}
}

func (m *BasicStat) server() dissect.Server {
	return dissect.Server{
		Name: dissect.Some(m.MOTD), Map: dissect.Some(m.Map), Players: keyvalue.Int(m.NumPlayers), MaxPlayers: keyvalue.Int(m.MaxPlayers),
		Charset: style.Charset, Style: style.Codes,
	}
}

// basicNameLen returns the length of a name that contains zero bytes, or -1 if it
// contains none. SMP follows the name.
func basicNameLen(b []byte) int {
	n := bytes.IndexByte(b, 0)
	return nettext.Either(n < 0 || bytes.HasPrefix(b[n+1:], []byte("SMP\x00")), -1, bytes.Index(b, []byte("\x00SMP\x00")))
}

// nameLen returns the length of the name in a full stat if it contains zero bytes,
// otherwise -1. Servers that send such names send gametype after it.
func (d *decoder) nameLen(b []byte) int {
	if d.nul {
		return -1
	}
	first, end := bytes.IndexByte(b, 0), bytes.Index(b, []byte("\x00gametype\x00"))
	if first < 0 || end <= first {
		return -1
	}
	// Between a name without zero bytes and a later gametype there are other keys and
	// values: an even number of words, of which the first is a key.
	between := b[first+1 : end]
	if bytes.Count(between, []byte{0})%2 != 0 && isKey(between) {
		return -1
	}
	d.nul = true
	return end
}

// isKey reports whether b begins with a known key. Other words may be pieces of a name.
func isKey(b []byte) bool {
	switch string(b[:max(bytes.IndexByte(b, 0), 0)]) {
	case "hostname", "hostip", "hostport", "game_id", "version", "server_engine", "plugins", "map", "numplayers", "maxplayers", "whitelist":
		return true
	}
	return false
}

// decodeFull reads the long reply (Query, "Full stat").
func (d *decoder) decodeFull(r *dissect.Reader, m *dissect.Message, session uint32) {
	p := wire.Message(m, mFullReply, &d.full, FullStat{Session: session, Plugins: d.full.Plugins[:0]})
	zeros := r.Next(0)
	r.Span(fSplitNum, 0, 0, 8, 1)
	at := r.Offset()
	if n := r.U8(fNumber); n != gamespy.Last && !zeros && !r.Failed() {
		r.Find(notLast, fNumber, at, 1, dissect.Num(n))
	}
	s := &d.sections
	d.nul = false
	s.Begin()
	s.Part(r, nil, true)
	s.End(r)
	p.Rules, p.Players = s.Rules, s.Players
	m.Server = gamespy.Server(p.Rules, style)
	if r.Failed() {
		return
	}
	if d.nul {
		r.Note(motdNul)
	}
	if n := m.Server.Players; n.OK && s.HasPlayers && n.Value != len(p.Players) {
		r.Note(playersCount, dissect.Num(n.Value), dissect.Num(len(p.Players)))
	}
	d.readPlugins(r, p)
}

// readPlugins reads the setting plugins as a source of its own: the software, a colon,
// and the plugins, separated by semicolons.
func (d *decoder) readPlugins(r *dissect.Reader, p *FullStat) {
	const key = "\x00plugins\x00"
	value, _ := p.Get("plugins")
	data := core.Sources(r)[0].Data
	at := bytes.Index(data, []byte(key)) + len(key)
	if value == "" || at < len(key) || !bytes.HasPrefix(data[at:], []byte(value)) {
		return
	}
	r.Open("plugins", data[at:at+len(value):at+len(value)])
	switch n := r.Until(":"); {
	case n < r.Left():
		p.Software = r.Span(fSoftware, 0, 0, n, delimiter(r, n))
	case r.Until(";") == r.Left():
		p.Software = r.Text(fSoftware, n)
		return
	}
	p.Plugins = wire.Items(r, fPlugins, nil, p.Plugins, r.More, func() string {
		n := r.Until(";")
		return r.Span(fPlugin, 0, 0, n, delimiter(r, n))
	})
}

// delimiter returns the length of the delimiter after the next n bytes, with the blanks
// after it.
func delimiter(r *dissect.Reader, n int) int {
	return core.While(r, n+1, func(c byte) bool { return c == ' ' }) - n
}

var catalog = dissect.NewCatalog("minecraft")

// style is the encoding of text: UTF-8 today, once the lower byte of every character,
// which is Latin-1, with codes after a section sign.
var style = wire.Style{Charset: dissect.Latin1, Codes: core.Minecraft}

var asText = dissect.InText(style.Charset, style.Codes)

var (
	head       = gamespy.DeclareHead(catalog, dissect.Name{Value: gamespy.TypeQuery, Name: "stat"}, dissect.Name{Value: gamespy.TypeHandshake, Name: "handshake"})
	fMangled   = catalog.Add("handshake.mangled_session_id", dissect.Bytes, "Session id that the server mangled: EF BF BD replaces bytes that are not valid UTF-8.", dissect.Public, dissect.Chosen)
	fGiven     = catalog.Add("handshake.challenge", dissect.Decimal, "Challenge token, a 32-bit number in text.", dissect.Token, dissect.Chosen)
	fChallenge = catalog.Add("challenge", dissect.Int, "Challenge token, big-endian.", dissect.Token, dissect.Chosen)
	fPadding   = catalog.Add("padding", dissect.Bytes, "Bytes after the token. Four bytes of any value ask for the full stat.", dissect.Public, core.Ignored)

	fMOTD       = catalog.Add("basic.motd", dissect.String, "Message of the day: the name of the server.", dissect.ServerText, asText)
	fGameType   = catalog.Add("basic.gametype", dissect.String, "SMP.", dissect.Public, asText)
	fMap        = catalog.Add("basic.map", dissect.String, "Name of the world.", dissect.Public, asText)
	fNumPlayers = catalog.Add("basic.numplayers", dissect.Decimal, "Players on the server.")
	fMaxPlayers = catalog.Add("basic.maxplayers", dissect.Decimal, "Maximum number of players.")
	fHostPort   = catalog.Add("basic.hostport", dissect.Uint, "Port of the server, little-endian, contrary to the document.")
	fHostIP     = catalog.Add("basic.hostip", dissect.String, "The server's own address as it knows it.", dissect.Address, asText)

	fSplitNum = catalog.Add("splitnum", dissect.String, "Nine bytes without meaning: the word splitnum, or GeyserMC from Geyser.", dissect.Framing)
	fNumber   = catalog.Add("number", dissect.Uint, "80: the first and last part.", dissect.Framing, dissect.Bits(dissect.Name{Value: gamespy.Last, Name: "last"}))
	full      = gamespy.SectionFields{
		Section:  catalog.Add("section", dissect.Uint, "Section that follows.", dissect.Framing, dissect.Names(gamespy.SectionNames()...)),
		Pairs:    keyvalue.Declare(catalog, asText),
		Players:  gamespy.DeclarePlayers(catalog, style),
		Column:   catalog.Add("column", dissect.String, "Name of a column: player_.", dissect.Framing),
		Start:    catalog.Add("start", dissect.Uint, "Row of the column's first value.", dissect.Framing),
		End:      catalog.Add("end", dissect.Bytes, "Zero bytes at the end of a list.", dissect.Framing),
		Replaced: catalog.Add("replaced", dissect.String, "A value that a later one replaces.", core.Repeated, dissect.Framing, core.InCharset(style.Charset)),
		Unread:   catalog.Add("unread", dissect.Bytes, "Bytes that are not a list.", core.Opaque, dissect.Framing),
	}

	fSoftware = catalog.Add("software", dissect.String, "Software of the server, from the setting plugins.", dissect.Public, asText)
	fPlugins  = catalog.Add("plugins", dissect.List, "Plugins of the server, from the setting of that name.")
	fPlugin   = catalog.Add("plugins.plugin", dissect.String, "Name and version of one plugin.", dissect.Public, asText)
)

// Requests and replies.
var (
	unanswered          = finding.NoReply(catalog, "mc.noreply", "The capture has no reply. The server is down, its query is disabled (enable-query=true enables it), the port is not its query port (query.port), the token is invalid, or a packet was lost, dropped or not captured. Servers ignore invalid requests.")
	unansweredChallenge = finding.New(catalog, dissect.Warning, "mc.noreply.after_handshake", "%p with the server's token unanswered%p",
		"The server gave a token, the client used it, and the capture has no reply. A firewall or a rate limit passes the short reply but drops the long one, a packet was lost or not captured, or the token had expired: the server discards all tokens every 30 seconds.", finding.LongReply)
	unrequested  = finding.Unrequested(catalog, "mc.unrequested", "The capture has requests of this conversation, but no pending one that this reply may answer. The request is missing from the capture, or the reply is late, a duplicate or forged.")
	otherSession = finding.New(catalog, dissect.Warning, "mc.session.other", "session id differs from the request in frame %d: %x instead of %x",
		"The reply has the kind that this request asks for, but no pending request has its session id. The server returns another id than it received, the reply is a late one to an earlier request, or it is forged. Clients that compare the id ignore it. For handshakes, bytes of the id from 80 up are shown as 80, because servers mangle them.", "A client should ignore the reply. If all replies of a server differ, compare only the lower four bits of each byte, as the protocol demands of session ids.")
	otherKind     = catalog.Finding(dissect.FindingType{ID: "mc.stat.other", Severity: dissect.Note, Text: "not the kind of reply that the %p in frame %d asks for", Doc: "The length of the request selects the stat: 15 bytes ask for the full one, 11 for the basic one. The server or a proxy decides otherwise or supports only one of the two, the request was changed in transit, or the reply answers another request."})
	tokenMismatch = finding.New(catalog, dissect.Warning, "mc.token.mismatch", "token %d is not among the latest that the server gave this client; the newest is %d",
		"The number is not among the last four that this server gave to this address in the capture. The client read it in the wrong byte order (it is big-endian) or kept it too long, or it was given before the capture began. Servers do not answer a wrong token.", finding.KeepChallenge)
	tokenLength = finding.New(catalog, dissect.Warning, "mc.token.length", "%d {byte|bytes}; 15 ask for the full stat, 11 for the basic one",
		"Servers look only at the length: 15 bytes ask for the full stat, any other length for the basic one. A client that pads its request differently gets less than it expects.", "Send 11 bytes for the basic stat (FE FD 00, session id, token) and exactly 4 more zero bytes for the full stat.")
	tokenMissing = finding.New(catalog, dissect.Warning, "mc.token.missing", "request without a token",
		"Servers answer only requests with the token of their handshake. The client omitted it, or the request was truncated.", "Send a handshake first (type 9) and repeat its token as four bytes in the request.")
	tokenText = finding.New(catalog, dissect.Warning, "mc.token.text", "the token is sent as text",
		"The handshake has the token as text, but the request must carry it as a big-endian number of four bytes. Servers do not answer this request.", "Convert the text of the handshake to a number and send it as four bytes, the highest first.")
	tokenNul = catalog.Finding(dissect.FindingType{ID: "mc.token.noterm", Severity: dissect.Note, Text: "no zero byte after the token", Doc: "The token is text that ends with a zero byte. Some servers omit it, and some clients then drop the last digit; a truncated reply looks the same."})
	mangled  = finding.New(catalog, dissect.Warning, "mc.session.mangled", "mangled session id: %d {byte|bytes} instead of 4",
		"The server builds its handshake reply from text. Bytes of the session id from 80 up are not valid UTF-8 and return as EF BF BD. Clients that compare the id, or read the token at its usual offset, fail. Choose session ids with all bytes below 80, for example by masking with 0F0F0F0F.", "Choose session ids that survive: mask a random number with 0F0F0F0F.")
	cached        = catalog.Finding(dissect.FindingType{ID: "mc.cached", Severity: dissect.Chat, Text: "equal to the reply in frame %d, %t earlier", Doc: "Servers cache a full stat for five seconds, so players and counts may be that old. More frequent requests give no newer data."})
	amplification = finding.New(catalog, dissect.Warning, "mc.amplification", "data sent without a token: %r times the request (%d bytes for %d)",
		"The server sends data to an address that has not been verified, so attackers can use it to flood others.", finding.LimitReplies)

	// The content of replies.
	motdNul = finding.New(catalog, dissect.Warning, "mc.motd.nul", "the name contains a zero byte",
		"Old servers write only the lower byte of every character. Characters such as U+2A00 become a zero byte, which seems to end the name. Clients that do not look for the next key misread everything after it.", "A client should look for the next key (00 \"gametype\" 00) instead of the first zero byte. In server.properties, use characters below U+0100 in the motd.")
	notLast      = catalog.Finding(dissect.FindingType{ID: "mc.number", Severity: dissect.Note, Text: "number %d without the mark of the last part", Doc: "Servers send 80 here: part 0, which is also the last one. This reply announces more parts, but replies of Minecraft have one. The server omits the mark, and clients that join the parts of GameSpy 3 wait for the rest; or this is a reply of GameSpy 3 with keys of Minecraft."})
	playersCount = catalog.Finding(dissect.FindingType{ID: "mc.players.count", Severity: dissect.Note, Text: "numplayers is %d, the list has %d", Doc: "The number of players differs from the length of the list: it counts a whole network or invented players. Pocket editions and proxies send such replies."})
	noValue      = catalog.Finding(dissect.FindingType{ID: "mc.novalue", Severity: dissect.Note, Text: "keys without a value: %d", Doc: "The server sent keys without a value and without a zero byte for it."})
	gap          = finding.New(catalog, dissect.Warning, "mc.gap", "empty keys within the settings: %d",
		"An empty key ends the settings, but they continue. Clients stop here.", "A client that sees known words instead of the players can read on. Report it to the author of the server with the capture.")
	noEnd  = catalog.Finding(dissect.FindingType{ID: "mc.end", Severity: dissect.Note, Text: "the reply ends within a list", Doc: "The zero byte at the end of a list is missing: the reply was truncated, or the server omits it."})
	broken = catalog.Finding(dissect.FindingType{ID: "mc.section", Length: true, Severity: dissect.Failed, Text: "%d {byte that is|bytes that are} not a list",
		Doc:    "The data is neither settings nor a list of players, and is not decoded. The reply is damaged, or its format is newer.",
		Advice: "If the server is a known one, report it to qdissect with the capture."})
)

var sectionFindings = gamespy.SectionFindings{NoValue: noValue, Gap: gap, NoEnd: noEnd, Broken: broken}

// again reports a server that repeats a recent reply.
func again(x *dissect.Turn) {
	if x.SameIn != 0 {
		x.Note(cached, dissect.Num(x.SameIn), dissect.Dur(x.SameAgo))
	}
}

const (
	topicHandshake dissect.Topic = 1 << iota
	topicBasic
	topicFull
)

var (
	mHandshake      = catalog.Message(dissect.MessageType{Name: "handshake_request", Title: "handshake request", Role: dissect.Request, Purpose: dissect.ChallengeRequest, Doc: "Asks for the token that a stat request must carry."})
	mHandshakeReply = catalog.Message(dissect.MessageType{Name: "handshake_reply", Title: "handshake", Role: dissect.Reply, Doc: "Gives the token, in text."})
	mBasic          = catalog.Message(dissect.MessageType{Name: "basic_stat_request", Title: "basic stat request", Role: dissect.Request, Doc: "Asks for the name, the world and the number of players. Any length but 15 bytes."})
	mBasicReply     = catalog.Message(dissect.MessageType{Name: "basic_stat_reply", Title: "basic stat", Role: dissect.Reply, Doc: "The name, the world and the number of players."})
	mFull           = catalog.Message(dissect.MessageType{Name: "full_stat_request", Title: "full stat request", Role: dissect.Request, Doc: "Asks for all data. 15 bytes."})
	mFullReply      = catalog.Message(dissect.MessageType{Name: "full_stat_reply", Title: "full stat", Role: dissect.Reply, Doc: "Name, version, plugins, world, and the players by name."})
)

// A Message is one of *HandshakeRequest, *HandshakeReply, *StatRequest, *BasicStat and
// *FullStat.
//
// Strings hold the bytes of the wire. [dissect.AppendText] decodes them and makes them
// safe to print.
type Message any

// A Row is a player: the name in the column player, and columns that servers add.
type Row = gamespy.Row

// HandshakeRequest asks for a token.
type HandshakeRequest struct {
	// Session is chosen by the client. Servers mangle ids with bytes from 0x80 up.
	Session uint32
}

// HandshakeReply gives a token.
type HandshakeReply struct {
	// Session is that of the request, or 0 if the server mangled it; Mangled then has
	// its bytes.
	Session uint32
	Mangled []byte
	// Challenge is the token, which the client must send as a big-endian number.
	Challenge int32
}

// StatRequest asks for the basic or the full stat.
type StatRequest struct {
	Session   uint32
	Challenge dissect.Opt[int32]
	// Full reports whether the request has the length that asks for the full stat.
	Full bool
	// Padding is the number of bytes after the token.
	Padding int
}

// BasicStat is the short reply.
type BasicStat struct {
	Session                uint32
	MOTD, GameType, Map    string
	NumPlayers, MaxPlayers string // numbers in text
	HostPort               uint16
	HostIP                 string

	whole bool
}

// FullStat is the long reply.
type FullStat struct {
	Session uint32
	// Rules are all keys and values in their order. The first servers sent hostname
	// twice, for the name and the address.
	Rules []dissect.KeyValue
	// Software and Plugins are the parts of the setting plugins.
	Software string
	Plugins  []string
	Players  []Row
}

// Get returns the first value of a key, or "" and false if there is none.
func (m *FullStat) Get(key string) (string, bool) {
	for i := range m.Rules {
		if m.Rules[i].Key == key {
			return m.Rules[i].Value, true
		}
	}
	return "", false
}

// AppendSummary appends the session id.
func (m *HandshakeRequest) AppendSummary(dst []byte) []byte {
	return gamespy.AppendSession(dst, m.Session)
}

// AppendSummary appends the token.
func (m *HandshakeReply) AppendSummary(dst []byte) []byte {
	return wire.Number(dst, "token ", m.Challenge)
}

// AppendSummary appends the token.
func (m *StatRequest) AppendSummary(dst []byte) []byte {
	if !m.Challenge.OK {
		return append(dst, "without token"...)
	}
	return wire.Number(dst, "token ", m.Challenge.Value)
}

// AppendSummary appends the name, the world and the players.
func (m *BasicStat) AppendSummary(dst []byte) []byte {
	if !m.whole {
		return style.Quoted(dst, "", m.MOTD)
	}
	s := m.server()
	rules := [...]dissect.KeyValue{{Key: "gametype", Value: m.GameType}}
	return gamespy.AppendServer(dst, &s, rules[:])
}

// AppendSummary appends the name, the world and the players, and how long the
// lists of players and plugins are.
func (m *FullStat) AppendSummary(dst []byte) []byte {
	s := gamespy.Server(m.Rules, style)
	dst = gamespy.AppendServer(dst, &s, m.Rules)
	return gamespy.AppendCounts(dst, len(m.Players), len(m.Plugins), "plugin", "plugins")
}

// Detect judges a payload by its first bytes. See [dissect.Protocol].
//
// Handshakes are the same as those of gamespy3. Only gamespy3's queries without a
// token, and replies with its own keys, certainly do not belong to this protocol.
func Detect(b []byte) dissect.Verdict {
	switch {
	case gamespy.IsRequest(b):
		return detectRequest(b)
	case len(b) <= gamespy.ReplyHead:
		return dissect.No
	case b[0] == gamespy.TypeHandshake:
		switch {
		case mangledID(b[1:]) > 0:
			return dissect.Likely
		case !gamespy.IsHandshakeReply(b):
			if w, ok := gamespy.Word(b[gamespy.ReplyHead:]); ok && len(w) > 0 {
				return dissect.Possible
			}
			return dissect.No
		case b[gamespy.ReplyHead] == '0':
			return dissect.Possible // no challenge required: GameSpy 3
		}
		return dissect.Likely
	case b[0] == gamespy.TypeQuery:
		if isFull(b) {
			return detectFull(b)
		}
		if gamespy.HasSplitNum(b) {
			return dissect.No // a part
		}
		return detectBasic(b[gamespy.ReplyHead:])
	}
	return dissect.No
}

func detectRequest(b []byte) dissect.Verdict {
	if len(b) < gamespy.RequestHead {
		return dissect.No
	}
	rest := b[gamespy.RequestHead:]
	switch {
	case b[2] == gamespy.TypeHandshake:
		return nettext.Either(len(rest) == 0 || len(rest) == 4 && string(b[3:gamespy.RequestHead]) != "\x00\x00\x00\x00", dissect.Likely, dissect.Possible)
	case b[2] != gamespy.TypeQuery:
		return dissect.No
	}
	q, ok := gamespy.ParseQuery(rest)
	s := &q.Selection
	lists := ok && s.Asks() && (!s.Options.OK || s.Options.Value <= 3) // as gamespy2 and gamespy3 have them
	switch len(rest) {
	case 4:
		return nettext.Either(lists && s.Plain(), dissect.No, dissect.Likely)
	case 8:
		return nettext.Either(lists && string(rest[4:]) != "\xff\xff\xff\x01", dissect.Possible, dissect.Likely)
	}
	if lists || len(rest) > 8 && len(bytes.Trim(rest[8:], "\x00")) > 0 {
		return dissect.No // servers would reply, but clients do not pad with arbitrary bytes
	}
	return dissect.Possible
}

// fullHead is the length of the nine bytes without meaning and the two bytes after
// them.
const fullHead = 9 + 2

// isFull reports whether a reply is a full stat. In place of splitnum, Geyser sends its
// name and other servers send only zeros. Some omit the mark of the last part in the
// number.
func isFull(b []byte) bool {
	if len(b) < gamespy.ReplyHead+fullHead {
		return false
	}
	b = b[gamespy.ReplyHead:]
	if len(bytes.Trim(b[:fullHead], "\x00")) == 0 {
		return true
	}
	if b[8] != 0 || b[10] != 0 || !gamespy.Printable(b[:8]) {
		return false
	}
	if b[9] != 0 {
		return b[9] == gamespy.Last
	}
	is, _ := gamespy.LooksMinecraft(b[fullHead-1:])
	return is
}

// detectFull judges a full stat by the keys in the bytes that Detect sees.
func detectFull(b []byte) dissect.Verdict {
	rest := b[gamespy.ReplyHead+8:]
	is, isNot := gamespy.LooksMinecraft(rest)
	switch {
	case is, bytes.HasPrefix(b[gamespy.ReplyHead:], []byte("GeyserMC\x00")):
		return dissect.Certain
	case isNot:
		return dissect.No
	}
	return nettext.Either(gamespy.HasSplitNum(b) || gamespy.IsPairs(rest[3:]), dissect.Likely, dissect.No)
}

// detectBasic judges a basic stat: the kind of game is SMP, and the numbers of players
// are numbers.
func detectBasic(b []byte) dissect.Verdict {
	if gamespy.OnlyMinecraft(b) {
		return dissect.Likely
	}
	if gamespy.IsPairs(b) {
		return dissect.No
	}
	var words [5][]byte
	n := 0
	rest := b
	for ; n < len(words); n++ {
		before, after, ok := bytes.Cut(rest, []byte{0})
		if !ok {
			break
		}
		words[n], rest = before, after
	}
	switch {
	case n == len(words) && len(rest) > 2 && gamespy.IsDecimal(bytes.TrimRight(rest[2:], "\x00")):
		// A sixth word that is a number. A basic stat has two bytes of port and an
		// address here; GameSpy 3 sends the port as text in its reply to a list of
		// keys.
	case n == len(words):
		if gamespy.IsDecimal(words[3]) && gamespy.IsDecimal(words[4]) && gamespy.Printable(words[0]) && gamespy.Printable(words[1]) && len(words[2]) > 0 && gamespy.Printable(words[2]) {
			if len(rest) < 2 { // no port: cut, or GameSpy 3's reply to a list of keys
				return dissect.Possible
			}
			return dissect.Likely
		}
	case n > 0 && len(words[0]) > 0 && gamespy.Printable(words[0]):
		return dissect.Possible
	}
	return dissect.No
}

// confirm reports whether a whole reply that may also be one of gamespy3 belongs to
// this protocol.
func confirm(b []byte) bool {
	if !isFull(b) {
		return false
	}
	is, _ := gamespy.LooksMinecraft(b)
	return is
}

// replacement is the replacement character in UTF-8.
const replacement = "\xef\xbf\xbd"

// mangledID returns the length of a mangled session id at the start of b, before a
// token, or 0 if the id is not mangled. Such servers decode the four bytes of the id as
// UTF-8 and encode the result.
func mangledID(b []byte) int {
	if !bytes.Contains(b[:min(len(b), 4*len(replacement))], []byte(replacement)) || len(b) > 4 && isToken(b[4:]) {
		return 0
	}
	n := 0
	for range 4 {
		switch {
		case bytes.HasPrefix(b[n:], []byte(replacement)):
			n += len(replacement)
		case n < len(b):
			n++
		}
	}
	return nettext.Either(!isToken(b[n:]), 0, n)
}

func isToken(b []byte) bool { return gamespy.IsDecimal(bytes.TrimSuffix(b, []byte{0})) }
