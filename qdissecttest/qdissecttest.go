// Package qdissecttest makes captured traffic a test: for the tests of query
// libraries, servers and proxies.
//
// [Golden] compares what a capture says with the golden beside it, as qdissect
// check does. [Messages] hands out what it says as typed messages, for
// assertions. [Record] and [RecordConn] wrap the socket of a client or a server
// and write what passes to a capture, without root and without tcpdump.
//
// # Writing goldens
//
// Goldens are written, instead of compared with, by
//
//	QDISSECT_UPDATE=1 go test ./...
//
// A test that has a boolean flag named update, or wants one, gets the same from
// go test -update; one line in any test file of the package defines it:
//
//	var _ = flag.Bool("update", false, "write the goldens")
//
// Read what was written before you commit it: it says what is, not what is right.
package qdissecttest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/internal/golden"
)

// An Option says how a golden is compared, or where a recording goes.
type Option func(*options)

type options struct {
	ignore       []string
	relative     bool
	strict       bool
	conversation bool
	max          int
	file         string
}

// Ignore names values that may differ, by their paths in the JSON: "rtt_ns",
// "a2s.challenge", "a2s.players[*].score". In a name, * stands for any
// letters; ** stands for any number of steps. They are added to those of the
// file .qdissect.toml.
func Ignore(paths ...string) Option {
	return func(o *options) { o.ignore = append(o.ignore, paths...) }
}

// RelativeTime takes times from the first packet of the capture: for one that
// was taken again with the same timing, or was moved in time.
func RelativeTime() Option { return func(o *options) { o.relative = true } }

// Strict compares what summaries and findings say in words as well. Without it,
// better words in another version of this module break no test.
func Strict() Option { return func(o *options) { o.strict = true } }

// Conversation compares as qdissect diff does: the order of conversations,
// addresses, ports, times, and the challenges and ids that the two sides chose
// make no difference. It is what a capture needs that every run of a test
// records anew.
func Conversation() Option { return func(o *options) { o.conversation = true } }

// Max is how many differences are shown, 20 without it; the rest is counted.
func Max(n int) Option { return func(o *options) { o.max = n } }

// File names the capture that [Record] and [RecordConn] write.
func File(path string) Option { return func(o *options) { o.file = path } }

func gather(opts []Option) (o options) {
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// updateVariable is the environment variable that asks for goldens to be written.
const updateVariable = "QDISSECT_UPDATE"

// updating reports whether goldens are to be written.
func updating() bool {
	switch os.Getenv(updateVariable) {
	case "", "0", "false":
	default:
		return true
	}
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

// updateCommand is what writes the golden of a test.
func updateCommand(t testing.TB) string {
	name, _, _ := strings.Cut(t.Name(), "/")
	return updateVariable + "=1 go test -run '^" + name + "$'"
}

// Golden fails the test if a capture does not say what the golden beside it
// says: the golden of x.pcap and of x.pcapng.gz is x.golden.jsonl. It holds the
// JSON lines of qdissect --all -o jsonl, with the SHA-256 of the capture in the
// last one and with what is wrong with its file if it is damaged, and is written
// with QDISSECT_UPDATE=1: see the package's documentation.
//
// What may differ is named by [Ignore] and the other options, or by the file
// .qdissect.toml beside the capture or in a folder above it, which qdissect
// check reads as well.
func Golden(t testing.TB, path string, opts ...Option) {
	t.Helper()
	o := gather(opts)
	path = filepath.Clean(path)
	rules, err := rulesFor(path, &o)
	if err != nil {
		t.Fatal(err)
	}
	if updating() {
		update(t, path, rules, &o)
		return
	}
	r, trouble, err := golden.Check(path, rules, o.max)
	switch {
	case errors.Is(err, golden.ErrNoGolden) && trouble == nil:
		t.Fatalf("%s has no golden; write %s with\n  %s", path, filepath.Base(golden.Path(path)), updateCommand(t))
	case err != nil && !errors.Is(err, golden.ErrNoGolden):
		t.Fatal(err)
	case r == nil:
		t.Fatal(trouble)
	case r.Equal():
		if r.Unstated {
			t.Log(trouble)
		}
		if r.Former {
			t.Logf("%s has the CRC-64 of an earlier version, which is not compared; replace it by a SHA-256 with\n  %s", filepath.Base(golden.Path(path)), updateCommand(t))
		}
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s is not what %s says:\n%s", path, filepath.Base(golden.Path(path)), r.AppendText(nil, "  "))
	if trouble != nil {
		fmt.Fprintf(&b, "  %v\n", trouble)
	}
	fmt.Fprintf(&b, "If it is right as it is now: %s", updateCommand(t))
	t.Error(b.String())
}

// update writes the golden of a capture. One that is as good as the capture
// stays as it is, or captures that are recorded anew would change it with every
// run.
func update(t testing.TB, path string, rules golden.Rules, o *options) {
	t.Helper()
	if o.conversation {
		if r, _, err := golden.Check(path, rules, o.max); err == nil && r.Equal() && !r.Unstated && !r.Former {
			return
		}
	}
	changed, d, err := golden.Update(path, false)
	if err == nil && !d.Opened {
		err = d.Trouble
	}
	if err != nil {
		t.Fatal(err)
	}
	if d.Trouble != nil {
		t.Log(d.Trouble)
	}
	if changed {
		t.Logf("wrote %s", golden.Path(path))
	}
}

// rulesFor returns the rules for a capture: of the file beside it, and of the
// options.
func rulesFor(path string, o *options) (golden.Rules, error) {
	config, err := golden.FindConfig(filepath.Dir(path))
	if err != nil {
		return golden.Rules{}, err
	}
	rules := config.Rules()
	more, err := golden.ParsePatterns(o.ignore)
	rules.Ignore = append(rules.Ignore, more...)
	rules.Relative = rules.Relative || o.relative
	rules.Wording, rules.Conversation = o.strict, o.conversation
	return rules, err
}
