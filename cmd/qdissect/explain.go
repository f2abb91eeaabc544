package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/stats"
)

func newExplain(env environment) *cobra.Command {
	return &cobra.Command{
		Use:   "explain NAME...",
		Short: "Explain findings, fields and protocols",
		Long: `Explain what a finding means, what else could be its cause, and what to do. NAME
is a finding, a field or a protocol as the output shows it, or the beginning of
the names of several findings. qdissect protocols --findings lists all.

  qdissect explain a2s.split.missing
  qdissect explain a2s.split          findings that begin like this
  qdissect explain a2s.info.map       a field
  qdissect explain rtt                a name of -Y
  qdissect explain quake3             a protocol with its findings
  qdissect explain one_direction      a cause of qdissect why`,
		RunE: func(_ *cobra.Command, args []string) error {
			var b strings.Builder
			if len(args) == 0 {
				return errors.New("explain what? qdissect protocols --findings lists the findings, and --fields the fields")
			}
			for i, name := range args {
				if i > 0 {
					b.WriteByte('\n')
				}
				if err := explain(&b, name); err != nil {
					return err
				}
			}
			_, err := fmt.Fprint(env.out, b.String())
			return err
		},
		ValidArgsFunction: func(_ *cobra.Command, _ []string, begin string) ([]string, cobra.ShellCompDirective) {
			return beginning(explained(), begin), cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// screen is the width of text that is read rather than processed.
const screen = 80

// explain writes what a name means.
func explain(b *strings.Builder, name string) error {
	name = strings.ToLower(strings.TrimSpace(name))
	known := all.Protocols()
	var group []*dissect.FindingType
	for _, f := range display.Findings() {
		if f.ID == name {
			explainFinding(b, f)
			return nil
		}
		if strings.HasPrefix(f.ID, strings.TrimSuffix(name, ".")+".") {
			group = append(group, f)
		}
	}
	if p := lookup(known, name); p != nil {
		writeProtocols(b, []*dissect.Protocol{p})
		fmt.Fprintf(b, "\nFindings (qdissect explain NAME):\n")
		for _, f := range p.Catalog.Findings() {
			listFinding(b, f)
		}
		return nil
	}
	if len(group) > 0 {
		for _, f := range group {
			listFinding(b, f)
		}
		return nil
	}
	if f, p := fieldOf(known, name); f != nil {
		explainField(b, f, p)
		return nil
	}
	for _, n := range display.Names() {
		if n.Name == name {
			fmt.Fprintf(b, "%s (%s)\n", n.Name, n.Type)
			wrap(b, n.Doc, "  ")
			b.WriteString("  A name of -Y and -e, of all protocols: qdissect help filter lists them.\n")
			return nil
		}
	}
	if explainCause(b, name) {
		return nil
	}
	return unknown("nothing is called", name, nettext.Closest(name, explained()), "qdissect protocols --findings lists the findings, and --fields the fields")
}

// explained returns the names that can be explained, sorted.
func explained() []string {
	names := slices.Concat(
		nettext.Each(display.Findings(), func(f *dissect.FindingType) string { return f.ID }),
		nettext.Each(display.Names(), func(n display.Name) string { return n.Name }),
		nettext.Each(stats.Causes(), func(c stats.Cause) string { return c.ID }),
	)
	for _, p := range all.Protocols() {
		names = append(append(names, p.Name), nettext.Each(p.Catalog.Fields(), func(f *dissect.Field) string { return f.Path })...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// fieldOf returns the field with a path, or with the name that JSON and filters have for it.
func fieldOf(list []*dissect.Protocol, name string) (*dissect.Field, *dissect.Protocol) {
	for _, p := range list {
		for _, f := range p.Catalog.Fields() {
			if f.Path == name || p.JSONKey()+"."+f.JSONName() == name {
				return f, p
			}
		}
	}
	return nil, nil
}

var severityDocs = [...]string{
	dissect.Chat:    "a fact of the conversation: nothing is wrong",
	dissect.Note:    "unusual but legal",
	dissect.Warning: "a mistake that other programs may not tolerate",
	dissect.Failed:  "data that cannot be decoded or reassembled",
}

func explainFinding(b *strings.Builder, f *dissect.FindingType) {
	fmt.Fprintf(b, "%s\n  %s: %s\n", f.ID, f.Severity, severityDocs[f.Severity])
	wrap(b, "\""+sample(f.Text)+"\"", "  ")
	b.WriteString("\nMeaning and causes\n")
	wrap(b, f.Doc, "  ")
	b.WriteString("\nWhat to do\n")
	nothing := nettext.Either(f.Severity == dissect.Chat, "Nothing.", "Nothing, unless something does not work as it should.")
	wrap(b, cmp.Or(f.Advice, nothing), "  ")
	fmt.Fprintf(b, "\nWhere\n  qdissect -Y 'finding == %s' FILE\n", f.ID)
}

// sample returns the text of a finding with letters for its arguments.
func sample(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '{':
			_, many, _ := strings.Cut(text[i:], "|")
			many, _, _ = strings.Cut(many, "}")
			b.WriteString(many)
			i += strings.IndexByte(text[i:], '}')
		case c == '%' && i+1 < len(text):
			i++
			b.WriteString(map[byte]string{'d': "N", 'v': "N", 'r': "N", 'x': "0xN", 't': "N ms"}[text[i]])
			if text[i] == 's' || text[i] == 'p' {
				b.WriteString("…")
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func explainField(b *strings.Builder, f *dissect.Field, p *dissect.Protocol) {
	kind := f.Kind.String()
	kind += nettext.Either(f.Secret, ", masked unless --show-secrets is given", "")
	fmt.Fprintf(b, "%s (%s)\n", f.Path, kind)
	wrap(b, strings.TrimSpace(f.Doc+" "+valueList(f)), "  ")
	fmt.Fprintf(b, "  Protocol: %s\n", p.Title)
	if f.Framing {
		b.WriteString("  It is in the tree only (-V, -x).\n")
	} else {
		fmt.Fprintf(b, "  In JSON and filters: %s.%s\n", p.JSONKey(), f.JSONName())
	}
}

// listFinding writes one line about a finding.
func listFinding(b *strings.Builder, f *dissect.FindingType) {
	line := []rune(fmt.Sprintf("  %-30s %-7s %s", f.ID, f.Severity, sample(f.Text)))
	if len(line) > screen {
		line = append(line[:screen-1], '…')
	}
	b.WriteString(string(line) + "\n")
}

// beginning returns the names that begin with a text.
func beginning(names []string, text string) []string {
	return slices.DeleteFunc(names, func(s string) bool { return !strings.HasPrefix(s, text) })
}

// whyStatus is the exit status of why for a state.
var whyStatus = map[stats.State]int{stats.Answers: exitDone, stats.Trouble: exitJudged, stats.Unclear: exitUnclear}

// writeCauses lists the causes of why.
func writeCauses(b *strings.Builder, markdown bool) {
	if !markdown {
		for _, c := range stats.Causes() {
			fmt.Fprintf(b, "%-22s %d  %-8s ", c.ID, whyStatus[c.State], c.Certainty)
			wrap(b, c.Needs, strings.Repeat(" ", 34))
		}
		return
	}
	b.WriteString("# Causes\n\nGenerated by `qdissect protocols --causes --markdown`: why a server does not show up, as `qdissect why` says it. The causes\n" +
		"are tried in this order, what is certain before what is likely, and one that explains what an earlier one explains is not said.\n" +
		"Status is the exit status if it is the first: 0 it answers, 1 a problem, 3 the capture does not tell.\n\n| id | status | certainty | evidence | words | what to do |\n|---|---|---|---|---|---|\n")
	for _, c := range stats.Causes() {
		words := nettext.Either(c.Words == "{verdict}", "those of the report", c.Words)
		advice := strings.TrimSuffix(c.Advice, "{one}")
		switch advice {
		case "{advice}":
			advice = "that of the report"
		case "{enable}":
			advice = "what the game of that port needs to answer queries over UDP"
		}
		fmt.Fprintf(b, "| `%s` | %d | %s | %s | %s | %s |\n", c.ID, whyStatus[c.State], c.Certainty, c.Needs, words, advice)
	}
}

// explainCause writes what a cause of why means, and reports whether there is one with a name.
func explainCause(b *strings.Builder, name string) bool {
	for _, c := range stats.Causes() {
		if c.ID != name {
			continue
		}
		fmt.Fprintf(b, "%s\n  a cause of qdissect why: %s, exit status %d\n", c.ID, c.Certainty, whyStatus[c.State])
		wrap(b, "\""+c.Words+"\"", "  ")
		b.WriteString("\nEvidence\n")
		wrap(b, c.Needs, "  ")
		b.WriteString("\nWhat to do\n")
		wrap(b, c.Advice, "  ")
		return true
	}
	return false
}
