package dissect

// Evictions count the state that was evicted in one second because a limit was
// reached.
type Evictions struct {
	// Second is when, by the time of the packets, in seconds since 1970.
	Second int64
	// Flows are conversations, Clients those whose challenges or lists were
	// remembered.
	Flows, Requests, Clients uint64
}

// Add adds the counts of o.
func (e *Evictions) Add(o *Evictions) {
	e.Flows += o.Flows
	e.Requests += o.Requests
	e.Clients += o.Clients
}

// Since returns the difference to earlier counts of the same run.
func (e Evictions) Since(o *Evictions) Evictions {
	e.Flows -= o.Flows
	e.Requests -= o.Requests
	e.Clients -= o.Clients
	return e
}

// Sum returns the sum of the counts.
func (e *Evictions) Sum() uint64 { return e.Flows + e.Requests + e.Clients }

// maxEvictedSeconds is the number of seconds with evictions that are remembered.
const maxEvictedSeconds = 300

// pressure records the seconds with evictions.
type pressure struct {
	seconds []Evictions // in the order of the packets
	counted Evictions   // all that is in seconds, or was
	told    bool        // that something was evicted
	since   int64       // what was given up in seconds before it is not remembered
}

// Evictions returns the evictions of each of the newest seconds with any, in the
// order of the packets, and the second from which on the list is complete. The list
// is borrowed.
func (a *Analyzer) Evictions() (seconds []Evictions, since int64) {
	return a.pressure.seconds, a.pressure.since
}

// reportPressure counts evictions and reports the first one.
func (a *Analyzer) reportPressure(x *arrival) {
	p, all := a.pressure, a.tracker.evictions()
	if all.Sum() == p.counted.Sum() {
		return
	}
	now := x.at / 1e9
	if p.seconds == nil {
		p.seconds = make([]Evictions, 0, maxEvictedSeconds)
	}
	n := len(p.seconds)
	if n == 0 || p.seconds[n-1].Second != now {
		if n == maxEvictedSeconds {
			p.since = max(p.since, p.seconds[0].Second+1)
			n = copy(p.seconds, p.seconds[1:])
		}
		p.seconds = append(p.seconds[:n], Evictions{Second: now})
	}
	s := &p.seconds[len(p.seconds)-1]
	s.Flows += all.Flows - p.counted.Flows
	s.Requests += all.Requests - p.counted.Requests
	s.Clients += all.Clients - min(p.counted.Clients, all.Clients)
	p.counted = all
	if !p.told {
		p.told = true
		a.out.about(NewFinding(StateEvicted), x, nil) // it is about no conversation
	}
}
