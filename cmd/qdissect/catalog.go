package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/games"
	"github.com/qdissect/qdissect/internal/nettext"
)

func newProtocols(env environment) *cobra.Command {
	var fields, findings, causes, markdown, allGames bool
	var game string
	cmd := &cobra.Command{
		Use:   "protocols [PROTOCOL...]",
		Short: "List the protocols, their messages, fields and findings, and their games",
		RunE: func(cmd *cobra.Command, args []string) error {
			byGame := cmd.Flags().Changed("game")
			if (byGame || allGames) && len(args) > 0 {
				return fmt.Errorf("--game and --games take no protocols")
			}
			list, err := selected(args)
			named := games.All()
			if byGame {
				named, err = findGames(game)
			}
			if err != nil {
				return err
			}
			var b strings.Builder
			switch {
			case fields:
				writeFields(&b, list, markdown)
			case findings:
				writeFindings(&b, list, markdown)
			case causes:
				writeCauses(&b, markdown)
			case byGame || allGames:
				writeGames(&b, named, markdown)
			case len(args) == 0:
				writeGroups(&b, list)
			default:
				writeProtocols(&b, list)
			}
			_, err = fmt.Fprint(env.out, b.String())
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVar(&fields, "fields", false, "list the fields")
	f.BoolVar(&findings, "findings", false, "list the findings")
	f.BoolVar(&causes, "causes", false, "list the causes of qdissect why")
	f.StringVar(&game, "game", "", "list the protocols of a game: its `id` in gamedig, or words of its name")
	f.BoolVar(&allGames, "games", false, "list all games")
	f.BoolVar(&markdown, "markdown", false, "write Markdown, as the documentation has it")
	cmd.MarkFlagsMutuallyExclusive("fields", "findings", "causes", "game", "games")
	return cmd
}

// writeProtocols describes protocols with their messages.
func writeProtocols(b *strings.Builder, list []*dissect.Protocol) {
	column := 14
	for _, p := range list {
		column = max(column, len(p.Name))
	}
	indent := strings.Repeat(" ", column+1)
	for i, p := range list {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(b, "%-*s %s\n", column, p.Name, p.Title)
		wrap(b, p.Doc, indent)
		wrap(b, "Source: "+p.Source, indent)
		ports := "Ports: " + portList(p.Ports)
		ports += nettext.Either(p.OverTCP(), " (TCP)", "")
		wrap(b, ports, indent)
		if ids := gameIDs(p); len(ids) > 0 {
			wrap(b, "Games: "+strings.Join(ids, ", "), indent)
		}
		for _, m := range p.Catalog.Messages() {
			fmt.Fprintf(b, "  %-24s %-8s ", m.Name, m.Role)
			wrap(b, m.Doc, strings.Repeat(" ", 36))
		}
	}
}

// portList formats ports and joins consecutive ones: 27000-27050, 28015.
func portList(ports []uint16) string {
	var parts []string
	for i := 0; i < len(ports); {
		j := i
		for j+1 < len(ports) && ports[j+1] == ports[j]+1 {
			j++
		}
		s := strconv.Itoa(int(ports[i]))
		s += nettext.Either(j > i, "-"+strconv.Itoa(int(ports[j])), "")
		parts = append(parts, s)
		i = j + 1
	}
	return nettext.Either(len(parts) == 0, "none", strings.Join(parts, ", "))
}

// wrap writes text in lines of at most 80 columns. It indents all lines but the
// first; it indents the first as well if that starts a new line.
func wrap(b *strings.Builder, text, indent string) {
	if strings.HasSuffix(b.String(), "\n") {
		b.WriteString(indent)
	}
	nettext.Wrap(b, strings.Fields(text), screen, indent)
}

func writeFields(b *strings.Builder, list []*dissect.Protocol, markdown bool) {
	if markdown {
		b.WriteString("# Fields\n\nGenerated from the catalogs by `qdissect protocols --fields --markdown`. The last element of a path is the key in\nthe JSON output, under the name of the protocol; fields of framing are in the tree (`-V`, `-x`) only. A decimal is a JSON number;\ntext in its place has `_text` after the key, but for the elements of lists.\n")
	}
	for _, p := range list {
		if markdown {
			fmt.Fprintf(b, "\n## %s: %s\n\n| path | kind | meaning |\n|---|---|---|\n", p.Name, p.Title)
		}
		for _, f := range p.Catalog.Fields() {
			kind := f.Kind.String()
			kind += nettext.Either(f.Framing, ", framing", "")
			if f.Secret {
				kind += ", secret"
			}
			doc := f.Doc
			kind += nettext.Either(f.JSONName() != f.Key(), ", "+f.JSONName()+" in JSON", "")
			if values := valueList(f); values != "" {
				doc += " " + values
			}
			if markdown {
				fmt.Fprintf(b, "| `%s` | %s | %s |\n", f.Path, kind, strings.ReplaceAll(doc, "|", `\|`))
				continue
			}
			fmt.Fprintf(b, "%-38s %-15s ", f.Path, kind)
			wrap(b, doc, strings.Repeat(" ", 55))
		}
	}
}

func valueList(f *dissect.Field) string {
	var parts []string
	for _, n := range f.Names {
		if n.Text != "" {
			parts = append(parts, n.Text+" = "+n.Name)
		} else if f.Kind == dissect.Char && n.Value >= ' ' {
			parts = append(parts, fmt.Sprintf("%c = %s", rune(n.Value), n.Name))
		} else {
			parts = append(parts, fmt.Sprintf("%d = %s", n.Value, n.Name))
		}
	}
	parts = append(parts, nettext.Each(f.Bits, func(n dissect.Name) string { return fmt.Sprintf("0x%02x = %s", n.Value, n.Name) })...)
	return nettext.Either(len(parts) == 0, "", "("+strings.Join(parts, ", ")+")")
}

func writeFindings(b *strings.Builder, list []*dissect.Protocol, markdown bool) {
	groups := append([]findingGroup{{"all protocols", dissect.CommonFindings()}},
		nettext.Each(list, func(p *dissect.Protocol) findingGroup { return findingGroup{p.Name, p.Catalog.Findings()} })...)
	if markdown {
		writeFindingsPage(b, groups)
		return
	}
	for _, g := range groups {
		for _, f := range g.types {
			fmt.Fprintf(b, "%-30s %-8s ", f.ID, f.Severity)
			wrap(b, f.Doc, strings.Repeat(" ", 40))
		}
	}
}

type findingGroup struct {
	title string
	types []*dissect.FindingType
}

// writeFindingsPage writes the findings in Markdown. Advice that several of them share stands once, under a number.
func writeFindingsPage(b *strings.Builder, groups []findingGroup) {
	const page = "# Findings\n\nGenerated from the catalogs by `qdissect protocols --findings --markdown`. Severities: *chat* is a fact about the\nconversation, *note* is unusual but legal, *warning* is a mistake that other programs may not tolerate, *error* is data\nthat cannot be decoded or reassembled. Advice that several findings share has a number and stands [at the end](#advice).\n"
	b.WriteString(page)
	uses, numbers := map[string]int{}, map[string]int{}
	for _, g := range groups {
		for _, f := range g.types {
			uses[f.Advice]++
		}
	}
	var shared []string
	escape := strings.NewReplacer("|", `\|`)
	for _, g := range groups {
		fmt.Fprintf(b, "\n## %s\n\n| id | severity | meaning | what to do |\n|---|---|---|---|\n", g.title)
		for _, f := range g.types {
			advice := escape.Replace(f.Advice)
			if f.Advice != "" && uses[f.Advice] > 1 {
				if numbers[f.Advice] == 0 {
					shared = append(shared, f.Advice)
					numbers[f.Advice] = len(shared)
				}
				advice = fmt.Sprintf("[Advice %d](#advice-%d)", numbers[f.Advice], numbers[f.Advice])
			}
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", f.ID, f.Severity, escape.Replace(f.Doc), advice)
		}
	}
	b.WriteString("\n## Advice\n")
	for i, advice := range shared {
		fmt.Fprintf(b, "\n### Advice %d\n\n%s\n", i+1, advice)
	}
}
