package host

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/a2s"
	"github.com/qdissect/qdissect/dissect/minecraftjava"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/serve"
)

// bound returns a host with the first server of a capture.
func bound(t *testing.T, folder, name string) (*Host, *socket) {
	in := must.Get(capture.Open(filepath.Join("..", "..", "..", "testdata", "pcaps", folder, name)))(t)
	defer in.Close()
	list, _, err := serve.Read(in, dissect.Config{Protocols: []*dissect.Protocol{a2s.Protocol(), minecraftjava.Protocol()}})
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	h := New(Options{})
	t.Cleanup(h.Close)
	must.Get(h.Bind(list[0], netip.MustParseAddrPort("127.0.0.1:0"), serve.Options{}))(t)
	return h, h.sockets[0]
}

// TestConnections repeats the limits of docs/limits.md for connections and for what comes over them.
func TestConnections(t *testing.T) {
	h, s := bound(t, "minecraft-java", "servers.pcap")
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(h.running.Wait)
	t.Cleanup(cancel)
	go func() { _ = h.Run(ctx) }()
	for i := range 257 {
		c := must.Get(net.Dial("tcp", s.address.String()))(t)
		defer c.Close()
		if i == 255 {
			time.Sleep(50 * time.Millisecond) // so that all are counted
		}
		if i < 255 {
			continue
		}
		must.Get(c.Write([]byte("\x10\x00\xfd\x05\x09localhost\x00\x07\x01\x01\x00")))(t)
		if n, err := c.Read(make([]byte, 10)); (n > 0) != (i == 255) {
			t.Errorf("connection %d: %d bytes, %v", i+1, n, err)
		}
	}
	const ping = "\xfe\x01\xfa\x00\x0b\x00M\x00C\x00|\x00P\x00i\x00n\x00g\x00H\x00o\x00s\x00t"
	for size, want := range map[int]int{65536: 0, 65537: -1} {
		b := binary.BigEndian.AppendUint16([]byte(ping), uint16(size-len(ping)-2))
		if n, _, _ := s.server.Next(netip.AddrPort{}, time.Now(), b, false); n != want {
			t.Errorf("a message of %d bytes: %d", size, n)
		}
	}
}

// TestPending checks that the datagrams that wait are limited.
func TestPending(t *testing.T) {
	h, s := bound(t, "a2s", "source.pcap")
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
	now, n := time.Unix(1, 0), 0
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
