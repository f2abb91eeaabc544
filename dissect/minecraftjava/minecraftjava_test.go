package minecraftjava

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

// vi writes a VarInt.
func vi(n int) string {
	var b []byte
	for u := uint32(n); ; u >>= 7 {
		if u < 0x80 {
			return string(append(b, byte(u)))
		}
		b = append(b, byte(u)|0x80)
	}
}

func packet(body string) string { return vi(len(body)) + body }

func hello(version int, host string, next byte) string {
	return packet("\x00" + vi(version) + vi(len(host)) + host + "\x63\xdd" + string(next))
}

func status(json string) string { return packet("\x00" + vi(len(json)) + json) }

func wide(s string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.BigEndian.AppendUint16(b, u)
	}
	return string(b)
}

func counted(s string) string {
	return string(binary.BigEndian.AppendUint16(nil, uint16(len(utf16.Encode([]rune(s)))))) + wide(s)
}

func kicked(s string) string { return "\xff" + counted(s) }

func ping16(version byte, host string) string {
	rest := string(version) + counted(host) + "\x00\x00\x63\xdd"
	return "\xfe\x01" + pingHost + string(binary.BigEndian.AppendUint16(nil, uint16(len(rest)))) + rest
}

const vanilla = `{"version":{"name":"1.21.4","protocol":769},"enforcesSecureChat":true,"description":"A Minecraft Server","players":{"max":20,"online":2,"sample":[{"id":"069a79f4-44e9-4726-a5be-fca90e38aaf5","name":"Notch"},{"name":"jeb_","id":"853c80ef-3c37-49fd-aa49-938b674adae6"}]}}`

func samples() []dissecttest.Sample {
	one := dissecttest.One
	const certain, likely, possible = dissect.Certain, dissect.Likely, dissect.Possible
	list := []dissecttest.Sample{
		one("handshake", "handshake", likely, hello(769, "mc.example.org", 1)),
		one("handshake without a host", "handshake", possible, hello(765, "", 1)),
		one("handshake of a login", "handshake", likely, hello(-1, "mc.example.org\x00FML3\x00", 2)),
		one("handshake behind a proxy", "handshake", likely, hello(765, "mc.example.org\x00203.0.113.77\x00069a79f444e94726a5befca90e38aaf5", 2)),
		one("status request", "status_request", dissect.Doubtful, "\x01\x00"),
		one("ping", "ping_request", possible, "\x09\x01\x00\x00\x01\x93\x12\x34\x56\x78"),
		one("status", "status_reply", certain, status(vanilla)),
		one("status with parts of text", "status_reply", certain, status(`{"description":{"extra":[{"color":"gold","text":"A \u00a7bserver\n"},"of ",{"text":"m","extra":["any \ud83d\ude00"]}],"text":"§6"},"favicon":"data:image/png;base64,iVBORw0KGgo=","players":{"online":0,"max":-1,"sample":[]},"version":{"protocol":47,"name":"BungeeCord 1.8.x-1.21.x","x":[1,{"a":"]"}]}}`)),
		one("status twice", "status_reply", certain, status(`{"description":"a","description":"b","players":{"max":1,"max":2},"version":[],"favicon":null}`)),
		one("no JSON", "status_reply", certain, status(`{"version":{"name":"x","protocol":4`), "mcj.json"),
		one("no JSON in lists", "status_reply", certain, status(`{"players":{"sample":[1,{"name":"a","name":"b"]}}`), "mcj.json"),
		one("more behind the JSON", "status_reply", certain, status(`{"description":[{"text":"a"},["b"]]} x`), "mcj.json"),
		one("packet that is too long", "status_reply", certain, packet("\x00"+vi(len(vanilla))+vanilla)+"x", "mcj.length"),
		one("long status", "status_reply", certain, status(`{"description":"`+strings.Repeat("é", 32760)+`"}`), "mcj.status.long"),
		one("status of 1.6", "legacy_reply", certain, kicked("§1\x0078\x001.6.4\x00A Minecraft Server\x000\x0020")),
		one("status of beta", "legacy_reply", possible, kicked("A Minecraft Server§3§20")),
		one("reason", "legacy_reply", possible, kicked("You are banned")),
		one("ping of 1.6", "legacy_request", certain, ping16(78, "mc.example.org")),
		one("ping of 1.4", "legacy_request", possible, "\xfe\x01"),
		one("ping of beta", "legacy_request", possible, "\xfe"),
		one("unknown", "unknown", dissect.No, packet("\x02x"), "malformed"),
	}
	for i := range list {
		switch list[i].Name {
		case "packet that is too long":
			list[i].Sound = []int{len(list[i].Parts[0]) - 1}
		case "ping of 1.6":
			list[i].Sound = []int{1, 2}
		case "ping of 1.4":
			list[i].Sound = []int{1}
		}
	}
	return list
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
