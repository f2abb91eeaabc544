package display

import (
	"math"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/report"
)

// TestIntervals compares intervals with the comparisons that they stand for, at the
// limits of all forms of numbers.
func TestIntervals(t *testing.T) {
	numbers := []num{
		intOf(0), intOf(1), intOf(-1), intOf(5), intOf(math.MaxInt64), intOf(math.MaxInt64 - 1), intOf(math.MinInt64), intOf(math.MinInt64 + 1),
		uintOf(1 << 63), uintOf(1<<63 + 5000), uintOf(math.MaxUint64), uintOf(math.MaxUint64 - 5000), floatOf(0.5), floatOf(-0.5), floatOf(4.5), floatOf(5.5), floatOf(1e30), floatOf(-1e30), floatOf(1e17 + 16),
	}
	holds := map[op]func(int) bool{
		less: func(o int) bool { return o < 0 }, atMost: func(o int) bool { return o <= 0 }, more: func(o int) bool { return o > 0 },
		atLeast: func(o int) bool { return o >= 0 }, equal: func(o int) bool { return o == 0 },
	}
	for _, limit := range numbers {
		for o, want := range holds {
			v := intervalOf(o, limit)
			for _, n := range numbers {
				order := n.compare(limit)
				if n.f == limit.f && n.kind != limit.kind && order == 0 && n != limit {
					continue // the float between them is not exact
				}
				if got := v.num(n); got != want(order) {
					t.Errorf("%+v %s %+v: %v", n, o, limit, got)
				}
			}
		}
	}
	for _, n := range numbers {
		if got := between(numbers[2], numbers[3]); got.num(n) != (n.f >= -1 && n.f <= 5) {
			t.Errorf("%+v in -1..5: %v", n, got.num(n))
		}
	}
}

// TestNumberIn checks which texts on the wire are numbers.
func TestNumberIn(t *testing.T) {
	for text, want := range map[string]float64{
		"0": 0, "007": 7, "-3": -3, "+3": 3, "1.50": 1.5, "-0.25": -0.25, ".5": 0.5, "9223372036854775807": math.MaxInt64, "9223372036854775808": 1 << 63, "0000000000000000000001": 1,
	} {
		if n, ok := numberIn(text); !ok || n.f != want {
			t.Errorf("%s: %+v, %v", text, n, ok)
		}
	}
	for _, text := range []string{"", "-", "+", ".", "5.", "1e5", "0x5", "nan", "5 ", "1.2.3", "--5", "99999999999999999999", "1,5"} {
		if n, ok := numberIn(text); ok {
			t.Errorf("%q: %+v", text, n)
		}
	}
}

// TestParse checks numbers with units.
func TestParse(t *testing.T) {
	plain, seconds, nanos := &read{class: number}, &read{class: number, unit: 1e9}, &read{class: number, unit: 1}
	for _, c := range []struct {
		r    *read
		text string
		want num
	}{
		{plain, "20", intOf(20)}, {plain, "0x14", intOf(20)}, {plain, "2e3", intOf(2000)}, {plain, "-1.5", num{f: -1.5, kind: isFloat}},
		{plain, "1k", intOf(1000)}, {plain, "1K", intOf(1000)}, {plain, "1kB", intOf(1000)}, {plain, "2MiB", intOf(2 << 20)}, {plain, "1.5k", intOf(1500)}, {plain, "3G", intOf(3e9)}, {plain, "1Ki", intOf(1024)},
		{plain, "18446744073709551615", uintOf(math.MaxUint64)}, {plain, "512B", intOf(512)},
		{nanos, "100ms", intOf(100e6)}, {nanos, "5s", intOf(5e9)}, {nanos, "1m30s", intOf(90e9)}, {nanos, "1.5us", intOf(1500)}, {nanos, "10µs", intOf(10e3)}, {nanos, "200e6", intOf(200e6)},
		{seconds, "2m", intOf(120)}, {seconds, "500ms", num{f: 0.5, kind: isFloat}}, {seconds, "1h", intOf(3600)}, {seconds, "90", intOf(90)},
	} {
		if n, ok, why := c.r.parse(c.text); !ok || n != c.want {
			t.Errorf("%s: %+v, want %+v (%s)", c.text, n, c.want, why)
		}
	}
	for _, text := range []string{"", "k", "x", "1kk", "1 k", "5ms", "1m", "inf", "nan", "1.2.3", "0x", "--1"} {
		if n, ok, _ := plain.parse(text); ok {
			t.Errorf("%q: %+v", text, n)
		}
	}
}

type rowsOnly struct{ report.Reporter }

func (r rowsOnly) Record(rec *dissect.Record)   { _ = r.Reporter.Record(rec) }
func (r rowsOnly) Unknown(*dissect.Unknown)     {}
func (r rowsOnly) Finding(*dissect.FlowFinding) {}

// TestFormulas: a text that a spreadsheet would calculate is disarmed in CSV, and nothing else.
func TestFormulas(t *testing.T) {
	for text, want := range map[string]string{
		`=HYPERLINK("http://x")`: `"'=HYPERLINK(""http://x"")"`, "+1+1": "'+1+1", "-cmd": "'-cmd", "@SUM(1)": "'@SUM(1)", "\t=1": `'\\t=1`,
		"-12": "-12", "+3.5": "+3.5", "-": "'-", "a=b": "a=b", "": "", "--2": "'--2",
		"＝1+1": "'＝1+1", "＋1": "'＋1", "－1": "'－1", "＠x": "'＠x",
	} {
		for _, raw := range []bool{false, true} {
			var columns []*Column
			for _, name := range []string{"a2s.info.name", "frame"} {
				c := must.Get(CompileColumn(name))(t)
				columns = append(columns, c)
			}
			r := NewRows(columns, RowOptions{CSV: true, Raw: raw})
			a := must.Get(dissect.New(dissect.Config{Protocols: all.Protocols(), Tree: true}, rowsOnly{r}))(t)
			a.Datagram(&dissect.Datagram{Frame: 1, Payload: []byte("\xff\xff\xff\xffI\x11" + text + "\x00m\x00f\x00g\x00\x0a\x00\x03\x10\x00dl\x00\x011\x00\x00")})
			a.Flush()
			plain := strings.ReplaceAll(strings.Replace(want, "'", "", 1), `\\`, `\`)
			expect := nettext.Either(raw, plain, strings.ReplaceAll(want, `\\`, `\`))
			if got := string(r.Bytes()); got != expect+",1\n" {
				t.Errorf("raw %v: %q becomes %q, want %q", raw, text, got, expect)
			}
		}
	}
}
