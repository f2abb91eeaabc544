package packet

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/qdissect/qdissect/reassembly"
)

// seedFrames adds a few frames of every kind: those that the tests build, and
// some of real traffic.
func seedFrames(f *testing.F, add func(linkType uint16, data []byte)) {
	for _, w := range wrappings() {
		add(w.linkType, w.data)
	}
	for _, p := range split4(server4, client4, protoUDP, 7, 1480, reply()) {
		add(linkEthernet, ether(typeIPv4, p))
	}
	for _, p := range split6(server6, client6, protoUDP, 7, 64, udp(serverPort, clientPort, sized(100))) {
		add(linkRawIP, p)
	}
	seen := map[string]int{}
	eachFrame(f, func(file string, n int, linkType uint16, data []byte, length int) {
		if seen[file]++; seen[file] <= 3 && len(data) < 400 {
			add(linkType, bytes.Clone(data))
		}
	})
}

// FuzzDecode decodes one frame, and holds the result against gopacket.
func FuzzDecode(f *testing.F) {
	seedFrames(f, func(linkType uint16, data []byte) { f.Add(linkType, uint16(0), data) })
	f.Fuzz(func(t *testing.T, linkType, cut uint16, data []byte) {
		d := NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, func(*Loss) {})
		d.MapHeaders()
		out := new(Datagram)
		frame := Frame{Number: 1, Time: second(0), LinkType: linkType, Data: bytes.Clone(data), Length: len(data) + int(cut)}
		o := d.Decode(&frame, out)
		if !bytes.Equal(frame.Data, data) {
			t.Fatal("the frame was changed")
		}
		if s := wrongHeaders(o, d.Headers(), frame.Data, out); s != "" {
			t.Fatal(s)
		}
		if o.OK() {
			if out.Missing < 0 || !out.Src.IsValid() || !out.Dst.IsValid() || out.Frame != 1 || !bytes.Contains(data, out.Payload) {
				t.Fatalf("%+v", out)
			}
			if cut == 0 && out.Missing > 0 && len(out.Anomalies()) == 0 {
				t.Fatalf("%d bytes are missing, and nothing is wrong", out.Missing)
			}
			if o == Joined {
				t.Fatal("one frame joined a datagram")
			}
		}
		if cut == 0 {
			if wrong := compare(o, out, gopacketDecode(linkType, data)); wrong != "" {
				t.Fatal(wrong)
			}
		}
		first := *out
		d = NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, nil)
		if again := d.Decode(&frame, out); again != o || o.OK() && (out.Src != first.Src || out.Dst != first.Dst || out.ID != first.ID || out.HopLimit != first.HopLimit || out.Missing != first.Missing || out.count != first.count || !bytes.Equal(out.Payload, first.Payload)) {
			t.Fatalf("%v, and then %v", o, again)
		}
		AppendQuoted(nil, linkType, data)
	})
}

// FuzzStream decodes many frames with one decoder that has little memory. The
// input is frames after one another, each with its length and time before it.
func FuzzStream(f *testing.F) {
	link := uint16(linkRawIP)
	var all []byte
	add := func(data []byte) {
		all = append(all, byte(len(data)>>8), byte(len(data)), 1)
		all = append(all, data...)
	}
	for _, p := range split4(server4, client4, protoUDP, 7, 64, udp(serverPort, clientPort, sized(300))) {
		add(p)
	}
	for _, p := range split6(near6, far6, protoUDP, 7, 64, udp(5, portVXLAN, vxlanFrame(1, ether(typeIPv4, split4(server4, client4, protoUDP, 7, 64, sized(300))[1])))) {
		add(p)
	}
	f.Add(link, all)
	seedFrames(f, func(linkType uint16, data []byte) {
		all = all[:0]
		add(data)
		add(data)
		f.Add(linkType, bytes.Clone(all))
	})
	f.Fuzz(func(t *testing.T, linkType uint16, data []byte) {
		const budget = 8 << 10
		b, lost := reassembly.NewBudget(budget), 0
		d := NewDecoder(b, reassembly.Limits{Sets: 6, Pieces: 8, Age: time.Second}, func(l *Loss) {
			if len(l.Frames) == 0 || len(l.Missing) == 0 {
				t.Fatalf("lost without a reason: %+v", l)
			}
			lost++
		})
		out := new(Datagram)
		var frames, outcomes uint64
		at := second(0)
		for len(data) >= 3 {
			n := int(binary.BigEndian.Uint16(data))
			at = at.Add(time.Duration(int8(data[2])) * 10 * time.Millisecond)
			data = data[3:]
			n = min(n, len(data))
			frames++
			o := d.Decode(&Frame{Number: frames, Time: at, LinkType: linkType, Data: bytes.Clone(data[:n])}, out)
			if o == Joined && (len(out.Frames) == 0 || !slices.Contains(out.Frames, frames) || out.Frame != frames) {
				t.Fatalf("frame %d of %v", out.Frame, out.Frames)
			}
			if b.Used() > budget {
				t.Fatalf("%d bytes used", b.Used())
			}
			if frames%5 == 0 {
				d.Expire(at)
			}
			data = data[n:]
		}
		d.Flush()
		if b.Used() != 0 {
			t.Fatalf("%d bytes are counted at the end", b.Used())
		}
		for _, n := range d.Counts() {
			outcomes += n
		}
		if outcomes != frames {
			t.Fatalf("%d outcomes of %d frames", outcomes, frames)
		}
	})
}

// FuzzFragments cuts a datagram into fragments as the input says, sends them
// in an order that the input says, some twice, in one of many tunnels, and
// wants it back.
func FuzzFragments(f *testing.F) {
	f.Add(uint16(1934), uint8(185), uint8(0), []byte("\x01\x00"))
	f.Add(uint16(300), uint8(5), uint8(3), []byte("\x05\x04\x03\x02\x01\x00"))
	f.Add(uint16(4684), uint8(72), uint8(6), []byte("\x01\x02\x81\x07\x09"))
	f.Fuzz(func(t *testing.T, size uint16, step, how uint8, order []byte) {
		const maxFragments = 60 // with copies, below the limit of pieces
		n := int(size) % 9000
		unit := max(fragmentUnit*int(step), (n/maxFragments+fragmentUnit)/fragmentUnit*fragmentUnit)
		src, dst := server4, client4
		if how&1 != 0 {
			src, dst = server6, client6
		}
		payload := sized(n)
		seg := withSum(src, dst, udp(serverPort, clientPort, payload))
		var parts [][]byte
		if how&1 == 0 {
			parts = split4(src, dst, protoUDP, 7, unit, seg)
		} else {
			parts = split6(src, dst, protoUDP, 7, unit, seg)
		}
		if len(parts) < 2 {
			return
		}
		wrap := func(b []byte) []byte { return ether([]int{typeIPv4, typeIPv6}[how&1], b) }
		for _, layer := range []uint8{how >> 1 & 3, how >> 3 & 3} {
			inner := wrap
			switch layer {
			case 1:
				wrap = func(b []byte) []byte {
					return ether(typeIPv4, ip4(near4, far4, protoGRE, gre(0, typeTEB, "", inner(b))))
				}
			case 2:
				wrap = func(b []byte) []byte { return tunnel4(portVXLAN, vxlanFrame(42, inner(b))) }
			case 3:
				wrap = func(b []byte) []byte {
					return ether(typeIPv6, ip6(near6, far6, protoUDP, udp(6, portGeneve, geneveFrame(typeTEB, 42, "", inner(b)))))
				}
			}
		}
		// The order: those that the input names, copies of them, the rest.
		var sent []int
		for _, b := range order {
			sent = append(sent, int(b&0x7f)%len(parts))
			if len(sent) > 4*maxFragments {
				break
			}
		}
		for i := range parts {
			sent = append(sent, i)
		}
		r := newRig(t)
		have := map[int]bool{}
		done := false
		for _, i := range sent {
			o := r.frame(linkEthernet, wrap(parts[i]))
			switch {
			case done:
				// Copies, and perhaps all of them once more.
				if o != FragmentLate && o != Joined {
					t.Fatalf("fragment %d after the whole is %v", i, o)
				}
				if o == Joined && !bytes.Equal(r.out.Payload, payload) {
					t.Fatal("the copy is another datagram")
				}
			case have[i]:
				if o != FragmentDuplicate {
					t.Fatalf("a copy of fragment %d is %v", i, o)
				}
			case len(have) < len(parts)-1:
				if o != FragmentHeld {
					t.Fatalf("fragment %d is %v", i, o)
				}
				have[i] = true
			default:
				if o != Joined || !bytes.Equal(r.out.Payload, payload) || r.out.Missing != 0 {
					t.Fatalf("the last fragment, %d, is %v", i, o)
				}
				if r.out.Src != netip.AddrPortFrom(src, serverPort) || r.out.Dst != netip.AddrPortFrom(dst, clientPort) {
					t.Fatalf("%v > %v", r.out.Src, r.out.Dst)
				}
				for _, a := range r.out.Anomalies() {
					if a.Kind != FragmentsDuplicated && a.Kind != FragmentsReordered {
						t.Fatal(a)
					}
				}
				done = true
			}
		}
		r.flush()
		if !done || len(r.losses) > 0 {
			t.Fatalf("done %v, losses %+v", done, r.losses)
		}
	})
}
