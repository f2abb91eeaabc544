package stats

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// What makes a flood of junk: at least eventLeast datagrams a second for as long as a flood, of which the server answers fewer
// than one in junkReplies, and junkFactor times as many as at other times. They come from at least junkSources sources that
// send fewer than leastOften each; or they are at least junkPace a second while the server replies to requests, because players
// go on sending for a while to a server that is gone. From one direction alone, and at a port that sends nothing, only sources
// that send hardly twice tell a flood from players.
const (
	junkReplies = 6
	junkFactor  = 3
	junkPace    = 200 // datagrams a second of a source: more than players send
	junkTwice   = 3
	junkOneSide = 100 // datagrams a second
	junkSources = 20
	leastJunk   = 5 * time.Second
)

// junk says that servers get floods of datagrams that are of no protocol.
func (r *reporting) junk() {
	var list []Verdict
	at := func(e *entry[server], s *stray) {
		if v, ok := r.junkAt(e, s); ok {
			list = append(list, v)
		}
	}
	for _, e := range r.servers {
		if s := e.v.stray; s != nil && s.more != nil && r.home(e) {
			at(e, s)
		}
	}
	before := len(r.Verdicts)
	if len(list) == 0 {
		r.manyPorts()
	}
	for x := range each(r.a.strays.entries) { // at ports of which nothing comes
		none := x.v.more != nil && x.v.out == 0 && r.a.servers.find(&x.key, x.key.hash()) == nil
		if none && before == len(r.Verdicts) && slices.ContainsFunc(r.servers, func(e *entry[server]) bool { return e.addr() == x.addr() && r.home(e) }) {
			at(&entry[server]{key: x.key}, &x.v)
		}
	}
	slices.SortStableFunc(list, func(a, b Verdict) int { return cmp.Compare(b.Evidence[0].Value, a.Evidence[0].Value) })
	r.Verdicts = append(r.Verdicts, list...)
}

// leastPorts is how many of the possible servers are ports of one host, and send nothing back, if it gets junk at many of its ports.
const leastPorts = maxStrays / 2

// manyPorts says that a host gets junk at so many ports that none of them has much.
func (r *reporting) manyPorts() {
	silent := slices.DeleteFunc(pointers(r.a.strays.entries), func(e *entry[stray]) bool { return e.v.out > 0 })
	host, of := oneHost(netip.Prefix{}, silent), func(m *moment) uint64 { return m.unknown }
	if len(silent) < leastPorts || !host.IsValid() || uint64(len(silent)) < 9*r.a.aside { // who asks elsewhere gets replies at many ports
		return
	}
	known := totalOf(silent, func(e *entry[stray]) float64 { return float64(e.v.in) }) // of a flood at all ports, the table knows few
	servers := slices.DeleteFunc(slices.Clone(r.servers), func(e *entry[server]) bool { return !host.Contains(e.addr()) || !r.home(e) })
	for s, t := range r.moments.surges(r.a.first, r.a.last, -1, of) {
		n, length := s.excess(), float64(t[1]-t[0])/1e9
		if len(servers) == 0 || 2*known > n || n < junkPace*min(leastJunk.Seconds(), r.duration()/5) || n < junkPace*length {
			continue
		}
		r.say(Verdict{
			Kind: JunkFlood, Certainty: Likely, Servers: nettext.Each(servers, r.address), Network: r.network(host), From: instant(t[0]), To: instant(t[1]),
			Text: fmt.Sprintf("Junk flood at %s: %s datagrams of no known protocol to many of its ports in %s (%s per second).",
				r.host(host.Addr()), number(nearest(n)), r.span(t[0], t[1]), rounded(n/length)),
			Advice: "Drop in front of the host what goes to ports at which no server listens; only the provider can help if the line is full.", Doubt: "qdissect --all shows where they go",
			Evidence: Evidence{{"datagrams", round(n, 0)}, {"requests", round(n, 0)}, {"datagrams_per_second", round(n/length, 1)}, {"seconds", round(length, 1)}},
		})
	}
}

func (r *reporting) junkAt(e *entry[server], s *stray) (v Verdict, ok bool) {
	l := &s.more.cells
	width := widths[l.width]
	f := junkTime{from: r.a.last + 1, to: r.a.first}
	hot := 0.0
	l.in(func(from, to int64, c *cell) {
		if float64(c.requests) >= eventLeast*float64(width)/1e9 && c.replies*junkReplies < c.requests {
			f.from, f.to = min(f.from, max(from, r.a.first)), max(f.to, min(to, r.a.last+1))
			hot += float64(width) / 1e9
		}
	})
	if hot < min(leastJunk.Seconds(), r.duration()/5) {
		return v, false
	}
	r.grown(l, &f)
	f.from, f.to = r.sharpen(f.from, f.to, width, f.n)
	r.grown(l, &f)
	n, bytes := f.n, f.bytes
	if n+f.usual < junkFactor*f.usual || n < junkSources {
		return v, false
	}
	back, alive, asked := uint64(0), false, e.v.more != nil
	l.in(func(from, to int64, c *cell) {
		if from < f.to && to > f.from {
			back += c.replies
		}
	})
	e.v.times().in(func(from, to int64, p *pulse) {
		if from < f.to-int64(time.Second) && to > f.from+int64(time.Second) { // a bucket at an end may be older or newer
			alive, asked = alive || p.replied > 0, asked || p.asked > 0
		}
	})
	alive = alive || !asked
	length := time.Duration(f.to - f.from)
	rate := n / length.Seconds()
	from := s.more.sources.count()
	sources := min(float64(from.Count), n)
	each := n / max(sources, 1)
	mirrors := reflects(s.more.port) && 2*s.more.votes > s.in // three quarters come from that port
	spread, silent := sources >= junkSources && each < leastOften, e.v.stray == nil
	once := each < junkTwice || silent && mirrors && sources >= junkSources
	switch {
	case (r.o.OneSided || silent) && (!once || rate < junkOneSide || length < leastJunk):
		return v, false
	case rate < eventLeast, !spread && rate < junkPace, !spread && !alive && !mirrors && rate < junkPace*sources:
		return v, false
	}
	who, advice := fmt.Sprintf("%s addresses", number(nearest(sources))), "If they fill the line, only the provider can filter them: the server can do nothing with them, and the addresses are probably forged, so that a limit or a block by address does not help."
	if from.Percent == 100 {
		who = "more than " + who
	}
	if mirrors {
		who = fmt.Sprintf("port %d of %s", s.more.port, who)
		advice = fmt.Sprintf("They are most likely replies of such servers, which somebody asks in its name: have the provider drop UDP from port %d to that address, because the senders are real hosts, and too many to block one by one.", s.more.port)
	}
	few := r.senders(s.more, mostOf*n+either(spread, f.out, 0)) // among many others, those who sent it even if all of the rest is theirs, too
	if len(few) > 0 {
		who, sources = list(few), either(spread, float64(len(few)), sources)
		advice = "Drop what these addresses send to that port at the firewall, or at the provider if it fills the line; an address may be forged, so do not report it before its operator has looked."
		if len(few) == 1 {
			advice = strings.Replace(advice, "these addresses send", "this address sends", 1)
		}
	}
	return Verdict{
		Kind: JunkFlood, Certainty: Certain, Server: r.address(e), Sources: few, From: instant(f.from), To: instant(f.to),
		Text: fmt.Sprintf("Junk flood at %s%s: %s datagrams of no known protocol in %s (%s per second, %s) from %s. %s.",
			r.address(e), r.named(&e.v), number(nearest(n)), r.span(f.from, f.to), rounded(rate), FormatSize(nearest(bytes)), who, r.sentBack(back)),
		Advice: advice,
		Evidence: Evidence{
			{"datagrams", round(n, 0)}, {"requests", round(n, 0)}, {"datagrams_per_second", round(rate, 1)}, {"seconds", round(length.Seconds(), 1)}, {"bytes_in", round(bytes, 0)},
			{"sources", round(sources, 0)}, {"datagrams_back", float64(back)},
		},
	}, true
}

// fragments says that far more IP fragments of which the rest is missing came than messages.
func (r *reporting) fragments() {
	f := first(r.Findings, func(f Finding) bool {
		return f.ID == core.FragmentsForeign.ID && f.Severity == core.FragmentsForeign.Severity.String()
	})
	if f == nil {
		return
	}
	n, length := float64(f.Count), f.Last.Sub(f.First)
	rate := n / max(length.Seconds(), 1)
	if length < leastJunk || rate < junkPace || f.Count < 2*(r.Totals.Requests+r.Totals.Replies) {
		return
	}
	r.say(Verdict{
		Kind: JunkFlood, Certainty: Likely, From: f.First, To: f.Last,
		Text: fmt.Sprintf("Junk flood of fragments: %s IP fragments in %s (%s per second) that belong to no whole datagram and to no known protocol.",
			number(f.Count), r.span(f.First.UnixNano(), f.Last.UnixNano()), rounded(rate)),
		Advice:   "Drop fragments of UDP at the border if no reply needs them; if they fill the line, only the provider can.",
		Evidence: Evidence{{"datagrams", n}, {"requests", n}, {"datagrams_per_second", round(rate, 1)}, {"seconds", round(length.Seconds(), 1)}},
		Doubt:    "a capture of all fragments would make it certain: one that lacks packets has the same of honest datagrams",
	})
}

// senders returns the sources that sent nearly all, nil if there are none.
func (r *reporting) senders(m *followed, least float64) (list []string) {
	all := slices.Clone(m.senders[:])
	slices.SortFunc(all, func(a, b sender) int { return cmp.Or(cmp.Compare(b.n, a.n), a.addr.Compare(b.addr)) })
	sum := uint64(0)
	for _, s := range all {
		if s.n == 0 || float64(sum) >= least && 2*s.n < all[0].n { // who sends as much is not left out
			break
		}
		sum += s.n
		list = append(list, r.host(s.addr).String())
	}
	return either(float64(sum) < least, nil, list)
}

// A junkTime is the time of a flood of junk, with what came in it without what is usual.
type junkTime struct {
	from, to             int64
	n, usual, out, bytes float64 // out: what came at other times
}

// grown counts what came in the time of a flood, and what would usually have come: as much as in the buckets without it.
func (r *reporting) grown(l *cells, f *junkTime) {
	var with, without, in, out, bytesIn, bytesOut float64
	l.in(func(from, to int64, c *cell) {
		length := float64(min(to, r.a.last+1) - max(from, r.a.first))
		if from < f.to && to > f.from {
			with, in, bytesIn = with+length, in+float64(c.requests), bytesIn+float64(c.bytesIn)
			return
		}
		without, out, bytesOut = without+length, out+float64(c.requests), bytesOut+float64(c.bytesIn)
	})
	f.out = out
	// Servers have no buckets before they are asked for the first time.
	without = max(without, float64(r.a.last-r.a.first)-with)
	length := float64(f.to - f.from)
	if 5*without <= length { // nearly all is flood
		f.n, f.usual, f.bytes = in, 0, bytesIn
		return
	}
	f.usual = out / without * length
	f.n, f.bytes = in-out/without*with, bytesIn-bytesOut/without*with
}

// sharpen finds the ends of a flood of junk in the buckets of the timeline, which are narrower than those of servers.
func (r *reporting) sharpen(start, end, margin int64, grown float64) (int64, int64) {
	w := widths[r.moments.width]
	rate := grown / float64(end-start) * float64(w)
	in, inside := 0.0, 0
	r.moments.in(func(from, to int64, m *moment) {
		if from >= start && to <= end {
			in += float64(m.unknown)
			inside++
		}
	})
	if inside == 0 {
		return start, end
	}
	least := in/float64(inside) - rate/2
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	r.moments.in(func(from, to int64, m *moment) {
		if from >= start-margin && to <= end+margin && float64(m.unknown) >= least {
			first, last = min(first, from), max(last, to)
		}
	})
	if first >= last {
		return start, end
	}
	return max(first, r.a.first), min(last, r.a.last+1)
}

// reflects reports whether replies of servers that are abused for reflections come from a port, and no requests of players.
func reflects(port uint16) bool {
	return port > 0 && port < lowPorts || slices.Contains([]uint16{1900, 3702, 5353, 11211}, port) // SSDP, WS-Discovery, mDNS, memcached
}

// sentBack says what a server sent to those that sent it junk.
func (r *reporting) sentBack(n uint64) string {
	switch {
	case r.o.OneSided:
		return "Whether it replies cannot be told"
	case n > 0:
		return fmt.Sprintf("The server sent %s back", count(n, "datagram", "datagrams"))
	}
	return "The server sent nothing back"
}
