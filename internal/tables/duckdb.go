// Package tables presents messages as tables, for databases.
package tables

import (
	"cmp"
	_ "embed"
	"io"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/envelope"
)

//go:embed duckdb.sql
var duckdb string

//go:embed duckdb_views.sql
var duckdbViews string

// WriteDuckDB writes the tables and views of the JSON output for DuckDB. The files are
// loaded; names can be patterns. A folder is one of Parquet files, which then take the
// place of the JSON.
func WriteDuckDB(w io.Writer, protocols []*dissect.Protocol, files []string, folder string) error {
	var b strings.Builder
	if folder == "" {
		var envelopes, columns, keys []string
		for i := range envelope.Keys {
			envelopes = append(envelopes, sqlColumn(&envelope.Keys[i]))
		}
		for _, p := range protocols {
			columns, keys = append(columns, p.JSONKey()+" JSON"), append(keys, p.JSONKey())
		}
		list := func(words []string) string { return strings.Join(words, ", ") }
		b.WriteString(strings.NewReplacer("{{envelope}}", strings.Join(envelopes, ",\n  "), "{{columns}}", strings.Join(columns, ",\n  "), "{{keys}}", list(keys),
			"{{message}}", list(names(messageKeys())), "{{exchange}}", list(names(envelope.Read(envelope.Exchange)))).Replace(duckdb))
	} else {
		b.WriteString("-- The output of qdissect -o parquet as views of DuckDB.\n")
		for _, name := range []string{"messages", "findings", "exchanges"} {
			b.WriteString("\nCREATE OR REPLACE VIEW " + name + " AS SELECT * FROM read_parquet(" + quote(folder+"/**/"+name+".parquet") + ");\n")
		}
	}
	b.WriteString("\n" + duckdbViews)
	b.WriteString("\n-- The messages of each protocol, with the types of their fields.\n\n")
	for _, p := range protocols {
		family := []*dissect.Protocol{p}
		for _, q := range protocols { // a reply may be reported under the protocol of its request
			if q != p && q.Family != "" && q.Family == p.Family {
				family = append(family, q)
			}
		}
		b.WriteString("CREATE OR REPLACE VIEW " + p.JSONKey() + " AS SELECT * REPLACE (from_json(fields, '" + shapeOf(family) +
			"') AS fields) FROM messages WHERE protocol = '" + p.Name + "';\n")
	}
	for _, name := range files {
		b.WriteString("\nCOPY lines FROM " + quote(name) + " (FORMAT json);\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// sqlTypes are the types of the values of the envelope.
var sqlTypes = map[envelope.Kind]string{
	envelope.Frame: "UBIGINT", envelope.ID: "UBIGINT", envelope.Ordinal: "UINTEGER", envelope.Count: "UINTEGER", envelope.Signed: "BIGINT",
	envelope.Nanoseconds: "BIGINT", envelope.Flag: "BOOLEAN", envelope.Mark: "BOOLEAN", envelope.Moment: "TIMESTAMP_NS", envelope.Port: "USMALLINT", envelope.VLAN: "USMALLINT",
}

// sqlColumn returns the declaration of a key of the envelope.
func sqlColumn(k *envelope.Key) string {
	name, t := k.Name, cmp.Or(sqlTypes[k.Kind], "VARCHAR")
	if name == "offset" {
		name = `"offset"` // a word of SQL
	}
	if k.Kind == envelope.Object {
		var fields []string
		for i := range k.Fields {
			fields = append(fields, sqlColumn(&k.Fields[i]))
		}
		t = "STRUCT(" + strings.Join(fields, ", ") + ")"
	}
	if k.List {
		t += "[]"
	}
	return name + " " + t
}

// messageKeys returns the keys of the envelope in the table of messages, but for data, in its order.
func messageKeys() (list []*envelope.Key) {
	for i := range envelope.Keys {
		switch k := &envelope.Keys[i]; {
		case k.Name == "frames", k.Name == "findings", k.OfMessage != nil, k.In&envelope.Message == 0:
		case k.Name == "detect":
			list = append(list, k, envelope.Lookup("frames"))
		case k.Name == "split":
			list = append(append(list, k), envelope.Read(envelope.Message|envelope.Answer)...)
		default:
			list = append(list, k)
		}
	}
	return list
}

func names(keys []*envelope.Key) (list []string) {
	for _, k := range keys {
		list = append(list, k.Name)
	}
	return list
}

// quote returns a string of SQL.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// A shape is the type of a place in the fields of a protocol.
type shape struct {
	key      string
	types    []string // of values
	list     bool
	open     bool // what it holds is not known
	children []*shape
}

func (s *shape) child(key string) *shape {
	for _, c := range s.children {
		if c.key == key {
			return c
		}
	}
	c := &shape{key: key}
	s.children = append(s.children, c)
	return c
}

// at returns the shape at a path.
func (s *shape) at(path string) *shape {
	if path == "" {
		return s
	}
	for key := range strings.SplitSeq(path, ".") {
		s = s.child(key)
	}
	return s
}

// shapeOf returns the structure of the fields of protocols as from_json takes it.
func shapeOf(family []*dissect.Protocol) string {
	var root shape
	for _, p := range family {
		for _, path := range display.Paths(p) {
			if base := root.at(strings.TrimSuffix(path.Name, path.Suffix)); path.Suffix == "" || path.Suffix[0] == '.' || !base.list { // beside elements is nothing
				root.at(path.Name).add(path)
			}
		}
	}
	return root.json()
}

func (s *shape) add(path display.Path) {
	f := path.Field
	switch t := typeOf(path); {
	case f.Open || f.Loose && path.Suffix == "":
		s.open = true
	case f.Kind == dissect.List && path.Suffix == "":
		s.list = true
	case t != "" && !slices.Contains(s.types, t):
		s.types = append(s.types, t)
	}
}

// typeOf returns the type of the values of a path, "" for an object.
func typeOf(path display.Path) string {
	f := path.Field
	switch {
	case path.Suffix == ".port":
		return "USMALLINT"
	case path.Suffix != "" || f.Secret && !f.Kind.Container():
		return "VARCHAR"
	}
	return fieldTypes[f.Kind]
}

// fieldTypes are the types of fields.
var fieldTypes = map[dissect.Kind]string{
	dissect.Uint: "UBIGINT", dissect.Int: "BIGINT", dissect.Bool: "BOOLEAN", dissect.Float: "DOUBLE", dissect.Decimal: "DOUBLE", dissect.String: "VARCHAR", dissect.Char: "VARCHAR",
	dissect.Bytes: "VARCHAR", dissect.ID: "VARCHAR",
}

// json returns the structure as JSON.
func (s *shape) json() string {
	t := `"JSON"`
	switch {
	case s.open, len(s.types) > 0 && len(s.children) > 0:
	case len(s.children) > 0:
		var keys []string
		for _, c := range s.children {
			keys = append(keys, `"`+c.key+`":`+c.json())
		}
		t = "{" + strings.Join(keys, ",") + "}"
	case len(s.types) == 1:
		t = `"` + s.types[0] + `"`
	case len(s.types) == 2 && slices.Contains(s.types, "UBIGINT") && slices.Contains(s.types, "BIGINT"):
		t = `"HUGEINT"`
	case len(s.types) >= 2 && !slices.Contains(s.types, "VARCHAR") && !slices.Contains(s.types, "BOOLEAN"):
		t = `"DOUBLE"`
	}
	if s.list && t != `"JSON"` {
		t = "[" + t + "]"
	}
	return t
}
