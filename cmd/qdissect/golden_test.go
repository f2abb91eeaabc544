package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/diff"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/qdissect/qdissect/internal/golden"
	"github.com/qdissect/qdissect/internal/must"
)

var update = flag.Bool("update", false, "write the goldens instead of comparing; read them before you commit")

// captures returns the captures of testdata/pcaps as paths relative to this package.
func captures(t *testing.T) (paths []string) {
	t.Helper()
	root := filepath.Join("..", "..", "testdata", "pcaps")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err == nil && (ext == ".pcap" || ext == ".pcapng") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d captures, %v", len(paths), err)
	}
	return paths
}

// runIn runs the program in a folder and returns its output.
func runIn(t *testing.T, dir string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	t.Chdir(dir)
	return runHere(args...)
}

// runHere runs the program in this process and returns its output.
func runHere(args ...string) (stdout, stderr string, status int) {
	var out, err bytes.Buffer
	status = run(args, environment{in: strings.NewReader(""), out: &out, err: &err, getenv: func(string) string { return "" }})
	return out.String(), err.String(), status
}

// compare compares output with a file, or writes the file.
func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		must.Do(t, os.WriteFile(path, []byte(got), 0o666))
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test ./cmd/qdissect -update writes it", err)
	}
	if d := diff.Diff("want", want, "got", []byte(got)); d != nil {
		t.Errorf("%s:\n%s", path, d)
	}
}

// sum matches the SHA-256 and the damage in a golden.
var sum = regexp.MustCompile(`(,"damaged":".*")?,"sha256":"[0-9a-f]{64}"`)

// TestGolden compares every capture with its goldens: text, the tree of fields, and
// JSON. Package report checks the goldens against the schema.
func TestGolden(t *testing.T) {
	all := captures(t)
	formats := must.TryCaptures(all)
	for _, path := range all {
		abs := must.Get(filepath.Abs(path))(t)
		dir, file := filepath.Split(abs)
		base := strings.TrimSuffix(abs, filepath.Ext(abs))
		t.Run(filepath.ToSlash(path), func(t *testing.T) {
			text, stderr, textStatus := runIn(t, dir, "--all", file)
			compare(t, base+".golden.txt", text+stderr)
			lines, _, status := runIn(t, dir, "--all", "-o", "jsonl", file)
			if *update {
				_, _, err := golden.Update(abs, true)
				must.Do(t, err)
			}
			want, err := os.ReadFile(golden.Path(abs))
			if err != nil {
				t.Fatalf("%v; go test ./cmd/qdissect -update writes it", err)
			}
			// These belong to the golden only.
			last := bytes.LastIndexByte(bytes.TrimRight(want, "\n"), '\n') + 1
			plain := string(want[:last]) + sum.ReplaceAllString(string(want[last:]), "")
			if d := diff.Diff("want", []byte(plain), "got", []byte(lines)); d != nil {
				t.Errorf("%s:\n%s", golden.Path(abs), d)
			}
			if status != textStatus || status != exitDone && !strings.Contains(path, "hostile") {
				t.Errorf("exit status %d as text, %d as JSON", textStatus, status)
			}
			if !slices.Contains(formats, path) {
				return
			}
			array, _, _ := runIn(t, dir, "--all", "-o", "json", file)
			var objects []json.RawMessage
			must.Do(t, json.Unmarshal([]byte(array), &objects))
			var joined strings.Builder
			for _, o := range objects {
				joined.Write(append(o, '\n'))
			}
			if joined.String() != lines {
				t.Error("json and jsonl differ")
			}
			for range must.Try(1, 2) {
				if again, _, _ := runIn(t, dir, "--all", "-o", "jsonl", file); again != lines {
					t.Fatal("the output differs from run to run")
				}
			}
			for _, detail := range must.Try([]string{"-x"}, []string{"-V", "-x"}) {
				if out, _, _ := runIn(t, dir, detail, "--all", file); strings.ContainsAny(out, "\x1b\x07\u009b") || !utf8.ValidString(out) {
					t.Errorf("%s lets control characters through", detail)
				}
			}
		})
	}
}

// TestCheckTrouble checks that an input that cannot be compared is reported once on
// stderr, and in the reports of tests, too.
func TestCheckTrouble(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "saved.jsonl"), []byte(`{"type":"capture"}`), 0o666))
	for _, args := range [][]string{{"check", "nowhere"}, {"diff", "saved.jsonl", "nowhere"}} {
		for _, format := range golden.Formats {
			out, stderr, status := runIn(t, dir, append(args, "--format", format)...)
			told := strings.Count(out, "no such file or directory")
			if status != exitTrouble || strings.Count(stderr, "qdissect: ") != 1 || (format == "text") != (told == 0) || told > 1 {
				t.Errorf("%v as %s: status %d\n%s%s", args, format, status, out, stderr)
			}
		}
	}
}

// TestCheckDamaged checks that a damaged file is an error unless its golden records
// the damage.
func TestCheckDamaged(t *testing.T) {
	if *update {
		t.Skip("the goldens are being written")
	}
	data := must.Get(os.ReadFile(testPcap("a2s/source.pcap")))(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "x.pcap.gz")
	write := func(data []byte) {
		t.Helper()
		must.Do(t, os.WriteFile(path, data, 0o666))
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(data)
	w.Close()
	write(b.Bytes())
	check := func(status int, out, stderr string, args ...string) {
		t.Helper()
		o, e, s := runIn(t, dir, append([]string{"check", "."}, args...)...)
		if s != status || o != out || e != stderr {
			t.Errorf("%v: status %d, want %d\n%s%swant\n%s%s", args, s, status, o, e, out, stderr)
		}
	}
	const trouble = "qdissect: x.pcap.gz: frame 17 at offset 4312 of the uncompressed data: gzip: invalid header\n"
	check(exitDone, "wrote x.golden.jsonl\n1 capture: 1 written\n", "", "--update")
	write(append(b.Bytes(), "more than ten bytes of something"...))
	for _, args := range [][]string{nil, {"--ignore", "rtt_ns"}, {"--relative-time"}, {"--strict"}} {
		check(exitTrouble, "x.pcap.gz: 1 difference\n  capture\n    damaged: absent → \"gzip: invalid header\"\n1 capture: 1 different, 1 damaged\n", trouble, args...)
	}
	check(exitDone, "1 capture: 1 equal, 1 damaged\n", "", "--ignore", "damaged")
	check(exitDone, "wrote x.golden.jsonl\n1 capture: 1 written, 1 damaged\n", trouble, "--update")
	check(exitDone, "1 capture: 1 equal, 1 damaged\n", "")
	write(b.Bytes())
	check(exitJudged, "x.pcap.gz: 1 difference\n  capture\n    damaged: \"gzip: invalid header\" → absent\n1 capture: 1 different\n", "")

	lines, _, _ := runIn(t, dir, "--all", "-o", "jsonl", "x.pcap.gz")
	must.Do(t, os.WriteFile(golden.Path(path), []byte(lines), 0o666))
	check(exitDone, "1 capture: 1 equal\n", "")
	write(append(b.Bytes(), "more than ten bytes of something"...))
	check(exitDone, "1 capture: 1 equal, 1 damaged\n", trouble)
}

// TestDemo: the capture is the same each time, has the trouble that the help names, and replaces nothing.
func TestDemo(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"demo.pcap", "again.pcap"} {
		if out, errs, code := runIn(t, dir, strings.Fields("demo "+name)...); code != exitDone || !strings.Contains(out, "qdissect why "+name) {
			t.Fatalf("%d %s%s", code, out, errs)
		}
	}
	if _, errs, code := runIn(t, dir, "demo"); code != exitTrouble || !strings.Contains(errs, "demo.pcap exists") {
		t.Errorf("%d %s", code, errs)
	}
	report, _, _ := runIn(t, dir, "report", "demo.pcap")
	if again, _, _ := runIn(t, dir, "report", "again.pcap"); again != report {
		t.Errorf("%s\nand again\n%s", report, again)
	}
	for _, want := range []string{"* Forged flood at ", "* Reflection at 203.0.113.77", "* Reflection at 203.0.113.78", "* Junk flood at ", "KINDS OF REQUESTS", "valve-master join"} {
		if !strings.Contains(report, want) {
			t.Errorf("no %q in\n%s", want, report)
		}
	}
	if rules, _, code := runIn(t, dir, "rules", "demo.pcap"); code != exitDone || !strings.Contains(rules, "per second in total") {
		t.Errorf("%d %s", code, rules)
	}
}

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "4") // most of these tests wait
	testscript.Main(m, map[string]func(){"qdissect": main})
}

// TestScripts runs the scripts of testdata/script. The first lines of each script say
// what it tests.
func TestScripts(t *testing.T) {
	pcaps := must.Get(filepath.Abs(filepath.Join("..", "..", "testdata", "pcaps")))(t)
	testscript.Run(t, testscript.Params{
		Dir:           must.Get(filepath.Abs(filepath.Join("testdata", "script")))(t),
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PCAPS", pcaps)
			e.Setenv("EVERY", must.Try("hostile/**", "**"))
			e.Setenv("SOME", must.Try("a2s/**", "[a-g]*/**"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"cut":     cutCmd,
			"pack":    packCmd,
			"unpack":  unpackCmd,
			"replace": replaceCmd,
			"later":   laterCmd,
			"run":     runCmd,
			"status":  statusCmd,
		},
	})
}

// cutCmd copies the first bytes of a file: cut N from to.
func cutCmd(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	data, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), data[:n], 0o666))
}

// packCmd compresses a file: pack gzip|zstd from to.
func packCmd(ts *testscript.TestScript, _ bool, args []string) {
	data, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[2]))
	ts.Check(err)
	defer f.Close()
	var w io.WriteCloser = gzip.NewWriter(f)
	if args[0] == "zstd" {
		w, err = zstd.NewWriter(f)
		ts.Check(err)
	}
	_, err = w.Write(data)
	ts.Check(errors.Join(err, w.Close()))
}

// unpackCmd decompresses a file: unpack from to.
func unpackCmd(ts *testscript.TestScript, _ bool, args []string) {
	in, err := os.Open(ts.MkAbs(args[0]))
	ts.Check(err)
	defer in.Close()
	r, err := zstd.NewReader(in)
	ts.Check(err)
	defer r.Close()
	data, err := io.ReadAll(r)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o666))
}

// replaceCmd replaces text in a file, everywhere or once: replace [first] OLD NEW
// file. In a capture, both must have the same length.
func replaceCmd(ts *testscript.TestScript, _ bool, args []string) {
	n := -1
	if args[0] == "first" {
		n, args = 1, args[1:]
	}
	data, err := os.ReadFile(ts.MkAbs(args[2]))
	ts.Check(err)
	if !strings.Contains(string(data), args[0]) {
		ts.Fatalf("%s has no %s", args[2], args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(strings.Replace(string(data), args[0], args[1], n)), 0o666))
}

// laterCmd shifts the times of a little-endian pcap file: later SECONDS file.
func laterCmd(ts *testscript.TestScript, _ bool, args []string) {
	seconds, err := strconv.Atoi(args[0])
	ts.Check(err)
	data, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	e := binary.LittleEndian
	for r := data[24:]; len(r) > 0; r = r[16+e.Uint32(r[8:]):] {
		e.PutUint32(r, e.Uint32(r)+uint32(seconds))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o666))
}

// inFolder is held while the process is in the folder of a script.
var inFolder sync.Mutex

// exitStatus returns the exit status of the program, which runs in this process: starting one
// costs more than most commands do. Scripts write "exec qdissect" where a process matters:
// for a time zone, or another tshark. The last argument may be <FILE, for standard input.
func exitStatus(ts *testscript.TestScript, args []string) int {
	input := ""
	if last := len(args) - 1; last >= 0 && strings.HasPrefix(args[last], "<") {
		input, args = ts.ReadFile(args[last][1:]), args[:last]
	}
	inFolder.Lock()
	defer inFolder.Unlock()
	back, err := os.Getwd()
	ts.Check(errors.Join(err, os.Chdir(ts.MkAbs("."))))
	defer os.Chdir(back)
	return run(args, environment{in: strings.NewReader(input), out: ts.Stdout(), err: ts.Stderr(), getenv: ts.Getenv})
}

// runCmd runs the program: run arguments [<FILE].
func runCmd(ts *testscript.TestScript, neg bool, args []string) {
	if got := exitStatus(ts, args); (got != 0) != neg {
		ts.Fatalf("exit status %d", got)
	}
}

// statusCmd runs the program and checks its exit status: status N arguments [<FILE].
func statusCmd(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := exitStatus(ts, args[1:]); got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}
