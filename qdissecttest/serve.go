package qdissecttest

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/serve"
	"github.com/qdissect/qdissect/internal/serve/host"
)

// A ServeOption configures [Serve] and [ServeAll].
type ServeOption func(*serving)

type serving struct {
	server string
	serve.Options
}

// ServeAs selects the server of the capture: "198.51.100.10:27015", or "27015", the port
// alone.
func ServeAs(server string) ServeOption { return func(o *serving) { o.server = server } }

// NoDelay sends replies at once. Without it, a reply takes as long as in the capture.
func NoDelay() ServeOption { return func(o *serving) { o.NoDelay = true } }

// Faults are faults of a network. Each but Seed is the probability for a datagram of a
// reply, from 0 to 1.
type Faults struct {
	// Loss drops the datagram, Duplicate sends it twice, Reorder sends it after the
	// next one, and Truncate cuts it at a random length.
	Loss, Duplicate, Reorder, Truncate float64
	// Seed chooses the datagrams. With the same seed, the nth reply to a request has the
	// same faults in every run.
	Seed uint64
}

// WithFaults simulates a bad network.
func WithFaults(f Faults) ServeOption {
	return func(o *serving) {
		o.Trouble = serve.Trouble{Loss: f.Loss, Duplicate: f.Duplicate, Reorder: f.Reorder, Truncate: f.Truncate, Seed: f.Seed}
	}
}

// Serve answers queries as a server in a capture answered them, until the test ends. It
// returns the address to query, host:port on loopback with a free port:
//
//	addr := qdissecttest.Serve(t, "testdata/server.pcap")
//	info, err := mylib.Info(addr)
//
// The server is the first one of the capture that answers in a known protocol, or the
// one of [ServeAs]. The test fails at once if there is none.
//
// Requests are matched by their meaning, as qdissect serve does: challenges are new,
// values that the client chose are echoed, and replies are split as in the capture. A
// request without an answer in the capture is not answered. The log of the test, which
// go test shows if the test fails, has a line for each request.
func Serve(t testing.TB, path string, opts ...ServeOption) string {
	t.Helper()
	o := gather(opts)
	list := captured(t, path, &o)
	if len(list) > 1 {
		t.Logf("serving %s (%s), the first of %d servers in %s; ServeAs chooses another, ServeAll serves all: %s",
			list[0].Address, strings.Join(list[0].Names(), ", "), len(list), path, addresses(list[1:]))
	}
	return start(t, list[:1], &o)[list[0].Address.String()]
}

// ServeAll is like [Serve] for all servers of a capture, each on a port of its own. The
// map has the addresses to query by those in the capture.
func ServeAll(t testing.TB, path string, opts ...ServeOption) map[string]string {
	t.Helper()
	o := gather(opts)
	return start(t, captured(t, path, &o), &o)
}

// captured returns the servers of a capture, at least one.
func captured(t testing.TB, path string, o *serving) []*serve.Captured {
	t.Helper()
	src, err := capture.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	list, trouble, err := serve.Read(src, dissect.Config{Protocols: all.Protocols(), Foreign: all.Foreign()})
	switch {
	case err != nil:
		t.Fatalf("%s: %v", path, err)
	case trouble != nil:
		t.Logf("%v; what follows is not served", trouble)
	}
	if len(list) == 0 {
		t.Fatalf("%s has no server: no request in it is answered", path)
	}
	if o.server == "" {
		return list
	}
	chosen, err := serve.Choose(list, o.server)
	if err != nil {
		t.Fatalf("ServeAs(%q): %v", o.server, err)
	}
	if len(chosen) == 0 {
		t.Fatalf("%s has no server %s that answers, but %s", path, o.server, addresses(list))
	}
	return chosen
}

// addresses lists the captured addresses of servers.
func addresses(list []*serve.Captured) string {
	const most = 20
	var b strings.Builder
	for i, c := range list {
		switch {
		case i == most:
			return b.String() + ", …"
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(c.Address.String())
	}
	return b.String()
}

// maxServeLog is how many requests are in the log of a test. Clients that take every reply for a challenge ask for ever.
const maxServeLog = 1000

// logging returns a function that writes exchanges to the log of a test.
func logging(t testing.TB) func(*host.Exchange) {
	lines := 0
	return func(e *host.Exchange) {
		if lines++; lines <= maxServeLog {
			t.Log(e.String())
		} else if lines == maxServeLog+1 {
			t.Log("… further requests are not shown")
		}
	}
}

// start serves until the test ends.
func start(t testing.TB, list []*serve.Captured, o *serving) map[string]string {
	t.Helper()
	var ho host.Options
	if _, ok := t.(*testing.B); !ok { // the log of a benchmark is always shown
		ho.OnExchange = logging(t)
	}
	h := host.New(ho)
	t.Cleanup(h.Close)
	at := make(map[string]string, len(list))
	for _, c := range list {
		address, err := h.Bind(c, netip.MustParseAddrPort("127.0.0.1:0"), o.Options)
		if err != nil {
			t.Fatal(err)
		}
		at[c.Address.String()] = address.String()
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the server: %v", err)
		}
		if n := h.Panics(); n > 0 {
			t.Error(pipeline.PanicError(n))
		}
	})
	return at
}
