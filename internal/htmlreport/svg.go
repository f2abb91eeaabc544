package htmlreport

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/stats"
)

// Pictures are SVG without a fixed width: positions along x are shares of it, and only the curves are stretched, so that text stays
// as large as the text around it. Colours are classes of the style sheet.

// svg collects the parts of a picture.
type svg struct{ strings.Builder }

func (s *svg) f(format string, args ...any) { fmt.Fprintf(&s.Builder, format, args...) }

// open begins a picture of a height, which the sentence describes to those who do not see it.
func (s *svg) open(class, sentence string, height int) {
	s.f(`<svg class="%s" role="img" aria-label="%s" width="100%%" height="%d">`, class, template.HTMLEscapeString(sentence), height)
}

func (s *svg) html() template.HTML {
	s.WriteString("</svg>")
	return template.HTML(s.String())
}

// short writes a coordinate.
func short(f float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", f), "0"), ".")
}

// steps returns a path of steps, one unit wide each except for the last, which ends at width, in a picture that is 100 high.
func steps(values []float64, width, most float64, decimals int) string {
	var b strings.Builder
	last := ""
	for i, v := range values {
		y := strconv.FormatFloat(100-100*v/most, 'f', decimals, 64)
		if i == 0 {
			b.WriteString("M0 " + y)
		} else if y != last {
			fmt.Fprintf(&b, "H%dV%s", i, y)
		}
		last = y
	}
	b.WriteString("H" + short(width))
	return b.String()
}

// round returns the distance of round numbers that divide most into at most n parts.
func round(most float64, n int) float64 {
	step := math.Pow(10, math.Floor(math.Log10(most/float64(n))))
	for _, m := range []float64{1, 2, 5, 10} {
		if step*m*float64(n) >= most {
			return step * m
		}
	}
	return step * 10
}

const quarter = 2190 * time.Hour // of a year

// clockSteps are the distances of times on an axis.
var clockSteps = []time.Duration{
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour, 168 * time.Hour, 720 * time.Hour,
	quarter, 4 * quarter, 8 * quarter, 20 * quarter, 40 * quarter, 100 * quarter, 240 * quarter, // clocks that jump
}

// times writes the axis of a time span: at most five times, of which none hangs over an edge.
func (s *svg) times(start time.Time, span time.Duration, top, y int) {
	if span <= 0 {
		return
	}
	step := clockSteps[len(clockSteps)-1]
	for _, c := range clockSteps {
		if span <= 5*c {
			step = c
			break
		}
	}
	layout := "15:04"
	switch {
	case step < time.Second:
		layout = "15:04:05.00"
	case step < time.Minute:
		layout = "15:04:05"
	case step >= quarter:
		layout = "Jan 2006"
	case step >= 24*time.Hour:
		layout = "02 Jan"
	}
	for t := start.UTC().Truncate(step); t.Before(start.Add(span)); t = t.Add(step) {
		x := 100 * float64(t.Sub(start)) / float64(span)
		if x < 4 || x > 96 {
			continue
		}
		s.f(`<line class="tick" x1="%[1]s%%" x2="%[1]s%%" y1="%[2]d" y2="%[3]d"/><text class="x" x="%[1]s%%" y="%[4]d">%[5]s</text>`,
			short(x), top, y-14, y, t.Format(layout))
	}
}

// A line is a series of the timeline.
type line struct {
	Key, Name, Class string
	Series           stats.Series
}

// group returns how many buckets a step of the curves has: so many that there are at most 250 steps, and that a step lasts a second
// unless the timeline is short.
func group(n int, width time.Duration) int {
	whole := time.Duration(n) * width
	return max(1, int((max(whole/250, min(time.Second, whole/40))+width-1)/width))
}

// sampled returns the rates per second of a series, averages of k buckets. The first and the last step count only the time that the
// capture covers.
func (p *page) sampled(s stats.Series, k int) (rates []float64) {
	t := &p.Timeline
	for i, end := 0, 0; i < len(s); i = end {
		if end = i + k; end+k/2 > len(s) {
			end = len(s) // a short rest belongs to the step before it
		}
		from, to := t.Start.Add(time.Duration(i)*t.Width), t.Start.Add(time.Duration(end)*t.Width)
		if from.Before(p.From) {
			from = p.From
		}
		if to.After(p.To) {
			to = p.To
		}
		rates = append(rates, float64(sum(s[i:end]))/max(t.Width, to.Sub(from)).Seconds())
	}
	return rates
}

// A mark is a time span of the timeline: when a verdict is about.
type mark struct {
	*stats.Verdict
	N        int
	From, To float64 // shares of the timeline
}

// curves draws lines over the timeline as they are printed and shown without scripts. The unit is that of the highest label.
func (p *page) curves(lines []line, height int, unit string, label func(float64) string, sentence string) template.HTML {
	t := &p.Timeline
	n := len(t.Requests)
	if n == 0 || t.Width <= 0 {
		return ""
	}
	const top, bottom = 14, 22
	k, most, rates := group(n, t.Width), 0.0, make([][]float64, len(lines))
	for i, l := range lines {
		rates[i] = p.sampled(l.Series, k)
		for _, v := range rates[i] {
			most = max(most, v)
		}
	}
	most = cmp.Or(most, 1)
	step := round(most, 4)
	most = step * math.Ceil(most/step)
	var s svg
	s.open("plot", sentence, top+height+bottom)
	p.lost(&s, top, height)
	s.times(t.Start, time.Duration(n)*t.Width, top, top+height+16)
	for v := 0.0; v <= most*1.001; v += step {
		y := float64(top) + float64(height)*(1-v/most)
		s.f(`<line class="grid" x2="100%%" y1="%[1]s" y2="%[1]s"/>`, short(y))
	}
	s.f(`<svg class="curves" y="%d" width="100%%" height="%d" viewBox="0 0 %s 100" preserveAspectRatio="none">`, top, height, short(float64(n)/float64(k)))
	for i, l := range lines {
		if sum(l.Series) == 0 {
			continue
		}
		path := steps(rates[i], float64(n)/float64(k), most, 1)
		if i == 0 {
			s.f(`<path class="%s area" d="%sV100H0Z"/>`, l.Class, path)
		}
		s.f(`<path class="%s" d="%s"/>`, l.Class, path)
	}
	s.WriteString("</svg>")
	for v := step; v <= most*1.001; v += step {
		text := label(v)
		if v+step > most*1.001 {
			text += unit
		}
		s.f(`<text class="y" x="2" y="%s">%s</text>`, short(float64(top)+float64(height)*(1-v/most)-3), text)
	}
	return s.html()
}

// losses returns the spans of buckets in which packets or state were lost. Gaps of less than a second do not count: what is lost is
// known by the second.
func (p *page) losses() [][2]int {
	spans, t := [][2]int{}, &p.Timeline
	for i, n := range t.Lost {
		if n == 0 {
			continue
		}
		if last := len(spans) - 1; last >= 0 && time.Duration(i-spans[last][1])*t.Width <= time.Second {
			spans[last][1] = i + 1
		} else {
			spans = append(spans, [2]int{i, i + 1})
		}
	}
	return spans
}

// lost shades where packets or state were lost.
func (p *page) lost(s *svg, top, height int) {
	n := float64(len(p.Timeline.Lost))
	for _, l := range p.losses() {
		s.f(`<rect class="lost" x="%s%%" width="%s%%" y="%d" height="%d"/>`, short(100*float64(l[0])/n), short(100*float64(l[1]-l[0])/n), top, height)
	}
}

// Spans draws when the verdicts are about: a bar for each, above the curves. The script moves them when a part is selected.
func (p *page) Spans() template.HTML {
	if len(p.Marks) == 0 {
		return ""
	}
	texts := nettext.Each(p.Marks, func(m mark) string { return p.markName(m) + ": " + p.span(m.Verdict.From, m.Verdict.To) })
	const row = 21
	var s svg
	s.open("plot spans", "The times of the verdicts. "+strings.Join(texts, "; ")+".", row*len(p.Marks)+4)
	for i, m := range p.Marks {
		x, end := m.From, ""
		if m.From > 0.55 {
			x, end = m.To, ` class="end"`
		}
		s.f(`<g data-a="%.3f" data-b="%.3f"><rect class="%s" rx="1.5" x="%s%%" width="%s%%" y="%d" height="4"/><text%s x="%s%%" y="%d">%s</text></g>`,
			ms(m.Verdict.From), ms(m.Verdict.To), explain(m.Kind).Tone, short(100*m.From), short(max(0.3, 100*(m.To-m.From))), row*i+15, end, short(100*x), row*i+11, template.HTMLEscapeString(p.markName(m)))
	}
	return s.html()
}

// markName names a verdict, with its number if there are several.
func (p *page) markName(m mark) string {
	name := safe(words(m.Kind))
	return nettext.Either(len(p.Verdicts) > 1, fmt.Sprintf("%d %s", m.N, name), name)
}

// Mini draws the requests with the time span of a verdict, if it has one.
func (p *page) Mini(number int) template.HTML {
	for _, m := range p.Marks {
		if m.N == number {
			n, series, what := float64(len(p.Timeline.Requests)), p.Timeline.Requests, "Requests"
			if m.Kind == stats.JunkFlood {
				series, what = p.Timeline.Unknown, "Datagrams that were not recognised"
			}
			return sparkWith(series, what, m.From*n, m.To*n)
		}
	}
	return ""
}

// spark draws a small curve of counts without axes; the sentence names the highest.
func spark(series []uint64, what string) template.HTML { return sparkWith(series, what, 0, 0) }

// sparkWith is spark with a span that is marked.
func sparkWith(series []uint64, what string, from, to float64) template.HTML {
	if len(series) < 2 || sum(series) == 0 {
		return ""
	}
	thin, k := thinned(series, 42)
	values, most := make([]float64, len(thin)), 0.0
	for i, v := range thin {
		values[i] = float64(v)
		most = max(most, values[i])
	}
	var s svg
	s.f(`<svg class="spark" role="img" aria-label="%s" viewBox="0 0 %d 100" preserveAspectRatio="none">`, template.HTMLEscapeString(sparkSentence(thin, what)), len(thin))
	if to > from {
		s.f(`<rect class="sel" x="%s" width="%s" height="100"/>`, short(from/k), short((to-from)/k))
	}
	s.f(`<path d="%sV100H0Z"/>`, steps(values, float64(len(values)), max(1, most), 0))
	return s.html()
}

// thinned adds k neighbours up so that at most n sums are left.
func thinned(series []uint64, n int) (sums []uint64, k float64) {
	each := (len(series) + n - 1) / n
	for len(series) >= each { // the last few would look like a drop
		sums, series = append(sums, sum(series[:each])), series[each:]
	}
	return sums, float64(each)
}

// sparkSentence says where a small curve is high.
func sparkSentence(series []uint64, what string) string {
	top, at, zero := uint64(0), 0, 0
	for i, v := range series {
		if v > top {
			top, at = v, i
		}
		if v == 0 {
			zero++
		}
	}
	return fmt.Sprintf("%s in %d intervals: at most %s, in interval %d; none in %d of them.", what, len(series), number(top), at+1, zero)
}

// A piece is a part of a bar.
type piece struct {
	Class string
	N     uint64
}

// bar draws the pieces of a whole side by side. The text beside it has the numbers.
func bar(whole uint64, pieces ...piece) template.HTML {
	if whole == 0 {
		return ""
	}
	var s svg
	s.f(`<svg class="bar" aria-hidden="true">`)
	x := 0.0
	for _, p := range pieces {
		w := 100 * float64(p.N) / float64(whole)
		if p.N > 0 {
			s.f(`<rect class="%s" x="%s%%" width="%s%%" height="100%%"/>`, p.Class, short(x), short(w))
		}
		x += w
	}
	return s.html()
}

// outcome draws what became of requests.
func outcome(o stats.Outcome) template.HTML {
	return bar(total(o), piece{"b-ok", o.Answered}, piece{"b-part", o.Late + o.Partial}, piece{"b-chal", o.ChallengeOnly}, piece{"b-other", o.Other}, piece{"b-no", o.Refused + o.Unanswered})
}

func total(o stats.Outcome) uint64 {
	return o.Answered + o.ChallengeOnly + o.Late + o.Partial + o.Refused + o.Unanswered + o.Other
}

// outcomeText says what became of requests.
func outcomeText(o stats.Outcome) string {
	all := total(o)
	var parts []string
	for _, x := range []struct {
		n    uint64
		text string
	}{
		{o.Answered, "answered"}, {o.Late, "answered late"}, {o.Partial, "answered in part"}, {o.ChallengeOnly, "challenge only"},
		{o.Refused, "refused (ICMP)"}, {o.Unanswered, "unanswered"}, {o.Other, "repeated or open"},
	} {
		if x.n > 0 {
			parts = append(parts, share(x.n, all)+" "+x.text)
		}
	}
	return strings.Join(parts, " · ")
}

const heatLevels = 5

// heat draws round trips as a map of time × duration, one path for each of five levels.
func (p *page) heat(sentence string) template.HTML {
	r := &p.RoundTrips
	low, high, most := p.heatRows()
	if most == 0 || r.ColumnWidth <= 0 {
		return ""
	}
	rows := high - low + 1
	const top, bottom = 6, 22
	height := min(260, max(180, rows*13))
	var s svg
	s.open("plot heat", sentence, top+height+bottom)
	s.f(`<rect class="field" y="%d" width="100%%" height="%d"/>`, top, height)
	s.f(`<svg id="heat" class="cells" y="%d" width="100%%" height="%d" viewBox="0 0 %d %d" preserveAspectRatio="none">`, top, height, len(r.Heat), rows)
	var paths [heatLevels]strings.Builder
	for row := low; row <= high; row++ {
		for c := 0; c < len(r.Heat); {
			level, first := p.level(c, row, most), c
			for c < len(r.Heat) && p.level(c, row, most) == level {
				c++
			}
			if level > 0 {
				fmt.Fprintf(&paths[level-1], "M%d %dh%dv1h-%[3]dz", first, high-row, c-first)
			}
		}
	}
	for i := range paths {
		if paths[i].Len() > 0 {
			s.f(`<path class="h%d" d="%s"/>`, i+1, paths[i].String())
		}
	}
	s.WriteString("</svg>")
	y := func(d time.Duration) float64 { return float64(top) + float64(height)*(1-p.heatAt(d, low, high)) }
	for d := time.Microsecond; d <= 1000*time.Second; d *= 10 {
		if at := p.heatAt(d, low, high); at > 0.02 && at < 0.97 {
			s.f(`<line class="grid" x2="100%%" y1="%[1]s" y2="%[1]s"/><text class="y" x="2" y="%[2]s">%[3]s</text>`, short(y(d)), short(y(d)-3), duration(d))
		}
	}
	last := math.Inf(1)
	for _, q := range []struct {
		name string
		d    time.Duration
	}{{"half", r.P50}, {"99" + thin + "%", r.P99}} {
		if q.d <= 0 {
			continue
		}
		at := y(q.d)
		s.f(`<line class="halo" x2="100%%" y1="%[1]s" y2="%[1]s"/><line class="p" x2="100%%" y1="%[1]s" y2="%[1]s"/>`, short(at))
		text := min(at-4, last-14)
		s.f(`<text class="y end" x="99.6%%" y="%s">%s within %s</text>`, short(max(text, top+11)), q.name, duration(q.d))
		last = text
	}
	s.f(`<g id="heat-x">`)
	s.times(p.heatStart(), time.Duration(len(r.Heat))*r.ColumnWidth, top, top+height+16)
	s.WriteString("</g>")
	return s.html()
}

// level returns the shade of a cell, 0 if it is empty.
func (p *page) level(column, row int, most uint64) int {
	c := p.RoundTrips.Heat[column]
	if row >= len(c) || c[row] == 0 {
		return 0
	}
	return 1 + min(heatLevels-1, int(heatLevels*math.Log(float64(c[row]))/math.Log(float64(most+1))))
}

// heatSteps returns the least number of replies of each level.
func heatSteps(most uint64) (least [heatLevels]uint64) {
	for i := range least {
		least[i] = uint64(math.Ceil(math.Pow(float64(most+1), float64(i)/heatLevels) - 1e-9))
	}
	return least
}

// heatStart is the time of the first column.
func (p *page) heatStart() time.Time {
	return nettext.Either(p.RoundTrips.Start.IsZero(), p.Timeline.Start, p.RoundTrips.Start)
}

// heatRows returns the rows between which all cells with replies lie, at least a few, and the highest count.
func (p *page) heatRows() (low, high int, most uint64) {
	n := len(p.RoundTrips.Bounds)
	low, high = n, -1
	for _, column := range p.RoundTrips.Heat {
		for row, c := range column[:min(n, len(column))] {
			if c > 0 {
				low, high, most = min(low, row), max(high, row), max(most, c)
			}
		}
	}
	if most == 0 || n < 2 {
		return 0, 0, 0
	}
	for high-low < min(n-1, 11) { // one empty row at each end and more if there are few
		low, high = max(0, low-1), min(n-1, high+1)
	}
	return low, high, most
}

// heatAt returns how high a duration lies among the rows, as a share.
func (p *page) heatAt(d time.Duration, low, high int) float64 {
	b := p.RoundTrips.Bounds
	below := float64(b[0]) * float64(b[0]) / float64(b[1])
	for row := range b {
		if d <= b[row] || row == len(b)-1 {
			above, in := float64(b[row]), 1.0
			if row == len(b)-1 && row > 1 { // it has no bound: drawn as wide as the one before
				above = below * below / float64(b[row-2])
			}
			if below > 0 && above > below {
				in = min(1, math.Log(float64(d)/below)/math.Log(above/below))
			}
			return (float64(row-low) + in) / float64(high-low+1)
		}
		below = float64(b[row])
	}
	return 0
}
