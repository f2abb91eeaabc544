package main

import (
	"cmp"
	"fmt"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/reassembly"
)

// limitOptions are the flags that bound the state of a run; see docs/limits.md. Most
// users need none.
type limitOptions struct {
	memory byteSize
	parts  byteSize
	dissect.Limits
}

func (o *limitOptions) add(f *pflag.FlagSet) {
	d := dissect.DefaultLimits
	f.Var(&o.memory, "max-memory", "limit the memory to about `SIZE`, for example 32M (docs/limits.md)")
	f.IntVar(&o.Flows, "max-flows", 0, fmt.Sprintf("track at most this many conversations (default %d)", d.Flows))
	f.IntVar(&o.Requests, "max-requests", 0, fmt.Sprintf("track at most this many pending requests (default %d)", d.Requests))
	f.IntVar(&o.Peers, "max-peers", 0, fmt.Sprintf("track the challenges of at most this many clients (default %d)", d.Peers))
	f.IntVar(&o.Parts.Sets, "max-sets", 0, fmt.Sprintf("reassemble at most this many split messages at once, and as many IP packets (default %d)", reassembly.DefaultLimits.Sets))
	f.Var(&o.parts, "max-reassembly", "limit the parts of split messages to `SIZE`, and IP fragments to the same (default 16M)")
	f.DurationVar(&o.Window, "reply-window", 0, fmt.Sprintf("match a reply to a request at most this long before it (default %v)", d.Window))
	f.DurationVar(&o.Idle, "flow-idle", 0, fmt.Sprintf("forget a conversation after this time without traffic, at least --reply-window (default %v)", d.Idle))
	f.DurationVar(&o.Parts.Age, "part-age", 0, fmt.Sprintf("wait this long for the parts of a split message (default %v)", d.Parts.Age))
	for _, name := range []string{"max-flows", "max-requests", "max-peers", "max-sets", "max-reassembly", "reply-window", "flow-idle", "part-age"} {
		_ = f.MarkHidden(name) // keep the help short
	}
}

// The smallest limits allow one conversation per analyzer, and one split message of
// the usual size in each share.
const (
	leastCount  = 16
	leastMemory = 8 << 20
	leastParts  = 1 << 20
)

// small reports whether the memory has no room for the counts of a report.
func (o *limitOptions) small() bool {
	const least = 64 << 20
	return o.memory > 0 && o.memory < least
}

// apply sets the limits of a run.
func (o *limitOptions) apply(run *pipeline.Options) error {
	l, budget := dissect.DefaultLimits, reassembly.DefaultBudget
	if o.memory > 0 {
		if o.memory < leastMemory {
			return fmt.Errorf("--max-memory %s: must be at least %s", o.memory, byteSize(leastMemory))
		}
		// Full tables get half of the memory, in their usual proportions. The other
		// half is for buffers and for the garbage collector, which knows the limit.
		full := l.Bytes() + 2*budget
		share := func(n int) int { return max(leastCount, int(float64(n)*float64(o.memory)/2/float64(full))) }
		l.Flows, l.Requests, l.Peers, budget = share(l.Flows), share(l.Requests), share(l.Peers), max(leastParts, share(budget))
		debug.SetMemoryLimit(int64(o.memory))
	}
	if err := cmp.Or(
		set(&l.Flows, "max-flows", o.Flows, leastCount), set(&l.Requests, "max-requests", o.Requests, leastCount), set(&l.Peers, "max-peers", o.Peers, leastCount),
		set(&l.Parts.Sets, "max-sets", o.Parts.Sets, leastCount), set(&l.Window, "reply-window", o.Window, 0), set(&l.Idle, "flow-idle", o.Idle, 0), set(&l.Parts.Age, "part-age", o.Parts.Age, 0),
		set(&run.Limits.Fragments.Sets, "max-sets", o.Parts.Sets, leastCount),
	); err != nil {
		return err
	}
	if o.parts > 0 {
		if o.parts < leastParts {
			return fmt.Errorf("--max-reassembly %s: must be at least %s", o.parts, byteSize(leastParts))
		}
		budget = int(o.parts)
	}
	run.Analysis.Limits, run.Limits.Budget = l, budget
	return nil
}

// set overrides a limit if a flag gives a value. Numbers have a least value, times none.
func set[T int | time.Duration](limit *T, flag string, v, least T) error {
	switch {
	case least > 0 && (v < 0 || v > 0 && v < least || v > math.MaxInt32/4):
		return fmt.Errorf("--%s %v: must be %v to %d", flag, v, least, math.MaxInt32/4)
	case v < 0:
		return fmt.Errorf("--%s %v: must not be negative", flag, v)
	case v > 0:
		*limit = v
	}
	return nil
}

// A byteSize is a number of bytes, written as 65536, 64k, 32M or 1G.
type byteSize int64

const units = "kMG"

// String uses the largest unit that divides the number.
func (s byteSize) String() string {
	n, unit := int64(s), ""
	for i := 0; i < len(units) && n > 0 && n%1024 == 0; i++ {
		n, unit = n/1024, units[i:i+1]
	}
	return strconv.FormatInt(n, 10) + unit
}

// Set parses a size.
func (s *byteSize) Set(text string) error {
	t := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(text), "B"), "i")
	shift := 0
	if len(t) > 0 {
		if i := strings.IndexByte(strings.ToLower(units), t[len(t)-1]|0x20); i >= 0 {
			shift, t = 10*(i+1), t[:len(t)-1]
		}
	}
	n, err := strconv.ParseInt(t, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64>>shift || n<<shift > 1<<40 {
		return fmt.Errorf("%q is not a size such as 65536, 64k, 32M or 1G", text)
	}
	*s = byteSize(n << shift)
	return nil
}

// Type returns the placeholder for the help.
func (*byteSize) Type() string { return "SIZE" }

const (
	// gcPercent is the GOGC value of a run. Decoding allocates nothing, so the garbage
	// collector has little to do. Its garbage is mostly tables that were replaced by
	// larger ones. With the usual 100 % the process would grow to twice the size of
	// its state.
	gcPercent = 10
	// growPercent is that of a run that reads files, for growFor. While its tables grow, gcPercent means a collection
	// for every few megabytes: 400,000 packets take a tenth less time without these, and 6 MB more.
	growPercent = 60
	growFor     = 2 * time.Second
	// gcAfter delays all this: on a small file, two collections cost as much as
	// everything else.
	gcAfter = 20 * time.Millisecond
	// hugeRoom is how much of the heap of a run that reads files gets pages of 2 MB: what its tables need for some 400,000
	// packets. In a virtual machine, the first touch of a page of 4 KB costs up to 14 µs, and each look at one in no cache
	// more than one at a page of 2 MB. Such a run takes 5 to 25 % less time, and up to 12 MB more.
	hugeRoom = 56 << 20
	// The runtime itself keeps a tenth of the heap for later. A run that reads files
	// returns what is free to the system once it is mostFree bytes: mostly tables that
	// were replaced by larger ones. Looking every watchEvery, it costs at most one
	// collection more in that time.
	mostFree   = 1 << 20
	watchEvery = 500 * time.Millisecond
)

// readsFiles is set by a run that reads files, makesGarbage by one that reads many, each with tables of
// its own.
var readsFiles, makesGarbage atomic.Bool

// keepSmall sets the GOGC value of the run unless the user has set it.
func keepSmall(getenv func(string) string) {
	if getenv("GOGC") != "" {
		return
	}
	time.AfterFunc(gcAfter, func() {
		switch {
		case makesGarbage.Load():
			debug.SetGCPercent(200)
		case readsFiles.Load():
			if debug.SetMemoryLimit(-1) == math.MaxInt64 {
				preferHugePages(hugeRoom)
			}
			debug.SetGCPercent(growPercent)
			time.AfterFunc(growFor, func() { debug.SetGCPercent(gcPercent) })
			watchHeap()
		default:
			debug.SetGCPercent(gcPercent)
		}
	})
}

// watchHeap returns free memory to the system until the program ends.
func watchHeap() {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/free:bytes"}}
	for range time.Tick(watchEvery) {
		metrics.Read(heap)
		if heap[0].Value.Uint64() >= mostFree {
			debug.FreeOSMemory()
		}
	}
}
