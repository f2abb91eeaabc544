package pipeline

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/talks"
	"github.com/qdissect/qdissect/reassembly"
	"github.com/qdissect/qdissect/report"
)

var update = flag.Bool("update", false, "write the goldens")

// A lined is what runs write and tell, in the order in which they do. Of lines that an earlier run wrote there are number and checksum.
type lined struct {
	sync.Mutex
	bytes.Buffer
	known map[string]bool
	left  int // frames to save, or replies of a reporter, until an error
	end   error
	// The writes so far, without what is said, and the one that fails.
	writes, full int
}

func (l *lined) Write(b []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	if l.writes++; l.writes == l.full || len(b) == 0 {
		return 0, errFull
	}
	return l.Buffer.Write(b)
}

func (l *lined) say(what string, values ...any) {
	l.Lock()
	defer l.Unlock()
	fmt.Fprintln(&l.Buffer, slices.Insert(values, 0, any("! "+what))...)
}

// Save and Flush make it a Saver, which may have an end.
func (l *lined) Save(f *capture.Frame) error {
	l.say("saved", f.Number, len(f.Data), strings.Join(f.Comments, "; "))
	if l.left--; l.left == 0 {
		return l.end
	}
	return nil
}

func (l *lined) Flush() error { l.say("flushed"); return nil }

var errFull = errors.New("the disk is full")

// exchanging also writes what became of requests.
type exchanging struct {
	*report.Text
	said *lined
}

func (r exchanging) Exchange(x *dissect.Exchange) error {
	r.said.say("exchange", x.Type.Name, x.Requests, x.Replies, x.ReplyBytes, x.ReplyFrame, x.Timed, x.Server != nil, x.From.IsValid(), x.Outcome, x.Frame)
	return nil
}

// nth chooses by the number of the frame.
type nth uint64

func (n nth) Record(r *dissect.Record) bool       { return r.Frame%uint64(n) == 0 }
func (n nth) Unknown(u *dissect.Unknown) bool     { return u.Frame%uint64(n) == 0 }
func (n nth) Finding(f *dissect.FlowFinding) bool { return f.Frame%uint64(n) == 0 }

// walking says what a walk finds.
type walking struct{ *lined }

func (w walking) Record(r *dissect.Record) {
	w.say("message", r.Frame, r.Type.Name, r.Frames, len(r.Findings))
}
func (w walking) Unknown(u *dissect.Unknown)     { w.say("unknown", u.Frame, u.Frames) }
func (w walking) Finding(f *dissect.FlowFinding) { w.say("finding", f.Frame, f.Type.ID, f.ICMPFrame) }

// A scene returns frames, or nothing for 300 ms where there is none, and says when it is asked.
type scene struct {
	said *lined
	list []*capture.Frame
	n    uint64
	at   time.Time
	stop chan struct{}
	end  error
}

func (p *scene) Next(f *capture.Frame) error {
	p.said.say("next after", bytes.Count(p.said.Bytes(), []byte("\n")))
	switch {
	case len(p.list) == 0:
		if p.stop != nil {
			close(p.stop)
			p.stop = nil
		}
		p.at = p.at.Add(time.Second)
		return p.end
	case p.list[0] == nil:
		p.at = p.at.Add(300 * time.Millisecond)
		p.list = p.list[1:]
		return capture.ErrQuiet
	}
	p.n++
	*f, p.list = *p.list[0], p.list[1:]
	if f.Number = p.n; !f.Time.IsZero() {
		p.at = f.Time.UTC()
	}
	return nil
}

func (p *scene) LinkType() (uint16, bool)           { return 101, true }
func (p *scene) Complete() time.Time                { return p.at }
func (p *scene) Counts() (received, dropped uint64) { return p.n + 1, p.n }
func (p *scene) Close() error                       { return nil }

// TestOptions: what runs write and tell with each option, with one worker, and with three, which tell it in another order.
func TestOptions(t *testing.T) {
	at := func(name string) string { return "../../testdata/pcaps/" + name }
	trouble, errs, lost, rcon := at("a2s/trouble.pcap"), at("icmp/trouble.pcapng"), at("a2s/fragments-lost.pcap"), at("source-rcon/servers.pcap")
	inputs := []string{trouble, errs, lost, rcon, at("foreign/others.pcap")}
	totals := func(a *stats.Aggregate) stats.Totals { return a.Report(stats.Options{}).Totals }
	of := func(o *Options, name string) { // without the name, which is another one each time
		o.Inputs, o.Stdin = []string{"-"}, bytes.NewReader(must.Get(os.ReadFile(name))(t))
		o.Reporter = func() report.Reporter { return report.SummaryOnly(report.NewJSON(report.JSONOptions{})) }
	}
	frames := func(name string, change func(i int, f *capture.Frame)) (list []*capture.Frame) { // of a capture
		in, last := must.Get(capture.Open(name))(t), time.Time{}
		defer in.Close()
		for i, f := 0, new(capture.Frame); in.Next(f) == nil; i, f = i+1, new(capture.Frame) {
			f.Data = bytes.Clone(f.Data)
			for ; i > 0 && f.Time.UTC().Sub(last) > 300*time.Millisecond; last = last.Add(300 * time.Millisecond) {
				list = append(list, nil)
			}
			last, list = f.Time.UTC(), append(list, f)
			change(i, f)
		}
		return list
	}
	as := func(int, *capture.Frame) {}
	live := func(o *Options, l *lined, list []*capture.Frame) {
		p := &scene{said: l, list: list, stop: make(chan struct{}), end: capture.ErrQuiet, at: list[0].Time.UTC()}
		o.Inputs, o.Source, o.Stop, o.Events.Clock = nil, &Source{Source: p, Name: "live"}, p.stop, p.Complete
		o.Events.Every, o.Events.Watch = time.Second, func(s *report.Summary) { l.say("watched", s.Packets, s.Messages, s.Unknown, s.GameTraffic) }
	}
	slots := func(o *Options, l *lined, every time.Duration) {
		o.Counts = &Counts{Stats: stats.New(), Slots: &Slots{Width: time.Second, Every: every, Counts: func(start time.Time, packets uint64, s *stats.Shards) {
			l.say("slot", start, packets, totals(s.Sum()))
		}}}
	}
	evenLengths := func(uint16) (func([]byte, int) bool, error) {
		return func(_ []byte, n int) bool { return n%2 == 0 }, nil
	}
	third := func() Chooser { return nth(3) }
	golden := "testdata/options.txt"
	ends, endless := flood(t, 17_000, true), flood(t, 20_000, false)
	var texts [2]string
	for i, workers := range []int{1, 3} {
		said := &lined{known: map[string]bool{}}
		var now time.Time
		for _, c := range []struct {
			name string
			set  func(o *Options, l *lined)
		}{
			{"no option", func(*Options, *lined) {}},
			{"all", func(o *Options, _ *lined) { o.All = true }},
			{"inputs that are none", func(o *Options, _ *lined) {
				o.Inputs, o.Stdin = []string{at("none"), at("a2s"), at("a2s/README.md"), "-", lost}, strings.NewReader("\xd4\xc3\xb2\xa1")
			}},
			{"a cut input", func(o *Options, _ *lined) {
				b := must.Get(os.ReadFile(trouble))(t)
				o.Inputs, o.Stdin = []string{"-"}, bytes.NewReader(b[:len(b)-5])
			}},
			{"a pipe that is idle", func(o *Options, _ *lined) {
				r, w, err := os.Pipe()
				must.Do(t, err)
				t.Cleanup(func() { must.Do(t, r.Close()) })
				b := must.Get(os.ReadFile(trouble))(t)
				go func() {
					_, _ = w.Write(b[:1])
					time.Sleep(3 * tickTime)
					_, _ = w.Write(b[1:])
					w.Close()
				}()
				o.Inputs, o.Stdin = []string{"-"}, r
			}},
			{"live", func(o *Options, l *lined) {
				live(o, l, frames(trouble, as))
				o.Counts.Stats = stats.New()
				o.Events.Snapshot = func(s *report.Summary, a *stats.Aggregate) { l.say("snapshot", s.Packets, totals(a)) }
			}},
			{"live, lines, game traffic with comments", func(o *Options, l *lined) {
				live(o, l, frames(at("raknet/raknet-open-connection.pcap"), func(i int, f *capture.Frame) {
					f.Comments = [][]string{nil, {"a remark"}, {"note: a2s.x: of an earlier run"}, {"one", "two"}}[i%4]
				}))
				o.Lines = true
			}},
			{"live, saved with comments", func(o *Options, l *lined) {
				live(o, l, frames(trouble, as))
				o.Save = &Saving{Saver: l, Annotate: true, Hold: time.Second}
			}},
			{"live, slots", func(o *Options, l *lined) {
				live(o, l, frames(rcon, as))
				slots(o, l, 400*time.Millisecond)
			}},
			{"live, errors of even lengths", func(o *Options, l *lined) {
				live(o, l, frames(errs, as))
				o.Frames = &Frames{Filter: evenLengths}
			}},
			{"clocks that step, and frames without a time", func(o *Options, l *lined) {
				list := frames(rcon, func(i int, f *capture.Frame) {
					f.Name = []string{"", "eth1"}[i/28%2]
					if f.Time = capture.StampOf(f.Time.UTC().Add(-[]time.Duration{0, 90, 300, 2500}[i/7%4] * time.Millisecond)); i%7 == 0 {
						f.Time = 0
					}
				})
				list = slices.DeleteFunc(list, func(f *capture.Frame) bool { return f == nil })
				o.Inputs, o.Source = nil, &Source{Source: struct{ capture.Source }{&scene{said: l, list: list, end: io.EOF}}, Name: "played"}
				slots(o, l, time.Minute)
			}},
			{"halves of tunnels", func(o *Options, _ *lined) { // large replies in GRE need fragments
				var b bytes.Buffer
				w := mkpcap.NewWriter(&b, mkpcap.Options{Link: mkpcap.Raw})
				for i := range byte(2) {
					w.Frame(time.Unix(1, 0), mkpcap.IP(netip.MustParseAddr("203.0.113.1"), netip.AddrFrom4([4]byte{203, 0, 113, i}), 1, 47, 0, true, true, make([]byte, 1480)))
				}
				o.Inputs, o.Stdin = []string{"-"}, &b
			}},
			{"series", func(o *Options, _ *lined) { o.Series = true }},
			{"outputs", func(o *Options, l *lined) {
				o.Output = func(n int) (io.Writer, error) { l.say("output", n); return l, nil }
			}},
			{"no third output", func(o *Options, l *lined) {
				o.Output = func(n int) (io.Writer, error) { return l, []error{nil, nil, errFull, nil, nil}[n] }
				o.Reporter = func() report.Reporter { return report.NewText(report.TextOptions{ManyFiles: true}) }
			}},
			{"count of 1", func(o *Options, _ *lined) { o.Count = 1 }},
			{"count of 7", func(o *Options, _ *lined) { o.Count = 7 }},
			{"lines", func(o *Options, _ *lined) { o.Lines = true }},
			{"filter of even lengths", func(o *Options, _ *lined) { o.Frames = &Frames{Filter: evenLengths} }},
			{"no filter for the link", func(o *Options, _ *lined) {
				o.Frames = &Frames{Filter: func(uint16) (func([]byte, int) bool, error) { return nil, errFull }}
			}},
			{"window", func(o *Options, _ *lined) {
				o.Frames = &Frames{Window: func(first time.Time) (since, until time.Time) {
					return first.Add(500 * time.Millisecond), first.Add(2 * time.Second)
				}}
			}},
			{"only a port", func(o *Options, _ *lined) {
				o.Frames = &Frames{Only: func(src, dst netip.AddrPort) bool { return src.Port() == 27015 || dst.Port() == 27015 }}
			}},
			{"all, of which every third", func(o *Options, _ *lined) { o.Choice, o.All = &Choice{New: third}, true }},
			{"nothing but all", func(o *Options, _ *lined) { o.Choice = &Choice{New: func() Chooser { return nth(1) }, Only: true} }},
			{"nothing but all, until a count of 7", func(o *Options, _ *lined) {
				o.Choice, o.Count = &Choice{New: func() Chooser { return nth(1) }, Only: true}, 7
			}},
			{"nothing but every third", func(o *Options, _ *lined) { o.Choice = &Choice{New: third, Only: true} }},
			{"exchanges", func(o *Options, l *lined) {
				o.Choice = &Choice{Exchanges: true}
				o.Reporter = func() report.Reporter { return exchanging{report.NewText(report.TextOptions{}), l} }
			}},
			{"exchanges of every second, until a count of 5", func(o *Options, l *lined) {
				o.Choice, o.Count, o.Counts.Stats = &Choice{New: func() Chooser { return nth(2) }, Exchanges: true}, 5, stats.New()
				o.Reporter = func() report.Reporter { return exchanging{report.NewText(report.TextOptions{}), l} }
			}},
			{"saved", func(o *Options, l *lined) { o.Save = &Saving{Saver: l} }},
			{"chosen saved", func(o *Options, l *lined) { o.Choice, o.Save = &Choice{New: third}, &Saving{Saver: l, Chosen: true} }},
			{"saved with comments", func(o *Options, l *lined) { o.Save = &Saving{Saver: l, Annotate: true, Hold: time.Second} }},
			{"saved with trees", func(o *Options, l *lined) {
				o.Analysis.Tree, o.Save = true, &Saving{Saver: l, Annotate: true, Tree: report.NewTreeNote(false)}
			}},
			{"chosen saved with trees", func(o *Options, l *lined) {
				o.Analysis.Tree, o.Choice, o.Save = true, &Choice{New: third}, &Saving{Saver: l, Chosen: true, Annotate: true, Tree: report.NewTreeNote(false)}
			}},
			{"walked", func(o *Options, l *lined) {
				for _, name := range o.Inputs {
					var times time.Duration
					in := must.Get(capture.Open(name))(t)
					trouble, err := Walk(in, o.Analysis, walking{l}, func(at time.Time) error { times += at.Sub(time.Unix(1.7e9, 0)); return nil })
					l.say("walked", times, trouble, err, in.Close())
				}
				timeless := &scene{said: new(lined), list: []*capture.Frame{{}}}
				_, err := Walk(timeless, o.Analysis, walking{l}, func(at time.Time) error { l.say("walked at", at); return errFull })
				l.say("not walked", err)
				_, err = Walk(nil, dissect.Config{}, nil, nil)
				l.say("not walked", err)
			}},
			{"saved in part", func(o *Options, l *lined) { l.left, l.end, o.Save = 3, ErrEnough, &Saving{Saver: l} }},
			{"saved until the disk is full", func(o *Options, l *lined) { l.left, l.end, o.Save = 3, errFull, &Saving{Saver: l, Annotate: true} }},
			{"recent", func(o *Options, _ *lined) { o.Save = &Saving{Recent: &capture.Recent{Limit: 1 << 20}} }},
			{"tally", func(o *Options, _ *lined) { o.Counts.Detailed = true }},
			{"shards", func(o *Options, _ *lined) {
				o.Counts = &Counts{Stats: stats.New(), Shards: stats.NewShards(), Part: 0xff}
			}},
			{"slots", func(o *Options, l *lined) { slots(o, l, time.Minute) }},
			{"talks", func(o *Options, _ *lined) { o.Counts.Stats, o.Counts.Talks = stats.New(), talks.New() }},
			{"little room", func(o *Options, _ *lined) {
				o.Limits, o.Analysis.Limits = &Limits{Budget: 2000, Fragments: reassembly.Limits{Sets: 1}}, dissect.Limits{Flows: 1, Requests: 1, Peers: 1}
			}},
			{"stopped", func(o *Options, _ *lined) {
				stop := make(chan struct{})
				close(stop)
				o.Stop = stop
			}},
			{"snapshots of a flood", func(o *Options, l *lined) {
				of(o, ends)
				o.Counts.Stats = stats.New()
				o.Events.Every, o.Events.Snapshot = 10*time.Minute, func(s *report.Summary, a *stats.Aggregate) { l.say("snapshot", s.Packets, totals(a)) }
				o.Events.Progress = func(packets, bytes uint64) { l.say("progress", packets, bytes) }
			}},
			{"a flood that does not end, and a reply that lacks a fragment", func(o *Options, _ *lined) { of(o, endless) }},
			{"nothing but all of it", func(o *Options, _ *lined) {
				of(o, endless)
				o.Choice = &Choice{New: func() Chooser { return nth(1) }, Only: true}
			}},
			{"game traffic, and one direction", func(o *Options, _ *lined) {
				o.Inputs = []string{at("raknet/raknet-open-connection.pcap"), at("a2s/requests-only.pcap"), at("openttd/openttd-tcp-udp.pcap")}
				o.Reporter = func() report.Reporter { return report.SummaryOnly(report.NewJSON(report.JSONOptions{})) }
			}},
			{"exchanges of every seventh of many sendings", func(o *Options, l *lined) {
				var b bytes.Buffer
				w := mkpcap.NewWriter(&b, mkpcap.Options{})
				for i := range 80 {
					w.UDP(time.Unix(1, int64(i)), netip.MustParseAddrPort("192.0.2.1:50000"), netip.MustParseAddrPort("192.0.2.2:27960"), []byte(ask))
				}
				o.Inputs, o.Stdin, o.Choice = []string{"-"}, &b, &Choice{New: func() Chooser { return nth(7) }, Exchanges: true}
				o.Reporter = func() report.Reporter { return exchanging{report.NewText(report.TextOptions{}), l} }
			}},
		} {
			fmt.Fprintf(said, "\n== %s\n", c.name)
			options := func(l *lined) Options {
				o := New()
				o.Inputs, o.Out, o.Workers = slices.Clone(inputs), l, workers
				o.Reporter = func() report.Reporter { return report.NewJSON(report.JSONOptions{}) }
				o.Analysis = dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign()}
				o.Trouble = func(err error) { l.say("trouble", err) }
				o.Events.Clock = func() time.Time { now = now.Add(time.Second); return now }
				o.Events.Ended = func(name string, link uint16, first, last time.Time) {
					l.say("ended", filepath.Base(name), link, first, last)
				}
				o.Events.Read = func(number int, packets uint64, first, last time.Time) { l.say("read", number, packets, first, last) }
				c.set(&o, l)
				return o
			}
			l := new(lined)
			o := options(l)
			sum, err := Run(o)
			if l.say("error", err); err == nil {
				l.say("summary", sum.Inputs, sum.Packets, sum.Bytes, sum.Datagrams, sum.Messages, sum.Unknown, sum.GameTraffic, sum.Complete, sum.Incomplete, sum.Evicted, sum.ICMP, sum.ICMPMatched, sum.Outcomes, sum.OneSided, sum.Unread, sum.Streams)
			}
			if n := o.Counts; n.Shards != nil {
				l.say("report", totals(n.Shards.Sum()))
			} else if n.Stats != nil {
				r := n.Stats.Report(stats.Options{})
				l.say("report", r.Totals, r.Unclear)
				if n.Talks != nil {
					l.say("talks", n.Talks.List(r.Findings, o.Analysis, nil))
				}
			}
			known, sum32 := 0, uint32(0)
			for line := range strings.Lines(l.String()) {
				if !said.known[line] {
					said.WriteString(line)
				} else {
					known, sum32 = known+1, sum32+crc32.ChecksumIEEE([]byte(line))
				}
				said.known[line] = true
			}
			fmt.Fprintf(said, "and %d lines of runs before, %08x\n", known, sum32)
			// A write that fails ends the run, and is the last one.
			for before, full := now, 1; full <= l.writes; full, now = full+workers, before {
				l := &lined{full: full}
				if _, err := Run(options(l)); err != errFull || l.writes != full {
					t.Errorf("%s, %d workers: %v, %d writes until the %d-th, which fails", c.name, workers, err, l.writes, full)
				}
			}
		}
		texts[i] = said.String()
	}
	if *update {
		must.Do(t, os.WriteFile(golden, []byte(texts[0]), 0o600))
	}
	if d := cmp.Diff(string(must.Get(os.ReadFile(golden))(t)), texts[0]); d != "" {
		t.Errorf("%s (-update writes it) -want +got\n%s", golden, d)
	}
	for i := range texts {
		told := func(line string) string { return line[:len(line)*strings.Count(line[:1], "!")] } // what is written stays in its order
		texts[i] = strings.Join(slices.SortedStableFunc(strings.Lines(texts[i]), func(a, b string) int { return strings.Compare(told(a), told(b)) }), "")
	}
	if d := cmp.Diff(texts[0], texts[1]); d != "" {
		t.Errorf("-one worker +three\n%s", d)
	}
}
