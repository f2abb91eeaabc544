package doom3

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect/dissecttest"
)

const head = "\xff\xff"

func u16(n int) string { return string(binary.LittleEndian.AppendUint16(nil, uint16(n))) }
func u32(n int) string { return string(binary.LittleEndian.AppendUint32(nil, uint32(n))) }

const (
	windows    = "\x01\x00\x00\x00"
	tailNormal = windows + "\x01" + "\x40\x42\x0f\x00" + "\x02" + "\x00" + "\x03"
)

// A bitMessage is written as the engine does: the lowest bits first, text and the data
// after it aligned to bytes.
type bitMessage struct {
	b   []byte
	bit int // bits used of the last byte, 0 if it is full
}

func (m *bitMessage) bits(v uint64, n int) {
	for ; n > 0; n-- {
		if m.bit == 0 {
			m.b = append(m.b, 0)
		}
		m.b[len(m.b)-1] |= byte(v&1) << m.bit
		v >>= 1
		m.bit = (m.bit + 1) % 8
	}
}

func (m *bitMessage) text(s string) {
	m.bit = 0
	m.b = append(append(m.b, s...), 0)
}

// FuzzLayout compares players with bits, as in the beta, with the same players in
// bytes.
func FuzzLayout(f *testing.F) {
	f.Add("Tsu", "", uint16(43), uint8(3), true, true)
	f.Add("", "\xff\xfe", uint16(65535), uint8(31), false, true)
	f.Fuzz(func(t *testing.T, name, clan string, ping uint16, n uint8, rate, withClan bool) {
		name, clan = strings.ReplaceAll(name, "\x00", ""), strings.ReplaceAll(clan, "\x00", "")
		l := layout{rate: rate, place: withClan, clan: withClan, bot: true, bits: true, end: places, tail: tailQuakeWars}
		var m bitMessage
		var plain []byte
		for id := range int(n % places) {
			bot := byte(id & 1)
			m.bits(uint64(id), 8)
			m.bits(uint64(ping), 16)
			plain = binary.LittleEndian.AppendUint16(append(plain, byte(id)), ping)
			if rate {
				m.bits(uint64(ping)*7, 32)
				plain = binary.LittleEndian.AppendUint32(plain, uint32(ping)*7)
			}
			m.text(name)
			plain = append(append(plain, name...), 0)
			if withClan {
				m.bits(uint64(id%2), 8)
				m.text(clan)
				plain = append(append(append(plain, byte(id%2)), clan...), 0)
			}
			m.bits(uint64(bot), 1)
			plain = append(plain, bot)
		}
		m.bits(places, 8)
		plain = append(plain, places)
		for _, c := range []byte(tailNormal) {
			m.bits(uint64(c), 8)
		}
		plain = append(plain, tailNormal...)
		got, ok := l.unshift(nil, m.b)
		if !ok || string(got) != string(plain) {
			t.Fatalf("%v\n%x\n%x", ok, got, plain)
		}
		if _, ok := l.fits(got, false); !ok {
			t.Errorf("does not fit: %x", got)
		}
	})
}

// TestSecrets checks that neither passwords nor keys appear in the output.
func TestSecrets(t *testing.T) {
	for _, payload := range []string{
		head + "rcon\x00hidden\x00status\x00",
		head + "connect\x00" + u16(42) + u16(1) + u32(1) + u32(2) + u16(3) + u32(4) + "\x00hidden\x00\x00\x00",
		head + "clAuth\x00" + u16(41) + u16(1) + "\x01\x02\x03\x04\x05\x06\x01hidden\x00\x01hidden\x00",
		head + "gameAuth\x00" + u16(41) + u16(1) + "\x01hidden\x00\x01hidden\x00",
	} {
		got := dissecttest.Decode(t, Protocol(), []byte(payload))
		if strings.Contains(string(got.AppendSummary(nil)), "hidden") {
			t.Errorf("%s", got.AppendSummary(nil))
		}
		for _, n := range got.Nodes {
			if strings.Contains(string(n.Value(got.Sources[n.Source].Data)), "hidden") && !n.Field.Secret {
				t.Errorf("%s is not secret", n.Field.Path)
			}
		}
	}
}
