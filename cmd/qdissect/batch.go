package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/tables"
	"github.com/qdissect/qdissect/internal/unitfile"
	"github.com/qdissect/qdissect/internal/whole"
)

// A batch is a group of inputs that are dissected together.
type batch struct {
	*many
	inputs  []unitfile.Input
	stamps  []stamp
	done    []bool
	current int
	files   []*whole.File   // the output of the current input, until it is complete
	lines   io.WriteCloser  // writes to files
	tables  *tables.Parquet // the same, if it writes tables
	refused bool            // the system refuses to read the current input
}

// group dissects a group unless all of it is done.
func (m *many) group(g []unitfile.Input) error {
	b := &batch{many: m, inputs: g, stamps: make([]stamp, len(g)), done: make([]bool, len(g))}
	if err := b.survey(); err != nil {
		m.trouble(nil, err)
		return nil
	}
	run := m.run
	run.Inputs, run.Output, run.Trouble = pathsOf(g), b.next, b.damage
	for i := range g {
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
		run.Events = &pipeline.Events{Ended: m.pieces.ended}
	}
	defer func() {
		_ = b.discard() // the output is incomplete
	}()
	sum, err := pipeline.Run(run)
	if err != nil {
		return err
	}
	if sum.Inputs > 0 {
		m.remarks.add(g[0].Path, len(g), sum)
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
		st, err := os.Stat(in.Path)
		if err != nil {
			return err
		}
		sources = append(sources, sourceOf(in.Name, st))
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
		f, err := whole.Create(name, b.private)
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
		err = errors.Join(err, f.Remove())
	}
	if len(b.more) > 0 {
		_ = os.Remove(filepath.Dir(b.output(b.inputs[b.current]))) // if it is empty
	}
	b.files, b.tables = nil, nil
	return err
}

// place gives the files of an output their names, after its stamp: an output that is not as its
// stamp says is not done.
func place(files []*whole.File, outs []string, s *stamp) error {
	s.More = nil
	for i, f := range files {
		defer f.Discard()
		st, err := f.Stat()
		if err != nil {
			return err
		}
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
	for _, out := range outs { // they are of the stamp before
		if err := os.Remove(out); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := whole.Write(stampOf(outs[0]), append(b, '\n'), false); err != nil {
		return err
	}
	for _, f := range files {
		if err := f.Place(); err != nil {
			return err
		}
	}
	return nil
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

// identity identifies this build of the program: its version, and the beginning of its file, in
// which the linker leaves an ID of all that it linked. Reading everything takes longer than many a run.
var identity = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	return versionText() + " " + whole.Sum(path, 32<<10), err
})

func stampOf(output string) string {
	return filepath.Join(filepath.Dir(output), "."+filepath.Base(output)+".done")
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
