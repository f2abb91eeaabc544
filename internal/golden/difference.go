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
	// Changed: a message whose values differ.
	Changed Kind = iota
	// Missing: an expected message that is absent.
	Missing
	// New: an unexpected message.
	New
)

func (k Kind) String() string { return [...]string{"changed", "missing", "new"}[k] }

// A Difference is a message that differs from the expected one.
type Difference struct {
	Kind Kind
	// Want is the expected message, Got the actual one. One of them is empty if the
	// message is missing or new.
	Want, Got Message
	// Fields are the values that changed, fewer than all if the limit was reached.
	Fields []Field
	// More is the number of other messages if the whole conversation is missing or new.
	More int

	place int // position among the differences
}

// Message returns the expected message, or the actual one if it is new.
func (d *Difference) Message() *Message {
	if d.Kind == New {
		return &d.Got
	}
	return &d.Want
}

// A Message identifies the object of a difference.
type Message struct {
	// Line is the line of the object in its file, from 1. For the output of a capture, it
	// is the line that the object would have in a file.
	Line int
	jsonl.Head
}

// name returns a readable name of the message, safe on a terminal: "frame 12 a2s
// info_reply". It has both frame numbers if they differ.
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
	// Path is its path: a2s.players[2].score. Indexes are those of the expected list, from
	// 0; those of new elements are of the actual list.
	Path string
	// Of is the name of the list element that contains it, such as the name of a player or
	// the key of a rule, or an explanation. It may be "".
	Of string
	// From is the expected value, To the actual one, as JSON that is safe on a terminal,
	// cut if it is long; "" if it is absent.
	From, To string
}

// A Result is the result of a comparison.
type Result struct {
	// Differences are the first differences, up to the limit.
	Differences []Difference
	// Count is the number of all differences: values that changed, and messages that are
	// missing or new.
	Count int
	// Unstated says that the capture is damaged and its golden does not state whether it
	// is, because [Update] did not write it.
	Unstated bool
	limit    int
	shown    int // number of stored differences
}

// Equal reports whether nothing differs.
func (r *Result) Equal() bool { return r.Count == 0 }

// DefaultMax is the default number of differences that a result stores.
const DefaultMax = 20

// add counts a difference and stores it if there is room.
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

// The length to which values are shown, in bytes, and how much of it is before the first
// difference.
const (
	showLength = 96
	showBefore = 24
)

// show formats a value as JSON that is safe on a terminal. Of a long value it shows the
// piece that differs from other.
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

// appendJSON appends JSON, or a summary, without terminal control characters. Existing
// escapes stay unchanged.
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

// piece returns the range of v that is shown beside o.
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
