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
	"io"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/qdissect/qdissect/internal/mkpcap"
)

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
	return &Stage{
		W: mkpcap.NewWriter(w, o), Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Step: 100 * time.Microsecond,
		rng: rand.New(rand.NewPCG(7, 7)),
	}
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
		f := binary.BigEndian.AppendUint16([]byte{2, 0, 0, 0, 0, 20, 2, 0, 0, 0, 0, 10}, etherType(packet))
		s.W.Frame(s.Now, append(f, packet...))
	}
	s.Now = s.Now.Add(s.Step)
}

func etherType(packet []byte) uint16 {
	if len(packet) > 0 && packet[0]>>4 == 6 {
		return 0x86dd
	}
	return 0x0800
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
