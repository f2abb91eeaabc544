// Package hostile generates attacks: forged floods, decompression bombs, wrong counts,
// damaged files. Honest conversations run in between, so that a test can check that
// they are still decoded.
//
// The small attacks are the captures in testdata/pcaps/hostile. The large ones are
// generated while they are read. The output is deterministic.
package hostile

import (
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
