package dissect

import (
	"hash/fnv"
	"net/netip"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/qdissect/qdissect/reassembly"
)

// contain is deferred where a datagram enters: what panics while it is dissected
// costs the datagram and the state of its flow. What the handler does is its own
// concern.
func (a *Analyzer) contain(x *arrival) {
	if a.handing {
		return
	}
	if e := recover(); e != nil {
		a.contained(x, true)
	}
}

// containSet is contain for a set of parts that is given up, in the middle of
// work on the table of sets.
func (a *Analyzer) containSet(x *arrival) {
	if a.handing {
		return
	}
	if e := recover(); e != nil {
		a.contained(x, false)
	}
}

// containAll is contain for what is about no single datagram: all state goes.
func (a *Analyzer) containAll() {
	if a.handing {
		return
	}
	if e := recover(); e != nil {
		a.renew()
		nobody := netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
		var x arrival
		x.begin(&Datagram{Time: fromNanos(a.now), Src: nobody, Dst: nobody})
		a.find(&x)
		a.contained(&x, true)
	}
}

// contained puts things right after a panic and reports it.
func (a *Analyzer) contained(x *arrival, parts bool) {
	stack := stackSum()
	a.stats.Panics++
	x.protocol = a.current
	a.scratch.renew(a.protocols)
	a.suspects.of = nil
	a.forget(x, parts)
	a.tell(NewFinding(Panicked, Str(stack)), x)
	if len(x.Payload) > 0 {
		a.stats.Unknown++
		a.strange = Unknown{Datagram: x.Datagram, Foreign: a.config.Foreign, protocols: a.protocols, Panicked: true}
		a.handing = true
		a.handler.Unknown(&a.strange)
		a.handing = false
	}
}

// forget drops what is known of a datagram's flow. State that the panic left
// broken goes as a whole.
func (a *Analyzer) forget(x *arrival, parts bool) {
	defer func() {
		if e := recover(); e != nil {
			a.renew()
		}
	}()
	t := a.tracker
	ends := &x.ends
	if i := t.flows.find(ends); i >= 0 {
		evicted := t.evicted
		t.flows.remove(i, true) // its requests are not unanswered
		t.evicted = evicted
	}
	for i := a.waiting.find(0, ends); i < a.waiting.n; i = a.waiting.find(i, ends) {
		a.waiting.take(i)
	}
	if parts {
		a.parts.Forget(func(k *reassembly.Key) bool {
			key, _ := keyOf(netip.AddrPortFrom(netip.AddrFrom16(k.Src).Unmap(), k.SrcPort), netip.AddrPortFrom(netip.AddrFrom16(k.Dst).Unmap(), k.DstPort))
			return key == ends.key
		})
	}
}

// renew gives the analyzer new state.
func (a *Analyzer) renew() {
	old := a.tracker
	a.tracker = newTracker(a.protocols, a.config.Limits, a.flowFinding, a.exchange())
	a.tracker.flows.evicted, a.tracker.evicted, a.tracker.outcomes, a.tracker.ended, a.tracker.oneSided = old.flows.evicted, old.evicted, old.outcomes, old.ended, old.oneSided
	a.waiting = waiting{}
}

// renew replaces what a panic may have left broken, for all analyzers that share
// it.
func (b *scratch) renew(protocols []*Protocol) {
	inject := b.reader.inject
	*b = scratch{}
	b.reader.inject = inject
	for _, p := range protocols {
		b.decoders = append(b.decoders, p.New())
	}
}

// stackSum returns a number for where the panic was: the functions and lines
// from there up to the analyzer, or to the record whose summary is wanted, which are
// the same in every command.
func stackSum() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	h := fnv.New32a()
	panicking := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			panicking = true
			h.Reset()
		case !panicking || strings.HasPrefix(f.Function, "runtime."):
		default:
			h.Write([]byte(f.Function + " " + filepath.Base(f.File) + ":" + strconv.Itoa(f.Line) + "\n"))
		}
		if !more || panicking && (strings.Contains(f.Function, "dissect.(*Analyzer)") || strings.HasSuffix(f.Function, "dissect.(*Record).AppendContents")) {
			return strconv.FormatUint(uint64(h.Sum32())|1<<32, 16)[1:]
		}
	}
}

// containSummary is deferred where the summary of a message is appended, after dst: a
// panic costs the summary alone.
func (r *Record) containSummary(dst []byte, out *[]byte) {
	if r.stats == nil {
		return
	}
	if e := recover(); e != nil {
		r.Body = nil // nobody asks it again
		r.stats.Panics++
		r.stats.Findings[Failed]++
		r.Findings = append(r.Findings, NewFinding(Panicked, Str(stackSum())))
		*out = dst
	}
}

// unattended does work on conversations that no datagram brings.
func (a *Analyzer) unattended(work func()) {
	a.current = -1
	defer a.containAll()
	work()
}
