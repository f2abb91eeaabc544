package minecraftjava

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode/utf16"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

const (
	maxVarInt     = 5
	maxPacket     = 1<<21 - 1 // three bytes of VarInt; clients read no longer ones
	maxCharacters = 32767     // of the JSON
	maxHost       = 4 * 255
	maxMark       = 16 // of one that says no more than which mods a client has

	lenPing   = 10
	lenNoHost = 11 // at most: a handshake without a host
	legacy    = 0xfe
	kick      = 0xff
	lenKick   = 3
	lenLegacy = 2
	pingHost  = "\xfa\x00\x0b\x00M\x00C\x00|\x00P\x00i\x00n\x00g\x00H\x00o\x00s\x00t"
)

// varint reads a VarInt of at most 32 bits: seven bits of each byte, the lowest first. n is 0 if it is incomplete, and -1 if it is none.
func varint(b []byte) (v int32, n int) {
	u, n := binary.Uvarint(b[:min(len(b), maxVarInt)])
	if n == 0 && len(b) >= maxVarInt {
		n = -1
	}
	return int32(u), n
}

// A kind is a kind of packet since version 1.7.
type kind uint8

const (
	none   kind = iota
	unsure      // it takes more bytes to tell
	handshake
	statusRequest
	statusReply
	ping
)

// kindOf tells the kind of a packet by its first bytes.
func kindOf(b []byte) kind {
	length, n := varint(b)
	switch {
	case n == 0:
		return unsure
	case n < 0 || length < 1 || length > maxPacket:
		return none
	case len(b) == n:
		return unsure
	case b[n] == 1 && length == lenPing-1:
		return ping
	case b[n] != 0:
		return none
	case length == 1:
		return statusRequest
	}
	body := b[n+1:]
	size := int(length) - 1 // of the body
	first, n := varint(body)
	if n <= 0 {
		return kind(core.Bit[uint8](n == 0)) // unsure or none
	}
	if text := body[n:]; int(first) == size-n && bytes.HasPrefix(text, []byte("{")) || int(first) < size-n && bytes.HasPrefix(text, []byte(`{"`)) {
		return statusReply
	}
	second, more := varint(body[n:])
	switch n += more; {
	case more <= 0:
		return kind(core.Bit[uint8](more == 0))
	case second < 0, second > maxHost, size != n+int(second)+3, !named(body[n:min(n+int(second), len(body))]),
		len(body) >= size && (body[size-1] < 1 || body[size-1] > 3):
		return none
	}
	return handshake
}

// named reports whether a text may be the name of a host, with the marks of mods behind it.
func named(b []byte) bool {
	at := slices.IndexFunc(b, func(c byte) bool { return c <= ' ' || c == 0x7f })
	return at < 0 || at > 0 && b[at] == 0
}

// isLegacy reports whether b begins a request of a client before version 1.7. FE 01 may also be the length of a packet.
func isLegacy(b []byte) bool {
	if len(b) == 0 || b[0] != legacy {
		return false
	}
	rest := b[1:]
	return len(rest) == 0 || rest[0] == 1 && (len(rest) == 1 || hasPrefix(rest[1:], pingHost))
}

// hasPrefix reports whether b begins with a prefix, as far as both are there.
func hasPrefix(b []byte, prefix string) bool {
	n := min(len(b), len(prefix))
	return string(b[:n]) == prefix[:n]
}

// isKick reports whether b begins a reply to such a request. The length of a packet has FF as first byte as well: then 0, the number of
// the packet, and the length of the JSON follow, which is not 0.
func isKick(b []byte) bool {
	return len(b) > 4 && b[0] == kick && b[1]|b[2] != 0 && b[3] == 0 && (b[1] == 0 || b[2] != 0 || b[4] < ' ' || kindOf(b) < handshake)
}

// mayKick reports whether it takes more bytes to tell.
func mayKick(b []byte) bool { return b[0] == kick && len(b) <= 4 }

// Stream returns the length of the packet that b begins with. See [dissect.Protocol].
func Stream(b []byte) (length int, over bool) {
	what := kindOf(b)
	switch {
	case isLegacy(b):
		if at := lenLegacy + len(pingHost); len(b) >= at+2 {
			return at + 2 + int(b[at])<<8 + int(b[at+1]), false
		}
		return 0, len(b) <= lenLegacy
	case isKick(b):
		return lenKick + 2*(int(b[1])<<8|int(b[2])), true
	case what == unsure, mayKick(b):
		return 0, false
	case what == none:
		return -1, false
	}
	n, size := varint(b)
	length = size + int(n)
	return length, what == handshake && len(b) >= length && b[length-1] != 1
}

// Detect judges a packet by its first bytes. See [dissect.Protocol].
func Detect(b []byte) dissect.Verdict {
	switch what := kindOf(b); {
	case len(b) == 0:
		return dissect.No
	case isLegacy(b):
		if len(b) > 8 {
			return dissect.Certain
		}
	case isKick(b):
		if bytes.HasPrefix(b[lenKick:], []byte("\x00\xa7\x001\x00\x00")) {
			return dissect.Certain
		}
	case what == none && !mayKick(b):
		return dissect.No
	case what == handshake:
		n, size := varint(b)
		if end := size + int(n); len(b) > 32 || len(b) >= end && (end > lenNoHost || b[end-4] != 0) {
			return dissect.Likely
		}
	case what == statusRequest:
		return dissect.Doubtful // two bytes, which follow on others
	case what == statusReply:
		return verdictOfJSON(b[bytes.IndexByte(b, '{'):])
	}
	return dissect.Possible
}

// verdictOfJSON judges the beginning of JSON. Servers send a reason in JSON to those whom they disconnect, which is not read.
func verdictOfJSON(b []byte) dissect.Verdict {
	for _, key := range [...]string{`{"text"`, `{"translate"`, `{"extra"`, `{"color"`, `{"bold"`} {
		if hasPrefix(b, key) && len(b) > 2 {
			return dissect.No
		}
	}
	for _, key := range [...]string{`{"version"`, `{"description"`, `{"players"`, `{"favicon"`} {
		if bytes.HasPrefix(b, []byte(key)) {
			return dissect.Certain
		}
	}
	return nettext.Either(len(b) < 8, dissect.Possible, dissect.Likely)
}

// characters returns the number of characters as the game counts them, in UTF-16.
func characters(text []byte) (n int) {
	for _, c := range nettext.View(text) {
		n += utf16.RuneLen(c)
	}
	return n
}
