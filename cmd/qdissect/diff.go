package main

import (
	"errors"
	"fmt"

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
		Long: `Compare the conversations of two inputs: which messages were exchanged, and their
content. An input is a capture, or output saved with -o jsonl; - is standard input.

Without --strict, these differences are ignored: order of conversations, addresses,
ports, times, challenges, session ids, ids of split messages, and the wording of
summaries and findings.

  qdissect diff old.pcap new.pcap
  qdissect diff saved.jsonl new.pcap --ignore 'a2s.players[*].duration_s'

Exit status: 0 the same; 1 different; 2 error.`,
		RunE: func(_ *cobra.Command, args []string) error { return runDiff(args, &o, env) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.strict, "strict", false, "compare addresses, ports, ids, times and wording, too")
	o.add(f)
	return cmd
}

func runDiff(args []string, o *diffOptions, env environment) error {
	if len(args) != 2 {
		return fmt.Errorf("diff needs two inputs, %d given", len(args))
	}
	if args[0] == "-" && args[1] == "-" {
		return errors.New("standard input cannot be both inputs")
	}
	rules := golden.Rules{Wording: o.strict, Conversation: !o.strict}
	var err error
	if rules.Ignore, err = golden.ParsePatterns(o.ignore); err != nil {
		return err
	}
	format, err := o.reporter(env, "qdissect diff")
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
	footer := "different conversations"
	switch {
	case c.Problem != nil:
		footer = "not compared"
	case c.Result.Equal():
		footer = "the same conversations"
	}
	if err := errors.Join(format.Case(&c), format.End(footer)); err != nil {
		return err
	}
	return ended(len(trouble) > 0, c.Problem == nil && !c.Result.Equal())
}
