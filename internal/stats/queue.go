package stats

import (
	"net/netip"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

// A message is what is counted of one. What comes soon after one another is counted together: the code that counts and that of the engine
// would take each other's place in the processor's cache for every message.
type message struct {
	is               what
	of               *Aggregate
	protocol         *dissect.Protocol
	kind             *kind // of a request, or of one that ended
	t                int64
	rtt              int64  // of a reply, negative if it is not known
	newest           int64  // of the sendings of one that ended
	size, payload    uint64 // payload is 1<<32 and the checksum of that of a request, 0 if unknown
	server, other    key    // the other end, which is a client without its port; of one that ended: where the reply came from, if it was elsewhere
	id               uint16 // of the IPv4 header
	port             uint16 // of a client that asks
	hops             uint8
	again            bool // of the same kind and to the same server as the request before, or as the one that ended before, and ended alike
	proven           bool
	challenge        bool // of a reply: it only gives a challenge
	partial, unasked bool
	said             said
	how              how // of a request that ended
	ended            ended
}

// A what says what a message is, or that a request ended.
type what uint8

const (
	notice what = iota
	request
	reply
	end
)

// A how says how a request ended.
type how struct {
	outcome dissect.Outcome
	proof   dissect.Proof
	byReply bool
}

// An ended has the numbers of requests that ended. Those that are counted are no repetitions; in and out are bytes of payload.
type ended struct{ requests, counted, replies, in, out int }

// A recent is the newest request in the queue, or the newest that ended.
type recent struct {
	of   *dissect.MessageType
	kind *kind
	at   netip.AddrPort
	key  key
	how  how
}

// is reports whether a request is of the same kind and to the same server.
func (n *recent) is(of *dissect.MessageType, at *netip.AddrPort) bool {
	return of == n.of && *at == n.at
}

func (n *recent) set(a *Aggregate, p *dissect.Protocol, of *dissect.MessageType, at *netip.AddrPort) {
	n.of, n.at, n.kind, n.key = of, *at, a.kind(p, of), keyOf(at.Addr(), at.Port())
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
	f.named, f.mapped, f.style, f.charset, f.players = s.Name.OK, s.Map.OK, s.Style, s.Charset, 0
	if s.Players.OK {
		f.players = int32(min(max(s.Players.Value, 0), 1<<30)) + 1
	}
	f.name = uint16(len(*room))
	*room = append(*room, s.Name.Value[:min(len(s.Name.Value), maxRaw)]...)
	f.between = uint16(len(*room))
	*room = append(*room, s.Map.Value[:min(len(s.Map.Value), maxRaw)]...)
	f.end = uint16(len(*room))
}

// A queue has messages, and requests that ended, which are not counted yet. Aggregates that share sums share it, and so messages are counted in their order.
type queue struct {
	list [64]message
	n    int
	text []byte // of what servers say
}

// Record counts a message.
func (a *Aggregate) Record(r *dissect.Record) {
	q, t := &a.queue, r.Time.UnixNano()
	m := q.next(a, notice, t)
	m.protocol = r.Protocol
	m.size = wire(r.WireLength, len(r.Frames), r.Split.Parts, r.Src.Addr().Is4())
	if r.Protocol.OverTCP() {
		m.size += uint64(12 * max(len(r.Frames), 1)) // headers are longer by so much
	}
	if a.totals.Datagrams++; r.Split.Parts > 1 {
		a.totals.Datagrams += uint64(r.Split.Parts - 1)
	}
	switch {
	case r.Type.Role == dissect.Request && r.Pair.Asks != 0:
		n := &a.asks
		if m.again = n.is(r.Type, &r.Dst); !m.again {
			n.set(a, r.Protocol, r.Type, &r.Dst)
		}
		m.is, m.kind, m.server, m.other, m.port = request, n.kind, n.key, keyOf(r.Src.Addr(), 0), r.Src.Port()
		m.proven, m.hops, m.id, m.payload = r.Proven, r.HopLimit, r.IPID, 0
		if len(r.Sources) > 0 {
			if m.payload = uint64(r.Sum) | 1<<32; m.payload != n.kind.usual {
				n.kind.looks(r.Sources[0].Data, m.payload, r)
			}
		}
	case r.Type.Role == dissect.Reply:
		m.server, m.other = keyOf(r.Src.Addr(), r.Src.Port()), keyOf(r.Dst.Addr(), 0)
		m.is, m.challenge, m.partial, m.unasked = reply, r.Pair.Challenge == dissect.ChallengeIssued, r.Split.Partial, r.RequestFrame == 0 && !r.Late
		if m.rtt = int64(r.RTT); !r.TimeKnown {
			m.rtt = -1
		}
		if m.said.stated = r.Server.Stated(); m.said.stated {
			m.said.set(&r.Server, &q.text)
		}
		if m.challenge && len(r.Sources) > 0 {
			a.grants[a.protocol(r.Protocol.Name)].learn(r.Sources[0].Data, r.Pair.Value)
		}
	default:
		m.server = keyOf(r.Src.Addr(), r.Src.Port())
	}
	if a.focus != nil {
		a.focus.record(r)
	}
	a.full()
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Type.Severity > dissect.Chat {
			a.noteFinding(f, r.Frame, t)
			if f.Type == core.CaptureCut {
				a.cuts++
				a.cut(r.Src, r.Dst, 0)
			}
		}
	}
}

// Exchange counts what became of a request.
func (a *Aggregate) Exchange(x *dissect.Exchange) {
	m, n := a.queue.next(a, end, x.Time.UnixNano()), &a.ends
	if m.again = n.is(x.Type, &x.Dst) && x.Outcome == n.how.outcome && x.Proof == n.how.proof && x.ByReply == n.how.byReply; !m.again {
		n.set(a, x.Protocol, x.Type, &x.Dst)
		n.how = how{x.Outcome, x.Proof, x.ByReply}
	}
	m.kind, m.server, m.how, m.newest = n.kind, n.key, n.how, x.Newest.UnixNano()
	e := &m.ended
	e.requests, e.counted, e.replies, e.in, e.out = x.Requests, x.Requests-x.Repeated, x.Replies, x.RequestBytes, x.ReplyBytes
	if x.Outcome == dissect.OutcomeElsewhere {
		m.other = keyOf(x.From.Addr(), x.From.Port())
	}
	if a.focus != nil && (x.Outcome.Counts() || x.Outcome == dissect.OutcomeRepeated) {
		a.focus.exchange(x)
	}
	if x.Ambiguous && x.Outcome == dissect.OutcomeAnswered {
		if e := a.known(&x.Dst); e != nil {
			h := e.v.hears()
			if h.unclear++; x.First > time.Second {
				h.behind++
			}
		}
	}
	a.full()
}

// next returns a place for what comes at a time. There is one, see [Aggregate.full].
func (q *queue) next(of *Aggregate, is what, t int64) *message {
	m := &q.list[q.n]
	q.n++
	m.of, m.is, m.t = of, is, t
	return m
}

// full counts what is in the queue if there is no room for more, or if others ask.
func (a *Aggregate) full() {
	if a.queue.n == len(a.queue.list) || a.focus != nil {
		a.count()
	}
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
			m.of.reply(m)
		case end:
			m.of.ended(m)
		default:
			m.of.notice(m)
		}
	}
	q.text = q.text[:0]
}
