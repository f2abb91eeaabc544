package serve

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
)

// Limits for a capture. A larger one is refused.
const (
	maxBytes   = 256 << 20
	maxFrames  = 1 << 24
	maxEvents  = 1 << 20
	maxServers = 1 << 12
	// maxExchanges limits the exchanges per request and state of its challenge, maxReply
	// the datagrams of a reply.
	maxExchanges = 4
	maxReply     = 512
	// window is the longest time from a request to its reply.
	window = 5 * time.Second
)

// ErrTooLarge is returned for a capture that exceeds the limits.
var ErrTooLarge = errors.New("the capture is too large to serve; extract the exchanges with qdissect cut")

// An answer holds the exchanges of requests with the same meaning.
type answer struct {
	key       string
	protocol  *dissect.Protocol
	exchanges []*exchange
	times     [2]int // without and with a challenge as the reply
}

// An exchange is a captured request with its reply.
type exchange struct {
	query         *query
	frame         uint64
	title         string // the summary of the reply
	kind          string // the title of the message type
	challengeOnly bool   // the reply is only a challenge
	whole         bool   // complete and well-formed
	datagrams     []Datagram
	edits         [][]edit // by datagram
	rules         int
}

// first returns the best exchange whose reply is a challenge, or is not. It also
// returns how many there are.
func (a *answer) first(challengeOnly bool) (best *exchange, times int) {
	for _, t := range a.exchanges {
		if t.challengeOnly == challengeOnly && (best == nil || t.whole && !best.whole) {
			best = t
		}
	}
	if challengeOnly {
		return best, a.times[1]
	}
	return best, a.times[0]
}

// choose returns the exchange for a request, or nil if the server requires a
// challenge. proven tells that the request has a valid challenge.
func (a *answer) choose(q *query, proven bool) *exchange {
	if q.challenge == dissect.ChallengeUsed && !proven {
		// Servers without challenges ignore the one in the request.
		return cmp.Or(
			a.pick(func(t *exchange) bool { return !t.challengeOnly && t.query.challenge != dissect.ChallengeUsed }, q),
			a.pick(func(t *exchange) bool { return t.challengeOnly }, q))
	}
	if proven {
		return cmp.Or(
			a.pick(func(t *exchange) bool { return !t.challengeOnly && t.query.challenge == dissect.ChallengeUsed }, q),
			a.pick(func(t *exchange) bool { return !t.challengeOnly }, q),
			a.pick(func(t *exchange) bool { return true }, q))
	}
	// Most servers treat a missing challenge and -1 alike.
	return cmp.Or(
		a.pick(func(t *exchange) bool { return t.query.challenge == q.challenge }, q),
		a.pick(func(t *exchange) bool { return t.query.challenge != dissect.ChallengeUsed }, q))
}

// pick returns the best of the exchanges that satisfy will: complete, and with as many
// chosen values as the request.
func (a *answer) pick(will func(*exchange) bool, q *query) (best *exchange) {
	score := -1
	for _, t := range a.exchanges {
		if !will(t) {
			continue
		}
		n := 0
		if t.whole {
			n += 2
		}
		if len(t.query.chosen) == len(q.chosen) && t.query.hasSetting() == q.hasSetting() {
			n++
		}
		if n > score {
			best, score = t, n
		}
	}
	return best
}

// A reply is a captured message, or a datagram that no protocol recognises.
type reply struct {
	title     string
	kind      string
	datagrams []Datagram // with absolute times
	slots     []slot
	rules     int
	issued    bool
	value     uint64
	broken    bool
}

// An event is a message or an unknown datagram of the capture.
type event struct {
	frame, request uint64
	id             uint64 // that both have, if the protocol has one
	time           int64
	src, dst       netip.AddrPort
	known          bool
	role           dissect.Role
	query          *query // unless it is a reply
	reply          *reply // unless it is a request
}

// A turn is a request with its replies.
type turn struct {
	*event
	at      int64 // the time of the last retransmission
	replies []*event
	n       int   // the number of datagrams
	before  *turn // the request before it in the same flow
	beside  *turn // the one before it in the same segment
}

// of returns the request with an id among those of a segment, or else the last one.
func (t *turn) of(id uint64) *turn {
	for s := t; s != nil; s = s.beside {
		if s.id == id {
			return s
		}
	}
	return t
}

// pipelined is the time within which several requests count as pipelined. Later, a new
// request replaces an unanswered one.
const pipelined = 300 * time.Millisecond

// asks returns the request that a datagram answers if the analyzer has not paired it.
// Pipelined requests are answered in order. Otherwise it is the last request.
func asks(last *turn, now int64) *turn {
	if last == nil || now-last.at > int64(window) {
		return nil
	}
	best := last
	if len(last.replies) == 0 {
		for t := last.before; t != nil && len(t.replies) == 0 && now-t.at < int64(pipelined); t = t.before {
			best = t
		}
	}
	return best
}

// An observer collects the results of the analyzer.
type observer struct {
	times  []int64 // of frames
	events []*event
	bytes  int
	full   bool
}

func (o *observer) room(n int) bool {
	o.bytes += n + 256
	if o.bytes > maxBytes || len(o.events) >= maxEvents {
		o.full = true
	}
	return !o.full
}

// Record implements [dissect.Handler].
func (o *observer) Record(r *dissect.Record) {
	parts := max(r.Split.Parts, 1)
	if parts > len(r.Sources) {
		return
	}
	n := nettext.Sum(r.Sources[:parts], func(s dissect.Source) int { return len(s.Data) })
	if !o.room(n) {
		return
	}
	e := &event{frame: r.Frame, request: r.RequestFrame, id: r.Pair.ID, src: r.Src, dst: r.Dst, known: true, role: r.Type.Role}
	if e.role != dissect.Reply {
		e.query = queryOf(r.Protocol, &r.Message, r.Sources, r.Nodes)
	}
	if e.role != dissect.Request {
		e.reply = o.reply(r, parts)
	}
	e.time = o.at(r.Frame, r.Time)
	if len(r.Frames) > 0 {
		e.time = o.at(r.Frames[0], r.Time)
	}
	o.events = append(o.events, e)
}

func (o *observer) at(frame uint64, otherwise time.Time) int64 {
	if frame > 0 && frame <= uint64(len(o.times)) {
		return o.times[frame-1]
	}
	return otherwise.UnixNano()
}

// reply copies a reply with its datagrams.
func (o *observer) reply(r *dissect.Record, parts int) *reply {
	p := &reply{
		title: string(r.AppendSummary(nil)), kind: r.Type.Title, issued: r.Pair.Challenge == dissect.ChallengeIssued && r.Pair.Value <= mostToken, value: r.Pair.Value,
	}
	sources, nodes := r.Sources, r.Nodes
	if packs(r.Protocol) && parts == 1 && len(sources) == 2 {
		sources, nodes = unpacked(sources, nodes)
	}
	p.slots, p.rules = slots(r.Protocol, sources, nodes, parts)
	for i := range parts {
		s := &sources[i]
		at := o.at(s.Frame, r.Time)
		p.datagrams = append(p.datagrams, Datagram{time.Duration(at), slices.Clone(s.Data)})
	}
	p.broken = r.Split.Partial
	for i := range r.Findings {
		if t := r.Findings[i].Type; t == core.Malformed || t == core.CaptureCut {
			p.broken = true
		}
	}
	return p
}

// unpacked returns a datagram as it would be if it were not packed, so that values in it
// can be replaced.
func unpacked(sources []dissect.Source, nodes []dissect.Node) ([]dissect.Source, []dissect.Node) {
	plain := sources[0]
	plain.Data = append([]byte{0xff}, sources[1].Data...)
	var inside []dissect.Node
	for _, n := range nodes {
		if n.Source == 1 {
			n.Source, n.Off = 0, n.Off+1
			inside = append(inside, n)
		}
	}
	return []dissect.Source{plain}, inside
}

// Unknown implements [dissect.Handler].
func (o *observer) Unknown(u *dissect.Unknown) {
	if !o.room(len(u.Payload)) || u.Missing > 0 {
		return
	}
	e := &event{frame: u.Frame, src: u.Src, dst: u.Dst, time: u.Time.UnixNano()}
	e.reply = &reply{title: rawTitle(u.Payload), datagrams: []Datagram{{time.Duration(e.time), slices.Clone(u.Payload)}}, rules: -1}
	o.events = append(o.events, e)
}

// Finding implements [dissect.Handler].
func (o *observer) Finding(*dissect.FlowFinding) {}

// Read learns the answers of the servers in a capture. If the capture cannot be read
// to its end, it returns the reason as trouble, with what it has learned so far.
func Read(src capture.Source, c dissect.Config) (list []*Captured, trouble, err error) {
	o := &observer{}
	trouble, err = pipeline.Walk(src, c, o, func(now time.Time) error {
		if o.times = append(o.times, now.UnixNano()); o.full || len(o.times) > maxFrames {
			return ErrTooLarge
		}
		return nil
	})
	if err == nil && o.full {
		err = ErrTooLarge
	}
	if err != nil {
		return nil, nil, err
	}
	list, err = learn(o.events)
	return list, trouble, err
}

// A flow is one direction of a conversation.
type flow struct{ src, dst netip.AddrPort }

func (f flow) back() flow { return flow{f.dst, f.src} }

// learn pairs requests and replies.
func learn(events []*event) ([]*Captured, error) {
	slices.SortStableFunc(events, func(a, b *event) int { return cmp.Compare(a.frame, b.frame) })
	var turns []*turn
	byFrame := make(map[uint64]*turn)
	last := make(map[flow]*turn)   // by direction
	client := make(map[flow]bool)  // directions that a client uses
	asked := make(map[uint64]bool) // frames of requests with replies
	for _, e := range events {
		asked[e.request] = true
	}
	for _, e := range events {
		f := flow{e.src, e.dst}
		if !client[f.back()] {
			client[f] = true
		}
		isReply := e.known && e.role == dissect.Reply || e.known && e.role == dissect.OneWay && client[f.back()] && !client[f] ||
			!e.known && !client[f]
		if !isReply {
			t := &turn{event: e, at: e.time}
			// A retransmission is not a new request. The reply may answer either.
			if old := last[f]; old != nil && e.known && old.known && asked[old.frame] && !asked[e.frame] && old.query.key == e.query.key && len(old.replies) == 0 {
				old.at = e.time
				continue
			}
			if old := last[f]; old != nil && old.time < e.time {
				t.before = old
			}
			turns = append(turns, t)
			t.beside = byFrame[e.frame]
			byFrame[e.frame], last[f] = t, t
			continue
		}
		t := byFrame[e.request].of(e.id)
		if e.request == 0 {
			if t = asks(last[f.back()], e.time); t == nil {
				continue
			}
		}
		if t != nil && t.n < maxReply {
			t.replies = append(t.replies, e)
			t.n += len(e.reply.datagrams)
		}
	}
	servers := make(map[netip.AddrPort]*Captured)
	var list []*Captured
	for _, t := range turns {
		if len(t.replies) == 0 || t.query == nil {
			continue
		}
		c := servers[t.dst]
		if c == nil {
			if len(list) >= maxServers {
				return nil, ErrTooLarge
			}
			c = &Captured{Address: t.dst, byKey: make(map[string]*answer), silent: make(map[*dissect.Protocol]bool)}
			servers[t.dst] = c
			list = append(list, c)
		}
		c.add(t)
	}
	return list, nil
}

// add records an exchange.
func (c *Captured) add(t *turn) {
	var datagrams []Datagram
	var all [][]edit
	title, whole, challengeOnly, rules := "", true, true, -1
	for _, e := range t.replies {
		r := e.reply
		datagrams = append(datagrams, nettext.Each(r.datagrams, func(d Datagram) Datagram { return Datagram{max(d.After-time.Duration(t.at), 0), d.Payload} })...)
		if title != "" {
			title += ", "
		}
		title += r.title
		whole = whole && !r.broken
		list, gives := edits(t.query, r)
		all = append(all, list...)
		challengeOnly = challengeOnly && (gives || r.issued)
		if rules = -1; len(t.replies) == 1 {
			rules = r.rules
		}
	}
	a := c.byKey[t.query.key]
	if a == nil {
		a = &answer{key: t.query.key, protocol: t.query.protocol}
		c.byKey[a.key] = a
		c.answers = append(c.answers, a)
		if !slices.Contains(c.Protocols, a.protocol) {
			c.Protocols = append(c.Protocols, a.protocol)
		}
	}
	if t.query.hasSetting() && !slices.ContainsFunc(all, func(l []edit) bool {
		return slices.ContainsFunc(l, func(e edit) bool { return e.kind == editSetting })
	}) {
		c.silent[a.protocol] = true
	}
	if challengeOnly {
		a.times[1]++
	} else {
		a.times[0]++
	}
	n := 0
	for _, old := range a.exchanges {
		if old.query.challenge == t.query.challenge && old.challengeOnly == challengeOnly && old.whole == whole && old.query.hasSetting() == t.query.hasSetting() {
			n++
		}
	}
	if n < maxExchanges {
		a.exchanges = append(a.exchanges, &exchange{
			query: t.query, frame: t.frame, title: title, kind: t.replies[0].reply.kind, challengeOnly: challengeOnly, whole: whole, datagrams: datagrams, edits: all, rules: rules,
		})
	}
}
