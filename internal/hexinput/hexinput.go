// Package hexinput turns what people paste into bug reports into the payloads of datagrams.
//
// It understands, any number of them in one text, with prose, Markdown and the times of a log around them:
//
//   - plain hex: pairs or longer words of digits, with blanks, commas, colons, semicolons, hyphens or bars between them or nothing,
//     each after 0x or \x or nothing. The same bytes as text may follow them.
//   - dumps with offsets in hex: hexdump -C, xxd, tcpdump -x, -X, -xx and -XX, tshark -x, copies from Wireshark, also of streams
//     that are followed. A "*" repeats the row above it.
//   - literals of Python, C, Go, JavaScript, Java, Rust and the like: strings with escapes, lists of numbers and characters, and
//     strings of hex digits.
//   - base64: as an argument of what decodes it, alone on a line, and anywhere if the payload begins with ffffffff.
//
// A literal, a list and a dump end by themselves. Plain hex has no end of its own. A line of it goes on with the one before it if
// nothing lies between them, it has nothing before the hex, it does not begin as queries do, the first line has 8 bytes or more,
// all lines up to the one before it have as many as that, and it has no more. Lines after > go on in the same way, as quotations.
// Strings are joined as the language would.
//
// Numbers, times, hashes and hardware addresses look like hex. They are passed over, unless the text has nothing else. What begins
// as queries do, has a label that announces bytes, stands on a line of its own, or has several pairs of digits counts anywhere.
// What certainly is hex but has a wrong digit or an odd number of them is an error, with its line and column; the column counts
// characters. Nothing is guessed to mend it.
//
// An IP packet, or a frame that holds one, is decoded by package packet: Data is the payload of its UDP datagram. That is expected
// of tcpdump's dumps; anything else is a packet only if all its lengths agree. IP fragments are not put together.
//
// The text is read line by line: each line is given to dump, plain, encoded and scan in turn. The first that recognises it reads
// it, with the lines that belong to it.
package hexinput

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/lazyregexp"
	"github.com/qdissect/qdissect/internal/packet"
	"github.com/qdissect/qdissect/reassembly"
)

const (
	// MaxInput is how many bytes of text are read.
	MaxInput = 16 << 20
	// MaxDatagram is how many bytes one payload or packet may have: no UDP datagram has more.
	MaxDatagram = 64 << 10
	// MaxDatagrams is how many payloads one text may hold.
	MaxDatagrams = 64 << 10
)

// A Datagram is one payload that was found in the text.
type Datagram struct {
	// Data is the payload of the UDP datagram, at most MaxDatagram bytes. It is empty only for an IP packet without a payload,
	// and a whole packet if no payload was found in it; Note gives the reason.
	Data []byte
	// Line is the line of the input in which it begins, counted from 1.
	Line int
	// Src and Dst are the addresses of the headers of a packet; zero if there are none.
	Src, Dst netip.AddrPort
	// Time is when it was sent, according to the text; zero if the text does not say. A time of the day without a date is one of
	// the year 0.
	Time time.Time
	// Note describes what was odd, for people; "" if nothing was.
	Note string

	at     int  // its position in the text
	sure   bool // it certainly is a payload
	packet bool // Data certainly is a packet
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
// The error says what could not be read, with its line and column. The payloads before it are returned as well.
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
	p := &parser{s: folds.Replace(string(raw)), streams: map[int]uint64{}}
	for p.at < len(p.s) && p.err == nil {
		l := p.line()
		p.at = p.after(p.at)
		if l.blank() || !p.dump(l) && !p.plain(l) && !p.encoded(l) && !p.scan(l) {
			p.endBlock()
		}
	}
	p.endBlock()
	return p.result(raw)
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
	{lazyregexp.New(`\\25[45]\\25[0-5]`), "escapes in decimal, as Lua has them, are not read: give the bytes as plain hex"},
}

// isBinary reports whether the input is a payload itself: it has bytes that no text has, or begins like a query and is not UTF-8.
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
	s   string // the text
	at  int    // where the next line begins
	err error
	// found holds the payloads. What may also be a number or a hash is not sure: it counts only if nothing else was found.
	found []Datagram
	size  int   // how many bytes they have
	doubt error // a mistake in a line that is probably prose: the error if nothing was found

	block   block          // the plain hex of the lines before this one
	streams map[int]uint64 // the offset at which a dump with that indentation continues
	// Up to here no list, no string and no unquoted escapes begin.
	noList, noString, noEscape int
}

// errorAt returns an error with the line of a position, and its column if the problem is at a character.
func (p *parser) errorAt(at int, column bool, problem string) error {
	before := p.s[:at]
	where := fmt.Sprintf("line %d", strings.Count(before, "\n")+1)
	if column {
		where += fmt.Sprintf(", column %d", utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])+1)
	}
	return fmt.Errorf("%s: %s", where, problem)
}

// wrong notes a mistake at a position. If it is not sure, it may be prose.
func (p *parser) wrong(at int, problem string, sure bool) {
	switch {
	case sure:
		p.fail(at, true, problem)
	case p.doubt == nil:
		p.doubt = p.errorAt(at, true, problem)
	}
}

// fail ends the parsing because of what stands at a position.
func (p *parser) fail(at int, column bool, problem string) {
	p.endBlock() // what is before it
	p.err = cmp.Or(p.err, p.errorAt(at, column, problem))
}

func (p *parser) tooLong(at int) {
	p.fail(at, false, fmt.Sprintf("a datagram of more than %d bytes", MaxDatagram))
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

// result returns what was found, or why nothing was.
func (p *parser) result(raw []byte) ([]Datagram, error) {
	found := slices.DeleteFunc(slices.Clone(p.found), func(d Datagram) bool { return !d.sure })
	if p.err == nil && len(found) == 0 {
		found = p.found
	}
	p.locate(found)
	switch {
	case p.err != nil, len(found) > 0:
		return found, p.err
	case p.doubt != nil:
		return nil, p.doubt
	case gameSpyQuery().Match(raw):
		return []Datagram{{Data: raw, Line: 1}}, nil
	}
	return nil, errors.New("no payload found: give it as plain hex, as a dump (hexdump -C, xxd, " +
		"tcpdump -X, tshark -x, Wireshark), as a literal (Python, C and the like), as a list of bytes or as base64")
}

// locate sets the line and the time of each datagram. The time is that of the last line that begins with one, after the datagram
// before.
func (p *parser) locate(list []Datagram) {
	next, number, at := 0, 0, time.Time{}
	for i := range list {
		d := &list[i]
		if next <= d.at {
			at = time.Time{}
		}
		for ; next <= d.at; next = p.after(next) {
			l := p.lineAt(next)
			number++
			if t := l.time(); !t.IsZero() {
				at = t
			}
		}
		d.Line, d.Time = number, at
	}
}

// queries are how payloads begin that are recognised by their first bytes. The list is short on purpose: lines are divided at them.
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

// folds maps characters that web pages and word processors substitute to ASCII, one to one.
var folds = strings.NewReplacer(pairs(map[byte]string{
	' ':  "\r\v\f\u00a0\u2007\u202f\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad",
	'"':  "“”„‟″",
	'\'': "‘’‚‛′",
	'-':  "‐‑‒–—―−",
	'>':  "→⇒➜➔▶►»›",
	'<':  "←⇐◀◄«‹",
})...)

func pairs(m map[byte]string) (list []string) {
	for to, from := range m {
		for _, r := range from {
			list = append(list, string(r), string(to))
		}
	}
	return list
}

// A line is one line of the text, without its end.
type line struct {
	text  string
	start int // its position in the text
}

func (l *line) blank() bool { return skipBlanks(l.text, 0) == len(l.text) }

// lineAt returns the line that begins at a position, and after the position of the next one.
func (p *parser) lineAt(at int) line {
	s, _, _ := strings.Cut(p.s[min(at, len(p.s)):], "\n")
	return line{s, at}
}

func (p *parser) line() line { return p.lineAt(p.at) }

func (p *parser) after(at int) int {
	if i := strings.IndexByte(p.s[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(p.s)
}

// decodeText removes a byte order mark, and converts UTF-16, which Windows PowerShell writes, to UTF-8.
func decodeText(text []byte) []byte {
	if rest, ok := bytes.CutPrefix(text, []byte("\xef\xbb\xbf")); ok {
		return rest
	}
	order := binary.ByteOrder(binary.BigEndian)
	if bytes.HasPrefix(text, []byte("\xff\xfe")) {
		order = binary.LittleEndian
	} else if !bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return text
	}
	units, ascii := make([]uint16, len(text)/2-1), 0
	for i := range units {
		if units[i] = order.Uint16(text[2*i+2:]); units[i] < utf8.RuneSelf {
			ascii++
		}
	}
	if len(text)%2 != 0 || ascii*2 < len(units) {
		return text // a payload may begin like a byte order mark
	}
	return []byte(string(utf16.Decode(units)))
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isHex(c byte) bool   { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
func isWord(c byte) bool  { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }

// appendHex appends the bytes of hex digits, without an odd digit at the end.
func appendHex[T string | []byte](dst []byte, digits T) []byte {
	dst, _ = hex.AppendDecode(dst, []byte(digits[:len(digits)&^1]))
	return dst
}

const blanks = " \t"

// skipBlanks returns the position of the first character from i on that is not a blank.
func skipBlanks(text string, i int) int { return len(text) - len(strings.TrimLeft(text[i:], blanks)) }

// hexEnd returns where the hex digits end that begin at i.
func hexEnd(text string, i int) int {
	return len(text) - len(strings.TrimLeft(text[i:], "0123456789abcdefABCDEF"))
}

// window is how much text before or after something is examined.
const window = 64

// left and right return the text before and after a position, up to a window.
func left(text string, i int) string  { return text[max(0, i-window):i] }
func right(text string, i int) string { return text[i:min(len(text), i+window)] }

// stamp matches the time at the beginning of a line of a log.
var stamp = lazyregexp.New(`^[ \t]*[\[(]?(?:` +
	`\d{4}[-/.]\d\d[-/.]\d\d(?:[T ]\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?)?|` +
	`\d\d?:\d\d:\d\d(?:[.,]\d+)?)` +
	`(?:Z| ?[+-]\d\d:?\d\d)?` +
	`(?:[\])][:,]?[ \t]*|:?[ \t]+|$)(?:[-|][ \t]+)?`)

// stampOf returns the time with which a line begins, as it is written.
func (l *line) stamp() string {
	i := skipBlanks(l.text, 0)
	if i == len(l.text) || !isDigit(l.text[i]) && l.text[i] != '[' && l.text[i] != '(' {
		return ""
	}
	return stamp().FindString(right(l.text, 0))
}

// begin returns where a line begins after its time.
func (l *line) begin() int {
	if n := skipBlanks(l.text, len(l.stamp())); n < len(l.text) {
		return l.start + n
	}
	return l.start + skipBlanks(l.text, 0)
}

var isoTime = strings.NewReplacer(",", ".", "/", "-", "T", " ", " +", "+")

// time returns the time with which a line begins, in UTC if it names no zone; zero if there is none. A time of the day alone is
// one of the year 0.
func (l *line) time() time.Time {
	s := isoTime.Replace(strings.Trim(l.stamp(), " \t[](),:|-"))
	for _, layout := range [...]string{"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}
