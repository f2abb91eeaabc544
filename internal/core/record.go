package core

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
