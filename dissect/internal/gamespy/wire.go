// Package gamespy has the common parts of the protocols of GameSpy's Query and
// Reporting 2: gamespy2 and gamespy3, two formats of its replies, and minecraft, which
// uses the second.
//
// A packet to a server begins with FE FD, a type and a session id of four bytes; a
// packet from a server with the type and the same id. Numbers are big-endian, text ends
// with a zero byte.
package gamespy

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

// The types of packets. The comments give the names from the SDK (qr2.c).
const (
	TypeQuery      = 0x00 // PACKET_QUERY
	TypeChallenge  = 0x01 // PACKET_CHALLENGE
	TypeEcho       = 0x02 // PACKET_ECHO
	TypeHeartbeat  = 0x03 // PACKET_HEARTBEAT
	TypeAddError   = 0x04 // PACKET_ADDERROR
	TypeEchoReply  = 0x05 // PACKET_ECHO_RESPONSE
	TypeMessage    = 0x06 // PACKET_CLIENT_MESSAGE
	TypeMessageAck = 0x07 // PACKET_CLIENT_MESSAGE_ACK
	TypeKeepAlive  = 0x08 // PACKET_KEEPALIVE
	TypeHandshake  = 0x09 // PACKET_PREQUERY_IP_VERIFY; availability checks have the same number
	TypeRegistered = 0x0a // PACKET_CLIENT_REGISTERED

	// The lengths of the heads of packets to a server and from it.
	RequestHead = 7
	ReplyHead   = 5
)

// IsRequest reports whether a payload goes to a server: it begins with FE FD.
func IsRequest(b []byte) bool { return len(b) >= 2 && b[0] == 0xfe && b[1] == 0xfd }

// Head has the fields at the start of every packet.
type Head struct{ Magic, Type, Session *dissect.Field }

// DeclareHead adds the fields of the head to a catalog. types are the names of the
// protocol's types.
func DeclareHead(c *dissect.Catalog, types ...dissect.Name) Head {
	return Head{
		Magic:   c.Add("magic", dissect.Bytes, "FE FD: the packet goes to a server.", dissect.Framing),
		Type:    c.Add("type", dissect.Uint, "Type of the packet.", dissect.Names(types...)),
		Session: c.Add("session_id", dissect.Uint, "Number that the sender of a request chooses; the reply returns it.", dissect.Chosen),
	}
}

// Read reads the head.
func (h *Head) Read(r *dissect.Reader) (request bool, kind uint8, session uint32) {
	if request = IsRequest(r.Peek()); request {
		r.Bytes(h.Magic, 2)
	}
	kind = r.U8(h.Type)
	session = r.U32BE(h.Session)
	return request, kind, session
}

// ID returns the session id for [dissect.Pair]. It is never 0, which would mean that
// there is none.
func ID(session uint32) uint64 { return 1<<32 | uint64(session) }

// Keys are the keys that a query asks for: of the server, the players or the teams.
type Keys struct {
	// All asks for all keys.
	All bool
	// Numbers are single keys, by the numbers of the SDK. Games define those from 50
	// up.
	Numbers []byte
}

// Any reports whether any key is asked for.
func (k *Keys) Any() bool { return k.All || len(k.Numbers) > 0 }

// A Selection is the content of a query: three lists of keys, each after a byte with
// its length. 255 stands for all keys, without a list.
type Selection struct {
	Server, Players, Teams Keys
	// Options is the optional byte after the lists. Bit 0 asks for a reply in parts
	// (SDK), the value 2 for the players of Just Cause 2.
	Options dissect.Opt[uint8]
}

// Plain reports whether every list asks for nothing or everything, as clients send
// them.
func (s *Selection) Plain() bool {
	return len(s.Server.Numbers)+len(s.Players.Numbers)+len(s.Teams.Numbers) == 0
}

// Asks reports whether any key is asked for.
func (s *Selection) Asks() bool { return s.Server.Any() || s.Players.Any() || s.Teams.Any() }

// selection parses a selection that ends where b ends.
func selection(b []byte) (s Selection, ok bool) {
	for _, k := range [...]*Keys{&s.Server, &s.Players, &s.Teams} {
		if len(b) == 0 {
			return s, false
		}
		n := int(b[0])
		b = b[1:]
		switch {
		case n == allKeys:
			k.All = true
		case n > len(b):
			return s, false
		case n > 0:
			k.Numbers = b[:n:n]
			b = b[n:]
		}
	}
	switch len(b) {
	case 0:
	case 1:
		s.Options = dissect.Some(b[0])
	default:
		return s, false
	}
	return s, true
}

// plain parses a selection that ends where b ends, if each list asks for nothing or
// everything.
func plain(b []byte) (s Selection, ok bool) {
	if len(b) != 3 && len(b) != 4 || b[0]+1 > 1 || b[1]+1 > 1 || b[2]+1 > 1 { // 0 and 255
		return s, false
	}
	s.Server.All, s.Players.All, s.Teams.All = b[0] != 0, b[1] != 0, b[2] != 0
	if len(b) == 4 {
		s.Options = dissect.Some(b[3])
	}
	return s, true
}

// allKeys is the count that stands for all keys.
const allKeys = 255

// A Query is a request of type 0 without its head.
type Query struct {
	// Challenged reports whether the four bytes of a challenge come first.
	Challenged bool
	Selection  Selection
}

// ParseQuery parses a query after its session id. Nothing says whether a challenge
// comes first. The lists must end where the packet ends, and lists of nothing or
// everything, as all clients send them, take precedence over lists of single keys.
func ParseQuery(b []byte) (q Query, ok bool) {
	for _, parse := range [...]func([]byte) (Selection, bool){plain, selection} {
		if q.Selection, ok = parse(b); ok {
			return q, true
		}
		if len(b) > 4 {
			if q.Selection, ok = parse(b[4:]); ok {
				q.Challenged = true
				return q, true
			}
		}
	}
	return Query{}, false
}

// QueryFields has the fields of a query.
type QueryFields struct {
	Challenge *dissect.Field // nil if the protocol has none
	Counts    [3]*dissect.Field
	Lists     [3]*dissect.Field
	Key       *dissect.Field
	Options   *dissect.Field // nil if the protocol has none
}

// DeclareQuery adds the fields of the three lists to a catalog.
func DeclareQuery(c *dissect.Catalog) (f QueryFields) {
	all := dissect.Names(dissect.Name{Value: 0, Name: "none"}, dissect.Name{Value: allKeys, Name: "all"})
	for i, what := range [...]string{"server", "player", "team"} {
		f.Counts[i] = c.Add(what+"_keys", dissect.Uint, "Requested keys of the "+what+": 0 for none, 255 for all, otherwise the count of the numbers that follow.", all)
		f.Lists[i] = c.Add(what+"_key_list", dissect.List, "Numbers of the keys.")
	}
	f.Key = c.Add("key", dissect.Uint, "Number of a key (qr2regkeys.c). Games number their own keys from 50.", dissect.Names(keyNumbers()...))
	return f
}

// Read reads a query after its head.
func (f *QueryFields) Read(r *dissect.Reader) (q Query, challenge int32) {
	if f.Challenge != nil {
		parsed, _ := ParseQuery(r.Peek())
		if q.Challenged = parsed.Challenged; q.Challenged {
			challenge = core.I32BE(r, f.Challenge)
		}
	}
	s := &q.Selection
	for i, k := range [...]*Keys{&s.Server, &s.Players, &s.Teams} {
		n := int(r.U8(f.Counts[i]))
		if k.All = n == allKeys; n == 0 || k.All {
			continue
		}
		k.Numbers = core.PeekTo(r, n)
		wire.Each(r, f.Lists[i], nil, wire.Times(r, n), func() { r.U8(f.Key) })
	}
	if r.More() && f.Options != nil {
		s.Options = dissect.Some(r.U8(f.Options))
	}
	return q, challenge
}

// splitNum follows the head of a reply in parts. The number of the part and the first
// section follow.
const splitNum = "splitnum\x00"

// SplitHead is the length of the header of a part.
const SplitHead = ReplyHead + len(splitNum) + 1

// Last is the bit that marks the number of the last part.
const Last = 0x80

// HasSplitNum reports whether a payload is a reply in parts, or the beginning of one.
func HasSplitNum(b []byte) bool {
	return len(b) >= SplitHead-1 && b[0] == TypeQuery && string(b[ReplyHead:SplitHead-1]) == splitNum
}

// Number returns the number of a part with its mark. ok is false if the payload is not
// a reply in parts.
func Number(b []byte) (n uint8, ok bool) {
	if len(b) < SplitHead || !HasSplitNum(b) {
		return 0, false
	}
	return b[SplitHead-1], true
}

// Session returns the session id of a reply.
func Session(b []byte) uint32 { return binary.BigEndian.Uint32(b[1:]) }

// Word returns the text at the start of b up to a zero byte. ok is false if the zero
// byte is missing or the text is not printable.
func Word(b []byte) (s []byte, ok bool) {
	s, _, ok = bytes.Cut(b, []byte{0})
	return s, ok && Printable(s)
}

// Printable reports whether b has no control characters but those with which names are
// decorated.
func Printable(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c < ' ' && c != 0x1b && c != 0x1c })
}

// OfSession judges a reply that proves little by its session id, which clients choose: that of
// other traffic is made of small numbers, or is the opcode and the first letters of a file that
// TFTP asks for.
func OfSession(b []byte) dissect.Verdict {
	if wire.Varied(b[1:ReplyHead]) && (b[1] > 6 || !Printable(b[2:ReplyHead])) {
		return dissect.Possible
	}
	return dissect.Doubtful
}

// ASCII reports whether b has only bytes below 7F.
func ASCII(b []byte) bool { return !slices.ContainsFunc(b, func(c byte) bool { return c >= 0x7f }) }

// isKey reports whether b may be the name of a setting or of a column.
func isKey(b []byte) bool {
	return len(b) > 0 && len(b) <= 64 && !slices.ContainsFunc(b, func(c byte) bool { return c <= ' ' || c >= 0x7f })
}

// IsDecimal reports whether b is a decimal number of at most ten digits, with or
// without a minus sign.
func IsDecimal(b []byte) bool {
	if len(b) > 0 && b[0] == '-' {
		b = b[1:]
	}
	return len(b) > 0 && len(b) <= 10 && !slices.ContainsFunc(b, func(c byte) bool { return c < '0' || c > '9' })
}

// IsHandshakeReply reports whether a payload is a handshake reply: the head and a
// number in text.
func IsHandshakeReply(b []byte) bool {
	if len(b) <= ReplyHead || b[0] != TypeHandshake {
		return false
	}
	text := b[ReplyHead:]
	if text[len(text)-1] == 0 {
		text = text[:len(text)-1]
	}
	return IsDecimal(text)
}

// keyNames are the keys that the SDK numbers from 1 (qr2regkeys.c). Games number their
// own keys from 50.
var keyNames = [...]string{
	1: "hostname", "gamename", "gamever", "hostport", "mapname", "gametype", "gamevariant", "numplayers", "numteams", "maxplayers",
	"gamemode", "teamplay", "fraglimit", "teamfraglimit", "timeelapsed", "timelimit", "roundtime", "roundelapsed", "password", "groupid",
	"player_", "score_", "skill_", "ping_", "team_", "deaths_", "pid_", "team_t", "score_t", "nn_groupid", "country", "region",
}

// keyNumbers returns the keys as names of values.
func keyNumbers() (names []dissect.Name) {
	for i, name := range keyNames {
		if i > 0 {
			names = append(names, dissect.Name{Value: uint64(i), Name: name})
		}
	}
	return names
}

// isKnownKey reports whether b is one of the keys of the SDK.
func isKnownKey(b []byte) bool {
	return slices.ContainsFunc(keyNames[1:], func(name string) bool { return string(b) == name })
}

// IsPairs reports whether b begins with the settings of a server: with a key of the
// SDK.
func IsPairs(b []byte) bool {
	w, ok := Word(b)
	return ok && isKnownKey(w)
}

// IsTable reports whether b begins with a table: the count of its rows, of which some
// games send one byte only, and the name of a column.
func IsTable(b []byte) bool {
	return len(b) >= 3 && b[0] == 0 && (isColumn(b[1:]) || isColumn(b[2:]))
}

// isColumn reports whether b begins with the name of a column. Names of player columns
// end with an underscore, those of team columns with _t.
func isColumn(b []byte) bool {
	n := bytes.IndexByte(b[:min(len(b), 64)], 0)
	return n > 0 && isColumnName(b[:n])
}

func isColumnName(b []byte) bool {
	return isKey(b) && b[0] != '_' && (b[len(b)-1] == '_' && len(b) > 1 || bytes.HasSuffix(b, []byte("_t")))
}

// OnlyMinecraft reports whether the data after the session id of a reply comes only
// from Minecraft: a basic stat, which names its kind of game, or Geyser's word in place
// of splitnum.
func OnlyMinecraft(b []byte) bool {
	return bytes.HasPrefix(b, []byte("GeyserMC\x00")) || bytes.Contains(b, []byte("\x00SMP\x00")) && !IsPairs(b)
}

// LooksMinecraft reports whether the settings in b have keys or values of Minecraft,
// and whether they have keys that Minecraft never sends. b may be truncated.
func LooksMinecraft(b []byte) (is, isNot bool) {
	hostIP, plugins := false, false
	for n := bytes.IndexByte(b, 0); n >= 0; {
		b = b[n+1:]
		if n = bytes.IndexByte(b, 0); n < 0 {
			break
		}
		switch value := b[n+1:]; string(b[:n]) {
		case "game_id":
			is = bytes.HasPrefix(value, []byte("MINECRAFT"))
		case "gametype":
			is = bytes.HasPrefix(value, []byte("SMP\x00"))
		case "hostip":
			hostIP = true
		case "plugins":
			plugins = true
		case "gamever", "gamename", "mapname", "gamemode", "gamevariant":
			isNot = true
		}
		if is || hostIP && plugins {
			return true, false
		}
	}
	return false, isNot
}
