package display

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/filter"
	"github.com/qdissect/qdissect/internal/lazyregexp"
	"github.com/qdissect/qdissect/internal/nettext"
)

// An Error describes a mistake in an expression and its place.
type Error = filter.Error

// Compile compiles an expression. The error is an [*Error].
func Compile(text string) (*Filter, error) {
	p := &parser{text: text, names: dictionary{}}
	if err := p.lex(); err != nil {
		return nil, err
	}
	e, err := p.any(0)
	if err == nil && p.peek().kind != end {
		err = p.fail(p.peek(), "%s", p.joined(p.peek()))
	}
	if err != nil {
		return nil, err
	}
	return &Filter{e, p.nodes}, nil
}

type parser struct {
	text   string
	tokens []token
	at     int
	nodes  bool // the tree is needed
	names  dictionary
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

// joined is the complaint about a token after a complete test.
func (p *parser) joined(t token) string {
	switch {
	case t.text == ")" || t.text == "}":
		return "nothing is open that this closes"
	case t.text == ",":
		return "a list of values comes after in: port in {27015, 27016}"
	case t.kind == word && p.at > 0 && p.tokens[p.at-1].kind == word:
		if near := nettext.Closest(t.text, []string{"contains", "matches", "exists", "and", "or"}); near != "" {
			return fmt.Sprintf("\"and\", \"or\" or an operator expected before this; did you mean %s?", near)
		}
	}
	return "\"and\" or \"or\" expected before this"
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
	if t.kind != word && t.kind != sign || !slices.Contains(texts, strings.ToLower(t.text)) {
		return false
	}
	p.at++
	return true
}

// maxDepth limits the nesting.
const maxDepth = 64

func (p *parser) any(depth int) (expression, error) {
	return p.chain(depth, p.all, func(a, b expression) expression { return or{a, b} }, "or", "||")
}

func (p *parser) all(depth int) (expression, error) {
	return p.chain(depth, p.one, func(a, b expression) expression { return and{a, b} }, "and", "&&")
}

// chain reads operands that an operator joins.
func (p *parser) chain(depth int, operand func(int) (expression, error), join func(a, b expression) expression, operator ...string) (expression, error) {
	a, err := operand(depth)
	for err == nil && p.take(operator...) {
		var b expression
		b, err = operand(depth)
		a = join(a, b)
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
			if t := p.peek(); t.kind != end {
				return nil, p.fail(t, "%s", p.joined(t))
			}
			err = p.fail(open, "unclosed parenthesis")
		}
		return a, err
	}
	return p.test()
}

// operator returns the operator of a token. A "not" before in is taken as well.
func (p *parser) operator() (o op, t token) {
	t = p.peek()
	switch {
	case t.kind == operator:
		o = op(t.text)
	case t.kind != word:
	case strings.EqualFold(t.text, "not") && p.at+1 < len(p.tokens) && strings.EqualFold(p.tokens[p.at+1].text, "in"):
		o = notIn
		p.next()
	default:
		o = words[strings.ToLower(t.text)]
	}
	if o != "" {
		p.next()
	}
	return o, t
}

// test reads a name and an optional comparison.
func (p *parser) test() (expression, error) {
	before := strings.EqualFold(p.peek().text, "exists") && p.peek().kind == word // exists NAME, exists(NAME)
	closing := false
	if before {
		p.next()
		closing = p.take("(")
	}
	t := p.next()
	if t.kind != word {
		if t.kind == end && len(p.tokens) == 1 {
			return nil, p.fail(t, "the expression is empty")
		}
		return nil, p.fail(t, "field expected, such as message or a2s.map")
	}
	n, why := p.names.resolve(t.text)
	if why != "" {
		if w := strings.ToLower(t.text); w == "and" || w == "or" || words[w] != "" {
			why = "field expected before this, such as message or a2s.map"
		}
		return nil, p.fail(t, "%s", why)
	}
	if before {
		if closing && !p.take(")") {
			return nil, p.fail(p.peek(), "\")\" expected")
		}
		return p.compiled(n, &comparison{field: t, op: exists})
	}
	c := &comparison{field: t}
	if c.op, c.at = p.operator(); c.op == "" {
		c.op = exists
	}
	if n.protocol != "" && c.op != exists {
		return nil, p.fail(t, "not a field but a protocol; use protocol == %s", n.protocol)
	}
	switch {
	case c.op == exists:
	case c.list():
		if err := p.list(c); err != nil {
			return nil, err
		}
	default:
		v := p.next()
		if v.kind != word && v.kind != quoted {
			return nil, p.fail(v, "value expected: a number, a word, or quoted text")
		}
		c.values = []token{v}
		if v.kind == word && !c.op.textual() {
			e, err := p.fields(n, c)
			if e != nil || err != nil {
				return e, err
			}
		}
	}
	return p.compiled(n, c)
}

// list reads values in braces or parentheses, or without.
func (p *parser) list(c *comparison) error {
	open, closing := p.peek(), ""
	switch {
	case p.take("{"):
		closing = "}"
	case p.take("("):
		closing = ")"
	}
	for {
		v := p.next()
		switch {
		case v.kind == word || v.kind == quoted:
		case closing != "" && v.kind == end:
			return p.fail(open, "the list is not closed")
		case v.text == closing && len(c.values) == 0 && v.kind == sign:
			return p.fail(v, "the list is empty")
		default:
			return p.fail(v, "value expected: a number, a word, or quoted text")
		}
		c.values = append(c.values, v)
		if p.take(",") {
			continue
		}
		switch t := p.peek(); {
		case closing == "" || p.take(closing):
			return nil
		case t.kind == end:
			return p.fail(open, "the list is not closed")
		default:
			return p.fail(t, "\",\" or %q expected", closing)
		}
	}
}

// compiled returns the test of a comparison.
func (p *parser) compiled(n *resolved, c *comparison) (expression, error) {
	e := &test{none: c.op.none()}
	var first *complaint
	for i := range n.reads {
		r := &n.reads[i]
		var out *cond
		var why *complaint
		switch {
		case n.protocol != "":
			out = &cond{texts: []textLiteral{{text: n.protocol}}}
		case c.op == exists:
			out = &cond{any: true}
		default:
			out, why = c.cond(r)
		}
		if why != nil {
			// What is said of values is better than that lists of objects have none.
			if first == nil || n.reads[i-1].class == whole {
				first = why
			}
			continue
		}
		e.reads = append(e.reads, reading{r.source, out})
		p.nodes = p.nodes || r.nodes
	}
	if len(e.reads) == 0 {
		return nil, p.fail(first.at, "%s", first.text)
	}
	return e, nil
}

// fields returns the comparison of two fields that are numbers, nil if the value is not the name of a field. A word
// that can be a value is one.
func (p *parser) fields(n *resolved, c *comparison) (expression, error) {
	v := c.values[0]
	if slices.ContainsFunc(n.reads, func(r read) bool { _, why := c.cond(&r); return why == nil && r.class != text && r.class != setting }) {
		return nil, nil // a value
	}
	left := numbers(n.reads)
	if len(left) == 0 && !strings.Contains(v.text, ".") {
		return nil, nil
	}
	o, why := p.names.resolve(v.text)
	if why != "" || o.protocol != "" {
		return nil, nil
	}
	right := numbers(o.reads)
	switch {
	case len(left) == 0 && len(right) == 0:
		return nil, p.fail(v, "%s is a field, and only fields that are numbers can be compared; put text in quotation marks", v.text)
	case len(left) == 0, len(right) == 0:
		return nil, p.fail(v, "%s is %s, and %s is %s", c.field.text, classes[n.reads[0].class].what, v.text, classes[o.reads[0].class].what)
	case left[0].unit != right[0].unit:
		return nil, p.fail(v, "%s and %s are numbers of different units", c.field.text, v.text)
	}
	for _, r := range slices.Concat(left, right) {
		p.nodes = p.nodes || r.nodes
	}
	return &pair{left, right, orders(c.op), c.op.none()}, nil
}

// numbers returns the reads of numbers.
func numbers(reads []read) []read {
	return slices.DeleteFunc(slices.Clone(reads), func(r read) bool { return r.class != number && r.class != identifier || r.secret })
}

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
	sign     // ( ) { } , ! and && ||
)

const (
	blanks = " \t\r\n"
	// stops are the bytes that end a word.
	stops = blanks + "()=!<>~,&|\"'"
)

// signs matches an operator or a sign at the start of a text.
var signs = lazyregexp.New(`^(?:[=!<>]=|[!=]~|&&|\|\||[=<>~()!,{}])`)

// maxText is the number of bytes of an expression.
const maxText = 64 << 10

// lex splits the text into tokens.
func (p *parser) lex() error {
	s := p.text
	if len(s) > maxText {
		return p.fail(token{kind: word, size: len(s)}, "the expression is longer than %d bytes", maxText)
	}
	braces := 0
	for i := 0; ; {
		rest := strings.TrimLeft(s[i:], blanks)
		if i = len(s) - len(rest); rest == "" {
			p.tokens = append(p.tokens, token{kind: end, at: len(s)})
			return nil
		}
		t := token{kind: sign, text: signs().FindString(rest), at: i}
		t.size = len(t.text)
		ends := stops
		switch {
		case rest[0] == '"' || rest[0] == '\'':
			if t.size, t.text = quotedText(rest); t.size == 0 {
				t.size = len(rest)
				return p.fail(t, "unclosed quotation mark")
			}
			t.kind = quoted
		case t.text == "{":
			braces++
		case t.text == "}" && braces > 0:
			braces--
		case t.text == "}" || t.text == "" && strings.IndexByte(stops, rest[0]) < 0:
			ends += nettext.Either(braces > 0, "}", "")
			if t.kind, t.size = word, strings.IndexAny(rest, ends); t.size < 0 {
				t.size = len(rest)
			}
			if t.text = rest[:t.size]; !utf8.ValidString(t.text) {
				return p.fail(t, "the expression is not valid UTF-8")
			}
		case t.text == "":
			t.size = 1
			return p.fail(t, "%q is not an operator; use and, or, && or ||", rest[:1])
		case strings.ContainsAny(t.text, "=<>~"):
			t.kind, t.text = operator, cmp.Or(map[string]string{"=": "==", "=~": "~"}[t.text], t.text)
		}
		i += t.size
		p.tokens = append(p.tokens, t)
	}
}

// quotedText returns the length of a quoted text and its content, 0 if it is not closed.
// A backslash escapes a quotation mark or a backslash. Before other characters it stands
// for itself, as regular expressions need it.
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
