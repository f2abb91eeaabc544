package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/thorough"
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
			if err := json.Unmarshal([]byte(line), &sum); err != nil {
				t.Fatal(err)
			}
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
	for _, path := range thorough.Captures(captures(t)) {
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
	if all < thorough.Of(150.0, 1000) {
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
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestOneSided checks that no request counts as unanswered if only one direction was
// captured. A server that is down does not count as such a case.
func TestOneSided(t *testing.T) {
	for _, c := range []struct {
		clients, servers, answering int
		oneSided, unanswered        float64
	}{
		{1, 1, 0, 0, 1},
		{9, 1, 0, 0, 9},
		{10, 1, 0, 10, 0},
		{20, 3, 0, 20, 0},
		{20, 4, 3, 0, 5},
		{20, 20, 1, 0, 19},
	} {
		path := conversations(t, c.clients, c.servers, c.answering)
		sum, lines := summaryOf(t, path)
		requests := sum["requests"].(map[string]any)
		one := requests["one_sided"].(float64)
		if one != c.oneSided || requests["unanswered"] != c.unanswered || strings.Count(lines, `"id":"a2s.noreply`) != int(c.unanswered) {
			t.Errorf("%d clients, %d servers, %d answer: %v", c.clients, c.servers, c.answering, requests)
		}
		if said := strings.Count(lines, "only one direction was captured"); said != int(min(c.oneSided, 1)) || (sum["one_sided"] != nil) != (c.oneSided > 0) {
			t.Errorf("%d clients, %d servers, %d answer: said %d times, %v", c.clients, c.servers, c.answering, said, sum["one_sided"])
		}
	}
	// A pipe cannot be read ahead, so the first requests count as unanswered.
	b, err := os.ReadFile(conversations(t, 20, 3, 0))
	if err != nil {
		t.Fatal(err)
	}
	if out := runOn(t, b, "-q"); !strings.Contains(out, "4 unanswered, 16 with only one direction captured\n") {
		t.Errorf("through a pipe: %s", out)
	}
	sum, lines := summaryOf(t, "../../testdata/pcaps/a2s/replies-only.pcap")
	if sum["one_sided"] != 1.0 || !strings.Contains(lines, "only one direction was captured\n") {
		t.Errorf("replies alone: %v", sum)
	}
}

// TestOneSidedLate checks that the rest of a file decides about a request that comes after
// much traffic of one direction, which may be of games and is not.
func TestOneSidedLate(t *testing.T) {
	var b bytes.Buffer
	w := mkpcap.NewWriter(&b, mkpcap.Options{})
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	server := netip.MustParseAddrPort("198.51.100.1:27015")
	client := func(i int) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(1 + i)}), 50000)
	}
	for i := range 30 {
		payload := "\xff\xff\xff\xff\x01 nothing that a protocol knows"
		if i == 15 || i == 29 {
			payload = "\xff\xff\xff\xffTSource Engine Query\x00"
		}
		w.UDP(at.Add(time.Duration(i)*time.Second), client(i), server, []byte(payload))
	}
	w.UDP(at.Add(29100*time.Millisecond), server, client(29), []byte("\xff\xff\xff\xffI\x11name\x00map\x00dir\x00game\x00\x0a\x00\x05\x10\x00dl\x00\x001.0\x00"))
	path := filepath.Join(t.TempDir(), "x.pcap")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	sum, _ := summaryOf(t, path)
	if r := sum["requests"].(map[string]any); r["unanswered"] != 1.0 || r["answered"] != 1.0 || r["one_sided"] != 0.0 {
		t.Errorf("%v", r)
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
