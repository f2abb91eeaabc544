package valvemaster

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/internal/wire"
	"github.com/qdissect/qdissect/internal/core"
)

// The forms of type 1. The engine changed the format but not the letter.
type form uint8

const (
	formNone   form = iota
	formText        // region, address as text, filter
	formCursor      // WON: number of a server, filter
)

const (
	lastRegion = 7
	// longestSeed is the length of the longest address with a port, an IPv6
	// address.
	longestSeed = len("[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:65535")
	cursorForm  = 4 // length of the number
)

// formOf returns the form of a type 1 request; b follows the letter. seed is the
// text in the place of the address.
func formOf(b []byte) (f form, seed []byte) {
	if len(b) >= 2 {
		end := bytes.IndexByte(b[1:min(len(b), 1+longestSeed+1)], 0)
		if end > 0 && plain(b[1:1+end]) {
			return formText, b[1 : 1+end]
		}
	}
	switch {
	case len(b) == cursorForm && plain(b[1:3]): // a truncated address; WON never had that many servers
	case len(b) == cursorForm, len(b) > cursorForm && b[cursorForm] == '\\':
		return formCursor, nil
	case len(b) >= 2 && (b[0] <= lastRegion || b[0] == everywhere) && b[1] == 0 && len(b) != cursorForm:
		// No address or zeros, then a filter or nothing. The 49th packet of every
		// connection to a Quake game begins the same way.
		if rest := bytes.TrimLeft(b[1:], "\x00"); len(rest) > 0 && rest[0] == '\\' || len(rest) == 0 && len(b) <= 1+6+1 {
			return formText, nil
		}
	}
	return formNone, nil
}

// plain reports whether b is printable ASCII without blanks.
func plain(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c <= ' ' || c >= 0x7f })
}

// parseSeed parses an address and a port.
func parseSeed(s string) (netip.AddrPort, bool) {
	if len(s) > 0 && s[0] == '[' {
		a, err := netip.ParseAddrPort(s)
		return a, err == nil
	}
	return parseSeed4(s)
}

// parseSeed4 parses an IPv4 address and a port. Unlike netip it allocates no errors.
func parseSeed4[T string | []byte](s T) (netip.AddrPort, bool) {
	var v [5]int
	i := 0
	for k := range v {
		start := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' && i-start < 5 {
			v[k] = v[k]*10 + int(s[i]-'0')
			i++
		}
		switch {
		case i == start, k < 4 && v[k] > 255, v[k] > 65535:
			return netip.AddrPort{}, false
		case k == 4:
			return netip.AddrPortFrom(netip.AddrFrom4([4]byte{byte(v[0]), byte(v[1]), byte(v[2]), byte(v[3])}), uint16(v[4])), i == len(s)
		case i == len(s) || s[i] != "...:"[k]:
			return netip.AddrPort{}, false
		}
		i++
	}
	return netip.AddrPort{}, false
}

// page returns the number that stands for an address in [dissect.Pair]: where a list
// continues. 0 is the beginning and the end.
func page(a netip.AddrPort) uint64 {
	addr := a.Addr().Unmap()
	if addr.Is4() {
		ip := addr.As4()
		return uint64(binary.BigEndian.Uint32(ip[:]))<<16 | uint64(a.Port())
	}
	ip := addr.As16()
	hi, lo := binary.BigEndian.Uint64(ip[:]), binary.BigEndian.Uint64(ip[8:])
	return hi*31 + lo*17 + uint64(a.Port())
}

// decodeServersRequest reads type 1 ("Client to master server", "Format").
func (d *decoder) decodeServersRequest(r *dissect.Reader, m *dissect.Message, _ byte) {
	q := wire.Body(m, &d.serversRequest, ServersRequest{Conditions: d.serversRequest.Conditions[:0]})
	if f, _ := formOf(r.Peek()); f == formCursor {
		q.Cursor = dissect.Some(r.U32(fCursor))
		m.Pair.Page = uint64(q.Cursor.Value)
		if r.More() {
			d.readFilter(r, m)
		}
		return
	}
	at := r.Offset()
	region := r.U8(fRegion)
	if q.Region = dissect.Some(region); region > lastRegion && region != everywhere {
		r.Find(badRegion, fRegion, at, 1, dissect.Num(region))
	}
	at = r.Offset()
	q.Seed = r.CString(fSeed)
	if r.Failed() {
		return
	}
	var ok bool
	if q.Address, ok = parseSeed(q.Seed); ok {
		m.Pair.Page = page(q.Address)
	} else {
		r.Find(badSeed, fSeed, at, len(q.Seed), dissect.Str(q.Seed))
	}
	d.readFilter(r, m)
	m.Pair.Scope = 1<<63 | wire.Hash(q.Filter)<<8 | uint64(region)
}

// decodeOldRequest reads type e, with a number of 3 or 4 bytes, and type c (WON).
func (d *decoder) decodeOldRequest(r *dissect.Reader, m *dissect.Message, letter byte) {
	q := wire.Body(m, &d.serversRequest, ServersRequest{Conditions: d.serversRequest.Conditions[:0]})
	if letter == typeBatchRequest {
		// qstat sends only 3 bytes of the number.
		q.Cursor = dissect.Some(uint32(core.UintN(r, fCursor, min(max(r.Left(), 3), 4))))
		m.Pair.Page = uint64(q.Cursor.Value)
		return
	}
	skipLine(r)
	readNul(r)
}

const (
	entry4 = 4 + 2
	entry6 = 16 + 2
)

var zeros [entry6]byte

// decodeServersReply reads types f and d ("Reply format").
func (d *decoder) decodeServersReply(r *dissect.Reader, m *dissect.Message, letter byte) {
	p := wire.Body(m, &d.servers, ServersReply{Servers: d.servers.Servers[:0]})
	newLine := r.Bytes(fNewLine, 1)
	if letter == typeServersReply && len(newLine) == 1 && newLine[0] == '\r' {
		// WON: the number from which to continue.
		p.Cursor = dissect.Some(r.U32(fCursor))
	}
	if !p.Cursor.OK && r.Next(keyMark) && r.PeekByte(5) == keyEnd {
		r.U8(fKeyMark)
		p.Key = dissect.Some(r.U32(fReplyKey))
		r.U8(fKeyEnd)
	}
	if r.Failed() {
		return
	}
	at := r.Offset()
	size := entry4
	if n := r.Left(); n >= entry6 && n%entry6 == 0 && bytes.Equal(core.PeekFrom(r, n-entry6), zeros[:]) {
		size = entry6
		r.Note(listIPv6)
	}
	list := r.Begin(fServers)
	for n := listed(r.Peek(), size); n > 0 && r.More(); n-- {
		p.Servers = append(p.Servers, wire.Endpoint(r, fServer, size == entry6, false))
		if n > 2 && p.skimmed == 0 && core.Skim(r, 0) { // the pages need only the first and the last one
			p.skimmed = n - 2
			core.Pass(r, 0, p.skimmed*size)
			n -= p.skimmed
		}
	}
	r.End(list)
	if p.End = r.Left() >= size; p.End {
		wire.Endpoint(r, fEnd, size == entry6, false)
	} else if n := r.Left(); n > 0 {
		r.Find(listLength, fServers, r.Offset(), n, dissect.Num(n))
		r.Rest(catalog.Data())
	}
	switch {
	case p.Cursor.OK:
		// WON's lists end with the number 0 or -1.
		p.End = p.End || p.Cursor.Value == 0 || p.Cursor.Value == noCursor
		if !p.End {
			m.Pair.Page = uint64(p.Cursor.Value)
		}
	case letter == typeAllReply:
		p.End = true
	case len(p.Servers) == 0 && !p.End:
		r.Find(listEmpty, fServers, at, 0)
	case !p.End:
		m.Pair.Page = page(p.Servers[len(p.Servers)-1])
	}
	if m.Pair.Entries = len(p.Servers) + p.skimmed; m.Pair.Entries > 0 {
		m.Pair.Begins = page(p.Servers[0])
	}
}

// listed returns the number of entries of b before one of zeros.
func listed(b []byte, size int) (n int) {
	for len(b) >= size && (b[0] != 0 || !bytes.Equal(b[:size], zeros[:size])) {
		b = b[size:]
		n++
	}
	return n
}

const (
	keyMark  = 0x7f
	keyEnd   = 8
	noCursor = 1<<32 - 1 // "-1 for last batch" (proto_oob.h)
)
