package hexinput

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"time"
	"unicode/utf8"
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

// A Form is a notation for bytes.
type Form uint8

const (
	// PlainHex is hex digits and nothing else.
	PlainHex Form = iota
	// Hexdump is lines with an offset, as hexdump, xxd, od, Format-Hex and
	// many libraries print them.
	Hexdump
	// Tcpdump is what tcpdump prints for -x, -X, -xx and -XX.
	Tcpdump
	// Wireshark is what Wireshark and tshark copy, print and export.
	Wireshark
	// Gamedig is rows of hex above rows of characters, as gamedig prints them
	// when it debugs.
	Gamedig
	// Python is bytes literals and what else Python prints bytes as.
	Python
	// C is string literals and lists of numbers, of C and of most other
	// languages.
	C
	// Binary is no text at all: the payload itself.
	Binary
	// Base64 is base64 in its standard alphabet (RFC 4648 section 4).
	Base64
)

var formNames = [...]string{"plain hex", "hexdump", "tcpdump", "wireshark", "gamedig", "python", "c", "binary", "base64"}

func (f Form) String() string { return formNames[f] }

// A Datagram is one payload that was found in the text.
type Datagram struct {
	// Data is the payload of the UDP datagram, at most MaxDatagram bytes. It
	// is empty only for an IP packet without any.
	Data []byte
	// Line is the line of the input in which it begins, counted from 1.
	Line int
	// Form is the notation it was in.
	Form Form
	// Src and Dst are the addresses, as far as the text gives them; the rest
	// is zero. They come from the headers of the packet where there is one.
	Src, Dst netip.AddrPort
	// Packet is set if Data is not a payload but the whole IP packet or frame
	// it came as, since no UDP payload could be found in it. Note says why.
	Packet bool
	// Time is what the text says of when it was sent; zero if it says nothing. A
	// time of the day without a date is one of the year 0.
	Time time.Time
	// Note says what was odd, for people; "" if nothing was.
	Note string
}

// note adds to a Note.
func note(dst *string, format string, args ...any) {
	if *dst != "" {
		*dst += "; "
	}
	*dst += fmt.Sprintf(format, args...)
}

// Parse returns the payloads in the text, in its order.
//
// The error says what could not be read, with its line and column. Then the
// payloads are those before it.
func Parse(text []byte) ([]Datagram, error) {
	if len(text) > MaxInput {
		return nil, fmt.Errorf("the input has %d bytes, %d are the most", len(text), MaxInput)
	}
	if isCapture(text) {
		return nil, errors.New("the input is a capture file, not text")
	}
	text = decodeText(text)
	if isBinary(text) {
		if len(text) > MaxDatagram {
			return nil, fmt.Errorf("the input is binary and has %d bytes, more than any datagram", len(text))
		}
		return []Datagram{{Data: text, Line: 1, Form: Binary}}, nil
	}
	if list := readExport(text); len(list) > 0 {
		return list, nil
	}
	p := &parser{in: input{rest: text}}
	for p.err == nil {
		l, ok := p.in.next()
		if !ok {
			break
		}
		p.line(l)
	}
	p.endBlock()
	p.endFrame()
	return p.result(text)
}

// The first bytes of pcap, its variants, and pcapng.
var captureMagics = [...]string{"\xd4\xc3\xb2\xa1", "\xa1\xb2\xc3\xd4", "\x4d\x3c\xb2\xa1", "\xa1\xb2\x3c\x4d", "\x0a\x0d\x0d\x0a"}

// isBinary reports whether the input is a payload and not text about one: it has
// bytes that no text has, or begins as queries do and is not UTF-8.
func isBinary(text []byte) bool {
	for _, c := range text {
		if c < ' ' && (c < '\b' || c > '\r') && c != 0x1b {
			return true
		}
	}
	return isQuery(text) && !utf8.Valid(text)
}

func isCapture(text []byte) bool {
	for _, magic := range captureMagics {
		if bytes.HasPrefix(text, []byte(magic)) {
			return true
		}
	}
	return false
}

// maxProse is how many lines of prose a text may have in which numbers and
// hashes are taken for payloads, if there are no others.
const maxProse = 8

// A parser goes through the text once.
type parser struct {
	in  input
	err error
	// found is what counts. doubtful might as well be something else, a number
	// or a hash: it counts if nothing was found.
	found, doubtful []Datagram
	// size is how many bytes both hold, count how many datagrams.
	size, count int
	// doubt is what might be wrong in a line that probably is prose: the error
	// if nothing was found.
	doubt error

	// prose is how many lines hold none of it.
	prose int

	// block is the plain hex of the lines before this one.
	block block
	// flow holds what a heading said of the lines below it.
	flow heading
	// frame is where in a frame of Wireshark's export this is. What was found
	// of it before its dump is in details: it is in the dump as well.
	frame     frame
	frameData int // how many bytes its payload has, 0 if that is not said
	details   []Datagram
	// nodes are the two ends of a followed stream.
	nodes [2]netip.AddrPort
	// streams says where the dumps of a followed stream go on.
	streams [2]stream
	// tail is the last character of the line before, 0 if that is blank.
	tail byte
	// noLists is the line up to which lists may not go on in another line.
	noLists int
	times   []timeLine
	// base64 is set below the heading of a base64 block.
	base64 bool
}

// A frame is a place in Wireshark's export of a frame.
type frame uint8

const (
	noFrame frame = iota
	opened        // between its heading and its dump
	dumped        // behind its dump, where lines that are indented belong to it
)

// A timeLine is a line that begins with a time.
type timeLine struct {
	number int
	at     time.Time
}

// setTimes gives each datagram the time that its line begins with, or the last
// such line since the datagram before.
func (p *parser) setTimes(list []Datagram) {
	next, from := 0, 0
	for i := range list {
		d := &list[i]
		for next < len(p.times) && p.times[next].number <= d.Line {
			next++
		}
		if next > 0 && (p.times[next-1].number > from || p.times[next-1].number == d.Line) {
			d.Time = p.times[next-1].at
		}
		from = d.Line
	}
}

// line reads one line, and those it needs after it.
func (p *parser) line(l line) {
	if at := timeOf(l.text); !at.IsZero() {
		p.times = append(p.times, timeLine{l.number, at})
	}
	if l.blank() {
		p.endBlock()
		p.tail = 0
		return
	}
	if p.frame == dumped && !isBlank(l.text[0]) {
		p.endFrame()
	}
	switch {
	case p.base64 && p.base64Lines(l):
	case p.dump(l):
	case p.ruler(l):
	case p.plain(l):
	case p.base64Lines(l):
	case p.source(l):
	case p.embedded(l):
	case p.heading(l):
	default:
		p.endBlock()
		p.prose++
	}
	p.tail = lastByte(l.text)
}

// fail ends the parsing. The column is that of the character i; -1 for the
// whole line.
func (p *parser) fail(l line, i int, format string, args ...any) {
	p.endBlock() // that was read before
	if p.err == nil {
		p.err = at(l, i, format, args...)
	}
}

// wrong is fail for what is no dump. Among the details of a frame it may be
// whatever Wireshark says of it.
func (p *parser) wrong(l line, i int, format string, args ...any) {
	if p.frame == opened {
		p.suspect(l, i, format, args...)
		return
	}
	p.fail(l, i, format, args...)
}

// suspect is fail for a line that may as well be prose.
func (p *parser) suspect(l line, i int, format string, args ...any) {
	if p.doubt == nil {
		p.doubt = at(l, i, format, args...)
	}
}

func at(l line, i int, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if i < 0 {
		return fmt.Errorf("line %d: %s", l.number, what)
	}
	return fmt.Errorf("line %d, column %d: %s", l.number, i+1, what)
}

// take keeps a datagram. One that is a packet in all its lengths is read as
// one, in whatever form it was.
func (p *parser) take(d Datagram, sure bool) {
	if len(d.Data) == 0 || p.err != nil {
		return
	}
	where := line{number: d.Line}
	if len(d.Data) > MaxDatagram {
		p.fail(where, -1, "a datagram of more than %d bytes", MaxDatagram)
		return
	}
	if p.count++; p.count > MaxDatagrams {
		p.fail(where, -1, "more than %d datagrams", MaxDatagrams)
		return
	}
	if p.size += len(d.Data); p.size > MaxInput {
		p.fail(where, -1, "more than %d bytes of datagrams", MaxInput)
		return
	}
	p.strip(&d)
	switch {
	case !sure:
		p.doubtful = append(p.doubtful, d)
	case p.frame == opened:
		p.details = append(p.details, d)
	case p.frame == noFrame:
		p.found = append(p.found, d)
	}
}

// strip takes the headers off what is a packet.
func (p *parser) strip(d *Datagram) {
	known := d.Form == Tcpdump || d.Packet
	d.Packet = false
	if known && isQuery(d.Data) {
		return // a program that prints payloads in the way of tcpdump
	}
	packet, reason := readPacket(d.Data, !known)
	switch {
	case reason == "":
		d.Data, d.Src, d.Dst = packet.payload, packet.src, packet.dst
		if packet.note != "" {
			note(&d.Note, "%s", packet.note)
		}
	case known:
		d.Packet = true
		note(&d.Note, "%s", reason)
	}
}

// endFrame ends a frame of Wireshark's export, which may have come without a
// dump.
func (p *parser) endFrame() {
	p.found = append(p.found, p.details...)
	p.frame, p.frameData, p.details = noFrame, 0, nil
}

func (p *parser) result(text []byte) ([]Datagram, error) {
	p.setTimes(p.found)
	p.setTimes(p.doubtful)
	if p.err != nil {
		return p.found, p.err
	}
	short := p.prose <= maxProse
	switch {
	case len(p.found) > 0:
		return p.found, nil
	case len(p.doubtful) > 0 && short:
		return p.doubtful, nil
	case len(p.doubtful) > 0:
		return nil, fmt.Errorf("no payload found for certain: if line %d holds one, give it alone", p.doubtful[0].Line)
	case p.doubt != nil && short:
		return nil, p.doubt
	case gameSpyQuery.Match(text):
		return []Datagram{{Data: text, Line: 1, Form: Binary}}, nil
	}
	return nil, errors.New("no payload found: give it as plain hex, as a dump (hexdump -C, xxd, od -t x1, " +
		"tcpdump -X, Wireshark, Format-Hex), as a literal (Python, C and the like), as a list of bytes or as base64")
}

// Payloads that are told by how they begin. They are few on purpose: lines are
// divided at them.
var queries = [...]string{
	"\xfe\xfd\x00", "\xfe\xfd\x09", // GameSpy 3, Minecraft
	"\xfe\xff\xff\xff", // a part of an A2S reply
	"\xff\xffgetInfo",  // Doom 3
	"\xff\xffinfo",     // Doom 3
	"SAMP", "EYE1",     // San Andreas Multiplayer, All-Seeing Eye
	"\xff\xff\xff\xff\x01", "\xff\xff\xff\xff\x02", // Medal of Honor
}

// longestQuery is how many bytes isQuery looks at.
const longestQuery = 9

// isQuery reports whether b begins as queries and their replies do.
func isQuery(b []byte) bool {
	for _, q := range queries {
		if bytes.HasPrefix(b, []byte(q)) {
			return true
		}
	}
	return len(b) > 4 && string(b[:4]) == "\xff\xff\xff\xff" && isWord(b[4])
}
