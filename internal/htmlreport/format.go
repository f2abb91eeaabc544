package htmlreport

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/stats"
)

// thin joins a number and its unit, so that no line breaks between them.
const thin = "\u00a0"

// number returns n with a comma between thousands.
func number(n uint64) string { return stats.FormatNumber(n) }

// plural returns "1 server" or "2 servers".
func plural(n int, one string) string {
	return nettext.Either(n == 1, "1"+thin+one, number(uint64(n))+thin+one+"s")
}

// decimal returns f with three digits that matter: 5.23, 52.3, 523.
func decimal(f float64) string {
	switch {
	case f >= 999.5:
		return number(uint64(math.Round(f)))
	case f >= 99.95 || f == math.Trunc(f):
		return strconv.FormatFloat(f, 'f', 0, 64)
	case f >= 9.995:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'f', 2, 64)
}

// size returns a number of bytes in a suitable unit.
func size(n uint64) string {
	if n < 1000 {
		return number(n) + thin + "B"
	}
	f, unit := float64(n), 0
	for f >= 999.5 && unit < 5 {
		f /= 1000
		unit++
	}
	return decimal(f) + thin + [...]string{"B", "kB", "MB", "GB", "TB", "PB"}[unit]
}

// share returns a part of a whole in percent. What is not nothing never reads 0 %, and what is not everything never 100 %.
func share(part, whole uint64) string {
	if whole == 0 {
		return "–"
	}
	p := 100 * float64(part) / float64(whole)
	switch {
	case part == 0 || part == whole:
		return strconv.FormatFloat(p, 'f', 0, 64) + thin + "%"
	case p < 0.01:
		return "<" + thin + "0.01" + thin + "%"
	case p < 1:
		return strconv.FormatFloat(p, 'f', 2, 64) + thin + "%"
	case p > 99.9:
		return ">" + thin + "99.9" + thin + "%"
	}
	return strconv.FormatFloat(p, 'f', 1, 64) + thin + "%"
}

// factor returns out by in, as ×6.7.
func factor(f float64) string {
	return nettext.Either(f <= 0 || math.IsInf(f, 0) || math.IsNaN(f), "–", "×"+decimal(f))
}

// duration returns a duration in the units that people use.
func duration(d time.Duration) string {
	two := func(big, small time.Duration, b, s string) string {
		d = d.Round(small)
		text := number(uint64(d/big)) + thin + b
		if rest := d % big / small; rest > 0 {
			text += " " + strconv.Itoa(int(rest)) + thin + s
		}
		return text
	}
	switch {
	case d < time.Minute:
		return shortUnits.Replace(string(nettext.AppendDuration(nil, d)))
	case d < time.Hour:
		return two(time.Minute, time.Second, "min", "s")
	case d < 24*time.Hour:
		return two(time.Hour, time.Minute, "h", "min")
	}
	return two(24*time.Hour, time.Hour, "d", "h")
}

var shortUnits = strings.NewReplacer(".00 s", thin+"s", ".0 ms", thin+"ms", " ", thin)

// trip returns a round-trip time, of which 0 means that there is none.
func trip(d time.Duration) string {
	return nettext.Either(d <= 0, "–", duration(d))
}

func day(t time.Time) string   { return t.UTC().Format("2006-01-02") }
func clock(t time.Time) string { return t.UTC().Format("15:04:05") }

// stamp returns a time of the report: with the date if the report is longer than a day.
func (p *page) stamp(t time.Time) string {
	return nettext.Either(p.To.Sub(p.From) >= 24*time.Hour, day(t)+" "+clock(t), clock(t))
}

// span returns two times as 22:13:50 – 22:14:10.
func (p *page) span(from, to time.Time) string {
	a, b := p.stamp(from), p.stamp(to)
	return nettext.Either(a == b, a, a+" – "+b)
}

// maxText is the number of bytes of a text from the network that are shown.
const maxText = 160

// safe escapes text from the network as the text output does, and shortens it.
func safe(s string) string { return cut(s, maxText) }

// phrase is safe for sentences, which may be longer. No line ends between a number and its unit.
func phrase(s string) string { return measured.ReplaceAllString(cut(s, 1200), "${1}"+thin+"$2") }

var measured = regexp.MustCompile(`(\d) (%|(?:[kMG]?B|[mµ]?s|min|h)\b)`)

func cut(s string, most int) string {
	b := nettext.AppendSafe(nil, []byte(s[:min(len(s), most+utf8.UTFMax)]))
	return string(nettext.Shorten(b, 0, most))
}

// code escapes commands and rules: as safe does, but backslashes and ends of lines are part of the text.
func code(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == '\\' || r == '\n' || r == '\t' {
			b = append(b, s[i])
		} else {
			b = nettext.AppendSafe(b, []byte(s[i:i+n]))
		}
		i += n
	}
	return string(b)
}

// oneLine is code for commands: pasting an end of line would run what is before it.
func oneLine(s string) string { return lineEnds.Replace(code(s)) }

var lineEnds = strings.NewReplacer("\n", `\n`, "\t", `\t`)

// escaped escapes text whose escapes are part of it, as text output has written it.
func escaped(s string) string {
	const most = 1200
	return string(nettext.Shorten([]byte(oneLine(s[:min(len(s), most+utf8.UTFMax)])), 0, most))
}

// words returns a name in snake_case as words.
func words(s string) string { return strings.ReplaceAll(s, "_", " ") }

// percent returns a share in percent.
func percent(v float64) string {
	const most = 1 << 40
	return share(uint64(max(0, min(1, v))*most), most)
}

// labels are words of evidence that are written otherwise.
var labels = strings.NewReplacer("icmp", "ICMP", "p50", "median", "p99", "99"+thin+"% within", " by ", " ÷ ")

// evidence returns the label and the value of a number, whose unit is part of its name.
func evidence(name string, v float64) (label, value string) {
	words := func(s string) string { return labels.Replace(words(s)) }
	for _, when := range []string{"calm", "busy"} {
		if of, ok := strings.CutSuffix(name, "_"+when); ok {
			label, value = evidence(of, v)
			return label + " when " + when, value
		}
	}
	switch {
	case name == "answered_share":
		return "answered", percent(v)
	case name == "share_of_sources":
		return "of the sources", percent(v)
	case name == "share_of_requests":
		return "of the requests", percent(v)
	case name == "seconds":
		return "duration", duration(time.Duration(v * 1e9))
	case strings.Contains(name, "share") || name == "replies_by_requests":
		return words(name), percent(v)
	case strings.HasSuffix(name, "_percent"):
		return words(strings.TrimSuffix(name, "_percent")), decimal(v) + thin + "%"
	case strings.HasSuffix(name, "factor") || name == "bytes_out_by_bytes_in":
		return words(name), factor(v)
	case strings.HasPrefix(name, "bytes") && !strings.Contains(name, "_per_"):
		return words(name), size(uint64(max(0, v)))
	case strings.HasSuffix(name, "seconds"):
		return strings.TrimSpace(strings.TrimSuffix(words(name), "seconds") + " time"), duration(time.Duration(v * 1e9))
	case strings.HasSuffix(name, "_ms"):
		return words(strings.TrimSuffix(name, "_ms")), trip(time.Duration(v * 1e6))
	}
	return words(name), decimal(v)
}
