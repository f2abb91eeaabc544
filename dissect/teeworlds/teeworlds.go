// Package teeworlds dissects the queries of Teeworlds and DDNet: infos of servers,
// the tokens of 0.7, and what master servers say.
//
// What is outside of a connection begins with six bytes, which are all ones or 20
// and zeros before 0.7, four bytes of ones, and a word of four letters. Behind it
// stand texts that end with zero bytes, numbers among them. In 0.7 it begins with 21
// and the tokens of both sides, and numbers are in the format of the game's packets;
// a token is had by a control packet first. The packets of running games, which have
// other first bytes, are not read.
//
// Several versions are spoken on one port. They are told apart by the words, except
// for gie3, which brings inf3: it is of 0.6, of 0.7 behind tokens, and of DDNet
// behind xe, which brings iext and iex+.
//
// Sources: network.h, mastersrv.h and server.cpp of Teeworlds and of DDNet.
package teeworlds

import (
	"math"
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// Text was Latin-1 before 0.5, and is UTF-8 since.
var style = wire.Style{Charset: dissect.Latin1}

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "teeworlds",
	Title:   "Teeworlds",
	Doc:     "The queries of Teeworlds and DDNet: infos in the versions 0.4 to 0.7, for 64 players and extended, the tokens of 0.7, and master servers.",
	Source:  "network.h, mastersrv.h and server.cpp of Teeworlds and DDNet, and recorded traffic",
	Ports:   []uint16{8303, 8304, 8305, 8306, 8307, 8308, 8309, 8310, 8283, 8300},
	Starts:  []string{header, headerQW, extended, "\x21", token},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: dissect.Pairing{
		Unanswered: unanswered,
		OnRequest:  []dissect.Rule{finding.Mismatch(tokenWrong)},
		OnReply:    []dissect.Rule{onePacket(several), finding.Amplified(amplification, 10)},
		OnStray:    []dissect.Rule{finding.OtherKind(core.OtherKind), unrequested},
	},
}

// onePacket is a rule for replies of which there is one to a request.
func onePacket(rule dissect.Rule) dissect.Rule {
	return func(x *dissect.Turn) {
		switch b := x.Body.(type) {
		case *Servers:
			return
		case *Info:
			if b.Word == "dtsf" || b.Word == "iext" || b.Word == "iex+" {
				return
			}
		}
		rule(x)
	}
}

const (
	ones     = "\xff\xff\xff\xff"
	header   = ones + "\xff\xff"
	headerQW = "\x20\x00\x00\x00\x00\x00" // from clients that set only the flag of it
	extended = "xe"

	starts7   = 0x21 // outside of a connection, version 1
	lenHead   = 6    // the header before 0.7
	lenHead7  = 1 + 4 + 4
	lenMarker = 4
	lenWord   = 4

	startsToken  = 0x04 // a control packet
	token        = "\x04\x00\x00"
	controlToken = 5
	noToken      = 1<<32 - 1
	lenToken     = 3 + 4 + 1 + 4
	lenAskToken  = lenToken + 508
	detected     = 64 // bytes that Detect gets
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	switch at := head(b); {
	case at > 0 && find(b[at:]) >= 0, at > 0 && string(b[at:]) == "gie":
		return dissect.Certain
	case len(b) < lenToken || string(b[:len(token)]) != token || b[7] != controlToken:
	case string(b[3:7]) == ones && len(b) == detected && zeros(b[lenToken:]):
		return dissect.Certain
	case len(b) == lenToken && string(b[3:7]) != "\x00\x00\x00\x00":
		return dissect.Likely
	case string(b[3:7]) != ones:
		return dissect.Doubtful
	}
	return dissect.No
}

func zeros(b []byte) bool { return !slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) }

// head returns where the word of a packet outside of a connection begins, 0 if b is
// none.
func head(b []byte) int {
	at := lenHead
	switch {
	case len(b) < lenHead+lenMarker:
		return 0
	case b[0] == starts7:
		at = lenHead7
	case string(b[:lenHead]) == header, string(b[:lenHead]) == headerQW, string(b[:len(extended)]) == extended:
	default:
		return 0
	}
	if len(b) < at+lenMarker || string(b[at:at+lenMarker]) != ones {
		return 0
	}
	return at + lenMarker
}

// find returns the number of the word that b begins with, -1 if it is none.
func find(b []byte) int {
	if len(b) < lenWord {
		return -1
	}
	for i := range words {
		if w := words[i].word; b[0] == w[0] && string(b[:lenWord]) == w {
			return i
		}
	}
	return -1
}

// decoder owns what a message is read into.
type decoder struct {
	info      Info
	token     Token
	servers   Servers
	challenge Challenge
	short     Short

	seven    bool   // the packet is of 0.7
	receiver uint32 // its tokens
	sender   uint32
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	d.seven = false
	if r.HasPrefix(token) {
		d.decodeToken(r, m)
		return
	}
	s := &d.short
	*s = Short{}
	m.Type, m.Body = mOldRequest, s
	extra := uint16(0)
	switch {
	case r.Next(starts7):
		d.seven = true
		r.Span(fVersion7, starts7&3, 0, 1, 0)
		d.receiver = r.U32BE(fReceiver)
		d.sender = r.U32BE(fSender)
	case r.HasPrefix(extended):
		s.Extended = true
		r.Text(fExtended, len(extended))
		extra = r.U16BE(fExtraToken)
		r.Bytes(fReserved, 2)
	default:
		r.Bytes(fHeader, lenHead)
	}
	r.Bytes(fMarker, lenMarker)
	i := find(r.Peek())
	if i < 0 {
		if s.Word = r.Text(fWord, len("gie")); s.Word == "gie" {
			r.Note(shortWord)
		} else {
			r.Fail(fWord, "no such word")
		}
		return
	}
	w := &words[i]
	s.Word, s.Seven = r.Text(fWord, lenWord), d.seven
	m.Type = w.message
	switch w.message.Role {
	case dissect.Request:
		m.Pair.Asks, m.Pair.Challenge = w.topic, dissect.ChallengeAbsent
	case dissect.Reply:
		m.Pair.Answers = w.topic
	}
	if d.seven {
		m.Pair.ID = id7(d.receiver, 0)
		if m.Pair.Asks != 0 {
			m.Pair.ID, m.Pair.Challenge, m.Pair.Value = id7(d.sender, 0), dissect.ChallengeUsed, uint64(d.receiver)
		}
	}
	d.decodeRest(r, m, extra)
}

// decodeRest reads what follows the word; extra is the upper part of an extended token.
func (d *decoder) decodeRest(r *dissect.Reader, m *dissect.Message, extra uint16) {
	switch s := &d.short; m.Type {
	case mInfoRequest, mOldRequest:
		switch {
		case d.seven:
			s.Token = varint(r, fToken7)
			m.Pair.ID = id7(d.sender, s.Token)
		case s.Word != "gief":
			s.Token = int64(extra) << 8
			if c := r.PeekByte(0); c >= 0 {
				s.Token += int64(c)
			}
			r.Span(fAskToken, uint64(s.Token), 0, 1, 0)
			m.Pair.ID = id(s.Token)
		}
	case mInfo, mMore:
		d.decodeInfo(r, m)
	case mServers:
		d.decodeServers(r, m)
	case mCount:
		s.Number = r.U16BE(fCount)
	case mHeartbeat:
		s.Number = r.U16BE(fPort)
	case mChallenge:
		c := &d.challenge
		*c = Challenge{}
		m.Body = c
		c.Secret = r.Delimited(fSecret, 0, ":", 1)
		c.Protocol = r.CString(fProtocol)
		c.Token = r.CString(fChalToken)
	}
}

// id makes an identifier of a token of 8 or of 24 bits. Of the latter all servers
// but those of DDNet bring back only the last 8.
func id(token int64) uint64 { return 0x100 | uint64(uint8(token)) }

// id7 makes an identifier of the tokens of a client, that of its packets and that of
// the request.
func id7(client uint32, token int64) uint64 {
	return max(1, min(uint64(client)<<32|uint64(uint32(token)), dissect.AnyID-1))
}

// decodeToken reads the control packet that asks for a token or gives it.
func (d *decoder) decodeToken(r *dissect.Reader, m *dissect.Message) {
	t := &d.token
	*t = Token{}
	m.Type, m.Body = mToken, t
	size := r.Left()
	r.Bytes(fHeader, len(token))
	if r.HasPrefix(ones) {
		t.Receiver = noToken
		r.Bytes(fNoToken, 4)
	} else {
		t.Receiver = r.U32BE(fReceiver)
	}
	control := r.U8(fControl)
	t.Own = r.U32BE(fSender)
	if t.Receiver != noToken {
		m.Pair = dissect.Pair{Answers: topicToken, ID: id7(t.Receiver, 0), Challenge: dissect.ChallengeIssued, Value: uint64(t.Own)}
	} else {
		m.Type = mTokenRequest
		m.Pair = dissect.Pair{Asks: topicToken, ID: id7(t.Own, 0), Challenge: dissect.ChallengeWanted}
		r.Rest(fPadding)
		if !r.Failed() && size < lenAskToken && !r.Cut() {
			r.Note(tokenShort, dissect.Num(size))
		}
	}
	if control != controlToken {
		r.Fail(fControl, "another control packet")
	}
}

// decodeInfo reads an info behind its word.
func (d *decoder) decodeInfo(r *dissect.Reader, m *dissect.Message) {
	i := &d.info
	*i = Info{Word: d.short.Word, List: i.List[:0]}
	m.Body = i
	ext := m.Type == mMore || i.Word == "iext"
	if i.Word != "info" {
		i.Token = d.number(r, fToken, fToken7)
		switch {
		case d.seven:
			m.Pair.ID = id7(d.receiver, i.Token)
		case i.Token == -1 && !r.Failed():
			m.Type, m.Pair = mNotice, dissect.Pair{}
		default:
			m.Pair.ID = id(i.Token)
		}
	}
	if m.Type == mMore {
		i.Packet = d.number(r, fPacket, nil)
	} else {
		d.decodeServer(r, i, ext)
		m.Server = i.server
	}
	if ext {
		i.Extra = r.CString(fExtra)
	}
	if i.Word == "dtsf" {
		i.Offset = varint(r, fOffset)
	}
	i.List = wire.Items(r, fList, nil, i.List, r.More, func() Player { return d.decodePlayer(r, i.Word, ext) })
	whole := i.Word != "dtsf" && !ext && !r.Failed() && !r.Cut()
	if n := len(i.List); whole && int64(n) != i.Clients {
		r.Note(listed, dissect.Num(i.Clients), dissect.Num(n))
	}
}

// decodeServer reads what an info says of the server.
func (d *decoder) decodeServer(r *dissect.Reader, i *Info, ext bool) {
	i.Version = r.CString(fVersion)
	i.Name = r.CString(fName)
	if d.seven {
		i.Hostname = r.CString(fHostname)
	}
	i.Map = r.CString(fMap)
	if ext {
		i.MapCRC = d.number(r, fMapCRC, nil)
		i.MapSize = d.number(r, fMapSize, nil)
	}
	i.GameType = r.CString(fGameType)
	i.Flags = d.number(r, fFlags, fFlags7)
	old := i.Word == "info" || i.Word == "inf2"
	switch {
	case d.seven:
		i.Skill = varint(r, fSkill7)
	case old:
		i.Progress = d.number(r, fProgress, nil)
	}
	i.Players = d.number(r, fPlayers, fPlayers7)
	i.MaxPlayers = d.number(r, fMaxPlayers, fMaxPlayers7)
	i.Clients, i.MaxClients = i.Players, i.MaxPlayers
	if !old {
		i.Clients = d.number(r, fClients, fClients7)
		i.MaxClients = d.number(r, fMaxClients, fMaxClients7)
	}
	if r.Failed() {
		return
	}
	i.server = dissect.Server{
		Name: dissect.Some(i.Name), Map: dissect.Some(i.Map), Game: dissect.Some(i.GameType), Version: dissect.Some(i.Version),
		Players: count(i.Players), MaxPlayers: count(i.MaxPlayers), Password: dissect.Some(i.Flags&1 != 0), Charset: style.Charset,
	}
}

func count(n int64) dissect.Opt[int] {
	return dissect.Opt[int]{Value: int(n), OK: n >= 0 && n <= math.MaxInt32}
}

func (d *decoder) decodePlayer(r *dissect.Reader, word string, ext bool) (p Player) {
	at := core.Here(r)
	group := r.Begin(fPlayer)
	p.Name = r.CString(fPlayerName)
	if word == "info" || word == "inf2" {
		p.Score = d.number(r, fScore, nil)
	} else {
		p.Clan = r.CString(fPlayerClan)
		p.Country = d.number(r, fCountry, fCountry7)
		p.Score = d.number(r, fScore, fScore7)
		p.Kind = d.number(r, fIsPlayer, fKind7)
	}
	if ext {
		p.Extra = r.CString(fPlayerExtra)
	}
	if r.End(group); r.Failed() {
		core.Return(r, at)
	}
	return p
}

// number reads a number: as text before 0.7, as a varint since.
func (d *decoder) number(r *dissect.Reader, text, packed *dissect.Field) int64 {
	if d.seven && packed != nil {
		return varint(r, packed)
	}
	n, _ := nettext.ParseInt(r.CString(text))
	return n
}

// varint reads a number as the packets of the game have it: six bits and the sign in
// the first byte, seven bits in each of up to four more, whose highest bit says that
// one follows. Negative numbers are inverted.
func varint(r *dissect.Reader, f *dissect.Field) int64 {
	c := r.PeekByte(0)
	sign, v, n := int32(c<<25)>>31, int32(c&0x3f), 1
	for shift := 6; c >= 0 && c&0x80 != 0 && n < 5; shift += 7 {
		c = r.PeekByte(n)
		v |= int32(c&0x7f) << shift
		n++
	}
	v ^= sign
	if r.Span(f, uint64(int64(v)), 0, n, 0); r.Failed() {
		return 0
	}
	return int64(v)
}

// decodeServers reads the list of a master: since 0.6 addresses of IPv6, in which
// those of IPv4 are mapped, and ports in network byte order.
func (d *decoder) decodeServers(r *dissect.Reader, m *dissect.Message) {
	s := &d.servers
	*s = Servers{Servers: s.Servers[:0]}
	m.Body = s
	old := d.short.Word == "list"
	list := r.Begin(fServers)
	for r.More() {
		if a := wire.Endpoint(r, fServer, !old, old); !r.Failed() {
			s.Servers = append(s.Servers, a)
		}
	}
	r.End(list)
	m.Pair.Entries = len(s.Servers)
}
