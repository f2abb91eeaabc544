package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/golden"
	"github.com/qdissect/qdissect/internal/hostile"
	"github.com/qdissect/qdissect/internal/jsonl"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/thorough"
)

// modes are all output formats.
var modes = [][]string{
	{}, {"-V"}, {"-x"}, {"-q"}, {"-t", "ad"}, {"-t", "d"}, {"-o", "jsonl"}, {"-o", "json"}, {"-q", "-o", "jsonl"}, {"--show-secrets", "-V"}, {"--show-secrets", "-o", "jsonl"},
}

// runOn runs the program with a capture on standard input.
func runOn(t *testing.T, capture []byte, args ...string) string {
	t.Helper()
	out, errs := streams(capture, args...)
	return out + errs
}

// streams is like runOn, but separates stdout and stderr.
func streams(capture []byte, args ...string) (string, string) {
	var out, errs bytes.Buffer
	run(append(args, "-"), environment{in: bytes.NewReader(capture), out: &out, err: &errs, getenv: func(string) string { return "" }})
	return out.String(), errs.String()
}

// nasty are texts that must not reach a terminal, and very long ones.
var nasty = sync.OnceValue(func() []string {
	list := []string{strings.TrimSuffix(hostile.Evil, "\x00"), strings.Repeat("N", 1200), strings.Repeat("\x1b[31m", 250), "\"><script>alert(1)</script>", "=cmd|' /C calc'!A0", "a|b`c`\n## head\n", "]]><x/>"}
	var c0, c1, marks strings.Builder
	for r := rune(1); r < 0x20; r++ {
		c0.WriteRune(r)
	}
	for r := rune(0x7f); r < 0xa0; r++ {
		c1.WriteRune(r)
	}
	for r := rune(0xa0); marks.Len() < 1200; r++ {
		if nettext.Unsafe(r) && utf8.ValidRune(r) {
			marks.WriteRune(r)
		}
	}
	raw := make([]byte, 0, 255)
	for b := 1; b < 256; b++ {
		raw = append(raw, byte(b))
	}
	return append(list, c0.String(), c1.String(), marks.String(), string(raw))
})

// nastyCapture puts each text into every place of every protocol that has text.
func nastyCapture(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	s := hostile.NewStage(&b, mkpcap.Options{})
	for _, text := range nasty() {
		sayEverywhere(s, text)
	}
	if thorough.All() && !testing.Short() { // the race detector runs with -short and is slow
		sayLong(s)
	}
	must.Do(t, s.W.Err())
	return b.Bytes()
}

// sayLong puts texts of 60 KiB into every place.
func sayLong(s *hostile.Stage) {
	sayEverywhere(s, strings.Repeat("W", 62<<10))
	sayEverywhere(s, strings.Repeat("\x9b\u202e", 15<<10))
}

// attackFile returns the path of a capture of an attack.
func attackFile(name string) string {
	return filepath.Join("..", "..", "testdata", "pcaps", "hostile", name)
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	b := must.Get(os.ReadFile(name))(t)
	return b
}

// hostileCaptures returns the capture of all texts first, then those of long texts and of
// attacks.
func hostileCaptures(t *testing.T) [][]byte {
	var long bytes.Buffer
	sayLong(hostile.NewStage(&long, mkpcap.Options{}))
	captures := [][]byte{nastyCapture(t), long.Bytes()}
	names, err := filepath.Glob(attackFile("*.pcap*"))
	if err != nil || len(names) < 8 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		captures = append(captures, readFile(t, name))
	}
	return captures
}

// checkSafe fails if the output contains control sequences.
func checkSafe(t testing.TB, what, out string) {
	t.Helper()
	if !utf8.ValidString(out) {
		t.Fatalf("%s: the output is not UTF-8", what)
	}
	for i, r := range out {
		if r != '\n' && nettext.Unsafe(r) {
			t.Fatalf("%s lets %U through: %q", what, r, out[max(0, i-80):min(len(out), i+20)])
		}
	}
}

// TestSafeText checks that no text of a server reaches a terminal unescaped in any
// format, and that lines have a limit.
func TestSafeText(t *testing.T) {
	captures := hostileCaptures(t)
	for m, mode := range modes {
		for i, c := range captures {
			if i > 0 && (i+m)%thorough.Of(3, 1) != 0 { // the first datagram has all texts
				continue
			}
			out := runOn(t, c, append([]string{"--all"}, mode...)...)
			checkSafe(t, fmt.Sprint(mode, " of capture ", i), out)
			if strings.Contains(strings.Join(mode, " "), "json") {
				continue
			}
			for line := range strings.Lines(out) {
				if n := utf8.RuneCountInString(line); n > 4000 {
					t.Fatalf("%v writes a line of %d characters: %.300s", mode, n, line)
				}
			}
		}
	}
}

// TestJSONValid checks that every line and the array are valid JSON, and that no
// object has duplicate keys.
func TestJSONValid(t *testing.T) {
	captures := hostileCaptures(t)
	for _, c := range captures {
		out, _ := streams(c, "--all", "-o", "jsonl")
		for line := range strings.Lines(out) {
			if err := new(jsonl.Document).Parse([]byte(line)); err != nil {
				t.Fatalf("%v: %.300s", err, line)
			}
		}
		if array, _ := streams(c, "--all", "-o", "json"); !json.Valid([]byte(array)) {
			t.Fatal("the array is not JSON")
		}
	}
}

// program returns the path of the program, for tests that need a process: in a network
// namespace, as another user, with signals, or to measure memory. It is this test under
// another name, which saves building the program.
var program = sync.OnceValues(func() (string, error) {
	path, err := exec.LookPath("qdissect")
	if err != nil {
		return "", err
	}
	return path, os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755) // other users run it, too
})

// memoryOf runs the program on a stream. It returns the peak of resident memory in MiB
// and the last line of output.
func memoryOf(t *testing.T, program string, in io.Reader, args ...string) (mib int, last string) {
	t.Helper()
	cmd := exec.Command(program, append(args, "-")...)
	cmd.Env = append(os.Environ(), "GOGC=") // not what thorough sets
	var out lastLine
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, os.Stderr
	must.Do(t, cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			must.Do(t, err)
			return mib, string(out.last)
		case <-time.After(5 * time.Millisecond):
			// The peak of the process. The peak that wait4 returns is at least that of
			// the parent process, because of the way Linux counts.
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
			if err != nil {
				continue
			}
			if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
				kib, _ := strconv.Atoi(strings.Fields(rest)[0])
				mib = max(mib, kib>>10)
			}
		}
	}
}

// lastLine keeps the last line written to it.
type lastLine struct{ last, open []byte }

func (l *lastLine) Write(p []byte) (int, error) {
	l.open = append(l.open, p...)
	if i := bytes.LastIndexByte(l.open, '\n'); i >= 0 {
		j := bytes.LastIndexByte(l.open[:i], '\n')
		l.last = append(l.last[:0], l.open[j+1:i]...)
		l.open = append(l.open[:0], l.open[i+1:]...)
	}
	return len(p), nil
}

// TestMemory compares the resident memory under all floods with docs/limits.md, with
// the default limits and with --max-memory.
func TestMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc, and some seconds")
	}
	program := must.Get(program())(t)
	for _, c := range []struct {
		args  []string
		limit int // MiB
	}{
		{[]string{"--all", "-o", "jsonl"}, 320},
		{[]string{"--all", "-o", "jsonl", "--max-memory", "48M"}, 120},
		{[]string{"--all", "-q", "--max-memory", "16M"}, 64},
	} {
		r, w := io.Pipe()
		go func() {
			s := hostile.NewStage(w, mkpcap.Options{})
			for range thorough.Of(1, 2) {
				for _, f := range hostile.Floods() {
					f.Play(s, thorough.Of(300, 6000))
				}
			}
			w.Close()
		}()
		mib, last := memoryOf(t, program, r, c.args...)
		t.Logf("%v: %d MiB: %s", c.args, mib, last)
		if mib > c.limit || mib == 0 {
			t.Errorf("%v: %d MiB resident, %d are allowed", c.args, mib, c.limit)
		}
	}
}

// TestSafeFormats checks that the formats of check are safe on a terminal, and that
// those for programs are valid.
func TestSafeFormats(t *testing.T) {
	dir := t.TempDir()
	capture := nastyCapture(t)
	must.Do(t, os.WriteFile(filepath.Join(dir, "nasty.pcap"), capture, 0o600))
	if _, errs, status := runIn(t, dir, "check", "--update", "nasty.pcap"); status != exitDone {
		t.Fatal(errs)
	}
	path := filepath.Join(dir, "nasty.golden.jsonl")
	lines, err := os.ReadFile(path)
	must.Do(t, err)
	// Every third message differs, every fifth is missing.
	var changed []string
	n := 0
	for line := range strings.Lines(string(lines)) {
		if n++; n%5 == 0 {
			continue
		}
		if n%3 == 0 {
			line = strings.Replace(line, `"a2s":{`, `"a2s":{"added":"`+strings.Repeat("x", 3000)+`\u001b[2J\u202e",`, 1)
		}
		changed = append(changed, line)
	}
	must.Do(t, os.WriteFile(path, []byte(strings.Join(changed, "")), 0o600))
	for _, format := range golden.Formats {
		out, errs, status := runIn(t, dir, "check", "--max", "1000", "--format", format, "nasty.pcap")
		if status != exitJudged {
			t.Errorf("%s: status %d, %s", format, status, errs)
		}
		checkSafe(t, format, strings.ReplaceAll(out, "\t", " ")+errs)
		switch format {
		case "junit":
			d := xml.NewDecoder(strings.NewReader(out))
			for {
				if _, err := d.Token(); err == io.EOF {
					break
				} else if err != nil {
					t.Fatalf("junit: %v", err)
				}
			}
		case "github":
			for line := range strings.Lines(out) {
				if strings.HasPrefix(line, "::") && !strings.HasPrefix(line, "::error") && !strings.HasPrefix(line, "::warning") && !strings.HasPrefix(line, "::notice") && !strings.HasPrefix(line, "::group") && !strings.HasPrefix(line, "::endgroup") {
					t.Errorf("github: a command of somebody else: %.200s", line)
				}
			}
		}
	}
}

// sayEverywhere sends messages of all protocols with a text in every place that has
// text.
func sayEverywhere(s *hostile.Stage, text string) {
	const single = "\xff\xff\xff\xff"
	for i, p := range []string{
		single + "I\x11" + text + "\x00" + text + "\x00" + text + "\x00" + text + "\x00\x00\x00\x01\x02\x00dl\x00\x01" + text + "\x00\x20" + text + "\x00",
		single + "D\x02\x00" + text + "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00", single + "E\x01\x00" + text + "\x00" + text + "\x00",
		single + "R" + "L 01/02/2026 - 03:04:05: " + text + "\n\x00", single + "l" + text, single + "9" + text + "\x00", single + "m1.2.3.4:5\x00" + text + "\x00m\x00d\x00g\x00\x01\x02\x2fdl\x00\x00\x00\x01\x00",
		single + "statusResponse\n\\sv_hostname\\" + text + "\\" + text + "\\x\n1 2 \"" + text + "\"\n", single + "infoResponse\n\\hostname\\" + text + "\\mapname\\" + text, single + "print\n" + text, single + "connect \"\\name\\" + text + "\"",
		"\\hostname\\" + text + "\\player_0\\" + text + "\\queryid\\1.1\\final\\", "EYE1\x04mta\x0622003" + string([]byte{byte(min(len(text)+1, 255))}) + text[:min(len(text), 254)] + "\x02y\x02z\x02a\x020\x021\x022\x01",
		"\x00\x00\x00\x00\x01" + text + "\x00" + text + "\x00world\x002\x0020\x00\xdd\x631.2.3.4\x00", "\x00\x00\x00\x00\x01splitnum\x00\x80\x00hostname\x00" + text + "\x00\x00\x01player_\x00\x00" + text + "\x00\x00",
		"\x00CORYhostname\x00" + text + "\x00\x00\x00\x01player_\x00\x00" + text + "\x00", "\xff\xffinfoResponse\x00abcd\x00\x00\x00\x00si_name\x00" + text + "\x00\x00\x00", "1\xff0.0.0.0:0\x00\\gamedir\\" + text + "\x00",
		single + "rcon 17 \"x\" " + text, single + text, text,
	} {
		s.Strike(netip.AddrPortFrom(netip.MustParseAddr("203.0.113.66"), evilPorts[i%len(evilPorts)]), netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(s.Now.Nanosecond() >> 20), 2, byte(i)}), 50000), p[:min(len(p), 65500)])
	}
}

// evilPorts are the ports that they come from: those of their protocols, or a usual one.
var evilPorts = [...]uint16{27015, 27015, 27015, 27015, 27015, 27015, 27015, 27960, 27960, 27960, 27960, 7778, 22126, 25565, 29900, 23000, 27666, 27011, 27015, 27015, 27015}
