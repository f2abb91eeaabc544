package dissect

import (
	"bytes"
	"encoding/binary"
)

// foreign names traffic that is often met on the ports of game servers, or that
// begins with the bytes of a query and is none. It is a help for people who
// look at what was not recognised, never a label.
var foreign = []struct {
	prefix string
	at     int
	name   string
}{
	{"\xff\xff\xff\xff\x21\x4c\x5f\xa0", 0, "looks like Steam in-home streaming discovery"},
	{"\xff\xff\xff\xff\x00\x40", 0, "looks like RDP over UDP"},
	{"\x00\xff\xff\x00\xfe\xfe\xfe\xfe\xfd\xfd\xfd\xfd\x12\x34\x56\x78", 1, "looks like RakNet"},
	{"\x00\xff\xff\x00\xfe\xfe\xfe\xfe\xfd\xfd\xfd\xfd\x12\x34\x56\x78", 9, "looks like RakNet"},
	{"\x00\xff\xff\x00\xfe\xfe\xfe\xfe\xfd\xfd\xfd\xfd\x12\x34\x56\x78", 17, "looks like RakNet"},
	{"SAMP", 0, "looks like a San Andreas Multiplayer query"},
	{"VCMP", 0, "looks like a Vice City Multiplayer query"},
	{"TS3INIT1", 0, "looks like TeamSpeak 3"},
	{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 0, "looks like Teeworlds"},
	{"\xff\xff\xff\xffn\\", 0, "looks like a QuakeWorld status reply"},
	{"\xff\xff\xff\xffstatus", 0, "looks like a Quake 2 or QuakeWorld status request"},
	{"\xff\xff\xff\xffprint\n\\", 0, "looks like a Quake 2 status reply"},
	{rcon, 0, "looks like a command for a remote console"},
	{"\x80\x00\x00\x00\x00", 0, "looks like QUIC version negotiation, or Unreal 2"},
}

// guess names foreign traffic, "" if it is not known.
func guess(b []byte) string {
	for i := range foreign {
		f := &foreign[i]
		if len(b) >= f.at+len(f.prefix) && string(b[f.at:f.at+len(f.prefix)]) == f.prefix {
			return f.name
		}
	}
	switch {
	case len(b) >= 8 && string(b[:2]) == "BE" && b[6] == 0xff && b[7] <= 2:
		return "looks like BattlEye RCon"
	case len(b) == 12 && bytes.Equal(b[:4], []byte{0, 0, 0, 0}), len(b) == 24 && b[0] == 0 && b[1] == 1:
		return "looks like a Mumble ping"
	case len(b) >= 13 && b[0] >= 20 && b[0] <= 23 && b[1] == 0xfe && (b[2] == 0xfd || b[2] == 0xff):
		return "looks like DTLS"
	case len(b) >= 5 && b[0] == 0x80 && b[1] == 0 && int(b[2])<<8|int(b[3]) == len(b):
		return "looks like NetQuake"
	}
	return ""
}

// rcon is how a command for a remote console begins, with a password in the
// clear. Every game of the Quake family has it, so that alone it tells none.
const rcon = "\xff\xff\xff\xffrcon "

// loginAt returns where the password begins in foreign traffic that is known to
// hold one, the length if it is none of it. What stands behind is not told apart
// from it.
func loginAt(b []byte) int {
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

// Shown returns the payload as people and programs may see it: with asterisks
// where a password stands, or the whole of it if secrets are asked for. Where
// the password of an unknown game ends is not known: all behind the word is
// taken for it.
func (u *Unknown) Shown(secrets bool) []byte { return ShownBytes(u.Payload, secrets) }
