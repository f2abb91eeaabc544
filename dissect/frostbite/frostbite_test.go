package frostbite

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
)

// packet makes a packet of words, which have commas between them.
func packet(header uint32, words string) string {
	list := strings.Split(words, ",")
	b := binary.LittleEndian.AppendUint32(nil, header)
	b = binary.LittleEndian.AppendUint32(b, uint32(lenHeader+len(words)+1+4*len(list)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(list)))
	for _, w := range list {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(w))), w...)
		b = append(b, 0)
	}
	return string(b)
}

func samples() []dissecttest.Sample {
	one := dissecttest.One
	const likely, reply, server = dissect.Likely, 1 << 30, 1 << 31
	bf3 := "OK,A server,12,64,ConquestLarge0,MP_007,0,2,2,224,191,0,,true,true,false,5148,622"
	fewer := packet(reply|7, "OK,a,b")
	fewer = fewer[:8] + "\x04" + fewer[9:]
	odd := packet(reply|7, "OK,3,name,two words,name,1,Alice,5,again")
	long := one("wrong size", "command_reply", likely, packet(reply, "OK")+"x", "frostbite.size", "trailing")
	long.Sound = []int{len(long.Parts[0]) - 1} // the packet as it says that it is
	return []dissecttest.Sample{
		one("serverInfo", "command_request", likely, packet(0x21000000, "serverInfo")),
		one("login", "command_request", likely, packet(3, "login.plainText,s3cret")),
		one("a password", "command_request", likely, packet(3, "vars.gamePassword,s3cret")),
		one("a command", "command_request", likely, packet(3, "admin.say,hello,all")),
		one("info", "info_reply", likely, packet(reply, bf3+",198.51.100.40:25200,v1.905,true,EU,ams,NL,true")),
		one("info of the first servers", "info_reply", likely, packet(reply, bf3)),
		one("info of Bad Company 2", "info_reply", likely, packet(reply, bf3+",BC2,1,198.51.100.40:19567,v1.826,false,EU")),
		one("info with words that nobody knows", "info_reply", likely, packet(reply, bf3+",198.51.100.40:25200,v1.905,true,EU,ams,NL,true,12,IN_GAME")),
		one("version", "version_reply", likely, packet(reply|1, "OK,BF3,1149977")),
		one("players", "players_reply", likely, packet(reply|2, "OK,10,name,guid,teamId,squadId,kills,deaths,score,rank,ping,level,2,Alice,,1,0,3,1,420,12,31,0,Bob_77,EA_0123456789ABCDEF,2,3,0,2,80,4,55,0")),
		one("players of Bad Company 2", "players_reply", likely, packet(reply|2, "OK,4,clanTag,name,score,type,1,QD,Carol,7,0")),
		one("odd columns", "players_reply", likely, odd),
		one("OK", "command_reply", likely, packet(reply|4, "OK")),
		one("words", "command_reply", likely, packet(reply|4, "OK,s3cret")),
		one("refused", "command_reply", likely, packet(reply|5, "LogInRequired"), "frostbite.refused"),
		one("event", "event", likely, packet(server|6, "player.onChat,Alice,hi,all")),
		one("its reply", "event_ack", likely, packet(server|reply|6, "OK")),
		one("fewer words", "command_reply", dissect.No, fewer, "frostbite.words"),
		long,
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples()) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples()) }
