// Package ventrilo dissects the status queries of Ventrilo 2 and 3.
//
// A datagram is a header of 20 bytes and a body. The first two bytes are the key of the
// rest of the header, which has the key of the body; both are encrypted by adding bytes
// of constant tables. The tree shows the datagrams as they are, and what is decrypted as
// a source of its own: the headers, then the joined bodies.
//
// The body of a request is a password. That of a reply is text in lines, in one datagram
// or several, and ends with a zero byte. Texts in it have percent signs and two hexadecimal
// digits in the place of characters with a meaning.
//
// Sources: recorded traffic; node-gamedig (ventrilo.js).
package ventrilo

import (
	"bytes"
	"encoding/binary"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/reassembly"
)

var style = wire.Style{Charset: dissect.Guessed}

var catalog = dissect.NewCatalog("ventrilo")

var (
	fKey       = catalog.Add("key", dissect.Bytes, "Key of the header: where the table starts and its step.", dissect.Framing)
	fEncrypted = catalog.Add("encrypted_header", dissect.Bytes, "Header, encrypted.", core.Becomes("decrypted"), dissect.Public, dissect.Framing)
	fBody      = catalog.Add("encrypted_body", dissect.Bytes, "Body, encrypted.", core.Becomes("decrypted"), dissect.Framing)

	fHeader  = catalog.Add("header", dissect.Group, "Header of a datagram.", dissect.Framing)
	fZero    = catalog.Add("header.zero", dissect.Uint, "0.", dissect.Framing)
	fCommand = catalog.Add("header.command", dissect.Uint, "Kind of message.", dissect.Framing, dissect.Names(
		dissect.Name{Value: general, Name: "general status"}, dissect.Name{Value: detail, Name: "detailed status"}, dissect.Name{Value: reply, Name: "reply"}))
	fID      = catalog.Add("header.id", dissect.Uint, "Number that the client chose; the reply repeats it.", dissect.Framing, dissect.Chosen)
	fTotal   = catalog.Add("header.total_length", dissect.Uint, "Length of the bodies of all parts in bytes.", dissect.Framing)
	fLength  = catalog.Add("header.length", dissect.Uint, "Length of the body of this datagram in bytes.", dissect.Framing)
	fParts   = catalog.Add("header.parts", dissect.Uint, "Number of parts.", dissect.Framing)
	fPart    = catalog.Add("header.part", dissect.Uint, "Number of this part, from 0.", dissect.Framing)
	fBodyKey = catalog.Add("header.body_key", dissect.Bytes, "Key of the body: where the table starts and its step.", dissect.Framing)
	fCRC     = catalog.Add("header.crc", dissect.Uint, "Checksum of the bodies of all parts.", dissect.Framing, core.Checksum)

	fNoPassword = catalog.Add("no_password", dissect.Bytes, "Zeros: there is no password.", dissect.Framing)
	fPassword   = catalog.Add("password", dissect.String, "Password for the status of the server.", dissect.Secret)

	pairs = keyvalue.Declare(catalog)

	fChannelCount   = catalog.Add("channel_count", dissect.Decimal, "Channels of the server.")
	fChannelColumns = catalog.Add("channel_fields", dissect.String, "Names of what follows about each channel.", dissect.Public)
	fChannels       = catalog.Add("channels", dissect.List, "The channels.")
	fChannel        = catalog.Add("channels.channel", dissect.Group, "A channel.")
	fChannelID      = catalog.Add("channels.id", dissect.Decimal, "Number of the channel.")
	fParentID       = catalog.Add("channels.parent_id", dissect.Decimal, "Number of the channel that it belongs to, 0 for none.")
	fProtection     = catalog.Add("channels.protection", dissect.Decimal, "0: open. Others: a password or an account is needed.")
	fChannelName    = catalog.Add("channels.name", dissect.String, "Name of the channel.", dissect.ServerText)
	fChannelComment = catalog.Add("channels.comment", dissect.String, "Comment on the channel.", dissect.ServerText)
	fChannelMore    = catalog.Add("channels.more", dissect.String, "Rest of a line.", dissect.FreeText, dissect.Framing)

	fClientCount   = catalog.Add("client_count", dissect.Decimal, "Clients on the server.")
	fClientColumns = catalog.Add("client_fields", dissect.String, "Names of what follows about each client.", dissect.Public)
	fPlayers       = catalog.Add("players", dissect.List, "The clients.")
	fPlayer        = catalog.Add("players.player", dissect.Group, "A client.")
	fAdmin         = catalog.Add("players.admin", dissect.Decimal, "1: an administrator.")
	fPlayerChannel = catalog.Add("players.channel_id", dissect.Decimal, "Number of the channel that the client is in, 0 for none.")
	fPhantom       = catalog.Add("players.phantom", dissect.Decimal, "1: a second presence of a client that is in another channel.")
	fPing          = catalog.Add("players.ping", dissect.Decimal, "Round-trip time in milliseconds.")
	fDuration      = catalog.Add("players.duration_s", dissect.Decimal, "Seconds since the client connected.")
	fPlayerName    = catalog.Add("players.name", dissect.String, "Name of the client.", dissect.PersonName)
	fPlayerComment = catalog.Add("players.comment", dissect.String, "Comment of the client.", dissect.FreeText)
	fPlayerMore    = catalog.Add("players.more", dissect.String, "Rest of a line.", dissect.FreeText, dissect.Framing)

	fLines = catalog.Add("lines", dissect.List, "Further lines.")
	fLine  = catalog.Add("lines.line", dissect.String, "A line.", dissect.ServerText)
	fEnd   = catalog.Add("end", dissect.Bytes, "Zero byte at the end.", dissect.Framing)
)

const (
	general = 1
	detail  = 2
	reply   = 3

	lenPassword = 16
	lenRequest  = lenHeader + lenPassword

	topicGeneral dissect.Topic = 1
	topicDetail  dissect.Topic = 2
)

var (
	mGeneral = catalog.Message(dissect.MessageType{Name: "general_request", Title: "status request", Role: dissect.Request, Doc: "Asks for the status of the server."})
	mDetail  = catalog.Message(dissect.MessageType{Name: "detail_request", Title: "detailed status request", Role: dissect.Request, Doc: "Asks for the status of the server with channels and clients."})
	mReply   = catalog.Message(dissect.MessageType{Name: "status_reply", Title: "status", Role: dissect.Reply, Doc: "Name, version, channels and clients."})
	mPart    = catalog.Message(dissect.MessageType{Name: "part", Title: "part of a status", Role: dissect.Reply, Doc: "Parts of a status of which the first is missing."})
	mUnknown = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown message", Doc: "Not a message of this protocol."})

	unanswered    = finding.NoReply(catalog, "ventrilo.noreply", "The capture has no reply within the time that clients wait. The server is down, its status has another password than the request, or a packet was lost, dropped by a firewall or not captured.")
	unrequested   = finding.Unrequested(catalog, "ventrilo.unrequested", "The capture has requests of this conversation, but no pending one with the number of this reply. The request is missing from the capture, or the reply is late, a duplicate or forged.")
	several       = finding.Several(catalog, "ventrilo.several", finding.Twice)
	amplification = finding.Amplification(catalog, "ventrilo.amplification", "The request has 36 bytes and no challenge, so its source address can be forged to flood somebody else with lists of channels and clients: more than 100 times its size. Limit the rate of queries in a firewall.")
	badCRC        = finding.New(catalog, dissect.Warning, "ventrilo.crc", "the checksum is %x, the header states %x",
		"The checksum in the header is not that of the decrypted bodies. The message was damaged, or another program than Ventrilo sent it.", "A client should discard the message and ask again; if it is always wrong, the program is not Ventrilo.")
	badLength = finding.Length(catalog, "ventrilo.length", "the header states a body of %d {byte|bytes}, the datagram has %d",
		"The datagram was truncated, or another program than Ventrilo sent it.", finding.WrongLength)
	partMissing = finding.New(catalog, dissect.Warning, "ventrilo.part.missing", "%d of %d parts of this status arrived; missing: %p (%p)",
		"Parts of a status are missing from the capture, or did not arrive. The lines before the gap are shown.", finding.MissingParts)
	partDuplicate = finding.Duplicate(catalog, "ventrilo.part.duplicate", "The network or the server sent parts of a status twice. They are used once.")
	partReorder   = finding.Reordered(catalog, "ventrilo.part.reorder", "Clients that append the parts as they come misread this status.")
	partConflict  = finding.Conflict(catalog, "ventrilo.part.conflict", "Two different parts with the same number: the server encrypted the status anew for a second request with the same number, or a packet was forged.")
	partFirst     = finding.New(catalog, dissect.Warning, "ventrilo.part.first", "the first part is missing, the others are not decoded",
		"The bodies are cut anywhere, so only the first part begins with a line.", finding.FirstPart)
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "ventrilo",
	Title:   "Ventrilo status",
	Doc:     "Status queries of Ventrilo 2 and 3, which are encrypted: name, version, channels and clients of a server.",
	Source:  "recorded traffic; node-gamedig (ventrilo.js)",
	Group:   "Voice",
	Ports:   []uint16{3784},
	Keyed:   &headTable,
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Split:   &dissect.Splitting{Read: readPart, Incomplete: partMissing, Duplicate: partDuplicate, Reordered: partReorder, Conflict: partConflict},
	Pairing: finding.Usual(unanswered, unrequested, several, amplification),
}

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) < lenHeader || headTable[b[0]] != b[2] {
		return dissect.No
	}
	var h header
	h.open(b)
	fits := false
	switch h.command() {
	case general, detail:
		if h.total() != lenPassword || h.length() != lenPassword || h.parts() != 1 || h.part() != 0 {
			return dissect.No
		}
		fits = len(b) == lenRequest
	case reply:
		if h.length() > maxBody || h.length() > h.total() || h.part() >= h.parts() || h.total() > maxBody*h.parts() {
			return dissect.No
		}
		fits = len(b) == 64 && h.length() >= 64-lenHeader || len(b) == lenHeader+h.length()
	}
	switch {
	case h.zero() != 0 || h.command() < general || h.command() > reply:
		return dissect.No
	case fits:
		return dissect.Certain
	}
	return dissect.Likely // truncated
}

// readPart reads the header of a part. See [reassembly.ReadPart].
func readPart(b []byte, _ uint8) (reassembly.Part, bool) {
	if len(b) < lenHeader {
		return reassembly.Part{}, false
	}
	var h header
	h.open(b)
	if h.zero() != 0 || h.command() != reply || h.parts() < 2 || h.part() >= h.parts() {
		return reassembly.Part{}, false
	}
	id := uint64(h.id())<<32 | uint64(h.crc())<<16 | uint64(h.total())
	return reassembly.Part{ID: id, Index: h.part(), Total: h.parts(), Header: lenHeader, Variant: 1}, true
}

// A Message is one of *Request, *StatusReply and *Part, or nil if its kind is not known.
type Message any

// Request is any request. Password has no zero bytes.
type Request struct {
	ID       uint16
	Detailed bool
	Password string
}

// StatusReply is the status of a server. Text holds the bytes of the wire.
type StatusReply struct {
	ID       uint16
	Rules    []dissect.KeyValue
	Channels []Channel
	Clients  []Client
}

// A Channel is a channel. Its numbers are text.
type Channel struct{ ID, Parent, Protection, Name, Comment string }

// A Client is a client. Its numbers are text: Ping is in milliseconds, Duration in
// seconds.
type Client struct{ Admin, Channel, Phantom, Ping, Duration, Name, Comment string }

// Part has the parts of a status of which the first is missing.
type Part struct{}

// Parse decodes one payload. A status in several parts needs an analyzer. The caller owns
// the result. The error is a *dissect.Error that says where reading ended; the message
// then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	request Request
	status  StatusReply
	part    Part

	headers []header
	bodies  [][]byte // the encrypted ones of the message
}

// Decode reads a datagram, or the joined parts of a status.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	if r.Parts() == 0 && !d.single(r, m) {
		return
	}
	h := &d.headers[0]
	m.Pair.ID = 1<<16 | uint64(h.id()) // 0 would be none
	m.Pair.Challenge = dissect.ChallengeAbsent
	switch h.command() {
	case general, detail:
		d.request = Request{ID: uint16(h.id()), Detailed: h.command() == detail}
		m.Type, m.Body, m.Pair.Asks = mGeneral, &d.request, topicGeneral
		if d.request.Detailed {
			m.Type, m.Pair.Asks = mDetail, topicDetail
		}
	default:
		p := &d.status
		*p = StatusReply{ID: uint16(h.id()), Rules: p.Rules[:0], Channels: p.Channels[:0], Clients: p.Clients[:0]}
		m.Type, m.Body, m.Pair.Answers, m.Pair.Challenge = mReply, p, topicGeneral|topicDetail, dissect.NoChallenge
	}
	d.readHeaders(r)
	if m.Type != mReply {
		if n := r.Until("\x00"); n > 0 {
			d.request.Password = r.Span(fPassword, 0, 0, n, lenPassword-n)
		} else {
			r.Bytes(fNoPassword, lenPassword)
		}
		return
	}
	d.decodeStatus(r, m)
}

// single opens what a datagram is decrypted to. It reports false if it is none of this
// protocol.
func (d *decoder) single(r *dissect.Reader, m *dissect.Message) bool {
	m.Type = mUnknown
	d.headers, d.bodies = d.headers[:0], d.bodies[:0]
	if d.raw(r); r.Failed() {
		return false
	}
	h := &d.headers[0]
	if h.zero() != 0 || h.command() < general || h.command() > reply {
		r.Fail(fEncrypted, "does not decrypt to a header")
		return false
	}
	plain := append(core.Buffer(r), h[:]...)
	plain = h.appendBody(plain, d.bodies[0])
	core.Keep(r, plain)
	r.Open("decrypted", plain)
	return !r.Failed()
}

// raw reads a datagram as it is.
func (d *decoder) raw(r *dissect.Reader) {
	var h header
	if r.Left() >= lenHeader {
		h.open(core.PeekTo(r, lenHeader))
	}
	d.headers = append(d.headers, h)
	r.Bytes(fKey, lenKey)
	r.Bytes(fEncrypted, lenPlain)
	d.bodies = append(d.bodies, r.Rest(fBody))
}

// Join decrypts the parts of a status and joins them.
func (d *decoder) Join(r *dissect.Reader, _ uint8, m *dissect.Message) bool {
	m.Variant = "ventrilo"
	d.headers, d.bodies = d.headers[:0], d.bodies[:0]
	for i := range r.Parts() {
		r.Part(i)
		d.raw(r)
	}
	gap := r.Gap()
	if gap == 0 || r.Failed() {
		m.Type, m.Body, m.Pair.Answers = mPart, &d.part, topicGeneral|topicDetail
		m.Pair.ID = 1<<16 | uint64(d.headers[0].id())
		r.Note(partFirst)
		return false
	}
	plain := core.Buffer(r)
	for i := range d.headers {
		plain = append(plain, d.headers[i][:]...)
	}
	for i := range d.headers {
		if gap < 0 || i < gap {
			plain = d.headers[i].appendBody(plain, d.bodies[i])
		}
	}
	core.Keep(r, plain)
	r.Open("decrypted", plain)
	if gap > 0 {
		core.Break(r)
	}
	return true
}

// readHeaders reads the decrypted headers and checks what they state.
func (d *decoder) readHeaders(r *dissect.Reader) {
	at := 0
	for i := range d.headers {
		group := r.Begin(fHeader)
		r.U16BE(fZero)
		r.U16BE(fCommand)
		r.U16BE(fID)
		r.U16BE(fTotal)
		lengthAt := r.Offset()
		length := int(r.U16BE(fLength))
		r.U16BE(fParts)
		r.U16BE(fPart)
		r.Bytes(fBodyKey, lenKey)
		at = r.Offset()
		r.U16BE(fCRC)
		r.End(group)
		if n := len(d.bodies[i]); n != length {
			r.Find(badLength, fLength, lengthAt, 2, dissect.Num(length), dissect.Num(n))
		}
	}
	want := d.headers[len(d.headers)-1].crc()
	if sum := checksum(r.Peek()); sum != want && !r.Failed() && !r.Cut() {
		r.Find(badCRC, fCRC, at, 2, dissect.Num(sum), dissect.Num(want))
	}
}

const (
	channelCount  = "CHANNELCOUNT: "
	channelFields = "CHANNELFIELDS: "
	channel       = "CHANNEL: "
	clientCount   = "CLIENTCOUNT: "
	clientFields  = "CLIENTFIELDS: "
	client        = "CLIENT: "
)

// An item is a value in the line of a channel or a client. The last ones, name and
// comment, may hold commas.
type item struct {
	key   string // with the comma in front of it, which the first item does not have
	field *dissect.Field
}

var (
	channelItems = []item{{",CID=", fChannelID}, {",PID=", fParentID}, {",PROT=", fProtection}, {",NAME=", fChannelName}, {",COMM=", fChannelComment}}
	clientItems  = []item{
		{",ADMIN=", fAdmin}, {",CID=", fPlayerChannel}, {",PHAN=", fPhantom}, {",PING=", fPing}, {",SEC=", fDuration},
		{",NAME=", fPlayerName}, {",COMM=", fPlayerComment},
	}
)

// values are those of the items of a line.
type values [8]string

func (d *decoder) decodeStatus(r *dissect.Reader, m *dissect.Message) {
	p := &d.status
	p.Rules = wire.Items(r, pairs.List, pairs.Pair, p.Rules, func() bool {
		return lineHere(r) && !r.HasPrefix(channelCount) && !r.HasPrefix(channel) && !r.HasPrefix(clientCount) && !r.HasPrefix(client)
	}, func() dissect.KeyValue {
		n, suf := r.Until(":\n\x00"), 0
		colon := r.PeekByte(n) == ':'
		if c := r.PeekByte(n); c > 0 {
			if suf = 1; colon && r.PeekByte(n+1) == ' ' {
				suf = 2
			}
		}
		rule := dissect.KeyValue{Key: r.Span(pairs.Key, 0, 0, n, suf)}
		if colon {
			rule.Value = line(r, pairs.Value, 0)
			core.HideSetting(r, pairs.Hidden, rule.Key, rule.Value)
		}
		return rule
	})
	prefixed(r, fChannelCount, channelCount)
	prefixed(r, fChannelColumns, channelFields)
	if r.HasPrefix(channel) {
		p.Channels = wire.Items(r, fChannels, fChannel, p.Channels, func() bool { return r.HasPrefix(channel) }, func() Channel {
			v := readItems(r, channel, channelItems, fChannelMore)
			return Channel{v[0], v[1], v[2], v[3], v[4]}
		})
	}
	clients := prefixed(r, fClientCount, clientCount)
	prefixed(r, fClientColumns, clientFields)
	if r.HasPrefix(client) {
		p.Clients = wire.Items(r, fPlayers, fPlayer, p.Clients, func() bool { return r.HasPrefix(client) }, func() Client {
			v := readItems(r, client, clientItems, fPlayerMore)
			return Client{v[0], v[1], v[2], v[3], v[4], v[5], v[6]}
		})
	}
	if lineHere(r) {
		wire.Each(r, fLines, nil, func() bool { return lineHere(r) }, func() { line(r, fLine, 0) })
	}
	if r.Next(0) {
		r.Bytes(fEnd, 1)
	}
	m.Server = dissect.Server{
		Name: keyvalue.Text(p.Rules, "name"), Version: keyvalue.Text(p.Rules, "version"), Players: keyvalue.Int(clients),
		MaxPlayers: keyvalue.Number(p.Rules, "maxclients"), Password: keyvalue.Flag(p.Rules, "auth"), Charset: style.Charset,
	}
}

// lineHere reports whether there is a line.
func lineHere(r *dissect.Reader) bool { return r.More() && !r.Next(0) }

// line reads the rest of a line and its end after pre bytes.
func line(r *dissect.Reader, f *dissect.Field, pre int) string {
	n, suf := r.Until("\n\x00")-pre, 0
	if n < 0 {
		pre, n = pre+n, 0
	}
	if r.PeekByte(pre+n) == '\n' {
		suf = 1
	}
	return r.Span(f, 0, pre, n, suf)
}

// prefixed reads a line if it begins with a key.
func prefixed(r *dissect.Reader, f *dissect.Field, key string) string {
	if !r.HasPrefix(key) {
		return ""
	}
	return line(r, f, len(key))
}

// readItems reads a line of values with commas in between, in the order of items; any
// may be missing.
func readItems(r *dissect.Reader, prefix string, items []item, more *dissect.Field) (v values) {
	pre := len(prefix)
	for i := range items {
		it := &items[i]
		key := it.key[1:]
		rest := core.PeekFrom(r, pre)
		if !bytes.HasPrefix(rest, []byte(key)) {
			continue
		}
		n, suf := 0, 0
		if it.field.Kind != dissect.String {
			n = until(rest, ',')
		} else if n = nextItem(rest, items[i+1:]); n < 0 {
			v[i] = line(r, it.field, pre+len(key))
			return v
		}
		end := r.PeekByte(pre + n)
		if end > 0 {
			suf = 1
		}
		if v[i] = r.Span(it.field, 0, pre+len(key), n-len(key), suf); end != ',' {
			return v
		}
		pre = 0
	}
	if lineHere(r) {
		line(r, more, pre)
	}
	return v
}

// nextItem returns the index of the first of items in a line, or -1 if it is missing.
func nextItem(line []byte, items []item) int {
	if len(items) == 0 {
		return -1
	}
	return bytes.Index(line[:until(line, '\n')], []byte(items[0].key))
}

// until returns the number of bytes before stop or the end of the line.
func until(b []byte, stop byte) int {
	for i, c := range b {
		if c == stop || c == '\n' || c == 0 {
			return i
		}
	}
	return len(b)
}

const (
	lenKey    = 2
	lenHeader = 20 // with the key
	lenPlain  = lenHeader - lenKey
	maxBody   = 492 // of a datagram
)

// A header is the decrypted header of a datagram.
type header [lenPlain]byte

func (h *header) word(i int) int   { return int(binary.BigEndian.Uint16(h[2*i:])) }
func (h *header) zero() int        { return h.word(0) }
func (h *header) command() int     { return h.word(1) }
func (h *header) id() int          { return h.word(2) }
func (h *header) total() int       { return h.word(3) }
func (h *header) length() int      { return h.word(4) }
func (h *header) parts() int       { return h.word(5) }
func (h *header) part() int        { return h.word(6) }
func (h *header) crc() int         { return h.word(8) }
func (h *header) key() (a, b byte) { return h[14], h[15] }

// open decrypts the header of a datagram of at least lenHeader bytes.
func (h *header) open(b []byte) {
	copy(h[:], b[lenKey:])
	decrypt(h[:], b[0], b[1], &headTable, 5)
}

// appendBody appends the decrypted body of a datagram.
func (h *header) appendBody(dst, b []byte) []byte {
	at, step := h.key()
	n := len(dst)
	dst = append(dst, b...)
	decrypt(dst[n:], at, step, &bodyTable, 72)
	return dst
}

// decrypt subtracts from each byte one of a table, and a number that counts from 0 to
// period-1.
func decrypt(b []byte, at, step byte, table *[256]byte, period byte) {
	count := byte(0)
	for i := range b {
		b[i] -= table[at] + count
		at += step
		if count++; count == period {
			count = 0
		}
	}
}

// checksum is the CRC of the decrypted body of all parts: that of XMODEM without its
// zeros at the end.
func checksum(b []byte) int {
	c := uint16(0)
	for _, x := range b {
		c = crcTable[c>>8] ^ uint16(x) ^ c<<8
	}
	return int(c)
}

var crcTable = func() (t [256]uint16) {
	for i := range t {
		c := uint16(i) << 8
		for range 8 {
			if c&0x8000 != 0 {
				c = c<<1 ^ 0x1021
			} else {
				c <<= 1
			}
		}
		t[i] = c
	}
	return t
}()

// Constants of the protocol: what is added to each byte of a header and of a body, from
// the place on that the key says.
var (
	headTable = [256]byte{
		0x80, 0xe5, 0x0e, 0x38, 0xba, 0x63, 0x4c, 0x99, 0x88, 0x63, 0x4c, 0xd6, 0x54, 0xb8, 0x65, 0x7e,
		0xbf, 0x8a, 0xf0, 0x17, 0x8a, 0xaa, 0x4d, 0x0f, 0xb7, 0x23, 0x27, 0xf6, 0xeb, 0x12, 0xf8, 0xea,
		0x17, 0xb7, 0xcf, 0x52, 0x57, 0xcb, 0x51, 0xcf, 0x1b, 0x14, 0xfd, 0x6f, 0x84, 0x38, 0xb5, 0x24,
		0x11, 0xcf, 0x7a, 0x75, 0x7a, 0xbb, 0x78, 0x74, 0xdc, 0xbc, 0x42, 0xf0, 0x17, 0x3f, 0x5e, 0xeb,
		0x74, 0x77, 0x04, 0x4e, 0x8c, 0xaf, 0x23, 0xdc, 0x65, 0xdf, 0xa5, 0x65, 0xdd, 0x7d, 0xf4, 0x3c,
		0x4c, 0x95, 0xbd, 0xeb, 0x65, 0x1c, 0xf4, 0x24, 0x5d, 0x82, 0x18, 0xfb, 0x50, 0x86, 0xb8, 0x53,
		0xe0, 0x4e, 0x36, 0x96, 0x1f, 0xb7, 0xcb, 0xaa, 0xaf, 0xea, 0xcb, 0x20, 0x27, 0x30, 0x2a, 0xae,
		0xb9, 0x07, 0x40, 0xdf, 0x12, 0x75, 0xc9, 0x09, 0x82, 0x9c, 0x30, 0x80, 0x5d, 0x8f, 0x0d, 0x09,
		0xa1, 0x64, 0xec, 0x91, 0xd8, 0x8a, 0x50, 0x1f, 0x40, 0x5d, 0xf7, 0x08, 0x2a, 0xf8, 0x60, 0x62,
		0xa0, 0x4a, 0x8b, 0xba, 0x4a, 0x6d, 0x00, 0x0a, 0x93, 0x32, 0x12, 0xe5, 0x07, 0x01, 0x65, 0xf5,
		0xff, 0xe0, 0xae, 0xa7, 0x81, 0xd1, 0xba, 0x25, 0x62, 0x61, 0xb2, 0x85, 0xad, 0x7e, 0x9d, 0x3f,
		0x49, 0x89, 0x26, 0xe5, 0xd5, 0xac, 0x9f, 0x0e, 0xd7, 0x6e, 0x47, 0x94, 0x16, 0x84, 0xc8, 0xff,
		0x44, 0xea, 0x04, 0x40, 0xe0, 0x33, 0x11, 0xa3, 0x5b, 0x1e, 0x82, 0xff, 0x7a, 0x69, 0xe9, 0x2f,
		0xfb, 0xea, 0x9a, 0xc6, 0x7b, 0xdb, 0xb1, 0xff, 0x97, 0x76, 0x56, 0xf3, 0x52, 0xc2, 0x3f, 0x0f,
		0xb6, 0xac, 0x77, 0xc4, 0xbf, 0x59, 0x5e, 0x80, 0x74, 0xbb, 0xf2, 0xde, 0x57, 0x62, 0x4c, 0x1a,
		0xff, 0x95, 0x6d, 0xc7, 0x04, 0xa2, 0x3b, 0xc4, 0x1b, 0x72, 0xc7, 0x6c, 0x82, 0x60, 0xd1, 0x0d,
	}
	bodyTable = [256]byte{
		0x82, 0x8b, 0x7f, 0x68, 0x90, 0xe0, 0x44, 0x09, 0x19, 0x3b, 0x8e, 0x5f, 0xc2, 0x82, 0x38, 0x23,
		0x6d, 0xdb, 0x62, 0x49, 0x52, 0x6e, 0x21, 0xdf, 0x51, 0x6c, 0x76, 0x37, 0x86, 0x50, 0x7d, 0x48,
		0x1f, 0x65, 0xe7, 0x52, 0x6a, 0x88, 0xaa, 0xc1, 0x32, 0x2f, 0xf7, 0x54, 0x4c, 0xaa, 0x6d, 0x7e,
		0x6d, 0xa9, 0x8c, 0x0d, 0x3f, 0xff, 0x6c, 0x09, 0xb3, 0xa5, 0xaf, 0xdf, 0x98, 0x02, 0xb4, 0xbe,
		0x6d, 0x69, 0x0d, 0x42, 0x73, 0xe4, 0x34, 0x50, 0x07, 0x30, 0x79, 0x41, 0x2f, 0x08, 0x3f, 0x42,
		0x73, 0xa7, 0x68, 0xfa, 0xee, 0x88, 0x0e, 0x6e, 0xa4, 0x70, 0x74, 0x22, 0x16, 0xae, 0x3c, 0x81,
		0x14, 0xa1, 0xda, 0x7f, 0xd3, 0x7c, 0x48, 0x7d, 0x3f, 0x46, 0xfb, 0x6d, 0x92, 0x25, 0x17, 0x36,
		0x26, 0xdb, 0xdf, 0x5a, 0x87, 0x91, 0x6f, 0xd6, 0xcd, 0xd4, 0xad, 0x4a, 0x29, 0xdd, 0x7d, 0x59,
		0xbd, 0x15, 0x34, 0x53, 0xb1, 0xd8, 0x50, 0x11, 0x83, 0x79, 0x66, 0x21, 0x9e, 0x87, 0x5b, 0x24,
		0x2f, 0x4f, 0xd7, 0x73, 0x34, 0xa2, 0xf7, 0x09, 0xd5, 0xd9, 0x42, 0x9d, 0xf8, 0x15, 0xdf, 0x0e,
		0x10, 0xcc, 0x05, 0x04, 0x35, 0x81, 0xb2, 0xd5, 0x7a, 0xd2, 0xa0, 0xa5, 0x7b, 0xb8, 0x75, 0xd2,
		0x35, 0x0b, 0x39, 0x8f, 0x1b, 0x44, 0x0e, 0xce, 0x66, 0x87, 0x1b, 0x64, 0xac, 0xe1, 0xca, 0x67,
		0xb4, 0xce, 0x33, 0xdb, 0x89, 0xfe, 0xd8, 0x8e, 0xcd, 0x58, 0x92, 0x41, 0x50, 0x40, 0xcb, 0x08,
		0xe1, 0x15, 0xee, 0xf4, 0x64, 0xfe, 0x1c, 0xee, 0x25, 0xe7, 0x21, 0xe6, 0x6c, 0xc6, 0xa6, 0x2e,
		0x52, 0x23, 0xa7, 0x20, 0xd2, 0xd7, 0x28, 0x07, 0x23, 0x14, 0x24, 0x3d, 0x45, 0xa5, 0xc7, 0x90,
		0xdb, 0x77, 0xdd, 0xea, 0x38, 0x59, 0x89, 0x32, 0xbc, 0x00, 0x3a, 0x6d, 0x61, 0x4e, 0xdb, 0x29,
	}
)
