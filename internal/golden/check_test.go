package golden

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/jsonl"
	"github.com/qdissect/qdissect/internal/must"
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
			for i := range r.Differences {
				d := &r.Differences[i]
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
			got := c.got(lines)
			begin := time.Now()
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
