package netns

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/qdissect/qdissect/internal/tools/scenes"
)

// A Share counts the requests of a class.
type Share struct{ Sent, Passed uint64 }

// Percent returns the share that passed, in percent.
func (s Share) Percent() float64 {
	if s.Sent == 0 {
		return 0
	}
	return 100 * float64(s.Passed) / float64(s.Sent)
}

// Shares are those of all classes. Late is by how much the latest packet was sent too
// late: a machine that is too slow plays another rate.
type Shares struct {
	Class map[string]Share
	Late  time.Duration
}

// A Rule is how a rule is loaded: a command and its input.
type Rule struct {
	command []string
	text    string
}

// NFT is a rule in the language of nft, as for nft -f.
func NFT(text string) Rule { return Rule{[]string{"nft", "-f", "-"}, text} }

// Shell is a rule as commands for a shell, for iptables.
func Shell(text string) Rule { return Rule{[]string{"sh", "-e"}, text} }

// The interface at which the servers are is called as on most hosts, so that rules may
// name it; its other end is in the same namespace.
const (
	inside  = "eth0"
	outside = "wire0"
	mac     = "02:00:00:00:00:fe"
)

// Play plays the requests of a scene, in real time, against a rule: a scene of ten seconds
// takes ten seconds. Replies are not played. The test is skipped where there can be no
// namespace. The addresses of the servers are local, so that hooks up to input apply.
func Play(t testing.TB, s scenes.Scene, o scenes.Options, rule Rule) Shares {
	t.Helper()
	return play(t, rule, func(send func(at time.Time, class string, frame []byte) error) error {
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

// play runs frames of Ethernet through a namespace. The class of each is marked in its
// time to live.
func play(t testing.TB, rule Rule, frames func(send func(at time.Time, class string, frame []byte) error) error) (shares Shares) {
	t.Helper()
	done := make(chan error)
	go func() {
		// The thread has the namespace. It ends with this goroutine, because it stays
		// locked, and the namespace with it.
		runtime.LockOSThread()
		w, err := open(rule)
		if err == nil {
			err = frames(w.send)
			shares = Shares{map[string]Share{}, w.late}
			err = errors.Join(err, w.close(&shares))
		}
		done <- err
	}()
	err := <-done
	if missing := (errMissing{}); errors.As(err, &missing) {
		t.Skipf("no network namespace here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return shares
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
}

// open makes the namespace of this thread.
func open(rule Rule) (*wire, error) {
	for _, name := range []string{"ip", "nft", rule.command[0]} {
		if _, err := exec.LookPath(name); err != nil {
			return nil, errMissing{err}
		}
	}
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return nil, errMissing{fmt.Errorf("unshare: %w", err)}
	}
	for _, line := range []string{
		"link set lo up",
		"link add " + inside + " address " + mac + " type veth peer name " + outside,
		"link set " + inside + " up", "link set " + outside + " up",
		"route add local 198.51.100.0/24 dev lo",
		"-6 route add local 2a00:c633:6400::/40 dev lo", // the same, see scenes.V6
	} {
		if out, err := run("", append([]string{"ip"}, strings.Fields(line)...)...); err != nil {
			return nil, errMissing{fmt.Errorf("ip %s: %w: %s", line, err, out)}
		}
	}
	for _, name := range []string{"all", inside} {
		// Sources need no way back.
		if err := os.WriteFile("/proc/sys/net/ipv4/conf/"+name+"/rp_filter", []byte("0"), 0); err != nil {
			return nil, errMissing{err}
		}
	}
	if out, err := run(counters, "nft", "-f", "-"); err != nil {
		return nil, errMissing{fmt.Errorf("nft: %w: %s", err, out)}
	}
	if out, err := run(rule.text, rule.command...); err != nil {
		return nil, fmt.Errorf("the rule is refused: %w: %s", err, out)
	}
	link, err := net.InterfaceByName(outside)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &wire{fd: fd, to: unix.SockaddrLinklayer{Ifindex: link.Index, Protocol: 0x0008, Halen: 6}}, nil
}

func run(in string, command ...string) (string, error) {
	c := exec.Command(command[0], command[1:]...)
	c.Stdin = strings.NewReader(in)
	out, err := c.CombinedOutput()
	return strings.Join(strings.Fields(string(out)), " "), err
}

// counters counts by the time to live, after all other rules.
var counters = func() string {
	var b strings.Builder
	b.WriteString("table inet arrived {\n")
	for i := range 8 {
		fmt.Fprintf(&b, "counter c%d { }\n", i)
	}
	b.WriteString("chain arrived { type filter hook input priority 2147483647; policy drop;\n")
	for i := range 8 {
		for _, hops := range []string{"ip ttl", "ip6 hoplimit"} {
			fmt.Fprintf(&b, "iifname %s %s %d counter name c%d drop\n", inside, hops, firstTTL+i, i)
		}
	}
	return b.String() + "}\n}\n"
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
	setTTL(frame[14:], byte(firstTTL+i))
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
func (w *wire) close(s *Shares) error {
	unix.Close(w.fd)
	time.Sleep(100 * time.Millisecond)
	out, err := run("", "nft", "-j", "list", "counters", "table", "inet", "arrived")
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
			s.Class[w.classes[i]] = Share{w.sent[i], x.Counter.Packets}
		}
	}
	return nil
}
