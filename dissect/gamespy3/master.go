package gamespy3

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
)

// isAvailableReply reports whether a request is the answer to an availability
// check: a handshake without a session, and four bytes of status. Clients that
// append four bytes to their handshakes have a session.
func isAvailableReply(b []byte) bool {
	return len(b) == gamespy.RequestHead+4 && string(b[:gamespy.RequestHead]) == "\xfe\xfd\x09\x00\x00\x00\x00"
}

// natNegMagic begins the messages of NAT negotiation.
const natNegMagic = "\xfd\xfc\x1e\x66\x6a\xb2"

// decodeMaster reads what servers and the servers of GameSpy say to each other.
// The key between type and data is chosen by the server; the master server
// sends it back.
func (d *decoder) decodeMaster(r *dissect.Reader, m *dissect.Message) {
	mark := r.Mark()
	request, kind, key := head.Read(r)
	p := &d.master
	*p = Master{Type: kind, Key: key}
	m.Body = p
	m.Pair.ID = gamespy.ID(key)
	switch {
	case kind == gamespy.TypeHeartbeat && !request:
		d.decodeHeartbeat(r, m, key)
	case kind == gamespy.TypeHandshake && request:
		m.Type, m.Pair.Answers = mAvailableReply, topicAvailable
		p.Code = r.U32BE(fStatus)
	case kind == gamespy.TypeHandshake:
		m.Type, m.Pair.Asks = mAvailable, topicAvailable
		p.Text = r.CString(fGameName)
	case kind == gamespy.TypeChallenge && request:
		m.Type, m.Pair.Asks = mChallengeRequest, topicMaster
		p.Text = readChallenge(r)
	case kind == gamespy.TypeChallenge:
		m.Type, m.Pair.Answers = mChallengeReply, topicMaster
		p.Text = r.CString(fResponse)
	case kind == gamespy.TypeEcho && request:
		m.Type, m.Pair.Asks = mEchoRequest, topicEcho
		p.Data = r.Rest(fEcho)
	case kind == gamespy.TypeEchoReply && !request:
		m.Type, m.Pair.Answers = mEchoReply, topicEcho
		p.Data = r.Rest(fEcho)
	case kind == gamespy.TypeAddError && request:
		m.Type = mError
		p.Code = uint32(r.U8(fErrorCode))
		p.Text = r.CString(fErrorText)
	case kind == gamespy.TypeMessage && request:
		m.Type, m.Pair.Asks = mMessage, topicMessage
		p.Code = r.U32BE(fMessageID)
		d.readMessage(r)
	case kind == gamespy.TypeMessageAck && !request:
		m.Type, m.Pair.Answers = mMessageAck, topicMessage
		p.Code = r.U32BE(fMessageID)
	case kind == gamespy.TypeRegistered && request:
		m.Type = mRegistered
	case kind == gamespy.TypeKeepAlive:
		m.Type = mKeepAlive
	default:
		m.Type = mKeepAlive
		r.Return(mark)
		r.Fail(head.Type, "no such type")
	}
}

// decodeHeartbeat reads the settings of a server and its tables, in the format
// of a reply in one packet.
func (d *decoder) decodeHeartbeat(r *dissect.Reader, m *dissect.Message, key uint32) {
	p := &d.heartbeat
	*p = Heartbeat{Key: key}
	m.Type, m.Body = mHeartbeat, p
	d.body.ReadPairs(r)
	p.Rules, p.Players, p.Teams = d.body.Rules, d.body.Players, d.body.Teams
	m.Server = gamespy.Server(p.Rules, style)
}

// addressLen is the length of options and public address at the end of a
// challenge, in hex: a byte, four bytes, two bytes.
const addressLen = 2 + 8 + 4

// readChallenge reads the challenge of the master server. All of the text is
// what the server must encrypt.
func readChallenge(r *dissect.Reader) string {
	n := r.Until("\x00") - addressLen
	if n <= 0 || !isHex(r.PeekTo(n+addressLen), n) {
		return r.CString(fMasterChallenge)
	}
	text := r.Text(fMasterChallenge, n)
	r.Text(fBackendOptions, 2)
	r.CString(fPublicAddress)
	return text
}

// isHex reports whether b is made of hexadecimal digits from byte i on.
func isHex(b []byte, i int) bool {
	for _, c := range b[min(i, len(b)):] {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}

// readMessage reads the message of a client: the cookie of a NAT negotiation, or
// whatever the game sends.
func (d *decoder) readMessage(r *dissect.Reader) {
	if r.HasPrefix(natNegMagic) && r.Left() >= len(natNegMagic)+4 {
		r.Bytes(fNatNegMagic, len(natNegMagic))
		d.master.Cookie = dissect.Some(r.U32BE(fCookie))
	}
	if r.More() {
		d.master.Data = r.Rest(fMessage)
	}
}
