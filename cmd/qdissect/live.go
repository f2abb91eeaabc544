package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/net/bpf"

	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/filter"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/report"
)

// liveOptions are the flags for live captures.
type liveOptions struct {
	interfaces  []string
	netns       string
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
}

func (o *liveOptions) add(f *pflag.FlagSet) {
	f.StringArrayVarP(&o.interfaces, "interface", "i", nil, "capture from this `interface`; any means all (Linux); may be repeated")
	o.addNamespace(f)
	f.BoolVarP(&o.list, "list-interfaces", "D", false, "list the interfaces and exit")
	f.BoolVar(&o.promiscuous, "promiscuous", false, "live: also capture frames for other hosts")
	f.IntVarP(&o.snap, "snapshot-length", "s", 0, "live: capture at most this many bytes of a frame (default all)")
	f.IntVarP(&o.buffer, "buffer-size", "B", 0, "live: size of the kernel's capture buffer in `MiB` (default 32)")
	f.StringArrayVarP(&o.autostop, "autostop", "a", nil, "stop at a `CONDITION`: duration:S, filesize:kB, files:N or packets:N")
	f.IntVar(&o.every, "stats-interval", 0, "live or from a pipe: write a line of counters to stderr every `S` seconds")
	f.StringVar(&o.metrics, "metrics", "", "serve counters for Prometheus at http://`ADDR`/metrics; :9999 listens on loopback only")
	f.IntVar(&o.servers, "metrics-servers", 20, "with --metrics: counters of at most this many servers, the busiest")
	f.StringVar(&o.onVerdict, "on-verdict", "", "live or from a pipe: run this `COMMAND` with each verdict of a report as JSON on its standard input, at most once a minute for each (docs/live.md)")
	f.StringVar(&o.counts, "counts", "", "live or from a pipe: keep the counts of the last hour in this `FOLDER`, for report --from (docs/live.md)")
	f.BoolP("no-promiscuous-mode", "p", false, "accepted for compatibility with tcpdump: it is the default")
	_ = f.MarkHidden("no-promiscuous-mode")
}

func (o *liveOptions) addNamespace(f *pflag.FlagSet) {
	f.StringVar(&o.netns, "netns", "", "live: capture in the network namespace `NAME|PID`: one of ip netns, or that of a process of a container (Linux; docs/containers.md)")
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
	state := "down"
	if i.Up {
		state = "up"
	}
	kind := ""
	if i.Known {
		kind = capture.LinkTypeName(i.LinkType)
	}
	about := strings.Join(i.Addresses, " ")
	if i.Title != "" {
		about = strings.TrimSpace(i.Title + "  " + about)
	}
	return strings.TrimRight(fmt.Sprintf("%-16s  %-4s  %-8s  %s", nettext.AppendSafe(nil, []byte(i.Name)), state, kind, nettext.AppendSafe(nil, []byte(about))), " ")
}

// filterOptions are the flags for capture filters.
type filterOptions struct {
	text  string
	exact bool
}

func (o *filterOptions) add(f *pflag.FlagSet) {
	f.StringVarP(&o.text, "filter", "f", "", "capture `FILTER` in tcpdump's language, such as 'udp port 27015'; @FILE reads the output of tcpdump -ddd, @- reads it from standard input")
	f.BoolVar(&o.exact, "exact-filter", false, "do not pass later IP fragments, which have no ports, or ICMP errors about matching packets")
}

// A chooser is a capture filter, either parsed or compiled by tcpdump.
type chooser struct {
	parsed  *filter.Filter  // nil for none
	program *filter.Program // from tcpdump -ddd
	o       filter.Options
}

// compile reads the filter. Words are the arguments of the command line. stdin is nil
// if the capture comes from there.
func (o *filterOptions) compile(words []string, stdin io.Reader) (*chooser, error) {
	c := &chooser{o: filter.Options{Exact: o.exact}}
	text := o.text
	if len(words) > 0 {
		if text != "" {
			return nil, fmt.Errorf("two filters given: with -f, and %q", strings.Join(words, " "))
		}
		text = strings.Join(words, " ")
	}
	if name, ok := strings.CutPrefix(text, "@"); ok {
		in := stdin
		switch {
		case name == "":
			return nil, errors.New("-f @ needs the name of a file, or - for standard input")
		case name != "-":
			f, err := openPatiently(name)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			in = f
		case stdin == nil:
			return nil, errors.New("-f @- and - cannot be combined: standard input is either the filter or the capture")
		default:
			name = "standard input"
		}
		var err error
		if c.program, err = filter.ParseProgram(in); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return c, nil
	}
	if strings.TrimSpace(text) == "" {
		return c, nil
	}
	var err error
	if c.parsed, err = filter.Parse(text); err != nil {
		if len(words) > 0 {
			if _, statErr := os.Stat(words[0]); statErr == nil {
				return nil, fmt.Errorf("%s is a file, but arguments after -r or -i are a filter; give each file with -r", words[0])
			}
		}
		return nil, showFilter(err)
	}
	return c, nil
}

// showFilter makes an error print the expression with the faulty word marked.
func showFilter(err error) error {
	var e *filter.Error
	if !errors.As(err, &e) {
		return err
	}
	if strings.TrimSpace(e.Expression) == "" { // nothing to point to
		return errors.New("filter: " + e.Text)
	}
	return pointed{e}
}

// pointed is a filter error printed with the expression and carets.
type pointed struct{ err *filter.Error }

func (p pointed) Error() string { return p.err.Error() + "\n" + p.err.Show() }

func (p pointed) Unwrap() error { return p.err }

// note returns the remark about fragments, or "".
func (c *chooser) note() string {
	if c.parsed != nil && !c.o.Exact && c.parsed.IncludesFragments() {
		return filter.FragmentNote + " (--exact-filter leaves them out)"
	}
	return ""
}

// match returns the filter for files, or nil for none. It also passes ICMP errors
// about matching packets.
func (c *chooser) match() func(uint16) (func([]byte, int) bool, error) {
	switch {
	case c.program != nil:
		m := c.program.Matcher()
		return func(link uint16) (func([]byte, int) bool, error) { return c.quotedToo(link, m), nil }
	case c.parsed != nil:
		return func(link uint16) (func([]byte, int) bool, error) {
			m, err := c.parsed.Matcher(link, c.o)
			if err != nil {
				return nil, fmt.Errorf("frames of %s: %w", capture.LinkTypeName(link), showFilter(err))
			}
			return c.quotedToo(link, m), nil
		}
	}
	return nil
}

// quotedToo extends a filter to ICMP errors that quote a matching packet.
func (c *chooser) quotedToo(link uint16, m func([]byte, int) bool) func([]byte, int) bool {
	if c.o.Exact {
		return m
	}
	var quoted []byte
	return func(data []byte, length int) bool {
		if m(data, length) {
			return true
		}
		b, wire, ok := packet.AppendQuoted(quoted[:0], link, data)
		quoted = b
		return ok && m(b, wire)
	}
}

// matchLive returns the filter for interfaces on which the kernel cannot apply one.
func (c *chooser) matchLive(link uint16) (func([]byte, int) bool, error) {
	switch {
	case c.parsed != nil:
		o := c.o
		o.ICMPErrors = !o.Exact
		m, err := c.parsed.Matcher(link, o)
		if err != nil {
			return nil, showFilter(err)
		}
		return m, nil
	case c.program != nil:
		return c.program.Matcher(), nil
	}
	return filter.Default(link).Matcher(link, c.o)
}

// chosen returns the filter for frames that the kernel has let pass. ICMP errors among
// them are checked by their quotations.
func (c *chooser) chosen() func(uint16) (func([]byte, int) bool, error) {
	lenient := *c
	lenient.o.Lenient = true
	return lenient.match()
}

// kernel returns the filter program for an interface. With all interfaces, the filter
// must be valid for Ethernet; elsewhere, invalid parts match nothing.
func (c *chooser) kernel(snap int, all bool) func(uint16) ([]bpf.RawInstruction, error) {
	return func(link uint16) ([]bpf.RawInstruction, error) {
		if c.program != nil {
			return shorten(c.program.Raw(), snap), nil
		}
		f := cmp.Or(c.parsed, filter.Default(link))
		o := c.o
		o.Live, o.Snap, o.Lenient = true, uint32(snap), all && link != linkEthernet
		o.ICMPErrors = c.parsed != nil && !o.Exact
		p, err := f.Compile(link, o)
		if err != nil {
			return nil, showFilter(err)
		}
		return p.Raw(), nil
	}
}

const linkEthernet = 1

// shorten limits the bytes that a program keeps of a frame. A snap of 0 is no limit.
func shorten(program []bpf.RawInstruction, snap int) []bpf.RawInstruction {
	const returnConstant = 0x06
	program = slices.Clone(program)
	for i := range program {
		if in := &program[i]; in.Op == returnConstant && snap > 0 {
			in.K = min(in.K, uint32(snap))
		}
	}
	return program
}

// announce prints the interfaces, as tcpdump does. Scripts wait for this line.
func (o *liveOptions) announce(env environment, live *capture.Live) {
	snap := cmp.Or(o.snap, capture.MaxFrame)
	for _, i := range live.Interfaces() {
		line := fmt.Sprintf("listening on %s, link-type %s, snapshot length %d bytes", i.Name, capture.LinkTypeName(i.LinkType), snap)
		if o.netns != "" {
			line += ", network namespace " + o.netns
		}
		env.err.Write(append(nettext.AppendSafe(nil, []byte(line)), '\n'))
	}
}

// addresses returns the addresses of the interfaces.
func (o *liveOptions) addresses() (own []netip.Prefix) {
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
				own = append(own, netip.PrefixFrom(a.WithZone(""), a.BitLen()))
			}
		}
	}
	return own
}

// open starts the capture. Its errors say what to do.
func (o *liveOptions) open(c *chooser) (*capture.Live, error) {
	live, err := capture.OpenLive(capture.LiveOptions{
		Interfaces: o.interfaces, Namespace: o.netns, Promiscuous: o.promiscuous, Ring: o.buffer << 20,
		Filter: c.kernel(o.snap, slices.Contains(o.interfaces, capture.AnyInterface)), Matcher: c.matchLive, Snap: o.snap,
	})
	switch {
	case errors.Is(err, fs.ErrPermission) && o.netns == "":
		return nil, errors.New(rights(o.interfaces[0]))
	case errors.As(err, new(*capture.NamespaceError)), errors.Is(err, fs.ErrPermission):
		return nil, o.forbidden(err)
	case errors.Is(err, fs.ErrNotExist):
		var known []string
		if list, listErr := capture.Interfaces(o.netns); listErr == nil {
			for _, i := range list {
				known = append(known, i.Name)
			}
		}
		return nil, fmt.Errorf("%w; available are %s", err, strings.Join(known, ", "))
	}
	return live, err
}

// forbidden says what to do if a network namespace must not be entered.
func (o *liveOptions) forbidden(err error) error {
	if o.netns != "" && errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("no permission to capture in network namespace %s: run as root; the capability cap_net_raw is not enough to enter a namespace", o.netns)
	}
	return err
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
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, cancel := signal.NotifyContext(parent, signals...)
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

// maxMetricServers is the highest number of servers with counters of their own.
const maxMetricServers = 256

// A watch prints and serves counters during a run.
type watch struct {
	env     environment
	last    report.Summary
	at      time.Time
	every   time.Duration
	metrics atomic.Pointer[[]byte]
	servers atomic.Pointer[[]byte] // the counters of servers, which follow
	most    int
	own     []netip.Prefix
	alarm   *alarm    // nil without --on-verdict
	line    *progress // nil for lines that stay
}

// watch makes a run print and serve counters. line, if not nil, shows them in one line that is replaced. It returns a function that ends that.
func (o *liveOptions) watch(env environment, run *pipeline.Options, line *progress) (end func(), err error) {
	end = func() {}
	if o.every > 0 {
		line = nil // lines of their own are wanted
	}
	if o.every == 0 && o.metrics == "" && o.onVerdict == "" && line == nil {
		return end, nil
	}
	w := &watch{env: env, at: time.Now(), every: time.Duration(o.every) * time.Second, most: o.servers, own: o.addresses()}
	if line != nil {
		w.every, w.line = time.Second, line
	}
	run.Watch, run.Every = w.tell, w.every
	if o.metrics != "" {
		w.tell(new(report.Summary))
		w.servers.Store(new([]byte))
		if end, err = w.serve(o.metrics); err != nil {
			return nil, err
		}
		run.Every = time.Second
		if run.Stats != nil && o.servers > 0 {
			run.Snapshot = w.count
		}
	}
	if o.onVerdict != "" {
		w.alarm = newAlarm(runWith(o.onVerdict, env.err), func(err error) { complain(env, err) })
		endMetrics := end
		end = func() { w.alarm.end(); endMetrics() }
		run.Snapshot, run.Every = w.count, time.Second
	}
	return end, nil
}

// count prepares the counters of servers, and looks for verdicts.
func (w *watch) count(sum *report.Summary, a *stats.Aggregate) {
	text := a.AppendMetrics(nil, w.own, w.most)
	w.servers.Store(&text)
	if w.alarm != nil {
		w.alarm.look(a.Report(stats.Options{Home: w.own, HomeBy: "interface", Packets: sum.Packets, OneSided: sum.OneSided > 0}), time.Now())
	}
}

func (w *watch) tell(s *report.Summary) {
	text := report.AppendMetrics(nil, s)
	w.metrics.Store(&text)
	now := time.Now()
	past := now.Sub(w.at)
	if w.every == 0 || past < w.every*9/10 {
		return
	}
	messages := func(s *report.Summary) (n uint64) {
		for _, m := range s.Messages {
			n += m
		}
		return n
	}
	rate := func(n, before uint64) float64 { return float64(n-before) / past.Seconds() }
	line := fmt.Sprintf("%s UTC  %d packets (%.0f/s)  %d messages (%.0f/s)  %d not recognised  %d unanswered  %d errors  %d warnings",
		now.UTC().Format(time.TimeOnly), s.Packets, rate(s.Packets, w.last.Packets), messages(s), rate(messages(s), messages(&w.last)),
		s.Unknown, s.Unanswered, s.Findings[3], s.Findings[2])
	if s.Live {
		line += fmt.Sprintf("  %d lost", s.Lost)
	}
	if s.Evicted > 0 {
		line += fmt.Sprintf("  %d evicted (%.0f/s)", s.Evicted, rate(s.Evicted, w.last.Evicted))
	}
	if w.line != nil {
		w.line.show(line)
	} else {
		fmt.Fprintln(w.env.err, line)
	}
	w.last, w.at = *s, now
}

// serve starts the metrics server. An addr without a host means loopback.
func (w *watch) serve(addr string) (end func(), err error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("--metrics %q is not HOST:PORT or :PORT", addr)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port))
	if err != nil {
		return nil, fmt.Errorf("--metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		out.Write(*w.metrics.Load())
		out.Write(*w.servers.Load())
	})
	server := &http.Server{Handler: mux, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, MaxHeaderBytes: 8 << 10}
	go server.Serve(l)
	if port == "0" {
		fmt.Fprintf(w.env.err, "qdissect: metrics at http://%s/metrics\n", l.Addr())
	}
	return func() { server.Close() }, nil
}

var _ pipeline.Live = (*capture.Live)(nil)
