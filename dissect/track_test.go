package dissect

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/endpoint"
	"github.com/qdissect/qdissect/internal/must"
)

// An ask describes a request for tests.
type ask struct {
	frame                                                                       uint64
	time                                                                        int64
	topic                                                                       Topic
	also                                                                        uint64
	claim, merged                                                               uint32
	replies, arriving                                                           uint16
	protocol                                                                    int8
	challenge                                                                   Challenge
	up, proven, refused, optional, repeated, covered, spent, late, doubt, lacks bool
}

// request returns the request in a tracker.
func (a ask) request(t *tracker) request {
	q := request{frame: a.frame, sent: a.time, topic: a.topic, protocol: a.protocol, challenge: a.challenge}
	for what, is := range map[requestState]bool{isUp: a.up, isProven: a.proven, isRefused: a.refused, isOptional: a.optional, isRepeated: a.repeated,
		isCovered: a.covered, isSpent: a.spent, isLate: a.late, isInDoubt: a.doubt} {
		q.setIf(what, is)
	}
	if a.also != 0 || a.claim != 0 || a.merged != 0 || a.arriving != 0 {
		r := t.requests.own(&q)
		r.also, r.claim, r.merged, r.arriving = a.also, a.claim, a.merged, a.arriving
	}
	if a.replies != 0 {
		o := t.requests.answers.own(&q.answer)
		if o.n = a.replies; a.lacks {
			o.came = OutcomePartial
		}
		t.requests.count(&q)
	}
	return q
}

// tracked returns a tracker with these requests in one flow, the oldest first.
// Protocols 0 and 1 are of one family, 2 of another, 3 and 4 of none.
func tracked(requests ...ask) (*tracker, *arrival) {
	c := &Config{Limits: DefaultLimits}
	for _, family := range []string{"one", "one", "two", "", ""} {
		c.Protocols = append(c.Protocols, &Protocol{Family: family})
	}
	t := newTracker(c, &outlet{handler: &told{}, stats: &Stats{}})
	var x arrival
	x.begin(&Datagram{Src: netip.MustParseAddrPort("198.51.100.1:27015"), Dst: netip.MustParseAddrPort("192.0.2.1:40000")}, nil) // a reply
	t.flows.endsOf(&x.ends, &x.packed.Src, &x.packed.Dst)
	x.flow, x.protocol = t.flows.add(&x.ends, 0), 0
	for i, a := range requests {
		a.up = a.up == x.ends.up // true in a test means: from the server
		q := a.request(t)
		q.flow, q.below = x.flow, t.flows.flows[x.flow].requests
		t.requests.list = append(t.requests.list, q)
		t.flows.flows[x.flow].requests = int32(i)
	}
	return t, &x
}

// told counts findings.
type told struct{ n int }

func (*told) Record(*Record)         {}
func (*told) Unknown(*Unknown)       {}
func (h *told) Finding(*FlowFinding) { h.n++ }

// told returns how many findings the tracker handed out.
func (t *tracker) told() int { return t.out.handler.(*told).n }

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
		q      ask
		topics Topic
		want   bool
		also   uint64
	}{
		"one that does":         {ask{topic: 1, also: 6}, 0, true, 6},
		"of the topic":          {ask{topic: 3, also: 6}, 1, true, 6},
		"of another topic":      {ask{topic: 2, also: 6}, 1, false, 6},
		"of no topic":           {ask{topic: 0, also: 6}, 1, false, 6},
		"of the family":         {ask{topic: 1, also: 6, protocol: 1}, 1, true, 0},
		"of another family":     {ask{topic: 1, also: 6, protocol: 2}, 1, false, 0},
		"late":                  {ask{topic: 1, also: 6, late: true}, 1, false, 6},
		"from the other end":    {ask{topic: 1, also: 6, up: true}, 1, false, 0},
		"answered a moment ago": {ask{topic: 1, also: 6, replies: 1}, 1, true, 6},
	} {
		tr, d := tracked(c.q)
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
		second ask
		want   bool
	}{
		"two": {ask{}, true}, "answered": {ask{replies: 1}, false}, "late": {ask{late: true}, false}, "from the other end": {ask{up: true}, false},
	} {
		tr, d := tracked(ask{}, c.second)
		if got := tr.several(0, !d.ends.up); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if tr, d := tracked(ask{}); tr.several(0, !d.ends.up) {
		t.Error("one is several")
	}
}

// TestClaims: a part of the set that began in frame 7 claims the oldest request that may
// be its own, and lets those wait that may be.
func TestClaims(t *testing.T) {
	for name, c := range map[string]struct {
		requests []ask
		topics   Topic
		claims   []uint32
		arriving []uint16
	}{
		"the oldest":                {[]ask{{}, {}}, 0, []uint32{7, 0}, []uint16{3, 3}},
		"its own already":           {[]ask{{}, {claim: 7}}, 0, []uint32{0, 7}, []uint16{0, 3}},
		"one of another set":        {[]ask{{claim: 8}, {}}, 0, []uint32{8, 7}, []uint16{3, 3}},
		"answered":                  {[]ask{{replies: 1}, {}}, 0, []uint32{0, 7}, []uint16{0, 3}},
		"only answered":             {[]ask{{replies: 1}}, 0, []uint32{0}, []uint16{3}},
		"late":                      {[]ask{{late: true}, {}}, 0, []uint32{0, 7}, []uint16{0, 3}},
		"from the other end":        {[]ask{{up: true}, {}}, 0, []uint32{0, 7}, []uint16{0, 3}},
		"of the family":             {[]ask{{protocol: 1}, {}}, 0, []uint32{7, 0}, []uint16{3, 3}},
		"of another family":         {[]ask{{protocol: 2}, {}}, 0, []uint32{0, 7}, []uint16{0, 3}},
		"of the topic":              {[]ask{{topic: 3}, {topic: 1}}, 1, []uint32{7, 0}, []uint16{3, 3}},
		"of another topic":          {[]ask{{topic: 2}, {topic: 1}}, 1, []uint32{0, 7}, []uint16{3, 3}},
		"before, by another clock":  {[]ask{{frame: 6, time: 101}}, 0, []uint32{7}, []uint16{3}},
		"sent after the first part": {[]ask{{frame: 8}}, 0, []uint32{0}, []uint16{0}},
		"none":                      {nil, 0, nil, nil},
	} {
		tr, d := tracked(c.requests...)
		d.first, d.part, d.claim = 100, 7, 7
		tr.claims(d, c.topics, 2*tr.config.Limits.Window)
		for i := range c.requests {
			if q := tr.requests.rare(&tr.requests.list[i]); q.claim != c.claims[i] || q.arriving != c.arriving[i] {
				t.Errorf("%s: request %d is claimed by %d and waits %d windows", name, i, q.claim, q.arriving)
			}
		}
	}
	tr, d := tracked(ask{})
	d.part, d.claim = 7, 7
	tr.claims(d, 0, 1<<16*tr.config.Limits.Window)
	if n := tr.requests.rare(&tr.requests.list[0]).arriving; n != 1<<16-1 {
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
		worse, best ask
	}{
		{"claimed by another", data, ask{claim: 8, proven: true}, ask{}},
		{"its own", data, ask{proven: true}, ask{claim: 7}},
		{"proven", data, ask{}, ask{proven: true}},
		{"a challenge", issued, ask{challenge: ChallengeUsed, proven: true}, ask{challenge: ChallengeAbsent}},
		{"a seed", issued, ask{challenge: ChallengeAbsent}, ask{challenge: ChallengeSeed}},
		{"a wish", issued, ask{challenge: ChallengeAbsent}, ask{challenge: ChallengeWanted}},
		{"its own challenge", issued, ask{challenge: ChallengeWanted}, ask{claim: 7}},
	} {
		worse, best := c.worse.request(tr), c.best.request(tr)
		if a, b := tr.rank(&worse, c.pair, 7), tr.rank(&best, c.pair, 7); a >= b {
			t.Errorf("%s: %d and %d", c.name, a, b)
		}
	}
}

// TestCounters: what is counted of requests stops at the largest number, and no
// server answers more than it was asked.
func TestCounters(t *testing.T) {
	tr, _ := tracked(ask{})
	q := &tr.requests.list[0]
	for _, c := range []struct{ asked, answered, more, then uint32 }{
		{0, 0, 1, 1}, {5, 3, 6, 4}, {5, 4, 6, 5}, {5, 5, 6, 5}, {1, 1, 2, 1}, {1<<32 - 2, 0, 1<<32 - 1, 1}, {1<<32 - 1, 0, 1<<32 - 1, 1},
	} {
		s := tr.server(q)
		*s = answering{asked: c.asked, answered: c.answered}
		if s.answer(); s.answered != c.then {
			t.Errorf("%d of %d answered, and one more: %d", c.answered, c.asked, s.answered)
		}
		if s.ask(); s.asked != c.more {
			t.Errorf("%d asked, and one more: %d", c.asked, s.asked)
		}
	}
	// What a server answered before it was evicted and met again.
	*tr.server(q) = answering{asked: 1, answered: 1}
	tr.appendOthers(q)
	if len(tr.out.text) > 0 {
		t.Errorf("hint %q", tr.out.text)
	}
	q.set(isOptional)
	tr.requests.own(q).claim = 7
	tr.requests.answers.own(&q.answer).bytes = 1<<32 - 3
	for _, want := range []uint32{1<<32 - 2, 1<<32 - 1, 1<<32 - 1} {
		if had := tr.take(q, &arrival{wire: 1}, 2, 0); had.bytes != want || tr.requests.rare(q).claim != 0 {
			t.Errorf("%d bytes, want %d; claim %d", tr.requests.answered(q).bytes, want, tr.requests.rare(q).claim)
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
	p := &Protocol{Catalog: NewCatalog("p"), Pairing: Pairing{Unanswered: plain, UnansweredChallenge: challenge}}
	p.Catalog.Message(MessageType{})
	p.Catalog.Message(MessageType{Unanswered: own})
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
	tr, d := tracked(ask{topic: 1, claim: 8})
	d.first, d.part = 1, 1
	if m := tr.match(d, &Pair{Answers: 1}); m.request != 0 || m.same != 1 {
		t.Errorf("%+v", m)
	}
}

// TestRefused: what an ICMP error refused is no longer open, and the next request
// repeats nothing.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		q             ask
		open, repeats bool
	}{
		"waits": {ask{}, true, true}, "refused": {ask{refused: true}, false, false}, "answered": {ask{replies: 1}, false, false},
		"answered, one of two": {ask{replies: 1, merged: 1}, true, false}, "lost": {ask{spent: true}, false, true},
	} {
		tr, _ := tracked(c.q)
		if q := &tr.requests.list[0]; q.open() != c.open || tr.repeats(0) != c.repeats {
			t.Errorf("%s: open %v, is repeated %v", name, q.open(), tr.repeats(0))
		}
	}
}

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
		"a reply, and then parts": {ask{arriving: 1, replies: 1}, 1, 0, 0},
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
			n := 1 - int(c.q.replies)
			if tr.advance(2*window + 2); tr.requests.late.n != n || tr.told() != n || tr.requests.live != n {
				t.Errorf("%s: not over after a second window", name)
			}
		}
	}
}

// TestFacts: texts about servers have a limit, and what is forgotten makes room.
func TestFacts(t *testing.T) {
	table := newRequestTable()
	var got [300]answer
	server := func(i int) *Server {
		return &Server{Name: Opt[string]{Value: strings.Repeat(string(rune('a'+i%26)), 10_000), OK: true}}
	}
	kept := 0
	for i := range got {
		if table.keepFacts(&got[i], server(i)); got[i].facts != 0 {
			kept++
		}
	}
	if kept != maxFacts/10_000 {
		t.Errorf("%d of %d are kept", kept, len(got))
	}
	table.releaseFacts(got[0].facts)
	if table.keepFacts(&got[299], server(299)); got[299].facts != got[0].facts {
		t.Error("what was forgotten makes no room")
	}
	if s := table.facts.at(got[299].facts).server.Value(); s != *server(299) {
		t.Errorf("%.20q", s.Name.Value)
	}
}

// TestFlowTable plays random operations on the table and on a map.
func TestFlowTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	model := map[flowKey]int64{}
	var table *flowTable
	table = newFlowTable(300, func(i int32, _ bool) { delete(model, table.flows[i].key) })
	at := func(k flowKey) *ends { return &ends{key: k, hash: table.hasher.flow(&k)} }
	key := func(n int) flowKey { return flowKey{low: address{lo: uint64(n)}, highPort: uint16(n * 7)} }
	for step := range must.Try(50_000, 200_000) {
		now, k := int64(step), key(rng.IntN(900))
		switch rng.IntN(10) {
		case 0:
			if i := table.find(at(k)); i >= 0 {
				table.remove(i, false)
			}
		case 1:
			table.expire(now, 2000)
			for k, last := range model {
				if now-last > 2000 {
					t.Fatalf("%v is older than it may be", k)
				}
			}
		case 2:
			if i := table.find(at(k)); i >= 0 {
				table.touch(i, now)
				model[k] = now
				table.answer(i, 0)
			}
		default:
			i := table.find(at(k))
			if i == none {
				i = table.add(at(k), now)
			}
			table.touch(i, now)
			model[k] = now
		}
		if table.len() != len(model) || table.len() > 300 {
			t.Fatalf("step %d: %d flows, the model has %d", step, table.len(), len(model))
		}
		if step%1000 == 0 {
			for k := range model {
				if table.find(at(k)) < 0 {
					t.Fatalf("step %d: a flow cannot be found", step)
				}
			}
		}
	}
	table.flush()
	if table.len() != 0 || len(model) != 0 {
		t.Errorf("%d flows after the end", table.len())
	}
}

// TestRecent plays random operations on the table and on a map with a list.
func TestRecent(t *testing.T) {
	const limit = 100
	rng := rand.New(rand.NewPCG(5, 6))
	table := newRecent[address, int](limit, (*hasher).address)
	model := map[address]int{}
	var order []address
	most := 0
	for step := range 100000 {
		k := address{hi: uint64(rng.IntN(250))}
		if v := table.find(&k); v != nil {
			if want, ok := model[k]; !ok || *v != want {
				t.Fatalf("step %d: %d, the model has %d, %v", step, *v, want, ok)
			}
			*v = step
			model[k] = step
			continue
		}
		if _, ok := model[k]; ok {
			t.Fatalf("step %d: a key cannot be found", step)
		}
		if len(order) == limit {
			delete(model, order[0])
			order = order[1:]
		}
		*table.get(&k) = step
		if most = max(most, len(table.entries)); len(table.slots) != max(64, 1<<bits.Len(uint(2*most-1))) {
			t.Fatalf("%d slots for %d keys", len(table.slots), most)
		}
		model[k] = step
		order = append(order, k)
		if rng.IntN(5000) == 0 {
			table.clear()
			clear(model)
			order = nil
		}
	}
}

// TestRoom: slabs grow by two, up to a limit, but always by one; links of requests have 255 places.
func TestRoom(t *testing.T) {
	for n, want := range map[int]int{0: 8, 10: 28, 496: 1000, 495: 998, 999: 1000, 1000: 1001} {
		if got := cap(withRoom(make([]int, n), 1000)); got != want {
			t.Errorf("%d entries: room for %d, want %d", n, got, want)
		}
	}
	requests := newRequestTable()
	for i := range 600 {
		r := &Record{Datagram: &Datagram{VLAN: uint16(1 + i%300), Interface: "x"}}
		if got := int(requests.link(r)); got != []int{0, 1 + i%300}[core.Bit[int](i%300 < 255)] {
			t.Errorf("VLAN %d: %d", r.VLAN, got)
		}
	}
}

// TestPlaces: equal requests of many clients and servers stand in different
// places of the table of sightings.
func TestPlaces(t *testing.T) {
	const n = 128
	for name, pair := range map[string]func(i int) (client, server string){
		"ports of clients": func(i int) (string, string) {
			return fmt.Sprintf("192.0.2.%d:%d", 20+i%2, 40000+i), fmt.Sprintf("198.51.100.%d:27015", 10+i%4)
		},
		"many servers":           func(i int) (string, string) { return "203.0.113.77:80", fmt.Sprintf("198.51.100.%d:27960", 1+i) },
		"many servers above":     func(i int) (string, string) { return "1.2.3.4:80", fmt.Sprintf("198.51.100.%d:27960", 1+i) },
		"many servers, IPv6":     func(i int) (string, string) { return "[2001:db8::9]:80", fmt.Sprintf("[2001:db8::%x]:27960", 16+i) },
		"one server, many hosts": func(i int) (string, string) { return fmt.Sprintf("203.%d.113.77:27960", i), "198.51.100.10:27960" },
	} {
		taken := map[uint32]int{}
		for i := range n {
			c, s := pair(i)
			client, server := endpoint.Of(netip.MustParseAddrPort(c)), endpoint.Of(netip.MustParseAddrPort(s))
			var e ends
			e.up = e.key.set(&client, &server)
			taken[e.place(0x12345678)]++
		}
		// By chance 81 of the 128 places are taken.
		if len(taken) < 70 {
			t.Errorf("%s: %d datagrams stand in %d places", name, n, len(taken))
		}
	}
}

// TestHasher hashes the conversations of clients whose addresses or ports count up, as
// those of forged sources and of scanners do. They must be spread like random numbers.
func TestHasher(t *testing.T) {
	const n = 1 << 14
	server := endpoint.Of(netip.MustParseAddrPort("192.0.2.1:27015"))
	for name, client := range map[string]func(i int) netip.AddrPort{
		"ports": func(i int) netip.AddrPort {
			return netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, 7}), uint16(1024+i))
		},
		"addresses": func(i int) netip.AddrPort {
			return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 27005)
		},
		"networks": func(i int) netip.AddrPort {
			return netip.AddrPortFrom(netip.AddrFrom4([4]byte{byte(i), byte(i >> 8), 1, 1}), 27005)
		},
		"IPv6": func(i int) netip.AddrPort {
			return netip.AddrPortFrom(netip.AddrFrom16([16]byte{0x20, 1, 14: byte(i >> 8), 15: byte(i)}), 27005)
		},
	} {
		h := newHasher()
		kinds := map[string]func(netip.AddrPort) uint32{
			"flow": func(c netip.AddrPort) uint32 {
				var k flowKey
				client := endpoint.Of(c)
				k.set(&client, &server)
				return h.flow(&k)
			},
			"server": func(c netip.AddrPort) uint32 {
				return h.server(serverKey{addressOf(c.Addr()), c.Port()})
			},
		}
		if name != "ports" {
			kinds["peer"] = func(c netip.AddrPort) uint32 {
				var k flowKey
				client := endpoint.Of(c)
				return h.peer(k.peer(k.set(&client, &server), 1))
			}
			kinds["address"] = func(c netip.AddrPort) uint32 { return h.address(addressOf(c.Addr())) }
		}
		for kind, hash := range kinds {
			var slots [n]uint8
			empty := n
			for i := range n {
				s := &slots[hash(client(i))%n]
				if *s == 0 {
					empty--
				}
				*s++
			}
			// Of random numbers, 1/e of the slots stay empty: 36.8 %, with a
			// standard deviation of 0.3.
			if part := float64(empty) / n; part > 0.39 {
				t.Errorf("%s, %s: %.1f %% of the slots are empty", name, kind, 100*part)
			}
		}
	}
}

// fields counts the fields of a struct, with those of unexported structs that it holds by
// value.
func fields(t reflect.Type) (n int) {
	for i := range t.NumField() {
		f := t.Field(i).Type
		if name := f.Name(); f.Kind() == reflect.Struct && f.PkgPath() == t.PkgPath() && (name == "" || name[0] >= 'a') {
			n += fields(f)
			continue
		}
		n++
	}
	return n
}

// TestSizes: what each request and each conversation needs lies in one cache line, and
// what is known is in types by responsibility.
func TestSizes(t *testing.T) {
	const line = 64
	if n := unsafe.Sizeof(request{}); n > line {
		t.Errorf("a request has %d bytes", n)
	}
	if n := unsafe.Sizeof(flow{}); n > line {
		t.Errorf("a flow has %d bytes", n)
	}
	for _, c := range []struct {
		of   reflect.Type
		most int
	}{{reflect.TypeFor[tracker](), 18}, {reflect.TypeFor[Analyzer](), 16}} {
		if n := fields(c.of); n > c.most {
			t.Errorf("%s has %d fields, at most %d", c.of.Name(), n, c.most)
		}
	}
	if n := fields(reflect.TypeFor[held]()); n != 19 {
		t.Errorf("held has %d fields: those of what it holds are to be counted", n)
	}
}
