package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// ComparisonSchema names the format of a [Comparison] in JSON.
const ComparisonSchema = "qdissect-comparison/1"

// A Comparison says what changed from one report to another, as before and after a rule of a firewall: whether what should not come fell, and what
// honest clients lost. Reports differ in length, so all numbers are per second of their report, or shares.
type Comparison struct {
	Type     string          `json:"type"` // "comparison"
	Schema   string          `json:"schema"`
	Helped   string          `json:"helped"` // yes, in_part, no, nothing_to_stop
	Cost     string          `json:"cost"`   // none, some, cannot_tell
	Answer   []string        `json:"answer"` // sentences with both
	Before   Side            `json:"before"`
	After    Side            `json:"after"`
	Rates    []Change        `json:"rates"`
	Servers  []Changed       `json:"servers"`
	Verdicts []VerdictChange `json:"verdicts"`
}

// A Side is a report that is compared.
type Side struct {
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Packets uint64    `json:"packets"`
	Files   []string  `json:"files"`
}

// A Change is a number before and after.
type Change struct {
	Name   string  `json:"name"` // ends in _share or in _per_second
	Before float64 `json:"before"`
	After  float64 `json:"after"`
}

// A Changed is a server with its numbers.
type Changed struct {
	Address string   `json:"address"`
	Name    string   `json:"name,omitempty"`
	Changes []Change `json:"changes"`
}

// A VerdictChange is a verdict of one of the reports, or of both.
type VerdictChange struct {
	State  string `json:"state"` // gone, stays, new
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// What a change must be to be said: more of honest clients is lost by chance, or because others ask.
const (
	lessComplete  = 0.02 // of their requests
	fewerComplete = 0.2  // per second
	leastCompared = 20   // requests
	worthStopping = 1    // request per second
)

// A timed is a report with its length.
type timed struct {
	*Report
	seconds float64
}

func (t timed) rate(n uint64) float64 { return float64(n) / t.seconds }

// unwanted returns how many requests and datagrams of floods and of clients that ask too often came per second.
func (t timed) unwanted() float64 {
	return (float64(t.Totals.NeverFinished+t.Totals.Greedy) + totalOf(t.Verdicts, func(v Verdict) float64 {
		return either(v.Kind == CrowdOrForged || v.Kind == JunkFlood, max(v.Evidence.of("requests"), v.Evidence.of("datagrams")), 0)
	})) / t.seconds
}

// served returns how many of these got a reply at some servers, all if there are none, whoever else asks without a proof included.
func (t timed) served(of map[string]bool) float64 {
	n := uint64(0)
	for i := range t.Servers {
		if s := &t.Servers[i]; len(of) == 0 || of[s.Address] {
			n += s.ByProof.Unreturned.Requests + s.ByProof.Unproven.Complete
		}
	}
	for i := range t.Clients {
		if c := &t.Clients[i]; c.Class == TooOften {
			n += c.Replies
		}
	}
	return t.rate(n)
}

// targets returns the servers that verdicts name.
func (t timed) targets() map[string]bool {
	of := map[string]bool{}
	for _, v := range t.Verdicts {
		for _, s := range append(v.Servers, v.Server) {
			if s != "" && v.Unusual() {
				of[s] = true
			}
		}
	}
	return of
}

// honest counts the requests to some servers, all if there are none, and to the others: those of addresses that
// prove that they hear the server and do not ask too often, and all.
func (t timed) honest(of map[string]bool) (proved, all, others Proved) {
	for s := range each(t.Servers) {
		p := s.ByProof.heard()
		if len(of) > 0 && !of[s.Address] {
			others.add(p)
			continue
		}
		proved.add(p)
		all.add(s.counted())
	}
	var greedy Proved
	for i := range t.Clients {
		if c := &t.Clients[i]; c.Class == TooOften {
			greedy.add(Proved{c.Requests, min(c.Replies, c.Requests)})
		}
	}
	n := min(t.Totals.Greedy, proved.Requests) // also of those that are not listed
	proved.Requests -= n
	proved.Complete -= min(uint64(greedy.share()*float64(n)), proved.Complete)
	return proved, all, others
}

func (p *Proved) add(o Proved) {
	p.Requests += o.Requests
	p.Complete += o.Complete
}

// heard counts the requests of addresses that prove that they hear the server.
func (p Proofs) heard() Proved {
	p.Proven.add(p.Vouched)
	return p.Proven
}

// counted counts the requests of which is known what became of them.
func (s *Server) counted() Proved {
	return Proved{less(s.Requests, s.Outcome.Other), s.Outcome.Answered}
}

func (p Proved) share() float64 { return float64(p.Complete) / float64(max(p.Requests, 1)) }

// Compare compares two reports.
func Compare(before, after *Report) *Comparison {
	a, b := timed{before, max(before.To.Sub(before.From).Seconds(), 1)}, timed{after, max(after.To.Sub(after.From).Seconds(), 1)}
	c := &Comparison{Type: "comparison", Schema: ComparisonSchema, Before: a.side(), After: b.side(), Servers: []Changed{}, Verdicts: []VerdictChange{}}
	x, y := &a.Totals, &b.Totals
	c.Rates = []Change{
		{"requests_honest_per_second", a.rate(x.Honest), b.rate(y.Honest)},
		{"requests_greedy_per_second", a.rate(x.Greedy), b.rate(y.Greedy)},
		{"requests_never_finished_per_second", a.rate(x.NeverFinished), b.rate(y.NeverFinished)},
		{"unknown_per_second", a.rate(x.Unknown), b.rate(y.Unknown)},
		{"replies_per_second", a.rate(x.Replies), b.rate(y.Replies)},
		{"bytes_in_per_second", a.rate(x.BytesIn), b.rate(y.BytesIn)},
		{"bytes_out_per_second", a.rate(x.BytesOut), b.rate(y.BytesOut)},
	}
	c.servers(a, b)
	c.verdicts(a, b)
	c.helped(a, b)
	c.cost(a, b)
	return c
}

func (t timed) side() Side {
	s := Side{From: t.From, To: t.To, Packets: t.Totals.Packets, Files: []string{}}
	for _, f := range t.Made.Files {
		s.Files = append(s.Files, f.Name)
	}
	return s
}

func (c *Comparison) servers(a, b timed) {
	of, list := a.targets(), slices.Concat(a.Servers, b.Servers)
	slices.SortStableFunc(list, func(x, y Server) int { return trueFirst[of[x.Address]] - trueFirst[of[y.Address]] }) // those that verdicts name first
	for _, s := range list {
		same := func(o Server) bool { return o.Address == s.Address }
		if slices.ContainsFunc(c.Servers, func(o Changed) bool { return o.Address == s.Address }) || len(c.Servers) == mostServers {
			continue
		}
		ch := Changed{Address: s.Address, Name: s.Name}
		var sides [2]Server
		for i, t := range []timed{a, b} {
			if k := slices.IndexFunc(t.Servers, same); k >= 0 {
				sides[i] = t.Servers[k]
			}
		}
		was, is := &sides[0], &sides[1]
		p, q := &was.ByProof, &is.ByProof
		ch.Changes = []Change{
			{"proven_per_second", a.rate(p.Proven.Requests), b.rate(q.Proven.Requests)}, {"vouched_per_second", a.rate(p.Vouched.Requests), b.rate(q.Vouched.Requests)},
			{"unproven_per_second", a.rate(p.Unproven.Requests), b.rate(q.Unproven.Requests)}, {"unreturned_per_second", a.rate(p.Unreturned.Requests), b.rate(q.Unreturned.Requests)},
			{"complete_per_second", a.rate(was.counted().Complete), b.rate(is.counted().Complete)}, {"bytes_out_per_second", a.rate(was.BytesOut), b.rate(is.BytesOut)},
			{"complete_share", was.counted().share(), is.counted().share()},
		}
		if was, is := p.heard(), q.heard(); was.Requests+is.Requests > 0 {
			ch.Changes = append(ch.Changes, Change{"complete_of_proven_share", was.share(), is.share()})
		}
		c.Servers = append(c.Servers, ch)
	}
}

func (c *Comparison) verdicts(a, b timed) {
	key := func(v *Verdict) string { return v.Kind + cmp.Or(v.Server, v.Network, strings.Join(v.Sources, " ")) }
	for v := range each(a.Verdicts) {
		if !v.Unusual() {
			continue
		}
		ch := VerdictChange{State: "gone", Before: v.Text}
		if k := slices.IndexFunc(b.Verdicts, func(o Verdict) bool { return key(&o) == key(v) }); k >= 0 {
			ch.State, ch.After = "stays", b.Verdicts[k].Text
		}
		c.Verdicts = append(c.Verdicts, ch)
	}
	for i := range b.Verdicts {
		if v := &b.Verdicts[i]; v.Unusual() && !slices.ContainsFunc(a.Verdicts, func(o Verdict) bool { return key(&o) == key(v) }) {
			c.Verdicts = append(c.Verdicts, VerdictChange{State: "new", After: v.Text})
		}
	}
}

// fell says how a rate changed.
func fell(was, is float64) string {
	switch {
	case math.Abs(is-was) <= 0.05*was:
		return fmt.Sprintf("are about as many as before (%s per second)", rounded(is))
	case was < worthStopping/10.:
		return fmt.Sprintf("rose from %s to %s per second", rounded(was), rounded(is))
	case is > was:
		return fmt.Sprintf("rose by %s, from %s to %s per second", percent(is/was-1), rounded(was), rounded(is))
	}
	return fmt.Sprintf("fell by %s, from %s to %s per second", percent(1-is/was), rounded(was), rounded(is))
}

// helped says whether what should not come fell.
func (c *Comparison) helped(a, b timed) {
	of := a.targets()
	was, is, served, servedNow := a.unwanted(), b.unwanted(), a.served(of), b.served(of)
	replies := "replies to floods, to clients that ask too often, and to others that prove nothing, " + fell(served, servedNow)
	text := "requests of floods and of clients that ask too often " + fell(was, is)
	switch {
	case max(was*a.seconds, is*b.seconds) < leastCompared || was < worthStopping && is < worthStopping:
		c.Helped, text = "nothing_to_stop", "There was nothing to stop: before, hardly a request was of a flood or of a client that asks too often."
	case is <= was/10:
		c.Helped, text = "yes", "It helped: "+text+"."
	case is <= was*7/10:
		c.Helped, text = "in_part", "It helped in part: "+text+"."
	case served > 0 && servedNow <= served/2:
		c.Helped, text = "yes", "It helped: "+replies+". The capture has the requests before the rule drops them: "+text+"."
	default:
		c.Helped, text = "no", "It did not help: "+text+", and "+replies+"."
	}
	c.Answer = append(c.Answer, text)
}

// cost says what honest clients lost, at the servers that the verdicts before name, or at all.
func (c *Comparison) cost(a, b timed) {
	of := a.targets()
	where := either(len(of) == 0, "at all servers", "at the servers that were attacked")
	was, all, others := a.honest(of)
	is, allNow, othersNow := b.honest(of)
	left := b.rate(is.Complete) / max(a.rate(was.Complete), 1e-9)
	text := fmt.Sprintf("clients that proved their address got %s whole answers per second %s, before %s; %s of their requests there got one, before %s",
		rounded(b.rate(is.Complete)), where, rounded(a.rate(was.Complete)), percent(is.share()), percent(was.share()))
	if min(others.Complete, othersNow.Complete) >= leastCompared { // those who ask there show whether fewer ask
		rest := b.rate(othersNow.Complete) / a.rate(others.Complete)
		left /= rest
		text += fmt.Sprintf(". At other servers these answers changed from %s to %s per second", rounded(a.rate(others.Complete)), rounded(b.rate(othersNow.Complete)))
	}
	switch {
	case was.Requests < leastCompared:
		c.Cost, text = "cannot_tell", fmt.Sprintf("What it cost honest clients cannot be told: hardly one proves its address %s. Of all requests %s got a whole answer, before %s; %s per second, before %s.",
			where, percent(allNow.share()), percent(all.share()), rounded(b.rate(allNow.Complete)), rounded(a.rate(all.Complete)))
	case left < 1-fewerComplete:
		c.Cost, text = "some", fmt.Sprintf("It cost honest clients about %s: %s.", percent(1-left), text)
	case is.share() < was.share()-lessComplete:
		c.Cost, text = "some", "It cost honest clients something: "+text+"."
	default:
		c.Cost, text = "none", "Honest clients lost nothing that shows: "+text+"."
	}
	c.Answer = append(c.Answer, text)
}

// Title returns the name of a rate or a share in words.
func (c Change) Title() string {
	if t := map[string]string{
		"requests_honest_per_second": "honest requests", "requests_greedy_per_second": "requests too often", "requests_never_finished_per_second": "requests of floods",
		"unknown_per_second": "not recognised", "complete_per_second": "whole answers", "complete_share": "requests with a whole answer", "complete_of_proven_share": "of the proven and vouched",
	}[c.Name]; t != "" {
		return t
	}
	return strings.ReplaceAll(strings.TrimSuffix(c.Name, "_per_second"), "_", " ")
}

// Values returns the number before, after, and by how much it changed.
func (c Change) Values() (list [3]string) {
	for i, v := range []float64{c.Before, c.After} {
		switch {
		case strings.HasSuffix(c.Name, "_share"):
			list[i] = percent(v)
		case strings.HasPrefix(c.Name, "bytes"):
			list[i] = FormatSize(nearest(v))
		default:
			list[i] = rounded(v)
		}
	}
	switch {
	case strings.HasSuffix(c.Name, "_share"), c.Before < 0.05:
	case math.Abs(c.After/c.Before-1) < 0.0005:
		list[2] = "0 %"
	case c.After >= 10*c.Before:
		list[2] = "×" + rounded(c.After/c.Before)
	case c.After >= c.Before:
		list[2] = "+" + percent(c.After/c.Before-1)
	default:
		list[2] = "-" + percent(1-c.After/c.Before)
	}
	return list
}

// AppendText appends the comparison as text, the answer first.
func (c *Comparison) AppendText(dst []byte) []byte {
	t := text{rows: 1}
	for _, s := range c.Answer {
		t.wrapped("* ", shown([]byte(s)))
	}
	t.line("")
	for i, s := range []Side{c.Before, c.After} {
		t.line("%-8s %s to %s UTC, %s, %s packets", []string{"before", "after"}[i], s.From.Format("2006-01-02 15:04:05"), s.To.Format("15:04:05"), duration(s.To.Sub(s.From)), number(s.Packets))
	}
	t.line("")
	t.line("%-40s %12s %12s %10s", "PER SECOND", "before", "after", "change")
	for _, r := range c.Rates {
		v := r.Values()
		t.line("%-40s %12s %12s %10s", r.Title(), v[0], v[1], v[2])
	}
	row := func(head string, cells ...string) {
		line := fmt.Sprintf("%-22s", ends(shown([]byte(head)), 22))
		for _, s := range cells {
			line += fmt.Sprintf(" %13s", s)
		}
		t.line("%s", line)
	}
	for i, s := range c.Servers {
		if i == 0 {
			t.line("")
			row("SERVERS, per second", "proven", "without proof", "whole answers", "of proven")
		}
		ch := s.Changes
		sum := func(a, b Change) Change { return Change{a.Name, a.Before + b.Before, a.After + b.After} }
		row(s.Address, arrows(append([]Change{sum(ch[0], ch[1]), sum(ch[2], ch[3]), ch[4]}, ch[7:]...)...)...)
	}
	for i, v := range c.Verdicts {
		if i == 0 {
			t.line("")
			t.line("VERDICTS")
		}
		t.wrapped(fmt.Sprintf("  %-6s", v.State), shown([]byte(cmp.Or(v.After, v.Before))))
	}
	return append(dst, t.b.String()...)
}

// arrows writes what changed in one column each.
func arrows(list ...Change) (cells []string) {
	for _, c := range list {
		v := c.Values()
		v[0] += either(v[0] != v[1], " → "+v[1], "")
		cells = append(cells, v[0])
	}
	return cells
}
