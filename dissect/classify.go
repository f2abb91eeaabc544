package dissect

import (
	"math/bits"
	"net/netip"
)

// class is what a datagram was taken for.
type class struct {
	protocol  int8 // -1 for none
	reason    Reason
	sure      bool   // the payload itself is at least Likely
	also      uint64 // the other protocols it could be of, where nothing decides
	undecided uint64 // candidates of which none was lifted
	otherwise int8   // the one that has it if nothing decides, -1 for none; only with undecided
}

// candidate is a protocol that does not rule a payload out, with what speaks
// for it.
type candidate struct {
	protocol int8
	verdict  Verdict
	awaited  bool // a request of it waits in the other direction
	pinned   bool // the flow has been of it
	port     bool // one of its ports
}

// before orders candidates: a waiting request says most, because its reply has
// few shapes; then the payload itself; then the past; then the port.
func (c *candidate) before(o *candidate) bool {
	switch {
	case c.awaited != o.awaited:
		return c.awaited
	case c.verdict != o.verdict:
		return c.verdict > o.verdict
	case c.pinned != o.pinned:
		return c.pinned
	case c.port != o.port:
		return c.port
	}
	return c.protocol < o.protocol
}

// classify finds the protocol of a datagram.
func (a *Analyzer) classify(d *Datagram) class {
	if len(a.config.DecodeAs) > 0 {
		p := a.config.DecodeAs[d.Dst.Port()]
		if p == nil {
			p = a.config.DecodeAs[d.Src.Port()]
		}
		if p != nil {
			return class{protocol: a.index(p), reason: ByUser, sure: true}
		}
	}
	if len(d.Payload) == 0 {
		return class{protocol: -1}
	}
	mask := a.starts[d.Payload[0]]
	if mask == 0 {
		return class{protocol: -1}
	}
	head := d.Payload[:min(len(d.Payload), detectBytes)]
	found := &a.found // on the stack it would be cleared every time
	n := 0
	for m := mask; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m)
		a.current = int8(i)
		if v := a.protocols[i].Detect(head); v != No {
			found[n] = candidate{protocol: int8(i), verdict: v}
			n++
		}
	}
	if n == 0 {
		return class{protocol: -1}
	}
	if n == 1 && found[0].verdict >= Likely {
		return class{protocol: found[0].protocol, sure: true}
	}

	ends := a.tracker.flows.endsOf(d)
	fi, up := a.tracker.flows.find(ends), ends.up
	ports := a.ports[d.Src.Port()] | a.ports[d.Dst.Port()]
	awaited := 0
	var undecided uint64
	for i := range found[:n] {
		c := &found[i]
		undecided |= 1 << c.protocol
		c.port = ports>>c.protocol&1 != 0
		if fi >= 0 {
			c.pinned = a.tracker.flows.flows[fi].protocol == c.protocol
			if c.awaited = a.tracker.awaits(fi, up, c.protocol, 0); c.awaited {
				awaited++
			}
		}
	}
	for i := 1; i < n; i++ {
		for j := i; j > 0 && found[j].before(&found[j-1]); j-- {
			found[j], found[j-1] = found[j-1], found[j]
		}
	}
	best := &found[0]
	if awaited > 1 {
		best = a.byTopic(d, fi, up, found[:awaited])
	}
	c := class{protocol: best.protocol, sure: best.verdict >= Likely}
	if !c.sure {
		return a.lift(d, c, best, fi, undecided)
	}
	tied := a.tied(best, found[:n])
	if tied != 0 && !best.awaited {
		for m := tied | 1<<best.protocol; m != 0; m &= m - 1 {
			i := int8(bits.TrailingZeros64(m))
			if p := a.protocols[i]; p.Confirm != nil && p.Confirm(d.Payload) {
				return class{protocol: i, sure: true}
			}
		}
	}
	switch {
	case tied == 0:
	case best.awaited:
		c.reason = ByRequest
		c.also = tied & a.tracker.alsoAwaits(fi, up, best.protocol)
	case best.pinned:
		c.reason = ByFlow
	default:
		return a.byServer(d, c, best, tied, undecided)
	}
	return c
}

// lift decides on a payload that no protocol finds likely: a waiting request, the
// flow or the port lifts it.
func (a *Analyzer) lift(d *Datagram, c class, best *candidate, fi int32, undecided uint64) class {
	switch {
	case best.awaited:
		c.reason = ByRequest
	case best.pinned:
		c.reason = ByFlow
	case best.port:
		c.reason = ByPort
	default:
		if p := a.echoed(d, undecided); p >= 0 {
			return class{protocol: p, reason: ByRequest, sure: true}
		}
		return class{protocol: -1, undecided: undecided, otherwise: -1}
	}
	// Where only weak signs speak for a protocol, bytes that contradict it are
	// not its error.
	weak := c.reason == ByPort || fi < 0 || a.tracker.flows.flows[fi].sure != best.protocol
	if weak && (!best.awaited && a.strangers.has(a.tracker.flows.endsOf(d)) || !a.readable(d, best.protocol)) {
		return class{protocol: -1}
	}
	return c
}

// tied returns the protocols that have the verdict of the best one, without it
// and its family.
func (a *Analyzer) tied(best *candidate, found []candidate) uint64 {
	m := uint64(0)
	for i := range found {
		if c := &found[i]; c.verdict == best.verdict && !a.tracker.kin(c.protocol, best.protocol) {
			m |= 1 << c.protocol
		}
	}
	return m
}

// byServer decides between protocols that find a payload equally likely, in a
// conversation that has not told: by what the server spoke with others, then by
// what comes back, then by the port. If nothing decides, it could be of all.
func (a *Analyzer) byServer(d *Datagram, c class, best *candidate, tied, undecided uint64) class {
	both := tied | 1<<best.protocol
	for _, end := range [...]netip.AddrPort{d.Dst, d.Src} {
		if p := a.tracker.servers.find(&end); p != nil && both>>*p&1 != 0 {
			return class{protocol: *p, reason: ByServer, sure: true}
		}
	}
	if c.reason, c.also = ByHeader, tied; best.port {
		c.reason, c.also = ByPort, 0
	}
	if len(d.Payload) <= detectBytes && a.oneWire(both) {
		c.undecided, c.otherwise, c.protocol = undecided, best.protocol, -1
	}
	return c
}

// oneWire reports whether all protocols of a set have one wire format, so that
// what comes back may tell which one it is.
func (a *Analyzer) oneWire(set uint64) bool {
	wire := a.protocols[bits.TrailingZeros64(set)].Wire
	for m := set; m != 0; m &= m - 1 {
		if a.protocols[bits.TrailingZeros64(m)].Wire != wire {
			return false
		}
	}
	return wire != ""
}

// echoed returns the protocol in which a datagram is the reply to a request that
// is held, though neither was likely by itself: they are of one topic and carry
// the same id of more than 16 bits. -1 if there is none.
func (a *Analyzer) echoed(d *Datagram, protocols uint64) int8 {
	if a.waiting.n == 0 {
		return -1
	}
	ends := a.tracker.flows.endsOf(d)
	if *a.waiting.count(ends.hash) == 0 {
		return -1
	}
	for m := protocols; m != 0; m &= m - 1 {
		p := int8(bits.TrailingZeros64(m))
		reply := a.try(d, p)
		if reply.Type == nil || reply.Type.Role != Reply || reply.Pair.ID>>16 == 0 || a.reader.Failed() {
			continue
		}
		id, topics := reply.Pair.ID, reply.Pair.Answers
		for i := a.waiting.find(0, ends); i < a.waiting.n; i = a.waiting.find(i+1, ends) {
			h := a.waiting.at(i)
			if h.protocols>>p&1 == 0 || h.src != d.Dst {
				continue
			}
			request := a.try(a.revive(h), p)
			if request.Type != nil && request.Type.Role == Request && request.Pair.ID == id && request.Pair.Asks&topics != 0 && !a.reader.Failed() {
				return p
			}
		}
	}
	return -1
}

// Candidate reports whether a payload between two ports could be of any
// protocol at all. It looks at the first byte only: what it rules out need not
// be handed to Datagram, except to be counted.
func (a *Analyzer) Candidate(srcPort, dstPort uint16, payload []byte) bool {
	if len(payload) > 0 && a.starts[payload[0]] != 0 {
		return true
	}
	return len(a.config.DecodeAs) > 0 && (a.config.DecodeAs[srcPort] != nil || a.config.DecodeAs[dstPort] != nil)
}

// byTopic chooses among several protocols that wait for a reply the one that
// waits for what this reply says.
func (a *Analyzer) byTopic(d *Datagram, fi int32, up bool, found []candidate) *candidate {
	for i := range found {
		m := a.try(d, found[i].protocol)
		if m.Type != nil && m.Type.Role == Reply && m.Pair.Answers != 0 && a.tracker.awaits(fi, up, found[i].protocol, m.Pair.Answers) {
			return &found[i]
		}
	}
	return &found[0]
}

// readable reports whether a protocol can read a datagram to its end.
func (a *Analyzer) readable(d *Datagram, protocol int8) bool {
	a.try(d, protocol)
	return !a.reader.Failed()
}

// try decodes a datagram to see what it would be. Parts of splits are taken
// for readable and say nothing.
func (a *Analyzer) try(d *Datagram, protocol int8) *Message {
	a.current = protocol
	p := a.protocols[protocol]
	m := &a.tried
	*m = Message{}
	a.reader.Reset(d.Payload, d.Frame, false)
	if p.Split != nil {
		if _, ok := p.Split.Read(d.Payload, 0); ok {
			return m
		}
	}
	a.decoders[protocol].Decode(&a.reader, m)
	return m
}

// held is a datagram whose bytes several protocols could have sent, or one
// that could be chance. It waits for what the flow brings: a reply may tell.
type held struct {
	ends      ends
	protocols uint64
	frame     uint64
	time      int64
	src, dst  netip.AddrPort
	payload   [detectBytes]byte
	length    uint8
	missing   int
	otherwise int8      // the protocol that has it if nothing decides, -1 for none
	also      uint64    // the others that it could be of then
	reason    Reason    // for otherwise
	first     int64     // time of the first fragment
	frames    []uint64  // if IP fragmented it
	findings  []Finding // of the layers below
	text      []byte    // what they were borrowed from
}

// Keep keeps a text as long as the entry.
func (h *held) Keep(s string) string {
	n := len(h.text)
	h.text = append(h.text, s...)
	return view(h.text[n:])
}

// maxHeld bounds what is undecided at once.
const maxHeld = 256

// waiting is what is undecided, the oldest first. Nearly every datagram finds
// that nothing of its flow is in it, so that this must be cheap: seen counts
// what waits by a part of the hash of its flow.
type waiting struct {
	n       int
	entries []held
	order   [maxHeld]uint8 // of entries; those from n on are free
	hashes  [maxHeld]uint32
	seen    [1024]uint16
}

func (w *waiting) count(hash uint32) *uint16 { return &w.seen[hash%uint32(len(w.seen))] }

// at returns the i-th entry.
func (w *waiting) at(i int) *held { return &w.entries[w.order[i]] }

// add returns a new entry, the last one. There must be room.
func (w *waiting) add(hash uint32) *held {
	if w.n == len(w.entries) {
		w.entries = append(w.entries, held{})
		w.order[w.n] = uint8(w.n)
	}
	w.hashes[w.n] = hash
	*w.count(hash)++
	w.n++
	return w.at(w.n - 1)
}

// take takes entry i out; it can be used until the next add.
func (w *waiting) take(i int) *held {
	*w.count(w.hashes[i])--
	e := w.order[i]
	w.n--
	copy(w.order[i:w.n], w.order[i+1:])
	copy(w.hashes[i:w.n], w.hashes[i+1:])
	w.order[w.n] = e
	return &w.entries[e]
}

// find returns the first entry from i on that is of a flow, n if there is none.
func (w *waiting) find(i int, ends *ends) int {
	for ; i < w.n; i++ {
		if w.hashes[i] == ends.hash && w.at(i).ends.key == ends.key {
			return i
		}
	}
	return w.n
}

// hold keeps an undecided datagram for a while. Longer ones are not requests
// that are merely ambiguous. If nothing decides it is of the protocol
// c.otherwise, of none if that is -1.
func (a *Analyzer) hold(d *Datagram, c class) {
	if len(d.Payload) > detectBytes {
		a.unknown(d, c.undecided)
		return
	}
	if a.waiting.n >= maxHeld {
		a.giveUpHeld(0)
	}
	ends := a.tracker.flows.endsOf(d)
	h := a.waiting.add(ends.hash)
	h.ends = *ends
	h.protocols, h.otherwise, h.also, h.reason = c.undecided, c.otherwise, c.also, c.reason
	h.frame, h.time, h.first, h.src, h.dst, h.missing = d.Frame, nanos(d.Time), nanos(d.First), d.Src, d.Dst, d.Missing
	h.length = uint8(copy(h.payload[:], d.Payload))
	h.frames = append(h.frames[:0], d.Frames...)
	h.findings, h.text = h.findings[:0], h.text[:0]
	for i := range d.Findings {
		h.findings = append(h.findings, d.Findings[i].Own(h))
	}
}

// revive makes a datagram of an entry, which lives as long.
func (a *Analyzer) revive(h *held) *Datagram {
	a.revived = Datagram{
		Frame: h.frame, Frames: h.frames, Time: fromNanos(h.time), First: fromNanos(h.first), Src: h.src, Dst: h.dst,
		Payload: h.payload[:h.length], Missing: h.missing, Findings: h.findings, ends: h.ends,
	}
	return &a.revived
}

// giveUpHeld gives up entry i: the oldest is 0.
func (a *Analyzer) giveUpHeld(i int) {
	h := a.waiting.take(i)
	d := a.revive(h)
	if h.otherwise >= 0 {
		a.heldMessage(d, class{protocol: h.otherwise, reason: h.reason, also: h.also, sure: true})
		return
	}
	a.unknown(d, h.protocols)
}

// decideHeld tells the datagrams that wait in the flow of d, now that d has
// shown which protocol it speaks, or that nothing will show it.
func (a *Analyzer) decideHeld(d *Datagram, c class) {
	ends := a.tracker.flows.endsOf(d)
	if *a.waiting.count(ends.hash) == 0 {
		return
	}
	for i := a.waiting.find(0, ends); i < a.waiting.n; i = a.waiting.find(i, ends) {
		h := a.waiting.at(i)
		as := a.kinAmong(h.protocols, c.protocol)
		switch {
		case as < 0:
			i++
			continue
		case c.also != 0 && h.otherwise >= 0:
			a.giveUpHeld(i)
			continue
		}
		sure := h.otherwise >= 0
		e := a.revive(a.waiting.take(i))
		if !sure && !a.readable(e, as) {
			a.unknown(e, 0)
			continue
		}
		a.heldMessage(e, class{protocol: as, reason: ByReply, sure: sure})
	}
}

// kinAmong returns the protocol of a set that is the given one, or else of its
// family; -1 if there is none.
func (a *Analyzer) kinAmong(set uint64, protocol int8) int8 {
	if set>>protocol&1 != 0 {
		return protocol
	}
	for ; set != 0; set &= set - 1 {
		if i := int8(bits.TrailingZeros64(set)); a.tracker.kin(i, protocol) {
			return i
		}
	}
	return -1
}

func (a *Analyzer) expireHeld(now int64) {
	for a.waiting.n > 0 {
		h := a.waiting.at(0)
		if h.time > now {
			h.time = now
		}
		if now-h.time <= int64(a.config.Limits.Window) {
			return
		}
		a.giveUpHeld(0)
	}
}

// Recognise returns the protocol that a payload between two addresses would be
// taken for, nil for none. It is for payloads that never come whole.
func (a *Analyzer) Recognise(src, dst netip.AddrPort, payload []byte) *Protocol {
	d := &a.asked
	*d = Datagram{Src: src, Dst: dst, Payload: payload}
	defer a.contain(d)
	c := a.classify(d)
	if c.protocol < 0 && c.undecided != 0 {
		c.protocol = c.otherwise
	}
	if c.protocol < 0 {
		return nil
	}
	return a.protocols[c.protocol]
}
