// Package qdissecttest supports tests of query libraries, servers and proxies with
// captured traffic.
//
// [Serve] answers queries as a server in a capture did, for tests of clients. [Golden]
// compares a capture with its golden, as qdissect check does. [Messages] returns the
// messages of a capture as Go values, for assertions. [Record] and [RecordConn] wrap the
// socket of a client or a server and write its datagrams to a capture, without root and
// without tcpdump.
//
// # Updating goldens
//
// This command writes the goldens instead of comparing with them:
//
//	QDISSECT_UPDATE=1 go test ./...
//
// If the tests of a package define a boolean flag named update, go test -update does
// the same. One line in any test file defines the flag:
//
//	var _ = flag.Bool("update", false, "write the goldens")
//
// Read the goldens before you commit them: they record what is, not what is right.
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

// An Option configures a comparison or a recording.
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
// "a2s.challenge", "a2s.players[*].score". In a name, * matches any letters; **
// matches any number of steps.
func Ignore(paths ...string) Option {
	return func(o *options) { o.ignore = append(o.ignore, paths...) }
}

// RelativeTime counts times from the first packet of the capture. Use it for a capture
// that was taken again with the same timing.
func RelativeTime() Option { return func(o *options) { o.relative = true } }

// Strict also compares the wording of summaries and findings. Without it, a test does
// not depend on the wording of this version of the module.
func Strict() Option { return func(o *options) { o.strict = true } }

// Conversation compares as qdissect diff does. It ignores the order of conversations,
// addresses, ports, times, and the challenges and ids that the sides chose. Use it for
// captures that each run of a test records again.
func Conversation() Option { return func(o *options) { o.conversation = true } }

// Max limits the number of differences shown. The default is 20.
func Max(n int) Option { return func(o *options) { o.max = n } }

// File sets the capture that [Record] and [RecordConn] write.
func File(path string) Option { return func(o *options) { o.file = path } }

func gather[T any, F ~func(*T)](opts []F) (o T) {
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// updateVariable is the environment variable that updates goldens.
const updateVariable = "QDISSECT_UPDATE"

// updating reports whether the run updates goldens.
func updating() bool {
	switch os.Getenv(updateVariable) {
	case "", "0", "false":
	default:
		return true
	}
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

// updateCommand returns the command that updates the golden of a test.
func updateCommand(t testing.TB) string {
	name, _, _ := strings.Cut(t.Name(), "/")
	return updateVariable + "=1 go test -run '^" + name + "$'"
}

// Golden compares a capture with its golden and fails the test if they differ. The
// golden of x.pcap or x.pcapng.gz is x.golden.jsonl in the same folder. It contains
// the JSON lines of qdissect --all -o jsonl, the SHA-256 of the capture, and the
// damage of the file, if any. QDISSECT_UPDATE=1 writes it; see the documentation of
// the package.
//
// [Ignore] and the other options name values that may differ.
func Golden(t testing.TB, path string, opts ...Option) {
	t.Helper()
	o := gather(opts)
	path = filepath.Clean(path)
	ignore, err := golden.ParsePatterns(o.ignore)
	if err != nil {
		t.Fatal(err)
	}
	rules := golden.Rules{Ignore: ignore, Relative: o.relative, Wording: o.strict, Conversation: o.conversation}
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

// update writes the golden of a capture. With [Conversation], it keeps an equal
// golden, because each run records new bytes.
func update(t testing.TB, path string, rules golden.Rules, o *options) {
	t.Helper()
	if o.conversation {
		if r, _, err := golden.Check(path, rules, o.max); err == nil && r.Equal() && !r.Unstated {
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
