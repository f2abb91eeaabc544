package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/qdissect/qdissect/internal/must"
)

var (
	manPages   = flag.String("man", "", "write the manual pages to this folder, as make packages does")
	manVersion = flag.String("man-version", "(devel)", "the version in manual pages")
	manDate    = flag.String("man-date", "2026-01-01", "the date in manual pages")
)

// TestManPages makes a manual page of each command, from what --help shows. With -man DIR it
// writes them: the program itself does not carry what only its packages need.
func TestManPages(t *testing.T) {
	dir := *manPages
	if dir == "" {
		dir = t.TempDir()
	}
	var pages []string
	var write func(c *cobra.Command)
	write = func(c *cobra.Command) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		path := filepath.Join(dir, name+".1")
		must.Do(t, os.WriteFile(path, manPage(c), 0o644))
		pages = append(pages, path)
		for _, sub := range documented(c) {
			write(sub)
		}
	}
	root := newRoot(environment{in: strings.NewReader(""), out: new(bytes.Buffer), err: new(bytes.Buffer)}, nil)
	root.InitDefaultCompletionCmd()
	write(root)
	if filter, err := os.ReadFile(filepath.Join(dir, "qdissect-filter.1")); err != nil || !bytes.Contains(filter, []byte("an operator that its type")) {
		t.Errorf("the page of a help topic: %v\n%s", err, filter)
	}
	if len(pages) < 15 {
		t.Errorf("only %q", pages)
	}
	if *manPages != "" {
		return
	}
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("groff is not installed")
	}
	for _, path := range pages {
		var warnings bytes.Buffer
		cmd := exec.Command("groff", "-man", "-Kutf8", "-Tutf8", "-ww", "-rLL=80n", "-P-c", path)
		cmd.Stderr = &warnings
		text, err := cmd.Output()
		if err != nil || warnings.Len() > 0 {
			t.Errorf("%s: %v\n%s", path, err, &warnings)
		}
		if filepath.Base(path) != "qdissect.1" {
			continue
		}
		// Copied from the page, these must work in a shell.
		for _, want := range []string{"\n         qdissect -V -c 1 server.pcap", "-i, --interface interface\n", "qdissect-top(1)", "qdissect - Dissect game-server"} {
			if !strings.Contains(overstruck.ReplaceAllString(string(text), ""), want) {
				t.Errorf("%s lacks %q:\n%s", path, want, text)
			}
		}
	}
}

// commit is the end of the version of a commit, for which a page has no place.
var commit = regexp.MustCompile(`\.[0-9a-f]{12}.*`)

// overstruck is how grotty -c makes text bold.
var overstruck = regexp.MustCompile(".\b")

// documented returns the commands below c that have a page.
func documented(c *cobra.Command) (list []*cobra.Command) {
	for _, sub := range c.Commands() {
		if (sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand()) && sub.Name() != "help" {
			list = append(list, sub)
		}
	}
	return list
}

// manPage returns the manual page of a command.
func manPage(c *cobra.Command) []byte {
	var b bytes.Buffer
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %q 1 %q %q %q\n", strings.ToUpper(name), *manDate, "qdissect "+commit.ReplaceAllString(*manVersion, ""), "qdissect manual")
	b.WriteString(".ad l\n.nh\n")
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(c.Short))
	if c.Runnable() {
		fmt.Fprintf(&b, ".SH SYNOPSIS\n\\fB%s\\fR%s\n", roff(c.CommandPath()), roff(strings.TrimPrefix(c.UseLine(), c.CommandPath())))
	}
	long := c.Long
	switch {
	case !c.Runnable(): // a help topic
		var text bytes.Buffer
		c.Root().SetOut(&text)
		c.HelpFunc()(c, nil)
		long = text.String()
	case long == "":
		long = c.Short + "."
	}
	b.WriteString(".SH DESCRIPTION\n")
	example := false
	for paragraph := range strings.SplitSeq(strings.Trim(long, "\n"), "\n\n") {
		b.WriteString(".PP\n")
		for line := range strings.SplitSeq(paragraph, "\n") {
			if indented := strings.HasPrefix(line, "  "); indented != example {
				b.WriteString(map[bool]string{true: ".nf\n.in +2n\n", false: ".in\n.fi\n"}[indented])
				example = indented
			}
			b.WriteString(roff(strings.TrimPrefix(line, "  ")) + "\n")
		}
		if example {
			b.WriteString(".in\n.fi\n")
			example = false
		}
	}
	if flags := append(shown(c.NonInheritedFlags()), shown(c.InheritedFlags())...); len(flags) > 0 {
		b.WriteString(".SH OPTIONS\n")
		for _, f := range flags {
			b.WriteString(".TP\n")
			if f.Shorthand != "" {
				fmt.Fprintf(&b, "\\fB\\-%s\\fR, ", roff(f.Shorthand))
			}
			value, usage := pflag.UnquoteUsage(f)
			fmt.Fprintf(&b, "\\fB\\-\\-%s\\fR", roff(f.Name))
			if value != "" {
				fmt.Fprintf(&b, " \\fI%s\\fR", roff(value))
			}
			if !slices.Contains([]string{"", "false", "0", "0s", "[]"}, f.DefValue) {
				usage += " (default " + f.DefValue + ")"
			}
			b.WriteString("\n" + roff(usage) + "\n")
		}
	}
	var others []string
	if list := documented(c); len(list) > 0 {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range list {
			fmt.Fprintf(&b, ".TP\n\\fB%s\\fR(1)\n%s\n", roff(strings.ReplaceAll(sub.CommandPath(), " ", "-")), roff(sub.Short))
		}
	}
	if c.HasParent() {
		others = append(others, "\\fB"+roff(strings.ReplaceAll(c.Parent().CommandPath(), " ", "-"))+"\\fR(1)")
	}
	others = append(others, "https://github.com/qdissect/qdissect")
	fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(others, ", "))
	return b.Bytes()
}

// shown returns the flags that help shows.
func shown(set *pflag.FlagSet) (list []*pflag.Flag) {
	set.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			list = append(list, f)
		}
	})
	return list
}

// roff escapes text: a command that is copied from the page has the characters of ASCII.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, `"`, `\(dq`).Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}
