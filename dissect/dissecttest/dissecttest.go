// Package dissecttest is the conformance suite of protocols. TestSamples of dissect/all runs it with
// testdata/samples.txt of each protocol; one that computes its samples has a test with
//
//	dissecttest.Run(t, Protocol(), samples)
//
// The suite checks the promises of all protocols: every byte of a payload lies in
// exactly one leaf; the result is the same with and without a tree, from a new decoder
// and from a warm one, and but for lists in bodies if these are not read; a warm decoder does not allocate; payloads that are truncated,
// flipped or random cause no panic, nor does a reader that fails at any read or at any
// limit of records; a truncated message does not pass as sound; and the samples cover
// the whole catalog.
package dissecttest

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/must"
)

// A Sample is one message of a protocol.
type Sample struct {
	Name string
	// Parts are the payloads of the message: one, or the parts of a split message in
	// order.
	Parts [][]byte
	// Message is the name of its type.
	Message string
	// Verdict is the lowest verdict that Detect may return for the first part.
	Verdict dissect.Verdict
	// Findings are the ids of its findings, without those of severity Chat. The single
	// entry "*" accepts any findings.
	Findings []string
	// Cut reports that the message may end anywhere: its truncations need no findings.
	Cut bool
	// Sound are the lengths of the last part at which the message may end, because the
	// rest is optional.
	Sound []int
	// Allocates reports that decoding may allocate. Decoding sound messages must not.
	Allocates bool

	got []Kept // what an analyzer of its own makes of it
}

// One returns a sample of one payload.
func One(name, message string, verdict dissect.Verdict, payload string, findings ...string) Sample {
	return Sample{Name: name, Parts: [][]byte{[]byte(payload)}, Message: message, Verdict: verdict, Findings: findings}
}

// port is the port for which the suite forces the protocol under test.
const port = 4

var (
	client = netip.MustParseAddrPort("192.0.2.1:40000")
	server = netip.MustParseAddrPort("198.51.100.1:4")
	start  = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Run runs the suite.
func Run(t *testing.T, p *dissect.Protocol, samples []Sample) {
	t.Helper()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	for i := range samples {
		samples[i].got = decode(t, p, samples[i].Parts, true)
	}
	t.Run("samples", func(t *testing.T) { runSamples(t, p, samples) })
	t.Run("coverage", func(t *testing.T) { runCoverage(t, p, samples) })
	t.Run("tree or not", func(t *testing.T) { runTreeOrNot(t, p, samples) })
	t.Run("skimmed", func(t *testing.T) { runSkimmed(t, p, samples) })
	t.Run("warm", func(t *testing.T) { runWarm(t, p, samples) })
	t.Run("truncated", func(t *testing.T) { runTruncated(t, p, samples) })
	t.Run("flipped", func(t *testing.T) { runFlipped(t, p, samples) })
	t.Run("random", func(t *testing.T) { runRandom(t, p, samples) })
	t.Run("others", func(t *testing.T) {
		for _, b := range others(samples) {
			Check(t, p, b)
		}
	})
	t.Run("failures", func(t *testing.T) { runFailures(t, p, samples) })
	t.Run("allocations", func(t *testing.T) { runAllocations(t, p, samples) })
}

// Seeds returns what the fuzzing of a decoder begins with: the samples, and what others
// makes of them. Tests that do not fuzz have none, because Run checks all of these.
func Seeds(samples []Sample) (list [][]byte) {
	if fuzz := flag.Lookup("test.fuzz"); fuzz == nil || fuzz.Value.String() == "" {
		return nil
	}
	for _, s := range samples {
		list = append(list, s.Parts...)
	}
	return append(list, others(samples)...)
}

// Fuzz fuzzes the decoder of a protocol.
func Fuzz(f *testing.F, p *dissect.Protocol, samples []Sample) {
	for _, b := range Seeds(samples) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, payload []byte) { Check(t, p, payload) })
}

// others returns the parts of split messages, an empty datagram, and one of 16 to 64 KB for every type
// of message, which fuzzers do not find: its first sample, followed by copies of its second half or of short settings.
func others(samples []Sample) (list [][]byte) {
	seen := map[string]bool{}
	for i, s := range samples {
		if len(s.Parts) > 1 {
			list = append(list, s.Parts...)
		}
		if seen[s.Message] || len(s.Parts) > 1 {
			continue
		}
		seen[s.Message] = true
		whole := s.Parts[0]
		again := whole[len(whole)/2:]
		if i%2 == 1 {
			again = [][]byte{[]byte(`\a\b`), []byte("a\x00b\x00"), []byte(`\`), []byte("1 1 \"x\"\n")}[i/2%4]
		}
		size := []int{16 << 10, 20_000, 40_000, 65_000}[i%4]
		list = append(list, append(bytes.Clone(whole), bytes.Repeat(again, (size-len(whole))/max(len(again), 1)+1)...)[:size])
	}
	return append(list, nil)
}

// Check decodes one payload, or the parts of one message, and fails if the tree or the
// findings break a promise, or if they differ when nobody reads the body. It is the body
// of fuzz targets.
func Check(t testing.TB, p *dissect.Protocol, parts ...[]byte) {
	t.Helper()
	got := decode(t, p, parts, true)
	for i := range got {
		checkRecord(t, p, &got[i])
	}
	for _, part := range parts {
		head := part[:min(len(part), 64)]
		if v := p.Detect(head); v != dissect.No && len(p.Starts) > 0 && !begins(p, head) {
			t.Errorf("Detect says %v of what begins with % x, which is not among the starts", v, head[:min(len(head), len(header)+wordBytes)])
		}
	}
	skimming(t, p)("skimmed", parts)
	_, _, _ = dissect.Parse(p, parts[0])
}

// A Kept is a copy of a record that outlives its handler.
type Kept struct {
	dissect.Record
	// BodyText is the body in Go syntax.
	BodyText string
}

// Has reports whether the record has a finding.
func (k *Kept) Has(f *dissect.FindingType) bool {
	return slices.ContainsFunc(k.Findings, func(g dissect.Finding) bool { return g.Type == f })
}

// A Keeper is a handler that keeps records.
type Keeper struct {
	Records []Kept
	noText  bool // leave BodyText empty, because it takes most of the time
}

// Record keeps a record.
func (k *Keeper) Record(r *dissect.Record) { k.keep(r, !k.noText) }

// keep keeps a record, with or without its body as text.
func (k *Keeper) keep(r *dissect.Record, body bool) {
	c := Kept{Record: *r}
	c.Frames = slices.Clone(r.Frames)
	c.Nodes = slices.Clone(r.Nodes)
	c.Sources = slices.Clone(r.Sources)
	for i := range c.Sources {
		c.Sources[i].Data = bytes.Clone(c.Sources[i].Data)
	}
	c.Findings = slices.Clone(r.Findings)
	summary := r.AppendSummary(nil)
	if body { // an empty list equals a missing one
		c.BodyText = strings.ReplaceAll(fmt.Sprintf("%s %#v", summary, reflect.Indirect(reflect.ValueOf(r.Body))), "(nil)", "{}")
	}
	k.Records = append(k.Records, c)
}

// Unknown keeps nothing of a datagram that no protocol recognises.
func (k *Keeper) Unknown(*dissect.Unknown) {}

// Finding makes the text of a finding without a message.
func (k *Keeper) Finding(f *dissect.FlowFinding) { f.AppendText(nil) }

func newAnalyzer(t testing.TB, p *dissect.Protocol, share *dissect.Analyzer, tree bool, h dissect.Handler) *dissect.Analyzer {
	t.Helper()
	return analyzing(t, dissect.Config{Protocols: []*dissect.Protocol{p}, Tree: tree, Share: share, Ended: func(*dissect.Exchange) {}}, h)
}

func feed(p *dissect.Protocol, a *dissect.Analyzer, parts [][]byte, at time.Time) {
	feedInto(p, a, new(dissect.Datagram), parts, at)
}

// analyzing returns an analyzer for which the port is that of its only protocol.
func analyzing(t testing.TB, c dissect.Config, h dissect.Handler) *dissect.Analyzer {
	t.Helper()
	c.DecodeAs = map[uint16]*dissect.Protocol{port: c.Protocols[0]}
	a, err := dissect.New(c, h)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// middle is the number of a frame in the middle of a capture: what lacks its first parts there did not begin before it.
const middle = 2001

func feedInto(p *dissect.Protocol, a *dissect.Analyzer, d *dissect.Datagram, parts [][]byte, at time.Time) {
	for i, part := range parts {
		*d = dissect.Datagram{Frame: middle + uint64(i), Time: at, Src: server, Dst: client, Payload: part}
		if p.Stream != nil {
			d.Stream = p
		}
		a.Datagram(d)
	}
}

func decode(t testing.TB, p *dissect.Protocol, parts [][]byte, tree bool) []Kept {
	var k Keeper
	a := analyzing(t, dissect.Config{Protocols: []*dissect.Protocol{p}, Tree: tree, KeepCopies: true, Ended: func(*dissect.Exchange) {}}, &k)
	feed(p, a, parts, start)
	a.Flush()
	return k.Records
}

// A skimmer keeps of records what is the same if nobody reads their bodies.
type skimmer struct{ Keeper }

func (k *skimmer) Record(r *dissect.Record) {
	summary := string(r.AppendSummary(nil))
	k.keep(r, false)
	k.Records[len(k.Records)-1].BodyText = summary
}

// skimming returns a function that decodes one message after another with and without reading
// its body, and fails if more differs than the body.
func skimming(t testing.TB, p *dissect.Protocol) func(what string, parts [][]byte) {
	t.Helper()
	var got [2]skimmer // with the body, without it
	var a [2]*dissect.Analyzer
	for i := range got {
		a[i] = analyzing(t, dissect.Config{Protocols: []*dissect.Protocol{p}, Skim: i > 0}, &got[i])
	}
	return func(what string, parts [][]byte) {
		for i := range got {
			got[i].Records = nil
			feed(p, a[i], parts, start)
			a[i].Flush()
		}
		same(t, what, got[1].Records, got[0].Records)
		for i := range got[0].Records {
			f, g := got[0].Records[i].Findings, got[1].Records[i].Findings
			for k := range f {
				if path(f[k].Field) != path(g[k].Field) || f[k].Source != g[k].Source || f[k].Length != g[k].Length {
					t.Errorf("%s: skimmed, %s is about %d bytes of %q, not %d of %q", what, f[k].Type.ID, g[k].Length, path(g[k].Field), f[k].Length, path(f[k].Field))
				}
			}
		}
	}
}

func path(f *dissect.Field) string {
	if f == nil {
		return ""
	}
	return f.Path
}

// decoding returns a function that decodes one message after another, damaged ones
// as well, with the same analyzer, and checks what it finds. The next call overwrites its result.
func decoding(t testing.TB, p *dissect.Protocol) func(parts [][]byte) []Kept {
	t.Helper()
	k := Keeper{noText: true}
	// Each message is flushed, so that there are no duplicates; their table would be made anew for each.
	a := analyzing(t, dissect.Config{Protocols: []*dissect.Protocol{p}, Tree: true, KeepCopies: true, Ended: func(*dissect.Exchange) {}}, &k)
	return func(parts [][]byte) []Kept {
		k.Records = k.Records[:0]
		feed(p, a, parts, start)
		a.Flush()
		for i := range k.Records {
			checkRecord(t, p, &k.Records[i])
		}
		return k.Records
	}
}

// Decode decodes one message for further tests.
func Decode(t testing.TB, p *dissect.Protocol, parts ...[]byte) Kept {
	t.Helper()
	got := decode(t, p, parts, true)
	if len(got) != 1 {
		t.Fatalf("%d messages, want 1", len(got))
	}
	return got[0]
}

// header is the header that many protocols share, and wordBytes how much of what follows
// it counts, see [dissect.Protocol].Starts.
const (
	header    = "\xff\xff\xff\xff"
	wordBytes = 5
)

// begins reports whether a payload begins with one of the starts of a protocol, as far as
// the analyzer compares them, or may be the beginning of one.
func begins(p *dissect.Protocol, b []byte) bool {
	return slices.ContainsFunc(p.Starts, func(start string) bool {
		n := min(len(start), len(b), 2)
		if string(b[:n]) != start[:n] {
			return false
		}
		word, ok := strings.CutPrefix(start, header)
		rest, headed := bytes.CutPrefix(b, []byte(header))
		switch {
		case !ok || !headed || word == "" || len(rest) == 0:
			return true
		case len(word) < wordBytes:
			return rest[0] == word[0]
		}
		n = wordBytes
		if len(rest) < n {
			n = 1
		}
		return strings.EqualFold(string(rest[:n]), word[:n])
	})
}

// checkStarts checks that no payload that differs from a sample in its second byte, or
// in one of those after FF FF FF FF, would be recognised by Detect and is never shown to
// it.
func checkStarts(t *testing.T, p *dissect.Protocol, head []byte) {
	if len(p.Starts) == 0 {
		return
	}
	b := bytes.Clone(head)
	for at := 1; at < min(len(b), len(header)+wordBytes); at++ {
		if at > 1 && !bytes.HasPrefix(head, []byte(header)) || at > 1 && at < len(header) {
			continue
		}
		for c := range 256 {
			b[at] = byte(c)
			if v := p.Detect(b); v != dissect.No && !begins(p, b) {
				t.Errorf("Starts lacks % x: Detect says %v", b[:at+1], v)
				return
			}
		}
		b[at] = head[at]
	}
}

func runSamples(t *testing.T, p *dissect.Protocol, samples []Sample) {
	for _, s := range samples {
		t.Run(s.Name, func(t *testing.T) {
			head := s.Parts[0][:min(len(s.Parts[0]), 64)]
			if v := p.Detect(head); v < s.Verdict {
				t.Errorf("Detect says %v, want at least %v", v, s.Verdict)
			}
			checkStarts(t, p, head)
			_, _, _ = dissect.Parse(p, s.Parts[0])
			if len(s.got) != 1 {
				t.Fatalf("%d messages, want 1", len(s.got))
			}
			r := &s.got[0]
			if r.Type.Name != s.Message {
				t.Errorf("message %s, want %s", r.Type.Name, s.Message)
			}
			checkRecord(t, p, r)
			var ids []string
			for i := range r.Findings {
				if r.Findings[i].Type.Severity > dissect.Chat {
					ids = append(ids, r.Findings[i].Type.ID)
				}
			}
			if !slices.Equal(s.Findings, []string{"*"}) && !slices.Equal(ids, s.Findings) {
				t.Errorf("findings %q, want %q", ids, s.Findings)
			}
		})
	}
}

// checkRecord fails the test if a record breaks a promise.
func checkRecord(t testing.TB, p *dissect.Protocol, r *Kept) {
	if !slices.Contains(p.Catalog.Messages(), r.Type) {
		t.Errorf("message %v is not declared", r.Type)
	}
	declared := p.Catalog.Fields()
	covered := make([][]uint8, len(r.Sources))
	for i := range r.Sources {
		covered[i] = make([]uint8, len(r.Sources[i].Data))
	}
	type open struct {
		node int
		keys []string
	}
	stack := append(make([]open, 0, 8), open{node: -1})
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if !slices.Contains(declared, n.Field) && !slices.Contains(declared, n.Field.Column) && n.Field.Path != "leftover" {
			t.Errorf("field %s is not declared", n.Field.Path)
		}
		if int(n.Source) >= len(r.Sources) || int(n.Off)+int(n.Len) > len(r.Sources[n.Source].Data) {
			t.Fatalf("%s reaches beyond its source: %d+%d", n.Field.Path, n.Off, n.Len)
		}
		for len(stack) > int(n.Depth)+1 {
			stack = stack[:len(stack)-1]
		}
		if len(stack) != int(n.Depth)+1 {
			t.Fatalf("%s stands at depth %d below depth %d", n.Field.Path, n.Depth, len(stack)-1)
		}
		top := &stack[len(stack)-1]
		if top.node >= 0 {
			g := &r.Nodes[top.node]
			// A child of a group may follow it (Reader.Seek), but must not cross its
			// end.
			if g.Source == n.Source && (n.Off < g.Off || n.Off < g.Off+g.Len && n.Off+n.Len > g.Off+g.Len) {
				t.Errorf("%s at %d+%d lies outside its group %s at %d+%d", n.Field.Path, n.Off, n.Len, g.Field.Path, g.Off, g.Len)
			}
		}
		if (top.node < 0 || r.Nodes[top.node].Field.Kind == dissect.Group) && !n.Field.Framing {
			key := n.Field.Key()
			if slices.Contains(top.keys, key) {
				t.Errorf("key %s stands twice in one object", key)
			}
			top.keys = append(top.keys, key)
		}
		if n.Field.Kind.Container() {
			stack = append(stack, open{node: i})
			continue
		}
		for k := range n.Len {
			covered[n.Source][n.Off+k]++
		}
		n.Value(r.Sources[n.Source].Data)
	}
	for s := range covered {
		for i, c := range covered[s] {
			if c != 1 {
				t.Errorf("byte %d of source %d (%s) lies in %d leaves", i, s, r.Sources[s].Name, c)
				break
			}
		}
	}
	checkFindings(t, p, r)
}

func checkFindings(t testing.TB, p *dissect.Protocol, r *Kept) {
	for i := range r.Findings {
		f := &r.Findings[i]
		if !slices.Contains(p.Catalog.Findings(), f.Type) && !slices.Contains(dissect.CommonFindings(), f.Type) {
			t.Errorf("finding %s is not declared", f.Type.ID)
		}
		if f.Source >= len(r.Sources) || f.Offset < 0 || f.Length < 0 || f.Offset+f.Length > len(r.Sources[f.Source].Data) {
			t.Errorf("finding %s is about bytes that are not there: source %d, %d+%d", f.Type.ID, f.Source, f.Offset, f.Length)
		}
		if len(f.AppendText(nil)) == 0 {
			t.Errorf("finding %s says nothing", f.Type.ID)
		}
	}
}

// runCoverage fails the test if no sample has a declared field or message.
func runCoverage(t *testing.T, p *dissect.Protocol, samples []Sample) {
	seen := map[any]bool{p.Catalog.Data(): true, p.Catalog.Lookup(p.Name + ".trailing"): true}
	for _, s := range samples {
		var k Keeper
		if p.Stream != nil { // the bytes may not tell who sends it
			newAnalyzer(t, p, nil, true, &k).Datagram(&dissect.Datagram{Frame: middle, Time: start, Src: server, Dst: client, Payload: s.Parts[0], Stream: p, FromServer: true})
		}
		for _, r := range append(k.Records, s.got...) {
			seen[r.Type] = true
			for i := range r.Nodes {
				seen[r.Nodes[i].Field] = true
				seen[r.Nodes[i].Field.Column] = true
			}
		}
	}
	for _, f := range p.Catalog.Fields() {
		if !seen[f] {
			t.Errorf("no sample has the field %s", f.Path)
		}
	}
	for _, m := range p.Catalog.Messages() {
		if !seen[m] {
			t.Errorf("no sample is a %s", m.Name)
		}
	}
}

func same(t testing.TB, what string, got, want []Kept) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d messages, want %d", what, len(got), len(want))
	}
	for i := range got {
		g, w := &got[i], &want[i]
		if g.BodyText != w.BodyText || g.Type != w.Type || g.Server != w.Server || g.Pair != w.Pair || g.Length != w.Length || g.Split != w.Split {
			t.Errorf("%s: message %d differs:\n%s %+v\n%s %+v", what, i, g.BodyText, g.Server, w.BodyText, w.Server)
		}
		if gf, wf := texts(g.Findings), texts(w.Findings); !slices.Equal(gf, wf) {
			t.Errorf("%s: findings %q, want %q", what, gf, wf)
		}
	}
}

// texts returns the ids and the texts of findings.
func texts(list []dissect.Finding) (all []string) {
	for i := range list {
		all = append(all, string(list[i].AppendText([]byte(list[i].Type.ID+" "))))
	}
	return all
}

func runTreeOrNot(t *testing.T, p *dissect.Protocol, samples []Sample) {
	for _, s := range samples {
		without := decode(t, p, s.Parts, false)
		same(t, s.Name, without, s.got)
		if len(without) > 0 && len(without[0].Nodes) > 0 {
			t.Errorf("%s: nodes without being asked for", s.Name)
		}
	}
}

// runSkimmed decodes all samples, truncated and damaged as well, with and without reading
// their bodies.
func runSkimmed(t *testing.T, p *dissect.Protocol, samples []Sample) {
	rng := rand.New(rand.NewPCG(5, 6))
	check := skimming(t, p)
	for _, s := range samples {
		check(s.Name, s.Parts)
		last := s.Parts[len(s.Parts)-1]
		for range must.Try(2, 20) {
			parts := slices.Clone(s.Parts)
			parts[len(parts)-1] = last[:rng.IntN(len(last)+1)]
			check(s.Name+", cut", parts)
			damaged := bytes.Clone(last)
			for i := range damaged {
				if rng.IntN(8) == 0 {
					damaged[i] = []byte{0, 1, '\\', 0x80, 0xe9, 'a'}[rng.IntN(6)]
				}
			}
			parts[len(parts)-1] = damaged
			check(s.Name+", damaged", parts)
		}
	}
	for i, b := range others(samples) {
		check(fmt.Sprint("other ", i), [][]byte{b})
	}
}

// runWarm decodes all samples with one analyzer, in order and in reverse, and compares
// the results with those of new analyzers: no message may affect the next.
func runWarm(t *testing.T, p *dissect.Protocol, samples []Sample) {
	p = alone(p)
	var k Keeper
	a := newAnalyzer(t, p, nil, true, &k)
	at := start
	order := slices.Clone(samples)
	for i := range order {
		order[i].got = decode(t, p, order[i].Parts, true)
		for k := range order[i].got {
			order[i].got[k].Findings = slices.DeleteFunc(order[i].got[k].Findings, func(f dissect.Finding) bool { return isPairing(p, f.Type) })
		}
	}
	back := slices.Clone(order)
	slices.Reverse(back)
	for _, s := range append(order, back...) {
		at = at.Add(time.Hour)
		a.Advance(at)
		k.Records = k.Records[:0]
		feed(p, a, s.Parts, at)
		a.Advance(at.Add(time.Minute * 30))
		var got []Kept
		for _, r := range k.Records {
			r.Findings = slices.DeleteFunc(r.Findings, func(f dissect.Finding) bool { return isPairing(p, f.Type) })
			got = append(got, r)
		}
		same(t, s.Name, got, s.got)
	}
}

// alone returns a protocol without rules about conversations.
func alone(p *dissect.Protocol) *dissect.Protocol {
	own := *p
	own.Pairing.OnRequest, own.Pairing.OnReply, own.Pairing.OnStray = nil, nil, nil
	return &own
}

// isPairing reports whether a finding depends on the conversation although the protocol
// has no rules.
func isPairing(p *dissect.Protocol, f *dissect.FindingType) bool {
	if s := p.Split; s != nil && (f == s.Incomplete || f == s.Endless) {
		return true // its text has the reason, which differs
	}
	return f == core.Retransmitted || f == core.LastPart
}

// runTruncated truncates every sample at every byte.
func runTruncated(t *testing.T, p *dissect.Protocol, samples []Sample) {
	decode := decoding(t, p)
	for _, s := range samples {
		t.Run(s.Name, func(t *testing.T) {
			last := s.Parts[len(s.Parts)-1]
			silent := -1
			for n := 0; n < len(last); n += must.Try(1+len(last)/150, 1) {
				parts := append(slices.Clone(s.Parts[:len(s.Parts)-1]), bytes.Clone(last[:n]))
				got := decode(parts)
				sound := true
				for i := range got {
					for k := range got[i].Findings {
						if got[i].Findings[k].Type.Severity >= dissect.Note {
							sound = false
						}
					}
				}
				if t.Failed() {
					t.Fatalf("cut after %d bytes", n)
				}
				if len(got) > 0 && sound && n > 0 && !slices.Contains(s.Sound, n) {
					silent = n
				}
			}
			if silent >= 0 && !s.Cut {
				t.Errorf("cut after %d of %d bytes passes as sound", silent, len(last))
			}
		})
	}
}

// runFlipped flips every bit of the first bytes.
func runFlipped(t *testing.T, p *dissect.Protocol, samples []Sample) {
	decode := decoding(t, p)
	for _, s := range samples {
		t.Run(s.Name, func(t *testing.T) {
			for i := range s.Parts {
				for bit := 0; bit < min(len(s.Parts[i]), 96)*8; bit += must.Try(9, 1) { // 9: another bit of each byte
					parts := slices.Clone(s.Parts)
					parts[i] = bytes.Clone(parts[i])
					parts[i][bit/8] ^= 1 << (bit % 8)
					if decode(parts); t.Failed() {
						t.Fatalf("bit %d of part %d flipped", bit, i)
					}
				}
			}
		})
	}
}

// runRandom decodes random bytes, with and without the beginning of a sample.
func runRandom(t *testing.T, p *dissect.Protocol, samples []Sample) {
	decode := decoding(t, p)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range must.Try(400, 4000) {
		noise := make([]byte, rng.IntN(200))
		for k := range noise {
			noise[k] = byte(rng.Uint32())
		}
		if i%2 == 0 && len(samples) > 0 {
			head := samples[rng.IntN(len(samples))].Parts[0]
			noise = append(bytes.Clone(head[:rng.IntN(len(head)+1)]), noise...)
		}
		if decode([][]byte{noise}); t.Failed() {
			t.Fatalf("noise %x", noise)
		}
	}
}

// nobody is a handler that keeps nothing.
type nobody struct{ n int }

func (n *nobody) Record(*dissect.Record)       { n.n++ }
func (n *nobody) Unknown(*dissect.Unknown)     { n.n++ }
func (n *nobody) Finding(*dissect.FlowFinding) { n.n++ }

func runAllocations(t *testing.T, p *dissect.Protocol, samples []Sample) {
	for _, tree := range []bool{false, true} {
		a := newAnalyzer(t, p, nil, tree, &nobody{})
		at := start
		var d dissect.Datagram
		for _, s := range samples {
			if s.Allocates {
				continue
			}
			run := func() {
				at = at.Add(time.Minute)
				a.Advance(at)
				feedInto(p, a, &d, s.Parts, at)
			}
			for range 3 {
				run()
			}
			if n := testing.AllocsPerRun(20, run); n != 0 {
				t.Errorf("%s allocates %v times (tree: %v)", s.Name, n, tree)
			}
		}
	}
}

// runFailures makes the reader fail at every read of every sample, and at every limit
// of records. Nothing else reaches the code after such failures: a datagram that
// exceeds the limit of records has 16 KB. The tree must stay sound, and the decoder
// must decode the next message as before.
func runFailures(t *testing.T, p *dissect.Protocol, samples []Sample) {
	k := Keeper{noText: true}
	a := newAnalyzer(t, p, nil, true, &k)
	bare := newAnalyzer(t, p, a, false, &nobody{})
	for _, s := range samples {
		t.Run(s.Name, func(t *testing.T) {
			try := func(inject core.Inject) (hit bool) {
				defer func() {
					if e := recover(); e != nil {
						t.Errorf("%+v: panic: %v", inject, e)
						panic(e)
					}
				}()
				a.Inner(core.Only{}).Inject(&inject)
				k.Records = k.Records[:0]
				feed(p, a, s.Parts, start)
				a.Flush()
				for i := range k.Records {
					checkRecord(t, p, &k.Records[i])
				}
				if t.Failed() {
					t.Fatalf("%+v", inject)
				}
				hit = inject.Hit || slices.ContainsFunc(k.Records, func(r Kept) bool { return r.Has(core.TooManyRecords) })
				feed(p, bare, s.Parts, start)
				bare.Flush()
				return hit
			}
			for n := 1; try(core.Inject{Read: n}); n += 1 + n/must.Try(8, 64) {
			}
			for n := 1; try(core.Inject{Records: n}); n += 1 + n/must.Try(8, 64) {
			}
			a.Inner(core.Only{}).Inject(nil)
			k.Records, k.noText = k.Records[:0], false
			feed(p, a, s.Parts, start)
			a.Flush()
			same(t, "after failures", k.Records, s.got)
			k.noText = true
		})
	}
}
