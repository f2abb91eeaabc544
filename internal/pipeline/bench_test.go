package pipeline

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/reassembly"
	"github.com/qdissect/qdissect/report"
)

// datagrams returns what the frames of the project's captures carry.
func datagrams(t testing.TB) (list []dissect.Datagram) {
	d := packet.NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, nil)
	var in packet.Datagram
	for _, f := range frames(t) {
		raw := packet.Frame{Number: f.Number, Time: f.Time.UTC(), LinkType: f.LinkType, Data: f.Data, Length: f.Length}
		if d.Decode(&raw, &in).OK() {
			list = append(list, dissect.Datagram{
				Frame: in.Frame, Time: in.Time, First: in.First, Src: in.Src, Dst: in.Dst, Payload: bytes.Clone(in.Payload),
			})
		}
	}
	return list
}

// catcher keeps what the last datagram was.
type catcher struct {
	protocol *dissect.Protocol
	message  *dissect.MessageType
	parts    int
	packed   bool
}

func (c *catcher) Record(r *dissect.Record) {
	c.protocol, c.message, c.parts, c.packed = r.Protocol, r.Type, r.Split.Parts, r.Compressed
}

func (c *catcher) name() string {
	if c.protocol == nil {
		return ""
	}
	name := c.protocol.Name + "_" + c.message.Name
	if c.packed {
		name += "_bzip2"
	}
	return name
}

func (c *catcher) Unknown(*dissect.Unknown)     {}
func (c *catcher) Finding(*dissect.FlowFinding) {}

func analyzer(t testing.TB, tree bool, h dissect.Handler) *dissect.Analyzer {
	t.Helper()
	a := must.Get(dissect.New(dissect.Config{Protocols: all.Protocols(), Tree: tree}, h))(t)
	return a
}

// BenchmarkMessage measures one message of each kind, of the captures the
// longest that comes whole, from the datagram to the output: classified,
// decoded, paired, written.
func BenchmarkMessage(b *testing.B) {
	var c catcher
	a := analyzer(b, false, &c)
	longest := map[string]dissect.Datagram{}
	for _, d := range datagrams(b) {
		c = catcher{}
		a.Datagram(&d)
		if name := c.name(); name != "" && c.parts == 0 && len(d.Payload) > len(longest[name].Payload) {
			longest[name] = d
		}
	}
	for _, name := range slices.Sorted(maps.Keys(longest)) {
		for _, mode := range []struct {
			name     string
			tree     bool
			reporter func() report.Reporter
		}{
			{"struct", false, nil},
			{"tree", true, nil},
			{"json", true, func() report.Reporter { return report.NewJSON(report.JSONOptions{}) }},
			{"text", false, func() report.Reporter { return report.NewText(report.TextOptions{}) }},
		} {
			b.Run(name+"/"+mode.name, func(b *testing.B) {
				var h dissect.Handler = new(catcher)
				if mode.reporter != nil {
					h = report.NewWriter(io.Discard, mode.reporter())
				}
				a := analyzer(b, mode.tree, h)
				d := longest[name]
				b.SetBytes(int64(len(d.Payload)))
				b.ReportAllocs()
				for b.Loop() {
					d.Time = d.Time.Add(time.Minute)
					d.First = d.Time
					a.Advance(d.Time)
					a.Datagram(&d)
				}
			})
		}
	}
}
