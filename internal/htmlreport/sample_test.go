package htmlreport

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/hostile"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/talks"
	"github.com/qdissect/qdissect/internal/tools/scenes"
	"github.com/qdissect/qdissect/report"
)

// The reports of the tests: of scenes, and what makes them worse.

var t0 = time.Date(2023, 11, 14, 22, 13, 20, 0, time.UTC)

type sample struct {
	name string
	make func() *stats.Report
}

var samples = []sample{
	{"flood", flood}, {"quiet", quiet}, {"hostile", hostileNames}, {"empty", empty}, {"onesided", oneSided}, {"large", large},
}

// reportOf returns a function that makes the report of those frames of a scene that are kept.
func reportOf(name string, span time.Duration, keep func(frame []byte) bool) func() *stats.Report {
	counts := sync.OnceValue(func() *pipeline.Counts { return countsOf(name, span, keep) })
	made := stats.Made{Version: "v0.9.0-dev", Command: "qdissect report evening.pcapng -o evening.html", Files: []stats.File{
		{Name: "evening.pcapng", Word: "evening.pcapng", SHA256: strings.Repeat("3b5d5c37", 8), Packets: 8119, First: t0, Last: t0.Add(span)}}}
	return func() *stats.Report {
		made.Files = slices.Clone(made.Files)
		r := counts().Stats.Report(stats.Options{Home: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}, HomeBy: "option", Packets: 8119, Made: made})
		r.Talks = counts().Talks.List(r.Findings, config, made.Files)
		return r
	}
}

var config = dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign()}

func countsOf(name string, span time.Duration, keep func(frame []byte) bool) *pipeline.Counts {
	s, err := scenes.Find(name)
	if err != nil {
		panic(err)
	}
	var file bytes.Buffer
	w := mkpcap.NewWriter(&file, mkpcap.Options{})
	if _, err = s.Play(scenes.Options{Start: t0, Span: span, Clients: 150, Rate: 400}, func(p *scenes.Packet) error {
		if keep(p.Frame) {
			w.Frame(p.At, p.Frame)
		}
		return w.Err()
	}); err != nil {
		panic(err)
	}
	o := pipeline.Options{
		Inputs: []string{"-"}, Stdin: &file, Out: io.Discard, Workers: 1, Trouble: func(err error) { panic(err) },
		Analysis: config,
		Counts:   &pipeline.Counts{Stats: stats.New(), Talks: talks.New()},
		Reporter: func() report.Reporter { return report.SummaryOnly(report.NewCounts()) },
	}
	if _, err := pipeline.Run(o); err != nil {
		panic(err)
	}
	return o.Counts
}

func everything([]byte) bool { return true }

var (
	mixed = reportOf("mixed", 40*time.Second, everything)
	// quiet is an evening on which nothing happened.
	quiet = reportOf("quiet", time.Minute, everything)
	// oneSided is a capture that has requests only, of four seconds.
	oneSided = reportOf("quiet", 4*time.Second, func(frame []byte) bool { return !bytes.HasPrefix(frame[26:], []byte{198, 51, 100}) })
)

// flood is an evening of honest traffic with a forged flood, two reflections and junk.
func flood() *stats.Report {
	r := mixed()
	r.Unclear = append(r.Unclear, "Between 22:13:52 and 22:13:53 the kernel lost 5,172 packets: rates in that time are too low.")
	r.Unknowns = append(r.Unknowns, stats.Guess{What: "DNS", Count: 701})
	return r
}

// large fills every table, picture and conversation: as the most that a report may hold.
func large() *stats.Report {
	r := flood()
	t := &r.Timeline
	for _, s := range []*stats.Series{&t.Requests, &t.Replies, &t.Challenges, &t.Unanswered, &t.Unknown, &t.BytesIn, &t.BytesOut, &t.Lost} {
		*s = slices.Repeat(append(*s, 1), 1000)[:1000]
	}
	for i := range MaxServers - 1 {
		s, c := r.Servers[0], r.Clients[0]
		s.Address, s.Name, s.Map = fmt.Sprintf("[2001:db8:ffff:ffff:ffff:ffff:ffff:%04x]:27015", 0x1000+i), strings.Repeat("long name ", 20), strings.Repeat("map_", 30)
		c.Address = fmt.Sprintf("2001:db8:ffff:ffff:ffff:ffff:ffff:%04x", 0x1000+i)
		r.Servers, r.Clients, r.Victims = append(r.Servers, s), append(r.Clients, c), append(r.Victims, c)
	}
	r.RoundTrips.Heat = slices.Repeat(r.RoundTrips.Heat, 120)[:120]
	talk, f := r.Talks[0], r.Findings[0]
	talk.Messages = slices.Repeat(talk.Messages, 32)
	for i := range 40 {
		talk.Why, f.ID = fmt.Sprintf("some.finding.%d", i), fmt.Sprintf("some.finding.%d", i)
		f.Doc = strings.Repeat("It may also be that the network or a firewall dropped it. ", 9)
		r.Talks, r.Findings = append(r.Talks, talk), append(r.Findings, f)
	}
	return r
}

// nasty is what a hostile server states as its name.
const nasty = `"><script>alert(1)</script><img src=x onerror=alert(2)>{{.}}</title></style></script>` + "\u202e\u2066" + hostile.Evil + "javascript:alert(3)"

// hostileNames is the flood with nasty text in every field of text.
func hostileNames() *stats.Report {
	r := flood()
	bad := func(all ...*string) {
		for _, s := range all {
			*s = nasty + *s
		}
	}
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		bad(&v.Server, &v.Text, &v.Advice)
		for k := range v.Sources {
			bad(&v.Sources[k])
		}
		for k := range v.Evidence {
			bad(&v.Evidence[k].Name)
		}
	}
	bad(&r.Verdicts[2].Kind, &r.Home[0], &r.Made.Version, &r.Made.Command, &r.Made.Files[0].Name, &r.Made.Files[0].SHA256, &r.Unclear[0])
	for i := range r.Servers {
		s := &r.Servers[i]
		bad(&s.Address, &s.Protocol, &s.Name, &s.Map, &s.ICMP)
	}
	for i := range r.Clients {
		bad(&r.Clients[i].Address, &r.Clients[i].Kind, (*string)(&r.Clients[i].Class))
	}
	for i := range r.Kinds {
		bad(&r.Kinds[i].Protocol, &r.Kinds[i].Message)
	}
	for i := range r.Rules {
		bad(&r.Rules[i].Format, &r.Rules[i].Title, &r.Rules[i].Text, &r.Rules[i].Effect)
	}
	for i := range r.Limits.Global {
		bad(&r.Limits.Global[i].Kind)
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		bad(&f.ID, &f.Severity, &f.Text, &f.Doc)
		for k := range f.Examples {
			bad(&f.Examples[k].Command, &f.Examples[k].File)
		}
	}
	bad(&r.Unknowns[0].What, &r.HomeBy)
	for i := range r.Talks {
		t := &r.Talks[i]
		bad(&t.Why, &t.Severity, &t.Protocol, &t.Client, &t.Server)
		for k := range t.Messages {
			m := &t.Messages[k]
			bad(&m.Message, &m.Summary)
			for j := range m.Findings {
				bad(&m.Findings[j])
			}
			for j := range m.Fields {
				bad(&m.Fields[j].Name, &m.Fields[j].Value)
			}
		}
	}
	return r
}

// empty is a report about nothing.
func empty() *stats.Report {
	return &stats.Report{Head: stats.Head{Type: "report", Schema: stats.Schema},
		Verdicts: []stats.Verdict{{Kind: "cannot_tell", Text: "The capture has no packets of game-server queries.", Advice: "Capture on the machine of the server, or on a mirror port, without a filter for ports."}},
		Made:     stats.Made{Version: "v0.9.0-dev", Command: "qdissect report empty.pcap -o empty.html", Files: []stats.File{{Name: "empty.pcap"}}}}
}
