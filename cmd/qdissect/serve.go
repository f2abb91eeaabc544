package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/serve"
	"github.com/qdissect/qdissect/internal/serve/host"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	listen    string
	server    string
	samePorts bool
	list      bool
	noDelay   bool
	quiet     bool
	untilEOF  bool
	format    string
	seed      uint64
	rate      int
	window    windowOptions
	protocols protocolOptions

	loss, duplicate, reorder, truncate probability
}

// A probability is the value of a flag: 0.1 or 10%.
type probability float64

func (p *probability) String() string { return strconv.FormatFloat(float64(*p), 'g', -1, 64) }

func (p *probability) Type() string { return "P" }

// Set parses the value.
func (p *probability) Set(s string) error {
	number, percent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(number, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return errors.New("a probability is a number from 0 to 1, or from 0% to 100%")
	}
	*p = probability(v)
	return nil
}

const serveHelp = `Answer queries as the servers in a capture answered them.

serve matches a request by its meaning: protocol, type, and content. Challenges
are new. Values that the client chose, such as session ids, are echoed. Replies
are split as in the capture, and are sent after the captured time.

The first lines show where to send queries:

  127.0.0.1:41234  answers for 192.0.2.20:27015  a2s

Then each exchange is logged. An interrupt ends serve with a summary. With
--format jsonl, every line is an object, the first with the addresses.

By default, serve listens on loopback. On other addresses, nobody can use it to
flood others: a client never gets more bytes than it sent, unless it presents a
valid challenge. Only a2s, gamespy3, minecraft, sqp and Teeworlds 0.7 have such
challenges. What was asked over TCP is answered over TCP, in full.

Exit status: 0 ended by an interrupt; 2 error.`

func newServe(env environment) *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve [flags] CAPTURE",
		Short: "Answer queries as the servers in a capture did",
		Long:  serveHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			// A script may read the first line and close the pipe. The server keeps
			// running.
			signal.Ignore(syscall.SIGPIPE)
			return runServe(cmd, args, &o, env)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "address to listen on; of several servers, each gets the next port; port 0 means any free port")
	f.StringVar(&o.server, "server", "", "serve only this captured server: `ADDR:PORT` or the port alone")
	f.BoolVar(&o.samePorts, "same-ports", false, "listen on the ports of the captured servers")
	f.BoolVar(&o.list, "list", false, "list the requests that can be answered, and exit")
	f.BoolVar(&o.noDelay, "no-delay", false, "answer at once instead of after the captured time")
	f.Var(&o.loss, "loss", "drop this share of the datagrams")
	f.Var(&o.duplicate, "duplicate", "send this share of the datagrams twice")
	f.Var(&o.reorder, "reorder", "send this share of the datagrams after the next one")
	f.Var(&o.truncate, "truncate", "truncate this share of the datagrams")
	f.Uint64Var(&o.seed, "seed", 0, "affect the same datagrams in every run (default random; the seed is printed)")
	f.IntVar(&o.rate, "rate", 1000, "answer at most this many requests per second")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "do not log exchanges")
	f.StringVar(&o.format, "format", "text", "output format: text, jsonl")
	f.BoolVar(&o.untilEOF, "until-eof", false, "also end when standard input ends, for programs that start serve")
	o.window.add(f)
	o.protocols.add(f)
	return cmd
}

func runServe(cmd *cobra.Command, args []string, o *serveOptions, env environment) error {
	if err := o.check(args); err != nil {
		return err
	}
	listen, err := parseListen(o.listen)
	if err != nil {
		return err
	}
	ctx, done := interrupted(cmd.Context())
	defer done()
	captured, damaged, err := learn(ctx, args[0], o, env)
	if err != nil {
		return err
	}
	if o.list {
		if err := listServers(env.out, captured, listen, o); err != nil || !damaged {
			return err
		}
		return status(exitTrouble)
	}
	if err := o.fit(len(captured), listen.Port()); err != nil {
		return err
	}
	var log serveLog = textLog{env.out}
	if o.format == "jsonl" {
		log = jsonLog{env.out}
	}
	ho := host.Options{Rate: o.rate}
	if !o.quiet {
		ho.OnExchange = log.exchange
	}
	h := host.New(ho)
	defer h.Close()
	on := started{Type: "serving"}
	trouble := o.trouble(cmd.Flags().Changed("seed"))
	if o.misbehaves() {
		on.Seed = &trouble.Seed
	}
	for i, c := range captured {
		at, err := h.Bind(c, o.address(c, listen, i), serve.Options{NoDelay: o.noDelay, Trouble: trouble})
		if err != nil {
			return o.taken(captured[:i], c, err)
		}
		on.Servers = append(on.Servers, startedServer{
			Address: at.String(), Host: at.Addr().String(), Port: at.Port(), Captured: c.Address.String(), Protocols: c.Names(),
		})
	}
	if err := unlessGone(log.started(&on)); err != nil {
		return err
	}
	if o.untilEOF {
		go func() {
			_, _ = io.Copy(io.Discard, env.in)
			done()
		}()
	}
	err = h.Run(ctx)
	if errors.Is(err, host.ErrStuck) {
		return errors.New("standard output is a pipe that is full and not read; -q turns off the log")
	}
	err = cmp.Or(err, unlessGone(log.summary(h.Summary())))
	panics := h.Panics()
	if panics > 0 {
		complain(env, pipeline.PanicError(panics))
	}
	return nettext.Either(err == nil && (damaged || panics > 0), error(status(exitTrouble)), err)
}

// taken explains why the port of a server cannot be had, if one before has it.
func (o *serveOptions) taken(before []*serve.Captured, c *serve.Captured, err error) error {
	if o.samePorts && slices.ContainsFunc(before, func(b *serve.Captured) bool { return b.Address.Port() == c.Address.Port() }) {
		return fmt.Errorf("--same-ports: several servers have port %d; choose one with --server (--list shows them)", c.Address.Port())
	}
	return err
}

// unlessGone returns an error of writing, nil if only the reader has gone.
func unlessGone(err error) error { return nettext.Either(errors.Is(err, syscall.EPIPE), nil, err) }

// check refuses arguments and flags that make no sense together.
func (o *serveOptions) check(args []string) error {
	return refuse([]refusal{
		{len(args) == 0, "no capture given; see qdissect serve --help"},
		{len(args) > 1, fmt.Sprintf("serve needs one capture, %d given", len(args))},
		{o.rate < 1, fmt.Sprintf("--rate %d: must be at least 1", o.rate)},
		{o.format != "text" && o.format != "jsonl", fmt.Sprintf("unknown format %q; use text or jsonl", o.format)},
		{o.list && o.format != "text", "--list writes text only"},
		{o.untilEOF && len(args) == 1 && args[0] == "-", "--until-eof waits for the end of standard input, and - reads the capture from there"},
	})
}

// fit refuses a number of servers that the sockets do not suffice for. port is that of --listen, 0 if it has none.
func (o *serveOptions) fit(n int, port uint16) error {
	return refuse([]refusal{
		{n > maxSockets, fmt.Sprintf("the capture has %d servers, serve takes at most %d; choose one with --server (--list shows them)", n, maxSockets)},
		{port > 0 && int(port)+n > 1<<16, fmt.Sprintf("the capture has %d servers, and there are no %[1]d ports from %d on", n, port)},
		{port > 0 && o.samePorts, "--same-ports and a port in --listen cannot be combined"},
	})
}

func (o *serveOptions) misbehaves() bool { return o.loss+o.duplicate+o.reorder+o.truncate > 0 }

// trouble returns the configured network faults. Without --seed it chooses a random
// seed.
func (o *serveOptions) trouble(seeded bool) serve.Trouble {
	t := serve.Trouble{Loss: float64(o.loss), Duplicate: float64(o.duplicate), Reorder: float64(o.reorder), Truncate: float64(o.truncate), Seed: o.seed}
	if o.misbehaves() && !seeded {
		t.Seed = uint64(rand.Uint32())
	}
	return t
}

// parseListen parses an address with an optional port.
func parseListen(s string) (netip.AddrPort, error) {
	if s == "localhost" || strings.HasPrefix(s, "localhost:") {
		s = "127.0.0.1" + s[len("localhost"):]
	}
	if port, ok := strings.CutPrefix(s, ":"); ok && !strings.Contains(port, ":") {
		return netip.AddrPort{}, fmt.Errorf("--listen %q has no address; use 127.0.0.1%s for this machine only, 0.0.0.0%s for all networks", s, s, s)
	}
	if a, err := netip.ParseAddrPort(s); err == nil {
		return a, nil
	}
	a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("--listen %q is not an address such as 127.0.0.1, 127.0.0.1:27015 or [::1]:27015", s)
	}
	return netip.AddrPortFrom(a, 0), nil
}

// learn returns the servers to serve. It returns early if ctx ends, because reading
// may wait for a pipe.
func learn(ctx context.Context, name string, o *serveOptions, env environment) ([]*serve.Captured, bool, error) {
	var list []*serve.Captured
	var damaged bool
	read := make(chan error, 1)
	go func() {
		var err error
		list, damaged, err = readCaptured(name, o, env)
		read <- err
	}()
	select {
	case <-ctx.Done():
		return nil, false, errors.New("interrupted while reading the capture")
	case err := <-read:
		if err != nil {
			return nil, false, err
		}
	}
	list, err := chosenServers(list, o.server)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s: nothing to serve, because no request in the capture is answered", name)
	}
	return list, damaged, err
}

// readCaptured reads the capture. It reports damage and returns what comes before it.
func readCaptured(name string, o *serveOptions, env environment) (list []*serve.Captured, damaged bool, err error) {
	config, err := o.protocols.config()
	if err != nil {
		return nil, false, err
	}
	src, err := o.window.open(name, env)
	if err != nil {
		return nil, false, err
	}
	defer src.Close()
	list, trouble, err := serve.Read(src, config)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", name, err)
	}
	if trouble != nil {
		complain(env, trouble)
	}
	return list, trouble != nil, nil
}

// chosenServers returns the servers named by --server.
func chosenServers(list []*serve.Captured, name string) (chosen []*serve.Captured, err error) {
	if name == "" {
		return list, nil
	}
	chosen, err = serve.Choose(list, name)
	if err != nil {
		return nil, fmt.Errorf("--server %q is %w; --list shows the servers", name, err)
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("--server %s: no such server answers in the capture; --list shows the servers", name)
	}
	return chosen, nil
}

// address returns where to serve the i-th captured server.
func (o *serveOptions) address(c *serve.Captured, listen netip.AddrPort, i int) netip.AddrPort {
	switch {
	case o.samePorts:
		return netip.AddrPortFrom(listen.Addr(), c.Address.Port())
	case listen.Port() > 0:
		return netip.AddrPortFrom(listen.Addr(), listen.Port()+uint16(i))
	}
	return listen
}

// maxSockets limits the servers of a run.
const maxSockets = 256
