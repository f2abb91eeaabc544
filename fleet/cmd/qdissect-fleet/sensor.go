package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/fleet/internal/link"
	"github.com/qdissect/qdissect/fleet/internal/live"
	"github.com/qdissect/qdissect/fleet/internal/work"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/stats"
)

// newSensor returns the command that captures and publishes what is counted.
func newSensor(env environment) *cobra.Command {
	var to link.Options
	s := live.Sensor{Say: env.say}
	var program, netns string
	var interfaces []string
	cmd := &cobra.Command{
		Use:   "sensor -i INTERFACE --name NAME --dir DIR --nats URL [FILTER]",
		Short: "Capture, and publish the counts of the last hour",
		Long: `sensor runs qdissect live and publishes its counts every few seconds, never packets.
It starts qdissect again when it ends. While the server is away, the counts of the last
hour wait in DIR. The packets stay in DIR too, in a ring of files; whoever may fetch them
gets those of a time.

  qdissect-fleet sensor -i eth0 --name ams1 --dir /var/lib/qdissect --nats tls://hub:4222 --tls-ca ca.pem --nkey ams1.nk`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(interfaces) == 0:
				return errors.New("sensor needs -i INTERFACE")
			case s.Dir == "":
				return errors.New("sensor needs --dir DIR for its counts and packets")
			case s.Files < 2 || s.Size < 1:
				return errors.New("a ring has 2 files or more of 1 MB or more")
			}
			p, err := work.FindProgram(program)
			if err != nil {
				return err
			}
			if s.Dir, err = filepath.Abs(s.Dir); err != nil {
				return err
			}
			s.Program, s.Version = p.Path, p.Version
			for _, i := range interfaces {
				s.Args = append(s.Args, "-i", i)
			}
			if netns != "" {
				s.Args = append(s.Args, "--netns", netns)
			}
			s.Args = append(append(s.Args, "--"), args...)
			if s.Conn, err = env.connect(&to, "sensor "+s.Name, env.patient(), nats.ReconnectBufSize(-1)); err != nil {
				return err
			}
			defer s.Conn.Close()
			return link.Explain(s.Conn, s.Run(cmd.Context()))
		},
	}
	f := cmd.Flags()
	f.StringArrayVarP(&interfaces, "interface", "i", nil, "capture from this `INTERFACE`; may be repeated")
	f.StringVar(&netns, "netns", "", "capture in the network namespace `NAME|PID`")
	f.StringVar(&s.Name, "name", hostName(), "the `NAME` of the sensor: a to z, digits, - and _")
	f.StringVar(&s.Dir, "dir", "", "the `FOLDER` of its counts and packets")
	f.IntVar(&s.Files, "ring-files", 20, "`N` files of packets")
	f.IntVar(&s.Size, "ring-size", 100, "of so many `MB` each")
	f.StringVar(&program, "qdissect", "", "the program `FILE`, if it is neither beside qdissect-fleet nor in the PATH")
	to.Add(f, "nats")
	return cmd
}

// hostName returns a name of this host for a sensor, "" if it has none.
func hostName() string {
	name, _ := os.Hostname()
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	return nettext.Either(live.ValidName(name), name, "")
}

// connect connects to a server, and says when it is away.
func (env environment) connect(to *link.Options, name string, more ...nats.Option) (*nats.Conn, error) {
	return to.Connect(name, append(more,
		nats.DisconnectErrHandler(func(c *nats.Conn, _ error) {
			if !c.IsClosed() {
				env.say("the server is away")
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { env.say("the server is back") }))...)
}

// patient has a sensor try to connect for ever, also when the server does not know it: keys may come later. What is wrong is said
// when it changes.
func (env environment) patient() nats.Option {
	last := ""
	return func(o *nats.Options) error {
		o.RetryOnFailedConnect, o.IgnoreAuthErrorAbort = true, true
		o.ReconnectErrCB = func(_ *nats.Conn, err error) {
			if text := err.Error(); text != last {
				last = text
				env.say("not connected, trying again: " + text)
			}
		}
		return nil
	}
}

// newView returns the command that makes pages of what sensors say.
func newView(env environment) *cobra.Command {
	var to link.Options
	v := live.View{Say: env.say}
	var home []string
	var every int
	cmd := &cobra.Command{
		Use:   "view -o DIR --nats URL",
		Short: "Write the pages of the last hour: all sensors, and each",
		Long: `view writes DIR/index.html, which lists the sensors and their trouble, DIR/all.html with
the sum of all, and DIR/sensors/NAME.html, again every few seconds.

  qdissect-fleet view -o pages --nats tls://hub:4222 --tls-ca ca.pem --nkey view.nk`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case v.Dir == "":
				return errors.New("view needs -o DIR")
			case every < 1:
				return fmt.Errorf("--every %d: must be 1 second or more", every)
			}
			for _, s := range home {
				p, err := stats.Prefix(s)
				if err != nil {
					return fmt.Errorf("--home: %w", err)
				}
				v.Home = append(v.Home, p)
			}
			conn, err := env.connect(&to, "view")
			for said := false; link.Away(err) && cmd.Context().Err() == nil; conn, err = env.connect(&to, "view") {
				if !said {
					env.say("waiting for the server: " + err.Error())
					said = true
				}
				select {
				case <-cmd.Context().Done():
				case <-time.After(time.Second):
				}
			}
			if err != nil {
				return err
			}
			defer conn.Close()
			v.Version, v.Command = version(), "qdissect-fleet view"
			return link.Explain(conn, v.Run(cmd.Context(), conn, time.Duration(every)*time.Second))
		},
	}
	f := cmd.Flags()
	f.StringVarP(&v.Dir, "output", "o", "", "the `FOLDER` of the pages")
	f.IntVar(&every, "every", 5, "write the pages every `S` seconds, and sooner when there is news")
	f.StringArrayVar(&home, "home", nil, "`NETWORK` or address of the servers that the pages are about; may be repeated (default: the hosts that reply)")
	f.StringArrayVar(&v.Without, "without", nil, "leave out the sensor `NAME`; may be repeated")
	to.Add(f, "nats")
	return cmd
}

// version returns the version of this program.
func version() string {
	if b, ok := debug.ReadBuildInfo(); ok {
		return b.Main.Version
	}
	return ""
}

// say writes a line that is safe for a terminal.
func (env environment) say(text string) {
	env.err.Write(append(nettext.AppendSafe(nil, []byte(text)), '\n'))
}

// newFetch returns the command that brings packets of a sensor.
func newFetch(env environment) *cobra.Command {
	var to link.Options
	var since, until, file string
	var c live.Cut
	var most int64
	cmd := &cobra.Command{
		Use:   "fetch SENSOR --since TIME --until TIME -w FILE --nats URL",
		Short: "Bring packets from the ring of a sensor",
		Long: `fetch asks a sensor for the packets of a time, or with -Y those of messages that match.
They come as pcapng.

  qdissect-fleet fetch ams1 --since 19:00 --until 19:05 -Y 'finding == malformed' -w cut.pcapng --nats tls://hub:4222 --nkey fetch.nk`,
		Args: one("the name of a sensor"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			switch {
			case file == "":
				return errors.New("fetch needs -w FILE")
			case most < 1 || most > live.MaxFetch>>20:
				return fmt.Errorf("--most %d: must be 1 to %d MiB", most, live.MaxFetch>>20)
			}
			c.Most = most << 20
			now := time.Now().UTC()
			if c.Since, err = moment(since, now); err == nil {
				c.Until, err = moment(until, now)
			}
			if err != nil {
				return err
			}
			if !c.Since.Before(c.Until) {
				return errors.New("--since must be before --until")
			}
			conn, err := to.Connect("fetch", nats.NoReconnect())
			if err != nil {
				return err
			}
			defer conn.Close()
			n, note, err := live.FetchFile(cmd.Context(), conn, args[0], c, file)
			if err != nil {
				if errors.Is(err, context.Canceled) {
					err = errors.New("interrupted; no file written")
				}
				return link.Explain(conn, err)
			}
			env.say(fmt.Sprintf("%d bytes of packets in %s", n, file))
			if note != "" {
				env.complain(fmt.Errorf("sensor %s: %s", args[0], note))
				return status(exitTrouble)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&since, "since", "", "packets from this `TIME` on: 2026-03-14T19:00:00Z, 19:00 or 19:00:30 (UTC, the last one), or -10m (ten minutes ago)")
	f.StringVar(&until, "until", "", "packets before this `TIME` (default now)")
	f.StringVarP(&c.Filter, "display-filter", "Y", "", "only packets of messages that match `EXPR`, as qdissect -Y")
	f.StringVarP(&file, "write", "w", "", "write the packets to this `FILE`, as pcapng")
	f.Int64Var(&most, "most", 64, "at most so many `MiB`")
	to.Add(f, "nats")
	return cmd
}

// moment parses a time.
func moment(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return now, nil
	}
	if after, ok := strings.CutPrefix(s, "-"); ok {
		if d, err := time.ParseDuration(after); err == nil && d > 0 {
			return now.Add(-d), nil
		}
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	for _, layout := range []string{time.TimeOnly, "15:04"} {
		if t, err := time.Parse(layout, s); err == nil {
			day := now.Truncate(24 * time.Hour)
			at := day.Add(t.Sub(t.Truncate(24 * time.Hour)))
			if at.After(now) {
				at = at.Add(-24 * time.Hour)
			}
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time such as 2026-03-14T19:00:00Z, 19:00:30 or -10m", s)
}

// newStream returns the command that makes the stream of sensors in a server that exists.
func newStream(env environment) *cobra.Command {
	var to link.Options
	var size int64
	cmd := &cobra.Command{
		Use:   "stream --nats URL",
		Short: "Make the stream of sensors in a NATS server that is not ours",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conn, err := to.Connect("stream", nats.NoReconnect())
			if err != nil {
				return err
			}
			defer conn.Close()
			ctx, end := context.WithTimeout(cmd.Context(), 10*time.Second)
			defer end()
			if err := live.MakeStream(ctx, conn, size<<20); err != nil {
				return link.Explain(conn, err)
			}
			env.say("the server has the stream " + live.Stream)
			return nil
		},
	}
	to.Add(cmd.Flags(), "nats")
	cmd.Flags().Int64Var(&size, "size", live.StreamMiB, "the stream has at most so many `MiB`")
	return cmd
}
