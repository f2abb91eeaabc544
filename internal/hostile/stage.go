// Package hostile makes the traffic of people who want to hurt whoever looks at
// it: forged floods, bombs, lies, damaged files. Honest conversations run
// between all of it, so that a test can tell whether they are still understood.
//
// The small ones are the captures in testdata/pcaps/hostile; the large ones are
// made as they are read. The same call gives the same bytes.
package hostile

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/qdissect/qdissect/internal/mkpcap"
)

// A Stage is where a scene plays. Attackers and honest people take turns.
type Stage struct {
	W    *mkpcap.Writer
	Now  time.Time
	Step time.Duration // between two frames
	rng  *rand.Rand
	// What the honest have said so far: the round, the conversation, the turn.
	round, talk, turn int
	// Quiet leaves the attackers out: what stays is what must be understood
	// whatever they do.
	Quiet bool
}

// NewStage begins a capture.
func NewStage(w io.Writer, o mkpcap.Options) *Stage {
	o.MTU = 1500
	return &Stage{
		W: mkpcap.NewWriter(w, o), Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Step: 100 * time.Microsecond,
		rng: rand.New(rand.NewPCG(7, 7)),
	}
}

// Speak lets the honest say the next n datagrams. When they have said all they
// begin again, from other addresses.
func (s *Stage) Speak(n int) {
	for range n {
		t := &talks[s.talk]
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
			if s.talk++; s.talk == len(talks) {
				s.talk = 0
				s.round++
			}
		}
	}
}

// Finish lets the honest say what is left of the round that they have begun.
func (s *Stage) Finish() {
	for s.talk != 0 || s.turn != 0 {
		s.Speak(1)
	}
}

// Strike sends a datagram of an attacker.
func (s *Stage) Strike(src, dst netip.AddrPort, payload string) {
	if !s.Quiet {
		s.W.UDP(s.Now, src, dst, []byte(payload))
	}
	s.Now = s.Now.Add(s.Step)
}

// Frame sends a frame of an attacker: an IP packet or a piece of one.
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

// forged returns an address that nobody has, another one each time.
func (s *Stage) forged() netip.AddrPort {
	r := s.rng.Uint64()
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(r), byte(r >> 8), byte(r >> 16)}), uint16(1024+r>>24%64000))
}

// The victim and one attacker of flesh and blood.
var (
	victim   = netip.MustParseAddrPort("198.51.100.10:27015")
	attacker = netip.MustParseAddrPort("203.0.113.66:27015")
)
