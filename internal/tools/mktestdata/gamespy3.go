package main

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// gs3 writes text with / for each zero byte.
func gs3(text string) string { return strings.ReplaceAll(text, "/", "\x00") }

// gs3Part writes a part of a reply.
func gs3Part(session string, number byte, text string) string {
	return "\x00" + session + "splitnum\x00" + string([]byte{number}) + gs3(text)
}

const (
	gs3Handshake = "\xfe\xfd\x09\x10\x20\x30\x40"
	gs3Bare      = "\xfe\xfd\x00\x10\x20\x30\x40\xff\xff\xff\x01"
	battlefield  = "\x00hostname/A Battlefield server/gamename/battlefield2/gamever/1.5.3153-802.0/mapname/Strike at Karkand/gametype/gpm_cq/gamevariant/bf2/numplayers/6/maxplayers/64/" +
		"gamemode/openplaying/password/0/timelimit/0/roundtime/3/hostport/16567/bf2_dedicated/1/bf2_ranked/0/bf2_team1/MEC/bf2_team2/US/"
)

// shake plays a handshake and returns the query with the challenge.
func (s *stage) shake(challenge int32, last string) string {
	s.ask("\xfe\xfd\x09" + qstatID)
	s.answer("\x09" + qstatID + strconv.Itoa(int(challenge)) + "\x00")
	return "\xfe\xfd\x00" + qstatID + string(binary.BigEndian.AppendUint32(nil, uint32(challenge))) + last
}

// gamespy3Games plays what differs from game to game.
func gamespy3Games(s *stage) {
	// Battlefield 2: no challenge, three parts, values and a name of a column
	// cut at their ends, a blank in front of names.
	s.between("192.0.2.20:51000", "198.51.100.10:29900")
	s.ask(gs3Bare)
	s.answer(gs3Part(qstatID, 0, battlefield+"bf2_sponsorlogo_url//bf2_communitylogo_url/example.org//"+"\x01player_// Alice/=X= B/"))
	s.answer(gs3Part(qstatID, 1, "\x01player_/\x01=X= Bob/ Carl/Dan/ Eve/Fred//"+"score_//12/7/0/-2/44/1//"+"ping_//31/100/25/9/8/77//"+"tea/"))
	s.answer(gs3Part(qstatID, 0x82, "\x01team_//1/2/1/2/1/2//"+"deaths_//3/2/1/0/5/9//"+"AIBot_//0/0/0/0/1/1//"+"/"+"\x02team_t//MEC/US//"+"score_t//30/41//"+"//"))
	// The same asks for a challenge: none is wanted.
	s.ask("\xfe\xfd\x09\x00\x00\x00\x01\x00\x00\x00\x00")
	s.answer("\x09\x00\x00\x00\x010\x00")
	s.ask("\xfe\xfd\x00\x00\x00\x00\x01\xff\xff\xff\x01")
	s.answer(gs3Part("\x00\x00\x00\x01", 0, "\x00hostname/A Battlefield server/numplayers/0/bf2_sponsortext/"+strings.Repeat("Lorem ipsum ", 20)+"/bf2_sponsorlogo/"))
	s.answer(gs3Part("\x00\x00\x00\x01", 0x81, "\x00bf2_sponsorlogo_url//bf2_d_dl/example.org//"+"\x01player_////"+"\x02team_t//MEC/US///"))
	// Unreal Tournament 3: properties by number, one without its value, two
	// zero bytes more behind every column, a column with an empty value.
	s.between("192.0.2.20:51001", "198.51.100.11:6500")
	query := s.shake(0x0a01ff7e, "\xff\xff\xff\x01")
	s.ask(query)
	s.answer(gs3Part(qstatID, 0x80, "\x00hostname/.::. Deathmatch .::./hostport/7777/numplayers/1/maxplayers/12/gamemode/openplaying/mapname/OwningPlayerId=830,NumPublicConnections=12/"+
		"OwningPlayerId/830/NumPublicConnections/12/bUsesStats/True/bIsDedicated/True/EngineVersion/3810/s32779/0/s0/2/s1/0/s6/1/s7/0/s8/0/s10/0/"+
		"p1073741825/DM-Deck/p1073741826/UTGame.UTDeathmatch/p1073741827//p268435703/2/p268435704/50/p268435705/17/p268435717/0/"+
		"p1073741828/\x1cNo Tags Mutator\x1cFreeFOV\x1c/p268435706/12/p268435968/p268435969/0//"+
		"\x01player_//Sierra Vasquez////"+"score_//0////"+"ping_//96////"+"team_/////"+"deaths_//1////"+"pid_//289////"+"/"+"\x02//"+"/"))
	// Crysis: empty lists.
	s.between("192.0.2.20:51002", "198.51.100.12:64087")
	query = s.shake(-1591017602, "\xff\xff\xff\x01")
	s.ask(query)
	s.answer(gs3Part(qstatID, 0x80, "\x00hostname/A Crysis server/gamever/1.1.1.6156/mapname/Mesa/gametype/PowerStruggle/numplayers/0/maxplayers/32/password/1/timeleft/-//"+"\x01/"+"\x02/"))
	// ArmA 2: the column of teams holds nothing but zero bytes.
	s.between("192.0.2.20:51003", "198.51.100.13:2302")
	query = s.shake(432668599, "\xff\xff\xff\x01")
	s.ask(query)
	s.answer(gs3Part(qstatID, 0x80, "\x00gamever/1.62.95248/hostname/An ArmA 2 server/mapname/chernarus/gametype/COOP/numplayers/3/maxplayers/40/gamename/arma2oapc//"+
		"\x01player_//Alpha/Bravo/Charlie//"+"team_/"+"/"+"///"+"/"+"score_//5/0/12//"+"deaths_//1/0/3//"+"/"+"\x02/"))
	// Just Cause 2: a list of its own.
	s.between("192.0.2.20:51004", "198.51.100.14:7777")
	query = s.shake(1234567890, "\xff\xff\xff\x02")
	s.ask(query)
	s.answer(gs3Part(qstatID, 0, "\x00description/Freeroam/hostname/A Just Cause server/maxplayers/400/numplayers/2/password/False/version/948//") +
		"\x00\x02" + gs3("Moonman/STEAM_0:0:55435815/") + "\x00\x27" + gs3("R\xc3\xb6sa/STEAM_0:0:147894155/") + "\x00\xe8")
	// The SDK without parts, and asked for single keys.
	s.between("192.0.2.20:51005", "198.51.100.15:11111")
	query = s.shake(77, "\xff\xff\xff")
	s.ask(query)
	s.answer("\x00" + qstatID + gs3("hostname/An SDK server/gamever/2.00/hostport/25000/mapname/gmtmap1/gametype/arena/numplayers/1/maxplayers/32//"+
		"/\x01player_/score_/ping_//Joe Player/9/181/"+"/\x02team_t/score_t//Red/327/Blue/424/"))
	query = s.shake(78, "\x06\x01\x06\x05\x08\x0a\x04\x00\x00")
	s.ask(query)
	s.answer("\x00" + qstatID + gs3("An SDK server/arena/gmtmap1/1/32/25000/"))
	// A port that nobody knows: what comes back tells which of the two it is.
	s.between("192.0.2.20:51006", "198.51.100.16:4321")
	query = s.shake(4711, "\xff\xff\xff\x01")
	s.ask(query)
	s.answer(gs3Part(qstatID, 0x80, "\x00hostname/A server that has a very long name so that no key is near/gamever/1.0/mapname/somewhere//"+"\x01player_////"+"\x02team_t////"))
}

// gamespy3Master plays what a server says to the master server, and the other
// way round.
func gamespy3Master(s *stage) {
	const key = "\x1a\x2b\x3c\x4d"
	s.between("198.51.100.10:29900", "203.0.113.5:27900")
	s.ask("\x09\x00\x00\x00\x00" + gs3("battlefield2/"))
	s.answer("\xfe\xfd\x09\x00\x00\x00\x00\x00\x00\x00\x00")
	s.ask("\x03" + key + gs3("localip0/192.0.2.10/localport/29900/natneg/1/statechanged/3/gamename/battlefield2/hostname/A server/gamever/1.5/numplayers/1//"+
		"/\x01player_/score_//Alice/7/"+"/\x02team_t//MEC/US/"))
	s.answer("\xfe\xfd\x01" + key + "8dJ+2K80C633640A74CC\x00")
	s.ask("\x01" + key + "c2VjcmV0IG9mIHRoZSBnYW1l\x00")
	s.answer("\xfe\xfd\x0a" + key)
	s.wait(20 * time.Second)
	s.ask("\x08" + key)
	s.answer("\xfe\xfd\x08" + key)
	s.answer("\xfe\xfd\x02" + key + "are you there?")
	s.ask("\x05" + key + "are you there?")
	s.answer("\xfe\xfd\x06" + key + "\x00\x00\x00\x07\xfd\xfc\x1e\x66\x6a\xb2\x00\x00\x30\x39")
	s.ask("\x07" + key + "\x00\x00\x00\x07")
	s.wait(10 * time.Second)
	s.ask("\x03" + key + gs3("localport/29900/natneg/1/statechanged/2/gamename/battlefield2//"))
	s.between("198.51.100.11:6500", "203.0.113.5:27900")
	s.ask("\x03\x01\x02\x03\x04" + gs3("localip0/192.0.2.11/localport/6500/natneg/0/gamename/nosuchgame/hostname/A server//"+"//player_//"+"///"))
	s.answer("\xfe\xfd\x04\x01\x02\x03\x04\x03Unknown game\x00")
}

// gamespy3Trouble plays what goes wrong.
func gamespy3Trouble(s *stage) {
	reply := func(session string) []string {
		var names, scores strings.Builder
		for i := range 40 {
			fmt.Fprintf(&names, "Player number %d/", i)
			fmt.Fprintf(&scores, "%d/", i*7)
		}
		n := names.String()
		cut := strings.Index(n, "number 23")
		return []string{
			gs3Part(session, 0, "\x00hostname/A full server/numplayers/40/maxplayers/40//\x01player_//"+n[:cut]+"/"),
			gs3Part(session, 1, "\x01player_/\x17"+n[cut-7:]+"/score_//"+scores.String()+"//"),
			gs3Part(session, 0x82, "\x02team_t//Red/Blue///"),
		}
	}
	play := func(order ...int) {
		for _, i := range order {
			s.answer(reply(qstatID)[i])
		}
	}
	s.between("192.0.2.20:51000", "198.51.100.10:29900")
	s.ask(gs3Bare)
	play(2, 0, 1) // not in order
	s.ask(gs3Bare)
	play(0, 1, 1, 2) // one twice
	s.ask(gs3Bare)
	play(0, 2) // one lost
	s.wait(11 * time.Second)
	s.ask(gs3Bare)
	play(0, 1) // the last one lost
	s.wait(11 * time.Second)
	s.ask(gs3Bare)
	s.answer(reply(qstatID)[0])
	s.answer(strings.Replace(reply(qstatID)[0], "full", "fool", 1)) // one forged
	s.answer(reply(qstatID)[1])
	s.answer(reply(qstatID)[2])
	s.wait(time.Second)
	// Values that came twice and differ; what is no section; a gap; no end.
	s.between("192.0.2.20:51001", "198.51.100.10:29900")
	s.ask(gs3Bare)
	s.answer(gs3Part(qstatID, 0, "\x00hostname/A server/numplayers/2//\x01player_//Alice/Bob/"))
	s.answer(gs3Part(qstatID, 0x81, "\x01player_/\x01Carl//score_//1/2//"+"/"))
	s.ask(gs3Bare)
	s.answer(gs3Part(qstatID, 0x80, "\x00hostname/A server//\x01player_//Alice//"+"/\x07what is this"))
	s.ask(gs3Bare)
	s.answer(gs3Part(qstatID, 0x80, "\x00hostname/A server///gamever/1.0//\x01player_//Alice/Bob"))
	s.ask(gs3Bare)
	s.answer(gs3Part(qstatID, 0x80, "\x00hostname/A server/numplayers/12//\x01player_//Alice///\x02/"))
	// A challenge read in the wrong byte order; the right one, and silence; a
	// challenge of 0 that is sent; one that is no number.
	s.between("192.0.2.21:51000", "198.51.100.11:6500")
	query := s.shake(0x0a0b0c0d, "\xff\xff\xff\x01")
	s.ask(query[:7] + "\x0d\x0c\x0b\x0a" + query[11:])
	s.wait(2 * time.Second)
	s.ask(query)
	s.between("192.0.2.22:51000", "198.51.100.12:29900")
	query = s.shake(0, "\xff\xff\xff\x01")
	s.ask(query)
	s.answer("\x00" + qstatID)
	s.ask(gs3Handshake)
	s.answer("\x09" + qstatID + "what?\x00")
	// Handshakes to a port that nobody knows, and nobody answers.
	s.between("192.0.2.23:51000", "198.51.100.13:4321")
	s.ask(gs3Handshake)
	s.wait(time.Second)
	s.ask(gs3Handshake)
	s.wait(6 * time.Second)
	// Not of this protocol at all.
	s.between("192.0.2.24:51000", "198.51.100.13:7777")
	s.ask("\x16\xfe\xfd\x00\x00\x00\x00\x00\x00\x00\x00\x00\x36\x01\x00")
	s.ask("\x00\x01\x00\x08\x21\x12\xa4\x42\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x00\x03\x00\x04\x00\x00\x00\x00")
	s.ask("\x03\x00\x00\x00\x12\x34\x56\x78" + strings.Repeat("\x99", 24))
}
