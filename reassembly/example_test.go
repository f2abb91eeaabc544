package reassembly_test

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/qdissect/qdissect/reassembly"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Fragments of an IP packet are joined in any order.
func ExampleRanges() {
	r := reassembly.NewRanges(reassembly.NewBudget(0), reassembly.Limits{}, func(f *reassembly.Fragments, why reassembly.Reason) {
		fmt.Println("incomplete:", why, f.Missing(nil))
	})
	add := func(id uint64, frame uint64, offset int, more bool, data string) {
		f, verdict := r.Add(reassembly.Key{ID: id}, reassembly.Fragment{Offset: offset, More: more, Data: []byte(data), Frames: []uint64{frame}, Time: start})
		if verdict == reassembly.Complete {
			fmt.Printf("frames %d: %s\n", f.Frames(), f.Data())
		}
	}
	add(1, 1, 8, false, "orld")
	add(1, 2, 0, true, "Hello, w")
	add(2, 3, 0, true, "Good bye")
	r.Flush()
	// Output:
	// frames [1 2]: Hello, world
	// incomplete: input ended [{8 0}]
}

// Parts that carry an index are joined to a message. The caller reads the header of
// each part: here it has a number, the index and the total.
func ExampleParts() {
	p := reassembly.NewParts(reassembly.NewBudget(0), reassembly.Limits{}, func(s *reassembly.Set, why reassembly.Reason) {
		fmt.Println("incomplete:", why, s.Missing(nil))
	})
	read := func(payload []byte, _ uint8) (reassembly.Part, bool) {
		if len(payload) < 4 {
			return reassembly.Part{}, false
		}
		return reassembly.Part{ID: uint64(binary.BigEndian.Uint16(payload)), Index: int(payload[2]), Total: int(payload[3]), Header: 4, Variant: 1}, true
	}
	for i, payload := range []string{"\x00\x07\x01\x02world", "\x00\x07\x00\x02Hello, ", "\x00\x08\x00\x02Good"} {
		part, ok := read([]byte(payload), 0)
		if !ok {
			continue
		}
		key := reassembly.Key{ID: part.ID}
		set, verdict := p.Add(key, part, []byte(payload), []uint64{uint64(i + 1)}, start, reassembly.Asked{}, read)
		if verdict == reassembly.Complete {
			for k := range set.Len() {
				fmt.Printf("%s", set.Payload(k)[set.Header(k):])
			}
			fmt.Printf(" in frames %d\n", set.Frames())
		}
	}
	p.Flush()
	// Output:
	// Hello, world in frames [1 2]
	// incomplete: input ended [1]
}
