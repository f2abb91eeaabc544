package all

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/thorough"
	"github.com/qdissect/qdissect/packetsource"
)

// talks are connections of other protocols: what client and server say in turn, the client first, with \n for ends of lines. In
// hexadecimal after #, where a star stands for pseudorandom bytes.
var talks = []string{
	"GET /status HTTP/1.1\nHost: example.org\n\n|HTTP/1.1 200 OK\nContent-Type: application/json\n\n{\"version\":{\"name\":\"1.0\"},\"players\":{\"online\":3}}",
	"POST / HTTP/1.0\n\n{\"text\":\"hi\"}|HTTP/1.0 404 Not Found\n\n", "PRI * HTTP/2.0\n\nSM\n\n|#00000c04 000000 0000 0003 00000064",
	"#16030100c0 010000bc 0303 * 20 *|#160303007a 02000076 0303 *|#1703030040 *", "#17030300 20 *|#1703030113 *",
	"SSH-2.0-OpenSSH_9.6\n|SSH-2.0-OpenSSH_9.6\n|#0000047c 0b 14 *|#0000044c 0a 14 *", "|220 mail.example.org ESMTP\n|EHLO a\n|250-mail\n250 SIZE 1\n|QUIT\n",
	"|220 FTP\n|USER a\n|331 OK\n|PASS b\n|230 OK\n", "|+OK POP3\n|CAPA\n|+OK\n.\n", "|* OK IMAP4\n|a1 LOGIN a b\n|a1 OK\n", "NICK a\nUSER a 0 * :a\n|:irc 001 a :Welcome\n",
	"#fffd18 fffd20 fffd23 fffd27|#fffb18 fffb20", "|#4a000000 0a 382e302e333600 * 00|#5b000001 85a6ff01 00000001 21 * 00", "#00000008 04d2162f|N", "#0000002e 00030000 7573657200 6100|#52000000 0800000000",
	"*1\n$4\nPING\n|+PONG\n", "PING\n|PONG\n", "#3a000000 01000000 00000000 dd070000 00000000 00 * 00|#c8000000 02000000 01000000 dd070000 00000000 00 *",
	"#00000085 ff534d42 72 00000000 *|#00000051 ff534d42 72 *", "#0300002b 26 e00000000000 436f6f6b69653a *|#03000013 0ed000001234000209080000000000",
	"#001d 1234 0100 0001 0000 0000 0000 07 6578616d706c65 03 636f6d 00 0001 0001|#002d 1234 8180 *", "#13426974546f7272656e742070726f746f636f6c 0000000000100005 *|#13426974546f7272656e742070726f746f636f6c 0000000000100005 *",
	"#10 16 0004 4d515454 04 02 003c 000a 61626364656667|#20020000", "414d5150 00000901|#01 0000 00000144 *", "#300c 020101 6007 020103 0400 8000|#300c 020101 6107 0a0100 04000400",
	"#00000021 0012 0004 00000001 0007 636c69656e74 *|#00000100 00000001 0000 *", "|RFB 003.008\n|RFB 003.008\n|#0101", "#6c00 0b00 0000 0000 0000|#01 00 0b00 0000 *", "stats\n|STAT pid 1\nEND\n", "#80 0a 0000 00 00 0000 00000000|#81 0a *",
	"#0a 00000001 00 *|#0a 00000002 01 *", "#05 01 00|#05 00", "#04 01 0050 c6336401 00|#00 5a 0050 c6336401", "#ffffffff *|#feff *", "#fe *|#ff00 *", "#fe01 *|#ff *", "#00*|#00*", "#01 00 *|#01 00 *", "#0e000000 *|#0a000000 *", "#0000000000000000000000000000|#00000000000000000000",
	"hello, world\n|and you\n", "list\n|Alice Bob\n", "<policy-file-request/>\x00|<?xml version=\"1.0\"?>\x00", "GIOP\x01\x02|GIOP", "#deadbeef *|#cafebabe *", "{\"id\":1,\"method\":\"a\"}\n|{\"id\":1,\"result\":{}}\n", "#*|#*", "|#*|#*",
}

// spoken returns the bytes of a part of a talk.
func spoken(r *rand.Rand, part string) string {
	h, ok := strings.CutPrefix(part, "#")
	if !ok {
		return strings.ReplaceAll(part, "\n", "\r\n")
	}
	var b []byte
	for i, piece := range strings.Split(strings.ReplaceAll(h, " ", ""), "*") {
		for n := r.IntN(300); i > 0 && n > 0; n-- {
			b = append(b, byte(r.Uint32()))
		}
		b, _ = hex.AppendDecode(b, []byte(piece))
	}
	return string(b)
}

// framed returns a packet of some game: its length and its number in one of the usual forms, and small numbers, texts and random bytes.
func framed(r *rand.Rand) string {
	var body []byte
	for range 1 + r.IntN(6) {
		switch r.IntN(4) {
		case 0:
			body = binary.LittleEndian.AppendUint32(body, r.Uint32N(1<<r.IntN(20)))
		case 1:
			body = append(body, words(r, 1+r.IntN(8), " ")+"\x00"...)
		case 2:
			body = append(body, spoken(r, "#*")...)
		case 3:
			body = append(body, byte(r.IntN(4)))
		}
	}
	n := len(body) + r.IntN(2)*r.IntN(5)
	head := [][]byte{binary.LittleEndian.AppendUint32(nil, uint32(n)), binary.BigEndian.AppendUint32(nil, uint32(n)), binary.LittleEndian.AppendUint16(nil, uint16(n)), binary.AppendUvarint(nil, uint64(n)),
		append(binary.LittleEndian.AppendUint32(nil, r.Uint32N(99)), binary.LittleEndian.AppendUint32(nil, uint32(n))...)}[r.IntN(5)]
	return string(head) + string(body)
}

// lenFileHeader is what a pcap file begins with.
const lenFileHeader = 24

// TestForeignStreams reads captures of connections of other protocols, on their ports and on those of ours, in segments of many sizes, from
// their beginning or from the middle on: none has a message.
func TestForeignStreams(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 1))
	ports := []uint16{80, 443, 22, 25, 3306, 40000}
	for _, p := range Protocols() {
		if p.OverTCP() {
			ports = append(ports, p.Ports...)
		}
	}
	for i := range thorough.Of(600, 3000) {
		said := strings.Split(talks[r.IntN(len(talks))], "|")
		for k := range said {
			said[k] = spoken(r, said[k])
		}
		if i%3 == 0 {
			said = []string{framed(r), framed(r) + framed(r), framed(r), framed(r)}
		}
		var b bytes.Buffer
		w := mkpcap.NewWriter(&b, mkpcap.Options{})
		now := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
		to := netip.AddrPortFrom(server, ports[r.IntN(len(ports))])
		c := w.Connect(now, netip.AddrPortFrom(client, port), to)
		begun := b.Len()
		for k, text := range said {
			now = now.Add(time.Millisecond)
			c.Send(now, k%2 == 1, []byte(text), [...]int{0, 0, 1, 7, 100}[r.IntN(5)])
		}
		c.Close(now)
		capture := b.Bytes()
		if i%5 == 0 { // from the middle on
			capture = slices.Delete(capture, lenFileHeader, begun)
		}
		var got label
		src := must.Get(pcapgo.NewReader(bytes.NewReader(capture)))(t)
		must.Do(t, must.Get(packetsource.New(src, src.LinkType(), dissect.Config{Protocols: Protocols()}, &got))(t).Run())
		for _, p := range got.protocols {
			t.Errorf("capture %d, to port %d: taken for %s: %s", i, to.Port(), p.Name, fmt.Sprintf("%.60q", said))
		}
	}
}
