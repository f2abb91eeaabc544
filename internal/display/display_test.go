package display_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/report"
)

// events is a reporter that calls each for every event.
type events struct {
	report.Reporter
	each func(what string, matches func(*display.Matcher) bool)
}

func (e events) Record(r *dissect.Record) error {
	e.each(fmt.Sprint(r.Frame), func(m *display.Matcher) bool { return m.Record(r) })
	return nil
}

func (e events) Unknown(u *dissect.Unknown) error {
	e.each(fmt.Sprint("?", u.Frame), func(m *display.Matcher) bool { return m.Unknown(u) })
	return nil
}

func (e events) Finding(f *dissect.FlowFinding) error {
	e.each(fmt.Sprint("!", f.Frame), func(m *display.Matcher) bool { return m.Finding(f) })
	return nil
}

// read dissects a capture and calls each for every event.
func read(t testing.TB, capture string, each func(what string, matches func(*display.Matcher) bool)) {
	t.Helper()
	_, err := pipeline.Run(pipeline.Options{
		Inputs: []string{filepath.FromSlash("../../testdata/pcaps/" + capture)}, Out: io.Discard, All: true, Trouble: func(error) {},
		Reporter: func() report.Reporter { return events{report.SummaryOnly(report.NewCounts()), each} },
		Analysis: dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign(), Tree: true},
	})
	must.Do(t, err)
}

// TestMatch lists the frames of the messages that match, with ! for findings of their own
// and ? for unknown datagrams.
func TestMatch(t *testing.T) {
	const (
		source  = "a2s/source.pcap"
		trouble = "a2s/trouble.pcap"
		icmp    = "icmp/errors6.pcap"
	)
	for _, test := range []struct{ capture, expr, want string }{
		// Names and lists of names.
		{source, `message == info_reply`, "4 16"},
		{source, `message=info_reply&&protocol=a2s`, "4 16"},
		{source, `message != info_reply and role == reply`, "2 6 10 12 14"},
		{source, `message in {info_reply, rules_reply}`, "4 10 14 16"},
		{source, `message in (info_reply , rules_reply)`, "4 10 14 16"},
		{source, `message in info_reply,rules_reply`, "4 10 14 16"},
		{source, `message not in {info_reply, rules_reply} and role == reply`, "2 6 12"},
		{source, `message ~ "^(info|rules)_reply$"`, "4 10 14 16"},
		{source, `message matches ^info`, "1 3 4 15 16"},
		{source, `message contains rules and not message contains reply`, "7 13"},
		{source, `not a2s or quake3`, ""},
		{source, `! a2s or frame == 1`, "1"},
		{source, `a2s and frame == 1 or frame == 2`, "1 2"}, // and binds tighter
		{source, `frame == 2 or a2s and frame == 1`, "1 2"},
		{source, `detect == header and type == message and frame < 3`, "1 2"},
		{source, `finding`, "2 6 10 12 14 16"},
		{source, `exists finding`, "2 6 10 12 14 16"},
		{source, `exists(findings)`, "2 6 10 12 14 16"},
		{source, `finding == rtt`, "10"},
		{source, `finding exists and finding ~ ^a2s`, "2 6 10 12 14 16"},
		{source, `severity >= note and severity < error`, "6 10"},
		{source, `findings[*].id == a2s.challenge.required`, "2"},
		{source, `findings.text contains UTF-8`, "6"},
		{icmp, `icmp_frame in {2, 4}`, "!1 !3"},
		{icmp, `type == finding and frame <= 3`, "!1 !3"},
		{icmp, `finding ~ unreachable and message`, ""},

		// Numbers.
		{source, `server.players > 18`, "16"},
		{source, `players >= 18`, "4 16"},
		{source, `qd.a2s.info.num_players >= 18 and qd.frame < 9`, "4"}, // as in Wireshark
		{source, `players in 18,255`, "4 16"},
		{source, `players in {1-20}`, "4"},
		{source, `players in {-5..18, 300}`, "4"},
		{source, `players != 18`, "16"},
		{source, `players >= max_players`, "16"},
		{source, `server.players < server.max_players`, "4"},
		{source, `players != max_players`, "4"},
		{source, `a2s.num_players == server.players`, "4 16"},
		{source, `a2s.info.num_players == 0xff`, "16"}, // as in docs/fields.md
		{source, `players > 17.5 and players < 18.5`, "4"},
		{source, `players == 18.0`, "4"},
		{source, `players == 1.8e1`, "4"},
		{source, `length > 1k`, "10"},
		{source, `length > 1KiB and wire_length < 1M`, "10"},
		{source, `length > 2MiB`, ""},
		{source, `rtt > 12ms and frame < 3`, "2"},
		{source, `rtt_ns > 12e6 and rtt_ns < 0.0124s and frame < 3`, "2"},
		{source, `rtt in {1ms-1s} and frame < 3`, "2"},
		{source, `rtt > 100ms`, ""},
		{source, `not rtt and frame < 4`, "1 3"},
		{source, `a2s.players[*].score > 20`, "6"},
		{source, `a2s.players.duration_s > 1m and frame < 10`, "6"},
		{source, `a2s.players`, "6 12"},
		{source, `request_frame == 9 or request_frame == 7`, "10"},
		{source, `frame in 8-9`, "10"}, // any frame of the message
		{source, `frames == 8`, "10"},
		{source, `split.parts == 3 and split.compressed == false`, "10"},
		{source, `a2s.split.total == 3`, "10"}, // framing, which JSON does not have
		{source, `not split and frame > 13`, "14 15 16"},
		{source, `a2s.steam_id == "90071992547409921" and a2s.steam_id == 90071992547409921`, "4 16"},
		{source, `a2s.game_id > 1M`, "16"},

		// Text, flags and characters.
		{source, `server.map == ctf_2fort`, "4 16"},
		{source, `map == "CTF_2FORT"`, ""},
		{source, `map ~ "(?i)2FORT$"`, "4 16"},
		{source, `map !~ fort`, ""},
		{source, `map contains '2fort' and name != "Big application"`, "4"},
		{source, `name contains é`, "4"},
		{source, `map in {ctf_2fort, "cp dustbowl"}`, "4 16"},
		{source, `a2s.steam_id == 90071992547409922 or a2s.steam_id < 90071992547409921`, ""},
		{source, `a2s.rules.value > 96.4 and a2s.rules.value in {96-97}`, "10"},
		{source, `a2s.rules.key == mp_setting_number_002 and a2s.rules.value == 4.20`, "10"},
		{source, `a2s.password == false and password = false`, "4 16"},
		{source, `a2s.os == l and a2s.os_name == Linux`, "4 16"},
		{source, `a2s.server_type_name in {dedicated, listen}`, "4 16"},
		{source, `summary ~ "^info reply"`, "4 16"},

		// Addresses and times.
		{source, `src_ip == 198.51.100.10 and frame < 5`, "2 4"},
		{source, `src_ip == 198.51.100.8/29 and dst_ip == 192.0.2.23`, "16"},
		{source, `src_ip in {198.51.100.11, 198.51.100.12/32}`, "12 14"},
		{source, `host in {198.51.100.11, 2001:db8::/32}`, "11 12"},
		{source, `host == 192.0.2.22`, "13 14"},
		{source, `host != 192.0.2.20 and frame < 13`, "11 12"},
		{source, `host ~ "[.]13$"`, "15 16"},
		{source, `port == 2303`, "13 14"},
		{source, `port in {1-1000, 27017}`, "11 12"},
		{source, `addr == 198.51.100.11:27017`, "11 12"},
		{source, `addr == 192.0.2.21:27017`, ""}, // the port of the other end
		{source, `addr in {:2303, 198.51.100.11}`, "11 12 13 14"},
		{source, `src_port == dst_port`, ""},
		{source, `src_port != dst_port and frame == 1`, "1"},
		{icmp, `host == 2001:db8::/32 and frame == 1`, "1 !1"},
		{source, `time < 2020-01-01`, ""},
		{source, `time == 2026-01-02 and frame == 1`, "1"},
		{source, `time < "2026-01-02T03:04:05.02"`, "1 2 3"},
		{source, `time in {2026-01-02T03:04:05.026..2026-01-02T03:04:05.05}`, "5 6 7 10 11"},
		{source, `time ~ "05.091839"`, "16"},
		{trouble, `protocol == unknown and data contains 00`, "?27"},
		{trouble, `a2s.players.name and not a2s.map`, "15"},
		{"foreign/others.pcap", `summary contains STUN and length > 10`, "?4 ?5"},
	} {
		f, err := display.Compile(test.expr)
		if err != nil {
			t.Errorf("%v\n%s", err, err.(*display.Error).Show())
			continue
		}
		var got []string
		m := f.Matcher()
		read(t, test.capture, func(what string, matches func(*display.Matcher) bool) {
			if matches(m) {
				got = append(got, what)
			}
		})
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %s matches %s, want %s", test.capture, test.expr, strings.Join(got, " "), test.want)
		}
	}
}

// TestErrors checks the place that an error points to, and what it says.
func TestErrors(t *testing.T) {
	for _, test := range []struct{ expr, caret, text string }{
		// Syntax.
		{"", "^", "the expression is empty"},
		{" ", "^", "the expression is empty"},
		{"a2s and", "    ^^^", "field expected"},
		{"a2s and or", "        ^^", "field expected"},
		{"message == ", "        ^^", "value expected"},
		{"a2s quake3", "    ^^^^^^", `"and" or "or" expected before this`},
		{"map containz dust", "    ^^^^^^^^", "did you mean contains?"},
		{"(a2s", "^", "unclosed parenthesis"},
		{"(a2s or (quake3)", "^", "unclosed parenthesis"},
		{"a2s)", "   ^", "nothing is open"},
		{`summary == "x`, `           ^^`, "unclosed quotation mark"},
		{`map == "日本" and summary == "x`, `                             ^^`, "unclosed quotation mark"},
		{`map == "日本" and 日本 == 1`, `                  ^^^^`, `unknown field "日本"`},
		{"port in {1, 2", "        ^", "the list is not closed"},
		{"port in (1, 2", "        ^", "the list is not closed"},
		{"port in {1 2}", "           ^", `"," or "}" expected`},
		{"port in {}", "         ^", "the list is empty"},
		{"port == 1, 2", "         ^", "a list of values comes after in"},
		{"a2s & quake3", "    ^", "is not an operator"},
		{"a2s or map == 5 & quake3", "                ^", "is not an operator"},
		{"map == \xff", "       ^", "not valid UTF-8"},
		{strings.Repeat("(", 100) + "a2s", "", "too deep"},
		{strings.Repeat("not ", 100) + "a2s", "", "too deep"},
		{strings.Repeat("a2s or ", 10_000), "", "longer than 65536 bytes"},

		// Names.
		{"bogus == 1", "^^^^^", "PROTOCOL.NAME"},
		{"a2s.mpa == x", "^^^^^^^", "did you mean a2s.map?"},
		{"a2s.players.nam == x", "^^^^^^^^^^^^^^^", "did you mean a2s.players.name?"},
		{"a2s.playrs[*].name == x", "^^^^^^^^^^^^^^^^^^", "did you mean a2s.players.name?"},
		{"a2s.score == x", "^^^^^^^^^", "did you mean a2s.players.score?"},
		{"a2s.players.map == x", "^^^^^^^^^^^^^^^", "unknown field"},
		{"a2d.map == x", "^^^^^^^", "did you mean a2s.map?"},
		{"num_players > 5", "^^^^^^^^^^^", "did you mean a2s.num_players"},
		{"server.plyers > 5", "^^^^^^^^^^^^^", "did you mean server.players?"},
		{"Message == x", "^^^^^^^", "did you mean message?"},
		{"messages == x", "^^^^^^^^", "did you mean message?"},
		{"info_reply", "^^^^^^^^^^", "use message == info_reply"},
		{"a2s.split.missing", "^^^^^^^^^^^^^^^^^", "use finding == a2s.split.missing"},
		{"warning", "^^^^^^^", "use severity == warning"},
		{"request", "^^^^^^^", "use role == request"},
		{"src == 192.0.2.1", "^^^", "did you mean src_ip?"},
		{"ip.addr == 192.0.2.1", "^^^^^^^", "did you mean host?"},
		{"tcp.port == 27015", "^^^^^^^^", "did you mean port?"},
		{"fields.map == x", "^^^^^^^^^^", "unknown field"},
		{"a2s == 1", "^^^", "protocol == a2s"},
		{"protocol == a2z", "            ^^^", "did you mean a2s?"},
		{"message == info_repyl", "           ^^^^^^^^^^", "did you mean info_reply?"},
		{"message in {info_reply, nonsense}", "                        ^^^^^^^^", `unknown message "nonsense"`},
		{"finding == a2s.split.mising", "           ^^^^^^^^^^^^^^^^", "did you mean a2s.split.missing?"},
		{"finding ~ nosuchthing", "          ^^^^^^^^^^^", "no finding fits this"},
		{"severity == eror", "            ^^^^", "did you mean error?"},
		{"severity > fatal", "           ^^^^^", "chat, note, warning, error"},
		{"role == answer", "        ^^^^^^", "request, reply, notice"},
		{"detect == guess", "          ^^^^^", "header, flow"},
		{"type == packet", "        ^^^^^^", "message, finding"},
		{"a2s.os_name == linux", "               ^^^^^", "did you mean Linux?"},
		{"a2s.players[0].score == 1", "^^^^^^^^^^^^^^^^^^^^", "only * can stand in brackets"},
		{"a2s.players[*.score == 1", "^^^^^^^^^^^^^^^^^^^", "only * can stand in brackets"},
		{"a2s..x", "^^^^^^", "name expected"},

		// Operators.
		{"map > 5", "    ^", "text, which has no order"},
		{"protocol > a2s", "         ^", "a name, which has no order"},
		{"password >= true", "         ^^", "true or false, which has no order"},
		{"host < 192.0.2.1", "     ^", "an address, which has no order"},
		{"players ~ 5", "        ^", "a number, and ~ needs text"},
		{"players matches 5", "        ^^^^^^^", "a number, and matches needs text"},
		{"rtt contains 5", "    ^^^^^^^^", "a time span, and contains needs text"},
		{"server == x", "       ^^", "an object with values of its own"},
		{"a2s.players == x", "            ^^", "an object with values of its own"},
		{"a2s.log_secret == x", "^^^^^^^^^^^^^^", "a secret"},
		{`summary ~ "("`, `          ^^^`, "invalid regular expression"},
		{`map contains ""`, `             ^^`, "the empty text"},

		// Values.
		{"players > many", "          ^^^^", `players is a number, and "many" is not`},
		{`players == "3"`, "           ^^^", "without quotation marks"},
		{"players > map", "          ^^^", "players is a number, and map is text"},
		{"a2s.map == a2s.folder", "           ^^^^^^^^^^", "a2s.folder is a field, and only fields that are numbers can be compared"},
		{"src_ip == dst_ip", "          ^^^^^^", "not an address"},
		{"rtt_ns > a2s.players.duration_s", "         ^^^^^^^^^^^^^^^^^^^^^^", "different units"},
		{"length > 1kk", "         ^^^", "the units are k, M and G"},
		{"length > 1m", "         ^^", "m is minutes"},
		{"length > 5ms", "         ^^^", "no unit of time"},
		{"rtt > 100", "      ^^^", "a unit is missing"},
		{"rtt_ns > 5MiB", "         ^^^^", "the units of time are"},
		{"port == 70000", "        ^^^^^", "at most 65535"},
		{"port in {27015, 70k}", "                ^^^", "at most 65535"},
		{"players in {9-5}", "            ^^^", "the range is empty"},
		{"password == 1", "            ^", "password is true or false"},
		{"a2s.os == Linux", "          ^^^^^", "one character; a2s.os_name has what it means"},
		{"a2s.auth_protocol == Steam", "                     ^^^^^", "a2s.auth_protocol_name has the names"},
		{"data == fff", "        ^^^", "hexadecimal"},
		{"data contains xyz", "              ^^^", "hexadecimal"},
		{"src_ip == x", "          ^", "not an address"},
		{"src_ip == 192.0.2.0/33", "          ^^^^^^^^^^^^", "not an address"},
		{"src_ip == 192.0.2.1:27015", "          ^^^^^^^^^^^^^^^", "ports are src_port"},
		{"host == 192.0.2.1:27015", "        ^^^^^^^^^^^^^^^", "ports are port"},
		{"addr == x", "        ^", "not an address"},
		{"time > yesterday", "       ^^^^^^^^^", "not a time"},
	} {
		_, err := display.Compile(test.expr)
		if test.text == "" && err == nil {
			continue
		}
		var e *display.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v, want an error", test.expr, err)
			continue
		}
		_, caret, _ := strings.Cut(e.Show(), "\n")
		if test.caret != "" && caret != test.caret || !strings.Contains(e.Text, test.text) {
			t.Errorf("%s: %s\n%s\nwant %s, %s", test.expr, e.Text, e.Show(), test.caret, test.text)
		}
	}
}

// TestNeedsTree checks that filters ask for the tree only if they read fields of it.
func TestNeedsTree(t *testing.T) {
	for expr, want := range map[string]bool{
		"players > 5 and map == x and host == 192.0.2.1 and finding": false, "a2s": false, "rtt > 5ms or split.parts > 3": false,
		"a2s.map == x": true, "players > 5 or a2s.players.score > 5": true, "players == a2s.num_players": true, "exists a2s.map": true,
	} {
		f := must.Get(display.Compile(expr))(t)
		if f.NeedsTree() != want {
			t.Errorf("%s: %v", expr, !want)
		}
	}
}

// TestAllocations checks that evaluation does not allocate.
func TestAllocations(t *testing.T) {
	for _, expr := range []string{
		`players > 20 and map == "de_dust2"`, `name ~ "^x" or summary contains "zz"`, `a2s.players[*].score > 1M or a2s.rules.key == nosuch`,
		`a2s.players[*].name == x or a2s.steam_id == 5`, `host in {10.0.0.0/8, 2001:db8::/32} and port in {1-5}`, `addr == 192.0.2.99:5 or src_ip ~ "^10"`,
		`finding == a2s.split.missing or finding ~ ^ip`, `players > max_players or a2s.num_players < server.players`, `time ~ "^1999" or flow_id contains "="`,
		`a2s.map == "a2s.name" or a2s.data contains ff`, `severity == error and not message == info_reply`, `time > 2025-01-01 and rtt > 5m`,
	} {
		f, err := display.Compile(expr)
		if err != nil {
			t.Fatalf("%v\n%s", err, err.(*display.Error).Show())
		}
		m := f.Matcher()
		read(t, "a2s/source.pcap", func(what string, matches func(*display.Matcher) bool) {
			matches(m)
			if n := testing.AllocsPerRun(5, func() { matches(m) }); n > 0 {
				t.Errorf("%s: %v allocations for %s", expr, n, what)
			}
		})
	}
}

// FuzzCompile compiles any text. What compiles is evaluated; an error points into the
// text.
func FuzzCompile(f *testing.F) {
	for _, expr := range []string{
		`a2s and (a2s.players[*].score > 5 or not src_ip == 192.0.2.0/24) or frame in 1,2-3`, `finding ~ "x" or summary !~ 'y'`,
		`port in {27015, 27020..27030} && rtt > 1m30s || exists(map)`, `players >= max_players and time > 2026-01-02T03:04`, `a2s.rules.value in {1-5, x} or data contains ff`,
		`length > 2MiB xor "`, `gamespy1.players.x_text == "日本"`, `a2s.split.total == 0x3 and not in {}`,
	} {
		f.Add(expr)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		d, err := display.Compile(expr)
		if err != nil {
			var e *display.Error
			if !errors.As(err, &e) {
				t.Fatal(err)
			}
			if e.Offset < 0 || e.Length < 1 || e.Offset+e.Length > len(e.Expression) || strings.Count(e.Show(), "\n") != 1 {
				t.Fatalf("%q: %d %d", expr, e.Offset, e.Length)
			}
			return
		}
		m := d.Matcher()
		read(t, "a2s/source.pcap", func(_ string, matches func(*display.Matcher) bool) { matches(m) })
	})
}

// A checker checks that for every value in the JSON of a message or a finding, the
// expression that compares its path with the value matches, and that the path of another
// message does not.
type checker struct {
	*report.JSON
	t       *testing.T
	filters map[string]*display.Filter
	tried   map[string]int // by path
	keys    map[string]bool
	columns map[string]report.Reporter // by path
	rows    map[string]int             // how many were compared, by path
	values  map[string][]string        // of the object, by path
	file    string
}

// perPath is the number of different values that are tried of each path.
var perPath = must.Try(1, 6)

var indexes = regexp.MustCompile(`\[\*\]`)

// try checks the expressions for one object.
func (c *checker) try(matches func(*display.Matcher) bool, write func(report.Reporter) error) {
	defer c.Reset()
	c.values = map[string][]string{}
	var object map[string]any
	d := json.NewDecoder(strings.NewReader(string(c.Bytes())))
	d.UseNumber()
	must.Do(c.t, d.Decode(&object))
	c.walk("", object, matches)
	for path, values := range c.values {
		if c.rows[path] >= perPath {
			continue
		}
		c.rows[path]++
		r := c.columns[path]
		if r == nil {
			column, err := display.CompileColumn(path)
			must.Do(c.t, err)
			r = display.NewRows([]*display.Column{column}, display.RowOptions{})
			c.columns[path] = r
		}
		write(r)
		if got, want := string(r.Bytes()), strings.Join(values, ",")+"\n"; sorted(got) != sorted(want) && (got != "" || path != "frame" && !strings.HasPrefix(string(c.Bytes()), `{"type":"finding"`)) {
			c.t.Errorf("%s: -e %s writes %swant %s", c.file, path, got, want)
		}
		r.Reset()
	}
}

// sorted sorts the values of a cell: the order of fields is not always that of JSON.
func sorted(cell string) string {
	values := strings.Split(strings.TrimSuffix(cell, "\n"), ",")
	slices.Sort(values)
	return strings.Join(values, ",")
}

func (c *checker) walk(path string, v any, matches func(*display.Matcher) bool) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			c.walk(strings.TrimPrefix(path+"."+k, "."), v[k], matches)
		}
		return
	case []any:
		c.expect(indexes.ReplaceAllString(path, ""), matches)
		if len(v) > 0 {
			c.expect(path+"[*]", matches)
		}
		for _, v := range v {
			c.walk(path+"[*]", v, matches)
		}
		return
	}
	general := indexes.ReplaceAllString(path, "")
	c.keys[general] = true
	c.values[general] = append(c.values[general], string(nettext.AppendSafe(nil, []byte(fmt.Sprint(v)))))
	c.expect(general, matches)
	if v == "***" || c.tried[general] >= perPath {
		return
	}
	literal := fmt.Sprint(v)
	if s, ok := v.(string); ok {
		literal = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
	}
	expr := general + " == " + literal
	if c.filters[expr] == nil {
		c.tried[general]++
	}
	c.expect(expr, matches)
	if path != general {
		c.expect(path+" == "+literal, matches)
	}
}

func (c *checker) expect(expr string, matches func(*display.Matcher) bool) {
	f := c.filters[expr]
	if f == nil {
		var err error
		if f, err = display.Compile(expr); err != nil {
			if !slices.Contains([]string{"flow_id"}, expr) {
				c.t.Errorf("%s: %s\n%s", c.file, err, err.(*display.Error).Show())
			}
			f = new(display.Filter)
		}
		c.filters[expr] = f
	}
	if *f == (display.Filter{}) {
		return
	}
	if !matches(f.Matcher()) {
		c.t.Errorf("%s: %s does not match\n%s", c.file, expr, c.Bytes())
		*f = display.Filter{}
	}
}

func (c *checker) Record(r *dissect.Record) error {
	if c.t.Failed() && len(c.filters) > 1<<20 {
		return nil
	}
	c.JSON.Record(r)
	c.try(func(m *display.Matcher) bool { return m.Record(r) }, func(w report.Reporter) error { return w.Record(r) })
	return nil
}

func (c *checker) Unknown(u *dissect.Unknown) error {
	c.JSON.Unknown(u)
	c.try(func(m *display.Matcher) bool { return m.Unknown(u) }, func(w report.Reporter) error { return w.Unknown(u) })
	return nil
}

func (c *checker) Finding(f *dissect.FlowFinding) error {
	c.JSON.Finding(f)
	c.try(func(m *display.Matcher) bool { return m.Finding(f) }, func(w report.Reporter) error { return w.Finding(f) })
	return nil
}

func (c *checker) Begin(report.Capture) error { return nil }

func (c *checker) End(*report.Summary) error { return nil }

// TestJSON checks that every path and every value in the JSON of our captures can be
// filtered, with the meaning that they have there.
func TestJSON(t *testing.T) {
	captures, err := filepath.Glob(filepath.FromSlash("../../testdata/pcaps/*/*.pcap*"))
	if err != nil || len(captures) < 50 {
		t.Fatalf("%d captures (%v)", len(captures), err)
	}
	c := &checker{JSON: report.NewJSON(report.JSONOptions{}), t: t, filters: map[string]*display.Filter{}, tried: map[string]int{}, keys: map[string]bool{}, columns: map[string]report.Reporter{}, rows: map[string]int{}}
	for _, name := range must.TryCaptures(captures) {
		c.file = filepath.Base(filepath.Dir(name)) + "/" + filepath.Base(name)
		_, err := pipeline.Run(pipeline.Options{
			Inputs: []string{name}, Out: io.Discard, Reporter: func() report.Reporter { return c }, All: true, Trouble: func(error) {},
			Analysis: dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign(), Tree: true},
		})
		must.Do(t, err)
	}
	if len(c.keys) < must.Try(300, 1000) {
		t.Errorf("%d paths", len(c.keys))
	}
	t.Logf("%d paths, %d expressions", len(c.keys), len(c.filters))
}
