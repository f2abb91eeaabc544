package pipeline

import (
	"strings"
	"testing"
)

// TestNoteLimits: the numbers of docs/limits.md about comments, said once more.
func TestNoteLimits(t *testing.T) {
	var n notes
	for range 60 {
		n.add([]byte(strings.Repeat("x", 5000)))
	}
	list := n.take()
	if len(list) != 51 || len(list[0]) != 4096 || list[50] != "and 10 more" {
		t.Errorf("%d comments, the first of %d bytes, the last %q", len(list), len(list[0]), list[len(list)-1])
	}
	n.add([]byte("x"))
	if list := n.take(); len(list) != 1 {
		t.Errorf("%q after that", list)
	}
	// A character is not cut in two.
	n.add([]byte(strings.Repeat("€", 2000)))
	if list := n.take(); list[0] != strings.Repeat("€", 1365) {
		t.Errorf("%d bytes, the end is %q", len(list[0]), list[0][len(list[0])-5:])
	}
}
