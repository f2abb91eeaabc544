package pipeline

import (
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/report"
)

// A Chooser chooses messages, unknown datagrams and findings.
type Chooser interface {
	Record(*dissect.Record) bool
	Unknown(*dissect.Unknown) bool
	Finding(*dissect.FlowFinding) bool
}

// figures are the counts of what was chosen. A nil figures counts nothing.
type figures struct {
	protocols                                      []*dissect.Protocol
	messages                                       []uint64
	ambiguous                                      map[dissect.Ambiguous]uint64
	malformed, unknown, complete, partial, replies uint64
	requests, repeated                             uint64
	findings                                       [4]uint64
	outcomes                                       dissect.Outcomes
	// pending are the frames of chosen requests whose outcome is not known, or that are
	// unanswered: true.
	pending map[uint64]bool
	// waiting are frames of requests that may be open at the end of the input, which ending
	// says has begun.
	waiting []uint64
	ending  bool
}

// maxPending bounds the pending requests of a worker; that of the analyzers is the same.
const maxPending = 128 << 10

func newFigures(protocols []*dissect.Protocol) *figures {
	return &figures{protocols: protocols, messages: make([]uint64, len(protocols)), ambiguous: map[dissect.Ambiguous]uint64{}, pending: map[uint64]bool{}}
}

func (c *figures) record(r *dissect.Record) {
	if c == nil {
		return
	}
	i := slices.Index(c.protocols, r.Protocol)
	c.messages[i]++
	if len(r.Alternatives) > 0 {
		k := dissect.Ambiguous{Protocol: i}
		for _, p := range r.Alternatives {
			k.Others |= 1 << slices.Index(c.protocols, p)
		}
		c.ambiguous[k]++
	}
	switch {
	case r.Type.Role == dissect.Reply:
		c.replies++
		if r.Ambiguous && r.RequestFrame > 0 {
			c.outcomes.Ambiguous++
		}
	case r.Type.Role == dissect.Request && r.Pair.Asks != 0:
		c.requests++
		if len(c.pending) >= maxPending {
			for frame := range c.pending { // any
				delete(c.pending, frame)
				break
			}
		}
		c.pending[r.Frame] = false
		if c.ending {
			c.waiting = append(c.waiting, r.Frame)
		}
	}
	if len(r.Frames) > 1 {
		if r.Split.Partial {
			c.partial++
		} else {
			c.complete++
		}
	}
	for i := range r.Findings {
		t := r.Findings[i].Type
		c.findings[t.Severity]++
		switch t {
		case dissect.Malformed:
			c.malformed++
		case dissect.Retransmitted:
			c.repeated++
		}
	}
}

func (c *figures) finding(f *dissect.FlowFinding) {
	if c != nil {
		c.findings[f.Type.Severity]++
	}
}

// exchange counts the outcome of a chosen request.
func (c *figures) exchange(x *dissect.Exchange) {
	if c == nil {
		return
	}
	unanswered, chosen := c.pending[x.Frame]
	if !chosen {
		return
	}
	delete(c.pending, x.Frame)
	count(&c.outcomes, x, unanswered)
	if x.Outcome == dissect.OutcomeUnanswered {
		c.pending[x.Frame] = true // a late reply may come
	}
}

// count counts the outcome of a request that may have been counted as unanswered.
func count(o *dissect.Outcomes, x *dissect.Exchange, unanswered bool) {
	switch x.Outcome {
	case dissect.OutcomeLate:
		if unanswered {
			o.Unanswered--
		}
		o.Late++
	case dissect.OutcomePartial:
		o.Partial++
	case dissect.OutcomeRefused:
		o.Refused++
	case dissect.OutcomeUnanswered:
		o.Unanswered++
	case dissect.OutcomeOneSided:
		o.OneSided++
	default:
		o.Answered++
	}
}

// soFar adds the outcomes that the pending chosen requests of an analyzer have now.
func (c *figures) soFar(a *dissect.Analyzer, o *dissect.Outcomes) {
	a.PendingExchanges(func(x *dissect.Exchange) {
		unanswered, chosen := c.pending[x.Frame]
		switch {
		case !chosen || unanswered && x.Replies == 0:
		case x.Replies == 0 && x.Outcome != dissect.OutcomeRefused:
			o.Open++
		default:
			count(o, x, unanswered)
		}
	})
}

// beginEnd notes which chosen requests of an analyzer wait for a reply at the end of an
// input. It reports afterwards which of them are unanswered: endEnd counts the others.
func (c *figures) beginEnd(a *dissect.Analyzer) {
	c.ending = true
	a.PendingExchanges(func(x *dissect.Exchange) {
		if x.Replies == 0 && x.Outcome != dissect.OutcomeRefused {
			c.waiting = append(c.waiting, x.Frame)
		}
	})
}

func (c *figures) endEnd() {
	if c == nil {
		return
	}
	for _, frame := range c.waiting {
		if unanswered, chosen := c.pending[frame]; chosen && !unanswered {
			c.outcomes.Open++
			delete(c.pending, frame)
		}
	}
	c.waiting, c.ending = c.waiting[:0], false
}

// end ends an input: the numbers of frames begin anew.
func (c *figures) end() {
	if c != nil {
		clear(c.pending)
	}
}

// restrict replaces the counts of everything in a summary by those of what was chosen.
// The analyzers do not report the outcome of requests that were repeated or evicted.
func (e *engine) restrict(s *report.Summary) {
	s.Chosen = true
	s.Messages, s.Ambiguous = make([]uint64, len(s.Protocols)), map[dissect.Ambiguous]uint64{}
	s.Unknown, s.GameTraffic, s.Malformed, s.Complete, s.Incomplete, s.Requests, s.Replies, s.Duplicates, s.ICMP, s.ICMPMatched = 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
	s.Outcomes, s.Findings, s.MostlyDuplicates, s.OneSided = dissect.Outcomes{}, [4]uint64{}, false, 0
	repeated := uint64(0)
	for _, w := range e.workers {
		c := w.figures
		for i, n := range c.messages {
			s.Messages[i] += n
		}
		for k, n := range c.ambiguous {
			s.Ambiguous[k] += n
		}
		for i, n := range c.findings {
			s.Findings[i] += n
		}
		s.Unknown += c.unknown
		s.Malformed += c.malformed
		s.Complete += c.complete
		s.Incomplete += c.partial
		s.Requests += c.requests
		s.Replies += c.replies
		s.Outcomes.Add(&c.outcomes)
		for i := range w.shards {
			c.soFar(w.shards[i].analyzer, &s.Outcomes)
		}
		repeated += c.repeated
	}
	o := &s.Outcomes
	rest := s.Requests - min(s.Requests, o.Answered+o.Late+o.Partial+o.Refused+o.Unanswered+o.OneSided+o.Open)
	if s.EvictedState.Requests == 0 {
		repeated = rest // some are repeated without a finding
	}
	o.Repeated = min(repeated, rest)
	o.Forgotten = rest - o.Repeated
	s.Unanswered = o.Unanswered
}
