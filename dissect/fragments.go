package dissect

import (
	"net/netip"

	"github.com/qdissect/qdissect/reassembly"

	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// Arriving records an IP fragment of an incomplete datagram. The ports are 0 unless
// it is the first fragment. Requests that the datagram may answer stay pending until
// it is complete or lost, if that is within the age of [reassembly.DefaultLimits].
func (a inner) Arriving(frame uint64, src, dst netip.AddrPort) {
	t := a.tracker
	windows := uint16(min(1+reassembly.DefaultLimits.Age/t.config.Limits.Window, 1<<16-1))
	if src.Port() == 0 && dst.Port() == 0 {
		if i := t.onlyBetween(frame, src.Addr(), dst.Addr()); i != none {
			t.requests.own(&t.requests.list[i]).arriving = windows
		}
		return
	}
	var ends ends
	t.flows.endsOf(&ends, &src, &dst)
	fi := t.flows.find(&ends)
	if fi == none {
		return
	}
	for i := t.flows.flows[fi].requests; i != none; i = t.requests.list[i].below {
		if q := &t.requests.list[i]; q.up() != ends.up && q.answer == 0 && !q.has(isLate) {
			t.requests.own(q).arriving = windows
		}
	}
}

// LostFragments completes a finding about a datagram with missing fragments: it adds
// the protocol, the request that the datagram answers in part, and the severity. payload is the
// beginning of the datagram, nil if the first fragment is missing.
func (a inner) LostFragments(f *FlowFinding, payload []byte) {
	t := a.tracker
	if !f.NoPorts {
		f.Protocol = a.Recognise(f.Src, f.Dst, payload)
	}
	if f.Protocol != nil {
		f.Type = core.FragmentsMissing
	}
	a.stand = Datagram{Frame: f.Frame, Time: f.Time, Src: f.Src, Dst: f.Dst, Payload: payload}
	x := a.queue.begin(&a.stand)
	x.part, x.partial, x.wire, x.stopped = f.Frame, true, 0, true
	a.queue.on = x
	defer a.contain()
	i := none
	note := "; they are of the reply to the request in frame "
	if f.NoPorts {
		i = t.onlyBetween(f.Frame, f.Src.Addr(), f.Dst.Addr())
		note = "; the only request that waits between these hosts is in frame "
	} else if a.find(x); f.Protocol != nil && x.flow != none {
		x.protocol = a.index(f.Protocol)
		i = a.answeredBy(x)
	}
	if i == none {
		return
	}
	q := &t.requests.list[i]
	f.Protocol, f.NoPorts, f.Reply = t.protocols[q.protocol], false, true
	f.Dst, f.Src = t.flows.flows[q.flow].key.endpoints(q.up())
	t.inPart(i, x)
	a.text = appendInt(append(a.text[:0], note...), int(q.frame))
	f.Finding = NewFinding(core.FragmentsMissing, core.Args(&f.Finding)[0], core.Args(&f.Finding)[1], Str(nettext.View(a.text)))
}

// answeredBy returns the request that the beginning of a reply answers, none if
// there is none. If that request had a reply, it is the next one with its bytes.
func (a *Analyzer) answeredBy(x *arrival) int32 {
	a.current = x.protocol
	core.Reset(&a.reader, x.Payload, x.Frame, false)
	a.tried = Message{}
	a.decoders[x.protocol].Decode(&a.reader, &a.tried)
	m := a.tracker.match(x, &a.tried.Pair)
	a.tracker.doubt(m, x)
	if m.copy || m.over {
		return none
	}
	if m.request != none && a.tracker.requests.list[m.request].answer != 0 {
		return a.tracker.repeating(m.request, x)
	}
	return m.request
}

// repeating returns the oldest unanswered request that repeats request i, none if
// there is none.
func (t *tracker) repeating(i int32, x *arrival) int32 {
	q, found := &t.requests.list[i], none
	for j := t.flows.flows[q.flow].requests; j != none && j != i; j = t.requests.list[j].below {
		if o := &t.requests.list[j]; o.sameAs(q) && o.open() && o.answer == 0 && !o.has(isLate) && o.frame <= x.part {
			found = j
		}
	}
	return found
}

// maxBetween is the number of newest requests that onlyBetween searches.
const maxBetween = 512

// onlyBetween returns the request that fragments without ports answer: the only one
// pending for a reply from src to dst that was sent before. It returns none if there
// is none or several.
func (t *tracker) onlyBetween(frame uint64, src, dst netip.Addr) int32 {
	found := none
	from, to := dst.As16(), src.As16()
	n := 0
	for i := t.requests.waiting.newest; i != none; i = t.requests.list[i].older {
		if n++; n > maxBetween {
			return none
		}
		q := &t.requests.list[i]
		if q.answer != 0 || !q.open() || q.has(isOptional) || q.frame > frame {
			continue
		}
		if key := &t.flows.flows[q.flow].key; !key.between(&from, &to, q.up()) {
			continue
		}
		if found != none {
			return none
		}
		found = i
	}
	return found
}
