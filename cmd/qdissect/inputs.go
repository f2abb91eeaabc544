package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/golden"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/unitfile"
)

// expand turns patterns into inputs. An argument that names an existing file is not a
// pattern. Matches that cannot be used are skipped and reported through note.
func expand(args []string, note func(error)) (list []unitfile.Input, err error) {
	seen := map[string]bool{}
	add := func(in unitfile.Input) {
		if !seen[in.Path] {
			seen[in.Path] = true
			list = append(list, in)
		}
	}
	for _, arg := range args {
		if _, err := os.Stat(arg); err == nil || arg == "-" || !strings.ContainsAny(arg, "*?[{") {
			add(unitfile.Input{Path: arg, Name: filepath.Base(arg)})
			continue
		}
		base, pattern := doublestar.SplitPattern(filepath.ToSlash(arg))
		found, err := doublestar.Glob(&tree{base: base, note: note, noted: map[string]bool{}}, pattern, doublestar.WithFilesOnly(), doublestar.WithFailOnIOErrors())
		if err != nil {
			return nil, fmt.Errorf("%s: no file has this name, and as a pattern: %w", arg, err)
		}
		slices.SortFunc(found, compareNatural)
		n := len(list)
		for _, name := range found {
			// A pattern for everything also matches files that are not captures.
			if path.Base(name)[0] == '.' || !isCapture(name) {
				continue
			}
			in := unitfile.Input{Path: filepath.Join(base, filepath.FromSlash(name)), Name: filepath.FromSlash(name)}
			switch st, err := os.Stat(in.Path); {
			case err == nil && !st.Mode().IsRegular():
				note(skipped{fmt.Errorf("%s: %w", in.Path, golden.ErrNoFile)})
				continue
			case errors.Is(err, syscall.ELOOP): // already noted
				continue
			}
			add(in)
		}
		if len(list) == n {
			return nil, fmt.Errorf("%s: no captures", arg)
		}
	}
	return list, nil
}

// A skipped error is not a failure: nothing is lost.
type skipped struct{ error }

// A tree is the folder in which a pattern is expanded. Folders that cannot be read are
// noted and count as empty. A symbolic link does not lead into its own folder again.
type tree struct {
	base  string
	note  func(error)
	noted map[string]bool
}

// Open is never called: doublestar only uses ReadDir and Stat.
func (t *tree) Open(name string) (fs.File, error) { return os.DirFS(t.base).Open(name) }

func (t *tree) path(name string) string { return filepath.Join(t.base, filepath.FromSlash(name)) }

func (t *tree) fail(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !t.noted[name] {
		t.noted[name] = true
		if errors.Is(err, syscall.ELOOP) {
			err = skipped{fmt.Errorf("%s: skipped, because the symbolic link leads to itself", t.path(name))}
		}
		t.note(err)
	}
	return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// Stat implements [fs.StatFS].
func (t *tree) Stat(name string) (fs.FileInfo, error) {
	st, err := os.Stat(t.path(name))
	if err != nil {
		return nil, t.fail(name, err)
	}
	return st, nil
}

// ReadDir implements [fs.ReadDirFS].
func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	here, err := os.Stat(t.path(name))
	if err != nil {
		return nil, t.fail(name, err)
	}
	for above := name; above != "."; {
		above = path.Dir(above)
		if st, err := os.Stat(t.path(above)); err == nil && os.SameFile(st, here) {
			return nil, t.fail(name, skipped{fmt.Errorf("%s: skipped, because symbolic links lead back into the folder", t.path(name))})
		}
	}
	list, err := os.ReadDir(t.path(name))
	if err != nil {
		err = t.fail(name, err)
		if name != "." {
			err = nil // keep what was read
		}
	}
	return list, err
}

func pathsOf(list []unitfile.Input) []string {
	return nettext.Each(list, func(in unitfile.Input) string { return in.Path })
}

// isCapture reports whether the name is that of a capture. A rotated file may have a
// number after its extension.
func isCapture(name string) bool {
	name = strings.ToLower(path.Base(name))
	for _, ext := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, ext)
	}
	ext := strings.TrimRight(path.Ext(name), "0123456789")
	return slices.Contains([]string{".pcap", ".pcapng", ".cap", ".dmp", ".ntar"}, ext)
}

// compareNatural compares names by the value of their numbers: x.pcap2 comes before
// x.pcap10.
func compareNatural(a, b string) int {
	digits := func(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }
	for a != "" && b != "" {
		n, m := digits(a), digits(b)
		if n == 0 || m == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		x, y := strings.TrimLeft(a[:n], "0"), strings.TrimLeft(b[:m], "0")
		if c := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y), cmp.Compare(n, m)); c != 0 {
			return c
		}
		a, b = a[n:], b[m:]
	}
	return cmp.Compare(len(a), len(b))
}

// seriesOf returns the path without the numbers that distinguish the files of a
// series.
func seriesOf(path string) string {
	// The first file of tcpdump -C has no number: x.pcap, x.pcap1, x.pcap2.
	return strings.TrimSuffix(digits.ReplaceAllString(path, "#"), "#")
}

// nameOf returns what names the series of a path.
func nameOf(path string, by *regexp.Regexp) string {
	if by == nil {
		return seriesOf(path)
	}
	found := by.FindStringSubmatch(path)
	switch {
	case found == nil:
		return "\x00" + path // a series of its own
	case len(found) > 1:
		found = found[1:]
	}
	return strings.Join(found, "\x00")
}

// group splits the inputs into groups that are dissected together. A file that begins before the one that it should follow
// begins another series.
func group(list []unitfile.Input, series bool, by *regexp.Regexp) (groups [][]unitfile.Input) {
	if !series {
		return nettext.Each(list, func(in unitfile.Input) []unitfile.Input { return []unitfile.Input{in} })
	}
	place := map[string]int{}
	for _, in := range list {
		key := nameOf(in.Path, by)
		i, ok := place[key]
		if !ok {
			i = len(groups)
			place[key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], in)
	}
	var following [][]unitfile.Input
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b unitfile.Input) int { return compareNatural(a.Path, b.Path) })
		from, last := 0, time.Time{}
		for i, in := range g {
			if by != nil || len(g) == 1 {
				break
			}
			t := firstTime(in.Path)
			if t.Before(last) && !t.IsZero() {
				following, from = append(following, g[from:i]), i
			}
			if !t.IsZero() {
				last = t
			}
		}
		following = append(following, g[from:])
	}
	return following
}

// pieces detects inputs that look like parts of one capture but are read as separate
// ones. Exchanges that continue in the next file are then incomplete.
type pieces struct {
	before edges
	first  string // the remark about the first pair
	advice string
	more   int // further pairs
}

// edges are the first and last times of an input.
type edges struct {
	name        string
	link        uint16
	first, last time.Time
}

// ended records an input that was read to its end.
func (p *pieces) ended(name string, link uint16, first, last time.Time) {
	before, now := p.before, edges{name, link, first, last}
	p.before = now
	if before.name == "" || before.link != link {
		return
	}
	if first.Before(before.last) { // newest first, as ls -t prints
		before, now = now, before
	}
	// After this gap, no reply in one file belongs to a request in the other.
	gap := now.first.Sub(before.last)
	if gap < 0 || gap > dissect.DefaultLimits.Window {
		return
	}
	if p.first != "" {
		p.more++
		return
	}
	p.advice = "use read --series"
	if seriesOf(before.name) != seriesOf(now.name) {
		p.advice = "join them with mergecap -a"
	}
	p.first = fmt.Sprintf("%s begins %s after %s ends", now.name, nettext.AppendDuration(nil, gap), before.name)
}

// String returns the remark, or "" if there is none.
func (p *pieces) String() string {
	if p.first == "" {
		return ""
	}
	more := nettext.Either(p.more > 0, fmt.Sprintf(", and %d more such %s", p.more, nettext.Plural(p.more, "file", "files")), "")
	return p.first + more + ": if they are parts of one capture, " + p.advice +
		"; otherwise exchanges that continue in the next file are unanswered or incomplete"
}
