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

// TestLastAgain: the last of several parts that nothing numbers is no message of one part
// when it comes again, whatever was requested meanwhile; a reply with the same bytes is one
// once more.
func TestLastAgain(t *testing.T) {
	p := newPartTable(t, 0, Limits{})
	frame := uint64(0)
	for _, step := range []struct {
		at      float64
		payload string
		want    Verdict
	}{
		{1, "one", Held}, {1, "two", Complete}, {1.2, "two", Late}, {3, "two", Late}, {3.01, "one", Held}, {3.02, "two", Complete},
		{5, "three", Held}, {5, "two", Complete}, {5.1, "two", Late}, {7, "alone", Complete}, {9, "alone", Complete},
	} {
		frame++
		part := Part{Index: -1, Last: step.payload == "two" || step.payload == "alone", Variant: 1}
		asked := Asked{Newest: second(float64(int(step.at)/2*2) - 0.5)}
		s, v := p.Parts.Add(key(1), part, []byte(step.payload), []uint64{frame}, second(step.at), asked, func([]byte, uint8) (Part, bool) { return part, true })
		if v != step.want {
			t.Errorf("%s in frame %d is %v, want %v", step.payload, frame, v, step.want)
		}
		if v == Complete && s.Len() != 2-len(step.payload)/5 {
			t.Errorf("the message of frame %d has %d parts", frame, s.Len())
		}
	}
	p.Flush()
	p.lost.want(t)
	wantEmpty(t, p.b)
}
