package stats_test

import (
	"bytes"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/thorough"
	"github.com/qdissect/qdissect/internal/tools/scenes"
	"github.com/qdissect/qdissect/report"
)

// asked answers why the servers at an address do not show up. The port may be 0.
func asked(t *testing.T, capture []byte, workers int, server netip.AddrPort, home ...netip.Prefix) []*stats.Answer {
	t.Helper()
	a := stats.NewFocused(server.Addr())
	sum, err := pipeline.Run(pipeline.Options{
		Inputs: []string{"-"}, Stdin: bytes.NewReader(capture), Out: io.Discard, Workers: workers, Counts: &pipeline.Counts{Stats: a},
		Reporter: func() report.Reporter { return report.SummaryOnly(report.NewCounts()) },
		Analysis: dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign()},
		Trouble:  func(err error) { t.Error(err) },
	})
	must.Do(t, err)
	return a.Why(server, stats.Options{Packets: sum.Packets, OneSided: sum.OneSided > 0, Home: home})
}

// TestWhyScenes: each server of an event has its problem and no other, all others have none.
func TestWhyScenes(t *testing.T) {
	list := scenes.All()
	if testing.Short() {
		list = list[:4]
	}
	for _, s := range list {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			capture, truth := play(t, s.Name, evening(s, 0))
			hit := slices.IndexFunc(truth.Servers, func(x *scenes.Server) bool {
				return slices.ContainsFunc(truth.Events, func(e *scenes.Event) bool { return slices.Contains(e.Servers, x.Address) })
			})
			hit = max(hit, 0) // an event of no server is that of a client
			for i, x := range truth.Servers {
				events := slices.DeleteFunc(slices.Clone(truth.Events), func(e *scenes.Event) bool { return !slices.Contains(e.Servers, x.Address) })
				if x.Name == "" || x.Name == "A server elsewhere" || len(events) == 0 && i > thorough.Of(0, 2) || len(truth.Events) > 0 && i != thorough.Of(hit, i) {
					continue // masters, those that only the scanner knows, and more of the same
				}
				at := netip.MustParseAddrPort(x.Address)
				list := asked(t, capture, 1+i%3, at)
				if len(list) != 1 {
					t.Fatalf("%s: %d answers", x.Address, len(list))
				}
				w := list[0]
				state := stats.Answers
				if len(events) > 0 {
					state = stats.Trouble
				}
				if w.State != state || len(w.Problems) != len(events) || state == stats.Trouble && !slices.Contains(causesOf(events[0].Kind), w.Problems[0]) {
					t.Errorf("%s: %s %v, want %v\n%s", x.Address, w.State, w.Problems, events, w.AppendText(nil))
				}
				if !near(float64(w.Requests), float64(x.Requests), 2) {
					t.Errorf("%s: %d requests, want %d", x.Address, w.Requests, x.Requests)
				}
				if len(w.Advice) == 0 || !strings.Contains(w.Text, x.Address) {
					t.Errorf("%s: %s", x.Address, w.AppendText(nil))
				}
				for _, e := range events {
					v := w.Verdicts[slices.IndexFunc(w.Verdicts, func(v stats.Verdict) bool { return v.Kind == e.Kind })]
					if e.Own.Requests > 0 && !near(v.Evidence[0].Value, float64(e.Own.Requests), 2) && !near(v.Evidence[1].Value, float64(e.Own.Requests), 2) {
						t.Errorf("%s: %s: %+v, want %d requests", x.Address, v.Kind, v.Evidence, e.Own.Requests)
					}
				}
			}
		})
	}
}

// causesOf returns what a server of an event has.
func causesOf(kind string) []string {
	switch kind {
	case stats.ServerDown:
		return []string{"stopped", "silent_at_times", "nothing_listens", "no_reply"}
	case stats.LongRepliesLost:
		return []string{"parts_lost", "fragments_lost"}
	case stats.DropsUnderLoad:
		return []string{stats.DropsUnderLoad, "rate_limit"}
	}
	return []string{kind}
}

// TestWhy: what captures of testdata say about servers.
func TestWhy(t *testing.T) {
	for _, c := range []struct {
		file, server string
		state        stats.State
		problems     string
		text         string // that the answer has
	}{
		{"a2s/documents", "198.51.100.10:27015", stats.Answers, "", "answers, and nothing in the capture stands in the way. It was asked 4 times by 1 address"},
		{"a2s/documents", "198.51.100.10", stats.Answers, "", "198.51.100.10:27015"},
		{"a2s/documents", "198.51.100.99", stats.Unclear, "", "198.51.100.99 is not in the capture: 14 packets, and none to or from it. It has these servers: 198.51.100.10:27015"},
		{"a2s/documents", "198.51.100.10:27016", stats.Unclear, "", "Nobody asked 198.51.100.10:27016 in 90.5 ms. Other ports of that host: 27015 (4 requests, 4 replies)."},
		{"a2s/documents", "192.0.2.20", stats.Unclear, "", "Nobody asked 192.0.2.20 in 90.5 ms, although the capture has 7 datagrams of that host."},
		{"a2s/trouble", "198.51.100.10:27015", stats.Unclear, "", "Too little to say: 198.51.100.10:27015 was asked 6 times, and 5 replies came, with no more than a challenge. Clients of 198.51.100.10:27015 get one challenge after the other and no data (1 time)."},
		{"a2s/trouble", "198.51.100.11:27015", stats.Unclear, "", "(malformed)"},
		{"a2s/trouble", "198.51.100.13:27015", stats.Unclear, "", "was asked 1 time, and the capture ends before a reply has to come."},
		{"icmp/errors6", "[2001:db8:1::10]:27015", stats.Trouble, "nothing_listens", "said so 1 time. It was asked 10 times by 1 address in 9.1 s: 10 a2s info requests (0 % answered, 100 % refused by ICMP)."},
		{"trouble/challenges", "198.51.100.10:27015", stats.Unclear, "", "1 reply of 198.51.100.10:27015 lacks parts."},
		{"trouble/snaplen-parts", "198.51.100.10:27015", stats.Unclear, "", "its snapshot length cut them"},
		{"trouble/late-reply", "198.51.100.10:27015", stats.Unclear, "", "1 of 1 answer of 198.51.100.10:27015 (N) came later than clients wait."},
		{"trouble/other-kind", "198.51.100.10:22126", stats.Unclear, "", "answered none of 2 requests, although 2 replies of another kind came."},
		{"trouble/many-records-quake3", "5.6.7.8:27960", stats.Unclear, "", "The capture has 1 reply from 5.6.7.8:27960 and no requests to it: one direction only."},
		{"teeworlds/trouble", "198.51.100.16:8303", stats.Unclear, "", "Too little to say: 198.51.100.16:8303 was asked 4 times"},
		{"teeworlds/masters", "198.51.100.10:8303", stats.Answers, "", "It sent 1 heartbeat to the master 203.0.113.5:8300, which lists it and asked it 1 time, of which it answered 1."},
		{"valve-master/trouble", "198.51.100.1", stats.Trouble, "master_version", `does not list it, because of its version: heartbeat rejected  "Outdated Version.`},
		{"gamespy3/gs-qr2-challenge", "10.77.0.1:11111", stats.Answers, "", "10.77.0.1:11111 (GameSpy QR2 Sample) answers, and nothing in the capture stands in the way; only private addresses asked it. It was asked 13 times"},
	} {
		b := must.Get(os.ReadFile("../../testdata/pcaps/" + c.file + ".pcap"))(t)
		at, err := netip.ParseAddrPort(c.server)
		if err != nil {
			at = netip.AddrPortFrom(netip.MustParseAddr(c.server), 0)
		}
		w := asked(t, b, 1, at)[0]
		if !strings.Contains(w.Text, at.Addr().String()) {
			t.Errorf("%s: no address in %q", c.file, w.Text)
		}
		if w.State != c.state || strings.Join(w.Problems, " ") != c.problems || !strings.Contains(w.Text, c.text) {
			t.Errorf("%s %s: %s %v\n%s", c.file, c.server, w.State, w.Problems, w.AppendText(nil))
		}
	}
}

// TestWhyOneSided: nobody can tell of a server that sends nothing, but that it replies to those that return its challenges, also if
// its host was the place of the capture.
func TestWhyOneSided(t *testing.T) {
	s := must.Get(scenes.Find("quiet"))(t)
	at := netip.MustParseAddrPort("198.51.100.10:27015")
	var b bytes.Buffer
	must.Get(s.Write(&b, scenes.Options{Span: 30 * time.Second, Clients: 500}))(t)
	to := onlyTo(t, b.Bytes(), at.Addr())
	if w := asked(t, to, 1, at)[0]; w.State != stats.Unclear || !strings.Contains(w.Text, "one direction only, or it does not reply") {
		t.Errorf("%s %s", w.State, w.Text)
	}
	own := netip.PrefixFrom(at.Addr(), at.Addr().BitLen())
	if w := asked(t, to, 1, at, own)[0]; w.State != stats.Unclear || !strings.Contains(w.Text, "return a challenge that it must have given") {
		t.Errorf("%s %v %s", w.State, w.Problems, w.Text)
	}
}

// TestWhyUnknownReplies: a server sends replies that no protocol recognises.
func TestWhyUnknownReplies(t *testing.T) {
	client, server := netip.MustParseAddrPort("198.51.100.7:50000"), netip.MustParseAddrPort("192.0.2.1:27015")
	var b bytes.Buffer
	m, now := mkpcap.NewWriter(&b, mkpcap.Options{MTU: 1500}), time.Unix(1_700_000_000, 0)
	for range 8 {
		m.UDP(now, client, server, []byte("\xff\xff\xff\xffTSource Engine Query\x00"))
		m.UDP(now.Add(20*time.Millisecond), server, client, []byte("\x1b\x02 no such thing"))
		now = now.Add(10 * time.Second)
	}
	w := asked(t, b.Bytes(), 1, server)[0]
	if !slices.Equal(w.Problems, []string{"unknown_replies"}) || !strings.Contains(w.Text, "It sent 8 datagrams that no protocol recognises.") ||
		len(w.Advice) != 1 || !strings.Contains(w.Advice[0], "qdissect --all") {
		t.Errorf("%v %q\n%s", w.Problems, w.Advice, w.Text)
	}
}

// onlyTo returns the packets of a scene to a host.
func onlyTo(t *testing.T, capture []byte, host netip.Addr) []byte {
	t.Helper()
	const header, record, destination = 24, 16, 14 + 16
	out := slices.Clone(capture[:header])
	for b := capture[header:]; len(b) > 0; {
		n := record + int(uint32(b[8])|uint32(b[9])<<8|uint32(b[10])<<16|uint32(b[11])<<24)
		if a := host.As4(); bytes.Equal(b[record+destination:record+destination+4], a[:]) {
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	return out
}

// calm checks that nothing is called usual where a server leaves requests without a complete reply, or where there are errors.
func calm(t *testing.T, name string, r *stats.Report) {
	t.Helper()
	text := string(r.AppendText(nil, 0))
	if !strings.Contains(text, "Nothing unusual") && !strings.Contains(text, "There is nothing to do") {
		return
	}
	for _, s := range r.Servers {
		o := s.Outcome
		good := o.Answered + o.ChallengeOnly // those who came back with their challenges
		if all := good + o.Late + o.Partial + o.Refused + o.Unanswered; all >= 20 && 10*good < 9*all {
			t.Errorf("%s: nothing is unusual, and %s: %+v", name, s.Address, o)
		}
	}
	if i := slices.IndexFunc(r.Findings, func(f stats.Finding) bool { return f.Severity == "error" }); i >= 0 {
		t.Errorf("%s: nothing is unusual, and %d × %s", name, r.Findings[i].Count, r.Findings[i].ID)
	}
}

// TestNothingUnusual goes over all captures and scenes.
func TestNothingUnusual(t *testing.T) {
	var paths []string
	for _, pattern := range []string{"../../testdata/pcaps/*.pcap*", "../../testdata/pcaps/*/*.pcap*", "../../../shared/captures/*.pcap*", "../../../shared/cases/*.pcap*", "../../../shared/cases/*/*.pcap*"} {
		list := must.Get(filepath.Glob(pattern))(t)
		if len(list) == 0 && strings.Contains(pattern, "shared") {
			t.Logf("%s: there are none", pattern)
		}
		paths = append(paths, list...)
	}
	if len(paths) < 100 {
		t.Fatalf("%d captures", len(paths))
	}
	said := 0
	for _, path := range thorough.Captures(paths) {
		a := stats.New()
		sum, err := pipeline.Run(pipeline.Options{
			Inputs: []string{path}, Out: io.Discard, Counts: &pipeline.Counts{Stats: a}, Workers: 1,
			Reporter: func() report.Reporter { return report.SummaryOnly(report.NewCounts()) },
			Analysis: dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign()},
			Trouble:  func(error) {}, // some are damaged
		})
		if err != nil {
			continue
		}
		r := a.Report(stats.Options{Packets: sum.Packets, OneSided: sum.OneSided > 0, Rows: 1000})
		if r.Verdicts[0].Kind == stats.NothingUnusual {
			said++
		}
		calm(t, path, r)
	}
	if said == 0 {
		t.Error("everything is unusual")
	}
	for i, s := range scenes.All() {
		if i%thorough.Of(6, 1) > 0 {
			continue
		}
		capture, _ := play(t, s.Name, evening(s, thorough.Of[uint64](0, 1))) // by default as TestScenes
		calm(t, s.Name, reported(t, capture, 1, stats.Options{Rows: 1000}))
	}
}
