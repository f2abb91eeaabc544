package all_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/gamespy2"
	"github.com/qdissect/qdissect/dissect/gamespy3"
	"github.com/qdissect/qdissect/dissect/internal/gamespy"
	"github.com/qdissect/qdissect/dissect/minecraft"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/must"
)

func TestParseQuery(t *testing.T) {
	all := gamespy.Keys{All: true}
	for _, tc := range []struct {
		rest string
		want gamespy.Query
		ok   bool
	}{
		{"\xff\xff\xff", gamespy.Query{Selection: gamespy.Selection{Server: all, Players: all, Teams: all}}, true},
		{"\xff\x00\x00\x01", gamespy.Query{Selection: gamespy.Selection{Server: all, Options: dissect.Some(uint8(1))}}, true},
		{"\x12\x34\x56\x78\xff\xff\xff\x01", gamespy.Query{Challenged: true, Selection: gamespy.Selection{Server: all, Players: all, Teams: all, Options: dissect.Some(uint8(1))}}, true},
		{"\x12\x34\x56\x78\xff\x00\x00", gamespy.Query{Challenged: true, Selection: gamespy.Selection{Server: all}}, true},
		// A challenge that may also be lists of single keys.
		{"\x01\x05\x00\x04\xff\xff\xff\x01", gamespy.Query{Challenged: true, Selection: gamespy.Selection{Server: all, Players: all, Teams: all, Options: dissect.Some(uint8(1))}}, true},
		{"\x06\x01\x06\x05\x08\x0a\x04\x00\x00", gamespy.Query{Selection: gamespy.Selection{Server: gamespy.Keys{Numbers: []byte("\x01\x06\x05\x08\x0a\x04")}}}, true},
		{"\x12\x34\x56\x78\x01\x05\x00\x01\x1c", gamespy.Query{Challenged: true, Selection: gamespy.Selection{Server: gamespy.Keys{Numbers: []byte{5}}, Teams: gamespy.Keys{Numbers: []byte{0x1c}}}}, true},
		{"\x00\x91\x29\x5b", gamespy.Query{}, false}, // Minecraft's basic stat
		{"\xff\xff", gamespy.Query{}, false},
		{"", gamespy.Query{}, false},
	} {
		q, ok := gamespy.ParseQuery([]byte(tc.rest))
		if ok != tc.ok || ok && !reflect.DeepEqual(q, tc.want) {
			t.Errorf("%q: %+v, %v, want %+v", tc.rest, q, ok, tc.want)
		}
	}
}

// talk plays a conversation on an unknown port.
type talk struct {
	a     *dissect.Analyzer
	now   time.Time
	frame uint64
	port  uint16
	said  []string
}

func newTalk(t *testing.T) *talk {
	t.Helper()
	k := &talk{port: 4321, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	var err error
	k.a, err = dissect.New(dissect.Config{Protocols: []*dissect.Protocol{gamespy2.Protocol(), gamespy3.Protocol(), minecraft.Protocol()}}, k)
	must.Do(t, err)
	return k
}

func (k *talk) Record(r *dissect.Record) {
	s := fmt.Sprintf("%d %s %s", r.Frame, r.Protocol.Name, r.Type.Name)
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Type == core.Tagged {
			s += " " + string(f.AppendText(nil))
		}
	}
	k.said = append(k.said, s)
}
func (k *talk) Unknown(u *dissect.Unknown) {
	k.said = append(k.said, fmt.Sprintf("%d unknown", u.Frame))
}
func (*talk) Finding(*dissect.FlowFinding) {}
func (k *talk) ask(payload string)         { k.say(payload, true, nil) }
func (k *talk) answer(payload string)      { k.say(payload, false, nil) }
func (k *talk) wait(d time.Duration)       { k.now = k.now.Add(d); k.a.Advance(k.now) }
func (k *talk) tagged(payload, tags string) {
	k.say(payload, true, []dissect.Finding{dissect.NewFinding(core.Tagged, dissect.Str(tags))})
}

func (k *talk) say(payload string, up bool, findings []dissect.Finding) {
	src, dst := netip.MustParseAddrPort("192.0.2.1:50000"), netip.AddrPortFrom(netip.MustParseAddr("198.51.100.1"), k.port)
	if !up {
		src, dst = dst, src
	}
	k.frame++
	k.now = k.now.Add(20 * time.Millisecond)
	k.a.Datagram(&dissect.Datagram{Frame: k.frame, Time: k.now, Src: src, Dst: dst, Payload: []byte(payload), Findings: findings})
}

const (
	handshake  = "\xfe\xfd\x09\x10\x20\x30\x40"
	challenge  = "\x09\x10\x20\x30\x40123456\x00"
	query      = "\xfe\xfd\x00\x10\x20\x30\x40\x00\x01\xe2\x40\xff\xff\xff\x01"
	reply      = "\x00\x10\x20\x30\x40splitnum\x00\x80\x00hostname\x00"
	longName   = "A name that is longer than what a detector may look at, so that no key is near"
	minecraft3 = "\x00gametype\x00SMP\x00game_id\x00MINECRAFT\x00\x00\x01player_\x00\x00\x00"
	gamespy3s  = "\x00gamever\x001\x00mapname\x00x\x00\x00\x01player_\x00\x00\x00\x00\x02team_t\x00\x00\x00\x00"
)

// TestOthersPort tells the two apart by what a reply has, on the port of the other.
func TestOthersPort(t *testing.T) {
	for _, tc := range []struct {
		port     uint16
		keys     string
		protocol string
	}{{7777, minecraft3, "minecraft"}, {64000, minecraft3, "minecraft"}, {25565, gamespy3s, "gamespy3"}, {19132, gamespy3s, "gamespy3"}} {
		for _, name := range []string{"Short", longName} {
			k := newTalk(t)
			k.port = tc.port
			for range 2 {
				k.ask(handshake)
				k.answer(challenge)
				k.ask(query)
				k.answer(reply + name + tc.keys)
			}
			k.a.Flush()
			for _, said := range k.said {
				if !strings.Contains(said, " "+tc.protocol+" ") {
					t.Errorf("port %d, %q: %v, want %s", tc.port, name[:5], k.said, tc.protocol)
					break
				}
			}
		}
	}
}

// TestWhose tells the two protocols with equal requests apart by the replies.
func TestWhose(t *testing.T) {
	asked := func(answer string) func(*talk) {
		return func(k *talk) {
			k.ask(handshake)
			k.answer(challenge)
			k.ask(query)
			k.answer(reply + answer)
		}
	}
	for _, tc := range []struct {
		name string
		play func(*talk)
		want string
	}{
		{"Minecraft", asked("Short" + minecraft3), "1 minecraft handshake_request, 2 minecraft handshake_reply, 3 minecraft full_stat_request, 4 minecraft full_stat_reply"},
		{"Minecraft with a long name", asked(longName + minecraft3), "1 minecraft handshake_request, 2 minecraft handshake_reply, 3 minecraft full_stat_request, 4 minecraft full_stat_reply"},
		{"GameSpy with a long name", asked(longName + gamespy3s), "1 gamespy3 handshake_request, 2 gamespy3 handshake_reply, 3 gamespy3 status_request, 4 gamespy3 status_reply"},
		{"Minecraft's request", func(k *talk) {
			k.ask(handshake)
			k.answer(challenge)
			k.ask(query[:11] + "\x00\x00\x00\x00")
		}, "1 minecraft handshake_request, 2 minecraft handshake_reply, 3 minecraft full_stat_request"},
		{"no challenge wanted", func(k *talk) {
			k.ask(handshake)
			k.answer("\x09\x10\x20\x30\x400\x00")
		}, "1 gamespy3 handshake_request, 2 gamespy3 handshake_reply"},
		{"nobody answers", func(k *talk) {
			k.ask(handshake)
			k.wait(10 * time.Second)
			k.ask(handshake)
		}, "1 gamespy3 handshake_request, 2 gamespy3 handshake_request"},
		{"the second time", func(k *talk) {
			asked("Short" + minecraft3)(k)
			k.ask(handshake)
			k.answer(challenge)
		}, "1 minecraft handshake_request, 2 minecraft handshake_reply, 3 minecraft full_stat_request, 4 minecraft full_stat_reply, 5 minecraft handshake_request, 6 minecraft handshake_reply"},
		{"in a VLAN", func(k *talk) {
			tags := []byte("7, 12")
			k.tagged(handshake, string(tags))
			k.tagged(query, "8")
			k.answer(reply + "Short" + minecraft3)
		}, "1 minecraft handshake_request VLAN 7, 12, 2 minecraft full_stat_request VLAN 8, 3 minecraft full_stat_reply"},
		{"GameSpy 2", func(k *talk) {
			k.ask("\xfe\xfd\x00\x10\x20\x30\x40\xff\xff\xff")
			k.answer("\x00\x10\x20\x30\x40any\x00thing\x00\x00")
		}, "1 gamespy2 status_request, 2 gamespy2 status_reply"},
		{"one packet after a handshake", func(k *talk) {
			k.ask(handshake)
			k.answer("\x09\x10\x20\x30\x400\x00")
			k.ask("\xfe\xfd\x00\x10\x20\x30\x40\x06\x01\x06\x05\x08\x0a\x04\x00\x00")
			k.answer("\x00\x10\x20\x30\x40A server\x00arena\x00map\x001\x0032\x0025000\x00")
		}, "1 gamespy3 handshake_request, 2 gamespy3 handshake_reply, 3 gamespy3 status_request, 4 gamespy3 status_reply"},
		{"a reply alone", func(k *talk) {
			k.answer("\x00\x10\x20\x30\x40any\x00thing\x00\x00")
		}, "1 unknown"},
	} {
		k := newTalk(t)
		tc.play(k)
		k.a.Flush()
		if got := strings.Join(k.said, ", "); got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.name, got, tc.want)
		}
	}
}

// TestLooksMinecraft compares the words of random settings with a search for each.
func TestLooksMinecraft(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	pieces := []string{"game_id", "MINECRAFT", "MINECRAF", "gametype", "SMP", "hostip", "plugins", "gamever", "gamevariant", "mapname", "x", "", "\x01"}
	seen := map[[2]bool]int{}
	for range 20000 {
		var b []byte
		for range rng.IntN(9) {
			b = append(b, pieces[rng.IntN(len(pieces))]...)
			if rng.IntN(16) > 0 {
				b = append(b, 0)
			}
		}
		has := func(s string) bool { return bytes.Contains(b, []byte(s)) }
		want := has("\x00game_id\x00MINECRAFT") || has("\x00gametype\x00SMP\x00") || has("\x00hostip\x00") && has("\x00plugins\x00")
		wantNot := !want && (has("\x00gamever\x00") || has("\x00mapname\x00") || has("\x00gamevariant\x00"))
		if is, isNot := gamespy.LooksMinecraft(b); is != want || isNot != wantNot {
			t.Fatalf("%q: %v, %v, want %v, %v", b, is, isNot, want, wantNot)
		}
		seen[[2]bool{want, wantNot}]++
	}
	if len(seen) != 3 {
		t.Errorf("only %v", seen)
	}
}
