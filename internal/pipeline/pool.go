package pipeline

import (
	"cmp"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/report"
)

// shards is the number of analyzers. It does not depend on the number of workers, because
// the limits of each analyzer, and so the output, depend on it. More of them need more of the processor's
// caches: with 16, a packet took a quarter more misses beyond the second level than with 4.
const shards = 4

// A pool is the workers of a run. With one worker, the caller's goroutine does all work, a batch at a time.
type pool struct {
	workers []*worker
	sinks   []sink
	out     io.Writer
	most    uint64 // messages, 0 for no limit
	board   board
	shared  time.Time // when the analyzers last heard each other
	crowd   crowd
	batch   *batch // being filled
	items   int    // the limits of a batch
	bytes   int

	// With more than one worker:
	spare   chan *batch
	done    chan *batch
	merged  chan error
	running sync.WaitGroup
}

// newPool returns a pool of n workers that hand their messages to the sinks.
func newPool(o *Options, sinks []sink, n int) (*pool, error) {
	p := &pool{sinks: sinks, out: o.Out, most: o.Count, batch: new(batch), items: aloneItems, bytes: aloneBytes}
	if o.atOnce() {
		p.items = 1
	}
	for i := range n {
		p.workers = append(p.workers, newWorker(o, &p.board, i, n))
	}
	for i := range shards {
		if err := p.workers[i%n].addShard(o, sinks); err != nil {
			return nil, err
		}
	}
	if n > 1 {
		p.start()
	}
	return p, nil
}

// A moment is the position of work in the output, and its time.
type moment struct {
	frame uint64
	sweep bool  // before the frame
	now   int64 // in ns since 1970
}

func (m *moment) time() time.Time { return time.Unix(m.now/1e9, m.now%1e9).UTC() }

// order returns the position of findings in the output: before a frame in a sweep, or
// with the frame. What the analyzers hear comes before a sweep.
func (m *moment) order() uint64 {
	if m.sweep {
		return 4*m.frame + 1
	}
	return 4*m.frame + 2
}

// block is the number of bytes of output that are buffered before they are written.
const block = 128 << 10

// write writes the output that a reporter has buffered.
func (p *pool) write(r report.Reporter) error {
	b := r.Bytes()
	if len(b) == 0 {
		return nil
	}
	_, err := p.out.Write(b)
	r.Reset()
	return err
}

// give hands the next item, with what it points to, to the worker of its shard.
func (p *pool) give(m *moment) error {
	b := p.batch
	n := len(b.items)
	b.items = b.items[:n+1]
	it := &b.items[n]
	it.order = m.order()
	it.d.Payload = b.keep(it.d.Payload)
	if it.kind != aDatagram || len(it.d.Frames)+len(it.d.Findings) > 0 {
		b.keepRest(it)
	}
	if m.sweep {
		return nil // a sweep is not divided
	}
	err := p.full()
	if w := p.workers[0]; err == nil && p.most > 0 && w.messages >= p.most {
		if err = p.write(w.out.reporter); err == nil {
			err = errEnough
		}
	}
	return err
}

// beginSweep begins work whose output is sorted, at a position in the output. It ends with
// [pool.endSweep].
func (p *pool) beginSweep(order uint64) {
	p.batch.items = append(p.batch.items, item{order: order, kind: aMark})
}

// endSweep lets the shards report what has waited too long, and sorts all output since [pool.beginSweep].
func (p *pool) endSweep(order uint64, s sweep) error {
	b := p.batch
	b.sweeps = append(b.sweeps, s)
	b.items = append(b.items, item{order: order, kind: aSweep, sweep: &b.sweeps[len(b.sweeps)-1]})
	return p.full()
}

// settle writes all output so far. Then the workers are idle.
func (p *pool) settle() error {
	err := error(nil)
	if p.spare != nil {
		p.batch.last = true
		p.pass()
		err = <-p.merged // that all output has been written; there is only one answer
	} else if err = p.work(); err == nil {
		err = p.write(p.workers[0].out.reporter)
	}
	if err != nil {
		return err
	}
	for _, s := range p.sinks {
		if s.settled != nil {
			s.settled()
		}
	}
	return nil
}

// writePending writes the exchanges of the requests that wait, after a run that ended before its input. It has one worker.
func (p *pool) writePending() error {
	w := p.workers[0]
	w.out.beginSweep()
	w.serveAll(func(a *dissect.Analyzer) { a.Inner(core.Only{}).Pending(exchangeWriter{w.out}.Exchange) })
	w.out.endSweep()
	return cmp.Or(w.out.err, p.write(w.out.reporter))
}

// shards yields the shards of all workers. Like those of the other methods below, which
// look into shards, the workers must be idle.
func (p *pool) shards(yield func(*shard) bool) {
	for _, w := range p.workers {
		for i := range w.shards {
			if !yield(&w.shards[i]) {
				return
			}
		}
	}
}

// analyzers yields the analyzers of all shards.
func (p *pool) analyzers(yield func(*dissect.Analyzer) bool) {
	for s := range p.shards {
		if !yield(s.analyzer) {
			return
		}
	}
}

// mostlyDuplicates reports whether most datagrams were captured more than once.
func (p *pool) mostlyDuplicates() bool {
	sum := p.copies()
	return sum.Duplicated()
}

// copies returns the numbers of duplicates, messages and parts.
func (p *pool) copies() (sum dissect.Stats) {
	for a := range p.analyzers {
		c := a.Stats()
		sum.Duplicates += c.Duplicates
		sum.Messages += c.Messages
		sum.Parts += c.Parts
	}
	return sum
}

// evictions returns the evictions of all shards per second, for the seconds that all
// shards still remember.
func (p *pool) evictions() []core.Evictions {
	sums := make(map[int64]*core.Evictions)
	from := int64(-1 << 63)
	for a := range p.analyzers {
		seconds, since := a.Inner(core.Only{}).Evictions()
		from = max(from, since)
		for k := range seconds {
			s := sums[seconds[k].Second]
			if s == nil {
				s = &core.Evictions{Second: seconds[k].Second}
				sums[s.Second] = s
			}
			s.Add(&seconds[k])
		}
	}
	var list []core.Evictions
	for second, s := range sums {
		if second >= from {
			list = append(list, *s)
		}
	}
	slices.SortFunc(list, func(a, b core.Evictions) int { return cmp.Compare(a.Second, b.Second) })
	return list
}

// summarize adds what the workers count to a summary. enough says that the run was ended
// while requests were waiting.
func (p *pool) summarize(s *report.Summary, enough bool) {
	s.Messages = make([]uint64, len(s.Protocols))
	s.Ambiguous = make(map[dissect.Ambiguous]uint64)
	for a := range p.analyzers {
		c := a.Stats()
		addStats(s, &c)
		s.Panics += c.Panics
		s.EvictedState.Add(&core.Evictions{Flows: c.FlowsEvicted, Requests: c.RequestsEvicted, Clients: c.PeersEvicted})
		s.Unanswered += c.Unanswered
		s.ICMPMatched += c.ICMPMatched
		if enough {
			a.Inner(core.Only{}).Pending(func(x *dissect.Exchange) { addOutcome(&s.Outcomes, x.Outcome, x.Requests, x.Repeated) })
		}
		s.Duplicates += c.Duplicates
	}
	for _, w := range p.workers {
		for k, n := range w.losses {
			s.Findings[k] += n
		}
	}
	s.MostlyDuplicates = p.mostlyDuplicates()
	s.EvictedSeconds = p.evictions()
}

// addStats adds counts of messages, exchanges and findings to a summary.
func addStats(s *report.Summary, c *dissect.Stats) {
	s.Unknown += c.Unknown
	s.Malformed += c.Malformed
	s.Complete += c.Complete
	s.Incomplete += c.Incomplete
	s.Requests += c.Requests
	s.Replies += c.Replies
	s.Outcomes.Add(&c.Outcomes)
	s.AmbiguousReplies += c.AmbiguousReplies
	for k, n := range c.ByProtocol {
		s.Messages[k] += n
	}
	for k, n := range c.Ambiguous {
		s.Ambiguous[k] += n
	}
	for k, n := range c.Findings {
		s.Findings[k] += n
	}
}

// restrict replaces the counts of everything in a summary by those of what was chosen.
func restrict(s *report.Summary, list []*selected, p *pool) {
	s.Chosen = true
	clear(s.Messages)
	clear(s.Ambiguous)
	s.Unknown, s.GameTraffic, s.Malformed, s.Complete, s.Incomplete, s.Requests, s.Replies, s.Duplicates, s.ICMP, s.ICMPMatched = 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
	s.AmbiguousReplies, s.Outcomes, s.Findings, s.MostlyDuplicates, s.OneSided = 0, dissect.Outcomes{}, [4]uint64{}, false, 0
	for _, c := range list {
		addStats(s, &c.Stats)
	}
	for a := range p.analyzers {
		a.Inner(core.Only{}).Pending(func(x *dissect.Exchange) { addOutcome(&s.Outcomes, x.Outcome, x.Marked, x.MarkedRepeated) })
	}
	s.Unanswered = s.Outcomes[dissect.OutcomeUnanswered]
}

// atOnce is the number of requests, or sixteen times the number of sets of parts, that a
// shard may report at once, which bounds the output in memory after a flood.
const atOnce = 512

// flushInSteps reports incomplete sets and unanswered requests in steps, as long as there
// are many.
func (p *pool) flushInSteps(m moment) error {
	for {
		frame, _, err := p.waiting()
		if err != nil || frame == 0 {
			return err
		}
		if err := p.step(m, sweep{upTo: frame}); err != nil {
			return err
		}
	}
}

// expireInSteps lets time pass up to that of m in steps, as long as much has waited too long.
func (p *pool) expireInSteps(m moment) error {
	var last time.Time
	for {
		_, due, err := p.waiting()
		if err != nil || !due.After(last) || !due.Before(m.time()) { // sets without a time do not expire
			return err
		}
		last = due
		if err := p.step(m, sweep{now: due}); err != nil {
			return err
		}
	}
}

// waiting lets the workers finish and returns the frame up to which all shards may report
// what waits, and the time up to which they may let it expire; 0 if they may at once.
func (p *pool) waiting() (frame uint64, due time.Time, err error) {
	if err := p.settle(); err != nil { // the workers are idle then
		return 0, due, err
	}
	for a := range p.analyzers {
		f, d, more := a.Inner(core.Only{}).Waiting(atOnce)
		if !more {
			continue
		}
		if frame == 0 || f < frame {
			frame = f
		}
		if due.IsZero() || d.Before(due) {
			due = d
		}
	}
	return frame, due, nil
}

// step does a part of a sweep.
func (p *pool) step(m moment, s sweep) error {
	m.sweep = true
	order := m.order()
	p.beginSweep(order)
	err := p.endSweep(order, s)
	if err == nil {
		err = p.handOver() // each step is a batch of its own, to keep the output in order
	}
	return err
}

// A crowd tells when so much may have waited too long since the last sweep that it is
// reported in steps: when frames came much closer to each other than they do now, such as
// before the end of a flood.
type crowd struct {
	times [32]int64 // of the last sweeps: up to 8192 frames, half a step of all shards
	n     int
	least int64 // the shortest time that so many sweeps took
	at    int64 // when that was
}

// crowdLasts is for how long a crowd may wait: requests some seconds, sets of parts
// half a minute.
const crowdLasts = int64(2 * time.Minute)

// passes notes a sweep and reports whether the time since the one before may be too long
// for what waits.
func (c *crowd) passes(at time.Time) bool {
	now := at.UnixNano()
	last := c.times[(c.n+len(c.times)-1)%len(c.times)]
	if now < last { // frames out of order, or another file
		if last-now > crowdLasts {
			*c = crowd{}
		}
		return false
	}
	span := now - c.times[c.n%len(c.times)]
	c.times[c.n%len(c.times)] = now
	c.n++
	many := c.at != 0 && now-last > c.least
	if now-c.at >= crowdLasts || span < c.least {
		c.least, c.at = span, now
	}
	return many
}
