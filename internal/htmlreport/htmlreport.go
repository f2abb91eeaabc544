// Package htmlreport writes a report as a page: one HTML file that needs no network, no server and no other file.
//
// The page runs under a policy (CSP) that allows the two scripts and the style sheet of this package by their hashes and nothing
// else. Text from the network is escaped as in text output and then by html/template; scripts only ever set it as text.
package htmlreport

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed" // for the parts of the page
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/stats"
)

var (
	//go:embed page.tmpl
	pageTemplate string
	//go:embed page.css
	ownStyle string
	//go:embed page.js
	ownScript string
	//go:embed live.js
	liveScript string
	//go:embed uplot/uPlot.iife.min.js
	chartScript string
	//go:embed uplot/uPlot.min.css
	chartStyle string
	//go:embed uplot/LICENSE
	chartLicence string
	//go:embed verdicts.json
	verdictTexts []byte
)

// MaxServers is how many servers a page can list.
const MaxServers = 2000

// Tables and lists show at most this many rows at first, findings and requests so many types.
const (
	maxRows     = 20
	maxFindings = 25
	maxKinds    = 14
)

// maxPage is the size that a page should not exceed: with fewer conversations if need be. Each server that the script adds may have restBytes.
const (
	maxPage   = 490_000
	restBytes = 250
)

// Write writes r as a page. One with Made.Every reads itself again, unless somebody works with it; one with Made.Live when its server
// says so, and keeps what is chosen.
func Write(w io.Writer, r *stats.Report) error {
	var b bytes.Buffer
	for room := ladderBytes; ; room /= 2 {
		p := newPage(r, room)
		b.Reset()
		if err := p.write(&b); err != nil {
			return err
		}
		if b.Len() <= maxPage+len(p.Rest)*restBytes || len(p.Ladders) == 0 {
			break
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// WriteTalk writes a conversation as a page of its own.
func WriteTalk(w io.Writer, t *stats.Talk) error {
	p := newPage(&stats.Report{Talks: []stats.Talk{*t}}, talkBytes)
	p.Alone = true
	return p.write(w)
}

func (p *page) write(w io.Writer) error {
	t, err := template.New("page").Funcs(p.funcs()).Parse(pageTemplate)
	if err != nil {
		return err
	}
	return t.Execute(w, p)
}

// Policy says what the page's scripts and styles are, as in the policies (CSP) of pages that hold it in a frame.
func Policy() (script, style string) {
	return Hash(chartScript) + " " + Hash(ownScript), Hash(chartStyle + ownStyle)
}

// A page is what the template shows.
type page struct {
	*stats.Report
	Policy               string
	Style                template.CSS
	Chart, Script, Data  template.JS
	Live                 template.JS // of a page that is served
	Marks                []mark
	Messages, Volume     []line
	Ladders              []ladder
	LaddersLeft          int
	Rest                 []stats.Server // which the script adds to the table of servers
	ServersLeft, AskLeft int
	KindsLeft            int
	FindingsLeft         int
	AllFindings          uint64
	Alone                bool // only the conversation
}

func newPage(r *stats.Report, room int) *page {
	c := *r
	p := &page{Report: &c, Style: template.CSS(chartStyle + ownStyle), Chart: template.JS(chartScript), Script: template.JS(ownScript)}
	script, style := Policy()
	p.Policy = "default-src 'none'; script-src " + script + "; style-src " + style + "; img-src data:; base-uri 'none'; form-action 'none'"
	if r.Made.Live {
		p.Live = template.JS(liveScript)
		p.Policy = strings.Replace(p.Policy, "script-src", "script-src "+Hash(liveScript), 1) + "; connect-src 'self'"
	}
	p.ServersLeft, p.AskLeft = max(0, int(c.Totals.Servers)-len(c.Servers)), max(0, len(c.Clients)-maxRows)
	c.Servers, p.Rest = c.Servers[:min(maxRows, len(c.Servers))], c.Servers[min(maxRows, len(c.Servers)):]
	c.Clients = c.Clients[:min(maxRows, len(c.Clients))]
	c.Victims = c.Victims[:min(maxRows, len(c.Victims))]
	for _, f := range c.Findings {
		p.AllFindings += f.Count
	}
	p.KindsLeft = max(0, len(c.Kinds)-maxKinds)
	c.Kinds = c.Kinds[:min(maxKinds, len(c.Kinds))]
	p.FindingsLeft = max(0, len(c.Findings)-maxFindings)
	c.Findings = c.Findings[:min(maxFindings, len(c.Findings))]
	t := &c.Timeline
	p.Messages = []line{
		{"requests", "Requests", "c-req", t.Requests},
		{"replies", "Replies", "c-rep", t.Replies},
		{"challenges", "of these, challenges", "c-chal", t.Challenges},
		{"unanswered", "Unanswered requests", "c-un", t.Unanswered},
		{"unknown", "Not recognised", "c-unk", t.Unknown},
	}
	p.Volume = []line{{"bytes_in", "In: to the servers", "c-req", t.BytesIn}, {"bytes_out", "Out: from the servers", "c-rep", t.BytesOut}}
	if whole := time.Duration(len(t.Requests)) * t.Width; whole > 0 {
		for i := range c.Verdicts {
			v := &c.Verdicts[i]
			from, to := float64(v.From.Sub(t.Start))/float64(whole), float64(v.To.Sub(t.Start))/float64(whole)
			if from = max(0, from); p.Between(*v) && to > from {
				p.Marks = append(p.Marks, mark{v, i + 1, from, min(1, to)})
			}
		}
	}
	talks := p.climb(room)
	data, err := json.Marshal(p.data(talks))
	if err != nil {
		panic(err) // integers and strings only
	}
	p.Data = template.JS(data)
	return p
}

// Hash returns the source of a policy (CSP) that a script or a style is.
func Hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// data is what the script reads. Times are milliseconds since the epoch.
type data struct {
	Start     float64          `json:"t0"`
	Width     float64          `json:"w"`
	From      float64          `json:"from"` // of the capture
	To        float64          `json:"to"`
	Series    [][]uint64       `json:"s"`    // messages, volume
	Lost      [][2]int         `json:"lost"` // in buckets
	Per       int              `json:"per"`
	Intervals int              `json:"n"`
	First     float64          `json:"i0"`    // start of the first interval
	Heat      [2]float64       `json:"heat"`  // start and width of a column
	Rows      map[string][]any `json:"rows"`  // a row, or for victims the number of the client
	Rest      [][]any          `json:"rest"`  // of the servers: their cells
	Steps     []float64        `json:"steps"` // distances of times on an axis
	Talks     [][]message      `json:"talks"`
}

// A row has requests, replies, unanswered, bytes in and bytes out by interval.
type row [5][]uint64

func (p *page) data(talks [][]message) data {
	t := &p.Timeline
	d := data{
		Start: ms(t.Start), Width: float64(t.Width) / 1e6, Per: 1, Intervals: t.Intervals, First: ms(t.Start), From: ms(p.From), To: ms(p.To), Lost: p.losses(),
		Heat: [2]float64{ms(p.heatStart()), float64(p.RoundTrips.ColumnWidth) / 1e6},
		Rows: map[string][]any{}, Rest: [][]any{}, Talks: talks,
	}
	if t.Width > 0 && t.IntervalWidth > t.Width {
		d.Per = int(t.IntervalWidth / t.Width)
	}
	d.Series = nettext.Each(slices.Concat(p.Messages, p.Volume), func(l line) []uint64 { return l.Series })
	d.Steps = nettext.Each(clockSteps, func(c time.Duration) float64 { return float64(c) / 1e6 })
	if !t.IntervalStart.IsZero() {
		d.First = ms(t.IntervalStart)
	}
	for _, s := range p.Servers {
		d.Rows["servers"] = append(d.Rows["servers"], turned(s.ByInterval))
	}
	for _, s := range p.Rest {
		d.Rest = append(d.Rest, []any{
			safe(s.Address), cut(s.Name, 64), safe(s.Protocol), s.Requests, s.Replies, s.Outcome.Unanswered + s.Outcome.Refused, s.BytesIn, s.BytesOut, s.Clients.Count,
			s.P50, trip(s.P50), outcomeText(s.Outcome),
		})
	}
	for _, c := range p.Clients {
		d.Rows["clients"] = append(d.Rows["clients"], turned(c.ByInterval))
	}
	for _, c := range p.Victims {
		if i := slices.IndexFunc(p.Clients, func(o stats.Client) bool { return o.Address == c.Address }); i >= 0 {
			d.Rows["victims"] = append(d.Rows["victims"], i)
		} else {
			d.Rows["victims"] = append(d.Rows["victims"], turned(c.ByInterval))
		}
	}
	return d
}

func ms(t time.Time) float64 {
	return nettext.Either(t.IsZero(), 0, float64(t.UnixMicro())/1000)
}

// turned returns the columns of cells.
func turned(cells []stats.Cell) (r row) {
	for _, c := range cells {
		for i, v := range [...]uint64{c.Requests, c.Replies, c.Unanswered, c.BytesIn, c.BytesOut} {
			r[i] = append(r[i], v)
		}
	}
	return r
}

// A plain explains a kind of verdict to people who do not know the protocols.
type plain struct {
	Head, Means, Server, Sources, Tone string
	Rules                              bool // help against it
}

// plains returns the explanations by kind of verdict.
var plains = sync.OnceValue(func() (m map[string]plain) {
	if err := json.Unmarshal(verdictTexts, &m); err != nil {
		panic(err)
	}
	return m
})

func explain(kind string) plain {
	if p, ok := plains()[kind]; ok {
		return p
	}
	return plain{safe(words(kind)), "", "Server", "Sources", "unsure", false}
}

func (p *page) funcs() template.FuncMap {
	return template.FuncMap{
		"number": number, "size": size, "share": share, "factor": factor, "duration": duration, "trip": trip, "day": day, "clock": clock,
		"span": p.span, "safe": safe, "phrase": phrase, "escaped": escaped, "code": code, "oneLine": oneLine, "explain": explain, "words": words,
		"evidence": func(n stats.Number) []string { l, v := evidence(n.Name, n.Value); return []string{safe(l), v} },
		"spark":    spark, "outcome": outcome, "outcomeText": outcomeText, "bar": bar, "total": total,
		"legend": func(of string, lines []line) any {
			return struct {
				Of    string
				Lines []line
			}{of, lines}
		},
		"piece": func(class string, n uint64) piece { return piece{class, n} },
		"sum":   sum, "ms": ms,
		"cells": cells, "plural": plural, "severity": severity, "add": func(a, b uint64) uint64 { return a + b },
		"rows":  func() int { return maxRows },
		"u64":   func(n int) uint64 { return uint64(max(0, n)) },
		"drop":  func(class string, n, of uint64) dropped { return dropped{class, n, of} },
		"table": table,
		"inc":   func(i int) int { return i + 1 }, "ratio": ratio, "host": host, "lines": func(s string) []string { return strings.Split(s, "\n") },
	}
}

func sum(s []uint64) uint64 { return nettext.Sum(s, func(v uint64) uint64 { return v }) }

// ratio returns the factor of two byte counts.
func ratio(out, in uint64) string { return factor(float64(out) / float64(in)) }

// host divides an address and its port, so that lines break between them.
func host(address string) []string {
	a := cut(address, 64)
	if i := strings.LastIndexByte(a, ':'); i > 0 && (strings.Count(a, ":") == 1 || strings.Contains(a, "]:")) {
		return []string{a[:i], a[i:]}
	}
	return []string{a, ""}
}

// cells returns one column of a table by interval.
func cells(c []stats.Cell, column int) []uint64 { return turned(c)[column] }

// Class says what a client does, with an icon. That it never finishes is bad only if there is a flood or a victim.
func (t askers) Class(c stats.Client) []string {
	switch {
	case c.Class == stats.Finished && t.of.Replies == 0:
		return []string{"unsure", "cannot tell"}
	case c.Class == stats.Finished:
		return []string{"good", "behaves"}
	case c.Class == stats.TooOften:
		return []string{"warn", "asks too often"}
	case c.Class == stats.NeverFinished && t.of.NeverFinished > 0:
		return []string{"bad", "never finishes"}
	case c.Class == stats.NeverFinished:
		return []string{"unsure", "never finishes"}
	}
	return []string{"unsure", safe(words(string(c.Class)))}
}

// severity returns the icon of a severity.
func severity(s string) string {
	return cmp.Or(map[string]string{"error": "bad", "warning": "warn"}[s], "unsure")
}

// dropped is a share of requests that a limit drops.
type dropped struct {
	Class string
	N, Of uint64
}

// askers is a table of clients, ordered by column By; its small curves are of column Spark.
type askers struct {
	Name, What string
	By, Spark  int
	Rows       []stats.Client
	of         *stats.Totals
}

// ClientTable has the busiest clients, VictimTable those that get the most.
func (p *page) ClientTable() askers { return askers{"clients", "Requests", 0, 0, p.Clients, &p.Totals} }
func (p *page) VictimTable() askers {
	return askers{"victims", "Bytes to it", 4, 4, p.Victims, &p.Totals}
}

// limitTable is a table of limits.
type limitTable struct {
	*stats.Limits
	Rows []stats.Limit
}

// Shares says what the shares of the table are of.
func (t limitTable) Shares() string {
	var of []string
	for _, c := range []struct {
		n   uint64
		who string
	}{{t.Forged, "from addresses that never finish a query"}, {t.Greedy, "from clients that ask too often"}, {t.Honest, "from clients that behave"}} {
		if c.n > 0 {
			of = append(of, plural(int(c.n), "request")+" "+c.who)
		}
	}
	return "Shares of " + listed(of) + "."
}

// listed returns a list as a sentence has it: a, b, and c.
func listed(list []string) string {
	if n := len(list); n > 1 {
		list[n-1] = "and " + list[n-1]
	}
	return strings.Join(list, map[bool]string{true: ", ", false: " "}[len(list) > 2])
}

// PerAddressTable and GlobalTable have the limits of either kind.
func (p *page) PerAddressTable() limitTable { return limitTable{&p.Limits, p.Limits.PerAddress} }
func (p *page) GlobalTable() limitTable     { return limitTable{&p.Limits, p.Limits.Global} }

// Between reports whether a verdict is about a part of the time.
func (p *page) Between(v stats.Verdict) bool {
	return !v.From.IsZero() && v.To.After(v.From) && v.To.Sub(v.From) < p.To.Sub(p.From)*97/100
}

// NameOf returns the name that the server at an address stated, or "".
func (p *page) NameOf(address string) string {
	if i := p.row(address); i >= 0 {
		return p.Servers[i].Name
	}
	return ""
}

func (p *page) row(address string) int {
	return slices.IndexFunc(p.Servers, func(s stats.Server) bool { return s.Address == address })
}

// RowOf returns the number of the row of a server, "" if it is not in the table.
func (p *page) RowOf(address string) string { return found(p.row(address)) }

// found returns the place of what was looked for, "" for -1.
func found(at int) string {
	return nettext.Either(at < 0, "", strconv.Itoa(at))
}

// FindingOf returns the number of a finding that is shown, "" if there is none.
func (p *page) FindingOf(id string) string {
	return found(slices.IndexFunc(p.Findings, func(f stats.Finding) bool { return f.ID == id }))
}

// Explained reports whether an earlier verdict has the same explanation.
func (p *page) Explained(i int) bool {
	return slices.ContainsFunc(p.Verdicts[:i], func(v stats.Verdict) bool { return v.Kind == p.Verdicts[i].Kind })
}

// Licence is that of uPlot, which asks to be part of every copy.
func (p *page) Licence() string { return chartLicence }

// Step is how long a step of the curves lasts.
func (p *page) Step() string {
	n := len(p.Timeline.Requests)
	if n == 0 || p.Timeline.Width <= 0 {
		return ""
	}
	return duration(time.Duration(group(n, p.Timeline.Width)) * p.Timeline.Width)
}

// RuleOf returns the number of the rule against what a verdict is about, 0 if there is none. Only a limit in total stops a
// flood of addresses that ask once.
func (p *page) RuleOf(kind string) (n int) {
	for i, r := range p.Rules {
		if total := strings.HasSuffix(r.Title, "in total"); r.Format == "nftables" && (n == 0 || total == (kind == "forged_flood")) {
			n = i + 1
		}
	}
	return n
}

// table returns the family and the name of the table of a rule of nftables.
func table(r stats.Rule) string {
	rest, ok := strings.CutPrefix(r.Text, "table ")
	name, _, _ := strings.Cut(rest, "\n")
	if !ok || r.Format != "nftables" || strings.ContainsFunc(name, func(c rune) bool { return c != ' ' && (c < '0' || c > '9') && (c < 'a' || c > 'z') }) {
		return ""
	}
	return name
}

// Unguessed is the number of unknown datagrams that look like nothing known.
func (p *page) Unguessed() uint64 {
	n := p.Totals.Unknown
	for _, u := range p.Unknowns {
		n -= min(n, u.Count)
	}
	return n
}

// Classed is the number of requests whose sources have a class. Without replies nobody knows who finishes.
func (p *page) Classed() uint64 {
	return nettext.Either(p.Totals.Replies == 0, 0, p.Totals.Honest+p.Totals.Greedy+p.Totals.NeverFinished)
}

// HasLimits reports whether there is anything to say about limits.
func (p *page) HasLimits() bool {
	return p.Classed() > 0 && len(p.Limits.PerAddress)+len(p.Limits.Global) > 0 || len(p.Rules) > 0
}

// Sentences that the template would be too narrow for. Each says what its picture or table shows.

// Inputs names what was read, without folders.
func (p *page) Inputs() string {
	if len(p.Made.Files) == 0 {
		return ""
	}
	name := nettext.Either(p.Made.Files[0].Name == "-", "standard input", p.Made.Files[0].Name)
	name = name[strings.LastIndexAny(name, `/\\`)+1:]
	if n := len(p.Made.Files); n > 1 {
		name += fmt.Sprintf(" and %d more", n-1)
	}
	return name
}

// Empty reports whether nothing was asked or said.
func (p *page) Empty() bool {
	t := &p.Totals
	return t.Requests+t.Replies+t.Notices+t.Unknown == 0
}

// TimelineSentence describes the requests over time.
func (p *page) TimelineSentence() string {
	t := &p.Timeline
	d := p.To.Sub(p.From)
	if d < time.Second {
		return plural(int(p.Totals.Requests), "request") + " in " + duration(d) + "."
	}
	s := fmt.Sprintf("%s in %s: on average %s per second, and at most %s in any second.",
		plural(int(p.Totals.Requests), "request"), duration(d), decimal(float64(p.Totals.Requests)/max(1, d.Seconds())), number(t.Peak))
	s += nettext.Either(p.Totals.Unanswered > 0 && p.Totals.Replies > 0, " "+share(p.Totals.Unanswered, p.Totals.Requests)+" got no reply.", "")
	return s
}

// Curves reports whether the capture is long enough for rates per second to mean something.
func (p *page) Curves() bool { return p.To.Sub(p.From) >= time.Second && len(p.Timeline.Requests) > 1 }

// MessagesPicture draws the messages over time.
func (p *page) MessagesPicture() template.HTML {
	return p.curves(p.Messages, 200, " per second", decimal, "Messages over time. "+p.TimelineSentence())
}

// VolumePicture draws the bytes over time.
func (p *page) VolumePicture() template.HTML {
	return p.curves(p.Volume, 110, " per second", func(v float64) string { return size(uint64(v)) }, p.VolumeSentence())
}

// VolumeSentence describes the bytes.
func (p *page) VolumeSentence() string {
	return fmt.Sprintf("%s went to the servers and %s came from them (%s).", size(p.Totals.BytesIn), size(p.Totals.BytesOut), ratio(p.Totals.BytesOut, p.Totals.BytesIn))
}

// TripSentence describes the round trips.
func (p *page) TripSentence() string {
	r := &p.RoundTrips
	if r.Count == 0 {
		return "No round trip was measured."
	}
	return fmt.Sprintf("Half of %s took at most %s, 99%s%% at most %s; the longest took %s.",
		plural(int(r.Count), "measured round trip"), duration(r.P50), thin, duration(r.P99), duration(r.Max))
}

// HeatPicture draws the round trips.
func (p *page) HeatPicture() template.HTML {
	return p.heat("Round trips by time and duration. " + p.TripSentence())
}

// A heatStep is a shade with the least number of replies that have it.
type heatStep struct {
	Level int
	Text  string
}

// HeatSteps are the shades that cells can have.
func (p *page) HeatSteps() (list []heatStep) {
	_, _, most := p.heatRows()
	least := heatSteps(most)
	for i, n := range least {
		if n <= most && (i == heatLevels-1 || least[i+1] > n) {
			list = append(list, heatStep{i + 1, number(n)})
		}
	}
	if k := len(list) - 1; k >= 0 && list[k].Text != number(most) {
		list[k].Text += "–" + number(most)
	}
	return list
}

// ServerSentence says how the requests are spread over the servers.
func (p *page) ServerSentence() string {
	if len(p.Servers) == 0 {
		return "No server was asked."
	}
	s := &p.Servers[0]
	all := plural(len(p.Servers)+len(p.Rest)+p.ServersLeft, "server")
	return nettext.Either(len(p.Servers) == 1, "All requests went to one server.", fmt.Sprintf("The busiest of %s, %s, got %s of all requests.", all, safe(s.Address), share(s.Requests, p.Totals.Requests)))
}

// AskSentence says who asks.
func (p *page) AskSentence() string {
	t := &p.Totals
	n := nettext.Either(t.Addresses.Count == 1, "1"+thin+"address", number(t.Addresses.Count)+thin+"addresses")
	n += nettext.Either(t.Addresses.Percent > 0, fmt.Sprintf(" (±%s%d%s%%)", thin, t.Addresses.Percent, thin), "")
	s := n + " sent requests."
	if all := t.Honest + t.Greedy + t.NeverFinished; all > 0 && t.NeverFinished > all/2 {
		s += " " + share(t.NeverFinished, all) + " of the requests came from addresses that never finished a query, which real clients do."
	}
	return s
}

// Unwanted is the number of requests that limits should stop.
func (p *page) Unwanted() uint64 {
	if !slices.ContainsFunc(p.Verdicts, func(v stats.Verdict) bool { return plains()[v.Kind].Rules }) {
		return 0 // few who do not finish need not be stopped
	}
	return p.Limits.Forged + p.Limits.Greedy
}

// LimitTitle asks what the tables of limits answer.
func (p *page) LimitTitle() string {
	return nettext.Either(p.Unwanted() == 0, "What would limits have dropped?", "What would have stopped it?")
}

// LimitSentence says what the recommended limits would have done.
func (p *page) LimitSentence() string {
	l, text := &p.Limits, ""
	for _, b := range slices.Concat(l.PerAddress, l.Global) {
		if !b.Best {
			continue
		}
		what := nettext.Either(b.Kind != "", "of "+words(safe(b.Kind))+"s without a proven address", "and address")
		var hit []string
		if l.Forged > 0 {
			hit = append(hit, share(b.Forged, l.Forged)+" of the requests from addresses that never finish")
		}
		if l.Greedy > 0 {
			hit = append(hit, share(b.Greedy, l.Greedy)+" of those from clients that ask too often")
		}
		if l.Honest > 0 {
			hit = append(hit, share(b.Honest, l.Honest)+" of honest ones")
		}
		text += fmt.Sprintf("A limit of %d per second %s would have dropped %s. ", b.N, what, listed(hit))
	}
	return nettext.Either(text == "" && p.Unwanted() == 0, "Nothing had to be stopped. Whoever wants a limit sees here how many requests of honest clients it would have dropped.", cmp.Or(text, "No limit is recommended: none would have hit unwanted requests and spared the honest ones."))
}

// FindingSentence counts the findings.
func (p *page) FindingSentence() string {
	return nettext.Either(p.AllFindings == 0, "Nothing was wrong with single messages.", fmt.Sprintf("%s of %s, the worst first.", plural(int(p.AllFindings), "finding"), plural(len(p.Findings)+p.FindingsLeft, "type")))
}

//go:embed compare.tmpl
var compareTemplate string

// WriteComparison writes a comparison of reports as a page without scripts.
func WriteComparison(w io.Writer, c *stats.Comparison) error {
	p := struct {
		page
		*stats.Comparison
		Tone, Head string
	}{Comparison: c, Tone: "unsure"}
	p.Style = template.CSS(ownStyle)
	p.Policy = "default-src 'none'; style-src " + Hash(string(p.Style)) + "; img-src data:; base-uri 'none'; form-action 'none'"
	p.Head, _, _ = strings.Cut(c.Answer[0], ":")
	switch {
	case c.Helped == "no":
		p.Tone = "bad"
	case c.Helped == "nothing_to_stop":
	case c.Cost == "some":
		p.Tone, p.Head = "warn", p.Head+", and honest clients paid"
	case c.Cost == "none" && c.Helped == "yes":
		p.Tone, p.Head = "good", p.Head+", and cost honest clients nothing"
	default:
		p.Tone = "warn"
	}
	t, err := template.New("compare").Funcs(p.funcs()).Parse(pageTemplate + compareTemplate)
	if err != nil {
		return err
	}
	return t.ExecuteTemplate(w, "comparison", p)
}
