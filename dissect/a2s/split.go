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
	id := binary.LittleEndian.Uint32(b[4:])
	decided := variant
	if variant == undecided {
		variant, decided = decide(b, id)
	}
	p := reassembly.Part{ID: uint64(id), Variant: decided}
	switch variant {
	case goldSrc:
		p.Index, p.Total, p.Header = int(b[8]>>4), int(b[8]&15), goldSrcHeader
	default:
		if len(b) < noSizeHeader {
			return reassembly.Part{}, false
		}
		p.Index, p.Total = int(b[9]), int(b[8])
		switch variant {
		case source:
			p.Header = sizeHeader
		case sourceNoSize:
			p.Header = noSizeHeader
		case sourcePacked:
			p.Header = noSizeHeader + firstOnly(p.Index)
		case sourcePackedSize:
			p.Header = sizeHeader + firstOnly(p.Index)
		}
	}
	if p.Total < 1 || p.Index >= p.Total || p.Header > len(b) {
		return reassembly.Part{}, false
	}
	return p, true
}

// firstOnly is the length of what compression adds: it stands in the first part.
// Whether it is repeated only shows when all parts are there, see [repeated].
func firstOnly(index int) int {
	if index == 0 {
		return packedExtra
	}
	return 0
}

// decide finds the format of a part from the part alone. The second result is
// undecided where the first is but a guess: a later part of a set has nothing
// that stands at a known place.
func decide(b []byte, id uint32) (variant, decided uint8) {
	at := func(off int, want string) bool {
		return len(b) >= off+len(want) && string(b[off:off+len(want)]) == want
	}
	if b[8]>>4 == 0 && at(goldSrcHeader, "\xff\xff\xff\xff") {
		return goldSrc, goldSrc
	}
	if len(b) > 9 && b[9] == 0 {
		switch {
		case at(noSizeHeader+packedExtra, "BZh") && id&compressedBit != 0:
			return sourcePacked, sourcePacked
		case at(sizeHeader+packedExtra, "BZh") && id&compressedBit != 0:
			return sourcePackedSize, sourcePackedSize
		case at(sizeHeader, "\xff\xff\xff\xff") && !at(noSizeHeader, "\xff\xff\xff\xff"):
			return source, source
		case at(noSizeHeader, "\xff\xff\xff\xff"):
			return sourceNoSize, sourceNoSize
		}
	}
	// Not the first part, or a damaged one.
	if len(b) >= sizeHeader && b[9] < b[8] && id&compressedBit == 0 {
		if size := binary.LittleEndian.Uint16(b[10:]); size >= minSplitSize && size <= maxSplitSize {
			return source, undecided
		}
	}
	if total := b[8] & 15; total >= 2 && b[8]>>4 < total && id&compressedBit == 0 && !(len(b) > 9 && b[9] < b[8] && b[8]>>4 == 0) {
		return goldSrc, undecided
	}
	if id&compressedBit != 0 {
		return sourcePacked, undecided
	}
	return sourceNoSize, undecided
}

// detectSplit judges the header of a part.
func detectSplit(b []byte) dissect.Verdict {
	p, ok := readSplit(b, undecided)
	switch {
	case !ok:
		return dissect.Possible
	case p.Variant != undecided:
		return dissect.Certain
	}
	return dissect.Likely
}

// Join reads the headers of all parts and makes one message of them.
func (d *decoder) Join(r *dissect.Reader, variant uint8, m *dissect.Message) bool {
	m.Type, m.Body = mSplit, &d.part
	m.Pair.Answers = topicRules | topicPlayers | topicInfo
	d.part = Part{}
	guessed := variant == undecided
	if guessed {
		p, _ := readSplit(r.Sources()[0].Data, undecided)
		variant = sourceNoSize
		if p.Header == goldSrcHeader {
			variant = goldSrc
		} else if p.Header == sizeHeader {
			variant = source
		}
	}
	m.Variant = variantNames[variant]
	packedParts := 1
	if repeated(r, variant) {
		packedParts = r.Parts()
	}
	var head splitHead
	joined := r.Buffer()
	for i := range r.Parts() {
		h := readHead(r, i, variant, i < packedParts)
		if r.Failed() {
			r.Keep(joined)
			return false
		}
		if i == 0 {
			head = h
		}
		joined = append(joined, r.Rest(fPartData)...)
	}
	r.Keep(joined)
	d.part = Part{ID: head.id, Total: head.total, Variant: m.Variant, Compressed: head.packed, Data: joined}
	if head.id&0x8000 != 0 && head.id&compressedBit == 0 && variant != goldSrc {
		r.Find(splitBit15, fSplitID, 4, 4)
	}
	if guessed {
		r.Note(splitGuess)
	} else {
		r.Note(splitVariant, dissect.Str(m.Variant), dissect.Str(evidence[variant]))
	}
	if head.packed {
		m.Compressed, m.Packed = true, len(joined)
		r.Open("joined", joined)
		r.Rest(fPacked)
		out, ok := d.unpack(r, joined, head)
		if !ok {
			return false
		}
		m.Unpacked, m.Verified = len(out), true
		r.Open("decompressed", out)
	} else {
		if head.id&compressedBit != 0 && variant != goldSrc {
			r.Find(bzipPlain, fSplitID, 4, 4)
		}
		r.Open("joined", joined)
	}
	if !bytes.HasPrefix(r.Peek(), single) {
		r.Note(splitShort)
		r.Rest(fields.Data())
		return false
	}
	m.Pair = dissect.Pair{}
	return true
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
	return true
}

// readHead reads the header of part i; packed says whether the unpacked size and
// the CRC-32 stand in it if the message is compressed.
func readHead(r *dissect.Reader, i int, variant uint8, packed bool) (h splitHead) {
	r.Part(i)
	open := r.Begin(fSplit)
	r.I32(fSplitHeader)
	h.id = r.U32(fSplitID)
	if variant == goldSrc {
		n := r.U8(fSplitNumber)
		h.index, h.total = int(n>>4), int(n&15)
	} else {
		h.total = int(r.U8(fSplitTotal))
		h.index = int(r.U8(fSplitIndex))
		if variant == source || variant == sourcePackedSize {
			r.U16(fSplitSize)
		}
		if (variant == sourcePacked || variant == sourcePackedSize) && packed {
			h.packed = true
			h.unpacked = r.U32(fSplitUnpacked)
			h.crc = r.U32(fSplitCRC)
		}
	}
	r.End(open)
	return h
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
	if !ok {
		return &Part{Data: owned}, &dissect.Error{Field: fSplit, Offset: commonHeader, Have: -1, Text: "no known split header"}
	}
	return &Part{
		ID: uint32(p.ID), Index: p.Index, Total: p.Total, Variant: variantNames[p.Variant],
		Compressed: p.ID&compressedBit != 0 && p.Variant != goldSrc, Data: owned[p.Header:],
	}, nil
}
