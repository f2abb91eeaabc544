package packet

import "testing"

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

	// A fragment that completes a fragment, and so on.
	for n, want := range map[int]Outcome{4: Joined, 5: TooDeep} {
		r := newRig(t)
		src, dst, proto, packet := client4, server4, protoUDP, udp(clientPort, serverPort, query)
		for level := range n {
			parts := split4(src, dst, proto, 7, (len(packet)/2+fragmentUnit)/fragmentUnit*fragmentUnit, packet)
			first := parts[0]
			for range n - 1 - level {
				first = ip4(near4, far4, protoIPv4, first)
			}
			r.want(linkRawIP, first, FragmentHeld)
			src, dst, proto, packet = near4, far4, protoIPv4, parts[1]
		}
		if o := r.frame(linkRawIP, packet); o != want {
			t.Errorf("%d fragments in one another: %v, want %v", n, o, want)
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
