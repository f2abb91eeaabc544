package display

import (
	"fmt"
	"slices"
	"strconv"
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
type dictionary struct {
	catalogs map[*dissect.Protocol]*catalog
	entries  []entry
}

func (d *dictionary) catalog(p *dissect.Protocol) *catalog {
	c := d.catalogs[p]
	if c == nil {
		if d.catalogs == nil {
			d.catalogs = map[*dissect.Protocol]*catalog{}
		}
		c = catalogOf(p)
		d.catalogs[p] = c
	}
	return c
}

func (d *dictionary) envelope(at int) []entry {
	if at != anyElement {
		return envelopeEntries(at)
	}
	if d.entries == nil {
		d.entries = envelopeEntries(at)
	}
	return d.entries
}

// A step is a key of a path and the index after it.
type step struct {
	key string
	at  int // none, anyElement or a number
}

const (
	anyElement = -1
	none       = -2
)

// split splits a path such as a2s.players[0].name. Several indexes after each other are
// refused: JSON has no lists of lists.
func split(path string) (steps []step, why string) {
	for rest := path; ; {
		n := strings.IndexAny(rest, ".[")
		if n < 0 {
			n = len(rest)
		}
		if n == 0 {
			return nil, "name expected in the path"
		}
		s := step{rest[:n], none}
		if rest = rest[n:]; strings.HasPrefix(rest, "[") {
			number, after, closed := strings.Cut(rest[1:], "]")
			var err error
			s.at, err = strconv.Atoi(number)
			switch {
			case !closed:
				return nil, "unclosed bracket"
			case number == "*":
				s.at = anyElement
			case err != nil || s.at < 0:
				return nil, "brackets must contain a number or *"
			}
			rest = after
		}
		steps = append(steps, s)
		if rest == "" {
			return steps, ""
		}
		if rest[0] != '.' {
			return nil, "dot expected after a bracket"
		}
		rest = rest[1:]
	}
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
func (d *dictionary) resolve(path string) (*resolved, string) {
	steps, why := split(strings.TrimPrefix(path, "qd."))
	if why != "" {
		return nil, why
	}
	if p := protocolOf(steps[0].key); p != nil {
		if len(steps) == 1 && steps[0].at == none {
			entries := d.envelope(anyElement)
			i := slices.IndexFunc(entries, func(e entry) bool { return e.name == "protocol" })
			return &resolved{[]read{entries[i].read}, p.Name}, ""
		}
		if len(steps) > 1 && steps[0].at == none {
			return d.inCatalog(p, steps[1:])
		}
		return nil, steps[0].key + " is not a list"
	}
	at, where := anyElement, -1
	var keys []string
	for i, s := range steps {
		keys = append(keys, s.key)
		if s.at != none {
			at, where = s.at, i
		}
	}
	full := strings.Join(keys, ".")
	entries := d.envelope(at)
	for _, e := range entries {
		if e.name != full {
			continue
		}
		if where >= 0 {
			list := strings.Join(keys[:where+1], ".")
			if !slices.ContainsFunc(entries, func(e entry) bool { return e.name == list && e.list && !(e.short) }) {
				return nil, list + " is not a list"
			}
		}
		return &resolved{reads: []read{e.read}}, ""
	}
	return nil, d.unknownName(full, steps, entries)
}

// wiresharks are names that Wireshark's users type, and what they are called here.
var wiresharks = map[string]string{
	"frame.number": "frame", "frame.time": "time", "udp.length": "length", "vlan.id": "vlan",
	"ip.addr": "host", "ip.host": "host", "ip.src": "src_ip", "ip.dst": "dst_ip", "ipv6.addr": "host", "ipv6.src": "src_ip", "ipv6.dst": "dst_ip",
	"udp.port": "port", "udp.srcport": "src_port", "udp.dstport": "dst_port",
}

// unknownName is the complaint about a name.
func (d *dictionary) unknownName(full string, steps []step, entries []entry) string {
	top := steps[0].key
	if slices.Contains(findingIDs(), full) {
		return full + " is a finding: use finding == " + full
	}
	if slices.Contains(messageNames(), full) {
		return full + " is a message: use message == " + full
	}
	if slices.Contains(severities, full) {
		return full + " is a severity: use severity == " + full
	}
	if slices.Contains(roles, full) {
		return full + " is a role: use role == " + full
	}
	why := "unknown field " + nettext.Quote(full)
	if here := wiresharks[full]; here != "" {
		return why + "; did you mean " + here + "?"
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.name)
	}
	if len(steps) > 1 {
		if near := nettext.Closest(top, protocolNames()); near != "" { // a2q.map
			if p := protocolOf(near); p != nil {
				rest := full[len(top)+1:]
				if places := d.catalog(p).places[rest]; len(places) > 0 {
					return why + "; did you mean " + p.JSONKey() + "." + rest + "?"
				}
			}
		}
	}
	if near := nettext.Closest(full, append(names, protocolNames()...)); near != "" && near != "unknown" && nettext.Distance(full, near, 3) < 3 {
		return why + "; did you mean " + near + "?"
	}
	// A field without its protocol.
	var found []string
	for _, p := range all.Protocols() {
		if c := d.catalog(p); len(c.places[full]) > 0 {
			found = append(found, p.JSONKey()+"."+full)
		}
	}
	if len(found) > 0 {
		more := ""
		if len(found) > 3 {
			more = fmt.Sprintf(" or another of %d", len(found))
			found = found[:3]
		}
		return why + "; did you mean " + strings.Join(found, ", ") + more + "?"
	}
	if near := nettext.Closest(full, append(names, protocolNames()...)); near != "" && near != "unknown" {
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
func (d *dictionary) inCatalog(p *dissect.Protocol, steps []step) (*resolved, string) {
	s := &search{family: append([]*dissect.Protocol{p}, relatives(p)...)}
	for _, q := range s.family {
		s.catalogs = append(s.catalogs, d.catalog(q))
	}
	var keys []string
	for _, st := range steps {
		keys = append(keys, st.key)
	}
	full := strings.Join(keys, ".")
	if why := s.brackets(p, steps, keys); why != "" {
		return nil, why
	}
	s.path(steps, keys)
	if len(s.out.reads) == 0 && !slices.ContainsFunc(steps, func(st step) bool { return st.at != none }) {
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

// brackets checks that indexes come after lists.
func (s *search) brackets(p *dissect.Protocol, steps []step, keys []string) string {
	for i, st := range steps {
		if st.at == none || len(s.list(st).fields) > 0 {
			continue
		}
		list := strings.Join(keys[:i+1], ".")
		if !slices.ContainsFunc(s.catalogs, func(c *catalog) bool { return len(c.keys[st.key]) > 0 }) {
			return unknownField(p, list, s.catalogs)
		}
		return p.JSONKey() + "." + list + " is not a list"
	}
	return ""
}

// container returns the objects and lists with a key. Those of relatives come last.
func (s *search) container(st step) key {
	k := key{at: st.at}
	for i, c := range s.catalogs {
		k.fields = append(k.fields, c.containers[st.key]...)
		if i == 0 {
			k.own = len(k.fields)
		}
	}
	return k
}

// list returns only the lists.
func (s *search) list(st step) key {
	k := s.container(st)
	isList := func(f *dissect.Field) bool { return f.Kind == dissect.List }
	own := slices.Clone(k.fields[:k.own])
	k.fields = slices.DeleteFunc(slices.Clone(k.fields), func(f *dissect.Field) bool { return !isList(f) })
	k.own = len(slices.DeleteFunc(own, func(f *dissect.Field) bool { return !isList(f) }))
	return k
}

// path finds the fields that a path in JSON can lead to.
func (s *search) path(steps []step, keys []string) {
	last := len(steps) - 1
	around := make([]key, last) // the containers
	for i, st := range steps[:last] {
		around[i] = s.container(st)
		if len(around[i].fields) == 0 {
			if i == last-1 {
				s.endpoint(around[:i], steps[i], keys)
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
				s.add(i, readOf(at), nodes{keys: to(s.list(steps[last])), elements: true})
			case f.Kind == dissect.List && steps[last].at != none:
				s.add(i, readOf(at), nodes{keys: to(key{fields: []*dissect.Field{f}, at: steps[last].at}), elements: true})
			case steps[last].at == none:
				s.add(i, readOf(at), nodes{keys: to(key{fields: []*dissect.Field{f}, at: none}), view: at.view})
			}
		}
		if len(candidates) > 0 && !slices.ContainsFunc(candidates, func(at place) bool { return at.field.Kind != dissect.List }) && !c.hasMembers(full) {
			s.anything(i, to(s.list(steps[last])))
		}
		if len(candidates) == 0 && last > 0 && steps[last].at == none {
			s.columns(i, c, around, container, name)
		}
	}
	if len(s.out.reads) == 0 && last > 0 {
		s.endpoint(around[:last-1], steps[last-1], keys)
	}
}

// endpoint finds X.ip and X.port, where X is a field or a list of endpoints.
func (s *search) endpoint(around []key, x step, keys []string) {
	views := map[string]view{"ip": viewIP, "port": viewPort}
	v, ok := views[keys[len(keys)-1]]
	if !ok {
		return
	}
	for i, c := range s.catalogs {
		for _, at := range c.keys[x.key] {
			if at.view == viewValue && at.field.Kind == dissect.Endpoint {
				s.add(i, readOf(place{at.field, v}), nodes{keys: append(slices.Clone(around), key{fields: []*dissect.Field{at.field}, at: x.at}), view: v})
			}
		}
	}
	if list := s.list(x); len(list.fields) > 0 {
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
		if !columnKey(name) || !isText && open.Kind == dissect.String || c.hasMembers(container) && !slices.Contains(around[len(around)-1].fields, c.protocol.Fields.Lookup(table)) {
			continue
		}
		view := viewValue
		if isText {
			view = viewText
		}
		s.add(i, readOf(place{open, view}), nodes{keys: append(slices.Clone(around), key{fields: []*dissect.Field{open}, at: none, column: table + "." + name}), view: view})
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

// columnKey reports whether messages can name a column so.
func columnKey(s string) bool {
	return len(s) > 0 && len(s) <= 32 && !strings.ContainsFunc(s, func(c rune) bool {
		return (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '_'
	})
}

// unknownField is the complaint about a field of a protocol.
func unknownField(p *dissect.Protocol, name string, catalogs []*catalog) string {
	full := p.JSONKey() + "." + name
	for _, own := range []string{full, p.Name + "." + name} {
		if slices.Contains(findingIDs(), own) {
			return own + " is a finding: use finding == " + own
		}
	}
	if slices.ContainsFunc(p.Messages, func(t *dissect.MessageType) bool { return t.Name == name }) {
		return name + " is a message: use message == " + name
	}
	why := "unknown field " + nettext.Quote(full)
	var names []string
	for _, c := range catalogs {
		names = append(names, c.paths...)
	}
	near := nettext.Closest(name, names)
	if near == "" { // the last key, in another object
		last := name[strings.LastIndexByte(name, '.')+1:]
		for _, n := range names {
			if key := n[strings.LastIndexByte(n, '.')+1:]; key == last {
				near = n
				break
			}
		}
	}
	if near != "" {
		return why + "; did you mean " + p.JSONKey() + "." + near + "?"
	}
	return why + "; qdissect protocols --fields lists them"
}
