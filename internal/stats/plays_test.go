package stats

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"maps"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/must"
)

var update = flag.Bool("update", false, "write the goldens")

// A Said is what is said of one capture after the other, in lines for a golden, each of which it has once.
type Said struct {
	bytes.Buffer
	Every uint32 // of so many reports, one is whole, and another one is as text; both of all by default
	known map[string]bool
	last  *Report
	wrong []string
}

// sentenceEnd is where a sentence of a text ends, and another one begins.
var sentenceEnd = regexp.MustCompile(`[.!?] +[A-Z0-9(]`)

// Contradictions returns where a report and answers about its servers have different numbers, or one names trouble and the other none,
// and verdicts that are too long.
func Contradictions(r *Report, list ...*Answer) (all []string) {
	for _, v := range r.Verdicts {
		if len(sentenceEnd.FindAllString(v.Text, -1)) > 1 || sentenceEnd.MatchString(v.Advice) {
			all = append(all, "more than two sentences and one of advice: "+v.Text+" > "+v.Advice)
		}
	}
	for _, w := range list {
		if r.Verdicts[0].Kind == NothingUnusual && w.State == Trouble {
			all = append(all, "report has nothing unusual, and why has "+w.Cause+": "+w.Text)
		}
		for _, s := range r.Servers {
			if s.Address == w.Server && (w.Requests != s.Requests || w.Replies != s.Replies || w.Outcome != s.Outcome) {
				all = append(all, fmt.Sprintf("%s: report has %d %d %+v, why %+v", s.Address, s.Requests, s.Replies, s.Outcome, w))
			}
		}
		for _, v := range r.Verdicts {
			if w.State == Answers && v.Kind != w.Cause && v.Kind != Scanner && slices.Contains(append(v.Servers, v.Server), w.Server) {
				all = append(all, "report has "+v.Text+", and why "+w.Text)
			}
		}
	}
	return all
}

// Golden compares what was said with a file of testdata.
func (s *Said) Golden(t *testing.T, path string) {
	t.Helper()
	for _, is := range s.wrong {
		t.Error(is)
	}
	if *update {
		must.Do(t, os.WriteFile(path, s.Bytes(), 0o600))
	}
	if d := cmp.Diff(string(must.Get(os.ReadFile(path))(t)), s.String()); d != "" {
		t.Errorf("%s (-update writes it) -want +got\n%s", path, d)
	}
}

// Report adds the verdicts of a report. By the name, it adds the whole JSON, or the text with a
// comparison and metrics, of which it returns the checksum.
func (s *Said) Report(name string, r *Report) uint32 {
	every := max(s.Every, 1)
	turn := crc32.ChecksumIEEE([]byte(name)) % every
	fmt.Fprintf(s, "\n== %s: %d/%d from %d\n", name, r.Totals.Answered, r.Totals.Requests, r.Totals.Addresses.Count)
	var whole, parts any = r, nil
	if turn > 0 {
		whole = map[string]any{"verdicts": r.Verdicts}
	}
	b, err := json.Marshal(whole)
	if err = errors.Join(err, json.Unmarshal(b, &parts)); err != nil {
		panic(err)
	}
	text := r.AppendMetrics(r.AppendText(r.AppendText(nil, 20), 1))
	if s.last != nil {
		text = Compare(s.last, r).AppendText(text)
	}
	text = append(text, rules(r.Remedies)...)
	if s.lines(flatten(nil, "", parts)); turn == every/2 {
		s.lines(text)
	}
	s.last = r
	return crc32.ChecksumIEEE(text)
}

// rules returns the texts for firewalls at each place.
func rules(list []Remedy) (b []byte) {
	for _, at := range []Place{PlaceOf(list, nil), OnContainer, OnRouter} {
		b = fmt.Append(b, NFT(list, at, true), IPTables(list, at, false, false), IPTables(list, at, true, true), Removal("iptables", list, at), "\n")
	}
	return b
}

// lines adds those that were not said before.
func (s *Said) lines(b []byte) {
	if s.known == nil {
		s.known = map[string]bool{}
	}
	for line := range strings.Lines(string(b)) {
		if !s.known[line] {
			s.WriteString(line)
		}
		s.known[line] = true
	}
}

// flatten appends a value of JSON as lines: one for each object, without what has lines of its own. Of long series there are length and checksum, of others the first eight.
func flatten(b []byte, path string, v any) []byte {
	line := v
	switch v := v.(type) {
	case map[string]any:
		plain := map[string]any{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			switch v[k].(type) {
			case map[string]any, []any:
				b = flatten(b, path+"."+k, v[k])
			default:
				plain[k] = v[k]
			}
		}
		line = plain
	case []any:
		if len(v) > 20 {
			x, _ := json.Marshal(v)
			return fmt.Appendf(b, "%s %d: %08x\n", path, len(v), crc32.ChecksumIEEE(x))
		}
		for _, x := range v[:min(len(v), 8)] {
			b = flatten(b, path, x)
		}
		return fmt.Appendf(b, "%s %d\n", path, len(v))
	}
	x, _ := json.Marshal(line)
	return fmt.Appendf(b, "%s %s\n", path, strings.ReplaceAll(string(x), `\n`, "\n"))
}

// Answer adds the answer to why.
func (s *Said) Answer(w *Answer) {
	fmt.Fprintf(s, "why %s %s %s %s", w.Server, w.State, w.Certainty, w.Cause)
	if len(w.Problems) > 1 {
		fmt.Fprint(s, w.Problems)
	}
	fmt.Fprintln(s)
	b := []byte(w.Text + "\n")
	for _, f := range w.Evidence {
		if len(f.Frames) > 0 {
			b = fmt.Appendf(b, "= %s\n", f.sentence())
		}
	}
	for _, text := range w.Advice {
		b = fmt.Appendf(b, "> %s\n", text)
	}
	s.lines(b)
}

// Verdicts adds those of a report.
func (s *Said) Verdicts(list []Verdict) {
	for _, v := range list {
		s.lines(fmt.Appendf(nil, "* %s %s %v\n", v.Certainty, v.Text, v.Evidence))
	}
}

// play adds what is said of plays and of the server of the last request, and returns the verdicts and the whole report in JSON.
func (s *Said) play(name string, list []made) (verdicts, report string) {
	server := list[len(list)-1].to
	a := settled(play(list, server))
	r := a.Report(Options{Rows: 6})
	text := s.Report(name, r)
	answers := a.Why(netip.AddrPortFrom(netip.MustParseAddr(server), 0), Options{})
	s.wrong = append(s.wrong, Contradictions(r, answers...)...)
	for _, w := range answers {
		s.Answer(w)
	}
	s.Verdicts(a.Report(Options{Home: []netip.Prefix{netip.MustParsePrefix("198.51.100.8/29")}}).Verdicts)
	s.Verdicts(a.Report(Options{OneSided: true}).Verdicts)
	for _, v := range r.Verdicts {
		verdicts += string(v.Certainty) + " " + v.Text + "\n"
	}
	b := inJSON(r, answers)
	if len(list)%3 > 0 {
		s.halves(list, server)
	}
	if s.Every > 1 {
		fmt.Fprintf(s, "all of it in JSON %08x, as text %08x\n", crc32.ChecksumIEEE(b), text)
	}
	return verdicts, string(b)
}

// settled completes what a shard counted, as a sum of shards is, if datagrams came that no protocol recognises.
func settled(shard *Aggregate) *Aggregate {
	if len(shard.strays.entries) == 0 {
		return shard
	}
	a := NewFocused(shard.focus.only)
	a.Merge(shard)
	a.Settle(slices.Values([]*Aggregate{shard}), false)
	return a
}

// inJSON returns values in JSON.
func inJSON(list ...any) []byte {
	b, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	return b
}

// Sum adds the checksum of values in JSON: the numbers of which no line is said.
func (s *Said) Sum(list ...any) {
	fmt.Fprintf(s, "in JSON %08x\n", crc32.ChecksumIEEE(inJSON(list...)))
}

// halves adds the verdicts on plays whose halves are captures of their own, of which counts were written and read, and kept in a small form.
func (s *Said) halves(list []made, server string) {
	sum := NewShards()
	for i, part := range [][]made{list[:len(list)/2], list[len(list)/2:]} {
		b := Collect(slices.Values([]*Aggregate{play(part, server)}), dissect.Stats{Messages: uint64(len(part))}).AppendBinary(nil)
		half, err := UnmarshalBinary(b, played, nil)
		if err != nil {
			panic(err)
		}
		half.Input(i)
		half.Lost(half.first/1e9, uint64(i), 2)
		sum.Fold(half)
	}
	if len(list)%4 > 0 {
		sum = sum.Compact(16 << (len(list) % 4))
	}
	a := sum.Sum()
	r := a.Report(Options{Rows: 6})
	s.Verdicts(r.Verdicts)
	fmt.Fprintf(s, "in halves %d/%d, in JSON and metrics %08x\n", r.Totals.Answered, r.Totals.Requests, crc32.ChecksumIEEE(a.AppendMetrics(inJSON(r), nil, 4)))
}

var digits = regexp.MustCompile(`[0-9][0-9.,:]*`)

// sweep plays something for all n, and adds from which n on which verdicts are said, what the answer is to why, and with which words, and what classes
// the clients have and how the reports compare with the first.
func (s *Said) sweep(name string, from, to int, of func(n int) []made) {
	before, first, numbers := "", (*Report)(nil), uint32(0)
	fmt.Fprintf(s, "\n== %s to %d\n", name, to)
	for n := from; n <= to; n++ {
		list := of(n)
		server := list[len(list)-1].to
		a, said, words := settled(play(list, server)), "", ""
		r := a.Report(Options{Rows: 2})
		if first == nil {
			first = r
		}
		for _, v := range r.Verdicts {
			words += strings.Join(append(slices.Clone(v.Because), v.Text, v.Doubt, v.Advice, fmt.Sprintln(v.Evidence)), "\n")
			if v := fmt.Sprint(v.Certainty, " ", v.Kind, ", "); !strings.HasSuffix(said, v) {
				said += v
			}
		}
		for i, o := range []Options{{OneSided: true}, {Home: []netip.Prefix{netip.MustParsePrefix("198.51.100.8/29")}}} {
			if to-from > 100 && n%2 != i {
				continue // these are by chance
			}
			for _, v := range a.Report(o).Verdicts {
				if v.Unusual() && !slices.ContainsFunc(r.Verdicts, func(x Verdict) bool { return x.Kind == v.Kind }) {
					said += either(o.OneSided, "one way ", "at home ") + v.Kind + ", "
				}
			}
		}
		w := a.Why(netip.AddrPortFrom(netip.MustParseAddr(server), 0), Options{})[0]
		s.wrong = append(s.wrong, Contradictions(r, w)...)
		said += fmt.Sprint("why ", w.State, " ", w.Certainty, " ", w.Cause)
		for _, c := range r.Clients {
			said += fmt.Sprint(", ", c.Class)
		}
		for _, l := range slices.Concat(r.Limits.PerAddress, r.Limits.Global) {
			if l.Best {
				said += fmt.Sprint(", limit ", l.N)
			}
		}
		c, back := Compare(first, r), Compare(r, first)
		words += strings.Join(append(w.Advice, w.Text, c.Helped, c.Cost, back.Helped, back.Cost, ""), "\n")
		numbers = crc32.Update(numbers, crc32.IEEETable, inJSON(r, w, c, back))
		if to < 100 {
			words += strings.Join(append(c.Answer, back.Answer...), "\n") + "\n"
		}
		now := said + digits.ReplaceAllString(words, "#")
		if now != before {
			fmt.Fprintf(s, "from %d: %s\n", n, said)
			if n > 60 { // nobody reads as many
				words = fmt.Sprintf("in words %08x\n", crc32.ChecksumIEEE([]byte(words)))
			}
			s.lines([]byte(words))
		}
		before = now
	}
	fmt.Fprintf(s, "in JSON %08x\n", numbers)
}
