package stats

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/dissect"
)

// The bounds of a focus.
const (
	maxPorts   = 64 // of the address
	maxOfPort  = 16 // kinds of requests, and types of findings
	maxMasters = 8
	maxReason  = 160 // bytes of what a master says
	// A server of the focus counts as so many messages for each of its own, so that others do not take its place in the table.
	focusWeight = 1 << 20
)

// A focus counts more of one address than an [Aggregate] does of all, for [Aggregate.Why].
type focus struct {
	addr    netip.Addr
	sent    uint64            // datagrams of it that were seen
	unknown map[uint16]uint64 // those that no protocol recognises, by port
	ports   []focusPort
	masters []master
}

func newFocus(addr netip.Addr) *focus {
	return &focus{addr: addr, unknown: map[uint16]uint64{}}
}

// A focusPort is a port of the address that is asked or that replies.
type focusPort struct {
	port                       uint16
	requests, private, replies uint64 // private are requests from networks that are not routed
	kinds                      []focusKind
	noted                      []noted
}

// A focusKind counts a kind of request at a port with what became of it.
type focusKind struct {
	protocol, message, title string
	wants                    bool // a challenge is all that it can get
	requests                 uint64
	fates                    fates
}

func (k *focusKind) outcome() Outcome {
	o := k.fates.of(k.requests)
	if k.wants {
		o.Answered, o.ChallengeOnly = o.Answered+o.ChallengeOnly, 0
	}
	return o
}

// A noted counts a type of finding. bySelf are those about messages of the server.
type noted struct {
	id, text  string
	n, bySelf uint64
	limit     bool // it says that requests exceed a limit of servers
}

// A master is an address to which heartbeats went. unanswered are those of its own questions, and of the heartbeats' kind
// that are requests.
type master struct {
	to                         netip.AddrPort
	protocol                   string
	beats, sent                uint64
	probes, answered, unjoined uint64
	says                       string // why it does not list the server
	listed                     bool
}

// NewFocused returns an aggregate that counts more of an address.
func NewFocused(addr netip.Addr) *Aggregate {
	a := New()
	a.focus = newFocus(addr)
	return a
}

// Sibling returns an empty aggregate for a part of what a is to sum up.
func (a *Aggregate) Sibling() *Aggregate {
	if a.focus == nil {
		return New()
	}
	return NewFocused(a.focus.addr)
}

// weight returns how much a message of a server counts in the table.
func (f *focus) weight(server netip.Addr) uint64 {
	if f != nil && server == f.addr {
		return focusWeight
	}
	return 1
}

// at returns the counts of a port. If there is no room, a port that never replied gives way to one that does.
func (f *focus) at(port uint16, replies bool) *focusPort {
	for i := range f.ports {
		if p := &f.ports[i]; p.port == port {
			return p
		}
	}
	if len(f.ports) < maxPorts {
		f.ports = append(f.ports, focusPort{port: port})
		return &f.ports[len(f.ports)-1]
	}
	if replies {
		for i := range f.ports {
			if p := &f.ports[i]; p.replies == 0 {
				*p = focusPort{port: port}
				return p
			}
		}
	}
	return nil
}

func (p *focusPort) kind(protocol, message, title string) *focusKind {
	for i := range p.kinds {
		if k := &p.kinds[i]; k.message == message && k.protocol == protocol {
			return k
		}
	}
	if len(p.kinds) == maxOfPort {
		return new(focusKind)
	}
	p.kinds = append(p.kinds, focusKind{protocol: protocol, message: message, title: title})
	return &p.kinds[len(p.kinds)-1]
}

// note counts a finding.
func (p *focusPort) note(id, text string) *noted {
	for i := range p.noted {
		if n := &p.noted[i]; n.id == id {
			return n
		}
	}
	if len(p.noted) == maxOfPort {
		return new(noted)
	}
	p.noted = append(p.noted, noted{id: id, text: text})
	return &p.noted[len(p.noted)-1]
}

// master returns the counts of a master, by its address and, if it is not 0, its port.
func (f *focus) master(a netip.AddrPort) *master {
	for i := range f.masters {
		if m := &f.masters[i]; m.to.Addr() == a.Addr() && (a.Port() == 0 || a.Port() == m.to.Port()) {
			return m
		}
	}
	return nil
}

func (f *focus) addMaster(a netip.AddrPort, protocol string) *master {
	m := f.master(a)
	if m == nil && len(f.masters) < maxMasters {
		f.masters = append(f.masters, master{to: a, protocol: protocol})
		m = &f.masters[len(f.masters)-1]
	}
	return m
}

// heartbeats are the messages by which servers get on the list of a master, refusals those by which it says that it does not
// list one, and listings those by which it says that it does.
var (
	heartbeats = []string{"heartbeat", "join", "register_request"}
	refusals   = []string{"reject", "restart", "nack", "not_listed", "error"}
	listings   = []string{"registered", "register_reply", "listed"}
	handshakes = []string{"handshake_request", "join", "challenge_request", "getchallenge_request"} // a challenge is the answer
)

// private reports whether an address is of a network that is not routed in the internet.
func private(a netip.Addr) bool {
	shared := netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64}), 10) // RFC 6598
	return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || shared.Contains(a)
}

// record counts a message. Both ends may be the address.
func (f *focus) record(r *dissect.Record) {
	if r.Src.Addr() == f.addr {
		f.from(r)
	}
	if r.Dst.Addr() == f.addr {
		f.to(r)
	}
}

// from counts a message of the address.
func (f *focus) from(r *dissect.Record) {
	f.sent++
	if slices.Contains(heartbeats, r.Type.Name) {
		if m := f.addMaster(r.Dst, r.Protocol.Name); m != nil {
			m.beats++
		}
	}
	if r.Type.Role != dissect.Reply {
		return
	}
	p := f.at(r.Src.Port(), true)
	if p == nil {
		return
	}
	p.replies++
	p.notes(r.Findings, true)
}

// to counts a message to the address.
func (f *focus) to(r *dissect.Record) {
	if m := f.master(netip.AddrPortFrom(r.Src.Addr(), 0)); m != nil {
		m.sent++
		switch name := r.Type.Name; {
		case slices.Contains(refusals, name):
			text := r.AppendSummary(nil)
			if len(text) > len(m.says) {
				m.says = string(text[:min(len(text), maxReason)])
			}
		case slices.Contains(listings, name):
			m.listed = true
		}
	}
	if r.Type.Role != dissect.Request || r.Pair.Asks == 0 {
		return
	}
	p := f.at(r.Dst.Port(), false)
	if p == nil {
		return
	}
	p.requests++
	if private(r.Src.Addr()) {
		p.private++
	}
	k := p.kind(r.Protocol.Name, r.Type.Name, r.Type.Title)
	k.requests++
	k.wants = r.Pair.Challenge == dissect.ChallengeWanted || slices.Contains(handshakes, r.Type.Name)
	p.notes(r.Findings, false)
}

func (p *focusPort) notes(list []dissect.Finding, bySelf bool) {
	for i := range list {
		f := &list[i]
		if f.Type.Severity < dissect.Warning {
			continue
		}
		n := p.note(f.Type.ID, "")
		if n.n++; bySelf {
			n.bySelf++
		}
		if n.text == "" {
			text := f.AppendText(nil)
			n.text = string(text[:min(len(text), maxText)])
		}
	}
}

// exchange counts what became of a request.
func (f *focus) exchange(x *dissect.Exchange) {
	if x.Src.Addr() == f.addr {
		if m := f.master(x.Dst); m != nil && x.Outcome == dissect.OutcomeUnanswered && slices.Contains(heartbeats, x.Type.Name) {
			m.unjoined++
		}
	}
	if x.Dst.Addr() != f.addr {
		return
	}
	if m := f.master(netip.AddrPortFrom(x.Src.Addr(), 0)); m != nil {
		m.probes++
		if x.Outcome != dissect.OutcomeUnanswered && x.Outcome != dissect.OutcomeRefused {
			m.answered++
		}
	}
	p := f.at(x.Dst.Port(), false)
	if p == nil {
		return
	}
	p.kind(x.Protocol.Name, x.Type.Name, x.Type.Title).fates[x.Outcome] += uint64(1 + x.Repeats)
}

// finding counts a finding about a flow.
func (f *focus) finding(x *dissect.FlowFinding) {
	if x.Src.Addr() == f.addr && !x.NoPorts {
		f.sent++ // what it is about was sent
	}
	about := x.Dst
	if about.Addr() != f.addr {
		return
	}
	limit := x.Protocol != nil && x.Type == x.Protocol.Pairing.TooOften
	if !limit && !strings.HasSuffix(x.Type.ID, challengeLoop) {
		return
	}
	if p := f.at(about.Port(), false); p != nil {
		n := p.note(x.Type.ID, "")
		n.n++
		n.limit = limit
	}
}

// challengeLoop ends the ids of findings about clients that get one challenge after the other.
const challengeLoop = "challenge.loop"

// merge adds the counts of o.
func (f *focus) merge(o *focus) {
	f.sent += o.sent
	for port, n := range o.unknown {
		f.unknown[port] += n
	}
	for i := range o.ports {
		from := &o.ports[i]
		p := f.at(from.port, from.replies > 0)
		if p == nil {
			continue
		}
		p.requests += from.requests
		p.private += from.private
		p.replies += from.replies
		for i := range from.kinds {
			x := &from.kinds[i]
			k := p.kind(x.protocol, x.message, x.title)
			k.wants = k.wants || x.wants
			k.requests += x.requests
			k.fates.add(&x.fates)
		}
		for i := range from.noted {
			x := &from.noted[i]
			n := p.note(x.id, x.text)
			n.n += x.n
			n.bySelf += x.bySelf
			n.limit = n.limit || x.limit
		}
	}
	for i := range o.masters {
		from := &o.masters[i]
		m := f.addMaster(from.to, from.protocol)
		if m == nil {
			continue
		}
		m.beats += from.beats
		m.sent += from.sent
		m.probes += from.probes
		m.answered += from.answered
		m.unjoined += from.unjoined
		m.listed = m.listed || from.listed
		if len(from.says) > len(m.says) {
			m.says = from.says
		}
	}
}
