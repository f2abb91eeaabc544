package a2s

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/dsnet/compress/bzip2"

	"github.com/qdissect/qdissect/dissect"
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
	sourcePacked           // sourceNoSize with unpacked size and CRC-32 in the first part
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

// firstOnly is the length of what compression adds: it stands in the first part
// alone.
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
	var head splitHead
	joined := r.Buffer()
	for i := range r.Parts() {
		h := readHead(r, i, variant)
		if r.Failed() {
			r.Keep(joined)
			return false
		}
		if i == 0 {
			head = h
		}
		joined = append(joined, r.Rest(fPartData)...)
	}
	joined = append(joined, endMark...)[:len(joined)] // room for unpack
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
		out, ok := d.unpacker.unpack(r, joined, head)
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

// readHead reads the header of part i.
func readHead(r *dissect.Reader, i int, variant uint8) (h splitHead) {
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
		if (variant == sourcePacked || variant == sourcePackedSize) && h.index == 0 {
			h.packed = true
			h.unpacked = r.U32(fSplitUnpacked)
			h.crc = r.U32(fSplitCRC)
		}
	}
	r.End(open)
	return h
}

// MaxUnpacked is the most bytes that a compressed message is unpacked to. A
// split message has at most 255 parts; plain ones never reach it.
const MaxUnpacked = 1 << 20

// unpacker decompresses messages, always with the same reader and buffers.
type unpacker struct {
	bz *bzip2.Reader
	in bytes.Reader
}

// bigBlock is the size of the smallest block that bzip2 can declare, its level
// 1: whatever is announced to fit in one must do so.
const bigBlock = 100000

// endMark is a bzip2 stream of one byte. It is put behind each message: bzip2
// streams may follow each other, so that reading one byte more than a message
// has either comes here, which shows that the message ended where it should, or
// yields a byte too many. Reading to the end of the input would tell as much,
// but the reader makes its errors by panicking, and that allocates.
const endMark = "BZh11AY&SY\x55\x82\x40\x1b\x00\x00\x00\x00\x80\x20\x00\x20\x00\x21\x18\x46\x82\xee\x48\xa7\x0a\x12\x0a\xb0\x48\x03\x60"

// unpack decompresses a message and proves its size and CRC-32. A stream that
// unfolds to more than its header says costs no more than what it says: output
// stops there, and a level below the stream's own keeps the decompressor from
// setting up more room than the message can need. That matters because a bomb
// of 44 bytes can announce little and keep a processor busy for milliseconds.
//
// packed must have room for [endMark] behind it.
func (u *unpacker) unpack(r *dissect.Reader, packed []byte, head splitHead) ([]byte, bool) {
	size := int(head.unpacked)
	if head.unpacked > MaxUnpacked {
		r.Find(bzipBomb, fSplitUnpacked, 0, 0, dissect.Num(head.unpacked), dissect.Num(MaxUnpacked))
		return nil, false
	}
	level := packed[3:4]
	saved := level[0]
	if size <= bigBlock && saved >= '1' && saved <= '9' {
		level[0] = '1'
	}
	u.in.Reset(append(packed, endMark...))
	var err error
	if u.bz == nil {
		u.bz, err = bzip2.NewReader(&u.in, nil)
	} else {
		err = u.bz.Reset(&u.in)
	}
	out := r.Buffer()
	if err == nil {
		out, err = u.readUpTo(out, size+1)
	}
	level[0] = saved
	consumed := int(u.bz.InputOffset)
	ended := len(out) > size && consumed > len(packed) // in the end mark
	if ended {
		out = out[:size]
	}
	r.Keep(out)
	if len(out) > size {
		// Reset keeps what was not fetched, and hands it out before the next
		// stream: this reader cannot be used again.
		u.bz = nil
		r.Note(bzipSize, dissect.Num(len(out)), dissect.Num(size))
		return nil, false
	}
	if len(out) < size {
		if consumed > len(packed) {
			r.Note(bzipSize, dissect.Num(len(out)), dissect.Num(size))
		} else {
			r.Note(bzipBroken, dissect.Num(len(out)))
		}
		return nil, false
	}
	if crc := crc32.ChecksumIEEE(out); crc != head.crc {
		r.Note(bzipCRC, dissect.Num(crc), dissect.Num(head.crc))
		return nil, false
	}
	if !ended {
		r.Note(bzipTail)
	}
	return out, true
}

// readUpTo reads at most limit bytes.
func (u *unpacker) readUpTo(out []byte, limit int) ([]byte, error) {
	for len(out) < limit {
		if len(out) == cap(out) {
			out = append(out, 0)[:len(out)]
		}
		n, err := u.bz.Read(out[len(out):min(cap(out), limit)])
		out = out[:len(out)+n]
		if err != nil {
			return out, err
		}
	}
	return out, nil
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
