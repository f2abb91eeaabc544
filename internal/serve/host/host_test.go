package host

import (
	"context"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/serve"
)

// TestPending checks that the datagrams that wait are limited.
func TestPending(t *testing.T) {
	in := must.Get(capture.Open(filepath.Join("..", "..", "..", "testdata", "pcaps", "a2s", "source.pcap")))(t)
	defer in.Close()
	list, _, err := serve.Read(in, dissect.Config{Protocols: all.Protocols()})
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	h := New(Options{})
	defer h.Close()
	must.Get(h.Bind(list[0], netip.MustParseAddrPort("127.0.0.1:0"), serve.Options{}))(t)
	s := h.sockets[0]
	s.pending.Store(maxPending - 1)
	late := serve.Datagram{After: time.Hour, Payload: []byte("x")}
	ctx, cancel := context.WithCancel(context.Background())
	defer h.running.Wait()
	defer cancel()
	for i, want := range []int{0, 1} {
		if n := s.reply(ctx, s.address, time.Now(), []serve.Datagram{late}); n != want {
			t.Errorf("datagram %d: %d dropped, want %d", i+1, n, want)
		}
	}
}

func TestRate(t *testing.T) {
	b := bucket{rate: 10}
	now := time.Unix(1, 0)
	n := 0
	for range 100 {
		if b.take(now) {
			n++
		}
	}
	if n != 10 {
		t.Errorf("%d at once, want 10", n)
	}
	now = now.Add(200 * time.Millisecond)
	for i, want := range []bool{true, true, false} {
		if b.take(now) != want {
			t.Errorf("request %d after a fifth of a second: %v, want %v", i+1, !want, want)
		}
	}
}
