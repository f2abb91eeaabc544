package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
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
