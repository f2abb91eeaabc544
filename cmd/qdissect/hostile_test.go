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
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/a2s"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/golden"
	"github.com/qdissect/qdissect/internal/hostile"
	"github.com/qdissect/qdissect/internal/jsonl"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/report"
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
	if must.TryAll() && !testing.Short() { // the race detector runs with -short and is slow
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
	return append(captures, nettext.Each(names, func(name string) []byte { return readFile(t, name) })...)
}

// checkSafe fails if the output contains control sequences.
func checkSafe(t testing.TB, what, out string) {
	t.Helper()
	if !utf8.ValidString(out) {
		t.Fatalf("%s: the output is not UTF-8", what)
	}
	for i, r := range out {
		if (r < ' ' || r > '~') && r != '\n' && nettext.Unsafe(r) {
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
			if i > 0 && (i+m)%must.Try(3, 1) != 0 { // the first datagram has all texts
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
	for i, c := range captures {
		if i%must.Try(3, 1) > 0 {
			continue
		}
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
	cmd.Env = append(os.Environ(), "GOGC=") // not what package must sets
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
			for range must.Try(1, 2) {
				for _, f := range hostile.Floods() {
					f.Play(s, must.Try(300, 6000))
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
	dir, capture := t.TempDir(), nastyCapture(t)
	must.Do(t, os.WriteFile(filepath.Join(dir, "nasty.pcap"), capture, 0o600))
	if _, errs, status := runIn(t, dir, "check", "--update", "nasty.pcap"); status != exitDone {
		t.Fatal(errs)
	}
	path := filepath.Join(dir, "nasty.golden.jsonl")
	lines := must.Get(os.ReadFile(path))(t)
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

// evilName is a hostile name for files, flags and keys.
const evilName = "ev\x1b[31m\x1b]0;owned\x07\r\b\u009b\u202eil\u200b\xff\xfe"

// safely runs the program in a folder and checks that its output is safe. It returns
// stdout and stderr.
func safely(t *testing.T, dir string, args ...string) (out, errs string) {
	t.Helper()
	out, errs, _ = runIn(t, dir, args...)
	checkSafe(t, fmt.Sprintf("%q", args), strings.ReplaceAll(out, "\t", " ")+errs)
	if out+errs == "" {
		t.Errorf("%q writes nothing", args)
	}
	return out, errs
}

// commented returns a capture whose frames have comments.
func commented(t *testing.T, packets []byte, comments []string) []byte {
	t.Helper()
	in := must.Get(capture.NewReader(bytes.NewReader(packets), "in"))(t)
	var b bytes.Buffer
	w := capture.NewWriter(&b, capture.Pcapng)
	var f capture.Frame
	for i := 0; in.Next(&f) == nil; i++ {
		f.Comments = []string{comments[i%len(comments)]}
		must.Do(t, w.Write(&f))
	}
	must.Do(t, w.Close())
	return b.Bytes()
}

// checkComments fails if a capture has no comments, or unsafe ones. If marks are
// given, it checks only the comments that begin with one of them.
func checkComments(t *testing.T, name string, marks ...string) {
	t.Helper()
	in := must.Get(capture.Open(name))(t)
	defer in.Close()
	n := 0
	var f capture.Frame
	for in.Next(&f) == nil {
		for _, c := range f.Comments {
			if len(marks) > 0 && !slices.ContainsFunc(marks, func(m string) bool { return strings.HasPrefix(c, m) }) {
				continue
			}
			n++
			checkSafe(t, "a comment in "+name, c)
		}
	}
	if n == 0 {
		t.Errorf("%s: no comments", name)
	}
}

// TestSafeElsewhere checks that other output is as safe as messages: comments,
// counters, file names, the output of diff, check, serve and decode, and errors that
// quote names, flags and filters.
func TestSafeElsewhere(t *testing.T) {
	packets := nastyCapture(t)
	put := func(t *testing.T, dir, name string, data []byte) string {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Skipf("no file can have such a name here: %v", err)
		}
		return name
	}
	plain := must.Get(os.ReadFile(filepath.Join("..", "..", "testdata", "pcaps", "a2s", "source.pcap")))(t)

	t.Run("interfaces", func(t *testing.T) {
		for _, s := range nasty() {
			checkSafe(t, "-D", interfaceLine(&capture.Interface{Name: s, Title: s, Addresses: []string{"192.0.2.1"}})+"\n")
		}
	})

	t.Run("comments", func(t *testing.T) {
		dir := t.TempDir()
		put(t, dir, "nasty.pcap", packets)
		put(t, dir, "comments.pcapng", commented(t, plain, nasty()))
		for _, mode := range modes {
			out := runOn(t, commented(t, plain, nasty()), append([]string{"--all"}, mode...)...)
			checkSafe(t, fmt.Sprint(mode), out)
		}
		for _, name := range []string{"nasty.pcap", "comments.pcapng"} {
			var marks []string // comments of the input stay unchanged
			if name == "comments.pcapng" {
				marks = []string{"a2s: ", nettext.TreeMark}
			}
			for _, how := range []string{"line", "tree"} {
				_, _, status := runIn(t, dir, "--all", "--annotate="+how, "-w", how+name+"ng", name)
				if status != exitDone {
					t.Fatal(status)
				}
				checkComments(t, how+name+"ng", marks...)
			}
			safely(t, dir, "cut", name, "cut-"+name+"ng", "-Y", "protocol")
			checkComments(t, "cut-"+name+"ng", "cut: ")
		}
	})

	t.Run("differences", func(t *testing.T) {
		dir := t.TempDir()
		put(t, dir, "nasty.pcap", packets)
		put(t, dir, "plain.pcap", plain)
		put(t, dir, "comments.pcapng", commented(t, plain, nasty()))
		put(t, dir, "saved.jsonl", []byte(runOn(t, packets, "--all", "-o", "jsonl")))
		for _, with := range []string{"plain.pcap", "comments.pcapng", "saved.jsonl"} {
			safely(t, dir, "diff", "--max", "100000", "nasty.pcap", with)
			safely(t, dir, "diff", "--max", "100000", "--strict", with, "nasty.pcap")
		}
		// Goldens from strangers.
		evil := strings.NewReplacer("\x1b", `\u001b`, "\x07", `\u0007`, "\r", `\r`, "\b", `\b`, "\u009b", `\u009b`, "\xff\xfe", "").Replace(evilName)
		for i, text := range []string{
			`{"type":"` + evil + `"}`, `{"type":"message","frame":1,"protocol":"` + evil + `","message":"` + evil + `","src_ip":"` + evil + `","a2s":{"` + evil + `":"` + evil + `"}}`,
			`{"type":"message","` + evilName + `":1}`, `{"` + evilName, evilName, `{"type":"capture","file":"` + evil + `","link_type":"` + evil + `"}`,
			`{"type":"finding","frame":2,"id":"` + evil + `","text":"` + evil + `"}`, `{"type":"summary","` + evil + `":{"` + evil + `":1}}`,
		} {
			name := fmt.Sprintf("golden%d", i)
			put(t, dir, name+".pcap", plain)
			put(t, dir, name+".golden.jsonl", []byte(text+"\n"))
			for _, format := range golden.Formats {
				safely(t, dir, "check", "--format", format, name+".pcap")
			}
			safely(t, dir, "diff", name+".golden.jsonl", "plain.pcap")
		}
		safely(t, dir, "check", "--ignore", evilName, "golden0.pcap")
	})

	t.Run("files", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("files have no such names")
		}
		dir := t.TempDir()
		name := put(t, dir, evilName+".pcap", plain)
		text := put(t, dir, evilName+".txt", []byte("ffffffff54"))
		cut := put(t, dir, evilName+"-cut.pcap", plain[:len(plain)-3])
		other := put(t, dir, evilName+"-none.txt", []byte("no capture"))
		for _, mode := range modes {
			for _, file := range []string{name, cut, other, evilName, "none/" + evilName} {
				safely(t, dir, append(slices.Clone(mode), file)...)
			}
			safely(t, dir, append(slices.Clone(mode), name, cut)...)
		}
		for _, args := range [][]string{
			{"check", name}, {"check", "--update", name}, {"check", evilName}, {"check", cut}, {"diff", name, cut}, {"diff", name, evilName}, {"diff", other, name},
			{"cut", name, evilName + ".out.pcapng", "-Y", "a2s"}, {"cut", evilName, "x.pcap", "-Y", "a2s"}, {"cut", cut, "none/" + evilName, "-Y", "a2s"}, {"cut", name, name, "-Y", "a2s"},
			{"anonymize", name, evilName + ".out2.pcapng"}, {"anonymize", cut, evilName + ".out3.pcapng"}, {"anonymize", other, "x"}, {"anonymize", "--key", evilName, name, "x"},
			{"serve", "--list", name}, {"serve", "--list", cut}, {"serve", "--list", evilName}, {"serve", "--list", other},
			{"decode", text}, {"decode", other}, {"decode", "none/" + evilName},
			{"-w", evilName + ".w.pcapng", "--all", name}, {"-w", "none/" + evilName, name}, {"read", "--out", evilName + "-out", name}, {"read", "--out", other, name},
		} {
			safely(t, dir, args...)
		}
		for _, format := range golden.Formats {
			put(t, dir, evilName+".golden.jsonl", []byte("{\"type\":\"message\"}\n"))
			safely(t, dir, "check", "--format", format, name)
		}
	})

	t.Run("errors", func(t *testing.T) {
		dir := t.TempDir()
		put(t, dir, "plain.pcap", plain)
		put(t, dir, "nasty.pcap", packets)
		for _, args := range [][]string{
			{"--" + evilName}, {"-Y", evilName, "plain.pcap"}, {"-Y", "a2s and " + evilName + " == x", "plain.pcap"}, {"-Y", "summary ~ \"(" + evilName + "\"", "plain.pcap"},
			{"-f", evilName, "plain.pcap"}, {"-f", "udp and " + evilName, "plain.pcap"},
			{"--protocols", evilName, "plain.pcap"}, {"--decode-as", evilName, "plain.pcap"}, {"--decode-as", "udp.port==1," + evilName, "plain.pcap"},
			{"-o", evilName, "plain.pcap"}, {"-t", evilName, "plain.pcap"}, {"-c", evilName, "plain.pcap"}, {"--max-memory", evilName, "plain.pcap"}, {"--reply-window", evilName, "plain.pcap"},
			{"-i", evilName}, {"-a", evilName, "-i", evilName}, {"--metrics", evilName, "-i", evilName}, {"cut", "plain.pcap", "x", "--frames", evilName}, {"cut", "plain.pcap", "x", "--flow", evilName},
			{"cut", "plain.pcap", "x", "-Y", evilName}, {"serve", "--server", evilName, "plain.pcap"}, {"serve", "--listen", evilName, "plain.pcap"}, {"serve", "--loss", evilName, "plain.pcap"},
			{"check", "--format", evilName, "plain.pcap"}, {"diff", "--ignore", evilName, "plain.pcap", "plain.pcap"}, {"protocols", evilName}, {"protocols", "--game", evilName}, {"decode", evilName}, {"decode", "--as", evilName, "ff"},
			{"serve", "--list", "nasty.pcap"}, {"decode", "ffffffff49" + fmt.Sprintf("%x", "\x11"+evilName)},
		} {
			safely(t, dir, args...)
		}
	})

	t.Run("counters", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "nasty.pcap")
		must.Do(t, os.WriteFile(path, packets, 0o600))
		sum, err := pipeline.Run(pipeline.Options{
			Inputs: []string{path}, Out: io.Discard, All: true, Counts: &pipeline.Counts{Detailed: true}, Analysis: dissect.Config{Protocols: all.Protocols()},
			Reporter: func() report.Reporter { return report.NewText(report.TextOptions{}) }, Trouble: func(err error) { t.Error(err) },
		})
		must.Do(t, err)
		text := report.AppendMetrics(nil, sum)
		if checkSafe(t, "metrics", string(text)); !bytes.Contains(text, []byte("a2s")) {
			t.Errorf("no counters: %s", text)
		}
	})
}

// TestAnonymizeBeside checks that the temporary file is in the folder of the output,
// which may be on another disk than the folder for temporary files.
func TestAnonymizeBeside(t *testing.T) {
	in := must.Get(filepath.Abs(filepath.Join("..", "..", "testdata", "pcaps", "a2s", "source.pcap")))(t)
	dir := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, filepath.Join(dir, "none"))
	}
	if _, errs, status := runIn(t, dir, "anonymize", in, "out.pcapng"); status != exitDone {
		t.Error(errs)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("%v is there (%v)", list, err)
	}
}

// TestAnonymizeVerifies: a copy with a name of the capture gets no file, unless one wants it; --verify finds the name. A
// name that is a formula is none in CSV, unless one wants it.
func TestAnonymizeVerifies(t *testing.T) {
	dir := t.TempDir()
	var b bytes.Buffer
	w := mkpcap.NewWriter(&b, mkpcap.Options{})
	client, server := netip.MustParseAddrPort("192.0.2.20:50000"), netip.MustParseAddrPort("198.51.100.10:27015")
	w.UDP(time.Unix(1700000000, 0), server, client, []byte("\xff\xff\xff\xffD\x01\x00=LongNameOfSomebody\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	w.UDP(time.Unix(1700000001, 0), server, client, []byte("\xff\xff\xff\xffI\x11A server\x00=longnameofsomebody\x00cstrike\x00Counter-Strike\x00\x0a\x00\x03\x10\x00dl\x00\x011.0.0.1\x00\x00"))
	must.Do(t, os.WriteFile(filepath.Join(dir, "in.pcap"), b.Bytes(), 0o666))
	const left = "frame 2, a2s.info.map: still"
	for _, c := range []struct {
		args   string
		status int
		errs   string
	}{
		{"anonymize in.pcap out.pcapng", exitJudged, left},
		{"anonymize --verify in.pcap out.pcapng", exitTrouble, "no such file"},
		{"anonymize --no-verify in.pcap out.pcapng", exitDone, ""},
		{"anonymize --verify in.pcap out.pcapng", exitJudged, left},
		{"anonymize --verify in.pcap in.pcap", exitJudged, "frame 1, a2s.players.name: still"},
		{"anonymize --verify --raw-cells in.pcap in.pcap", exitTrouble, "raw-cells"},
	} {
		if _, errs, status := runIn(t, dir, strings.Fields(c.args)...); status != c.status || !strings.Contains(errs, c.errs) {
			t.Errorf("%s: %d\n%s", c.args, status, errs)
		}
	}
	for args, want := range map[string]string{"-E separator=,": "'=LongNameOfSomebody", "-E separator=, --raw-cells": "=LongNameOfSomebody", "": "=LongNameOfSomebody"} {
		out, errs, _ := runIn(t, dir, append(strings.Fields(args), "-o", "fields", "-e", "a2s.players.name", "-Y", "a2s.players", "in.pcap")...)
		if out != want+"\n" {
			t.Errorf("%s: %q, want %q\n%s", args, out, want, errs)
		}
	}
}

// panicking makes the decoder of a2s panic on players requests, after it has corrupted
// its own state.
func panicking(t *testing.T) {
	p := a2s.Protocol()
	before := p.New
	t.Cleanup(func() { p.New = before })
	p.New = func() dissect.Decoder { return &panicDecoder{Decoder: before(), Joiner: before().(dissect.Joiner)} }
}

type panicDecoder struct {
	dissect.Decoder
	dissect.Joiner
	broken bool
}

func (d *panicDecoder) Decode(r *dissect.Reader, m *dissect.Message) {
	if d.broken {
		panic("used after it panicked")
	}
	if d.broken = r.HasPrefix("\xff\xff\xff\xff\x55"); d.broken {
		panic("on purpose")
	}
	d.Decoder.Decode(r, m)
}

// panicSummary is a body whose summary panics after the first words.
type panicSummary struct{}

func (panicSummary) AppendSummary(dst []byte) []byte {
	dst = append(dst, "half a sentence"...)
	panic(string(dst[:4]))
}

type summaryDecoder struct {
	dissect.Decoder
	dissect.Joiner
}

func (d *summaryDecoder) Decode(r *dissect.Reader, m *dissect.Message) {
	players := r.HasPrefix("\xff\xff\xff\xff\x55")
	d.Decoder.Decode(r, m)
	if players {
		m.Body = panicSummary{}
	}
}

// TestContainedSummary checks that a message whose summary panics is printed without
// it in every format, with no partial output.
func TestContainedSummary(t *testing.T) {
	p := a2s.Protocol()
	before := p.New
	t.Cleanup(func() { p.New = before })
	p.New = func() dissect.Decoder { return &summaryDecoder{Decoder: before(), Joiner: before().(dissect.Joiner)} }
	const capture = "../../testdata/pcaps/a2s/source.pcap"
	stacks := make(map[string]bool)
	for _, args := range [][]string{
		{"-o", "text"}, {"-V"}, {"-o", "jsonl"}, {"-o", "json"}, {"-o", "json", "-Y", "protocol"}, {"-Y", "frame >= 1"}, {"-o", "text", "--all"},
	} {
		var outs [2]string
		for i, j := range []string{"1", "2"} {
			all := append([]string{"read", "-j", j, capture}, args...)
			out, errs, code := runHere(all...)
			if code != exitTrouble {
				t.Errorf("%q: exit status %d: %s", all, code, errs)
			}
			outs[i] = out
		}
		if outs[0] != outs[1] {
			t.Errorf("%q: -j 1 and -j 2 differ:\n%s\n%s", args, outs[0], outs[1])
		}
		one := outs[0]
		if !strings.Contains(one, "internal.panic") || strings.Contains(one, "half") || !strings.Contains(one, "players request") {
			t.Errorf("%q: the message is not shown without its summary:\n%s", args, one)
		}
		for _, m := range regexp.MustCompile(`\(stack ([0-9a-f]+)\)`).FindAllStringSubmatch(one, -1) {
			stacks[m[1]] = true
		}
		switch {
		case slices.Contains(args, "jsonl"):
			for line := range strings.Lines(one) {
				if !json.Valid([]byte(line)) {
					t.Errorf("%q: not JSON: %s", args, line)
				}
			}
		case slices.Contains(args, "json"):
			if !json.Valid([]byte(one)) {
				t.Errorf("%q: not JSON:\n%s", args, one)
			}
		}
	}
	if out, errs, code := runHere("decode", "ffffffff5500000000"); code != exitTrouble || !strings.Contains(out, "internal.panic") {
		t.Errorf("decode: exit status %d, %s%s", code, out, errs)
	}
	if len(stacks) != 1 {
		t.Errorf("one mistake has several stacks: %v", stacks)
	}
}

// TestContainment checks that a panic of a decoder costs one message in every command,
// and that the exit status is 2.
func TestContainment(t *testing.T) {
	panicking(t)
	dir := t.TempDir()
	capture := filepath.Join(dir, "players.pcap")
	b := must.Get(os.ReadFile("../../testdata/pcaps/a2s/source.pcap"))(t)
	must.Do(t, os.WriteFile(capture, b, 0o644))
	const report = "because of a mistake in qdissect"
	try := func(in []byte, args ...string) (stdout, stderr string) {
		t.Helper()
		var out, errs bytes.Buffer
		if code := run(args, environment{in: bytes.NewReader(in), out: &out, err: &errs, getenv: func(string) string { return "" }}); code != exitTrouble {
			t.Errorf("%q: exit status %d", args, code)
		}
		if n := strings.Count(errs.String(), report); n != 1 {
			t.Errorf("%q: said %d times how to report it:\n%s", args, n, errs.String())
		}
		return out.String(), errs.String()
	}
	one, _ := try(nil, "read", "-j", "1", capture)
	two, _ := try(nil, "read", "-j", "2", capture)
	if one != two {
		t.Errorf("-j 1 and -j 2 differ:\n%s\n%s", one, two)
	}
	for _, want := range []string{"internal.panic", "ff ff ff ff 55", "info reply"} {
		if !strings.Contains(one, want) {
			t.Errorf("the output lacks %q:\n%s", want, one)
		}
	}
	if out, _ := try(nil, "-o", "jsonl", capture); !strings.Contains(out, `"panics":`) || !strings.Contains(out, `"id":"internal.panic","severity":"error"`) {
		t.Errorf("JSON: %s", out)
	}
	try(nil, "check", "--update", dir)
	try(nil, "check", dir)
	try(nil, "serve", "--list", capture)
	try(nil, "decode", "ffffffff5500000000")
	hidden := filepath.Join(t.TempDir(), "hidden.pcap")
	for _, more := range []string{"--show-secrets=false", "--keep-unknown"} {
		args := []string{"anonymize", capture, hidden}
		if more == "--keep-unknown" {
			args = append(args, more)
		}
		os.Remove(hidden)
		try(nil, args...)
		if b, err := os.ReadFile(hidden); err != nil || bytes.Contains(b, []byte("\xff\xff\xff\xff\x55")) || !bytes.Contains(b, []byte("\xff\xff\xff\xff\x54")) {
			t.Errorf("%q: the datagram that nobody could read is copied, or the others are not (%v)", args, err)
		}
	}
}
