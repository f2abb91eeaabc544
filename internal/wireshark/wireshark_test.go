package wireshark

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/report"
)

// joined writes the frames of several captures into one file, with and without comments.
type joined struct {
	t            *testing.T
	before, with *capture.Writer
	frames       int // of all captures so far
	first        int // before this capture
	paths        map[string]bool
	values       map[place]int // that trees have
	want         map[place][]string
	rows         map[string]report.Reporter
	messages     int
	comments     int
}

func create(t *testing.T, name string) *capture.Writer {
	t.Helper()
	w := must.Get(capture.Create(name))(t)
	return w
}

func (j *joined) Save(f *capture.Frame) error {
	j.frames++
	for _, c := range f.Comments {
		tree, ok := strings.CutPrefix(c, nettext.TreeMark)
		if !ok {
			continue
		}
		if len(c) > 64000 {
			j.t.Errorf("frame %d: a comment of %d bytes", j.frames, len(c))
		}
		j.comments++
		before := ""
		for line := range strings.Lines(tree) {
			field := strings.SplitN(strings.TrimSuffix(line, "\n"), "|", 5)
			if len(field) != 5 {
				j.t.Errorf("frame %d: line %q", j.frames, line)
				continue
			}
			path, _, _ := strings.Cut(field[1], ":")
			switch {
			case field[0] != "+":
				before = path
			case path == "":
				continue
			default:
				path = before + path
			}
			j.paths[path] = true
			j.values[place{j.frames, path}]++
		}
	}
	if err := j.with.Write(f); err != nil {
		return err
	}
	f.Comments = nil
	return j.before.Write(f)
}

// A place is where a value is shown.
type place struct {
	frame int
	path  string
}

func (*joined) Flush() error                   { return nil }
func (*joined) Begin(report.Capture) error     { return nil }
func (*joined) Unknown(*dissect.Unknown) error { return nil }
func (*joined) Bytes() []byte                  { return nil }
func (*joined) Reset()                         {}
func (*joined) End(*report.Summary) error      { return nil }

func (*joined) Finding(*dissect.FlowFinding) error { return nil }

// Record notes the values of a message as -o fields writes them. [display] is tested
// against the JSON.
func (j *joined) Record(r *dissect.Record) error {
	j.messages++
	frame := j.first + int(r.Frame)
	if r.RequestFrame > 0 {
		key := place{frame, "request_frame"}
		j.want[key] = append(j.want[key], strconv.Itoa(j.first+int(r.RequestFrame)))
	}
	seen := map[string]bool{}
	for i := range r.Nodes {
		f := r.Nodes[i].Field
		if f.Framing || f.Kind.Container() || f.Column != nil && f.Column.Path != f.Path || seen[f.Path] {
			continue
		}
		seen[f.Path] = true
		rows := j.rows[f.Path]
		if rows == nil {
			c, err := display.CompileColumn(f.Path)
			if err != nil {
				j.t.Errorf("%s: %v", f.Path, err)
				continue
			}
			rows = display.NewRows([]*display.Column{c}, display.RowOptions{})
			j.rows[f.Path] = rows
		}
		rows.Record(r)
		path := r.Protocol.JSONKey() + strings.TrimPrefix(f.Path, r.Protocol.Name)
		if v := strings.TrimSuffix(string(rows.Bytes()), "\n"); v != "" {
			j.want[place{frame, path}] = append(j.want[place{frame, path}], v)
		}
		rows.Reset()
	}
	return nil
}

// join dissects our captures into two files: one with trees and one without.
func join(t *testing.T, captures []string) (j *joined, with, without string) {
	t.Helper()
	dir := t.TempDir()
	with, without = filepath.Join(dir, "with.pcapng"), filepath.Join(dir, "without.pcapng")
	j = &joined{
		t: t, before: create(t, without), with: create(t, with), paths: map[string]bool{}, values: map[place]int{}, want: map[place][]string{},
		rows: map[string]report.Reporter{},
	}
	for _, name := range captures {
		j.first = j.frames
		_, err := pipeline.Run(pipeline.Options{
			Inputs: []string{name}, Reporter: func() report.Reporter { return j }, Save: &pipeline.Saving{Saver: j, Annotate: true, Tree: report.NewTreeNote(false)}, Trouble: func(error) {},
			Analysis: dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign(), Tree: true},
		})
		must.Do(t, err)
	}
	for _, w := range []*capture.Writer{j.before, j.with} {
		must.Do(t, w.Close())
	}
	return j, with, without
}

func allCaptures(t *testing.T) []string {
	t.Helper()
	captures, err := filepath.Glob(filepath.FromSlash("../../testdata/pcaps/*/*.pcap*"))
	if err != nil || len(captures) < 50 {
		t.Fatalf("%d captures (%v)", len(captures), err)
	}
	return must.TryCaptures(captures)
}

// tshark runs tshark with the script. Everything that it says on standard error, but who
// runs it, is a failure of the test.
func tshark(t *testing.T, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	var out, errs bytes.Buffer
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "WIRESHARK_RUN_FROM_BUILD_DIRECTORY=")
	err = cmd.Run()
	said := regexp.MustCompile(`(?m)^Running as user .*\n`).ReplaceAllString(errs.String(), "")
	if err != nil || said != "" {
		t.Fatalf("tshark: %v\n%s", err, said[:min(len(said), 4000)])
	}
	return out.String()
}

func writeScript(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "qdissect.lua")
	must.Do(t, os.WriteFile(name, []byte(Script(all.Protocols(), "test")), 0o600))
	return name
}

// TestFields checks with tshark that every field of our captures can be filtered and has
// the value that our other outputs give it, and that all frames are linked.
func TestFields(t *testing.T) {
	j, with, without := join(t, allCaptures(t))
	known := map[string]byte{}
	for _, f := range fields(all.Protocols()) {
		known[f.path] = f.kind
	}
	args := []string{"-X", "lua_script:" + writeScript(t), "-X", "lua_script:" + writeScript(t), "-r", with, // as if it were installed too
		"-T", "fields", "-E", "aggregator=\x01", "-e", "frame.number", "-e", "_ws.lua.error"}
	paths := slices.Sorted(maps.Keys(j.paths))
	for _, path := range paths {
		if known[path] == 0 {
			t.Fatalf("the script does not have %s", path)
		}
		args = append(args, "-e", "qd."+path)
	}
	if _, others := known["a2s.info.num_players"]; !others || len(paths) < must.Try(500, 1200) {
		t.Errorf("%d fields", len(paths))
	}
	compared, counted := 0, 0
	filters := documented(t)
	rows, table, _ := strings.Cut(tshark(t, append(args, "-z", "io,stat,0,"+strings.Join(filters, ","))...), "\n==")
	for line := range strings.Lines(rows) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		frame, err := strconv.Atoi(cells[0])
		if err != nil || len(cells) != len(paths)+2 {
			t.Fatalf("%d cells in %.200q", len(cells), line)
		}
		if cells[1] != "" {
			t.Errorf("frame %d: %s in the script", frame, cells[1])
		}
		cut := j.values[place{frame, "cut"}] > 0
		for i, path := range paths {
			key := place{frame, path}
			var got []string
			if cells[i+2] != "" || j.values[key] == 1 && known[path] == 's' {
				got = strings.Split(cells[i+2], "\x01")
			}
			if n := j.values[key]; n != len(got) && known[path] != 'n' && known[path] != 'x' {
				t.Errorf("frame %d: %s has %d values in the comment, tshark shows %d: %.200q", frame, path, n, len(got), got)
			}
			counted += len(got)
			if want := j.want[key]; want != nil && known[path] != 'x' && !cut {
				compared++
				if missing := lacks(known[path], got, want); missing != "" {
					t.Errorf("frame %d: %s is %.300q, without %.300q", frame, path, got, missing)
				}
			}
			delete(j.values, key)
		}
	}
	for key := range j.values {
		t.Errorf("tshark shows nothing of %d fields, such as %s of frame %d", len(j.values), key.path, key.frame)
		break
	}
	if j.messages < 300 || j.comments < j.messages/2 || compared < 3*j.messages {
		t.Errorf("%d messages, %d comments, %d fields, %d values compared of %d", j.messages, j.comments, len(paths), compared, counted)
	}
	t.Logf("%d messages, %d frames with a tree, %d fields, %d values compared of %d", j.messages, j.comments, len(paths), compared, counted)

	t.Run("documented", func(t *testing.T) { matched(t, filters, table) })
	t.Run("untouched", func(t *testing.T) {
		plain := tshark(t, "-r", without, "-V", "-c", strconv.Itoa(must.Try(300, 1500)))
		shown := tshark(t, "-X", "lua_script:"+writeScript(t), "-r", without, "-V", "-c", strconv.Itoa(must.Try(300, 1500)))
		if plain != shown || len(plain) < 1e5 {
			t.Errorf("%d bytes without the script, %d with it", len(plain), len(shown))
		}
	})
}

// documented returns the filters of docs/wireshark.md.
func documented(t *testing.T) (filters []string) {
	t.Helper()
	page := must.Get(os.ReadFile(filepath.FromSlash("../../docs/wireshark.md")))(t)
	_, table, _ := strings.Cut(string(page), "| filter | shows |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for row := range strings.Lines(strings.ReplaceAll(table, `\|`, "\x01")) {
		cell := strings.Split(row, "|")[1]
		for i, f := range strings.Split(cell, "`") {
			if i%2 == 1 {
				filters = append(filters, strings.ReplaceAll(f, "\x01", "|"))
			}
		}
	}
	if len(filters) < 15 {
		t.Fatalf("%d filters", len(filters))
	}
	return filters
}

// matched checks that every filter is valid, and matches something, by the table of tshark's io,stat.
func matched(t *testing.T, filters []string, out string) {
	row := regexp.MustCompile(`(?m)^\| .*<> .*$`).FindString(out)
	cells := strings.Split(strings.Trim(row, "| "), "|")[1:]
	if len(cells) != 2*len(filters) {
		t.Fatalf("%d filters, %d cells\n%s", len(filters), len(cells), out)
	}
	for i, f := range filters {
		if strings.TrimSpace(cells[2*i]) == "0" && must.TryAll() {
			t.Errorf("%s matches nothing", f)
		}
	}
}

// lacks returns a value that is wanted and that tshark does not show, or "". tshark may show
// more: JSON leaves out fields of split headers and what is deeper in lists, and secrets
// have paths of their own.
func lacks(kind byte, got, want []string) string {
	have := map[string]int{}
	for v := range strings.SplitSeq(strings.Join(got, ","), ",") { // a comma separates the values of -o fields
		have[canonical(kind, v)]++
	}
	for v := range strings.SplitSeq(strings.Join(want, ","), ",") {
		if have[canonical(kind, v)]--; have[canonical(kind, v)] < 0 && len(v) < 4000 && v != "***" {
			return v
		}
	}
	return ""
}

// canonical returns a value in one form.
func canonical(kind byte, v string) string {
	switch kind {
	case 'b':
		return strings.ToLower(strings.NewReplacer("1", "true", "0", "false").Replace(v))
	case 'd':
		if f, err := strconv.ParseFloat(v, 64); err == nil {
			return strconv.FormatFloat(f, 'g', 12, 64)
		}
	}
	return v
}
