package pipeline

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/report"
)

// every is a chooser that chooses every n-th event, and remembers the frames.
type every struct {
	n, seen int
	frames  map[uint64]bool
}

func (c *every) choose(frames ...uint64) bool {
	if c.seen++; c.seen%c.n != 0 {
		return false
	}
	for _, f := range frames {
		c.frames[f] = true
	}
	return true
}

func (c *every) Record(r *dissect.Record) bool {
	return c.choose(append(slices.Clone(r.Frames), r.Frame)...)
}
func (c *every) Unknown(u *dissect.Unknown) bool {
	return c.choose(append(slices.Clone(u.Frames), u.Frame)...)
}
func (c *every) Finding(f *dissect.FlowFinding) bool {
	if f.ICMPFrame > 0 {
		return c.choose(f.Frame, f.ICMPFrame)
	}
	return c.choose(f.Frame)
}

// kept is a saver that remembers frames.
type kept struct {
	t      *testing.T
	frames []capture.Frame
}

func (k *kept) Save(f *capture.Frame) error {
	g := *f
	g.Data = slices.Clone(f.Data)
	k.frames = append(k.frames, g)
	return nil
}

func (*kept) Flush() error { return nil }

// TestSelection checks that the frames of chosen messages and findings are saved, whole,
// once and in order, and no others but IP fragments that have been lost.
func TestSelection(t *testing.T) {
	captures, err := filepath.Glob(filepath.FromSlash("../../testdata/pcaps/*/*.pcap"))
	if err != nil || len(captures) < 50 {
		t.Fatalf("%d captures (%v)", len(captures), err)
	}
	for i, name := range must.TryCaptures(captures) {
		if i%must.Try(2, 1) != 0 {
			continue
		}
		want := map[uint64][]byte{}
		src, err := capture.Open(name)
		if err != nil {
			continue
		}
		var f capture.Frame
		for src.Next(&f) == nil {
			want[f.Number] = slices.Clone(f.Data)
		}
		src.Close()
		steps := []int{1, 2, 5}
		for _, n := range must.Try(steps[i/2%3:][:1], steps) {
			for _, annotate := range []bool{false, true} {
				c, saver := &every{n: n, frames: map[uint64]bool{}}, &kept{t: t}
				_, err := Run(Options{
					Inputs: []string{name}, Out: io.Discard, Reporter: func() report.Reporter { return report.NewCounts() }, All: true,
					Analysis: dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign()}, Choice: &Choice{New: func() Chooser { return c }},
					Save: &Saving{Chosen: true, Annotate: annotate, Saver: saver},
					Trouble: func(err error) {
						if strings.Contains(err.Error(), "are not in the file") {
							t.Errorf("%s: %v", name, err)
						}
					},
				})
				must.Do(t, err)
				last := uint64(0)
				for _, f := range saver.frames {
					if f.Number <= last || string(f.Data) != string(want[f.Number]) {
						t.Errorf("%s: frame %d after %d, %d bytes", name, f.Number, last, len(f.Data))
					}
					last = f.Number
					if !c.frames[f.Number] && !strings.Contains(name, "frag") {
						t.Errorf("%s: frame %d was not chosen", name, f.Number)
					}
					delete(c.frames, f.Number)
				}
				if len(c.frames) > 0 {
					t.Errorf("%s: every %d, %v: frames %v are missing", name, n, annotate, c.frames)
				}
			}
		}
	}
}

// TestSelectionLimits checks that a selection holds a bounded number of frames and bytes
// for a bounded time, and counts what it dropped too early.
func TestSelectionLimits(t *testing.T) {
	saver := &kept{t: t}
	now := time.Unix(1, 0)
	s := &selection{o: Options{}.filled(), safe: &safe{saver: saver}}
	hold := func(number uint64, n int) {
		f := &capture.Frame{Number: number, Data: []byte(strings.Repeat(string(rune('a'+number%26)), n))}
		s.before(f, now)
		s.after(f, true, now)
	}
	number := uint64(0)
	for range selectFrames + 11 {
		number++
		hold(number, 1)
	}
	if len(s.held) != selectFrames || s.held[0].Number != 12 {
		t.Errorf("%d frames are held, from %d", len(s.held), s.held[0].Number)
	}
	s.frame(11)
	s.frame(12)
	s.frame(12)
	if s.missing != 1 || s.lost() == nil {
		t.Errorf("%d frames are missing", s.missing)
	}
	for range 1000 { // sizes that do not fit into the circle evenly
		number++
		hold(number, 100_003)
		if number%3 == 0 {
			s.frame(number)
		}
		bytes := 0
		for i := range s.held {
			bytes += len(s.held[i].Data)
		}
		if bytes > selectBytes {
			t.Fatalf("%d bytes are held", bytes)
		}
	}
	now = now.Add(selectTime + time.Second)
	hold(number+1, 1)
	s.before(&capture.Frame{Number: number + 2}, now)
	s.after(nil, false, now)
	if len(s.held) != 1 || s.held[0].Number != number+1 {
		t.Errorf("%d frames are held after %v", len(s.held), selectTime)
	}
	s.end()
	if len(saver.frames) != 334 { // a third of 1000, and frame 12
		t.Errorf("%d frames were saved", len(saver.frames))
	}
	for _, f := range saver.frames {
		if strings.Trim(string(f.Data), string(rune('a'+f.Number%26))) != "" {
			t.Errorf("the bytes of frame %d are others", f.Number)
		}
	}
	if s.frame(number); s.missing > 1 && number%3 == 0 {
		t.Error("a frame that was saved is missing")
	}
}

// TestTrees checks that the distances in trees lead to the frames that belong together,
// also in a file of chosen frames, and that the comments for people are as without trees.
func TestTrees(t *testing.T) {
	captures, err := filepath.Glob(filepath.FromSlash("../../testdata/pcaps/*/*.pcap"))
	if err != nil || len(captures) < 50 {
		t.Fatalf("%d captures (%v)", len(captures), err)
	}
	found := map[string]int{}
	for i, name := range must.TryCaptures(captures) {
		chosen := []bool{false, true}
		for _, some := range chosen[:max(must.Try(1, 2), 2-i%3)] {
			people, saver := &kept{t: t}, &kept{t: t}
			for _, k := range []*kept{people, saver} {
				o := Options{
					Inputs: []string{name}, Out: io.Discard, Reporter: func() report.Reporter { return report.NewCounts() }, Save: &Saving{Saver: k, Annotate: true, Chosen: true},
					Analysis: dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign(), Tree: true}, Trouble: func(error) {},
				}
				n := nettext.Either(some, 3, 1)
				o.Choice = &Choice{New: func() Chooser { return &every{n: n, frames: map[uint64]bool{}} }}
				if k == saver {
					o.Save.Tree, o.Save.Chosen = report.NewTreeNote(false), some
				}
				must.Get(Run(o))(t)
			}
			lines := map[uint64]string{}
			for _, f := range people.frames {
				lines[f.Number] = strings.Join(f.Comments, "\x00")
			}
			for i, f := range saver.frames {
				rest := strings.Join(f.Comments, "\x00")
				if k := len(f.Comments) - 1; k >= 0 && strings.HasPrefix(f.Comments[k], nettext.TreeMark) {
					rest = strings.Join(f.Comments[:k], "\x00")
					for line := range strings.Lines(f.Comments[k]) {
						at, back := map[string]string{"1|request_frame|||": "1|reply_frame|||", "1|part_frame|||": "1|whole_frame|||", "1|icmp_frame|||": "1|refused_frame|||"}, ""
						for path, other := range at {
							if d, ok := strings.CutPrefix(line, path); ok {
								n, _ := strconv.Atoi(strings.TrimSpace(d))
								if i+n < 0 || i+n >= len(saver.frames) || n == 0 {
									t.Fatalf("%s: frame %d: %q", name, f.Number, line)
								}
								back = strings.Join(saver.frames[i+n].Comments, "\x00")
								if want := fmt.Sprintf("%s%d\n", other, -n); !some && !strings.Contains(back, want) {
									t.Errorf("%s: frame %d of the file has %q, but %d not %q: %q", name, i+1, line, i+1+n, want, back)
								}
								if path == "1|request_frame|||" && !strings.Contains(rest, fmt.Sprintf("← frame %d", saver.frames[i+n].Number)) {
									t.Errorf("%s: frame %d has %q, which is frame %d: %q", name, f.Number, line, saver.frames[i+n].Number, rest)
								}
								found[fmt.Sprint(path, some)]++
							}
						}
					}
				}
				if lines[f.Number] != rest {
					t.Errorf("%s: comments of frame %d are %q, want %q", name, f.Number, rest, lines[f.Number])
				}
			}
		}
	}
	if len(found) < 5 {
		t.Errorf("%v", found)
	}
}

// TestTreeLimits checks that a tree fits into a comment, and says what was left out.
func TestTreeLimits(t *testing.T) {
	saver := &kept{t: t}
	s := &selection{o: Options{Save: &Saving{Annotate: true, Tree: report.NewTreeNote(false)}}.filled(), safe: &safe{saver: saver}, every: true}
	now := time.Unix(1, 0)
	lines := []byte(strings.Repeat("1|summary|||0123456789\n", 1000)) // of 23 bytes
	for n := range uint64(maxTrees/report.MaxTree + 100) {
		s.before(&capture.Frame{Number: n + 1}, now)
		for range 3 {
			s.add(&s.held[len(s.held)-1], lines)
		}
		for k := range uint64(2 * maxOthers) {
			s.held[len(s.held)-1].relate("part_frame", n-k/2) // twice
		}
		s.after(nil, true, now)
		if s.trees > maxTrees || len(saver.frames) > 0 && s.trees+report.MaxTree < maxTrees {
			t.Fatalf("%d bytes are held", s.trees)
		}
	}
	if len(s.held) < 200 || len(saver.frames) < 90 {
		t.Errorf("%d frames are held, %d saved", len(s.held), len(saver.frames))
	}
	s.end()
	if s.frame(1 << 30); s.lost() != nil { // of long ago
		t.Error(s.lost())
	}
	if s.trees != 0 {
		t.Errorf("%d bytes after the end", s.trees)
	}
	c := saver.frames[250].Comments
	if len(c) != 1 || len(c[0]) > 1<<16-1 || len(c[0]) < report.MaxTree {
		t.Fatalf("%d comments", len(c))
	}
	if n := strings.Count(c[0], "part_frame"); n != maxOthers || !strings.Contains(c[0], "part_frame|||-100\n") {
		t.Errorf("%d other frames", n)
	}
	if want := "\n1|cut|||392 lines of the tree did not fit into the comment\n"; !strings.HasSuffix(c[0], want) {
		t.Errorf("the end is %q", c[0][len(c[0])-100:])
	}
}

// TestStreams: connections over TCP are counted by server, and what segments look like by port. Of many servers, those at ports of games have room.
// What ICMP says is counted by the port that it is about, of the first thousand errors.
func TestStreams(t *testing.T) {
	var b bytes.Buffer
	m := mkpcap.NewWriter(&b, mkpcap.Options{MTU: 1500})
	tcp := func(n int, src, dst string, flags byte, payload string) {
		s, d := netip.MustParseAddrPort(src), netip.MustParseAddrPort(dst)
		h := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, s.Port()), d.Port())
		for range n {
			m.Segment(time.Unix(1_700_000_000, 0), s.Addr(), d.Addr(), 6, slices.Concat(h, []byte{0, 0, 0, 1, 0, 0, 0, 1, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0}, []byte(payload)))
		}
	}
	const one, two, rcon, high, web, syn, ack, rst = "203.0.113.1:51000", "203.0.113.2:51000", "198.51.100.10:25575", "198.51.100.10:30000", "198.51.100.10:443", 2, 16, 4
	tcp(2, one, rcon, syn, "") // sent again
	tcp(1, rcon, one, syn|ack, "")
	tcp(3, one, rcon, ack, "a request")
	tcp(4, rcon, one, ack, "a reply")
	tcp(1, rcon, one, rst, "") // the end of one that was made
	tcp(1, two, rcon, syn, "")
	tcp(2, rcon, two, rst|ack, "") // refuses it
	tcp(1, two, rcon, syn, "")     // tries again
	tcp(1, two, high, syn, "")
	tcp(1, high, two, rst|ack, "")
	tcp(5, two, high, ack, "GET / HTTP/1.1\r\n") // not counted at a port of no game
	tcp(1, high, two, ack, "HTTP/1.1 200 OK\r\n")
	tcp(1, two, "198.51.100.10:25565", ack, "\x10\x00\xff") // begins before the capture
	tcp(1, one, web, syn, "")
	tcp(1, web, one, rst|ack, "")
	tcp(1, "198.51.100.10:1023", one, rst, "")
	tcp(1, one, "198.51.100.10:1024", syn, "")
	tcp(7, two, high, ack, "\x01\x02")
	tcp(1, rcon, "203.0.113.3:51000", syn|ack, "")    // asked for before the capture
	tcp(1, rcon, "203.0.113.3:25565", ack, "a reply") // to a port of a game
	tcp(1, high, rcon, ack, "a request")
	for i := range 512 {
		tcp(1, one, fmt.Sprintf("198.51.%d.%d:%d", 101+i/256, i%256, 40000-i/256*12985), syn, "")
	}
	tcp(1, one, high, syn, "") // of the first ones
	from, router := netip.MustParseAddrPort(one), netip.MustParseAddr("198.51.100.1")
	for i, typ := range []byte{1, 1, 3} { // over IPv6, the first says that nothing listens
		from, to := netip.MustParseAddrPort("[2001:db8:1::1]:51000"), netip.MustParseAddrPort("[2001:db8::1]:2000")
		about := mkpcap.IP(from.Addr(), to.Addr(), 1, 17, 0, false, false, mkpcap.UDPSegment(from, to, []byte("no game")))
		m.Segment(time.Unix(1_700_000_000, 0), to.Addr(), from.Addr(), 58, mkpcap.ICMP(to.Addr(), from.Addr(), typ, byte(4-min(i, 1)), 0, about))
	}
	for i := range 1010 { // the last 13 are too many
		to := netip.AddrPortFrom(router, uint16(2000+i/505))
		about := mkpcap.IP(from.Addr(), router, 1, 17, 0, false, false, mkpcap.UDPSegment(from, to, []byte("no game")))
		m.Segment(time.Unix(1_700_000_000, 0), router, from.Addr(), 1, mkpcap.ICMP(router, from.Addr(), 3, byte(3-i%3), 0, about))
	}
	sum := must.Get(Run(Options{
		Inputs: []string{"-"}, Stdin: &b, Out: io.Discard, Workers: 1, Analysis: dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign()},
		Reporter: func() report.Reporter { return report.SummaryOnly(report.NewCounts()) },
	}))(t)
	if got, want := fmt.Sprint(sum.Streams[:5], sum.Streams[127:129], sum.Streams[255:], sum.Unread.Segments, sum.Unread.SampledSegments, sum.Unread.Streams, sum.ICMP, sum.Unread.Errors), "[{198.51.100.10:25575 18 3 1 1 false} {198.51.100.10:30000 3 2 0 1 false} {198.51.100.10:25565 1 0 0 0 false} {198.51.100.10:1024 1 1 0 0 false} {198.51.101.0:40000 1 1 0 0 false}] "+
		"[{198.51.101.123:40000 1 1 0 0 false} {198.51.102.0:27015 1 1 0 0 false}] [{198.51.102.127:27015 1 1 0 0 false}] "+
		"551 551 [{Source RCON 25575 17} {HTTP 30000 6} {Minecraft 25565 2} {HTTPS 443 2} {Source RCON 27015 256}] "+
		"1013 [{2001:db8::1 is unreachable 2000 1} {2001:db8::1 did not arrive 2000 2} {198.51.100.1 is unreachable 2000 169} {198.51.100.1 did not arrive 2000 336} {198.51.100.1 did not arrive 2001 328} {198.51.100.1 is unreachable 2001 164}]"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestNoteLimits: the numbers of docs/limits.md about comments, said once more.
func TestNoteLimits(t *testing.T) {
	s := &selection{o: Options{Save: &Saving{Annotate: true}}.filled()}
	for more := range 11 {
		s.held = make([]heldFrame, 2)
		for range 50 + more {
			s.held[0].note([]byte(strings.Repeat("x", 5000)))
		}
		list := s.comments(0)
		if n := min(50+more, 51); len(list) != n || len(list[0]) != 4096 || more > 0 && list[50] != fmt.Sprintf("and %d more", more) {
			t.Errorf("%d comments, the first of %d bytes, the last %q", len(list), len(list[0]), list[len(list)-1])
		}
	}
	// What is found about a frame that is written already stands at a later one, if all frames are saved.
	for _, s.every = range []bool{false, true} {
		s.held[1].Number = 9
		s.Finding(&dissect.FlowFinding{Finding: dissect.NewFinding(&dissect.FindingType{ID: "x.y", Text: "z"}), Frame: 7})
		if list := s.comments(1); fmt.Sprint(list) != map[bool]string{false: "[]", true: "[frame 7, chat: x.y: z]"}[s.every] {
			t.Errorf("%q", list)
		}
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

// TestNumbers: the numbers of docs/limits.md and of the comments, said once more.
func TestNumbers(t *testing.T) {
	got := fmt.Sprint([]int{
		shards, block, atOnce, spill, batchItems, batchBytes, aloneItems, aloneBytes, sweepFrames, stopFrames, maxWaiting, pipeBuffer, snapshotShare,
		selectBytes, selectFrames, savedFrames, maxNotes, maxNote, maxTrees, maxOthers, places, maxSides, enoughPairs, maxStreams, lookedAt, oneOf, lately,
	}, sweepTime, clockStep, clockStepOfSeveral, tickTime, stopTime, selectTime, selectLive, time.Duration(crowdLasts))
	want := "[4 131072 512 1048576 2048 524288 32 16384 256 16 4194304 262144 20 8388608 32768 1048576 50 4096 16777216 100 2048 1024 10 256 1024 256 256] " +
		"1s 100ms 1s 50ms 1s 35s 12s 2m0s"
	if got != want || places != 1<<placeBits {
		t.Errorf("got %s, want %s", got, want)
	}
	for i, o := range []Options{{}, {Count: 1}, {Lines: true}, {Save: &Saving{Annotate: true}}, {Save: &Saving{Chosen: true}}} {
		if o.Workers = 9; o.filled().workers() != []int{shards, 1, 1, 1, 1}[i] {
			t.Errorf("%+v: %d workers", o, o.filled().workers())
		}
	}
}

// TestServices: what a segment of TCP is taken for: by the port of either end, or by how it begins.
func TestServices(t *testing.T) {
	known := "22 SSH|53 DNS|80 HTTP|443 HTTPS|3979 OpenTTD|8080 HTTP|10011 TeamSpeak ServerQuery|25565 Minecraft|25575 Source RCON|27015 Source RCON|" +
		"27016 Source RCON|28016 Rust's WebSocket RCON|30120 HTTP of FiveM|64738 Mumble"
	heads := "GET /=HTTP|POST /=HTTP|HEAD /=HTTP|HTTP/1.0 200=HTTP|\x16\x03\x01=TLS|\x17\x03\x03=TLS|\x17\x03\x01=|SSH-2.0=SSH|="
	for _, row := range append(strings.Split(known, "|"), strings.Split(heads, "|")...) {
		head, name, begins := strings.Cut(row, "=")
		port, want := uint16(7000), "7000 "+name
		if !begins {
			head, want = "", row
			must.Get(fmt.Sscan(row, &port))(t)
		}
		for _, ends := range [][2]uint16{{64999, port}, {port, 64999}} {
			if p, name := streamOf(ends[0], ends[1], []byte(head)); fmt.Sprint(p, " ", name) != want {
				t.Errorf("%d, %q: %d %s, want %s", ends, head, p, name, want)
			}
		}
	}
	want := "[3979 7777 8211 10011 25565 25575 27015 27016 27017 28016 30033 30120 64738] true false false true"
	if got := fmt.Sprint(gamePorts, looks(1024), looks(1025), looks(1279), looks(1280)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestCrowd: after 33 sweeps that took 32 ms, more than that without one may leave much that waits, for two minutes. A clock that goes back by
// more than that begins anew.
func TestCrowd(t *testing.T) {
	const ms, minute = time.Millisecond, time.Minute
	for c, want := range map[[3]time.Duration]string{ // sweeps of 1 ms, and two more after such times
		{33, 32 * ms, 0}: "false false", {33, 32*ms + 1, 0}: "true false", {32, 33 * ms, 0}: "false false", {33, 2*minute - 1, 33 * ms}: "true true",
		{33, 2 * minute, 33 * ms}: "true false", {43, 2*minute - 5*ms, 33 * ms}: "true false", {33, 0, 32*ms - 1}: "false true",
		{33, -2 * minute, 2*minute + 33*ms}: "false true", {33, -2*minute - 1, 2*minute + 34*ms}: "false false",
	} {
		var crowd crowd
		at := time.Unix(1_700_000_000, 0)
		for range c[0] {
			if at = at.Add(ms); crowd.passes(at) {
				t.Errorf("after %v of %d sweeps", time.Duration(at.UnixNano()%1e9), c[0])
			}
		}
		if got := fmt.Sprint(crowd.passes(at.Add(c[1])), crowd.passes(at.Add(c[1]+c[2]))); got != want {
			t.Errorf("%d sweeps, then %v: %v, want %s", c[0], c[1:], got, want)
		}
	}
}

// TestPlaces: of the two places for an endpoint, the one whose endpoint has fewer datagrams is taken.
func TestPlaces(t *testing.T) {
	var same []packet.Key // that want the first place
	for key := packet.Key(1); len(same) < 4; key++ {
		if key*spread>>(64-placeBits) == 0 {
			same = append(same, key)
		}
	}
	for order, want := range map[string]string{ // which are at the places, and how often
		"a": "[0 -1] [1 0] false", "aa": "[0 -1] [2 0] false", "ab": "[0 1] [1 1] false", "abb": "[0 1] [1 2] false", "abc": "[2 1] [1 1] true",
		"aabc": "[0 2] [2 1] true", "abbc": "[2 1] [1 2] true", "aabcc": "[0 2] [2 2] true", "aabccd": "[3 2] [1 2] true",
	} {
		var e endpoints
		for _, x := range order {
			e.count(same[x-'a'])
		}
		if got := fmt.Sprint([]int{slices.Index(same, e.list[0].key), slices.Index(same, e.list[1].key)}, []any{e.list[0].n, e.list[1].n}, e.full); got != want {
			t.Errorf("%s: %s, want %s", order, got, want)
		}
	}
}

// TestDistance: how many saved frames lie between a frame of the file and one that is held, of a million; or, if all are held, after it.
func TestDistance(t *testing.T) {
	s := &selection{saved: make([]uint64, savedFrames/64)}
	for _, frame := range []uint64{60, 63, 64, 70, 128} {
		i, bit := savedBit(frame)
		s.saved[i] |= bit
	}
	for c, want := range map[[3]uint64]int{ // with 1, all are held
		{60, 130}: -5, {63, 130}: -4, {64, 130}: -3, {70, 130}: -2, {128, 130}: -1, {65, 130}: 0, {60, 64}: -2, {60, 63}: -1, {130, 130}: 0, {132, 130}: 0,
		{60, 60 + savedFrames - 1}: -5, {60, 60 + savedFrames}: 0, {132, 130, 1}: 2, {133, 130, 1}: 0,
	} {
		s.every, s.held = c[2] > 0, nil
		for n := range uint64(3) {
			s.held = append(s.held, heldFrame{Frame: capture.Frame{Number: c[1] + n}})
		}
		if got := s.distance(0, c[0]); got != want {
			t.Errorf("frame %d of %d: %d, want %d", c[0], c[1], got, want)
		}
	}
}
