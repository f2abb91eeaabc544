package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/nettext"
)

// The size of the text form.
const (
	textWidth = 80
	textLines = 40
)

// Unusual reports whether there is more to say than that nothing is unusual, or that nothing can be told of all.
func (r *Report) Unusual() bool {
	return slices.ContainsFunc(r.Verdicts, func(v Verdict) bool { return v.Unusual() || v.Server != "" })
}

// Unusual reports whether a verdict says more than that nothing is unusual, or that nothing can be told.
func (v *Verdict) Unusual() bool { return v.Kind != NothingUnusual && v.Kind != CannotTell }

// AppendWhole appends the report with all rows and whole lines, the verdict first.
func (r *Report) AppendWhole(dst []byte) []byte {
	t := text{Report: r, rows: math.MaxInt, whole: true}
	t.all()
	return append(dst, t.b.String()...)
}

// AppendText appends the report for a terminal, the verdict first: at most 40 lines of 80 columns, less those that are
// wanted for something else.
func (r *Report) AppendText(dst []byte, less int) []byte {
	fewest, hint := 1, "--all"
	if less > 0 {
		fewest, hint = 2, "qdissect report"
	}
	for rows := 6; ; rows-- {
		t := text{Report: r, rows: rows, hint: hint}
		t.all()
		if lines := strings.Count(t.b.String(), "\n"); lines <= textLines-less || rows <= fewest && lines <= textLines || rows == 1 {
			return append(dst, t.b.String()...)
		}
	}
}

// A text is a report that is being written. rows is the number of rows of each table.
type text struct {
	*Report
	b     strings.Builder
	rows  int
	whole bool
	hint  string // what shows the rest
}

func (t *text) all() {
	t.verdicts()
	t.overview()
	t.kinds()
	t.clients()
	t.serverRows()
	t.limits()
	t.findings()
}

func (t *text) line(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	s = either(t.whole, s, fit(s, textWidth))
	t.b.WriteString(strings.TrimRight(s, " ") + "\n")
}

// fit cuts a text after some columns.
func fit(s string, columns int) string {
	if utf8.RuneCountInString(s) <= columns {
		return s
	}
	r := []rune(s)[:columns]
	n := columns - 1
	for i := n - 1; i >= max(0, n-longestEscape); i-- {
		if r[i] != '\\' {
			continue
		}
		if i > 0 && r[i-1] == '\\' {
			i--
		}
		if size := map[rune]int{'x': 4, 'u': 6, 'U': 10}[r[i+1]]; i+max(size, 2) > n {
			n = i // not within an escape
		}
		break
	}
	return string(r[:n]) + "…"
}

// table writes the first of n rows, if there are any, below a head, and how many are left out.
func (t *text) table(n int, row func(i int), format string, head ...any) {
	if n == 0 {
		return
	}
	t.line("")
	t.line(format, head...)
	for i := range min(n, t.rows) {
		row(i)
	}
	if left := n - t.rows; left > 0 {
		t.line("%d more, %s", left, t.hint)
	}
}

// ends cuts an address that is too long for its column, unless all is wanted.
func (t *text) ends(s string) string { return either(t.whole, s, ends(s, 22)) }

// ends cuts a text in its middle: servers of a network differ in their ends.
func ends(s string, columns int) string {
	n := utf8.RuneCountInString(s)
	if n <= columns {
		return s
	}
	r, last := []rune(s), columns*2/3
	return string(r[:columns-last-1]) + "…" + string(r[n-last:])
}

// longestEscape is the length of the longest escape, as \U0001f600.
const longestEscape = 10

// units stand after numbers, and stay with them.
var units = []string{"%", "ms", "s", "min", "h", "kB", "MB", "GB", "bytes", "times"}

// words returns the words of a text. A number and its unit are one.
func words(s string) (list []string) {
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' }) {
		n := len(list) - 1
		if n >= 0 && strings.ContainsAny(list[n][len(list[n])-1:], "0123456789") && slices.Contains(units, strings.TrimRight(w, ",.;:)")) {
			list[n] += " " + w
			continue
		}
		list = append(list, w)
	}
	return list
}

// wrapped writes a text in lines, the first with a mark.
func (t *text) wrapped(mark, s string) {
	t.b.WriteString(mark)
	nettext.Wrap(&t.b, words(s), textWidth, strings.Repeat(" ", utf8.RuneCountInString(mark)))
}

func (t *text) verdicts() {
	advised := map[string]bool{}
	list := t.told()
	shown := min(len(list)-1, t.rows, mostVerdicts-1) + 1
	for i, v := range list[:shown] {
		t.wrapped("* ", v.Text)
		if !advised[v.Advice] && (i == 0 || t.rows > 2) {
			t.wrapped("  > ", v.Advice)
			advised[v.Advice] = true
		}
	}
	if n := t.Totals.Verdicts - len(t.Verdicts) - len(t.others) + len(list) - shown; n > 0 {
		t.wrapped("* ", t.rest(list[shown:], n))
	}
	if t.rows > 1 {
		for _, s := range t.Unclear {
			t.wrapped("  ! ", s)
		}
	}
}

// told returns the verdicts, with the outages of a server, servers in one trouble with masters, or the floods of one kind at a server or at the same time, in one sentence if they are many.
func (t *text) told() (list []Verdict) {
	for left := slices.Concat(t.Verdicts, t.others); len(left) > 0; {
		v, flood := left[0], left[0].Kind == ForgedFlood || left[0].Kind == CrowdOrForged
		left = slices.DeleteFunc(left[1:], func(o Verdict) bool {
			return strings.HasPrefix(v.also, soWithMost) && strings.HasPrefix(o.also, soWithMost) && o.Kind == v.Kind && o.during(&v)
		})
		for _, here := range []bool{true, false} { // outages are in their order, and of floods the largest is first
			fits := func(o Verdict) bool {
				return o.Kind == v.Kind && o.of == v.of && o.Network == v.Network && o.Certainty == v.Certainty && (o.Server == v.Server) == here && (here || o.during(&v)) && (o.Kind != NotListed || o.Advice == v.Advice)
			}
			same := slices.DeleteFunc(slices.Clone(left), func(o Verdict) bool { return !fits(o) })
			n := len(same)
			if n < 3 || !flood && (v.of != outage || !here) && (v.Kind != NotListed || here) {
				continue
			}
			left = slices.DeleteFunc(left, fits)
			sum := number(nearest(totalOf(same, func(v Verdict) float64 { return v.Evidence.of("requests") })))
			from, to := slices.MinFunc(same, func(a, b Verdict) int { return a.From.Compare(b.From) }).From, slices.MaxFunc(same, func(a, b Verdict) int { return a.To.Compare(b.To) }).To
			more := either(v.of == outage, ", the last from "+t.clock(same[n-1].From.UnixNano())+" to "+t.clock(to.UnixNano()), " between "+t.clock(from.UnixNano())+" and "+t.clock(to.UnixNano())+", with "+sum+" requests together")
			often := every(append(same, v))
			often += either(often != "" && flood, ",", "")
			v.Text += either(v.Kind == NotListed, fmt.Sprintf(" So it is with %d more servers.", n), fmt.Sprintf(either(here, " It happened %d more times"+often, " %d more servers had one")+"%s.", n, more))
		}
		list = append(list, v)
	}
	return list
}

// every says how long after each other things begin, nothing unless that is always about as long.
func every(list []Verdict) string {
	from, n := nettext.Each(list, func(v Verdict) int64 { return v.From.UnixNano() }), int64(len(list)-1)
	slices.Sort(from)
	gap := max((from[n]-from[0])/max(n, 1), 1)
	if n < 3 || slices.ContainsFunc(from, func(t int64) bool {
		off := (t - from[0] + gap/2) % gap // from where it would begin, and a half
		return max(gap/2-off, off-gap/2) > gap/10
	}) {
		return ""
	}
	return ", about every " + duration(time.Duration(gap).Round(time.Second))
}

// rest names verdicts, the first of n.
func (t *text) rest(list []Verdict, n int) string {
	const most = 4
	var names []string
	for _, v := range list[:min(len(list), most)] {
		title, _, _ := strings.Cut(v.Text, ":")
		title, _, _ = strings.Cut(title, " at ")
		who := cmp.Or(either(v.Kind == Reflection, "", v.Server), v.Network, strings.Join(v.Sources, ", "), v.Server) // the victim
		title += either(!strings.Contains(title, who), " "+who, "")
		names = append(names, title)
	}
	if left := n - len(names); left > 0 {
		names = append(names, fmt.Sprintf("and %d others", left))
	}
	return either(len(list) == 0, fmt.Sprintf("And %d more that are no worse.", n), fmt.Sprintf("And %d more%s: %s.", n, either(t.hint == "", "", ", "+t.hint), strings.Join(names, "; ")))
}

// sparks are the levels of a sparkline.
var sparks = []rune("▁▂▃▄▅▆▇█")

// Spark draws a series in a number of columns.
func Spark(s Series, columns int) string {
	if len(s) == 0 {
		return strings.Repeat(" ", columns)
	}
	sums := make([]uint64, min(columns, len(s)))
	for k := range sums {
		from, to := k*len(s)/len(sums), (k+1)*len(s)/len(sums)
		for _, n := range s[from:to] {
			sums[k] += n
		}
		const scale = 1000 // columns may stand for one bucket more than others
		sums[k] = sums[k] * scale / uint64(to-from)
	}
	top := slices.Max(sums)
	b := []rune(strings.Repeat(" ", columns))
	for k, n := range sums {
		if n > 0 {
			b[k] = sparks[n*uint64(len(sparks)-1)/top]
		}
	}
	return string(b)
}

// sparkWidth is the number of columns of sparklines in tables.
const sparkWidth = 20

func (t *text) overview() {
	tt, l := &t.Totals, &t.Timeline
	if t.From.IsZero() {
		return
	}
	t.line("")
	t.line("%s to %s, %s, %s packets", t.From.Format("2006-01-02 15:04:05"), t.clock(t.To.UnixNano()), duration(t.To.Sub(t.From)), number(tt.Packets))
	const columns = 44
	seconds := max(t.To.Sub(t.From).Seconds(), 1)
	row := func(name string, s Series, n uint64, more string) {
		if n > 0 {
			t.line("%-11s %s %s%s", name, Spark(s, columns), number(n), more)
		}
	}
	bound := either(l.Width > 1e9, "≤ ", "")
	row("requests", l.Requests, tt.Requests, fmt.Sprintf(", peak %s%s/s", bound, number(l.Peak)))
	row("replies", l.Replies, tt.Replies, fmt.Sprintf(", %s/s", rounded(float64(tt.Replies)/seconds)))
	row("challenges", l.Challenges, tt.Challenges, "")
	row("unanswered", l.Unanswered, tt.Unanswered, "")
	row("unknown", l.Unknown, tt.Unknown, "")
	row("bytes in", l.BytesIn, tt.BytesIn, "")
	row("bytes out", l.BytesOut, tt.BytesOut, "")
	if tt.KernelLost+tt.Evicted > 0 {
		row("lost", l.Lost, tt.KernelLost+tt.Evicted, "")
	}
}

func share(n, of uint64) string { return either(of == 0, "", percent(float64(n)/float64(max(of, 1)))) }

func (t *text) kinds() {
	t.table(len(t.Kinds), func(i int) {
		k := &t.Kinds[i]
		name := k.Protocol + " " + k.Title // a long one takes of the next column
		t.line("%-31s %*s %7s %8s  %s", name, 10-min(max(len(name)-31, 0), 9), number(k.Requests), share(k.Requests, t.Totals.Requests),
			k.Outcome.RepliedShare(k.Requests), Spark(k.Spark, sparkWidth-1))
	}, "%-31s %10s %7s %8s  %s", "KINDS OF REQUESTS", "requests", "share", "replied", "over time")
}

func (t *text) clients() {
	t.table(len(t.Clients), func(i int) {
		c := &t.Clients[i]
		t.line("%-22s %10s %7s %7d %8s  %s", t.ends(c.Address), number(c.Requests), share(c.Requests, t.Totals.Requests), c.Peak, decimals(c.Factor), t.Does(c))
	}, "%-22s %10s %7s %7s %8s  %s", "TOP SOURCES", "requests", "share", "peak/s", "out ÷ in", "what it does")
}

// Does says what a client does, in words.
func (r *Report) Does(c *Client) string {
	switch {
	case slices.ContainsFunc(r.Victims, func(v Client) bool { return v.Address == c.Address }):
		return "victim of reflection"
	case c.Class == TooOften:
		return "asks too often"
	case c.Class == NeverFinished:
		return "never finishes"
	case c.Servers > 50:
		return "asks many servers"
	case c.Replies == 0:
		return "gets no reply"
	}
	return "finishes"
}

func (t *text) serverRows() {
	t.table(len(t.Servers), func(i int) {
		s := &t.Servers[i]
		p50, factor := "", ""
		if s.P50 > 0 {
			p50 = duration(s.P50)
		}
		if s.BytesIn > 0 {
			factor = decimals(float64(s.BytesOut) / float64(s.BytesIn))
		}
		t.line("%-22s %10s %8s %8s %8s %8s  %s", t.ends(s.Address), number(s.Requests), s.Outcome.RepliedShare(s.Requests),
			number(s.Clients.Count), p50, factor, shown([]byte(s.Name)))
	}, "%-22s %10s %8s %8s %8s %8s  %s", "TOP SERVERS", "requests", "replied", "clients", "p50", "out ÷ in", "name")
	if n := t.Totals.Servers; len(t.Servers) > 0 && t.rows >= len(t.Servers) && n > uint64(len(t.Servers)) {
		t.line("and %s more", number(n-uint64(len(t.Servers))))
	}
}

// shown makes text from the network safe for a terminal.
func shown(s []byte) string { return string(nettext.AppendSafe(nil, s)) }

func (t *text) limits() {
	var best []string
	for _, r := range t.Rules {
		if r.Format == "nftables" {
			title := r.Title
			if t.rows > 1 { // else there is no room
				title += ": would have dropped " + r.Drops
			}
			best = append(best, title+".")
		}
	}
	if len(best) == 0 {
		return
	}
	t.line("")
	t.line("WHAT WOULD HAVE STOPPED IT (rules to paste: qdissect rules FILE)")
	for _, s := range best {
		t.wrapped("  ", s)
	}
}

func (t *text) findings() {
	t.table(len(t.Findings), func(i int) {
		f := &t.Findings[i]
		t.line("%-30s %10s  %s", f.ID, number(f.Count), f.Text)
	}, "%-30s %10s  %s", "FINDINGS", "count", "first")
}

// Numbers in sentences.

// number writes a number with commas.
func number(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func count(n uint64, one, many string) string { return number(n) + " " + either(n == 1, one, many) }

func were(n uint64) string { return either(n == 1, "was", "were") }

// either returns one of two values: the first if something is so.
func either[T any](is bool, yes, no T) T { return nettext.Either(is, yes, no) }

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
func rounded(v float64) string { return either(v < 10, decimals(v), number(nearest(v))) }

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

// clock writes a time, with its date if the capture is longer than a day.
func (r *Report) clock(t int64) string {
	return instant(t).Format(either(r.To.Sub(r.From) < day, "15:04:05", "2006-01-02 15:04:05")) + " UTC"
}

// many returns what several requests of a kind are called.
func (k *kind) many() string { return k.protocol + " " + plural(k.title()) }

// plural returns the plural of the title of a request.
func plural(title string) string {
	return title + either(strings.HasSuffix(title, "request"), "s", " requests")
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

// trueFirst orders what is true before the rest.
var trueFirst = map[bool]int{false: 1}

// less returns a - b, or 0 if that is less.
func less[N uint32 | uint64 | float64](a, b N) N { return a - min(a, b) }

// nearest returns the number nearest to one that is not negative.
func nearest(v float64) uint64 { return uint64(v + 0.5) }
