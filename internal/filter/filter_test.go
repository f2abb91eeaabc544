package filter

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/bpf"

	"github.com/qdissect/qdissect/internal/mkpcap"
	"github.com/qdissect/qdissect/internal/must"
)

func parseFor(t testing.TB, e string) *Filter {
	t.Helper()
	f, err := Parse(e)
	if err != nil {
		t.Fatalf("%v\n%s", err, err.(*Error).Show())
	}
	return f
}

func matcherFor(t testing.TB, e string, link uint16, o Options) func([]byte, int) bool {
	t.Helper()
	match, err := parseFor(t, e).Matcher(link, o)
	if err != nil {
		t.Fatalf("%s: %v", e, err)
	}
	return match
}

func TestErrors(t *testing.T) {
	const raw = 101
	for _, test := range []struct {
		link   uint16 // 0 if parsing fails
		e      string
		offset int
		word   string
		text   string
	}{
		{0, "prot 53", 0, "prot", `"prot" is not a keyword: did you mean port?`},
		{0, "udp prot 53", 4, "prot", `"prot" is not a keyword: did you mean port?`},
		{0, "UDP", 0, "UDP", `"UDP" is not a keyword: keywords are lower case`},
		{0, "quake", 0, "quake", `"quake" is not a keyword`},
		{0, "udp 53", 4, "53", `"53" after udp: write udp port 53`},
		{0, "53 or port 80", 0, "53", `"53" needs a qualifier: write port 53`},
		{0, "192.0.2.1", 0, "192.0.2.1", `"192.0.2.1" needs a qualifier: write host 192.0.2.1 or net 192.0.2.1`},
		{0, "tcp port 80 or tcp and 5", 23, "5", `"5" needs a qualifier: write port 5`},
		{0, "udp tcp", 4, "tcp", `"and" or "or" expected before "tcp"`},
		{0, "udp and", 4, "and", `expression expected after "and"`},
		{0, "udp or or tcp", 7, "or", `expression expected before "or"`},
		{0, "(udp or tcp", 8, "tcp", `")" expected to close the parenthesis at the end`},
		{0, "(udp tcp)", 5, "tcp", `")" expected to close the parenthesis before "tcp"`},
		{0, "udp)", 3, ")", `no parenthesis to close`},
		{0, "()", 1, ")", `expression expected before ")"`},
		{0, "udp port", 4, "port", `operand expected after "port"`},
		{0, "port 99999", 5, "99999", `the largest port is 65535`},
		{0, "port quake", 5, "quake", `unknown port "quake": use its number`},
		{0, "icmp port 5", 10, "5", `icmp has no ports: write icmp and port 5`},
		{0, "port 192.0.2.1", 5, "192.0.2.1", `port takes no address`},
		{0, "portrange 27015:27030", 10, "27015:27030", `portrange takes no address`},
		{0, "portrange a-b", 10, "a-b", `"a-b" is not a port range such as 27015-27030`},
		{0, "host example.org", 5, "example.org", `names are not resolved: use the address of "example.org"`},
		{0, "net lan", 4, "lan", `names are not resolved: use the address of the network "lan"`},
		{0, "host 300.1.2.3", 5, "300.1.2.3", `"300.1.2.3" is not an IPv4 address`},
		{0, "host 192.0.2.0/24", 5, "192.0.2.0/24", `only a network has a mask: write net 192.0.2.0/24`},
		{0, "net 192.0.2.1/24", 4, "192.0.2.1/24", `the address has bits outside of the mask`},
		{0, "net 192.0.2.0/33", 4, "192.0.2.0/33", `the prefix length must be 0 to 32`},
		{0, "net 2001:db8::1/32", 4, "2001:db8::1/32", `the address has bits outside of the mask`},
		{0, "udp src 192.0.2.1", 8, "192.0.2.1", `udp has no addresses: write udp and src host 192.0.2.1`},
		{0, "ip host ::1", 8, "::1", `ip takes an IPv4 address`},
		{0, "host 1:2:3:4", 5, "1:2:3:4", `"1:2:3:4" is not an IPv6 address`},
		{0, "src or tcp", 7, "tcp", `"dst" expected before "tcp"`},
		{0, "less", 0, "less", `a number expected after "less"`},
		{0, "vlan 5000 and udp", 0, "vlan 5000", `the largest vlan number is 4095`},
		{0, "udp[0:3] = 1", 6, "3", `the size is 1, 2 or 4 bytes`},
		{0, "udp[0 = 1", 6, "=", `"]" expected to close the bracket before "="`},
		{0, "udp[0]", 5, "]", `a comparison expected at the end`},
		{0, "port 08", 5, "08", `08 begins with 0, which makes it octal, and has a digit above 7`},
		{0, "less 4294967296", 5, "4294967296", `4294967296 does not fit into 32 bits`},
		{0, "udp and $lan", 8, "$", `"$" is not part of the filter language`},
		{0, "udp ünd tcp", 4, "ü", `"ü" is not part of the filter language`},
		{0, "über and prot 5", 0, "ü", `"ü" is not part of the filter language`},
		{0, "udp\n\tprot 5", 5, "prot", `"prot" is not a keyword: did you mean port?`},
		{raw, "vlan 5 and udp", 0, "vlan 5", `there is no VLAN tag in raw IP`},
		{0, "udp or ether host 02:00:00:00:00:01", 7, "ether", `ether is not supported: let tcpdump filter, as in tcpdump -w - FILTER | qdissect -`},
		{0, "ip broadcast", 3, "broadcast", `broadcast is not supported: let tcpdump filter, as in tcpdump -w - FILTER | qdissect -`},
		{0, "proto 17", 0, "proto", `proto is not supported: let tcpdump filter, as in tcpdump -w - FILTER | qdissect -`},
		{0, "gateway router", 0, "gateway", `gateway is not supported: let tcpdump filter, as in tcpdump -w - FILTER | qdissect -`},
		{0, "ip6 protochain 17", 4, "protochain", `protochain is not supported: let tcpdump filter, as in tcpdump -w - FILTER | qdissect -`},
		{0, "udp[0] = udp", 9, "udp", `a number expected instead of "udp"`},
		{0, "udp[0] =", 7, "=", `a number expected after "="`},
		{0, "udp[0] + 1 = 2", 7, "+", `+ is not supported: let tcpdump filter, as in tcpdump -w - FILTER | qdissect -`},
	} {
		f, err := Parse(test.e)
		if test.link != 0 && err == nil {
			if _, err = f.Matcher(test.link, Options{}); err == nil {
				t.Errorf("%s: no error of Matcher", test.e)
			}
			_, err = f.Compile(test.link, Options{})
		}
		x, ok := err.(*Error)
		if !ok {
			t.Errorf("%s: %v", test.e, err)
			continue
		}
		if word := x.Expression[x.Offset : x.Offset+x.Length]; x.Offset != test.offset || word != test.word || x.Text != test.text {
			t.Errorf("%s: got %d, %q, %s, want %d, %q, %s", test.e, x.Offset, word, x.Text, test.offset, test.word, test.text)
		}
		if want := fmt.Sprintf("filter, offset %d: %s", x.Offset, x.Text); err.Error() != want {
			t.Errorf("got %s, want %s", err, want)
		}
	}
	if _, err := parseFor(t, "udp").Matcher(105, Options{}); err == nil || err.Error() != "filter: frames of link type 105 cannot be filtered" {
		t.Error(err)
	}
	if _, err := Parse(strings.Repeat("udp or ", maxText/6)); err == nil {
		t.Error("an expression without an end was read")
	}
}

// TestFriendly checks expressions that tcpdump refuses.
func TestFriendly(t *testing.T) {
	c := captures()[0]
	for _, test := range [][2]string{
		{"net 192/8", "net 192.0.0.0/8"},
		{"port 53 and (27015 or udp)", "port 53 and (port 27015 or udp)"},
		{"udp[1] = 53 and (udp)", "udp[1] = 53"},
	} {
		got, want := matcherFor(t, test[0], 1, Options{}), matcherFor(t, test[1], 1, Options{})
		found := 0
		for _, f := range c.frames {
			if want(f.data, f.length) {
				found++
			}
			if got(f.data, f.length) != want(f.data, f.length) {
				t.Errorf("%s is not %s for %s", test[0], test[1], f.name)
			}
		}
		if found == 0 {
			t.Errorf("%s finds nothing", test[1])
		}
	}
}

// TestFragments checks which later fragments match, and for which tests.
func TestFragments(t *testing.T) {
	frames := captures()[0].frames
	find := func(e string, o Options) (list []string) {
		f := parseFor(t, e)
		all := ways(t, f, 1, o)
		for _, fr := range frames {
			if len(fr.data) < fr.length || strings.Contains(fr.name, "tag") || strings.HasPrefix(fr.name, "VLAN") ||
				!strings.Contains(fr.name, "fragment") || slices.Contains(list, fr.name) {
				continue
			}
			yes := 0
			for _, match := range all {
				if match(fr.data, fr.length) {
					yes++
				}
			}
			if yes == len(all) {
				list = append(list, fr.name)
			} else if yes > 0 {
				t.Errorf("%s: %s: the ways to match do not agree", e, fr.name)
			}
		}
		return list
	}
	udp4 := []string{"middle fragment", "last fragment", "fragment that looks like a port"}
	tcp4 := []string{"last tcp fragment"}
	udp6 := []string{"first fragment of IPv6", "last fragment of IPv6"}
	for _, test := range []struct {
		e        string
		exact    []string
		included []string // in addition to those
	}{
		{"udp", append(append([]string{"first fragment"}, udp4...), udp6...), nil},
		{"udp port 27015", []string{"first fragment"}, append(udp4, udp6...)},
		{"udp port 53", nil, append(udp4, "last fragment of IPv6")},
		{"udp dst port 50000", []string{"first fragment"}, append(udp4, udp6...)},
		{"udp portrange 27000-27050", []string{"first fragment"}, append(udp4, udp6...)},
		{"tcp port 80", []string{"tcp fragment"}, append(tcp4, "tcp fragment of IPv6")},
		{"port 27015", []string{"first fragment", "tcp fragment"}, slices.Concat(udp4, tcp4, udp6, []string{"tcp fragment of IPv6"})},
		{"src host 192.0.2.200 and udp port 27015", []string{"first fragment"}, udp4[:2]},
		{"src host 198.51.100.7 and udp port 27015", nil, udp4[2:]},
		{"src host 2001:db8:0:1::200 and udp port 27015", nil, udp6},
		{"udp port 27015 and not src host 192.0.2.200", nil, append(udp4[2:], udp6...)},
		{"udp[8:4] = 0xffffffff", []string{"first fragment"}, udp4},
		{"udp[8:4] = 0", nil, udp4},
		{"icmp[0] = 3", nil, []string{"icmp fragment"}},
		{"ip and not udp port 27015", slices.Concat(udp4, []string{"tcp fragment"}, tcp4, []string{"icmp fragment"}), nil},
		{"ip and not tcp[0] = 0", append([]string{"first fragment"}, slices.Concat(udp4, tcp4, []string{"icmp fragment"})...), nil},
		{"ip and not (udp port 27015 or tcp)", append(slices.Clone(udp4), "icmp fragment"), nil},
		{"not not udp port 53", nil, append(udp4, "last fragment of IPv6")},
		{"udp and not (src host 192.0.2.200 and port 53)", append(append([]string{"first fragment"}, udp4...), udp6...), nil},
		{"ip6 and udp and not port 53", udp6, nil},
	} {
		if got := find(test.e, Options{Exact: true}); !slices.Equal(got, test.exact) {
			t.Errorf("%s, exact: got %q, want %q", test.e, got, test.exact)
		}
		want := append(slices.Clone(test.exact), test.included...)
		got := find(test.e, Options{})
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", test.e, got, want)
		}
	}
}

// TestFragmentsComplete checks that a filter that matches a packet matches all of its
// fragments.
func TestFragmentsComplete(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	g := &generator{Rand: r, link: 101}
	// primitive returns a test that has the same result for all fragments of a packet.
	primitive := func() string {
		switch r.IntN(6) {
		case 0:
			return g.maybe("src", "dst") + "host " + g.list(someHosts)
		case 1:
			return g.maybe("src", "dst") + "host " + g.list(someHosts6)
		case 2:
			return g.pick("udp", "tcp", "ip", "ip6")
		case 3:
			return g.pick("udp", "tcp") + g.pick("[0:2]", "[2:2]", "[1] & 3", "[0:4]") + g.pick(" = ", " != ", " < ") + g.pick("27015", "53", "80", "1")
		}
		return g.maybe("udp", "tcp") + g.maybe("src", "dst", "src and dst") + "port " + g.list(somePorts)
	}
	var expression func(depth int) string
	expression = func(depth int) string {
		if depth == 0 {
			return primitive()
		}
		switch r.IntN(4) {
		case 0:
			return "not (" + expression(depth-1) + ")"
		case 1:
			return "(" + expression(depth-1) + ") or (" + expression(depth-1) + ")"
		}
		return "(" + expression(depth-1) + ") and (" + expression(depth-1) + ")"
	}
	pick := func(list []string) netip.Addr {
		a, err := netip.ParseAddr(list[r.IntN(len(list))])
		if err != nil {
			return hostA // a network
		}
		return a
	}
	ports := []uint16{27015, 53, 80, 443, 1, 1000}
	whole, parts := 0, 0
	for range must.Try(1000, 3000) {
		e := expression(r.IntN(4))
		f := parseFor(t, e)
		exact, included := ways(t, f, 101, Options{Exact: true})["machine"], ways(t, f, 101, Options{})
		for range 8 {
			src, dst := pick(someHosts), pick(someHosts)
			if r.IntN(2) == 0 {
				src, dst = pick(someHosts6), pick(someHosts6)
			}
			proto := []byte{17, 6}[r.IntN(2)]
			segment := ports16(ports[r.IntN(len(ports))], ports[r.IntN(len(ports))], make([]byte, 76)...)
			full := mkpcap.IP(src, dst, 1, proto, 0, false, false, segment)
			if !exact(full, len(full)) {
				continue
			}
			whole++
			for off := 0; off < len(segment); off += 40 {
				p := mkpcap.IP(src, dst, 1, proto, off, off == 0, true, segment[off:off+40])
				for name, match := range included {
					if !match(p, len(p)) {
						t.Errorf("%s: %s finds a packet from %v to %v of protocol %d, ports % x, and not its fragment at %d",
							e, name, src, dst, proto, segment[:4], off)
					}
				}
				parts++
			}
		}
	}
	if whole < 1000 {
		t.Errorf("only %d packets were found", whole)
	}
	t.Logf("%d packets, %d fragments", whole, parts)
}

// TestDefault checks the default filter.
func TestDefault(t *testing.T) {
	for _, c := range captures() {
		match := ways(t, Default(c.link), c.link, Options{})
		for _, fr := range c.frames {
			if len(fr.data) < fr.length {
				continue
			}
			name := strings.TrimPrefix(strings.TrimPrefix(fr.name, "VLAN, "), "two tags, ")
			want := true
			switch {
			case strings.HasPrefix(name, "three tags"), strings.HasPrefix(name, "pppoe"), strings.HasPrefix(name, "mpls"):
				want = false
			case strings.Contains(name, "fragment"), strings.Contains(name, "query"), strings.Contains(name, "multicast"),
				strings.Contains(name, "dns"), strings.Contains(name, "options"), strings.Contains(name, "header length"),
				name == "reply", name == "same ports", name == "empty datagram", name == "unreachable":
			case name == "version 6 announced as 4" && (c.link == 101 || c.link == 229):
				continue
			case name == "version 6 announced as 4":
			default:
				want = false
			}
			for way, m := range match {
				if m(fr.data, fr.length) != want {
					t.Errorf("%s, %s: %s: %v", c.name, way, fr.name, !want)
				}
			}
		}
	}
}

// TestICMPErrors checks that ICMP errors match in addition to the expression, with
// VLAN tags, too, and that nothing else does.
func TestICMPErrors(t *testing.T) {
	for _, expr := range []string{"udp port 27015", "vlan and udp port 27015", "udp[60:4] = 7", "not udp"} {
		f := must.Get(Parse(expr))(t)
		for _, c := range captures() {
			plain := must.Get(f.Matcher(c.link, Options{Lenient: true}))(t)
			for way, m := range ways(t, f, c.link, Options{Lenient: true, ICMPErrors: true}) {
				found := 0
				for _, fr := range c.frames {
					if len(fr.data) < fr.length {
						continue
					}
					isError := strings.HasSuffix(fr.name, "unreachable") && !strings.HasPrefix(fr.name, "three tags") &&
						!strings.HasPrefix(fr.name, "pppoe") && !strings.HasPrefix(fr.name, "mpls")
					if isError {
						found++
					}
					if want := isError || plain(fr.data, fr.length); m(fr.data, fr.length) != want {
						t.Errorf("%s: %s, %s: %s: %v", expr, c.name, way, fr.name, !want)
					}
				}
				if found == 0 && c.link == linkEthernet {
					t.Error("no error among the frames")
				}
			}
		}
	}
}

// TestDefaultHeaders checks the default filter on IPv6 extension headers. It matches
// UDP and fragments after one header, and everything after two.
func TestDefaultHeaders(t *testing.T) {
	const hops, tcp, udp, routing, fragment, icmp, options = 0, 6, 17, 43, 44, 58, 60
	for _, link := range []uint16{linkEthernet, linkRaw} {
		match := ways(t, Default(link), link, Options{})
		for _, test := range []struct {
			name  string
			chain []byte
			want  bool
		}{
			{"hops, udp", []byte{hops, udp}, true},
			{"hops, icmp: listeners of multicast", []byte{hops, icmp}, false},
			{"hops, tcp", []byte{hops, tcp}, false},
			{"hops, fragment", []byte{hops, fragment, tcp}, true},
			{"options, udp", []byte{options, udp}, true},
			{"options, tcp", []byte{options, tcp}, false},
			{"routing, udp", []byte{routing, udp}, true},
			{"routing, icmp", []byte{routing, icmp}, false},
			{"hops, options, udp", []byte{hops, options, udp}, true},
			{"options, routing, udp", []byte{options, routing, udp}, true},
			{"hops, options, tcp", []byte{hops, options, tcp}, true},
			{"fragment", []byte{fragment, tcp}, true},
			{"no next header", []byte{59}, false},
			{"hops, and it is cut", []byte{hops}, false},
		} {
			var headers []byte
			for _, next := range test.chain[1:] {
				headers = append(headers, next, 0, 1, 4, 0, 0, 0, 0)
			}
			if len(headers) > 0 {
				headers = append(headers, make([]byte, 20)...)
			}
			data := behindHeaders(hostA6, hostB6, test.chain[0], headers, nil)
			frames := [][]byte{data}
			if link == linkEthernet {
				frames = [][]byte{
					ether(macB, macA, typeIPv6, data),
					ether(macB, macA, typeVLAN, be16(5, typeIPv6), data),
					ether(macB, macA, typeVLAN, be16(5, typeVLAN, 6, typeIPv6), data),
				}
			}
			for i, frame := range frames {
				for way, m := range match {
					if got := m(frame, len(frame)); got != test.want {
						t.Errorf("link %d, %d tags, %s: %s: %v", link, i, way, test.name, got)
					}
				}
			}
		}
	}
}

// withKernel returns a program with its loads from the kernel replaced by answers.
func withKernel(t *testing.T, p Program, answers map[uint32]uint32) Program {
	t.Helper()
	raw := slices.Clone(p)
	for i := range raw {
		switch raw[i].Op {
		case 0x20, 0x28, 0x30:
			if raw[i].K >= kernelOffset {
				answer, ok := answers[raw[i].K-kernelOffset]
				if !ok {
					t.Fatalf("the kernel is asked for %d", raw[i].K-kernelOffset)
				}
				raw[i] = bpf.RawInstruction{Op: 0x00, K: answer}
			}
		}
	}
	return raw
}

// TestLive checks filters for a socket, where the outermost tag is outside the frame.
func TestLive(t *testing.T) {
	query := packets()[0].data
	plain := ether(macB, macA, typeIPv4, query)
	one := ether(macB, macA, typeVLAN, be16(5, typeIPv4), query)
	const none = 1 << 16
	for _, test := range []struct {
		e    string
		data []byte
		tag  uint32 // outside the frame
		want bool
	}{
		{"udp", plain, none, true},
		{"udp", plain, 5, true},
		{"vlan", plain, none, false},
		{"vlan", plain, 5, true},
		{"vlan", one, none, true},
		{"vlan 5", plain, 5, true},
		{"vlan 5", plain, 5 | 7<<13, true},
		{"vlan 5", plain, 6, false},
		{"vlan 5", one, none, true},
		{"vlan 6", one, none, false},
		{"vlan 5 and udp port 27015", plain, 5, true},
		{"vlan 5 and udp port 27015", one, none, true},
		{"vlan 5 and udp port 27016", plain, 5, false},
		{"vlan 5 and udp", plain, none, false},
		{"vlan 6 and vlan 5 and udp", one, 6, true},
		{"vlan 6 and vlan 5 and udp", one, none, false},
		{"vlan and vlan", plain, 5, false},
		{"not vlan", plain, none, true},
		{"not vlan", plain, 5, false},
		{Default(1).String(), plain, none, true},
		{Default(1).String(), plain, 5, true},
		{Default(1).String(), one, none, true},
		{Default(1).String(), one, 6, true},
	} {
		p := must.Get(parseFor(t, test.e).Compile(1, Options{Live: true}))(t)
		answers := map[uint32]uint32{vlanTagPresent: 0, vlanTag: 0}
		if test.tag != none {
			answers[vlanTagPresent], answers[vlanTag] = 1, test.tag
		}
		if got := withKernel(t, p, answers).matches(test.data, len(test.data)); got != test.want {
			t.Errorf("%s, % x, tag %d: %v", test.e, test.data[:20], test.tag, got)
		}
	}
}

// TestLong checks programs beyond the range of conditional jumps.
func TestLong(t *testing.T) {
	for _, count := range []int{50, 200, 500} {
		var hosts []string
		for i := range count {
			hosts = append(hosts, fmt.Sprintf("10.%d.%d.1", i/250, i%250))
		}
		for _, e := range []string{
			"udp and host (" + strings.Join(hosts, " or ") + ")",
			"not host " + strings.Join(hosts, " and not ") + " and udp",
			"port 27015 or src " + strings.Join(hosts, " or src ") + " or tcp",
		} {
			f := parseFor(t, e)
			p := must.Get(f.Compile(1, Options{}))(t)
			if count >= 200 && len(p) < 256 {
				t.Errorf("%d instructions are no long program", len(p))
			}
			all := ways(t, f, 1, Options{})
			for _, addr := range []string{"10.0.0.1", "10.0.49.1", "10.1.249.1", "10.0.100.1", "192.0.2.1"} {
				a, inside := netip.MustParseAddr(addr), slices.Contains(hosts, addr)
				for _, proto := range []byte{6, 17} {
					data := ether(macB, macA, typeIPv4, mkpcap.IP(a, hostB, 1, proto, 0, false, false, ports16(1, 2, make([]byte, 16)...)))
					want := proto == 17 && inside
					switch e[:3] {
					case "not":
						want = proto == 17 && !inside
					case "por":
						want = proto == 6 || inside
					}
					for name, match := range all {
						if match(data, len(data)) != want {
							t.Errorf("%.40s... with %d hosts: %s: %s, protocol %d: %v", e, count, name, addr, proto, !want)
						}
					}
				}
			}
		}
	}
	var hosts []string
	for i := range 3000 {
		hosts = append(hosts, fmt.Sprintf("10.%d.%d.1", i/250, i%250))
	}
	f := parseFor(t, "host "+strings.Join(hosts, " or "))
	if p, err := f.Compile(1, Options{}); err == nil {
		t.Errorf("%d instructions are not too long", len(p))
	}
	data := captures()[0].frames[0].data
	if match := matcherFor(t, f.String(), 1, Options{}); match(data, len(data)) {
		t.Error("a host is found that is not there")
	}
}

func TestSnap(t *testing.T) {
	for snap, want := range map[uint32]uint32{0: 262144, 96: 96} {
		p := must.Get(parseFor(t, "udp").Compile(101, Options{Snap: snap}))(t)
		if got := p.run(packets()[0].data, 100); got != want {
			t.Errorf("got %d bytes for %d", got, snap)
		}
	}
}

// TestLenient checks that tests that a link type does not support match nothing, and
// that their negation matches everything.
func TestLenient(t *testing.T) {
	frame := packets()[0].data
	for e, want := range map[string]uint32{"udp": 262144, "vlan": 0, "not vlan": 262144, "udp or (vlan and udp)": 262144, "vlan and udp": 0} {
		p := must.Get(parseFor(t, e).Compile(101, Options{Live: true, Lenient: true}))(t)
		if got := p.run(frame, len(frame)); got != want {
			t.Errorf("%s: got %d bytes, want %d", e, got, want)
		}
	}
}

func TestAllocations(t *testing.T) {
	data := captures()[0].frames[0].data
	for _, e := range []string{"udp port 27015", "host 192.0.2.1", "ip[2:2] & 0xff > 20", "vlan and udp", "not port 53"} {
		match := matcherFor(t, e, 1, Options{})
		if n := testing.AllocsPerRun(100, func() { match(data, len(data)) }); n != 0 {
			t.Errorf("%s: %v allocations", e, n)
		}
	}
}

// TestShow checks the place of the carets in expressions with wide and combining
// characters, and what is left out of long ones.
func TestShow(t *testing.T) {
	long := strings.Repeat("(", maxDepth+1) + "udp"
	for _, c := range []struct{ expression, word, show string }{
		{"map == 日本語 and x", "x", "map == 日本語 and x\n                  ^"},
		{"map == 日本語 and x", "日本語", "map == 日本語 and x\n       ^^^^^^"},
		{"Cafe\u0301 and x", "x", "Cafe\u0301 and x\n         ^"},
		{"a\tb\nc x", "x", "a b c x\n      ^"},
		{"🎮🎮x", "x", "🎮🎮x\n    ^"},
		{long, "udp", "…" + strings.Repeat("(", shown) + "udp\n" + strings.Repeat(" ", shown+1) + "^^^"},
		{long + " and " + long, "udp", "…" + strings.Repeat("(", shown) + "udp and " + strings.Repeat("(", shown-5) + "…\n" + strings.Repeat(" ", shown+1) + "^^^"},
		{strings.Repeat("x", 100), strings.Repeat("x", 100), strings.Repeat("x", shown) + "…\n" + strings.Repeat("^", shown+1)},
	} {
		e := Error{Expression: c.expression, Offset: strings.Index(c.expression, c.word), Length: len(c.word)}
		if got := e.Show(); got != c.show {
			t.Errorf("got\n%s\nwant\n%s", got, c.show)
		}
	}
	if _, err := Parse(long); err == nil || err.(*Error).Text != "nested more than 200 deep" || err.(*Error).Offset != maxDepth {
		t.Error(err)
	}
}

// oracleExpressions are the expressions that TestOracle compares with tcpdump.
var oracleExpressions = []string{
	"",

	// Protocols.
	"ip", "ip6", "arp", "tcp", "udp", "sctp", "icmp", "icmp6",
	"not udp", "! udp", "not not udp", "udp or tcp", "udp || tcp", "ip and udp", "ip && udp", "ip6 and not udp",
	"tcp or udp and ip6", "ip6 and tcp or udp", "ip6 and (tcp or udp)", "not (tcp or udp)", "not tcp and not udp",
	"udp and tcp",

	// Hosts and networks.
	"host 192.0.2.1", "src host 192.0.2.1", "dst host 192.0.2.1", "src 192.0.2.1", "dst 192.0.2.1",
	"src or dst host 192.0.2.1", "src and dst host 192.0.2.1", "dst and src 192.0.2.1", "src && dst host 192.0.2.1",
	"not host 192.0.2.1", "host 192.0.2.1 and host 192.0.2.200", "host 192.0.2.1 and 192.0.2.200", "host 192.0.2.1 or 198.51.100.7",
	"host 192.0.2.1 and not 192.0.2.200", "host 192.0.2.1 and not (192.0.2.200 or 198.51.100.7)",
	"host (192.0.2.200 or 198.51.100.7)", "src host 192.0.2.1 and dst host 192.0.2.200", "ip host 192.0.2.1",
	"arp host 192.0.2.1", "arp src host 192.0.2.200", "arp net 192.0.2",
	"host 2001:db8::1", "src host 2001:db8::1", "dst 2001:db8::1", "ip6 host 2001:db8::1", "host 2001:db8:0:1::200",
	"src and dst host 2001:db8::1", "host 2001:db8::1 or 192.0.2.1", "not host 2001:db8::1",
	"net 192.0.2.0/24", "net 192.0.2", "net 192", "src net 192.0.2.0/25", "dst net 192.0.2.128/25", "net 198.51.0.0/16",
	"net 0.0.0.0/0", "net 192.0.2.1", "net 192.0.2.1/32",
	"net 192.0.2.0/24 and not 192.0.2.0/25", "src net 10 or 192", "ip net 192.0.2", "not net 192.0.2.0/24",
	"net 2001:db8::/32", "net 2001:db8:0:1::/64", "src net 2001:db8::/64", "ip6 net 2001:db8::/33", "net ::/0", "dst net ff00::/8",
	"net 2001:db8::/47", "net ::/1", "ip6 dst net 2001:db8:0:1::/64",

	// Ports.
	"port 27015", "src port 27015", "dst port 27015", "udp port 27015", "tcp port 27015", "sctp port 27015",
	"udp src port 27015", "udp dst port 27015", "src and dst port 27015", "src or dst port 53", "udp src and dst port 27015",
	"port 27015 or 53", "port (27015 or 53)", "udp port 27015 or 53", "udp port 27015 or tcp port 80", "port 80 or (81 and 53) or 443",
	"not port 53", "not port 53 and not 27015", "udp and not port 27015", "port 27015 and host 192.0.2.1",
	"src host 192.0.2.1 and udp dst port 27015", "tcp src port 80 or 443", "tcp port 80 and 50001",
	"portrange 27000-27050", "udp portrange 27000-27050", "src portrange 50000-60000", "dst portrange 1-1024",
	"tcp portrange 80-443", "udp src portrange 27015-27016 or 53-53", "portrange 27015", "portrange 30000-20000", "src and dst portrange 20000-30000",
	"not portrange 27000-27050", "sctp portrange 27000-28000", "port 0x6987", "port 065", "port 0",

	// Lengths.
	"less 60", "greater 60", "greater 100 and less 150", "not greater 60",
	"less 0x40", "greater 1",

	// Bytes and arithmetic.
	"udp[8:4] = 0xffffffff", "udp[8:4] = 0xffffffff and udp[12] = 0x54", "udp[0:2] = 27015", "udp[2:2] > 1024", "udp[4:2] < 20", "udp[4:2] >= 20",
	"tcp[13] & 2 != 0",
	"tcp[12] & 0xf0 = 0x50", "tcp[0:2] = 80 or tcp[2:2] = 80",
	"icmp[0] = 8",
	"icmp6[0] = 135", "sctp[0:2] = 27015",
	"ip[0] & 0xf != 5", "ip[0] & 0xf > 5", "ip[6:2] & 0x1fff = 0", "ip[6:2] & 0x1fff != 0", "ip[6:2] & 0x3fff != 0", "ip[8] < 65", "ip[2:2] > 100",
	"ip[9] = 17 or ip6[6] = 17", "ip6[6] = 0", "ip6[0] & 0xf0 = 0x60", "ip6[40] = 17", "ip[12:4] = 0xc0000201", "ip[16] >= 224",
	"arp[6:2] = 1", "arp[7] = 2",
	"udp[1000] = 0", "not udp[1000] = 0",
	"udp[8] & 0 = 0", "not (udp[0] = 0)",

	// Headers that move the layers.
	"vlan", "vlan 5", "vlan 6", "not vlan", "vlan and udp", "vlan 5 and udp", "vlan 5 and udp port 27015", "vlan and host 192.0.2.1", "vlan and arp",
	"vlan and vlan", "vlan 100 and vlan 5", "vlan and vlan 5 and udp", "vlan and vlan and vlan and ip", "vlan or udp", "udp or vlan", "udp or (vlan and udp)", "(vlan and udp) or tcp",
	"not vlan and udp", "vlan 5 or vlan 6", "vlan and (tcp or udp)", "vlan and ip[8] = 64", "vlan and udp[8:4] = 0xffffffff",
	"udp or (vlan and (udp or (vlan and udp)))", "vlan and tcp[13] & 2 != 0", "vlan 4095", "vlan and ip6", "vlan and greater 100",

	// Precedence and inherited qualifiers.
	"udp or tcp and icmp", "udp and tcp or icmp", "not udp and not tcp", "not (udp and port 53) or icmp", "port 27015 and src 192.0.2.1 or 192.0.2.200",
	"tcp port 80 and (udp port 53 or 54) and 50001", "not host 192.0.2.1 and 198.51.100.7", "udp and (port 53 or port 27015) and not (src host 192.0.2.1 or dst host 198.51.100.7)",
	"host 192.0.2.1 and (port 53 or port 80)", "(udp)", "((udp))", "(port 53) or (tcp)", "not (not udp)", "not (udp or not ip)", "port 53 or not port 27015 and tcp",
	"icmp or udp port 53 or tcp port (80 or 443) or host 198.51.100.7 and not arp or ip6 and not icmp6",
}
