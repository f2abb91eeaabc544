package hexinput

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
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
	if begins(text, captureMagics[:]) {
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
	p := &parser{in: input{rest: text}, streams: map[int]uint64{}}
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

// begins reports whether b begins as one of several things does.
func begins(b []byte, with []string) bool {
	return slices.ContainsFunc(with, func(s string) bool { return bytes.HasPrefix(b, []byte(s)) })
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
	// streams says where the dumps of a followed stream go on, by how they are
	// indented.
	streams map[int]uint64
	// tail is the last character of the line before, 0 if that is blank.
	tail byte
	// noLists is the line up to which lists may not go on in another line.
	noLists int
}

// A frame is a place in Wireshark's export of a frame.
type frame uint8

const (
	noFrame frame = iota
	opened        // between its heading and its dump
	dumped        // after its dump, where lines that are indented belong to it
)

// setTimes gives each datagram the time that its line begins with, or the last
// such line since the datagram before.
func setTimes(list []Datagram, text []byte) {
	in, at := input{rest: text}, time.Time{}
	for i := range list {
		for in.number < list[i].Line {
			l, _ := in.next()
			if t := timeOf(l.text); !t.IsZero() {
				at = t
			}
		}
		if list[i].Time = at; i+1 < len(list) && list[i+1].Line > list[i].Line {
			at = time.Time{}
		}
	}
}

// forms are what a line may be, in the order in which it is tried. Each reads the
// line, and those it needs after it, and reports whether it is one of its own.
var forms = [...]func(*parser, line) bool{
	(*parser).dump,     // 00000010  ff ff  |..|
	(*parser).ruler,    // 00 01 02 03 04 05 06 07
	(*parser).plain,    // ff ff  |..|
	(*parser).encoded,  // /////1RT
	(*parser).source,   // send(b'\xff', [255, 255], "/////1RT")
	(*parser).embedded, // payload: ff ff
	(*parser).heading,  // Frame 1: 60 bytes on wire
}

// line reads one line, and those it needs after it.
func (p *parser) line(l line) {
	if p.shown(l) {
		return
	}
	if l.blank() {
		p.endBlock()
		p.tail = 0
		return
	}
	if p.frame == dumped && !isBlank(l.text[0]) {
		p.endFrame()
	}
	for _, form := range forms {
		if form(p, l) {
			p.tail = lastByte(l.text)
			return
		}
	}
	p.endBlock()
	p.prose++
	p.tail = lastByte(l.text)
}

// fail ends the parsing. The column is that of the character i; -1 for the
// whole line.
func (p *parser) fail(l line, i int, problem string) {
	p.endBlock() // that was read before
	if p.err == nil {
		p.err = mistake(l, i, problem)
	}
}

// wrong is fail for what is not a dump. Among the details of a frame it may be
// whatever Wireshark says of it, and if nothing is sure it may be prose.
func (p *parser) wrong(l line, i int, problem string, sure bool) {
	switch {
	case sure && p.frame != opened:
		p.fail(l, i, problem)
	case p.doubt == nil:
		p.doubt = mistake(l, i, problem)
	}
}

func mistake(l line, i int, problem string) error {
	if i < 0 {
		return fmt.Errorf("line %d: %s", l.number, problem)
	}
	return fmt.Errorf("line %d, column %d: %s", l.number, i+1, problem)
}

// tooLong is the error for a datagram that begins in a line.
func (p *parser) tooLong(l line) {
	p.fail(l, -1, fmt.Sprintf("a datagram of more than %d bytes", MaxDatagram))
}

// take keeps a datagram. One that is a packet in all its lengths is read as
// one, in whatever form it was.
func (p *parser) take(d Datagram, sure bool) {
	p.endBlock()
	if len(d.Data) == 0 || p.err != nil {
		return
	}
	p.count++
	p.size += len(d.Data)
	switch where := (line{number: d.Line}); {
	case len(d.Data) > MaxDatagram:
		p.tooLong(where)
		return
	case p.count > MaxDatagrams:
		p.fail(where, -1, fmt.Sprintf("more than %d datagrams", MaxDatagrams))
		return
	case p.size > MaxInput:
		p.fail(where, -1, fmt.Sprintf("more than %d bytes of datagrams", MaxInput))
		return
	}
	strip(&d)
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
func strip(d *Datagram) {
	known := d.Form == Tcpdump || d.Packet
	d.Packet = false
	if known && isQuery(d.Data) {
		return // a program that prints payloads in the way of tcpdump
	}
	u, reason := readPacket(d.Data, !known)
	switch {
	case reason == "":
		d.Data, d.Src, d.Dst = u.payload, u.src, u.dst
		if u.note != "" {
			note(&d.Note, "%s", u.note)
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
	setTimes(p.found, text)
	setTimes(p.doubtful, text)
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
	return begins(b, queries[:]) || len(b) > 4 && string(b[:4]) == "\xff\xff\xff\xff" && isWord(b[4])
}
