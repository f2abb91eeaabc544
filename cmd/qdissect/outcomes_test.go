package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/unitfile"
)

// summaryOf returns the summary and all lines of JSON of a capture. It checks that
// they are equal for one worker and two.
func summaryOf(t *testing.T, path string, args ...string) (sum map[string]any, lines string) {
	t.Helper()
	var outs [2]string
	for j := range outs {
		var out, errs bytes.Buffer
		run(append(args, "-j", fmt.Sprint(j+1), "-o", "jsonl", path), environment{out: &out, err: &errs, getenv: func(string) string { return "" }})
		outs[j] = out.String() + errs.String()
	}
	if outs[0] != outs[1] {
		t.Errorf("%s: another output with two workers", path)
	}
	for line := range strings.Lines(outs[0]) {
		if strings.HasPrefix(line, `{"type":"summary"`) {
			must.Do(t, json.Unmarshal([]byte(line), &sum))
		}
	}
	if sum == nil {
		t.Fatalf("%s: no summary:\n%s", path, outs[0])
	}
	return sum, outs[0]
}

// TestRequestsAddUp checks that the outcomes of requests add up to the requests.
func TestRequestsAddUp(t *testing.T) {
	if testing.Short() {
		t.Skip("every capture, twice")
	}
	all := 0.0
	for _, path := range must.TryCaptures(captures(t)) {
		sum, _ := summaryOf(t, path, "-q")
		total := 0.0
		for key, n := range sum["requests"].(map[string]any) {
			if key != "sent" {
				total += n.(float64)
			}
		}
		sent := sum["requests"].(map[string]any)["sent"].(float64)
		if total != sent {
			t.Errorf("%s: %v requests, %v of which is said what became of them: %v", path, sent, total, sum["requests"])
		}
		all += sent
	}
	if all < must.Try(150.0, 1000) {
		t.Errorf("%v requests in all captures", all)
	}
}

// conversations writes a capture in which different clients query servers one second
// apart. The first servers answer.
func conversations(t *testing.T, clients, servers, answering int) string {
	t.Helper()
	var b bytes.Buffer
	w := mkpcap.NewWriter(&b, mkpcap.Options{})
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range clients {
		client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(1 + i)}), 50000)
		server := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(1 + i%servers)}), 27015)
		w.UDP(at, client, server, []byte("\xff\xff\xff\xffTSource Engine Query\x00"))
		if i%servers < answering {
			w.UDP(at.Add(30*time.Millisecond), server, client, []byte("\xff\xff\xff\xffI\x11name\x00map\x00dir\x00game\x00\x0a\x00\x05\x10\x00dl\x00\x001.0\x00"))
		}
		at = at.Add(time.Second)
	}
	// Other traffic passes until the last request has expired.
	w.UDP(at.Add(10*time.Second), netip.MustParseAddrPort("192.0.2.250:5000"), netip.MustParseAddrPort("192.0.2.255:5000"), []byte("hello"))
	path := filepath.Join(t.TempDir(), "x.pcap")
	must.Do(t, os.WriteFile(path, b.Bytes(), 0o600))
	return path
}

// TestOneSided: requests to a server without a reply in the capture are unanswered, and the
// summary says that one direction may be missing.
func TestOneSided(t *testing.T) {
	for _, c := range []struct {
		clients, servers, answering int
		said                        bool
		unanswered                  float64
	}{
		{1, 1, 0, false, 1},
		{9, 1, 0, false, 9},
		{10, 1, 0, true, 10},
		{20, 3, 0, true, 20},
		{20, 4, 3, false, 5},
		{20, 20, 1, false, 19},
	} {
		sum, lines := summaryOf(t, conversations(t, c.clients, c.servers, c.answering))
		requests := sum["requests"].(map[string]any)
		if requests["one_sided"] != 0.0 || requests["unanswered"] != c.unanswered || strings.Count(lines, `"id":"a2s.noreply`) != int(c.unanswered) {
			t.Errorf("%d clients, %d servers, %d answer: %v", c.clients, c.servers, c.answering, requests)
		}
		if said := strings.Count(lines, "only one direction was captured, or no server answers\n") > 0; said != c.said || (sum["one_sided"] != nil) != c.said {
			t.Errorf("%d clients, %d servers, %d answer: said %v, %v", c.clients, c.servers, c.answering, said, sum["one_sided"])
		}
	}
	sum, lines := summaryOf(t, "../../testdata/pcaps/a2s/replies-only.pcap")
	if sum["one_sided"] != 1.0 || !strings.Contains(lines, "only one direction was captured\n") {
		t.Errorf("replies alone: %v", sum)
	}
}

// asking writes a capture in which clients of a server ask for its players every second,
// each with a challenge, and what answer returns comes back.
func asking(t *testing.T, clients int, challenge func(client, n int) uint32, answer func(server netip.AddrPort, client int) netip.AddrPort) string {
	t.Helper()
	var b bytes.Buffer
	w := mkpcap.NewWriter(&b, mkpcap.Options{})
	at, server := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), netip.MustParseAddrPort("198.51.100.1:27015")
	for n := range 30 {
		for i := range clients {
			client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(1 + i)}), 50000+uint16(n))
			at = at.Add(time.Second / 4)
			w.UDP(at, client, server, binary.LittleEndian.AppendUint32([]byte("\xff\xff\xff\xffU"), challenge(i, n)))
			if from := answer(server, i); from.IsValid() {
				w.UDP(at.Add(20*time.Millisecond), from, client, []byte("\xff\xff\xff\xffD\x00"))
			}
		}
	}
	path := filepath.Join(t.TempDir(), "x.pcap")
	must.Do(t, os.WriteFile(path, b.Bytes(), 0o600))
	return path
}

// TestUnseen: challenges that clients did not make up prove that a server answers although
// none of its replies is in the capture.
func TestUnseen(t *testing.T) {
	nobody := func(netip.AddrPort, int) netip.AddrPort { return netip.AddrPort{} }
	for name, c := range map[string]struct {
		challenge func(client, n int) uint32
		answer    func(netip.AddrPort, int) netip.AddrPort
		unseen    bool
	}{
		"of their own":   {func(i, _ int) uint32 { return 1000 + uint32(i)*77 }, nobody, true},
		"the same":       {func(int, int) uint32 { return 1234567 }, nobody, false},
		"always another": {func(i, n int) uint32 { return uint32(i*1000 + n + 1) }, nobody, false},
		"none":           {func(int, int) uint32 { return 1<<32 - 1 }, nobody, false},
		"one is answered": {func(i, _ int) uint32 { return 1000 + uint32(i)*77 }, func(server netip.AddrPort, i int) netip.AddrPort {
			return nettext.Either(i == 7, server, netip.AddrPort{})
		}, false},
	} {
		sum, _ := summaryOf(t, asking(t, 12, c.challenge, c.answer))
		r := sum["requests"].(map[string]any)
		if one := r["one_sided"].(float64); one > 300 != c.unseen || one > 0 && !c.unseen {
			t.Errorf("%s: %v", name, r)
		}
	}
}

// TestElsewhere: a reply from another address or port is told once, and its request is not
// unanswered.
func TestElsewhere(t *testing.T) {
	for from, id := range map[string]string{"198.51.100.9:27015": "reply.address", "198.51.100.1:27016": "reply.port"} {
		path := asking(t, 12, func(int, int) uint32 { return 1<<32 - 1 }, func(netip.AddrPort, int) netip.AddrPort { return netip.MustParseAddrPort(from) })
		_, lines := summaryOf(t, path)
		if strings.Count(lines, `"id":"`+id+`"`) != 1 || strings.Contains(lines, "noreply") {
			t.Errorf("%s: %d lines with %s, noreply: %v", from, strings.Count(lines, id), id, strings.Contains(lines, "noreply"))
		}
	}
}

// TestEvictedSeconds checks that the summary lists when state was evicted, and nothing
// otherwise.
func TestEvictedSeconds(t *testing.T) {
	_, sum := flooded(t, "forged-info", 3000, "--max-flows", "500", "-j", "1")
	e, _ := sum["evicted"].(map[string]any)
	if e == nil || e["flows"] == 0.0 {
		t.Fatalf("%v", sum)
	}
	flows := 0.0
	for _, s := range e["seconds"].([]any) {
		flows += s.(map[string]any)["flows"].(float64)
	}
	if flows != e["flows"] {
		t.Errorf("%v conversations in seconds, %v in all", flows, e["flows"])
	}
	if _, two := flooded(t, "forged-info", 3000, "--max-flows", "500", "-j", "2"); fmt.Sprint(two) != fmt.Sprint(sum) {
		t.Errorf("with two workers %v, with one %v", two, sum)
	}
	if _, sum := flooded(t, "forged-info", 3000); dropped(sum) != 0 || sum["evicted"].(map[string]any)["seconds"] != nil {
		t.Errorf("evicted without pressure: %v", sum)
	}
}

// TestWhyMany: that there is no room for all servers is said in text and in JSON, and not to those who ask about one.
func TestWhyMany(t *testing.T) {
	f := new(film)
	server := func(i int) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, byte(100 + i/200), byte(1 + i%200)}), 27015)
	}
	for i := range 1100 {
		f.udp(float64(i), askers(i), server(i), askInfo)
		f.udp(float64(i)+.001, server(i), askers(i), infoReply)
	}
	name := f.write(t)
	const more, room = "More servers were asked than there is room for", 1000
	text, _, _ := runIn(t, ".", "why", name)
	data, _, _ := runIn(t, ".", "why", "--format", "json", name)
	if !strings.Contains(text, more) || strings.Count(data, "\n") != room+1 || !strings.HasSuffix(data, "ADDR FILE answers for one.\"}\n") || !strings.Contains(data, `{"type":"more","text":"`+more) {
		t.Errorf("%s\n%s", text, data)
	}
	for _, format := range []string{"text", "json"} {
		if out, _, code := runIn(t, ".", "why", "--format", format, server(1099).String(), name); code != exitDone || strings.Contains(out, more) || !strings.Contains(out, server(1099).String()) {
			t.Errorf("%d %s", code, out)
		}
	}
}

// FuzzOrders gives --unit - any list of units: each gets one line that says what became of it, or the list is refused.
func FuzzOrders(f *testing.F) {
	f.Add(`{"unit":"sensor=a/unit=x","inputs":[{"path":"../../testdata/pcaps/a2s/trouble.pcap","name":"trouble.pcap"}]}` + "\n" + `{"done":0}`)
	f.Add(`{"unit":"../x","inputs":[{"path":"none","name":"\u0000"}]}`)
	f.Fuzz(func(t *testing.T, list string) {
		units := 0
		for in := json.NewDecoder(strings.NewReader(list)); ; {
			var line unitfile.Order
			if in.Decode(&line) != nil {
				break
			}
			for _, in := range line.Inputs {
				if filepath.IsAbs(in.Path) || in.Path == "-" {
					t.Skip("it may be a device that never ends")
				}
			}
			units++
		}
		var out, stderr bytes.Buffer
		got := run([]string{"read", "--series", "--unit", "-", "--out", t.TempDir(), "-o", "jsonl"},
			environment{in: strings.NewReader(list), out: &out, err: &stderr, getenv: func(string) string { return "" }})
		if n := bytes.Count(out.Bytes(), []byte("\n")); n > units || n == 0 && units > 0 && stderr.Len() == 0 {
			t.Errorf("status %d, %d of %d units: %s%s", got, n, units, &out, &stderr)
		}
	})
}

// FuzzFrom: whatever a unit has, report --from reports or refuses it, and says so.
func FuzzFrom(f *testing.F) {
	dir := filepath.Join(f.TempDir(), "out")
	quiet := func(args ...string) (status int, out, text string) {
		var b, stderr bytes.Buffer
		status = run(args, environment{in: strings.NewReader(""), out: &b, err: &stderr, getenv: func(string) string { return "" }})
		return status, b.String(), stderr.String()
	}
	if status, _, text := quiet("read", "-q", "--series", "--unit", "1/1", "--out", dir, "../../testdata/pcaps/a2s/trouble.pcap"); status != 0 {
		f.Fatal(text)
	}
	var files [2][]byte
	for i, name := range []string{summaryFile, aggregateFile} {
		list, err := filepath.Glob(filepath.Join(dir, "*", "*", "*", "*", name))
		if err == nil && len(list) == 1 {
			files[i], err = os.ReadFile(list[0])
		}
		if err != nil || len(files[i]) == 0 {
			f.Fatal(list, err)
		}
	}
	f.Add(files[0], files[1])
	f.Add([]byte("{}"), []byte{})
	f.Fuzz(func(t *testing.T, summary, counts []byte) {
		unit := t.TempDir()
		for name, b := range map[string][]byte{summaryFile: summary, aggregateFile: counts} {
			must.Do(t, os.WriteFile(filepath.Join(unit, name), b, 0o666))
		}
		status, out, text := quiet("report", "--from", unit, "--format", "text")
		if status != 0 && text == "" || status == 0 && out == "" || strings.ContainsAny(out+text, "\x1b\x00\x7f\u202e") {
			t.Errorf("status %d: %q%q", status, out, text)
		}
	})
}
