package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/fleet/internal/link"
	"github.com/qdissect/qdissect/fleet/internal/work"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/whole"
)

// newRun returns the command that has all units dissected.
func newRun(env environment) *cobra.Command {
	var server link.ServerOptions
	var to link.Options
	var program, output, sensor, by string
	var quiet, force bool
	o := work.Options{}
	cmd := &cobra.Command{
		Use:   "run 'CAPTURES' --out DIR [-- FLAGS of qdissect read]",
		Short: "Dissect captures with workers here, and on other machines",
		Long: `run makes units of captures as qdissect read --series --unit does, and puts those that
are not done into a queue. Workers in this process, and those that join it, dissect them.
A unit that fails three times is named, and all others are done.

  qdissect-fleet run 'captures/**' --out out
  qdissect-fleet run 'captures/**' --out out -o parquet --workers 4 -- --protocols a2s
  qdissect-fleet run 'captures/**' --out out --nats tls://queue:4222 --nkey run.nk

Exit status: 0 done; 2 wrong usage, units that failed, damaged captures.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if n := cmd.ArgsLenAtDash(); n >= 0 {
				args, o.Flags = args[:n], args[n:]
			}
			if err = checkRun(args, &o, &to, &server); err != nil {
				return err
			}
			o.Flags = readFlags(o.Flags, output, sensor, by, quiet, force)
			if o.Dir, err = os.Getwd(); err != nil {
				return err
			}
			if o.Program, err = work.FindProgram(program); err != nil {
				return err
			}
			o.Patterns, o.Err, o.Host = args, env.err, host()
			var end func()
			if o.Conn, end, err = env.serve(&to, &server); err != nil {
				return err
			}
			defer end()
			return env.dissect(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Out, "out", "", "the `FOLDER` of the units")
	f.StringVarP(&output, "output", "o", "jsonl", "`FORMAT` of the messages: jsonl or parquet")
	f.BoolVarP(&quiet, "quiet", "q", false, "only counts, for qdissect report --from")
	f.StringVar(&by, "series-by", "", "what files of one series have in common, a `REGEX`")
	f.StringVar(&sensor, "sensor", "", "`NAME` of where the captures are from")
	f.IntVar(&o.Shards, "shards", 1, "divide each unit into `N` parts, 1 to 4, for long series")
	f.BoolVar(&force, "force", false, "also dissect units that are done")
	f.IntVar(&o.Workers, "workers", runtime.NumCPU(), "`N` workers in this process")
	f.StringVar(&o.Name, "name", "run", "the `NAME` of the run, for work and status")
	f.DurationVar(&o.Lost, "lost-after", 30*time.Second, "give the unit of a worker to another after this `TIME` without news")
	f.StringVar(&program, "qdissect", "", "the program `FILE`, if it is neither beside qdissect-fleet nor in the PATH")
	f.StringVar(&to.URL, "nats", "", "the `URL` of a NATS server with JetStream, instead of one in this process")
	server.Add(f)
	to.AddCredentials(f)
	return cmd
}

// checkRun refuses what cannot be run.
func checkRun(args []string, o *work.Options, to *link.Options, server *link.ServerOptions) error {
	switch {
	case len(args) == 0:
		return errors.New("run needs captures")
	case o.Out == "":
		return errors.New("run needs --out DIR")
	case o.Workers < 0:
		return fmt.Errorf("--workers %d: must be 0 or more", o.Workers)
	case o.Shards < 1 || o.Shards > 4:
		return fmt.Errorf("--shards %d: must be 1 to 4", o.Shards)
	case o.Lost < time.Second:
		return fmt.Errorf("--lost-after %s: must be 1s or more", o.Lost)
	case to.URL != "" && (server.Listen != "" || server.Store != "" || server.Users != ""):
		return errors.New("--nats is a server that exists: leave out --listen, --store and --users")
	case o.Workers == 0 && to.URL == "" && server.Listen == "":
		return errors.New("without workers here, others need --listen or --nats to join")
	}
	return nil
}

// readFlags returns the flags of qdissect read: those that were given for it, and those that run has as well.
func readFlags(given []string, output, sensor, by string, quiet, force bool) (list []string) {
	if quiet {
		list = append(list, "-q")
	} else {
		list = append(list, "-o", output)
	}
	list = append(list, given...)
	for _, f := range [][2]string{{"--sensor", sensor}, {"--series-by", by}} {
		if f[1] != "" {
			list = append(list, f[0], f[1])
		}
	}
	if force {
		list = append(list, "--force")
	}
	return list
}

// host names this process among those of all machines.
func host() string {
	name, err := os.Hostname()
	if err != nil {
		name = "host"
	}
	return fmt.Sprintf("%s-%d", name, os.Getpid())
}

// serve connects to a server, which it starts if there is none.
func (env environment) serve(to *link.Options, o *link.ServerOptions) (*nats.Conn, func(), error) {
	if to.URL != "" {
		conn, err := to.Connect("run")
		if err != nil {
			return nil, nil, err
		}
		return conn, conn.Close, nil
	}
	o.TLS = to.TLS
	remove := func() {}
	if o.Store == "" {
		dir, err := whole.Temp("qdissect-fleet")
		if err != nil {
			return nil, nil, err
		}
		o.Store, remove = dir.Name(), dir.Discard
	}
	s, err := link.Start(*o)
	if err != nil {
		remove()
		return nil, nil, err
	}
	end := func() {
		s.Stop()
		remove()
	}
	conn, err := s.Connect("qdissect-fleet run")
	if err != nil {
		end()
		return nil, nil, err
	}
	if o.Listen != "" {
		fmt.Fprintf(env.err, "others join with: qdissect-fleet work --join %s\n", s.URL())
	}
	return conn, func() {
		s.Linger(5 * time.Second) // others see that the run has ended
		conn.Close()
		end()
	}, nil
}

// dissect has all units dissected, and says what became of them.
func (env environment) dissect(ctx context.Context, o work.Options) error {
	o.Progress, o.Say, o.Err = env.progress(), env.say, env.err
	res, err := work.Run(ctx, o)
	if err != nil {
		return link.Explain(o.Conn, err)
	}
	failed, troubled := 0, 0
	for _, b := range res.Bad {
		for _, line := range b.Lines() {
			env.complain(errors.New(line))
		}
		if b.Error != "" {
			failed++
		}
		troubled += len(b.Trouble)
	}
	text := fmt.Sprintf("%s dissected, %d done before", nettext.Count(res.Done, "unit"), res.Before)
	text += nettext.Either(failed > 0, fmt.Sprintf(", %d failed", failed), "")
	fmt.Fprintln(env.err, text)
	return nettext.Either(failed+troubled > 0 || res.Troubled, error(status(exitTrouble)), nil)
}

// progressEvery is how often a line says how far a run is.
const progressEvery = 10 * time.Second

// progress returns a function that says how far a run is, unless it has just done so.
func (env environment) progress() func(work.Progress) {
	last := time.Now()
	return func(p work.Progress) {
		if time.Since(last) < progressEvery {
			return
		}
		last = time.Now()
		if units := nettext.Count(p.Units, "unit"); p.Listing {
			env.say(units + " found")
		} else {
			env.say(fmt.Sprintf("%d of %s done", p.Done, units))
		}
	}
}

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
