package dissect

import "testing"

// TestManySources: what a message can be unpacked to, again and again, has an
// end.
func TestManySources(t *testing.T) {
	var r Reader
	r.Reset([]byte("x"), 1, true)
	n := 0
	for r.Err() == nil {
		r.Open("inside", []byte("x"))
		if n++; n > 2*maxSources {
			t.Fatal("there is no end")
		}
	}
	if got := len(r.Sources()); got != maxSources {
		t.Errorf("%d sources, %v", got, r.Err())
	}
}
