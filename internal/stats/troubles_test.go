package stats_test

import (
	"fmt"
	"net/netip"
	"regexp"
	"testing"

	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/stats"
)

// unreturned adds clients that ask twice, with so many sendings each, get a challenge each time, and return none.
func (f *film) unreturned(clients, sendings int) {
	f.asking(clients, sendings, askInfo, func(c int) string { return challenge(uint32(1000 + c)) })
}

// asking adds such clients that ask for something.
func (f *film) asking(clients, sendings int, ask string, reply func(client int) string) {
	for i := range 2 * clients * sendings {
		c, turn := nettext.Either(sendings == 1, i, i%clients), i/clients
		at, from := float64(c%24)*3+float64(turn/max(sendings, 1))*45+float64(turn%sendings)*1.5, netip.AddrPortFrom(askers(c).Addr(), uint16(40000+i))
		f.udp(at, from, filmServer, ask)
		f.udp(at+.0005, filmServer, from, reply(c))
	}
	f.goesOn(150)
}

// moves adds people of whom half ask a server at another address as well, which has a name, from the time on when the first one stops.
func (f *film) moves(name string, stops, begins float64) {
	for i := range 240 {
		at, from := float64(i)/2, askers(i%50)
		if f.udp(at, from, filmServer, askInfo); at < stops {
			f.udp(at+.001, filmServer, from, infoReply("Old town"))
		}
		if i%2 == 0 && at >= begins {
			f.udp(at+.2, from, filmOther, askInfo)
			f.udp(at+.201, filmOther, from, infoReply(name))
		}
	}
	f.goesOn(150)
}

// dies adds people who are answered until some time, and requests for rules; replies says which of these are.
func (f *film) dies(until float64, replies func(i int) bool) {
	f.people(func(_ int, at float64) bool { return at < until })
	for i := range 120 {
		at, from := float64(i)+.1, askers(i%12)
		if f.udp(at, from, filmServer, "\xff\xff\xff\xffV"+le(7)); replies(i) {
			f.udp(at+.001, filmServer, from, rulesReply(10))
		}
	}
}

// consoles adds people who log in to a remote console, and keep the session alive if that is answered; replies says when it is.
func (f *film) consoles(replies func(i int, at float64) bool) {
	for i := range 240 {
		at, from := float64(i)/2, netip.AddrPortFrom(askers(i%20).Addr(), uint16(40000+i))
		if f.udp(at, from, filmServer, "BEkdUh\xff\x00hidden word"); replies(i, at) {
			f.udp(at+.001, filmServer, from, "BEi\xdd\xde6\xff\x00\x01")
			f.udp(at+.1, from, filmServer, "BE\x04\x8d\xcb\xc1\xff\x01\x03")
			f.udp(at+.101, filmServer, from, "BE\x04\x8d\xcb\xc1\xff\x01\x03")
		}
	}
	f.goesOn(150)
}

// flooded adds people who are answered but in a flood, and what comes in it each millisecond for so many seconds.
func (f *film) flooded(seconds int, comes func(i int, at float64)) {
	f.people(func(_ int, at float64) bool { return at < 40 || at >= 40+float64(seconds) })
	for i := range 1000 * seconds {
		comes(i, 40+float64(i)/1000)
	}
}

// forged returns an address that somebody made up.
func forged(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{byte(1 + i*7%223), byte(i * 31), byte(i * 57 / 256), byte(i * 91)}), uint16(1024+i*13%60000))
}

// waves adds people, and n waves of forged requests, each for some seconds after a pause, of which one in each few gets a challenge, or none.
func (f *film) waves(n, requests int, seconds, pause float64, each int) {
	f.challenged(2*int(float64(n)*(seconds+pause)), filmServer, func(int) string { return infoReply("Old town") })
	for i := range requests * n {
		at, from := pause+float64(i/requests)*(seconds+pause)+float64(i%requests)/float64(requests)*seconds, forged(i)
		if f.udp(at, from, filmServer, askInfo); each > 0 && i%each == 0 {
			f.udp(at+.0005, filmServer, from, challenge(uint32(i)))
		}
	}
}

// TestTroubles: what report and why say of troubles that operators have, and what they must not say.
func TestTroubles(t *testing.T) {
	scan := func(hosts int) func(*film) {
		return func(f *film) {
			f.answered(120, filmServer)
			for i := range 400 {
				s := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(20 + i%hosts)}), uint16(27000+i/hosts))
				f.udp(5+float64(i)/40, netip.MustParseAddrPort("20.9.9.9:5555"), s, askInfo)
			}
			f.goesOn(100)
		}
	}
	lossyDay := func(down float64) func(*film) { // with an outage of so many seconds
		return func(f *film) {
			heard, reply := lossy(.35), map[bool]string{true: infoReply("Old town")}
			for i := range 28800 {
				at, from := float64(i/20*60+i*i%20*3), askers(i%20)
				if well := at < 36000 || at >= 43200; at < 60000-down && well || at >= 60000 || !well && heard(i, at) {
					f.visit(at, from, filmServer, 7, reply[well || heard(i, at)])
				} else {
					f.udp(at, from, filmServer, askInfo)
				}
			}
		}
	}
	for _, c := range []struct {
		name             string
		film             func(*film)
		report, why, not string
	}{
		{"challenges do not arrive", func(f *film) { f.unreturned(12, 4) }, "Challenges do not arrive: .*12 of the 12 addresses.*replies do not seem to reach them", "replies do not seem to reach them", "older"},
		{"of GameSpy 3, where a challenge is asked for alone", func(f *film) {
			f.asking(12, 4, "\xfe\xfd\x09\x01\x02\x03\x04", func(c int) string { return fmt.Sprintf("\x09\x01\x02\x03\x04%d\x00", 12345678+c) })
		}, "Challenges do not arrive: ", "replies do not seem to reach them", ""},
		{"they do to one of many", func(f *film) {
			f.unreturned(12, 4)
			f.challenged(20, filmServer, func(int) string { return infoReply("Old town") })
		}, "Not answered: ", "", "do not arrive"},
		{"forged addresses that ask once", func(f *film) { f.unreturned(48, 1) }, "Not answered: ", "No client gets past", "do not arrive"},
		{"a server moves", func(f *film) { f.moves("Old town", 60, 60) }, "Down: .*stopped replying at 22:14:19.* Since 22:14:20 UTC, a server of the same name replies at 198.51.100.11:27015", "Since 22:14:20 UTC, a server of the same name replies at 198.51.100.11:27015", ""},
		{"another name", func(f *film) { f.moves("New town", 60, 60) }, "Down: ", "stopped replying", "same name"},
		{"the other one was there before", func(f *film) { f.moves("Old town", 60, 30) }, "Down: ", "stopped replying", "same name"},
		{"a kind dies", func(f *film) { f.dies(150, func(i int) bool { return i < 80 }) }, "0 % of 40 a2s rules requests from 22:14:40 UTC on, after it had answered 80, and to 100 % of others", "0 % of 40 a2s rules requests from 22:14:40 UTC on, after it had answered 80", "only so often"},
		{"a kind is lost for a while", func(f *film) { f.dies(150, func(i int) bool { return i < 40 || i > 100 }) }, "Not answered: ", "", "after it had"},
		{"a kind is lost by chance", func(f *film) {
			replied := lossy(.7)
			f.dies(150, func(i int) bool { return i < 40 || replied(0, 0) })
		}, "Not answered: .* replies to 62 % of 120 a2s rules requests .* and to 100 % of others", "", "after it had"},
		{"a kind is lost at some clients", func(f *film) { f.dies(150, func(i int) bool { return i%12 > 2 }) }, "Not answered: .* replies to 75 % of 120 a2s rules requests in 119.8 s .* and to 100 % of others", "replies to 75 % of 120 a2s rules requests", "Nothing unusual"},
		{"an outage in a capture of beginnings", func(f *film) {
			f.snap = 96
			f.people(func(_ int, at float64) bool { return at < 40 || at >= 60 })
			f.long(240, func(i, _ int) bool { return i >= 80 && i < 120 })
		}, "Down: .*did not reply for 2[01].*none of [0-9]+ requests", "did not reply from 22:1", "Cannot tell"},
		{"the game goes on in one, and queries get no reply", func(f *film) {
			f.snap = 60
			f.people(func(_ int, at float64) bool { return at < 40 || at >= 50 })
			for i, ends := 0, [2]netip.AddrPort{askers(11), filmServer}; i < 2400; i++ {
				f.udp(float64(i)/20, ends[i%2], ends[1-i%2], "\x07\x01"+string(make([]byte, 97)))
			}
		}, "Cannot tell whether requests got", "", "Nothing unusual|Down"},
		{"a kind without a reply in one", func(f *film) {
			f.snap = 96
			f.dies(150, func(int) bool { return false })
		}, "Not answered: .*0 % of 120 a2s rules requests .* and to 100 % of others", "replies to 0 % of 120", "Cannot tell"},
		{"the replies to some take another link", func(f *film) {
			for i := range 240 {
				at, from, c := float64(i)/2, askers(i%20), uint32(1000+i%20)
				if i%2 == 0 {
					f.visit(at, from, filmServer, c, infoReply("Old town"))
				} else {
					f.udp(at, from, filmServer, askInfo)
					f.udp(at+.05, from, filmServer, askInfo+le(c))
				}
			}
			f.goesOn(150)
		}, "Cannot tell: 240 of 480 requests to .* are of addresses that return its challenges, and the replies to these are not in the capture", "^240 of 480 requests to ", "Not answered"},
		{"TCP passes and UDP does not", func(f *film) {
			f.unanswered(60, filmServer)
			f.connected(12, 27015, 2, 18, 16)
		}, "No reply: .* 60 requests .*although it accepted 12 connections over TCP", "although it accepted 12 connections over TCP", "one direction"},
		{"one of the servers of a host is off", func(f *film) {
			f.unanswered(40, filmServer)
			for i := range uint16(3) {
				f.answered(40, to(27016+i))
			}
		}, "the same host replies at 198.51.100.10:2701[678] .*and at 2 other ports", "^No reply: ", "on the same host"},
		{"packets get lost for a while", func(f *film) {
			f.partly(2000, .001, func(_ int, at float64) bool {
				k := int(at) % 12
				return at < 400 || at >= 700 || k > 5 && k != 8 && k != 10
			})
		}, "Not answered: .* replies to only 33 % of 585 requests from 22:20:0. UTC to 22:2", "replies to only 33 % of 585 requests from 22:20:0. UTC to 22:2", "Down"},
		{"all die", func(f *film) { f.dies(80, func(i int) bool { return i < 80 }) }, "Down: ", "", "after it had"},
		{"the first packet of each is lost, and the others are not", func(f *film) {
			for i := range 240 {
				at, from := float64(i/4)+[...]float64{0, 1, 1.2, 1.4}[i%4], netip.AddrPortFrom(askers(i/4).Addr(), uint16(40000+i/4))
				if f.udp(at, from, filmServer, askInfo); i%4 > 0 {
					f.udp(at+.001, filmServer, from, infoReply("Old town"))
				}
			}
			f.goesOn(100)
		}, "replies to only 75 % of 240 sendings", "replies to only 75 % of 240 sendings", "only so often"},
		{"a server hangs that may be silent to what clients begin with", func(f *film) {
			f.consoles(func(_ int, at float64) bool { return at < 40 || at >= 60 })
		}, "Down: .*did not reply for 20.* none of 40 requests got a reply", "none of 40 requests got a reply.*240 battleye login requests, to which a server may be silent \\(83 % ", ""},
		{"it is silent to some", func(f *film) { f.consoles(func(i int, _ float64) bool { return i%20 > 3 }) },
			"Nothing unusual: 43[0-9] requests.* 100 % answered but for 48 to which a server may be silent", "240 battleye login requests, to which a server may be silent \\(80 % answered\\)", ""},
		{"replies of name servers while the server is silent", func(f *film) {
			f.flooded(20, func(i int, at float64) {
				f.udp(at, netip.AddrPortFrom(forged(i%300).Addr(), 53), filmServer, "\x12\x34\x81\x80"+string(make([]byte, 200)))
			})
		}, "Junk flood at 198.51.100.10:27015.* from port 53 of [23].. addresses.*Down: .*; a flood came meanwhile", "from port 53 of .*; a flood came meanwhile", ""},
		{"players go on after a restart", func(f *film) {
			f.flooded(12, func(i int, at float64) { f.udp(at, askers(i%24), filmServer, "\x00\x01\x02"+string(make([]byte, 30))) })
		}, "Down: ", "did not reply from", "flood"},
		{"replies to many ports of a host that asks", func(f *film) {
			f.flooded(20, func(i int, at float64) {
				from, to := netip.AddrPortFrom(filmServer.Addr(), uint16(1024+i*7919%50000)), netip.AddrPortFrom(forged(i).Addr(), 53)
				f.udp(at, from, to, "\x12\x34\x01\x00"+string(make([]byte, 30)))
				f.udp(at+.03, to, from, "\x12\x34\x81\x80"+string(make([]byte, 60)))
			})
		}, "Down: ", "did not reply from", "flood"},
		{"junk to many ports of a host", func(f *film) {
			f.flooded(20, func(i int, at float64) {
				f.udp(at, forged(i), netip.AddrPortFrom(filmServer.Addr(), uint16(1024+i*7919%50000)), "\x00\x01\x02"+string(make([]byte, 30)))
			})
		}, "Junk flood at 198.51.100.10: 20,000 datagrams of no known protocol to many of its ports.*Down: .*; a flood came meanwhile", "many of its ports.*; a flood came meanwhile", ""},
		{"requests to many ports of a host", func(f *film) {
			f.flooded(20, func(i int, at float64) {
				f.udp(at, forged(i), netip.AddrPortFrom(filmServer.Addr(), uint16(20000+i%40)), askInfo)
			})
		}, "Carpet flood at 198.51.100.10: .* requests to 40 ports of it .*Down: .*; a flood came meanwhile", "; a flood came meanwhile", "network"},
		{"a flood in pulses", func(f *film) { f.waves(24, 400, 1, 9, 1) }, "(Forged flood at [^\n]*\n){24}$", "The report has 23 more of that kind", ""},
		{"pulses without a reply", func(f *film) { f.waves(24, 400, 1, 9, 0) }, "(Forged flood at [^\n]*\n){24}$", "The report has 23 more of that kind", "Not answered"},
		{"a flood of most of the capture, of which a quarter gets a challenge", func(f *film) { f.waves(1, 20000, 100, 15, 4) },
			"Forged flood at .*: (19,[89]|20,[01]).. a2s info requests in 100 s.*; the server replied to [^>]* > .*; if it is a limit that leaves the others without a reply, a lower one keeps more players out", "", ""},
		{"a flood that a null route ends", func(f *film) {
			f.waves(1, 8000, 20, 40, 1)
			f.visit(400, askers(1), filmServer, 7, infoReply("Old town"))
		}, "Forged flood at .* then nobody asked the server for 5.[0-9]* min, and before the flood [0-9.]+ times per second", "then nobody asked the server for", ""},
		{"challenges in the other byte order", func(f *film) {
			f.answered(120, filmServer)
			for i := range 40 {
				at, from := float64(i)*2, netip.AddrPortFrom(askers(77).Addr(), uint16(40000+i))
				for k, ask := range []string{askInfo, askInfo + "\x01\x02\x03\x04"} {
					f.udp(at+.05*float64(k), from, filmServer, ask)
					f.udp(at+.05*float64(k)+.0005, filmServer, from, challenge(0x01020304))
				}
			}
		}, " > Clients return the challenge with its bytes in the other order", "one challenge after the other", ""},
		{"heartbeats end", func(f *film) {
			f.answered(240, filmServer)
			for i := range 8 {
				f.udp(float64(4*i), filmServer, filmMaster, heartbeat)
			}
		}, "Trouble with a master", "It sent 8 heartbeats to the master 203.0.113.5:27010, the last at 22:13:48 UTC", ""},
		{"a scan of ports", scan(1), "asks about 400 ports of 198.51.100.20:", "", "400 servers"},
		{"a scan of servers", scan(100), "asks about 3?[0-9]+ servers:", "", "ports of"},
		{"packets get lost for two hours of a day", lossyDay(0), "^Not answered: .* replies to only 6[4-7] % of [0-9,]+ requests from 08:1", "replies to only 6[4-7] % of [0-9,]+ requests from 08:1", "Down"},
		{"a firewall drops requests from low ports", func(f *film) {
			for i := range 130 {
				if f.visit(float64(i)*10, askers(i%6), filmServer, 7, infoReply("Old town")); i < 10 {
					f.udp(602+float64(i)*.7, netip.AddrPortFrom(forged(i).Addr(), 53), filmServer, askInfo)
				}
			}
		}, "", "nothing in the capture stands in the way", "Down"},
		{"clients close their socket before the challenge comes", func(f *film) {
			f.challenged(60, filmServer, func(int) string { return infoReply("Old town") })
			for i := range 40 {
				f.udp(float64(i)/2+.2, forged(i), filmServer, askInfo)
				f.udp(float64(i)/2+.201, filmServer, forged(i), challenge(7))
				f.icmp(float64(i)/2+.25, forged(i).Addr(), 3, 3, 0, filmServer, forged(i), challenge(7))
			}
			f.goesOn(100)
		}, "^Replies come back: .* 40 of 160 replies [^\n]*\n$", "said 40 times", "Not answered"},
		{"and an outage of ten minutes", lossyDay(600), "^Down: [^\n]* for 10[^\n]* min, [^\n]*\nNot answered: .* replies to only 6[4-7] % of ", "for 10[0-9.]* min: .* replies to only 6[4-7] % of ", "more times"},
		{"a carpet over more addresses than the table has", func(f *film) {
			f.answered(240, filmServer)
			for i := range 40000 {
				f.udp(40+float64(i)/2000, forged(i), netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, byte(101 + i%9), byte(i * 7919 >> 8)}), 27015), askInfo)
			}
		}, "^Carpet flood: [^\n]*\n$", "", ""},
		{"a flood that a firewall drops", func(f *film) {
			f.waves(1, 16000, 40, 40, 0)
			f.goesOn(150)
		}, "flood at .* the server sent as many replies as without them \\(something drops them, .* > What drops them protects the server", "", ""},
		{"one asks too often, and the server limits each", func(f *film) {
			f.challenged(240, filmServer, func(int) string { return infoReply("Old town") })
			f.visit(29, askers(99), filmServer, 7, infoReply("Old town"))
			for i := range 2400 {
				if f.udp(30+float64(i)/40, askers(99), filmServer, askInfo+le(7)); i%40 < 5 {
					f.udp(30.001+float64(i)/40, filmServer, askers(99), infoReply("Old town"))
				}
			}
		}, "^Greedy: ", "Greedy: ", "Overload"},
		{"a flood of fifty beside those who always ask", func(f *film) {
			f.people(func(int, float64) bool { return true })
			for i := range 10000 {
				f.udp(40+float64(i)/500, forged(i%50), filmServer, askInfo)
				f.udp(40.001+float64(i)/500, filmServer, forged(i%50), infoReply("Old town"))
			}
		}, "from 50 addresses", "from 50 addresses", ""},
		{"challenges come back in the other order of bytes", func(f *film) {
			f.replied(10, askInfo, .001, filmServer, filmServer, challenge(7))
			polls(10, func(_ int, at float64, from netip.AddrPort) { f.udp(at+.002, from, filmServer, askInfo+le(7<<24)) })
		}, "^Errors: 10 messages of .* > Clients return the challenge with its bytes in the other order", "challenge 117440512 is byte-swapped", "Look at the load"},
		{"one client's queries are too short", func(f *film) {
			f.answered(60, filmServer)
			polls(20, func(_ int, at float64, _ netip.AddrPort) { f.udp(at, askers(99), filmServer, askRules[:7]) })
		}, "^Nothing unusual: .* 20 unknown datagrams look like a malformed A2S query. > Correct the client", "malformed A2S query", "nothing to do"},
		{"one client's checksums are in the other byte order", func(f *film) {
			f.consoles(func(int, float64) bool { return true })
			polls(60, func(i int, at float64, _ netip.AddrPort) {
				f.udp(at, netip.AddrPortFrom(askers(99).Addr(), uint16(50000+i)), filmServer, "BEhUdk\xff\x00hidden word")
			})
		}, "^Errors: 60 messages of .*battleye.crc", "60 requests to .* are wrong and without a reply: CRC-32 is", "Nothing unusual"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &film{t: t}
			c.film(f)
			verdicts, answers := agree(t, f.write(t))
			said := ""
			for _, v := range verdicts {
				said += v.Text + " > " + v.Advice + "\n"
			}
			w := answers[filmServer.String()]
			for _, x := range []struct{ is, want string }{{said, c.report}, {w.Text, c.why}} {
				if !regexp.MustCompile("(?s)"+x.want).MatchString(x.is) || c.not != "" && regexp.MustCompile(c.not).MatchString(x.is) {
					t.Errorf("says %q, want %q and not %q", x.is, x.want, c.not)
				}
			}
			if c.report == "" && verdicts[0].Kind != stats.NothingUnusual {
				t.Errorf("not quiet: %s", said)
			}
		})
	}
}
