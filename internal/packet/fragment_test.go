package packet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/reassembly"
)

// long is longer than an Ethernet frame allows: the reply of a Squad server.
var long = sized(1934)

func reply() []byte  { return withSum(server4, client4, udp(serverPort, clientPort, long)) }
func reply6() []byte { return withSum(server6, client6, udp(serverPort, clientPort, long)) }

func kinds(d *Datagram) string {
	return strings.Join(nettext.Each(d.Anomalies(), func(a Anomaly) string { return a.Kind.String() }), ", ")
}

// wantReply checks that d is the long reply.
func wantReply(t *testing.T, d *Datagram, src, dst netip.Addr) {
	t.Helper()
	if d.Src != netip.AddrPortFrom(src, serverPort) || d.Dst != netip.AddrPortFrom(dst, clientPort) || !bytes.Equal(d.Payload, long) || d.Missing != 0 {
		t.Errorf("%v > %v, %d bytes, %d missing", d.Src, d.Dst, len(d.Payload), d.Missing)
	}
}

func TestFragmentsInAnyOrder(t *testing.T) {
	for _, c := range []struct {
		name     string
		parts    [][]byte
		src, dst netip.Addr
		in       string
	}{
		{"ipv4", split4(server4, client4, protoUDP, 7, 576, reply()), server4, client4, ""},
		{"ipv6", split6(server6, client6, protoUDP, 7, 576, reply6()), server6, client6, ""},
		{"ipv6 with options in the fragments", split6(server6, client6, protoDestinations, 7, 576, ext6(protoUDP, 0, reply6())), server6, client6, ""},
		{"ipip", split4(near4, far4, protoIPv4, 7, 576, ip4(server4, client4, protoUDP, reply())), server4, client4, "ipip"},
		{"6in4", split4(near4, far4, protoIPv6, 7, 576, ip6(server6, client6, protoUDP, reply6())), server6, client6, "6in4"},
		{"gre", split6(near6, far6, protoGRE, 7, 576, gre(0x2000, typeIPv4, "\x00\x00\x00\x2a", ip4(server4, client4, protoUDP, reply()))), server4, client4, "gre 42"},
		{"vxlan", split4(near4, far4, protoUDP, 7, 576, withSum(near4, far4, udp(50001, portVXLAN, vxlanFrame(42, ether(typeIPv4, ip4(server4, client4, protoUDP, reply())))))), server4, client4, "vxlan 42"},
		{"ah", split4(server4, client4, protoAH, 7, 576, cat([]byte{protoUDP, 4, 0, 0}, make([]byte, 20), reply())), server4, client4, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, order := range must.Permutations(len(c.parts)) {
				r := newRig(t)
				for n, i := range order {
					if n < len(order)-1 {
						r.want(linkRawIP, c.parts[i], FragmentHeld)
						continue
					}
					d := r.want(linkRawIP, c.parts[i], Joined)
					wantReply(t, d, c.src, c.dst)
					if fmt.Sprint(d.Frames) != "[1 2 3 4]" || d.Frame != 4 || !d.First.Equal(second(0.001)) || !d.Time.Equal(second(0.004)) {
						t.Errorf("order %v: frame %d, frames %v, from %v to %v", order, d.Frame, d.Frames, d.First, d.Time)
					}
					want := nettext.Either(!slices.IsSorted(order), "reordered fragments", "")
					if got := kinds(d); got != want {
						t.Errorf("order %v: anomalies %q", order, got)
					}
					if _, tunnels, _ := describe(d); tunnels != c.in {
						t.Errorf("order %v: in %q", order, tunnels)
					}
				}
				r.flush()
				if len(r.losses) > 0 {
					t.Errorf("order %v: losses %+v", order, r.losses)
				}
			}
		})
	}
}

// Packets are distinguished by addresses, protocol, identification, version, and VLAN or
// tunnel.
func TestFragmentsKeptApart(t *testing.T) {
	seg := reply()
	first := func(src, dst netip.Addr, proto, id int) []byte {
		return ip4Fragment(src, dst, proto, id, 0, true, seg[:1480])
	}
	last := ip4Fragment(server4, client4, protoUDP, 7, 1480, false, seg[1480:])
	first6 := ip6(server6, client6, protoFragment, frag6(protoUDP, 7, 0, true, seg[:1480]))
	eth := func(b []byte) []byte { return ether(typeIPv4, b) }
	tagged := func(id int, b []byte) []byte { return ether(typeVLAN, vlan(id, typeIPv4, b)) }
	vx := func(network uint32, b []byte) []byte { return tunnel4(portVXLAN, vxlanFrame(network, eth(b))) }
	greOf := func(src, dst netip.Addr, b []byte) []byte {
		return eth(ip4(src, dst, protoGRE, gre(0, typeIPv4, "", b)))
	}
	for _, c := range []struct {
		name  string
		first []byte
		last  []byte
		join  bool
	}{
		{"same", eth(first(server4, client4, protoUDP, 7)), eth(last), true},
		{"source", eth(first(far4, client4, protoUDP, 7)), eth(last), false},
		{"destination", eth(first(server4, far4, protoUDP, 7)), eth(last), false},
		{"both ways", eth(first(client4, server4, protoUDP, 7)), eth(last), false},
		{"protocol", eth(first(server4, client4, protoGRE, 7)), eth(last), false},
		{"identification", eth(first(server4, client4, protoUDP, 8)), eth(last), false},
		{"version", ether(typeIPv6, first6), eth(last), false},
		{"vlan", tagged(5, first(server4, client4, protoUDP, 7)), tagged(6, last), false},
		{"no vlan", tagged(5, first(server4, client4, protoUDP, 7)), eth(last), false},
		{"same vlan", tagged(5, first(server4, client4, protoUDP, 7)), tagged(5, last), true},
		{"priority", tagged(0x2005, first(server4, client4, protoUDP, 7)), tagged(0xe005, last), true},
		{"network", vx(1, first(server4, client4, protoUDP, 7)), vx(2, last), false},
		{"same network", vx(1, first(server4, client4, protoUDP, 7)), vx(1, last), true},
		{"no tunnel", vx(1, first(server4, client4, protoUDP, 7)), eth(last), false},
		{"kind of tunnel", greOf(near4, far4, first(server4, client4, protoUDP, 7)), eth(ip4(near4, far4, protoIPv4, last)), false},
		{"ends of the tunnel", greOf(near4, far4, first(server4, client4, protoUDP, 7)), greOf(far4, near4, last), false},
		{"same ends", greOf(near4, far4, first(server4, client4, protoUDP, 7)), greOf(near4, far4, last), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.want(linkEthernet, c.first, FragmentHeld)
			want := nettext.Either(c.join, Joined, FragmentHeld)
			r.want(linkEthernet, c.last, want)
			r.flush()
			if !c.join && len(r.losses) != 2 {
				t.Errorf("%d losses", len(r.losses))
			}
		})
	}
}

func TestFragmentsJudged(t *testing.T) {
	seg := reply()
	at := func(offset, end int, b []byte) []byte {
		return ip4Fragment(server4, client4, protoUDP, 7, offset, end < len(seg), b[offset:end])
	}
	other := slices.Clone(seg)
	for i := 8; i < len(other); i++ {
		other[i] ^= 0x55
	}
	wrongSum := slices.Clone(seg)
	wrongSum[6]++
	noSum := slices.Clone(seg)
	noSum[6], noSum[7] = 0, 0
	n := len(seg)
	for _, c := range []struct {
		name     string
		frames   [][]byte
		outcomes []Outcome
		want     string
	}{
		{"plain", [][]byte{at(0, 1480, seg), at(1480, n, seg)}, []Outcome{FragmentHeld, Joined}, ""},
		{"twice", [][]byte{at(0, 1480, seg), at(0, 1480, seg), at(1480, n, seg), at(1480, n, seg)},
			[]Outcome{FragmentHeld, FragmentDuplicate, Joined, FragmentLate}, "duplicate fragments"},
		{"overlap", [][]byte{at(0, 1480, seg), at(1400, n, seg)}, []Outcome{FragmentHeld, Joined}, "overlapping fragments"},
		{"overlap that differs", [][]byte{at(0, 1480, seg), at(1400, 1488, other), at(1488, n, seg)},
			[]Outcome{FragmentHeld, FragmentHeld, Joined}, "overlapping fragments, conflicting fragments, checksum of fragments"},
		{"conflict", [][]byte{at(0, 1480, seg), at(0, 1480, other), at(1480, n, seg)}, []Outcome{FragmentHeld, FragmentConflict, Joined}, "conflicting fragments"},
		{"of two datagrams", [][]byte{at(0, 1480, seg), at(1480, n, other)}, []Outcome{FragmentHeld, Joined}, "checksum of fragments"},
		{"wrong checksum", [][]byte{at(0, 1480, wrongSum), at(1480, n, wrongSum)}, []Outcome{FragmentHeld, Joined}, "checksum of fragments"},
		{"no checksum", [][]byte{at(0, 1480, noSum), at(1480, n, noSum)}, []Outcome{FragmentHeld, Joined}, ""},
		{"teardrop", [][]byte{at(0, 1480, seg), ip4Fragment(server4, client4, protoUDP, 7, 1000, false, other[1000:1100])},
			[]Outcome{FragmentHeld, Joined}, "overlapping fragments, conflicting fragments, udp length beyond ip"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			for i, b := range c.frames {
				r.want(linkRawIP, b, c.outcomes[i])
				if c.outcomes[i] == Joined {
					if got := kinds(&r.out); got != c.want {
						t.Errorf("anomalies %q, want %q", got, c.want)
					}
				}
			}
			r.flush()
			if len(r.losses) > 0 {
				t.Errorf("losses %+v", r.losses)
			}
		})
	}
}

// The checksum of a datagram in a tunnel is not judged: network cards fill it
// in later. Nor is that of IPv6 forgotten.
func TestFragmentsChecksum(t *testing.T) {
	bad := udp(serverPort, clientPort, long)
	bad[6] = 1
	r := newRig(t)
	outer := split4(near4, far4, protoIPv4, 7, 1480, ip4(server4, client4, protoUDP, bad))
	r.want(linkRawIP, outer[0], FragmentHeld)
	if d := r.want(linkRawIP, outer[1], Joined); kinds(d) != "" {
		t.Errorf("anomalies %q", kinds(d))
	}
	six := split6(server6, client6, protoUDP, 7, 1000, bad)
	r.want(linkRawIP, six[0], FragmentHeld)
	if d := r.want(linkRawIP, six[1], Joined); kinds(d) != "checksum of fragments" {
		t.Errorf("anomalies %q", kinds(d))
	}
}

// Every length of payload, so that the last fragment has every size.
func TestFragmentsOfAnySize(t *testing.T) {
	r := newRig(t)
	for n := range 200 {
		seg := withSum(server4, client4, udp(serverPort, clientPort, sized(n)))
		parts := split4(server4, client4, protoUDP, n, 24, seg)
		for i, p := range parts {
			// Ethernet pads short frames.
			b := ether(typeIPv4, p, make([]byte, max(0, 46-len(p))))
			switch {
			case len(parts) == 1:
				r.want(linkEthernet, b, Whole)
			case i < len(parts)-1:
				r.want(linkEthernet, b, FragmentHeld)
			default:
				r.want(linkEthernet, b, Joined)
			}
		}
		if !bytes.Equal(r.out.Payload, sized(n)) || len(r.out.Anomalies()) > 0 {
			t.Errorf("%d bytes: %v", n, r.out.Anomalies())
		}
	}
}

// A capture with a snap length has the beginnings of fragments only.
func TestFragmentsCut(t *testing.T) {
	const snap = 96
	parts := split4(server4, client4, protoUDP, 7, 1480, reply())
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		r := newRig(t)
		if o := r.cut(linkRawIP, parts[order[0]], snap); o != FragmentHeld {
			t.Fatal(o)
		}
		if o := r.cut(linkRawIP, parts[order[1]], snap); o != Joined {
			t.Fatal(o)
		}
		have := snap - ipv4Header - udpHeader
		if !bytes.Equal(r.out.Payload, long[:have]) || r.out.Missing != len(long)-have || len(r.out.Frames) != 2 {
			t.Errorf("order %v: %d bytes, %d missing, frames %v", order, len(r.out.Payload), r.out.Missing, r.out.Frames)
		}
	}
	// Cut before the UDP header is complete.
	r := newRig(t)
	r.cut(linkRawIP, parts[0], 24)
	if o := r.cut(linkRawIP, parts[1], 24); o != JoinedBad {
		t.Error(o)
	}
}

func TestLoss(t *testing.T) {
	parts := split4(server4, client4, protoUDP, 7, 576, reply()) // at 0, 576, 1152, 1728
	six := split6(server6, client6, protoUDP, 70000, 576, reply6())
	tunnel := split4(near4, far4, protoGRE, 9, 576, gre(0, typeIPv4, "", ip4(server4, client4, protoUDP, reply())))
	r := newRigWith(t, 0, reassembly.Limits{Age: 10 * time.Second})
	r.want(linkRawIP, parts[0], FragmentHeld)
	r.want(linkRawIP, parts[0], FragmentDuplicate)
	r.want(linkRawIP, parts[2], FragmentHeld)
	r.Expire(second(9))
	if len(r.losses) > 0 {
		t.Fatal("lost before its time")
	}
	r.Expire(second(11))
	r.want(linkRawIP, six[1], FragmentHeld)
	r.want(linkRawIP, six[3], FragmentHeld)
	r.want(linkRawIP, tunnel[0], FragmentHeld)
	r.flush()
	var got []string
	for _, l := range r.losses {
		got = append(got, fmt.Sprintf("%v %v > %v protocol %d id %d headed %v payload %d frames %v %v-%v have %d of %d missing %v dup %d",
			l.Reason, l.Src, l.Dst, l.Protocol, l.ID, l.Headed, len(l.Payload), l.Frames, l.First.Sub(second(0)), l.Last.Sub(second(0)), l.Have, l.Total, l.Missing, l.Duplicates))
	}
	want := []string{
		"expired 198.51.100.10:27015 > 192.0.2.20:50000 protocol 17 id 7 headed true payload 568 frames [1 3] 1ms-3ms have 1152 of 0 missing [{576 1152} {1728 0}] dup 1",
		"input ended [2001:db8:1::10]:0 > [2001:db8:2::20]:0 protocol 17 id 70000 headed false payload 0 frames [4 5] 4ms-5ms have 790 of 1942 missing [{0 576} {1152 1728}] dup 0",
		"input ended 203.0.113.1:0 > 203.0.113.2:0 protocol 47 id 9 headed false payload 0 frames [6] 6ms-6ms have 576 of 0 missing [{576 0}] dup 0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("losses\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !bytes.Equal(r.losses[0].Payload, long[:568]) {
		t.Error("the payload is not that of the first fragment")
	}
}

// TestFragmentsInFragments: a tunnel in a tunnel, where the last fragment of each
// packet comes in fragments itself. More of them in one another than are allowed
// are given up.
func TestFragmentsInFragments(t *testing.T) {
	for deep := 1; deep <= 5; deep++ {
		r := newRig(t)
		src, dst, proto, packet := client4, server4, protoUDP, udp(clientPort, serverPort, query)
		for level := range deep {
			parts := split4(src, dst, proto, 7, (len(packet)/2+fragmentUnit)/fragmentUnit*fragmentUnit, packet)
			first := parts[0]
			for range deep - 1 - level {
				first = ip4(near4, far4, protoIPv4, first)
			}
			r.want(linkRawIP, first, FragmentHeld)
			src, dst, proto, packet = near4, far4, protoIPv4, parts[1]
		}
		want := nettext.Either(deep > 4, TooDeep, Joined)
		if o := r.frame(linkRawIP, packet); o != want {
			t.Errorf("%d in one another: %v, want %v", deep, o, want)
		}
	}
}

// An IPv6 packet with an IPv4-mapped address stays IPv6 when it is lost.
func TestLossOfMappedAddress(t *testing.T) {
	mapped, r := netip.AddrFrom16(server4.As16()), newRig(t)
	r.want(linkRawIP, split6(mapped, client6, protoUDP, 1, 576, reply())[0], FragmentHeld)
	r.flush()
	if got := r.losses[0].Src.Addr(); got != mapped {
		t.Errorf("source %v, want %v", got, mapped)
	}
}

func TestLossWithoutCallback(t *testing.T) {
	d := NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, nil)
	f := &Frame{LinkType: linkRawIP, Data: split4(server4, client4, protoUDP, 7, 576, reply())[0]}
	if o := d.Decode(f, new(Datagram)); o != FragmentHeld {
		t.Error(o)
	}
	d.Flush()
}

func TestFragmentsAllocateNothing(t *testing.T) {
	d := NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, func(*Loss) {})
	parts := split4(server4, client4, protoUDP, 1, 576, reply())
	outer := split4(near4, far4, protoUDP, 1, 1000, udp(50001, portVXLAN, vxlanFrame(42, ether(typeIPv4, ip4(server4, client4, protoUDP, reply())))))
	f, out := &Frame{LinkType: linkRawIP}, new(Datagram)
	id := 0
	round := func() {
		id++
		f.Time = time.Unix(1000, 0).Add(time.Duration(id) * 10 * time.Millisecond)
		for _, set := range [][][]byte{parts, outer} {
			for i, p := range set {
				p[4], p[5] = byte(id>>8), byte(id)
				f.Data, f.Number = p, f.Number+1
				if o := d.Decode(f, out); o != FragmentHeld && i < len(set)-1 || o != Joined && i == len(set)-1 {
					t.Fatalf("fragment %d is %v", i, o)
				}
			}
		}
		if id%8 == 0 { // one that stays incomplete
			f.Data = parts[0]
			f.Data[12] ^= 1
			d.Decode(f, out)
			f.Data[12] ^= 1
		}
		d.Expire(f.Time)
	}
	for range 10000 {
		round()
	}
	if n := testing.AllocsPerRun(1000, round); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestSpread(t *testing.T) {
	var want [2]uint32
	for _, w := range wrappings() {
		d := NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, nil)
		var out Datagram
		d.Decode(&Frame{LinkType: w.linkType, Data: w.data}, &out)
		v, got := nettext.Either(w.v6, 1, 0), out.Spread()
		if want[v] == 0 {
			want[v] = got
		}
		out.Src, out.Dst = out.Dst, out.Src
		if got != want[v] || out.Spread() != got || got == 0 {
			t.Errorf("%s: %d, and %d in the other direction; want %d", w.name, got, out.Spread(), want[v])
		}
	}
}

// Addresses that count up must not all go to one worker of two, four or eight.
func TestSpreadIsEven(t *testing.T) {
	const addresses = 8000
	for _, workers := range []uint32{2, 3, 4, 8} {
		var four, six [8]int
		for i := range uint32(addresses) {
			var b4 [4]byte
			binary.BigEndian.PutUint32(b4[:], 0x0a000000+i)
			b6 := client6.As16()
			binary.BigEndian.PutUint32(b6[12:], i)
			d4 := Datagram{Src: netip.AddrPortFrom(netip.AddrFrom4(b4), 1), Dst: netip.AddrPortFrom(server4, 2)}
			d6 := Datagram{Src: netip.AddrPortFrom(netip.AddrFrom16(b6), 1), Dst: netip.AddrPortFrom(server6, 2)}
			four[d4.Spread()%workers]++
			six[d6.Spread()%workers]++
		}
		for i := range workers {
			fair := addresses / int(workers)
			if four[i] < fair*8/10 || four[i] > fair*12/10 || six[i] < fair*8/10 || six[i] > fair*12/10 {
				t.Errorf("%d workers: %v and %v", workers, four[:workers], six[:workers])
				break
			}
		}
	}
}

// TestKeys: keys differ if endpoints do, and lose nothing but the port with it.
func TestKeys(t *testing.T) {
	seen := make(map[Key]netip.AddrPort)
	for _, a := range []string{"0.0.0.1", "10.0.0.1", "10.0.0.2", "255.255.255.255", "::ffff:10.0.0.1", "::1", "2001:db8::1", "2001:db8::2", "2001:db8:1::1"} {
		host := netip.MustParseAddr(a)
		for _, port := range []uint16{0, 1, 256, 27960, 65535} {
			end := netip.AddrPortFrom(host, port)
			k := KeyOf(end)
			if other, ok := seen[k]; ok {
				t.Errorf("%v and %v have the key %x", end, other, k)
			}
			seen[k] = end
			if alone := KeyOf(netip.AddrPortFrom(host, 0)); k.Host() != alone {
				t.Errorf("host of %v: %x, want %x", end, k.Host(), alone)
			}
			d := Datagram{Src: end, Dst: netip.AddrPortFrom(host, ^port)}
			var o Outline
			d.Outline(&o)
			if o.From != k || o.To != KeyOf(d.Dst) {
				t.Errorf("keys of %v and %v: %x and %x, want %x and %x", d.Src, d.Dst, o.From, o.To, k, KeyOf(d.Dst))
			}
		}
	}
}

// TestLimits: the numbers of docs/limits.md, said once more: so much is read, and
// not one more.
func TestLimits(t *testing.T) {
	tunnels := func(n int) []byte {
		b := ask4()
		for range n {
			b = ip4(near4, far4, protoIPv4, b)
		}
		return b
	}
	vlans := func(n int) []byte {
		b := vlan(1, typeIPv4, ask4())
		for range n - 1 {
			b = vlan(1, typeVLAN, b)
		}
		return ether(typeVLAN, b)
	}
	extensions := func(n int) []byte {
		b, next := udp(clientPort, serverPort, query), protoUDP
		for range n {
			b, next = ext6(next, 0, b), protoDestinations
		}
		return ip6(client6, server6, next, b)
	}
	for _, c := range []struct {
		name     string
		linkType uint16
		make     func(n int) []byte
		most     int
	}{
		{"tunnels", linkRawIP, tunnels, 6}, {"VLAN tags", linkEthernet, vlans, 8}, {"extension headers", linkRawIP, extensions, 11},
	} {
		r := newRig(t)
		for n, want := range map[int]Outcome{c.most: Whole, c.most + 1: TooDeep} {
			if o := r.frame(c.linkType, c.make(n)); o != want {
				t.Errorf("%d %s: %v, want %v", n, c.name, o, want)
			}
		}
	}

	var d Datagram
	for range 9 {
		d.note(IPLengthZero, 1, 2)
	}
	if len(d.Anomalies()) != 8 || d.MoreAnomalies() != 1 {
		t.Errorf("%d anomalies, %d more", len(d.Anomalies()), d.MoreAnomalies())
	}
}
