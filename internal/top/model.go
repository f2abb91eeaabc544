// Package top is the terminal view: what happens to servers, from tables down to the bytes of a message. [Model] is a
// value that changes only in Update; it reads neither clock nor files, which [Config] brings.
package top

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
)

// A Snapshot is what is known at a moment. It does not change.
type Snapshot struct {
	At      time.Time // by the clock
	Report  *stats.Report
	Options stats.Options   // those of the report
	Frames  *capture.Frames // the newest ones; nil if the files can be read again
	Ended   bool            // none follows
	Trouble string          // the last error
}

// Config is what the view looks at and what it can do.
type Config struct {
	Title string // the interfaces or files
	Live  bool
	// Next waits for the next snapshot.
	Next func() *Snapshot
	// Run returns the options of a run over the messages of a snapshot.
	Run func(*Snapshot) pipeline.Options
	// Save writes the frames of the messages that match an expression to a file. It returns what it did, in words.
	Save func(file string, at *Snapshot, expr string) string
}

// A Tab is one of the tables.
type Tab int

// The tables.
const (
	Servers Tab = iota
	Clients
	Findings
	Verdicts
	tabs
)

// names are those of the tables.
var names = [tabs]string{"servers", "clients", "findings", "verdicts"}

// A level is how deep the user has looked.
type level int

const (
	tables level = iota
	talks
	ladder
	detail
	levels
)

// A place is the selected row of a table, and the first line that is shown.
type place struct {
	key        string
	row, first int
}

// A step is how one level came from the one before.
type step struct {
	place
	title string    // what was opened
	sel   Selection // without the filter
	left  int       // what a search left out
}

// A prompt asks for a line of text.
type prompt struct {
	label, text string
	enter       func(m *Model, text string) tea.Cmd
}

// A job is a search that runs.
type job struct {
	stop  chan struct{}
	began time.Time // time of the snapshot
}

// A Model is the state of the view. It implements [tea.Model].
type Model struct {
	c             Config
	width, height int
	feed
	found
	totals bool
	help   bool
	tab    Tab
	level  level
	tables [tabs]place
	steps  [levels]step
	filter string
	hex    bool
	column int  // the first that is shown of a detail
	follow bool // the newest message of a ladder stays selected
	prompt *prompt
	note   string
}

// A feed is what came of the snapshots.
type feed struct {
	now     *Snapshot // what is shown
	pending *Snapshot // the newest, while paused
	history []sample  // of the last seconds, the oldest first
	paused  bool
}

// found is what the searches found, the last of which may still run.
type found struct {
	job      *job
	rest     time.Time // no search before
	seen     *Snapshot // of the search
	filtered *stats.Report
	talks    []*Conversation
	lines    []Line
	detail   *Detail
}

// A sample has the numbers of all addresses at a time.
type sample struct {
	at     time.Time
	counts map[string][4]uint64
}

// A count is a number of an address of which rates are shown.
type count int

const (
	asked count = iota
	replied
	bytesIn
	bytesOut
)

// New returns a model of a terminal whose size is not known yet.
func New(c Config) Model { return Model{c: c, width: 80, height: 24, totals: !c.Live} }

type (
	snapshotMsg struct{ *Snapshot }
	// A foundMsg is the result of a job.
	foundMsg struct {
		job   *job
		apply func(*Model)
	}
	noteMsg string
)

func (m Model) next() tea.Msg { return snapshotMsg{m.c.Next()} }

// Init waits for the first snapshot.
func (m Model) Init() tea.Cmd { return m.next }

// Update takes a message.
func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case snapshotMsg:
		cmd = m.take(msg.Snapshot)
	case foundMsg:
		if msg.job == m.job {
			m.job = nil
			last := m.newest().At
			m.rest = last.Add(searchShare * last.Sub(msg.job.began))
			msg.apply(&m)
		}
	case noteMsg:
		m.note = string(msg)
	case tea.PasteMsg:
		if m.prompt != nil {
			m.typed(msg.Content)
		}
	case tea.KeyPressMsg:
		cmd = m.key(msg)
	}
	m.scroll()
	return m, cmd
}

// searchShare is the least time between searches of a live view, in times of what the last one took.
const searchShare = 4

// rateTime is the time over which rates are counted.
const rateTime = 3 * time.Second

func (f *feed) newest() *Snapshot {
	return nettext.Either(f.pending != nil, f.pending, f.now)
}

// take takes a snapshot and waits for the next one.
func (m *Model) take(s *Snapshot) tea.Cmd {
	if m.paused {
		m.pending = s
	} else {
		m.show(s)
	}
	var cmds []tea.Cmd
	if !s.Ended {
		cmds = append(cmds, m.next)
	}
	if !m.paused && m.job == nil && !s.At.Before(m.rest) && (m.c.Live || s.Ended) {
		cmds = append(cmds, m.search())
	}
	return tea.Batch(cmds...)
}

func (f *feed) show(s *Snapshot) {
	f.now, f.pending = s, nil
	now := sample{s.At, make(map[string][4]uint64)}
	for _, v := range s.Report.Servers {
		now.counts[v.Address] = [4]uint64{v.Requests, v.Replies, v.BytesIn, v.BytesOut}
	}
	for _, v := range s.Report.Clients {
		now.counts[v.Address] = [4]uint64{v.Requests, v.Replies, v.BytesIn, v.BytesOut}
	}
	f.history = append(f.history, now)
	for len(f.history) > 2 && s.At.Sub(f.history[1].at) >= rateTime {
		f.history = slices.Delete(f.history, 0, 1)
	}
}

// report returns the report that is shown.
func (m *Model) report() *stats.Report {
	if m.filter != "" && m.filtered != nil && m.tab != Verdicts {
		return m.filtered
	}
	if m.now == nil {
		return &stats.Report{}
	}
	return m.now.Report
}

// start runs a search, instead of one that runs. What it finds is applied, or its error is shown.
func (m *Model) start(at *Snapshot, find func(pipeline.Options) (func(*Model), error)) tea.Cmd {
	m.cancel()
	j := &job{stop: make(chan struct{}), began: m.newest().At}
	m.job = j
	o := m.c.Run(at)
	o.Stop = j.stop
	return func() tea.Msg {
		apply, err := find(o)
		if err != nil {
			apply = func(m *Model) { m.note = err.Error() }
		}
		return foundMsg{j, apply}
	}
}

// cancel ends the search that runs.
func (f *found) cancel() {
	if f.job != nil {
		close(f.job.stop)
		f.job = nil
	}
}

// search reads the messages again for what is shown now, if that needs it.
func (m *Model) search() tea.Cmd {
	if m.now == nil {
		return nil
	}
	at, sel := m.now, m.filtering(m.steps[m.level].sel)
	switch m.level {
	case tables:
		if m.filter == "" {
			return nil
		}
		expr, so := m.filter, at.Options
		return m.start(at, func(o pipeline.Options) (func(*Model), error) {
			r, err := Filtered(o, expr, so)
			return func(m *Model) { m.filtered = r }, err
		})
	case talks:
		return m.start(at, func(o pipeline.Options) (func(*Model), error) {
			list, left, err := Conversations(o, sel)
			return func(m *Model) { m.seen, m.talks, m.steps[talks].left = at, list, left }, err
		})
	case ladder:
		return m.start(at, func(o pipeline.Options) (func(*Model), error) {
			lines, left, err := Ladder(o, sel)
			return func(m *Model) { m.seen, m.lines, m.steps[ladder].left = at, lines, left }, err
		})
	}
	return nil
}

// open opens the selected row.
func (m *Model) open() tea.Cmd {
	row := m.place().row
	switch m.level {
	case tables:
		sel, title := m.selection()
		if title == "" {
			return nil
		}
		m.talks = nil
		return m.descend(title, sel)
	case talks:
		if row >= len(m.talks) {
			return nil
		}
		sel := m.steps[talks].sel
		sel.Client, sel.Server = m.talks[row].Client, m.talks[row].Server
		m.lines = nil
		cmd := m.descend(sel.Client.String(), sel)
		m.follow = m.c.Live
		return cmd
	case ladder:
		if row >= len(m.lines) || m.lines[row].Message == "" {
			return nil
		}
		line, sel := m.lines[row], m.steps[ladder].sel
		m.detail, m.column = nil, 0
		m.descend("frame "+strconv.FormatUint(line.Frame, 10), sel)
		return m.start(m.seen, func(o pipeline.Options) (func(*Model), error) {
			d, err := Details(o, sel, &line)
			return func(m *Model) { m.detail = d }, err
		})
	}
	return nil
}

// descend shows the next level.
func (m *Model) descend(title string, sel Selection) tea.Cmd {
	m.level++
	m.steps[m.level] = step{title: title, sel: sel}
	return m.search()
}

// back shows the level above.
func (m *Model) back() {
	m.cancel()
	if m.level > tables {
		m.level--
	}
}

// selection returns what the selected row of a table stands for, and its name, "" if it stands for nothing.
func (m *Model) selection() (sel Selection, title string) {
	r, i := m.report(), m.tables[m.tab].row
	_, rows := m.table()
	if i < 0 || i >= len(rows) {
		return sel, ""
	}
	title = rows[i].key
	switch m.tab {
	case Servers:
		sel.Server = endOf(title)
	case Clients:
		sel.Client = endOf(title)
	case Findings:
		sel.Expr = `finding == "` + title + `"`
	case Verdicts:
		if i >= len(r.Verdicts) {
			return sel, "" // a rule
		}
		v := &r.Verdicts[i]
		title = v.Server
		sel.Server = endOf(v.Server)
		if len(v.Sources) == 1 {
			sel.Client = endOf(v.Sources[0])
			title = strings.TrimSpace(title + " " + v.Sources[0])
		}
	}
	return sel, title
}

// filtering returns a selection of what the filter leaves.
func (m *Model) filtering(s Selection) Selection {
	switch {
	case m.filter == "":
	case s.Expr == "":
		s.Expr = m.filter
	default:
		s.Expr = "(" + m.filter + ") and " + s.Expr
	}
	return s
}

// endOf returns an address with its port, 0 if it has none.
func endOf(s string) netip.AddrPort {
	if at, err := netip.ParseAddrPort(s); err == nil {
		return at
	}
	a, _ := netip.ParseAddr(s)
	return netip.AddrPortFrom(a, 0)
}

// expression returns the selection as an expression.
func (s *Selection) expression() string {
	var list []string
	for _, a := range []netip.AddrPort{s.Server, s.Client} {
		switch {
		case a.Port() > 0:
			list = append(list, "addr == "+a.String())
		case a.IsValid():
			list = append(list, "addr == "+a.Addr().String())
		}
	}
	if s.Expr != "" {
		list = append(list, "("+s.Expr+")")
	}
	return strings.Join(list, " and ")
}

// key handles a key.
func (m *Model) key(k tea.KeyPressMsg) tea.Cmd {
	s := k.String()
	if s == "ctrl+c" {
		return tea.Quit
	}
	if s == "ctrl+z" {
		return tea.Suspend
	}
	if m.prompt != nil {
		return m.answer(k)
	}
	m.note = ""
	if rest, ok := strings.CutPrefix(s, "alt+"); ok { // Esc and a key, typed fast
		m.back()
		s = rest
	}
	if m.help {
		m.help = false
		return nil
	}
	if m.moves(s) {
		return nil
	}
	switch s {
	case "q":
		return tea.Quit
	case "?", "h":
		m.help = true
	case "f1", "1", "f2", "2", "f3", "3", "f4", "4":
		return m.turn(Tab(s[len(s)-1] - '1'))
	case "tab":
		return m.turn((m.tab + 1) % tabs)
	case "shift+tab":
		return m.turn((m.tab + tabs - 1) % tabs)
	case "enter":
		return m.open()
	case "esc", "backspace":
		m.back()
	case "left", "right":
		if m.level == detail {
			m.column = max(0, m.column+map[string]int{"left": -8, "right": 8}[s])
		} else if s == "right" {
			return m.open()
		} else {
			m.back()
		}
	case "x":
		m.hex = !m.hex
	case "t":
		m.totals = !m.totals
	case "p":
		if m.paused = !m.paused; !m.paused && m.pending != nil {
			m.show(m.pending)
			return m.search()
		}
	case "/":
		m.prompt = &prompt{"filter", m.filter, (*Model).setFilter}
	case "w":
		m.askSave()
	}
	return nil
}

// moves moves the selection if a key asks for that.
func (m *Model) moves(key string) bool {
	by := map[string]int{"up": -1, "k": -1, "down": 1, "j": 1, "home": -1 << 30, "g": -1 << 30, "end": 1 << 30, "G": 1 << 30, "shift+g": 1 << 30}[key]
	switch page := max(m.rowsHeight()-1, 1); key {
	case "pgup", "ctrl+b":
		by = -page
	case "pgdown", "ctrl+f", "space":
		by = page
	}
	if by == 0 {
		return false
	}
	m.move(by)
	return true
}

// turn shows a table.
func (m *Model) turn(to Tab) tea.Cmd {
	m.cancel()
	m.tab, m.level = to, tables
	if m.filter != "" && m.filtered == nil {
		return m.search()
	}
	return nil
}

// place returns the place of what is shown.
func (m *Model) place() *place {
	if m.level == tables {
		return &m.tables[m.tab]
	}
	return &m.steps[m.level].place
}

// move moves the selection by some rows, or the text of a detail by some lines.
func (m *Model) move(by int) {
	p := m.place()
	if m.level == detail {
		p.first += by
		return
	}
	m.follow = m.c.Live && by == 1<<30
	p.key, p.row = "", max(0, p.row+by)
}

// answer handles a key of a prompt.
func (m *Model) answer(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		m.prompt = nil
	case "enter":
		p := m.prompt
		return p.enter(m, strings.TrimSpace(p.text))
	case "backspace":
		r := []rune(m.prompt.text)
		m.typed("")
		m.prompt.text = string(r[:max(0, len(r)-1)])
	case "ctrl+u":
		m.typed("")
		m.prompt.text = ""
	default:
		m.typed(k.Text)
	}
	return nil
}

// typed adds text to the prompt, which others may hold.
func (m *Model) typed(text string) {
	p := *m.prompt
	p.text += strings.Map(func(r rune) rune {
		return nettext.Either(r < ' ', -1, r)
	}, text)
	m.prompt, m.note = &p, ""
}

// setFilter shows only what matches an expression.
func (m *Model) setFilter(expr string) tea.Cmd {
	if expr != "" {
		if _, err := display.Compile(expr); err != nil {
			m.note = err.Error()
			return nil
		}
	}
	m.prompt, m.filter, m.filtered = nil, expr, nil
	m.cancel()
	m.level = min(m.level, talks)
	return m.search()
}

// chosen returns the selection that w writes.
func (m *Model) chosen() Selection {
	switch m.level {
	case tables:
		sel, _ := m.selection()
		return m.filtering(sel)
	case talks:
		if row := m.place().row; row < len(m.talks) {
			sel := m.steps[talks].sel
			sel.Client, sel.Server = m.talks[row].Client, m.talks[row].Server
			return m.filtering(sel)
		}
		return m.filtering(m.steps[talks].sel)
	}
	sel := m.steps[ladder].sel // the whole conversation
	sel.Expr = ""
	return sel
}

// askSave asks for the file of the selected messages.
func (m *Model) askSave() {
	sel, at := m.chosen(), m.now
	if m.level > tables {
		at = m.seen
	}
	if at == nil {
		return
	}
	name := "qdissect"
	for _, a := range []netip.AddrPort{sel.Server, sel.Client} {
		name += nettext.Either(a.IsValid(), "-"+strings.NewReplacer(":", ".", "[", "", "]", "").Replace(a.String()), "")
	}
	m.prompt = &prompt{"write messages to", strings.TrimSuffix(name, ".0") + ".pcapng", func(m *Model, file string) tea.Cmd {
		if m.prompt = nil; file == "" {
			return nil
		}
		m.note = "writing…"
		save := m.c.Save
		return func() tea.Msg { return noteMsg(save(file, at, sel.expression())) }
	}}
}
