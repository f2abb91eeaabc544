package hexinput

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/qdissect/qdissect/internal/lazyregexp"
	"github.com/qdissect/qdissect/internal/nettext"
)

// A run is words of hex digits that belong together, on one line.
type run struct {
	text       string // the line, or the part of it in which the run may stand
	start, end int
	digits     []byte // without marks and separators
	words      int    // how many words it has
	pairs      int    // how many of them are pairs of digits
	marked     bool   // there are words after 0x or \x
	escaped    bool   // they are after \x
	address    bool   // as of hardware, so far
	odd        bool   // it ends with an odd number of digits
}

// runWord matches a word of hex digits, its mark, and what separates it from the next one.
var runWord = lazyregexp.New(`^(?:\\x([0-9a-fA-F]{2})|(0[xX])?([0-9a-fA-F]+))([ \t]*[,:;|-]?[ \t]*)`)

// readRun reads the words that begin at i.
func readRun(text string, i int) run {
	r := run{text: text, start: i, end: i}
	for i < len(text) && (isHex(text[i]) || text[i] == '\\') {
		m := runWord().FindStringSubmatch(text[i:min(len(text), i+4*MaxDatagram)])
		if m == nil {
			break
		}
		digits, end := m[1]+m[3], i+len(m[0])-len(m[4])
		if m[1] == "" && !isWordEnd(text, end) {
			break
		}
		// A line of one word may be broken in the middle of a byte.
		alone := r.words == 0 && m[2] == "" && skipBlanks(text, end) == len(text)
		if len(digits)%2 != 0 {
			if m[2] != "" && len(digits) == 1 {
				digits = "0" + digits
			} else if r.odd = !alone; r.odd {
				break
			}
		}
		if r.words++; len(digits) == 2 {
			r.pairs++
		}
		r.digits = append(r.digits, digits...)
		r.marked, r.escaped = r.marked || m[1]+m[2] != "", r.escaped || m[1] != ""
		r.address = r.words == 1 || r.address
		if separator := strings.Trim(m[4], blanks); r.words < 6 {
			r.address = r.address && (separator == ":" || separator == "-")
		}
		r.end, i = end, i+len(m[0])
	}
	r.address = r.address && r.words == 6 && r.pairs == 6
	return r
}

// closers are the characters that may end a word, besides blanks and what separates bytes.
const closers = "\"'`)]}<>"

// isWordEnd reports whether a word may end at i.
func isWordEnd(text string, i int) bool {
	return i == len(text) || strings.IndexByte(blanks+",:;|-"+closers+`\`, text[i]) >= 0 || isEllipsis(text[i:]) ||
		strings.IndexByte(".!?", text[i]) >= 0 && (i+1 == len(text) || text[i+1] == ' ')
}

func isEllipsis(s string) bool { return strings.HasPrefix(s, "…") || strings.HasPrefix(s, "...") }

// comment matches how what follows hex begins if it is not meant to be hex.
var comment = lazyregexp.New(`^(?:[ \t]*[,;:|-]?[ \t]*$|[ \t]+(?:#|/[/*]|\(|<|=|->|--)|[ \t]*(?:…|\.\.\.))`)

// rest returns what follows a run, and ends reports whether that is nothing but a comment.
func (r run) rest() string { return r.text[r.end:] }
func (r run) ends() bool   { return !r.odd && comment().MatchString(r.rest()) }
func (r *run) bytes() int  { return len(r.digits) / 2 }

func (r *run) letters() bool { return bytes.ContainsAny(r.digits, "abcdefABCDEF") }
func (r *run) isQuery() bool {
	return isQuery(appendHex(nil, r.digits[:min(len(r.digits), 2*longestQuery)]))
}

// A label is what stands before hex on its line.
type label uint8

const (
	nothing  label = iota
	arrow          // ->, <, and the like
	message        // a word for a message, as in "reply:"
	content        // another word, which may also introduce a number
	decoder        // what certainly is followed by hex
	sentence       // words, as in prose
	timed          // nothing but a time
)

// What may stand between a label and the hex, and words of labels. After those for messages it can be nothing but a payload, after
// the others also a number.
const (
	labelTail    = " \t\"'`([{"
	messageWords = "request|response|reply|query|answer|payload|raw|hex|rx|tx|recv"
	labelWords   = "|" + messageWords + "|received|rcvd|sent|send|data|byte|bytes|udp|message|msg|packet|datagram|buffer|body|" +
		"content|dump|in|out|client|server|challenge|"
)

var (
	decoderEnd = lazyregexp.New(`(?:<buffer |hex\w*\W*(?:decodestring)?\()[` + labelTail + `]*$`)
	messageEnd = lazyregexp.New(`\b(?:` + messageWords + `)(?:\W*\([^(]*\))?["'` + "`" + `\s]*[:=(][` + labelTail + `]*$`)
)

func isLabel(word string) bool { return len(word) > 1 && strings.Contains(labelWords, "|"+word+"|") }

// labelOf returns the label that the text before hex is.
func labelOf(before string) label {
	before = strings.ToLower(before)
	words := strings.TrimRight(before, labelTail)
	switch arrows := strings.TrimRight(words, "-=<>"); {
	case strings.Trim(before, blanks) == "":
		return nothing
	case arrows == "" && strings.ContainsAny(words, "<>"):
		return arrow
	case len(words)-len(arrows) >= 2:
		return content
	case !strings.ContainsAny(before[max(0, len(words)-1):], ":=(") && !strings.HasSuffix(words, "<buffer"):
		return sentence // nothing separates it from the hex
	case (strings.Contains(words, "hex") || strings.HasSuffix(words, "<buffer")) && decoderEnd().MatchString(before):
		return decoder
	case !slices.ContainsFunc(strings.FieldsFunc(before, func(r rune) bool { return r < 'a' || r > 'z' }), isLabel):
		return sentence
	case messageEnd().MatchString(before):
		return message
	}
	return content
}

// judge reports whether a run after a label is a payload, and whether it certainly is. Otherwise it may be a number, a time, a
// hash or a hardware address.
func (r *run) judge(kind label) (sure, ok bool) {
	n, letters := r.bytes(), r.letters()
	number := r.words == 1 && !letters && !r.marked && n < 12
	switch {
	case r.isQuery(), kind == decoder:
		return true, true
	case kind == arrow, kind == message:
		return !number || kind == message && n == 1 && len(r.digits) == 2, true
	case kind == sentence:
		return r.pairs >= 4 && r.pairs == r.words && letters && !r.address, n >= 4 && letters
	}
	return r.marked && n >= 2 || !number && !r.address && n >= 4 && (letters || n >= 8), kind == nothing || kind == timed || n >= 4
}

// A block is plain hex that grows line by line.
type block struct {
	at          int // where the first digit stands
	first, last run
	digits      []byte // of all rows
	rows        int
	label       label
	sure        bool
}

// minWidth is the least number of digits of a row that continues on the next line. Shorter rows are datagrams of their own.
const minWidth = 16

// plain reads a line that holds nothing but hex, with a time before it, and a comment or the same bytes as text after it.
func (p *parser) plain(l line) bool {
	start, text := l.begin()-l.start, l.text
	var c row
	c.read(text, start)
	if rest := text[c.stop:]; len(c.data) > 1 && (c.proved || c.bad < 0 && strings.HasPrefix(strings.TrimLeft(rest, blanks), "|") && rest[0] != '|') {
		text = text[:c.stop]
	}
	r := readRun(text, start)
	if r.words == 0 || !r.ends() {
		return false
	}
	kind := nettext.Either(l.stamp() != "", timed, nothing)
	p.addRow(r, l.start+start, kind)
	return true
}

// hex reads the run at i of a line, or of a string in it that ends at end, with the label that is before it.
func (p *parser) hex(l line, i, end int, kind label) (after int, found bool) {
	r := readRun(p.s[l.start:end], i-l.start)
	for k := 2; k <= 8 && k < len(r.digits) && strings.IndexByte("=:", p.s[i-min(i, 1)]) >= 0 && !r.isQuery(); k += 2 { // a port or a length is before it
		if isQuery(appendHex(nil, r.digits[k:min(len(r.digits), k+2*longestQuery)])) {
			r.digits = r.digits[k:]
		}
	}
	if r.isBroken(kind) {
		at, problem := p.wrongDigit(l.start+skipSeparators(r.text, r.end), end)
		sure := kind == decoder || r.isQuery() && r.bytes() > 4 || r.pairs >= 4 && r.letters() || r.pairs >= 2 && (kind == arrow || kind == message)
		if p.wrong(at, problem, sure); sure {
			return end, true
		}
	}
	sure, ok := r.judge(kind)
	after = max(l.start+r.end, hexEnd(p.s, i))
	if !ok || r.words == 0 || !r.ends() && (!sure && r.end < len(r.text) || len(r.digits)%2 != 0) {
		return after, false
	}
	if p.addRow(r, i, kind); !r.ends() {
		p.endBlock()
	}
	return after, true
}

// skipSeparators returns where the word after a run should begin.
func skipSeparators(text string, i int) int {
	return len(text) - len(strings.TrimLeft(text[i:], blanks+",:;|-"))
}

// badWord matches a mistake after words of hex: what was redacted; a word of one or two characters; and a long word with
// hardly anything but hex digits.
var badWord = lazyregexp.New(`^(?:0x|\\x)?(?:[?*xX_]+|[0-9a-fA-F]|[0-9a-fA-F][g-zG-Z?*_]|[g-zG-Z?*_][0-9a-fA-F]|[0-9a-fA-F]{4,}[g-zG-Z?*_]{1,2}[0-9a-fA-F]*|[0-9a-fA-F]{3,})(?:[ \t,:;|"'>)\]-]|$)`)

// isBroken reports whether what ends a run is a mistake in it, rather than text that follows it.
func (r *run) isBroken(kind label) bool {
	next := r.text[skipSeparators(r.text, r.end):]
	if kind == decoder && next != "" && !isEllipsis(next) && strings.IndexByte(closers, next[0]) < 0 {
		return true
	}
	return (r.words > 0 || hexEnd(next, 0) >= 8) && badWord().MatchString(next)
}

const oddDigits = "an odd number of hex digits"

// wrongDigit describes what stands at i, or after the hex digits there, instead of a byte. The text ends at end.
func (p *parser) wrongDigit(i, end int) (at int, problem string) {
	at = hexEnd(p.s[:end], i)
	if at == end || at > i && isWordEnd(p.s[:end], at) {
		return i, oddDigits
	}
	c, _ := utf8.DecodeRuneInString(p.s[at:])
	return at, strconv.Quote(string(c)) + " is not a hex digit"
}

// addRow adds a run to the block, or begins a new block with it.
func (p *parser) addRow(r run, at int, kind label) {
	b := &p.block
	if b.rows > 0 && !b.accepts(&r, kind) {
		p.endBlock()
	}
	if b.rows == 0 {
		*b = block{at: at, first: r, label: kind}
	}
	sure, _ := r.judge(kind)
	b.rows++
	b.digits = append(b.digits, r.digits...)
	b.last = r
	b.sure = b.sure || sure || r.bytes() >= 4 && b.rows > 1
	if len(b.digits) > 2*MaxDatagram {
		p.tooLong(b.at)
	}
}

// accepts reports whether a row continues the block: it has no label, does not begin like a query, is not longer than the first
// row, and all rows before are as long as that.
func (b *block) accepts(r *run, kind label) bool {
	width, single := len(b.first.digits), b.first.words == 1
	switch {
	case len(b.last.digits) < width, width < minWidth, len(r.digits) > width, r.isQuery(), isEllipsis(strings.TrimLeft(b.last.rest(), blanks)):
		return false
	case single && (r.words > 1 || (r.start > 0) != (b.first.start > 0) && b.label == nothing): // tshark indents one direction
		return false
	case kind == arrow && b.label == arrow: // lines that are quoted, rather than lines of a conversation
		return width%minWidth == 0 && b.first.isQuery()
	}
	return kind == nothing
}

// endBlock ends the datagram that the lines before this one make up.
func (p *parser) endBlock() {
	b := p.block
	p.block = block{}
	if b.rows == 0 {
		return
	}
	if len(b.digits)%2 != 0 {
		p.wrong(b.at, fmt.Sprint(oddDigits, ": ", len(b.digits)), b.sure && b.first.letters())
		return
	}
	d := Datagram{Data: appendHex(nil, b.digits), at: b.at}
	if isEllipsis(strings.TrimLeft(b.last.rest(), blanks)) {
		d.note("an ellipsis follows: bytes are missing")
	}
	p.take(d, b.sure)
}
