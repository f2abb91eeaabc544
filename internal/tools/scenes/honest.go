package scenes

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"
)

// A client asks questions as libraries do: it uses the challenge that it is given, and
// asks once more if it gets no reply.
type client struct {
	source
	rtt  time.Duration
	rand *rand.Rand
	// keeps says that it uses a challenge again, and once that it does not ask twice.
	keeps, once bool
	has         map[*server]bool
}

// fate says whether a packet of a client or to it gets lost, before or after it is
// captured.
func (w *world) fate(r *rand.Rand) (before, after bool) {
	x := r.Float64()
	return x < w.o.Loss/2, x >= w.o.Loss/2 && x < w.o.Loss
}

// ask plays a question until it is answered, or not.
func (w *world) ask(c *client, s *server, q *query, done func(answered bool)) {
	k := call{token(s, c.addr.Addr()), c.rand.Uint32() & 0x7fffffff}
	if !s.wants(q) || c.keeps && c.has[s] {
		w.send(c, s, q, k, false, nil, done)
		return
	}
	w.send(c, s, q, k, true, nil, func(answered bool) {
		if !answered {
			done(false)
			return
		}
		if c.keeps {
			c.has[s] = true
		}
		w.after(between(c.rand, 300*time.Microsecond, 2*time.Millisecond), func() { w.send(c, s, q, k, false, nil, done) })
	})
}

// send sends a request, or the one that wants a challenge, and waits for the reply. last
// is the request that it repeats.
func (w *world) send(c *client, s *server, q *query, k call, first bool, last *pending, done func(answered bool)) {
	if w.over() {
		return
	}
	if last != nil {
		last.settle(func(c *Count) { c.Repeated++ })
	}
	got := false
	reply := func() {
		if !got {
			got = true
			done(true)
		}
	}
	before, after := w.fate(c.rand)
	var p *pending
	if !before {
		message, payload := q.request, ""
		if first {
			message, payload = q.firstRequest, q.first(s, k)
		} else {
			payload = q.ask(s, k)
		}
		p = w.request(c.source, s, message, payload)
		if !after {
			w.after(c.rtt+spread(c.rand, c.rtt/50), func() {
				lost, unseen := w.fate(c.rand)
				if w.serve(p, q, k, first, lost) && !unseen {
					reply()
				}
			})
		}
	}
	if c.once {
		return
	}
	w.after(patience, func() {
		switch {
		case got:
		case last == nil:
			w.send(c, s, q, k, first, p, done)
		default:
			got = true
			done(false)
		}
	})
}

// serve lets the server handle a request. It reports whether the reply was sent in whole.
func (w *world) serve(p *pending, q *query, k call, first, lost bool) bool {
	s := p.server
	switch {
	case s.refuses != nil && s.refuses(q, first):
		w.refuse(p)
		return false
	case s.ignores != nil && s.ignores(q, first), lost:
		return false
	case first:
		return w.answer(p, nil, q.firstReply, []string{q.grant(k)}, true)
	}
	before := p.server.truth.Partial
	return w.answer(p, q, q.reply, q.data(s, k), false) && p.server.truth.Partial == before
}

// honestAddress returns the address of the i-th honest client: 198.18.0.0/15, which is
// kept for measurements.
func (w *world) honestAddress(i int) netip.Addr {
	n := (uint32(i)*40503 + uint32(w.o.Seed)) & 0x1ffff
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], 198<<24|18<<16|n)
	return netip.AddrFrom4(b)
}

func (w *world) honest(i int) *client {
	r := w.dice("client", i)
	return &client{source: source{addr: netip.AddrPortFrom(w.honestAddress(i), 0), class: Honest}, rtt: roundTrip(r), rand: r}
}

// visit returns the client with a new port, as for a new socket.
func (c *client) visit() *client {
	v := *c
	v.addr = netip.AddrPortFrom(c.addr.Addr(), uint16(20000+c.rand.IntN(45000)))
	return &v
}

// visitors look at a list of servers, then at one of them, and some come back to it.
func (w *world) visitors() {
	for i := range w.o.Clients {
		c := w.honest(i)
		w.at(c.rand.Int64N(int64(w.o.Span)), func() {
			n := 1 + c.rand.IntN(4)
			first := c.rand.IntN(w.o.Servers)
			for k := range n {
				s := w.servers[(first+k)%w.o.Servers]
				w.after(time.Duration(k)*between(c.rand, 5*time.Millisecond, 60*time.Millisecond), func() { w.ask(c.visit(), s, s.p.queries[0], func(bool) {}) })
			}
			s := w.servers[(first+c.rand.IntN(n))%w.o.Servers]
			if c.rand.IntN(2) == 0 {
				w.after(between(c.rand, time.Second, 4*time.Second), func() { w.details(c.visit(), s, 1) })
			}
			if c.rand.IntN(3) == 0 {
				w.after(between(c.rand, 5*time.Second, 20*time.Second), func() { w.details(c.visit(), s, 0) })
			}
		})
	}
}

// details asks the questions from one on, one after the other; few clients want the last.
func (w *world) details(c *client, s *server, from int) {
	if from >= len(s.p.queries) || from == 2 && c.rand.IntN(2) == 0 {
		return
	}
	w.ask(c, s, s.p.queries[from], func(answered bool) {
		if answered {
			w.after(between(c.rand, time.Millisecond, 20*time.Millisecond), func() { w.details(c, s, from+1) })
		}
	})
}

// watchers ask all servers again and again, every 5 to 60 seconds, one after the other.
func (w *world) watchers() {
	for i, every := range []time.Duration{5, 10, 10, 15, 30, 30, 60, 60} {
		every *= time.Second
		r := w.dice("watcher", i)
		c := &client{source: source{addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(10 + i)}), 0), class: Honest}, rtt: roundTrip(r), rand: r}
		gap := min(time.Second, every/time.Duration(w.o.Servers))
		for k, s := range w.servers[:w.o.Servers] {
			w.repeat(between(r, 0, every/8)+time.Duration(k)*gap+time.Duration(i)*517*time.Millisecond, w.o.Span, func() time.Duration {
				w.details(c.visit(), s, 0)
				return every
			})
		}
	}
}

var (
	valveMaster  = netip.MustParseAddrPort("203.0.113.10:27011")
	quake3Master = netip.MustParseAddrPort("203.0.113.11:27950")
)

// heartbeats are what servers and their masters say to each other.
func (w *world) heartbeats() {
	vm := w.server(valveMaster, &protocol{name: "valve-master"}, "")
	join := &query{request: "join", reply: "challenge_reply"}
	for i, s := range w.servers[:w.o.Servers] {
		r := w.dice("heartbeat", i)
		rtt := roundTrip(r)
		from := source{addr: s.addr, class: Infra}
		var beat func() time.Duration
		switch s.p.name {
		case "a2s":
			beat = func() time.Duration {
				p := w.request(from, vm, join.request, "q")
				w.after(rtt, func() {
					n := r.Uint32() >> 1
					w.answer(p, join, join.reply, []string{single + "s\n" + le32(n)}, true)
					w.after(3*time.Millisecond, func() {
						w.notice(from, valveMaster, "valve-master", "heartbeat", fmt.Sprintf(
							"0\n\\protocol\\17\\challenge\\%d\\players\\%d\\max\\32\\bots\\0\\gamedir\\cstrike\\map\\de_dust2\\password\\0\\os\\l\\lan\\0\\region\\3\\type\\d\\secure\\1\\version\\6630498\\product\\cstrike\n", n, s.players))
					})
				})
				return 60 * time.Second
			}
		case "quake3":
			beat = func() time.Duration {
				w.notice(from, quake3Master, "quake3-master", "heartbeat", single+"heartbeat QuakeArena-1\n")
				w.after(rtt, func() {
					master := source{addr: quake3Master, class: Infra}
					k := call{session: r.Uint32() >> 1}
					q := s.p.queries[0]
					p := w.request(master, s, q.request, q.ask(s, k))
					w.after(2*time.Millisecond, func() { w.serve(p, q, k, false, false) })
				})
				return 30 * time.Second
			}
		default:
			continue
		}
		w.repeat(between(r, 0, 30*time.Second-1), w.o.Span, beat)
	}
}

// strangers are traffic of no game: name lookups, and a call.
func (w *world) strangers() {
	r := w.dice("strangers", 0)
	host := netip.MustParseAddr("198.51.100.200")
	resolver := source{addr: netip.MustParseAddrPort("203.0.113.53:53"), class: Foreign}
	w.repeat(0, w.o.Span, func() time.Duration {
		from := source{addr: netip.AddrPortFrom(host, uint16(20000+r.IntN(40000))), class: Foreign}
		id := string([]byte{byte(r.Uint32()), byte(r.Uint32())})
		const name = "\x05stats\x07example\x03org\x00\x00\x01\x00\x01"
		w.unknown(from, resolver.addr, id+"\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"+name)
		w.after(between(r, 5*time.Millisecond, 30*time.Millisecond), func() {
			w.unknown(resolver, from.addr, id+"\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00"+name+"\xc0\x0c\x00\x01\x00\x01\x00\x00\x01\x2c\x00\x04\xc0\x00\x02\x50")
		})
		return spread(r, 400*time.Millisecond)
	})
	voice := source{addr: netip.MustParseAddrPort("198.51.100.201:40000"), class: Foreign}
	n := uint32(0)
	w.repeat(0, w.o.Span, func() time.Duration {
		n++
		b := []byte("\x80\x60")
		b = binary.BigEndian.AppendUint16(b, uint16(n))
		b = binary.BigEndian.AppendUint32(b, n*160)
		b = append(b, "\x5a\x12\x77\x03"...)
		for len(b) < 172 {
			b = append(b, byte(r.Uint32()))
		}
		w.unknown(voice, netip.MustParseAddrPort("203.0.113.60:41000"), string(b))
		return 50 * time.Millisecond
	})
}
