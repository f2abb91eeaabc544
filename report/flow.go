package report

import (
	"encoding/binary"
	"net/netip"

	"github.com/qdissect/qdissect/internal/nettext"
)

// A flowText is the text of both ends of a conversation, and of what follows from them.
type flowText struct {
	a, b       netip.AddrPort
	text       []byte // of a, of b, the rest
	aEnd, bEnd int
}

// flowTexts caches the texts of the most recent conversations.
type flowTexts struct {
	pairs [][2]*flowText
	ports bool   // the ends have their ports, and no Community ID follows
	tcp   []byte // the last Community ID over TCP
}

// flowPairs is half the number of cached texts.
const flowPairs = 1024

// of returns the text of a conversation, from src as a or as b.
func (t *flowTexts) of(src, dst netip.AddrPort) *flowText {
	if t.pairs == nil {
		t.pairs = make([][2]*flowText, flowPairs)
	}
	// The same place for both directions.
	pair := &t.pairs[uint32((hashEnd(src)+hashEnd(dst))*0x9e3779b97f4a7c15>>32)%flowPairs]
	for _, f := range pair {
		if f != nil && (f.a == src && f.b == dst || f.a == dst && f.b == src) {
			return f
		}
	}
	pair[0], pair[1] = pair[1], pair[0]
	f := pair[0]
	if f == nil {
		const most = len("[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535")*2 + len("1:AAAAAAAAAAAAAAAAAAAAAAAAAAA=")
		f = &flowText{text: make([]byte, 0, most)}
		pair[0] = f
	}
	f.a, f.b = src, dst
	f.text = t.appendEnd(f.text[:0], src)
	f.aEnd = len(f.text)
	f.text = t.appendEnd(f.text, dst)
	f.bEnd = len(f.text)
	if !t.ports {
		f.text = nettext.AppendFlowID(f.text, nettext.UDP, src, dst)
	}
	return f
}

func (t *flowTexts) appendEnd(b []byte, end netip.AddrPort) []byte {
	if t.ports {
		return nettext.AppendAddrPort(b, end)
	}
	return nettext.AppendAddr(b, end.Addr())
}

// ends returns the texts of the ends and the Community ID of a conversation.
func (t *flowTexts) ends(src, dst netip.AddrPort, tcp bool) (from, to, id []byte) {
	f := t.of(src, dst)
	from, to, id = f.text[:f.aEnd], f.text[f.aEnd:f.bEnd], f.text[f.bEnd:]
	if f.a != src {
		from, to = to, from
	}
	if tcp {
		t.tcp = nettext.AppendFlowID(t.tcp[:0], nettext.TCP, src, dst)
		id = t.tcp
	}
	return from, to, id
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
func (j *JSON) Ends(src, dst netip.AddrPort, tcp bool) (from, to, id []byte) {
	return j.flows.ends(src, dst, tcp)
}

// appendEnds appends the addresses and the Community ID.
func (j *JSON) appendEnds(b []byte, src, dst netip.AddrPort, noPorts, tcp bool) []byte {
	from, to, id := j.Ends(src, dst, tcp)
	b = append(b, `,"src_ip":"`...)
	b = append(b, from...)
	if noPorts {
		b = append(b, `","dst_ip":"`...)
		b = append(b, to...)
		return append(b, '"')
	}
	b = append(b, `","src_port":`...)
	b = nettext.AppendUint(b, uint64(src.Port()))
	b = append(b, `,"dst_ip":"`...)
	b = append(b, to...)
	b = append(b, `","dst_port":`...)
	b = nettext.AppendUint(b, uint64(dst.Port()))
	b = append(b, `,"flow_id":"`...)
	b = append(b, id...)
	return append(b, '"')
}
