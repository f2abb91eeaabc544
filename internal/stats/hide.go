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

func (h *Hiding) name(b []byte) []byte {
	if h.Name == nil || len(b) == 0 {
		return nil
	}
	return h.Name(b)
}

// hidden is the sentence about what is missing.
const hidden = "Names were replaced or left out, and with them the texts of findings, and conversations, which show the bytes of messages."

// hide replaces addresses and names in the entries of the report, which are copied.
func (r *reporting) hide() {
	h := r.o.Hide
	if h == nil {
		return
	}
	r.originals = make(map[netip.Addr]netip.Addr)
	replace := func(k *key) {
		if h.Addr == nil {
			return
		}
		a := k.addr()
		b := h.Addr(a)
		r.originals[b] = a
		*k = keyOf(b, k.port)
	}
	for i, e := range r.servers {
		c := *e
		replace(&c.key)
		c.v.name, c.v.mapName = h.name(e.v.name), h.name(e.v.mapName)
		r.servers[i] = &c
	}
	for i, e := range r.clients {
		c := *e
		replace(&c.key)
		r.clients[i] = &c
	}
	if h.Addr == nil {
		return
	}
	// The order must not tell which of two addresses was the lower one.
	slices.SortFunc(r.servers, func(a, b *entry[server]) int { return cmp.Or(cmp.Compare(b.count, a.count), a.compare(&b.key)) })
	slices.SortFunc(r.clients, byRequests)
	for i, p := range r.o.Home {
		r.Home[i] = netip.PrefixFrom(h.Addr(p.Addr()), p.Bits()).Masked().String()
	}
}

// original returns the address of an entry before it was replaced.
func (r *reporting) original(a netip.Addr) netip.Addr {
	if o, ok := r.originals[a]; ok {
		return o
	}
	return a
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
	for _, a := range r.originals {
		if i := bytes.Index(b, a.AsSlice()); i >= 0 {
			b = b[:i]
		}
	}
	return b
}
