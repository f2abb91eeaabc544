package archtest

import (
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/go/callgraph"
	"golang.org/x/tools/go/callgraph/vta"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

// stages returns the files of the engine with the number of their stage, from the table in ARCHITECTURE.md.
func stages(t *testing.T) (number map[string]int, names []string) {
	t.Helper()
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	number = map[string]int{}
	_, table, _ := strings.Cut(string(text), "| stage | file | what it does |\n")
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			break
		}
		files := regexp.MustCompile("`([a-z]+\\.go)`").FindAllStringSubmatch(cells[2], -1)
		if files == nil {
			continue // the line below the heading
		}
		for _, f := range files {
			number[f[1]] = len(names)
		}
		names = append(names, strings.TrimSpace(cells[1]))
	}
	return number, names
}

// TestStages: no stage of the engine calls an earlier one.
func TestStages(t *testing.T) {
	number, names := stages(t)
	if len(names) < 8 {
		t.Fatalf("stages %q in ARCHITECTURE.md", names)
	}
	loaded, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax}, module+"/dissect")
	if err != nil || len(loaded) != 1 || len(loaded[0].Errors) > 0 {
		t.Fatalf("%v %v", loaded, err)
	}
	program, built := ssautil.Packages(loaded, ssa.InstantiateGenerics)
	program.Build()
	file := func(f *ssa.Function) string {
		for f.Parent() != nil {
			f = f.Parent()
		}
		if f.Pkg != built[0] || f.Pos() == token.NoPos {
			return ""
		}
		return filepath.Base(program.Fset.Position(f.Pos()).Filename)
	}
	all := ssautil.AllFunctions(program)
	calls := 0
	callgraph.GraphVisitEdges(vta.CallGraph(all, nil), func(e *callgraph.Edge) error {
		from, ok := number[file(e.Caller.Func)]
		to, also := number[file(e.Callee.Func)]
		if !ok || !also {
			return nil
		}
		if calls++; from > to {
			t.Errorf("%s (%s) calls %s (%s)", e.Caller.Func, names[from], e.Callee.Func, names[to])
		}
		return nil
	})
	if calls < 100 {
		t.Errorf("%d calls between functions of stages", calls)
	}
}
