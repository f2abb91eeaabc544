package golden

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/jsonl"
	"github.com/qdissect/qdissect/internal/nettext"
)

// A Kind is a kind of difference.
type Kind uint8

const (
	// Changed: the same message, with other values.
	Changed Kind = iota
	// Missing: a message that should be there and is not.
	Missing
	// New: a message that should not be there.
	New
)

func (k Kind) String() string { return [...]string{"changed", "missing", "new"}[k] }

// A Difference is a message that is not as it should be.
type Difference struct {
	Kind Kind
	// Want and Got are the message as it should be and as it is. Of a message
	// that is missing or new, the other is empty.
	Want, Got Message
	// Fields are the values that changed. They may be fewer than there are if
	// the limit was reached.
	Fields []Field
	// More is how many other messages of the same conversation are missing or
	// new: all that it has.
	More int

	place int // among the others
}

// Message returns the message that is there.
func (d *Difference) Message() *Message {
	if d.Kind == New {
		return &d.Got
	}
	return &d.Want
}

// A Message says which object of the output a difference is about.
type Message struct {
	// Line is that of the object in its file, from 1; in the output of a
	// capture, which no file holds, the line it would have.
	Line int
	jsonl.Head
}

// name is what people would call the message, safe on a terminal: "frame 12 a2s
// info_reply"; with both frames if there are two.
func (d *Difference) name() string {
	m := d.Message()
	var words []string
	if m.Frame > 0 {
		words = append(words, "frame", strconv.FormatUint(m.Frame, 10))
	}
	switch m.Type {
	case "message":
		words = append(words, short(m.Protocol), short(m.Name))
	case "finding":
		words = append(words, "finding", short(m.Name))
	case "capture", "summary":
		words = append(words, m.Type)
	default:
		words = append(words, "object of type", `"`+short(m.Type)+`"`)
	}
	if d.Kind == Changed && d.Got.Frame != d.Want.Frame {
		words = append(words, fmt.Sprintf("(frame %d in the other)", d.Got.Frame))
	}
	words = slices.DeleteFunc(words, func(s string) bool { return s == "" })
	return strings.Join(words, " ")
}

// A Field is a value that changed.
type Field struct {
	// Path leads to it: a2s.players[2].score. Elements of lists are
	// counted as they should be, from 0; those that are new as they are.
	Path string
	// Of is what the element of a list that it is in is called: the name of a
	// player, the key of a rule; or a word of explanation; "" if there is
	// nothing to say.
	Of string
	// From and To are what it should be and what it is, as JSON that is safe
	// on a terminal, cut if it is long; "" if it is not there.
	From, To string
}

// A Result is what a comparison found.
type Result struct {
	// Differences are the first of them.
	Differences []Difference
	// Count is the number of all: of values that changed, and of messages
	// that are missing or new.
	Count int
	// Unstated says that the capture is damaged, of which its golden says
	// nothing: it was not written by [Update].
	Unstated bool
	limit    int
	shown    int // how many differences are kept
}

// Equal reports whether nothing differs.
func (r *Result) Equal() bool { return r.Count == 0 }

// DefaultMax is how many differences a result holds if nobody says.
const DefaultMax = 20

// add counts a difference, and keeps it if there is room.
func (r *Result) add(d *Difference) {
	n := 1
	if d.Kind == Changed {
		n = len(d.Fields)
	}
	room := r.limit - r.shown
	r.Count += n
	if room <= 0 || n == 0 {
		return
	}
	if d.Kind == Changed {
		n = min(n, room)
		d.Fields = d.Fields[:n]
	}
	r.shown += n
	r.Differences = append(r.Differences, *d)
}

// Values are shown to this length, in bytes, and around the place where they
// differ.
const (
	showLength = 96
	showBefore = 24
)

// show writes a value as JSON that is safe on a terminal; of a long one, the
// piece that differs from another.
func show(n, other *jsonl.Node) string {
	if n == nil {
		return ""
	}
	v, o := n.Value, []byte(nil)
	if other != nil {
		o = other.Value
	}
	from, to := piece(v, o)
	quote, b := "", []byte(nil)
	if n.Kind == jsonl.Text {
		quote, b = `"`, nettext.AppendSafe(nil, v[from:to])
	} else {
		b = appendJSON(nil, v[from:to])
	}
	before, after := "", ""
	if from > 0 {
		before = "…"
	}
	if to < len(v) {
		after = "…"
	}
	return quote + before + string(b) + after + quote
}

// appendJSON appends JSON so that no terminal obeys it. What is escaped in it
// already stays as it is.
func appendJSON(b, s []byte) []byte {
	for {
		before, after, escape := bytes.Cut(s, []byte{'\\'})
		b = nettext.AppendSafe(b, before)
		if !escape {
			return b
		}
		b, s = append(b, '\\'), after
	}
}

// piece returns the extent of v to be shown beside o.
func piece(v, o []byte) (from, to int) {
	if len(v) <= showLength {
		return 0, len(v)
	}
	for from < len(v) && from < len(o) && v[from] == o[from] {
		from++
	}
	from = max(0, from-showBefore)
	for from > 0 && !utf8.RuneStart(v[from]) {
		from--
	}
	to = min(len(v), from+showLength)
	for to < len(v) && !utf8.RuneStart(v[to]) {
		to++
	}
	return from, to
}
