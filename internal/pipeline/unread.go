package pipeline

import (
	"encoding/binary"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/internal/streams"
	"github.com/qdissect/qdissect/report"
)

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
			e.census.tcp.see(o.Packet, b)
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
