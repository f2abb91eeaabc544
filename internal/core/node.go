package core

import (
	"encoding/binary"
	"math"
	"net/netip"
)

// A Node is one field of a payload. Nodes form a flat slice in preorder: the
// children of a group or list follow it with a greater depth. Leaves do not overlap
// and together cover every byte of their source.
type Node struct {
	Field *Field
	// Num is the value of a number, the bits of a float (as float64), the
	// port of an endpoint.
	Num uint64
	// Off and Len are the extent in the source in bytes, including length prefix,
	// delimiters and terminator.
	Off, Len uint32
	// Source is the number of the data source.
	Source uint16
	// Depth is the nesting, 0 at the top.
	Depth uint8
	// Wide says that the value is text in UTF-16, little-endian.
	Wide bool

	pre, suf uint16 // bytes of the extent before and after the value itself
}

// Float returns the value of a [Float].
func (n *Node) Float() float64 { return math.Float64frombits(n.Num) }

// Int returns the value of an [Int].
func (n *Node) Int() int64 { return int64(n.Num) }

// Value returns the bytes of the value without prefix, delimiters and terminator.
// data is that of the source of the node.
func (n *Node) Value(data []byte) []byte {
	return data[n.Off+uint32(n.pre) : n.Off+n.Len-uint32(n.suf)]
}

// Span returns the offset and the length of the value.
func (n *Node) Span() (from, size int) {
	return int(n.Off) + int(n.pre), int(n.Len) - int(n.pre) - int(n.suf)
}

// Text returns the value of a text: as on the wire, or in UTF-8 if that is wide, for
// which it appends to dst.
func (n *Node) Text(dst, data []byte) []byte {
	if n.Wide {
		return AppendUTF16(dst, n.Value(data), binary.LittleEndian)
	}
	return n.Value(data)
}

// Style returns the kind of colour codes that the text may hold.
func (n *Node) Style() Style {
	if n.Wide {
		return n.Field.Style.Wide()
	}
	return n.Field.Style
}

// Bytes returns the bytes of the whole extent.
func (n *Node) Bytes(data []byte) []byte { return data[n.Off : n.Off+n.Len] }

// Endpoint returns the value of an [Endpoint]. An IPv4 address that is mapped into
// IPv6 is returned as what it is.
func (n *Node) Endpoint(data []byte) netip.AddrPort {
	v := n.Value(data)
	if len(v) >= 16 {
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(v)).Unmap(), uint16(n.Num))
	}
	if len(v) >= 4 {
		ip := [4]byte(v)
		if n.Field.Inverted {
			ip = [4]byte{^ip[0], ^ip[1], ^ip[2], ^ip[3]}
		}
		return netip.AddrPortFrom(netip.AddrFrom4(ip), uint16(n.Num))
	}
	return netip.AddrPort{}
}

// A Source is a run of bytes that nodes refer to: the payload of a datagram, the
// message joined from parts, or decompressed data.
type Source struct {
	// Name is "payload", "part", "joined", "decompressed" or what a protocol
	// calls it.
	Name string
	// Frame is the frame that carried it, 0 for joined or decompressed data.
	Frame uint64
	Data  []byte
	// Header is the length of the split header of a part.
	Header int
}
