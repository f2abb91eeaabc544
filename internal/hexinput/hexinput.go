// Package hexinput turns what people paste into bug reports into the payloads
// of datagrams.
//
// # Forms
//
// These are understood, any number of them in one text, with prose, Markdown
// and the times of a log around them:
//
//   - Plain hex: pairs or longer words of digits, in either case, with blanks,
//     commas, colons, semicolons, hyphens or bars between them or nothing, each
//     after 0x or \x or nothing. The same bytes as text may follow them, also as
//     the next cell of a Markdown table.
//   - Dumps with offsets in hex: hexdump -C, xxd with and without -g and -c, and
//     whatever else prints an offset, groups and maybe a text. A "*" repeats the row
//     above it.
//   - tcpdump -x, -X, -xx and -XX; tshark -x.
//   - Wireshark: copies of packets as hex, as an escaped string and as base64, C
//     arrays, and streams that are followed (as hex, raw or C arrays).
//   - Python: bytes and bytearray literals, lists of numbers, fromhex.
//   - C, Go, PHP, JavaScript, Java, Rust, Lua and the like: strings with escapes,
//     which may stand without quotes on a line, lists of numbers and characters,
//     what these languages print for them, and strings of hex digits.
//   - Base64: as an argument of what decodes it, alone on a line, and anywhere if
//     the payload begins with ffffffff.
//
// # Where a datagram ends
//
// A literal, a list and a dump end by themselves. A dump begins anew where its
// offset is 0 or goes back, and, as in a stream that is followed, after a row
// that is not full and where the indentation changes to that of the other
// direction.
//
// Plain hex has no end of its own. A line of it goes on with the one before it
// if all of these hold, and begins another datagram otherwise:
//
//   - no line lies between them, blank or not;
//   - it has nothing before the hex, neither a label nor a time;
//   - it does not begin as queries do: with ffffffff and a letter, digit or
//     underscore, or with feffffff, fefd00, fefd09, SAMP or a few others;
//   - the first line of the datagram has 8 bytes or more, all lines up to the one
//     before it have as many as that, and it has no more;
//   - if the first line is a single word, it is one as well, and both or neither
//     begin with a tab, as tshark indents one direction.
//
// Hex after a bracket or a quote that is not closed on its line goes on in the next
// lines up to where it is, unless one begins as queries do. Note says so if nothing
// closes it.
//
// So lines of one width and a shorter one are one datagram, and so are words of
// an odd number of digits each, if the sum is even. Lines after > go on in the
// same way, as quotations, if the first of them begins as queries do and has a
// multiple of 8 bytes; all other lines with a label, such as "request: ff ff" or
// "< ff ff", begin a datagram each. Where two lines might as well be two
// datagrams, Note says so.
//
// Strings are joined as the language would: if they stand next to each other,
// with nothing, +, a period or a backslash between them. A string of Python on
// the next line is joined only within brackets, that of another language unless
// it begins as queries do.
//
// # What is a payload
//
// Numbers, times, hashes and hardware addresses look like hex. They are passed
// over, unless the text has nothing else and is short. What begins as queries
// do, has a label that announces bytes, stands on a line of its own with digits
// from a to f, or has several pairs of them counts anywhere.
//
// What certainly is hex but has a wrong digit or an odd number of them is an
// error, with its line and column; the column counts characters. Nothing is
// guessed to mend it.
//
// # Headers
//
// An IP packet, or a frame (Ethernet, Linux cooked, loopback) that holds one, is
// decoded by package packet, through VLAN tags and tunnels: Data is the payload
// of its UDP datagram. That is expected of tcpdump's dumps; anything else is a packet only if
// all its lengths agree. IP
// fragments are not put together.
//
// # How it works
//
// The text is read line by line: each line is given to the forms of the table forms in
// turn. The first that recognises it reads it, with the lines that belong to it.
//
//	form      a line looks like                  taken from it
//	dump      00000010  ff ff  |..|              bytes; offsets and text prove them
//	plain     12:00:01 ff ff | ..                bytes, and more of them on the next line
//	encoded   /////1RTb3VyY2U=                   base64
//	scan      send(b'\xff', [255, 0x41], "ff")   strings, lists, base64 and hex, wherever they stand
//
// Dump, plain and scan share the reader of hex words (plain.go). Scan goes through
// the line from left to right. A string that is not a payload itself is scanned
// as well: it may hold hex, or a literal. Whether hex among other things is a
// payload depends on its label (plain.go). Positions are those in the text; they
// become lines and columns at the end.
//
// A time at the beginning of a line is that of the datagrams that begin there, or
// of the next one.
//
// The package has no state, reads nothing but its argument, and holds at most
// MaxInput bytes of payloads.
package hexinput

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/lazyregexp"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/reassembly"
)

const (
	// MaxInput is how many bytes of text are read.
	MaxInput = 16 << 20
	// MaxDatagram is how many bytes one payload or packet may have: no UDP
	// datagram has more.
	MaxDatagram = 64 << 10
	// MaxDatagrams is how many payloads one text may hold.
	MaxDatagrams = 64 << 10
)

// A Datagram is one payload that was found in the text.
type Datagram struct {
	// Data is the payload of the UDP datagram, at most MaxDatagram bytes. It
	// is empty only for an IP packet without a payload, and a whole packet if no
	// payload was found in it; Note gives the reason.
	Data []byte
	// Line is the line of the input in which it begins, counted from 1.
	Line int
	// Src and Dst are the addresses, as far as the text gives them; the rest
	// is zero. They come from the headers of the packet where there is one.
	Src, Dst netip.AddrPort
	// Time is when it was sent, according to the text; zero if the text does not
	// say. A time of the day without a date is one of the year 0.
	Time time.Time
	// Note describes what was odd, for people; "" if nothing was.
	Note string

	at     int  // its position in the text
	sure   bool // it certainly is a payload
	packet bool // Data certainly is a packet
	joined bool // two lines of plain hex may also be two datagrams
}

// note adds to the Note.
func (d *Datagram) note(format string, args ...any) {
	if d.Note != "" {
		d.Note += "; "
	}
	d.Note += fmt.Sprintf(format, args...)
}

// Parse returns the payloads in the text, in its order.
//
// The error says what could not be read, with its line and column. The payloads
// before it are returned as well.
func Parse(raw []byte) ([]Datagram, error) {
	if len(raw) > MaxInput {
		return nil, fmt.Errorf("the input has %d bytes, %d are the most", len(raw), MaxInput)
	}
	if begins(raw, captureMagics[:]) {
		return nil, errors.New("the input is a capture file, not text")
	}
	raw = decodeText(raw)
	if isBinary(raw) {
		if len(raw) > MaxDatagram {
			return nil, fmt.Errorf("the input is binary and has %d bytes, more than any datagram", len(raw))
		}
		return []Datagram{{Data: raw, Line: 1}}, nil
	}
	for _, r := range refused {
		if r.match().Match(raw) {
			return nil, errors.New(r.why)
		}
	}
	p := &parser{text: newText(raw), streams: map[int]uint64{}}
	for l, ok := p.after(before); ok && p.err == nil; l, ok = p.after(p.last) {
		p.last = l
		p.line(l)
	}
	p.endBlock()
	return p.result()
}

// The first bytes of pcap, its variants, and pcapng.
var captureMagics = [...]string{"\xd4\xc3\xb2\xa1", "\xa1\xb2\xc3\xd4", "\x4d\x3c\xb2\xa1", "\xa1\xb2\x3c\x4d", "\x0a\x0d\x0d\x0a"}

// refused are texts that hold payloads in a form that would be misread.
var refused = [...]struct {
	match func() *regexp.Regexp
	why   string
}{
	{lazyregexp.New(`"_source"\s*:|"timestamp"\s*:\s*"\d+"\s*,\s*"layers"|<packet>`),
		"exports of tshark (-T json, ek and pdml) repeat each payload: read the capture, or give the output of tshark -x"},
	{lazyregexp.New(`(?m)^[ \t]*Frame \d+: \d+ bytes on wire`),
		"packets with their details (tshark -V, text exports of Wireshark) repeat each payload: read the capture, or give the output of tshark -x without -V"},
	{lazyregexp.New(`Buffer length: \d+ bytes`), "gamedig's debug output is not read: capture the traffic, or give the bytes as plain hex"},
}

// isBinary reports whether the input is a payload itself: it has bytes that no
// text has, or begins like a query and is not UTF-8.
func isBinary(raw []byte) bool {
	noText := func(c byte) bool { return c < ' ' && (c < '\b' || c > '\r') && c != 0x1b }
	return slices.ContainsFunc(raw, noText) || isQuery(raw) && !utf8.Valid(raw)
}

// begins reports whether b begins with one of several strings.
func begins(b []byte, with []string) bool {
	return slices.ContainsFunc(with, func(s string) bool { return bytes.HasPrefix(b, []byte(s)) })
}

// A parser goes through the text once.
type parser struct {
	text
	last line // the last line that was read
	err  error
	// found holds the payloads. What may also be a number or a hash is not sure: it
	// counts only if nothing else was found.
	found []Datagram
	size  int // how many bytes they have
	// doubt is a mistake in a line that is probably prose: the error if nothing
	// was found.
	doubt error
	prose int // how many lines hold no payload

	block   block          // the plain hex of the lines before this one
	streams map[int]uint64 // the offset at which a dump with that indentation continues

	// Up to here no list or string begins, and up to here goes a string that is not
	// a payload but may hold one.
	noList, noString, inside int
}

// forms are the kinds of lines, in the order in which they are tried. Each
// reads the line and those that belong to it, and reports whether it is one of
// its own.
var forms = [...]func(*parser, line) bool{
	(*parser).dump,    // 00000010  ff ff  |..|
	(*parser).plain,   // ff ff  |..|
	(*parser).encoded, // /////1RT
	(*parser).scan,    // send(b'\xff', [255, 255], "/////1RT", payload="ff ff")
}

// line reads one line, and those that belong to it.
func (p *parser) line(l line) {
	if l.blank() {
		p.endBlock()
		return
	}
	p.block.closed = p.block.closed || strings.HasPrefix(l.text[skipBlanks(l.text, 0):], p.block.closer)
	if !slices.ContainsFunc(forms[:], func(read func(*parser, line) bool) bool { return read(p, l) }) {
		p.endBlock()
		p.prose++
	}
}

// errorAt returns an error with the line of a position, and its column if the
// problem is at a character.
func (p *parser) errorAt(at int, column bool, problem string) error {
	before := p.s[:at]
	where := fmt.Sprintf("line %d", strings.Count(before, "\n")+1)
	if column {
		where += fmt.Sprintf(", column %d", at-strings.LastIndexByte(before, '\n'))
	}
	return fmt.Errorf("%s: %s", where, problem)
}

// fail ends the parsing because of what stands at a position.
func (p *parser) fail(at int, column bool, problem string) {
	p.endBlock() // what is before it
	if p.err == nil {
		p.err = p.errorAt(at, column, problem)
	}
}

func (p *parser) tooLong(at int) {
	p.fail(at, false, fmt.Sprintf("a datagram of more than %d bytes", MaxDatagram))
}

// wrong is fail for a mistake that is not in a dump. It may be prose if it is
// not sure.
func (p *parser) wrong(at int, problem string, sure bool) {
	switch {
	case sure:
		p.fail(at, true, problem)
	case p.doubt == nil:
		p.doubt = p.errorAt(at, true, problem)
	}
}

// take keeps a datagram, and removes the headers if it is a packet.
func (p *parser) take(d Datagram, sure bool) {
	p.endBlock()
	if len(d.Data) == 0 || p.err != nil {
		return
	}
	p.size += len(d.Data)
	switch {
	case len(d.Data) > MaxDatagram:
		p.tooLong(d.at)
	case len(p.found) == MaxDatagrams:
		p.fail(d.at, false, fmt.Sprintf("more than %d datagrams", MaxDatagrams))
	case p.size > MaxInput:
		p.fail(d.at, false, fmt.Sprintf("more than %d bytes of datagrams", MaxInput))
	default:
		d.sure = sure
		d.strip()
		p.found = append(p.found, d)
	}
}

// maxProse is how many lines of prose a text may have in which doubtful payloads
// count.
const maxProse = 8

func (p *parser) result() ([]Datagram, error) {
	found, short := slices.Clone(p.found), p.prose <= maxProse
	found = slices.DeleteFunc(found, func(d Datagram) bool { return !d.sure })
	if p.err == nil && len(found) == 0 {
		found = p.found
	}
	p.locate(found)
	switch {
	case p.err != nil, len(found) > 0 && (found[0].sure || short):
		return found, p.err
	case len(found) > 0:
		return nil, fmt.Errorf("no payload found for certain: if line %d holds one, give it alone", found[0].Line)
	case p.doubt != nil && short:
		return nil, p.doubt
	case gameSpyQuery().Match(p.raw):
		return []Datagram{{Data: p.raw, Line: 1}}, nil
	}
	return nil, errors.New("no payload found: give it as plain hex, as a dump (hexdump -C, xxd, " +
		"tcpdump -X, tshark -x, Wireshark), as a literal (Python, C and the like), as a list of bytes or as base64")
}

// locate sets the line and the time of each datagram. The time is that of the
// last line that begins with one, after the datagram before.
func (p *parser) locate(list []Datagram) {
	l, number, at := before, 0, time.Time{}
	for i := range list {
		d := &list[i]
		if l.end() < d.at {
			at = time.Time{}
		}
		for l.end() < d.at {
			l, _ = p.after(l)
			number++
			if t := timeOf(l.text); !t.IsZero() {
				at = t
			}
		}
		d.Line, d.Time = number, at
		if d.joined {
			d.note("lines %d and %d are taken for one datagram: put a blank line between them if they are two", number, number+1)
		}
	}
}

// queries are how payloads begin that are recognised by their first bytes. The
// list is short on purpose: lines are divided at them.
var queries = [...]string{
	"\xfe\xfd\x00", "\xfe\xfd\x09", // GameSpy 3, Minecraft
	"\xfe\xff\xff\xff", // a part of an A2S reply
	"\xff\xffgetInfo",  // Doom 3
	"\xff\xffinfo",     // Doom 3
	"SAMP", "EYE1",     // San Andreas Multiplayer, All-Seeing Eye
	"\xff\xff\xff\xff\x01", "\xff\xff\xff\xff\x02", // Medal of Honor
}

// longestQuery is how many bytes isQuery examines.
const longestQuery = 9

// isQuery reports whether b begins like a query or a reply.
func isQuery(b []byte) bool {
	return begins(b, queries[:]) || len(b) > 4 && string(b[:4]) == "\xff\xff\xff\xff" && isWord(b[4])
}

// linkTypes are the link types that are tried, since a dump does not name its
// own: raw IP, Ethernet, Linux cooked 1 and 2, and loopback
// (https://www.tcpdump.org/linktypes.html).
var linkTypes = [...]uint16{linkRaw, linkEthernet, 113, 276, 0}

const (
	linkRaw      = 101
	linkEthernet = 1
)

// minFrame is the length to which Ethernet pads a frame, without its check
// sequence.
const minFrame = 60

// strip removes the headers if the data are a packet.
func (d *Datagram) strip() {
	if d.packet && isQuery(d.Data) {
		return // a program that prints payloads in the style of tcpdump
	}
	if reason := d.unwrap(!d.packet); reason != "" && d.packet {
		d.note("%s", reason)
	}
}

// unwrap replaces an IP packet, or a frame that holds one, by its UDP payload.
// It returns the reason if it cannot, "" otherwise.
//
// If exact is set, all lengths must agree with each other. Otherwise the data
// are known to be a packet, and one that was cut is read as far as it goes.
func (d *Datagram) unwrap(exact bool) (reason string) {
	const shortest = 28 // IPv4 and UDP without a payload
	b := d.Data
	if exact && len(b) < shortest {
		return "too short for a packet"
	}
	fragment := false
	decoder := packet.NewDecoder(reassembly.NewBudget(0), reassembly.Limits{}, func(l *packet.Loss) {
		if l.Headed && !exact {
			d.Data, d.Src, d.Dst, fragment = bytes.Clone(l.Payload), l.Src, l.Dst, true
		}
	})
	for _, link := range linkTypes {
		f, out := packet.Frame{LinkType: link, Data: b[:len(b):len(b)]}, packet.Datagram{}
		if !exact {
			f.Length = 2 * MaxDatagram // longer than anything it can say
		}
		outcome := decoder.Decode(&f, &out)
		if decoder.Flush(); fragment {
			d.note("the first fragment of a larger packet")
			return ""
		}
		trailing := cap(out.Payload) - len(out.Payload)
		switch {
		case outcome.OK() && exact && (len(out.Anomalies()) > 0 || trailing > 0 && (link == linkRaw || len(b) > minFrame)):
			reason = cmp.Or(reason, "the lengths do not agree")
		case outcome.OK():
			d.Data, d.Src, d.Dst = out.Payload, out.Src, out.Dst
			for _, a := range out.Anomalies() {
				d.note("%v", a)
			}
			if out.Missing > 0 {
				d.note("%d of %d bytes of payload: the packet was cut", len(d.Data), len(d.Data)+out.Missing)
			}
			return ""
		case outcome == packet.NotIP && link == linkEthernet:
			if t := binary.BigEndian.Uint16(b[12:]); t >= 0x0600 {
				reason = cmp.Or(reason, fmt.Sprintf("an Ethernet frame of type 0x%04x, not IP", t))
			}
		case outcome == packet.TCP:
			reason = cmp.Or(reason, "an IP packet of protocol 6, not UDP")
		case outcome != packet.NotIP && outcome != packet.IPBad && outcome != packet.LinkCut:
			reason = cmp.Or(reason, fmt.Sprintf("no UDP datagram: %v", outcome))
		}
	}
	return cmp.Or(reason, "neither an IP packet nor an Ethernet frame")
}
