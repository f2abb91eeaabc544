package golden

import (
	"fmt"
	"os"
	"path/filepath"
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

func TestConfig(t *testing.T) {
	root := t.TempDir()
	below := filepath.Join(root, "a", "b")
	must.Do(t, os.MkdirAll(below, 0o777))
	write := func(dir, text string) string {
		t.Helper()
		path := filepath.Join(dir, ConfigName)
		must.Do(t, os.WriteFile(path, []byte(text), 0o666))
		return path
	}
	// The nearest counts, and only that.
	want := write(root, "ignore = [\"rtt_ns\", \"a2s.players[*].score\"]\nrelative_time = true\n")
	c, err := FindConfig(below)
	if err != nil || c.File != want || len(c.Rules().Ignore) != 2 || !c.Rules().Relative {
		t.Errorf("%+v, %v", c, err)
	}
	want = write(filepath.Join(root, "a"), "ignore = [\"time\"]")
	if c, err = FindConfig(below); err != nil || c.File != want || len(c.Rules().Ignore) != 1 || c.Rules().Relative {
		t.Errorf("%+v, %v", c, err)
	}
	for text, why := range map[string]string{
		"ignroe = [\"time\"]":            `unknown key "ignroe"; known are ignore and relative_time`,
		"ignore = [\"a[\"]":              `"a[" is no path of a field`,
		"ignore = \"time\"":              `line 1: ignore must be a list of texts, such as ["rtt_ns"]`,
		"\nrelative_time = \"yes\"":      "line 2: relative_time must be true or false",
		"ignore = [":                     "line 1",
		"[ignore]\nx = 1":                "ignore",
		strings.Repeat("#", maxConfig+1): "no configuration is as long",
	} {
		path := write(below, text)
		if _, err := FindConfig(below); err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40q: %v, want %s", text, err, why)
		}
	}
}

// FuzzConfig: whatever a configuration has, it is refused in one line with the name of the file, or each of its patterns is one again.
func FuzzConfig(f *testing.F) {
	f.Add([]byte("ignore = [\"rtt_ns\", \"a2s.players[*].score\"]\nrelative_time = true\n"))
	f.Add([]byte("ignore = [\"rtt_n\\t, a2s\"]\n[x]\ny = 1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), ConfigName)
		must.Do(t, os.WriteFile(path, text, 0o666))
		c, err := readConfig(path, int64(len(text)))
		if err != nil && (!strings.HasPrefix(err.Error(), path+": ") || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%q", err)
		}
		for _, p := range c.Rules().Ignore {
			if again, err := ParsePattern(p.String()); err != nil || again.String() != p.String() {
				t.Errorf("%q is %q, %v", p, again, err)
			}
		}
	})
}
