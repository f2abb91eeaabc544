package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/report"
)

// A section is a part of a help text with what stands in it, in order.
type section struct {
	title string
	names []string
}

// commandSections group the commands. What is in none of them stands at the end.
var commandSections = []section{
	{"Dissect", []string{"read", "live", "decode", "top", "web"}},
	{"Judge", []string{"report", "why", "query", "rules", "check", "diff"}},
	{"Share and replay captures", []string{"cut", "anonymize", "serve"}},
	{"Wireshark", []string{"lua", "extcap"}},
	{"Reference", []string{"demo", "explain", "protocols", "filter", "schema", "help", "completion", "version"}},
}

// flagSections group the flags that commands share. Those of one command stand before them.
var flagSections = []section{
	{"Input", []string{"read", "filter", "exact-filter", "since", "until", "series", "unit", "protocols", "decode-as", "jobs"}},
	{"Selection", []string{"display-filter", "count", "all", "quiet"}},
	{"Output", []string{"output", "field", "field-option", "raw-cells", "verbose", "hex", "time", "color", "width", "no-fold", "exchanges", "show-secrets", "line-buffered", "out", "force"}},
	{"Live capture", []string{"interface", "netns", "user", "list-interfaces", "promiscuous", "snapshot-length", "buffer-size", "autostop"}},
	{"Writing frames", []string{"write", "annotate", "ring-buffer", "on-write-error"}},
	{"Watching", []string{"stats-interval", "metrics", "metrics-servers", "on-verdict", "counts"}},
	{"Other", []string{"max-memory", "version", "help"}},
}

// shortLines is how many lines -h writes.
const shortLines = 30

// help writes the description of a command and its usage; of these, -h has what fits a screen.
func help(cmd *cobra.Command, short bool) {
	if short {
		var own, letters []string
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			switch name, text := leftOf(f), clause(f); {
			case f.Hidden || f.Name == "help":
			case f.Shorthand != "":
				letters = append(letters, fmt.Sprintf("%-27s %s", name, text))
			case !shared(f):
				own = append(own, fmt.Sprintf("%-27s %s", name, text))
			}
		})
		lines := append(own, letters...)
		if cmd.HasAvailableSubCommands() {
			lines = nil
			for _, c := range cmd.Commands() {
				if c.IsAvailableCommand() || c.Name() == "filter" {
					lines = append(lines, fmt.Sprintf("  %-11s %s", c.Name(), cutAt(c.Short)))
				}
			}
		}
		lines = lines[:min(len(lines), shortLines-6)]
		for i, line := range lines {
			if len(line) > screen {
				lines[i] = line[:screen-1] + "…"
			}
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s\nUsage: %s\n\n%s\n\n%s --help has all.\n", reflowed(cmd.Short), cmd.UseLine(), strings.Join(lines, "\n"), cmd.CommandPath())
		return
	}
	fmt.Fprint(cmd.OutOrStdout(), reflowed(cmp.Or(cmd.Long, cmd.Short)), "\n")
	_ = cmd.Usage()
}

// reflowed breaks the paragraphs of a text so that they fit a screen. Those with indented lines stay as they are.
func reflowed(text string) string {
	var b strings.Builder
	for i, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		if strings.HasPrefix(p, " ") || strings.HasPrefix(p, "\t") || strings.Contains(p, "\n ") || strings.Contains(p, "\n\t") {
			b.WriteString(p + "\n")
		} else {
			wrap(&b, p, "")
		}
	}
	return b.String()
}

// usage writes how a command is called, its subcommands and its flags.
func usage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n  ")
	wrap(&b, cmd.UseLine(), "    ")
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND [flags] ...\n", cmd.CommandPath())
		writeCommands(&b, cmd)
	}
	writeFlags(&b, cmd.LocalFlags())
	if !cmd.HasParent() {
		fmt.Fprintf(&b, "\n%s help COMMAND describes a command.\n", cmd.Name())
	}
	_, err := fmt.Fprint(cmd.OutOrStdout(), b.String())
	return err
}

func writeCommands(b *strings.Builder, cmd *cobra.Command) {
	left := map[string]*cobra.Command{}
	rest := section{title: "More"}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" || c.Name() == "filter" {
			left[c.Name()] = c
			rest.names = append(rest.names, c.Name())
		}
	}
	if cmd.HasParent() {
		rest.title = "Commands"
	}
	for _, s := range append(slices.Clone(commandSections), rest) {
		titled := false
		for _, name := range s.names {
			c := left[name]
			if c == nil {
				continue
			}
			delete(left, name)
			if !titled {
				fmt.Fprintf(b, "\n%s:\n", s.title)
				titled = true
			}
			fmt.Fprintf(b, "  %-11s ", name)
			wrap(b, c.Short, strings.Repeat(" ", 14))
		}
	}
}

// shared reports whether a flag is in a section of those that several commands have.
func shared(f *pflag.Flag) bool {
	return slices.ContainsFunc(flagSections, func(s section) bool { return slices.Contains(s.names, f.Name) })
}

func writeFlags(b *strings.Builder, flags *pflag.FlagSet) {
	own := section{title: "Flags"}
	flags.VisitAll(func(f *pflag.Flag) {
		if !shared(f) {
			own.names = append(own.names, f.Name)
		}
	})
	for _, s := range append([]section{own}, flagSections...) {
		titled := false
		for _, name := range s.names {
			f := flags.Lookup(name)
			if f == nil || f.Hidden {
				continue
			}
			if !titled {
				fmt.Fprintf(b, "\n%s:\n", s.title)
				titled = true
			}
			writeFlag(b, f)
		}
	}
}

// leftOf returns the name of a flag and of its value.
func leftOf(f *pflag.Flag) string {
	value, _ := pflag.UnquoteUsage(f)
	switch value {
	case "int", "uint":
		value = "N"
	case "string", "strings", "stringArray":
		value = "VALUE"
	case "duration":
		value = "TIME"
	}
	left := nettext.Either(f.Shorthand != "", "  -"+f.Shorthand+", --"+f.Name, "      --"+f.Name)
	switch {
	case value == "":
	case f.NoOptDefVal != "" && f.Value.Type() != "bool":
		left += "[" + value + "]"
	default:
		left += " " + strings.ToUpper(value)
	}
	return left
}

// clause returns the first words about a flag.
func clause(f *pflag.Flag) string {
	_, text := pflag.UnquoteUsage(f)
	if before, after, ok := strings.Cut(text, ": "); ok && (!strings.Contains(before, " ") || strings.HasPrefix(before, "with ")) {
		text = after
	}
	return cutAt(text)
}

// cutAt returns a text up to its first mark.
func cutAt(text string) string {
	if i := strings.IndexFunc(text, func(r rune) bool { return strings.ContainsRune(",;:(", r) }); i > 0 {
		text = strings.TrimSpace(text[:i])
	}
	return text
}

// usageOf returns what is said about a flag, with its default.
func usageOf(f *pflag.Flag) string {
	_, text := pflag.UnquoteUsage(f)
	if d := f.DefValue; !slices.Contains([]string{"", "0", "0s", "false", "[]", fmt.Sprint(automatic)}, d) && !strings.Contains(text, "default") {
		text += " (default " + d + ")"
	}
	return text
}

// writeFlag describes a flag.
func writeFlag(b *strings.Builder, f *pflag.Flag) {
	left := leftOf(f)
	const column = 28
	if n := utf8.RuneCountInString(left); n < column-1 {
		left += strings.Repeat(" ", column-n)
	} else {
		left += "\n"
	}
	b.WriteString(left)
	wrap(b, usageOf(f), strings.Repeat(" ", column))
}

// newHelp replaces the command of cobra, which accepts any topic.
func newHelp(environment) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Describe a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			found, rest, err := root.Find(args)
			if err == nil && len(rest) == 0 {
				found.InitDefaultHelpFlag()
				return found.Help()
			}
			name := strings.Join(args, " ")
			return unknown("no command is called", name, nettext.Closest(name, commandNames(root)), "see qdissect --help, and qdissect explain for findings, fields and protocols")
		},
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, begin string) ([]string, cobra.ShellCompDirective) {
			return beginning(commandNames(cmd.Root()), begin), cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// unknown is the error for a name that does not exist: it proposes the nearest one, or what to do if none is near.
func unknown(what, name, near, advice string) error {
	if near != "" {
		advice = "did you mean " + near + "?"
	}
	return fmt.Errorf("%s %q; %s", what, name, advice)
}

func commandNames(root *cobra.Command) []string {
	shown := slices.DeleteFunc(slices.Clone(root.Commands()), func(c *cobra.Command) bool { return c.Hidden })
	return nettext.Each(shown, (*cobra.Command).Name)
}

// misspelt returns an error if the first argument is no file and resembles a command.
func misspelt(args []string) error {
	if len(args) == 0 || strings.ContainsAny(args[0], `./\*?[{`) || args[0] == "-" {
		return nil
	}
	if _, err := os.Stat(args[0]); !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	all := newRoot(environment{}, nil)                       // that which runs has only what the arguments name
	names := append(commandNames(all), "help", "completion") // which cobra adds, to those that run
	if near := nettext.Closest(args[0], names); near != "" {
		return fmt.Errorf("%s: no such file or command; did you mean qdissect %s?", args[0], near)
	}
	return nil
}

func newVersion(env environment) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return printVersion(env) },
	}
}

func printVersion(env environment) error {
	_, err := fmt.Fprintf(env.out, "qdissect %s, output %s, %s %s/%s\n", versionText(), report.Schema, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// versionText returns the version of a release, or that which the go command gave the build.
func versionText() string {
	info, ok := debug.ReadBuildInfo()
	switch {
	case version != "":
		return version
	case !ok:
		return "(unknown)"
	}
	return cmp.Or(info.Main.Version, "(devel)")
}
