package top

import (
	"cmp"
	"errors"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/report"
)

// A Selection chooses messages: those of a server, of a client (of any port if its port is 0), that match an expression.
// What is zero chooses everything.
type Selection struct {
	Server, Client netip.AddrPort
	Expr           string
}

// ends reports whether a datagram between two endpoints is of the server and the client.
func (s *Selection) ends(src, dst netip.AddrPort) bool {
	is := func(want, got netip.AddrPort) bool {
		return !want.IsValid() || want == got || want.Port() == 0 && want.Addr() == got.Addr()
	}
	return is(s.Server, dst) && is(s.Client, src) || is(s.Server, src) && is(s.Client, dst)
}

// A Conversation is what a client and a server say to each other.
type Conversation struct {
	Client     netip.AddrPort
	Server     netip.AddrPort
	Protocol   string
	Requests   uint64
	Replies    uint64
	Challenges uint64 // among the replies
	Others     uint64 // messages that are neither
	Last       time.Time
	Newest     string // the newest message
	Findings   uint64
	matches    uint64
	worst      dissect.Severity
	key        string
}

// state says how a conversation goes.
func (c *Conversation) state() string {
	switch {
	case c.Requests == 0:
		return ""
	case c.Replies == 0:
		return "unanswered"
	case c.Replies == c.Challenges:
		return "challenge only"
	}
	return "answered"
}

// A Line is a message of a conversation, or a finding between its messages (then Message is "").
type Line struct {
	Frame    uint64
	Time     time.Time
	Up       bool
	Message  string
	Contents string
	RTT      time.Duration
	Findings []string // "warning: text"
	Matches  bool     // the expression
	worst    dissect.Severity
}

// A Detail is a message with all its fields as text.
type Detail struct {
	Tree, Hex []string
}

// The bounds of what a search keeps.
const (
	mostConversations = 10_000
	mostLines         = 2_000
)

// A search reads messages again and keeps those of a selection. The functions are those of a [report.Reporter].
type search struct {
	report.Reporter
	sel     Selection
	matcher *display.Matcher // of the expression, nil without one
	end     error            // ends the run
	record  func(r *dissect.Record, matches bool)
	finding func(f *dissect.FlowFinding, matches bool)
}

// run reads everything that a snapshot holds.
func (s *search) run(o pipeline.Options) error {
	s.Reporter = report.SummaryOnly(report.NewCounts())
	if s.sel.Expr != "" {
		f, err := display.Compile(s.sel.Expr)
		if err != nil {
			return err
		}
		s.matcher, o.Analysis.Tree = f.Matcher(), true
	}
	o = o.Only(s.sel.ends)
	o.Out, o.Workers, o.Reporter = io.Discard, 1, func() report.Reporter { return s }
	var trouble error
	o.Trouble = func(err error) { trouble = err }
	_, err := pipeline.Run(o)
	return cmp.Or(err, trouble)
}

func (s *search) Record(r *dissect.Record) error {
	s.record(r, s.matcher == nil || s.matcher.Record(r))
	return s.end
}

func (s *search) Finding(f *dissect.FlowFinding) error {
	if s.sel.ends(f.Src, f.Dst) {
		s.finding(f, s.matcher == nil || s.matcher.Finding(f))
	}
	return nil
}

// Filtered makes a report of the messages that match an expression. What became of requests is not counted.
func Filtered(o pipeline.Options, expr string, so stats.Options) (*stats.Report, error) {
	a := stats.New()
	s := &search{sel: Selection{Expr: expr}}
	s.record = func(r *dissect.Record, ok bool) {
		if ok {
			a.Record(r)
		}
	}
	s.finding = func(f *dissect.FlowFinding, ok bool) {
		if ok {
			a.Finding(f)
		}
	}
	if err := s.run(o); err != nil {
		return nil, err
	}
	return a.Report(so), nil
}

// Conversations returns the conversations in which a message matches, the newest first. If there are too many, those with
// the fewest messages are left out; left is their number. With an expression, the counts may lack messages
// from before the first that matches.
func Conversations(o pipeline.Options, sel Selection) (list []*Conversation, left int, err error) {
	all := make(map[[2]netip.AddrPort]*Conversation)
	of := func(client, server netip.AddrPort, p *dissect.Protocol, t time.Time) *Conversation {
		c := all[[2]netip.AddrPort{client, server}]
		if c == nil {
			if c = all[[2]netip.AddrPort{server, client}]; c == nil {
				if len(all) == 2*mostConversations {
					left += forget(all)
				}
				c = &Conversation{Client: client, Server: server}
				all[[2]netip.AddrPort{client, server}] = c
			}
		}
		if c.Last = t; p != nil {
			c.Protocol = p.Name
		}
		return c
	}
	s := &search{sel: sel}
	s.record = func(r *dissect.Record, ok bool) {
		client, server := r.Src, r.Dst
		if r.Src == sel.Server || r.Dst != sel.Server && r.Type.Role == dissect.Reply {
			client, server = r.Dst, r.Src
		}
		c := of(client, server, r.Protocol, r.Time)
		switch r.Type.Role {
		case dissect.Request:
			c.Requests++
		case dissect.Reply:
			if c.Replies++; r.Pair.Challenge == dissect.ChallengeIssued {
				c.Challenges++
			}
		default:
			c.Others++
		}
		c.Newest = r.Type.Title
		for i := range r.Findings {
			c.found(r.Findings[i].Type.Severity)
		}
		if ok {
			c.matches++
		}
	}
	s.finding = func(f *dissect.FlowFinding, ok bool) {
		client, server := f.Src, f.Dst
		if f.Src == sel.Server {
			client, server = f.Dst, f.Src
		}
		c := of(client, server, f.Protocol, f.Time)
		if c.found(f.Type.Severity); ok {
			c.matches++
		}
	}
	if err := s.run(o); err != nil {
		return nil, 0, err
	}
	left += forget(all)
	for _, c := range all {
		if c.matches > 0 {
			c.key = c.Client.String() + " " + c.Server.String()
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *Conversation) int {
		return cmp.Or(b.Last.Compare(a.Last), a.Client.Compare(b.Client), a.Server.Compare(b.Server))
	})
	return list, left, nil
}

func (c *Conversation) found(s dissect.Severity) {
	if s > dissect.Chat {
		c.Findings++
		c.worst = max(c.worst, s)
	}
}

// forget removes conversations until there is room: those in which nothing matches so far, then those with the fewest
// messages, the oldest first. It returns the number of those in which something matches.
func forget(all map[[2]netip.AddrPort]*Conversation) (matching int) {
	list := slices.SortedFunc(maps.Values(all), func(a, b *Conversation) int {
		return cmp.Or(cmp.Compare(min(a.matches, 1), min(b.matches, 1)), cmp.Compare(a.Requests+a.Replies+a.Others, b.Requests+b.Replies+b.Others), a.Last.Compare(b.Last), a.Client.Compare(b.Client), a.Server.Compare(b.Server))
	})
	list = list[:max(0, len(list)-mostConversations)]
	for _, c := range list {
		delete(all, [2]netip.AddrPort{c.Client, c.Server})
		if c.matches > 0 {
			matching++
		}
	}
	return matching
}

// Ladder returns the newest messages of a conversation, all of them marked that match; left is how many older ones there
// are.
func Ladder(o pipeline.Options, sel Selection) (lines []Line, left int, err error) {
	add := func(l Line) {
		if len(lines) == 2*mostLines {
			left += mostLines
			lines = slices.Delete(lines, 0, mostLines)
		}
		lines = append(lines, l)
	}
	s := &search{sel: sel}
	s.record = func(r *dissect.Record, ok bool) {
		l := Line{
			Frame: r.Frame, Time: r.Time, Up: r.Src == sel.Client, Message: r.Type.Title, Contents: string(r.AppendContents(nil)),
			Matches: ok && s.matcher != nil,
		}
		if r.TimeKnown {
			l.RTT = r.RTT
		}
		for i := range r.Findings {
			l.found(&r.Findings[i])
		}
		add(l)
	}
	s.finding = func(f *dissect.FlowFinding, ok bool) {
		l := Line{Frame: f.Frame, Time: f.Time, Up: f.Src == sel.Client, Matches: ok && s.matcher != nil}
		if l.found(&f.Finding); len(l.Findings) > 0 {
			add(l)
		}
	}
	if err := s.run(o); err != nil {
		return nil, 0, err
	}
	if over := len(lines) - mostLines; over > 0 {
		left, lines = left+over, lines[over:]
	}
	slices.SortStableFunc(lines, func(a, b Line) int { return a.Time.Compare(b.Time) }) // findings come when their time has passed
	return lines, left, nil
}

func (l *Line) found(f *dissect.Finding) {
	if f.Type.Severity > dissect.Chat {
		l.Findings = append(l.Findings, f.Type.Severity.String()+": "+string(f.AppendText(nil)))
		l.worst = max(l.worst, f.Type.Severity)
	}
}

var (
	errGone  = errors.New("the message is no longer in memory")
	errFound = errors.New("found")
)

// Details returns the message of a line.
func Details(o pipeline.Options, sel Selection, line *Line) (*Detail, error) {
	var d *Detail
	o.Analysis.Tree, sel.Expr = true, ""
	s := &search{sel: sel, finding: func(*dissect.FlowFinding, bool) {}}
	s.record = func(r *dissect.Record, _ bool) {
		if r.Frame != line.Frame || !r.Time.Equal(line.Time) {
			return
		}
		text := func(detail report.Detail) []string {
			rep := report.NewText(report.TextOptions{Detail: detail, Clock: report.Date, Zone: time.UTC})
			s.end = cmp.Or(s.end, rep.Record(r))
			return strings.Split(strings.TrimRight(string(rep.Bytes()), "\n"), "\n")
		}
		d = &Detail{Tree: text(report.Tree), Hex: text(report.Hex)}
		s.end = cmp.Or(s.end, errFound)
	}
	switch err := s.run(o); {
	case err != nil && err != errFound:
		return nil, err
	case d == nil:
		return nil, errGone
	}
	return d, nil
}
