package stats

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

// TestFit: texts are not cut within an escape.
func TestFit(t *testing.T) {
	for _, c := range []struct {
		s, want string
		columns int
	}{
		{"abcdef", "abcdef", 6}, {"abcdefg", "abcde…", 6}, {`abc\x1bdef`, "abc…", 6}, {`abc\x1bdef`, "abc…", 7}, {`abc\x1bdef`, `abc\x1b…`, 8},
		{`a\u202ebcd`, "a…", 7}, {`a\U000e0001bcd`, "a…", 11}, {`a\u202ebcd`, `a\u202e…`, 8}, {`a\U000e0001bcd`, `a\U000e0001…`, 12}, {`ab\\cdef`, "ab…", 4}, {`ab\\cdef`, `ab\\…`, 5}, {`abcd\n\n`, "abcd…", 6},
	} {
		if got := fit(c.s, c.columns); got != c.want {
			t.Errorf("%s in %d columns: %s, want %s", c.s, c.columns, got, c.want)
		}
	}
}

// TestTold: four outages of a server that ended, or four floods of a kind, or servers that a master does not list, are told in one sentence, three of another one in three.
func TestTold(t *testing.T) {
	r := &Report{Totals: Totals{Verdicts: 18}}
	for i := range 12 {
		at := time.Date(2026, 3, 14, 19, either(i < 8, i, i*i), 0, 0, time.UTC) // outages as a clock, floods less so
		r.Verdicts = append(r.Verdicts, Verdict{Kind: either(i < 8, ServerDown, ForgedFlood), Server: either(i < 4 || i >= 7, "a", "b"), From: at, To: at.Add(time.Second), Text: fmt.Sprint(i), Advice: "look", of: either(i < 7, outage, ""), Evidence: Evidence{{"requests", float64(i)}}})
	}
	r.others = append([]Verdict{{Kind: ServerDown, Server: "a", From: r.Verdicts[4].From, To: r.Verdicts[4].To, of: outage}, {Kind: NotListed, Server: "x", Text: "m.", Advice: "look", From: r.Verdicts[0].From, To: r.Verdicts[0].To}}, slices.Repeat([]Verdict{{Kind: NotListed, Advice: "look", From: r.Verdicts[0].From, To: r.Verdicts[0].To}}, 3)...)
	const want = "* 0 It happened 4 more times, about every 60 s, the last from 19:04:00 UTC to\n  19:04:01 UTC.\n  > look\n* 4\n* 5\n* 6\n* 7\n* 8 It happened 3 more times between 20:21:00 UTC and 21:01:01 UTC, with 30\n  requests together.\n* m. So it is with 3 more servers.\n* And 1 more that are no worse.\n"
	if got := string(r.AppendWhole(nil)); !strings.HasPrefix(got, want) {
		t.Error(got)
	}
}

// TestNumbers: what is small is not rounded to nothing, nor to more than it is.
// TestNumbers: how numbers are written, and what is estimated of values.
func TestNumbers(t *testing.T) {
	said := new(Said)
	d, room := new(distinct), sketches(largeSketch, 1)
	var h histogram
	for n, i := 0.0, 0; n < 1e11; n, i = math.Floor(n*1.3+1), i+1 {
		for h.n < uint64(min(n, 3000)) {
			h.add(bucketOf(time.Duration(h.n*h.n) * time.Microsecond))
			k := keyOf(netip.AddrFrom4([4]byte{7, 0, byte(h.n >> 8), byte(h.n)}), 0)
			d.add(k.hash(), &room)
		}
		about := Distinct{uint64(n), i}
		fmt.Fprintln(said, number(uint64(n)), rounded(n/10), rounded(n/1e9), percent(n/1e5), percent(n/1e9), percent(1-1/(n+1)), FormatSize(uint64(n)), duration(time.Duration(n)), duration(time.Duration(n)*1e4),
			about.addresses(), count(uint64(n), "reply", "replies"), were(uint64(n)), d.count(), h.quantile(10), h.quantile(500), h.quantile(999), h.above(time.Duration(n)))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 400 {
		x, level := make([]float64, 20+random.IntN(60)), float64(random.IntN(30))
		calm, jitter, slope := level, random.Float64(), 0.0
		for k := range x {
			if random.IntN(12) == 0 { // the rate steps, or begins to change
				level, slope = float64(random.IntN(2)*random.IntN(400)), float64(random.IntN(2)*random.IntN(21)-10)
				if random.IntN(3) > 0 {
					level, slope = calm, 0
				}
			}
			level = max(level+slope, 0)
			x[k] = math.Floor(max(level+jitter*math.Sqrt(level)*random.NormFloat64(), 0))
		}
		seconds := []float64{1, 0.1, 10}[i%3]
		fmt.Fprintf(said, "%d: %.6g %.6g %.6g\n", i, x, surges(x, seconds, -1), surges(x, seconds, calm/2))
	}
	said.Golden(t, "testdata/numbers.txt")
}

// TestWrapped: a number and its unit are in one line.
func TestWrapped(t *testing.T) {
	var b text
	b.wrapped("* ", strings.Repeat("It took 10 s, and 95 % of 6.9 MB (15.2 times 3 bytes) were lost. ", 40))
	for _, line := range strings.Split(b.b.String(), "\n") {
		last := line[strings.LastIndexByte(line, ' ')+1:]
		if len(line) > textWidth || last != "" && strings.Trim(last, "(0123456789.") == "" {
			t.Errorf("a line of %d bytes ends with %q", len(line), last)
		}
	}
}

// TestReadable: names are shown as UTF-8 without colour codes, and cut between characters.
func TestReadable(t *testing.T) {
	var room, text []byte
	var x said
	s := new(server)
	for _, c := range []struct {
		name    string
		charset dissect.Charset
		style   dissect.Style
		want    string
	}{
		{"Plain", dissect.Guessed, dissect.NoStyle, "Plain"},
		{"\xd0\xf3\xf1\xf1\xea\xe8\xe9 \xf1\xe5\xf0\xe2\xe5\xf0", dissect.Guessed, dissect.NoStyle, "Русский сервер"},
		{"Caf\xe9", dissect.Latin1, dissect.NoStyle, "Café"},
		{"^1Duels ^7only", dissect.Guessed, dissect.Quake3, "Duels only"},
		{"^1 as it is", dissect.Guessed, dissect.NoStyle, "^1 as it is"},
		{"0xff0000Red", dissect.Guessed, core.Armagetron, "Red"},
		{strings.Repeat("é", 63) + "x€y", dissect.Guessed, dissect.NoStyle, strings.Repeat("é", 63) + "x"},
		{strings.Repeat("\xd0", 200), dissect.Latin1, dissect.NoStyle, strings.Repeat("Ð", 64)},
		{strings.Repeat("x", 200), dissect.Guessed, dissect.NoStyle, strings.Repeat("x", maxName)},
		{strings.Repeat("漢", 200), dissect.Guessed, dissect.NoStyle, strings.Repeat("漢", maxName/len("漢"))},
		{"", dissect.Guessed, dissect.NoStyle, ""},
	} {
		f := dissect.Server{Name: dissect.Some(c.name), Map: dissect.Some(c.name), Charset: c.charset, Style: c.style}
		text = text[:0]
		x.set(&f, &text)
		s.states(&x, text, &room)
		if name, in := s.appendPlain(nil, s.name), s.appendPlain(nil, s.mapName); string(name) != c.want || string(in) != c.want {
			t.Errorf("%q: name %q, map %q", c.name, name, in)
		}
		if n := testing.AllocsPerRun(10, func() { s.states(&x, text, &room) }); n > 0 {
			t.Errorf("%q: %v allocations", c.name, n)
		}
	}
}

// TestPrefix: rules of an anonymized report compare no address.
func TestPrefix(t *testing.T) {
	shown, server := netip.MustParseAddr("165.95.140.42"), netip.MustParseAddr("198.51.100.21")
	payload := append(append([]byte("SAMP"), server.AsSlice()...), 0x61, 0x1e, 'i')
	r := &reporting{}
	if got := r.prefix(payload); string(got) != string(payload[:longestPrefix]) {
		t.Errorf("%q", got)
	}
	r.replaced = map[netip.Addr]netip.Addr{server: shown}
	if got := r.prefix(payload); string(got) != "SAMP" {
		t.Errorf("%q", got)
	}
}

// TestMetrics: the busiest servers have numbers, always in the same order, and no other host has.
func TestMetrics(t *testing.T) {
	p := &dissect.Protocol{Name: "p"}
	request := &dissect.MessageType{Name: "request", Role: dissect.Request}
	reply := &dissect.MessageType{Name: "reply", Role: dissect.Reply}
	a, client := New(), netip.MustParseAddrPort("192.0.2.1:4000")
	for i := range 100 {
		server := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}), 27015)
		for range 1 + i {
			a.Record(&dissect.Record{Protocol: p, Datagram: &dissect.Datagram{Src: client, Dst: server}, Message: dissect.Message{Type: request, Pair: dissect.Pair{Asks: 1}}})
		}
		if i%2 == 0 { // the others do not reply
			a.Record(&dissect.Record{Protocol: p, Datagram: &dissect.Datagram{Src: server, Dst: client}, Message: dissect.Message{Type: reply, Server: dissect.Server{Name: dissect.Some(`x"} 1` + "\n")}}})
		}
	}
	const most = 5
	text := a.AppendMetrics(nil, nil, most)
	series := regexp.MustCompile(`(?m)^qdissect_server_([a-z_]+)\{server="([0-9.:]+)",protocol="p"\} [0-9.]+$`).FindAllStringSubmatch(string(text), -1)
	if len(series) != most*len(serverMetrics) || bytes.Count(text, []byte("\n")) != (most+2)*len(serverMetrics) {
		t.Fatalf("%d series:\n%s", len(series), text)
	}
	for i, s := range series {
		if want := fmt.Sprintf("198.51.100.%d:27015", 90+2*(i%most)); s[2] != want {
			t.Errorf("%s of %s, want %s", s[1], s[2], want)
		}
	}
	for _, want := range []string{
		`qdissect_server_requests_total{server="198.51.100.98:27015",protocol="p"} 99` + "\n", `qdissect_server_replies_total{server="198.51.100.98:27015",protocol="p"} 1` + "\n",
		`qdissect_server_clients{server="198.51.100.98:27015",protocol="p"} 1` + "\n", "# TYPE qdissect_server_refused_requests_total counter\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	home := []netip.Prefix{netip.MustParsePrefix("198.51.100.99/32")}
	if text := string(a.AppendMetrics(nil, home, most)); strings.Count(text, "198.51.100.99:27015") != len(serverMetrics) || strings.Contains(text, "198.51.100.98") {
		t.Errorf("of home:\n%s", text)
	}
	if text := New().AppendMetrics(nil, nil, most); len(text) > 0 {
		t.Errorf("nothing: %s", text)
	}
}
