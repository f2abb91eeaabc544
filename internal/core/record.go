package core

import (
	"net/netip"
	"time"

	"github.com/qdissect/qdissect/internal/endpoint"
)

// A Reason says why a payload was assigned to a protocol.
type Reason uint8

const (
	// ByHeader: by its bytes.
	ByHeader Reason = iota
	// ByFlow: by earlier messages of the conversation.
	ByFlow
	// ByRequest: it answers a request.
	ByRequest
	// ByPort: by a port.
	ByPort
	// ByReply: by the reply that followed.
	ByReply
	// ByServer: by conversations of the server with others.
	ByServer
	// ByUser: by the configuration.
	ByUser
)

var reasonNames = [...]string{"header", "flow", "request", "port", "reply", "server", "decode-as"}

func (r Reason) String() string { return reasonNames[r] }

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

// State is the amount of state that an analyzer holds, to be compared with its
// limits.
type State struct {
	Flows, Requests, Peers, Hosts, Lists, Held int
	// Sets is the number of incomplete split messages and of complete ones that are
	// remembered to detect late duplicates.
	Sets int
}

// Packed has the time and the ends of a message, or the times and the server of an exchange, as numbers: what is counted of every one
// of them.
type Packed struct {
	At, Newest int64 // in nanoseconds since 1970
	Waited     int64 // nanoseconds since a request was sent first, if it is sent again before a reply came
	Src, Dst   endpoint.Endpoint
	Made       bool // by an analyzer; else the numbers may be those of before
}

// Set sets the numbers to those of times and ends.
func (p *Packed) Set(at, newest time.Time, src, dst netip.AddrPort) {
	p.At, p.Newest, p.Src, p.Dst = at.UnixNano(), newest.UnixNano(), endpoint.Of(src), endpoint.Of(dst)
}
