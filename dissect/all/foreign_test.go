package all

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
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
