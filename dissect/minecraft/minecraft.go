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
	q := &d.stat
	*q = StatRequest{Session: session}
	m.Type, m.Body, m.Pair = mBasic, q, dissect.Pair{Asks: topicBasic, ID: gamespy.ID(session), Challenge: dissect.ChallengeAbsent}
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
	p := &d.handshakeReply
	*p = HandshakeReply{}
	m.Type, m.Body, m.Pair = mHandshakeReply, p, dissect.Pair{Answers: topicHandshake, Challenge: dissect.ChallengeIssued}
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
	p := &d.basic
	*p = BasicStat{Session: session}
	m.Type, m.Body = mBasicReply, p
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
	if n < 0 || bytes.HasPrefix(b[n+1:], []byte("SMP\x00")) {
		return -1
	}
	return bytes.Index(b, []byte("\x00SMP\x00"))
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
	p := &d.full
	*p = FullStat{Session: session, Plugins: p.Plugins[:0]}
	m.Type, m.Body = mFullReply, p
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
