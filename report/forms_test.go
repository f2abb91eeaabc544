package report_test

import (
	"fmt"
	"math"
	"net/netip"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/a2s"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/dissect/minecraftjava"
	"github.com/qdissect/qdissect/dissect/quakeworldmaster"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/report"
)

// fields returns the message of testdata/fields.txt: a line for each field has source, depth, name, kind, number, bytes, and what is declared.
func fields(t *testing.T) *dissect.Record {
	c := dissect.NewCatalog("made-up")
	r := &dissect.Record{Protocol: &dissect.Protocol{Name: "made-up", Catalog: c}, Datagram: &dissect.Datagram{Frame: 9}, Foreign: all.Foreign()}
	r.Type = c.Message(dissect.MessageType{Name: "fields", Title: "fields"})
	r.Sources = []dissect.Source{{Name: "payload", Frame: 8}, {Name: "payload", Frame: 9}, {Name: "joined"}, {Name: "decompressed"}}
	options := map[string]dissect.Option{
		"framing": dissect.Framing, "secret": dissect.Secret, "named": core.Counted(1, "one", "two"), "bits": core.BitsFrom(1, "low", "middle", "high"),
		"latin1": core.InLatin1, "quake3": core.InText(core.Latin1, core.Quake3), "": core.Ignored,
	}
	kinds := map[string]dissect.Kind{}
	for k := range dissect.List + 1 {
		kinds[k.String()] = k
	}
	for line := range strings.Lines(string(must.Get(os.ReadFile("testdata/fields.txt"))(t))) {
		quoted := line[strings.IndexByte(line, '"'):]
		quoted = must.Get(strconv.QuotedPrefix(quoted))(t)
		before, option, _ := strings.Cut(strings.TrimSpace(line), quoted)
		n := dissect.Node{}
		var name, kind, number string
		must.Get(fmt.Sscan(before, &n.Source, &n.Depth, &name, &kind, &number))(t)
		if n.Field = c.Lookup("made-up." + name); n.Field == nil {
			n.Field = c.Add(name, kinds[kind], "A field.", options[strings.TrimSpace(option)])
		}
		if kind == "float" {
			n.Num = math.Float64bits(must.Get(strconv.ParseFloat(number, 64))(t))
		} else {
			n.Num = uint64(must.Get(strconv.ParseInt(number, 10, 64))(t))
		}
		s, value := &r.Sources[n.Source], must.Get(strconv.Unquote(quoted))(t)
		n.Off, n.Len, s.Data = uint32(len(s.Data)), uint32(len(value)), append(s.Data, value...)
		r.Nodes = append(r.Nodes, n)
	}
	return r
}

// play writes an event with several reporters, and what they write for it again, if that differs.
func play(out *strings.Builder, what string, event func(report.Reporter) error, reporters ...report.Reporter) {
	fmt.Fprintf(out, "== %s\n", what)
	for _, r := range reporters {
		r.Begin(report.Capture{Start: time.Unix(1000, 0)})
		r.Reset()
		event(r)
		first := string(r.Bytes())
		out.WriteString(first)
		r.Reset()
		event(r)
		if again := string(r.Bytes()); again != first {
			fmt.Fprintf(out, "-- again\n%s", again)
		}
	}
}

func tree(secrets bool) report.Reporter {
	return &notes{Text: report.NewText(report.TextOptions{}), tree: report.NewTreeNote(secrets)}
}

var (
	tcp, p = minecraftjava.Protocol(), a2s.Protocol()
	ends   = [2]netip.AddrPort{netip.MustParseAddrPort("198.51.100.1:27015"), netip.MustParseAddrPort("192.0.2.1:1000")}
)

// madeUp returns a finding of a severity.
func madeUp(n dissect.Severity) dissect.Finding {
	return dissect.NewFinding(&dissect.FindingType{ID: "made.up", Severity: n, Text: "text"})
}

// sides writes what a message has beside its fields.
func sides(out *strings.Builder) {
	for i, change := range []func(r *dissect.Record){
		func(r *dissect.Record) { r.TimeKnown, r.RTT = true, 999*time.Nanosecond }, func(r *dissect.Record) { r.TimeKnown, r.RTT = true, time.Microsecond },
		func(r *dissect.Record) { r.Ambiguous, r.Time = true, time.Time{} }, func(r *dissect.Record) { r.Src = netip.AddrPort{} },
		func(r *dissect.Record) { r.Dst = netip.AddrPort{} }, func(r *dissect.Record) { r.Frames = []uint64{7} },
		func(r *dissect.Record) { r.Frames = []uint64{2, 7} }, func(r *dissect.Record) { r.Frames, r.Protocol = []uint64{1, 2, 3, 4, 5, 7}, tcp },
		func(r *dissect.Record) { r.Frames = []uint64{1, 2, 3, 4, 5, 6, 7}; r.Compressed, r.Packed = true, 300 },
		func(r *dissect.Record) { r.Compressed, r.Packed, r.Unpacked, r.Verified = true, 300, 301, true },
		func(r *dissect.Record) {
			r.Split = dissect.Split{Parts: 1, Total: 1, Variant: "source", ID: 77, Compressed: true}
		},
		func(r *dissect.Record) {
			r.Split, r.Frames, r.Missing = dissect.Split{Parts: 2, Total: 4, Partial: true}, []uint64{5, 7}, []int{2, 3}
		},
		func(r *dissect.Record) { r.Split, r.Missing = dissect.Split{Parts: 1, Partial: true}, []int{2} },
		func(r *dissect.Record) {
			r.Alternatives, r.RequestFrame = []*dissect.Protocol{quakeworldmaster.Protocol(), tcp}, 0
		},
		func(r *dissect.Record) { r.VLAN, r.Interface, r.Type = 1, "eth\"0", p.Catalog.Messages()[0] },
		func(r *dissect.Record) {
			r.Findings = []dissect.Finding{madeUp(0), madeUp(2), madeUp(1), madeUp(3), madeUp(1), madeUp(2)}
		},
		func(r *dissect.Record) {
			r.Findings = []dissect.Finding{madeUp(1)}
			r.Findings[0].Field, r.Findings[0].Length = p.Catalog.Data(), 1
			r.Server = dissect.Server{Name: opt("^1n\xe9"), Map: opt("m"), Game: opt("g"), Version: opt("v"), Players: opt(-1), MaxPlayers: opt(2), Bots: opt(0), Password: opt(true), Style: core.Quake3}
		},
	} {
		r := dissect.Record{Datagram: &dissect.Datagram{Frame: 7, Src: ends[0], Dst: ends[1], Time: time.Unix(1001, 5)},
			Protocol: p, RequestFrame: 6, Sources: []dissect.Source{{Name: "payload", Frame: 7, Data: []byte("x")}}}
		r.Type = p.Catalog.Messages()[1]
		change(&r)
		play(out, fmt.Sprint("message ", i), func(to report.Reporter) error { return to.Record(&r) },
			report.NewText(report.TextOptions{}), report.NewText(report.TextOptions{Below: true}), report.NewJSON(report.JSONOptions{}), tree(false))
	}
}

// others writes what belongs to no message.
func others(out *strings.Builder) {
	for _, payload := range []string{"", "x", "24 bytes, not one above.", "rcon sesame and 10 bytes and more\x00\x7f\xff"} {
		u := dissect.Unknown{Datagram: &dissect.Datagram{Frame: 1234567, Src: ends[0], Dst: ends[1], Time: time.Unix(999, 9e8-1),
			Payload: []byte(payload), Missing: len(payload), Frames: []uint64{5}}, Foreign: all.Foreign()}
		play(out, "unknown", func(to report.Reporter) error { return to.Unknown(&u) }, report.NewText(report.TextOptions{}),
			report.NewText(report.TextOptions{Secrets: true, Clock: report.Epoch}),
			report.NewText(report.TextOptions{Detail: report.Hex, Clock: report.Delta}), report.NewJSON(report.JSONOptions{}),
			report.NewJSON(report.JSONOptions{Secrets: true}))
	}
	for i, change := range []func(f *dissect.FlowFinding){
		func(f *dissect.FlowFinding) {
			f.Protocol, f.Type = nil, &dissect.FindingType{ID: "made.up", Severity: dissect.Failed, Text: "text"}
		},
		func(f *dissect.FlowFinding) { f.NoPorts, f.Alternatives, f.VLAN = true, []*dissect.Protocol{tcp}, 4095 },
		func(f *dissect.FlowFinding) { f.Reply, f.ICMPFrame = true, 8 },
		func(f *dissect.FlowFinding) { f.Protocol, f.Time = tcp, f.Time.Add(-time.Hour) }, func(f *dissect.FlowFinding) { f.Finding = madeUp(dissect.Chat) },
	} {
		f := dissect.FlowFinding{Finding: dissect.NewFinding(core.Trailing, dissect.Num(2)), Frame: 9, Time: time.Unix(1001, 0),
			Src: ends[0], Dst: ends[1], Protocol: p}
		change(&f)
		play(out, fmt.Sprint("finding ", i), func(to report.Reporter) error { return to.Finding(&f) }, report.NewText(report.TextOptions{}),
			report.NewText(report.TextOptions{Below: true, Detail: report.Tree, Width: 40}), report.NewJSON(report.JSONOptions{}))
		fmt.Fprintf(out, "%s%s, %s\n", report.NewTreeNote(false).Finding(&f), report.AppendFlowNote(nil, &f), report.AppendMoreNotes(nil, 2))
	}
	for number := range 3 { // the beginning of captures, and lines with the time since the one before
		c := report.Capture{File: "a\x1b.pcap", LinkType: "ETHERNET", Start: time.Unix(1000, 0), Number: number, FirstFrame: uint64(number)}
		d := report.NewText(report.TextOptions{Clock: report.Delta})
		play(out, "begin", func(to report.Reporter) error { return to.Begin(c) }, report.NewText(report.TextOptions{ManyFiles: true, Color: true, Marked: true}),
			report.NewJSON(report.JSONOptions{Array: true}))
		for ms := range 3 {
			d.Unknown(&dissect.Unknown{Datagram: &dissect.Datagram{Frame: 1, Time: time.Unix(1000, int64(ms*ms)*1e6)}, Foreign: all.Foreign()})
		}
		fmt.Fprintf(out, "%s%s%s%s", d.Bytes(), report.NewTreeNote(false).Cut(1+number), report.NewTreeNote(false).Frame("made-up.path", -number),
			report.NewTreeNote(false).Part(&dissect.Record{Protocol: tcp}))
	}
}

func opt[T any](v T) dissect.Opt[T] { return dissect.Opt[T]{Value: v, OK: true} }

// counted returns the summary of a made-up run, whose numbers begin with first and grow by step from one to the next; marks are set where they are odd.
func counted(first, step uint64) *report.Summary {
	p := []*dissect.Protocol{a2s.Protocol(), minecraftjava.Protocol(), quakeworldmaster.Protocol()}
	s := &report.Summary{Protocols: p, Messages: make([]uint64, 3), RoundTrips: make([]report.RoundTrips, 2), Streams: make([]report.Stream, 3), EvictedSeconds: make([]core.Evictions, 2)}
	n := first
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		switch k := v.Kind(); {
		case v.CanUint():
			v.SetUint(n)
		case v.CanInt():
			v.SetInt(int64(n))
		case k == reflect.Bool:
			v.SetBool(n&1 == 1)
		case v.Type() == reflect.TypeFor[time.Time]() && n > 0:
			v.Set(reflect.ValueOf(time.Unix(int64(n), 0)))
		case k == reflect.Struct && v.Type().PkgPath() != "time" && v.Type().PkgPath() != "net/netip":
			for _, field := range v.Fields() {
				fill(field)
			}
			return
		case k == reflect.Array || k == reflect.Slice:
			for i := range v.Len() {
				fill(v.Index(i))
			}
			return
		default:
			return
		}
		n += step
	}
	fill(reflect.ValueOf(s).Elem())
	s.Chosen = first < 3
	for i := range s.RoundTrips {
		r := &s.RoundTrips[i]
		r.Min, r.Max, r.Sum = r.Min*1e6, r.Max*1e6, r.Sum*1e9
	}
	for i := range s.Streams {
		s.Streams[i].Tried *= 3
	}
	s.Ambiguous = map[dissect.Ambiguous]uint64{{Protocol: 0, Others: 2}: first / 2, {Protocol: 0, Others: 6}: 0, {Protocol: 2, Others: 1}: s.Messages[2]}
	for i := range s.Protocols {
		if first > 0 {
			r := dissect.Record{Protocol: p[i]}
			r.Type, r.TimeKnown, r.RTT = p[i].Catalog.Messages()[0], i > 0, time.Duration(first*1e6)
			r.Findings = []dissect.Finding{dissect.NewFinding(core.Trailing, dissect.Num(1)), dissect.NewFinding(core.TimeBack, dissect.Dur(time.Second))}
			s.Tally.Record(&r)
			s.Tally.Unknown([]byte("looks like nothing"))
		}
	}
	return s
}
