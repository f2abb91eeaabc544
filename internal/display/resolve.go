package display

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// resolved is what a name stands for.
type resolved struct {
	reads []read
	// protocol is the protocol, if the name is that of one.
	protocol string
}

// A dictionary resolves names. It keeps what it has listed.
type dictionary map[*dissect.Protocol]*catalog

func (d dictionary) catalog(p *dissect.Protocol) *catalog {
	if d[p] == nil {
		d[p] = catalogOf(p)
	}
	return d[p]
}

// anyElement may stand after lists, and changes nothing.
const anyElement = "[*]"

// split splits a path such as a2s.players.name.
func split(path string) (keys []string, why string) {
	path = strings.ReplaceAll(path, anyElement, "")
	if strings.ContainsAny(path, "[]") {
		return nil, "only * can stand in brackets: any element of a list"
	}
	keys = strings.Split(path, ".")
	if slices.Contains(keys, "") {
		return nil, "name expected in the path"
	}
	return keys, ""
}

// protocolOf returns the protocol with a name or a key in JSON.
func protocolOf(key string) *dissect.Protocol {
	for _, p := range all.Protocols() {
		if p.Name == key || p.JSONKey() == key {
			return p
		}
	}
	return nil
}

// resolve returns what a path stands for, or why it stands for nothing. In Wireshark, all fields of the script have qd. in front.
func (d dictionary) resolve(path string) (*resolved, string) {
	keys, why := split(strings.TrimPrefix(path, "qd."))
	if why != "" {
		return nil, why
	}
	if p := protocolOf(keys[0]); p != nil && len(keys) > 1 {
		return d.inCatalog(p, keys[1:])
	} else if p != nil {
		return &resolved{[]read{entryOf("protocol").read}, p.Name}, ""
	}
	full := strings.Join(keys, ".")
	if e := entryOf(full); e != nil {
		return &resolved{reads: []read{e.read}}, ""
	}
	return nil, d.unknownName(full, keys)
}

// wiresharks are names that Wireshark's users type, and what they are called here.
var wiresharks = map[string]string{
	"frame.number": "frame", "frame.time": "time", "udp.length": "length", "vlan.id": "vlan",
	"ip.addr": "host", "ip.host": "host", "ip.src": "src_ip", "ip.dst": "dst_ip", "ipv6.addr": "host", "ipv6.src": "src_ip", "ipv6.dst": "dst_ip",
	"udp.port": "port", "udp.srcport": "src_port", "udp.dstport": "dst_port", "tcp.port": "port", "tcp.srcport": "src_port", "tcp.dstport": "dst_port",
}

// unknownName is the complaint about a name.
func (d dictionary) unknownName(full string, keys []string) string {
	for _, field := range [...]string{"finding", "message", "severity", "role"} {
		if slices.Contains(entryOf(field).names, full) {
			return full + " is a " + field + ": use " + field + " == " + full
		}
	}
	why := "unknown field " + nettext.Quote(full)
	if here := wiresharks[full]; here != "" {
		return why + "; did you mean " + here + "?"
	}
	names := append(ProtocolNames(), nettext.Each(envelopeEntries(), func(e entry) string { return e.name })...)
	var fields, found []string // of all protocols, and those with the name
	for _, p := range all.Protocols() {
		c := d.catalog(p)
		fields = append(fields, nettext.Each(c.paths, func(path string) string { return p.JSONKey() + "." + path })...)
		if len(c.places[full]) > 0 {
			found = append(found, p.JSONKey()+"."+full)
		}
	}
	near := nettext.Closest(full, names)
	switch few := min(len(found), 3); {
	case near != "" && nettext.Distance(full, near, 3) < 3:
	case few < len(found):
		near = strings.Join(found[:few], ", ") + fmt.Sprintf(" or another of %d", len(found))
	case few > 0:
		near = strings.Join(found, ", ")
	case near == "" && len(keys) > 1:
		near = nettext.Closest(full, fields)
	}
	if near != "" {
		return why + "; did you mean " + near + "?"
	}
	return why + "; fields of a protocol are PROTOCOL.NAME, such as a2s.map, and those of a server are server.NAME"
}

// A search looks for the fields of a path in the catalogs of a protocol and of those
// whose messages can be reported under it.
type search struct {
	catalogs []*catalog
	family   []*dissect.Protocol
	out      resolved
}

// add adds a way to read the path, for a field of the catalog with number i. Fields that
// are read in the same way are read together.
func (s *search) add(i int, r read, n nodes) {
	last := &n.keys[len(n.keys)-1]
	last.hidden = slices.ContainsFunc(last.fields, func(f *dissect.Field) bool { return f.Kind == dissect.String || f.Kind == dissect.Bytes })
	if i == 0 {
		last.own = len(last.fields)
	}
	n.protocols = s.family
	for k := range s.out.reads {
		q := &s.out.reads[k]
		o := q.source.(*nodes)
		if a := &o.keys[len(o.keys)-1]; q.class == r.class && q.unit == r.unit && q.secret == r.secret && slices.Equal(q.names, r.names) &&
			o.view == n.view && o.elements == n.elements && len(o.keys) == len(n.keys) && a.column == last.column {
			for k, f := range last.fields {
				if !slices.Contains(a.fields, f) {
					a.fields = append(a.fields, f)
					if k < last.own {
						a.own++
					}
				}
			}
			a.hidden = a.hidden || last.hidden
			return
		}
	}
	r.source, r.nodes = &n, true
	s.out.reads = append(s.out.reads, r)
}

// inCatalog finds a field of a protocol.
func (d dictionary) inCatalog(p *dissect.Protocol, keys []string) (*resolved, string) {
	s := &search{family: append([]*dissect.Protocol{p}, relatives(p)...)}
	s.catalogs = nettext.Each(s.family, d.catalog)
	full := strings.Join(keys, ".")
	if s.path(keys); len(s.out.reads) == 0 {
		for i, c := range s.catalogs {
			for _, at := range c.own[full] {
				s.add(i, readOf(at), nodes{keys: []key{{fields: []*dissect.Field{at.field}}}, view: at.view, loose: true})
			}
		}
	}
	if len(s.out.reads) == 0 {
		return nil, unknownField(p, full, s.catalogs)
	}
	return &s.out, ""
}

// container returns the objects and lists with a key, or only the lists. Those of relatives come last.
func (s *search) container(name string, lists bool) (k key) {
	for i, c := range s.catalogs {
		for _, f := range c.containers[name] {
			if !lists || f.Kind == dissect.List {
				k.fields = append(k.fields, f)
			}
		}
		if i == 0 {
			k.own = len(k.fields)
		}
	}
	return k
}

// path finds the fields that a path in JSON can lead to.
func (s *search) path(keys []string) {
	last := len(keys) - 1
	around := make([]key, last) // the containers
	for i, name := range keys[:last] {
		if around[i] = s.container(name, false); len(around[i].fields) == 0 {
			if i == last-1 {
				s.endpoint(around[:i], keys)
			}
			return
		}
	}
	name, container, full := keys[last], strings.Join(keys[:last], "."), strings.Join(keys, ".")
	to := func(k key) []key { return append(slices.Clone(around), k) }
	for i, c := range s.catalogs {
		candidates := c.places[full]
		if last > 0 && !s.misplaced(container, name) { // some lists hold fields of others
			candidates = append(slices.Clone(candidates), c.keys[name]...)
		}
		for _, at := range candidates {
			f := at.field
			switch {
			case at.view == viewIP || at.view == viewPort: // an element of the list before
				if last > 0 && strings.HasSuffix(full, "."+name) && f.JSONName() != name {
					s.add(i, readOf(at), nodes{keys: around, view: at.view, elements: true})
				}
			case f.JSONName() != name && at.view == viewValue && f.Kind != dissect.List: // an element
				s.add(i, readOf(at), nodes{keys: to(s.container(name, true)), elements: true})
			default:
				s.add(i, readOf(at), nodes{keys: to(key{fields: []*dissect.Field{f}}), view: at.view})
			}
		}
		if len(candidates) > 0 && !slices.ContainsFunc(candidates, func(at place) bool { return at.field.Kind != dissect.List }) && !c.hasMembers(full) {
			s.anything(i, to(s.container(name, true)))
		}
		if len(candidates) == 0 && last > 0 {
			s.columns(i, c, around, container, name)
		}
	}
	if len(s.out.reads) == 0 && last > 0 {
		s.endpoint(around[:last-1], keys)
	}
}

// endpoint finds X.ip and X.port, where X is a field or a list of endpoints.
func (s *search) endpoint(around []key, keys []string) {
	x, v := keys[len(keys)-2], map[string]view{"ip": viewIP, "port": viewPort}[keys[len(keys)-1]]
	if v == viewValue {
		return
	}
	for i, c := range s.catalogs {
		for _, at := range c.keys[x] {
			if at.view == viewValue && at.field.Kind == dissect.Endpoint {
				s.add(i, readOf(place{at.field, v}), nodes{keys: append(slices.Clone(around), key{fields: []*dissect.Field{at.field}}), view: v})
			}
		}
	}
	if list := s.container(x, true); len(list.fields) > 0 {
		of := &dissect.Field{Kind: dissect.Endpoint}
		s.add(0, readOf(place{of, v}), nodes{keys: append(slices.Clone(around), list), view: v, elements: true})
	}
}

// anything reads the elements of a list of which the catalog does not say what they are.
func (s *search) anything(i int, keys []key) {
	for _, c := range []class{number, text, endpoint} {
		s.add(i, read{class: c}, nodes{keys: keys, elements: true})
	}
}

// columns finds a column that messages name themselves. In JSON, text has a suffix.
func (s *search) columns(i int, c *catalog, around []key, container, name string) {
	name, isText := strings.CutSuffix(name, core.TextSuffix)
	for _, open := range c.open {
		table := parent(open.Path)
		if !nettext.Word(name, "_") || len(name) > 32 || !isText && open.Kind == dissect.String || c.hasMembers(container) && !slices.Contains(around[len(around)-1].fields, c.protocol.Catalog.Lookup(table)) {
			continue
		}
		view := nettext.Either(isText, viewText, viewValue)
		s.add(i, readOf(place{open, view}), nodes{keys: append(slices.Clone(around), key{fields: []*dissect.Field{open}, column: table + "." + name}), view: view})
	}
}

// hasMembers reports whether the catalog has fields in a container.
func (c *catalog) hasMembers(container string) bool {
	return slices.ContainsFunc(c.paths, func(p string) bool { return strings.HasPrefix(p, container+".") })
}

// misplaced reports whether a key belongs only to other objects, and the container has
// keys of its own.
func (s *search) misplaced(container, name string) bool {
	members := false
	for _, c := range s.catalogs {
		members = members || c.hasMembers(container)
		if len(c.containers[name]) > 0 || slices.ContainsFunc(c.paths, func(p string) bool { return strings.HasSuffix(p, "."+name) }) ||
			slices.ContainsFunc(c.keys[name], func(p place) bool { return strings.HasPrefix(p.field.Path, c.protocol.Name+"."+container) }) {
			return false
		}
	}
	return members
}

// unknownField is the complaint about a field of a protocol.
func unknownField(p *dissect.Protocol, name string, catalogs []*catalog) string {
	full := p.JSONKey() + "." + name
	for _, own := range []string{full, p.Name + "." + name} {
		if slices.Contains(findingIDs(), own) {
			return own + " is a finding: use finding == " + own
		}
	}
	if slices.ContainsFunc(p.Catalog.Messages(), func(t *dissect.MessageType) bool { return t.Name == name }) {
		return name + " is a message: use message == " + name
	}
	why := "unknown field " + nettext.Quote(full)
	names := slices.Concat(nettext.Each(catalogs, func(c *catalog) []string { return c.paths })...)
	near := nettext.Closest(name, names)
	if near == "" { // the last key, in another object
		last := name[strings.LastIndexByte(name, '.')+1:]
		if i := slices.IndexFunc(names, func(n string) bool { return n[strings.LastIndexByte(n, '.')+1:] == last }); i >= 0 {
			near = names[i]
		}
	}
	return why + nettext.Either(near != "", "; did you mean "+p.JSONKey()+"."+near+"?", "; qdissect protocols --fields lists them")
}

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
func AllNames() []string {
	names := nettext.Each(Names(), func(n Name) string { return n.Name })
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
func ProtocolNames() []string {
	return nettext.Each(all.Protocols(), func(p *dissect.Protocol) string { return p.Name })
}
