package stats

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// The bounds of a focus.
const (
	maxTargets = maxServers // addresses and ports
	maxOfPort  = 16         // kinds of requests, and types of findings
	maxMasters = 256
	maxAskers  = 4   // addresses that are told apart
	maxNames   = 4   // that one address and port states
	maxReason  = 160 // bytes of what a master says, or of a finding
	// A server of the focus counts as so many messages for each of its own, so that others do not take its place in the table.
	focusWeight = 1 << 20
)

// A focus keeps, of each address and port that is asked or that replies, the facts from which [Aggregate.Why] finds a cause.
type focus struct {
	*masters
	sent    uint64                    // datagrams of only
	unknown map[netip.AddrPort]uint64 // datagrams that no protocol recognises, by the sender, as far as there is room
	noticed mark                      // messages to only that are no requests
	partial mark                      // datagrams that no protocol recognises and of which the capture holds only a part
	beside  mark                      // those that may be replies of somebody who was not asked
	input   uint32                    // number of the capture
	targets []*target
	replied int // how many of the first targets have replied
	of      map[netip.AddrPort]*target
	newest  [512]*target // by port and the end of the address
	left    uint64       // targets for which there was no room
	proven  [1024]uint64 // frames of requests that returned a challenge
	lists   [64]uint64   // frames of requests for lists of servers
	given   [256]struct {
		to key // the client
		at int64
	} // the newest challenges
}

// keptLong is how old a challenge may be before its server need not accept it any more.
const keptLong = 5 * time.Second

func newFocus(only netip.Addr, m *masters) *focus {
	m.only = only
	return &focus{masters: m, unknown: map[netip.AddrPort]uint64{}, of: map[netip.AddrPort]*target{}}
}

// A mark counts what happened in frames of a capture, the first of which it knows.
type mark struct {
	n      uint64
	input  uint32
	frames [3]uint64
}

func (m *mark) add(n uint64, input uint32, frame uint64) {
	for i := range m.frames {
		if m.n > 0 && m.input == input && m.frames[i] == frame {
			break
		}
		if m.n == 0 || m.input == input && m.frames[i] == 0 {
			m.input, m.frames[i] = input, frame
			break
		}
	}
	m.n += n
}

// merge keeps the lowest frames of the earliest capture.
func (m *mark) merge(o *mark) {
	switch {
	case o.n == 0:
	case m.n == 0 || o.input < m.input:
		n := m.n
		*m = *o
		m.n += n
	case o.input > m.input:
		m.n += o.n
	default:
		m.n += o.n
		all := append(m.frames[:], o.frames[:]...)
		all = slices.DeleteFunc(all, func(f uint64) bool { return f == 0 })
		slices.Sort(all)
		m.frames = [3]uint64{}
		copy(m.frames[:], all)
	}
}

// What a target counts.
const (
	mAsked     = iota // requests
	mPrivate          // those from networks that are not routed
	mReturned         // those with a challenge that nobody saw it give
	mProven           // those with one that it gave
	mAccepted         // replies to these that are more than a challenge
	mAgain            // challenges that answer a request with the challenge that it gave before
	mAged             // those for one that it gave long before
	mData             // replies that are more than a challenge
	mIssued           // replies that only issue a challenge
	mCut              // messages that the capture holds only in part
	mShort            // replies that lack parts
	mWrong            // replies that are wrong or refuse
	mUnasked          // replies to requests that are not in the capture
	mFragments        // replies that lack IP fragments
	mUnread           // datagrams of it that no protocol recognises
	mWaits            // round trips
	mSlow             // those of more than a second
	mBehind           // those that are, if nothing was lost
	mTurns            // how often it went back to an earlier name and map
	numMarks
)

// A target is an address and port that is asked or that replies.
type target struct {
	at         netip.AddrPort
	protocol   string // of the newest reply, else of the newest request
	name       string
	on         string      // the map
	known      [][2]string // names with maps that it stated
	stating    string      // the protocol of these: in another one, it may write them otherwise
	stated     uint16      // a port that its replies name as that of the game
	asking     lived       // times of requests
	askers     []netip.Addr
	moreAskers bool
	sockets    uint64 // of the askers, a bit for each of 64 classes
	kinds      []focusKind
	noted      []noted
	errors     []icmpSaid
	elsewhere  []other
	series     []*series // of protocols
	marks      [numMarks]mark
	fates      [len(dissect.Outcomes{})]mark
}

// An icmpSaid is an ICMP error about what a target was sent, or about what it sends.
type icmpSaid struct {
	is    *dissect.FindingType
	by    string // who says so
	reply bool
	mark
}

// An other is an address from which replies came that were due from a target.
type other struct {
	from netip.AddrPort
	mark
}

// A focusKind counts a kind of request at a port with what became of it.
type focusKind struct {
	protocol, message, title string
	mute                     bool // servers may be silent to it
	requests                 uint64
	fates                    fates
	none                     mark
}

func (k *focusKind) outcome() Outcome { return k.fates.of(k.requests) }

// A noted counts a type of finding. bySelf are those about messages of the server.
type noted struct {
	id, text string
	bySelf   uint64
	limit    bool // it says that requests exceed a limit of servers
	loop     bool // it says that clients get one challenge after the other
	bad      bool // it says that a reply is wrong or refuses
	refuses  bool // the latter
	failed   bool // it says that a message has an error
	mark
}

// Masters are those to which hosts send heartbeats.
type masters struct {
	only  netip.Addr // the only host of interest; invalid for all
	list  []master
	heads [2 * maxMasters]uint16 // by host and address of the master, see pairOf: the place in the list of the newest, counted from 1
}

// A master is an address to which heartbeats of a host went. probes are the questions of the master, of which the host answered some.
type master struct {
	from             netip.Addr
	to               netip.AddrPort
	next             uint16 // an older one of the same head
	beats, sent      mark
	beating          lived // from the first heartbeat to the last
	probes, answered uint64
	due              bool   // it has to reply to heartbeats
	since            uint64 // heartbeats since it sent something
	says             string // why it does not list the server
	listed           bool
	asked            string   // what clients asked it for
	lists            mark     // that it sent to clients
	ports            []uint16 // of the host in them
}

// A series counts requests and those with a reply by the time of the request, in buckets whose width doubles when they do not
// suffice. That of no protocol counts all sendings and all replies, each at its own time.
type series struct {
	protocol string
	start    int64 // in buckets
	width    int64 // in beats, 0 at first
	buckets  [256]beat
}

// beatTime is the shortest width of a bucket.
const beatTime = int64(time.Second / 8)

type beat struct{ asked, good uint32 }

func (s *series) add(t int64, asked, good uint32) {
	if t = floorDiv(t, beatTime); s.width == 0 {
		s.width, s.start = 1, t
	}
	i := floorDiv(t, s.width) - s.start
	for ; i < 0 || i >= int64(len(s.buckets)); i = floorDiv(t, s.width) - s.start {
		if i < 0 && s.shift(-i) {
			continue
		}
		s.double()
	}
	b := &s.buckets[i]
	b.asked, b.good = addSaturated(b.asked, asked), addSaturated(b.good, good)
}

// shift makes room for n earlier buckets, if the last ones are empty.
func (s *series) shift(n int64) bool {
	if n >= int64(len(s.buckets)) {
		return false
	}
	if slices.ContainsFunc(s.buckets[int64(len(s.buckets))-n:], func(b beat) bool { return b != beat{} }) {
		return false
	}
	copy(s.buckets[n:], s.buckets[:])
	clear(s.buckets[:n])
	s.start -= n
	return true
}

func (s *series) double() {
	var wide [len(s.buckets)]beat
	start := floorDiv(s.start, 2)
	for i, b := range s.buckets {
		w := &wide[floorDiv(s.start+int64(i), 2)-start]
		w.asked, w.good = addSaturated(w.asked, b.asked), addSaturated(w.good, b.good)
	}
	s.buckets, s.start, s.width = wide, start, 2*s.width
}

func (s *series) merge(o *series) {
	if s.width == 0 {
		s.width, s.start = o.width, o.start
	}
	for s.width < o.width {
		s.double()
	}
	for i, b := range o.buckets {
		if b != (beat{}) {
			s.add((o.start+int64(i))*o.width*beatTime, b.asked, b.good)
		}
	}
}

// NewFocused returns an aggregate that also keeps facts about an address, or about all servers if it is invalid.
func NewFocused(only netip.Addr) *Aggregate {
	a := New()
	a.focus = newFocus(only, &a.masters)
	return a
}

// Sibling returns an empty aggregate for a part of what a is to sum up.
func (a *Aggregate) Sibling() *Aggregate {
	if a.focus == nil {
		return New()
	}
	return NewFocused(a.focus.only)
}

// weight returns how much a message of a server counts in the table.
func (f *focus) weight(server netip.Addr) uint64 {
	return either[uint64](f != nil && server == f.only, focusWeight, 1)
}

// at returns the facts about a server, which may be new. If there is no room, one that never replied gives way to one that does,
// and others to those of the only address.
func (f *focus) at(a netip.AddrPort, replies bool) *target {
	b := a.Addr().As16()
	slot := &f.newest[(uint(b[15])^uint(a.Port()))%uint(len(f.newest))]
	if t := *slot; t != nil && t.at == a {
		return t
	}
	t := f.of[a]
	if t == nil {
		if t = f.room(a, replies); t == nil {
			f.left++
			return nil
		}
		t.at = a
		f.of[a] = t
	}
	*slot = t
	return t
}

func (f *focus) room(a netip.AddrPort, replies bool) *target {
	if len(f.targets) < maxTargets {
		t := new(target)
		f.targets = append(f.targets, t)
		return t
	}
	only := a.Addr() == f.only
	if !replies && !only {
		return nil
	}
	for f.replied < len(f.targets) && f.targets[f.replied].replies() > 0 {
		f.replied++
	}
	at := slices.IndexFunc(f.targets[f.replied:], func(t *target) bool {
		return t.replies() == 0 && (t.at.Addr() != f.only || only && replies)
	})
	if at += f.replied; at < f.replied {
		if at = slices.IndexFunc(f.targets, func(t *target) bool { return t.at.Addr() != f.only }); at < 0 || !only {
			return nil
		}
	}
	delete(f.of, f.targets[at].at)
	f.newest = [len(f.newest)]*target{}
	f.targets[at], f.replied = new(target), min(f.replied, at)
	return f.targets[at]
}

// asked returns how many requests came.
func (t *target) asked() uint64 { return t.marks[mAsked].n }

func (t *target) replies() uint64 { return t.marks[mData].n + t.marks[mIssued].n }

// place returns that of a list which is wanted, or a new one; nobody reads it if the list is full.
func place[T any](list *[]T, most int, fresh *T, wanted func(*T) bool) *T {
	for i := range *list {
		if x := &(*list)[i]; wanted(x) {
			return x
		}
	}
	if len(*list) == most {
		return new(T)
	}
	*list = append(*list, *fresh)
	return &(*list)[len(*list)-1]
}

func (t *target) kind(protocol, message, title string) *focusKind {
	return place(&t.kinds, maxOfPort, &focusKind{protocol: protocol, message: message, title: title}, func(k *focusKind) bool { return k.message == message && k.protocol == protocol })
}

// of returns the series of a protocol.
func (t *target) of(protocol string) *series {
	for _, s := range t.series {
		if s.protocol == protocol {
			return s
		}
	}
	s := &series{protocol: protocol}
	if len(t.series) < maxNames {
		t.series = append(t.series, s)
	}
	return s
}

// note counts a finding.
func (t *target) note(id, text string) *noted {
	return place(&t.noted, maxOfPort, &noted{id: id, text: text}, func(n *noted) bool { return n.id == id })
}

// said returns the counts of an ICMP error; if there is no room, of one that somebody else said.
func (t *target) said(is *dissect.FindingType, by string, reply bool) *icmpSaid {
	full := len(t.errors) == maxOfPort && !slices.ContainsFunc(t.errors, func(s icmpSaid) bool { return s.is == is && s.reply == reply && s.by == by })
	return place(&t.errors, maxOfPort, &icmpSaid{is: is, by: by, reply: reply}, func(s *icmpSaid) bool { return s.is == is && s.reply == reply && (s.by == by || full) })
}

// from returns the counts of replies from another address; if there is no room, those from several ports of it, which have the name of the lowest.
func (t *target) from(a netip.AddrPort) *mark {
	full := len(t.elsewhere) == maxNames && !slices.ContainsFunc(t.elsewhere, func(o other) bool { return o.from == a })
	o := place(&t.elsewhere, maxNames, &other{from: a}, func(o *other) bool { return o.from == a || full && o.from.Addr() == a.Addr() })
	if o.from.Addr() == a.Addr() && a.Compare(o.from) < 0 {
		o.from = a
	}
	return &o.mark
}

func (t *target) asker(a netip.Addr) {
	if t.moreAskers || slices.Contains(t.askers, a) {
		return
	}
	if t.moreAskers = len(t.askers) == maxAskers; !t.moreAskers {
		t.askers = append(t.askers, a)
	}
}

// calls records the name and the map that a server states. One server does not change both to and fro.
func (t *target) calls(name, on string) {
	name, on = nettext.Cut(name, maxName), nettext.Cut(on, maxName)
	if t.name == name && t.on == on || name == "" {
		return
	}
	is := [2]string{name, on}
	switch {
	case slices.Contains(t.known, is):
		if t.name != name && t.on != on {
			t.marks[mTurns].n++
		}
	case len(t.known) < maxNames:
		is = [2]string{strings.Clone(name), strings.Clone(on)}
		t.known = append(t.known, is)
	}
	t.name, t.on = strings.Clone(is[0]), strings.Clone(is[1])
}

// pairOf returns the head of the list for a host and the address of a master.
func (l *masters) pairOf(host, end *key) *uint16 {
	return &l.heads[short(host.Lo^host.Hi^bits.RotateLeft64(end.Lo^end.Hi, 32))%uint64(len(l.heads))]
}

// master returns the counts of a master of a host, by its address and, if it is not 0, its port: the oldest.
func (l *masters) master(host, end *key, port uint16) (found *master) {
	for i := *l.pairOf(host, end); i > 0; i = l.list[i-1].next {
		if m := &l.list[i-1]; m.from == host.addr() && m.to.Addr() == end.addr() && (port == 0 || port == m.to.Port()) {
			found = m
		}
	}
	return found
}

func (l *masters) add(from netip.Addr, a netip.AddrPort) *master {
	host, end := keyOf(from, 0), keyOf(a.Addr(), 0)
	if m := l.master(&host, &end, a.Port()); m != nil {
		return m
	}
	if len(l.list) == maxMasters {
		return new(master)
	}
	l.list = append(l.list, master{from: from, to: a})
	l.link(len(l.list))
	return &l.list[len(l.list)-1]
}

// link makes one of the list, counted from 1, the newest of its head.
func (l *masters) link(i int) {
	m := &l.list[i-1]
	from, to := keyOf(m.from, 0), keyOf(m.to.Addr(), 0)
	head := l.pairOf(&from, &to)
	m.next, *head = *head, uint16(i)
}

// private reports whether an address is of a network that is not routed in the internet.
func private(a netip.Addr) bool {
	shared := netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64}), 10) // RFC 6598
	return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || shared.Contains(a)
}

// wants reports whether what happens at an address is of interest: all others of the host with the focus are, for comparison.
func (l *masters) wants(a netip.Addr) bool { return !l.only.IsValid() || a == l.only }

// record counts a message. Both ends may be of interest.
func (f *focus) record(r *dissect.Record) {
	switch {
	case r.Type.Role == dissect.Request && r.Pair.Asks != 0:
		f.request(r)
	case r.Type.Role == dissect.Reply:
		f.reply(r)
	case r.Dst.Addr() == f.only:
		f.noticed.add(1, f.input, r.Frame)
	}
	if r.Src.Addr() == f.only {
		f.sent++
	}
	if f.only.IsValid() {
		f.list(r)
	}
}

// list counts the lists of masters with and without the only address, which stands there as bytes or as text.
func (f *focus) list(r *dissect.Record) {
	if slot := &f.lists[r.Frame%uint64(len(f.lists))]; r.Type.Purpose&dissect.ServerList != 0 {
		*slot = r.Frame
		text := r.AppendContents(nil)
		f.add(f.only, r.Dst).asked = strings.TrimSpace(string(text[:min(len(text), maxReason)]))
		return
	}
	if r.RequestFrame == 0 || f.lists[r.RequestFrame%uint64(len(f.lists))] != r.RequestFrame {
		return
	}
	host, end := keyOf(f.only, 0), keyOf(r.Src.Addr(), 0)
	m := f.master(&host, &end, r.Src.Port())
	if m == nil || slices.ContainsFunc(r.Findings, func(x dissect.Finding) bool { return x.Type == core.CaptureCut }) {
		return
	}
	m.lists.add(1, f.input, r.Frame)
	for i := range r.Sources {
		for b := r.Sources[i].Data; ; {
			_, port, _ := bytes.Cut(b, f.only.AsSlice())
			if len(port) < 2 {
				break
			}
			m.port(binary.BigEndian.Uint16(port), binary.LittleEndian.Uint16(port))
			b = port
		}
		if _, port, found := bytes.Cut(r.Sources[i].Data, append([]byte(f.only.String()), ':')); found {
			n, _ := strconv.Atoi(string(port[:len(port)-len(bytes.TrimLeft(port, "0123456789"))]))
			m.port(uint16(n))
		}
	}
}

// port adds ports of the host that the master lists, in either order of their bytes.
func (m *master) port(list ...uint16) {
	for _, p := range list {
		if len(m.ports) < maxOfPort && !slices.Contains(m.ports, p) {
			m.ports = append(m.ports, p)
		}
	}
}

// record counts heartbeats, and what a master sends to a host.
func (l *masters) record(r *dissect.Record, src, dst *key, input uint32) {
	if len(l.list) == 0 && r.Type.Purpose&dissect.Heartbeat == 0 {
		return
	}
	if from := r.Src.Addr(); r.Type.Purpose&dissect.Heartbeat != 0 && l.wants(from) {
		m := l.add(from, r.Dst)
		m.beats.add(1, input, r.Frame)
		m.beating.at(r.Time.UnixNano())
		m.since++
		m.due = m.due || r.Type.Purpose&dissect.Unconfirmed == 0
	}
	m := l.master(dst, src, 0)
	if m == nil {
		return
	}
	m.sent.add(1, input, r.Frame)
	m.since = 0
	switch {
	case r.Type.Purpose&dissect.Refusal != 0:
		text := r.AppendSummary(nil)
		if len(text) > len(m.says) {
			m.says = string(text[:min(len(text), maxReason)])
		}
	case r.Type.Purpose&dissect.Listing != 0:
		m.listed = true
	}
}

// ended counts what became of a question of a master.
func (l *masters) ended(host, from *key, is dissect.Outcome) {
	if m := l.master(host, from, 0); m != nil {
		m.probes++
		m.answered += core.Bit[uint64](!missed(is))
	}
}

func (f *focus) request(r *dissect.Record) {
	t := f.at(r.Dst, false)
	if t == nil {
		return
	}
	at := r.Time.UnixNano()
	t.asking.at(at)
	if t.replies() == 0 {
		t.protocol = r.Protocol.Name
	}
	t.marks[mAsked].add(1, f.input, r.Frame)
	t.of("").add(at, 1, 0)
	src := r.Src.Addr()
	t.sockets |= 1 << (r.Src.Port() % 64)
	if t.asker(src); private(src) {
		t.marks[mPrivate].n++
	}
	if r.Proven {
		f.proven[r.Frame%uint64(len(f.proven))] = r.Frame
		t.marks[mProven].n++
	} else if r.Pair.Challenge == dissect.ChallengeUsed {
		t.marks[mReturned].n++
	}
	k := t.kind(r.Protocol.Name, r.Type.Name, r.Type.Title)
	k.requests++
	k.mute = mayIgnore(r.Type)
	f.notes(t, r, false)
}

func (f *focus) reply(r *dissect.Record) {
	t := f.at(r.Src, true)
	if t == nil {
		return
	}
	t.protocol = r.Protocol.Name
	t.of("").add(r.Time.UnixNano(), 0, 1)
	proven := r.RequestFrame != 0 && f.proven[r.RequestFrame%uint64(len(f.proven))] == r.RequestFrame
	if r.Pair.Challenge == dissect.ChallengeIssued {
		t.marks[mIssued].add(1, f.input, r.Frame)
		to, at := keyOf(r.Dst.Addr(), r.Src.Port()), r.Time.UnixNano()
		g := &f.given[to.short()%uint64(len(f.given))]
		if proven {
			t.marks[mAgain].add(1, f.input, r.Frame)
			if g.to == to && at-g.at >= int64(keptLong) {
				t.marks[mAged].n++
			}
		}
		g.to, g.at = to, at
	} else {
		t.marks[mData].add(1, f.input, r.Frame)
		if proven {
			t.marks[mAccepted].n++
		}
	}
	if r.Pair.Port != 0 && r.Pair.Port != r.Src.Port() {
		t.stated = r.Pair.Port
	}
	if r.Server.Name.OK && cmp.Or(t.stating, t.protocol) == t.protocol {
		t.stating = t.protocol
		t.calls(r.Server.Name.Value, r.Server.Map.Value)
	}
	if r.TimeKnown && r.Pair.Challenge != dissect.ChallengeIssued {
		if t.marks[mWaits].n++; bucketOf(r.RTT) > bucketOf(time.Second) { // as report has it
			t.marks[mSlow].add(1, f.input, r.Frame)
		}
	}
	if r.RequestFrame == 0 && !r.Late {
		t.marks[mUnasked].add(1, f.input, r.Frame)
	}
	if r.Split.Partial {
		t.marks[mShort].add(1, f.input, r.Frame)
	}
	f.notes(t, r, true)
}

func (f *focus) notes(t *target, r *dissect.Record, bySelf bool) {
	wrong := false
	for x := range each(r.Findings) {
		if x.Type.Severity < dissect.Warning && x.Type.Class != core.OfRefusal && (x.Type != core.Trailing || bySelf) {
			continue
		}
		if x.Type == core.CaptureCut {
			t.marks[mCut].add(1, f.input, r.Frame)
			continue
		}
		n := t.note(x.Type.ID, "")
		n.add(1, f.input, r.Frame)
		n.bySelf += core.Bit[uint64](bySelf)
		n.loop, n.failed = x.Type == r.Protocol.Pairing.ChallengeLoop, x.Type.Severity == dissect.Failed
		n.bad, n.refuses = mistakes(x.Type, r), x.Type.Class == core.OfRefusal
		wrong = wrong || n.bad && bySelf
		if n.text == "" {
			text := x.AppendText(nil)
			n.text = string(text[:min(len(text), maxReason)])
		}
	}
	if wrong {
		t.marks[mWrong].add(1, f.input, r.Frame)
	}
}

// exchange counts what became of a request.
func (f *focus) exchange(x *dissect.Exchange, is dissect.Outcome) {
	n := either(x.Outcome == dissect.OutcomeRepeated, 0, uint64(x.Requests-x.Repeated))
	again := uint64(x.Requests) - n
	t := f.at(x.Dst, false)
	if t != nil && again > 0 { // another sending counts, but these had no reply either
		spread(x.Time.UnixNano(), x.Newest.UnixNano()+1, again, int64(time.Second), func(at int64, n uint64) { t.of(x.Protocol.Name).add(at, uint32(n), 0) })
		t.fates[dissect.OutcomeRepeated].add(again, f.input, x.Frame)
	}
	if n == 0 || t == nil {
		return
	}
	if x.ByReply {
		is = dissect.OutcomeChallenged
	}
	k := t.kind(x.Protocol.Name, x.Type.Name, x.Type.Title)
	k.fates[is] += n
	t.fates[is].add(n, f.input, x.Frame)
	good := uint32(n)
	if missed(is) || is == dissect.OutcomeOneSided {
		k.none.add(n, f.input, x.Frame)
		good = either(is == dissect.OutcomeOther, good, 0) // then it was not silent
	}
	if x.Ambiguous && is == dissect.OutcomeAnswered && x.First > time.Second {
		t.marks[mBehind].add(1, f.input, x.ReplyFrame)
	}
	if x.From.IsValid() {
		t.from(x.From).add(n, f.input, cmp.Or(x.ReplyFrame, x.Frame))
	}
	if good > 0 || !mayIgnore(x.Type) { // else silence says nothing
		t.of(x.Protocol.Name).add(x.Time.UnixNano(), uint32(n), good)
	}
}

// finding counts a finding about a flow.
func (f *focus) finding(x *dissect.FlowFinding) {
	if x.Src.Addr() == f.only && !x.NoPorts {
		f.sent++ // what it is about was sent
	}
	switch {
	case x.ICMPFrame != 0:
		f.icmp(x)
		return
	case x.Type == core.CaptureCut:
		for _, a := range []netip.AddrPort{x.Src, x.Dst} {
			if t := f.of[a]; t != nil {
				t.marks[mCut].add(1, f.input, x.Frame)
			}
		}
		return
	case x.Type == core.FragmentsMissing:
		for _, t := range f.targets { // the ports may be unknown
			if t.at.Addr() == x.Src.Addr() && (x.NoPorts || t.at == x.Src) {
				t.marks[mFragments].add(1, f.input, x.Frame)
			}
		}
		return
	}
	limit := x.Protocol != nil && x.Type == x.Protocol.Pairing.TooOften
	loop := x.Protocol != nil && x.Type == x.Protocol.Pairing.ChallengeLoop
	if !limit && !loop {
		return
	}
	if t := f.of[x.Dst]; t != nil {
		n := t.note(x.Type.ID, "")
		n.add(1, f.input, x.Frame)
		n.limit, n.loop = limit, loop
	}
}

// icmp counts an ICMP error.
func (f *focus) icmp(x *dissect.FlowFinding) {
	t, reply := f.of[x.Dst], false
	if t == nil || t.asked() == 0 {
		if t, reply = f.of[x.Src], true; t == nil {
			return
		}
	}
	by, _, _ := strings.Cut(string(x.AppendText(nil)), " says ")
	t.said(x.Type, by, reply).add(1, f.input, x.ICMPFrame)
}

// strange counts datagrams of a sender that no protocol recognises.
func (f *focus) strange(from netip.AddrPort, n uint64) {
	const most = 4096
	if f.wants(from.Addr()) && (len(f.unknown) < most || f.unknown[from] > 0) {
		f.unknown[from] += n
	}
}

// foreign counts a datagram that no protocol recognises.
func (f *focus) foreign(u *dissect.Unknown) {
	if u.Missing > 0 && (f.wants(u.Dst.Addr()) || f.wants(u.Src.Addr())) {
		f.partial.add(1, f.input, u.Frame)
	}
	cut := &f.beside
	if t := f.of[u.Src]; t != nil {
		t.marks[mUnread].add(1, f.input, u.Frame)
		cut = &t.marks[mCut]
	}
	if u.Missing > 0 && len(u.Payload) < mostHead {
		cut.add(1, f.input, u.Frame)
	}
}

// merge adds the facts of o.
func (f *focus) merge(o *focus) {
	f.sent += o.sent
	f.left += o.left
	f.partial.merge(&o.partial)
	f.noticed.merge(&o.noticed)
	f.beside.merge(&o.beside)
	for from, n := range o.unknown {
		f.strange(from, n)
	}
	for _, from := range o.targets {
		if t := f.at(from.at, from.replies() > 0); t != nil {
			t.merge(from)
		}
	}
}

func (l *masters) merge(o *masters) {
	for from := range each(o.list) {
		m := l.add(from.from, from.to)
		m.beats.merge(&from.beats)
		m.beating.reach(&from.beating)
		if from.sent.n > 0 {
			m.since = 0
		}
		m.since += from.since
		m.sent.merge(&from.sent)
		m.probes += from.probes
		m.answered += from.answered
		m.listed, m.due = m.listed || from.listed, m.due || from.due
		m.asked = cmp.Or(m.asked, from.asked)
		m.lists.merge(&from.lists)
		m.port(from.ports...)
		if len(from.says) > len(m.says) {
			m.says = from.says
		}
	}
}

func (t *target) merge(o *target) {
	t.asking.reach(&o.asking)
	if t.protocol == "" || t.replies() == 0 && o.replies() > 0 {
		t.protocol = o.protocol
	}
	for i := range o.marks {
		t.marks[i].merge(&o.marks[i])
	}
	for i := range o.fates {
		t.fates[i].merge(&o.fates[i])
	}
	t.stating = cmp.Or(t.stating, o.stating)
	for _, n := range o.known {
		t.calls(n[0], n[1])
	}
	t.sockets |= o.sockets
	if o.stated != 0 {
		t.stated = o.stated
	}
	for _, a := range o.askers {
		t.asker(a)
	}
	t.moreAskers = t.moreAskers || o.moreAskers
	for _, s := range o.series {
		t.of(s.protocol).merge(s)
	}
	for x := range each(o.kinds) {
		k := t.kind(x.protocol, x.message, x.title)
		k.mute = k.mute || x.mute
		k.requests += x.requests
		k.fates.add(&x.fates)
		k.none.merge(&x.none)
	}
	for x := range each(o.noted) {
		n := t.note(x.id, x.text)
		n.mark.merge(&x.mark)
		n.bySelf += x.bySelf
		n.limit, n.loop, n.bad, n.failed, n.refuses = n.limit || x.limit, n.loop || x.loop, n.bad || x.bad, n.failed || x.failed, n.refuses || x.refuses
	}
	for x := range each(o.errors) {
		t.said(x.is, x.by, x.reply).mark.merge(&x.mark)
	}
	for i := range o.elsewhere {
		t.from(o.elsewhere[i].from).merge(&o.elsewhere[i].mark)
	}
}
