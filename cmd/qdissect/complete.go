package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/display"
	"github.com/qdissect/qdissect/internal/nettext"
)

// complete makes shells know the values of flags, by the name of the flag. It is called only to complete.
func complete(cmd *cobra.Command) {
	fixed := func(values ...string) func() []string { return func() []string { return values } }
	for name, values := range map[string]func() []string{
		"protocols":      display.ProtocolNames,
		"decode-as":      display.ProtocolNames,
		"as":             display.ProtocolNames,
		"interface":      interfaceNames,
		"iface":          interfaceNames,
		"output":         formatsOf(cmd, "output"),
		"format":         formatsOf(cmd, "format"),
		"time":           fixed("r", "d", "a", "ad", "e"),
		"color":          fixed("auto", "always", "never"),
		"field":          display.AllNames,
		"display-filter": display.AllNames,
		"on-write-error": fixed("stop", "continue"),
		"annotate":       fixed("line", "tree"),
		"autostop":       fixed("duration:", "filesize:", "files:", "packets:"),
		"ring-buffer":    fixed("filesize:", "duration:", "interval:", "packets:", "files:"),
	} {
		if cmd.Flags().Lookup(name) == nil || values == nil {
			continue
		}
		_ = cmd.RegisterFlagCompletionFunc(name, func(_ *cobra.Command, _ []string, begin string) ([]string, cobra.ShellCompDirective) {
			// What stands before the last comma, blank, bracket or operator stays, and qd. in front of a name.
			at := strings.LastIndexAny(begin, ", (){}") + 1
			all := values()
			if name == "display-filter" {
				at = strings.LastIndexAny(begin, " (){},!&|=<>~\"") + 1
				all = display.Expected(begin[:at])
				at += len(begin[at:]) - len(strings.TrimPrefix(begin[at:], "qd."))
			}
			list := beginning(all, begin[at:])
			for i := range list {
				list[i] = begin[:at] + list[i]
			}
			directive := cobra.ShellCompDirectiveNoFileComp
			if name == "autostop" || name == "ring-buffer" {
				directive |= cobra.ShellCompDirectiveNoSpace
			}
			return list, directive
		})
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { _, f.Usage = pflag.UnquoteUsage(f) }) // without the marks of values
	if cmd.Name() == "protocols" {
		cmd.ValidArgsFunction = func(_ *cobra.Command, _ []string, begin string) ([]string, cobra.ShellCompDirective) {
			return beginning(display.ProtocolNames(), begin), cobra.ShellCompDirectiveNoFileComp
		}
	}
}

// formatsOf returns the values of --format or -o that the help of a command names, nil if -o names a file.
func formatsOf(cmd *cobra.Command, flag string) func() []string {
	f := cmd.Flags().Lookup(flag)
	if f == nil || f.DefValue == "" {
		return nil
	}
	words := strings.FieldsFunc(f.Usage, func(r rune) bool { return r < 'a' || r > 'z' })
	return func() []string {
		return slices.DeleteFunc([]string{"text", "json", "jsonl", "fields", "parquet", "html", "junit", "github"}, func(v string) bool { return !slices.Contains(words, v) })
	}
}

func interfaceNames() []string {
	list, _ := capture.Interfaces("")
	return namesOf(list)
}

func namesOf(list []capture.Interface) []string {
	return nettext.Each(list, func(i capture.Interface) string { return i.Name })
}

// quotes are changes to the scripts of cobra, which complete nothing in quotes that are still open: they evaluate what was typed.
var quotes = map[string]*strings.Replacer{
	"bash": strings.NewReplacer(`    out=$(eval "${requestComp}"`, `    quote=${cur:0:1}
    case $quote in
    \' | '"') requestComp+=$quote cur=${cur:1} ;;
    *) quote= ;;
    esac
    out=$(eval "${requestComp}"`, "    __qdissect_process_completion_results\n}", `    __qdissect_process_completion_results
    if [[ $quote ]] && (( ${#COMPREPLY[@]} == 1 )); then
        COMPREPLY[0]=${COMPREPLY[0]//\\/} # no escapes there
    fi
}`, "local cur prev words", "local quote cur prev words"),
	"zsh": strings.NewReplacer("    out=$(eval ${requestComp}", "    requestComp+=${compstate[quote]}\n    out=$(eval ${requestComp}"),
}

// completeInQuotes writes the script of a shell.
func completeInQuotes(cmd *cobra.Command, _ []string) error {
	var b bytes.Buffer
	root := cmd.Root()
	plain, _ := cmd.Flags().GetBool("no-descriptions")
	write := root.GenZshCompletion
	switch {
	case cmd.Name() == "bash":
		write = func(w io.Writer) error { return root.GenBashCompletionV2(w, !plain) }
	case plain:
		write = root.GenZshCompletionNoDesc
	}
	if err := write(&b); err != nil {
		return err
	}
	_, err := quotes[cmd.Name()].WriteString(root.OutOrStdout(), b.String())
	return err
}

// nameShells makes an unknown shell an error. Cobra prints help.
func nameShells(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		for _, shell := range cmd.Commands() {
			if quotes[shell.Name()] != nil {
				shell.RunE = completeInQuotes
			}
		}
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return fmt.Errorf("unknown shell %q; use %s", args[0], strings.Join(commandNames(cmd), ", "))
		}
	}
}
