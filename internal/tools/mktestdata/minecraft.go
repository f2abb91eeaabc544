package main

import (
	"encoding/binary"
	"strings"
	"time"
)

// mcStat writes the request for a stat.
func mcStat(session string, token uint32, padding string) string {
	return "\xfe\xfd\x00" + session + string(binary.BigEndian.AppendUint32(nil, token)) + padding
}

// mcFull writes a full stat, with / for each zero byte.
func mcFull(session, settings, players string) string {
	return "\x00" + session + "splitnum\x00\x80\x00" + gs3(settings+"/") + "\x01player_\x00\x00" + gs3(players+"/")
}

const (
	mcSession = "\x00\x00\x00\x01"
	mcToken   = 9513307
	mcKeys    = "gametype/SMP/game_id/MINECRAFT/version/1.21.4/plugins//map/world/numplayers/2/maxplayers/20/hostport/25565/hostip/172.18.0.2/"
	mcNames   = "barneygale/Vivalahelvig/"
)

func (s *stage) mcShake(session, token string) {
	s.ask("\xfe\xfd\x09" + session)
	s.answer("\x09" + session + token + "\x00")
}

// minecraftDocuments plays the dumps of "Query".
func minecraftDocuments(s *stage) {
	s.between("192.0.2.20:51000", "198.51.100.10:25565")
	s.ask(unhex("FE FD 09 00 00 00 01"))
	s.answer(unhex("09 00 00 00 01 39 35 31 33 33 30 37 00"))
	// The token of the document's requests is not the one of its handshake.
	s.ask(unhex("FE FD 00 00 00 00 01 00 3A 0D 5F"))
	s.answer(unhex(`00 00 00 00 01 41 20 4D 69 6E 65 63 72 61 66 74 20 53 65 72 76 65 72 00 53 4D 50 00 77 6F 72 6C 64 00 32 00 32 30 00
		DD 63 31 32 37 2E 30 2E 30 2E 31 00`))
	s.ask(unhex("FE FD 00 00 00 00 01 00 3A 0D 5F 00 00 00 00"))
	s.answer(unhex(`00 00 00 00 01 73 70 6C 69 74 6E 75 6D 00 80 00 68 6F 73 74 6E 61 6D 65 00 41 20 4D 69 6E 65 63 72 61 66 74 20 53 65 72 76 65 72 00
		67 61 6D 65 74 79 70 65 00 53 4D 50 00 67 61 6D 65 5F 69 64 00 4D 49 4E 45 43 52 41 46 54 00 76 65 72 73 69 6F 6E 00
		42 65 74 61 20 31 2E 39 20 50 72 65 72 65 6C 65 61 73 65 20 34 00 70 6C 75 67 69 6E 73 00 00 6D 61 70 00 77 6F 72 6C 64 00
		6E 75 6D 70 6C 61 79 65 72 73 00 32 00 6D 61 78 70 6C 61 79 65 72 73 00 32 30 00 68 6F 73 74 70 6F 72 74 00 32 35 35 36 35 00
		68 6F 73 74 6E 61 6D 65 00 31 32 37 2E 30 2E 30 2E 31 00 00 01 70 6C 61 79 65 72 5F 00 00
		62 61 72 6E 65 79 67 61 6C 65 00 56 69 76 61 6C 61 68 65 6C 76 69 67 00 00`))
}

// minecraftServers plays what differs from server to server.
func minecraftServers(s *stage) {
	// Paper, with plugins and colours; asked again after a second it sends
	// what it has kept.
	s.between("192.0.2.20:51000", "198.51.100.10:25565")
	s.mcShake(mcSession, "9513307")
	paper := strings.Replace("hostname/\xc2\xa7aA \xc2\xa7lgreen\xc2\xa7r server/"+mcKeys, "plugins//", "plugins/Paper on 1.21.4-R0.1-SNAPSHOT: WorldEdit 7.3.9; Essentials 2.21.0; dynmap 3.7/", 1)
	s.ask(mcStat(mcSession, mcToken, "\x00\x00\x00\x00"))
	s.answer(mcFull(mcSession, paper, mcNames))
	s.wait(time.Second)
	s.ask(mcStat(mcSession, mcToken, "\x00\x00\x00\x00"))
	s.answer(mcFull(mcSession, paper, mcNames))
	s.ask(mcStat(mcSession, mcToken, ""))
	s.answer("\x00" + mcSession + gs3("\xc2\xa7aA \xc2\xa7lgreen\xc2\xa7r server/SMP/world/2/20/") + "\xdd\x63" + gs3("172.18.0.2/"))
	// An old server: the lower byte of each character, which is Latin-1, a
	// zero byte for some.
	s.between("192.0.2.20:51001", "198.51.100.11:25565")
	s.mcShake(mcSession, "9513307")
	s.ask(mcStat(mcSession, mcToken, "\x00\x00\x00\x00"))
	s.answer(mcFull(mcSession, "hostname/\xa7bCaf\xe9 /*K\xd5/"+mcKeys, mcNames))
	s.ask(mcStat(mcSession, mcToken, ""))
	s.answer("\x00" + mcSession + gs3("\xa7bCaf\xe9 /*K\xd5/SMP/world/2/20/") + "\xdd\x63" + gs3("172.18.0.2/"))
	// PocketMine: negative tokens, keys of its own, a network's players.
	s.between("192.0.2.20:51002", "198.51.100.12:19132")
	s.mcShake(qstatID, "-1079383103")
	s.ask(mcStat(qstatID, 0xbfa9ebc1, "\xff\xff\xff\x01"))
	s.answer(mcFull(qstatID, "hostname/Welcome to a network/gametype/SMP/game_id/MINECRAFTPE/version/v1.2.8/server_engine/PocketMine-MP 1.7dev/"+
		"plugins/PocketMine-MP 1.7dev: DevTools 1.12.6; VoteReward 3/map/hub2/numplayers/91/maxplayers/525/whitelist/off/hostip/0.0.0.0/hostport/19132/", "ste211/"))
	// Geyser: its name instead of splitnum, another order.
	s.between("192.0.2.20:51003", "198.51.100.13:19132")
	s.mcShake(mcSession, "123456")
	s.ask(mcStat(mcSession, 123456, "\x00\x00\x00\x00"))
	s.answer(strings.Replace(mcFull(mcSession, "hostname/Geyser/hostip/1.1.1.1/plugins//numplayers/0/gametype/SMP/maxplayers/100/hostport/19132/version/Geyser (git-master) 1.18.10/map/Geyser/game_id/MINECRAFT/", ""),
		"splitnum", "GeyserMC", 1))
	// A port that nobody knows, and clients of GameSpy's protocol: only the
	// keys tell what it is, far behind a long name.
	s.between("192.0.2.20:51004", "198.51.100.14:30001")
	s.mcShake(qstatID, "4711")
	s.ask(mcStat(qstatID, 4711, "\xff\xff\xff\x01"))
	s.answer(mcFull(qstatID, "hostname/A message of the day that is longer than a detector may look/"+mcKeys, mcNames))
	s.between("192.0.2.20:51005", "198.51.100.14:30001")
	s.mcShake(qstatID, "4712")
	s.ask(mcStat(qstatID, 4712, ""))
	s.answer("\x00" + qstatID + gs3("A message of the day/SMP/world/2/20/") + "\x31\x75" + gs3("172.18.0.2/"))
}

// minecraftTrouble plays what goes wrong.
func minecraftTrouble(s *stage) {
	// A session id that Java takes for broken text.
	s.between("192.0.2.20:51000", "198.51.100.10:25565")
	s.ask("\xfe\xfd\x09\x81\x02\xff\x04")
	s.answer("\x09\xef\xbf\xbd\x02\xef\xbf\xbd\x049513307\x00")
	s.ask(mcStat("\x81\x02\xff\x04", mcToken, "\x00\x00\x00\x00"))
	s.answer(mcFull("\x81\x02\xff\x04", "hostname/A server/"+mcKeys, mcNames))
	// A token read the wrong way round, one that is sent as text, none at all,
	// a length that asks for less.
	s.between("192.0.2.21:51000", "198.51.100.10:25565")
	s.mcShake(mcSession, "9513307")
	s.ask(mcStat(mcSession, 0x5b299100, "\x00\x00\x00\x00"))
	s.wait(time.Second)
	s.ask("\xfe\xfd\x00" + mcSession + "9513307\x00")
	s.wait(time.Second)
	s.ask("\xfe\xfd\x00" + mcSession)
	s.wait(time.Second)
	s.ask(mcStat(mcSession, mcToken, "\x00\x00\x00\x00\x00\x00\x00\x00"))
	s.answer("\x00" + mcSession + gs3("A server/SMP/world/2/20/") + "\xdd\x63" + gs3("172.18.0.2/"))
	// The right token, and silence.
	s.between("192.0.2.22:51000", "198.51.100.10:25565")
	s.mcShake(mcSession, "9513307")
	s.ask(mcStat(mcSession, mcToken, "\x00\x00\x00\x00"))
	s.wait(6 * time.Second)
	// The query is off.
	s.between("192.0.2.23:51000", "198.51.100.11:25565")
	s.ask("\xfe\xfd\x09" + mcSession)
	s.wait(time.Second)
	s.ask("\xfe\xfd\x09" + mcSession)
	s.wait(6 * time.Second)
	// Replies that are cut, that lie, that have no end, that nobody asked for.
	s.between("192.0.2.24:51000", "198.51.100.12:25565")
	s.ask("\xfe\xfd\x09" + mcSession)
	s.answer("\x09" + mcSession + "9513307")
	full := mcFull(mcSession, "hostname/A server/"+mcKeys, mcNames)
	for _, reply := range []string{full[:100], full[:len(full)-4], full + "\x07more", strings.Replace(full, "numplayers\x002", "numplayers\x0012", 1)} {
		s.ask(mcStat(mcSession, mcToken, "\x00\x00\x00\x00"))
		s.answer(reply)
	}
	s.answer(full)
	// The other kind of stat than was asked for, other session ids, a number
	// that says more parts follow.
	s.between("192.0.2.26:51000", "198.51.100.16:25565")
	s.mcShake(mcSession, "9513307")
	s.ask(mcStat(mcSession, mcToken, ""))
	s.answer(mcFull(mcSession, "hostname/Always everything/"+mcKeys, mcNames))
	s.between("192.0.2.27:51000", "198.51.100.17:25565")
	s.ask("\xfe\xfd\x09" + mcSession)
	s.answer("\x09\x00\x00\x00\x029513307\x00")
	s.ask(mcStat(mcSession, mcToken, "\x00\x00\x00\x00"))
	s.answer(mcFull("\x00\x00\x00\x02", "hostname/Another number/"+mcKeys, mcNames))
	s.between("192.0.2.28:51000", "198.51.100.18:25565")
	s.mcShake(mcSession, "9513307")
	s.ask(mcStat(mcSession, mcToken, "\x00\x00\x00\x00"))
	s.answer(strings.Replace(mcFull(mcSession, "hostname/A number of 0/"+mcKeys, mcNames), "splitnum\x00\x80", "splitnum\x00\x00", 1))
}
