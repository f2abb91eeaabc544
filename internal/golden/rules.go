package golden

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

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
	return len(s) > 0 && len(s) <= 64 && !bytes.ContainsFunc(s, func(c rune) bool {
		return (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '_' && c != '-'
	})
}
