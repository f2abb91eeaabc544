package netquake

import (
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

// control returns a packet with its header.
func control(op byte, body string) string {
	n := len(body) + lenHeader
	return string([]byte{0x80, 0, byte(n >> 8), byte(n), op}) + body
}

// answer is a reply that a real server sent.
const answer = "\x80\x00\x00\x31\x83" + "0.0.0.0:26000\x00qdissect NetQuake\x00basement\x00" + "\x05\x10\x03"

func samples() []dissecttest.Sample {
	one := dissecttest.One
	const certain, likely, possible = dissect.Certain, dissect.Likely, dissect.Possible
	return []dissecttest.Sample{
		one("server request", "server_request", certain, control(2, "QUAKE\x00\x03")),
		one("of Hexen II", "server_request", certain, control(2, "HEXENII\x00\x05")),
		one("server reply", "server_reply", certain, answer),
		one("long server reply", "server_reply", likely, control(0x83, "192.0.2.20:26000\x00A server with a very long name in many words\x00start\x00\x00\x08\x03")),
		one("connect request", "connect_request", certain, control(1, "QUAKE\x00\x03")),
		one("of ProQuake", "connect_request", certain, control(1, "QUAKE\x00\x03\x01\x22\x00\x39\x05\x00\x00")),
		one("of another engine", "connect_request", certain, control(1, "QUAKE\x00\x03\x02\x10\x00\x00\x00\x00\x00more")),
		one("accept", "accept", certain, control(0x81, "\x91\x65\x00\x00")),
		one("accept of ProQuake", "accept", certain, control(0x81, "\x91\x65\x00\x00\x01\x22\x01")),
		one("accept of another engine", "accept", certain, control(0x81, "\x91\x65\x00\x00\x02\x22\x01\x00")),
		one("reject", "reject", certain, control(0x82, "Server is full.\n\x00"), "netquake.rejected"),
		one("player request", "player_request", certain, control(3, "\x02")),
		one("player reply", "player_reply", certain, control(0x84, "\x02\xc1\xf2\xe5 you\x00\x4d\x00\x00\x00\xfe\xff\xff\xff\x3c\x00\x00\x00192.0.2.30:40001\x00")),
		one("first rule request", "rule_request", certain, control(4, "\x00")),
		one("rule request", "rule_request", certain, control(4, "fraglimit\x00")),
		one("rule reply", "rule_reply", certain, control(0x85, "fraglimit\x0030\x00")),
		one("secret rule", "rule_reply", certain, control(0x85, "sv_password\x00k33p0ut\x00")),
		one("end of rules", "rule_reply", certain, control(0x85, "")),
		one("rcon", "rcon_request", certain, control(5, "s3cret\x00status\x00")),
		one("rcon with another password", "rcon_request", certain, control(5, "s3cret\x00rcon_password 0ther\x00")),
		one("rcon reply", "rcon_reply", certain, control(0x86, "map: start\n\x00")),
		one("rcon reply with a password", "rcon_reply", certain, control(0x86, "\"rcon_password\" is \"s3cret\"\n\x00")),
		one("long rcon reply", "rcon_reply", likely, control(0x86, "host: a server\nversion: 1.0\nmap: start\nplayers: 1 of 8\n#1 a player\n\x00")),
		sound(one("padded", "player_request", possible, control(3, "\x02")+"\x00\x00", "netquake.length", "trailing"), 6), // the padding alone
		one("rcon cut in the password", "rcon_request", likely, control(5, "s3cret\x00status\x00")[:8], "netquake.length", "malformed"),
		one("unknown", "unknown", dissect.No, control(0x87, "x"), "malformed"),
	}
}

// sound adds lengths at which a sample may end.
func sound(s dissecttest.Sample, n ...int) dissecttest.Sample {
	s.Sound = n
	return s
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
