package dissect_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

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
