package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/must"
)

// TestPromises checks that every test, flag, finding and make target in the pages
// about limits and security exists.
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
	must.Do(t, err)
	makefile := must.Get(os.ReadFile(filepath.Join(root, "Makefile")))(t)
	findings := map[string]bool{}
	for _, f := range dissect.CommonFindings() {
		findings[f.ID] = true
	}
	for _, p := range all.Protocols() {
		for _, f := range p.Catalog.Findings() {
			findings[f.ID] = true
		}
	}
	flags := map[string]bool{"help": true}
	program := newRoot(environment{}, nil)
	for _, cmd := range append(program.Commands(), program) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
	}

	named := regexp.MustCompile("`(Test|Fuzz)[A-Za-z0-9]*`")
	flagged := regexp.MustCompile("`--([a-z-]+)")
	finding := regexp.MustCompile("`((?:a2s|gs1|ip|limit|malformed|master|q3|state)(?:\\.[a-z0-9_.]+)?)[ `]")
	target := regexp.MustCompile("`make ([a-z-]+)`")
	for _, page := range []string{"SECURITY.md", filepath.Join("docs", "limits.md")} {
		b := must.Get(os.ReadFile(filepath.Join(root, page)))(t)
		text := string(b)
		for _, name := range named.FindAllString(text, -1) {
			if !strings.Contains(tests.String(), "func "+strings.Trim(name, "`")+"(") {
				t.Errorf("%s names %s, which is no test", page, name)
			}
		}
		for _, m := range flagged.FindAllStringSubmatch(text, -1) {
			if !flags[m[1]] {
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
		if len(named.FindAllString(text, -1)) < 10 {
			t.Errorf("%s names hardly any test", page)
		}
		// A row without a test proves nothing, and fuzzing alone is chance.
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "| ") && !strings.Contains(line, "| test |") && !strings.Contains(line, "checked by") &&
				!strings.Contains(line, "`Test") && !strings.Contains(line, "a test for each row") {
				t.Errorf("%s: nothing checks %q", page, line)
			}
		}
	}
}
