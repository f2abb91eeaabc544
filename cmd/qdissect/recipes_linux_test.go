package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/must"
)

// notRun are the commands of README.md and docs that the test does not run, with the reason.
var notRun = []struct{ pattern, reason string }{
	{`^sudo `, "needs root"},
	{`(^|[ '])qdissect( \w+)*( \S+)* (-i \w|--netns|-D)`, "needs an interface; live_linux_test.go captures from one"},
	{`^tcpdump -i|^tshark -i`, "needs an interface"},
	{`^qdissect top |^qdissect extcap|wireshark`, "needs a terminal, a window, or the user's folders"},
	{`^qdissect lua --install`, "writes into the user's folders"},
	{`^qdissect web `, "needs the site, and serves until it is stopped; serve_test.go does"},
	{`^qdissect serve( \S+)* server\.pcap$`, "serves until it is stopped; serve_test.go does"},
	{`^exec 3< <\(exec qdissect serve|<&3|\$server|\$!|^quakestat`, "lines of a script; serve_test.go has clients"},
	{`^go (install|get|mod) `, "needs the module proxy"},
	{`^go (run|test)\b`, "builds or tests the project; the gate does"},
	{`^qdissect .*testdata/pcaps|^qdissect (explain|decode) \S+$`, "TestReadme runs it and compares its output"},
	{`^make |^podman |^docker |^pid=|^while `, "builds packages or needs containers; packaging_linux_test.go and live_linux_test.go have them"},
	{`^journalctl |^apk add|^tar -xzf qdissect`, "needs the packages or the service; packaging_linux_test.go has them"},
	{`read_parquet\('out/`, "needs units of Parquet; TestUnitsInDuckDB makes some"},
	{`^qdissect-fleet `, "is a module of its own, whose tests run it"},
	{`^qdissect report --from counts`, "needs the counts of a live capture; counts.txtar makes some of a pipe"},
	{`^parallel |SLURM`, "needs GNU parallel or Slurm; units.txtar does the same"},
}

// ends are the exit statuses of commands that judge.
var ends = []struct {
	pattern  string
	statuses []int
}{
	{`^qdissect why `, []int{0, 1, 3}},
	{`server\.plyers|udp prt `, []int{2}}, // shows a mistake
}

// A recipe is a command on a page.
type recipe struct {
	line int
	text string
}

var starts = regexp.MustCompile(`^(\w+=\S+ )?(qdissect|duckdb|jq|tshark|tcpdump|go|sudo|make|podman|docker|parallel|head|exec|mkdir|while|pid=\S+)\b`)

// recipes returns the commands of a page: the lines after a prompt, and those of indented
// blocks that begin with the name of a program.
func recipes(page string) (list []recipe) {
	fenced, block := false, []recipe(nil)
	for n, line := range strings.Split(page+"\n", "\n") {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if text, ok := strings.CutPrefix(line, "    "); ok && !fenced {
			block = append(block, recipe{n + 1, text})
			continue
		}
		list, block = append(list, commandsOf(block)...), nil
	}
	return list
}

// commandsOf returns the commands of a block, which may be one of SQL.
func commandsOf(block []recipe) (list []recipe) {
	if len(block) > 0 && strings.HasPrefix(block[0].text, "select ") {
		text := "duckdb <<'END' \n"
		for _, r := range block {
			text += r.text + "\n"
		}
		return []recipe{{block[0].line, text + "END\n"}}
	}
	prompts := slices.ContainsFunc(block, func(r recipe) bool { return strings.HasPrefix(r.text, "$ ") })
	for _, r := range block {
		text, prompt := strings.CutPrefix(r.text, "$ ")
		if prompt || !prompts && starts.MatchString(block[0].text) && !strings.HasPrefix(text, " ") && text != "done" {
			text, _, _ = strings.Cut(text, "   #") // a remark
			list = append(list, recipe{r.line, strings.TrimRight(text, " ")})
		}
	}
	return list
}

// TestRecipes runs the commands of README.md and docs, each page in a folder of its own.
// They end well, and those that ask for something print it.
func TestRecipes(t *testing.T) {
	root := must.Get(filepath.Abs(filepath.Join("..", "..")))(t)
	pages := must.Get(filepath.Glob(filepath.Join(root, "docs", "*.md")))(t)
	bin := t.TempDir()
	shell := "#!/bin/sh\nexec node '" + filepath.Join(root, "cmd", "qdissect", "testdata", "duckdb.cjs") + "' \"$@\"\n"
	must.Do(t, os.WriteFile(filepath.Join(bin, "duckdb"), []byte(shell), 0o777))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("XDG_CACHE_HOME", bin)
	used, ran := make([]int, len(notRun)), 0
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		b := must.Get(os.ReadFile(page))(t)
		if filepath.Base(page) == "testing-with-captures.md" { // TestPages of qdissecttest runs it
			continue
		}
		dir := t.TempDir()
		recipesFiles(t, root, dir)
		for _, r := range recipes(string(b)) {
			if i := slices.IndexFunc(notRun, func(n struct{ pattern, reason string }) bool {
				return regexp.MustCompile(n.pattern).MatchString(r.text)
			}); i >= 0 {
				used[i]++
				continue
			}
			t.Run(filepath.Base(page)+":"+strconv.Itoa(r.line), func(t *testing.T) { runRecipe(t, dir, r.text) })
			ran++
		}
	}
	for i, n := range used {
		if n == 0 {
			t.Errorf("no command is like %s (%s)", notRun[i].pattern, notRun[i].reason)
		}
	}
	if ran < 40 {
		t.Errorf("only %d commands were run", ran)
	}
}

// recipesFiles makes the files that the pages name.
func recipesFiles(t *testing.T, root, dir string) {
	t.Helper()
	source := filepath.Join(root, "testdata", "pcaps", "a2s", "source.pcap")
	b := must.Get(os.ReadFile(source))(t)
	names := []string{"server.pcap", "x.pcap", "night.pcapng", "bug.pcapng", "evening.pcapng", "captures/1.pcap", "before.pcap", "after.pcap"}
	for _, name := range names {
		name = filepath.Join(dir, name)
		data := b
		if strings.Contains(name, "night") || strings.Contains(name, "evening") { // with trouble
			data = must.Get(os.ReadFile(filepath.Join(root, "testdata", "pcaps", "a2s", "trouble.pcap")))(t)
		}
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o777))
		must.Do(t, os.WriteFile(name, data, 0o666))
	}
	for name, text := range map[string]string{"team.key": strings.Repeat("01", 32) + "\n"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
}

// runRecipe runs a command in a folder.
func runRecipe(t *testing.T, dir, text string) {
	for _, program := range []string{"duckdb", "jq", "tshark"} {
		if !regexp.MustCompile(`(^|\| )` + program + ` `).MatchString(text) {
			continue
		}
		if _, err := exec.LookPath(program); err != nil || program == "duckdb" && os.Getenv("QDISSECT_DUCKDB") == "" {
			t.Skip(program + " is not installed")
		}
	}
	out, errs, status := runText(t, dir, text)
	statuses := []int{0}
	for _, e := range ends {
		if regexp.MustCompile(e.pattern).MatchString(text) {
			statuses = e.statuses
		}
	}
	if !slices.Contains(statuses, status) {
		t.Errorf("%s\nexit status %d\n%s%s", text, status, out, errs)
	}
	if strings.HasPrefix(text, "duckdb ") && out == "[]\n" || out == "" && strings.Contains(text, "| jq ") {
		t.Errorf("%s\nprints nothing", text)
	}
}

// shellLess are commands of the program that need no shell.
var shellLess = regexp.MustCompile(`^qdissect [^][|&;<>()$\\"'*?{}~#]*$`)

// runText runs a command: in this process if it can, because starting two costs more than most commands do.
func runText(t *testing.T, dir, text string) (stdout, stderr string, status int) {
	t.Helper()
	if shellLess.MatchString(text) {
		return runIn(t, dir, strings.Fields(text)[1:]...)
	}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	c := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", text)
	c.Dir = dir
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); c.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}
