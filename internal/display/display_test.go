package display_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/internal/display"
)

const message = `{"type":"message","frame":12,"frames":[10,11,12],"time":"2026-11-21T05:41:00.123456789Z",` +
	`"src_ip":"192.0.2.20","src_port":27015,"dst_ip":"2001:db8::1","dst_port":50000,"protocol":"a2s","message":"info_reply","role":"reply","length":147,` +
	`"detect":"header","rtt_ns":1234567,"summary":"info reply  \"The \\\"Best\\\"\"",` +
	`"a2s":{"steam_id":"90071992547409931","players":[{"name":"a","score":-3},{"name":"b, c: {","score":7}],"empty":[],"password":true},` +
	`"server":{"name":"The \"Best\" \u00e9","map":"de_dust2","players":3},` +
	`"findings":[{"id":"a2s.players.count","severity":"warning","text":"x"},{"id":"rtt","severity":"chat","text":"y"}]}`

const finding = `{"type":"finding","frame":3,"time":"2026-11-21T05:41:00.000000000Z","src_ip":"192.0.2.20","src_port":1,"dst_ip":"192.0.2.21","dst_port":2,"protocol":"quake3","findings":[{"id":"q3.unanswered","severity":"note","text":"no reply"}]}`

func TestMatch(t *testing.T) {
	for _, test := range []struct {
		expr, object string
		want         bool
	}{
		{`protocol == a2s`, message, true},
		{`protocol=a2s&&message=info_reply`, message, true},
		{`a2s`, message, true},
		{`quake3`, message, false},
		{`not quake3 and a2s`, message, true},
		{`protocol != a2s`, message, false},
		{`server.map == "de_dust2"`, message, true},
		{`server.map == de_dust2`, message, true},
		{`server.map == "DE_DUST2"`, message, false},
		{`server.map ~ "(?i)DUST"`, message, true},
		{`server.map !~ dust`, message, false},
		{`server.map contains dust`, message, true},
		{`server.name == "The \"Best\" é"`, message, true},
		{`server.name == 'The "Best" é'`, message, true},
		{`server.game != cstrike`, message, false}, // the message has no game
		{`not server.game == cstrike`, message, true},
		{`server.players > 2 and server.players <= 3`, message, true},
		{`server.players > 10`, message, false}, // as numbers
		{`a2s.players[*].score > 5`, message, true},
		{`a2s.players.score > 7`, message, false},
		{`a2s.players[0].score > 5`, message, false},
		{`a2s.players[1].score == 7.0`, message, true},
		{`a2s.players[2]`, message, false},
		{`a2s.players.name == "b, c: {"`, message, true},
		{`a2s.players.name != b`, message, true},
		{`a2s.empty`, message, true},
		{`a2s.empty[*]`, message, false},
		{`a2s.password == true`, message, true},
		{`a2s.password == 1`, message, false},
		{`a2s.steam_id == 90071992547409931`, message, true},
		{`a2s.steam_id == 90071992547409932`, message, false},
		{`finding`, message, true},
		{`finding == rtt`, message, true},
		{`finding == a2s.players.count and findings.severity == warning`, message, true},
		{`finding ~ ^q3`, message, false},
		{`finding == q3.unanswered`, finding, true},
		{`finding == q3.unanswered`, message, false},
		{`frame in 3,5-11`, message, true},
		{`frame == 12`, message, true},
		{`frame in 1-9`, message, false},
		{`frame in 3`, finding, true},
		{`rtt_ns > 1e6`, message, true},
		{`rtt_ns`, finding, false},
		{`src_ip == 192.0.2.20`, message, true},
		{`src_ip == 192.0.2.0/24`, message, true},
		{`src_ip in 198.51.100.1,192.0.2.20`, message, true},
		{`src_port == 27015`, message, true},
		{`src_ip != 192.0.2.20`, message, false},
		{`dst_ip == 2001:db8::1`, message, true},
		{`dst_ip ~ ^2001`, message, true},
		{`addr == 192.0.2.20:27015`, message, true},
		{`addr == 192.0.2.20:50000`, message, false}, // the port of the other endpoint
		{`addr == [2001:db8::1]:50000`, message, true},
		{`addr == :27015`, message, true},
		{`addr == 192.0.2.20`, message, true},
		{`addr != 192.0.2.20`, message, false},
		{`addr != 192.0.2.21`, message, true},
		{`addr`, message, true},
		{`addr`, `{"type":"summary"}`, false},
		{`addr == 192.0.2.1`, `{"type":"finding","src_ip":"192.0.2.1","dst_ip":"192.0.2.2"}`, true},
		{`valve-master.servers.port == 2`, `{"type":"message","valve_master":{"servers":[{"ip":"192.0.2.1","port":2}]}}`, true},
		{`valve_master.servers.port == 2`, `{"type":"message","valve_master":{"servers":[{"ip":"192.0.2.1","port":3}]}}`, false},
		{`addr in 198.51.100.1, 2001:db8::/32`, message, true},
		{`port == 50000`, message, true},
		{`port in 1-100,27015`, message, true},
		{`port < 1000`, message, false},
		{`message in info_reply,rules_reply`, message, true},
		{`time < "2026-11-21T05:41:00.2"`, message, true},
		{`a2s.type >= 0`, `{"type":"message","a2s":{"type":"dedicated"}}`, false}, // text and numbers have no order
		{`a2s.type < 0`, `{"type":"message","a2s":{"type":"dedicated"}}`, false},
		{`a2s.type >= 0`, `{"type":"message","a2s":{"type":"3"}}`, true}, // numeric text is a number
		{`a2s.type >= 0`, `{"type":"message","a2s":{"type":"nan"}}`, false},
		{`a2s.type > inf`, `{"type":"message","a2s":{"type":3}}`, false},
		{`a2s.type > a`, `{"type":"message","a2s":{"type":3}}`, false},
		{`a2s.type > a`, `{"type":"message","a2s":{"type":"b"}}`, true},
		{`a2s.type == "3"`, `{"type":"message","a2s":{"type":3}}`, true},
		{`a2s.type != 0`, `{"type":"message","a2s":{"type":"dedicated"}}`, true},
		{`(a2s or quake3) and not (frame == 1 or frame == 2)`, message, true},
		{`a2s or quake3 and frame == 1`, message, true}, // and binds tighter
		{`! a2s`, message, false},
		{`frame == 1`, `{"frame`, false},
		{`a2s.x`, `{"a2s":{"x":`, false},
	} {
		f, err := display.Compile(test.expr)
		if err != nil {
			t.Errorf("%s: %v", test.expr, err)
			continue
		}
		if got := f.Match([]byte(test.object)); got != test.want {
			t.Errorf("%s: %v, want %v", test.expr, got, test.want)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct{ expr, caret, text string }{
		{"", "^", "empty"},
		{"a2s and", "    ^^^", "field expected"},
		{"bogus == 1", "^^^^^", "PROTOCOL.NAME"},
		{"message == ", "        ^^", "value expected"},
		{"a2s quake3", "    ^^^^^^", `"and" or "or"`},
		{"(a2s", "^", "unclosed parenthesis"},
		{`summary == "x`, `           ^^`, "unclosed quotation mark"},
		{`summary ~ "("`, `          ^^^`, "invalid regular expression"},
		{"src_ip == x", "          ^", "not an address"},
		{"src_ip == 192.0.2.1:27015", "          ^^^^^^^^^^^^^^^", "ports are src_port"},
		{"addr == x", "        ^", "not an address"},
		{"src == 192.0.2.1", "^^^", "src is now src_ip and src_port"},
		{"fields.map == x", "^^^^^^^^^^", "fields is now the name of the protocol, such as a2s.players"},
		{"severity == warning", "^^^^^^^^", "severity is now findings.severity"},
		{"a2s == 1", "^^^", "protocol == a2s"},
		{"a2s.players[x].score == 1", "^^^^^^^^^^^^^^^^^^^^", "a number or *"},
		{"a2s..x", "^^^^^^", "name expected"},
		{"a2s & quake3", "    ^", "is not an operator"},
		{strings.Repeat("(", 100) + "a2s", "", "too deep"},
	} {
		_, err := display.Compile(test.expr)
		var e *display.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v, want an error", test.expr, err)
			continue
		}
		_, caret, _ := strings.Cut(e.Show(), "\n")
		if test.caret != "" && caret != test.caret || !strings.Contains(e.Text, test.text) {
			t.Errorf("%s: %s\n%s", test.expr, e.Text, e.Show())
		}
	}
}

func FuzzCompile(f *testing.F) {
	f.Add(`a2s and (a2s.players[*].score > 5 or not src_ip == 192.0.2.0/24) in 1,2-3`, message)
	f.Add(`finding ~ "x" !~ 'y'`, finding)
	f.Fuzz(func(t *testing.T, expr, object string) {
		d, err := display.Compile(expr)
		if err != nil {
			var e *display.Error
			if !errors.As(err, &e) {
				t.Fatal(err)
			}
			if e.Offset < 0 || e.Length < 1 || e.Offset+e.Length > len(e.Expression) {
				t.Fatalf("%q: %d %d", expr, e.Offset, e.Length)
			}
			return
		}
		d.Match([]byte(object))
	})
}
