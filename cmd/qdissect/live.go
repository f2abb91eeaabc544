package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
)

// liveOptions are the flags for live captures.
type liveOptions struct {
	interfaces  []string
	netns       string
	user        string
	list        bool
	promiscuous bool
	snap        int
	buffer      int
	autostop    []string
	every       int
	metrics     string
	servers     int // in metrics
	onVerdict   string
	counts      string
	reach       uint16 // port of --webhook
	own         []netip.Prefix
}

func (o *liveOptions) add(f *pflag.FlagSet) {
	f.StringArrayVarP(&o.interfaces, "interface", "i", nil, "capture from this `interface`; any means all (Linux); may be repeated")
	o.addPlace(f)
	f.BoolVarP(&o.list, "list-interfaces", "D", false, "list the interfaces and exit")
	f.IntVarP(&o.snap, "snapshot-length", "s", 0, "live: capture at most this many bytes of a frame (default all)")
	f.StringArrayVarP(&o.autostop, "autostop", "a", nil, "stop at a `CONDITION`: duration:S, filesize:kB, files:N or packets:N")
	f.IntVar(&o.every, "stats-interval", 0, "live or from a pipe: write a line of counters to stderr every `S` seconds")
	f.StringVar(&o.metrics, "metrics", "", "serve counters for Prometheus at http://`ADDR`/metrics; :9999 listens on loopback only")
	f.IntVar(&o.servers, "metrics-servers", 20, "with --metrics: counters of at most this many servers, the busiest")
	f.StringVar(&o.onVerdict, "on-verdict", "", "live or from a pipe: run this `COMMAND` with each verdict of a report as JSON on its standard input, at most once a minute for each (docs/live.md)")
	f.StringVar(&o.counts, "counts", "", "live or from a pipe: keep the counts of the last hour in this `FOLDER`, for report --from (docs/live.md)")
	f.BoolP("no-promiscuous-mode", "p", false, "accepted for compatibility with tcpdump: it is the default")
	_ = f.MarkHidden("no-promiscuous-mode")
}

func (o *liveOptions) addPlace(f *pflag.FlagSet) {
	f.StringVar(&o.netns, "netns", "", "live: capture in the network namespace `NAME|PID`: one of ip netns, or that of a process of a container (Linux; docs/containers.md)")
	f.BoolVar(&o.promiscuous, "promiscuous", false, "live: also capture frames for other hosts")
	f.IntVarP(&o.buffer, "buffer-size", "B", 0, "live: size of the kernel's capture buffer in `MiB` (default 32)")
	f.StringVar(&o.user, "user", "", "live: go on as this `USER` once the interfaces are open (Linux; default who called sudo; docs/live.md)")
}

func newLive(env environment) *cobra.Command {
	var o readOptions
	cmd := &cobra.Command{
		Use:   "live [flags] -i INTERFACE... [FILTER]",
		Short: "Dissect live traffic (same as qdissect -i INTERFACE)",
		Long: `Capture from network interfaces and dissect the traffic. An interrupt ends the
capture, and so do -c and -a. The summary goes to stderr.

FILTER, or -f, is in tcpdump's language. Without a filter, all UDP datagrams, IP
fragments and ICMP errors are captured. With a filter, ICMP errors about matching
packets are captured as well.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(o.live.interfaces) == 0 && !o.live.list {
				return errors.New("no interface given; use -i NAME (-D lists the interfaces)")
			}
			return runRead(cmd, args, &o, env)
		},
	}
	o.add(cmd.Flags())
	return cmd
}

// listInterfaces prints the interfaces. It refuses other arguments.
func (o *liveOptions) listInterfaces(env environment, others []string) error {
	if len(others) > 0 {
		return fmt.Errorf("-D lists the interfaces and takes no arguments: %s", strings.Join(others, " "))
	}
	list, err := capture.Interfaces(o.netns)
	if err != nil {
		return o.forbidden(err)
	}
	for _, i := range list {
		if _, err := fmt.Fprintln(env.out, interfaceLine(&i)); err != nil {
			return err
		}
	}
	return nil
}

// interfaceLine formats one line of -D. It escapes the name, which whoever creates an
// interface may choose.
func interfaceLine(i *capture.Interface) string {
	state := nettext.Either(i.Up, "up", "down")
	kind := nettext.Either(i.Known, capture.LinkTypeName(i.LinkType), "")
	about := strings.TrimSpace(i.Title + "  " + strings.Join(i.Addresses, " "))
	return strings.TrimRight(fmt.Sprintf("%-16s  %-4s  %-8s  %s", nettext.AppendSafe(nil, []byte(i.Name)), state, kind, nettext.AppendSafe(nil, []byte(about))), " ")
}

// announce prints the interfaces, as tcpdump does. Scripts wait for this line.
func (o *liveOptions) announce(env environment, live *capture.Live) {
	snap := cmp.Or(o.snap, capture.MaxFrame)
	for _, i := range live.Interfaces() {
		line := fmt.Sprintf("listening on %s, link-type %s, snapshot length %d bytes", i.Name, capture.LinkTypeName(i.LinkType), snap)
		line += nettext.Either(o.netns != "", ", network namespace "+o.netns, "")
		env.err.Write(append(nettext.AppendSafe(nil, []byte(line)), '\n'))
	}
}

// addresses returns the addresses of the interfaces, as of the first call.
func (o *liveOptions) addresses() []netip.Prefix {
	if o.own != nil {
		return o.own
	}
	list, err := capture.Interfaces(o.netns)
	if err != nil {
		return nil
	}
	for _, i := range list {
		if !slices.Contains(o.interfaces, i.Name) && !slices.Contains(o.interfaces, capture.AnyInterface) {
			continue
		}
		for _, s := range i.Addresses {
			s, _, _ = strings.Cut(s, "/")
			if a, err := netip.ParseAddr(s); err == nil {
				o.own = append(o.own, netip.PrefixFrom(a.WithZone(""), a.BitLen()))
			}
		}
	}
	return o.own
}

// open starts the capture and gives up privileges. Its errors say what to do.
func (o *liveOptions) open(c *chooser) (*capture.Live, error) {
	live, err := capture.OpenLive(capture.LiveOptions{
		Interfaces: o.interfaces, Namespace: o.netns, Promiscuous: o.promiscuous, Ring: o.buffer << 20,
		Filter: c.kernel(o.snap, slices.Contains(o.interfaces, capture.AnyInterface)), Matcher: c.matchLive, Snap: o.snap,
	})
	switch {
	case errors.Is(err, fs.ErrPermission) && o.netns == "":
		return nil, errors.New(rights(o.interfaces[0]))
	case errors.Is(err, fs.ErrPermission):
		return nil, o.forbidden(err)
	case errors.Is(err, fs.ErrNotExist):
		known, _ := capture.Interfaces(o.netns)
		return nil, fmt.Errorf("%w; available are %s", err, strings.Join(namesOf(known), ", "))
	}
	if err == nil {
		o.addresses() // for which a namespace is entered
		err = o.demote()
	}
	return live, err
}

// begin makes the run read from the interfaces, or with a filter from the files. It returns the capture, nil for files.
func (p *plan) begin() (live *capture.Live, err error) {
	if p.run.Frames.Filter = p.choose.match(); !p.live {
		return nil, nil
	}
	if live, err = p.o.live.open(p.choose); err != nil {
		return nil, err
	}
	p.run.Source = &pipeline.Source{Source: live, Name: strings.Join(p.o.live.interfaces, ", "), Duration: p.limits.duration}
	p.run.Frames.Filter = p.choose.chosen()
	return live, nil
}

// blame adds to the error of a file that the program has become another user.
func (o *liveOptions) blame(err error) error {
	return nettext.Either(len(o.interfaces) > 0 && errors.Is(err, fs.ErrPermission), fmt.Errorf("%w; once the interfaces are open, the capture runs as who called sudo, or as --user says", err), err)
}

// forbidden says what to do if a network namespace must not be entered.
func (o *liveOptions) forbidden(err error) error {
	return nettext.Either(o.netns != "" && errors.Is(err, fs.ErrPermission), fmt.Errorf("no permission to capture in network namespace %s: run as root; the capability cap_net_raw is not enough to enter a namespace", o.netns), err)
}

// maxBuffer is the largest kernel buffer of an interface, in MiB.
const maxBuffer = 4096

// rights returns the error for missing permissions.
func rights(name string) string {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		self = "qdissect"
	}
	switch runtime.GOOS {
	case "linux":
		return fmt.Sprintf("no permission to capture from %s: run as root, or run once: sudo setcap cap_net_raw+ep %s", name, shellWord(self))
	case "windows":
		return fmt.Sprintf("no permission to capture from %s: run as administrator", name)
	}
	return fmt.Sprintf("no permission to capture from %s: run with sudo, or run once: sudo chmod g+r /dev/bpf*", name)
}

// repeated is the time within which a second signal counts as the same one. timeout
// signals the program and its process group.
const repeated = 500 * time.Millisecond

// interrupted returns a context that ends with parent or at SIGINT, SIGTERM or SIGHUP.
// SIGHUP has no effect under nohup. A second signal ends the program.
func interrupted(parent context.Context) (ctx context.Context, done func()) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
	ctx, cancel := signal.NotifyContext(parent, signals[:nettext.Either(signal.Ignored(syscall.SIGHUP), 2, 3)]...)
	go func() {
		<-ctx.Done()
		time.Sleep(repeated)
		cancel() // restore the default action
	}()
	return ctx, func() {
		if ctx.Err() == nil {
			cancel()
		}
	}
}

var _ pipeline.Live = (*capture.Live)(nil)
