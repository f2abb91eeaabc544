package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/hostile"
	"github.com/qdissect/qdissect/internal/mkpcap"
)

// flooded runs the program on n pieces of a flood, with honest traffic between
// them, and returns the ids of the findings with their numbers, and the summary.
func flooded(t *testing.T, name string, n int, args ...string) (ids map[string]int, sum map[string]any) {
	t.Helper()
	var b bytes.Buffer
	s := hostile.NewStage(&b, mkpcap.Options{})
	for _, f := range hostile.Floods() {
		if f.Name == name {
			f.Play(s, n)
		}
	}
	if s.W.Frames == 0 {
		t.Fatalf("no flood is called %s", name)
	}
	return found(t, b.Bytes(), args...)
}

// found returns the ids of the findings, those of messages as well.
func found(t *testing.T, capture []byte, args ...string) (ids map[string]int, sum map[string]any) {
	t.Helper()
	ids = map[string]int{}
	for line := range strings.Lines(runOn(t, capture, append(args, "-o", "jsonl")...)) {
		var o struct {
			Type, ID, Text string
			Findings       []struct{ ID, Text string }
		}
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		switch o.Type {
		case "finding":
			ids[o.ID]++
			for _, reason := range []string{"evicted", "expired", "limit reached"} {
				if strings.Contains(o.Text, "("+reason+")") {
					ids[o.ID+" "+reason]++
				}
			}
		case "summary":
			if err := json.Unmarshal([]byte(line), &sum); err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range o.Findings {
			ids[f.ID]++
		}
	}
	return ids, sum
}

// evicts fails unless a flood makes the program give up state with the flags, and
// say so, and not without them.
func evicts(t *testing.T, flood string, n int, args ...string) {
	t.Helper()
	ids, sum := flooded(t, flood, n, args...)
	if ids["state.evicted"] == 0 || sum["drops"].(float64) == 0 {
		t.Errorf("%v: %v, drops %v: nobody says that state was given up", args, ids, sum["drops"])
	}
	if ids, sum := flooded(t, flood, n); ids["state.evicted"] > 0 || sum["drops"].(float64) > 0 {
		t.Errorf("%v, drops %v without %v", ids, sum["drops"], args)
	}
}

func TestMaxFlows(t *testing.T)    { evicts(t, "forged-info", 3000, "--max-flows", "500") }
func TestMaxRequests(t *testing.T) { evicts(t, "forged-info", 3000, "--max-requests", "500") }
func TestMaxPeers(t *testing.T)    { evicts(t, "forged-replies", 3000, "--max-peers", "500") }

// TestRequestsPerFlow: one client cannot take the room of all.
func TestRequestsPerFlow(t *testing.T) {
	if ids, sum := flooded(t, "one-source", 200); ids["state.evicted"] == 0 || sum["drops"].(float64) != 200-32 {
		t.Errorf("%v, drops %v, want 168", ids, sum["drops"])
	}
}

func TestMaxSets(t *testing.T) {
	for flood, id := range map[string]string{"first-parts": "a2s.split.missing evicted", "fragments": "ip.frag.missing evicted"} {
		if ids, _ := flooded(t, flood, 600, "--max-sets", "32"); ids[id] == 0 {
			t.Errorf("%s: %v", flood, ids)
		}
		if ids, _ := flooded(t, flood, 600); ids[id] > 0 {
			t.Errorf("%s without the flag: %v", flood, ids)
		}
	}
}

func TestMaxReassembly(t *testing.T) {
	for flood, id := range map[string]string{"first-parts": "a2s.split.missing evicted", "fragments": "ip.frag.missing evicted"} {
		if ids, _ := flooded(t, flood, 1500, "--max-reassembly", "1M"); ids[id] == 0 {
			t.Errorf("%s: %v", flood, ids)
		}
		if ids, _ := flooded(t, flood, 1500); ids[id] > 0 {
			t.Errorf("%s without the flag: %v", flood, ids)
		}
	}
}

// TestTinyFragments: an IP packet in more fragments than are kept stays
// incomplete, and what was refused is counted.
func TestTinyFragments(t *testing.T) {
	if ids, sum := flooded(t, "tiny-fragments", 400); ids["ip.frag.missing"] != 1 || sum["drops"].(float64) != 400-255 {
		t.Errorf("%v, drops %v", ids, sum["drops"])
	}
}

// stage begins a capture that a test writes by hand.
func stage(b *bytes.Buffer) *hostile.Stage {
	s := hostile.NewStage(b, mkpcap.Options{})
	s.Speak(1)
	return s
}

func TestReplyWindow(t *testing.T) {
	var b bytes.Buffer
	s := stage(&b)
	s.Now = s.Now.Add(2 * time.Second)
	s.Speak(1)
	if ids, _ := found(t, b.Bytes(), "--reply-window", "1s"); ids["a2s.noreply"] != 1 || ids["a2s.unrequested"] != 1 {
		t.Error(ids)
	}
	if ids, _ := found(t, b.Bytes()); ids["a2s.noreply"]+ids["a2s.unrequested"] > 0 {
		t.Errorf("%v without the flag", ids)
	}
}

// TestFlowIdle: a reply after the silence is one that nobody asked for; and the
// conversation is forgotten, so that nothing says it.
func TestFlowIdle(t *testing.T) {
	var b bytes.Buffer
	s := stage(&b)
	s.Now = s.Now.Add(10 * time.Second)
	s.Speak(1)
	if ids, _ := found(t, b.Bytes(), "--flow-idle", "7s"); ids["a2s.unrequested"] != 0 || ids["a2s.noreply"] != 1 {
		t.Error(ids)
	}
	if ids, _ := found(t, b.Bytes()); ids["a2s.unrequested"] != 1 {
		t.Errorf("%v without the flag", ids)
	}
}

func TestPartAge(t *testing.T) {
	var b bytes.Buffer
	s := stage(&b)
	s.Speak(7) // the first part of the split message is the eighth datagram
	s.Now = s.Now.Add(3 * time.Second)
	s.Finish()
	if ids, _ := found(t, b.Bytes(), "--part-age", "1s"); ids["a2s.split.missing expired"] == 0 {
		t.Error(ids)
	}
	if ids, _ := found(t, b.Bytes()); ids["a2s.split.missing"] > 0 {
		t.Errorf("%v without the flag", ids)
	}
}

// TestDecompressionLimits: neither what is announced nor what a stream unfolds to
// gets beyond the limits.
func TestDecompressionLimits(t *testing.T) {
	ids, sum := flooded(t, "bombs", 40)
	if ids["a2s.bz2.bomb"] != 40 || sum["messages"] == nil {
		t.Error(ids)
	}
}

// TestRecordLimit: a message with more entries than are read says so.
func TestRecordLimit(t *testing.T) {
	if ids, _ := flooded(t, "small-rules", 2*255); ids["limit.records"] != 1 {
		t.Error(ids)
	}
}

// TestFindingLimit: so does one with more findings than are shown.
func TestFindingLimit(t *testing.T) {
	for _, f := range hostile.Files() {
		if f.Name != "options.pcapng" {
			continue
		}
		ids := map[string]int{}
		for line := range strings.Lines(runOn(t, f.Make(), "-o", "jsonl")) {
			if strings.Contains(line, `"limit.findings"`) {
				ids["limit.findings"]++
			}
		}
		if ids["limit.findings"] != 1 {
			t.Error(ids)
		}
	}
}

// TestLineLength: a name of 64 KiB does not fill the terminal, and one sees that
// it was cut.
func TestLineLength(t *testing.T) {
	var b bytes.Buffer
	s := hostile.NewStage(&b, mkpcap.Options{})
	hostile.SayEverywhere(s, strings.Repeat("W", 62<<10))
	cut := 0
	for line := range strings.Lines(runOn(t, b.Bytes())) {
		if strings.Contains(line, "WWWW …") || strings.Contains(line, "W\" …") {
			cut++
		}
		if len(line) > 4000 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	if cut < 5 {
		t.Errorf("%d lines are cut", cut)
	}
}

func TestLimitFlags(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--max-flows 3", "at least 16"}, {"--max-flows -1", "at least 16"}, {"--max-requests 99999999999", "at most"}, {"--max-memory 1M", "at least 8M"},
		{"--max-memory x", "is no size"}, {"--max-memory 0", "is no size"}, {"--max-memory 9999999999G", "is no size"}, {"--max-reassembly 10k", "at least 1M"},
		{"--reply-window -1s", "no time before now"}, {"--max-sets 1", "at least 16"},
	} {
		if out := runOn(t, hostile.Talk(mkpcap.Options{}), strings.Fields(c.args)...); !strings.Contains(out, c.want) || strings.Contains(out, "A2S") {
			t.Errorf("%s: %.200s", c.args, out)
		}
	}
	for text, want := range map[string]byteSize{"65536": 65536, "64k": 65536, "64KiB": 65536, "32M": 32 << 20, "1g": 1 << 30, " 1M ": 1 << 20} {
		var s byteSize
		if err := s.Set(text); err != nil || s != want {
			t.Errorf("%q is %d, %v", text, s, err)
		}
	}
	if s := byteSize(3 << 20).String(); s != "3M" {
		t.Error(s)
	}
}
