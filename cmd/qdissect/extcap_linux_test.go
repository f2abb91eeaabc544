package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/thorough"
)

// TestExtcapPipe checks that a capture for Wireshark begins with a header at once, that
// frames come with their comments after a second, that standard error stays empty, and
// that the program ends when the pipe is closed although nothing is to be written.
func TestExtcapPipe(t *testing.T) {
	for _, annotate := range []string{"tree", "line"} {
		namespaceTest(t, annotate, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "fifo")
			must.Do(t, unix.Mkfifo(name, 0o600))
			r := launch(t, nil, "extcap", "--capture", "--extcap-interface", "qdissect", "--fifo", name, "--iface", "veth1", "--annotate", annotate,
				"--extcap-capture-filter", "udp", "--protocols", "a2s,quake3", "--extcap-of-a-newer-version", "4.9")
			fifo := must.Get(os.Open(name))(t)
			defer fifo.Close()
			in := bufio.NewReader(fifo)
			if b, err := in.Peek(4); err != nil || string(b) != "\x0a\x0d\x0d\x0a" {
				t.Fatalf("the file begins with %x (%v)", b, err)
			}
			w := connect(t, "veth0")
			w.send(udp(client, server, question))
			w.send(udp(server, client, answer))
			c := must.Get(capture.NewReader(in, "fifo"))(t)
			for _, want := range []string{"a2s: info request", "a2s: challenge"} {
				var f capture.Frame
				must.Do(t, c.Next(&f))
				comments := strings.Join(f.Comments, "\x00")
				if !strings.HasPrefix(comments, want) || strings.Contains(comments, nettext.TreeMark) != (annotate == "tree") {
					t.Errorf("comments %q", f.Comments)
				}
			}
			fifo.Close()
			r.end(exitDone)
			if s := r.err.String(); s != "" {
				t.Errorf("it says %q", s)
			}
		})
	}
}

// TestExtcap checks that tshark finds our interface after --install, captures from it and
// shows the fields of messages while they come.
func TestExtcap(t *testing.T) {
	if !thorough.All() {
		return // it takes some seconds
	}
	for _, name := range []string{"tshark", "unshare"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is not installed")
		}
	}
	namespace(t)
	path := must.Get(program())(t)
	// The folder of the system is covered, so that nothing else is found and nothing is left.
	script := `
		dir=$(tshark -G folders | sed -nE 's/^(Global )?Extcap path:[[:space:]]*//p')
		mount -t tmpfs tmpfs "$dir"
		"$QDISSECT" extcap --install >&2
		"$QDISSECT" lua --install >&2
		tshark -D | grep -F 'qdissect (Game-server queries)' >&2
		exec tshark -l -i qdissect -f 'udp port 27015' -o extcap.qdissect.iface:veth1 -T fields -e _ws.col.Protocol -e qd.message -e qd.a2s.challenge -e qd.request_frame -e qd.reply_frame`
	cmd := exec.Command("unshare", "-m", "sh", "-ec", script)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "QDISSECT="+path)
	var errs strings.Builder
	cmd.Stderr = &errs
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	defer cmd.Process.Kill()
	lines := make(chan string, 1000)
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
		close(lines)
	}()
	w := connect(t, "veth0")
	got := ""
	want := regexp.MustCompile(`(?m)^A2S\tinfo_request\t\t\t(\d+)\nA2S\tchallenge_reply\t67305985\t\d+\t$`)
	for end := time.Now().Add(patience); !want.MatchString(got); {
		w.send(udp(client, server, question))
		w.send(udp(server, client, answer))
		select {
		case line, ok := <-lines:
			if !ok || time.Now().After(end) {
				cmd.Process.Kill()
				cmd.Wait()
				t.Fatalf("tshark shows\n%s\n%s", got, errs.String())
			}
			got += line + "\n"
		case <-time.After(300 * time.Millisecond):
		}
	}
	must.Do(t, cmd.Process.Signal(syscall.SIGINT))
	for range lines {
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("tshark: %v\n%s", err, errs.String())
	}
	if strings.Contains(errs.String(), "qdissect:") {
		t.Errorf("it says %s", errs.String())
	}
}
