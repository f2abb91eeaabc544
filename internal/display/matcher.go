package display

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/report"
)

// A Filter is a compiled expression. It may be used by several goroutines at once.
type Filter struct {
	root  expression
	nodes bool
}

// NeedsTree reports whether the expression reads fields of messages, so that the
// analyzer has to build their tree; see [dissect.Config].
func (f *Filter) NeedsTree() bool { return f.nodes }

// Matcher returns a matcher, for one goroutine.
func (f *Filter) Matcher() *Matcher { return &Matcher{root: f.root} }

// A Matcher evaluates a filter.
type Matcher struct {
	root expression
	// One of these is what is being tested.
	record  *dissect.Record
	unknown *dissect.Unknown
	finding *dissect.FlowFinding

	there, fits bool // of the test: there are values, and one fits
	rightThere  bool
	left        value     // for comparisons of two fields
	scratch     [6][]byte // texts: three of each side
	right       bool
	secrets     bool // are shown
}

// Record reports whether a message matches.
func (m *Matcher) Record(r *dissect.Record) bool {
	m.record, m.unknown, m.finding = r, nil, nil
	return m.root.match(m)
}

// Unknown reports whether an unrecognised datagram matches.
func (m *Matcher) Unknown(u *dissect.Unknown) bool {
	m.record, m.unknown, m.finding = nil, u, nil
	return m.root.match(m)
}

// Finding reports whether a finding that belongs to no message matches.
func (m *Matcher) Finding(f *dissect.FlowFinding) bool {
	m.record, m.unknown, m.finding = nil, nil, f
	return m.root.match(m)
}

// An expression is a node of a filter.
type expression interface{ match(m *Matcher) bool }

type (
	and  struct{ a, b expression }
	or   struct{ a, b expression }
	not  struct{ a expression }
	test struct {
		reads []reading
		// none requires that there are values, on both sides if there are two, and that
		// none fits.
		none, two bool
	}
	// A reading is a source with the condition on its values.
	reading struct {
		source
		*cond
	}
)

func (e and) match(m *Matcher) bool { return e.a.match(m) && e.b.match(m) }

func (e or) match(m *Matcher) bool { return e.a.match(m) || e.b.match(m) }

func (e not) match(m *Matcher) bool { return !e.a.match(m) }

func (e *test) match(m *Matcher) bool {
	m.there, m.fits, m.rightThere = false, false, false
	for i := range e.reads {
		r := &e.reads[i]
		if r.read(m, r.cond); m.fits {
			return !e.none
		}
	}
	return e.none && m.there && (!e.two || m.rightThere)
}

// A short is the comparison of two numbers that exist at most once.
type short struct {
	a, b   func(*Matcher) (int64, bool)
	orders uint8
	none   bool
}

func (e *short) match(m *Matcher) bool {
	a, ok := e.a(m)
	if !ok {
		return false
	}
	b, ok := e.b(m)
	return ok && e.none != (e.orders>>(cmp.Compare(a, b)+1)&1 != 0)
}

// buffer returns one of three buffers for texts of the side that is being read.
func (m *Matcher) buffer(i int) *[]byte {
	if m.right {
		i += 3
	}
	return &m.scratch[i]
}

// A value is the left side of a comparison of two fields.
type value struct {
	num    num
	single bool // num has 32 bits
	small  bool // num has only i
	bytes  []byte
	end    netip.AddrPort
}

// A pair compares values with those of another field.
type pair struct {
	reads []read
	inner *cond // of the other field: compares with Matcher.left
}

// fits reports whether a value of the other field fits Matcher.left.
func (p *pair) fits(m *Matcher) bool {
	there, fits := m.there, m.fits
	m.there, m.fits, m.right = false, false, true
	for i := range p.reads {
		p.reads[i].read(m, p.inner)
	}
	m.rightThere = m.rightThere || m.there
	ok := m.fits
	m.there, m.fits, m.right = there, fits, false
	return ok
}

// The methods below test one value: they set there, and fits if it fits.

// present tests a value that can only exist.
func (c *cond) present(m *Matcher) {
	if c.into != nil {
		c.into.text([]byte("true"))
		return
	}
	m.there = true
	m.fits = m.fits || c.any
}

func (c *cond) int(m *Matcher, i int64) {
	m.there = true
	for k := range c.nums {
		if c.nums[k].num(num{f: float64(i), i: i}) {
			m.fits = true
			return
		}
	}
	switch {
	case c.any:
		m.fits = true
	case c.into != nil:
		c.into.num(intOf(i))
	case !c.two:
	case c.right != nil:
		m.left.num, m.left.single = num{i: i}, false
		m.left.small = true
		m.fits = c.right.fits(m) || m.fits
	case m.left.small:
		if c.holds(cmp.Compare(m.left.num.i, i)) {
			m.fits = true
		}
	default:
		m.fits = m.fits || c.number(m, intOf(i), false)
	}
}

func (c *cond) uint(m *Matcher, u uint64) {
	if u < 1<<63 {
		c.int(m, int64(u))
		return
	}
	if c.into != nil {
		c.into.num(uintOf(u))
		return
	}
	m.there = true
	for k := range c.nums {
		m.fits = m.fits || c.nums[k].num(uintOf(u))
	}
	m.fits = m.fits || c.any || c.two && c.number(m, uintOf(u), false)
}

// float tests a float; single says that it has 32 bits.
func (c *cond) float(m *Matcher, f float64, single bool) {
	if c.into != nil {
		c.into.float(f, single)
		return
	}
	m.there = true
	for k := range c.nums {
		v := &c.nums[k]
		m.fits = m.fits || single && v.float32(f) || !single && v.num(floatOf(f))
	}
	m.fits = m.fits || c.any || c.two && c.number(m, floatOf(f), single)
}

func (c *cond) num(m *Matcher, n num) {
	switch n.kind {
	case isInt:
		c.int(m, n.i)
	case isUint:
		c.uint(m, n.u)
	default:
		c.float(m, n.f, false)
	}
}

// number compares with another field.
func (c *cond) number(m *Matcher, n num, single bool) bool {
	if c.right != nil {
		m.left.num, m.left.single, m.left.small = n, single, false
		return c.right.fits(m)
	}
	left := m.left.num
	if m.left.small {
		left = intOf(left.i)
	}
	if single != m.left.single { // a number with more digits is rounded as well
		left, n = floatOf(float64(float32(left.f))), floatOf(float64(float32(n.f)))
	}
	return c.holds(left.compare(n))
}

// holds reports whether an order, -1, 0 or 1, fulfils the operator between two fields.
func (c *cond) holds(order int) bool { return c.orders>>(order+1)&1 != 0 }

// orders returns which of less, equal and more fulfil an operator, as bits.
func orders(o op) uint8 { return cmp.Or(map[op]uint8{less: 1, atMost: 3, more: 4, atLeast: 6}[o], 2) }

func (c *cond) time(m *Matcher, t time.Time) {
	if c.re == nil && c.part == nil && c.into == nil {
		c.int(m, t.UnixNano())
		return
	}
	a := m.buffer(0)
	*a = t.UTC().AppendFormat((*a)[:0], "2006-01-02T15:04:05.000000000Z")
	c.bytes(m, *a)
}

func (c *cond) flag(m *Matcher, is bool) {
	m.there = true
	if c.any || is && c.yes || !is && c.no {
		m.fits = true
		return
	}
	if c.into != nil {
		c.into.next()
		c.into.b = strconv.AppendBool(c.into.b, is)
	}
	if c.two {
		n := intOf(0)
		if is {
			n = intOf(1)
		}
		m.fits = m.fits || c.number(m, n, false)
	}
}

// name tests one of a closed list of names.
func (c *cond) name(m *Matcher, s string) {
	m.there = true
	switch {
	case slices.Contains(c.names, s), c.any || c.many[s]:
		m.fits = true
	case c.two || c.into != nil:
		c.str(m, s)
	}
}

// str tests a text of the program.
func (c *cond) str(m *Matcher, s string) {
	a := m.buffer(0)
	*a = append((*a)[:0], s...)
	c.bytes(m, *a)
}

func (c *cond) bytes(m *Matcher, b []byte) {
	m.there = true
	if m.fits || c.any || c.textual(b) {
		m.fits = true
		return
	}
	if c.into != nil {
		c.into.text(b)
	}
	if !c.two {
		return
	}
	if c.right != nil {
		m.left.bytes = b
		m.fits = c.right.fits(m)
		return
	}
	m.fits = bytes.Equal(m.left.bytes, b)
}

func (c *cond) textual(b []byte) bool {
	for i := range c.texts {
		l := &c.texts[i]
		if l.number {
			if n, ok := numberIn(b); ok {
				if l.is.num(n) {
					return true
				}
				continue
			}
		}
		if string(b) == l.text {
			return true
		}
	}
	if len(c.nums) > 0 {
		if n, ok := numberIn(b); ok {
			for i := range c.nums {
				if c.nums[i].num(n) {
					return true
				}
			}
		}
	}
	return c.re != nil && c.re.Match(b) || c.part != nil && bytes.Contains(b, c.part)
}

func (c *cond) address(m *Matcher, a netip.Addr) {
	if c.re != nil || c.part != nil || c.into != nil {
		s := m.buffer(0)
		*s = a.AppendTo((*s)[:0])
		c.bytes(m, *s)
		return
	}
	m.there = true
	for i := range c.prefixes {
		if c.prefixes[i].Contains(a) {
			m.fits = true
			return
		}
	}
	if c.any || c.two && c.between(m, netip.AddrPortFrom(a, 0)) {
		m.fits = true
	}
}

func (c *cond) end(m *Matcher, a netip.AddrPort) {
	if c.re != nil || c.part != nil || c.into != nil {
		s := m.buffer(0)
		*s = a.AppendTo((*s)[:0])
		c.bytes(m, *s)
		return
	}
	m.there = true
	for i := range c.ends {
		if c.ends[i].fits(a) {
			m.fits = true
			return
		}
	}
	if c.any || c.two && c.between(m, a) {
		m.fits = true
	}
}

// between compares an address with that of another field.
func (c *cond) between(m *Matcher, a netip.AddrPort) bool {
	if c.right != nil {
		m.left.end = a
		return c.right.fits(m)
	}
	return m.left.end == a
}

// hex tests bytes in hexadecimal.
func (c *cond) hex(m *Matcher, b []byte) {
	if c.any {
		c.present(m)
		return
	}
	a := m.buffer(0)
	*a = hex.AppendEncode((*a)[:0], b)
	c.bytes(m, *a)
}

// Reporter returns a reporter that passes what matches to r.
func (f *Filter) Reporter(r report.Reporter) report.Reporter { return &reporter{r, f.Matcher()} }

type reporter struct {
	report.Reporter
	m *Matcher
}

func (r *reporter) Record(rec *dissect.Record) error {
	if !r.m.Record(rec) {
		return nil
	}
	return r.Reporter.Record(rec)
}

func (r *reporter) Unknown(u *dissect.Unknown) error {
	if !r.m.Unknown(u) {
		return nil
	}
	return r.Reporter.Unknown(u)
}

func (r *reporter) Finding(f *dissect.FlowFinding) error {
	if !r.m.Finding(f) {
		return nil
	}
	return r.Reporter.Finding(f)
}
