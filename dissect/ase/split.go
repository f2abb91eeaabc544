package ase

import (
	"encoding/binary"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/reassembly"
)

// A reply of more than 1364 bytes is sent in several datagrams, as qstat reads it. The
// fourth byte is the number of the datagram, the last four bytes are an id that all
// share, and a datagram of less than 1364 bytes is the last one. The data between is
// the reply, cut at any byte; only the first datagram has the mark EYE1.
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
		// A complete reply may have 1364 bytes by chance.
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

// Join joins consecutive datagrams from the first on.
func (d *decoder) Join(r *dissect.Reader, _ uint8, m *dissect.Message) bool {
	m.Variant = "ase"
	joined := core.Buffer(r)
	next := 1
	for i := range r.Parts() {
		r.Part(i)
		data := d.readPart(r)
		if d.part.Number == next {
			joined = append(joined, data...)
			next++
		}
	}
	core.Keep(r, joined)
	if next == 1 {
		m.Type, m.Body, m.Pair.Answers = mPart, &d.part, topicStatus
		r.Note(partFirst)
		return false
	}
	r.Open("joined", joined)
	return true
}

// readPart reads one datagram and returns its data.
func (d *decoder) readPart(r *dissect.Reader) []byte {
	r.Text(fPartMagic, len(magic))
	d.part = Part{Number: int(r.U8(fPartNumber)) - '0'}
	data := r.Bytes(fPart, r.Left()-partID)
	d.part.ID = r.U32(fPartID)
	return data
}
