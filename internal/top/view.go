package top

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/stats"
)

// Styles. The program takes out colours that the terminal lacks or that NO_COLOR forbids; nothing is said by a colour alone.
const (
	plain  = "\x1b[m"
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	under  = "\x1b[4m"
	invert = "\x1b[7m"
	red    = "\x1b[1;31m"
	yellow = "\x1b[33m"
)

// severe returns the style of a severity.
func severe(s string) string {
	switch s {
	case "error":
		return red
	case "warning":
		return yellow
	}
	return ""
}

// A column of a table.
type column struct {
	title string
	width int // 0 for the rest of the line
	left  bool
	from  int // width of the terminal from which it is shown
}

// A row of a table. What only rows in sight need is made by fill, if there is one.
type row struct {
	key   string
	more  int     // lines that always follow it
	rate  float64 // by which rows are sorted
	fill  func(*row)
	cells []string
	style string
	lines []string // those that follow it
	now   []string // those that follow it while it is selected
}

func (r *row) filled() *row {
	if r.fill != nil {
		r.fill(r)
		r.fill = nil
	}
	return r
}

// safe makes text from the network, and other text, safe for a terminal. It must not be called twice.
func safe(s string) string {
	if !strings.ContainsFunc(s, nettext.Unsafe) {
		return s
	}
	return string(nettext.AppendSafe(nil, []byte(s)))
}

// fit makes a text n columns wide.
func fit(s string, n int, left bool) string {
	s = ansi.Truncate(safe(s), n, "…")
	space := strings.Repeat(" ", max(0, n-ansi.StringWidth(s)))
	return nettext.Either(left, s+space, space+s)
}

// wrap breaks a text into lines with an indent.
func wrap(s string, width int, indent string) (list []string) {
	s = strings.ReplaceAll(safe(s), " %", "\u00a0%") // stays with its number
	for line := range strings.SplitSeq(ansi.Wordwrap(s, max(width-len(indent), 10), ""), "\n") {
		list = append(list, indent+strings.ReplaceAll(line, "\u00a0", " "))
	}
	return list
}

// table returns the columns and rows of what is shown; details have none.
func (m *Model) table() (columns []column, rows []row) {
	switch m.level {
	case talks:
		return m.talkRows()
	case ladder:
		return m.ladderRows()
	case detail:
		return nil, nil
	}
	r := m.report()
	switch m.tab {
	case Servers:
		return m.serverRows(r)
	case Clients:
		return m.clientRows(r)
	case Findings:
		return m.findingRows(r)
	}
	return nil, m.verdictRows(r)
}

// overall reports whether rates are those of all the time of the report: of files, and of what a filter leaves.
func (m *Model) overall() bool { return !m.c.Live || m.filter != "" }

// rate writes a number of an address, or its rate.
func (m *Model) rate(n uint64, address string, of count) string {
	switch v, ok := m.perSecond(n, address, of); {
	case m.totals:
		return stats.FormatNumber(n)
	case ok:
		return stats.FormatRate(v)
	}
	return "…"
}

func (m *Model) perSecond(n uint64, address string, of count) (float64, bool) {
	if m.overall() {
		r := m.report()
		return float64(n) / max(r.To.Sub(r.From).Seconds(), 1), true
	}
	if len(m.history) < 2 {
		return 0, false
	}
	past := m.now.At.Sub(m.history[0].at).Seconds()
	return float64(n-min(n, m.history[0].counts[address][of])) / max(past, 0.001), true
}

// order puts the rows with the highest rates first, if rates change from moment to moment.
func (m *Model) order(rows []row, requests func(i int) uint64) []row {
	if m.totals || m.overall() {
		return rows
	}
	for i := range rows {
		rows[i].rate, _ = m.perSecond(requests(i), rows[i].key, asked)
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.rate, a.rate) })
	return rows
}

// per returns the title of a column.
func (m *Model) per(title string) string {
	return nettext.Either(m.totals, title, title+"/s")
}

// addressWidth returns the width of the first column: of the longest address, if there is room for it.
func (m *Model) addressWidth(rows []row) int {
	const v4 = 21
	n := v4
	for i := range rows {
		n = max(n, len(rows[i].key))
	}
	return min(n, max(v4, m.width-58))
}

// spark draws the requests of the intervals.
func spark(list []stats.Cell) string {
	s := make(stats.Series, len(list))
	for i, c := range list {
		s[i] = c.Requests
	}
	return stats.Spark(s, 20)
}

func (m *Model) serverRows(r *stats.Report) (columns []column, rows []row) {
	for _, s := range r.Servers {
		rows = append(rows, row{key: s.Address, fill: func(to *row) {
			players, p50, p99, answered := "", "", "", ""
			if s.Players >= 0 {
				players = fmt.Sprint(s.Players)
			}
			if s.P50 > 0 {
				p50, p99 = stats.FormatDuration(s.P50), stats.FormatDuration(s.P99)
			}
			if !s.Home {
				to.style = dim
			}
			if m.filter == "" {
				answered = s.Outcome.RepliedShare(s.Requests)
			}
			to.cells = []string{
				s.Address, m.rate(s.Requests, s.Address, asked), m.rate(s.Replies, s.Address, replied), answered, stats.FormatNumber(s.Clients.Count), p50, p99,
				m.bytes(s.BytesIn, s.Address, bytesIn), m.bytes(s.BytesOut, s.Address, bytesOut), players, spark(s.ByInterval), s.Protocol, safe(s.Map), safe(s.Name),
			}
		}})
	}
	return []column{
		{"SERVER", m.addressWidth(rows), true, 0}, {m.per("requests"), 10, false, 0}, {m.per("replies"), 10, false, 100}, {"replied", 8, false, 0}, {"clients", 8, false, 0}, {"p50", 8, false, 0},
		{"p99", 8, false, 120}, {m.per("in"), 9, false, 110}, {m.per("out"), 9, false, 110}, {"players", 7, false, 130}, {"over time", 20, true, 140},
		{"protocol", 11, true, 150}, {"map", 16, true, 170}, {"name", 0, true, 0},
	}, m.order(rows, func(i int) uint64 { return r.Servers[i].Requests })
}

// bytes writes a number of bytes, or their rate.
func (m *Model) bytes(n uint64, address string, of count) string {
	if v, ok := m.perSecond(n, address, of); ok && !m.totals {
		n = uint64(v + 0.5)
	}
	return strings.Replace(stats.FormatSize(n), " bytes", " B", 1)
}

func (m *Model) clientRows(r *stats.Report) (columns []column, rows []row) {
	for _, c := range r.Clients {
		rows = append(rows, row{key: c.Address, fill: func(to *row) {
			does := r.Does(&c)
			if does != "finishes" {
				to.style = yellow
			}
			to.cells = []string{
				c.Address, m.rate(c.Requests, c.Address, asked), m.rate(c.Replies, c.Address, replied), stats.FormatShare(c.Requests, r.Totals.Requests), stats.FormatNumber(c.Peak),
				fmt.Sprintf("%.1f", c.Factor), m.bytes(c.BytesIn, c.Address, bytesIn), m.bytes(c.BytesOut, c.Address, bytesOut), stats.FormatNumber(c.Servers), spark(c.ByInterval), c.Kind, does,
			}
		}})
	}
	return []column{
		{"CLIENT", m.addressWidth(rows), true, 0}, {m.per("requests"), 10, false, 0}, {m.per("replies"), 10, false, 100}, {"share", 7, false, 0}, {"peak/s", 7, false, 0}, {"out ÷ in", 8, false, 0},
		{m.per("in"), 9, false, 110}, {m.per("out"), 9, false, 110}, {"servers", 7, false, 120}, {"over time", 20, true, 160}, {"asks most for", 24, true, 130}, {"what it does", 0, true, 0},
	}, m.order(rows, func(i int) uint64 { return r.Clients[i].Requests })
}

func (m *Model) findingRows(r *stats.Report) (columns []column, rows []row) {
	columns = []column{{"FINDING", 30, true, 0}, {"severity", 8, true, 0}, {"count", 9, false, 0}, {"first", 8, true, 110}, {"last", 8, true, 100}, {"first one says", 0, true, 0}}
	for _, f := range r.Findings {
		rows = append(rows, row{
			key: f.ID, style: severe(f.Severity), now: slices.Concat(wrap(f.Text, m.width-4, "    "), wrap(f.Doc, m.width-4, "    ")),
			cells: []string{f.ID, f.Severity, stats.FormatNumber(f.Count), f.First.Format(time.TimeOnly), f.Last.Format(time.TimeOnly), f.Text},
		})
	}
	return columns, rows
}

// verdictRows lists the verdicts with their advice, then what would have stopped it, with the rules.
func (m *Model) verdictRows(r *stats.Report) (rows []row) {
	width := m.width - 2
	add := func(key, text, style string, more, now []string) {
		list := append(wrap(text, width, ""), more...)
		rows = append(rows, row{key: key, cells: list[:1], style: style, more: len(list) - 1, lines: list[1:], now: now})
	}
	for i, v := range r.Verdicts {
		style := nettext.Either(!v.Unusual(), "", red)
		add(fmt.Sprint("verdict ", i), v.Text, style, wrap("→ "+v.Advice, width, "  "), nil)
	}
	for _, rule := range r.Rules {
		add("rule "+rule.Format+rule.Title, "Rule ("+strings.ReplaceAll(rule.Format, "_", " ")+"): "+rule.Title, "", wrap(rule.Effect, width, "  "), ruleText(rule, width))
	}
	for _, s := range r.Unclear {
		add(s, s, dim, nil, nil)
	}
	return rows
}

// ruleText returns the lines of a rule, broken where they are too long. They can be copied.
func ruleText(rule stats.Rule, width int) []string {
	list := []string{""}
	for line := range strings.SplitSeq(strings.TrimRight(rule.Text, "\n"), "\n") {
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		parts := wrap(strings.TrimLeft(line, " \t"), width-2, "  "+strings.ReplaceAll(indent, "\t", "  "))
		for i := range parts[1:] {
			parts[i] += nettext.Either(rule.Format == "nftables", " \\", "")
		}
		list = append(list, parts...)
	}
	return append(list, "")
}

func (m *Model) talkRows() (columns []column, rows []row) {
	client, server, findings := 0, 0, 130
	if m.steps[talks].sel.Client.Port() > 0 {
		client = 1 << 30
	}
	if m.steps[talks].sel.Server.IsValid() {
		server, findings = 130, 100
	}
	width := 21
	for _, c := range m.talks {
		if m.width >= 120 && c.Client.Addr().Is6() {
			width = 40
		}
	}
	columns = []column{
		{"CLIENT", width, true, client}, {"SERVER", width, true, server}, {"requests", 8, false, 0}, {"replies", 7, false, 0}, {"outcome", 14, true, 0}, {"last", 8, true, 0},
		{"findings", 8, false, findings}, {"protocol", 11, true, 110}, {"newest message", 0, true, 0},
	}
	for _, c := range m.talks {
		rows = append(rows, row{key: c.key, fill: func(r *row) {
			r.style, r.cells = severe(c.worst.String()), []string{
				c.Client.String(), c.Server.String(), stats.FormatNumber(c.Requests), stats.FormatNumber(c.Replies), c.state(), c.Last.Format(time.TimeOnly),
				stats.FormatNumber(c.Findings), c.Protocol, c.Newest,
			}
		}})
	}
	return columns, rows
}

const ladderTime = "15:04:05.000"

// ladderRows draws messages as arrows between the client on the left and the server on the right.
func (m *Model) ladderRows() (columns []column, rows []row) {
	const side = len(ladderTime) + 1 + 9 // time, round trip
	width := max(m.width-2-side, 20)
	sel := m.steps[ladder].sel
	a, b := sel.Client.String(), sel.Server.String()
	columns = []column{{"TIME", len(ladderTime), true, 0}, {a + strings.Repeat(" ", max(1, width-len(a)-len(b))) + b, width, true, 0}, {"after", 8, false, 0}}
	for i := range m.lines {
		l := &m.lines[i]
		r := row{key: strconv.FormatUint(l.Frame, 10) + " " + l.Message, fill: func(r *row) { m.fillLine(r, l, width) }}
		if l.Message != "" {
			r.more = len(l.Findings)
		}
		rows = append(rows, r)
	}
	return columns, rows
}

// fillLine draws a message as an arrow with its findings below, or a finding.
func (m *Model) fillLine(r *row, l *Line, width int) {
	r.style = severe(l.worst.String())
	margin := strings.Repeat(" ", len(ladderTime)+1)
	if l.Message == "" {
		r.cells = []string{l.Time.Format(ladderTime), "│ " + fit(l.Findings[0], width-4, true) + " │", ""}
		r.now = wrap(l.Findings[0], m.width-20, margin+"  ")
		return
	}
	text := nettext.Either(l.Matches, "* ", " ") + ansi.Truncate(l.Message+l.Contents, width-8, "…") + " "
	line := strings.Repeat("─", max(0, width-4-ansi.StringWidth(text)))
	arrow, after := "├─"+text+line+"▶│", ""
	if !l.Up {
		arrow = "│◀" + line + text + "─┤"
	}
	if l.RTT > 0 {
		after = string(nettext.AppendDuration(nil, l.RTT))
	}
	r.cells = []string{l.Time.Format(ladderTime), arrow, after}
	for _, f := range l.Findings {
		r.lines = append(r.lines, margin+"│ "+fit(f, width-4, true)+" │")
	}
}

// line draws a row of a table.
func (m *Model) line(columns []column, cells []string) string {
	if columns == nil {
		return strings.Join(cells, " ") // a sentence
	}
	var b strings.Builder
	rest := m.width - 2
	for i, c := range columns {
		if c.from > m.width {
			continue
		}
		w := cmp.Or(c.width, max(rest, 0))
		rest -= w + 1
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(fit(cells[i], w, c.left))
	}
	return b.String()
}

// head returns the line of titles.
func (m *Model) head(columns []column) string {
	return m.line(columns, nettext.Each(columns, func(c column) string { return c.title }))
}

// layout returns the first line of each row, and at the end the number of lines.
func (m *Model) layout(rows []row) []int {
	starts := make([]int, len(rows)+1)
	for i := range rows {
		n := 1 + rows[i].more
		if i == m.place().row {
			n += len(rows[i].filled().now)
		}
		starts[i+1] = starts[i] + n
	}
	return starts
}

// draw draws n lines of the rows, from a line on. The selected row is marked.
func (m *Model) draw(columns []column, rows []row, from, n int) (list []string) {
	starts := m.layout(rows)
	i, _ := slices.BinarySearch(starts, from+1)
	for i = max(0, i-1); i < len(rows) && starts[i] < from+n; i++ {
		r := rows[i].filled()
		text, mark, style := m.line(columns, r.cells), "  ", r.style
		if i == m.place().row {
			mark, style, text = "> ", r.style+invert, fit(text, m.width-2, true)
		}
		lines := []string{mark + style + text + plain}
		lines = append(lines, nettext.Each(r.lines, func(s string) string { return "  " + r.style + s + plain })...)
		if i == m.place().row {
			lines = append(lines, r.now...)
		}
		list = append(list, lines[max(0, from-starts[i]):]...)
	}
	return list[:min(len(list), n)]
}

// fixed is the number of lines above and below the rows.
const fixed = 6

// rowsHeight returns the number of lines for rows.
func (m *Model) rowsHeight() int { return max(m.height-fixed, 1) }

// scroll keeps the selection on its row, which may have moved, and in sight.
func (m *Model) scroll() {
	p := m.place()
	if m.level == detail {
		p.first = max(0, min(p.first, len(m.detailLines())-m.rowsHeight()))
		return
	}
	_, rows := m.table()
	if m.follow && m.level == ladder {
		p.key, p.row = "", len(rows)-1
	}
	if p.key != "" {
		if i := slices.IndexFunc(rows, func(r row) bool { return r.key == p.key }); i >= 0 {
			p.row = i
		}
	}
	if p.row = max(0, min(p.row, len(rows)-1)); p.row < len(rows) && (p.key != "" || p.row > 0 || p.first > 0 || m.level > tables) {
		p.key = rows[p.row].key
	}
	starts := m.layout(rows)
	if p.row < len(rows) {
		p.first = min(max(p.first, starts[p.row+1]-m.rowsHeight()), starts[p.row])
	}
	p.first = max(0, min(p.first, starts[len(rows)]-m.rowsHeight()))
}

// detailLines returns the lines of a detail.
func (m *Model) detailLines() []string {
	if m.detail == nil {
		return nil
	}
	list := nettext.Either(m.hex, m.detail.Hex, m.detail.Tree)
	return append(wrap(strings.TrimSpace(list[0]), m.width, ""), list[1:]...)
}

// status says what is going on, for the right of the first line.
func (m *Model) status() string {
	switch {
	case m.now == nil:
		return "waiting for packets…"
	case m.paused:
		return "PAUSED " + m.now.At.UTC().Format(time.TimeOnly) + " (p goes on)"
	case m.now.Trouble != "":
		return m.now.Trouble
	case m.now.Ended && m.c.Live:
		return "the capture has ended"
	case m.now.Ended:
		return stats.FormatNumber(m.now.Report.Totals.Packets) + " packets"
	case m.c.Live:
		return m.now.At.UTC().Format(time.TimeOnly) + " UTC"
	}
	return "reading… " + stats.FormatNumber(m.now.Report.Totals.Packets) + " packets"
}

// overview is the second line: what there is, and how much.
func (m *Model) overview() string {
	r := m.report()
	t := &r.Totals
	parts := []string{"requests " + stats.Spark(r.Timeline.Requests, max(8, min(m.width-68, 40))) + " " + stats.FormatNumber(t.Requests)}
	add := func(what string, n uint64, always bool) {
		if n > 0 || always {
			parts = append(parts, what+" "+stats.FormatNumber(n))
		}
	}
	add("replies", t.Replies, true)
	add("unanswered", t.Unanswered, false)
	add("unknown", t.Unknown, false)
	if t.KernelLost > 0 {
		parts = slices.Insert(parts, 1, red+"LOST "+stats.FormatNumber(t.KernelLost)+plain)
	}
	add("evicted", t.Evicted, false)
	return strings.Join(parts, "  ")
}

// title is the line of the tables, or of what was opened.
func (m *Model) title() string {
	if m.level > tables {
		s := bold + names[m.tab]
		for _, step := range m.steps[1 : m.level+1] {
			s += " › " + step.title
		}
		s += plain
		switch m.level {
		case talks:
			if m.talks != nil {
				s += "  " + counted(len(m.talks), "conversation")
			}
		case ladder:
			n := 0 // without lines of findings
			for i := range m.lines {
				if m.lines[i].Message != "" {
					n++
				}
			}
			s += "  " + counted(n, "message")
		}
		if n := m.steps[m.level].left; n > 0 {
			s += " (" + stats.FormatNumber(uint64(n)) + " more left out)"
		}
		return s + m.recent()
	}
	var b strings.Builder
	for t, name := range names {
		if Tab(t) == m.tab {
			fmt.Fprintf(&b, "%s[F%d %s]%s ", invert, t+1, name, plain)
		} else {
			fmt.Fprintf(&b, " F%d %s  ", t+1, name)
		}
	}
	if m.filter != "" && m.tab == Verdicts {
		b.WriteString(" of everything, without the filter")
	} else if m.filter != "" {
		b.WriteString(" " + bold + "/" + plain + safe(m.filter) + m.recent())
	}
	return b.String()
}

func counted(n int, what string) string {
	return stats.FormatNumber(uint64(n)) + " " + nettext.Plural(n, what, what+"s")
}

// recent says which messages a search could read.
func (m *Model) recent() string {
	at := nettext.Either(m.level > tables && m.seen != nil, m.seen, m.now)
	switch {
	case m.job != nil && (m.level == tables && m.filtered == nil || m.level == talks && m.talks == nil || m.level == ladder && m.lines == nil || m.level == detail && m.detail == nil):
		return "  searching…"
	case at == nil || at.Frames == nil || !at.Frames.Cut:
		return ""
	}
	f, _ := at.Frames.First()
	return "  of the last " + stats.FormatDuration(at.Report.To.Sub(f).Truncate(100*time.Millisecond))
}

// worstVerdict is the third line, or what is wrong with the text of a prompt.
func (m *Model) worstVerdict() string {
	if m.prompt != nil && m.note != "" {
		return red + "! " + fit(m.note, m.width-2, true) + plain
	}
	if m.now == nil || len(m.now.Report.Verdicts) == 0 || m.level == tables && m.tab == Verdicts {
		return ""
	}
	v := &m.now.Report.Verdicts[0]
	return nettext.Either(!v.Unusual(), dim+fit(v.Text, m.width, true)+plain, red+"! "+fit(v.Text, m.width-2, true)+plain)
}

// foot is the last line.
func (m *Model) foot() string {
	switch {
	case m.prompt != nil:
		head, text := m.prompt.label+": ", safe(m.prompt.text)
		if over := ansi.StringWidth(head+text) + 2 - m.width; over > 0 { // what is typed is at its end
			text = ansi.TruncateLeft(text, over+1, "…")
		}
		return bold + head + plain + text + invert + " " + plain + dim + "  Enter: go, Esc: cancel" + plain
	case m.note != "":
		return bold + fit(m.note, m.width, true) + plain
	}
	rates := nettext.Either(m.totals, "t rates", "t totals")
	keys := []string{"? help", "q quit", "Enter open", "/ filter", "p pause", rates, "w write"}
	switch m.level {
	case talks, ladder:
		keys = []string{"? help", "Esc back", "Enter open", "/ filter", "p pause", "w write"}
	case detail:
		other := nettext.Either(m.hex, "x fields", "x bytes")
		keys = []string{"? help", "Esc back", other, "← → move", "w write"}
	}
	return dim + strings.Join(keys, "  ") + plain
}

const helpText = `F1 servers  F2 clients  F3 findings  F4 verdicts and rules   (or 1 to 4, Tab)
↑ ↓ PgUp PgDn Home End   select a row
Enter or →   open it: its conversations, their messages, the fields of a message
Esc or ←     back
x            in a message: fields, or bytes with the fields beside them
/            filter with an expression, as -Y: server.players > 20, finding
p            pause; the capture goes on
t            rates or totals
w            write the messages of the selected row to a capture file
q            quit

Rates are of the last 3 seconds; of files and with a filter, of the whole time.
replied      share of the requests whose outcome is known
p50          half of the replies came within this time
out ÷ in     bytes sent to this address, by bytes that came from it
Conversations and messages of a live capture are those still in memory (--keep).`

// screen returns the lines of the screen.
func (m *Model) screen() []string {
	left := bold + "qdissect top" + plain + "  " + safe(m.c.Title)
	status := m.status()
	gap := m.width - ansi.StringWidth(left) - ansi.StringWidth(status)
	if gap < 2 {
		left, gap = ansi.Truncate(left, max(0, m.width-ansi.StringWidth(status)-2), "…"), 2
	}
	list := []string{left + plain + strings.Repeat(" ", gap) + fit(status, min(ansi.StringWidth(status), m.width), true), m.overview(), m.worstVerdict(), m.title()}
	var head string
	var body []string
	switch {
	case m.help:
		for line := range strings.SplitSeq(helpText, "\n") {
			body = append(body, wrap(line, m.width, "")...)
		}
	case m.level == detail:
		lines := m.detailLines()
		seen := lines[min(m.place().first, len(lines)):min(m.place().first+m.rowsHeight(), len(lines))]
		body = nettext.Each(seen, func(s string) string { return ansi.Cut(s, m.column, m.column+m.width) })
	default:
		columns, rows := m.table()
		head = "  " + under + fit(m.head(columns), m.width-2, true) + plain
		if body = m.draw(columns, rows, m.place().first, m.rowsHeight()); len(body) == 0 {
			body = []string{dim + "  " + m.nothing() + plain}
		}
	}
	body = append(body, make([]string, m.rowsHeight())...)[:m.rowsHeight()]
	list = append(append(append(list, head), body...), m.foot())
	for i, s := range list {
		list[i] = ansi.Truncate(s, m.width, "…")
	}
	return list[max(0, len(list)-m.height):]
}

// nothing says why there are no rows.
func (m *Model) nothing() string {
	switch {
	case m.job != nil:
		return "searching…"
	case m.now == nil:
		return "No packets so far."
	case m.filter != "" && m.tab != Verdicts:
		return "Nothing matches the filter."
	case m.level == talks || m.level == ladder:
		return "There are no messages of it in memory."
	case m.tab == Findings:
		return "No findings: nothing is wrong with the messages."
	}
	return "No messages of game servers so far."
}

// View draws the screen.
func (m Model) View() tea.View {
	v := tea.NewView(strings.Join(m.screen(), "\n"))
	v.AltScreen = true
	return v
}
