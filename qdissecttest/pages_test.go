package qdissecttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/thorough"
)

// TestPages runs the tests of docs/testing-with-captures.md in a module of their own.
func TestPages(t *testing.T) {
	if !thorough.All() {
		return // it takes seconds to build
	}
	root := must.Get(filepath.Abs(".."))(t)
	dir := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, "testdata"), 0o700))
	page := string(readFile(t, filepath.Join(root, "docs", "testing-with-captures.md")))
	files := regexp.MustCompile("(?s)`(\\w+\\.go)`:\n\n```go\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(files) != 4 {
		t.Fatalf("the page has %d files", len(files))
	}
	for _, f := range files {
		writeFile(t, filepath.Join(dir, f[1]), []byte(f[2]))
	}
	writeFile(t, filepath.Join(dir, "testdata", "server.pcap"), readFile(t, pcap("a2s/source.pcap")))
	// The versions of this module, so that no network is needed.
	_, requirements, _ := strings.Cut(string(readFile(t, filepath.Join(root, "go.mod"))), "\n")
	writeFile(t, filepath.Join(dir, "go.mod"), []byte("module example.com/querytest\n"+requirements+
		"\nrequire github.com/qdissect/qdissect v0.0.0\n\nreplace github.com/qdissect/qdissect => "+filepath.ToSlash(root)+"\n"))
	writeFile(t, filepath.Join(dir, "go.sum"), readFile(t, filepath.Join(root, "go.sum")))
	for _, update := range []string{"1", ""} {
		cmd := exec.Command("go", "test", "-mod=mod", "-count=1", "./...")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), updateVariable+"="+update)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	// What differs between two recordings.
	ignore := regexp.MustCompile("--relative-time --ignore '(.*?)' testdata/recorded").FindStringSubmatch(page)
	if ignore == nil {
		t.Fatal("the page does not say how to compare recordings")
	}
	Golden(t, filepath.Join(dir, "testdata", "recorded", "map.pcapng"), Ignore(strings.Split(ignore[1], ",")...), RelativeTime())
}
