package dissect

import "github.com/qdissect/qdissect/internal/core"

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
