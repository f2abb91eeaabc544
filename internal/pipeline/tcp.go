package pipeline

import (
	"encoding/binary"
	"net/netip"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/internal/streams"
	"github.com/qdissect/qdissect/report"
)

// gamePorts are those of games and of their consoles that players and programs reach with TCP.
var gamePorts = [...]uint16{3979, 7777, 8211, 10011, 25565, 25575, 27015, 27016, 27017, 28016, 30033, 30120, 64738}

var tcpPorts = func() (p streams.Ports) {
	for _, n := range gamePorts {
		p.Add(n)
	}
	return p
}()

// tcp counts the TCP connections to servers. Segments that neither begin nor refuse one count only if they are of a known port.
type tcp struct {
	list    []report.Stream
	places  map[netip.AddrPort]int
	ports   streams.Ports // of those in the list
	pending [256]opening  // by a hash of the ends; newer ones replace older ones
}

// An opening is a connection that a client asked for.
type opening struct {
	client, server netip.AddrPort
	done           bool // it was made or refused
}

// reads notes that what goes to and from the server of a message is read.
func (t *tcp) reads(d *dissect.Datagram) {
	server := d.Dst
	if d.FromServer {
		server = d.Src
	}
	if s := t.of(server, false); s != nil {
		s.Read = true
	}
}

// see counts a segment of an IP packet, of a known port or one that begins or refuses a connection.
func (t *tcp) see(ip, b []byte) {
	from, to, flags := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:]), b[13]
	// Web servers are many, and no game's: few of their segments need more than a look at a port.
	counts := tcpPorts.Has(to) || to >= 1024 && len(t.list) < maxStreams/2
	if asks := flags&(packet.SYN|packet.ACK) == packet.SYN; asks && !counts && !t.ports.Has(to) || !asks && flags&(packet.SYN|packet.RST) != 0 && !t.ports.Has(from) {
		return
	}
	a, z := packet.Addresses(ip)
	src, dst := netip.AddrPortFrom(a, from), netip.AddrPortFrom(z, to)
	switch {
	case flags&(packet.SYN|packet.ACK) == packet.SYN:
		s := t.of(dst, counts)
		if s == nil {
			return
		}
		s.Packets++
		if o := t.opening(src, dst); o.client != src || o.server != dst || o.done {
			*o = opening{client: src, server: dst}
			s.Tried++
		}
	case flags&(packet.SYN|packet.RST) != 0:
		s := t.of(src, false)
		if s == nil {
			return
		}
		s.Packets++
		if o := t.opening(dst, src); o.client == dst && o.server == src && !o.done {
			if o.done = true; flags&packet.RST != 0 {
				s.Refused++
			} else {
				s.Made++
			}
		}
	default:
		server := dst
		if !tcpPorts.Has(to) || tcpPorts.Has(from) && t.of(src, false) != nil {
			server = src
		}
		if s := t.of(server, true); s != nil {
			s.Packets++
		}
	}
}

func (t *tcp) opening(client, server netip.AddrPort) *opening {
	h := uint32(client.Port())*0x9e3779b1 ^ uint32(server.Port())*0x85ebca6b
	for _, a := range [...]netip.Addr{client.Addr(), server.Addr()} {
		b := a.As16()
		h = (h ^ binary.BigEndian.Uint32(b[12:])) * 0x9e3779b1
	}
	return &t.pending[h>>24]
}

// maxStreams is how many servers are counted.
const maxStreams = 256

// of returns the counts of a server, which may be new; nil if it is not counted.
func (t *tcp) of(server netip.AddrPort, fresh bool) *report.Stream {
	i, ok := t.places[server]
	if !ok {
		if !fresh || len(t.list) == maxStreams {
			return nil
		}
		if t.places == nil {
			t.places = map[netip.AddrPort]int{}
		}
		i = len(t.list)
		t.places[server] = i
		t.ports.Add(server.Port())
		t.list = append(t.list, report.Stream{Server: server})
	}
	return &t.list[i]
}
