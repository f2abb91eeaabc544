package stats

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"math/bits"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// A server is what is counted for an address and port that is asked or that replies.
type server struct {
	tally
	clients       distinct
	kinds         [6]asked
	name, mapName []byte
	raw           bool // these are as they came, with this style and charset
	style         dissect.Style
	charset       dissect.Charset
	_             [48]byte // so that each entry begins with a line of the cache
}

// sameAs reports whether two ends are those of one server on both sides of a NAT: they say, get and send the same.
func (s *server) sameAs(o *server) bool {
	return s.requests == o.requests && s.bytesIn == o.bytesIn && s.bytesOut == o.bytesOut && len(s.name) > 0 && bytes.Equal(s.name, o.name)
}

// A tally is what a server that is forgotten leaves no room for, but for its pulses. What each message needs comes first: with the
// key it is three lines of the processor's cache.
type tally struct {
	lived
	protocol                      uint16 // index plus one
	players                       int32  // plus one, 0 if unknown
	requests, replies, challenges uint64
	bytesIn, bytesOut             uint64
	more                          *more
	pulses                        *pulses // nil before the first message; those of more, if it has one
	stated                        int64   // time of the newest players and names
	lastReply                     int64

	spare      spare
	incomplete uint64
	rejected   uint64 // requests with a challenge that got another one
	unasked    uint64 // replies to requests that are not in the capture
	heard      *heard
	stray      *stray // in the sum of all shards
	fates      fates  // of those that were repeated, the sendings after the first that came after a while
	proved     [proofs]Proved
}

// A heard is what others say of a server, and what few servers need.
type heard struct {
	icmp      string // of the newest error
	icmpFrame uint64
	refused   lived // the requests about which one came
	from      key   // the lowest of other ends from which it replies, if any
	// Datagrams to or from it of which the capture has only the beginning, and those that it sent among them that may be messages which
	// could not be read.
	cut, unread uint64
	odd         uint64 // datagrams that it sent before any reply and that no protocol recognises
	// Replies about which an ICMP error says that nothing listens there, or that they are too large.
	bounced, large uint64
	// Requests that were asked again before a reply came, those of them that had one after more than a second if nothing was lost, and replies after as long.
	unclear, behind, slow uint64
	// Replies that are wrong or refuse, and the lowest id of a finding that says so.
	wrong   uint64
	mistake string
}

// hears returns what others say of a server, for more.
func (s *tally) hears() *heard {
	if s.heard == nil {
		s.heard = new(heard)
	}
	return s.heard
}

func (h *heard) merge(o *heard) {
	if o.icmpFrame > h.icmpFrame {
		h.icmp, h.icmpFrame = o.icmp, o.icmpFrame
	}
	h.replies(&o.from)
	h.refused.reach(&o.refused)
	if o.mistake != "" && (h.mistake == "" || o.mistake < h.mistake) {
		h.mistake = o.mistake
	}
	addTo(h.counts(), o.counts())
}

func (h *heard) counts() []*uint64 {
	return []*uint64{&h.cut, &h.unread, &h.bounced, &h.large, &h.unclear, &h.behind, &h.slow, &h.wrong, &h.odd}
}

// replies records another end from which replies come.
func (h *heard) replies(from *key) {
	if *from != (key{}) && (h.from == (key{}) || from.compare(&h.from) < 0) {
		h.from = *from
	}
}

// says returns the words of the last ICMP error about a server.
func (s *tally) says() string { return cmp.Or(s.heard, new(heard)).icmp }

// refusedIn reports whether ICMP explains a silence: errors came for half as many requests, and at that time.
func (s *tally) refusedIn(o *silence) bool {
	h := cmp.Or(s.heard, new(heard))
	return float64(s.fates[dissect.OutcomeRefused]) >= badShare*o.requests && overlap(o.from, o.to, h.refused.first, h.refused.last+1) > 0
}

// fates count requests by their outcome.
type fates dissect.Outcomes

func (f *fates) add(o *fates) {
	for i, n := range o {
		f[i] += n
	}
}

// of returns the outcomes of requests; what is not known yet and what is not counted are the rest.
func (f *fates) of(requests uint64) (o Outcome) {
	o = Outcome{
		Answered: f[dissect.OutcomeAnswered], ChallengeOnly: f[dissect.OutcomeChallenged], Late: f[dissect.OutcomeLate], Partial: f[dissect.OutcomePartial],
		Refused: f[dissect.OutcomeRefused], Unanswered: f[dissect.OutcomeUnanswered] + f[dissect.OutcomeElsewhere] + f[dissect.OutcomeOther],
	}
	o.Other = less(requests, o.replied()+o.Refused+o.Unanswered)
	return o
}

// sources returns how many addresses asked, of which an estimate may be too high.
func (s *server) sources() Distinct {
	n := s.clients.count()
	n.Count = min(n.Count, s.requests)
	return n
}

// missed returns how many requests got no reply that they asked for.
func (f *fates) missed() uint64 {
	return f[dissect.OutcomeUnanswered] + f[dissect.OutcomeRefused] + f[dissect.OutcomeElsewhere] + f[dissect.OutcomeOther]
}

func (o *Outcome) counts() []*uint64 {
	return []*uint64{&o.Answered, &o.ChallengeOnly, &o.Late, &o.Partial, &o.Refused, &o.Unanswered, &o.Other}
}

// replied returns how many requests had a reply.
func (o *Outcome) replied() uint64 { return o.Answered + o.ChallengeOnly + o.Late + o.Partial }

// judged returns by which requests a server is judged, and how many of these ended: those that it has to answer or, if they are too few, also the others to
// which more says that replies came. Replies that did not have to come would hide that those lack that have to.
func judged(due, more Outcome) (Outcome, uint64) {
	n := due.replied() + due.Refused + due.Unanswered
	if n < leastWell || due.Answered == 0 {
		addTo(due.counts(), more.counts())
		n += more.replied() + more.Refused
	}
	return due, n
}

// An asked counts the outcomes of one kind of request at a server.
type asked struct {
	kind                            uint16 // index plus one
	requests, good, bad, incomplete uint32
	lived                           // of the bad and the incomplete ones
}

// of returns the counts of a kind, nil if there is no room.
func (s *server) of(kind uint16) *asked {
	if k := &s.kinds[0]; k.kind == kind+1 || k.kind == 0 { // as for most
		k.kind = kind + 1
		return k
	}
	return s.next(kind)
}

func (s *server) next(kind uint16) *asked {
	for i := range s.kinds {
		if k := &s.kinds[i]; k.kind == kind+1 || k.kind == 0 {
			k.kind = kind + 1
			return k
		}
	}
	return nil
}

// A more is what is kept for the busiest servers.
type more struct {
	cells  cells
	trips  histogram
	pulses pulses
	series [maxSeries]kindSeries
	calm   looks
	hot    bursts
	watch  watch
}

// newMore returns one whose ticks share room.
func newMore(room *int) *more {
	m := new(more)
	m.cells.most = maxCells
	m.pulses.of(mostTicks, room)
	for i := range m.series {
		m.series[i].ticks.of(mostTicks, room)
	}
	return m
}

// times returns the pulses of a server.
func (s *server) times() *pulses {
	if s.pulses == nil {
		s.pulses = new(pulses)
		s.pulses.of(leastTicks, nil)
	}
	return s.pulses
}

// adopt gives a server a timeline, with what was counted before.
func (s *server) adopt(m *more) {
	if s.more = m; s.began {
		*m.cells.at(s.first) = s.whole()
	}
	if s.pulses != nil {
		m.pulses.merge(s.pulses)
	}
	s.pulses = &m.pulses
}

func (m *more) merge(o *more, kinds []uint16) {
	m.cells.merge(&o.cells)
	m.trips.merge(&o.trips)
	for q := range each(o.series[:]) {
		if q.kind == 0 {
			break
		}
		if own := m.of(kinds[q.kind-1]); own != nil {
			own.ticks.merge(&q.ticks)
			own.challenged += q.challenged
			own.given += q.given
		}
	}
	m.calm.merge(&o.calm)
	for b := range each(o.hot) {
		m.hot.add(b)
	}
}

func (m *more) clear() {
	m.cells.clear()
	m.pulses.clear()
	for s := range each(m.series[:]) {
		s.ticks.clear()
		s.kind, s.challenged, s.given = 0, 0, 0
	}
	m.calm, m.hot, m.watch = looks{}, nil, watch{}
	if m.trips.n > 0 {
		m.trips = histogram{}
	}
}

// maxName bounds the name of a server and of its map, and maxRaw what is kept of it as it came. Most are not longer than usualName.
const (
	maxName   = 128
	maxRaw    = 2 * maxName
	usualName = 32
)

// keep returns a name, in a buffer that has room for a usual one. That of a new name is of room.
func keep(buf, name []byte, room *[]byte) []byte {
	if len(name) > cap(buf) {
		n := max(len(name), usualName)
		if len(*room) < n {
			*room = make([]byte, 1<<12)
		}
		buf, *room = (*room)[:0:n], (*room)[n:]
	}
	return append(buf[:0], name...)
}

// appendPlain appends a text that the server said as UTF-8 without colour codes.
func (s *server) appendPlain(dst, text []byte) []byte {
	if !s.raw {
		return append(dst, text...)
	}
	if s.style == core.Armagetron || !nettext.Plain(text) {
		text = s.charset.AppendUTF8(nil, s.style.AppendPlain(nil, text))
	}
	return append(dst, nettext.Cut(text, maxName)...)
}

// A lived has the times of the first and the last message.
type lived struct {
	first, last int64
	began       bool
}

func (s *lived) at(t int64) {
	if !s.began {
		s.began, s.first, s.last = true, t, t
	} else if t > s.last {
		s.last = t
	} else if t < s.first {
		s.first = t
	}
}

// reach makes the times those of both.
func (s *lived) reach(o *lived) {
	if o.began {
		s.at(o.first)
		s.at(o.last)
	}
}

// addServer adds the counts of another shard, or with same those of the same one in another capture. Its protocol and kinds have these numbers
// here.
func (a *Aggregate) addServer(o *entry[server], same bool, protocol uint16, kinds []uint16) {
	e := a.servers.find(&o.key, o.sum)
	if e == nil {
		e = a.newServer(&o.key, o.sum)
	}
	e.gain(o)
	s, v := &e.v, &o.v
	if v.more != nil && s.more == nil {
		if m := a.takeMore(e.count - e.err); m != nil {
			s.adopt(m)
		}
	}
	if s.merge(v, protocol, kinds); same {
		s.clients.merge(&v.clients, &a.sketches)
	} else {
		s.clients.sum(&v.clients)
	}
}

func (s *server) merge(o *server, protocol uint16, kinds []uint16) {
	if o.pulses != nil {
		s.times().merge(o.pulses)
	}
	s.protocol = cmp.Or(s.protocol, protocol)
	own, more := s.counts(), o.counts()
	addTo(own[:], more[:])
	for _, k := range o.kinds {
		if k.kind == 0 {
			break
		}
		if own := s.of(kinds[k.kind-1]); own != nil {
			own.requests = addSaturated(own.requests, k.requests)
			own.good = addSaturated(own.good, k.good)
			own.bad = addSaturated(own.bad, k.bad)
			own.incomplete = addSaturated(own.incomplete, k.incomplete)
			own.reach(&k.lived)
		}
	}
	newer := o.stated > s.stated
	if len(o.name) > 0 && (newer || len(s.name) == 0) {
		s.name = o.appendPlain(s.name[:0], o.name)
	}
	if len(o.mapName) > 0 && (newer || len(s.mapName) == 0) {
		s.mapName = o.appendPlain(s.mapName[:0], o.mapName)
	}
	if o.players > 0 && (newer || s.players == 0) {
		s.players = o.players
	}
	s.stated = max(s.stated, o.stated)
	if o.heard != nil {
		s.hears().merge(o.heard)
	}
	s.lastReply = max(s.lastReply, o.lastReply)
	s.reach(&o.lived)
	switch {
	case s.more == nil:
	case o.more != nil:
		s.more.merge(o.more, kinds)
	default:
		at := o.first
		if !o.began { // something came for a server that was known before
			at = s.first
		}
		whole := o.whole()
		s.more.cells.peek(at).add(&whole)
	}
}

func (s *tally) counts() (list [10 + len(fates{}) + 2*len(tally{}.proved)]*uint64) {
	l := append(list[:0], &s.requests, &s.replies, &s.challenges, &s.bytesIn, &s.bytesOut, &s.spare.in, &s.spare.out, &s.incomplete, &s.rejected, &s.unasked)
	l = slices.AppendSeq(l, each(s.fates[:]))
	for i := range s.proved {
		l = append(l, &s.proved[i].Requests, &s.proved[i].Complete)
	}
	return list
}

// whole returns all messages as if they had come at one time.
func (s *server) whole() cell {
	return cell{requests: s.requests, replies: s.replies, unanswered: s.fates.missed(), bytesIn: s.bytesIn, bytesOut: s.bytesOut}
}

// A kind is a kind of request of a protocol.
type kind struct {
	protocol           string
	of                 *dissect.MessageType // nil for all others
	index              uint16               // in the list of kinds
	number             uint16               // of the protocol, plus one
	bytesOut, unproven uint64
	fates              fates
	least, most        uint32 // lengths of payloads without a challenge
	common             [16]byte
	alike              uint8  // how many bytes all payloads have in common
	usual              uint64 // as message.payload, of the newest payload without a challenge
	token              token  // where requests have a challenge
	madeUp             uint64 // requests with a challenge that their sender was not given
	seen, tcp          bool
	cells              cells
}

// sum returns the counts of all times.
func (k *kind) sum() cell { return sumCells(k.cells.buckets) }

// otherKind is the type of the kinds for which there was no room.
var otherKind = dissect.MessageType{Name: "other", Title: "other request"}

func (k *kind) message() string { return cmp.Or(k.of, &otherKind).Name }

// title returns what it is called in prose.
func (k *kind) title() string { return cmp.Or(k.of, &otherKind).Title }

func (k *kind) mute() bool { return k.of != nil && mayIgnore(k.of) }

// mayIgnore reports whether servers may be silent to a kind of request without anything being wrong.
func mayIgnore(t *dissect.MessageType) bool {
	return t.Unanswered != nil && t.Unanswered.Severity < dissect.Warning
}

// asksChallenge reports whether a challenge is the whole answer.
func (k *kind) asksChallenge() bool { return k.of != nil && k.of.Purpose&dissect.ChallengeRequest != 0 }

func (k *kind) outcome() Outcome { return k.fates.of(k.sum().requests) }

// A token says where payloads have the four bytes of a challenge: behind how many bytes of payloads of a length, of which the first are
// the same. It is learned from the first that tells.
type token struct {
	at, length uint8 // 0 if unknown
	prefix     [longestPrefix]byte
}

// learn looks for a challenge.
func (k *token) learn(payload []byte, value uint64) {
	if v := uint32(value); k.length == 0 && uint64(v) == value && len(payload) < math.MaxUint8 && v != 0 && v != math.MaxUint32 {
		for _, b := range [...][]byte{binary.LittleEndian.AppendUint32(nil, v), binary.BigEndian.AppendUint32(nil, v)} {
			if at := bytes.Index(payload, b); at > 0 && bytes.Count(payload, b) == 1 {
				k.at, k.length = uint8(at), uint8(len(payload))
				copy(k.prefix[:], payload[:at])
				return
			}
		}
	}
}

// looks records the length and the first bytes of a request.
func (k *kind) looks(payload []byte, sum uint64, r *dissect.Record) {
	switch {
	case k.alike <= 8 && len(payload) >= 8 && k.seen:
		differ := binary.LittleEndian.Uint64(payload) ^ binary.LittleEndian.Uint64(k.common[:])
		k.alike = min(k.alike, uint8(bits.TrailingZeros64(differ)/8))
	case len(payload) >= len(k.common) && [len(k.common)]byte(payload) == k.common && k.seen: // nothing is less alike
	case !k.seen:
		k.seen = true
		k.alike = uint8(copy(k.common[:], payload))
	default:
		k.shorten(payload)
	}
	switch n := uint32(len(payload)); {
	case r.Pair.Challenge == dissect.ChallengeUsed:
		if !r.Proven {
			k.madeUp++
		}
		k.token.learn(payload, r.Pair.Value)
	case !r.Proven:
		k.lengths(n, n)
		k.usual = sum
	}
}

// lengths records the lengths of requests without a challenge.
func (k *kind) lengths(least, most uint32) {
	if k.most == 0 || least < k.least {
		k.least = least
	}
	k.most = max(k.most, most)
}

// shorten reduces the common bytes to what b has as well.
func (k *kind) shorten(b []byte) {
	b = b[:min(len(b), int(k.alike))]
	if string(b) == string(k.common[:len(b)]) {
		k.alike = uint8(len(b))
		return
	}
	n := 0
	for b[n] == k.common[n] {
		n++
	}
	k.alike = uint8(n)
}

func (k *kind) merge(o *kind) {
	k.tcp = k.tcp || o.tcp
	switch {
	case !o.seen:
	case k.seen:
		k.shorten(o.common[:o.alike])
	default:
		k.common, k.alike, k.seen = o.common, o.alike, true
	}
	if o.most > 0 {
		k.lengths(o.least, o.most)
	}
	if k.token.length == 0 {
		k.token = o.token
	}
	addTo(k.counts(), o.counts())
	k.cells.merge(&o.cells)
}

func (k *kind) counts() []*uint64 {
	return append(pointers(k.fates[:]), &k.bytesOut, &k.unproven, &k.madeUp)
}

// A finding is what is counted for a type of finding.
type finding struct {
	id, severity, text, doc string
	count                   uint64
	first, last             int64
	examples                []Example // of the lowest frames
}

const maxExamples = 3

// example adds an example, if it is among the first.
func (f *finding) example(e Example) {
	i := len(f.examples)
	for i > 0 && e.before(&f.examples[i-1]) {
		i--
	}
	f.examples = slices.Insert(f.examples, i, e)[:min(len(f.examples)+1, maxExamples)]
}

func (e *Example) before(o *Example) bool {
	return e.input < o.input || e.input == o.input && e.Frame < o.Frame
}

func (f *finding) merge(o *finding) {
	if len(o.examples) > 0 && (len(f.examples) == 0 || o.examples[0].before(&f.examples[0])) {
		f.text = o.text
	}
	f.count += o.count
	f.first, f.last = min(f.first, o.first), max(f.last, o.last)
	for _, e := range o.examples {
		f.example(e)
	}
}

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
	all := slices.DeleteFunc(pointers(a.servers.entries), func(e *entry[server]) bool { return e.v.protocol == 0 })
	known := slices.ContainsFunc(all, isHome)
	all = slices.DeleteFunc(all, func(e *entry[server]) bool { return known && !isHome(e) || !known && e.v.replies == 0 })
	slices.SortFunc(all, func(a, b *entry[server]) int {
		return cmp.Or(cmp.Compare(b.v.requests, a.v.requests), cmp.Compare(b.count, a.count), a.compare(&b.key))
	})
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
