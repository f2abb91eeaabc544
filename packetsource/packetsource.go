// Package packetsource dissects the packets of a [gopacket.PacketDataSource]: a
// capture file through pcapgo, an interface through afpacket or pcap.
//
// IP fragments are joined, TCP connections of known protocols are read, tunnels are decoded to the innermost datagram, and ICMP
// errors are matched with the requests that they are about, as the program
// qdissect does it.
package packetsource

import (
	"io"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/convert"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/internal/streams"
	"github.com/qdissect/qdissect/reassembly"
)

// A Source reads packets and delivers their messages to a [dissect.Handler]. It is
// not safe for concurrent use.
type Source struct {
	src      gopacket.PacketDataSource
	link     layers.LinkType
	handler  dissect.Handler
	analyzer *dissect.Analyzer
	decoder  *packet.Decoder
	convert  convert.Converter
	streams  *streams.Streams
	frame    packet.Frame
	in       packet.Datagram
	datagram dissect.Datagram
	lost     dissect.FlowFinding
	swept    time.Time
}

// New returns a Source that reads from src packets of a link type. A pcapng file
// with several link types needs pcapgo.NgReaderOptions.WantMixedLinkType; its
// packets name their link types. The error is that of [dissect.New].
func New(src gopacket.PacketDataSource, link layers.LinkType, c dissect.Config, h dissect.Handler) (*Source, error) {
	if c.Budget == nil {
		c.Budget = reassembly.NewBudget(0)
	}
	a, err := dissect.New(c, h)
	if err != nil {
		return nil, err
	}
	s := &Source{src: src, link: link, handler: h, analyzer: a}
	s.decoder = packet.NewDecoder(c.Budget, reassembly.Limits{}, s.incomplete)
	s.streams = streams.New(c.Protocols, c.DecodeAs, func(d *dissect.Datagram) error {
		a.Datagram(d)
		return nil
	})
	return s, nil
}

// Run reads packets until src returns an error. At [io.EOF] it delivers everything
// that is unfinished and returns nil; it returns any other error as it is. After a
// temporary error, such as the timeout of a live capture, it can be called again.
func (s *Source) Run() error {
	for {
		data, info, err := s.src.ReadPacketData()
		if err == io.EOF {
			s.Flush()
			return nil
		}
		if err != nil {
			return err
		}
		s.packet(data, info)
	}
}

// Flush delivers everything that is unfinished: incomplete messages and requests
// without a reply. Run calls it at the end of a file; a live capture calls it last.
func (s *Source) Flush() {
	s.decoder.Flush()
	s.streams.Flush()
	s.analyzer.Flush()
}

// Analyzer returns the analyzer, for its counts.
func (s *Source) Analyzer() *dissect.Analyzer { return s.analyzer }

// packet dissects one packet.
func (s *Source) packet(data []byte, info gopacket.CaptureInfo) {
	const interval = 256
	f := &s.frame
	f.Number, f.Time, f.LinkType, f.Data, f.Length = f.Number+1, info.Timestamp, uint16(s.link), data, info.Length
	for _, a := range info.AncillaryData {
		if link, ok := a.(layers.LinkType); ok {
			f.LinkType = uint16(link)
		}
	}
	if past := f.Time.Sub(s.swept); f.Number%interval == 0 || past >= time.Second || past < 0 {
		s.swept = f.Time
		s.decoder.Expire(f.Time)
		s.streams.Advance(f.Time)
		s.analyzer.Advance(f.Time)
	}
	switch o := s.decoder.Decode(f, &s.in); {
	case o.OK():
		s.convert.Datagram(&s.datagram, &s.in, nil)
		s.analyzer.Datagram(&s.datagram)
	case o == packet.TCP && !s.streams.Foreign(s.decoder.Segment()) && s.streams.Wants(s.decoder.Packet(), s.decoder.Segment()):
		_, _ = s.streams.Segment(&streams.Segment{Frame: f.Number, Time: f.Time, Snapped: max(f.Length-len(f.Data), 0), IP: s.decoder.Packet(), Data: s.decoder.Segment()}) // never an error
	case o == packet.FragmentHeld && s.in.Src.IsValid():
		s.analyzer.Inner(core.Only{}).Arriving(f.Number, s.in.Src, s.in.Dst)
	case o == packet.ICMPError:
		if q, ok := s.decoder.Quoted(); ok {
			_ = s.convert.Errors(q, func(x *dissect.ICMPError) error {
				s.analyzer.ICMP(x)
				return nil
			})
		}
	}
}

// incomplete delivers the finding about an IP packet with missing fragments.
func (s *Source) incomplete(l *packet.Loss) {
	if !s.convert.Loss(&s.lost, l) {
		return
	}
	if l.Protocol == convert.UDP {
		var payload []byte
		if l.Headed {
			payload = l.Payload
		}
		s.analyzer.Inner(core.Only{}).LostFragments(&s.lost, payload)
	}
	s.handler.Finding(&s.lost)
}
