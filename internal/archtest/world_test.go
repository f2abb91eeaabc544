package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/internal/must"
)

// TestOwnWorld: below cmd, what happens depends on what is handed in. Time is
// that of packets; files, the environment and goroutines are for the packages
// that ARCHITECTURE.md names. Nothing happens before main does.
func TestOwnWorld(t *testing.T) {
	patterns := map[string]*regexp.Regexp{
		"clock":       regexp.MustCompile(`\btime\.(Now|Since|Until|Sleep|After|AfterFunc|NewTimer|NewTicker|Tick)\b`),
		"environment": regexp.MustCompile(`\bos\.(Getenv|LookupEnv|Environ|Args|Getwd|Hostname|UserHomeDir)\b`),
		"file":        regexp.MustCompile(`\bos\.(Open|OpenFile|Create|CreateTemp|ReadFile|WriteFile|ReadDir|DirFS|Stat|Lstat|Mkdir\w*|Remove\w*|Rename|Std(in|out|err))\b`),
		"goroutine":   regexp.MustCompile(`(?m)^\s*go (func\b|\w+[.(])|\.Go\(`),
		"init":        regexp.MustCompile(`(?m)^func init\(`),
	}
	allowed := map[string]string{
		"internal/capture":    "clock file goroutine",
		"internal/pipeline":   "clock goroutine",
		"internal/golden":     "file",
		"internal/whole":      "file",
		"internal/serve/host": "clock goroutine",
		"internal/thorough":   "environment init", // of tests
		"dissect/dissecttest": "environment file", // of tests
		"qdissecttest":        "clock environment file goroutine",
	}
	root := filepath.Join("..", "..")
	seen := 0
	for _, dir := range []string{"dissect", "reassembly", "report", "internal", "packetsource", "qdissecttest"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			pkg, err := filepath.Rel(root, filepath.Dir(path))
			if pkg = filepath.ToSlash(pkg); err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(pkg, "internal/tools") {
				return err
			}
			seen++
			b, err := os.ReadFile(path)
			for what, p := range patterns {
				if m := p.Find(b); m != nil && !strings.Contains(allowed[pkg], what) {
					t.Errorf("%s: %s: %q", path, what, strings.TrimSpace(string(m)))
				}
			}
			return err
		})
		must.Do(t, err)
	}
	if seen < 100 {
		t.Errorf("%d files looked at", seen)
	}
}
