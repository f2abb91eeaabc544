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
	o := &c.outcomes
	delete(c.pending, x.Frame)
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
		c.pending[x.Frame] = true // a late reply may come
	case dissect.OutcomeOneSided:
		o.OneSided++
	default:
		o.Answered++
	}
}

// end ends an input: the numbers of frames begin anew.
func (c *figures) end() {
	if c != nil {
		clear(c.pending)
	}
}

// restrict replaces the counts of everything in a summary by those of what was chosen.
// The analyzers do not report the outcome of requests that were repeated or are open.
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
		repeated += c.repeated
	}
	o := &s.Outcomes
	rest := s.Requests - min(s.Requests, o.Answered+o.Late+o.Partial+o.Refused+o.Unanswered+o.OneSided)
	o.Repeated = min(repeated, rest)
	o.Open = rest - o.Repeated
	s.Unanswered = o.Unanswered
}
