package main

import (
	"fmt"
	"strings"
	"time"
)

const (
	q3Status = single + "statusResponse\n"
	q3Info   = single + "infoResponse\n"
)

// quake3Games plays what the games do differently.
func quake3Games(s *stage) {
	// Medal of Honor: a byte that says who sends, and pings without scores.
	s.between("192.0.2.20:51000", "198.51.100.10:12203")
	s.ask(single + "\x02getstatus xxx\x00")
	s.answer(single + "\x01statusResponse\n" + `\challenge\xxx\version\Medal of Honor Allied Assault 1.11 linux-i386\protocol\8\mapname\dm/mohdm6\sv_hostname\Stalingrad\sv_maxclients\32` +
		"\n58 \"UnnamedSoldier\"\n250 \"M@TT!@$\"\n")
	// Pacific Assault: seven columns.
	s.between("192.0.2.20:51000", "198.51.100.11:12203")
	s.ask(single + "\x02getstatus xxx\x00")
	s.answer(single + "\x01statusResponse\n" + `\challenge\xxx\mapname\bridge\sv_hostname\Pacific\sv_maxclients\32` + "\n0 12 3 614 1 \"Private\" \"Conlin\"\n")
	// Xonotic: fractions, colours with three digits, UTF-8, teams.
	s.between("192.0.2.20:51000", "198.51.100.12:26000")
	s.ask(single + "getstatus s1")
	s.answer(q3Status + `\gamename\Xonotic\modname\data\gameversion\805\sv_maxclients\16\clients\3\bots\1\mapname\solarium\hostname\^xF80Clan ^7Arena ★\challenge\s1` +
		"\n\n12.5 31 5 \"^xF00Ren^7é\"\n-1 40 14 \"^^Bob\"\n0 0 14 \"[BOT]Lion\"\n")
	// Warsow: the team behind the name.
	s.between("192.0.2.20:51000", "198.51.100.13:44400")
	s.ask(single + "getstatus")
	s.answer(q3Status + `\sv_hostname\Warsow ^1CA\mapname\wca1\gamename\Warsow\sv_maxclients\10` + "\n7 40 \"Bob\" 2\n0 5 \"Spectator\" 0\n")
	// Call of Duty: colours twice, and a server that answers its own port only.
	s.between("192.0.2.20:28960", "198.51.100.14:28960")
	s.ask(single + "getstatus\n")
	s.answer(q3Status + `\gamename\main\mapname\mp_railyard\protocol\1\shortversion\1.1\sv_hostname\` + "\x01\x01ne^5X^7us" + `\sv_maxclients\64\pswrd\1` +
		"\n44 168 \"^^00East^^22|^^00wood\"\n0 999 \"Caf\xe9\"\n")
	// FiveM: nothing behind the last setting.
	s.between("192.0.2.20:51000", "198.51.100.15:30120")
	s.ask(single + "getinfo xxx")
	s.answer(q3Info + `\sv_maxclients\30\clients\4\challenge\xxx\gamename\CitizenFX\protocol\4\hostname\State Wide RP\gametype\Freeroam\mapname\fivem-map-skater\iv\173148099`)
	// CPMA on ioquake3: a list of files in several lines, names in ^z.
	s.between("192.0.2.20:51000", "198.51.100.16:27960")
	s.ask(single + "getstatus\x00")
	s.answer(q3Status + `\sv_hostname\The Quake CTF\sv_maxclients\24\version\ioq3 1.36\mapname\13camp\fs_manifest\baseq3/13camp.pk3@319779252@6099774` + "\n baseq3/pak100.pk3@2388798635@16506992\n " +
		`\game\CPMA\gamename\cpma\Players_Red\1 4 5 ` + "\n10 33 \"^z0^7UnnamedPlayer\"\n28 19 \"^z10^7tom\"\n")
	// Jedi Academy with many settings: a reply in IP fragments.
	s.between("192.0.2.20:29070", "198.51.100.17:29070")
	s.ask(single + "getstatus")
	var many strings.Builder
	for i := range 70 {
		fmt.Fprintf(&many, `\g_setting_number_%02d\%d`, i, i*i)
	}
	s.answer(q3Status + `\sv_hostname\^5Yavin^7\mapname\mp/ffa3\gamename\basejka\sv_maxclients\32` + many.String() + "\n5 60 \"Padawan\"\n0 0 \"\"\n")
	// Enemy Territory tells its master of the end of a match.
	s.between("198.51.100.18:27960", "203.0.113.5:27950")
	s.ask(single + "gameCompleteStatus\n" + `\sv_hostname\ET\mapname\fueldump\gamename\etmain\sv_maxclients\20` + "\n" + "31 48 \"Medic\"\n")
	// Before the days of packing: a client with its key, and the server that
	// asks for it.
	s.between("192.0.2.21:27960", "203.0.113.6:27952")
	s.ask(single + "getKeyAuthorize 0 2ABC3DEF4GHJ5KLM")
	s.answer(single + "keyAuthorize")
	s.between("192.0.2.21:27960", "198.51.100.19:27960")
	s.ask(single + "getchallenge")
	s.answer(single + "challengeResponse 1593572468")
	s.between("198.51.100.19:27960", "203.0.113.6:27952")
	s.ask(single + "getIpAuthorize 1593572468 192.0.2.21 baseq3 0")
	s.answer(single + "ipAuthorize 1593572468 accept")
	s.between("192.0.2.21:27960", "198.51.100.19:27960")
	s.ask(single + `connect "\challenge\1593572468\qport\7\protocol\43\name\^3Old^7Timer\password\swordfish\rate\3000"`)
	s.answer(single + "connectResponse")
	s.answer(single + "disconnect")
	s.between("192.0.2.21:27960", "203.0.113.7:27951")
	s.ask(single + `getmotd "\challenge\815\renderer\GeForce\version\Q3 1.32c"` + "\n")
	s.answer(single + `motd "\challenge\815\motd\Point release 1.32c is available"`)
}

// quake3Echo plays servers that want a token back before they answer: JK2MV and
// OpenJK.
func quake3Echo(s *stage) {
	const token, settings = "Vb7mQ2xYk0dLz5RtN9cHs4WgJ8pFu3EaT6iKo1BvXqMyDnCwSrPhGjUlZf2xA7e", `\sv_hostname\^5Duels ^7only\mapname\ffa_bespin\sv_maxclients\24\g_needpass\0\gamename\jk2mp\version\JK2MV: v1.4.8 linux-x86_64`
	s.between("192.0.2.20:51000", "198.51.100.10:28070")
	s.ask(single + "getstatus 4711\n")
	s.answer(single + `echo "echoResponse getstatus ` + token + `"`)
	s.ask(single + "echoResponse getstatus " + token)
	s.answer(q3Status + `\challenge\4711` + settings + "\n12 48 \"^1Kyle\"\n-3 131 \"Desann\"\n")
	s.between("192.0.2.20:51001", "198.51.100.11:29070")
	s.ask(single + "getinfo xxx")
	s.answer(single + `echo "echoResponse getinfo ` + token + `"` + "\n")
	s.ask(single + "echoResponse getinfo " + token + "\n")
	s.answer(q3Info + `\hostname\Siege\mapname\mp/siege_hoth\clients\2\sv_maxclients\32\gametype\7\needpass\1\game\japlus`)
	// A client that does not know the exchange, and one with another token.
	s.between("192.0.2.20:51002", "198.51.100.10:28070")
	s.ask(single + "getstatus")
	s.answer(single + `echo "echoResponse getstatus ` + token[1:] + `"`)
	s.between("192.0.2.21:51000", "198.51.100.10:28070")
	s.ask(single + "getstatus")
	s.answer(single + `echo "echoResponse getstatus ` + token[2:] + `"`)
	s.ask(single + "echoResponse getstatus " + token[1:])
}

// quake3Trouble plays what goes wrong.
func quake3Trouble(s *stage) {
	// A cache answers with what it had for somebody else.
	s.between("192.0.2.20:51000", "198.51.100.10:27960")
	s.ask(single + "getinfo 4711")
	s.answer(q3Info + `\challenge\1234\hostname\Cached\mapname\q3dm17\clients\3\sv_maxclients\16`)
	s.ask(single + "getinfo 4712")
	s.answer(q3Info + `\hostname\No echo\mapname\q3dm17\clients\3\sv_maxclients\16`)
	s.ask(single + "getinfo a;b")
	s.answer(q3Info + `\hostname\No echo\mapname\q3dm17\clients\30\sv_maxclients\16`)
	// Nobody asked for this one.
	s.answer(q3Status + `\sv_hostname\Forged` + "\n")
	// A datagram with nothing in it.
	s.ask(single + "getstatus")
	s.answer(single)
	// Settings that do not pair up, or are no settings.
	s.between("192.0.2.21:51000", "198.51.100.10:27960")
	for _, reply := range []string{
		`\sv_hostname\A \ B\mapname\q3dm17` + "\n0 5 \"Alice\"\n",
		`sv_hostname\Skipped` + "\n",
		`\sv_hostname\No end`,
		`\sv_hostname\Cut\sv_maxclients\16` + "\n0 5 \"Alice\"\n3 7 \"Bo",
		`\sv_hostname\Quotes\sv_maxclients\16` + "\n0 5 \"Al\"ice\"\n3 7 \"Bob\" \"192.0.2.7:27960\"\n",
		`\sv_hostname\Words\sv_maxclients\1` + "\n0 5 \"Alice\"\nno player\n3 7 \"Bob\"\n",
		"\\sv_hostname\\\x1b[31mRed\u202e\\mapname\\\x07\n0 5 \"\x1b]0;title\x07\"\n",
	} {
		s.ask(single + "getstatus")
		s.answer(q3Status + reply)
		s.wait(time.Second)
	}
	// Somebody tries passwords; another one has it.
	s.between("192.0.2.22:51000", "198.51.100.10:27960")
	for _, guess := range []string{"admin", "password", "letmein"} {
		s.ask(single + "rcon " + guess + " status\x00")
		s.answer(single + "print\nBad rconpassword.\n")
	}
	s.between("192.0.2.23:51000", "198.51.100.10:27960")
	s.ask(single + "rcon \"the right one\" say hello\x00")
	s.answer(single + "print\nconsole: hello\n")
	s.answer(single + "print\nand more\n")
	// The old text queries of relatives are none of this protocol.
	s.between("192.0.2.24:51000", "198.51.100.10:27960")
	s.ask(single + "status\n")
	s.ask(single + "getstatusx")
	// Nobody there.
	s.between("192.0.2.25:51000", "198.51.100.99:27960")
	s.ask(single + "getinfo 1")
	s.wait(time.Second)
	s.ask(single + "getinfo 1")
}

// quake3Lists plays masters: each puts entries into its replies in another way.
func quake3Lists(s *stage) {
	const (
		one  = "\xc6\x33\x64\x0a\x6d\x38"
		two  = "\xc6\x33\x64\x0b\x6d\x38"
		six  = "\x20\x01\x0d\xb8\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x10\x6d\x38"
		fake = "\x45\x4f\x54\x07\x6d\x38" // 69.79.84.7: the letters EOT
	)
	entries := func(from, n int) string {
		var b strings.Builder
		for i := from; i < from+n; i++ {
			b.WriteString("\\\xc6\x33\x64" + string([]byte{byte(i), 0x6d, byte(0x38 + i%4)}))
		}
		return b.String()
	}
	response, ext := single+"getserversResponse", single+"getserversExtResponse"
	// A list in three replies.
	s.between("192.0.2.20:51000", "203.0.113.5:27950")
	s.ask(single + "getservers 68 empty full")
	s.answer(response + entries(1, 60))
	s.answer(response + entries(61, 60))
	s.answer(response + entries(121, 20) + "\\EOT\x00\x00\x00")
	// IPv6, and a server whose address spells the end.
	s.between("[2001:db8:2::20]:51000", "[2001:db8:5::5]:27950")
	s.ask(single + "getserversExt Quake3Arena 71 full ipv4 ipv6 gametype=4")
	s.answer(ext + "\\" + fake + "/" + six + "\\" + one + "\\EOT\x00\x00\x00")
	// Call of Duty, CoD4X, Elite Force, Tremulous; a master without marks.
	s.between("192.0.2.20:51001", "203.0.113.6:20510")
	s.ask(single + "getservers 1 full empty")
	s.answer(response + "\n\x00\\" + one + "\\" + two + "\\EOF")
	s.between("192.0.2.20:51002", "203.0.113.7:20810")
	s.ask(single + "getservers 6 full empty")
	s.answer(response + "\\\x00\x00\x00\x00\x04" + one + "\\\x00\x00\x00\x00\x04" + two + "\\EOT")
	s.between("192.0.2.20:51003", "203.0.113.8:27953")
	s.ask(single + "getservers 24")
	s.answer(response + "\\c633640a6d38\\c633640b6d38\\EOT")
	s.between("192.0.2.20:51004", "203.0.113.9:30710")
	s.ask(single + "getserversExt Tremulous 69 empty\n")
	s.answer(ext + "\x001\x002\x00featured\\" + one)
	s.answer(ext + "\x002\x002\x00\\" + two + "/" + six)
	s.between("192.0.2.20:51005", "203.0.113.10:27950")
	s.ask(single + "getservers 67")
	s.answer(response + one + two)
	// Fillers, an entry that is cut, words instead of entries, no answer.
	s.between("192.0.2.20:51006", "203.0.113.11:27950")
	s.ask(single + "getservers 66")
	s.answer(response + "\\" + one + strings.Repeat("\\\x00\x00\x00\x00\x00\x00", 3) + "\\" + two[:4])
	s.between("192.0.2.20:51007", "203.0.113.12:27950")
	s.ask(single + "getservers 65")
	s.answer(response + "\nToo many requests, try again later")
	s.between("192.0.2.20:51008", "203.0.113.12:27950")
	s.ask(single + "getservers 64")
	// Servers that come and go, and one that its master checks.
	s.between("198.51.100.10:27960", "203.0.113.5:27950")
	s.ask(single + "heartbeat QuakeArena-1\n")
	s.answer(single + "getinfo !7c&Vq2x")
	s.ask(q3Info + `\challenge\!7c&Vq2x\hostname\Listed\mapname\q3dm6\clients\0\sv_maxclients\8\protocol\68`)
	s.between("198.51.100.11:27960", "203.0.113.5:27950")
	s.ask(single + "heartbeat EnemyTerritory-1\n")
	s.ask(single + "heartbeat ETFlatline-1\n")
	s.between("198.51.100.12:28960", "203.0.113.6:20510")
	s.ask(single + "flatline COD-1\n")
	// Quake 2's heartbeat is another protocol.
	s.between("198.51.100.13:27910", "203.0.113.14:27900")
	s.ask(single + "heartbeat\n\\hostname\\noname\n")
}
