package htmlreport

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/hostile"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/talks"
	"github.com/qdissect/qdissect/internal/tools/scenes"
	"github.com/qdissect/qdissect/report"
)

var pages = flag.String("pages", "", "write the pages of the samples to this folder, for the tests in a browser")

func render(t *testing.T, r *stats.Report) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, Write(&b, r))
	return b.String()
}

// TestPages: every sample makes a page of HTML that parses, is small, is the same each time, and names what it is about.
func TestPages(t *testing.T) {
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) {
			r := s.make()
			page, again := render(t, r), s.make()
			if s.name != "hostile" && !reflect.DeepEqual(r, again) { // some of its texts are made anew
				t.Error("Write changed the report")
			}
			most := nettext.Either(s.name == "large", 1_000_000, 500_000) // of 2,000 servers
			if len(page) > most {
				t.Errorf("%d bytes", len(page))
			}
			if page != render(t, again) {
				t.Error("the page differs from one run to the next")
			}
			if !utf8.ValidString(page) || strings.Contains(page, "ZgotmplZ") || strings.Contains(page, "<nil>") || strings.Contains(page, "NaN") {
				t.Error("the page has text that a template failed to write")
			}
			if *pages != "" {
				must.Do(t, os.WriteFile(filepath.Join(*pages, s.name+".html"), []byte(page), 0o644))
			}
			t.Logf("%d bytes", len(page))
		})
	}
}

// TestPolicy: the hashes of the policy are those of what the page contains, and no element has a style or a handler, which the policy
// would forbid.
func TestPolicy(t *testing.T) {
	r := flood()
	for _, r.Made.Live = range []bool{false, true} {
		checkPolicy(t, r)
	}
}

func checkPolicy(t *testing.T, r *stats.Report) {
	t.Helper()
	page := render(t, r)
	policy := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page)
	if policy == nil {
		t.Fatal("no policy")
	}
	allowed := html.UnescapeString(policy[1])
	for _, want := range []string{"default-src 'none';", "img-src data:;", "base-uri 'none';", "form-action 'none'"} {
		if !strings.Contains(allowed, want) {
			t.Errorf("the policy lacks %q: %s", want, allowed)
		}
	}
	n := 0
	for _, m := range regexp.MustCompile(`(?s)<(script|style)>(.*?)</(?:script|style)>`).FindAllStringSubmatch(page, -1) {
		sum := sha256.Sum256([]byte(m[2]))
		if want := m[1] + "-src"; !regexp.MustCompile(want + `[^;]*'sha256-` + regexp.QuoteMeta(base64.StdEncoding.EncodeToString(sum[:])) + `'`).MatchString(allowed) {
			t.Errorf("the policy lacks the hash of a %s of %d bytes", m[1], len(m[2]))
		}
		n++
	}
	want := 3
	if r.Made.Live {
		want++
	}
	if n != want || strings.Count(allowed, "'sha256-") != want || strings.Contains(allowed, "; connect-src 'self'") != r.Made.Live || strings.Contains(page, "XMLHttpRequest") != r.Made.Live {
		t.Errorf("%d scripts and style sheets, want %d; the policy is %s", n, want, allowed)
	}
	walk(t, page, func(node *html.Node) {
		for _, a := range node.Attr {
			if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
				t.Errorf("<%s %s=%q>", node.Data, a.Key, a.Val)
			}
			if (a.Key == "src" || a.Key == "href") && !strings.HasPrefix(a.Val, "#") && !strings.HasPrefix(a.Val, "data:image/svg+xml,") {
				t.Errorf("<%s %s=%q> leaves the page", node.Data, a.Key, a.Val)
			}
		}
	})
}

func walk(t *testing.T, page string, visit func(*html.Node)) {
	t.Helper()
	root := must.Get(html.Parse(strings.NewReader(page)))(t)
	for node := range root.Descendants() {
		visit(node)
	}
}

// TestHostileNames: text from the network adds no element and brings no character that a reader cannot see.
func TestHostileNames(t *testing.T) {
	count := func(page string) map[string]int {
		tags := map[string]int{}
		walk(t, page, func(node *html.Node) {
			if node.Type == html.ElementNode && (node.Data == "script" || node.Data == "img" || node.Data == "style" || node.Data == "title") {
				tags[node.Data]++
			}
			texts := []string{node.Data}
			for _, a := range node.Attr {
				texts = append(texts, a.Val)
			}
			for _, text := range texts {
				for _, r := range text {
					if nettext.Unsafe(r) && r != '\n' && r != '\t' {
						t.Fatalf("<%s> has %U in %.200q", node.Data, r, text)
					}
				}
			}
		})
		return tags
	}
	good, bad := count(render(t, flood())), count(render(t, hostileNames()))
	for _, tag := range []string{"script", "img", "style", "title"} {
		if good[tag] != bad[tag] {
			t.Errorf("%d <%s>, with hostile names %d", good[tag], tag, bad[tag])
		}
	}
	// What the script shows is escaped too.
	m := regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`).FindStringSubmatch(render(t, hostileNames()))
	var d data
	if m == nil || json.Unmarshal([]byte(m[1]), &d) != nil {
		t.Fatal("the data do not parse")
	}
	fields := 0
	for _, talk := range d.Talks {
		for _, message := range talk {
			for _, f := range message.Fields {
				for _, r := range f[2].(string) + f[3].(string) {
					if nettext.Unsafe(r) {
						t.Fatalf("a field has %U", r)
					}
				}
				fields++
			}
		}
	}
	if fields == 0 {
		t.Error("no fields")
	}
}

// TestTimes: an axis has a few times, whatever the span.
func TestTimes(t *testing.T) {
	for _, span := range []time.Duration{time.Millisecond, time.Second, 90 * time.Second, time.Hour, 26 * time.Hour, 400 * 24 * time.Hour, 1<<63 - 1} {
		var s svg
		s.times(t0, span, 0, 100)
		if n := strings.Count(s.String(), "<text"); n > 6 {
			t.Errorf("%d times for %s", n, span)
		}
	}
}

// TestShort: a capture of milliseconds has no curves.
func TestShort(t *testing.T) {
	r := oneSided()
	r.To = r.From.Add(5 * time.Millisecond)
	if page := render(t, r); strings.Contains(page, `id="messages"`) || !strings.Contains(page, "\u00a0requests in 5\u00a0ms.") {
		t.Error("a capture of 5 ms has curves, or no sentence about them")
	}
}

// TestReload: a page that is written again is read again, with the script and without, and no other.
func TestReload(t *testing.T) {
	for _, every := range []time.Duration{0, 3 * time.Second} {
		r := oneSided()
		r.Made.Every = every
		page := render(t, r)
		for _, want := range []string{`<html lang="en" data-every="3000">`, `<noscript><meta http-equiv="refresh" content="3"></noscript>`} {
			if strings.Contains(page, want) != (every > 0) {
				t.Errorf("every %v: %s", every, want)
			}
		}
	}
}

// TestScript: our script is small, and sets text only as text.
func TestScript(t *testing.T) {
	if len(ownScript)+len(liveScript) > 40<<10 {
		t.Errorf("%d bytes", len(ownScript)+len(liveScript))
	}
	for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "createContextualFragment", "setHTML", "srcdoc", "eval(", "Function(", "import(", "fetch(", "XMLHttpRequest", "WebSocket", "localStorage", "cookie"} {
		if strings.Contains(ownScript, bad) {
			t.Errorf("the script has %s", bad)
		}
		if strings.Contains(liveScript, bad) && bad != "XMLHttpRequest" { // which reads the page that this is a newer one of
			t.Errorf("the script of pages that are served has %s", bad)
		}
	}
}

// TestChart: uPlot is the release 1.6.32 as npm has it, with its licence.
func TestChart(t *testing.T) {
	for name, want := range map[string]string{
		"LICENSE":           "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
		"uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
		"uPlot.min.css":     "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
	} {
		b := must.Get(os.ReadFile(filepath.Join("uplot", name)))(t)
		if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s has the SHA-256 %x", name, sum)
		}
	}
}

func TestFormats(t *testing.T) {
	plain := func(s string) string { return strings.ReplaceAll(s, thin, " ") }
	label := func(name string, v float64) string { l, w := evidence(name, v); return l + ": " + w }
	for _, x := range []struct{ got, want string }{
		{number(0), "0"}, {number(999), "999"}, {number(1000), "1,000"}, {number(1234567), "1,234,567"}, {number(1<<64 - 1), "18,446,744,073,709,551,615"},
		{plural(1, "server"), "1 server"}, {plural(0, "server"), "0 servers"}, {plural(1200, "server"), "1,200 servers"},
		{decimal(0), "0"}, {decimal(5), "5"}, {decimal(5.226), "5.23"}, {decimal(52.26), "52.3"}, {decimal(522.6), "523"}, {decimal(9.997), "10.0"}, {decimal(99.96), "100"}, {decimal(1522.6), "1,523"},
		{size(0), "0 B"}, {size(999), "999 B"}, {size(1000), "1 kB"}, {size(999499), "999 kB"}, {size(999500), "1.00 MB"}, {size(22900120), "22.9 MB"}, {size(1<<64 - 1), "18,447 PB"},
		{share(0, 0), "–"}, {share(0, 7), "0 %"}, {share(7, 7), "100 %"}, {share(1, 100000), "< 0.01 %"}, {share(4, 10000), "0.04 %"}, {share(1, 3), "33.3 %"}, {share(9999, 10000), "> 99.9 %"},
		{factor(0), "–"}, {factor(20.79), "×20.8"}, {ratio(3, 0), "–"}, {ratio(3, 2), "×1.50"},
		{duration(0), "0 µs"}, {duration(87 * time.Microsecond), "87 µs"}, {duration(5 * time.Second), "5 s"}, {duration(2 * time.Millisecond), "2 ms"}, {duration(84630 * time.Millisecond), "1 min 25 s"}, {duration(2 * time.Hour), "2 h"}, {duration(50 * time.Hour), "2 d 2 h"},
		{duration(59*time.Minute + 59600*time.Millisecond), "60 min"},
		{trip(0), "–"},
		{safe("a\x1b[31m\u202eb\\"), `a\x1b[31m\u202eb\\`}, {code("a\\\n\tb\x1b"), "a\\\n\tb\\x1b"}, {oneLine("rm\n\tx"), `rm\n\tx`}, {safe(strings.Repeat("é", 200)), strings.Repeat("é", 80) + " …"},
		{label("requests", 20431), "requests: 20,431"}, {label("requests_per_second", 817.2), "requests per second: 817"}, {label("share_of_sources", 0.999), "of the sources: 99.9 %"}, {label("answered_share_calm", 1), "answered when calm: 100 %"},
		{label("seconds", 20), "duration: 20 s"}, {label("p99_ms", 1500), "99 % within: 1.50 s"}, {label("icmp_errors", 0), "ICMP errors: 0"}, {label("factor", 20.8), "factor: ×20.8"}, {label("bytes_out_by_bytes_in", 2), "bytes out ÷ bytes in: ×2"}, {label("bytes_out", 22900120), "bytes out: 22.9 MB"},
		{strings.Join(host("198.51.100.10:27015"), "|"), "198.51.100.10|:27015"}, {strings.Join(host("[2001:db8::1]:27015"), "|"), "[2001:db8::1]|:27015"}, {strings.Join(host("2001:db8::1"), "|"), "2001:db8::1|"},
	} {
		if plain(x.got) != x.want {
			t.Errorf("%q, want %q", plain(x.got), x.want)
		}
	}
}

// TestHeat: every reply is in one cell of one of the shades, and the lines of the shares lie where their durations are.
func TestHeat(t *testing.T) {
	p := newPage(quiet(), ladderBytes)
	low, high, most := p.heatRows()
	steps := heatSteps(most)
	if steps[0] != 1 || low >= high {
		t.Fatalf("steps %v, rows %d to %d", steps, low, high)
	}
	for c, column := range p.RoundTrips.Heat {
		for row, n := range column {
			level := p.level(c, row, most)
			if n == 0 && level != 0 || n > 0 && (level < 1 || level > heatLevels || n < steps[level-1] || level < heatLevels && n >= steps[level]) {
				t.Fatalf("%d replies have level %d of %v", n, level, steps)
			}
			if n > 0 && (row < low || row > high) {
				t.Fatalf("row %d is outside of %d to %d", row, low, high)
			}
		}
	}
	b := p.RoundTrips.Bounds
	for row := low; row < high; row++ {
		if at, want := p.heatAt(b[row], low, high), float64(row-low+1)/float64(high-low+1); at < want-1e-9 || at > want+1e-9 {
			t.Errorf("%s is drawn at %v, want %v", b[row], at, want)
		}
	}
	if at := p.heatAt(time.Hour, low, len(b)-1); at > 1 {
		t.Errorf("an hour is drawn at %v", at)
	}
}

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
	for _, v := range r.Verdicts {
		bad(&v.Server, &v.Text, &v.Advice)
		for k := range v.Sources {
			bad(&v.Sources[k])
		}
		for k := range v.Evidence {
			bad(&v.Evidence[k].Name)
		}
	}
	bad(&r.Verdicts[2].Kind, &r.Home[0], &r.Made.Version, &r.Made.Command, &r.Made.Files[0].Name, &r.Made.Files[0].SHA256, &r.Unclear[0])
	for _, s := range r.Servers {
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
	for _, f := range r.Findings {
		bad(&f.ID, &f.Severity, &f.Text, &f.Doc)
		for k := range f.Examples {
			bad(&f.Examples[k].Command, &f.Examples[k].File)
		}
	}
	bad(&r.Unknowns[0].What, &r.HomeBy)
	for _, t := range r.Talks {
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
