package stats

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/qdissect/qdissect/internal/nettext"
)

// A client is what is counted for an address that asks, with its key in two cache lines: in a flood, most ask once. past is never nil: that of a client
// that asked once and got no reply is noPast.
type client struct {
	requests, bytesIn uint64
	lived
	server      uint64 // hash of the first one that it asked
	kind        uint16 // the first one, plus one
	least, most uint16 // source ports of its requests, the least plus one
	tracked     bool   // the set of the limits has room for it
	burst       uint8  // packets since its buckets were full, while these are few; else 0
	known       bool   // it asked before the span that is counted, see [Aggregate.Next]
	*past
}

// A past is what is counted for a client that asks again, or gets replies.
type past struct {
	replies, data      uint64 // data are the replies that are not only a challenge
	challenged, proven uint64 // challenges that it got, requests that carry one that it got
	bytesOut           uint64
	second             int64 // the newest
	inSecond, peak     uint32
	passed             int64 // time of the newest request for tokens
	cells              *cells
	kinds              [4]kindCount
	strange            *strange               // nil if there are none
	servers            [8]uint64              // bits of hashes
	tokens             [len(perAddress)]int64 // in the buckets; in a burst, the times between its packets
	dropped            [len(perAddress)]uint32
	spare              spare
	others             uint64 // distinct servers of the shards that were merged
	refused            uint32 // ICMP errors about what was sent to it
}

// noPast is that of clients without one, and is never written.
var noPast past

// A strange counts replies that no request had asked for.
type strange struct {
	unasked, bytes uint64
	servers        [serverBits / 64]uint64 // of hashes
	lived
}

// count counts a reply of a server.
func (s *strange) count(t int64, server, size uint64) {
	s.at(t)
	s.unasked++
	s.bytes += size
	s.servers[server>>6%uint64(len(s.servers))] |= 1 << (server % 64)
}

func (s *strange) merge(o *strange) {
	s.reach(&o.lived)
	s.unasked += o.unasked
	s.bytes += o.bytes
	for i, w := range o.servers {
		s.servers[i] |= w
	}
}

// reflectors returns the number of distinct servers.
func (s *strange) reflectors() uint64 { return min(linearCount[ones(s.servers[:])], s.unasked) }

// ones returns the number of bits that are set.
func ones(words []uint64) int { return nettext.Sum(words, bits.OnesCount64) }

// single reports whether the client has no past.
func (c *client) single() bool { return c.past == &noPast || c.past == nil }

// own returns the past of a client, which is new for one that had none.
func (c *client) own(room *stock[*past]) *past {
	if c.single() {
		c.past = room.take()
		c.recall(c.past)
	}
	return c.past
}

// recall writes the only request of a client to its past.
func (c *client) recall(p *past) {
	if c.requests == 0 {
		return
	}
	p.second, p.inSecond, p.peak, p.passed = floorDiv(c.first, int64(time.Second)), 1, 1, c.first
	p.kinds[0] = kindCount{c.kind, 1}
	p.asks(c.server)
}

type kindCount struct {
	kind uint16 // index plus one
	n    uint32
}

// perAddress are the limits per second and address whose effect is simulated.
var perAddress = [...]int64{1, 2, 5, 10, 20, 50}

// costs are the times that a packet takes from the buckets of these limits, mosts those that the buckets hold, and fulls what one
// packet leaves of them.
var costs, mosts, fulls = func() (c, m, f [len(perAddress)]int64) {
	for i, n := range perAddress {
		c[i] = int64(time.Second) / n
		m[i] = c[i] * burstOf(n)
		f[i] = m[i] - c[i]
	}
	return c, m, f
}()

// leastBurst is the smallest of them.
const leastBurst = 5

// burstOf returns the burst of a limit: nft's default, or a second's worth.
func burstOf(n int64) int64 { return max(n, leastBurst) }

// The set of the rule holds elements for setTime after their last packet. The kernel looks for expired ones once a
// second.
const (
	setSize  = 65535
	setTime  = int64(2 * time.Second)
	setSwept = int64(time.Second)
)

// A class is what a client proved: that it hears the server, nothing, or that it does not come back with challenges.
type class uint8

const (
	finished class = iota
	mute
	never
	classes
)

// class classifies a client by what it proved.
func (c *client) class() class {
	switch {
	case c.proven > 0:
		return finished
	case c.challenged > 0 && c.data == 0:
		return never
	}
	return mute
}

// distinctServers returns the number of distinct servers, of which an estimate may be too high.
func (c *client) distinctServers() uint64 { return min(c.past.distinctServers(), c.requests) }

func (c *past) distinctServers() uint64 {
	return either(c.others > 0, c.others, linearCount[ones(c.servers[:])])
}

// about says how many distinct servers there are by their bits, which do not tell very many apart.
func about(servers uint64) string {
	const most = 2000
	return either(servers > most, "about "+number(most)+" or more", "about "+number(servers))
}

// serverBits is the number of bits for servers.
const serverBits = 512

// linearCount is the number of servers by the number of bits that are set (Whang and others, 1990).
var linearCount = func() (counts [serverBits + 1]uint64) {
	// The number of distinct values that leaves u of m bits empty is m·ln(m/u), or the harmonic sum.
	sum := 0.0
	for n := range counts {
		counts[n] = nearest(sum)
		if n < serverBits {
			sum += serverBits / float64(serverBits-n)
		}
	}
	return counts
}()

func (c *past) asks(server uint64) { c.servers[server>>6%8] |= 1 << (server % 64) }

// ports extends the range of source ports; least is the lowest plus one, 0 for none.
func (c *client) ports(least, most uint16) {
	if least != 0 && (c.least == 0 || least < c.least) {
		c.least = least
	}
	c.most = max(c.most, most)
}

// pace counts a request in its second.
func (c *past) pace(second int64) {
	if second != c.second {
		c.second, c.inSecond = second, 0
	}
	c.inSecond++
	c.peak = max(c.peak, c.inSecond)
}

// limit simulates nft's limits for a request: a bucket of time per address, from which each packet takes what one costs
// (net/netfilter/nft_limit.c).
func (c *client) limit(t int64, s *set) {
	past := max(t-c.passed, 0) // times of merged captures may be out of order
	c.passed = max(c.passed, t)
	switch {
	case !c.tracked || past > setTime:
		if !c.tracked || past > setTime+setSwept {
			if c.tracked = s.add(t); !c.tracked {
				return
			}
		}
		c.burst = 1
	case c.burst == 0:
		c.spend(past)
	case c.burst < leastBurst: // whatever the limit, it is not dropped
		c.tokens[c.burst-1] = past
		c.burst++
	default:
		pasts := c.tokens
		c.burst, c.tokens = 0, fulls
		for _, past := range pasts[:leastBurst-1] {
			c.spend(past)
		}
		c.spend(past)
	}
}

// spend takes what a packet costs from the buckets, a time after the packet before.
func (c *client) spend(past int64) {
	for i := range c.tokens {
		tokens := min(c.tokens[i]+past, mosts[i])
		if cost := costs[i]; tokens >= cost {
			tokens -= cost
		} else {
			c.dropped[i]++
		}
		c.tokens[i] = tokens
	}
}

// A set simulates the room in the set of the limits: elements leave it a while after they came.
type set struct {
	most   uint32
	n      uint32
	slots  [12]uint32 // elements by the time of their coming
	newest int64
	until  int64 // the end of the newest slot
	at     uint8 // its index
}

const setSlot = (setTime + setSwept) / 10

// add reports whether there is room for another element.
func (s *set) add(t int64) bool {
	if t >= s.until {
		s.turn(t)
	}
	if s.n >= s.most {
		return false
	}
	s.slots[s.at]++
	s.n++
	return true
}

// turn begins a slot.
func (s *set) turn(t int64) {
	now := floorDiv(t, setSlot)
	for i := max(s.newest+1, now-int64(len(s.slots))+1); i <= now; i++ {
		at := &s.slots[uint64(i)%uint64(len(s.slots))]
		s.n -= *at
		*at = 0
	}
	s.newest, s.until, s.at = now, timeOf(now+1, setSlot), uint8(uint64(now)%uint64(len(s.slots)))
}

// addClient adds the counts of another shard, or with same those of the same one in another capture. Its kinds have these numbers here.
func (a *Aggregate) addClient(o *entry[client], same bool, kinds []uint16) {
	e := a.clients.find(&o.key, o.sum)
	if e == nil {
		e = a.newClient(&o.key, o.sum)
	}
	e.gain(o)
	c, v := &e.v, &o.v
	p, from := c.own(&a.pasts), v.past
	if v.single() {
		from = new(past)
		v.recall(from)
	}
	if from.cells != nil && p.cells == nil {
		if p.cells = a.takePath(c.requests + v.requests); p.cells != nil && c.began {
			c.evenly(p.cells)
		}
	}
	if p.cells != nil && from.cells != nil {
		p.cells.merge(from.cells)
	} else if p.cells != nil && v.began {
		v.evenly(p.cells)
	}
	empty := !c.began && p.others == 0
	c.requests += v.requests
	c.bytesIn += v.bytesIn
	c.reach(&v.lived)
	if c.ports(v.least, v.most); empty {
		p.take(from, kinds)
	} else {
		p.merge(from, kinds)
	}
	if !same {
		p.others += min(from.distinctServers(), v.requests)
	}
}

// take makes a past, for which nothing was counted yet, what o is. Its cells stay.
func (c *past) take(o *past, kinds []uint16) {
	line := c.cells
	*c = *o
	c.second, c.inSecond, c.tokens, c.passed, c.cells = 0, 0, [len(perAddress)]int64{}, 0, line
	for i := range c.kinds {
		if k := &c.kinds[i]; k.kind != 0 {
			k.kind = kinds[k.kind-1] + 1
		}
	}
	if o.strange != nil {
		c.strange = new(strange)
		*c.strange = *o.strange
	}
}

func (c *past) counts() []*uint64 {
	return []*uint64{&c.replies, &c.data, &c.challenged, &c.proven, &c.bytesOut, &c.spare.in, &c.spare.out}
}

// merge adds what o has counted. What is needed for the next message stays as it is.
func (c *past) merge(o *past, kinds []uint16) {
	addTo(c.counts(), o.counts())
	c.peak = max(c.peak, o.peak) // others ask other servers, and what is judged is the pace at one
	for _, k := range o.kinds {
		if k.kind == 0 {
			break
		}
		c.add(kinds[k.kind-1]+1, k.n)
	}
	for i, w := range o.servers {
		c.servers[i] |= w
	}
	if o.strange != nil {
		if c.strange == nil {
			c.strange = new(strange)
		}
		c.strange.merge(o.strange)
	}
	c.refused = addSaturated(c.refused, o.refused)
	for i, n := range o.dropped {
		c.dropped[i] = addSaturated(c.dropped[i], n)
	}
}

// whole returns all messages as if they had come at one time.
func (c *client) whole() cell {
	return cell{requests: c.requests, replies: c.replies, bytesIn: c.bytesIn, bytesOut: c.bytesOut}
}

// evenly adds to a timeline what was counted without one, as evenly as somebody asks who does so often.
func (c *client) evenly(l *cells) {
	all := c.whole()
	if c.requests < leastPath {
		l.peek(c.first).add(&all)
		return
	}
	l.peek(c.first)
	l.peek(c.last)
	for k, n := range all.counts() {
		spread(c.first, c.last+1, *n, widths[l.width], func(t int64, n uint64) { *l.peek(t).counts()[k] += n })
	}
}

// add counts requests of a kind, counted from 1.
func (c *past) add(kind uint16, n uint32) {
	for i := range c.kinds {
		if k := &c.kinds[i]; k.kind == kind || k.kind == 0 {
			k.kind, k.n = kind, addSaturated(k.n, n)
			return
		}
	}
}

// favourite returns the kind that it asked for most often, counted from 1.
func (c *past) favourite() uint16 {
	return slices.MaxFunc(c.kinds[:], func(a, b kindCount) int { return cmp.Compare(a.n, b.n) }).kind
}
