package stats_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/tools/scenes"
)

// asked answers why the servers at an address do not show up. The port may be 0.
func asked(t *testing.T, capture []byte, workers int, server netip.AddrPort, home ...netip.Prefix) []*stats.Answer {
	t.Helper()
	a := stats.NewFocused(server.Addr())
	o := counted(t, a, capture, workers)
	o.Home = home
	return a.Why(server, o)
}

// answers checks why of servers: each of an event has its problem and no other, all others have none.
func answers(t *testing.T, a *stats.Aggregate, o stats.Options, truth *scenes.Truth) {
	t.Helper()
	list := a.Why(netip.AddrPort{}, o)
	for _, x := range truth.Servers {
		if x.Name == "" || x.Name == "A server elsewhere" {
			continue // masters, and those that only the scanner knows
		}
		events := slices.DeleteFunc(slices.Clone(truth.Events), func(e *scenes.Event) bool { return !slices.Contains(e.Servers, x.Address) })
		w := list[slices.IndexFunc(list, func(w *stats.Answer) bool { return w.Server == x.Address })]
		state := nettext.Either(len(events) > 0, stats.Trouble, stats.Answers)
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

// calm checks that nothing is called usual where a server leaves requests without a complete reply, or where there are errors.
func calm(t *testing.T, name string, r *stats.Report) {
	t.Helper()
	text := string(r.AppendText(nil, 0))
	if !strings.Contains(text, "Nothing unusual") && !strings.Contains(text, "There is nothing to do") {
		return
	}
	for _, s := range r.Servers {
		o := s.Outcome
		if all := o.Answered + o.ChallengeOnly + o.Late + o.Partial + o.Refused + o.Unanswered; all >= 20 && 10*o.Answered < 9*all {
			t.Errorf("%s: nothing is unusual, and %s: %+v", name, s.Address, o)
		}
	}
	if i := slices.IndexFunc(r.Findings, func(f stats.Finding) bool { return f.Severity == "error" }); i >= 0 {
		t.Errorf("%s: nothing is unusual, and %d × %s", name, r.Findings[i].Count, r.Findings[i].ID)
	}
}

// TestCaptures: what reports say of captures, and why of all their servers. Nothing is called usual that is not.
func TestCaptures(t *testing.T) {
	said := &stats.Said{Every: 10}
	for _, pattern := range []string{"../../testdata/pcaps/*/*.pcap*", "../../../shared/captures/*.pcap*", "../../../shared/cases/*.pcap*", "../../../shared/cases/*/*.pcap*"} {
		list := slices.DeleteFunc(must.Get(filepath.Glob(pattern))(t), func(name string) bool { return strings.Contains(name, "golden") })
		own := !strings.Contains(pattern, "shared")
		if !own {
			list = must.TryCaptures(list)
		}
		for _, path := range list {
			a := stats.NewFocused(netip.Addr{})
			sum, err := pipeline.Run(counting(path, a))
			if err != nil {
				continue
			}
			o := stats.Options{Packets: sum.Packets, OneSided: sum.OneSided > 0, Rows: 1000}
			r := a.Report(o)
			if calm(t, path, r); !own {
				continue
			}
			answers := a.Why(netip.AddrPort{}, o)
			o.Rows = 3
			said.Report(strings.TrimPrefix(path, "../../testdata/pcaps/"), a.Report(o))
			for _, w := range answers[:min(len(answers), 2)] {
				if w.Cause != "works" {
					said.Answer(w)
				}
			}
		}
	}
	for _, of := range []string{
		"a2s/documents 198.51.100.10:27015", "a2s/documents 198.51.100.10:0", "a2s/documents 198.51.100.99:0", "a2s/documents 198.51.100.10:27016", "a2s/documents 192.0.2.20:0", "a2s/trouble 198.51.100.13:27015",
		"valve-master/trouble 198.51.100.1:0", "teeworlds/masters 198.51.100.10:8303", "gamespy3/gs-qr2-challenge 10.77.0.1:11111", "icmp/errors6 [2001:db8:1::10]:27015",
	} {
		name, server, _ := strings.Cut(of, " ")
		w := asked(t, must.Get(os.ReadFile("../../testdata/pcaps/"+name+".pcap"))(t), 1, netip.MustParseAddrPort(server))[0]
		fmt.Fprintf(said, "\n== why %s: %s %s\n%s", of, w.State, w.Cause, w.AppendText(nil))
	}
	said.Golden(t, "testdata/captures.txt")
}

// queried writes requests for infos every second, which a server answers from an end of its own, and at times of its own.
func queried(o mkpcap.Options, server, from netip.AddrPort, at func(i int) time.Duration) []byte {
	var b bytes.Buffer
	m, start := mkpcap.NewWriter(&b, o), time.Date(2026, 3, 14, 19, 0, 0, 0, time.UTC)
	info := []byte("\xff\xff\xff\xffI\x11Old town\x00dust2\x00cstrike\x00Counter-Strike\x00\x0a\x00\x03\x18\x00dl\x00\x011.0\x00")
	for i := range 30 {
		client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, 113, byte(1 + i%5)}), uint16(40000+i))
		t := start.Add(at(i))
		m.UDP(t, client, server, []byte("\xff\xff\xff\xffTSource Engine Query\x00"))
		m.UDP(t.Add(time.Millisecond), from, client, info)
	}
	return b.Bytes()
}

// TestClockStep: a clock that steps back, or a long time without messages, is said with both times, and not if it steps by so little that frames of several interfaces
// may be out of order.
func TestClockStep(t *testing.T) {
	server := netip.MustParseAddrPort("198.51.100.10:27015")
	for _, c := range []struct {
		back time.Duration
		want string
	}{
		{time.Hour, "stepped back by 60 min, from 19:00:14 UTC to 18:00:15 UTC: times"},
		{4 * time.Second, "stepped back by 3 s, from 19:00:14 UTC to 19:00:11 UTC: times"},
		{time.Second + 98*time.Millisecond, ""},
		{time.Second + 99*time.Millisecond, "by 100 ms"},
		{0, ""},
		{-8 * time.Second, ""}, // nor if it steps forward
		{-16 * time.Second, "[Nothing came for 16.9 s, from 19:00:14 UTC to 19:00:31 UTC, neither"},
	} {
		capture := queried(mkpcap.Options{}, server, server, func(i int) time.Duration {
			return nettext.Either(i < 15, time.Duration(i)*time.Second, time.Duration(i)*time.Second-c.back)
		})
		got := fmt.Sprint(reported(t, capture, 1, stats.Options{}).Unclear)
		films.Store(t.Name(), bytes.NewBuffer(capture))
		if said := why(t, t.Name(), server.String()).Text; strings.Contains(said, "stepped back") != strings.Contains(c.want, "by") {
			t.Errorf("back by %v: why says %s", c.back, said)
		}
		if c.want == "" && got != "[]" || !strings.Contains(got, c.want) {
			t.Errorf("back by %v: %s, want %q", c.back, got, c.want)
		}
	}
}

// TestBothSides: a server that the capture has before and after a NAT is said to be one; others with a private address, or another name, are not.
func TestBothSides(t *testing.T) {
	for _, c := range []struct {
		inside, name string
		n            int
		is           bool
	}{{"192.168.7.5:27015", "Old town", 60, true}, {"172.17.0.2:27016", "Old town", 20, true}, {"172.17.0.2:27016", "Old town", 19, false}, {"198.51.100.11:27015", "Old town", 60, false}, {"192.168.7.5:27015", "New town", 60, false}} {
		f := &film{t: t}
		inside := netip.MustParseAddrPort(c.inside)
		f.answered(c.n, filmServer)
		f.replied(c.n, askInfo, .001, inside, inside, infoReply(c.name))
		a := stats.New()
		got := fmt.Sprint(a.Report(read(t, f.write(t), a, 1)).Unclear)
		if want := "[" + c.inside + " is 198.51.100.10:27015, behind a NAT: the capture has packets on both sides of it, and what is counted of all servers counts them twice.]"; got != want == c.is {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestStreams: what went over TCP is said, the most first, and the rest by its number; an anonymized report has other addresses.
func TestStreams(t *testing.T) {
	var streams []stats.Stream
	for i := range 5 {
		streams = append(streams, stats.Stream{Server: netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(10 + i)}), 25565), Packets: uint64(10 + i), Tried: 4, Made: 1, Refused: 2})
	}
	hidden := stats.Hiding{Addr: func(netip.Addr) netip.Addr { return netip.MustParseAddr("192.0.2.1") }}
	for _, c := range []struct {
		o          stats.Options
		first, all string
	}{
		{stats.Options{Streams: streams}, "TCP of 198.51.100.14 is counted and not read: 14 packets over TCP with port 25565 (4 connections tried: 1 made, 2 refused, 1 unanswered).", "2 servers more have packets over TCP."},
		{stats.Options{Streams: streams[:3]}, "TCP of 198.51.100.12 is", ""},
		{stats.Options{Streams: streams, Hide: &hidden}, "TCP of 192.0.2.1 is", "2 servers"},
	} {
		got := strings.Join(stats.New().Report(c.o).Unclear, "\n")
		if !strings.Contains(got, c.first) || c.all == "" && strings.Contains(got, "more have") || !strings.Contains(got, c.all) || c.o.Hide != nil && strings.Contains(got, "198.51") {
			t.Errorf("%s", got)
		}
	}
}

// TestOneAsker: a server that stops replying is down, also if a single client asks it the same all the time, so that each request repeats
// the one before.
func TestOneAsker(t *testing.T) {
	server, client := netip.MustParseAddrPort("198.51.100.10:27015"), netip.MustParseAddrPort("203.0.113.1:40000")
	for _, perSecond := range []int{1, 2, 5} {
		for _, silent := range []int{3, 7, 20, 75} {
			var b bytes.Buffer
			m := mkpcap.NewWriter(&b, mkpcap.Options{})
			start, n := time.Date(2026, 3, 14, 19, 0, 0, 0, time.UTC), 0
			for i := range (15 + silent) * perSecond {
				at := start.Add(time.Duration(i) * time.Second / time.Duration(perSecond))
				m.UDP(at, client, server, []byte("\xff\xff\xff\xffTSource Engine Query\x00"))
				if i >= 15*perSecond {
					n++
					continue
				}
				m.UDP(at.Add(time.Millisecond), server, client, fmt.Appendf(nil, "\xff\xff\xff\xffI\x11Old town\x00dust%d\x00cstrike\x00Counter-Strike\x00\x0a\x00\x03\x18\x00dl\x00\x011.0\x00", i))
			}
			r, why := reported(t, b.Bytes(), 1, stats.Options{}), asked(t, b.Bytes(), 1, server)[0]
			is := r.Verdicts[0].Kind == stats.ServerDown && strings.Contains(r.Verdicts[0].Text, fmt.Sprintf("stopped replying at 19:00:14 UTC: none of %d requests", n)) &&
				r.Verdicts[0].From.Sub(start).Round(time.Second) == time.Duration(15-1/perSecond)*time.Second
			knows := slices.Contains(why.Problems, "stopped")
			if want := silent > 5; is != want || knows != want && silent > 7 {
				t.Errorf("%d requests per second, silent for %d s: %+v\n%s", perSecond, silent, r.Verdicts, why.AppendText(nil))
			}
		}
	}
}

// TestManyDown: of 200 servers, 12 stop replying, or 60. All have a verdict and stand in the list, and the text names or counts them.
func TestManyDown(t *testing.T) {
	manyDown(t, 12)
	manyDown(t, 60)
}

func manyDown(t *testing.T, down int) {
	t.Helper()
	var b bytes.Buffer
	m := mkpcap.NewWriter(&b, mkpcap.Options{})
	start := time.Date(2026, 3, 14, 19, 0, 0, 0, time.UTC)
	info := []byte("\xff\xff\xff\xffI\x11Old town\x00dust2\x00cstrike\x00Counter-Strike\x00\x0a\x00\x03\x18\x00dl\x00\x011.0\x00")
	const servers, rounds = 200, 40
	for i := range rounds {
		for k := range servers {
			server := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, byte(100 + k/100), byte(1 + k%100)}), 27015)
			client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, byte(i), byte(1 + k)}), 40000)
			at := start.Add(time.Duration(i)*time.Second + time.Duration(k)*4*time.Millisecond)
			m.UDP(at, client, server, []byte("\xff\xff\xff\xffTSource Engine Query\x00"))
			if k%(servers/down) != 1 || k/(servers/down) >= down || i < rounds/4 {
				m.UDP(at.Add(time.Millisecond), server, client, info)
			}
		}
	}
	r := reported(t, b.Bytes(), 1, stats.Options{Rows: max(20, down)})
	listed := map[string]bool{}
	for _, s := range r.Servers {
		listed[s.Address] = true
	}
	for _, v := range r.Verdicts {
		if v.Kind != stats.ServerDown || !listed[v.Server] {
			t.Errorf("%s of %s, in the list: %v", v.Kind, v.Server, listed[v.Server])
		}
	}
	if len(r.Verdicts) != min(down, 50) || r.Totals.Verdicts != down || r.Totals.Servers != servers {
		t.Errorf("%d verdicts, %d of %d servers", len(r.Verdicts), r.Totals.Verdicts, r.Totals.Servers)
	}
	text := string(r.AppendText(nil, 80))
	if named := strings.Count(text, "* Down: "); named < 1 || !strings.Contains(text, fmt.Sprintf("And %d more", down-named)) {
		t.Errorf("%d are named, and the rest is not counted:\n%.3000s", named, text)
	}
}

// TestBothAsk: two servers that ask each other from the ports at which they are asked, as masters and servers do, each
// have the outcomes of the requests to them.
func TestBothAsk(t *testing.T) {
	one, two := netip.MustParseAddrPort("192.0.2.1:27015"), netip.MustParseAddrPort("198.51.100.1:27015")
	var b bytes.Buffer
	w := mkpcap.NewWriter(&b, mkpcap.Options{})
	at := time.Unix(1_800_000_000, 0)
	send := func(src, dst netip.AddrPort, payload string) {
		at = at.Add(10 * time.Millisecond)
		w.UDP(at, src, dst, []byte(payload))
	}
	const ask = "\xff\xff\xff\xffV\x01\x02\x03"
	for i := range byte(5) {
		send(one, two, ask+string([]byte{i}))
		send(two, one, "\xff\xff\xff\xffE\x01\x00mp_time\x0030\x00")
	}
	for i := range byte(3) {
		send(two, one, ask+string([]byte{0x80 + i})) // which it does not answer
	}
	at = at.Add(time.Minute) // they are unanswered then
	send(one, two, ask+"\xff")
	send(two, one, "\xff\xff\xff\xffE\x01\x00mp_time\x0030\x00")
	must.Do(t, w.Err())
	answered, unanswered := map[string]uint64{}, map[string]uint64{}
	for _, s := range reported(t, b.Bytes(), 1, stats.Options{}).Servers {
		answered[s.Address], unanswered[s.Address] = s.Outcome.Answered, s.Outcome.Unanswered
	}
	if answered[two.String()] != 6 || unanswered[two.String()] != 0 || answered[one.String()] != 0 || unanswered[one.String()] != 3 {
		t.Errorf("answered %v, unanswered %v", answered, unanswered)
	}
}

// TestNoRequests: a long capture without requests has a report, too.
func TestNoRequests(t *testing.T) {
	server, client := netip.MustParseAddrPort("198.51.100.1:27015"), netip.MustParseAddrPort("192.0.2.1:51000")
	var b bytes.Buffer
	w := mkpcap.NewWriter(&b, mkpcap.Options{})
	for i := range 3 {
		w.UDP(time.Unix(1_800_000_000, 0).Add(time.Duration(i)*time.Hour), server, client, []byte("\xff\xff\xff\xffE\x01\x00mp_time\x0030\x00"))
	}
	must.Do(t, w.Err())
	line := reported(t, b.Bytes(), 1, stats.Options{}).Timeline
	if n := slices.DeleteFunc(line.Replies, func(n uint64) bool { return n == 0 }); line.Peak != 0 || !slices.Equal(n, []uint64{1, 1, 1}) || line.Width <= time.Second {
		t.Errorf("peak %d, replies %v, width %v", line.Peak, n, line.Width)
	}
}

// TestWholeFlood has a capture of nothing but a flood. Its verdict names the kind of request
// that the flood consists of, whichever kind came first.
func TestWholeFlood(t *testing.T) {
	s := must.Get(scenes.Find("forged-challenged"))(t)
	const span = 3 * time.Second
	for seed := uint64(1); seed <= 2; seed++ {
		var b bytes.Buffer
		must.Get(s.Write(&b, scenes.Options{Seed: seed, Span: span, From: time.Nanosecond, To: span, Rate: 2000, Clients: 20}))(t)
		r := reported(t, b.Bytes(), 1, stats.Options{})
		if len(r.Verdicts) == 0 || r.Verdicts[0].Kind != stats.ForgedFlood || !strings.Contains(r.Verdicts[0].Text, " a2s info requests in ") {
			t.Errorf("seed %d: %+v", seed, r.Verdicts)
		}
	}
}

// TestFirstSeconds has a report of a time in which replies came and no outcome is known yet,
// as the first seconds of a live view.
func TestFirstSeconds(t *testing.T) {
	s := must.Get(scenes.Find("quiet"))(t)
	var b bytes.Buffer
	must.Get(s.Write(&b, scenes.Options{Span: 3 * time.Second, Clients: 20}))(t)
	a := stats.New()
	o := counting("-", a)
	o.Stdin, o.Count = &b, 60
	must.Get(pipeline.Run(o))(t)
	v := a.Report(stats.Options{}).Verdicts[0]
	if v.Kind != stats.NothingUnusual || strings.Contains(v.Text, "answered") || !strings.Contains(v.Text, "), half of the replies within ") {
		t.Errorf("%+v", v)
	}
}
