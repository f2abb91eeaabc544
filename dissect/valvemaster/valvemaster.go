package valvemaster

import (
	"bytes"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/judge"
	"github.com/qdissect/qdissect/dissect/internal/wire"
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:   "valve-master",
	Title:  "Valve master server queries",
	Doc:    "Requests to master servers for addresses of GoldSrc, Source and Xash3D servers, and what those servers say to be listed: join, heartbeat, quit.",
	Source: "Valve Developer Community, Master Server Query Protocol; Half-Life engine (proto_oob.h); xash3d-master",
	Ports:  []uint16{27010, 27011, 27012, 27013, 27015, 27017, 27018, 27019},
	Starts: []byte{
		typeServersRequest, typeBatchRequest, typeAllRequest, typeJoin, typeHeartbeat, typeOldHeartbeat, typeQuit, typePing,
		typeMOTDRequest, typeMastersRequest, typeModsRequest, typeModsRequest2, typeModsRequest3, typeNack, 0xff,
	},
	Fields: fields, Messages: messages, Findings: findings,
	Detect: Detect,
	New:    func() dissect.Decoder { return new(decoder) },
	Pairing: dissect.Pairing{
		Unanswered: unanswered, Paged: true,
		OnRequest: []dissect.Rule{goesOn, judge.Mismatch(challengeMismatch)},
		OnReply:   []dissect.Rule{follows, judge.List(listing)},
		OnStray:   []dissect.Rule{judge.OtherKind(dissect.OtherKind), judge.Unrequested(unrequested)},
	},
}

const (
	header = "\xff\xff\xff\xff"
	// detectBytes is the most that Detect sees: a payload of that length may
	// go on.
	detectBytes = 64
)

// Detect judges a payload by its first bytes. See [dissect.Protocol]. Many
// requests are a letter and nothing else, which proves nothing.
func Detect(b []byte) dissect.Verdict {
	if !bytes.HasPrefix(b, []byte(header)) {
		return detectRequest(b)
	}
	b = b[len(header):]
	if v := detectReply(b); v != dissect.No {
		return v
	}
	// Masters take requests with the header as well. The short ones are
	// rather A2S.
	if v := detectRequest(b); v >= dissect.Likely {
		return v
	}
	return dissect.No
}

// detectRequest judges what begins with the letter of a request.
func detectRequest(b []byte) dissect.Verdict {
	switch {
	case len(b) == 0:
		return dissect.No
	case b[0] == typeServersRequest:
		return detectServersRequest(b)
	}
	return requests[b[0]].Judge(b[1:])
}

// detectReply judges what follows the header.
func detectReply(b []byte) dissect.Verdict {
	if len(b) == 0 {
		return dissect.No
	}
	return replies[b[0]].Judge(b[1:])
}

// requests are the forms of requests by their letters.
var requests = [256]wire.Forms{
	typeHeartbeat: {
		wire.Certain("\n\\protocol\\", nil),
		wire.Likely("\n\\", func(rest []byte) bool { return wire.Letters(rest) > 0 }),
	},
	// A challenge, a sequence number, players and a protocol, each in a line of
	// its own. QuakeWorld's has only two.
	typeOldHeartbeat: {wire.Likely("", func(rest []byte) bool { return numbers(rest) >= 4 })},
	typeJoin: {
		wire.Likely("\xff", wire.Length(4)), // Xash3D
		wire.Possible("\xff", wire.Empty),
		wire.Possible("", wire.Ends),
	},
	typeQuit:           {wire.Possible("\n", nul)},
	typeBatchRequest:   {wire.Possible("", wire.Length(3, 4))},
	typeAllRequest:     alone,
	typePing:           alone,
	typeMOTDRequest:    alone,
	typeMastersRequest: {alone[0], wire.Possible("\r", lines(1)), wire.Possible("\n", lines(1))},
	typeModsRequest:    mods,
	typeModsRequest2:   mods,
	typeModsRequest3:   mods,
	typeNack:           {wire.Possible("\r\n", lines(1))},
}

// replies are the forms of replies by their letters.
var replies = [256]wire.Forms{
	typeServersReply: {
		wire.Certain("\n", wire.Empty),
		wire.Certain("\n", wire.AtLeast(6)),
		wire.Likely("\n", nil),
		wire.Likely("\r", func(rest []byte) bool { return entries(rest, 4) }),
	},
	typeAllReply: {
		wire.Likely("\r", func(rest []byte) bool { return len(rest) >= 6 && entries(rest, 0) }),
		wire.Possible("\n", func(rest []byte) bool { return entries(rest, 0) }), // also QuakeWorld's
	},
	typeChallenge: {wire.Certain("\n", wire.Length(4, 8)), wire.Possible("\n", nil)},
	// The same as that of A2S, but for the new line of the old masters.
	typePingReply:    {wire.Likely("\r\n", nul), alone[0]},
	typeMOTDReply:    {wire.Likely("\r\n", wire.AtLeast(1))},
	typeMastersReply: {wire.Likely("\r", wire.AtLeast(6))},
	typeModsReply:    modList,
	typeModsReply2:   modList,
	typeModsReply3:   modList,
	typeReject:       {wire.Possible("\n", func(rest []byte) bool { return len(rest) > 1 && (cutOff(rest) || printable(rest)) })},
	typeRestart:      {wire.Likely("\r\n", nul)},
}

var (
	alone   = wire.Forms{wire.Possible("", wire.Ends)}
	mods    = wire.Forms{wire.Certain("\r\nstart-of-list", nil), wire.Possible("\r\n", lines(2))}
	modList = wire.Forms{wire.Likely("\r", func(rest []byte) bool { return len(rest) > 0 && (rest[0] >= ' ' || rest[0] == '\n') })}
)

// nul reports whether nothing follows but perhaps a zero byte.
func nul(rest []byte) bool { return string(rest) == "" || string(rest) == "\x00" }

// lines returns a function that reports whether n bytes of text or more follow.
func lines(n int) func(rest []byte) bool {
	return func(rest []byte) bool { return len(rest) >= n && printable(rest) }
}

// cutOff reports whether the message may go on beyond what Detect sees. rest is
// what follows the header, the letter and one byte more.
func cutOff(rest []byte) bool { return len(rest) >= detectBytes-len(header)-2 }

// entries reports whether entries of six bytes follow, and extra bytes.
func entries(rest []byte, extra int) bool { return cutOff(rest) || len(rest)%6 == extra }

// printable reports whether b holds text: lines, with a zero byte at most at the
// end.
func printable(b []byte) bool {
	for i, c := range b {
		if c < ' ' && c != '\r' && c != '\n' && (c != 0 || i+1 < len(b)) {
			return false
		}
	}
	return true
}

// numbers returns how many lines at the start of b are numbers. The first begins
// behind the end of a line.
func numbers(b []byte) int {
	for n := 0; ; n++ {
		start := len(b)
		b = bytes.TrimLeft(b, "\r\n")
		if len(b) == start {
			return n // not behind a line, or at the end
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

// detectServersRequest judges the forms of type 1.
func detectServersRequest(b []byte) dissect.Verdict {
	form, seed := formOf(b)
	switch form {
	case formText:
		if _, ok := parseSeed4(seed); !ok {
			// An address of IPv6, or none; the port is what is left.
			if bytes.HasPrefix(seed, []byte("[")) && bytes.Contains(seed, []byte("]:")) {
				return dissect.Likely
			}
			return dissect.Possible
		}
		rest := b[2+len(seed)+1:]
		known := b[1] <= lastRegion || b[1] == everywhere
		if known && (len(rest) == 0 || rest[0] == 0 || rest[0] == '\\') {
			return dissect.Certain
		}
		return dissect.Likely
	case formCursor:
		if len(b) > 5 {
			return dissect.Likely
		}
		return dissect.Possible
	}
	return dissect.No
}

// Parse reads one payload. The result is the caller's own. The error is a
// *dissect.Error that says where reading ended; what had been read until there
// is returned with it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](new(decoder), payload) }

// decoder owns one of each message, used again and again.
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
	body := r.Peek()
	at := r.Offset()
	switch letter := r.U8(fType); letter {
	case typeServersRequest:
		d.decodeServersRequest(r, m, body)
	case typeBatchRequest, typeAllRequest:
		d.decodeOldRequest(r, m, letter)
	case typeServersReply, typeAllReply:
		d.decodeServersReply(r, m, letter)
	case typeJoin:
		d.decodeJoin(r, m)
	case typeChallenge:
		d.decodeChallenge(r, m)
	case typeHeartbeat:
		d.decodeHeartbeat(r, m)
	case typeOldHeartbeat:
		d.decodeOldHeartbeat(r, m)
	case typeQuit:
		d.decodeQuit(r, m)
	case typePing:
		d.decodeLetter(r, m, letter, mPing, topicPing)
	case typePingReply:
		d.decodeLetter(r, m, letter, mPingReply, 0)
		m.Pair.Answers = topicPing
	case typeMOTDRequest:
		d.decodeLetter(r, m, letter, mMOTDRequest, topicMOTD)
	case typeMastersRequest:
		d.decodeMastersRequest(r, m)
	case typeMastersReply:
		d.decodeMastersReply(r, m)
	case typeModsRequest, typeModsRequest2, typeModsRequest3:
		d.decodeModsRequest(r, m, letter)
	case typeModsReply, typeModsReply2, typeModsReply3:
		d.decodeModsReply(r, m, letter)
	case typeMOTDReply:
		d.decodeText(r, m, letter, mMOTDReply, fMOTD)
		m.Pair.Answers = topicMOTD
	case typeReject:
		d.decodeText(r, m, letter, mReject, fText)
	case typeNack:
		d.decodeText(r, m, letter, mNack, fText)
	case typeRestart:
		d.decodeLetter(r, m, letter, mRestart, 0)
	default:
		u := &d.unknown
		*u = Unknown{Type: letter}
		m.Type, m.Body = mUnknown, u
		if !r.Failed() {
			r.Find(unknownType, fType, at, 1, dissect.Num(letter))
		}
		if r.More() {
			u.Data = r.Rest(fPayload)
		}
	}
}

// decodeLetter reads a message that is a letter.
func (d *decoder) decodeLetter(r *dissect.Reader, m *dissect.Message, letter byte, kind *dissect.MessageType, asks dissect.Topic) {
	d.request = Request{Type: letter}
	m.Type, m.Body = kind, &d.request
	m.Pair.Asks = asks
	skipLine(r)
	readNul(r)
}

func newLine(c byte) bool { return c == '\r' || c == '\n' }

// skipLine reads the end of a line, if there is one.
func skipLine(r *dissect.Reader) {
	if n := r.While(0, newLine); n > 0 {
		r.Bytes(fNewLine, n)
	}
}

// readNul reads a zero byte that ends a message, which many leave off.
func readNul(r *dissect.Reader) {
	if r.Left() == 1 && r.Next(0) {
		r.Bytes(fTerminate, 1)
	}
}

// line reads text up to the end of a line or a zero byte, with the ends of lines
// that follow it.
func line(r *dissect.Reader, f *dissect.Field) string {
	n := r.Until("\r\n\x00")
	if r.PeekByte(n) == 0 {
		return r.Span(f, 0, 0, n, 1)
	}
	return r.Span(f, 0, 0, n, r.While(n, newLine)-n)
}

// decodeText reads a text behind a new line.
func (d *decoder) decodeText(r *dissect.Reader, m *dissect.Message, letter byte, kind *dissect.MessageType, f *dissect.Field) {
	d.text = Text{Type: letter}
	m.Type, m.Body = kind, &d.text
	skipLine(r)
	d.text.Text, _ = r.CStringOrRest(f)
}
