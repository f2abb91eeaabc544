package scenes

import (
	"time"
)

// A Truth says what a scene holds, as the generator knows it. All numbers are those of
// the packets that were written: what got lost before it was captured does not count.
type Truth struct {
	Scene string    `json:"scene"`
	Doc   string    `json:"doc"`
	Seed  uint64    `json:"seed"`
	From  time.Time `json:"from"` // of the first and the last packet
	To    time.Time `json:"to"`

	// Events are the verdicts to expect, in the order of their beginning. A quiet
	// evening has none: nothing_unusual.
	Events  []*Event  `json:"events"`
	Totals  Totals    `json:"totals"`
	Classes []*Class  `json:"classes"`
	Servers []*Server `json:"servers"` // those that were asked, master servers too

	// Messages counts by protocol and message, with the names of the program.
	Messages map[string]map[string]uint64 `json:"messages"`
}

// Totals count all packets. Count is that of the game traffic.
type Totals struct {
	Wire      Bytes  `json:"wire"`      // all packets
	Datagrams uint64 `json:"datagrams"` // of UDP that are complete
	ICMP      uint64 `json:"icmp"`
	Notices   uint64 `json:"notices"`
	Unknown   uint64 `json:"unknown"` // datagrams of no game
	Count
	// Clients is the number of distinct addresses that sent requests, Sources of those
	// that sent packets.
	Clients uint64 `json:"clients"`
	Sources uint64 `json:"sources"`
}

// A Count counts requests with their outcome, and replies.
//
// A request that was sent again from the same port is repeated unless it was answered
// itself. One that is unanswered in the last five seconds is open. One that got an ICMP
// error is refused. Replies include challenges; one that lacks fragments is none, and
// answers in part.
type Count struct {
	Requests   uint64 `json:"requests"`
	Answered   uint64 `json:"answered"`
	Partial    uint64 `json:"answered_in_part"`
	Refused    uint64 `json:"refused"`
	Unanswered uint64 `json:"unanswered"`
	Open       uint64 `json:"open"`
	Repeated   uint64 `json:"repeated"`
	Replies    uint64 `json:"replies"`
	Challenges uint64 `json:"challenges"`
	In         Bytes  `json:"in"`  // of the requests
	Out        Bytes  `json:"out"` // of the replies
}

// Bytes measures packets in three ways. The program's bytes on the wire are IP.
type Bytes struct {
	Packets uint64 `json:"packets"`
	Frame   uint64 `json:"frame_bytes"` // with Ethernet header and padding, without checksum
	IP      uint64 `json:"ip_bytes"`
	UDP     uint64 `json:"udp_payload_bytes"`
}

func (b *Bytes) add(o Bytes) {
	b.Packets += o.Packets
	b.Frame += o.Frame
	b.IP += o.IP
	b.UDP += o.UDP
}

// A Class is a group of sources with one intention.
type Class struct {
	Name string `json:"class"`
	Count
	Sources uint64 `json:"sources"` // distinct addresses
}

// The names of classes.
const (
	Honest  = "honest"
	Greedy  = "greedy"
	Forged  = "forged"
	Scanner = "scanner"
	// Infra are game servers and master servers that talk to each other.
	Infra = "infrastructure"
	// Foreign packets are of no game, Junk are random bytes from forged sources.
	Foreign = "foreign"
	Junk    = "junk"
)

// A Server is an address and port that was asked.
type Server struct {
	Address  string `json:"address"`
	Protocol string `json:"protocol"`
	Name     string `json:"name,omitempty"`
	Count
	Junk    Bytes             `json:"junk"`     // that came beside requests
	JunkOut Bytes             `json:"junk_out"` // that went back
	Clients uint64            `json:"clients"`  // distinct addresses
	ByClass map[string]uint64 `json:"requests_by_class"`
}

// An Event is what a verdict has to say.
type Event struct {
	Kind    string    `json:"kind"` // of the verdict
	Servers []string  `json:"servers,omitempty"`
	Sources []string  `json:"sources,omitempty"` // greedy clients, scanners, victims
	Message string    `json:"message,omitempty"` // the request that matters: "info_request"
	From    time.Time `json:"from"`              // planned
	To      time.Time `json:"to"`
	// First and Last are the times of the first and last packet of its sources, if it
	// has any.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`

	// Own counts what its sources sent and got; Before and During count all requests to
	// its servers by the time of the request, with their replies.
	Own        Count  `json:"own"`
	OwnSources uint64 `json:"own_sources"`
	Before     Count  `json:"before"`
	During     Count  `json:"during"`
	// Requests per second to its servers.
	RateBefore float64 `json:"requests_per_second_before"`
	RateDuring float64 `json:"requests_per_second_during"`
	// Bytes of replies by bytes of requests of its own sources.
	Factor    float64 `json:"factor"`             // of IP packets
	FactorUDP float64 `json:"factor_udp_payload"` // as the literature counts

	servers  map[*server]bool
	from, to int64
}

func (e *Event) finish(w *world) {
	seconds := func(ns int64) float64 { return max(float64(ns)/1e9, 1e-9) }
	if e.from > 0 {
		e.RateBefore = float64(e.Before.Requests) / seconds(e.from)
	}
	e.RateDuring = float64(e.During.Requests) / seconds(min(e.to, int64(w.o.Span))-e.from)
	if e.Own.In.IP > 0 {
		e.Factor = float64(e.Own.Out.IP) / float64(e.Own.In.IP)
		e.FactorUDP = float64(e.Own.Out.UDP) / float64(e.Own.In.UDP)
	}
}
