package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/must"
)

// TestHelp: the help of every command fits a screen of 80 columns, and every command stands in a section.
func TestHelp(t *testing.T) {
	pages := [][]string{{"--help"}, {"help"}, {"help", "help"}, {"help", "filter"}}
	root := newRoot(environment{}, nil)
	root.InitDefaultCompletionCmd()
	var visit func(cmd *cobra.Command, path []string)
	visit = func(cmd *cobra.Command, path []string) {
		for _, c := range cmd.Commands() {
			below := append(slices.Clone(path), c.Name())
			pages = append(pages, append(slices.Clone(below), "--help"), append([]string{"help"}, below...))
			visit(c, below)
		}
	}
	visit(root, nil)
	for _, args := range append(pages, []string{"-h"}) {
		if n := len(args) - 1; args[n] == "--help" && args[0] != "filter" { // a topic
			short, _, _ := runIn(t, t.TempDir(), append(slices.Clone(args[:n]), "-h")...)
			if strings.Count(short, "\n") > shortLines || !strings.Contains(short, " --help has all.\n") {
				t.Errorf("%q -h:\n%s", args[:n], short)
			}
			for line := range strings.Lines(short) {
				if w := utf8.RuneCountInString(strings.TrimRight(line, "\n")); w > screen && !strings.HasPrefix(line, "Usage") {
					t.Errorf("%q -h: %d columns: %s", args[:n], w, line)
				}
			}
		}
		out, complaint, status := runIn(t, t.TempDir(), args...)
		if status != exitDone || complaint != "" || len(out) < 50 {
			t.Errorf("%q: status %d, %s%s", args, status, complaint, out)
		}
		for line := range strings.Lines(out) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > screen {
				t.Errorf("%q: %d columns: %s", args, n, line)
			}
		}
		if len(args) == 1 && args[0] == "--help" && strings.Contains(out, "\nMore:") {
			t.Errorf("commands stand in no section:\n%s", out)
		}
	}
}

var (
	manPages   = flag.String("man", "", "write the manual pages to this folder, as make packages does")
	manVersion = flag.String("man-version", "(devel)", "the version in manual pages")
	manDate    = flag.String("man-date", "2026-01-01", "the date in manual pages")
)

// TestManPages makes a manual page of each command, from what --help shows. With -man DIR it
// writes them: the program itself does not carry what only its packages need.
func TestManPages(t *testing.T) {
	dir := cmp.Or(*manPages, t.TempDir())
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
	for i, pages := range [][]string{pages[:1], pages[1:]} {
		var warnings bytes.Buffer
		cmd := exec.Command("groff", append([]string{"-man", "-Kutf8", "-Tutf8", "-ww", "-rLL=80n", "-P-c"}, pages...)...)
		cmd.Stderr = &warnings
		text, err := cmd.Output()
		if err != nil || warnings.Len() > 0 {
			t.Errorf("%v\n%s", err, &warnings) // which have the path
		}
		if i > 0 {
			continue
		}
		// Copied from the page, these must work in a shell.
		for _, want := range []string{"\n         qdissect -V -c 1 server.pcap", "-i, --interface INTERFACE\n", "--annotate[=tree]\n", "qdissect-top(1)", "qdissect - Dissect game-server"} {
			if !strings.Contains(overstruck.ReplaceAllString(string(text), ""), want) {
				t.Errorf("%s lacks %q:\n%s", pages, want, text)
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
			names, value, _ := strings.Cut(strings.TrimSpace(leftOf(f)), "--"+f.Name)
			fmt.Fprintf(&b, ".TP\n\\fB%s\\-\\-%s\\fR\\fI%s\\fR\n%s\n", roff(names), roff(f.Name), roff(value), roff(usageOf(f)))
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

// TestExplained: every finding is explained in sentences that fit a screen, and warnings and errors say what to do.
func TestExplained(t *testing.T) {
	for _, f := range append(display.Findings(), core.FragmentsForeign) {
		if !strings.HasSuffix(f.Doc, ".") || f.Advice != "" && !strings.HasSuffix(f.Advice, ".") || f.Advice == "" && f.Severity >= dissect.Warning {
			t.Errorf("%s (%s) is not explained: %q %q", f.ID, f.Severity, f.Doc, f.Advice)
		}
	}
	for _, name := range explained() {
		var b strings.Builder
		must.Do(t, explain(&b, name))
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > screen && len(strings.Fields(line)) > 2 {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
	}
}

// TestSample: no verb of a finding's text is left in its sample.
func TestSample(t *testing.T) {
	if got := sample("%d of %d {part|parts}: %p, %s, %x, %t, %r, %v"); got != "N of N parts: …, …, 0xN, N ms, N, N" {
		t.Errorf("%q", got)
	}
	for _, f := range display.Findings() {
		if s := sample(f.Text); strings.ContainsAny(s, "%{}|") {
			t.Errorf("%s: %q", f.ID, s)
		}
	}
}

// TestCompletion: the shells get names of protocols, formats, findings and fields.
func TestCompletion(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"explain", "a2s.split.mi"}, []string{"a2s.split.missing"}},
		{[]string{"read", "--protocols", "a2s,quake3-"}, []string{"a2s,quake3-master"}},
		{[]string{"--decode-as", "udp.port==9999,a2"}, []string{"udp.port==9999,a2s"}},
		{[]string{"live", "-o", "json"}, []string{"json", "jsonl"}},
		{[]string{"-i", "l"}, []string{"lo"}},
		{[]string{"-o", "fields", "-e", "a2s.ma"}, []string{"a2s.map", "a2s.max_players"}},
		{[]string{"-Y", "finding == a2s.split.mi"}, []string{"finding == a2s.split.missing"}},
		{[]string{"-Y", "players > 3 and server.na"}, []string{"players > 3 and server.name"}},
		{[]string{"-Y", "message == players"}, []string{"message == players_reply"}},
		{[]string{"-Y", "severity >= no"}, []string{"severity >= note"}},
		{[]string{"-Y", "protocol in {a2s, quake3-"}, []string{"protocol in {a2s, quake3-master"}},
		{[]string{"-Y", "!qd.a2s.ma"}, []string{"!qd.a2s.map", "!qd.a2s.max_players"}},
		{[]string{"-Y", "map == a2"}, nil},
		{[]string{"-Y", "a2s.noreply"}, nil},
		{[]string{"-t", ""}, []string{"r", "d", "a", "ad", "e"}},
		{[]string{"protocols", "teew"}, []string{"teeworlds"}},
		{[]string{"decode", "--as", "teew"}, []string{"teeworlds"}},
		{[]string{"help", "anon"}, []string{"anonymize"}},
		{[]string{"check", "--format", "ju"}, []string{"junit"}},
		{[]string{"read", "--fi"}, []string{"--field", "--field-option", "--filter"}},
	} {
		out, _, status := runIn(t, t.TempDir(), append([]string{"__complete"}, c.args...)...)
		var got []string
		for line := range strings.Lines(out) {
			if name, about, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); !strings.HasPrefix(name, ":") {
				if strings.Contains(about, "`") {
					t.Errorf("%q is explained with %q", name, about)
				}
				got = append(got, name)
			}
		}
		if slices.Sort(got); len(slices.Compact(slices.Clone(got))) < len(got) {
			t.Errorf("%q is completed with something twice: %q", c.args, got)
		}
		missing := slices.DeleteFunc(c.want, func(w string) bool { return slices.Contains(got, w) })
		if len(missing) > 0 || status != exitDone {
			t.Errorf("%q is completed with %q, without %q", c.args, got, missing)
		}
	}
}

// TestContradictions checks that the words of the table are defined and used, and that a row
// needs all of its words.
func TestContradictions(t *testing.T) {
	said := (&plan{o: new(readOptions)}).said(new(pflag.FlagSet), nil)
	used := map[string]bool{}
	for _, row := range contradictions {
		for word := range strings.FieldsSeq(row.when) {
			for w := range strings.SplitSeq(strings.TrimPrefix(word, "!"), "|") {
				used[w] = true
			}
		}
	}
	if mean, used := slices.Sorted(maps.Keys(said)), slices.Sorted(maps.Keys(used)); !slices.Equal(mean, used) {
		t.Errorf("words that mean something: %q, in rows: %q", mean, used)
	}
	for when, want := range map[string]bool{"a": true, "a !b": true, "!b !c": true, "c|a": true, "b": false, "a b": false, "!a": false, "!b|a": false, "b|c": false} {
		if applies(when, map[string]bool{"a": true}) != want {
			t.Errorf("%q", when)
		}
	}
}

// TestAsksHere asks a server by names.
func TestAsksHere(t *testing.T) {
	loopback, all := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9317}, &net.TCPAddr{IP: net.IPv4zero, Port: 9317}
	for host, want := range map[string]bool{
		"": true, "localhost": true, "localhost:9317": true, "127.0.0.1:9317": true, "127.8.9.1": true, "[::1]:9317": true, "[::1]": true,
		"example.com": false, "example.com:9317": false, "localhost.example.com": false, "192.0.2.1:9317": false, "127.0.0.1.example.com": false,
	} {
		if got := asksHere(loopback, host); got != want {
			t.Errorf("%q: %v, want %v", host, got, want)
		}
		if !asksHere(all, host) {
			t.Errorf("%q is refused where others reach the server", host)
		}
	}
}
