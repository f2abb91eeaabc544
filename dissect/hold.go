package dissect

import "math/bits"

// kept is a short datagram that is kept for a while.
type kept struct {
	Datagram
	bytes [detectBytes]byte
	text  []byte // of the findings
}

// keep keeps a copy of a datagram of at most detectBytes.
func (k *kept) keep(d *Datagram) {
	frames, findings := append(k.Frames[:0], d.Frames...), k.Findings[:0]
	k.text = k.text[:0]
	for i := range d.Findings {
		findings = append(findings, d.Findings[i].Own(k))
	}
	k.Datagram = *d
	k.Payload, k.Frames, k.Findings = k.bytes[:copy(k.bytes[:], d.Payload)], frames, findings
}

// Keep keeps a text as long as the datagram.
func (k *kept) Keep(s string) string {
	n := len(k.text)
	k.text = append(k.text, s...)
	return view(k.text[n:])
}

// held is a datagram whose bytes several protocols could have sent, or one
// that could be chance. It waits for what the flow brings: a reply may tell.
type held struct {
	kept
	ends  ends
	since int64
	// What it was taken for, with the candidates and the one that has it if nothing
	// decides.
	class
}

// arrive lets the datagram enter again.
func (h *held) arrive(c class) (x arrival) {
	x.begin(&h.Datagram)
	x.ends, x.class = h.ends, c
	return x
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
	if i == 0 && *w.count(ends.hash) == 0 {
		return w.n
	}
	for ; i < w.n; i++ {
		if w.hashes[i] == ends.hash && w.at(i).ends.key == ends.key {
			return i
		}
	}
	return w.n
}

// hold keeps an undecided datagram for a while. Longer ones are not requests
// that are merely ambiguous. If nothing decides it is of the protocol
// x.otherwise, of none if that is -1.
func (a *Analyzer) hold(x *arrival) {
	x.noteAs(seenRequest)
	if len(x.Payload) > detectBytes {
		a.unknown(x, x.undecided)
		return
	}
	if a.waiting.n >= maxHeld {
		a.giveUpHeld(0)
	}
	h := a.waiting.add(x.ends.hash)
	h.keep(x.Datagram)
	h.ends, h.class, h.since = x.ends, x.class, a.now
}

// giveUpHeld gives up entry i: the oldest is 0.
func (a *Analyzer) giveUpHeld(i int) {
	h := a.waiting.take(i)
	x := h.arrive(class{protocol: h.otherwise, reason: h.reason, also: h.also, sure: true})
	if h.otherwise < 0 {
		a.unknown(&x, h.undecided)
		return
	}
	a.enter(&x)
}

// enter takes a datagram that was kept, now that it has been recognised.
func (a *Analyzer) enter(x *arrival) {
	defer a.contain(x)
	x.flow = a.tracker.flows.find(&x.ends)
	a.message(x)
}

// decideHeld tells the datagrams that wait in the flow of x, now that x has
// shown which protocol it speaks, or that nothing will show it.
func (a *Analyzer) decideHeld(x *arrival) {
	for i := a.waiting.find(0, &x.ends); i < a.waiting.n; i = a.waiting.find(i, &x.ends) {
		h := a.waiting.at(i)
		as := a.kinAmong(h.undecided, x.protocol)
		switch {
		case as < 0:
			i++
			continue
		case x.also != 0 && h.otherwise >= 0:
			a.giveUpHeld(i)
		default:
			h = a.waiting.take(i)
			y := h.arrive(class{protocol: as, reason: ByReply, sure: h.otherwise >= 0})
			if !y.sure && !a.readable(&h.Datagram, as) {
				a.unknown(&y, 0)
				continue
			}
			a.enter(&y)
		}
		x.flow = a.tracker.flows.find(&x.ends) // it may have begun only now
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

// expireHeld gives up what has waited for a window.
func (a *Analyzer) expireHeld(now int64) {
	for a.waiting.n > 0 {
		h := a.waiting.at(0)
		h.since = min(h.since, now) // a timestamp from the future ages from now on
		if now-h.since <= int64(a.config.Limits.Window) {
			return
		}
		a.giveUpHeld(0)
	}
}

// echoed returns the protocol in which a datagram is the reply to a request that
// is held, though neither was likely by itself: they are of one topic and carry
// the same id of more than 16 bits. -1 if there is none.
func (a *Analyzer) echoed(x *arrival) int8 {
	first := a.waiting.find(0, &x.ends)
	if first == a.waiting.n {
		return -1
	}
	for m := x.undecided; m != 0; m &= m - 1 {
		p := int8(bits.TrailingZeros64(m))
		reply := a.try(x.Datagram, p)
		if reply.Type == nil || reply.Type.Role != Reply || reply.Pair.ID>>16 == 0 || a.reader.Failed() {
			continue
		}
		id, topics := reply.Pair.ID, reply.Pair.Answers
		for i := first; i < a.waiting.n; i = a.waiting.find(i+1, &x.ends) {
			h := a.waiting.at(i)
			if h.undecided>>p&1 == 0 || h.Src != x.Dst {
				continue
			}
			request := a.try(&h.Datagram, p)
			if request.Type != nil && request.Type.Role == Request && request.Pair.ID == id && request.Pair.Asks&topics != 0 && !a.reader.Failed() {
				return p
			}
		}
	}
	return -1
}
