package a2s

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/bunzip"
	"github.com/qdissect/qdissect/reassembly"
)

// The formats of the split header. The document tells two of them apart by the
// engine, which a capture does not know; what decides here is where a message
// begins in the first part.
const (
	undecided        uint8 = iota
	goldSrc                // header -2, id, index and total in one byte: 9 bytes
	source                 // header -2, id, total, index, size: 12 bytes
	sourceNoSize           // the same without the size, from engines of 2004 to 2006: 10 bytes
	sourcePacked           // sourceNoSize with unpacked size and CRC-32 in the first part, or in each
	sourcePackedSize       // source with them
)

var variantNames = [...]string{"", "goldsrc", "source", "source-nosize", "source-nosize", "source"}

const (
	commonHeader  = 8 // -2 and the id
	goldSrcHeader = commonHeader + 1
	noSizeHeader  = commonHeader + 2
	sizeHeader    = commonHeader + 4
	packedExtra   = 8 // unpacked size and CRC-32
)

// The sizes that a part can have by the size field of Source. All recorded ones
// are 1248 (0x04e0) or 1188 (0x04a4); the engine's limits are wider.
const (
	minSplitSize = 400
	maxSplitSize = 1400
)

var single = []byte("\xff\xff\xff\xff")

// readSplit reads a split header. See [reassembly.ReadPart].
func readSplit(b []byte, variant uint8) (reassembly.Part, bool) {
	if len(b) < goldSrcHeader || string(b[:4]) != "\xfe\xff\xff\xff" {
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

// mayBelong reports whether a part with an index that is not below its own total
// can still be one of a message of which other parts state a larger total: no
// message begins in it, and the format fits.
func mayBelong(b []byte, variant uint8) bool {
	for v := range sourcePackedSize + 1 {
		if begins(b, v) || bytes.HasPrefix(b[goldSrcHeader:], single) {
			return false
		}
	}
	return variant != sourceNoSize && variant != sourcePacked
}

// cutShort reports whether a list of rules or players in a message breaks off.
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
		for body = body[1:]; n > 0; n-- { // number, name, score, time
			end := bytes.IndexByte(body[min(1, len(body)):], 0)
			if end < 0 || len(body) < 1+end+1+8 {
				return true
			}
			body = body[1+end+1+8:]
		}
	}
	return false
}

// readAs reads a split header in one format. The index can be one that has no
// place in a message of so many parts, see [reassembly.Part].
func readAs(b []byte, variant uint8) (reassembly.Part, bool) {
	p := reassembly.Part{ID: uint64(binary.LittleEndian.Uint32(b[4:])), Variant: variant}
	switch variant {
	case goldSrc:
		p.Index, p.Total, p.Header = int(b[8]>>4), int(b[8]&15), goldSrcHeader
	case source, sourcePackedSize:
		p.Header = sizeHeader
	case sourceNoSize, sourcePacked:
		p.Header = noSizeHeader
	default:
		return p, false
	}
	if len(b) < p.Header {
		return p, false
	}
	if variant != goldSrc {
		p.Index, p.Total = int(b[9]), int(b[8])
	}
	if p.Header == sizeHeader {
		p.Size = int(binary.LittleEndian.Uint16(b[10:]))
	}
	if p.Index == 0 && (variant == sourcePacked || variant == sourcePackedSize) {
		// What compression adds stands in the first part. Whether it is
		// repeated only shows when all parts are there, see [repeated].
		p.Header += packedExtra
	}
	return p, p.Total >= 1 && p.Header <= len(b)
}

// decide finds the format of a part from the part alone: from where a message
// begins in it, which only the first part shows.
func decide(b []byte) uint8 {
	at := func(off int, want string) bool {
		return len(b) >= off+len(want) && string(b[off:off+len(want)]) == want
	}
	packed := binary.LittleEndian.Uint32(b[4:])&compressedBit != 0
	switch {
	case b[8]>>4 == 0 && at(goldSrcHeader, "\xff\xff\xff\xff"):
		return goldSrc
	case !at(goldSrcHeader, "\x00"):
		return undecided
	case packed && at(noSizeHeader+packedExtra, "BZh"):
		return sourcePacked
	case packed && at(sizeHeader+packedExtra, "BZh"):
		return sourcePackedSize
	case at(noSizeHeader, "\xff\xff\xff\xff"):
		return sourceNoSize
	case at(sizeHeader, "\xff\xff\xff\xff"):
		return source
	}
	return undecided
}

// begins reports whether a message begins where the first part in a format has it.
func begins(b []byte, variant uint8) bool {
	at, want := noSizeHeader, single
	switch variant {
	case source:
		at = sizeHeader
	case sourcePacked:
		at, want = noSizeHeader+packedExtra, bzip
	case sourcePackedSize:
		at, want = sizeHeader+packedExtra, bzip
	}
	return len(b) >= at && bytes.HasPrefix(b[at:], want)
}

var bzip = []byte("BZh")

// guess returns the likeliest format of a later part, or of a first one that is
// damaged. The other parts of the set must agree with it, see [reassembly.Part].
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
		return plain // the first part of a message, with an impossible index
	}
	is = is && p.Index < p.Total
	if p, _ := readAs(b, goldSrc); p.Total >= 2 && (p.Index < p.Total || !is) {
		// A total of 32 and more is rather both numbers of GoldSrc in one byte. In
		// a later part of GoldSrc the byte after it is text, or the zero byte after
		// a text.
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

// Join reads the headers of all parts and makes one message of them: of those
// before the first that is missing, as far as they are a message.
func (d *decoder) Join(r *dissect.Reader, variant uint8, m *dissect.Message) bool {
	m.Type, m.Body = mSplit, &d.part
	m.Pair.Answers = topicRules | topicPlayers | topicInfo
	d.part = Part{}
	gap, first := r.Gap(), r.Sources()[0].Data
	again := repeated(r, variant)
	var head splitHead
	joined := r.Buffer()
	for i := range r.Parts() {
		h := readHead(r, variant, i, again)
		if r.Failed() {
			r.Keep(joined)
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
	r.Keep(joined)
	if len(r.Sources()) == 1 && head.index >= head.total {
		d.part = Part{ID: head.id, Index: head.index, Total: head.total, Data: joined}
		damagedHeader(r, m, len(first)-len(joined), head.index, head.total)
		return false
	}
	m.Variant = variantNames[variant]
	d.part = Part{ID: head.id, Index: head.index, Total: head.total, Variant: m.Variant, Compressed: head.packed, Data: joined}
	if head.id&0x8000 != 0 && head.id&compressedBit == 0 && variant != goldSrc {
		r.Find(splitBit15, fSplitID, 4, 4)
	}
	switch decided := decide(first); {
	case gap == 0:
	case decided != variant:
		r.Note(splitGuess)
	default:
		r.Note(splitVariant, dissect.Str(m.Variant), dissect.Str(evidence[variant]))
	}
	if head.packed {
		m.Compressed, m.Packed = true, len(joined)
	}
	r.Open("joined", joined)
	switch {
	case gap >= 0:
		r.Break()
		if head.packed || len(joined) <= len(single) || !r.HasPrefix(string(single)) {
			r.Rest(fields.Data())
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
		r.Rest(fields.Data())
		return false
	}
	m.Pair = dissect.Pair{}
	return true
}

// decodeDamaged reads what begins like a part of a split message and has no
// possible place in one.
func (d *decoder) decodeDamaged(r *dissect.Reader, m *dissect.Message) {
	m.Type, m.Body = mSplit, &d.part
	m.Pair.Answers = topicRules | topicPlayers | topicInfo
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
	case size < noSizeHeader, bytes.HasPrefix(r.PeekFrom(1), single):
		d.part.Index, d.part.Total = readNibbles(r)
	default:
		d.part.Total, d.part.Index = int(r.U8(fSplitTotal)), int(r.U8(fSplitIndex))
	}
	r.End(open)
	if size >= goldSrcHeader {
		damagedHeader(r, m, r.Offset(), d.part.Index, d.part.Total)
	}
	if r.More() {
		d.part.Data = r.Rest(fields.Data())
	}
}

// damagedHeader reports a part that has no place in a message. It is no reply: the
// healthy one can still come.
func damagedHeader(r *dissect.Reader, m *dissect.Message, size, index, total int) {
	m.Pair.Damaged = true
	r.Find(splitDamaged, fSplit, 0, size, dissect.Num(total), dissect.Num(index))
}

var evidence = [...]string{
	goldSrc:          "FF FF FF FF at offset 9",
	source:           "FF FF FF FF at offset 12",
	sourceNoSize:     "FF FF FF FF at offset 10",
	sourcePacked:     "BZh at offset 18",
	sourcePackedSize: "BZh at offset 20",
}

// splitHead is what the header of the first part says of the message.
type splitHead struct {
	id           uint32
	index, total int
	packed       bool
	unpacked     uint32
	crc          uint32
}

// repeated reports whether the unpacked size and the CRC-32 stand in every part,
// where xPaw, SteamCondenser and GameQ look for them, and not in the first one
// alone, as python-a2s and go-a2s have it. The document says neither. Parts that
// all begin with the same 8 bytes as the first are no chance.
func repeated(r *dissect.Reader, variant uint8) bool {
	at := noSizeHeader
	switch variant {
	case sourcePackedSize:
		at = sizeHeader
	case sourcePacked:
	default:
		return false
	}
	parts := r.Sources()[:r.Parts()]
	for _, p := range parts {
		if len(p.Data) < at+packedExtra || !bytes.Equal(p.Data[at:at+packedExtra], parts[0].Data[at:at+packedExtra]) {
			return false
		}
	}
	return len(parts) > 1
}

// readHead reads the header of a part; again says that the unpacked size and the
// CRC-32 stand in every part of a compressed message and not in the first alone.
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
		if variant == source || variant == sourcePackedSize {
			r.U16(fSplitSize)
		}
		h.packed = variant == sourcePacked || variant == sourcePackedSize
		if h.packed && (again || h.index == 0) {
			h.unpacked = r.U32(fSplitUnpacked)
			h.crc = r.U32(fSplitCRC)
		}
	}
	r.End(open)
	return h
}

// readNibbles reads the one byte of GoldSrc that has the index of a part in its
// upper half and the number of parts in its lower.
func readNibbles(r *dissect.Reader) (index, total int) {
	b := max(r.PeekByte(0), 0) // the spans fail where there is none
	r.Span(fSplitIndex, uint64(b>>4), 0, 1, 0)
	r.Span(fSplitTotal, uint64(b&15), 0, 0, 0)
	return b >> 4, b & 15
}

// MaxUnpacked is the most bytes that a compressed message is unpacked to. A
// split message has at most 255 parts; plain ones never reach it. Nor may it
// unfold to more than maxRatio times its size: recorded messages have 2 to 4,
// lists of names that are all alike 30, while 72 forged bytes can be a
// megabyte.
const (
	MaxUnpacked = 1 << 20
	maxRatio    = 100
	smallest    = 4 << 10 // that nothing is said about
)

// unpack decompresses a message and proves its size and CRC-32. What a stream
// costs is bounded by the size that the header announces, and that by
// [MaxUnpacked].
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
	out, consumed, err := d.bunzip.Decode(r.Buffer(), packed, size)
	r.Keep(out)
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

// parsePart reads one part for [Parse].
func parsePart(owned []byte) (Message, error) {
	p, ok := readSplit(owned, undecided)
	if !ok || p.Index >= p.Total {
		return &Part{Data: owned}, &dissect.Error{Field: fSplit, Offset: commonHeader, Have: -1, Text: "no known split header"}
	}
	return &Part{
		ID: uint32(p.ID), Index: p.Index, Total: p.Total, Variant: variantNames[p.Variant],
		Compressed: p.ID&compressedBit != 0 && p.Variant != goldSrc, Data: owned[p.Header:],
	}, nil
}
