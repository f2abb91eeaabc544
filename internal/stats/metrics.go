package stats

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// A serverMetric is a number of each server for Prometheus.
type serverMetric struct {
	name, help, kind string
	value            func(s *server) float64
}

var serverMetrics = []serverMetric{
	{"requests_total", "Requests to the server.", "counter", func(s *server) float64 { return float64(s.requests) }},
	{"replies_total", "Replies of the server.", "counter", func(s *server) float64 { return float64(s.replies) }},
	{"answered_requests_total", "Requests that got a whole reply in time.", "counter", func(s *server) float64 { return float64(s.fates.of(s.requests).Answered) }},
	{"unanswered_requests_total", "Requests that got no reply, without refused ones.", "counter", func(s *server) float64 { return float64(s.fates.of(s.requests).Unanswered) }},
	{"refused_requests_total", "Requests that an ICMP error or a reply refused.", "counter", func(s *server) float64 { return float64(s.fates.of(s.requests).Refused) }},
	{"clients", "Distinct addresses that asked the server, estimated if there are many.", "gauge", func(s *server) float64 { return float64(s.sources().Count) }},
	{"bytes_in_total", "Bytes to the server, with IP headers.", "counter", func(s *server) float64 { return float64(s.bytesIn) }},
	{"bytes_out_total", "Bytes from the server, with IP headers.", "counter", func(s *server) float64 { return float64(s.bytesOut) }},
}

// AppendMetrics appends the numbers of the busiest servers, at most some, in the text format of Prometheus. Servers are hosts of
// home; if none of these is one, hosts that reply.
func (a *Aggregate) AppendMetrics(dst []byte, home []netip.Prefix, most int) []byte {
	a.endRuns()
	isHome := func(e *entry[server]) bool {
		return slices.ContainsFunc(home, func(p netip.Prefix) bool { return p.Contains(e.addr()) })
	}
	all := slices.DeleteFunc(a.servers.byCount(), func(e *entry[server]) bool { return e.v.protocol == 0 })
	if slices.ContainsFunc(all, isHome) {
		all = slices.DeleteFunc(all, func(e *entry[server]) bool { return !isHome(e) })
	} else {
		all = slices.DeleteFunc(all, func(e *entry[server]) bool { return e.v.replies == 0 })
	}
	slices.SortStableFunc(all, func(a, b *entry[server]) int { return cmp.Compare(b.v.requests, a.v.requests) })
	all = all[:min(len(all), most)]
	slices.SortFunc(all, func(a, b *entry[server]) int { return a.compare(&b.key) })
	if len(all) == 0 {
		return dst
	}
	for m := range each(serverMetrics) {
		name := "qdissect_server_" + m.name
		dst = append(dst, "# HELP "+name+" "+m.help+"\n# TYPE "+name+" "+m.kind+"\n"...)
		for _, e := range all {
			dst = append(dst, name+`{server="`+netip.AddrPortFrom(e.addr(), e.Port).String()+`",protocol="`+a.protocols[e.v.protocol-1]+`"} `...)
			dst = append(strconv.AppendFloat(dst, m.value(&e.v), 'f', -1, 64), '\n')
		}
	}
	return dst
}

// AppendMetrics appends when each verdict held last, in the text format of Prometheus.
func (r *Report) AppendMetrics(dst []byte) []byte {
	const name = "qdissect_verdict_timestamp_seconds"
	dst = append(dst, "# HELP "+name+" When a verdict held last, in seconds since 1970.\n# TYPE "+name+" gauge\n"...)
	last := map[string]time.Time{}
	for i := range r.Verdicts {
		if v := &r.Verdicts[i]; v.Unusual() {
			labels := `{kind="` + v.Kind + `",server="` + v.Server + `"} `
			if v.To.After(last[labels]) {
				last[labels] = v.To
			}
		}
	}
	for _, labels := range slices.Sorted(maps.Keys(last)) {
		dst = append(dst, name+labels...)
		dst = append(strconv.AppendFloat(dst, float64(last[labels].UnixMilli())/1e3, 'f', -1, 64), '\n')
	}
	return dst
}
