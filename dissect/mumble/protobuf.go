package mumble

import (
	"encoding/binary"
	"math"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/summary"
	"github.com/qdissect/qdissect/internal/core"
)

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
	users, last := false, -1
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
			v := peekVarint(r)
			p.Major, p.Minor, p.Patch = uint16(v>>48), uint16(v>>32), uint16(v>>16)
			group := r.Begin(fVersion)
			varint(r, fPacked)
			r.Span(fMajor, uint64(p.Major), 0, 0, 0)
			r.Span(fMinor, uint64(p.Minor), 0, 0, 0)
			r.Span(fPatch, uint64(p.Patch), 0, 0, 0)
			r.End(group)
		case tagUsers:
			p.Users, users = varint(r, fUsers), true
		case tagMaxUsers:
			if !users {
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
	if r.Failed() {
		return
	}
	m.Server.Players = dissect.Some(int(min(p.Users, math.MaxInt32)))
	m.Server.MaxPlayers = dissect.Some(int(min(p.MaxUsers, math.MaxInt32)))
	if p.Users > p.MaxUsers {
		r.Note(tooMany, dissect.Num(p.Users), dissect.Num(p.MaxUsers))
	}
}

// peekVarint returns the varint behind the next byte.
func peekVarint(r *dissect.Reader) uint64 {
	v, _ := binary.Uvarint(core.PeekFrom(r, 1))
	return v
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
	dst = summary.Number(dst, "", int(p.Users))
	dst = summary.Number(dst, "/", int(p.MaxUsers))
	dst = summary.Number(dst, " users  v", p.Major)
	dst = summary.Number(dst, ".", p.Minor)
	dst = summary.Number(dst, ".", p.Patch)
	dst = summary.Number(dst, "  ", int(p.Bandwidth))
	return append(dst, " bit/s"...)
}
