package dissect

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/reassembly"
)

// A Verdict says how sure a protocol is that a payload is its own.
type Verdict uint8

const (
	// No: the payload cannot belong to the protocol.
	No Verdict = iota
	// Doubtful: it may, but other protocols send the same bytes to the same ports.
	// Only the conversation, a pending request or the reply decides.
	Doubtful
	// Possible: it may, but much else has the same bytes. It needs a port, the
	// conversation or a pending request.
	Possible
	// Likely: the structure fits, and little else looks like it.
	Likely
	// Certain: it carries a signature of the protocol.
	Certain
)

func (v Verdict) String() string {
	return [...]string{"no", "doubtful", "possible", "likely", "certain"}[v]
}

// detectBytes is the number of bytes that a detector may read.
const detectBytes = 64

// A Decoder decodes messages of one protocol. It owns the structs that it fills and
// reuses them, so that decoding does not allocate once warm.
type Decoder interface {
	// Decode reads one message from r into m. It always sets m.Type.
	Decode(r *Reader, m *Message)
}

// A Joiner is a Decoder of a protocol with split messages.
type Joiner interface {
	Decoder
	// Join reads the split headers of all parts of r, which are in order, and opens
	// the joined message as a source; or it leaves the parts to Decode, which reads
	// them with [Reader.Part]. If the parts make no message, it sets m.Type and
	// reports false. Parts can be missing, see [Reader.Gap]: the bytes before the
	// gap are decoded. variant is the result of the Split of the protocol.
	Join(r *Reader, variant uint8, m *Message) bool
}

// A Protocol describes one protocol to the engine. See docs/adding-a-protocol.md.
type Protocol struct {
	// Name is the name for users and programs: "a2s".
	Name string
	// Title is the name in prose. Doc says what the protocol is for and which games
	// and servers use it.
	Title, Doc string
	// Group is the heading of the protocol in lists, the engine or the library that
	// its servers share. "" is "Other games".
	Group string
	// Source names the documents that the implementation follows.
	Source string
	// Family groups protocols that answer each other's requests: a server of Valve's
	// engines answers the old text queries in the format of A2S. A reply is reported
	// under the protocol of its request. Protocols of one family share their topics.
	// "" is no family.
	Family string
	// Wire names a wire format that several protocols share, so that some of their
	// messages have the same bytes. Such a message is deferred until the
	// conversation or a port decides. If neither does, it is reported under the
	// first protocol of the list, with the others as alternatives. "" is none.
	Wire string
	// Confirm reports whether a payload belongs to this protocol, if the first 64
	// bytes do not decide between protocols with the same Wire, or prove too little
	// and nothing else decides. It may be nil.
	Confirm func(payload []byte) bool
	// Ports are the default ports of servers.
	Ports []uint16
	// Starts are what payloads can begin with; a shorter payload may be the beginning
	// of one. The first two bytes decide whether a payload is looked at, and what follows
	// FF FF FF FF, the header that many protocols share: a byte, or a word of which the
	// first five bytes are compared, letters without case. Sized says instead that a
	// payload begins with its own length in two bytes, little-endian, so that its
	// first byte can be any. Keyed is for encrypted payloads whose first byte is a key:
	// what the third byte then is. Without all three, a protocol has no signature at
	// all, and is shown only what comes from or goes to one of its Ports.
	Starts []string
	Sized  bool
	Keyed  *[256]byte
	// Stream is for protocols over TCP, which have Ports and none of the three; nil for those over UDP. It returns the length of
	// the message that b begins with, 0 if it takes more bytes to tell, and -1 if no message begins with b. over says that the
	// connection carries something else after the message or, with 0, that b is the message if the other side sends something now.
	// Detect must then not say No to the beginning of a message. On other ports than its own, a connection is recognised by a message
	// that has a zero byte among its first eight.
	Stream func(b []byte) (length int, over bool)
	// Catalog lists everything that messages can contain and every finding about them.
	Catalog *Catalog
	// Detect judges the first 64 bytes of a payload. It knows no ports, does not
	// allocate and never panics.
	Detect func(payload []byte) Verdict
	// New returns a decoder.
	New func() Decoder
	// Split describes split messages; the decoder is then a [Joiner]. It is nil if
	// messages are never split.
	Split *Splitting
	// Handshake describes challenges and echoes, for a program that answers in place of a server.
	Handshake Handshake
	// Pairing describes how requests and replies are matched and judged.
	Pairing Pairing
}

// A Handshake describes what a reply repeats of its request, and challenges, beyond [Pair] and [Field].Chosen.
type Handshake struct {
	// Give appends the reply that gives a challenge. It is nil if clients must ask for one.
	Give func(dst []byte, challenge uint32) []byte
	// Bits is the size of a challenge; 0 means 31.
	Bits int
	// Setting is the setting of a reply that repeats a value of the request, or "".
	Setting string
	// Words are those in a request after which a value stands that the client chose.
	Words []string
	// Cut removes from a value what the client chose in it. It returns the rest, and the field of the reply that repeats the
	// choice and its bytes there, nil if there is none. Cut may be nil.
	Cut func(f *Field, value string) (rest string, in *Field, echo string)
}

// OverTCP reports whether the messages of a protocol, which may be nil, come over TCP.
func (p *Protocol) OverTCP() bool { return p != nil && p.Stream != nil }

// JSONKey returns the key of the fields of messages in JSON: the name with
// underscores for hyphens.
func (p *Protocol) JSONKey() string { return strings.ReplaceAll(p.Name, "-", "_") }

// Splitting describes the split messages of a protocol.
type Splitting struct {
	// Read reads a split header.
	Read reassembly.ReadPart
	// Alone says that each part can be decoded on its own.
	Alone bool
	// Incomplete reports an incomplete set. Its arguments are the number of parts
	// present, the total (0 if unknown), the missing parts, and the reason.
	Incomplete *FindingType
	// Endless reports a set without its last part, if only that part states the
	// total. Its arguments are the number of parts present, the missing parts, and
	// the reason. If nil, Incomplete is used.
	Endless *FindingType
	// Duplicate reports duplicate parts. Its argument is their number.
	Duplicate *FindingType
	// Reordered reports parts that came out of order.
	Reordered *FindingType
	// Conflict reports parts that arrived again with different bytes. Its argument is their
	// number.
	Conflict *FindingType
	// Totals reports parts that state different totals, Sizes parts that differ in
	// another number that all must share. Their argument lists the values and
	// frames. Both may be nil.
	Totals, Sizes *FindingType
}

// isName reports whether s consists of words of lower case letters,
// digits and the bytes of extra, joined by single dots. The first word begins with a
// letter.
func isName(s, extra string) bool {
	first := true // of a word
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z':
			first = false
		case c >= '0' && c <= '9' && i > 0:
			first = false
		case first || c != '.' && strings.IndexByte(extra, c) < 0:
			return false
		case c == '.':
			first = true
		}
	}
	return !first
}

// unsigned reports whether nothing in a payload says that it belongs to p.
func (p *Protocol) unsigned() bool { return len(p.Starts) == 0 && !p.Sized && p.Keyed == nil }

// Validate returns the first mistake in the declaration of p.
func (p *Protocol) Validate() error {
	switch {
	case !isName(p.Name, "-") || strings.Contains(p.Name, "."):
		return fmt.Errorf("protocol name %q is not lower case letters, digits and hyphens", p.Name)
	case p.Title == "" || p.Doc == "" || p.Source == "":
		return fmt.Errorf("protocol %s: title, doc or source is missing", p.Name)
	case p.Stream != nil && (!p.unsigned() || p.Split != nil):
		return fmt.Errorf("protocol %s: starts, a length, a key and splits are for datagrams", p.Name)
	case len(p.Starts) > 0 && (p.Sized || p.Keyed != nil):
		return fmt.Errorf("protocol %s: either starts, a length or a key", p.Name)
	case slices.Contains(p.Starts, ""):
		return fmt.Errorf("protocol %s: a start is empty", p.Name)
	case p.unsigned() && len(p.Ports) == 0:
		return fmt.Errorf("protocol %s: no starts, no length, no key and no ports", p.Name)
	case p.Catalog == nil || p.Detect == nil || p.New == nil || len(p.Catalog.Messages()) == 0:
		return fmt.Errorf("protocol %s: catalog, messages, detect or new is missing", p.Name)
	case p.Catalog.Name() != p.Name:
		return fmt.Errorf("protocol %s: its catalog is that of %s", p.Name, p.Catalog.Name())
	}
	if _, ok := p.New().(Joiner); ok != (p.Split != nil) {
		return fmt.Errorf("protocol %s: split and join go together", p.Name)
	}
	if s := p.Split; s != nil && (s.Read == nil || s.Incomplete == nil || s.Duplicate == nil || s.Reordered == nil || s.Conflict == nil) {
		return fmt.Errorf("protocol %s: a part of split is missing", p.Name)
	}
	for _, f := range p.Catalog.Fields() {
		if !isName(f.Path[len(p.Name)+1:], "-_") || f.Doc == "" {
			return fmt.Errorf("protocol %s: field %q: bad path or no doc", p.Name, f.Path)
		}
		if f.Privacy == core.Unstated {
			return fmt.Errorf("protocol %s: field %q does not say what its text reveals: see Privacy", p.Name, f.Path)
		}
	}
	for i, t := range p.Catalog.Messages() {
		named := func(o *MessageType) bool { return o.Name == t.Name }
		if !isName(t.Name, "_") || t.Title == "" || t.Doc == "" || slices.ContainsFunc(p.Catalog.Messages()[:i], named) {
			return fmt.Errorf("protocol %s: message %q: bad or repeated name, no title or no doc", p.Name, t.Name)
		}
	}
	for i, f := range p.Catalog.Findings() {
		named := func(o *FindingType) bool { return o.ID == f.ID }
		if !isName(f.ID, "-_") || f.Text == "" || f.Doc == "" || slices.ContainsFunc(p.Catalog.Findings()[:i], named) {
			return fmt.Errorf("protocol %s: finding %q: bad or repeated id, no text or no doc", p.Name, f.ID)
		}
	}
	return nil
}

// valid is the list that validateAll accepted last. Most programs make all their analyzers
// with one list, whose hundreds of declarations take longer to check than a small capture to read.
var valid atomic.Pointer[[]*Protocol]

// validateAll returns the first mistake in a list of protocols, in one of them or
// between them.
func validateAll(list []*Protocol) error {
	if last := valid.Load(); last != nil && slices.Equal(*last, list) {
		return nil
	}
	if len(list) > maxProtocols {
		return fmt.Errorf("%d protocols, at most %d are possible", len(list), maxProtocols)
	}
	ids := make(map[string]*FindingType, 20*len(list))
	for i, p := range list {
		if err := p.Validate(); err != nil {
			return err
		}
		if slices.ContainsFunc(list[:i], func(o *Protocol) bool { return o.Name == p.Name }) {
			return fmt.Errorf("protocol %s is listed twice", p.Name)
		}
		for _, f := range p.Catalog.Findings() {
			if other := ids[f.ID]; other != nil && other != f {
				return fmt.Errorf("finding %s is declared by two protocols", f.ID)
			}
			ids[f.ID] = f
		}
	}
	list = slices.Clone(list)
	valid.Store(&list)
	return nil
}

// maxProtocols is the number of bits in a set of protocols.
const maxProtocols = 64

// A Catalog lists what one protocol declares: the fields of its messages ([Catalog.Add]), its messages, and the findings about them.
// It is filled while its package is initialised and not modified afterwards.
type Catalog struct {
	*core.Catalog
	messages declared[MessageType]
	findings declared[FindingType]
}

// NewCatalog returns the catalog of a protocol. It has two fields: PROTOCOL.data for bytes that could not be decoded, and
// PROTOCOL.trailing for bytes after the end of a message.
func NewCatalog(protocol string) *Catalog { return &Catalog{Catalog: core.NewCatalog(protocol)} }

// Message declares a kind of message.
func (c *Catalog) Message(t MessageType) *MessageType { return c.messages.add(&t) }

// Finding declares a kind of finding.
func (c *Catalog) Finding(t FindingType) *FindingType { return c.findings.add(&t) }

// Messages returns everything that messages can be, in the order of their declaration.
func (c *Catalog) Messages() []*MessageType { return c.messages.list }

// Findings returns every finding that messages can have beside [CommonFindings], in the order of their declaration.
func (c *Catalog) Findings() []*FindingType { return c.findings.list }

// declared are types in the order of their declaration, and room for more: hundreds are declared at each start of a program.
type declared[T any] struct {
	list []*T
	room []T
}

func (d *declared[T]) add(t *T) *T {
	const most = 12
	if len(d.room) == cap(d.room) {
		d.room = make([]T, 0, most)
		d.list = slices.Grow(d.list, most)
	}
	d.room = append(d.room, *t)
	d.list = append(d.list, &d.room[len(d.room)-1])
	return d.list[len(d.list)-1]
}
