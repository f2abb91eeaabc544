package talks

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/coder"
)

// codecVersion changes with every change of what is written.
const codecVersion = 1

// AppendBinary appends the conversations in binary form. It is the same for the same conversations.
func (t *Talks) AppendBinary(b []byte) []byte {
	c := coder.Coder{B: b}
	t.code(&codec{Coder: &c})
	return c.B
}

// UnmarshalBinary returns the conversations in a binary form, of these protocols. The form may come from anybody.
func UnmarshalBinary(b []byte, protocols []*dissect.Protocol) (*Talks, error) {
	t := New()
	c := codec{Coder: &coder.Coder{B: b, Reading: true}, protocols: protocols, findings: dissect.CommonFindings()}
	for _, p := range protocols {
		c.findings = append(c.findings, p.Catalog.Findings()...)
		c.messages = append(c.messages, p.Catalog.Messages()...)
	}
	if t.code(&c); len(c.B) > 0 {
		c.Fail(errors.New("there are more bytes than the conversations have"))
	}
	if c.Err != nil {
		return nil, c.Err
	}
	return t, nil
}

// maxID is the number of bytes of a name.
const maxID = 128

// A codec walks over conversations to write or to read them.
type codec struct {
	*coder.Coder
	protocols []*dissect.Protocol
	findings  []*dissect.FindingType
	messages  []*dissect.MessageType
}

func (t *Talks) code(c *codec) {
	version := uint64(codecVersion)
	if coder.Num(c.Coder, &version); version != codecVersion {
		c.Fail(fmt.Errorf("version %d of the conversations is not known here", version))
		return
	}
	names := slices.Sorted(maps.Keys(t.talks))
	for i := range c.Len(len(names), maxFold) {
		k, name := new(talk), ""
		if !c.Reading {
			name = names[i]
			k = t.talks[name]
		}
		c.Text(&name, maxID)
		if k.code(c); c.Err != nil {
			return
		}
		if c.Reading {
			if name != k.name() {
				c.Fail(errors.New("a conversation has the wrong name"))
				return
			}
			t.talks[name] = k
			t.bytes += k.bytes
		}
	}
}

// name returns the name of a conversation in the table.
func (k *talk) name() string {
	if k.why == nil {
		return "." + k.protocol.Name
	}
	return k.why.ID
}

func (k *talk) code(c *codec) {
	named(c, &k.protocol, c.protocols, func(p *dissect.Protocol) string { return p.Name })
	named(c, &k.why, c.findings, func(f *dissect.FindingType) string { return f.ID })
	if k.protocol == nil {
		c.Fail(errors.New("a conversation without a protocol"))
		return
	}
	if coder.Num(c.Coder, &k.input); k.input < 0 {
		c.Fail(errors.New("the number of a capture is negative"))
	}
	coder.Num(c.Coder, &k.found)
	coder.Num(c.Coder, &k.quality)
	c.end(&k.client)
	c.end(&k.server)
	c.time(&k.until)
	for m := range coder.List(c.Coder, &k.messages, maxBefore+maxMessages) {
		if m.code(c); c.Err != nil {
			return
		}
		if c.Reading {
			k.bytes += len(m.data)
		}
	}
}

func (m *message) code(c *codec) {
	coder.Num(c.Coder, &m.frame)
	coder.Num(c.Coder, &m.request)
	c.time(&m.time)
	c.end(&m.src)
	c.end(&m.dst)
	named(c, &m.protocol, c.protocols, func(p *dissect.Protocol) string { return p.Name })
	if m.protocol != nil {
		// The message may be of a protocol that shares its wire format with this one.
		named(c, &m.kind, append(slices.Clip(m.protocol.Catalog.Messages()), c.messages...), func(t *dissect.MessageType) string { return t.Name })
	}
	coder.Num(c.Coder, &m.length)
	coder.Num(c.Coder, &m.rtt)
	if coder.Num(c.Coder, &m.missing); m.length < 0 || m.missing < 0 {
		c.Fail(errors.New("a length is negative"))
	}
	c.Bytes(&m.data, talkBytes)
	left := len(m.data)
	for p := range coder.List(c.Coder, &m.parts, maxData) {
		coder.Num(c.Coder, &p.frame)
		if coder.Num(c.Coder, &p.n); p.n < 0 || p.n > left {
			c.Fail(errors.New("more bytes in parts than there are"))
			return
		}
		left -= p.n
	}
	c.Text(&m.summary, 1<<16)
	for text := range coder.List(c.Coder, &m.findings, maxFindings) {
		c.Text(text, maxText)
	}
}

// named writes or reads one of a list by its name, nil as no name.
func named[T any](c *codec, v **T, list []*T, name func(*T) string) {
	s := ""
	if *v != nil {
		s = name(*v)
	}
	if c.Text(&s, maxID); !c.Reading || s == "" {
		return
	}
	i := slices.IndexFunc(list, func(x *T) bool { return name(x) == s })
	if i < 0 {
		c.Fail(fmt.Errorf("%q is not known here", s))
		return
	}
	*v = list[i]
}

func (c *codec) time(t *time.Time) {
	n := t.UnixNano()
	if coder.Num(c.Coder, &n); c.Reading {
		*t = time.Unix(0, n).UTC()
	}
}

// end writes or reads an address and a port.
func (c *codec) end(a *netip.AddrPort) {
	b, v4, port := a.Addr().As16(), a.Addr().Is4(), a.Port()
	c.Raw(b[:])
	c.Bool(&v4)
	if coder.Num(c.Coder, &port); !c.Reading {
		return
	}
	addr := netip.AddrFrom16(b)
	if v4 {
		addr = addr.Unmap()
	}
	*a = netip.AddrPortFrom(addr, port)
}

// Renumber sets the number of the capture from which all conversations are.
func (t *Talks) Renumber(input int) {
	for _, k := range t.talks {
		k.input = input
	}
}

// maxFold is the number of conversations of several captures that are kept, and foldBytes that of their bytes.
const (
	maxFold   = 1024
	foldBytes = 4 << 20
)

// Fold adds the conversations of another capture, which follows. Of two for the same finding the one that has all bytes
// stays, and then the earlier one.
func (t *Talks) Fold(o *Talks) {
	for _, name := range slices.Sorted(maps.Keys(o.talks)) {
		k, old := o.talks[name], t.talks[name]
		if old != nil && k.compare(old) >= 0 {
			continue
		}
		n := k.bytes
		if old != nil {
			n -= old.bytes
		}
		if old == nil && len(t.talks) == maxFold || t.bytes+n > foldBytes {
			continue
		}
		t.bytes += n
		t.talks[name] = k
	}
}
