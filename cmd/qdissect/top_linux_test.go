package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/must"
)

// A tmuxPane is a terminal in which a shell runs. One client in control mode sends all commands.
type tmuxPane struct {
	t        *testing.T
	commands io.Writer
	replies  *bufio.Scanner
}

// newTmux starts a terminal of 80 by 24.
func newTmux(t *testing.T) *tmuxPane {
	t.Helper()
	if testing.Short() {
		t.Skip("takes real time, which the race detector multiplies")
	}
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	cmd := exec.Command("tmux", "-S", filepath.Join(t.TempDir(), "tmux"), "-f", "/dev/null", "-C",
		"new-session", "-d", "-x", "80", "-y", "24", "env -u TMUX PS1='$ ' sh", ";", "attach-session", "-f", "no-output,ignore-size")
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	p := &tmuxPane{t: t, commands: must.Get(cmd.StdinPipe())(t), replies: bufio.NewScanner(must.Get(cmd.StdoutPipe())(t))}
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		io.WriteString(p.commands, "kill-server\n")
		cmd.Wait()
	})
	p.shows("$")
	return p
}

// tmux returns the output of a command: the lines between %begin and %end, both with the flag that says who asks.
func (p *tmuxPane) tmux(args ...string) string {
	p.t.Helper()
	line := ""
	for _, a := range args {
		line += "'" + strings.ReplaceAll(a, "'", `'\''`) + "' "
	}
	must.Get(io.WriteString(p.commands, line+"\n"))(p.t)
	mark, out := "", ""
	for p.replies.Scan() {
		text := p.replies.Text()
		word, rest, _ := strings.Cut(text, " ")
		switch {
		case mark == "" && word == "%begin" && strings.HasSuffix(rest, " 1"):
			mark = rest
		case mark != "" && word == "%end" && rest == mark:
			return out
		case mark != "" && word == "%error" && rest == mark:
			p.t.Fatalf("tmux %q: %s", args, out)
		case mark != "":
			out += text + "\n"
		}
	}
	p.t.Fatalf("tmux %q: it ended\n%s", args, out)
	return ""
}

// keys sends keys by their names, and types what is none.
func (p *tmuxPane) keys(keys ...string) {
	p.t.Helper()
	p.tmux(append([]string{"send-keys"}, keys...)...)
}

// shows waits until the terminal shows all texts, and returns what it shows.
func (p *tmuxPane) shows(texts ...string) (screen string) {
	p.t.Helper()
	until(p.t, func() bool {
		screen = p.tmux("capture-pane", "-p")
		return !slices.ContainsFunc(texts, func(s string) bool { return !strings.Contains(screen, s) })
	}, func() string { return fmt.Sprintf("the terminal does not show %q but\n%s", texts, screen) })
	return screen
}

// restored checks that the terminal is as it was before: the screen, echo, and the keys of the cursor.
func (p *tmuxPane) restored() {
	p.t.Helper()
	until(p.t, func() bool { // keys that come before are the program's
		return p.tmux("display-message", "-p", "#{alternate_on} #{pane_current_command}") == "0 sh\n"
	}, func() string { return "the terminal is still that of the program" })
	p.keys("stty -a | grep -o ' echo ' | tr a-z A-Z", "Enter")
	if screen := p.shows("ECHO"); strings.Contains(screen, "F1 servers") {
		p.t.Errorf("the screen is not restored:\n%s", screen)
	}
	if modes := p.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{keypad_cursor_flag}"); modes != "0 1 0\n" {
		p.t.Errorf("alternate screen, cursor, keys of the cursor: %s", modes)
	}
	p.keys("clear", "Enter")
}

// TestTopTerminal drives top in a real terminal: keys, size, what it writes, and how it ends.
func TestTopTerminal(t *testing.T) {
	path := must.Get(program())(t)
	pcap := must.Get(filepath.Abs(filepath.Join("..", "..", "testdata", "pcaps", "a2s", "challenges.pcap")))(t)
	dir, p := t.TempDir(), newTmux(t)
	p.keys("cd "+dir+" && clear", "Enter", path+" top "+pcap, "Enter")
	p.shows("qdissect top  challenges.pcap", "[F1 servers]", "29 packets")
	p.keys("F3")
	p.shows("[F3 findings]", "a2s.header.extra")
	p.keys("F4")
	p.shows("[F4 verdicts]", "Nothing unusual")
	p.keys("1", "Enter")
	p.shows("servers › ", "CLIENT", "rules reply")
	p.keys("Enter")
	p.shows("├─ ", " request", "─┤")
	p.keys("Enter")
	p.shows("payload of frame", "header: -1")
	p.keys("x")
	p.shows("|....  ")

	// Another size.
	p.tmux("resize-window", "-x", "160", "-y", "40")
	p.shows("|  header: -1")
	p.keys("Escape")
	p.shows("├─ ")
	p.keys("Escape")
	p.shows("newest message")
	p.keys("Escape")
	p.shows("[F1 servers]", "over time", "protocol")
	p.tmux("resize-window", "-x", "80", "-y", "24")
	until(t, func() bool { return !strings.Contains(p.tmux("capture-pane", "-p"), "over time") }, func() string { return "the chart does not go" })

	// A filter; what is wrong with it is said.
	p.keys("/", "finding ==", "Enter")
	p.shows("filter: finding ==", "! filter, offset 8: value expected")
	p.keys("C-u", "finding == port.swapped", "Enter")
	p.shows("/finding == port.swapped")
	p.keys("/", "C-u", "Enter")
	p.shows("[F1 servers]", "? help")

	// Files.
	p.keys("w", "C-u", "part.pcapng", "Enter")
	p.shows("written to part.pcapng")
	p.keys("w", "C-u", "part.pcapng", "Enter")
	p.shows("part.pcapng exists; use another name")
	p.keys("w", "C-u", "gone/part.pcapng", "Enter")
	p.shows("\ngone: no such file or directory")
	p.keys("Enter")
	p.shows("newest message", "rules reply") // "answered" is in the head as well
	if out, _, code := runIn(t, dir, "-q", "part.pcapng"); code != 0 || !strings.Contains(out, "a2s") {
		t.Errorf("status %d: %s", code, out)
	}

	// Ways to end.
	p.keys("q")
	p.restored()
	p.keys(path+" top "+pcap, "Enter")
	p.shows("[F1 servers]")
	p.keys("C-c")
	p.restored()
	p.keys(path+" top "+pcap, "Enter")
	p.shows("[F1 servers]")
	p.keys("C-z")
	p.shows("$")
	p.restored()
	p.keys("fg", "Enter")
	p.shows("[F1 servers]")
	p.keys("q")
	p.restored()

	// From a pipe; the keys come from the terminal.
	p.keys("cat "+pcap+" | "+path+" top -", "Enter")
	p.shows("[F1 servers]", "29 packets")
	p.keys("Enter")
	p.shows("CLIENT")
	p.keys("q")
	p.restored()

	// Terminals that cannot be drawn on.
	p.keys("TERM=dumb "+path+" top "+pcap+"; echo status $?", "Enter")
	p.shows("top cannot draw on this terminal (TERM=dumb)", "status 2")
	p.restored()

	// Colours only where they are wanted.
	colours := func(env string) bool {
		p.keys(env+" "+path+" top --home 192.0.2.0/24 "+pcap, "Enter")
		p.shows("[F1 servers]")
		p.keys("F3")
		p.shows("[F3 findings]")
		screen := p.tmux("capture-pane", "-p", "-e")
		p.keys("q")
		p.restored()
		return strings.Contains(screen, "\x1b[33m") || strings.Contains(screen, "[33;") || strings.Contains(screen, ";33m")
	}
	if !colours("TERM=xterm-256color") || colours("NO_COLOR=yes") {
		t.Error("colours are wrong")
	}
}

// TestKilledTop kills top while it writes the messages of a row: a file is not there or whole. The next one writes it, and leaves nothing else.
func TestKilledTop(t *testing.T) {
	path := must.Get(program())(t)
	pcap := must.Get(filepath.Abs(testPcap("a2s/challenges.pcap")))(t)
	p := newTmux(t)
	p.tmux("set", "remain-on-exit", "on")
	// ask has a new top in a folder begin to write a file.
	ask := func(dir, name string) {
		p.tmux("respawn-pane", "-k", "-c", dir, "-e", "TMPDIR="+dir, "exec "+path+" top - <"+pcap)
		p.shows("[F1 servers]", "29 packets")
		p.keys("w", "C-u", name, "Enter")
	}
	written := func(dir, name string) string {
		p.shows("written to " + name)
		files := filesIn(t, dir)
		if len(files) != 1 || files[name] == "" {
			t.Errorf("%s: %d files", name, len(files))
		}
		return files[name]
	}
	points := must.Try(3, 20)
	const name = "part.pcapng"
	whole := t.TempDir()
	ask(whole, name)
	want := written(whole, name)
	for i := range points {
		dir := t.TempDir()
		ask(dir, name)
		time.Sleep(time.Duration(i) * 60 * time.Millisecond / time.Duration(points))
		pid := must.Get(strconv.Atoi(strings.TrimSpace(p.tmux("display-message", "-p", "#{pane_pid}"))))(t)
		must.Do(t, syscall.Kill(pid, syscall.SIGKILL))
		for p.tmux("display-message", "-p", "#{pane_dead}") != "1\n" {
			time.Sleep(10 * time.Millisecond)
		}
		got, there := filesIn(t, dir)[name]
		if there && got != want {
			t.Errorf("%s has %d bytes, of %d", name, len(got), len(want))
		}
		if err := os.Remove(filepath.Join(dir, name)); there && err != nil {
			t.Error(err)
		}
		if ask(dir, name); written(dir, name) != want {
			t.Errorf("killed and asked again: %s differs", name)
		}
	}
}

// TestTopLive: while packets come fast, none is lost, the view changes, and a conversation can be opened.
func TestTopLive(t *testing.T) {
	path := must.Get(program())(t)
	namespace(t)
	p := newTmux(t) // its shell is in the namespace
	p.keys(path+" top -i lo", "Enter")
	p.shows("qdissect top  lo", "[F1 servers]")
	s := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	defer s.Close()
	c := must.Get(net.Dial("udp", s.LocalAddr().String()))(t)
	defer c.Close()
	server := s.LocalAddr().String()
	views := map[string]bool{}
	for i, began := 0, time.Now(); time.Since(began) < must.Try(time.Second, 3*time.Second) || len(views) < 3; i++ {
		for range 100 {
			c.Write([]byte(question))
		}
		if i%50 == 0 {
			views[p.tmux("capture-pane", "-p")] = true
		}
		if time.Since(began) > patience {
			t.Fatalf("%d views", len(views))
		}
		time.Sleep(2 * time.Millisecond)
	}
	screen := p.shows(server)
	if strings.Contains(screen, "LOST") {
		t.Errorf("packets were lost:\n%s", screen)
	}
	p.keys("p")
	p.shows("PAUSED")
	p.keys("Enter")
	p.shows(fmt.Sprint("servers › ", server), c.LocalAddr().String())
	p.keys("Enter")
	p.shows("├─ info request")
	p.keys("p", "C-c")
	p.restored()
}

// TestTextTerminal: lines are cut to the width of a terminal, findings stand below, and a live capture with -q shows a line that changes.
func TestTextTerminal(t *testing.T) {
	namespace(t)
	path := must.Get(program())(t)
	pcap := must.Get(filepath.Abs(filepath.Join("..", "..", "testdata", "pcaps", "a2s", "source.pcap")))(t)
	p := newTmux(t)
	p.keys("clear", "Enter", path+" "+pcap+"; echo END", "Enter")
	screen := p.shows("\nEND", "\n        ~ a2s.split.reorder: the parts arrived out of order\n", "…")
	for line := range strings.Lines(screen) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if n := strings.Count(screen, " A2S  "); n != 14 {
		t.Errorf("%d lines of messages, want 14:\n%s", n, screen)
	}

	// Commands that show much about a message break lines instead.
	p.keys("clear", "Enter", path+" -V -Y frame==4 "+pcap, "Enter")
	p.shows("… name: \"Café \\u202e2fort\\u202c 24/7\n                                              \\x1b[31m\"\n")
	p.keys("clear", "Enter", path+" -q -i lo", "Enter")
	n := heard(t, "lo")
	p.shows(" UTC  0 packets (0/s)")
	exchange(t)
	n(2)
	p.shows(" UTC  2 packets ")
	p.keys("C-c")
	if screen := p.shows("\nkernel "); strings.Contains(screen, "packets (") {
		t.Errorf("the line stays:\n%s", screen)
	}
}
