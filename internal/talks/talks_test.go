package talks_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/hostile"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/talks"
	"github.com/qdissect/qdissect/reassembly"
	"github.com/qdissect/qdissect/report"
)

var config = dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign()}

func path(capture string) string {
	return filepath.Join("..", "..", "testdata", "pcaps", filepath.FromSlash(capture))
}

// of returns the conversations of captures.
func of(t *testing.T, workers int, captures ...string) []stats.Talk {
	t.Helper()
	return from(t, pipeline.Options{Workers: workers}, captures...).Talks
}

// from returns a report with conversations.
func from(t *testing.T, o pipeline.Options, captures ...string) *stats.Report {
	t.Helper()
	o.Analysis, o.Out, o.Trouble = config, io.Discard, func(error) {}
	o.Counts = &pipeline.Counts{Stats: stats.New(), Talks: talks.New()}
	so := stats.Options{}
	for _, c := range captures {
		if o.Source == nil {
			o.Inputs = append(o.Inputs, path(c))
		}
		so.Made.Files = append(so.Made.Files, stats.File{Name: c, Word: c})
	}
	o.Reporter = func() report.Reporter { return report.NewCounts() }
	must.Get(pipeline.Run(o))(t)
	r := o.Counts.Stats.Report(so)
	r.Talks = o.Counts.Talks.List(r.Findings, config, so.Made.Files)
	return r
}

// live plays a file as a live capture, which ends with an error.
type live struct{ *capture.Reader }

func (live) Complete() time.Time                { return time.Time{} }
func (live) Counts() (received, dropped uint64) { return 0, 0 }

// TestLive: the conversations of a live capture are those of a file.
func TestLive(t *testing.T) {
	for _, name := range []string{"a2s/trouble.pcap", "quake3/trouble.pcap"} {
		r := must.Get(capture.Open(path(name)))(t)
		o := pipeline.Options{Source: &pipeline.Source{Source: live{r}}, Events: &pipeline.Events{Clock: func() time.Time { return time.Unix(0, 0) }}}
		got, _ := json.Marshal(from(t, o, name).Talks)
		if want, _ := json.Marshal(of(t, 1, name)); string(got) != string(want) || len(got) < 10_000 {
			t.Errorf("%s: live\n%.2000s\nfrom the file\n%.2000s", name, got, want)
		}
		r.Close()
	}
}

// TestSchema: reports with conversations are as the schema says.
func TestSchema(t *testing.T) {
	var b bytes.Buffer
	must.Do(t, stats.WriteSchema(&b))
	v, c := must.Get(jsonschema.UnmarshalJSON(&b))(t), jsonschema.NewCompiler()
	must.Do(t, c.AddResource("report.json", v))
	schema := c.MustCompile("report.json")
	for _, name := range []string{"a2s/trouble.pcap", "quake3/trouble.pcap", "icmp/errors4.pcap", "gamespy1/swat4.pcap"} {
		text := must.Get(json.Marshal(from(t, pipeline.Options{}, name)))(t)
		v := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(text)))(t)
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// ladder writes a conversation with an arrow for each message.
func ladder(k *stats.Talk) string {
	var s []string
	for _, m := range k.Messages {
		line := fmt.Sprintf("%d%s%s", m.Frame, nettext.Either(m.Up, "->", "<-"), m.Message)
		if m.RTT > 0 {
			line += " " + m.RTT.String()
		}
		if m.Bytes == "" {
			line += " no bytes"
		}
		if len(m.Findings) > 0 {
			line += fmt.Sprintf(" %d!", len(m.Findings))
		}
		s = append(s, line)
	}
	return strings.Join(s, "; ")
}

// TestConversations: a finding has its exchange with what came before it, whether it belongs to a message or to none.
func TestConversations(t *testing.T) {
	for _, c := range []struct{ capture, why, want string }{
		{"a2s/documents.pcap", "", "1->info_request; 2<-info_reply 12.345ms; 9->challenge_request; 10<-challenge_reply 12.345ms; 11->ping_request; 12<-ping_reply 12.345ms; 13->ping_request; 14<-ping_reply 12.345ms"},
		{"a2s/challenges.pcap", "a2s.info.counts", "7->info_request; 8<-challenge_reply 12.345ms; 9->info_request 1!; 10<-info_reply 12.345ms 1!"},
		{"a2s/fragments-lost.pcap", "ip.frag.missing", "1->rules_request; 2<- no bytes 1!"},
		{"icmp/errors4.pcap", "icmp.port_unreachable", "1->info_request 1!"},
		{"a2s/trouble.pcap", "a2s.split.missing", "20->rules_request; 23<-rules_reply 12.345ms 1!"},
	} {
		list := of(t, 1, c.capture)
		i := slices.IndexFunc(list, func(k stats.Talk) bool { return k.Why == c.why || slices.Contains(k.Also, c.why) })
		if i < 0 {
			t.Errorf("%s: no %q in %+v", c.capture, c.why, list)
		} else if got := ladder(&list[i]); got != c.want {
			t.Errorf("%s, %q:\n%s\nwant\n%s", c.capture, c.why, got, c.want)
		}
	}
}

// TestBytes: messages are in order, and every byte that is shown lies in one field.
func TestBytes(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join("..", "..", "testdata", "pcaps", "*", "*.pcap*"))
	root := filepath.Join("..", "..", "testdata", "pcaps")
	messages := 0
	for _, path := range paths {
		name, _ := filepath.Rel(root, path)
		for _, k := range of(t, 1, filepath.ToSlash(name)) {
			last := uint64(0)
			for _, m := range k.Messages {
				if m.Frame < last || m.Frame == last && k.Protocol != "minecraft-java" { // a segment may carry several messages
					t.Errorf("%s: frame %d after %d", name, m.Frame, last)
				}
				last = m.Frame
				b, err := hex.DecodeString(m.Bytes)
				if err != nil || len(b) > 512 {
					t.Errorf("%s: %d bytes, %v", name, len(b), err)
				}
				owners := make([]int, len(b))
				for _, f := range m.Fields {
					for at := f.Offset; at < min(f.Offset+f.Length, len(b)); at++ {
						owners[at]++
					}
				}
				if at := slices.IndexFunc(owners, func(n int) bool { return n > 1 || n == 0 && len(m.Fields) < 128 }); at >= 0 {
					t.Errorf("%s, frame %d: byte %d lies in %d fields", name, m.Frame, at, owners[at])
				}
				messages++
			}
		}
	}
	if messages < 500 {
		t.Errorf("%d messages", messages)
	}
}

// TestWorkers: the conversations do not depend on the number of workers.
func TestWorkers(t *testing.T) {
	captures := []string{"a2s/trouble.pcap", "hostile/forged.pcap", "quake3/trouble.pcap", "icmp/trouble.pcapng"}
	var want []byte
	for _, n := range []int{1, 2, 8} {
		got := must.Get(json.Marshal(of(t, n, captures...)))(t)
		if want == nil {
			want = got
		}
		if len(got) < 10_000 || string(got) != string(want) {
			t.Errorf("%d workers: %d bytes, with one %d", n, len(got), len(want))
		}
	}
}

// fakes are findings for the tests.
func fakes(n int) (list []*dissect.FindingType) {
	for i := range n {
		list = append(list, &dissect.FindingType{ID: fmt.Sprintf("test.fake%d", i), Severity: dissect.Severity(1 + i%3), Text: "fake"})
	}
	return list
}

// A forger adds a finding to every message.
type forger struct {
	*talks.Talks
	fakes []*dissect.FindingType
	n     int
}

func (f *forger) Record(r *dissect.Record) {
	if len(f.fakes) > 0 {
		r.Findings = append(r.Findings, dissect.NewFinding(f.fakes[f.n%len(f.fakes)]))
		f.n++
	}
	f.Talks.Record(r)
}

func (f *forger) Unknown(*dissect.Unknown) {}

// TestSecrets: passwords are in no conversation.
func TestSecrets(t *testing.T) {
	const secret = "Tr0ub4dor"
	in := must.Get(capture.Open(path("hostile/secrets.pcap")))(t)
	defer in.Close()
	decoder := packet.NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, func(*packet.Loss) {})
	flows := map[netip.AddrPort][]*dissect.Datagram{}
	for frame := new(capture.Frame); in.Next(frame) == nil; {
		var d packet.Datagram
		decoder.Decode(&packet.Frame{Number: frame.Number, Time: frame.Time.UTC(), LinkType: frame.LinkType, Data: frame.Data, Length: frame.Length}, &d)
		client := nettext.Either(d.Dst.Addr() == netip.MustParseAddr("203.0.113.99"), d.Dst, d.Src)
		flows[client] = append(flows[client], &dissect.Datagram{Frame: frame.Number, Time: frame.Time.UTC(), Src: d.Src, Dst: d.Dst, Payload: bytes.Clone(d.Payload)})
	}
	masked := 0
	for client, datagrams := range flows {
		f := &forger{Talks: talks.New(), fakes: fakes(1)}
		a := must.Get(dissect.New(config, f))(t)
		for _, d := range datagrams {
			a.Datagram(d)
		}
		a.Flush()
		for _, k := range f.List([]stats.Finding{{ID: f.fakes[0].ID}}, config, nil) {
			for _, m := range k.Messages {
				b, _ := hex.DecodeString(m.Bytes)
				text := string(b) + m.Summary
				for _, v := range m.Fields {
					text += v.Value
				}
				if strings.Contains(text, secret[:4]) || strings.Contains(text, secret[4:]) {
					t.Errorf("%s: %q", client, text)
				}
				if strings.Contains(string(b), "***") {
					masked++
				}
			}
		}
	}
	if masked < 60 {
		t.Errorf("%d messages with secrets are shown", masked)
	}
}

// TestLimits: what is kept is bounded, whatever comes.
func TestLimits(t *testing.T) {
	f := &forger{Talks: talks.New(), fakes: fakes(500)}
	a, reply := must.Get(dissect.New(config, f))(t), []byte(hostile.Rules(60))
	for i := range 20_000 {
		ends := netip.AddrPortFrom(netip.AddrFrom4([4]byte{100, 64, byte(i >> 12), byte(i >> 4)}), 4000)
		d := dissect.Datagram{Frame: uint64(i + 1), Time: time.Unix(1e9, int64(i)*1e7), Src: netip.MustParseAddrPort("198.51.100.10:27015"), Dst: ends, Payload: reply}
		a.Datagram(&d)
	}
	if n, size := f.Kept(); n != talks.MaxTalks || size > talks.AllBytes || size < talks.AllBytes/4 {
		t.Errorf("%d conversations of %d bytes", n, size)
	}
}

// TestNoAllocations: messages without findings cost no memory.
func TestNoAllocations(t *testing.T) {
	f := &forger{Talks: talks.New()}
	a := must.Get(dissect.New(config, f))(t)
	client, server := netip.MustParseAddrPort("192.0.2.1:4000"), netip.MustParseAddrPort("198.51.100.10:27015")
	request, reply := []byte("\xff\xff\xff\xffTSource Engine Query\x00"), []byte(hostile.Info("name", 3))
	var d dissect.Datagram
	say := func(src, dst netip.AddrPort, payload []byte) {
		d.Frame, d.Src, d.Dst, d.Payload = d.Frame+1, src, dst, payload
		d.Time = time.Unix(1e9, int64(d.Frame)*5e7)
		a.Datagram(&d)
	}
	ask := func() {
		say(client, server, request)
		say(server, client, reply)
	}
	for range 2000 {
		ask()
	}
	before, size := f.Kept()
	if before == 0 || size == 0 {
		t.Error("nothing is kept")
	}
	if n := testing.AllocsPerRun(100, ask); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if after, _ := f.Kept(); after != before {
		t.Errorf("%d conversations, before %d", after, before)
	}
}

// TestCodec checks that conversations that were written and read are shown as they were, that folding them changes nothing,
// and that damaged ones do no harm.
func TestCodec(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, name := range []string{"a2s/trouble.pcap", "quake3/trouble.pcap", "icmp/errors4.pcap", "gamespy1/swat4.pcap"} {
		o := pipeline.Options{Inputs: []string{path(name)}, Analysis: config, Out: io.Discard, Counts: &pipeline.Counts{Stats: stats.New(), Talks: talks.New()}, Trouble: func(error) {}}
		o.Reporter = func() report.Reporter { return report.NewCounts() }
		must.Get(pipeline.Run(o))(t)
		b := o.Counts.Talks.AppendBinary(nil)
		read, err := talks.UnmarshalBinary(b, config.Protocols)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		folded := talks.New()
		folded.Fold(read)
		if !bytes.Equal(folded.AppendBinary(nil), b) {
			t.Errorf("%s: what was read is not what was written", name)
		}
		later, _ := talks.UnmarshalBinary(b, config.Protocols)
		later.Renumber(1)
		folded.Fold(later)
		files := []stats.File{{Name: name, Word: name}}
		findings := o.Counts.Stats.Report(stats.Options{}).Findings
		want, _ := json.MarshalIndent(o.Counts.Talks.List(findings, config, files), "", " ")
		got, _ := json.MarshalIndent(folded.List(findings, config, files), "", " ")
		if d := cmp.Diff(string(want), string(got)); d != "" || len(got) < 3000 {
			t.Errorf("%s: -run +folded\n%s", name, d)
		}
		accepted := 0
		for range must.Try(100, 3000) {
			x := bytes.Clone(b)
			for range 1 + r.IntN(3) {
				x[r.IntN(len(x))] = byte(r.Uint32())
			}
			if d, err := talks.UnmarshalBinary(x, config.Protocols); err == nil {
				d.List(findings, config, files)
				accepted++
			}
		}
		if accepted == 0 {
			t.Errorf("%s: nothing damaged is accepted", name)
		}
		for n := 0; n < len(b); n += must.Try(997, 61) {
			if _, err := talks.UnmarshalBinary(b[:n], config.Protocols); err == nil {
				t.Errorf("%s: %d of %d bytes are accepted", name, n, len(b))
			}
		}
	}
}
