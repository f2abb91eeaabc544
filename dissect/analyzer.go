package dissect

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/qdissect/qdissect/reassembly"

	"github.com/qdissect/qdissect/internal/core"
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
	// Idle is the silence after which a conversation is evicted, at least
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
	l.Flows = cmp.Or(max(l.Flows, 0), d.Flows)
	l.Requests = cmp.Or(max(l.Requests, 0), d.Requests)
	l.Peers = cmp.Or(max(l.Peers, 0), d.Peers)
	l.Window = cmp.Or(max(l.Window, 0), d.Window)
	l.Idle = cmp.Or(max(l.Idle, 0), d.Idle)
	l.Idle = max(l.Idle, l.Window)
	l.Parts.Age = cmp.Or(max(l.Parts.Age, 0), d.Parts.Age)
	return l
}

// A Handler receives what an analyzer finds. All arguments are borrowed.
type Handler interface {
	// Record is called for each message.
	Record(*Record)
	// Unknown is called for each datagram that no protocol recognised.
	Unknown(*Unknown)
	// Finding is called for each finding that belongs to no single message.
	Finding(*FlowFinding)
}

// Config configures an [Analyzer].
type Config struct {
	// Protocols are the protocols to recognise, such as all.Protocols(). Their order
	// breaks ties. They never change once an analyzer has them.
	Protocols []*Protocol
	// Foreign describes other traffic, such as all.Foreign(). It may be nil.
	Foreign *Foreign
	// DecodeAs assigns all datagrams from or to a port to a protocol.
	DecodeAs map[uint16]*Protocol
	// KeepCopies disables the detection of duplicates, for programs that need every
	// datagram.
	KeepCopies bool
	// Tree builds the nodes of every message.
	Tree bool
	// Skim says that nobody reads the bodies of messages: without a tree, their lists
	// may lack entries. All else is the same, summaries too.
	Skim bool
	// Facts fills [Exchange.Server].
	Facts bool
	// Copied is called for a duplicate datagram, which the handler does not receive, and with
	// back for one that turns out to be a message, which follows. It may be nil.
	Copied func(d *Datagram, back bool)
	// Ended is called once for each request that asks for something, when no more
	// replies are expected. Handlers that only need the request of a reply find it in
	// [Record.RequestFrame]. It may be nil.
	Ended func(*Exchange)
	// Hears says that its Hear is called.
	Hears bool
	// Unreasoned says that nobody reads [Record.Reason], which may then be ByHeader although
	// other protocols could own the bytes. All else is the same.
	Unreasoned bool
	// Budget is the memory for parts. It may be shared with other tables; if nil,
	// the analyzer makes one of the default size.
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
	others   []*Protocol // of the record
	text     []byte      // of its findings
	missing  []int       // parts
	asked    place       // of the message
	awaits   func(topics Topic, id uint64) bool
}

// Inject makes decoding fail, for tests; nil ends it. It applies to all analyzers
// that share decoders with a.
func (a inner) Inject(i *core.Inject) { core.SetInject(&a.reader, i) }

// Stats are the counters of an analyzer.
type Stats struct {
	// Datagrams counts all datagrams.
	Datagrams uint64
	Messages  uint64
	Unknown   uint64
	// ByProtocol counts messages in the order of Config.Protocols.
	ByProtocol []uint64
	// Ambiguous counts those of them that could belong to other protocols as
	// well.
	Ambiguous map[Ambiguous]uint64
	// Panics counts datagrams with the finding [Panicked].
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
	// ICMPMatched counts ICMP errors about known conversations.
	ICMPMatched uint64
	Outcomes    Outcomes
	// AmbiguousReplies counts replies with an unknown round-trip time because the request
	// was retransmitted.
	AmbiguousReplies uint64
	// Duplicates counts duplicate datagrams; they are not messages.
	Duplicates uint64
	// Findings counts findings by severity.
	Findings [4]uint64
	// FlowsEvicted, RequestsEvicted and PeersEvicted count the state that was
	// evicted because a limit was reached.
	FlowsEvicted, RequestsEvicted, PeersEvicted uint64
}

// Count counts a message of one of the protocols. An analyzer counts its own: this is for
// the counters of a selection.
func (s *Stats) Count(r *Record, protocols []*Protocol) {
	i := slices.Index(protocols, r.Protocol)
	s.ByProtocol[i]++
	s.Messages++
	if r.also != 0 {
		s.countAmbiguous(Ambiguous{i, r.also})
	}
	switch {
	case r.Type.Role == Reply:
		s.Replies++
		if r.Ambiguous && r.RequestFrame > 0 {
			s.AmbiguousReplies++
		}
	case r.Type.Role == Request && r.Pair.Asks != 0:
		s.Requests++
	}
	switch {
	case len(r.Frames) <= 1 && r.Split.Parts == 0, r.Protocol.OverTCP():
	case r.Split.Partial:
		s.Incomplete++
	default:
		s.Complete++
	}
	s.countFindings(r.Findings)
}

// countFindings counts the findings of a message.
func (s *Stats) countFindings(list []Finding) {
	for i := range list {
		what := list[i].Type
		s.Findings[what.Severity]++
		if what == core.Malformed {
			s.Malformed++
		}
	}
}

// An Analyzer dissects datagrams in the order of their capture and reports messages
// and findings to its [Handler]. Its state is bounded. It reads no clock: time is
// that of the datagrams and of [Analyzer.Advance]. An Analyzer is not safe for
// concurrent use.
type Analyzer struct {
	*scratch
	*signatures
	config    Config
	protocols []*Protocol
	queue     *queue
	foreign   *foreignFlows
	copies    *copies
	waiting   *waiting
	parts     *reassembly.Parts
	tracker   *tracker
	out       *outlet
	pressure  *pressure
	stats     Stats
	stand     Datagram // of what is no datagram: a set of parts that is given up, and what is asked of a payload
	now       int64    // time of the newest datagram, or of Advance
	current   int8     // protocol whose code runs, -1 if that of none does
}

// inner is an analyzer with the methods that only this module calls.
type inner struct{ *Analyzer }

// OnlyCount makes exchanges have only what is counted of them, and their time and server as numbers.
func (a inner) OnlyCount() { a.out.onlyCounted = true }

// Inner returns what only this module can use.
func (a *Analyzer) Inner(core.Only) inner { return inner{a} }

// New returns an analyzer that reports to h.
func New(c Config, h Handler) (*Analyzer, error) {
	if h == nil {
		return nil, errors.New("no handler")
	}
	var shared *scratch
	var signs *signatures
	if c.Share != nil {
		if !slices.Equal(c.Protocols, c.Share.protocols) {
			return nil, errors.New("analyzers of different protocols cannot share decoders")
		}
		shared, signs = c.Share.scratch, c.Share.signatures
	} else {
		if err := validateAll(c.Protocols); err != nil {
			return nil, err
		}
		shared, signs = new(scratch), new(signatures)
		shared.renew(c.Protocols)
		signs.fill(c.Protocols)
	}
	c.Limits = c.Limits.withDefaults()
	if c.Budget == nil {
		c.Budget = reassembly.NewBudget(0)
	}
	a := &Analyzer{
		scratch: shared, signatures: signs, config: c, protocols: c.Protocols, queue: &queue{own: arrival{stopped: true}},
		foreign: new(foreignFlows), copies: new(copies), waiting: new(waiting), pressure: new(pressure),
	}
	for port, p := range c.DecodeAs {
		if a.index(p) < 0 {
			return nil, fmt.Errorf("decode-as for port %d names %s, which is not among the protocols", port, p.Name)
		}
	}
	a.stats = Stats{ByProtocol: make([]uint64, len(c.Protocols)), Ambiguous: make(map[Ambiguous]uint64)}
	a.out = &outlet{handler: h, copied: c.Copied, closed: c.Ended, stats: &a.stats}
	a.tracker = newTracker(&a.config, a.out)
	a.parts = reassembly.NewParts(c.Budget, c.Limits.Parts, a.incomplete)
	return a, nil
}

func (a *Analyzer) index(p *Protocol) int8 { return int8(slices.Index(a.protocols, p)) }

// Stats returns a copy of the counters.
func (a *Analyzer) Stats() Stats {
	s := a.stats
	s.ByProtocol = append([]uint64(nil), s.ByProtocol...)
	s.Ambiguous = maps.Clone(s.Ambiguous)
	n := a.tracker.evictions()
	s.FlowsEvicted, s.PeersEvicted = n.Flows, n.Clients
	return s
}

// Datagram dissects the next datagram.
func (a *Analyzer) Datagram(d *Datagram) { a.take(d, nil) }

// Datagram dissects the next datagram, whose time and ends are known as numbers.
func (a inner) Datagram(d *Datagram, packed *core.Packed) { a.take(d, packed) }

// take takes a datagram through the stages. packed is nil if its time and ends are not known as numbers.
func (a *Analyzer) take(d *Datagram, packed *core.Packed) {
	a.stats.Datagrams++
	a.out.handing, a.current = false, -1
	x := a.queue.begin(d, packed)
	a.queue.on, a.now = x, x.packed.At
	defer a.contain()
	a.find(x)
	if x.Stream != nil && len(x.Payload) == 0 {
		a.gap(x)
		return
	}
	a.classify(x)
	a.drop(x)
	a.hold(x)
	a.messages()
}

// messages takes the messages that are ready to the handler.
func (a *Analyzer) messages() {
	for m := a.next(); m != nil; m = a.next() {
		a.message(m)
	}
}

// message takes a message, which is in the reader, to the handler.
func (a *Analyzer) message(m *arrival) {
	a.decode(m)
	if a.reader.Failed() && a.mistaken(m) {
		m.undecided = 1 << m.protocol
		a.unknown(m)
		return
	}
	if a.pair(m) {
		a.judge(m)
		a.handOver(m)
	}
}

// proceed takes what is in the queue to the handler.
func (a *Analyzer) proceed() {
	defer a.contain()
	a.messages()
}

// Advance sets the time and reports what has expired: requests, incomplete messages
// and idle conversations. The output depends on when it is called, so call it at
// points that do not depend on how work is distributed, such as every 256 frames.
func (a *Analyzer) Advance(now time.Time) {
	n := nanos(now)
	a.now = n
	a.expireHeld(n)
	a.proceed()
	a.unattended(func() {
		a.hearOwn()
		a.parts.Expire(now)
		a.tracker.advance(n)
	})
}

// setWeight is about how many unanswered requests produce as much output as one
// incomplete set of parts.
const setWeight = 16

// Waiting reports whether more than n requests, or n/16 sets of parts, are pending,
// the highest frame number of the n oldest, and when these will have expired.
func (a inner) Waiting(n int) (frame uint64, due time.Time, more bool) {
	frame, due, more = a.parts.Waiting(n / setWeight)
	t, left := a.tracker, n
	i := t.requests.waiting.oldest
	last, sent := uint64(0), int64(0)
	for ; i != none && left > 0; left-- {
		last, sent = max(last, t.requests.list[i].frame), max(sent, t.requests.list[i].sent)
		i = t.requests.list[i].newer
	}
	if i == none {
		return frame, due, more
	}
	expired := time.Unix(0, sent).Add(t.config.Limits.Window + 1)
	if !more {
		return last, expired, true
	}
	if expired.Before(due) {
		due = expired
	}
	return frame, due, true
}

// FlushSome reports the sets of parts up to a frame, or the requests up to it if at
// most n/16 sets are pending. With its Waiting a caller can flush in steps,
// which bounds its output buffer.
func (a inner) FlushSome(frame uint64, n int) {
	if _, _, more := a.parts.Waiting(n / setWeight); more {
		a.unattended(func() { a.parts.FlushTo(frame) })
		return
	}
	a.unattended(a.parts.Flush) // some requests were answered in part
	a.unattended(func() { a.tracker.flushTo(a.now, frame) })
}

// Flush reports everything that is unfinished. Call it at the end of the input. It
// resets all state but the counters.
func (a *Analyzer) Flush() {
	a.expireHeld(1<<63 - 1)
	a.proceed()
	a.unattended(a.parts.Flush)
	a.unattended(func() {
		a.hearOwn()
		a.tracker.flush(a.now)
		a.hearOwn()
	})
	a.now = 0
	a.pressure.told, a.tracker.quiet = false, false
	a.copies.forget()
}
