package main

import (
	"fmt"
	"math"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/reassembly"
)

// limitOptions are the flags that bound what is remembered. docs/limits.md says
// what each of them is for; most people need none.
type limitOptions struct {
	memory   byteSize
	flows    int
	requests int
	peers    int
	sets     int
	parts    byteSize
	window   time.Duration
	idle     time.Duration
	partAge  time.Duration
}

func (o *limitOptions) add(f *pflag.FlagSet) {
	d := dissect.DefaultLimits
	f.Var(&o.memory, "max-memory", "keep what is remembered within about this `SIZE`, 32M for example (docs/limits.md)")
	f.IntVar(&o.flows, "max-flows", 0, fmt.Sprintf("remember this many conversations (default %d)", d.Flows))
	f.IntVar(&o.requests, "max-requests", 0, fmt.Sprintf("let this many requests wait for their replies (default %d)", d.Requests))
	f.IntVar(&o.peers, "max-peers", 0, fmt.Sprintf("remember the challenges of this many clients (default %d)", d.Peers))
	f.IntVar(&o.sets, "max-sets", 0, fmt.Sprintf("let this many split messages, and as many IP packets, wait for their parts (default %d)", reassembly.DefaultLimits.Sets))
	f.Var(&o.parts, "max-reassembly", "let the parts of split messages take this `SIZE`, and IP fragments as much (default 16M)")
	f.DurationVar(&o.window, "reply-window", 0, fmt.Sprintf("take a reply for the answer to a request this long after it (default %v)", d.Window))
	f.DurationVar(&o.idle, "flow-idle", 0, fmt.Sprintf("forget a conversation after this silence, at least that of --reply-window (default %v)", d.Idle))
	f.DurationVar(&o.partAge, "part-age", 0, fmt.Sprintf("wait this long for the parts of a split message (default %v)", d.Parts.Age))
	for _, name := range []string{"max-flows", "max-requests", "max-peers", "max-sets", "max-reassembly", "reply-window", "flow-idle", "part-age"} {
		_ = f.MarkHidden(name) // the help is long enough
	}
}

// The least that there must be: a conversation for each of the analyzers, and
// room for a split message of the usual size in each of their shares.
const (
	leastCount  = 16
	leastMemory = 8 << 20
	leastParts  = 1 << 20
)

// apply sets the limits of a run.
func (o *limitOptions) apply(run *pipeline.Options) error {
	for _, n := range []struct {
		flag  string
		value int
	}{{"max-flows", o.flows}, {"max-requests", o.requests}, {"max-peers", o.peers}, {"max-sets", o.sets}} {
		if n.value < 0 || n.value > 0 && n.value < leastCount || n.value > math.MaxInt32/4 {
			return fmt.Errorf("--%s %d: at least %d, at most %d", n.flag, n.value, leastCount, math.MaxInt32/4)
		}
	}
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{{"reply-window", o.window}, {"flow-idle", o.idle}, {"part-age", o.partAge}} {
		if d.value < 0 {
			return fmt.Errorf("--%s %v: there is no time before now", d.flag, d.value)
		}
	}
	l := dissect.DefaultLimits
	budget := reassembly.DefaultBudget
	if o.memory > 0 {
		if o.memory < leastMemory {
			return fmt.Errorf("--max-memory %s: at least %s", o.memory, byteSize(leastMemory))
		}
		// Half of it for the tables when they are full, in their usual
		// proportions; the other half for what is being read and written,
		// and for the garbage collector, which is told of it.
		full := l.Bytes() + 2*budget
		share := func(n int) int { return max(leastCount, int(float64(n)*float64(o.memory)/2/float64(full))) }
		l.Flows, l.Requests, l.Peers, budget = share(l.Flows), share(l.Requests), share(l.Peers), max(leastParts, share(budget))
		debug.SetMemoryLimit(int64(o.memory))
	}
	set(&l.Flows, o.flows)
	set(&l.Requests, o.requests)
	set(&l.Peers, o.peers)
	set(&l.Parts.Sets, o.sets)
	set(&l.Window, o.window)
	set(&l.Idle, o.idle)
	set(&l.Parts.Age, o.partAge)
	set(&run.Fragments.Sets, o.sets)
	if o.parts > 0 {
		if o.parts < leastParts {
			return fmt.Errorf("--max-reassembly %s: at least %s", o.parts, byteSize(leastParts))
		}
		budget = int(o.parts)
	}
	run.Analysis.Limits, run.Budget = l, budget
	return nil
}

// set sets a limit that was asked for.
func set[T int | time.Duration](limit *T, v T) {
	if v > 0 {
		*limit = v
	}
}

// byteSize is a number of bytes as people write it: 65536, 64k, 32M, 1G.
type byteSize int64

const units = "kMG"

// String writes it with the largest unit that divides it.
func (s byteSize) String() string {
	n, unit := int64(s), ""
	for i := 0; i < len(units) && n > 0 && n%1024 == 0; i++ {
		n, unit = n/1024, units[i:i+1]
	}
	return strconv.FormatInt(n, 10) + unit
}

// Set reads it.
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
		return fmt.Errorf("%q is no size: 65536, 64k, 32M or 1G for example", text)
	}
	*s = byteSize(n << shift)
	return nil
}

// Type names it in the help.
func (*byteSize) Type() string { return "SIZE" }
