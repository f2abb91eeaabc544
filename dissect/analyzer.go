package dissect

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/qdissect/qdissect/reassembly"
)

// Limits bound the state of an analyzer. A zero field takes the value of
// [DefaultLimits]: there is no way to ask for no limit.
type Limits struct {
	// Flows is the number of conversations remembered.
	Flows int
	// Requests is the number of requests that wait for a reply at once.
	Requests int
	// Peers is the number of clients whose challenges are remembered.
	Peers int
	// Window is how long after a request a reply is still taken for its
	// answer; then the request counts as unanswered.
	Window time.Duration
	// Idle is the silence after which a conversation is forgotten, at least
	// Window: its requests wait as long.
	Idle time.Duration
	// Parts bounds the unfinished sets of split packets.
	Parts reassembly.Limits
}

// DefaultLimits hold the state of a busy server in a few dozen megabytes.
var DefaultLimits = Limits{
	Flows:    131072,
	Requests: 131072,
	Peers:    32768,
	Window:   5 * time.Second,
	Idle:     60 * time.Second,
	Parts:    reassembly.Limits{Age: 10 * time.Second},
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits
	if l.Flows <= 0 {
		l.Flows = d.Flows
	}
	if l.Requests <= 0 {
		l.Requests = d.Requests
	}
	if l.Peers <= 0 {
		l.Peers = d.Peers
	}
	if l.Window <= 0 {
		l.Window = d.Window
	}
	if l.Idle <= 0 {
		l.Idle = d.Idle
	}
	l.Idle = max(l.Idle, l.Window)
	if l.Parts.Age <= 0 {
		l.Parts.Age = d.Parts.Age
	}
	return l
}

// A Handler takes what an analyzer finds. Everything it is handed is borrowed.
type Handler interface {
	// Record takes a message.
	Record(*Record)
	// Unknown takes a datagram that no protocol recognised.
	Unknown(*Unknown)
	// Finding takes a finding that belongs to no single message.
	Finding(*FlowFinding)
}

// An ExchangeHandler is a [Handler] that wants to know what became of every
// request as well. The replies tell most of it: their records name the request.
type ExchangeHandler interface {
	Handler
	// Exchange takes a request once no more replies are expected.
	Exchange(*Exchange)
}

// Config is what an analyzer is made of.
type Config struct {
	// Protocols are those to recognise, all.Protocols() for example. The
	// order decides where nothing else does.
	Protocols []*Protocol
	// Foreign describes other traffic, all.Foreign() for example; nil is none.
	Foreign *Foreign
	// DecodeAs forces datagrams from or to a port to a protocol.
	DecodeAs map[uint16]*Protocol
	// KeepCopies hands copies of datagrams on like others. For those who
	// must see every datagram.
	KeepCopies bool
	// Tree asks for the nodes of every message.
	Tree bool
	// Budget is shared with other tables of the same analysis; nil makes one
	// of the default size.
	Budget *reassembly.Budget
	Limits Limits
	// Share is an analyzer of the same protocols whose decoders and buffers are
	// used here as well. All analyzers that share them must run in one
	// goroutine. If nil, the analyzer has its own.
	Share *Analyzer
}

// A scratch holds the state for decoding one message (reader, decoders, record).
// Nothing in it outlives the message. Analyzers that take turns share one, so that
// it stays in the caches of the processor.
type scratch struct {
	decoders []Decoder
	reader   Reader
	record   Record
	tried    Message   // of a payload that was decoded to classify it
	frame    [1]uint64 // of a part that came in one frame
	found    [maxProtocols]candidate
}

// Inject makes decoding fail, for tests; nil ends it. It applies to all analyzers
// that share decoders with a.
func (a *Analyzer) Inject(i *Inject) { a.reader.inject = i }

// Stats count what an analyzer has seen.
type Stats struct {
	// Datagrams is all that came in; Messages, Unknown, Parts and Late are
	// what became of them.
	Datagrams uint64
	Messages  uint64
	Unknown   uint64
	// ByProtocol counts messages in the order of Config.Protocols.
	ByProtocol []uint64
	// Ambiguous counts those of them that could belong to other protocols as
	// well.
	Ambiguous map[Ambiguous]uint64
	// Panics counts what a decoder panicked over: the finding [Panicked].
	Panics uint64
	// Malformed counts messages with the finding of that name.
	Malformed uint64
	// Parts counts datagrams that were parts of split messages; Complete and
	// Incomplete the sets they made.
	Parts, Complete, Incomplete uint64
	// Requests, Replies and Unanswered count the sides of exchanges: requests
	// that ask for a reply, and those that were reported as unanswered.
	// Outcomes is what became of the requests.
	Requests, Replies, Unanswered uint64
	// ICMPMatched counts ICMP errors about a conversation that is known.
	ICMPMatched uint64
	Outcomes    Outcomes
	// Duplicates counts copies of datagrams; they are no messages.
	Duplicates uint64
	// Findings counts findings by severity.
	Findings [4]uint64
	// FlowsEvicted, RequestsEvicted and PeersEvicted count the state given up
	// because a limit was reached.
	FlowsEvicted, RequestsEvicted, PeersEvicted uint64
}

// An Analyzer takes datagrams in the order of their capture and tells its
// handler what they say. It keeps bounded state and reads no clock: time is
// that of the datagrams and of [Analyzer.Advance]. It is for one goroutine.
type Analyzer struct {
	*scratch
	config    Config
	handler   Handler
	protocols []*Protocol
	starts    [256]uint64 // candidates by first byte
	ports     map[uint16]uint64
	tracker   *tracker
	parts     *reassembly.Parts
	waiting   waiting
	strangers strangers
	others    []*Protocol // of the record
	stats     Stats
	strange   Unknown
	text      []byte
	missing   []int

	seen       sightings
	suspects   suspects
	identities identities

	asked   Datagram // see Recognise
	givenUp Datagram // stands for a set of parts that is given up

	quietCopies bool // most datagrams are copies: that is said once
	full        bool
	pressure    pressure
	now         int64 // time of the newest datagram, or of Advance
	current     int8  // protocol whose code runs, -1 if that of none does
	handing     bool  // the handler has it
}

// New returns an analyzer.
func New(c Config, h Handler) (*Analyzer, error) {
	shared := new(scratch)
	if c.Share != nil {
		if !slices.Equal(c.Protocols, c.Share.protocols) {
			return nil, errors.New("analyzers of different protocols cannot share decoders")
		}
		shared = c.Share.scratch
	} else {
		if err := validateAll(c.Protocols); err != nil {
			return nil, err
		}
		shared.renew(c.Protocols)
	}
	c.Limits = c.Limits.withDefaults()
	if c.Budget == nil {
		c.Budget = reassembly.NewBudget(0)
	}
	a := &Analyzer{scratch: shared, config: c, handler: h, protocols: c.Protocols, ports: make(map[uint16]uint64)}
	for i, p := range c.Protocols {
		for _, b := range p.Starts {
			a.starts[b] |= 1 << i
		}
		for _, port := range p.Ports {
			a.ports[port] |= 1 << i
		}
	}
	for port, p := range c.DecodeAs {
		if a.index(p) < 0 {
			return nil, fmt.Errorf("decode-as for port %d names %s, which is not among the protocols", port, p.Name)
		}
	}
	a.stats.ByProtocol, a.stats.Ambiguous = make([]uint64, len(c.Protocols)), make(map[Ambiguous]uint64)
	a.tracker = newTracker(c.Protocols, c.Limits, a.flowFinding, a.exchange())
	a.tracker.ended = a.tellCopies
	a.parts = reassembly.NewParts(c.Budget, c.Limits.Parts, a.incomplete)
	return a, nil
}

// exchange returns what takes exchanges, nil if the handler does not.
func (a *Analyzer) exchange() func(*Exchange) {
	x, ok := a.handler.(ExchangeHandler)
	if !ok {
		return nil
	}
	return func(e *Exchange) {
		a.handing = true
		x.Exchange(e)
		a.handing = false
	}
}

func (a *Analyzer) index(p *Protocol) int8 {
	for i, q := range a.protocols {
		if p == q {
			return int8(i)
		}
	}
	return -1
}

// Stats returns the counts so far.
func (a *Analyzer) Stats() Stats {
	s := a.stats
	s.ByProtocol = append([]uint64(nil), s.ByProtocol...)
	s.Ambiguous = maps.Clone(s.Ambiguous)
	s.FlowsEvicted = a.tracker.flows.evicted
	s.RequestsEvicted = a.tracker.evicted
	s.Outcomes = a.tracker.outcomes
	s.Unanswered = a.tracker.unansweredTold
	s.PeersEvicted = a.tracker.forgotten()
	return s
}

// Datagram takes the next datagram.
func (a *Analyzer) Datagram(d *Datagram) {
	a.stats.Datagrams++
	a.now = nanos(d.Time)
	a.handing, a.current = false, -1
	var x arrival
	x.begin(d)
	defer a.contain(&x)
	a.find(&x)
	a.classify(&x)
	switch {
	case x.protocol < 0 && x.undecided == 0:
		a.unknown(&x, 0)
	case a.copied(&x):
	case x.protocol < 0:
		a.hold(&x)
	default:
		a.decideHeld(&x)
		a.message(&x)
	}
}

// message takes a datagram that has been recognised: a whole message or a part
// of one. What was held enters here.
func (a *Analyzer) message(x *arrival) {
	if a.join(x) {
		a.finish(x)
	}
}

// finish takes what is to be read as one message, on the bench.
func (a *Analyzer) finish(x *arrival) {
	a.decode(x)
	if a.pair(x) {
		a.judge(x)
		a.handOver(x)
	}
}

// unknown hands on what was not recognised. candidates are the protocols that it
// could be of.
func (a *Analyzer) unknown(x *arrival, candidates uint64) {
	a.stats.Unknown++
	a.strangers.see(x)
	a.strange = Unknown{Datagram: x.Datagram, Foreign: a.config.Foreign, candidates: candidates, protocols: a.protocols, shown: a.strange.shown}
	a.handing = true
	a.handler.Unknown(&a.strange)
	a.handing = false
}

func (a *Analyzer) flowFinding(f *FlowFinding) {
	a.stats.Findings[f.Type.Severity]++
	a.handing = true
	a.handler.Finding(f)
	a.handing = false
}

// tell hands out a finding about a datagram that is no message.
func (a *Analyzer) tell(f Finding, x *arrival) {
	a.tracker.told = FlowFinding{Finding: f, Frame: x.Frame, Time: x.Time, Src: x.Src, Dst: x.Dst, VLAN: x.VLAN, Interface: x.Interface}
	if x.protocol >= 0 {
		a.tracker.told.Protocol = a.protocols[x.protocol]
	}
	a.flowFinding(&a.tracker.told)
}

// Advance tells the analyzer that it is now. What waited too long is reported.
// Call it at points that do not depend on how work is spread, every so many
// frames for example: the output depends on when it is called.
func (a *Analyzer) Advance(now time.Time) {
	n := nanos(now)
	a.now = n
	a.expireHeld(n)
	a.unattended(func() { a.parts.Expire(now) })
	a.unattended(func() { a.tracker.advance(n) })
}

// setWeight is how many requests without a reply take as much room in the output
// as a set of parts, roughly.
const setWeight = 16

// Waiting reports whether more than n requests, or n/16 sets of parts, wait for
// what is missing, and the newest frame among those that have waited longest.
func (a *Analyzer) Waiting(n int) (frame uint64, more bool) {
	if frame, more = a.parts.Waiting(n / setWeight); more {
		return frame, true
	}
	t, left := a.tracker, n
	i := t.waiting.oldest
	for ; i != none && left > 0; left-- {
		frame = max(frame, t.requests[i].frame)
		i = t.requests[i].newer
	}
	return frame, i != none
}

// FlushSome reports part of what [Analyzer.Flush] does: the sets of frames up to
// one, or the requests if at most n/16 sets are left. Whoever has many of them can
// let go of what is said of some before there is more.
func (a *Analyzer) FlushSome(frame uint64, n int) {
	if _, more := a.parts.Waiting(n / setWeight); more {
		a.unattended(func() { a.parts.FlushTo(frame) })
		return
	}
	a.unattended(a.parts.Flush) // some requests were answered in part
	a.unattended(func() { a.tracker.flushTo(a.now, frame) })
}

// Flush reports all that is unfinished: the input has ended. The analyzer is
// then as new, but for its counts.
func (a *Analyzer) Flush() {
	a.expireHeld(1<<63 - 1)
	a.unattended(a.parts.Flush)
	a.unattended(func() { a.tracker.flush(a.now) })
	a.full, a.now = false, 0
	a.seen, a.suspects.of, a.identities, a.quietCopies = sightings{}, nil, identities{}, false
}
