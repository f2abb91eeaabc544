package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
)

// TestReadme compares the output that README.md shows below its commands with what they
// print. "…" as the last line stands for the rest. It also checks that docs/protocols.md has every protocol
// and docs/README.md every page.
func TestReadme(t *testing.T) {
	root := must.Get(filepath.Abs(filepath.Join("..", "..")))(t)
	page := filepath.Join(root, "README.md")
	b := must.Get(os.ReadFile(page))(t)
	var is strings.Builder
	lines, shown := strings.SplitAfter(string(b), "\n"), 0
	for n := 0; n < len(lines); n++ {
		is.WriteString(lines[n])
		command, ok := strings.CutPrefix(strings.TrimSpace(lines[n]), "$ qdissect ")
		if !ok {
			continue
		}
		first := n + 1
		for end := n + 1; end < len(lines) && (strings.HasPrefix(lines[end], "    ") || lines[end] == "\n"); end++ {
			if lines[end] != "\n" {
				n = end // blank lines belong to the output only if more follows
			}
		}
		const most = 12
		rest := n >= first && strings.TrimSpace(lines[n]) == "…"
		out, errs, _ := runIn(t, root, arguments(command)...)
		printed := strings.SplitAfter(out, "\n")
		if rest && len(printed) > most {
			printed = append(printed[:most], "…\n")
		}
		if errs != "" {
			t.Errorf("qdissect %s: %s", command, errs)
		}
		shown++
		for _, line := range printed {
			if line != "" {
				is.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
			}
		}
	}
	switch want := is.String(); {
	case *update:
		must.Do(t, os.WriteFile(page, []byte(want), 0o666))
	case want != string(b):
		t.Errorf("README.md shows other output than the program prints; go test ./cmd/qdissect -run '^TestReadme$' -update writes\n%s", want)
	}
	if len(b) > 12<<10 || len(lines) > 171 || shown < 6 {
		t.Errorf("README.md has %d bytes, %d lines and %d commands with output", len(b), len(lines)-1, shown)
	}

	protocols := must.Get(os.ReadFile(filepath.Join(root, "docs", "protocols.md")))(t)
	for _, p := range all.Protocols() {
		if !strings.Contains(string(protocols), "\n| `"+p.Name+"` |") {
			t.Errorf("docs/protocols.md lacks %s", p.Name)
		}
	}
	index := must.Get(os.ReadFile(filepath.Join(root, "docs", "README.md")))(t)
	pages := must.Get(filepath.Glob(filepath.Join(root, "docs", "*.md")))(t)
	for _, p := range pages {
		if name := filepath.Base(p); name != "README.md" && !strings.Contains(string(index), "]("+name+")") {
			t.Errorf("docs/README.md lacks %s", name)
		}
	}
}

// arguments splits a command without variables into its words.
func arguments(command string) (words []string) {
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

// TestGenerated checks that the generated lists in docs are current.
func TestGenerated(t *testing.T) {
	for name, flag := range map[string]string{"fields.md": "--fields", "findings.md": "--findings", "causes.md": "--causes", "games.md": "--games"} {
		want, _, _ := runIn(t, ".", "protocols", flag, "--markdown")
		got, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err != nil || string(got) != want {
			t.Errorf("docs/%s is old, run make generate (%v)", name, err)
		}
	}
}

// TestSharingCaptures checks that the output in docs/sharing-captures.md is current.
func TestSharingCaptures(t *testing.T) {
	root := filepath.Join("..", "..")
	page := must.Get(os.ReadFile(filepath.Join(root, "docs", "sharing-captures.md")))(t)
	dir := t.TempDir()
	pcap := must.Get(os.ReadFile(filepath.Join(root, "testdata", "pcaps", "a2s", "source.pcap")))(t)
	for name, b := range map[string][]byte{"server.pcap": pcap, "team.key": []byte("000102030405060708090a0b0c0d0e0f\n")} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), b, 0o666))
	}
	const prompt = "    $ qdissect "
	commands, lines := 0, strings.Split(string(page), "\n")
	for i, line := range lines {
		command, ok := strings.CutPrefix(line, prompt)
		if !ok {
			continue
		}
		commands++
		var want []string
		for _, l := range lines[i+1:] {
			if !strings.HasPrefix(l, "    ") || strings.HasPrefix(l, prompt) {
				break
			}
			want = append(want, strings.TrimPrefix(l, "    "))
		}
		var args []string
		for k, part := range strings.Split(command, "'") {
			if k%2 == 1 {
				args = append(args, part)
			} else {
				args = append(args, strings.Fields(part)...)
			}
		}
		out, errs, status := runIn(t, dir, args...)
		if got := strings.TrimSuffix(errs+out, "\n"); got != strings.Join(want, "\n") || status != exitDone {
			t.Errorf("%s: status %d\n%s\nthe page shows\n%s", line, status, got, strings.Join(want, "\n"))
		}
	}
	_, expressions, _ := strings.Cut(string(page), "Examples of expressions, which [filter.md](filter.md) describes:\n\n")
	expressions, _, _ = strings.Cut(expressions, "\n\n")
	if n := strings.Count(expressions, "\n"); n < 5 {
		t.Errorf("%d expressions", n)
	}
	for expr := range strings.Lines(expressions) {
		must.Get(display.Compile(strings.TrimSpace(expr)))(t)
	}
	if commands < 4 {
		t.Errorf("the page shows %d commands", commands)
	}
}

// TestCutHelp checks that the examples in the help of cut are valid expressions.
func TestCutHelp(t *testing.T) {
	examples := 0
	for line := range strings.Lines(newCut(environment{}).Long) {
		if example, ok := strings.CutPrefix(line, "  "); ok {
			example, _, _ = strings.Cut(example, "   ")
			examples++
			if _, err := display.Compile(example); err != nil {
				t.Errorf("%s: %v", example, err)
			}
		}
	}
	if examples < 5 {
		t.Errorf("%d examples", examples)
	}
}

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

// TestFilterPage checks that the examples of docs/filter.md and of the help are valid,
// and that the list of names is current.
func TestFilterPage(t *testing.T) {
	const begin, end = "<!-- names: generated by make generate -->\n", "<!-- end -->"
	name := filepath.Join("..", "..", "docs", "filter.md")
	b := must.Get(os.ReadFile(name))(t)
	page := string(b)
	before, rest, _ := strings.Cut(page, begin)
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatal("the page lacks the list of names")
	}
	var list strings.Builder
	list.WriteString("| name | type | meaning |\n|---|---|---|\n")
	for _, n := range display.Names() {
		star, doc := nettext.Either(n.Short, "*", ""), n.Doc
		if len(n.Values) > 0 && !strings.Contains(doc, n.Values[0]) {
			doc += ": " + strings.Join(n.Values, ", ")
		}
		fmt.Fprintf(&list, "| `%s`%s | %s | %s |\n", n.Name, star, n.Type, doc)
	}
	want := before + begin + list.String() + end + after
	if *update && page != want {
		must.Do(t, os.WriteFile(name, []byte(want), 0o666))
		page = want
	}
	if page != want {
		t.Error("docs/filter.md is old, run make generate")
	}
	_, examples, _ := strings.Cut(before, "Examples:\n\n")
	examples, _, _ = strings.Cut(examples, "\n\n")
	_, help, _ := strings.Cut(filterHelp, "errors.\n\n")
	help, _, _ = strings.Cut(help, "\n\n")
	if n := strings.Count(examples+help, "\n"); n < 12 {
		t.Errorf("%d examples", n)
	}
	for expr := range strings.Lines(examples + "\n" + help) {
		must.Get(display.Compile(strings.TrimSpace(expr)))(t)
	}
	for line := range strings.Lines(filterTopic()) {
		if len([]rune(line)) > 81 {
			t.Errorf("%s is wider than a terminal", strings.TrimSpace(line))
		}
	}
}
