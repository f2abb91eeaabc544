package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/internal/golden"
)

// diffOptions are the flags of diff.
type diffOptions struct {
	judgeOptions
	strict bool
}

func newDiff(env environment) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff [flags] A B",
		Short: "Compare two captures as conversations",
		Long: `Compare two captures, or two outputs that were saved with -o jsonl, or one of
each, as conversations: which messages were exchanged, and what they say. The
order of conversations, addresses, ports, times, the challenges, session ids and
ids of split messages that the sides chose, and the wording of summaries and
findings make no difference, unless --strict is given. - is standard input.

  qdissect diff old.pcap new.pcap
  qdissect diff saved.jsonl new.pcap --ignore 'a2s.players[*].duration_s'

The files ` + golden.ConfigName + ` beside A and B count as for qdissect check.

Exit status: 0 the same; 1 different; 2 trouble.`,
		RunE: func(_ *cobra.Command, args []string) error { return runDiff(args, &o, env) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.strict, "strict", false, "addresses, ports, ids, times and wording must be the same as well")
	o.add(f)
	return cmd
}

func runDiff(args []string, o *diffOptions, env environment) error {
	if len(args) != 2 {
		return fmt.Errorf("%d inputs given, diff compares two", len(args))
	}
	if args[0] == "-" && args[1] == "-" {
		return errors.New("standard input cannot be both sides")
	}
	rules := golden.Rules{Wording: o.strict, Conversation: !o.strict}
	var err error
	if rules.Ignore, err = golden.ParsePatterns(o.ignore); err != nil {
		return err
	}
	for _, name := range args {
		if name == "-" {
			continue
		}
		config, err := golden.FindConfig(filepath.Dir(name))
		if err != nil {
			return err
		}
		rules.Ignore = append(rules.Ignore, config.Rules().Ignore...)
	}
	format, done, err := o.reporter(env, "qdissect diff")
	if err != nil {
		return err
	}
	c := golden.Case{Name: args[0] + " " + args[1], File: args[1]}
	var trouble []error
	c.Result, trouble, c.Problem = golden.Diff(args[0], args[1], rules, o.max, env.in)
	if c.Problem != nil {
		trouble = append(trouble, c.Problem)
	}
	for _, err := range trouble {
		complain(env, err)
	}
	footer := ""
	switch {
	case c.Problem != nil:
		footer = "not compared"
	case c.Result.Equal():
		footer = "the same conversations"
	default:
		footer = "different conversations"
	}
	if err := errors.Join(format.Case(&c), format.End(footer), done()); err != nil {
		return err
	}
	switch {
	case len(trouble) > 0:
		return status(exitTrouble)
	case !c.Result.Equal():
		return status(exitJudged)
	}
	return nil
}
