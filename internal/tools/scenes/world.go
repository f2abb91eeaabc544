package scenes

import (
	"cmp"
	"container/heap"
	"encoding/binary"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/qdissect/qdissect/internal/mkpcap"
)

// A Packet is a frame on its way. Frame is borrowed.
type Packet struct {
	At    time.Time
	Frame []byte // Ethernet
	// Class is that of whoever sends it or of whom it answers. ToServer says that it is a
	// request to a game server of the scene, or junk.
	Class    string
	ToServer bool
}

// mtu is the largest IP packet.
const mtu = 1500

// patience is how long a client waits before it asks again, and grace the time before the
// end in which requests are left open.
const (
	patience = 2 * time.Second
	grace    = 5 * time.Second
)

// A world plays actors, ordered by time, and keeps the truth. Each actor has random
// numbers of its own, so that honest traffic is the same in all scenes.
type world struct {
	o       Options
	sink    func(*Packet) error
	err     error
	now     int64 // nanoseconds since the start
	queue   plan
	seq     uint64
	truth   *Truth
	servers []*server
	classes map[string]*Class
	events  []*Event
	clients map[netip.Addr]bool // that sent requests; forged ones are only counted
	sources map[netip.Addr]bool // that sent packets
	byAddr  map[netip.AddrPort]bool
	late    []*pending // from the last seconds
	id      uint16
	packet  Packet
}

// A happening is something that an actor does later.
type happening struct {
	at  int64
	seq uint64
	do  func()
}

// A plan is what is to happen, as a heap.
type plan []happening

func (p plan) Len() int { return len(p) }

func (p plan) Less(i, j int) bool {
	return p[i].at < p[j].at || p[i].at == p[j].at && p[i].seq < p[j].seq
}

func (p plan) Swap(i, j int) { p[i], p[j] = p[j], p[i] }

func (p *plan) Push(h any) { *p = append(*p, h.(happening)) }

func (p *plan) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}

// at plans something at a time.
func (w *world) at(t int64, do func()) {
	w.seq++
	heap.Push(&w.queue, happening{max(t, w.now), w.seq, do})
}

func (w *world) after(d time.Duration, do func()) { w.at(w.now+int64(d), do) }

// repeat plays something from one time to another. do returns how long it is until the next time.
func (w *world) repeat(from, to time.Duration, do func() time.Duration) {
	var next func()
	next = func() {
		if w.now < int64(to) && !w.over() {
			w.after(do(), next)
		}
	}
	w.at(int64(from), next)
}

// run plays everything that was planned, and what follows from it.
func (w *world) run() error {
	for len(w.queue) > 0 && w.err == nil {
		next := heap.Pop(&w.queue).(happening)
		w.now = next.at
		next.do()
	}
	return w.err
}

func (w *world) over() bool { return w.now >= int64(w.o.Span) }

// dice returns random numbers for an actor.
func (w *world) dice(kind string, i int) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(kind))
	return rand.New(rand.NewPCG(w.o.Seed, h.Sum64()+uint64(i)*0x9e3779b97f4a7c15))
}

func between(r *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(r.Int64N(int64(to-from)+1))
}

// spread is exponential with a mean: the time between independent events.
func spread(r *rand.Rand, mean time.Duration) time.Duration {
	return time.Duration(r.ExpFloat64() * float64(mean))
}

// roundTrip returns a client's distance: 10 to 200 ms, most of them short.
func roundTrip(r *rand.Rand) time.Duration { return time.Duration(10e6 * math.Pow(20, r.Float64())) }

// class returns the counts of a class.
func (w *world) class(name string) *Class {
	c := w.classes[name]
	if c == nil {
		c = &Class{Name: name}
		w.classes[name] = c
	}
	return c
}

// A source is an address and port that sends.
type source struct {
	addr  netip.AddrPort
	class string
	event *Event // that it belongs to
	// forged sources are too many to be remembered: fresh says that the address was not
	// used before, and only one flood uses it.
	forged, fresh bool
}

// met counts distinct addresses.
func (w *world) met(from source, s *server) {
	if from.forged {
		if from.fresh {
			s.truth.Clients++
			w.truth.Totals.Clients++
			w.class(from.class).Sources++
			from.event.OwnSources++
		}
		return
	}
	a := from.addr.Addr()
	if !w.clients[a] {
		w.clients[a] = true
		w.truth.Totals.Clients++
		w.class(from.class).Sources++
		if from.event != nil {
			from.event.OwnSources++
		}
	}
	if !s.asked[a] {
		s.asked[a] = true
		s.truth.Clients++
	}
}

// A pending request is one that was written.
type pending struct {
	from    source
	server  *server
	counts  []*Count
	at      int64
	settled bool
	quote   []byte // its IP packet, for ICMP
}

func (p *pending) each(f func(c *Count)) {
	for _, c := range p.counts {
		f(c)
	}
}

// settle says what became of a request; until then it is unanswered.
func (p *pending) settle(f func(c *Count)) {
	if p.settled {
		return
	}
	p.settled = true
	p.each(func(c *Count) {
		c.Unanswered--
		f(c)
	})
}

// named counts a message.
func (w *world) named(protocol, message string) {
	m := w.truth.Messages[protocol]
	if m == nil {
		m = map[string]uint64{}
		w.truth.Messages[protocol] = m
	}
	m[message]++
}

// request writes a request.
func (w *world) request(from source, s *server, message, payload string) *pending {
	p := &pending{from: from, server: s, at: w.now}
	if w.now >= int64(w.o.Span-grace) {
		w.late = append(w.late, p)
	}
	p.counts = append(make([]*Count, 0, 5), &w.truth.Totals.Count, &s.truth.Count, &w.class(from.class).Count)
	if e := from.event; e != nil {
		p.counts = append(p.counts, &e.Own)
		e.touch(w)
	}
	for _, e := range w.events {
		switch {
		case !e.servers[s]:
		case w.now < e.from:
			p.counts = append(p.counts, &e.Before)
		case w.now < e.to:
			p.counts = append(p.counts, &e.During)
		}
	}
	w.met(from, s)
	s.truth.ByClass[from.class]++
	w.named(s.p.name, message)
	size, packet := w.datagram(from, from.addr, s.addr, payload, nil)
	p.quote = packet
	p.each(func(c *Count) {
		c.Requests++
		c.Unanswered++
		c.In.add(size)
	})
	return p
}

func (e *Event) touch(w *world) {
	if e.Last = w.time(); e.First.IsZero() {
		e.First = e.Last
	}
}

// answer writes a reply. It returns false if nothing of it was left to write.
func (w *world) answer(p *pending, q *query, message string, data []string, challenge bool) bool {
	var size Bytes
	complete := 0
	for i, payload := range data {
		lost := 0
		n, _ := w.datagram(source{addr: p.server.addr, class: p.from.class}, p.server.addr, p.from.addr, payload, func(fragment int) bool {
			if p.server.loses == nil || !p.server.loses(q, i, fragment) {
				return false
			}
			lost++
			return true
		})
		if lost == 0 {
			complete++
		}
		size.add(n)
	}
	if size.Packets == 0 {
		return false
	}
	if complete > 0 { // else it is no message
		w.named(p.server.p.name, message)
	}
	p.each(func(c *Count) {
		if complete > 0 {
			c.Replies++
		}
		if challenge {
			c.Challenges++
		}
		c.Out.add(size)
	})
	p.settle(func(c *Count) {
		if complete == len(data) {
			c.Answered++
		} else {
			c.Partial++
		}
	})
	return true
}

// refuse writes an ICMP message: port unreachable.
func (w *world) refuse(p *pending) {
	from, to := p.server.addr.Addr(), p.from.addr.Addr()
	w.icmp(from, to, p.quote, p.from.class)
	p.settle(func(c *Count) { c.Refused++ })
}

func (w *world) icmp(from, to netip.Addr, quote []byte, class string) {
	w.id++
	packet := mkpcap.IP(from, to, w.id, 1, 0, false, false, mkpcap.ICMP(from, to, 3, 3, 0, quote[:min(len(quote), 548)]))
	w.truth.Totals.ICMP++
	w.sources[from] = true
	w.write(from, to, packet, class, false)
}

// notice writes a message that asks for nothing.
func (w *world) notice(from source, to netip.AddrPort, protocol, message, payload string) {
	w.truth.Totals.Notices++
	w.named(protocol, message)
	w.datagram(from, from.addr, to, payload, nil)
}

// unknown writes a datagram of no game.
func (w *world) unknown(from source, to netip.AddrPort, payload string) {
	w.truth.Totals.Unknown++
	if from.fresh {
		w.class(from.class).Sources++
	}
	size, _ := w.datagram(from, from.addr, to, payload, nil)
	if e := from.event; e != nil {
		e.touch(w)
		if e.Own.In.add(size); from.fresh {
			e.OwnSources++
		}
	}
	w.class(from.class).In.add(size)
	for _, s := range w.servers {
		if s.addr == to {
			s.truth.Junk.add(size)
		}
		if s.addr == from.addr {
			s.truth.JunkOut.add(size)
		}
	}
}

// datagram writes a datagram, in fragments if it is long, and returns its size and its
// first IP packet.
func (w *world) datagram(from source, src, dst netip.AddrPort, payload string, loses func(fragment int) bool) (size Bytes, first []byte) {
	segment := mkpcap.UDPSegment(src, dst, []byte(payload))
	// Linux numbers only what it may have to fragment. What attackers send is numbered.
	w.id++
	id := w.id * 40503
	short := 20+len(segment) <= mtu
	plain := short && !(from.class == Forged && src == from.addr)
	if plain {
		id = 0
	}
	const step = (mtu - 20) &^ 7
	whole := true
	for i, at := 0, 0; at < len(segment); i, at = i+1, at+step {
		end := min(at+step, len(segment))
		if short {
			end = len(segment)
		}
		packet := mkpcap.IP(src.Addr(), dst.Addr(), id, 17, at, end < len(segment), false, segment[at:end])
		if plain {
			dontFragment(packet)
		}
		if src == from.addr && !w.byAddr[src] {
			travels(packet, from)
		}
		if i == 0 {
			first = packet
		}
		if loses == nil || !loses(i) {
			n := end - at
			if i == 0 {
				n -= 8
			}
			size.add(Bytes{Packets: 1, Frame: uint64(max(60, 14+len(packet))), IP: uint64(len(packet)), UDP: uint64(n)})
			w.write(src.Addr(), dst.Addr(), packet, from.class, w.byAddr[dst] && src != valveMaster)
		} else {
			whole = false
		}
		if end == len(segment) {
			break
		}
	}
	if whole {
		w.truth.Totals.Datagrams++
	}
	if size.Packets > 0 {
		switch {
		case from.forged && from.fresh:
			w.truth.Totals.Sources++
		case !from.forged:
			w.sources[src.Addr()] = true
		}
		w.truth.Totals.Wire.UDP += size.UDP
	}
	return size, first
}

// dontFragment sets the flag of a packet, and corrects the checksum.
func dontFragment(packet []byte) {
	packet[6] |= 0x40
	sum := uint32(^binary.BigEndian.Uint16(packet[10:])) + 0x4000
	binary.BigEndian.PutUint16(packet[10:], ^uint16(sum+sum>>16))
}

// travels sets the hop limit that is left of a packet that comes from the internet. That of people depends on their networks and on their
// systems; what attackers forge comes from one machine.
func travels(packet []byte, from source) {
	const oneMachine = 243
	left := byte(oneMachine)
	if from.class != Forged {
		a := from.addr.Addr().As4()
		h := (uint32(a[2])*31 + uint32(a[0])) * 2654435761
		left = 64 - byte(6+h>>24%16)
		if h>>20&1 == 0 {
			left += 64
		}
	}
	sum := uint32(^binary.BigEndian.Uint16(packet[10:])) + uint32(^(uint16(packet[8]) << 8)) + uint32(left)<<8
	packet[8] = left
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	binary.BigEndian.PutUint16(packet[10:], ^uint16(sum))
}

// write hands over a frame.
func (w *world) write(src, dst netip.Addr, packet []byte, class string, toServer bool) {
	etherType := []byte{8, 0}
	if w.o.IPv6 {
		if packet, etherType = translated(packet), []byte{0x86, 0xdd}; packet == nil {
			return
		}
	}
	frame := make([]byte, 0, max(60, 14+len(packet)))
	frame = append(frame, 2, 0, 0, 0, 0, dst.As4()[3], 2, 0, 0, 0, 0, src.As4()[3])
	frame = append(append(frame, etherType...), packet...)
	frame = frame[:cap(frame)] // padded
	t := &w.truth.Totals.Wire
	t.Packets++
	t.Frame += uint64(len(frame))
	t.IP += uint64(len(packet))
	w.packet = Packet{w.time(), frame, class, toServer}
	if t.Packets == 1 {
		w.truth.From = w.packet.At
	}
	w.truth.To = w.packet.At
	if w.err == nil {
		w.err = w.sink(&w.packet)
	}
}

// V6 returns the address that stands for an IPv4 address in scenes with IPv6. Checksums stay right (RFC 6052, section 4.1).
func V6(a netip.Addr) netip.Addr {
	b := a.As4()
	return netip.AddrFrom16([16]byte{0x2a, 0, b[0], b[1], b[2], b[3], 14: 0xd5, 15: 0xff})
}

// translated makes an IPv6 packet of an IPv4 packet, nil of one with ICMP.
func translated(packet []byte) []byte {
	if packet[9] != 17 {
		return nil
	}
	src, dst := netip.AddrFrom4([4]byte(packet[12:])), netip.AddrFrom4([4]byte(packet[16:]))
	part := binary.BigEndian.Uint16(packet[6:])
	out := mkpcap.IP(V6(src), V6(dst), binary.BigEndian.Uint16(packet[4:]), 17, int(part&0x1fff)*8, part&0x2000 != 0, part&0x3fff != 0, packet[20:])
	out[7] = packet[8]
	return out
}

// time returns the time as the capture has it.
func (w *world) time() time.Time {
	return w.o.Start.Add(time.Duration(w.now).Truncate(time.Microsecond))
}

// token is the challenge of a server for an address.
func token(s *server, a netip.Addr) uint32 { return Token(s.index, a) }

// Token returns the challenge of the server with an index for an IPv4 address, or for the one that stands for it.
func Token(server int, a netip.Addr) uint32 {
	if a.Is6() {
		a, _ = netip.AddrFromSlice(a.AsSlice()[2:6])
	}
	b := a.As4()
	x := uint64(binary.BigEndian.Uint32(b[:]))<<16 | uint64(server)
	x *= 0x9e3779b97f4a7c15
	x ^= x >> 29
	x *= 0xbf58476d1ce4e5b9
	return uint32(x>>33)&0x7fffffff | 1
}

// finish completes the truth.
func (w *world) finish() {
	t := w.truth
	for _, p := range w.late {
		if w.o.Start.Add(time.Duration(p.at)).After(t.To.Add(-grace)) {
			p.settle(func(c *Count) { c.Open++ })
		}
	}
	t.Totals.Sources += uint64(len(w.sources))
	t.Classes = slices.SortedFunc(maps.Values(w.classes), func(a, b *Class) int { return cmp.Compare(a.Name, b.Name) })
	for _, s := range w.servers {
		if s.truth.Requests > 0 {
			t.Servers = append(t.Servers, s.truth)
		}
	}
	for _, e := range w.events {
		e.finish(w)
	}
	t.Events = append([]*Event{}, w.events...)
}
