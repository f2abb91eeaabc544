package ase

import (
	"encoding/binary"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/reassembly"
)

// A reply that does not fit into one datagram of 1364 bytes comes in several,
// as qstat reads it: the fourth byte is the number of the datagram, the last
// four bytes are a number that they share, and a datagram of less than 1364
// bytes is the last one. What stands between is the reply, cut anywhere; the
// mark EYE1 stands in the first one alone.
const (
	fullPart   = 1364
	partHeader = 4
	partID     = 4
	minPart    = partHeader + partID
)

// readPart reads the number of a datagram. See [reassembly.ReadPart].
func readPart(b []byte, _ uint8) (reassembly.Part, bool) {
	if len(b) < minPart || string(b[:3]) != magic || b[3] < '1' || b[3] > '9' || isShort(b) {
		return reassembly.Part{}, false
	}
	p := reassembly.Part{
		ID: uint64(binary.LittleEndian.Uint32(b[len(b)-partID:])), Index: int(b[3] - '1'), Header: partHeader, Variant: 1,
	}
	if p.Index == 0 {
		// A reply of 1364 bytes may also be whole by chance.
		if len(b) != fullPart {
			return reassembly.Part{}, false
		}
		var l layout
		if _, whole := l.walk(b[partHeader:], false); whole {
			return reassembly.Part{}, false
		}
	}
	if len(b) < fullPart {
		p.Total = p.Index + 1
	}
	return p, true
}

// Join joins the datagrams that stand one behind the other from the first.
func (d *decoder) Join(r *dissect.Reader, _ uint8, m *dissect.Message) bool {
	m.Variant = "ase"
	joined := r.Buffer()
	next := 1
	for i := range r.Parts() {
		r.Part(i)
		data := d.readPart(r)
		if d.part.Number == next {
			joined = append(joined, data...)
			next++
		}
	}
	r.Keep(joined)
	if next == 1 {
		m.Type, m.Body = mPart, &d.part
		m.Pair.Answers = topicStatus
		r.Note(partFirst)
		return false
	}
	r.Open("joined", joined)
	return true
}

// readPart reads one datagram and returns its piece of the reply.
func (d *decoder) readPart(r *dissect.Reader) []byte {
	r.Text(fPartMagic, len(magic))
	d.part = Part{Number: int(r.U8(fPartNumber)) - '0'}
	data := r.Bytes(fPart, r.Left()-partID)
	d.part.ID = r.U32(fPartID)
	return data
}
