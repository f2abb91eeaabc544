package stats

import (
	"cmp"
	"math"
	"slices"
)

// Looks count what a forger cannot hide of requests without a proof: those of calm seconds, and those of seconds in which far more came.
type looks struct {
	n        uint64
	squares  uint64      // of what each that was looked at counts as
	hops     [256]uint32 // by hop limit
	nets     [256]uint32 // by the first octet of an IPv4 source, the third of an IPv6 source
	odd      uint32      // sources that do not exist in the internet
	steps    uint32      // IP identifications that follow the one before; of IPv6, sources of the network of the one before
	port     uint16      // the source port that most have, if one has more than all the others together
	votes    int64       // at least by how many it has more
	same     uint32      // payloads that are the same as the first
	payload  uint64      // checksum of the first, 0 if unknown
	distinct bool        // merged with others that had another first payload
}

// A glance is what looks count of a request.
type glance struct {
	hops, net       uint8
	port            uint16
	odd, step, same bool
}

// count counts a request, or takes it back.
func (l *looks) count(g glance, one uint32) {
	l.n += uint64(int32(one))
	l.squares += uint64(int32(one)) * uint64(max(int32(one), 1))
	l.vote(g.port, int64(int32(one)))
	l.hops[g.hops] += one
	l.nets[g.net] += one
	if g.odd {
		l.odd += one
	}
	if g.step {
		l.steps += one
	}
	if g.same {
		l.same += one
	}
}

// vote finds the source port that most have, by the majority vote of Boyer and Moore.
func (l *looks) vote(port uint16, n int64) {
	if l.votes -= either(port == l.port, -n, n); l.votes < 0 {
		l.port, l.votes = port, -l.votes
	}
}

// glanceAt looks at a request.
func glanceAt(m *message, id uint16, payload *uint64) (g glance) {
	g.hops, g.port = m.hops, m.port
	g.net, g.odd = placeOf(&m.other)
	if g.step = m.id == id; m.other.V4 {
		g.step = m.id-id-1 < nearID && m.id != 0
	}
	if m.payload != 0 {
		if *payload == 0 {
			*payload = m.payload
		}
		g.same = *payload == m.payload
	}
	return g
}

// placeOf returns the octet of an address that looks count, and whether no host in the internet has it.
func placeOf(k *key) (net uint8, odd bool) {
	hi, lo := k.Hi, k.Lo
	if k.V4 {
		return byte(lo >> 24), impossible([4]byte{byte(lo >> 24), byte(lo >> 16), byte(lo >> 8)})
	}
	return byte(hi >> 40), hi>>61 != 1 || hi>>32 == 0x20010db8 // people's addresses share the first two octets with millions, and the third with their provider
}

// nearID is how far identifications of one machine may lie apart: its conversations lie in several shards.
const nearID = 256

// impossible reports whether no host in the internet has an IPv4 address: RFC 6890, without 100.64.0.0/10.
func impossible(b [4]byte) bool {
	switch b[0] {
	case 0, 10, 127:
		return true
	case 169:
		return b[1] == 254
	case 172:
		return b[1]&0xf0 == 16
	case 192:
		return b[1] == 168 || b[1] == 0 && b[2]&^2 == 0
	case 198:
		return b[1]&^1 == 18 || b[1] == 51 && b[2] == 100
	case 203:
		return b[1] == 0 && b[2] == 113
	}
	return b[0] >= 224
}

func (l *looks) merge(o *looks) {
	if o.n == 0 {
		return
	}
	for i := range l.hops {
		l.hops[i] = addSaturated(l.hops[i], o.hops[i])
		l.nets[i] = addSaturated(l.nets[i], o.nets[i])
	}
	l.odd, l.steps = addSaturated(l.odd, o.odd), addSaturated(l.steps, o.steps)
	l.vote(o.port, o.votes)
	switch {
	case l.n == 0:
		l.payload, l.same, l.distinct = o.payload, o.same, o.distinct
	case l.payload != o.payload || o.distinct:
		l.distinct = true
	default:
		l.same = addSaturated(l.same, o.same)
	}
	l.n += o.n
	l.squares += o.squares
}

// A burst is what looks count in two seconds in which far more came than usually, or in more if there were many.
type burst struct {
	looks
	from, to int64 // the first of these seconds, and the last
}

// bursts are at most maxBursts, by time.
type bursts []burst

const maxBursts = 32

// at returns what looks count of the burst of a second.
func (l *bursts) at(second int64) *looks {
	for i := len(*l) - 1; i >= 0; i-- {
		if b := &(*l)[i]; second >= b.from && second <= b.to {
			return &b.looks
		}
	}
	l.add(&burst{from: second &^ 1, to: second | 1})
	return l.at(second)
}

// add adds a burst. If there are too many, those are joined that are nearest to each other.
func (l *bursts) add(b *burst) {
	i, _ := slices.BinarySearchFunc(*l, b.from, func(b burst, from int64) int { return cmp.Compare(b.from, from) })
	*l = slices.Insert(*l, i, *b)
	for len(*l) > 1 {
		nearest, least := 0, int64(math.MaxInt64)
		for i := range (*l)[1:] {
			if both := (*l)[i+1].to - (*l)[i].from; both < least {
				nearest, least = i, both
			}
		}
		if least > 1 && len(*l) <= maxBursts {
			return
		}
		(*l)[nearest].merge(&(*l)[nearest+1])
		*l = slices.Delete(*l, nearest+1, nearest+2)
	}
}

func (b *burst) merge(o *burst) {
	b.from, b.to = min(b.from, o.from), max(b.to, o.to)
	b.looks.merge(&o.looks)
}

// of returns one burst of all those that fit.
func (l bursts) of(fits func(from, to int64) bool) burst {
	all := burst{from: math.MaxInt64, to: math.MinInt64}
	for b := range each(l) {
		if fits(b.from*1e9, (b.to+1)*1e9) {
			all.merge(b)
		}
	}
	return all
}

// A watch decides which seconds are calm, by the mean of the calm ones before.
type watch struct {
	second, seconds int64 // the newest, and how many were calm
	now             uint32
	pass            uint32 // how many come before the next that is looked at
	limit           uint32
	hot             bool
	id              uint16 // the newest IP identification
	began           bool
	first           [calmFirst]glance // requests of the second, until it is known to be hot
}

// calmFirst is how many requests of a second are taken back if it turns out to be hot.
const calmFirst = 64

// calmest is how many requests of a second more than usual are calm in one shard: fewer than those of an event.
const calmest = eventLeast / shards

// calmBegin is how many are calm until it is known what is usual.
const calmBegin = 12

// see counts a request, and reports whether it belongs to a second in which far more came than usually.
func (w *watch) see(s int64, calm uint64) bool {
	if s > w.second || s < w.second-1 || !w.began { // what comes late counts in the second that has begun
		w.turn(s, calm)
	}
	if w.now++; w.now > w.limit {
		w.hot = true
	}
	return w.hot
}

// turn begins another second.
func (w *watch) turn(s int64, calm uint64) {
	if past := s - w.second; w.began && past > 0 {
		if w.hot = w.hot && w.now > w.limit && past == 1; !w.hot {
			w.seconds++
		}
		w.seconds += past - 1
	}
	w.began, w.second, w.now, w.pass = true, s, 0, 0
	mean := uint32(min(calm/uint64(max(w.seconds, 1)), 1<<30))
	w.limit = max(mean+calmest, eventFactor*mean)
	if w.seconds < leastCalm {
		w.limit = max(w.limit, calmBegin)
	}
}

// Of the requests of a second, lookAll are looked at, and then each of lookEach, which counts as many. Fewer would make addresses look less
// evenly spread than they are.
const (
	lookAll  = 1 << 12
	lookEach = 8
)

// look records the looks of a request without a proof in a second.
func (m *more) look(r *message, second int64) {
	w := &m.watch
	was, id, one := w.hot, w.id, uint32(1)
	w.id = r.id
	hot := w.see(second, m.calm.n)
	if hot && !was { // the first requests of the second are as hot
		for _, g := range w.first[:min(w.now-1, calmFirst)] {
			m.calm.count(g, ^uint32(0))
			m.hot.at(second).count(g, 1)
		}
	}
	if hot && w.now >= lookAll {
		w.pass = lookEach - 1 - w.now%lookEach
	}
	if w.now > lookAll {
		if one = lookEach; w.now%lookEach != 0 {
			return
		}
	}
	l := &m.calm
	if hot {
		l = m.hot.at(second)
	}
	g := glanceAt(r, id, &m.calm.payload)
	l.payload = m.calm.payload
	if l.count(g, one); !hot && w.now <= calmFirst {
		w.first[w.now-1] = g
	}
}
