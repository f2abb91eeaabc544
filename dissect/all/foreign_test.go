package all

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
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
	"github.com/qdissect/qdissect/packetsource"
)

// strangers is traffic of other protocols that begins like a query or uses the same
// ports. The first bytes are those of real captures, as far as peers recorded them, and
// the lengths are real. It is hexadecimal with blanks; a star fills up to 64 bytes with
// pseudorandom bytes.
//
// Payloads that equal a message of this module are not listed: rcon of Quake and Quake
// 2, the challenge of SQP, which is an empty reply of GameSpy 2, and unknown letters
// after the header of Valve's engines on their ports.
var strangers = []struct{ name, bytes string }{
	{"QUIC initial", "c3 00000001 08 8394c8f03e515708 00 00 449e *"},
	{"QUIC version negotiation", "80 00000000 08 0001020304050607 08 8394c8f03e515708 00000001 6b3343cf"},
	{"QUIC short header", "41 *"},
	{"RDP-UDP syn", "ffffffff 0040 1801 c7a52b1b 04d0 04d0 0000000000000000 *"},
	{"RDP-UDP syn lossy", "ffffffff 0040 1a01 00000000 04d0 04d0 *"},
	{"Photon", "ffff 0001 00000000 5f9c8b01 02 ff 01 04 0000002c 00000001 *"},
	{"Photon acknowledge", "ffff 0001 0000 0001 5f9c8b01 01 00 00 00 00000014 00000000"},
	{"1kxun", "ffff 0000 a000 0100 0000 *"},
	{"Steam in-home streaming discovery", "ffffffff 214c5fa0 0d000000 08 d2 82 a1 d4 f0 c6 8b 90 65 10 00 01 00 00 00 08 *"},
	{"DTLS 1.2 client hello", "16 fefd 0000 000000000000 006a 01 00005e 0000 000000 00005e fefd *"},
	{"DTLS 1.0 alert", "15 feff 0001 000000000001 0002 0228"},
	{"DTLS data", "17 fefd 0001 000000000005 0030 *"},
	{"DNS query", "7374 0100 0001 0000 0000 0000 03777777 076578616d706c65 03636f6d 00 0001 0001"},
	{"DNS whose number is a header", "ffff 0100 0001 0000 0000 0000 0765786d706c6521 00 0001 0001"},
	{"DNS whose number is that of GameSpy", "fefd 0100 0001 0000 0000 0000 03777777 076578616d706c65 00 0001 0001"},
	{"DNS whose number begins with zero", "0009 8180 0001 0001 0000 0000 03777777 076578616d706c65 00 0001 0001 c00c 0001 0001 0000003c 0004 c0000201"},
	{"mDNS query", "0000 0000 0001 0000 0000 0000 055f68747470 045f746370 056c6f63616c 00 000c 0001"},
	{"mDNS response", "0000 8400 0000 0001 0000 0000 055f68747470 045f746370 056c6f63616c 00 000c 0001 00000078 0002 c00c"},
	{"LLMNR", "00dd 0000 0001 0000 0000 0000 0477706164 00 0001 0001"},
	{"NetBIOS name", "8010 0110 0001 0000 0000 0000 20 434b414141414141414141414141414141414141414141414141414141414141 00 0021 0001"},
	{"NTP client", "23 00 06 ec 00000000 00000000 00000000 *"},
	{"NTP version 3", "1b 00 00 00 *"},
	{"NTP private", "17 00 03 2a 00000000"},
	{"STUN binding", "0001 0000 2112a442 b7e7a701bc34d686fa87dfae"},
	{"STUN binding with attributes", "0001 0008 2112a442 b7e7a701bc34d686fa87dfae 8022 0004 74657374"},
	{"STUN success", "0101 000c 2112a442 b7e7a701bc34d686fa87dfae 0020 0008 0001 a147 e112a643"},
	{"TURN channel", "4000 0020 *"},
	{"RTP", "80 60 5a17 00000fa0 1f2e3d4c *"},
	{"RTCP", "80 c8 0006 1f2e3d4c *"},
	{"RakNet frame set", "84 000000 60 0070 000000 000000 00 *"},
	{"RakNet acknowledge", "c0 0001 01 000000"},
	{"SNMP get", "30 26 020101 0406 7075626c6963 a019 0201 26 0201 00 0201 00 300e 300c 0608 2b06010201010100 0500"},
	{"SNMP get with a long length", "30 82 002a 020101 0406 7075626c6963 *"},
	{"SNMP whose length is a new line", "30 0a 0201 00 0403 7075 62 a0 00"},
	{"SSDP search", hex.EncodeToString([]byte("M-SEARCH * HTTP/1.1\r\nHOST: 239.255.255.250:1900\r\nMAN: \"ssdp:discover\"\r\n\r\n"))},
	{"SSDP notify", hex.EncodeToString([]byte("NOTIFY * HTTP/1.1\r\nHOST: 239.255.255.250:1900\r\n\r\n"))},
	{"SIP", hex.EncodeToString([]byte("REGISTER sip:example.com SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1\r\n\r\n"))},
	{"syslog", hex.EncodeToString([]byte("<34>Oct 11 22:14:15 mymachine su: failed"))},
	{"statsd", hex.EncodeToString([]byte("servers.requests:1|c"))},
	{"memcached", "0000 0000 0001 0000 " + hex.EncodeToString([]byte("stats\r\n"))},
	{"WireGuard initiation", "01 000000 1f2e3d4c *"},
	{"WireGuard response", "02 000000 1f2e3d4c 5a6b7c8d *"},
	{"WireGuard data", "04 000000 1f2e3d4c 0000000000000000 *"},
	{"OpenVPN reset", "38 1f2e3d4c5a6b7c8d 00 00000000"},
	{"IKE", "1f2e3d4c5a6b7c8d 0000000000000000 21 20 22 08 00000000 000001a4 *"},
	{"ESP keepalive", "ff"},
	{"IKE behind a marker", "00000000 1f2e3d4c5a6b7c8d 0000000000000000 21202208 *"},
	{"uTP syn", "41 00 1f2e 3d4c5a6b 00000000 00100000 0001 0000"},
	{"uTP state", "21 00 1f2e 3d4c5a6b 00000000 00100000 0001 0001"},
	{"uTP reset", "31 00 1f2e 3d4c5a6b 00000000 00100000 0001 0001"},
	{"uTP data", "01 00 1f2e 3d4c5a6b 00000000 00100000 0001 0001 *"},
	{"uTP with an extension", "01 02 1f2e 3d4c5a6b 00000000 00100000 0001 0001 00 08 0000000000000000 *"},
	{"BitTorrent DHT", hex.EncodeToString([]byte("d1:ad2:id20:abcdefghij0123456789e1:q4:ping1:t2:aa1:y1:qe"))},
	{"BitTorrent DHT reply", hex.EncodeToString([]byte("d1:rd2:id20:mnopqrstuvwxyz123456e1:t2:aa1:y1:re"))},
	{"BitTorrent tracker connect", "00000417 27101980 00000000 1f2e3d4c"},
	{"BitTorrent tracker reply", "00000000 1f2e3d4c 5a6b7c8d9eafb0c1"},
	{"Teredo", "0001 0000 1f2e3d4c5a6b7c8d 00 60000000 0008 3a ff *"},
	{"Teredo, bare IPv6", "60 000000 0008 3a ff 20010000 *"},
	{"TeamSpeak 3 voice", "9e115c0af03b7731 0f21 0003 80 *"},
	{"TeamSpeak 3 voice of a server", "9e115c0af03b7731 0f21 00 *"},
	{"TeamSpeak 3 ping", "9e115c0af03b7731 0007 0003 84"},
	{"TeamSpeak 3 pong of a server", "9e115c0af03b7731 0007 85 0007"},
	{"TeamSpeak 3 command", "5453334b8e7a5509 0001 0003 22 *"},
	{"ENet connect", "8fff 1f2e 82 ff 0001 0000 05 00 *"},
	{"Steam datagram", "20 01 *"},
	{"Valve SDR ping", "ffffffff ffffffff 00"},
	{"LIFX set color", "3100 0034 945c9c38 d073d5012345 0000 000000000000 00 01 0000000000000000 6600 0000 00 5555ffffffffac0d 00040000"},
	{"zeros", "0000000000000000000000000000000000000000"},
	{"text", hex.EncodeToString([]byte("hello, world\n"))},
	{"Lua path", hex.EncodeToString([]byte(`\\server\share\folder\file.txt`))},
}

// payload decodes the notation of strangers.
func payload(t *testing.T, s string) []byte {
	t.Helper()
	s, fill := strings.CutSuffix(strings.ReplaceAll(s, " ", ""), "*")
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	for x := uint32(2463534242); fill && len(b) < 64; { // xorshift
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b = append(b, byte(x))
	}
	return b
}

// stray reports every label of a payload on unknown ports and on those of the
// protocols.
func stray(k *taker, payload []byte, all bool) (labels []string) {
	for _, p := range k.alone(payload, port) {
		labels = append(labels, p.Name+" "+situations[nothing])
	}
	for _, of := range Protocols() {
		list := ports(of, nil)
		if all {
			list = of.Ports
		}
		for _, port := range list {
			for _, p := range k.alone(payload, port) {
				labels = append(labels, fmt.Sprintf("%s on port %d", p.Name, port))
			}
		}
	}
	return labels
}

// TestForeign checks that traffic of other protocols gets no label, whatever its ports.
func TestForeign(t *testing.T) {
	k := newTaker(t)
	for _, f := range strangers {
		b := payload(t, f.bytes)
		if got := stray(k, b, true); len(got) > 0 {
			t.Errorf("%s is taken for %s: %s", f.name, got[0], text(b))
		}
	}
}

// TestNoise checks that noise gets no label on a port that no protocol has: random bytes,
// small numbers, many zeros, text, and the traffic of others with bytes changed.
func TestNoise(t *testing.T) {
	k := newTaker(t)
	r := rand.New(rand.NewPCG(1, 2))
	var others [][]byte
	for _, f := range strangers {
		others = append(others, payload(t, f.bytes))
	}
	for i := range 20000 {
		b := make([]byte, 1+r.IntN(80))
		for j := range b {
			switch c := byte(r.Uint32()); i % 5 {
			case 0:
				b[j] = c
			case 1:
				b[j] = c & 7
			case 2:
				if j%3 == 0 {
					b[j] = c
				}
			case 3:
				b[j] = ' ' + c%95
			}
		}
		if i%5 == 4 {
			b = append(b[:0], others[r.IntN(len(others))]...)
			for range 1 + r.IntN(4) {
				b[r.IntN(len(b))] = byte(r.Uint32())
			}
		}
		if b[0] == '\\' {
			continue // keys and values of GameSpy 1 have no other signature
		}
		for _, p := range k.alone(b, port) {
			t.Errorf("taken for %s: %s", p.Name, text(b))
		}
	}
}

// TestGameTraffic sends packets of running games, which begin with a counter and so
// with every value, to the ports of all protocols.
func TestGameTraffic(t *testing.T) {
	k := newTaker(t)
	said := map[string]bool{}
	wrong := func(what string, b []byte) {
		for _, got := range stray(k, b, false) {
			if key := what + got + string(b[:1]); !said[key] {
				said[key] = true
				t.Errorf("%s is taken for %s: %s", what, got, text(b))
			}
		}
	}
	for i := range uint32(1 << 16) {
		if i>>8 != 0 && i>>8 != 1 && i>>8 != 0xfd && i>>8 != 0xff {
			continue
		}
		b := payload(t, "*")
		binary.LittleEndian.PutUint32(b, i)
		binary.LittleEndian.PutUint32(b[4:], i-3)
		wrong("a Source engine packet", b)
		b[3] |= 0x80 // reliable
		b[7] |= 0x80
		wrong("a GoldSrc packet", b)
		b = payload(t, "*")
		binary.LittleEndian.PutUint32(b, i)
		wrong("a Quake 3 packet", b[:24])
		b = payload(t, "0000 0100 0001 0000 0000 0000 03777777 076578616d706c65 03636f6d 00 0001 0001")
		binary.LittleEndian.PutUint16(b, uint16(i))
		wrong("a DNS query", b)
	}
}

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
	for i := range must.Try(600, 3000) {
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

// rates are kinds of payloads that no game server and no client of one sends, and how many of
// a million may get a label. The ports are those of protocols for every second payload, and
// any otherwise, unless the kind has its own.
var rates = []struct {
	name  string
	most  int // of a million
	ports string
	next  func(*rand.Rand) []byte
}{
	{"random bytes on game ports", 3, "game", randomBytes},
	{"random bytes on any port", 2, "any", randomBytes},
	{"few different bytes on any port", 4, "any", fewBytes},
	{"few different bytes on game ports", 4, "game", fewBytes},
	{"text with backslashes", 1000, "", backslashes},
	{"English", 1, "", func(r *rand.Rand) []byte { return []byte(words(r, 1+r.IntN(60), " ")) }},
	{"JSON", 0, "", jsonText},
	{"HTTP", 0, "", httpText},
}

func randomBytes(r *rand.Rand) []byte {
	b := make([]byte, 4+r.IntN(508)) // shorter ones are requests of one letter
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// fewBytes returns up to 64 bytes out of a few small numbers, or most of them one byte.
func fewBytes(r *rand.Rand) []byte {
	b := make([]byte, 6+r.IntN(58))
	values := [...]byte{0, 1, 2, 3, 0xff, byte(r.Uint32()), byte(r.Uint32())}
	n, common := 1+r.IntN(len(values)), r.IntN(8)
	for i := range b {
		if r.IntN(8) >= common {
			b[i] = values[r.IntN(n)]
		}
	}
	return b
}

// vocabulary has words of no protocol and some that protocols have as well.
var vocabulary = strings.Fields(`the of and to in is you that it he was for on are as with his they at be this have from or one had by word but not what
	all were we when your can said there use an each which she do how their if will up other about out many then them these so some her would make like him
	into time has look two more write go see number no way could people my than first water been call who oil its now find long down day did get come made
	may part Users Windows System32 Program Files AppData Local Temp config data server client name error value begin section frac alpha beta left right`)

func words(r *rand.Rand, n int, between string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = vocabulary[r.IntN(len(vocabulary))]
	}
	return strings.Join(list, between)
}

// backslashes returns paths, commands of TeX, or keys and values of some program.
func backslashes(r *rand.Rand) []byte {
	n := 1 + r.IntN(12)
	switch r.IntN(4) {
	case 0:
		return fmt.Appendf(nil, `\%s.%s`, words(r, n, `\`), words(r, 1, ""))
	case 1:
		return fmt.Appendf(nil, `\%s{%s}`, words(r, n, ` \`), words(r, 3, " "))
	case 2:
		return fmt.Appendf(nil, `\%s\%d`, words(r, n|1, `\`), r.IntN(1000))
	}
	b := []byte{'\\'}
	for range 1 + r.IntN(80) {
		b = append(b, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ .-\\\\\\\\\\\\"[r.IntN(72)])
	}
	return b
}

func jsonText(r *rand.Rand) []byte {
	m := map[string]any{}
	for range 1 + r.IntN(8) {
		m[words(r, 1, "")] = []any{words(r, 1+r.IntN(3), " "), r.IntN(1000), map[string]string{words(r, 1, ""): words(r, 1, "")}}[r.IntN(3)]
	}
	b, _ := json.Marshal(m)
	return b
}

func httpText(r *rand.Rand) []byte {
	first := [...]string{"GET /%s HTTP/1.1", "POST /%s HTTP/1.1", "HTTP/1.1 200 %s", "NOTIFY * HTTP/1.1\r\nNT: %s", "M-SEARCH * HTTP/1.1\r\nST: %s"}
	b := fmt.Appendf(nil, first[r.IntN(len(first))]+"\r\n", words(r, 1+r.IntN(3), "/"))
	for range r.IntN(6) {
		b = fmt.Appendf(b, "%s: %s\r\n", words(r, 1, ""), words(r, 1+r.IntN(4), "; "))
	}
	return append(b, "\r\n"...)
}

// TestRates sends payloads of each kind, each alone between two addresses of its own. A label
// is one of any protocol. docs/limits.md has the rates of a million payloads of each kind.
func TestRates(t *testing.T) {
	million := must.Try(20_000, 1_000_000)
	// The ports are on a ring, so that payloads keep theirs when a protocol is added.
	var game []uint16
	for _, p := range Protocols() {
		if !p.OverTCP() {
			game = append(game, p.Ports...)
		}
	}
	place := func(port uint16) uint32 { return uint32(port) * 0x9e3779b1 }
	slices.SortFunc(game, func(a, b uint16) int { return cmp.Compare(place(a), place(b)) })
	onRing := func(at uint32) uint16 {
		i, _ := slices.BinarySearchFunc(game, at, func(port uint16, at uint32) int { return cmp.Compare(place(port), at) })
		return game[i%len(game)]
	}
	for i, kind := range rates {
		t.Run(kind.name, func(t *testing.T) {
			k, r := newTaker(t), rand.New(rand.NewPCG(40, uint64(i)))
			labels := map[string]int{}
			n := 0
			for j := range million {
				port := uint16(1 + r.IntN(65535))
				if kind.ports == "game" || kind.ports == "" && j%2 == 0 {
					port = onRing(r.Uint32())
				}
				b := kind.next(r)
				got := k.once(b, uint32(j), port)
				if len(got) == 0 {
					continue
				}
				n++
				if labels[got]++; labels[got] <= 2 {
					t.Logf("%s, port %d: %s", got, port, text(b))
				}
			}
			t.Logf("%d of %d: %v", n, million, labels)
			if most := (kind.most*million + 999_999) / 1_000_000; n > most {
				t.Errorf("%d of %d have a label, want at most %d: %v", n, million, most, labels)
			}
		})
	}
}

// once returns the label of a payload that is sent to a port, or from it, between two
// addresses that nothing else has.
func (k *taker) once(payload []byte, i uint32, serverPort uint16) string {
	a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), port)
	b := netip.AddrPortFrom(netip.AddrFrom4([4]byte{11, byte(i >> 16), byte(i >> 8), byte(i)}), serverPort)
	if i%4 < 2 {
		a, b = b, a
	}
	k.send(a, b, payload)
	got := k.end()
	if len(got) == 0 {
		return ""
	}
	return got[0].Name
}
