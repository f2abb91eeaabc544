package stats

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

// A made request is one that a test plays, with what becomes of it. The zero value gets one reply of 100 bytes after 1 ms.
type made struct {
	at       float64 // seconds
	from, to string  // without a port: one of its own, 27015
	// Info, rules or list; 3 is a reply that nobody asked for, 4 a command, to which a server may be silent, 5 a login, to which it may not, 6 the info of
	// another protocol, 7 a heartbeat, 8 what no protocol recognises, 9 fragments of that.
	of      int
	says    *dissect.FindingType // what ICMP says of its reply
	proof   dissect.Proof
	outcome dissect.Outcome
	silent  bool // no reply
	cut     bool // the capture holds a part of the request
	uses    dissect.Challenge
	wait    time.Duration
	back    int // bytes
	hops    uint8
	port    uint16
	id      uint16
	payload string
}

// played are the protocols that play plays, by the numbers of what is made, and their types of messages.
var played, playedTypes = func() ([]*dissect.Protocol, []*dissect.MessageType) {
	p := &dissect.Protocol{Name: "p", Catalog: dissect.NewCatalog("p")}
	for _, t := range []dissect.MessageType{{Name: "info", Title: "info request", Role: dissect.Request}, {Name: "rules", Title: "rules request", Role: dissect.Request}, {Name: "list", Title: "list request", Role: dissect.Request, Purpose: dissect.ServerList},
		{Name: "reply", Role: dissect.Reply}, {Name: "command", Title: "command", Role: dissect.Request, Unanswered: new(dissect.FindingType)},
		{Name: "login", Title: "login", Role: dissect.Request, Unanswered: &dissect.FindingType{Severity: dissect.Warning}}, {Name: "heartbeat", Role: dissect.OneWay, Purpose: dissect.Heartbeat}} {
		p.Catalog.Message(t)
	}
	other := &dissect.Protocol{Name: "q", Catalog: dissect.NewCatalog("q")}
	ask := slices.Insert(slices.Clone(p.Catalog.Messages()), 6, other.Catalog.Message(dissect.MessageType{Name: "info", Title: "info request", Role: dissect.Request}))
	return []*dissect.Protocol{p, p, p, p, p, p, other, p}, ask
}()

// play plays requests in the order of their times, and returns the counts, with those of a server in focus.
func play(list []made, server string) *Aggregate {
	speaks, ask, reply := played, playedTypes, playedTypes[3]
	only, _ := netip.ParseAddr(server) // none is all
	a, start := NewFocused(only), time.Date(2026, 3, 14, 19, 0, 0, 0, time.UTC)
	address := func(s string, port uint16) netip.AddrPort {
		if x, err := netip.ParseAddr(s); err == nil {
			return netip.AddrPortFrom(x, port)
		}
		return netip.MustParseAddrPort(s)
	}
	slices.SortStableFunc(list, func(a, b made) int { return cmp.Compare(a.at, b.at) })
	usual, sources := []byte("\xff\xff\xff\xffTSource Engine Query\x00"), make([]dissect.Source, 1)
	usualSum := crc32.ChecksumIEEE(usual)
	var r, back dissect.Record
	var there, here dissect.Datagram // which nothing keeps
	for i, x := range list {
		at, src, dst := start.Add(time.Duration(x.at*1e9)), address(x.from, cmp.Or(x.port, uint16(20000+crc32.ChecksumIEEE([]byte(x.from))%40000))), address(x.to, 27015)
		if x.of == 3 {
			a.Record(&dissect.Record{Protocol: speaks[0], Datagram: &dissect.Datagram{Frame: uint64(2*i + 1), Time: at, Src: dst, Dst: src}, WireLength: 100, Message: dissect.Message{Type: reply}})
			continue
		}
		payload, sum := usual, usualSum
		if x.payload != "" {
			payload, sum = []byte(x.payload), crc32.ChecksumIEEE([]byte(x.payload))
		}
		there = dissect.Datagram{Frame: uint64(2*i + 1), Time: at, Src: src, Dst: dst, HopLimit: x.hops, IPID: x.id, Payload: payload}
		switch x.of {
		case 8:
			a.Unknown(&dissect.Unknown{Datagram: &there})
			continue
		case 9:
			a.Finding(&dissect.FlowFinding{Finding: dissect.NewFinding(core.FragmentsForeign), Frame: there.Frame, Time: at, Src: src, Dst: dst, NoPorts: true})
			continue
		}
		r = dissect.Record{
			Protocol: speaks[x.of], Datagram: &there,
			WireLength: len(payload), Proven: x.proof == dissect.Proven, Sum: sum,
			Message: dissect.Message{Type: ask[x.of], Pair: dissect.Pair{Asks: 1, Challenge: x.uses}}, Sources: append(sources[:0], dissect.Source{Data: payload}),
		}
		if x.cut {
			r.Findings = append(r.Findings, dissect.NewFinding(core.CaptureCut))
		}
		if a.Record(&r); x.of == 7 {
			continue
		}
		e := dissect.Exchange{Protocol: speaks[x.of], Type: ask[x.of], Time: at, Src: src, Dst: dst, Requests: 1, RequestBytes: len(payload), Proof: x.proof, Outcome: x.outcome}
		if !x.silent {
			e.Replies, e.ReplyBytes = 1, cmp.Or(x.back, 100)
			wait := cmp.Or(x.wait, time.Millisecond)
			here = dissect.Datagram{Frame: uint64(2*i + 2), Time: at.Add(wait), Src: dst, Dst: src}
			back = dissect.Record{
				Protocol: speaks[x.of], Datagram: &here, WireLength: e.ReplyBytes,
				Message: dissect.Message{Type: reply}, RequestFrame: r.Frame, TimeKnown: true, RTT: wait,
			}
			if x.outcome == dissect.OutcomeChallenged || x.proof == dissect.Unreturned || x.proof == dissect.Vouched {
				back.Pair.Challenge = dissect.ChallengeIssued
			}
			back.Split.Partial = x.outcome == dissect.OutcomePartial
			a.Record(&back)
			if x.says != nil {
				a.Finding(&dissect.FlowFinding{Finding: dissect.NewFinding(x.says), Frame: back.Frame, ICMPFrame: back.Frame + 1, Time: at, Src: dst, Dst: src, Protocol: speaks[0]})
			}
		} else if x.outcome == dissect.OutcomeRefused {
			a.Finding(&dissect.FlowFinding{Finding: dissect.NewFinding(core.PortUnreachable), Frame: r.Frame, ICMPFrame: r.Frame + 1, Time: at, Src: src, Dst: dst, Protocol: speaks[x.of]})
		}
		if x.outcome == dissect.OutcomeElsewhere {
			e.From = address("198.51.100.12", 27016)
		}
		a.Exchange(&e)
	}
	return a
}

// both joins plays. This and sent are variables: the compiler would keep what hundreds of calls in one function have on its stack, 3 MB, and describe
// that for each of them, in 72 MB.
var both = func(lists ...[]made) []made { return slices.Concat(lists...) }

// sent makes n requests from one time on, so many per second, each as f says.
var sent = func(n int, from, rate float64, f func(i int, x *made)) (list []made) {
	list = make([]made, 0, n)
	for i := range n {
		x := made{at: from + float64(i)/rate, to: "198.51.100.10"}
		f(i, &x)
		list = append(list, x)
	}
	return list
}

// person returns the address of the i-th of many people, of a few networks, and somebody one of any address.
func person(i int) string { return fmt.Sprintf("24.%d.%d.%d", 10+i%3, i/200%256, 1+i%200) }

func somebody(i int) string {
	x := uint32(i)*2654435761 + 12345
	x ^= x >> 15
	x *= 0x2c1b3c6d
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], x)
	if b[0] = 1 + b[0]%222; impossible(b) {
		b[0] = 20
	}
	return netip.AddrFrom4(b).String()
}

// evening makes two requests a second of people, who prove themselves, for so long.
func evening(seconds int) []made {
	return sent(2*seconds, 0, 2, func(i int, x *made) {
		x.from, x.hops, x.proof = person(i/2), uint8(40+i/2%20), dissect.Vouched
		if i%2 == 1 {
			x.proof = dissect.Proven
		}
	})
}

// quiet is what is said if nothing is.
const quiet = "certain Nothing unusual"

var refusedLogin = dissect.FindingType{ID: "p.rcon.refused", Text: "."}

// TestVerdictsNeed: each kind of verdict is said from as much as it needs, and not from less.
func TestVerdictsNeed(t *testing.T) {
	lost := func(n int, from, rate float64) []made {
		return sent(n, from, rate, func(i int, x *made) { x.from, x.silent, x.outcome = person(900+i), true, dissect.OutcomeUnanswered })
	}
	// asked is a flood from 30 s on; f says what else is true of a request.
	flood := func(n int, rate float64, proof dissect.Proof, f func(i int, x *made)) []made {
		return sent(n, 30, rate, func(i int, x *made) {
			x.from, x.hops, x.proof, x.id, x.port = somebody(i), uint8(30+i%40), proof, uint16(i*7919), uint16(1024+i*31%60000)
			if proof == dissect.Unreturned {
				x.outcome = dissect.OutcomeChallenged
			}
			if f != nil {
				f(i, x)
			}
		})
	}
	open := func(n int) []made { // people who ask a server that needs no proof
		return sent(n, 0, 5, func(i int, x *made) {
			x.from, x.hops, x.port, x.id = person(i), uint8(40+i%20), uint16(1024+i*17%60000), uint16(i*4001)
		})
	}
	oneHop := func(i int, x *made) { x.hops = 47 }
	crowd := func(i int, x *made) { x.from = person(5000 + i) }
	victim := func(n int, rate float64, back, servers int, also func(i int, x *made)) []made {
		return sent(n, 10, rate, func(i int, x *made) {
			x.from, x.port, x.back, x.to = "203.0.113.77", 80, back, fmt.Sprintf("198.51.100.%d", 10+i%servers)
			also(i, x)
		})
	}
	plain, gone := func(int, *made) {}, func(_ int, x *made) { x.silent, x.outcome = true, dissect.OutcomeUnanswered }
	waiting := sent(3000, 30, 150, func(i int, x *made) { x.from, x.port = person(5000+i%150), uint16(2000+i%150); gone(i, x) }) // 150 people, each once a second
	challenged := func(_ int, x *made) { x.proof, x.outcome = dissect.Unreturned, dissect.OutcomeChallenged }
	trickle := func(n, addresses int) []made {
		return sent(n, 0, 3.5, func(i int, x *made) { challenged(i, x); x.from = somebody(i % addresses) })
	}
	crowded := func(from, to int) []made { // 40 people, one of whom asks each 100 ms
		return sent(10*(to-from), float64(from), 10, func(i int, x *made) { x.from = person(i % 40) })
	}
	burst := func(_ int, x *made) { x.from, x.proof = "203.0.113.9", dissect.Proven }
	order := func(i int, x *made) { x.from, x.of = person(i), 4 }
	all := Said{Every: 4}
	for _, c := range []struct {
		name string
		play []made
		want string // the beginning of the text
	}{
		{"an evening", evening(60), quiet},
		{"five of many in 5 s without a reply", both(evening(30), lost(5, 30.5, 1), evening(0), sent(10, 36, 1, func(i int, x *made) { x.from = person(i) })), "certain Down: 198.51.100.10:27015 did not reply for 6.5 s, from 19:00:29 UTC to 19:00:36 UTC: none of 5 requests got a reply."},
		{"ports of a host", both(evening(30), sent(80, 0, 4, func(i int, x *made) { x.from, x.to = person(i), fmt.Sprintf("198.51.100.10:%d", 27015+i%8) }), evening(40)[59:]), quiet},
		{"a third lost, and an outage", sent(900, 0, 15, func(i int, x *made) {
			if x.from = person(i); i%3 == 0 || i >= 300 && i < 450 {
				gone(i, x)
			}
		}), "certain Down: 198.51.100.10:27015 did not reply for 10.1 s, from 19:00:19 UTC to 19:00:30 UTC: none of 152 requests got a reply.\n"},
		{"silent each minute", sent(900, 0, 3, func(i int, x *made) {
			if x.from = person(i); i/3%60 > 53 {
				gone(i, x)
			}
		}), "certain Down: 198.51.100.10:27015 did not reply for 6.3 s, from 19:00:53 UTC to 19:01:00 UTC: none of 18 requests got a reply."},
		{"four of six servers, silent at once", sent(1500, 0, 15, func(i int, x *made) {
			if x.from, x.to = person(i), fmt.Sprintf("198.51.100.%d", 10+i%6); i/150 == 4 && i%6 < 4 {
				gone(i, x)
			}
		}), "certain Down: 198.51.100.10:27015 did not reply for 10.4 s, from 19:00:39 UTC to 19:00:50 UTC: none of 25 requests got a reply; at the same moment it was so with 3 of 5 other servers that were asked enough."},
		{"five servers, from which a third gets lost", sent(1500, 0, 15, func(i int, x *made) {
			if x.from, x.to = person(i), fmt.Sprintf("198.51.100.%d", 10+i%5); uint32(i)*2654435761%3 == 0 {
				gone(i, x)
			}
		}), "certain Not answered: 198.51.100.10:27015 replies to only 67 % of 300 requests in 99.7 s from 19:00:00 UTC on: 33 % got no reply; so it was with all 4 other servers that were asked enough."},
		{"in 4 s", both(evening(30), lost(5, 29.6, 2), sent(10, 34, 1, func(i int, x *made) { x.from = person(i) })), quiet},
		{"a restart of 4 s, in which clients ask three times", both(crowded(0, 12), crowded(16, 30), lost(120, 12.1, 31)), "certain Down: 198.51.100.10:27015 did not reply for 4.1 s, from 19:00:11 UTC to 19:00:16 UTC: none of 120 requests got a reply."},
		{"a restart of 2 s when more come", both(crowded(0, 30), crowded(20, 30), crowded(32, 40), crowded(32, 60), lost(42, 30.02, 21.5)), quiet},
		{"a flood in which the server restarts", both(open(300)[:170], open(300)[190:], flood(280, 70, dissect.Unproven, crowd), sent(280, 34, 70, func(i int, x *made) { gone(i, x); x.from, x.hops = person(7000+i), uint8(40+i%20) }), sent(280, 38, 70, func(i int, x *made) { crowd(i, x); x.hops = uint8(40 + i%20) })),
			"possible Crowd or forged at 198.51.100.10:27015: 820 p info requests in 12 s from 19:00:30 UTC on (68 per second, 15 times the usual) from"},
		{"a network forged at three servers", both(evening(60), sent(9000, 10, 450, func(i int, x *made) {
			x.from, x.to, x.back, x.port = fmt.Sprintf("203.0.113.%d", 1+i/3%60), fmt.Sprintf("198.51.100.%d", 10+i%3), 300, uint16(1024+i*31%60000)
		})), "likely Reflection at 203.0.113.0/24: 9,000 p info requests in its name in 20 s from 19:00:10 UTC on (450 per second) made 198.51.100.10:27015 and 2 others send it"},
		{"a small flood that begins in a large one", both(evening(90), flood(8000, 400, dissect.Unreturned, nil), sent(1500, 40, 50, func(i int, x *made) { challenged(i, x); x.from = somebody(9000 + i) })),
			"certain Forged flood at 198.51.100.10:27015: 8,000 p info requests in 20 s from 19:00:30 UTC on (400 per second) from 8,000 addresses."},
		{"two that ask too often, in part at the same time", both(evening(150), sent(2400, 30, 40, burst), sent(2400, 60, 40, func(i int, x *made) { x.from, x.proof = "203.0.114.9", dissect.Proven })),
			"certain Greedy: 203.0.113.9 asks 198.51.100.10:27015 40 times per second: 2,400 p info requests in 60 s"},
		{"bursts of one", both(evening(150), sent(400, 30, 200, burst), sent(400, 60, 200, burst), sent(400, 90, 200, burst), sent(400, 120, 200, burst)), "certain Greedy: 203.0.113.9 asks 198.51.100.10:27015"},
		{"one that asks ten servers", both(evening(90), sent(1200, 30, 30, func(i int, x *made) {
			x.from, x.to, x.proof = "203.0.113.9", fmt.Sprintf("198.51.100.%d", 20+i%10), dissect.Proven
		})), "certain Greedy: 203.0.113.9 asks 198.51.100.20:27015 and 9 others 30 times per second: 1,200 p info requests in 40 s"},
		{"a flood of four servers", both(evening(90), flood(1200, 40, dissect.Unreturned, func(i int, x *made) { x.to = fmt.Sprintf("198.51.100.%d", 20+i%4) })), "certain Forged flood at 4 servers of 198.51.100.0/24: 1,200 p info requests in 30 s from 19:00:30 UTC on (40 per second) from 1,190 addresses."},
		{"a flood of which few get a challenge", both(evening(90), sent(90, 0, 1, func(i int, x *made) { x.from, x.proof = person(i), dissect.Vouched }), flood(1200, 40, dissect.Unreturned, func(i int, x *made) {
			if i%20 > 0 {
				x.proof, x.silent, x.outcome = dissect.Unproven, true, dissect.OutcomeUnanswered
			}
		})), "certain Forged flood at 198.51.100.10:27015: 1,140 p info requests in 30 s from 19:00:30 UTC on (38 per second) from 1,140 addresses; the server replied to 12 % of all requests meanwhile. None came back"},
		{"half is lost at random", sent(600, 0, 5, func(i int, x *made) {
			if x.from = person(i); uint32(i)*2654435761>>31 == 1 {
				x.silent, x.outcome = true, dissect.OutcomeUnanswered
			}
		}), "certain Not answered: 198.51.100.10:27015 replies to only 50 % of 600 requests in 119.8 s from 19:00:00 UTC on: 50 % got no reply."},
		{"no server", both(evening(30), sent(4, 0, 1, func(i int, x *made) { gone(i, x); x.from, x.to = person(i), "198.51.100.99" })), "likely No reply: 198.51.100.99:27015 answered none of 4 requests from 4 addresses in 3 s from 19:00:00 UTC on, and nothing shows that a server is there."},
		{"no server, which one asks", both(evening(30), sent(15, 0, 1, func(i int, x *made) { gone(i, x); x.from, x.to = "203.0.113.9", "198.51.100.99" })), "likely No reply: one address asked 198.51.100.99:27015 15 times in 14 s from 19:00:00 UTC on and got no reply."},
		{"many commands without a reply", both(evening(30), sent(40, 0, 1, func(i int, x *made) { gone(i, x); order(i, x) })), quiet},
		{"commands without a reply", both(evening(150), sent(20, 0, 1, func(i int, x *made) { gone(i, x); order(i, x) })), quiet},
		{"commands, of which none has a reply for 15 s", both(sent(100, 0, 5, order), sent(75, 20, 5, func(i int, x *made) { gone(i, x); order(i, x) }), sent(125, 35, 5, order)), "certain Down: 198.51.100.10:27015 did not reply for 15.2 s, from 19:00:19 UTC to 19:00:35 UTC: none of 75 requests got a reply."},
		{"commands, of which others have none either", both(sent(100, 0, 5, order), sent(75, 20, 5, func(i int, x *made) { gone(i, x); order(i, x) }), sent(125, 35, 5, order), sent(40, 0, 1, func(i int, x *made) { gone(i, x); order(i, x) })), quiet},
		{"logins without a reply", both(evening(150), sent(20, 0, 1, func(i int, x *made) { gone(i, x); x.from, x.of = person(i), 5 })), "likely Not answered: 198.51.100.10:27015 replies to 0 % of 20 p login requests in 19 s"},
		{"commands without a reply, and an outage", both(evening(30), lost(20, 30.5, 4), sent(10, 36, 1, func(i int, x *made) { x.from = person(i) }), sent(40, 0, 1, func(i int, x *made) { gone(i, x); order(i, x) })), "certain Down: 198.51.100.10:27015 did not reply for 6.5 s"},
		{"the only client gets no rules", both(sent(60, 0, 1, func(i int, x *made) { x.from = person(0) }), sent(5, 2.5, 0.2, func(i int, x *made) { gone(i, x); x.from, x.of = person(0), 1 })), "likely Not answered: 198.51.100.10:27015 replies to 0 % of 5 p rules requests in 20 s from 19:00:02 UTC on, and to 100 % of others."},
		{"victims of an IPv6 network", both(evening(60), sent(160, 10, 16, func(i int, x *made) {
			x.from, x.to, x.port, x.back = fmt.Sprintf("2001:db8::%x:0:0:%x", i%2*0x8000, 1+i%8), "2001:db8:1::10", 80, 300
		})), "likely Reflection at 2001:db8::/64: 160 p info requests in its name in 9.9 s from 19:00:10 UTC on"},
		{"slow", both(evening(45), sent(10, 2, 1, func(i int, x *made) { x.from, x.wait = person(i), 1100*time.Millisecond })), "certain Slow: 198.51.100.10:27015 takes more than 1 s for 10 of 55 replies in 44.5 s from 19:00:00 UTC on; half of them take 1 ms or less."},
		{"nine of a hundred", both(evening(92), sent(9, 2, 1, func(i int, x *made) { x.from, x.wait = person(i), 1100*time.Millisecond })), quiet},
		{"a flood", both(evening(60), flood(200, 40, dissect.Unreturned, nil)), "certain Forged flood at 198.51.100.10:27015: 200 p info requests in 5 s from 19:00:30 UTC on (40 per second) from 200 addresses. None came back with the challenge that it was given."},
		{"a trickle of addresses that come once", both(evening(300), trickle(4000, 4000)), "likely Forged requests at 198.51.100.10:27015: 4,000 requests in 19 min from 19:00:00 UTC on (3.5 per second) from at least 3,796 addresses, none of which came back with the challenge that it was given. The server answers the others."},
		{"a trickle", both(evening(300), trickle(1000, 100)), "likely Forged requests at 198.51.100.10:27015: 1,000 requests in 4.8 min from 19:00:00 UTC on (3.5 per second) from at least 100 addresses, none of which came back with the challenge that it was given. The server answers the others."},
		{"a flood in 20 hours", both(sent(2400, 0, 1./30, func(i int, x *made) { x.from, x.proof = person(i), dissect.Proven }), sent(9000, 32415, 300, func(i int, x *made) {
			x.from, x.proof, x.outcome = somebody(i), dissect.Unreturned, dissect.OutcomeChallenged
		})), "certain Forged flood at 198.51.100.10:27015: 9,000 p info requests in 60 s or less from 04:00:00 UTC on (150 per second or more)"},
		{"99 passwords", both(evening(60), sent(99, 0, 5, func(i int, x *made) { x.from, x.of, x.says = "203.0.113.9", 4, &refusedLogin })), quiet},
		{"passwords", both(evening(60), sent(100, 0, 5, func(i int, x *made) { x.from, x.of, x.says = "203.0.113.9", 4, &refusedLogin })), "certain Passwords tried: remote consoles refused 100 requests in 19.8 s from 19:00:00 UTC on (p.rcon.refused)."},
		{"a flood of two seconds", both(evening(60), flood(100, 50, dissect.Unreturned, nil)), "certain Not answered: 198.51.100.10:27015 answers only 55 % of 220 requests in 59.5 s from 19:00:00 UTC on: 45 % got a challenge only, because their clients did not return it or got another one each time."},
		{"a crowd, of which a fifth never returns", both(evening(60), flood(2000, 200, dissect.Proven, crowd), flood(400, 40, dissect.Unreturned, crowd)), "certain Not answered: 198.51.100.10:27015 answers only 84 % of 2,520 requests in 59.5 s from 19:00:00 UTC on: 16 % got a challenge only, because their clients did not return it or got another one each time."},
		{"one hop limit, no proof", both(open(300), flood(2000, 200, dissect.Unproven, oneHop)), "likely Forged flood at 198.51.100.10:27015: 2,000 p info requests in 10 s from 19:00:30 UTC on (200 per second, 41 times the usual) from 2,000 addresses. Nothing proves it, but 98 % of the packets have the hop limit 47 and the addresses are spread evenly over the whole internet."},
		{"people come", both(open(300), flood(2000, 200, dissect.Unproven, func(i int, x *made) { crowd(i, x); x.hops = uint8(40 + i%20) })), "possible Crowd or forged at 198.51.100.10:27015: 2,000 p info requests in 10 s from 19:00:30 UTC on (200 per second, 41 times the usual) from 2,000 addresses. They may be people, or forged: this request needs no proof, and what there is to see does not tell."},
		{"a victim", both(evening(60), victim(100, 10, 300, 4, plain)), "likely Reflection at 203.0.113.77: 100 p info requests in its name in 9.9 s from 19:00:10 UTC on (10 per second) made 198.51.100.10:27015 and 3 others send it 32.8 kB, 6.2 times what came. The address is forged: it is the victim."},
		{"greedy", both(evening(60), sent(105, 10, 10.5, func(i int, x *made) { x.from, x.proof = "203.0.113.9", dissect.Proven })), "certain Greedy: 203.0.113.9 asks 198.51.100.10:27015 11 times per second: 105 p info requests in 9.9 s from 19:00:10 UTC on, 47 % of all requests. It returns challenges: the address is real."},
		{"list hammering", both(evening(60), sent(105, 10, 10.5, func(i int, x *made) { x.from, x.proof, x.of = "203.0.113.9", dissect.Proven, 2 })), "certain List hammering: 203.0.113.9 asks 198.51.100.10:27015 11 times per second: 105 p list requests in 9.9 s from 19:00:10 UTC on, 47 % of all requests. It returns challenges: the address is real."},
		{"growth", both(evening(180), sent(3900, 60, 60, func(i int, x *made) { x.from, x.proof = person(1000+i/2), dissect.Proven })), "likely Growth at 198.51.100.10:27015: 3,900 requests more than usual in 65 s from 19:01:00 UTC on (60 per second, 31 times the usual), of clients that prove themselves. No few of them ask most of it: more people come."},
		{"scanner", both(evening(60), sent(40, 10, 2, func(i int, x *made) {
			if x.from, x.to = "203.0.113.9", fmt.Sprintf("198.51.100.%d", 100+i); i%4 == 0 {
				x.silent, x.outcome = true, dissect.OutcomeUnanswered
			}
		})), "likely Scanner or server browser: 203.0.113.9 asks about 40 servers: 40 requests in 19.5 s from 19:00:10 UTC on (2.1 per second), with 30 replies. No server gave it a challenge."},
		{"a monitor, six of whose 25 servers are down", both(evening(60), sent(200, 0, 4, func(i int, x *made) {
			if x.from, x.to = "203.0.113.9", fmt.Sprintf("198.51.100.%d", 100+i%25); i%25%4 == 0 && i%25 < 24 {
				x.silent, x.outcome = true, dissect.OutcomeUnanswered
			}
		})), "likely No reply: 6 of 26 servers, such as 198.51.100.100:27015, answered none of 48 requests in 48.8 s from 19:00:00 UTC on."},
		{"browser", both(evening(60), sent(40, 10, 2, func(i int, x *made) {
			if x.from, x.to = "203.0.113.9", fmt.Sprintf("198.51.100.%d", 100+i); i%8 == 0 {
				x.silent, x.outcome = true, dissect.OutcomeUnanswered
			}
		})), quiet},
		{"carpet", both(evening(60), sent(800, 20, 40, func(i int, x *made) { gone(i, x); x.from, x.to = somebody(i), fmt.Sprintf("198.51.100.%d", 100+i%16) })), "likely Carpet flood at 198.51.100.0/24: 800 requests to 16 addresses of it that never replied, in 20 s from 19:00:20 UTC on (40 per second) from about "},
		{"carpet in a network of many servers", both(evening(60), sent(3600, 0, 60, func(i int, x *made) {
			x.from, x.to, x.proof = person(i), fmt.Sprintf("198.51.100.%d", 20+i%30), dissect.Proven
		}), sent(800, 20, 40, func(i int, x *made) { gone(i, x); x.from, x.to = somebody(i), fmt.Sprintf("198.51.100.%d", 100+i%16) })), "likely Carpet flood at 198.51.100.0/24: 800 requests to 16 addresses of it that never replied, in 20 s from 19:00:20 UTC on (40 per second) from about "},
		{"carpet over more addresses than are counted", both(evening(60), sent(4000, 20, 200, func(i int, x *made) {
			gone(i, x)
			x.from, x.to = somebody(i), fmt.Sprintf("198.18.%d.%d", i/250, 1+i%250)
		})), "likely Carpet flood: 4,000 requests to more than 1,000 addresses and ports that never replied, in 20 s from 19:00:20 UTC on (200 per second) from about "},
		{"stale clients of more dead servers", both(evening(60), sent(800, 0, 14, func(i int, x *made) {
			gone(i, x)
			x.from, x.to = person(i), fmt.Sprintf("198.18.%d.%d", i/250, 1+i%250)
		})), "certain Cannot tell: 800 of "},
		{"stale clients of dead servers", both(evening(60), sent(800, 0, 14, func(i int, x *made) { gone(i, x); x.from, x.to = person(i), fmt.Sprintf("198.51.100.%d", 100+i%16) })), "likely No reply: 198.51.100.100:27015 answered none of 50 requests from "},
		{"long replies", both(evening(60), sent(20, 0, 1, func(i int, x *made) {
			if x.from, x.of = person(i), 1; i%2 == 0 {
				x.outcome = dissect.OutcomePartial
			}
		})), "certain Long replies lost: 198.51.100.10:27015 answers short requests, but 10 of its replies lack parts or IP fragments: in 18 s from 19:00:00 UTC on, 10 of about 10 rules requests had no complete reply."},
		{"packets get lost, and so parts of replies", sent(420, 0, 7, func(i int, x *made) {
			switch x.from = person(i); {
			case i%7 == 0:
				gone(i, x)
			case i%4 == 1:
				x.of, x.outcome = 1, either(i%8 == 1, dissect.OutcomePartial, dissect.OutcomeAnswered)
			}
		}), "certain Not answered: 198.51.100.10:27015 answers only 75 % of 420 requests"},
		{"overload", both(
			sent(400, 0, 10, func(i int, x *made) { x.from, x.proof = person(i), dissect.Proven }),
			sent(2000, 40, 100, func(i int, x *made) {
				if x.from, x.proof = person(i), dissect.Proven; i%2 == 1 {
					x.silent, x.outcome = true, dissect.OutcomeUnanswered
				}
			}),
		), "certain Overload: 198.51.100.10:27015 replies to 100 % of requests at 10 per second and to 50 % at 100 per second, in 20 s from 19:00:40 UTC on."},
		{"not answered", sent(40, 0, 1, func(i int, x *made) {
			if x.from = person(i); i%4 == 0 {
				x.silent, x.outcome = true, dissect.OutcomeUnanswered
			}
		}), "certain Not answered: 198.51.100.10:27015 replies to only 75 % of 40 requests in 39 s from 19:00:00 UTC on: 25 % got no reply."},
		{"a victim's network", both(evening(60), sent(160, 10, 16, func(i int, x *made) { x.from, x.port, x.back = fmt.Sprintf("203.0.113.%d", 1+i%8), 80, 300 })), "likely Reflection at 203.0.113.0/24: 160 p info requests in its name in 9.9 s from 19:00:10 UTC on (16 per second) made 198.51.100.10:27015 send it 52.5 kB, 6.2 times what came. The addresses are forged: they are the victims."},
		{"two greedy clients", both(evening(60), sent(500, 10, 25, func(i int, x *made) { x.from, x.proof = fmt.Sprintf("203.0.%d.9", i%2), dissect.Proven })), "certain Greedy: 2 clients (203.0.0.9 and others) ask 198.51.100.10:27015 25 times per second: 500 p info requests in 20 s from 19:00:10 UTC on, 81 % of all requests. They return challenges: the addresses are real."},
		{"greedy in two bursts", both(evening(60), sent(300, 5, 30, func(i int, x *made) { x.from, x.proof = "203.0.113.9", dissect.Proven }), sent(300, 45, 30, func(i int, x *made) { x.from, x.proof = "203.0.113.9", dissect.Proven })), "certain Greedy: 203.0.113.9 asks 198.51.100.10:27015 30 times per second: 600 p info requests in 20 s of the 50 s from 19:00:05 UTC on, 83 % of all requests. It returns challenges: the address is real."},
		{"greedy without a proof", both(open(300), sent(600, 20, 30, func(i int, x *made) { x.from, x.hops = "203.0.113.9", 51 })), "possible Greedy: 203.0.113.9 asks 198.51.100.10:27015 30 times per second: 600 p info requests in 20 s from 19:00:20 UTC on, 67 % of all requests. Either it asks too often, or somebody asks in its name, and it is the victim: this request needs no proof."},
		{"a botnet", both(evening(60), sent(2400, 20, 120, func(i int, x *made) { x.from, x.proof = somebody(i%12), dissect.Proven })), "certain Greedy: 12 clients (3.240.74.161 and others) ask 198.51.100.10:27015 120 times per second: 2,400 p info requests in 20 s from 19:00:20 UTC on, 95 % of all requests. They return challenges: the addresses are real, and all do the same at the same pace: a botnet, or one program on many machines."},
		{"greedy as long as the capture, without a proof", sent(600, 0, 30, func(i int, x *made) { x.from = "203.0.113.9" }), "possible Greedy: 203.0.113.9 asks 198.51.100.10:27015 30 times per second: 600 p info requests in 20 s from 19:00:00 UTC on, 100 % of all requests. Either it asks too often, or somebody asks in its name, and it is the victim: this request needs no proof."},
		{"a monitor as long as the capture", sent(180, 0, 9, func(i int, x *made) { x.from = "203.0.113.9" }), quiet},
		{"a botnet without a proof", both(open(300), sent(2400, 20, 120, func(i int, x *made) { x.from, x.hops = somebody(i%10), uint8(40+i%10) })), "possible Greedy: 10 clients (3.240.74.161 and others) ask 198.51.100.10:27015 120 times per second: 2,400 p info requests in 20 s from 19:00:20 UTC on, 89 % of all requests. They need not prove that the addresses are their own, and all do the same at the same pace: forged, a botnet, or one program on many machines."},
		{"evenly, one hop limit", both(open(300), flood(6000, 300, dissect.Unproven, func(i int, x *made) { x.from, x.hops = person(7000+i%40*211), 47 })), "likely Forged flood at 198.51.100.10:27015: 6,000 p info requests in 20 s from 19:00:30 UTC on (300 per second, 61 times the usual) from 40 addresses. Nothing proves it, but 98 % of the packets have the hop limit 47 and each of these addresses asks about 150 times, as evenly as a program."},
		{"made-up hop limits of one network", both(open(300), flood(2000, 200, dissect.Unproven, func(i int, x *made) { x.from, x.hops = fmt.Sprintf("31.7.7.%d", i%250), uint8(i%256) })), "likely Forged flood at 198.51.100.10:27015: 2,000 p info requests in 10 s from 19:00:30 UTC on (200 per second, 41 times the usual) from 250 addresses. Nothing proves it, but their hop limits are made up and 81 % of the addresses are in the network 31.7.7.0/24."},
		{"impossible addresses, one port", both(open(300), flood(2000, 200, dissect.Unproven, func(i int, x *made) {
			if x.port = 4444; i%10 == 0 {
				x.from = fmt.Sprintf("10.%d.%d.9", i/256%256, i%256)
			}
		})), "likely Forged flood at 198.51.100.10:27015: 2,000 p info requests in 10 s from 19:00:30 UTC on (200 per second, 41 times the usual) from 2,000 addresses. Nothing proves it, but 9.8 % come from addresses that do not exist and the addresses are spread evenly over the whole internet."},
		{"a server asks itself, and returns challenges", both(evening(60), sent(600, 10, 30, func(i int, x *made) { x.from, x.port, x.proof = x.to, 27015, dissect.Proven })), "certain Greedy: 198.51.100.10 asks 198.51.100.10:27015 30 times"},
		{"a client on the host of a closed server", sent(300, 0, 100, func(i int, x *made) {
			x.from, x.to, x.silent, x.outcome = "127.0.0.1", "127.0.0.1", true, dissect.OutcomeRefused
		}), "possible Greedy: 127.0.0.1 asks 127.0.0.1:27015 100 times per second"},
		{"people of a private network", sent(1800, 0, 30, func(i int, x *made) { x.from, x.hops = fmt.Sprintf("192.168.1.%d", 1+i%40), 128 }), quiet},
		{"one network, and nothing to compare with", sent(1800, 0, 30, func(i int, x *made) { x.from, x.hops = fmt.Sprintf("24.10.1.%d", 1+i%40), uint8(50+i%10) }), quiet},
		{"the server is down in a flood", both(evening(60), flood(400, 40, dissect.Unreturned, nil), sent(400, 40, 40, func(i int, x *made) { x.from, x.silent, x.outcome = somebody(9000+i), true, dissect.OutcomeUnanswered }), sent(100, 0, 2, func(i int, x *made) {
			x.from, x.proof, x.outcome = person(i), dissect.Unreturned, dissect.OutcomeChallenged
		})), "certain Forged flood at 198.51.100.10:27015: 804 p info requests in 20 s from 19:00:30 UTC on (40 per second, 26 times the usual)"},
		{"two floods", both(evening(60), flood(300, 30, dissect.Unreturned, nil), sent(300, 5, 30, func(i int, x *made) {
			x.from, x.proof, x.outcome = somebody(5000+i), dissect.Unreturned, dissect.OutcomeChallenged
		})), "certain Forged flood at 198.51.100.10:27015: 300 p info requests in 10 s from 19:00:05 UTC on (30 per second) from 300 addresses. None came back with the challenge that it was given.\ncertain Forged flood at 198.51.100.10:27015: 300 p info requests in 10 s from 19:00:30 UTC on (30 per second) from 300 addresses. None came back with the challenge that it was given."},
		{"at its victim", sent(100, 10, 20, func(i int, x *made) { x.from, x.to, x.of = "203.0.113.77", fmt.Sprintf("198.51.100.%d", 10+i%4), 3 }), "likely Reflection to 203.0.113.77: 100 replies (12.8 kB, 20 per second) in 5 s from 19:00:10 UTC on that it did not ask for, from about 4 servers. Somebody asks these in its name."},
		{"closed", both(evening(20), sent(10, 21, 1, func(i int, x *made) { x.from, x.silent, x.outcome = person(i), true, dissect.OutcomeRefused })), "certain Down: 198.51.100.10:27015 stopped replying at 19:00:19 UTC: none of 10 requests in the 10.5 s since then has a reply; ICMP says: the port is closed."},
		{"twenty servers at once", sent(3000, 0, 50, func(i int, x *made) {
			x.from, x.to, x.silent, x.outcome = person(i%9), fmt.Sprintf("198.51.100.%d", 10+i%20), i/500 == 3, either(i/500 == 3, dissect.OutcomeUnanswered, x.outcome)
		}), "certain Down: none of 20 servers of 198.51.100.0/24 that were asked replied for 10 s, from 19:00:29 UTC to 19:00:40 UTC: 500 requests got no reply."},
		{"one slow server of 200", sent(6000, 0, 100, func(i int, x *made) {
			x.from, x.to, x.wait = person(i%7), fmt.Sprintf("198.51.100.%d", 10+i%200), either(i%200 == 190, 1100*time.Millisecond, 0)
		}), "certain Slow: 198.51.100.200:27015 takes more than 1 s for 30 of 30 replies in 59.1 s from 19:00:01 UTC on."},
		{"slow for 25 s of five minutes", sent(300, 0, 1, func(i int, x *made) { x.from, x.wait = person(i%20), either(i >= 120 && i < 145, 3*time.Second, 0) }), "certain Slow: 198.51.100.10:27015 takes more than 1 s for 25 of 30 replies in 30 s from 19:02:00 UTC on; of all, half take 1 ms or less."},
		{"slow for a minute of five", sent(300, 0, 1, func(i int, x *made) { x.from, x.wait = person(i%20), either(i >= 120 && i < 180, 3*time.Second, 0) }), "certain Slow: 198.51.100.10:27015 takes more than 1 s for 57 of 57 replies in 60 s from 19:02:00 UTC on; of all, half take 1 ms or less."},
		{"rules are not answered, and an outage", sent(180, 0, 3, func(i int, x *made) {
			x.from, x.of, x.silent, x.outcome = person(i%20), i%3/2, i%3 == 2 || i/30 == 2, either(i%3 == 2 || i/30 == 2, dissect.OutcomeUnanswered, x.outcome)
		}), "certain Down: 198.51.100.10:27015 did not reply for 10.7 s, from 19:00:19 UTC to 19:00:30 UTC: none of 31 requests got a reply.\nlikely Not answered: 198.51.100.10:27015 replies to 0 % of 60 p rules requests in 59 s from 19:00:00 UTC on, and to 83 % of others."},
		{"closed, and later silent", sent(120, 0, 2, func(i int, x *made) {
			x.from, x.silent, x.outcome = person(i%20), i/20%4 == 1, map[int]dissect.Outcome{1: dissect.OutcomeRefused, 5: dissect.OutcomeUnanswered}[i/20]
		}), "certain Down: 198.51.100.10:27015 did not reply for 10.5 s, from 19:00:09 UTC to 19:00:20 UTC: none of 20 requests got a reply; ICMP says: the port is closed.\ncertain Down: 198.51.100.10:27015 stopped replying at 19:00:49 UTC: none of 20 requests in the 10 s since then has a reply."},
		{"neither rules nor logins are answered", both(evening(60), sent(40, 0, 1, func(i int, x *made) { gone(i, x); x.from, x.of = person(i%20), []int{1, 5}[i%2] })), "likely Not answered: 198.51.100.10:27015 replies to 0 % of 20 p rules requests and 0 % of 20 p login requests in 39 s from 19:00:00 UTC on, and to 100 % of others."},
		{"rules with a challenge", both(evening(60), sent(40, 0, 1, func(i int, x *made) {
			if x.from, x.of, x.proof = person(i/2), 1, dissect.Vouched; i%2 > 0 {
				gone(i, x)
				x.proof = dissect.Proven
			}
		})), "likely Not answered: 198.51.100.10:27015 replies to 0 % of 20 p rules requests that return its challenge in 38 s from 19:00:01 UTC on, and to 100 % of others."},
		{"refused rules", both(evening(60), sent(20, 0, 1, func(i int, x *made) { gone(i, x); x.from, x.of, x.outcome = person(i), 1, dissect.OutcomeRefused })), "likely Not answered: 198.51.100.10:27015 replies to 0 % of 20 p rules requests in 19 s from 19:00:00 UTC on, and to 100 % of others; ICMP says: the port is closed."},
		{"few of another protocol", both(evening(15), sent(4, 5, 1, func(i int, x *made) { gone(i, x); x.from, x.of = "203.0.113.9", 6 })), quiet},
		{"who is new gets no reply", both(evening(60), sent(60, 10, 2, func(i int, x *made) { gone(i, x); x.from = somebody(i / 2) })), "certain Not answered: 198.51.100.10:27015 replies to only 67 % of 180 requests in 59.5 s from 19:00:00 UTC on: 33 % got no reply, nearly all of 30 addresses that never get one ("},
		{"one asks 60 servers, some of them more than it does others", both(evening(60), sent(6000, 10, 300, func(i int, x *made) {
			x.from, x.to, x.hops = "203.0.113.9", fmt.Sprintf("198.51.100.%d", 100+mix(uint64(i))%60), 57
		})), "possible Greedy: 203.0.113.9 asks about 59 servers 300 times"},
		{"one address asks 300 servers, each 20 times", both(evening(60), sent(6000, 10, 600, func(i int, x *made) {
			x.from, x.to, x.hops = "203.0.113.9", fmt.Sprintf("198.51.%d.%d", 100+i%2, 1+i/2%150), 57
		})), "possible Greedy: 203.0.113.9 asks about 300 servers 600 times"},
		{"a scanner, if the capture were whole", both(evening(60), sent(40, 10, 2, func(i int, x *made) {
			gone(i, x)
			x.from, x.to, x.cut = "203.0.113.9", fmt.Sprintf("198.51.100.%d", 100+i), true
		})), "certain Cannot tell"},
		{"an outage a while after a flood that is not answered", both(evening(120)[:160], evening(120)[200:], flood(4000, 400, dissect.Unproven, gone), lost(40, 80, 2)), "likely Forged flood at 198.51.100.10:27015: 3,996 p info requests in 10 s from 19:00:30 UTC on (400 per second, 1,080 times the usual) from 3,996 addresses; the server replied to 0.5 % of all requests meanwhile. Nothing proves it, but the addresses are spread evenly over the whole internet and none of these addresses ever proved itself, and of those that ask at other times 81 % did.\ncertain Down: 198.51.100.10:27015 did not reply for 20.5 s"},
		{"a flood that is not answered, while a few ask too often", both(evening(120), flood(6000, 300, dissect.Unproven, gone), sent(6000, 28, 240, func(i int, x *made) { x.from, x.proof = person(500+i%12), dissect.Proven })), "likely Forged flood at 198.51.100.10:27015: 6,000 p info requests in 20 s from 19:00:30 UTC on"},
	} {
		if got, _ := all.play(c.name, c.play); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %.900s, want %s", c.name, got, c.want)
		}
	}
	greedy := func(a string, n int, from, rate float64) []made {
		return sent(n, from, rate, func(i int, x *made) { x.from, x.proof = a, dissect.Proven })
	}
	many := func(clients int, rate float64, of int) []made { // who ask all the time, and prove nothing
		return sent(int(60*rate)*clients, 0, rate*float64(clients), func(i int, x *made) { x.from, x.of = fmt.Sprintf("203.0.%d.9", i%clients), of })
	}
	carpet := sent(800, 20, 40, func(i int, x *made) { gone(i, x); x.from, x.to = somebody(i), fmt.Sprintf("198.51.100.%d", 100+i%16) })
	within := func(n int, rate float64) []made {
		return sent(n, 20, rate, func(i int, x *made) {
			x.from, x.to, x.proof, x.outcome = somebody(4000+i), "198.51.100.11", dissect.Unreturned, dissect.OutcomeChallenged
		})
	}
	lossy := func(i int, x *made) {
		if x.from = person(i); uint32(i)*2654435761>>31 == 1 {
			x.silent, x.outcome = true, dissect.OutcomeUnanswered
		}
	}
	network := func(port uint16) func(n int) []made {
		return func(n int) []made {
			return both(evening(60), sent(20*n, 10, 2*float64(n), func(i int, x *made) { x.from, x.port, x.back = fmt.Sprintf("203.0.113.%d", 1+i%n), port, 300 }))
		}
	}
	pool := func(from float64, n int) []made {
		return sent(2000, from, 200, func(i int, x *made) {
			x.from, x.proof, x.outcome = somebody(i%n), dissect.Unreturned, dissect.OutcomeChallenged
		})
	}
	twoHundred := sent(12_000, 0, 200, func(i int, x *made) {
		x.from, x.to = person(i), fmt.Sprintf("198.51.%d.%d", 100+i%200/100, 1+i%100)
		if i%200 == 77 && x.at > 20 && x.at < 50 {
			x.silent, x.outcome = true, dissect.OutcomeUnanswered
		}
	})
	forged := sent(12_000, 0, 200, func(i int, x *made) {
		x.from, x.hops, x.port, x.id = somebody(i), 47, uint16(1024+i*31%60000), uint16(i*7919)
	})
	unheard := func(a string, of int) []made {
		return sent(40, 20, 2, func(i int, x *made) { x.from, x.of, x.silent, x.outcome = a, of, true, dissect.OutcomeUnanswered })
	}
	errors := func(closed, large int) []made { // about so many of 200 replies
		return sent(200, 0, 4, func(i int, x *made) {
			if x.from, x.proof = person(i), dissect.Proven; i < closed {
				x.says = core.PortUnreachable
			} else if i < closed+large {
				x.says = core.FragmentationNeeded
			}
		})
	}
	sockets := func(n int, rate float64, addresses, servers int) []made { // a port for each request
		return sent(n, 10, rate, func(i int, x *made) {
			x.from, x.to, x.port, x.back = fmt.Sprintf("203.0.113.%d", 9+i%addresses), fmt.Sprintf("198.51.100.%d", 10+i%servers), uint16(32768+i*31%28000), 300
		})
	}
	uneven := func(hops func(i int) uint8) []made {
		return sent(12_000, 0, 200, func(i int, x *made) {
			var b [4]byte
			binary.BigEndian.PutUint32(b[:], uint32(mix(uint64(i)+1)))
			x.from, x.hops = netip.AddrFrom4(b).String(), hops(i)
		})
	}
	for _, c := range []struct {
		name  string
		play  []made
		wants []string // parts of the verdicts or of the JSON
		not   string
	}{
		{"one of 200 servers is down for 30 s", twoHundred, []string{`Down: 198.51.100.78:27015 did not reply for 31 s, from 19:00:19 UTC to 19:00:50 UTC: none of 30 requests got a reply.`, `"verdicts":1,`}, ""},
		{"a crowd, and half is lost all the time", both(sent(1200, 0, 10, lossy), flood(4000, 200, dissect.Unproven, func(i int, x *made) { crowd(i, x); lossy(5000+i, x) })), []string{`Crowd or forged at 198.51.100.10:27015: 4,000 p info requests in 20 s`, `the server replied to 50 % of all requests meanwhile.`, `certain Not answered: 198.51.100.10:27015 replies to only 50 % of 940 requests at times without a flood, a crowd or a greedy client: 50 % got no reply.`, `"requests":940,"unanswered":470}`}, ""},
		{"a crowd, of which half is lost", both(open(300), flood(4000, 200, dissect.Unproven, func(i int, x *made) { crowd(i, x); lossy(5000+i, x) })), []string{`Overload: 198.51.100.10:27015 replies to 100 % of requests at 5 per second and to 51 % at 205 per second, in 20 s`}, "Not answered"},
		{"half is lost in bursts", both(sent(60, 0, 10, lossy), sent(60, 24, 10, lossy), sent(60, 48, 10, lossy), sent(60, 72, 10, lossy)), []string{`certain Not answered: 198.51.100.10:27015 replies to only 50 % of 240 requests`}, "Overload"},
		{"the same addresses twice", both(evening(60), pool(10, 50), pool(40, 50)), []string{`in 10 s from 19:00:10 UTC on (200 per second) from 50 addresses`, `in 10 s from 19:00:40 UTC on (200 per second) from 50 addresses`, `"requests_honest":120,`}, ""},
		{"monitors, and a flood of others", both(many(20, 0.2, 0), sent(2400, 60, 4, func(i int, x *made) { x.from = fmt.Sprintf("203.0.%d.9", i%20) }), flood(2000, 100, dissect.Unproven, oneHop)), []string{`2,000 p info requests in 20 s from 19:00:30 UTC on (100 per second, 26 times the usual) from 1,999 addresses`}, ""},
		{"bots, and others who need no proof", both(open(300), sent(3000, 20, 150, func(i int, x *made) { x.from, x.proof = somebody(i%30), dissect.Proven })), []string{`Greedy: 30 clients`}, ""},
		{"a flood as long as the capture", both(open(300), forged), []string{`12,015 p info requests in 60 s from 19:00:00 UTC on (200 per second, 43 times the usual) from 12,015 addresses`, `"requests_honest":285,`}, ""},
		{"of made-up hop limits", both(open(300), uneven(func(i int) uint8 { return uint8(i) })), []string{`12,030 p info requests in 60 s`, `"requests_honest":270,`}, ""},
		{"of all hop limits, evenly spread", both(open(300), uneven(func(i int) uint8 { return uint8(30 + i%40) })), []string{`11,941 p info requests in 60 s`, `"requests_honest":359,`}, ""},
		{"of most hop limits", both(open(300), uneven(func(i int) uint8 { return uint8(20 + i%210) })), []string{`11,989 p info requests in 60 s`, `"requests_honest":311,`}, ""},
		{"two ask 10 times a second all the time", many(2, 10.1, 0), []string{`possible Greedy: 2 clients (203.0.0.9 and others) ask 198.51.100.10:27015 20 times per second: 1,212 p info requests in 60 s`, `"requests_greedy":1212,`}, ""},
		{"twelve ask 30 times", both(open(300), many(12, 30, 0)), []string{`possible Greedy: 12 clients (203.0.0.9 and others) ask 198.51.100.10:27015 360 times per second: 21,600 p info requests in 60 s`}, ""},
		{"one asks 15 times", many(1, 15, 0), []string{`Nothing unusual`}, ""},
		{"twelve monitors", many(12, 9, 0), []string{`Nothing unusual`}, ""},
		{"twelve who return challenges", both(many(12, 0.5, 0), sent(6480, 0, 108, func(i int, x *made) { x.from, x.proof = somebody(i%12), dissect.Proven })), []string{`certain Greedy: 12 clients (3.240.74.161 and others) ask 198.51.100.10:27015 108 times`}, ""},
		{"sixty who come at once, and ask as seldom as a list", both(evening(60), sent(4800, 20, 120, func(i int, x *made) { x.from, x.proof = somebody(i%60), dissect.Proven })), []string{`Greedy: 60 clients`, `at the same pace: a botnet, or one program on many machines.`, `Limit requests per address`}, ""},
		{"sixty who came in turn", both(evening(60), sent(60, 0, 3, func(i int, x *made) { x.from, x.proof = somebody(i%60), dissect.Proven }), sent(4800, 20, 120, func(i int, x *made) { x.from, x.proof = somebody(i%60), dissect.Proven })), []string{`Greedy: 60 clients`, `such as a list of servers that people keep open`}, ""},
		{"eighty forged all the time, by one machine", both(many(12, 0.1, 0), sent(3600, 0, 60, func(i int, x *made) { x.from, x.hops = somebody(i%80), 47 })), []string{`possible Crowd or forged at 198.51.100.10:27015: 3,6`, `each of these addresses asks about 45 times, as evenly as a program`}, ""},
		{"twelve trackers ask a master", many(12, 12, 2), []string{`Nothing unusual`}, ""},
		{"twelve trackers ask too often", many(12, 21, 2), []string{`possible Greedy: 12 clients (203.0.0.9 and others) ask 198.51.100.10:27015 252 times per second: 15,120 p list requests`}, ""},
		{"a flood in two waves", both(open(300), sent(4000, 10, 400, func(i int, x *made) { x.from, x.hops = somebody(i), 47 }), sent(4000, 40, 400, func(i int, x *made) { x.from, x.hops = somebody(4000+i), 47 })), []string{`likely Forged flood at 198.51.100.10:27015: 4,000 p info requests in 10 s from 19:00:10 UTC on`, `likely Forged flood at 198.51.100.10:27015: 4,000 p info requests in 10 s from 19:00:40 UTC on`}, "Crowd"},
		{"a victim that gets little", both(open(300), victim(1200, 60, 60, 1, plain)), []string{`likely Reflection at 203.0.113.77: 1,200 p info requests in its name in 20 s from 19:00:10 UTC on (60 per second) made 198.51.100.10:27015 send it 105.6 kB, 1.7 times what came. The address is forged: it is the victim.`, `from ports below 1,024`}, "Greedy"},
		{"five restarts, each of four requests", sent(480, 0, 0.2, func(i int, x *made) {
			if x.from, x.proof = person(i%3), dissect.Proven; i%80 < 4 && i >= 80 {
				gone(i, x)
			}
		}), []string{`certain Down: 198.51.100.10:27015 did not reply for 25 s, from 19:06:35 UTC to 19:07:00 UTC: none of 4 requests got a reply.`, `"verdicts":5,`}, "Nothing unusual"},
		{"a NAT, or a victim, with any ports from 1,024 on", both(open(300), victim(900, 15, 400, 1, func(i int, x *made) { x.port = uint16(1024 + i*37%60000) })), []string{`possible Reflection at 203.0.113.77: 900 p info requests from it`, `Either the address is forged, and it is the victim, or it asks too often itself`}, "The address is forged"},
		{"a crowd behind Docker's proxy", sent(3100, 0, 1, func(i int, x *made) {
			x.at = either(i < 100, float64(i)/2, 20+float64(i-100)/150)
			x.from, x.to, x.port = "172.17.0.1", "172.17.0.2", uint16(20000+i)
		}), []string{`possible Crowd or forged at 172.17.0.2:27015: 3,0`, `from 172.17.0.1. They may be people, or forged`, `a capture in front of it shows who asks`}, "Nothing unusual"},
		{"ten servers of a host are down for 20 s, and its neighbour is not", both(sent(1200, 0, 20, func(i int, x *made) {
			if x.from, x.to, x.proof = person(i), fmt.Sprint("198.51.100.10:", 27015+i%10), dissect.Proven; x.at >= 20 && x.at < 40 {
				gone(i, x)
			}
		}), sent(300, 0, 5, func(i int, x *made) { x.from, x.to, x.proof = person(i), "198.51.100.11", dissect.Proven })), []string{`certain Down: none of 10 servers of the host 198.51.100.10 that were asked replied for 20.`, `"verdicts":1,`}, "So many at once"},
		{"four servers of five are down for 20 s", both(sent(1200, 0, 20, func(i int, x *made) {
			if x.from, x.to, x.proof = person(i), fmt.Sprint("198.51.100.", 10+i%4), dissect.Proven; x.at >= 20 && x.at < 40 {
				gone(i, x)
			}
		}), sent(9, 3, 0.15, func(i int, x *made) { x.from, x.to, x.proof = person(i), "198.51.100.14", dissect.Proven })), []string{`certain Down: 198.51.100.10:27015 did not reply for 2`, `"verdicts":4,`}, "none of 5 servers"},
		{"greedy, others less", both(evening(60), greedy("203.0.113.9", 1000, 20, 50), greedy("203.0.114.9", 220, 20, 11)), []string{`certain Greedy: 2 clients (203.0.113.9 and others) ask 198.51.100.10:27015 61 times per second: 1,220 p info requests in 20 s`, `"share_of_requests":0.9104,`}, ""},
		{"a rush at three servers", both(evening(60), sent(3600, 20, 360, func(i int, x *made) {
			x.from, x.to, x.proof = person(5000+i/6), fmt.Sprint("198.51.100.", 10+i%3), dissect.Proven
		})), []string{`likely Crowd at 198.51.100.`, `and 2 others: 3,600 requests more than usual in 10 s`, `"verdicts":1,`}, "Greedy"},
		{"greedy, of one host", both(evening(60), sent(1200, 20, 40, func(i int, x *made) {
			x.from, x.to, x.proof = fmt.Sprint("2a02:8109::", i/240), "2001:db8::10", dissect.Proven
		})), []string{`certain Greedy: 5 addresses of 2a02:8109::/64, probably one host, ask [2001:db8::10]:27015 40 times per second: 1,200 p info requests in 30 s`}, "botnet"},
		{"greedy, each time from another address", both(evening(60), sent(20, 0, 1, func(_ int, x *made) { x.from, x.to = "2a02:1::1", "2001:db8::10" }), sent(1200, 20, 40, func(i int, x *made) {
			x.from, x.to, x.proof = fmt.Sprintf("2a02:8109::%x", i/2+1), "2001:db8::10", dissect.Proven
		})), []string{`certain Greedy: 600 addresses of 2a02:8109::/64, probably one host, ask [2001:db8::10]:27015 40 times per second: 1,200 p info requests in 30 s`}, "Crowd"},
		{"greedy, others later", both(evening(60), greedy("203.0.113.9", 1000, 5, 50), greedy("203.0.114.9", 220, 40, 11)), []string{`203.0.113.9 asks 198.51.100.10:27015 50 times per second: 1,000`, `203.0.114.9 asks 198.51.100.10:27015 11 times per second: 220`}, ""},
		{"greedy among many, others later", both(sent(4800, 0, 40, func(i int, x *made) { x.from, x.proof = person(i%400), dissect.Proven }), greedy("203.0.113.9", 1000, 12, 50), greedy("203.0.114.9", 600, 53, 20)), []string{`203.0.113.9 asks 198.51.100.10:27015 50 times per second: 1,000`, `203.0.114.9 asks 198.51.100.10:27015 20 times per second: 600`}, ""},
		{"more people come, and one who asks too often", both(evening(180), sent(3900, 60, 60, func(i int, x *made) { x.from, x.proof = person(1000+i/2), dissect.Proven }), greedy("203.0.113.9", 780, 60, 12)), []string{`Growth at 198.51.100.10:27015: `, `203.0.113.9 asks 198.51.100.10:27015 12 times per second: 780 `}, ""},
		{"people who ask for two things each six seconds, and for a challenge", both(evening(120), sent(15000, 30, 180, func(i int, x *made) {
			if x.from, x.of, x.proof = person(1000+i/3%300), i%3/2, dissect.Proven; i%3 == 0 {
				x.proof, x.outcome = dissect.Vouched, dissect.OutcomeChallenged
			}
		})), []string{`Growth at 198.51.100.10:27015: `}, ""},
		{"one asks too often, also while the server is down", both(evening(18), sent(600, 18, 50, func(i int, x *made) { gone(i, x); x.from = "203.0.113.9" }), greedy("203.0.113.9", 300, 30, 50), flood(1000, 50, dissect.Unreturned, func(_ int, x *made) { x.at += 30 })), []string{`Greedy: 203.0.113.9 asks`, `Forged flood at 198.51.100.10:27015: 1,000 `, `none of 600 requests`, `"verdicts":3,`}, ""},
		{"more people come, and one who asks too often for a while", both(evening(120), sent(1500, 57, 25, func(i int, x *made) { x.from, x.proof = person(1000+i/2), dissect.Proven }), greedy("203.0.113.9", 1500, 66, 100)), []string{"203.0.113.9 asks 198.51.100.10:27015 100 times per second: 1,500 p info requests in 15 s from 19:01:06"}, ""},
		{"a flood of four servers by few, who come again", both(evening(90), flood(1200, 40, dissect.Unreturned, func(i int, x *made) { x.from, x.to = somebody(i/4%120), fmt.Sprint("198.51.100.", 20+i%4) })), []string{`Forged flood at 4 servers of 198.51.100.0/24: 1,200 `, ` from 120 addresses`}, ""},
		{"one is ignored", both(open(600), unheard("203.0.113.9", 0)), []string{`likely Not answered: 198.51.100.10:27015 replies to none of 40 requests of 203.0.113.9 in 19.5 s from 19:00:20 UTC on, and to 100 % of those of others.`}, "So it is"},
		{"one is ignored, and an outage", both(sent(600, 0, 5, func(i int, x *made) {
			x.from, x.silent, x.outcome = person(i%40), i/100 == 4, either(i/100 == 4, dissect.OutcomeUnanswered, x.outcome)
		}), unheard("203.0.113.9", 0)), []string{`198.51.100.10:27015 did not reply for 20.2 s`, `likely Not answered: 198.51.100.10:27015 replies to none of 40 requests of 203.0.113.9 in 19.5 s from 19:00:20 UTC on, and to 83 % of those of others.`}, "So it is"},
		{"who is outside is", both(sent(60, 0, 1, func(i int, x *made) { x.from = fmt.Sprint("192.168.1.", 20+i%3) }), unheard("203.0.113.9", 0)), []string{`none of 40 requests of 203.0.113.9 in 19.5 s from 19:00:20 UTC on, and to 100 % of those of others. Only private addresses get replies.`, `lets only the server's own networks in`}, ""},
		{"two are", both(open(600), unheard("203.0.113.9", 0), unheard("203.0.113.10", 0)[:20]), []string{`none of 40 requests of 203.0.113.9 in 19.5 s from 19:00:20 UTC on, and to 97 % of those of others. So it is with 1 other client.`}, ""},
		{"one asks what nobody else does", both(open(600), unheard("203.0.113.9", 1)), []string{quiet}, "of those of others"},
		{"one asks what silence is an answer to", both(open(600), sent(100, 0, 1, func(i int, x *made) { x.from, x.of = person(i), 4 }), unheard("203.0.113.9", 4)), []string{quiet}, "of those of others"},
		{"one asks that as well", both(open(600), sent(100, 0, 1, func(i int, x *made) { x.from, x.of = "203.0.113.9", 0 }), unheard("203.0.113.9", 1)), []string{quiet}, "of those of others"},
		{"most errors say that nothing listens", errors(39, 1), []string{`certain Replies come back: ICMP says of 39 of 200 replies of 198.51.100.10:27015 that nothing listens there any more.`}, "do not fit"},
		{"most errors say that it is too large", errors(1, 39), []string{`certain Replies do not fit: ICMP says of 39 of 200 replies of 198.51.100.10:27015 that a packet is too large for the path.`}, "come back"},
		{"few errors of each kind", errors(12, 12), []string{quiet}, "Replies"},
		{"one server in one direction", both(evening(60), sent(20, 0, 1, func(i int, x *made) {
			x.from, x.to, x.silent, x.outcome = person(i), "198.51.100.9", true, dissect.OutcomeOneSided
		})), []string{"Cannot tell whether requests to 198.51.100.9:27015 get replies: only one direction is in the capture; of 120 requests to others, 100 % answered"}, "nothing to do"},
		{"eight probes of one network", both(evening(60), sockets(160, 16, 8, 1)), []string{`possible Reflection at 203.0.113.0/24: 160 p info requests from it in 9.9 s`, `Either its addresses are forged, and they are the victims, or they ask too often themselves: this request needs no proof.`}, "in its name"},
		{"a monitor of 16 servers", both(evening(60), sent(720, 0, 12, func(i int, x *made) { x.from, x.to, x.back = "203.0.113.9", fmt.Sprint("198.51.101.", i%16), 300 })), []string{`possible Reflection at 203.0.113.9: 720 p`, `or it asks too often itself`}, ""},
		{"a victim's port", both(evening(60), sent(160, 10, 16, func(i int, x *made) { x.from, x.back = "203.0.113.9", 300 })), []string{`possible Reflection at 203.0.113.9: 160 p info requests from it in 9.9 s`}, "in its name in"},
		{"one opens a socket 15 times a second", both(evening(60), sockets(300, 15, 1, 1)), []string{`possible Greedy: 203.0.113.9 asks 198.51.100.10:27015 15 times per second`}, "Reflection"},
		{"and asks two servers", both(evening(60), sockets(1200, 30, 1, 2)), []string{`possible Greedy: 203.0.113.9 asks 198.51.100.10:27015`}, "Reflection"},
		{"a flood in a carpet", both(evening(60), carpet, within(2000, 100)), []string{`Forged flood at 198.51.100.11:27015: 2,000 p`, `Carpet flood at 198.51.100.0/24: 800`, `The server asks for a challenge, so the flood gets little back`}, ""},
		{"a carpet meets a server", both(evening(60), carpet, sent(100, 20, 5, func(i int, x *made) { challenged(i, x); x.from = somebody(4000 + i) })), []string{`Carpet flood at 198.51.100.0/24: 800`, `"verdicts":1,`}, "Not answered"},
		{"a carpet meets a server, and one elsewhere loses half", both(evening(60), carpet, sent(100, 20, 5, func(i int, x *made) { challenged(i, x); x.from = somebody(4000 + i) }), sent(60, 0, 1, func(i int, x *made) { lossy(i, x); x.to = "192.0.2.9" })), []string{`Carpet flood at 198.51.100.0/24: 800`, `certain Not answered: 192.0.2.9:27015 replies to only `}, ""},
		{"hardly more than the carpet", both(evening(60), carpet, within(500, 25)), []string{`Carpet flood at 198.51.100.0/24: 800`, `"verdicts":1,`}, "Forged"},
		{"a flood until the end", both(evening(40), flood(800, 40, dissect.Unreturned, nil)), []string{`800 p info requests in 20 s from 19:00:30 UTC on (40 per second) from 790 addresses`}, ""},
		{"a crowd and a victim", both(open(300), sent(1400, 20, 70, func(i int, x *made) { x.from, x.port, x.back = "24.99.1.1", 80, 300 }), sent(600, 20, 30, func(i int, x *made) { crowd(i, x); x.hops = uint8(40 + i%20) })), []string{`Reflection at 24.99.1.1: 1,400`, `Crowd or forged at 198.51.100.10:27015: 600 p info requests in 20 s`, `from 600 addresses`}, ""},
		{"a crowd and a victim in whose name one machine asks", both(open(450), sent(1400, 20, 70, func(i int, x *made) { x.from, x.port, x.back, x.hops, x.id = "24.99.1.1", 80, 300, 47, uint16(7+i) }), sent(600, 45, 30, func(i int, x *made) { crowd(i, x); x.hops, x.id = uint8(40+i%20), uint16(i*7919) })), []string{`Reflection at 24.99.1.1: 1,400`, `possible Crowd or forged at 198.51.100.10:27015: 600 p`}, "Forged"},
		{"a crowd, and then a flood", both(open(900), sent(600, 10, 30, func(i int, x *made) { crowd(i, x); x.hops = uint8(40 + i%20) }), flood(9000, 300, dissect.Unproven, oneHop)), []string{`likely Forged flood at 198.51.100.10:27015: 9,0`, `possible Crowd or forged at 198.51.100.10:27015: 600 p info requests in 20 s`, `"verdicts":2,`}, ""},
		{"a flood of a few, some of which ask more often", both(open(300), flood(4000, 200, dissect.Unproven, func(i int, x *made) {
			oneHop(i, x)
			x.from, x.port, x.back = somebody([]int{i % 23, i / 23 % 4}[i%23/22]), 80, 300
		})), []string{`Forged flood at 198.51.100.10:27015: 4,000`}, "Reflection"},
		{"a flood of a server that stopped before", both(open(100), flood(4000, 200, dissect.Unproven, func(i int, x *made) { oneHop(i, x); gone(i, x) }), sent(40, 20, 1, func(i int, x *made) { x.from = person(i); gone(i, x) })), []string{`likely Forged flood at 198.51.100.10:27015: 3,9`, `certain Down: 198.51.100.10:27015 stopped replying at 19:00:19 UTC`}, ""},
		{"a flood that loses a third for 10 s", both(evening(90), flood(9000, 300, dissect.Unreturned, func(i int, x *made) {
			if i > 6000 && i%3 == 0 {
				x.proof, x.silent, x.outcome = dissect.Unproven, true, dissect.OutcomeUnanswered
			}
		})), []string{`certain Forged flood at 198.51.100.10:27015: 9,000 p info requests in 30 s`, `"verdicts":1,`}, ""},
		{"an outage in a flood that goes on", both(evening(40), flood(3000, 300, dissect.Unreturned, nil), sent(3000, 40, 300, func(i int, x *made) { gone(i, x); x.from = somebody(3000 + i) }), sent(3000, 50, 300, func(i int, x *made) { challenged(i, x); x.from = somebody(6000 + i) })), []string{`Forged flood at 198.51.100.10:27015: 9,000`, `did not reply for 10 s, from 19:00:39`}, ""},
		{"a botnet with challenges of before", both(evening(90), sent(9000, 30, 300, func(i int, x *made) {
			x.from, x.payload, x.uses = somebody(i%60), fmt.Sprint("a challenge ", i%60), dissect.ChallengeUsed
		})), []string{`They return challenges of before the capture: the addresses are real, unless the server accepts any, and all do the same`, `They return challenges`, `"verdicts":1,`}, "Forged"},
		{"a crowd that a server bears in part", both(evening(90), sent(1600, 30, 80, func(i int, x *made) { gone(i, x); x.from, x.hops = person(5000+i), 64 }), sent(800, 30, 40, func(i int, x *made) { x.from, x.proof = person(9000+i), dissect.Proven })), []string{`certain Overload: 198.51.100.10:27015 replies to 100 %`, `"verdicts":1,`}, "Forged"},
		{"an outage that begins long after a flood, and hardly outlasts it", both(evening(40), flood(2000, 100, dissect.Unreturned, nil), sent(1500, 50, 100, func(i int, x *made) { gone(i, x); x.from = somebody(3000 + i) }), lost(2, 66, 1), sent(40, 69, 2, func(i int, x *made) { x.from, x.proof = person(i), dissect.Proven })), []string{"Down: 198.51.100.10:27015 did not reply for 19 s, from 19:00:49 UTC to 19:01:09 UTC: none of 1,502 requests"}, ""},
		{"an outage that outlasts a flood", both(evening(40), flood(3000, 300, dissect.Unreturned, nil), sent(3000, 40, 300, func(i int, x *made) { gone(i, x); x.from = somebody(3000 + i) }), lost(30, 50, 2), sent(40, 65, 2, func(i int, x *made) { x.from, x.proof = person(i), dissect.Proven })), []string{`Forged flood at 198.51.100.10:27015: 5,99`, `did not reply for 25 s, from 19:00:39`}, ""},
		{"who waits for a restart", both(open(150), waiting, sent(300, 50.1, 10, func(i int, x *made) { x.from = person(5000 + i%150) })), []string{`certain Down: 198.51.100.10:27015 did not reply for 20.`, `"requests_honest":3450,`, `"verdicts":1,`}, ""},
		{"who has no reply after it either", both(open(150), waiting, sent(300, 50.1, 10, func(i int, x *made) { x.from = person(i) })), []string{`possible Crowd or forged at 198.51.100.10:27015: 2,852 p`, `certain Down: 198.51.100.10:27015 did not reply for 20.`}, ""},
		{"of one network of IPv6", both(sent(300, 0, 5, func(i int, x *made) {
			x.from, x.to, x.hops = fmt.Sprintf("2a02:%x::%x", i%40, i), "2001:db8:1::10", uint8(40+i%20)
		}), sent(9000, 30, 300, func(i int, x *made) { x.from, x.to, x.hops = fmt.Sprintf("2a0b:1:2:3::%x", i+1), "2001:db8:1::10", 47 })), []string{`likely Forged flood at [2001:db8:1::10]:27015: 9,000 p`, `have the hop limit 47 and 98 % of the addresses are in the network 2a0b:1:2::/48`}, ""},
		{"a crowd around a flood", both(open(600), flood(9000, 300, dissect.Unproven, oneHop), sent(2400, 20, 30, func(i int, x *made) { crowd(i, x); x.hops = uint8(40 + i%20) })), []string{`likely Forged flood at 198.51.100.10:27015: 9,0`, `possible Crowd or forged at 198.51.100.10:27015: 2,4`, `"verdicts":2,`}, ""},
		{"a flood in a flood", both(open(600), flood(9000, 150, dissect.Unproven, oneHop), sent(8000, 45, 400, func(i int, x *made) { x.from, x.hops = somebody(90_000+i%200), 47 })), []string{`from 9,000 addresses`, `from 200 addresses`, `"verdicts":2,`}, ""},
		{"one asks in a flood", both(open(600), flood(6000, 200, dissect.Unproven, oneHop), sent(900, 40, 30, func(i int, x *made) { x.from, x.hops = "203.0.113.9", 52 })), []string{`possible Greedy: 203.0.113.9 asks 198.51.100.10:27015 30 times per second: 900 p info requests`, `Forged flood at 198.51.100.10:27015: 6,000 p info requests in 30 s`}, ""},
		{"a flood beside an address that asks more, for longer", both(open(600), flood(4000, 100, dissect.Unproven, oneHop), sent(15000, 50, 300, func(i int, x *made) { x.from, x.hops = "24.99.1.1", 47 })), []string{`Forged flood at 198.51.100.10:27015: 4,0`, `from 4,000 addresses`, `Greedy: 24.99.1.1 asks 198.51.100.10:27015 300 times per second: 15,000`}, ""},
		{"a flood beside a victim", both(open(600), flood(6000, 200, dissect.Unproven, oneHop), sent(4000, 20, 67, func(i int, x *made) { x.from, x.port, x.hops, x.back = "24.99.1.1", 80, 47, 300 })), []string{`likely Forged flood at 198.51.100.10:27015: 6,0`, `Reflection at 24.99.1.1: 4,000`}, "Crowd"},
		{"a flood of five times the usual", both(open(1200), flood(1500, 25, dissect.Unproven, oneHop)), []string{`likely Forged flood at 198.51.100.10:27015: 1,`, `have the hop limit 47`}, ""},
		{"sixteen networks at one server", both(open(600), sent(24000, 20, 800, func(i int, x *made) {
			x.from, x.port, x.hops, x.back = fmt.Sprintf("185.77.%d.%d", 64+i%16, i*7919%251), uint16(2000+i*7919%60000), 47, 300
		})), []string{`likely Forged flood at 198.51.100.10:27015: 24,0`, `in the network 185.77.0.0/16`, `"verdicts":1,`}, "Reflection"},
		{"hardly a crowd and a victim", both(open(300), sent(1700, 20, 85, func(i int, x *made) { x.from, x.port, x.back = "24.99.1.1", 80, 300 }), sent(300, 20, 15, func(i int, x *made) { crowd(i, x); x.hops = uint8(40 + i%20) })), []string{`Reflection at 24.99.1.1: 1,700`, `"verdicts":1,`}, "Crowd"},
		{"fifty made-up addresses at one server", both(open(300), sent(25000, 20, 1000, func(i int, x *made) {
			x.from, x.port, x.hops, x.back = somebody(70_000+i%50), uint16(2000+i*7919%60000), 47, 300
		})), []string{`likely Forged flood at 198.51.100.10:27015: 25,0`, `"verdicts":1,`}, "Reflection"},
		{"one hop limit, unevenly", both(open(300), flood(6000, 300, dissect.Unproven, func(i int, x *made) {
			x.from, x.hops = person(7000+[]int{i / 4 % 5, i % 40, i % 40, i % 40}[i%4]*211), 47
		})), []string{`have the hop limit 47`}, "evenly as"},
		{"one hop limit, half of it evenly", both(open(300), flood(6000, 300, dissect.Unproven, func(i int, x *made) { x.from, x.hops = []string{person(7000 + i/2%40*211), x.from}[i%2], 47 })), []string{`have the hop limit 47`}, "evenly as"},
		{"a victim, whom half of 24 servers answer", both(evening(60), victim(480, 40, 600, 24, func(i int, x *made) { []func(int, *made){gone, plain}[i%2](i, x) })), []string{`Reflection at 203.0.113.77: 480 p info requests`}, "Scanner"},
		{"a browser asks 300 servers once", both(evening(60), sent(300, 20, 100, func(i int, x *made) {
			x.from, x.to, x.back = "203.0.113.9", fmt.Sprintf("198.51.%d.%d", 101+i/250, 1+i%250), 300
		})), []string{quiet}, ""},
		{"one asks within a flood", both(open(300), flood(6000, 200, dissect.Unproven, oneHop), sent(1200, 30, 40, func(i int, x *made) { x.from, x.hops = "203.0.113.9", 52 })), []string{`likely Forged flood at 198.51.100.10:27015: 6,000 p`, `1,200 p info requests in 30 s from 19:00:30 UTC on`}, ""},
		{"hardly a crowd, all the time", both(open(300), sent(800, 15, 20, func(i int, x *made) { x.hops = uint8(40 + i%20); crowd(i, x) })), []string{`possible Crowd or forged at 198.51.100.10:27015: 800 p`, `"verdicts":1,`}, ""},
		{"a victim, and eight who do the same and prove themselves", both(open(300), sent(3500, 20, 140, func(i int, x *made) {
			x.from, x.port, x.hops, x.back, x.proof = somebody(70_000+i%9), 80, 47, 300, dissect.Proof(min(i%9, 1))*dissect.Proven
		})), []string{`Reflection at `}, "Forged"},
		{"forty who keep a list open, through a proxy", sent(2400, 0, 40, func(i int, x *made) { x.from, x.hops = somebody(i%40), 63 }), []string{quiet}, ""},
		{"a crowd, from 0.9 s to 3.1 s", sent(1320, 0.9, 600, func(i int, x *made) { x.hops = uint8(40 + i%20); crowd(i, x) }), []string{quiet}, "Crowd"},
		{"a crowd that begins 1.5 s after the capture", both(sent(4, 0.2, 10, crowd), sent(6400, 1.7, 800, func(i int, x *made) { x.hops = uint8(40 + i%20); crowd(i, x) })), []string{`Crowd or forged at 198.51.100.10:27015: 6,`}, "unusual"},
		{"people who ask again after the capture", sent(2640, 0.9, 1200, func(i int, x *made) {
			if x.from, x.proof = person(i/3), dissect.Vouched+dissect.Proof(min(i%3, 1))*(dissect.Proven-dissect.Vouched); i >= 2600 {
				x.from, x.proof, x.outcome = person(i), dissect.Unreturned, dissect.OutcomeChallenged
			}
		}), []string{quiet}, "Forged"},
		{"a flood at one moment", sent(1500, 0, 1e15, func(i int, x *made) { gone(i, x); x.from, x.hops = fmt.Sprintf("%d.%d.7.9", i*7919%251, i%250), 64 }), []string{`likely Forged flood at 198.51.100.10:27015: 1,500 p`, `All packets have the same time`}, ""},
		{"forty milliseconds of people who return challenges", sent(160, 0, 4000, func(i int, x *made) {
			if x.from = person(i); i%9%2 == 0 {
				x.proof, x.outcome = dissect.Unreturned, dissect.OutcomeChallenged
			}
		}), []string{`possible Not answered: 198.51.100.10:27015 answers only 44 %`, `the capture may end before their clients return it`}, "Forged"},
		{"in the names of players", both(open(300), sent(300, 20, 10, func(i int, x *made) { x.from, x.proof = person(i%40), dissect.Proven }), sent(5700, 20, 190, func(i int, x *made) {
			x.from, x.proof, x.outcome = person(i%40), dissect.Vouched, dissect.OutcomeChallenged
		})), []string{`possible Greedy: 40 clients`, `They return `, `or somebody asks in their names`, `let those pass that carry one`}, "the addresses are real"},
		{"thirty old clients, once a second", both(evening(60), flood(1800, 30, dissect.Unreturned, func(i int, x *made) { x.from = somebody(i % 30) })), []string{`likely Forged flood at 198.51.100.10:27015: 1,8`, `nor do clients from before challenges`}, ""},
		{"proxies of one network", sent(2400, 0, 40, func(i int, x *made) {
			x.from, x.back, x.port = fmt.Sprint("141.101.64.", 1+i%8), 300, uint16(1024+i*7919%64000)
		}), []string{`possible Reflection at 141.101.64.0/24`, `or they ask too often themselves`}, "in its name"},
		{"forty milliseconds of a flood", flood(160, 4000, dissect.Unreturned, nil), []string{`likely Forged flood at 198.51.100.10:27015: 160 p`}, ""},
		{"forty who keep a list open that asks two things", sent(4800, 0, 80, func(i int, x *made) { x.from, x.hops, x.of = somebody(i/2%40), 63, i%2 }), []string{quiet}, ""},
		{"thirty neighbours look for a game", sent(300, 0, 30, func(i int, x *made) { x.from, x.to, x.back = fmt.Sprint("192.168.1.", 20+i%30), "192.168.1.5", 700 }), []string{quiet}, ""},
		{"two seconds of a botnet", sent(4000, 0, 2000, func(i int, x *made) { x.from, x.proof = somebody(i%60), dissect.Proven }), []string{`certain Greedy: 60 clients (`, `"verdicts":1,`}, ""},
		{"a flood, and a time years away at another server", both(open(300), flood(6000, 300, dissect.Unproven, oneHop), sent(1, 2e9, 1, func(i int, x *made) { x.from, x.to = person(i), "198.51.100.77" })), []string{`likely Forged flood at 198.51.100.10:27015: 6,1`, `"verdicts":1,`}, ""},
		{"nothing but junk", sent(400, 0, 100, func(i int, x *made) { x.from, x.of = somebody(i), 8 }), []string{`Of 400 datagrams that no protocol recognises, all are to 198.51.100.10:27015, from`, `"verdicts":1,`}, ""},
		{"half a second of a flood", sent(1500, 0, 3000, func(i int, x *made) { x.from, x.hops = fmt.Sprintf("%d.%d.7.9", i*7919%251, i%250), 64 }), []string{`likely Forged flood at 198.51.100.10:27015: 1,500 p`, `"verdicts":1,`}, ""},
		{"forty bots all the time", both(open(300), sent(9600, 0, 160, func(i int, x *made) { x.from, x.hops = somebody(i%40), uint8(40+i%40) })), []string{`They are programs that ask too often, or forged, and hardly people: each of these addresses asks about 240 times`}, "Forged"},
		{"people who ask twelve servers once", both(open(300), sent(3600, 20, 360, func(i int, x *made) {
			x.from, x.hops, x.to = person(5000+i/12), uint8(40+i/12%20), fmt.Sprint("198.51.100.", 10+i%12)
		})), []string{`Crowd or forged at `}, "evenly"},
		{"people of one network, equally far", both(open(300), sent(1000, 20, 100, func(i int, x *made) { x.from, x.hops = fmt.Sprint("100.70.9.", i*7919%1009%250), 54 })), []string{`possible Crowd or forged at 198.51.100.10:27015: 1,0`, `in the network 100.70.9.0/24 does not tell`}, "Reflection"},
		{"seven of them", both(open(300), sent(3500, 20, 140, func(i int, x *made) { x.from, x.port, x.hops, x.back = somebody(70_000+i%7), 80, 47, 300 })), []string{`Reflection at `, `"verdicts":7,`}, "Forged"},
		{"two floods, one after the other, that look different", both(open(600), flood(4000, 400, dissect.Unproven, oneHop), sent(4000, 60, 400, func(i int, x *made) { crowd(i, x); x.hops = uint8(1 + i*7%255) })), []string{`Nothing proves it, but 99 % of the packets have the hop limit 47 and`, `Nothing proves it, but their hop limits are made up.`}, "Crowd"},
		{"no replies to a flood of what nobody else asks", both(evening(60), flood(4000, 400, dissect.Unproven, func(i int, x *made) { gone(i, x); x.of, x.from = 1, somebody(i) })), []string{`Forged flood at 198.51.100.10:27015: 4,000 p rules`, `of those that ask at other times 100 % did`}, "Crowd"},
		{"no replies to a crowd that asks so", both(evening(60), flood(4000, 400, dissect.Unproven, func(i int, x *made) { gone(i, x); x.of, x.from = 1, person(5000+i) })), []string{`possible Crowd or forged at 198.51.100.10:27015: 4,000 p rules`}, "likely"},
	} {
		got, whole := all.play(c.name, c.play)
		for _, want := range c.wants {
			if !strings.Contains(got, want) && !strings.Contains(whole, want) || c.not != "" && strings.Contains(got, c.not) {
				_, totals, _ := strings.Cut(whole, `"totals"`)
				t.Errorf("%s: %s\n%.500s\nwant %s, not %s", c.name, got, totals, want, c.not)
			}
		}
	}
	browser := sent(600, 0, 200, func(i int, x *made) { x.from, x.to, x.of = "203.0.113.77", fmt.Sprint("198.51.100.", i%200), 3 })
	if got := fmt.Sprint(play(browser, "203.0.113.77").Report(Options{OneSided: true}).Verdicts); !strings.Contains(got, "or it asks many servers itself") || !strings.Contains(got, "Cannot tell") {
		t.Error("a browser of which one direction was captured:", got)
	}
	some := func(others, f func(i int, x *made)) func(n int) []made { // n of 40
		return func(n int) []made {
			return sent(40, 0, 1, func(i int, x *made) {
				x.from = person(i)
				if others(i, x); i*n/40 != (i+1)*n/40 {
					f(i, x)
				}
			})
		}
	}
	mixed := func(f func(x *made)) func(n int) []made { // a flood, in which so many of ten are other ones
		return func(n int) []made {
			return both(open(145), flood(400, 80, dissect.Unproven, func(i int, x *made) {
				if crowd(i, x); i*7%10 < n {
					x.from = somebody(i)
					f(x)
				}
			}))
		}
	}
	junk := func(n, addresses int, rate float64, to string, port uint16) []made {
		return both(sent(n, 20, rate, func(i int, x *made) { x.from, x.to, x.of, x.port = somebody(i%addresses), x.to+to, 8, port }), evening(60))
	}
	for _, c := range []struct {
		name     string
		from, to int
		play     func(n int) []made
	}{
		{"n without a reply, then replies", 3, 8, func(n int) []made {
			return both(evening(30), lost(n, 30.5, 1), sent(10, 31.5+float64(n), 1, func(i int, x *made) { x.from = person(i) }))
		}},
		{"n without a reply, at the end", 1, 10, func(n int) []made { return both(evening(20), lost(n, 20.5, 1)) }},
		{"n of 40 unanswered", 0, 40, some(plain, gone)},
		{"n of 40 refused", 0, 40, some(plain, func(_ int, x *made) { x.silent, x.outcome = true, dissect.OutcomeRefused })},
		{"n of 40 in part", 0, 40, some(plain, func(_ int, x *made) { x.of, x.outcome = 1, dissect.OutcomePartial })},
		{"n of 40 late", 0, 22, some(plain, func(_ int, x *made) { x.outcome, x.wait = dissect.OutcomeLate, 6*time.Second })},
		{"n of 40 with a challenge only", 0, 40, some(plain, challenged)},
		{"n of 40 lost, all others challenged", 15, 21, some(challenged, func(i int, x *made) { gone(i, x); x.proof = dissect.Unproven })},
		{"of 40 that are cut, n challenged", 0, 40, some(func(_ int, x *made) { x.cut = true }, challenged)},
		{"of 20 unanswered and 20 others, n cut", 0, 6, some(func(i int, x *made) { []func(int, *made){gone, plain}[i%2](i, x) }, func(_ int, x *made) { x.cut = true })},
		{"n of 40 that return a challenge lost, and ten others", 10, 25, func(n int) []made {
			return both(sent(80, 0, 2, func(i int, x *made) {
				if x.from, x.proof = person(i/2), dissect.Vouched+dissect.Proof(i%2)*(dissect.Proven-dissect.Vouched); i%2 > 0 && i/2*17%40 < n {
					gone(i, x)
				}
			}), lost(10, 0.2, 0.25))
		}},
		{"who asks n servers asks a dead one", 20, 21, func(n int) []made {
			return both(evening(60), sent(21*n, 5, 9, func(i int, x *made) {
				[]func(int, *made){gone, plain}[min(i%n, 1)](i, x)
				x.from, x.to = "203.0.113.9", fmt.Sprintf("198.51.100.%d", 60+i%n)
			}))
		}},
		{"a carpet, and one asks n servers meanwhile", 20, 21, func(n int) []made {
			return both(evening(60), sent(4200, 20, 210, func(i int, x *made) {
				gone(i, x)
				if x.from, x.to = somebody(i), fmt.Sprintf("198.18.%d.%d", i/250, 1+i%250); i%21 == 0 {
					x.from, x.to = "203.0.113.9", fmt.Sprintf("198.51.100.%d", 60+i/21%n)
				}
			}))
		}},
		{"a victim, in whose name n servers are asked", 1, 23, func(n int) []made { return both(evening(60), victim(400, 40, 300, n, plain)) }},
		{"n of one kind unanswered", 0, 6, func(n int) []made {
			return both(evening(30), sent(n, 0, 1, func(i int, x *made) { gone(i, x); x.from, x.of = person(i), 1 }))
		}},
		{"n of one client unanswered", 9, 10, func(n int) []made {
			return both(open(100), sent(n, 2, 2, func(i int, x *made) { gone(i, x); x.from = "203.0.113.9" }))
		}},
		{"a client gets n of 40 replies", 0, 3, func(n int) []made {
			return both(open(100), sent(40, 2, 2, func(i int, x *made) { []func(int, *made){gone, plain}[min(n/(i+1), 1)](i, x); x.from = "203.0.113.9" }))
		}},
		{"one never returns a challenge, and others once n of theirs", 0, 3, func(n int) []made {
			return both(evening(60), sent(18+n, 1, 1, func(i int, x *made) { challenged(i, x); x.from = []string{"203.0.113.9", person(i)}[min(i/18, 1)] }))
		}},
		{"n to no server", 1, 4, func(n int) []made {
			return both(evening(30), sent(n, 0, 1, func(i int, x *made) { gone(i, x); x.from, x.to = person(i), "198.51.100.99" }))
		}},
		{"n slow", 0, 6, func(n int) []made {
			return both(evening(20), sent(n, 2, 1, func(i int, x *made) { x.from, x.wait = person(i), 1100*time.Millisecond }))
		}},
		{"half takes n0 ms", 99, 102, func(n int) []made {
			return both(evening(5), sent(10, 2, 1, func(i int, x *made) { x.from, x.wait = person(i), time.Duration(n)*10*time.Millisecond }))
		}},
		{"flood of n at 40 a second", 99, 100, func(n int) []made { return both(evening(60), flood(n, 40, dissect.Unreturned, nil)) }},
		{"flood of n a second", 19, 20, func(n int) []made { return both(evening(60), flood(200, float64(n), dissect.Unreturned, nil)) }},
		{"a flood from n addresses", 1, 20, func(n int) []made {
			return both(open(300), flood(400, 80, dissect.Unproven, func(i int, x *made) { x.from, x.hops = somebody(i%n), 47 }))
		}},
		{"a trickle of n requests", 999, 1000, func(n int) []made { return both(evening(300), trickle(n, 100)) }},
		{"ten a second, then n", 19, 20, func(n int) []made {
			return both(sent(600, 0, 10, func(i int, x *made) { x.from = person(i) }), sent(30*n, 60, float64(n), lossy))
		}},
		{"a trickle of n addresses", 99, 100, func(n int) []made { return both(evening(300), trickle(1000, n)) }},
		{"n people come", 199, 200, func(n int) []made { return both(open(300), flood(n, 60, dissect.Unproven, crowd)) }},
		{"n of one hop limit", 199, 200, func(n int) []made { return both(open(300), flood(n, 60, dissect.Unproven, oneHop)) }},
		{"n seconds of growth", 60, 61, func(n int) []made {
			return both(evening(180), sent(60*n, 60, 60.77, func(i int, x *made) { x.from, x.proof = person(1000+i/2), dissect.Proven }))
		}},
		{"a victim of n requests", 97, 102, func(n int) []made { return both(evening(60), victim(n, 10, 300, 4, plain)) }},
		{"a victim of n a second", 9, 10, func(n int) []made { return both(evening(60), victim(120, float64(n), 300, 4, plain)) }},
		{"a victim of 120 requests, to n of which it gets a challenge", 12, 14, func(n int) []made {
			return both(evening(60), victim(120, 12, 300, 4, func(i int, x *made) { []func(int, *made){plain, challenged}[min(n/(i+1), 1)](i, x) }))
		}},
		{"a victim of n bytes", 130, 131, func(n int) []made { return both(evening(60), victim(100, 10, n, 4, plain)) }},
		{"in one's name from n ports", 1, 2, func(n int) []made {
			return both(evening(60), victim(300, 15, 300, 2, func(i int, x *made) { x.port = uint16(40000 + min(i, n-1)) }))
		}},
		{"a victim's port n", 1023, 1024, func(n int) []made {
			return both(evening(60), victim(300, 15, 300, 2, func(i int, x *made) { x.port = uint16(n) }))
		}},
		{"a network of n victims", 7, 8, network(1024)},
		{"a network of n victims, from a low port", 4, 5, network(80)},
		{"greedy n times", 99, 100, func(n int) []made { return both(evening(60), greedy("203.0.113.9", n, 10, 11)) }},
		{"greedy n a second", 9, 11, func(n int) []made { return both(evening(60), greedy("203.0.113.9", 110, 10, float64(n))) }},
		{"scanner of n servers", 19, 20, func(n int) []made {
			return both(sent(n, 10, 2, func(i int, x *made) {
				x.from, x.to, x.silent, x.outcome = "203.0.113.9", fmt.Sprintf("198.51.100.%d", 100+i), i%2 == 0, dissect.Outcome(i+1)%2*dissect.OutcomeUnanswered
			}), evening(30))
		}},
		{"carpet of n addresses", 14, 16, func(n int) []made {
			return both(evening(60), sent(50*n, 20, 40, func(i int, x *made) { gone(i, x); x.from, x.to = somebody(i), fmt.Sprintf("198.51.100.%d", 100+i%n) }))
		}},
		{"a carpet, one address of which only n ask", 1, 2, func(n int) []made {
			return both(evening(60), sent(800, 20, 40, func(i int, x *made) {
				gone(i, x)
				x.from, x.to = somebody(max(i*min(i%16, 1), i/16%n)), fmt.Sprintf("198.51.100.%d", 100+i%16)
			}))
		}},
		{"a carpet from n addresses and those of an evening", 338, 339, func(n int) []made {
			return both(evening(60), sent(4000, 20, 200, func(i int, x *made) {
				gone(i, x)
				x.from, x.to = somebody(i%n), fmt.Sprintf("198.18.%d.%d", i/250, 1+i%250)
			}))
		}},
		{"five get a challenge only, n of which are cut", 0, 2, func(n int) []made {
			return sent(5, 0, 1, func(i int, x *made) { challenged(i, x); x.from, x.cut = person(i), i < n })
		}},
		{"few of chance", 1, 400, func(seed int) []made {
			random := rand.New(rand.NewPCG(uint64(seed), 1))
			fates := fatesOf(random)
			usual, other, third := fates[random.IntN(4)], fates[random.IntN(len(fates))], fates[random.IntN(len(fates))]
			n, clients, kinds, seconds := 2+random.IntN(80), 1+random.IntN(15), 1+random.IntN(3), float64(1+random.IntN(100))
			share, from := random.IntN(100), random.IntN(n)
			return sent(n, 0, float64(n)/seconds, func(i int, x *made) {
				if x.from, x.of = person(random.IntN(clients)), random.IntN(kinds); seed%3 == 0 && i >= from && i < from+share/4 || seed%3 > 0 && random.IntN(100) < share {
					other(x)
				} else if seed > 200 && random.IntN(2) == 0 {
					third(x)
				} else {
					usual(x)
				}
			})
		}},
		{"at a victim, from n servers", 2, 3, func(n int) []made {
			return sent(150, 10, 20, func(i int, x *made) { x.from, x.to, x.of = "203.0.113.77", fmt.Sprintf("198.51.100.%d", 10+i%n), 3 })
		}},
		{"n who look for many ask a dead server", 1, 4, func(n int) []made {
			return both(evening(60), sent(60*n, 10, 6, func(i int, x *made) {
				x.from, x.silent, x.outcome = fmt.Sprintf("203.0.113.%d", 9+i%n), i/n%2 == 0, dissect.Outcome(1-i/n%2)*dissect.OutcomeUnanswered
				if x.to = fmt.Sprintf("198.51.100.%d", 60+i/n); i/n%3 == 0 {
					x.to = "198.51.100.60"
				}
			}))
		}},
		{"a scanner and another ask a dead server n times", 499, 500, func(n int) []made {
			return both(evening(60), sent(400, 10, 10, func(i int, x *made) { gone(i, x); x.from, x.to = "203.0.113.9", fmt.Sprintf("198.51.100.%d", 50+i%40) }), sent(n-10, 5, 12, func(i int, x *made) { gone(i, x); x.from, x.to = "24.10.0.1", "198.51.100.50" }))
		}},
		{"n of 30 lists in part, and 15 of 30 rules", 15, 16, func(n int) []made {
			return both(evening(40), sent(60, 0, 2, func(i int, x *made) {
				if x.from, x.of = person(i), 1+i%2; i%2 > 0 && i/2 < n || i%4 == 0 {
					x.outcome = dissect.OutcomePartial
				}
			}))
		}},
		{"n of 40 lost in a trickle", 4, 5, func(n int) []made { return both(trickle(1000, 110), some(plain, gone)(n)) }},
		{"n of 20 lost under load", 0, 7, func(n int) []made {
			return both(sent(200, 0, 5, func(i int, x *made) { x.from, x.proof = person(i), dissect.Proven }), sent(600, 40, 60, func(i int, x *made) {
				if x.from, x.proof = person(i), dissect.Proven; i%20 < n {
					x.silent, x.outcome = true, dissect.OutcomeUnanswered
				}
			}))
		}},
		{"n to another server, of which two are answered", 3, 8, func(n int) []made {
			return both(evening(20), sent(n, 0.5, 1, func(i int, x *made) {
				if x.from, x.to = person(i), "198.51.100.11"; i >= 2 {
					gone(i, x)
				}
			}))
		}},
		{"n of 20 rules, and a limit of 12 a second", 0, 2, func(n int) []made {
			return both(sent(800, 0, 20, func(i int, x *made) {
				if x.from = person(i); i%20 >= 12 {
					gone(i, x)
				}
			}), sent(20, 5, 1, func(i int, x *made) {
				if x.from, x.of = person(i), 1; i >= n {
					gone(i, x)
				}
			}))
		}},
		{"a flood of the nth kind that a server is asked", 5, 6, func(n int) []made {
			return both(sent(60*n, 0, float64(n), func(i int, x *made) { x.from, x.of = person(i/n), i%n }),
				flood(400, 80, dissect.Unproven, func(i int, x *made) { x.hops, x.of = 47, n-1 }))
		}},
		{"people of whom the capture lacks n of 60 seconds", 19, 21, func(n int) []made {
			return slices.DeleteFunc(sent(2400, 0, 40, func(i int, x *made) { x.from, x.proof = person(i%60), dissect.Proven }), func(x made) bool {
				return x.at >= 15 && x.at < float64(15+n)
			})
		}},
		{"people whose server is down for the first n seconds", 39, 41, func(n int) []made {
			return sent(2400, 0, 40, func(i int, x *made) {
				if x.from, x.proof = person(i%60), dissect.Proven; i < 40*n {
					gone(i, x)
					x.proof = dissect.Unproven
				}
			})
		}},
		{"n of 900 replies come back to who asks too often", 89, 90, func(n int) []made {
			return both(evening(60), sent(900, 10, 40, func(i int, x *made) {
				if x.from, x.port, x.back = "203.0.113.77", uint16(2000+i), 20; i < n {
					x.says = core.PortUnreachable
				}
			}))
		}},
		{"n replies to requests that the capture lacks, and 80 to others", 53, 54, func(n int) []made {
			return both(evening(40), sent(n, 5, 1, func(i int, x *made) { x.from, x.of = person(i), 3 }))
		}},
		{"each of 40 addresses asks n times a second", 1, 2, func(n int) []made {
			return both(open(145), sent(800*n, 20, float64(40*n), func(i int, x *made) { crowd(i, x); x.from = person(200 + i%40) }))
		}},
		{"n scanners", 7, 10, func(n int) []made {
			return both(evening(30), sent(30*n, 10, 2*float64(n), func(i int, x *made) {
				gone(i, x)
				x.from, x.to = fmt.Sprintf("203.0.113.%d", 9+i%n), fmt.Sprintf("198.51.%d.%d", 10+i%n, 100+i/n)
			}))
		}},
		{"n of 10 of one hop limit", 7, 8, mixed(func(x *made) { x.hops = 47 })},
		{"n of 10 of one port", 7, 8, mixed(func(x *made) { x.port = 4444 })},
		{"n of 10 that count", 9, 10, mixed(func(x *made) { x.id = uint16(x.at * 80) })},
		{"n of 10 of one network", 9, 10, mixed(func(x *made) { x.from = "31.7.7." + x.from[strings.LastIndexByte(x.from, '.')+1:] })},
		{"n of 10 that do not exist", 0, 1, mixed(func(x *made) { x.from = "10" + x.from[strings.IndexByte(x.from, '.'):] })},
		{"n of 10 that are equal", 9, 10, mixed(func(x *made) { x.payload = "\xff\xff\xff\xffTSource Engine Query\x00equal" })},
		{"n of 10 proven", 0, 6, mixed(func(x *made) { x.proof = dissect.Proven })},
		{"n of 10 challenged", 0, 10, mixed(func(x *made) { x.proof, x.outcome = dissect.Unreturned, dissect.OutcomeChallenged })},
		{"n of 10 from forty", 9, 10, mixed(func(x *made) { x.from = person(int(x.at*80) % 40) })},
		{"a server's own address asks from port 270nn, and at last from two", 14, 16, func(n int) []made {
			return both(evening(60), sent(600, 10, 30, func(i int, x *made) { x.from, x.port = x.to, uint16(27000+min(n, 15)-i%max(n-14, 1)) }))
		}},
		{"n calm requests, and a flood of one hop limit and port", 49, 50, func(n int) []made {
			return both(open(n), flood(400, 80, dissect.Unproven, func(i int, x *made) { x.hops, x.port = 47, 4444 }))
		}},
		{"n replies of a server that nobody asked", 19, 20, func(n int) []made {
			return both(evening(30), sent(n, 0, 1, func(i int, x *made) { x.from, x.to, x.of = person(i), "198.51.100.9", 3 }))
		}},
		{"n of 35 without a reply have a challenge", 3, 4, func(n int) []made {
			return sent(35, 0, 1, func(i int, x *made) {
				if gone(i, x); i%5 == 0 && i/5 < n {
					x.uses, x.payload = dissect.ChallengeUsed, "\xff\xff\xff\xffTSource Engine Query\x00\x01\x02\x03\x04"
				}
				x.from = person(i)
			})
		}},
		{"junk of n addresses", 19, 20, func(n int) []made { return junk(600, n, 60, "", 0) }},
		{"junk of n a second", 19, 20, func(n int) []made { return junk(10*n, 100, float64(n), "", 0) }},
		{"junk of n a second, of two", 198, 201, func(n int) []made { return junk(10*n, 2, float64(n), "", 0) }},
		{"n datagrams of junk of each", 99, 100, func(n int) []made { return junk(n*30, 30, 150, "", 0) }},
		{"n datagrams of junk, each of another address", 1198, 1202, func(n int) []made { return junk(n, n, 240, "", 0) }},
		{"junk, each address n times", 1, 4, func(n int) []made { return junk(1800, 1800/n, 300, "", 0) }},
		{"a restart of n requests", 8, 12, func(n int) []made { return both(crowded(0, 12), crowded(15, 30), lost(n, 12.1, float64(n)/2.7)) }},
		{"n replies come back", 0, 24, func(n int) []made { return errors(n, 24-n) }},
		{"three servers that one asks often, and n others", 2, 6, func(n int) []made {
			return both(sent(1200, 10, 40, func(i int, x *made) { x.from, x.to = person(0), fmt.Sprint("8.8.8.", either(i%4 > 0, i%4, 9+i/4%n)) }), evening(60))
		}},
		{"junk to another port, each address n times, from five on of port 53", 1, 6, func(n int) []made { return junk(1800, 1800/n, 300, ":9999", uint16(n/5*53)) }},
	} {
		all.sweep(c.name, c.from, c.to, c.play)
	}
	all.Golden(t, "testdata/plays.txt")
	all.Reset()
	all.Every = 90
	for _, seed := range scenesOfChance {
		all.play(fmt.Sprint("scene of chance ", seed), sceneOfChance(rand.New(rand.NewPCG(seed, 3)), open))
	}
	a, b, v6 := netip.MustParseAddrPort("198.51.100.10:27015"), netip.MustParseAddrPort("172.17.0.2:27016"), netip.MustParseAddrPort("[2001:db8::10]:27015")
	for _, s := range []string{"198.51.100.10:1", "172.17.0.2:1", "172.31.0.2:1", "192.168.1.2:1", "[fd00::2]:1", "8.8.8.8:1"} {
		list := []Remedy{{Servers: []netip.AddrPort{netip.MustParseAddrPort(s)}}}
		fmt.Fprintln(&all, s, PlaceOf(list, nil), PlaceOf(list, []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("fd00::/64")}))
	}
	counts := play(evening(30), a.Addr().String())
	for n := range uint64(96) { // connections over TCP
		s := Stream{Server: []netip.AddrPort{a, b}[n%2], Packets: n, Read: n/2%2 == 0, Tried: n / 8, Made: n / 4 % 2, Refused: less(n/8, n%3)}
		fmt.Fprintln(&all, s.sentence(), s.fill(), counts.Report(Options{Home: []netip.Prefix{netip.PrefixFrom(a.Addr(), 24)}, Streams: []Stream{s}}).Verdicts[0].Text)
	}
	info, grant := "ffffffff54536f7572636520456e67696e65205175657279", &Grant{Prefix: "ffffffff41", Length: 9, At: 5}
	all.lines(rules([]Remedy{
		{Title: "in total, of any length", Total: true, PerSecond: 100, Burst: 200, Servers: []netip.AddrPort{a, v6}},
		{Title: "of each address, with no challenge or -1", PerSecond: 2, Burst: 5, Servers: []netip.AddrPort{b}, Prefix: info, Length: 29, Token: 25},
		{Title: "with a challenge that nobody was given", Total: true, PerSecond: 50, Burst: 50, Servers: []netip.AddrPort{v6, b, a}, Prefix: info[:8], Length: 29, Token: 25, Grant: grant},
	}))
	all.Golden(t, "testdata/chance.txt")
}

// fatesOf returns what becomes of requests.
func fatesOf(random *rand.Rand) []func(x *made) {
	none := func(is dissect.Outcome) func(x *made) { return func(x *made) { x.silent, x.outcome = true, is } }
	but := func(is dissect.Outcome, f func(x *made)) func(x *made) { return func(x *made) { x.outcome = is; f(x) } }
	return []func(x *made){
		func(*made) {}, func(x *made) { x.proof = []dissect.Proof{dissect.Vouched, dissect.Proven}[random.IntN(2)] }, func(x *made) { x.proof = dissect.Proven },
		none(dissect.OutcomeUnanswered), none(dissect.OutcomeRefused), none(dissect.OutcomeRepeated), none(dissect.OutcomeOpen), none(dissect.OutcomeElsewhere),
		but(dissect.OutcomePartial, func(x *made) { x.of = 1 }), but(dissect.OutcomeLate, func(x *made) { x.wait = 6 * time.Second }),
		but(dissect.OutcomeChallenged, func(x *made) { x.proof = dissect.Unreturned }), but(dissect.OutcomeChallenged, func(x *made) { x.proof = dissect.Proven }),
		func(x *made) { x.wait = 1200 * time.Millisecond },
		func(x *made) { x.says = core.PortUnreachable }, func(x *made) { x.says = core.FragmentationNeeded }, func(x *made) { x.of, x.says = 4, &refusedLogin },
		func(x *made) { x.of = 3 }, func(x *made) { x.to = "198.51.100.11" }, func(x *made) { x.from = "192.168.1.7" },
		func(x *made) { x.cut = true }, none(dissect.OutcomePartial), func(x *made) { x.cut, x.silent, x.outcome = true, true, dissect.OutcomeUnanswered },
		func(x *made) { x.of = 6 }, func(x *made) { x.of, x.silent, x.outcome = 6, true, dissect.OutcomeUnanswered },
		func(x *made) { x.uses, x.silent, x.outcome = dissect.ChallengeUsed, true, dissect.OutcomeUnanswered },
	}
}

// scenesOfChance are seeds, each of which comes to a decision that no other play comes to.
var scenesOfChance = []uint64{
	23702, 22965, 21252, 20929, 23952, 24841, 23316, 24722, 23886, 20050, 25041, 24684, 20702, 21925, 22098, 23462, 24730, 23806, 25807, 24705, 23070, 23705,
	22619, 23226, 23455, 21656, 22511, 23566, 23845, 23986, 24731, 20024, 21189, 23809, 23782, 24673, 22921, 20477, 23387, 22416, 25279, 24795, 24047, 21481,
	23970, 20209, 20236, 20391, 20459, 20784, 20812, 20863, 20906, 20974, 21604, 21745, 21979, 22133, 22143, 22186, 22198, 22265, 22406, 22545, 22714, 22743,
	22850, 23044, 23184, 23209, 23232, 23503, 23655, 23656, 24020, 24055, 24337, 24618, 24625, 24768, 24910, 25130, 25172, 25236, 25257, 25346, 25515, 25764,
	20591, 22074, 23311, 23586, 23620, 24799, 23074, 20059, 21412, 22750, 25277, 21169, 22551, 20609, 22049, 21475, 22774, 23279, 25723, 25362, 21722, 23437,
	20473, 20948, 24808, 23027, 25834, 24381, 24925, 20833, 25180, 22356,
}

// sceneOfChance returns an evening in which one to three things happen, in round numbers: those are where decisions begin.
func sceneOfChance(random *rand.Rand, open func(int) []made) []made {
	pick := func(list ...int) int { return list[random.IntN(len(list))] }
	list, slow := [][]made{nil, evening(pick(20, 40, 60, 90)), open(pick(50, 100, 200, 400))}[random.IntN(3)], float64(pick(1, 1, 1, 1, 10, 60))
	for range pick(1, 1, 2, 3) {
		n, rate, from := pick(3, 5, 10, 20, 30, 50, 100, 200, 400, 700, 1500), float64(pick(1, 2, 5, 10, 20, 40, 100, 200)), float64(pick(0, 5, 10, 20, 30, 50))
		addresses, servers, near, who := pick(1, 1, 2, 3, 5, 8, 10, 12, 20, 40, 100, n), pick(1, 1, 1, 1, 2, 3, 4, 8, 16, 20, 24, 40), pick(9, 10, 10, 10, 20, 200), random.IntN(9)
		port, hops, of, back, proof, mixed := pick(0, 0, 1, 80, 4444, 27015), pick(0, 0, 1, 2), pick(0, 0, 0, 1, 2, 4, 5, 6, 7, 8, 8, 9), pick(0, 20, 300, 1200), dissect.Proof(random.IntN(4)), pick(1, 1, 1, 2, 3)
		usual, other, part, first, v6 := fatesOf(random)[pick(0, 0, 0, 3, random.IntN(25))], fatesOf(random)[random.IntN(25)], pick(0, 0, 2, 3, 5, 10), n*pick(0, 1, 2, 9, 10)/10, random.IntN(12) == 0
		list = append(list, sent(n, from, rate, func(i int, x *made) {
			k := i % addresses
			x.from = []string{person(9000 + k), person(k), person(k), fmt.Sprintf("203.0.%d.%d", 113+k/250, k%250), somebody(50_000 + k), fmt.Sprintf("192.168.%d.%d", 1+k/250, 1+k%250), fmt.Sprintf("198.51.%d.%d", 100, 10+k%servers), somebody(60_000 + i), "10.0.0.1"}[who]
			x.to, x.port, x.hops, x.back = fmt.Sprint("198.51.100.", near+i/addresses%servers), uint16(either(port == 1, 1024+i*31%60000, port)), uint8(hops*23+i*hops/2%20), back
			x.of, x.id, x.payload = either(mixed > 1 && of < 2, i/addresses%mixed, of), uint16(i*either(hops == 1, 1, 7919)), either(hops == 1, "\xff\xff\xff\xffTSource Engine Query\x00\x01\x02", "")
			x.outcome, x.proof = either(proof == dissect.Unreturned, dissect.OutcomeChallenged, x.outcome), either(proof == dissect.Vouched && i%2 > 0, dissect.Proven, proof)
			if v6 {
				x.from, x.to = fmt.Sprintf("2a02:8109::%x:0:0:%x", k%mixed, k), fmt.Sprintf("2001:db8::%x", near+i/addresses%servers)
			}
			if usual(x); part > 0 && i%part == 0 || part == 0 && i >= first {
				other(x)
			}
			x.at *= slow
		})...)
	}
	return list
}

// TestFacts: what why says of requests whose counts are changed by chance, at the limits of what causes need.
func TestFacts(t *testing.T) {
	all, random, more := new(Said), rand.New(rand.NewPCG(7, 7)), rand.New(rand.NewPCG(8, 8)) // more happens later
	server, elsewhere := netip.MustParseAddrPort("198.51.100.10:27015"), netip.MustParseAddrPort("198.51.100.12:27016")
	for turn := range 1100 {
		asked, clients, replied := []int{1, 4, 5, 10, 20, 40, 100}[random.IntN(7)], 1+random.IntN(12), random.IntN(5)-1
		list := sent(asked, 0, 1, func(i int, x *made) {
			if x.from = person(i % clients); i%4 > replied {
				x.silent, x.outcome = true, []dissect.Outcome{dissect.OutcomeUnanswered, dissect.OutcomeOneSided}[random.IntN(8)/7]
			}
			if turn > 400 && i > turn%8*asked/9 {
				fatesOf(more)[turn%25](x)
			}
		})
		if turn > 400 {
			to := []string{"198.51.100.10:27016", "172.17.0.2", "127.0.0.1", "198.51.100.12:27016", "198.51.100.10"}[turn%5]
			list = both(sent(more.IntN(9), 2, 1, func(i int, x *made) { x.from, x.to, x.of = person(i), to, []int{0, 6, 7, 8}[more.IntN(4)] }), list)
		}
		x, o, at := play(list, server.Addr().String()), Options{}, server
		of := x.focus.of[server]
		of.known = [][2]string{{"Old town", "dust2"}, {"Arena", "q3dm17"}}
		fmt.Fprint(all, asked, " of ", clients, ", ", replied, ":")
		number := func(what any) mark {
			n := uint64([]int{1, 2, 4, 5, 6, asked / 10, asked / 5, asked / 2, asked, 0}[random.IntN(10)])
			fmt.Fprintf(all, " %v %d", what, n)
			return mark{n: n, frames: [3]uint64{n}}
		}
		for range 1 + random.IntN(4) {
			k := 1 + random.IntN(numMarks-1)
			of.marks[k] = number(fmt.Sprint("mark ", k))
		}
		if random.IntN(3) == 0 {
			k := random.IntN(len(of.fates))
			of.fates[k] = number(dissect.Outcome(k))
		}
		if random.IntN(8) == 0 {
			of.elsewhere = append(of.elsewhere, other{[]netip.AddrPort{elsewhere, netip.AddrPortFrom(server.Addr(), 4)}[random.IntN(2)], number("elsewhere")})
		}
		if n := random.IntN(24); n < 8 {
			of.noted = append(of.noted, noted{id: "p.odd", text: "odd", bySelf: uint64(n), limit: n == 1, loop: n == 2, bad: n > 3, failed: n > 4, mark: number(fmt.Sprint("noted ", n))})
			if n > 3 {
				of.marks[mWrong] = of.noted[0].mark
			}
		}
		if n := random.IntN(24); n < 8 {
			is := []*dissect.FindingType{core.PortUnreachable, core.FragmentationNeeded, core.Unreachable, core.Prohibited}[n%4]
			of.errors = append(of.errors, icmpSaid{is, []string{server.Addr().String(), "203.0.113.1"}[n/4], random.IntN(2) == 0, number(is.ID)})
		}
		if turn > 400 {
			n := func() uint64 { return uint64([]int{0, 1, 2, 3, 4, 5, 6, 10, 50}[more.IntN(9)]) }
			ends := []netip.AddrPort{server, elsewhere, netip.AddrPortFrom(server.Addr(), 25575), netip.AddrPortFrom(server.Addr(), 0), netip.MustParseAddrPort("203.0.113.1:27015")}
			if at = ends[max(0, more.IntN(14)-9)]; more.IntN(3) == 0 {
				o.Streams = []Stream{{Server: ends[more.IntN(3)], Packets: 60, Tried: 10 * n(), Made: n(), Refused: n(), Read: more.IntN(2) == 0}}
			}
			if o.Made.Files = make([]File, more.IntN(3)); more.IntN(4) == 0 {
				o.Home, o.HomeBy = []netip.Prefix{netip.PrefixFrom(ends[more.IntN(5)].Addr(), 32)}, []string{"", "interface"}[more.IntN(2)]
			}
			if turn%4 == 0 {
				m := x.focus.add(server.Addr(), elsewhere)
				m.beats, m.sent, m.lists, m.probes, m.since, m.due = mark{n: n()}, mark{n: n()}, mark{n: n()}, n(), n(), more.IntN(3) > 0
				m.answered, m.listed, m.asked = min(n(), m.probes), more.IntN(2) == 0, []string{"", "dust"}[more.IntN(2)]
				if m.says = []string{"", "banned", "old Version", "outdated", "Out of date"}[max(0, more.IntN(9)-4)]; more.IntN(2) == 0 {
					m.port(server.Port())
				}
			}
		}
		o.OneSided = random.IntN(9) == 0
		w := x.Why(at, o)[0]
		fmt.Fprintf(all, ": %s %s %s %v %08x\n", w.State, w.Certainty, w.Cause, w.Problems, crc32.ChecksumIEEE(fmt.Append(nil, w.Text, w.Evidence, w.Advice)))
	}
	all.Golden(t, "testdata/facts.txt")
}

// TestSpread: addresses that no host in the internet has say nothing about how evenly others are spread.
func TestSpread(t *testing.T) {
	var l looks
	for i := range l.nets {
		l.nets[i] = uint32(10 + i%3)
	}
	l.n = 2800
	with := l.spread()
	for _, i := range []int{0, 10, 127, 224, 255} {
		if l.nets[i] = 0; l.spread() != with {
			t.Errorf("without those of %d.0.0.0/8: %v, want %v", i, l.spread(), with)
		}
	}
	if l.nets[223] = 0; l.spread() == with {
		t.Error("those of 223.0.0.0/8 say nothing")
	}
}

// TestLeastReal: silences are no accident if the server answers nearly all between them, however many there are; a limit answers one now and then.
func TestLeastReal(t *testing.T) {
	for _, c := range []struct {
		requests, replies uint64
		silences          []float64
		want              float64
	}{
		{480, 240, slices.Repeat([]float64{20}, 12), 20},
		{480, 240, slices.Repeat([]float64{10}, 4), math.Inf(1)}, // half is lost all the time
		{1000, 630, []float64{7, 100}, 100},                      // a third is lost, and all of a while
		{40, 6, slices.Repeat([]float64{6}, 5), math.Inf(1)},
	} {
		v := &server{tally: tally{requests: c.requests, replies: c.replies}}
		var list []silence
		for _, n := range c.silences {
			list = append(list, silence{requests: n})
		}
		if got := v.leastReal(list, nil); got != c.want {
			t.Errorf("%v of %d requests: %v, want %v", c.silences, c.requests, got, c.want)
		}
	}
}

// TestSilences: in buckets of half an hour, what may have been lost between replies is no silence.
func TestSilences(t *testing.T) {
	random := func(_, i int) bool { return mix(uint64(i))%100 < 3 }
	between := func(from, to int) func(at, i int) bool {
		return func(at, _ int) bool { return at >= from && at < to }
	}
	for name, c := range map[string]struct {
		lost  func(at, i int) bool
		often int // of 30 minutes, so many
		want  string
	}{
		"3 % are lost at random":            {random, 30, "[]"},
		"and nobody asks for 20 minutes":    {random, 10, "[]"},
		"20 minutes in a bucket":            {between(36_300, 37_500), 30, "[]"},
		"28 minutes in a bucket":            {between(36_060, 37_740), 30, "[]"},
		"an hour":                           {between(36_600, 40_200), 30, "[36590-40200: 1077]"},
		"an hour, and 3 % all the time":     {func(at, i int) bool { return random(at, i) || at >= 36_600 && at < 40_200 }, 30, "[36590-40200: 1083]"},
		"20 minutes at the end":             {between(85_200, 86_400), 30, "[85190-86390: 360]"},
		"the first 10 minutes of a capture": {between(0, 600), 30, "[0-600: 177]"},
	} {
		v, n := new(server), 0
		for at := 0; at < 86_400; at += 10 {
			for range 3 {
				if at%1800 >= 60*c.often {
					continue
				}
				when := int64(at) * 1e9
				v.at(when)
				v.requests++
				p := v.times().at(when)
				p.asked++
				if n++; c.lost(at, n) {
					p.lost++
				} else {
					p.reply(when)
					v.replies++
				}
			}
		}
		got, list := []string{}, silences(v.times(), v.first, v.last)
		for _, s := range list {
			if s.to-s.from >= shortest && s.requests >= v.leastReal(list, nil) {
				got = append(got, fmt.Sprintf("%d-%d: %.0f", s.from/1e9, s.to/1e9, s.requests))
			}
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
	for idle, want := range map[int]string{5: "100.0-170.0", 9: "104.5-174.0", 40: "130.0-211.0"} { // before and after
		l := new(pulses)
		l.of(mostTicks, nil)
		for at := range 101 {
			l.at(int64(at) * 1e9).reply(int64(at) * 1e9)
		}
		for at := range 61 {
			l.at(int64(100+idle+at)*1e9).asked++
		}
		back := int64(160+2*idle) * 1e9
		l.at(back).reply(back)
		if s := silences(l, 0, back)[0]; fmt.Sprintf("%.1f-%.1f", float64(s.from)/1e9, float64(s.to)/1e9) != want {
			t.Errorf("nobody asks for %d s: %+v, want %s", idle, s, want)
		}
	}
}

// TestOfManyServers: no server is named instead of another one, although their hashes share bits.
func TestOfManyServers(t *testing.T) {
	server := func(i int) string { return fmt.Sprintf("198.51.%d.%d", 100+i/100, 1+i%100) }
	var all []made
	for i := range 200 {
		all = append(all, sent(60+2*i, 0, 1+float64(i)/30, func(k int, x *made) { x.from, x.to = person(i*700+k), server(i) })...)
		if i%4 == 0 {
			all = append(all, sent(40, 5, 1, func(_ int, x *made) {
				x.from, x.to, x.silent, x.outcome = fmt.Sprintf("203.0.112.%d", i), server(i), true, dissect.OutcomeRepeated
			})...)
		}
		if i%20 == 1 {
			all = append(all, sent(1200, 0, 21, func(_ int, x *made) { x.from, x.to = fmt.Sprintf("203.0.113.%d", i), server(i) })...)
		}
	}
	list := play(all, server(199)).Report(Options{}).Verdicts
	right := 0
	for _, v := range list {
		for i := range 200 {
			client := fmt.Sprintf("203.0.%d.%d ", 112+i%2, i)
			if !strings.Contains(v.Text, " "+client) || i%4 > 1 {
				continue
			}
			if right++; !strings.Contains(v.Text, server(i)+":27015") {
				t.Errorf("%s asked %s: %s", client, server(i), v.Text)
			}
		}
	}
	if right < 20 {
		t.Errorf("only %d are named\n%+v", right, list)
	}
}
