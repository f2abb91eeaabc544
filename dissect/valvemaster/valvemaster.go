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
	if len(b) == 0 {
		return dissect.No
	}
	rest := b[1:]
	switch b[0] {
	case typeServersRequest:
		return detectServersRequest(b)
	case typeHeartbeat:
		switch {
		case bytes.HasPrefix(rest, []byte("\n\\protocol\\")):
			return dissect.Certain
		case len(rest) > 2 && rest[0] == '\n' && rest[1] == '\\' && rest[2]|0x20 >= 'a' && rest[2]|0x20 <= 'z':
			return dissect.Likely
		}
	case typeOldHeartbeat:
		// A challenge, a sequence number, players and a protocol, each in a
		// line of its own. QuakeWorld's has only two.
		if numbers(rest) >= 4 {
			return dissect.Likely
		}
	case typeJoin:
		switch {
		case len(rest) == 5 && rest[0] == 0xff: // Xash3D
			return dissect.Likely
		case alone(rest), len(rest) == 1 && rest[0] == 0xff:
			return dissect.Possible
		}
	case typeQuit:
		if string(rest) == "\n" || string(rest) == "\n\x00" {
			return dissect.Possible
		}
	case typeBatchRequest:
		if len(rest) == 3 || len(rest) == 4 {
			return dissect.Possible
		}
	case typeAllRequest, typePing, typeMOTDRequest:
		if alone(rest) {
			return dissect.Possible
		}
	case typeMastersRequest:
		if alone(rest) || len(rest) > 1 && (rest[0] == '\r' || rest[0] == '\n') && printable(rest) {
			return dissect.Possible
		}
	case typeModsRequest, typeModsRequest2, typeModsRequest3:
		switch {
		case bytes.HasPrefix(rest, []byte("\r\nstart-of-list")):
			return dissect.Certain
		case len(rest) > 3 && rest[0] == '\r' && rest[1] == '\n' && printable(rest):
			return dissect.Possible
		}
	case typeNack:
		if len(rest) > 2 && rest[0] == '\r' && rest[1] == '\n' && printable(rest) {
			return dissect.Possible
		}
	}
	return dissect.No
}

// alone reports whether nothing that matters follows a letter: the engine ends
// commands with a new line, and some senders with a zero byte.
func alone(rest []byte) bool {
	switch string(rest) {
	case "", "\n", "\n\x00", "\r\n", "\r\n\x00", "\x00":
		return true
	}
	return false
}

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

// detectReply judges what follows the header.
func detectReply(b []byte) dissect.Verdict {
	if len(b) == 1 && b[0] == typePingReply {
		return dissect.Possible
	}
	if len(b) < 2 {
		return dissect.No
	}
	// The whole payload is seen if it is short.
	rest, whole := b[2:], len(b) < detectBytes-len(header)
	newLine, half := b[1] == '\n', b[1] == '\r'
	switch b[0] {
	case typeServersReply:
		switch {
		case newLine && (len(rest) >= 6 || len(rest) == 0):
			return dissect.Certain
		case newLine, half && (!whole || len(rest)%6 == 4):
			return dissect.Likely
		}
	case typeAllReply:
		switch {
		case half && len(rest) >= 6 && (!whole || len(rest)%6 == 0):
			return dissect.Likely
		case newLine && (!whole || len(rest)%6 == 0): // also QuakeWorld's
			return dissect.Possible
		}
	case typeChallenge:
		switch {
		case newLine && (len(rest) == 4 || len(rest) == 8):
			return dissect.Certain
		case newLine:
			return dissect.Possible
		}
	case typePingReply:
		// The same as that of A2S, but for the new line of the old masters.
		switch {
		case half && alone(b[1:]):
			return dissect.Likely
		case alone(b[1:]):
			return dissect.Possible
		}
	case typeMOTDReply:
		if half && len(rest) > 1 && rest[0] == '\n' {
			return dissect.Likely
		}
	case typeMastersReply:
		if half && len(rest) >= 6 {
			return dissect.Likely
		}
	case typeModsReply, typeModsReply2, typeModsReply3:
		if half && len(rest) > 0 && (rest[0] >= ' ' || rest[0] == '\n') {
			return dissect.Likely
		}
	case typeReject:
		if newLine && len(rest) > 1 && (!whole || printable(rest)) {
			return dissect.Possible
		}
	case typeRestart:
		if half && (string(rest) == "\n" || string(rest) == "\n\x00") {
			return dissect.Likely
		}
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
