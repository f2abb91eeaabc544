// Package mumble dissects the UDP ping of Mumble. Clients and server lists use it to
// learn the version of a server, its users, and the round-trip time.
//
// A request is four zero bytes and eight bytes that the client chose. The reply is
// the version of the server, the same eight bytes, and three numbers, big-endian.
//
// Mumble 1.5 added a ping in protobuf, and still answers the old one. The encrypted
// packets of connected clients on the same port are not read.
//
// Sources: Mumble's protocol documentation, UDP connectivity checks; MumbleUDP.proto.
package mumble

import (
	"encoding/binary"
	"math"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/finding"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

var catalog = dissect.NewCatalog("mumble")

var (
	fType = catalog.Add("type", dissect.Uint, "0: a ping. 1: a ping in protobuf.", dissect.Framing)

	fTimestamp = catalog.Add("timestamp", dissect.Uint, "1.5: number that the client chose; the reply returns it.", dissect.Chosen)
	fExtended  = catalog.Add("extended", dissect.Bool, "1.5: the server shall tell version, users and bandwidth.")

	fVersion = catalog.Add("version", dissect.Group, "Version of the server.")
	fZero    = catalog.Add("version.zero", dissect.Uint, "0: the version has three numbers.", dissect.Framing)
	fPacked  = catalog.Add("version.packed", dissect.Uint, "1.5: the three numbers, 16 bits each, above 16 bits of zeros.", dissect.Framing)
	fMajor   = catalog.Add("version.major", dissect.Uint, "First number of the version: 1 of 1.3.4.")
	fMinor   = catalog.Add("version.minor", dissect.Uint, "Second number of the version: 3 of 1.3.4.")
	fPatch   = catalog.Add("version.patch", dissect.Uint, "Third number of the version: 4 of 1.3.4.")

	fID        = catalog.Add("id", dissect.Bytes, "Number that the client chose, often the time; the reply returns it.", dissect.Chosen)
	fUsers     = catalog.Add("users", dissect.Uint, "Users connected to the server.")
	fMaxUsers  = catalog.Add("max_users", dissect.Uint, "Maximum number of users.")
	fBandwidth = catalog.Add("bandwidth", dissect.Uint, "Maximum bandwidth of each user, in bits per second.")

	mRequest = catalog.Message(dissect.MessageType{Name: "ping_request", Title: "ping request", Role: dissect.Request, Doc: "Asks for version, users and bandwidth."})
	mReply   = catalog.Message(dissect.MessageType{Name: "ping_reply", Title: "ping", Role: dissect.Reply, Doc: "Version of the server, number of users, and the bandwidth of each."})

	mExtendedRequest = catalog.Message(dissect.MessageType{Name: "extended_ping_request", Title: "ping request", Role: dissect.Request, Doc: "The same in protobuf, since Mumble 1.5."})
	mExtendedReply   = catalog.Message(dissect.MessageType{Name: "extended_ping_reply", Title: "ping", Role: dissect.Reply, Doc: "The reply to it."})

	unanswered  = finding.NoReply(catalog, "mumble.noreply", "The capture has no reply within the time that clients wait. The server is down, does not answer pings (allowping=false), or a packet was lost, dropped by a firewall or not captured. Mumble then still works over TCP.")
	unrequested = finding.Unrequested(catalog, "mumble.unrequested", "The capture has requests of this conversation, but no pending one with this identifier. The request is missing from the capture, or the reply is late, a duplicate or forged.")
	several     = finding.Several(catalog, "mumble.several", "The identifier was returned more than once: the network duplicated the reply, or two servers share the address. Clients ignore the second reply, or take it for the reply to another ping.")
	tooMany     = catalog.Finding(dissect.FindingType{ID: "mumble.users.count", Severity: dissect.Note, Text: "%d {user|users} on a server for %d", Doc: "More users are connected than the server allows: the limit was lowered meanwhile, or the numbers are invented."})
)

// Protocol returns the declaration of the protocol for an analyzer.
func Protocol() *dissect.Protocol { return protocol }

var protocol = &dissect.Protocol{
	Name:    "mumble",
	Title:   "Mumble ping",
	Group:   "Voice",
	Doc:     "The ping of Mumble servers (Murmur, uMurmur, Grumble), by which clients and server lists ask for users and bandwidth.",
	Source:  "Mumble protocol documentation, UDP connectivity checks; MumbleUDP.proto",
	Ports:   []uint16{64738},
	Starts:  []string{"\x00", "\x01"},
	Catalog: catalog,
	Detect:  Detect,
	New:     func() dissect.Decoder { return new(decoder) },
	Pairing: finding.Usual(unanswered, unrequested, several),
}

const (
	ping       = "\x00\x00\x00\x00"
	lenRequest = 12
	lenReply   = 24
	longest    = 63 // of a ping in protobuf

	topicPing     dissect.Topic = 1
	topicExtended dissect.Topic = 2
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	if len(b) > 1 && len(b) <= longest && b[0] == startProtobuf {
		return detectProtobuf(b[1:])
	}
	switch len(b) {
	case lenRequest:
		if string(b[:4]) == ping {
			if low, high := binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:]); ((low == 0) == (high == 0) || b[4]|b[lenRequest-1] == 0) && !wire.Varied(b[4:]) {
				return dissect.Doubtful // neither a small number nor random
			}
			return dissect.Possible
		}
	case lenReply:
		if b[0] != 0 || b[1] == 0 {
			break // there is no version 0
		}
		bandwidth := binary.BigEndian.Uint32(b[20:])
		if b[1] < 10 && binary.BigEndian.Uint16(b[12:]) == 0 && binary.BigEndian.Uint16(b[16:]) == 0 && bandwidth > 0 && bandwidth < 1<<24 {
			if bandwidth%100 == 0 {
				return dissect.Likely // plausible users, and a bandwidth that somebody chose
			}
			return dissect.Possible
		}
		return dissect.Doubtful // packets of games also begin with 0 and 1
	}
	if len(b) > lenRequest && len(b) <= lenReply && string(b[:4]) == ping && wire.Varied(b[4:lenRequest]) ||
		len(b) > lenRequest+2 && len(b) < lenReply && b[0] == 0 && b[1] == 1 && binary.BigEndian.Uint16(b[12:]) == 0 ||
		len(b) > lenReply && b[0] == 0 && b[1] > 0 && b[1] < 10 && binary.BigEndian.Uint16(b[12:]) == 0 && binary.BigEndian.Uint16(b[16:]) == 0 {
		return dissect.Doubtful // cut, or with bytes of a newer version
	}
	return dissect.No
}

// A Message is one of *PingRequest and *PingReply.
type Message any

// PingRequest asks a server for the data of a PingReply.
type PingRequest struct {
	// ID is chosen by the client. It has no byte order.
	ID [8]byte
}

// PingReply has the version, the users and the bandwidth of a server.
type PingReply struct {
	// Major, Minor and Patch are the version of the server.
	Major, Minor, Patch uint8
	// ID is that of the request.
	ID [8]byte
	// Users is the number of connected users, MaxUsers the maximum.
	Users, MaxUsers uint32
	// Bandwidth is the maximum for each user, in bits per second.
	Bandwidth uint32
}

// Parse reads one payload. The result is the caller's own. The error is a
// *dissect.Error that says where reading ended; what had been read until there
// is returned with it.
func Parse(payload []byte) (Message, error) { return wire.Parse[Message](protocol, payload) }

// decoder owns what a message is read into.
type decoder struct {
	request         PingRequest
	reply           PingReply
	extendedRequest ExtendedRequest
	extendedReply   ExtendedReply
}

// Decode reads one message.
func (d *decoder) Decode(r *dissect.Reader, m *dissect.Message) {
	if r.Next(startProtobuf) {
		d.decodeProtobuf(r, m)
		return
	}
	if r.HasPrefix(ping) {
		q := wire.Message(m, mRequest, &d.request, PingRequest{})
		r.U32BE(fType)
		m.Pair.Asks = topicPing
		q.ID, m.Pair.ID = readID(r)
		return
	}
	p := wire.Message(m, mReply, &d.reply, PingReply{})
	version := r.Begin(fVersion)
	r.U8(fZero)
	p.Major = r.U8(fMajor)
	p.Minor = r.U8(fMinor)
	p.Patch = r.U8(fPatch)
	r.End(version)
	m.Pair.Answers = topicPing
	p.ID, m.Pair.ID = readID(r)
	p.Users = r.U32BE(fUsers)
	p.MaxUsers = r.U32BE(fMaxUsers)
	p.Bandwidth = r.U32BE(fBandwidth)
	users(r, m, uint64(p.Users), uint64(p.MaxUsers))
}

// users sets what a reply says of its server.
func users(r *dissect.Reader, m *dissect.Message, n, most uint64) {
	wire.State(r, m, dissect.Server{Players: dissect.Some(int(min(n, math.MaxInt32))), MaxPlayers: dissect.Some(int(min(most, math.MaxInt32)))})
	if n > most && !r.Failed() {
		r.Note(tooMany, dissect.Num(n), dissect.Num(most))
	}
}

// readID reads the identifier. For the pairing it returns it as a number other than
// [dissect.AnyID], which would match every identifier.
func readID(r *dissect.Reader) (id [8]byte, pair uint64) {
	copy(id[:], r.Bytes(fID, len(id)))
	return id, min(binary.BigEndian.Uint64(id[:]), dissect.AnyID-1)
}

// AppendSummary appends the version, the users and the bandwidth.
func (p *PingReply) AppendSummary(dst []byte) []byte {
	return appendState(dst, int(p.Users), int(p.MaxUsers), int(p.Major), int(p.Minor), int(p.Patch), int(p.Bandwidth))
}

// appendState appends what a reply says of its server, without an allocation.
func appendState(dst []byte, values ...int) []byte {
	for i, before := range []string{"", "/", " users  v", ".", ".", "  "} {
		dst = wire.Number(dst, before, values[i])
	}
	return append(dst, " bit/s"...)
}

// The ping in protobuf is a byte 1 and a message whose fields are numbers in varints,
// in ascending order. Fields that are 0 are absent (MumbleUDP.proto).
const (
	startProtobuf = 1
	tagTimestamp  = 1 << 3
	tagExtended   = 2 << 3
	tagVersion    = 3 << 3
	tagUsers      = 4 << 3
	tagMaxUsers   = 5 << 3
	tagBandwidth  = 6 << 3
)

// scan reads the tags of a message. replies reports whether it has fields of a reply, ok
// whether b is a message to its end.
func scan(b []byte) (version uint64, asks, replies, ok bool) {
	last := byte(0)
	for len(b) > 0 {
		tag := b[0]
		v, n := binary.Uvarint(b[1:])
		if tag <= last || tag > tagBandwidth || tag&7 != 0 || n <= 0 {
			return version, asks, replies, false
		}
		switch {
		case tag == tagExtended:
			asks = v == 1
		case tag == tagVersion:
			version = v
		}
		replies = replies || tag >= tagVersion
		last, b = tag, b[1+n:]
	}
	return version, asks, replies, last != 0
}

// detectProtobuf judges what follows the first byte.
func detectProtobuf(b []byte) dissect.Verdict {
	version, asks, replies, ok := scan(b)
	switch {
	case !ok || asks == replies:
	case asks:
		return dissect.Possible
	case version>>48 >= 1 && version>>48 < 10 && version<<48 == 0:
		return dissect.Likely
	}
	return dissect.No
}

// ExtendedRequest is the ping of Mumble 1.5, in protobuf.
type ExtendedRequest struct {
	// Timestamp is chosen by the client.
	Timestamp uint64
	// Extended asks for the data of an ExtendedReply.
	Extended bool
}

// ExtendedReply is the reply to it.
type ExtendedReply struct {
	// Timestamp is that of the request.
	Timestamp uint64
	// Major, Minor and Patch are the version of the server.
	Major, Minor, Patch uint16
	// Users is the number of connected users, MaxUsers the maximum.
	Users, MaxUsers uint64
	// Bandwidth is the maximum for each user, in bits per second.
	Bandwidth uint64
}

func (d *decoder) decodeProtobuf(r *dissect.Reader, m *dissect.Message) {
	q, p := &d.extendedRequest, &d.extendedReply
	*q, *p = ExtendedRequest{}, ExtendedReply{}
	m.Type, m.Body = mExtendedRequest, q
	_, _, replies, _ := scan(core.PeekFrom(r, 1))
	if replies {
		m.Type, m.Body = mExtendedReply, p
	}
	r.U8(fType)
	stated, last := false, -1
	for r.More() {
		tag := r.PeekByte(0)
		if tag <= last {
			r.Fail(fType, "fields that do not ascend")
			break
		}
		switch last = tag; tag {
		case tagTimestamp:
			q.Timestamp = varint(r, fTimestamp)
		case tagExtended:
			q.Extended = varint(r, fExtended) != 0
		case tagVersion:
			v, _ := binary.Uvarint(core.PeekFrom(r, 1))
			p.Major, p.Minor, p.Patch = uint16(v>>48), uint16(v>>32), uint16(v>>16)
			group := r.Begin(fVersion)
			varint(r, fPacked)
			r.Span(fMajor, uint64(p.Major), 0, 0, 0)
			r.Span(fMinor, uint64(p.Minor), 0, 0, 0)
			r.Span(fPatch, uint64(p.Patch), 0, 0, 0)
			r.End(group)
		case tagUsers:
			p.Users, stated = varint(r, fUsers), true
		case tagMaxUsers:
			if !stated {
				r.Span(fUsers, 0, 0, 0, 0)
			}
			p.MaxUsers = varint(r, fMaxUsers)
		case tagBandwidth:
			p.Bandwidth = varint(r, fBandwidth)
		default:
			r.Fail(fType, "no field of a ping")
		}
	}
	p.Timestamp = q.Timestamp
	m.Pair.ID = min(q.Timestamp, dissect.AnyID-1)
	if !replies {
		if q.Extended {
			m.Pair.Asks = topicExtended
		}
		return
	}
	m.Pair.Answers = topicExtended
	users(r, m, p.Users, p.MaxUsers)
}

// varint reads a tag and the varint behind it as one leaf.
func varint(r *dissect.Reader, f *dissect.Field) uint64 {
	v, n := binary.Uvarint(core.PeekFrom(r, 1))
	if n <= 0 {
		r.Fail(f, "no varint")
		return 0
	}
	r.Span(f, v, 1, n, 0)
	return v
}

// AppendSummary appends the version of the protocol.
func (*ExtendedRequest) AppendSummary(dst []byte) []byte { return append(dst, "1.5"...) }

// AppendSummary appends the version, the users and the bandwidth.
func (p *ExtendedReply) AppendSummary(dst []byte) []byte {
	return appendState(dst, int(p.Users), int(p.MaxUsers), int(p.Major), int(p.Minor), int(p.Patch), int(p.Bandwidth))
}
