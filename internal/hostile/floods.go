package hostile

import (
	"encoding/binary"
	"net/netip"
	"sync"

	"github.com/qdissect/qdissect/internal/mkpcap"
)

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
			size := uint32(1 << 20)
			if i%2 == 0 {
				size = 200 << 20
			}
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
			head := ""
			if i%255 == 0 {
				head = single + "E\xff\xff"
			}
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
