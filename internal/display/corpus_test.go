package display_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/thorough"
	"github.com/qdissect/qdissect/report"
)

// A checker checks that for every value in the JSON of a message or a finding, the
// expression that compares its path with the value matches, and that the path of another
// message does not.
type checker struct {
	*report.JSON
	t       *testing.T
	filters map[string]*display.Filter
	tried   map[string]int // by path
	keys    map[string]bool
	columns map[string]report.Reporter // by path
	rows    map[string]int             // how many were compared, by path
	values  map[string][]string        // of the object, by path
	file    string
}

// perPath is the number of different values that are tried of each path.
var perPath = thorough.Of(1, 6)

var indexes = regexp.MustCompile(`\[\*\]`)

// try checks the expressions for one object.
func (c *checker) try(matches func(*display.Matcher) bool, write func(report.Reporter) error) {
	defer c.Reset()
	c.values = map[string][]string{}
	var object map[string]any
	d := json.NewDecoder(strings.NewReader(string(c.Bytes())))
	d.UseNumber()
	must.Do(c.t, d.Decode(&object))
	c.walk("", object, matches)
	for path, values := range c.values {
		if c.rows[path] >= perPath {
			continue
		}
		c.rows[path]++
		r := c.columns[path]
		if r == nil {
			column, err := display.CompileColumn(path)
			must.Do(c.t, err)
			r = display.NewRows([]*display.Column{column}, display.RowOptions{})
			c.columns[path] = r
		}
		write(r)
		if got, want := string(r.Bytes()), strings.Join(values, ",")+"\n"; sorted(got) != sorted(want) && (got != "" || path != "frame" && !strings.HasPrefix(string(c.Bytes()), `{"type":"finding"`)) {
			c.t.Errorf("%s: -e %s writes %swant %s", c.file, path, got, want)
		}
		r.Reset()
	}
}

// sorted sorts the values of a cell: the order of fields is not always that of JSON.
func sorted(cell string) string {
	values := strings.Split(strings.TrimSuffix(cell, "\n"), ",")
	slices.Sort(values)
	return strings.Join(values, ",")
}

func (c *checker) walk(path string, v any, matches func(*display.Matcher) bool) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			c.walk(strings.TrimPrefix(path+"."+k, "."), v[k], matches)
		}
		return
	case []any:
		c.expect(indexes.ReplaceAllString(path, ""), matches)
		if len(v) > 0 {
			c.expect(path+"[*]", matches)
		}
		for _, v := range v {
			c.walk(path+"[*]", v, matches)
		}
		return
	}
	general := indexes.ReplaceAllString(path, "")
	c.keys[general] = true
	c.values[general] = append(c.values[general], string(nettext.AppendSafe(nil, []byte(fmt.Sprint(v)))))
	c.expect(general, matches)
	if v == "***" || c.tried[general] >= perPath {
		return
	}
	literal := fmt.Sprint(v)
	if s, ok := v.(string); ok {
		literal = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
	}
	expr := general + " == " + literal
	if c.filters[expr] == nil {
		c.tried[general]++
	}
	c.expect(expr, matches)
	if path != general {
		c.expect(path+" == "+literal, matches)
	}
}

func (c *checker) expect(expr string, matches func(*display.Matcher) bool) {
	f := c.filters[expr]
	if f == nil {
		var err error
		if f, err = display.Compile(expr); err != nil {
			if !slices.Contains([]string{"flow_id"}, expr) {
				c.t.Errorf("%s: %s\n%s", c.file, err, err.(*display.Error).Show())
			}
			f = new(display.Filter)
		}
		c.filters[expr] = f
	}
	if *f == (display.Filter{}) {
		return
	}
	if !matches(f.Matcher()) {
		c.t.Errorf("%s: %s does not match\n%s", c.file, expr, c.Bytes())
		*f = display.Filter{}
	}
}

func (c *checker) Record(r *dissect.Record) error {
	if c.t.Failed() && len(c.filters) > 1<<20 {
		return nil
	}
	c.JSON.Record(r)
	c.try(func(m *display.Matcher) bool { return m.Record(r) }, func(w report.Reporter) error { return w.Record(r) })
	return nil
}

func (c *checker) Unknown(u *dissect.Unknown) error {
	c.JSON.Unknown(u)
	c.try(func(m *display.Matcher) bool { return m.Unknown(u) }, func(w report.Reporter) error { return w.Unknown(u) })
	return nil
}

func (c *checker) Finding(f *dissect.FlowFinding) error {
	c.JSON.Finding(f)
	c.try(func(m *display.Matcher) bool { return m.Finding(f) }, func(w report.Reporter) error { return w.Finding(f) })
	return nil
}

func (c *checker) Begin(report.Capture) error { return nil }

func (c *checker) End(*report.Summary) error { return nil }

// TestJSON checks that every path and every value in the JSON of our captures can be
// filtered, with the meaning that they have there.
func TestJSON(t *testing.T) {
	captures, err := filepath.Glob(filepath.FromSlash("../../testdata/pcaps/*/*.pcap*"))
	if err != nil || len(captures) < 50 {
		t.Fatalf("%d captures (%v)", len(captures), err)
	}
	c := &checker{JSON: report.NewJSON(report.JSONOptions{}), t: t, filters: map[string]*display.Filter{}, tried: map[string]int{}, keys: map[string]bool{}, columns: map[string]report.Reporter{}, rows: map[string]int{}}
	for _, name := range thorough.Captures(captures) {
		c.file = filepath.Base(filepath.Dir(name)) + "/" + filepath.Base(name)
		_, err := pipeline.Run(pipeline.Options{
			Inputs: []string{name}, Out: io.Discard, Reporter: func() report.Reporter { return c }, All: true, Trouble: func(error) {},
			Analysis: dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign(), Tree: true},
		})
		must.Do(t, err)
	}
	if len(c.keys) < thorough.Of(300, 1000) {
		t.Errorf("%d paths", len(c.keys))
	}
	t.Logf("%d paths, %d expressions", len(c.keys), len(c.filters))
}
