package golden

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/envelope"
	"github.com/qdissect/qdissect/internal/jsonl"
	"github.com/qdissect/qdissect/internal/lazyregexp"
	"github.com/qdissect/qdissect/internal/nettext"
)

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
		if plainName(s.name) {
			b = append(b, s.name...)
		} else {
			b = append(b, '"')
			b = nettext.AppendSafe(b, s.name[:min(len(s.name), 64)])
			b = append(b, '"')
		}
	}
	return string(b)
}

func plainName(s []byte) bool {
	for i := range len(s) {
		if c := s[i]; (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return len(s) > 0 && len(s) <= 64
}

// A talk maps the numbers that the sides chose, and the frames, between two equal
// conversations.
type talk struct {
	to, from map[string]string // maps numbers of one conversation to those of the other, and back
	frames   map[uint64]uint64 // of matching messages
}

func newTalk() *talk {
	return &talk{to: make(map[string]string), from: make(map[string]string), frames: make(map[uint64]uint64)}
}

// renamed reports whether b is the counterpart of a, consistently in the whole
// conversation. Numbers that mean "none" are their own counterparts.
func (t *talk) renamed(a, b []byte) bool {
	x, y := string(a), string(b)
	if noNumber(x) || noNumber(y) {
		return x == y
	}
	to, ok := t.to[x]
	from, ok2 := t.from[y]
	if !ok && !ok2 {
		t.to[x], t.from[y] = y, x
		return true
	}
	return to == y && from == x
}

func noNumber(s string) bool { return s == "" || s == "0" || s == "-1" }

// refers reports whether two frame numbers are those of matching messages.
func (t *talk) refers(a, b []byte) bool {
	x, err := strconv.ParseUint(string(a), 10, 64)
	y, err2 := strconv.ParseUint(string(b), 10, 64)
	if err != nil || err2 != nil {
		return false
	}
	got, ok := t.frames[x]
	return ok && got == y
}

// chosen returns the names of fields with a number or a text that one side chose and the
// other returns, such as challenges and IDs. The catalogs mark them.
var chosen = sync.OnceValue(func() map[string]bool {
	names := make(map[string]bool)
	for _, p := range all.Protocols() {
		for _, f := range p.Fields.Fields() {
			if f.Chosen {
				names[f.JSONName()] = true
				if f.Kind == dissect.Decimal {
					names[f.JSONName()+core.TextSuffix] = true
				}
			}
		}
	}
	return names
})

// isFields reports whether the member of a message with that name contains the fields of
// its protocol.
func isFields(name []byte) bool { return fieldsKeys()[string(name)] }

var fieldsKeys = sync.OnceValue(func() map[string]bool {
	names := make(map[string]bool)
	for _, p := range all.Protocols() {
		names[jsonl.FieldsKey(p.Name)] = true
	}
	return names
})

// talkRole returns the role of a value in a conversation.
func talkRole(p []step) role {
	top, last := string(p[0].name), &p[len(p)-1]
	name := top
	if len(p) == 2 {
		name += "." + string(last.name)
	}
	switch k := envelope.Lookup(name); {
	case k != nil && k.Varies:
		return passed
	case name == "request_frame":
		return reference
	case name == "length", name == "wire_length":
		return follows // a number in text may have more or fewer digits
	case len(p) > 1 && isFields(p[0].name) && last.index == noIndex && chosen()[string(last.name)]:
		return identity
	}
	return plain
}

// packetFinding reports whether a finding is about packets or their times, not about the
// contents of messages.
func packetFinding(id string) bool { return packetFindings()[id] }

var packetFindings = sync.OnceValue(func() map[string]bool {
	ids := make(map[string]bool)
	note := func(types []*dissect.FindingType) {
		for _, f := range types {
			ids[f.ID] = f.Class == core.OfCapture
		}
	}
	note(dissect.CommonFindings())
	for _, p := range all.Protocols() {
		note(p.Findings)
	}
	return ids
})
