package dissect

import (
	"unsafe"

	"github.com/qdissect/qdissect/internal/core"
)

// State returns the current amount of state.
func (a inner) State() core.State {
	t := a.tracker
	return core.State{
		Flows: t.flows.len(), Requests: t.requests.live, Peers: t.challenges.peers.len(), Hosts: max(t.servers.answering.len(), t.servers.hosts.len()), Lists: t.lists.len(), Held: a.waiting.n, Sets: a.parts.Len(),
	}
}

// Bytes returns the approximate memory in bytes of the state at these limits,
// without the parts of split messages, which have a budget.
func (l Limits) Bytes() int {
	l = l.withDefaults()
	const (
		half   = 2 // a table doubles when it grows
		slot   = int(unsafe.Sizeof(flowSlot{}))
		flows  = int(unsafe.Sizeof(flow{})+unsafe.Sizeof(flowMore{})+unsafe.Sizeof(flowExtra{})) + 8 + half*slot*4/3
		waits  = int(unsafe.Sizeof(request{})+unsafe.Sizeof(answer{})) + 8
		peers  = int(unsafe.Sizeof(recentEntry[peerKey, peer]{})) + half*slot*2
		hosts  = int(unsafe.Sizeof(recentEntry[address, host]{})) + half*slot*2
		ports  = int(unsafe.Sizeof(recentEntry[serverKey, answering]{})) + half*slot*2
		lists  = int(unsafe.Sizeof(recentEntry[peerKey, pages]{})+pagesKept*unsafe.Sizeof(page{})) + half*slot*2
		growth = 5 // quarters: what tables leave when they grow
	)
	return (l.Flows*flows + l.Requests*waits + l.Peers*peers + l.servers()*(hosts+ports) + l.lists()*lists) * growth / 4
}

// servers is the number of servers and hosts whose answers are counted.
func (l Limits) servers() int { return max(l.Peers/4, 1) }

// lists is the number of clients whose lists are remembered.
func (l Limits) lists() int { return max(l.Peers/8, 1) }

// maxEvictedSeconds is the number of seconds with evictions that are remembered.
const maxEvictedSeconds = 300

// pressure records the seconds with evictions.
type pressure struct {
	seconds []core.Evictions // in the order of the packets
	counted core.Evictions   // all that is in seconds, or was
	told    bool             // that something was evicted
	since   int64            // what was given up in seconds before it is not remembered
}

// Evictions returns the evictions of each of the newest seconds with any, in the
// order of the packets, and the second from which on the list is complete. The list
// is borrowed.
func (a inner) Evictions() (seconds []core.Evictions, since int64) {
	return a.pressure.seconds, a.pressure.since
}

// reportPressure counts evictions and reports the first one.
func (a *Analyzer) reportPressure(x *arrival) {
	p, all := a.pressure, a.tracker.evictions()
	if all.Sum() == p.counted.Sum() {
		return
	}
	now := x.packed.At / 1e9
	if p.seconds == nil {
		p.seconds = make([]core.Evictions, 0, maxEvictedSeconds)
	}
	n := len(p.seconds)
	if n == 0 || p.seconds[n-1].Second != now {
		if n == maxEvictedSeconds {
			p.since = max(p.since, p.seconds[0].Second+1)
			n = copy(p.seconds, p.seconds[1:])
		}
		p.seconds = append(p.seconds[:n], core.Evictions{Second: now})
	}
	s := &p.seconds[len(p.seconds)-1]
	s.Flows += all.Flows - p.counted.Flows
	s.Requests += all.Requests - p.counted.Requests
	s.Clients += all.Clients - min(p.counted.Clients, all.Clients)
	p.counted = all
	if !p.told {
		p.told = true
		a.out.about(NewFinding(core.StateEvicted), x, nil) // it is about no conversation
	}
}
