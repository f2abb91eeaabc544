package golden

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/qdissect/qdissect/internal/jsonl"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
)

// lines returns the output of a capture with n messages.
func output(n int) (lines []string) {
	lines = append(lines, `{"type":"capture","schema":"qdissect/2","file":"x.pcap","link_type":"ethernet"}`)
	for i := range n {
		frame := i + 1
		if i%2 == 0 {
			lines = append(lines, fmt.Sprintf(`{"type":"message","frame":%d,"time":"2026-01-02T03:04:%02d.%09dZ","src_ip":"192.0.2.1","src_port":1,"dst_ip":"192.0.2.2","dst_port":2,"protocol":"a2s","message":"info_request","role":"request","length":25,"detect":"header","summary":"info request","a2s":{"type":"T","query":"Source Engine Query"}}`,
				frame, i/60%60, i))
			continue
		}
		lines = append(lines, fmt.Sprintf(`{"type":"message","frame":%d,"time":"2026-01-02T03:04:%02d.%09dZ","src_ip":"192.0.2.2","src_port":2,"dst_ip":"192.0.2.1","dst_port":1,"protocol":"a2s","message":"info_reply","role":"reply","length":60,"detect":"header","request_frame":%d,"rtt_ns":1000,"summary":"info reply \"server %d\"","a2s":{"type":"I","name":"server %d","map":"de_dust","num_players":%d},"server":{"name":"server %d","players":%d}}`,
			frame, i/60%60, i, frame-1, i, i, i%32, i, i%32))
	}
	return append(lines, fmt.Sprintf(`{"type":"summary","packets":%d,"datagrams":%d,"messages":{"a2s":%d},"first_time":"2026-01-02T03:04:00.000000000Z"}`, n, n, n))
}

func join(lines []string) string { return strings.Join(lines, "\n") + "\n" }

// compareLines compares two outputs, the second written in pieces.
func compareLines(t testing.TB, want, got []string, rules Rules, limit int) *Result {
	t.Helper()
	c := newChecker(strings.NewReader(join(want)), rules, limit)
	for chunk := range slices.Chunk(got, 7) {
		must.Get(io.WriteString(c, join(chunk)))(t)
	}
	r := must.Get(c.close())(t)
	return r
}

func show2(r *Result) string { return string(r.AppendText(nil, "")) }

func TestCompare(t *testing.T) {
	want := output(10)
	edit := func(f func(lines []string) []string) []string { return f(slices.Clone(want)) }
	replace := func(line int, from, to string) []string {
		return edit(func(l []string) []string {
			if !strings.Contains(l[line], from) {
				t.Fatalf("%s has no %s", l[line], from)
			}
			l[line] = strings.Replace(l[line], from, to, 1)
			return l
		})
	}
	for _, c := range []struct {
		name   string
		got    []string
		ignore []string
		want   string
	}{
		{"the same", want, nil, ""},
		{"a field", replace(4, `"map":"de_dust"`, `"map":"de_dust2"`), nil,
			"frame 4 a2s info_reply  192.0.2.2:2 > 192.0.2.1:1\n  a2s.map: \"de_dust\" → \"de_dust2\"\n"},
		{"order of keys, blanks, escapes", replace(4, `"type":"I","name":"server 3","map":"de_dust"`, `"map": "de\u005fdust" , "type":"I","name":"server 3"`), nil, ""},
		{"numbers as text", replace(4, `"num_players":3`, `"num_players":3.0`), nil,
			"frame 4 a2s info_reply  192.0.2.2:2 > 192.0.2.1:1\n  a2s.num_players: 3 → 3.0\n"},
		{"a number and its text", replace(4, `"num_players":3`, `"num_players":"3"`), nil,
			"frame 4 a2s info_reply  192.0.2.2:2 > 192.0.2.1:1\n  a2s.num_players: 3 → \"3\"\n"},
		{"a field more", replace(4, `"map":"de_dust"`, `"map":"de_dust","mod":{"url":"x"}`), nil,
			"frame 4 a2s info_reply  192.0.2.2:2 > 192.0.2.1:1\n  a2s.mod: absent → {\"url\":\"x\"}\n"},
		{"a field less", replace(4, `"map":"de_dust",`, ``), nil,
			"frame 4 a2s info_reply  192.0.2.2:2 > 192.0.2.1:1\n  a2s.map: \"de_dust\" → absent\n"},
		{"hostile text", replace(4, `"map":"de_dust"`, `"map":"de_\u001b[31m\u202edust"`), nil,
			"frame 4 a2s info_reply  192.0.2.2:2 > 192.0.2.1:1\n  a2s.map: \"de_dust\" → \"de_\\x1b[31m\\u202edust\"\n"},
		{"long text", replace(4, `"map":"de_dust"`, `"map":"`+strings.Repeat("x", 1000)+`"`), nil,
			"frame 4 a2s info_reply  192.0.2.2:2 > 192.0.2.1:1\n  a2s.map: \"de_dust\" → \"" + strings.Repeat("x", 96) + "…\"\n"},
		{"ignored", replace(4, `"map":"de_dust"`, `"map":"de_dust2"`), []string{"a2s.map"}, ""},
		{"ignored above", replace(4, `"map":"de_dust"`, `"map":"de_dust2"`), []string{"a2s"}, ""},
		{"ignored, and what repeats it", edit(func(l []string) []string {
			l[4] = strings.ReplaceAll(l[4], "server 3", "other")
			return l
		}), []string{"a2s.name", "server.name"}, ""},
		{"other words", replace(4, `info reply \"server 3\"`, `info reply`), nil, ""},
		{"ignored and absent", replace(4, `"map":"de_dust",`, ``), []string{"a2s.map"}, ""},
		{"ignored inside of what is absent", replace(4, `"map":"de_dust"`, `"map":"de_dust","mod":{"url":"x"}`), []string{"a2s.mod.url"}, ""},
		{"taken for something else", replace(4, `"protocol":"a2s","message":"info_reply"`, `"protocol":"quake3","message":"status_reply"`), nil,
			"frame 4 a2s info_reply  192.0.2.2:2 > 192.0.2.1:1\n  protocol: \"a2s\" → \"quake3\"\n"},
		{"missing", edit(func(l []string) []string { return slices.Delete(l, 4, 5) }), nil,
			"missing: frame 4 a2s info_reply  192.0.2.2:2 > 192.0.2.1:1  info reply \"server 3\"\n"},
		{"new", edit(func(l []string) []string {
			return slices.Insert(l, 4, `{"type":"message","frame":99,"src_ip":"a","dst_ip":"b","protocol":"unknown","length":2,"data":"0000"}`)
		}), nil, "new: frame 99 unknown  a > b\n"},
		{"new, with an escape, a control character and a long summary", edit(func(l []string) []string {
			return slices.Insert(l, 4, `{"type":"message","frame":99,"protocol":"a2s","message":"info_reply","summary":"info reply  \"\\u202e\u001b`+strings.Repeat("x", 100)+`"}`)
		}), nil, `new: frame 99 a2s info_reply  info reply  "\u202e\x1b` + strings.Repeat("x", 76) + "…\n"},
		{"at the beginning and at the end", edit(func(l []string) []string { return l[1 : len(l)-1] }), nil, "missing: capture\nmissing: summary\n"},
		{"summary", replace(11, `"packets":10`, `"packets":11`), nil, "summary\n  packets: 10 → 11\n"},
		{"nothing", nil, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			ignore := must.Get(ParsePatterns(c.ignore))(t)
			r := compareLines(t, want, c.got, Rules{Ignore: ignore}, 0)
			if c.name == "nothing" {
				if r.Count != len(want) {
					t.Errorf("%d differences", r.Count)
				}
				return
			}
			if got := show2(r); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if r.Equal() != (c.want == "") {
				t.Errorf("%d differences", r.Count)
			}
		})
	}
}

// TestCompareLists: an additional or missing element is one difference, and elements are
// shown with their names.
func TestCompareLists(t *testing.T) {
	message := func(players string) []string {
		return []string{`{"type":"message","frame":1,"protocol":"a2s","message":"players_reply","a2s":{"players":[` + players + `]}}`}
	}
	want := message(`{"name":"Alice","score":1},{"name":"Bob","score":2},{"name":"Carol","score":3},{"name":"","score":4}`)
	for _, c := range []struct{ got, want string }{
		{`{"name":"Alice","score":1},{"name":"Bob","score":2},{"name":"Carol","score":9},{"name":"","score":4}`,
			`a2s.players[2].score ("Carol"): 3 → 9`},
		{`{"name":"Bob","score":2},{"name":"Carol","score":3},{"name":"","score":4}`,
			`a2s.players[0]: {"name":"Alice","score":1} → absent`},
		{`{"name":"Zoe","score":0},{"name":"Alice","score":1},{"name":"Bob","score":2},{"name":"Carol","score":3},{"name":"","score":4}`,
			`a2s.players[0]: absent → {"name":"Zoe","score":0}`},
		{`{"name":"Alice","score":10},{"name":"Carol","score":30},{"name":"Bob","score":20},{"name":"","score":4}`,
			`a2s.players[0].score ("Alice"): 1 → 10
  a2s.players[1]: {"name":"Bob","score":2} → absent
  a2s.players[2].score ("Carol"): 3 → 30
  a2s.players[2]: absent → {"name":"Bob","score":20}`},
		{`{"name":"Alice","score":1},{"name":"Bob","score":2},{"name":"Caroline","score":3},{"name":"","score":4}`,
			`a2s.players[2].name: "Carol" → "Caroline"`},
	} {
		r := compareLines(t, want, message(c.got), Rules{}, 0)
		if got, want := show2(r), "frame 1 a2s players_reply\n  "+c.want+"\n"; got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	// Long lists are compared one by one, and end.
	long := func(n int) []string { return message(strings.Repeat(`{"name":"x"},`, n) + `{}`) }
	if r := compareLines(t, long(3000), long(3001), Rules{}, 5); r.Count != 2 {
		t.Error(r.Count, show2(r))
	}
}

// TestCompareRelative: times count from the first packet.
func TestCompareRelative(t *testing.T) {
	want := output(10)
	got := slices.Clone(want)
	for i := range got {
		got[i] = strings.ReplaceAll(got[i], "2026-01-02T03:04:00", "2027-05-06T07:08:09")
	}
	compare := func(got []string) *Result {
		c := newChecker(strings.NewReader(join(want)), Rules{Relative: true}, 0)
		start := func(s string) int64 {
			ns, ok := relative(&jsonl.Node{Kind: jsonl.Text, Value: []byte(s)}, 0)
			if !ok {
				t.Fatal(s)
			}
			return ns
		}
		c.a.start, c.b.start = start("2026-01-02T03:04:00Z"), start("2027-05-06T07:08:09Z")
		io.WriteString(c, join(got))
		r := must.Get(c.close())(t)
		return r
	}
	if r := compare(got); !r.Equal() {
		t.Error(show2(r))
	}
	got[4] = strings.Replace(got[4], ".000000003Z", ".000000013Z", 1)
	if got, want := show2(compare(got)), "frame 4 a2s info_reply  192.0.2.2:2 > 192.0.2.1:1\n  time: 0.000000003 s → 0.000000013 s\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestCompareLimit: what goes beyond the limit is counted.
func TestCompareLimit(t *testing.T) {
	want := output(100)
	got := slices.Clone(want)
	for i := range got {
		got[i] = strings.ReplaceAll(got[i], "de_dust", "de_aztec")
	}
	r := compareLines(t, want, got, Rules{}, 3)
	if r.Count != 50 || len(r.Differences) != 3 || !strings.HasSuffix(show2(r), "… 47 more differences\n") {
		t.Error(r.Count, show2(r))
	}
}

// TestCompareRandom: all removed, added and changed objects are found, and no others, in
// outputs of any length.
func TestCompareRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 10, 100, 2000} {
		for range must.Try(8, 20) {
			want := output(n)
			var got []string
			missing, added, changed := 0, 0, 0
			rate := 2 + random.IntN(30)
			for i, line := range want {
				message := i > 0 && i <= n
				switch {
				case message && random.IntN(rate) == 0:
					missing++
					continue
				case message && random.IntN(rate) == 0:
					added++
					got = append(got, fmt.Sprintf(`{"type":"message","frame":%d,"src_ip":"a","dst_ip":"b","protocol":"doom3","message":"x","doom3":{"n":%d}}`, 100000+added, added))
				case message && i%2 == 0 && random.IntN(rate) == 0:
					changed++
					line = strings.Replace(line, "de_dust", "de_other", 1)
				}
				got = append(got, line)
			}
			r := compareLines(t, want, got, Rules{}, 1<<30)
			kinds := map[Kind]int{}
			for _, d := range r.Differences {
				kinds[d.Kind]++
				if d.Kind == Changed && (len(d.Fields) != 1 || d.Fields[0].Path != "a2s.map") {
					t.Fatalf("%+v", d)
				}
			}
			if kinds[Missing] != missing || kinds[New] != added || kinds[Changed] != changed || r.Count != missing+added+changed {
				t.Fatalf("%d messages, 1 of %d: %v, want %d missing, %d new, %d changed", n, rate, kinds, missing, added, changed)
			}
		}
	}
}

// TestCompareGap: a gap longer than the window does not make all later messages differ.
func TestCompareGap(t *testing.T) {
	want := output(5000)
	got := slices.Concat(want[:1000], want[3000:])
	if r := compareLines(t, want, got, Rules{}, 10); r.Count != 2000 || r.Differences[0].Kind != Missing {
		t.Error(r.Count, show2(r))
	}
	if r := compareLines(t, got, want, Rules{}, 10); r.Count != 2000 || r.Differences[0].Kind != New {
		t.Error(r.Count, show2(r))
	}
}

// TestCompareEnd: summaries match even if one output is much longer.
func TestCompareEnd(t *testing.T) {
	long := output(1536)
	short := append(slices.Clone(long[:10]), strings.Replace(long[len(long)-1], `"packets":1536`, `"packets":9`, 1))
	for _, rules := range []Rules{{}, {Relative: true}, ignoring(t, "frame")} {
		for _, c := range []struct {
			want, got []string
			end       string
		}{
			{long, short, "summary\n  packets: 1536 → 9\n"},
			{short, long, "summary\n  packets: 9 → 1536\n"},
		} {
			r := compareLines(t, c.want, c.got, rules, 1<<20)
			last := len(r.Differences) - 1
			if last != len(long)-len(short) || r.Count != len(long)-len(short)+1 || !strings.HasSuffix(show2(r), "\n"+c.end) {
				t.Errorf("%d differences, the last of them %+v", last+1, r.Differences[last])
			}
		}
	}
}

// TestCompareLong: the time for outputs that have nothing in common, or of which
// one is empty, grows with their length and no faster, and so it does with the
// number of differences that are kept. Ten times the length must not take a
// hundred times the time; the machine may be busy with something else, so one
// good run of several is enough.
func TestCompareLong(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds") // never skips in CI: see .ci/run
	}
	for _, c := range []struct {
		name string
		got  func(lines []string) []string
	}{
		{"all different", func(lines []string) []string {
			other := slices.Clone(lines)
			for i := range other {
				other[i] = strings.NewReplacer("de_dust", "de_x", "Source Engine Query", "Source Engine Quark").Replace(other[i])
			}
			return other
		}},
		{"all missing", func([]string) []string { return nil }},
	} {
		// measure compares outputs one after the other.
		measure := func(times, n int) time.Duration {
			lines := output(n)
			got, begin := c.got(lines), time.Now()
			for range times {
				if r := compareLines(t, lines, got, Rules{}, 1<<20); r.Count < n {
					t.Fatalf("%s: %d differences", c.name, r.Count)
				}
			}
			return time.Since(begin)
		}
		n := must.Try(400, 2000)
		var short, long time.Duration
		for range 5 { // both take as long, so other work on the machine makes both longer
			if short, long = measure(10, n), measure(1, 10*n); long < 4*short {
				break
			}
		}
		if long >= 4*short {
			t.Errorf("%s: %v for ten times %d objects, %v for ten times as many at once", c.name, short, n, long)
		}
	}
}

// TestCompareMemory: equal outputs allocate nothing.
func TestCompareMemory(t *testing.T) {
	out := []byte(join(output(20000)))
	n := testing.AllocsPerRun(1, func() {
		c := newChecker(bytes.NewReader(out), Rules{}, 0)
		c.Write(out)
		if r, err := c.close(); err != nil || !r.Equal() {
			t.Fatal(err, r)
		}
	})
	if n > 100 {
		t.Errorf("%v allocations", n)
	}
}

func TestCompareBroken(t *testing.T) {
	for in, want := range map[string]string{
		"{}\nnonsense":                  "line 2: no JSON object",
		"{\"type\":\"message\"}\n{\"a":  "line 2: the object breaks off: unexpected EOF",
		"{\"type\":\"message\"}\n{1:2}": "line 2: invalid character '1' looking for beginning of object key string at byte 2",
	} {
		c := newChecker(strings.NewReader(in), Rules{}, 0)
		io.WriteString(c, join(output(3)))
		if _, err := c.close(); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
}

// FuzzCompare: whatever stands in the two files, the comparison ends, shows
// nothing that a terminal obeys, finds nothing between a file and itself, and as
// much one way as the other.
func FuzzCompare(f *testing.F) {
	lines := output(3)
	f.Add([]byte(join(lines)), []byte(join(lines[1:])))
	f.Add([]byte(join(lines)), []byte(strings.ReplaceAll(join(lines), "server", "other\\u001b")))
	f.Add([]byte(`{"type":"message","a2s":{"players":[{"name":"a"},{"name":"b"}]}}`), []byte(`{"type":"message","a2s":{"players":[{"name":"b"}],"x":[]}}`))
	f.Add([]byte(`{}{}{"a":[1,2,[3]]}`), []byte(`[{"a":[1,[3]]},{"type":1}]`))
	f.Add([]byte("{}{}{\"a\": \x00,\x17[\xfftype\"ype\":1}"), []byte("{}{}{\"a\": \x00,\x17[\xfftype\"ype\":1}]"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		rules := [...]Rules{{Wording: true}, {Ignore: ignoring(t, "frame").Ignore, Relative: true}}[(len(a)+len(b))%2]
		compare := func(a, b []byte) (*Result, error) {
			c := newChecker(bytes.NewReader(a), rules, 1<<20)
			c.Write(b)
			return c.close()
		}
		r, err := compare(a, b)
		if err != nil {
			return
		}
		if i := bytes.IndexFunc(r.AppendText(nil, ""), func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f || r == 0x202e }); i >= 0 {
			t.Fatalf("%q", r.AppendText(nil, ""))
		}
		if r, err := compare(a, a); err != nil || !r.Equal() {
			t.Fatalf("%v, %+v", err, r)
		}
		back, err := compare(b, a)
		if err != nil {
			return // what is equal to the byte is read as JSON if something else waits in the window
		}
		if back.Equal() != r.Equal() {
			t.Fatalf("%d differences, and %d the other way", r.Count, back.Count)
		}
		talk := newDiffer(Rules{Conversation: true}, 1<<20)
		d := &talk
		in := &input{name: "x", byEnds: make(map[ends]*conversation)}
		if err := d.objects(in, jsonl.NewReader(bytes.NewReader(a))); err != nil {
			return // what is equal to the byte need not be JSON to be compared above
		}
		d.diff(in, in)
		if !d.result.Equal() {
			t.Fatalf("%s", d.result.AppendText(nil, ""))
		}
	})
}

func TestPattern(t *testing.T) {
	path := func(s string) (list []step) {
		for name := range strings.SplitSeq(s, ".") {
			name, element, in := strings.Cut(strings.TrimSuffix(name, "]"), "[")
			if list = append(list, step{[]byte(name), noIndex}); in {
				n := must.Get(strconv.Atoi(element))(t)
				list = append(list, step{nil, n})
			}
		}
		return list
	}
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"time", "time", true},
		{"time", "first_time", false},
		{"*time", "first_time", true},
		{"time", "a2s.time", false},
		{"a2s.challenge", "a2s.challenge", true},
		{"a2s.challenge", "a2s", false},
		{"a2s.*", "a2s.challenge", true},
		{"a2s.*", "a2s.players[0]", false},
		{"a2s.players[*].duration_s", "a2s.players[31].duration_s", true},
		{"a2s.players[*].duration_s", "a2s.players[31].score", false},
		{"a2s.players[2].*", "a2s.players[2].score", true},
		{"a2s.players[2].*", "a2s.players[3].score", false},
		{"a2s.players[*]", "a2s.players[3]", true},
		{"a2s.players[*].*_hex", "a2s.players[3].name_hex", true},
		{"**.challenge", "a2s.challenge", true},
		{"**.challenge", "challenge", true},
		{"**.challenge", "a2s.a[3].b.challenge", true},
		{"**.challenge", "a2s.challenge.x", false},
		{"a2s.**", "a2s.a[3].b", true},
		{"messages.quake3-master", "messages.quake3-master", true},
		{"findings[*].text", "findings[0].text", true},
		{"a*s.**.n*e", "a2s.players[0].name", true},
	} {
		p := must.Get(ParsePattern(c.pattern))(t)
		if got := (&Rules{Ignore: []Pattern{p}}).ignored(path(c.path)); got != c.want {
			t.Errorf("%s matches %s: %v", c.pattern, c.path, got)
		}
		if got := pathText(path(c.path)); got != c.path {
			t.Errorf("%s is written %s", c.path, got)
		}
	}
	for _, pattern := range []string{"", ".a", "a.", "a..b", "a[", "a[x]", "a[-1]", "a[1]b", "[1]", "a b", "players].x"} {
		if _, err := ParsePattern(pattern); err == nil || err.Error() != fmt.Sprintf("%q is no path of a field; paths look like rtt_ns, a2s.challenge, a2s.players[*].score", pattern) {
			t.Errorf("%q: %v", pattern, err)
		}
	}
	if got := pathText([]step{{[]byte("a.b\x1b"), noIndex}, {nil, 3}, {[]byte(""), noIndex}}); got != `"a.b\x1b"[3].""` {
		t.Error(got)
	}
}

// saved is an output with one message that has a list, from element first on.
func saved(t *testing.T, name string, first, n int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"type":"message","frame":1,"src_ip":"192.0.2.1","src_port":1,"dst_ip":"192.0.2.2","dst_port":2,"protocol":"a2s","message":"players_reply","a2s":{"players":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"p%d","score":%d}`, first+i, first+i)
	}
	b.WriteString("]}}\n")
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}

// TestLimits: the numbers of docs/limits.md, said once more.
func TestLimits(t *testing.T) {
	// One element less is one difference, as long as lists are aligned.
	for n, aligned := range map[int]bool{512: true, 513: false} {
		r, _, err := Diff(saved(t, "a", 0, n), saved(t, "b", 1, n-1), Rules{Conversation: true}, 1<<20, nil)
		must.Do(t, err)
		if (r.Count == 1) != aligned {
			t.Errorf("%d elements and one less: %d differences", n, r.Count)
		}
	}

	// A message less is one difference in a conversation of any length, and as
	// many conversations as there are find each other.
	write := func(name string, messages func(b *strings.Builder)) string {
		var b strings.Builder
		messages(&b)
		path := filepath.Join(t.TempDir(), name)
		must.Do(t, os.WriteFile(path, []byte(b.String()), 0o600))
		return path
	}
	talk := func(without int) func(b *strings.Builder) {
		return func(b *strings.Builder) {
			for i := range 2500 {
				if i != without {
					fmt.Fprintf(b, `{"type":"message","frame":%d,"src_ip":"192.0.2.1","src_port":1,"dst_ip":"192.0.2.2","dst_port":2,"protocol":"a2s","message":"log","a2s":{"text":"line %d"}}`+"\n", i+1, i)
				}
			}
		}
	}
	talks := func(more string) func(b *strings.Builder) {
		return func(b *strings.Builder) {
			for i := range 1500 {
				fmt.Fprintf(b, `{"type":"message","frame":%d,"src_ip":"192.0.2.1","src_port":%d,"dst_ip":"192.0.2.2","dst_port":2,"protocol":"a2s","message":"log","a2s":{"name":"n%d","text":"line %d%s"}}`+"\n", i+1, i+1, i, i, more)
			}
		}
	}
	for _, c := range []struct {
		a, b func(b *strings.Builder)
		want int
	}{{talk(-1), talk(10), 1}, {talk(-1), talk(2000), 1}, {talks(""), talks(" more"), 1500}} {
		r, _, err := Diff(write("a", c.a), write("b", c.b), Rules{Conversation: true}, 0, nil)
		if err != nil || r.Count != c.want {
			t.Errorf("%d differences, not %d (%v)", r.Count, c.want, err)
		}
	}

	const mib = 1 << 20
	raw := []byte(`{"type":"message","frame":1,"src_ip":"192.0.2.1","src_port":1,"dst_ip":"192.0.2.2","dst_port":2}`)
	in := &input{name: "x", byEnds: make(map[ends]*conversation), held: 256*mib - len(raw) - 256}
	d := newDiffer(Rules{Conversation: true}, 0)
	if err := in.take(&d, raw, 1); err != nil {
		t.Errorf("256 MiB: %v", err)
	}
	if err := in.take(&d, raw, 2); err == nil || !strings.Contains(err.Error(), "more than 256 MiB of messages") {
		t.Errorf("more than 256 MiB: %v", err)
	}

	c := newChecker(strings.NewReader(""), Rules{}, 0)
	c.held = 256*mib - len(raw) - 256
	if c.take(1, raw, 1); c.err != nil {
		t.Errorf("256 MiB: %v", c.err)
	}
	if c.take(1, raw, 2); c.err == nil || !strings.Contains(c.err.Error(), "more than 256 MiB of messages") {
		t.Errorf("more than 256 MiB: %v", c.err)
	}
}

// sample returns a capture of the project.
func sample(t testing.TB, name string) []byte {
	t.Helper()
	data := must.Get(os.ReadFile(filepath.Join("..", "..", "testdata", "pcaps", filepath.FromSlash(name))))(t)
	return data
}

func packed(t testing.TB, coding string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	switch coding {
	case "gzip":
		w := gzip.NewWriter(&b)
		w.Write(data)
		must.Do(t, w.Close())
	case "zstd":
		w := must.Get(zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1)))(t)
		w.Write(data)
		must.Do(t, w.Close())
	default:
		return data
	}
	return b.Bytes()
}

// A desk is a folder with a capture and its golden.
type desk struct {
	t    *testing.T
	path string
}

// newDesk writes a capture and its golden.
func newDesk(t *testing.T, name string, data []byte) *desk {
	t.Helper()
	d := &desk{t, filepath.Join(t.TempDir(), name)}
	d.put(data)
	d.update()
	return d
}

func (d *desk) put(data []byte) {
	d.t.Helper()
	must.Do(d.t, os.WriteFile(d.path, data, 0o666))
}

func (d *desk) update() {
	d.t.Helper()
	_, _, err := Update(d.path, true)
	must.Do(d.t, err)
}

func (d *desk) golden() string {
	d.t.Helper()
	b, err := os.ReadFile(Path(d.path))
	must.Do(d.t, err)
	return string(b)
}

func (d *desk) putGolden(s string) {
	d.t.Helper()
	must.Do(d.t, os.WriteFile(Path(d.path), []byte(s), 0o666))
}

// check returns the differences as text, "" if there are none.
func (d *desk) check(rules Rules, limit int) (text string, r *Result) {
	d.t.Helper()
	r, trouble, err := Check(d.path, rules, limit)
	if err != nil || r == nil {
		d.t.Fatalf("%v; %v", trouble, err)
	}
	return string(r.AppendText(nil, "")), r
}

func ignoring(t testing.TB, patterns ...string) Rules {
	t.Helper()
	p := must.Get(ParsePatterns(patterns))(t)
	return Rules{Ignore: p}
}

// TestDamage: a damaged file differs from an undamaged one, whatever it decompresses to
// and whatever may differ, and the golden states the damage.
func TestDamage(t *testing.T) {
	source := sample(t, "a2s/source.pcap")
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte {
			b = bytes.Clone(b)
			b[(at+len(b))%len(b)] ^= 1
			return b
		}
	}
	cut := func(b []byte) []byte { return b[:len(b)-1] }
	rubbish := func(b []byte) []byte { return append(bytes.Clone(b), "rubbish, more than ten bytes"...) }
	for _, c := range []struct {
		name, file, coding string
		damage             func([]byte) []byte
		want               string // "" for what is no damage
	}{
		{"gzip: trailer", "x.pcap.gz", "gzip", flip(-8), "gzip: invalid checksum"},
		{"gzip: end", "x.pcap.gz", "gzip", cut, "the gzip data is cut short"},
		{"gzip: rubbish", "x.pcap.gz", "gzip", rubbish, "gzip: invalid header"},
		{"gzip: when it was packed", "x.pcap.gz", "gzip", flip(5), ""},
		{"zstd: trailer", "x.pcap.zst", "zstd", flip(-1), "zstd: CRC check failed"},
		{"zstd: end", "x.pcap.zst", "zstd", cut, "the zstd data is cut short"},
		{"zstd: rubbish", "x.pcap.zst", "zstd", rubbish, "zstd: invalid input: magic number mismatch"},
		{"plain: rubbish", "x.pcap", "", rubbish, "record claims 1919905056 bytes, a frame has 262144 at most"},
		{"plain: a byte of rubbish", "x.pcap", "", func(b []byte) []byte { return append(bytes.Clone(b), 0) }, "record header cut short: 1 of 16 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sound := packed(t, c.coding, source)
			d := newDesk(t, c.file, sound)
			undamaged, damaged := d.golden(), c.damage(sound)
			for _, rules := range []Rules{{}, {Relative: true}, ignoring(t, "rtt_ns")} {
				d.put(damaged)
				d.putGolden(undamaged)
				text, r := d.check(rules, 0)
				if c.want == "" {
					if text != "" {
						t.Errorf("%s", text)
					}
					continue
				}
				want := regexp.MustCompile(`^capture\n  damaged: absent → "` + regexp.QuoteMeta(c.want) + `"\n$`)
				if !want.MatchString(text) || r.Differences[0].Want.Line != strings.Count(undamaged, "\n") || r.Unstated {
					t.Errorf("%s%+v", text, r)
				}
				d.update()
				if text, r := d.check(rules, 0); text != "" || r.Unstated || !strings.Contains(d.golden(), `,"damaged":"`+c.want+`","sha256":"`) {
					t.Errorf("with its own golden: %s", text)
				}
				d.put(sound)
				text, _ = d.check(rules, 0)
				want = regexp.MustCompile(`^capture\n  damaged: "` + regexp.QuoteMeta(c.want) + `" → absent\n$`)
				if !want.MatchString(text) {
					t.Errorf("mended: %s", text)
				}
				// A golden without a sum may say it too.
				d.putGolden(sha.ReplaceAllString(d.golden(), ""))
				if text, _ = d.check(rules, 0); !want.MatchString(text) {
					t.Errorf("without sum: %s", text)
				}
			}
			// Which the program wrote says nothing about it.
			d.put(damaged)
			d.putGolden(sha.ReplaceAllString(undamaged, ""))
			if text, r := d.check(Rules{}, 0); text != "" || r.Unstated != (c.want != "") {
				t.Errorf("%s%+v", text, r)
			}
			// Recordings that are taken anew.
			d.putGolden(undamaged)
			r, _, err := Check(d.path, Rules{Conversation: true}, 0)
			if err != nil || r.Equal() != (c.want == "") {
				t.Errorf("as a conversation: %+v, %v", r, err)
			}
			if r, _, err = Check(d.path, Rules{Conversation: true, Ignore: ignoring(t, "damaged").Ignore}, 0); err != nil || !r.Equal() {
				t.Errorf("ignored: %+v, %v", r, err)
			}
		})
	}
}

var sha = regexp.MustCompile(`,"sha256":"[0-9a-f]{64}"`)

// TestDamageBehind: damage after other damage is reported too.
func TestDamageBehind(t *testing.T) {
	cut := packed(t, "gzip", sample(t, "a2s/source.pcap")[:3000])
	d := newDesk(t, "x.pcap.gz", cut)
	const first = `,"damaged":"record cut short: 928 of 1302 bytes`
	if !strings.Contains(d.golden(), first+`"`) {
		t.Error(d.golden())
	}
	broken := packed(t, "gzip", append(sample(t, "a2s/source.pcap"), bytes.Repeat([]byte{0xff}, 1<<20)...))
	d.put(broken)
	d.update()
	broken[len(broken)-8] ^= 1
	d.put(broken)
	text, _ := d.check(Rules{Wording: true}, 0)
	if want := "capture\n  damaged: \"record claims 4294967295 bytes, a frame has 262144 at most\" → \"record claims 4294967295 bytes, a frame has 262144 at most; gzip: invalid checksum\"\n"; text != want {
		t.Errorf("%swant\n%s", text, want)
	}
}

// TestSumMalformed: an invalid sum is an error; it does not disable the comparison.
func TestSumMalformed(t *testing.T) {
	d := newDesk(t, "x.pcap", sample(t, "a2s/source.pcap"))
	golden, digits := d.golden(), strings.Repeat("0", 64)
	for _, sum := range []string{`null`, `"zz"`, `12`, `"` + digits + `0"`, `"` + digits[1:] + `"`, `""`, `["` + digits + `"]`, `"+` + digits[1:] + `"`} {
		d.putGolden(sha.ReplaceAllString(golden, `,"sha256":`+sum))
		if r, _, err := Check(d.path, Rules{}, 0); err == nil || !strings.Contains(err.Error(), "sha256 of the golden does not have 64 hexadecimal digits") {
			t.Errorf("%s: %+v, %v", sum, r, err)
		}
	}
	for _, damage := range []string{`null`, `""`, `1`, `{}`} {
		d.putGolden(strings.Replace(golden, `,"sha256":`, `,"damaged":`+damage+`,"sha256":`, 1))
		if r, _, err := Check(d.path, Rules{}, 0); err == nil || !strings.Contains(err.Error(), "is not a text") {
			t.Errorf("%s: %+v, %v", damage, r, err)
		}
	}
	// Wherever it stands: a golden may have been printed in another way.
	data := sample(t, "a2s/source.pcap")
	data[62] ^= 1
	d.put(data)
	lines := strings.TrimSuffix(golden, "\n")
	for name, other := range map[string]string{
		"an array":      "[\n" + strings.ReplaceAll(lines, "\n", ",\n") + "\n]\n",
		"several lines": strings.ReplaceAll(lines, `,"sha256"`, ",\n\"sha256\""),
		"a long line":   strings.ReplaceAll(lines, `,"sha256"`, strings.Repeat(" ", 1<<17)+`,"sha256"`),
		"no last line":  lines,
		"blanks":        golden + "\n \n\t",
	} {
		d.putGolden(other)
		if text, _ := d.check(Rules{}, 0); !strings.Contains(text, "  sha256 (bytes changed that no field shows): ") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestCheckSum: changed bytes are reported only if no field shows the change.
func TestCheckSum(t *testing.T) {
	source := sample(t, "a2s/source.pcap")
	d := newDesk(t, "x.pcap", source)
	golden := d.golden()
	sum := sha.FindString(golden)
	changed := regexp.MustCompile(`^capture\n  sha256 \(bytes changed that no field shows\): "` + sum[len(`,"sha256":"`):][:16] + `…" → "[0-9a-f]{16}…"\n$`)
	fort := bytes.Index(source, []byte("ctf_2fort"))
	for _, c := range []struct {
		name  string
		flips []int
		rules Rules
		want  string // "" for nothing, "sum" for the sum alone
	}{
		{"nothing", nil, Rules{}, ""},
		{"nothing, strictly", nil, Rules{Wording: true}, ""},
		{"a header", []int{62}, Rules{}, "sum"},
		{"a header, strictly", []int{62}, Rules{Wording: true}, "sum"},
		{"two headers", []int{62, 64}, Rules{}, "sum"},
		{"the head of the file", []int{20 + 2}, Rules{}, "sum"},
		{"a header, a value may differ", []int{62}, ignoring(t, "rtt_ns"), ""},
		{"a header, times are relative", []int{62}, Rules{Relative: true}, ""},
		{"a header, the sum may differ", []int{62}, ignoring(t, "sha256"), ""},
		{"a value and a header", []int{62, fort}, Rules{}, "frame 4 a2s info_reply  198.51.100.10:27015 > 192.0.2.20:51000\n  a2s.map: \"ctf_2fort\" → \"btf_2fort\"\n  server.map: \"ctf_2fort\" → \"btf_2fort\"\n"},
	} {
		data := bytes.Clone(source)
		for _, at := range c.flips {
			data[at] ^= 1
		}
		d.put(data)
		text, r := d.check(c.rules, 0)
		if c.want == "sum" && (!changed.MatchString(text) || r.Count != 1 || r.Differences[0].Want.Line != strings.Count(golden, "\n")) || c.want != "sum" && text != c.want {
			t.Errorf("%s: %s%+v", c.name, text, r)
		}
	}
	// Nothing can be read of it.
	d.put(append([]byte("no capture"), source...))
	if r, trouble, err := Check(d.path, Rules{}, 0); r != nil || trouble == nil || err != nil {
		t.Errorf("%+v, %v, %v", r, trouble, err)
	}
}

// TestCheckFlipped: every changed byte of every capture is noticed.
func TestCheckFlipped(t *testing.T) {
	const tries = 2
	for i, path := range must.TryCaptures(pcaps(t)) {
		data, golden := must.Get(os.ReadFile(path))(t), must.Get(os.ReadFile(Path(path)))(t)
		d := &desk{t, filepath.Join(t.TempDir(), filepath.Base(path))}
		d.putGolden(string(golden))
		step := 1 + len(data)/tries
		for at := i % step; at < len(data); at += step {
			data[at] ^= 1 << (at % 8)
			d.put(data)
			data[at] ^= 1 << (at % 8)
			r, trouble, err := Check(d.path, Rules{}, 0)
			if err != nil || r == nil && trouble == nil || r != nil && r.Equal() {
				t.Errorf("%s: byte %d changed: %v, %v, %v", path, at, r, trouble, err)
			}
		}
	}
}

// pcaps returns the captures of the project.
func pcaps(t *testing.T) []string {
	t.Helper()
	paths, orphans, err := Captures(filepath.Join("..", "..", "testdata", "pcaps"), func(path string, err error) { t.Error(path, err) })
	if err != nil || len(paths) < 40 || len(orphans) > 0 {
		t.Fatalf("%d captures; %v; %v", len(paths), orphans, err)
	}
	return paths
}

// TestCheckWording: different wording is a difference only on request; a different ID,
// severity or value always is.
func TestCheckWording(t *testing.T) {
	d := newDesk(t, "x.pcap", sample(t, "a2s/source.pcap"))
	golden := d.golden()
	for _, c := range []struct{ name, from, to, want, strict string }{
		{"a summary", `"summary":"info request`, `"summary":"request of info`, "", "summary: "},
		{"the text of a finding", `"severity":"note","text":"`, `"severity":"note","text":"other words: `, "", "findings[0].text ("},
		{"a severity", `"severity":"note"`, `"severity":"error"`, `findings[0].severity ("enc.notutf8"): "error" → "note"`, `findings[0].severity (`},
		{"an id", `"id":"enc.notutf8"`, `"id":"enc.other"`, `findings[0].id: "enc.other" → "enc.notutf8"`, "findings[0].id: "},
		{"a value", `"map":"ctf_2fort"`, `"map":"x"`, `a2s.map: "x" → "ctf_2fort"`, "a2s.map: "},
	} {
		if !strings.Contains(golden, c.from) {
			t.Fatalf("the golden has no %s", c.from)
		}
		d.putGolden(strings.Replace(golden, c.from, c.to, 1))
		if text, _ := d.check(Rules{}, 0); c.want == "" && text != "" || !strings.Contains(text, c.want) {
			t.Errorf("%s: %swant %s", c.name, text, c.want)
		}
		if text, _ := d.check(Rules{Wording: true}, 0); !strings.Contains(text, c.strict) {
			t.Errorf("%s, strictly: %swant %s", c.name, text, c.strict)
		}
		r, _, err := Check(d.path, Rules{Conversation: true}, 0)
		if err != nil || r.Equal() != (c.want == "") {
			t.Errorf("%s, as a conversation: %v, %s", c.name, err, r.AppendText(nil, ""))
		}
		if r, _, err = Check(d.path, Rules{Conversation: true, Wording: true}, 0); err != nil || r.Equal() {
			t.Errorf("%s, as a conversation, strictly: %v", c.name, err)
		}
	}
}

// TestLine: annotations point to the line of the golden that differs.
func TestLine(t *testing.T) {
	data := sample(t, "a2s/source.pcap")
	d := newDesk(t, "x.pcap", data)
	lines := strings.Split(strings.TrimSuffix(d.golden(), "\n"), "\n")
	for _, c := range []struct {
		flips []int
		line  string
	}{
		{[]int{62}, `{"type":"summary",`},
		{[]int{62, bytes.Index(data, []byte("ctf_2fort"))}, `{"type":"message","frame":4,`},
	} {
		other := bytes.Clone(data)
		for _, at := range c.flips {
			other[at] ^= 1
		}
		d.put(other)
		text, r := d.check(Rules{}, 0)
		var b bytes.Buffer
		w := must.Get(NewFormat("github", &b, FormatOptions{Command: "x"}))(t)
		w.Case(&Case{Name: "x", File: "y", Result: r})
		var line int
		fmt.Sscanf(b.String(), "::error file=y,line=%d,", &line)
		if line < 1 || !strings.HasPrefix(lines[line-1], c.line) {
			t.Errorf("line %d, want that of %s:\n%s", line, c.line, text)
		}
	}
}

// TestCaptures: a file with a golden is a capture, whatever its name.
func TestCaptures(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.pcap", "a", "a.golden.jsonl", "n.bin", "n.bin.golden.jsonl", "o.golden.jsonl", "z.pcap"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), nil, 0o666))
	}
	must.Do(t, os.Mkdir(filepath.Join(dir, "o"), 0o777))
	captures, orphans, err := Captures(dir, func(string, error) {})
	for _, list := range [][]string{captures, orphans} {
		for i := range list {
			list[i] = filepath.Base(list[i])
		}
	}
	if err != nil || !slices.Equal(captures, []string{"a.pcap", "n.bin", "z.pcap"}) || !slices.Equal(orphans, []string{"o.golden.jsonl"}) {
		t.Error(captures, orphans, err)
	}
}

// vlanOf puts a VLAN tag into every frame of a pcap file.
func vlanOf(data []byte) []byte {
	b := bytes.Clone(data[:24])
	for r := data[24:]; len(r) > 0; {
		n, head := int(binary.LittleEndian.Uint32(r[8:])), bytes.Clone(r[:16])
		binary.LittleEndian.PutUint32(head[8:], uint32(n+4))
		binary.LittleEndian.PutUint32(head[12:], uint32(n+4))
		b = slices.Concat(b, head, r[16:28], []byte("\x81\x00\x00\x05"), r[28:16+n])
		r = r[16+n:]
	}
	return b
}

// TestDiffPacketFindings: findings about packets are no difference between conversations.
func TestDiffPacketFindings(t *testing.T) {
	for _, name := range []string{"a2s/source.pcap", "a2s/a2s-goldsrc-split.pcap", "quake3/openarena-connect.pcap"} {
		data, dir := sample(t, name), t.TempDir()
		plain, tagged := filepath.Join(dir, "a.pcap"), filepath.Join(dir, "b.pcap")
		for path, data := range map[string][]byte{plain: data, tagged: vlanOf(data)} {
			must.Do(t, os.WriteFile(path, data, 0o666))
			var b bytes.Buffer
			if _, err := Write(&b, path); err != nil || strings.Contains(b.String(), "packet.vlan") != (path == tagged) {
				t.Fatalf("%s: %v", path, err)
			}
		}
		for _, sides := range [][2]string{{plain, tagged}, {tagged, plain}} {
			r, trouble, err := Diff(sides[0], sides[1], Rules{Conversation: true}, 0, nil)
			if err != nil || trouble != nil || !r.Equal() {
				t.Errorf("%s: %v, %v\n%s", name, trouble, err, r.AppendText(nil, ""))
			}
			if r, _, err = Diff(sides[0], sides[1], Rules{Wording: true}, 0, nil); err != nil || r.Equal() {
				t.Errorf("%s, strictly: %v, %v", name, r, err)
			}
		}
	}
	// Other findings are told one by one.
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl")
	const message = `{"type":"message","frame":1,"src_ip":"a","dst_ip":"b","protocol":"a2s","message":"info_reply","a2s":{"map":"de_dust"}`
	const vlan, other = `{"id":"packet.vlan","severity":"note","text":"VLAN 5"}`, `{"id":"a2s.trailing","severity":"note","text":"said \"hello\""}`
	for _, c := range []struct{ a, b, want string }{
		{`}`, `,"findings":[]}`, ""},
		{`,"findings":[` + vlan + `]}`, `,"findings":[]}`, ""},
		{`}`, `,"findings":[` + vlan + `,` + vlan + `]}`, ""},
		{`,"findings":[` + other + `]}`, `,"findings":[` + vlan + `,` + other + `]}`, ""},
		{`}`, `,"findings":[` + vlan + `,` + other + `]}`, `  findings[0]: absent → {"id":"a2s.trailing","severity":"note","text":"said \"hello\""}`},
		{`,"findings":[` + other + `]}`, `}`, `  findings[0]: {"id":"a2s.trailing","severity":"note","text":"said \"hello\""} → absent`},
		{`}`, `,"findings":"none"}`, `  findings: absent → "none"`},
		{`}`, `,"findings":{}}`, `  findings: absent → {}`},
	} {
		for path, end := range map[string]string{a: c.a, b: c.b} {
			must.Do(t, os.WriteFile(path, []byte(message+end+"\n"), 0o666))
		}
		r, _, err := Diff(a, b, Rules{Conversation: true}, 0, nil)
		want := nettext.Either(c.want != "", "frame 1 a2s info_reply  a > b\n"+c.want+"\n", "")
		if err != nil || string(r.AppendText(nil, "")) != want {
			t.Errorf("%v\n%swant\n%s", err, r.AppendText(nil, ""), want)
		}
		if r, _, err = Diff(a, b, Rules{Conversation: true, Ignore: ignoring(t, "findings").Ignore}, 0, nil); err != nil || !r.Equal() {
			t.Errorf("ignored: %v, %s", err, r.AppendText(nil, ""))
		}
	}
}
