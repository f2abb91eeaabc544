package display

import (
	"encoding/hex"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/nettext"
)

// A cond is what a value has to fulfil. What is used of it depends on the class.
type cond struct {
	any      bool    // every value fits
	into     *gather // collects the values instead
	nums     []interval
	texts    []textLiteral
	re       *regexp.Regexp
	part     string
	prefixes []netip.Prefix
	ends     []peer
	yes, no  bool
	side     uint8 // collects numbers in Matcher.sides, from 1 on
}

// A textLiteral is a text to be equal to, and the number that it is.
type textLiteral struct {
	text   string
	number bool
	is     interval
}

// An peer is an address, a network or a port, or an address with a port.
type peer struct {
	prefix netip.Prefix // invalid for any address
	port   int          // -1 for any port
}

// A complaint is why a comparison is impossible, and the token to blame.
type complaint struct {
	at   token
	text string
}

// A comparison is a test as written.
type comparison struct {
	field  token // its name
	op     op
	at     token // the operator
	values []token
}

func (c *comparison) list() bool { return c.op == in || c.op == notIn }

// cond compiles a comparison for one way to read the field.
func (c *comparison) cond(r *read) (*cond, *complaint) {
	what := classes[r.class]
	if r.unit > 0 {
		what.what = "a time span"
	}
	blame := func(at token, text string) (*cond, *complaint) { return nil, &complaint{at, text} }
	name := c.field.text
	switch {
	case r.secret:
		return blame(c.field, name+" is a secret: filters do not look at its value, only whether it exists")
	case r.class == whole:
		return blame(c.at, name+" is "+what.what+": compare one of them")
	case c.op.ordered() && !what.order:
		return blame(c.at, name+" is "+what.what+", which has no order"+alternative(r.class))
	case c.op.textual() && !what.textual:
		return blame(c.at, name+" is "+what.what+", and "+c.at.text+" needs text")
	case c.op.textual():
		return c.textual(r)
	}
	out := new(cond)
	for _, v := range c.values {
		if why := c.literal(out, r, v); why != "" {
			return blame(v, why)
		}
	}
	return out, nil
}

// alternative says what to use instead of an order.
func alternative(c class) string {
	switch c {
	case text, name:
		return ": use ==, in, contains or ~"
	case address, endpoint:
		return ": use == with a network such as 192.0.2.0/24"
	}
	return ": use =="
}

// textual compiles ~, !~ and contains.
func (c *comparison) textual(r *read) (*cond, *complaint) {
	v, out := c.values[0], new(cond)
	if c.op == contains {
		out.part = v.text
		if v.text == "" {
			return nil, &complaint{v, "every text contains the empty text"}
		}
		if r.class == hexadecimal {
			digits, ok := hexDigits(v.text)
			if !ok {
				return nil, &complaint{v, v.text + " is not in hexadecimal digits"}
			}
			out.part = digits
		}
	} else {
		re, err := regexp.Compile(v.text)
		if err != nil {
			return nil, &complaint{v, "invalid regular expression: " + strings.TrimPrefix(err.Error(), "error parsing regexp: ")}
		}
		out.re = re
	}
	if r.names != nil && !slices.ContainsFunc(r.names, out.looks) {
		return nil, &complaint{v, "no " + r.noun + " fits this" + r.where()}
	}
	return out, nil
}

// where says how to list the names.
func (r *read) where() string {
	return nettext.Either(r.list == "", ": it is one of "+strings.Join(r.names, ", "), "; "+r.list+" lists them")
}

// literal adds a value to c. The result says why that is impossible.
func (c *comparison) literal(out *cond, r *read, v token) (why string) {
	name, s := c.field.text, v.text
	switch r.class {
	case number, identifier:
		return c.number(out, r, v)
	case text, setting:
		if r.names != nil {
			return c.name(out, r, s)
		}
		return c.text(out, r, v)
	case flag:
		switch s {
		case "true":
			out.yes = true
		case "false":
			out.no = true
		default:
			return name + " is true or false"
		}
	case letter:
		if utf8.RuneCountInString(s) != 1 {
			why = name + " is one character"
			why += nettext.Either(r.named, "; "+name+"_name has what it means", "")
			return why
		}
		out.texts = append(out.texts, textLiteral{text: s})
	case hexadecimal:
		digits, ok := hexDigits(s)
		if !ok || len(digits)%2 != 0 {
			return name + " is bytes in hexadecimal, and this is not"
		}
		out.texts = append(out.texts, textLiteral{text: digits})
	case address:
		p, ok := prefix(s)
		if !ok {
			return noAddress(name, s)
		}
		out.prefixes = append(out.prefixes, p)
	case endpoint:
		e, ok := endOf(s)
		if !ok {
			return "not an address such as 192.0.2.1, 192.0.2.1:27015, :27015 or 192.0.2.0/24"
		}
		out.ends = append(out.ends, e)
	case rank:
		i := slices.Index(r.names, s)
		if i < 0 {
			return r.unknown(s)
		}
		out.nums = append(out.nums, intervalOf(c.op, intOf(int64(i))))
	case moment:
		return c.moment(out, s)
	default:
		return c.name(out, r, s)
	}
	return ""
}

// noAddress is the complaint about a value that is no address.
func noAddress(name, s string) string {
	why := "not an address such as 192.0.2.1 or 192.0.2.0/24"
	if _, err := netip.ParseAddrPort(s); err == nil {
		why += "; ports are " + portOf(name) + ", and addr is compared with both"
	}
	return why
}

// text accepts a text, which may be a number.
func (c *comparison) text(out *cond, r *read, v token) string {
	n, ok := parseNum(v.text)
	if c.op.ordered() {
		if !ok || v.kind == quoted {
			return c.field.text + " is text: only numbers in it have an order, and " + v.text + " is not a number"
		}
		out.nums = append(out.nums, intervalOf(c.op, n))
		return ""
	}
	l := textLiteral{text: v.text, number: ok && v.kind != quoted}
	if l.number {
		l.is = intervalOf(equal, n)
	} else if v.kind != quoted && r.class == setting && c.list() {
		l.is, l.number = r.span(v.text)
	}
	out.texts = append(out.texts, l)
	return ""
}

// portOf returns the name of the port that belongs to an address.
func portOf(name string) string {
	if before, ok := strings.CutSuffix(name, "ip"); ok {
		return before + "port"
	}
	return "port"
}

func (c *comparison) number(out *cond, r *read, v token) string {
	name, s := c.field.text, v.text
	if v.kind == quoted && r.class == number {
		if _, ok := parseNum(s); ok {
			return name + " is a number: write it without quotation marks"
		}
		return name + " is a number"
	}
	n, ok, why := r.parse(s)
	if ok {
		out.nums = append(out.nums, intervalOf(c.op, n))
		return ""
	}
	if c.list() {
		if span, ok := r.span(s); ok {
			if span.empty() {
				return "the range is empty: it begins with the smaller number"
			}
			out.nums = append(out.nums, span)
			return ""
		}
	}
	what := nettext.Either(r.unit > 0, " is a time span, and ", " is a number, and ")
	if why != "" {
		return name + what + nettext.Quote(s) + " does not fit: " + why
	}
	why = name + what + nettext.Quote(s) + " is not"
	why += nettext.Either(r.named, "; "+name+"_name has the names", "")
	return why
}

// name accepts one name of a closed list.
func (c *comparison) name(out *cond, r *read, s string) string {
	if !slices.Contains(r.names, s) {
		return r.unknown(s)
	}
	out.texts = append(out.texts, textLiteral{text: s})
	return ""
}

// unknown is the complaint about a name that is not in the list.
func (r *read) unknown(s string) string {
	why := "unknown " + r.noun + " " + nettext.Quote(s)
	if near := nettext.Closest(s, r.names); near != "" {
		return why + "; did you mean " + near + "?"
	}
	return why + r.where()
}

// layouts are the forms of a time and how long what they name lasts.
var layouts = []struct {
	layout string
	lasts  time.Duration
}{
	{"2006-01-02", 24 * time.Hour}, {"2006-01-02T15:04", time.Minute}, {"2006-01-02T15:04:05", time.Second},
	{"2006-01-02T15:04Z07:00", time.Minute}, {"2006-01-02T15:04:05Z07:00", time.Second},
}

// moment accepts a time. Equal to a day, a minute or a second is everything in it.
func (c *comparison) moment(out *cond, s string) string {
	text := strings.Replace(s, " ", "T", 1)
	if from, to, two := strings.Cut(text, ".."); two && c.list() {
		a, _, okA := instant(from)
		b, lasts, okB := instant(to)
		if okA && okB {
			out.nums = append(out.nums, between(intOf(a), intOf(b+lasts-1)))
			return ""
		}
	}
	at, lasts, ok := instant(text)
	switch {
	case !ok:
		return "not a time such as 2026-11-21T05:41:00.5Z or 2026-11-21"
	case c.op.ordered():
		out.nums = append(out.nums, intervalOf(c.op, intOf(at)))
	default:
		out.nums = append(out.nums, between(intOf(at), intOf(at+lasts-1)))
	}
	return ""
}

// instant parses a time. UTC is the default.
func instant(s string) (nanos, lasts int64, ok bool) {
	for _, l := range layouts {
		t, err := time.Parse(l.layout, s)
		if err != nil || t.Year() < 1678 || t.Year() > 2261 {
			continue
		}
		lasts = int64(l.lasts)
		if _, fraction, ok := strings.Cut(s, "."); ok { // Parse accepts one after the seconds
			for i := 0; i < len(fraction) && fraction[i] >= '0' && fraction[i] <= '9' && lasts > 1; i++ {
				lasts /= 10
			}
		}
		return t.UnixNano(), lasts, true
	}
	return 0, 0, false
}

// hexDigits returns bytes in hexadecimal as JSON has them.
func hexDigits(s string) (string, bool) {
	s = strings.ToLower(strings.TrimPrefix(s, "0x"))
	_, err := hex.DecodeString(s + s) // of an even number of digits
	return s, err == nil
}

// prefix parses an address or a network.
func prefix(s string) (netip.Prefix, bool) {
	if p, err := netip.ParsePrefix(s); err == nil {
		return p.Masked(), true
	}
	a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	if err != nil || a.Zone() != "" {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(a, a.BitLen()), true
}

// endOf parses an address, a network, an address with a port, or a port after a colon.
func endOf(s string) (peer, bool) {
	if p, ok := prefix(s); ok {
		return peer{p, -1}, true
	}
	if a, err := netip.ParseAddrPort(s); err == nil && a.Addr().Zone() == "" {
		return peer{netip.PrefixFrom(a.Addr(), a.Addr().BitLen()), int(a.Port())}, true
	}
	if digits, ok := strings.CutPrefix(s, ":"); ok {
		if port, err := strconv.ParseUint(digits, 10, 16); err == nil {
			return peer{port: int(port)}, true
		}
	}
	return peer{}, false
}

func (e *peer) fits(a netip.AddrPort) bool {
	return (e.port < 0 || e.port == int(a.Port())) && (!e.prefix.IsValid() || e.prefix.Contains(a.Addr()))
}
