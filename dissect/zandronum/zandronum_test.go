package zandronum

import (
	"bytes"
	"encoding/hex"
	"math/bits"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

const (
	code  = "\x77\x5d\x56\x00"
	at    = "\x78\x56\x34\x12"
	build = "3.1-r230709-1831 on Linux 6.1.0\x00"

	// name, map, maximum of clients, players.
	small = code + at + build + "\x19\x00\x18\x00" + "Test \x1cCDoom\x00MAP01\x00\x10" +
		"\x02" + "Alice\x00\x05\x00\x28\x00\x00\x00\x03" + "[Bot]\x00\xff\xff\x00\x00\x00\x01\x01"
	// All that a server can send.
	all = code + at + build + "\xff\x7f\xff\xff" + "\x1cgA\x1c[Red]ll\x00http://wads.example/\x00op@example.com\x00MAP07\x00\x20\x10" +
		"\x02brutal.pk3\x00maps.wad\x00" + "\x0c\x00\x01" + "DOOM II\x00doom2.wad\x00" + "\x01\x00\x03\x02" +
		"\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00" + "\x14\x00\x0f\x00\x07\x00\x00\x00\x05\x00\x00\x00" + "\x00\x00\x80\x3e" + "\x03\x00\xfe\xff" +
		"\x02" + "Alice\x00\x05\x00\x28\x00\x00\x00\x01\x09" + "\x1cdBob\x00\xff\xff\x00\x00\x01\x00\xff\x01" +
		"\x02" + "Blue\x00Red\x00" + "\xff\x00\x00\x00\x00\x00\xff\x00" + "\x03\x00\xfe\xff" +
		"\x01downloads/testing/3.2.zip\x00" + "\x00" + "\x02\x04\x00\x00\x00\x05\x00\x00\x00" + "\x01" + "\x01\x01" + "\x01a.deh\x00" +
		"\x1f\x00\x00\x00" + "\x02" + "9a0364b9e99bb480dd25e1f0284c8555\x00" + "d41d8cd98f00b204e9800998ecf8427e\x00" + "DEU" + "Capture The Flag\x00CTF\x00\x02"
	ctf = code + at + build + "\x80\x00\x18\x00" + "\x0c\x00\x00" + "\x02" + "Alice\x00\x05\x00\x28\x00\x00\x00\x01\x09" + "Bob\x00\x01\x00\x28\x00\x00\x00\x00\x09"
	// A mod with teams in a mode that has none otherwise.
	odd = code + at + build + "\x80\x00\x18\x00" + "\x00\x00\x00" + "\x02" + "Alice\x00\x05\x00\x28\x00\x00\x00\x01\x09" + "Bob\x00\x01\x00\x28\x00\x00\x00\x00\x09"
)

func pack(data string) string { return string(appendPacked(nil, []byte(data))) }

// segments divides a reply.
func segments(body string, size int) (parts [][]byte) {
	n := (len(body) + size - 1) / size
	u16 := func(n int) string { return string([]byte{byte(n), byte(n >> 8)}) }
	for i := range n {
		b := body[i*size : min((i+1)*size, len(body))]
		parts = append(parts, []byte(pack("\x80\x5d\x56\x00"+string([]byte{byte(i), byte(n)})+u16(i*size)+u16(len(b))+u16(len(body))+b)))
	}
	return parts
}

// byFields is a segment of the first design.
func byFields(index byte, body string) []byte {
	return []byte(pack("\x7f\x5d\x56\x00" + string([]byte{index, byte(len(body)), byte(len(body) >> 8)}) + body))
}

func samples() []dissecttest.Sample {
	one := func(name, message string, v dissect.Verdict, data string, findings ...string) dissecttest.Sample {
		return dissecttest.One(name, message, v, pack(data), findings...)
	}
	beat := one("heartbeat", "heartbeat", dissect.Likely, "\x74\x5d\x56\x009a0364b9e99bb480dd25e1f0284c8555\x00\x01\x80\x3f\xac\x64")
	beat.Sound = []int{len(beat.Parts[0]) - 4}
	plain := dissecttest.One("not packed", "query_reply", dissect.Likely, "\xff"+ctf)
	wrong := dissecttest.One("nine unused bits", "unknown", dissect.No, "\x09"+pack(small)[1:])
	wrong.Findings = []string{"malformed"}
	parts := dissecttest.Sample{Name: "segments", Message: "query_reply", Verdict: dissect.Likely, Parts: segments(all[4:], 200)}
	single := dissecttest.Sample{Name: "one segment", Message: "query_reply", Verdict: dissect.Likely, Parts: segments(small[4:], 1000)}
	sizes := dissecttest.Sample{Name: "another size", Message: "query_reply", Verdict: dissect.Likely, Findings: []string{"zandronum.part.sizes"}}
	sizes.Parts = [][]byte{[]byte(pack("\x80\x5d\x56\x00\x00\x01\x00\x00\x10\x00\x20\x00" + small[4:]))}
	lone := dissecttest.Sample{Name: "a segment without the first", Message: "segment", Verdict: dissect.Likely, Parts: segments(small[4:], 50)[1:2], Cut: true}
	lone.Findings = []string{"zandronum.part.missing", "zandronum.part.first"}
	old := dissecttest.Sample{Name: "segments by fields", Message: "query_reply", Verdict: dissect.Likely, Parts: [][]byte{
		byFields(0, at+build+"\x00\x09\x00\x00\x80Test\x00MAP01\x00"),
		byFields(0x81, "\x00\x00\x00\x18\x80\x01\x01Alice\x00\x05\x00\x28\x00\x00\x00\x01\x03"+"\x01\x02\x00\x00\x00DEU"),
	}}
	oldSet := dissecttest.Sample{Name: "an unknown set", Message: "query_reply", Verdict: dissect.Likely, Findings: []string{"malformed"}, Parts: [][]byte{byFields(0x80, at+build+"\x02\x00\x00\x00\x00")}}
	return []dissecttest.Sample{
		one("query", "query_request", dissect.Certain, "\xc7\x00\x00\x00\x19\x00\x18\x00"+at),
		one("query of 3.2", "query_request", dissect.Certain, "\xc8\x00\x00\x00\x19\x00\x18\x00"+at+"\x02"),
		one("query for segments", "query_request", dissect.Certain, "\xc7\x00\x00\x00\xff\xff\xff\x7f"+at+"\x02"),
		one("query for all", "query_request", dissect.Certain, "\xc7\x00\x00\x00\xff\x7f\xff\xff"+at+"\x1f\x00\x00\x00\x02"),
		one("query with more", "query_request", dissect.Possible, "\xc7\x00\x00\x00\x19\x00\x18\x00"+at+"\x00\x01\x02"),
		one("query in 64 bits", "query_request", dissect.Certain, "\xc7\x00\x00\x00\x00\x00\x00\x00\x19\x00\x18\x00\x00\x00\x00\x00"+at+"\x00\x00\x00\x00", "zandronum.request.wide"),
		one("small info", "query_reply", dissect.Likely, small),
		one("all", "query_reply", dissect.Likely, all),
		one("teams by the mode", "query_reply", dissect.Likely, ctf),
		one("teams against the mode", "query_reply", dissect.Likely, odd),
		one("an unknown flag", "query_reply", dissect.Likely, code+at+build+"\x01\x80\x00\x00name", "zandronum.flags"),
		one("an unknown flag of the second set", "query_reply", dissect.Likely, code+at+build+"\x00\x00\x00\x80\x22\x00\x00\x00DEU\x01\x02", "zandronum.flags"),
		one("too soon", "ignored", dissect.Certain, "\x78\x5d\x56\x00"+at, "zandronum.ignored"),
		one("banned", "banned", dissect.Certain, "\x79\x5d\x56\x00"+at, "zandronum.banned"),
		one("another code", "unknown", dissect.No, "\x76\x5d\x56\x00"+at, "malformed"),
		one("servers request", "servers_request", dissect.Certain, "\x7c\x5d\x56\x00\x02\x00"),
		one("servers", "servers_reply", dissect.Possible, "\x06\x00\x00\x00\x00\x08"+"\x01\xc6\x33\x64\x0a\xaa\x29"+"\x03\xc6\x33\x64\x0b\xaa\x29\xab\x29\xb0\x29"+"\x00\x07"),
		one("no servers", "servers_reply", dissect.Possible, "\x06\x00\x00\x00\x01\x02"),
		one("refusal of the master", "servers_refusal", dissect.Doubtful, "\x04\x00\x00\x00", "zandronum.master.refused"),
		beat,
		plain, wrong, parts, single, sizes, lone, old, oldSet,
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

// TestPack: the code is that of a request that clients send, and of a reply.
func TestPack(t *testing.T) {
	for _, c := range []struct{ packed, data string }{
		{"05b849e221868ef0fadb06", "c700000019001800" + "78563412"},
		{"ff785d560078563412", "785d560078563412"},
	} {
		packed, _ := hex.DecodeString(c.packed)
		data, _ := hex.DecodeString(c.data)
		if got := appendPacked(nil, data); !bytes.Equal(got, packed) {
			t.Errorf("%s is packed as %x, want %s", c.data, got, c.packed)
		}
	}
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for n := range every {
		for _, data := range [][]byte{every[n:], every[:n]} {
			packed := appendPacked(nil, data)
			if got, whole := begin(nil, packed, anySize); !bytes.Equal(got, data) || !whole {
				t.Errorf("%x becomes %x", data, got)
			}
		}
	}
}

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }

// appendPacked appends data to dst as servers and launchers send it: packed, if that makes it
// shorter.
func appendPacked(dst, data []byte) []byte {
	size := 0
	for _, b := range data {
		size += bits.Len16(codes[b]) - 1
	}
	n := (size + 7) / 8
	if n >= len(data) {
		return append(append(dst, notPacked), data...)
	}
	from := len(dst) + 1
	dst = append(append(dst, byte(8*n-size)), make([]byte, n)...)
	at := 0
	for _, b := range data {
		length := bits.Len16(codes[b]) - 1
		code := int(reversed(codes[b], length)) << (at % 8)
		for i := from + at/8; code > 0; i++ {
			dst[i] |= byte(code)
			code >>= 8
		}
		at += length
	}
	return dst
}
