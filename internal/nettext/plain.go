package nettext

import (
	"encoding/binary"
	"net/netip"
	"strconv"
)

// HighBits has the high bit of each byte of a word.
const HighBits = 0x80 * ones

const ones = 0x0101010101010101

// These are variables because the compiler would load constants anew for each word.
var one, twos, carets, backslashes, blanks uint64 = ones, ones * 2, ones * '^', ones * '\\', ones * ('"' ^ 2 + 1)

// Special sets the high bits of the bytes of v that cannot simply be copied into a
// JSON string: what is not printable ASCII, quotes, backslashes, and carets, with which
// colour codes begin. The bits above the lowest one may be wrong.
func Special(v uint64) uint64 {
	controls := (v ^ twos) - blanks // and quotes, which change places with blanks
	slashes := ((v | twos) ^ carets) - one
	return controls | slashes | (v + one) | v
}

// Escaped is Special without carets.
func Escaped(v uint64) uint64 {
	controls := (v ^ twos) - blanks
	slashes := (v ^ backslashes) - one
	return controls | slashes | (v + one) | v
}

// Plain reports whether no byte of s is special.
func Plain(s []byte) bool {
	found := uint64(0)
	for ; len(s) >= 8; s = s[8:] {
		found |= Special(binary.LittleEndian.Uint64(s))
	}
	last := uint64(0)
	for _, c := range s {
		last = last<<8 | uint64(c)
	}
	last |= ones * 'a' << (8 * len(s))
	return (found|Special(last))&HighBits == 0
}

// octets holds the bytes of an IPv4 address in decimal, each with a dot after it, and their lengths with the dot.
var octets, lengths = func() (text [256][4]byte, n [256]uint8) {
	for i := range text {
		n[i] = uint8(len(append(strconv.AppendUint(text[i][:0], uint64(i), 10), '.')))
	}
	return text, n
}()

// ByteRoom is the room that [PutByte] takes.
const ByteRoom = 4

// PutByte writes a number in decimal to the start of b, and perhaps something after it. It returns the length of the number.
func PutByte(b []byte, v uint8) int {
	*(*[ByteRoom]byte)(b[:ByteRoom]) = octets[v]
	return int(lengths[v]) - len(".")
}

// AppendAddr appends an address as a.AppendTo does.
func AppendAddr(dst []byte, a netip.Addr) []byte {
	const most = len("255.255.255.255.")
	if a.Is6() && !a.Is4In6() && a.Zone() == "" {
		return appendAddr6(dst, a.As16())
	}
	if !a.Is4() || cap(dst)-len(dst) < most {
		return a.AppendTo(dst)
	}
	to, at := dst[:cap(dst)], len(dst)
	for _, c := range a.As4() {
		*(*[4]byte)(to[at : at+4]) = octets[c]
		at += int(lengths[c])
	}
	return dst[:at-1]
}

// appendAddr6 appends an IPv6 address in the form of RFC 5952: two colons replace the first of the longest runs of zeros.
func appendAddr6(dst []byte, a [16]byte) []byte {
	const groups = 8
	from, to := groups, groups
	for i := 0; i < groups; i++ {
		start := i
		for i < groups && a[2*i]|a[2*i+1] == 0 {
			i++
		}
		if n := i - start; n > 1 && n > to-from {
			from, to = start, i
		}
	}
	for i := 0; i < groups; i++ {
		switch {
		case i == from:
			dst = append(dst, ':', ':')
			i = to - 1
			continue
		case i > 0 && i != to:
			dst = append(dst, ':')
		}
		high, low := a[2*i], a[2*i+1]
		if high > 0xf {
			dst = append(dst, hexDigits[high>>4])
		}
		if high > 0 {
			dst = append(dst, hexDigits[high&15])
		}
		if high > 0 || low > 0xf {
			dst = append(dst, hexDigits[low>>4])
		}
		dst = append(dst, hexDigits[low&15])
	}
	return dst
}

// AppendAddrPort appends an address with its port as a.AppendTo does.
func AppendAddrPort(dst []byte, a netip.AddrPort) []byte {
	switch ip := a.Addr(); {
	case ip.Is4():
		dst = append(AppendAddr(dst, ip), ':')
	case ip.Is6():
		dst = append(AppendAddr(append(dst, '['), ip), ']', ':')
	default:
		return a.AppendTo(dst)
	}
	return AppendUint(dst, uint64(a.Port()))
}
