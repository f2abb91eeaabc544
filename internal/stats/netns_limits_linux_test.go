package stats_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/thorough"
	"github.com/qdissect/qdissect/internal/tools/scenes"
)

// TestNamespace: without a rule everything passes, and rules stop whom they name.
func TestNamespace(t *testing.T) {
	run, wait := beside(t)
	defer wait()
	const table = "table inet x {\nchain x {\ntype filter hook %s priority 0; policy accept;\n%s\n}\n}\n"
	for i, x := range []struct {
		scene, rule string
		want        map[string]float64 // percent
	}{
		{"mixed", "", map[string]float64{scenes.Honest: 100, scenes.Forged: 100, scenes.Junk: 100, scenes.Infra: 100}},
		{"forged-open", fmt.Sprintf(table, "input", "iifname eth0 ip saddr { 198.18.0.0/15, 192.0.2.0/24, 203.0.113.0/24 } accept\ndrop"),
			map[string]float64{scenes.Honest: 100, scenes.Forged: 0, scenes.Infra: 100}},
		{"greedy", fmt.Sprintf(table, "prerouting", "ip saddr 203.0.113.50 drop"), map[string]float64{scenes.Honest: 100, scenes.Greedy: 0, scenes.Infra: 100}},
		// A request with a challenge is four bytes longer than one without.
		{"forged-challenged", fmt.Sprintf(table, "input", "udp dport 27015 udp length 33 @th,64,64 0xffffffff54536f75 ip saddr != { 198.18.0.0/15, 192.0.2.0/24 } drop"),
			map[string]float64{scenes.Honest: 100, scenes.Forged: 0, scenes.Infra: 100}},
	} {
		if i > 0 && !thorough.All() {
			break
		}
		run(x.scene, func(t *testing.T) {
			s := must.Get(scenes.Find(x.scene))(t)
			// Infrastructure says something in the first half minute.
			got := playScene(t, s, scenes.Options{Span: 6 * time.Second, Clients: 500}, atHost, byNFT(x.rule))
			for class, share := range got.Class {
				if share.Sent == 0 || share.Percent() != x.want[class] {
					t.Errorf("%s: %d of %d passed, want %v %%", class, share.Passed, share.Sent, x.want[class])
				}
			}
			if got.Class[scenes.Honest].Sent < 100 {
				t.Errorf("sent %+v", got.Class)
			}
		})
	}
}

// A volley is packets of one source, or of several with consecutive addresses.
type volley struct {
	at            time.Duration
	class         string
	source        uint32
	sources, each int
	over          time.Duration // in which they are sent, 0 for at once
}

// fire plays volleys, in the order of time. Their packets are info requests.
func fire(t *testing.T, rule string, list []volley) shares {
	t.Helper()
	start := time.Now()
	return playFrames(t, atHost, byNFT(rule), func(send func(at time.Time, class string, frame []byte) error) error {
		for _, v := range list {
			n := v.sources * v.each
			for i := range n {
				a := v.source + uint32(i%v.sources)
				src := netip.AddrPortFrom(netip.AddrFrom4([4]byte{20, byte(a >> 16), byte(a >> 8), byte(a)}), 1000)
				dst := netip.MustParseAddrPort("198.51.100.10:27015")
				packet := mkpcap.IP(src.Addr(), dst.Addr(), 0, 17, 0, false, false, mkpcap.UDPSegment(src, dst, []byte("\xff\xff\xff\xffTSource Engine Query\x00")))
				at := start.Add(v.at + v.over*time.Duration(i)/time.Duration(n))
				if err := send(at, v.class, append([]byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0}, packet...)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// TestLimitsOfNFT holds what netns_linux_test.go says about limits.
func TestLimitsOfNFT(t *testing.T) {
	run, wait := beside(t)
	defer wait()
	const ms = time.Millisecond
	once := func(at time.Duration, class string, n int) volley { return volley{at, class, 1, 1, n, 0} }
	for i, x := range []struct {
		name, rule string
		list       []volley
		want       map[string]uint64
	}{
		{"burst is 5", "limit rate over 5/second drop",
			[]volley{once(0, "at first", 100), once(600*ms, "later", 100), once(3000*ms, "much later", 100)},
			map[string]uint64{"at first": 5, "later": 3, "much later": 5}},
		{"per minute", "limit rate over 300/minute drop",
			[]volley{once(0, "at first", 100), once(600*ms, "later", 100), once(3000*ms, "much later", 100)},
			map[string]uint64{"at first": 5, "later": 3, "much later": 5}},
		{"burst 20", "limit rate over 5/second burst 20 packets drop",
			[]volley{once(0, "at first", 100), once(1100*ms, "later", 100), once(4300*ms, "much later", 100)},
			map[string]uint64{"at first": 20, "later": 5, "much later": 16}},
		{"steady", "limit rate over 50/second burst 10 packets drop",
			[]volley{{0, "twice the rate", 1, 1, 300, 3000 * ms}}, map[string]uint64{"twice the rate": 160}},
		{"slow enough", "limit rate over 50/second burst 20 packets drop",
			[]volley{{0, "below the rate", 1, 1, 120, 3000 * ms}}, map[string]uint64{"below the rate": 120}},
		{"not over", "limit rate 5/second accept\ndrop",
			[]volley{once(0, "at first", 100), once(600*ms, "later", 100)}, map[string]uint64{"at first": 5, "later": 3}},
		{"each element", "add @large { ip saddr limit rate over 5/second burst 7 packets } drop",
			[]volley{once(0, "one", 20), {0, "others", 2, 10, 20, 0}, once(600*ms, "later", 20)},
			map[string]uint64{"one": 7, "others": 70, "later": 3}},
		{"full, over", "update @small { ip saddr limit rate over 5/second } drop",
			[]volley{{0, "in the set", 1, 10, 20, 0}, {0, "not in the set", 11, 20, 20, 0}, once(600*ms, "still in the set", 20)},
			map[string]uint64{"in the set": 50, "not in the set": 400, "still in the set": 3}},
		{"full, not over", "update @small { ip saddr limit rate 5/second } accept\ndrop",
			[]volley{{0, "in the set", 1, 10, 20, 0}, {0, "not in the set", 11, 20, 20, 0}},
			map[string]uint64{"in the set": 50, "not in the set": 0}},
		{"full meter", "meter m size 10 { ip saddr limit rate over 5/second } drop",
			[]volley{{0, "in the set", 1, 10, 20, 0}, {0, "not in the set", 11, 20, 20, 0}},
			map[string]uint64{"in the set": 50, "not in the set": 400}},
		{"add", "add @short { ip saddr limit rate over 1/minute } drop",
			[]volley{once(0, "a", 20), once(700*ms, "b", 20), once(1400*ms, "c", 20), once(2100*ms, "d", 20)},
			map[string]uint64{"a": 5, "b": 0, "c": 5, "d": 0}},
		{"update", "update @short { ip saddr limit rate over 1/minute } drop",
			[]volley{once(0, "a", 20), once(700*ms, "b", 20), once(1400*ms, "c", 20), once(2100*ms, "d", 20), once(4000*ms, "e", 20)},
			map[string]uint64{"a": 5, "b": 0, "c": 0, "d": 0, "e": 5}},
		{"places get free", "update @tiny { ip saddr limit rate over 1/minute } drop",
			[]volley{{0, "a", 1, 10, 20, 0}, {800 * ms, "no place", 11, 10, 20, 0}, {3200 * ms, "places", 21, 10, 20, 0}},
			map[string]uint64{"a": 50, "no place": 200, "places": 50}},
		{"a set of 65,535", "update @large { ip saddr limit rate over 1/minute burst 1 packets } drop",
			[]volley{{0, "at first", 1, 66000, 1, 4000 * ms}, {4000 * ms, "again", 1, 66000, 1, 4000 * ms}},
			map[string]uint64{"at first": 66000, "again": 66000 - 65535}},
		{"bytes", "udp length 33 @th,64,64 0xffffffff54536f75 @th,128,64 0x72636520456e6769 drop",
			[]volley{once(0, "info", 10)}, map[string]uint64{"info": 0}},
	} {
		if i > 0 && !thorough.All() {
			break
		}
		run(x.name, func(t *testing.T) {
			got := fire(t, `table ip x {
				set large { type ipv4_addr; flags dynamic; size 65535; timeout 60s; }
				set small { type ipv4_addr; flags dynamic; size 10; timeout 10s; }
				set tiny { type ipv4_addr; flags dynamic; size 10; timeout 1s; }
				set short { type ipv4_addr; flags dynamic; size 100; timeout 1s; }
				chain x { type filter hook prerouting priority -300; policy accept;
					`+x.rule+`
				}
			}
			`, x.list)
			for class, want := range x.want {
				share := got.Class[class]
				// Volleys may be late by a few tokens.
				slack := uint64(got.Late/(20*time.Millisecond)) + want/100
				if share.Passed+slack < want || share.Passed > want+slack {
					t.Errorf("%s: %d of %d passed, want %d; sent up to %v too late", class, share.Passed, share.Sent, want, got.Late)
				}
			}
		})
	}
}
