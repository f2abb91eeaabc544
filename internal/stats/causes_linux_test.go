package stats_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
)

// A network is one in which a film is made with real sockets: clients, a router and the host of a server, each in a network namespace.
// A request is sent each half second of the film's time; what follows it is as far from it as it really was.
type network struct {
	*film
	t      *testing.T
	spaces [3]int // namespaces
	from   string // pattern of the addresses of clients
	fresh  bool   // clients return challenges from another port
	hasty  bool   // clients close their socket at once
	pace   time.Duration
	step   float64 // seconds of the film from a request to the next, a half if 0
	heard  bool    // a reply came
	abrupt bool    // the capture ends with the last request
	turn   int     // of the clients

	mu    sync.Mutex
	clock float64 // seconds of the film at the newest request
	since time.Time
	moves []move // of the clock
	fd    int    // that captures
	end   func()
}

// A move is the real time of a request, and its time in the film.
type move struct {
	since time.Time
	clock float64
}

// The places of a network.
const (
	onHost = iota
	onRouter
	onClients
)

// namespace moves the test into a new network namespace with lo and a pair of connected interfaces, veth0 and veth1. The namespace ends with
// the test, because its thread is never released.
func namespace(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil || os.Geteuid() != 0 {
		t.Skip("no network namespace here: not root, or iproute2 is not installed")
	}
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skip("no network namespace here: " + err.Error())
	}
	shell(t, "ip link set lo up; ip link add veth0 type veth peer name veth1; ip link set veth0 addrgenmode none mtu 65535 up; ip link set veth1 addrgenmode none mtu 65535 up")
	carrier(t)
}

// carrier waits until the kernel has noticed that both ends of a cable are up: until then it drops what is sent, and says nothing.
func carrier(t *testing.T) {
	t.Helper()
	until(t, func() bool {
		list := must.Get(net.Interfaces())(t)
		return !slices.ContainsFunc(list, func(i net.Interface) bool { return i.Flags&(net.FlagUp|net.FlagRunning) == net.FlagUp })
	}, func() string { return "an interface is up and has no carrier" })
}

// until waits until something is so, or says what is instead.
func until(t *testing.T, is func() bool, instead func() string) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(instead())
		}
	}
}

var onlyIP = regexp.MustCompile(`^(ip [a-z][^;|&$]*(; |$))+$`)

// shell runs a script. One of ip alone is a batch, because most of them have many commands.
func shell(t *testing.T, script string) {
	t.Helper()
	command, in := []string{"sh", "-ec", script}, ""
	if onlyIP.MatchString(script) {
		command, in = []string{"ip", "-batch", "-"}, strings.ReplaceAll(strings.TrimPrefix(script, "ip "), "; ip ", "\n")+"\n"
	}
	out, err := run(in, command...)
	if x := new(exec.ExitError); errors.As(err, &x) && x.ExitCode() == 127 { // a program that sh does not find
		t.Skip(out)
	} else if err != nil {
		t.Fatalf("%s: %v %s", script, err, out)
	}
}

// stage makes the network, runs commands at its places, and begins to capture at one of them: with "up" only what comes in, with "down" only
// what goes out.
func (f *film) stage(at int, interfaces string, commands ...string) *network {
	s := &network{film: f, t: f.t, from: "20.7.0.%d"}
	for i := range s.spaces {
		namespace(f.t)
		fd, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		must.Do(f.t, err)
		f.t.Cleanup(func() { unix.Close(fd) })
		s.spaces[i] = fd
	}
	path := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), s.spaces[onRouter])
	const quick = "echo 0 > /proc/sys/net/ipv4/icmp_ratelimit; echo 0 > /proc/sys/net/ipv6/icmp/ratelimit"
	s.at(onHost, quick+"\nip link set veth0 name eth0 mtu 1500 up; ip link set veth1 mtu 1500 netns "+path+" name tohost; "+
		"ip addr add 198.51.100.10/24 dev eth0; ip addr add 198.51.100.11/24 dev eth0; ip addr add 2001:db8::10/64 dev eth0 nodad")
	addresses := ""
	for i := range 12 {
		addresses += fmt.Sprintf("; ip addr add 20.7.0.%[1]d/24 dev eth0; ip addr add 2001:db8:7::%[1]d/64 dev eth0 nodad", i+1)
	}
	s.at(onClients, "ip link set veth0 name eth0 mtu 1500 up; ip link set veth1 mtu 1500 netns "+path+" name toclients"+addresses)
	s.at(onRouter, quick+"; echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding\nip link set tohost addrgenmode none up; ip link set toclients addrgenmode none up; "+
		"ip addr add 198.51.100.1/24 dev tohost; ip addr add 20.7.0.254/24 dev toclients; ip addr add 2001:db8::1/64 dev tohost nodad; ip addr add 2001:db8:7::fe/64 dev toclients nodad; ip addr add fe80::1/64 dev tohost nodad; ip addr add fe80::2/64 dev toclients nodad")
	s.at(onHost, "ip route add default via 198.51.100.1; ip route add default via 2001:db8::1")
	s.at(onClients, "ip route add default via 20.7.0.254; ip route add default via 2001:db8:7::fe")
	for i := range s.spaces {
		s.enter(i)
		carrier(s.t)
	}
	for _, a := range []string{"198.51.100.10:9", "[2001:db8::10]:9"} { // neighbours get to know each other
		c := s.socket(onClients, "", a)
		until(s.t, func() bool {
			_, _ = c.Write(nil)
			_ = c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			_, err := c.Read(make([]byte, 1))
			return errors.Is(err, unix.ECONNREFUSED)
		}, func() string { return a + " cannot be reached" })
	}
	for i, c := range commands {
		s.at(i, c)
	}
	s.capture(at, interfaces)
	return s
}

// enter moves this thread to a place.
func (s *network) enter(place int) {
	s.t.Helper()
	must.Do(s.t, unix.Setns(s.spaces[place], unix.CLONE_NEWNET))
}

// at runs commands at a place. A line that begins with a pipe is a rule of nft, of a chain for a hook.
func (s *network) at(place int, commands string) {
	s.t.Helper()
	s.enter(place)
	for i, line := range strings.Split(commands, "\n") {
		if rule, ok := strings.CutPrefix(line, "|"); ok {
			hook, rule, _ := strings.Cut(rule, ":")
			kind := nettext.Either(strings.Contains(rule, "dnat") || strings.Contains(rule, "masquerade"), "nat", "filter")
			line = fmt.Sprintf("nft -f - <<-'end'\ntable inet t%d {\nchain c { type %s hook %s; policy accept;\n%s\n}\n}\nend", i, kind, hook, rule)
		}
		if line != "" {
			shell(s.t, line)
		}
	}
}

// capture adds what the interfaces of a place see to the film, until the film is ready.
func (s *network) capture(place int, interfaces string) {
	s.enter(place)
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0x0300) // all protocols
	must.Do(s.t, err)
	var only *net.Interface
	to := unix.SockaddrLinklayer{Protocol: 0x0300}
	name, way, _ := strings.Cut(interfaces, " ")
	if name != "any" {
		if only, err = net.InterfaceByName(name); err == nil {
			to.Ifindex = only.Index
			err = unix.Bind(fd, &to)
		}
	}
	if err == nil {
		err = errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1), unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 20_000}))
	}
	must.Do(s.t, err)
	s.fd, s.since = fd, time.Now()
	s.moves = []move{{s.since, s.clock}}
	stop, stopped := make(chan bool), make(chan bool)
	s.end = func() {
		time.Sleep(40 * time.Millisecond)
		close(stop)
		<-stopped
		unix.Close(fd)
		if !s.abrupt {
			s.goesOn(s.clock + 30)
		}
	}
	go func() {
		defer close(stopped)
		buf, more, newest := make([]byte, 65536), make([]byte, 64), time.Time{}
		for {
			n, m, _, from, err := unix.Recvmsg(fd, buf, more, 0)
			if err != nil {
				select {
				case <-stop:
					return
				default:
					continue
				}
			}
			const loopback, outgoing = 772, unix.PACKET_OUTGOING // of a packet on lo, both ends are seen
			if l, ok := from.(*unix.SockaddrLinklayer); ok && l.Pkttype == outgoing && (l.Hatype == loopback || way == "up") || ok && l.Pkttype != outgoing && way == "down" {
				continue
			}
			at := time.Now()
			if list, err := unix.ParseSocketControlMessage(more[:m]); err == nil && len(list) > 0 && len(list[0].Data) >= 16 {
				at = time.Unix(int64(binary.NativeEndian.Uint64(list[0].Data)), int64(binary.NativeEndian.Uint64(list[0].Data[8:])))
			}
			if at.Before(newest) { // until all packets have a stamp, one that has none gets that of its reading: the order of the queue is right
				at = newest
			}
			newest = at
			frame := bytes.Clone(buf[:n])
			s.mu.Lock()
			i := len(s.moves) - 1 // this thread may come late: the clock may have moved on
			for i > 0 && s.moves[i].since.After(at) {
				i--
			}
			s.frame(s.moves[i].clock+max(at.Sub(s.moves[i].since), 0).Seconds(), frame)
			s.mu.Unlock()
		}
	}()
}

// next moves the clock of the film when what happened is on it, so that nothing is lost however slow this machine is.
func (s *network) next() {
	time.Sleep(s.pace)
	for must.Get(unix.IoctlGetInt(s.fd, unix.SIOCINQ))(s.t) > 0 {
		time.Sleep(20 * time.Microsecond)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pace > 0 { // in real time
		s.clock += time.Since(s.since).Seconds()
	} else {
		s.clock += cmp.Or(s.step, .5)
	}
	s.since = time.Now()
	s.moves = append(s.moves, move{s.since, s.clock})
}

// socket opens a socket at a place. If it is connected, its kernel refuses what comes from elsewhere.
func (s *network) socket(place int, local, remote string) *net.UDPConn {
	s.t.Helper()
	s.enter(place)
	address := func(a string) *net.UDPAddr {
		if a == "" {
			return nil
		}
		return net.UDPAddrFromAddrPort(netip.MustParseAddrPort(a))
	}
	c, err := net.ListenUDP("udp", address(local))
	if remote != "" {
		c.Close()
		c, err = net.DialUDP("udp", address(local), address(remote))
	}
	must.Do(s.t, err)
	s.t.Cleanup(func() { c.Close() })
	return c
}

// serve makes a server on the host reply, if it has a reply.
func (s *network) serve(at string, replies func(ask string, from netip.AddrPort) []string) *net.UDPConn {
	c := s.socket(onHost, at, "")
	go func() {
		buf := make([]byte, 2048)
		for {
			n, from, err := c.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			for _, b := range replies(string(buf[:n]), from) {
				_, _ = c.WriteToUDPAddrPort([]byte(b), from)
			}
		}
	}()
	return c
}

// unguarded answers at once; silent answers nothing; guarded asks for the challenge that key makes of an address.
func unguarded(ask string, _ netip.AddrPort) []string {
	switch {
	case strings.HasPrefix(ask, "\xff\xff\xff\xffV"):
		return parts(rulesReply(90), 7)
	case strings.HasPrefix(ask, askInfo):
		return []string{infoReply("Old town")}
	}
	return nil
}

func silent(string, netip.AddrPort) []string { return nil }

func guarded(key func(netip.AddrPort) byte) func(string, netip.AddrPort) []string {
	return func(ask string, from netip.AddrPort) []string {
		b := from.Addr().As16()
		token := string([]byte{key(from), b[13], b[14], b[15]})
		return nettext.Either(!strings.HasSuffix(ask, token), []string{"\xff\xff\xff\xffA" + token}, unguarded(ask, from))
	}
}

func byAddress(netip.AddrPort) byte { return 77 }

// ask makes clients ask, one after the other.
func (s *network) ask(n int, server, what string) {
	s.t.Helper()
	for i := range n {
		s.turn++
		client, place := (s.turn-1)%12+1, onClients
		from := fmt.Sprintf(s.from, client)
		switch {
		case strings.HasPrefix(server, "127."):
			from, place = "127.0.0.1", onHost
		case strings.HasPrefix(server, "["):
			from = fmt.Sprintf("[2001:db8:7::%d]", client)
		}
		connected := ""
		if i%2 > 0 { // both are usual
			connected = server
		}
		s.next()
		c := s.socket(place, from+":0", connected)
		reply := s.exchange(c, server, what)
		if token, ok := strings.CutPrefix(reply, "\xff\xff\xff\xffA"); ok {
			if s.fresh {
				c = s.socket(place, from+":0", connected)
			}
			s.exchange(c, server, strings.TrimSuffix(what, le(0))+token)
		}
	}
}

// exchange sends a request, and returns the reply.
func (s *network) exchange(c *net.UDPConn, server, what string) string {
	var err error
	if c.RemoteAddr() != nil {
		_, err = c.Write([]byte(what))
	} else {
		_, err = c.WriteToUDPAddrPort([]byte(what), netip.MustParseAddrPort(server))
	}
	if err != nil && c.RemoteAddr() == nil {
		s.t.Fatal(err)
	}
	if s.hasty {
		c.Close()
		time.Sleep(10 * time.Millisecond)
		return ""
	}
	wait := nettext.Either(s.pace > 0 || s.step > 0, 2*time.Millisecond, nettext.Either(s.clock < 1 || s.heard, 200*time.Millisecond, 20*time.Millisecond))
	_ = c.SetReadDeadline(time.Now().Add(wait))
	b := make([]byte, 4096)
	n, err := c.Read(b)
	s.heard = s.heard || err == nil
	return string(b[:n])
}

// connections makes clients connect over TCP.
func (s *network) connections(n int, server string) {
	s.enter(onClients)
	for range n {
		s.next()
		if c, err := net.DialTimeout("tcp", server, time.Second); err == nil {
			c.Close()
		}
	}
}

const (
	stagedHost = "198.51.100.10:27015"
	staged6    = "[2001:db8::10]:27015"
	askList    = "1\x030.0.0.0:0\x00\\gamedir\\cstrike\x00"
)

const stagedMaster = "198.51.100.11:27010"

var stagedCauses = []filmCause{
	{id: "master_silent", says: "master 198.51.100.11:27010 sends nothing back", has: mastered(4, ""), near: mastered(1, ""), nearIs: "works"},
	{id: "master_refuses", says: "does not list 198.51.100.10:27015.*banned",
		has:  mastered(4, "\xff\xff\xff\xffl\nYour server is banned.\n\x00"),
		near: mastered(4, "\xff\xff\xff\xffs\n\x01\x02\x03\x04"), nearIs: "works"},
	{id: "master_version", says: "because of its version",
		has:  mastered(4, "\xff\xff\xff\xffl\nOutdated Version.  Please update.\n\x00"),
		near: mastered(4, "\xff\xff\xff\xffl\nYour server is banned.\n\x00"), nearIs: "master_refuses"},
	{id: "not_in_list", says: "in none of 10 lists of the master 198.51.100.11:27010.*Europe, .gamedir.cstrike",
		has:  mastered(4, "\xff\xff\xff\xffs\n\x01\x02\x03\x04", "198.51.100.10:27016", "203.0.113.8:27015"),
		near: mastered(4, "\xff\xff\xff\xffs\n\x01\x02\x03\x04", "203.0.113.8:27015", stagedHost), nearIs: "works"},
	{id: "other_kind", says: "20 replies of another kind", has: acted("", always(rulesReply(3)), inquiry{20, askInfo}), near: acted("", unguarded, inquiry{20, askInfo}), nearIs: "works"},
	{id: "unknown_requests", says: "20 datagrams that no protocol recognises",
		has: acted("", silent, inquiry{20, "\x01\x09 no such game"}), near: acted("", unguarded, inquiry{20, askInfo}), nearIs: "works"},
	{id: "challenge_unused", says: "No client gets past the challenge",
		has: func(f *film) {
			s := f.stage(onHost, "eth0")
			s.serve(stagedHost, guarded(byAddress))
			for i := range 30 {
				s.next()
				s.exchange(s.socket(onClients, fmt.Sprintf(s.from, 1+i%12)+":0", ""), stagedHost, askInfo)
			}
			s.end()
		},
		near: acted("", guarded(byAddress), inquiry{30, askInfo}), nearIs: "works"},
	{id: "no_requests_captured", says: "no requests to it: one direction",
		has:  on(onHost, "eth0 down").play(func(s *network) { s.abrupt = true }, serves(stagedHost, unguarded), clientsAsk(20, stagedHost, askInfo)),
		near: acted("", unguarded, inquiry{20, askInfo}), nearIs: "works"},
	{id: "nobody_asked", says: "Nobody asked.*5 datagrams of that host",
		has: func(f *film) {
			s := f.stage(onHost, "eth0")
			s.abrupt = true
			server, player := s.socket(onHost, stagedHost, ""), s.socket(onClients, "20.7.0.1:27005", "")
			for range 5 {
				s.next()
				must.Get(server.WriteTo([]byte("\x01\x09 no such game"), player.LocalAddr()))(s.t)
			}
			s.end()
		},
		near: acted("", unguarded, inquiry{20, askInfo}), nearIs: "works"},
	{id: "capture_ends", says: "ends before a reply",
		has:  on(onHost, "eth0").play(func(s *network) { s.abrupt = true }, serves(stagedHost, silent), clientsAsk(6, stagedHost, askInfo)),
		near: acted("", silent, inquiry{6, askInfo}), nearIs: "no_reply"},
	{id: "no_reply", says: "replied to none of 30 requests.*firewall", not: "listens",
		has:  acted("|input priority 0: udp dport 27015 drop", unguarded, inquiry{30, askInfo}),
		near: acted("|input priority 0: tcp dport 27015 drop", guarded(byAddress), inquiry{30, askInfo}), nearIs: "works"},
	{id: "nothing_listens", server: staged6, nearAsk: staged6, says: "port is closed", not: "prohibited",
		has:  on(onHost, "eth0").play(clientsAsk(20, staged6, askInfo)),
		near: on(onHost, "eth0", "|input priority 0: udp dport 27015 reject with icmpx admin-prohibited").play(serves(staged6, unguarded), clientsAsk(20, staged6, askInfo)), nearIs: "firewall_rejects"},
	{id: "firewall_rejects", says: "firewall rejects.*20.7.0.254 said so of 20 requests", not: "[Nn]othing listens",
		// as nft does if nothing else is said: port unreachable
		has:  on(onClients, "eth0", "", "|forward priority 0: udp dport 27015 reject").play(serves(stagedHost, unguarded), clientsAsk(20, stagedHost, askInfo)),
		near: on(onClients, "eth0").play(clientsAsk(20, stagedHost, askInfo)), nearIs: "nothing_listens"},
	{id: "bound_elsewhere", says: "127.0.0.1:27015 answers.*loopback",
		has:  on(onHost, "any").play(serves("127.0.0.1:27015", unguarded), clientsAsk(20, stagedHost, askInfo), clientsAsk(8, "127.0.0.1:27015", askInfo)),
		near: on(onHost, "any").play(clientsAsk(20, stagedHost, askInfo), clientsAsk(8, "127.0.0.1:27015", askInfo)), nearIs: "nothing_listens"},
	{id: "host_unreachable", says: "cannot be reached: 20.7.0.254",
		has: on(onClients, "eth0", "", "ip route add unreachable 198.51.100.10").play(serves(stagedHost, unguarded), clientsAsk(20, stagedHost, askInfo)),
		// of half of the clients the answer has no way back, which is not the server's trouble
		near: on(onHost, "eth0", "", "ip route add unreachable 20.7.0.1").play(serves(stagedHost, unguarded), clientsAsk(60, stagedHost, askInfo)), nearIs: "works"},
	{id: "too_large", says: "too large for the path: 198.51.100.1 said so.*MTU", not: "Nothing listens",
		has:  on(onHost, "eth0", "", "ip link set toclients mtu 700").play(serves(stagedHost, unguarded), clientsAsk(20, stagedHost, askRules)),
		near: on(onHost, "eth0", "", "ip link set toclients mtu 1300").play(serves(stagedHost, unguarded), clientsAsk(20, stagedHost, askRules)), nearIs: "works"},
	{id: "fragments_lost", says: "IP fragments",
		has:  on(onClients, "eth0", "", "|prerouting priority -450: ip frag-off & 0x1fff != 0 drop").play(serves(stagedHost, unsplit), clientsAsk(20, stagedHost, askRules), clientsAsk(20, stagedHost, askInfo)),
		near: on(onClients, "eth0").play(serves(stagedHost, unsplit), clientsAsk(20, stagedHost, askRules), clientsAsk(20, stagedHost, askInfo)), nearIs: "works"},
	{id: "parts_lost", says: "lack parts",
		has:  on(onClients, "eth0", "", "|forward priority 0: ip length > 1000 drop").play(serves(stagedHost, unguarded), clientsAsk(20, stagedHost, askRules)),
		near: on(onClients, "eth0", "", "|forward priority 0: ip length > 1300 drop").play(serves(stagedHost, unguarded), clientsAsk(20, stagedHost, askRules)), nearIs: "works"},
	{id: "other_address", server: "198.51.100.11:27015", says: "20 requests .* answered from another address, 198.51.100.10", not: "Down|No reply|firewall",
		// the kernel chooses the first address of a host
		has:  on(onHost, "eth0").play(serves("0.0.0.0:27015", unguarded), clientsAsk(20, "198.51.100.11:27015", askInfo)),
		near: on(onHost, "eth0").play(serves("0.0.0.0:27015", unguarded), clientsAsk(20, stagedHost, askInfo)), nearIs: "works"},
	{id: "other_port", says: "20 requests .* answered from another port, 198.51.100.10:40001", not: "Down|No reply|firewall",
		has: on(onClients, "eth0", "", "|forward priority 0: udp sport 27015 udp sport set 40001").play(serves(stagedHost, unguarded), clientsAsk(20, stagedHost, askInfo)),
		// seen before it
		near: on(onHost, "eth0", "", "|forward priority 0: udp sport 27016 udp sport set 40001").play(serves(stagedHost, unguarded), clientsAsk(20, stagedHost, askInfo)), nearIs: "works"},
	{id: "wrong_port", says: "198.51.100.10:27016 on the same host answers a2s",
		has:  on(onHost, "eth0").play(serves(stagedHost, silent), serves("198.51.100.10:27016", guarded(byAddress)), clientsAsk(20, stagedHost, askInfo), clientsAsk(10, "198.51.100.10:27016", askInfo)),
		near: on(onHost, "eth0").play(serves(stagedHost, silent), clientsAsk(20, stagedHost, askInfo)), nearIs: "no_reply"},
	{id: "tcp_only", server: "198.51.100.10:25565", nearAsk: "198.51.100.10:25565", says: "6 connections tried: 6 made.*enable-query=true",
		has: func(f *film) {
			s := f.stage(onHost, "eth0")
			s.enter(onHost)
			l, err := net.Listen("tcp", "198.51.100.10:25565")
			must.Do(s.t, err)
			defer l.Close()
			s.connections(6, "198.51.100.10:25565")
			s.end()
		},
		near: func(f *film) {
			s := f.stage(onHost, "eth0")
			s.serve("198.51.100.10:25565", unguarded)
			s.connections(6, "198.51.100.10:25565")
			s.ask(12, "198.51.100.10:25565", askInfo)
			s.end()
		}, nearIs: "works"},
	{id: "one_direction", says: "one direction only.*return a challenge", not: "Down",
		has:  on(onHost, "eth0 up").play(serves(stagedHost, guarded(byAddress)), clientsAsk(30, stagedHost, askInfo)),
		near: on(onHost, "eth0").play(serves(stagedHost, guarded(byAddress)), clientsAsk(30, stagedHost, askInfo)), nearIs: "works"},
	{id: "docker_proxy", server: "172.17.0.2:27015", nearAsk: "172.17.0.2:27015", says: "172.17.0.1: that of Docker's proxy",
		has:  bridged("\n|postrouting priority 100: oifname tohost masquerade").play(clientsAsk(20, stagedHost, askInfo)),
		near: bridged("").play(clientsAsk(20, stagedHost, askInfo)), nearIs: "works"},
	{id: "translated_address", says: "172.17.0.2:27015.*private",
		has:  bridged("").play(clientsAsk(20, stagedHost, askInfo)),
		near: on(onHost, "eth0").play(serves(stagedHost, unguarded), clientsAsk(20, stagedHost, askInfo)), nearIs: "works"},
	{id: "only_private", server: "172.17.0.2:27015", nearAsk: "172.17.0.2:27015", says: "only private addresses",
		has: func(f *film) {
			s := f.bridged("")
			s.at(onClients, "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo addr add 172.18.0.$i/24 dev eth0; done | ip -batch -")
			s.at(onRouter, "ip addr add 172.18.0.254/24 dev toclients")
			s.from = "172.18.0.%d"
			s.ask(20, stagedHost, askInfo)
			s.end()
		},
		near: bridged("").play(clientsAsk(20, stagedHost, askInfo)), nearIs: "works"},
	{id: "rate_limit", says: "answers only so often",
		has:  on(onHost, "eth0", "|input priority 0: udp dport 27015 limit rate over 6/second burst 5 packets drop").play(serves(stagedHost, unguarded), func(s *network) { s.pace = 55 * time.Millisecond }, clientsAsk(210, stagedHost, askInfo)),
		near: on(onHost, "eth0", "|input priority 0: udp dport 27015 limit rate over 100000/second burst 50 packets drop").play(serves(stagedHost, unguarded), clientsAsk(60, stagedHost, askInfo)), nearIs: "works"},
	{id: "rate_limit", says: "about 20 replies per second", not: "Crowd", // of a dozen that ask 57 times a second of the film
		has: hurried(func() func(int, float64) bool { return bucket(20) }), near: hurried(func() func(int, float64) bool { return lossy(.65) }), nearIs: "loss"},
	{id: "stopped", says: "stopped replying.*none of (29|30) requests", not: "stands in the way|listens",
		has: func(f *film) {
			s := f.stage(onHost, "eth0")
			s.serve(stagedHost, unguarded)
			s.ask(30, stagedHost, askInfo)
			s.at(onHost, "|input priority 0: udp dport 27015 drop")
			s.heard = false
			s.ask(30, stagedHost, askInfo)
			s.end()
		},
		near: func(f *film) { // from then on its port is closed
			s := f.stage(onHost, "eth0")
			c := s.serve(stagedHost, unguarded)
			s.ask(30, stagedHost, askInfo)
			c.Close()
			s.ask(30, stagedHost, askInfo)
			s.end()
		}, nearIs: "nothing_listens"},
	{id: "backends", server: "198.51.100.77:27015", nearAsk: "198.51.100.77:27015", says: "several servers share that address",
		// so that a balancer by connections sends them to another
		has:  filmStage((*film).balanced).play(func(s *network) { s.fresh = true }, clientsAsk(41, "198.51.100.77:27015", askInfo)),
		near: filmStage((*film).balanced).play(clientsAsk(41, "198.51.100.77:27015", askInfo)), nearIs: "works"},
	{id: "challenge_loop", says: "one challenge after the other",
		// the server makes challenges of address and port
		has:  on(onHost, "eth0").play(serves(stagedHost, guarded(func(a netip.AddrPort) byte { return byte(a.Port()) ^ byte(a.Port()>>8) })), func(s *network) { s.fresh = true }, clientsAsk(30, stagedHost, askInfo)),
		near: on(onHost, "eth0").play(serves(stagedHost, guarded(func(a netip.AddrPort) byte { return byte(a.Port()) ^ byte(a.Port()>>8) })), clientsAsk(30, stagedHost, askInfo)), nearIs: "works"},
	{id: "client_gone", says: "nothing listens there any more",
		has: func(f *film) {
			s := f.stage(onHost, "eth0")
			s.serve(stagedHost, func(ask string, from netip.AddrPort) []string {
				time.Sleep(5 * time.Millisecond)
				return unguarded(ask, from)
			})
			s.hasty = true
			s.ask(30, stagedHost, askInfo)
			s.end()
		},
		near: func(f *film) {
			s := f.stage(onHost, "eth0")
			s.serve(stagedHost, func(ask string, from netip.AddrPort) []string {
				time.Sleep(5 * time.Millisecond)
				return unguarded(ask, from)
			})
			s.ask(30, stagedHost, askInfo)
			s.end()
		}, nearIs: "works"},
	{id: "wrong_protocol", says: "answers a2s and none of 20 quake3 status requests",
		has:  acted("", unguarded, inquiry{8, askInfo}, inquiry{20, q3Status}),
		near: acted("", unguarded, inquiry{20, askInfo}, inquiry{2, q3Status}), nearIs: "works"},
	{id: "kind_unanswered", says: "rules requests",
		has:  acted("", noRules, inquiry{20, askInfo}, inquiry{10, askRules}),
		near: acted("", unguarded, inquiry{20, askInfo}, inquiry{10, askRules}), nearIs: "works"},
	{id: "kind_unanswered", says: "0 % of 3 a2s rules requests",
		has:  acted("", noRules, inquiry{12, askInfo}, inquiry{1, askRules}, inquiry{6, askInfo}, inquiry{1, askRules}, inquiry{6, askInfo}, inquiry{1, askRules}, inquiry{6, askInfo}),
		near: acted("", noRules, inquiry{12, askInfo}, inquiry{1, askRules}, inquiry{6, askInfo}, inquiry{1, askRules}, inquiry{6, askInfo}), nearIs: "works"},
	{id: "client_ignored", says: "20.7.0.3",
		has:  acted("|input priority 0: ip saddr 20.7.0.3 drop", unguarded, inquiry{132, askInfo}),
		near: acted("|input priority 0: ip saddr 20.7.0.13 drop", unguarded, inquiry{132, askInfo}), nearIs: "works"},
	{id: "client_ignored", says: "none of 36 requests of 12 clients of 20.9.9.0/24.*to 100 % of those of others.*bans or limits that network",
		has: banned("20.9.9.0/24"), near: banned("20.9.8.0/24"), nearIs: "works"},
	{id: "loss", says: "only 67 %",
		has:  acted("|input priority 0: udp dport 27015 numgen inc mod 3 == 0 drop", unguarded, inquiry{60, askInfo}),
		near: acted("|input priority 0: udp dport 27015 numgen inc mod 30 == 0 drop", unguarded, inquiry{60, askInfo}), nearIs: "works"},
	{id: "unknown_replies", says: "although it sends something",
		has:  acted("", always("what is this?"), inquiry{20, askInfo}),
		near: acted("", always(infoReply("Old town")), inquiry{20, askInfo}), nearIs: "works"},
	{id: "bad_replies", says: "20 of 20 replies",
		has:  acted("", always(infoReply("Old town")[:20]), inquiry{20, askInfo}),
		near: acted("", always(infoReply("Old town")), inquiry{20, askInfo}), nearIs: "works"},
	{id: "too_few", says: "asked 2 times",
		has:  acted("", silent, inquiry{2, askInfo}),
		near: acted("", silent, inquiry{20, askInfo}), nearIs: "no_reply"},
	{id: "other_port_asked", server: "198.51.100.10:27016", says: "198.51.100.10:27016",
		has:  acted("", unguarded, inquiry{20, askInfo}),
		near: acted("", unguarded, inquiry{20, askInfo}), nearIs: "works"},
	{id: "wrong_interface", server: "203.0.113.9:27015", says: "not in the capture",
		has:  acted("", unguarded, inquiry{20, askInfo}),
		near: acted("", unguarded, inquiry{20, askInfo}), nearIs: "works"},
	{id: "slow", says: "20 of 20 replies",
		has:  delayed(1200 * time.Millisecond),
		near: delayed(200 * time.Millisecond), nearIs: "works"},
	{id: "late_replies", says: "later than clients wait",
		has:  delayed(5500 * time.Millisecond),
		near: delayed(200 * time.Millisecond), nearIs: "works"},
	{id: "silent_at_times", says: "did not reply from .* none of (18|19|20) requests",
		has:  paused(20),
		near: paused(2), nearIs: "works"},
	{id: "drops_under_load", says: "Overload: .* replies to (99|100).* % of requests at 5.* per second and to (2|3)\\d % at 50 per second", not: "Crowd|Greedy",
		has: loaded(.7), near: loaded(.05), nearIs: "works"},
	{id: "greedy_clients", says: "Greedy: 20.7.0.13 asks .* 20 times per second: (9[5-9]\\d|1,00\\d) a2s info requests .* the address is real",
		has: insisting(.05, stagedHost), near: insisting(.12, stagedHost), nearIs: "works"},
	{id: "list_hammering", server: stagedMaster, nearAsk: stagedMaster, says: "List hammering: 20.7.0.13 asks .* 20 times per second",
		has: insisting(.05, stagedMaster), near: insisting(.12, stagedMaster), nearIs: "works"},
}

// A filmStage makes a network, and a filmStep plays on it.
type (
	filmStage func(*film) *network
	filmStep  func(*network)
)

func on(at int, interfaces string, commands ...string) filmStage {
	return func(f *film) *network { return f.stage(at, interfaces, commands...) }
}

func bridged(more string) filmStage { return func(f *film) *network { return f.bridged(more) } }

func serves(at string, replies func(string, netip.AddrPort) []string) filmStep {
	return func(s *network) { s.serve(at, replies) }
}

func clientsAsk(n int, server, what string) filmStep {
	return func(s *network) { s.ask(n, server, what) }
}

// play films some steps, one after the other.
func (of filmStage) play(steps ...filmStep) func(*film) {
	return func(f *film) {
		s := of(f)
		for _, do := range steps {
			do(s)
		}
		s.end()
	}
}

// inquiry says how often clients ask, and what.
type inquiry struct {
	n    int
	what string
}

// acted makes clients ask a server behind a rule, on whose host the film is made.
func acted(rule string, replies func(string, netip.AddrPort) []string, list ...inquiry) func(*film) {
	return func(f *film) {
		s := f.stage(onHost, "eth0", rule)
		s.serve(stagedHost, replies)
		for _, a := range list {
			s.heard = false
			s.ask(a.n, stagedHost, a.what)
		}
		s.end()
	}
}

// hurried makes clients ask a server 57 times a second of the film, which replies as a limit says.
func hurried(limit func() func(int, float64) bool) func(*film) {
	return func(f *film) {
		s, pass := f.stage(onHost, "eth0"), limit()
		s.serve(stagedHost, func(ask string, from netip.AddrPort) []string {
			s.mu.Lock()
			defer s.mu.Unlock()
			if !pass(0, s.clock) {
				return nil
			}
			return unguarded(ask, from)
		})
		s.step = 1. / 57
		s.ask(600, stagedHost, askInfo)
		s.step = 0
		s.end()
	}
}

// answered sends a request that has a reply, and returns it.
func (s *network) answered(c *net.UDPConn, what string) string {
	s.t.Helper()
	must.Do(s.t, c.SetReadDeadline(time.Now().Add(10*time.Second)))
	must.Get(c.Write([]byte(what)))(s.t)
	b := make([]byte, 4096)
	return string(b[:must.Get(c.Read(b))(s.t)])
}

// asking returns a new socket of a client.
func (s *network) asking(client int, server string) *net.UDPConn {
	return s.socket(onClients, fmt.Sprintf("20.7.0.%d:0", client), server)
}

// loaded makes 80 clients ask ten times as often in the second third of a minute, when the server drops a share by chance.
func loaded(share float64) func(*film) {
	return func(f *film) {
		s := f.stage(onHost, "eth0", "", "", "for i in $(seq 13 80); do echo addr add 20.7.0.$i/24 dev eth0; done | ip -batch -")
		pass, passed := lossy(share), make(chan bool, 1)
		busy := func() bool { return s.clock > 20 && s.clock < 40 }
		s.serve(stagedHost, func(ask string, from netip.AddrPort) []string {
			s.mu.Lock()
			ok := !busy() || pass(0, 0)
			s.mu.Unlock()
			if passed <- ok; !ok {
				return nil
			}
			return guarded(byAddress)(ask, from)
		})
		var tokens [80]string
		for i := 0; s.clock < 60; i++ {
			if s.step = .2; busy() {
				s.step = .02
			}
			s.next()
			c := s.asking(1+i%80, stagedHost)
			if i < len(tokens) {
				tokens[i] = strings.TrimPrefix(s.answered(c, askInfo), "\xff\xff\xff\xffA")
				<-passed
			}
			must.Get(c.Write([]byte(askInfo + tokens[i%80])))(s.t)
			if <-passed {
				must.Get(c.Read(make([]byte, 4096)))(s.t)
			}
			c.Close()
		}
		s.end()
	}
}

// insisting makes one of the clients of a server ask that or a master again and again, so many seconds apart.
func insisting(apart float64, at string) func(*film) {
	return func(f *film) {
		s := f.stage(onHost, "eth0", "", "", "ip addr add 20.7.0.13/24 dev eth0")
		s.serve(stagedHost, guarded(byAddress))
		s.serve(stagedMaster, always("\xff\xff\xff\xfff\n\xcb\x00\x71\x08\x69\x87\x00\x00\x00\x00\x00\x00"))
		s.ask(30, stagedHost, askInfo)
		c := s.asking(13, stagedHost)
		ask := askInfo + strings.TrimPrefix(s.answered(c, askInfo), "\xff\xff\xff\xffA") // which proves the address
		s.answered(c, ask)
		if at != stagedHost {
			c, ask = s.asking(13, at), askList
		}
		s.step = apart
		for range 1000 {
			s.next()
			s.answered(c, ask)
		}
		s.step = 0
		s.ask(30, stagedHost, askInfo)
		s.end()
	}
}

// banned makes a server to whose host a firewall drops a network, and clients of two, one of which asks little.
func banned(network string) func(*film) {
	return func(f *film) {
		s := f.stage(onHost, "eth0", "|input priority 0: ip saddr "+network+" drop", "ip addr add 20.9.9.254/24 dev toclients")
		s.at(onClients, "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo addr add 20.9.9.$i/24 dev eth0; done | ip -batch -")
		s.serve(stagedHost, unguarded)
		for i := range 108 {
			if s.from = "20.7.0.%d"; i%3 == 0 {
				s.from, s.turn, s.heard = "20.9.9.%d", i/3, network != "20.9.9.0/24" // for no reply, nobody waits long
			}
			s.ask(1, stagedHost, askInfo)
		}
		s.end()
	}
}

// mastered makes a server that works, so many heartbeats of it to a master, which replies, and browsers to whom the master lists servers.
func mastered(n int, reply string, listed ...string) func(*film) {
	return func(f *film) {
		s := f.stage(onHost, "any")
		server := s.serve(stagedHost, unguarded)
		s.ask(20, stagedHost, askInfo)
		master := s.socket(onHost, stagedMaster, "")
		hear := func(answer string) {
			must.Do(s.t, master.SetReadDeadline(time.Now().Add(5*time.Second)))
			_, from, err := master.ReadFromUDPAddrPort(make([]byte, 2048))
			must.Do(s.t, err)
			if answer != "" {
				must.Get(master.WriteToUDPAddrPort([]byte(answer), from))(s.t)
			}
		}
		for range n {
			for range 6 { // a heartbeat at once after another one is a repetition
				s.next()
			}
			must.Get(server.WriteTo([]byte(heartbeat), master.LocalAddr()))(s.t)
			hear(reply)
		}
		list := "\xff\xff\xff\xfff\n"
		for _, a := range listed {
			b := must.Get(netip.MustParseAddrPort(a).MarshalBinary())(s.t) // the port is little-endian there
			list += string(b[:4]) + string([]byte{b[5], b[4]})
		}
		list += "\x00\x00\x00\x00\x00\x00"
		for i := range 10 * min(len(listed), 1) {
			s.next()
			browser := s.socket(onClients, fmt.Sprintf(s.from, 1+i)+":0", stagedMaster)
			must.Get(browser.Write([]byte(askList)))(s.t)
			hear(list)
		}
		s.end()
	}
}

func always(reply string) func(string, netip.AddrPort) []string {
	return func(string, netip.AddrPort) []string { return []string{reply} }
}

func noRules(ask string, from netip.AddrPort) []string {
	return nettext.Either(strings.HasPrefix(ask, askInfo), unguarded(ask, from), nil)
}

// delayed makes a server that answers each of 20 requests some time after it, in real time.
func delayed(by time.Duration) func(*film) {
	return func(f *film) {
		s := f.stage(onHost, "eth0")
		var sent sync.WaitGroup
		sent.Add(20)
		var c *net.UDPConn
		c = s.serve(stagedHost, func(ask string, from netip.AddrPort) []string {
			time.AfterFunc(by, func() {
				defer sent.Done()
				_, _ = c.WriteToUDPAddrPort([]byte(unguarded(ask, from)[0]), from)
			})
			return nil
		})
		s.pace = 10 * time.Millisecond
		s.ask(20, stagedHost, askInfo)
		sent.Wait()
		s.end()
	}
}

// paused makes a server that hears nothing for some requests.
func paused(n int) func(*film) {
	return func(f *film) {
		s := f.stage(onHost, "eth0")
		s.serve(stagedHost, unguarded)
		s.ask(30, stagedHost, askInfo)
		s.at(onHost, "|input priority 0: udp dport 27015 drop")
		s.heard = false
		s.ask(n, stagedHost, askInfo)
		s.at(onHost, "nft delete table inet t0")
		s.heard = true
		s.ask(30, stagedHost, askInfo)
		s.end()
	}
}

// unsplit answers in one datagram, which IP has to fragment.
func unsplit(ask string, from netip.AddrPort) []string {
	return nettext.Either(strings.HasPrefix(ask, "\xff\xff\xff\xffV"), []string{rulesReply(60)}, unguarded(ask, from))
}

// bridged makes a server in a network of containers, to which the router translates the host's address.
func (f *film) bridged(more string) *network {
	s := f.stage(onHost, "eth0", "ip addr add 172.17.0.2/16 dev eth0; ip route replace default via 172.17.0.1 dev eth0",
		"ip addr add 172.17.0.1/16 dev tohost\n|prerouting priority -100: ip daddr 198.51.100.10 udp dport 27015 dnat ip to 172.17.0.2"+more)
	s.serve("172.17.0.2:27015", unguarded)
	return s
}

// balanced makes two servers that do not know each other's challenges behind one address.
func (f *film) balanced() *network {
	s := f.stage(onClients, "eth0", "", "|prerouting priority -100: ip daddr 198.51.100.77 dnat ip to numgen random mod 2 map { 0 : 198.51.100.10, 1 : 198.51.100.11 }")
	for i, a := range []string{stagedHost, "198.51.100.11:27015"} {
		s.serve(a, guarded(func(netip.AddrPort) byte { return byte(i) }))
	}
	return s
}

// TestCausesStaged: causes that real sockets, kernels and firewalls make are told, and not where they nearly are.
func TestCausesStaged(t *testing.T) {
	var staged []filmCause
	for i := 0; i < len(stagedCauses); i += must.Try(9, 1) {
		staged = append(staged, stagedCauses[i])
	}
	names := make([][2]string, len(staged))
	run, wait := beside(t, true)
	for i, c := range staged {
		for k, make := range []func(*film){c.has, c.near} {
			run(fmt.Sprint("film of ", c.id, " ", k), func(p *testing.T) {
				f := &film{t: p}
				make(f)
				names[i][k] = f.write(t)
			})
		}
	}
	wait()
	for i, c := range staged {
		for k, name := range names[i] {
			t.Run(fmt.Sprint(c.id, " ", k), func(t *testing.T) {
				if name == "" {
					t.Skip("no network namespace here: there is no film")
				}
				c.try(t, k > 0, name)
			})
		}
	}
}
