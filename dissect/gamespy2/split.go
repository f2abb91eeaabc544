package gamespy2

import (
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/reassembly"
)

// readPart reads the place of a datagram in a reply. See [reassembly.ReadPart].
//
// The datagrams of a reply have no numbers. Each begins with the session id of the
// request and is cut after a zero byte (A gameserver Query Library, "Gamespy v1 and
// v2"). So a reply that breaks off in its settings or in a table is a first part, and a
// datagram that does not begin like a reply continues it. Two zero bytes end a reply.
func readPart(b []byte, _ uint8) (reassembly.Part, bool) {
	if len(b) <= gamespy.ReplyHead || b[0] != gamespy.TypeQuery || b[len(b)-1] != 0 {
		return reassembly.Part{}, false
	}
	rest := b[gamespy.ReplyHead:]
	p := reassembly.Part{ID: uint64(gamespy.Session(b)), Header: gamespy.ReplyHead, Variant: 1}
	if gamespy.BeginsBody(rest) {
		return p, gamespy.BreaksOff(rest)
	}
	p.Index = -1
	p.Last = len(rest) > 1 && rest[len(rest)-2] == 0
	return p, true
}

// Join joins the data of all parts.
func (d *decoder) Join(r *dissect.Reader, _ uint8, m *dissect.Message) bool {
	m.Variant = "session"
	d.middle = isMiddle(core.PeekFrom(r, gamespy.ReplyHead))
	joined := core.Buffer(r)
	for i := range r.Parts() {
		r.Part(i)
		if i == 0 {
			_, _, d.session = head.Read(r)
		} else {
			r.Bytes(fPartHead, gamespy.ReplyHead)
		}
		joined = append(joined, r.Rest(fPart)...)
	}
	core.Keep(r, joined)
	r.Open("joined", joined)
	return true
}

// isMiddle reports whether b continues a reply whose beginning is missing.
func isMiddle(b []byte) bool { return !gamespy.BeginsBody(b) && !gamespy.ArePairs(b) }
