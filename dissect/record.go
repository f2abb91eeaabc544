package dissect

import (
	"math/bits"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// A Datagram is a UDP payload, or a message out of a TCP connection, with its addresses and origin. The payload and the
// slices are borrowed for the duration of the call that takes the datagram.
type Datagram struct {
	// Frame is the number, from 1, of the frame that completed it.
	Frame uint64
	// Stream is the protocol of the TCP connection that it is a message of, nil for UDP. Without
	// a payload it is none: Findings say what is missing, or else a message begins whose end is still to come.
	Stream *Protocol
	// FromServer says that the server of the connection sent it, and Snapped that the
	// snapshot length of the capture took what is missing.
	FromServer, Snapped bool
	// Sequence is the TCP sequence number of the first byte.
	Sequence uint32
	// Frames are the frames of its IP fragments or TCP segments, nil if it came in one.
	Frames []uint64
	// Time is the capture time of that frame.
	Time time.Time
	// First is the time of its first fragment, or Time.
	First    time.Time
	Src, Dst netip.AddrPort
	Payload  []byte
	// Missing is the number of bytes at the end that are not in the capture.
	Missing int
	// IPID is the identification of its IPv4 header, 0 if unknown. It helps to
	// detect duplicates.
	IPID uint16
	// HopLimit is the hop limit of its IP header (in IPv4: time to live), 0 if
	// unknown.
	HopLimit uint8
	// VLAN is the identifier of the outermost VLAN tag, 0 if there is none.
	VLAN uint16
	// Interface is the name of the capturing interface, "" unless there are several
	// or the capture is live.
	Interface string
	// Findings are those of the lower layers.
	Findings []Finding
}

// A Role is the role of a message in its conversation.
type Role uint8

const (
	// Request asks for a reply.
	Request Role = iota
	// Reply answers.
	Reply
	// OneWay expects no reply: heartbeats, quits. Its name in output is "notice".
	OneWay
)

var roleNames = [...]string{"request", "reply", "notice"}

func (r Role) String() string { return roleNames[r] }

// A Purpose says what a message is for, beyond its role. A message can have several.
type Purpose uint8

const (
	// ServerList asks a master for the addresses of servers.
	ServerList Purpose = 1 << iota
	// Heartbeat gets a server on the list of a master. Listing says that the master lists it, Refusal that it does not.
	Heartbeat
	Listing
	Refusal
	// ChallengeRequest asks for a challenge: that is the whole answer.
	ChallengeRequest
	// Unconfirmed is a heartbeat after which masters may send nothing.
	Unconfirmed
)

// A MessageType is one kind of message of a protocol. Types are declared by
// protocols, as values that never change.
type MessageType struct {
	// Name is the canonical name: info_request, players_reply.
	Name string
	// Title is the name in prose: "info request".
	Title string
	Role  Role
	// Purpose is what the message is for, if whoever judges conversations has to know.
	Purpose Purpose
	Doc     string
	// Unanswered replaces the finding of [Pairing] for a request of this type
	// without a reply; nil keeps it.
	Unanswered *FindingType
}

// An Opt is an optional value.
type Opt[T any] struct {
	Value T
	OK    bool
}

// Some returns a value that is present.
func Some[T any](v T) Opt[T] { return Opt[T]{v, true} }

// Server holds the facts that all protocols state about a server. Strings are as on
// the wire, in the encoding Charset and with the colour codes of Style.
type Server struct {
	Name, Map, Game, Version  Opt[string]
	Players, MaxPlayers, Bots Opt[int]
	Password                  Opt[bool]
	Charset                   Charset
	Style                     Style
}

// Stated reports whether any fact is present.
func (s *Server) Stated() bool {
	return s.Name.OK || s.Map.OK || s.Game.OK || s.Version.OK || s.Players.OK || s.MaxPlayers.OK || s.Bots.OK || s.Password.OK
}

// A Message is the content of one payload. Decoders fill it.
type Message struct {
	Type *MessageType
	// Body is a pointer to the protocol's own struct, such as *a2s.InfoReply, or nil if
	// the protocol has no struct for a message of no known kind. It is borrowed in the
	// analyzer and owned after Parse.
	Body any
	// Server holds the facts about a server.
	Server Server
	// Pair holds what is needed to match the message.
	Pair Pair
	// Compressed says that the message was compressed. Packed and Unpacked are its
	// sizes in bytes before and after decompression. Verified says that the checksum
	// was correct.
	Compressed       bool
	Packed, Unpacked int
	Verified         bool
	// Variant names the format of the split headers.
	Variant string
}

// A Summarizer appends a short summary of a message, to follow its title in a list.
// The text must be safe for a terminal. A [Message.Body] that is none is summarised by the facts about the server.
type Summarizer interface {
	AppendSummary(dst []byte) []byte
}

// Split describes the parts of a message.
type Split struct {
	// Variant is the format of the split headers.
	Variant string
	ID      uint64
	// Parts is the number of parts that came, 0 if the message was not split.
	Parts      int
	Compressed bool
	// Partial says that parts are missing, see [Record.Missing]. Total is the number
	// of all parts, 0 if unknown.
	Partial bool
	Total   int
}

// A Record is a message with its provenance. It is borrowed until the handler
// returns.
type Record struct {
	Protocol *Protocol
	Message
	// The datagram that completed the message, of which the payload may be only a part. Of a message that
	// lacks parts it has what is known of them.
	*Datagram
	// Frames are all that carried the message, nil if that was one.
	Frames []uint64
	// Length is the size of the message in bytes, joined and decompressed.
	// WireLength is the sum of the UDP payloads that carried it.
	Length, WireLength int
	Reason             Reason
	// Alternatives are other protocols that the message may belong to, if neither
	// its bytes nor the conversation nor a port decides. Protocol is the likeliest.
	Alternatives []*Protocol
	also         uint64 // the same as a set
	Split        Split
	// Missing are the numbers, from 1, of the missing parts. If the total is
	// unknown, the last number stands for all parts after the highest one that came.
	Missing []int

	// RequestFrame is the frame of the request that this answers, 0 if there is
	// none.
	RequestFrame uint64
	// TimeKnown says that RTT, the time from the request to the first part of this
	// reply, and LastRTT, the time to its last part, are known. Ambiguous says that
	// they are not because the request was retransmitted; RequestFrame is then the
	// oldest request that this may answer. If neither is set, time went backwards or
	// is unknown.
	TimeKnown, Ambiguous bool
	RTT, LastRTT         time.Duration
	// Late says that the reply came after its request was reported as unanswered.
	Late bool
	// Resends is the number of retransmissions of the request.
	Resends int
	// Proven says that a request carries a challenge that its server issued to its
	// sender, as far as that is remembered.
	Proven bool
	// Sum is a checksum of the bytes of a request, by which requests are compared.
	Sum uint32

	// Foreign is that of the configuration: it masks what could not be read.
	Foreign *Foreign

	// Mark is a bit that the handler may set in a request: [Exchange.Marked] has it.
	Mark bool

	// Sources and Nodes are the tree. Nodes is empty unless [Config.Tree] is set.
	Sources  []Source
	Nodes    []Node
	Findings []Finding
	fields   uint64 // those of Nodes, as a set

	stats  *Stats // of its analyzer; nil if nothing contains a panic
	packed core.Packed
}

// Ends returns the time and the ends as numbers.
func (r *Record) Ends(core.Only) *core.Packed {
	if !r.packed.Made {
		r.packed.Set(r.Time, r.Time, r.Src, r.Dst)
	}
	return &r.packed
}

// clear clears what [Analyzer.open] and [Analyzer.handOver] do not set: half of the record,
// which every message pays for.
func (r *Record) clear() {
	r.Message = Message{} // a literal with values would be made elsewhere and copied
	r.Split = Split{}
	r.Missing, r.RequestFrame, r.TimeKnown, r.Ambiguous, r.RTT, r.LastRTT = nil, 0, false, false, 0, 0
	r.Late, r.Resends, r.Proven, r.Sum, r.Mark = false, 0, false, 0, false
}

// MayHold reports whether Nodes may have a node of a declared field. It is quicker than a
// search; only false is certain.
func (r *Record) MayHold(f *Field) bool { return core.MayHold(r.fields, f) }

// AppendSummary appends the title and the contents of the message.
func (r *Record) AppendSummary(dst []byte) []byte {
	return r.AppendContents(append(dst, r.Type.Title...))
}

// AppendContents appends two spaces and the summary of the body, or nothing if it is
// empty.
func (r *Record) AppendContents(dst []byte) (out []byte) {
	s, ok := r.Body.(Summarizer)
	if !ok {
		s = &r.Server
	}
	defer r.containSummary(dst, &out)
	n := len(dst)
	out = append(dst, "  "...)
	if out = nettext.Shorten(s.AppendSummary(out), n, nettext.MaxSummary); len(out) == n+2 {
		return out[:n]
	}
	return out
}

// An Unknown is a datagram that no protocol recognised. It is borrowed.
type Unknown struct {
	*Datagram
	// Panicked says that a decoder recognised it and panicked; the finding
	// [Panicked] was reported before.
	Panicked bool
	// Foreign is that of the configuration.
	Foreign    *Foreign
	candidates uint64
	protocols  []*Protocol
	shown      []byte // the payload with a secret masked
}

// AppendGuess appends the foreign traffic that the datagram looks like, or the
// protocols that it may belong to, or nothing.
func (u *Unknown) AppendGuess(dst []byte) []byte {
	n := len(dst)
	if dst = u.Foreign.AppendGuess(dst, u.Payload); len(dst) > n {
		return dst
	}
	for m := u.candidates; m != 0; m &= m - 1 {
		switch {
		case m == u.candidates:
			dst = append(dst, "could be "...)
		case m&(m-1) == 0: // the last one
			dst = append(dst, " or "...)
		default:
			dst = append(dst, ", "...)
		}
		dst = append(dst, u.protocols[bits.TrailingZeros64(m)].Name...)
	}
	return dst
}

// A FlowFinding is a finding that belongs to no single message: an unanswered
// request, an incomplete set of parts, evicted state. It is borrowed.
type FlowFinding struct {
	Finding
	// Frame is the frame it is about most: the request, the first part.
	Frame uint64
	// Time is the time of that frame.
	Time     time.Time
	Src, Dst netip.AddrPort
	// NoPorts says that only the addresses are known.
	NoPorts bool
	// Reply says that Src is the server: it is about a reply.
	Reply bool
	// VLAN and Interface are those of the datagram, if it is about one.
	VLAN      uint16
	Interface string
	// Protocol is nil if no protocol was recognised. Alternatives are the
	// others that the message could be of, see [Record].
	Protocol     *Protocol
	Alternatives []*Protocol
	// ICMPFrame is the frame of the ICMP error that says it, 0 if none does.
	ICMPFrame uint64
}

// Clone returns a copy of the message that shares no memory with the payload or its decoder,
// so that it may be kept.
func (m *Message) Clone() Message {
	own := *m
	if m.Body != nil {
		body := reflect.New(reflect.TypeOf(m.Body).Elem())
		body.Elem().Set(reflect.ValueOf(m.Body).Elem())
		own.Body = body.Interface()
		detach(body.Elem())
	}
	detach(reflect.ValueOf(&own).Elem())
	return own
}

// Clone returns a copy of the record that shares no memory with the datagram, its decoder or the analyzer, so that it may be kept.
func (r *Record) Clone() *Record {
	own := *r
	own.Message, own.stats = r.Message.Clone(), nil
	if r.Datagram != nil {
		d := *r.Datagram
		detach(reflect.ValueOf(&d).Elem())
		own.Datagram = &d
	}
	detach(reflect.ValueOf(&own).Elem())
	for i := range own.Findings {
		if e := own.Findings[i].Err; e != nil {
			failure := *e
			failure.Text = strings.Clone(e.Text)
			own.Findings[i].Err = &failure
		}
	}
	return &own
}

// detach replaces the strings and lists in a value by copies. Messages hold numbers, texts,
// lists and structs of these; what they point to are declarations, which never change.
func detach(v reflect.Value) {
	if !v.CanSet() { // an unexported field of a message, such as the facts for its summary
		v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(strings.Clone(v.String()))
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		if b, ok := v.Interface().([]byte); ok {
			v.SetBytes(slices.Clone(b))
			return
		}
		list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(list, v)
		v.Set(list)
		for i := range list.Len() {
			detach(list.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			detach(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			detach(v.Field(i))
		}
	}
}

// A Proof says how far it is certain that the sender of a request is who it claims to be:
// whoever forges its address does not receive what the server sends to it.
type Proof uint8

const (
	// Unproven: the server asks for no proof.
	Unproven Proof = iota
	// Unreturned: the server gave a challenge, and the client did not return it.
	Unreturned
	// Vouched: another request of the address proved it to the server, up to ten
	// minutes before or a window after.
	Vouched
	// Proven: the request carries what the server gave this address.
	Proven
)

var proofNames = [...]string{"unproven", "unreturned", "vouched", "proven"}

func (p Proof) String() string { return proofNames[p] }

// An Exchange is a request with its replies. It is handed over when no more replies are
// expected: a window after the request, or up to lateWindows after one without a reply.
type Exchange struct {
	Protocol *Protocol
	// Type is that of the request.
	Type *MessageType
	// Outcome is what became of the request.
	Outcome Outcome
	Proof   Proof
	// Frame and Time are those of the request, and so are the addresses.
	Frame     uint64
	Time      time.Time
	Src, Dst  netip.AddrPort
	Interface string
	VLAN      uint16
	// Requests is the number of requests that this exchange stands for: sendings of one
	// question one upon the other share it. Repeated of them have OutcomeRepeated and
	// the others have Outcome.
	Requests, Repeated int
	// Marked and MarkedRepeated count those of them that have [Record.Mark].
	Marked, MarkedRepeated int
	// Sendings is how often the question was sent so far, and Newest the time of the newest one.
	Sendings int
	Newest   time.Time
	// Replies is the number of replies, ReplyFrame the frame of the first one and
	// LastFrame that of the newest one, and Reply the type of the first one.
	Replies               int
	ReplyFrame, LastFrame uint64
	Reply                 *MessageType
	// First and Last are the times to the first part of the first reply and to the last
	// part of the last one, if Timed says that they are known. Ambiguous says that they
	// are not because the request was retransmitted: they are right if nothing was lost.
	Timed, Ambiguous bool
	First, Last      time.Duration
	// Server is what the first reply that describes the server says, nil if there is
	// none, or without [Config.Facts].
	Server *Server
	// RequestBytes and ReplyBytes are UDP payload sizes.
	RequestBytes, ReplyBytes int
	// Parts of Total parts came of a partial reply. Total is 0 if it is unknown.
	Parts, Total int
	// From is where the reply came from that came from elsewhere. Broadcast says that all
	// hosts of a network were asked, and that this is one of them.
	From      netip.AddrPort
	Broadcast bool
	// ByReply says that a reply refused the request, and not an ICMP error.
	ByReply bool

	packed core.Packed
}

// Ends returns the times and the ends as numbers.
func (x *Exchange) Ends(core.Only) *core.Packed {
	if !x.packed.Made {
		x.packed.Set(x.Time, x.Newest, x.Src, x.Dst)
	}
	return &x.packed
}

// sent returns the number of requests that q stands for, and how many of them were repeated.
func (t *tracker) sent(q *request) (requests, repeated int) {
	more := int(t.requests.rare(q).merged) // of which some were answered as well
	if q.answer == 0 && t.requests.rare(q).from != (serverKey{}) {
		return 1 + more, 0 // all were answered from there
	}
	return 1 + more, more - min(max(int(t.requests.answered(q).n), 1)-1, more)
}

// countedOf returns what is counted of a request that ended with an outcome, until the next call.
func (t *tracker) countedOf(q *request, is Outcome) *Exchange {
	p, got, o := t.protocols[q.protocol], t.requests.answered(q), t.requests.rare(q)
	x := &t.out.ended // filled value by value: a literal would be copied
	x.Protocol, x.Type, x.Outcome, x.Proof = p, p.Catalog.Messages()[q.message], is, t.proof(q, got)
	at := &x.packed
	at.Made, at.At = true, t.requests.time(q)
	if at.Newest = at.At; o.merged > 0 { // else its age began anew, as parts of a reply arrived or the clock was set back
		at.Newest = q.sent
	}
	ends := &t.flows.flows[q.flow].key
	at.Src, at.Dst = ends.server(!q.up()).packed(), ends.server(q.up()).packed()
	x.Requests, x.Repeated = t.sent(q)
	x.Replies, x.RequestBytes, x.ReplyBytes = int(got.n), int(t.requests.size(q)), int(got.bytes)
	x.Ambiguous, x.First = q.has(isUnclear), 0
	if q.answer != 0 && got.first >= at.At {
		x.First = time.Duration(got.first - at.At)
	}
	x.ByReply = is == OutcomeRefused && q.answer != 0
	if x.From, x.Broadcast = (netip.AddrPort{}), o.broadcast; is == OutcomeElsewhere {
		x.From = o.from.endpoint()
	}
	return x
}

// exchangeOf returns a request with its replies and an outcome, until the next call.
func (t *tracker) exchangeOf(q *request, is Outcome) *Exchange {
	x := t.countedOf(q, is)
	if t.out.onlyCounted {
		return x
	}
	got, o, at := t.requests.answered(q), t.requests.rare(q), &x.packed
	x.Frame, x.Time = q.frame, fromNanos(at.At)
	x.Src, x.Dst = at.Src.AddrPort(), at.Dst.AddrPort()
	x.Interface, x.VLAN = "", 0
	if o.link != 0 {
		l := &t.requests.links[o.link]
		x.Interface, x.VLAN = l.name, l.vlan
	}
	x.Sendings, x.Newest = t.requests.sendings(q), fromNanos(at.Newest)
	x.Marked, x.MarkedRepeated = core.Bit[int](q.has(isMarked))+int(o.marks), min(int(o.marks), x.Repeated)
	x.ReplyFrame, x.LastFrame, x.Reply = got.firstFrame, got.lastFrame, nil
	if got.message > 0 {
		x.Reply = t.protocols[got.protocol].Catalog.Messages()[got.message-1]
	}
	x.Timed, x.Last = false, 0
	if q.answer != 0 && got.first >= at.At {
		x.Timed, x.Last = !x.Ambiguous, time.Duration(max(got.last-at.At, 0))
	}
	x.Server = nil
	if got.facts != 0 {
		t.out.server = t.requests.facts.at(got.facts).server.Value()
		x.Server = &t.out.server
	}
	x.Parts, x.Total = int(got.parts), int(got.total)
	return x
}

// AppendSummary appends name, game, map, players, version and password, as far as
// they are present and not empty, in the format of summaries.
func (s *Server) AppendSummary(dst []byte) []byte {
	start := len(dst)
	gap := func() {
		if len(dst) > start {
			dst = append(dst, "  "...)
		}
	}
	if s.Name.Value != "" {
		dst = AppendQuoted(dst, s.Name.Value, s.Charset, s.Style)
	}
	if s.Game.Value != "" {
		gap()
		dst = core.AppendText(dst, s.Game.Value, s.Charset, s.Style)
	}
	if s.Map.Value != "" {
		if s.Game.Value != "" {
			dst = append(dst, ' ')
		} else {
			gap()
		}
		dst = append(dst, "on "...)
		dst = core.AppendText(dst, s.Map.Value, s.Charset, s.Style)
	}
	if s.Players.OK {
		gap()
		dst = nettext.AppendInt(dst, int64(s.Players.Value))
		if s.MaxPlayers.OK {
			dst = append(dst, '/')
			dst = nettext.AppendInt(dst, int64(s.MaxPlayers.Value))
			dst = append(dst, " players"...)
		} else {
			dst = append(dst, nettext.Plural(s.Players.Value, " player", " players")...)
		}
		if n := s.Bots.Value; n > 0 {
			dst = append(dst, ", "...)
			dst = nettext.AppendInt(dst, int64(n))
			dst = append(dst, nettext.Plural(n, " bot", " bots")...)
		}
	}
	if v := s.Version.Value; v != "" {
		gap()
		if nettext.Digit(v[0]) {
			dst = append(dst, 'v')
		}
		dst = core.AppendText(dst, v, s.Charset, s.Style)
	}
	if s.Password.Value {
		gap()
		dst = append(dst, "password"...)
	}
	return dst
}
