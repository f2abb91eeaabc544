package unitfile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/talks"
)

func empty(name string) *Unit {
	return &Unit{Captures: name, Names: []string{name}, Part: All, Packets: 7, Shards: stats.NewShards(), Talks: talks.New(), Guesses: []stats.Guess{{What: "DNS", Count: 3}}}
}

// TestLimits reads what is too large, what is damaged and what is something else.
func TestLimits(t *testing.T) {
	b := must.Get(Append(nil, empty("x.pcap")))(t)
	if u, err := Read(bytes.NewReader(b), all.Protocols()); err != nil || u.Captures != "x.pcap" || u.Packets != 7 || len(u.Guesses) != 1 {
		t.Fatal(u, err)
	}
	evil := empty("x.pcap")
	evil.Guesses[0].What = "\x1b[2Jnothing"
	unsafe := must.Get(Append(nil, evil))(t)
	z, _ := zstd.NewWriter(nil)
	bomb := append([]byte(magic), bytes.Repeat(z.EncodeAll(make([]byte, maxFile>>6+1), nil), 64)...)
	other := bytes.Clone(b)
	other[len(magic)-2]++
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"bomb":          {bomb, "larger than any aggregate"},
		"escapes":       {unsafe, "must not reach a terminal"},
		"short":         {b[:len(b)-5], "damaged: "},
		"other":         {[]byte("PK and more that is no aggregate"), "not an aggregate"},
		"nothing":       {nil, "not an aggregate"},
		"other version": {other, "another version"},
	} {
		if _, err := Read(bytes.NewReader(c.b), all.Protocols()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}

	s, u := NewSum(), empty("")
	for i := range maxFiles + 10 {
		u.Captures = fmt.Sprint(i)
		s.Add(u)
	}
	if len(s.Files) != maxFiles || s.Units != maxFiles+10 || s.Packets != 7*(maxFiles+10) || s.Guesses()[0].Count != 3*(maxFiles+10) {
		t.Errorf("%d files, %d units, %d packets, %v", len(s.Files), s.Units, s.Packets, s.Guesses())
	}
}

// TestJoin joins parts of a unit, and refuses those that do not belong together.
func TestJoin(t *testing.T) {
	part := func(name string, mask uint16, packets uint64) *Unit {
		u := empty(name)
		u.Part, u.Packets = mask, packets
		return u
	}
	a := part("x", 0b0011, 7)
	if err := a.Join(part("x", 0b1100, 7)); err != nil || a.Part != All || a.Packets != 7 || a.Guesses[0].Count != 6 {
		t.Error(err, a)
	}
	for _, b := range []*Unit{part("x", 1, 7), part("y", 0b1100, 7), part("x", 0b1100, 8)} {
		if err := part("x", 0b0011, 7).Join(b); err == nil {
			t.Errorf("%s, shards %x, %d packets: no error", b.Captures, b.Part, b.Packets)
		}
	}
}
