// Package convert turns what package packet decodes into what package dissect
// takes: datagrams, IP packets with missing fragments, and ICMP errors.
package convert

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/packet"
)

// A Converter holds the memory of conversions. Each result is borrowed until the
// next call.
type Converter struct {
	text []byte
	icmp dissect.ICMPError
}

// Datagram sets d to a decoded datagram, with the comments of its frame and what
// is noteworthy about its headers as findings.
func (c *Converter) Datagram(d *dissect.Datagram, in *packet.Datagram, comments []string) {
	findings := d.Findings[:0]
	d.Frame = in.Frame // one by one: one assignment would copy all of them twice
	d.Frames, d.Stream, d.FromServer = in.Frames, nil, false
	d.Time = in.Time
	d.First = in.First
	d.Src = in.Src
	d.Dst = in.Dst
	d.Payload = in.Payload
	d.Missing, d.IPID, d.HopLimit, d.VLAN, d.Interface, d.Findings = in.Missing, in.ID, in.HopLimit, 0, "", findings
	if len(comments) > 0 || !in.Plain() {
		c.findings(d, in, comments)
	}
}

// Outline sets d to the datagram of a frame that has an outline, without its number, its
// times, its interface and its findings.
func Outline(d *dissect.Datagram, o *packet.Outline) {
	d.Frames, d.Stream, d.FromServer = nil, nil, false
	d.Src, d.Dst = o.Ends()
	d.Payload = o.Payload
	d.Missing, d.IPID, d.HopLimit, d.VLAN = 0, o.ID(), o.HopLimit(), o.VLAN()
}

// Findings adds the findings of a datagram that has an outline.
func (c *Converter) Findings(d *dissect.Datagram, comments []string) {
	addComments(d, comments)
	if d.VLAN != 0 {
		c.text = strconv.AppendUint(c.text[:0], uint64(d.VLAN), 10)
		d.Findings = append(d.Findings, dissect.NewFinding(core.Tagged, dissect.Str(nettext.View(c.text))))
	}
}

// addComments adds the comments of a frame as findings.
func addComments(d *dissect.Datagram, comments []string) {
	for _, comment := range comments {
		if !strings.HasPrefix(comment, nettext.TreeMark) {
			d.Findings = append(d.Findings, dissect.NewFinding(core.PacketComment, dissect.Str(comment)))
		}
	}
}

// findings adds the findings of a datagram.
func (c *Converter) findings(d *dissect.Datagram, in *packet.Datagram, comments []string) {
	add := func(f dissect.Finding) { d.Findings = append(d.Findings, f) }
	addComments(d, comments)
	c.text = c.text[:0]
	if vlans := in.VLANs(); len(vlans) > 0 {
		d.VLAN = vlans[0]
		for i, v := range vlans {
			if i > 0 {
				c.text = append(c.text, '.')
			}
			c.text = strconv.AppendUint(c.text, uint64(v), 10)
		}
		add(dissect.NewFinding(core.Tagged, dissect.Str(nettext.View(c.text))))
	}
	if tunnels := in.Tunnels(); len(tunnels) > 0 {
		start := len(c.text)
		for i, t := range tunnels {
			if i > 0 {
				c.text = append(c.text, ", "...)
			}
			c.text = append(c.text, t.String()...)
		}
		if src, dst, ok := in.Outer(); ok {
			c.text = append(c.text, " from "...)
			c.text = src.AppendTo(c.text)
			c.text = append(c.text, " to "...)
			c.text = dst.AppendTo(c.text)
		}
		add(dissect.NewFinding(core.Tunnelled, dissect.Str(nettext.View(c.text[start:]))))
	}
	if n := in.MoreAnomalies(); n > 0 {
		add(dissect.NewFinding(core.TooManyFindings, dissect.Num(n)))
	}
	for _, a := range in.Anomalies() {
		said, have := dissect.Num(a.Said), dissect.Num(a.Have)
		switch a.Kind {
		case packet.IPLengthZero, packet.IPLengthBeyond:
			add(dissect.NewFinding(core.IPLength, said, have))
		case packet.UDPLengthZero, packet.UDPLengthShort, packet.UDPLengthBeyond, packet.UDPLengthFour:
			add(dissect.NewFinding(core.UDPLength, said, have))
		case packet.UDPSurplus:
			add(dissect.NewFinding(core.UDPSurplus, said, have))
		case packet.FragmentsDuplicated:
			add(dissect.NewFinding(core.FragmentsDuplicate, have))
		case packet.FragmentsOverlap:
			add(dissect.NewFinding(core.FragmentsOverlap, have))
		case packet.FragmentsConflict:
			add(dissect.NewFinding(core.FragmentsConflict, have))
		case packet.FragmentsReordered:
			add(dissect.NewFinding(core.FragmentsReordered))
		case packet.FragmentsChecksum:
			add(dissect.NewFinding(core.FragmentsChecksum, said, have))
		}
	}
}

// IP protocol numbers, as IANA registers them.
const (
	IPv4 = 4
	UDP  = 17
	IPv6 = 41
	GRE  = 47
)

// Loss sets f to the finding about an IP packet with missing fragments, which is of foreign
// traffic until [dissect.Analyzer.LostFragments] recognises it. It reports false if the packet could not have carried a datagram.
func (c *Converter) Loss(f *dissect.FlowFinding, l *packet.Loss) bool {
	switch l.Protocol {
	case UDP, IPv4, IPv6, GRE: // a datagram, or a tunnel that may have carried one
	default:
		return false
	}
	b := c.text[:0]
	for i, g := range l.Missing {
		if i == 4 {
			b = append(b, ", …"...)
			break
		}
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, "bytes "...)
		b = strconv.AppendInt(b, int64(g.From), 10)
		if g.To <= g.From { // the end is not known
			b = append(b, " and on"...)
		} else {
			b = append(b, '-')
			b = strconv.AppendInt(b, int64(g.To-1), 10)
		}
	}
	c.text = b
	*f = dissect.FlowFinding{
		Finding: dissect.NewFinding(core.FragmentsForeign, dissect.Str(nettext.View(b)), dissect.Str(l.Reason.String()), dissect.Str("")),
		Frame:   l.Frames[0], Time: l.First, Src: l.Src, Dst: l.Dst, NoPorts: !l.Headed,
	}
	return true
}

// Errors calls take with an ICMP error, once for each conversation that it may be
// about, and returns its first error.
func (c *Converter) Errors(q *packet.Refusal, take func(*dissect.ICMPError) error) error {
	x := &c.icmp
	*x = dissect.ICMPError{
		Frame: q.Frame, Time: q.Time, From: q.From, Type: q.Type, Code: q.Code, MTU: mtu(q),
		Src: q.Src, Dst: q.Dst, Payload: q.Payload, Length: q.Length,
	}
	if err := take(x); err != nil {
		return err
	}
	// A NAT that does not translate quoted packets leaves an address of its other
	// side in them. The receiver of the error is the sender of the datagram, and a
	// private destination is behind the public sender of the error.
	x.Guess = true
	src, dst := q.Src, q.Dst
	if src.Addr() != q.To {
		x.Src = netip.AddrPortFrom(q.To, src.Port())
		if err := take(x); err != nil {
			return err
		}
	}
	if dst.Addr().IsPrivate() && !q.From.IsPrivate() {
		x.Dst = netip.AddrPortFrom(q.From, dst.Port())
		return take(x)
	}
	return nil
}

// mtu returns what an error says of the largest packet that passes (RFC 1191, 4;
// RFC 4443, 3.2), 0 if it says nothing.
func mtu(q *packet.Refusal) uint32 {
	const (
		unreachable, fragmentationNeeded = 3, 4
		tooBig6                          = 2
	)
	switch {
	case q.From.Is4() && q.Type == unreachable && q.Code == fragmentationNeeded:
		return q.Info & 0xffff
	case q.From.Is6() && q.Type == tooBig6:
		return q.Info
	}
	return 0
}
