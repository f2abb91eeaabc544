package main

import (
	"encoding/json"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/stats"
)

// greedyFilm has a client that asks a server 100 times a second, and others.
func greedyFilm(t *testing.T, server, greedy netip.AddrPort) string {
	f := new(film)
	if server.Addr().Is4() {
		f.answered(60, server)
	}
	for i := range 2000 {
		at := 5 + float64(i)/100
		f.udp(at, greedy, server, askInfo)
		f.udp(at+.001, server, greedy, infoReply)
	}
	return f.write(t)
}

// accepts checks a text with the program that loads it, in a network namespace.
func accepts(t *testing.T, text string, program ...string) {
	t.Helper()
	path, err := exec.LookPath(program[0])
	if err != nil {
		t.Skip(program[0] + " is not installed")
	}
	c := exec.Command(path, program[1:]...)
	c.Stdin = strings.NewReader(text)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s\n%s", program, err, out, text)
	}
}

// TestRules: the firewalls accept every printed text, load it twice, and are as before after the removal.
func TestRules(t *testing.T) {
	namespace(t)
	for _, x := range []struct {
		server, greedy, place, iptables string
	}{
		{"198.51.100.10:27015", "20.7.3.9:40000", "prerouting", "iptables"},
		{"172.17.0.2:27015", "20.7.3.9:40000", "forward", "iptables"},
		{"172.31.5.10:27015", "20.7.3.9:40000", "prerouting", "iptables"}, // AWS
		{"[2001:db8::10]:27015", "[2001:db8:7::9]:40000", "prerouting", "ip6tables"},
	} {
		name := greedyFilm(t, netip.MustParseAddrPort(x.server), netip.MustParseAddrPort(x.greedy))
		for _, dry := range [][]string{nil, {"--dry-run"}} {
			text, errs, code := runIn(t, ".", append([]string{"rules", name}, dry...)...)
			if code != exitDone || !strings.Contains(text, "hook "+x.place) || strings.Contains(text, " drop comment") == (dry != nil) {
				t.Fatalf("%s %v: %d %s%s", x.server, dry, code, text, errs)
			}
			accepts(t, text, "nft", "-c", "-f", "-")
			accepts(t, text, "nft", "-f", "-")
			accepts(t, text, "nft", "-f", "-")
			removed(t, text)
			text, errs, code = runIn(t, ".", append([]string{"rules", "--for", x.iptables, name}, dry...)...)
			if code != exitDone || strings.Contains(text, "-j DROP") == (dry != nil) {
				t.Fatalf("%s %v: %d %s%s", x.server, dry, code, text, errs)
			}
			accepts(t, text, x.iptables+"-restore", "--test", "--noflush")
			accepts(t, text, x.iptables+"-restore", "--noflush")
			accepts(t, text, x.iptables+"-restore", "--noflush")
			removed(t, text)
		}
		for _, where := range []string{"host", "container", "router"} {
			text, _, _ := runIn(t, ".", "rules", "--where", where, name)
			accepts(t, text, "nft", "-c", "-f", "-")
		}
	}
	if out, err := exec.Command("nft", "list", "ruleset").CombinedOutput(); err != nil || strings.Contains(strings.ToLower(string(out)), "qdissect") {
		t.Errorf("left: %s %v", out, err)
	}
}

// removed runs the command of the first comment.
func removed(t *testing.T, text string) {
	t.Helper()
	first, _, _ := strings.Cut(text, "\n")
	_, command, _ := strings.Cut(first, ": ")
	if out, err := exec.Command("sh", "-ec", command).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v %s", command, err, out)
	}
}

// TestRulesInTotal: limits in total, of packets of a length, for both families at once.
func TestRulesInTotal(t *testing.T) {
	namespace(t)
	list := []stats.Remedy{
		{Title: "At most 50 a2s info requests per second in total", PerSecond: 50, Burst: 50, Total: true, Prefix: "ffffffff54536f75", Length: 25,
			Servers: []netip.AddrPort{netip.MustParseAddrPort("198.51.100.10:27015"), netip.MustParseAddrPort("[2001:db8::10]:27015")}},
		{Title: "At most 20 a2s info requests per second with challenges that nobody was given in total", PerSecond: 20, Burst: 20, Total: true, Prefix: "ffffffff54536f75", Length: 29, Token: 25,
			Grant: &stats.Grant{Prefix: "ffffffff41", Length: 9, At: 5}, Servers: []netip.AddrPort{netip.MustParseAddrPort("198.51.100.10:27015"), netip.MustParseAddrPort("[2001:db8::10]:27015")}},
		{Title: "At most 20 a2s players requests per second in total", PerSecond: 20, Burst: 20, Total: true, Prefix: "ffffffff55", Length: 9, Token: 5,
			Servers: []netip.AddrPort{netip.MustParseAddrPort("198.51.100.10:27015"), netip.MustParseAddrPort("[2001:db8::10]:27015")}},
		{Title: "At most 5 a2s requests per second from one address", PerSecond: 5, Burst: 10, Prefix: "ffffffff5453", Servers: []netip.AddrPort{netip.MustParseAddrPort("198.51.100.11:27016"), netip.MustParseAddrPort("[2001:db8::11]:27016")}},
	}
	for _, at := range []stats.Place{stats.OnHost, stats.OnContainer, stats.OnRouter} {
		accepts(t, stats.NFT(list, at, false), "nft", "-c", "-f", "-")
		accepts(t, stats.IPTables(list, at, false, false), "iptables-restore", "--test", "--noflush")
		accepts(t, stats.IPTables(list, at, false, true), "ip6tables-restore", "--test", "--noflush")
	}
	for _, tool := range []string{"iptables", "ip6tables"} {
		accepts(t, stats.IPTables(list, stats.OnHost, false, tool == "ip6tables"), tool+"-restore", "--noflush")
		removed(t, "To remove them: "+stats.Removal(tool, list, stats.OnHost))
	}
	if out, err := exec.Command("nft", "list", "ruleset").CombinedOutput(); err != nil || strings.Contains(strings.ToLower(string(out)), "qdissect") {
		t.Errorf("left: %s %v", out, err)
	}
}

// TestRulesOfNamespace: for a server in a namespace, captured there with --netns, rules stand at what the host forwards to its address.
func TestRulesOfNamespace(t *testing.T) {
	pid, outside := elsewhere(t)
	r := launch(t, outside, "rules", "-i", "lo", "--netns", pid, "-a", "packets:600")
	r.listens("lo")
	s := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	defer s.Close()
	c := must.Get(net.Dial("udp", s.LocalAddr().String()))(t)
	defer c.Close()
	go func() {
		b := make([]byte, 100)
		for {
			_, from, err := s.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = s.WriteTo([]byte(infoReply), from)
		}
	}()
	for running := true; running; { // on a busy machine, equal replies come so soon after each other that they are duplicates
		must.Get(c.Write([]byte(askInfo)))(t)
		select {
		case <-r.ended:
			running = false
		case <-time.After(10 * time.Millisecond):
		}
	}
	text := strings.Join(r.end(exitDone), "\n")
	if !strings.Contains(text, "hook forward") || !strings.Contains(text, "ip daddr . udp dport { 127.0.0.1 . ") {
		t.Errorf("%s", text)
	}
	accepts(t, text, "nft", "-c", "-f", "-")
}

// TestRulesProxied: where all clients come as Docker's proxy, a limit per address would stop them all; at the host's address it holds.
func TestRulesProxied(t *testing.T) {
	host, inside := filmServer, netip.MustParseAddrPort("172.17.0.2:27015")
	for _, both := range []bool{false, true} {
		f := new(film)
		for i := range 2000 {
			at, from := float64(i)/100, netip.MustParseAddrPort("20.7.3.9:40000")
			if i%5 == 0 {
				from = askers(i / 5)
			}
			f.udp(at+.001, netip.AddrPortFrom(netip.MustParseAddr("172.17.0.1"), 40000+uint16(i%80)), inside, askInfo)
			f.udp(at+.002, inside, netip.AddrPortFrom(netip.MustParseAddr("172.17.0.1"), 40000+uint16(i%80)), infoReply)
			if both {
				f.udp(at, from, host, askInfo)
				f.udp(at+.003, host, from, infoReply)
			}
		}
		name := f.write(t)
		out, errs, code := runIn(t, ".", "rules", name)
		if code == exitDone != both || strings.Contains(out, "172.17") || strings.Contains(out, "198.51.100.10 . 27015") != both {
			t.Errorf("both %v: %d %s%s", both, code, out, errs)
		}
		if out, _, code := runIn(t, ".", "why", inside.String(), name); code != exitDone || !strings.Contains(out, "Docker's proxy") {
			t.Errorf("both %v: %d %s", both, code, out)
		}
	}
}

// TestRulesData: limits as JSON, and nothing where nothing would have helped.
func TestRulesData(t *testing.T) {
	name := greedyFilm(t, filmServer, netip.MustParseAddrPort("20.7.3.9:40000"))
	out, errs, code := runIn(t, ".", "rules", "--for", "json", name)
	var r struct {
		Where string
		Rules []stats.Remedy
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitDone || r.Where != "host" || len(r.Rules) == 0 || r.Rules[0].Servers[0] != filmServer || !strings.HasPrefix(r.Rules[0].Prefix, "ffffffff") {
		t.Errorf("%v %d %s%s", err, code, out, errs)
	}
	f := new(film)
	f.answered(60, filmServer)
	if out, errs, code := runIn(t, ".", "rules", f.write(t)); code != exitJudged || out != "" || !strings.Contains(errs, "no limit would have helped") {
		t.Errorf("%d %q %q", code, out, errs)
	}
}

// TestRulesHint: of a private address that may be a container's, the rules say what to do then; of others and where the place is given they do not.
func TestRulesHint(t *testing.T) {
	for _, c := range []struct {
		server string
		args   []string
		hint   bool
	}{
		{"10.155.3.7:27015", nil, true},
		{"192.168.122.9:27015", []string{"--for", "iptables"}, true},
		{"10.155.3.7:27015", []string{"--where", "host"}, false},
		{"10.88.0.7:27015", nil, false}, // of Podman, which is known
		{"198.51.100.10:27015", nil, false},
	} {
		server := netip.MustParseAddrPort(c.server)
		out, errs, code := runIn(t, ".", append(append([]string{"rules"}, c.args...), greedyFilm(t, server, askers(77)))...)
		if want := "for the host that has " + server.Addr().String() + ". If that is a container"; code != exitDone || strings.Contains(out, want) != c.hint {
			t.Errorf("%s %v: %d %s%s", c.server, c.args, code, out, errs)
		}
	}
}
