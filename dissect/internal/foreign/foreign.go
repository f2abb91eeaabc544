// Package foreign describes traffic that no protocol of this module owns, and
// that is often met beside what they own: on the ports of game servers, or with
// the first bytes of a query. What it says is a guess from a few bytes, never a
// label.
package foreign

import "encoding/binary"

// list names payloads by a prefix at an offset. The first entry that fits
// counts; size is the length of the payload, 0 for any.
var list = []struct {
	prefix string
	at     int
	size   int
	name   string
}{
	{oob + "\x21\x4c\x5f\xa0", 0, 0, "Steam in-home streaming discovery"},
	{oob + "\x00\x40", 0, 0, "RDP over UDP"},
	{"SAMP", 0, 0, "San Andreas Multiplayer"},
	{"VCMP", 0, 0, "Vice City Multiplayer"},
	{"MP04", 0, 0, "Vice City Multiplayer"},
	{"LHMP", 0, 0, "Lost Heaven Multiplayer"},
	{"M2MP", 0, 0, "Mafia 2 Multiplayer"},
	{"TS3INIT1", 0, 0, "TeamSpeak 3"},
	{"\xf4\xbe", 0, 0, "TeamSpeak 2"},
	{"\xf0\xbe", 0, 0, "TeamSpeak 2"},
	{"\xf1\xbe", 0, 0, "TeamSpeak 2"},
	{"\xf2\xbe", 0, 0, "TeamSpeak 2"},
	{oob + oob + "\xff\xff", 0, 0, "Teeworlds"},
	{oob + "gie3", 6, 0, "Teeworlds"},
	{"\x04\x00\x00", 0, 12, "Teeworlds"},
	{"\x04\x00\x00", 0, 520, "Teeworlds"},
	{oob + "\xffstatus", 0, 0, "HexenWorld"},
	{oob + "\xffn\\", 0, 0, "HexenWorld"},
	{oob + "netinfo", 0, 0, "Xash3D"},
	{oob + "n\\", 0, 0, "QuakeWorld"},
	{oob + "n\x00", 0, 6, "QuakeWorld"},
	{oob + "n\n", 0, 0, "QuakeWorld"},
	{oob + "nBad rcon", 0, 0, "QuakeWorld"},
	{oob + "k\n", 0, 0, "QuakeWorld"},
	{oob + "l\x00", 0, 6, "QuakeWorld"},
	{oob + "c-", 0, 0, "QuakeWorld"},
	{oob + "qtvusers", 0, 0, "QuakeWorld"},
	{oob + "laststats", 0, 0, "QuakeWorld"},
	{oob + "lastscores", 0, 0, "QuakeWorld"},
	{oob + "connect 28 ", 0, 0, "QuakeWorld"},
	{oob + "connect 3", 0, 0, "Quake 2"},
	{oob + "connect 4", 0, 0, "Half-Life or Xash3D"},
	{oob + "info 4", 0, 0, "Xash3D"},
	{oob + "info\n\\", 0, 0, "Xash3D or Warsow"},
	{oob + "info ", 0, 0, "Quake 2"},
	{oob + "info\n", 0, 0, "Quake 2"},
	{oob + "ping\n", 0, 0, "Quake 2, QuakeWorld or Half-Life"},
	{oob + "ack", 0, 0, "Quake 2"},
	{oob + "challenge ", 0, 0, "Quake 2 or Xash3D"},
	{oob + "client_connect", 0, 0, "Quake 2"},
	{oob + "servers ", 0, 0, "Quake 2"},
	{oob + "print\n", 0, 0, "Quake 2"},
	{oob + "status", 0, 0, "Quake 2 or QuakeWorld"},
	// Every game of the Quake family has it, so that alone it tells none.
	{oob + "rcon ", 0, 0, "a command for a remote console"},
	{oob + "srcon ", 0, 0, "DarkPlaces"},
	{oob + "M", 0, 1200, "Titanfall"},
	{"\x80\x00\x00\x00\x00", 0, 0, "QUIC version negotiation"},
	{"\x02\x10\x01\xad", 0, 0, "Odamex"},
	{"\x03\x20\x03\xad", 0, 0, "Odamex"},
	{"\xa3\xdb\x0b\x00", 0, 0, "ZDaemon"},
	{"\x01\x00\xfb", 0, 0, "Counter-Strike 2D"},
	{"\x01\x00\xf5", 0, 0, "Counter-Strike 2D"},
	{"\x03\x00\x00", 0, 3, "OpenTTD"},
	{"\x03\x00\x01", 0, 3, "OpenTTD"},
	{"\x9e\x4c\x23\x00\x00", 0, 0, "Savage"},
	{"\xc0\xde\xf1\x11", 0, 0, "Ghost Recon"},
	{"\xd5\xf6", 0, 0, "Satisfactory"},
	{"Oet\x03", 0, 0, "Luanti (Minetest)"},
	{"rF_S", 0, 0, "rFactor"},
	{"\x34\x00\xb0\xfa", 0, 0, "DirectPlay"},
	{"BZFS", 4, 60, "BZFlag"},
	{"\x00\x02\x04\x04", 0, 6, "BZFlag"},
	{"\x00\x0eChocolate", 0, 0, "Chocolate Doom"},
	{"\x00\x0eCrispy", 0, 0, "Chocolate Doom"},
	{"\x00\x0d", 0, 2, "Chocolate Doom"},
	{"PING\x00", 0, 5, "Kaillera"},
	{"PONG\x00", 0, 5, "Kaillera"},
	{"[MOTD]", 0, 0, "Minecraft in the local network"},
	{"\xff\xff\x00\x01", 0, 0, "Photon"},
	{"\x21\x12\xa4\x42", 4, 0, "STUN"},
	{"M-SEARCH ", 0, 0, "SSDP"},
	{"NOTIFY * ", 0, 0, "SSDP"},
	{"REGISTER sip:", 0, 0, "SIP"},
	{"OPTIONS sip:", 0, 0, "SIP"},
	{"INVITE sip:", 0, 0, "SIP"},
	{"d1:ad2:id", 0, 0, "BitTorrent"},
	{"d1:rd2:id", 0, 0, "BitTorrent"},
	{"\x63\x82\x53\x63", 236, 0, "DHCP"},
	{"\x01\x00\x00\x00", 0, 148, "WireGuard"},
	{"\x02\x00\x00\x00", 0, 92, "WireGuard"},
}

const oob = "\xff\xff\xff\xff"

// starting are the entries of the list for payloads by their first byte.
var starting = func() (by [256][]uint8) {
	for first := range by {
		for i, f := range list {
			if f.at > 0 || int(f.prefix[0]) == first {
				by[first] = append(by[first], uint8(i))
			}
		}
	}
	return by
}()

// Name names what a payload looks like, "" if nothing comes to mind.
func Name(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	for _, i := range starting[b[0]] {
		f := &list[i]
		if len(b) >= f.at+len(f.prefix) && b[f.at] == f.prefix[0] && string(b[f.at:f.at+len(f.prefix)]) == f.prefix && (f.size == 0 || f.size == len(b)) {
			return f.name
		}
	}
	if len(b) < 3 {
		return ""
	}
	u16 := int(b[0])<<8 | int(b[1])
	length := 0 // in the second word, as many have it
	if len(b) >= 4 {
		length = int(b[2])<<8 | int(b[3])
	}
	switch n := len(b); {
	case n >= 8 && string(b[:2]) == "BE" && b[6] == 0xff && b[7] <= 2:
		return "BattlEye RCon"
	case n >= 13 && b[0] >= 20 && b[0] <= 23 && b[1] == 0xfe && (b[2] == 0xfd || b[2] == 0xff):
		return "DTLS"
	case n >= 5 && b[0] == 0x80 && b[1] == 0 && length == n:
		return "NetQuake"
	case n >= 8 && b[0] == 0 && b[1] >= 0x32 && b[1] <= 0x37 && 2*(int(b[4])<<8|int(b[5]))+8 == n:
		return "Armagetron"
	case n >= 16 && b[0] == 0x21 && string(b[9:13]) == oob:
		return "Teeworlds"
	case n == 3 && (b[0] == 0x60 || b[0] == 0x62 || b[0] == 0x72), n == 6 && (b[0] == 0x0e || b[0] == 0x12) && b[1] == 2:
		return "Tribes"
	case n == 36 && ventrilo(b):
		return "Ventrilo"
	case n >= 12 && u16&0xfff == 0xfff && u16>>15 == 1 && b[4]&0x0f == 2: // no peer yet; connect
		return "ENet"
	case n >= 7 && b[0]&0xc0 == 0xc0 && (string(b[1:5]) == "\x00\x00\x00\x01" || string(b[1:5]) == "\x6b\x33\x43\xcf" || string(b[1:4]) == "\xff\x00\x00") && b[5] <= 20:
		return "QUIC"
	case n >= 32 && n%16 == 0 && string(b[:4]) == "\x04\x00\x00\x00":
		return "WireGuard"
	case n >= 17 && isDNS(b):
		return "DNS"
	case n == 48 && b[0]&7 >= 1 && b[0]&7 <= 5 && b[0]>>3&7 >= 1 && b[0]>>3&7 <= 4:
		return "NTP"
	case n >= 8 && b[0]&0xc0 == 0x80 && b[1] >= 200 && b[1] <= 204 && length < n/4+1:
		return "RTCP"
	case n >= 32 && b[0]&0xcf == 0x80 && (b[1]&0x7f <= 34 || b[1]&0x7f >= 96):
		return "RTP"
	}
	return ""
}

// isDNS reports whether b begins with a header of DNS that makes sense and one
// question, or with answers as in multicast DNS.
func isDNS(b []byte) bool {
	flags := int(b[2])<<8 | int(b[3])
	questions, answers := int(b[4])<<8|int(b[5]), int(b[6])<<8|int(b[7])
	if flags&0x7840 != 0 || questions > 1 && flags != 0 || questions+answers == 0 || answers > 64 || b[8] != 0 || b[10] != 0 {
		return false
	}
	n := int(b[12]) // the first label of a name
	if n == 0 || n > 63 || 13+n >= len(b) {
		return false
	}
	for _, c := range b[13 : 13+n] {
		if c < 0x21 || c >= 0x7f {
			return false
		}
	}
	return true
}

// Login returns where the password begins in a payload that carries one, the
// length of the payload if it carries none. What follows the password is not
// told apart from it.
func Login(b []byte) int {
	at := len(b)
	switch {
	case len(b) > 8 && string(b[:2]) == "BE" && b[6] == 0xff && b[7] == 0:
		// BattlEye RCon, login: the password is all. The answer is 0 or 1.
		if at = 8; len(b) == 9 && b[8] <= 1 {
			at = len(b)
		}
	case len(b) > 13 && (string(b[:4]) == "SAMP" || string(b[:4]) == "VCMP") && b[10] == 'x':
		// A command has two texts behind their lengths, an answer one.
		if n := 13 + int(binary.LittleEndian.Uint16(b[11:])); n != len(b) {
			at = 13
		}
	case len(b) > 5 && b[0] == 0x80 && b[1] == 0 && b[4] == 5 && int(b[2])<<8|int(b[3]) >= len(b) && texts(b[5:]):
		at = 5 // NetQuake, CCREQ_RCON
	case len(b) > 17 && string(b[:5]) == "\xff\xff\xff\xffk" && b[7]|b[8]|b[10]|b[11]|b[12] == 0 && b[9] > 0 && b[9] < 4:
		// Source, C2S_CONNECT: two versions and a challenge, then name, password
		// and ticket.
		at = 17
	}
	return at
}

// texts reports whether b is printable text and zero bytes.
func texts(b []byte) bool {
	for _, c := range b {
		if c != 0 && (c < ' ' || c >= 0x7f) {
			return false
		}
	}
	return true
}

// ventrilo reports whether b decrypts to the head of a status request of
// Ventrilo: its first two bytes are where in the table the key begins and how it
// steps, what follows is zero and the number of a command (ventrilo.js of
// node-gamedig).
func ventrilo(b []byte) bool {
	key, plain := int(b[0]), [4]byte{}
	for i := range plain {
		plain[i] = b[2+i] - ventriloHead[key&0xff] - byte(i%5)
		key += int(b[1])
	}
	return plain[0]|plain[1]|plain[2] == 0 && plain[3] >= 1 && plain[3] <= 3
}

const ventriloHead = "\x80\xe5\x0e\x38\xba\x63\x4c\x99\x88\x63\x4c\xd6\x54\xb8\x65\x7e\xbf\x8a\xf0\x17\x8a\xaa\x4d\x0f\xb7\x23\x27\xf6\xeb\x12\xf8\xea" +
	"\x17\xb7\xcf\x52\x57\xcb\x51\xcf\x1b\x14\xfd\x6f\x84\x38\xb5\x24\x11\xcf\x7a\x75\x7a\xbb\x78\x74\xdc\xbc\x42\xf0\x17\x3f\x5e\xeb" +
	"\x74\x77\x04\x4e\x8c\xaf\x23\xdc\x65\xdf\xa5\x65\xdd\x7d\xf4\x3c\x4c\x95\xbd\xeb\x65\x1c\xf4\x24\x5d\x82\x18\xfb\x50\x86\xb8\x53" +
	"\xe0\x4e\x36\x96\x1f\xb7\xcb\xaa\xaf\xea\xcb\x20\x27\x30\x2a\xae\xb9\x07\x40\xdf\x12\x75\xc9\x09\x82\x9c\x30\x80\x5d\x8f\x0d\x09" +
	"\xa1\x64\xec\x91\xd8\x8a\x50\x1f\x40\x5d\xf7\x08\x2a\xf8\x60\x62\xa0\x4a\x8b\xba\x4a\x6d\x00\x0a\x93\x32\x12\xe5\x07\x01\x65\xf5" +
	"\xff\xe0\xae\xa7\x81\xd1\xba\x25\x62\x61\xb2\x85\xad\x7e\x9d\x3f\x49\x89\x26\xe5\xd5\xac\x9f\x0e\xd7\x6e\x47\x94\x16\x84\xc8\xff" +
	"\x44\xea\x04\x40\xe0\x33\x11\xa3\x5b\x1e\x82\xff\x7a\x69\xe9\x2f\xfb\xea\x9a\xc6\x7b\xdb\xb1\xff\x97\x76\x56\xf3\x52\xc2\x3f\x0f" +
	"\xb6\xac\x77\xc4\xbf\x59\x5e\x80\x74\xbb\xf2\xde\x57\x62\x4c\x1a\xff\x95\x6d\xc7\x04\xa2\x3b\xc4\x1b\x72\xc7\x6c\x82\x60\xd1\x0d"
