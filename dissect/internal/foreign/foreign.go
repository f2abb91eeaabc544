// Package foreign describes traffic of protocols that this module does not implement
// but that occurs on the ports of game servers, or begins like a query. A description
// is a guess from a few bytes, not a classification.
package foreign

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// list names payloads by a prefix at an offset. size is the length of the payload,
// 0 for any. The first entry that matches counts.
var list = []struct {
	name     string
	at, size int
	prefixes []string
}{
	{"Steam in-home streaming discovery", 0, 0, []string{oob + "\x21\x4c\x5f\xa0"}},
	{"RDP over UDP", 0, 0, []string{oob + "\x00\x40"}},
	{"TeamSpeak 2", 0, 0, []string{"\xf4\xbe", "\xf0\xbe", "\xf1\xbe", "\xf2\xbe"}},
	{"Half-Life or Xash3D", 0, 0, []string{oob + "connect 4"}},
	{"Xash3D", 0, 0, []string{oob + "challenge "}},
	// Every game of the Quake family has this command.
	{"a command for a remote console", 0, 0, []string{oob + "rcon "}},
	{"QUIC version negotiation", 0, 0, []string{"\x80\x00\x00\x00\x00"}},
	{"ZDaemon", 0, 0, []string{"\xa3\xdb\x0b\x00"}},
	{"Ghost Recon", 0, 0, []string{"\xc0\xde\xf1\x11"}},
	{"Luanti (Minetest)", 0, 0, []string{"Oet\x03"}},
	{"DirectPlay", 0, 0, []string{"\x34\x00\xb0\xfa"}},
	{"Minecraft in the local network", 0, 0, []string{"[MOTD]"}},
	{"Photon", 0, 0, []string{"\xff\xff\x00\x01"}},
	{"STUN", 4, 0, []string{"\x21\x12\xa4\x42"}},
	{"SSDP", 0, 0, []string{"M-SEARCH ", "NOTIFY * "}},
	{"SIP", 0, 0, []string{"REGISTER sip:", "OPTIONS sip:", "INVITE sip:"}},
	{"BitTorrent", 0, 0, []string{"d1:ad2:id", "d1:rd2:id"}},
	{"DHCP", 236, 0, []string{"\x63\x82\x53\x63"}},
	{"WireGuard", 0, 148, []string{"\x01\x00\x00\x00"}},
	{"WireGuard", 0, 92, []string{"\x02\x00\x00\x00"}},
	// What authors of clients get wrong about FF FF FF FF.
	{"an A2S query without its FF FF FF FF", 0, 0, []string{"TSource Engine Query", oob[:1] + "TSource E", oob[:2] + "TSource E", oob[:3] + "TSource E"}},
	{"a Quake 3 query without its FF FF FF FF", 0, 0, []string{"getstatus", "getinfo xxx", "getservers ", oob[:1] + "getstatus", oob[:2] + "getstatus", oob[:3] + "getstatus"}},
	{"a query with its FF FF FF FF as UTF-8", 0, 0, []string{"\u00ff\u00ff\u00ff\u00ff", "\ufffd\ufffd\ufffd\ufffd"}},
	{"a query with its FF FF FF FF as text", 0, 0, []string{`\xff\xff\xff\xff`, `\xFF\xFF\xFF\xFF`, `\377\377\377\377`, "ffffffff54", "FFFFFFFF54"}},
	{"a malformed A2S query", 0, 0, []string{oob + "U", oob + "V"}},
	{"a malformed GameSpy query", 0, 0, []string{"\xfe\xfd\x00", "\xfe\xfd\x09"}},
	{"a malformed SA-MP query", 0, 0, []string{"SAMP"}},
	{"a malformed RakNet query", 9, 0, []string{"\x00\xff\xff\x00\xfe\xfe"}},
	{"a malformed TeamSpeak 3 query", 0, 0, []string{"TS3INIT1"}},
	{"a malformed Teeworlds query", 0, 0, []string{"gie3", oob[:2] + oob + "gie", oob[:1] + oob + oob + "gie", oob[:2] + oob + oob + "gie", oob[:3] + oob + oob + "gie"}},
	{"a malformed Doom 3 query", 0, 0, []string{"getInfo\x00", oob[:1] + "getInfo", oob[:2] + "getInfo"}},
	{"a malformed NetQuake query", 5, 0, []string{"QUAKE\x00", "HEXENII\x00"}},
	{"a malformed query of a Valve master server", 2, 0, []string{"0.0.0.0:0"}},
}

const oob = "\xff\xff\xff\xff"

// A pattern is one prefix of the list.
type pattern struct {
	prefix   string
	name     string
	at, size int
}

// starting has the patterns of the list at the beginning of payloads by their first byte,
// within the others. No payload fits one of each.
var starting, within = func() (by [256][]pattern, within []pattern) {
	for _, f := range list {
		for _, prefix := range f.prefixes {
			p := pattern{prefix, f.name, f.at, f.size}
			if f.at > 0 {
				within = append(within, p)
			} else {
				by[prefix[0]] = append(by[prefix[0]], p)
			}
		}
	}
	return by, within
}()

// find returns the first pattern that a payload fits.
func find(list []pattern, b []byte) string {
	for i := range list {
		f := &list[i]
		if len(b) >= f.at+len(f.prefix) && b[f.at] == f.prefix[0] && string(b[f.at:f.at+len(f.prefix)]) == f.prefix && (f.size == 0 || f.size == len(b)) {
			return f.name
		}
	}
	return ""
}

// Name returns the name of the protocol that a payload looks like, or "" if it looks
// like none.
func Name(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if name := cmp.Or(find(starting[b[0]], b), find(within, b)); name != "" {
		return name
	}
	switch n := len(b); {
	case n >= 13 && b[0] >= 20 && b[0] <= 23 && b[1] == 0xfe && (b[2] == 0xfd || b[2] == 0xff):
		return "DTLS"
	case n >= 12 && b[0]&0x8f == 0x8f && b[1] == 0xff && b[4]&0x0f == 2: // no peer yet; connect
		return "ENet"
	case n >= 7 && b[0]&0xc0 == 0xc0 && (string(b[1:5]) == "\x00\x00\x00\x01" || string(b[1:5]) == "\x6b\x33\x43\xcf" || string(b[1:4]) == "\xff\x00\x00") && b[5] <= 20:
		return "QUIC"
	case n >= 32 && n%16 == 0 && string(b[:4]) == "\x04\x00\x00\x00":
		return "WireGuard"
	case n >= 17 && isDNS(b):
		return "DNS"
	case n == 48 && b[0]&7 >= 1 && b[0]&7 <= 5 && b[0]>>3&7 >= 1 && b[0]>>3&7 <= 4:
		return "NTP"
	case n >= 8 && b[0]&0xc0 == 0x80 && b[1] >= 200 && b[1] <= 204 && int(b[2])<<8|int(b[3]) < n/4+1:
		return "RTCP"
	case n >= 32 && b[0]&0xcf == 0x80 && (b[1]&0x7f <= 34 || b[1]&0x7f >= 96):
		return "RTP"
	}
	return ""
}

// isDNS reports whether b begins with a plausible DNS header and one question, or with
// answers as in multicast DNS.
func isDNS(b []byte) bool {
	flags := int(b[2])<<8 | int(b[3])
	questions, answers := int(b[4])<<8|int(b[5]), int(b[6])<<8|int(b[7])
	if flags&0x7840 != 0 || questions > 1 && flags != 0 || questions+answers == 0 || answers > 64 || b[8] != 0 || b[10] != 0 {
		return false
	}
	n := int(b[12]) // the first label of a name
	return n > 0 && n <= 63 && 13+n < len(b) && !slices.ContainsFunc(b[13:13+n], func(c byte) bool { return c < 0x21 || c >= 0x7f })
}

// Login returns the offset of the password in a payload, or the length of the payload
// if it has none. The password may be shorter than the rest of the payload.
func Login(b []byte) int {
	at := len(b)
	switch {
	case len(b) > 8 && string(b[:2]) == "BE" && b[6] == 0xff && b[7] == 0:
		// BattlEye RCon login: the password. The reply is 0 or 1.
		if at = 8; len(b) == 9 && b[8] <= 1 {
			at = len(b)
		}
	case len(b) > 13 && (string(b[:4]) == "SAMP" || string(b[:4]) == "VCMP") && b[10] == 'x':
		// A command has two texts with their lengths, a reply has one.
		if n := 13 + int(binary.LittleEndian.Uint16(b[11:])); n != len(b) {
			at = 13
		}
	case len(b) > 5 && b[0] == 0x80 && b[1] == 0 && b[4] == 5 && int(b[2])<<8|int(b[3]) >= len(b) && texts(b[5:]):
		at = 5 // NetQuake, CCREQ_RCON, damaged
	case len(b) > 17 && string(b[:5]) == "\xff\xff\xff\xffk" && b[7]|b[8]|b[10]|b[11]|b[12] == 0 && b[9] > 0 && b[9] < 4:
		// Source, C2S_CONNECT: two versions and a challenge, then name, password and
		// ticket.
		at = 17
	}
	return at
}

// texts reports whether b consists of printable text and zero bytes.
func texts(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c != 0 && (c < ' ' || c >= 0x7f) })
}
