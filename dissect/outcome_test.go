package dissect

import "testing"

// TestConclude: what becomes of a request that ends, without the end of the input
// and with it.
func TestConclude(t *testing.T) {
	for name, c := range map[string]struct {
		q      request
		copies uint32 // in its conversation
		end    int64
		want   Outcomes
		told   int
	}{
		"unanswered":                  {request{}, 0, 0, Outcomes{OutcomeUnanswered: 1}, 1},
		"at the end":                  {request{}, 0, 1, Outcomes{OutcomeOpen: 1}, 0},
		"repeated":                    {request{repeated: true}, 0, 0, Outcomes{OutcomeRepeated: 1}, 0},
		"covered":                     {request{covered: true}, 9, 0, Outcomes{OutcomeRepeated: 1}, 0},
		"in doubt":                    {request{doubt: true}, 1, 0, Outcomes{OutcomeRepeated: 1}, 0},
		"in doubt, many copies":       {request{doubt: true}, 2, 0, Outcomes{OutcomeUnanswered: 1}, 1},
		"copies":                      {request{}, 1, 0, Outcomes{OutcomeUnanswered: 1}, 1},
		"late":                        {request{late: true}, 0, 0, Outcomes{OutcomeUnanswered: 1}, 0},
		"refused":                     {request{refused: true}, 0, 0, Outcomes{OutcomeRefused: 1}, 0},
		"answered":                    {request{replies: 1}, 0, 0, Outcomes{OutcomeAnswered: 1}, 0},
		"answered in part":            {request{replies: 1, answer: 1}, 0, 0, Outcomes{OutcomePartial: 1}, 0},
		"answered late":               {request{replies: 1, late: true, answer: 1}, 0, 0, Outcomes{OutcomeLate: 1}, 0},
		"a message that wants no one": {request{optional: true, replies: 1}, 0, 0, Outcomes{}, 0},
	} {
		tr, _ := tracked(c.q)
		told := 0
		tr.replies.entries = []answer{{}, {partial: true}}
		tr.finding = func(*FlowFinding) { told++ }
		for _, p := range tr.protocols {
			p.Messages, p.Pairing.Unanswered = []*MessageType{{}}, &FindingType{}
		}
		tr.flows.ownExtra(&tr.flows.flows[0]).copies, tr.end = c.copies, c.end
		tr.conclude(&tr.requests[0], false)
		if tr.outcomes != c.want || told != c.told {
			t.Errorf("%s: %+v, told %d times", name, tr.outcomes, told)
		}
	}
}

// TestTimeOver: a request ends with its window if a reply came or none can, else it
// is kept for a late one; while parts of a reply come it waits on.
func TestTimeOver(t *testing.T) {
	for name, c := range map[string]struct {
		q          request
		live, late int
		told       int
	}{
		"waits":                   {request{}, 1, 1, 1},
		"answered":                {request{replies: 1}, 0, 0, 0},
		"parts came":              {request{arriving: 1}, 1, 0, 0},
		"parts came, and a reply": {request{arriving: 1, replies: 1}, 0, 0, 0},
		"lost":                    {request{spent: true, covered: true}, 0, 0, 0},
		"refused":                 {request{refused: true}, 0, 0, 0},
		"wants no reply":          {request{optional: true}, 1, 1, 0},
		"repeated":                {request{repeated: true}, 1, 1, 0},
		"covered":                 {request{covered: true}, 0, 0, 0},
		"in doubt":                {request{doubt: true}, 1, 1, 0},
	} {
		tr, _ := tracked(c.q)
		told := 0
		tr.replies.entries = []answer{{}, {partial: true}}
		tr.finding = func(*FlowFinding) { told++ }
		for _, p := range tr.protocols {
			p.Messages, p.Pairing.Unanswered = []*MessageType{{}}, &FindingType{}
		}
		tr.waiting.link(tr.requests, 0)
		tr.live = 1
		window := int64(tr.limits.Window)
		if tr.advance(window); tr.live != 1 || tr.late.n != 0 {
			t.Errorf("%s: over at the end of the window", name)
		}
		if tr.advance(window + 1); tr.live != c.live || tr.late.n != c.late || told != c.told {
			t.Errorf("%s: %d wait, %d of them late, %d told", name, tr.live, tr.late.n, told)
		}
		if c.q.arriving > 0 && c.live > 0 {
			if tr.advance(2*window + 1); tr.late.n != 0 {
				t.Errorf("%s: late within a second window", name)
			}
			if tr.advance(2*window + 2); tr.late.n != 1 || told != 1 {
				t.Errorf("%s: not late after a second window", name)
			}
		}
	}
}
