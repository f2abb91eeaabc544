// Package valvemaster dissects the messages to and from Valve's master servers. Clients
// ask for addresses of game servers, and game servers announce themselves. The protocol
// was used by the masters of WON (1998 to 2004) and of Steam, for GoldSrc and Source,
// and is used by today's private masters for old games and for Xash3D.
//
// A request is a letter and its arguments, without a header, so that many requests are
// recognised only by their port or by their reply. A reply begins with FF FF FF FF, a
// letter and a new line. Challenges are little-endian, ports of addresses are
// big-endian.
//
// Sources: "Master Server Query Protocol" of the Valve Developer Community. The names
// of messages are those of the engine (common/proto_oob.h). The forms of WON and
// Xash3D, which the document lacks, follow old clients, xash3d-master and recorded
// traffic.
package valvemaster

import (
	"bytes"
	"net/netip"
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/keyvalue"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:   "valve-master",
	Title:  "Valve master server queries",
	Group:  "Valve",
	Doc:    "Requests to master servers for addresses of GoldSrc, Source and Xash3D servers, and the messages by which servers get on their list: join, heartbeat, quit.",
	Source: "Valve Developer Community, Master Server Query Protocol; Half-Life engine (proto_oob.h); xash3d-master",
	Ports:  []uint16{27010, 27011, 27012, 27013, 27015, 27017, 27018, 27019},
	// Letters alone may have a zero byte or a line end after them. Requests that are no
	// more than that have no header.
	Starts: slices.Concat(
		wire.Starts("1fdqs0ajhwx2QyFPlO", header),
		wire.Starts("\x00\n\r", "c", "g", "i", "q", "v"),
		[]string{"1", "e", "0\n", "a\n", "a\r", "b\n", "k\r", "q\xff", "x\r", "2\r", "Q\r"}),
	Catalog:   catalog,
	Detect:    Detect,
	New:       func() dissect.Decoder { return new(decoder) },
	Handshake: dissect.Handshake{Cut: cutKey},
	Pairing: dissect.Pairing{
		Unanswered: unanswered, Paged: true,
		OnRequest: []dissect.Rule{goesOn, finding.Mismatch(challengeMismatch)},
		OnReply:   []dissect.Rule{follows, finding.List(listing)},
		OnStray:   []dissect.Rule{finding.OtherKind(core.OtherKind), unrequested},
	},
}

const (
	header = "\xff\xff\xff\xff"
	// detectBytes is how much of a payload Detect sees. A payload of this length may
	// be longer.
	detectBytes = 64
)

// Detect judges a payload by its first bytes. See [dissect.Protocol]. Many
// requests are a single letter, which proves nothing.
func Detect(b []byte) dissect.Verdict {
	rest, headed := bytes.CutPrefix(b, []byte(header))
	if len(rest) == 0 {
		return dissect.No
	}
	k := &kinds[rest[0]]
	if k.reply && !headed {
		return dissect.No
	}
	v := k.forms.Judge(rest[1:])
	if rest[0] == typeServersRequest {
		v = detectServersRequest(rest[1:])
	}
	// Masters accept the header, but short requests with it are more likely A2S.
	return nettext.Either(headed && !k.reply && v < dissect.Likely, dissect.No, v)
}

// A kind is a type of message: its name, what it asks for or answers, whether it
// always has the header, the forms in which it is recognised, and its decoder.
type kind struct {
	message       *dissect.MessageType
	asks, answers dissect.Topic
	reply         bool
	forms         wire.Forms
	decode        func(*decoder, *dissect.Reader, *dissect.Message, byte)
}

// kinds are the types of messages by their letters.
var kinds = [256]kind{
	typeServersRequest: {mServersRequest, topicServers, 0, false, nil, (*decoder).decodeServersRequest},
	typeBatchRequest: {mServersRequest, topicServers, 0, false, wire.Forms{wire.Possible("", func(rest []byte) bool {
		return (len(rest) == 3 || len(rest) == 4) && rest[len(rest)-1] == 0 // a number of a server
	})}, (*decoder).decodeOldRequest},
	typeAllRequest: {mServersRequest, topicServers, 0, false, alone, (*decoder).decodeOldRequest},
	typeServersReply: {mServersReply, 0, topicServers, true, wire.Forms{
		wire.Certain("\n", wire.Empty),
		wire.Certain("\n", wire.AtLeast(6)),
		wire.Likely("\n", nil),
		wire.Likely("\r", func(rest []byte) bool { return entries(rest, 4) }),
	}, (*decoder).decodeServersReply},
	typeAllReply: {mServersReply, 0, topicServers, true, wire.Forms{
		wire.Likely("\r", func(rest []byte) bool { return len(rest) >= 6 && entries(rest, 0) }),
		wire.Possible("\n", func(rest []byte) bool { return entries(rest, 0) }), // QuakeWorld's is the same
	}, (*decoder).decodeServersReply},
	typeJoin: {mJoin, topicJoin, 0, false, wire.Forms{
		wire.Likely("\xff", func(rest []byte) bool { return len(rest) == 4 && wire.Varied(rest) }), // Xash3D
		wire.Possible("\xff", wire.Empty),
		wire.Possible("", wire.Ends),
	}, (*decoder).decodeJoin},
	typeChallenge: {mChallenge, 0, topicJoin, true, wire.Forms{wire.Certain("\n", wire.Length(4, 8)), wire.Possible("\n", nil)}, (*decoder).decodeChallenge},
	typeHeartbeat: {mHeartbeat, 0, 0, false, wire.Forms{
		wire.Certain("\n\\protocol\\", nil),
		wire.Likely("\n\\", func(rest []byte) bool { return wire.Letters(rest) > 0 }),
	}, (*decoder).decodeHeartbeat},
	// A challenge, a sequence number, the players and a protocol, each in its own
	// line. QuakeWorld's heartbeat has only two lines.
	typeOldHeartbeat: {mHeartbeat, 0, 0, false, wire.Forms{wire.Likely("", func(rest []byte) bool { return numbers(rest) >= 4 })}, (*decoder).decodeOldHeartbeat},
	typeQuit:         {mQuit, 0, 0, false, wire.Forms{wire.Possible("\n", nul)}, (*decoder).decodeQuit},
	typePing:         {mPing, topicPing, 0, false, alone, (*decoder).decodeLetter},
	// A2S sends the same, but without the new line of the old masters.
	typePingReply:   {mPingReply, 0, topicPing, true, wire.Forms{wire.Likely("\r\n", nul), alone[0]}, (*decoder).decodeLetter},
	typeMOTDRequest: {mMOTDRequest, topicMOTD, 0, false, alone, (*decoder).decodeLetter},
	typeMOTDReply:   {mMOTDReply, 0, topicMOTD, true, wire.Forms{wire.Likely("\r\n", wire.AtLeast(1))}, (*decoder).decodeText},
	typeMastersRequest: {mMastersRequest, topicMasters, 0, false, wire.Forms{
		alone[0], wire.Possible("\r", lines(1)), wire.Possible("\n", lines(1)),
	}, (*decoder).decodeMastersRequest},
	typeMastersReply: {mMastersReply, 0, topicMasters, true, wire.Forms{wire.Likely("\r", wire.AtLeast(6))}, (*decoder).decodeMastersReply},
	typeModsRequest:  {mModsRequest, topicMods, 0, false, mods, (*decoder).decodeModsRequest},
	typeModsRequest2: {mModsRequest, topicMods, 0, false, mods, (*decoder).decodeModsRequest},
	typeModsRequest3: {mModsRequest, topicMods, 0, false, mods, (*decoder).decodeModsRequest},
	typeModsReply:    {mModsReply, 0, topicMods, true, modList, (*decoder).decodeModsReply},
	typeModsReply2:   {mModsReply, 0, topicMods, true, modList, (*decoder).decodeModsReply},
	typeModsReply3:   {mModsReply, 0, topicMods, true, modList, (*decoder).decodeModsReply},
	typeReject: {mReject, 0, 0, true, wire.Forms{
		wire.Possible("\n", func(rest []byte) bool { return len(rest) > 1 && (cutOff(rest) || printable(rest)) }),
	}, (*decoder).decodeText},
	typeNack:    {mNack, 0, 0, false, wire.Forms{wire.Possible("\r\n", lines(1))}, (*decoder).decodeText},
	typeRestart: {mRestart, 0, 0, true, wire.Forms{wire.Likely("\r\n", nul)}, (*decoder).decodeLetter},
}

var (
	alone   = wire.Forms{wire.Possible("", wire.Ends)}
	mods    = wire.Forms{wire.Certain("\r\nstart-of-list", nil), wire.Possible("\r\n", lines(2))}
	modList = wire.Forms{wire.Likely("\r", func(rest []byte) bool { return len(rest) > 0 && (rest[0] >= ' ' || rest[0] == '\n') })}
)

// nul reports whether rest is empty or one zero byte.
func nul(rest []byte) bool { return string(rest) == "" || string(rest) == "\x00" }

// lines returns a function that reports whether rest is n or more bytes of text.
func lines(n int) func(rest []byte) bool {
	return func(rest []byte) bool { return len(rest) >= n && printable(rest) }
}

// cutOff reports whether the message may be longer than what Detect sees. rest follows
// the header, the letter and one more byte.
func cutOff(rest []byte) bool { return len(rest) >= detectBytes-len(header)-2 }

// entries reports whether rest consists of entries of six bytes and extra bytes.
func entries(rest []byte, extra int) bool { return cutOff(rest) || len(rest)%6 == extra }

// printable reports whether b is lines of text, with at most one zero byte at the end.
func printable(b []byte) bool {
	for i, c := range b {
		if c < ' ' && c != '\r' && c != '\n' && (c != 0 || i+1 < len(b)) {
			return false
		}
	}
	return true
}

// numbers returns how many of the first lines of b are numbers. A line end comes before
// each number.
func numbers(b []byte) int {
	for n := 0; ; n++ {
		start := len(b)
		b = bytes.TrimLeft(b, "\r\n")
		if len(b) == start {
			return n // no line end before it, or the end
		}
		digits := 0
		for digits < len(b) && (b[digits] >= '0' && b[digits] <= '9' || digits == 0 && b[0] == '-') {
			digits++
		}
		if digits == 0 || digits > 11 || digits == len(b) {
			return n
		}
		b = b[digits:]
	}
}

// detectServersRequest judges a type 1 request; b follows the letter.
func detectServersRequest(b []byte) dissect.Verdict {
	form, seed := formOf(b)
	switch form {
	case formText:
		if _, ok := parseSeed4(seed); !ok {
			// An IPv6 address or none: the port shows which.
			if bytes.HasPrefix(seed, []byte("[")) && bytes.Contains(seed, []byte("]:")) {
				return dissect.Likely
			}
			if bytes.ContainsFunc(b[1:], func(r rune) bool { return r != 0 && r < ' ' || r >= 0x7f }) {
				return dissect.No
			}
			return dissect.Possible
		}
		rest := b[1+len(seed)+1:]
		known := b[0] <= lastRegion || b[0] == everywhere
		return nettext.Either(known && (len(rest) == 0 || rest[0] == 0 || rest[0] == '\\'), dissect.Certain, dissect.Likely)
	case formCursor:
		switch {
		case len(b) == cursorForm && b[0]|b[1]|b[2]|b[3] == 0:
			return dissect.Possible
		case len(b) == cursorForm: // whoever goes on has begun
			return dissect.Doubtful
		case isFilter(b[cursorForm:]):
			return dissect.Likely
		}
	}
	return dissect.No
}

// isFilter reports whether b is text to its end or to a NUL that ends it.
func isFilter(b []byte) bool {
	for i, c := range b {
		if c == 0 {
			return i == len(b)-1
		}
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return true
}

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

// A decoder owns one message of each type and reuses it.
type decoder struct {
	serversRequest ServersRequest
	servers        ServersReply
	join           Join
	challenge      Challenge
	heartbeat      Heartbeat
	quit           Quit
	request        Request
	text           Text
	masters        MastersReply
	mods           ModsReply
	pairs          []dissect.KeyValue
	unknown        Unknown
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	if r.HasPrefix(header) {
		r.I32(fHeader)
	}
	at := r.Offset()
	letter := r.U8(fType)
	if k := &kinds[letter]; k.decode != nil {
		m.Type, m.Pair.Asks, m.Pair.Answers = k.message, k.asks, k.answers
		k.decode(d, r, m, letter)
		return
	}
	u := wire.Message(m, mUnknown, &d.unknown, Unknown{Type: letter})
	if !r.Failed() {
		r.Find(unknownType, fType, at, 1, dissect.Num(letter))
	}
	u.Data = core.Remaining(r, fPayload)
}

// decodeLetter reads a message that is a single letter.
func (d *decoder) decodeLetter(r *dissect.Reader, m *dissect.Message, letter byte) {
	wire.Body(m, &d.request, Request{Type: letter})
	skipLine(r)
	readNul(r)
}

func newLine(c byte) bool { return c == '\r' || c == '\n' }

// skipLine reads a line end, if there is one.
func skipLine(r *dissect.Reader) { core.BytesWhile(r, fNewLine, newLine) }

// readNul reads a zero byte at the end of a message. Many senders omit it.
func readNul(r *dissect.Reader) {
	if r.Left() == 1 && r.Next(0) {
		r.Bytes(fTerminate, 1)
	}
}

// line reads text up to a line end or a zero byte, and the line ends that follow.
func line(r *dissect.Reader, f *dissect.Field) string {
	n := r.Until("\r\n\x00")
	if r.PeekByte(n) == 0 {
		return r.Span(f, 0, 0, n, 1)
	}
	return r.Span(f, 0, 0, n, core.While(r, n, newLine)-n)
}

// decodeText reads a text that follows a new line.
func (d *decoder) decodeText(r *dissect.Reader, m *dissect.Message, letter byte) {
	wire.Body(m, &d.text, Text{Type: letter})
	f := nettext.Either(letter == typeMOTDReply, fMOTD, fText)
	skipLine(r)
	d.text.Text, _ = core.CStringOrRest(r, f)
}

// decodeMastersRequest reads type v: version and product of the client, each in its own
// line.
func (d *decoder) decodeMastersRequest(r *dissect.Reader, m *dissect.Message, _ byte) {
	q := wire.Body(m, &d.request, Request{Type: typeMastersRequest})
	skipLine(r)
	if r.More() {
		q.Version = line(r, fVersion)
	}
	if r.More() {
		q.Product = line(r, fProduct)
	}
	readNul(r)
}

const outOfDate = "outofdate"

// decodeMastersReply reads type w: three lists, each followed by FF FF FF FF.
func (d *decoder) decodeMastersReply(r *dissect.Reader, m *dissect.Message, _ byte) {
	p := wire.Body(m, &d.masters, MastersReply{Auth: d.masters.Auth[:0], Directory: d.masters.Directory[:0], Masters: d.masters.Masters[:0]})
	r.Bytes(fNewLine, 1)
	if r.HasPrefix(outOfDate) {
		r.CString(fStatus)
		p.OutOfDate = true
		return
	}
	p.Auth = readMasters(r, fAuth, p.Auth)
	p.Directory = readMasters(r, fTitan, p.Directory)
	p.Masters = readMasters(r, fMasters, p.Masters)
}

func readMasters(r *dissect.Reader, f *dissect.Field, dst []netip.AddrPort) []netip.AddrPort {
	more := func() bool { return r.More() && !r.HasPrefix(header) }
	dst = wire.Wholes(r, f, dst, more, func() netip.AddrPort { return wire.Endpoint(r, fMaster, false, false) })
	r.Bytes(fDivider, len(header))
	return dst
}

// decodeModsRequest reads types x, 2 and Q, three generations of the same request.
func (d *decoder) decodeModsRequest(r *dissect.Reader, m *dissect.Message, letter byte) {
	q := wire.Body(m, &d.request, Request{Type: letter})
	skipLine(r)
	q.From = r.CString(fFirstMod)
}

const (
	endOfList  = "end-of-list"
	moreInList = "more-in-list"
	endOfMod   = "end"
)

// decodeModsReply reads type y, with name, servers and players of each mod, and types F
// and P, with keys and values.
func (d *decoder) decodeModsReply(r *dissect.Reader, m *dissect.Message, letter byte) {
	p := wire.Body(m, &d.mods, ModsReply{Mods: d.mods.Mods[:0]})
	skipLine(r)
	more := func() bool { return r.More() && !r.HasPrefix(endOfList+"\x00") && !r.HasPrefix(moreInList+"\x00") }
	p.Mods = wire.Records(r, fMods, fMod, p.Mods, more, func() (mod Mod) {
		if letter != typeModsReply {
			return d.readMod(r)
		}
		mod.Name = r.CString(fModName)
		mod.Servers, _ = nettext.ParseInt(r.CString(fModCount))
		mod.Players, _ = nettext.ParseInt(r.CString(fModUsers))
		return mod
	})
	p.More = r.CString(fModsEnd) == moreInList
}

// readMod reads the keys and values of a mod up to the word end, which is sent as a key
// and as a value.
func (d *decoder) readMod(r *dissect.Reader) (mod Mod) {
	more := func() bool { return r.More() && !r.HasPrefix(endOfMod+"\x00") }
	pairs := wire.Items(r, rules.List, rules.Pair, d.pairs[:0], more, func() dissect.KeyValue {
		return dissect.KeyValue{Key: r.CString(rules.Key), Value: r.CString(rules.Value)}
	})
	r.CString(fModEnd)
	r.CString(fModEnd)
	mod.Name = keyvalue.Text(pairs, "gamedir").Value
	mod.Servers = int64(keyvalue.Number(pairs, "is").Value)
	mod.Players = int64(keyvalue.Number(pairs, "ip").Value)
	d.pairs = pairs
	return mod
}
