package armagetron

import (
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

// message writes a message behind its header: what holds little-endian words, whose
// bytes are swapped. datagram adds the number of a server as the sender.
func message(kind byte, what string) string {
	b := []byte(string([]byte{kind, 0, 0, 0, byte(len(what) / 2), byte(len(what) / 2 >> 8)}) + what)
	for i := 0; i+1 < len(b); i += 2 {
		b[i], b[i+1] = b[i+1], b[i]
	}
	return string(b)
}

func datagram(messages ...string) string { return strings.Join(messages, "") + "\x00\x00" }

func words(list ...uint32) string {
	var b []byte
	for _, n := range list {
		b = append(b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
	}
	return string(b)
}

func str(s string) string {
	if s == "" {
		return "\x00\x00"
	}
	s += "\x00"
	n := len(s)
	return string([]byte{byte(n), byte(n >> 8)}) + s + strings.Repeat("\x00", n%2)
}

const (
	askBig   = "\x00\x35\x00\x00\x00\x00\x00\x11"
	askSmall = "\x00\x34\x00\x00\x00\x00\x00\x11"
)

var (
	head     = words(4534) + str("") + str("0xff0000A 0xffffffserver") + words(2)
	version  = words(0, 17) + str("0.2.9.1 unix dedicated")
	texts    = words(16) + str("Anna\nB\xf6rje\n") + str("Default settings.") + str("http://example.org")
	accounts = str("anna@forums\n\n")
	settings = "\x04\x00" + words(0, 60, 0) + words(0x00333333, 0x093ffd44, 0x00aaaaab, 0x0001b4e8, 0x0204e04e)
	big      = datagram(message(idBig, head+version+texts+accounts+settings))
)

func samples() []dissecttest.Sample {
	one := dissecttest.One
	server := message(idSmall, words(4534)+str("192.0.2.77")+words(7))
	sound := func(s dissecttest.Sample, n ...int) dissecttest.Sample { s.Sound = n; return s }
	return []dissecttest.Sample{
		one("small request", "small_request", dissect.Likely, askSmall),
		one("small request to a master", "small_request", dissect.Likely, datagram(message(idAskSmall, "\x01\x00\x02\x00"))),
		one("big request", "big_request", dissect.Likely, askBig),
		one("request of a master", "master_request", dissect.Likely, datagram(message(idAskMaster, ""))),
		one("request with a wrong length", "small_request", dissect.Likely, "\x00\x34\x00\x00\xff\xff\x00\x11", "malformed"),
		one("small info", "small_reply", dissect.Likely, datagram(message(idSmall, words(4534)+str("")+words(0)))),
		sound(one("list of a master", "small_reply", dissect.Possible, datagram(server, message(idSmall, words(4535)+str("example.org")+words(8)), message(24, "\x01\x00"))), 30, 58),
		one("big info", "big_reply", dissect.Likely, big),
		one("big info for a master", "master_reply", dissect.Likely, datagram(message(idMaster, head+version+texts+accounts+settings))),
		one("big info before 0.2.5", "big_reply", dissect.Likely, datagram(message(idBig, head))),
		one("big info without players", "big_reply", dissect.Likely, datagram(message(idBig, head+version+words(16)))),
		one("big info without accounts", "big_reply", dissect.Likely, datagram(message(idBig, head+version+texts))),
		one("big info with more", "big_reply", dissect.Likely, datagram(message(idBig, head+version+texts+accounts+settings+"\x01\x00"))),
		one("small info that is too short", "small_reply", dissect.Likely, datagram(message(idSmall, words(4534)+str("")+"\x00\x00")), "armagetron.length", "malformed"),
		one("lines longer than the message", "big_reply", dissect.Likely, datagram(message(idBig, head+version+words(16)+"\xff\xff\x00\x00")), "malformed"),
		sound(one("odd number of bytes", "big_reply", dissect.Likely, big+"\x01", "armagetron.odd"), len(big)),
		one("refusal", "refusal", dissect.Likely, datagram(message(idRefusal, str("An error occurred."))), "armagetron.refused"),
		one("message of the game", "unknown", dissect.No, datagram(message(24, "\x01\x00")), "malformed"),
		sound(one("more behind the end", "big_request", dissect.Possible, askBig+"\x00\x00", "malformed"), len(askBig)),
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
