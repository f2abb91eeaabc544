package stats_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/tools/scenes"
	"github.com/qdissect/qdissect/report"
)

// counting returns how a capture or a film is counted.
func counting(name string, a *stats.Aggregate) pipeline.Options {
	var film io.Reader
	if b, ok := films.Load(name); ok {
		name, film = "-", bytes.NewReader(b.(*bytes.Buffer).Bytes())
	}
	return pipeline.Options{
		Inputs: []string{name}, Stdin: film, Out: io.Discard, Workers: 1, Counts: &pipeline.Counts{Detailed: true, Stats: a},
		Reporter: func() report.Reporter { return report.SummaryOnly(report.NewCounts()) },
		Analysis: dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign()},
		Trouble:  func(error) {}, // some are damaged
	}
}

// counted counts a capture that is whole.
func counted(t *testing.T, a *stats.Aggregate, capture []byte, workers int) stats.Options {
	t.Helper()
	o := counting("-", a)
	o.Stdin, o.Workers, o.Trouble = bytes.NewReader(capture), workers, func(err error) { t.Error(err) }
	sum := must.Get(pipeline.Run(o))(t)
	return stats.Options{Packets: sum.Packets, OneSided: sum.OneSided > 0}
}

// reported makes the report of a capture.
func reported(t *testing.T, capture []byte, workers int, o stats.Options) *stats.Report {
	t.Helper()
	a := stats.New()
	c := counted(t, a, capture, workers)
	o.Packets, o.OneSided = c.Packets, c.OneSided
	return a.Report(o)
}

// reportSchema compiles the schema of reports.
func reportSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, stats.WriteSchema(&b))
	v, c := must.Get(jsonschema.UnmarshalJSON(&b))(t), jsonschema.NewCompiler()
	c.AssertFormat()
	must.Do(t, c.AddResource("report.json", v))
	s := must.Get(c.Compile("report.json"))(t)
	return s
}

// near reports whether a number is within some percent of the truth.
func near(got, want, percent float64) bool {
	return math.Abs(got-want) <= math.Abs(want)*percent/100+0.5
}

// A told report is what a user of the JSON reads.
type told struct {
	Verdicts []struct {
		Kind, Server, Text, Advice string
		Servers, Sources           []string
		From, To                   time.Time
		Evidence                   map[string]float64
	}
	Totals   map[string]json.RawMessage
	Timeline map[string]json.RawMessage
	Kinds    []struct {
		Message  string
		Requests uint64
		Outcome  map[string]uint64
	}
	Servers []struct {
		Address                    string
		Requests, Replies, Unknown uint64
		BytesIn                    uint64 `json:"bytes_in"`
		BytesOut                   uint64 `json:"bytes_out"`
		Clients                    stats.Distinct
		Outcome                    map[string]uint64
		ByInterval                 []stats.Cell `json:"by_interval"`
	}
	Clients []struct {
		Address           string
		Requests, Replies uint64
		BytesIn           uint64 `json:"bytes_in"`
		BytesOut          uint64 `json:"bytes_out"`
	}
}

// evening returns how a scene is played. By default there are fewer clients, and floods
// are still far above what is usual.
func evening(s scenes.Scene, seed uint64) scenes.Options {
	o := scenes.Options{Seed: seed, Span: 40 * time.Second, Clients: must.Try(400, 1300)}
	if kind, _, _ := strings.Cut(s.Name, "-"); !must.TryAll() && slices.Contains([]string{"forged", "junk", "mixed", "busy"}, kind) {
		o.Rate = 300
	}
	return o
}

// A recording is the capture of a scene and what is true of it.
type recording struct {
	capture []byte
	truth   *scenes.Truth
}

// recordings are functions that return (recording, error), by scene.
var recordings sync.Map

// play plays a scene, by default once for all tests that want the same. They only read
// what it returns.
func play(t *testing.T, name string, o scenes.Options) ([]byte, *scenes.Truth) {
	t.Helper()
	type scene struct {
		name string
		o    scenes.Options
	}
	record := sync.OnceValues(func() (r recording, err error) {
		s, err := scenes.Find(name)
		if err != nil {
			return r, err
		}
		var b bytes.Buffer
		b.Grow(2 << 20) // as large as most
		r.truth, err = s.Write(&b, o)
		r.capture = b.Bytes()
		return r, err
	})
	if !must.TryAll() { // else all seeds differ, and captures are large
		once, _ := recordings.LoadOrStore(scene{name, o}, record)
		record = once.(func() (recording, error))
	}
	r := must.Get(record())(t)
	return r.capture, r.truth
}

// TestScenes compares the reports of scenes with their truth.
func TestScenes(t *testing.T) {
	type variant struct {
		scene string
		o     scenes.Options
	}
	var list []variant
	for i, s := range scenes.All() {
		list = append(list, variant{s.Name, evening(s, must.Try(0, uint64(1+i)))})
		if must.TryAll() {
			for seed := range uint64(3) {
				list = append(list, variant{s.Name, scenes.Options{Seed: seed}}, variant{s.Name, scenes.Options{Seed: seed, Span: 24 * time.Second}})
			}
		}
	}
	small := scenes.Options{Seed: 3, Span: 45 * time.Second, Clients: 1500, Rate: 400}
	more := []variant{
		{"down-icmp", scenes.Options{Seed: 2, Span: 24 * time.Second}}, // an error about one of two equal requests
		{"forged-open", small}, {"forged-challenged", small}, // far above what is usual at the server, not above what all servers are asked
		{"mixed", scenes.Options{Seed: 10, Span: 45 * time.Second, Clients: 1500, Rate: 1000}},
		{"forged-open", scenes.Options{Span: 5 * time.Minute, Clients: 3000, Rate: 100}}, // wide buckets
		{"forged-open", scenes.Options{Span: 12 * time.Second, Clients: 1500}},
		{"forged-open", scenes.Options{Span: 15 * time.Second, Clients: 500, Rate: 6000, Sources: 2000}}, // which come again and again
		{"long-lost", scenes.Options{From: 20 * time.Second, To: 40 * time.Second, Span: time.Minute}},
		{"long-lost-fragments", scenes.Options{From: 20 * time.Second, To: 40 * time.Second, Span: time.Minute}},
		{"down", scenes.Options{From: 20 * time.Second, To: 40 * time.Second, Span: time.Minute}},
		{"scanner", scenes.Options{Span: 2 * time.Minute, Clients: 1000, Rate: 60}},
	}
	list = append(list, must.Try(more[:1], more)...)
	if testing.Short() {
		list = list[:4]
	}
	schema, reports := reportSchema(t), make([]*stats.Report, len(list))
	t.Cleanup(func() {
		said := new(stats.Said)
		for i, v := range list {
			if reports[i] == nil || must.TryAll() || testing.Short() {
				return // the golden has the small ones
			}
			said.Report(v.scene, reports[i])
		}
		said.Golden(t, "testdata/scenes.txt")
	})
	for i, v := range list {
		t.Run(fmt.Sprintf("%s-%d-%v-%v", v.scene, v.o.Seed, v.o.Span, v.o.Rate), func(t *testing.T) {
			t.Parallel()
			capture, truth := play(t, v.scene, v.o)
			a := stats.NewFocused(netip.Addr{})
			o := counted(t, a, capture, 1+i%3)
			answers(t, a, o, truth)
			r := a.Report(o)
			reports[i] = r
			mine := must.Get(json.Marshal(r))(t)
			for _, workers := range must.Try([]int{8}, []int{1, 2, 8}) {
				if i%must.Try(6, 1) > 0 {
					break
				}
				if other, err := json.Marshal(reported(t, capture, workers, stats.Options{})); err != nil || !bytes.Equal(mine, other) {
					t.Errorf("with %d workers the report differs: %v", workers, err)
				}
			}
			if i%must.Try(2, 1) == 0 {
				v := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(mine)))(t)
				must.Do(t, schema.Validate(v))
				if i == 0 {
					v = must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(bytes.ReplaceAll(mine, []byte(`"kind":"`), []byte(`"kind":"no `)))))(t)
					if schema.Validate(v) == nil {
						t.Error("the schema allows any kind of verdict")
					}
				}
			}
			var said told
			must.Do(t, json.Unmarshal(mine, &said))
			verdicts(t, &said, truth)
			totals(t, &said, truth)
			servers(t, &said, truth)
			text(t, r)
			calm(t, v.scene, r)
		})
	}
}

// expect compares a number with the truth.
func expect[N, M int | uint64 | float64](t *testing.T, what string, got N, want M, percent float64) {
	t.Helper()
	if !near(float64(got), float64(want), percent) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// verdicts compares the verdicts with the events.
func verdicts(t *testing.T, r *told, truth *scenes.Truth) {
	t.Helper()
	if len(truth.Events) == 0 {
		if len(r.Verdicts) != 1 || r.Verdicts[0].Kind != stats.NothingUnusual {
			t.Errorf("verdicts %+v", r.Verdicts)
		}
		return
	}
	if len(r.Verdicts) != len(truth.Events) {
		t.Errorf("%d verdicts, %d events: %+v", len(r.Verdicts), len(truth.Events), r.Verdicts)
	}
	for _, e := range truth.Events {
		k := -1
		for i, v := range r.Verdicts {
			if v.Kind == e.Kind && (len(e.Sources) == 0 || slices.Equal(v.Sources, e.Sources)) {
				k = i
			}
		}
		if k < 0 {
			t.Errorf("no verdict for %s of %v at %v", e.Kind, e.Sources, e.Servers)
			continue
		}
		v := &r.Verdicts[k]
		if v.Server != "" {
			v.Servers = []string{v.Server}
		}
		if slices.Sort(v.Servers); len(e.Servers) > 0 && !slices.Equal(v.Servers, e.Servers) {
			t.Errorf("%s: servers %s, want %s", v.Kind, v.Servers, e.Servers)
		}
		if n := utf8.RuneCountInString(v.Text); n > 300 || n == 0 || !strings.ContainsAny(v.Text, "0123456789") || v.Advice == "" || len(v.Evidence) == 0 {
			t.Errorf("verdict %q, advice %q", v.Text, v.Advice)
		}
		own := &e.Own
		for name, want := range map[string]float64{
			"requests": float64(own.Requests), "replies": float64(own.Replies), "bytes_in": float64(own.In.IP), "bytes_out": float64(own.Out.IP), "factor": e.Factor,
			"bytes_out_by_bytes_in": e.Factor,
		} {
			if got, ok := v.Evidence[name]; ok && own.Requests > 0 {
				expect(t, v.Kind+" "+name, got, want, 2)
			}
		}
		for _, c := range r.Clients {
			if slices.Contains(e.Sources, c.Address) {
				expect(t, c.Address+" requests", c.Requests, own.Requests, 2)
				expect(t, c.Address+" replies", c.Replies, own.Replies, 2)
				expect(t, c.Address+" bytes in", c.BytesIn, own.In.IP, 2)
				expect(t, c.Address+" bytes out", c.BytesOut, own.Out.IP, 2)
			}
		}
		switch during := &e.During; e.Kind {
		case stats.ForgedFlood:
			expect(t, "sources", v.Evidence["sources"], e.OwnSources, 3)
			if d := v.From.Sub(e.From).Abs() + v.To.Sub(e.To).Abs(); d > time.Second {
				t.Errorf("from %v to %v, want %v to %v", v.From, v.To, e.From, e.To)
			}
		case stats.JunkFlood:
			expect(t, "datagrams", v.Evidence["datagrams"], own.In.Packets, 2)
			expect(t, "bytes of junk", v.Evidence["bytes_in"], own.In.IP, 2)
			expect(t, "sources", v.Evidence["sources"], e.OwnSources, 3)
			if d := v.From.Sub(e.From).Abs() + v.To.Sub(e.To).Abs(); d > time.Second {
				t.Errorf("from %v to %v, want %v to %v", v.From, v.To, e.From, e.To)
			}
		case stats.DropsUnderLoad: // the rate grows for a while before requests are dropped
			if v.From.Before(e.From) || v.From.After(e.From.Add(e.To.Sub(e.From)/5)) || v.To.Sub(e.To).Abs() > 2*time.Second {
				t.Errorf("from %v to %v, want %v to %v", v.From, v.To, e.From, e.To)
			}
		case stats.Scanner:
			n := 0
			for _, s := range truth.Servers {
				if s.ByClass[scenes.Scanner] > 0 {
					n++
				}
			}
			expect(t, "servers", v.Evidence["servers"], n, 3)
		case stats.LongRepliesLost:
			expect(t, "incomplete replies", v.Evidence["incomplete_replies"], during.Partial, 2)
		case stats.ServerDown:
			expect(t, "requests without reply", v.Evidence["requests_without_reply"], during.Unanswered+during.Refused+during.Open+during.Repeated, 2)
		}
	}
}

// totals compares the totals.
func totals(t *testing.T, r *told, truth *scenes.Truth) {
	t.Helper()
	x := &truth.Totals
	number := func(m map[string]json.RawMessage, key string) (n uint64) {
		if err := json.Unmarshal(m[key], &n); err != nil {
			t.Errorf("%s: %v", key, err)
		}
		return n
	}
	class := map[string]uint64{}
	for _, c := range truth.Classes {
		class[c.Name] = c.Requests
	}
	for _, n := range []struct {
		key     string
		want    uint64
		percent float64
	}{
		{"packets", x.Wire.Packets, 0}, {"datagrams", x.Datagrams, 2}, {"requests", x.Requests, 2}, {"replies", x.Replies, 2}, {"challenges", x.Challenges, 2},
		{"unknown", x.Unknown, 0}, {"notices", x.Notices, 0}, {"answered", x.Answered + x.Partial, 2}, {"unanswered", x.Unanswered + x.Refused, 2},
		{"requests_honest", class[scenes.Honest] + class[scenes.Infra] + class[scenes.Scanner], 2}, {"requests_greedy", class[scenes.Greedy], 2},
		{"requests_never_finished", class[scenes.Forged], 2},
	} {
		got := number(r.Totals, n.key)
		if lost := x.Requests / 200; n.key == "requests_never_finished" && got > n.want && got-n.want <= lost {
			continue // challenges and requests with them get lost
		}
		expect(t, n.key, got, n.want, n.percent)
	}
	var addresses stats.Distinct
	must.Do(t, json.Unmarshal(r.Totals["addresses"], &addresses))
	expect(t, "addresses", addresses.Count, x.Clients, 3)
	for _, key := range []string{"requests", "replies", "challenges", "unanswered", "unknown", "bytes_in", "bytes_out"} {
		var series []uint64
		if err := json.Unmarshal(r.Timeline[key], &series); err != nil {
			t.Errorf("%s: %v", key, err)
		}
		sum := uint64(0)
		for _, n := range series {
			sum += n
		}
		expect(t, "timeline of "+key, sum, number(r.Totals, key), 0)
	}
	kinds := uint64(0)
	for _, k := range r.Kinds {
		kinds += k.Requests
		sum := uint64(0)
		for _, n := range k.Outcome {
			sum += n
		}
		expect(t, k.Message, sum, k.Requests, 0)
	}
	expect(t, "kinds", kinds, number(r.Totals, "requests"), 0)
}

// servers compares the busiest servers.
func servers(t *testing.T, r *told, truth *scenes.Truth) {
	t.Helper()
	for i, s := range r.Servers {
		k := slices.IndexFunc(truth.Servers, func(x *scenes.Server) bool { return x.Address == s.Address })
		if k < 0 {
			t.Errorf("server %s", s.Address)
			continue
		}
		x := truth.Servers[k]
		var sum stats.Cell
		for _, c := range s.ByInterval {
			sum.Requests += c.Requests
			sum.Replies += c.Replies
		}
		for _, n := range []struct {
			what      string
			got, want uint64
			percent   float64
		}{
			{"requests", s.Requests, x.Requests, 2}, {"replies", s.Replies, x.Replies, 2}, {"unknown", s.Unknown, x.Junk.Packets, 2},
			{"bytes in", s.BytesIn, x.In.IP + x.Junk.IP, 2}, {"bytes out", s.BytesOut, x.Out.IP + x.JunkOut.IP, 2},
			{"in part", s.Outcome["answered_in_part"], x.Partial, 2}, {"refused", s.Outcome["refused"], x.Refused, 2},
			{"unanswered", s.Outcome["unanswered"], x.Unanswered, 2},
			{"requests by interval", sum.Requests, s.Requests, 0}, {"replies by interval", sum.Replies, s.Replies, 0},
		} {
			expect(t, s.Address+" "+n.what, n.got, n.want, n.percent)
		}
		allowed := nettext.Either(i < 5, 3, 10.)
		expect(t, s.Address+" clients", s.Clients.Count, x.Clients, allowed)
	}
}

// text judges the form of the text.
func text(t *testing.T, r *stats.Report) {
	t.Helper()
	b := string(r.AppendText(nil, 0))
	lines := strings.Split(strings.TrimSuffix(b, "\n"), "\n")
	if len(lines) > 40 {
		t.Errorf("%d lines", len(lines))
	}
	for _, l := range lines {
		if n := utf8.RuneCountInString(l); n > 80 || strings.TrimRight(l, " ") != l {
			t.Errorf("%d columns: %q", n, l)
		}
	}
	if !strings.HasPrefix(b, "* ") {
		t.Errorf("the verdict does not come first: %s", lines[0])
	}
}

// TestHome: servers of other networks are not judged, and listed last.
func TestHome(t *testing.T) {
	s := must.Get(scenes.Find("down"))(t)
	var b bytes.Buffer
	must.Get(s.Write(&b, scenes.Options{Span: 60 * time.Second, Clients: 500}))(t)
	for home, want := range map[string]string{"198.51.100.12": stats.ServerDown, "198.51.100.10/32": stats.NothingUnusual, "198.51.100.0/24": stats.ServerDown} {
		p := must.Get(stats.Prefix(home))(t)
		r := reported(t, b.Bytes(), 1, stats.Options{Home: []netip.Prefix{p}, HomeBy: "option"})
		if r.Verdicts[0].Kind != want {
			t.Errorf("home %s: %+v", home, r.Verdicts)
		}
		if !r.Servers[0].Home {
			t.Errorf("home %s: first is %s", home, r.Servers[0].Address)
		}
	}
	for _, bad := range []string{"", "198.51.100", "198.51.100.0/33", "x"} {
		if _, err := stats.Prefix(bad); err == nil {
			t.Errorf("%q is a network", bad)
		}
	}
}
