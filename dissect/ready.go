package dissect

import "github.com/qdissect/qdissect/internal/core"

// A queue has what a call of the analyzer makes ready: deferred datagrams that are now
// decided, and then the datagram of the call.
type queue struct {
	own     arrival // the datagram of the call
	earlier []arrival
	n, next int      // of earlier
	behind  bool     // the datagram of the call comes after others
	on      *arrival // what is being worked on, nil if nothing is
}

// begin makes a datagram that of the call.
func (q *queue) begin(d *Datagram, packed *core.Packed) *arrival {
	q.n, q.next, q.behind = 0, 0, false
	x := &q.own
	*x = arrival{}
	x.begin(d, packed)
	return x
}

// add appends a datagram, which comes before that of the call.
func (q *queue) add(d *Datagram, e *ends, c class) {
	if q.n == len(q.earlier) {
		q.earlier = append(q.earlier, arrival{})
	}
	x := &q.earlier[q.n]
	q.n++
	q.behind = true
	*x = arrival{}
	x.begin(d, nil)
	x.ends, x.class = *e, c
}

// take returns the next datagram, nil if there is none.
func (q *queue) take() *arrival {
	if q.next < q.n {
		q.next++
		return &q.earlier[q.next-1]
	}
	q.n, q.next = 0, 0
	x := &q.own
	if x.stopped {
		return nil
	}
	x.stopped = true
	return x
}

// next returns the next message of the datagrams in the queue, which is in the reader, nil
// if there is none. What a message does to its conversation is done before the next datagram
// is looked at.
func (a *Analyzer) next() *arrival {
	for x := a.queue.take(); x != nil; x = a.queue.take() {
		a.queue.on = x
		if a.queue.behind {
			x.flow = a.tracker.flows.find(&x.ends) // it may have begun only now
		}
		switch {
		case x.protocol < 0:
			a.unknown(x)
		case a.join(x):
			return x
		}
	}
	a.queue.on = nil
	return nil
}
