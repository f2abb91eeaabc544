package main

import (
	"bytes"
	"cmp"
	"crypto/rand"
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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/pflag"

	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/tables"
	"github.com/qdissect/qdissect/internal/talks"
	"github.com/qdissect/qdissect/internal/unitfile"
	"github.com/qdissect/qdissect/report"
)

// The files of a unit. The summary is written last.
const (
	aggregateFile = "aggregate.bin"
	summaryFile   = "summary.json"
)

// A unit is a series of captures that one process dissects.
type unit struct {
	inputs []input
	folder string // relative to that of all units
}

// unitsOf groups inputs into series and returns them in the order of their folders. A folder names the sensor, the day and
// the hour of the first packet (UTC), and the first file, as Hive does, so that databases read all units as one table.
func unitsOf(list []input, by *regexp.Regexp, sensor string) ([]unit, error) {
	var us []unit
	folders := map[string]string{}
	for _, g := range group(list, true, by) {
		day, hour := "none", "none"
		if t := firstTime(g[0].path); !t.IsZero() {
			day, hour = t.UTC().Format("2006-01-02"), t.UTC().Format("15")
		}
		name := filepath.ToSlash(g[0].name)
		for ext := filepath.Ext(name); ext != "" && (isCapture(name) || ext == ".gz" || ext == ".zst"); ext = filepath.Ext(name) {
			name = strings.TrimSuffix(name, ext)
		}
		folder := filepath.Join("sensor="+sensor, "date="+day, "hour="+hour, "unit="+strings.ReplaceAll(name, "/", "~"))
		if other, ok := folders[folder]; ok {
			return nil, fmt.Errorf("%s and %s would have the same unit, %s", other, g[0].path, folder)
		}
		folders[folder] = g[0].path
		us = append(us, unit{g, folder})
	}
	slices.SortFunc(us, func(a, b unit) int { return strings.Compare(a.folder, b.folder) })
	return us, nil
}

// firstTime returns the time of the first packet of a file, the zero time if it has none or cannot be read.
func firstTime(path string) time.Time {
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return time.Time{}
	}
	r, err := capture.Open(path)
	if err != nil {
		return time.Time{}
	}
	defer r.Close()
	var f capture.Frame
	if r.Next(&f) != nil {
		return time.Time{}
	}
	return f.Time
}

// captures names the captures of a unit, for people and by paths or a pattern.
func (u *unit) captures() (name string, names []string) {
	first, last := u.inputs[0].path, u.inputs[len(u.inputs)-1].path
	switch n := len(u.inputs); {
	case n == 1:
		return first, []string{first}
	case n <= 3:
		for _, in := range u.inputs {
			names = append(names, in.path)
		}
	default:
		names = []string{digits.ReplaceAllString(first, "[0-9]*")}
	}
	return fmt.Sprintf("%s to %s (%s)", first, filepath.Base(last), count(len(u.inputs), "capture")), names
}

// readUnit reads the counts of a unit.
func readUnit(r io.Reader) (*unitfile.Unit, error) {
	u, err := unitfile.Read(r, all.Protocols())
	if err != nil {
		return nil, err
	}
	if u.Words = strings.Join(words(u.Names), " "); u.Series {
		u.Words = "--series " + u.Words
	}
	return u, nil
}

var digits = regexp.MustCompile("[0-9]+")

// count dissects a unit as a run says, and returns what it counts.
func (u *unit) count(run pipeline.Options) (*unitfile.Unit, *report.Summary, error) {
	c := &unitfile.Unit{Part: cmp.Or(run.Part, unitfile.All), Shards: stats.NewShards(), Talks: talks.New()}
	c.Captures, c.Names = u.captures()
	c.Series = len(u.inputs) > 1
	run.Inputs, run.Series, run.Output, run.Detailed = nil, true, nil, true
	for _, in := range u.inputs {
		run.Inputs = append(run.Inputs, in.path)
	}
	run.Stats, run.Shards, run.Talks = stats.New(), c.Shards, c.Talks
	sum, err := pipeline.Run(run)
	if err != nil {
		return nil, nil, err
	}
	c.Packets, c.OneSided, c.Guesses = sum.Packets, uint64(sum.OneSided), guesses(sum)
	return c, sum, nil
}

// folderName reports whether a name can be that of a folder.
func folderName(s string) bool {
	return s != "" && s[0] != '.' && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}

// parsePart parses I/N.
func parsePart(s string) (i, n int, err error) {
	a, b, ok := strings.Cut(s, "/")
	i, err1 := strconv.Atoi(a)
	n, err2 := strconv.Atoi(b)
	if !ok || err1 != nil || err2 != nil || i < 1 || i > n {
		return 0, 0, fmt.Errorf("--unit %q: must be I/N, such as 2/10 for the second of ten parts, list or -", s)
	}
	return i, n, nil
}

// parseShards parses A/16 or A-B/16 and returns a bit for each shard, 0 without shards.
func parseShards(s string) (uint16, error) {
	if s == "" {
		return 0, nil
	}
	list, ok := strings.CutSuffix(s, "/16")
	from, to, several := strings.Cut(list, "-")
	if !several {
		to = from
	}
	a, err1 := strconv.Atoi(from)
	b, err2 := strconv.Atoi(to)
	if !ok || err1 != nil || err2 != nil || a < 0 || a > b || b > 15 {
		return 0, fmt.Errorf("--shards %q: must be A/16 or A-B/16, of 0 to 15, such as 0-3/16", s)
	}
	return uint16(1<<(b+1) - 1<<a), nil
}

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

// runUnits dissects one part of all units, each into a folder of its own, or lists those that are not done, or dissects
// those of such a list.
func (o *outOptions) runUnits(p *plan, flags *pflag.FlagSet) error {
	var part, parts int
	var below string // the unit's folder
	var err error
	if o.unit != "list" && o.unit != "-" {
		if part, parts, err = parsePart(o.unit); err != nil {
			return err
		}
	}
	if p.run.Part, err = parseShards(o.shards); err != nil {
		return err
	} else if o.shards != "" {
		below = "shards=" + strings.TrimSuffix(o.shards, "/16")
	}
	by, err := o.grouping()
	if err != nil {
		return err
	}
	m, end, err := o.newMany(p, flags)
	if err != nil {
		return err
	}
	defer end()
	if o.unit == "-" {
		return m.ordered(p)
	}
	list, err := unitsOf(p.inputs, by, o.sensor)
	if err != nil {
		return err
	}
	for i, u := range list {
		if parts > 0 && i%parts != part-1 {
			continue
		}
		u.folder = filepath.Join(u.folder, below)
		s, err := m.describe(u)
		if err != nil {
			m.trouble(nil, err)
			continue
		}
		if parts == 0 {
			err = m.order(u, s)
		} else {
			err = m.unit(u, s, p.o.quiet)
		}
		if err != nil {
			return err
		}
		if m.stop.Err() != nil {
			return errors.New("interrupted; the next run skips the units that are done")
		}
	}
	if text := m.remarks.String(); text != "" {
		complain(p.env, errors.New(text))
	}
	if parts > 0 {
		fmt.Fprintf(p.env.err, "%s dissected, %d done before\n", count(m.new, "unit"), m.done)
	} else if err := json.NewEncoder(p.env.out).Encode(order{Done: &m.done}); err != nil {
		return err
	}
	if m.troubled {
		return status(exitTrouble)
	}
	return nil
}

// An order is a line of the list of units that are not done. The last line counts those that are.
type order struct {
	Unit   string         `json:"unit,omitempty"`
	Inputs []orderedInput `json:"inputs,omitempty"`
	Done   *int           `json:"done,omitempty"`
}

type orderedInput struct {
	Path string `json:"path"`
	Name string `json:"name"`
}

// order lists a unit unless it is done.
func (m *many) order(u unit, s *unitSummary) error {
	before, err := unitBefore(filepath.Join(m.o.dir, u.folder))
	if err != nil {
		return err
	}
	if before != nil && !m.o.force && before.same(s) {
		m.finished(before)
		return nil
	}
	line := order{Unit: u.folder}
	for _, in := range u.inputs {
		line.Inputs = append(line.Inputs, orderedInput{in.path, in.name})
	}
	return json.NewEncoder(m.env.out).Encode(line)
}

// An outcome is what became of a unit that was ordered.
type outcome struct {
	Unit     string   `json:"unit"`
	Version  string   `json:"version,omitempty"` // of the program, its flags and the captures
	SHA256   string   `json:"sha256,omitempty"`  // of what was written
	Packets  uint64   `json:"packets"`
	Messages uint64   `json:"messages"`
	Before   bool     `json:"before,omitempty"` // it was done already
	Trouble  []string `json:"trouble,omitempty"`
	Error    string   `json:"error,omitempty"` // it is not done
}

// ordered dissects the units that are listed on standard input, and says on standard output what became of each.
func (m *many) ordered(p *plan) error {
	in, out := json.NewDecoder(p.env.in), json.NewEncoder(p.env.out)
	for {
		var line order
		switch err := in.Decode(&line); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("--unit -: standard input is not a list of units: %w", err)
		case line.Done != nil:
			continue
		case !filepath.IsLocal(line.Unit) || len(line.Inputs) == 0:
			return fmt.Errorf("--unit -: %q is not a unit", line.Unit)
		}
		u := unit{folder: line.Unit}
		for _, in := range line.Inputs {
			u.inputs = append(u.inputs, input{in.Path, in.Name})
		}
		result := outcome{Unit: u.folder}
		before := m.done
		s, err := m.describe(u)
		if err == nil {
			err = m.unit(u, s, p.o.quiet)
		}
		switch {
		case m.stop.Err() != nil:
			return errors.New("interrupted")
		case err != nil:
			result.Error = err.Error()
		default:
			result.Version = digest(s.Program, s.Flags, s.Inputs)
			result.SHA256 = digest(s.Outputs)
			result.Packets, result.Messages, result.Before, result.Trouble = s.Packets, s.Messages, m.done > before, s.Trouble
		}
		if err := out.Encode(result); err != nil {
			return err
		}
	}
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
		st, err := os.Stat(in.path)
		if err != nil {
			return nil, err
		}
		s.Inputs = append(s.Inputs, sourceOf(in.name, st))
	}
	return s, nil
}

// unit dissects a unit unless it is done, and completes its summary. Its folder gets its name when all files in it are
// complete.
func (m *many) unit(u unit, s *unitSummary, quiet bool) error {
	folder := filepath.Join(m.o.dir, u.folder)
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
	tmp := filepath.Join(filepath.Dir(folder), fmt.Sprintf(".%s-%s", filepath.Base(folder), rand.Text()))
	defer os.RemoveAll(tmp)
	if err := os.Mkdir(tmp, 0o777); err != nil {
		return err
	}
	if err := m.fill(tmp, &u, s, quiet); err != nil || m.stop.Err() != nil {
		return err
	}
	if before != nil {
		if err := os.RemoveAll(folder); err != nil {
			return err
		}
	}
	if err := os.Rename(tmp, folder); err != nil {
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
	return nil
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
	m.remarks.add(u.inputs[0].path, len(u.inputs), sum)
	s.Packets = sum.Packets
	for _, n := range sum.Messages {
		s.Messages += n
	}
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
	f    *os.File
	h    hash.Hash
	size int64
}

func newUnitFile(folder, name string, private bool) (*unitFile, error) {
	mode := os.FileMode(0o666)
	if private {
		mode = 0o600
	}
	f, err := os.OpenFile(filepath.Join(folder, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	return &unitFile{f: f, h: sha256.New()}, err
}

// Write implements [io.Writer].
func (w *unitFile) Write(b []byte) (int, error) {
	n, err := w.f.Write(b)
	w.h.Write(b[:n])
	w.size += int64(n)
	return n, err
}

func (w *unitFile) done(s *unitSummary) error {
	s.Outputs = append(s.Outputs, written{filepath.Base(w.f.Name()), w.size, hex.EncodeToString(w.h.Sum(nil))})
	return w.f.Close()
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

// fromUnits returns the sum of all units in a folder, in the order of their folders, and says what trouble they had.
func fromUnits(dir string, trouble func(error)) (*unitfile.Sum, error) {
	var names []string
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && strings.HasPrefix(d.Name(), "."): // not complete
			return fs.SkipDir
		case d.Name() == aggregateFile:
			names = append(names, path)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no units; qdissect read --series --unit 1/1 --out DIR makes them", dir)
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(filepath.Dir(a), filepath.Dir(b)) })
	sum := unitfile.NewSum()
	var u *unitfile.Unit
	for i, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		part, err := readUnit(f)
		f.Close()
		switch {
		case err != nil:
		case u == nil:
			u = part
		default:
			err = u.Join(part)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if s, err := unitBefore(filepath.Dir(name)); err == nil && s != nil {
			for _, text := range s.Trouble {
				trouble(errors.New(text))
			}
		}
		if i+1 < len(names) && wholeUnit(names[i+1]) == wholeUnit(name) {
			continue
		}
		if u.Part != unitfile.All {
			return nil, fmt.Errorf("%s: only a part of the unit: the shards %s are missing", wholeUnit(name), missingShards(u.Part))
		}
		sum.Add(u)
		u = nil
	}
	return sum, nil
}

// wholeUnit returns the folder of the unit of a file.
func wholeUnit(name string) string {
	folder := filepath.Dir(name)
	if strings.HasPrefix(filepath.Base(folder), "shards=") {
		folder = filepath.Dir(folder)
	}
	return folder
}

// missingShards lists the shards that are not in a part.
func missingShards(part uint16) string {
	var list []string
	for i := range 16 {
		if part>>i&1 == 0 {
			list = append(list, strconv.Itoa(i))
		}
	}
	return strings.Join(list, ", ")
}

// fromSeries returns the sum of the units of captures, which this process dissects one after the other.
func fromSeries(inputs []input, by *regexp.Regexp, run pipeline.Options) (*unitfile.Sum, error) {
	list, err := unitsOf(inputs, by, "none")
	if err != nil {
		return nil, err
	}
	sum := unitfile.NewSum()
	for _, u := range list {
		c, _, err := u.count(run)
		if err != nil {
			return nil, err
		}
		// What is read of a file is what was counted, but for the places in tables.
		b, err := unitfile.Append(nil, c)
		if err != nil {
			return nil, err
		}
		if c, err = readUnit(bytes.NewReader(b)); err != nil {
			return nil, err
		}
		sum.Add(c)
	}
	return sum, nil
}
