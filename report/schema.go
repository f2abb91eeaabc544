package report

import (
	"encoding/json"
	"io"
	"slices"

	"github.com/qdissect/qdissect/dissect"
)

// object is a JSON object; encoding/json writes its keys in order.
type object = map[string]any

// WriteSchema writes the JSON Schema (draft 2020-12) of what [JSON] writes: of
// one line, or of one element of the array. The fields of messages are those
// of the catalogs of the protocols.
func WriteSchema(w io.Writer, protocols []*dissect.Protocol) error {
	names := []string{}
	defs := object{
		"time":    object{"type": "string", "pattern": `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$`, "description": "UTC, nine digits of a second."},
		"address": object{"type": "string", "pattern": `^(\d+\.\d+\.\d+\.\d+|\[[0-9a-f:.]+\]):\d+$`, "description": "ip:port, an IPv6 address in brackets."},
		"host":    object{"type": "string", "pattern": `^[0-9a-f.:]+$`, "description": "ip, where the ports are not known: the first IP fragment is lost."},
		"hex":     object{"type": "string", "pattern": `^([0-9a-f]{2})*$`},
		"finding": object{
			"type": "object", "required": []string{"id", "severity", "text"}, "additionalProperties": false,
			"properties": findingProperties(object{"field": object{"type": "string"}, "offset": natural("Byte of the data source at which it is.")}),
		},
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
			"type": "object", "required": []string{"type", "frame", "id", "severity", "text"}, "additionalProperties": false,
			"description": "A finding that belongs to no single message.",
			"properties": findingProperties(placeOrHosts(object{"type": constant("finding"), "protocol": object{"type": "string"}, "alternatives": alternatives,
				"icmp_frame": natural("Frame of the ICMP error that says it.")})),
		},
		"unknown": object{
			"type": "object", "required": []string{"type", "frame", "protocol", "length", "data"}, "additionalProperties": false,
			"description": "A datagram that nothing recognised, with --all.",
			"properties": place(object{"type": constant("message"), "protocol": constant("unknown"), "length": natural("Bytes of the payload."),
				"summary": text("What it looks like."), "data": ref("hex")}),
		},
	}
	for _, p := range protocols {
		names = append(names, p.Name)
		defs["fields_"+p.Name] = fieldsSchema(p)
	}
	counts := object{}
	for _, name := range names {
		counts[name] = natural("")
	}
	defs["summary"] = object{
		"type": "object", "additionalProperties": false,
		"required": []string{"type", "packets", "datagrams", "messages", "unknown", "malformed", "complete", "incomplete", "unanswered", "bytes", "drops", "requests", "rtt_ambiguous", "duplicates"},
		"properties": object{
			"type": constant("summary"), "packets": natural("Frames read."), "datagrams": natural("UDP payloads, after fragments were joined."),
			"messages":   object{"type": "object", "properties": counts, "additionalProperties": false, "description": "Messages by protocol."},
			"unknown":    natural("Datagrams that nothing recognised."),
			"malformed":  natural("Messages that could not be read to their end."),
			"complete":   natural("Sets of parts and of fragments that were joined."),
			"incomplete": natural("Sets that stayed incomplete."), "unanswered": natural("Requests without a reply."),
			"panics":    natural("Datagrams that a decoder failed on by a mistake in qdissect (internal.panic), if there were any."),
			"one_sided": natural("Captures that hold only one direction, if there were any."),
			"evicted": object{"type": "object", "additionalProperties": false, "required": []string{"flows", "requests", "clients", "fragments", "seconds"},
				"description": "State given up because a limit was reached, if there was any.", "properties": object{
					"flows": natural("Conversations."), "requests": natural("Requests that waited."), "clients": natural("Clients and hosts."), "fragments": natural("IP fragments."),
					"seconds": object{"type": "array", "maxItems": maxSeconds, "description": "The seconds in which most state was given up, in the order of time. The fragments are not among them.",
						"items": object{"type": "object", "additionalProperties": false, "required": []string{"time", "flows", "requests", "clients"}, "properties": object{
							"time": ref("time"), "flows": natural(""), "requests": natural(""), "clients": natural("")}}},
				}},
			"icmp_errors": natural("ICMP errors about datagrams, if there were any."),
			"bytes":       natural("Bytes of the frames read."), "drops": natural("Packets lost in capturing, and state given up under pressure."),
			"requests": object{"type": "object", "additionalProperties": false, "description": "What became of the requests: the other counts add up to sent.", "properties": object{
				"sent": natural("Requests that ask for a reply."), "answered": natural("Had a reply in time."), "answered_late": natural("Had one later."),
				"answered_in_part": natural("Had one of which parts are missing."), "refused": natural("Had an ICMP error for an answer."), "unanswered": natural("Had none."),
				"open": natural("Were sent too shortly before the end."), "one_sided": natural("Had none in a capture that holds only one direction; absent if there are none."), "repeated": natural("Were sent again, or again, so that another one counts."),
				"forgotten": natural("Made room for others."),
			}},
			"rtt_ambiguous": natural("Replies of which the round trip cannot be told, because the request was repeated."),
			"duplicates":    natural("Copies of datagrams that came more than once; they are left out."),
			"first_time":    ref("time"), "last_time": ref("time"),
			"damaged": text("In goldens only: what is wrong with the file of the capture, if it is damaged."),
			"sha256":  object{"type": "string", "pattern": `^[0-9a-f]{64}$`, "description": "In goldens only: SHA-256 of the capture, of what it unpacks to if it is packed."},
		},
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

func place(o object) object {
	o["frame"] = object{"type": "integer", "minimum": 1, "description": "Number of the frame in its file."}
	o["time"], o["src"], o["dst"] = ref("time"), ref("address"), ref("address")
	return o
}

// placeOrHosts is place for what the ports need not be known of.
func placeOrHosts(o object) object {
	end := object{"anyOf": []any{ref("address"), ref("host")}}
	place(o)
	o["src"], o["dst"] = end, end
	return o
}

func findingProperties(o object) object {
	o["id"] = object{"type": "string", "description": "See qdissect protocols --findings."}
	o["severity"] = object{"enum": []string{"chat", "note", "warning", "error"}}
	o["text"] = object{"type": "string"}
	return o
}

// messageSchema describes the messages of one protocol. A reply may be told
// under the protocol of its request, with the message and the fields of the
// relative that read it.
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
			fields = append(fields, ref("fields_"+q.Name))
		}
	}
	return object{
		"type": "object", "additionalProperties": false, "title": p.Title,
		"required": []string{"type", "frame", "protocol", "message", "role", "length", "detect", "summary", "fields"},
		"properties": place(object{
			"type": constant("message"), "protocol": constant(p.Name), "message": object{"enum": names},
			"frames":        object{"type": "array", "items": object{"type": "integer", "minimum": 1}, "minItems": 2},
			"role":          object{"enum": []string{"request", "reply", "notice"}},
			"length":        natural("Bytes of the message, joined and decompressed."),
			"detect":        object{"enum": []string{"header", "flow", "request", "port", "reply", "server", "decode-as"}},
			"alternatives":  alternatives,
			"split":         ref("split"),
			"request_frame": object{"type": "integer", "minimum": 1},
			"rtt_ns":        natural("From the request to the first part of the reply, if it is known."),
			"rtt_ambiguous": object{"const": true, "description": "The request was repeated: which sending this answers, and after what time, cannot be told."},
			"summary":       object{"type": "string"},
			"fields":        object{"anyOf": fields},
			"server":        ref("server"),
			"findings":      object{"type": "array", "items": ref("finding"), "minItems": 1},
		}),
	}
}

// fieldsSchema describes what objects in the fields of a protocol may hold:
// every key of its catalog with the types of its values.
func fieldsSchema(p *dissect.Protocol) object {
	self := ref("fields_" + p.Name)
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
			types = []any{object{"type": "number"}, object{"type": "string"}}
		case dissect.Group:
			types = []any{self}
		case dissect.List:
			types = []any{object{"type": "array", "items": object{"anyOf": []any{self, object{"type": []string{"string", "number"}}}}}}
		case dissect.Bytes:
			types = []any{ref("hex")}
		case dissect.ID:
			types = []any{object{"type": "string", "pattern": `^\d+$`}}
		case dissect.Endpoint:
			types = []any{ref("address")}
		default:
			types = []any{object{"type": "string"}}
		}
		if f.Secret || f.Key() == "data" { // a password that broke off is data
			types = append(types, constant("***"))
		}
		key := f.Key()
		kinds[key] = append(kinds[key], types...)
		if docs[key] == "" {
			docs[key] = f.Doc
		}
		if len(f.Names) > 0 {
			kinds[key+"_name"] = []any{object{"type": "string"}}
		}
		if f.Style != dissect.NoStyle {
			kinds[key+"_plain"] = []any{object{"type": "string"}}
		}
		if f.Kind == dissect.String || f.Kind == dissect.Decimal { // which is text if it is no number
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
