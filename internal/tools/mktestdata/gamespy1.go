package main

import (
	"fmt"
	"strings"
	"time"
)

// gs1 writes a message with / for each backslash; // stands for two.
func gs1(text string) string { return strings.ReplaceAll(text, "/", `\`) }

// gs1Soldiers are players as Battlefield 1942 lists them: the columns by name,
// blanks that belong to names.
func gs1Soldiers(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "/deaths_%d/%d/keyhash_%d/%032x/kills_%d/%d/ping_%d/%d/playername_%d/Soldier %c /score_%d/%d/team_%d/%d",
			i, i%5, i, i*7919+1, i, i*3%11, i, 30+i*17%140, i, 'A'+i%26, i, i*5%23, i, 1+i%2)
	}
	return b.String()
}

// gamespy1Games plays what differs from game to game.
func gamespy1Games(s *stage) {
	// Unreal Tournament: final behind queryid, padded pings, a part for every
	// few players, and teams whose keys look like those of players.
	s.between("192.0.2.20:51000", "198.51.100.10:7778")
	s.ask(gs1("/status/xserverquery"))
	s.answer(gs1("/gamename/ut/gamever/451/minnetver/432/location/0/hostname/Caf\xe9 \xb1\xa0CTF/hostport/7777/maptitle/Facing Worlds/mapname/CTF-Face/gametype/CTFGame/numplayers/3/maxplayers/16/gamemode/openplaying" +
		"/timelimit/20/password/False/AdminName//queryid/20.1"))
	s.answer(gs1("/player_0/Anna/frags_0/12/ping_0/ 111/team_0/0/mesh_0/Female Soldier/skin_0/SGirlSkins.fwar/face_0/SGirlSkins.Fury/ngsecret_0/true" +
		"/player_1/Bj\xf6rn/frags_1/-1/ping_1/  37/team_1/1/mesh_1/Male Commando/skin_1/CommandoSkins.daco/face_1//ngsecret_1/false/queryid/20.2"))
	s.answer(gs1("/player_2/-=[Cyd]=-/frags_2/0/ping_2/ 277/team_2/255/mesh_2/Spectator/skin_2/None/face_2//ngsecret_2/true" +
		"/team_0/Red/score_0/3/size_0/1/team_1/Blue/score_1/1/size_1/1/queryid/20.3/final/"))
	// Its browser asks for properties in one breath, and echo is turned off.
	s.ask(gs1("/basic//echo/hello//level_property/Author//game_property/NumBots//player_property/Health/"))
	s.answer(gs1("/gamename/ut/gamever/451/minnetver/432/location/0/echo_replay/hello/Author/Somebody/NumBots/2/Health_1/100/Health_2/35/queryid/21.1/final/"))
	s.ask(gs1("/teams/"))
	s.answer(gs1("/team_0/Red/score_0/3/size_0/1/team_1/Blue/score_1/1/size_1/1/queryid/22.1/final/"))
	// Battlefield 1942: keys twice among the rules, score beside kills, one
	// player in two datagrams, teams counted from 0.
	s.between("192.0.2.20:51001", "198.51.100.11:23000")
	s.ask(gs1("/status/"))
	s.answer(gs1("/gamename/bfield1942/gamever/v1.61/content_check/0/dedicated/1/gameId/xpack2/gamemode/openplaying/gametype/conquest/hostname/Desert only/hostport/14567/mapname/el_alamein/maxplayers/64/numplayers/20/password/0/tickets1/188/tickets2/204/unpure_mods//version/v1.61" +
		"/content_check/0/number_of_rounds/2/unpure_mods//queryid/32.1"))
	soldiers := gs1Soldiers(0, 20)
	half := strings.Index(soldiers, "/score_9")
	s.answer(gs1(soldiers[:half] + "/queryid/32.2"))
	s.answer(gs1(soldiers[half:] + "/teamname_0/axis/teamname_1/allied/final//queryid/32.3"))
	// Medal of Honor: the end comes in a datagram of its own.
	s.between("192.0.2.20:51002", "198.51.100.12:12300")
	s.ask(gs1("/status/"))
	s.answer(gs1("/gamename/mohaa/gamever/1.11/location/1/hostname/A server/mapname/dm_mohdm4/gametype/Team-Match/numplayers/1/maxplayers/32/player_3/Dan/frags_3/7/deaths_3/2/ping_3/64/queryid/4396.1"))
	s.answer(gs1("/final//queryid/4396.2"))
	// IL-2 Sturmovik: scores of teams by keys of their own.
	s.between("192.0.2.20:51003", "198.51.100.13:21000")
	s.ask(gs1("/players/"))
	s.answer(gs1("/player_0/Eva/score_0/1200/ping_0/88/team_0/1/player_1/Fay/score_1/-50/ping_1/140/team_1/2/team_t1/Red/score_t1/1500/team_t2/Blue/score_t2/300/final//queryid/3.1"))
	// Descent 3: a zero byte, and no value behind final.
	s.between("192.0.2.20:51004", "198.51.100.14:20142")
	s.ask(gs1("/basic//info/"))
	s.answer(gs1("/gamename/descent3/gamever/Retail 1.4.0.0/location/1/hostname/Bedlam/hostport/2092/mapname/bedlam.mn3/gametype/Anarchy/numplayers/0/maxplayers/8/gamemode/openplaying/final/queryid/1.1\x00"))
	// A column for all players, then the next one; columns nobody knows.
	s.between("192.0.2.20:51005", "198.51.100.15:2303")
	s.ask(gs1("/players/"))
	s.answer(gs1("/player_0/Gus/player_1/Hal/player_2/Ida/score_0/5/score_1/0/score_2/-2/rank_0/Major/rank_1/Private/rank_2/Private/medals_0/3/medals_1/0/medals_2/1/final//queryid/8.1"))
	// What a server tells its master, and what the master wants to know.
	s.between("198.51.100.10:7778", "203.0.113.1:27900")
	s.ask(gs1("/heartbeat/7778/gamename/ut"))
	s.answer(gs1("/secure/wookie"))
	s.ask(gs1("/validate/2OTYFMRc/final//queryid/23.1"))
	s.answer(gs1("/basic//secure/TXKOAT"))
	s.ask(gs1("/gamename/ut/gamever/451/location/0/validate/0pN7tKzL/queryid/24.1/final/"))
	s.ask(gs1("/heartbeat/12300/gamename/mohaa/statechanged/"))
	s.ask(gs1("/heartbeat/12300/gamename/mohaa/statechanged/2\x00"))
}

// gamespy1Trouble plays what goes wrong.
func gamespy1Trouble(s *stage) {
	const info = "/gamename/bfield1942/gamever/v1.61/hostname/A server/mapname/berlin/numplayers/3/maxplayers/16"
	// A datagram in the middle is lost; then the last one.
	s.between("192.0.2.20:51000", "198.51.100.10:23000")
	s.ask(gs1("/status/"))
	s.answer(gs1(info + "/queryid/5.1"))
	s.answer(gs1(gs1Soldiers(2, 3) + "/final//queryid/5.3"))
	s.between("192.0.2.20:51001", "198.51.100.11:23000")
	s.ask(gs1("/status/"))
	s.answer(gs1(info + "/queryid/6.1"))
	s.answer(gs1(gs1Soldiers(0, 2) + "/queryid/6.2"))
	// The client asks again, and the server's count has the same number.
	s.wait(2 * time.Second)
	s.ask(gs1("/status/"))
	s.answer(gs1(info + "/queryid/6.1"))
	s.answer(gs1(gs1Soldiers(0, 3) + "/final//queryid/6.2"))
	// The network turns datagrams round, sends one twice, and one is forged.
	s.between("192.0.2.20:51002", "198.51.100.12:23000")
	s.ask(gs1("/status/"))
	s.answer(gs1(gs1Soldiers(0, 3) + "/final//queryid/7.2"))
	s.answer(gs1(gs1Soldiers(0, 3) + "/final//queryid/7.2"))
	s.answer(gs1("/playername_0/Nobody/final//queryid/7.2"))
	s.answer(gs1(info + "/queryid/7.1"))
	// Lists that lie: players who have left, one listed twice, one cut off
	// from its name, more announced than listed.
	s.between("192.0.2.20:51003", "198.51.100.13:23000")
	s.ask(gs1("/status/"))
	s.answer(gs1(info + gs1Soldiers(0, 5) + "/final//queryid/8.1"))
	s.ask(gs1("/players/"))
	s.answer(gs1(gs1Soldiers(0, 2) + strings.ReplaceAll(gs1Soldiers(0, 1), "_0/", "_2/") + "/score_9/4/final//queryid/9.1"))
	s.ask(gs1("/status/"))
	s.answer(gs1(strings.Replace(info, "numplayers/3", "numplayers/9", 1) + gs1Soldiers(0, 3) + "/frags_0/1/frags_0/2/final//queryid/10.1"))
	// Names that look like keys.
	s.between("192.0.2.20:51004", "198.51.100.14:23000")
	s.ask(gs1("/players/"))
	s.answer(gs1("/player_0/A/B/frags_0/1/player_1/C//frags_1/2/player_2/final/frags_2/3/final//queryid/11.1"))
	s.ask(gs1("/info/"))
	s.answer(gs1("/hostname/=(A/B)=/mapname/x/numplayers/0/final//queryid/12.1"))
	// Servers that number nothing, or half of it; one cuts its last key.
	s.between("192.0.2.20:51005", "198.51.100.15:23000")
	s.ask(gs1("/info/"))
	s.answer(gs1("/hostname/No numbers/mapname/x/numplayers/0/final/"))
	s.ask(gs1("/status/"))
	s.answer(gs1("/gamename/x/hostname/No numbers/mapname/x/numplayers/1"))
	s.answer(gs1("/player_0/Anna/frags_0/3/final/"))
	s.ask(gs1("/status/"))
	s.answer(gs1("/gamename/x/hostname/Half of them/mapname/x/numplayers/1/queryid/13"))
	s.answer(gs1("/player_0/Anna/frags_0/3/final//queryid/13"))
	s.ask(gs1("/rules/"))
	s.answer(gs1("/timelimit/20/fraglim/queryid/14.1/final/"))
	// Requests that servers with the code of GameSpy do not understand, and
	// their answer to anything.
	s.between("192.0.2.20:51006", "198.51.100.16:12300")
	s.ask(gs1("/status"))
	s.answer(gs1("/final//queryid/15.1"))
	s.ask(gs1("/infos//players/"))
	s.answer(gs1("/player_0/Anna/frags_0/3/final//queryid/16.1"))
	s.between("192.0.2.20:51016", "198.51.100.16:12300")
	s.ask(infoAsk)
	s.answer(gs1("/final//queryid/17.1"))
	// One request, two replies; a reply nobody asked for; no reply.
	s.between("192.0.2.20:51007", "198.51.100.17:7778")
	s.ask(gs1("/info//players/"))
	s.answer(gs1("/hostname/One by one/mapname/x/numplayers/1/queryid/18.1/final/"))
	s.answer(gs1("/player_0/Anna/frags_0/3/queryid/19.1/final/"))
	s.wait(20 * time.Second)
	s.answer(gs1("/hostname/Late/mapname/x/queryid/20.1/final/"))
	s.between("192.0.2.20:51008", "198.51.100.17:7777")
	s.ask(gs1("/status/"))
	s.wait(time.Second)
	s.ask(gs1("/status/"))
}

// gamespy1Swat4 plays what modifications of SWAT 4 do: they number datagrams in
// ways of their own.
func gamespy1Swat4(s *stage) {
	const facts = "/hostname/[c=FFCC00]A tactical server/numplayers/3/maxplayers/16/gametype/VIP Escort/gamevariant/SWAT 4/mapname/Qwik Fuel Convenience Store/hostport/10480/password/0/gamever/1.1"
	admin := [...]string{
		"/statusresponse/0" + facts + "/statsenabled/0/swatwon/2/suspectswon/1/round/4/numrounds/5/player_0/Kilo/player_1/Lima/player_2/eof/",
		"/statusresponse/1/Mike/score_0/12/score_1/-3/score_2/0/ping_0/48/ping_1/131/ping_2/77/team_0/eof/",
		"/statusresponse/2/0/team_1/1/team_2/0/kills_0/9/deaths_1/4/arrests_0/1/queryid/AMv1/final//eof/",
	}
	// AdminMod: pairs are cut between datagrams. In order, then the last first
	// with a copy, then one lost, then the last lost.
	s.between("192.0.2.20:51000", "198.51.100.10:10481")
	s.ask(gs1("/status/"))
	for _, i := range []int{0, 1, 2} {
		s.answer(gs1(admin[i]))
	}
	s.wait(time.Second)
	s.ask(gs1("/status/"))
	for _, i := range []int{2, 1, 1, 0} {
		s.answer(gs1(strings.Replace(admin[i], "/score_0/12", "/score_0/13", 1)))
	}
	s.between("192.0.2.20:51001", "198.51.100.10:10481")
	s.ask(gs1("/status/"))
	s.answer(gs1(admin[0]))
	s.answer(gs1(admin[2]))
	s.between("192.0.2.20:51002", "198.51.100.10:10481")
	s.ask(gs1("/status/"))
	s.answer(gs1(admin[0]))
	s.answer(gs1(admin[1]))
	// AdminMod with nobody there; a later one that ends as the others do.
	s.between("192.0.2.20:51003", "198.51.100.11:10481")
	s.ask(gs1("/status/"))
	s.answer(gs1("/statusresponse/0" + strings.Replace(facts, "players/3", "players/0", 1) + "/queryid/AMv1/final//eof/"))
	s.between("192.0.2.20:51004", "198.51.100.12:10481")
	s.ask(gs1("/status/"))
	s.answer(gs1("/statusresponse/0" + facts + "/player_0/Kilo/player_1/Lima/player_2/queryid/0"))
	s.answer(gs1("/statusresponse/1/Mike/score_0/12/score_1/-3/score_2/0/queryid/1/final/"))
	// GS1: whole pairs, and the number of the datagram alone in queryid.
	s.between("192.0.2.20:51005", "198.51.100.13:10481")
	gs1Mod := [...]string{
		strings.Replace(facts, "password/0", "password/false", 1) + "/round/1/numrounds/1/timeleft/316/obj_Rescue_All_Hostages/0/player_0/Kilo/score_0/12/queryid/1",
		"/ping_0/48/team_0/0/player_1/Lima/score_1/-3/ping_1/131/team_1/1/queryid/2",
		"/player_2/Mike/score_2/0/ping_2/999/team_2/0/vip_2/1/queryid/3/final/",
	}
	s.ask(gs1("/status/"))
	for _, i := range []int{0, 1, 2} {
		s.answer(gs1(gs1Mod[i]))
	}
	s.wait(time.Second)
	s.ask(gs1("/status/"))
	for _, i := range []int{1, 0, 2} {
		s.answer(gs1(strings.Replace(gs1Mod[i], "/timeleft/316", "/timeleft/315", 1)))
	}
	s.between("192.0.2.20:51006", "198.51.100.13:10481")
	s.ask(gs1("/status/"))
	s.answer(gs1(gs1Mod[0]))
	s.answer(gs1(gs1Mod[2]))
	// In one datagram; and the server as it was delivered.
	s.between("192.0.2.20:51007", "198.51.100.13:10481")
	s.ask(gs1("/status/"))
	s.answer(gs1(strings.Replace(facts, "players/3", "players/0", 1) + "/queryid/1/final/"))
	s.between("192.0.2.20:51008", "198.51.100.14:10481")
	s.ask(gs1("/status/"))
	s.answer(gs1(facts + "/player_0/Kilo/player_1/Lima/player_2/Mike(VIEW)/score_0/12/score_1/-3/score_2/0/ping_0/48/ping_1/131/ping_2/77/final//queryid/1.1"))
	// AdminMod cuts inside of a name and inside of a key.
	s.between("192.0.2.20:51009", "198.51.100.10:10481")
	s.ask(gs1("/status/"))
	s.answer(gs1("/statusresponse/0" + facts + "/player_0/Kilo/player_1/Li/eof/"))
	s.answer(gs1("/statusresponse/1ma/player_2/Mike/score_0/12/sco/eof/"))
	s.answer(gs1("/statusresponse/2re_1/-3/score_2/0/queryid/AMv1/final//eof/"))
}
