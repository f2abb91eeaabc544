package stats

import (
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"time"
)

type object = map[string]any

// enums are the values of some texts, by type and key.
var enums = map[string][]string{
	"Report.type": {"report"}, "Report.schema": {Schema}, "Report.home_by": {"option", "interface", "replies"},
	"Verdict.kind":      ranks,
	"Verdict.certainty": {string(Certain), string(Likely), string(Possible)},
	"Client.class":      {string(Finished), string(NeverFinished), string(TooOften)},
	"Rule.format":       {"nftables", "iptables"},
	"Finding.severity":  {"chat", "note", "warning", "error"},
	"Talk.severity":     {"note", "warning", "error"},
}

// WriteSchema writes the JSON Schema (draft 2020-12) of a [Report].
func WriteSchema(w io.Writer) error {
	s := schemaOf(reflect.TypeFor[Report](), "")
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "Report of qdissect (" + Schema + ")"
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(s)
}

// schemaOf returns the schema of a type; name is the key with the type that holds it.
func schemaOf(t reflect.Type, name string) object {
	if values := enums[name]; values != nil {
		return object{"enum": values}
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[Evidence]():
		return object{"type": "object", "additionalProperties": object{"type": "number"}}
	}
	switch t.Kind() {
	case reflect.Struct:
		properties, required := object{}, []string{}
		for _, f := range reflect.VisibleFields(t) {
			key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.IsExported() || key == "" || key == "-" {
				continue
			}
			properties[key] = schemaOf(f.Type, t.Name()+"."+key)
			if options != "omitempty" && options != "omitzero" {
				required = append(required, key)
			}
		}
		return object{"type": "object", "additionalProperties": false, "required": required, "properties": properties}
	case reflect.Slice:
		return object{"type": "array", "items": schemaOf(t.Elem(), "")}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Uint64:
		return object{"type": "integer", "minimum": 0}
	default: // int, time.Duration
		return object{"type": "integer"}
	}
}
