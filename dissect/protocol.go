package dissect

import (
	"fmt"
	"strings"

	"github.com/qdissect/qdissect/reassembly"
)

// A Verdict says how sure a protocol is that a payload is its own.
type Verdict uint8

const (
	// No: it cannot be.
	No Verdict = iota
	// Doubtful: it could be, and others say the same on the same ports. Only the
	// flow, a pending request or what comes back lifts it.
	Doubtful
	// Possible: it could be, and much else could be the same bytes. Alone
	// this is not enough; a port, the flow or a pending request lifts it.
	Possible
	// Likely: the structure fits and little else looks like it.
	Likely
	// Certain: it carries the protocol's own signature.
	Certain
)

func (v Verdict) String() string {
	return [...]string{"no", "doubtful", "possible", "likely", "certain"}[v]
}

// detectBytes is how far into a payload a detector may look.
const detectBytes = 64

// A Decoder reads messages of one protocol. It owns the structs that it fills
// and uses them again for the next message, so that nothing is allocated once
// it is warm.
type Decoder interface {
	// Decode reads one whole message from r into m. It always sets m.Type.
	Decode(r *Reader, m *Message)
}

// A Joiner is a decoder of a protocol whose messages may come in parts.
type Joiner interface {
	Decoder
	// Join reads the split headers of all parts of r, which are in order,
	// and opens what they make together as a source to decode; or it leaves
	// the parts to Decode, which then goes through them with [Reader.Part].
	// It reports false if they make no message, and has set m.Type then. Parts
	// can be missing, see [Reader.Gap]: what stands before the gap is decoded.
	// variant is what the protocol's Split decided.
	Join(r *Reader, variant uint8, m *Message) bool
}

// A Protocol is everything the engine knows of one protocol: a value in a
// list. See docs/adding-a-protocol.md.
type Protocol struct {
	// Name is what users and programs call it: "a2s".
	Name string
	// Title is its name for people, Doc what it is, and by which games and
	// servers it is spoken.
	Title, Doc string
	// Source names the documents that the implementation follows.
	Source string
	// Family joins protocols that answer each other's requests: a server of
	// Valve's engines replies to the old text queries in the format of A2S.
	// A reply is told under the protocol of its request. Protocols of one
	// family number their topics alike. "" is none.
	Family string
	// Wire names a format that several protocols have in common, so that some
	// of their messages are the same bytes. Such a message waits for what the
	// conversation brings. If nothing comes that decides, the port does; if it
	// is of neither, the message is told under the first in the list, and names
	// the others as well. "" is none.
	Wire string
	// Confirm tells such protocols apart where the first 64 bytes do not: it
	// reports whether a whole payload is this one's. nil never does.
	Confirm func(payload []byte) bool
	// Ports are those that servers of it use by default.
	Ports []uint16
	// Starts are the bytes that a payload of it can begin with.
	Starts []byte
	// Fields, Messages and Findings are all that its messages can hold and
	// all that can be said of them.
	Fields   *Catalog
	Messages []*MessageType
	Findings []*FindingType
	// Detect judges a payload by its first 64 bytes, without ports and
	// without allocating. It is total: it never panics.
	Detect func(payload []byte) Verdict
	// New returns a decoder.
	New func() Decoder
	// Split is nil if messages of the protocol are never split. The decoder
	// of a protocol with Split is a [Joiner].
	Split *Splitting
	// Pairing says what is told of requests and replies.
	Pairing Pairing
}

// JSONKey returns the key in JSON under which the fields of messages stand: the name,
// with underscores for hyphens.
func (p *Protocol) JSONKey() string { return strings.ReplaceAll(p.Name, "-", "_") }

// Splitting declares how messages of a protocol come in parts.
type Splitting struct {
	// Read reads a split header.
	Read reassembly.ReadPart
	// Alone says that parts can be understood one by one.
	Alone bool
	// Incomplete is a set that stayed incomplete. Takes the parts there, the
	// parts of the whole (0 if unknown), what is missing, and why it was
	// given up.
	Incomplete *FindingType
	// Endless is the same for a set whose last part never came, where only
	// that one tells how many there are. Takes the parts there, what is
	// missing, and why it was given up. nil says Incomplete instead.
	Endless *FindingType
	// Duplicate is a part that came more than once. Takes the number.
	Duplicate *FindingType
	// Reordered is a set whose parts did not come in order.
	Reordered *FindingType
	// Conflict is a part that came again with other bytes. Takes the number.
	Conflict *FindingType
	// Totals is a set whose parts state different totals. Takes which, and
	// where. Sizes is the same for what else must be the same in all of them. nil
	// says neither.
	Totals, Sizes *FindingType
}

// isName reports whether s is made of words of small letters, digits and the
// bytes of extra, joined by single dots: at least words of them, each beginning
// with a letter.
func isName(s, extra string, words int) bool {
	n := 0
	for word := range strings.SplitSeq(s, ".") {
		if n++; word == "" || word[0] < 'a' || word[0] > 'z' && n == 1 {
			if word == "" || !digit(word[0]) {
				return false
			}
		}
		for i := range len(word) {
			if c := word[i]; (c < 'a' || c > 'z') && !digit(c) && strings.IndexByte(extra, c) < 0 {
				return false
			}
		}
	}
	return n >= words
}

// Validate reports the first mistake in the declaration of p.
func (p *Protocol) Validate() error {
	switch {
	case !isName(p.Name, "-", 1) || strings.Contains(p.Name, "."):
		return fmt.Errorf("protocol name %q is not lower case letters, digits and hyphens", p.Name)
	case p.Title == "" || p.Doc == "" || p.Source == "":
		return fmt.Errorf("protocol %s: title, doc or source is missing", p.Name)
	case len(p.Starts) == 0:
		return fmt.Errorf("protocol %s: no first bytes", p.Name)
	case p.Fields == nil || p.Detect == nil || p.New == nil || len(p.Messages) == 0:
		return fmt.Errorf("protocol %s: fields, messages, detect or new is missing", p.Name)
	}
	if _, ok := p.New().(Joiner); ok != (p.Split != nil) {
		return fmt.Errorf("protocol %s: split and join go together", p.Name)
	}
	if s := p.Split; s != nil && (s.Read == nil || s.Incomplete == nil || s.Duplicate == nil || s.Reordered == nil || s.Conflict == nil) {
		return fmt.Errorf("protocol %s: a part of split is missing", p.Name)
	}
	for _, f := range p.Fields.Fields() {
		if !isName(f.Path, "-_", 2) || f.Doc == "" {
			return fmt.Errorf("protocol %s: field %q: bad path or no doc", p.Name, f.Path)
		}
	}
	names := map[string]bool{}
	for _, t := range p.Messages {
		if !isName(t.Name, "_", 1) || t.Title == "" || t.Doc == "" || names[t.Name] {
			return fmt.Errorf("protocol %s: message %q: bad or repeated name, no title or no doc", p.Name, t.Name)
		}
		names[t.Name] = true
	}
	ids := map[string]bool{}
	for _, f := range p.Findings {
		if !isName(f.ID, "-_", 1) || f.Text == "" || f.Doc == "" || ids[f.ID] {
			return fmt.Errorf("protocol %s: finding %q: bad or repeated id, no text or no doc", p.Name, f.ID)
		}
		ids[f.ID] = true
	}
	return nil
}

// validateAll reports the first mistake in a list of protocols: in one of them
// or between them.
func validateAll(list []*Protocol) error {
	if len(list) > maxProtocols {
		return fmt.Errorf("%d protocols, at most %d are possible", len(list), maxProtocols)
	}
	names, paths, ids := map[string]bool{}, map[string]bool{}, map[string]*FindingType{}
	for _, p := range list {
		if err := p.Validate(); err != nil {
			return err
		}
		if names[p.Name] {
			return fmt.Errorf("protocol %s is listed twice", p.Name)
		}
		names[p.Name] = true
		for _, f := range p.Fields.Fields() {
			if paths[f.Path] {
				return fmt.Errorf("field %s is declared by two protocols", f.Path)
			}
			paths[f.Path] = true
		}
		for _, f := range p.Findings {
			if other := ids[f.ID]; other != nil && other != f {
				return fmt.Errorf("finding %s is declared by two protocols", f.ID)
			}
			ids[f.ID] = f
		}
	}
	return nil
}

// maxProtocols is the width of the set of candidates.
const maxProtocols = 64
