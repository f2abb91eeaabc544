package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/serve"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	listen    string
	server    string
	samePorts bool
	list      bool
	noDelay   bool
	quiet     bool
	seed      uint64
	rate      int
	window    windowOptions
	protocols protocolOptions

	loss, duplicate, reorder, truncate probability
}

// A probability is the value of a flag: 0.1 or 10%.
type probability float64

func (p *probability) String() string { return strconv.FormatFloat(float64(*p), 'g', -1, 64) }
func (p *probability) Type() string   { return "P" }

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

Then each exchange is logged. An interrupt ends serve with a summary.

By default, serve listens on loopback. On other addresses, nobody can use it to
flood others: a client never gets more bytes than it sent, unless it presents a
valid challenge. Only a2s, gamespy3 and minecraft have such challenges.

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
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "address to listen on; port 0 means any free port")
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
	o.window.add(f)
	o.protocols.add(f)
	return cmd
}

func runServe(cmd *cobra.Command, args []string, o *serveOptions, env environment) error {
	if err := refuse([]refusal{
		{len(args) == 0, "no capture given; see qdissect serve --help"},
		{len(args) > 1, fmt.Sprintf("serve needs one capture, %d given", len(args))},
		{o.rate < 1, fmt.Sprintf("--rate %d: must be at least 1", o.rate)},
	}); err != nil {
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
	n, port := len(captured), listen.Port() != 0
	if err := refuse([]refusal{
		{n > maxSockets, fmt.Sprintf("the capture has %d servers, serve takes at most %d; choose one with --server (--list shows them)", n, maxSockets)},
		{port && n > 1, fmt.Sprintf("the capture has %d servers, --listen has one port; choose a server with --server (--list shows them), or use port 0 or --same-ports", n)},
		{port && o.samePorts, "--same-ports and a port in --listen cannot be combined"},
	}); err != nil {
		return err
	}
	h := &host{o: o, out: env.out, bucket: bucket{rate: float64(o.rate)}}
	defer h.close()
	trouble := o.trouble(cmd.Flags().Changed("seed"))
	for _, c := range captured {
		if err := h.bind(c, listen, serve.Options{NoDelay: o.noDelay, Trouble: trouble}); err != nil {
			return err
		}
	}
	h.announce(captured)
	if o.misbehaves() {
		h.say("seed %d", trouble.Seed)
	}
	if !h.run(ctx) {
		return errors.New("standard output is a pipe that is full and not read; -q turns off the log")
	}
	h.summary()
	panics := uint64(0)
	for _, s := range h.sockets {
		panics += s.server.Panics()
	}
	if panics > 0 {
		complain(env, pipeline.PanicError(panics))
	}
	if h.err == nil && (damaged || panics > 0) {
		return status(exitTrouble)
	}
	return h.err
}

func (o *serveOptions) misbehaves() bool { return o.loss+o.duplicate+o.reorder+o.truncate > 0 }

// trouble returns the configured network faults. Without --seed it chooses a random
// seed.
func (o *serveOptions) trouble(seeded bool) serve.Trouble {
	t := serve.Trouble{
		Loss: float64(o.loss), Duplicate: float64(o.duplicate), Reorder: float64(o.reorder), Truncate: float64(o.truncate), Seed: o.seed,
	}
	if o.misbehaves() && !seeded {
		var b [4]byte
		rand.Read(b[:])
		t.Seed = uint64(binary.BigEndian.Uint32(b[:]))
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
	src, err := openCapture(name, env)
	if err != nil {
		return nil, false, err
	}
	defer src.Close()
	chosen, err := o.window.within(src)
	if err != nil {
		return nil, false, err
	}
	list, trouble, err := serve.Read(chosen, config)
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
	port, portErr := strconv.ParseUint(name, 10, 16)
	want, err := netip.ParseAddrPort(name)
	if err != nil && portErr != nil {
		return nil, fmt.Errorf("--server %q is neither ADDR:PORT nor a port; --list shows the servers", name)
	}
	for _, c := range list {
		if portErr == nil && c.Address.Port() == uint16(port) || portErr != nil && c.Address == want {
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("--server %s: no such server answers in the capture; --list shows the servers", name)
	}
	return chosen, nil
}

// address returns where to serve a captured server.
func (o *serveOptions) address(c *serve.Captured, listen netip.AddrPort) netip.AddrPort {
	if o.samePorts {
		return netip.AddrPortFrom(listen.Addr(), c.Address.Port())
	}
	return listen
}

// listServers prints the exchanges that can be answered.
func listServers(w io.Writer, list []*serve.Captured, listen netip.AddrPort, o *serveOptions) error {
	var b strings.Builder
	for i, c := range list {
		if i > 0 {
			b.WriteByte('\n')
		}
		at := o.address(c, listen)
		where := at.String()
		if at.Port() == 0 {
			where = "a free port of " + at.Addr().String()
		}
		fmt.Fprintf(&b, "%s  %s  will listen on %s\n", c.Address, c.Names(), where)
		column := 13
		for _, e := range c.Entries() {
			column = max(column, len(e.Protocol))
		}
		for _, e := range c.Entries() {
			fmt.Fprintf(&b, "  %-*s %s → %s  [%s, %d bytes", column, e.Protocol, e.Request, e.Reply, count(e.Datagrams, "datagram"), e.Bytes)
			if e.Times > 1 {
				fmt.Fprintf(&b, "; first of %d", e.Times)
			}
			if e.Incomplete {
				b.WriteString("; incomplete")
			}
			fmt.Fprintf(&b, "; frame %d]\n", e.Frame)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Limits of a run.
const (
	maxSockets = 256
	maxPending = 4096 // datagrams of a socket that wait until they are due
)

// A host serves captured servers, each on its own socket.
type host struct {
	o       *serveOptions
	sockets []*socket
	running sync.WaitGroup // receivers and senders

	mu     sync.Mutex // protects the following
	out    io.Writer
	bucket bucket
	counts counts
	err    error // of a socket
}

// counts are the totals for the summary.
type counts struct {
	requests, limited, sent, bytes, lost, dropped, failed uint64
	silent                                                uint64 // replies of which every datagram was lost on purpose
	results                                               [serve.Withheld + 1]uint64
}

// A socket serves one captured server.
type socket struct {
	host    *host
	conn    *net.UDPConn
	server  *serve.Server
	address netip.AddrPort
	pending atomic.Int32 // datagrams that wait until they are due
}

// bind opens the socket for a captured server.
func (h *host) bind(c *serve.Captured, listen netip.AddrPort, so serve.Options) error {
	at := h.o.address(c, listen)
	network := "udp"
	if at.Addr().Is4() {
		network = "udp4" // so that 0.0.0.0 does not mean [::]
	}
	conn, err := net.ListenUDP(network, net.UDPAddrFromAddrPort(at))
	if err != nil {
		return fmt.Errorf("for %s: %w", c.Address, err)
	}
	so.Guarded = !at.Addr().Unmap().IsLoopback()
	// The key never depends on --seed: whoever knows the key can forge challenges.
	rand.Read(so.Key[:])
	h.sockets = append(h.sockets, &socket{
		host: h, conn: conn, server: serve.New(c, so), address: conn.LocalAddr().(*net.UDPAddr).AddrPort(),
	})
	return nil
}

func (h *host) close() {
	for _, s := range h.sockets {
		s.conn.Close()
	}
}

// announce prints the addresses to query.
func (h *host) announce(list []*serve.Captured) {
	for i, s := range h.sockets {
		h.say("%s  answers for %s  %s", s.address, list[i].Address, list[i].Names())
	}
}

// say prints a line.
func (h *host) say(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fmt.Fprintf(h.out, format+"\n", args...)
}

// run serves until ctx ends or a socket fails. It reports false if a line of the
// log could not be written within a second after that.
func (h *host) run(ctx context.Context) bool {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for _, s := range h.sockets {
		h.running.Go(func() {
			if err := s.receive(ctx); err != nil {
				h.mu.Lock()
				h.err = err
				h.mu.Unlock()
				stop()
			}
		})
	}
	<-ctx.Done()
	for _, s := range h.sockets {
		_ = s.conn.SetReadDeadline(time.Unix(1, 0)) // wakes the receiver
	}
	ended := make(chan struct{})
	go func() {
		h.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return true
	case <-time.After(time.Second):
		return false
	}
}

// receive answers requests until ctx ends.
func (s *socket) receive(ctx context.Context) error {
	buf := make([]byte, 1<<16)
	for failed := 0; ; {
		n, from, err := s.conn.ReadFromUDPAddrPort(buf)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			// A single error is about an earlier datagram to a client that is gone.
			if failed++; failed > 100 || errors.Is(err, net.ErrClosed) {
				return err
			}
			continue
		}
		failed = 0
		now := time.Now()
		if !s.host.admit(now) {
			continue
		}
		a := s.server.Answer(from, now, buf[:n])
		s.host.exchanged(s, from, &a, s.reply(ctx, from, now, a.Datagrams))
	}
}

// reply sends datagrams when they are due. It returns how many are dropped because
// too many are pending.
func (s *socket) reply(ctx context.Context, to netip.AddrPort, now time.Time, list []serve.Datagram) (dropped int) {
	for len(list) > 0 && list[0].After <= 0 {
		s.write(to, list[0].Payload)
		list = list[1:]
	}
	n := int32(len(list))
	if s.pending.Add(n) > maxPending {
		s.pending.Add(-n)
		return len(list)
	}
	if n == 0 {
		return 0
	}
	s.host.running.Go(func() {
		for _, d := range list {
			select {
			case <-time.After(time.Until(now.Add(d.After))):
			case <-ctx.Done():
				return
			}
			s.write(to, d.Payload)
			s.pending.Add(-1)
		}
	})
	return 0
}

// admit applies the rate limit.
func (h *host) admit(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts.requests++
	if !h.bucket.take(now) {
		h.counts.limited++
		return false
	}
	return true
}

// exchanged counts an exchange and logs it.
func (h *host) exchanged(s *socket, from netip.AddrPort, a *serve.Answer, dropped int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := &h.counts
	if a.Lost > 0 && len(a.Datagrams) == 0 {
		c.silent++
	} else {
		c.results[a.Result]++
	}
	c.lost += uint64(a.Lost)
	c.dropped += uint64(dropped)
	if h.o.quiet {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s > %s  %s  %s", netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), s.address, strings.ToUpper(a.Protocol), clipped(a.Request))
	if a.Reply == "" {
		fmt.Fprintf(&b, "  ~ %s\n", a.Result)
	} else {
		n := 0
		for i := range a.Datagrams {
			n += len(a.Datagrams[i].Payload)
		}
		fmt.Fprintf(&b, " → %s  [%s, %d bytes", clipped(a.Reply), count(len(a.Datagrams), "datagram"), n)
		if a.Lost > 0 {
			fmt.Fprintf(&b, ", %d lost", a.Lost)
		}
		if dropped > 0 {
			fmt.Fprintf(&b, ", %d dropped: too many pending", dropped)
		}
		b.WriteString("]\n")
	}
	io.WriteString(h.out, b.String())
}

// clipped shortens text for the log. A datagram may hold 64 KiB.
func clipped(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	end := most
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

func (s *socket) write(to netip.AddrPort, payload []byte) {
	_, err := s.conn.WriteToUDPAddrPort(payload, to)
	h := s.host
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		h.counts.failed++
		return
	}
	h.counts.sent++
	h.counts.bytes += uint64(len(payload))
}

// summary prints the totals.
func (h *host) summary() {
	c := &h.counts
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d answered, %d challenged; %s, %d bytes sent", count(int(c.requests), "request"),
		c.results[serve.Answered], c.results[serve.Challenged], count(int(c.sent), "datagram"), c.bytes)
	for _, more := range []struct {
		n    uint64
		what string
	}{
		{c.results[serve.NotCaptured], "not in the capture"},
		{c.results[serve.NoChallenge], "without a valid challenge"},
		{c.results[serve.Withheld], "withheld"},
		{c.limited, "beyond the rate"},
		{c.silent, "left unanswered on purpose"},
		{c.lost, "lost on purpose"},
		{c.dropped, "dropped"},
		{c.failed, "not sent"},
	} {
		if more.n > 0 {
			fmt.Fprintf(&b, "; %d %s", more.n, more.what)
		}
	}
	h.say("%s", b.String())
}

// A bucket is a token bucket that limits a rate.
type bucket struct {
	rate   float64 // per second, and the size of the bucket
	filled float64
	last   time.Time
}

func (b *bucket) take(now time.Time) bool {
	if b.last.IsZero() {
		b.filled = b.rate
	} else {
		b.filled = min(b.rate, b.filled+b.rate*now.Sub(b.last).Seconds())
	}
	b.last = now
	if b.filled < 1 {
		return false
	}
	b.filled--
	return true
}
