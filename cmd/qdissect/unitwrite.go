package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/tables"
	"github.com/qdissect/qdissect/internal/unitfile"
	"github.com/qdissect/qdissect/internal/whole"
)

// A unitSummary is the summary of a unit: how it was made, and what came out.
type unitSummary struct {
	Type     string    `json:"type"`
	Unit     string    `json:"unit"`
	Program  string    `json:"program"`
	Flags    []string  `json:"flags"`
	Inputs   []source  `json:"inputs"`
	Outputs  []written `json:"outputs"`
	Packets  uint64    `json:"packets"`
	Messages uint64    `json:"messages"`
	Trouble  []string  `json:"trouble,omitempty"`
}

type written struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// digest identifies values.
func digest(values ...any) string {
	b, _ := json.Marshal(values) // strings and numbers
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// describe begins the summary of a unit: how it is to be made.
func (m *many) describe(u unit) (*unitSummary, error) {
	s := &unitSummary{Type: "unit", Unit: u.folder, Program: m.program, Flags: m.flags}
	for _, in := range u.inputs {
		st, err := os.Stat(in.Path)
		if err != nil {
			return nil, err
		}
		s.Inputs = append(s.Inputs, sourceOf(in.Name, st))
	}
	return s, nil
}

// unit dissects a unit unless it is done, and completes its summary. Its folder gets its name when all files in it are
// complete.
func (m *many) unit(u unit, s *unitSummary, quiet bool) error {
	folder := filepath.Join(m.o.dir, u.folder)
	whole.Sweep(filepath.Dir(folder))
	before, err := unitBefore(folder)
	switch {
	case err != nil:
		return err
	case before == nil:
	case !m.o.force && before.same(s):
		*s = *before
		m.finished(s)
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o777); err != nil {
		return err
	}
	// Processes of several machines may do the same unit at the same time.
	f, err := whole.Mkdir(folder)
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := m.fill(f.Name(), &u, s, quiet); err != nil || m.stop.Err() != nil {
		return err
	}
	if before != nil {
		if err := os.RemoveAll(folder); err != nil {
			return err
		}
	}
	if err := f.Place(); err != nil {
		// Another process has done the same unit in the meantime.
		other, _ := unitBefore(folder)
		switch {
		case other == nil || !other.same(s):
			return err
		case !slices.Equal(other.Outputs, s.Outputs):
			return fmt.Errorf("%s: not overwritten, because another process wrote other bytes from the same captures with the same program", folder)
		}
		m.done++
		return nil
	}
	m.new++
	return whole.Finish(folder, summaryFile)
}

// finished counts a unit that is done already, and says again what trouble it had.
func (m *many) finished(s *unitSummary) {
	m.done++
	for _, t := range s.Trouble {
		m.trouble(nil, errors.New(t))
	}
}

// unitBefore returns the summary of the unit in a folder, nil if there is no such folder. A folder with anything else is an
// error: it would be lost.
func unitBefore(folder string) (*unitSummary, error) {
	if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err := whole.Finish(folder, summaryFile); err != nil { // whoever wrote it may have been killed
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	var s unitSummary
	if b, err := os.ReadFile(filepath.Join(folder, summaryFile)); err != nil || json.Unmarshal(b, &s) != nil || s.Type != "unit" {
		return nil, fmt.Errorf("%s: not overwritten, because --unit did not write it; remove it or use another folder", folder)
	}
	return &s, nil
}

// same reports whether both summaries are of the same captures, dissected in the same way.
func (s *unitSummary) same(o *unitSummary) bool {
	return s.Program == o.Program && slices.Equal(s.Flags, o.Flags) && slices.Equal(s.Inputs, o.Inputs)
}

// fill writes the files of a unit into a folder.
func (m *many) fill(folder string, u *unit, s *unitSummary, quiet bool) error {
	run := m.run
	run.Trouble = func(err error) {
		m.trouble(nil, err)
		s.Trouble = append(s.Trouble, err.Error())
	}
	run.Out = io.Discard
	var names []string
	switch {
	case quiet:
	case m.format.output == "parquet":
		names = tables.Names[:]
	default:
		names = []string{"messages" + m.ext + ".zst"}
	}
	var files []*unitFile
	for _, name := range names {
		f, err := newUnitFile(folder, name, m.private)
		if err != nil {
			return err
		}
		defer f.f.Close()
		files = append(files, f)
	}
	var out io.WriteCloser
	switch len(files) {
	case 0:
	case 1:
		packed, err := zstd.NewWriter(files[0], zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			return err
		}
		out, run.Out = packed, packed
	default:
		t := tables.NewParquet([...]io.Writer{files[0], files[1], files[2]})
		out, run.Out = t, t
	}
	c, sum, err := u.count(run)
	if err != nil {
		return err
	}
	if m.stop.Err() != nil {
		return nil
	}
	m.remarks.add(u.inputs[0].Path, len(u.inputs), sum)
	s.Packets, s.Messages = sum.Packets, sum.Recognised()
	if out != nil {
		if err := out.Close(); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := f.done(s); err != nil {
			return err
		}
	}
	return m.writeCounts(folder, c, s)
}

// writeCounts writes what is counted for a unit, and last its summary.
func (m *many) writeCounts(folder string, c *unitfile.Unit, s *unitSummary) error {
	b, err := unitfile.Append(nil, c)
	if err != nil {
		return err
	}
	if err := writeUnitFile(folder, aggregateFile, b, m.private, s); err != nil {
		return err
	}
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	return writeUnitFile(folder, summaryFile, append(text, '\n'), m.private, &unitSummary{}) // it does not list itself
}

// A unitFile is a file of a unit with its sum.
type unitFile struct {
	io.Writer
	f *os.File
	h hash.Hash
}

func newUnitFile(folder, name string, private bool) (*unitFile, error) {
	mode := nettext.Either(private, 0o600, os.FileMode(0o666))
	f, err := os.OpenFile(filepath.Join(folder, name+whole.Suffix), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	h := sha256.New()
	return &unitFile{io.MultiWriter(f, h), f, h}, err
}

func (w *unitFile) done(s *unitSummary) error {
	st, err := w.f.Stat()
	if err == nil {
		s.Outputs = append(s.Outputs, written{strings.TrimSuffix(filepath.Base(w.f.Name()), whole.Suffix), st.Size(), hex.EncodeToString(w.h.Sum(nil))})
	}
	return errors.Join(err, w.f.Sync(), w.f.Close())
}

func writeUnitFile(folder, name string, b []byte, private bool, s *unitSummary) error {
	w, err := newUnitFile(folder, name, private)
	if err != nil {
		return err
	}
	if _, err := w.Write(b); err != nil {
		return errors.Join(err, w.f.Close())
	}
	return w.done(s)
}

// A countFolder keeps the counts of the last hour in a folder: a unit for each five minutes, as report --from reads them.
type countFolder struct {
	dir, name string // the folder of the units, and what is captured
	trouble   func(error)
	slot      time.Time
	before    []byte // what another process had counted in the slot
	failed    bool
}

// slots makes a run keep its counts in the folder of --counts.
func (o *readOptions) slots(p *plan) {
	if o.live.counts == "" {
		return
	}
	name := nettext.Either(!p.live, "a pipe", strings.Join(o.live.interfaces, ", "))
	c := &countFolder{dir: o.live.counts, name: name, trouble: func(err error) { p.run.Trouble(err) }}
	p.run.Counts.Slots = &pipeline.Slots{Width: unitfile.SlotTime, Every: unitfile.SlotEvery, Counts: c.take}
}

// take writes the counts of a slot so far.
func (c *countFolder) take(start time.Time, packets uint64, s *stats.Shards) {
	err := c.write(start, packets, s)
	if err != nil && !c.failed {
		c.trouble(fmt.Errorf("--counts: %w", err))
	}
	c.failed = err != nil
}

func (c *countFolder) write(start time.Time, packets uint64, s *stats.Shards) error {
	folder := filepath.Join(c.dir, unitfile.SlotFolder(start))
	name := filepath.Join(folder, aggregateFile)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	if c.slot != start {
		before, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		c.slot, c.before = start, before
	}
	u := &unitfile.Unit{
		Captures: fmt.Sprintf("%s, %s to %s UTC", c.name, start.Format("15:04"), start.Add(unitfile.SlotTime).Format("15:04")),
		Names:    []string{c.name}, Part: unitfile.All, Packets: packets, Shards: s,
	}
	if c.before != nil { // the capture was interrupted
		old, err := unitfile.ReadSmall(c.before, all.Protocols(), unitfile.SlotBounds(start))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		u.Packets += old.Packets
		old.Shards.Fold(s)
		u.Shards = old.Shards
	}
	b, err := unitfile.AppendSmall(nil, u, unitfile.SlotBytes)
	if err != nil {
		return err
	}
	if err := whole.Write(name, b, false); err != nil {
		return err
	}
	return c.prune()
}

// prune removes what was written first, if there is more than an hour.
func (c *countFolder) prune() error {
	names, err := fs.Glob(os.DirFS(c.dir), "slot=*/"+aggregateFile)
	if err != nil || len(names) <= unitfile.Slots {
		return err
	}
	age := map[string]time.Time{}
	for _, name := range names {
		if st, err := os.Stat(filepath.Join(c.dir, name)); err == nil {
			age[name] = st.ModTime()
		}
	}
	slices.SortFunc(names, func(a, b string) int { return age[a].Compare(age[b]) })
	for _, name := range names[:len(names)-unitfile.Slots] {
		err = errors.Join(err, os.RemoveAll(filepath.Join(c.dir, filepath.Dir(name))))
	}
	return err
}
