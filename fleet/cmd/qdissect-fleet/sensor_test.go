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
	"testing"
	"time"
)

// until waits until something is so.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 400 {
		if is() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s: not within 20 s", what)
}

// TestLoopback captures on lo with a sensor, looks at the pages of a view, and fetches packets.
func TestLoopback(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("no network namespace here: not root")
	}
	s := &scene{dir: t.TempDir()}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	game, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
	client, err := net.Dial("udp", game.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ask := func() {
		time.Sleep(15 * time.Millisecond) // else it looks like a copy
		client.Write([]byte("\xff\xff\xff\xffTSource Engine Query\x00"))
		client.SetReadDeadline(time.Now().Add(time.Second))
		client.Read(make([]byte, 1500))
	}

	url := "nats://" + address
	s.start(t, "server", "--store", "hub", "--listen", address)
	until(t, "the server listens", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
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

	if err := sensor.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	sensor.ends(0)
	out, err := exec.Command(qdissect, "report", "--from", filepath.Join(s.dir, "a", "counts"), "--format", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Totals struct{ Requests, Replies int }
	}
	if err := json.Unmarshal(out, &r); err != nil || r.Totals.Requests < 10 || r.Totals.Replies != r.Totals.Requests {
		t.Fatal(r, err)
	}
	want := fmt.Sprintf(`<td class="n">%d</td><td class="n">0.0 %%</td><td></td>`, r.Totals.Requests)
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

// TestViewFirst does what the README says for several machines, on one: keys, a certificate, users. A view that is there first
// waits for the server, and has its first page within three seconds of it.
func TestViewFirst(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not installed")
	}
	s := &scene{dir: t.TempDir()}
	cert := exec.Command("openssl", strings.Fields("req -x509 -newkey rsa:3072 -nodes -days 825 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout hub.key -out hub.pem")...)
	cert.Dir = s.dir
	if out, err := cert.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	key := s.start(t, "key", "wall.nk")
	users := "view wall " + strings.TrimSpace(key.ends(0)) + "\n"
	if err := errors.Join(os.Chmod(filepath.Join(s.dir, "hub.key"), 0o600), os.WriteFile(filepath.Join(s.dir, "users"), []byte(users), 0o600)); err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(address(t), ":")
	view := s.start(t, "view", "-o", "pages", "--nats", "tls://localhost:"+port, "--tls-ca", "hub.pem", "--nkey", "wall.nk")
	select {
	case <-view.done:
		t.Fatalf("the view does not wait: %s", view.text)
	case <-time.After(1500 * time.Millisecond):
	}
	s.start(t, "server", "--store", "hub", "--listen", "0.0.0.0:"+port, "--users", "users", "--tls-cert", "hub.pem", "--tls-key", "hub.key")
	until(t, "the server listens", func() bool {
		c, err := net.Dial("tcp", "localhost:"+port)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	began := time.Now()
	until(t, "there is a page", func() bool { _, err := os.Stat(filepath.Join(s.dir, "pages", "index.html")); return err == nil })
	if past := time.Since(began); past > 4*time.Second { // a second of it is the pause between tries
		t.Errorf("the first page came after %v", past)
	}
}
