package packet

import (
	"net/netip"
	"time"

	"github.com/qdissect/qdissect/reassembly"
)

// fragmentUnit is the unit of fragment offsets, in bytes.
const fragmentUnit = 8

// maxJoins limits how often one frame may complete a packet that is a fragment itself, as
// in nested tunnels that are all fragmented.
const maxJoins = 4

// piece is an IP fragment.
type piece struct {
	ip     []byte // begins with the IP header
	data   []byte
	wire   int  // length on the wire
	exact  bool // whether wire is known exactly
	proto  byte
	id     uint32
	offset int // bytes
	more   bool
}

// carriesDatagrams reports whether fragments of a protocol are joined: UDP, and protocols
// that can carry it.
func carriesDatagrams(proto byte, v6 bool) bool {
	switch proto {
	case protoUDP, protoGRE, protoIPv4, protoIPv6, protoAH:
		return true
	case protoDestinations, protoRouting, protoFragment:
		return v6
	}
	return false
}

// fragment adds an IP fragment to its packet, and decodes the packet if it is complete.
func (d *Decoder) fragment(f *Frame, out *Datagram, p piece) Outcome {
	v6 := isIPv6(p.ip)
	switch {
	case !carriesDatagrams(p.proto, v6):
		return FragmentOther
	case p.wire <= 0 || p.more && p.wire%fragmentUnit != 0:
		return FragmentBad
	case !p.exact && p.wire == len(p.data):
		return FragmentBad // without an IP length, the data may include padding
	case d.joins == maxJoins:
		return TooDeep
	}
	frames := d.frames
	if d.joins == 0 {
		d.single[0] = f.Number
		frames = d.single[:]
	} else {
		// The header lies in a joined packet, whose memory the next packet reuses.
		p.ip = d.header[:copy(d.header[:], p.ip)]
	}
	whole, verdict := d.ranges.Add(d.key(p, v6), reassembly.Fragment{
		Offset: p.offset, More: p.more, Data: p.data, Length: p.wire, Frames: frames, Time: f.Time,
	})
	switch verdict {
	case reassembly.Held:
		out.Src, out.Dst = netip.AddrPort{}, netip.AddrPort{}
		if p.proto == protoUDP {
			src, dst := Addresses(p.ip)
			var srcPort, dstPort uint16
			if p.offset == 0 && len(p.data) >= udpHeader {
				srcPort, dstPort = uint16(be16(p.data)), uint16(be16(p.data[2:]))
			}
			out.Src, out.Dst = netip.AddrPortFrom(src, srcPort), netip.AddrPortFrom(dst, dstPort)
		}
		return FragmentHeld
	case reassembly.Duplicate:
		return FragmentDuplicate
	case reassembly.Conflict:
		return FragmentConflict
	case reassembly.Late:
		return FragmentLate
	case reassembly.Refused:
		return FragmentRefused
	}
	if first := whole.First(); d.joins == 0 || first.Before(d.first) {
		d.first = first
	}
	d.joins++
	d.sum = true
	d.frames = append(d.frames[:0], whole.Frames()...)
	out.judgeFragments(whole)
	o := d.transport(f, out, p.ip, p.proto, whole.Data(), whole.Total(), true)
	if !o.sane() {
		return JoinedBad // the fragments are used up: no alternative decoding may be tried
	}
	return o
}

func (d *Datagram) judgeFragments(whole *reassembly.Fragments) {
	if n := whole.Duplicates(); n > 0 {
		d.note(FragmentsDuplicated, 0, n)
	}
	if n := whole.Overlaps(); n > 0 {
		d.note(FragmentsOverlap, 0, n)
	}
	if n := whole.Conflicts(); n > 0 {
		d.note(FragmentsConflict, 0, n)
	}
	if whole.OutOfOrder() {
		d.note(FragmentsReordered, 0, 1)
	}
}

// A [reassembly.Key] identifies the packet of a fragment. Besides the addresses it holds,
// in Space, the IP protocol and this bit for IPv6; in the lower half of ID, the
// identification; in the upper half of ID and in the ports, which fragments lack, the
// scope.
const spaceIPv6 = 1 << 8

func (d *Decoder) key(p piece, v6 bool) reassembly.Key {
	k := reassembly.Key{SrcPort: uint16(d.scope >> 16), DstPort: uint16(d.scope), Space: uint32(p.proto), ID: d.scope>>32<<32 | uint64(p.id)}
	if v6 {
		k.Space |= spaceIPv6
	}
	src, dst := Addresses(p.ip)
	k.Src, k.Dst = src.As16(), dst.As16()
	return k
}

// A Loss is an IP packet with missing fragments. All lists are borrowed.
type Loss struct {
	// Reason is why the packet was given up.
	Reason reassembly.Reason
	// Src and Dst are the addresses; the ports are 0 if Headed is not set.
	Src, Dst netip.AddrPort
	// Protocol is the IP protocol of the fragments: 17 for UDP, others for tunnels.
	Protocol uint8
	// ID is the identification: 16 bits in IPv4, 32 bits in IPv6.
	ID uint32
	// Headed reports whether the fragment with the UDP header is present.
	Headed bool
	// Payload is the beginning of the UDP payload: the part in the first fragment.
	Payload []byte
	// Frames are the numbers of the frames, in order of arrival.
	Frames []uint64
	// First and Last are the times of the first and the newest fragment.
	First, Last time.Time
	// Have is the number of bytes present. Total is the length of the packet without the
	// IP header, 0 if the last fragment is missing.
	Have, Total int
	// Missing are the gaps, in bytes after the IP header.
	Missing []reassembly.Gap
	// Duplicates, Overlaps and Conflicts count fragments as the anomalies with these names
	// do.
	Duplicates, Overlaps, Conflicts int
}

// incomplete reports a packet that was given up.
func (d *Decoder) incomplete(v *reassembly.Fragments, why reassembly.Reason) {
	if d.lost == nil {
		return
	}
	k := v.Key()
	src, dst := netip.AddrFrom16(k.Src), netip.AddrFrom16(k.Dst)
	if k.Space&spaceIPv6 == 0 {
		src, dst = src.Unmap(), dst.Unmap()
	}
	d.gaps = v.Missing(d.gaps[:0])
	d.loss = Loss{
		Reason: why, Protocol: uint8(k.Space), ID: uint32(k.ID),
		Frames: v.Frames(), First: v.First(), Last: v.Last(), Have: v.Have(), Total: v.Total(), Missing: d.gaps,
		Duplicates: v.Duplicates(), Overlaps: v.Overlaps(), Conflicts: v.Conflicts(),
	}
	var srcPort, dstPort uint16
	if seg := v.Head(); k.Space&^spaceIPv6 == protoUDP && len(seg) >= udpHeader {
		srcPort, dstPort = uint16(be16(seg)), uint16(be16(seg[2:]))
		d.loss.Headed, d.loss.Payload = true, seg[udpHeader:]
	}
	d.loss.Src, d.loss.Dst = netip.AddrPortFrom(src, srcPort), netip.AddrPortFrom(dst, dstPort)
	d.lost(&d.loss)
}
