package nettext

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"net/netip"
)

// UDP is the number of UDP among the protocols of IP.
const UDP = 17

// AppendFlowID appends the Community ID, version 1 with seed 0, of a conversation:
// the same text in both directions, and the same as Zeek, Suricata and Arkime give.
// See https://github.com/corelight/community-id-spec.
func AppendFlowID(b []byte, protocol uint8, src, dst netip.AddrPort) []byte {
	if src.Compare(dst) > 0 {
		src, dst = dst, src
	}
	var hashed [2 + 16 + 16 + 2 + 4]byte // seed, addresses, protocol and padding, ports
	in := hashed[:2]
	for _, a := range [...]netip.Addr{src.Addr(), dst.Addr()} {
		if a.Is4() {
			v := a.As4()
			in = append(in, v[:]...)
		} else {
			v := a.As16()
			in = append(in, v[:]...)
		}
	}
	in = append(in, protocol, 0)
	in = binary.BigEndian.AppendUint16(in, src.Port())
	in = binary.BigEndian.AppendUint16(in, dst.Port())
	sum := sha1.Sum(in)
	return base64.StdEncoding.AppendEncode(append(b, "1:"...), sum[:])
}
