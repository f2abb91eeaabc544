package stats

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Numbers in sentences.

// number writes a number with commas.
func number(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func count(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

func were(n uint64) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// addresses writes a number of addresses, an estimate with its error.
func (d Distinct) addresses() string {
	text := count(d.Count, "address", "addresses")
	switch {
	case d.Percent >= 100:
		text = "more than " + text
	case d.Percent > 0:
		text += fmt.Sprintf(" (±%d %%)", d.Percent)
	}
	return text
}

// rounded writes a number without decimals, or one if it is small.
func rounded(v float64) string {
	if v < 10 {
		return decimals(v)
	}
	return number(nearest(v))
}

func decimals(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

func percent(share float64) string {
	p := share * 100
	switch {
	case p > 99 && p < 100:
		return strconv.FormatFloat(min(p, 99.99), 'f', 2, 64) + " %"
	case p > 0 && p < 0.05:
		return "<0.1 %"
	case p < 10:
		return decimals(p) + " %"
	}
	return strconv.FormatFloat(p, 'f', 0, 64) + " %"
}

// FormatSize writes a number of bytes in a suitable unit.
func FormatSize(n uint64) string {
	switch {
	case n >= 1e9:
		return decimals(float64(n)/1e9) + " GB"
	case n >= 1e6:
		return decimals(float64(n)/1e6) + " MB"
	case n >= 1e3:
		return decimals(float64(n)/1e3) + " kB"
	}
	return count(n, "byte", "bytes")
}

func duration(d time.Duration) string {
	switch {
	case d >= 2*time.Hour:
		return decimals(d.Hours()) + " h"
	case d >= 2*time.Minute:
		return decimals(d.Minutes()) + " min"
	case d >= time.Second:
		return decimals(d.Seconds()) + " s"
	}
	if d > 0 && d < 100*time.Microsecond { // a server's own host sees them
		return strconv.FormatInt(max(d.Microseconds(), 1), 10) + " µs"
	}
	return decimals(d.Seconds()*1000) + " ms"
}

func clock(t int64) string { return instant(t).Format("15:04:05") + " UTC" }

// many returns what several requests of a kind are called.
func (k *kind) many() string { return k.protocol + " " + plural(k.title()) }

// plural returns the plural of the title of a request.
func plural(title string) string {
	if strings.HasSuffix(title, "request") {
		return title + "s"
	}
	return title + " requests"
}

// Numbers as the text form writes them, for other views.

// FormatNumber writes 1,234,567.
func FormatNumber(n uint64) string { return number(n) }

// FormatRate writes a number without decimals, or with one if it is small.
func FormatRate(v float64) string { return rounded(v) }

// FormatShare writes n as a percentage of a number, "" if that is 0.
func FormatShare(n, of uint64) string { return share(n, of) }

// FormatDuration writes a duration in a suitable unit.
func FormatDuration(d time.Duration) string { return duration(d) }

// RepliedShare writes how many of the requests got a reply, if only a challenge or a part, of those whose outcome is known.
func (o *Outcome) RepliedShare(requests uint64) string {
	return share(o.replied(), less(requests, o.Other))
}

// less returns a - b, or 0 if that is less.
func less[N uint32 | uint64 | float64](a, b N) N { return a - min(a, b) }

// nearest returns the number nearest to one that is not negative.
func nearest(v float64) uint64 { return uint64(v + 0.5) }
