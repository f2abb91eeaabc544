package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestLiveWhy: an interrupt ends the capture, with the answer.
func TestLiveWhy(t *testing.T) {
	namespace(t)
	r := launch(t, nil, "why", "127.0.0.1", "-i", "lo", "-a", "duration:60", "udp")
	for end := time.Now().Add(30 * time.Second); !strings.Contains(r.err.String(), "listening on lo"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it does not begin: %s", &r.err)
		}
	}
	n := heard(t, "lo")
	exchange(t)
	n(2)
	r.cmd.Process.Signal(os.Interrupt)
	out := strings.Join(r.end(exitJudged), "\n")
	if want := "answers, but only private addresses asked it. It was asked 1 time by 1"; !strings.Contains(strings.ReplaceAll(out, "\n", " "), want) {
		t.Errorf("%s\nlacks: %s", out, want)
	}
}
