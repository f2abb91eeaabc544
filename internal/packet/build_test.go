package packet

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/qdissect/qdissect/reassembly"
)

// Builders of headers, from inner to outer: ether(typeIPv4, ip4(client, server,
// protoUDP, udp(50000, 27015, query))).

var (
	client4 = netip.MustParseAddr("192.0.2.20")
	server4 = netip.MustParseAddr("198.51.100.10")
	client6 = netip.MustParseAddr("2001:db8:2::20")
	server6 = netip.MustParseAddr("2001:db8:1::10")
	// The ends of tunnels.
	near4 = netip.MustParseAddr("203.0.113.1")
	far4  = netip.MustParseAddr("203.0.113.2")
	near6 = netip.MustParseAddr("2001:db8:f::1")
	far6  = netip.MustParseAddr("2001:db8:f::2")
)

const (
	clientPort = 50000
	serverPort = 27015
)

var query = []byte("\xff\xff\xff\xffTSource Engine Query\x00")

func cat(parts ...[]byte) []byte { return slices.Concat(parts...) }

func u16(n int) []byte    { return binary.BigEndian.AppendUint16(nil, uint16(n)) }
func u32(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

func ether(t int, b ...[]byte) []byte {
	return cat([]byte("\x02\x00\x00\x00\x00\x10\x02\x00\x00\x00\x00\x20"), u16(t), cat(b...))
}

func vlan(id, t int, b []byte) []byte { return cat(u16(id), u16(t), b) }

func udp(src, dst int, b []byte) []byte {
	return cat(u16(src), u16(dst), u16(udpHeader+len(b)), u16(0), b)
}

func ip4(src, dst netip.Addr, proto int, b []byte) []byte {
	return ip4Fragment(src, dst, proto, 0, 0, false, b)
}

func ip4Fragment(src, dst netip.Addr, proto, id, offset int, more bool, b []byte) []byte {
	flags := offset / 8
	if more {
		flags |= 0x2000
	}
	return ip4Options(src, dst, proto, id, flags, nil, b)
}

func ip4Options(src, dst netip.Addr, proto, id, flags int, options, b []byte) []byte {
	h := cat([]byte{byte(0x45 + len(options)/4), 0}, u16(20+len(options)+len(b)), u16(id), u16(flags),
		[]byte{64, byte(proto), 0, 0}, src.AsSlice(), dst.AsSlice(), options)
	binary.BigEndian.PutUint16(h[10:], onesSum(h))
	return append(h, b...)
}

func ip6(src, dst netip.Addr, next int, b []byte) []byte {
	return cat([]byte("\x60\x00\x00\x00"), u16(len(b)), []byte{byte(next), 64}, src.AsSlice(), dst.AsSlice(), b)
}

// ext6 is an extension header with 8 bytes and n times 8 more.
func ext6(next, n int, b []byte) []byte {
	return cat([]byte{byte(next), byte(n), 1, byte(4 + 8*n)}, make([]byte, 4+8*n), b)
}

func frag6(next, id, offset int, more bool, b []byte) []byte {
	if more {
		offset |= 1
	}
	return cat([]byte{byte(next), 0}, u16(offset), u32(uint32(id)), b)
}

func ask4() []byte { return ip4(client4, server4, protoUDP, udp(clientPort, serverPort, query)) }
func ask6() []byte { return ip6(client6, server6, protoUDP, udp(clientPort, serverPort, query)) }

// sized returns a payload of n bytes that differs at every offset.
func sized(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8*7)
	}
	return b
}

// onesSum is the checksum of RFC 1071, byte by byte.
func onesSum(b ...[]byte) uint16 {
	sum := 0
	for i, c := range cat(b...) {
		if i%2 == 0 {
			sum += int(c) << 8
		} else {
			sum += int(c)
		}
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// withSum puts the right checksum into a UDP datagram.
func withSum(src, dst netip.Addr, seg []byte) []byte {
	seg = slices.Clone(seg)
	sum := cmp.Or(onesSum(src.AsSlice(), dst.AsSlice(), u16(protoUDP), u16(len(seg)), seg), 0xffff)
	binary.BigEndian.PutUint16(seg[6:], sum)
	return seg
}

// split4 cuts the UDP datagram seg into IPv4 fragments of at most size bytes,
// size being a multiple of 8.
func split4(src, dst netip.Addr, proto, id, size int, seg []byte) [][]byte {
	var out [][]byte
	for from := 0; from < len(seg); from += size {
		to := min(from+size, len(seg))
		out = append(out, ip4Fragment(src, dst, proto, id, from, to < len(seg), seg[from:to]))
	}
	return out
}

func split6(src, dst netip.Addr, next, id, size int, seg []byte) [][]byte {
	var out [][]byte
	for from := 0; from < len(seg); from += size {
		to := min(from+size, len(seg))
		out = append(out, ip6(src, dst, protoFragment, frag6(next, id, from, to < len(seg), seg[from:to])))
	}
	return out
}

func second(n float64) time.Time {
	return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).Add(time.Duration(n * float64(time.Second)))
}

// rig is a decoder with helpers for tests.
type rig struct {
	*Decoder
	t      testing.TB
	b      *reassembly.Budget
	n      uint64
	losses []Loss
	out    Datagram
}

func newRig(t testing.TB) *rig { return newRigWith(t, 0, reassembly.Limits{}) }

func newRigWith(t testing.TB, budget int, l reassembly.Limits) *rig {
	r := &rig{t: t, b: reassembly.NewBudget(budget)}
	r.Decoder = NewDecoder(r.b, l, func(l *Loss) {
		c := *l
		c.Frames, c.Missing, c.Payload = slices.Clone(l.Frames), slices.Clone(l.Missing), bytes.Clone(l.Payload)
		r.losses = append(r.losses, c)
	})
	return r
}

// frame decodes the next frame, one second after the previous one.
func (r *rig) frame(linkType uint16, b []byte) Outcome { return r.cut(linkType, b, len(b)) }

// cut decodes a frame of which only the first n bytes were captured.
func (r *rig) cut(linkType uint16, b []byte, n int) Outcome {
	r.n++
	return r.Decode(&Frame{Number: r.n, Time: second(float64(r.n) / 1000), LinkType: linkType, Data: slices.Clone(b[:n]), Length: len(b)}, &r.out)
}

// want decodes the next frame and checks the outcome.
func (r *rig) want(linkType uint16, b []byte, want Outcome) *Datagram {
	r.t.Helper()
	if got := r.frame(linkType, b); got != want {
		r.t.Fatalf("frame %d is %q, want %q", r.n, got, want)
	}
	return &r.out
}

// flush ends the input and checks that nothing is held.
func (r *rig) flush() {
	r.t.Helper()
	r.Flush()
	if r.b.Used() != 0 {
		r.t.Errorf("%d bytes are counted after everything was flushed", r.b.Used())
	}
}
