package pipeline

import (
	"sync"

	"github.com/qdissect/qdissect/dissect"
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

// publish writes the notices of the worker's shards to the board.
func (w *worker) publish() {
	at := &w.board.notices[w.board.meeting[w.number]%2]
	for i := range w.shards {
		list := &at[i*w.of+w.number]
		*list = w.shards[i].analyzer.Notices((*list)[:0])
	}
}

// hear gives the notices of all shards to those of the worker.
func (w *worker) hear() {
	at := &w.board.notices[w.board.meeting[w.number]%2]
	w.board.meeting[w.number]++
	for i := range w.shards {
		w.serve(uint8(i*w.of + w.number))
		for k := range at {
			w.served.analyzer.Hear(at[k])
		}
		w.served.analyzer.Heard()
	}
}

// share lets the analyzers of all shards hear each other.
func (e *engine) share() error {
	order := orderOf(e.frameNo, true) - 1
	if e.batch == nil {
		w := e.workers[0]
		w.order = order
		w.beginSweep()
		w.publish()
		w.hear()
		w.endSweep()
		return nil
	}
	var err error
	if len(e.batch.items) > 0 {
		err = e.handOver()
	}
	e.batch.items = append(e.batch.items, work{order: order, mark: true}, work{order: order, share: true})
	return err
}
