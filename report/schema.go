package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/qdissect/qdissect/dissect"
)

// object is a JSON object; encoding/json writes its keys in order.
type object = map[string]any

// WriteSchema writes the JSON Schema (draft 2020-12) of the output of [JSON], for
// one line or one element of the array. The fields of messages are those of the
// catalogs of the protocols.
func WriteSchema(w io.Writer, protocols []*dissect.Protocol) error {
	defs := object{
		"time": object{"type": "string", "pattern": `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$`, "description": "UTC, nine digits of a second."},
		"ip":   object{"type": "string", "pattern": `^[0-9a-f.:]+$`, "description": "IPv4 or IPv6 address."},
		"port": object{"type": "integer", "minimum": 0, "maximum": 65535},
		"address": object{"type": "object", "required": []string{"ip", "port"}, "additionalProperties": false,
			"properties": object{"ip": ref("ip"), "port": ref("port")}},
		"hex": object{"type": "string", "pattern": `^([0-9a-f]{2})*$`},
		"findings": object{"type": "array", "minItems": 1, "items": object{
			"type": "object", "required": []string{"id", "severity", "text"}, "additionalProperties": false,
			"properties": object{
				"id":       object{"type": "string", "description": "See qdissect protocols --findings."},
				"severity": object{"enum": []string{"chat", "note", "warning", "error"}}, "text": object{"type": "string"},
				"field":  text("Key of the field that it is about."),
				"offset": natural("Byte of the data source at which it is."), "length": natural("Bytes that it is about."),
			},
		}},
		"server": object{
			"type": "object", "additionalProperties": false, "minProperties": 1,
			"description": "The same few facts from every reply that describes a server; only those that it states.",
			"properties": object{
				"name": text("Host name or message of the day, without colour codes."), "map": text("Map being played."),
				"game": text("Game directory, mod or name."), "version": text("Version of the game."),
				"players": object{"type": "integer"}, "max_players": object{"type": "integer"}, "bots": object{"type": "integer"},
				"password": object{"type": "boolean"},
			},
		},
		"split": object{
			"type": "object", "required": []string{"variant", "id", "parts", "compressed"}, "additionalProperties": false,
			"properties": object{"variant": text("Format of the split headers."), "id": natural("Number that the parts share."),
				"parts": natural("Number of parts that came."), "compressed": object{"type": "boolean"},
				"missing": object{"type": "array", "items": object{"type": "integer", "minimum": 1},
					"description": "Numbers, from 1, of the parts that did not come. If the parts do not say how many they are, the last number stands for all after the highest that came. Only if the message stayed incomplete."}},
		},
		"capture": object{
			"type": "object", "required": []string{"type", "schema", "file"}, "additionalProperties": false,
			"properties": object{"type": constant("capture"), "schema": constant(Schema), "file": text("Name of the input."), "link_type": text("Link type of its first interface."),
				"first_frame": natural("Number of its first frame, where frames are numbered through several inputs.")},
		},
		"flow_finding": object{
			"type": "object", "required": []string{"type", "frame", "findings"}, "additionalProperties": false,
			"description": "A finding that belongs to no single message.",
			"properties": place(object{"type": constant("finding"), "protocol": object{"type": "string"}, "alternatives": alternatives,
				"icmp_frame": natural("Frame of the ICMP error that says it."),
				"findings":   object{"allOf": []any{ref("findings")}, "maxItems": 1}}),
		},
		"unknown": object{
			"type": "object", "required": []string{"type", "frame", "protocol", "length", "wire_length", "data"}, "additionalProperties": false,
			"description": "A datagram that nothing recognised, with --all.",
			"properties": place(object{"type": constant("message"), "frames": frames, "protocol": constant("unknown"), "length": natural("Bytes of the payload that were captured."),
				"wire_length": natural("Bytes of the payload."), "summary": text("What it looks like."), "data": ref("hex")}),
		},
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
		"oneOf": append([]any{ref("capture"), ref("unknown"), ref("flow_finding"), ref("summary")}, messages...),
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
			object{"game_traffic": natural("Those from and to servers that answered a query on the same port.")}),
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
		"first_time":      ref("time"), "last_time": ref("time"),
		"damaged": text("In goldens only: what is wrong with the file of the capture, if it is damaged."),
		"sha256":  object{"type": "string", "pattern": `^[0-9a-f]{64}$`, "description": "In goldens only: SHA-256 of the capture, of what it unpacks to if it is packed."},
	})
}

// frames describes the list of frames that carried a message.
var frames = object{"type": "array", "items": object{"type": "integer", "minimum": 1}, "minItems": 2}

// alternatives describes the list of protocols beside the likeliest.
var alternatives = object{
	"type": "array", "items": object{"type": "string"}, "minItems": 1,
	"description": "Other protocols that the message could be of: neither its bytes nor the conversation nor a port decides.",
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

// place adds the properties of time and place of a capture to those of a line.
func place(o object) object {
	maps.Copy(o, object{
		"frame": object{"type": "integer", "minimum": 1, "description": "Number of the frame in its file."}, "time": ref("time"),
		"src_ip": ref("ip"), "src_port": ref("port"), "dst_ip": ref("ip"), "dst_port": ref("port"),
		"flow_id":   object{"type": "string", "pattern": `^1:[A-Za-z0-9+/]{27}=$`, "description": "Community ID, version 1 with seed 0: the same in both directions. Absent where the ports are not known."},
		"interface": text("Interface that captured it, where there are several or the capture is live."),
		"vlan":      object{"type": "integer", "minimum": 1, "maximum": 4095, "description": "Identifier of the VLAN, of the outermost if there are several."},
	})
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
	return object{
		"type": "object", "additionalProperties": false, "title": p.Title,
		"required": []string{"type", "frame", "protocol", "message", "role", "length", "wire_length", "detect", "summary", p.JSONKey()},
		"properties": place(object{
			"type": constant("message"), "protocol": constant(p.Name), "message": object{"enum": names},
			"frames":        frames,
			"role":          object{"enum": []string{"request", "reply", "notice"}},
			"length":        natural("Bytes of the message, joined and decompressed."),
			"wire_length":   natural("Bytes of the UDP payloads that carried it."),
			"detect":        object{"enum": []string{"header", "flow", "request", "port", "reply", "server", "decode-as"}},
			"alternatives":  alternatives,
			"split":         ref("split"),
			"request_frame": object{"type": "integer", "minimum": 1},
			"rtt_ns":        natural("From the request to the first part of the reply, if it is known."),
			"rtt_ambiguous": object{"const": true, "description": "The request was repeated: which sending this answers, and after what time, cannot be told."},
			"summary":       object{"type": "string"},
			p.JSONKey():     object{"anyOf": fields},
			"server":        ref("server"),
			"findings":      ref("findings"),
		}),
	}
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
			key += dissect.TextSuffix
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
