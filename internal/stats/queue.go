package stats

import (
	"math"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// A message is what is counted of one. What comes soon after one another is counted together: the code that counts and that of the engine
// would take each other's place in the processor's cache for every message.
type message struct {
	of               *Aggregate
	t                int64
	size, payload    uint64 // payload is 1<<32 and the checksum of that of a request, 0 if unknown
	other            key    // the other end, which is a client without its port; of one that ended: where the reply came from, if it was elsewhere
	is               what
	again            bool // of the same question as the request before, which it does not repeat; or as the one that ended before, and ended alike
	proven           bool
	waited           bool // asked again after a while without a reply
	challenge        bool // of a reply: it only gives a challenge
	partial, unasked bool
	hops             uint8
	id               uint16            // of the IPv4 header; a hash of the /48 of the source of IPv6
	port             uint16            // of a client that asks
	rtt              int64             // of a reply, negative if it is not known
	protocol         *dissect.Protocol // of a reply
	question
}

// A question is a kind of request at a server. Replies and notices have no kind.
type question struct {
	kind *kind
	key  key
}

// A what says what a message is, or that a request ended.
type what uint8

const (
	notice what = iota
	request
	reply
	end
	odd // no protocol recognises it
)

// An ended says how requests ended, and has their numbers. Those that are counted are no repetitions; in and out are bytes of payload.
type ended struct {
	how                                 how
	newest                              int64 // of their sendings
	requests, counted, replies, in, out int
}

// A how says how a request ended.
type how struct {
	outcome dissect.Outcome
	proof   dissect.Proof
	byReply bool
}

// A recent is the newest request in the queue, or the newest that ended.
type recent struct {
	of *dissect.MessageType
	question
	how how // of one that ended
}

// is reports whether a request is of the same kind and to the same server.
func (n *recent) is(of *dissect.MessageType, at *key) bool { return of == n.of && *at == n.key }

// ended reports whether a request is so, and ended alike.
func (n *recent) ended(x *dissect.Exchange, at *key) bool {
	return n.is(x.Type, at) && x.Outcome == n.how.outcome && x.Proof == n.how.proof && x.ByReply == n.how.byReply
}

func (n *recent) set(a *Aggregate, p *dissect.Protocol, of *dissect.MessageType, at *key) {
	if n.of != of {
		n.of, n.kind = of, a.kind(p, of)
	}
	n.key = *at
}

// A said is what a server says about itself, with names that are kept where its message is.
type said struct {
	stated, named, mapped bool
	players               int32 // plus one, 0 if unknown
	style                 dissect.Style
	charset               dissect.Charset
	name, between, end    uint16 // where the two names begin and end in the text of the queue
}

// set sets the facts to those of a reply, with names appended to room.
func (f *said) set(s *dissect.Server, room *[]byte) {
	f.stated, f.named, f.mapped, f.style, f.charset, f.players = true, s.Name.OK, s.Map.OK, s.Style, s.Charset, 0
	if s.Players.OK {
		f.players = int32(min(max(s.Players.Value, 0), 1<<30)) + 1
	}
	f.name = uint16(len(*room))
	*room = append(*room, nettext.Cut(s.Name.Value, maxRaw)...)
	f.between = uint16(len(*room))
	*room = append(*room, nettext.Cut(s.Map.Value, maxRaw)...)
	f.end = uint16(len(*room))
}

// A queue has messages, and requests that ended, which are not counted yet. Aggregates that share sums share it, and so messages are counted in their order.
type queue struct {
	list  [64]message
	said  [64]said  // in those of list that are replies
	ended [64]ended // those of list that ended
	n     int
	text  []byte // of what servers say
}

// leastPatience is how long who asks again has waited, who does so because there was no reply.
const leastPatience = int64(400 * time.Millisecond)

// Record counts a message.
func (a *Aggregate) Record(r *dissect.Record) {
	q, in := &a.queue, r.Ends(core.Only{})
	t, i := in.At, q.n
	m := q.next(a, notice, t)
	m.size = wire(r.WireLength, len(r.Frames), r.Split.Parts, in.Src.V4)
	if r.Protocol.OverTCP() {
		m.size += uint64(12 * max(len(r.Frames), 1)) // headers are longer by so much
	}
	if a.totals.Datagrams++; r.Split.Parts > 1 {
		a.totals.Datagrams += uint64(r.Split.Parts - 1)
	}
	switch {
	case r.Type.Role == dissect.Request && r.Pair.Asks != 0:
		n := &a.asks
		if m.again = n.is(r.Type, (*key)(&in.Dst)); !m.again {
			n.set(a, r.Protocol, r.Type, (*key)(&in.Dst))
			m.question = n.question
		}
		m.is, m.other, m.port = request, (*key)(&in.Src).host(), in.Src.Port
		m.proven, m.waited, m.hops, m.id, m.payload = r.Proven, in.Waited >= leastPatience, r.HopLimit, r.IPID, 0
		if !in.Src.V4 {
			m.id = uint16(short(in.Src.Hi >> 16))
		}
		if len(r.Sources) > 0 {
			if m.payload = uint64(r.Sum) | 1<<32; m.payload != n.kind.usual {
				n.kind.looks(r.Sources[0].Data, m.payload, r)
			}
		}
	case r.Type.Role == dissect.Reply:
		m.protocol, m.key, m.other = r.Protocol, key(in.Src), (*key)(&in.Dst).host()
		m.is, m.challenge, m.partial, m.unasked = reply, r.Pair.Challenge == dissect.ChallengeIssued, r.Split.Partial, r.RequestFrame == 0 && !r.Late
		if m.rtt = int64(r.RTT); !r.TimeKnown {
			m.rtt = -1
		}
		if f := &q.said[i]; r.Server.Stated() {
			f.set(&r.Server, &q.text)
		} else {
			f.stated = false
		}
		if m.challenge && len(r.Sources) > 0 {
			a.grants[a.protocol(r.Protocol.Name)].learn(r.Sources[0].Data, r.Pair.Value)
		}
	default:
		m.key = key(in.Src)
	}
	a.masters.record(r, (*key)(&in.Src), (*key)(&in.Dst), a.input)
	if a.focus != nil {
		a.focus.record(r)
	}
	a.queued()
	wrong := false
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Type.Severity > dissect.Chat {
			switch a.finding(f, r.Frame, t); f.Type {
			case core.Malformed:
				a.totals.Malformed++
			case core.CaptureCut:
				a.cuts++
				a.cut(r.Src, r.Dst, 0)
			}
			if !wrong && r.Type.Role == dissect.Reply && mistakes(f.Type, r) {
				wrong = true
				if e := a.known(&r.Src); e != nil {
					e.v.hears().merge(&heard{wrong: 1, mistake: f.Type.ID})
				}
			}
		}
	}
}

// mistakes reports whether a finding says that a message is wrong, or refuses.
func mistakes(f *dissect.FindingType, r *dissect.Record) bool {
	return f.Class == core.OfRefusal || f.Severity >= dissect.Warning && (f.Class == core.OfServer || f.Length) || f.Severity == dissect.Failed && !r.Split.Partial
}

// Exchange counts what became of a request: at once if it ended as those did that were counted last.
func (a *Aggregate) Exchange(x *dissect.Exchange) {
	in, u := x.Ends(core.Only{}), a.ending
	if t := in.At; t >= u.last && t < u.to && a.ends.ended(x, (*key)(&in.Dst)) && in.Newest == t {
		u.add(t, x.Requests, x.Requests-x.Repeated, x.Replies, x.RequestBytes, x.ReplyBytes)
	} else {
		a.wait(x, in)
	}
	if len(a.masters.list) > 0 && x.Outcome.Counts() && x.Requests > x.Repeated {
		a.masters.ended((*key)(&in.Dst), (*key)(&in.Src), x.Outcome)
	}
	if x.Ambiguous && x.Outcome == dissect.OutcomeAnswered {
		a.count()
		if e := a.knownAs((*key)(&in.Dst)); e != nil {
			h := e.v.hears()
			if h.unclear++; x.First > time.Second {
				h.behind++
			}
		}
	}
}

// OnlyCounts reports whether nothing of an exchange is read but what is counted of each.
func (a *Aggregate) OnlyCounts() bool { return a.focus == nil }

// wait puts a request that ended into the queue.
func (a *Aggregate) wait(x *dissect.Exchange, in *core.Packed) {
	q, n := &a.queue, &a.ends
	e := &q.ended[q.n]
	m := q.next(a, end, in.At)
	is := either(x.Outcome == dissect.OutcomeElsewhere && x.Broadcast, dissect.OutcomeAnswered, x.Outcome) // by one of those that were asked
	if m.again = is == x.Outcome && n.ended(x, (*key)(&in.Dst)); !m.again {
		n.set(a, x.Protocol, x.Type, (*key)(&in.Dst))
		n.how = how{is, x.Proof, x.ByReply}
	}
	m.question = n.question
	e.how, e.newest = n.how, in.Newest
	e.requests, e.counted, e.replies, e.in, e.out = x.Requests, x.Requests-x.Repeated, x.Replies, x.RequestBytes, x.ReplyBytes
	a.ending.to = math.MinInt64 // those that come next end after it
	if is == dissect.OutcomeElsewhere {
		m.other = keyOf(x.From.Addr(), x.From.Port())
	}
	if a.focus != nil && (x.Outcome.Counts() || x.Outcome == dissect.OutcomeRepeated) {
		a.focus.exchange(x, is)
	}
	a.queued()
}

// queued counts what is in the queue if that is full. A focus looks at everything at once.
func (a *Aggregate) queued() {
	if a.queue.n == len(a.queue.list) || a.focus != nil {
		a.count()
	}
}

// next returns a place for what comes at a time. There is one: a queue without room for more is counted, and that of a focus at once.
func (q *queue) next(of *Aggregate, is what, t int64) *message {
	m := &q.list[q.n]
	q.n++
	m.of, m.is, m.t = of, is, t
	return m
}

// count counts what is in the queue. All that looks for servers and clients does it before.
func (a *sums) count() {
	q := &a.queue
	list := q.list[:q.n]
	q.n = 0
	for i := range list {
		switch m := &list[i]; m.is {
		case request:
			m.of.request(m)
		case reply:
			m.of.reply(m, &q.said[i])
		case end:
			m.of.ended(m, &q.ended[i])
		case odd:
			if e := m.of.knownAs(&m.key); e != nil && e.v.replies == 0 {
				e.v.hears().odd++
			}
		default:
			m.of.notice(m)
		}
	}
	q.text = q.text[:0]
}
