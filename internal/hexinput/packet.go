package hexinput

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/reassembly"
)

// An unwrapped is the payload below the headers of a packet.
type unwrapped struct {
	payload  []byte
	src, dst netip.AddrPort
	note     string
}

// The link types that are tried (https://www.tcpdump.org/linktypes.html): a dump
// does not name its own.
const (
	linkRaw      = 101
	linkEthernet = 1
	linkSLL      = 113
	linkSLL2     = 276
	linkNull     = 0
)

// minFrame is the length to which Ethernet fills up a frame, without its check
// sequence.
const minFrame = 60

// readPacket takes the headers off an IP packet or a frame that holds one.
//
// When exact is set, nothing but a whole packet is one: all lengths must agree
// with each other. Otherwise b is known to be a packet, and one that was cut is
// read as far as it goes. The reason is "" for success.
func readPacket(b []byte, exact bool) (u unwrapped, reason string) {
	const shortest = 28 // IPv4 and UDP without a payload
	if exact && len(b) < shortest {
		return u, "too short for a packet"
	}
	decoder := packet.NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, func(l *packet.Loss) {
		if l.Headed && !exact {
			u = unwrapped{bytes.Clone(l.Payload), l.Src, l.Dst, "the first fragment of a larger packet"}
		}
	})
	because := func(format string, args ...any) {
		if reason == "" {
			reason = fmt.Sprintf(format, args...)
		}
	}
	for _, link := range [...]uint16{linkRaw, linkEthernet, linkSLL, linkSLL2, linkNull} {
		f, out := packet.Frame{LinkType: link, Data: b[:len(b):len(b)]}, packet.Datagram{}
		if !exact {
			f.Length = 2 * MaxDatagram // whatever it says is credible
		}
		outcome := decoder.Decode(&f, &out)
		if decoder.Flush(); u.note != "" {
			return u, ""
		}
		behind := cap(out.Payload) - len(out.Payload)
		switch {
		case outcome.OK() && exact && (len(out.Anomalies()) > 0 || behind > 0 && (link == linkRaw || len(b) > minFrame)):
			because("the lengths do not agree")
		case outcome.OK():
			u = unwrapped{payload: out.Payload, src: out.Src, dst: out.Dst}
			for _, a := range out.Anomalies() {
				note(&u.note, "%v", a)
			}
			if out.Missing > 0 {
				note(&u.note, "%d of %d bytes of payload: the packet was cut", len(u.payload), len(u.payload)+out.Missing)
			}
			return u, ""
		case outcome == packet.NotIP && link == linkEthernet:
			if t := binary.BigEndian.Uint16(b[12:]); t >= 0x0600 {
				because("an Ethernet frame of type 0x%04x, not IP", t)
			}
		case outcome == packet.TCP:
			because("an IP packet of protocol 6, not UDP")
		case outcome != packet.NotIP && outcome != packet.IPBad && outcome != packet.LinkCut:
			because("no UDP datagram: %v", outcome)
		}
	}
	because("neither an IP packet nor an Ethernet frame")
	return u, reason
}
