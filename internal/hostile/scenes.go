package hostile

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"time"

	"github.com/qdissect/qdissect/internal/mkpcap"
)

// A Scene is a small capture of one kind of attack, with honest traffic.
type Scene struct {
	// Name is the name of the capture in testdata/pcaps/hostile.
	Name    string
	Doc     string
	Options mkpcap.Options
	Play    func(*Stage)
}

// Scenes returns all scenes.
func Scenes() []Scene {
	ng := mkpcap.Options{Ng: true}
	return []Scene{
		{"forged.pcap", "requests and replies from forged sources, and many from one source", mkpcap.Options{}, forgedScene},
		{"splits.pcap", "split messages that never end, contradict themselves, or use a number again", mkpcap.Options{}, splitScene},
		{"bzip2.pcap", "compressed messages that are bombs, damaged, or not compressed", mkpcap.Options{}, bzipScene},
		{"fragments.pcap", "IP fragments that overlap, are tiny, reach too far, or never end", mkpcap.Options{}, fragmentScene},
		{"counts.pcap", "counts that lie, in messages of all protocols", mkpcap.Options{}, countScene},
		{"strings.pcap", "strings without end, keys again and again, characters that terminals obey", mkpcap.Options{}, stringScene},
		{"times.pcapng", "timestamps that run backwards and jump by centuries", ng, timeScene},
		{"secrets.pcap", "passwords and tickets: in commands, settings, logs and foreign traffic, whole, cut, in parts and wrongly spelled", mkpcap.Options{}, secretScene},
	}
}

func forgedScene(s *Stage) {
	for _, f := range Floods()[:4] {
		for i := range 13 {
			f.Strike(s, i)
			s.Speak(1)
		}
	}
	s.Finish()
}

// strikes sends payloads from the attacker to the clients of the victim, with honest
// datagrams in between.
func (s *Stage) strikes(payloads ...string) {
	for _, p := range payloads {
		s.Strike(attacker, netip.MustParseAddrPort("203.0.113.99:40000"), p)
		s.Speak(1)
	}
}

func splitScene(s *Stage) {
	head := single + "E\x10\x00"
	for range 6 { // first parts from changing sources
		s.Strike(s.forged(), attacker, part(77, 3, 0, head+"key\x00value\x00"))
		s.Speak(1)
	}
	for i := range 254 { // all parts but one of 255
		s.strikes(part(1000, 255, i, "0123"))
	}
	s.strikes(
		// The total changes within a set.
		part(1001, 3, 0, head+"a\x001\x00"), part(1001, 2, 1, "b\x002\x00"), part(1001, 5, 4, "c\x003\x00"), part(1001, 1, 0, head),
		// The index exceeds the total, and the total is 0.
		part(1002, 2, 7, "beyond"), part(1003, 0, 0, head), part(1004, 255, 255, "end"),
		// A part is sent again with other bytes, and once more.
		part(1005, 2, 0, head+"x\x00y\x00"), part(1005, 2, 0, head+"x\x00z\x00"), part(1005, 2, 0, head+"x\x00y\x00"), part(1005, 2, 1, "q\x00r\x00"),
		// The id is reused after the message is complete.
		part(1005, 2, 0, head+"again\x001\x00"), part(1005, 2, 1, "again\x002\x00"),
		// Empty parts, and a truncated header.
		part(1006, 2, 0, ""), part(1006, 2, 1, ""), "\xfe\xff\xff\xff", "\xfe\xff\xff\xff\x01\x00\x00\x00\x02", "\xfe\xff\xff\xff\x01\x00\x00\x00\x02\x00\xe0",
	)
	for i := range 15 { // GoldSrc: 15 parts, the last one first
		s.strikes("\xfe\xff\xff\xff\x05\x00\x00\x00" + string([]byte{byte((14-i)<<4 | 15)}) + []string{"", head}[b2i(i == 14)] + "k\x00v\x00")
	}
	s.Finish()
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func bzipScene(s *Stage) {
	sound := Pack(1, 1400, Rules(60))[0]
	for i, b := range bombs {
		s.strikes(packed(uint32(i), 1400, 200<<20, 0, b)[0])   // the true size
		s.strikes(packed(uint32(i), 1400, 1<<20, 0, b)[0])     // the largest valid size
		s.strikes(packed(uint32(i), 1400, 4096, 0, b)[0])      // a small size
		s.strikes(packed(uint32(i), 1400, 1<<32-1, 1, b)[0])   // the largest size
		s.strikes(packed(uint32(i), 1400, 0, 0, b)[0])         // size 0
		s.strikes(packed(uint32(i), 40, 4096, 0, b+"tail")...) // in several parts
	}
	s.strikes(
		sound[:14]+"\x00\x00\x00\x00"+sound[18:],        // wrong CRC-32
		sound[:10]+"\x00\x00\x00\x40"+sound[14:],        // a size of 1 GiB
		sound[:200]+"\xff\xff\xff"+sound[203:],          // a damaged stream
		sound[:len(sound)-20],                           // a truncated stream
		sound[:18]+"BZh0"+sound[22:],                    // an invalid level
		sound[:18]+strings.Repeat(bombs[0], 50),         // many empty streams
		part(1<<31|7, 1, 0, Rules(3)),                   // not compressed
		part(1<<31|8, 2, 0, Rules(3)),                   // not compressed and incomplete
		Pack(9, 4000, single+"E\x05\x00")[0],            // valid and empty
		Pack(10, 1400, Pack(11, 1400, Rules(60))[0])[0], // compressed twice
	)
	s.Finish()
}

func fragmentScene(s *Stage) {
	src, dst := attacker.Addr(), netip.MustParseAddr("203.0.113.99")
	seg := mkpcap.UDPSegment(attacker, netip.AddrPortFrom(dst, 40000), []byte(Rules(120)))
	piece := func(id uint16, from, to int, more bool) {
		s.Frame(mkpcap.IP(src, dst, id, 17, from, more, true, seg[from:to]))
		s.Speak(1)
	}
	// Teardrop: the second fragment ends inside the first.
	piece(1, 0, 64, true)
	s.Frame(mkpcap.IP(src, dst, 1, 17, 24, false, true, seg[24:28]))
	// Tiny fragments: the UDP header is split.
	for at := 0; at < 160; at += 8 {
		piece(2, at, at+8, true)
	}
	piece(2, 160, len(seg), false)
	// Overlaps with equal and with different bytes.
	piece(3, 0, 1480, true)
	piece(3, 1000, 2000, true)
	forged := append([]byte(nil), seg...)
	for i := range 400 {
		forged[1200+i] = '#'
	}
	s.Frame(mkpcap.IP(src, dst, 3, 17, 1200, true, true, forged[1200:1600]))
	piece(3, 1480, len(seg), false)
	// Fragments that are never completed.
	for id := range uint16(5) {
		piece(10+id, 0, 1480, true)
	}
	// Beyond the largest packet (ping of death).
	s.Frame(mkpcap.IP(src, dst, 20, 17, 65528, false, true, seg[:400]))
	s.Frame(mkpcap.IP(src, dst, 20, 17, 65528, true, true, seg[:8]))
	// Fragments of a size that is not a multiple of 8, and empty ones.
	s.Frame(mkpcap.IP(src, dst, 21, 17, 0, true, true, seg[:13]))
	s.Frame(mkpcap.IP(src, dst, 21, 17, 8, true, true, nil))
	s.Frame(mkpcap.IP(src, dst, 21, 17, 0, false, true, nil))
	// One identification from many sources.
	var many []netip.AddrPort
	for range 6 {
		many = append(many, s.forged())
	}
	for _, at := range []int{1480, 0} {
		for _, a := range many {
			whole := mkpcap.UDPSegment(a, victim, []byte(Rules(100)))
			end := min(at+1480, len(whole))
			s.Frame(mkpcap.IP(a.Addr(), victim.Addr(), 4, 17, at, end < len(whole), true, whole[at:end]))
			s.Speak(1)
		}
	}
	// Two last fragments that disagree, and data after the end.
	piece(5, 0, 800, true)
	piece(5, 800, 1600, false)
	piece(5, 1600, len(seg), false)
	// Overlaps in IPv6, which are forbidden.
	src6, dst6 := netip.MustParseAddr("2001:db8::66"), netip.MustParseAddr("2001:db8::99")
	seg6 := mkpcap.UDPSegment(netip.AddrPortFrom(src6, 27015), netip.AddrPortFrom(dst6, 40000), []byte(Rules(80)))
	for _, r := range [][2]int{{0, 1200}, {800, 1600}, {1200, len(seg6)}} {
		s.Frame(mkpcap.IP(src6, dst6, 6, 17, r[0], r[1] < len(seg6), true, seg6[r[0]:r[1]]))
	}
	s.Finish()
}

// countScene sends messages with wrong counts and lengths.
func countScene(s *Stage) {
	le := binary.LittleEndian
	u32 := func(n uint32) string { return string(le.AppendUint32(nil, n)) }
	s.strikes(
		single+"D\xff", single+"D\x00\x00Alice\x00"+u32(1)+u32(2), single+"D\xff"+strings.Repeat("\x00\x00"+u32(0)+u32(0), 3),
		single+"E\xff\xff", single+"E\x00\x00key\x00value\x00", single+"E\xff\x7fkey\x00", single+"E\x01\x00\x01\x1f\x00\x01",
		single+"E\x02\x00\x01\x02\x00\x03\x00\xff\xff\xff\xff\xff\xff\x00\x02\x02\x00\xff\xff\xff\xff\xff\x00", // Arma 3: counts in the rules
		Info("n", 255)[:30], single+"I", single+"m\x00\x00\x00\x00\x00\xff\xff\xff", single+"m"+strings.Repeat("a\x00", 5)+"\xff\xff/dl\x01u\x00",
		single+"A", single+"A\x01\x02\x03", single+"j", single+"f\n", single+"f\n\x01\x02\x03\x04\x05", single+"f\n"+strings.Repeat("\xff", 1400),
		"1", "1\xff", "1\xff0.0.0.0:0\x00"+strings.Repeat("\\nor\\255", 40)+"\x00", "1\xff0.0.0.0:0\x00\\nand\\99999999999999999999\\x\\1\x00",
		single+"statusResponse", single+"statusResponse\n\\a", single+"statusResponse\n\\a\\b\n99999999999999999999999 -99999999999999 \"x\"\n",
		single+"statusResponse\n"+strings.Repeat("\\", 600)+"\n"+strings.Repeat("\n", 300), single+"infoResponse\n\\sv_maxclients\\-2147483649\\clients\\4294967296",
		single+"getserversResponse\\", single+"getserversResponse"+strings.Repeat("\\", 700), single+"getserversResponse\\\x01\x02\x03\x04\x05",
		single+"getserversExtResponse/"+strings.Repeat("/", 60), single+"connect \xff\xff\xff\xff",
		"\x00\x00\x00\x00\x01hostname\x00\x00\x00", "\x00\x00\x00\x00\x01splitnum\x00\x80\x00"+"player_\x00\xff", "\x00\x00\x00\x00\x01splitnum\x00\x7f\x00a\x00b\x00",
		"\x00\x00\x00\x00\x01splitnum\x00\x80\x01player_\x00\x00Bob\x00\x00score_\x00\xc8", "\x00CORYhostname\x00x\x00\x00\x00\xffplayer_\x00score_\x00\x00A\x00", "\x00CORY\x00\x00\x00\x7f\x00",
		"\\queryid\\", "\\queryid\\4294967296.4294967296\\final\\", "\\numplayers\\4294967295\\maxplayers\\-1\\player_1023\\x\\player_99999999\\y\\final\\\\queryid\\1.1",
		"\\hostname\\x\\queryid\\9.255", "\\hostname\\x\\queryid\\9.0\\final\\",
		"EYE1", "EYE1\x00", "EYE1\xff", "EYE1\x04mta\x0622003\xff", "EYE1\x04mta\x0622003\x02x\x02y\x02z\x02a\x020\xff1\xff", "EYE1"+strings.Repeat("\x01", 700),
		"\xff\xffinfoResponse\x00", "\xff\xffinfoResponse\x00abcd\x00\x00\x00\x00"+"a\x00b\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff", "\xff\xffservers"+strings.Repeat("\xff", 200),
		"\x09\x00\x00\x00\x01", "\x09\x00\x00\x00\x01-99999999999999999999\x00", "\x00\x00\x00\x00\x01a\x00b\x00c\x00-1\x00999999999999\x00\xff", "\xfe\xfd\x09", "\xfe\xfd\x00\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff",
	)
	s.Finish()
}

// Evil is text that must not reach a terminal: control characters, escape sequences,
// bidirectional marks, zero-width characters, and invalid UTF-8.
const Evil = "\x1b]0;owned\x07\x1b[2J\x9b31m\u009b31m\u202ertl\u202c\u200b\u2066\u2069\ufeff\u2028\U000e0041\xc3\x28\xff\xfe\r\b\x7f\x00"

func stringScene(s *Stage) {
	evil := strings.TrimSuffix(Evil, "\x00")
	s.strikes(
		single+"I\x11"+long("A", 1300), // no terminator
		single+"I\x11"+long("name without end ", 1200)+"\x00m\x00g\x00d\x00\x00\x00\x01\x02\x00dl\x00\x011\x00",
		Info(evil, 1), Players(evil, "", evil+evil), single+"E\x02\x00"+evil+"\x00"+evil+"\x00"+long("k", 500)+"\x00"+long("v", 500)+"\x00",
		single+"E\x90\x01"+strings.Repeat("k\x00v\x00", 300), // the same key many times
		single+"l"+evil, single+"9"+long("B", 1000),
		single+"statusResponse\n\\sv_hostname\\"+evil+strings.Repeat("\\a\\b", 250)+"\n1 2 \""+evil+"\"\n",
		single+"statusResponse\n\\sv_hostname\\"+strings.Repeat("^1", 600)+"\n", single+"print\n"+evil,
		"\\hostname\\"+evil+strings.Repeat("\\hostname\\x", 80)+"\\queryid\\7.1\\final\\", "\\"+long("C", 1200), "\\basic\\"+long("\\", 1000),
		"EYE1\x04mta\x0622003"+string([]byte{byte(1 + len(evil))})+evil+"\x02y\x02z\x02a\x020\x021\x022\x01",
		"\x00\x00\x00\x00\x01"+evil+"\x00SMP\x00world\x002\x0020\x00\xdd\x631.2.3.4\x00", "\x00\x00\x00\x00\x01"+long("D", 1300),
		"\x00\x00\x00\x00\x01splitnum\x00\x80\x00hostname\x00"+evil+"\x00"+strings.Repeat("hostname\x00x\x00", 60)+"\x00\x01player_\x00\x00"+evil+"\x00\x00",
		"\xff\xffinfoResponse\x00abcd\x00\x00\x00\x00si_name\x00"+evil+"\x00"+strings.Repeat("si_name\x00x\x00", 60)+"\x00\x00",
		"1\xff0.0.0.0:0\x00\\gamedir\\"+evil+strings.Repeat("\\nor\\1", 100)+"\x00",
		single+"rcon 1 "+long("E", 900), single+"details"+long("F", 900),
		evil, long(evil, 1400),
	)
	s.Finish()
}

// timeScene changes the clock between conversations. Within one, time is consistent,
// because a reply a year before its request cannot be paired.
func timeScene(s *Stage) {
	clocks := []time.Time{
		time.Unix(0, 0), time.Date(2261, 12, 31, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1971, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2199, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(-time.Nanosecond),
	}
	for i := range 6 {
		s.Now = clocks[i%len(clocks)]
		s.Strike(s.forged(), victim, ask)
		s.Strike(s.forged(), attacker, part(7, 3, 0, single+"E\x10\x00key\x00value\x00"))
		talk := s.talk
		for s.talk == talk {
			s.Speak(1)
		}
	}
	// Each datagram of an attacker is earlier than the one before.
	for i := range 20 {
		s.Now = clocks[2].Add(-time.Duration(i) * 24 * time.Hour)
		s.Strike(attacker, victim, ask+string([]byte{byte(i), 0, 0, 0}))
	}
	s.Now = clocks[2]
	s.Finish()
}
