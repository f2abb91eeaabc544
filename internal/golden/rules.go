package golden

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	text  string
	steps []step
}

func (p Pattern) String() string { return p.text }

// A step is one step of a path: to a member of an object or an element of a list.
type step struct {
	name  []byte // of a member; in a pattern, with *
	index int    // of an element; noIndex for a member
}

const (
	noIndex  = -1
	anyIndex = -2
	anySteps = -3
)

// ParsePattern parses a pattern.
func ParsePattern(s string) (Pattern, error) {
	p := Pattern{text: s}
	bad := func(why string) (Pattern, error) {
		return p, fmt.Errorf("%q is no path of a field: %s; paths look like rtt_ns, a2s.challenge, a2s.players[*].score", s, why)
	}
	rest := strings.TrimSpace(s)
	for first := true; rest != "" || first; first = false {
		if strings.HasPrefix(rest, "[") && !first {
			inside, after, ok := strings.Cut(rest[1:], "]")
			if !ok {
				return bad("a bracket is not closed")
			}
			n, err := strconv.Atoi(inside)
			switch {
			case inside == "*":
				n = anyIndex
			case err != nil || n < 0:
				return bad("in brackets stands neither a number nor *")
			}
			p.steps = append(p.steps, step{index: n})
			rest = after
			continue
		}
		if !first {
			var ok bool
			if rest, ok = strings.CutPrefix(rest, "."); !ok {
				return bad("a dot is missing")
			}
		}
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		name := rest[:end]
		switch {
		case name == "":
			return bad("a name is missing")
		case strings.ContainsAny(name, "] \t"):
			return bad("a name is no name")
		case name == "**":
			p.steps = append(p.steps, step{index: anySteps})
		default:
			p.steps = append(p.steps, step{name: []byte(name), index: noIndex})
		}
		rest = rest[end:]
	}
	return p, nil
}

// ParsePatterns parses patterns; each string may contain several, separated by commas.
func ParsePatterns(list []string) (all []Pattern, err error) {
	for _, s := range list {
		for part := range strings.SplitSeq(s, ",") {
			p, err := ParsePattern(strings.TrimSpace(part))
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
	return slices.ContainsFunc(r.Ignore, func(p Pattern) bool { return matches(p.steps, path) })
}

func matches(pattern, path []step) bool {
	for len(pattern) > 0 {
		p := &pattern[0]
		if p.index == anySteps {
			for skip := range len(path) + 1 {
				if matches(pattern[1:], path[skip:]) {
					return true
				}
			}
			return false
		}
		if len(path) == 0 {
			return false
		}
		switch s := &path[0]; {
		case p.index == noIndex:
			if s.index != noIndex || !glob(p.name, s.name) {
				return false
			}
		case s.index == noIndex || p.index != anyIndex && p.index != s.index:
			return false
		}
		pattern, path = pattern[1:], path[1:]
	}
	return len(path) == 0
}

// glob reports whether a name matches a pattern with stars.
func glob(pattern, name []byte) bool {
	before, after, star := bytes.Cut(pattern, []byte("*"))
	if !star {
		return bytes.Equal(pattern, name)
	}
	if !bytes.HasPrefix(name, before) {
		return false
	}
	name = name[len(before):]
	for i := range len(name) + 1 {
		if glob(after, name[i:]) {
			return true
		}
	}
	return false
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
