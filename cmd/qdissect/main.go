// Command qdissect reads packet captures and prints the game-server query traffic in
// them.
package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/qdissect/qdissect/internal/lazyregexp"
	"github.com/qdissect/qdissect/internal/nettext"
)

func main() {
	keepSmall(os.Getenv)
	os.Exit(run(os.Args[1:], environment{in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv}))
}

// An environment is what a command uses besides its arguments.
type environment struct {
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string
}

// Exit statuses.
const (
	exitDone    = 0 // done
	exitJudged  = 1 // findings or differences, where the command judges
	exitTrouble = 2 // wrong usage, unreadable or damaged input
)

// A status is an error that only sets the exit status. Its command has already printed
// the reason.
type status int

func (s status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// ended returns the status of a run that has done its work, perhaps with trouble, or with something to judge.
func ended(troubled, judged bool) error {
	switch {
	case troubled:
		return status(exitTrouble)
	case judged:
		return status(exitJudged)
	}
	return nil
}

// run executes the command line and returns the exit status.
func run(args []string, env environment) int {
	root := newRoot(env, args)
	root.SetArgs(args)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		for _, cmd := range append(root.Commands(), root) {
			complete(cmd)
		}
	}
	err := root.Execute()
	var s status
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &s):
		return int(s)
	}
	complain(env, err)
	return exitTrouble
}

// incomplete matches the name that a file of package whole has until it is complete. Users know
// only its final name.
var incomplete = lazyregexp.New(`\.new-\d+-([^/]*?)\.part\b`)

// brief returns the text of an error.
func brief(err error) string {
	text := strings.TrimSpace(err.Error())
	if path, ok := errors.AsType[*fs.PathError](err); ok { // the operation (open, stat) adds nothing
		short := path.Path + ": " + path.Err.Error()
		text = strings.ReplaceAll(strings.ReplaceAll(text, path.Path+": "+path.Error(), short), path.Error(), short)
	}
	return incomplete().ReplaceAllString(text, "$1")
}

// complain writes an error as one line. Names that the error quotes are made safe for
// a terminal.
func complain(env environment, err error) {
	text, lines := brief(err), []string(nil)
	if p := new(pointed); errors.As(err, p) { // the filter has quoted these lines itself
		text, lines = strings.TrimSuffix(text, "\n"+p.err.Show()), strings.Split(p.err.Show(), "\n")
	}
	b := []byte("qdissect: ")
	for i, piece := range strings.Split(text, `\`) { // do not escape a second time
		if i > 0 {
			b = append(b, '\\')
		}
		b = nettext.AppendSafe(b, []byte(piece))
	}
	for _, line := range lines {
		b = append(b, "\n  "...)
		b = append(b, line...)
	}
	env.err.Write(append(b, '\n'))
}

// tsharks are flags of tshark that do not exist here, with what does the same.
var tsharks = map[byte]string{
	'T': "tshark's -T is -o: -o json, jsonl, or fields with -e", 'G': "tshark's -G fields is qdissect protocols --fields",
	'z': "tshark's -z is qdissect report, or qdissect top for a look around",
}

// flagError explains an error of a flag of a command. It replaces the messages of package strconv.
func flagError(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "" && (!cmd.HasParent() || cmd.Name() == "read") {
		if hint := tsharks[unknown.GetSpecifiedShortnames()[0]]; hint != "" {
			return fmt.Errorf("%w; %s", err, hint)
		}
	}
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		if !cmd.HasParent() && newRead(environment{}).Flags().Lookup(unknown.GetSpecifiedName()) != nil {
			return fmt.Errorf("--%[1]s is a flag of qdissect read: qdissect read --%[1]s", unknown.GetSpecifiedName())
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := nettext.Closest(unknown.GetSpecifiedName(), names); near != "" {
			return fmt.Errorf("%w; did you mean --%s?", err, near)
		}
		fallthrough
	case !errors.As(err, &value):
		return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
	}
	f := value.GetFlag()
	name := nettext.Either(f.Shorthand != "", "-"+f.Shorthand, "--"+f.Name)
	wanted := map[string]string{
		"int": "a whole number", "uint64": "a positive whole number", "uint16": "a number from 0 to 65535", "duration": "a time such as 10s or 2m",
		"bool": "true or false",
	}[f.Value.Type()]
	switch {
	case wanted == "":
		return fmt.Errorf("%s %s: %w", name, value.GetValue(), value.Unwrap())
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%s %s: out of range", name, value.GetValue())
	}
	return fmt.Errorf("%s %s: not %s", name, value.GetValue(), wanted)
}

const rootHelp = `qdissect reads packet captures and prints the game-server query traffic in them,
as text for people or JSON for programs. It finds the messages on any port. It
reassembles, decompresses and decodes them, and pairs requests with replies.

  qdissect server.pcap              one line per message
  qdissect -V -c 1 server.pcap      the first message with all its fields
  qdissect -o jsonl server.pcap     one JSON object per message
  qdissect -i eth0                  live, from an interface
  qdissect -i eth0 udp port 27015   live, with a capture filter as in tcpdump
  qdissect top -i eth0              watch servers in the terminal
  qdissect decode 'ffffffff54...'   a payload pasted as hex

Exit status: 0 done; 1 findings or differences, from commands that judge;
2 wrong usage, unreadable or damaged input; 3 why: the capture does not tell.`

// A command is the name of a command and the function that makes it.
type command struct {
	name string
	make func(environment) *cobra.Command
}

// commands returns all commands except those of cobra.
func commands() []command {
	return []command{
		{"read", newRead}, {"live", newLive}, {"decode", newDecode}, {"protocols", newProtocols}, {"schema", newSchema}, {"version", newVersion},
		{"check", newCheck}, {"diff", newDiff}, {"serve", newServe}, {"cut", newCut}, {"anonymize", newAnonymize}, {"report", newReport},
		{"why", newWhy}, {"query", newQuery}, {"rules", newRules}, {"top", newTop}, {"web", newWeb}, {"filter", func(environment) *cobra.Command { return newFilter() }}, {"explain", newExplain},
		{"demo", newDemo}, {"lua", newLua}, {"extcap", newExtcap},
	}
}

// mayRun reports whether arguments may run or describe a command. What it has to declare
// takes time at each start of the program.
func mayRun(command string, args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		switch arg {
		case command, "--help", "help", "completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
			return true
		}
		return len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.Contains(arg, "h") // -h, perhaps with others
	})
}

// newRoot returns the command line, with the commands that arguments may run, or with all
// if there are none.
func newRoot(env environment, args []string) *cobra.Command {
	var o readOptions
	var version bool
	root := &cobra.Command{
		Use:           "qdissect [flags] FILE...",
		Short:         "Dissect game-server query traffic in packet captures",
		Long:          rootHelp,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if version {
				return printVersion(env)
			}
			if err := misspelt(args); err != nil && len(o.files) == 0 && len(o.live.interfaces) == 0 {
				return err
			}
			return runRead(cmd, args, &o, env)
		},
	}
	root.SetIn(env.in)
	root.SetOut(env.out)
	root.SetErr(env.err)
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.HiddenDefaultCmd = false
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { help(cmd, slices.Contains(args, "-h")) })
	root.SetUsageFunc(usage)
	root.SetHelpCommand(newHelp(env))
	o.add(root.Flags())
	root.Flags().BoolVarP(&version, "version", "v", false, "print the version")
	for _, c := range commands() {
		if len(args) == 0 || mayRun(c.name, args) {
			root.AddCommand(c.make(env))
		}
	}
	if mayRun("completion", args) {
		root.InitDefaultCompletionCmd(args...)
		nameShells(root)
	}
	for _, cmd := range append(root.Commands(), root) {
		cmd.Flags().SortFlags = false
	}
	return root
}
