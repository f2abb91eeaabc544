package scenes

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"time"
)

// every plays something at a rate, at random times, between two times.
func (w *world) every(name string, rate float64, from, to time.Duration, do func(i int)) {
	r := w.dice(name, 0)
	mean := time.Duration(float64(time.Second) / rate)
	i := 0
	w.repeat(from, to, func() time.Duration {
		do(i)
		i++
		return spread(r, mean)
	})
}

// forgery returns the i-th forged address of a flood, all different, and different from
// those of other floods. None belongs to the others of a scene, or to a network that is
// not routed.
func (w *world) forgery(flood, i int) netip.Addr {
	x := 0x10000000 + uint32(flood)<<26 + uint32(i)
	for {
		x = x*2654435761 + uint32(w.o.Seed)*0x9e3779b1
		x ^= x >> 15
		x = x*0x2c1b3c6d + 7
		if routed(x) {
			var b [4]byte
			binary.BigEndian.PutUint32(b[:], x)
			return netip.AddrFrom4(b)
		}
	}
}

// sourceOf returns the source of the i-th request of a flood, and whether it is new.
func (w *world) sourceOf(i int) (k int, fresh bool) {
	if w.o.Sources == 0 {
		return i, true
	}
	return i % w.o.Sources, i < w.o.Sources
}

func routed(x uint32) bool {
	switch top := x >> 24; {
	case top == 0, top == 10, top == 127, top >= 224,
		x>>22 == 100<<2|1,       // 100.64.0.0/10
		x>>16 == 169<<8|254,     // link-local
		x>>20 == 172<<4|1,       // 172.16.0.0/12
		x>>16 == 192<<8|168,     // private
		x>>8 == 192<<16,         // 192.0.0.0/24
		x>>8 == 192<<16|2,       // watchers
		x>>17 == (198<<8|18)>>1, // visitors
		x>>8 == 198<<16|51<<8|100,
		x>>8 == 203<<16|113:
		return false
	}
	return true
}

// flood sends requests of the first query from forged sources, without a challenge where the server asks for one. Made-up
// challenges are of the right form and were given to nobody.
func (w *world) flood(s *server, rate float64, madeUp bool) {
	q := s.p.queries[0]
	e := w.event("forged_flood", q.request, w.o.From, w.o.To, []*server{s})
	r := w.dice("flood", 1)
	w.every("flood", rate, w.o.From, w.o.To, func(i int) {
		k, fresh := w.sourceOf(i)
		src := source{addr: netip.AddrPortFrom(w.forgery(0, k), uint16(1024+r.IntN(64000))), class: Forged, event: e, forged: true, fresh: fresh}
		c := call{token(s, src.addr.Addr()), 0}
		first := s.wants(q)
		message, payload := q.request, ""
		switch {
		case madeUp:
			payload = q.ask(s, call{r.Uint32(), 0})
		case first:
			message, payload = q.firstRequest, q.first(s, c)
		default:
			payload = q.ask(s, c)
		}
		p := w.request(src, s, message, payload)
		w.after(between(r, 5*time.Millisecond, 15*time.Millisecond), func() { w.serve(p, q, c, first, false) })
	})
}

func forgedOpen(w *world) { w.flood(w.servers[open], w.o.Rate, false) }

func forgedChallenged(w *world) { w.flood(w.servers[challenged], w.o.Rate, false) }

func madeUp(w *world) { w.flood(w.servers[challenged], w.o.Rate, true) }

// reflect sends requests in the name of a victim. ports is the number of ports that it
// uses; 1 is always the same.
func (w *world) reflect(name, victim string, port uint16, ports int, servers []*server, rate float64, from, to time.Duration) {
	addr := netip.MustParseAddr(victim)
	const status = 1 // the longest reply
	e := w.event("reflection", servers[0].p.queries[status].request, from, to, servers, victim)
	r := w.dice(name, 1)
	w.every(name, rate, from, to, func(i int) {
		s := servers[i%len(servers)]
		q := s.p.queries[status]
		src := source{addr: netip.AddrPortFrom(addr, port+uint16(r.IntN(ports))), class: Forged, event: e}
		p := w.request(src, s, q.request, q.ask(s, call{}))
		w.after(between(r, 5*time.Millisecond, 15*time.Millisecond), func() { w.serve(p, q, call{}, false, false) })
	})
}

func reflections(w *world) {
	s := w.servers
	w.reflect("reflection 1", "203.0.113.77", 80, 1, []*server{s[arena], s[arena+1]}, w.o.Rate/2, w.o.From, w.o.To)
	w.reflect("reflection 2", "203.0.113.78", 1024, 60000, []*server{s[tournament]}, w.o.Rate/2, w.o.From, w.o.To)
}

func greedy(w *world) {
	const address = "203.0.113.50"
	s := w.servers[challenged]
	q := s.p.queries[0]
	e := w.event("greedy_clients", q.request, w.o.From, w.o.To, []*server{s}, address)
	r := w.dice("greedy", 1)
	c := &client{
		source: source{addr: netip.MustParseAddrPort(address + ":50505"), class: Greedy, event: e},
		rtt:    24 * time.Millisecond, rand: r, keeps: true, once: true, has: map[*server]bool{},
	}
	w.every("greedy", w.o.Rate, w.o.From, w.o.To, func(int) {
		// A port for each request, as of a library that opens a socket for each.
		v := *c
		v.addr = netip.AddrPortFrom(c.addr.Addr(), uint16(20000+r.IntN(45000)))
		w.ask(&v, s, q, func(bool) {})
	})
}

func scanner(w *world) {
	const address = "203.0.113.99"
	var targets []*server
	byAddr := map[netip.AddrPort]*server{}
	for _, s := range w.servers {
		byAddr[s.addr] = s
	}
	r := w.dice("scanner", 1)
	p := w.servers[challenged].p
	for n := range 1000 {
		addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(1 + n%250)}), uint16(27015+n/250))
		s := byAddr[addr]
		if s == nil {
			s = w.server(addr, p, "A server elsewhere")
			s.players, s.challenges = 2, true
			w.byAddr[addr] = true
			switch x := r.IntN(20); {
			case x < 2: // replies
			case x < 3:
				s.refuses = func(*query, bool) bool { return true }
			default:
				s.ignores = func(*query, bool) bool { return true }
			}
		}
		targets = append(targets, s)
	}
	e := w.event("scanner", "info_request", w.o.From, w.o.To, nil, address)
	c := &client{source: source{class: Scanner, event: e}, rtt: 40 * time.Millisecond, rand: r, once: true}
	w.every("scanner", w.o.Rate, w.o.From, w.o.To, func(i int) {
		v := *c
		v.addr = netip.AddrPortFrom(netip.MustParseAddr(address), 45454)
		// A step that visits all of them, and does not look like one.
		w.ask(&v, targets[i*387%len(targets)], p.queries[0], func(bool) {})
	})
}

// drops lets many honest clients come to a server that answers a hundred requests for
// info a second, or a quarter of the rate.
func drops(w *world) {
	s := w.servers[open]
	q := s.p.queries[0]
	w.event("drops_under_load", q.request, w.o.From, w.o.To, []*server{s})
	limit := w.o.Rate / 4
	left, last := limit, int64(0)
	s.ignores = func(asked *query, _ bool) bool {
		if asked != q {
			return false
		}
		left = min(limit, left+float64(w.now-last)/1e9*limit)
		last = w.now
		if left < 1 {
			return true
		}
		left--
		return false
	}
	const every = 5 * time.Second
	n := int(w.o.Rate * every.Seconds())
	for i := range n {
		c := w.honest(w.o.Clients + i)
		c.once = true
		// They arrive during half of the event.
		at := w.o.From + time.Duration(float64(w.o.To-w.o.From)/2*(float64(i)+c.rand.Float64())/float64(n))
		w.repeat(at, w.o.To, func() time.Duration {
			w.ask(c.visit(), s, q, func(bool) {})
			return every + between(c.rand, 0, 200*time.Millisecond)
		})
	}
}

func down(closed bool) func(w *world) {
	return func(w *world) {
		s := w.servers[another]
		w.event("server_down", "", w.o.From, w.o.To, []*server{s})
		gone := func(*query, bool) bool { return w.now >= int64(w.o.From) && w.now < int64(w.o.To) }
		if closed {
			s.refuses = gone
		} else {
			s.ignores = gone
		}
	}
}

// longLost loses the second part of each long reply, or all its fragments but the first.
func longLost(fragments bool) func(w *world) {
	return func(w *world) {
		s := w.servers[challenged]
		if fragments {
			s = w.servers[fragmented]
		}
		w.event("long_replies_lost", "rules_request", w.o.From, w.o.To, []*server{s})
		s.loses = func(_ *query, datagram, fragment int) bool {
			if w.now < int64(w.o.From) || w.now >= int64(w.o.To) {
				return false
			}
			return datagram == 1 || fragment > 0
		}
	}
}

// mixed is a flood of four kinds.
func mixed(w *world) {
	s := w.servers
	from, to, rate := w.o.From, w.o.To, w.o.Rate
	w.flood(s[open], rate*0.6, false)
	w.reflect("reflection 1", "203.0.113.77", 80, 1, []*server{s[arena], s[arena+1]}, rate*0.1, from+2*time.Second, to)
	w.reflect("reflection 2", "203.0.113.78", 1024, 60000, []*server{s[tournament]}, rate*0.1, from+3*time.Second, to-time.Second)
	w.junk(s[challenged], nil, rate*0.2, from+time.Second, to)
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for k := range b {
		b[k] = byte(r.Uint32())
	}
	return b
}

// junk sends random bytes, from these sources or from forged ones.
func (w *world) junk(s *server, sources []string, rate float64, from, to time.Duration) {
	e := w.event("junk_flood", "", from, to, []*server{s}, sources...)
	r := w.dice("junk", 1)
	w.every("junk", rate, from, to, func(i int) {
		b := randomBytes(r, 16+r.IntN(200))
		b[0] = 'a' + b[0]%16 // of no protocol, and not of a media stream
		src := source{class: Junk, event: e, forged: true, fresh: i < len(sources)}
		port := uint16(1024 + r.IntN(64000))
		if len(sources) > 0 {
			src.addr = netip.AddrPortFrom(netip.MustParseAddr(sources[i%len(sources)]), port)
		} else {
			var k int
			k, src.fresh = w.sourceOf(i)
			src.addr = netip.AddrPortFrom(w.forgery(1, k), port)
		}
		w.unknown(src, s.addr, string(b))
	})
}

func junkForged(w *world) { w.junk(w.servers[challenged], nil, w.o.Rate, w.o.From, w.o.To) }

func junkSources(w *world) {
	w.junk(w.servers[open], []string{"203.0.113.61", "203.0.113.62", "203.0.113.63"}, w.o.Rate, w.o.From, w.o.To)
}

// busy lets players play at a server, at the port that is asked, and hundreds of clients use a VPN of its host. Both get
// replies; a scanner has asked the VPN as if it were a game server. More play during the event.
func busy(w *world) {
	talk := func(name string, at netip.AddrPort, clients int, network byte, rate float64, from, to time.Duration, replies float64) {
		r := w.dice(name, 1)
		w.every(name, rate, from, to, func(i int) {
			b := randomBytes(r, 40+r.IntN(400))
			client := source{addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, 113, network + byte(i%clients)}), 20000+uint16(i%clients)), class: Foreign}
			w.unknown(client, at, string(b))
			if r.Float64() < replies {
				w.after(between(r, 2*time.Millisecond, 20*time.Millisecond), func() { w.unknown(source{addr: at, class: Foreign}, client.addr, string(b[:40])) })
			}
		})
	}
	s := w.servers[challenged]
	vpn := netip.AddrPortFrom(s.addr.Addr(), 51820)
	w.byAddr[vpn] = true
	scanned := w.server(vpn, s.p, "")
	scanned.ignores = func(*query, bool) bool { return true }
	w.at(int64(w.o.Span/2), func() {
		w.request(source{addr: netip.MustParseAddrPort("203.0.113.99:45454"), class: Scanner}, scanned, "info_request", s.p.queries[0].ask(scanned, call{}))
	})
	talk("players", s.addr, 20, 140, w.o.Rate/5, 0, w.o.Span, 0.5)
	talk("more players", s.addr, 24, 160, w.o.Rate, w.o.From, w.o.To, 0.5)
	talk("vpn", vpn, 60, 190, w.o.Rate, 0, w.o.Span, 0.9)
}
