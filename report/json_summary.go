package report

import (
	"maps"
	"slices"
	"strconv"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/nettext"
)

// A count is a number with its JSON key.
type count struct {
	key string
	n   uint64
}

// inOrder returns counts in the order of their keys.
func inOrder(counts map[string]uint64) []count {
	return nettext.Each(slices.Sorted(maps.Keys(counts)), func(key string) count { return count{key, counts[key]} })
}

// appendCounts appends an object of counts.
func appendCounts(b []byte, counts ...count) []byte {
	b = append(b, '{')
	for _, c := range counts {
		b = appendKey(b, c.key)
		b = strconv.AppendUint(b, c.n, 10)
	}
	return append(b, '}')
}

// End writes the summary object, which is the last.
func (j *JSON) End(s *Summary) error {
	if j.array && s.Inputs == 0 {
		j.buf = append(j.buf, '[', '\n')
	}
	b := append(j.buf, `{"type":"summary"`...)
	number := func(key string, n uint64) { b = strconv.AppendUint(appendKey(b, key), n, 10) }
	some := func(key string, n uint64) {
		if n > 0 {
			number(key, n)
		}
	}
	number("packets", s.Packets)
	number("datagrams", s.Datagrams)
	b = appendMessages(b, s)
	o := &s.Outcomes
	b = append(b, `,"requests":`...)
	b = appendCounts(b, count{"sent", s.Requests}, count{"answered", o[dissect.OutcomeAnswered] + o[dissect.OutcomeChallenged]}, count{"answered_late", o[dissect.OutcomeLate]}, count{"answered_in_part", o[dissect.OutcomePartial]},
		count{"refused", o[dissect.OutcomeRefused]}, count{"unanswered", o[dissect.OutcomeUnanswered] + o[dissect.OutcomeOther] + o[dissect.OutcomeElsewhere]}, count{"open", o[dissect.OutcomeOpen]},
		count{"one_sided", o[dissect.OutcomeOneSided]}, count{"repeated", o[dissect.OutcomeRepeated]}, count{"forgotten", o[dissect.OutcomeForgotten]})
	number("ambiguous_round_trips", s.AmbiguousReplies)
	b = appendRoundTrips(b, s)
	b = appendFindingCounts(b, s)
	b = append(b, `,"unknown":{"datagrams":`...)
	b = strconv.AppendUint(b, s.Unknown, 10)
	some("game_traffic", s.GameTraffic)
	b = append(b, `,"guesses":{`...)
	for _, guess := range slices.Sorted(maps.Keys(s.Tally.Guesses)) {
		number(guess, *s.Tally.Guesses[guess])
	}
	b = append(b, '}', '}')
	number("malformed", s.Malformed)
	b = append(b, `,"reassemblies":`...)
	b = appendCounts(b, count{"complete", s.Complete}, count{"incomplete", s.Incomplete})
	number("duplicates", s.Duplicates)
	number("bytes", s.Bytes)
	if s.Live {
		number("kernel_received", s.Received)
	}
	number("kernel_lost", s.Lost)
	b = j.appendEvicted(b, s)
	some("one_sided", uint64(s.OneSided))
	some("panics", s.Panics)
	some("icmp_errors", s.ICMP)
	b = appendStreams(b, s.Streams)
	if !s.First.IsZero() {
		b = append(b, `,"first_time":`...)
		b = j.appendTime(b, s.First)
		b = append(b, `,"last_time":`...)
		b = j.appendTime(b, s.Last)
	}
	j.buf = append(b, '}', '\n')
	if j.array {
		j.buf = append(j.buf, ']', '\n')
	}
	return nil
}

// appendMessages appends the messages by protocol, and by type.
func appendMessages(b []byte, s *Summary) []byte {
	b = append(b, `,"messages":{`...)
	for i, p := range s.Protocols {
		if s.Messages[i] > 0 {
			b = appendKey(b, p.Name)
			b = strconv.AppendUint(b, s.Messages[i], 10)
		}
	}
	b = append(b, `},"message_types":{`...)
	for _, p := range s.Protocols {
		// Types of a relative may have the names of its own.
		byName := map[string]uint64{}
		for t, n := range s.Tally.Messages {
			if t.Protocol == p {
				byName[t.Type.Name] += n
			}
		}
		if len(byName) == 0 {
			continue
		}
		b = appendCounts(appendKey(b, p.Name), inOrder(byName)...)
	}
	return append(b, '}')
}

// appendRoundTrips appends the distribution of the round trips by protocol.
func appendRoundTrips(b []byte, s *Summary) []byte {
	b = append(b, `,"round_trips":{`...)
	for _, p := range s.Protocols {
		if t := s.Tally.RoundTrips[p]; t != nil {
			list := t.Percentiles(50, 90, 99)
			b = appendCounts(appendKey(b, p.Name), count{"count", t.Count}, count{"min_ns", uint64(t.Min)},
				count{"p50_ns", uint64(list[0])}, count{"p90_ns", uint64(list[1])}, count{"p99_ns", uint64(list[2])}, count{"max_ns", uint64(t.Max)})
		}
	}
	return append(b, '}')
}

// appendFindingCounts appends the findings by id, and by severity.
func appendFindingCounts(b []byte, s *Summary) []byte {
	byID := map[string]uint64{}
	for f, n := range s.Tally.Findings {
		byID[f.ID] += n
	}
	b = appendCounts(append(b, `,"findings_by_id":`...), inOrder(byID)...)
	var severities []count
	for i, n := range s.Findings {
		severities = append(severities, count{dissect.Severity(i).String(), n})
	}
	return appendCounts(append(b, `,"findings_by_severity":`...), severities...)
}

// appendStreams appends the counts of TCP connections, if there are any.
func appendStreams(b []byte, list []Stream) []byte {
	t, n := sumOf(list)
	if n == 0 {
		return b
	}
	b = append(b, `,"tcp":`...)
	return appendCounts(b, count{"servers", uint64(n)}, count{"packets", t.Packets}, count{"connections", t.Tried}, count{"made", t.Made}, count{"refused", t.Refused},
		count{"unanswered", t.unanswered()})
}

// sumOf sums up servers of which nothing is read, and counts them.
func sumOf(list []Stream) (t Stream, n int) {
	for _, x := range list {
		if x.Read {
			continue
		}
		n++
		t.Packets, t.Tried, t.Made, t.Refused = t.Packets+x.Packets, t.Tried+x.Tried, t.Made+x.Made, t.Refused+x.Refused
	}
	return t, n
}

func (s *Stream) unanswered() uint64 { return s.Tried - min(s.Made+s.Refused, s.Tried) }
