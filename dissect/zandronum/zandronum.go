// Package zandronum dissects the launcher protocol of Zandronum and Skulltag: what server
// browsers ask servers and the master, and the replies.
//
// Every datagram is packed with a fixed Huffman code. Inside, numbers are
// little-endian and text ends with a NUL. A request is 199, a set of flags that says
// what is wanted, and a time, which the reply returns. A reply has the flags of what it
// contains, and these fields in the order of their bits. The last bit stands for a second
// set of flags.
//
// A reply can come in segments. Since version 3.2 these are pieces of one reply; the
// first design, in test builds of 3.1, divided it by fields.
//
// Servers do not look at the port of an address: it gets one reply in ten seconds, and
// then refusals.
//
// Sources: Zandronum (sv_master.cpp, networkshared.h, masterserver/main.cpp); Zandronum
// Wiki, Launcher protocol.
// No recorded traffic was at hand.
package zandronum

import (
	"encoding/binary"
	"math/bits"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/reassembly"
)

var catalog = dissect.NewCatalog("zandronum")

var (
	fUnused = catalog.Add("packing.unused", dissect.Uint, "Unused bits at the end, or 255 for data that is not packed.", dissect.Framing, core.PackMark)
	fBits   = catalog.Add("packing.bits", dissect.Bytes, "The packed data.", core.Becomes("unpacked"), dissect.Framing)

	fCode = catalog.Add("code", dissect.Uint, "Kind of message.", dissect.Names(
		dissect.Name{Value: codeQuery, Name: "query"}, dissect.Name{Value: codeNewQuery, Name: "query"}, dissect.Name{Value: codeInfo, Name: "info"}, dissect.Name{Value: codeIgnored, Name: "too soon"},
		dissect.Name{Value: codeBanned, Name: "banned"}, dissect.Name{Value: codeOldSegment, Name: "segment by fields"}, dissect.Name{Value: codeSegment, Name: "segment"},
		dissect.Name{Value: codeHeartbeat, Name: "heartbeat"}, dissect.Name{Value: codeServers, Name: "servers request"}, dissect.Name{Value: codeList, Name: "servers"}))
	fTime      = catalog.Add("time", dissect.Uint, "Number that the launcher chose; the reply returns it.", dissect.Chosen)
	fFlags     = catalog.Add("flags", dissect.Uint, "What is wanted, or what follows.", dissect.Bits(flagNames[:]...))
	fFlags2    = catalog.Add("flags2", dissect.Uint, "The same, for the extended information.", dissect.Bits(flagNames2[:]...))
	fSegmented = catalog.Add("segmented", dissect.Uint, "2 asks for a reply in segments.")
	fMore      = catalog.Add("more", dissect.Bytes, "Bytes that servers do not read.")

	fHead     = catalog.Add("segment", dissect.Group, "Header of a segment.", dissect.Framing)
	fHeadCode = catalog.Add("segment.code", dissect.Uint, "5660032, or 5660031 in the first design.", dissect.Framing)
	fIndex    = catalog.Add("segment.index", dissect.Uint, "Index of the segment, from 0. In the first design 128 more for the last one.", dissect.Framing)
	fTotal    = catalog.Add("segment.total", dissect.Uint, "Number of segments.", dissect.Framing)
	fOffset   = catalog.Add("segment.offset", dissect.Uint, "Offset of the piece in the reply.", dissect.Framing)
	fSize     = catalog.Add("segment.size", dissect.Uint, "Size of the piece.", dissect.Framing)
	fWhole    = catalog.Add("segment.whole", dissect.Uint, "Size of the reply.", dissect.Framing)
	fPiece    = catalog.Add("piece", dissect.Bytes, "Piece of a reply.", core.Becomes("joined"), dissect.Framing)
	fSets     = catalog.Add("sets", dissect.List, "Fields in the first design of segments.")
	fGroup    = catalog.Add("sets.fields", dissect.Group, "Fields of a set of flags.")
	fSet      = catalog.Add("sets.set", dissect.Uint, "Which of the two sets of flags comes next.", dissect.Framing)

	mQuery   = catalog.Message(dissect.MessageType{Name: "query_request", Title: "query", Role: dissect.Request, Doc: "A launcher asks for information."})
	mInfo    = catalog.Message(dissect.MessageType{Name: "query_reply", Title: "info", Role: dissect.Reply, Doc: "What was asked for. Servers also broadcast it every second to port 15101."})
	mIgnored = catalog.Message(dissect.MessageType{Name: "ignored", Title: "refusal, too soon", Role: dissect.Reply, Doc: "The server does not answer: this address has asked a moment ago."})
	mBanned  = catalog.Message(dissect.MessageType{Name: "banned", Title: "refusal, banned", Role: dissect.Reply, Doc: "The server does not answer: it has banned this address."})
	mSegment = catalog.Message(dissect.MessageType{Name: "segment", Title: "segment", Role: dissect.Reply, Doc: "A segment of a reply that cannot be read alone."})
	mUnknown = catalog.Message(dissect.MessageType{Name: "unknown", Title: "unknown message", Doc: "Not a message of this protocol."})

	unanswered  = finding.NoReply(catalog, "zandronum.noreply", "No reply came within the time that launchers wait. The server is down, the port is another one, or a packet was lost. Servers are silent for ten seconds to an address that sent them something that they do not know.")
	tooSoon     = catalog.Finding(dissect.FindingType{ID: "zandronum.ignored", Severity: dissect.Note, Text: "the server refuses: this address has asked too recently", Doc: "A server answers an address once within ten seconds (sv_queryignoretime), whatever the port. Several launchers or monitors behind one address share that: ask less often."})
	isBanned    = catalog.Finding(dissect.FindingType{ID: "zandronum.banned", Severity: dissect.Note, Class: core.OfRefusal, Text: "the server refuses: it has banned this address", Doc: "The address is in the ban list of the server."})
	unrequested = finding.Unrequested(catalog, "zandronum.unrequested", finding.NonePending)
	otherTime   = finding.New(catalog, dissect.Warning, "zandronum.time", "reply to the request in frame %d has the time %d instead of %d",
		"A reply returns the time of its request, from which launchers compute the round-trip time. This one has another: it answers an earlier request, or is forged.", finding.ReturnedValue)
	amplification = finding.Amplification(catalog, "zandronum.amplification", "The server sends much data to an address that it has not verified. The source of a request can be forged to flood somebody else; the limit of one reply in ten seconds keeps the damage small.")
	wide          = finding.New(catalog, dissect.Warning, "zandronum.request.wide", "the numbers of this request have 64 bits instead of 32",
		"Servers read the flags as 0 and send nothing but their version. Some launchers pack numbers in the size of a long, which differs between systems. The numbers have 32 bits.", "A launcher must write flags and time as 32-bit numbers (int32_t, not long).")
	badBits = finding.New(catalog, dissect.Warning, "zandronum.packing", "the packed data ends within a code",
		"The first byte says how many bits of the last one are unused, and the others do not make whole codes. The datagram was cut or damaged; receivers read what they can.", "Ask again; a launcher should read the codes that are whole.")
	unknownFlags = finding.New(catalog, dissect.Warning, "zandronum.flags", "unknown flags %x: the fields that belong to them cannot be read",
		"The reply has a flag of a newer version, so it is unknown where the fields after it begin. Older launchers misread such a reply.", "Update the launcher. If it is a release of Zandronum that qdissect does not know, report it.")

	partMissing = finding.New(catalog, dissect.Warning, "zandronum.part.missing", "%d of %d {segment|segments} of this reply arrived; missing: %p (%p)",
		"Segments of a reply are not in the capture. They do not come again: the launcher has to ask again, ten seconds later. What comes before the gap is shown.", finding.MissingParts)
	partEndless = finding.New(catalog, dissect.Warning, "zandronum.part.endless", "%d {segment|segments} of a reply arrived, the last one did not; missing: %p (%p)",
		"Only the last segment says how many there are, and it is not in the capture. What comes before the gap is shown.", finding.MissingParts)
	partDuplicate = catalog.Finding(dissect.FindingType{ID: "zandronum.part.duplicate", Severity: dissect.Note, Class: core.OfCapture, Text: "duplicate segments: %d", Doc: "The network, the server or the capture duplicated segments of a reply. They are used once."})
	partReorder   = catalog.Finding(dissect.FindingType{ID: "zandronum.part.reorder", Severity: dissect.Note, Class: core.OfCapture, Text: "the segments arrived out of order", Doc: "Launchers that append segments in the order of arrival misread this reply."})
	partConflict  = finding.New(catalog, dissect.Warning, "zandronum.part.conflict", "segments that arrived again with different bytes: %d; the first ones are used",
		"Two different segments have the same index. One of them belongs to another reply, or is forged.", finding.MixedParts)
	partFirst = finding.New(catalog, dissect.Warning, "zandronum.part.first", "the first segment is missing: the others cannot be read",
		"Only the first segment begins at a known place of the reply.", finding.FirstPart)
	partSizes = finding.New(catalog, dissect.Warning, "zandronum.part.sizes", "the segments have %d {byte|bytes}, their headers say %d",
		"The sizes in the headers do not match the segments. Launchers that trust them misread the reply.", finding.MixedParts)
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "zandronum",
	Title:   "Zandronum",
	Group:   "Quake and Doom",
	Doc:     "Queries of launchers to servers and masters of Zandronum and Skulltag (Doom). From the source; no real traffic was at hand. Only on these ports, since the packed data has no signature.",
	Source:  "Zandronum (sv_master.cpp, networkshared.h); Zandronum Wiki, Launcher protocol",
	Ports:   []uint16{10666, 10667, 10668, 10669, 10670, 10671, 10672, 10673, 10674, 10675, 10676, 10677, 10678, 10679, 10680, 15101, 15300},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Split: &dissect.Splitting{
		Read: readPart, Incomplete: partMissing, Endless: partEndless, Duplicate: partDuplicate, Reordered: partReorder, Conflict: partConflict,
	},
	Pairing: finding.WithIDs(unanswered, unrequested, otherTime, amplification),
}

const (
	codeQuery      = 199
	codeNewQuery   = 200 // in launchers for version 3.2
	codeInfo       = 5660023
	codeIgnored    = 5660024
	codeBanned     = 5660025
	codeOldSegment = 5660031
	codeSegment    = 5660032

	lenCode    = 4
	lenRefusal = 8
	lenQuery   = 12
	lenWide    = 24 // a request whose numbers have 64 bits
	lenSegment = 12 // header of a segment
	maxParts   = 100
	detected   = 64 // bytes that Detect gets
	anySize    = 1 << 20

	lastSegment = 0x80 // in the index, in the first design

	variantPieces = 1
	variantFields = 2

	topicInfo dissect.Topic = 1
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	var buf [lenWide + 1]byte
	head, whole := begin(buf[:0], b, len(buf))
	if len(head) < lenCode {
		return dissect.No
	}
	whole = whole && len(b) < detected
	switch n := len(head); binary.LittleEndian.Uint32(head) {
	case codeQuery, codeNewQuery:
		switch {
		case whole && (n >= lenQuery && n <= lenQuery+1 || n >= lenQuery+4 && n <= lenQuery+5 || n == lenWide):
			return dissect.Certain
		case n <= lenWide:
			return dissect.Possible
		}
	case codeIgnored, codeBanned:
		switch {
		case whole && n == lenRefusal:
			return dissect.Certain
		case n < lenRefusal:
			return dissect.Possible
		}
		return dissect.Doubtful
	case codeInfo, codeOldSegment, codeSegment, codeHeartbeat:
		return dissect.Likely
	case codeServers:
		if whole && n == lenServers {
			return dissect.Certain
		}
	case codeList:
		if n >= lenServers && (head[5] == codeBlock && n > lenServers && head[6] > 0 || head[5] == codeEnd) {
			return dissect.Possible
		}
	case codeMasterBan, codeMasterWait, codeVersion:
		if whole && n == lenCode {
			return dissect.Doubtful
		}
	}
	return dissect.No
}

// begin appends the first bytes of what a payload holds to dst, at most most in all. It
// reports whether the bits that it read make whole codes.
func begin(dst, payload []byte, most int) ([]byte, bool) {
	switch {
	case len(payload) == 0:
	case payload[0] == notPacked:
		return append(dst, payload[1:min(len(payload), 1+most)]...), true
	case payload[0] < 8:
		return unpack(dst, payload[1:], int(payload[0]), most)
	}
	return dst, false
}

// readPart reads the header of a segment. See [reassembly.ReadPart].
func readPart(b []byte, _ uint8) (reassembly.Part, bool) {
	var buf [lenSegment]byte
	head, _ := begin(buf[:0], b, len(buf))
	if len(head) < lenSegment {
		return reassembly.Part{}, false
	}
	u16 := func(at int) int { return int(binary.LittleEndian.Uint16(head[at:])) }
	index, total := int(head[4]), int(head[5])
	switch binary.LittleEndian.Uint32(head) {
	case codeSegment:
		if index < total && total <= maxParts && u16(6)+u16(8) <= u16(10) {
			return reassembly.Part{ID: uint64(u16(10))<<8 | uint64(total), Index: index, Total: total, Variant: variantPieces}, true
		}
	case codeOldSegment:
		p := reassembly.Part{Index: index &^ lastSegment, Variant: variantFields}
		if index&lastSegment != 0 {
			p.Total = p.Index + 1
		}
		return p, p.Index < maxParts
	}
	return reassembly.Part{}, false
}

// A Message is a pointer to one of the structs of this package, or nil if its kind is
// not known.
type Message any

// Query asks for what its flags say.
type Query struct {
	Flags, Time, Flags2 uint32
	// Segmented is 2 if the reply shall come in segments.
	Segmented uint8
}

// Refusal says that the server does not answer.
type Refusal struct {
	// Banned says that the address is banned; otherwise it has asked too recently.
	Banned bool
	// Time is that of the request.
	Time uint32
}

// Segment is a piece of a reply that cannot be read alone.
type Segment struct{ Index uint8 }

// Parse decodes one payload. The caller owns the result. The error is a *dissect.Error
// that says where reading ended; the message then holds what was read before it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

type decoder struct {
	query   Query
	refusal Refusal
	info    Info
	segment Segment

	servers       Servers
	list          List
	masterRefusal MasterRefusal
	heartbeat     Heartbeat

	joined  []byte
	variant uint8 // of the segments
}

// Join joins the pieces of a reply, or what the segments of the first design hold.
func (d *decoder) Join(r *dissect.Reader, variant uint8, m *dissect.Message) bool {
	d.variant, d.joined, d.segment = variant, d.joined[:0], Segment{}
	m.Variant, m.Type, m.Body = "zandronum", mSegment, &d.segment
	m.Pair = dissect.Pair{Answers: topicInfo, ID: dissect.AnyID}
	r.Seek(0) // what the segments hold are sources behind all of them
	size, whole := 0, 0
	for i := range r.Parts() {
		r.Part(i)
		open(r)
		index, said, all := readHead(r)
		if size, whole = size+said, all; i == 0 {
			d.segment.Index = index &^ lastSegment
		}
		if b := r.Rest(fPiece); r.Gap() < 0 || i < r.Gap() {
			d.joined = append(d.joined, b...)
		}
	}
	if r.Failed() {
		return false
	}
	if n := len(d.joined); r.Gap() < 0 && (n != size || variant == variantPieces && n != whole) {
		r.Note(partSizes, dissect.Num(n), dissect.Num(max(size, whole)))
	}
	if r.Gap() == 0 {
		if !r.Cut() {
			r.Note(partFirst)
		}
		return false
	}
	if r.Gap() > 0 {
		core.Break(r)
	}
	r.Open("joined", d.joined)
	return true
}

// readHead reads the header of a segment. It returns the index, the size of the piece and
// that of the whole reply.
func readHead(r *dissect.Reader) (index uint8, size, whole int) {
	head := r.Begin(fHead)
	code := r.U32(fHeadCode)
	index = r.U8(fIndex)
	if code == codeSegment {
		r.U8(fTotal)
		r.U16(fOffset)
	}
	size = int(r.U16(fSize))
	if code == codeSegment {
		whole = int(r.U16(fWhole))
	}
	r.End(head)
	return index, size, whole
}

// open opens what a payload holds, if it is packed.
func open(r *dissect.Reader) {
	data := core.PeekFrom(r, 1)
	unused := r.U8(fUnused)
	switch {
	case r.Failed() || unused == notPacked:
		return
	case unused > 7:
		r.Fail(fUnused, "neither unused bits nor 255")
		return
	}
	if r.Cut() {
		unused = 0
	}
	content, ok := unpack(core.Buffer(r), data, int(unused), anySize)
	core.Keep(r, content)
	if !ok && !r.Cut() {
		r.Find(badBits, fBits, 1, len(data))
	}
	r.Rest(fBits)
	r.Open("unpacked", content)
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	if r.Parts() > 0 {
		m.Type, m.Body = mInfo, &d.info
		d.decodeInfo(r, m, d.variant == variantFields)
		return
	}
	m.Type = mUnknown
	open(r)
	switch code := codeOf(core.PeekTo(r, lenCode)); code {
	case codeQuery, codeNewQuery:
		d.decodeQuery(r, m)
	case codeInfo:
		m.Type, m.Body = mInfo, &d.info
		r.U32(fCode)
		d.decodeInfo(r, m, false)
	case codeIgnored, codeBanned:
		r.U32(fCode)
		wire.Message(m, mIgnored, &d.refusal, Refusal{Banned: code == codeBanned, Time: r.U32(fTime)})
		what := tooSoon
		if d.refusal.Banned {
			m.Type, what = mBanned, isBanned
		}
		m.Pair.Answers, m.Pair.ID = topicInfo, uint64(d.refusal.Time)
		r.Note(what)
	case codeSegment, codeOldSegment:
		m.Type, m.Body, m.Pair = mSegment, &d.segment, dissect.Pair{Answers: topicInfo, ID: dissect.AnyID}
		index, size, _ := readHead(r)
		d.segment = Segment{Index: index &^ lastSegment}
		if n := r.Left(); n != size && !r.Failed() && !r.Cut() {
			r.Note(partSizes, dissect.Num(n), dissect.Num(size))
		}
		core.Remaining(r, fPiece)
	case codeServers:
		r.U32(fCode)
		d.servers = Servers{Version: r.U16(fMasterVersion)}
		m.Type, m.Body, m.Pair = mServers, &d.servers, dissect.Pair{Asks: topicServers, Challenge: dissect.ChallengeAbsent}
	case codeList:
		r.U32(fCode)
		d.decodeList(r, m)
	case codeMasterBan, codeMasterWait, codeVersion:
		d.decodeMasterRefusal(r, m)
	case codeHeartbeat:
		r.U32(fCode)
		d.decodeHeartbeat(r, m)
	default:
		r.U32(fCode)
		r.Fail(fCode, "no such message")
	}
}

// codeOf returns the number that a message begins with, 0 for a shorter one.
func codeOf(b []byte) (code uint32) {
	if len(b) == lenCode {
		code = binary.LittleEndian.Uint32(b)
	}
	return code
}

func (d *decoder) decodeQuery(r *dissect.Reader, m *dissect.Message) {
	q := wire.Message(m, mQuery, &d.query, Query{})
	long := r.Left() == lenWide
	r.U32(fCode)
	q.Flags = r.U32(fFlags)
	q.Time = r.U32(fTime)
	m.Pair = dissect.Pair{Asks: topicInfo, ID: uint64(q.Time), Challenge: dissect.ChallengeAbsent}
	if long && q.Flags == 0 {
		r.Note(wide)
		r.Rest(fMore)
		return
	}
	if q.Flags&flagExtended != 0 && r.More() {
		q.Flags2 = r.U32(fFlags2)
	}
	if r.More() {
		q.Segmented = r.U8(fSegmented)
	}
	core.Remaining(r, fMore)
}

// AppendSummary appends the flags.
func (q *Query) AppendSummary(dst []byte) []byte {
	dst = wire.Hex(dst, "flags ", q.Flags)
	if q.Flags2 != 0 {
		dst = wire.Hex(dst, " and ", q.Flags2)
	}
	if q.Segmented == 2 {
		dst = append(dst, ", in segments"...)
	}
	return dst
}

// AppendSummary appends the index.
func (s *Segment) AppendSummary(dst []byte) []byte { return wire.Number(dst, "index ", s.Index) }

// All datagrams are packed with the same Huffman code. Their first byte is the number of
// unused bits at the end of the last one; bits are counted from the lowest of each byte.
// FF in its place says that the rest is not packed.

const (
	notPacked = 0xff
	longest   = 10 // bits of a code
)

// codes are the codes of the bytes 0 to 255, each with a 1 before its first bit.
var codes = [256]uint16{
	0xa, 0x77, 0x372, 0x24, 0x19b, 0x25, 0x335, 0x30c, 0x32c, 0x274, 0x2c9, 0x1c8, 0x361, 0x327, 0x27f, 0x370,
	0x371, 0x27b, 0x1db, 0x37c, 0x30e, 0x39f, 0x360, 0x27c, 0x98, 0x278, 0x18c, 0x32b, 0x310, 0x37b, 0x326, 0x332,
	0x17, 0xf8, 0x111, 0x11a, 0x118, 0x115, 0x110, 0x137, 0x136, 0x11c, 0x165, 0xe9, 0x134, 0x1b3, 0x1b4, 0xfb,
	0x1bc, 0x1ba, 0x1c9, 0x1d5, 0x1fe, 0x1fc, 0x18e, 0x1f3, 0x26b, 0x180, 0x22d, 0x1d0, 0x277, 0x302, 0x1e7, 0x265,
	0x1e6, 0x139, 0x18a, 0x113, 0x276, 0x18f, 0x23e, 0x1c7, 0x1d7, 0x1e3, 0x228, 0x267, 0x1d4, 0x23a, 0x197, 0x307,
	0x224, 0x271, 0x1fa, 0x323, 0x1f4, 0x237, 0x27a, 0x313, 0x331, 0x3d, 0x38b, 0x376, 0x37e, 0x322, 0x329, 0x2d,
	0x324, 0x365, 0x3a3, 0x33c, 0x3b1, 0x312, 0x36d, 0x2ce, 0x2cd, 0x1fd, 0x311, 0x330, 0x388, 0x3b0, 0x44a, 0x38a,
	0x36a, 0x236, 0x1b1, 0x38d, 0x3ad, 0x38c, 0x23f, 0x395, 0x3c4, 0x1d9, 0x396, 0x39e, 0x22c, 0x275, 0x37d, 0xce,
	0x10, 0xc2, 0x477, 0x465, 0x1a, 0x1ce, 0x598, 0x599, 0x61b, 0x666, 0x4f3, 0x4cc, 0x1f9, 0x591, 0x453, 0x61a,
	0x44b, 0x669, 0x377, 0x60d, 0x61f, 0x705, 0x580, 0x6dd, 0x1f5, 0x47b, 0x745, 0x744, 0x642, 0x581, 0x6c8, 0x32a,
	0xe6, 0x3e5, 0x72f, 0x467, 0xf0, 0x4fc, 0x1fb, 0x72e, 0x373, 0x667, 0x67f, 0x6dc, 0x3f1, 0x37a, 0x6d6, 0x650,
	0x643, 0x67e, 0x4fb, 0x61e, 0x62c, 0x161, 0x117, 0x606, 0x385, 0x47a, 0x4cd, 0x59e, 0x394, 0x3c5, 0x4c9, 0x4f2,
	0x381, 0x36f, 0x4fd, 0x3b4, 0x1e4, 0x6c9, 0x4c8, 0x476, 0x3ff, 0x3ac, 0x3fe, 0x60b, 0x65a, 0x380, 0x23c, 0x3f0,
	0x2c1, 0x67a, 0x3cb, 0x2c7, 0x641, 0x67c, 0x637, 0x668, 0x58c, 0x67b, 0x4d5, 0x62d, 0x4fa, 0x464, 0x162, 0x384,
	0x36c, 0x59f, 0x65b, 0x62e, 0x3e4, 0x636, 0x58d, 0x640, 0x3b5, 0x608, 0x609, 0x704, 0x389, 0x607, 0x67d, 0x3ca,
	0x4d4, 0x62f, 0x37f, 0x452, 0x4e0, 0x466, 0x60a, 0x4e1, 0x1c3, 0x6d7, 0x60c, 0x31a, 0x590, 0x325, 0x651, 0x383,
}

// A symbol is a byte and the length of its code.
type symbol struct{ value, length uint8 }

// symbols are the bytes by the bits that begin with their codes, the first bit lowest.
var symbols = func() (all [1 << longest]symbol) {
	for value, code := range codes {
		length := bits.Len16(code) - 1
		first := reversed(code, length)
		for i := int(first); i < len(all); i += 1 << length {
			all[i] = symbol{uint8(value), uint8(length)}
		}
	}
	return all
}()

// reversed returns the last bits of a code in the other order.
func reversed(code uint16, length int) uint16 { return bits.Reverse16(code) >> (16 - length) }

// unpack appends what data holds to dst, at most most bytes in all. The last bits of data
// are unused. It reports whether the others make whole codes.
func unpack(dst, data []byte, unused, most int) ([]byte, bool) {
	left := 8*len(data) - unused
	fits := left >= 0
	window, n := uint64(0), 0 // the next bits and their number
	for left > 0 && len(dst) < most {
		for ; n < longest && len(data) > 0; n += 8 {
			window |= uint64(data[0]) << n
			data = data[1:]
		}
		s := symbols[window%uint64(len(symbols))]
		if left -= int(s.length); left < 0 {
			return dst, false
		}
		window >>= s.length
		n -= int(s.length)
		dst = append(dst, s.value)
	}
	return dst, fits
}
