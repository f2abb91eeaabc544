package gamespy3

import (
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
	"github.com/qdissect/qdissect/internal/core"
)

// isAvailableReply reports whether a request is the reply to an availability check: a
// handshake without a session id, and four bytes of status. A handshake of a client may
// have four bytes too, but also has a session id.
func isAvailableReply(b []byte) bool {
	return len(b) == gamespy.RequestHead+4 && string(b[:gamespy.RequestHead]) == "\xfe\xfd\x09\x00\x00\x00\x00"
}

// natNegMagic begins the messages of NAT negotiation.
const natNegMagic = "\xfd\xfc\x1e\x66\x6a\xb2"

// decodeMaster reads the messages between servers and the servers of GameSpy. The
// server chooses the key between type and data, and the master server returns it.
func (d *decoder) decodeMaster(r *dissect.Reader, m *dissect.Message) {
	mark := core.Here(r)
	request, kind, key := head.Read(r)
	d.master = Master{Type: kind, Key: key}
	m.Body, m.Pair.ID = &d.master, gamespy.ID(key)
	k := &replies[kind]
	if request {
		k = &requests[kind]
	}
	if k.decode == nil {
		m.Type = mKeepAlive
		core.Return(r, mark)
		r.Fail(head.Type, "no such type")
		return
	}
	m.Type, m.Pair.Asks, m.Pair.Answers = k.message, k.asks, k.answers
	k.decode(d, r, m)
}

func (d *decoder) decodeNothing(*dissect.Reader, *dissect.Message) {}

func (d *decoder) decodeAvailable(r *dissect.Reader, _ *dissect.Message) {
	d.master.Text = r.CString(fGameName)
}

func (d *decoder) decodeAvailableReply(r *dissect.Reader, _ *dissect.Message) {
	d.master.Code = r.U32BE(fStatus)
}

func (d *decoder) decodeChallengeReply(r *dissect.Reader, _ *dissect.Message) {
	d.master.Text = r.CString(fResponse)
}

func (d *decoder) decodeEcho(r *dissect.Reader, _ *dissect.Message) { d.master.Data = r.Rest(fEcho) }

func (d *decoder) decodeError(r *dissect.Reader, _ *dissect.Message) {
	d.master.Code = uint32(r.U8(fErrorCode))
	d.master.Text = r.CString(fErrorText)
}

func (d *decoder) decodeMessageAck(r *dissect.Reader, _ *dissect.Message) {
	d.master.Code = r.U32BE(fMessageID)
}

// decodeHeartbeat reads the settings of a server and its tables, in the format
// of a reply in one packet.
func (d *decoder) decodeHeartbeat(r *dissect.Reader, m *dissect.Message) {
	p := &d.heartbeat
	*p = Heartbeat{Key: d.master.Key}
	m.Body = p
	d.body.ReadPairs(r)
	p.Rules, p.Players, p.Teams = d.body.Rules, d.body.Players, d.body.Teams
	m.Server = gamespy.Server(p.Rules, style)
}

// addressLen is the length in hexadecimal digits of the data at the end of a challenge:
// one byte of options, four bytes of IP address, two bytes of port.
const addressLen = 2 + 8 + 4

// decodeChallengeRequest reads the challenge of the master server. The server must
// encrypt the whole text.
func (d *decoder) decodeChallengeRequest(r *dissect.Reader, _ *dissect.Message) {
	n := r.Until("\x00") - addressLen
	if n <= 0 || !isHex(core.PeekTo(r, n+addressLen), n) {
		d.master.Text = r.CString(fMasterChallenge)
		return
	}
	d.master.Text = r.Text(fMasterChallenge, n)
	r.Text(fBackendOptions, 2)
	r.CString(fPublicAddress)
}

// isHex reports whether b consists of hexadecimal digits from byte i on.
func isHex(b []byte, i int) bool {
	return !slices.ContainsFunc(b[min(i, len(b)):], func(c byte) bool { return (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') })
}

// decodeMessage reads the message of a client: the cookie of a NAT negotiation, or data
// of the game.
func (d *decoder) decodeMessage(r *dissect.Reader, _ *dissect.Message) {
	d.master.Code = r.U32BE(fMessageID)
	if r.HasPrefix(natNegMagic) && r.Left() >= len(natNegMagic)+4 {
		r.Bytes(fNatNegMagic, len(natNegMagic))
		d.master.Cookie = dissect.Some(r.U32BE(fCookie))
	}
	if r.More() {
		d.master.Data = r.Rest(fMessage)
	}
}
