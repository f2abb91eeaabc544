package hexinput

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/qdissect/qdissect/internal/lazyregexp"
)

// A block is plain hex that grows line by line.
type block struct {
	at     int    // where the first digit stands
	first  run    // the first row
	last   run    // the last row
	digits []byte // of all rows
	rows   int
	label  label
	sure   bool
	tab    bool // each row begins with a tab
	// closer is what should end a list or string of hex, "" for other hex. closed is
	// set once it did.
	closer string
	closed bool
}

// minWidth is the least number of digits of a row that continues on the next
// line. Shorter rows are datagrams of their own.
const minWidth = 16

// usualWidth divides the number of digits of most rows that continue.
const usualWidth = 16

// beside matches a row that repeats its bytes as text after a bar, in whatever
// way: "2E 31 00 | .1.".
var beside = lazyregexp.New(`^((?:[0-9a-fA-F]{2}[ \t]+)*[0-9a-fA-F]{2}[ \t]*)\|[ \t]*(.*[^ \t])`)

// plain reads a line that holds nothing but hex, with a time before it, and a
// comment or the same bytes as text after it.
func (p *parser) plain(l line) bool {
	start, kind := l.begin()
	text := p.s[:l.end()]
	if m := beside().FindStringSubmatch(text[start:]); m != nil && len(m[2]) <= len(strings.Fields(m[1]))+1 && !hasBytes(m[2]) {
		text = text[:start+len(m[1])]
	}
	if c := readColumns(p.s[:l.end()], start); c.confirmed && len(c.data) > 1 {
		text = text[:c.end]
	}
	r := readRun(text, start)
	if r.words == 0 || !r.ends(text) {
		return false
	}
	p.addRow(r, kind)
	return true
}

// scan reads the literals, lists, base64 and hex on a line that holds other
// things as well. They may go on in the lines after it.
func (p *parser) scan(l line) (found bool) {
	start, kind := l.begin()
	for i := start; i < p.last.end() && p.err == nil; {
		end, ok := i, false
		c := p.s[i]
		word := (isHex(c) || c == '\\') && (i == start || strings.IndexByte(" \t:=<>[](){}\"'`,;|", p.s[i-1]) >= 0)
		switch {
		case c == '"', c == '\'', c == '`', c == '\\' && word && !found:
			end, ok = p.literal(i)
		case c == '/':
			end, ok = p.base64Word(i)
		case !word:
			end, ok = p.list(i)
		}
		if end == i && word {
			end, ok = p.hex(i, start, kind)
		}
		found = found || ok
		for i = max(end, i+1); p.last.end() < i; {
			p.last, _ = p.after(p.last)
			start, kind = p.last.begin()
		}
	}
	return found || p.err != nil
}

// socketEnd matches the end of an address before its port.
var socketEnd = lazyregexp.New(`\b\d{1,3}(?:\.\d{1,3}){3}:$`)

// hex reads the run at i. kind is the label of the line, which begins at start
// after its time.
func (p *parser) hex(i, start int, kind label) (end int, found bool) {
	limit, quoted := p.last.end(), i < p.inside
	if quoted {
		limit = p.inside
	}
	text := p.s[:limit]
	r := readRun(text, i)
	isBroken := r.isBroken(text)
	switch {
	case i > 0 && text[i-1] == ':' && isDigit(text[i]) && socketEnd().MatchString(text[max(0, i-len(" 255.255.255.255:")):i]):
		return hexEnd(text, i), false
	case r.words == 0 && !isBroken && !quoted:
		return hexEnd(text, r.bad), false
	case quoted && isArgument(p.s[limit+1:], "hex"):
		kind = decoder
	default:
		kind = p.labelAt(start, i, kind)
	}
	if kind == decoder && r.bad >= 0 && (quoted || r.words > 0) && !r.cut && (quoted || strings.IndexByte(closers, text[r.bad]) < 0) {
		isBroken = true
	}
	switch {
	case isBroken && p.broken(text, &r, kind):
		return limit, true
	case r.words == 0:
		return hexEnd(text, r.bad), false
	}
	for _, at := range r.heads {
		if i > start && (kind == named || text[i-1] == '=') && !r.isQuery(0) && r.isQuery(at) {
			r.digits = r.digits[at:] // before it is a length or the like
			break
		}
	}
	sure, ok := r.judge(kind)
	ends := r.cut || r.ends(text) || kind == decoder || p.block.open() && r.start == start && strings.HasPrefix(text[r.bad:], p.block.closer)
	long := r.bytes() >= shortestList && len(r.digits)%2 == 0
	if !ok || !ends && !(sure && long) || quoted && kind != decoder && !long {
		return r.end, false
	}
	p.addRow(r, kind)
	if p.block.rows == 1 {
		p.block.closer = closing[strings.TrimRight(opening().FindString(left(text, i)), blanks)]
	}
	p.block.closed = strings.Contains(p.s[r.end:min(r.end+window, p.last.end())], p.block.closer)
	if !ends || quoted {
		p.endBlock()
	}
	return r.end, true
}

// broken is the error for a run that ends in a mistake. It reports whether the
// run certainly is hex.
func (p *parser) broken(text string, r *run, kind label) bool {
	digits := marks.Replace(right(text, r.start))
	begun := appendHex(nil, digits[:hexEnd(digits, 0)])
	partial := text[r.bad:hexEnd(text, r.bad)]
	sure := kind == decoder
	switch {
	case isQuery(begun):
		sure = sure || len(begun) > 4
	case r.words > 0:
		sure = sure || r.pairs >= 4 && hasLetters(r.digits) || r.pairs >= 3 && r.marked || r.pairs >= 2 && (kind == arrow || kind == message)
	default:
		sure = sure || len(partial) >= 16 && hasLetters([]byte(partial)) && kind != named
	}
	if sure || r.words > 1 || len(partial) >= 4 {
		at, problem := p.wrongDigit(r.bad, len(text))
		p.wrong(at, problem, sure)
	}
	return sure
}

// marks removes what is not a digit between bytes.
var marks = strings.NewReplacer("0x", "", "0X", "", `\x`, "", `\`, "", " ", "", "\t", "", ",", "", ":", "", ";", "", "-", "", "|", "")

// addRow adds a run to the block, or begins a new block with it.
func (p *parser) addRow(r run, kind label) {
	b := &p.block
	tab := strings.HasPrefix(p.last.text, "\t")
	if b.rows > 0 && !b.accepts(&r, kind, tab) {
		p.endBlock()
	}
	if b.rows == 0 {
		*b = block{at: r.start, first: r, label: kind, tab: tab}
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

// short reports whether the last row has less than the first: none follows it.
func (b *block) short() bool { return len(b.last.digits) < len(b.first.digits) }

// open reports whether a list or string of hex may go on.
func (b *block) open() bool { return b.closer != "" && !b.closed }

// accepts reports whether a row continues the block: it has no label, does not
// begin like a query, is not longer than the first row, and all rows before are
// as long as that.
func (b *block) accepts(r *run, kind label, tab bool) bool {
	width, single := len(b.first.digits), b.first.words == 1
	switch {
	case b.open():
		return kind == unlabelled && !r.isQuery(0)
	case b.short() || width < minWidth || len(r.digits) > width || r.isQuery(0):
		return false
	case single && (r.words > 1 || tab != b.tab), !single && r.words == 1 && len(r.digits) > maxGroup:
		return false // tshark indents one direction
	case kind == arrow && b.label == arrow:
		// Lines that are quoted, rather than lines of a conversation.
		return width%usualWidth == 0 && b.first.isQuery(0)
	}
	return kind == unlabelled
}

// endBlock ends the datagram that the lines before this one make up.
func (p *parser) endBlock() {
	b := p.block
	p.block = block{}
	switch {
	case b.rows == 0:
		return
	case len(b.digits)%2 != 0:
		r := run{digits: b.digits[:len(b.digits)-1], words: 1}
		sure, _ := r.judge(b.label)
		p.wrong(b.at, fmt.Sprint(oddDigits, ": ", len(b.digits)),
			sure && (b.label == decoder || hasLetters(b.digits) && r.bytes() >= shortestList))
		return
	}
	d := Datagram{Data: appendHex(nil, b.digits), at: b.at}
	switch {
	case b.last.cut:
		d.note("an ellipsis follows: bytes are missing")
	case b.open():
		what := "list"
		if b.closer == `"` || b.closer == "'" {
			what = "string"
		}
		d.note("the %s is not closed: the end may be missing", what)
	}
	d.joined = b.rows == 2 && b.short() && len(b.first.digits)%usualWidth != 0 && b.first.words > 1 && b.closer == ""
	p.take(d, b.sure)
}

// separators are the characters that may stand between two bytes, besides
// blanks; closers are those that may end a word without ending a mistake.
const (
	separators = ",:;-|"
	closers    = "\"'`)]}<>"
)

// A run is words of hex digits that belong together, on one line.
type run struct {
	start, end int    // where it stands
	digits     []byte // without marks and separators
	words      int    // how many words it has
	pairs      int    // how many of them are pairs of digits
	marked     bool   // there are words after 0x or \x
	separator  byte   // the first separator that is not a blank, 0 if there is none
	heads      []int  // where in digits the words after the first begin, up to queryWords

	// bad is where the digits of a word begin, or should, that is not hex; -1 at
	// the end of the text. odd is set if it has an odd number of digits and
	// nothing else, cut if it is an ellipsis.
	bad      int
	odd, cut bool
}

// queryWords is how many words may stand before a query in a run: a length or the
// like.
const queryWords = 3

// wordMark matches what marks a word of hex digits before them.
var wordMark = lazyregexp.New(`^(?:\\+x?|0[xX])`)

// readRun reads the words that begin at i.
func readRun(text string, i int) run {
	r := run{start: i, end: i, bad: -1}
	for i < len(text) {
		mark := wordMark().FindString(right(text, i))
		start := i + len(mark)
		end := hexEnd(text, start)
		escaped := strings.HasPrefix(mark, `\`)
		if escaped {
			end = min(end, start+2)
		}
		n := end - start
		whole := n > 0 && isWordEnd(text, end) && (!escaped || n == 2)
		// A line of one word may be broken in the middle of a byte.
		broken := r.words == 0 && mark == "" && skipBlanks(text, end) == len(text)
		r.odd = whole && n%2 != 0 && (mark == "" || n > 1) && !broken
		if r.odd || !whole {
			r.bad = start
			break
		}
		if r.words > 0 && r.words <= queryWords {
			r.heads = append(r.heads, len(r.digits))
		}
		if mark != "" && n == 1 {
			r.digits = append(r.digits, '0')
		}
		if r.words++; n == 2 {
			r.pairs++
		}
		r.digits = append(r.digits, text[start:end]...)
		r.marked = r.marked || mark != ""
		r.end = end
		if i = skipBlanks(text, end); i < len(text) && strings.IndexByte(separators, text[i]) >= 0 {
			r.separator = cmp.Or(r.separator, text[i])
			i = skipBlanks(text, i+1)
		}
	}
	r.cut = r.bad >= 0 && isEllipsis(text, skipBlanks(text, r.end))
	return r
}

// isWordEnd reports whether a word may end at i.
func isWordEnd(text string, i int) bool {
	return i == len(text) || strings.IndexByte(blanks+separators+closers+`\`, text[i]) >= 0 || isEllipsis(text, i) ||
		strings.IndexByte(".!?", text[i]) >= 0 && (i+1 == len(text) || isBlank(text[i+1]))
}

func isEllipsis(text string, i int) bool {
	return i < len(text) && (text[i] == ellipsis || strings.HasPrefix(text[i:], "..."))
}

// comment matches how what follows hex, after a blank, begins if it is not meant to
// be hex.
var comment = lazyregexp.New(`^(?:#|/[/*]|\(|<|=|->|--)`)

// ends reports whether nothing but a comment follows the run.
func (r *run) ends(text string) bool {
	i := skipBlanks(text, r.end)
	return r.bad < 0 || i == len(text) || i > r.end && comment().MatchString(right(text, i))
}

func (r *run) bytes() int { return len(r.digits) / 2 }

func hasLetters(digits []byte) bool { return bytes.ContainsAny(digits, "abcdefABCDEF") }

// isQuery reports whether the digits from one on begin like a query.
func (r *run) isQuery(at int) bool {
	return isQuery(appendHex(nil, r.digits[at:min(len(r.digits), at+2*longestQuery)]))
}

// longestNumber is how many digits a number may have: 64 bits make 20.
const longestNumber = 24

// judge reports whether a run after a label is a payload, and whether it
// certainly is. Otherwise it may be a number, a time, a hash or a hardware
// address.
func (r *run) judge(kind label) (sure, ok bool) {
	n, letters := r.bytes(), hasLetters(r.digits)
	address := r.pairs == 6 && r.words == 6 && (r.separator == ':' || r.separator == '-')
	switch {
	case r.isQuery(0), kind == decoder:
		return true, true
	case kind == arrow, kind == message:
		number := r.words == 1 && !letters && !r.marked && len(r.digits) < longestNumber
		return !number || n <= 1, true
	case kind == content:
		return !address && (r.marked || letters && n >= 2 || r.words > 1 && n >= 4), true
	case kind == unlabelled, kind == timed:
		return r.marked && n >= 2 || !address && n >= 4 && (letters || r.words > 1 && n >= 8 || n >= longestNumber/2), true
	}
	return r.pairs >= 4 && r.pairs == r.words && letters && !address, n >= 4 && letters
}

// badWord matches a mistake after words of hex: what was redacted; a word of one
// or two characters with bytes after it, or at the end; and a long word with
// hardly anything but hex digits.
var badWord = lazyregexp.New(`^(?:([?*xX_]+(?:[ \t,:;|-]|$))|` +
	"[^ \t,:;|\"'`)\\]}>-][^ \t,:;|-]?[ \t,:;|-]+(?:0[xX])?(?:[0-9a-fA-F]{2}){1,8}(?:[ \t|-]|$)|" +
	`[0-9a-fA-F][^ \t,:;|-]?[ \t,:;|-]*$|([0-9a-fA-F]{4,})(?:[^ \t,:;|0-9a-fA-F-]{1,2}[0-9a-fA-F]+)*(?:[ \t,:;|-]|$))`)

// isBroken reports whether what ends a run is a mistake in it, rather than text
// that follows it.
func (r *run) isBroken(text string) bool {
	if r.bad < 0 || r.words == 0 && hexEnd(text, r.bad) == r.bad || isEllipsis(text, r.bad) {
		return false
	}
	m := badWord().FindStringSubmatch(right(text, r.bad))
	return m != nil && (m[1] == "" || r.words > 0) && (m[2] == "" || strings.ContainsAny(text[max(r.start, r.bad-2):r.bad]+m[0], "0123456789"))
}

const oddDigits = "an odd number of hex digits"

// wrongDigit describes what stands at i, or after the hex digits there, instead
// of a byte. The text ends at end.
func (p *parser) wrongDigit(i, end int) (at int, problem string) {
	at = hexEnd(p.s[:end], i)
	if at == end || at > i && isWordEnd(p.s[:end], at) {
		return i, oddDigits
	}
	return at, strconv.Quote(string(p.original(at, at+1))) + " is not a hex digit"
}

// A label is what stands before hex on its line.
type label uint8

const (
	unlabelled label = iota
	timed            // the time of a log
	arrow            // ->, <, and the like
	message          // a word for a message, as in "reply:"
	content          // a word that may also introduce a number, as in "received:"
	decoder          // what certainly is followed by hex
	named            // other words, as in prose
)

// labelWords are words of labels. After those for messages it can be nothing but a
// payload, after the others also a number.
const (
	messageWords = "request|response|reply|query|answer|payload|raw|hex|rx|tx|recv"
	labelWords   = "|" + messageWords + "|received|rcvd|sent|send|data|byte|bytes|udp|message|msg|packet|datagram|buffer|body|" +
		"content|dump|in|out|client|server|challenge|"
)

// labelTail is what may stand between a label and the hex.
const labelTail = " \t\"'`([{"

var (
	// decoderEnd matches a label of what certainly is followed by hex, messageEnd one with
	// a word for a message.
	decoderEnd = lazyregexp.New(`(?:<buffer |(?:hex\w*|\bdecodestring)\W*\()[` + labelTail + `]*$`)
	messageEnd = lazyregexp.New(`\b(?:` + messageWords + `)(?:\W*\([^(]*\))?["'` + "`" + `\s]*[:=(][` + labelTail + `]*$`)
)

// labelAt returns the label before i, on a line that begins at start after its
// time. kind is that of the line.
func (p *parser) labelAt(start, i int, kind label) label {
	if i <= start {
		return kind
	}
	before := strings.ToLower(p.s[max(start, i-window):i])
	words := strings.TrimRight(before, labelTail)
	switch pointed := strings.HasSuffix(words, ">") || strings.HasSuffix(strings.TrimRight(words, "-="), "<"); {
	case strings.Trim(words, "-=<>") == "" && strings.ContainsAny(words, "<>"):
		return arrow
	case words == "", words == before && strings.ContainsAny(words[len(words)-1:], "<>"): // brackets
		return named
	case pointed:
		return content
	case !strings.ContainsAny(before[len(words)-1:], ":=(") && !strings.HasSuffix(words, "<buffer"):
		return named // nothing separates them from the hex
	case hasAny(before, "<buffer", "hex", "decodestring") && decoderEnd().MatchString(before): // the former is quick
		return decoder
	}
	all := strings.FieldsFunc(before, func(r rune) bool { return !isWord(byte(r)) })
	switch {
	case !slices.ContainsFunc(all, func(word string) bool { return strings.Contains(labelWords, "|"+word+"|") }):
		return named
	case messageEnd().MatchString(before):
		return message
	}
	return content
}

func hasAny(s string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(s, word) })
}
