// Command qdissect-fleet shares the work of qdissect among processes and machines.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/qdissect/qdissect/fleet/internal/link"
	"github.com/qdissect/qdissect/fleet/internal/live"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/spf13/cobra"
)

// exitTrouble is the exit status for wrong usage, and for what failed.
const exitTrouble = 2

// A status is an error whose reason is already printed.
type status int

func (s status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// An environment is what a command uses besides its arguments.
type environment struct {
	out, err io.Writer
}

func main() {
	stop, end := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(stop, os.Args[1:], environment{os.Stdout, os.Stderr})
	end()
	os.Exit(code)
}

// run executes the command line and returns the exit status.
func run(stop context.Context, args []string, env environment) int {
	root := &cobra.Command{
		Use:   "qdissect-fleet",
		Short: "Share the work of qdissect among processes and machines",
		Long: `qdissect-fleet shares the work of qdissect among processes and machines, through a
queue of NATS JetStream. It runs qdissect, which must be in the PATH.`,
		Version:            version(),
		SilenceErrors:      true,
		DisableSuggestions: true,
		SilenceUsage:       true,
	}
	root.SetOut(env.out)
	root.SetErr(env.err)
	root.SetArgs(args)
	root.AddCommand(newRun(env), newWork(env), newStatus(env), newSensor(env), newView(env), newFetch(env), newServer(env), newStream(env), newKey(env))
	root.SetVersionTemplate("qdissect-fleet {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
	})
	for _, cmd := range root.Commands() {
		cmd.Flags().SortFlags, cmd.DisableFlagsInUseLine = false, true
	}
	err := root.ExecuteContext(stop)
	var s status
	switch {
	case err == nil:
		return 0
	case errors.As(err, &s):
		return int(s)
	}
	env.complain(err)
	return exitTrouble
}

// one returns an error unless there is one argument, which is what.
func one(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s needs %s; see %s --help", cmd.Name(), what, cmd.CommandPath())
		}
		return nil
	}
}

// complain writes an error as one line that is safe for a terminal.
func (env environment) complain(err error) {
	text := nettext.AppendSafe([]byte("qdissect-fleet: "), []byte(strings.TrimSpace(err.Error())))
	env.err.Write(append(text, '\n'))
}

// newServer returns the command for a server that outlives runs.
func newServer(env environment) *cobra.Command {
	o := link.ServerOptions{Listen: "localhost:4222"}
	cmd := &cobra.Command{
		Use:   "server --store FOLDER",
		Short: "Run a NATS server for work, sensors and views",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Store == "" {
				return errors.New("server needs --store FOLDER")
			}
			s, err := link.Start(o)
			if err != nil {
				return err
			}
			defer s.Stop()
			if err := sensors(cmd.Context(), s); err != nil {
				return err
			}
			fmt.Fprintf(env.err, "listening at %s\n", s.URL())
			<-cmd.Context().Done()
			return nil
		},
	}
	o.Add(cmd.Flags())
	o.TLS.Add(cmd.Flags())
	return cmd
}

// sensors makes the stream of sensors in a server.
func sensors(ctx context.Context, s *link.Server) error {
	conn, err := s.Connect("qdissect-fleet server")
	if err != nil {
		return err
	}
	defer conn.Close()
	return live.MakeStream(ctx, conn, live.StreamMiB<<20)
}

// newKey returns the command that makes a key.
func newKey(env environment) *cobra.Command {
	return &cobra.Command{
		Use:   "key FILE",
		Short: "Make a secret key in FILE, and print the public key for the file of users",
		Args:  one("one FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			public, err := link.Key(args[0])
			if err == nil {
				fmt.Fprintln(env.out, public)
			}
			return err
		},
	}
}
