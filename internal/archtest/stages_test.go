package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
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

// TestNoPeekArithmetic: a decoder neither indexes nor slices what a reader lets
// it peek at. The reader may have failed since the decoder last looked, and then
// there is nothing to index: datagrams with more records than the limit ended
// the program that way. Functions that take any bytes may be handed them, and
// PeekByte, PeekTo, PeekFrom, Next, HasPrefix, Until, While and Element answer
// for any argument.
func TestNoPeekArithmetic(t *testing.T) {
	root := filepath.Join("..", "..", "dissect")
	peeks := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Dir(path) == root {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			bad, n := peekArithmetic(f.Body)
			peeks += n
			for _, at := range bad {
				t.Errorf("%s: peeked bytes are indexed or sliced", set.Position(at))
			}
		}
		return nil
	})
	must.Do(t, err)
	if peeks < 50 {
		t.Errorf("%d peeks seen", peeks)
	}
}

// peekArithmetic returns where the result of a Peek method is indexed or sliced,
// directly or through a variable, and how many calls there are.
func peekArithmetic(body ast.Node) (bad []token.Pos, calls int) {
	peeked := map[string]bool{}
	isPeek := func(e ast.Expr) bool {
		switch e := ast.Unparen(e).(type) {
		case *ast.Ident:
			return peeked[e.Name]
		case *ast.CallExpr:
			s, ok := e.Fun.(*ast.SelectorExpr)
			return ok && (s.Sel.Name == "Peek" || s.Sel.Name == "PeekTo" || s.Sel.Name == "PeekFrom" || s.Sel.Name == "PeekText")
		}
		return false
	}
	note := func(names []ast.Expr, values []ast.Expr) {
		for i, v := range values {
			if id, ok := names[min(i, len(names)-1)].(*ast.Ident); ok && isPeek(v) {
				peeked[id.Name] = true
			}
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if isPeek(n) {
				calls++
			}
		case *ast.AssignStmt:
			note(n.Lhs, n.Rhs)
		case *ast.IndexExpr:
			if isPeek(n.X) {
				bad = append(bad, n.Pos())
			}
		case *ast.SliceExpr:
			if isPeek(n.X) {
				bad = append(bad, n.Pos())
			}
		}
		return true
	})
	return bad, calls
}

func TestPeekArithmeticIsSeen(t *testing.T) {
	for _, row := range []struct {
		body string
		bad  int
	}{
		{"x := r.Peek()[0]", 1},
		{"b := r.Peek(); _ = b[1:]", 1},
		{"for b := r.Peek(); b[0] != 0; b = r.Peek() {}", 1},
		{"b, n := r.PeekTo(3), 1; _ = b[n]", 1},
		{"c := r.Peek(); b := c; _ = (b)[:2]", 1},
		{"b := r.PeekFrom(1); f(b, r.PeekByte(0)); for range b {}", 0},
		{"b := r.Bytes(f, 3); _ = b[0]", 0},
	} {
		file := must.Get(parser.ParseFile(token.NewFileSet(), "", "package p; func f() { "+row.body+" }", 0))(t)
		if bad, _ := peekArithmetic(file); len(bad) != row.bad {
			t.Errorf("%s: %d found, want %d", row.body, len(bad), row.bad)
		}
	}
}
