package display

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/filter"
	"github.com/qdissect/qdissect/internal/jsonl"
)

// An Error describes a syntax error and its place.
type Error = filter.Error

// A token is a word or an operator.
type token struct {
	kind     tokenKind
	text     string // of a quoted text, the content
	at, size int
}

type tokenKind uint8

const (
	end tokenKind = iota
	word
	quoted
	operator // == != < <= > >= ~ !~
	sign1    // ( ) , ! and && ||
)

// aliases are other spellings of operators.
var aliases = map[string]string{
	"=": "==", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "matches": "~", "contains": "contains",
}

// Compile parses an expression. The error is an [*Error].
func Compile(text string) (*Filter, error) {
	p := &parser{text: text}
	if err := p.lex(); err != nil {
		return nil, err
	}
	e, err := p.any(0)
	if err == nil && p.peek().kind != end {
		err = p.fail(p.peek(), "\"and\" or \"or\" expected before this")
	}
	if err != nil {
		return nil, err
	}
	return &Filter{e}, nil
}

type parser struct {
	text   string
	tokens []token
	at     int
}

// fail returns an error about a token. At the end, it points to the last word.
func (p *parser) fail(t token, format string, args ...any) error {
	if t.kind == end && len(p.tokens) > 1 {
		t = p.tokens[len(p.tokens)-2]
	}
	e := &Error{Expression: p.text, Offset: t.at, Length: t.size, Text: fmt.Sprintf(format, args...)}
	if e.Length == 0 { // the text is empty
		e.Expression, e.Offset, e.Length = " ", 0, 1
	}
	return e
}

const (
	blanks = " \t\r\n"
	// stops are the bytes that end a word.
	stops = blanks + "()=!<>~,&|\"'"
)

func (p *parser) lex() error {
	s := p.text
	for i := 0; i < len(s); {
		c := s[i]
		t := token{at: i, size: 1}
		two := ""
		if i+1 < len(s) {
			two = s[i : i+2]
		}
		switch {
		case strings.IndexByte(blanks, c) >= 0:
			i++
			continue
		case c == '"' || c == '\'':
			n, text := quotedText(s[i:])
			t.kind, t.text, t.size = quoted, text, n
			if n == 0 {
				t.size = len(s) - i
				return p.fail(t, "unclosed quotation mark")
			}
		case slices.Contains([]string{"==", "!=", "<=", ">=", "!~", "=~"}, two):
			if t.kind, t.text, t.size = operator, two, 2; two == "=~" {
				t.text = "~"
			}
		case two == "&&" || two == "||":
			t.kind, t.text, t.size = sign1, two, 2
		case strings.IndexByte("=<>~", c) >= 0:
			t.kind, t.text = operator, s[i:i+1]
			if c == '=' {
				t.text = "=="
			}
		case strings.IndexByte("()!,", c) >= 0:
			t.kind, t.text = sign1, s[i:i+1]
		case strings.IndexByte(stops, c) >= 0:
			return p.fail(t, "%q is not an operator; use and, or, && or ||", s[i:i+1])
		default:
			n := strings.IndexAny(s[i:], stops)
			if n < 0 {
				n = len(s) - i
			}
			t.kind, t.text, t.size = word, s[i:i+n], n
		}
		i += t.size
		p.tokens = append(p.tokens, t)
	}
	p.tokens = append(p.tokens, token{kind: end, at: len(s)})
	return nil
}

// quotedText returns the length of a quoted text and its content. A backslash escapes
// a quotation mark or a backslash. Before other characters it stands for itself, as
// regular expressions need it.
func quotedText(s string) (n int, text string) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == s[0]:
			return i + 1, b.String()
		case s[i] == '\\' && i+1 < len(s) && (s[i+1] == s[0] || s[i+1] == '\\'):
			i++
		}
		b.WriteByte(s[i])
	}
	return 0, ""
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != end {
		p.at++
	}
	return t
}

// take consumes the next token if it is one of texts.
func (p *parser) take(texts ...string) bool {
	t := p.peek()
	if t.kind != word && t.kind != sign1 || !slices.Contains(texts, strings.ToLower(t.text)) {
		return false
	}
	p.at++
	return true
}

func (p *parser) any(depth int) (expression, error) {
	a, err := p.all(depth)
	for err == nil && p.take("or", "||") {
		var b expression
		if b, err = p.all(depth); err == nil {
			a = or{a, b}
		}
	}
	return a, err
}

func (p *parser) all(depth int) (expression, error) {
	a, err := p.one(depth)
	for err == nil && p.take("and", "&&") {
		var b expression
		if b, err = p.one(depth); err == nil {
			a = and{a, b}
		}
	}
	return a, err
}

func (p *parser) one(depth int) (expression, error) {
	if depth == maxDepth {
		return nil, p.fail(p.peek(), "nested too deep")
	}
	switch {
	case p.take("not", "!"):
		a, err := p.one(depth + 1)
		return not{a}, err
	case p.take("("):
		open := p.tokens[p.at-1]
		a, err := p.any(depth + 1)
		if err == nil && !p.take(")") {
			err = p.fail(open, "unclosed parenthesis")
		}
		return a, err
	}
	return p.test()
}

// test reads a path and an optional comparison.
func (p *parser) test() (expression, error) {
	name := p.next()
	if name.kind != word {
		if name.kind == end && len(p.tokens) == 1 {
			return nil, p.fail(name, "the expression is empty")
		}
		return nil, p.fail(name, "field expected, such as message or a2s.map")
	}
	e := &test{}
	var err error
	if e.paths, err = p.paths(name); err != nil {
		return nil, err
	}
	top := e.paths[0][0].name
	e.ends = name.text == "addr"
	addresses := len(e.paths[0]) == 1 && (top == "src_ip" || top == "dst_ip")
	t := p.peek()
	op := t.text
	if t.kind == word {
		if op = aliases[strings.ToLower(t.text)]; op == "" && strings.EqualFold(t.text, "in") {
			op = "in"
		}
	}
	switch {
	case t.kind != operator && (t.kind != word || op == ""):
		if isProtocol(name.text) {
			e.holds = newLiteral(name.text, true).ordered("==")
		}
		return e, nil
	case isProtocol(name.text):
		return nil, p.fail(name, "not a field but a protocol; use protocol == %s", name.text)
	}
	p.next()
	if op == "in" {
		e.holds, err = p.list(addresses, e.ends)
	} else {
		e.holds, err = p.value(op, addresses, e.ends)
		e.none = op == "!=" || op == "!~"
	}
	return e, err
}

// keys are the top-level keys of messages and findings.
var keys = []string{
	"type", "frame", "frames", "time", "src_ip", "src_port", "dst_ip", "dst_port", "flow_id", "interface", "vlan", "protocol", "message", "role", "length",
	"wire_length", "detect", "split", "request_frame", "rtt_ns", "rtt_ambiguous", "alternatives", "icmp_frame", "summary", "server", "findings", "data",
}

// isFields reports whether the name is that of an object with the fields of a
// protocol.
func isFields(name string) bool {
	return slices.ContainsFunc(all.Protocols(), func(p *dissect.Protocol) bool { return jsonl.FieldsKey(p.Name) == name })
}

func isProtocol(name string) bool {
	return slices.ContainsFunc(all.Protocols(), func(p *dissect.Protocol) bool { return p.Name == name })
}

// paths parses the path of a value. Some names stand for several paths.
func (p *parser) paths(t token) ([][]step, error) {
	path, err := p.path(t)
	if err != nil {
		return nil, err
	}
	top := path[0].name
	if len(path) == 1 {
		one := func(names ...string) (list [][]step) {
			for _, n := range names {
				var path []step
				for part := range strings.SplitSeq(n, ".") {
					path = append(path, step{part, noIndex})
				}
				list = append(list, path)
			}
			return list
		}
		switch {
		case top == "finding":
			return one("findings.id"), nil
		case top == "frame":
			return one("frame", "frames"), nil
		case top == "addr":
			return one("src_ip", "dst_ip"), nil
		case top == "port":
			return one("src_port", "dst_port"), nil
		case top == "protocol" || isProtocol(top):
			return one("protocol", "alternatives"), nil
		}
	}
	if isProtocol(top) { // accept valve-master.servers, too
		path[0].name = jsonl.FieldsKey(top)
		return [][]step{path}, nil
	}
	if slices.Contains(keys, top) || isFields(top) {
		return [][]step{path}, nil
	}
	if now := jsonl.Renamed(top); now != "" {
		return nil, p.fail(t, "%s is now %s", top, now)
	}
	return nil, p.fail(t, "unknown field %q; fields of a protocol are PROTOCOL.NAME, such as a2s.map, and those of a server are server.NAME", top)
}

func (p *parser) path(t token) (path []step, err error) {
	rest := t.text
	for rest != "" {
		if inside, ok := strings.CutPrefix(rest, "["); ok && len(path) > 0 {
			number, after, closed := strings.Cut(inside, "]")
			n, err := strconv.Atoi(number)
			switch {
			case !closed:
				return nil, p.fail(t, "unclosed bracket")
			case number == "*":
				n = anyIndex
			case err != nil || n < 0:
				return nil, p.fail(t, "brackets must contain a number or *")
			}
			path = append(path, step{index: n})
			rest = after
			continue
		}
		if len(path) > 0 {
			var dot bool
			if rest, dot = strings.CutPrefix(rest, "."); !dot {
				return nil, p.fail(t, "dot expected after a bracket")
			}
		}
		n := strings.IndexAny(rest, ".[")
		if n < 0 {
			n = len(rest)
		}
		if n == 0 {
			return nil, p.fail(t, "name expected in the path")
		}
		path = append(path, step{rest[:n], noIndex})
		rest = rest[n:]
	}
	return path, nil
}

// value parses the operand of a comparison.
func (p *parser) value(op string, addresses, ends bool) (func([]byte) bool, error) {
	t := p.next()
	if t.kind != word && t.kind != quoted {
		return nil, p.fail(t, "value expected: a number, a word, or quoted text")
	}
	switch op {
	case "contains":
		return matching(regexp.MustCompile(regexp.QuoteMeta(t.text))), nil
	case "~", "!~":
		re, err := regexp.Compile(t.text)
		if err != nil {
			return nil, p.fail(t, "invalid regular expression: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		}
		return matching(re), nil
	case "==", "!=":
		if ends {
			return p.endpoint(t)
		}
		if addresses {
			return p.address(t)
		}
	}
	return newLiteral(t.text, t.kind == quoted).ordered(op), nil
}

func (p *parser) address(t token) (func([]byte) bool, error) {
	if holds := address(t.text); holds != nil {
		return holds, nil
	}
	return nil, p.fail(t, "not an address such as 192.0.2.1 or 192.0.2.0/24; ports are src_port and dst_port")
}

func (p *parser) endpoint(t token) (func([]byte) bool, error) {
	if t.text != "" {
		if holds := endpoint(t.text); holds != nil {
			return holds, nil
		}
	}
	return nil, p.fail(t, "not an address such as 192.0.2.1, 192.0.2.1:27015, :27015 or 192.0.2.0/24")
}

// list parses values separated by commas.
func (p *parser) list(addresses, ends bool) (func([]byte) bool, error) {
	var list []func([]byte) bool
	for {
		t := p.peek()
		var holds func([]byte) bool
		if t.kind == word && !addresses && !ends {
			holds = between(t.text)
		}
		if holds != nil {
			p.next()
		} else {
			var err error
			if holds, err = p.value("==", addresses, ends); err != nil {
				return nil, err
			}
		}
		list = append(list, holds)
		if !p.take(",") {
			break
		}
	}
	return func(value []byte) bool {
		return slices.ContainsFunc(list, func(holds func([]byte) bool) bool { return holds(value) })
	}, nil
}
