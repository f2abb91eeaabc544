package battleye

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

// pack returns a packet with its header.
func pack(body string) string {
	body = "\xff" + body
	return string(binary.LittleEndian.AppendUint32([]byte(magic), crc32.ChecksumIEEE([]byte(body)))) + body
}

const (
	players = "Players on server:\n[#] [IP Address]:[Port] [Ping] [GUID] [Name]\n"
	listed  = "0   192.0.2.30:2304   31   0123456789abcdef0123456789abcdef(OK) Alice\n(1 players in total)"
)

func samples() []dissecttest.Sample {
	one := dissecttest.One
	const certain, likely, possible = dissect.Certain, dissect.Likely, dissect.Possible
	return []dissecttest.Sample{
		one("login", "login_request", certain, pack("\x00s3cret")),
		one("login without a password", "login_request", certain, pack("\x00")),
		one("login with a wrong sum", "login_request", possible, "BE\x12\x34\x56\x78\xff\x00s3cret", "battleye.crc"),
		one("accepted", "login_reply", certain, pack("\x00\x01")),
		one("refused", "login_reply", certain, pack("\x00\x00"), "battleye.login.refused"),
		one("command", "command_request", certain, pack("\x01\x00players")),
		one("new password", "command_request", certain, pack("\x01\x07RConPassword n3w")),
		one("keep alive", "keep_alive", certain, pack("\x01\xff")),
		one("reply", "command_reply", certain, pack("\x01\x00a\nb")),
		one("reply with a password", "command_reply", certain, pack("\x01\x00\"RConPassword\" is:\"s3cret\"\n")),
		one("long reply", "command_reply", likely, pack("\x01\x00"+players)),
		one("message", "server_message", certain, pack("\x02\x05RCon admin #0 logged in")),
		one("long message", "server_message", likely, pack("\x02\x06(Global) Alice: text that is long enough not to be seen whole by Detect")),
		one("acknowledgement", "acknowledgement", certain, pack("\x02\x05")),
		one("part alone", "command_reply", likely, pack("\x01\x03\x00\x02\x01"+listed), "battleye.part.missing"),
		{
			Name: "reply in parts", Message: "command_reply", Verdict: likely,
			Parts: [][]byte{[]byte(pack("\x01\x03\x00\x02\x00" + players)), []byte(pack("\x01\x03\x00\x02\x01" + listed))},
		},
		one("unknown", "unknown", dissect.No, pack("\x03x"), "malformed"),
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
