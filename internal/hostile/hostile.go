// Package hostile generates attacks: forged floods, decompression bombs, wrong counts,
// damaged files. Honest conversations run in between, so that a test can check that
// they are still decoded.
//
// The small attacks are the captures in testdata/pcaps/hostile. The large ones are
// generated while they are read. The output is deterministic.
package hostile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/dsnet/compress/bzip2"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/nettext"
)

// A turn is a datagram of a conversation.
type turn struct {
	reply   bool
	payload string
}

// A talk is an honest conversation with a server.
type talk struct {
	server string
	turns  []turn
}

const (
	single = "\xff\xff\xff\xff"
	ask    = single + "TSource Engine Query\x00"
	given  = single + "A\x66\x09\x75\x27"
	proof  = "\x66\x09\x75\x27"
)

// talks are honest conversations with messages of every form: whole, split,
// compressed, and in IP fragments.
var talks = sync.OnceValue(makeTalks)

func makeTalks() []talk {
	a2s := []turn{{false, ask}, {true, given}, {false, ask + proof}, {true, Info("Honest server", 12)},
		{false, single + "U" + proof}, {true, Players("Alice", "Bob", "Carol")}, {false, single + "V" + proof}}
	parts := Split(0x2db2, 1248, Rules(101))
	for _, i := range []int{1, 0, 2} {
		a2s = append(a2s, turn{true, parts[i]})
	}
	packed := []turn{{false, single + "V" + proof}}
	for _, p := range Pack(0x00280098, 300, Rules(250)) {
		packed = append(packed, turn{true, p})
	}
	var names []string
	for i := range 80 {
		names = append(names, fmt.Sprintf("Player with a long name %02d", i))
	}
	return []talk{
		{"198.51.100.10:27015", a2s},
		{"198.51.100.11:27015", packed},
		{"198.51.100.12:27165", []turn{{false, single + "U" + proof}, {true, Players(names...)}}},
		{"198.51.100.13:27960", []turn{{false, single + "getstatus 17"}, {true, single + "statusResponse\n\\sv_hostname\\Honest arena\\mapname\\q3dm17\\challenge\\17\\sv_maxclients\\16\n3 48 \"Grunt\"\n0 999 \"Newbie\"\n"}}},
		{"198.51.100.14:25565", []turn{
			{false, "\xfe\xfd\x09\x00\x00\x00\x01"}, {true, "\x09\x00\x00\x00\x019513307\x00"},
			{false, "\xfe\xfd\x00\x00\x00\x00\x01\x00\x91\x29\x5b"},
			{true, "\x00\x00\x00\x00\x01Honest world\x00SMP\x00world\x002\x0020\x00\xdd\x63198.51.100.14\x00"},
		}},
		{"198.51.100.15:7778", []turn{
			{false, "\\status\\"}, {true, "\\gamename\\ut\\hostname\\Honest UT\\mapname\\DM-Deck16\\numplayers\\2\\maxplayers\\16\\queryid\\52.1"},
			{true, "\\player_0\\Ann\\frags_0\\5\\player_1\\Ben\\frags_1\\3\\queryid\\52.2\\final\\"},
		}},
	}
}

// Datagrams returns the number of datagrams in one round of all conversations.
func Datagrams() int { return nettext.Sum(talks(), func(t talk) int { return len(t.turns) }) }

// Honest reports whether the address belongs to an honest client.
func Honest(a netip.Addr) bool { return honestNet.Contains(a.Unmap()) }

var honestNet = netip.MustParsePrefix("192.0.2.0/24")

// Info returns an info reply of a Source server.
func Info(name string, online byte) string {
	b := []byte(single + "I\x11" + name + "\x00ctf_2fort\x00tf\x00Team Fortress\x00")
	b = binary.LittleEndian.AppendUint16(b, 440)
	b = append(b, online, 32, 0, 'd', 'l', 0, 1)
	return string(b) + "9543365\x00\x00"
}

// Players returns a players reply.
func Players(names ...string) string {
	b := append([]byte(single+"D"), byte(len(names)))
	for i, name := range names {
		b = append(b, 0)
		b = append(b, name...)
		b = append(b, 0)
		b = binary.LittleEndian.AppendUint32(b, uint32(int32(7*i-3)))
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(3600-23.5*float64(i))))
	}
	return string(b)
}

// Rules returns a rules reply with n rules.
func Rules(n int) string {
	b := binary.LittleEndian.AppendUint16([]byte(single+"E"), uint16(n))
	for i := range n {
		b = fmt.Appendf(b, "mp_setting_number_%03d\x00%d.%d\x00", i, i*i%97, i%10)
	}
	return string(b)
}

// Split splits a message in the format of Source.
func Split(id uint32, size int, message string) (parts []string) {
	total := (len(message) + size - 1) / size
	for i := range total {
		parts = append(parts, part(id, total, i, message[i*size:min((i+1)*size, len(message))]))
	}
	return parts
}

// part returns a part with the header of Source.
func part(id uint32, total, index int, data string) string {
	b := binary.LittleEndian.AppendUint32([]byte("\xfe\xff\xff\xff"), id)
	b = append(b, byte(total), byte(index))
	return string(binary.LittleEndian.AppendUint16(b, 1248)) + data
}

// Pack returns a compressed message, split in the format without a size.
func Pack(id uint32, size int, message string) []string {
	var z bytes.Buffer
	w, err := bzip2.NewWriter(&z, nil)
	if err == nil {
		_, err = w.Write([]byte(message))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // writes to a buffer do not fail
	}
	return packed(id, size, uint32(len(message)), crc32.ChecksumIEEE([]byte(message)), z.String())
}

// packed returns the parts of a compressed message with an arbitrary size and
// checksum.
func packed(id uint32, size int, unpacked, sum uint32, stream string) (parts []string) {
	b := binary.LittleEndian.AppendUint32(nil, unpacked)
	b = binary.LittleEndian.AppendUint32(b, sum)
	data := string(b) + stream
	total := (len(data) + size - 1) / size
	for i := range total {
		h := binary.LittleEndian.AppendUint32([]byte("\xfe\xff\xff\xff"), id|1<<31)
		parts = append(parts, string(append(h, byte(total), byte(i)))+data[i*size:min((i+1)*size, len(data))])
	}
	return parts
}

// long repeats s to a length of n bytes.
func long(s string, n int) string { return strings.Repeat(s, n/len(s)+1)[:n] }

// Evil is text that must not reach a terminal: control characters, escape sequences,
// bidirectional marks, zero-width characters, and invalid UTF-8.
const Evil = "\x1b]0;owned\x07\x1b[2J\x9b31m\u009b31m\u202ertl\u202c\u200b\u2066\u2069\ufeff\u2028\U000e0041\xc3\x28\xff\xfe\r\b\x7f\x00"

// A Flood is an endless flood of datagrams.
type Flood struct {
	Name string
	Doc  string
	// Strike sends the i-th datagram or group of datagrams.
	Strike func(s *Stage, i int)
}

// Play sends n of them, with honest datagrams in between.
func (f *Flood) Play(s *Stage, n int) {
	every := max(16, n/4000)
	for i := range n {
		f.Strike(s, i)
		if i%every == every-1 {
			s.Speak(1)
		}
	}
	s.Finish()
}

// Floods returns all floods.
func Floods() []Flood {
	return []Flood{
		{"forged-info", "info requests, each from another forged address", func(s *Stage, _ int) { s.Strike(s.forged(), victim, ask) }},
		{"forged-kinds", "requests of all kinds, some with challenges that nobody gave, from forged addresses", forgedKinds},
		{"forged-replies", "challenges and info replies that nobody asked for, from forged servers", forgedReplies},
		{"one-source", "requests from one source, each a little different", func(s *Stage, i int) {
			s.Strike(attacker, victim, ask+string(binary.LittleEndian.AppendUint32(nil, uint32(i))))
		}},
		{"first-parts", "first parts of split messages whose rest never comes", func(s *Stage, i int) {
			s.Strike(s.forged(), attacker, part(uint32(i), 255, 0, single+"E\xff\xff"+long("key\x00value\x00", 1200)))
		}},
		{"growing-sets", "split messages of 255 parts that lack one each", func(s *Stage, i int) {
			from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 7, byte(i / 254 >> 8), byte(i / 254)}), 27015)
			data := long("x", 1248)
			if i%254 == 0 {
				data = single + "E\xff\xff" + data[7:]
			}
			s.Strike(from, attacker, part(9, 255, i%254, data))
		}},
		{"fragments", "first fragments of IP packets whose rest never comes", func(s *Stage, i int) {
			src := s.forged()
			seg := mkpcap.UDPSegment(src, victim, []byte(long(Rules(100), 1472)))
			s.Frame(mkpcap.IP(src.Addr(), victim.Addr(), uint16(i), 17, 0, true, true, seg[:1480]))
		}},
		{"tiny-fragments", "IP fragments of eight bytes, of packets of 64 KiB that never end", func(s *Stage, i int) {
			src := netip.AddrFrom4([4]byte{10, 8, byte(i / 8000 >> 8), byte(i / 8000)})
			s.Frame(mkpcap.IP(src, victim.Addr(), 1, 17, i%8000*8, true, true, []byte("8 bytes!")))
		}},
		{"bombs", "compressed messages that unfold to much more than they say, or say that they do", func(s *Stage, i int) {
			size := nettext.Either(i%2 == 0, 200<<20, uint32(1<<20))
			for _, p := range packed(uint32(i), 1400, size, 0, bombs[i%len(bombs)]) {
				s.Strike(s.forged(), attacker, p)
			}
		}},
		{"many-rules", "a million settings of no length in a message of a kilobyte", func(s *Stage, _ int) {
			s.Strike(s.forged(), attacker, manySettings())
		}},
		{"small-rules", "settings of no length, as many as fit into a datagram, or into a split message", func(s *Stage, i int) {
			if i%2 == 0 {
				s.Strike(s.forged(), attacker, single+"E\xff\xff"+long("\x00", 1400))
				return
			}
			i /= 2
			head := nettext.Either(i%255 == 0, single+"E\xff\xff", "")
			s.Strike(attacker, victim, part(uint32(i/255), 255, i%255, head+long("\x00", 1200)))
		}},
	}
}

func forgedKinds(s *Stage, i int) {
	kinds := [...]string{
		ask, ask + "abcd", single + "U" + string(binary.LittleEndian.AppendUint32(nil, uint32(i))), single + "V\xff\xff\xff\xff", single + "W",
		single + "getstatus", single + "getinfo xxx", "\xfe\xfd\x09\x00\x00\x00\x01", "\xfe\xfd\x00CORY\xff\xff\x00", "\\status\\", "\xff\xffgetInfo\x00abcd",
		single + "details\x00", "1\xff0.0.0.0:0\x00\\gamedir\\x\x00",
	}
	s.Strike(s.forged(), victim, kinds[i%len(kinds)])
}

func forgedReplies(s *Stage, i int) {
	n := string(binary.LittleEndian.AppendUint32(nil, uint32(i)))
	if i%2 == 0 {
		s.Strike(s.forged(), attacker, single+"A"+n)
		return
	}
	s.Strike(s.forged(), attacker, Info("forged "+n, byte(i)))
}

// manySettings is a rules reply of terminators only, as long as a compressed message
// may be.
var manySettings = sync.OnceValue(func() string { return Pack(5, 4000, single+"E\xff\xff"+long("\x00", 1<<20-7))[0] })

// A Stage writes a capture of attacks and honest traffic.
type Stage struct {
	W    *mkpcap.Writer
	Now  time.Time
	Step time.Duration // between two frames
	rng  *rand.Rand
	// The position in the honest traffic: round, conversation, turn.
	round, talk, turn int
	// Quiet omits the attacks. The remaining traffic must be decoded in any case.
	Quiet bool
}

// NewStage starts a capture.
func NewStage(w io.Writer, o mkpcap.Options) *Stage {
	o.MTU = 1500
	return &Stage{W: mkpcap.NewWriter(w, o), Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Step: 100 * time.Microsecond, rng: rand.New(rand.NewPCG(7, 7))}
}

// Speak writes the next n honest datagrams. After the last one, it starts again with
// other addresses.
func (s *Stage) Speak(n int) {
	for range n {
		t := &talks()[s.talk]
		u := t.turns[s.turn]
		client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(1 + s.round%250)}), uint16(40000+s.talk))
		server := netip.MustParseAddrPort(t.server)
		if u.reply {
			client, server = server, client
		}
		s.W.UDP(s.Now, client, server, []byte(u.payload))
		s.Now = s.Now.Add(s.Step)
		if s.turn++; s.turn == len(t.turns) {
			s.turn = 0
			if s.talk++; s.talk == len(talks()) {
				s.talk = 0
				s.round++
			}
		}
	}
}

// Finish writes the rest of the current round of honest traffic.
func (s *Stage) Finish() {
	for s.talk != 0 || s.turn != 0 {
		s.Speak(1)
	}
}

// Strike writes a datagram of an attacker.
func (s *Stage) Strike(src, dst netip.AddrPort, payload string) {
	if !s.Quiet {
		s.W.UDP(s.Now, src, dst, []byte(payload))
	}
	s.Now = s.Now.Add(s.Step)
}

// Frame writes a frame of an attacker: an IP packet or a fragment.
func (s *Stage) Frame(packet []byte) {
	if !s.Quiet {
		f := binary.BigEndian.AppendUint16([]byte{2, 0, 0, 0, 0, 20, 2, 0, 0, 0, 0, 10}, [...]uint16{4: 0x0800, 6: 0x86dd}[packet[0]>>4])
		s.W.Frame(s.Now, append(f, packet...))
	}
	s.Now = s.Now.Add(s.Step)
}

// forged returns a new unused address.
func (s *Stage) forged() netip.AddrPort {
	r := s.rng.Uint64()
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(r), byte(r >> 8), byte(r >> 16)}), uint16(1024+r>>24%64000))
}

// The victim, and an attacker with a real address.
var (
	victim   = netip.MustParseAddrPort("198.51.100.10:27015")
	attacker = netip.MustParseAddrPort("203.0.113.66:27015")
)

// Talk returns a capture of honest traffic only.
func Talk(o mkpcap.Options) []byte {
	var b bytes.Buffer
	s := NewStage(&b, o)
	s.Speak(Datagrams())
	return b.Bytes()
}

// Window is a zstd file with a window of a terabyte.
const Window = "\x28\xb5\x2f\xfd\x00\xf0\x01\x00\x00"

// bombs are bzip2 streams that decompress to far more than their size: 0 bytes, 1
// byte, and 1, 100 and 200 MiB of zeroes.
var bombs = []string{
	"\x42\x5a\x68\x39\x17\x72\x45\x38\x50\x90\x00\x00\x00\x00", // 0 bytes, of 14
	"\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\xb1\xf7\x40\x4b\x00\x00\x00\x40\x00\x40\x00\x20\x00\x21\x18\x46\x82\xee\x48\xa7\x0a\x12\x16\x3e\xe8\x09\x60",                                 // 1 bytes, of 37
	"\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\x38\x57\x1c\xe5\x00\x08\x08\x40\x00\xc0\x04\x00\x08\x20\x00\x30\xcc\x05\x29\xa6\x08\x06\xc4\x20\x1e\x2e\xe4\x8a\x70\xa1\x20\x70\xae\x39\xca", // 1048576 bytes, of 45
	"\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\x0e\x09\xe2\xdf\x01\x5f\x8e\x40\x00\xc0\x00\x00\x08\x20\x00\x30\x80\x4d\x46\x42\xa0\x25\xa9\x0a\x80\x97\x31\x41\x59\x26\x53\x59\x0e\x09\xe2\xdf\x01\x5f\x8e\x40\x00\xc0\x00\x00\x08\x20\x00\x30\x80\x4d\x46\x42\xa0\x25\xa9\x0a\x80\x97\x31\x41\x59\x26\x53\x59\x8a\x96\xd7\xa9\x00\x64\x06\x44\x00\xc0\x00\x10\x00\x00\x08\x20\x00\x30\xcc\x05\x29\xa6\x28\x04\x5b\x12\x80\x45\xe2\xee\x48\xa7\x0a\x12\x15\xd4\x53\x2d\x60",                                                                                                                                                                                                                                                                 // 104857600 bytes, of 113
	"\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\x0e\x09\xe2\xdf\x01\x5f\x8e\x40\x00\xc0\x00\x00\x08\x20\x00\x30\x80\x4d\x46\x42\xa0\x25\xa9\x0a\x80\x97\x31\x41\x59\x26\x53\x59\x0e\x09\xe2\xdf\x01\x5f\x8e\x40\x00\xc0\x00\x00\x08\x20\x00\x30\x80\x4d\x46\x42\xa0\x25\xa9\x0a\x80\x97\x31\x41\x59\x26\x53\x59\x0e\x09\xe2\xdf\x01\x5f\x8e\x40\x00\xc0\x00\x00\x08\x20\x00\x30\x80\x4d\x46\x42\xa0\x25\xa9\x0a\x80\x97\x31\x41\x59\x26\x53\x59\x0e\x09\xe2\xdf\x01\x5f\x8e\x40\x00\xc0\x00\x00\x08\x20\x00\x30\x80\x4d\x46\x42\xa0\x25\xa9\x0a\x80\x97\x31\x41\x59\x26\x53\x59\xf1\x31\x84\x70\x00\xc8\x0c\x40\x40\xc0\x00\x00\x40\x00\x08\x20\x00\x30\xcc\x05\x29\xa6\x14\x02\x2d\x88\xa0\x11\x78\xbb\x92\x29\xc2\x84\x82\x2e\xa7\x8d\xd0", // 209715200 bytes, of 177
}
