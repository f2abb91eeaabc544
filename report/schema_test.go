package report_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/thorough"
	"github.com/qdissect/qdissect/report"
)

// TestSchema: every object of the goldens, which are what the program writes, keeps
// the schema. The library that checks it takes milliseconds to start, so it is not
// part of the tests that start the program again and again.
func TestSchema(t *testing.T) {
	var text bytes.Buffer
	must.Do(t, report.WriteSchema(&text, all.Protocols()))
	doc := must.Get(jsonschema.UnmarshalJSON(&text))(t)
	c := jsonschema.NewCompiler()
	must.Do(t, c.AddResource("qdissect.json", doc))
	schema := must.Get(c.Compile("qdissect.json"))(t)
	goldens, err := filepath.Glob(filepath.Join("..", "testdata", "pcaps", "*", "*.golden.jsonl"))
	if err != nil || len(goldens) < 40 {
		t.Fatalf("%d goldens (%v)", len(goldens), err)
	}
	for _, path := range thorough.Captures(goldens) {
		b := must.Get(os.ReadFile(path))(t)
		for line := range strings.Lines(string(b)) {
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
			if err != nil {
				t.Fatalf("%s: %v: %s", path, err, line)
			}
			if err := schema.Validate(v); err != nil {
				t.Errorf("%s: %v: %s", path, err, line)
			}
		}
	}
}

// TestNames: the names of values stand in JSON as they are declared.
func TestNames(t *testing.T) {
	named := 0
	for _, p := range all.Protocols() {
		for _, f := range p.Fields.Fields() {
			for _, n := range f.Names {
				named++
				if got, err := json.Marshal(n.Name); err != nil || string(got) != `"`+n.Name+`"` {
					t.Errorf("%s: the name %q of %d needs an escape", f.Path, n.Name, n.Value)
				}
			}
		}
	}
	if named < 100 {
		t.Errorf("%d names", named)
	}
}
