package packet

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/reassembly"
)

// captures are where captures of real traffic may lie: what is committed, and
// what is handed round beside the working tree.
var captures = []string{"../../testdata/pcaps/*/*.pcap", "../../../shared/captures/*.pcap"}

// eachFrame calls f with the frames of all captures that are there, and
// returns how many these are.
func eachFrame(t testing.TB, f func(file string, n int, linkType uint16, data []byte, length int)) int {
	frames := 0
	for _, pattern := range captures {
		files := must.Get(filepath.Glob(pattern))(t)
		for _, name := range files {
			b := must.Get(os.ReadFile(name))(t)
			r, err := pcapgo.NewReader(bytes.NewReader(b))
			if err != nil {
				continue // hostile captures are for package capture
			}
			for n := 1; ; n++ {
				data, info, err := r.ReadPacketData()
				if err != nil {
					if err != io.EOF {
						t.Logf("%s: frame %d: %v", name, n, err)
					}
					break
				}
				f(filepath.Base(name), n, uint16(r.LinkType()), data, info.Length)
				frames++
			}
		}
	}
	return frames
}

// flow is a datagram as gopacket sees it.
type flow struct {
	src, dst netip.AddrPort
	payload  []byte
}

func (f flow) String() string { return fmt.Sprintf("%v > %v %q", f.src, f.dst, f.payload) }

// gopacketView is what gopacket makes of a frame.
type gopacketView struct {
	flows    []flow // from outer to inner
	fragment bool   // it ends in an IP fragment
	inner    bool   // there is an IP header after the last datagram
	version  bool   // an IP header has the wrong version, which gopacket does not look at
	strange  bool   // a header has flags, versions or lengths that only gopacket takes
	layers   []gopacket.LayerType
}

// own notes EtherTypes that gopacket takes for IP or for PPP, and we do not.
func (v *gopacketView) own(t layers.EthernetType) {
	switch t {
	case layers.EthernetTypeRaw, layers.EthernetTypePPP, layers.EthernetTypePPPoEDiscovery:
		v.strange = true
	}
}

func gopacketDecode(linkType uint16, data []byte) (v gopacketView) {
	p := gopacket.NewPacket(data, layers.LinkType(linkType), gopacket.DecodeOptions{NoCopy: true})
	var src, dst netip.Addr
	for _, l := range p.Layers() {
		v.layers = append(v.layers, l.LayerType())
		switch l := l.(type) {
		case *layers.Ethernet:
			v.own(l.EthernetType)
		case *layers.Dot1Q:
			v.own(l.Type)
		case *layers.LinuxSLL:
			v.own(l.EthernetType)
			v.strange = v.strange || l.EthernetType == layers.EthernetTypeLLC // that is 0
		case *layers.LinuxSLL2:
			v.own(l.ProtocolType)
			v.strange = v.strange || l.ARPHardwareType == layers.ARPHardwareTypeIPGRE // taken for Ethernet
		case *layers.IPv4:
			src, _ = netip.AddrFromSlice(l.SrcIP)
			dst, _ = netip.AddrFromSlice(l.DstIP)
			v.version = v.version || l.Version != 4
			v.inner = true
			if len(v.flows) > 0 && len(l.Contents) >= ipv4Header {
				said := be16(l.Contents[2:]) // l.Length is never 0
				v.strange = v.strange || said != len(l.Contents)+len(l.Payload)
			}
		case *layers.IPv6:
			src, _ = netip.AddrFromSlice(l.SrcIP)
			dst, _ = netip.AddrFromSlice(l.DstIP)
			v.version = v.version || l.Version != 6
			v.inner = true
			have := len(l.Payload)
			if l.HopByHop != nil {
				have += len(l.HopByHop.Contents)
			}
			v.strange = v.strange || len(v.flows) > 0 && int(l.Length) != have
		case *layers.UDP:
			if len(l.Contents) < udpHeader {
				continue // gopacket has a layer even where the header is cut
			}
			v.flows = append(v.flows, flow{netip.AddrPortFrom(src, uint16(l.SrcPort)), netip.AddrPortFrom(dst, uint16(l.DstPort)), l.Payload})
			v.inner = false
		case *gopacket.Fragment:
			v.fragment = true
		case *layers.VXLAN:
			v.strange = v.strange || !l.ValidIDFlag
		case *layers.Geneve:
			v.own(l.Protocol)
			v.strange = v.strange || l.Version != 0
		case *layers.LLC:
			v.strange = v.strange || l.IG || l.CR || l.Control != 3
		case *layers.SNAP:
			v.own(l.Type)
			v.strange = v.strange || !bytes.Equal(l.OrganizationalCode, []byte{0, 0, 0})
		case *layers.ERSPANII:
			v.strange = v.strange || l.Version != 1
		case *layers.GRE:
			v.own(l.Protocol)
			v.strange = v.strange || l.Version > 0 || l.RoutingPresent ||
				l.StrictSourceRoute || l.RecursionControl&4 != 0 || // to be discarded (RFC 2784, 2.3)
				l.Protocol == layers.EthernetTypeERSPAN && !l.SeqPresent // type I has no header: gopacket takes it for type II
		}
	}
	return v
}

// compare holds what the decoder made of a frame against gopacket. It returns
// what is wrong, or "".
//
// What may differ, and why:
//   - gopacket follows tunnels by the source port and by other ports too, does
//     not know all tunnels that we know, takes tunnel and LLC headers that
//     nobody sends, and tunnels in UDP although the length of the packet in
//     them is wrong, and has EtherTypes of its own (strange);
//   - it does not look at the version of IP;
//   - it takes the length of UDP as it stands, where we have an anomaly;
//   - it does not go on after the IPv6 fragment header of a packet that is not
//     fragmented;
//   - we give a frame up that is nested too deeply.
func compare(o Outcome, d *Datagram, v gopacketView) string {
	if v.version || o == TooDeep {
		return ""
	}
	if !o.OK() {
		switch {
		case len(v.flows) == 0, v.fragment && o >= FragmentHeld && o <= JoinedBad, v.inner && o.sane(), v.strange:
			return ""
		case o.sane() && isTunnelPort(int(v.flows[len(v.flows)-1].dst.Port())):
			return "" // a tunnel that gopacket does not know
		}
		return fmt.Sprintf("%v, and gopacket has %v in %v", o, v.flows, v.layers)
	}
	if len(v.flows) == 0 {
		return ""
	}
	at := -1
	for i, f := range v.flows {
		if f.src == d.Src && f.dst == d.Dst {
			at = i
		}
	}
	last := v.flows[len(v.flows)-1]
	if at < 0 {
		if isTunnelPort(int(last.dst.Port())) && len(d.Tunnels()) > 0 {
			return "" // gopacket went less deep
		}
		return fmt.Sprintf("%v > %v, and gopacket has %v in %v", d.Src, d.Dst, v.flows, v.layers)
	}
	if f := v.flows[at]; len(d.Anomalies()) == 0 && !bytes.Equal(f.payload, d.Payload) {
		return fmt.Sprintf("payload %q, and gopacket has %q in %v", d.Payload, f.payload, v.layers)
	}
	if at < len(v.flows)-1 && isTunnelPort(int(v.flows[at].dst.Port())) && !v.strange {
		return fmt.Sprintf("%v > %v, and gopacket goes on to %v in %v", d.Src, d.Dst, last, v.layers)
	}
	return ""
}

func TestAgainstGopacket(t *testing.T) {
	agreed := 0
	check := func(what string, linkType uint16, data []byte, length int) {
		t.Helper()
		d := NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, nil)
		out := new(Datagram)
		o := d.Decode(&Frame{Number: 1, Time: second(0), LinkType: linkType, Data: data, Length: length}, out)
		v := gopacketDecode(linkType, data)
		if wrong := compare(o, out, v); wrong != "" {
			t.Errorf("%s: %s", what, wrong)
		} else if o.OK() && len(v.flows) > 0 {
			agreed++
		}
	}
	for _, w := range wrappings() {
		check(w.name, w.linkType, w.data, len(w.data))
	}
	if agreed < 45 {
		t.Errorf("only %d of the wrappings are of both", agreed)
	}
	agreed = 0
	n := eachFrame(t, func(file string, n int, linkType uint16, data []byte, length int) {
		check(fmt.Sprintf("%s frame %d", file, n), linkType, data, length)
	})
	t.Logf("%d frames of captures, %d datagrams agreed", n, agreed)
}
