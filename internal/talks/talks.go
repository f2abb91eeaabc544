// Package talks keeps conversations for reports: for each type of finding the exchange of the first message that has it,
// and for each protocol one conversation in which a server answers.
//
// A conversation is known to be of interest when most of it has passed. So the newest messages are kept in a ring, but
// only while few messages come: in a flood a message costs a comparison. What is kept are datagrams, as many as the limits
// allow; they are dissected again for the report, with their fields.
package talks

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/coder"
)

// The limits of what is kept.
const (
	// maxTalks is the number of conversations, talkBytes that of the bytes of each and allBytes of all. Notes and whole
	// conversations get half of these, the rest is for warnings and errors.
	maxTalks  = 96
	talkBytes = 64 << 10
	allBytes  = 256 << 10
	// maxBefore and maxMessages are the numbers of messages before the one with the finding and in all.
	maxBefore   = 8
	maxMessages = 20
	// before and after are how long a conversation is kept around the finding.
	before = 10 * time.Second
	after  = 5 * time.Second
	// maxOpen is how many conversations may still grow.
	maxOpen = 8
	// maxTries is how often a better example of a finding is looked for.
	maxTries = 256

	// The ring has so many messages, with so many bytes. It takes the first perSecond messages of every second, so that
	// it reaches back for longer than servers are waited for.
	ringMessages = 256
	ringBytes    = 128 << 10
	perSecond    = 40
	// maxData is the number of bytes of a message; of longer ones only what is said of them is kept.
	maxData = 16 << 10
	// maxFindings and maxText limit what is said of a message.
	maxFindings = 6
	maxText     = 400
)

// Talks are the conversations that one analyzer saw, or several.
type Talks struct {
	input   int
	ring    []message
	next    int    // place of the next message in the ring
	latest  uint64 // the highest frame that was ever in the ring
	arena   []byte
	written uint64 // bytes put into the arena, with what was left out at its end
	second  int64
	in      int // messages in that second

	talks map[string]*talk // by id of the finding, or by "." and the name of the protocol
	open  []*talk
	bytes int
	whole []*dissect.Protocol    // that have a whole conversation
	done  []*dissect.FindingType // that have a good one
	tries int
	text  []byte
}

// New returns empty talks.
func New() *Talks { return &Talks{talks: make(map[string]*talk)} }

// A talk is a conversation that is kept.
type talk struct {
	why            *dissect.FindingType // nil for a whole conversation
	protocol       *dissect.Protocol
	input          int
	client, server netip.AddrPort
	ports          uint16 // of both ends, to see quickly that a message is of others
	messages       []message
	bytes          int
	until          time.Time
	// found is the frame with the finding.
	found   uint64
	quality quality
}

// quality says how much of an exchange is kept.
type quality uint8

const (
	nothing quality = iota
	around          // other messages of the conversation
	complete
)

// A message is a message as it is kept.
type message struct {
	frame    uint64
	request  uint64 // frame of it
	time     time.Time
	src, dst netip.AddrPort
	protocol *dissect.Protocol
	kind     *dissect.MessageType
	length   int
	rtt      time.Duration
	missing  int // bytes that the capture lacks
	parts    []part
	data     []byte
	summary  string
	findings []string
	// In the ring: where the data begin. They are gone once the arena has been written beyond.
	at    uint64
	ports uint16 // as in talk
}

// A part is the number of bytes of a datagram.
type part struct {
	frame uint64
	n     int
}

func (m *message) up() bool { return m.kind == nil || m.kind.Role != dissect.Reply }

func portsOf(a, b netip.AddrPort) uint16 { return a.Port() ^ b.Port() }

func (m *message) between(a, b netip.AddrPort) bool {
	return m.src == a && m.dst == b || m.src == b && m.dst == a
}

// Input begins another capture, counted from 0, with frame numbers of its own.
func (t *Talks) Input(n int) {
	if n == t.input {
		return
	}
	t.input, t.open, t.latest = n, nil, 0
	clear(t.ring)
}

// Record takes a message.
func (t *Talks) Record(r *dissect.Record) {
	for i := range r.Findings {
		if f := r.Findings[i].Type; f.Severity > dissect.Chat && !slices.Contains(t.done, f) {
			t.found(f, r)
		}
	}
	if len(t.open) > 0 {
		t.follow(r)
	}
	if r.RequestFrame != 0 && r.RequestFrame <= t.latest && r.Pair.Challenge != dissect.ChallengeIssued && !slices.Contains(t.whole, r.Protocol) {
		t.answered(r)
	}
	if s := r.Time.Unix(); s != t.second {
		t.second, t.in = s, 0
	}
	if t.in++; t.in <= perSecond {
		t.remember(r)
	}
}

// remember puts a message into the ring.
func (t *Talks) remember(r *dissect.Record) {
	if len(t.ring) == 0 {
		t.ring, t.arena = make([]message, ringMessages), make([]byte, ringBytes)
	}
	m := &t.ring[t.next]
	t.next = (t.next + 1) % ringMessages
	*m = message{parts: m.parts[:0], findings: m.findings[:0]}
	t.describe(m, r)
	m.ports, t.latest = portsOf(r.Src, r.Dst), max(t.latest, r.Frame)
	n := m.size(r)
	if n > maxData {
		m.summary = string(r.AppendSummary(nil))
		return
	}
	at := t.written % ringBytes
	if at+uint64(n) > ringBytes {
		t.written += ringBytes - at
		at = 0
	}
	m.at = t.written
	m.data = t.arena[at : at : at+uint64(n)]
	m.copy(r)
	t.written += uint64(n)
}

// describe fills in what is known of a message besides its bytes.
func (t *Talks) describe(m *message, r *dissect.Record) {
	m.frame, m.request, m.time, m.src, m.dst = r.Frame, r.RequestFrame, r.Time, r.Src, r.Dst
	m.protocol, m.kind, m.length = r.Protocol, r.Type, r.Length
	if r.TimeKnown {
		m.rtt = r.RTT
	}
	for i := range r.Findings {
		m.say(t, &r.Findings[i])
	}
}

// say adds a finding.
func (m *message) say(t *Talks, f *dissect.Finding) {
	if f.Type.Severity <= dissect.Chat || len(m.findings) == maxFindings {
		return
	}
	t.text = append(append(t.text[:0], f.Type.Severity.String()...), ": "...)
	t.text = f.AppendText(t.text)
	if text := string(bytes.ToValidUTF8(t.text[:min(len(t.text), maxText)], nil)); !slices.Contains(m.findings, text) {
		m.findings = append(m.findings, text)
	}
}

// size returns the number of bytes of the datagrams of a message.
func (m *message) size(r *dissect.Record) (n int) {
	for i := range r.Sources {
		if s := &r.Sources[i]; s.Frame != 0 {
			n += len(s.Data)
		}
	}
	return n
}

// copy copies the datagrams of a message.
func (m *message) copy(r *dissect.Record) {
	for i := range r.Sources {
		if s := &r.Sources[i]; s.Frame != 0 {
			m.parts = append(m.parts, part{s.Frame, len(s.Data)})
			m.data = append(m.data, s.Data...)
		}
	}
	if len(m.parts) == 1 {
		m.missing = max(0, r.WireLength-len(m.data))
	}
}

// kept returns the messages of the ring between two ends since a time, the oldest first.
func (t *Talks) kept(a, b netip.AddrPort, since time.Time) (list []message) {
	ports := portsOf(a, b)
	for i := range t.ring {
		m := &t.ring[uint(t.next+i)%ringMessages]
		if m.ports != ports || m.frame == 0 || !m.between(a, b) || m.time.Before(since) {
			continue
		}
		list = append(list, m.own(t.written-m.at <= ringBytes))
	}
	return list[max(0, len(list)-maxBefore):]
}

// own returns a copy of a message, without its bytes if they are no longer there.
func (m *message) own(there bool) message {
	c := *m
	c.findings = slices.Clone(m.findings)
	c.parts, c.data = nil, nil
	if there {
		c.parts, c.data = slices.Clone(m.parts), bytes.Clone(m.data)
	}
	return c
}

// begin begins to keep a conversation, unless the limits are reached.
func (t *Talks) begin(name string, why *dissect.FindingType, k *talk) bool {
	limit, most := allBytes, maxTalks
	if why == nil || why.Severity <= dissect.Note {
		limit, most = limit/2, most/2
	}
	if old := t.talks[name]; old != nil {
		if k.quality <= old.quality {
			return false
		}
		t.bytes -= old.bytes
		t.open = slices.DeleteFunc(t.open, func(o *talk) bool { return o == old })
	} else if len(t.talks) >= most {
		return false
	}
	for i := range k.messages {
		k.bytes += len(k.messages[i].data)
	}
	if t.bytes+k.bytes > limit {
		return false
	}
	k.why, k.input, k.ports = why, t.input, portsOf(k.client, k.server)
	t.bytes += k.bytes
	t.talks[name] = k
	if len(t.open) == maxOpen {
		t.open = t.open[1:]
	}
	t.open = append(t.open, k)
	return true
}

// found keeps the conversation of a message with a finding.
func (t *Talks) found(f *dissect.FindingType, r *dissect.Record) {
	if old := t.talks[f.ID]; old != nil {
		if t.tries++; old.quality == complete || t.tries > maxTries {
			t.done = append(t.done, f)
			return
		}
		if old.quality == around && r.RequestFrame > t.latest {
			return // the request is not in the ring
		}
	}
	k := t.conversation(r)
	k.messages = t.kept(r.Src, r.Dst, r.Time.Add(-before))
	if k.quality = around; r.RequestFrame == 0 || k.has(r.RequestFrame) {
		k.quality = complete
	}
	t.beginFor(f, k)
}

// beginFor begins a conversation for a finding.
func (t *Talks) beginFor(f *dissect.FindingType, k *talk) {
	if old := t.talks[f.ID]; !t.begin(f.ID, f, k) && old == nil {
		t.done = append(t.done, f) // there is no room, and there will be none
	}
}

// conversation returns one with the ends of a message, without messages.
func (t *Talks) conversation(r *dissect.Record) *talk {
	k := &talk{protocol: r.Protocol, client: r.Src, server: r.Dst, found: r.Frame, until: r.Time.Add(after)}
	if r.Type.Role == dissect.Reply {
		k.client, k.server = r.Dst, r.Src
	}
	return k
}

// has reports whether the bytes of a message are kept.
func (k *talk) has(frame uint64) bool {
	return slices.ContainsFunc(k.messages, func(m message) bool { return m.frame == frame && len(m.data) > 0 })
}

// answered keeps a whole conversation of a protocol.
func (t *Talks) answered(r *dissect.Record) {
	k := t.conversation(r)
	k.messages = t.kept(r.Src, r.Dst, r.Time.Add(-before))
	if !k.has(r.RequestFrame) {
		return
	}
	t.whole = append(t.whole, r.Protocol)
	if t.begin("."+r.Protocol.Name, nil, k) {
		t.add(k, r)
	}
}

// follow adds a message to the conversations that it belongs to.
func (t *Talks) follow(r *dissect.Record) {
	done := r.Time.After(t.open[0].until)
	ports := portsOf(r.Src, r.Dst)
	for _, k := range t.open {
		if k.ports == ports && (r.Src == k.client && r.Dst == k.server || r.Src == k.server && r.Dst == k.client) {
			done = !t.add(k, r) || done
		}
	}
	if done {
		t.open = slices.DeleteFunc(t.open, func(k *talk) bool {
			return len(k.messages) >= maxMessages || k.bytes >= talkBytes || r.Time.After(k.until)
		})
	}
}

// add adds a message, and reports false if the conversation has ended.
func (t *Talks) add(k *talk, r *dissect.Record) bool {
	if r.Time.After(k.until) || len(k.messages) >= maxMessages || k.bytes >= talkBytes {
		return false
	}
	var m message
	t.describe(&m, r)
	if n := m.size(r); n <= maxData && k.bytes+n <= talkBytes && t.bytes+n <= allBytes {
		m.copy(r)
		k.bytes += n
		t.bytes += n
	} else {
		m.summary = string(r.AppendSummary(nil))
	}
	k.messages = append(k.messages, m)
	return true
}

// Finding takes a finding that belongs to no message. Its frame may be that of a message.
func (t *Talks) Finding(f *dissect.FlowFinding) {
	if f.Type.Severity <= dissect.Chat {
		return
	}
	for _, k := range t.open {
		for i := range k.messages {
			if m := &k.messages[i]; m.frame == f.Frame && m.between(f.Src, f.Dst) {
				m.say(t, &f.Finding)
			}
		}
	}
	if f.Protocol == nil || f.NoPorts || slices.Contains(t.done, f.Type) {
		return
	}
	old := t.talks[f.Type.ID]
	if old != nil {
		if t.tries++; old.quality == complete || t.tries > maxTries {
			t.done = append(t.done, f.Type)
			return
		}
	}
	k := &talk{protocol: f.Protocol, client: f.Src, server: f.Dst, found: f.Frame, until: f.Time.Add(after)}
	if k.messages = t.kept(f.Src, f.Dst, f.Time.Add(-before)); len(k.messages) == 0 {
		k.messages = t.elsewhere(f)
	}
	switch {
	case k.has(f.Frame):
		k.quality = complete
	case len(k.messages) > 0:
		k.quality = around
	}
	if len(k.messages) > 0 && k.messages[0].up() != (k.messages[0].src == f.Src) || len(k.messages) == 0 && fromServer(f) {
		k.client, k.server = f.Dst, f.Src
	}
	at := slices.IndexFunc(k.messages, func(m message) bool { return m.frame == f.Frame })
	if at < 0 {
		at = len(k.messages)
		k.messages = append(k.messages, message{frame: f.Frame, time: f.Time, src: f.Src, dst: f.Dst})
	}
	k.messages[at].say(t, &f.Finding)
	t.beginFor(f.Type, k)
}

// elsewhere returns messages that are kept for another finding about the same exchange.
func (t *Talks) elsewhere(f *dissect.FlowFinding) (list []message) {
	for _, name := range slices.Sorted(maps.Keys(t.talks)) {
		k := t.talks[name]
		if k.input != t.input || len(k.messages) == 0 || !k.messages[0].between(f.Src, f.Dst) || f.Time.Before(k.messages[0].time) || f.Time.After(k.until) {
			continue
		}
		for i := range k.messages {
			if m := &k.messages[i]; m.kind != nil {
				list = append(list, m.own(true))
			}
		}
		return list
	}
	return nil
}

// fromServer reports whether what a finding is about came from a server, as far as that is known without the message.
func fromServer(f *dissect.FlowFinding) bool {
	if s := f.Protocol.Split; s != nil && f.Type == s.Incomplete {
		return true
	}
	ports := f.Protocol.Ports
	return slices.Contains(ports, f.Src.Port()) && !slices.Contains(ports, f.Dst.Port())
}

// Merge adds the conversations of o, which saw other conversations of the same captures. Of two for the same finding the
// one that has all bytes stays, and then the earlier one.
func (t *Talks) Merge(o *Talks) {
	for _, name := range slices.Sorted(maps.Keys(o.talks)) {
		k := o.talks[name]
		if old := t.talks[name]; old == nil || k.compare(old) < 0 {
			c := *k // that of an analyzer may still grow
			c.messages = slices.Clone(k.messages)
			t.talks[name] = &c
		}
	}
}

func (k *talk) compare(o *talk) int {
	return cmp.Or(cmp.Compare(o.quality, k.quality), cmp.Compare(k.input, o.input), cmp.Compare(k.found, o.found))
}

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
