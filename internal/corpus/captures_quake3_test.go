package corpus

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/report"
)

// quake3Captures are captures of an OpenArena server with qstat and other clients.
var quake3Captures = []string{"q3-openarena", "q3-openarena-lo", "q3-openarena-any-sll"}

// settings returns the settings of a reply as a map.
func settings(m object) object {
	o := object{}
	for _, r := range rows(m, "rules") {
		o[r["key"].(string)] = r["value"]
	}
	return o
}

// TestCapturesQuake3 compares with qstat, whose info and status are the first
// exchanges of each capture.
func TestCapturesQuake3(t *testing.T) {
	for _, name := range quake3Captures {
		t.Run(name, func(t *testing.T) {
			lines := capture(t, name)
			known(t, lines)
			paired(t, lines)
			info, status := messages(lines, "info_reply")[0], messages(lines, "status_reply")[0]
			want := documents(t, name+".client.json")[0].([]any)[0].(object)

			s := status["server"].(object)
			// Some descendants have colour codes with ^x. qstat does not know them and
			// leaves their digits in the name.
			if g := asQstat(settings(status)["sv_hostname"]); strings.Replace(g, "^x", "", 1) != want["name"] {
				t.Errorf("name %q, qstat has %q", g, want["name"])
			}
			if s["name"] != "qdissect OA test server" {
				t.Errorf("name %q", s["name"])
			}
			for ours, theirs := range map[string]string{"map": "map", "players": "numplayers", "max_players": "maxplayers"} {
				for _, m := range []object{info, status} {
					if g := m["server"].(object)[ours]; !equal(g, want[theirs]) {
						t.Errorf("%s: %v, qstat has %v", ours, g, want[theirs])
					}
				}
			}
			got := settings(status)
			for k, v := range settings(info) { // qstat keeps the first value
				got[k] = v
			}
			rules := want["rules"].(object)
			for k, w := range rules {
				if got[k] != w {
					t.Errorf("rule %s: %q, qstat has %q", k, got[k], w)
				}
				delete(got, k)
			}
			for _, k := range []string{"hostname", "mapname", "sv_maxclients", "clients"} { // qstat has them at a higher level
				delete(got, k)
			}
			if len(got) > 0 {
				t.Errorf("rules that qstat does not have: %v", got)
			}
			comparePlayersOfQuake3(t, status, want["players"].([]any), func(p object) (any, any) { return p["score"], p["ping"] })
		})
	}
}

// comparePlayersOfQuake3 compares names, scores and pings.
func comparePlayersOfQuake3(t *testing.T, m object, want []any, numbers func(object) (score, ping any)) {
	t.Helper()
	players := rows(m, "players")
	if len(players) != len(want) || len(want) == 0 {
		t.Fatalf("%d players, want %d", len(players), len(want))
	}
	for i, w := range want {
		w := w.(object)
		score, ping := numbers(w)
		if asQstat(players[i]["name"]) != w["name"] || !equal(players[i]["score"], score) || !equal(players[i]["ping"], ping) {
			t.Errorf("player %d: %v, want %v", i, players[i], w)
		}
	}
}

// TestCapturesQuake3Gamedig compares with gamedig, which requests only the status and
// treats players with a ping of 0 as bots.
func TestCapturesQuake3Gamedig(t *testing.T) {
	lines := capture(t, "q3-openarena")
	replies := messages(lines, "status_reply")
	for i, file := range []string{"q3-openarena.client-gamedig.json", "q3-openarena.client-gamedig2.json"} {
		m := replies[len(replies)-2+i]
		want := documents(t, file)[0].(object)
		raw := want["raw"].(object)
		got := settings(m)
		for k, w := range raw {
			if k == "sv_hostname" {
				continue // without colours, as above
			}
			if got[k] != w {
				t.Errorf("%s: %q, gamedig has %q", k, got[k], w)
			}
		}
		if len(got) != len(raw) {
			t.Errorf("%d settings, gamedig has %d", len(got), len(raw))
		}
		s := m["server"].(object)
		for ours, theirs := range map[string]string{"map": "map", "version": "version", "max_players": "maxplayers", "players": "numplayers", "password": "password"} {
			if !equal(s[ours], want[theirs]) {
				t.Errorf("%s: %v, gamedig has %v", ours, s[ours], want[theirs])
			}
		}
		comparePlayersOfQuake3(t, m, want["bots"].([]any), func(p object) (any, any) {
			raw := p["raw"].(object)
			return raw["frags"], raw["ping"]
		})
	}
}

// paired fails if a reply has no request.
func paired(t *testing.T, lines []object) {
	t.Helper()
	for _, m := range messages(lines) {
		if m["role"] == "reply" && m["request_frame"] == nil {
			t.Errorf("frame %v answers nothing", m["frame"])
		}
	}
}

// TestCapturesQuake3Master compares with the servers that were running, three of
// OpenArena and one of Nexuiz, and with the datagrams that a raw client printed.
func TestCapturesQuake3Master(t *testing.T) {
	const name = "q3-master-dpmaster"
	lines := capture(t, name)
	known(t, lines)
	paired(t, lines)
	arena4 := []string{"10.77.0.1:27960", "10.77.0.21:27961", "10.77.0.22:27962"}
	arena6 := []string{"[fd77::1]:27960", "[fd77::1]:27961", "[fd77::1]:27962"}
	asked := map[string]object{}
	answered := 0
	type listing struct {
		request string
		servers []string
	}
	var lists []listing
	for _, m := range messages(lines) {
		switch m["message"] {
		case "servers_request":
			asked[fmt.Sprint(m["frame"])] = fields(m)
		case "servers_reply":
			request := asked[fmt.Sprint(m["request_frame"])]
			var want []string
			switch filter := fmt.Sprint(request["filter"]); {
			case request["game"] == "Nexuiz":
				want = []string{"10.77.0.1:26000"}
			case request["command"] == "getservers":
				want = arena4
			case strings.HasSuffix(filter, "full ipv6"):
				want = arena6
			default:
				want = slices.Concat(arena4, arena6)
			}
			var got []string
			for _, s := range fields(m)["servers"].([]any) {
				got = append(got, s.(string))
			}
			words := []string{fmt.Sprint(request["command"])}
			for _, k := range []string{"game", "protocol", "filter"} {
				if v, ok := request[k]; ok {
					words = append(words, fmt.Sprint(v))
				}
			}
			lists = append(lists, listing{strings.Join(words, " "), slices.Clone(got)})
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("frame %v: %q, want %q", m["frame"], got, want)
			}
			if fields(m)["end_of_list"] != "EOT" {
				t.Errorf("frame %v: no end of the list", m["frame"])
			}
			answered++
		}
	}
	for request, want := range printedLists(t, name+".client-raw.txt") {
		if !slices.ContainsFunc(lists, func(l listing) bool { return l.request == request && slices.Equal(l.servers, want) }) {
			t.Errorf("no reply to %q has the servers that the client printed: %q", request, want)
		}
	}
	if answered != 8 {
		t.Errorf("%d replies with servers, want 8", answered)
	}
	if n := len(messages(lines, "heartbeat")); n != 7 {
		t.Errorf("%d heartbeats, want 7", n)
	}
	if n := len(messages(lines, "info_reply")); n != 7 {
		t.Errorf("%d servers answered their master, want 7", n)
	}
}

// printedLists parses the replies that a raw client printed as Python literals. It
// returns the servers by request.
func printedLists(t *testing.T, file string) map[string][]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(captures, file))
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^b'(.*)' b['"](.*)['"]$`).FindAllStringSubmatch(string(b), -1) {
		reply, err := strconv.Unquote(`"` + strings.NewReplacer(`\'`, `'`, `"`, `\"`).Replace(m[2]) + `"`)
		if err != nil {
			t.Fatal(err)
		}
		_, reply, _ = strings.Cut(reply, "Response")
		var servers []string
		for !strings.HasPrefix(reply, `\EOT`) {
			n := 6
			if reply[0] == '/' {
				n = 18
			}
			addr, _ := netip.AddrFromSlice([]byte(reply[1 : n-1]))
			servers = append(servers, netip.AddrPortFrom(addr, uint16(reply[n-1])<<8|uint16(reply[n])).String())
			reply = reply[1+n:]
		}
		lists[m[1]] = servers
	}
	if len(lists) != 5 {
		t.Fatalf("%d lists printed", len(lists))
	}
	return lists
}

// TestCapturesQuake3Foreign checks that related protocols and protocols on the same
// ports are not taken for these two.
func TestCapturesQuake3Foreign(t *testing.T) {
	for _, name := range []string{"qw-mvdsv", "q2-alienarena", "q1-quakespasm", "cube2", "mumble-ping", "bedrock-gophertunnel"} {
		for _, m := range messages(capture(t, name)) {
			if p := fmt.Sprint(m["protocol"]); strings.HasPrefix(p, "quake3") {
				t.Errorf("%s: frame %v is taken for %s %s", name, m["frame"], p, m["message"])
			}
		}
	}
}

// TestQuake3Secrets checks that no output contains passwords, CD keys and identifiers.
func TestQuake3Secrets(t *testing.T) {
	secrets := []string{
		"s3cret-rcon", "hunter2", "5F0177C2A76EDBE1C9630DC22D02983C", // real captures
		"swordfish", "2ABC3DEF4GHJ5KLM", "letmein", "the right one", // generated captures
	}
	seen := map[string]bool{}
	paths, err := filepath.Glob(filepath.Join("..", "..", "testdata", "pcaps", "quake3", "*.pcap"))
	if err != nil || len(paths) < 8 {
		t.Fatalf("%d captures, %v", len(paths), err)
	}
	for _, path := range paths {
		for _, show := range []bool{true, false} {
			output := func(build func() report.Reporter) string {
				var out bytes.Buffer
				if _, err := pipeline.Run(pipeline.Options{
					Inputs: []string{path}, Out: &out, Reporter: build,
					Analysis: dissect.Config{Protocols: all.Protocols(), Tree: true},
					Trouble:  func(err error) { t.Errorf("trouble: %v", err) },
				}); err != nil {
					t.Fatal(err)
				}
				return out.String()
			}
			text := func(d report.Detail) string {
				return output(func() report.Reporter { return report.NewText(report.TextOptions{Detail: d, Secrets: show}) })
			}
			tree, hex := text(report.Tree), text(report.Hex)
			lines := output(func() report.Reporter { return report.NewJSON(report.JSONOptions{Secrets: show}) })
			out := text(report.Line) + tree + hex + lines
			for _, s := range secrets {
				switch digits := fmt.Sprintf("% x", s[:6]); {
				case show && strings.Contains(out, s):
					seen[s] = true
				case !show && (strings.Contains(out, s) || strings.Contains(out, digits)):
					t.Errorf("%s: %q is in the output", filepath.Base(path), s)
				}
			}
		}
	}
	for _, s := range secrets {
		if !seen[s] {
			t.Errorf("%q is not in the output when it is asked for", s)
		}
	}
}

// TestCapturesDarkPlaces: commands with a password are refused in silence, those with a
// digest are answered, and a bad digest is not.
func TestCapturesDarkPlaces(t *testing.T) {
	lines := capture(t, "darkplaces-rcon")
	known(t, lines)
	var got []string
	for _, m := range messages(lines) {
		if m["protocol"] != "quake3" {
			t.Errorf("frame %v is of %v", m["frame"], m["protocol"])
		}
		if m["role"] == "reply" {
			got = append(got, fmt.Sprint(m["message"], " ", m["frame"], " to ", m["request_frame"]))
		}
	}
	want := []string{"print 4 to 3", "challenge_reply 6 to 5", "print 8 to 7", "ping_reply 11 to 10", "info_reply 13 to 12"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	digest := "2097c26c15379302b5adacee134dc056" // it begins with a blank
	if f := fields(messages(lines, "srcon_request")[0]); f["digest"] != digest || f["mode"] != "TIME" || f["command_line"] != "sv_gravity" {
		t.Errorf("%v, want the digest %s", f, digest)
	}
	if text := fields(messages(lines, "print")[0])["text"]; text != `"sv_gravity" is "800" ["800"]` {
		t.Errorf("text %q", text)
	}
}
