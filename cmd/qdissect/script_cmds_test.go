package main

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

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

// statusCmd runs the program and checks its exit status: status N arguments.
func statusCmd(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	switch err := ts.Exec("qdissect", args[1:]...); {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	default:
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}
