package main

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/thorough"
)

// fewTroubles are what may become of a request: what comes after it.
var fewTroubles = []struct {
	name string
	back func(f *film, i int, at float64, from netip.AddrPort)
}{
	{"nothing", func(*film, int, float64, netip.AddrPort) {}},
	{"answered", func(f *film, _ int, at float64, from netip.AddrPort) {
		f.udp(at+.001, filmServer, from, infoReply("Old town"))
	}},
	{"closed", func(f *film, _ int, at float64, from netip.AddrPort) {
		f.icmp(at+.0001, filmServer.Addr(), 3, 3, 0, from, filmServer, askInfo)
	}},
	{"closed by router", func(f *film, _ int, at float64, from netip.AddrPort) {
		f.icmp(at+.0001, filmRouter, 3, 3, 0, from, filmServer, askInfo)
	}},
	{"prohibited", func(f *film, _ int, at float64, from netip.AddrPort) {
		f.icmp(at+.0001, filmRouter, 3, 13, 0, from, filmServer, askInfo)
	}},
	{"unreachable", func(f *film, _ int, at float64, from netip.AddrPort) {
		f.icmp(at+.0001, filmRouter, 3, 1, 0, from, filmServer, askInfo)
	}},
	{"hops", func(f *film, _ int, at float64, from netip.AddrPort) {
		f.icmp(at+.0001, filmRouter, 11, 0, 0, from, filmServer, askInfo)
	}},
	{"too large", func(f *film, _ int, at float64, from netip.AddrPort) {
		f.udp(at+.001, filmServer, from, infoReply("Old town"))
		f.icmp(at+.01, filmRouter, 3, 4, 1400, filmServer, from, infoReply("Old town"))
	}},
	{"client gone", func(f *film, _ int, at float64, from netip.AddrPort) {
		f.udp(at+.001, filmServer, from, infoReply("Old town"))
		f.icmp(at+.01, from.Addr(), 3, 3, 0, filmServer, from, infoReply("Old town"))
	}},
	{"other address", func(f *film, _ int, at float64, from netip.AddrPort) {
		f.udp(at+.001, filmOther, from, infoReply("Old town"))
	}},
	{"other port", func(f *film, _ int, at float64, from netip.AddrPort) {
		f.udp(at+.001, to(27099), from, infoReply("Old town"))
	}},
	{"challenge unused", func(f *film, i int, at float64, from netip.AddrPort) {
		f.udp(at+.001, filmServer, from, challenge(uint32(1000+i)))
	}},
	{"challenge loop", func(f *film, i int, at float64, from netip.AddrPort) {
		f.udp(at+.001, filmServer, from, challenge(uint32(1000+i)))
		f.udp(at+.05, from, filmServer, askInfo+le(uint32(1000+i)))
		f.udp(at+.051, filmServer, from, challenge(uint32(2000+i)))
	}},
	{"challenge and silence", func(f *film, i int, at float64, from netip.AddrPort) {
		f.udp(at+.001, filmServer, from, challenge(uint32(1000+i)))
		f.udp(at+.05, from, filmServer, askInfo+le(uint32(1000+i)))
	}},
	{"late", func(f *film, _ int, at float64, from netip.AddrPort) {
		f.udp(at+7, filmServer, from, infoReply("Old town"))
	}},
	{"slow", func(f *film, _ int, at float64, from netip.AddrPort) {
		f.udp(at+2, filmServer, from, infoReply("Old town"))
	}},
	{"malformed", func(f *film, _ int, at float64, from netip.AddrPort) {
		f.udp(at+.001, filmServer, from, infoReply("Old town")[:30])
	}},
	{"other kind", func(f *film, _ int, at float64, from netip.AddrPort) { f.udp(at+.001, filmServer, from, rulesReply(3)) }},
	{"junk", func(f *film, _ int, at float64, from netip.AddrPort) {
		f.udp(at+.001, filmServer, from, "\x01\x09 no such game")
	}},
	{"part lost", func(f *film, i int, at float64, from netip.AddrPort) {
		f.udp(at+.0001, from, filmServer, "\xff\xff\xff\xffV"+le(7))
		f.udp(at+.001, filmServer, from, infoReply("Old town"))
		for j, p := range parts(rulesReply(90), uint32(i+1)) {
			if j != 1 {
				f.udp(at+.002+float64(j)/1e5, filmServer, from, p)
			}
		}
	}},
	{"rules unanswered", func(f *film, i int, at float64, from netip.AddrPort) {
		f.udp(at+.0001, from, filmServer, "\xff\xff\xff\xffV"+le(7))
		f.udp(at+.001, filmServer, from, infoReply("Old town"))
	}},
}

// TestFewRequests: of a few requests, some of which have a trouble, from one client or from several, beside a server that is well or alone, report
// and why say the same: that something is wrong, that nothing is, or that it cannot be told.
func TestFewRequests(t *testing.T) {
	for _, c := range fewTroubles {
		for _, n := range thorough.Of([]int{1, 8}, []int{1, 2, 3, 4, 5, 8, 12, 19, 25}) {
			for every := 1; every <= thorough.Of(1, 3) && every <= n && (every == 1 || !strings.HasPrefix(c.name, "challenge")); every++ {
				for _, one := range []bool{false, true} {
					for _, beside := range thorough.Of([]bool{one}, []bool{false, true}) {
						f := &film{t: t}
						polls(n, func(i int, at float64, from netip.AddrPort) {
							if one {
								from = askers(7)
							}
							at *= 4
							if f.udp(at, from, filmServer, askInfo); i%every == 0 {
								c.back(f, i, at, from)
							} else {
								f.udp(at+.001, filmServer, from, infoReply("Old town"))
							}
						})
						f.goesOn(float64(n)*2 + 30)
						if beside {
							f.answered(30, netip.MustParseAddrPort("203.0.113.10:27015"))
						}
						name := f.write(t)
						r := agree(t, name)
						out, _, _ := runIn(t, ".", "why", "--format", "json", filmServer.String(), name)
						var w whyAnswer
						if err := json.Unmarshal([]byte(out), &w); err != nil {
							t.Fatal(err, out)
						}
						state := stats.Trouble
						switch v := r[0]; {
						case v.Kind == stats.NothingUnusual && one && strings.Contains(v.Text, "got no reply") && strings.Contains(v.Text, filmServer.String()):
						case v.Kind == stats.NothingUnusual:
							state = stats.Answers
						case v.Kind == stats.CannotTell:
							state = stats.Unclear
						case v.Kind == stats.Errors && v.Server == "" && w.State == stats.Unclear:
							continue // of messages, also of few
						}
						if w.State != state && !(beside && w.State == stats.Unclear && state == stats.Answers) {
							t.Errorf("%s, %d requests, one of %d, one client %v, beside another %v:\nreport: %s\nwhy:    %s", c.name, n, every, one, beside, r[0].Text, w.Text)
						}
					}
				}
			}
		}
	}
}

// TestDeadBeside: of an address that one client asks a few times, beside servers that answer, report leads to why, which tells that nothing came.
func TestDeadBeside(t *testing.T) {
	dead := netip.MustParseAddrPort("203.0.113.9:27015")
	for _, n := range []int{4, 19} {
		f := &film{t: t}
		f.answered(100, filmServer)
		for i := range n {
			f.udp(2*float64(i), askers(7), dead, askInfo)
		}
		f.goesOn(80)
		name := f.write(t)
		out, _, _ := runIn(t, ".", "report", "--format", "json", name)
		if !strings.Contains(out, "one address asked "+dead.String()) || !strings.Contains(out, "qdissect why "+dead.String()) || strings.Contains(out, "nothing to do") {
			t.Errorf("%d: %.900s", n, out)
		}
		out, _, code := runIn(t, ".", "why", dead.String(), name)
		if code != exitJudged || !strings.Contains(out, "No reply: "+dead.String()) {
			t.Errorf("%d: %d %s", n, code, out)
		}
	}
}
