package packet

import (
	"fmt"
	"strings"
	"testing"
)

var kindNames = [...]string{
	HeaderOther: "other", HeaderEthernet: "ethernet", HeaderSLL: "sll", HeaderSLL2: "sll2", HeaderFamily: "family", HeaderPPP: "ppp", HeaderNFLOG: "nflog",
	HeaderVLAN: "vlan", HeaderMPLS: "mpls", HeaderPPPoE: "pppoe", HeaderIPv4: "ipv4", HeaderIPv6: "ipv6", HeaderExtension: "extension",
	HeaderFragment: "fragment", HeaderUDP: "udp", HeaderGRE: "gre", HeaderVXLAN: "vxlan", HeaderGeneve: "geneve",
}

// wrongHeaders returns what is wrong with the headers of a frame.
func wrongHeaders(o Outcome, headers []Header, data []byte, d *Datagram) string {
	end := 0
	for i, h := range headers {
		var b []byte
		if h.At == end && h.Len > 0 && h.At+h.Len <= h.End && h.End <= len(data) {
			b = data[h.At:h.End]
		} else if o <= FragmentLate {
			return fmt.Sprintf("header %d of %v", i, headers)
		}
		end = h.At + h.Len
		if b != nil && (h.Kind == HeaderIPv4 && (b[0]>>4 != 4 || int(b[0]&15)*4 != h.Len) || h.Kind == HeaderIPv6 && (b[0]>>4 != 6 || h.Len != 40)) {
			return fmt.Sprintf("%v is no header of IP", h)
		}
	}
	if o == Whole && (headers[len(headers)-1].Kind != HeaderUDP || end != cap(data)-cap(d.Payload)) {
		return fmt.Sprintf("headers %v, and then not the payload", headers)
	}
	if last := headers[max(len(headers)-1, 0):]; o > Whole && o <= FragmentLate && last[0].Kind != HeaderIPv4 && last[0].Kind != HeaderFragment {
		return fmt.Sprintf("headers %v of a fragment", headers)
	}
	return ""
}

func mapOf(headers []Header) string {
	var list []string
	for _, h := range headers {
		list = append(list, fmt.Sprint(kindNames[h.Kind], " ", h.Len))
	}
	return strings.Join(list, ", ")
}

// TestHeaders: the headers are mapped correctly for all kinds of frames.
func TestHeaders(t *testing.T) {
	want := map[string]string{
		"ethernet padding":         "ethernet 14, ipv4 20, udp 8",
		"802.1q snap":              "ethernet 14, vlan 4, other 8, ipv4 20, udp 8",
		"pppoe mpls":               "ethernet 14, pppoe 8, mpls 4, ipv4 20, udp 8",
		"mpls with entropy":        "ethernet 14, mpls 12, ipv6 40, udp 8",
		"null, little-endian":      "family 4, ipv4 20, udp 8",
		"raw 12":                   "ipv4 20, udp 8",
		"sll llc":                  "sll 24, ipv4 20, udp 8",
		"sll2 ipv6":                "sll2 20, ipv6 40, udp 8",
		"ppp without address":      "ppp 2, ipv6 40, udp 8",
		"nflog":                    "nflog 24, ipv4 20, udp 8",
		"ipv4 options":             "ipv4 28, udp 8",
		"ipv4 ah":                  "ipv4 20, other 24, udp 8",
		"ipv6 extensions":          "ipv6 40, extension 16, extension 24, extension 8, extension 8, extension 8, extension 8, other 24, udp 8",
		"ipv6 atomic fragment":     "ipv6 40, fragment 8, udp 8",
		"6in6":                     "ipv6 40, extension 8, ipv6 40, udp 8",
		"gre everything, ethernet": "ipv4 20, gre 16, ethernet 14, vlan 4, ipv4 20, udp 8",
		"erspan i":                 "ipv4 20, gre 4, ethernet 14, ipv4 20, udp 8",
		"erspan ii":                "ipv4 20, gre 16, ethernet 14, ipv4 20, udp 8",
		"vxlan":                    "ethernet 14, ipv4 20, udp 8, vxlan 8, ethernet 14, ipv4 20, udp 8",
		"geneve with options, ip":  "ethernet 14, ipv4 20, udp 8, geneve 16, ipv6 40, udp 8",
	}
	r := newRig(t)
	r.MapHeaders()
	for _, w := range wrappings() {
		o := r.Decode(&Frame{LinkType: w.linkType, Data: w.data}, &r.out)
		if s := wrongHeaders(o, r.Headers(), w.data, &r.out); s != "" {
			t.Errorf("%s: %s", w.name, s)
		}
		is := mapOf(r.Headers())
		if s := want[w.name]; s != "" && s != is {
			t.Errorf("%s: %s; want %s", w.name, is, s)
		}
		delete(want, w.name)
	}
	for name := range want {
		t.Errorf("no wrapping is %q", name)
	}
	for _, c := range []struct {
		name  string
		frame []byte
		o     Outcome
		want  string
	}{
		{"no tunnel", tunnel4(portVXLAN, vxlanFrame(1, ether(0x0806, make([]byte, 46)))), Whole, "ethernet 14, ipv4 20, udp 8"},
		{"a fragment in a tunnel", tunnel4(portVXLAN, vxlanFrame(1, ether(typeIPv4, ip4Fragment(client4, server4, protoUDP, 1, 8, true, query[:8])))), FragmentHeld,
			"ethernet 14, ipv4 20, udp 8, vxlan 8, ethernet 14, ipv4 20"},
		{"the first fragment", ether(typeIPv6, ip6(client6, server6, protoFragment, frag6(protoUDP, 9, 0, true, udp(5, 6, query[:8])))), FragmentHeld, "ethernet 14, ipv6 40, fragment 8"},
		{"the last fragment", ether(typeIPv6, ip6(client6, server6, protoFragment, frag6(protoUDP, 9, 16, false, query[8:]))), Joined, "ethernet 14, ipv6 40, fragment 8"},
		{"TCP", ether(typeIPv4, ip4(client4, server4, protoTCP, make([]byte, 20))), TCP, "ethernet 14, ipv4 20"},
		{"ARP", ether(0x0806, make([]byte, 28)), NotIP, "ethernet 14"},
	} {
		r.want(linkEthernet, c.frame, c.o)
		if is := mapOf(r.Headers()); is != c.want {
			t.Errorf("%s: %s; want %s", c.name, is, c.want)
		}
	}
	// A datagram of which there is more in the frame ends before that.
	r.want(linkEthernet, ether(typeIPv4, ask4(), make([]byte, 20)), Whole)
	if h := r.Headers(); h[0].End != 14+len(ask4())+20 || h[1].End != 14+len(ask4()) || h[2].At != 34 || h[2].End != h[1].End {
		t.Errorf("%v", h)
	}
}
