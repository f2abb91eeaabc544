package packet

// A Header is the position of a header in a frame: At is its offset, Len its length. End
// is the offset where the captured packet of that header ends.
type Header struct {
	Kind         HeaderKind
	At, Len, End int
}

// A HeaderKind is a kind of header.
type HeaderKind uint8

const (
	// HeaderOther is any other header.
	HeaderOther HeaderKind = iota
	// HeaderEthernet: addresses and EtherType.
	HeaderEthernet
	// HeaderSLL: LINKTYPE_LINUX_SLL.
	HeaderSLL
	// HeaderSLL2: LINKTYPE_LINUX_SLL2.
	HeaderSLL2
	// HeaderFamily: LINKTYPE_NULL and LINKTYPE_LOOP.
	HeaderFamily
	// HeaderPPP: the link types of PPP.
	HeaderPPP
	// HeaderNFLOG: down to the packet, whose length is in the last 4 bytes.
	HeaderNFLOG
	// HeaderVLAN: one tag, without the EtherType before it and with the one after it.
	HeaderVLAN
	// HeaderMPLS: a stack of labels.
	HeaderMPLS
	// HeaderPPPoE: PPPoE and PPP.
	HeaderPPPoE
	// HeaderIPv4: with options.
	HeaderIPv4
	// HeaderIPv6: without extension headers.
	HeaderIPv6
	// HeaderExtension: hop-by-hop options, destination options, a routing, mobility, HIP
	// or shim6 header.
	HeaderExtension
	// HeaderFragment: the extension header of a fragment.
	HeaderFragment
	// HeaderUDP: the UDP header of the datagram or of a tunnel.
	HeaderUDP
	// HeaderGRE: version 0, with the header of ERSPAN I and II.
	HeaderGRE
	// HeaderVXLAN has no options.
	HeaderVXLAN
	// HeaderGeneve: with options.
	HeaderGeneve
)

// MapHeaders makes the decoder record the positions of headers.
func (d *Decoder) MapHeaders() { d.headers = make([]Header, 0, 16) }

// Headers returns the headers of the frame that was decoded last, if [Decoder.MapHeaders]
// was called. For a datagram these are all headers from the link to UDP, each beginning
// where the previous one ends; for a fragment, all headers before its data. The slice is
// borrowed.
func (d *Decoder) Headers() []Header { return d.headers }

// lies records that b begins with a header of n bytes. It does nothing unless headers are
// mapped.
func (d *Decoder) lies(k HeaderKind, b []byte, n int) {
	if d.headers != nil {
		d.mapHeader(k, b, n)
	}
}

// mapHeader computes the offset of b from its capacity, because b is a slice of the frame
// unless fragments were joined.
//
//go:noinline
func (d *Decoder) mapHeader(k HeaderKind, b []byte, n int) {
	if at := d.room - cap(b); d.joins == 0 && n > 0 {
		d.headers = append(d.headers, Header{k, at, n, at + len(b)})
	}
}

// linkKind returns the kind of header that a link type has.
func linkKind(linkType uint16) HeaderKind {
	switch linkType {
	case linkEthernet:
		return HeaderEthernet
	case linkNFLOG:
		return HeaderNFLOG
	case linkNull, linkLoop:
		return HeaderFamily
	case linkSLL:
		return HeaderSLL
	case linkSLL2:
		return HeaderSLL2
	case linkPPP, linkPPPHDLC:
		return HeaderPPP
	}
	return HeaderOther
}
