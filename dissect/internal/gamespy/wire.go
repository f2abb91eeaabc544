// Package gamespy reads what the protocols of GameSpy's Query and Reporting 2
// have in common: gamespy2 and gamespy3, which are two formats of its replies,
// and minecraft, which took over the second.
//
// What goes to a server begins with FE FD, a type and a session id of four
// bytes; what comes from it with the type and the same id. Numbers are
// big-endian, text ends with a zero byte.
package gamespy

import (
	"bytes"
	"encoding/binary"

	"github.com/qdissect/qdissect/dissect"
)

// The types of packets, with the names of the SDK (qr2.c).
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
)

// The lengths of what every packet begins with: to a server, and from it.
const (
	RequestHead = 7
	ReplyHead   = 5
)

// IsRequest reports whether a payload goes to a server: it begins with FE FD.
func IsRequest(b []byte) bool {
	return len(b) >= 2 && b[0] == 0xfe && b[1] == 0xfd
}

// Head are the fields that every packet begins with.
type Head struct{ Magic, Type, Session *dissect.Field }

// DeclareHead adds the fields of the head to a catalog. types are the names of
// the types that the protocol has.
func DeclareHead(c *dissect.Catalog, types ...dissect.Name) Head {
	return Head{
		Magic:   c.Add("magic", dissect.Bytes, "FE FD: the packet goes to a server.", dissect.Framing),
		Type:    c.Add("type", dissect.Uint, "What kind of packet this is.", dissect.Names(types...)),
		Session: c.Add("session_id", dissect.Uint, "Number that the one who asks chooses and the one who answers sends back.", dissect.Chosen),
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

// ID is the session id as it stands in [dissect.Pair]: never 0, which would
// mean that there is none.
func ID(session uint32) uint64 { return 1<<32 | uint64(session) }

// Keys are the keys that a query asks for, of the server, the players or the
// teams.
type Keys struct {
	// All asks for all of them.
	All bool
	// Numbers are single ones, by the numbers of the SDK; those from 50 up
	// are the game's own.
	Numbers []byte
}

// Any reports whether any key is asked for.
func (k *Keys) Any() bool { return k.All || len(k.Numbers) > 0 }

// A Selection is what a query asks for: three lists of keys, each behind a byte
// that counts them. 255 stands for all keys, without a list.
type Selection struct {
	Server, Players, Teams Keys
	// Options is the byte behind them, where there is one: its bit 0 asks for
	// a reply in parts (SDK), the value 2 for the players of Just Cause 2.
	Options dissect.Opt[uint8]
}

// Plain reports whether every list is of nothing or everything, as clients send
// them.
func (s *Selection) Plain() bool {
	return len(s.Server.Numbers)+len(s.Players.Numbers)+len(s.Teams.Numbers) == 0
}

// Asks reports whether anything is asked for.
func (s *Selection) Asks() bool { return s.Server.Any() || s.Players.Any() || s.Teams.Any() }

// selection reads a selection that ends where b ends.
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

// allKeys is the count that stands for all keys.
const allKeys = 255

// A Query is a request of type 0 without its head.
type Query struct {
	// Challenged says that the four bytes of a challenge come first.
	Challenged bool
	Selection  Selection
}

// ParseQuery reads what follows the session id of a query. Nothing says whether
// a challenge comes first: what makes the lists end where the packet ends is
// right, and lists as all clients send them, of nothing or everything, before
// lists of single keys.
func ParseQuery(b []byte) (q Query, ok bool) {
	bare, isBare := selection(b)
	var behind Selection
	isBehind := false
	if len(b) > 4 {
		behind, isBehind = selection(b[4:])
	}
	switch {
	case isBare && (bare.Plain() || !isBehind || !behind.Plain()):
		return Query{Selection: bare}, true
	case isBehind:
		return Query{Challenged: true, Selection: behind}, true
	}
	return q, false
}

// QueryFields are the fields of a query.
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
		f.Counts[i] = c.Add(what+"_keys", dissect.Uint, "Keys of the "+what+" that are asked for: 0 for none, 255 for all, else how many numbers follow.", all)
		f.Lists[i] = c.Add(what+"_key_list", dissect.List, "Their numbers.")
	}
	f.Key = c.Add("key", dissect.Uint, "Number of a key (qr2regkeys.c); games number their own from 50.", dissect.Names(keyNumbers()...))
	return f
}

// Read reads a query behind its head.
func (f *QueryFields) Read(r *dissect.Reader) (q Query, challenge int32) {
	if f.Challenge != nil {
		parsed, _ := ParseQuery(r.Peek())
		if q.Challenged = parsed.Challenged; q.Challenged {
			challenge = r.I32BE(f.Challenge)
		}
	}
	s := &q.Selection
	for i, k := range [...]*Keys{&s.Server, &s.Players, &s.Teams} {
		n := int(r.U8(f.Counts[i]))
		if k.All = n == allKeys; n == 0 || k.All {
			continue
		}
		k.Numbers = r.PeekTo(n)
		list := r.Begin(f.Lists[i])
		for ; n > 0 && !r.Failed(); n-- {
			r.U8(f.Key)
		}
		r.End(list)
	}
	if r.More() && f.Options != nil {
		s.Options = dissect.Some(r.U8(f.Options))
	}
	return q, challenge
}

// splitNum is what replies in parts begin with, behind the head: the word, the
// number of the part, and the first section.
const splitNum = "splitnum\x00"

// SplitHead is the length of the header of a part.
const SplitHead = ReplyHead + len(splitNum) + 1

// Last is the bit in the number of a part that marks the last one.
const Last = 0x80

// HasSplitNum reports whether a payload is a reply in the format of parts, or
// the beginning of one.
func HasSplitNum(b []byte) bool {
	return len(b) >= SplitHead-1 && b[0] == TypeQuery && string(b[ReplyHead:SplitHead-1]) == splitNum
}

// Number returns the number of a part with its mark; ok is false if the payload
// is no reply in the format of parts.
func Number(b []byte) (n uint8, ok bool) {
	if len(b) < SplitHead || !HasSplitNum(b) {
		return 0, false
	}
	return b[SplitHead-1], true
}

// Session returns the session id of a reply.
func Session(b []byte) uint32 { return binary.BigEndian.Uint32(b[1:]) }

// Word returns the text at the start of b up to a zero byte, if it is printable
// and the zero byte is there.
func Word(b []byte) (s []byte, ok bool) {
	n := bytes.IndexByte(b, 0)
	if n < 0 {
		return nil, false
	}
	return b[:n], Printable(b[:n])
}

// Printable reports whether b has no control characters but those that names
// are decorated with: most of it must be text.
func Printable(b []byte) bool {
	controls := 0
	for _, c := range b {
		if c < ' ' && c != 0x1b && c != 0x1c {
			controls++
		}
	}
	return controls == 0
}

// isKey reports whether b could be the name of a setting or of a column.
func isKey(b []byte) bool {
	if len(b) == 0 || len(b) > 64 {
		return false
	}
	for _, c := range b {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

// IsDecimal reports whether b is a decimal number, perhaps negative, of 32 bits
// or fewer.
func IsDecimal(b []byte) bool {
	if len(b) > 0 && b[0] == '-' {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 10 {
		return false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// IsHandshakeReply reports whether a payload is a handshake reply: the head and
// a number in text.
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

// keyNames are the keys that the SDK numbers from 1 (qr2regkeys.c). Games number
// their own from 50.
var keyNames = [...]string{
	1: "hostname", "gamename", "gamever", "hostport", "mapname", "gametype", "gamevariant", "numplayers", "numteams", "maxplayers",
	"gamemode", "teamplay", "fraglimit", "teamfraglimit", "timeelapsed", "timelimit", "roundtime", "roundelapsed", "password", "groupid",
	"player_", "score_", "skill_", "ping_", "team_", "deaths_", "pid_", "team_t", "score_t", "nn_groupid", "country", "region",
}

// keyNumbers are the keys for the declaration of a field.
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
	for _, name := range keyNames[1:] {
		if string(b) == name {
			return true
		}
	}
	return false
}

// IsPairs reports whether b begins with the settings of a server: with a key
// that the SDK knows.
func IsPairs(b []byte) bool {
	w, ok := Word(b)
	return ok && isKnownKey(w)
}

// IsTable reports whether b begins with a table: the count of its rows, which
// some games leave half off, and the name of a column.
func IsTable(b []byte) bool {
	if len(b) < 3 || b[0] != 0 {
		return false
	}
	return isColumn(b[1:]) || isColumn(b[2:])
}

// isColumn reports whether b begins with the name of a column: columns of
// players end with an underscore, those of teams with _t.
func isColumn(b []byte) bool {
	n := bytes.IndexByte(b[:min(len(b), 64)], 0)
	return n > 0 && isColumnName(b[:n])
}

func isColumnName(b []byte) bool {
	return isKey(b) && (b[len(b)-1] == '_' && len(b) > 1 || bytes.HasSuffix(b, []byte("_t")))
}

// OnlyMinecraft reports whether the data of a reply, behind the session id, is
// what no other game sends: a basic stat, which names its kind of game, or
// Geyser's word in the place of splitnum.
func OnlyMinecraft(b []byte) bool {
	return bytes.HasPrefix(b, []byte("GeyserMC\x00")) || bytes.Contains(b, []byte("\x00SMP\x00")) && !IsPairs(b)
}

// LooksMinecraft looks for what only replies of Minecraft have, and for what
// they never have. b is the settings, or the beginning of them.
func LooksMinecraft(b []byte) (is, isNot bool) {
	has := func(s string) bool { return bytes.Contains(b, []byte(s)) }
	switch {
	case has("\x00game_id\x00MINECRAFT"), has("\x00gametype\x00SMP\x00"), has("\x00hostip\x00") && has("\x00plugins\x00"):
		return true, false
	case has("\x00gamever\x00"), has("\x00gamename\x00"), has("\x00mapname\x00"), has("\x00gamemode\x00"), has("\x00gamevariant\x00"):
		return false, true
	}
	return false, false
}
