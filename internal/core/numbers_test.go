package core

import "testing"

// TestReaderLimits: the numbers of docs/limits.md, said once more: so much is taken,
// and not one more.
func TestReaderLimits(t *testing.T) {
	var r Reader
	Reset(&r, []byte("x"), 1, true)
	for range 259 {
		r.Open("inside", []byte("x"))
	}
	if Err(&r) != nil || len(Sources(&r)) != 260 {
		t.Errorf("%d sources: %v", len(Sources(&r)), Err(&r))
	}
	if r.Open("inside", []byte("x")); Err(&r) == nil {
		t.Error("a source more is taken")
	}

	Reset(&r, []byte("x"), 1, true)
	for range 8192 {
		r.End(r.Begin(leftover))
	}
	if Err(&r) != nil {
		t.Errorf("8192 records: %v", Err(&r))
	}
	if r.End(r.Begin(leftover)); Err(&r) == nil {
		t.Error("a record more is taken")
	}

	Reset(&r, []byte("x"), 1, true)
	for range 33 {
		r.Note(Trailing, Num(1))
	}
	if len(r.findings) != 32 || r.leftOut != 1 {
		t.Errorf("%d findings, %d left out", len(r.findings), r.leftOut)
	}
}
