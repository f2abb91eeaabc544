package archtest

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/go/callgraph"
	"golang.org/x/tools/go/callgraph/vta"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"

	"github.com/qdissect/qdissect/internal/must"
)

// stages returns the functions of each stage of the engine, from the table in ARCHITECTURE.md, and those in which a way
// through the stages begins.
func stages(t *testing.T) (list [][]string, begin map[string]bool) {
	t.Helper()
	text := must.Get(os.ReadFile("../../ARCHITECTURE.md"))(t)
	named := func(s string) (names []string) {
		for _, m := range regexp.MustCompile("`([A-Za-z]+)`").FindAllStringSubmatch(s, -1) {
			names = append(names, m[1])
		}
		return names
	}
	_, rest, _ := strings.Cut(string(text), "| stage | functions | files | what it does |\n|---|---|---|---|\n")
	table, rest, _ := strings.Cut(rest, "\n\n")
	for row := range strings.Lines(table) {
		list = append(list, named(strings.Split(row, "|")[2]))
	}
	_, rest, _ = strings.Cut(rest, "A way begins in ")
	rest, _, _ = strings.Cut(rest, ".\n")
	begin = map[string]bool{}
	for _, name := range named(rest) {
		begin[name] = true
	}
	return list, begin
}

// TestStages goes over the call graph of the engine: no stage comes to an earlier one.
func TestStages(t *testing.T) {
	list, begin := stages(t)
	if len(list) < 8 || len(begin) == 0 {
		t.Fatalf("stages %q and beginnings %v in ARCHITECTURE.md", list, begin)
	}
	loaded, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax}, module+"/dissect")
	if err != nil || len(loaded) != 1 || len(loaded[0].Errors) > 0 {
		t.Fatalf("%v %v", loaded, err)
	}
	program, built := ssautil.Packages(loaded, ssa.InstantiateGenerics)
	program.Build()
	graph := vta.CallGraph(ssautil.AllFunctions(program), nil)
	methods := map[string]*callgraph.Node{} // of the analyzer and of its tracker
	for f, n := range graph.Nodes {
		if f == nil || f.Pkg != built[0] || f.Parent() != nil || f.Signature.Recv() == nil {
			continue
		}
		if of := f.Signature.Recv().Type().String(); strings.HasSuffix(of, ".Analyzer") || strings.HasSuffix(of, ".tracker") {
			methods[f.Name()] = n
		}
	}
	for name := range begin {
		if methods[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
	earlier := map[*callgraph.Node]string{}
	for _, names := range list {
		seen := map[*callgraph.Node]bool{}
		var walk func(from string, n *callgraph.Node)
		walk = func(from string, n *callgraph.Node) {
			if seen[n] || begin[n.Func.Name()] {
				return
			}
			seen[n] = true
			if name := earlier[n]; name != "" {
				t.Errorf("%s comes to %s, of an earlier stage", from, name)
			}
			for _, e := range n.Out {
				walk(from, e.Callee)
			}
		}
		for _, name := range names {
			if methods[name] == nil {
				t.Fatalf("there is no %s", name)
			}
			walk(name, methods[name])
		}
		for _, name := range names {
			earlier[methods[name]] = name
		}
		if len(seen) < 2 {
			t.Errorf("%s call nothing", names)
		}
	}
}
