package stats

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/qdissect/qdissect/internal/nettext"
)

// Options say what a report is about and how it was made.
type Options struct {
	// Home are the networks of the servers. If there are none, servers are the hosts that reply. HomeBy is that of [Report];
	// own addresses ("interface") of which none is a server count for nothing.
	Home   []netip.Prefix
	HomeBy string
	// Packets is the number of packets read. OneSided says that only one direction was captured.
	Packets  uint64
	OneSided bool
	Unknowns []Guess
	Streams  []Stream // over TCP
	Made     Made
	whole    bool // all verdicts, and nothing else about the whole capture
	// Hide, if not nil, replaces addresses and names.
	Hide *Hiding
	// Rows is the length of the lists of servers and clients, 0 for 20.
	Rows int
	// Servers is the length of the list of servers if it is longer. Those beyond Rows have nothing by interval.
	Servers int
}

// The lengths of the lists of a report.
const (
	mostServers = 20 // and clients, unless the options say otherwise
	mostVictims = 10
	mostKinds   = 30
	mostStreams = 3 // servers with TCP
)

// A reporting is a report that is being made.
type reporting struct {
	*Report
	a          *Aggregate
	o          *Options
	moments    *moments
	servers    []*entry[server]
	clients    []*entry[client]
	events     []event
	victims    []victim
	groups     []group
	greedy     map[*entry[client]]bool
	carpets    []carpet
	blackouts  []blackout
	toAllHosts []*entry[server]          // those whose address is that of all hosts of a network
	few        bool                      // there is no verdict: servers are judged by less
	dead       []*entry[server]          // those that single addresses ask, and that do not reply
	silent     *entry[server]            // that a single address asks, and that does not reply
	complete   uint64                    // requests that got what they asked for
	ended      uint64                    // of so many that had to, and whose end is known
	optional   uint64                    // requests without a reply to which a server may be silent
	replaced   map[netip.Addr]netip.Addr // what is shown of addresses, if others are
	grid       struct {                  // of the intervals
		width int
		start int64
	}
}

// Report makes a report of what a counts.
func (a *Aggregate) Report(o Options) *Report {
	a.endRuns()
	r := &reporting{a: a, o: &o, Report: &Report{
		// In JSON, an empty list is [].
		Head: Head{Type: "report", Schema: Schema, HomeBy: cmp.Or(o.HomeBy, "replies"), Home: []string{}}, Made: o.Made, Unknowns: o.Unknowns,
		Verdicts: []Verdict{}, Kinds: []Kind{}, Servers: []Server{}, Clients: []Client{}, Victims: []Client{}, Rules: []Rule{},
		Findings: []Finding{}, Talks: []Talk{}, Limits: Limits{Global: []Limit{}}, RoundTrips: RoundTrips{Heat: [][]uint64{}},
		Timeline: Timeline{Requests: Series{}, Replies: Series{}, Challenges: Series{}, Unanswered: Series{}, Unknown: Series{}, BytesIn: Series{}, BytesOut: Series{}, Lost: Series{}},
	}}
	if r.Made.Files == nil {
		r.Made.Files = []File{}
	}
	o.Rows = cmp.Or(o.Rows, mostServers)
	if o.HomeBy == "interface" && !slices.ContainsFunc(a.servers.entries, func(e entry[server]) bool { return r.isHome(e.addr()) }) {
		o.Home, r.HomeBy = nil, "replies" // it forwards packets, or sees those of a mirror port
	}
	r.Home = append(r.Home, nettext.Each(o.Home, netip.Prefix.String)...)
	if a.first <= a.last {
		r.From, r.To = instant(a.first), instant(a.last)
	}
	r.moments = &a.moments
	r.pickServers()
	r.pickClients()
	r.hide()
	if r.totals(); r.Totals.Replies == 0 && r.Totals.Answered > 0 {
		o.OneSided = false // parts or fragments of replies came
	}
	r.timeline()
	r.roundTrips()
	r.listKinds()
	slices.SortStableFunc(r.servers, func(a, b *entry[server]) int {
		return cmp.Or(trueFirst[r.home(a)]-trueFirst[r.home(b)], cmp.Compare(b.v.requests, a.v.requests))
	})
	r.findVictims()
	r.findEvents()
	r.nameEvents()
	r.findCarpets()
	r.findGreedy()
	if !o.whole {
		r.listClients()
	}
	r.limits()
	r.listFindings()
	r.unclear()
	r.judge()
	r.listServers()
	if r.rules(); len(r.Remedies) == 0 {
		for i := range r.Verdicts {
			r.Verdicts[i].Advice = strings.Replace(r.Verdicts[i].Advice, " (qdissect rules prints the rule)", "", 1)
		}
	}
	return r.Report
}

// pickClients sums up all clients and picks those of which something may be said: the busiest, and those that do what few
// do.
func (r *reporting) pickClients() {
	var busiest []*entry[client]                                             // in order
	often := uint64(min(leastOften, peakOften*max(r.duration(), eventTime))) // in a short capture
	for e := range each(r.a.clients.entries) {
		if e.v.requests >= often || e.v.requests >= manyServers && e.v.distinctServers() >= manyServers {
			r.clients = append(r.clients, e)
		} else if e.v.requests > 0 {
			if n := len(busiest); n == r.o.Rows && byRequests(busiest[n-1], e) < 0 {
				continue
			} else if n == r.o.Rows {
				busiest = busiest[:n-1]
			}
			at, _ := slices.BinarySearchFunc(busiest, e, byRequests)
			busiest = slices.Insert(busiest, at, e)
		}
	}
	r.clients = append(r.clients, busiest...)
	slices.SortFunc(r.clients, byRequests)
}

// pickServers picks the servers of which something may be said: the busiest, and those with enough requests for a verdict. The totals count all.
func (r *reporting) pickServers() {
	r.servers = slices.DeleteFunc(pointers(r.a.servers.entries), func(e *entry[server]) bool { return e.v.protocol == 0 })
	r.a.totals.Servers = uint64(len(r.servers))
	slices.SortFunc(r.servers, func(a, b *entry[server]) int {
		return cmp.Or(cmp.Compare(b.v.requests, a.v.requests), a.compare(&b.key))
	})
	if len(r.a.servers.entries) > maxServers {
		n := min(r.o.Rows, len(r.servers))
		r.servers = append(r.servers[:n], slices.DeleteFunc(r.servers[n:], func(e *entry[server]) bool { return e.v.requests+e.v.replies < leastJudged })...)
	}
}

// byRequests orders clients, the busiest first.
func byRequests(a, b *entry[client]) int {
	return cmp.Or(cmp.Compare(b.v.requests, a.v.requests), a.compare(&b.key))
}

func instant(t int64) time.Time { return time.Unix(0, t).UTC() }

func (r *reporting) totals() {
	t := r.a.totals
	t.Packets = r.o.Packets
	var m moment
	for i := range r.moments.buckets {
		m.add(&r.moments.buckets[i])
	}
	t.Requests, t.Replies, t.Challenges, t.Unknown, t.BytesIn, t.BytesOut = m.requests, m.replies, m.challenges, m.unknown, m.bytesIn, m.bytesOut
	var due, more Outcome
	for k := range each(r.a.kinds) {
		o := k.outcome()
		t.Answered += o.replied()
		if t.Unanswered += o.Unanswered + o.Refused; k.asksChallenge() {
			o.Answered, o.ChallengeOnly = o.Answered+o.ChallengeOnly, 0
		}
		addTo(either(k.mute(), &more, &due).counts(), o.counts())
	}
	due, r.ended = judged(due, more)
	r.complete, r.optional = due.Answered, more.Unanswered
	r.toAllHosts = slices.DeleteFunc(slices.Clone(r.servers), func(e *entry[server]) bool { return !r.toAll(e) })
	for _, e := range r.toAllHosts {
		r.ended -= min(e.v.fates.missed(), less(r.ended, r.complete)) // not all hosts are servers
	}
	t.Addresses = r.a.addresses.count()
	t.Addresses.Count = min(t.Addresses.Count, t.Requests) // an estimate may be too high
	r.Totals = t
}

// duration returns the time of the capture in seconds, at least one.
func (r *reporting) duration() float64 { return max(r.To.Sub(r.From).Seconds(), 1) }

func (r *reporting) timeline() {
	t, l := &r.Timeline, r.moments
	t.Width = time.Duration(widths[l.width])
	if len(l.buckets) == 0 {
		t.Intervals, t.IntervalWidth = 0, t.Width
		return
	}
	t.Start = instant(timeOf(l.start, widths[l.width]))
	n := len(l.buckets)
	for _, s := range []*Series{&t.Requests, &t.Replies, &t.Challenges, &t.Unanswered, &t.Unknown, &t.BytesIn, &t.BytesOut, &t.Lost} {
		*s = make(Series, n)
	}
	second, inSecond := int64(math.MinInt64), uint64(0)
	for i := range l.buckets {
		m := &l.buckets[i]
		t.Requests[i], t.Replies[i], t.Challenges[i], t.Unanswered[i] = m.requests, m.replies, m.challenges, m.unanswered
		t.Unknown[i], t.BytesIn[i], t.BytesOut[i], t.Lost[i] = m.unknown, m.bytesIn, m.bytesOut, m.lost
		if t.Width > time.Second {
			continue
		}
		if s := floorDiv((l.start+int64(i))*widths[l.width], int64(time.Second)); s != second {
			second, inSecond = s, 0
		}
		inSecond += m.requests
		t.Peak = max(t.Peak, inSecond)
	}
	if t.Width > time.Second {
		r.a.endSecond()
		for _, n := range r.a.peaks.buckets { // there are none without requests
			t.Peak = max(t.Peak, uint64(n))
		}
	}
	r.grid.width = l.width
	first, last := timeOf(l.start, widths[l.width]), timeOf(l.start+int64(n), widths[l.width])-1
	for floorDiv(last, widths[r.grid.width])-floorDiv(first, widths[r.grid.width])+1 > maxCells && r.grid.width+1 < len(widths) {
		r.grid.width++
	}
	r.grid.start = floorDiv(first, widths[r.grid.width])
	t.Intervals = int(floorDiv(last, widths[r.grid.width]) - r.grid.start + 1)
	t.IntervalWidth = time.Duration(widths[r.grid.width])
	t.IntervalStart = instant(timeOf(r.grid.start, widths[r.grid.width]))
}

// interval returns the interval of a time.
func (r *reporting) interval(t int64) int {
	i := floorDiv(t, widths[r.grid.width]) - r.grid.start
	return int(min(max(i, 0), int64(r.Timeline.Intervals)-1))
}

// cells returns counts by interval. What came at times without buckets is in the first one.
func (r *reporting) cells(l *cells, first int64, sum cell) []Cell {
	if r.o.whole {
		return nil // an answer shows none
	}
	list := make([]Cell, r.Timeline.Intervals)
	if len(list) == 0 {
		return list
	}
	add := func(from, _ int64, c *cell) {
		at := &list[r.interval(from)]
		at.Requests += c.requests
		at.Replies += c.replies
		at.Unanswered += c.unanswered
		at.BytesIn += c.bytesIn
		at.BytesOut += c.bytesOut
	}
	if l == nil {
		add(first, first, &sum)
	} else {
		l.in(add)
	}
	return list
}

func (r *reporting) roundTrips() {
	t, h := &r.RoundTrips, &r.a.trips
	t.Count, t.P50, t.P90, t.P99, t.Max = h.n, h.quantile(500), h.quantile(900), h.quantile(990), h.quantile(1000)
	t.ColumnWidth = time.Duration(widths[r.a.heats.width])
	t.Bounds = heatBounds[:]
	r.a.heats.in(func(from, _ int64, h *heat) {
		if len(t.Heat) == 0 {
			t.Start = instant(from)
		}
		column := make([]uint64, len(h))
		for i, n := range h {
			column[i] = uint64(n)
		}
		t.Heat = append(t.Heat, column)
	})
}

func (r *reporting) listKinds() {
	for k := range each(r.a.kinds) {
		sum := k.sum()
		if sum.requests == 0 {
			continue
		}
		spark := make(Series, r.Timeline.Intervals)
		k.cells.in(func(from, _ int64, c *cell) { spark[r.interval(from)] += c.requests })
		r.Kinds = append(r.Kinds, Kind{
			Protocol: k.protocol, Message: k.message(), Title: k.title(), Requests: sum.requests, Outcome: k.outcome(), BytesIn: sum.bytesIn, BytesOut: k.bytesOut, Spark: spark,
		})
	}
	slices.SortFunc(r.Kinds, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Message, b.Message))
	})
	r.Kinds = r.Kinds[:min(len(r.Kinds), mostKinds)]
}

// home reports whether a server is one of those that the report is about.
func (r *reporting) home(e *entry[server]) bool {
	return r.isHome(e.addr()) || len(r.o.Home) == 0 && (e.v.replies > 0 || r.Totals.Replies == 0 || e.v.sources().Count >= manyServers)
}

func (r *reporting) isHome(a netip.Addr) bool {
	return slices.ContainsFunc(r.o.Home, func(p netip.Prefix) bool { return p.Contains(a) })
}

// listServers lists servers in their order: those of home first.
func (r *reporting) listServers() {
	for _, e := range r.listed() {
		v := &e.v
		s := Server{
			Address: r.address(e), Protocol: r.a.protocols[v.protocol-1], Name: string(r.name(v.appendPlain(nil, v.name))), Map: string(r.name(v.appendPlain(nil, v.mapName))), Players: int(v.players) - 1,
			Requests: v.requests, Replies: v.replies, Unknown: v.strays(), Outcome: v.fates.of(v.requests), Clients: v.sources(), BytesIn: v.bytesIn, BytesOut: v.bytesOut,
			ByProof: Proofs{v.proved[proven], v.proved[vouched], v.proved[unproven], v.proved[unreturned]}, ICMP: v.says(), Incomplete: v.incomplete, Home: r.home(e), Error: e.err,
		}
		var l *cells
		if v.more != nil {
			l = &v.more.cells
			s.P50, s.P99 = v.more.trips.quantile(500), v.more.trips.quantile(990)
		}
		if len(r.Servers) < r.o.Rows {
			s.ByInterval = r.cells(l, v.first, v.whole())
		}
		r.Servers = append(r.Servers, s)
	}
}

// listed returns the first servers, of which those that verdicts name displace others, and then the rest.
func (r *reporting) listed() (list []*entry[server]) {
	if len(r.servers) <= r.o.Rows {
		return r.servers
	}
	named := map[string]bool{}
	for _, v := range r.Verdicts {
		named[v.Server] = true
	}
	room := r.o.Rows
	for _, e := range r.servers {
		if named[r.address(e)] {
			room--
		}
	}
	rest := slices.DeleteFunc(slices.Clone(r.servers), func(e *entry[server]) bool {
		is := named[r.address(e)]
		if !is {
			room--
		}
		in := len(list) < r.o.Rows && (is || room >= 0)
		if in {
			list = append(list, e)
		}
		return in
	})
	return append(list, rest[:max(0, min(len(rest), r.o.Servers-len(list)))]...)
}

func (r *reporting) listClients() {
	r.Clients = append(r.Clients, nettext.Each(r.clients[:min(len(r.clients), r.o.Rows)], r.client)...)
	for i := range r.victims {
		list := r.victims[i].clients
		r.Victims = append(r.Victims, nettext.Each(list[:min(len(list), mostVictims-len(r.Victims))], r.client)...)
	}
	slices.SortStableFunc(r.Victims, func(a, b Client) int { return cmp.Compare(b.BytesOut, a.BytesOut) })
}

func (r *reporting) client(e *entry[client]) Client {
	v := &e.v
	c := Client{
		Address: r.source(e), Class: r.className(e), Servers: v.distinctServers(), Requests: v.requests, Replies: v.replies,
		Peak:    max(uint64(v.peak), v.requests*uint64(time.Second)/uint64(max(v.last-v.first, int64(time.Second)))), // that of all seconds together is no more
		BytesIn: v.bytesIn, BytesOut: v.bytesOut, First: instant(v.first), Last: instant(v.last), Error: e.err,
	}
	if v.bytesIn > 0 {
		c.Factor = round(float64(v.bytesOut)/float64(v.bytesIn), 2)
	}
	if i := v.favourite(); i > 0 {
		c.Kind = r.kindName(int(i) - 1)
	}
	c.ByInterval = r.cells(v.cells, v.first, v.whole())
	return c
}

func (r *reporting) kindName(i int) string {
	return r.a.kinds[i].protocol + " " + r.a.kinds[i].message()
}

func (r *reporting) className(e *entry[client]) Class {
	c := &e.v
	switch is := c.class(); {
	case r.greedy[e]:
		return TooOften
	case is == never, is == mute && (r.isVictim(e) ||
		slices.ContainsFunc(r.events, func(ev event) bool { return ev.forged && ev.lasted(c) && c.asked(ev.server.sum) })): // it asked only in a forged flood, and the server of it
		return NeverFinished
	}
	return Finished
}

func round(v float64, digits int) float64 {
	f := math.Pow10(digits)
	return math.Round(v*f) / f
}

var severities = []string{"error", "warning", "note"}

func (r *reporting) listFindings() {
	for _, f := range r.a.findings {
		list := make([]Example, 0, len(f.examples))
		for _, e := range f.examples {
			e.Command = fmt.Sprintf("qdissect -V -Y 'frame == %d'", e.Frame)
			if int(e.input) < len(r.Made.Files) {
				e.File = r.Made.Files[e.input].Name
				e.Command += " " + r.Made.Files[e.input].Word
			}
			list = append(list, e)
		}
		r.Findings = append(r.Findings, Finding{
			ID: f.id, Severity: f.severity, Count: f.count, First: instant(f.first), Last: instant(f.last), Text: r.plain(f), Examples: list, Doc: f.doc,
		})
	}
	slices.SortFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(severities, a.Severity), slices.Index(severities, b.Severity)), cmp.Compare(b.Count, a.Count), cmp.Compare(a.ID, b.ID))
	})
}

// gap returns the longest time without messages of a capture that has many, if no other one comes near it.
func (r *reporting) gap() (from, to int64) {
	longest, next, n, end := int64(0), max(int64(time.Second), widths[r.moments.width]), uint64(0), r.a.first
	r.moments.in(func(start, stop int64, m *moment) {
		all := m.requests + m.replies + m.challenges + m.unknown + m.lost
		if n += all; all == 0 {
			return
		}
		if start-end > longest {
			from, to = end, start
		}
		longest, next, end = max(longest, start-end), max(next, min(longest, start-end)), stop
	})
	if n < 50 || longest < 10*next || longest/4 > r.a.last-r.a.first-longest && len(r.o.Made.Files) != 1 { // too few to tell, or usual, or captures of different days
		return 0, 0
	}
	return from, to
}

// unclear says what the report cannot know.
func (r *reporting) unclear() {
	say := func(format string, args ...any) { r.Unclear = append(r.Unclear, fmt.Sprintf(format, args...)) }
	t := &r.Totals
	if r.o.Hide != nil {
		say(hidden)
	}
	streams := slices.DeleteFunc(slices.Clone(r.o.Streams), func(s Stream) bool { return s.Read })
	slices.SortStableFunc(streams, func(a, b Stream) int { return cmp.Compare(b.Packets, a.Packets) })
	for _, s := range streams[:min(len(streams), mostStreams)] {
		say("TCP of %s is counted and not read: %s.", r.host(s.Server.Addr()), s.sentence())
	}
	if n := len(streams) - mostStreams; n > 0 {
		say("%s more have packets over TCP.", count(uint64(n), "server", "servers"))
	}
	if r.o.OneSided {
		say("Only one direction was captured%s: whether requests were answered cannot be told.", either(t.Replies > 0, "", ", or no server replies"))
	}
	if t.KernelLost > 0 {
		say("The kernel lost %s because the buffer was full: numbers are too low where the timeline says so.", count(t.KernelLost, "packet", "packets"))
	}
	if b := &r.a.steps; b.n > 0 {
		say(stepped+" by %s, from %s to %s%s: times and rates around it are wrong.", duration(time.Duration(b.from-b.to)), r.clock(b.from), r.clock(b.to),
			either(b.n > 1, fmt.Sprintf(", the longest of %d such steps", b.n), ""))
	} else if r.From.Equal(r.To) && t.Datagrams >= leastWell {
		say("All packets have the same time: times, rates and round trips are not known.")
	}
	if from, to := r.gap(); to > from {
		say("Nothing came for %s, from %s to %s, neither requests nor replies: if the capture has a gap there, nothing is known of that time.", duration(time.Duration(to-from)), r.clock(from), r.clock(to))
	}
	var inside []string
	for _, in := range slices.DeleteFunc(slices.Clone(r.servers), func(e *entry[server]) bool { return e.v.requests < leastWell || !e.addr().IsPrivate() }) {
		if i := slices.IndexFunc(r.servers, func(out *entry[server]) bool { return in.v.sameAs(&out.v) && !out.addr().IsPrivate() }); i >= 0 {
			inside = append(inside, r.address(in)+" is "+r.address(r.servers[i]))
		}
	}
	if len(inside) > 0 {
		say("%s, behind a NAT: the capture has packets on both sides of it, and what is counted of all servers counts them twice.", list(inside))
	}
	if t.Evicted > 0 {
		say("%s evicted because a limit was reached: what became of them is not known.", count(t.Evicted, "request was", "requests were"))
	}
	if slices.ContainsFunc(r.servers, func(e *entry[server]) bool { return e.err > 0 }) {
		say("There were more servers than the table holds: the busiest are listed, counted and judged, each with the number of messages that it may lack.")
	}
	if slices.ContainsFunc(r.Clients, func(c Client) bool { return c.Error > 0 }) {
		say("There were more clients than the table holds: the busiest are listed, each with the number of messages that it may lack.")
	}
}

// MarshalJSON writes the numbers as an object in their order.
func (e Evidence) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, n := range e {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, n.Name), ':')
		b = strconv.AppendFloat(b, n.Value, 'f', -1, 64)
	}
	return append(b, '}'), nil
}

// Hiding says what a report that is passed on must not tell.
type Hiding struct {
	// Addr replaces addresses; nil keeps them.
	Addr func(netip.Addr) netip.Addr
	// Name replaces the name of a server or a map; nil leaves names out.
	Name func([]byte) []byte
}

// stepped begins the sentence about a clock that went back.
const stepped = "The clock of the capture stepped back"

// hidden is the sentence about what is missing.
const hidden = "Names were replaced or left out, and with them the texts of findings, and conversations, which show the bytes of messages."

// hide replaces the networks of home, and orders servers and clients by what is shown: their order must not tell which of two
// addresses was the lower one.
func (r *reporting) hide() {
	if r.o.Hide == nil || r.o.Hide.Addr == nil {
		return
	}
	r.replaced = make(map[netip.Addr]netip.Addr)
	for _, e := range r.servers {
		r.host(e.addr())
	}
	for _, e := range r.clients {
		r.host(e.addr())
	}
	slices.SortFunc(r.servers, func(a, b *entry[server]) int {
		return cmp.Or(cmp.Compare(b.count, a.count), r.host(a.addr()).Compare(r.host(b.addr())), cmp.Compare(a.Port, b.Port))
	})
	slices.SortFunc(r.clients, func(a, b *entry[client]) int {
		return cmp.Or(cmp.Compare(b.v.requests, a.v.requests), r.host(a.addr()).Compare(r.host(b.addr())))
	})
	for i, p := range r.o.Home {
		r.Home[i] = r.network(p)
	}
}

// host returns what a report shows of an address.
func (r *reporting) host(a netip.Addr) netip.Addr {
	if r.replaced == nil {
		return a
	}
	b, ok := r.replaced[a]
	if !ok {
		b = r.o.Hide.Addr(a)
		r.replaced[a] = b
	}
	return b
}

// network returns what a report shows of a network.
func (r *reporting) network(p netip.Prefix) string {
	return netip.PrefixFrom(r.host(p.Addr()), p.Bits()).Masked().String()
}

// endpoint returns what a report shows of the address and port of a server, and address returns it as text.
func (r *reporting) endpoint(e *entry[server]) netip.AddrPort {
	return netip.AddrPortFrom(r.host(e.addr()), e.Port)
}

func (r *reporting) address(e *entry[server]) string {
	return either(e.Port == 0, r.host(e.addr()).String(), r.endpoint(e).String())
}

// source returns what a report shows of the address of a client.
func (r *reporting) source(e *entry[client]) string { return r.host(e.addr()).String() }

// name returns what a report shows of the name of a server or a map.
func (r *reporting) name(b []byte) []byte {
	if h := r.o.Hide; h == nil || len(b) == 0 {
		return b
	} else if h.Name == nil {
		return nil
	}
	return r.o.Hide.Name(b)
}

// plain returns the text of a finding without what comes from the network.
func (r *reporting) plain(f *finding) string {
	if r.o.Hide == nil {
		return f.text
	}
	text, _, _ := strings.Cut(f.doc, ". ")
	return strings.TrimSuffix(text, ".")
}

// prefix returns the first bytes of payloads that rules compare. Some protocols have the address of the server among them.
func (r *reporting) prefix(b []byte) []byte {
	b = b[:min(len(b), longestPrefix)]
	for a := range r.replaced {
		if i := bytes.Index(b, a.AsSlice()); i >= 0 {
			b = b[:i]
		}
	}
	return b
}
