package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/a2s"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/report"
)

// script is a live capture that follows a list of steps.
type script struct {
	t      *testing.T
	steps  []step
	start  time.Time
	clock  time.Time
	signal chan struct{}
	done   time.Time // what Complete returns
	frames uint64
}

// A step is a frame, if frame is not 0, or quiet. Times count from the
// beginning.
type step struct {
	clock  time.Duration // what the clock shows, if it is not 0
	frame  time.Duration
	done   time.Duration
	signal bool // comes first
	err    error
}

func (s *script) Next(f *capture.Frame) error {
	if len(s.steps) == 0 {
		s.t.Error("asked for more")
		return errors.New("asked for more")
	}
	do := s.steps[0]
	s.steps = s.steps[1:]
	if do.clock > 0 {
		s.clock = s.start.Add(do.clock)
	}
	if do.signal {
		close(s.signal)
	}
	switch {
	case do.err != nil:
		return do.err
	case do.frame == 0:
		s.done = s.start.Add(do.done)
		return capture.ErrQuiet
	}
	s.frames++
	src, dst := netip.MustParseAddrPort("192.0.2.10:40000"), netip.MustParseAddrPort("192.0.2.20:27015")
	segment := mkpcap.UDPSegment(src, dst, []byte("\xff\xff\xff\xffTSource Engine Query\x00"))
	data := mkpcap.IP(src.Addr(), dst.Addr(), 1, 17, 0, false, false, segment)
	*f = capture.Frame{Number: s.frames, Time: capture.StampOf(s.start.Add(do.frame)), LinkType: 101, Data: data, Length: len(data)}
	return nil
}

func (s *script) LinkType() (uint16, bool)           { return 101, true }
func (s *script) Began() time.Time                   { return s.start }
func (s *script) Complete() time.Time                { return s.done }
func (s *script) Counts() (received, dropped uint64) { return s.frames, 0 }
func (s *script) Close() error                       { return nil }

// perform runs a script.
func perform(t *testing.T, o Options, steps ...step) (sum *report.Summary, out string, trouble error) {
	t.Helper()
	start := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	s := &script{t: t, steps: steps, start: start, clock: start, signal: make(chan struct{})}
	var b bytes.Buffer
	if o.Source == nil {
		o.Source = new(Source)
	}
	o.Source.Source, o.Source.Name, o.Out, o.Stop = s, "script", &b, s.signal
	o.Events = &Events{Clock: func() time.Time { return s.clock }}
	o.Trouble = func(err error) { trouble = err }
	if o.Analysis.Protocols == nil {
		o.Analysis.Protocols = all.Protocols()
	}
	if o.Reporter == nil {
		o.Reporter = func() report.Reporter { return report.NewCounts() }
	}
	sum = must.Get(Run(o))(t)
	if len(s.steps) > 0 {
		t.Errorf("%d steps are left", len(s.steps))
	}
	return sum, b.String(), trouble
}

// TestLiveStop: a signal ends the capture once all frames from before it have been read,
// however late that is.
func TestLiveStop(t *testing.T) {
	const ms = time.Millisecond
	gone := errors.New("the interface is gone")
	for name, test := range map[string]struct {
		duration time.Duration
		steps    []step
		want     uint64
		trouble  error
	}{
		"silence": {0, []step{{clock: 1000 * ms, signal: true}, {clock: 1020 * ms, done: 940 * ms}, {clock: 1120 * ms, done: 1021 * ms}}, 0, nil},
		"late": {0, []step{
			{frame: 900 * ms}, {clock: 1000 * ms, signal: true, done: 870 * ms},
			// The clock is past, but an interface has not said what it has.
			{clock: 1500 * ms, done: 950 * ms}, {clock: 1900 * ms, done: 950 * ms}, {frame: 960 * ms}, {done: 960 * ms},
			{frame: 999 * ms}, {clock: 2000 * ms, done: 2000 * ms},
		}, 3, nil},
		// When it is noticed, the clock shows 1010 ms.
		"traffic":  {0, []step{{frame: 990 * ms}, {clock: 1010 * ms, signal: true, frame: 1000 * ms}, {frame: 1005 * ms}, {frame: 1011 * ms}}, 3, nil},
		"duration": {time.Second, []step{{clock: 3000 * ms, done: 900 * ms}, {frame: 999 * ms}, {done: 1000 * ms}, {done: 1001 * ms}}, 1, nil},
		"both":     {time.Second, []step{{frame: 1 * ms}, {clock: 500 * ms, signal: true, done: 400 * ms}, {frame: 450 * ms}, {frame: 501 * ms}}, 2, nil},
		"gone":     {0, []step{{frame: 1 * ms}, {clock: 10 * ms, signal: true, done: 0}, {err: gone}}, 1, gone},
	} {
		t.Run(name, func(t *testing.T) {
			sum, _, trouble := perform(t, Options{Source: &Source{Duration: test.duration}}, test.steps...)
			if sum.Packets != test.want || trouble != test.trouble {
				t.Errorf("%d packets, want %d; %v", sum.Packets, test.want, trouble)
			}
		})
	}
}

// TestLiveOrigin: relative times count from the first packet, whenever the capture began,
// for any number of workers.
func TestLiveOrigin(t *testing.T) {
	for _, workers := range []int{1, 4} {
		for _, lines := range []bool{false, true} {
			t.Run(fmt.Sprint(workers, lines), func(t *testing.T) {
				o := Options{Workers: workers, Lines: lines, Reporter: func() report.Reporter { return report.NewText(report.TextOptions{}) }}
				_, out, _ := perform(t, o, step{clock: time.Second, done: time.Second / 2}, step{clock: 2 * time.Second, done: time.Second},
					step{frame: 2 * time.Second}, step{done: 2 * time.Second}, step{frame: 2*time.Second + 1500*time.Microsecond},
					step{clock: 3 * time.Second, signal: true, done: 2 * time.Second}, step{clock: 4 * time.Second, done: 4 * time.Second})
				var times []string
				for line := range strings.Lines(out) {
					if f := strings.Fields(line); len(f) > 2 && strings.HasPrefix(f[2], "192.") {
						times = append(times, f[1])
					}
				}
				if len(times) < 2 || times[0] != "0.000000" || times[1] != "0.001500" {
					t.Errorf("%q in\n%s", times, out)
				}
			})
		}
	}
	_, out, _ := perform(t, Options{Reporter: jsonLines}, step{frame: time.Second}, step{frame: time.Second + 1}, step{signal: true}, step{done: time.Hour})
	if n := strings.Count(out, `"type":"capture"`); n != 1 || !strings.HasPrefix(out, `{"type":"capture"`) {
		t.Errorf("%d lines of the capture in\n%s", n, out)
	}
}

// panicky is a decoder that panics on its second message.
type panicky struct {
	dissect.Joiner
	n int
}

func (d *panicky) Decode(r *dissect.Reader, m *dissect.Message) {
	if d.n++; d.n == 2 {
		panic("on purpose")
	}
	d.Joiner.Decode(r, m)
}

// TestLivePanic: live, a panic of a decoder costs its datagram as well, which is shown as an unknown one, although these are not asked for.
func TestLivePanic(t *testing.T) {
	p := a2s.Protocol()
	before := p.New
	t.Cleanup(func() { p.New = before })
	p.New = func() dissect.Decoder { return &panicky{Joiner: before().(dissect.Joiner)} }
	for _, workers := range []int{1, 2} {
		o := Options{Analysis: dissect.Config{Protocols: []*dissect.Protocol{p}}, Workers: workers, Reporter: jsonLines}
		sum, out, trouble := perform(t, o, step{frame: time.Second}, step{frame: 2 * time.Second}, step{frame: 3 * time.Second},
			step{clock: 4 * time.Second, signal: true, done: 3900 * time.Millisecond}, step{clock: 5 * time.Second, done: 5 * time.Second})
		if n, ok := trouble.(PanicError); !ok || n != 1 || sum.Panics != 1 || sum.Messages[0] != 2 {
			t.Errorf("%d workers: trouble %v, %d panics, %d messages", workers, trouble, sum.Panics, sum.Messages)
		}
		if n := strings.Count(out, `"protocol":"unknown"`); n != 1 {
			t.Errorf("%d workers: %d unknown datagrams in\n%s", workers, n, out)
		}
	}
}
