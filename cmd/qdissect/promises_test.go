package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/a2s"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/hexinput"
	"github.com/qdissect/qdissect/reassembly"
)

// TestPromises: every test, flag, finding and make target that the pages about
// limits and security name exists, so that a reader can check each promise.
func TestPromises(t *testing.T) {
	root := filepath.Join("..", "..")
	var tests strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, "_test.go") {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			tests.Write(b)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	findings := map[string]bool{}
	for _, f := range dissect.CommonFindings() {
		findings[f.ID] = true
	}
	for _, p := range all.Protocols() {
		for _, f := range p.Findings {
			findings[f.ID] = true
		}
	}
	var cmd cobra.Command
	new(readOptions).add(cmd.Flags())

	named := regexp.MustCompile("`(Test|Fuzz)[A-Za-z0-9]*`")
	flagged := regexp.MustCompile("`--([a-z-]+)")
	finding := regexp.MustCompile("`((?:a2s|gs1|ip|limit|malformed|master|q3|state)(?:\\.[a-z0-9_.]+)?)[ `]")
	target := regexp.MustCompile("`make ([a-z-]+)`")
	for _, page := range []string{"SECURITY.md", filepath.Join("docs", "limits.md"), filepath.Join("docs", "soak.md")} {
		b, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		for _, name := range named.FindAllString(text, -1) {
			if !strings.Contains(tests.String(), "func "+strings.Trim(name, "`")+"(") {
				t.Errorf("%s names %s, which is no test", page, name)
			}
		}
		for _, m := range flagged.FindAllStringSubmatch(text, -1) {
			if cmd.Flags().Lookup(m[1]) == nil && m[1] != "help" {
				t.Errorf("%s names --%s, which is no flag", page, m[1])
			}
		}
		for _, m := range finding.FindAllStringSubmatch(text, -1) {
			if !findings[m[1]] {
				t.Errorf("%s names %s, which is no finding", page, m[1])
			}
		}
		for _, m := range target.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(string(makefile), "\n"+m[1]+":") {
				t.Errorf("%s names make %s", page, m[1])
			}
		}
		if page != filepath.Join("docs", "soak.md") && len(named.FindAllString(text, -1)) < 10 {
			t.Errorf("%s names hardly any test", page)
		}
		// A row that names no test holds nothing, and fuzzing alone is chance.
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "| ") && page != filepath.Join("docs", "soak.md") && !strings.Contains(line, "| test |") && !strings.Contains(line, "checked by") &&
				!strings.Contains(line, "`Test") && !strings.Contains(line, "a test for each row") {
				t.Errorf("%s: nothing checks %q", page, line)
			}
		}
	}
}

// TestLimitNumbers: the limits that docs/limits.md gives are those of the code.
// The tests that stand beside the others say them themselves.
func TestLimitNumbers(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "limits.md"))
	if err != nil {
		t.Fatal(err)
	}
	const kib, mib = 1 << 10, 1 << 20
	d, r := dissect.DefaultLimits, reassembly.DefaultLimits
	for row, limit := range map[string]string{
		"conversations":                                fmt.Sprint(d.Flows),
		"requests that wait for a reply":               fmt.Sprint(d.Requests),
		"clients whose challenges are remembered, and": fmt.Sprint(d.Peers, " each"),
		"time for a reply":                             fmt.Sprint(d.Window.Seconds(), " s"),
		"silence of a conversation":                    fmt.Sprint(d.Idle.Seconds(), " s"),
		"bytes of parts, bookkeeping":                  fmt.Sprint(reassembly.DefaultBudget/mib, " MiB"),
		"bytes of IP fragments, bookkeeping":           fmt.Sprint(reassembly.DefaultBudget/mib, " MiB"),
		"sets of fragments; sets of parts":             fmt.Sprint(r.Sets),
		"pieces of a set":                              fmt.Sprint(r.Pieces),
		"bytes of a set":                               fmt.Sprint(r.SetBytes/mib, " MiB, "),
		"age of a set of parts, of fragments":          fmt.Sprint(d.Parts.Age.Seconds(), " s, ", r.Age.Seconds(), " s"),
		"size of a bzip2 message":                      fmt.Sprint(a2s.MaxUnpacked/mib, " MiB"),
		"players, rules and other entries":             fmt.Sprint(dissect.MaxRecords),
		"summary in a line":                            fmt.Sprint(dissect.MaxSummary, " bytes"),
		"what a finding says":                          fmt.Sprint(dissect.MaxFindingText, " bytes"),
		"a frame":                                      fmt.Sprint(capture.MaxFrame/kib, " KiB"),
		"pasted text; datagrams in it; one of them":    fmt.Sprint(hexinput.MaxInput/mib, " MiB; ", hexinput.MaxDatagrams, "; ", hexinput.MaxDatagram/kib, " KiB"),
	} {
		if !regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(row) + `[^|]*\| ` + regexp.QuoteMeta(limit)).Match(page) {
			t.Errorf("%s: not %s", row, limit)
		}
	}
}
