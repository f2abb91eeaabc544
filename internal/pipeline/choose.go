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

// figures are the counts of what was chosen.
type figures struct {
	protocols                                      []*dissect.Protocol
	messages                                       []uint64
	ambiguous                                      map[dissect.Ambiguous]uint64
	malformed, unknown, complete, partial, replies uint64
	requests, ambiguousReplies                     uint64
	findings                                       [4]uint64
	outcomes                                       dissect.Outcomes
}

func newFigures(protocols []*dissect.Protocol) *figures {
	return &figures{protocols: protocols, messages: make([]uint64, len(protocols)), ambiguous: map[dissect.Ambiguous]uint64{}}
}

// Record counts a message.
func (c *figures) Record(r *dissect.Record) {
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
			c.ambiguousReplies++
		}
	case r.Type.Role == dissect.Request && r.Pair.Asks != 0:
		c.requests++
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
		if t == dissect.Malformed {
			c.malformed++
		}
	}
}

// Unknown counts a datagram that no protocol recognises.
func (c *figures) Unknown(*dissect.Unknown) { c.unknown++ }

// Finding counts a finding.
func (c *figures) Finding(f *dissect.FlowFinding) { c.findings[f.Type.Severity]++ }

// Exchange counts the outcomes of chosen requests.
func (c *figures) Exchange(x *dissect.Exchange) { x.AddMarked(&c.outcomes) }

// restrict replaces the counts of everything in a summary by those of what was chosen.
func restrict(s *report.Summary, list []*figures, p *pool) {
	s.Chosen = true
	s.Messages, s.Ambiguous = make([]uint64, len(s.Protocols)), map[dissect.Ambiguous]uint64{}
	s.Unknown, s.GameTraffic, s.Malformed, s.Complete, s.Incomplete, s.Requests, s.Replies, s.Duplicates, s.ICMP, s.ICMPMatched = 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
	s.AmbiguousReplies, s.Outcomes, s.Findings, s.MostlyDuplicates, s.OneSided = 0, dissect.Outcomes{}, [4]uint64{}, false, 0
	for _, c := range list {
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
		s.AmbiguousReplies += c.ambiguousReplies
	}
	for a := range p.analyzers {
		a.Pending(func(x *dissect.Exchange) { x.AddMarked(&s.Outcomes) })
	}
	s.Unanswered = s.Outcomes[dissect.OutcomeUnanswered]
}
