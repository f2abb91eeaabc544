package display

import "time"

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
			c.int(m, n)
		}
	})}
}

// A source passes the values of a name to c.
type source interface {
	read(m *Matcher, c *cond)
}

// A getter is a function that is a source.
type getter func(m *Matcher, c *cond)

func (g getter) read(m *Matcher, c *cond) { g(m, c) }
