package quake3master

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/nettext"
)

// A layout is the format of the entries in a reply.
type layout struct {
	// mark reports whether a backslash precedes each entry, or a slash if it is an
	// IPv6 address.
	mark bool
	// prefix is between the mark and the address.
	prefix string
	// hex reports whether the address is in hexadecimal digits.
	hex bool
	// name describes all layouts but the first.
	name string
}

// layouts are the known layouts, in the order in which they are tried. Those with a
// mark come first because they are more certain.
var layouts = [...]layout{
	{mark: true},
	{mark: true, hex: true, name: "in hexadecimal digits, as from the master of Elite Force"},
	{mark: true, prefix: "\x00\x00\x00\x00\x04", name: "with five bytes before each address, as from the master of CoD4X"},
	{prefix: "\x00\x00\x00\x00\x04", name: "with five bytes before each address and no backslash"},
	{name: "without a backslash before each address"},
}

// The sizes of an address with its port.
const (
	size4 = 6
	size6 = 18
)

// entry returns the length of the entry at the start of b, and the offset of its
// address. Both are 0 if b has no whole entry; foreign then reports whether b does not
// even begin like one.
func (l *layout) entry(b []byte) (n, before int, foreign bool) {
	size := size4
	if l.mark {
		switch {
		case len(b) == 0 || b[0] != '\\' && b[0] != '/', b[0] == '/' && l.hex:
			return 0, 0, true
		case b[0] == '/':
			size = size6
		}
		before = 1
	}
	if l.hex {
		size *= 2
		for i, c := range b[before:min(len(b), before+size)] {
			if !hexDigit(c) && (c != ' ' || i%2 != 0) {
				return 0, 0, true
			}
		}
	}
	prefix := b[before:min(len(b), before+len(l.prefix))]
	if string(prefix) != l.prefix[:len(prefix)] {
		return 0, 0, true
	}
	before += len(l.prefix)
	if len(b) < before+size {
		return 0, 0, false
	}
	return before + size, before, false
}

// fits reports whether b consists of entries, of which the last one may be truncated.
// Without marks, only whole entries count, and text does not: masters explain in words
// why they send no list.
func (l *layout) fits(b []byte) bool {
	if !l.mark && len(b) > size4 && isText(b) {
		return false
	}
	entries := 0
	for len(b) > 0 && endOfList(b) == 0 {
		n, _, foreign := l.entry(b)
		if n == 0 {
			return !foreign && l.mark && (entries > 0 || !l.hex)
		}
		b = b[n:]
		entries++
	}
	return l.mark || entries > 0
}

// endOfList returns the length of the mark that ends the list, or 0 if b does not begin
// with one: \EOT, with zeros that complete an entry, or \EOF. Other bytes after the
// letters make them the address of a server.
func endOfList(b []byte) int {
	n := len("EOT")
	if len(b) > 0 && b[0] == '\\' {
		n++
	}
	if len(b) < n || string(b[n-3:n]) != "EOT" && string(b[n-3:n]) != "EOF" {
		return 0
	}
	zeros := b[n:min(len(b), n+maxZeros)]
	if len(bytes.Trim(zeros, "\x00")) > 0 {
		return 0
	}
	return n + len(zeros)
}

// maxZeros is the largest number of zeros after the mark that ends the list. Three
// complete an entry.
const maxZeros = 8

// maxPrelude is the largest number of bytes between the word and the first mark. The
// masters of Call of Duty send a new line and a zero byte there.
const maxPrelude = 4

// layoutOf returns the layout of the entries in b, or nil if it is unknown, and the
// number of bytes before them.
func layoutOf(b []byte) (prelude int, l *layout) {
	most := 0
	for most < min(len(b), maxPrelude) && blank(b[most]) {
		most++
	}
	for i := range layouts {
		l := &layouts[i]
		for n := 0; n <= most && (n == 0 || l.mark); n++ {
			if l.fits(b[n:]) {
				return n, l
			}
		}
	}
	return 0, nil
}

func isText(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return (c < ' ' || c >= 0x7f) && !ender(c) })
}

func hexDigit(c byte) bool { return digit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

// decodeReply reads the entries of one reply (dpmaster techinfo,
// "getserversResponse").
func (d *decoder) decodeReply(r *dissect.Reader, m *dissect.Message, n int) {
	p := &d.reply
	*p = ServersReply{Servers: p.Servers[:0]}
	m.Type, m.Body, m.Pair.Answers = mServersReply, p, topicServers
	r.Span(fCommand, 0, 0, n, 0)
	p.readNumbers(r)
	prelude, l := layoutOf(r.Peek())
	if l == nil {
		p.unread = true
		r.Fail(fServers, "no entries in a format that is known")
		return
	}
	if l.name != "" {
		r.Note(layoutUsed, dissect.Str(l.name))
	}
	if prelude > 0 {
		r.Bytes(fPrelude, prelude)
	}
	if l.hex {
		p.readHex(r, l)
	} else {
		p.readEntries(r, l)
	}
	if p.Fillers > 0 {
		r.Note(fillers, dissect.Num(p.Fillers))
	}
	m.Pair.Entries, m.Pair.Last = len(p.Servers), p.End != "" || p.Packets > 0 && p.Packet == p.Packets
}

// readNumbers reads the data that Tremulous' masters send before the entries: the
// number of the reply, the number of replies, and a label of the servers, each after a
// zero byte (cl_main.c, CL_GSRSequenceInformation).
func (p *ServersReply) readNumbers(r *dissect.Reader) {
	packet := zeroAndDigits(r.Peek())
	packets := zeroAndDigits(core.PeekFrom(r, packet))
	if packet == 0 || packets == 0 || r.PeekByte(packet+packets) != 0 {
		return
	}
	if n, ok := nettext.ParseInt(r.Span(fPacket, 0, 1, packet-1, 0)); ok {
		p.Packet = int(n)
	}
	if n, ok := nettext.ParseInt(r.Span(fPackets, 0, 1, packets-1, 1)); ok {
		p.Packets = int(n)
	}
	if label := r.Until("\\/\x00"); label > 0 {
		p.Label = r.Text(fLabel, label)
	}
}

// zeroAndDigits returns the length of a zero byte and digits at the start of b, or 0 if
// b does not begin so.
func zeroAndDigits(b []byte) int {
	if len(b) < 2 || b[0] != 0 || !digit(b[1]) {
		return 0
	}
	n := 2
	for n < len(b) && digit(b[n]) && n < 6 {
		n++
	}
	return n
}

// readEntries reads entries up to the end of the list or of the reply.
func (p *ServersReply) readEntries(r *dissect.Reader, l *layout) {
	open := r.Begin(fServers)
	for r.More() && endOfList(r.Peek()) == 0 {
		n, before, _ := l.entry(r.Peek())
		if n == 0 {
			break
		}
		p.readEntry(r, before, n-before)
	}
	r.End(open)
	p.readEnd(r)
	p.readRest(r)
}

// readRest reads data that is not a whole entry.
func (p *ServersReply) readRest(r *dissect.Reader) {
	if left := r.Left(); left > 0 && p.End == "" {
		r.Find(cut, nil, r.Offset(), left, dissect.Num(left))
		r.Rest(catalog.Data())
	}
}

// readEntry reads an entry: before bytes, and an address of size bytes.
func (p *ServersReply) readEntry(r *dissect.Reader, before, size int) {
	a := endpoint(core.PeekTo(r, before+size), size)
	f := fServer
	if a.Port() == 0 || a.Addr().IsUnspecified() {
		f = fFiller
	}
	if r.Span(f, uint64(a.Port()), before, size, 0); r.Failed() {
		return
	}
	if f == fFiller {
		p.Fillers++
	} else {
		p.Servers = append(p.Servers, a)
	}
}

// endpoint returns the address and port in the last n bytes of b, or the zero value if
// b is shorter.
func endpoint(b []byte, n int) netip.AddrPort {
	if len(b) < n {
		return netip.AddrPort{}
	}
	b = b[len(b)-n:]
	addr, _ := netip.AddrFromSlice(b[:n-2])
	return netip.AddrPortFrom(addr, binary.BigEndian.Uint16(b[n-2:]))
}

// readEnd reads the mark that ends the list, if there is one.
func (p *ServersReply) readEnd(r *dissect.Reader) {
	n := endOfList(r.Peek())
	if n == 0 {
		return
	}
	mark := 0
	if r.Next('\\') {
		mark = 1
	}
	p.End = r.Span(fListEnds, 0, mark, len("EOT"), n-mark-len("EOT"))
}

// readHex reads entries in hexadecimal digits: first the text, and then the decoded
// bytes as a source of their own.
func (p *ServersReply) readHex(r *dissect.Reader, l *layout) {
	decoded, text := l.unhex(core.Buffer(r), r.Peek())
	core.Keep(r, decoded)
	r.Text(fHex, text)
	p.readEnd(r)
	p.readRest(r)
	if n := r.Left(); n > 0 {
		// Said here, because another source follows.
		r.Find(core.Trailing, fTrailing, r.Offset(), n, dissect.Num(n))
		r.Rest(fTrailing)
	}
	r.Open("decoded", decoded)
	open := r.Begin(fServers)
	for range len(decoded) / size4 {
		p.readEntry(r, 0, size4)
	}
	r.End(open)
}

// unhex appends the decoded entries at the start of b to dst, and returns the length of
// their text.
func (l *layout) unhex(dst, b []byte) (decoded []byte, text int) {
	for {
		n, before, _ := l.entry(b)
		if n == 0 {
			return dst, text
		}
		for i := before; i+1 < n; i += 2 {
			dst = append(dst, nibble(b[i])<<4|nibble(b[i+1]))
		}
		b, text = b[n:], text+n
	}
}

// nibble returns the value of a hexadecimal digit; a blank stands for a zero.
func nibble(c byte) byte {
	switch {
	case c == ' ':
		return 0
	case digit(c):
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
