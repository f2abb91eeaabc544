package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
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
	"github.com/qdissect/qdissect/report"
)

// liveOptions are the flags of capturing from interfaces.
type liveOptions struct {
	interfaces  []string
	list        bool
	promiscuous bool
	snap        int
	buffer      int
	autostop    []string
	every       int
	metrics     string
}

func (o *liveOptions) add(f *pflag.FlagSet) {
	f.StringArrayVarP(&o.interfaces, "interface", "i", nil, "capture live from this `interface`; any stands for all (Linux); may be repeated")
	f.BoolVarP(&o.list, "list-interfaces", "D", false, "list the interfaces and exit")
	f.BoolVar(&o.promiscuous, "promiscuous", false, "live: also capture what is not for this host")
	f.IntVarP(&o.snap, "snapshot-length", "s", 0, "live: capture at most this many bytes of a frame (default all)")
	f.IntVarP(&o.buffer, "buffer-size", "B", 0, "live: size of the kernel's buffer in `MiB` (default 32)")
	f.StringArrayVarP(&o.autostop, "autostop", "a", nil, "stop at a `CONDITION`: duration:S, filesize:kB, files:N or packets:N")
	f.IntVar(&o.every, "stats-interval", 0, "write a line of counters to stderr every `S` seconds, when live or fed by a pipe")
	f.StringVar(&o.metrics, "metrics", "", "serve counters for Prometheus at http://`ADDR`/metrics; :9999 is on loopback only")
	f.BoolP("no-promiscuous-mode", "p", false, "accepted for tcpdump's sake: it is the default")
	_ = f.MarkHidden("no-promiscuous-mode")
}

func newLive(env environment) *cobra.Command {
	var o readOptions
	cmd := &cobra.Command{
		Use:   "live [flags] -i INTERFACE... [FILTER]",
		Short: "Capture from interfaces and dissect (what qdissect -i INTERFACE does)",
		Long: `Capture from network interfaces and dissect what passes, until it is interrupted,
-c messages have been seen or a condition of -a is met. FILTER, or -f, is in
tcpdump's language; without one, all UDP, all IP fragments and ICMP errors are
captured, with one the ICMP errors about what it chooses. The summary goes to
stderr.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(o.live.interfaces) == 0 && !o.live.list {
				return errors.New("no interface given: -i NAME, and -D lists them")
			}
			return runRead(cmd, args, &o, env)
		},
	}
	o.add(cmd.Flags())
	return cmd
}

// listInterfaces writes what can be captured from. It has no use for anything
// else on the command line.
func listInterfaces(env environment, others []string) error {
	if len(others) > 0 {
		return fmt.Errorf("-D lists the interfaces and takes nothing else: %s", strings.Join(others, " "))
	}
	list, err := capture.Interfaces()
	if err != nil {
		return err
	}
	for _, i := range list {
		if _, err := fmt.Fprintln(env.out, interfaceLine(&i)); err != nil {
			return err
		}
	}
	return nil
}

// interfaceLine is what -D says of an interface, safe on a terminal: whoever may
// make an interface chooses its name.
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

// filterOptions are the flags of capture filters.
type filterOptions struct {
	text  string
	exact bool
}

func (o *filterOptions) add(f *pflag.FlagSet) {
	f.StringVarP(&o.text, "filter", "f", "", "capture `FILTER` in tcpdump's language, such as 'udp port 27015'; @FILE takes what tcpdump -ddd prints, @- from standard input")
	f.BoolVar(&o.exact, "exact-filter", false, "do not let later IP fragments pass that a filter for ports cannot see, nor ICMP errors by what they quote")
}

// chooser is a filter in both forms.
type chooser struct {
	parsed  *filter.Filter  // nil for all
	program *filter.Program // of tcpdump
	o       filter.Options
}

// compile reads the filter, of which words are what stood on the command line. A
// program can be on standard input, which is nil if it is read already.
func (o *filterOptions) compile(words []string, stdin io.Reader) (*chooser, error) {
	c := &chooser{o: filter.Options{Exact: o.exact}}
	text := o.text
	if len(words) > 0 {
		if text != "" {
			return nil, fmt.Errorf("a filter is given with -f and again as %q", strings.Join(words, " "))
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
			return nil, errors.New("-f @- and - at once: standard input is the filter or the capture")
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
				return nil, fmt.Errorf("%s is a file; behind -r or -i there is a filter, name more files with -r", words[0])
			}
		}
		return nil, showFilter(err)
	}
	return c, nil
}

// showFilter makes an error of a filter one that points at the word.
func showFilter(err error) error {
	var e *filter.Error
	if !errors.As(err, &e) {
		return err
	}
	return pointed{e}
}

// pointed is an error of a filter with the expression and carets below it.
type pointed struct{ err *filter.Error }

func (p pointed) Error() string { return p.err.Error() + "\n" + p.err.Show() }

// Unwrap returns the error of the filter.
func (p pointed) Unwrap() error { return p.err }

// note is what to say of the filter, "" for nothing.
func (c *chooser) note() string {
	if c.parsed != nil && !c.o.Exact && c.parsed.IncludesFragments() {
		return filter.FragmentNote + " (--exact-filter leaves them out)"
	}
	return ""
}

// match is the filter for files; nil if there is none. ICMP errors about what it
// chooses are chosen too.
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

// quotedToo makes a filter choose ICMP errors by what they quote as well.
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

// matchLive is the filter for interfaces where the kernel does not apply it.
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

// chosen is the filter for what the kernel has let pass: ICMP errors among it
// need a second look.
func (c *chooser) chosen() func(uint16) (func([]byte, int) bool, error) {
	lenient := *c
	lenient.o.Lenient = true
	return lenient.match()
}

// kernel is the filter for interfaces. With all of them, it has to be one for
// Ethernet; that "vlan" means nothing for tunnels is no reason to refuse it.
func (c *chooser) kernel(snap int, all bool) func(uint16) ([]bpf.RawInstruction, error) {
	return func(link uint16) ([]bpf.RawInstruction, error) {
		if c.program != nil {
			return shorten(c.program.Raw(), snap), nil
		}
		f := c.parsed
		if f == nil {
			f = filter.Default(link)
		}
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

// shorten makes a program keep no more than snap bytes of a frame, if snap is not 0.
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

// announce says where it listens, as tcpdump does: who reads it knows that the
// capture has begun.
func (o *liveOptions) announce(env environment, live *capture.Live) {
	snap := o.snap
	if snap == 0 {
		snap = capture.MaxFrame
	}
	for _, i := range live.Interfaces() {
		line := fmt.Sprintf("listening on %s, link-type %s, snapshot length %d bytes", i.Name, capture.LinkTypeName(i.LinkType), snap)
		env.err.Write(append(nettext.AppendSafe(nil, []byte(line)), '\n'))
	}
}

// open begins to capture. The error says what to do about it.
func (o *liveOptions) open(c *chooser) (*capture.Live, error) {
	live, err := capture.OpenLive(capture.LiveOptions{
		Interfaces: o.interfaces, Promiscuous: o.promiscuous, Ring: o.buffer << 20,
		Filter: c.kernel(o.snap, slices.Contains(o.interfaces, capture.AnyInterface)), Matcher: c.matchLive, Snap: o.snap,
	})
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, errors.New(rights(o.interfaces[0]))
	case errors.Is(err, fs.ErrNotExist):
		var known []string
		if list, listErr := capture.Interfaces(); listErr == nil {
			for _, i := range list {
				known = append(known, i.Name)
			}
		}
		return nil, fmt.Errorf("%w; there are %s", err, strings.Join(known, ", "))
	}
	return live, err
}

// maxBuffer is how much of the memory one interface may take, in MiB.
const maxBuffer = 4096

// rights says what to do where the rights to capture are missing.
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
		return fmt.Sprintf("no right to capture from %s: run as root, or once: sudo setcap cap_net_raw+ep %s", name, shellWord(self))
	case "windows":
		return fmt.Sprintf("no right to capture from %s: run as administrator", name)
	}
	return fmt.Sprintf("no right to capture from %s: run with sudo, or give yourself access: sudo chmod g+r /dev/bpf*", name)
}

// repeated is how long after a signal another one counts as the same: timeout
// sends one to the program and one to its group.
const repeated = 500 * time.Millisecond

// interrupted returns a context that ends with parent, at SIGINT, SIGTERM or, if
// it is not ignored as nohup does, SIGHUP. The second signal ends the program.
func interrupted(parent context.Context) (ctx context.Context, done func()) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, cancel := signal.NotifyContext(parent, signals...)
	go func() {
		<-ctx.Done()
		time.Sleep(repeated)
		cancel() // signals have their usual effect again
	}()
	return ctx, func() {
		if ctx.Err() == nil {
			cancel()
		}
	}
}

// watch tells of a run while it goes on.
type watch struct {
	env     environment
	last    report.Summary
	at      time.Time
	every   time.Duration
	metrics atomic.Pointer[[]byte]
}

// watcher returns what is told of a run that goes on, how often, and what ends
// it. The function is nil if nobody wants to know.
func (o *liveOptions) watcher(env environment) (tell func(*report.Summary), every time.Duration, end func(), err error) {
	end = func() {}
	if o.every == 0 && o.metrics == "" {
		return nil, 0, end, nil
	}
	w := &watch{env: env, at: time.Now(), every: time.Duration(o.every) * time.Second}
	every = w.every
	if o.metrics != "" {
		if end, err = w.serve(o.metrics); err != nil {
			return nil, 0, nil, err
		}
		every = time.Second
		w.tell(new(report.Summary))
	}
	return w.tell, every, end, nil
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
	line := fmt.Sprintf("%s  %d packets (%.0f/s)  %d messages (%.0f/s)  %d not recognised  %d unanswered  %d errors  %d warnings",
		now.UTC().Format(time.TimeOnly), s.Packets, rate(s.Packets, w.last.Packets), messages(s), rate(messages(s), messages(&w.last)),
		s.Unknown, s.Unanswered, s.Findings[3], s.Findings[2])
	if s.Live {
		line += fmt.Sprintf("  %d lost", s.Lost)
	}
	if s.Evicted > 0 {
		line += fmt.Sprintf("  %d evicted (%.0f/s)", s.Evicted, rate(s.Evicted, w.last.Evicted))
	}
	fmt.Fprintln(w.env.err, line)
	w.last, w.at = *s, now
}

// serve answers at addr, on loopback if it names no host.
func (w *watch) serve(addr string) (end func(), err error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("--metrics %q is not HOST:PORT or :PORT", addr)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("--metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		out.Write(*w.metrics.Load())
	})
	server := &http.Server{Handler: mux, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, MaxHeaderBytes: 8 << 10}
	go server.Serve(l)
	if port == "0" {
		fmt.Fprintf(w.env.err, "qdissect: metrics at http://%s/metrics\n", l.Addr())
	}
	return func() { server.Close() }, nil
}

var _ pipeline.Live = (*capture.Live)(nil)
