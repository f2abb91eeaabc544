package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// TestCheckUnreadable: a folder that may not be read costs itself and the exit
// status, not the captures after it.
func TestCheckUnreadable(t *testing.T) {
	root := t.TempDir()
	for dir := root; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if st, err := os.Stat(dir); err == nil && st.Mode().Perm()&1 == 0 {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Skip(err)
			}
		}
	}
	b, err := os.ReadFile("../../testdata/pcaps/a2s/source.pcap")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"a", "b", "c"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, dir, "x.pcap"), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	check := func(args ...string) (int, string, string) {
		var out, errs strings.Builder
		code := run(append([]string{"check"}, args...), environment{in: strings.NewReader(""), out: &out, err: &errs, getenv: func(string) string { return "" }})
		return code, out.String(), errs.String()
	}
	if code, _, errs := check("--update", root); code != 0 {
		t.Fatal(code, errs)
	}
	locked := filepath.Join(root, "b")
	if err := os.Chmod(locked, 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(locked, 0o755)
	if os.Geteuid() == 0 { // may read everything
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := syscall.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
		defer syscall.Setfsuid(0)
	}
	code, out, errs := check(root)
	if code != exitTrouble || !strings.Contains(out, "2 captures: 2 equal") || strings.Count(errs, "permission denied") != 1 || !strings.Contains(errs, locked) {
		t.Errorf("exit status %d\n%s%s", code, out, errs)
	}
}
