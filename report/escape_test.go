package report

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
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

func FuzzString(f *testing.F) {
	for _, s := range []string{"", "plain text of some length", "quote \" slash \\ tab \t", "\x1b[0m \u2028 \u202e", "\x7f\u0080\u009f", "😀\U000e0041", strings.Repeat("a", 7) + "\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := appendString(nil, []byte(s))
		var back string
		if err := json.Unmarshal(out, &back); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if want := strings.ToValidUTF8(s, "\ufffd"); utf8.ValidString(s) && back != want {
			t.Fatalf("%q became %q", s, back)
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

// TestEscaped compares text of any pieces with each of its characters alone, however much room there is.
func TestEscaped(t *testing.T) {
	pieces := []string{"a", "bc", "sixteen letters.", "^1", "\"", "\\", "\n", "\x00", "\x7f", "é", "Жук", "\u0301", "\u2028", "😀", "\xc3", "\x80", "\xff"}
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20000 {
		var s, want []byte
		for range rng.IntN(10) {
			s = append(s, pieces[rng.IntN(len(pieces))]...)
		}
		for rest := s; len(rest) > 0; {
			r, n := utf8.DecodeRune(rest)
			if r >= ' ' && r < 0x7f && r != '"' && r != '\\' {
				want = append(want, byte(r))
			} else {
				want = appendRune(want, r, n)
			}
			rest = rest[n:]
		}
		got, valid := appendEscaped(make([]byte, 0, rng.IntN(100)), s)
		if string(got) != `"`+string(want)+`"` || valid != utf8.Valid(s) {
			t.Fatalf("%q became %s, %t; want %s", s, got, valid, want)
		}
	}
}

// TestFieldNumber: a number is the same in JSON however long its key is and however much room there is.
func TestFieldNumber(t *testing.T) {
	c := dissect.NewCatalog("test")
	for _, name := range []string{"n", "number_of_12", "number_of_13_", "a_number_with_a_long_name"} {
		f, signed := c.Add(name, dissect.Uint, "A number."), c.Add("signed."+name, dissect.Int, "A number.")
		for _, n := range []uint64{0, 9, 10, 99, 100, 255, 256, 1000, 99999, 100000, 123456789, math.MaxUint64} {
			for room := range 64 {
				r := dissect.Record{Sources: []dissect.Source{{Data: make([]byte, 8)}}, Nodes: []dissect.Node{{Field: f, Num: n, Len: 8}}}
				got := NewJSON(JSONOptions{}).AppendFields(make([]byte, 0, room), &r)
				if want := fmt.Sprintf(`{"%s":%d}`, name, n); string(got) != want {
					t.Fatalf("with room for %d: %s, want %s", room, got, want)
				}
				r.Nodes[0].Field = signed
				got = NewJSON(JSONOptions{}).AppendFields(make([]byte, 0, room), &r)
				if want := fmt.Sprintf(`{"%s":%d}`, name, int64(n)); string(got) != want {
					t.Fatalf("with room for %d: %s, want %s", room, got, want)
				}
			}
		}
	}
}

// TestFieldDecimal: a number that is text is the same in JSON wherever it stands in the data and however much room there is.
func TestFieldDecimal(t *testing.T) {
	f := dissect.NewCatalog("test").Add("ping", dissect.Decimal, "A number.")
	texts := []string{"", "-", "-1", "00", "01", "1.5", "1e5", "12x", "x12", "99999999", "1234567890123456", "/", ":", "1:", "1/", "\xb1", "1\xb2", "1\x00"}
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
				r := dissect.Record{Sources: []dissect.Source{{Data: data}}, Nodes: []dissect.Node{{Field: f, Off: 1, Len: uint32(len(s))}}}
				got := NewJSON(JSONOptions{}).AppendFields(make([]byte, 0, room), &r)
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
	f := dissect.NewCatalog("test").Add("name", dissect.String, "A name.")
	for n := range 40 {
		s := []byte(strings.Repeat("abcdefghijk", 4)[:n])
		for at := range n + 1 {
			for _, c := range []byte{'z', 0, 0x1f, '"', '\\', '^', 0x7f, 0xe9} {
				if at < n {
					s[at] = c
				}
				for after := range 9 {
					data := append([]byte("\x01"), append(s, make([]byte, after)...)...)
					r := dissect.Record{Sources: []dissect.Source{{Data: data}}, Nodes: []dissect.Node{{Field: f, Off: 1, Len: uint32(n)}}}
					got := NewJSON(JSONOptions{}).AppendFields(make([]byte, 0, 8*after*after), &r)
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

func TestFloat(t *testing.T) {
	for v, want := range map[float32]string{0: "0", -1: "-1", 3476.5: "3476.5", 8.131128: "8.131128", 1e-9: "1e-09", 104490: "104490", -250: "-250", 999999: "999999", 1e6: "1000000"} {
		if got := string(appendFloat(nil, float64(v), 4)); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

// TestDecimalBytes: what stands in the place of a number and is not even UTF-8
// has its bytes beside it, as other text has.
func TestDecimalBytes(t *testing.T) {
	f := dissect.NewCatalog("test").Add("ping", dissect.Decimal, "A number.")
	for in, want := range map[string]string{"152": `"ping":152`, "many": `"ping_text":"many"`, "\xe9": `"ping_text":"é","ping_text_hex":"e9"`} {
		n := dissect.Node{Field: f, Len: uint32(len(in))}
		if got := string((&JSON{}).appendValue([]byte(`"ping":`), &n, []byte(in), false)); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
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
		{"frame 12, note: a2s.noreply: info request unanswered within 5 s", true},
		{"a2s: info requests are broken here", false},
		{"a2s: look at this", false},
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
