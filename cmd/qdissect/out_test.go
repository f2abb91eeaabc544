package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/qdissect/qdissect/internal/must"
)

// TestProgramSum: programs differ by their build ID if they have one, else by any byte.
func TestProgramSum(t *testing.T) {
	sumOf := func(program []byte) string {
		path := filepath.Join(t.TempDir(), "program")
		must.Do(t, os.WriteFile(path, program, 0o666))
		sum := must.Get(programSum(path))(t)
		return sum
	}
	end := 100 << 10
	for _, before := range []string{"\x04\x00\x00\x00Go\x00\x00", "\xff Go build ID: \""} {
		a := make([]byte, end+1)
		copy(a[4000:], before+"bXx0efUGhKV3pXFZpTZQ/4fodqPUObV4tV3cqLOCt/ytvb3K10shLwPZoG_UXA/sVnQZ0EghL7C8kQuKMne")
		first := sumOf(a)
		a[end]++
		if sumOf(a) != first {
			t.Errorf("%q: not only the start of a program with a build ID was read", before)
		}
		a[bytes.Index(a, []byte("sVnQ"))]++
		if sumOf(a) == first {
			t.Errorf("%q: two build IDs, one sum", before)
		}
		copy(a[4000:], before+"redacted\"                                                                              ")
		redacted := sumOf(a)
		a[end]++
		if sumOf(a) == redacted {
			t.Errorf("%q: without a build ID, the last byte makes no difference", before)
		}
	}
	// This program was made by the go command.
	path := must.Get(os.Executable())(t)
	head := make([]byte, 32<<10)
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	if _, err := f.Read(head); err != nil || !buildID().Match(head) {
		t.Errorf("no build ID in %s: %v", path, err)
	}
}
