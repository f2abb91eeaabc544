// Package host gives the servers of package serve their sockets. It receives requests,
// sends replies when they are due, and counts.
package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/serve"
)

// Options configure a host.
type Options struct {
	// Rate is the number of requests answered per second; 0 means no limit.
	Rate int
	// OnExchange is called for each request, one at a time. It may be nil.
	OnExchange func(*Exchange)
}

// An Exchange is a request with what was sent in reply.
type Exchange struct {
	serve.Answer
	// From is the client, To the address that was asked.
	From, To netip.AddrPort
	// Dropped is the number of datagrams that were not sent because too many wait.
	Dropped int
}

// String returns the exchange in one line, safe on a terminal.
func (e *Exchange) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s > %s  %s  %s", e.From, e.To, strings.ToUpper(e.Protocol), Clipped(e.Request))
	if e.Reply == "" {
		fmt.Fprintf(&b, "  ~ %s", e.Result)
		return b.String()
	}
	fmt.Fprintf(&b, " → %s  [%s, %d bytes", Clipped(e.Reply), Parts(len(e.Datagrams), e.TCP), e.Bytes())
	for _, fault := range [...]struct {
		n    int
		what string
	}{
		{e.Lost, "lost"}, {e.Duplicated, "duplicated"}, {e.Reordered, "reordered"}, {e.Truncated, "truncated"},
		{e.Dropped, "dropped: too many pending"},
	} {
		if fault.n > 0 {
			fmt.Fprintf(&b, ", %d %s", fault.n, fault.what)
		}
	}
	b.WriteByte(']')
	return b.String()
}

// Parts says how many datagrams a reply has, or messages over TCP.
func Parts(n int, tcp bool) string {
	return nettext.Either(tcp, nettext.Count(n, "message"), nettext.Count(n, "datagram"))
}

// Clipped shortens text for the log. A datagram may hold 64 KiB.
func Clipped(s string) string {
	const most = 200
	return string(nettext.Shorten([]byte(s), 0, most))
}

// maxPending limits the datagrams of a socket that wait until they are due.
const maxPending = 4096

// A Host serves captured servers, each on its own socket.
type Host struct {
	o       Options
	sockets []*socket
	running sync.WaitGroup // receivers and senders

	mu     sync.Mutex // protects the following
	bucket bucket
	counts counts
	err    error // of a socket
}

// counts are the totals for the summary.
type counts struct {
	requests, limited, sent, messages, bytes, lost, dropped, failed uint64
	silent                                                          uint64 // replies of which every datagram was lost on purpose
	results                                                         [serve.Withheld + 1]uint64
}

// A socket serves one captured server, over UDP, over TCP or both.
type socket struct {
	host    *Host
	conn    *net.UDPConn     // nil without UDP
	tcp     *net.TCPListener // nil without TCP
	mu      sync.Mutex       // protects server
	server  *serve.Server
	address netip.AddrPort
	pending atomic.Int32 // datagrams that wait until they are due
	talking atomic.Int32 // connections
}

// New returns a host without servers.
func New(o Options) *Host { return &Host{o: o, bucket: bucket{rate: float64(o.Rate)}} }

// Bind opens a socket for a captured server and returns its address. Options get a new
// key, and are guarded unless the address is one of loopback.
func (h *Host) Bind(c *serve.Captured, at netip.AddrPort, so serve.Options) (netip.AddrPort, error) {
	s := &socket{host: h}
	if err := s.listen(c, at); err != nil {
		return netip.AddrPort{}, fmt.Errorf("for %s: %w", c.Address, err)
	}
	so.Guarded = !at.Addr().Unmap().IsLoopback()
	// The key never depends on a seed: whoever knows the key can forge challenges.
	rand.Read(so.Key[:])
	s.server = serve.New(c, so)
	h.sockets = append(h.sockets, s)
	return s.address, nil
}

// listen opens the sockets of a captured server, with the same port.
func (s *socket) listen(c *serve.Captured, at netip.AddrPort) (err error) {
	four := nettext.Either(at.Addr().Is4(), "4", "") // so that 0.0.0.0 does not mean [::]
	udp, tcp := c.Uses()
	for tries := 0; ; tries++ {
		s.address = at
		if udp {
			if s.conn, err = net.ListenUDP("udp"+four, net.UDPAddrFromAddrPort(at)); err != nil {
				return err
			}
			s.address = s.conn.LocalAddr().(*net.UDPAddr).AddrPort()
		}
		if !tcp {
			return nil
		}
		if s.tcp, err = net.ListenTCP("tcp"+four, net.TCPAddrFromAddrPort(s.address)); err == nil {
			s.address = s.tcp.Addr().(*net.TCPAddr).AddrPort()
			return nil
		}
		s.close()
		if at.Port() > 0 || tries == 10 { // a free port of UDP need not be one of TCP
			return err
		}
	}
}

func (s *socket) close() {
	if s.conn != nil {
		s.conn.Close()
	}
	if s.tcp != nil {
		s.tcp.Close()
	}
}

// Close closes the sockets.
func (h *Host) Close() {
	for _, s := range h.sockets {
		s.close()
	}
}

// Panics returns the number of datagrams that made a decoder panic. Call it after Run.
func (h *Host) Panics() uint64 {
	return nettext.Sum(h.sockets, func(s *socket) uint64 { return s.server.Panics() })
}

// ErrStuck is returned by Run if OnExchange did not return within a second after the
// end.
var ErrStuck = errors.New("the log is not read")

// Run serves until ctx ends or a socket fails.
func (h *Host) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	run := func(once func(context.Context) error) {
		h.running.Go(func() {
			if err := repeat(ctx, once); err != nil {
				h.mu.Lock()
				h.err = err
				h.mu.Unlock()
				stop()
			}
		})
	}
	for _, s := range h.sockets {
		if s.conn != nil {
			buf := make([]byte, 1<<16)
			run(func(ctx context.Context) error { return s.receive(ctx, buf) })
		}
		if s.tcp != nil {
			run(s.accept)
		}
	}
	<-ctx.Done()
	for _, s := range h.sockets { // wakes those who wait
		if s.conn != nil {
			_ = s.conn.SetReadDeadline(time.Unix(1, 0))
		}
		if s.tcp != nil {
			_ = s.tcp.SetDeadline(time.Unix(1, 0))
		}
	}
	ended := make(chan struct{})
	go func() {
		h.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return h.err
	case <-time.After(time.Second):
		return ErrStuck
	}
}

// repeat calls a function until ctx ends, or until it fails again and again.
func repeat(ctx context.Context, once func(context.Context) error) error {
	for failed := 0; ; {
		switch err := once(ctx); {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			failed = 0
		case failed == 100 || errors.Is(err, net.ErrClosed):
			return err
		default: // a single error is about an earlier datagram to a client that is gone
			failed++
		}
	}
}

// receive answers a request.
func (s *socket) receive(ctx context.Context, buf []byte) error {
	n, from, err := s.conn.ReadFromUDPAddrPort(buf)
	now := time.Now()
	if err != nil || ctx.Err() != nil || !s.host.admit(now) {
		return err
	}
	e := s.exchange(from)
	s.mu.Lock()
	e.Answer = s.server.Answer(from, now, buf[:n])
	s.mu.Unlock()
	e.Dropped = s.reply(ctx, from, now, e.Datagrams)
	s.host.exchanged(&e)
	return nil
}

func (s *socket) exchange(from netip.AddrPort) Exchange {
	return Exchange{From: netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), To: s.address}
}

// reply sends datagrams when they are due. It returns how many are dropped because
// too many are pending.
func (s *socket) reply(ctx context.Context, to netip.AddrPort, now time.Time, list []serve.Datagram) (dropped int) {
	for len(list) > 0 && list[0].After <= 0 {
		s.send(to, list[0].Payload)
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
			s.send(to, d.Payload)
			s.pending.Add(-1)
		}
	})
	return 0
}

func (s *socket) send(to netip.AddrPort, payload []byte) {
	_, err := s.conn.WriteToUDPAddrPort(payload, to)
	s.host.wrote(&s.host.counts.sent, len(payload), err)
}

// wrote counts a datagram, or a message over TCP.
func (h *Host) wrote(count *uint64, n int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		h.counts.failed++
		return
	}
	*count++
	h.counts.bytes += uint64(n)
}

// admit applies the rate limit.
func (h *Host) admit(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts.requests++
	if h.o.Rate > 0 && !h.bucket.take(now) {
		h.counts.limited++
		return false
	}
	return true
}

// exchanged counts an exchange and hands it over.
func (h *Host) exchanged(e *Exchange) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := &h.counts
	if e.Lost > 0 && len(e.Datagrams) == 0 {
		c.silent++
	} else {
		c.results[e.Result]++
	}
	c.lost += uint64(e.Lost)
	c.dropped += uint64(e.Dropped)
	if h.o.OnExchange != nil {
		h.o.OnExchange(e)
	}
}

// Summary returns the totals in one line.
func (h *Host) Summary() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := &h.counts
	var b strings.Builder
	sent := Parts(int(c.sent), false)
	if tcp := Parts(int(c.messages), true) + " over TCP"; c.messages > 0 && c.sent > 0 {
		sent += ", " + tcp
	} else if c.messages > 0 {
		sent = tcp
	}
	fmt.Fprintf(&b, "%s, %d answered, %d challenged; %s, %d bytes sent", nettext.Count(int(c.requests), "request"),
		c.results[serve.Answered], c.results[serve.Challenged], sent, c.bytes)
	for _, more := range []struct {
		n    uint64
		what string
	}{
		{c.results[serve.NotCaptured], "not in the capture"},
		{c.results[serve.NoChallenge], "without a valid challenge"},
		{c.results[serve.NoRequest], "that ask for nothing"},
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
	return b.String()
}

// A bucket is a token bucket that limits a rate.
type bucket struct {
	rate   float64 // per second, and the size of the bucket
	filled float64
	last   time.Time
}

func (b *bucket) take(now time.Time) bool {
	b.filled = min(b.rate, b.filled+b.rate*now.Sub(b.last).Seconds()) // full, the first time
	b.last = now
	if b.filled < 1 {
		return false
	}
	b.filled--
	return true
}
