//go:build unix

package whole

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
)

// names returns what is in a folder.
func names(t *testing.T, dir string) []string {
	t.Helper()
	return nettext.Each(must.Get(os.ReadDir(dir))(t), os.DirEntry.Name)
}

// TestCreate: a file has its name when it is placed, not before, and not at all if it is discarded.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	name, link := filepath.Join(dir, "a"), filepath.Join(dir, "link")
	must.Do(t, os.WriteFile(name, []byte("old"), 0o640))
	must.Do(t, os.Symlink("a", link))
	f := must.Get(Create(link, false))(t)
	must.Get(f.WriteString("new"))(t)
	if b, _ := os.ReadFile(name); string(b) != "old" {
		t.Errorf("before Place: %q", b)
	}
	gone := must.Get(Create(filepath.Join(dir, "b"), false))(t)
	gone.Discard()
	gone.Discard()
	must.Do(t, f.Place())
	f.Discard()
	st := must.Get(os.Stat(name))(t)
	if b, _ := os.ReadFile(name); string(b) != "new" || st.Mode() != 0o640 || !slices.Equal(names(t, dir), []string{"a", "link"}) {
		t.Errorf("after Place: %q, mode %v, %v", b, st.Mode(), names(t, dir))
	}
	must.Do(t, Write(name, nil, true))
	if st, err := os.Stat(name); err != nil || st.Mode() != 0o600 {
		t.Errorf("private: %v, %v", st.Mode(), err)
	}
}

// TestSweep: what a process left that was killed is removed, what is being written or is of somebody else is not.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	held := must.Get(Create(filepath.Join(dir, "a"), false))(t)
	defer held.Discard()
	mine := filepath.Base(held.Name())
	for _, name := range []string{".new-1-b.part", ".new-2", "c.part", ".done"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	must.Do(t, os.MkdirAll(filepath.Join(dir, ".new-3-unit.part", "below"), 0o700))
	must.Do(t, syscall.Mkfifo(filepath.Join(dir, ".new-4.part"), 0o600)) // in /tmp anybody may make one: to open it would block
	swept.Clear()
	Sweep(dir)
	want := []string{".done", ".new-2", ".new-4.part", mine, "c.part"}
	slices.Sort(want)
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	Sweep(filepath.Join(dir, "none"))
}

// TestFolder: the files of a folder get their names after it is placed, the one that says so last, also if that was interrupted.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "unit")
	f := must.Get(Mkdir(name))(t)
	for _, file := range []string{"a", "b", "summary"} {
		must.Do(t, os.WriteFile(filepath.Join(f.Name(), file+Suffix), []byte(file), 0o600))
	}
	must.Do(t, f.Place())
	if got := names(t, name); len(got) != 3 || slices.Contains(got, "a") {
		t.Errorf("%q", got)
	}
	must.Do(t, os.Rename(filepath.Join(name, "a"+Suffix), filepath.Join(name, "a"))) // and then it was killed
	must.Do(t, Finish(name, "summary"))
	must.Do(t, Finish(name, "summary"))
	if got := names(t, name); !slices.Equal(got, []string{"a", "b", "summary"}) {
		t.Errorf("%q", got)
	}
	must.Do(t, Finish(filepath.Join(dir, "none"), "summary"))
}

// TestNoRoom: a folder that is not there is an error that says so, and leaves nothing.
func TestNoRoom(t *testing.T) {
	if _, err := Create(filepath.Join(t.TempDir(), "none", "a"), false); !os.IsNotExist(err) {
		t.Error(err)
	}
	if err := Write(t.TempDir(), []byte("x"), false); err == nil {
		t.Error("a folder was replaced")
	}
}

// TestLinks: a link to nothing or in a circle is not replaced by a file. A name may have 255 bytes. Scratch has none.
func TestLinks(t *testing.T) {
	dir, long := t.TempDir(), strings.Repeat("n", 255)
	for link, target := range map[string]string{"none": "nothing", "circle": "circle"} {
		must.Do(t, os.Symlink(target, filepath.Join(dir, link)))
		if err := Write(filepath.Join(dir, link), nil, false); err == nil {
			t.Errorf("%s was replaced", link)
		}
	}
	must.Do(t, Write(filepath.Join(dir, long), nil, false))
	defer must.Get(Scratch(dir))(t).Discard()
	if got := names(t, dir); !slices.Equal(got, []string{"circle", long, "none"}) {
		t.Errorf("%q", got)
	}
}

// TestPipe: what is no file stays what it is, as a device does.
func TestPipe(t *testing.T) {
	pipe, b := filepath.Join(t.TempDir(), "pipe"), make([]byte, 4)
	must.Do(t, syscall.Mkfifo(pipe, 0o600))
	f := must.Get(os.OpenFile(pipe, os.O_RDWR, 0))(t) // else each side waits for the other
	defer f.Close()
	if _, err := Create(pipe, false); err == nil {
		t.Fatal("it would be replaced")
	}
	must.Do(t, Write(pipe, []byte("text"), false))
	if must.Get(f.Read(b))(t); string(b) != "text" {
		t.Errorf("%q", b)
	}
}

// TestFinishTwice: what a killed run left behind may finish a folder while the next run does.
func TestFinishTwice(t *testing.T) {
	for range 100 {
		dir := t.TempDir()
		for _, name := range []string{"a", "b", "last"} {
			must.Do(t, os.WriteFile(filepath.Join(dir, name+Suffix), []byte(name), 0o666))
		}
		ended := make(chan error)
		for range 4 {
			go func() { ended <- Finish(dir, "last") }()
		}
		for range 4 {
			must.Do(t, <-ended)
		}
		if got := names(t, dir); !slices.Equal(got, []string{"a", "b", "last"}) {
			t.Fatal(got)
		}
	}
}
