package dissect

import (
	"net/netip"
	"time"

	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/endpoint"
	"github.com/qdissect/qdissect/internal/nettext"
)

// An ICMPError is an error that a host or a router sent about a datagram. It quotes
// the beginning of the datagram.
type ICMPError struct {
	// Frame and Time are those of the error.
	Frame uint64
	Time  time.Time
	// From is the sender of the error. Its family decides whether Type and Code are
	// those of ICMP (RFC 792) or of ICMPv6 (RFC 4443).
	From       netip.Addr
	Type, Code uint8
	// MTU is the size in bytes of the largest packet that passes, 0 if the error
	// does not state it.
	MTU uint32
	// Src and Dst are the ends of the datagram. Payload is the beginning of its
	// payload as far as it is quoted, borrowed. Length is the size of all of it,
	// -1 if that is not known.
	Src, Dst netip.AddrPort
	Payload  []byte
	Length   int
	// Guess says that Src or Dst is not the quoted address but one that a NAT may
	// have translated it to. The error is then matched only with a pending request.
	Guess bool
}

// A kindOfError is the meaning of an ICMP error, with the reason if its type has
// several.
type kindOfError struct {
	finding *FindingType
	why     string
}

// A codeOfError is a type of ICMP with a code, or with otherCodes.
type codeOfError struct{ typ, code int }

const otherCodes = -1

var (
	noNetwork  = kindOfError{core.Unreachable, "there is no route to its network"}
	noHost     = kindOfError{core.Unreachable, "the last router gets no answer from it, or a firewall rejects in this way"}
	noService  = kindOfError{core.Unreachable, "not with this type of service"}
	noPort     = kindOfError{finding: core.PortUnreachable}
	tooBig     = kindOfError{finding: core.FragmentationNeeded}
	prohibited = kindOfError{finding: core.Prohibited}
	badHeader  = kindOfError{finding: core.BadHeader}
	incomplete = kindOfError{finding: core.FragmentsLost}
	expired    = kindOfError{finding: core.HopLimit}
)

// icmpKinds and icmp6Kinds are the meanings of types and codes, as IANA registers them.
var icmpKinds = map[codeOfError]kindOfError{
	{3, 0}: noNetwork, {3, 5}: noNetwork, {3, 6}: noNetwork, {3, 8}: noNetwork, {3, 2}: {core.Unreachable, "it does not take UDP"}, {3, 3}: noPort, {3, 4}: tooBig,
	{3, 9}: prohibited, {3, 10}: prohibited, {3, 13}: prohibited, {3, 14}: prohibited, {3, 15}: prohibited, {3, 11}: noService, {3, 12}: noService,
	{3, otherCodes}: noHost, {11, 1}: incomplete, {11, otherCodes}: expired, {12, otherCodes}: badHeader,
}

var icmp6Kinds = map[codeOfError]kindOfError{
	{1, 0}: noNetwork, {1, 1}: prohibited, {1, 5}: prohibited, {1, 6}: prohibited, {1, 2}: {core.Unreachable, "the address of the sender is of another scope"}, {1, 4}: noPort,
	{1, 7}: badHeader, {1, 8}: badHeader, {1, otherCodes}: noHost, {2, otherCodes}: tooBig, {3, 1}: incomplete, {3, otherCodes}: expired, {4, otherCodes}: badHeader,
}

// kind returns the meaning of an error. The finding is nil if the error does not
// report a lost datagram.
func (e *ICMPError) kind() kindOfError {
	kinds := nettext.Either(e.From.Is4(), icmpKinds, icmp6Kinds)
	if k, ok := kinds[codeOfError{int(e.Type), int(e.Code)}]; ok {
		return k
	}
	return kinds[codeOfError{int(e.Type), otherCodes}]
}

// about says what the datagram of an ICMP error was.
type about uint8

const (
	aboutRequest about = iota
	aboutReply         // or what else its server sends
	aboutOther
)

// ICMP processes an ICMP error about a datagram. The request that it is about counts
// as refused unless a reply comes.
func (a *Analyzer) ICMP(e *ICMPError) {
	k := e.kind()
	if k.finding == nil {
		return
	}
	now := nanos(e.Time)
	a.now = now
	t := a.tracker
	var ends ends
	from, to := endpoint.Of(e.Src), endpoint.Of(e.Dst)
	t.flows.endsOf(&ends, &from, &to)
	if a.waiting.n > 0 {
		a.refuseHeld(e, &ends)
		a.proceed()
	}
	fi := t.flows.find(&ends)
	if fi == none {
		return
	}
	f := &t.flows.flows[fi]
	t.out.flow = FlowFinding{Frame: e.Frame, Time: e.Time, Src: e.Src, Dst: e.Dst, ICMPFrame: e.Frame}
	i := t.refusedBy(e, fi, ends.up, now)
	if e.Guess && i == none {
		return
	}
	a.stats.ICMPMatched++
	if i != none {
		q := &t.requests.list[i]
		if q.has(isRefused) {
			return // a copy of the request, or of the error
		}
		n, last := t.doubtRefused(i)
		q.set(isRefused)
		t.out.others = appendSet(t.out.others[:0], a.protocols, t.requests.rare(q).also)
		t.out.flow.Frame, t.out.flow.Time, t.out.flow.Protocol, t.out.flow.Alternatives = q.frame, fromNanos(t.requests.time(q)), a.protocols[q.protocol], t.out.others
		a.reportICMP(e, k, aboutRequest, n, last)
		return
	}
	// One is enough until the client asks again: a server goes on sending to one that has gone.
	if t.flows.extra(fi).refused {
		return
	}
	t.flows.own(fi).refused = true
	what := aboutOther
	for i := f.requests; i != none; i = t.requests.list[i].below {
		if q := &t.requests.list[i]; q.up() != ends.up && q.answer != 0 {
			what = aboutReply
			t.out.flow.Protocol = a.protocols[q.protocol]
			break
		}
	}
	if t.out.flow.Protocol == nil && f.protocol >= 0 {
		t.out.flow.Protocol = a.protocols[f.protocol]
	}
	a.reportICMP(e, k, what, 0, 0)
}

// reportICMP completes the outgoing finding and reports it. n is the number of other
// requests that the error may be about, last the frame of the newest of them.
func (a *Analyzer) reportICMP(e *ICMPError, k kindOfError, what about, n int, last uint64) {
	b := appendNumber(e.From.AppendTo(a.text[:0]), " says in frame ", int(e.Frame), "")
	who := len(b)
	b = e.Dst.Addr().AppendTo(b)
	to := len(b)
	if e.Length >= 0 {
		b = appendNumber(b, " of ", e.Length, nettext.Plural(e.Length, " byte", " bytes"))
	}
	size := len(b)
	switch {
	case k.finding == core.FragmentationNeeded && e.MTU > 0:
		b = appendNumber(b, ", which takes IP packets of up to ", int(e.MTU), " bytes")
	case k.finding == core.PortUnreachable && e.From != e.Dst.Addr():
		b = append(b, " of "...)
		b = e.Dst.Addr().AppendTo(b)
		b = append(b, "; it speaks for that host: a firewall that rejects, a NAT, or another address of the same host"...)
	case k.finding == core.PortUnreachable && what == aboutRequest:
		b = append(b, "; a firewall that rejects says the same"...)
	}
	why := len(b)
	b = append(b, k.why...)
	switch what {
	case aboutReply:
		b = append(b, "; this is about a datagram from the server"...)
		if k.finding == core.PortUnreachable {
			b = append(b, ": the client closed its socket, or a firewall rejects"...)
		}
	case aboutOther:
		b = append(b, "; this is about a datagram"...)
		b = append(b, b[to:size]...)
		b = append(b, " between these two"...)
	}
	if n > 0 {
		b = appendNumber(b, "; it is about one of the equal requests in frames ", int(a.out.flow.Frame), nettext.Plural(n, " and ", " to "))
		b = appendInt(b, int(last))
	}
	a.text = b
	says, dst, length, note := Str(nettext.View(b[:who])), Str(nettext.View(b[who:to])), Str(nettext.View(b[to:size])), Str(nettext.View(b[size:]))
	f := &a.out.flow
	switch k.finding {
	case core.PortUnreachable:
		f.Finding = NewFinding(k.finding, says, Num(e.Dst.Port()), note)
	case core.FragmentationNeeded:
		f.Finding = NewFinding(k.finding, says, length, note)
	case core.Unreachable:
		f.Finding = NewFinding(k.finding, says, dst, Str(nettext.View(b[why:])))
	case core.Prohibited, core.HopLimit:
		f.Finding = NewFinding(k.finding, says, dst, note)
	default:
		f.Finding = NewFinding(k.finding, says, note)
	}
	a.out.finding(f)
}

// refusedBy returns the request that an error is about: one of the same length,
// preferably with the same bytes if all are quoted. Errors come in the order of the
// requests, so that the oldest pending one is preferred.
func (t *tracker) refusedBy(e *ICMPError, fi int32, up bool, now int64) int32 {
	found, best := none, 0
	whole, sum := len(e.Payload) == e.Length, checksum(e.Payload)
	for i := t.flows.flows[fi].requests; i != none; i = t.requests.list[i].below {
		q := &t.requests.list[i]
		if q.up() != up || q.answer != 0 || int(q.bytes) != e.Length || now-q.sent > int64(t.config.Limits.Window) {
			continue
		}
		rank := nettext.Either(q.has(isRefused), 1, 2)
		if whole && q.sum == sum {
			rank += 2
		}
		if rank >= best {
			found, best = i, rank
		}
	}
	return found
}

// doubtRefused marks the round trips of all pending requests with the bytes of
// request i as ambiguous, since the error may be about any of them. It returns the
// number of the others and the frame of the newest.
func (t *tracker) doubtRefused(i int32) (n int, last uint64) {
	q := &t.requests.list[i]
	for j := t.flows.flows[q.flow].requests; j != none; j = t.requests.list[j].below {
		if o := &t.requests.list[j]; j != i && o.sameAs(q) && o.open() && !o.has(isLate) && !o.has(isCovered) {
			n++
			last = max(last, o.frame)
			q.set(isUnclear)
			o.set(isUnclear | isRepeated) // one question, and it was refused
		}
	}
	return n, last
}

// refuseHeld classifies the deferred datagrams that an error is about, because no
// reply will come.
func (a *Analyzer) refuseHeld(e *ICMPError, ends *ends) {
	for i := a.waiting.find(0, ends); i < a.waiting.n; i = a.waiting.find(i, ends) {
		if h := a.waiting.at(i); h.Src != e.Src || h.Dst != e.Dst || len(h.Payload)+h.Missing != e.Length {
			i++
			continue
		}
		a.releaseHeld(i)
	}
}
