package stats

import (
	"strings"
	"testing"
	"time"
)

// TestFit: texts are not cut within an escape.
func TestFit(t *testing.T) {
	for _, c := range []struct {
		s, want string
		columns int
	}{
		{"abcdef", "abcdef", 6}, {"abcdefg", "abcde…", 6}, {`abc\x1bdef`, "abc…", 6}, {`abc\x1bdef`, "abc…", 7}, {`abc\x1bdef`, `abc\x1b…`, 8},
		{`a\u202ebcd`, "a…", 7}, {`a\U000e0001bcd`, "a…", 11}, {`ab\\cdef`, "ab…", 4}, {`ab\\cdef`, `ab\\…`, 5}, {`abcd\n\n`, "abcd…", 6},
	} {
		if got := fit(c.s, c.columns); got != c.want {
			t.Errorf("%s in %d columns: %s, want %s", c.s, c.columns, got, c.want)
		}
	}
}

// TestNumbers: what is small is not rounded to nothing, nor to more than it is.
func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{percent(0), "0 %"}, {percent(0.00002), "<0.1 %"}, {percent(0.0006), "0.1 %"}, {percent(0.062), "6.2 %"}, {percent(0.5), "50 %"}, {percent(0.9999), "99.99 %"}, {percent(1), "100 %"},
		{duration(0), "0 ms"}, {duration(21 * time.Microsecond), "21 µs"}, {duration(210 * time.Microsecond), "0.2 ms"}, {duration(9900 * time.Microsecond), "9.9 ms"}, {duration(2 * time.Second), "2 s"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}

// TestWrapped: a number and its unit are in one line.
func TestWrapped(t *testing.T) {
	var b text
	b.wrapped("* ", strings.Repeat("It took 10 s, and 95 % of 6.9 MB (15.2 times 3 bytes) were lost. ", 40))
	for _, line := range strings.Split(b.b.String(), "\n") {
		last := line[strings.LastIndexByte(line, ' ')+1:]
		if len(line) > textWidth || last != "" && strings.Trim(last, "(0123456789.") == "" {
			t.Errorf("a line of %d bytes ends with %q", len(line), last)
		}
	}
}
