package golden

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/internal/must"
)

func TestPattern(t *testing.T) {
	path := func(s string) (list []step) {
		for name := range strings.SplitSeq(s, ".") {
			name, element, in := strings.Cut(strings.TrimSuffix(name, "]"), "[")
			if list = append(list, step{[]byte(name), noIndex}); in {
				n := must.Get(strconv.Atoi(element))(t)
				list = append(list, step{nil, n})
			}
		}
		return list
	}
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"time", "time", true},
		{"time", "first_time", false},
		{"*time", "first_time", true},
		{"time", "a2s.time", false},
		{"a2s.challenge", "a2s.challenge", true},
		{"a2s.challenge", "a2s", false},
		{"a2s.*", "a2s.challenge", true},
		{"a2s.*", "a2s.players[0]", false},
		{"a2s.players[*].duration_s", "a2s.players[31].duration_s", true},
		{"a2s.players[*].duration_s", "a2s.players[31].score", false},
		{"a2s.players[2].*", "a2s.players[2].score", true},
		{"a2s.players[2].*", "a2s.players[3].score", false},
		{"a2s.players[*]", "a2s.players[3]", true},
		{"a2s.players[*].*_hex", "a2s.players[3].name_hex", true},
		{"**.challenge", "a2s.challenge", true},
		{"**.challenge", "challenge", true},
		{"**.challenge", "a2s.a[3].b.challenge", true},
		{"**.challenge", "a2s.challenge.x", false},
		{"a2s.**", "a2s.a[3].b", true},
		{"messages.quake3-master", "messages.quake3-master", true},
		{"findings[*].text", "findings[0].text", true},
		{"a*s.**.n*e", "a2s.players[0].name", true},
	} {
		p := must.Get(ParsePattern(c.pattern))(t)
		if got := (&Rules{Ignore: []Pattern{p}}).ignored(path(c.path)); got != c.want {
			t.Errorf("%s matches %s: %v", c.pattern, c.path, got)
		}
		if got := pathText(path(c.path)); got != c.path {
			t.Errorf("%s is written %s", c.path, got)
		}
	}
	for _, pattern := range []string{"", ".a", "a.", "a..b", "a[", "a[x]", "a[-1]", "a[1]b", "[1]", "a b", "players].x"} {
		if _, err := ParsePattern(pattern); err == nil || err.Error() != fmt.Sprintf("%q is no path of a field; paths look like rtt_ns, a2s.challenge, a2s.players[*].score", pattern) {
			t.Errorf("%q: %v", pattern, err)
		}
	}
	if got := pathText([]step{{[]byte("a.b\x1b"), noIndex}, {nil, 3}, {[]byte(""), noIndex}}); got != `"a.b\x1b"[3].""` {
		t.Error(got)
	}
}
