package stats_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/tools/scenes"
)

// What follows plays scenes against firewall rules: in a network namespace of its own,
// with the addresses and at the times of the capture, and counts what the rules let pass.
// It needs Linux, root, ip (iproute2) and nft (nftables); tests are skipped elsewhere.
//
// # What limits of nftables do
//
// Measured with Linux 6.18 and nftables 1.0.6. TestRulesPlayed fails where it does not hold for our rules.
//
// "limit rate over N/second burst M packets drop" is a bucket of M tokens that begins
// full. It gets N tokens a second, continuously, up to M; the time has nanoseconds. A
// packet takes a token and passes; if there is less than one, it takes nothing and is
// dropped. So at most M + N·t packets pass in any t seconds. Without "burst" M is 5, with
// any rate and unit; 0 is refused. 300/minute is the same as 5/second.
//
// In a set with "flags dynamic", each element has a bucket of its own, which begins full.
//
// An element is made by the first packet of its address. With "update @set" each packet
// that matches renews the timeout, also one that is then dropped; with "add @set" the
// timeout counts from the first packet, and the bucket begins full again after it. An
// element that is over its timeout no longer counts for its own address, but it keeps
// its place in the set until it is collected. That happens once a second (gc-interval
// changes it): places get free between 0 and 1 second after the timeout, sometimes a
// little more.
//
// If the set is full, an address without an element gets none and the expression does
// not match, whatever the rate. With "limit rate over … drop" such packets pass (a flood
// of more than 65,535 addresses within the timeout passes as if there were no rule, and
// so do new honest clients); with "limit rate … accept" before a drop they are dropped.
// Addresses that are in the set remain limited. "size" is exact. A meter behaves as a
// set; without a size it holds 65,535 elements.

// A share counts the requests of a class.
type share struct{ Sent, Passed uint64 }

// Percent returns the share that passed, in percent.
func (s share) Percent() float64 {
	return nettext.Either(s.Sent == 0, 0, 100*float64(s.Passed)/float64(s.Sent))
}

// shares are those of all classes. Late is by how much the latest packet was sent too
// late: a machine that is too slow plays another rate.
type shares struct {
	Class map[string]share
	Late  time.Duration
}

// A loading is how a rule is loaded: a command and its input.
type loading struct {
	command []string
	text    string
	watch   func(pid int) (end func() error)
}

// byNFT is a rule in the language of nft, as for nft -f.
func byNFT(text string) loading { return loading{command: []string{"nft", "-f", "-"}, text: text} }

// byShell is a rule as commands for a shell, for iptables.
func byShell(text string) loading { return loading{command: []string{"sh", "-e"}, text: text} }

// watched is no rule: on the host, it starts what captures in the container, of which it gets a process, and ends that after the scene.
func watched(start func(pid int) (end func() error)) loading { return loading{watch: start} }

// The interface at which the servers are is called as on most hosts, so that rules may
// name it; its other end is in the same namespace.
const (
	inside  = "eth0"
	outside = "wire0"
	mac     = "02:00:00:00:00:fe"
)

// A site is where the servers are: on the host that has the rules, or in a container behind it, whose addresses [intoContainer] gives.
type site int

// atHost and inContainer are the places.
const (
	atHost site = iota
	inContainer
)

// intoContainer rewrites the addresses of servers in a frame to those that they have in a container. Checksums stay right.
func intoContainer(frame []byte) {
	for _, a := range [][]byte{frame[26:30], frame[30:34]} {
		if frame[12] == 8 && string(a[:3]) == "\xc6\x33\x64" {
			copy(a, []byte{172, 17, 0x64 + 0x1a, a[3] + 0x22})
		}
	}
	for _, a := range [][]byte{frame[22:38], frame[38:54]} {
		if frame[12] == 0x86 && string(a[:5]) == "\x2a\x00\xc6\x33\x64" {
			a[0], a[14] = 0xfd, 0x02
		}
	}
}

// playScene plays the requests of a scene, in real time, against a rule of the host: a scene of ten seconds takes ten seconds. Clients ask the
// addresses of the host. Of replies, the first server gives challenges, to those who ask without the right one. The test is skipped where
// there can be no namespace.
func playScene(t testing.TB, s scenes.Scene, o scenes.Options, at site, rule loading) shares {
	t.Helper()
	return playFrames(t, at, rule, func(send func(at time.Time, class string, frame []byte) error) error {
		_, err := s.Play(o, func(p *scenes.Packet) error {
			if !p.ToServer {
				return nil
			}
			return send(p.At, p.Class, p.Frame)
		})
		return err
	})
}

// errMissing says what is missing for a namespace.
type errMissing struct{ error }

// playFrames runs frames of Ethernet through a namespace. The class of each is marked in its
// time to live. What a busy machine sent late is not what was to be played: it is played again.
func playFrames(t testing.TB, at site, rule loading, frames func(send func(at time.Time, class string, frame []byte) error) error) (got shares) {
	t.Helper()
	for range 4 {
		if got = playOnce(t, at, rule, frames); got.Late < 100*time.Millisecond || rule.watch != nil {
			break
		}
	}
	return got
}

// beside returns a function that runs tests side by side, because they wait most of the time, and one that waits for their end: with -short only
// if short is set.
func beside(t *testing.T, short bool) (run func(name string, test func(*testing.T)), wait func()) {
	t.Helper()
	if testing.Short() && !short {
		t.Skip("takes real time")
	}
	t.Parallel()
	var running sync.WaitGroup
	room := make(chan bool, 6)
	return func(name string, test func(*testing.T)) {
		running.Go(func() {
			room <- true
			defer func() { <-room }()
			t.Run(name, test)
		})
	}, running.Wait
}

func playOnce(t testing.TB, at site, rule loading, frames func(send func(at time.Time, class string, frame []byte) error) error) (got shares) {
	t.Helper()
	done := make(chan error)
	go func() {
		// The thread has the namespace. It ends with this goroutine, because it stays
		// locked, and the namespace with it.
		runtime.LockOSThread()
		w, err := open(at, rule)
		if w != nil {
			defer w.end()
		}
		if err == nil {
			err = frames(w.send)
			if w.watched != nil {
				err = errors.Join(err, w.watched())
			}
			got = shares{map[string]share{}, w.late}
			err = errors.Join(err, w.close(&got))
		}
		done <- err
	}()
	err := <-done
	if missing := (errMissing{}); errors.As(err, &missing) {
		t.Skipf("no network namespace here: %v", err)
	}
	must.Do(t, err)
	return got
}

// firstTTL is the time to live of the first class.
const firstTTL = 100

// A wire sends frames.
type wire struct {
	fd      int
	to      unix.SockaddrLinklayer
	classes []string
	sent    []uint64
	start   time.Time // of the clock
	first   time.Time // of the frames
	late    time.Duration
	box     *exec.Cmd // a process in the container, nil if there is none
	servers []*net.UDPConn
	watched func() error // ends what captures, nil if nothing does
}

// in returns the command that runs another in the container, if there is one.
func (w *wire) in(command ...string) []string {
	if w.box == nil {
		return command
	}
	return append([]string{"nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", w.box.Process.Pid)}, command...)
}

// byIP gives ip its commands, which another command may run.
func byIP(command []string, lines ...string) error {
	if out, err := run(strings.Join(lines, "\n")+"\n", append(command, "ip", "-batch", "-")...); err != nil {
		return errMissing{fmt.Errorf("ip: %w: %s", err, out)}
	}
	return nil
}

// end ends the container.
func (w *wire) end() {
	for _, c := range w.servers {
		c.Close()
	}
	if w.box != nil {
		w.box.Process.Kill()
		_ = w.box.Wait() // it was killed
	}
}

// contain makes a container behind the host: a namespace to which the host translates the addresses of the servers.
func (w *wire) contain() error {
	w.box = exec.Command("sleep", "60")
	w.box.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	if err := w.box.Start(); err != nil {
		w.box = nil
		return errMissing{err}
	}
	var v4, v6 []string
	for x := 10; x < 22; x++ {
		v4 = append(v4, fmt.Sprintf("198.51.100.%d : 172.17.126.%d", x, x+0x22))
		v6 = append(v6, fmt.Sprintf("2a00:c633:64%02[1]x::d5ff : fd00:c633:64%02[1]x::2ff", x))
	}
	if err := byIP(nil,
		fmt.Sprintf("link add docker0 address 02:00:00:00:01:01 type veth peer name %s address 02:00:00:00:01:02 netns %d", inside, w.box.Process.Pid),
		"link set docker0 up", "route add 172.17.0.0/16 dev docker0", "route add fd00:c633:6400::/40 via fe80::2 dev docker0", "neigh add fe80::2 lladdr 02:00:00:00:01:02 dev docker0",
		"addr del 2a00:c633:640a::d5ff dev lo", "route del local 198.51.100.0/24 dev lo", "route del local 2a00:c633:6400::/40 dev lo"); err != nil {
		return err
	}
	if err := byIP(w.in(),
		"link set lo up", "link set eth0 up", "addr add fe80::2/64 dev eth0 nodad", "route add local 172.17.126.0/24 dev lo", "route add 172.17.0.1 dev eth0", "route add default via 172.17.0.1 dev eth0",
		"route add local fd00:c633:6400::/40 dev lo", "addr add fd00:c633:640a::2ff dev lo nodad", "route add default via fe80::1 dev eth0", "neigh add fe80::1 lladdr 02:00:00:00:01:01 dev eth0", "neigh add 172.17.0.1 lladdr 02:00:00:00:01:01 dev eth0"); err != nil {
		return err
	}
	for _, name := range []string{"ipv4/conf/all/forwarding", "ipv6/conf/all/forwarding"} {
		if err := os.WriteFile("/proc/sys/net/"+name, []byte("1"), 0); err != nil {
			return errMissing{err}
		}
	}
	nat := fmt.Sprintf("table inet nat {\nchain pre { type nat hook prerouting priority dstnat;\ndnat ip to ip daddr map { %s }\ndnat ip6 to ip6 daddr map { %s }\n}\n}\n", strings.Join(v4, ", "), strings.Join(v6, ", "))
	if out, err := run(nat, "nft", "-f", "-"); err != nil {
		return errMissing{fmt.Errorf("nft: %w: %s", err, out)}
	}
	return nil
}

// serve makes the first server give challenges to those who ask for info without theirs. This thread opens the sockets in the container.
func (w *wire) serve() error {
	if w.box != nil {
		home, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			return err
		}
		defer home.Close()
		box, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", w.box.Process.Pid))
		if err != nil {
			return err
		}
		defer box.Close()
		if err := unix.Setns(int(box.Fd()), unix.CLONE_NEWNET); err != nil {
			return errMissing{err}
		}
		defer func() { _ = unix.Setns(int(home.Fd()), unix.CLONE_NEWNET) }()
	}
	addresses := nettext.Either(w.box != nil, []string{"172.17.126.44", "fd00:c633:640a::2ff"}, []string{"198.51.100.10", "2a00:c633:640a::d5ff"})
	for _, a := range addresses {
		c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(a), Port: 27015})
		if err != nil {
			return err
		}
		w.servers = append(w.servers, c)
		go func() {
			buf := make([]byte, 2048)
			for {
				n, from, err := c.ReadFromUDPAddrPort(buf)
				if err != nil {
					return
				}
				right := binary.LittleEndian.AppendUint32(nil, scenes.Token(0, from.Addr().Unmap()))
				if n < 5 || string(buf[max(n-4, 0):n]) != string(right) {
					_, _ = c.WriteToUDPAddrPort(append([]byte("\xff\xff\xff\xffA"), right...), from)
				}
			}
		}()
	}
	return nil
}

// open makes the namespace of this thread.
func open(at site, rule loading) (*wire, error) {
	for _, name := range append([]string{"ip", "nft", "nsenter"}, rule.command[:min(1, len(rule.command))]...) {
		if _, err := exec.LookPath(name); err != nil {
			return nil, errMissing{err}
		}
	}
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return nil, errMissing{fmt.Errorf("unshare: %w", err)}
	}
	w := new(wire)
	if err := byIP(nil,
		"link set lo up",
		"link add "+inside+" address "+mac+" type veth peer name "+outside,
		"link set "+inside+" up", "link set "+outside+" up",
		"route add local 198.51.100.0/24 dev lo",
		"route add local 2a00:c633:6400::/40 dev lo",                                                                                                                    // the same, see scenes.V6
		"addr add 2a00:c633:640a::d5ff dev lo nodad",                                                                                                                    // a server can only be bound to an address
		"link add gone type veth peer name nowhere", "link set gone arp off up", "link set nowhere arp off up", "route add default dev gone", "route add ::/0 dev gone", // where replies go
	); err != nil {
		return nil, err
	}
	for _, name := range []string{"all", inside} {
		// Sources need no way back.
		if err := os.WriteFile("/proc/sys/net/ipv4/conf/"+name+"/rp_filter", []byte("0"), 0); err != nil {
			return nil, errMissing{err}
		}
	}
	if at == inContainer {
		if err := w.contain(); err != nil {
			return w, err
		}
	}
	if out, err := run(counters, w.in("nft", "-f", "-")...); err != nil {
		return w, errMissing{fmt.Errorf("nft: %w: %s", err, out)}
	}
	if err := w.serve(); err != nil {
		return w, err
	}
	if rule.watch != nil {
		w.watched = rule.watch(w.box.Process.Pid)
	} else if out, err := run(rule.text, rule.command...); err != nil {
		return w, fmt.Errorf("the rule is refused: %w: %s", err, out)
	}
	link, err := net.InterfaceByName(outside)
	if err != nil {
		return w, err
	}
	w.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	w.to = unix.SockaddrLinklayer{Ifindex: link.Index, Protocol: 0x0008, Halen: 6}
	return w, err
}

func run(in string, command ...string) (string, error) {
	c := exec.Command(command[0], command[1:]...)
	c.Stdin = strings.NewReader(in)
	out, err := c.CombinedOutput()
	return strings.Join(strings.Fields(string(out)), " "), err
}

// counters counts by the time to live, which a host before it lowers, after all other rules. Only what the first server gets comes in.
var counters = func() string {
	var b strings.Builder
	b.WriteString("table inet arrived {\n")
	for i := range 8 {
		fmt.Fprintf(&b, "counter c%d { }\n", i)
	}
	b.WriteString("chain arrived { type filter hook input priority 2147483647; policy drop;\n")
	for i := range 8 {
		for _, hops := range []string{"ip ttl", "ip6 hoplimit"} {
			fmt.Fprintf(&b, "iifname %s %s { %d, %d } counter name c%d\n", inside, hops, firstTTL+2*i-1, firstTTL+2*i, i)
		}
	}
	return b.String() + "udp dport 27015 ip daddr { 198.51.100.10, 172.17.126.44 } accept\nudp dport 27015 ip6 daddr { 2a00:c633:640a::d5ff, fd00:c633:640a::2ff } accept\nicmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept\n}\n}\n"
}()

// send sends a frame when its time has come.
func (w *wire) send(at time.Time, class string, frame []byte) error {
	if w.first.IsZero() {
		w.first, w.start = at, time.Now()
	}
	i := 0
	for ; i < len(w.classes) && w.classes[i] != class; i++ {
	}
	if i == len(w.classes) {
		w.classes = append(w.classes, class)
		w.sent = append(w.sent, 0)
	}
	copy(frame, []byte{2, 0, 0, 0, 0, 0xfe})
	setTTL(frame[14:], byte(firstTTL+2*i))
	wait := at.Sub(w.first) - time.Since(w.start)
	if wait > 200*time.Microsecond {
		time.Sleep(wait)
	}
	w.late = max(w.late, -wait)
	w.sent[i]++
	for {
		err := unix.Sendto(w.fd, frame, 0, &w.to)
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.ENOBUFS) {
			return err
		}
	}
}

// setTTL changes the hop limit of a packet, and corrects the checksum of an IPv4 header.
func setTTL(packet []byte, ttl byte) {
	if packet[0]>>4 == 6 {
		packet[7] = ttl
		return
	}
	sum := uint32(^binary.BigEndian.Uint16(packet[10:])) + uint32(^(uint16(packet[8]) << 8)) + uint32(ttl)<<8
	packet[8] = ttl
	sum = sum>>16 + sum&0xffff
	binary.BigEndian.PutUint16(packet[10:], ^uint16(sum>>16+sum))
}

// close reads the counters.
func (w *wire) close(s *shares) error {
	unix.Close(w.fd)
	time.Sleep(100 * time.Millisecond)
	out, err := run("", w.in("nft", "-j", "list", "counters", "table", "inet", "arrived")...)
	if err != nil {
		return fmt.Errorf("nft: %w: %s", err, out)
	}
	var list struct {
		NFTables []struct {
			Counter struct {
				Name    string
				Packets uint64
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return err
	}
	for _, x := range list.NFTables {
		var i int
		if n, _ := fmt.Sscanf(x.Counter.Name, "c%d", &i); n == 1 && i < len(w.classes) {
			s.Class[w.classes[i]] = share{w.sent[i], x.Counter.Packets}
		}
	}
	return nil
}

// TestRulesOfNamespace: of a scene that the program captures in the namespace of a container with --netns, what the rules that it prints let
// pass, when the scene is played again, is within five points of what their comment promises. By default TestRulesPlayed plays the rules of a
// container, and the test of this name in cmd/qdissect captures in its namespace.
func TestRulesOfNamespace(t *testing.T) {
	run, wait := beside(t, false)
	defer wait()
	if !must.TryAll() {
		t.Skip("TestRulesPlayed plays rules of a container by default")
	}
	program := filepath.Join(t.TempDir(), "qdissect")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/qdissect").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	for _, name := range []string{"greedy", "made-up"} {
		s := must.Get(scenes.Find(name))(t)
		for format, v6 := range map[string]bool{"iptables": false, "ip6tables": true} {
			run(name+" "+format, func(t *testing.T) {
				o := scenes.Options{Span: 9 * time.Second, Clients: 800, Rate: 500, IPv6: v6}
				printed := map[string]*bytes.Buffer{"nft": {}, format: {}}
				playScene(t, s, o, inContainer, watched(func(pid int) func() error {
					var ends []func() error
					for tool, out := range printed {
						end, err := startRules(program, tool, pid, out)
						ends = append(ends, func() error { return errors.Join(err, end()) })
					}
					return func() (err error) {
						for _, end := range ends {
							err = errors.Join(err, end())
						}
						return err
					}
				}))
				for tool, out := range printed {
					rule := nettext.Either(tool == "nft", byNFT(out.String()), byShell(tool+"-restore --noflush <<'END'\n"+out.String()+"END\n"))
					kept(t, tool, out.String(), playScene(t, s, o, inContainer, rule))
				}
			})
		}
	}
}

// startRules starts the program, which captures in the namespace of a process, and waits until it listens. end interrupts it.
func startRules(program, tool string, pid int, out *bytes.Buffer) (end func() error, err error) {
	c := exec.Command(program, "rules", "--for", tool, "-i", "eth0", "--netns", fmt.Sprint(pid))
	c.Stdout = out
	errs, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return func() error { return nil }, err
	}
	said := make([]byte, 4096)
	n, _ := errs.Read(said) // its first line
	if !strings.HasPrefix(string(said[:n]), "listening on eth0") {
		err = fmt.Errorf("it says %q", said[:n])
	}
	return func() error { return errors.Join(c.Process.Signal(os.Interrupt), c.Wait()) }, err
}

// kept compares what passed with what the comment of rules promises.
func kept(t *testing.T, tool, text string, got shares) {
	t.Helper()
	promises := regexp.MustCompile(`(\d[\d.]*) % of (forged|honest|requests of greedy)`).FindAllStringSubmatch(text, -1)
	if len(promises) < 2 || strings.Count(text, "Over the whole capture") != 1 {
		t.Fatalf("%s: %s", tool, text)
	}
	judged := 0
	for _, p := range promises {
		var sum share
		for _, class := range map[string][]string{"forged": {scenes.Forged}, "requests of greedy": {scenes.Greedy}, "honest": {scenes.Honest, scenes.Infra, scenes.Scanner}}[p[2]] {
			sum.Sent += got.Class[class].Sent
			sum.Passed += got.Class[class].Passed
		}
		promised := must.Get(strconv.ParseFloat(p[1], 64))(t)
		if sum.Sent == 0 {
			continue // the report may count a few as forged that lost their replies
		}
		judged++
		t.Logf("%s: %s: %.1f %% of %d are dropped, promised %s %% (late %v)", tool, p[2], 100-sum.Percent(), sum.Sent, p[1], got.Late)
		if d := 100 - sum.Percent() - promised; d < -5 || d > 5 {
			t.Errorf("%s: %s: %.1f %% of %d are dropped, promised %s %%\n%s", tool, p[2], 100-sum.Percent(), sum.Sent, p[1], text)
		}
	}
	if judged != 2 { // the honest ones and the others
		t.Errorf("%s: %d of the classes were sent: %v", tool, judged, got.Class)
	}
}
