package report

import (
	"bytes"
	"strconv"

	"github.com/qdissect/qdissect/dissect"
)

// A Leaf is a field that holds no others, as [Text] shows it: Name is the path within the message, and Value is safe for
// a terminal.
type Leaf struct {
	Name, Value    string
	Offset, Length int
}

// Leaves returns the bytes of a source of r and the fields in them. Secrets are masked in both. It needs the tree; see
// [dissect.Config].
func Leaves(r *dissect.Record, source int) (data []byte, leaves []Leaf) {
	t := NewText(TextOptions{})
	t.hides.begin(r)
	data = bytes.Clone(r.Sources[source].Data)
	type container struct {
		name     string
		list     bool
		elements int
	}
	open := []container{{}}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		open = open[:min(len(open), int(n.Depth)+1)]
		parent := &open[len(open)-1]
		name := n.Field.Key()
		if parent.list {
			name = parent.name + "[" + strconv.Itoa(parent.elements) + "]"
			parent.elements++
		} else if parent.name != "" {
			name = parent.name + "." + name
		}
		if n.Field.Kind.Container() {
			open = append(open, container{name: name, list: n.Field.Kind == dissect.List})
			continue
		}
		if int(n.Source) != source || n.Len == 0 {
			continue
		}
		raw := n.Bytes(r.Sources[source].Data)
		shown := data[n.Off : n.Off+n.Len]
		copy(shown, t.hides.shown(n, raw))
		if t.hides.all(n) {
			for k := range shown {
				shown[k] = '*'
			}
		}
		t.text = t.appendValue(t.text[:0], n, r.Sources[source].Data)
		leaves = append(leaves, Leaf{Name: name, Value: string(t.text), Offset: int(n.Off), Length: int(n.Len)})
	}
	return data, leaves
}
