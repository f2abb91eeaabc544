package main

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/fleet/internal/link"
	"github.com/qdissect/qdissect/fleet/internal/work"
)

// newWork returns the command that does units of a run of another process.
func newWork(env environment) *cobra.Command {
	var to link.Options
	var program, name string
	var n int
	var away time.Duration
	cmd := &cobra.Command{
		Use:   "work --join URL",
		Short: "Dissect units of a run on another machine",
		Long: `work does units of a run until it has ended. It needs the same qdissect, and the captures
and the output in the folders in which the run has them, as on a shared file system.

  qdissect-fleet work --join nats://host:4222
  qdissect-fleet work --join tls://host:4222 --tls-ca ca.pem --nkey worker.nk`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if n < 1 {
				return fmt.Errorf("--workers %d: must be 1 or more", n)
			}
			if away <= 0 {
				return fmt.Errorf("--give-up %s: must be more than 0", away)
			}
			p, err := work.FindProgram(program)
			if err != nil {
				return err
			}
			var giveUp *time.Timer // while the server is away; these functions are called one after the other
			conn, err := to.Connect("work",
				nats.DisconnectErrHandler(func(c *nats.Conn, _ error) {
					if !c.IsClosed() {
						env.say(fmt.Sprintf("the server is away; trying again for %s", away))
						giveUp = time.AfterFunc(away, c.Close)
					}
				}),
				nats.ReconnectHandler(func(*nats.Conn) {
					giveUp.Stop()
					env.say("the server is back")
				}))
			if err != nil {
				return err
			}
			defer conn.Close()
			start := time.Now()
			err = work.Work(cmd.Context(), conn, name, p, host(), n, env.say)
			if cmd.Context().Err() != nil {
				return errors.New("interrupted; what was begun is given to other workers")
			}
			if err == nil {
				env.say(fmt.Sprintf("the run %s has ended, after %s of work here", name, time.Since(start).Round(time.Second)))
			}
			return err
		},
	}
	f := cmd.Flags()
	to.Add(f, "join")
	f.IntVar(&n, "workers", runtime.NumCPU(), "`N` workers in this process")
	f.StringVar(&name, "name", "run", "the `NAME` of the run")
	f.DurationVar(&away, "give-up", 5*time.Minute, "end when the server has been away for this `TIME`")
	f.StringVar(&program, "qdissect", "", "the program `FILE`, if it is neither beside qdissect-fleet nor in the PATH")
	return cmd
}

// newStatus returns the command that describes a run.
func newStatus(env environment) *cobra.Command {
	to := link.Options{}
	var name string
	cmd := &cobra.Command{
		Use:   "status --nats URL",
		Short: "Say what of a run is done, what runs where, and what failed and why",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			to.URL = cmp.Or(to.URL, nats.DefaultURL)
			conn, err := to.Connect("status", nats.NoReconnect())
			if err != nil {
				return err
			}
			defer conn.Close()
			return link.Explain(conn, work.Status(cmd.Context(), conn, name, env.out))
		},
	}
	to.Add(cmd.Flags(), "nats")
	cmd.Flags().StringVar(&name, "name", "run", "the `NAME` of the run")
	return cmd
}
