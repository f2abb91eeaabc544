package capture_test

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/must"
)

// TestRecent: the newest frames are kept with all that matters, up to the limit, and what was handed out stays as it was.
func TestRecent(t *testing.T) {
	const limit = 4 << 20
	r := &capture.Recent{Limit: limit}
	if _, ok := r.Frames().LinkType(); ok {
		t.Error("a link type of no frames")
	}
	read := func(s *capture.Frames) (list []capture.Frame) {
		var f capture.Frame
		for {
			err := s.Next(&f)
			if err == io.EOF {
				return list
			}
			must.Do(t, err)
			list = append(list, f)
		}
	}
	at := time.Date(2026, 3, 14, 19, 0, 0, 123456789, time.UTC)
	want := capture.Frame{Number: 7, Time: capture.StampOf(at), LinkType: 113, Data: []byte("data"), Length: 1500, Name: "eth0"}
	for _, f := range []capture.Frame{want, {Number: 8}, {Number: 9, Data: bytes.Repeat([]byte{9}, 2<<20), Length: 2 << 20}} {
		r.Save(&f)
	}
	if got := read(r.Frames()); len(got) != 0 {
		t.Errorf("%d frames before it is known whether they are wanted", len(got))
	}
	for _, n := range []uint64{6, 10, 1 << 40} { // others
		r.Drop(n)
	}
	r.Settle()
	before := r.Frames()
	got := read(before.Again())
	if len(got) != 3 || got[0].Number != 7 || got[0].Time != want.Time || got[0].LinkType != 113 || string(got[0].Data) != "data" || got[0].Length != 1500 || got[0].Name != "eth0" ||
		!got[1].Time.IsZero() || len(got[2].Data) != 2<<20 {
		t.Errorf("%d frames: %+v", len(got), got[0])
	}
	if first, ok := before.First(); !ok || !first.Equal(at) {
		t.Errorf("the first is of %s", first)
	}
	frame := capture.Frame{Time: capture.StampOf(at), LinkType: 1, Data: make([]byte, 1000), Length: 1000}
	for i := range uint64(20_000) {
		frame.Number = 100 + i
		if r.Save(&frame) > 1<<20 {
			r.Settle()
		}
	}
	r.Settle()
	if before.Cut || !r.Frames().Cut {
		t.Error("whether frames were forgotten is wrong")
	}
	size, list := 0, read(r.Frames())
	for i, f := range list {
		if size += len(f.Data); f.Number != list[0].Number+uint64(i) {
			t.Fatalf("frame %d follows %d", f.Number, list[i-1].Number)
		}
	}
	if last := list[len(list)-1].Number; last != 100+19_999 || size > limit || size < limit/2 {
		t.Errorf("%d bytes of frames up to %d", size, last)
	}
	frame.Number = 1000
	r.Save(&frame)
	for n := range uint64(200) {
		frame.Number = 1001 + n
		r.Save(&frame)
		r.Drop(frame.Number)
	}
	frame.Number = 1500
	r.Save(&frame)
	r.Settle()
	list = read(r.Frames())
	if a, b := list[len(list)-2].Number, list[len(list)-1].Number; a != 1000 || b != 1500 {
		t.Errorf("frames %d and %d remain", a, b)
	}
	if again := read(before.Again()); len(again) != 3 || string(again[0].Data) != "data" {
		t.Errorf("%d of the frames handed out are left", len(again))
	}
}
