package stats

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/qdissect/qdissect/internal/must"
)

var update = flag.Bool("update", false, "write the goldens")

// A Said is what is said of one capture after the other, in lines for a golden: a verdict with its evidence, a limit, an answer. A sentence
// that is the same as the last of its kind is left out.
type Said struct {
	bytes.Buffer
	known sync.Map
	plays int
	last  *Report
}

// Golden compares what was said with a file of testdata.
func (s *Said) Golden(t *testing.T, path string) {
	t.Helper()
	if *update {
		must.Do(t, os.WriteFile(path, s.Bytes(), 0o600))
	}
	if d := cmp.Diff(string(must.Get(os.ReadFile(path))(t)), s.String()); d != "" {
		t.Errorf("%s (-update writes it) -want +got\n%s", path, d)
	}
}

func (s *Said) once(kind, text string) {
	if last, _ := s.known.Swap(kind, text); text != "" && last != text {
		fmt.Fprintf(s, "  %s\n", text)
	}
}

// Report adds a report, with at most two verdicts.
func (s *Said) Report(name string, r *Report) {
	t := &r.Totals
	fmt.Fprintf(s, "\n== %s: %d/%d from %d, peak %d", name, t.Answered, t.Requests, t.Addresses.Count, r.Timeline.Peak)
	if t.Greedy+t.NeverFinished > 0 {
		fmt.Fprintf(s, "; honest %d, greedy %d, never finished %d", t.Honest, t.Greedy, t.NeverFinished)
	}
	fmt.Fprintln(s)
	for _, v := range r.Verdicts[:min(len(r.Verdicts), 2)] {
		fmt.Fprintf(s, "%s %s %s%s %s-%s", v.Certainty, v.Kind, v.Server, v.Network, v.From.Format("15:04:05.0"), v.To.Format("15:04:05.0"))
		for _, n := range v.Evidence {
			fmt.Fprintf(s, " %s=%g", n.Name, n.Value)
		}
		fmt.Fprintln(s)
		for _, text := range append(slices.Clone(v.Because), v.Doubt, v.Advice) {
			s.once(v.Kind+text[:min(len(text), 9)], text)
		}
	}
	for _, l := range slices.Concat(r.Limits.PerAddress, r.Limits.Global) {
		if l.Best {
			fmt.Fprintf(s, "limit %d, burst %d, %s %s drops %d forged, %d greedy, %d honest\n", l.N, l.Burst, l.Kind, l.Server, l.Forged, l.Greedy, l.Honest)
		}
	}
}

// Answer adds the answer to why, with its text if that is not a verdict.
func (s *Said) Answer(w *Answer) {
	fmt.Fprintf(s, "why %s %s %s %s", w.Server, w.State, w.Certainty, w.Cause)
	if len(w.Problems) > 1 {
		fmt.Fprint(s, w.Problems)
	}
	for _, f := range w.Evidence {
		fmt.Fprintf(s, " %s=%d%v", f.What, f.Count, f.Frames)
	}
	fmt.Fprintln(s)
	if !slices.ContainsFunc(w.Verdicts, func(v Verdict) bool { return strings.HasPrefix(w.Text, v.Text) }) {
		text, _, _ := strings.Cut(w.Text, " It was asked ")
		if w.State == Answers {
			text = text[strings.IndexByte(text, ' '):] // without the address
		}
		s.once(w.Cause, text)
	}
}

// play adds what is said of plays and of the server of the last request, and returns the verdicts and the whole report in JSON.
func (s *Said) play(name string, list []made) (verdicts, report string) {
	server := list[len(list)-1].to
	a := play(list, server)
	r := a.Report(Options{})
	s.Report(name, r)
	s.Answer(a.Why(netip.AddrPortFrom(netip.MustParseAddr(server), 0), Options{})[0])
	if s.plays++; s.plays%20 == 0 { // with the text, and compared with the one before
		s.Write(Compare(s.last, r).AppendText(r.AppendText(nil, 20)))
	}
	s.last = r
	for _, v := range r.Verdicts {
		verdicts += string(v.Certainty) + " " + v.Text + "\n"
	}
	b, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return verdicts, string(b)
}

// sweep plays something for all n, and adds from which n on which verdicts are said, and what the answer is to why.
func (s *Said) sweep(name string, from, to int, of func(n int) []made) {
	before := ""
	fmt.Fprintf(s, "\n== %s to %d\n", name, to)
	for n := from; n <= to; n++ {
		list := of(n)
		server := list[len(list)-1].to
		a, said := play(list, server), ""
		for _, v := range a.Report(Options{}).Verdicts {
			if v := fmt.Sprint(v.Certainty, " ", v.Kind, ", "); !strings.HasSuffix(said, v) {
				said += v
			}
		}
		w := a.Why(netip.AddrPortFrom(netip.MustParseAddr(server), 0), Options{})[0]
		if said += fmt.Sprint("why ", w.State, " ", w.Certainty, " ", w.Cause); said != before {
			fmt.Fprintf(s, "from %d: %s\n", n, said)
		}
		before = said
	}
}
