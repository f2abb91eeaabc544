package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/must"
)

// naming are the files outside the protocols' folders that name a protocol, with the reason.
var naming = map[string]string{
	"internal/core/charset.go": "a character set has the name of the engine that draws it",
	"internal/core/style.go":   "so have colour codes",
}

// TestNames: no protocol is named outside its folder, by its name, one of its fields or one of
// its findings. What others need to know of a protocol stands in its catalog: what a
// field reveals, what a reply echoes, what a message is for, what a finding is about.
func TestNames(t *testing.T) {
	var names []string
	findings := map[string]bool{}
	for _, p := range all.Protocols() {
		names = append(names, regexp.QuoteMeta(p.Name))
		for _, f := range p.Catalog.Findings() {
			findings[f.ID] = true
		}
	}
	named := regexp.MustCompile(`^(` + strings.Join(names, "|") + `)([./:][\w./:*-]*)?$`)
	skipped := regexp.MustCompile(`^(dissect/[^/]+|fleet|clients|internal/(tools|hostile|mkpcap|games|corpus))/`)
	root := filepath.Join("..", "..")
	seen, left := 0, map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		name, err := filepath.Rel(root, path)
		if name = filepath.ToSlash(name); err != nil || skipped.MatchString(name) {
			return err
		}
		seen++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, text, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if _, ok := n.(*ast.ImportSpec); ok {
				return false
			}
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			if s, err := strconv.Unquote(lit.Value); err == nil && (named.MatchString(s) || findings[s]) {
				left[name] = true
				if naming[name] == "" {
					t.Errorf("%s: %q belongs into the folder of its protocol", set.Position(lit.Pos()), s)
				}
			}
			return true
		})
		return nil
	})
	must.Do(t, err)
	for name := range naming {
		if !left[name] {
			t.Errorf("%s names no protocol", name)
		}
	}
	if seen < 200 {
		t.Errorf("%d files looked at", seen)
	}
}
