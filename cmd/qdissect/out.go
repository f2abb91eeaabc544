package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/spf13/pflag"

	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/golden"
	"github.com/qdissect/qdissect/internal/lazyregexp"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/tables"
	"github.com/qdissect/qdissect/report"
)

// outOptions are the flags for many files.
type outOptions struct {
	dir    string
	series bool
	by     string // what names a series
	force  bool
	unit   string // the part of the units to dissect
	shards string // of them
	sensor string
}

func (o *outOptions) add(f *pflag.FlagSet) {
	f.StringVar(&o.dir, "out", "", "write one output per input into this `folder`, and skip inputs that are done")
	o.addSeries(f)
	f.StringVar(&o.unit, "unit", "", "with --series and --out: dissect part `I/N` of the series, each into a folder of its own, for report --from; list says what is not done, - dissects such a list from standard input")
	f.StringVar(&o.shards, "shards", "", "with --unit: dissect only conversations of the `SHARDS` A-B/16 (0 to 15), so that several processes share a long series")
	f.StringVar(&o.sensor, "sensor", "none", "with --unit: `NAME` of where the captures are from")
	f.BoolVar(&o.force, "force", false, "with --out: also dissect inputs that are done")
}

// addSeries adds the flags for series.
func (o *outOptions) addSeries(f *pflag.FlagSet) {
	f.BoolVar(&o.series, "series", false, "read files whose names differ only in numbers, and that follow each other, as one capture")
	f.StringVar(&o.by, "series-by", "", "with --series: files are of one series if `REGEX` matches the same text in their paths (of its groups, if it has some)")
}

// grouping returns the expression of --series-by, nil without.
func (o *outOptions) grouping() (*regexp.Regexp, error) {
	if o.by == "" {
		return nil, nil
	}
	by, err := regexp.Compile(o.by)
	if err != nil {
		return nil, fmt.Errorf("--series-by: %w", err)
	}
	return by, nil
}

// An input is a capture and the name of its output.
type input struct {
	path string
	name string // relative to the fixed part of the pattern
}

// expand turns patterns into inputs. An argument that names an existing file is not a
// pattern. Matches that cannot be used are skipped and reported through note.
func expand(args []string, note func(error)) (list []input, err error) {
	seen := map[string]bool{}
	add := func(in input) {
		if !seen[in.path] {
			seen[in.path] = true
			list = append(list, in)
		}
	}
	for _, arg := range args {
		if _, err := os.Stat(arg); err == nil || arg == "-" || !strings.ContainsAny(arg, "*?[{") {
			add(input{arg, filepath.Base(arg)})
			continue
		}
		base, pattern := doublestar.SplitPattern(filepath.ToSlash(arg))
		found, err := doublestar.Glob(&tree{base: base, note: note, noted: map[string]bool{}}, pattern, doublestar.WithFilesOnly(), doublestar.WithFailOnIOErrors())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arg, err)
		}
		slices.SortFunc(found, compareNatural)
		n := len(list)
		for _, name := range found {
			// A pattern for everything also matches files that are not captures.
			if path.Base(name)[0] == '.' || !isCapture(name) {
				continue
			}
			in := input{filepath.Join(base, filepath.FromSlash(name)), filepath.FromSlash(name)}
			switch st, err := os.Stat(in.path); {
			case err == nil && !st.Mode().IsRegular():
				note(skipped{fmt.Errorf("%s: %w", in.path, golden.ErrNoFile)})
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

// isCapture reports whether the name is that of a capture. A rotated file may have a
// number after its extension.
func isCapture(name string) bool {
	name = strings.ToLower(path.Base(name))
	for _, ext := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, ext)
	}
	ext := strings.TrimRight(path.Ext(name), "0123456789")
	return slices.Contains([]string{".pcap", ".pcapng", ".cap", ".dmp", ".ntar", ".snoop"}, ext)
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
func group(list []input, series bool, by *regexp.Regexp) (groups [][]input) {
	if !series {
		for _, in := range list {
			groups = append(groups, []input{in})
		}
		return groups
	}
	place := map[string]int{}
	for _, in := range list {
		key := nameOf(in.path, by)
		i, ok := place[key]
		if !ok {
			i = len(groups)
			place[key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], in)
	}
	var following [][]input
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b input) int { return compareNatural(a.path, b.path) })
		from, last := 0, time.Time{}
		for i, in := range g {
			if by != nil || len(g) == 1 {
				break
			}
			t := firstTime(in.path)
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

// A stamp is stored beside an output and records how it was made. An output is done if
// its stamp equals the one that a new run would write.
type stamp struct {
	Program string   `json:"program"`
	Flags   []string `json:"flags"`
	Inputs  []source `json:"inputs"` // of the series, up to this one
	Last    bool     `json:"last"`   // the last of the series; earlier ones leave exchanges open
	Trouble []string `json:"trouble,omitempty"`
	Output  source   `json:"output"`         // as it was written
	More    []source `json:"more,omitempty"` // other files of the output
}

type source struct {
	Name     string `json:"name"`
	Size     int64  `json:"size"`
	Modified string `json:"modified"`
}

func sourceOf(name string, st os.FileInfo) source {
	return source{name, st.Size(), strconv.FormatInt(st.ModTime().UnixNano(), 10)}
}

// same reports whether both stamps describe the same output.
func (s *stamp) same(o *stamp) bool {
	return s.Program == o.Program && s.Last == o.Last && slices.Equal(s.Flags, o.Flags) && slices.Equal(s.Inputs, o.Inputs)
}

// many is a run that writes one output per input.
type many struct {
	o         *outOptions
	env       environment
	run       pipeline.Options
	stop      context.Context
	ext       string
	more      []string // names of further files beside the output, which are tables
	program   string
	flags     []string
	format    *formatOptions
	private   bool // readable by the owner only, because secrets are shown
	troubled  bool
	done, new int
	pieces    pieces
	remarks   remarks
}

// remarks counts captures by remark, so that each remark is printed once.
type remarks struct {
	silent, doubled, sided int
	first                  string // of the silent captures
}

// add records the summary of n captures that were read as one.
func (r *remarks) add(name string, n int, sum *report.Summary) {
	if sum.Recognised() == 0 {
		if r.silent == 0 {
			r.first = name
		}
		r.silent += n
	}
	if sum.MostlyDuplicates {
		r.doubled += n
	}
	if sum.OneSided > 0 {
		r.sided += n
	}
}

// String returns the remarks, or "" if there are none.
func (r *remarks) String() string {
	var parts []string
	say := func(n int, format string, args ...any) {
		if n > 0 {
			parts = append(parts, count(n, "capture")+" "+fmt.Sprintf(format, args...))
		}
	}
	say(r.silent, "without messages, for example %s; qdissect says what it holds if it is read alone", r.first)
	say(r.doubled, "with mostly duplicate datagrams: the duplicates are left out")
	say(r.sided, "of one direction only: no request in %s counts as unanswered", plural(r.sided, "it", "them"))
	return strings.Join(parts, "; ")
}

// outNames are the flags that do not change the output.
var outNames = []string{"out", "force", "unit", "sensor", "jobs", "read", "line-buffered"}

// runMany executes a plan with one output per input.
func (o *outOptions) runMany(p *plan, flags *pflag.FlagSet) error {
	m, end, err := o.newMany(p, flags)
	if err != nil {
		return err
	}
	defer end()
	by, err := o.grouping()
	if err != nil {
		return err
	}
	env := p.env
	outputs := map[string]string{}
	for _, in := range p.inputs {
		if in.path == "-" {
			return errors.New("--out cannot read standard input, because an output is named after its input")
		}
		out := m.output(in)
		if other, ok := outputs[out]; ok {
			return fmt.Errorf("%s and %s would have the same output, %s: give a pattern for a folder above them, such as 'captures/**'", other, in.path, out)
		}
		outputs[out] = in.path
	}
	for _, g := range group(p.inputs, o.series, by) {
		if err := m.group(g); err != nil {
			return err
		}
	}
	for _, text := range []string{m.pieces.String(), m.remarks.String()} {
		if text != "" {
			complain(env, errors.New(text))
		}
	}
	fmt.Fprintf(env.err, "%s dissected, %d done before\n", count(m.new, "capture"), m.done)
	if m.troubled {
		return status(exitTrouble)
	}
	return nil
}

// newMany returns a run as a plan says, which an interrupt stops. The function ends waiting for interrupts.
func (o *outOptions) newMany(p *plan, flags *pflag.FlagSet) (m *many, end func(), err error) {
	format := &p.o.format
	m = &many{
		o: o, env: p.env, run: p.run, private: format.secrets, format: format, troubled: p.troubled, flags: []string{},
		ext: map[string]string{"text": ".txt", "json": ".json", "jsonl": ".jsonl", "fields": format.rows.extension()}[format.output],
	}
	if format.output == "parquet" {
		m.ext, m.more = "/"+tables.Names[0], tables.Names[1:]
	}
	if m.program, err = identity(); err != nil {
		return nil, nil, err
	}
	flags.Visit(func(f *pflag.Flag) {
		if !slices.Contains(outNames, f.Name) {
			m.flags = append(m.flags, "--"+f.Name+"="+f.Value.String())
		}
	})
	m.stop, end = interrupted(context.Background())
	m.run.Stop = m.stop.Done()
	return m, end, nil
}

// identity identifies this build of the program.
func identity() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	sum, err := programSum(path)
	return versionText() + " " + sum, err
}

// buildID matches what the go command writes near the start of a program, whatever its
// format. The last of the four hashes is that of the whole program.
var buildID = lazyregexp.New(`Go(\x00\x00| build ID: ")[\w-]{20}(/[\w-]{20}){3}`)

// programSum returns a checksum that differs between programs. It reads the start of the
// file if that has a build ID, because all of it takes longer than many captures.
func programSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 32<<10))
	if err != nil {
		return "", err
	}
	h := sha256.New()
	h.Write(head)
	if !buildID().Match(head) {
		if _, err := io.Copy(h, f); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

func (m *many) output(in input) string {
	return filepath.FromSlash(filepath.Join(m.o.dir, in.name) + m.ext)
}

// outputs returns all files of an output.
func (m *many) outputs(in input) []string {
	list := []string{m.output(in)}
	for _, name := range m.more {
		list = append(list, filepath.Join(filepath.Dir(list[0]), name))
	}
	return list
}

func stampOf(output string) string {
	return filepath.Join(filepath.Dir(output), "."+filepath.Base(output)+".done")
}

// A batch is a group of inputs that are dissected together.
type batch struct {
	*many
	inputs  []input
	stamps  []stamp
	done    []bool
	current int
	files   []*os.File      // the output of the current input, until it is complete
	lines   io.WriteCloser  // writes to files
	tables  *tables.Parquet // the same, if it writes tables
	refused bool            // the system refuses to read the current input
}

// group dissects a group unless all of it is done.
func (m *many) group(g []input) error {
	b := &batch{many: m, inputs: g, stamps: make([]stamp, len(g)), done: make([]bool, len(g))}
	if err := b.survey(); err != nil {
		m.trouble(nil, err)
		return nil
	}
	run := m.run
	run.Inputs, run.Output, run.Trouble = nil, b.next, b.damage
	for i, in := range g {
		run.Inputs = append(run.Inputs, in.path)
		if b.done[i] {
			m.done++
			for _, t := range b.stamps[i].Trouble {
				m.trouble(nil, errors.New(t))
			}
		}
	}
	if !slices.Contains(b.done, false) {
		return nil
	}
	if !m.o.series {
		run.Ended = m.pieces.ended
	}
	defer func() {
		_ = b.discard() // the output is incomplete
	}()
	sum, err := pipeline.Run(run)
	if err != nil {
		return err
	}
	if sum.Inputs > 0 {
		m.remarks.add(g[0].path, len(g), sum)
	}
	if m.stop.Err() != nil {
		return errors.New("interrupted; the next run skips the inputs that are done")
	}
	return b.finish()
}

// survey finds the inputs that are already done.
func (b *batch) survey() error {
	var sources []source
	for i, in := range b.inputs {
		st, err := os.Stat(in.path)
		if err != nil {
			return err
		}
		sources = append(sources, sourceOf(in.name, st))
		s := &b.stamps[i]
		*s = stamp{Program: b.program, Flags: b.flags, Inputs: slices.Clone(sources), Last: i == len(b.inputs)-1}
		var before stamp
		out := b.output(in)
		if text, err := os.ReadFile(stampOf(out)); err == nil && json.Unmarshal(text, &before) == nil && !b.o.force && before.same(s) {
			if !slices.ContainsFunc(b.outputs(in), func(name string) bool { _, err := os.Stat(name); return err != nil }) {
				b.done[i], s.Trouble = true, before.Trouble
			}
		}
		for n, name := range b.outputs(in) {
			left := before.Output
			if n > 0 {
				left = source{}
				if n <= len(before.More) {
					left = before.More[n-1]
				}
			}
			if err := ours(name, left); err != nil && !b.done[i] {
				return err
			}
		}
	}
	return nil
}

// next starts the i-th input and returns the writer for its output.
func (b *batch) next(i int) (io.Writer, error) {
	if err := b.finish(); err != nil {
		return nil, err
	}
	b.current, b.refused = i, false
	if b.done[i] { // later inputs of the series need it
		return io.Discard, nil
	}
	out := b.output(b.inputs[i])
	if err := os.MkdirAll(filepath.Dir(out), 0o777); err != nil {
		return nil, err
	}
	for _, name := range b.outputs(b.inputs[i]) {
		f, err := capture.CreateBeside(name, b.private)
		if err != nil {
			return nil, err
		}
		b.files = append(b.files, f)
	}
	if len(b.more) == 0 {
		b.lines = b.format.aligned(environment{getenv: b.env.getenv}, b.files[0])
	} else {
		b.tables = tables.NewParquet([...]io.Writer{b.files[0], b.files[1], b.files[2]})
		b.lines = b.tables
	}
	return b.lines, nil
}

// damage records an error of the current input.
func (b *batch) damage(err error) {
	b.refused = errors.As(err, new(syscall.Errno))
	if !b.done[b.current] {
		b.trouble(&b.stamps[b.current], err)
	}
}

// finish moves the output of the current input into place.
func (b *batch) finish() error {
	if len(b.files) == 0 {
		return nil
	}
	if b.refused && b.empty() { // the next run tries again
		return b.discard()
	}
	if err := b.lines.Close(); err != nil {
		return errors.Join(err, b.discard())
	}
	files := b.files
	b.files, b.tables = nil, nil
	b.new++
	return place(files, b.outputs(b.inputs[b.current]), &b.stamps[b.current])
}

// empty reports whether the output of the current input has nothing.
func (b *batch) empty() bool {
	st, err := b.files[0].Stat()
	return err == nil && st.Size() == 0 && (b.tables == nil || b.tables.Empty())
}

// discard removes an incomplete output.
func (b *batch) discard() (err error) {
	if len(b.files) == 0 {
		return nil
	}
	for _, f := range b.files {
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if len(b.more) > 0 {
		_ = os.Remove(filepath.Dir(b.output(b.inputs[b.current]))) // if it is empty
	}
	b.files, b.tables = nil, nil
	return err
}

// ours returns an error if the file at out is not the one that was written before.
func ours(out string, left source) error {
	st, err := os.Lstat(out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case sourceOf(filepath.Base(out), st) != left:
		return fmt.Errorf("%s: not overwritten, because --out did not write it or it has changed since; remove it or use another folder", out)
	}
	return nil
}

// trouble reports an error and records it in the stamp for later runs.
func (m *many) trouble(s *stamp, err error) {
	m.troubled = true
	complain(m.env, err)
	if s != nil {
		s.Trouble = append(s.Trouble, err.Error())
	}
}

// place renames the files of an output and its stamp, so that all are complete or absent.
// It writes the stamp first: on a full disk, no output may remain without a stamp.
func place(files []*os.File, outs []string, s *stamp) error {
	s.More = nil
	for i, f := range files {
		st, err := f.Stat()
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		defer os.Remove(f.Name())
		if left := sourceOf(filepath.Base(outs[i]), st); i == 0 {
			s.Output = left
		} else {
			s.More = append(s.More, left)
		}
	}
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	name := stampOf(outs[0])
	t, err := capture.CreateBeside(name, false)
	if err != nil {
		return err
	}
	defer os.Remove(t.Name())
	_, err = t.Write(append(b, '\n'))
	if err := errors.Join(err, t.Close()); err != nil {
		return err
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for i, f := range files {
		if err := os.Rename(f.Name(), outs[i]); err != nil {
			return err
		}
	}
	return os.Rename(t.Name(), name)
}
