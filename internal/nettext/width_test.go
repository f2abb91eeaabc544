package nettext

import "testing"

func TestWidth(t *testing.T) {
	for _, c := range []struct {
		text string
		want int
	}{
		{"de_dust2", 8}, {"Café", 4}, {"Cafe\u0301", 4}, {"日本語", 6}, {"한국", 4}, {"Привет", 6}, {"ｆｕｌｌ", 8}, {"🎮", 2}, {"→ ≥ …", 5}, {"a\u200bb", 2}, {"", 0},
	} {
		n := 0
		for _, r := range c.text {
			n += Width(r)
		}
		if n != c.want {
			t.Errorf("%q: %d columns, want %d", c.text, n, c.want)
		}
	}
}
