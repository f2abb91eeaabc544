package dissect

import "testing"

// TestConclude: what becomes of a request that ends, without the end of the input
// and with it.
func TestConclude(t *testing.T) {
	for name, c := range map[string]struct {
		q      ask
		copies uint32 // in its conversation
		end    int64
		want   Outcomes
		told   int
	}{
		"unanswered":                  {ask{}, 0, 0, Outcomes{OutcomeUnanswered: 1}, 1},
		"at the end":                  {ask{}, 0, 1, Outcomes{OutcomeOpen: 1}, 0},
		"repeated":                    {ask{repeated: true}, 0, 0, Outcomes{OutcomeRepeated: 1}, 0},
		"covered":                     {ask{covered: true}, 9, 0, Outcomes{OutcomeRepeated: 1}, 0},
		"in doubt":                    {ask{doubt: true}, 1, 0, Outcomes{OutcomeRepeated: 1}, 0},
		"in doubt, many copies":       {ask{doubt: true}, 2, 0, Outcomes{OutcomeUnanswered: 1}, 1},
		"copies":                      {ask{}, 1, 0, Outcomes{OutcomeUnanswered: 1}, 1},
		"late":                        {ask{late: true}, 0, 0, Outcomes{OutcomeUnanswered: 1}, 0},
		"refused":                     {ask{refused: true}, 0, 0, Outcomes{OutcomeRefused: 1}, 0},
		"answered":                    {ask{replies: 1}, 0, 0, Outcomes{OutcomeAnswered: 1}, 0},
		"answered in part":            {ask{replies: 1, lacks: true}, 0, 0, Outcomes{OutcomePartial: 1}, 0},
		"answered late":               {ask{replies: 1, late: true, lacks: true}, 0, 0, Outcomes{OutcomeLate: 1}, 0},
		"a message that wants no one": {ask{optional: true, replies: 1}, 0, 0, Outcomes{}, 0},
	} {
		tr, _ := tracked(c.q)
		for _, p := range tr.protocols {
			p.Catalog, p.Pairing.Unanswered = NewCatalog("one"), &FindingType{}
			p.Catalog.Message(MessageType{})
		}
		tr.flows.own(0).copies, tr.end = c.copies, c.end
		tr.conclude(&tr.requests.list[0], false)
		if tr.stats.Outcomes != c.want || tr.told() != c.told {
			t.Errorf("%s: %+v, told %d times", name, tr.stats.Outcomes, tr.told())
		}
	}
}

// TestTimeOver: a request ends with its window if a reply came or none can, else it
// is kept for a late one; while parts of a reply come it waits on.
func TestTimeOver(t *testing.T) {
	for name, c := range map[string]struct {
		q          ask
		live, late int
		told       int
	}{
		"waits":                   {ask{}, 1, 1, 1},
		"answered":                {ask{replies: 1}, 0, 0, 0},
		"parts came":              {ask{arriving: 1}, 1, 0, 0},
		"parts came, and a reply": {ask{arriving: 1, replies: 1}, 0, 0, 0},
		"lost":                    {ask{spent: true, covered: true}, 0, 0, 0},
		"refused":                 {ask{refused: true}, 0, 0, 0},
		"wants no reply":          {ask{optional: true}, 1, 1, 0},
		"repeated":                {ask{repeated: true}, 1, 1, 0},
		"covered":                 {ask{covered: true}, 0, 0, 0},
		"in doubt":                {ask{doubt: true}, 1, 1, 0},
	} {
		tr, _ := tracked(c.q)
		for _, p := range tr.protocols {
			p.Catalog, p.Pairing.Unanswered = NewCatalog("one"), &FindingType{}
			p.Catalog.Message(MessageType{})
		}
		tr.requests.waiting.link(tr.requests.list, 0)
		tr.requests.live = 1
		window := int64(tr.config.Limits.Window)
		if tr.advance(window); tr.requests.live != 1 || tr.requests.late.n != 0 {
			t.Errorf("%s: over at the end of the window", name)
		}
		if tr.advance(window + 1); tr.requests.live != c.live || tr.requests.late.n != c.late || tr.told() != c.told {
			t.Errorf("%s: %d wait, %d of them late, %d told", name, tr.requests.live, tr.requests.late.n, tr.told())
		}
		if c.q.arriving > 0 && c.live > 0 {
			if tr.advance(2*window + 1); tr.requests.late.n != 0 {
				t.Errorf("%s: late within a second window", name)
			}
			if tr.advance(2*window + 2); tr.requests.late.n != 1 || tr.told() != 1 {
				t.Errorf("%s: not late after a second window", name)
			}
		}
	}
}
