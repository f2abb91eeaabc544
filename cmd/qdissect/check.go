package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/qdissect/qdissect/internal/golden"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
)

// judgeOptions are the flags of check and diff.
type judgeOptions struct {
	ignore []string
	max    int
	format string
}

func (o *judgeOptions) add(f *pflag.FlagSet) {
	f.StringSliceVar(&o.ignore, "ignore", nil, "ignore the values at this `PATH` in the JSON, such as rtt_ns or a2s.players[*].score")
	f.IntVar(&o.max, "max", golden.DefaultMax, "show at most this many differences of each comparison")
	f.StringVar(&o.format, "format", "text", "output format: "+strings.Join(golden.Formats, ", "))
}

// reporter returns the writer of the results and a function that closes it.
func (o *judgeOptions) reporter(env environment, command string) (golden.Format, error) {
	if o.max < 1 {
		return nil, fmt.Errorf("--max %d: must be at least 1", o.max)
	}
	return golden.NewFormat(o.format, env.out, golden.FormatOptions{Command: command, Root: env.getenv("GITHUB_WORKSPACE")})
}

// checkOptions are the flags of check.
type checkOptions struct {
	judgeOptions
	update   bool
	relative bool
	strict   bool
}

func newCheck(env environment) *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check [flags] PATH...",
		Short: "Compare captures with their goldens",
		Long: `Compare captures with their goldens, the expected output: the golden of x.pcap is
x.golden.jsonl beside it. A PATH is a capture, or a folder that is searched for
captures. --update writes the goldens; read them before you commit them.

check compares messages, fields, and the ids and severities of findings. It
compares the wording of summaries and findings with --strict only. If only the
SHA-256 of the capture differs, bytes changed that no field shows. The golden of a
damaged file records the damage.

Values that may differ are named with --ignore.

  qdissect check --ignore 'rtt_ns,a2s.players[*].duration_s' testdata

Exit status: 0 all captures equal their goldens; 1 something differs, or a golden is
missing; 2 error, for example a capture that cannot be read.`,
		RunE: func(_ *cobra.Command, args []string) error { return runCheck(args, &o, env) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.update, "update", false, "write the goldens instead of comparing")
	f.BoolVar(&o.strict, "strict", false, "compare the wording of summaries and findings, too")
	f.BoolVar(&o.relative, "relative-time", false, "count times from the first packet, for captures that were taken again")
	o.add(f)
	return cmd
}

// A checking is a run of check.
type checking struct {
	o      *checkOptions
	env    environment
	rules  golden.Rules
	format golden.Format
	seen   map[string]string // captures by their goldens

	all, equal, different, missing, orphans, damaged, written int
	trouble                                                   bool
}

func runCheck(args []string, o *checkOptions, env environment) error {
	if len(args) == 0 {
		return errors.New("nothing to check; give captures, or a folder with captures")
	}
	ignore, err := golden.ParsePatterns(o.ignore)
	if err != nil {
		return err
	}
	format, err := o.reporter(env, "qdissect check")
	if err != nil {
		return err
	}
	makesGarbage.Store(true) // each capture leaves its tables
	c := &checking{o: o, env: env, rules: golden.Rules{Ignore: ignore, Relative: o.relative, Wording: o.strict}, format: format, seen: map[string]string{}}
	for _, path := range args {
		if err := c.path(path); err != nil {
			return err
		}
	}
	if o.update {
		_, err = fmt.Fprintln(env.out, c.footer())
	} else {
		err = format.End(c.footer())
	}
	if err != nil {
		return err
	}
	return ended(c.trouble, c.different+c.missing+c.orphans > 0)
}

// footer returns the closing line.
func (c *checking) footer() string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	if c.o.update {
		add(c.written, "written")
		add(c.equal, "unchanged")
	} else {
		add(c.equal, "equal")
		add(c.different, "different")
		add(c.missing, "without golden")
	}
	add(c.damaged, "damaged")
	add(c.all-c.equal-c.different-c.missing-c.written, "not read")
	line := nettext.Either(c.all == 0, "no captures", fmt.Sprintf("%s: %s", nettext.Count(c.all, "capture"), strings.Join(parts, ", ")))
	line += nettext.Either(c.orphans > 0, fmt.Sprintf("; goldens without capture: %d", c.orphans), "")
	return line
}

// path checks a capture, a golden, or all captures of a folder. It returns an error of
// the output only.
func (c *checking) path(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		if strings.HasSuffix(path, golden.Extension) && errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s: no such file", path)
		}
		return c.problem(path, err, false)
	case !info.IsDir():
		if strings.HasSuffix(path, golden.Extension) {
			return c.golden(path)
		}
		return c.capture(path)
	}
	var lost error // an error of the output
	captures, orphans, err := golden.Captures(path, func(path string, err error) {
		if errors.Is(err, golden.ErrNoFile) {
			complain(c.env, fmt.Errorf("%s: %w", path, err))
		} else {
			lost = errors.Join(lost, c.problem(path, err, false))
		}
	})
	if lost != nil {
		return lost
	}
	if err == nil && len(captures)+len(orphans) == 0 {
		err = fmt.Errorf("%s: no captures in this folder; their names end in .pcap, .pcapng or the like", path)
	}
	if err != nil {
		return c.problem(path, err, false)
	}
	for _, capture := range captures {
		if err := c.capture(capture); err != nil {
			return err
		}
	}
	for _, orphan := range orphans {
		if err := c.orphan(orphan); err != nil {
			return err
		}
	}
	return nil
}

// golden checks the capture of a golden, because users write check dir/*.
func (c *checking) golden(path string) error {
	captures, _, err := golden.Captures(filepath.Dir(path), func(string, error) {})
	if err != nil {
		return c.problem(path, err, false)
	}
	for _, capture := range captures {
		if golden.Path(capture) == filepath.Clean(path) {
			return c.capture(capture)
		}
	}
	return c.orphan(path)
}

// orphan reports a golden without a capture. Usually the capture was not committed.
func (c *checking) orphan(path string) error {
	if c.o.update {
		complain(c.env, fmt.Errorf("%s: the capture of this golden is missing", path))
		return nil
	}
	c.orphans++
	return c.format.Case(&golden.Case{Name: path, File: path, Problem: errors.New("the capture of this golden is missing"), Failed: true})
}

// problem reports a capture that could not be compared. It sets failed if that is a
// result of the check rather than an error.
func (c *checking) problem(name string, err error, failed bool) error {
	if !failed {
		c.trouble = true
		complain(c.env, err)
	}
	if c.o.update {
		return nil
	}
	return c.format.Case(&golden.Case{Name: name, File: name, Problem: err, Failed: failed})
}

func (c *checking) capture(path string) error {
	path = filepath.Clean(path)
	goldenPath := golden.Path(path)
	if other, ok := c.seen[goldenPath]; ok {
		if other == path {
			return nil
		}
		c.all++
		return c.problem(path, fmt.Errorf("%s and %s would have the same golden %s; rename one of them", path, other, goldenPath), false)
	}
	c.seen[goldenPath] = path
	c.all++
	if c.o.update {
		return c.updateGolden(path)
	}
	r, trouble, err := golden.Check(path, c.rules, c.o.max)
	switch {
	case errors.Is(err, golden.ErrNoGolden) && trouble == nil:
		c.missing++
		return c.problem(path, fmt.Errorf("no golden; qdissect check --update %s writes %s", shellWord(path), filepath.Base(goldenPath)), true)
	case errors.Is(err, golden.ErrNoGolden):
		return c.problem(path, trouble, false)
	case err != nil:
		return c.problem(path, err, false)
	case r == nil:
		return c.problem(path, trouble, false)
	}
	if trouble != nil {
		// Damage is part of the expected result if the golden records it. A golden
		// without a record of damage counts as neither right nor wrong.
		c.damaged++
		panicked := errors.As(trouble, new(pipeline.PanicError))
		c.trouble = c.trouble || !r.Equal() || panicked
		if !r.Equal() || r.Unstated || panicked {
			complain(c.env, trouble)
		}
	}
	if r.Equal() {
		c.equal++
	} else {
		c.different++
	}
	return c.format.Case(&golden.Case{Name: path, File: goldenPath, Result: r})
}

func (c *checking) updateGolden(path string) error {
	changed, d, err := golden.Update(path, false)
	if err == nil && !d.Opened {
		err = d.Trouble
	}
	if err != nil {
		return c.problem(path, err, false)
	}
	if d.Trouble != nil {
		c.damaged++
		complain(c.env, d.Trouble)
	}
	if d.Panics > 0 {
		c.trouble = true
		complain(c.env, d.Panics)
	}
	if !changed {
		c.equal++
		return nil
	}
	c.written++
	_, err = c.env.out.Write(append(nettext.AppendSafe([]byte("wrote "), []byte(golden.Path(path))), '\n'))
	return err
}
