package sourcercon

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

func packet(id int32, kind uint32, text string) string {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(text)+10))
	b = binary.LittleEndian.AppendUint32(b, uint32(id))
	b = binary.LittleEndian.AppendUint32(b, kind)
	return string(b) + text + "\x00\x00"
}

func samples() []dissecttest.Sample {
	one := dissecttest.One
	const likely, possible, no = dissect.Likely, dissect.Possible, dissect.No
	list := []dissecttest.Sample{
		one("login", "login_request", likely, packet(1, 3, "s3cret")),
		one("command", "command_request", likely, packet(2, 2, "status")),
		one("refused", "command_request", likely, packet(-1, 2, "")),
		one("reply", "command_reply", likely, packet(2, 0, "hostname: A Server\nversion : 1.0")),
		one("full reply", "command_reply", likely, packet(2, 0, strings.Repeat("There are 3 players. ", 200)[:4096])),
		one("reply with a password", "command_reply", likely, packet(2, 0, "\"sv_password\" = \"s3cret\"\n")),
		one("end of Source", "command_reply", likely, packet(3, 0, endOfSource)),
		one("end mark", "end_request", likely, packet(3, 0, "")),
		one("end mark of Minecraft", "end_request", possible, packet(4, 100, "x")),
		one("wrong size", "command_reply", no, packet(5, 0, "abc")+"d", "rcon.size", "rcon.end"),
		one("one zero byte", "command_reply", no, "\x0c\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00abc\x00", "rcon.end"),
	}
	for i := range list {
		if list[i].Name == "wrong size" {
			list[i].Sound = []int{len(list[i].Parts[0]) - 1} // the packet as it says that it is
		}
	}
	return list
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
