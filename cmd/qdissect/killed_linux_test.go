package main

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/thorough"
)

// writing are the commands that write files. IN is a capture, IN2 one that follows it, OUT the
// file or folder.
var writing = []struct {
	args string
	more string // says more than what it writes itself: the folder has it before
}{
	{args: "read -r IN -w OUT.pcapng"},
	{args: "read -r IN -w OUT.pcap.zst"},
	{args: "read -r IN -w OUT.pcapng --annotate=tree -Y a2s"},
	{args: "read -r IN -w OUT.pcapng -b packets:300"},
	{args: "read --out OUT -o jsonl IN IN2"},
	{args: "read --out OUT -o parquet IN IN2"},
	{args: "read --series --unit 1/1 --out OUT -o jsonl IN IN2"},
	{args: "read --series --unit 1/1 --out OUT -o parquet IN IN2"},
	{args: "report IN -o OUT.html"},
	{args: "report IN -o OUT.json"},
	{args: "report --series IN IN2 -o OUT.html"},
	{args: "anonymize --key 00112233445566778899aabbccddeeff IN OUT.pcapng"},
	{args: "cut -Y a2s IN OUT.pcapng"},
	{args: "check --update OUT.pcapng", more: "OUT.pcapng"},
}

// TestKilled kills every command that writes at several points: each file with a name that is
// not hidden is one that the command writes when it is left alone, byte by byte. The next run
// gives all of them, and leaves nothing else.
func TestKilled(t *testing.T) {
	in := filepath.Join(t.TempDir(), "many_00001_20260102030405.pcapng")
	copies(t, in, thorough.Of(40, 100), 0)
	next := strings.Replace(in, "00001_20260102030405", "00002_20260102130405", 1)
	copies(t, next, 20, 10*time.Hour)
	points := thorough.Of(3, 20)
	for _, c := range writing {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			start := func(dir string) *exec.Cmd {
				if c.more != "" {
					b, err := os.ReadFile(in)
					if err == nil {
						err = os.WriteFile(strings.ReplaceAll(c.more, "OUT", filepath.Join(dir, "out")), b, 0o666)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				var args []string
				for _, a := range strings.Fields(c.args) {
					switch a {
					case "IN":
						a = in
					case "IN2":
						a = next
					}
					args = append(args, strings.ReplaceAll(a, "OUT", filepath.Join(dir, "out")))
				}
				return exec.Command("qdissect", args...)
			}
			end := func(cmd *exec.Cmd) {
				if text, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != exitJudged {
					t.Fatalf("%v: %v\n%s", cmd, err, text)
				}
			}
			alone := t.TempDir()
			began := time.Now()
			end(start(alone))
			took := time.Since(began)
			want := filesIn(t, alone)
			if len(want) == 0 {
				t.Fatal("no files")
			}
			for i := range points {
				dir := t.TempDir()
				cmd := start(dir)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(took * time.Duration(i+1) / time.Duration(points+1))
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
				for name, b := range filesIn(t, dir) {
					if !hidden(name) && b != want[name] {
						t.Errorf("killed after %d of %d: %s has %d bytes, of %d", i+1, points+1, name, len(b), len(want[name]))
					}
				}
				end(start(dir))
				got := filesIn(t, dir)
				if names, all := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)); !slices.Equal(names, all) {
					t.Errorf("after another run: %q, want %q", names, all)
				}
				for name, b := range got {
					if !strings.HasSuffix(name, ".done") && b != want[name] { // stamps have times
						t.Errorf("after another run: %s differs", name)
					}
				}
			}
		})
	}
}

// TestKilledQuery asks DuckDB for what docs/scale.md does, during a run and after it was killed, each time a bit later: the rows
// are those of the units that are finished, each once.
func TestKilledQuery(t *testing.T) {
	needDuckDB(t)
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	if err := os.Mkdir(in, 0o777); err != nil {
		t.Fatal(err)
	}
	const units = 4
	for i := range units {
		copies(t, filepath.Join(in, fmt.Sprintf("%c_00001_202601020%d0405.pcapng", 'a'+i, i)), thorough.Of(30, 100), time.Duration(i)*time.Hour)
	}
	run := func(out string) *exec.Cmd {
		return exec.Command("qdissect", "read", "--series", "--unit", "1/1", "--out", out, "-o", "parquet", in+"/*")
	}
	rows := func(out string) (n, finished int) {
		list, err := filepath.Glob(filepath.Join(out, "*", "*", "*", "unit=*", summaryFile))
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 { // and DuckDB says that there are no files
			return 0, 0
		}
		got := duckDB(t, "select 1", "select count(*), count(distinct unit) from read_parquet('"+out+"/**/messages.parquet', hive_partitioning = true)")[0][0]
		return atoi(t, got[0]), atoi(t, got[1])
	}
	whole := filepath.Join(dir, "whole")
	began := time.Now()
	if text, err := run(whole).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	took := time.Since(began)
	all, finished := rows(whole)
	if finished != units || all == 0 {
		t.Fatalf("%d rows of %d units", all, finished)
	}
	points := thorough.Of(4, 20)
	for i := range points {
		out := filepath.Join(dir, fmt.Sprint("out", i))
		cmd := run(out)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(took * time.Duration(i+1) / time.Duration(points+1))
		if i%2 == 0 { // during the run
			if n, u := rows(out); n*units != u*all {
				t.Errorf("during the run: %d rows of %d units, all have %d of %d", n, u, all, units)
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if n, u := rows(out); n*units != u*all {
			t.Errorf("killed after %d of %d: %d rows of %d units, all have %d of %d", i+1, points+1, n, u, all, units)
		}
		if text, err := run(out).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if n, u := rows(out); n != all || u != units {
			t.Errorf("started again: %d rows of %d units", n, u)
		}
		left := filesIn(t, out)
		for name := range left {
			if strings.Contains(name, ".new-") || strings.HasSuffix(name, ".part") {
				t.Errorf("started again: %s is left", name)
			}
		}
	}
}

// atoi returns a number of DuckDB, which may be a text.
func atoi(t *testing.T, v any) int {
	t.Helper()
	n, err := strconv.Atoi(fmt.Sprint(v))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// hidden reports whether no pattern of the documentation matches a path.
func hidden(name string) bool {
	base := filepath.Base(name)
	return strings.HasSuffix(base, ".part") || strings.HasPrefix(base, ".") && strings.HasSuffix(base, ".done")
}

// filesIn returns the contents of the files below a folder.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir+"/")] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// copies writes a capture n times, one after the other.
func copies(t *testing.T, name string, n int, later time.Duration) {
	t.Helper()
	out, err := capture.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		in, err := capture.Open("../../testdata/pcaps/a2s/a2s-goldsrc-split.pcap")
		if err != nil {
			t.Fatal(err)
		}
		var f capture.Frame
		for {
			if err := in.Next(&f); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			f.Time = f.Time.Add(later + time.Duration(i)*time.Minute)
			if err := out.Write(&f); err != nil {
				t.Fatal(fmt.Errorf("%s: %w", name, err))
			}
		}
		in.Close()
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
