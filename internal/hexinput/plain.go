package hexinput

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A block is plain hex that grows line by line.
type block struct {
	line    line // the first one
	last    int  // the number of the last one
	rows    int
	start   int // the column of the first digit
	width   int // how many digits the first row has
	digits  []byte
	label   label
	heading heading
	below   []byte // the characters of the last row, without blanks

	short   bool // the last row has less than the first: nothing follows it
	sure    bool
	single  bool // each row is one word
	tab     bool // each row begins with a tab
	twoRows bool // below each row are its characters
	awaits  bool // those of the last row may come
	cut     bool // an ellipsis follows
}

// minWidth is the least number of digits of a row that goes on in the next
// line. Shorter rows are datagrams of their own.
const minWidth = 16

// usualWidth divides the number of digits of most rows that go on.
const usualWidth = 16

// A heading is what the lines above a block say of it.
type heading struct {
	bytes    int
	src, dst netip.AddrPort
}

// A label is what stands before hex on its line.
type label uint8

const (
	unlabelled label = iota
	timed            // the time of a log
	arrow            // ->, <, and the like
	message          // a word that names a message, as in "reply:"
	content          // a word that may as well name a number, as in "received:"
	decoder          // a function that decodes hex
	python           // one of Python
	named            // another word
	prose            // words, and nothing that separates them from the hex
)

// labels are the words that say something of the hex after them.
var labels = map[string]label{
	"request": message, "response": message, "reply": message, "query": message, "answer": message,
	"payload": message, "raw": message, "hex": message, "rx": message, "tx": message, "recv": message,

	"received": content, "rcvd": content, "sent": content, "send": content, "data": content, "bytes": content,
	"byte": content, "udp": content, "message": content, "msg": content, "packet": content, "datagram": content,
	"buffer": content, "body": content, "content": content, "dump": content, "in": content, "out": content,
	"client": content, "server": content, "challenge": content,
}

// maxLabel is how much text before hex is looked at.
const maxLabel = 64

// labelAt returns what stands before i, in a line that begins at start.
func labelAt(text string, start, i int, kind label) label {
	if i <= start {
		return kind
	}
	before := text[max(start, i-maxLabel):i]
	s := strings.TrimRight(before, " \t\"'`([{")
	call := strings.Contains(before[len(s):], "(")
	switch {
	case s == "": // brackets, at the beginning of the line
		return named
	case strings.Trim(s, "-=<>") == "" && strings.ContainsAny(s, "<>"):
		return arrow
	case strings.HasSuffix(before, ">"), strings.HasSuffix(before, "<"): // a bracket
		return named
	case strings.HasSuffix(strings.TrimRight(s, "-="), "<"), strings.HasSuffix(s, ">"):
		return content
	case !strings.HasSuffix(s, ":") && !strings.HasSuffix(s, "=") && !call:
		return prose
	}
	s = strings.TrimRight(s, ":= \t\"'`")
	if open := strings.LastIndexByte(s, '('); open > 0 && strings.HasSuffix(s, ")") {
		s = s[:open]
	}
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return r >= 0x80 || !isWord(byte(r)) })
	found := named
	for n, w := range words {
		last := n == len(words)-1
		switch kind := labels[w]; {
		case call && last && (strings.Contains(w, "fromhex") || strings.Contains(w, "unhexlify")):
			return python
		case call && last && (strings.Contains(w, "hex") || w == "decodestring"):
			return decoder
		case kind == message && last:
			found = message
		case kind != unlabelled:
			found = content // "payload length:" may be a number
		}
	}
	return found
}

// beside matches a row that repeats its bytes as text after a bar, in whatever
// way: "2E 31 00 | .1.".
var beside = regexp.MustCompile(`^((?:[0-9a-fA-F]{2}[ \t]+)*[0-9a-fA-F]{2}[ \t]*)\|[ \t]*(.*[^ \t])`)

// plain reads a line that holds nothing but hex, with a time before it, and a
// comment or the same bytes as text after it.
func (p *parser) plain(l line) bool {
	start, kind := lineStart(l.text)
	text := l.text
	if m := beside.FindStringSubmatch(text[start:]); m != nil && len(m[2]) <= len(strings.Fields(m[1]))+1 && !hasBytes(m[2]) {
		text = text[:start+len(m[1])]
	}
	if c := readColumns(l.text, start); c.confirmed&asWritten != 0 && len(c.data) > 1 {
		text = l.text[:c.end]
	}
	r := readRun(text, start)
	if r.words == 0 || r.wrong >= 0 && !isComment(text, r.end) {
		return false
	}
	p.addRow(l, r, kind)
	return true
}

// ruler passes the line above a dump that numbers its columns.
func (p *parser) ruler(l line) bool {
	i := strings.Index(l.text, "00 01 02 03")
	if i < 0 || i > maxLabel || strings.ContainsAny(l.text[:i], "0123456789") {
		return false
	}
	r := readRun(l.text, i)
	for n, b := range appendHex(nil, r.digits) {
		if int(b) != n || r.bytes() < 8 || r.bytes() > 32 {
			return false
		}
	}
	ahead := p.in
	for range 2 { // there may be a line between
		next, _, _ := ahead.nextFull()
		if row, ok := readRow(next, 0); ok && row.groups > 0 {
			p.endBlock()
			return true
		}
	}
	return false
}

// embedded reads the hex in a line that holds other things as well.
func (p *parser) embedded(l line) bool {
	start, _ := lineStart(l.text)
	return p.runs(l, start, unlabelled)
}

// runs reads the runs of a line from a column on. Their label is known, or
// stands before them.
func (p *parser) runs(l line, from int, known label) bool {
	start, kindOfLine := lineStart(l.text)
	found, escapes := false, true
	for i := from; i < len(l.text) && p.err == nil; i = wordAfter(l.text, i) {
		r := readRun(l.text, i)
		if l.text[i] == '\\' && r.wrong >= 0 && escapes {
			if p.escaped(l, i) {
				return true
			}
			escapes = false
		}
		kind := known
		if known == unlabelled {
			kind = labelAt(l.text, start, i, kindOfLine)
		}
		if r.isBroken(l.text) && p.broken(l, &r, kind) {
			return true
		}
		if r.words == 0 {
			i = max(i, r.wrong-1)
			continue
		}
		if r.query > 0 && !r.isQuery() && i > start && (kind == prose || kind == named || l.text[i-1] == '=') {
			r.digits = r.digits[r.query:] // before it is a length or the like
		}
		ends := r.wrong < 0 || isComment(l.text, r.end) || r.cut
		if sure, ok := r.judge(kind); ok && (ends || sure && r.bytes() >= shortestList) {
			p.addRow(l, r, kind)
			if !ends {
				p.endBlock()
			}
			found = true
		}
		i = r.end - 1
	}
	return found
}

// socketEnd matches the end of an address before its port.
var socketEnd = regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}:$`)

// wordAfter returns where the next word begins in which hex may.
func wordAfter(text string, i int) int {
	for i++; i < len(text); i++ {
		switch c := text[i-1]; {
		case !isBlank(c) && strings.IndexByte(":=<>[](){}\"'`,;|", c) < 0:
		case c == ':' && isDigit(text[i]) && socketEnd.MatchString(text[max(0, i-len("255.255.255.255:")):i]):
			i = hexEnd(text, i)
		case !isBlank(text[i]):
			return i
		}
	}
	return i
}

// broken is the error for a run that ends in a mistake. It reports whether the
// run certainly is hex.
func (p *parser) broken(l line, r *run, kind label) bool {
	begun := firstBytes(l.text[r.start:])
	sure := kind == decoder || kind == python
	switch {
	case isQuery(begun):
		sure = len(begun) > 4
	case r.words > 0:
		sure = sure || r.pairs >= 4 && r.letters() || r.pairs >= 3 && r.prefixed || r.pairs >= 2 && (kind == arrow || kind == message)
	default:
		sure = sure || len(r.partial) >= 16 && hasLetters(r.partial) && kind != named && kind != prose
	}
	where, problem := r.mistake(&l)
	if sure || r.words > 1 || len(r.partial) >= 4 {
		p.wrong(l, where, problem, sure)
	}
	return sure
}

// addRow adds a run to the block, or begins another one with it.
//
// A row goes on with the block if it has no label, does not begin like a query,
// is no longer than the first row, and all rows before are as long as that.
func (p *parser) addRow(l line, r run, kind label) {
	b := &p.block
	tab := strings.HasPrefix(l.text, "\t")
	sure, _ := r.judge(kind)
	if b.rows > 0 && !b.accepts(&r, kind, tab) {
		p.endBlock()
	}
	if b.rows == 0 {
		*b = block{line: l, start: r.start, width: len(r.digits), label: kind, single: r.words == 1, tab: tab, heading: p.flow, twoRows: p.flow.bytes > 0}
		p.flow = heading{}
	}
	b.rows++
	b.digits = append(b.digits, r.digits...)
	b.last, b.cut, b.awaits, b.short = l.number, r.cut, r.pairs == r.words, len(r.digits) < b.width
	b.sure = b.sure || sure || r.bytes() >= 4 && b.rows > 1
	b.below = slices.DeleteFunc(appendHex(nil, r.digits), func(c byte) bool { return c <= ' ' || c > '~' })
	if len(b.digits) > 2*MaxDatagram {
		p.tooLong(b.line)
	}
}

// shown passes the line below a row that has its characters, as gamedig prints
// them.
func (p *parser) shown(l line) bool {
	b := &p.block
	if !b.awaits || len(b.below) == 0 && !b.twoRows || noBlanks.Replace(l.text) != string(b.below) {
		return false
	}
	b.awaits, b.twoRows = false, true
	return true
}

var noBlanks = strings.NewReplacer(" ", "", "\t", "")

// accepts reports whether a row goes on with the block.
func (b *block) accepts(r *run, kind label, tab bool) bool {
	switch {
	case b.heading.bytes > 0:
		return kind == unlabelled && len(b.digits)/2 < b.heading.bytes
	case b.short || b.width < minWidth || len(r.digits) > b.width || r.isQuery():
		return false
	case b.single && (r.words > 1 || tab != b.tab), !b.single && r.words == 1 && len(r.digits) > maxGroup:
		return false // tshark indents one direction
	case kind == arrow && b.label == arrow:
		// Lines that are quoted, rather than lines of a conversation.
		return b.width%usualWidth == 0 && isQuery(appendHex(nil, b.digits[:minWidth]))
	}
	return kind == unlabelled
}

// endBlock ends the datagram that the lines before this one made up.
func (p *parser) endBlock() {
	b := p.block
	p.block = block{}
	switch {
	case b.rows == 0:
		return
	case len(b.digits)%2 != 0:
		r := run{digits: b.digits[:len(b.digits)-1], words: 1}
		sure, _ := r.judge(b.label)
		p.wrong(b.line, b.start, fmt.Sprint(oddDigits, ": ", len(b.digits)), sure && (b.label >= decoder && b.label <= python || hasLetters(b.digits) && r.bytes() >= shortestList))
		return
	}
	d := Datagram{
		Data: appendHex(nil, b.digits), Line: b.line.number, Form: PlainHex,
		Src: b.heading.src, Dst: b.heading.dst,
	}
	switch {
	case b.twoRows:
		d.Form = Gamedig
	case b.label == python:
		d.Form = Python
	}
	if b.cut {
		note(&d.Note, "an ellipsis follows: bytes are missing")
	}
	if n := b.heading.bytes; n > 0 && n != len(d.Data) {
		note(&d.Note, "%d bytes are announced, %d are here", n, len(d.Data))
	}
	if b.rows == 2 && b.short && b.width%usualWidth != 0 && !b.twoRows && !b.single {
		note(&d.Note, "lines %d and %d are taken for one datagram: put a blank line between them if they are two", b.line.number, b.last)
	}
	p.take(d, b.sure)
}

// headings are what the lines around a payload may say of it. Those that say
// something of the next one end the block.
var headings = [...]struct {
	match *regexp.Regexp
	ends  bool
	read  func(p *parser, m []string)
}{
	{regexp.MustCompile(`Buffer length: (\d{1,5}) bytes`), true, func(p *parser, m []string) { p.flow.bytes, _ = strconv.Atoi(m[1]) }},
	{regexp.MustCompile(`([\[\]0-9a-fA-F:.]+):(\d+) UDP(?:\(\d+\))?-->`), true, func(p *parser, m []string) { p.flow = heading{dst: socket(m[1], m[2])} }},
	{regexp.MustCompile(`([\[\]0-9a-fA-F:.]+):(\d+) <--UDP`), true, func(p *parser, m []string) { p.flow = heading{src: socket(m[1], m[2])} }},
	{regexp.MustCompile(`^Node ([01]): (\S+):(\d+)`), false, func(p *parser, m []string) {
		p.nodes[m[1][0]-'0'] = socket(m[2], m[3])
		clear(p.streams)
	}},
	{regexp.MustCompile(`^[ \t]*Frame \d+: `), false, func(p *parser, _ []string) {
		p.endFrame()
		p.frame = opened
	}},
	{regexp.MustCompile(`^Data \((\d{1,5}) bytes?\)`), false, func(p *parser, m []string) { p.frameData, _ = strconv.Atoi(m[1]) }},
}

// heading reads a line that says something of those below it.
func (p *parser) heading(l line) bool {
	if strings.HasSuffix(strings.TrimRight(l.text, " \t"), base64Heading) {
		here := p.in
		next, _, _ := p.in.nextFull()
		if p.base64Lines(next, true) {
			return true
		}
		p.in = here
	}
	for _, h := range headings {
		if !strings.ContainsAny(l.text, "BUFND") { // as in their words
			break
		}
		if m := h.match.FindStringSubmatch(l.text); m != nil {
			p.endBlock()
			if h.read(p, m); h.ends {
				return true
			}
		}
	}
	p.flow = heading{}
	return false
}
