package dissect

import (
	"net/netip"
	"time"

	"github.com/qdissect/qdissect/internal/core"
)

// A Proof says how far it is certain that the sender of a request is who it claims to be:
// whoever forges its address does not receive what the server sends to it.
type Proof uint8

const (
	// Unproven: the server asks for no proof.
	Unproven Proof = iota
	// Unreturned: the server gave a challenge, and the client did not return it.
	Unreturned
	// Vouched: another request of the address proved it to the server, up to ten
	// minutes before or a window after.
	Vouched
	// Proven: the request carries what the server gave this address.
	Proven
)

var proofNames = [...]string{"unproven", "unreturned", "vouched", "proven"}

func (p Proof) String() string { return proofNames[p] }

// An Exchange is a request with its replies. It is handed over when no more replies are
// expected: a window after the request, or up to lateWindows after one without a reply.
type Exchange struct {
	Protocol *Protocol
	// Type is that of the request.
	Type *MessageType
	// Outcome is what became of the request.
	Outcome Outcome
	Proof   Proof
	// Frame and Time are those of the request, and so are the addresses.
	Frame     uint64
	Time      time.Time
	Src, Dst  netip.AddrPort
	Interface string
	VLAN      uint16
	// Requests is the number of requests that this exchange stands for: sendings of one
	// question one upon the other share it. Repeated of them have OutcomeRepeated and
	// the others have Outcome.
	Requests, Repeated int
	// Marked and MarkedRepeated count those of them that have [Record.Mark].
	Marked, MarkedRepeated int
	// Sendings is how often the question was sent so far, and Newest the time of the newest one.
	Sendings int
	Newest   time.Time
	// Replies is the number of replies, ReplyFrame the frame of the first one and
	// LastFrame that of the newest one, and Reply the type of the first one.
	Replies               int
	ReplyFrame, LastFrame uint64
	Reply                 *MessageType
	// First and Last are the times to the first part of the first reply and to the last
	// part of the last one, if Timed says that they are known. Ambiguous says that they
	// are not because the request was retransmitted: they are right if nothing was lost.
	Timed, Ambiguous bool
	First, Last      time.Duration
	// Server is what the first reply that describes the server says, nil if there is
	// none, or without [Config.Facts].
	Server *Server
	// RequestBytes and ReplyBytes are UDP payload sizes.
	RequestBytes, ReplyBytes int
	// Parts of Total parts came of a partial reply. Total is 0 if it is unknown.
	Parts, Total int
	// From is where the reply came from that came from elsewhere.
	From netip.AddrPort
	// ByReply says that a reply refused the request, and not an ICMP error.
	ByReply bool
	// OneDirection says that the capture has no reply of the server so far: one direction
	// may be missing.
	OneDirection bool
}

// sent returns the number of requests that q stands for, and how many of them were repeated.
func (t *tracker) sent(q *request) (requests, repeated int) {
	more := int(t.requests.rare(q).merged) // of which some were answered as well
	if q.answer == 0 && t.requests.rare(q).from != (serverKey{}) {
		return 1 + more, 0 // all were answered from there
	}
	return 1 + more, more - min(max(int(t.requests.answered(q).n), 1)-1, more)
}

// exchangeOf returns a request with its replies and an outcome, until the next call.
func (t *tracker) exchangeOf(q *request, is Outcome) *Exchange {
	p, got, f := t.protocols[q.protocol], t.requests.answered(q), &t.flows.flows[q.flow]
	o, n := t.requests.rare(q), int(got.n)
	x := &t.out.ended // filled value by value: a literal would be copied
	x.Protocol, x.Type, x.Outcome, x.Proof = p, p.Catalog.Messages()[q.message], is, t.proof(q, got)
	x.Frame, x.Time = q.frame, fromNanos(t.requests.time(q))
	x.Src, x.Dst = f.key.endpoints(q.up())
	x.Interface, x.VLAN = "", 0
	if o.link != 0 {
		l := &t.requests.links[o.link]
		x.Interface, x.VLAN = l.name, l.vlan
	}
	x.Requests, x.Repeated = t.sent(q)
	if x.Sendings, x.Newest = t.requests.sendings(q), x.Time; q.has(isResent) {
		x.Newest = fromNanos(q.sent)
	}
	x.Marked, x.MarkedRepeated = core.Bit[int](q.has(isMarked))+int(o.marks), min(int(o.marks), x.Repeated)
	x.Replies, x.ReplyFrame, x.LastFrame, x.Reply = n, got.firstFrame, got.lastFrame, nil
	if q.answer != 0 && got.message > 0 {
		x.Reply = t.protocols[got.protocol].Catalog.Messages()[got.message-1]
	}
	x.Timed, x.Ambiguous, x.First, x.Last = false, q.has(isUnclear), 0, 0
	if q.answer != 0 && got.first >= t.requests.time(q) {
		x.Timed, x.First, x.Last = !x.Ambiguous, time.Duration(got.first-t.requests.time(q)), time.Duration(max(got.last-t.requests.time(q), 0))
	}
	x.Server = nil
	if got.facts != 0 {
		t.out.server = t.requests.facts.at(got.facts).server.Value()
		x.Server = &t.out.server
	}
	x.RequestBytes, x.ReplyBytes, x.Parts, x.Total = int(t.requests.size(q)), int(got.bytes), int(got.parts), int(got.total)
	x.ByReply = is == OutcomeRefused && q.answer != 0
	x.From, x.OneDirection = netip.AddrPort{}, q.answer == 0 && t.silent(q)
	if is == OutcomeElsewhere {
		x.From = o.from.endpoint()
	}
	return x
}
