package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/stats"
	"github.com/qdissect/qdissect/internal/tools/scenes"
)

// namespace moves the test into a new network namespace with lo and a pair of
// connected interfaces, veth0 and veth1. The namespace ends with the test, because its
// thread is never released. Subtests run outside of it.
func namespace(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("no network namespace here: not root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("no network namespace here: iproute2 is not installed")
	}
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skip("no network namespace here: " + err.Error())
	}
	shell(t, "ip link set lo up; ip link add veth0 type veth peer name veth1; ip link set veth0 addrgenmode none mtu 65535 up; ip link set veth1 addrgenmode none mtu 65535 up")
	carrier(t)
}

// carrier waits until the kernel has noticed that both ends of a cable are up, which
// a busy machine does late: until then it drops what is sent, and says nothing.
func carrier(t *testing.T) {
	t.Helper()
	until(t, func() bool {
		list := must.Get(net.Interfaces())(t)
		return !slices.ContainsFunc(list, func(i net.Interface) bool { return i.Flags&(net.FlagUp|net.FlagRunning) == net.FlagUp })
	}, func() string { return "an interface is up and has no carrier" })
}

// patience is how long tests wait for what comes at once, unless the machine is busy.
const patience = 2 * time.Minute

// until waits until something is so, or says what is instead.
func until(t *testing.T, is func() bool, instead func() string) {
	t.Helper()
	wait := 5 * time.Millisecond
	for end := time.Now().Add(patience); !is(); time.Sleep(wait) {
		if time.Now().After(end) {
			t.Fatal(instead())
		}
		wait = min(wait*3/2, 50*time.Millisecond) // some conditions start a program
	}
}

var onlyIP = regexp.MustCompile(`^(ip [a-z][^;|&$]*(; |$))+$`)

// shell runs a script. One of ip alone is a batch, because most of them have many commands.
func shell(t *testing.T, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	if onlyIP.MatchString(script) {
		cmd = exec.Command("ip", "-batch", "-")
		cmd.Stdin = strings.NewReader(strings.ReplaceAll(strings.TrimPrefix(script, "ip "), "; ip ", "\n") + "\n")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// running is the program as a process.
type running struct {
	t     *testing.T
	cmd   *exec.Cmd
	first chan bool // closed at the first line of output
	ended chan bool
	mu    sync.Mutex
	out   []string // lines of output
	err   safeBuffer
}

// start runs the program with JSON output and waits until it captures.
func start(t *testing.T, args ...string) *running {
	t.Helper()
	r := launch(t, nil, append([]string{"-o", "jsonl"}, args...)...)
	r.await(r.first, "begin")
	return r
}

// launch runs the program.
func launch(t *testing.T, change func(*exec.Cmd), args ...string) *running {
	t.Helper()
	path := must.Get(program())(t)
	if i := slices.Index(args, "-i"); i >= 0 { // the kernel clears the whole buffer
		args = slices.Insert(slices.Clone(args), i, "-B", "4")
	}
	r := &running{t: t, cmd: exec.Command(path, args...), first: make(chan bool), ended: make(chan bool)}
	pipe := must.Get(r.cmd.StdoutPipe())(t)
	r.cmd.Stderr = &r.err
	if change != nil {
		change(r.cmd)
	}
	must.Do(t, r.cmd.Start())
	go func() {
		begin := sync.OnceFunc(func() { close(r.first) })
		lines := bufio.NewScanner(pipe)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			r.mu.Lock()
			r.out = append(r.out, lines.Text())
			r.mu.Unlock()
			begin()
		}
		begin()
		r.cmd.Wait()
		close(r.ended)
	}()
	t.Cleanup(func() {
		r.cmd.Process.Kill()
		<-r.ended
	})
	return r
}

func (r *running) await(c chan bool, what string) {
	r.t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		r.t.Fatalf("it does not %s\n%s", what, strings.Join(r.lines(), "\n"))
	}
}

// until waits until something is so that the program does.
func (r *running) until(what string, is func() bool) {
	r.t.Helper()
	until(r.t, is, func() string {
		return fmt.Sprintf("it does not %s\n%s\n%s", what, &r.err, strings.Join(r.lines(), "\n"))
	})
}

// lines returns the output so far.
func (r *running) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.out)
}

// messages returns the messages so far.
func (r *running) messages() []string { return messages(r.lines()) }

func messages(lines []string) (list []string) {
	for _, l := range lines {
		if strings.HasPrefix(l, `{"type":"message"`) {
			list = append(list, l)
		}
	}
	return list
}

// has waits until the output has n messages.
func (r *running) has(n int) {
	r.t.Helper()
	r.until(fmt.Sprintf("have %d messages", n), func() bool { return len(r.messages()) >= n })
}

// stop interrupts the program and returns all lines.
func (r *running) stop(s os.Signal) []string {
	r.t.Helper()
	r.cmd.Process.Signal(s)
	return r.end(exitDone)
}

// end waits until the program ends and returns all lines.
func (r *running) end(status int) []string {
	r.t.Helper()
	r.await(r.ended, "end")
	if s := r.cmd.ProcessState.ExitCode(); s != status {
		r.t.Errorf("exit status %d, want %d\n%s", s, status, &r.err)
	}
	return r.lines()
}

// says checks that stderr matches a pattern.
func (r *running) says(pattern string) {
	r.t.Helper()
	if !regexp.MustCompile("(?m)" + pattern).MatchString(r.err.String()) {
		r.t.Errorf("stderr has no %q:\n%s", pattern, &r.err)
	}
}

// wire is a socket that sends frames on an interface.
type wire struct {
	t  *testing.T
	fd int
	to *unix.SockaddrLinklayer
}

func connect(t *testing.T, name string) *wire {
	t.Helper()
	carrier(t)
	i := must.Get(net.InterfaceByName(name))(t)
	fd := must.Get(unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0))(t)
	t.Cleanup(func() { unix.Close(fd) })
	return &wire{t, fd, &unix.SockaddrLinklayer{Ifindex: i.Index, Halen: 6}}
}

// send sends a frame. The kernel determines its end by its type.
func (w *wire) send(frame []byte) {
	w.t.Helper()
	w.to.Protocol = binary.NativeEndian.Uint16(frame[12:])
	for {
		err := unix.Sendto(w.fd, frame, 0, w.to)
		if err == unix.ENOBUFS || err == unix.EAGAIN || err == unix.EINTR {
			time.Sleep(time.Millisecond)
			continue
		}
		if err != nil {
			w.t.Fatalf("a frame of %d bytes: %v", len(frame), err)
		}
		return
	}
}

// The client and the server of these tests.
var (
	client = netip.MustParseAddrPort("192.0.2.10:40000")
	server = netip.MustParseAddrPort("192.0.2.20:27015")
)

const (
	question = "\xff\xff\xff\xffTSource Engine Query\x00"
	answer   = "\xff\xff\xff\xffA\x01\x02\x03\x04"
)

// udp returns an Ethernet frame.
func udp(src, dst netip.AddrPort, payload string) []byte {
	b := slices.Concat(make([]byte, 12), []byte{8, 0})
	return append(b, mkpcap.IP(src.Addr(), dst.Addr(), 1, 17, 0, false, false, mkpcap.UDPSegment(src, dst, []byte(payload)))...)
}

// ethernet returns the frames of a capture as Ethernet frames.
func ethernet(t *testing.T, path string) (frames [][]byte) {
	t.Helper()
	r := must.Get(capture.Open(path))(t)
	defer r.Close()
	var f capture.Frame
	for r.Next(&f) == nil {
		b := bytes.Clone(f.Data)
		head := map[uint16]int{1: 0, 101: 0, 113: 16, 276: 20}
		n, ok := head[f.LinkType]
		if !ok || f.Length != len(f.Data) {
			return nil // frames that the interface cannot carry
		}
		if f.LinkType != 1 {
			kind := nettext.Either(b[n]>>4 == 6, []byte{0x86, 0xdd}, []byte{8, 0})
			b = slices.Concat(make([]byte, 12), kind, b[n:])
		}
		frames = append(frames, b)
	}
	return frames
}

// comparable returns messages without what differs between live and file: times, and
// frame numbers, which here count UDP only.
func comparable(t *testing.T, lines []string) (list []string) {
	t.Helper()
	for _, line := range messages(lines) {
		var m map[string]any
		must.Do(t, json.Unmarshal([]byte(line), &m))
		for _, key := range []string{"frame", "frames", "time", "request_frame", "rtt_ns", "last_rtt_ns", "findings", "interface"} {
			delete(m, key)
		}
		b := must.Get(json.Marshal(m))(t)
		list = append(list, string(b))
	}
	return list
}

func readBack(t *testing.T, args ...string) []string {
	t.Helper()
	return strings.Split(strings.TrimSpace(outputOf(t, append([]string{"-o", "jsonl"}, args...)...)), "\n")
}

// TestLiveReplay checks that a capture sent on an interface gives the same messages as
// the file. So does the file written meanwhile, whose comments tshark reads.
func TestLiveReplay(t *testing.T) {
	paths := captures(t)
	if others, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "captures", "*.pcap*")); others != nil && must.TryAll() {
		paths = append(paths, others...)
	}
	// Real servers answer at once. Generated captures have pauses in which requests
	// and parts expire.
	real := regexp.MustCompile(`^[a-z0-9]+-`)
	made := map[string]bool{"same-id.pcap": true, "fragments-lost.pcap": true, "requests-only.pcap": true, "replies-only.pcap": true, "tcp-segments.pcap": true}
	seen := map[string]bool{}
	for _, path := range must.TryCaptures(paths) {
		name, frames := filepath.Base(path), ethernet(t, path)
		if !real.MatchString(name) || made[name] || filepath.Base(filepath.Dir(path)) == "trouble" || seen[name] || frames == nil {
			continue
		}
		seen[name] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits between repeated requests
			namespace(t)
			want, file := comparable(t, readBack(t, path)), filepath.Join(t.TempDir(), "live.pcapng")
			r := start(t, "-i", "veth1", "-w", file, "--annotate")
			w := connect(t, "veth0")
			sent := map[string]time.Time{}
			for _, f := range frames {
				// A repeated request without a pause would be a duplicate. The
				// identification makes the frames differ. An IPv4 header ends at byte
				// 34.
				datagram := string(f[min(34, len(f)):])
				time.Sleep(time.Until(sent[datagram].Add(20 * time.Millisecond)))
				w.send(f)
				sent[datagram] = time.Now()
			}
			r.has(len(want))
			lines := r.stop(os.Interrupt)
			r.says(`^kernel .* 0 lost`)
			if d := differ("file", want, "live", comparable(t, lines)); d != "" {
				t.Errorf("live:\n%s", d)
			}
			if d := differ("file", want, "written", comparable(t, readBack(t, file))); d != "" {
				t.Errorf("read back:\n%s", d)
			}
		})
	}
	if len(seen) < must.Try(1, 10) {
		t.Errorf("%d captures", len(seen))
	}
}

// TestLiveComments checks that tshark reads the file of -w with the comments.
func TestLiveComments(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	namespace(t)
	file := filepath.Join(t.TempDir(), "x.pcapng.gz")
	r := start(t, "-i", "veth1", "-w", file, "--annotate", "--reply-window", "300ms")
	w := connect(t, "veth0")
	w.send(udp(client, server, question))
	w.send(udp(server, client, answer))
	w.send(udp(client, server, question+answer[5:]))
	r.has(3)
	r.until("say that a request has no reply", func() bool { return strings.Contains(strings.Join(r.lines(), "\n"), "a2s.noreply.after_challenge") })
	r.stop(syscall.SIGTERM)
	out := must.Get(exec.Command(tshark, "-r", file, "-T", "fields", "-e", "frame.number", "-e", "frame.interface_name", "-e", "frame.comment", "-E", "aggregator=|").Output())(t)
	want := regexp.MustCompile(`^1\tveth1\ta2s: info request.*
2\tveth1\ta2s: challenge .*
3\tveth1\ta2s: info request.*\|warning: a2s.noreply.after_challenge: .*
$`)
	if !want.Match(out) {
		t.Errorf("tshark shows\n%s", out)
	}
}

// TestLiveLoopback checks that a datagram to this host, which passes lo twice, is one
// message, on lo and on all interfaces.
func TestLiveLoopback(t *testing.T) {
	for _, name := range []string{"lo", "any"} {
		t.Run(name, func(t *testing.T) {
			namespace(t)
			r := start(t, "-i", name)
			exchange(t)
			r.has(2)
			lines := r.stop(os.Interrupt)
			if n := len(messages(lines)); n != 2 {
				t.Errorf("%d messages\n%s", n, strings.Join(lines, "\n"))
			}
			if !strings.Contains(lines[len(lines)-1], `"packets":2,`) {
				t.Errorf("the summary is %s", lines[len(lines)-1])
			}
		})
	}
}

// exchange sends a request and a reply on lo.
func exchange(t *testing.T) {
	t.Helper()
	s := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	defer s.Close()
	c := must.Get(net.Dial("udp", s.LocalAddr().String()))(t)
	defer c.Close()
	must.Get(c.Write([]byte(question)))(t)
	b := make([]byte, 100)
	_, from, err := s.ReadFrom(b)
	must.Do(t, err)
	must.Get(s.WriteTo([]byte(answer), from))(t)
}

// heard returns a function that waits until n frames have passed an interface. Then
// the capture has them, too.
func heard(t *testing.T, name string) func(n int) {
	t.Helper()
	i := must.Get(net.InterfaceByName(name))(t)
	all := binary.NativeEndian.Uint16([]byte{0, unix.ETH_P_ALL})
	fd := must.Get(unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, int(all)))(t)
	t.Cleanup(func() { unix.Close(fd) })
	must.Do(t, unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: i.Index}))
	must.Do(t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 20}))
	b := make([]byte, 100)
	return func(n int) {
		t.Helper()
		for range n {
			_, _, err := unix.Recvfrom(fd, b, 0)
			for err == unix.EINTR {
				_, _, err = unix.Recvfrom(fd, b, 0)
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}

// down switches an interface off.
func down(t *testing.T, name string) {
	t.Helper()
	fd := must.Get(unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0))(t)
	defer unix.Close(fd)
	req := must.Get(unix.NewIfreq(name))(t)
	req.SetUint16(0) // without the flag for up
	must.Do(t, unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req))
}

// secondCable adds veth2 and veth3.
func secondCable(t *testing.T) {
	t.Helper()
	shell(t, `ip link add veth2 type veth peer name veth3
		for i in veth2 veth3; do ip link set $i addrgenmode none up; done
	`)
	carrier(t)
}

// numbered returns the i-th request, identified by its port.
func numbered(i int) []byte {
	return udp(netip.AddrPortFrom(client.Addr(), uint16(20000+i)), server, question)
}

// inOrder checks that the messages are the first n numbered requests.
func inOrder(t *testing.T, list []string, n int) {
	t.Helper()
	if len(list) < n {
		t.Errorf("%d messages, want %d", len(list), n)
	}
	for i, line := range list[:min(n, len(list))] {
		if want := fmt.Sprintf(`"src_ip":"192.0.2.10","src_port":%d,`, 20000+i); !strings.Contains(line, want) {
			t.Fatalf("message %d is %s, want %s", i, line, want)
		}
	}
}

// TestLiveSlow checks that slow, steady traffic on one of several interfaces is
// printed soon, and that a signal loses nothing.
func TestLiveSlow(t *testing.T) {
	for _, gap := range must.Try([]time.Duration{8 * time.Millisecond}, []time.Duration{3 * time.Millisecond, 8 * time.Millisecond, 18 * time.Millisecond}) {
		namespaceTest(t, gap.String(), func(t *testing.T) {
			secondCable(t)
			r := start(t, "-i", "veth1", "-i", "veth3")
			w, passed := connect(t, "veth0"), heard(t, "veth1")
			n := 0
			for ; n < 50 || len(r.messages()) < 10; n++ {
				if n == 5000 {
					t.Fatalf("%d messages of %d", len(r.messages()), n)
				}
				w.send(numbered(n))
				time.Sleep(gap)
			}
			w.send(numbered(n))
			passed(n + 1)
			inOrder(t, messages(r.stop(syscall.SIGTERM)), n+1)
			r.says(fmt.Sprintf("^a2s +%d messages$", n+1))
		})
	}
}

// TestLiveSeveral checks that messages of several interfaces are ordered by time, and
// that the file names the interfaces.
func TestLiveSeveral(t *testing.T) {
	namespace(t)
	secondCable(t)
	file := filepath.Join(t.TempDir(), "x.pcapng")
	r := start(t, "-i", "veth1", "-i", "veth3", "-w", file)
	wires := []*wire{connect(t, "veth0"), connect(t, "veth2")}
	const n = 200
	for i := range n {
		wires[i%2].send(numbered(i))
		if i%50 == 0 {
			time.Sleep(30 * time.Millisecond) // so that the kernel delivers the blocks
		}
	}
	r.has(n)
	inOrder(t, messages(r.stop(os.Interrupt)), n)
	src := must.Get(capture.Open(file))(t)
	defer src.Close()
	var f capture.Frame
	for i := range n {
		if err := src.Next(&f); err != nil || f.Interface != i%2 {
			t.Fatalf("frame %d: interface %d, %v", i, f.Interface, err)
		}
	}
}

// TestLiveVLAN checks that VLAN tags, which the kernel removes from frames, are
// restored.
func TestLiveVLAN(t *testing.T) {
	namespace(t)
	r := start(t, "-i", "veth1", "vlan 42 and udp port 27015")
	plain, w := udp(client, server, question), connect(t, "veth0")
	w.send(slices.Concat(plain[:12], []byte{0x81, 0, 0, 41}, plain[12:]))
	w.send(plain)
	w.send(slices.Concat(plain[:12], []byte{0x81, 0, 0, 42}, plain[12:]))
	r.has(1)
	list := messages(r.stop(os.Interrupt))
	if len(list) != 1 || !strings.Contains(list[0], `"packet.vlan"`) || !strings.Contains(list[0], "42") {
		t.Errorf("%s", strings.Join(list, "\n"))
	}
}

// TestLiveGone checks that the capture ends with a summary when the interface goes
// down or disappears.
func TestLiveGone(t *testing.T) {
	for script, want := range map[string]string{
		"ip link set veth1 down": "veth1: the interface went down",
		"ip link del veth1":      "veth1: the interface is gone",
		"ip link add x0 type veth peer name x1; ip link del x0": "",
	} {
		t.Run(script, func(t *testing.T) {
			namespace(t)
			r := start(t, "-i", "veth1", "-i", "lo")
			connect(t, "veth0").send(udp(client, server, question))
			r.has(1)
			shell(t, script)
			if want == "" { // other interfaces may change
				r.stop(os.Interrupt)
				return
			}
			r.end(exitTrouble)
			r.says("^qdissect: " + want + "$")
			r.says("^a2s +1 message$")
		})
	}
}

// TestLiveGoneBusy checks that nothing is lost from before an interface went down, on
// that interface and on others.
func TestLiveGoneBusy(t *testing.T) {
	for _, gap := range []time.Duration{0, 8 * time.Millisecond} {
		namespaceTest(t, gap.String(), func(t *testing.T) {
			secondCable(t)
			r := start(t, "-i", "veth1", "-i", "veth3")
			wires := []*wire{connect(t, "veth0"), connect(t, "veth2")}
			passed := []func(int){heard(t, "veth1"), heard(t, "veth3")}
			const n = 40
			for i := range 2 * n {
				wires[i%2].send(numbered(i))
				time.Sleep(gap)
			}
			passed[0](n)
			passed[1](n)
			down(t, "veth1")
			for i, running := 2*n, true; running; i++ {
				wires[1].send(numbered(i % 10000))
				select {
				case <-r.ended:
					running = false
				case <-time.After(5 * time.Millisecond):
				}
			}
			inOrder(t, messages(r.end(exitTrouble)), 2*n)
			r.says("^qdissect: veth1: the interface went down$")
			r.says("^kernel .* 0 lost")
		})
	}
}

// TestLiveSilence checks that expired requests are reported although no packets
// arrive.
func TestLiveSilence(t *testing.T) {
	namespace(t)
	r := start(t, "-i", "veth1", "--reply-window", "300ms")
	connect(t, "veth0").send(udp(client, server, question))
	r.until("say that a request has no reply", func() bool { return strings.Contains(strings.Join(r.lines(), "\n"), `"a2s.noreply`) })
	r.stop(os.Interrupt)
}

// TestLiveEnds checks the conditions that end a capture.
func TestLiveEnds(t *testing.T) {
	for name, args := range map[string][]string{
		"messages": {"-c", "3"}, "packets": {"-a", "packets:3"}, "time": {"-a", "duration:1"}, "size": {"-a", "filesize:1"},
	} {
		t.Run(name, func(t *testing.T) {
			namespace(t)
			file := filepath.Join(t.TempDir(), "x.pcapng")
			r := start(t, append(args, "-w", file, "-i", "veth1")...)
			w, from := connect(t, "veth0"), client
			for running := true; running; {
				w.send(udp(from, server, question))
				from = netip.AddrPortFrom(from.Addr(), from.Port()+1) // equal datagrams would be duplicates
				select {
				case <-r.ended:
					running = false
				case <-time.After(5 * time.Millisecond):
				}
			}
			lines := r.end(exitDone)
			r.says("^packets +[0-9]+,")
			n, written := len(messages(lines)), len(messages(readBack(t, file)))
			st := must.Get(os.Stat(file))(t)
			switch name {
			case "messages", "packets":
				if n != 3 || written != 3 {
					t.Errorf("%d messages, %d written", n, written)
				}
			case "size":
				if st.Size() < 1000 || st.Size() > 1200 || n != written {
					t.Errorf("%d bytes, %d messages, %d written", st.Size(), n, written)
				}
			case "time":
				if n < 10 || n != written {
					t.Errorf("%d messages, %d written", n, written)
				}
			}
		})
	}
}

// TestLiveRotation checks that rotated files together contain everything from before
// the signal, without gaps.
func TestLiveRotation(t *testing.T) {
	// Children of nohup ignore SIGHUP. A caught signal is not inherited as ignored.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	defer signal.Stop(caught)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		namespaceTest(t, sig.String(), func(t *testing.T) {
			dir := t.TempDir()
			r := start(t, "-i", "veth1", "-w", filepath.Join(dir, "x.pcapng"), "-b", "packets:30")
			w := connect(t, "veth0")
			for i := range 100 {
				w.send(udp(netip.AddrPortFrom(client.Addr(), uint16(20000+i)), server, question))
			}
			r.stop(sig) // send at once, nothing may be lost
			files, err := filepath.Glob(filepath.Join(dir, "x_*_*.pcapng"))
			if err != nil || len(files) != 4 {
				t.Fatalf("%d files, %v", len(files), err)
			}
			slices.Sort(files)
			n := 0
			for _, f := range files {
				list := messages(readBack(t, f))
				n += len(list)
				if len(list) != 30 && f != files[3] {
					t.Errorf("%s: %d messages", f, len(list))
				}
			}
			if n != 100 {
				t.Errorf("%d messages in all", n)
			}
		})
	}
	namespaceTest(t, "ring", func(t *testing.T) {
		dir := t.TempDir()
		r := start(t, "-i", "veth1", "-w", filepath.Join(dir, "x.pcap"), "-b", "filesize:1", "-b", "files:2", "-c", "60")
		w := connect(t, "veth0")
		for i := range 60 {
			// Use a new port for each, because equal datagrams are duplicates, which
			// -c does not count.
			w.send(udp(netip.AddrPortFrom(client.Addr(), uint16(20000+i)), server, question))
		}
		r.end(exitDone)
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(files) != 2 {
			t.Errorf("%q, %v", files, err)
		}
	})
}

func namespaceTest(t *testing.T, name string, f func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		namespace(t)
		f(t)
	})
}

// TestLiveFull checks that a full disk is reported, and that the capture ends or
// continues as asked.
func TestLiveFull(t *testing.T) {
	namespaceTest(t, "stop", func(t *testing.T) {
		r := start(t, "-i", "veth1", "-w", "/dev/full")
		connect(t, "veth0").send(udp(client, server, question))
		r.end(exitTrouble)
		r.says("^qdissect: .*/dev/full.*no space left")
		r.says("^packets +1,")
	})
	namespaceTest(t, "continue", func(t *testing.T) {
		r := start(t, "-i", "veth1", "-w", "/dev/full", "--on-write-error", "continue")
		w := connect(t, "veth0")
		w.send(udp(client, server, question))
		r.has(1)
		r.until("continue", func() bool { return strings.Contains(r.err.String(), "continuing without it") })
		w.send(udp(server, client, answer))
		r.has(2)
		r.cmd.Process.Signal(os.Interrupt)
		r.end(exitTrouble) // the file is incomplete
		r.says("no space left on device; continuing without it$")
	})
}

// TestLiveFullFile checks that a file on a full disk consists of complete frames.
func TestLiveFullFile(t *testing.T) {
	for _, name := range []string{"x.pcapng", "x.pcap"} {
		namespaceTest(t, name, func(t *testing.T) {
			dir := t.TempDir()
			if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4k"); err != nil {
				t.Skip("nothing can be mounted: " + err.Error())
			}
			t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
			r := start(t, "-i", "veth1", "-w", filepath.Join(dir, name))
			w := connect(t, "veth0")
			for i := range 100 { // equal datagrams would be duplicates
				w.send(udp(netip.AddrPortFrom(client.Addr(), uint16(40000+i)), server, question))
			}
			r.end(exitTrouble)
			r.says("^qdissect: .*/" + name + ": no space left on device$")
			if n := len(messages(readBack(t, filepath.Join(dir, name)))); n < 30 || n >= 100 {
				t.Errorf("%d messages", n)
			}
		})
	}
}

// TestLiveReadable checks that the file contains the frames before the capture ends.
func TestLiveReadable(t *testing.T) {
	for _, ext := range []string{".pcapng", ".pcap", ".pcapng.gz", ".pcapng.zst"} {
		namespaceTest(t, ext, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x"+ext)
			r := start(t, "-i", "veth1", "-w", file)
			connect(t, "veth0").send(udp(client, server, question))
			r.until("write the frame", func() bool {
				// A compressed file lacks its end mark, so the status is 2.
				out, _, _ := runHere("-o", "jsonl", file)
				return len(messages(strings.Split(out, "\n"))) == 1
			})
			r.stop(os.Interrupt)
			if n := len(messages(readBack(t, file))); n != 1 {
				t.Errorf("%d messages", n)
			}
		})
	}
}

// TestLiveRights checks that one capability suffices, and the error without it.
func TestLiveRights(t *testing.T) {
	nobody := &syscall.Credential{Uid: 65534, Gid: 65534}
	namespaceTest(t, "cap_net_raw", func(t *testing.T) {
		r := launch(t, func(c *exec.Cmd) {
			c.SysProcAttr = &syscall.SysProcAttr{Credential: nobody, AmbientCaps: []uintptr{unix.CAP_NET_RAW}}
		}, "-o", "jsonl", "--promiscuous", "-i", "lo")
		r.await(r.first, "begin")
		exchange(t)
		r.has(2)
		r.stop(os.Interrupt)
		r.says("^a2s +2 messages")
	})
	namespaceTest(t, "none", func(t *testing.T) {
		r := launch(t, func(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Credential: nobody} }, "-i", "lo")
		r.end(exitTrouble)
		path, _ := program()
		if want := "qdissect: no permission to capture from lo: run as root, or run once: sudo setcap cap_net_raw+ep " + path + "\n"; r.err.String() != want {
			t.Errorf("it says %q, want %q", r.err.String(), want)
		}
	})
}

// TestLiveWatch checks the counters on stderr and for Prometheus.
func TestLiveWatch(t *testing.T) {
	namespace(t)
	r := start(t, "-i", "lo", "--metrics", ":0", "--stats-interval", "1")
	exchange(t)
	r.has(2)
	r.until("write counters", func() bool { return regexp.MustCompile(`(?m)2 packets \(.* 0 lost$`).MatchString(r.err.String()) })
	url, got := "", ""
	if m := regexp.MustCompile(`metrics at (http://127\.0\.0\.1:\d+/metrics)`).FindStringSubmatch(r.err.String()); m != nil {
		url = m[1]
	}
	r.until("count the server", func() bool {
		got = get(t, url)
		return strings.Contains(got, "qdissect_server_")
	})
	r.stop(os.Interrupt)
	for _, want := range []string{
		"qdissect_packets_total 2\n", "qdissect_kernel_dropped_packets_total 0\n",
		`qdissect_messages_total{protocol="a2s",message="info_request"} 1` + "\n",
		`qdissect_findings_total{id="a2s.challenge.required",severity="chat"} 1` + "\n",
		`qdissect_round_trip_seconds_bucket{protocol="a2s",le="+Inf"} 1` + "\n",
		`qdissect_round_trip_seconds_count{protocol="a2s"} 1` + "\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("metrics lack %q:\n%s", want, got)
		}
	}
	for name, want := range map[string]string{"requests_total": "1", "replies_total": "1", "unanswered_requests_total": "0", "refused_requests_total": "0", "clients": "1", "bytes_in_total": "53", "bytes_out_total": "37"} {
		if !regexp.MustCompile(`(?m)^qdissect_server_` + name + `\{server="127\.0\.0\.1:\d+",protocol="a2s"\} ` + want + `$`).MatchString(got) {
			t.Errorf("metrics lack %s of the server:\n%s", name, got)
		}
	}
}

// get fetches a page over a socket of this thread, which is in the namespace.
func get(t *testing.T, url string) string {
	t.Helper()
	addr := must.Get(netip.ParseAddrPort(strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/metrics")))(t)
	fd := must.Get(unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0))(t)
	f := os.NewFile(uintptr(fd), "metrics")
	defer f.Close()
	must.Do(t, unix.Connect(fd, &unix.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}))
	fmt.Fprintf(f, "GET /metrics HTTP/1.0\r\n\r\n")
	b, err := io.ReadAll(f)
	if err != nil || !strings.HasPrefix(string(b), "HTTP/1.0 200") {
		t.Fatalf("%q, %v", b, err)
	}
	return string(b)
}

// TestLiveClosedPipe checks that the program ends when nobody reads its output.
func TestLiveClosedPipe(t *testing.T) {
	namespace(t)
	path := must.Get(program())(t)
	cmd := exec.Command("sh", "-c", `"$0" -B 4 -i veth1 -o jsonl | head -n 2; wait`, path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	w := connect(t, "veth0")
	must.Do(t, cmd.Start())
	ended := make(chan error)
	go func() { ended <- cmd.Wait() }()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		w.send(udp(client, server, question))
		select {
		case err := <-ended:
			if said := stderr.String(); err != nil || !strings.HasPrefix(said, "listening on veth1,") || strings.Count(said, "\n") != 1 {
				t.Errorf("%v, %q", err, said)
			}
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("it does not end")
}

// TestLiveListening checks that each interface is announced once when the capture
// starts, and not with -q.
func TestLiveListening(t *testing.T) {
	const silent = "qdissect: no messages: no packets were read\n"
	for args, want := range map[string]string{
		"-i veth1":              "listening on veth1, link-type ethernet, snapshot length 262144 bytes\n",
		"-i lo -i veth1 -s 100": "listening on lo, link-type ethernet, snapshot length 100 bytes\nlistening on veth1, link-type ethernet, snapshot length 100 bytes\n",
		"-q -i veth1":           "",
	} {
		namespaceTest(t, args, func(t *testing.T) {
			r := launch(t, nil, append(strings.Fields(args), "-a", "duration:1")...)
			r.end(exitDone)
			said, ok := strings.CutSuffix(r.err.String(), silent)
			if !ok {
				t.Errorf("it ends with %q", said)
			}
			if i := strings.Index(said, "\npackets "); i >= 0 { // the summary
				said = said[:i+1]
			}
			if said != want {
				t.Errorf("it says %q, want %q", said, want)
			}
		})
	}
}

// TestLivePipe checks ^C, which reaches the program before the pipe, too. Its
// remaining output is read. If it does not end, the program does not wait.
func TestLivePipe(t *testing.T) {
	for _, ends := range []bool{true, false} {
		t.Run(fmt.Sprint(ends), func(t *testing.T) {
			in, feed, err := os.Pipe()
			must.Do(t, err)
			defer feed.Close()
			r := launch(t, func(c *exec.Cmd) { c.Stdin = in }, "-o", "jsonl", "-")
			in.Close()
			w, from := capture.NewWriter(feed, capture.Pcapng), client
			write := func(payload string) {
				f := capture.Frame{Time: capture.StampOf(time.Now()), LinkType: 1, Data: udp(from, server, payload)}
				from = netip.AddrPortFrom(from.Addr(), from.Port()+1) // an equal one would be a duplicate
				must.Do(t, w.Write(&f))
				must.Do(t, w.Flush())
			}
			write(question)
			r.has(1)
			r.cmd.Process.Signal(os.Interrupt)
			write(question)
			if ends {
				feed.Close()
			}
			if list := messages(r.end(exitDone)); len(list) != 2 {
				t.Errorf("%d messages", len(list))
			}
		})
	}
}

// TestLiveAnyVLAN checks that a filter with vlan works on all interfaces, although
// tunnels have no tags. Times count from the first packet.
func TestLiveAnyVLAN(t *testing.T) {
	namespace(t)
	r := launch(t, nil, "-l", "-c", "1", "-i", "any", "udp port 27015 or (vlan and udp port 27015)")
	w := connect(t, "veth0")
	for running := true; running; {
		w.send(udp(client, server, question))
		select {
		case <-r.ended:
			running = false
		case <-time.After(5 * time.Millisecond):
		}
	}
	if out := strings.Join(r.end(exitDone), "\n"); !regexp.MustCompile(`^ +1 +0\.000000 `).MatchString(out) {
		t.Errorf("%q", out)
	}
}

// TestLiveFilter checks that the filter reaches the kernel and that later fragments
// pass. TestLiveRefused checks that ICMP errors of this host about matching datagrams
// pass, and others do not.
func TestLiveRefused(t *testing.T) {
	for _, test := range []struct {
		filter  string
		frames  int
		refused string
	}{
		{"", 4, `"unanswered":0,`},
		{"udp port 27015", 2, `"unanswered":0,`},
		{"udp port 9", 2, `"icmp_frame":2,`},
		{"icmp", 2, ""},
		{"--exact-filter udp port 27015", 1, `"open":1,`},
	} {
		t.Run(test.filter, func(t *testing.T) {
			namespace(t)
			file := filepath.Join(t.TempDir(), "lo.pcapng")
			r := start(t, append([]string{"-i", "lo", "-w", file}, strings.Fields(test.filter)...)...)
			heard := heard(t, "lo")
			for _, address := range []string{"127.0.0.1:27015", "127.0.0.1:9"} {
				c := must.Get(net.Dial("udp", address))(t)
				defer c.Close()
				must.Get(c.Write([]byte(question)))(t)
			}
			heard(8) // two datagrams and two errors, each outgoing and incoming
			lines := strings.Join(r.stop(os.Interrupt), "\n")
			if !strings.Contains(lines, fmt.Sprintf(`"packets":%d,`, test.frames)) || !strings.Contains(lines, test.refused) {
				t.Errorf("live: %s", lines)
			}
			if test.refused == `"unanswered":0,` && !strings.Contains(lines, `says in frame 2 that nothing listens on port 27015`) {
				t.Errorf("nothing says that it was refused: %s", lines)
			}
			out, stderr, _ := runIn(t, ".", "-o", "jsonl", file)
			if !strings.Contains(out, fmt.Sprintf(`"packets":%d,`, test.frames)) || !strings.Contains(out, test.refused) {
				t.Errorf("written: %s%s", out, stderr)
			}
		})
	}
}

func TestLiveFilter(t *testing.T) {
	namespace(t)
	r := start(t, "-i", "veth1", "--all", "udp", "port", "27015")
	w, other := connect(t, "veth0"), netip.AddrPortFrom(server.Addr(), 27016)
	w.send(udp(client, other, question))
	seg := mkpcap.UDPSegment(client, server, []byte(strings.Repeat("x", 2000)))
	eth := slices.Concat(make([]byte, 12), []byte{8, 0})
	w.send(slices.Concat(eth, mkpcap.IP(client.Addr(), server.Addr(), 7, 17, 0, true, true, seg[:1480])))
	w.send(slices.Concat(eth, mkpcap.IP(client.Addr(), server.Addr(), 7, 17, 1480, false, true, seg[1480:])))
	w.send(udp(client, server, question))
	r.has(1)
	lines := r.stop(os.Interrupt)
	if list := messages(lines); len(list) != 2 || !strings.Contains(list[0], `"protocol":"unknown"`) || !strings.Contains(list[0], `"length":2000`) {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
}

// TestLiveWhy: an interrupt ends the capture, with the answer.
func TestLiveWhy(t *testing.T) {
	namespace(t)
	r := launch(t, nil, "why", "127.0.0.1", "-i", "lo", "-a", "duration:60", "udp")
	r.listens("lo")
	n := heard(t, "lo")
	exchange(t)
	n(2)
	r.cmd.Process.Signal(os.Interrupt)
	out := strings.Join(r.end(exitUnclear), "\n")
	if want := "was asked 1 time, and 1 reply came, with no more than a challenge."; !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
		t.Errorf("%s\nlacks: %s", out, want)
	}
}

// listens waits until the program captures.
func (r *running) listens(name string) {
	r.t.Helper()
	r.until("begin", func() bool { return strings.Contains(r.err.String(), "listening on "+name) })
}

// TestLiveReport: the file is written while the capture goes on, whole each time, and once more at the end.
func TestLiveReport(t *testing.T) {
	namespace(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "report.html")
	r := launch(t, nil, "report", "-i", "lo", "--every", "1", "-o", file)
	r.listens("lo")
	n := heard(t, "lo")
	exchange(t)
	n(2)
	has := func(text string) bool {
		b, err := os.ReadFile(file)
		if err == nil && (!bytes.HasPrefix(b, []byte("<!DOCTYPE html>")) || !bytes.HasSuffix(bytes.TrimSpace(b), []byte("</html>"))) {
			t.Errorf("a part of a page: %d bytes", len(b))
		}
		return strings.Contains(string(b), text)
	}
	r.until("report", func() bool { return has("Nothing unusual: 1 request from 1 address") })
	exchange(t)
	n(4)
	r.cmd.Process.Signal(os.Interrupt)
	r.end(exitDone)
	if !has("none of 2 requests from 1 address got what was asked for") { // no more than a challenge
		b, _ := os.ReadFile(file)
		t.Errorf("the last report: %s", b)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("files left: %v %v", list, err)
	}
}

// TestOnVerdict: the command gets a verdict while the pipe is open, and its words go to stderr.
func TestOnVerdict(t *testing.T) {
	s := must.Get(scenes.Find("down-icmp"))(t)
	var capture bytes.Buffer
	truth := must.Get(s.Write(&capture, scenes.Options{Span: 40 * time.Second, Clients: 500}))(t)
	in, feed, err := os.Pipe()
	must.Do(t, err)
	defer feed.Close()
	file := filepath.Join(t.TempDir(), "verdict")
	r := launch(t, func(c *exec.Cmd) { c.Stdin = in }, "-o", "jsonl", "-q", "--on-verdict", "cat > '"+file+".part'; mv '"+file+".part' '"+file+"'; echo alarm >&2", "-")
	in.Close()
	must.Get(feed.Write(capture.Bytes()))(t)
	var line []byte
	r.until("give a verdict", func() bool {
		line, _ = os.ReadFile(file)
		return len(line) > 0 && strings.Contains(r.err.String(), "alarm\n")
	})
	var v struct{ Kind, Server string }
	if err := json.Unmarshal(line, &v); err != nil || v.Kind != "server_down" || v.Server != truth.Events[0].Servers[0] {
		t.Errorf("%s: %v", line, err)
	}
	feed.Close()
	if out := strings.Join(r.end(exitDone), "\n"); strings.Contains(out, "alarm") {
		t.Errorf("the output has the words of the command: %s", out)
	}
}

// elsewhere moves the test into a new network namespace, as a server in a container is, and
// returns the number of a process in it, and how to run the program outside of it.
func elsewhere(t *testing.T) (pid string, outside func(*exec.Cmd)) {
	t.Helper()
	runtime.LockOSThread()
	home := must.Get(os.Open("/proc/thread-self/ns/net"))(t)
	t.Cleanup(func() { home.Close() })
	namespace(t)
	box := exec.Command("sleep", "600")
	must.Do(t, box.Start())
	t.Cleanup(func() {
		box.Process.Kill()
		box.Wait()
	})
	return fmt.Sprint(box.Process.Pid), func(c *exec.Cmd) {
		through(t, c, "nsenter", fmt.Sprintf("--net=/proc/%d/fd/%d", os.Getpid(), home.Fd()))
	}
}

// through makes a command run by another program.
func through(t *testing.T, c *exec.Cmd, name string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err) // util-linux has it
	}
	c.Args = slices.Concat([]string{name}, args, []string{c.Path}, c.Args[1:])
	c.Path = path
}

// TestNamespace: a program outside of a network namespace captures in it, by the number of a
// process, by a path, or by a name of ip netns, and serves its own counters outside.
func TestNamespace(t *testing.T) {
	t.Run("a process", func(t *testing.T) {
		pid, outside := elsewhere(t)
		file := filepath.Join(t.TempDir(), "lo.pcapng")
		r := launch(t, outside, "-o", "jsonl", "-l", "-i", "lo", "--netns", pid, "-w", file, "--metrics", "127.0.0.1:0")
		r.listens("lo")
		r.says(", network namespace " + pid + "$")
		address := regexp.MustCompile(`http://([0-9.:]+)/metrics`).FindStringSubmatch(r.err.String())
		if _, err := net.Dial("tcp", address[1]); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("the counters are served inside of the namespace: %v", err)
		}
		exchange(t)
		r.has(2)
		r.stop(os.Interrupt)
		if out, stderr, _ := runIn(t, ".", file); strings.Count(out, "A2S") != 2 {
			t.Errorf("written: %s%s", out, stderr)
		}
	})
	t.Run("for Wireshark", func(t *testing.T) {
		pid, outside := elsewhere(t)
		name := filepath.Join(t.TempDir(), "fifo")
		must.Do(t, syscall.Mkfifo(name, 0o600))
		r := launch(t, outside, "extcap", "--capture", "--extcap-interface", "qdissect", "--fifo", name, "--iface", "lo", "--netns", pid)
		fifo := must.Get(os.Open(name))(t)
		defer fifo.Close()
		in := bufio.NewReader(fifo)
		must.Get(in.Peek(4))(t) // a header, written when the interface is open
		exchange(t)
		c := must.Get(capture.NewReader(in, "fifo"))(t)
		var f capture.Frame
		if err := c.Next(&f); err != nil || !strings.HasPrefix(strings.Join(f.Comments, ""), "a2s: ") {
			t.Errorf("%q, %v", f.Comments, err)
		}
		fifo.Close()
		r.end(exitDone)
	})
	t.Run("a path, all interfaces", func(t *testing.T) {
		pid, outside := elsewhere(t)
		r := launch(t, outside, "-o", "jsonl", "-l", "-i", "any", "--netns", "/proc/"+pid+"/ns/net")
		r.listens("any")
		shell(t, "ip link add late0 type veth peer name late1; ip link set late0 addrgenmode none up; ip link set late1 addrgenmode none up")
		connect(t, "late0").send(udp(client, server, question))
		r.has(1)
		if line := r.messages()[0]; !strings.Contains(line, `"interface":"late`) {
			t.Errorf("a later interface has no name: %s", line)
		}
		r.stop(os.Interrupt)
	})
	t.Run("a name, report", func(t *testing.T) {
		pid, outside := elsewhere(t)
		name := "qdissect-test-" + pid
		shell(t, "ip netns attach "+name+" "+pid)
		t.Cleanup(func() { exec.Command("ip", "netns", "delete", name).Run() })
		r := launch(t, outside, "report", "-a", "packets:2", "--format", "json", "-i", "lo", "--netns", name)
		r.listens("lo")
		exchange(t)
		var report struct {
			Home    []string
			Servers []struct{ Address string }
		}
		if out := r.end(exitDone); json.Unmarshal([]byte(strings.Join(out, "\n")), &report) != nil || len(report.Servers) != 1 || !strings.HasPrefix(report.Servers[0].Address, "127.0.0.1:") ||
			!slices.Contains(report.Home, "127.0.0.1/32") {
			t.Errorf("%s", strings.Join(out, "\n"))
		}
	})
	t.Run("the interfaces", func(t *testing.T) {
		pid, outside := elsewhere(t)
		shell(t, "ip link set veth1 down name onlyhere")
		r := launch(t, outside, "-D", "--netns", pid)
		if out := strings.Join(r.end(exitDone), "\n"); !strings.Contains(out, "onlyhere") {
			t.Errorf("%s", out)
		}
		r = launch(t, outside, "-i", "nope", "--netns", pid)
		r.end(exitTrouble)
		r.says("^qdissect: nope: no such interface; available are lo, .*onlyhere")
	})
	t.Run("gone", func(t *testing.T) {
		pid, outside := elsewhere(t)
		r := launch(t, outside, "-i", "veth1", "--netns", pid)
		r.listens("veth1")
		shell(t, "ip link delete veth0")
		r.end(exitTrouble)
		r.says("^qdissect: veth1: the interface is gone$")
	})
	t.Run("no rights", func(t *testing.T) {
		pid, outside := elsewhere(t)
		for _, capability := range []string{"net_raw", "sys_admin"} {
			r := launch(t, func(c *exec.Cmd) {
				through(t, c, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all,+"+capability, "--ambient-caps=-all,+"+capability)
				outside(c)
			}, "-i", "lo", "--netns", pid)
			r.end(exitTrouble)
			r.says("^qdissect: no permission to capture in network namespace " + pid + ": run as root; the capability cap_net_raw is not enough to enter a namespace$")
		}
	})
}

// TestNamespaceErrors: mistakes are named.
func TestNamespaceErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, syscall.Mkfifo(file, 0o600))
	for name, want := range map[string]string{
		"0":                   "0 is the process of a container that is not running\n",
		"4294967295":          "no such process\n",
		"nope":                "no such name; ip netns lists them, and processes have numbers\n",
		"..":                  "no such name; ip netns lists them, and processes have numbers\n",
		"/nope/x":             "no such file\n",
		"/proc/self/ns/mnt":   "not a network namespace\n",
		file:                  "not a network namespace\n",
		"/proc/self/ns/net/x": "not a directory\n",
	} {
		_, stderr, code := runIn(t, ".", "-i", "lo", "--netns", name)
		if want = "qdissect: network namespace " + name + ": " + want; code != exitTrouble || stderr != want {
			t.Errorf("--netns %s: %d, %s, want %s", name, code, stderr, want)
		}
	}
	for _, args := range []string{"--netns 1 x.pcap", "report --netns 1 x.pcap"} {
		if _, stderr, code := runIn(t, ".", strings.Fields(args)...); code != exitTrouble || stderr != "qdissect: --netns needs -i: a file has no interfaces\n" {
			t.Errorf("%s: %d, %s", args, code, stderr)
		}
	}
}

// TestExtcapPipe checks that a capture for Wireshark begins with a header at once, that
// frames come with their comments after a second, that standard error stays empty, and
// that the program ends when the pipe is closed although nothing is to be written.
func TestExtcapPipe(t *testing.T) {
	for _, annotate := range []string{"tree", "line"} {
		namespaceTest(t, annotate, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "fifo")
			must.Do(t, unix.Mkfifo(name, 0o600))
			r := launch(t, nil, "extcap", "--capture", "--extcap-interface", "qdissect", "--fifo", name, "--iface", "veth1", "--annotate", annotate,
				"--extcap-capture-filter", "udp", "--protocols", "a2s,quake3", "--extcap-of-a-newer-version", "4.9")
			fifo := must.Get(os.Open(name))(t)
			defer fifo.Close()
			in := bufio.NewReader(fifo)
			if b, err := in.Peek(4); err != nil || string(b) != "\x0a\x0d\x0d\x0a" {
				t.Fatalf("the file begins with %x (%v)", b, err)
			}
			w := connect(t, "veth0")
			w.send(udp(client, server, question))
			w.send(udp(server, client, answer))
			c := must.Get(capture.NewReader(in, "fifo"))(t)
			for _, want := range []string{"a2s: info request", "a2s: challenge"} {
				var f capture.Frame
				must.Do(t, c.Next(&f))
				comments := strings.Join(f.Comments, "\x00")
				if !strings.HasPrefix(comments, want) || strings.Contains(comments, nettext.TreeMark) != (annotate == "tree") {
					t.Errorf("comments %q", f.Comments)
				}
			}
			fifo.Close()
			r.end(exitDone)
			if s := r.err.String(); s != "" {
				t.Errorf("it says %q", s)
			}
		})
	}
}

// TestExtcap checks that tshark finds our interface after --install, captures from it and
// shows the fields of messages while they come.
func TestExtcap(t *testing.T) {
	if !must.TryAll() {
		return // it takes some seconds
	}
	for _, name := range []string{"tshark", "unshare"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is not installed")
		}
	}
	namespace(t)
	path := must.Get(program())(t)
	// The folder of the system is covered, so that nothing else is found and nothing is left.
	script := `
		dir=$(tshark -G folders | sed -nE 's/^(Global )?Extcap path:[[:space:]]*//p')
		mount -t tmpfs tmpfs "$dir"
		"$QDISSECT" extcap --install >&2
		"$QDISSECT" lua --install >&2
		tshark -D | grep -F 'qdissect (Game-server queries)' >&2
		exec tshark -l -i qdissect -f 'udp port 27015' -o extcap.qdissect.iface:veth1 -T fields -e _ws.col.Protocol -e qd.message -e qd.a2s.challenge -e qd.request_frame -e qd.reply_frame`
	cmd := exec.Command("unshare", "-m", "sh", "-ec", script)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "QDISSECT="+path)
	var errs strings.Builder
	cmd.Stderr = &errs
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	defer cmd.Process.Kill()
	lines := make(chan string, 1000)
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
		close(lines)
	}()
	w, got := connect(t, "veth0"), ""
	want := regexp.MustCompile(`(?m)^A2S\tinfo_request\t\t\t(\d+)\nA2S\tchallenge_reply\t67305985\t\d+\t$`)
	for end := time.Now().Add(patience); !want.MatchString(got); {
		w.send(udp(client, server, question))
		w.send(udp(server, client, answer))
		select {
		case line, ok := <-lines:
			if !ok || time.Now().After(end) {
				cmd.Process.Kill()
				cmd.Wait()
				t.Fatalf("tshark shows\n%s\n%s", got, errs.String())
			}
			got += line + "\n"
		case <-time.After(300 * time.Millisecond):
		}
	}
	must.Do(t, cmd.Process.Signal(syscall.SIGINT))
	for range lines {
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("tshark: %v\n%s", err, errs.String())
	}
	if strings.Contains(errs.String(), "qdissect:") {
		t.Errorf("it says %s", errs.String())
	}
}

// TestListen: the page that is served has what came, says when more came and when no more will come, and is only for those who may see it.
func TestListen(t *testing.T) {
	var capture bytes.Buffer
	must.Get(must.Get(scenes.Find("quiet"))(t).Write(&capture, scenes.Options{Span: 40e9, Clients: 500}))(t)
	for _, listens := range []string{"127.0.0.1:0", "0.0.0.0:0"} {
		in, feed, err := os.Pipe()
		must.Do(t, err)
		defer feed.Close()
		r := launch(t, func(c *exec.Cmd) { c.Stdin = in }, "report", "--listen", listens, "-")
		in.Close()
		address := regexp.MustCompile(`report at (http://\S+?:(\d+)/)(\S*)\n`)
		r.until("say where the page is", func() bool { return address.MatchString(r.err.String()) })
		at := address.FindStringSubmatch(r.err.String())
		base, query := "http://127.0.0.1:"+at[2]+"/", at[3]
		if has := regexp.MustCompile(`^\?token=[A-Z2-7]{26}$`).MatchString(query); has == (listens == "127.0.0.1:0") {
			t.Fatalf("%s: the address is %s", listens, at[0])
		}
		get := func(path, host string) (status int, text string) {
			t.Helper()
			req := must.Get(http.NewRequest(http.MethodGet, base+path, nil))(t)
			req.Host = host
			resp, err := http.DefaultClient.Do(req)
			must.Do(t, err)
			defer resp.Body.Close()
			return resp.StatusCode, string(must.Get(io.ReadAll(resp.Body))(t))
		}
		half := capture.Len() / 2
		must.Get(feed.Write(capture.Bytes()[:half]))(t)
		packets := regexp.MustCompile(`>([^<>]+)&nbsp;packets`)
		var page string
		r.until("have packets", func() bool {
			status, text := get(query, "")
			page = text
			return status == http.StatusOK && packets.MatchString(page) && packets.FindStringSubmatch(page)[1] != "0"
		})
		if !strings.Contains(page, "data-live>") || !strings.Contains(page, "; connect-src &#39;self&#39;") {
			t.Errorf("the page does not listen: %.1000s", page)
		}
		for _, path := range []string{"", "events"} {
			if status, text := get(path+"?token=A", ""); query != "" && (status != http.StatusForbidden || strings.Contains(text, "packets")) {
				t.Errorf("%s with a wrong token: %d %s", path, status, text)
			}
			if status, _ := get(path, "evil.example:80"); status != http.StatusMisdirectedRequest && status != http.StatusForbidden {
				t.Errorf("%s: another name of this host: %d", path, status)
			}
		}
		if status, _ := get("other"+query, ""); status != http.StatusNotFound {
			t.Errorf("another page: %d", status)
		}
		stream, err := http.Get(base + "events" + query)
		must.Do(t, err)
		defer stream.Body.Close()
		lines := bufio.NewScanner(stream.Body)
		next := func() string {
			for lines.Scan() {
				if lines.Text() != "" {
					return lines.Text()
				}
			}
			return fmt.Sprint("the end: ", lines.Err())
		}
		if got := next(); got != ": hello" || stream.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("the stream begins with %q, %v", got, stream.Header)
		}
		must.Get(feed.Write(capture.Bytes()[half:]))(t)
		if got := next(); got != "data: changed" {
			t.Errorf("then it says %q", got)
		}
		before := packets.FindStringSubmatch(page)[1]
		r.until("show the others", func() bool {
			_, page = get(query, "")
			return packets.FindStringSubmatch(page)[1] != before
		})
		feed.Close()
		got := next()
		for got == "data: changed" {
			got = next()
		}
		if got != "event: end" {
			t.Errorf("at last it says %q", got)
		}
		if out := strings.Join(r.end(exitDone), "\n"); !strings.Contains(out, "Nothing unusual") {
			t.Errorf("the report: %s", out)
		}
	}
}

// TestHubIdle: nobody makes a page that nobody looks at, and whoever looks gets a new one.
func TestHubIdle(t *testing.T) {
	h := &hub{ended: make(chan struct{}), changed: make(chan struct{})}
	show := func(file string) { h.show(&stats.Report{Made: stats.Made{Files: []stats.File{{Name: file}}}}, 7) }
	if show("first"); !h.idle() || h.lacks(7) || !h.lacks(8) {
		t.Error("somebody wants a page")
	}
	got := make(chan string)
	go func() {
		w := httptest.NewRecorder()
		h.serve(w, httptest.NewRequest(http.MethodGet, "/", nil))
		got <- w.Body.String()
	}()
	for h.idle() {
	}
	if !h.lacks(7) {
		t.Error("an old page would do")
	}
	show("second")
	if page := <-got; !strings.Contains(page, "second") {
		t.Errorf("%.300s", page)
	}
	if !h.idle() {
		t.Error("somebody looks still")
	}
}
