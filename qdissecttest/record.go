package qdissecttest

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/mkpcap"
)

// Record returns a connection that behaves like conn and writes all datagrams in both
// directions to a capture. The capture is testdata/<name of the test>.pcapng, or the
// [File] option. An existing file is truncated. The same test can read the capture at
// any time with [Messages] or [Golden]. The capture is complete when the test ends.
//
// The result may be used by several goroutines at once. Several connections of a test
// may write to the same file. Record either the client or the server; otherwise all
// datagrams are in the file twice.
//
// Frames are unfragmented IP packets with the addresses of the connection and the time
// of the call. For a socket that is not bound to an address, the frame has the address
// that the system would send from. Connections without IP addresses, such as those of
// [net.Pipe], get addresses that are reserved for documentation. A datagram longer
// than the read buffer is truncated in the capture as well.
func Record(t testing.TB, conn net.PacketConn, opts ...Option) net.PacketConn {
	t.Helper()
	return &packetConn{PacketConn: conn, tap: newTap(t, conn, opts)}
}

// RecordConn is like [Record] for a connected socket, such as [net.Dial] returns. The
// connection must carry datagrams; TCP does not.
func RecordConn(t testing.TB, conn net.Conn, opts ...Option) net.Conn {
	t.Helper()
	if remote := conn.RemoteAddr(); remote != nil {
		if network := remote.Network(); strings.HasPrefix(network, "tcp") || network == "unix" {
			t.Fatalf("a %s connection has no datagrams to be recorded", network)
		}
	}
	return &netConn{Conn: conn, tap: newTap(t, conn, opts)}
}

// A recording is an open capture.
type recording struct {
	mu    sync.Mutex
	w     *capture.Writer
	queue []*passing
	users int
	id    uint16
	frame capture.Frame
	err   error
}

// A passing is a datagram to record. A datagram being sent keeps its place in the file
// until the system has accepted it, because the answer may arrive first.
type passing struct {
	at       time.Time
	src, dst netip.AddrPort
	payload  []byte
	sending  bool
	failed   bool
}

// recordings are the open captures by path. Several sockets of a test can share one.
var (
	recordingsMu sync.Mutex
	recordings   = map[string]*recording{}
)

// open returns the recording for a file until the test ends.
func open(t testing.TB, path string) *recording {
	t.Helper()
	path = cmp.Or(path, filepath.Join("testdata", fileName(t.Name())+".pcapng"))
	key, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	recordingsMu.Lock()
	defer recordingsMu.Unlock()
	r := recordings[key]
	if r == nil {
		if err := os.MkdirAll(filepath.Dir(key), 0o777); err != nil {
			t.Fatal(err)
		}
		w, err := capture.Create(path)
		if err == nil {
			err = w.Flush() // an empty capture is readable
		}
		if err != nil {
			t.Fatal(err)
		}
		r = &recording{w: w}
		recordings[key] = r
	}
	r.users++
	t.Cleanup(func() {
		recordingsMu.Lock()
		defer recordingsMu.Unlock()
		if r.users--; r.users > 0 {
			return
		}
		delete(recordings, key)
		if err := r.close(); err != nil {
			t.Errorf("recording %s: %v", path, err)
		}
	})
	return r
}

// fileName converts the name of a test to a file name.
func fileName(test string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' || r >= 0x80 {
			return r
		}
		return '_'
	}, test)
}

// add adds a datagram. It copies the payload.
func (r *recording) add(src, dst netip.AddrPort, payload []byte, sending bool) *passing {
	p := &passing{src: src, dst: dst, payload: append([]byte(nil), payload...), sending: sending}
	r.mu.Lock()
	defer r.mu.Unlock()
	p.at = time.Now()
	r.queue = append(r.queue, p)
	r.write(false)
	return p
}

// sent reports the result of sending a datagram.
func (r *recording) sent(p *passing, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.sending, p.failed = false, err != nil
	r.write(false)
}

// write writes the datagrams up to the first that is still being sent. If all is set,
// it writes all of them.
func (r *recording) write(all bool) {
	n := 0
	for n < len(r.queue) && (all || !r.queue[n].sending) {
		if p := r.queue[n]; !p.failed && r.w != nil && r.err == nil {
			r.err = r.packet(p)
		}
		n++
	}
	r.queue = append(r.queue[:0], r.queue[n:]...)
	if n > 0 && r.w != nil && r.err == nil {
		r.err = r.w.Flush()
	}
}

// Sizes of IP packets.
const (
	udpHeader   = 8
	ipv4Header  = 20
	largestIP   = 1<<16 - 1
	linkTypeRaw = 101
)

// packet writes a datagram as an IP packet.
func (r *recording) packet(p *passing) error {
	src, dst := p.src, p.dst
	if src.Addr().Is4() != dst.Addr().Is4() {
		src, dst = as6(src), as6(dst)
	}
	most := largestIP - udpHeader
	if src.Addr().Is4() {
		most -= ipv4Header
	}
	if len(p.payload) > most {
		return fmt.Errorf("a datagram of %d bytes, an IP packet holds %d", len(p.payload), most)
	}
	r.id++
	const udp = 17
	packet := mkpcap.IP(src.Addr(), dst.Addr(), r.id, udp, 0, false, false, mkpcap.UDPSegment(src, dst, p.payload))
	r.frame = capture.Frame{Time: capture.StampOf(p.at), LinkType: linkTypeRaw, Data: packet, Length: len(packet)}
	return r.w.Write(&r.frame)
}

func as6(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom16(a.Addr().As16()), a.Port())
}

func (r *recording) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.write(true)
	err := errors.Join(r.err, r.w.Close())
	r.w = nil // stop recording
	return err
}

// A tap connects a connection with its recording.
type tap struct {
	r     *recording
	local net.Addr

	mu    sync.Mutex
	known map[string]netip.AddrPort // local addresses by remote address, and replacements for addresses without IP
}

func newTap(t testing.TB, conn interface{ LocalAddr() net.Addr }, opts []Option) *tap {
	t.Helper()
	o := gather(opts)
	return &tap{r: open(t, o.file), local: conn.LocalAddr(), known: map[string]netip.AddrPort{}}
}

// received records a datagram from an address.
func (t *tap) received(from net.Addr, payload []byte) {
	src, dst := t.ends(from)
	t.r.add(src, dst, payload, false)
}

// sending records a datagram to an address and sends it.
func (t *tap) sending(to net.Addr, payload []byte, send func() error) {
	dst, src := t.ends(to)
	p := t.r.add(src, dst, payload, true)
	// the error if send panics
	err := errors.New("not sent")
	defer func() { t.r.sent(p, err) }()
	err = send()
}

// ends returns the addresses of the other side and of this side towards it.
func (t *tap) ends(other net.Addr) (remote, local netip.AddrPort) {
	t.mu.Lock()
	defer t.mu.Unlock()
	remote, local = t.address(other, 2), t.address(t.local, 1)
	// Systems send to themselves what is sent to the unspecified address.
	switch remote.Addr() {
	case netip.IPv4Unspecified():
		remote = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), remote.Port())
	case netip.IPv6Unspecified():
		remote = netip.AddrPortFrom(netip.IPv6Loopback(), remote.Port())
	}
	if !local.Addr().IsUnspecified() {
		return remote, local
	}
	key := "towards " + remote.Addr().String()
	towards, ok := t.known[key]
	if !ok {
		towards = source(remote)
		t.known[key] = towards
	}
	return remote, netip.AddrPortFrom(towards.Addr(), local.Port())
}

// address returns the address of a side. If it is not an IP address, the result is
// 192.0.2.last, which is reserved for documentation.
func (t *tap) address(a net.Addr, last byte) netip.AddrPort {
	var end netip.AddrPort
	switch a := a.(type) {
	case *net.UDPAddr:
		end = a.AddrPort()
	case nil:
	default:
		end, _ = netip.ParseAddrPort(a.String())
	}
	if end.Addr().IsValid() {
		return netip.AddrPortFrom(end.Addr().Unmap().WithZone(""), end.Port())
	}
	key := fmt.Sprintf("end %d", last)
	if a != nil {
		key += " " + a.Network() + " " + a.String()
	}
	end, ok := t.known[key]
	if !ok {
		end = netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, last}), uint16(49152+len(t.known)))
		t.known[key] = end
	}
	return end
}

// source returns the address from which the system would send to another. It sends
// nothing.
func source(to netip.AddrPort) netip.AddrPort {
	if to.Port() == 0 {
		to = netip.AddrPortFrom(to.Addr(), 9)
	}
	if c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to)); err == nil {
		defer c.Close()
		if end, err := netip.ParseAddrPort(c.LocalAddr().String()); err == nil {
			return netip.AddrPortFrom(end.Addr().Unmap().WithZone(""), end.Port())
		}
	}
	if to.Addr().Is4() {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0)
	}
	return netip.AddrPortFrom(netip.IPv6Loopback(), 0)
}

// A packetConn records a net.PacketConn.
type packetConn struct {
	net.PacketConn
	tap *tap
}

func (c *packetConn) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := c.PacketConn.ReadFrom(b)
	if err == nil {
		c.tap.received(from, b[:n])
	}
	return n, from, err
}

func (c *packetConn) WriteTo(b []byte, to net.Addr) (n int, err error) {
	c.tap.sending(to, b, func() error { n, err = c.PacketConn.WriteTo(b, to); return err })
	return n, err
}

// A netConn records a net.Conn.
type netConn struct {
	net.Conn
	tap *tap
}

func (c *netConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil {
		c.tap.received(c.RemoteAddr(), b[:n])
	}
	return n, err
}

func (c *netConn) Write(b []byte) (n int, err error) {
	c.tap.sending(c.RemoteAddr(), b, func() error { n, err = c.Conn.Write(b); return err })
	return n, err
}
