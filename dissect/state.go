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
