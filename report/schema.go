package report

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"io"
	"maps"
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/envelope"
)

// object is a JSON object; encoding/json writes its keys in order.
type object = map[string]any

// schemaBase is what of the schema depends neither on the protocols nor on the keys of the envelope.
//
//go:embed schema.json
var schemaBase []byte

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
	var schema object
	if err := json.Unmarshal(schemaBase, &schema); err != nil {
		return err
	}
	defs := schema["$defs"].(object)
	for _, name := range []string{"messages", "message_types", "round_trips"} { // of each protocol
		of := defs["summary"].(object)["properties"].(object)[name].(object)["properties"].(object)
		for _, p := range protocols {
			of[p.Name] = of["PROTOCOL"]
		}
		delete(of, "PROTOCOL")
	}
	defs["findings"] = object{"type": "array", "minItems": 1, "items": inner("findings", "",
		object{"severity": object{"enum": []string{"chat", "note", "warning", "error"}}})}
	defs["server"] = inner("server", "The same few facts from every reply that describes a server; only those that it states.", object{})
	defs["split"] = inner("split", "", object{})
	defs["flow_finding"] = line(envelope.Finding, "A finding that belongs to no single message.", object{"type": constant("finding"),
		"findings": object{"allOf": []any{ref("findings")}, "maxItems": 1}})
	defs["unknown"] = line(envelope.Unknown, "A datagram that nothing recognised, with --all.", object{"type": constant("message"), "protocol": constant("unknown"),
		"length": natural("Bytes of the payload that were captured."), "wire_length": natural("Bytes of the payload."), "summary": text("What it looks like.")})
	defs["exchange"] = line(envelope.Exchange, "What became of a request, with --exchanges.", object{"type": constant("exchange"),
		"outcome": object{"enum": outcomes}, "proof": object{"enum": proofs, "description": "How far it is certain that the address of the client is not forged."}})
	for _, p := range protocols {
		defs["fields_"+p.JSONKey()] = fieldsSchema(p)
	}
	for _, p := range protocols {
		schema["oneOf"] = append(schema["oneOf"].([]any), messageSchema(p, protocols))
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(schema)
}

// line describes a line of output with the keys of the envelope that it may have. Those in special have descriptions of their own.
func line(in envelope.Lines, doc string, special object) object {
	return members(envelope.Keys, in, doc, special, "type")
}

// inner describes the objects of a key of the envelope.
func inner(name, doc string, special object) object {
	return members(envelope.Lookup(name).Fields, envelope.Message, doc, special)
}

// members describes an object with those of keys that it may have in these lines. Keys of objects within a line name no lines.
func members(keys []envelope.Key, in envelope.Lines, doc string, special object, required ...string) object {
	for _, k := range keys {
		if k.Always&in != 0 {
			required = append(required, k.Name)
		}
		if (k.In&in != 0 || k.In == 0) && special[k.Name] == nil {
			special[k.Name] = valueSchema(&k)
		}
	}
	o := object{"type": "object", "additionalProperties": false, "properties": special}
	if doc != "" {
		o["description"] = doc
	}
	if required != nil {
		o["required"] = required
	} else {
		o["minProperties"] = 1
	}
	return o
}

// valueSchemas describe the values of keys of the envelope by kind. What is not here is text.
var valueSchemas = map[envelope.Kind]object{
	envelope.Moment: ref("time"), envelope.Address: ref("ip"), envelope.Port: ref("port"), envelope.Hex: ref("hex"),
	envelope.Frame: {"type": "integer", "minimum": 1}, envelope.Ordinal: {"type": "integer", "minimum": 1}, envelope.VLAN: {"type": "integer", "minimum": 1, "maximum": 4095},
	envelope.Count: natural(""), envelope.ID: natural(""), envelope.Nanoseconds: natural(""), envelope.Signed: {"type": "integer"},
	envelope.Flag: {"type": "boolean"}, envelope.Mark: {"const": true},
}

// valueSchema describes the value of a key of the envelope.
func valueSchema(k *envelope.Key) object {
	if k.Kind == envelope.Object {
		return ref(k.Name)
	}
	o := maps.Clone(valueSchemas[k.Kind])
	if o == nil {
		o = object{"type": "string"}
	}
	if o["$ref"] != nil {
		return o
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
			for _, m := range q.Catalog.Messages() {
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
	number, textual := object{"type": "number"}, object{"type": "string"}
	byKind := map[dissect.Kind]object{
		dissect.Uint: natural(""), dissect.Int: {"type": "integer"}, dissect.Bool: {"type": "boolean"}, dissect.Float: number, dissect.Decimal: number, dissect.Group: self,
		dissect.List:  {"type": "array", "items": object{"anyOf": []any{self, ref("address"), object{"type": []string{"string", "number"}}}}},
		dissect.Bytes: ref("hex"), dissect.ID: {"type": "string", "pattern": `^\d+$`}, dissect.Endpoint: ref("address"), dissect.String: textual, dissect.Char: textual,
	}
	kinds := map[string][]any{}
	docs := map[string]string{}
	schema := object{"type": "object", "additionalProperties": false}
	for _, f := range p.Catalog.Fields() {
		if f.Framing {
			continue
		}
		if f.Open { // columns that messages name themselves
			schema["patternProperties"] = object{`^[A-Za-z0-9_]+$`: object{"type": []string{"string", "number", "boolean", "array", "object"}, "description": f.Doc}}
			continue
		}
		types := []any{byKind[f.Kind]}
		key := f.JSONName()
		if f.Secret || key == "data" { // a password that broke off is data
			types = append(types, constant("***"))
		}
		kinds[key] = append(kinds[key], types...)
		docs[key] = cmp.Or(docs[key], f.Doc)
		if len(f.Names) > 0 {
			kinds[key+"_name"] = []any{textual}
		}
		if f.Kind == dissect.Float || f.Kind == dissect.Decimal {
			key += core.TextSuffix
			kinds[key] = []any{textual}
			docs[key] = "The same where it is not a number."
		}
		if f.Style != dissect.NoStyle {
			kinds[key+"_plain"] = []any{textual}
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
