package golden

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/jsonl"
	"github.com/qdissect/qdissect/internal/lazyregexp"
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
	return nettext.Either(d.Kind == New, &d.Got, &d.Want)
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
	n := nettext.Either(d.Kind == Changed, len(d.Fields), 1)
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

// Rules say what may differ.
type Rules struct {
	// Ignore are the values that may differ.
	Ignore []Pattern
	// Relative compares times relative to the first packet of the capture.
	Relative bool
	// Wording also compares the texts of summaries, findings and damage.
	Wording bool
	// Conversation treats captures as recordings of the same conversations. Their order,
	// addresses, ports and times may differ, and so may challenges, session IDs and IDs of
	// split messages, if they are used consistently.
	Conversation bool
}

// exact reports whether no value may differ.
func (r *Rules) exact() bool { return len(r.Ignore) == 0 && !r.Relative && !r.Conversation }

// A Pattern selects values by their path in an object: a2s.challenge,
// a2s.players[*].duration_s, findings[*].text. In a name, * matches any characters; [*]
// matches any element of a list, and ** any number of steps. A pattern also selects
// everything within the value.
type Pattern struct {
	text string
	path *regexp.Regexp
}

func (p Pattern) String() string { return p.text }

// A step is one step of a path: to a member of an object or an element of a list.
type step struct {
	name  []byte // of a member
	index int    // of an element; noIndex for a member
}

const noIndex = -1

var (
	patternForm = lazyregexp.New(`^[^][. \t]+(?:\.[^][. \t]+|\[(?:\d+|\*)\])*$`)
	patternStep = lazyregexp.New(`\.[^][.]+|\[\d+\]|\[\*\]`)
)

// ParsePattern parses a pattern.
func ParsePattern(s string) (Pattern, error) {
	s = strings.TrimSpace(s)
	if !patternForm().MatchString(s) {
		return Pattern{}, fmt.Errorf("%q is no path of a field; paths look like rtt_ns, a2s.challenge, a2s.players[*].score", s)
	}
	path := patternStep().ReplaceAllStringFunc("."+s, func(step string) string {
		switch step {
		case ".**":
			return `(?:\.[^.[]*|\[\d+\])*`
		case "[*]":
			return `\[\d+\]`
		}
		return strings.ReplaceAll(regexp.QuoteMeta(step), `\*`, `[^.[]*`)
	})
	return Pattern{s, regexp.MustCompile("^" + path + "$")}, nil
}

// ParsePatterns parses lists of patterns separated by commas.
func ParsePatterns(list []string) (all []Pattern, err error) {
	for _, s := range list {
		for part := range strings.SplitSeq(s, ",") {
			p, err := ParsePattern(part)
			if err != nil {
				return nil, err
			}
			all = append(all, p)
		}
	}
	return all, nil
}

// ignored reports whether the value at a path may differ.
func (r *Rules) ignored(path []step) bool {
	if len(r.Ignore) == 0 || len(path) == 0 {
		return false
	}
	text := "." + pathText(path)
	return slices.ContainsFunc(r.Ignore, func(p Pattern) bool { return p.path.MatchString(text) })
}

// pathText formats a path like a pattern. Unusual names are quoted, because they come from
// a file.
func pathText(path []step) string {
	var b []byte
	for i := range path {
		s := &path[i]
		if s.index != noIndex {
			b = append(b, '[')
			b = strconv.AppendInt(b, int64(s.index), 10)
			b = append(b, ']')
			continue
		}
		if i > 0 {
			b = append(b, '.')
		}
		if len(s.name) <= 64 && nettext.Word(string(s.name), "_-") {
			b = append(b, s.name...)
		} else {
			b = append(b, '"')
			b = nettext.AppendSafe(b, s.name[:min(len(s.name), 64)])
			b = append(b, '"')
		}
	}
	return string(b)
}
