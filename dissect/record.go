package dissect

import (
	"math/bits"
	"net/netip"
	"time"

	"github.com/qdissect/qdissect/internal/nettext"
)

// A Datagram is a UDP payload with its addresses and where it came from. The
// payload and the lists are borrowed: they die when the call that took the
// datagram returns.
type Datagram struct {
	// Frame is the number of the frame that completed it, from 1.
	Frame uint64
	// Frames are all frames that carried it, only if IP fragmented it.
	Frames []uint64
	// Time is when that frame was captured.
	Time time.Time
	// First is the time of its first fragment, Time if it came whole.
	First    time.Time
	Src, Dst netip.AddrPort
	Payload  []byte
	// Missing is the number of bytes that the capture cut off at the end.
	Missing int
	// IPID is the identification of its IPv4 header, 0 if that is not known. A
	// second datagram with the same one is a copy.
	IPID uint16
	// VLAN is the identifier of the outermost VLAN tag, 0 if there is none.
	VLAN uint16
	// Interface is the name of the interface that captured it, where there are
	// several or the capture is live; "" otherwise.
	Interface string
	// Findings are what the layers below noticed.
	Findings []Finding
}

// A Role says what a message is to its conversation.
type Role uint8

const (
	// Request asks for a reply.
	Request Role = iota
	// Reply answers.
	Reply
	// OneWay is said and not answered: heartbeats, quits; "notice" in
	// output.
	OneWay
)

var roleNames = [...]string{"request", "reply", "notice"}

func (r Role) String() string { return roleNames[r] }

// A MessageType is one kind of message of a protocol. Types are declared by
// protocols, as values that never change.
type MessageType struct {
	// Name is canonical: info_request, players_reply.
	Name string
	// Title is what the name says, in words: "info request".
	Title string
	Role  Role
	Doc   string
	// Unanswered is what is said of a request of this type without a reply,
	// in place of that of [Pairing]; nil for that one.
	Unanswered *FindingType
}

// A KeyValue is one setting of a server, as on the wire.
type KeyValue struct{ Key, Value string }

// An Opt is a value that a message may or may not state.
type Opt[T any] struct {
	Value T
	OK    bool
}

// Some returns a value that is stated.
func Some[T any](v T) Opt[T] { return Opt[T]{v, true} }

// Server holds the few facts that every protocol states of a server, under the
// same names. Strings are as on the wire: in the encoding and with the colour
// codes that Charset and Style name.
type Server struct {
	Name, Map, Game, Version  Opt[string]
	Players, MaxPlayers, Bots Opt[int]
	Password                  Opt[bool]
	Charset                   Charset
	Style                     Style
}

// Stated reports whether any fact is stated.
func (s *Server) Stated() bool {
	return s.Name.OK || s.Map.OK || s.Game.OK || s.Version.OK || s.Players.OK || s.MaxPlayers.OK || s.Bots.OK || s.Password.OK
}

// A Message is what one payload says. Decoders fill it.
type Message struct {
	Type *MessageType
	// Body is a pointer to the protocol's own struct, *a2s.InfoReply for
	// example. It is borrowed in the analyzer and owned after Parse.
	Body any
	// Server is what the message states of a server.
	Server Server
	// Pair is how the message finds its counterpart.
	Pair Pair
	// Compressed says that it was compressed; Packed and Unpacked are its
	// sizes in bytes before and after, Verified that its checksum was right.
	Compressed       bool
	Packed, Unpacked int
	Verified         bool
	// Variant names the format of the split it came in.
	Variant string
}

// A Summarizer says in a few words what a message holds, after its title: what
// one would want to read in a list. The text must be safe on a terminal.
type Summarizer interface {
	AppendSummary(dst []byte) []byte
}

// A Reason says why a payload was taken for a protocol.
type Reason uint8

const (
	// ByHeader: its own bytes say so.
	ByHeader Reason = iota
	// ByFlow: earlier messages between the same two ports were of it.
	ByFlow
	// ByRequest: it answers a request of it.
	ByRequest
	// ByPort: its port is one of the protocol's.
	ByPort
	// ByReply: what came back was of it.
	ByReply
	// ByServer: the server spoke it with others.
	ByServer
	// ByUser: the user said so.
	ByUser
)

var reasonNames = [...]string{"header", "flow", "request", "port", "reply", "server", "decode-as"}

func (r Reason) String() string { return reasonNames[r] }

// Split tells how a message was put together from parts.
type Split struct {
	// Variant is the format of the split headers.
	Variant string
	ID      uint64
	// Parts is the number of parts that came, 0 if the message came whole.
	Parts      int
	Compressed bool
	// Partial says that parts are missing, see [Record.Missing]. Total is how many
	// there are of the whole, 0 if the parts do not say.
	Partial bool
	Total   int
}

// A Record is a message with its provenance. Records are borrowed: they die
// when the handler returns.
type Record struct {
	Protocol *Protocol
	Message
	// Frame completed the message; Frames are all that carried it, nil if
	// that was one.
	Frame  uint64
	Frames []uint64
	Time   time.Time
	// Src and Dst are those of the datagram.
	Src, Dst netip.AddrPort
	// VLAN and Interface are those of the datagram.
	VLAN      uint16
	Interface string
	// Length is the size of the message in bytes: joined, and unfolded if it
	// was compressed. WireLength is the sum of the UDP payloads that carried it.
	Length, WireLength int
	Reason             Reason
	// Alternatives are the other protocols that the message could be of, where
	// neither its bytes nor the conversation nor a port decides; Protocol is
	// the likeliest.
	Alternatives []*Protocol
	also         uint64 // the same as a set
	Split        Split
	// Missing are the numbers, from 1, of the parts that did not come. Where the
	// total is not known, the last of them stands for all that follow the highest
	// one that came.
	Missing []int

	// RequestFrame is the frame of the request that this answers, 0 if none
	// was seen.
	RequestFrame uint64
	// TimeKnown says that RTT is known: the time from that request to the
	// first part of this reply, and LastRTT to its last. Ambiguous says that
	// it is not, because the request had been repeated: RequestFrame is then
	// the oldest that this may answer. If neither is
	// set, time went back or is not known.
	TimeKnown, Ambiguous bool
	RTT, LastRTT         time.Duration
	// Late says that the reply came when its request had been reported as
	// unanswered.
	Late bool
	// Resends is the number of times the request had been repeated without a
	// reply.
	Resends int

	// Foreign is that of the configuration: it masks what could not be read.
	Foreign *Foreign

	// Sources and Nodes are the tree; Nodes is empty unless the analyzer was
	// told to build it.
	Sources  []Source
	Nodes    []Node
	Findings []Finding

	stats *Stats // of its analyzer; nil if nothing contains a panic
}

// AppendSummary appends the title of the message and what it holds.
func (r *Record) AppendSummary(dst []byte) []byte {
	return r.AppendContents(append(dst, r.Type.Title...))
}

// AppendContents appends what the message holds, after two blanks; nothing if
// there is nothing to say.
func (r *Record) AppendContents(dst []byte) (out []byte) {
	s, ok := r.Body.(Summarizer)
	if !ok {
		return dst
	}
	defer r.containSummary(dst, &out)
	n := len(dst)
	out = append(dst, "  "...)
	if out = nettext.Shorten(s.AppendSummary(out), n, nettext.MaxSummary); len(out) == n+2 {
		return out[:n]
	}
	return out
}

// Unknown is a datagram that no protocol recognised. It is borrowed.
type Unknown struct {
	*Datagram
	// Panicked says that a protocol recognised it, and its decoder panicked: the
	// finding [Panicked] came before.
	Panicked bool
	// Foreign is that of the configuration.
	Foreign    *Foreign
	candidates uint64
	protocols  []*Protocol
	shown      []byte // the payload with a secret masked
}

// AppendGuess appends a help for people: what foreign traffic it looks like, or
// which protocols it could be of though nothing proves it. It appends nothing
// where nothing is known.
func (u *Unknown) AppendGuess(dst []byte) []byte {
	n := len(dst)
	if dst = u.Foreign.AppendGuess(dst, u.Payload); len(dst) > n {
		return dst
	}
	for m := u.candidates; m != 0; m &= m - 1 {
		if m == u.candidates {
			dst = append(dst, "could be "...)
		} else {
			dst = append(dst, " or "...)
		}
		dst = append(dst, u.protocols[bits.TrailingZeros64(m)].Name...)
	}
	return dst
}

// An Exchange is a request with its replies, told when no more are expected.
type Exchange struct {
	Protocol *Protocol
	// Frame and Time are those of the request.
	Frame    uint64
	Time     time.Time
	Src, Dst netip.AddrPort
	// Replies is how many messages answered it; First and Last are the times
	// to the first part of the first and the last part of the last, 0 if they
	// are not known. Ambiguous says that they are not because the request was
	// repeated.
	Replies     int
	First, Last time.Duration
	Ambiguous   bool
	// RequestBytes and ReplyBytes are UDP payload sizes.
	RequestBytes, ReplyBytes int
}
