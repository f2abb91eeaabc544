package display

import (
	"encoding/json"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// A literal is the operand of a comparison.
type literal struct {
	text   string
	quoted bool
	number bool
	f      float64
	i      int64
	whole  bool // i is the number
}

func newLiteral(text string, quoted bool) literal {
	l := literal{text: text, quoted: quoted}
	if quoted || !numeric(text) {
		return l
	}
	var err error
	if l.i, err = strconv.ParseInt(text, 0, 64); err == nil {
		l.number, l.whole, l.f = true, true, float64(l.i)
	} else if l.f, err = strconv.ParseFloat(text, 64); err == nil {
		l.number = true
	}
	return l
}

// textOf returns the text of a value that is not an object or a list. Strings are
// decoded.
func textOf(value []byte) (string, bool) {
	if len(value) == 0 || value[0] == '{' || value[0] == '[' {
		return "", false
	}
	if value[0] != '"' {
		return string(value), true
	}
	var s string
	return s, json.Unmarshal(value, &s) == nil
}

// numeric reports whether a text begins like a number. "inf" and "nan" are not
// numbers.
func numeric(s string) bool {
	s = strings.TrimLeft(s, "+-")
	return s != "" && (s[0] == '.' || s[0] >= '0' && s[0] <= '9')
}

// compare orders a value and a literal. Numbers are compared as numbers, also if JSON
// has them as text. A text and a number have no order, but may be equal as text.
func (l *literal) compare(value []byte) (order int, ordered, ok bool) {
	s, ok := textOf(value)
	if !ok {
		return 0, false, false
	}
	if l.number && numeric(s) {
		if i, err := strconv.ParseInt(s, 10, 64); err == nil && l.whole {
			return sign(i < l.i, i > l.i), true, true
		}
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return sign(f < l.f, f > l.f), true, true
		}
	}
	if !l.quoted && (value[0] == 't' || value[0] == 'f') && l.text != "true" && l.text != "false" {
		return 0, false, false
	}
	return strings.Compare(s, l.text), value[0] == '"' && !l.number, true
}

func sign(less, more bool) int {
	switch {
	case less:
		return -1
	case more:
		return 1
	}
	return 0
}

// ordered returns the test for a comparison. The test of == also serves !=.
func (l literal) ordered(op string) func([]byte) bool {
	return func(value []byte) bool {
		o, ordered, ok := l.compare(value)
		if !ok || !ordered && op != "==" && op != "!=" {
			return false
		}
		switch op {
		case "<":
			return o < 0
		case "<=":
			return o <= 0
		case ">":
			return o > 0
		case ">=":
			return o >= 0
		}
		return o == 0
	}
}

// matching returns the test for a regular expression.
func matching(re *regexp.Regexp) func([]byte) bool {
	return func(value []byte) bool {
		s, ok := textOf(value)
		return ok && re.MatchString(s)
	}
}

// between returns the test for a range of integers, such as 5-9, or nil if text is not
// a range.
func between(text string) func([]byte) bool {
	from, to, ok := strings.Cut(text, "-")
	lo, err := strconv.ParseInt(from, 10, 64)
	hi, err2 := strconv.ParseInt(to, 10, 64)
	if !ok || err != nil || err2 != nil {
		return nil
	}
	return func(value []byte) bool {
		i, err := strconv.ParseInt(string(value), 10, 64)
		return err == nil && i >= lo && i <= hi
	}
}

// address returns the test for an address without a port or a network. It returns nil
// if text is neither.
func address(text string) func([]byte) bool {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		a, err := netip.ParseAddr(strings.Trim(text, "[]"))
		if err != nil {
			return nil
		}
		p = netip.PrefixFrom(a, a.BitLen())
	}
	p = p.Masked()
	return func(value []byte) bool {
		s, _ := textOf(value)
		a, err := netip.ParseAddr(s)
		return err == nil && p.Contains(a)
	}
}

// endpoint returns the test for ADDR, ADDR:PORT, :PORT or a network. It returns nil if
// text is none of these.
func endpoint(text string) func([]byte) bool {
	var fits func(netip.AddrPort) bool
	if p, err := netip.ParsePrefix(text); err == nil {
		p = p.Masked()
		fits = func(a netip.AddrPort) bool { return p.Contains(a.Addr()) }
	} else if a, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		fits = func(b netip.AddrPort) bool { return b.Addr() == a }
	} else if a, err := netip.ParseAddrPort(text); err == nil {
		fits = func(b netip.AddrPort) bool { return b == a }
	} else if port, err := strconv.ParseUint(strings.TrimPrefix(text, ":"), 10, 16); err == nil && text[0] == ':' {
		fits = func(b netip.AddrPort) bool { return b.Port() == uint16(port) }
	} else {
		return nil
	}
	return func(value []byte) bool {
		a, ok := endpointOf(value)
		return ok && fits(a)
	}
}

// endpointOf parses an address with an optional port.
func endpointOf(value []byte) (netip.AddrPort, bool) {
	s, ok := textOf(value)
	if !ok {
		return netip.AddrPort{}, false
	}
	if a, err := netip.ParseAddr(s); err == nil {
		return netip.AddrPortFrom(a, 0), true
	}
	a, err := netip.ParseAddrPort(s)
	return a, err == nil
}

// ends calls visit for both endpoints of a datagram until visit returns true.
func ends(object []byte, visit func([]byte) bool) {
	for _, end := range [...]string{"src", "dst"} {
		if walk(object, []step{{end + "_ip", noIndex}}, func(ip []byte) bool {
			addr, err := netip.ParseAddr(strings.Trim(string(ip), `"`))
			if err != nil {
				return false
			}
			value := append(addr.AppendTo([]byte{'"'}), '"')
			walk(object, []step{{end + "_port", noIndex}}, func(port []byte) bool {
				if n, err := strconv.ParseUint(string(port), 10, 16); err == nil {
					value = append(netip.AddrPortFrom(addr, uint16(n)).AppendTo([]byte{'"'}), '"')
				}
				return true
			})
			return visit(value)
		}) {
			return
		}
	}
}
