package dissect

import (
	"net/netip"

	"github.com/qdissect/qdissect/internal/endpoint"
)

// A serverKey is the address and port of a server.
type serverKey struct {
	address
	port uint16
}

func (k serverKey) packed() endpoint.Endpoint {
	return endpoint.Endpoint{Hi: k.hi, Lo: k.lo, Port: k.port, V4: k.is4()}
}

func (k serverKey) endpoint() netip.AddrPort {
	e := k.packed()
	return e.AddrPort()
}

// answering counts the requests to a server and those with a reply.
type answering struct {
	asked, answered uint32
	replies         bool // it replied, and the analyzers were told
	spoke           bool // they were told its protocol
}

// A host is the port and protocol of the newest reply of an address.
type host struct {
	port     uint16
	protocol int8
}

// maxServers is the number of servers whose protocol is remembered.
const maxServers = 1024

// servers remembers what servers are asked, answer and speak: hints of why a request has no
// reply, and no state that one could lose.
type servers struct {
	answering *recent[serverKey, answering]
	hosts     *recent[address, host]
	// spoke has the protocol of a server, of those that share a wire format: the next
	// client's handshake is decided by it.
	spoke *recent[serverKey, int8]
}

func newServers(limit int) *servers {
	return &servers{
		answering: newRecent[serverKey, answering](limit, (*hasher).server), hosts: newRecent[address, host](limit, (*hasher).address),
		spoke: newRecent[serverKey, int8](maxServers, (*hasher).server),
	}
}

// clear forgets everything.
func (s *servers) clear() {
	s.answering.clear()
	s.hosts.clear()
	s.spoke.clear()
}

// of returns the counts of the server of requests in one direction of a conversation.
func (s *servers) of(f *flow, more *flowMore, up bool) *answering {
	k := f.key.server(up)
	if n := s.answering.at(more.server, &k); n != nil {
		return n
	}
	more.server = s.answering.place(&k)
	return s.answering.at(more.server, &k)
}

// known returns the counts of a server, zero for one that is not known. Unlike of it gives it no place.
func (s *servers) known(k *serverKey) answering {
	if n := s.answering.find(k); n != nil {
		return *n
	}
	return answering{}
}

// ask and answer count a request and its first reply.
func (s *answering) ask() {
	if s.asked < 1<<32-1 {
		s.asked++
	}
}

func (s *answering) answer() { s.answered = min(s.answered, s.asked-min(s.asked, 1)) + 1 }

// speaks records the protocol of the server of a message. A request says nothing against what the server sent.
func (s *servers) speaks(e *ends, asks bool, proto int8) {
	server := e.key.server(e.up == asks)
	if asks && s.spoke.find(&server) != nil {
		return
	}
	*s.spoke.get(&server) = proto
}

// appendOthers appends how many other requests to a server were answered, of which sendings
// are not counted; nothing if there are none.
func (s answering) appendOthers(b []byte, sendings int) []byte {
	others := s.asked - min(s.asked, uint32(sendings))
	if s.answered == 0 || others == 0 {
		return b
	}
	answered := min(s.answered, others)
	b = append(b, "; this port answered "...)
	switch {
	case others == 1:
		b = append(b, "the one other request"...)
	case answered == 2 && others == 2:
		b = append(b, "both other requests"...)
	case answered == others:
		b = appendNumber(b, "all ", int(others), " other requests")
	case others < 100:
		b = appendNumber(appendInt(b, int(answered)), " of ", int(others), " other requests")
	default:
		tenths := uint64(answered) * 1000 / uint64(others)
		b = appendInt(b, int(tenths/10))
		b = append(b, '.', byte('0'+tenths%10))
		b = appendNumber(b, " % of ", int(others), " other requests")
	}
	return b
}
