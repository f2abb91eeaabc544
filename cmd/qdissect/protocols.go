package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/nettext"
)

// protocolOptions are the flags that choose the protocols.
type protocolOptions struct {
	decodeAs []string
	names    []string
}

func (o *protocolOptions) add(f *pflag.FlagSet) {
	o.addDecodeAs(f)
	f.StringSliceVar(&o.names, "protocols", nil, "recognise only these protocols, for example a2s,halflife")
}

func (o *protocolOptions) addDecodeAs(f *pflag.FlagSet) {
	f.StringArrayVar(&o.decodeAs, "decode-as", nil, "decode all datagrams of a port as this protocol: udp.port==`N,PROTOCOL`")
}

// config returns the configuration of the dissector.
func (o *protocolOptions) config() (c dissect.Config, err error) {
	c.Foreign = all.Foreign()
	if c.Protocols, err = selected(o.names); err == nil {
		c.DecodeAs, err = parseDecodeAs(o.decodeAs, c.Protocols)
	}
	return c, err
}

// selected returns the named protocols, or all if names is empty.
func selected(names []string) ([]*dissect.Protocol, error) {
	known := all.Protocols()
	if len(names) == 0 {
		return known, nil
	}
	chosen := map[*dissect.Protocol]bool{}
	for _, name := range names {
		p := lookup(known, name)
		if p == nil {
			return nil, unknownProtocol(name, known)
		}
		chosen[p] = true
	}
	return slices.DeleteFunc(known, func(p *dissect.Protocol) bool { return !chosen[p] }), nil
}

func lookup(list []*dissect.Protocol, name string) *dissect.Protocol {
	for _, p := range list {
		if strings.EqualFold(strings.TrimSpace(name), p.Name) {
			return p
		}
	}
	return nil
}

func unknownProtocol(name string, known []*dissect.Protocol) error {
	var names []string
	for _, p := range known {
		names = append(names, p.Name)
	}
	if near := nettext.Closest(name, names); near != "" {
		return fmt.Errorf("unknown protocol %q; did you mean %s?", name, near)
	}
	return fmt.Errorf("unknown protocol %q; use one of %s", name, strings.Join(names, ", "))
}

// parseDecodeAs parses tshark's notation, udp.port==27015,a2s. The part before the
// number is optional.
func parseDecodeAs(args []string, protocols []*dissect.Protocol) (map[uint16]*dissect.Protocol, error) {
	var as map[uint16]*dissect.Protocol
	for _, arg := range args {
		port, name, ok := strings.Cut(arg, ",")
		port = strings.TrimPrefix(strings.ReplaceAll(port, " ", ""), "udp.port==")
		n, err := strconv.ParseUint(port, 10, 16)
		if !ok || err != nil || n == 0 {
			return nil, fmt.Errorf("--decode-as %q is not udp.port==N,PROTOCOL", arg)
		}
		p := lookup(protocols, name)
		if p == nil {
			return nil, unknownProtocol(name, protocols)
		}
		if as == nil {
			as = make(map[uint16]*dissect.Protocol)
		}
		as[uint16(n)] = p
	}
	return as, nil
}
