package dissect_test

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/core"
)

// at is a datagram of a play: milliseconds, path as for script.send, payload.
type at struct {
	ms      float64
	path    string
	payload string
}

// play plays datagrams in the order of their times.
func (s *script) play(list []at) {
	s.t.Helper()
	begin := s.now
	for _, d := range list {
		s.now = begin.Add(time.Duration(d.ms*1e6)*time.Nanosecond - 10*time.Millisecond)
		s.send(d.path, d.payload)
	}
}

// mirrored returns a play as a mirror port captures it: with a copy of each
// datagram, some time later; without copies if lag is nil.
func mirrored(list []at, lag func(i int) float64) []at {
	twice := slices.Clone(list)
	for i, d := range list {
		if lag == nil {
			break
		}
		d.ms += lag(i)
		twice = append(twice, d)
	}
	slices.SortStableFunc(twice, func(a, b at) int { return cmp.Compare(a.ms, b.ms) })
	return twice
}

// withoutFrames takes the numbers of frames out of lines.
func withoutFrames(lines []string) (out []string) {
	for _, l := range lines {
		if strings.Contains(l, "!capture.duplicate") {
			continue
		}
		f := strings.Fields(l)
		for i := range f {
			if i == 0 || f[i-1] == "<-" {
				f[i] = "#"
			}
		}
		out = append(out, strings.Join(f, " "))
	}
	return out
}

// sameLines names the first line that differs.
func sameLines(t *testing.T, name string, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Errorf("%s: line %d of %d, want %d: %q, want %q", name, i, len(got), len(want), got[min(i, len(got)):min(i+1, len(got))], want[min(i, len(want)):min(i+1, len(want))])
			return
		}
	}
}

// conversation is a client that asks for all there is, twice, with challenges and
// a split reply.
func conversation() (list []at) {
	part := func(id, index byte, data string) string {
		return "\xfe\xff\xff\xff" + string([]byte{id, 0, 0, 0, 2, index, 0xe0, 0x04}) + data
	}
	for i := range 20 {
		t := float64(i) * 100
		list = append(list,
			at{t, ">40000:27015", infoShort},
			at{t + 4, "<40000:27015", challenge},
			at{t + 4.5, ">40000:27015", infoShort + "\x01\x02\x03\x04"},
			at{t + 8.5, "<40000:27015", infoReply},
			at{t + 9, ">40000:27015", playersHas},
			at{t + 13, "<40000:27015", players},
			at{t + 13.5, ">40000:27015", rulesHas},
			at{t + 17.5, "<40000:27015", part(byte(i), 0, single+"E\x02\x00key\x00val")},
			at{t + 17.75, "<40000:27015", part(byte(i), 1, "ue\x00other\x00thing\x00")},
			at{t + 48.25, ">40000:27015", playersHas},
			at{t + 52.25, "<40000:27015", players[:len(players)-1] + string([]byte{byte(i)})},
		)
	}
	return list
}

// listing is a client that asks a master for two pages, the second at once.
func listing() (list []at) {
	for i := range 20 {
		t := float64(i) * 100
		list = append(list,
			at{t, ">40000:27011", "1\xff0.0.0.0:0\x00\x00"},
			at{t + 12.5, "<40000:27011", single + "f\n\x01\x02\x03\x04\x69\x87\x05\x06\x07\x08\x69\x88"},
			at{t + 13, ">40000:27011", "1\xff5.6.7.8:27016\x00\x00"},
			at{t + 25.5, "<40000:27011", single + "f\n\x09\x09\x09\x09\x69\x87\x00\x00\x00\x00\x00\x00"},
		)
	}
	return list
}

// TestCutCopies: of datagrams that the capture cut, equal bytes are one datagram only if their lengths are equal and the identification
// says so, or if the capture has all others twice.
func TestCutCopies(t *testing.T) {
	play := func(whole int, list ...[2]int) int { // identifications and what is missing
		s := newScript(t, dissect.Config{})
		s.play(mirrored(conversation()[:whole], func(int) float64 { return 0.1 }))
		before := s.a.Stats().Duplicates
		for _, d := range list {
			s.id, s.cut = uint16(d[0]), d[1]
			s.now = s.now.Add(-9 * time.Millisecond)
			s.send("<40001:27015", infoReply)
		}
		return int(s.a.Stats().Duplicates - before)
	}
	for name, n := range map[string][2]int{
		"not numbered":     {play(0, [2]int{0, 40}, [2]int{0, 40}, [2]int{0, 40}), 0},
		"numbered":         {play(0, [2]int{1, 40}, [2]int{2, 40}, [2]int{3, 40}), 0},
		"one twice":        {play(0, [2]int{1, 40}, [2]int{1, 40}), 1},
		"another length":   {play(0, [2]int{1, 40}, [2]int{1, 41}), 0},
		"on a mirror port": {play(20, [2]int{0, 40}, [2]int{0, 40}), 1},
		"and longer":       {play(20, [2]int{0, 40}, [2]int{0, 41}), 0},
	} {
		if n[0] != n[1] {
			t.Errorf("%s: %d duplicates, want %d", name, n[0], n[1])
		}
	}
}

// TestMirrorPort: whatever is captured twice, up to 10 ms later, reads as if it had
// been captured once.
func TestMirrorPort(t *testing.T) {
	t.Run("queries", func(t *testing.T) { testMirror(t, conversation()) })
	t.Run("pages", func(t *testing.T) { testMirror(t, listing()) })
}

func testMirror(t *testing.T, list []at) {
	once := newScript(t, dissect.Config{})
	once.play(list)
	once.wait(time.Minute)
	want := withoutFrames(once.lines)
	for name, lag := range map[string]func(int) float64{
		"at once": func(int) float64 { return 0 },
		"1 ms":    func(int) float64 { return 1 },
		"3 ms":    func(int) float64 { return 3 },
		"5 ms":    func(int) float64 { return 5 },
		"10 ms":   func(int) float64 { return 10 },
		"varying": func(i int) float64 { return float64(i*7%11) - 0.3*float64(i%2) + 0.3 },
	} {
		s := newScript(t, dissect.Config{})
		s.play(mirrored(list, lag))
		s.a.Inner(core.Only{}).QuietCopies()
		s.wait(time.Minute)
		sameLines(t, name, withoutFrames(s.lines), want)
		if st := s.a.Stats(); st.Duplicates == 0 || !st.Duplicated() {
			t.Errorf("%s: %d duplicates", name, st.Duplicates)
		}
	}
}

// TestMirrorCrowd: what many clients of one server say at the same time is known by
// its ends, though the bytes are the same.
func TestMirrorCrowd(t *testing.T) {
	var crowd []at
	for client := range 12 {
		for _, d := range conversation() {
			d.ms += float64(client) * 0.37
			d.path = strings.Replace(d.path, "40000", fmt.Sprint(40000+client), 1)
			crowd = append(crowd, d)
		}
	}
	play := func(list []at) *script {
		s := newScript(t, dissect.Config{})
		s.play(list)
		s.a.Inner(core.Only{}).QuietCopies()
		s.wait(time.Minute)
		return s
	}
	want := withoutFrames(play(mirrored(crowd, nil)).lines)
	s := play(mirrored(crowd, func(i int) float64 { return float64(i*7%11) * 0.93 }))
	sameLines(t, "crowd", withoutFrames(s.lines), want)
}

// TestPolling: a client that asks faster than the server answers gets no round
// trip that is not the true one, and none of its messages is lost.
func TestPolling(t *testing.T) {
	for _, every := range []float64{2, 5, 7, 10, 20, 50, 100, 400} {
		for _, rtt := range []float64{3, 7.5, 30, 150, 151, 1050, 5200} {
			for _, replies := range []string{"same", "different", "in parts"} {
				p := &poll{script: newScript(t, dissect.Config{}), rtt: time.Duration(rtt * 1e6)}
				p.run(every, rtt, replies)
				if p.wrong > 0 {
					t.Errorf("every %v ms, answered after %v ms, %s: %d false round trips of %d, first %v", every, rtt, replies, p.wrong, p.replies, p.first)
				}
				if lost := 120 - p.requests - p.replies; lost > 2 && rtt < 5000 {
					t.Errorf("every %v ms, answered after %v ms, %s: %d of 120 messages are lost", every, rtt, replies, lost)
				}
			}
		}
	}
}

type poll struct {
	*script
	rtt                      time.Duration
	requests, replies, wrong int
	first                    time.Duration
}

func (p *poll) Record(r *dissect.Record) {
	switch r.Type.Role {
	case dissect.Request:
		p.requests++
	case dissect.Reply:
		p.replies++
		if d := r.RTT - p.rtt; r.TimeKnown && (d > time.Microsecond || d < -time.Microsecond) {
			if p.wrong++; p.wrong == 1 {
				p.first = r.RTT
			}
		}
	}
}

func (p *poll) run(every, rtt float64, replies string) {
	var err error
	if p.a, err = dissect.New(dissect.Config{Protocols: all.Protocols()}, p); err != nil {
		p.t.Fatal(err)
	}
	var list []at
	for i := range 60 {
		a := asked{infoShort, []string{infoReply}}
		switch replies {
		case "different":
			a.parts[0] = strings.Replace(infoReply, "Name", fmt.Sprintf("N%03d", i), 1)
		case "in parts":
			a = sourceParts(1, uint32(i))
		}
		list = append(list, at{float64(i) * every, ">40000:27015", a.request})
		for j, part := range a.parts {
			list = append(list, at{float64(i)*every + rtt + float64(j)/10, "<40000:27015", part})
		}
	}
	slices.SortStableFunc(list, func(a, b at) int { return cmp.Compare(a.ms, b.ms) })
	begin := p.now
	for _, d := range list {
		p.a.Advance(begin.Add(time.Duration(d.ms * 1e6)))
		p.now = begin
		p.play([]at{d})
		p.now = begin
	}
}

// TestAnsweredFlood: while a server answers a flood of clients, newcomers are
// still paired.
func TestAnsweredFlood(t *testing.T) {
	s := newScript(t, dissect.Config{Limits: dissect.Limits{Flows: 64, Requests: 4096}})
	server := netip.MustParseAddrPort("198.51.100.1:27015")
	send := func(from, to netip.AddrPort, payload string) {
		s.frame++
		s.now = s.now.Add(100 * time.Microsecond)
		s.a.Datagram(&dissect.Datagram{Frame: s.frame, Time: s.now, Src: from, Dst: to, Payload: []byte(payload)})
	}
	client := func(i int) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 1000)
	}
	const behind = 10 // requests that wait for a reply at once
	for i := range 2000 {
		send(client(i), server, infoShort)
		if i >= behind {
			send(server, client(i-behind), infoReply)
		}
	}
	paired := 0
	for _, l := range s.lines {
		if strings.Contains(l, "info_reply") && strings.Contains(l, "<-") {
			paired++
		}
	}
	if paired != 2000-behind {
		t.Errorf("%d of %d replies are paired", paired, 2000-behind)
	}
	if st := s.a.Stats(); st.FlowsEvicted < 1900 {
		t.Errorf("%d conversations evicted: this is no flood", st.FlowsEvicted)
	}
}
