package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/net/bpf"

	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/filter"
	"github.com/qdissect/qdissect/internal/packet"
)

// filterOptions are the flags for capture filters.
type filterOptions struct {
	text  string
	exact bool
}

func (o *filterOptions) add(f *pflag.FlagSet) {
	f.StringVarP(&o.text, "filter", "f", "", "capture `FILTER` in tcpdump's language, such as 'udp port 27015'")
	f.BoolVar(&o.exact, "exact-filter", false, "do not pass later IP fragments, which have no ports, or ICMP errors about matching packets")
}

// A chooser is a capture filter.
type chooser struct {
	parsed *filter.Filter // nil for none
	o      filter.Options
}

// compile reads the filter. Words are the arguments of the command line.
func (o *filterOptions) compile(words []string) (*chooser, error) {
	c := &chooser{o: filter.Options{Exact: o.exact}}
	text := o.text
	if len(words) > 0 {
		if text != "" {
			return nil, fmt.Errorf("two filters given: with -f, and %q", strings.Join(words, " "))
		}
		text = strings.Join(words, " ")
	}
	if strings.TrimSpace(text) == "" {
		return c, nil
	}
	var err error
	if c.parsed, err = filter.Parse(text); err != nil {
		if len(words) > 0 {
			if _, statErr := os.Stat(words[0]); statErr == nil {
				return nil, fmt.Errorf("%s is a file, but arguments after -r or -i are a filter; give each file with -r", words[0])
			}
		}
		return nil, showFilter(err)
	}
	return c, nil
}

// showFilter makes an error print the expression with the faulty word marked.
func showFilter(err error) error {
	e, ok := errors.AsType[*filter.Error](err)
	if !ok {
		return err
	}
	if strings.TrimSpace(e.Expression) == "" { // nothing to point to
		return errors.New("filter: " + e.Text)
	}
	return pointed{e}
}

// pointed is a filter error printed with the expression and carets.
type pointed struct{ err *filter.Error }

func (p pointed) Error() string { return p.err.Error() + "\n" + p.err.Show() }

func (p pointed) Unwrap() error { return p.err }

// match returns the filter for files, or nil for none. It also passes ICMP errors
// about matching packets.
func (c *chooser) match() func(uint16) (func([]byte, int) bool, error) {
	if c.parsed == nil {
		return nil
	}
	return func(link uint16) (func([]byte, int) bool, error) {
		m, err := c.parsed.Matcher(link, c.o)
		if err != nil {
			return nil, fmt.Errorf("frames of %s: %w", capture.LinkTypeName(link), showFilter(err))
		}
		return c.quotedToo(link, m), nil
	}
}

// quotedToo extends a filter to ICMP errors that quote a matching packet.
func (c *chooser) quotedToo(link uint16, m func([]byte, int) bool) func([]byte, int) bool {
	if c.o.Exact {
		return m
	}
	var quoted []byte
	return func(data []byte, length int) bool {
		if m(data, length) {
			return true
		}
		b, wire, ok := packet.AppendQuoted(quoted[:0], link, data)
		quoted = b
		return ok && m(b, wire)
	}
}

// matchLive returns the filter for interfaces on which the kernel cannot apply one.
func (c *chooser) matchLive(link uint16) (func([]byte, int) bool, error) {
	if c.parsed == nil {
		return filter.Default(link, tcpPorts()...).Matcher(link, c.o)
	}
	o := c.o
	o.ICMPErrors = !o.Exact
	m, err := c.parsed.Matcher(link, o)
	return m, showFilter(err)
}

// tcpPorts returns the ports of protocols over TCP: all other TCP would cost a live capture much.
func tcpPorts() (ports []uint16) {
	for _, p := range all.Protocols() {
		if p.OverTCP() {
			ports = append(ports, p.Ports...)
		}
	}
	return ports
}

// chosen returns the filter for frames that the kernel has let pass. ICMP errors among
// them are checked by their quotations.
func (c *chooser) chosen() func(uint16) (func([]byte, int) bool, error) {
	lenient := *c
	lenient.o.Lenient = true
	return lenient.match()
}

// kernel returns the filter program for an interface. With all interfaces, the filter
// must be valid for Ethernet; elsewhere, invalid parts match nothing.
func (c *chooser) kernel(snap int, all bool) func(uint16) ([]bpf.RawInstruction, error) {
	return func(link uint16) ([]bpf.RawInstruction, error) {
		f := cmp.Or(c.parsed, filter.Default(link, tcpPorts()...))
		o := c.o
		o.Live, o.Snap, o.Lenient = true, uint32(snap), all && link != linkEthernet
		o.ICMPErrors = c.parsed != nil && !o.Exact
		p, err := f.Compile(link, o)
		return p, showFilter(err)
	}
}

const linkEthernet = 1

// windowOptions are the flags that select frames by time.
type windowOptions struct {
	since, until string
}

func (o *windowOptions) add(f *pflag.FlagSet) {
	f.StringVar(&o.since, "since", "", "files: read only packets from this `TIME` on: 2026-03-14T19:00:00Z, 2026-03-14, 19:00:30 (UTC, of the first packet's day) or +30s (after the first packet)")
	f.StringVar(&o.until, "until", "", "files: read only packets before this `TIME`")
}

// A moment is a time, or one that depends on the first packet. There is none if of is nil.
type moment struct {
	of   func(first time.Time) time.Time
	kind byte // moments of one kind can be compared before a packet is known
}

// daily is the kind of times of day.
const daily = ':'

// window returns a function that returns the times for a first packet; zero times are no limit. It is nil if no flag is
// given.
func (o *windowOptions) window() (func(first time.Time) (since, until time.Time), error) {
	if o.since == "" && o.until == "" {
		return nil, nil
	}
	since, err := parseMoment(o.since)
	if err != nil {
		return nil, fmt.Errorf("--since: %w", err)
	}
	until, err := parseMoment(o.until)
	if err != nil {
		return nil, fmt.Errorf("--until: %w", err)
	}
	window := func(first time.Time) (from, to time.Time) {
		if since.of != nil {
			from = since.of(first)
		}
		if until.of != nil {
			to = until.of(first)
		}
		if since.kind == daily && until.kind == daily && to.Before(from) {
			to = to.Add(24 * time.Hour) // the window goes on after midnight
		}
		return from, to
	}
	if from, to := window(time.Unix(0, 0)); since.kind == until.kind && !from.Before(to) {
		return nil, fmt.Errorf("--until %s must be after --since %s", o.until, o.since)
	}
	return window, nil
}

// open opens a capture, of which the frames in the window are read. The name "-" means standard input.
func (o *windowOptions) open(name string, env environment) (src capture.Source, err error) {
	window, err := o.window()
	if err != nil {
		return nil, err
	}
	if name == "-" {
		src, err = capture.NewReader(env.in, "standard input")
	} else {
		src, err = capture.Open(name)
	}
	if err != nil || window == nil {
		return src, err
	}
	return &windowed{Source: src, of: window}, nil
}

// windowed is a source of the frames in a window.
type windowed struct {
	capture.Source
	of     func(first time.Time) (since, until time.Time)
	window capture.Window
}

func (w *windowed) Next(f *capture.Frame) error {
	for {
		if err := w.Source.Next(f); err != nil || w.window.Has(f.Time.UTC(), w.of) {
			return err
		}
	}
}

// parseMoment parses a time. An empty text is no moment.
func parseMoment(s string) (moment, error) {
	if s == "" {
		return moment{}, nil
	}
	if after, ok := strings.CutPrefix(s, "+"); ok {
		d, err := time.ParseDuration(after)
		if err != nil || d < 0 {
			return moment{}, fmt.Errorf("%q is not a time after the first packet such as +30s or +1h30m", s)
		}
		return moment{of: func(first time.Time) time.Time { return first.Add(d) }, kind: '+'}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return moment{of: func(time.Time) time.Time { return t }, kind: '-'}, nil
		}
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		if t, err := time.Parse(layout, s); err == nil {
			return moment{kind: daily, of: func(first time.Time) time.Time {
				day := first.UTC().Truncate(24 * time.Hour)
				at := day.Add(time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second + time.Duration(t.Nanosecond()))
				if at.Before(first.Add(-12 * time.Hour)) {
					return at.Add(24 * time.Hour) // the capture goes on after midnight
				}
				return at
			}}, nil
		}
	}
	return moment{}, fmt.Errorf("%q is not a time such as 2026-03-14T19:00:00Z, 2026-03-14, 19:00:30 or +30s", s)
}
