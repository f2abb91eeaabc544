package report

import (
	"encoding/binary"
	"net/netip"
	"strconv"

	"github.com/qdissect/qdissect/internal/nettext"
)

// A flowText is the text of the addresses and the Community ID of a conversation.
type flowText struct {
	a, b       netip.AddrPort
	text       []byte // the address a, the address b, the ID
	aEnd, bEnd int
}

// flowTexts is the number of conversations whose texts are cached.
const flowTexts = 2048

// flowText returns the text of a conversation, from src as a or as b.
func (j *JSON) flowText(src, dst netip.AddrPort) *flowText {
	if j.flows == nil {
		j.flows = make([]flowText, flowTexts)
		const most = len("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")*2 + len("1:AAAAAAAAAAAAAAAAAAAAAAAAAAA=")
		texts := make([]byte, flowTexts*most)
		for i := range j.flows {
			j.flows[i].text = texts[i*most : i*most : (i+1)*most]
		}
	}
	// The same place for both directions.
	f := &j.flows[uint32((hashEnd(src)+hashEnd(dst))*0x9e3779b97f4a7c15>>32)%flowTexts]
	if f.a == src && f.b == dst || f.a == dst && f.b == src {
		return f
	}
	f.a, f.b = src, dst
	f.text = src.Addr().AppendTo(f.text[:0])
	f.aEnd = len(f.text)
	f.text = dst.Addr().AppendTo(f.text)
	f.bEnd = len(f.text)
	f.text = nettext.AppendFlowID(f.text, nettext.UDP, src, dst)
	return f
}

func hashEnd(a netip.AddrPort) (h uint64) {
	if ip := a.Addr(); ip.Is4() {
		v := ip.As4()
		h = uint64(binary.LittleEndian.Uint32(v[:]))
	} else {
		v := ip.As16()
		h = binary.LittleEndian.Uint64(v[:]) + 3*binary.LittleEndian.Uint64(v[8:])
	}
	return (h<<16 + uint64(a.Port())) * 0xd6e8feb86659fd93
}

// Ends returns the addresses and the Community ID of a conversation as text, which is
// borrowed.
func (j *JSON) Ends(src, dst netip.AddrPort) (from, to, id []byte) {
	f := j.flowText(src, dst)
	from, to, id = f.text[:f.aEnd], f.text[f.aEnd:f.bEnd], f.text[f.bEnd:]
	if f.a != src {
		from, to = to, from
	}
	return from, to, id
}

// appendEnds appends the addresses and the Community ID.
func (j *JSON) appendEnds(b []byte, src, dst netip.AddrPort, noPorts bool) []byte {
	from, to, id := j.Ends(src, dst)
	b = append(b, `,"src_ip":"`...)
	b = append(b, from...)
	if noPorts {
		b = append(b, `","dst_ip":"`...)
		b = append(b, to...)
		return append(b, '"')
	}
	b = append(b, `","src_port":`...)
	b = strconv.AppendUint(b, uint64(src.Port()), 10)
	b = append(b, `,"dst_ip":"`...)
	b = append(b, to...)
	b = append(b, `","dst_port":`...)
	b = strconv.AppendUint(b, uint64(dst.Port()), 10)
	b = append(b, `,"flow_id":"`...)
	b = append(b, id...)
	return append(b, '"')
}
