package qdissecttest

import (
	"bytes"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/a2s"
	"github.com/qdissect/qdissect/internal/jsonl"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/serve"
	"github.com/qdissect/qdissect/internal/serve/host"
)

// A tester is a testing.TB that records failures and messages.
type tester struct {
	testing.TB
	name     string
	log      strings.Builder
	failed   bool
	cleanups []func()
}

func (t *tester) Helper()          {}
func (t *tester) Name() string     { return t.name }
func (t *tester) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }
func (t *tester) Log(args ...any)  { fmt.Fprintln(&t.log, args...) }
func (t *tester) Logf(f string, args ...any) {
	fmt.Fprintf(&t.log, f+"\n", args...)
}
func (t *tester) Error(args ...any) { t.failed = true; t.Log(args...) }
func (t *tester) Errorf(f string, args ...any) {
	t.failed = true
	t.Logf(f, args...)
}
func (t *tester) Fatal(args ...any) { t.Error(args...); runtime.Goexit() }
func (t *tester) Fatalf(f string, args ...any) {
	t.Errorf(f, args...)
	runtime.Goexit()
}

// try runs f with a tester. It returns the messages and whether f failed.
func try(t *testing.T, f func(t testing.TB)) (log string, failed bool) {
	inner := &tester{TB: t, name: t.Name()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(inner)
	}()
	<-done
	for i := len(inner.cleanups) - 1; i >= 0; i-- {
		inner.cleanups[i]()
	}
	return inner.log.String(), inner.failed
}

func pcap(name string) string {
	return filepath.Join("..", "testdata", "pcaps", filepath.FromSlash(name))
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b := must.Get(os.ReadFile(path))(t)
	return b
}

func writeFile(t *testing.T, path string, b []byte) {
	t.Helper()
	must.Do(t, os.WriteFile(path, b, 0o666))
}

// TestGoldenDamaged checks that a truncated capture fails even if no message is
// missing, unless its golden records the damage.
func TestGoldenDamaged(t *testing.T) {
	t.Setenv(updateVariable, "1")
	original := readFile(t, pcap("a2s/source.pcap"))
	cut := append(bytes.Clone(original), 0)
	for _, opts := range [][]Option{nil, {RelativeTime()}, {Ignore("rtt_ns")}, {Conversation()}} {
		capture := filepath.Join(t.TempDir(), "x.pcap")
		check := func(data []byte, update string) (string, bool) {
			writeFile(t, capture, data)
			os.Setenv(updateVariable, update)
			return try(t, func(t testing.TB) { Golden(t, capture, opts...) })
		}
		if log, failed := check(original, "1"); failed {
			t.Error(log)
		}
		log, failed := check(cut, "")
		if !failed || !strings.Contains(log, "    damaged: absent → \"record header cut short: 1 of 16 bytes\"\n  "+capture+": frame 17 at offset 4312: record header cut short: 1 of 16 bytes\n") {
			t.Errorf("failed: %v\n%s", failed, log)
		}
		if log, failed = check(cut, "1"); failed {
			t.Error(log)
		}
		if log, failed = check(cut, ""); failed || log != "" {
			t.Errorf("failed: %v\n%s", failed, log)
		}
		if log, failed = check(original, ""); !failed {
			t.Error(log)
		}
		golden := filepath.Join(filepath.Dir(capture), "x.golden.jsonl")
		said := string(readFile(t, golden))
		writeFile(t, golden, []byte(said[:strings.LastIndex(said, `,"damaged"`)]+"}\n"))
		if log, failed = check(cut, ""); failed || !strings.Contains(log, "record header cut short") {
			t.Errorf("failed: %v\n%s", failed, log)
		}
		check(cut, "1")
		if log, failed = check(cut, ""); failed || log != "" {
			t.Errorf("failed: %v\n%s", failed, log)
		}
	}
}

// TestGolden checks a golden that is missing, written, equal, and different.
func TestGolden(t *testing.T) {
	t.Setenv(updateVariable, "")
	dir := t.TempDir()
	capture := filepath.Join(dir, "x.pcap")
	original := readFile(t, pcap("a2s/source.pcap"))
	writeFile(t, capture, original)
	check := func(opts ...Option) (string, bool) {
		return try(t, func(t testing.TB) { Golden(t, capture, opts...) })
	}
	log, failed := check()
	if want := capture + " has no golden; write x.golden.jsonl with\n  QDISSECT_UPDATE=1 go test -run '^TestGolden$'\n"; !failed || log != want {
		t.Errorf("failed: %v\n%s", failed, log)
	}
	os.Setenv(updateVariable, "1")
	if log, failed = check(); failed || log != "wrote "+filepath.Join(dir, "x.golden.jsonl")+"\n" {
		t.Errorf("failed: %v\n%s", failed, log)
	}
	if log, failed = check(); failed || log != "" {
		t.Errorf("again: %v\n%s", failed, log)
	}
	os.Setenv(updateVariable, "0")
	for _, opts := range [][]Option{nil, {RelativeTime()}, {Conversation()}} {
		if log, failed = check(opts...); failed || log != "" {
			t.Errorf("failed: %v\n%s", failed, log)
		}
	}

	writeFile(t, capture, bytes.Replace(original, []byte("ctf_2fort"), []byte("ctf_3fort"), 1))
	const field = "  frame 4 a2s info_reply  198.51.100.10:27015 > 192.0.2.20:51000\n    a2s.map: \"ctf_2fort\" → \"ctf_3fort\"\n"
	for _, opts := range [][]Option{nil, {RelativeTime()}, {Conversation()}} {
		log, failed = check(opts...)
		if !failed || !strings.HasPrefix(log, capture+" is not what x.golden.jsonl says:\n"+field) || !strings.HasSuffix(log, "If it is right as it is now: QDISSECT_UPDATE=1 go test -run '^TestGolden$'\n") {
			t.Errorf("failed: %v\n%s", failed, log)
		}
	}
	if log, failed = check(Max(1)); !failed || !strings.Contains(log, field+"  … 1 more difference\n") {
		t.Errorf("failed: %v\n%s", failed, log)
	}
	if log, failed = check(Ignore("a2s.map", "server.map")); failed {
		t.Error(log)
	}
	if log, failed = check(Ignore("a[")); !failed || !strings.Contains(log, "is no path of a field") {
		t.Error(log)
	}

	// A truncated capture is reported. A file that is not a capture has no golden.
	writeFile(t, capture, original[:len(original)-10])
	if log, failed = check(); !failed || !strings.Contains(log, "missing: ") || !strings.Contains(log, "frame 16") {
		t.Error(log)
	}
	writeFile(t, capture, []byte("no capture"))
	for _, value := range []string{"", "1"} {
		os.Setenv(updateVariable, value)
		if log, failed = check(); !failed || !strings.Contains(log, "x.pcap") || strings.Contains(log, "wrote") {
			t.Errorf("failed: %v\n%s", failed, log)
		}
	}
}

func TestMessages(t *testing.T) {
	list := Messages(t, pcap("a2s/source.pcap"))
	if len(list) != 14 {
		t.Fatalf("%d messages", len(list))
	}
	m := list[3]
	client, server := netip.MustParseAddrPort("192.0.2.20:51000"), netip.MustParseAddrPort("198.51.100.10:27015")
	if m.String() != "frame 4 a2s info_reply" || m.Src != server || m.Dst != client || m.Role != dissect.Reply || m.Time.IsZero() || m.RTT <= 0 {
		t.Errorf("%v: %+v", m, m)
	}
	if want := (Server{Name: "Café \u202e2fort\u202c 24/7 \x1b[31m", Map: "ctf_2fort", Game: "tf", Version: "9543365", Players: 18, MaxPlayers: 32, Bots: 2}); m.Server == nil || *m.Server != want {
		t.Errorf("%+v", m.Server)
	}
	if info := Body[a2s.InfoReply](t, m); info.Map != "ctf_2fort" || info.Players != 18 || info.SteamID.Value != 90071992547409921 {
		t.Errorf("%+v", info)
	}
	if m.Request == nil || m.Request.Frame != 3 || len(m.Request.Replies) != 1 || m.Request.Replies[0].Frame != 4 || list[2].Replies[0] != &list[3] {
		t.Errorf("request %v", m.Request)
	}
	players := list[5]
	if len(players.Players) != 5 || players.Players[0].Name == "" || !players.Players[1].Score.OK || players.Players[1].Score.Value != 4 || players.Players[1].Duration.Value.Seconds() != 3476.5 {
		t.Errorf("%+v", players.Players)
	}
	if len(players.Findings) != 2 || players.Findings[0].ID != "enc.notutf8" || players.Findings[0].Severity != dissect.Note || players.Findings[0].Field == "" {
		t.Errorf("%v", players.Findings)
	}
	rules := list[7]
	if len(rules.Rules) != 101 || rules.Rules[5].Key == "" || len(rules.Frames) != 3 || rules.Frame != 10 {
		t.Errorf("%+v", rules)
	}
	if infos := Bodies[a2s.InfoReply](list); len(infos) != 2 || infos[0].Map != "ctf_2fort" {
		t.Errorf("%+v", infos)
	}
	log, failed := try(t, func(t testing.TB) { Body[a2s.RulesReply](t, m) })
	if want := "the body of frame 4 a2s info_reply is a *a2s.InfoReply, not a *a2s.RulesReply\n"; !failed || log != want {
		t.Error(log)
	}
	if log, failed = try(t, func(t testing.TB) { Messages(t, "none.pcap") }); !failed || !strings.Contains(log, "none.pcap") {
		t.Error(log)
	}
}

// TestMessagesAll checks, for every capture of the project, that Messages and Findings
// contain everything that JSON does, in order, and that the results stay valid while
// other captures are read.
func TestMessagesAll(t *testing.T) {
	paths, err := filepath.Glob(pcap("*/*.pcap*"))
	paths = slices.DeleteFunc(paths, func(path string) bool { return strings.Contains(path, "hostile") }) // some captures are truncated
	if err != nil || len(paths) < 30 {
		t.Fatal(paths, err)
	}
	texts := func(list []Message) string {
		var b strings.Builder
		for _, m := range list {
			fmt.Fprintf(&b, "%v %v %v %d %#v", m, m.Summary, m.Server, len(m.Players), m.Body)
			if s, ok := m.Body.(dissect.Summarizer); ok {
				b.Write(s.AppendSummary(nil))
			}
		}
		return b.String()
	}
	type kept struct {
		list []Message
		text string
	}
	var all []kept
	for _, path := range must.TryCaptures(paths) {
		golden := string(readFile(t, strings.TrimSuffix(path, filepath.Ext(path))+".golden.jsonl"))
		list := Messages(t, path)
		at, findings := 0, 0
		for line := range strings.Lines(golden) {
			line = strings.TrimSuffix(line, "\n")
			findings += strings.Count(line, `"severity":`)
			if !strings.HasPrefix(line, `{"type":"message"`) {
				continue
			}
			if at >= len(list) || string(list[at].JSON) != line {
				t.Errorf("%s: message %d is\n%s\nwant\n%s", path, at, list[min(at, len(list)-1)].JSON, line)
				break
			}
			m := &list[at]
			if strings.Contains(line, `"request_frame":`) != (m.Request != nil) || strings.Contains(line, `"server":{`) != (m.Server != nil) || strings.Contains(line, `"`+jsonl.FieldsKey(m.Protocol)+`":{`) != (m.Body != nil || strings.Contains(line, `"message":"unknown"`)) { // which has no body
				t.Errorf("%s: %+v\n%s", path, m, line)
			}
			at++
		}
		if !t.Failed() && at != len(list) {
			t.Errorf("%s: %d messages, want %d", path, len(list), at)
		}
		if got := Findings(t, path); !t.Failed() && len(got) != findings {
			t.Errorf("%s: %d findings, want %d", path, len(got), findings)
		}
		all = append(all, kept{list, texts(list)})
	}
	for i, k := range all {
		if texts(k.list) != k.text {
			t.Errorf("%s: the messages changed after they were handed out", paths[i])
		}
	}
}

// TestUpdateFlag checks that a flag of the test updates goldens as well.
func TestUpdateFlag(t *testing.T) {
	t.Setenv(updateVariable, "")
	if updating() {
		t.Error("goldens are written though nobody asked")
	}
	flag.Bool("update", false, "write the goldens")
	if updating() {
		t.Error("goldens are written though the flag is not set")
	}
	if err := flag.Set("update", "true"); err != nil || !updating() {
		t.Errorf("goldens are not written though the flag is set: %v", err)
	}
	must.Do(t, flag.Set("update", "false"))
}

// TestPages runs the tests of docs/testing-with-captures.md in a module of their own.
func TestPages(t *testing.T) {
	if !must.TryAll() {
		return // it takes seconds to build
	}
	root, dir := must.Get(filepath.Abs(".."))(t), t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, "testdata"), 0o700))
	page := string(readFile(t, filepath.Join(root, "docs", "testing-with-captures.md")))
	files := regexp.MustCompile("(?s)`(\\w+\\.go)`:\n\n```go\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(files) != 4 {
		t.Fatalf("the page has %d files", len(files))
	}
	for _, f := range files {
		writeFile(t, filepath.Join(dir, f[1]), []byte(f[2]))
	}
	writeFile(t, filepath.Join(dir, "testdata", "server.pcap"), readFile(t, pcap("a2s/source.pcap")))
	// The versions of this module, so that no network is needed.
	_, requirements, _ := strings.Cut(string(readFile(t, filepath.Join(root, "go.mod"))), "\n")
	writeFile(t, filepath.Join(dir, "go.mod"), []byte("module example.com/querytest\n"+requirements+
		"\nrequire github.com/qdissect/qdissect v0.0.0\n\nreplace github.com/qdissect/qdissect => "+filepath.ToSlash(root)+"\n"))
	writeFile(t, filepath.Join(dir, "go.sum"), readFile(t, filepath.Join(root, "go.sum")))
	for _, update := range []string{"1", ""} {
		cmd := exec.Command("go", "test", "-mod=mod", "-count=1", "./...")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), updateVariable+"="+update)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	// What differs between two recordings.
	ignore := regexp.MustCompile("--relative-time --ignore '(.*?)' testdata/recorded").FindStringSubmatch(page)
	if ignore == nil {
		t.Fatal("the page does not say how to compare recordings")
	}
	Golden(t, filepath.Join(dir, "testdata", "recorded", "map.pcapng"), Ignore(strings.Split(ignore[1], ",")...), RelativeTime())
}

// ask sends a datagram and returns n replies.
func ask(t *testing.T, addr, request string, n int) (replies []string) {
	t.Helper()
	c := must.Get(net.Dial("udp", addr))(t)
	defer c.Close()
	must.Do(t, c.SetDeadline(time.Now().Add(2*time.Minute)))
	must.Get(c.Write([]byte(request)))(t)
	b := make([]byte, 1<<16)
	for range n {
		k, err := c.Read(b)
		if err != nil {
			t.Fatalf("%q: %d of %d replies: %v", request, len(replies), n, err)
		}
		replies = append(replies, string(b[:k]))
	}
	return replies
}

// TestServe checks challenges, splits, delays and the log.
func TestServe(t *testing.T) {
	const rules = "\xff\xff\xff\xffV"
	addr, took := "", time.Duration(0)
	log, failed := try(t, func(inner testing.TB) {
		addr = Serve(inner, pcap("a2s/a2s-goldsrc-split.pcap"))
		challenge, start := ask(t, addr, rules+"\xff\xff\xff\xff", 1)[0], time.Now()
		parts := ask(t, addr, rules+challenge[5:], 4)
		took = time.Since(start)
		for i, p := range parts {
			if !strings.HasPrefix(p, "\xfe\xff\xff\xff") || int(p[8]) != i<<4|4 {
				t.Errorf("part %d: %q", i, p[:min(len(p), 12)])
			}
		}
		ask(t, addr, "\xff\xff\xff\xffX", 0)
		ask(t, addr, rules+"\xff\xff\xff\xff", 1) // so that the one before was read
	})
	if failed || took < 5*time.Millisecond { // 10 ms in the capture
		t.Errorf("failed: %v, took %v", failed, took)
	}
	for _, want := range []string{
		"  A2S  rules request  challenge -1 → challenge  [1 datagram, 9 bytes]\n",
		" → rules reply  149 rules  [4 datagrams, 5530 bytes]\n",
		"  ~ no answer to such a request in the capture\n",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	// The port is free when the test has ended.
	c := must.Get(net.ListenPacket("udp", addr))(t)
	c.Close()
}

// TestServeFaults sends every datagram twice.
func TestServeFaults(t *testing.T) {
	addr := Serve(t, pcap("a2s/a2s-goldsrc-split.pcap"), NoDelay(), WithFaults(Faults{Duplicate: 1}))
	replies := ask(t, addr, "\xff\xff\xff\xffV\xff\xff\xff\xff", 2)
	if replies[0] != replies[1] {
		t.Errorf("%q", replies)
	}
}

// TestServeLog checks that requests are shown, and that faults are named.
func TestServeLog(t *testing.T) {
	log, _ := try(t, func(inner testing.TB) {
		addr := Serve(inner, pcap("a2s/a2s-goldsrc-split.pcap"), NoDelay(), WithFaults(Faults{Duplicate: 1}))
		c := must.Get(net.Dial("udp", addr))(t)
		defer c.Close()
		b := make([]byte, 100)
		for _, request := range []string{"V", "Q", "V"} {
			must.Get(c.Write([]byte("\xff\xff\xff\xff" + request + "\xff\xff\xff\xff")))(t)
			for range 2 * strings.Count(request, "V") {
				must.Get(c.Read(b))(t)
			}
		}
	})
	const rules = `\S+ > \S+  A2S  rules request  challenge -1 → challenge  \[2 datagrams, 18 bytes, 1 duplicated\]\n`
	want := "^" + rules + `\S+ > \S+  A2S  unknown message  type 0x51  ~ no answer to such a request in the capture\n` + rules + "$"
	if !regexp.MustCompile(want).MatchString(log) {
		t.Errorf("the log is\n%s", log)
	}
	if log, _ = try(t, func(t testing.TB) {
		exchange := logging(t)
		for i := range maxServeLog + 10 {
			exchange(&host.Exchange{Answer: serve.Answer{Request: fmt.Sprint(i)}})
		}
	}); strings.Count(log, "\n") != maxServeLog+1 || !strings.HasSuffix(log, "\n… further requests are not shown\n") {
		t.Errorf("%d lines, the end is %q", strings.Count(log, "\n"), log[max(0, len(log)-200):])
	}
}

// TestServeMany serves captures with several servers.
func TestServeMany(t *testing.T) {
	const many = "quake3-master/q3-master-dpmaster.pcap"
	const info = "\xff\xff\xff\xffgetinfo mine"
	all := ServeAll(t, pcap(many), NoDelay())
	if len(all) != 9 {
		t.Errorf("%d servers", len(all))
	}
	for _, at := range []string{all["[fd77::1]:27960"], all["10.77.0.1:27960"], Serve(t, pcap(many), ServeAs("10.77.0.1:27960"), NoDelay())} {
		if got := ask(t, at, info, 1)[0]; !strings.Contains(got, `\challenge\mine`) || !strings.Contains(got, "OA 27960") {
			t.Errorf("%q", got)
		}
	}
	log, failed := try(t, func(t testing.TB) { Serve(t, pcap(many)) })
	if want := "serving 10.77.0.1:27960 (quake3), the first of 9 servers in " + pcap(many) + "; ServeAs chooses another, ServeAll serves all: [fd77::1]:27960, "; failed || !strings.HasPrefix(log, want) {
		t.Errorf("failed: %v\n%s", failed, log)
	}
	if log, failed = try(t, func(t testing.TB) { Serve(t, pcap(many), ServeAs("27960")) }); failed || !strings.Contains(log, "serving 10.77.0.1:27960 (quake3), the first of 2 servers in ") {
		t.Errorf("failed: %v\n%s", failed, log)
	}
}

// TestServeNothing checks what a test says that cannot serve.
func TestServeNothing(t *testing.T) {
	source := readFile(t, pcap("a2s/source.pcap"))
	none, cut := filepath.Join(t.TempDir(), "none.pcap"), filepath.Join(t.TempDir(), "cut.pcap")
	writeFile(t, none, source[:24])
	writeFile(t, cut, source[:1500])
	for _, c := range []struct {
		path string
		opts []ServeOption
		want string
		fine bool
	}{
		{none, nil, none + " has no server: no request in it is answered\n", false},
		{pcap("a2s/source.pcap"), []ServeOption{ServeAs("192.0.2.1:1")}, " has no server 192.0.2.1:1 that answers, but 198.51.100.10:27015, ", false},
		{pcap("a2s/source.pcap"), []ServeOption{ServeAs("nobody")}, "ServeAs(\"nobody\"): neither ADDR:PORT nor a port\n", false},
		{"nowhere.pcap", nil, "nowhere.pcap", false},
		{cut, nil, "what follows is not served\n", true},
	} {
		log, failed := try(t, func(t testing.TB) { Serve(t, c.path, c.opts...) })
		if failed == c.fine || !strings.Contains(log, c.want) {
			t.Errorf("failed: %v\n%swant\n%s", failed, log, c.want)
		}
	}
}

// TestServeRecorded records a client that queries a served capture: both are the same
// conversation.
func TestServeRecorded(t *testing.T) {
	addr := Serve(t, pcap("a2s/source.pcap"), NoDelay())
	conn := must.Get(net.Dial("udp", addr))(t)
	defer conn.Close()
	file := filepath.Join(t.TempDir(), "x.pcapng")
	conn = RecordConn(t, conn, File(file))
	const info = "\xff\xff\xff\xffTSource Engine Query\x00"
	b := make([]byte, 1400)
	for _, end := range []string{"", "challenge"} {
		if end != "" {
			end = string(b[5:9])
		}
		must.Get(conn.Write([]byte(info + end)))(t)
		must.Get(conn.Read(b))(t)
	}
	got, want := Bodies[a2s.InfoReply](Messages(t, file)), Bodies[a2s.InfoReply](Messages(t, pcap("a2s/source.pcap")))
	if len(got) != 1 || !slices.ContainsFunc(want, func(m *a2s.InfoReply) bool { return m.Name == got[0].Name && m.Map == got[0].Map }) {
		t.Errorf("%+v", got)
	}
}
