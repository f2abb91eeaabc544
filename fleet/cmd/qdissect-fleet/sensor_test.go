package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/must"
)

// until waits until something is so.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("%s: not within two minutes", what)
		}
	}
}

// TestLoopback captures on lo with a sensor, looks at the pages of a view, and fetches packets.
func TestLoopback(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("no network namespace here: not root")
	}
	s := &scene{dir: t.TempDir()}
	address := address(t)
	game := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	defer game.Close()
	go func() {
		b := make([]byte, 100)
		for n := byte(0); ; n++ { // the players: replies without their requests must not look like copies
			_, from, err := game.ReadFrom(b)
			if err != nil {
				return
			}
			game.WriteTo([]byte("\xff\xff\xff\xffI\x11Old town\x00de_dust2\x00cstrike\x00Counter-Strike\x00\x0a\x00"+string([]byte{n, 16})+"\x00dl\x00\x001.0\x00"), from)
		}
	}()
	client := must.Get(net.Dial("udp", game.LocalAddr().String()))(t)
	defer client.Close()
	ask := func() {
		time.Sleep(15 * time.Millisecond) // else it looks like a copy
		client.Write([]byte("\xff\xff\xff\xffTSource Engine Query\x00"))
		client.SetReadDeadline(time.Now().Add(time.Minute))
		client.Read(make([]byte, 1500))
	}

	s.start(t, "server", "--store", "hub", "--listen", address)
	url := s.joined(t, address)
	sensor := s.start(t, "sensor", "-i", "lo", "--name", "a", "--dir", "a", "--nats", url, "--qdissect", qdissect,
		"udp", "port", strings.TrimPrefix(game.LocalAddr().String(), "127.0.0.1:"))
	until(t, "the sensor captures", func() bool {
		ask()
		names, _ := filepath.Glob(filepath.Join(s.dir, "a", "ring-*_*.pcapng"))
		return len(names) > 0
	})
	for range 20 {
		ask()
	}
	view := s.start(t, "view", "-o", "pages", "--nats", url, "--every", "1")

	fetched := filepath.Join(s.dir, "cut.pcapng")
	until(t, "packets are fetched", func() bool {
		text := s.start(t, "fetch", "a", "--since", "-1m", "-Y", "message == info_reply", "-w", "cut.pcapng", "--nats", url)
		<-text.done
		out, _ := exec.Command(qdissect, "-q", fetched).Output()
		return text.ProcessState.ExitCode() == 0 && regexp.MustCompile(`a2s +\d\d messages`).Match(out)
	})
	if text := s.start(t, "fetch", "a", "--since", "-1m", "-Y", "message = no", "-w", "no.pcapng", "--nats", url).ends(2); !strings.Contains(text, `sensor a: -Y: `) && !strings.Contains(text, "offset") {
		t.Error(text)
	}

	must.Do(t, sensor.Process.Signal(os.Interrupt))
	sensor.ends(0)
	out := must.Get(exec.Command(qdissect, "report", "--from", filepath.Join(s.dir, "a", "counts"), "--format", "json").Output())(t)
	var r struct {
		Totals struct{ Requests, Replies int }
	}
	if err := json.Unmarshal(out, &r); err != nil || r.Totals.Requests < 10 || r.Totals.Replies != r.Totals.Requests {
		t.Fatal(r, err)
	}
	want := fmt.Sprintf(`<td class="n">%d</td><td class="n">0.0 %%</td><td><p class="said">Nothing unusual`, r.Totals.Requests)
	until(t, "the view has all that the sensor counted: "+want, func() bool {
		b, _ := os.ReadFile(filepath.Join(s.dir, "pages", "index.html"))
		return strings.Contains(string(b), want)
	})
	for _, name := range []string{"all.html", "sensors/a.html"} {
		if b, err := os.ReadFile(filepath.Join(s.dir, "pages", name)); err != nil || !strings.Contains(string(b), "Old town") {
			t.Errorf("%s: %v", name, err)
		}
	}
	view.kill()

	// A sensor that is killed leaves no qdissect behind: the next one can work in its folder.
	second := s.start(t, "sensor", "-i", "lo", "--name", "a", "--dir", "a", "--nats", url, "--qdissect", qdissect)
	lock := filepath.Join(s.dir, "a", "lock")
	held := func() bool { return exec.Command("flock", "-n", lock, "true").Run() != nil }
	until(t, "the second sensor works", held)
	second.kill()
	until(t, "its qdissect ends", func() bool { return !held() })
}

// TestDown has two servers that are asked every second. One is killed, the other hangs: within 15 s both are down on every page,
// from the time of the last reply on.
func TestDown(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("no network namespace here: not root")
	}
	t.Parallel()
	s := &scene{dir: t.TempDir()}
	games := map[string]net.PacketConn{"killed": nil, "hangs": nil}
	silent := make(chan struct{})
	over := make(chan struct{})
	filter := []string{"udp", "and", "("}
	var asking sync.WaitGroup
	defer asking.Wait()
	defer close(over)
	for name := range games {
		game := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
		defer game.Close()
		games[name] = game
		filter = append(filter, "port", strings.TrimPrefix(game.LocalAddr().String(), "127.0.0.1:"), "or")
		client := must.Get(net.Dial("udp", game.LocalAddr().String()))(t)
		defer client.Close()
		asking.Go(func() {
			for {
				select {
				case <-over:
					return
				case <-time.After(time.Second):
					client.Write([]byte("\xff\xff\xff\xffTSource Engine Query\x00"))
				}
			}
		})
		go func() {
			b := make([]byte, 100)
			for n := byte(0); ; n++ {
				_, from, err := game.ReadFrom(b)
				if err != nil {
					return
				}
				select {
				case <-silent:
				default:
					game.WriteTo([]byte("\xff\xff\xff\xffI\x11Old town\x00de_dust2\x00cstrike\x00Counter-Strike\x00\x0a\x00"+string([]byte{n, 16})+"\x00dl\x00\x001.0\x00"), from)
				}
			}
		}()
	}
	filter[len(filter)-1] = ")"
	hub := address(t)
	s.start(t, "server", "--store", "hub", "--listen", hub)
	url := s.joined(t, hub)
	s.start(t, append([]string{"sensor", "-i", "lo", "--name", "a", "--dir", "a", "--nats", url, "--qdissect", qdissect}, filter...)...)
	s.start(t, "view", "-o", "pages", "--nats", url)
	page := func(name string) func() string {
		return func() string {
			b, _ := os.ReadFile(filepath.Join(s.dir, name))
			return strings.ReplaceAll(string(b), "<wbr>", "")
		}
	}
	views := map[string]func() string{"pages/index.html": nil, "pages/all.html": nil, "pages/sensors/a.html": nil}
	for name := range views {
		views[name] = page(name)
	}
	lacks, began := "", time.Now()
	defer func() {
		if t.Failed() {
			t.Log(lacks)
		}
	}()
	until(t, "every page has both servers", func() bool {
		for _, game := range games {
			at := game.LocalAddr().String()
			for name, view := range views {
				if name != "pages/index.html" && !strings.Contains(view(), at) {
					lacks = name
					return false
				}
			}
		}
		return true
	})
	usual := time.Since(began)
	time.Sleep(5 * time.Second)
	down := time.Now().UTC()
	close(silent)
	games["killed"].Close()
	for left := len(views) * len(games); left > 0; {
		if time.Since(down) > max(15*time.Second, 3*usual) { // a slow machine was slow before, too
			t.Fatalf("%d of the statements do not come; that there are servers came after %v", left, usual)
		}
		time.Sleep(50 * time.Millisecond)
		left = 0
		for game, c := range games {
			at := c.LocalAddr().String()
			for name, view := range views {
				_, text, found := strings.Cut(view(), "Down: "+at)
				if !found {
					left++
					continue
				}
				text = text[:min(len(text), 200)]
				m := regexp.MustCompile(`stopped replying at (\d\d:\d\d:\d\d)`).FindStringSubmatch(text)
				if m == nil {
					left++
					continue
				}
				from, err := time.Parse(time.DateTime, down.Format(time.DateOnly)+" "+m[1])
				if off := down.Sub(from); err != nil || off < -time.Second || off > 3*time.Second {
					t.Errorf("%s: %s is down from %s on, and was from %s on", name, game, m[1], down.Format(time.TimeOnly))
				}
			}
		}
	}
	t.Logf("everything says so after %v; that there are servers came after %v", time.Since(down), usual)
}

// TestReadme does what the README says for several machines, command by command, on one whose name is hub. Only the interface and the
// folder of the sensor are others.
func TestReadme(t *testing.T) {
	if text, err := exec.Command("unshare", "-rmnpf", "--mount-proc", "openssl", "version").CombinedOutput(); err != nil {
		t.Skipf("no namespaces or no openssl here: %s", text)
	}
	page := must.Get(os.ReadFile("../../README.md"))(t)
	_, text, _ := strings.Cut(string(page), "### Who may do what")
	text, _, _ = strings.Cut(text, "For a NATS server that exists")
	script := "mount --bind hosts /etc/hosts; ip link set lo up\nkey() { qdissect-fleet key $1.nk >$1.key; }\n"
	commands, keys, users := 0, "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if words := strings.Fields(line); len(words) == 3 && len(words[2]) == 56 { // of the file of users
			keys += "key " + words[1] + "\n"
			users += fmt.Sprintf("echo %s %s $(cat %s.key) >>users\n", words[0], words[1], words[1])
			continue
		}
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok || command == "cat users" || strings.HasPrefix(command, "qdissect-fleet key") {
			continue
		}
		commands++
		switch program := strings.Fields(command + " x"); program[1] {
		case "server":
			script += keys + users + "cp hub.pem ca.pem\n" + command + " &\nsleep 1\n"
		case "sensor":
			command = strings.NewReplacer("-i eth0", "-i lo", "/var/lib/qdissect", "ams1", "sensor ", "sensor --qdissect $Q ").Replace(command)
			fallthrough
		case "view":
			script += command + " &\n"
		default:
			script += command + "\n"
		}
	}
	if commands != 5 {
		t.Fatalf("%d commands in README.md", commands)
	}
	script += "for i in $(seq 1200); do grep -q ams1.html pages/index.html 2>/dev/null && exit 0; sleep 0.1; done; exit 9"
	s := &scene{dir: t.TempDir()}
	self := must.Get(os.Executable())(t)
	must.Do(t, errors.Join(os.Symlink(self, filepath.Join(s.dir, "qdissect-fleet")), os.WriteFile(filepath.Join(s.dir, "hosts"), []byte("127.0.0.1 hub localhost\n"), 0o600)))
	cmd := exec.Command("unshare", "-rmnpf", "--mount-proc", "--kill-child", "sh", "-ec", script)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), "QDISSECT_FLEET_SELF=1", "Q="+qdissect, "PATH="+s.dir+":"+os.Getenv("PATH"))
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, text)
	}
}

// TestViewFirst: a view that is there first waits for the server, and has its first page within three seconds of it.
func TestViewFirst(t *testing.T) {
	s := &scene{dir: t.TempDir()}
	at := address(t)
	view := s.start(t, "view", "--nats", "nats://"+at, "-o", "pages")
	select {
	case <-view.done:
		t.Fatalf("the view does not wait: %s", view.text)
	case <-time.After(1500 * time.Millisecond):
	}
	s.start(t, "server", "--store", "hub", "--listen", at)
	url := s.joined(t, at)
	page := func(dir string) time.Duration {
		began := time.Now()
		until(t, "there is a page", func() bool { _, err := os.Stat(filepath.Join(s.dir, dir, "index.html")); return err == nil })
		return time.Since(began)
	}
	past := page("pages")
	s.start(t, "view", "--nats", url, "-o", "second")
	usual := page("second")
	if past > max(4*time.Second, 2*time.Second+3*usual) { // a second of it is the pause between tries
		t.Errorf("the first page came after %v, that of a view that begins after the server after %v", past, usual)
	}
}
