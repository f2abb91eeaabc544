package htmlreport

import (
	"strings"
	"testing"
	"time"
)

func TestFormats(t *testing.T) {
	plain := func(s string) string { return strings.ReplaceAll(s, thin, " ") }
	label := func(name string, v float64) string { l, w := evidence(name, v); return l + ": " + w }
	for _, x := range []struct{ got, want string }{
		{number(0), "0"}, {number(999), "999"}, {number(1000), "1,000"}, {number(1234567), "1,234,567"}, {number(1<<64 - 1), "18,446,744,073,709,551,615"},
		{plural(1, "server"), "1 server"}, {plural(0, "server"), "0 servers"}, {plural(1200, "server"), "1,200 servers"},
		{decimal(0), "0"}, {decimal(5), "5"}, {decimal(5.226), "5.23"}, {decimal(52.26), "52.3"}, {decimal(522.6), "523"}, {decimal(9.997), "10.0"}, {decimal(99.96), "100"}, {decimal(1522.6), "1,523"},
		{size(0), "0 B"}, {size(999), "999 B"}, {size(1000), "1 kB"}, {size(999499), "999 kB"}, {size(999500), "1.00 MB"}, {size(22900120), "22.9 MB"}, {size(1<<64 - 1), "18,447 PB"},
		{share(0, 0), "–"}, {share(0, 7), "0 %"}, {share(7, 7), "100 %"}, {share(1, 100000), "< 0.01 %"}, {share(4, 10000), "0.04 %"}, {share(1, 3), "33.3 %"}, {share(9999, 10000), "> 99.9 %"},
		{factor(0), "–"}, {factor(20.79), "×20.8"}, {ratio(3, 0), "–"}, {ratio(3, 2), "×1.50"},
		{duration(0), "0 µs"}, {duration(87 * time.Microsecond), "87 µs"}, {duration(5 * time.Second), "5 s"}, {duration(2 * time.Millisecond), "2 ms"}, {duration(84630 * time.Millisecond), "1 min 25 s"}, {duration(2 * time.Hour), "2 h"}, {duration(50 * time.Hour), "2 d 2 h"},
		{duration(59*time.Minute + 59600*time.Millisecond), "60 min"},
		{trip(0), "–"},
		{safe("a\x1b[31m\u202eb\\"), `a\x1b[31m\u202eb\\`}, {code("a\\\n\tb\x1b"), "a\\\n\tb\\x1b"}, {oneLine("rm\n\tx"), `rm\n\tx`}, {safe(strings.Repeat("é", 200)), strings.Repeat("é", 80) + " …"},
		{label("requests", 20431), "requests: 20,431"}, {label("requests_per_second", 817.2), "requests per second: 817"}, {label("share_of_sources", 0.999), "of the sources: 99.9 %"}, {label("answered_share_calm", 1), "answered when calm: 100 %"},
		{label("seconds", 20), "duration: 20 s"}, {label("p99_ms", 1500), "99 % within: 1.50 s"}, {label("icmp_errors", 0), "ICMP errors: 0"}, {label("factor", 20.8), "factor: ×20.8"}, {label("bytes_out_by_bytes_in", 2), "bytes out ÷ bytes in: ×2"}, {label("bytes_out", 22900120), "bytes out: 22.9 MB"},
		{strings.Join(host("198.51.100.10:27015"), "|"), "198.51.100.10|:27015"}, {strings.Join(host("[2001:db8::1]:27015"), "|"), "[2001:db8::1]|:27015"}, {strings.Join(host("2001:db8::1"), "|"), "2001:db8::1|"},
	} {
		if plain(x.got) != x.want {
			t.Errorf("%q, want %q", plain(x.got), x.want)
		}
	}
}

// TestHeat: every reply is in one cell of one of the shades, and the lines of the shares lie where their durations are.
func TestHeat(t *testing.T) {
	p := newPage(quiet(), ladderBytes)
	low, high, most := p.heatRows()
	steps := heatSteps(most)
	if steps[0] != 1 || low >= high {
		t.Fatalf("steps %v, rows %d to %d", steps, low, high)
	}
	for c, column := range p.RoundTrips.Heat {
		for row, n := range column {
			level := p.level(c, row, most)
			if n == 0 && level != 0 || n > 0 && (level < 1 || level > heatLevels || n < steps[level-1] || level < heatLevels && n >= steps[level]) {
				t.Fatalf("%d replies have level %d of %v", n, level, steps)
			}
			if n > 0 && (row < low || row > high) {
				t.Fatalf("row %d is outside of %d to %d", row, low, high)
			}
		}
	}
	b := p.RoundTrips.Bounds
	for row := low; row < high; row++ {
		if at, want := p.heatAt(b[row], low, high), float64(row-low+1)/float64(high-low+1); at < want-1e-9 || at > want+1e-9 {
			t.Errorf("%s is drawn at %v, want %v", b[row], at, want)
		}
	}
	if at := p.heatAt(time.Hour, low, len(b)-1); at > 1 {
		t.Errorf("an hour is drawn at %v", at)
	}
}
