package pipeline

import (
	"io"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/internal/streams"
	"github.com/qdissect/qdissect/reassembly"
)

// Walk dissects a capture in one goroutine, and its messages with their fields. Before each frame it calls seen with the
// time, that of the frame before if the frame has none; an error of seen ends it. trouble is the reason why the capture
// could not be read to its end.
func Walk(in capture.Source, c dissect.Config, h dissect.Handler, seen func(time.Time) error) (trouble, err error) {
	c.Tree, c.Budget = true, reassembly.NewBudget(0)
	analyzer, err := dissect.New(c, h)
	if err != nil {
		return nil, err
	}
	decoder := packet.NewDecoder(c.Budget, reassembly.Limits{}, nil)
	tcp := streams.New(c.Protocols, c.DecodeAs, func(d *dissect.Datagram) error {
		analyzer.Datagram(d)
		return nil
	})
	var f capture.Frame
	var d packet.Datagram
	now, swept := time.Unix(0, 0).UTC(), time.Time{}
	for trouble = in.Next(&f); trouble == nil; trouble = in.Next(&f) {
		if !f.Time.IsZero() {
			now = f.Time.UTC()
		}
		if err := seen(now); err != nil {
			return nil, err
		}
		if past := now.Sub(swept); past >= time.Second || past < 0 {
			swept = now
			decoder.Expire(now)
			tcp.Advance(now)
			analyzer.Advance(now)
		}
		switch is := decoder.Decode(&packet.Frame{Number: f.Number, Time: now, LinkType: f.LinkType, Data: f.Data, Length: f.Length}, &d); {
		case is == packet.TCP:
			var o packet.Outline
			if decoder.OutlineSegment(&o, &d); tcp.Wants(o.Packet, o.Payload) {
				if _, err := tcp.Segment(&streams.Segment{Frame: f.Number, Time: now, Snapped: max(f.Length-len(f.Data), 0), IP: o.Packet, Data: o.Payload}); err != nil {
					return nil, err
				}
			}
		case is.OK():
			analyzer.Datagram(&dissect.Datagram{
				Frame: d.Frame, Frames: d.Frames, Time: d.Time, First: d.First, Src: d.Src, Dst: d.Dst, Payload: d.Payload, Missing: d.Missing,
			})
		}
	}
	decoder.Flush()
	tcp.Flush()
	analyzer.Flush()
	if n := analyzer.Stats().Panics; n > 0 && trouble == io.EOF {
		trouble = PanicError(n)
	}
	if trouble == io.EOF {
		trouble = nil
	}
	return trouble, nil
}
