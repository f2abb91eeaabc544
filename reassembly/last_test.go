package reassembly

import "testing"

// TestLast joins parts that carry no index and do not say how many they are:
// the last one says that it is.
func TestLast(t *testing.T) {
	p := newPartTable(t, 0, Limits{})
	add := func(id uint64, payload string, last bool) (*Set, Verdict) {
		part := Part{Index: -1, Last: last, Variant: 1}
		return p.Parts.Add(key(id), part, []byte(payload), []uint64{1}, second(0), Asked{}, func([]byte, uint8) (Part, bool) { return part, true })
	}
	for i, payload := range []string{"one", "two", "three"} {
		s, v := add(1, payload, i == 2)
		if i < 2 && v != Held {
			t.Fatalf("%s is %v", payload, v)
		}
		if i == 2 && (v != Complete || s.Len() != 3 || s.Total() != 3 || string(s.Payload(0)) != "one" || string(s.Payload(2)) != "three") {
			t.Fatalf("%s is %v", payload, v)
		}
	}
	if s, v := add(2, "alone", true); v != Complete || s.Len() != 1 || s.Total() != 1 {
		t.Errorf("a part alone is %v", v)
	}
	if _, v := add(3, "no end", false); v != Held {
		t.Errorf("a part without an end is %v", v)
	}
	p.Flush()
	p.lost.want(t, "3 input ended have 1 of 0 missing []")
	wantEmpty(t, p.b)
}
