package display

import (
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/envelope"
	"github.com/qdissect/qdissect/internal/nettext"
)

// An entry is a name of the envelope: of what JSON has beside the fields of a protocol.
type entry struct {
	name string
	doc  string
	read
	// short says that the name is not one of JSON.
	short bool
}

// Closed lists of names.
var (
	roles      = []string{dissect.Request.String(), dissect.Reply.String(), dissect.OneWay.String()}
	severities = []string{dissect.Chat.String(), dissect.Note.String(), dissect.Warning.String(), dissect.Failed.String()}
	types      = []string{"message", "finding"}
)

func reasons() (list []string) {
	for r := core.ByHeader; r <= core.ByUser; r++ {
		list = append(list, r.String())
	}
	return list
}

var messageNames = sync.OnceValue(func() (list []string) {
	for _, p := range all.Protocols() {
		list = append(list, nettext.Each(p.Catalog.Messages(), func(t *dissect.MessageType) string { return t.Name })...)
	}
	slices.Sort(list)
	return slices.Compact(list)
})

var findingIDs = sync.OnceValue(func() []string {
	list := nettext.Each(Findings(), func(f *dissect.FindingType) string { return f.ID })
	slices.Sort(list)
	return slices.Compact(list)
})

// Findings returns the types of findings of all protocols.
func Findings() []*dissect.FindingType {
	list := dissect.CommonFindings()
	for _, p := range all.Protocols() {
		list = append(list, p.Catalog.Findings()...)
	}
	return list
}

// envelopeEntries lists the names of the envelope.
var envelopeEntries = sync.OnceValue(func() []entry {
	entries := slices.Concat(datagramEntries(), partEntries(), scalarEntries(), textEntries(), findingEntries())
	for i := range envelope.Lookup("server").Fields {
		k := &envelope.Lookup("server").Fields[i]
		entries = append(entries, entry{name: "server." + k.Name, read: factOf(k)}, entry{name: k.Name, doc: "server." + k.Name, read: factOf(k), short: true})
	}
	for i := range entries {
		e := &entries[i]
		k := envelope.Lookup(e.name)
		if k != nil && !e.short && e.doc == "" {
			e.doc = k.Doc
		}
	}
	return entries
})

// of reads values of a class.
func of(class class, get getter) read { return read{class: class, source: get} }

// listed reads one of a closed list of names, which a command may print.
func listed(names []string, noun, command string, get getter) read {
	return read{class: name, source: get, names: names, noun: noun, list: command}
}

// datagramEntries are when and from where to where a record went, and what it was taken for.
func datagramEntries() []entry {
	kind := func(m *Matcher, c *cond) {
		what := nettext.Either(m.finding != nil, types[1], types[0])
		c.take(m, textOf(what))
	}
	message := onRecord(func(m *Matcher, c *cond, r *dissect.Record) { c.take(m, textOf(r.Type.Name)) })
	role := onRecord(func(m *Matcher, c *cond, r *dissect.Record) { c.take(m, textOf(r.Type.Role.String())) })
	reason := onRecord(func(m *Matcher, c *cond, r *dissect.Record) { c.take(m, textOf(r.Reason.String())) })
	protocols := func(all bool) read {
		return listed(append(ProtocolNames(), "unknown"), "protocol", "qdissect protocols", func(m *Matcher, c *cond) { m.protocols(c, all) })
	}
	return []entry{
		{name: "type", doc: "message or finding", read: listed(types, "type", "", kind)},
		{name: "frame", read: of(number, func(m *Matcher, c *cond) { m.frames(c, true) })},
		{name: "frames", read: of(number, func(m *Matcher, c *cond) { m.frames(c, false) })},
		{name: "time", read: located(moment, func(_ *Matcher, w *where) (value, bool) {
			return value{kind: aTime, operand: operand{num: intOf(w.time.UnixNano())}}, !w.time.IsZero()
		})},
		{name: "src_ip", read: ends(address, true, false)},
		{name: "src_port", read: ends(number, true, false)},
		{name: "dst_ip", read: ends(address, false, true)},
		{name: "dst_port", read: ends(number, false, true)},
		{name: "host", doc: "address of either end", short: true, read: ends(address, true, true)},
		{name: "port", doc: "port of either end", short: true, read: ends(number, true, true)},
		{name: "addr", doc: "address and port of either end", short: true, read: ends(endpoint, true, true)},
		{name: "flow_id", read: located(text, (*Matcher).flow)},
		{name: "interface", read: located(text, func(_ *Matcher, w *where) (value, bool) { return textOf(w.iface), w.iface != "" })},
		{name: "vlan", read: located(number, func(_ *Matcher, w *where) (value, bool) { return integer(int64(w.vlan)), w.vlan != 0 })},
		{name: "protocol", read: protocols(true)},
		{name: "alternatives", read: protocols(false)},
		{name: "message", read: listed(messageNames(), "message", "qdissect protocols", message)},
		{name: "role", read: listed(roles, "role", "", role)},
		{name: "length", read: located(number, func(_ *Matcher, w *where) (value, bool) { return integer(int64(w.length)), w.length >= 0 })},
		{name: "wire_length", read: located(number, func(_ *Matcher, w *where) (value, bool) { return integer(int64(w.wire)), w.wire >= 0 })},
		{name: "detect", read: listed(reasons(), "reason", "", reason)},
	}
}

// scalarEntries are the numbers and marks of the envelope.
func scalarEntries() (list []entry) {
	for _, k := range envelope.Read(envelope.Message | envelope.Answer | envelope.Finding) {
		value := func(m *Matcher) (int64, bool) {
			switch {
			case m.record != nil && k.OfMessage != nil:
				v, ok := k.OfMessage(m.record)
				return int64(v), ok
			case m.finding != nil && k.OfFinding != nil:
				v, ok := k.OfFinding(m.finding)
				return int64(v), ok
			}
			return 0, false
		}
		e := entry{name: k.Name, read: single(value)}
		switch k.Kind {
		case envelope.Mark:
			e.read = of(flag, func(m *Matcher, c *cond) {
				if _, ok := value(m); ok {
					c.take(m, flagOf(true))
				}
			})
		case envelope.Nanoseconds:
			e.unit = time.Nanosecond
		}
		list = append(list, e)
		if short, ok := strings.CutSuffix(k.Name, "_ns"); ok {
			e.name, e.doc, e.short, e.strict = short, k.Name+", with a unit: "+short+" > 100ms", true, true
			list = append(list, e)
		}
	}
	return list
}

// partEntries are the parts of a message.
func partEntries() []entry {
	return []entry{
		{name: "split", read: of(whole, onSplit(func(m *Matcher, c *cond, _ *dissect.Record) { c.take(m, value{}) }))},
		{name: "split.variant", read: of(text, onSplit(func(m *Matcher, c *cond, r *dissect.Record) { c.take(m, textOf(r.Split.Variant)) }))},
		{name: "split.id", read: of(number, onSplit(func(m *Matcher, c *cond, r *dissect.Record) { c.take(m, numberOf(uintOf(r.Split.ID))) }))},
		{name: "split.parts", read: of(number, onSplit(func(m *Matcher, c *cond, r *dissect.Record) { c.take(m, integer(int64(r.Split.Parts))) }))},
		{name: "split.compressed", read: of(flag, onSplit(func(m *Matcher, c *cond, r *dissect.Record) { c.take(m, flagOf(r.Split.Compressed)) }))},
		{name: "split.missing", read: of(number, onSplit(func(m *Matcher, c *cond, r *dissect.Record) {
			if !r.Split.Partial {
				return
			}
			for _, n := range r.Missing {
				c.take(m, integer(int64(n)))
			}
		}))},
	}
}

// textEntries are the text of a message, and the bytes of one that is not known.
func textEntries() []entry {
	return []entry{
		{name: "summary", read: of(text, (*Matcher).readSummary)},
		{name: "data", read: of(hexadecimal, func(m *Matcher, c *cond) {
			if u := m.unknown; u != nil {
				c.take(m, value{kind: inHex, text: nettext.View(u.Shown(m.secrets))})
			}
		})},
	}
}

// findingEntries are what is found, and whether a server is described.
func findingEntries() []entry {
	each := func(get func(*Matcher, *cond, *dissect.Finding)) getter {
		return func(m *Matcher, c *cond) { m.eachFinding(c, get) }
	}
	extent := func(value func(*dissect.Finding) int) getter {
		return each(func(m *Matcher, c *cond, f *dissect.Finding) {
			if f.Length > 0 || f.Err != nil {
				c.take(m, integer(int64(value(f))))
			}
		})
	}
	finding := listed(findingIDs(), "finding", "qdissect protocols --findings", each(func(m *Matcher, c *cond, f *dissect.Finding) { c.take(m, textOf(f.Type.ID)) }))
	severity := listed(severities, "severity", "", each(func(m *Matcher, c *cond, f *dissect.Finding) {
		c.take(m, value{kind: aRank, operand: operand{num: intOf(int64(f.Type.Severity))}})
	}))
	severity.class = rank
	return []entry{
		{name: "findings", read: of(whole, each(func(m *Matcher, c *cond, _ *dissect.Finding) { c.take(m, value{}) }))},
		{name: "findings.id", read: finding},
		{name: "finding", doc: "findings.id", short: true, read: finding},
		{name: "findings.severity", read: severity},
		{name: "severity", doc: "findings.severity", short: true, read: severity},
		{name: "findings.text", read: of(text, each(func(m *Matcher, c *cond, f *dissect.Finding) {
			a := m.buffer(0)
			*a = f.AppendText((*a)[:0])
			c.take(m, textOf(nettext.View(*a)))
		}))},
		{name: "findings.field", read: of(text, each(func(m *Matcher, c *cond, f *dissect.Finding) {
			if f.Field != nil {
				c.take(m, textOf(f.Field.JSONName()))
			}
		}))},
		{name: "findings.offset", read: of(number, extent(func(f *dissect.Finding) int { return f.Offset }))},
		{name: "findings.length", read: of(number, extent(func(f *dissect.Finding) int { return f.Length }))},
		{name: "server", read: of(whole, onRecord(func(m *Matcher, c *cond, r *dissect.Record) {
			if r.Server.Stated() {
				c.take(m, value{})
			}
		}))},
	}
}

// factOf reads a fact about a server.
func factOf(k *envelope.Key) read {
	of := func(m *Matcher) (f envelope.Fact) {
		if m.record != nil {
			f = k.OfServer(&m.record.Server)
		}
		return f
	}
	if k.Kind == envelope.Signed {
		return single(func(m *Matcher) (int64, bool) {
			f := of(m)
			return int64(f.Number), f.Stated
		})
	}
	r := read{class: text, source: getter(func(m *Matcher, c *cond) {
		if f := of(m); f.Stated && k.Kind == envelope.Flag {
			c.take(m, flagOf(f.Number != 0))
		} else if f.Stated {
			a := m.buffer(0)
			*a = f.AppendText((*a)[:0], &m.record.Server)
			c.take(m, textOf(nettext.View(*a)))
		}
	})}
	if k.Kind == envelope.Flag {
		r.class = flag
	}
	return r
}

func onRecord(get func(*Matcher, *cond, *dissect.Record)) getter {
	return func(m *Matcher, c *cond) {
		if m.record != nil {
			get(m, c, m.record)
		}
	}
}

func onSplit(get func(*Matcher, *cond, *dissect.Record)) getter {
	return func(m *Matcher, c *cond) {
		if r := m.record; r != nil && r.Split.Parts > 0 {
			get(m, c, r)
		}
	}
}

// where is when and from where to where the record, the unknown datagram or the finding
// went, and how long it is.
type where struct {
	frame        uint64
	frames       []uint64
	time         time.Time
	src, dst     *netip.AddrPort
	noPorts      bool
	iface        string
	vlan         uint16
	length, wire int   // -1 for findings
	protocol     uint8 // of IP
}

func (m *Matcher) where() where {
	if r := m.record; r != nil {
		return where{r.Frame, r.Frames, r.Time, &r.Src, &r.Dst, false, r.Interface, r.VLAN, r.Length, r.WireLength, carrier(r.Protocol)}
	}
	if u := m.unknown; u != nil {
		return where{u.Frame, u.Frames, u.Time, &u.Src, &u.Dst, false, u.Interface, u.VLAN, len(u.Payload), len(u.Payload) + u.Missing, nettext.UDP}
	}
	f := m.finding
	return where{f.Frame, nil, f.Time, &f.Src, &f.Dst, f.NoPorts, f.Interface, f.VLAN, -1, -1, carrier(f.Protocol)}
}

// carrier returns the number of what carries a protocol.
func carrier(p *dissect.Protocol) uint8 {
	return nettext.Either[uint8](p.OverTCP(), nettext.TCP, nettext.UDP)
}

// located reads a value of where, if there is one.
func located(class class, get func(m *Matcher, w *where) (v value, ok bool)) read {
	return of(class, func(m *Matcher, c *cond) {
		w := m.where()
		if v, ok := get(m, &w); ok {
			c.take(m, v)
		}
	})
}

// ends reads the addresses, the ports or both of the source and the destination, as far as they are known.
func ends(class class, source, destination bool) read {
	r := of(class, func(m *Matcher, c *cond) {
		w := m.where()
		if !w.src.IsValid() || !w.dst.IsValid() || w.noPorts && class == number {
			return
		}
		for _, end := range [...]struct {
			read bool
			netip.AddrPort
		}{{source, *w.src}, {destination, *w.dst}} {
			v := value{kind: anAddress, end: end.AddrPort}
			switch {
			case !end.read:
				continue
			case class == number:
				v = integer(int64(end.Port()))
			case class == endpoint && w.noPorts:
				v.kind, v.end = anEnd, netip.AddrPortFrom(end.Addr(), 0)
			case class == endpoint:
				v.kind = anEnd
			}
			c.take(m, v)
		}
	})
	if class == number {
		r.most = 1<<16 - 1
	}
	return r
}

// frames reads the frames of a message: all, or only those of a message in several.
func (m *Matcher) frames(c *cond, single bool) {
	w := m.where()
	if single {
		if c.take(m, numberOf(uintOf(w.frame))); m.fits || c.into != nil { // as in JSON
			return
		}
	}
	if len(w.frames) < 2 {
		return
	}
	for _, f := range w.frames {
		c.take(m, numberOf(uintOf(f)))
	}
}

// flow returns the Community ID.
func (m *Matcher) flow(w *where) (v value, ok bool) {
	if !w.src.IsValid() || !w.dst.IsValid() || w.noPorts {
		return v, false
	}
	a := m.buffer(0)
	*a = nettext.AppendFlowID((*a)[:0], w.protocol, *w.src, *w.dst)
	return textOf(nettext.View(*a)), true
}

// protocols reads the alternatives, and with first the protocol.
func (m *Matcher) protocols(c *cond, first bool) {
	var p *dissect.Protocol
	var list []*dissect.Protocol
	switch {
	case m.record != nil:
		p, list = m.record.Protocol, m.record.Alternatives
	case m.finding != nil:
		p, list = m.finding.Protocol, m.finding.Alternatives
	case first:
		c.take(m, textOf("unknown"))
		return
	}
	if p == nil {
		return
	}
	if first {
		if c.take(m, textOf(p.Name)); m.fits || c.into != nil { // as in JSON
			return
		}
	}
	for _, p := range list {
		c.take(m, textOf(p.Name))
	}
}

func (m *Matcher) readSummary(c *cond) {
	a := m.buffer(0)
	switch {
	case m.record != nil:
		*a = m.record.AppendSummary((*a)[:0])
	case m.unknown != nil:
		if *a = m.unknown.AppendGuess((*a)[:0]); len(*a) == 0 {
			return
		}
	default:
		return
	}
	c.take(m, textOf(nettext.View(*a)))
}

// eachFinding passes findings to get.
func (m *Matcher) eachFinding(c *cond, get func(*Matcher, *cond, *dissect.Finding)) {
	switch {
	case m.record != nil:
		for i := range m.record.Findings {
			get(m, c, &m.record.Findings[i])
		}
	case m.finding != nil:
		get(m, c, &m.finding.Finding)
	}
}

// A Name is a name of the envelope, for documentation.
type Name struct {
	Name, Doc string
	// Type is what values are, and Values lists them if they are few.
	Type   string
	Values []string
	// Short says that JSON does not have the name.
	Short bool
}

// Values lists what a name of the envelope can be compared with, if it is one of a closed list.
func Values(name string) []string {
	if e := entryOf(name); e != nil {
		return slices.Clone(e.names)
	}
	return nil
}

// entryOf returns a name of the envelope, nil if there is none.
func entryOf(name string) *entry {
	entries := envelopeEntries()
	if i := slices.IndexFunc(entries, func(e entry) bool { return e.name == name }); i >= 0 {
		return &entries[i]
	}
	return nil
}

// Names lists the names of the envelope.
func Names() (list []Name) {
	for _, e := range envelopeEntries() {
		n := Name{Name: e.name, Doc: e.doc, Type: strings.TrimPrefix(strings.TrimPrefix(classes[e.class].what, "a "), "an "), Short: e.short}
		switch {
		case e.class == whole:
			n.Type = "object"
		case e.unit > 0:
			n.Type = "time span"
		}
		if len(e.names) < 10 {
			n.Values = e.names
		}
		list = append(list, n)
	}
	return list
}
