package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/qdissect/qdissect/internal/must"
)

// TestCheckUnreadable checks that an unreadable folder sets the exit status, and that
// the captures after it are compared.
func TestCheckUnreadable(t *testing.T) {
	root := t.TempDir()
	b, err := os.ReadFile("../../testdata/pcaps/a2s/source.pcap")
	must.Do(t, err)
	for _, dir := range []string{"a", "b", "c"} {
		must.Do(t, os.Mkdir(filepath.Join(root, dir), 0o755))
		must.Do(t, os.WriteFile(filepath.Join(root, dir, "x.pcap"), b, 0o644))
	}
	check := func(args ...string) (int, string, string) {
		var out, errs strings.Builder
		code := run(append([]string{"check"}, args...), environment{in: strings.NewReader(""), out: &out, err: &errs, getenv: func(string) string { return "" }})
		return code, out.String(), errs.String()
	}
	// Change into the folder, because other users may not be able to read its parents.
	t.Chdir(root)
	if code, _, errs := check("--update", "."); code != 0 {
		t.Fatal(code, errs)
	}
	locked := filepath.Join(root, "b")
	must.Do(t, os.Chmod(locked, 0))
	defer os.Chmod(locked, 0o755)
	if os.Geteuid() == 0 { // root can read everything
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		must.Do(t, syscall.Setfsuid(65534))
		defer syscall.Setfsuid(0)
	}
	code, out, errs := check(".")
	if code != exitTrouble || !strings.Contains(out, "2 captures: 2 equal") || strings.Count(errs, "permission denied") != 1 || !strings.Contains(errs, "b: permission denied") {
		t.Errorf("exit status %d\n%s%s", code, out, errs)
	}
}
