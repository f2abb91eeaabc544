package top

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/tools/scenes"
	"github.com/qdissect/qdissect/report"
)

var update = flag.Bool("update", false, "write the goldens")

// began is the time of the first snapshot of a live view.
var began = time.Date(2026, 3, 14, 19, 0, 0, 0, time.UTC)

func analysis() dissect.Config {
	return dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign()}
}

// snapshotOf returns what is known of a capture.
func snapshotOf(t *testing.T, file []byte, o stats.Options) *Snapshot {
	t.Helper()
	a, recent := stats.New(), &capture.Recent{Limit: 64 << 20}
	sum, err := pipeline.Run(pipeline.Options{
		Inputs: []string{"-"}, Stdin: bytes.NewReader(file), Out: io.Discard, Workers: 1, Counts: &pipeline.Counts{Stats: a}, Save: &pipeline.Saving{Recent: recent},
		Reporter: func() report.Reporter { return report.SummaryOnly(report.NewCounts()) }, Analysis: analysis(),
		Trouble: func(err error) { t.Error(err) },
	})
	must.Do(t, err)
	o.Packets = sum.Packets
	r := a.Report(o)
	if len(r.Rules) > 0 { // the screens show how they are drawn, not what they say
		r.Verdicts = []stats.Verdict{
			{Kind: "forged_flood", Server: "198.51.100.11:27015", Text: "Forged flood at 198.51.100.11:27015: 72,378 a2s info requests in 30 s from 71,897 addresses that ask once or twice and never finish a handshake.", Advice: "Make the server ask for a challenge if it can, and limit requests without one in total (the rule below)."},
			{Kind: "reflection", Sources: []string{"203.0.113.77"}, Text: "Reflection at 203.0.113.77: it is the victim.", Advice: "Limit these requests per address."},
		}
		r.Rules = []stats.Rule{
			{Format: "nftables", Title: "At most 10 requests per second from one address", Effect: "It would have dropped 22 % of forged requests and 0 % of honest requests.", Text: "table inet game_queries {\n\tchain in {\n\t\ttype filter hook prerouting priority -300; policy accept;\n\t\tudp dport { 27015, 27016, 27017, 27018, 27019 } @th,64,32 0xffffffff drop\n\t}\n}\n"},
			{Format: "iptables", Title: "The same for iptables-restore --noflush", Effect: "Take it only if nft cannot be used.", Text: "*raw\nCOMMIT\n"},
		}
		r.Unclear = []string{"The kernel lost 17 packets because the buffer was full: numbers are too low where the timeline says so."}
	}
	return &Snapshot{At: began, Report: r, Options: o, Frames: recent.Frames(), Ended: true}
}

func scene(t *testing.T, name string) []byte {
	t.Helper()
	s := must.Get(scenes.Find(name))(t)
	var b bytes.Buffer
	must.Get(s.Write(&b, scenes.Options{Span: 30 * time.Second, Clients: 200, Sources: 300, Rate: 200}))(t)
	return b.Bytes()
}

// A screen is a model that is driven as by bubbletea.
type screen struct {
	t *testing.T
	Model
	saved string // what was asked for
}

func newScreen(t *testing.T, live bool) *screen {
	s := &screen{t: t}
	s.Model = New(Config{
		Title: "night.pcap", Live: live,
		Run: func(at *Snapshot) pipeline.Options {
			return pipeline.Options{Source: &pipeline.Source{Source: at.Frames.Again()}, Analysis: analysis()}
		},
		Save: func(file string, _ *Snapshot, expr string) string {
			s.saved = file + " " + expr
			return "saved"
		},
	})
	return s
}

// send sends a message, and what its commands return.
func (s *screen) send(msg tea.Msg) {
	m, cmd := s.Update(msg)
	s.Model = m.(Model)
	s.run(cmd)
}

func (s *screen) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			s.run(c)
		}
	case nil, tea.QuitMsg:
	default:
		s.send(msg)
	}
}

var special = map[string]rune{
	"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown, "end": tea.KeyEnd, "home": tea.KeyHome, "pgdown": tea.KeyPgDown, "tab": tea.KeyTab,
	"f1": tea.KeyF1, "f2": tea.KeyF2, "f3": tea.KeyF3, "f4": tea.KeyF4, "backspace": tea.KeyBackspace, "left": tea.KeyLeft, "right": tea.KeyRight,
}

// keys presses keys, and types what is none.
func (s *screen) keys(list ...string) {
	for _, k := range list {
		if code, ok := special[k]; ok {
			s.send(tea.KeyPressMsg{Code: code})
			continue
		}
		for _, r := range k {
			s.send(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
}

// lines returns the screen without styles. It checks that it fits.
func (s *screen) text() string {
	s.t.Helper()
	list := strings.Split(s.View().Content, "\n")
	if len(list) > s.height {
		s.t.Errorf("%d lines on a screen of %d", len(list), s.height)
	}
	for i, l := range list {
		l = ansi.Strip(l)
		if n := ansi.StringWidth(l); n > s.width {
			s.t.Errorf("%d columns on a screen of %d: %q", n, s.width, l)
		}
		if strings.ContainsFunc(l, nettext.Unsafe) {
			s.t.Errorf("not safe: %q", l)
		}
		list[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(list, "\n") + "\n"
}

// golden compares the screen with a file.
func (s *screen) golden(name string) {
	s.t.Helper()
	got, path := s.text(), filepath.Join("testdata", name+".txt")
	if *update {
		must.Do(s.t, os.WriteFile(path, []byte(got), 0o666))
	}
	if want, err := os.ReadFile(path); err != nil || string(want) != got {
		s.t.Errorf("%s differs (-update writes it): %v\n%s", path, err, got)
	}
}

// TestScreens looks at a capture from the servers down to the bytes of a message.
func TestScreens(t *testing.T) {
	s := newScreen(t, false)
	s.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	if got := s.text(); !strings.Contains(got, "waiting for packets") {
		t.Errorf("before the first snapshot:\n%s", got)
	}
	s.send(snapshotMsg{snapshotOf(t, scene(t, "mixed"), stats.Options{})})
	s.golden("servers")
	s.keys("f2")
	s.golden("clients")
	s.keys("f3", "down")
	s.golden("findings")
	s.keys("f4")
	s.golden("verdicts")
	s.keys("down", "down")
	s.golden("rule")
	s.keys("?")
	s.golden("help")
	s.keys("q", "1", "down", "down", "enter") // the first key closes the help
	s.golden("conversations")
	s.keys("down", "enter")
	s.golden("ladder")
	s.keys("down", "enter")
	s.golden("fields")
	s.keys("x")
	s.golden("bytes")
	s.keys("esc", "esc", "esc")
	s.send(tea.WindowSizeMsg{Width: 200, Height: 16})
	s.golden("wide")
	s.send(tea.WindowSizeMsg{Width: 20, Height: 5})
	s.keys("/", "players > 20")
	if got := s.text(); !strings.HasSuffix(got, "filter: …yers > 20 …\n") {
		t.Errorf("a long prompt: %s", got)
	}
	s.keys("esc")
	s.send(tea.WindowSizeMsg{Width: 1, Height: 1})
	s.text()
}

// TestFilter: the tables and the conversations show what matches.
func TestFilter(t *testing.T) {
	s := newScreen(t, false)
	s.send(snapshotMsg{snapshotOf(t, scene(t, "mixed"), stats.Options{})})
	s.keys("/", "nonsense ==", "enter")
	if got := s.text(); !strings.Contains(got, "filter: nonsense ==") || s.filter != "" {
		t.Errorf("a wrong expression:\n%s", got)
	}
	for range "nonsense ==" {
		s.keys("backspace")
	}
	s.keys("protocol == quake3 and src_ip == 203.0.113.0/24", "enter")
	s.golden("filter")
	s.keys("f2", "enter")
	if got := s.text(); len(s.talks) == 0 || !strings.Contains(got, "203.0.113.77") {
		t.Errorf("conversations:\n%s", got)
	}
	for _, c := range s.talks {
		if c.Protocol != "quake3" {
			t.Errorf("a conversation of %s", c.Protocol)
		}
	}
	s.keys("w", "enter")
	if want := "addr == " + s.talks[0].Server.String(); !strings.Contains(s.saved, want) || !strings.Contains(s.saved, "(protocol == quake3") {
		t.Errorf("saved %q, want %q", s.saved, want)
	}
}

// TestLive: rates are those of the last seconds, the selection stays on its row, and a pause keeps the screen.
func TestLive(t *testing.T) {
	s := newScreen(t, true)
	at := func(second int, requests ...uint64) snapshotMsg {
		r := &stats.Report{Verdicts: []stats.Verdict{{Kind: stats.NothingUnusual, Text: "Nothing unusual."}}}
		for i, n := range requests {
			r.Servers = append(r.Servers, stats.Server{Address: fmt.Sprintf("198.51.100.%d:27015", i+1), Requests: n, Home: true, Players: -1})
		}
		return snapshotMsg{&Snapshot{At: began.Add(time.Duration(second) * time.Second), Report: r, Frames: new(capture.Frames), Ended: true}}
	}
	s.send(at(0, 1000, 100))
	s.send(at(1, 1010, 200))
	lines := strings.Split(s.text(), "\n")
	if !strings.Contains(lines[5], "198.51.100.2:27015") || !strings.Contains(lines[5], " 100 ") || !strings.Contains(lines[6], " 10 ") {
		t.Errorf("rates:\n%s", s.text())
	}
	s.keys("down") // the first server
	s.send(at(2, 2000, 210))
	if lines = strings.Split(s.text(), "\n"); !strings.HasPrefix(lines[5], "> 198.51.100.1:27015") {
		t.Errorf("the selection did not stay on its row:\n%s", s.text())
	}
	s.keys("p")
	before := s.text()
	s.send(at(3, 9000, 9000))
	if got := s.text(); got != before || !strings.Contains(got, "PAUSED") {
		t.Errorf("paused:\n%s", got)
	}
	s.keys("p", "t")
	if got := s.text(); !strings.Contains(got, " 9,000 ") {
		t.Errorf("totals:\n%s", got)
	}
}

// TestHostileNames: what servers call themselves does not reach the terminal as it is. A server without a port is one, too.
func TestHostileNames(t *testing.T) {
	name := "\x1b]0;owned\a\x1b[2J\x1b[31m\u202egnp.\u2066\u0085\x9b" + strings.Repeat("\u0301", 40) + "界界"
	var file bytes.Buffer
	w := mkpcap.NewWriter(&file, mkpcap.Options{})
	client, server := netip.MustParseAddrPort("192.0.2.9:50000"), netip.MustParseAddrPort("198.51.100.10:0")
	w.UDP(began, client, server, []byte("\xff\xff\xff\xffTSource Engine Query\x00"))
	w.UDP(began.Add(time.Millisecond), server, client, []byte("\xff\xff\xff\xffI\x11"+name+"\x00"+name+"\x00cs\x00game\x00\x0a\x00\x01\x02\x00dl\x00\x001\x00\x00"))
	s := newScreen(t, false)
	for _, width := range []int{80, 200} {
		s.send(tea.WindowSizeMsg{Width: width, Height: 30})
		s.send(snapshotMsg{snapshotOf(t, file.Bytes(), stats.Options{})})
		for _, k := range []string{"f2", "f3", "f4", "f1", "w", "enter", "enter", "enter", "down", "enter", "x", "w", "esc", "/", "\x1b[31m\u202e", "esc", "esc", "esc", "esc"} {
			s.keys(k)
			if got := s.View().Content; strings.Contains(got, "\x1b]") || strings.Contains(got, "\a") || strings.Contains(got, "\x1b[2J") {
				t.Errorf("after %s: %q", k, got)
			}
			s.text()
		}
	}
	if !strings.Contains(s.text(), `\x1b]0;owned`) || s.saved != "qdissect-198.51.100.10.pcapng addr == 198.51.100.10" {
		t.Errorf("the name is not shown, or %q is saved:\n%s", s.saved, s.text())
	}
}

// TestBounds: of many conversations those with the most messages are kept, and of many messages the newest.
func TestBounds(t *testing.T) {
	var file bytes.Buffer
	w := mkpcap.NewWriter(&file, mkpcap.Options{})
	server := netip.MustParseAddrPort("198.51.100.10:27015")
	send := func(i, port int, at time.Time) {
		w.UDP(at, netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), uint16(port)), server, []byte("\xff\xff\xff\xffi"))
	}
	const talkative, messages = 77, mostLines + 500
	for i := range messages {
		send(talkative, 999, began.Add(time.Duration(i)*20*time.Millisecond))
	}
	last := began.Add(messages * 20 * time.Millisecond)
	for i := range 2*mostConversations + 10 {
		send(i, 1000, last.Add(time.Duration(i)*time.Millisecond))
	}
	s := snapshotOf(t, file.Bytes(), stats.Options{})
	run := newScreen(t, false).c.Run
	list, left, err := Conversations(run(s), Selection{Server: server})
	if err != nil || len(list) != mostConversations || left != mostConversations+11 {
		t.Fatalf("%d conversations, %d left out: %v", len(list), left, err)
	}
	c := list[len(list)-1]
	if c.Requests != messages {
		t.Fatalf("the oldest one has %d requests", c.Requests)
	}
	// Of those that do not match, none is kept instead of one that does.
	list, left, err = Conversations(run(s), Selection{Server: server, Expr: "src_ip == 10.0.0.0/28"})
	if err != nil || len(list) != 16 || left != 0 {
		t.Errorf("%d conversations match, %d left out: %v", len(list), left, err)
	}
	lines, left, err := Ladder(run(s), Selection{Server: c.Server, Client: c.Client})
	if err != nil || len(lines) != mostLines || lines[len(lines)-1].Time.Before(last.Add(-20*time.Millisecond)) {
		t.Errorf("%d lines, %d left out: %v", len(lines), left, err)
	}
}
