package dissect

import (
	"hash/fnv"
	"net/netip"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/qdissect/qdissect/reassembly"

	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/endpoint"
)

// contain is deferred where a datagram enters. It recovers from a panic of a
// decoder, which then costs the datagram and the state of its conversation; what is ready
// as well goes on. Panics of the handler are not recovered.
func (a *Analyzer) contain() {
	if a.queue.on == nil || a.out.handing {
		return
	}
	if e := recover(); e != nil {
		a.queue.on.stopped = true
		a.contained(a.queue.on, true)
		a.proceed()
	}
}

// containSet is contain for an incomplete set of parts, while the table of sets is
// in use.
func (a *Analyzer) containSet(x *arrival) {
	if a.out.handing {
		return
	}
	if e := recover(); e != nil {
		a.contained(x, false)
	}
}

// containAll is contain for work on all conversations: all state is dropped.
func (a *Analyzer) containAll() {
	if a.out.handing {
		return
	}
	if e := recover(); e != nil {
		a.renew()
		nobody := netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
		var x arrival
		x.begin(&Datagram{Time: fromNanos(a.now), Src: nobody, Dst: nobody}, nil)
		a.find(&x)
		a.contained(&x, true)
	}
}

// contained restores the state after a panic and reports the panic.
func (a *Analyzer) contained(x *arrival, parts bool) {
	stack := stackSum()
	a.stats.Panics++
	x.protocol = a.current
	a.scratch.renew(a.protocols)
	a.copies.suspects.of = nil
	a.forget(x, parts)
	a.report(NewFinding(core.Panicked, Str(stack)), x)
	if len(x.Payload) > 0 {
		a.out.unknown(Unknown{Datagram: x.Datagram, Foreign: a.config.Foreign, protocols: a.protocols, Panicked: true})
	}
}

// forget drops the state of the conversation of a datagram. If the panic left the
// state inconsistent, all state is dropped.
func (a *Analyzer) forget(x *arrival, parts bool) {
	defer func() {
		if e := recover(); e != nil {
			a.renew()
		}
	}()
	t := a.tracker
	ends := &x.ends
	if i := t.flows.find(ends); i >= 0 {
		evicted := t.stats.RequestsEvicted
		t.flows.remove(i, true) // its requests are not unanswered
		t.stats.RequestsEvicted = evicted
	}
	for i := a.waiting.find(0, ends); i < a.waiting.n; i = a.waiting.find(i, ends) {
		a.waiting.take(i)
	}
	if parts {
		a.parts.Forget(func(k *reassembly.Key) bool {
			var key flowKey
			src, dst := netip.AddrPortFrom(netip.AddrFrom16(k.Src), k.SrcPort), netip.AddrPortFrom(netip.AddrFrom16(k.Dst), k.DstPort)
			from, to := endpoint.Of(src), endpoint.Of(dst)
			key.set(&from, &to)
			return key == ends.key
		})
	}
}

// renew replaces all state.
func (a *Analyzer) renew() {
	a.tracker.renew()
	a.stats.Outcomes[OutcomeForgotten] += a.stats.Requests - a.stats.Outcomes.Sum()
	*a.waiting = waiting{}
}

// renew replaces what a panic may have left broken, for all analyzers that share
// it.
func (b *scratch) renew(protocols []*Protocol) {
	*b = scratch{reader: core.Renewed(&b.reader)}
	b.awaits = b.asked.awaited
	for _, p := range protocols {
		b.decoders = append(b.decoders, p.New())
	}
}

// stackSum returns a hash of the stack of a panic: the functions and lines from the
// panic up to the analyzer, or to the record whose summary was requested. It is the
// same in every command.
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

// containSummary is deferred where the summary of a message is appended to dst. A
// panic costs the summary alone.
func (r *Record) containSummary(dst []byte, out *[]byte) {
	if r.stats == nil {
		return
	}
	if e := recover(); e != nil {
		r.Body = nil // nobody asks it again
		r.stats.Panics++
		r.stats.Findings[Failed]++
		r.Findings = append(r.Findings, NewFinding(core.Panicked, Str(stackSum())))
		*out = dst
	}
}

// unattended runs work that no datagram triggers.
func (a *Analyzer) unattended(work func()) {
	a.current = -1
	defer a.containAll()
	work()
}
