package dissect

import (
	"net/netip"
	"testing"
)

// tracked returns a tracker with these requests in one flow, the oldest first.
// Protocols 0 and 1 are of one family, 2 of another, 3 and 4 of none.
func tracked(requests ...request) (*tracker, *arrival) {
	l := DefaultLimits
	var protocols []*Protocol
	for _, family := range []string{"one", "one", "two", "", ""} {
		protocols = append(protocols, &Protocol{Family: family})
	}
	t := newTracker(protocols, l, nil, nil)
	var x arrival
	x.begin(&Datagram{Src: netip.MustParseAddrPort("198.51.100.1:27015"), Dst: netip.MustParseAddrPort("192.0.2.1:40000")}) // a reply
	t.flows.endsOf(&x.ends, &x.Src, &x.Dst)
	x.flow, x.protocol = t.flows.add(&x.ends, 0), 0
	for i, q := range requests {
		q.flow, q.below = x.flow, t.flows.flows[x.flow].requests
		q.up = q.up == x.ends.up // true in a test means: from the server
		t.requests = append(t.requests, q)
		t.flows.flows[x.flow].requests = int32(i)
	}
	return t, &x
}

func TestKin(t *testing.T) {
	tr, _ := tracked()
	for _, c := range []struct {
		a, b int8
		want bool
	}{{0, 0, true}, {0, 1, true}, {0, 2, false}, {0, 3, false}, {3, 0, false}, {3, 3, true}, {3, 4, false}} {
		if got := tr.related(c.a, c.b); got != c.want {
			t.Errorf("%d and %d: %v", c.a, c.b, got)
		}
	}
}

// TestAwaits: which requests wait for a reply of protocol 0 with a topic, and
// what they could be of as well.
func TestAwaits(t *testing.T) {
	for name, c := range map[string]struct {
		q      request
		topics Topic
		want   bool
		also   uint64
	}{
		"one that does":         {request{topic: 1, rare: 1}, 0, true, 6},
		"of the topic":          {request{topic: 3, rare: 1}, 1, true, 6},
		"of another topic":      {request{topic: 2, rare: 1}, 1, false, 6},
		"of no topic":           {request{topic: 0, rare: 1}, 1, false, 6},
		"of the family":         {request{topic: 1, rare: 1, protocol: 1}, 1, true, 0},
		"of another family":     {request{topic: 1, rare: 1, protocol: 2}, 1, false, 0},
		"late":                  {request{topic: 1, rare: 1, late: true}, 1, false, 6},
		"from the other end":    {request{topic: 1, rare: 1, up: true}, 1, false, 0},
		"answered a moment ago": {request{topic: 1, rare: 1, replies: 1}, 1, true, 6},
	} {
		tr, d := tracked(c.q)
		tr.rares.entries = []rare{{}, {also: 6}}
		if got := tr.awaits(0, d.ends.up, 0, c.topics, false); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if got := tr.alsoAwaits(0, d.ends.up, 0); got != c.also {
			t.Errorf("%s: also %d", name, got)
		}
	}
	tr, d := tracked()
	if tr.awaits(0, d.ends.up, 0, 0, false) || tr.alsoAwaits(0, d.ends.up, 0) != 0 {
		t.Error("something waits where nothing was asked")
	}
}

func TestSeveral(t *testing.T) {
	for name, c := range map[string]struct {
		second request
		want   bool
	}{
		"two": {request{}, true}, "answered": {request{replies: 1}, false}, "late": {request{late: true}, false}, "from the other end": {request{up: true}, false},
	} {
		tr, d := tracked(request{}, c.second)
		if got := tr.several(0, !d.ends.up); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if tr, d := tracked(request{}); tr.several(0, !d.ends.up) {
		t.Error("one is several")
	}
}

// TestClaims: a part of the set that began in frame 7 claims the oldest request that may
// be its own, and lets those wait that may be.
func TestClaims(t *testing.T) {
	for name, c := range map[string]struct {
		requests []request
		topics   Topic
		claims   []uint32
		arriving []uint16
	}{
		"the oldest":                {[]request{{}, {}}, 0, []uint32{7, 0}, []uint16{3, 3}},
		"its own already":           {[]request{{}, {claim: 7}}, 0, []uint32{0, 7}, []uint16{0, 3}},
		"one of another set":        {[]request{{claim: 8}, {}}, 0, []uint32{8, 7}, []uint16{3, 3}},
		"answered":                  {[]request{{replies: 1}, {}}, 0, []uint32{0, 7}, []uint16{0, 3}},
		"late":                      {[]request{{late: true}, {}}, 0, []uint32{0, 7}, []uint16{0, 3}},
		"from the other end":        {[]request{{up: true}, {}}, 0, []uint32{0, 7}, []uint16{0, 3}},
		"of the family":             {[]request{{protocol: 1}, {}}, 0, []uint32{7, 0}, []uint16{3, 3}},
		"of another family":         {[]request{{protocol: 2}, {}}, 0, []uint32{0, 7}, []uint16{0, 3}},
		"of the topic":              {[]request{{topic: 3}, {topic: 1}}, 1, []uint32{7, 0}, []uint16{3, 3}},
		"of another topic":          {[]request{{topic: 2}, {topic: 1}}, 1, []uint32{0, 7}, []uint16{3, 3}},
		"before, by another clock":  {[]request{{frame: 6, time: 101}}, 0, []uint32{7}, []uint16{3}},
		"sent after the first part": {[]request{{frame: 8}}, 0, []uint32{0}, []uint16{0}},
		"none":                      {nil, 0, nil, nil},
	} {
		tr, d := tracked(c.requests...)
		d.first, d.part, d.claim = 100, 7, 7
		tr.claims(d, c.topics, 2*tr.limits.Window)
		for i := range c.requests {
			if q := &tr.requests[i]; q.claim != c.claims[i] || q.arriving != c.arriving[i] {
				t.Errorf("%s: request %d is claimed by %d and waits %d windows", name, i, q.claim, q.arriving)
			}
		}
	}
	tr, d := tracked(request{})
	d.part, d.claim = 7, 7
	tr.claims(d, 0, 1<<16*tr.limits.Window)
	if n := tr.requests[0].arriving; n != 1<<16-1 {
		t.Errorf("waits %d windows", n)
	}
}

// TestRank: a set of parts goes to the request that it claimed, and to none of
// another set's; a challenge to the one that asks for it most, data to the one
// that proves itself.
func TestRank(t *testing.T) {
	tr, _ := tracked()
	data, issued := &Pair{}, &Pair{Challenge: ChallengeIssued}
	for _, c := range []struct {
		name        string
		pair        *Pair
		worse, best request
	}{
		{"claimed by another", data, request{claim: 8, proven: true}, request{}},
		{"its own", data, request{proven: true}, request{claim: 7}},
		{"proven", data, request{}, request{proven: true}},
		{"a challenge", issued, request{challenge: ChallengeUsed, proven: true}, request{challenge: ChallengeAbsent}},
		{"a seed", issued, request{challenge: ChallengeAbsent}, request{challenge: ChallengeSeed}},
		{"a wish", issued, request{challenge: ChallengeAbsent}, request{challenge: ChallengeWanted}},
		{"its own challenge", issued, request{challenge: ChallengeWanted}, request{claim: 7}},
	} {
		if a, b := tr.rank(&c.worse, c.pair, 7), tr.rank(&c.best, c.pair, 7); a >= b {
			t.Errorf("%s: %d and %d", c.name, a, b)
		}
	}
}

// TestCounters: what is counted of requests stops at the largest number, and no
// server answers more than it was asked.
func TestCounters(t *testing.T) {
	tr, _ := tracked(request{})
	q := &tr.requests[0]
	for _, c := range []struct{ asked, answered, more, then uint32 }{
		{0, 0, 1, 1}, {5, 3, 6, 4}, {5, 4, 6, 5}, {5, 5, 6, 5}, {1, 1, 2, 1}, {1<<32 - 2, 0, 1<<32 - 1, 1}, {1<<32 - 1, 0, 1<<32 - 1, 1},
	} {
		s := tr.server(q)
		*s = answering{c.asked, c.answered}
		if tr.countAnswered(q); s.answered != c.then {
			t.Errorf("%d of %d answered, and one more: %d", c.answered, c.asked, s.answered)
		}
		if tr.countRequest(q); s.asked != c.more {
			t.Errorf("%d asked, and one more: %d", c.asked, s.asked)
		}
	}
	// What a server answered before it was evicted and met again.
	*tr.server(q), q.sends = answering{1, 1}, 1
	tr.appendOthers(q, netip.MustParseAddrPort("198.51.100.1:27015"))
	if len(tr.hint) > 0 {
		t.Errorf("hint %q", tr.hint)
	}
	q.optional, q.claim = true, 7
	tr.replies.own(&q.answer).bytes = 1<<32 - 3
	for _, want := range []uint32{1<<32 - 2, 1<<32 - 1, 1<<32 - 1} {
		if had := tr.take(q, &arrival{wire: 1}, 2, 0); had.bytes != want || q.claim != 0 {
			t.Errorf("%d bytes, want %d; claim %d", tr.replies.at(q.answer).bytes, want, q.claim)
		}
	}
	for n, want := range map[int]string{0: "0", 9: "9", 10: "10", -1: "-1", -120: "-120", 65535: "65535"} {
		if got := string(appendInt(nil, n)); got != want {
			t.Errorf("%d is written %s", n, got)
		}
	}
}

// TestUnansweredFinding: which findings say that a request had no reply.
func TestUnansweredFinding(t *testing.T) {
	plain, challenge, own, other := &FindingType{}, &FindingType{ID: "c"}, &FindingType{ID: "o"}, &FindingType{ID: "x"}
	p := &Protocol{Messages: []*MessageType{{}, {Unanswered: own}}, Pairing: Pairing{Unanswered: plain, UnansweredChallenge: challenge}}
	for _, what := range []*FindingType{plain, challenge, own} {
		if !p.Unanswered(what) {
			t.Errorf("%q is not one", what.ID)
		}
	}
	if p.Unanswered(other) {
		t.Error("another one is")
	}
}

// TestHad: a reply is known by its bytes among the three newest; 0 is known of none.
func TestHad(t *testing.T) {
	o := answer{sums: [...]uint32{5, 1, 7}}
	for sum, want := range map[uint32]bool{0: false, 1: true, 5: true, 7: true, 8: false} {
		if o.had(sum) != want {
			t.Errorf("%d: %v", sum, !want)
		}
	}
	if o = (answer{}); o.had(0) {
		t.Error("a reply without a sum is known")
	}
}

// TestClaimedByAnother: a request that a set of parts claimed is still one that a
// reply may answer, if there is no other.
func TestClaimedByAnother(t *testing.T) {
	tr, d := tracked(request{topic: 1, claim: 8})
	d.first, d.part = 1, 1
	if m := tr.match(d, &Pair{Answers: 1}); m.request != 0 || m.same != 1 {
		t.Errorf("%+v", m)
	}
}

// TestRefused: what an ICMP error refused is no longer open, and the next request
// repeats nothing.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		q             request
		open, repeats bool
	}{
		"waits": {request{}, true, true}, "refused": {request{refused: true}, false, false}, "answered": {request{replies: 1}, false, false},
		"answered, one of two": {request{replies: 1, merged: 1}, true, false}, "lost": {request{spent: true}, false, true},
	} {
		tr, _ := tracked(c.q)
		if q := &tr.requests[0]; q.open() != c.open || tr.repeats(0) != c.repeats {
			t.Errorf("%s: open %v, is repeated %v", name, q.open(), tr.repeats(0))
		}
	}
}
