package report

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/qdissect/qdissect/dissect"
)

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
	for i := 0; i+1 < len(labels); i += 2 {
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
