package directplay8

import (
	"encoding/binary"
	"testing"
	"unicode/utf16"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

const guid = "\x26\x68\xd3\x11\x01\x02\x03\x44\x95\x06\x07\x08\x09\x0a\x0b\x0c"

func wide(s string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return string(b)
}

// session makes a reply: offsets and sizes of data, name, password and the two reserved parts, and what follows the description.
func session(places [10]uint32, rest string) string {
	b := []byte(reply + "\x34\x12")
	for i, n := range places {
		if i == 2 {
			for _, n := range [...]uint32{lenDesc, 0x81, 16, 3} {
				b = binary.LittleEndian.AppendUint32(b, n)
			}
		}
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return string(b) + guid + guid + rest
}

func samples() []dissecttest.Sample {
	one := dissecttest.One
	const likely, certain = dissect.Likely, dissect.Certain
	const at = 8 + lenDesc
	name := wide("A sess\u00efon\x00")
	n := uint32(len(name))
	data := one("a query with data", "enum_query", dissect.Doubtful, query+"\x34\x12\x02abc")
	data.Sound = []int{5, 6, 7}
	game := one("a query for a game", "enum_query", likely, query+"\x34\x12\x01"+guid)
	return []dissecttest.Sample{
		data, game,
		one("a session", "enum_response", certain, session([10]uint32{0, 0, at, n}, name)),
		one("a session with data", "enum_response", certain, session([10]uint32{at + n + 2, 4, at, n, 0, 0, at + n + 6, 3}, name+"..data123")),
		one("data before the name", "enum_response", certain, session([10]uint32{at, 4, at + 4, n, at + 4 + n, 6}, "data"+name+"s3cret")),
		one("parts that overlap", "enum_response", certain, session([10]uint32{at, 4, at + 2, n}, "data"+name), "directplay8.part", "trailing"),
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
