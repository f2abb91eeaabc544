package hexinput

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
)

// Payloads of the tests.
const (
	infoRequest = "\xff\xff\xff\xffTSource Engine Query\x00"
	infoReply   = "\xff\xff\xff\xffI\x11[EU] dust | 24/7\x00de_dust2\x00cstrike\x00Counter-Strike\x00" +
		"\xf0\x00\x0c\x20\x00dl\x00\x011.0.0.70\x00"
	challenge       = "\xff\xff\xff\xffA\x0b\x5f\x2a\x13"
	playerRequest   = "\xff\xff\xff\xffU\xff\xff\xff\xff"
	gameSpyRequest  = "\xfe\xfd\x09\x00\x00\x00\x01"
	gameSpyReply    = "\x09\x00\x00\x00\x01-1234567\x00"
	statusRequest   = "\\status\\"
	sevenBytes      = "\x01\x02\xfe\x73\x74\x75\x76"
	sixteenBytes    = "\x80\x00splitnum\x00ab\x00\x00\x01"
	thirtyTwoBytes  = sixteenBytes + sixteenBytes
	twentyFiveBytes = sixteenBytes + "\x0a\x0b\x0c\x0d\x0e\x0f\xaa\xbb\xcc"
)

var (
	client = netip.MustParseAddrPort("203.0.113.7:57147")
	server = netip.MustParseAddrPort("198.51.100.20:27015")
)

// A parseTest is a text and what is in it.
type parseTest struct {
	name string
	in   string
	want []want
	err  string // part of the error
}

// A want is part of a datagram: what is "" or 0 is not compared.
type want struct {
	data     string
	line     int
	note     string // part of it; "" for none at all
	src, dst netip.AddrPort
}

func (tt *parseTest) run(t *testing.T) {
	t.Helper()
	got, err := Parse([]byte(tt.in))
	switch {
	case tt.err == "" && err != nil:
		t.Errorf("error %q", err)
	case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
		t.Errorf("error %v, want %q", err, tt.err)
	}
	for i, d := range got {
		if i >= len(tt.want) {
			t.Errorf("datagram %d too many: %+v %q", i, d, d.Data)
			continue
		}
		w := tt.want[i]
		if string(d.Data) != w.data {
			t.Errorf("datagram %d is\n%q, want\n%q", i, d.Data, w.data)
		}
		if w.line != 0 && d.Line != w.line {
			t.Errorf("datagram %d is in line %d, want %d", i, d.Line, w.line)
		}
		if w.note == "" && d.Note != "" || !strings.Contains(d.Note, w.note) {
			t.Errorf("datagram %d has the note %q, want %q", i, d.Note, w.note)
		}
		if d.Src != w.src || d.Dst != w.dst {
			t.Errorf("datagram %d is from %v to %v; want %v, %v", i, d.Src, d.Dst, w.src, w.dst)
		}
	}
	if len(got) < len(tt.want) {
		t.Errorf("%d datagrams, want %d", len(got), len(tt.want))
	}
}

// one is what a text with one datagram gives.
func one(data string) []want { return []want{{data: data}} }

func plainHex(data ...string) []want {
	return nettext.Each(data, func(d string) want { return want{data: d} })
}

const request = "ff ff ff ff 54 53 6f 75 72 63 65 20 45 6e 67 69 6e 65 20 51 75 65 72 79 00"

var plainTests = []parseTest{
	{name: "pairs", in: request, want: plainHex(infoRequest)},
	{name: "no spaces", in: "ffffffff54536f7572636520456e67696e6520517565727900", want: plainHex(infoRequest)},
	{name: "upper case", in: "FFFFFFFF54536F7572636520456E67696E6520517565727900\n", want: plainHex(infoRequest)},
	{name: "colons", in: strings.ReplaceAll(request, " ", ":"), want: plainHex(infoRequest)},
	{name: "colons and spaces", in: "FF: FF: FF: FF: 54: 53: 6F: 75: 72: 63: 65: 20: 45: 6E : 67: 69: 6E: 65: 20: 51: 75: 65: 72: 79: 00", want: plainHex(infoRequest)},
	{name: "commas", in: strings.ReplaceAll(request, " ", ","), want: plainHex(infoRequest)},
	{name: "hyphens, as .NET prints them", in: strings.ToUpper(strings.ReplaceAll(request, " ", "-")), want: plainHex(infoRequest)},
	{name: "bars", in: strings.ReplaceAll(request, " ", "|") + "|", want: plainHex(infoRequest)},
	{name: "0x and commas", in: "0x" + strings.ReplaceAll(request, " ", ", 0x"), want: plainHex(infoRequest)},
	{name: "0x and one digit", in: "0xfe, 0xfd, 0x9, 0x0, 0x0, 0x0, 0x1", want: plainHex(gameSpyRequest)},
	{name: "one 0x", in: "0xffffffff54536f7572636520456e67696e6520517565727900", want: plainHex(infoRequest)},
	{name: "backslash x", in: `\x` + strings.ReplaceAll(request, " ", `\x`), want: plainHex(infoRequest)},
	{name: "words", in: "ffffffff 54536f75 72636520 456e6769 6e652051 75657279 00", want: plainHex(infoRequest)},
	{name: "tabs", in: strings.ReplaceAll(request, " ", "\t"), want: plainHex(infoRequest)},
	{name: "no-break spaces", in: strings.ReplaceAll(request, " ", "\u00a0"), want: plainHex(infoRequest)},
	{name: "zero-width space and BOM", in: "\ufeff" + strings.ReplaceAll(request, " ", "\u200b"), want: plainHex(infoRequest)},
	{name: "CRLF", in: "ff ff ff ff\r\n\r\n" + request + "\r\n", want: plainHex("\xff\xff\xff\xff", infoRequest)},
	{name: "UTF-16", in: inUTF16(request), want: plainHex(infoRequest)},
	{name: "one byte", in: "73", want: plainHex("s")},
	{name: "trailing comment", in: "ff ff ff ff 55 ff ff ff ff  # A2S_PLAYER\nff ff ff ff 41 0b 5f 2a 13 (challenge)\n", want: plainHex(playerRequest, challenge)},
	{name: "the same bytes as text behind", in: "ff ff ff ff 54 53 6f 75 72 63 65 20 45 6e 67 69  |....TSource Engi|\n6e 65 20 51 75 65 72 79 00                       |ne Query.|",
		want: plainHex(infoRequest)},

	// Line breaks.
	{name: "wrapped at 16", in: "ff ff ff ff 54 53 6f 75 72 63 65 20 45 6e 67 69\n6e 65 20 51 75 65 72 79 00\n", want: plainHex(infoRequest)},
	{name: "wrapped at 8", in: "ff ff ff ff 54 53 6f 75\n72 63 65 20 45 6e 67 69\n6e 65 20 51 75 65 72 79\n00\n", want: plainHex(infoRequest)},
	{name: "wrapped, all lines full", in: "80 00 73 70 6c 69 74 6e 75 6d 00 61 62 00 00 01\n80 00 73 70 6c 69 74 6e 75 6d 00 61 62 00 00 01\n", want: plainHex(thirtyTwoBytes)},
	{name: "wrapped in the middle of a byte", in: "ffffffff54536f7572636\n520456e67696e65205175\n65727900", want: plainHex(infoRequest)},
	{name: "wrapped with commas", in: "0xff, 0xff, 0xff, 0xff, 0x54, 0x53, 0x6f, 0x75,\n0x72, 0x63, 0x65, 0x20, 0x45, 0x6e, 0x67, 0x69,\n0x6e, 0x65, 0x20, 0x51, 0x75, 0x65, 0x72, 0x79,\n0x00", want: plainHex(infoRequest)},
	{name: "wrapped twice", in: "ff ff ff ff 54 53 6f 75\n72 63 65 20 45 6e 67 69\n6e 65 20 51 75 65 72 79\n00\nff ff ff ff 54 53 6f 75\n72 63 65 20 45 6e 67 69\n6e 65 20 51 75 65 72 79\n00\n",
		want: []want{{data: infoRequest, line: 1}, {data: infoRequest, line: 5}}},
	{name: "blank line", in: "80 00 73 70 6c 69 74 6e 75 6d 00 61 62 00 00 01\n\n80 00 73 70 6c 69 74 6e 75 6d 00 61 62 00 00 01\n",
		want: []want{{data: sixteenBytes, line: 1}, {data: sixteenBytes, line: 3}}},
	{name: "each line a query", in: "ffffffff55ffffffff\nffffffff410b5f2a13\nfefd0900000001\nfeffffff2a000000020045050047\n",
		want: plainHex(playerRequest, challenge, gameSpyRequest, "\xfe\xff\xff\xff\x2a\x00\x00\x00\x02\x00E\x05\x00G")},
	{name: "a query ends a block of full lines", in: "80 00 73 70 6c 69 74 6e 75 6d 00 61 62 00 00 01\nff ff ff ff 55 ff ff ff ff", want: plainHex(sixteenBytes, playerRequest)},
	{name: "lines too short to be wrapped", in: "fe fd 09 00 00 00 01\n01 02 fe 73 74 75 76\n", want: plainHex(gameSpyRequest, sevenBytes)},
	{name: "a longer line", in: "fe fd 00 00 00 00 01 ff ff ff 01\n80 00 73 70 6c 69 74 6e 75 6d 00 61 62 00 00 01\n", want: plainHex("\xfe\xfd\x00\x00\x00\x00\x01\xff\xff\xff\x01", sixteenBytes)},
	{name: "directions of tshark -z follow,udp,raw", in: "8000000012345678aa\n\t8000000012345678bb\n8000000012345678cc\n",
		want: plainHex("\x80\x00\x00\x00\x12\x34\x56\x78\xaa", "\x80\x00\x00\x00\x12\x34\x56\x78\xbb", "\x80\x00\x00\x00\x12\x34\x56\x78\xcc")},

	// Labels.
	{name: "request and response", in: "request: 73\nresponse: 45 59 45 31 04 6d 74 61\n", want: plainHex("s", "EYE1\x04mta")},
	{name: "arrows", in: "> fe fd 09 00 00 00 01\n< 09 00 00 00 01 2d 31 32 33 34 35 36 37 00\n", want: plainHex(gameSpyRequest, gameSpyReply)},
	{name: "more arrows", in: "-> 80 00 73 70 6c 69 74 6e 75\n<- 80 00 73 70 6c 69 74 6e\n--> 80 00 73 70 6c 69 74\n<== 80 00 73\n→ 80 00\n",
		want: plainHex("\x80\x00splitnu", "\x80\x00splitn", "\x80\x00split", "\x80\x00s", "\x80\x00")},
	{name: "times", in: "[12:00:01] ff ff ff ff 55 ff ff ff ff\n2026-03-01 12:00:02.123 80 00 73 70 6c 69 74 6e\n2026-03-01T12:00:02Z recv: 80 00 73 70 6c 69 74 6e\n",
		want: plainHex(playerRequest, "\x80\x00splitn", "\x80\x00splitn")},
	{name: "label and address", in: "Received 9 bytes from 10.0.0.1:2701: ff ff ff ff 41 0b 5f 2a 13\n", want: plainHex(challenge)},
	{name: "label and length", in: "sent, len=25 ff ff ff ff 54 53 6f 75 72 63 65 20 45 6e 67 69 6e 65 20 51 75 65 72 79 00\n", want: plainHex(infoRequest)},
	{name: "label and bytes in parentheses", in: "reply (9 bytes): ff ff ff ff 41 0b 5f 2a 13\n", want: plainHex(challenge)},
	{name: "label, wrapped", in: "Payload: ff ff ff ff 54 53 6f 75 72 63 65 20 45 6e 67 69\n         6e 65 20 51 75 65 72 79 00\n", want: plainHex(infoRequest)},
	{name: "JSON", in: `{"time": "2026-03-01", "payload": "ffffffff410b5f2a13", "port": 27015}`, want: plainHex(challenge)},
	{name: "inline code", in: "The server answers `ff ff ff ff 41 0b 5f 2a 13` to it.", want: plainHex(challenge)},
	{name: "two in a sentence", in: "Expected ff ff ff ff 49 11 61, got ff ff ff ff 41 0b 5f 2a 13.", want: plainHex("\xff\xff\xff\xffI\x11a", challenge)},
	{name: "quoted lines", in: "> ff ff ff ff 54 53 6f 75 72 63 65 20 45 6e 67 69\n> 6e 65 20 51 75 65 72 79 00\n", want: plainHex(infoRequest)},
	{name: "hex functions", in: "hex2bin('02')\nBuffer.from(\"0304\", 'hex')\nhex.DecodeString(\"fefd0900000001\")", want: plainHex("\x02", "\x03\x04", gameSpyRequest)},

	{name: "label without a payload", in: "payload length: 41\nReceived: 25\n- a\n- be\nserver: 12\n" + request, want: plainHex(infoRequest)},
	{name: "two lines behind >", in: "> 80 00 73 70 6c 69 74 6e 75 6d 00 61 62 00 00 01\n> 80 00 73 70 6c 69 74 6e 75 6d 00 61 62 00 00 01\n", want: plainHex(sixteenBytes, sixteenBytes)},

	// What is no payload.
	{name: "prose around", in: "Hi,\n\nadd a server of 2024-02-19 12:30:45 (27015), commit 35136d9389717362ca90f0c05dcd80657aee570b,\nMAC 00:11:22:33:44:5f, see #512:\n```\n" + request + "\n```\nIs it bad?\nFaced that on 10.0.0.1:27015 and fd77::2, 12 of 24 players.\n",
		want: []want{{data: infoRequest, line: 6}}},
	{name: "prose of hex words", in: "Add a cafe: dead beef be bad.\n" + request, want: []want{{data: infoRequest, line: 2}}},
	{name: "a trace of calls", in: "main.run(0x123ebe0, 0xc000206018, 0x123ec20, 0xc00)\n" + request, want: plainHex(infoRequest)},
	{name: "a hash counts if there is nothing else", in: "sha: 35136d9389717362", want: plainHex("\x35\x13\x6d\x93\x89\x71\x73\x62")},
	{name: "a hash does not count beside a payload", in: "sha: 35136d9389717362\n" + request, want: plainHex(infoRequest)},
	{name: "a frame in hex", in: "0200 5e00 5301 0200 5e00 5302 0800 4500 0025 aab6 4000 4011 7b65 cb00 7107 c633 6414 df3b 6987 0011 0000 ffff ffff 410b 5f2a 13",
		want: []want{{data: challenge, src: client, dst: server}}},

	// Mistakes.
	{name: "wrong digit", in: "ff ff ff ff 54\nff ff ff ff 5g 53\n", want: plainHex("\xff\xff\xff\xffT"), err: `line 2, column 14: "g" is not a hex digit`},
	{name: "wrong digit without spaces", in: "a\nffffffff54536g75", err: `line 2, column 14: "g" is not a hex digit`},
	{name: "wrong digit behind a label", in: "request: ff ff ff fz 54 53\n", err: `line 1, column 20: "z" is not a hex digit`},
	{name: "wrong digit in a short query", in: "x ffffffff54 5g 53", err: `line 1, column 15: "g" is not a hex digit`},
	{name: "wrong digit in a string said to be hex", in: "Buffer.from(\"fefdzz0001\", 'hex')", err: `line 1, column 18: "z" is not a hex digit`},
	{name: "unknown bytes", in: "FF: FF: FF: FF: 71: 63: 30: 78: ?? : ??: 00", err: `line 1, column 33: "?" is not a hex digit`},
	{name: "odd digits", in: "ffffffff54536f757", err: "line 1, column 1: an odd number of hex digits: 17"},
	{name: "odd digits in a word", in: "\tff ff ff ff f 54 53", err: "line 1, column 14: an odd number of hex digits"},
	{name: "odd digits at the end", in: "ff ff ff ff 54 5", err: "line 1, column 16: an odd number of hex digits"},
	{name: "odd digits, few", in: "fff", err: "line 1, column 1: an odd number of hex digits: 3"},
	{name: "column behind other characters", in: "→ héllo: ff ff ff ff 5g 53", err: `line 1, column 23: "g"`},
	{name: "odd digits in a function", in: `bytes.fromhex("ff ff f")`, err: "line 1, column 22: an odd number of hex digits"},
	{name: "an ellipsis is no mistake", in: "Data: ffffffff54536f75…\n", want: []want{{data: "\xff\xff\xff\xffTSou", note: "an ellipsis follows"}}},
	{name: "nothing", in: "The server does not answer.", err: "no payload found: give it as plain hex"},
	{name: "empty", in: "", err: "no payload found"},
	{name: "binary", in: infoRequest, want: one(infoRequest)},
	{name: "binary, like UTF-16", in: "\xfe\xff\xff\xff\x01\x00\x00\x00\x02\x00\xe0\x04\xff\xff\xff\xff", want: one("\xfe\xff\xff\xff\x01\x00\x00\x00\x02\x00\xe0\x04\xff\xff\xff\xff")},
	{name: "binary without a control character", in: "\xff\xff\xff\xffgetstatus", want: one("\xff\xff\xff\xffgetstatus")},
	{name: "capture", in: "\xd4\xc3\xb2\xa1\x02\x00\x04\x00", err: "a capture file, not text"},
}

func inUTF16(s string) string {
	b := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

// The IPv4 packet of the tests, of playerRequest without its last bytes.
const tcpdumpRows = "\t0x0000:  4500 0035 9047 4000 3411 e10f cb00 7107  E..5.G@.4.....q.\n" +
	"\t0x0010:  c633 6414 df3b 6987 0021 22ce ffff ffff  .3d..;i..!\".....\n" +
	"\t0x0020:  5453 6f75 7263 6520 456e 6769 6e65 2051  TSource.Engine.Q\n" +
	"\t0x0030:  7565 7279 00                             uery.\n"

var dumpTests = []parseTest{
	{name: "hexdump -C", in: "00000000  ff ff ff ff 54 53 6f 75  72 63 65 20 45 6e 67 69  |....TSource Engi|\n00000010  6e 65 20 51 75 65 72 79  00                       |ne Query.|\n00000019\n", want: one(infoRequest)},
	{name: "two dumps", in: "00000000  ff ff ff ff 55 ff ff ff  ff                       |....U....|\n00000009\n\n\n00000000  ff ff ff ff 41 0b 5f 2a  13                       |....A._*.|\n00000009\n",
		want: []want{{data: playerRequest, line: 1}, {data: challenge, line: 5}}},
	{name: "two dumps, nothing between", in: "00000000  ff ff ff ff 55 ff ff ff  ff                       |....U....|\n00000000  ff ff ff ff 41 0b 5f 2a  13                       |....A._*.|\n",
		want: []want{{data: playerRequest, line: 1}, {data: challenge, line: 2}}},
	{name: "blank lines between rows", in: "00000000  ff ff ff ff 54 53 6f 75  72 63 65 20 45 6e 67 69  |....TSource Engi|\n\n00000010  6e 65 20 51 75 65 72 79  00                       |ne Query.|\n\n00000019\n", want: one(infoRequest)},
	{name: "hexdump *", in: "00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n*\n00000030  41 42                                             |AB|\n00000032\n", want: one(strings.Repeat("\x00", 48) + "AB")},
	{name: "hexdump * at the end", in: "00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n*\n00000040\n", want: one(strings.Repeat("\x00", 64))},
	{name: "xxd", in: "00000000: ffff ffff 5453 6f75 7263 6520 456e 6769  ....TSource Engi\n00000010: 6e65 2051 7565 7279 00                   ne Query.\n", want: one(infoRequest)},
	{name: "xxd -g4", in: "00000000: ffffffff 54536f75 72636520 456e6769  ....TSource Engi\n00000010: 6e652051 75657279 00                 ne Query.\n", want: one(infoRequest)},
	{name: "xxd, text that looks like hex", in: "00000000: 6265 2061 6420 6465 6164 2062 6565 66    be ad dead beef\n", want: one("be ad dead beef")},
	{name: "xxd, text that looks like hex, no text before", in: "00000000: 6265 6164                                bead\n", want: one("bead")},
	{name: "a ruler of nothing", in: "00 01 02 03 04 05 06 07", want: plainHex("\x00\x01\x02\x03\x04\x05\x06\x07")},
	{name: "hyphen in the middle", in: "0000: FF FF FF FF 54 53 6F 75-72 63 65 20 45 6E 67 69   ....TSource Engi\n0010: 6E 65 20 51 75 65 72 79-00                        ne Query.\n", want: one(infoRequest)},
	{name: "tabs", in: "00000000\tff ff ff ff 55 ff ff ff ff\t....U....\n", want: one(playerRequest)},
	{name: "text of Latin-1", in: "0000   ff ff ff ff 56 ff ff ff ff                        ÿÿÿÿVÿÿÿÿ", want: one("\xff\xff\xff\xffV\xff\xff\xff\xff")},
	{name: "text of Latin-1, not in UTF-8", in: "0000   ff ff ff ff 56 ff ff ff ff                        \xff\xff\xff\xffV\xff\xff\xff\xff", want: one("\xff\xff\xff\xffV\xff\xff\xff\xff")},
	{name: "no text", in: "0000 ff ff ff ff 54 53 6f 75 72 63 65 20 45 6e 67 69\n0010 6e 65 20 51 75 65 72 79 00\n", want: one(infoRequest)},
	{name: "inline code", in: "Then `0000   ff ff` and\n`0000   ff ff ff ff 56 ff ff ff ff                        ÿÿÿÿVÿÿÿÿ`\n", want: one("\xff\xff\xff\xffV\xff\xff\xff\xff")},
	{name: "quoted", in: "> 00000000  ff ff ff ff 54 53 6f 75  72 63 65 20 45 6e 67 69  |....TSource Engi|\n> 00000010  6e 65 20 51 75 65 72 79  00                       |ne Query.|\n> 00000019\n", want: one(infoRequest)},
	{name: "offsets jump", in: "00000000  ff ff ff ff 54 53 6f 75  72 63 65 20 45 6e 67 69  |....TSource Engi|\n00000020  6e 65 20 51 75 65 72 79  00                       |ne Query.|\n00000029\n", want: []want{{data: infoRequest, note: "offset jumps from 0x10 to 0x20: bytes are missing"}}},
	{name: "begins late", in: "00000010  6e 65 20 51 75 65 72 79  00                       |ne Query.|\n00000019\n", want: []want{{data: "ne Query\x00", note: "the dump begins at offset 0x10"}}},
	{name: "begins late, two rows", in: "0010  6e 65 20 51 75 65 72 79\n0018  00 01\n", want: []want{{data: "ne Query\x00\x01", note: "the dump begins at offset 0x10"}}},
	{name: "rows out of order", in: "00000010  6e 65 20 51 75 65 72 79  00                       |ne Query.|\n00000000  ff ff ff ff 54 53 6f 75  72 63 65 20 45 6e 67 69  |....TSource Engi|\n",
		want: []want{{data: "ne Query\x00", note: "begins at"}, {data: "\xff\xff\xff\xffTSource Engi"}}},
	{name: "last offset disagrees", in: "00000000  ff ff ff ff 55 ff ff ff  ff                       |....U....|\n00000019\n", want: []want{{data: playerRequest, note: "the last offset is 0x19, the bytes end at 0x9"}}},
	{name: "text disagrees", in: "00000000  ff ff ff ff 55 ff ff ff  fe                       |....T....|\n", want: []want{{data: "\xff\xff\xff\xffU\xff\xff\xff\xfe", note: "does not agree with the bytes at offset 0x0"}}},
	{name: "bytes that begin like an offset", in: "ffffffff 54 53 6f 75", want: plainHex("\xff\xff\xff\xffTSou")},
	{name: "words that begin like an offset", in: "00000000 0173 706c 6974", want: plainHex("\x00\x00\x00\x00\x01split")},
	{name: "wrong digit", in: "00000000  ff ff ff ff 54 5g 6f 75  72 63 65 20 45 6e 67 69  |....TSource Engi|\n", err: `line 1, column 27: "g" is not a hex digit`},
	{name: "wrong digit in the second half", in: "00000000  ff ff ff ff 54 53 6f 75  g2 63 65 20 45 6e 67 69  |....TSource Engi|\n", err: `line 1, column 36: "g" is not a hex digit`},
	{name: "wrong digit in the second row", in: "0000   ff ff ff ff 54 53 6f 75 72 63 65 20 45 6e 67 69   ....TSource Engi\n0010   6e 65 2x 51 75 65 72 79 00                        ne Query.\n", want: nil, err: `line 2, column 15: "x" is not a hex digit`},
	{name: "odd digits", in: "00000000: ffff fff 5453 6f75 7263 6520 456e 6769  ....TSource Engi\n", err: "line 1, column 16: an odd number of hex digits"},
	{name: "hexdump", in: "0000000 ffff ffff 5354 756f 6372 2065 6e45 6967\n0000010 656e 5120 6575 7972 0000\n0000019\n", err: "line 1, column 1: this dump is of od or of hexdump without -C"},
	{name: "od -t x1", in: "0000000 ff ff ff ff 54 53 6f 75\n0000010 72 63\n", err: "this dump is of od or of hexdump without -C"},
	{name: "od -c", in: "0000000 377 377 377 377   T   S   o   u   r   c   e       E   n   g   i\n", err: "this dump is of od or of hexdump without -C"},
	{name: "octal words", in: "0000000 177777 177777 051524\n", err: "this dump is of od or of hexdump without -C"},
	{name: "xxd -e", in: "00000000: ffffffff 756f5354 20656372 69676e45  ....TSource Engi\n", want: []want{{data: "\xff\xff\xff\xffuoST ecrignE", note: "the column of text does not agree"}}},
	{name: "tshark -T json", in: `[{"_source": {"layers": {"udp": {"udp.payload": "ff:ff:ff:ff:55"}}}}]`, err: "exports of tshark"},
	{name: "tshark -T ek", in: `{"timestamp":"1767323045012","layers":{"udp_udp_payload":"ff:ff:ff:ff:55"}}`, err: "exports of tshark"},
	{name: "tshark -T pdml", in: `<pdml><packet><proto name="udp"><field name="udp.payload" value="ffffffff55"/>`, err: "exports of tshark"},
	{name: "Lua", in: `"\255\255\255\255TSource Engine Query\0"`, err: "escapes in decimal, as Lua has them, are not read"},
	{name: "gamedig", in: "Q#0 Buffer length: 25 bytes\nff ff ff ff 54 53 6f\n            T  S  o\n", err: "gamedig's debug output is not read"},
	{name: "binary", in: "00000000: 11111111 11111111 11111111 11111111 01010100 01010011  ....TS\n", want: []want{{data: strings.Repeat("\x11", 16) + "\x01\x01\x01\x00\x01\x01\x00\x11", note: "the column of text does not agree"}}},

	{name: "tcpdump -X", in: "23:46:50.431999 IP 203.0.113.7.57147 > 198.51.100.20.27015: UDP, length 25\n" + tcpdumpRows,
		want: []want{{data: infoRequest, line: 2, src: client, dst: server}}},
	{name: "tcpdump -X of two, anonymised", in: "*  Source Engine Query flood *\n\n23:46:50.431999 IP (tos 0x0, ttl 52, id 36935, offset 0, flags [DF], proto UDP (17), length 53) Attacker IP > Server IP: UDP, payload 25\n" + tcpdumpRows +
		"23:46:50.432000 IP (tos 0x0, ttl 52, id 36936, offset 0, flags [DF], proto UDP (17), length 53)\n    Attacker IP > Server IP: UDP, payload 25\n" + tcpdumpRows,
		want: []want{{data: infoRequest, line: 4, src: client, dst: server}, {data: infoRequest, line: 10, src: client, dst: server}}},
	{name: "tcpdump -x", in: "    0x0000:  4500 0025 0000 4000 4011 b7f0 cb00 7107\n    0x0010:  c633 6414 df3b 6987 0011 9bab ffff ffff\n    0x0020:  410b 5f2a 13\n",
		want: []want{{data: challenge, src: client, dst: server}}},
	{name: "tcpdump -XX", in: "\t0x0000:  0200 5e00 5301 0200 5e00 5302 0800 4500  ..^.S...^.S...E.\n\t0x0010:  0025 aab6 4000 4011 7b65 cb00 7107 c633  .%..@.@.{e..q..3\n\t0x0020:  6414 df3b 6987 0011 2672 ffff ffff 410b  d..;i...&r....A.\n\t0x0030:  5f2a 13                                  _*.\n",
		want: []want{{data: challenge, src: client, dst: server}}},
	{name: "tcpdump -X, cut", in: "\t0x0000:  4500 041c 9e0e 4000 3411 cf61 cb00 7107  E.....@.4..a..q.\n\t0x0010:  c633 6414 8b8b 6987 0408 d98f 1ebc 70dc  .3d...i.......p.\n",
		want: []want{{data: "\x1e\xbc\x70\xdc", src: netip.AddrPortFrom(client.Addr(), 0x8b8b), dst: server, note: "4 of 1024 bytes of payload: the packet was cut"}}},
	{name: "tcpdump -X of TCP", in: "\t0x0000:  4500 0028 9e0e 4000 3406 cf61 cb00 7107\n\t0x0010:  c633 6414 8b8b 6987 0000 0000 0000 0000\n\t0x0020:  5002 ffff 0000 0000\n",
		want: []want{{data: "\x45\x00\x00\x28\x9e\x0e\x40\x00\x34\x06\xcf\x61\xcb\x00\x71\x07\xc6\x33\x64\x14\x8b\x8b\x69\x87\x00\x00\x00\x00\x00\x00\x00\x00\x50\x02\xff\xff\x00\x00\x00\x00", note: "protocol 6, not UDP"}}},
	{name: "tcpdump -XX of ARP", in: "\t0x0000:  ffff ffff ffff 0200 5e00 5302 0806 0001\n\t0x0010:  0800 0604 0001\n",
		want: []want{{data: "\xff\xff\xff\xff\xff\xff\x02\x00\x5e\x00\x53\x02\x08\x06\x00\x01\x08\x00\x06\x04\x00\x01", note: "an Ethernet frame of type 0x0806, not IP"}}},
	{name: "offsets of tcpdump, pairs", in: "0x0000: ff ff ff ff 41 0b 5f 2a 13\n", want: one(challenge)},
	{name: "offsets of tcpdump, the payload alone", in: "0x0000:  ffff ffff 410b 5f2a 13\n", want: one(challenge)},
	{name: "tcpdump, redacted", in: "\t0x0000:  4500 0035 9047 4000 3411 e10f xxxx xxxx\n", err: `line 1, column 41: "x" is not a hex digit`},

	{name: "Wireshark, hex and ASCII", in: "0000   ff ff ff ff 54 53 6f 75 72 63 65 20 45 6e 67 69   ....TSource Engi\n0010   6e 65 20 51 75 65 72 79 00                        ne Query.\n", want: one(infoRequest)},
	{name: "Wireshark, a frame", in: "0000  02 00 5e 00 53 01 02 00 5e 00 53 02 08 00 45 00   ..^.S...^.S...E.\n0010  00 25 aa b6 40 00 40 11 7b 65 cb 00 71 07 c6 33   .%..@.@.{e..q..3\n0020  64 14 df 3b 69 87 00 11 26 72 ff ff ff ff 41 0b   d..;i...&r....A.\n0030  5f 2a 13 00 00 00 00 00 00 00 00 00               _*..........\n",
		want: []want{{data: challenge, src: client, dst: server}}},
	{name: "Wireshark's export", in: "No.     Time\n      1 0.000000\n\nFrame 1: 51 bytes on wire (408 bits), 51 bytes captured (408 bits)\nData (7 bytes)\n\n0000  01 02 fe 73 74 75 76                              ...stuv\n    Data: 0102fe73747576\n", err: "packets with their details (tshark -V, text exports of Wireshark) repeat each payload"},
	{name: "a followed stream", in: "Node 0: 203.0.113.7:57147\nNode 1: 198.51.100.20:27015\n00000000  ff ff ff ff 54 53 6f 75  72 63 65 20 45 6e 67 69  ....TSou rce Engi\n00000010  6e 65 20 51 75 65 72 79  00                       ne Query .\n\t00000000  ff ff ff ff 41 0b 5f 2a  13                       ....A._* .\n00000019  ff ff ff ff 55 ff ff ff  ff                       ....U... .\n00000022  ff ff ff ff 55 ff ff ff  ff                       ....U... .\n\t00000009  ff ff ff ff 41 0b 5f 2a  13                       ....A._* .\n",
		want: []want{{data: infoRequest}, {data: challenge}, {data: playerRequest},
			{data: playerRequest}, {data: challenge}}},
	{name: "a followed stream, as the dialog shows it", in: "00000000  ff ff ff ff 55 ff ff ff  ff                       ....U... .\n    00000000  ff ff ff ff 41 0b 5f 2a  13                       ....A._* .\n00000009  80 00                                             ..\n",
		want: []want{{data: playerRequest}, {data: challenge}, {data: "\x80\x00"}}},
}

var sourceTests = []parseTest{
	{name: "Python", in: `b'\xff\xff\xff\xffTSource Engine Query\x00'`, want: one(infoRequest)},
	{name: "Python, double quotes", in: `data = b"\xff\xff\xff\xffTSource Engine Query\x00"`, want: one(infoRequest)},
	{name: "Python, escapes", in: `b'\\\'\"\a\b\f\n\r\t\v\0\12\x7f\377\d'`, want: one("\\'\"\a\b\f\n\r\t\v\x00\x0a\x7f\xff\\d")},
	{name: "Python, joined", in: `sock.sendto(b'\xff\xff\xff\xff' b"TSource Engine Query\x00", addr)`, want: one(infoRequest)},
	{name: "Python, joined in parentheses", in: "q = (b'\\xff\\xff\\xff\\xff'\n     b'TSource Engine Query\\x00')\n", want: one(infoRequest)},
	{name: "Python, joined with +", in: "q = b'\\xff\\xff\\xff\\xff' + \\\n  b'TSource Engine Query\\x00'\n", want: one(infoRequest)},
	{name: "Python, on lines of their own", in: "b'\\x80\\x00split'\nb'num\\x00'\n", want: []want{{data: "\x80\x00split", line: 1}, {data: "num\x00", line: 2}}},
	{name: "Python, a list", in: "[b'\\xff\\xff\\xff\\xffU\\xff\\xff\\xff\\xff', b'\\xff\\xff\\xff\\xffA\\x0b_*\\x13',\n b'\\x80\\x00splitnum\\x00ab\\x00\\x00\\x01']", want: []want{{data: playerRequest}, {data: challenge}, {data: sixteenBytes, line: 2}}},
	{name: "Python, in an error", in: `a2s.exceptions.BrokenMessageError: Invalid packet header: b'\x00\x00\x00\x00'`, want: one("\x00\x00\x00\x00")},
	{name: "Python, GameSpy", in: `b'\\status\\'`, want: one(statusRequest)},
	{name: "Python, in a string", in: `{"msg": "b'\xff\xff\xff\xffA\x0b_*\x13'"}`, want: one(challenge)},
	{name: "Python, in JSON", in: `{"msg": "b'\\xff\\xff\\xff\\xffA\\x0b_*\\x13'", "n": 1}`, want: one(challenge)},
	{name: "Python, bytearray", in: `bytearray(b'\xff\xff\xff\xffA\x0b_*\x13')`, want: one(challenge)},
	{name: "Python, fromhex", in: `bytes.fromhex("ff ff ff ff 41 0b 5f 2a 13")`, want: one(challenge)},
	{name: "Python, unhexlify", in: `binascii.unhexlify('fefd0900000001')`, want: one(gameSpyRequest)},
	{name: "Python, a list of numbers", in: "bytes([255, 255, 255, 255, 65,\n       11, 95, 42, 19])", want: one(challenge)},
	{name: "Python, a tuple of numbers", in: "bytes((255, 255, 255, 255, 65, 11, 95, 42, 19))", want: one(challenge)},
	{name: "curly quotes", in: `b‘\xff\xff\xff\xffA\x0b_*\x13’`, want: one(challenge)},

	{name: "C", in: `const char q[] = "\xFF\xFF\xFF\xFFTSource Engine Query\x00";`, want: one(infoRequest)},
	{name: "C, joined", in: "const char q[] =\n\t\"\\xFF\\xFF\\xFF\\xFF\"\n\t\"TSource Engine Query\\0\";\n", want: one(infoRequest)},
	{name: "C, joined without a context", in: "\"\\x80\\x00\\x80\\x01\"\n\"split\"\n", want: []want{{data: "\x80\x00\x80\x01split"}}},
	{name: "C, queries on lines of their own", in: "\"\\xff\\xff\\xff\\xffU\\xff\\xff\\xff\\xff\"\n\"\\xff\\xff\\xff\\xffA\\x0b_*\\x13\"\n", want: []want{{data: playerRequest}, {data: challenge, line: 2}}},
	{name: "C, arguments", in: `f("\x80\x00", "\x80\x01")`, want: []want{{data: "\x80\x00"}, {data: "\x80\x01"}}},
	{name: "C, hex digits behind an escape", in: `"\xff\xff\xff\xffdead"`, want: []want{{data: "\xff\xff\xff\xffdead"}}},
	{name: "C, octal", in: `"\377\377\377\377TSource Engine Query\0"`, want: one(infoRequest)},
	{name: "C, short hex escapes", in: `"\x80\x0\x0"`, want: one("\x80\x00\x00")},
	{name: "C, unknown escape", in: `"\xff\xff\q"`, want: one("\xff\xff\\q")},
	{name: "UTF-8 in a string", in: `"\xff\xff\xff\xffI\x11Größe 亗\x00"`, want: one("\xff\xff\xff\xffI\x11Größe 亗\x00")},
	{name: "JavaScript, code points", in: `"\u00ff\u00ff\u00ff\u00ffTSource Engine Query\u0000"`, want: []want{{data: infoRequest}}},
	{name: "JavaScript, joined with +", in: `const q = '\xff\xff\xff\xff' + 'TSource Engine Query\0'`, want: one(infoRequest)},
	{name: "PHP, joined with .", in: `fwrite($s, "\xFF\xFF\xFF\xFF" . 'TSource Engine Query' . "\x00");`, want: one(infoRequest)},
	{name: "Rust", in: `b"\xff\xff\xff\xff\x54Source Engine Query\0"`, want: one(infoRequest)},
	{name: "GameSpy", in: `send("\\status\\")`, want: one(statusRequest)},
	{name: "shell", in: `echo -ne '\xff\xff\xff\xffTSource Engine Query\x00' | nc -u 10.0.0.1 27015`, want: one(infoRequest)},
	{name: "no quotes", in: `\xff\xff\xff\xffTSource Engine Query\x00`, want: one(infoRequest)},
	{name: "no quotes, behind a label", in: `payload=\xff\xff\xff\xffTSource Engine Query\x00`, want: one(infoRequest)},
	{name: "inline code", in: "Send `\\xff\\xff\\xff\\xffTSource Engine Query\\x00` to it, or `b'\\x80\\x00'`.", want: []want{{data: infoRequest}, {data: "\x80\x00"}}},
	{name: "Wireshark, escaped string", in: "\"\\xff\\xff\\xff\\xff\\x54\\x53\\x6f\\x75\\x72\\x63\\x65\\x20\\x45\\x6e\\x67\\x69\" \\\n\"\\x6e\\x65\\x20\\x51\\x75\\x65\\x72\\x79\\x00\"\n", want: one(infoRequest)},

	{name: "C, a list", in: "unsigned char q[] = {\n  0xff, 0xff, 0xff, 0xff, 0x41, 0x0b,\n  0x5f, 0x2a, 0x13\n};\nunsigned int q_len = 9;\n", want: one(challenge)},
	{name: "C, characters", in: `{ 0xFF, 0xFF, 0xFF, 0xFF, 'U', '\xff', '\377', 255, 0xFF }`, want: one(playerRequest)},
	{name: "C, suffixes and comments", in: "uint8_t q[9] = { 0xFFu, 0xFF, /* -1 */ 0xFF, 0xFF, // -1\n 'A', 0xb, 0x5f,\n 42, 19, }", want: one(challenge)},
	{name: "Wireshark, C arrays", in: "char peer0_0[] = { /* Packet 1 */\n0xff, 0xff, 0xff, 0xff, 0x55, 0xff, 0xff, 0xff, \n0xff };\nchar peer1_0[] = { /* Packet 2 */\n0xff, 0xff, 0xff, 0xff, 0x41, 0x0b, 0x5f, 0x2a, \n0x13 };\n",
		want: []want{{data: playerRequest, line: 1}, {data: challenge, line: 4}}},
	{name: "Wireshark, exported C arrays", in: "/* Frame (51 bytes) */\nstatic const unsigned char pkt1[51] = {\n0x02, 0x00, 0x5e, 0x00, 0x53, 0x01, 0x02, 0x00, /* ..^.S... */\n0x5e, 0x00, 0x53, 0x02, 0x08, 0x00, 0x45, 0x00, /* ^.S...E. */\n0x00, 0x25, 0xaa, 0xb6, 0x40, 0x00, 0x40, 0x11, /* .%..@.@. */\n0x7b, 0x65, 0xcb, 0x00, 0x71, 0x07, 0xc6, 0x33, /* {e..q..3 */\n0x64, 0x14, 0xdf, 0x3b, 0x69, 0x87, 0x00, 0x11, /* d..;i... */\n0x26, 0x72, 0xff, 0xff, 0xff, 0xff, 0x41, 0x0b, /* &r....A. */\n0x5f, 0x2a, 0x13                                /* _*. */\n};\n",
		want: []want{{data: challenge, line: 2, src: client, dst: server}}},
	{name: "Go", in: `[]byte{0xff, 0xff, 0xff, 0xff, 0x41, 0x0b, 0x5f, 0x2a, 0x13}`, want: one(challenge)},
	{name: "Go, printed", in: "[255 255 255 255 65 11 95 42 19]", want: one(challenge)},
	{name: "Go, printed in hex", in: "[ff ff ff ff 41 0b 5f 2a 13]", want: one(challenge)},
	{name: "JavaScript", in: "Buffer.from([255, 255, 255, 255, 0x41, 11, 95, 42, 19])", want: one(challenge)},
	{name: "node", in: "msg <Buffer ff ff ff ff 41 0b 5f 2a 13>", want: one(challenge)},
	{name: "node, cut", in: "<Buffer ff ff ff ff 41 0b ... 206 more bytes>", want: []want{{data: "\xff\xff\xff\xffA\x0b", note: "an ellipsis follows: bytes are missing"}}},
	{name: "node, JSON", in: `{"type":"Buffer","data":[254,253,9,0,0,0,1]}`, want: one(gameSpyRequest)},
	{name: "node, Uint8Array", in: "Uint8Array(7) [\n  254, 253, 9, 0,\n    0,   0, 1\n]", want: one(gameSpyRequest)},
	{name: "Java", in: "[-1, -1, -1, -1, 65, 11, 95, 42, 19]\nnew byte[] {(byte)0xFF, (byte) 0xFF, -1, -1, 'A', 11, 95, 42, 19}", want: []want{{data: challenge}, {data: challenge}}},
	{name: "Rust, a list", in: "let q: &[u8] = &[0xff, 0xff, 0xff, 0xff, b'A', 0x0bu8, 95, 42, 19];\nlet r = vec![128u8, 0];", want: []want{{data: challenge}, {data: "\x80\x00"}}},
	{name: "Kotlin", in: "byteArrayOf(-1, -1, -1, -1, 65, 11, 95, 42, 19)", want: one(challenge)},
	{name: "a list that is not closed", in: "unsigned char q[] = {\n  0xff, 0xff, 0xff, 0xff, 0x41, 0x0b,\n", want: []want{{data: "\xff\xff\xff\xffA\x0b", note: "the list is not closed"}}},
	{name: "a list of hex with more in it", in: "(ff ff ff ff 41 0b 5f 2a 13 from the server)", want: one(challenge)},
	{name: "node, Uint8Array cut", in: "Uint8Array(200) [\n  254, 253, 9, 0,\n    0,   0, 1,\n  ... 193 more items\n]", want: []want{{data: gameSpyRequest, note: "the list is not closed"}}},
	{name: "a comment that is not closed", in: "{ 0xff, 0xff, 0xff, 0xff, 0x41 /* the", want: []want{{data: "\xff\xff\xff\xffA", note: "the list is not closed"}}},
	{name: "a list in a string", in: `log("[255, 255, 255, 255, 65, 11, 95, 42, 19]")`, want: one(challenge)},
	{name: "a dump, then prose that begins with a number", in: "00000000  ff ff ff ff 41 0b 5f 2a  13  |....A._*.|\n00000009 is the end\n", want: one(challenge)},
	{name: "hex in HTML", in: "<b>ff ff ff ff 41 0b 5f 2a 13</b>", want: one(challenge)},
	{name: "a list of numbers counts if there is nothing else", in: "[10, 20, 30, 40]", want: one("\x0a\x14\x1e\x28")},
	{name: "other lists", in: "see [1], [12:00:01], x[4], {1, 2}, (255, 255, 255, 255), [1024, 2048, 4096, 8192], ports: [10, 20, 30, 40]\n" + request, want: plainHex(infoRequest)},

	{name: "base64", in: "/////1RTb3VyY2UgRW5naW5lIFF1ZXJ5AA==", want: one(infoRequest)},
	{name: "base64 in a sentence", in: "got /////0ELXyoT from it", want: one(challenge)},
	{name: "base64, another payload", in: "gABzcGxpdG51bQBhYgAAAQ==", want: one(sixteenBytes)},
	{name: "base64, functions", in: "base64.b64decode(\"gABzcA==\")\nBuffer.from('gABzcA==', 'base64')\natob('gABzcA==')\n{\"base64\": \"gABzcA==\"}", want: []want{{data: "\x80\x00sp"}, {data: "\x80\x00sp"}, {data: "\x80\x00sp"}, {data: "\x80\x00sp"}}},
	{name: "base64, wrong", in: `b64decode("gABz*")`, err: "line 1, column 12: this is not base64"},
	{name: "words are not base64", in: "Password\nSettings\n//////////\n" + request, want: plainHex(infoRequest)},

	{name: "prose around", in: "I don't know, it's \"broken\": the server's log at \"C:\\x86\\game\" says 'nothing' \x1b[0m.\nprintf \"\\033[31mred\\033[0m\"\nre.match(r\"(\\d+)\\.\\1\")\n\n```python\nprint(b'\\xff\\xff\\xff\\xffA\\x0b_*\\x13')\n```\nThat isn't \"right\".\n",
		want: []want{{data: challenge, line: 6}}},
	{name: "JSON around", in: "{\n  \"name\": \"Caf\\u00e9 \\\"x\\\"\",\n  \"players\": [ { \"score\": 10 }, 3 ],\n  \"ids\": [\n    10,\n    20\n  ]\n}\n" + request, want: plainHex(infoRequest)},

	{name: "not closed", in: "x = b'\\xff\\xff\\xff\\xffTSource", err: "line 1, column 6: the string is not closed on its line"},
	{name: "wrong escape", in: `b'\xff\xfg'`, err: `line 1, column 7: \x takes two hex digits`},
	{name: "wrong escape in C", in: `"\xff\xff\xff\xg0"`, err: `line 1, column 14: \x takes two hex digits`},
	{name: "decodes no hex", in: "colorful.Hex(\"#517AB8\")\n" + request, want: plainHex(infoRequest)},
	{name: "a label of base64", in: "\"publicKeyBase64\": \"ssh-rsa AAAAB3\"\nbase64: '0.5.2'\n" + request, want: plainHex(infoRequest)},
	{name: "wrong digit in a list", in: "{ 0xff, 0xff, 0xff,\n 0xfg }", err: `line 2, column 2: "0xfg" is no byte`},
	{name: "too large for a byte", in: "bytes([255, 255, 255, 256])", err: `line 1, column 23: "256" is no byte`},
	{name: "wrong digit in a Buffer", in: "<Buffer ff ff ff f 41>", err: "line 1, column 18: an odd number of hex digits"},
}

func TestParse(t *testing.T) {
	for _, group := range []struct {
		name  string
		tests []parseTest
	}{{"plain", plainTests}, {"dump", dumpTests}, {"source", sourceTests}} {
		for _, tt := range group.tests {
			t.Run(group.name+"/"+tt.name, tt.run)
		}
	}
}

// A query of GameSpy is text: the whole input is the payload.
func TestParseGameSpy(t *testing.T) {
	tt := parseTest{in: statusRequest, want: one(statusRequest)}
	tt.run(t)
}

// Line ends and what a web page makes of blanks change nothing.
func TestParseLineEnds(t *testing.T) {
	for _, tests := range [][]parseTest{plainTests, dumpTests, sourceTests} {
		for _, tt := range tests {
			if strings.ContainsAny(tt.in, "\r\x00") || !utf8.ValidString(tt.in) {
				continue
			}
			for name, in := range map[string]string{
				"CRLF":            strings.ReplaceAll(tt.in, "\n", "\r\n"),
				"BOM":             "\ufeff" + tt.in,
				"UTF-16":          inUTF16(tt.in),
				"lines around":    "\n\nIt says:\n\n" + tt.in + "\n\nWhat now?\n",
				"trailing blanks": strings.ReplaceAll(tt.in, "\n", " \t\n"),
			} {
				tt := tt
				tt.in = in
				if name == "lines around" {
					all := tt.want
					tt.want = nil
					for _, w := range all {
						if w.line > 0 {
							w.line += 4
						}
						tt.want = append(tt.want, w)
					}
					if tt.err != "" {
						continue // lines have other numbers
					}
				}
				t.Run(tt.name+"/"+name, tt.run)
			}
		}
	}
}

// payloads returns payloads of all kinds that make trouble: with text that
// looks like hex, with blanks at both ends of it, with rows that repeat.
func payloads(n int) [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	const text = "0123456789abcdef |>< .\\\"'`TSource Engine"
	all := [][]byte{[]byte(infoRequest), []byte(infoReply), []byte(challenge), []byte(gameSpyRequest), []byte("\\status\\\\final\\")}
	for range n {
		b := make([]byte, 1+r.IntN(100))
		for kind, i := r.IntN(5), 0; i < len(b); i++ {
			switch kind {
			case 0:
				b[i] = byte(r.Uint32())
			case 1:
				b[i] = text[r.IntN(len(text))]
			case 2:
				b[i] = "\x00\xff"[r.IntN(50)/49]
			case 3:
				b[i] = "abcdef 0123456789"[r.IntN(17)]
			case 4:
				b[i] = "   a\x00\x80"[r.IntN(6)]
			}
		}
		all = append(all, b)
	}
	return all
}

// printable is what most tools show of a byte.
func printable(b []byte, space byte) string {
	var s strings.Builder
	for _, c := range b {
		switch {
		case c == ' ':
			s.WriteByte(space)
		case c > ' ' && c <= '~':
			s.WriteByte(c)
		default:
			s.WriteByte('.')
		}
	}
	return s.String()
}

// rows calls f for every n bytes.
func rows(b []byte, n int, f func(offset int, row []byte)) {
	for i := 0; i < len(b); i += n {
		f(i, b[i:min(i+n, len(b))])
	}
}

// words renders a row in groups of n bytes.
func words(row []byte, n int) string {
	var s []string
	rows(row, n, func(_ int, w []byte) { s = append(s, hex.EncodeToString(w)) })
	return strings.Join(s, " ")
}

func escapeAll(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		fmt.Fprintf(&s, `\x%02x`, c)
	}
	return s.String()
}

// escapeSome renders a literal without its quotes, with escapes where they must
// be.
func escapeSome(b []byte, quote byte) string {
	var s strings.Builder
	for _, c := range b {
		switch {
		case c == quote || c == '\\':
			s.WriteByte('\\')
			s.WriteByte(c)
		case c == '\n':
			s.WriteString(`\n`)
		case c == '\r':
			s.WriteString(`\r`)
		case c == '\t':
			s.WriteString(`\t`)
		case c >= ' ' && c <= '~':
			s.WriteByte(c)
		default:
			fmt.Fprintf(&s, `\x%02x`, c)
		}
	}
	return s.String()
}

// ipv4 puts headers before a payload, with the addresses of the tests.
func ipv4(payload []byte) []byte {
	b := make([]byte, 28, 28+len(payload))
	b[0], b[8], b[9] = 0x45, 64, 17
	binary.BigEndian.PutUint16(b[2:], uint16(28+len(payload)))
	copy(b[12:], client.Addr().AsSlice())
	copy(b[16:], server.Addr().AsSlice())
	putUDP(b[20:], len(payload))
	return append(b, payload...)
}

func ipv6(payload []byte) []byte {
	b := make([]byte, 56, 56+len(payload))
	b[0], b[6], b[7] = 0x60, 60, 64 // destination options, then UDP
	binary.BigEndian.PutUint16(b[4:], uint16(16+len(payload)))
	b[23], b[39] = 1, 2
	b[40] = 17
	putUDP(b[48:], len(payload))
	return append(b, payload...)
}

func putUDP(b []byte, n int) {
	binary.BigEndian.PutUint16(b, client.Port())
	binary.BigEndian.PutUint16(b[2:], server.Port())
	binary.BigEndian.PutUint16(b[4:], uint16(8+n))
}

func ethernetFrame(ip []byte) []byte {
	b := append([]byte("\x02\x00\x5e\x00\x53\x01\x02\x00\x5e\x00\x53\x02\x81\x00\x00\x05\x08\x00"), ip...)
	if ip[0]>>4 == 6 {
		b[16], b[17] = 0x86, 0xdd
	}
	for len(b) < minFrame {
		b = append(b, 0)
	}
	return b
}

func tcpdump(packet []byte) string {
	return "12:00:00.000000 IP 203.0.113.7.57147 > 198.51.100.20.27015: UDP, length 1\n" + joined(packet, 16, func(i int, row []byte) string {
		return fmt.Sprintf("\t0x%04x:  %-39s  %s\n", i, words(row, 2), printable(row, '.'))
	})
}

// joined renders the rows of a payload.
func joined(b []byte, width int, row func(i int, row []byte) string) string {
	var s strings.Builder
	rows(b, width, func(i int, r []byte) { s.WriteString(row(i, r)) })
	return s.String()
}

// numbers renders a list.
func numbers(b []byte, format, separator string) string {
	return strings.Join(nettext.Each(b, func(c byte) string { return fmt.Sprintf(format, c) }), separator)
}

// renderers are the forms, as the tools print them.
var renderers = []struct {
	name   string
	render func(b []byte) string
	// except are payloads that mean something else in this form.
	except func(b []byte) bool
}{
	{"spaces", func(b []byte) string { return words(b, 1) }, nil},
	{"nothing between", hex.EncodeToString, nil},
	{"hyphens", func(b []byte) string { return strings.ToUpper(strings.ReplaceAll(words(b, 1), " ", "-")) }, nil},
	{"0x", func(b []byte) string { return numbers(b, "0x%02x", ", ") }, nil},
	{"escapes", escapeAll, nil},
	{"label", func(b []byte) string { return "[12:00:00] response: " + words(b, 1) }, nil},
	{"wrapped", func(b []byte) string {
		return joined(b, 16, func(_ int, row []byte) string { return words(row, 1) + "\n" })
	}, func(b []byte) (is bool) {
		rows(b, 16, func(i int, row []byte) { is = is || i > 0 && isQuery(row) })
		return is
	}},
	{"wrapped, no spaces", func(b []byte) string {
		return joined([]byte(hex.EncodeToString(b)), 75, func(_ int, row []byte) string { return string(row) + "\n" })
	}, nil},
	{"rows with text", func(b []byte) string {
		return joined(b, 16, func(_ int, row []byte) string {
			return fmt.Sprintf("%-47s  |%s|\n", words(row, 1), printable(row, ' '))
		})
	}, func(b []byte) bool { return len(b)%16 == 1 }},
	{"hexdump -C", func(b []byte) string {
		return joined(b, 16, func(i int, row []byte) string {
			return fmt.Sprintf("%08x  %-23s  %-23s  |%s|\n", i, words(row[:min(8, len(row))], 1), words(row[min(8, len(row)):], 1), printable(row, ' '))
		}) + fmt.Sprintf("%08x\n", len(b))
	}, nil},
	{"xxd", func(b []byte) string {
		return joined(b, 16, func(i int, row []byte) string {
			return fmt.Sprintf("%08x: %-39s  %s\n", i, words(row, 2), printable(row, ' '))
		})
	}, nil},
	{"tcpdump -X", func(b []byte) string { return tcpdump(ipv4(b)) }, nil},
	{"tcpdump -XX", func(b []byte) string { return tcpdump(ethernetFrame(ipv4(b))) }, nil},
	{"tcpdump -X, IPv6", func(b []byte) string { return tcpdump(ipv6(b)) }, nil},
	{"tcpdump -XX, IPv6", func(b []byte) string { return tcpdump(ethernetFrame(ipv6(b))) }, nil},
	{"Wireshark", func(b []byte) string {
		return joined(b, 16, func(i int, row []byte) string {
			return fmt.Sprintf("%04x   %-47s   %s\n", i, words(row, 1), printable(row, ' '))
		})
	}, nil},
	{"Wireshark, no text", func(b []byte) string {
		return joined(b, 16, func(i int, row []byte) string { return fmt.Sprintf("%04x   %s\n", i, words(row, 1)) })
	}, nil},
	{"Wireshark, frame", func(b []byte) string {
		return joined(ethernetFrame(ipv4(b)), 16, func(i int, row []byte) string {
			return fmt.Sprintf("%04x  %-23s  %-23s   %s\n", i, words(row[:min(8, len(row))], 1), words(row[min(8, len(row)):], 1), printable(row, ' '))
		})
	}, nil},
	{"Wireshark, escaped string", func(b []byte) string {
		var s []string
		rows(b, 16, func(i int, row []byte) { s = append(s, `"`+escapeAll(row)+`"`) })
		return strings.Join(s, " \\\n") + "\n"
	}, func(b []byte) bool { return len(b) <= 16 }},
	{"Wireshark, C arrays", func(b []byte) string {
		var s []string
		rows(b, 8, func(_ int, row []byte) { s = append(s, numbers(row, "0x%02x", ", ")) })
		return "char peer0_12[] = { /* Packet 12 */\n" + strings.Join(s, ", \n") + " };\n"
	}, nil},
	{"Python", func(b []byte) string { return "b'" + escapeSome(b, '\'') + "'" }, nil},
	{"Python, a list", func(b []byte) string { return "bytes([" + numbers(b, "%d", ", ") + "])" }, nil},
	{"Python, fromhex", func(b []byte) string { return "bytes.fromhex('" + hex.EncodeToString(b) + "')" }, nil},
	{"C", func(b []byte) string { return `"` + escapeSome(b, '"') + `"` }, func(b []byte) bool {
		return len(b)-bytes.Count(b, b[:1]) < 0 || strings.Count(escapeSome(b, '"'), `\x`) < 2
	}},
	{"Go", func(b []byte) string { return fmt.Sprintf("%#v", b) }, nil},
	{"Go, printed", func(b []byte) string { return fmt.Sprintf("%d", b) }, func(b []byte) bool { return len(b) < shortestList }},
	{"Java", func(b []byte) string {
		s := make([]int8, len(b))
		for i, c := range b {
			s[i] = int8(c)
		}
		return strings.ReplaceAll(fmt.Sprint(s), " ", ", ")
	}, func(b []byte) bool { return len(b) < shortestList }},
	{"node", func(b []byte) string { return "<Buffer " + words(b, 1) + ">" }, nil},
	{"base64", func(b []byte) string { return "b64decode('" + base64.StdEncoding.EncodeToString(b) + "')" }, nil},
}

func TestParseRendered(t *testing.T) {
	for _, r := range renderers {
		t.Run(r.name, func(t *testing.T) {
			for _, b := range payloads(must.Try(100, 500)) {
				if r.except != nil && r.except(b) {
					continue
				}
				check(t, r.render(b), b)
			}
		})
	}
}

// check parses a text that holds one payload.
func check(t *testing.T, text string, payload []byte) {
	t.Helper()
	got, err := Parse([]byte(text))
	if err != nil || len(got) != 1 || !bytes.Equal(got[0].Data, payload) {
		t.Fatalf("%s\nis %v, %v; want %q", text, got, err, payload)
	}
	if note := got[0].Note; note != "" {
		t.Fatalf("%s\nhas the note %q", text, note)
	}
}

// Two payloads below each other are two, whatever their form.
func TestParseTwoRendered(t *testing.T) {
	for _, r := range renderers {
		t.Run(r.name, func(t *testing.T) {
			all := payloads(must.Try(100, 300))
			for i := 0; i+1 < len(all); i += 2 {
				a, b := all[i], all[i+1]
				if r.except != nil && (r.except(a) || r.except(b)) || len(a) < 12 || len(b) < 12 {
					continue
				}
				if strings.HasPrefix(r.name, "Java") || r.name == "Go, printed" || r.name == "Python" {
					a, b = append([]byte("\xff\xff\xff\xffA"), a...), append([]byte("\xff\xff\xff\xffA"), b...)
				}
				text := "It sends\n\n" + r.render(a) + "\n\nand gets\n\n" + r.render(b)
				got, err := Parse([]byte(text))
				if err != nil || len(got) != 2 || !bytes.Equal(got[0].Data, a) || !bytes.Equal(got[1].Data, b) {
					t.Fatalf("%s\nis %v, %v; want %q and %q", text, got, err, a, b)
				}
				if got[0].Line < 3 || got[1].Line <= got[0].Line {
					t.Fatalf("%s\nbegin in lines %d and %d", text, got[0].Line, got[1].Line)
				}
			}
		})
	}
}

// writePcap writes the frames of a capture (LINKTYPE_ETHERNET).
func writePcap(t *testing.T, name string, frames [][]byte) {
	b := []byte("\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x01\x00\x00\x00")
	for i, f := range frames {
		b = binary.LittleEndian.AppendUint32(b, uint32(i))
		b = binary.LittleEndian.AppendUint32(b, 0)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(f)))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(f)))
		b = append(b, f...)
	}
	must.Do(t, os.WriteFile(name, b, 0o600))
}

// What prints captures.
func TestParseCaptureTools(t *testing.T) {
	file, all := filepath.Join(t.TempDir(), "capture.pcap"), payloads(40)
	var frames [][]byte
	for i, b := range all {
		ip := nettext.Either(i%3 == 0, ipv6(b), ipv4(b))
		frames = append(frames, ethernetFrame(ip))
	}
	for _, args := range [][]string{
		{"tcpdump", "-n", "-X", "-r"},
		{"tcpdump", "-n", "-x", "-r"},
		{"tcpdump", "-n", "-v", "-XX", "-r"},
		{"tcpdump", "-n", "-t", "-xx", "-r"},
		{"tshark", "-x", "-r"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			if _, err := exec.LookPath(args[0]); err != nil {
				t.Skipf("%s is not installed", args[0])
			}
			writePcap(t, file, frames)
			out, err := exec.Command(args[0], append(args[1:], file)...).Output()
			if err != nil {
				t.Skipf("%s does not run: %v", args[0], err)
			}
			got, err := Parse(out)
			if err != nil || len(got) != len(all) {
				t.Errorf("%d datagrams, %v, want %d", len(got), err, len(all))
			}
			for i, d := range got[:min(len(got), len(all))] {
				if !bytes.Equal(d.Data, all[i]) || d.Src.Port() != client.Port() || d.Dst.Port() != server.Port() || d.Note != "" {
					t.Errorf("datagram %d is %+v, want %q", i, d, all[i])
				}
			}
		})
	}
}

// tunnel puts an IPv4 header before a packet (RFC 2003).
func tunnel(packet []byte) []byte {
	b := ipv4(nil)[:20]
	b[9] = 4
	binary.BigEndian.PutUint16(b[2:], uint16(20+len(packet)))
	return append(b, packet...)
}

// Headers of all kinds, cut everywhere.
func TestStripCut(t *testing.T) {
	payload := []byte(infoRequest)
	for _, packet := range [][]byte{ipv4(payload), ipv6(payload), tunnel(ipv4(payload)), ethernetFrame(ipv4(payload)), ethernetFrame(ipv6(payload)),
		append([]byte("\x00\x00\x00\x01\x00\x06\x02\x00\x5e\x00\x53\x02\x00\x00\x08\x00"), ipv4(payload)...),
		append([]byte("\x86\xdd\x00\x00\x00\x00\x00\x01\x00\x01\x00\x06\x02\x00\x5e\x00\x53\x02\x00\x00"), ipv6(payload)...),
		append([]byte("\x1e\x00\x00\x00"), ipv6(payload)...),
	} {
		d := Datagram{Data: packet}
		if reason := d.unwrap(true); reason != "" || string(d.Data) != infoRequest || d.Src.Port() != client.Port() || d.Note != "" {
			t.Errorf("%x: %+v, %s", packet, d, reason)
		}
		end := bytes.LastIndex(packet, payload) + len(payload)
		for n := range end {
			d := Datagram{Data: packet[:n:n]}
			if reason := d.unwrap(true); reason == "" {
				t.Errorf("%d of %d bytes are taken for all", n, end)
			}
			d = Datagram{Data: packet[:n:n]}
			switch reason := d.unwrap(false); {
			case reason != "" && n >= end-len(payload):
				t.Errorf("%d of %d bytes: %s", n, end, reason)
			case reason == "" && (!bytes.HasPrefix(payload, d.Data) || !strings.Contains(d.Note, "cut")):
				t.Errorf("%d of %d bytes: %+v", n, end, d)
			}
		}
	}
}

// hostile returns texts that look as if much had to be read again and again.
func hostile(size int) map[string]string {
	repeat := func(s string) string { return strings.Repeat(s, size/len(s)) }
	row := "00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n"
	return map[string]string{
		"empty lines":          repeat("\n"),
		"digits":               repeat("f"),
		"pairs":                repeat("ff "),
		"odd words":            repeat("f "),
		"data lines":           repeat("ff\n"),
		"labels":               repeat("data: ff g "),
		"lists":                repeat("[1]"),
		"lists of two":         repeat("byte[1,2] "),
		"open lists":           repeat("[1,"),
		"lists, then values":   strings.Repeat("[//", size/6) + "\n" + strings.Repeat("1,\n", size/6),
		"escaped quotes":       repeat(`\"`),
		"strings":              repeat(`"a"`),
		"strings of digits":    repeat(`("f",`),
		"code in code":         repeat("`'b\""),
		"escapes":              repeat(`\x`),
		"slashes":              repeat("/"),
		"base64":               repeat("/////A "),
		"dumps":                repeat("00000000  ff\n"),
		"stars":                row + repeat("*\n"),
		"wide rows of words":   repeat("00000000" + strings.Repeat("  4141", 64) + strings.Repeat("A", 127) + "\n"),
		"blank tail":           "0000 ff" + repeat(" ") + "x",
		"more bytes":           "<Buffer ff " + repeat("... 1 more bytes "),
		"arrows":               repeat("> "),
		"times":                repeat("[12:00:00] "),
		"lists, then comments": strings.Repeat("[1//", size/8) + "\n" + strings.Repeat("//\n", size/6) + "]",
		"lists, then a line":   strings.Repeat("[//", size/6) + "\n" + repeat("1,"),
		"runs, then a line":    strings.Repeat("ff ff ff ff 41 x ", size/40) + "\n" + repeat("1,"),
		"invalid UTF-8":        repeat("\xff"),
		"string in a string":   repeat(`'b" `),
		"words of base64":      repeat("b64('a')"),
		"wrong escapes":        repeat(`ff \xf `),
		"lists of hex":         repeat("[ff ff "),
	}
}

func TestParseHostile(t *testing.T) {
	for name, text := range hostile(must.Try(8<<10, 256<<10)) {
		t.Run(name, func(t *testing.T) {
			got, err := Parse([]byte(text))
			bounds(t, []byte(text), got, err)
		})
	}
}

// bounds checks what is promised of any text.
func bounds(t *testing.T, text []byte, got []Datagram, err error) {
	t.Helper()
	if err == nil && len(got) == 0 {
		t.Fatal("neither a datagram nor an error")
	}
	if len(got) > MaxDatagrams {
		t.Fatalf("%d datagrams", len(got))
	}
	size, lines := 0, bytes.Count(text, []byte{'\n'})+1
	for i, d := range got {
		if len(d.Data) > MaxDatagram || d.Line < 1 || d.Line > max(lines, len(text)/2) {
			t.Fatalf("datagram %d of %d bytes is in line %d of %d", i, len(d.Data), d.Line, lines)
		}
		if i > 0 && d.Line < got[i-1].Line {
			t.Fatalf("datagram %d is in line %d, the one before in %d", i, d.Line, got[i-1].Line)
		}
		size += len(d.Data)
	}
	if size > MaxInput {
		t.Fatalf("%d bytes of datagrams", size)
	}
}

func TestParseLimits(t *testing.T) {
	row := "00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n*\n"
	for name, tt := range map[string]struct{ in, err string }{
		"binary":          {strings.Repeat("\x00", MaxDatagram+1), "the input is binary and has 65537 bytes, more than any datagram"},
		"input":           {strings.Repeat("a", MaxInput+1), "the input has 16777217 bytes, 16777216 are the most"},
		"plain":           {"x\n" + strings.Repeat("ff", MaxDatagram+1), "line 2: a datagram of more than 65536 bytes"},
		"plain, wrapped":  {strings.Repeat("80 00 00 00 00 00 00 00\n", MaxDatagram/8+1), "line 1: a datagram of more than 65536 bytes"},
		"dump":            {row + "00020000\n", "line 1: a datagram of more than 65536 bytes"},
		"a huge offset":   {row + "ffffffff\n", "line 1: a datagram of more than 65536 bytes"},
		"list":            {"bytes([" + strings.Repeat("1,", MaxDatagram+1) + "])", "line 1: a datagram of more than 65536 bytes"},
		"string":          {`b'\xff` + strings.Repeat("a", MaxDatagram) + "'", "line 1: a datagram of more than 65536 bytes"},
		"strings, joined": {strings.Repeat(`"\xff\xff" `, MaxDatagram/2+1), "line 1: a datagram of more than 65536 bytes"},
		"base64":          {"b64decode('" + strings.Repeat("AAAA", MaxDatagram/3+1) + "')", "line 1: a datagram of more than 65536 bytes"},
		"datagrams":       {strings.Repeat("0000  ff\n", MaxDatagrams+1), "line 65537: more than 65536 datagrams"},
		"all datagrams":   {strings.Repeat(row+"00010000\n", MaxInput/MaxDatagram+1), "line 769: more than 16777216 bytes of datagrams"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse([]byte(tt.in))
			if err == nil || err.Error() != tt.err {
				t.Errorf("error %v, want %s", err, tt.err)
			}
			bounds(t, []byte(tt.in), got, err)
		})
	}
	if got, err := Parse([]byte(strings.Repeat("ff", MaxDatagram))); err != nil || len(got) != 1 || len(got[0].Data) != MaxDatagram {
		t.Errorf("%d datagrams, %v", len(got), err)
	}
}

func FuzzParse(f *testing.F) {
	for _, tests := range [][]parseTest{plainTests, dumpTests, sourceTests} {
		for _, tt := range tests {
			f.Add([]byte(tt.in))
		}
	}
	for _, r := range renderers {
		f.Add([]byte(r.render([]byte(infoReply))))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Parse(text)
		bounds(t, text, got, err)
		again, err2 := Parse(text)
		if fmt.Sprint(got, err) != fmt.Sprint(again, err2) {
			t.Fatalf("%v, %v, then %v, %v", got, err, again, err2)
		}
	})
}
