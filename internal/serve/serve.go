// Package serve answers queries as the servers in a capture answered them.
//
// [Read] learns from a capture which requests its servers answered, with which
// datagrams and after what time. A [Server] takes the datagrams that reach one
// of them now and says what to send back. It knows a request by what it means:
// by its protocol, its type and what it asks for, as the protocol's decoder
// reads it, without the values that one side chose ([dissect.Field].Chosen).
// In the reply it puts this client's values where those of the captured client
// stood, and challenges of its own where the captured server gave one. What no
// protocol recognises is known by its bytes.
//
// Nothing here opens a socket, starts a goroutine or reads a clock: that is the
// caller's. State does not grow with the number of clients. Challenges are
// hashes of the client's address and of the time, and nothing else is kept of a
// client.
package serve

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
)

// A Captured is one server of a capture, and how it answered.
type Captured struct {
	// Address is where it was.
	Address netip.AddrPort

	answers []*answer
	byKey   map[string]*answer
	raws    []*raw
	// Protocols are those of its answers, in the order of their appearance.
	Protocols []*dissect.Protocol
	// silent are the protocols whose servers leave a setting out of a reply
	// that clients want back.
	silent map[*dissect.Protocol]bool
}

// An Entry is one kind of request that a captured server answered, for lists.
type Entry struct {
	// Protocol is its name, "unknown" for datagrams that no protocol
	// recognises.
	Protocol string
	// Request and Reply say what they are. Text of a capture in them is safe
	// on a terminal.
	Request, Reply string
	// Frame is that of the request.
	Frame uint64
	// Datagrams and Bytes are the size of the reply.
	Datagrams, Bytes int
	// Incomplete says that a part of the reply is missing in the capture, or
	// that it cannot be read to its end.
	Incomplete bool
	// Times is how often the capture has the request answered.
	Times int
}

// Unknown is what the protocol of datagrams is called that none recognises.
const Unknown = "unknown"

// Names returns the names of the protocols that the server can answer.
func (c *Captured) Names() string {
	var names []string
	for _, p := range c.Protocols {
		names = append(names, p.Name)
	}
	if len(c.raws) > 0 {
		names = append(names, Unknown)
	}
	return strings.Join(names, ", ")
}

// Entries returns all that the server can answer, in the order of the capture.
func (c *Captured) Entries() (list []Entry) {
	for _, a := range c.answers {
		for _, given := range [...]bool{true, false} {
			t, n := a.first(given)
			if t == nil {
				continue
			}
			list = append(list, Entry{
				Protocol: a.protocol.Name, Request: t.query.title, Reply: t.title, Frame: t.frame,
				Datagrams: len(t.datagrams), Bytes: t.bytes(), Times: n, Incomplete: !t.whole,
			})
		}
	}
	for _, r := range c.raws {
		list = append(list, Entry{
			Protocol: Unknown, Request: rawTitle(r.request), Reply: rawReply(r.datagrams), Frame: r.frame,
			Datagrams: len(r.datagrams), Bytes: size(r.datagrams), Times: r.times,
		})
	}
	slices.SortStableFunc(list, func(a, b Entry) int { return cmp.Compare(a.Frame, b.Frame) })
	return list
}

// A Datagram is one to be sent.
type Datagram struct {
	// After is how long after the request it is due.
	After   time.Duration
	Payload []byte
}

func size(list []Datagram) (n int) {
	for i := range list {
		n += len(list[i].Payload)
	}
	return n
}

// A Result says what became of a request.
type Result uint8

const (
	// Answered: with what the captured server said.
	Answered Result = iota
	// Challenged: with a challenge.
	Challenged
	// NotCaptured: the capture has no such request, or no answer to it.
	NotCaptured
	// NoChallenge: the captured server answers only with a challenge, and
	// this request has none that is valid.
	NoChallenge
	// Withheld: the answer is longer than the request, whose address nothing
	// proves.
	Withheld
)

var resultNames = [...]string{
	"answered", "challenged", "no such request in the capture", "not answered without a valid challenge",
	"withheld: longer than the request, and no challenge proves the address",
}

func (r Result) String() string { return resultNames[r] }

// An Answer is what to do about a request.
type Answer struct {
	Result Result
	// Protocol, Request and Reply name what was exchanged, Reply only if there
	// is one. Text of the capture in them is safe on a terminal.
	Protocol, Request, Reply string
	// Frame is that of the request in the capture, 0 if it has none.
	Frame uint64
	// Datagrams are to be sent back, in the order in which they are due.
	Datagrams []Datagram
	// Lost is how many were left out on purpose.
	Lost int
}

// Options are how a server behaves.
type Options struct {
	// Guarded is for servers that strangers can reach: none but those who
	// present a valid challenge get more bytes than they sent.
	Guarded bool
	// Key is secret and makes challenges.
	Key [32]byte
	// Trouble is what goes wrong on purpose.
	Trouble Trouble
	// NoDelay sends everything at once.
	NoDelay bool
}

// A Server answers for one captured server. It is for one goroutine.
type Server struct {
	captured *Captured
	options  Options
	tokens   tokens
	readers  []*requestReader
	played   map[any]uint64
	sequence uint64
}

// New returns a server that answers as c did.
func New(c *Captured, o Options) *Server {
	s := &Server{captured: c, options: o, played: make(map[any]uint64)}
	s.tokens = newTokens(o.Key, c.Address)
	for _, p := range c.Protocols {
		s.readers = append(s.readers, newRequestReader(p))
	}
	return s
}

// Panics returns how many datagrams of clients a decoder panicked over.
func (s *Server) Panics() (n uint64) {
	for _, r := range s.readers {
		n += r.panics
	}
	return n
}

// Answer says what to do about a datagram from a client. The result is the
// caller's.
func (s *Server) Answer(from netip.AddrPort, now time.Time, payload []byte) Answer {
	q, a := s.find(payload)
	if a == nil {
		if r := s.findRaw(payload); r != nil {
			return s.answerRaw(r, payload)
		}
		out := Answer{Result: NotCaptured, Protocol: Unknown, Request: rawTitle(payload)}
		if q != nil {
			out.Protocol, out.Request = q.protocol.Name, q.title
		}
		return out
	}
	proven := q.challenge == dissect.ChallengeUsed && s.tokens.valid(from.Addr(), now, a.protocol, uint32(q.value))
	out := Answer{Protocol: a.protocol.Name, Request: q.title}
	d := danceOf(a.protocol)
	t := a.choose(q, proven)
	switch {
	case t == nil && d.give == nil:
		out.Result = NoChallenge
		return out
	case t == nil:
		s.challenge(&out, a, from, now)
	default:
		s.play(&out, a, t, q, from, now)
	}
	if s.options.Guarded && !proven && size(out.Datagrams) > len(payload) {
		if d.give != nil && out.Result != Challenged && q.challenge != dissect.NoChallenge {
			s.challenge(&out, a, from, now)
		}
		if size(out.Datagrams) > len(payload) {
			out.Result, out.Reply, out.Datagrams = Withheld, "", nil
			return out
		}
	}
	room := -1
	if s.options.Guarded && !proven {
		room = len(payload)
	}
	s.finish(&out, a, room)
	return out
}

// find reads a datagram as a request of the protocols that the server knows,
// and finds the answer to it.
func (s *Server) find(payload []byte) (q *query, a *answer) {
	var verdicts [maxVerdict + 1][]*requestReader
	for _, r := range s.readers {
		v := r.protocol.Detect(payload[:min(len(payload), detectBytes)])
		verdicts[v] = append(verdicts[v], r)
	}
	for v := maxVerdict; v >= dissect.Possible; v-- {
		for _, r := range verdicts[v] {
			got, ok := r.read(payload)
			if !ok {
				continue
			}
			if a := s.captured.byKey[got.key]; a != nil {
				return got, a
			}
			if q == nil {
				q = got
			}
		}
	}
	return q, nil
}

// detectBytes is how much of a payload detectors are handed.
const (
	detectBytes = 64
	maxVerdict  = dissect.Certain
)

// challenge answers with a challenge in the protocol's plain form.
func (s *Server) challenge(out *Answer, a *answer, from netip.AddrPort, now time.Time) {
	token := s.tokens.give(from.Addr(), now, a.protocol)
	out.Result, out.Reply, out.Frame = Challenged, "challenge", 0
	out.Datagrams = []Datagram{{Payload: danceOf(a.protocol).give(nil, token)}}
}

// play answers with what was captured.
func (s *Server) play(out *Answer, a *answer, t *take, q *query, from netip.AddrPort, now time.Time) {
	out.Frame, out.Reply, out.Result = t.frame, t.title, Answered
	f := fill{query: q, number: s.sequence + 1, turn: s.played[t]}
	if t.given {
		out.Result, out.Reply = Challenged, t.kind // its number is another one
		f.token = s.tokens.give(from.Addr(), now, a.protocol)
	}
	s.sequence++
	s.played[t]++
	for i := range t.datagrams {
		out.Datagrams = append(out.Datagrams, Datagram{t.datagrams[i].After, f.rewrite(t.datagrams[i].Payload, t.edits[i])})
	}
	if q.setting != nil && !t.query.hasSetting() && !s.captured.silent[a.protocol] {
		f.insert(t, out.Datagrams, danceOf(a.protocol).setting)
	}
}

// finish delays what is to be sent and lets go wrong what should. room is the
// most bytes that may be sent, -1 for any number.
func (s *Server) finish(out *Answer, what any, room int) {
	n := len(out.Datagrams)
	k := key(what)
	out.Datagrams = s.options.Trouble.apply(out.Datagrams, k, s.played[k], s.options.NoDelay, room)
	s.played[k]++
	out.Lost = max(n-len(out.Datagrams), 0)
}

// key names a kind of request, the same in every run.
func key(what any) string {
	switch w := what.(type) {
	case *answer:
		return w.key
	case *raw:
		return string(w.request)
	}
	return ""
}
