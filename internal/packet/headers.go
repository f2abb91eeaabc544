package packet

// A Header says where a header lies in a frame: At is its offset, Len its length.
// What it is of, itself included, ends at End, as far as it was captured.
type Header struct {
	Kind         HeaderKind
	At, Len, End int
}

// A HeaderKind says what a header is.
type HeaderKind uint8

const (
	// HeaderOther: a header that is none of the following.
	HeaderOther HeaderKind = iota
	// HeaderEthernet: addresses and EtherType.
	HeaderEthernet
	// HeaderSLL: LINKTYPE_LINUX_SLL.
	HeaderSLL
	// HeaderSLL2: LINKTYPE_LINUX_SLL2.
	HeaderSLL2
	// HeaderFamily: LINKTYPE_NULL and LINKTYPE_LOOP.
	HeaderFamily
	// HeaderPPP: link types of PPP.
	HeaderPPP
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
	// HeaderExtension: options (hop by hop, or for the destination) or a route.
	HeaderExtension
	// HeaderFragment: the extension header of a fragment.
	HeaderFragment
	// HeaderUDP: that of the datagram, or of what carries a tunnel.
	HeaderUDP
	// HeaderGRE: version 0, with the header of ERSPAN I and II.
	HeaderGRE
	// HeaderVXLAN has no options.
	HeaderVXLAN
	// HeaderGeneve: with options.
	HeaderGeneve
	// HeaderGTPU: with extension headers.
	HeaderGTPU
)

// MapHeaders makes the decoder note where headers lie.
func (d *Decoder) MapHeaders() { d.headers = make([]Header, 0, 16) }

// Headers returns, after [Decoder.MapHeaders], where the headers of the frame lie
// that was decoded last: if that has a datagram, all from the link to UDP, each
// beginning where the one before it ends; if it is a fragment, all in front of
// what it carries. It is borrowed.
func (d *Decoder) Headers() []Header { return d.headers }

// lies notes that b begins with a header of n bytes. It costs nothing if nobody
// asked.
func (d *Decoder) lies(k HeaderKind, b []byte, n int) {
	if d.headers != nil {
		d.mapHeader(k, b, n)
	}
}

// mapHeader knows where b begins by its capacity: it was cut from the frame, unless
// fragments were joined.
//
//go:noinline
func (d *Decoder) mapHeader(k HeaderKind, b []byte, n int) {
	if at := d.room - cap(b); d.joins == 0 && n > 0 {
		d.headers = append(d.headers, Header{k, at, n, at + len(b)})
	}
}

// linkKind tells the headers of link types apart.
func linkKind(linkType uint16) HeaderKind {
	switch linkType {
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
