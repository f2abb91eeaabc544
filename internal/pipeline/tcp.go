package pipeline

import (
	"encoding/binary"
	"net/netip"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/nettext"
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
	server := nettext.Either(d.FromServer, d.Src, d.Dst)
	if s := t.of(server, false); s != nil {
		s.Read = true
	}
}

// see counts a segment of an IP packet, of a known port or one that begins or refuses a connection, and reports whether it answers one in the capture.
func (t *tcp) see(ip, b []byte) (answers bool) {
	from, to, flags := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:]), b[13]
	// Web servers are many, and no game's: few of their segments need more than a look at a port.
	counts := tcpPorts.Has(to) || to >= 1024 && len(t.list) < maxStreams/2
	if asks := flags&(packet.SYN|packet.ACK) == packet.SYN; asks && !counts && !t.ports.Has(to) || !asks && flags&(packet.SYN|packet.RST) != 0 && !t.ports.Has(from) {
		return false
	}
	a, z := packet.Addresses(ip)
	src, dst := netip.AddrPortFrom(a, from), netip.AddrPortFrom(z, to)
	switch {
	case flags&(packet.SYN|packet.ACK) == packet.SYN:
		s := t.of(dst, counts)
		if s == nil {
			return false
		}
		s.Packets++
		if o, asked := t.opening(src, dst), (opening{client: src, server: dst}); *o != asked {
			*o = asked
			s.Tried++
		}
	case flags&(packet.SYN|packet.RST) != 0:
		s := t.of(src, false)
		if s == nil {
			return false
		}
		s.Packets++
		if o := t.opening(dst, src); *o == (opening{client: dst, server: src}) {
			if o.done, answers = true, true; flags&packet.RST != 0 {
				s.Refused++
			} else {
				s.Made++
			}
		}
	default:
		server := nettext.Either(!tcpPorts.Has(to) || tcpPorts.Has(from) && t.of(src, false) != nil, src, dst)
		if s := t.of(server, true); s != nil {
			s.Packets++
		}
	}
	return answers
}

func (t *tcp) opening(client, server netip.AddrPort) *opening {
	h := uint32(client.Port())*0x9e3779b1 ^ uint32(server.Port())*0x85ebca6b
	for _, a := range [...]netip.Addr{client.Addr(), server.Addr()} {
		b := a.As16()
		h = (h ^ h>>15 ^ binary.BigEndian.Uint32(b[12:])) * 0x9e3779b1
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

// The first packets are examined, and then one of many. Guesses are for captures without
// recognised messages and must cost other captures nothing.
const (
	lookedAt = 1024
	oneOf    = 256
)

// looks reports whether the n-th packet is examined.
func looks(n uint64) bool { return n <= lookedAt || n%oneOf == 0 }

// lookAt guesses the protocol of a payload.
func (e *engine) lookAt(payload []byte) {
	u := &e.census.sum.Unread
	u.Sampled++
	if name := e.o.Analysis.Foreign.LooksLike(payload); name != "" {
		report.Count(&u.Like, name, 0)
	}
}

// segment reads a counted TCP segment of a frame. If it is not foreign, it may be of a protocol, or of a connection that is counted.
func (e *engine) segment(f *capture.Frame, foreign bool) error {
	o, u := &e.decoder.outline, &e.census.sum.Unread
	if !foreign {
		if b := o.Payload; len(b) >= packet.LenTCP && (b[13]&(packet.SYN|packet.RST) != 0 || tcpPorts.Has(binary.BigEndian.Uint16(b)) || tcpPorts.Has(binary.BigEndian.Uint16(b[2:]))) {
			e.census.sides.both = e.census.tcp.see(o.Packet, b) || e.census.sides.both // so that UDP would be, too
		}
		if e.decoder.streams.Wants(o.Packet, o.Payload) {
			if read, err := e.stream(f, o); read || err != nil {
				u.Segments--
				return err
			}
		}
	}
	if looks(u.Segments) {
		e.lookAtSegment(o.Payload)
	}
	return nil
}

// stream reads a TCP segment that may be of a protocol, and reports whether it is of one.
func (e *engine) stream(f *capture.Frame, o *packet.Outline) (read bool, err error) {
	g := streams.Segment{Frame: f.Number, Time: e.at.time(), VLAN: o.VLAN(), Interface: f.Name, Snapped: max(f.Length-len(f.Data), 0), IP: o.Packet, Data: o.Payload}
	if only := e.o.Frames.Only; only != nil && !only(g.Ends()) {
		return false, nil
	}
	if read, err = e.decoder.streams.Segment(&g); read {
		e.given = true // it may carry a part of a message
	}
	return read, err
}

// message gives a message of a stream to its shard.
func (e *engine) message(d *dissect.Datagram) error {
	e.census.tcp.reads(d)
	ends := packet.Datagram{Src: d.Src, Dst: d.Dst}
	it := e.pool.next()
	it.shard, it.kind, it.d, it.ends.Made = uint8(ends.Spread()%shards), aDatagram, *d, false
	return e.give(it)
}

// lookAtSegment guesses the protocol of a TCP segment.
func (e *engine) lookAtSegment(b []byte) {
	u := &e.census.sum.Unread
	u.SampledSegments++
	if len(b) < packet.LenTCP {
		return
	}
	src, dst := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	at := min(int(b[12]>>4)*4, len(b))
	if port, name := streamOf(src, dst, b[at:]); name != "" {
		report.Count(&u.Streams, name, port)
	}
}

// services are common TCP services of game servers, by port.
var services = map[uint16]string{
	22: "SSH", 53: "DNS", 80: "HTTP", 443: "HTTPS", 3979: "OpenTTD", 8080: "HTTP", 10011: "TeamSpeak ServerQuery", 25565: "Minecraft",
	25575: "Source RCON", 27015: "Source RCON", 27016: "Source RCON", 28016: "Rust's WebSocket RCON", 30120: "HTTP of FiveM", 64738: "Mumble",
}

// streamOf guesses the protocol of a segment and the port of its server.
func streamOf(src, dst uint16, payload []byte) (port uint16, name string) {
	for _, port = range [...]uint16{dst, src} {
		if name = services[port]; name != "" {
			return port, name
		}
	}
	head := string(payload[:min(len(payload), 16)])
	switch {
	case strings.HasPrefix(head, "GET "), strings.HasPrefix(head, "POST "), strings.HasPrefix(head, "HEAD "), strings.HasPrefix(head, "HTTP/1."):
		name = "HTTP"
	case strings.HasPrefix(head, "\x16\x03"), strings.HasPrefix(head, "\x17\x03\x03"):
		name = "TLS"
	case strings.HasPrefix(head, "SSH-"):
		name = "SSH"
	}
	return min(src, dst), name
}
