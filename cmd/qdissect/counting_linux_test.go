package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/tools/scenes"
)

// TestLiveWhy: an interrupt ends the capture, with the answer.
func TestLiveWhy(t *testing.T) {
	namespace(t)
	r := launch(t, nil, "why", "127.0.0.1", "-i", "lo", "-a", "duration:60", "udp")
	r.listens("lo")
	n := heard(t, "lo")
	exchange(t)
	n(2)
	r.cmd.Process.Signal(os.Interrupt)
	out := strings.Join(r.end(exitUnclear), "\n")
	if want := "was asked 1 time, and 1 reply came, with no more than a challenge."; !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
		t.Errorf("%s\nlacks: %s", out, want)
	}
}

// listens waits until the program captures.
func (r *running) listens(name string) {
	r.t.Helper()
	r.until("begin", func() bool { return strings.Contains(r.err.String(), "listening on "+name) })
}

// TestLiveReport: the file is written while the capture goes on, whole each time, and once more at the end.
func TestLiveReport(t *testing.T) {
	namespace(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "report.html")
	r := launch(t, nil, "report", "-i", "lo", "--every", "1", "-o", file)
	r.listens("lo")
	n := heard(t, "lo")
	exchange(t)
	n(2)
	has := func(text string) bool {
		b, err := os.ReadFile(file)
		if err == nil && (!bytes.HasPrefix(b, []byte("<!DOCTYPE html>")) || !bytes.HasSuffix(bytes.TrimSpace(b), []byte("</html>"))) {
			t.Errorf("a part of a page: %d bytes", len(b))
		}
		return strings.Contains(string(b), text)
	}
	r.until("report", func() bool { return has("Nothing unusual: 1 request from 1 address") })
	exchange(t)
	n(4)
	r.cmd.Process.Signal(os.Interrupt)
	r.end(exitDone)
	if !has("none of 2 requests from 1 address got what was asked for") { // no more than a challenge
		b, _ := os.ReadFile(file)
		t.Errorf("the last report: %s", b)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("files left: %v %v", list, err)
	}
}

// TestOnVerdict: the command gets a verdict while the pipe is open, and its words go to stderr.
func TestOnVerdict(t *testing.T) {
	s := must.Get(scenes.Find("down-icmp"))(t)
	var capture bytes.Buffer
	truth := must.Get(s.Write(&capture, scenes.Options{Span: 40 * time.Second, Clients: 500}))(t)
	in, feed, err := os.Pipe()
	must.Do(t, err)
	defer feed.Close()
	file := filepath.Join(t.TempDir(), "verdict")
	r := launch(t, func(c *exec.Cmd) { c.Stdin = in }, "-o", "jsonl", "-q", "--on-verdict", "cat > '"+file+".part'; mv '"+file+".part' '"+file+"'; echo alarm >&2", "-")
	in.Close()
	must.Get(feed.Write(capture.Bytes()))(t)
	var line []byte
	r.until("give a verdict", func() bool {
		line, _ = os.ReadFile(file)
		return len(line) > 0 && strings.Contains(r.err.String(), "alarm\n")
	})
	var v struct{ Kind, Server string }
	if err := json.Unmarshal(line, &v); err != nil || v.Kind != "server_down" || v.Server != truth.Events[0].Servers[0] {
		t.Errorf("%s: %v", line, err)
	}
	feed.Close()
	if out := strings.Join(r.end(exitDone), "\n"); strings.Contains(out, "alarm") {
		t.Errorf("the output has the words of the command: %s", out)
	}
}
