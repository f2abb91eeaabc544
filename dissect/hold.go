package dissect

import (
	"bytes"
	"math/bits"

	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// A kept is a copy of a short datagram.
type kept struct {
	Datagram
	bytes [detectBytes]byte
	text  []byte // of the findings
}

// keep copies a datagram of at most detectBytes.
func (k *kept) keep(d *Datagram) {
	frames, findings := append(k.Frames[:0], d.Frames...), k.Findings[:0]
	k.text = k.text[:0]
	for i := range d.Findings {
		findings = append(findings, d.Findings[i].Own(k))
	}
	k.Datagram = *d
	k.Payload, k.Frames, k.Findings = k.bytes[:copy(k.bytes[:], d.Payload)], frames, findings
}

// Keep copies a text; it lives as long as the datagram.
func (k *kept) Keep(s string) string {
	n := len(k.text)
	k.text = append(k.text, s...)
	return nettext.View(k.text[n:])
}

// A held is a deferred datagram: several protocols may own it, or it may be chance.
// The reply in its conversation may decide.
type held struct {
	kept
	ends  ends
	since int64
	class
}

// maxHeld bounds the deferred datagrams.
const maxHeld = 256

// waiting lists the deferred datagrams, the oldest first. Nearly every lookup finds
// nothing and must be cheap: seen counts the entries by a part of the hash of their
// flows, and what finds one there looks for another part of it, which is a byte in tags.
type waiting struct {
	n       int
	entries []held
	order   [maxHeld + 1]uint16 // of entries; those from n on are free
	tags    [maxHeld + 1]byte
	seen    [1024]uint16
}

func (w *waiting) count(hash uint32) *uint16 { return &w.seen[hash%uint32(len(w.seen))] }

func tag(hash uint32) byte { return byte(hash >> 24) }

// at returns the i-th entry.
func (w *waiting) at(i int) *held { return &w.entries[w.order[i]] }

// add appends a new entry and returns it. The list must not be full.
func (w *waiting) add(hash uint32) *held {
	if w.n == len(w.entries) {
		w.entries = append(w.entries, held{})
		w.order[w.n] = uint16(w.n)
	}
	w.tags[w.n] = tag(hash)
	*w.count(hash)++
	w.n++
	return w.at(w.n - 1)
}

// take removes entry i and returns it; it is valid until the next add.
func (w *waiting) take(i int) *held {
	e := w.order[i]
	*w.count(w.entries[e].ends.hash)--
	w.n--
	copy(w.order[i:w.n], w.order[i+1:])
	copy(w.tags[i:w.n], w.tags[i+1:])
	w.order[w.n] = e
	return &w.entries[e]
}

// find returns the first entry from i on that belongs to a flow, n if there is none.
func (w *waiting) find(i int, ends *ends) int {
	if i == 0 && *w.count(ends.hash) == 0 {
		return w.n
	}
	for ; i < w.n; i++ {
		next := bytes.IndexByte(w.tags[i:w.n], tag(ends.hash))
		if next < 0 {
			return w.n
		}
		if i += next; w.at(i).ends.key == ends.key {
			return i
		}
	}
	return w.n
}

// hold defers an undecided datagram. If nothing decides, the protocol is x.otherwise.
// Datagrams that are too long for an ambiguous request are unknown. A decided one decides
// those that wait in its conversation.
func (a *Analyzer) hold(x *arrival) {
	switch {
	case x.stopped:
	case x.protocol >= 0:
		if *a.waiting.count(x.ends.hash) > 0 {
			a.resolveHeld(x.ends, class{protocol: x.protocol, also: x.also, reason: core.ByReply})
		}
	case x.undecided != 0:
		x.noteAs(seenRequest)
		a.guess(x)
		if len(x.Payload) > detectBytes {
			return
		}
		h := a.waiting.add(x.ends.hash)
		h.keep(x.Datagram)
		h.ends, h.class, h.since, x.stopped = x.ends, x.class, a.now, true
		if a.waiting.n > maxHeld {
			a.releaseHeld(0)
		}
	}
}

// releaseHeld classifies the deferred datagram i, by what its server spoke with others or without
// further evidence.
func (a *Analyzer) releaseHeld(i int) {
	h := a.waiting.at(i)
	if p, to := a.spoken(&h.ends, h.undecided); h.otherwise < 0 && to {
		if a.current = p; a.protocols[p].Detect(h.Payload) > Doubtful && a.readable(&h.Datagram, p) {
			a.resolveHeld(h.ends, class{protocol: p, reason: core.ByServer})
			return
		}
	}
	a.waiting.take(i)
	c := class{protocol: h.otherwise, reason: h.reason, also: h.also, sure: h.sure}
	if c.protocol < 0 {
		c.undecided = h.undecided
	}
	a.queue.add(&h.Datagram, &h.ends, c)
}

// resolveHeld classifies the deferred datagrams in a conversation by what another one in it is.
func (a *Analyzer) resolveHeld(e ends, by class) {
	for i := a.waiting.find(0, &e); i < a.waiting.n; i = a.waiting.find(i, &e) {
		h := a.waiting.at(i)
		as := a.relatedAmong(h.undecided, by.protocol)
		switch {
		case as < 0:
			i++
			continue
		case by.also != 0 && h.otherwise >= 0:
			a.releaseHeld(i)
		default:
			h = a.waiting.take(i)
			c := class{protocol: as, reason: by.reason, sure: h.sure}
			if !c.sure && !a.readable(&h.Datagram, as) {
				c.protocol = -1
			}
			a.queue.add(&h.Datagram, &h.ends, c)
		}
	}
}

// relatedAmong returns protocol if it is in the set, else a protocol of its family
// in the set, else -1.
func (a *Analyzer) relatedAmong(set uint64, protocol int8) int8 {
	if set>>protocol&1 != 0 {
		return protocol
	}
	for ; set != 0; set &= set - 1 {
		if i := int8(bits.TrailingZeros64(set)); a.tracker.related(i, protocol) {
			return i
		}
	}
	return -1
}

// expireHeld classifies the datagrams that were deferred for a window.
func (a *Analyzer) expireHeld(now int64) {
	for a.waiting.n > 0 {
		h := a.waiting.at(0)
		h.since = min(h.since, now) // a timestamp from the future ages from now on
		if now-h.since <= int64(a.config.Limits.Window) {
			return
		}
		a.releaseHeld(0)
	}
}

// echoed returns the protocol in which a datagram answers a deferred request
// although neither was likely by itself: they have one topic and the same id of more
// than 16 bits. It returns -1 if there is none.
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
