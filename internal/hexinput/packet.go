package hexinput

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/reassembly"
)

// linkTypes are the link types that are tried, since a dump does not name its
// own: raw IP, Ethernet, Linux cooked 1 and 2, and loopback
// (https://www.tcpdump.org/linktypes.html).
var linkTypes = [...]uint16{linkRaw, linkEthernet, 113, 276, 0}

const (
	linkRaw      = 101
	linkEthernet = 1
)

// minFrame is the length to which Ethernet pads a frame, without its check
// sequence.
const minFrame = 60

// strip removes the headers if the data are a packet.
func (d *Datagram) strip() {
	if d.packet && isQuery(d.Data) {
		return // a program that prints payloads in the style of tcpdump
	}
	if reason := d.unwrap(!d.packet); reason != "" && d.packet {
		d.note("%s", reason)
	}
}

// unwrap replaces an IP packet, or a frame that holds one, by its UDP payload.
// It returns the reason if it cannot, "" otherwise.
//
// If exact is set, all lengths must agree with each other. Otherwise the data
// are known to be a packet, and one that was cut is read as far as it goes.
func (d *Datagram) unwrap(exact bool) (reason string) {
	const shortest = 28 // IPv4 and UDP without a payload
	b := d.Data
	if exact && len(b) < shortest {
		return "too short for a packet"
	}
	fragment := false
	decoder := packet.NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, func(l *packet.Loss) {
		if l.Headed && !exact {
			d.Data, d.Src, d.Dst, fragment = bytes.Clone(l.Payload), l.Src, l.Dst, true
		}
	})
	for _, link := range linkTypes {
		f, out := packet.Frame{LinkType: link, Data: b[:len(b):len(b)]}, packet.Datagram{}
		if !exact {
			f.Length = 2 * MaxDatagram // longer than anything it can say
		}
		outcome := decoder.Decode(&f, &out)
		if decoder.Flush(); fragment {
			d.note("the first fragment of a larger packet")
			return ""
		}
		trailing := cap(out.Payload) - len(out.Payload)
		switch {
		case outcome.OK() && exact && (len(out.Anomalies()) > 0 || trailing > 0 && (link == linkRaw || len(b) > minFrame)):
			reason = cmp.Or(reason, "the lengths do not agree")
		case outcome.OK():
			d.Data, d.Src, d.Dst = out.Payload, out.Src, out.Dst
			for _, a := range out.Anomalies() {
				d.note("%v", a)
			}
			if out.Missing > 0 {
				d.note("%d of %d bytes of payload: the packet was cut", len(d.Data), len(d.Data)+out.Missing)
			}
			return ""
		case outcome == packet.NotIP && link == linkEthernet:
			if t := binary.BigEndian.Uint16(b[12:]); t >= 0x0600 {
				reason = cmp.Or(reason, fmt.Sprintf("an Ethernet frame of type 0x%04x, not IP", t))
			}
		case outcome == packet.TCP:
			reason = cmp.Or(reason, "an IP packet of protocol 6, not UDP")
		case outcome != packet.NotIP && outcome != packet.IPBad && outcome != packet.LinkCut:
			reason = cmp.Or(reason, fmt.Sprintf("no UDP datagram: %v", outcome))
		}
	}
	return cmp.Or(reason, "neither an IP packet nor an Ethernet frame")
}
