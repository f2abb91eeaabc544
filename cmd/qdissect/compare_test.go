package main

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/thorough"
	"github.com/qdissect/qdissect/internal/tools/scenes"
)

// ruled writes a scene in whose second half a rule lets so many datagrams per second to the attacked server pass; 0 is no rule. What the rule
// drops gets no reply, and its sender gives up for 3 seconds. A capture before the rule has what it drops.
func ruled(t *testing.T, name, scene string, seed uint64, perSecond int, before bool) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f := must.Get(os.Create(path))(t)
	defer f.Close()
	s := must.Get(scenes.Find(scene))(t)
	o := scenes.Options{Seed: seed, Span: 40 * time.Second, Clients: 600, Rate: 300}
	var target [6]byte // address and port
	most := map[[6]byte]int{}
	end := func(b []byte) [6]byte { return [6]byte(b) }
	of := func(frame []byte) (src, dst [6]byte) {
		var b [12]byte
		copy(b[:], frame[26:30])
		copy(b[4:], frame[34:36])
		copy(b[6:], frame[30:34])
		copy(b[10:], frame[36:38])
		return end(b[:6]), end(b[6:])
	}
	if perSecond > 0 {
		must.Get(s.Play(o, func(p *scenes.Packet) error {
			if p.ToServer && binary.BigEndian.Uint16(p.Frame[12:]) == 0x800 {
				_, dst := of(p.Frame)
				if most[dst]++; most[dst] > most[target] {
					target = dst
				}
			}
			return nil
		}))(t)
	}
	w := mkpcap.NewWriter(f, mkpcap.Options{})
	gone := map[[6]byte]time.Time{}
	tokens, last := float64(perSecond), time.Time{}
	must.Get(s.Play(o, func(p *scenes.Packet) error {
		src, dst := of(p.Frame)
		switch {
		case perSecond == 0:
		case src == target && p.At.Sub(gone[dst]) < 3*time.Second:
			return nil
		case dst == target && p.At.Sub(gone[src]) < 3*time.Second:
			return nil
		case dst == target:
			tokens = min(float64(perSecond), tokens+float64(perSecond)*p.At.Sub(last).Seconds())
			if last = p.At; tokens < 1 {
				if gone[src] = p.At; before {
					break
				}
				return nil
			}
			tokens--
		}
		w.Frame(p.At, p.Frame)
		return w.Err()
	}))(t)
	return path
}

// TestCompare compares what happened without a rule and with one with its goldens: the first lines say whether it helped and whom it cost.
func TestCompare(t *testing.T) {
	dir := must.Get(filepath.Abs(filepath.Join("testdata", "report")))(t)
	flood, quiet := ruled(t, "flood.pcap", "forged-challenged", 1, 0, false), ruled(t, "quiet.pcap", "quiet", 2, 0, false)
	for i, c := range []struct{ name, before, after, helped, cost string }{
		{"limit", flood, ruled(t, "limit.pcap", "forged-challenged", 2, 20, false), "yes", "some"},
		{"limit-on-host", flood, ruled(t, "limit.pcap", "forged-challenged", 2, 20, true), "yes", "some"},
		{"over", flood, quiet, "yes", "none"},
		{"same", flood, ruled(t, "flood.pcap", "forged-challenged", 2, 0, false), "no", "none"},
		{"open", ruled(t, "open.pcap", "forged-open", 1, 0, false), ruled(t, "limit.pcap", "forged-open", 2, 20, false), "yes", "some"},
		{"reflection", ruled(t, "reflection.pcap", "reflection", 1, 0, false), quiet, "yes", "cannot_tell"},
		{"greedy", ruled(t, "greedy.pcap", "greedy", 1, 0, false), quiet, "yes", "none"},
		{"quiet", ruled(t, "quiet.pcap", "quiet", 1, 0, false), quiet, "nothing_to_stop", "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := outputOf(t, "report", "--compare", c.before, c.after)
			compare(t, filepath.Join(dir, "compare-"+c.name+".txt"), text)
			checkSafe(t, c.name, text)
			if i%thorough.Of(3, 1) > 0 {
				return // the text has the answers, too
			}
			var got stats.Comparison
			must.Do(t, json.Unmarshal([]byte(outputOf(t, "report", "--compare", "--format", "json", c.before, c.after)), &got))
			if got.Helped != c.helped || got.Cost != c.cost || got.Schema != stats.ComparisonSchema {
				t.Errorf("it helped: %s, want %s; it cost: %s, want %s", got.Helped, c.helped, got.Cost, c.cost)
			}
			page := spokenPage(t, outputOf(t, "report", "--compare", "--format", "html", c.before, c.after))
			for _, s := range got.Answer {
				if !strings.Contains(strings.Join(strings.Fields(page), " "), s) {
					t.Errorf("the page lacks %q:\n%s", s, page)
				}
			}
			if strings.Contains(page, "<script") || len(page) < 500 {
				t.Errorf("%d bytes of page", len(page))
			}
		})
	}
	// Of a capture that is cut short, and has few requests, nothing is said but that.
	whole := must.Get(os.ReadFile(filepath.Join("..", "..", "testdata", "pcaps", "a2s", "trouble.pcap")))(t)
	cut := filepath.Join(t.TempDir(), "cut.pcap")
	must.Do(t, os.WriteFile(cut, whole[:5000], 0o600))
	if out, errs, code := runIn(t, ".", "report", "--compare", cut, cut); code != exitTrouble || !strings.Contains(errs, "cut short") || !strings.HasPrefix(out, "* There was nothing to stop") {
		t.Errorf("status %d: %s%s", code, errs, out)
	}
	if _, errs, _ := runIn(t, ".", "report", "--compare", flood); !strings.Contains(errs, "--compare needs two files") {
		t.Error(errs)
	}
}

// spokenPage returns the text of a page.
func spokenPage(t *testing.T, page string) string {
	t.Helper()
	return text(must.Get(html.Parse(strings.NewReader(page)))(t))
}
