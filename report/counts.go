package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// Counts writes only the summary, as a table.
type Counts struct {
	// Width is the number of columns of a terminal, into which long lines are broken; 0
	// writes whole lines.
	Width int

	out
}

// NewCounts returns a reporter that writes the summary of a run.
func NewCounts() *Counts { return new(Counts) }

// Begin does nothing.
func (c *Counts) Begin(Capture) error { return nil }

// Record does nothing.
func (c *Counts) Record(*dissect.Record) error { return nil }

// Unknown does nothing.
func (c *Counts) Unknown(*dissect.Unknown) error { return nil }

// Finding does nothing.
func (c *Counts) Finding(*dissect.FlowFinding) error { return nil }

// End writes the summary.
func (c *Counts) End(s *Summary) error {
	c.buf = appendSummary(c.buf, s, c.Width)
	return nil
}

// SummaryOnly returns a reporter that formats captures and the summary with r and
// ignores everything else.
func SummaryOnly(r Reporter) Reporter { return &quiet{Reporter: r} }

type quiet struct{ Reporter }

func (*quiet) Record(*dissect.Record) error       { return nil }
func (*quiet) Unknown(*dissect.Unknown) error     { return nil }
func (*quiet) Finding(*dissect.FlowFinding) error { return nil }

// AppendSummary appends the summary of a run for people.
func AppendSummary(dst []byte, s *Summary) []byte { return appendSummary(dst, s, 0) }

func appendSummary(dst []byte, s *Summary, columns int) []byte {
	var rows [][2]string
	line := func(name, format string, args ...any) {
		rows = append(rows, [2]string{name, fmt.Sprintf(format, args...)})
	}
	line("packets", "%d, %d bytes", s.Packets, s.Bytes)
	if !s.First.IsZero() {
		line("time", "%s", span(s.First.UTC(), s.Last.UTC()))
	}
	beside := ""
	if s.GameTraffic > 0 {
		least := nettext.Either(s.GameTrafficLeast && s.GameTraffic < s.Unknown, "at least ", "")
		beside = fmt.Sprintf(" (%s%d from and to ports that answer queries)", least, s.GameTraffic)
	}
	if !s.Chosen {
		line("datagrams", "%d, %d of them not recognised%s", s.Datagrams, s.Unknown, beside)
	} else {
		line("datagrams", "%d; what follows counts only what matches the filter", s.Datagrams)
		if s.Unknown > 0 {
			line("unknown", "%d", s.Unknown)
		}
	}
	messageLines(s, line)
	line("requests", "%s", outcomes(s))
	line("replies", "%d", s.Replies)
	if s.OneSided > 0 {
		line("one-sided", "%s", oneSided(s))
	}
	if t, n := sumOf(s.Streams); n > 0 {
		line("tcp", "%d %s to and from %d %s, not read: %d %s tried, %d made, %d refused, %d unanswered", t.Packets, nettext.Plural(int(t.Packets), "packet", "packets"), n, nettext.Plural(n, "server", "servers"),
			t.Tried, nettext.Plural(int(t.Tried), "connection", "connections"), t.Made, t.Refused, t.unanswered())
	}
	if s.ICMP > 0 {
		line("icmp", "%d %s about datagrams, %d of them about recognised conversations", s.ICMP, nettext.Plural(int(s.ICMP), "error", "errors"), s.ICMPMatched)
	}
	if n := s.AmbiguousReplies; n > 0 {
		line("ambiguous", "%d round %s, because the request was repeated", n, nettext.Plural(int(n), "trip", "trips"))
	}
	if s.Duplicates > 0 {
		line("duplicates", "%d %s of datagrams that came more than once, left out", s.Duplicates, nettext.Plural(int(s.Duplicates), "copy", "copies"))
	}
	if s.Complete+s.Incomplete > 0 {
		line("joined", "%d %s of parts or fragments, %d incomplete", s.Complete, nettext.Plural(int(s.Complete), "set", "sets"), s.Incomplete)
	}
	f := &s.Findings
	line("findings", "%d %s, %d %s, %d %s", f[dissect.Failed], nettext.Plural(int(f[dissect.Failed]), "error", "errors"),
		f[dissect.Warning], nettext.Plural(int(f[dissect.Warning]), "warning", "warnings"), f[dissect.Note], nettext.Plural(int(f[dissect.Note]), "note", "notes"))
	if s.Malformed > 0 {
		line("malformed", "%d", s.Malformed)
	}
	if s.Panics > 0 {
		line("panics", "%d, mistakes in qdissect: please report them", s.Panics)
	}
	if s.Live {
		line("kernel", "%d packets received, %d lost because the buffer was full", s.Received, s.Lost)
	}
	if s.Evicted > 0 {
		line("evicted", "%s", evicted(s))
	}
	return appendRows(dst, rows, columns)
}

// appendRows appends rows in two columns, broken at columns.
func appendRows(dst []byte, rows [][2]string, columns int) []byte {
	column := 12
	for _, r := range rows {
		column = max(column, len(r[0]))
	}
	for _, r := range rows {
		line := fmt.Appendf(nil, "%-*s  %s", column, r[0], r[1])
		if columns > 0 {
			dst = nettext.AppendWrapped(dst, line, columns, column+2)
		} else {
			dst = append(dst, line...)
		}
		dst = append(dst, '\n')
	}
	return dst
}

// messageLines adds lines about the messages of each protocol, and those that may be of several.
func messageLines(s *Summary, line func(name, format string, args ...any)) {
	for i, p := range s.Protocols {
		sure := s.Messages[i]
		for _, m := range slices.SortedFunc(maps.Keys(s.Ambiguous), func(a, b dissect.Ambiguous) int { return cmp.Compare(a.Others, b.Others) }) {
			if n := s.Ambiguous[m]; m.Protocol == i && n > 0 {
				name := p.Name
				for k, q := range s.Protocols {
					name += nettext.Either(m.Others>>k&1 != 0, " or "+q.Name, "")
				}
				line(name, "%d %s", n, nettext.Plural(int(n), "message", "messages"))
				sure -= n
			}
		}
		if sure == 0 {
			continue
		}
		extra := ""
		if p.OverTCP() { // they are no datagrams
			extra = " over TCP"
		}
		if i < len(s.RoundTrips) && s.RoundTrips[i].Count > 0 {
			rt := &s.RoundTrips[i]
			extra += fmt.Sprintf(", round trip min/mean/max %s/%s/%s", ms(rt.Min), ms(rt.Sum/time.Duration(rt.Count)), ms(rt.Max))
		}
		line(p.Name, "%d %s%s", sure, nettext.Plural(int(sure), "message", "messages"), extra)
	}
}

// outcomes describes the outcomes of the requests.
func outcomes(s *Summary) string {
	o := &s.Outcomes
	b := fmt.Sprintf("%d: %d answered", s.Requests, o[dissect.OutcomeAnswered])
	for _, c := range [...]struct {
		n    uint64
		what string
	}{
		{o[dissect.OutcomeChallenged], "with a challenge only"}, {o[dissect.OutcomeLate], "answered late"}, {o[dissect.OutcomePartial], "answered in part"}, {o[dissect.OutcomeRefused], "refused"},
		{o[dissect.OutcomeElsewhere], "answered from elsewhere"}, {o[dissect.OutcomeUnanswered] + o[dissect.OutcomeOther], "unanswered"}, {o[dissect.OutcomeRepeated], "repeated"},
		{o[dissect.OutcomeOneSided], "with only one direction captured"}, {o[dissect.OutcomeOpen], "open at the end"}, {o[dissect.OutcomeForgotten], "forgotten"},
	} {
		b += nettext.Either(c.n > 0 || c.what == "unanswered", fmt.Sprintf(", %d %s", c.n, c.what), "")
	}
	return b
}

// oneSided says that only one direction was captured, or what else may be the cause.
func oneSided(s *Summary) string {
	b := "only one direction was captured"
	b += nettext.Either(s.Inputs > 1, fmt.Sprintf(" in %d of %d captures", s.OneSided, s.Inputs), "")
	if s.Requests > 0 {
		b += ", or no server answers"
	}
	if n := s.Outcomes[dissect.OutcomeOneSided]; n > 0 {
		b += fmt.Sprintf(": %d %s not called unanswered", n, nettext.Plural(int(n), "request without a reply is", "requests without a reply are"))
	}
	return b
}

// AppendOneSided appends that only one direction was captured.
func AppendOneSided(dst []byte, s *Summary) []byte { return append(dst, oneSided(s)...) }

// span formats a time span with the date once if it is within a day.
func span(first, last time.Time) string {
	const clock = "15:04:05.000000"
	end := nettext.Either(first.Format(time.DateOnly) != last.Format(time.DateOnly), last.Format(time.DateOnly+" "+clock), last.Format(clock))
	took := last.Sub(first)
	length := nettext.Either(took.Abs() >= time.Minute, took.Round(time.Second).String(), ms(took))
	return fmt.Sprintf("%s to %s UTC, %s", first.Format(time.DateOnly+" "+clock), end, length)
}

func ms(d time.Duration) string { return string(nettext.AppendDuration(nil, d)) }

// maxSeconds is how many seconds of evictions a summary names.
const maxSeconds = 60

// worst returns the seconds with most evictions, in the order of time.
func worst(seconds []core.Evictions) []core.Evictions {
	list := slices.Clone(seconds)
	slices.SortFunc(list, func(a, b core.Evictions) int {
		return cmp.Or(cmp.Compare(b.Sum(), a.Sum()), cmp.Compare(a.Second, b.Second))
	})
	list = list[:min(len(list), maxSeconds)]
	slices.SortFunc(list, func(a, b core.Evictions) int { return cmp.Compare(a.Second, b.Second) })
	return list
}

// evicted describes the evictions and the second with most of them.
func evicted(s *Summary) string {
	e := &s.EvictedState
	var said []string
	for _, k := range [...]struct {
		n         uint64
		one, many string
	}{
		{e.Flows, "conversation", "conversations"}, {e.Requests, "request", "requests"},
		{e.Clients, "client or host", "clients and hosts"}, {s.EvictedFragments, "IP fragment", "IP fragments"},
	} {
		if k.n > 0 {
			said = append(said, fmt.Sprintf("%d %s", k.n, nettext.Plural(int(k.n), k.one, k.many)))
		}
	}
	text := strings.Join(said, ", ") + ", because a limit was reached"
	if len(s.EvictedSeconds) > 0 {
		most := slices.MaxFunc(s.EvictedSeconds, func(a, b core.Evictions) int { return cmp.Compare(a.Sum(), b.Sum()) })
		text += fmt.Sprintf("; %d in the second from %s UTC on", most.Sum(), time.Unix(most.Second, 0).UTC().Format(time.TimeOnly))
	}
	return text
}

// appendEvicted appends the evictions in total and by second.
func (j *JSON) appendEvicted(b []byte, s *Summary) []byte {
	kinds := func(e *core.Evictions) []count {
		return []count{{"flows", e.Flows}, {"requests", e.Requests}, {"clients", e.Clients}}
	}
	b = appendCounts(append(b, `,"evicted":`...), append(kinds(&s.EvictedState), count{"fragments", s.EvictedFragments})...)
	if len(s.EvictedSeconds) == 0 {
		return b
	}
	b = append(b[:len(b)-1], `,"seconds":[`...)
	for i, e := range worst(s.EvictedSeconds) {
		if i > 0 {
			b = append(b, ',')
		}
		b = j.appendTime(append(b, `{"time":`...), time.Unix(e.Second, 0))
		for _, k := range kinds(&e) {
			b = strconv.AppendUint(appendKey(b, k.key), k.n, 10)
		}
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

// AppendMetrics appends the counts of a run in the text format of Prometheus.
// See https://prometheus.io/docs/instrumenting/exposition_formats/.
func AppendMetrics(dst []byte, s *Summary) []byte {
	m := metrics{dst}
	m.counter("packets_total", "Packets read.", s.Packets)
	m.counter("bytes_total", "Bytes of packets read.", s.Bytes)
	m.counter("datagrams_total", "UDP payloads, after fragments were joined.", s.Datagrams)
	m.counter("unknown_datagrams_total", "UDP payloads that no protocol recognised.", s.Unknown)
	if s.Live {
		m.counter("kernel_received_packets_total", "Packets that passed the capture filter in the kernel.", s.Received)
		m.counter("kernel_dropped_packets_total", "Packets lost because they were not taken out of the kernel's buffer in time.", s.Lost)
	}
	m.counter("evicted_total", "State given up because a limit was reached.", s.Evicted)
	m.head("evicted_state_total", "The same by kind: conversations, requests that waited, clients and hosts, IP fragments.", "counter")
	m.sample("evicted_state_total", s.EvictedState.Flows, "kind", "flows")
	m.sample("evicted_state_total", s.EvictedState.Requests, "kind", "requests")
	m.sample("evicted_state_total", s.EvictedState.Clients, "kind", "clients")
	m.sample("evicted_state_total", s.EvictedFragments, "kind", "fragments")
	m.counter("one_sided_requests_total", "Requests that got no reply while only one direction was captured.", s.Outcomes[dissect.OutcomeOneSided])
	m.counter("requests_total", "Requests.", s.Requests)
	m.counter("replies_total", "Replies.", s.Replies)
	m.counter("unanswered_requests_total", "Requests that got no reply in time.", s.Unanswered)
	m.counter("refused_requests_total", "Requests that an ICMP error was the answer to.", s.Outcomes[dissect.OutcomeRefused])
	m.counter("icmp_errors_total", "ICMP errors about datagrams.", s.ICMP)
	m.counter("late_replies_total", "Requests that got a reply later than in time; they are among the unanswered ones.", s.Outcomes[dissect.OutcomeLate])
	m.counter("ambiguous_round_trips_total", "Replies of which the round trip is not known, because the request was repeated.", s.AmbiguousReplies)
	m.counter("duplicate_datagrams_total", "Copies of datagrams that came more than once; they are left out.", s.Duplicates)
	m.counter("malformed_total", "Messages that could not be read to their end.", s.Malformed)

	m.head("messages_total", "Messages by protocol and type.", "counter")
	types := slices.SortedFunc(maps.Keys(s.Tally.Messages), func(a, b TypeOf) int {
		return cmp.Or(cmp.Compare(a.Protocol.Name, b.Protocol.Name), cmp.Compare(a.Type.Name, b.Type.Name))
	})
	for _, t := range types {
		m.sample("messages_total", s.Tally.Messages[t], "protocol", t.Protocol.Name, "message", t.Type.Name)
	}
	m.head("findings_total", "Findings by reason; those of severity error are malformed, incomplete or unreadable.", "counter")
	reasons := slices.SortedFunc(maps.Keys(s.Tally.Findings), func(a, b *dissect.FindingType) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Severity, b.Severity))
	})
	for _, f := range reasons {
		m.sample("findings_total", s.Tally.Findings[f], "id", f.ID, "severity", f.Severity.String())
	}
	m.head("reassemblies_total", "Messages and packets put together from parts or fragments.", "counter")
	m.sample("reassemblies_total", s.Complete, "result", "complete")
	m.sample("reassemblies_total", s.Incomplete, "result", "incomplete")

	m.head("round_trip_seconds", "Time from a request to the first part of its reply.", "histogram")
	for i, p := range s.Protocols {
		if i >= len(s.RoundTrips) || s.RoundTrips[i].Count == 0 {
			continue
		}
		r := &s.RoundTrips[i]
		sum := uint64(0)
		for k, bound := range RoundTripBounds {
			sum += r.Buckets[k]
			m.sample("round_trip_seconds_bucket", sum, "protocol", p.Name, "le", seconds(bound))
		}
		m.sample("round_trip_seconds_bucket", r.Count, "protocol", p.Name, "le", "+Inf")
		m.name("round_trip_seconds_sum", "protocol", p.Name)
		m.b = append(append(m.b, seconds(r.Sum)...), '\n')
		m.sample("round_trip_seconds_count", r.Count, "protocol", p.Name)
	}
	return m.b
}

// metrics writes the text format. Names and labels are our own and need no
// escapes.
type metrics struct{ b []byte }

func (m *metrics) head(name, help, kind string) {
	m.b = append(m.b, "# HELP qdissect_"+name+" "+help+"\n# TYPE qdissect_"+name+" "+kind+"\n"...)
}

func (m *metrics) counter(name, help string, n uint64) {
	m.head(name, help, "counter")
	m.sample(name, n)
}

// name writes a name with its labels, which are pairs.
func (m *metrics) name(name string, labels ...string) {
	m.b = append(m.b, "qdissect_"+name...)
	for i := 0; i < len(labels); i += 2 {
		m.b = append(m.b, "{,"[min(i, 1)])
		m.b = append(m.b, labels[i]+`="`+labels[i+1]+`"`...)
	}
	if len(labels) > 0 {
		m.b = append(m.b, '}')
	}
	m.b = append(m.b, ' ')
}

func (m *metrics) sample(name string, n uint64, labels ...string) {
	m.name(name, labels...)
	m.b = append(strconv.AppendUint(m.b, n, 10), '\n')
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'g', -1, 64) }
