package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

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
	f.StringVarP(&o.text, "filter", "f", "", "capture `FILTER` in tcpdump's language, such as 'udp port 27015'; @FILE reads the output of tcpdump -ddd, @- reads it from standard input")
	f.BoolVar(&o.exact, "exact-filter", false, "do not pass later IP fragments, which have no ports, or ICMP errors about matching packets")
}

// A chooser is a capture filter, either parsed or compiled by tcpdump.
type chooser struct {
	parsed  *filter.Filter  // nil for none
	program *filter.Program // from tcpdump -ddd
	o       filter.Options
}

// compile reads the filter. Words are the arguments of the command line. stdin is nil
// if the capture comes from there.
func (o *filterOptions) compile(words []string, stdin io.Reader) (*chooser, error) {
	c := &chooser{o: filter.Options{Exact: o.exact}}
	text := o.text
	if len(words) > 0 {
		if text != "" {
			return nil, fmt.Errorf("two filters given: with -f, and %q", strings.Join(words, " "))
		}
		text = strings.Join(words, " ")
	}
	if name, ok := strings.CutPrefix(text, "@"); ok {
		in := stdin
		switch {
		case name == "":
			return nil, errors.New("-f @ needs the name of a file, or - for standard input")
		case name != "-":
			f, err := os.Open(name)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			in = f
		case stdin == nil:
			return nil, errors.New("-f @- and - cannot be combined: standard input is either the filter or the capture")
		default:
			name = "standard input"
		}
		var err error
		if c.program, err = filter.ParseProgram(in); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return c, nil
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
	var e *filter.Error
	if !errors.As(err, &e) {
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
	switch {
	case c.program != nil:
		m := c.program.Matcher()
		return func(link uint16) (func([]byte, int) bool, error) { return c.quotedToo(link, m), nil }
	case c.parsed != nil:
		return func(link uint16) (func([]byte, int) bool, error) {
			m, err := c.parsed.Matcher(link, c.o)
			if err != nil {
				return nil, fmt.Errorf("frames of %s: %w", capture.LinkTypeName(link), showFilter(err))
			}
			return c.quotedToo(link, m), nil
		}
	}
	return nil
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
	switch {
	case c.parsed != nil:
		o := c.o
		o.ICMPErrors = !o.Exact
		m, err := c.parsed.Matcher(link, o)
		if err != nil {
			return nil, showFilter(err)
		}
		return m, nil
	case c.program != nil:
		return c.program.Matcher(), nil
	}
	return filter.Default(link, tcpPorts()...).Matcher(link, c.o)
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
		if c.program != nil {
			return shorten(c.program.Raw(), snap), nil
		}
		f := cmp.Or(c.parsed, filter.Default(link, tcpPorts()...))
		o := c.o
		o.Live, o.Snap, o.Lenient = true, uint32(snap), all && link != linkEthernet
		o.ICMPErrors = c.parsed != nil && !o.Exact
		p, err := f.Compile(link, o)
		if err != nil {
			return nil, showFilter(err)
		}
		return p.Raw(), nil
	}
}

const linkEthernet = 1

// shorten limits the bytes that a program keeps of a frame. A snap of 0 is no limit.
func shorten(program []bpf.RawInstruction, snap int) []bpf.RawInstruction {
	const returnConstant = 0x06
	program = slices.Clone(program)
	for i := range program {
		if in := &program[i]; in.Op == returnConstant && snap > 0 {
			in.K = min(in.K, uint32(snap))
		}
	}
	return program
}
