package a2s

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/bunzip"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/reassembly"
)

// The formats of the split header. The document tells them apart by the engine,
// which a capture does not show. Here the place where a message begins in the first
// part decides.
const (
	undecided        uint8 = iota
	goldSrc                // index and total in one byte
	source                 // total, index, size
	sourceNoSize           // total, index; engines of 2004 to 2006
	sourcePacked           // sourceNoSize with unpacked size and CRC-32, in the first part or in each
	sourcePackedSize       // source with unpacked size and CRC-32
)

// formats describe them. header is the length of the header without unpacked size
// and CRC-32; evidence is where the first part shows the format.
var formats = [...]struct {
	name     string
	header   int
	sized    bool
	packed   bool
	evidence string
}{
	goldSrc:          {name: "goldsrc", header: goldSrcHeader, evidence: "FF FF FF FF at offset 9"},
	source:           {name: "source", header: sizeHeader, sized: true, evidence: "FF FF FF FF at offset 12"},
	sourceNoSize:     {name: "source-nosize", header: noSizeHeader, evidence: "FF FF FF FF at offset 10"},
	sourcePacked:     {name: "source-nosize", header: noSizeHeader, packed: true, evidence: "BZh at offset 18"},
	sourcePackedSize: {name: "source", header: sizeHeader, sized: true, packed: true, evidence: "BZh at offset 20"},
}

const (
	commonHeader  = 8 // -2 and the id
	goldSrcHeader = commonHeader + 1
	noSizeHeader  = commonHeader + 2
	sizeHeader    = commonHeader + 4
	packedExtra   = 8 // unpacked size and CRC-32

	// The part sizes that Source allows. All recorded ones are 1248 (0x04e0) or 1188
	// (0x04a4).
	minSplitSize = 400
	maxSplitSize = 1400
)

var single, bzip = []byte(header), []byte("BZh")

// readSplit reads a split header. See [reassembly.ReadPart].
func readSplit(b []byte, variant uint8) (reassembly.Part, bool) {
	if len(b) < goldSrcHeader || string(b[:4]) != splitHeader {
		return reassembly.Part{}, false
	}
	if variant != undecided {
		return readAs(b, variant)
	}
	if variant = decide(b); variant != undecided {
		p, ok := readAs(b, variant)
		p.Cut = p.Total == 1 && cutShort(b[p.Header:])
		return p, ok
	}
	p, ok := readAs(b, guess(b))
	p.Variant, p.Guess = undecided, p.Variant
	return p, ok && (p.Index < p.Total || mayBelong(b, p.Guess))
}

// mayBelong reports whether a part whose index is not below its own total may
// belong to a message of which other parts state a larger total: no message begins
// in it, and its format has a size or is GoldSrc's.
func mayBelong(b []byte, variant uint8) bool {
	for v := goldSrc; v <= sourcePackedSize; v++ {
		if begins(b, v) {
			return false
		}
	}
	return variant == goldSrc || formats[variant].sized
}

// cutShort reports whether the list of rules or players in a message ends too early.
func cutShort(b []byte) bool {
	if len(b) < len(single)+3 {
		return len(b) > len(single)
	}
	body := b[len(single)+1:]
	switch b[len(single)] {
	case typeRulesReply:
		n := min(binary.LittleEndian.Uint16(body), binary.BigEndian.Uint16(body))
		return bytes.Count(body[2:], []byte{0}) < 2*int(n)
	case typePlayersReply:
		n := int(body[0])
		for body = body[1:]; n > 0; n-- {
			size := recordLen(body)
			if size == 0 {
				return true
			}
			body = body[size:]
		}
	}
	return false
}

// readAs reads a split header in one format. The index may lie beyond the total;
// see [reassembly.Part].
func readAs(b []byte, variant uint8) (reassembly.Part, bool) {
	p := reassembly.Part{ID: uint64(binary.LittleEndian.Uint32(b[4:])), Variant: variant}
	if variant == undecided || int(variant) >= len(formats) {
		return p, false
	}
	f := &formats[variant]
	if p.Header = f.header; len(b) < p.Header {
		return p, false
	}
	if variant == goldSrc {
		p.Index, p.Total = int(b[8]>>4), int(b[8]&15)
	} else {
		p.Index, p.Total = int(b[9]), int(b[8])
	}
	if f.sized {
		p.Size = int(binary.LittleEndian.Uint16(b[10:]))
	}
	if p.Index == 0 && f.packed {
		// The first part has the unpacked size and the CRC-32. Whether the others
		// repeat them shows when all parts are there; see [repeated].
		p.Header += packedExtra
	}
	return p, p.Total >= 1 && p.Header <= len(b)
}

// decide returns the format of a first part, by where a message begins in it. It
// returns undecided for any other part.
func decide(b []byte) uint8 {
	if b[8]>>4 == 0 && begins(b, goldSrc) {
		return goldSrc
	}
	if len(b) < noSizeHeader || b[9] != 0 {
		return undecided
	}
	packed := binary.LittleEndian.Uint32(b[4:])&compressedBit != 0
	for _, v := range [...]uint8{sourcePacked, sourcePackedSize, sourceNoSize, source} {
		if (packed || !formats[v].packed) && begins(b, v) {
			return v
		}
	}
	return undecided
}

// begins reports whether a message begins where the first part of a format has it.
func begins(b []byte, variant uint8) bool {
	at, want := formats[variant].header, single
	if formats[variant].packed {
		at, want = at+packedExtra, bzip
	}
	return len(b) >= at && bytes.HasPrefix(b[at:], want)
}

// guess returns the most likely format of a later part, or of a damaged first part. The
// other parts of the set must agree with it; see [reassembly.Part].
func guess(b []byte) uint8 {
	sized, plain := source, sourceNoSize
	if binary.LittleEndian.Uint32(b[4:])&compressedBit != 0 {
		sized, plain = sourcePackedSize, sourcePacked
	}
	if p, ok := readAs(b, sized); ok && p.Size >= minSplitSize && p.Size <= maxSplitSize {
		return sized
	}
	p, is := readAs(b, plain)
	if begins(b, plain) {
		return plain // a first part with an impossible index
	}
	is = is && p.Index < p.Total
	if p, _ := readAs(b, goldSrc); p.Total >= 2 && (p.Index < p.Total || !is) {
		// A total of 32 or more is more likely GoldSrc's index and total in one byte.
		// In a later part of GoldSrc the next byte is text, or the zero byte after a
		// text.
		if !is || p.Index >= 2 || p.Index == 1 && b[9] == 0 {
			return goldSrc
		}
	}
	return plain
}

// detectSplit judges the header of a part.
func detectSplit(b []byte) dissect.Verdict {
	p, ok := readSplit(b, undecided)
	switch {
	case !ok:
		return dissect.Possible
	case p.Variant != undecided:
		return dissect.Certain
	case p.Index >= p.Total:
		return dissect.Possible
	}
	return dissect.Likely
}

// Join reads the headers of all parts and joins their data, up to the first missing
// part.
func (d *decoder) Join(r *dissect.Reader, variant uint8, m *dissect.Message) bool {
	m.Type, m.Body, m.Pair.Answers = mSplit, &d.part, topicRules|topicPlayers|topicInfo
	d.part = Part{}
	gap, first := r.Gap(), core.Sources(r)[0].Data
	again := repeated(r, variant)
	var head splitHead
	joined := core.Buffer(r)
	for i := range r.Parts() {
		h := readHead(r, variant, i, again)
		if r.Failed() {
			core.Keep(r, joined)
			return false
		}
		if i == 0 {
			head = h
		}
		data := r.Rest(fPartData)
		if gap <= 0 || i < gap {
			joined = append(joined, data...)
		}
	}
	core.Keep(r, joined)
	if len(core.Sources(r)) == 1 && head.index >= head.total {
		d.part = Part{ID: head.id, Index: head.index, Total: head.total, Data: joined}
		damagedHeader(r, m, len(first)-len(joined), head.index, head.total)
		return false
	}
	m.Variant = formats[variant].name
	d.part = Part{ID: head.id, Index: head.index, Total: head.total, Variant: m.Variant, Compressed: head.packed, Data: joined}
	if head.id&0x8000 != 0 && head.id&compressedBit == 0 && variant != goldSrc {
		r.Find(splitBit15, fSplitID, 4, 4)
	}
	switch decided := decide(first); {
	case gap == 0:
	case decided != variant:
		r.Note(splitGuess)
	default:
		r.Note(splitVariant, dissect.Str(m.Variant), dissect.Str(formats[variant].evidence))
	}
	if head.packed {
		m.Compressed, m.Packed = true, len(joined)
	}
	r.Open("joined", joined)
	switch {
	case gap >= 0:
		core.Break(r)
		if head.packed || len(joined) <= len(single) || !r.HasPrefix(string(single)) {
			r.Rest(catalog.Data())
			return false
		}
	case head.packed:
		r.Rest(fPacked)
		out, ok := d.unpack(r, joined, head)
		if !ok {
			return false
		}
		m.Unpacked, m.Verified = len(out), true
		r.Open("decompressed", out)
	case head.id&compressedBit != 0 && variant != goldSrc:
		r.Find(bzipPlain, fSplitID, 4, 4)
	}
	if !bytes.HasPrefix(r.Peek(), single) {
		r.Note(splitShort)
		r.Rest(catalog.Data())
		return false
	}
	m.Pair = dissect.Pair{}
	return true
}

// decodeDamaged reads a datagram with a split header that fits no message.
func (d *decoder) decodeDamaged(r *dissect.Reader, m *dissect.Message) {
	m.Type, m.Body, m.Pair.Answers = mSplit, &d.part, topicRules|topicPlayers|topicInfo
	d.part = Part{}
	size := r.Left()
	open := r.Begin(fSplit)
	r.I32(fSplitHeader)
	if size >= commonHeader {
		d.part.ID = r.U32(fSplitID)
	}
	d.part.noID = size < commonHeader
	switch {
	case size < goldSrcHeader:
		m.Pair.Damaged = true
		r.Find(splitHeaderShort, fSplit, 0, size, dissect.Num(size))
	case size < noSizeHeader, bytes.HasPrefix(core.PeekFrom(r, 1), single):
		d.part.Index, d.part.Total = readNibbles(r)
	default:
		d.part.Total, d.part.Index = int(r.U8(fSplitTotal)), int(r.U8(fSplitIndex))
	}
	r.End(open)
	if size >= goldSrcHeader {
		damagedHeader(r, m, r.Offset(), d.part.Index, d.part.Total)
	}
	d.part.Data = core.Remaining(r, catalog.Data())
}

// damagedHeader reports a split header that fits no message. The part does not count as
// a reply, because the sound one may still come.
func damagedHeader(r *dissect.Reader, m *dissect.Message, size, index, total int) {
	m.Pair.Damaged = true
	r.Find(splitDamaged, fSplit, 0, size, dissect.Num(total), dissect.Num(index))
}

// splitHead is the content of a split header.
type splitHead struct {
	id           uint32
	index, total int
	packed       bool
	unpacked     uint32
	crc          uint32
}

// repeated reports whether every part has the unpacked size and the CRC-32, as xPaw,
// SteamCondenser and GameQ expect, and not just the first part, as python-a2s and
// go-a2s expect. The document says neither. It is so if all parts begin with the same 8
// bytes.
func repeated(r *dissect.Reader, variant uint8) bool {
	if !formats[variant].packed {
		return false
	}
	at, parts := formats[variant].header, core.Sources(r)[:r.Parts()]
	for _, p := range parts {
		if len(p.Data) < at+packedExtra || !bytes.Equal(p.Data[at:at+packedExtra], parts[0].Data[at:at+packedExtra]) {
			return false
		}
	}
	return len(parts) > 1
}

// readHead reads the header of a part. If again is set, every part of a compressed
// message has the unpacked size and the CRC-32.
func readHead(r *dissect.Reader, variant uint8, part int, again bool) (h splitHead) {
	r.Part(part)
	open := r.Begin(fSplit)
	r.I32(fSplitHeader)
	h.id = r.U32(fSplitID)
	if variant == goldSrc {
		h.index, h.total = readNibbles(r)
	} else {
		h.total = int(r.U8(fSplitTotal))
		h.index = int(r.U8(fSplitIndex))
		if formats[variant].sized {
			r.U16(fSplitSize)
		}
		if h.packed = formats[variant].packed; h.packed && (again || h.index == 0) {
			h.unpacked = r.U32(fSplitUnpacked)
			h.crc = r.U32(fSplitCRC)
		}
	}
	r.End(open)
	return h
}

// readNibbles reads GoldSrc's byte with the index of a part in its upper half and the
// number of parts in its lower half.
func readNibbles(r *dissect.Reader) (index, total int) {
	b := max(r.PeekByte(0), 0) // without a byte, the spans fail
	r.Span(fSplitIndex, uint64(b>>4), 0, 1, 0)
	r.Span(fSplitTotal, uint64(b&15), 0, 0, 0)
	return b >> 4, b & 15
}

// MaxUnpacked is the largest size in bytes to which a message is decompressed. A split
// message has at most 255 parts, and plain messages are smaller. The unpacked size is
// also limited to maxRatio times the compressed size: recorded messages have a ratio of
// 2 to 4, lists of equal names 30, but 72 forged bytes can unpack to a megabyte.
const (
	MaxUnpacked = 1 << 20
	maxRatio    = 100
	smallest    = 4 << 10 // always accepted
)

// unpack decompresses a message and verifies its size and CRC-32. The announced size
// bounds the work, and [MaxUnpacked] bounds the announced size.
func (d *decoder) unpack(r *dissect.Reader, packed []byte, head splitHead) ([]byte, bool) {
	size := int(head.unpacked)
	limit := MaxUnpacked
	if size <= limit {
		limit = min(limit, max(smallest, maxRatio*len(packed)))
	}
	if size > limit {
		r.Find(bzipBomb, fSplitUnpacked, 0, 0, dissect.Num(size), dissect.Num(limit))
		return nil, false
	}
	out, consumed, err := d.bunzip.Decode(core.Buffer(r), packed, size)
	core.Keep(r, out)
	switch {
	case err == bunzip.ErrTooLong:
		r.Note(bzipLong, dissect.Num(size))
		return nil, false
	case err != nil && len(out) == size && crc32.ChecksumIEEE(out) == head.crc:
		r.Note(bzipTail)
		return out, true
	case err != nil:
		r.Note(bzipBroken, dissect.Num(len(out)))
		return nil, false
	case len(out) != size:
		r.Note(bzipSize, dissect.Num(len(out)), dissect.Num(size))
		return nil, false
	}
	if crc := crc32.ChecksumIEEE(out); crc != head.crc {
		r.Note(bzipCRC, dissect.Num(crc), dissect.Num(head.crc))
		return nil, false
	}
	if left := len(packed) - consumed; left > 0 {
		r.Note(bzipTrailing, dissect.Num(left))
	}
	return out, true
}

// parsePart decodes one part for [Parse].
func parsePart(owned []byte) (Message, error) {
	p, ok := readSplit(owned, undecided)
	if !ok || p.Index >= p.Total {
		return &Part{Data: owned}, &dissect.Error{Field: fSplit, Offset: commonHeader, Have: -1, Text: "no known split header"}
	}
	return &Part{
		ID: uint32(p.ID), Index: p.Index, Total: p.Total, Variant: formats[p.Variant].name,
		Compressed: p.ID&compressedBit != 0 && p.Variant != goldSrc, Data: owned[p.Header:],
	}, nil
}
