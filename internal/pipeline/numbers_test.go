package pipeline

import (
	"encoding/binary"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/report"
)

// TestNoteLimits: the numbers of docs/limits.md about comments, said once more.
func TestNoteLimits(t *testing.T) {
	s := &selection{o: Options{Save: &Saving{Annotate: true}}.filled()}
	s.held = make([]heldFrame, 2)
	for range 60 {
		s.held[0].note([]byte(strings.Repeat("x", 5000)))
	}
	list := s.comments(0)
	if len(list) != 51 || len(list[0]) != 4096 || list[50] != "and 10 more" {
		t.Errorf("%d comments, the first of %d bytes, the last %q", len(list), len(list[0]), list[len(list)-1])
	}
	// What is found about a frame that is written already stands at a later one.
	s.every = true
	s.held[1].Number = 9
	s.Finding(&dissect.FlowFinding{Finding: dissect.NewFinding(&dissect.FindingType{ID: "x.y", Text: "z"}), Frame: 7})
	if list := s.comments(1); len(list) != 1 || list[0] != "frame 7, chat: x.y: z" {
		t.Errorf("%q", list)
	}
	s.held[1].notes = nil
	// A character is not cut in two.
	s.held[1].note([]byte(strings.Repeat("€", 2000)))
	if list := s.comments(1); len(list) != 1 || list[0] != strings.Repeat("€", 1365) {
		t.Errorf("%q", list)
	}
}

// TestRoom: the bytes of a frame follow those of the newest one, or begin at the front if the end has no room, but never overwrite those of the oldest.
func TestRoom(t *testing.T) {
	const size = 8 << 20
	for _, c := range []struct {
		held [][2]int // where a frame begins, and its length
		n    int
		at   int
		ok   bool
	}{
		{nil, 100, 0, true},
		{[][2]int{{0, 100}}, 50, 100, true},
		{[][2]int{{10, 100}, {110, 40}}, 50, 150, true},
		{[][2]int{{60, 100}, {size - 100, 60}}, 40, size - 40, true},
		{[][2]int{{60, 100}, {size - 100, 60}}, 41, 0, true},
		{[][2]int{{60, 100}, {size - 100, 60}}, 60, 0, true},
		{[][2]int{{60, 100}, {size - 100, 60}}, 61, 0, false},
		{[][2]int{{60, 100}, {0, 20}}, 40, 20, true},
		{[][2]int{{60, 100}, {0, 20}}, 41, 20, false},
	} {
		s := new(selection)
		for _, f := range c.held {
			s.held = append(s.held, heldFrame{at: f[0], Frame: capture.Frame{Data: make([]byte, f[1])}})
		}
		if at, ok := s.room(c.n); at != c.at || ok != c.ok {
			t.Errorf("%d bytes beside %v: at %d, %v; want at %d, %v", c.n, c.held, at, ok, c.at, c.ok)
		}
	}
}

// TestOneSided: a capture is one-sided if ten pairs of hosts or more send queries, and no host both sends and is sent to.
func TestOneSided(t *testing.T) {
	for _, c := range []struct {
		name  string
		hosts [][2]uint64
		quiet bool // of no known protocol
		want  bool
	}{
		{"ten pairs", pairs(10), false, true},
		{"eleven", pairs(11), false, true},
		{"nine", pairs(9), false, false},
		{"nine, one of them twice", append(pairs(9), pairs(1)...), false, false},
		{"ten, and a reply", append(pairs(10), [2]uint64{100, 1}), false, false},
		{"ten, and what one client sends to another", append(pairs(10), [2]uint64{50, 2}), false, false},
		{"a reply, and ten", append([][2]uint64{{100, 1}}, pairs(10)...), false, false},
		{"ten of traffic", pairs(10), true, false},
	} {
		s := newSides()
		for range 2 {
			for _, p := range c.hosts {
				s.see(packet.Key(p[0]<<16|27015), packet.Key(p[1]<<16|27015), !c.quiet)
			}
			if s.one() != c.want || s.known != s.both {
				t.Errorf("%s: %v, want %v; both %v, known %v", c.name, s.one(), c.want, s.both, s.known)
			}
			s.reset()
		}
	}
}

// pairs are clients of a server, 100.
func pairs(n int) (list [][2]uint64) {
	for i := range n {
		list = append(list, [2]uint64{uint64(i + 1), 100})
	}
	return list
}

// TestEvictedFragments: fragments that were refused and frames nested too deeply are dropped, and counted as such.
func TestEvictedFragments(t *testing.T) {
	e, err := newEngine(&Options{
		Reporter: func() report.Reporter { return new(report.Counts) }, Out: io.Discard, Workers: 1, Analysis: dissect.Config{Protocols: all.Protocols()},
	})
	must.Do(t, err)
	defer e.pool.close()
	// The last eight bytes of a packet, from 65528: one more than the largest packet has.
	beyond := "\x45\x00\x00\x1c\x00\x01\x1f\xff\x40\x11\x00\x00\xc0\x00\x02\x01\xc6\x33\x64\x0112345678"
	tags := strings.Repeat("\x00", 12) + strings.Repeat("\x81\x00\x00\x01", 20) + "\x08\x00"
	for i, data := range []string{beyond, tags, tags} {
		link := uint16(101)
		if data == tags {
			link = 1
		}
		must.Do(t, e.frame(&capture.Frame{Number: uint64(i + 1), LinkType: link, Data: []byte(data), Length: len(data)}))
	}
	if s := e.summary(); s.EvictedFragments != 3 || s.Evicted != 3 || s.Drops != 3 {
		t.Errorf("%d fragments, %d evicted, %d dropped; want 3", s.EvictedFragments, s.Evicted, s.Drops)
	}
}

// TestChosenCounts: counts of everything are no counts of what was chosen.
func TestChosenCounts(t *testing.T) {
	s := &report.Summary{
		Packets: 7, Messages: []uint64{1, 2}, Unknown: 1, GameTraffic: 1, Malformed: 1, Complete: 1, Incomplete: 1, Requests: 1, Replies: 1, Duplicates: 1,
		ICMP: 1, ICMPMatched: 1, AmbiguousReplies: 1, Findings: [4]uint64{1, 1, 1, 1}, MostlyDuplicates: true, OneSided: 1, Unanswered: 1,
	}
	s.Outcomes[dissect.OutcomeUnanswered] = 1
	restrict(s, nil, new(pool))
	if want := (&report.Summary{Packets: 7, Messages: []uint64{0, 0}, Chosen: true}); !reflect.DeepEqual(s, want) {
		t.Errorf("got %+v", s)
	}
}

// TestListedServers: new servers of unknown ports are counted until half of the list is full, and what clients ask of those in it goes on counting.
func TestListedServers(t *testing.T) {
	var list tcp
	ask := func(server byte, port, client uint16) {
		ip := []byte("\x45\x00\x00\x28\x00\x00\x00\x00\x40\x06\x00\x00\x0a\x00\x00\x01\xc6\x33\x64\x00")
		ip[19] = server
		segment := append(binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, client), port), make([]byte, 16)...)
		segment[12], segment[13] = 5<<4, packet.SYN
		list.see(ip, segment)
	}
	for server := range byte(130) {
		ask(server, 2000, 40000)
	}
	ask(200, 27015, 40000)
	ask(0, 2000, 40001)
	ask(0, 2000, 40001) // sent again
	ask(201, 80, 40000)
	if n := len(list.list); n != 129 || list.list[0].Tried != 2 || list.list[0].Packets != 3 || list.list[128].Server.Port() != 27015 {
		t.Errorf("%d servers, the first %+v, the last %+v", n, list.list[0], list.list[n-1])
	}
}
