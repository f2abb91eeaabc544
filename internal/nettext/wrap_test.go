package nettext

import (
	"strings"
	"testing"
)

func TestAppendWrapped(t *testing.T) {
	for _, c := range []struct {
		line          string
		width, indent int
		want          string
	}{
		{"fits", 4, 0, "fits"},
		{"", 4, 0, ""},
		{"one two three four", 9, 0, "one two\nthree\nfour"},
		{"exactly 21 columns is too long", 21, 1, "exactly 21 columns is\n too long"},
		{"a:                    bc de fg hi jk lm", 32, 22, "a:                    bc de fg\n            hi jk lm"}, // 20 columns have room
		{"abcdefghij", 4, 0, "abcd\nefgh\nij"},                                                                      // no space
		{"a bcdefghij", 6, 0, "a bcde\nfghij"},                                                                      // its only space is in the first half
		{"            key: value", 22, 2, "            key: value"},
		{"            key: values", 22, 2, "            key:\n  values"},
		{"名無しさん", 5, 0, "名無\nしさ\nん"},                                  // two columns each
		{"\x1b[33mab cd ef\x1b[0m", 5, 0, "\x1b[33mab cd\nef\x1b[0m"}, // colours have no width
		{"名", 1, 0, "名"}, // does not fit at all
	} {
		got := string(AppendWrapped([]byte("before:"), []byte(c.line), c.width, c.indent))
		if got != "before:"+c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.line, c.width, got, c.want)
		}
	}
	long := strings.Repeat("x", 1000)
	if got := string(AppendWrapped(nil, []byte(long), 1, 9)); strings.ReplaceAll(got, "\n", "") != long {
		t.Error("characters are lost")
	}
}
