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

// TestSendsNothing: what reads captures can neither talk to the network nor run
// a program, and nothing in the whole program dials or asks for names but the
// command query, for the server that it is told to ask, and --webhook, for the receiver that it is told to post to. Only the files of --on-verdict run a command, that of the user; those of --install ask
// tshark for its folders; bubbletea has one that runs an editor.
func TestSendsNothing(t *testing.T) {
	banned := map[string][]string{
		"internal/pipeline": {"net/http", "crypto/tls", "os/exec", "plugin"},
		"cmd/qdissect":      {"plugin"},
	}
	seen := 0
	for _, p := range list(t) {
		path, _ := strings.CutPrefix(p.ImportPath, module+"/")
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
				if m := dials.Find(b); m != nil && !strings.HasSuffix(filepath.ToSlash(path), "/cmd/qdissect/query.go") && !strings.HasSuffix(filepath.ToSlash(path), "/cmd/qdissect/webhook.go") {
					t.Errorf("%s: %s", path, m)
				}
				slash := filepath.ToSlash(path)
				if strings.Contains(string(b), `"os/exec"`) && !strings.Contains(slash, "/cmd/qdissect/onverdict") && !strings.HasSuffix(slash, "/cmd/qdissect/install.go") {
					t.Errorf("%s runs programs", path)
				}
			}
			return err
		})
		must.Do(t, err)
	}
}
