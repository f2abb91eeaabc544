package main

import (
	"strings"
	"time"
)

// gs2 writes a reply with / for each zero byte.
func gs2(session, text string) string {
	return "\x00" + session + strings.ReplaceAll(text, "/", "\x00")
}

const (
	gs2All     = "\xfe\xfd\x00\x10\x20\x30\x40\xff\xff\xff"
	gs2Info    = "\xfe\xfd\x00CORY\xff\x00\x00"
	gs2Players = "\xfe\xfd\x00CORX\x00\xff\xff"
	qstatID    = "\x10\x20\x30\x40"
)

// gamespy2Games plays what differs from game to game.
func gamespy2Games(s *stage) {
	// Halo: a name that sorts to the top of the list, Latin-1, two teams.
	s.between("192.0.2.20:51000", "198.51.100.10:2302")
	s.ask(gs2Info)
	s.answer(gs2("CORY", "hostname/"+strings.Repeat("\x01", 24)+"First!/gamever/01.00.10.0621/hostport/2302/maxplayers/16/password/0/mapname/bloodgulch/"+
		"dedicated/1/gamemode/openplaying/game_classic/0/numplayers/3/gametype/CTF/teamplay/1/gamevariant/Two flags/fraglimit/3//"))
	s.ask(gs2Players)
	s.answer(gs2("CORX", "/\x03player_/score_/ping_/team_//J\xfcrgen/1/79/1/_/0/100/0/el ni\xf1o/2/61/1/"+"/\x02team_t/score_t//Red/2/Blue/9/"))
	// SWAT 4: no teams.
	s.between("192.0.2.20:51001", "198.51.100.11:10481")
	s.ask(gs2All)
	s.answer(gs2(qstatID, "hostname/A co-op server/numplayers/2/maxplayers/5/gametype/CO-OP/gamevariant/SWAT 4/mapname/Victory Imports/hostport/10480/password/1/gamever/1.1//"+
		"/\x02player_/score_/ping_//Officer/0/50/Operator/3/12/"+"///"))
	// ArmA: teams without names; then nobody, and the names of the columns.
	s.between("192.0.2.20:51002", "198.51.100.12:2302")
	s.ask(gs2Info)
	s.answer(gs2("CORY", "gamever/1.18/hostname/An ArmA server/mapname/sara/gametype/COOP/numplayers/2/numteams/0/maxplayers/10/gamemode/openplaying/mod/CA;@ACE/gamename/armedass/sv_battleye/0//"))
	s.ask(gs2Players)
	s.answer(gs2("CORX", "/\x02player_/team_/score_/deaths_//Private [LT]//56/58/Engineer//39/43/"+"///"))
	s.ask(gs2Players)
	s.answer(gs2("CORX", "//player_/team_/score_/deaths_//"+"///"))
	// Hidden & Dangerous 2: nobody there, and one team.
	s.between("192.0.2.20:51003", "198.51.100.13:11004")
	s.ask(gs2All)
	s.answer(gs2(qstatID, "hostname/Sniper only/hostport/11001/gamever/1.12/mapname/Af1|Sniper/gametype/Deathmatch/numplayers/0/maxplayers/20/password/0//"+
		"//player_/score_//"+"/\x01team_t/score_t//axis/0/"))
	// America's Army: colours, and tables without the number of their rows.
	s.between("192.0.2.20:51004", "198.51.100.14:1717")
	s.ask(gs2All)
	s.answer(gs2(qstatID, "hostname/\x1b\xff\x01\x01Honor\x1b\x80\x80\x80 Server/gamever/2.8.5/mapname/Bridge SE/numplayers/2/maxplayers/26/password/0//"+
		"/player_/score_/ping_/honor_/leader_//\x1b\x01\xff\x01Alice/120/31/64/0/Bob/-20/180/10/1/"))
	// A client of the SDK asks for single keys.
	s.between("192.0.2.20:51005", "198.51.100.11:10481")
	s.ask("\xfe\xfd\x00\x10\x20\x30\x40\x04\x01\x05\x08\x0a\x00\x00")
	s.answer(gs2(qstatID, "A co-op server/Victory Imports/2/5/"))
}

// gamespy2Trouble plays what goes wrong.
func gamespy2Trouble(s *stage) {
	// The port of the game instead of that of the queries; then both.
	s.between("192.0.2.20:51000", "198.51.100.11:10480")
	s.ask(gs2All)
	s.wait(time.Second)
	s.ask(gs2All)
	s.between("192.0.2.20:51001", "198.51.100.11:10481")
	s.ask(gs2All)
	// Numbers that lie, a packet that was cut in a row, and one in the
	// settings.
	s.answer(gs2(qstatID, "hostname/A server/numplayers/5//"+"/\x05player_/score_//Alice/3/Bob/4/"+"/\x02team_t//Red/Blue/"))
	s.ask(gs2All)
	s.answer(gs2(qstatID, "hostname/A server/numplayers/1//"+"/\x01player_/score_//Alice/3/Bob/4/"+"///"))
	s.ask(gs2All)
	long := "hostname/A server/numplayers/64//" + "/\x40player_/score_/ping_//" + strings.Repeat("A player with a long name/100/50/", 64)
	s.answer(gs2(qstatID, long[:1391]+"/"))
	s.ask(gs2Info)
	s.answer(gs2("CORY", "hostname/A server/gamever/1.0/mapname/somewh"))
	s.ask(gs2Info)
	s.answer(gs2("CORY", "hostname/A server/gamever/1.0/mapname/somewhere/"))
	// Nobody asked; and a reply with the id of nobody.
	s.answer(gs2("CORX", "/\x01player_//Alice/"+"///"))
	// Columns with names that cannot be keys, and two of one name.
	s.ask(gs2Players)
	s.answer(gs2("CORX", "/\x01player_/k:d_/score_/score_/name_//Alice/0.5/1/2/another/"+"///"))
}

// gamespy2Parts plays replies in several datagrams, which nothing numbers.
func gamespy2Parts(s *stage) {
	const (
		settings = "hostname/A full server/gamever/1.6.0/hostport/7777/mapname/Insurgent Camp/gametype/Extraction/gamemode/openplaying/numplayers/3/maxplayers/26/password/0/timelimit/10"
		players  = "/\x03player_/score_/ping_/team_//Alpha/12/48/0/Bravo/-3/131/1/Charlie/0/77/0/"
		teams    = "/\x02team_t/score_t//Assault/7/Defense/9//"
	)
	whole := settings + "//" + players + teams
	cut := func(at ...string) (parts []string) {
		from := 0
		for _, s := range at {
			i := strings.Index(whole, s)
			parts, from = append(parts, whole[from:i]), i
		}
		return append(parts, whole[from:])
	}
	// Cut between settings, between a key and its value, between rows; in
	// three datagrams; before the zero byte that ends the settings, and the one
	// that ends the columns of a table.
	s.between("192.0.2.20:51000", "198.51.100.10:23000")
	for i, parts := range [][]string{cut("gametype/"), cut("openplaying/"), cut("Charlie/"), cut("gamemode/", "Bravo/"), cut("//\x03player_"), cut("/Assault")} {
		id := "\x00\x00\x00" + string(rune('1'+i))
		s.ask("\xfe\xfd\x00" + id + "\xff\xff\xff")
		for _, p := range parts {
			s.answer(gs2(id, p))
		}
		s.wait(time.Second)
	}
	// The second twice; a reply of which the others are lost, and one of which
	// the first are.
	s.between("192.0.2.20:51001", "198.51.100.10:23000")
	s.ask(gs2All)
	parts := cut("gametype/", "Bravo/")
	for _, i := range []int{0, 1, 1, 2} {
		s.answer(gs2(qstatID, parts[i]))
	}
	s.between("192.0.2.20:51002", "198.51.100.10:23000")
	s.ask(gs2All)
	s.answer(gs2(qstatID, parts[0]))
	s.between("192.0.2.20:51003", "198.51.100.10:23000")
	s.ask(gs2All)
	s.answer(gs2(qstatID, parts[2]))
	// Settings and tables in datagrams of their own.
	s.between("192.0.2.20:51004", "198.51.100.10:23000")
	s.ask(gs2All)
	s.answer(gs2(qstatID, settings+"//"))
	s.answer(gs2(qstatID, players+teams))
}
