package qdissecttest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/qdissect/qdissect/dissect/a2s"
	"github.com/qdissect/qdissect/internal/must"
)

const single = "\xff\xff\xff\xff"

// answers are the replies of a small server: info and split rules for clients with a
// challenge.
func answers(ask string) (replies []string) {
	const challenge = "\x01\x02\x03\x04"
	switch {
	case ask == single+"TSource Engine Query\x00", ask == single+"V"+single:
		return []string{single + "A" + challenge}
	case ask == single+"TSource Engine Query\x00"+challenge:
		return []string{single + "I\x11A server\x00de_dust\x00cstrike\x00Counter-Strike\x00\xf0\x00\x05\x10\x00dl\x00\x011.0.0.22\x00"}
	case ask == single+"V"+challenge:
		b := []byte(single + "E")
		b = binary.LittleEndian.AppendUint16(b, 100)
		for i := range 100 {
			b = fmt.Appendf(b, "mp_setting_%03d\x00%d\x00", i, i*i)
		}
		const size = 1248
		parts := slices.Collect(slices.Chunk(b, size))
		for i, part := range parts {
			head := append([]byte("\xfe\xff\xff\xff\x07\x00\x00\x00"), byte(len(parts)), byte(i))
			replies = append(replies, string(binary.LittleEndian.AppendUint16(head, size))+string(part))
		}
	}
	return replies
}

// answerAll answers until the connection is closed.
func answerAll(conn net.PacketConn) {
	b := make([]byte, 1<<16)
	for {
		n, from, err := conn.ReadFrom(b)
		if err != nil {
			return
		}
		for _, reply := range answers(string(b[:n])) {
			conn.WriteTo([]byte(reply), from)
		}
	}
}

// query sends all queries to a server, with a connection from conn for each.
func query(t testing.TB, dial func() net.Conn) {
	t.Helper()
	for _, ask := range []string{"TSource Engine Query\x00", "V"} {
		conn := dial()
		conn.SetDeadline(time.Now().Add(2 * time.Minute))
		b := make([]byte, 1<<16)
		exchange := func(request string) string {
			must.Get(conn.Write([]byte(request)))(t)
			n := must.Get(conn.Read(b))(t)
			return string(b[:n])
		}
		first := ask
		if ask == "V" {
			first += single
		}
		challenge := exchange(single + first)[5:9]
		if reply := exchange(single + ask + challenge); reply[0] == 0xfe {
			for range reply[8] - 1 {
				must.Get(conn.Read(b))(t)
			}
		}
		conn.Close()
	}
}

func listen(t testing.TB, address string) net.PacketConn {
	t.Helper()
	conn := must.Get(net.ListenPacket("udp", address))(t)
	t.Cleanup(func() { conn.Close() })
	return conn
}

func dial(t testing.TB, to net.Addr) net.Conn {
	t.Helper()
	conn := must.Get(net.Dial("udp", to.String()))(t)
	return conn
}

// loopbacks returns the loopback addresses of this machine.
func loopbacks(t testing.TB) (all []string) {
	for _, a := range []string{"127.0.0.1:0", "[::1]:0"} {
		conn, err := net.ListenPacket("udp", a)
		if err != nil {
			t.Logf("not tested: %v", err)
			continue
		}
		conn.Close()
		all = append(all, a)
	}
	return all
}

// TestRoundTrip records a client and a server. tshark must read the capture without
// complaints, and check must find it equal, whichever side recorded it.
func TestRoundTrip(t *testing.T) {
	for _, address := range loopbacks(t) {
		for _, side := range []string{"client", "server"} {
			t.Run(side+" "+address, func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, "talk.pcapng")
				golden := filepath.Join("testdata", "talk.golden.jsonl")
				if b, err := os.ReadFile(golden); err == nil {
					writeFile(t, filepath.Join(dir, "talk.golden.jsonl"), b)
				}
				conn := listen(t, address)
				server := conn.LocalAddr()
				if side == "server" {
					conn = Record(t, conn, File(path))
				}
				var done sync.WaitGroup
				done.Go(func() { answerAll(conn) })
				query(t, func() net.Conn {
					c := dial(t, server)
					if side == "client" {
						c = RecordConn(t, c, File(path))
					}
					return c
				})
				conn.Close()
				done.Wait()
				Golden(t, path, Conversation())
				if updating() {
					must.Do(t, os.MkdirAll("testdata", 0o777))
					writeFile(t, golden, readFile(t, filepath.Join(dir, "talk.golden.jsonl")))
				}
				list := Messages(t, path)
				if len(list) != 8 || len(Bodies[a2s.RulesReply](list)) != 1 || list[3].Server.Map != "de_dust" || len(list[7].Rules) != 100 || list[7].Request != &list[6] {
					t.Errorf("%v", list)
				}
				if list[0].Dst.String() != server.String() || !list[0].Src.Addr().IsLoopback() || list[0].Src.Addr().Is4() != strings.HasPrefix(address, "127") {
					t.Errorf("%v to %v, the server is %v", list[0].Src, list[0].Dst, server)
				}
				if side == "server" || must.TryAll() {
					tshark(t, path, 9)
				}
			})
		}
	}
}

// tshark checks that a capture has n datagrams, correct checksums and nothing
// malformed.
func tshark(t *testing.T, path string, n int) {
	t.Helper()
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("tshark is not installed")
	}
	// The ports are random. Some belong to protocols for which the payloads would be
	// malformed.
	out, err := exec.Command("tshark", "-r", path, "-d", "udp.port==1-65535,data", "-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE",
		"-T", "fields", "-e", "udp.checksum.status", "-e", "ip.checksum.status", "-e", "_ws.malformed").Output()
	if err != nil {
		t.Fatalf("tshark: %v", err)
	}
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	if len(lines) != n {
		t.Errorf("tshark reads %d frames, want %d", len(lines), n)
	}
	for i, line := range lines {
		if f := strings.Split(line, "\t"); f[0] != "1" && f[0] != "Good" || f[1] != "1" && f[1] != "Good" && f[1] != "" || f[2] != "" {
			t.Errorf("frame %d: tshark says %q", i+1, line)
		}
	}
}

// TestRecordEnds checks that each direction of both kinds of connections is recorded once, with its addresses, and that what the
// system refuses is not.
func TestRecordEnds(t *testing.T) {
	path, plain := filepath.Join(t.TempDir(), "x.pcapng"), listen(t, "127.0.0.1:0")
	to := plain.LocalAddr()
	open := Record(t, listen(t, "127.0.0.1:0"), File(path))
	connected, b := RecordConn(t, dial(t, to), File(path)), make([]byte, 100)
	must.Get(open.WriteTo([]byte("wo"), to))(t)
	must.Get(connected.Write([]byte("wc")))(t)
	must.Get(plain.WriteTo([]byte("ro"), open.LocalAddr()))(t)
	must.Get(plain.WriteTo([]byte("rc"), connected.LocalAddr()))(t)
	if n, from, err := open.ReadFrom(b); err != nil || string(b[:n]) != "ro" || from.String() != to.String() {
		t.Errorf("%q from %v, %v", b[:n], from, err)
	}
	if n, err := connected.Read(b); err != nil || string(b[:n]) != "rc" {
		t.Errorf("%q, %v", b[:n], err)
	}
	if _, err := open.WriteTo([]byte("x"), &net.UDPAddr{IP: net.IPv6loopback, Port: 1}); err == nil {
		t.Error("a socket for IPv4 writes to IPv6")
	}
	var got []string
	for _, m := range Messages(t, path) {
		got = append(got, string(m.Data))
		src, dst := to.String(), open.LocalAddr().String()
		if m.Data[1] == 'c' {
			dst = connected.LocalAddr().String()
		}
		if m.Data[0] == 'w' {
			src, dst = dst, src
		}
		if m.Src.String() != src || m.Dst.String() != dst {
			t.Errorf("%q from %v to %v, want %v and %v", m.Data, m.Src, m.Dst, src, dst)
		}
	}
	if want := []string{"wo", "wc", "ro", "rc"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestRecordAddresses checks the addresses of sockets that are bound to no address.
func TestRecordAddresses(t *testing.T) {
	path, other := filepath.Join(t.TempDir(), "x.pcapng"), listen(t, "127.0.0.1:0")
	for _, network := range []string{"udp4", "udp"} {
		conn := must.Get(net.ListenPacket(network, ":0"))(t)
		defer conn.Close()
		c := Record(t, conn, File(path))
		must.Get(c.WriteTo([]byte("hello"), other.LocalAddr()))(t)
		last := Messages(t, path)
		m := last[len(last)-1]
		if want := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(conn.LocalAddr().(*net.UDPAddr).Port)); m.Src != want || m.Dst.String() != other.LocalAddr().String() {
			t.Errorf("%v to %v, want %v", m.Src, m.Dst, want)
		}
	}
}

// pipe wraps a net.Conn as a net.PacketConn without IP addresses.
type pipe struct{ net.Conn }

func (p pipe) ReadFrom(b []byte) (int, net.Addr, error) {
	n, err := p.Read(b)
	return n, p.RemoteAddr(), err
}

func (p pipe) WriteTo(b []byte, _ net.Addr) (int, error) { return p.Write(b) }

// TestRecordPipe checks that connections without IP addresses do not block each other,
// even if both ends record to one file.
func TestRecordPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pcapng")
	a, b := net.Pipe()
	one := Record(t, pipe{a}, File(path))
	two := RecordConn(t, b, File(path))
	go one.WriteTo([]byte("ping"), nil)
	buf := make([]byte, 10)
	n, err := two.Read(buf)
	if err != nil || string(buf[:n]) != "ping" {
		t.Fatal(err)
	}
	go two.Write([]byte("pong"))
	if n, _, err = one.ReadFrom(buf); err != nil || string(buf[:n]) != "pong" {
		t.Fatal(err)
	}
	a.Close()
	if _, err := two.Write([]byte("lost")); err == nil {
		t.Error("written into a closed pipe")
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		list := Messages(t, path)
		if len(list) == 4 && string(list[0].Data) == "ping" && string(list[3].Data) == "pong" && list[0].Src.Addr() != list[0].Dst.Addr() {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v", list)
		}
	}
}

// TestRecordLarge checks the longest datagrams.
func TestRecordLarge(t *testing.T) {
	path, n := filepath.Join(t.TempDir(), "x.pcapng"), 0
	for _, address := range loopbacks(t) {
		other := listen(t, address)
		most := 65507 // IPv6 allows more, but systems do not
		c := Record(t, listen(t, address), File(path))
		for _, size := range []int{0, 1, 1472, 1473, 9000, most} {
			if _, err := c.WriteTo(bytes.Repeat([]byte{'x'}, size), other.LocalAddr()); err != nil {
				if size == most { // macOS has a smaller limit
					t.Logf("not tested: %v", err)
					continue
				}
				t.Fatal(err)
			}
			n++
			// An empty datagram counts, too.
			list := Messages(t, path)
			i := slices.IndexFunc(list, func(m Message) bool { return m.Frame == uint64(n) })
			if len(list) != n || i < 0 || len(list[i].Data) != size || len(list[i].Findings) > 0 {
				t.Errorf("%d bytes: %d datagrams, the last is number %d: %v", size, len(list), i+1, list)
			}
		}
	}
	tshark(t, path, n)
	// Longer than any IP packet, from a type that is not a socket.
	log, failed := try(t, func(t testing.TB) {
		a, b := net.Pipe()
		go b.Read(make([]byte, 1<<20))
		c := RecordConn(t, a, File(filepath.Join(t.(*tester).TempDir(), "x.pcapng")))
		must.Get(c.Write(make([]byte, 70000)))(t)
	})
	if !failed || !strings.Contains(log, "a datagram of 70000 bytes, an IP packet holds 65507") {
		t.Error(log)
	}
}

// TestRecordConcurrent checks that many goroutines on sockets with one file lose
// nothing, and that the datagrams of each are in order.
func TestRecordConcurrent(t *testing.T) {
	path, other := filepath.Join(t.TempDir(), "x.pcapng"), listen(t, "127.0.0.1:0")
	const workers, each = 8, 50
	var wait sync.WaitGroup
	shared := Record(t, listen(t, "127.0.0.1:0"), File(path))
	for w := range workers {
		conn := shared
		if w%2 == 0 {
			conn = Record(t, listen(t, "127.0.0.1:0"), File(path))
		}
		wait.Go(func() {
			for i := range each {
				if _, err := conn.WriteTo([]byte{'x', byte(w), byte(i)}, other.LocalAddr()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	next, list := make([]byte, workers), Messages(t, path)
	last := time.Time{}
	for _, m := range list {
		if w := m.Data[1]; m.Data[2] != next[w] || m.Time.Before(last) {
			t.Fatalf("datagram %d of %d comes before %d, at %v after %v", m.Data[2], w, next[w], m.Time, last)
		}
		next[m.Data[1]]++
		last = m.Time
	}
	if len(list) != workers*each {
		t.Errorf("%d datagrams, want %d", len(list), workers*each)
	}
}

// TestRecordEnd checks that the file is named after the test, is a valid capture from
// the start, is complete at the end, and gets nothing after that.
func TestRecordEnd(t *testing.T) {
	t.Chdir(t.TempDir())
	other := listen(t, "127.0.0.1:0")
	var late net.PacketConn
	path := filepath.Join("testdata", "TestRecordEnd_sub_test.pcapng")
	conn := listen(t, "127.0.0.1:0")
	t.Run("sub test", func(t *testing.T) {
		late = Record(t, conn)
		if list := Messages(t, path); len(list) != 0 {
			t.Errorf("%v", list)
		}
		must.Get(late.WriteTo([]byte("x"), other.LocalAddr()))(t)
	})
	must.Get(late.WriteTo([]byte("y"), other.LocalAddr()))(t)
	if list := Messages(t, path); len(list) != 1 || string(list[0].Data) != "x" {
		t.Errorf("%v", list)
	}
	if len(recordings) > 0 {
		t.Errorf("%d recordings are still open", len(recordings))
	}
}

type broken struct{ net.PacketConn }

func (broken) WriteTo([]byte, net.Addr) (int, error) { return 0, errors.New("no route") }

// TestRecordFailed checks that a datagram that could not be sent is not recorded.
func TestRecordFailed(t *testing.T) {
	path, other := filepath.Join(t.TempDir(), "x.pcapng"), listen(t, "127.0.0.1:0")
	c := Record(t, broken{listen(t, "127.0.0.1:0")}, File(path))
	if _, err := c.WriteTo([]byte("x"), other.LocalAddr()); err == nil {
		t.Fatal("sent")
	}
	if list := Messages(t, path); len(list) != 0 {
		t.Errorf("%v", list)
	}
	log, failed := try(t, func(t testing.TB) {
		l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
		defer l.Close()
		conn := must.Get(net.Dial("tcp", l.Addr().String()))(t)
		defer conn.Close()
		RecordConn(t, conn, File(path))
	})
	if !failed || log != "a tcp connection has no datagrams to be recorded\n" {
		t.Error(log)
	}
}
