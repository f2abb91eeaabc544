package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSendsNothing: what reads captures can neither talk to the network nor run
// a program, and nothing in the whole program dials or asks for names. bubbletea
// has a command that runs an editor; none of our packages runs anything.
func TestSendsNothing(t *testing.T) {
	banned := map[string][]string{
		"internal/pipeline": {"net/http", "crypto/tls", "os/exec", "plugin"},
		"cmd/qdissect":      {"plugin"},
	}
	seen := 0
	all := list(t)
	var program []string // what the program is made of
	for _, p := range all {
		if p.ImportPath == module+"/cmd/qdissect" {
			program = append(p.Deps, p.ImportPath)
		}
	}
	for _, p := range all {
		path, ours := strings.CutPrefix(p.ImportPath, module+"/")
		if ours && slices.Contains(program, p.ImportPath) && slices.Contains(p.Imports, "os/exec") {
			t.Errorf("%s imports os/exec", path)
		}
		for _, dep := range p.Deps {
			for _, b := range banned[path] {
				if dep == b {
					t.Errorf("%s depends on %s", path, b)
				}
			}
		}
		if banned[path] != nil {
			seen++
		}
	}
	if seen != len(banned) {
		t.Errorf("%d packages looked at", seen)
	}
	dials := regexp.MustCompile(`net\.(Dial|Lookup|Resolve|DefaultResolver|Resolver)|http\.(Get|Post|Head|Client|DefaultClient|NewRequest)`)
	for _, dir := range []string{"cmd", "dissect", "reassembly", "report", "packetsource", "internal"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(filepath.ToSlash(path), "internal/tools/") {
				return err
			}
			b, err := os.ReadFile(path)
			if err == nil {
				if m := dials.Find(b); m != nil {
					t.Errorf("%s: %s", path, m)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
