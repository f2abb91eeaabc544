package dissect

import "math/bits"

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
func (s *foreignFlows) has(e *ends) bool {
	for _, h := range s.hashes {
		if h == e.hash {
			return true
		}
	}
	return false
}

// appendSet appends the protocols of a bit set.
func appendSet(dst, protocols []*Protocol, set uint64) []*Protocol {
	for ; set != 0; set &= set - 1 {
		dst = append(dst, protocols[bits.TrailingZeros64(set)])
	}
	return dst
}
