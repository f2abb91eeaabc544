package dissect

import (
	"encoding/binary"
	"math"
	"math/bits"
	"net/netip"
	"slices"

	"github.com/qdissect/qdissect/internal/core"
)

// A class is the result of classification.
type class struct {
	protocol  int8 // -1 if there is none
	reason    Reason
	sure      bool   // the payload itself is at least Likely
	also      uint64 // other protocols that may own it, if nothing decides
	undecided uint64 // candidates without enough evidence
	otherwise int8   // used if nothing decides, -1 if there is none; only with undecided
}

// A candidate is a protocol that may own a payload, with the evidence for it.
type candidate struct {
	protocol int8
	verdict  Verdict
	awaited  bool // a request of it is pending in the other direction
	late     bool // one of it expired without a reply
	pinned   bool // the conversation is pinned to it
	port     bool // one of its ports
}

// before orders candidates by evidence: a pending request first, because its reply
// has few shapes; then an unmistakable payload; then a request whose reply is late;
// then the payload; then the conversation; then the port.
func (c *candidate) before(o *candidate) bool {
	switch {
	case c.awaited != o.awaited:
		return c.awaited
	case c.late != o.late && c.verdict < Certain && o.verdict < Certain:
		return c.late
	case c.verdict != o.verdict:
		return c.verdict > o.verdict
	case c.pinned != o.pinned:
		return c.pinned
	case c.port != o.port:
		return c.port
	}
	return c.protocol < o.protocol
}

// classify finds the protocol of a datagram.
func (a *Analyzer) classify(x *arrival) {
	if x.Stream != nil {
		x.protocol, x.sure = a.index(x.Stream), true
		return
	}
	if len(a.config.DecodeAs) > 0 {
		if p := a.forced(x.Src.Port(), x.Dst.Port()); p != nil {
			x.class = class{protocol: a.index(p), reason: core.ByUser, sure: true}
			return
		}
	}
	set := uint64(0) // those that may own it by its signature or its ports
	if len(x.Payload) > 0 {
		set = a.of(x.Payload, x.Missing) | a.byPort(x.Src.Port(), x.Dst.Port())
	}
	if set&(set-1) != 0 && a.config.Unreasoned && a.replies(x, set) {
		return
	}
	found := a.candidates(x, set)
	switch {
	case len(found) == 0:
		x.protocol = -1
	case len(found) == 1 && found[0].verdict >= Likely:
		x.protocol, x.sure = found[0].protocol, true
	default:
		x.class = a.choose(x, found)
	}
}

// forced returns the protocol that [Config.DecodeAs] assigns to a pair of ports, nil
// if there is none.
func (a *Analyzer) forced(src, dst uint16) *Protocol {
	for _, port := range [...]uint16{dst, src} {
		if p := a.config.DecodeAs[port]; p != nil && p.Stream == nil {
			return p
		}
	}
	return nil
}

// replies classifies a datagram, which several protocols may own, if all requests that it may
// answer are of one of them. It is chosen in any case if it finds the payload likely: the
// verdicts of the others would only change the reason.
func (a *Analyzer) replies(x *arrival, set uint64) bool {
	if x.flow == none {
		return false
	}
	p := a.tracker.awaited(x.flow, x.ends.up)
	if p < 0 || set&a.kin[p] != 1<<p {
		return false
	}
	if a.current = p; a.protocols[p].Detect(head(x.Payload)) < Likely {
		return false
	}
	x.protocol, x.sure = p, true
	return true
}

// head returns the bytes of a payload that a detector may read.
func head(payload []byte) []byte { return payload[:min(len(payload), detectBytes)] }

// candidates returns those of a set of protocols that may own the payload of a datagram, judged
// by its bytes alone.
func (a *Analyzer) candidates(x *arrival, set uint64) []candidate {
	head := head(x.Payload)
	found, n := &a.found, 0 // on the stack it would be cleared every time
	for ; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		a.current = int8(i)
		if v := a.protocols[i].Detect(head); v != No {
			found[n] = candidate{protocol: int8(i), verdict: v}
			n++
		}
	}
	return found[:n]
}

// choose selects a candidate by the conversation and the ports.
func (a *Analyzer) choose(x *arrival, found []candidate) class {
	ports := a.ofPorts(x.Src.Port(), x.Dst.Port())
	awaited := 0
	for i := range found {
		c := &found[i]
		x.undecided |= 1 << c.protocol
		c.port = ports>>c.protocol&1 != 0
		if f := a.conversation(x); f != nil {
			c.pinned = f.protocol == c.protocol
			if c.awaited = a.tracker.awaits(x.flow, x.ends.up, c.protocol, 0, false); c.awaited {
				awaited++
			} else {
				c.late = a.tracker.awaits(x.flow, x.ends.up, c.protocol, 0, true)
			}
		}
		for j := i; j > 0 && found[j].before(&found[j-1]); j-- {
			found[j], found[j-1] = found[j-1], found[j]
		}
	}
	best := &found[0]
	if awaited > 1 {
		best = a.byTopic(x, found[:awaited])
	}
	best.awaited = best.awaited || best.late
	c := class{protocol: best.protocol, sure: best.verdict >= Likely}
	if !c.sure {
		return a.lift(x, c, best, found)
	}
	tied := a.tied(best, found)
	if tied == 0 {
		return c
	}
	if !best.awaited {
		for m := tied | 1<<best.protocol; m != 0; m &= m - 1 {
			i := int8(bits.TrailingZeros64(m))
			if p := a.protocols[i]; p.Confirm != nil && p.Confirm(x.Payload) {
				return class{protocol: i, sure: true}
			}
		}
	}
	switch {
	case best.awaited:
		c.reason = core.ByRequest
		c.also = tied & a.tracker.alsoAwaits(x.flow, x.ends.up, best.protocol)
	case best.pinned:
		c.reason = core.ByFlow
	default:
		return a.byServer(x, c, best, tied)
	}
	return c
}

// lift classifies a payload that no protocol finds likely: a pending request, what the server spoke, the
// conversation or the port decides, or among two of the port the reply to come.
func (a *Analyzer) lift(x *arrival, c class, best *candidate, found []candidate) class {
	p, to := int8(-1), false
	if !best.awaited && !best.pinned {
		p, to = a.spoken(&x.ends, x.undecided)
	}
	switch {
	case best.awaited:
		c.reason = core.ByRequest
	case best.pinned:
		c.reason = core.ByFlow
	case p >= 0 && p != best.protocol && a.readable(x.Datagram, p):
		c = class{protocol: p, reason: core.ByServer}
	case best.port && best.verdict > Doubtful:
		c.reason = core.ByPort
	case to && p == best.protocol && best.verdict > Doubtful:
		c.reason = core.ByServer
	default:
		if p := a.protocols[best.protocol]; p.Confirm != nil && p.Confirm(x.Payload) {
			return class{protocol: best.protocol, sure: true}
		}
		if p := a.echoed(x); p >= 0 {
			return class{protocol: p, reason: core.ByRequest, sure: true}
		}
		return class{protocol: -1, undecided: x.undecided, otherwise: -1}
	}
	// With weak evidence, a payload that contradicts the protocol belongs to
	// another one and is not malformed, unless it returns what the client chose.
	f := a.conversation(x)
	weak := c.reason == core.ByPort || f == nil || f.sure != best.protocol
	if weak && (!best.awaited && a.foreign.has(&x.ends) || !a.readable(x.Datagram, best.protocol) && !(best.awaited && a.returns(x, best.protocol))) {
		return class{protocol: -1}
	}
	rivals := a.tied(best, found) & a.ofPorts(x.Src.Port(), x.Dst.Port())
	if c.reason == core.ByPort && rivals != 0 && len(x.Payload) <= detectBytes && a.oneWire(rivals|1<<best.protocol) {
		c.undecided, c.otherwise, c.protocol = x.undecided, best.protocol, -1
	}
	return c
}

// returns reports whether a datagram, which was tried as one of a protocol, has an id of 32 bits or more that a pending request chose.
func (a *Analyzer) returns(x *arrival, protocol int8) bool {
	x.protocol = protocol
	p := &a.tried.Pair
	return p.ID>>32 != 0 && p.ID != AnyID && a.tracker.awaitsTopics(x, p.Answers, &p.ID)
}

// tied returns the protocols with the same verdict as the best one, without the best
// one and its family.
func (a *Analyzer) tied(best *candidate, found []candidate) uint64 {
	m := uint64(0)
	for i := range found {
		if c := &found[i]; c.verdict == best.verdict && !a.tracker.related(c.protocol, best.protocol) {
			m |= 1 << c.protocol
		}
	}
	return m
}

// byServer selects between protocols that find a payload equally likely in a new
// conversation: by what the server spoke with others, then by the reply to come,
// then by the port. If nothing decides, the message is ambiguous.
func (a *Analyzer) byServer(x *arrival, c class, best *candidate, tied uint64) class {
	both := tied | 1<<best.protocol
	if p, _ := a.spoken(&x.ends, both); p >= 0 {
		return class{protocol: p, reason: core.ByServer, sure: true}
	}
	if c.reason, c.also = core.ByHeader, tied; best.port {
		c.reason, c.also = core.ByPort, 0
	}
	if len(x.Payload) <= detectBytes && a.oneWire(both) {
		c.undecided, c.otherwise, c.protocol = x.undecided, best.protocol, -1
	}
	return c
}

// spoken returns the protocol of a set that the server spoke with others, -1 if it spoke none, and whether it is the server that a datagram
// goes to: one that asks others speaks their protocols as well.
func (a *Analyzer) spoken(e *ends, set uint64) (p int8, to bool) {
	for _, up := range [...]bool{e.up, !e.up} {
		end := e.key.server(up)
		for _, known := range [...]*recent[serverKey, int8]{a.tracker.servers.spoke, a.tracker.hearsay.spoke} {
			if p := known.find(&end); p != nil && set>>*p&1 != 0 {
				return *p, up == e.up
			}
		}
	}
	return -1, false
}

// oneWire reports whether all protocols of a set share one wire format, so that a
// reply may decide between them.
func (a *Analyzer) oneWire(set uint64) bool {
	wire := a.protocols[bits.TrailingZeros64(set)].Wire
	for m := set; m != 0; m &= m - 1 {
		if a.protocols[bits.TrailingZeros64(m)].Wire != wire {
			return false
		}
	}
	return wire != ""
}

// Candidate reports whether any protocol may own a payload between two ports. It
// looks at the first three bytes only. If it is false, the datagram needs only to be
// counted.
func (a inner) Candidate(srcPort, dstPort uint16, payload []byte) bool {
	s := a.signatures
	if len(payload) >= 2 {
		if s.pairs.has(pair(payload[0], payload[1])) || s.portsOnly.has(srcPort) || s.portsOnly.has(dstPort) {
			return true
		}
		// The capture may have cut it.
		if n := size(payload); n >= len(payload) && n <= mtu && s.sized != 0 || s.byKey(payload) != 0 {
			return true
		}
	} else if len(payload) == 1 && (s.starts[payload[0]] != 0 || s.portsOnly.has(srcPort) || s.portsOnly.has(dstPort)) {
		return true
	}
	return len(a.config.DecodeAs) > 0 && a.forced(srcPort, dstPort) != nil
}

// byTopic selects, among several protocols with a pending request, the one whose
// request asks for what this reply states.
func (a *Analyzer) byTopic(x *arrival, found []candidate) *candidate {
	for i := range found {
		m := a.try(x.Datagram, found[i].protocol)
		if m.Pair.Answers != 0 && a.tracker.awaits(x.flow, x.ends.up, found[i].protocol, m.Pair.Answers, false) {
			return &found[i]
		}
	}
	return &found[0]
}

// readable reports whether a protocol can decode a datagram to its end.
func (a *Analyzer) readable(d *Datagram, protocol int8) bool {
	a.try(d, protocol)
	return !a.reader.Failed()
}

// try decodes a datagram without reporting it. Parts of split messages count as
// readable and yield an empty message.
func (a *Analyzer) try(d *Datagram, protocol int8) *Message {
	a.current = protocol
	p := a.protocols[protocol]
	m := &a.tried
	*m = Message{}
	core.Reset(&a.reader, d.Payload, d.Frame, false)
	if p.Split != nil {
		if _, ok := p.Split.Read(d.Payload, 0); ok {
			return m
		}
	}
	a.decoders[protocol].Decode(&a.reader, m)
	return m
}

// Recognise returns the protocol of a payload between two addresses, nil if there is
// none. It serves payloads that were captured in part.
func (a inner) Recognise(src, dst netip.AddrPort, payload []byte) *Protocol {
	a.stand = Datagram{Src: src, Dst: dst, Payload: payload}
	x := a.queue.begin(&a.stand, nil)
	a.queue.on, x.stopped = x, true
	defer a.contain()
	a.find(x)
	a.classify(x)
	if x.undecided != 0 { // and protocol is -1
		x.protocol = x.otherwise
	}
	if x.protocol < 0 {
		return nil
	}
	return a.protocols[x.protocol]
}

// Ambiguous names the protocols that a message could belong to because nothing
// decided between them.
type Ambiguous struct {
	// Protocol is the index of the likeliest in Config.Protocols, Others is the
	// set of the others, one bit each.
	Protocol int
	Others   uint64
}

// maxAmbiguous bounds the combinations that are counted separately: few wire
// formats are shared by protocols.
const maxAmbiguous = 16

// countAmbiguous counts a message that could belong to other protocols as well.
func (s *Stats) countAmbiguous(k Ambiguous) {
	if _, known := s.Ambiguous[k]; known || len(s.Ambiguous) < maxAmbiguous {
		s.Ambiguous[k]++
	}
}

// maxForeignFlows is the number of conversations of other engines that are
// remembered.
const maxForeignFlows = 64

// foreignFlows remembers the newest conversations that begin with a connection
// request of a Quake engine. A port alone does not make later datagrams of them
// queries of Valve: the "connected" of QuakeWorld has the bytes of a ping reply.
type foreignFlows struct {
	hashes [maxForeignFlows]uint32
	next   uint8
}

// see remembers the conversation of an unrecognised connection request.
func (s *foreignFlows) see(x *arrival) {
	const connect = "\xff\xff\xff\xffconnect"
	if len(x.Payload) <= len(connect) || string(x.Payload[:len(connect)]) != connect {
		return
	}
	if rest := x.Payload[len(connect):]; len(rest) > 3 && rest[0] == ' ' && rest[1] == '4' && rest[2] >= '5' && rest[2] <= '8' && rest[3] == ' ' {
		return // the protocols of Half-Life
	}
	s.hashes[s.next%uint8(len(s.hashes))] = x.ends.hash
	s.next++
}

// has reports whether a conversation is among them.
func (s *foreignFlows) has(e *ends) bool { return slices.Contains(s.hashes[:], e.hash) }

// appendSet appends the protocols of a bit set.
func appendSet(dst, protocols []*Protocol, set uint64) []*Protocol {
	for ; set != 0; set &= set - 1 {
		dst = append(dst, protocols[bits.TrailingZeros64(set)])
	}
	return dst
}

// signatures are the first bytes, lengths and ports by which protocols are known, each
// as a set of protocols. Analyzers share them.
type signatures struct {
	starts    [256]uint64          // by the first byte
	pairs     numbers              // two bytes with which any begins
	after     [256]uint64          // by the byte after FF FF FF FF
	letters   [256]uint64          // the same, those with no word there
	words     [wordSets]uint64     // by the word after FF FF FF FF, see wordSet
	sized     uint64               // those whose payloads begin with their length
	keyed     []keyed              // those whose first byte is a key
	keys      numbers              // the first and the third byte that fit any of them
	known     numbers              // ports of any protocol
	before    [1 << 16 / 64]uint16 // how many of them are in the words of known before each
	ports     []uint64             // the protocols of each of them, in their order
	unsigned  uint64               // those without a signature, known by their ports alone
	portsOnly numbers              // the ports of these
	kin       [maxProtocols]uint64 // each with those of its family
}

// numbers is a set of numbers of 16 bits; it fits into the nearest cache.
type numbers [1 << 16 / 64]uint64

func (s *numbers) has(n uint16) bool { return s[n/64]>>(n%64)&1 != 0 }

func (s *numbers) add(n uint16) { s[n/64] |= 1 << (n % 64) }

// A keyed is a protocol with [Protocol.Keyed], as a set.
type keyed struct {
	third *[256]byte
	set   uint64
}

// fill takes in the declarations of protocols.
func (s *signatures) fill(protocols []*Protocol) {
	n := 0
	for _, p := range protocols {
		for _, port := range datagramPorts(p) {
			s.known.add(port)
		}
	}
	for i, word := range s.known {
		s.before[i] = uint16(n)
		n += bits.OnesCount64(word)
	}
	s.ports = make([]uint64, n)
	for i, p := range protocols {
		bit := uint64(1) << i
		for _, start := range p.Starts {
			s.begin(start, bit)
		}
		if p.Sized {
			s.sized |= bit
		}
		if p.Keyed != nil {
			s.keyed = append(s.keyed, keyed{p.Keyed, bit})
			for first, third := range p.Keyed {
				s.keys.add(pair(byte(first), third))
			}
		}
		for _, port := range datagramPorts(p) {
			s.ports[s.place(port)] |= bit
			if p.unsigned() {
				s.portsOnly.add(port)
			}
		}
		if p.unsigned() && p.Stream == nil {
			s.unsigned |= bit
		}
		for j, o := range protocols {
			if i == j || p.Family != "" && p.Family == o.Family {
				s.kin[i] |= 1 << j
			}
		}
	}
}

// datagramPorts returns the ports that a protocol has for datagrams.
func datagramPorts(p *Protocol) []uint16 {
	if p.Stream != nil {
		return nil
	}
	return p.Ports
}

// begin adds what payloads of a protocol can begin with.
func (s *signatures) begin(start string, bit uint64) {
	first := start[0]
	s.starts[first] |= bit
	if len(start) > 1 {
		s.pairs.add(pair(first, start[1]))
	} else {
		at := int(pair(first, 0)) / 64
		for i := range 256 / 64 { // whatever the second is
			s.pairs[at+i] = math.MaxUint64
		}
	}
	n := min(len(start), len(header))
	switch rest := start[n:]; {
	case start[:n] != header[:n]:
	case len(rest) >= wordBytes:
		s.words[wordSet(binary.LittleEndian.Uint32([]byte(rest)), rest[wordBytes-1])] |= bit
		s.after[rest[0]&^caseBit] |= bit
		s.after[rest[0]|caseBit] |= bit
	case len(rest) > 0:
		s.after[rest[0]] |= bit
		s.letters[rest[0]] |= bit
	default:
		for i := range s.after {
			s.after[i] |= bit
			s.letters[i] |= bit
		}
	}
}

// header is the header that many protocols share.
const header = "\xff\xff\xff\xff"

// wordBytes is how much of the word after the header counts. Letters are compared
// without case, as some engines do.
const (
	wordBytes = 5
	caseBit   = 'a' ^ 'A'
	wordBits  = 10
	wordSets  = 1 << wordBits
)

// wordSet returns the place of a word of which the first four bytes and the fifth are
// known. Different words may have the same place.
func wordSet(four uint32, fifth byte) uint64 {
	const odd = 0x9e3779b97f4a7c15 // spreads every bit to the upper ones, which are used
	return (uint64(four)<<8 | uint64(fifth) | caseBit*0x0101010101) * odd >> (64 - wordBits)
}

func pair(first, second byte) uint16 { return uint16(first)<<8 | uint16(second) }

// of returns the protocols with a signature that may own a payload. missing is the
// number of bytes that the capture cut off.
func (s *signatures) of(payload []byte, missing int) uint64 {
	set := s.starts[payload[0]]
	if len(payload) > len(header) && binary.LittleEndian.Uint32(payload) == 1<<32-1 {
		if len(payload) < len(header)+wordBytes {
			return set&s.after[payload[len(header)]] | s.byKey(payload)
		}
		// No datagram is as long as FF FF says.
		word := (*[wordBytes]byte)(payload[len(header):])
		return set&(s.letters[word[0]]|s.words[wordSet(binary.LittleEndian.Uint32(word[:]), word[wordBytes-1])]) | s.byKey(payload)
	}
	if size(payload) == len(payload)+missing {
		set |= s.sized
	}
	return set | s.byKey(payload)
}

// byKey returns the protocols whose key fits a payload.
func (s *signatures) byKey(payload []byte) uint64 {
	if len(payload) > 2 && s.keys.has(pair(payload[0], payload[2])) {
		return s.ofKey(payload)
	}
	return 0
}

// ofKey returns the protocols whose key fits a payload of at least three bytes.
func (s *signatures) ofKey(payload []byte) (set uint64) {
	for i := range s.keyed {
		if k := &s.keyed[i]; k.third[payload[0]] == payload[2] {
			set |= k.set
		}
	}
	return set
}

// byPort returns the protocols without a signature that have one of two ports.
func (s *signatures) byPort(src, dst uint16) uint64 {
	if !s.portsOnly.has(src) && !s.portsOnly.has(dst) {
		return 0
	}
	return s.ofPorts(src, dst) & s.unsigned
}

// ofPorts returns the protocols that have one of two ports.
func (s *signatures) ofPorts(src, dst uint16) uint64 { return s.ofPort(src) | s.ofPort(dst) }

// ofPort returns the protocols that have a port.
func (s *signatures) ofPort(port uint16) uint64 {
	if !s.known.has(port) {
		return 0
	}
	return s.ports[s.place(port)]
}

// place returns the place of a known port.
func (s *signatures) place(port uint16) int {
	lower := uint64(1)<<(port%64) - 1
	return int(s.before[port/64]) + bits.OnesCount64(s.known[port/64]&lower)
}

// mtu is the largest size that a payload says it has, see [Protocol.Sized].
const mtu = 1500

// size returns the length that a payload says it has, if it does.
func size(payload []byte) int {
	if len(payload) < 2 {
		return -1
	}
	return int(payload[0]) | int(payload[1])<<8
}
