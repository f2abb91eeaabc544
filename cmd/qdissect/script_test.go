package main

import (
	"compress/gzip"
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/qdissect/qdissect/internal/must"
)

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
// for standard input, a time zone, or another tshark.
func exitStatus(ts *testscript.TestScript, args []string) int {
	inFolder.Lock()
	defer inFolder.Unlock()
	back, err := os.Getwd()
	ts.Check(errors.Join(err, os.Chdir(ts.MkAbs("."))))
	defer os.Chdir(back)
	return run(args, environment{in: strings.NewReader(""), out: ts.Stdout(), err: ts.Stderr(), getenv: ts.Getenv})
}

// runCmd runs the program: run arguments.
func runCmd(ts *testscript.TestScript, neg bool, args []string) {
	if got := exitStatus(ts, args); (got != 0) != neg {
		ts.Fatalf("exit status %d", got)
	}
}

// statusCmd runs the program and checks its exit status: status N arguments.
func statusCmd(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := exitStatus(ts, args[1:]); got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}
