package display

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// A view is what is read of a field: its value or one of the keys that stand beside it in
// JSON.
type view uint8

const (
	viewValue view = iota
	viewName       // the name of the value
	viewText       // text in place of a number
	viewPlain      // text without colour codes
	viewHex        // the bytes of text that is not UTF-8
	viewIP         // of an endpoint
	viewPort
)

// suffixes are the ends of the keys of a field, by its kind.
func suffixes(f *dissect.Field) (list []suffix) {
	list = []suffix{{"", viewValue}}
	if len(f.Names) > 0 {
		list = append(list, suffix{"_name", viewName})
	}
	textKey := ""
	if f.Kind == dissect.Float || f.Kind == dissect.Decimal {
		textKey = core.TextSuffix
		list = append(list, suffix{textKey, viewText})
	}
	if f.Style != dissect.NoStyle {
		list = append(list, suffix{textKey + "_plain", viewPlain})
	}
	if f.Kind == dissect.String || f.Kind == dissect.Decimal {
		list = append(list, suffix{textKey + "_hex", viewHex})
	}
	if f.Kind == dissect.Endpoint {
		list = append(list, suffix{".ip", viewIP}, suffix{".port", viewPort})
	}
	return list
}

type suffix struct {
	text string
	view view
}

// A place is a field and what is read of it.
type place struct {
	field *dissect.Field
	view  view
}

// A catalog has the fields of one protocol by name. Catalogs do not say which field
// stands in which object, but nearly all paths do: a2s.players.name is the key name in
// the list a2s.players. Some lists hold fields of others, or themselves.
type catalog struct {
	protocol   *dissect.Protocol
	places     map[string][]place          // by path in JSON, as the catalog suggests it
	keys       map[string][]place          // by the last key of that path
	own        map[string][]place          // by the path in the catalog
	containers map[string][]*dissect.Field // by key
	open       []*dissect.Field            // stand for columns
	paths      []string                    // those of places, in the order of the catalog
}

// catalogOf lists the fields of a protocol, by names without that of the protocol.
func catalogOf(p *dissect.Protocol) *catalog {
	c := &catalog{protocol: p, places: map[string][]place{}, keys: map[string][]place{}, own: map[string][]place{}, containers: map[string][]*dissect.Field{}}
	byPath, grouped := map[string]*dissect.Field{}, map[string]bool{}
	for _, f := range p.Catalog.Fields() {
		byPath[f.Path] = f
		if f.Kind == dissect.Group {
			grouped[parent(f.Path)] = true
		}
	}
	for _, f := range p.Catalog.Fields() {
		if f.Open {
			c.open = append(c.open, f)
			continue
		}
		path, shown, element := c.path(f, byPath, grouped)
		for _, s := range suffixes(f) {
			at := place{f, s.view}
			c.own[f.Path[len(p.Name)+1:]+s.text] = append(c.own[f.Path[len(p.Name)+1:]+s.text], at)
			if !shown || element && f.Kind == dissect.Group {
				continue
			}
			if len(c.places[path+s.text]) == 0 {
				c.paths = append(c.paths, path+s.text)
			}
			c.places[path+s.text] = append(c.places[path+s.text], at)
			if !element {
				c.keys[f.JSONName()+s.text] = append(c.keys[f.JSONName()+s.text], at)
			} else if s.text != "" && s.text[0] == '.' { // servers.ip
				c.keys[s.text[1:]] = append(c.keys[s.text[1:]], at)
			}
		}
		if shown && f.Kind.Container() {
			c.containers[f.JSONName()] = append(c.containers[f.JSONName()], f)
		}
	}
	return c
}

// A Path is the path of a field within the fields of its protocol in JSON. Suffix is the end
// of the name of a key that stands beside the field: _name, _text, _plain, _hex, .ip or .port.
type Path struct {
	Name, Suffix string
	Field        *dissect.Field
}

// Paths returns the paths of the fields of a protocol, with containers before what they
// hold. An element of a list has the path of the list. Several fields can have one path.
// An open field has that of the columns that it stands for, without their name.
func Paths(p *dissect.Protocol) (list []Path) {
	c := catalogOf(p)
	seen := map[string]bool{}
	for _, f := range p.Catalog.Fields() {
		if f.Open {
			list = append(list, Path{Name: parent(f.Path[len(p.Name)+1:]), Field: f})
		}
	}
	for _, path := range c.paths {
		for _, at := range c.places[path] {
			for _, s := range suffixes(at.field) {
				if s.view == at.view && !seen[path+" "+at.field.Path] {
					seen[path+" "+at.field.Path] = true
					list = append(list, Path{path, s.text, at.field})
				}
			}
		}
	}
	return list
}

func parent(path string) string { return path[:max(0, strings.LastIndexByte(path, '.'))] }

// path returns the path of a field in JSON. shown is false for framing. The fields of
// the groups of a list stand beside the group in the catalog. An element of a list has
// the path of the list.
func (c *catalog) path(f *dissect.Field, byPath map[string]*dissect.Field, grouped map[string]bool) (path string, shown, element bool) {
	if f.Framing {
		return "", false, false
	}
	var keys []string
	inList, around := false, ""
	for i := len(c.protocol.Name) + 1; i < len(f.Path); i++ {
		if f.Path[i] != '.' {
			continue
		}
		g := byPath[f.Path[:i]]
		if g == nil || !g.Kind.Container() {
			continue
		}
		if g.Framing {
			return "", false, false
		}
		if !inList || g.Kind == dissect.List && grouped[parent(g.Path)] {
			keys = append(keys, g.JSONName())
		}
		inList, around = g.Kind == dissect.List, g.Path
	}
	if element = inList && (f.Kind == dissect.Group || !grouped[around]); !element {
		keys = append(keys, f.JSONName())
	}
	return strings.Join(keys, "."), true, element
}

// relatives are the protocols whose messages can be reported under p.
func relatives(p *dissect.Protocol) []*dissect.Protocol {
	return slices.DeleteFunc(all.Protocols(), func(q *dissect.Protocol) bool { return q == p || q.Family == "" || q.Family != p.Family })
}

// classOf returns the type of a field.
func classOf(f *dissect.Field) class {
	switch f.Kind {
	case dissect.String:
		return nettext.Either(f.Key() == "value", setting, text)
	case dissect.Bool:
		return flag
	case dissect.Char:
		return letter
	case dissect.ID:
		return identifier
	case dissect.Endpoint:
		return endpoint
	case dissect.Group, dissect.List:
		return whole
	case dissect.Bytes:
		return hexadecimal
	}
	return number
}

// timeSuffixes are the ends of keys of durations.
var timeSuffixes = []struct {
	end  string
	unit time.Duration
}{{"_ns", time.Nanosecond}, {"_us", time.Microsecond}, {"_ms", time.Millisecond}, {"_s", time.Second}}

// readOf returns how to read a place, without the source.
func readOf(p place) read {
	f := p.field
	r := read{class: classOf(f), secret: f.Secret, nodes: true}
	switch p.view {
	case viewName:
		r.class, r.noun = text, "value"
		for _, n := range f.Names {
			if !slices.Contains(r.names, n.Name) {
				r.names = append(r.names, n.Name)
			}
		}
		slices.Sort(r.names)
	case viewText, viewPlain:
		r.class = text
	case viewHex:
		r.class = hexadecimal
	case viewIP:
		r.class = address
	case viewPort:
		r.class, r.most = number, 1<<16-1
	}
	if r.class == number {
		for _, s := range timeSuffixes {
			if strings.HasSuffix(f.JSONName(), s.end) {
				r.unit = s.unit
			}
		}
	}
	r.named = p.view == viewValue && len(f.Names) > 0
	return r
}

// A key is a step of a path: the fields that have it.
type key struct {
	fields []*dissect.Field
	// own is how many of fields, at the front, are of the protocol itself. The others are
	// of relatives, whose messages can be reported under it.
	own int
	// column is the path of a column, whose field is made while reading for one of
	// fields.
	column string
	// hidden says that secrets may take the place of values.
	hidden bool
}

// in returns the fields that count in messages of a protocol.
func (k *key) in(own bool) []*dissect.Field {
	return nettext.Either(own, k.fields, k.fields[:k.own])
}

func (k *key) is(f *dissect.Field, fields []*dissect.Field) bool {
	return slices.Contains(fields, f) || (k.hidden || k.column != "") && k.takesPlace(f, fields)
}

// takesPlace reports whether a field was made for one of fields: for a secret, or for a
// column.
func (k *key) takesPlace(f *dissect.Field, fields []*dissect.Field) bool {
	return f.Column != nil && slices.Contains(fields, f.Column) && (k.column != "" && f.Path == k.column || k.column == "" && f.Secret)
}

// nodes reads a field from the tree.
type nodes struct {
	// protocols are those of the messages that can have it, first the one of the path.
	protocols []*dissect.Protocol
	keys      []key
	view      view
	// loose says that the only key is looked for anywhere.
	loose bool
	// elements says that the path ends in a list whose elements are read.
	elements bool
}

func (n *nodes) read(m *Matcher, c *cond) {
	r := m.record
	if r == nil {
		return
	}
	own := r.Protocol == n.protocols[0]
	if !own && !slices.Contains(n.protocols[1:], r.Protocol) {
		return
	}
	k := &n.keys[len(n.keys)-1]
	fields := k.in(own)
	exact := !k.hidden && k.column == ""
	if len(fields) == 0 || exact && !slices.ContainsFunc(fields, func(f *dissect.Field) bool { return r.MayHold(f) }) {
		return
	}
	if len(n.keys) > 1 || n.elements {
		n.walk(m, c, own)
		return
	}
	nodes := r.Nodes
	exact = exact && len(fields) <= 2
	for i := 0; i < len(nodes); i++ {
		if exact { // nearly all nodes are others
			skipped := next(nodes[i:], fields[0], fields[len(fields)-1])
			if skipped < 0 {
				return
			}
			i += skipped
		}
		node := &nodes[i]
		if node.Depth > 0 && !n.loose || !exact && !k.is(node.Field, fields) {
			continue
		}
		if n.visit(m, c, node); m.fits || !n.loose { // objects have no key twice
			return
		}
	}
}

// next returns the first node of one of two fields, -1 if there is none.
func next(nodes []dissect.Node, a, b *dissect.Field) int {
	return slices.IndexFunc(nodes, func(n dissect.Node) bool { return n.Field == a || n.Field == b })
}

// An object is an object or a list around a node, as far as it is on the path.
type object struct {
	found int // keys
	list  bool
}

// walk follows a path through objects and lists. Elements have no keys.
func (n *nodes) walk(m *Matcher, c *cond, own bool) {
	const deepest = 32
	var around [deepest + 1]object
	nodes := m.record.Nodes
	off := deepest // nodes below this depth are not on the path
	for i := range nodes {
		node := &nodes[i]
		depth := int(node.Depth)
		if depth > off {
			continue
		}
		o, f := &around[depth], node.Field
		found := o.found
		if off = depth; o.list {
			if f.Framing {
				continue
			}
		} else {
			if found == len(n.keys) {
				continue
			}
			k := &n.keys[found]
			if !k.is(f, k.in(own)) {
				continue
			}
			found++
		}
		if found < len(n.keys) || n.elements && !o.list {
			off = deepest - 1
			around[depth+1] = object{found, f.Kind == dissect.List}
			continue
		}
		if n.visit(m, c, node); m.fits {
			return
		}
	}
}

// visit passes the value of a node to c.
func (n *nodes) visit(m *Matcher, c *cond, node *dissect.Node) {
	f, data := node.Field, m.record.Sources[node.Source].Data
	if f.Secret && !m.secrets {
		switch there := n.view == viewValue || n.view == viewText && (f.Kind == dissect.String || f.Kind == dissect.Decimal); {
		case there && c.into != nil:
			c.take(m, textOf("***"))
		case there:
			c.take(m, value{})
		}
		return
	}
	textual := f.Kind == dissect.String || f.Kind == dissect.Decimal && !nettext.JSONNumber(node.Value(data))
	switch n.view {
	case viewName:
		if s := f.NameOf(node.Num); s != "" {
			c.take(m, textOf(s))
		}
		return
	case viewText:
		if textual {
			n.text(m, c, f, m.wire(node, data))
		} else if v := node.Float(); f.Kind == dissect.Float && v-v != 0 { // which JSON has as text
			c.take(m, textOf(strconv.FormatFloat(v, 'g', -1, 64)))
		}
		return
	case viewPlain:
		if v := m.wire(node, data); textual && node.Style().HasCodes(v) {
			b := m.buffer(1)
			*b = node.Style().AppendPlain((*b)[:0], v)
			n.text(m, c, f, *b)
		}
		return
	case viewHex:
		if v := m.wire(node, data); textual && !f.Charset.IsUTF8(v) {
			c.take(m, value{kind: inHex, text: nettext.View(v)})
		}
		return
	case viewIP:
		c.take(m, value{kind: anAddress, end: node.Endpoint(data)})
		return
	case viewPort:
		c.take(m, integer(int64(node.Num&0xffff)))
		return
	}
	n.whole(m, c, node, data)
}

// whole passes the value itself to c.
func (n *nodes) whole(m *Matcher, c *cond, node *dissect.Node, data []byte) {
	f := node.Field
	switch f.Kind {
	case dissect.Uint, dissect.ID:
		c.take(m, numberOf(uintOf(node.Num)))
	case dissect.Int:
		c.take(m, integer(node.Int()))
	case dissect.Bool:
		c.take(m, flagOf(node.Num != 0))
	case dissect.Float:
		if v := node.Float(); v-v == 0 { // neither infinite nor NaN
			c.take(m, value{kind: aNumber, operand: operand{floatOf(v), node.Len == 4}})
		}
	case dissect.Decimal:
		if v := node.Value(data); nettext.JSONNumber(v) {
			if n, ok := numberIn(nettext.View(v)); ok {
				c.take(m, value{kind: aNumber, operand: operand{num: n}, text: nettext.View(v)})
			}
		}
	case dissect.Char:
		a := m.buffer(0)
		*a = utf8.AppendRune((*a)[:0], rune(node.Num))
		c.take(m, textOf(nettext.View(*a)))
	case dissect.Endpoint:
		c.take(m, value{kind: anEnd, end: node.Endpoint(data)})
	case dissect.String:
		n.text(m, c, f, m.wire(node, data))
	case dissect.Bytes:
		v := node.Value(data)
		if !m.secrets {
			v = m.record.Foreign.Shown(v)
		}
		c.take(m, value{kind: inHex, text: nettext.View(v)})
	default:
		c.take(m, value{})
	}
}

// wire returns the text of a node as it was sent, or in UTF-8 if that is wide.
func (m *Matcher) wire(node *dissect.Node, data []byte) []byte {
	if !node.Wide {
		return node.Value(data)
	}
	b := m.buffer(2)
	*b = node.Text((*b)[:0], data)
	return *b
}

// text tests text as UTF-8.
func (n *nodes) text(m *Matcher, c *cond, f *dissect.Field, v []byte) {
	if !f.Charset.IsUTF8(v) {
		a := m.buffer(0)
		*a = f.Charset.AppendUTF8((*a)[:0], v)
		v = *a
	}
	c.take(m, textOf(nettext.View(v)))
}
