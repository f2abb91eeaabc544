package golden

import (
	"strconv"
	"sync"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/envelope"
	"github.com/qdissect/qdissect/internal/jsonl"
)

// A talk maps the numbers that the sides chose, and the frames, between two equal
// conversations.
type talk struct {
	to, from map[string]string // maps numbers of one conversation to those of the other, and back
	frames   map[uint64]uint64 // of matching messages
}

// renamed reports whether b is the counterpart of a, consistently in the whole
// conversation. Numbers that mean "none" are their own counterparts.
func (t *talk) renamed(a, b []byte) bool {
	x, y := string(a), string(b)
	if noNumber(x) || noNumber(y) {
		return x == y
	}
	to, ok := t.to[x]
	from, ok2 := t.from[y]
	if !ok && !ok2 {
		t.to[x], t.from[y] = y, x
		return true
	}
	return to == y && from == x
}

func noNumber(s string) bool { return s == "" || s == "0" || s == "-1" }

// refers reports whether two frame numbers are those of matching messages.
func (t *talk) refers(a, b []byte) bool {
	x, err := strconv.ParseUint(string(a), 10, 64)
	y, err2 := strconv.ParseUint(string(b), 10, 64)
	if err != nil || err2 != nil {
		return false
	}
	got, ok := t.frames[x]
	return ok && got == y
}

// chosen returns the names of fields with a number or a text that one side chose and the
// other returns, such as challenges and IDs. The catalogs mark them.
var chosen = sync.OnceValue(func() map[string]bool {
	names := make(map[string]bool)
	for _, p := range all.Protocols() {
		for _, f := range p.Catalog.Fields() {
			if f.Chosen {
				names[f.JSONName()] = true
				if f.Kind == dissect.Decimal {
					names[f.JSONName()+core.TextSuffix] = true
				}
			}
		}
	}
	return names
})

// isFields reports whether the member of a message with that name contains the fields of
// its protocol.
func isFields(name []byte) bool { return fieldsKeys()[string(name)] }

var fieldsKeys = sync.OnceValue(func() map[string]bool {
	names := make(map[string]bool)
	for _, p := range all.Protocols() {
		names[jsonl.FieldsKey(p.Name)] = true
	}
	return names
})

// talkRole returns the role of a value in a conversation.
func talkRole(p []step) role {
	top, last := string(p[0].name), &p[len(p)-1]
	name := top
	if len(p) == 2 {
		name += "." + string(last.name)
	}
	switch k := envelope.Lookup(name); {
	case k != nil && k.Varies:
		return passed
	case name == "request_frame":
		return reference
	case name == "length", name == "wire_length":
		return follows // a number in text may have more or fewer digits
	case len(p) > 1 && isFields(p[0].name) && last.index == noIndex && chosen()[string(last.name)]:
		return identity
	}
	return plain
}

// packetFinding reports whether a finding is about packets or their times, not about the
// contents of messages.
func packetFinding(id string) bool { return packetFindings()[id] }

var packetFindings = sync.OnceValue(func() map[string]bool {
	ids := make(map[string]bool)
	note := func(types []*dissect.FindingType) {
		for _, f := range types {
			ids[f.ID] = f.Class == core.OfCapture
		}
	}
	note(dissect.CommonFindings())
	for _, p := range all.Protocols() {
		note(p.Catalog.Findings())
	}
	return ids
})
