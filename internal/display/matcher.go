// Package display implements the expressions of -Y.
//
// An expression selects messages, unknown datagrams and findings. Its names are the
// paths of the JSON output, and docs/filter.md describes the language for users:
//
//	protocol == a2s and message == info_reply
//	server.map == "de_dust2" or players > 20
//	a2s.players[*].score > 5
//	finding == a2s.players.count
//	host in {192.0.2.0/24, 2001:db8::/32} and not rtt > 100ms
//
// [Compile] checks names, operators and values against the catalogs of all protocols:
// an expression that could never match is an error. It translates a path into a [read],
// which fetches values from the nodes of a message or from its envelope, and an operator
// with its values into a [cond], which tests one value. Evaluation does not allocate.
//
// The files: parse.go reads the text; envelope.go has the names of the envelope and
// fields.go those of the catalogs; resolve.go and cond.go compile comparisons; matcher.go
// evaluates.
package display

import (
	"cmp"
	"encoding/hex"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/nettext"
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

	there, fits bool         // of the test: there are values, and one fits
	sides       [2][]operand // of a pair
	scratch     [3][]byte    // texts
	secrets     bool         // are shown
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
		// none requires that there are values, and that none fits.
		none bool
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
	m.there, m.fits = false, false
	for i := range e.reads {
		r := &e.reads[i]
		if r.read(m, r.cond); m.fits {
			return !e.none
		}
	}
	return e.none && m.there
}

// A pair is the comparison of two fields that are numbers.
type pair struct {
	left, right []read
	orders      uint8
	none        bool // as that of a test
}

// An operand is a number of one side. single says that it has 32 bits.
type operand struct {
	num
	single bool
}

var sides = [2]*cond{{side: 1}, {side: 2}}

func (e *pair) match(m *Matcher) bool {
	m.there, m.fits, m.sides = false, false, [2][]operand{m.sides[0][:0], m.sides[1][:0]}
	for i, reads := range [2][]read{e.left, e.right} {
		for k := range reads {
			reads[k].read(m, sides[i])
		}
	}
	for _, a := range m.sides[0] {
		for _, b := range m.sides[1] {
			x, y := a.num, b.num
			if a.single != b.single { // a number with more digits is rounded as well
				x, y = floatOf(float64(float32(x.f))), floatOf(float64(float32(y.f)))
			}
			if e.orders>>(x.compare(y)+1)&1 != 0 {
				return !e.none
			}
		}
	}
	return e.none && len(m.sides[0]) > 0 && len(m.sides[1]) > 0
}

// orders returns which of less, equal and more fulfil an operator, as bits.
func orders(o op) uint8 { return cmp.Or(map[op]uint8{less: 1, atMost: 3, more: 4, atLeast: 6}[o], 2) }

// buffer returns one of three buffers for texts.
func (m *Matcher) buffer(i int) *[]byte { return &m.scratch[i] }

// A value is what a source reads. Its text is borrowed.
type value struct {
	kind valueKind
	operand
	text string
	end  netip.AddrPort
}

type valueKind uint8

const (
	aThing  valueKind = iota // which can only exist
	aNumber                  // with a text if it was sent as one
	aFlag                    // 0 or 1
	aRank                    // a severity
	aTime                    // in nanoseconds
	aText
	inHex // the text has bytes
	anAddress
	anEnd // an address with a port
)

func textOf(s string) value { return value{kind: aText, text: s} }

func numberOf(n num) value { return value{kind: aNumber, operand: operand{num: n}} }

func integer(i int64) value { return numberOf(intOf(i)) }

func flagOf(is bool) (v value) {
	if v.kind = aFlag; is {
		v.i = 1
	}
	return v
}

// append appends the value as text.
func (v *value) append(b []byte) []byte {
	switch v.kind {
	case aThing:
		return append(b, "true"...)
	case aFlag:
		return strconv.AppendBool(b, v.i != 0)
	case aRank:
		return append(b, severities[v.i]...)
	case aTime:
		return time.Unix(0, v.i).UTC().AppendFormat(b, "2006-01-02T15:04:05.000000000Z")
	case inHex:
		return hex.AppendEncode(b, nettext.Bytes(v.text))
	case anAddress:
		return v.end.Addr().AppendTo(b)
	case anEnd:
		return v.end.AppendTo(b)
	case aNumber:
		if v.text == "" {
			return v.operand.append(b)
		}
	}
	return append(b, v.text...)
}

// append appends the number in decimal.
func (n *operand) append(b []byte) []byte {
	switch {
	case n.kind == isInt:
		return strconv.AppendInt(b, n.i, 10)
	case n.kind == isUint:
		return strconv.AppendUint(b, n.u, 10)
	case n.single:
		return strconv.AppendFloat(b, n.f, 'f', -1, 32)
	}
	return strconv.AppendFloat(b, n.f, 'f', -1, 64)
}

// take tests a value.
func (c *cond) take(m *Matcher, v value) {
	m.there = true
	switch {
	case m.fits:
	case c.into != nil:
		c.into.take(&v)
	case c.side > 0:
		m.sides[c.side-1] = append(m.sides[c.side-1], v.operand)
	default:
		m.fits = c.any || c.fits(m, &v)
	}
}

func (c *cond) fits(m *Matcher, v *value) bool {
	if v.kind == inHex || v.kind != aText && (c.re != nil || c.part != "") {
		b := m.buffer(0)
		*b = v.append((*b)[:0])
		v.text, v.kind = nettext.View(*b), aText
	}
	switch v.kind {
	case aFlag:
		return v.i != 0 && c.yes || v.i == 0 && c.no
	case aText:
		return c.textual(v.text)
	case anAddress:
		return slices.ContainsFunc(c.prefixes, func(p netip.Prefix) bool { return p.Contains(v.end.Addr()) })
	case anEnd:
		return slices.ContainsFunc(c.ends, func(e peer) bool { return e.fits(v.end) })
	case aThing:
		return false
	}
	return slices.ContainsFunc(c.nums, func(n interval) bool { return v.single && n.float32(v.f) || !v.single && n.num(v.num) })
}

func (c *cond) textual(s string) bool {
	for i := range c.texts {
		l := &c.texts[i]
		if l.number {
			if n, ok := numberIn(s); ok {
				if l.is.num(n) {
					return true
				}
				continue
			}
		}
		if s == l.text {
			return true
		}
	}
	if len(c.nums) > 0 {
		if n, ok := numberIn(s); ok && slices.ContainsFunc(c.nums, func(v interval) bool { return v.num(n) }) {
			return true
		}
	}
	return c.looks(s)
}

// looks reports whether a text has the part, or what the regular expression describes.
func (c *cond) looks(s string) bool {
	return c.re != nil && c.re.MatchString(s) || c.part != "" && strings.Contains(s, c.part)
}

// A class is a type of values, as comparisons see it.
type class uint8

const (
	number      class = iota
	identifier        // a 64-bit number that JSON has as text
	text              //
	setting           // text that is often a number
	flag              // true or false
	letter            // one character
	hexadecimal       // bytes
	address           // of IP
	endpoint          // an address with a port
	name              // of a closed list
	rank              // of a closed list in order
	moment            // a time
	whole             // an object or a list of objects: it can only exist
)

// An op is an operator in its canonical form.
type op string

const (
	exists   op = "exists"
	equal    op = "=="
	unequal  op = "!="
	less     op = "<"
	atMost   op = "<="
	more     op = ">"
	atLeast  op = ">="
	matches  op = "~"
	differs  op = "!~"
	contains op = "contains"
	in       op = "in"
	notIn    op = "not in"
)

// words are the operators that are words, and other spellings.
var words = map[string]op{
	"eq": equal, "ne": unequal, "lt": less, "le": atMost, "gt": more, "ge": atLeast, "matches": matches, "contains": contains, "in": in, "exists": exists,
}

// ordered reports whether the operator needs an order.
func (o op) ordered() bool { return o == less || o == atMost || o == more || o == atLeast }

// textual reports whether the operator looks into a text.
func (o op) textual() bool { return o == matches || o == differs || o == contains }

// none reports whether the operator matches if there are values and none fits.
func (o op) none() bool { return o == unequal || o == differs || o == notIn }

// classes describes what can be compared.
var classes = [...]struct {
	what           string // after "is"
	order, textual bool
}{
	number:      {what: "a number", order: true},
	identifier:  {what: "a number", order: true},
	text:        {what: "text", textual: true},
	setting:     {what: "text", order: true, textual: true},
	flag:        {what: "true or false"},
	letter:      {what: "one character", textual: true},
	hexadecimal: {what: "bytes in hexadecimal", textual: true},
	address:     {what: "an address", textual: true},
	endpoint:    {what: "an address with a port", textual: true},
	name:        {what: "a name", textual: true},
	rank:        {what: "a severity", order: true, textual: true},
	moment:      {what: "a time", order: true, textual: true},
	whole:       {what: "an object with values of its own"},
}

// A read is one way to get the values of a name.
type read struct {
	class class
	// unit is the unit of a number that is a duration, 0 for other numbers.
	unit time.Duration
	// strict says that a duration needs a unit.
	strict bool
	// most is the largest number, 0 if there is no limit.
	most uint64
	// names are all values of the classes name and rank, or all names that a text can
	// have; nil if any text is possible. noun is the word for one, list the command that
	// lists them.
	names      []string
	noun, list string
	// named says that the values have names, under another key.
	named bool
	// secret says that the value is masked.
	secret bool
	// nodes says that the value comes from the tree of fields.
	nodes bool
	source
}

// single returns the way to read a number of which there is at most one.
func single(one func(m *Matcher) (int64, bool)) read {
	return read{class: number, source: getter(func(m *Matcher, c *cond) {
		if n, ok := one(m); ok {
			c.take(m, integer(n))
		}
	})}
}

// A source passes the values of a name to c, which tests them.
type source interface {
	read(m *Matcher, c *cond)
}

// A getter is a function that is a source.
type getter func(m *Matcher, c *cond)

func (g getter) read(m *Matcher, c *cond) { g(m, c) }
