package stats_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/tools/scenes"
)

// TestRulesPlayed plays scenes against the rules that their reports recommend: the shares of honest and of other requests that reach the
// servers are those of the table. Servers are on the host; or in a container behind it, captured at the host's interface, so that rules stand
// before the translation (DNAT); or there, captured in the container's namespace, so that they stand at what is forwarded. Each for nft and
// for iptables, in IPv4 and IPv6; with QDISSECT_LONG=1 all scenes.
func TestRulesPlayed(t *testing.T) {
	run, wait := beside(t, false)
	defer wait()
	type variant struct {
		scene string
		o     scenes.Options
	}
	var list []variant
	for _, name := range []string{"forged-open", "made-up", "forged-challenged", "reflection", "greedy"} { // a flood of each kind
		list = append(list, variant{name, scenes.Options{Span: 9 * time.Second, Clients: 800, Rate: 1000}})
	}
	switch {
	case os.Getenv("QDISSECT_LONG") != "":
		for _, s := range scenes.All() {
			list = append(list, variant{s.Name, scenes.Options{Span: 15 * time.Second, Seed: 2, Clients: 1000}})
		}
		for _, name := range []string{"forged-open", "forged-challenged", "made-up", "mixed"} {
			list = append(list, variant{name, scenes.Options{Span: 15 * time.Second, Rate: 18_000, Seed: 2}})
		}
	case !must.TryAll():
		list = list[:2]
	}
	places := []struct {
		name   string
		at     site
		inside bool // where the capture was made
		place  stats.Place
	}{{"host", atHost, false, stats.OnHost}, {"DNAT", inContainer, false, stats.OnHost}, {"namespace", inContainer, true, stats.OnContainer}}
	for i, v := range list {
		for _, v6 := range []bool{false, true} {
			o := v.o
			o.IPv6 = v6
			s, err := scenes.Find(v.scene)
			must.Do(t, err)
			for k, x := range places {
				// Of the first two scenes all, of others each tool and IP version at one place; by default one of each.
				var formats []string
				for f, format := range []string{"nft", "iptables"} {
					way := 2 * f
					if v6 {
						way++
					}
					if must.TryAll() && (i < 2 || way%len(places) == k || os.Getenv("QDISSECT_LONG") != "") || !must.TryAll() && v6 == (i > 0) && f == i && k == 2-i {
						formats = append(formats, format)
					}
				}
				if len(formats) == 0 && !must.TryAll() {
					continue
				}
				var b bytes.Buffer
				m := mkpcap.NewWriter(&b, mkpcap.Options{})
				must.Get(s.Play(o, func(p *scenes.Packet) error {
					if x.inside {
						intoContainer(p.Frame)
					}
					m.Frame(p.At, p.Frame)
					return m.Err()
				}))(t)
				r := reported(t, b.Bytes(), 1, stats.Options{})
				picks := recommended(t, r)
				if len(picks) == 0 && slices.Contains([]string{"forged-open", "made-up", "forged-challenged", "reflection", "greedy"}, v.scene) {
					t.Errorf("%s, IPv6 %v, %s: no rule", v.scene, v6, x.name)
				}
				for _, p := range picks {
					if at := stats.PlaceOf(p.remedies, nil); at != x.place {
						t.Errorf("%s: rules for the place %s", x.name, at)
					}
					for _, format := range formats {
						run(fmt.Sprint(v.scene, v.o.Rate, " IPv6 ", v6, " ", x.name, " ", format), func(t *testing.T) {
							rule := byNFT(stats.NFT(p.remedies, x.place, false))
							if format == "iptables" {
								command := map[bool]string{false: "iptables", true: "ip6tables"}[v6]
								if _, err := exec.LookPath(command); err != nil {
									t.Skip(err)
								}
								rule = byShell(command + "-restore --noflush <<'END'\n" + stats.IPTables(p.remedies, x.place, false, v6) + "END\n")
							}
							played(t, r, p.limit, playScene(t, s, o, x.at, rule))
						})
					}
				}
			}
		}
	}
}

// A pick is a limit that a report recommends, with what a firewall needs for it.
type pick struct {
	limit    stats.Limit
	remedies []stats.Remedy
}

// recommended returns the limits that a report recommends. That per address has a remedy for each protocol, that of a kind of request one.
func recommended(t *testing.T, r *stats.Report) (list []pick) {
	t.Helper()
	for _, l := range slices.Concat(r.Limits.PerAddress, r.Limits.Global) {
		if !l.Best {
			continue
		}
		p := pick{limit: l}
		for _, m := range r.Remedies {
			if total := l.Server != ""; m.Total == total && m.PerSecond == l.N && (!total || m.Servers[0].String() == l.Server && strings.Contains(m.Title, title(l.Kind))) {
				p.remedies = append(p.remedies, m)
			}
		}
		if p.remedies == nil {
			t.Errorf("no rule for %+v", l)
			continue
		}
		list = append(list, p)
	}
	return list
}

// title returns what a kind of request as "a2s info_request" is called in a title.
func title(kind string) string {
	_, message, _ := strings.Cut(kind, " ")
	return strings.ReplaceAll(message, "_", " ")
}

// played compares what passed with what the table says.
func played(t *testing.T, r *stats.Report, l stats.Limit, got shares) {
	t.Helper()
	pass := func(classes ...string) (sum share) {
		for _, c := range classes {
			sum.Sent += got.Class[c].Sent
			sum.Passed += got.Class[c].Passed
		}
		return sum
	}
	for _, c := range []struct {
		what    string
		share   share
		dropped uint64
		of      uint64
	}{
		{"honest", pass(scenes.Honest, scenes.Infra, scenes.Scanner), l.Honest, r.Limits.Honest},
		{"forged", pass(scenes.Forged), l.Forged, r.Limits.Forged},
		{"greedy", pass(scenes.Greedy), l.Greedy, r.Limits.Greedy},
	} {
		table := 100 - 100*float64(c.dropped)/float64(max(c.of, 1))
		t.Logf("%s: %.1f %% of %d pass, table %.1f %% of %d (late %v)", c.what, c.share.Percent(), c.share.Sent, table, c.of, got.Late)
		if d := c.share.Percent() - table; c.share.Sent > 0 && (d > 2 || d < -2) {
			t.Errorf("%d/s: %s: %.1f %% of %d pass, and by the table %.1f %% of %d; sent up to %v too late", l.N, c.what, c.share.Percent(), c.share.Sent, table, c.of, got.Late)
		}
	}
}
