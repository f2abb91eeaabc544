package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/internal/must"
)

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
