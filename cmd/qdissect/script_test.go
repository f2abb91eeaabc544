package main

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/thorough"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"qdissect": main})
}

// TestScripts runs the scripts of testdata/script. The first lines of each script say
// what it tests.
func TestScripts(t *testing.T) {
	pcaps := must.Get(filepath.Abs(filepath.Join("..", "..", "testdata", "pcaps")))(t)
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("testdata", "script"),
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PCAPS", pcaps)
			e.Setenv("EVERY", thorough.Of("hostile/**", "**"))
			e.Setenv("SOME", thorough.Of("a2s/**", "[a-g]*/**"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"cut":    cutCmd,
			"pack":   packCmd,
			"unpack": unpackCmd,
			// More commands are in script_cmds_test.go.
			"replace": replaceCmd,
			"later":   laterCmd,
			"status":  statusCmd,
		},
	})
}

// cutCmd copies the first bytes of a file: cut N from to.
func cutCmd(ts *testscript.TestScript, _ bool, args []string) {
	n := 0
	for _, c := range args[0] {
		n = n*10 + int(c-'0')
	}
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
	if args[0] == "gzip" {
		w := gzip.NewWriter(f)
		_, err = w.Write(data)
		ts.Check(err)
		ts.Check(w.Close())
		return
	}
	w, err := zstd.NewWriter(f)
	ts.Check(err)
	_, err = w.Write(data)
	ts.Check(err)
	ts.Check(w.Close())
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
