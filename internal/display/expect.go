package display

import (
	"regexp"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/dissect/all"
)

// valued says what a name in an expression is compared with.
var valued = regexp.MustCompile(`([\w.]+)\s*(?:==|!=|=~|!~|[=<>~]|<=|>=|\b(?:eq|ne|lt|le|gt|ge|contains|matches|in)\b)[\s({]*(?:[^\s)}]+,\s*)*$`)

// Expected returns what may follow the beginning of an expression: a name, or a value of the name before an operator.
func Expected(begin string) []string {
	m := valued.FindStringSubmatch(begin)
	if m == nil {
		return append(AllNames(), ProtocolNames()...)
	}
	return Values(strings.TrimPrefix(m[1], "qd."))
}

// AllNames returns the names of expressions: those of the envelope and the fields of the protocols.
func AllNames() (names []string) {
	for _, n := range Names() {
		names = append(names, n.Name)
	}
	for _, p := range all.Protocols() {
		for _, f := range p.Catalog.Fields() {
			if !f.Framing {
				names = append(names, p.JSONKey()+"."+f.JSONName())
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ProtocolNames returns the names of all protocols.
func ProtocolNames() (names []string) {
	for _, p := range all.Protocols() {
		names = append(names, p.Name)
	}
	return names
}
