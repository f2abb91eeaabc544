package dissect_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/dsnet/compress/bzip2"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
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
	var held []at // until the reply says of which protocol they are
	for i := range 20 {
		ms := 100 * float64(i)
		held = append(held, at{ms, ">40000:9999", single + "ping\x00"}, at{ms + 12.5, "<40000:9999", single + "j\x00"})
	}
	t.Run("held", func(t *testing.T) { testMirror(t, held) })
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
	for i, every := range []float64{2, 5, 7, 10, 20, 50, 100, 400} {
		for k, rtt := range []float64{3, 7.5, 30, 150, 151, 1050, 5200} {
			for _, replies := range []string{"same", "different", "in parts", "same", "different"}[(i+k)%3:][:must.Try(1, 3)] {
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
	p.a = must.Get(dissect.New(dissect.Config{Protocols: all.Protocols()}, p))(p.t)
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

// TestReflected: the equal replies that a server sends to a victim without a pause are messages, not copies of the first. Without
// an identification a few cannot be told from copies; what a mirror doubles is counted once.
func TestReflected(t *testing.T) {
	for _, c := range []struct {
		name     string
		every    time.Duration
		numbered bool
		mirrored bool
		least    uint64 // messages, of 2,000 replies
	}{
		{"numbered", 2500 * time.Microsecond, true, false, 1990},
		{"not numbered", 2500 * time.Microsecond, false, false, 1990},
		{"numbered, fast", 50 * time.Microsecond, true, false, 1760},      // 12 ms are the window
		{"not numbered, fast", 50 * time.Microsecond, false, false, 440},  // of each four
		{"numbered, mirrored", 2500 * time.Microsecond, true, true, 1999}, // two copies prove it
	} {
		s := newScript(t, dissect.Config{})
		d := dissect.Datagram{Src: netip.MustParseAddrPort("198.51.100.1:27015"), Dst: netip.MustParseAddrPort("203.0.113.77:80"), Payload: []byte(infoReply)}
		for i := range 2000 {
			if d.Time = s.now.Add(time.Duration(i) * c.every); c.numbered {
				d.IPID = uint16(i + 1)
			}
			d.Frame++
			s.a.Datagram(&d)
			if c.mirrored {
				d.Frame++
				d.Time = d.Time.Add(20 * time.Microsecond)
				s.a.Datagram(&d)
			}
		}
		if n := s.a.Stats().Messages; n < c.least || n > 2000 {
			t.Errorf("%s: %d messages, want %d to 2,000", c.name, n, c.least)
		}
	}
}

// A stamped datagram of a play has the identification of its IP header.
type stamped struct {
	at
	id uint16
}

// stamps numbers a play as two hosts do.
func stamps(list []at) (out []stamped) {
	up, down := uint16(1000), uint16(40000)
	for _, d := range list {
		s := stamped{at: d}
		if d.path[0] == '>' {
			up++
			s.id = up
		} else {
			down += 3
			s.id = down
		}
		out = append(out, s)
	}
	return out
}

// repeated adds a copy of each datagram for each of these lags in milliseconds.
func repeated(list []stamped, lags ...float64) []stamped {
	all := slices.Clone(list)
	for i, d := range list {
		for k, lag := range lags {
			c := d
			c.ms += lag - 0.01*float64((i+k)%7)
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b stamped) int { return int((a.ms - b.ms) * 1e6) })
	return all
}

func played(t *testing.T, list []stamped, c dissect.Config) *script {
	t.Helper()
	s := newScript(t, c)
	begin := s.now
	for _, d := range list {
		s.now = begin.Add(time.Duration(d.ms*1e6)*time.Nanosecond - 10*time.Millisecond)
		s.id = d.id
		s.send(d.path, d.payload)
	}
	s.a.Inner(core.Only{}).QuietCopies()
	s.wait(time.Minute)
	return s
}

// TestManyCopies: with identifications, captures on several interfaces read as if
// each datagram had been captured once, however many copies there are and however
// late; without them, if the copies come before the reply does.
func TestManyCopies(t *testing.T) {
	var calm []at
	for i := range 20 {
		ms := float64(i) * 1000
		calm = append(calm,
			at{ms, ">40000:27015", infoShort}, at{ms + 30, "<40000:27015", infoReply},
			at{ms + 61, ">40000:27015", playersHas}, at{ms + 90, "<40000:27015", players})
	}
	for _, lags := range [][]float64{{0.1}, {5}, {10}, {50}, {0.1, 0.2}, {1, 3}, {4, 8}, {9, 10}, {1, 2, 3}, {3, 6, 9}, {0.1, 5, 10}} {
		for name, list := range map[string][]at{"calm": calm, "busy": conversation()} {
			for _, marked := range []bool{true, false} {
				if !marked && (name == "busy" && len(lags) > 1 || lags[0] > 10) {
					continue
				}
				once := stamps(list)
				if !marked {
					for i := range once {
						once[i].id = 0
					}
				}
				want := withoutFrames(played(t, once, dissect.Config{}).lines)
				s := played(t, repeated(once, lags...), dissect.Config{})
				sameLines(t, fmt.Sprintf("%s, lags %v, identifications %v", name, lags, marked), withoutFrames(s.lines), want)
				if st := s.a.Stats(); st.Duplicates != uint64(len(list)*len(lags)) && marked {
					t.Errorf("%s, lags %v: %d duplicates of %d", name, lags, st.Duplicates, len(list)*len(lags))
				}
			}
		}
	}
}

// TestOneIdentification: a sender that numbers all of its datagrams alike is no
// reason to drop any.
func TestOneIdentification(t *testing.T) {
	var list []stamped
	for i := range 20 {
		ms := float64(i) * 50
		list = append(list, stamped{at{ms, ">40000:27015", infoShort}, 1}, stamped{at{ms + 20, "<40000:27015", infoReply}, 1})
	}
	s := played(t, list, dissect.Config{})
	if st := s.a.Stats(); st.Duplicates != 0 || st.Requests != 20 || st.Replies != 20 {
		t.Errorf("%d copies, %d requests, %d replies", st.Duplicates, st.Requests, st.Replies)
	}
}

// TestFastClient: a client that asks the same at once when it was answered loses
// one exchange at most, as long as nothing tells it from copies, and nothing is
// said of it that is not so.
func TestFastClient(t *testing.T) {
	for _, every := range []float64{2, 4, 5, 6, 8, 10, 11} {
		for _, rtt := range []float64{0.3, 1, 1.9} {
			for _, id := range []string{"none", "any", "copies elsewhere"} {
				var list []stamped
				if id == "copies elsewhere" {
					list = repeated(stamps([]at{{0, ">1:27016", infoShort}, {20, "<1:27016", infoReply}, {100, ">1:27016", infoShort}, {120, "<1:27016", infoReply}}), 1)
				}
				for i := range 20 {
					ms := 1000 + float64(i)*every
					q, r := stamped{at{ms, ">40000:27015", infoShort}, 0}, stamped{at{ms + rtt, "<40000:27015", infoReply}, 0}
					if id != "none" {
						q.id, r.id = uint16(7919*i+1), uint16(104729*i+3)
					}
					list = append(list, q, r)
				}
				s := played(t, list, dissect.Config{})
				st, lost := s.a.Stats(), uint64(1)
				requests, replies := st.Requests, st.Replies
				if id == "copies elsewhere" {
					requests, replies = requests-2, replies-2
				}
				if requests < 20-lost || requests != replies || strings.Contains(strings.Join(s.lines, "\n"), "ambiguous") || strings.Contains(strings.Join(s.lines, "\n"), "retransmission") {
					t.Errorf("every %v ms, answered after %v ms, identifications %s: %d requests, %d replies:\n%s", every, rtt, id, requests, replies, strings.Join(s.lines[:min(8, len(s.lines))], "\n"))
				}
			}
		}
	}
}

// TestEqualReplies: replies in several datagrams, of which some are those of the
// poll before, are no copies of them, whatever the clocks say.
func TestEqualReplies(t *testing.T) {
	const (
		ask   = "\xff\xff\xff\xffgetservers 68 empty full"
		first = "\xff\xff\xff\xffgetserversResponse\\\x01\x02\x03\x04\x6d\x38"
		last  = "\xff\xff\xff\xffgetserversResponse\\\x01\x02\x03\x05\x6d\x38\\EOT\x00\x00\x00"
	)
	for _, every := range []float64{5, 20, 300, 1000, 4000} {
		for _, skew := range []float64{0, -20} {
			if skew < 0 && every < 300 {
				continue
			}
			var list []stamped
			for i := range 8 {
				ms := 1000 + float64(i)*every
				list = append(list, stamped{at{ms, ">40000:27950", ask}, 0},
					stamped{at{ms + 1 + skew, "<40000:27950", first}, 0}, stamped{at{ms + 1.2 + skew, "<40000:27950", last}, 0})
			}
			s := played(t, list, dissect.Config{})
			st, lost := s.a.Stats(), uint64(0)
			if every < 12 {
				lost = 1
			}
			if st.Requests < 8-lost || st.Replies != 2*st.Requests {
				t.Errorf("every %v ms, skew %v ms: %d requests, %d replies:\n%s", every, skew, st.Requests, st.Replies, strings.Join(s.lines, "\n"))
			}
		}
	}
}

// TestOneChallenge: a server answers all questions of a client with the same challenge. It is a copy only if no other question waits.
func TestOneChallenge(t *testing.T) {
	const ask, reply, rulesNone = ">40000:27015", "<40000:27015", single + "V\xff\xff\xff\xff"
	s := newScript(t, dissect.Config{})
	s.play([]at{{0, ask, playersNone}, {5, reply, challenge}, {6, ask, rulesNone}, {9, reply, challenge}, {10, reply, challenge}})
	s.want("1 a2s players_request header", "2 a2s challenge_reply header <- 1 5ms", "3 a2s rules_request header", "4 a2s challenge_reply header <- 3 3ms")
}

// TestLateCopy: a reply that the network brings again within a second is a copy if
// no request was sent since that it could answer.
func TestLateCopy(t *testing.T) {
	for _, late := range []float64{20, 300, 900, 1500} {
		s := played(t, []stamped{
			{at{0, ">40000:27015", infoShort}, 0}, {at{30, "<40000:27015", infoReply}, 0},
			{at{35, ">40000:27015", playersHas}, 0}, {at{40, "<40000:27015", players}, 0},
			{at{30 + late, "<40000:27015", infoReply}, 0},
		}, dissect.Config{})
		if st, want := s.a.Stats(), map[bool]uint64{true: 1, false: 0}[late < 1000]; st.Duplicates != want {
			t.Errorf("%v ms late: %s", late, fmt.Sprint(s.lines))
		}
	}
}

// An asked is a request and the parts of its reply.
type asked struct {
	request string
	parts   []string
}

// A talker makes the n-th exchange with a server; id is that of the split.
type talker func(n int, id uint32) asked

func ruleBytes(n, parts int) string {
	var b bytes.Buffer
	b.WriteString(single + "E\x00\x10")
	for i := 0; b.Len() < parts*1000; i++ {
		fmt.Fprintf(&b, "rule_%d_%d\x00%x\x00", n, i, crc32.ChecksumIEEE([]byte{byte(i), byte(n)}))
	}
	s := b.Bytes()
	binary.LittleEndian.PutUint16(s[5:], uint16((bytes.Count(s, []byte{0})-bytes.Count(s[5:7], []byte{0}))/2))
	return string(s)
}

// cutUp cuts a message into n pieces.
func cutUp(s string, n int) (pieces []string) {
	for i := range n {
		pieces = append(pieces, s[len(s)*i/n:len(s)*(i+1)/n])
	}
	return pieces
}

func splitID(id uint32) string {
	return "\xfe\xff\xff\xff" + string(binary.LittleEndian.AppendUint32(nil, id))
}

func sourceParts(n int, id uint32) (a asked) {
	total := 2 + n%19
	for i, p := range cutUp(ruleBytes(n, total), total) {
		a.parts = append(a.parts, splitID(id&^(1<<31))+string([]byte{byte(total), byte(i), 0xe0, 0x04})+p)
	}
	a.request = single + "V\x01\x02\x03\x04"
	return a
}

func goldSrcParts(n int, id uint32) (a asked) {
	total := 2 + n%14
	for i, p := range cutUp(ruleBytes(n, total), total) {
		a.parts = append(a.parts, splitID(id)+string([]byte{byte(i<<4 | total)})+p)
	}
	a.request = single + "V\x01\x02\x03\x04"
	return a
}

// packings are what packed has returned: the same replies are sent in all orders.
var packings = map[string]string{}

func packed(plain string) string {
	if packings[plain] == "" {
		var z bytes.Buffer
		w, _ := bzip2.NewWriter(&z, nil)
		w.Write([]byte(plain))
		w.Close()
		packings[plain] = z.String()
	}
	return packings[plain]
}

func packedParts(n int, id uint32) (a asked) {
	plain := ruleBytes(n, 8)
	z, total := packed(plain), 2+n%4
	for i, p := range cutUp(z, total) {
		head := splitID(id|1<<31) + string([]byte{byte(total), byte(i)})
		if i == 0 {
			head += string(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, uint32(len(plain))), crc32.ChecksumIEEE([]byte(plain))))
		}
		a.parts = append(a.parts, head+p)
	}
	a.request = single + "V\x01\x02\x03\x04"
	return a
}

func gameSpy1Parts(n int, id uint32) (a asked) {
	total := 2 + n%12
	for i := range total {
		s := nettext.Either(i > 0, fmt.Sprintf(`\player_%d\name %d of %d`, i, i, n), fmt.Sprintf(`\hostname\server %d\player_%d\name %d`, n, i, i))
		s += fmt.Sprintf(`\queryid\%d.%d`, id, i+1)
		if i == total-1 {
			s += `\final\`
		}
		a.parts = append(a.parts, s)
	}
	a.request = `\status\`
	return a
}

func gameSpy3Parts(n int, id uint32) (a asked) {
	session := string(binary.BigEndian.AppendUint32(nil, id&0x0f0f0f0f))
	total := 2 + n%6
	for i := range total {
		number := byte(i)
		if i == total-1 {
			number |= 0x80
		}
		body := fmt.Sprintf("\x00hostname\x00server %d\x00mapname\x00map\x00\x00", n)
		if i > 0 {
			body = fmt.Sprintf("\x01player_\x00%c", i-1)
			body += fmt.Sprintf("name %d of %d\x00\x00", i, n)
		}
		a.parts = append(a.parts, "\x00"+session+"splitnum\x00"+string([]byte{number})+body+"\x00")
	}
	a.request = "\xfe\xfd\x00" + session + "\xff\xff\xff\x01"
	return a
}

// counter counts what became of splits.
type counter struct {
	whole, partial, other int
	findings              map[string]int
	example               string
}

func (c *counter) note(id, text string) {
	c.findings[id]++
	if c.example == "" {
		c.example = text
	}
}

func (c *counter) Record(r *dissect.Record) {
	switch {
	case r.Split.Partial:
		c.partial++
	case r.Split.Parts > 0 && r.RequestFrame > 0:
		c.whole++
	case r.Type.Role == dissect.Reply:
		c.other++
	}
	for i := range r.Findings {
		c.note(r.Findings[i].Type.ID, string(r.Findings[i].AppendText(nil)))
	}
}
func (c *counter) Unknown(*dissect.Unknown) { c.other++ }
func (c *counter) Finding(f *dissect.FlowFinding) {
	c.note(f.Type.ID, fmt.Sprintf("frame %d: %s", f.Frame, f.AppendText(nil)))
}

// Captures on mirror ports and on the interface any hold every datagram twice,
// the copy up to 10 ms late, while clients already send their next request: no
// split reply is lost, and nothing false is said.
func TestDoubledCaptures(t *testing.T) {
	const perCase = 40
	talkers := map[string]talker{"source": sourceParts, "goldsrc": goldSrcParts, "packed": packedParts, "gamespy1": gameSpy1Parts, "gamespy3": gameSpy3Parts}
	ports := map[string]string{"gamespy1": "7778", "gamespy3": "29900"}
	ids := map[string]func(n int) (id uint32, content int){
		"ids that increment":                     func(n int) (uint32, int) { return uint32(n + 1), n },
		"ids that stay, other replies":           func(n int) (uint32, int) { return 7, n },
		"ids that stay, the same reply":          func(n int) (uint32, int) { return 7, 3 },
		"ids that stay, two replies by turns":    func(n int) (uint32, int) { return 7, 3 + n%2 },
		"ids that increment, the same reply":     func(n int) (uint32, int) { return uint32(n + 1), 3 },
		"each id twice, the same reply":          func(n int) (uint32, int) { return uint32(n/2 + 1), n / 2 },
		"ids that stay, replies of equal number": func(n int) (uint32, int) { return 7, n * 19 * 14 * 12 },
	}
	for name, talk := range talkers {
		for order, number := range ids {
			for _, path := range []struct {
				name     string
				rtt      time.Duration // and as much again, by chance
				late     time.Duration // copies, at most; 0 makes none
				requests bool          // are doubled as well
			}{
				{"far away, all twice", 12 * time.Millisecond, 10 * time.Millisecond, true},
				{"near, once", 300 * time.Microsecond, 0, false},
			} {
				if path.late == 0 && strings.Contains(order, "same") {
					continue // the same bytes again within a millisecond: nothing tells them from copies
				}
				t.Run(name+"/"+order+"/"+path.name, func(t *testing.T) {
					random := rand.New(rand.NewPCG(1, 2))
					type packet struct {
						at      time.Duration
						reply   bool
						payload string
					}
					var packets []packet
					send := func(at time.Duration, reply bool, payload string) {
						packets = append(packets, packet{at, reply, payload})
						if path.late > 0 && (reply || path.requests) {
							packets = append(packets, packet{at + 1 + time.Duration(random.Int64N(int64(path.late))), reply, payload})
						}
					}
					now := time.Duration(0)
					for n := range perCase {
						id, content := number(n)
						a := talk(content, id)
						send(now, false, a.request)
						now += path.rtt + time.Duration(random.Int64N(int64(path.rtt)))
						for _, p := range a.parts {
							now += 50 * time.Microsecond
							send(now, true, p)
						}
						now += 20 * time.Microsecond
					}
					sort.SliceStable(packets, func(i, j int) bool { return packets[i].at < packets[j].at })
					c := &counter{findings: map[string]int{}}
					a := must.Get(dissect.New(dissect.Config{Protocols: all.Protocols()}, c))(t)
					port := cmp.Or(ports[name], "27015")
					client, server := netip.MustParseAddrPort("192.0.2.1:40000"), netip.MustParseAddrPort("198.51.100.1:"+port)
					begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
					for i, p := range packets {
						d := dissect.Datagram{Frame: uint64(i + 1), Time: begin.Add(p.at), Src: client, Dst: server, Payload: []byte(p.payload)}
						if p.reply {
							d.Src, d.Dst = server, client
						}
						a.Datagram(&d)
					}
					a.Flush()
					// A client that asks twice and is answered twice looks the
					// same as long as nothing else came twice: the first few
					// copies can count as replies, of ambiguous time.
					start := nettext.Either(path.late > 0, 12, 0)
					if c.whole < perCase || c.whole > perCase+start || c.partial != 0 || c.other != 0 {
						t.Errorf("%d split replies of %d, %d partial, %d others; findings %v, first %q", c.whole, perCase, c.partial, c.other, c.findings, c.example)
					}
					for id, n := range c.findings {
						for _, bad := range []string{"noreply", "unrequested", "missing", "endless", "conflict", "totals", "sizes", "multi", "several", "guess", "unread", "contradiction", "truncated", "slow"} {
							if strings.Contains(id, bad) {
								t.Errorf("%s %d times, first %q", id, n, c.example)
							}
						}
					}
				})
			}
		}
	}
}
