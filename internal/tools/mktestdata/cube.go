package main

import (
	"encoding/binary"
	"strings"
	"time"
)

// cubeInts writes numbers of the Cube engines.
func cubeInts(numbers ...int) string {
	var b []byte
	for _, n := range numbers {
		switch {
		case n > -127 && n < 128:
			b = append(b, byte(n))
		case n >= -1<<15 && n < 1<<15:
			b = binary.LittleEndian.AppendUint16(append(b, 0x80), uint16(n))
		default:
			b = binary.LittleEndian.AppendUint32(append(b, 0x81), uint32(n))
		}
	}
	return string(b)
}

// cubeTexts writes texts, character by character.
func cubeTexts(texts ...string) string {
	var b strings.Builder
	for _, t := range texts {
		for i := range len(t) {
			b.WriteString(cubeInts(int(int8(t[i]))))
		}
		b.WriteByte(0)
	}
	return b.String()
}

// cubeSauer writes the data of a server of Sauerbraten.
func cubeSauer(players, mode, left, limit, master int, level, name string) string {
	return cubeInts(players, 5, 260, mode, left, limit, master) + cubeTexts(level, name)
}

// cubeRed writes the data of a server of Red Eclipse.
func cubeRed(name string, players ...string) string {
	s := cubeInts(len(players), 15, 230, 2, 4, 600, 16, 0, 4998, 12, 1, 6, 0, 2, 64, 1, 431) + cubeTexts("vault", name, "stable") + cubeTexts(players...)
	for i := range players {
		s += cubeTexts([]string{"account", ""}[i%2])
	}
	return s
}

// cubeExt begins the reply to a request for extended infos.
func cubeExt(request string, version int, numbers ...int) string {
	return request + cubeInts(append([]int{-1, version}, numbers...)...)
}

// cubePlayer writes the reply with one player.
func cubePlayer(request string, version, id int, name, team string, score int) string {
	return cubeExt(request, version, 0, -11, id, 30+id) + cubeTexts(name, team) + cubeInts(score, 1, score/2, 0, 35, 100, 25, 6, id%2, 0) + "\xc0\x00\x02"
}

func (s *stage) cubeAsk(request, reply string) {
	s.ask(request)
	s.answer(request + reply)
}

// cubeServers plays servers with players.
func cubeServers(s *stage) {
	const all = "\x00\x01\xff"
	s.between("192.0.2.20:50000", "198.51.100.10:28786")
	s.cubeAsk(cubeInts(41872), cubeSauer(3, 12, 431, 16, -1, "forge", "\f3Caf\x8b \fs\f0Z\x9brich\fr"))
	s.ask(all)
	s.answer(cubeExt(all, 105, 0, -10, 0, 3, 130))
	s.answer(cubePlayer(all, 105, 0, "Anna", "good", 12))
	s.answer(cubePlayer(all, 105, 3, "B\x97rje\x80", "evil", -1))
	s.answer(cubePlayer(all, 105, 130, "bot", "evil", 200))
	s.cubeAsk("\x00\x02", cubeExt("", 105, 0, 12, 431)+cubeTexts("good")+cubeInts(2, -1)+cubeTexts("evil")+cubeInts(0, 3, 1, 4, 130))
	s.ask("\x00\x00\x01")
	s.answer(cubeExt("\x00\x00\x01", 105, 81234, -8))
	s.between("192.0.2.20:50000", "198.51.100.11:28786")
	s.cubeAsk(cubeInts(-5), cubeInts(0, 7, 260, 0, 0, 8, 4, 1, 50)+cubeTexts("", "\xd0\x9f\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82"))
	s.between("192.0.2.20:50001", "198.51.100.12:28802")
	s.cubeAsk(cubeInts(7), cubeRed("A \fyserver\f[12]", "\fs\fgAnna\fS", "Bo"))
	s.between("192.0.2.20:50002", "198.51.100.13:28764")
	for i, more := range []string{"", "\x01", "\x02en", "\x03", "\x04", "\x02fi"} {
		s.cubeAsk(cubeInts(90_000+i)+more, cubeInts(1201, 5, 2, 9)+cubeTexts("ac_desert", "\f4Assault")+cubeInts(8, 1<<6|1)+[]string{
			"", "\x01" + cubeTexts("Anna", "Cyd", ""), "\x02" + cubeTexts("en", "Welcome.", "No swearing.", ""),
			"\x03" + cubeInts(2) + cubeTexts("ac_desert") + cubeInts(5, 15) + cubeTexts("ac_mines") + cubeInts(0, 10) + cubeTexts(""),
			"\x04\x10\x21\x00\x43\x00", "\x02" + cubeTexts(""),
		}[i])
	}
	s.cubeAsk("\x00\x02", cubeExt("", 104, 0, 5, 9)+cubeTexts("RVSF")+cubeInts(31, 2, -1)+cubeTexts("CLA")+cubeInts(7, 0, -1))
	s.cubeAsk("\x00\x01\x02", cubePlayer("", 104, 2, "Anna", "RVSF", 31))
}

// cubeTrouble plays what goes wrong.
func cubeTrouble(s *stage) {
	s.between("192.0.2.20:50000", "198.51.100.10:28786")
	s.cubeAsk("\x00\x01\x09", cubeExt("", 105, 1))
	s.cubeAsk("\x00\x07", cubeExt("", 105, 1))
	s.cubeAsk("\x05", cubeSauer(0, 0, 0, 8, 0, "forge", "A server")[:20])
	// Two questions at once; the replies come in the other order.
	s.wait(time.Second)
	s.ask(cubeInts(1000))
	s.ask(cubeInts(1001))
	s.answer(cubeInts(1001) + cubeSauer(1, 3, 99, 8, 2, "turbine", "A server"))
	s.answer(cubeInts(1000) + cubeSauer(2, 3, 99, 8, 2, "turbine", "A server"))
	s.answer(cubeInts(999) + cubeSauer(3, 3, 99, 8, 2, "turbine", "A server"))
	s.cubeAsk("\x06", cubeSauer(3, 3, 98, 8, 2, "turbine", strings.Repeat("A long name ", 8))+"more")
	// Silence.
	s.between("192.0.2.20:50000", "198.51.100.12:28802")
	s.ask("\x00\x01\xff")
	s.ask("\x01")
	s.wait(6 * time.Second)
	// What is none of it, on these ports.
	s.between("192.0.2.20:50003", "198.51.100.10:28786")
	s.ask("\x8f\xff\x12\x34\x82\xff\x00\x01\x00\x00\xff\xff\x00\x00\x05\x78\x00\x01\x00\x00\x00\x00\x00\x02")
	s.answer("\x8f\xff\x12\x35\x83\xff\x00\x01\x00\x00\xff\xff\x00\x00\x05\x78\x00\x01\x00\x00\x00\x00\x00\x02")
	s.ask("\xff\xff\xff\xffTSource Engine Query\x00")
	// On the port of another protocol nothing of it is known.
	s.between("192.0.2.20:50003", "198.51.100.10:20001")
	s.cubeAsk(cubeInts(1002), cubeSauer(1, 3, 97, 8, 2, "turbine", "A server"))
}
