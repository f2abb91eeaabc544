package report

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
)

func TestSpan(t *testing.T) {
	first := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		took time.Duration
		want string
	}{
		{91839 * time.Microsecond, "2026-01-02 03:04:05.000000 to 03:04:05.091839 UTC, 91.8 ms"},
		{21205656 * time.Microsecond, "2026-01-02 03:04:05.000000 to 03:04:26.205656 UTC, 21.21 s"},
		{3*time.Hour + 10500*time.Millisecond, "2026-01-02 03:04:05.000000 to 06:04:15.500000 UTC, 3h0m11s"},
		{24 * time.Hour, "2026-01-02 03:04:05.000000 to 2026-01-03 03:04:05.000000 UTC, 24h0m0s"},
		{-time.Minute, "2026-01-02 03:04:05.000000 to 03:03:05.000000 UTC, -1m0s"},
	} {
		if got := span(first, first.Add(tt.took)); got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.took, got, tt.want)
		}
	}
}

// TestCommunityID: the baseline of the specification. It has no UDP over IPv6; TCP
// differs in one byte.
func TestCommunityID(t *testing.T) {
	for _, c := range []struct {
		protocol   uint8
		a, b, want string
	}{
		{nettext.UDP, "192.168.1.52:54585", "8.8.8.8:53", "1:d/FP5EW3wiY1vCndhwleRRKHowQ="},
		{6, "128.232.110.120:34855", "66.35.250.204:80", "1:LQU9qZlK+B5F3KDmev6m5PMibrg="},
		{6, "[2001:470:e5bf:dead:4957:2174:e82c:4887]:63943", "[2607:f8b0:400c:c03::1a]:25", "1:/qFaeAR+gFe1KYjMzVDsMv+wgU4="},
		{6, "[fe80::200:86ff:fe05:80da]:1022", "[fe80::260:97ff:fe07:69ea]:22", "1:gS2aYcRwGJWe7UratL8/84dclq4="},
	} {
		a, b := netip.MustParseAddrPort(c.a), netip.MustParseAddrPort(c.b)
		for range 2 {
			if got := string(nettext.AppendFlowID(nil, c.protocol, a, b)); got != c.want {
				t.Errorf("%s > %s: %s, want %s", a, b, got, c.want)
			}
			a, b = b, a
		}
	}
}

// TestFlowText: conversations that share a place do not share their texts.
func TestFlowText(t *testing.T) {
	j := NewJSON(JSONOptions{})
	for i := range 6 * flowPairs {
		a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), uint16(i))
		b := netip.MustParseAddrPort("198.51.100.7:27015")
		for range 2 {
			want := `,"src_ip":"` + a.Addr().String() + `","src_port":` + port(a) + `,"dst_ip":"` + b.Addr().String() + `","dst_port":` + port(b) +
				`,"flow_id":"` + string(nettext.AppendFlowID(nil, nettext.UDP, a, b)) + `"`
			if got := string(j.appendEnds(nil, a, b, false, false)); got != want {
				t.Fatalf("%s, want %s", got, want)
			}
			a, b = b, a
		}
	}
}

func port(a netip.AddrPort) string { return a.String()[len(a.Addr().String())+1:] }

// TestTimes: percentiles are exact for few durations and near for many, and do not depend
// on how the durations are spread over lists that are merged.
func TestTimes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 99, 100, 101, maxExact, maxExact + 1, 20000, 6 * maxExact} {
		var all []time.Duration
		var whole Times
		var parts [5]Times
		for range n {
			d := time.Duration(rng.Uint64() >> (20 + rng.IntN(44)))
			all = append(all, d)
			whole.Add(d)
			parts[rng.IntN(len(parts))].Add(d)
		}
		slices.Sort(all)
		var merged Times
		for i := range parts {
			merged.Merge(&parts[i])
		}
		got, again := whole.Percentiles(50, 90, 99), merged.Percentiles(50, 90, 99)
		if !slices.Equal(got, again) || whole.Min != merged.Min || whole.Max != merged.Max || whole.Count != merged.Count {
			t.Errorf("%d durations: %v, merged %v", n, got, again)
		}
		if whole.Min != all[0] || whole.Max != all[n-1] || whole.Count != uint64(n) {
			t.Errorf("%d durations: %d from %s to %s", n, whole.Count, whole.Min, whole.Max)
		}
		for i, p := range []int{50, 90, 99} {
			want := all[(n*p+99)/100-1]
			if off := got[i] - want; off < 0 || off > want/64 || n <= maxExact && off != 0 {
				t.Errorf("%d durations: p%d is %s, want %s", n, p, got[i], want)
			}
		}
	}
}

// TestUnread: what is said of captures without a message.
func TestUnread(t *testing.T) {
	for _, c := range []struct {
		sum    Summary
		chosen bool
		want   string
	}{
		{Summary{}, false, "no packets were read"},
		{Summary{Packets: 1, Datagrams: 1}, false, "1 UDP datagram, none of a known protocol"},
		{Summary{Packets: 2, Datagrams: 2}, true, "2 UDP datagrams, none of the chosen protocols"},
		{Summary{Packets: 60, Datagrams: 33, Unread: Unread{
			Sampled: 33, Like: []Likeness{{"DNS", 0, 1}, {"Teeworlds", 0, 20}, {"SIP", 0, 3}},
			Segments: 24, SampledSegments: 24, Streams: []Likeness{{"Source RCON", 25575, 12}},
		}}, false, "33 UDP datagrams, none of a known protocol; 20 look like Teeworlds, 3 look like SIP, 1 looks like DNS; " +
			"24 TCP packets are not read, 12 of them on port 25575 look like Source RCON; 3 other packets"},
		{Summary{Packets: 1, Unread: Unread{Segments: 1, SampledSegments: 1}}, false, "no UDP datagrams; 1 TCP packet is not read"},
		{Summary{Packets: 1}, false, "no UDP datagrams; 1 other packet"},
		{Summary{Packets: 2, ICMP: 2, Unread: Unread{Errors: []Likeness{{"198.51.100.10 is unreachable", 27015, 1}, {"198.51.100.11 did not arrive", 27016, 1}}}}, false, "no UDP datagrams; 2 ICMP errors: " +
			"port 27015 of 198.51.100.10 is unreachable, a datagram to port 27016 of 198.51.100.11 did not arrive"},
		{Summary{Packets: 1, ICMP: 1, Unread: Unread{Errors: []Likeness{{"a is unreachable", 1, 2}, {"b is unreachable", 2, 2}, {"c is unreachable", 3, 2}, {"d is unreachable", 4, 1}}}}, false, "no UDP datagrams; 1 ICMP error: " +
			"port 1 of a is unreachable, port 2 of b is unreachable, port 3 of c is unreachable, and more"},
		{Summary{Packets: 1, Unread: Unread{Links: []Likeness{{"pflog", 0, 1}}}}, false, "1 packet of link type pflog, which qdissect does not read"},
		{Summary{Packets: 9, Unread: Unread{Links: []Likeness{{"pflog", 0, 2}, {"fddi", 0, 3}}}}, false, "no UDP datagrams; " +
			"2 packets of link type pflog, which qdissect does not read; 3 packets of link type fddi, which qdissect does not read; 4 other packets"},
		{Summary{Packets: 9000, Datagrams: 5000, Unread: Unread{
			Sampled: 1040, Like: []Likeness{{"a", 0, 4}, {"b", 0, 3}, {"c", 0, 2}, {"d", 0, 1}, {"e", 0, 1}},
			Segments: 4000, SampledSegments: 1036, Streams: []Likeness{{"HTTP", 80, 1}},
		}}, false, "5000 UDP datagrams, none of a known protocol; 4 of 1040 looked at look like a, 3 of 1040 looked at look like b, " +
			"2 of 1040 looked at look like c, 2 like something else; 4000 TCP packets are not read, 1 of 1036 looked at on port 80 looks like HTTP"},
	} {
		if got := string(AppendUnread(nil, &c.sum, c.chosen)); got != "no messages: "+c.want {
			t.Errorf("got  %s\nwant no messages: %s", got, c.want)
		}
	}
}

func FuzzString(f *testing.F) {
	for _, s := range []string{"", "plain text of some length", "quote \" slash \\ tab \t", "\x1b[0m \u2028 \u202e", "\x7f\u0080\u009f", "😀\U000e0041", strings.Repeat("a", 7) + "\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := appendString(nil, []byte(s))
		var back string
		if err := json.Unmarshal(out, &back); err != nil || back != string([]rune(s)) {
			t.Fatalf("%q became %s, which is %q, %v", s, out, back, err)
		}
		for _, r := range string(out) {
			if nettext.Unsafe(r) {
				t.Fatalf("%q lets %U through", out, r)
			}
		}
	})
}

func TestPlain(t *testing.T) {
	room := make([]byte, 64)
	for n := range 40 {
		s := []byte(strings.Repeat("abcdefghijk", 4)[:n])
		if got := room[:putPlain(room, s)]; string(got) != `"`+string(s)+`"` {
			t.Errorf("%d letters became %s", n, got)
		}
		if putPlain(room[:n+1], s) != 0 {
			t.Errorf("%d letters and quotes fit into %d bytes", n, n+1)
		}
		for at := range n {
			for _, c := range []byte{0, 0x1f, '"', '\\', '^', 0x7f, 0x80, 0xff} {
				was := s[at]
				s[at] = c
				if putPlain(room, s) != 0 {
					t.Errorf("%#x at %d of %d is plain", c, at, n)
				}
				s[at] = was
			}
		}
	}
}

// TestEscaped: text of any pieces is that of each alone, however much room there is.
func TestEscaped(t *testing.T) {
	pieces := [][2]string{
		{"a", "a"}, {"bc", "bc"}, {"sixteen letters.", "sixteen letters."}, {"^1", "^1"}, {"/", "/"}, {`"`, `\"`}, {`\`, `\\`}, {"\n", `\n`}, {"\r", `\r`}, {"\t", `\t`}, {"\x00", `\u0000`}, {"\x1f", `\u001f`},
		{"\x7f", `\u007f`}, {"\u009f", `\u009f`}, {"é", "é"}, {"Жук", "Жук"}, {"ӿ", "ӿ"}, {"\u0301", "\u0301"}, {"\u0378", `\u0378`}, {"\u0380", `\u0380`}, {"\u2028", `\u2028`}, {"\ufffd", "\ufffd"}, {"漢", "漢"},
		{"😀", "😀"}, {"\U000e0041", `\udb40\udc41`}, {"\U0010ffff", `\udbff\udfff`}, {"\xff", `\ufffd`}, {"\xc3", `\ufffd`}, {"a\x80", `a\ufffd`}, {"\xe2\x80", `\ufffd\ufffd`},
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20000 {
		s, want := "", ""
		for range rng.IntN(10) {
			piece := pieces[rng.IntN(len(pieces))]
			s, want = s+piece[0], want+piece[1]
		}
		got, valid := appendEscaped(make([]byte, 0, rng.IntN(100)), []byte(s))
		if string(got) != `"`+want+`"` || valid != utf8.ValidString(s) {
			t.Fatalf("%q became %s, %t; want %s", s, got, valid, want)
		}
	}
}

// TestFieldNumber: a number is the same in JSON however long its key is and however much room there is.
func TestFieldNumber(t *testing.T) {
	c, j := dissect.NewCatalog("test"), NewJSON(JSONOptions{})
	for _, name := range []string{"n", "number_of_12", "number_of_13_", "a_number_with_a_long_name"} {
		f, signed := c.Add(name, dissect.Uint, "A number."), c.Add("signed."+name, dissect.Int, "A number.")
		for _, n := range []uint64{0, 9, 10, 99, 100, 255, 256, 1000, 99999, 100000, 123456789, math.MaxUint64} {
			for room := range 64 {
				r := dissect.Record{Datagram: &dissect.Datagram{}, Sources: []dissect.Source{{Data: make([]byte, 8)}}, Nodes: []dissect.Node{{Field: f, Num: n, Len: 8}}}
				got := j.AppendFields(make([]byte, 0, room), &r)
				if want := fmt.Sprintf(`{"%s":%d}`, name, n); string(got) != want {
					t.Fatalf("with room for %d: %s, want %s", room, got, want)
				}
				r.Nodes[0].Field = signed
				got = j.AppendFields(make([]byte, 0, room), &r)
				if want := fmt.Sprintf(`{"%s":%d}`, name, int64(n)); string(got) != want {
					t.Fatalf("with room for %d: %s, want %s", room, got, want)
				}
			}
		}
	}
}

// TestFieldDecimal: a number that is text is the same in JSON wherever it stands in the data and however much room there is.
func TestFieldDecimal(t *testing.T) {
	f, j := dissect.NewCatalog("test").Add("ping", dissect.Decimal, "A number."), NewJSON(JSONOptions{})
	texts := []string{"", "-", "-1", "00", "01", "1.5", "1e5", "12x", "x12", "99999999", "1234567890123456", ":2345678", "/2345678", "1234567:", "/", ":", "1:", "1/", "\xb1", "1\xb2", "1\x00"}
	for n := range 12345 {
		if n > 1100 && n%7 > 0 && !must.TryAll() {
			continue
		}
		texts = append(texts, strconv.Itoa(n))
	}
	for i, s := range texts {
		for after := range 10 {
			for room := range 40 {
				if i > 200 && (after+room+i)%37 != 0 {
					continue
				}
				data := append([]byte("\x01"+s), "12\xff\xff567890"[:after]...)
				r := dissect.Record{Datagram: &dissect.Datagram{}, Sources: []dissect.Source{{Data: data}}, Nodes: []dissect.Node{{Field: f, Off: 1, Len: uint32(len(s))}}}
				got := j.AppendFields(make([]byte, 0, room), &r)
				want := append(new(JSON).appendValue([]byte(`{"ping":`), &r.Nodes[0], data, false), '}')
				if string(got) != string(want) {
					t.Fatalf("%q before %d bytes became %s, want %s", s, after, got, want)
				}
			}
		}
	}
}

// TestFieldText: a text is the same in JSON wherever it stands in the data and however much room there is.
func TestFieldText(t *testing.T) {
	f, j := dissect.NewCatalog("test").Add("name", dissect.String, "A name."), NewJSON(JSONOptions{})
	for n := range 40 {
		s := []byte(strings.Repeat("01234567 abc", 4)[:n])
		for at := range n + 1 {
			for _, c := range []byte{'z', 0, 0x1f, '"', '\\', '^', 0x7f, 0xe9} {
				if at < n {
					s[at] = c
				}
				for after := range 9 {
					data := append([]byte("\x01"), append(s, make([]byte, after)...)...)
					r := dissect.Record{Datagram: &dissect.Datagram{}, Sources: []dissect.Source{{Data: data}}, Nodes: []dissect.Node{{Field: f, Off: 1, Len: uint32(n)}}}
					got := j.AppendFields(make([]byte, 0, 8*after*after), &r)
					want := append(new(JSON).appendValue([]byte(`{"name":`), &r.Nodes[0], data, false), '}')
					if string(got) != string(want) {
						t.Fatalf("%q before %d bytes became %s, want %s", s, after, got, want)
					}
				}
			}
			if at < n {
				s[at] = 'a'
			}
		}
	}
}

func TestTime(t *testing.T) {
	j := NewJSON(JSONOptions{})
	for _, at := range []time.Time{
		time.Unix(0, 0), time.Unix(0, 1), time.Unix(1700000000, 123456789), time.Unix(1700000000, 999999999), time.Unix(1700000001, 0),
		time.Unix(-1, 500), time.Unix(-9e9, 7), time.Unix(9e9, 42),
	} {
		want := at.UTC().Format(`"2006-01-02T15:04:05.000000000Z"`)
		if got := string(j.appendTime(nil, at)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestWithoutNotes: notes of an earlier run are recognised, and nothing that people write.
func TestWithoutNotes(t *testing.T) {
	p := &dissect.Protocol{Name: "a2s", Catalog: dissect.NewCatalog("a2s")}
	p.Catalog.Message(dissect.MessageType{Name: "info_request", Title: "info request"})
	p.Catalog.Message(dissect.MessageType{Name: "info_reply", Title: "info reply"})
	for _, c := range []struct {
		comment string
		note    bool
	}{
		{"a2s: info request", true},
		{"a2s: info request  without challenge", true},
		{"a2s: info reply  \"x\"  ← frame 3, 12.3 ms", true},
		{"warning: a2s.split.totals: parts with the same id", true},
		{"note: rtt: x", true},
		{"error: a2s.bad: x", true},
		{"error: : x", false},
		{"chat: a2s.odd: x", true},
		{"frame 12, note: a2s.noreply: info request unanswered within 5 s", true},
		{"a2s: info requests are broken here", false},
		{"a2s:   look at this", false},
		{"quake3: info request", false},
		{"warning: look at frame 7", false},
		{"warning: this is odd: see above", false},
		{"frame 12, here it begins", false},
		{"frame x, note: a2s.noreply: y", false},
		{"and 3 more", false},
		{"", false},
	} {
		left := WithoutNotes(nil, []string{c.comment}, []*dissect.Protocol{p})
		if note := len(left) == 0; note != c.note {
			t.Errorf("%q: %v", c.comment, note)
		}
	}
	got := WithoutNotes(nil, []string{"mine", "a2s: info request", "note: rtt: x", "and 7 more", "and 7 more beers", "yours", "and 8 more"}, []*dissect.Protocol{p})
	if want := []string{"mine", "and 7 more beers", "yours", "and 8 more"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestLeaves: leaves have the names of what they lie in; the parts of a message with a password are masked whole, because nobody knows where in
// them it is. What carries no secret is shown.
func TestLeaves(t *testing.T) {
	c := dissect.NewCatalog("test")
	index, piece := c.Add("index", dissect.Uint, "Number."), c.Add("piece", dissect.Bytes, "A piece.", dissect.Framing)
	password, name := c.Add("info.password", dissect.String, "A password.", dissect.Secret), c.Add("info.name", dissect.String, "A name.")
	r := &dissect.Record{Sources: []dissect.Source{{Frame: 7, Data: []byte("\x01se")}, {Frame: 8, Data: []byte("\x02cretan")}, {Data: []byte("secretan")}}}
	r.Nodes = []dissect.Node{
		{Field: index, Num: 1, Len: 1}, {Field: piece, Off: 1, Len: 2}, {Field: index, Num: 2, Len: 1, Source: 1}, {Field: piece, Off: 1, Len: 6, Source: 1},
		{Field: c.Add("rest", dissect.Bytes, "Nothing."), Source: 2}, {Field: c.Add("info", dissect.Group, "Facts."), Len: 8, Source: 2},
		{Field: password, Len: 6, Source: 2, Depth: 1}, {Field: c.Add("info.list", dissect.List, "Names."), Off: 6, Len: 2, Source: 2, Depth: 1},
		{Field: name, Off: 6, Len: 1, Source: 2, Depth: 2}, {Field: name, Off: 7, Len: 1, Source: 2, Depth: 2},
	}
	for i, want := range []string{
		`"\x01**" [{index 1 0 1} {piece 2 bytes 1 2}]`, `"\x02******" [{index 2 0 1} {piece 6 bytes 1 6}]`,
		`"******an" [{info.password *** 0 6} {info.list[0] "a" 6 1} {info.list[1] "n" 7 1}]`,
		`"\x01se" [{index 1 0 1} {piece 2 bytes 1 2}]`, `"*cretan" [{password *** 0 1} {piece 6 bytes 1 6}]`,
	} {
		if i == 3 { // the password stands in the header of a part
			r.Nodes, r.Nodes[2].Field = r.Nodes[:4], password
		}
		data, leaves := Leaves(r, i%3)
		if got := fmt.Sprintf("%q %v", data, leaves); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestNodesWrapped: a value that does not fit goes on below itself, two columns to the right of its name; a narrow terminal has fields above their bytes.
func TestNodesWrapped(t *testing.T) {
	c := dissect.NewCatalog("test")
	r := &dissect.Record{Sources: []dissect.Source{{Name: "payload", Frame: 7, Data: []byte("alpha beta gamma")}}}
	r.Nodes = []dissect.Node{{Field: c.Add("info", dissect.Group, "Facts."), Len: 16}, {Field: c.Add("info.name", dissect.String, "A name."), Len: 16, Depth: 1}}
	const tree = "         0    16                            info\n         0    16  61 6c 70 68 61 20 62 65 …   name: \"alpha beta"
	const row = "  000000  61 6c 70 68 61 20 62 65 74 61 20 67 61 6d 6d 61 |alpha beta gamma|"
	for i, want := range []string{
		tree + " gamma\"\n\n", tree + "\n" + strings.Repeat(" ", 48) + "gamma\"\n\n",
		strings.Repeat(" ", 78) + "info\n" + row + "    name: \"alpha beta\n" + strings.Repeat(" ", 80) + "gamma\"\n\n", "  info\n    name: \"alpha beta gamma\"\n" + row + "\n\n",
	} {
		x := NewText(TextOptions{Detail: []Detail{Tree, Tree, Hex, Hex}[i], Width: []int{0, 69, 100, 99}[i]})
		x.nodes(r, []func(*dissect.Node, []byte){x.treeNode, x.treeNode, x.hexNode, x.hexNode}[i])
		if got, want := string(x.Bytes()), "     payload of frame 7, 16 bytes\n"+want; got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
}
