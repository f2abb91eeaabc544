package pipeline

import (
	"sync"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

// A board holds what the analyzers of all shards tell each other, once a second and at the
// end of an input: conversations of one server lie in several shards.
type board struct {
	// Notices are written for one meeting while others still read those of the one before.
	notices [2][shards][]dissect.Notice
	meeting [shards]uint // of each worker

	mutex   sync.Mutex
	arrived int
	over    uint // meetings
	open    *sync.Cond
}

// wait waits until all workers have published their notices. They do so at the beginning of
// a batch, so that none of them waits for another one's output.
func (b *board) wait(workers int) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.open == nil {
		b.open = sync.NewCond(&b.mutex)
	}
	b.arrived++
	if b.arrived == workers {
		b.arrived = 0
		b.over++
		b.open.Broadcast()
		return
	}
	for over := b.over; over == b.over; {
		b.open.Wait()
	}
}

// share writes the notices of the worker's shards to the board, and gives them those of
// all shards.
func (w *worker) share() {
	at := &w.board.notices[w.board.meeting[w.number]%2]
	for i := range w.shards {
		list := &at[i*w.of+w.number]
		*list = w.shards[i].analyzer.Inner(core.Only{}).Notices((*list)[:0])
	}
	w.board.wait(w.of)
	w.board.meeting[w.number]++
	w.serveAll(func(a *dissect.Analyzer) {
		for k := range at {
			a.Inner(core.Only{}).Hear(at[k])
		}
		a.Inner(core.Only{}).Heard()
	})
}

// share lets the analyzers of all shards hear each other.
func (p *pool) share(m moment) error {
	if len(p.batch.items) > 0 {
		if err := p.handOver(); err != nil {
			return err
		}
	}
	m.sweep = true
	order := m.order() - 1
	p.beginSweep(order)
	p.batch.items = append(p.batch.items, item{order: order, kind: aShare})
	return p.full()
}
