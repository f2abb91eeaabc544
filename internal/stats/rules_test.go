package stats_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/thorough"
	"github.com/qdissect/qdissect/internal/tools/netns"
	"github.com/qdissect/qdissect/internal/tools/scenes"
)

// TestRulesPlayed plays scenes against the rules that their reports recommend: the shares of honest and of other requests
// that pass are those of the table.
func TestRulesPlayed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes real time")
	}
	type variant struct {
		scene string
		o     scenes.Options
	}
	list := []variant{{"forged-open", scenes.Options{Span: 12 * time.Second, Clients: thorough.Of(800, 3000), Rate: 2000}}}
	if thorough.All() {
		for _, s := range scenes.All() {
			list = append(list, variant{s.Name, scenes.Options{Span: 15 * time.Second, Seed: 2}})
		}
		for _, name := range []string{"forged-open", "forged-challenged", "mixed"} {
			list = append(list, variant{name, scenes.Options{Span: 15 * time.Second, Rate: 18_000, Seed: 2}})
		}
	}
	for _, v := range list {
		t.Run(fmt.Sprint(v.scene, v.o.Rate), func(t *testing.T) {
			s, err := scenes.Find(v.scene)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if _, err := s.Write(&b, v.o); err != nil {
				t.Fatal(err)
			}
			r := reported(t, b.Bytes(), 1, stats.Options{})
			rules := r.Remedies
			for _, limits := range [][]stats.Limit{r.Limits.PerAddress, r.Limits.Global} {
				for _, l := range limits {
					if l.Best {
						if len(rules) == 0 {
							t.Fatalf("no rule for %+v", l)
						}
						text := stats.NFT(rules[:1], stats.OnHost, false)
						t.Log(text)
						played(t, r, l, netns.Play(t, s, v.o, netns.NFT(text)))
						rules = rules[1:]
					}
				}
			}
		})
	}
}

// TestIPTablesPlayed plays scenes against the rules for iptables, which do what the table says of those for nft.
func TestIPTablesPlayed(t *testing.T) {
	if !thorough.All() {
		t.Skip("takes real time")
	}
	if _, err := exec.LookPath("iptables"); err != nil {
		t.Skip("iptables is not installed")
	}
	for _, name := range []string{"greedy", "reflection", "forged-open", "forged-challenged"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := scenes.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			o := scenes.Options{Span: 6 * time.Second, Seed: 2}
			var b bytes.Buffer
			if _, err := s.Write(&b, o); err != nil {
				t.Fatal(err)
			}
			r := reported(t, b.Bytes(), 1, stats.Options{})
			limits := slices.Concat(r.Limits.PerAddress, r.Limits.Global) // one of them is recommended
			k := slices.IndexFunc(limits, func(l stats.Limit) bool { return l.Best })
			if len(r.Remedies) == 0 || k < 0 {
				t.Fatalf("rules %+v, limits %+v", r.Rules, limits)
			}
			text := stats.IPTables(r.Remedies[:1], stats.OnHost, false, false)
			t.Log(text)
			played(t, r, limits[k], netns.Play(t, s, o, netns.Shell("iptables-restore --noflush <<'END'\n"+text+"END\n")))
		})
	}
}

// played compares what passed with what the table says.
func played(t *testing.T, r *stats.Report, l stats.Limit, got netns.Shares) {
	t.Helper()
	pass := func(classes ...string) (sum netns.Share) {
		for _, c := range classes {
			sum.Sent += got.Class[c].Sent
			sum.Passed += got.Class[c].Passed
		}
		return sum
	}
	for _, c := range []struct {
		what    string
		share   netns.Share
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
