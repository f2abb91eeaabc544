package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"time"

	"github.com/dsnet/compress/bzip2"

	"github.com/qdissect/qdissect/internal/mkpcap"
)

const (
	single   = "\xff\xff\xff\xff"
	infoAsk  = single + "TSource Engine Query\x00"
	playerNo = single + "U\xff\xff\xff\xff"
	rulesNo  = single + "V\xff\xff\xff\xff"
)

func unhex(s string) string {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		panic(err)
	}
	return string(b)
}

// a2sDocuments plays the dumps of "Server queries" and "The Ship".
func a2sDocuments(s *stage) {
	for i, reply := range []string{
		`FF FF FF FF 49 02 67 61 6D 65 32 78 73 2E 63 6F 6D 20 43 6F 75 6E 74 65 72 2D 53 74 72 69 6B 65 20 53 6F 75 72 63 65
		20 23 31 00 64 65 5F 64 75 73 74 00 63 73 74 72 69 6B 65 00 43 6F 75 6E 74 65 72 2D 53 74 72 69 6B 65 3A 20 53 6F 75 72
		63 65 00 F0 00 05 10 04 64 6C 00 00 31 2E 30 2E 30 2E 32 32 00`,
		`FF FF FF FF 49 07 53 68 69 70 20 53 65 72 76 65 72 00 62 61 74 61 76 69 65 72 00 73 68 69 70 00 54 68 65 20 53 68 69
		70 00 60 09 01 05 00 6C 77 00 00 01 03 03 31 2E 30 2E 30 2E 34 00`,
		`FF FF FF FF 49 2F 53 65 6E 73 65 6D 61 6E 6E 20 53 69 4E 20 44 4D 00 70 61 72 61 64 6F 78 00 53 69 4E 20 31 00 53 69
		4E 20 31 00 1D 05 00 10 00 6C 77 00 00 31 2E 30 2E 30 2E 30 00`,
		`FF FF FF FF 49 FC 54 68 65 20 44 75 64 65 27 73 20 64 6F 6A 6F 00 53 6F 63 63 65 72 00 52 44 4B 46 53 6F 63 63 65 72
		00 52 61 67 44 6F 6C 6C 4B 75 6E 67 46 75 3A 20 53 6F 63 63 65 72 00 EA 03 01 04 00 00 77 00 00 32 2E 33 2E 30 2E 30 00`,
	} {
		s.between("192.0.2.20:51000", fmt.Sprintf("198.51.100.%d:27015", 10+i))
		s.ask(infoAsk)
		s.answer(unhex(reply))
	}
	s.between("192.0.2.20:51000", "198.51.100.10:27015")
	s.ask(unhex("FF FF FF FF 57"))
	s.answer(unhex("FF FF FF FF 41 32 42 59 45"))
	s.ask(single + "i")
	s.answer(single + "j000000000000000\x00")
	s.ask(single + "i")
	s.answer(single + "j\x00")
}

// players returns a players reply, with The Ship's block if ship is true.
func players(ship bool, names ...string) string {
	b := []byte(single + "D")
	b = append(b, byte(len(names)))
	for i, name := range names {
		b = append(b, 0)
		b = append(b, name...)
		b = append(b, 0)
		b = binary.LittleEndian.AppendUint32(b, uint32(int32(7*i-3)))
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(3600-123.5*float64(i))))
	}
	for i := range names {
		if ship {
			b = binary.LittleEndian.AppendUint32(b, uint32(i))
			b = binary.LittleEndian.AppendUint32(b, uint32(int32(2500-1300*i)))
		}
	}
	return string(b)
}

// rules makes a rules reply of n settings.
func rules(n int) string {
	b := []byte(single + "E")
	b = binary.LittleEndian.AppendUint16(b, uint16(n))
	for i := range n {
		b = fmt.Appendf(b, "mp_setting_number_%03d\x00%d.%d\x00", i, i*i%97, i%10)
	}
	return string(b)
}

// split cuts a message into parts of Source's format.
func split(id uint32, size int, message string, withSize bool) (parts []string) {
	total := (len(message) + size - 1) / size
	for i := range total {
		b := binary.LittleEndian.AppendUint32([]byte("\xfe\xff\xff\xff"), id)
		b = append(b, byte(total), byte(i))
		if withSize {
			b = binary.LittleEndian.AppendUint16(b, uint16(size))
		}
		parts = append(parts, string(b)+message[i*size:min((i+1)*size, len(message))])
	}
	return parts
}

// pack returns a compressed message with the compression header for the first part.
func pack(id uint32, size int, message string) []string {
	var z bytes.Buffer
	w, err := bzip2.NewWriter(&z, nil)
	if err == nil {
		_, err = w.Write([]byte(message))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err)
	}
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(message)))
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE([]byte(message)))
	return split(id|1<<31, size, string(b)+z.String(), false)
}

// info returns an info reply of Source with all extra data.
func info(name, tags string, appID uint16, gameID uint64, online, most byte) string {
	b := []byte(single + "I\x11" + name + "\x00ctf_2fort\x00tf\x00Team Fortress\x00")
	b = binary.LittleEndian.AppendUint16(b, appID)
	b = append(b, online, most, 2, 'd', 'l', 0, 1)
	b = append(b, "9543365\x00\xf1"...)
	b = binary.LittleEndian.AppendUint16(b, 27015)
	b = binary.LittleEndian.AppendUint64(b, 90071992547409921)
	b = binary.LittleEndian.AppendUint16(b, 27020)
	b = append(b, "SourceTV\x00"+tags+"\x00"...)
	b = binary.LittleEndian.AppendUint64(b, gameID)
	return string(b)
}

const (
	given    = single + "A\x66\x09\x75\x27"
	infoHas  = infoAsk + "\x66\x09\x75\x27"
	playerHa = single + "U\x66\x09\x75\x27"
	rulesHas = single + "V\x66\x09\x75\x27"
)

// a2sSource plays a server of today: a challenge for everything, rules in parts
// that do not come in order, names in old encodings, and what The Ship and Arma
// 3 add.
func a2sSource(s *stage) {
	s.between("192.0.2.20:51000", "198.51.100.10:27015")
	s.ask(infoAsk)
	s.answer(given)
	s.ask(infoHas)
	s.answer(info("Caf\xc3\xa9 \xe2\x80\xae2fort\xe2\x80\xac 24/7 \x1b[31m", "ctf,nocrits", 440, 440, 18, 32))
	s.ask(playerHa)
	s.answer(players(false, "Alice", "B\xf6b", "\xcf\xf0\xe8\xe2\xe5\xf2", "", "名無し"))
	s.ask(rulesHas)
	parts := split(0x2db2, 1248, rules(101), true)
	for _, i := range []int{1, 0, 2} {
		s.answer(parts[i])
	}
	s.between("192.0.2.21:51000", "198.51.100.11:27017")
	s.ask(playerHa)
	s.answer(players(true, "Passenger", "Captain", "Cook"))
	s.between("192.0.2.22:40000", "198.51.100.12:2303")
	s.ask(rulesHas)
	s.answer(armaRules("\x03\x00\x01\x00\x89\x01\x10\xc5\xa5\x58\x01\x10\x20\x30\xff\x04\x15\xe4\xde\x1a\x05CBA_A\x01\x02a3", 24))
	s.between("192.0.2.23:40000", "198.51.100.13:28015")
	s.ask(infoAsk)
	s.answer(info("Big application", "cp547,mp575", 0, 1203620, 255, 255))
}

// armaRules escapes a server browser message and cuts it into rules.
func armaRules(blob string, n int) string {
	escaped := strings.NewReplacer("\x01", "\x01\x01", "\x00", "\x01\x02", "\xff", "\x01\x03").Replace(blob)
	total := (len(escaped) + n - 1) / n
	b := []byte(single + "E")
	b = binary.LittleEndian.AppendUint16(b, uint16(total))
	for i := range total {
		b = append(b, byte(i+1), byte(total), 0)
		b = append(b, escaped[i*n:min((i+1)*n, len(escaped))]...)
		b = append(b, 0)
	}
	return string(b)
}

// a2sCompressed plays bzip2: in one part as Fortress Forever sends it, and in
// several; then what can be wrong with it.
func a2sCompressed(s *stage) {
	s.between("192.0.2.20:51000", "198.51.100.10:27015")
	s.ask(rulesHas)
	for _, p := range pack(0x00280097, 1400, rules(60)) {
		s.answer(p)
	}
	s.ask(rulesHas)
	for _, p := range pack(0x00280098, 300, rules(250)) {
		s.answer(p)
	}
	s.ask(rulesHas)
	broken := pack(0x00280099, 1400, rules(60))[0]
	s.answer(broken[:14] + "\x00\x00\x00\x00" + broken[18:]) // CRC-32
	s.ask(rulesHas)
	s.answer(broken[:10] + "\x00\x00\x00\x40" + broken[14:]) // 1 GiB
	s.ask(rulesHas)
	s.answer(broken[:200] + "\xff\xff" + broken[202:]) // the stream
	s.ask(rulesHas)
	for _, p := range split(1<<31|7, 1248, rules(5), true) { // not compressed at all
		s.answer(p)
	}
}

// a2sFragments plays replies over the size of a packet: in order, backwards,
// over IPv6, and with a fragment missing.
func a2sFragments(s *stage) {
	var names []string
	for i := range 80 {
		names = append(names, fmt.Sprintf("Player with a long name %02d", i))
	}
	s.between("192.0.2.20:51000", "198.51.100.10:27165")
	s.ask(playerHa)
	s.answer(players(false, names...))
	s.between("[2001:db8:2::20]:51000", "[2001:db8:1::10]:27165")
	s.ask(playerHa)
	s.answer(players(false, names...))
	s.between("192.0.2.21:51000", "198.51.100.10:27165")
	s.ask(playerHa)
	segment := string(mkpcap.UDPSegment(s.server, s.client, []byte(players(false, names...))))
	s.fragment(segment, 1480, 99, 1, 0)
	s.between("192.0.2.22:51000", "198.51.100.10:27165")
	s.ask(playerHa)
	segment = string(mkpcap.UDPSegment(s.server, s.client, []byte(players(false, names...))))
	s.fragment(segment, 1480, 100, 0)
}

// fragment sends chosen fragments of a segment, in that order.
func (s *stage) fragment(segment string, size int, id uint16, which ...int) {
	for _, i := range which {
		lo, hi := i*size, min((i+1)*size, len(segment))
		ip := mkpcap.IP(s.server.Addr(), s.client.Addr(), id, 17, lo, hi < len(segment), true, []byte(segment[lo:hi]))
		s.w.Frame(s.now, append([]byte{2, 0, 0, 0, 0, 20, 2, 0, 0, 0, 0, 10, 8, 0}, ip...))
		s.wait(time.Millisecond)
	}
}

// a2sTrouble plays what people ask about.
func a2sTrouble(s *stage) {
	// Nobody answers on the game's port; the query port is another.
	s.between("192.0.2.20:51000", "198.51.100.10:7777")
	s.ask(infoAsk)
	s.wait(time.Second)
	s.ask(infoAsk)
	s.between("192.0.2.20:51001", "198.51.100.10:27015")
	s.ask(infoAsk)
	s.answer(given)
	// A client from before the challenge.
	s.ask(infoAsk)
	s.answer(given)
	// A right challenge and silence: a firewall, a rate limit.
	s.ask(infoHas)
	// A client that reads the number the wrong way round.
	s.between("192.0.2.21:51000", "198.51.100.10:27015")
	s.ask(rulesNo)
	s.answer(given)
	s.ask(single + "V\x27\x75\x09\x66")
	s.answer(given)
	s.ask(single + "V\x27\x75\x09\x66")
	s.answer(given)
	// Lists that lie or end too early.
	s.between("192.0.2.22:51000", "198.51.100.11:27015")
	s.ask(playerNo)
	s.answer(strings.Replace(players(false, "Alice", "Bob"), "D\x02", "D\x05", 1))
	s.ask(rulesNo)
	long := rules(400)
	s.answer(long[:1400])
	s.ask(infoAsk)
	s.answer(info("Cut short", "", 440, 440, 1, 2)[:40])
	// A part of a split message is lost.
	s.between("192.0.2.23:51000", "198.51.100.12:27015")
	s.ask(rulesHas)
	for i, p := range split(5, 1248, rules(150), true) {
		if i != 1 {
			s.answer(p)
		}
	}
	// A scanner, a flood of nonsense, another protocol.
	s.between("192.0.2.24:51000", "198.51.100.12:27015")
	s.ask(single)
	s.ask(single + "\x99\x98\x97")
	s.ask(single + "qconnect0x5a4f4933\x00")
	s.between("192.0.2.24:51000", "198.51.100.12:3389")
	s.ask(single + "\x00\x40\x18\x01\x00\x00\x00\x00")
	// Much for little, and nobody asked.
	s.between("192.0.2.25:51000", "198.51.100.13:27015")
	s.answer(rules(40))
	s.wait(20 * time.Second)
	s.between("192.0.2.26:51000", "198.51.100.13:27015")
	s.ask(infoAsk)
}

// a2sChallenges plays challenges that look like a request for one, the request
// for one of 2004, numbers in the wrong byte order, and a byte too many.
func a2sChallenges(s *stage) {
	server := func(n int) {
		s.wait(10 * time.Second)
		s.between("192.0.2.20:51000", fmt.Sprintf("198.51.100.%d:27015", n))
	}
	server(10) // gives 0, which clients also send to ask for one
	s.ask(single + "U\xff\xff\xff\xff")
	s.answer(single + "A\x00\x00\x00\x00")
	s.ask(single + "U\x00\x00\x00\x00")
	s.answer(players(false, "Alice"))
	s.ask(single + "U\x00\x00\x00\x00")
	s.answer(players(false, "Alice"))
	server(11) // the same with -1, for A2S_INFO
	s.ask(infoAsk)
	s.answer(single + "A\xff\xff\xff\xff")
	s.ask(infoAsk + "\xff\xff\xff\xff")
	s.answer(info("Challenge -1", "", 440, 440, 1, 32))
	server(12) // the old request for a challenge, twice, and without an answer
	s.ask(single + "W")
	s.answer(given)
	s.ask(single + "W")
	s.answer(given)
	server(13)
	s.ask(single + "W")
	s.wait(10 * time.Second)
	server(14) // its bytes reversed
	s.ask(playerNo)
	s.answer(given)
	s.ask(single + "U\x27\x75\x09\x66")
	s.answer(given)
	s.ask(infoHas)
	s.answer(strings.Replace(info("Port reversed", "", 440, 440, 1, 32), "\xf1\x87\x69", "\xf1\x69\x87", 1))
	server(15) // one FF too many, as in qstat's tests
	s.ask(infoAsk)
	s.answer(unhex("FF FF FF FF FF 41 32 42 59 45 53 93 43 71"))
	s.ask(infoAsk + "2BYE")
	s.answer(strings.Replace(info("Values that nobody defined", "", 440, 440, 1, 32), "dl\x00\x01", "sx\x00\x02", 1))
	s.ask(playerNo)
	s.answer(players(false, "Alice", "Bob") + "\x00")
	s.ask(rulesNo)
	s.answer(rules(3) + "x")
}

// a2sFrontlines plays a server of Frontlines: Fuel of War: info asked for and stated in its
// own way, numbers big-endian.
func a2sFrontlines(s *stage) {
	s.between("192.0.2.20:50000", "198.51.100.10:5478")
	s.ask(single + "FLSQ")
	s.answer(single + "I\x02A server [FL]\x00FL-Boneyard\x00FOW\x00FL\x00Frontlines: Fuel of War\x001.3.0\x00\x15\x64\x00\x20dw\x00\x00\x1e\x01\x03\x07\x08")
	s.ask(single + "W")
	s.answer(single + "A\x0b\x5a\x1e\x0f")
	s.ask(single + "V\x0b\x5a\x1e\x0f")
	s.answer(single + "E\x00\x03FriendlyFire\x000\x00AutoBalanceTeams\x001\x00Map:0\x00FL-Boneyard\x00")
	s.ask(single + "U\x0b\x5a\x1e\x0f")
	s.answer(single + "D\x00")
}
