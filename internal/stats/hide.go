package stats

import (
	"bytes"
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// Hiding says what a report that is passed on must not tell.
type Hiding struct {
	// Addr replaces addresses; nil keeps them.
	Addr func(netip.Addr) netip.Addr
	// Name replaces the name of a server or a map; nil leaves names out.
	Name func([]byte) []byte
}

// hidden is the sentence about what is missing.
const hidden = "Names were replaced or left out, and with them the texts of findings, and conversations, which show the bytes of messages."

// hide replaces the networks of home, and orders servers and clients by what is shown: their order must not tell which of two
// addresses was the lower one.
func (r *reporting) hide() {
	if r.o.Hide == nil || r.o.Hide.Addr == nil {
		return
	}
	r.replaced = make(map[netip.Addr]netip.Addr)
	for _, e := range r.servers {
		r.host(e.addr())
	}
	for _, e := range r.clients {
		r.host(e.addr())
	}
	slices.SortFunc(r.servers, func(a, b *entry[server]) int {
		return cmp.Or(cmp.Compare(b.count, a.count), r.host(a.addr()).Compare(r.host(b.addr())), cmp.Compare(a.Port, b.Port))
	})
	slices.SortFunc(r.clients, func(a, b *entry[client]) int {
		return cmp.Or(cmp.Compare(b.v.requests, a.v.requests), r.host(a.addr()).Compare(r.host(b.addr())))
	})
	for i, p := range r.o.Home {
		r.Home[i] = r.network(p)
	}
}

// host returns what a report shows of an address.
func (r *reporting) host(a netip.Addr) netip.Addr {
	if r.replaced == nil {
		return a
	}
	b, ok := r.replaced[a]
	if !ok {
		b = r.o.Hide.Addr(a)
		r.replaced[a] = b
	}
	return b
}

// network returns what a report shows of a network.
func (r *reporting) network(p netip.Prefix) string {
	return netip.PrefixFrom(r.host(p.Addr()), p.Bits()).Masked().String()
}

// endpoint returns what a report shows of the address and port of a server, and address returns it as text.
func (r *reporting) endpoint(e *entry[server]) netip.AddrPort {
	return netip.AddrPortFrom(r.host(e.addr()), e.Port)
}

func (r *reporting) address(e *entry[server]) string { return r.endpoint(e).String() }

// source returns what a report shows of the address of a client.
func (r *reporting) source(e *entry[client]) string { return r.host(e.addr()).String() }

// name returns what a report shows of the name of a server or a map.
func (r *reporting) name(b []byte) []byte {
	if h := r.o.Hide; h == nil || len(b) == 0 {
		return b
	} else if h.Name == nil {
		return nil
	} else {
		return h.Name(b)
	}
}

// plain returns the text of a finding without what comes from the network.
func (r *reporting) plain(f *finding) string {
	if r.o.Hide == nil {
		return f.text
	}
	text, _, _ := strings.Cut(f.doc, ". ")
	return strings.TrimSuffix(text, ".")
}

// prefix returns the first bytes of payloads that rules compare. Some protocols have the address of the server among them.
func (r *reporting) prefix(b []byte) []byte {
	b = b[:min(len(b), longestPrefix)]
	for a := range r.replaced {
		if i := bytes.Index(b, a.AsSlice()); i >= 0 {
			b = b[:i]
		}
	}
	return b
}
