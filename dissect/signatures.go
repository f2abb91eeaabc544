package dissect

import (
	"encoding/binary"
	"math/bits"
)

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
		for second := range 256 {
			s.pairs.add(pair(first, byte(second)))
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
