package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/envelope"
)

// object is a JSON object; encoding/json writes its keys in order.
type object = map[string]any

// WriteSchema writes the JSON Schema (draft 2020-12) of the output of [JSON], for
// one line or one element of the array. The fields of messages are those of the
// catalogs of the protocols.
func WriteSchema(w io.Writer, protocols []*dissect.Protocol) error {
	var outcomes, proofs []string
	for o := range (dissect.Outcomes{}) {
		outcomes = append(outcomes, dissect.Outcome(o).String())
	}
	for p := dissect.Unproven; p <= dissect.Proven; p++ {
		proofs = append(proofs, p.String())
	}
	defs := object{
		"time": object{"type": "string", "pattern": `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$`, "description": "UTC, nine digits of a second."},
		"ip":   object{"type": "string", "pattern": `^[0-9a-f.:]+$`, "description": "IPv4 or IPv6 address."},
		"port": object{"type": "integer", "minimum": 0, "maximum": 65535},
		"address": object{"type": "object", "required": []string{"ip", "port"}, "additionalProperties": false,
			"properties": object{"ip": ref("ip"), "port": ref("port")}},
		"hex": object{"type": "string", "pattern": `^([0-9a-f]{2})*$`},
		"findings": object{"type": "array", "minItems": 1, "items": members("findings", "",
			object{"severity": object{"enum": []string{"chat", "note", "warning", "error"}}})},
		"server": members("server", "The same few facts from every reply that describes a server; only those that it states.", nil),
		"split":  members("split", "", nil),
		"capture": object{
			"type": "object", "required": []string{"type", "schema", "file"}, "additionalProperties": false,
			"properties": object{"type": constant("capture"), "schema": constant(Schema), "file": text("Name of the input."), "link_type": text("Link type of its first interface."),
				"first_frame": natural("Number of its first frame, where frames are numbered through several inputs.")},
		},
		"flow_finding": line(envelope.Finding, "A finding that belongs to no single message.", object{"type": constant("finding"),
			"findings": object{"allOf": []any{ref("findings")}, "maxItems": 1}}),
		"unknown": line(envelope.Unknown, "A datagram that nothing recognised, with --all.", object{"type": constant("message"), "protocol": constant("unknown"),
			"length": natural("Bytes of the payload that were captured."), "wire_length": natural("Bytes of the payload."), "summary": text("What it looks like.")}),
		"exchange": line(envelope.Exchange, "What became of a request, with --exchanges.", object{"type": constant("exchange"),
			"outcome": object{"enum": outcomes}, "proof": object{"enum": proofs, "description": "How far it is certain that the address of the client is not forged."}}),
		"summary": summarySchema(protocols),
	}
	for _, p := range protocols {
		defs["fields_"+p.JSONKey()] = fieldsSchema(p)
	}
	var messages []any
	for _, p := range protocols {
		messages = append(messages, messageSchema(p, protocols))
	}
	schema := object{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:" + Schema, "title": "qdissect output, one line",
		"oneOf": append([]any{ref("capture"), ref("unknown"), ref("flow_finding"), ref("exchange"), ref("summary")}, messages...),
		"$defs": defs,
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(schema)
}

// summarySchema describes the last line.
func summarySchema(protocols []*dissect.Protocol) object {
	byProtocol := func(what object, doc string) object {
		of := object{}
		for _, p := range protocols {
			of[p.Name] = what
		}
		return object{"type": "object", "properties": of, "additionalProperties": false, "description": doc}
	}
	counts := func(doc string) object {
		return object{"type": "object", "additionalProperties": natural(""), "description": doc}
	}
	// all is an object with all of these keys, and those that are optional.
	all := func(doc string, required, optional object) object {
		o := object{"type": "object", "additionalProperties": false, "required": slices.Sorted(maps.Keys(required)), "properties": required}
		if doc != "" {
			o["description"] = doc
		}
		maps.Copy(required, optional)
		return o
	}
	return all("", object{
		"type": constant("summary"), "packets": natural("Frames read."), "datagrams": natural("UDP payloads, after fragments were joined."),
		"messages":      byProtocol(natural(""), "Messages by protocol."),
		"message_types": byProtocol(counts(""), "The same by protocol and type."),
		"requests": all("What became of the requests: the other counts add up to sent.", object{
			"sent": natural("Requests that ask for a reply."), "answered": natural("Had a reply in time."), "answered_late": natural("Had one later."),
			"answered_in_part": natural("Had one of which parts are missing."), "refused": natural("Had an ICMP error for an answer."), "unanswered": natural("Had none."),
			"open": natural("Were sent too shortly before the end."), "one_sided": natural("Had none in a capture that holds only one direction."),
			"repeated": natural("Were sent again, or again, so that another one counts."), "forgotten": natural("Made room for others."),
		}, nil),
		"ambiguous_round_trips": natural("Replies whose round trip is not known, because the request was repeated."),
		"round_trips": byProtocol(all("", object{
			"count": natural(""), "min_ns": natural(""), "p50_ns": natural(""), "p90_ns": natural(""), "p99_ns": natural(""), "max_ns": natural(""),
		}, nil), fmt.Sprintf("Times from requests to the first part of their replies. Percentiles are by the nearest rank, exact up to %d round trips, else up to 1.6 %% too long.", maxExact)),
		"findings_by_id":       counts("Findings by id, of messages and others."),
		"findings_by_severity": all("The same by severity.", object{"chat": natural(""), "note": natural(""), "warning": natural(""), "error": natural("")}, nil),
		"unknown": all("Datagrams that nothing recognised.", object{
			"datagrams": natural(""), "guesses": counts("What they look like; those of which nothing is known are not among them.")},
			object{"game_traffic": natural("Those from and to servers that answered a query on the same port; at least so many, if there were more than some thousand endpoints.")}),
		"malformed":    natural("Messages that could not be read to their end."),
		"reassemblies": all("Sets of parts and of IP fragments.", object{"complete": natural("Were joined."), "incomplete": natural("Stayed incomplete.")}, nil),
		"duplicates":   natural("Copies of datagrams that came more than once; they are left out."),
		"bytes":        natural("Bytes of the frames read."),
		"kernel_lost":  natural("Packets lost because the buffer of the kernel was full."),
		"evicted": all("State given up because a limit was reached.", object{
			"flows": natural("Conversations."), "requests": natural("Requests that waited."), "clients": natural("Clients and hosts."), "fragments": natural("IP fragments."),
		}, object{
			"seconds": object{"type": "array", "minItems": 1, "maxItems": maxSeconds, "description": "The seconds in which most state was given up, in the order of time. The fragments are not among them.",
				"items": all("", object{"time": ref("time"), "flows": natural(""), "requests": natural(""), "clients": natural("")}, nil)},
		}),
	}, object{
		"kernel_received": natural("Packets that passed the filter of the kernel, of a live capture."),
		"one_sided":       natural("Captures that hold only one direction, if there were any."),
		"panics":          natural("Datagrams that a decoder failed on by a mistake in qdissect (internal.panic), if there were any."),
		"icmp_errors":     natural("ICMP errors about datagrams, if there were any."),
		"tcp": all("What went over TCP to servers of games, which is counted and not read.", object{
			"servers": natural("Addresses and ports, at most 256."), "packets": natural("In both directions."), "connections": natural("That clients tried to make."),
			"made": natural(""), "refused": natural(""), "unanswered": natural(""),
		}, nil),
		"first_time": ref("time"), "last_time": ref("time"),
		"damaged": text("In goldens only: what is wrong with the file of the capture, if it is damaged."),
		"sha256":  object{"type": "string", "pattern": `^[0-9a-f]{64}$`, "description": "In goldens only: SHA-256 of the capture, of what it unpacks to if it is packed."},
	})
}

// line describes a line of output with the keys of the envelope that it may have. Those in special have descriptions of their own.
func line(in envelope.Lines, doc string, special object) object {
	required := []string{"type"}
	for i := range envelope.Keys {
		k := &envelope.Keys[i]
		if k.Always&in != 0 {
			required = append(required, k.Name)
		}
		if k.In&in != 0 && special[k.Name] == nil {
			special[k.Name] = valueSchema(k)
		}
	}
	o := object{"type": "object", "required": required, "additionalProperties": false, "properties": special}
	if doc != "" {
		o["description"] = doc
	}
	return o
}

// members describes the objects of a key of the envelope.
func members(name, doc string, special object) object {
	o := object{"type": "object", "additionalProperties": false}
	if doc != "" {
		o["description"] = doc
	}
	var required []string
	properties := object{}
	for i := range envelope.Lookup(name).Fields {
		k := &envelope.Lookup(name).Fields[i]
		if properties[k.Name] = special[k.Name]; special[k.Name] == nil {
			properties[k.Name] = valueSchema(k)
		}
		if k.Always != 0 {
			required = append(required, k.Name)
		}
	}
	if o["properties"] = properties; required != nil {
		o["required"] = required
	} else {
		o["minProperties"] = 1
	}
	return o
}

// valueSchema describes the value of a key of the envelope.
func valueSchema(k *envelope.Key) object {
	var o object
	switch k.Kind {
	case envelope.Moment:
		return ref("time")
	case envelope.Address:
		return ref("ip")
	case envelope.Port:
		return ref("port")
	case envelope.Hex:
		return ref("hex")
	case envelope.Object:
		return ref(k.Name)
	case envelope.Frame, envelope.Ordinal:
		o = object{"type": "integer", "minimum": 1}
	case envelope.VLAN:
		o = object{"type": "integer", "minimum": 1, "maximum": 4095}
	case envelope.Count, envelope.ID, envelope.Nanoseconds:
		o = object{"type": "integer", "minimum": 0}
	case envelope.Signed:
		o = object{"type": "integer"}
	case envelope.Flag:
		o = object{"type": "boolean"}
	case envelope.Mark:
		o = object{"const": true}
	default:
		o = object{"type": "string"}
	}
	if k.Pattern != "" {
		o["pattern"] = k.Pattern
	}
	if k.List {
		o = object{"type": "array", "items": o}
		if k.Least > 0 {
			o["minItems"] = k.Least
		}
	}
	if k.Schema != "" {
		o["description"] = k.Schema
	}
	return o
}

func ref(name string) object { return object{"$ref": "#/$defs/" + name} }

func constant(s string) object { return object{"const": s} }

func text(doc string) object { return object{"type": "string", "description": doc} }

func natural(doc string) object {
	o := object{"type": "integer", "minimum": 0}
	if doc != "" {
		o["description"] = doc
	}
	return o
}

// messageSchema describes the messages of one protocol. A reply may be reported
// under the protocol of its request, with the message name and fields of a protocol
// of its family.
func messageSchema(p *dissect.Protocol, all []*dissect.Protocol) object {
	var names []string
	fields := []any{}
	for _, q := range all {
		if q == p || q.Family != "" && q.Family == p.Family {
			for _, m := range q.Messages {
				if !slices.Contains(names, m.Name) {
					names = append(names, m.Name)
				}
			}
			fields = append(fields, ref("fields_"+q.JSONKey()))
		}
	}
	o := line(envelope.Message|envelope.Answer, "", object{
		"type": constant("message"), "protocol": constant(p.Name), "message": object{"enum": names},
		"role":      object{"enum": []string{"request", "reply", "notice"}},
		"detect":    object{"enum": []string{"header", "flow", "request", "port", "reply", "server", "decode-as"}},
		p.JSONKey(): object{"anyOf": fields},
	})
	o["title"], o["required"] = p.Title, append(o["required"].([]string), p.JSONKey())
	return o
}

// fieldsSchema describes the objects in the fields of a protocol: every key of its
// catalog with the types of its values.
func fieldsSchema(p *dissect.Protocol) object {
	self := ref("fields_" + p.JSONKey())
	kinds := map[string][]any{}
	docs := map[string]string{}
	schema := object{"type": "object", "additionalProperties": false}
	for _, f := range p.Fields.Fields() {
		if f.Framing {
			continue
		}
		if f.Open { // columns that messages name themselves
			schema["patternProperties"] = object{`^[A-Za-z0-9_]+$`: object{"type": []string{"string", "number", "boolean", "array", "object"}, "description": f.Doc}}
			continue
		}
		var types []any
		switch f.Kind {
		case dissect.Uint:
			types = []any{natural("")}
		case dissect.Int:
			types = []any{object{"type": "integer"}}
		case dissect.Bool:
			types = []any{object{"type": "boolean"}}
		case dissect.Float, dissect.Decimal:
			types = []any{object{"type": "number"}}
		case dissect.Group:
			types = []any{self}
		case dissect.List:
			types = []any{object{"type": "array", "items": object{"anyOf": []any{self, ref("address"), object{"type": []string{"string", "number"}}}}}}
		case dissect.Bytes:
			types = []any{ref("hex")}
		case dissect.ID:
			types = []any{object{"type": "string", "pattern": `^\d+$`}}
		case dissect.Endpoint:
			types = []any{ref("address")}
		default:
			types = []any{object{"type": "string"}}
		}
		key := f.JSONName()
		if f.Secret || key == "data" { // a password that broke off is data
			types = append(types, constant("***"))
		}
		kinds[key] = append(kinds[key], types...)
		docs[key] = cmp.Or(docs[key], f.Doc)
		if len(f.Names) > 0 {
			kinds[key+"_name"] = []any{object{"type": "string"}}
		}
		if f.Kind == dissect.Float || f.Kind == dissect.Decimal {
			key += core.TextSuffix
			kinds[key] = []any{object{"type": "string"}}
			docs[key] = "The same where it is not a number."
		}
		if f.Style != dissect.NoStyle {
			kinds[key+"_plain"] = []any{object{"type": "string"}}
		}
		if f.Kind == dissect.String || f.Kind == dissect.Decimal {
			kinds[key+"_hex"] = []any{ref("hex")}
		}
	}
	properties := object{}
	for key, types := range kinds {
		o := object{"anyOf": types}
		if docs[key] != "" {
			o["description"] = docs[key]
		}
		properties[key] = o
	}
	schema["properties"] = properties
	return schema
}
