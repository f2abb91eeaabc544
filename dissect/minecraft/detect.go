package minecraft

import (
	"bytes"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
)

// Detect judges a payload by its first bytes. See [dissect.Protocol].
//
// Handshakes are the same as those of gamespy3. Only gamespy3's queries without a
// token, and replies with its own keys, certainly do not belong to this protocol.
func Detect(b []byte) dissect.Verdict {
	switch {
	case gamespy.IsRequest(b):
		return detectRequest(b)
	case len(b) <= gamespy.ReplyHead:
		return dissect.No
	case b[0] == gamespy.TypeHandshake:
		switch {
		case mangledID(b[1:]) > 0:
			return dissect.Likely
		case !gamespy.IsHandshakeReply(b):
			if w, ok := gamespy.Word(b[gamespy.ReplyHead:]); ok && len(w) > 0 {
				return dissect.Possible
			}
			return dissect.No
		case b[gamespy.ReplyHead] == '0':
			return dissect.Possible // no challenge required: GameSpy 3
		}
		return dissect.Likely
	case b[0] == gamespy.TypeQuery:
		if isFull(b) {
			return detectFull(b)
		}
		if gamespy.HasSplitNum(b) {
			return dissect.No // a part
		}
		return detectBasic(b[gamespy.ReplyHead:])
	}
	return dissect.No
}

func detectRequest(b []byte) dissect.Verdict {
	if len(b) < gamespy.RequestHead {
		return dissect.No
	}
	rest := b[gamespy.RequestHead:]
	switch {
	case b[2] == gamespy.TypeHandshake:
		if len(rest) == 0 || len(rest) == 4 && string(b[3:gamespy.RequestHead]) != "\x00\x00\x00\x00" {
			return dissect.Likely
		}
		return dissect.Possible
	case b[2] != gamespy.TypeQuery:
		return dissect.No
	}
	q, ok := gamespy.ParseQuery(rest)
	s := &q.Selection
	lists := ok && s.Asks() && (!s.Options.OK || s.Options.Value <= 3) // as gamespy2 and gamespy3 have them
	switch len(rest) {
	case 4:
		if lists && s.Plain() {
			return dissect.No
		}
		return dissect.Likely
	case 8:
		if lists && string(rest[4:]) != "\xff\xff\xff\x01" {
			return dissect.Possible
		}
		return dissect.Likely
	}
	if lists || len(rest) > 8 && len(bytes.Trim(rest[8:], "\x00")) > 0 {
		return dissect.No // servers would reply, but clients do not pad with arbitrary bytes
	}
	return dissect.Possible
}

// fullHead is the length of the nine bytes without meaning and the two bytes after
// them.
const fullHead = 9 + 2

// isFull reports whether a reply is a full stat. In place of splitnum, Geyser sends its
// name and other servers send only zeros. Some omit the mark of the last part in the
// number.
func isFull(b []byte) bool {
	if len(b) < gamespy.ReplyHead+fullHead {
		return false
	}
	b = b[gamespy.ReplyHead:]
	if len(bytes.Trim(b[:fullHead], "\x00")) == 0 {
		return true
	}
	if b[8] != 0 || b[10] != 0 || !gamespy.Printable(b[:8]) {
		return false
	}
	if b[9] != 0 {
		return b[9] == gamespy.Last
	}
	is, _ := gamespy.LooksMinecraft(b[fullHead-1:])
	return is
}

// detectFull judges a full stat by the keys in the bytes that Detect sees.
func detectFull(b []byte) dissect.Verdict {
	rest := b[gamespy.ReplyHead+8:]
	is, isNot := gamespy.LooksMinecraft(rest)
	switch {
	case is, bytes.HasPrefix(b[gamespy.ReplyHead:], []byte("GeyserMC\x00")):
		return dissect.Certain
	case isNot:
		return dissect.No
	}
	if gamespy.HasSplitNum(b) || gamespy.IsPairs(rest[3:]) {
		return dissect.Likely
	}
	return dissect.No
}

// detectBasic judges a basic stat: the kind of game is SMP, and the numbers of players
// are numbers.
func detectBasic(b []byte) dissect.Verdict {
	if gamespy.OnlyMinecraft(b) {
		return dissect.Likely
	}
	if gamespy.IsPairs(b) {
		return dissect.No
	}
	var words [5][]byte
	n := 0
	rest := b
	for ; n < len(words); n++ {
		before, after, ok := bytes.Cut(rest, []byte{0})
		if !ok {
			break
		}
		words[n], rest = before, after
	}
	switch {
	case n == len(words) && len(rest) > 2 && gamespy.IsDecimal(bytes.TrimRight(rest[2:], "\x00")):
		// A sixth word that is a number. A basic stat has two bytes of port and an
		// address here; GameSpy 3 sends the port as text in its reply to a list of
		// keys.
	case n == len(words):
		if gamespy.IsDecimal(words[3]) && gamespy.IsDecimal(words[4]) && gamespy.Printable(words[0]) && gamespy.Printable(words[1]) && len(words[2]) > 0 && gamespy.Printable(words[2]) {
			if len(rest) < 2 { // no port: cut, or GameSpy 3's reply to a list of keys
				return dissect.Possible
			}
			return dissect.Likely
		}
	case n > 0 && len(words[0]) > 0 && gamespy.Printable(words[0]):
		return dissect.Possible
	}
	return dissect.No
}

// confirm reports whether a whole reply that may also be one of gamespy3 belongs to
// this protocol.
func confirm(b []byte) bool {
	if !isFull(b) {
		return false
	}
	is, _ := gamespy.LooksMinecraft(b)
	return is
}

// replacement is the replacement character in UTF-8.
const replacement = "\xef\xbf\xbd"

// mangledID returns the length of a mangled session id at the start of b, before a
// token, or 0 if the id is not mangled. Such servers decode the four bytes of the id as
// UTF-8 and encode the result.
func mangledID(b []byte) int {
	if !bytes.Contains(b[:min(len(b), 4*len(replacement))], []byte(replacement)) || len(b) > 4 && isToken(b[4:]) {
		return 0
	}
	n := 0
	for range 4 {
		switch {
		case bytes.HasPrefix(b[n:], []byte(replacement)):
			n += len(replacement)
		case n < len(b):
			n++
		}
	}
	if !isToken(b[n:]) {
		return 0
	}
	return n
}

func isToken(b []byte) bool { return gamespy.IsDecimal(bytes.TrimSuffix(b, []byte{0})) }
